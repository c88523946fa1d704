// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

#define DEADLINE_MS	60000

const struct end_attr rc_attr = {
	.type = IBV_QPT_RC,
	.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		  IBV_ACCESS_REMOTE_ATOMIC,
	.timeout = 14,
	.retry_cnt = 3,
	.rnr_retry = 7,
	.rnr_timer = 12,
};

const struct end_attr uc_attr = {
	.type = IBV_QPT_UC,
	.access = IBV_ACCESS_REMOTE_WRITE,
};

/* Opens the nth device with an active InfiniBand port. */
static struct ibv_context *device_open(int nth, uint16_t *lid)
{
	struct ibv_device **list = ibv_get_device_list(NULL), **dev;
	struct ibv_context *ctx = NULL;
	struct ibv_port_attr port;

	for (dev = list; dev && *dev; dev++) {
		ctx = ibv_open_device(*dev);
		if (!ctx)
			continue;
		if (!ibv_query_port(ctx, 1, &port) &&
		    port.link_layer == IBV_LINK_LAYER_INFINIBAND &&
		    port.state == IBV_PORT_ACTIVE && !nth--)
			break;
		ibv_close_device(ctx);
		ctx = NULL;
	}
	if (list)
		ibv_free_device_list(list);
	if (ctx)
		*lid = port.lid;
	return ctx;
}

bool end_open(struct end *end, int nth)
{
	memset(end, 0, sizeof(*end));
	end->ctx = device_open(nth, &end->lid);
	if (!end->ctx) {
		printf("# no active InfiniBand port number %d\n", nth + 1);
		return false;
	}
	end->pd = ibv_alloc_pd(end->ctx);
	end->send_channel = ibv_create_comp_channel(end->ctx);
	end->recv_channel = ibv_create_comp_channel(end->ctx);
	end->buf = aligned_alloc(4096, END_BYTES);
	if (!end->pd || !end->send_channel || !end->recv_channel || !end->buf)
		return false;
	memset(end->buf, 0, END_BYTES);
	end->send_cq = ibv_create_cq(end->ctx, END_CQES, NULL,
				     end->send_channel, 0);
	end->recv_cq = ibv_create_cq(end->ctx, END_CQES, NULL,
				     end->recv_channel, 0);
	end->mr = ibv_reg_mr(end->pd, end->buf, END_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	return end->send_cq && end->recv_cq && end->mr;
}

bool end_close(struct end *end)
{
	int bad = 0;

	if (end->qp)
		bad |= ibv_destroy_qp(end->qp);
	if (end->srq)
		bad |= ibv_destroy_srq(end->srq);
	if (end->mr)
		bad |= ibv_dereg_mr(end->mr);
	if (end->send_cq)
		bad |= ibv_destroy_cq(end->send_cq);
	if (end->recv_cq)
		bad |= ibv_destroy_cq(end->recv_cq);
	if (end->send_channel)
		bad |= ibv_destroy_comp_channel(end->send_channel);
	if (end->recv_channel)
		bad |= ibv_destroy_comp_channel(end->recv_channel);
	if (end->pd)
		bad |= ibv_dealloc_pd(end->pd);
	if (end->ctx)
		bad |= ibv_close_device(end->ctx);
	free(end->buf);
	memset(end, 0, sizeof(*end));
	return !bad;
}

bool end_srq(struct end *end)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = END_WRS, .max_sge = 2 },
	};

	end->srq = ibv_create_srq(end->pd, &attr);
	return end->srq;
}

bool end_qp(struct end *end, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = end->send_cq,
		.recv_cq = end->recv_cq,
		.srq = end->srq,
		.cap = {
			.max_send_wr = END_WRS,
			.max_recv_wr = END_WRS,
			.max_send_sge = 3,
			.max_recv_sge = 2,
		},
		.qp_type = type,
	};

	end->qp = ibv_create_qp(end->pd, &attr);
	return end->qp;
}

