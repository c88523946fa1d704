// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections: all are prepared, then connected one by one, or all at once as
 * cmtime does; what counts is the time until a connection, or the last one,
 * is established, the server's part included. The server is on the same host:
 * no figure depends on how another machine is scheduled.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

static struct rdma_conn_param param = {
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

/* One CQ and PD for all queue pairs, as a server would. */
static struct ibv_pd *pd;
static struct ibv_cq *cq;

/* Of a queue pair on the device of @verbs */
struct ibv_pd *bench_qp_attr(struct ibv_context *verbs,
			     struct ibv_qp_init_attr *attr)
{
	if (!pd)
		pd = ibv_alloc_pd(verbs);
	if (!cq)
		cq = ibv_create_cq(verbs, 16, NULL, NULL, 0);
	*attr = (struct ibv_qp_init_attr){
		.send_cq = cq, .recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	return cq ? pd : NULL;
}

int bench_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr;

	if (!bench_qp_attr(id->verbs, &attr))
		return fail("ibv_alloc_pd, ibv_create_cq");
	return rdma_create_qp(id, pd, &attr) ? fail("rdma_create_qp") : 0;
}

static struct sockaddr_in target_get(void)
{
	struct sockaddr_in target = bench_local;

	target.sin_port = htons(BENCH_PORT);
	return target;
}

static int prepare(struct rdma_event_channel *channel, struct rdma_cm_id **id)
{
	struct sockaddr_in target = target_get();

	if (rdma_create_id(channel, id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(*id, NULL, (struct sockaddr *)&target,
			      BENCH_WAIT_MS))
		return fail("rdma_resolve_addr");
	if (event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED))
		return 1;
	if (rdma_resolve_route(*id, BENCH_WAIT_MS))
		return fail("rdma_resolve_route");
	return event_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED) ||
	       bench_qp(*id);
}

/* Time for each of @count connections, made at once or one by one. */
static int connect_all(struct rdma_event_channel *channel,
		       struct rdma_cm_id **ids, double *values,
		       unsigned int count, bool at_once)
{
	double start = now_us();
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (!at_once)
			start = now_us();
		if (rdma_connect(ids[i], &param))
			return fail("rdma_connect");
		if (at_once)
			continue;
		if (event_expect(channel, RDMA_CM_EVENT_ESTABLISHED))
			return 1;
		values[i] = now_us() - start;
	}
	if (!at_once)
		return 0;
	for (i = 0; i < count; i++)
		if (event_expect(channel, RDMA_CM_EVENT_ESTABLISHED))
			return 1;
	for (i = 0; i < count; i++)
		values[i] = (now_us() - start) / count;
	return 0;
}

int bench_connect(unsigned int count, bool at_once)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id **ids = calloc(count, sizeof(*ids));
	double *values = calloc(count, sizeof(*values));
	unsigned int i;

	if (!channel || !ids || !values || !count)
		return fail("set-up");
	for (i = 0; i < count; i++)
		if (prepare(channel, &ids[i]))
			return 1;
	if (connect_all(channel, ids, values, count, at_once))
		return 1;
	median_print(values, count);
	for (i = 0; i < count; i++)
		rdma_disconnect(ids[i]);
	for (i = 0; i < count; i++)
		if (event_expect(channel, RDMA_CM_EVENT_DISCONNECTED))
			return 1;
	for (i = 0; i < count; i++) {
		rdma_destroy_qp(ids[i]);
		rdma_destroy_id(ids[i]);
	}
	rdma_destroy_event_channel(channel);
	free(values);
	free(ids);
	return 0;
}

/* One connection from its id to its end. */
int bench_connection(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	if (prepare(channel, &id))
		return 1;
	if (rdma_connect(id, &param))
		return fail("rdma_connect");
	if (event_expect(channel, RDMA_CM_EVENT_ESTABLISHED))
		return 1;
	rdma_disconnect(id);
	if (event_expect(channel, RDMA_CM_EVENT_DISCONNECTED))
		return 1;
	rdma_destroy_qp(id);
	return rdma_destroy_id(id) ? fail("rdma_destroy_id") : 0;
}

static int serve_event(enum rdma_cm_event_type type, struct rdma_cm_id *id,
		       unsigned int delay_ms)
{
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		if (delay_ms)
			usleep(delay_ms * 1000);
		if (bench_qp(id))
			return 1;
		if (!rdma_accept(id, &param))
			return 0;
		/* The other end may have given up. */
		fail("rdma_accept");
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		rdma_disconnect(id);
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
		return 0;
	default:
		return 0;
	}
}

/* Accepts until it is killed, @delay_ms after each request is read. */
int bench_serve(unsigned int delay_ms)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in target = target_get();
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;
	struct rdma_cm_id *listener, *id;

	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&target) ||
	    rdma_listen(listener, 1024))
		return fail("rdma_listen");
	puts("listening");
	fflush(stdout);
	while (!rdma_get_cm_event(channel, &event)) {
		type = event->event;
		id = event->id;
		rdma_ack_cm_event(event);
		if (serve_event(type, id, delay_ms))
			return 1;
	}
	return fail("rdma_get_cm_event");
}
