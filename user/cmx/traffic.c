// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Datagrams of a joined group. Buffer 0 is for sends, the others are posted as
 * receives, each with 40 bytes for a GRH before the message.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "traffic.h"

#define RECEIVES	32
#define GRH_BYTES	40
#define BUFFER_BYTES	(GRH_BYTES + 2048)

static char *buffer(struct traffic *traffic, unsigned int index)
{
	return traffic->buffers + (size_t)index * BUFFER_BYTES;
}

static int receive_post(struct traffic *traffic, unsigned int index)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buffer(traffic, index),
		.length = BUFFER_BYTES,
		.lkey = traffic->mr->lkey,
	};
	struct ibv_recv_wr wr = {
		.wr_id = index,
		.sg_list = &sge,
		.num_sge = 1,
	}, *bad;

	return ibv_post_recv(traffic->id->qp, &wr, &bad);
}

int traffic_open(struct traffic *traffic, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_UD,
	};
	unsigned int i;

	traffic->id = id;
	traffic->channel = ibv_create_comp_channel(id->verbs);
	if (!traffic->channel)
		return failure("completion channel: %s", strerror(errno));
	traffic->cq = ibv_create_cq(id->verbs, RECEIVES + 1, NULL,
				    traffic->channel, 0);
	if (!traffic->cq)
		return failure("completion queue: %s", strerror(errno));
	attr.send_cq = traffic->cq;
	attr.recv_cq = traffic->cq;
	if (rdma_create_qp(id, NULL, &attr))
		return failure("queue pair: %s", strerror(errno));
	traffic->buffers = calloc(RECEIVES + 1, BUFFER_BYTES);
	if (!traffic->buffers)
		return failure("out of memory");
	traffic->mr = ibv_reg_mr(id->qp->pd, traffic->buffers,
				 (RECEIVES + 1) * BUFFER_BYTES,
				 IBV_ACCESS_LOCAL_WRITE);
	if (!traffic->mr)
		return failure("memory region: %s (see ulimit -l)",
			       strerror(errno));
	for (i = 1; i <= RECEIVES; i++)
		if (receive_post(traffic, i))
			return failure("cannot post a receive");
	if (ibv_req_notify_cq(traffic->cq, 0))
		return failure("cannot arm the completion queue");
	return CMX_OK;
}

int traffic_aim(struct traffic *traffic, const struct rdma_ud_param *ud)
{
	struct ibv_ah_attr attr = ud->ah_attr;

	if (traffic->ah)
		ibv_destroy_ah(traffic->ah);
	traffic->ah = ibv_create_ah(traffic->id->qp->pd, &attr);
	if (!traffic->ah)
		return failure("address handle: %s", strerror(errno));
	traffic->qkey = ud->qkey;
	return CMX_OK;
}

int traffic_send(struct traffic *traffic, const char *text)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)buffer(traffic, 0),
		.lkey = traffic->mr->lkey,
		.length = strlen(text),
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {
			.ah = traffic->ah,
			.remote_qpn = 0xffffff,
			.remote_qkey = traffic->qkey,
		},
	}, *bad;
	struct pollfd wait = { .fd = traffic->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int ret;

	memcpy(buffer(traffic, 0), text, sge.length);
	ret = ibv_post_send(traffic->id->qp, &wr, &bad);
	if (ret)
		return failure("cannot send: %s", strerror(ret));
	for (;;) {
		ret = ibv_poll_cq(traffic->cq, 1, &wc);
		if (ret < 0)
			return failure("cannot poll the completion queue");
		if (ret && wc.opcode != IBV_WC_SEND &&
		    wc.status == IBV_WC_SUCCESS) {
			/* A sender ignores the messages of others. */
			receive_post(traffic, wc.wr_id);
			continue;
		}
		if (ret)
			break;
		if (poll(&wait, 1, 5000) <= 0)
			return failure("a message was not sent within 5 s");
		if (!ibv_get_cq_event(traffic->channel, &cq, &context)) {
			ibv_ack_cq_events(cq, 1);
			ibv_req_notify_cq(cq, 0);
		}
	}
	if (wc.status != IBV_WC_SUCCESS)
		return failure("a message was not sent: %s",
			       ibv_wc_status_str(wc.status));
	return CMX_OK;
}

/* The sender: RoCE v2 puts the IP header at the end of the 40 bytes. */
static void message_from(const char *grh, char text[ADDR_TEXT_MAX])
{
	text[0] = '\0';
	if (((unsigned char)grh[20] >> 4) == 4 && !grh[0])
		inet_ntop(AF_INET, grh + 20 + 12, text, ADDR_TEXT_MAX);
	else if (((unsigned char)grh[0] >> 4) == 6)
		inet_ntop(AF_INET6, grh + 8, text, ADDR_TEXT_MAX);
}

int traffic_take(struct traffic *traffic, struct message *message)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	size_t shown;
	char *data;
	int ret;

	ret = ibv_poll_cq(traffic->cq, 1, &wc);
	if (!ret) {
		/* Arm first, poll again after: nothing is missed in between. */
		if (ibv_get_cq_event(traffic->channel, &cq, &context))
			return errno == EAGAIN ? 0 :
			       -failure("completion channel: %s",
					strerror(errno));
		ibv_ack_cq_events(cq, 1);
		ibv_req_notify_cq(cq, 0);
		ret = ibv_poll_cq(traffic->cq, 1, &wc);
	}
	if (ret <= 0)
		return ret ? -failure("cannot poll the completion queue") : 0;
	if (wc.status != IBV_WC_SUCCESS)
		return -failure("a receive failed: %s",
				ibv_wc_status_str(wc.status));
	data = buffer(traffic, wc.wr_id);
	message_from(data, message->from);
	message->bytes = wc.byte_len > GRH_BYTES ? wc.byte_len - GRH_BYTES : 0;
	shown = message->bytes < sizeof(message->text) ? message->bytes :
						  sizeof(message->text) - 1;
	memcpy(message->text, data + GRH_BYTES, shown);
	message->text[shown] = '\0';
	for (char *c = message->text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '.';
	if (receive_post(traffic, wc.wr_id))
		return -failure("cannot post a receive");
	return 1;
}

void traffic_close(struct traffic *traffic)
{
	if (traffic->ah)
		ibv_destroy_ah(traffic->ah);
	if (traffic->id && traffic->id->qp)
		rdma_destroy_qp(traffic->id);
	if (traffic->mr)
		ibv_dereg_mr(traffic->mr);
	free(traffic->buffers);
	if (traffic->cq)
		ibv_destroy_cq(traffic->cq);
	if (traffic->channel)
		ibv_destroy_comp_channel(traffic->channel);
	memset(traffic, 0, sizeof(*traffic));
}
