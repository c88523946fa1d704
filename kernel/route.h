/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Route queries of ids, and the removal of their device. rdma_cmx sends the
 * query, with its cache, or rdma_cm (resolve/route_query.c).
 *
 * When a device is removed, rdma_cm first reports DEVICE_REMOVAL and then
 * cancels the query, without the handler lock. If the id is destroyed in
 * between, it has no device and rdma_cm dereferences NULL:
 * cma_send_device_removal_put() of Linux 6.1. So code that queries routes with
 * rdma_cm starts the query and destroys the id by these functions.
 */
#ifndef CMX_ROUTE_H
#define CMX_ROUTE_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct cmx_route_query;
struct rdma_cm_event;
struct rdma_cm_id;

/**
 * enum cmx_route_state - state of the route query of an id
 * @CMX_ROUTE_NONE: not outstanding
 * @CMX_ROUTE_QUERIED: outstanding, by rdma_cmx; rdma_cm has the address only
 * @CMX_ROUTE_OUTSTANDING: outstanding, by rdma_cm
 * @CMX_ROUTE_REMOVED: DEVICE_REMOVAL arrived instead of its event
 */
enum cmx_route_state {
	CMX_ROUTE_NONE,
	CMX_ROUTE_QUERIED,
	CMX_ROUTE_OUTSTANDING,
	CMX_ROUTE_REMOVED,
};

/**
 * struct cmx_route - the route query of an id; part of the id's object
 * @state: an enum cmx_route_state
 * @addressed: the id is between ADDR_RESOLVED and ROUTE_RESOLVED
 * @locked: the removal of other devices waits for the caller, who does not wait
 *	for the firmware of a port: it is down unless it is known to be active
 * @remover: REMOVED: number of the thread that removes the device
 * @switches: REMOVED: how often that thread had slept, modulo 2^32
 * @query: the query of rdma_cmx, or NULL
 */
struct cmx_route {
	u8 state;
	bool addressed;
	bool locked;
	pid_t remover;
	u32 switches;
	struct cmx_route_query *query;
};

/* True if rdma_cmx sends the query, of which rdma_cm does not know. */
static inline bool cmx_route_is_queried(const struct cmx_route *route)
{
	return READ_ONCE(route->state) == CMX_ROUTE_QUERIED;
}

/* True if the address is final. Readers of it need no lock then. */
static inline bool cmx_route_is_addressed(const struct cmx_route *route)
{
	/* Pairs with rdma_cmx_route_event(). */
	return smp_load_acquire(&route->addressed);
}

/* resolve/route.c of rdma_cmx */
int rdma_cmx_route_start(struct rdma_cm_id *id, struct cmx_route *route,
			 u32 timeout_ms, u8 tos, kuid_t uid);
void rdma_cmx_route_event(struct cmx_route *route,
			  const struct rdma_cm_event *event);
void rdma_cmx_route_destroy(struct rdma_cm_id *id, struct cmx_route *route);

#endif /* CMX_ROUTE_H */
