/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ids whose route is queried, and the removal of their device. The query is this
 * module's, by its cache, or that of rdma_cm (resolve/route_query.c).
 *
 * When a device is removed, rdma_cm reports DEVICE_REMOVAL and cancels the query
 * after that, without the handler lock. An id that is destroyed in between has no
 * device any more, and rdma_cm dereferences NULL: cma_send_device_removal_put()
 * of Linux 6.1. So who queries routes with rdma_cm does it, and destroys the id,
 * by these calls.
 */
#ifndef CMX_ROUTE_H
#define CMX_ROUTE_H

#include <linux/types.h>
#include <linux/uidgid.h>

struct cmx_route_query;
struct rdma_cm_event;
struct rdma_cm_id;

/**
 * enum cmx_route_state - the route query of an id
 * @CMX_ROUTE_NONE: not outstanding
 * @CMX_ROUTE_QUERIED: by this module; for rdma_cm the id has an address only
 * @CMX_ROUTE_OUTSTANDING: by rdma_cm; its event has not come
 * @CMX_ROUTE_REMOVED: DEVICE_REMOVAL came instead
 */
enum cmx_route_state {
	CMX_ROUTE_NONE,
	CMX_ROUTE_QUERIED,
	CMX_ROUTE_OUTSTANDING,
	CMX_ROUTE_REMOVED,
};

/**
 * struct cmx_route - the same, in the object of an id
 * @state: an enum cmx_route_state
 * @addressed: the id is between ADDR_RESOLVED and ROUTE_RESOLVED
 * @grace: REMOVED: grace periods that had begun by then
 * @query: this module's, or NULL
 */
struct cmx_route {
	u8 state;
	bool addressed;
	u32 grace;
	struct cmx_route_query *query;
};

/* Is it queried by this module, so that rdma_cm does not know that? */
static inline bool cmx_route_is_queried(const struct cmx_route *route)
{
	return READ_ONCE(route->state) == CMX_ROUTE_QUERIED;
}

/* Is the address final? Then its readers need no lock. */
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
