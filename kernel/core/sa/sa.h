/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queries to the subnet administrator (SA) of an InfiniBand port. A file uses
 * those below it:
 *
 *	device.c	the life of a port: its MAD agent, the effect of events
 *	inform.c	subscription to the SA's reports
 *	report.c	a report: a GID in or out of service
 *	response.c	the response to a query
 *	info.c		optional capabilities of the SA
 *	paths.c		cached paths, for users who list and drop them
 *	requests.c	several queries that are started together
 *	hold.c		responses that the queries of a user keep
 *	port_check.c	reads a port that is down, and limits the wait for it
 *	lookup.c	an outstanding query: retries, waiters
 *	send.c		sends the MADs of the queries of a port
 *	lookup_ref.c	references of an outstanding query
 *	load.c		limits outstanding queries, and schedules retries
 *	mad.c		one MAD: sent, cancelled
 *	port.c		the ports: their state, the address of the SM
 *	cache.c		cached responses
 *	share.c		the shares of users in a cache, and its limits
 *	records.c	records of a response, read from its MADs
 *	wire.h		layout of records
 */
#ifndef CMX_SA_H
#define CMX_SA_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>

#include "sched.h"

struct cmx_sa_port;

/**
 * struct cmx_sa_query - method, attribute and record of a query
 * @attr_id: IB_SA_ATTR_*, big endian
 * @method: IB_SA_METHOD_GET_TABLE or IB_MGMT_METHOD_GET; or
 *	IB_MGMT_METHOD_SET or IB_SA_METHOD_DELETE, whose response has the
 *	record, and is not cached
 * @rec_len: size of the attribute in bytes, at most 200: so much of @rec is
 *	sent, and the records of the response have no fewer bytes
 * @reserved: 0
 * @comp_mask: valid components of @rec, big endian
 * @rec: the record in wire format
 *
 * Compared byte by byte: unused fields must be zero.
 */
struct cmx_sa_query {
	__be16 attr_id;
	u8 method;
	u8 rec_len;
	u8 reserved[4];
	__be64 comp_mask;
	u8 rec[IB_MGMT_SA_DATA];
};

/**
 * struct cmx_sa_response - records of a response, constant
 * @ref: reference count
 * @count: number of records; 0: none matches, which is no error here
 * @stride: bytes from one record to the next, at least the attribute's size
 * @len: bytes of @data, @count * @stride
 * @data: the records
 */
struct cmx_sa_response {
	refcount_t ref;
	u32 count;
	u32 stride;
	u32 len;
	u8 data[] __aligned(8);
};

static inline void cmx_sa_response_get(struct cmx_sa_response *response)
{
	refcount_inc(&response->ref);
}

void cmx_sa_response_put(struct cmx_sa_response *response);

/* Record @i of @response */
static inline const void *
cmx_sa_response_rec(const struct cmx_sa_response *response, u32 i)
{
	return response->data + (size_t)i * response->stride;
}

/*
 * Ports. A reference keeps the struct ib_device in memory, so that its name and
 * index can be read, and GIDs by rdma_query_gid(). It does not prevent the
 * removal of the device.
 */
struct cmx_sa_port *cmx_sa_port_find(u32 ibdev_index, u32 port_num);
struct cmx_sa_port *cmx_sa_port_get(u32 ibdev_index, u32 port_num);
void cmx_sa_port_hold(struct cmx_sa_port *port);
void cmx_sa_port_put(struct cmx_sa_port *port);
struct ib_device *cmx_sa_port_dev(const struct cmx_sa_port *port);
u32 cmx_sa_port_num(const struct cmx_sa_port *port);
bool cmx_sa_port_is_active(const struct cmx_sa_port *port);
bool cmx_sa_port_check(struct cmx_sa_port *port);
bool cmx_sa_port_check_timeout(struct cmx_sa_port *port);
u32 cmx_sa_port_check_begin(struct cmx_sa_port *port);
bool cmx_sa_port_check_ended(const struct cmx_sa_port *port, u32 after);
bool cmx_sa_port_ruled(const struct cmx_sa_port *port, const struct net *net);
int cmx_sa_ports_for_each(const struct net *net,
			  int (*fn)(struct cmx_sa_port *port, void *arg),
			  void *arg);

