/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Ids whose route rdma_cm queries, and the removal of their device.
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

struct rdma_cm_event;
struct rdma_cm_id;

/**
 * enum cmx_route_state - the route query of an id
 * @CMX_ROUTE_NONE: not outstanding
 * @CMX_ROUTE_OUTSTANDING: its event has not come
 * @CMX_ROUTE_REMOVED: DEVICE_REMOVAL came instead
 */
enum cmx_route_state {
	CMX_ROUTE_NONE,
	CMX_ROUTE_OUTSTANDING,
	CMX_ROUTE_REMOVED,
};

/**
 * struct cmx_route - the same, in the object of an id
 * @state: an enum cmx_route_state
 * @grace: REMOVED: grace periods that had begun by then
 */
struct cmx_route {
	u8 state;
	u32 grace;
};

/* resolve/route.c of rdma_cmx */
int rdma_cmx_route_start(struct rdma_cm_id *id, struct cmx_route *route,
			 u32 timeout_ms);
void rdma_cmx_route_event(struct cmx_route *route,
			  const struct rdma_cm_event *event);
void rdma_cmx_route_destroy(struct rdma_cm_id *id, struct cmx_route *route);

#endif /* CMX_ROUTE_H */