int end_init(struct end *end, const struct end_attr *attr)
{
	struct ibv_qp_attr qp = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = attr->pkey_index,
		.port_num = 1,
		.qp_access_flags = attr->access,
	};

	return ibv_modify_qp(end->qp, &qp, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			     IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

int end_rtr(struct end *end, const struct end *to, const struct end_attr *attr)
{
	struct ibv_qp_attr qp = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_2048,
		.dest_qp_num = attr->dest_qpn ?: to->qp->qp_num,
		.rq_psn = attr->rq_psn,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = attr->rnr_timer,
		.ah_attr = { .dlid = to->lid, .port_num = 1 },
	};
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
		   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (attr->type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(end->qp, &qp, mask);
}

int end_rts(struct end *end, const struct end_attr *attr)
{
	struct ibv_qp_attr qp = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = attr->sq_psn,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (attr->type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(end->qp, &qp, mask);
}

int end_state(struct end *end, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(end->qp, &attr, IBV_QP_STATE);
}

enum ibv_qp_state end_state_get(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init))
		return IBV_QPS_UNKNOWN;
	return attr.qp_state;
}

bool pair_up(struct end *a, struct end *b, const struct end_attr *attr)
{
	return end_qp(a, attr->type) && end_qp(b, attr->type) &&
	       !end_init(a, attr) && !end_init(b, attr) &&
	       !end_rtr(a, b, attr) && !end_rtr(b, a, attr) &&
	       !end_rts(a, attr) && !end_rts(b, attr);
}

int end_recv(struct end *end, uint64_t id, size_t offset, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf + offset,
		.length = length,
		.lkey = end->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	if (end->srq)
		return ibv_post_srq_recv(end->srq, &wr, &bad);
	return ibv_post_recv(end->qp, &wr, &bad);
}

int end_post(struct end *end, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(end->qp, wr, &bad);
}

int end_send(struct end *end, uint64_t id, enum ibv_wr_opcode opcode,
	     size_t offset, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf + offset,
		.length = length,
		.lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return end_post(end, &wr);
}

int end_rdma(struct end *end, uint64_t id, enum ibv_wr_opcode opcode,
	     size_t offset, uint32_t length, const struct end *to,
	     size_t remote_offset)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)end->buf + offset,
		.length = length,
		.lkey = end->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {
			.remote_addr = (uintptr_t)to->buf + remote_offset,
			.rkey = to->mr->rkey,
		},
	};

	return end_post(end, &wr);
}

static int wc_next(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct pollfd poll_in = { .fd = cq->channel->fd, .events = POLLIN };
	struct ibv_cq *which;
	void *context;
	int got;

	for (;;) {
		got = ibv_poll_cq(cq, 1, wc);
		if (got)
			return got < 0 ? -EIO : 0;
		if (ibv_req_notify_cq(cq, 0))
			return -EIO;
		got = ibv_poll_cq(cq, 1, wc);
		if (got)
			return got < 0 ? -EIO : 0;
		if (poll(&poll_in, 1, DEADLINE_MS) != 1)
			return -ETIME;
		if (ibv_get_cq_event(cq->channel, &which, &context))
			return -EIO;
		ibv_ack_cq_events(which, 1);
	}
}

int end_sent(struct end *end, struct ibv_wc *wc)
{
	return wc_next(end->send_cq, wc);
}

int end_received(struct end *end, struct ibv_wc *wc)
{
	return wc_next(end->recv_cq, wc);
}

bool end_idle(struct end *end)
{
	struct ibv_wc wc;

	return !ibv_poll_cq(end->send_cq, 1, &wc) &&
	       !ibv_poll_cq(end->recv_cq, 1, &wc);
}

int end_event(struct end *end)
{
	struct pollfd poll_in = { .fd = end->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&poll_in, 1, DEADLINE_MS) != 1)
		return -ETIME;
	if (ibv_get_async_event(end->ctx, &event))
		return -EIO;
	ibv_ack_async_event(&event);
	return event.event_type;
}