/**
 * enum cmx_sa_gone - reason for the end of a cached path
 * @CMX_SA_GONE_EXPIRED: its lifetime has ended
 * @CMX_SA_GONE_EVENT: its port had an event
 * @CMX_SA_GONE_LIMIT: the cache is full
 * @CMX_SA_GONE_REPORT: the SA has reported a change of its DGID
 * @CMX_SA_GONE_FAILED: a connect has failed, or a consumer has dropped it
 * @CMX_SA_GONE_COMMAND: a user has dropped it
 * @CMX_SA_GONE_RENEWED: a newer response has arrived, or is requested
 */
enum cmx_sa_gone {
	CMX_SA_GONE_EXPIRED,
	CMX_SA_GONE_EVENT,
	CMX_SA_GONE_LIMIT,
	CMX_SA_GONE_REPORT,
	CMX_SA_GONE_FAILED,
	CMX_SA_GONE_COMMAND,
	CMX_SA_GONE_RENEWED,
};

/* Queries. None of these functions waits for an SA. */
int cmx_sa_peek(struct cmx_sa_port *port, struct net *net,
		const struct cmx_sa_query *query,
		struct cmx_sa_response **response);
int cmx_sa_cached(struct cmx_sa_port *port, struct net *net,
		  const struct cmx_sa_query *query,
		  struct cmx_sa_response **response);
bool cmx_sa_uncache(struct cmx_sa_port *port, struct net *net,
		    const struct cmx_sa_query *query, enum cmx_sa_gone why);
int cmx_sa_lookup(struct cmx_sa_port *port, struct net *net, kuid_t uid,
		  const struct cmx_sa_query *query,
		  struct cmx_sched_waiter *waiter);
bool cmx_sa_forget(struct cmx_sched_waiter *waiter);

/* Optional capabilities */
int cmx_sa_info(const struct cmx_sa_port *port, u32 *caps);
int cmx_sa_info_read(const struct cmx_sa_response *response, u32 *caps);
int cmx_sa_info_lookup(struct cmx_sa_port *port,
		       struct cmx_sched_waiter *waiter);
bool cmx_sa_has_qos(const struct cmx_sa_port *port);

/**
 * enum cmx_sa_change - event of a port for a watcher
 * @CMX_SA_UP: the port is active. It is new, or had an event, after which its
 *	SA may be another one, or have lost its records
 * @CMX_SA_DOWN: the port is not active
 * @CMX_SA_GOING: the port is off the list, and its MAD agent is about to be
 *	removed; this is the last call for it
 */
enum cmx_sa_change {
	CMX_SA_UP,
	CMX_SA_DOWN,
	CMX_SA_GOING,
};

/**
 * struct cmx_sa_watcher - receives changes of ports
 * @changed: called in process context, may sleep; calls for a port are
 *	serialised. The port stays during the call. Only the lock of the list of
 *	watchers is held, so it must not call cmx_sa_watch() or cmx_sa_unwatch()
 * @node: in the list of watchers
 */
struct cmx_sa_watcher {
	void (*changed)(struct cmx_sa_port *port, enum cmx_sa_change change);
	struct list_head node;
};

/* True if the SA of a port may respond differently after an event */
static inline bool cmx_sa_event_counts(enum ib_event_type event)
{
	switch (event) {
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
	case IB_EVENT_DEVICE_FATAL:
		return true;
	default:
		return false;
	}
}

void cmx_sa_watch(struct cmx_sa_watcher *watcher);
void cmx_sa_unwatch(struct cmx_sa_watcher *watcher);
u32 cmx_sa_port_generation(const struct cmx_sa_port *port);
int cmx_sa_ports_find(struct net *net, const char *dev, u32 num);
void cmx_sa_services_changed(void);

extern unsigned int cmx_sa_waiting_per_user, cmx_sa_kb_per_user;
extern unsigned int cmx_sa_max_records;

int cmx_sa_init(void);
void cmx_sa_exit(void);
void cmx_sa_hold_exit(void);

#endif /* CMX_SA_H */
