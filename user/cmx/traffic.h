/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Datagrams of a joined group, which cmx join --count sends or receives. */
#ifndef CMX_TRAFFIC_H
#define CMX_TRAFFIC_H

#include <rdma/rdma_cma.h>

#include "cmx.h"

struct traffic {
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_ah *ah;
	char *buffers;
	uint32_t qkey;
};

/* One message. @from is empty if the device does not report the sender. */
struct message {
	char from[ADDR_TEXT_MAX];
	char text[128];
	size_t bytes;
};

/* A UD queue pair on a bound id, with receives posted. 0 or CMX_FAILED. */
int traffic_open(struct traffic *traffic, struct rdma_cm_id *id);
/* Set the destination from the join event. */
int traffic_aim(struct traffic *traffic, const struct rdma_ud_param *ud);
/* Send @text and wait until it is sent. */
int traffic_send(struct traffic *traffic, const char *text);
/*
 * Take an arrived message; the caller calls this when @channel->fd is readable.
 * 1: a message, 0: no more for now, -1: failed after an error message.
 */
int traffic_take(struct traffic *traffic, struct message *message);
/* Before the id is destroyed. */
void traffic_close(struct traffic *traffic);

#endif /* CMX_TRAFFIC_H */
