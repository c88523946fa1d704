// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * From a name to a connection, as a program does it step by step: the name, and
 * for each of its addresses address, route, queue pair and connection, until one
 * is established; and by the project's one call. The server is `bench serve'.
 * One thread.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <netdb.h>

#ifdef BENCH_PROJECT
#include <rdma/rdma_cmx.h>
#endif

#include "bench.h"

/* The usual timeout of programs for an address and for a route, as of rping */
#define STEP_MS	2000

static struct rdma_event_channel *channel;
static char port[8];
static struct ibv_context *verbs;	/* of the device of all connections */
static const struct rdma_conn_param param = {
	.responder_resources = 1, .initiator_depth = 1,
	.retry_count = 7, .rnr_retry_count = 7,
};

/* 0: the event has come; another one is no failure of the benchmark. */
static int step(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;
	int ret;

	if (rdma_get_cm_event(channel, &event))
		return -1;
	ret = event->event == want ? 0 : -1;
	rdma_ack_cm_event(event);
	return ret;
}

static int address_connect(struct rdma_cm_id *id, const struct addrinfo *ai)
{
	struct rdma_conn_param copy = param;

	if (rdma_resolve_addr(id, NULL, ai->ai_addr, STEP_MS) ||
	    step(RDMA_CM_EVENT_ADDR_RESOLVED))
		return -1;
	if (rdma_resolve_route(id, STEP_MS) ||
	    step(RDMA_CM_EVENT_ROUTE_RESOLVED) || bench_qp(id))
		return -1;
	return rdma_connect(id, &copy) || step(RDMA_CM_EVENT_ESTABLISHED);
}

/*
 * An id that is connected to one of the addresses, or NULL. By getaddrinfo(3):
 * stock's rdma_getaddrinfo() returns the first address only.
 */
static struct rdma_cm_id *name_connect(const char *name)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	struct rdma_cm_id *id = NULL;

	if (getaddrinfo(name, port, &hints, &list))
		return NULL;
	for (ai = list; ai; ai = ai->ai_next) {
		if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
			break;
		if (!address_connect(id, ai))
			break;
		if (id->qp)
			rdma_destroy_qp(id);
		rdma_destroy_id(id);
		id = NULL;
	}
	freeaddrinfo(list);
	return id;
}

#ifdef BENCH_PROJECT
/* The same by one call and its event */
static struct rdma_cm_id *name_call(const char *name, bool race)
{
	struct rdma_conn_param copy = param;
	struct ibv_qp_init_attr qp;
	const struct rdmacmx_connect_attr attr = {
		.pd = bench_qp_attr(verbs, &qp), .qp_init_attr = &qp,
		.conn_param = &copy,
		.flags = race ? RDMACMX_CONNECT_RACE : 0,
	};
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return NULL;
	if (!rdmacmx_connect_name(id, name, port, NULL, &attr) &&
	    !step(RDMA_CM_EVENT_ESTABLISHED))
		return id;
	rdma_destroy_id(id);
	return NULL;
}

/* The first query of a name starts a program, which reads it. */
static int name_load(const char *name)
{
	struct rdma_addrinfo *list;

	if (rdma_getaddrinfo(name, port, NULL, &list))
		return -1;
	rdma_freeaddrinfo(list);
	return 0;
}
#else
#define name_call(name, race) name_connect(name)
#define name_load(name) 0
#endif

int bench_name(unsigned int count, const char *name, enum bench_name how)
{
	double *values = calloc(count + 1, sizeof(*values)), start;
	struct rdma_cm_id *id;
	unsigned int i;

	channel = rdma_create_event_channel();
	if (!channel || !values || !count || !name)
		return fail("set-up");
	snprintf(port, sizeof(port), "%d", BENCH_PORT);
	/* The first is not measured: it loads, caches and finds the device. */
	for (i = 0; i <= count; i++) {
		start = now_us();
		id = how == BENCH_NAME_STEPS || !i ?
			     name_connect(name) :
			     name_call(name, how == BENCH_NAME_RACE);
		values[i] = now_us() - start;
		if (!id)
			return fail(name);
		verbs = id->verbs;
		if (how != BENCH_NAME_STEPS && !i && name_load(name))
			return fail(name);
		rdma_disconnect(id);
		if (step(RDMA_CM_EVENT_DISCONNECTED))
			return fail("rdma_disconnect");
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
	}
	median_print(values + 1, count);
	rdma_destroy_event_channel(channel);
	free(values);
	return 0;
}
