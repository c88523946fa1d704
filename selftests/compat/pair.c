// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A listener and a client in one process, see pair.h.
 */
#define CMX_SELFTEST_NO_HARNESS
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api.h"
#include "pair.h"

struct ibv_qp_init_attr pair_qp(int ps)
{
	return (struct ibv_qp_init_attr) {
		.cap = {
			.max_send_wr = 8, .max_recv_wr = 8,
			.max_send_sge = 3, .max_recv_sge = 3,
			.max_inline_data = 64,
		},
		.qp_type = ps == RDMA_PS_TCP ? IBV_QPT_RC : IBV_QPT_UD,
		.sq_sig_all = 1,
	};
}

struct rdma_cm_event *event_want(struct rdma_event_channel *channel, int type)
{
	struct rdma_cm_event *event;

	if (event_wait(channel, &event, WAIT_MS)) {
		printf("# no event, but wanted %s: %s\n", rdma_event_str(type),
		       strerror(errno));
		return NULL;
	}
	if ((int)event->event == type)
		return event;
	printf("# %s with status %d, but wanted %s\n",
	       rdma_event_str(event->event), event->status,
	       rdma_event_str(type));
	rdma_ack_cm_event(event);
	return NULL;
}

int event_status(struct rdma_event_channel *channel, int type)
{
	struct rdma_cm_event *event = event_want(channel, type);
	int status = 1000;

	if (event) {
		status = event->status;
		rdma_ack_cm_event(event);
	}
	return status;
}

static int pair_listen(struct pair *p)
{
	return rdma_create_id(p->passive, &p->listener, p, p->ps) ||
	       id_bind(p->listener, OWN4, 0) || rdma_listen(p->listener, 4);
}

int pair_route(struct pair *p)
{
	unsigned int port = ntohs(rdma_get_src_port(p->listener));
	int status;

	if (id_resolve_addr(p->client, NULL, OWN4, port, &status) !=
	    RDMA_CM_EVENT_ADDR_RESOLVED || status)
		return -1;
	if (rdma_resolve_route(p->client, 5000))
		return -1;
	return event_status(p->active, RDMA_CM_EVENT_ROUTE_RESOLVED) ? -1 : 0;
}

int pair_open(struct pair *p, int ps)
{
	memset(p, 0, sizeof(*p));
	p->ps = ps;
	p->passive = rdma_create_event_channel();
	p->active = rdma_create_event_channel();
	if (!p->passive || !p->active || pair_listen(p) ||
	    rdma_create_id(p->active, &p->client, NULL, ps))
		return -1;
	return pair_route(p);
}

int pair_connect(struct pair *p)
{
	struct ibv_qp_init_attr attr = pair_qp(p->ps);
	struct rdma_cm_event *event;

	if (!p->client->qp && rdma_create_qp(p->client, NULL, &attr))
		return -1;
	if (rdma_connect(p->client, NULL))
		return -1;
	event = event_want(p->passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (!event)
		return -1;
	p->server = event->id;
	rdma_ack_cm_event(event);
	attr = pair_qp(p->ps);
	if (rdma_create_qp(p->server, NULL, &attr) ||
	    rdma_accept(p->server, NULL) ||
	    event_status(p->active, RDMA_CM_EVENT_ESTABLISHED))
		return -1;
	if (p->ps != RDMA_PS_TCP)
		return 0;
	return event_status(p->passive, RDMA_CM_EVENT_ESTABLISHED) ? -1 : 0;
}

static void id_end(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

void pair_close(struct pair *p)
{
	id_end(p->client);
	id_end(p->server);
	id_end(p->listener);
	rdma_destroy_event_channel(p->passive);
	rdma_destroy_event_channel(p->active);
}

const char *channel_device(struct rdma_event_channel *channel, char *buf,
			   size_t len)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", channel->fd);
	n = readlink(path, buf, len - 1);
	if (n < 0)
		return "none";
	buf[n] = 0;
	return strrchr(buf, '/') + 1;
}

bool data_is(const void *data, size_t len, const char *text)
{
	return data && len >= strlen(text) + 1 &&
	       !memcmp(data, text, strlen(text) + 1);
}

enum ibv_qp_state qp_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp, &attr, IBV_QP_STATE, &init))
		return IBV_QPS_UNKNOWN;
	return attr.qp_state;
}
