// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * bench-sa GID OPERATION COUNT [SERVICE]: resolution by the SA, with queries by
 * the port with that GID. Prints microseconds: the median of COUNT operations
 * one after another, or the time of COUNT at once until the last has ended. One
 * thread.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

static struct sockaddr_ib source = { .sib_family = AF_IB };
static struct rdma_event_channel *channel;
static const char *service;

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

static int fail(const char *what)
{
	fprintf(stderr, "bench-sa: %s: %s\n", what, strerror(errno));
	return 1;
}

static int event_expect(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;
	int ret = 0;

	if (rdma_get_cm_event(channel, &event))
		return fail("rdma_get_cm_event");
	if (event->event != want) {
		fprintf(stderr, "bench-sa: %s came: %s\n",
			rdma_event_str(event->event),
			strerror(-event->status));
		ret = 1;
	}
	rdma_ack_cm_event(event);
	return ret;
}

static struct rdma_cm_id *id_make(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_IB))
		return NULL;
	if (!rdma_bind_addr(id, (struct sockaddr *)&source))
		return id;
	fail("rdma_bind_addr");
	rdma_destroy_id(id);
	return NULL;
}

static int query_start(struct rdma_cm_id *id)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = RAI_SA | RAI_NOROUTE,
	};

	if (rdma_resolve_addrinfo(id, NULL, service, &hints))
		return fail("rdma_resolve_addrinfo");
	return 0;
}

static int take(struct rdma_cm_id *id)
{
	struct rdma_addrinfo *list;

	if (rdma_query_addrinfo(id, &list))
		return fail("rdma_query_addrinfo");
	rdma_freeaddrinfo(list);
	return 0;
}

static int value_order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The cost of the clock, which is no small part of a short call */
static double clock_cost(void)
{
	double values[201];
	unsigned int i;

	for (i = 0; i < 201; i++) {
		values[i] = now_us();
		values[i] = now_us() - values[i];
	}
	qsort(values, 201, sizeof(*values), value_order);
	return values[100];
}

static int median_print(double *values, unsigned int count)
{
	qsort(values, count, sizeof(*values), value_order);
	printf("%.2f\n", values[count / 2] - clock_cost());
	return 0;
}

/* By event, one after another */
static int bench_one(unsigned int count)
{
	double *values = calloc(count + 1, sizeof(*values)), start;
	struct rdma_cm_id *id = id_make();
	unsigned int i;

	if (!values || !id)
		return 1;
	for (i = 0; i <= count; i++) {
		start = now_us();
		if (query_start(id) || event_expect(RDMA_CM_EVENT_ADDRINFO_RESOLVED) ||
		    take(id))
			return 1;
		values[i] = now_us() - start;
	}
	/* The first is for what is done once only. */
	return median_print(values + 1, count);
}

/* The call that waits, one after another */
static int bench_call(unsigned int count)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = RAI_SA | RAI_NOROUTE,
		.ai_src_addr = (struct sockaddr *)&source,
		.ai_src_len = sizeof(source),
	};
	double *values = calloc(count + 1, sizeof(*values)), start;
	struct rdma_addrinfo *list;
	unsigned int i;
	int ret;

	if (!values)
		return 1;
	for (i = 0; i <= count; i++) {
		start = now_us();
		ret = rdma_getaddrinfo(NULL, service, &hints, &list);
		if (ret) {
			fprintf(stderr, "bench-sa: %s\n", gai_strerror(ret));
			return 1;
		}
		rdma_freeaddrinfo(list);
		values[i] = now_us() - start;
	}
	return median_print(values + 1, count);
}

/* All at once: to the last event; without @query, of the events alone */
static int bench_many(unsigned int count, bool query)
{
	struct rdma_cm_id **ids = calloc(count, sizeof(*ids));
	unsigned int i;
	double start;

	if (!ids)
		return 1;
	for (i = 0; i < count; i++) {
		ids[i] = id_make();
		if (!ids[i])
			return 1;
	}
	start = now_us();
	for (i = 0; i < count; i++) {
		if (query ? query_start(ids[i]) :
		    rdma_write_cm_event(ids[i], RDMA_CM_EVENT_USER, 0, 0))
			return 1;
	}
	for (i = 0; i < count; i++)
		if (event_expect(query ? RDMA_CM_EVENT_ADDRINFO_RESOLVED :
					    RDMA_CM_EVENT_USER))
			return 1;
	printf("%.2f\n", now_us() - start);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int count;

	if (argc < 4 || inet_pton(AF_INET6, argv[1], &source.sib_addr) != 1) {
		fprintf(stderr,
			"usage: bench-sa GID one|call|many|events COUNT [SERVICE]\n");
		return 2;
	}
	count = strtoul(argv[3], NULL, 10);
	service = argv[4];
	channel = rdma_create_event_channel();
	if (!channel)
		return fail("rdma_create_event_channel");
	if (!strcmp(argv[2], "events"))
		return bench_many(count, false);
	if (!count || !service)
		return 2;
	if (!strcmp(argv[2], "one"))
		return bench_one(count);
	if (!strcmp(argv[2], "call"))
		return bench_call(count);
	if (!strcmp(argv[2], "many"))
		return bench_many(count, true);
	return 2;
}
