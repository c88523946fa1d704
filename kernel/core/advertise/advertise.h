/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Services that this host advertises at the subnet administrators.
 *
 *	service.c	a service: checks, limits, on which ports it is
 *	record.c	its ServiceRecord at one port: set, renewed, deleted
 *
 * cmx_service_lock guards all of it but what a service's @report_lock does. All
 * that happens to a record happens in its work item; others only note what
 * happened, under the lock, and kick the work. Nobody waits for an SA with the
 * lock held.
 *
 * Locks, outermost first:
 *
 *	rdma_cmx_service.report_lock	the consumer's callback
 *	cmx_service_lock
 *	those of sa/
 */
#ifndef CMX_ADVERTISE_H
#define CMX_ADVERTISE_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cmx_service.h>

#include "core.h"
#include "sa/sa.h"

#define CMX_SERVICE_NAME_SIZE	(RDMA_CMX_MAX_SERVICE + 1)
#define CMX_SERVICE_DATA_SIZE	64

/**
 * struct rdma_cmx_service - a service that is advertised
 * @ref: until it has ended, and one for each record
 * @hash: in the table of services, by @id, until it has ended
 * @records: its records
 * @net: whose ports it is on, with a reference
 * @uid: user whom its queries are counted for
 * @counted: it is part of the user's share
 * @confined: only on devices of namespaces that @net's owner rules
 * @withdrawn: only its records keep it
 * @id: service id
 * @pkey: P_Key, 0: the default of each port
 * @lease: in seconds
 * @dev: name of the only device, or empty
 * @dev_port: the only port of that device, 0: all
 * @name: padded with zeros
 * @data: as it is on the wire
 * @error: why the last attempt at a record failed
 * @report_lock: callback against withdrawal
 * @event: the callback, NULL: none (any more); by @report_lock
 * @context: for @event
 */
struct rdma_cmx_service {
	refcount_t ref;
	struct hlist_node hash;
	struct list_head records;
	struct net *net;
	kuid_t uid;
	bool counted;
	bool confined;
	bool withdrawn;
	u64 id;
	u16 pkey;
	u32 lease;
	char dev[IB_DEVICE_NAME_MAX];
	u32 dev_port;
	char name[CMX_SERVICE_NAME_SIZE];
	u8 data[CMX_SERVICE_DATA_SIZE];
	int error;
	struct mutex report_lock;	/* callback against withdrawal */
	rdma_cmx_service_fn event;
	void *context;
};

enum cmx_record_op {
	CMX_RECORD_NONE,
	CMX_RECORD_SET,
	CMX_RECORD_DELETE,
};

/**
 * struct cmx_port_record - the record of a service at one port
 * @ref: of the service's list, of the queued work item, and of @op
 * @node: in the service's list; empty once it has ended
 * @service: the service, with a reference
 * @port: the port, with a reference
 * @work: all that happens to it, one by one
 * @waiter: of the query that is outstanding
 * @op: what that query is
 * @answered: it has ended
 * @answer_error: how
 * @answer_lease: the lease that the SA has granted
 * @usable: the port is active
 * @ending: to be deleted and freed, by @deadline at the latest
 * @deadline: see above
 * @going: the removal of its port waits for it
 * @exists: the SA may have it, as @gid and @pkey
 * @claimed: no other service may have @pkey with this id on the port
 * @gid: of the last attempt to set it
 * @pkey: likewise
 * @confirmed: the SA has it, as of the last query and the last event
 * @error: why it is not confirmed; 0: the first attempt has not ended
 * @lease: that the SA has granted last, in seconds
 * @again: there was an event since it was reported
 * @reported: the last event of the consumer, 0: none since the port is active
 * @generation: of the port, when that was last looked at
 * @due: when to set it the next time
 * @backoff: milliseconds to wait after the next failure
 */
struct cmx_port_record {
	refcount_t ref;
	struct list_head node;
	struct rdma_cmx_service *service;
	struct cmx_sa_port *port;
	struct delayed_work work;
	struct cmx_sched_waiter waiter;
	enum cmx_record_op op;
	bool answered;
	int answer_error;
	u32 answer_lease;
	bool usable;
	bool ending;
	unsigned long deadline;
	bool going;
	bool exists;
	bool claimed;
	union ib_gid gid;
	u16 pkey;
	bool confirmed;
	int error;
	u32 lease;
	bool again;
	enum rdma_cmx_service_event_type reported;
	u32 generation;
	unsigned long due;
	unsigned int backoff;
};

/* service.c */
extern struct mutex cmx_service_lock;
void cmx_service_put(struct rdma_cmx_service *s);
void cmx_service_report(struct rdma_cmx_service *s,
			const struct rdma_cmx_service_event *event);
bool cmx_service_claimed(const struct cmx_port_record *record, u16 pkey,
			 bool *passes);
void cmx_service_unclaimed(const struct cmx_port_record *record);
void cmx_service_ended(struct rdma_cmx_service *s);
void cmx_service_wake(void);
int cmx_advertise_init(void);
void cmx_advertise_exit(void);

/* record.c; those with "Under the lock" need cmx_service_lock. */
int cmx_record_add(struct rdma_cmx_service *s, struct cmx_sa_port *port,
		   gfp_t gfp);
void cmx_record_kick(struct cmx_port_record *r, unsigned long delay);
void cmx_record_state(const struct cmx_port_record *r,
		      struct rdma_cmx_service_port *port);
void cmx_record_use(struct cmx_port_record *r, bool usable);
void cmx_record_end(struct cmx_port_record *r, unsigned int ms);
void cmx_record_go(struct cmx_port_record *r, unsigned int ms);
bool cmx_record_pkey(const struct cmx_sa_port *port, u16 wanted, u16 *pkey);
bool cmx_records_none(void);
bool cmx_records_going(void);
int cmx_record_init(void);
void cmx_record_exit(void);

#endif /* CMX_ADVERTISE_H */
