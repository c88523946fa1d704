/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Services that this host advertises at the subnet administrators. A file uses
 * those below it:
 *
 *	service.c	a service: the calls, checks, its ports
 *	record.c	its ServiceRecord at one port: set, renewed, deleted
 *	table.c		all services: lock, limits, claims of records, references
 *
 * cmx_service_lock guards everything. The work item of a record does all work on
 * it. Other code only stores events under the lock, and queues the work item. No
 * code waits for an SA with the lock held.
 *
 * The callers of rdma_cmx do not take the lock. They run their part under it by
 * cmx_service_call(), in a work item: a process that is preempted with the lock
 * would delay all services, and the removal of each device, for as long as its
 * user wants.
 *
 * Locks, outermost first. The first one is of work items only, too:
 *
 *	rdma_cmx_service.report_lock	the consumer's callback
 *	cmx_service_lock
 *	the locks of sa/
 */
#ifndef CMX_ADVERTISE_H
#define CMX_ADVERTISE_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cmx_service.h>

#include "core.h"
#include "sa/sa.h"
#include "users.h"

#define CMX_SERVICE_NAME_SIZE	(RDMA_CMX_MAX_SERVICE + 1)
#define CMX_SERVICE_DATA_SIZE	64

/**
 * struct rdma_cmx_service - an advertised service
 * @ref: one until it has ended, and one for each record
 * @hash: in the table of services, by @id, until it has ended
 * @records: its records
 * @net: network namespace of its ports, with a reference
 * @uid: user that its queries count for
 * @caller: user whose jobs its calls are, with a reference
 * @counted: it counts for the user's limit
 * @confined: only on devices of namespaces that the owner of @net owns
 * @withdrawn: only its records hold it
 * @id: service id
 * @pkey: P_Key, 0: the default of each port
 * @lease: in seconds
 * @dev: name of the only device, or empty
 * @dev_port: the only port of that device, 0: all
 * @name: padded with zeros
 * @data: in wire format
 * @error: negative errno of the last failed attempt of a record
 * @report_lock: serialises callbacks
 * @reports: callbacks that run or wait to; the withdrawal waits for them
 * @event: the callback, or NULL
 * @context: argument of @event
 */
struct rdma_cmx_service {
	refcount_t ref;
	struct hlist_node hash;
	struct list_head records;
	struct net *net;
	kuid_t uid;
	struct cmx_user *caller;
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
	struct mutex report_lock;	/* serialises callbacks */
	atomic_t reports;
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
 * @node: in the service's list; empty when it has ended
 * @service: the service, with a reference
 * @port: the port, with a reference
 * @work: does all work on the record
 * @waiter: waiter of the outstanding query
 * @op: operation of the outstanding query
 * @completed: the query has completed
 * @response_error: result of the query
 * @response_lease: the lease that the SA has granted, in seconds
 * @usable: the port is active
 * @ending: to be deleted and freed, at the latest at @deadline
 * @deadline: see above
 * @going: the removal of its port waits for it
 * @exists: the SA may have it, with @gid and @pkey
 * @deferred: a deletion has failed; the next one waits for a moment
 * @claimed: no other service may have @pkey with this id on the port
 * @blocked: another service has @blocked_pkey with this id on the port
 * @blocked_pkey: see above
 * @gid: of the last attempt to set it
 * @pkey: of the last attempt to set it
 * @confirmed: the SA has it, as of the last query and the last event
 * @error: negative errno of the last failed attempt, -ENODEV: the port is not
 *	active; 0: the record is set, or no attempt has ended
 * @lease: the last granted lease in seconds
 * @again: an event has arrived since the last report
 * @reported: the last event reported, 0: none since the port is active
 * @generation: of the port, at the last check
 * @due: time of the next attempt to set it
 * @backoff: milliseconds until the retry after the next failure
 */
struct cmx_port_record {
	refcount_t ref;
	struct list_head node;
	struct rdma_cmx_service *service;
	struct cmx_sa_port *port;
	struct delayed_work work;
	struct cmx_sched_waiter waiter;
	enum cmx_record_op op;
	bool completed;
	int response_error;
	u32 response_lease;
	bool usable;
	bool ending;
	unsigned long deadline;
	bool going;
	bool exists;
	bool deferred;
	bool claimed;
	bool blocked;
	u16 blocked_pkey;
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

/**
 * struct cmx_service_user - a user who advertises services
 * @node: in the users
 * @uid: the user
 * @count: number of services
 */
struct cmx_service_user {
	struct list_head node;
	kuid_t uid;
	unsigned int count;
};

#define CMX_SERVICES_BITS	10

static inline u32 cmx_service_hash(u64 id)
{
	return cmx_hash(&id, sizeof(id));
}

static inline bool cmx_same_partition(u16 a, u16 b)
{
	return (a & 0x7fff) == (b & 0x7fff);
}

/* table.c; functions with "Under the lock" require cmx_service_lock */
extern struct cmx_users cmx_service_callers;
extern unsigned int cmx_services_per_user, cmx_services_max;
extern struct mutex cmx_service_lock;
extern DECLARE_HASHTABLE(cmx_service_table, CMX_SERVICES_BITS);
extern wait_queue_head_t cmx_service_wait;
void cmx_service_wake(void);
void cmx_service_put(struct rdma_cmx_service *s);
void cmx_service_call(struct rdma_cmx_service *s, void (*fn)(void *arg),
		      void *arg);
void cmx_service_report(struct rdma_cmx_service *s,
			const struct rdma_cmx_service_event *event);
bool cmx_service_claimed(const struct cmx_port_record *record, u16 pkey,
			 bool *passes);
void cmx_service_unclaimed(const struct cmx_port_record *record);
int cmx_service_count(struct rdma_cmx_service *s,
		      struct cmx_service_user **fresh);
void cmx_service_ended(struct rdma_cmx_service *s);
void cmx_record_kick(struct cmx_port_record *r, unsigned long delay);
int cmx_service_init(void);
void cmx_service_exit(void);

/* record.c, likewise */
void cmx_record_add(struct rdma_cmx_service *s, struct cmx_sa_port *port,
		    struct cmx_port_record *r);
void cmx_record_state(const struct cmx_port_record *r,
		      struct rdma_cmx_service_port *port);
void cmx_record_use(struct cmx_port_record *r, bool usable);
void cmx_record_end(struct cmx_port_record *r, unsigned int ms);
void cmx_record_go(struct cmx_port_record *r, unsigned int ms);
bool cmx_record_pkey(const struct cmx_sa_port *port, u16 wanted, u16 *pkey);
bool cmx_records_none(void);
bool cmx_records_going(void);

/* service.c */
int cmx_advertise_init(void);
void cmx_advertise_exit(void);

#endif /* CMX_ADVERTISE_H */
