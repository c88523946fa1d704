// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Endpoints: synchronous ids, created from an entry of rdma_getaddrinfo() in
 * one call. The file has no state.
 */
#include <stdlib.h>
#include <string.h>

#include "lib.h"

/* Timeout of the address and of the route of an endpoint, in milliseconds */
#define EP_TIMEOUT	2000

static int ep_passive(struct cmx_id *id, const struct rdma_addrinfo *res,
		      struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	if (rdma_bind_addr(&id->id, res->ai_src_addr))
		return -1;
	if (pd)
		id->id.pd = pd;
	if (!attr)
		return 0;
	id->ep = calloc(1, sizeof(*id->ep));
	if (!id->ep)
		return -1;
	id->ep->qp_init_attr = *attr;
	id->ep->qp_init_attr.qp_type = res->ai_qp_type;
	return 0;
}

static int ep_route(struct cmx_id *id, const struct rdma_addrinfo *res)
{
	if (!res->ai_route_len)
		return rdma_resolve_route(&id->id, EP_TIMEOUT);
	if (rdma_set_option(&id->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH,
			    res->ai_route, res->ai_route_len))
		return -1;
	/* No other thread has the id yet. */
	return cmx_complete(id);
}

static int ep_active(struct cmx_id *id, const struct rdma_addrinfo *res,
		     struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct sockaddr *src = res->ai_src_len ? res->ai_src_addr : NULL;

	if (rdma_resolve_addr(&id->id, src, res->ai_dst_addr, EP_TIMEOUT) ||
	    ep_route(id, res))
		return -1;
	if (attr) {
		attr->qp_type = res->ai_qp_type;
		if (rdma_create_qp(&id->id, pd, attr))
			return -1;
	}
	if (!res->ai_connect_len)
		return 0;
	id->ep = calloc(1, sizeof(*id->ep) + res->ai_connect_len);
	if (!id->ep)
		return -1;
	memcpy(id->ep->connect, res->ai_connect, res->ai_connect_len);
	id->ep->connect_len = res->ai_connect_len;
	return 0;
}

CMX_EXPORT int rdma_create_ep(struct rdma_cm_id **id,
			      struct rdma_addrinfo *res, struct ibv_pd *pd,
			      struct ibv_qp_init_attr *qp_init_attr)
{
	struct rdma_cm_id *new;
	int ret, err;

	if (cmx_called_by_stock(true))
		return CMX_STOCK(rdma_create_ep, id, res, pd, qp_init_attr);
	if (!id || !res)
		return cmx_err(EINVAL);
	if (cmx_id_create(NULL, &new, NULL, res->ai_port_space,
			  res->ai_qp_type))
		return cmx_stock_instead() ?
		       CMX_STOCK(rdma_create_ep, id, res, pd, qp_init_attr) :
		       -1;

	if (res->ai_flags & RAI_PASSIVE)
		ret = ep_passive(cmx_id(new), res, pd, qp_init_attr);
	else
		ret = ep_active(cmx_id(new), res, pd, qp_init_attr);
	if (ret) {
		err = errno;
		rdma_destroy_ep(new);
		return cmx_err(err);
	}
	*id = new;
	return 0;
}

/*
 * The queues of a copy are those of the process that created the id. If it is
 * gone, the first child that destroys the id destroys them: then others may have
 * their numbers. Without the channel there is no first one.
 */
static bool queues_own(struct cmx_id *id)
{
	if (!cmx_id_inherited(id))
		return true;
	return id->id.channel->fd < 0 ? !cmx_id_cared_for(id) :
					cmx_id_destroy_inherited(id);
}

CMX_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	struct cmx_id *cid = cmx_id(id);

	if (unlikely(!cmx_id_ours(id))) {
		if (cmx_stocks(id))
			CMX_STOCK_VOID(rdma_destroy_ep, id);
		return;
	}
	/* They may work on the queue pair. */
	cmx_id_end_calls(cid);
	/* The library's queue pair cannot become the program's any more. */
	cmx_id_end(cid, true);
	if (queues_own(cid)) {
		rdma_destroy_qp(id);
		rdma_destroy_srq(id);
	}
	cmx_id_destroy(cid);
}

/* The stock library creates the new id. */
static int stock_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	if (CMX_STOCK(rdma_get_request, listen, id))
		return -1;
	cmx_own_add(*id, CMX_STOCK_ID);
	return 0;
}

CMX_EXPORT int rdma_get_request(struct rdma_cm_id *listen,
				struct rdma_cm_id **id)
{
	struct ibv_qp_init_attr attr;
	struct cmx_id *cid = cmx_id(listen);
	struct rdma_cm_event *event;
	struct rdma_cm_id *new;
	int err = 0;

	if (unlikely(!cmx_id_ours(listen)))
		return cmx_stocks(listen) ? stock_request(listen, id) :
					    cmx_err(EINVAL);
	if (!cid->sync || !id)
		return cmx_err(EINVAL);
	/* A signal handler ends the wait: servers exit this way. */
	if (cmx_event_wait(cid, &event, true))
		return -1;

	new = event->id;
	if (event->event == RDMA_CM_EVENT_REJECTED) {
		err = ECONNREFUSED;
	} else if (event->status) {
		err = cmx_status_err(event->status);
	} else if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		err = EINVAL;
	} else if (cid->ep) {
		attr = cid->ep->qp_init_attr;
		if (rdma_create_qp(new, listen->pd, &attr))
			err = errno;
	}
	if (cmx_event_leave(cid, event, err ? &listen->event : &new->event))
		return -1;
	if (err)
		return cmx_err(err);
	*id = new;
	return 0;
}
