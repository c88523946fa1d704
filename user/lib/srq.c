// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shared receive queues of an id, with the XRC domain and the completion queue
 * of one. One thread at a time creates or destroys the queues of an id.
 */
#include <string.h>

#include "lib.h"

/* As queues_foreign() of qp.c. A basic SRQ has no queue and no XRC domain. */
static bool srq_foreign(const struct ibv_context *verbs,
			const struct ibv_srq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_PD && attr->pd &&
	    attr->pd->context != verbs)
		return true;
	if (attr->srq_type != IBV_SRQT_BASIC &&
	    attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ && attr->cq &&
	    attr->cq->context != verbs)
		return true;
	return attr->srq_type == IBV_SRQT_XRC &&
	       attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD && attr->xrcd &&
	       attr->xrcd->context != verbs;
}

/* A failure may leave defaults in @attr. */
static int srq_try(struct rdma_cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	uint32_t recv_size = 0;
	struct ibv_srq *srq;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
		attr->pd = id->pd;
	}
	if (attr->srq_type == IBV_SRQT_XRC) {
		if ((!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) ||
		     !attr->xrcd) && cmx_xrcd_default(cmx_id(id), &attr->xrcd))
			return -1;
		if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq) {
			recv_size = id->recv_cq ? 0 : attr->attr.max_wr;
			if (cmx_cqs_create(id, 0, recv_size))
				return -1;
			attr->cq = id->recv_cq;
		}
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD |
				   IBV_SRQ_INIT_ATTR_CQ;
	}

	srq = ibv_create_srq_ex(id->verbs, attr);
	if (!srq) {
		cmx_cqs_undo(id, 0, recv_size);
		return -1;
	}
	if (!id->pd)
		id->pd = attr->pd;
	id->srq = srq;
	return 0;
}

CMX_EXPORT int rdma_create_srq_ex(struct rdma_cm_id *id,
				  struct ibv_srq_init_attr_ex *attr)
{
	const size_t len = offsetof(struct ibv_srq_init_attr_ex, tm_cap);
	struct ibv_srq_init_attr_ex saved;

	CMX_ID_OR_STOCK(id, rdma_create_srq_ex, id, attr);
	if (!attr || !id->verbs ||
	    !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) ||
	    srq_foreign(id->verbs, attr))
		return cmx_err(EINVAL);
	/* As in qp_create() of qp.c */
	memcpy(&saved, attr, len);
	if (!srq_try(id, attr))
		return 0;
	memcpy(attr, &saved, len);
	return -1;
}

CMX_EXPORT int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex = {};
	int ret;

	CMX_ID_OR_STOCK(id, rdma_create_srq, id, pd, attr);
	if (!attr)
		return cmx_err(EINVAL);
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC :
							IBV_SRQT_BASIC;
	ex.pd = pd;
	ret = rdma_create_srq_ex(id, &ex);
	memcpy(attr, &ex, sizeof(*attr));
	return ret;
}

CMX_EXPORT void rdma_destroy_srq(struct rdma_cm_id *id)
{
	if (unlikely(!cmx_id_ours(id))) {
		if (cmx_stocks(id))
			CMX_STOCK_VOID(rdma_destroy_srq, id);
		return;
	}
	if (!id->srq)
		return;
	ibv_destroy_srq(id->srq);
	id->srq = NULL;
	if (!id->qp)
		cmx_cqs_destroy(id);
}
