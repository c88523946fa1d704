// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * bench OPERATION COUNT [NAME]: do it COUNT times in one process, each timed
 * for itself, and print the median without what the clock takes. Set-up and
 * clean-up are not timed. `joins-HOW COUNT FIRST' is one of COUNT groups,
 * `events COUNT THREADS' and `rate COUNT THREADS' take the time of all;
 * `serve 1 MS' accepts connections, MS milliseconds after each request;
 * `scale COUNT', `storm PROCESSES EACH', `job NODES RANKS', `sa-OPERATION COUNT
 * [SERVICE]': see scale.c, storm.c, job.c, sa.c.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#ifdef BENCH_PROJECT
#include <rdma/rdma_cmx_ioctl.h>
#endif

struct sockaddr_in bench_local = { .sin_family = AF_INET };
struct sockaddr_in bench_peer = { .sin_family = AF_INET };

static const char *name;
static struct rdma_event_channel *channel;

double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

int fail(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	return 1;
}

static int value_order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double median(double *values, unsigned int count)
{
	qsort(values, count, sizeof(*values), value_order);
	return count % 2 ? values[count / 2] :
	       (values[count / 2 - 1] + values[count / 2]) / 2;
}

/*
 * The cost of the clock: it may be a system call and a device's register, and
 * then is no small part of a short operation.
 */
static double clock_cost(void)
{
	double values[201];
	unsigned int i;

	for (i = 0; i < 201; i++) {
		values[i] = now_us();
		values[i] = now_us() - values[i];
	}
	return median(values, 201);
}

void median_print(double *values, unsigned int count)
{
	printf("%.2f\n", median(values, count) - clock_cost());
}

int event_expect(struct rdma_event_channel *ch, enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(ch, &event))
		return fail("rdma_get_cm_event");
	if (event->event != want) {
		fprintf(stderr, "bench: %s (%s) came, not %s\n",
			rdma_event_str(event->event), strerror(-event->status),
			rdma_event_str(want));
		rdma_ack_cm_event(event);
		return 1;
	}
	return rdma_ack_cm_event(event);
}

static int do_channel(double *us)
{
	struct rdma_event_channel *first;
	double start = now_us();

	first = rdma_create_event_channel();
	*us = now_us() - start;
	if (!first)
		return fail("rdma_create_event_channel");
	rdma_destroy_event_channel(first);
	return 0;
}

static int do_id(double *us)
{
	double start = now_us();
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_destroy_id(id))
		return fail("rdma_create_id");
	*us = now_us() - start;
	return 0;
}

static int do_bind(double *us)
{
	struct rdma_cm_id *id;
	double start;
	int ret;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return fail("rdma_create_id");
	start = now_us();
	ret = rdma_bind_addr(id, (struct sockaddr *)&bench_local);
	*us = now_us() - start;
	if (ret)
		fail("rdma_bind_addr");
	rdma_destroy_id(id);
	return ret;
}

static int do_getaddrinfo(double *us)
{
	const struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_RC,
					     .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *list;
	double start = now_us();
	int ret;

	ret = rdma_getaddrinfo(name, "7471", &hints, &list);
	if (ret) {
		fprintf(stderr, "bench: %s: %s\n", name, gai_strerror(ret));
		return 1;
	}
	rdma_freeaddrinfo(list);
	*us = now_us() - start;
	return 0;
}

/* The time of stock for the source address and the device of a peer */
static int do_learn(double *us)
{
	double start = now_us();
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return fail("rdma_create_id");
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&bench_peer,
			      BENCH_WAIT_MS))
		return fail("rdma_resolve_addr");
	if (event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED))
		return 1;
	rdma_destroy_id(id);
	*us = now_us() - start;
	return 0;
}

static int resolve(double *addr_us, double *route_us)
{
	struct rdma_cm_id *id;
	double start;
	int ret;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return fail("rdma_create_id");
	start = now_us();
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)&bench_peer,
			      BENCH_WAIT_MS))
		return fail("rdma_resolve_addr");
	ret = event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	*addr_us = now_us() - start;
	if (!ret && route_us) {
		start = now_us();
		if (rdma_resolve_route(id, BENCH_WAIT_MS))
			return fail("rdma_resolve_route");
		ret = event_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
		*route_us = now_us() - start;
	}
	rdma_destroy_id(id);
	return ret;
}

static int do_addr(double *us)
{
	return resolve(us, NULL);
}

static int do_route(double *us)
{
	double unused;

	return resolve(&unused, us);
}

static int join(double *join_us, double *leave_us)
{
	struct sockaddr_in group = { .sin_family = AF_INET };
	struct rdma_cm_id *id;
	double start;
	int ret;

	inet_pton(AF_INET, "239.55.9.9", &group.sin_addr);
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&bench_local))
		return fail("rdma_bind_addr");
	start = now_us();
	if (rdma_join_multicast(id, (struct sockaddr *)&group, NULL))
		return fail("rdma_join_multicast");
	ret = event_expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	*join_us = now_us() - start;
	start = now_us();
	if (!ret && rdma_leave_multicast(id, (struct sockaddr *)&group))
		ret = fail("rdma_leave_multicast");
	*leave_us = now_us() - start;
	rdma_destroy_id(id);
	return ret;
}

static int do_join(double *us)
{
	double unused;

	return join(us, &unused);
}

static int do_leave(double *us)
{
	double unused;

	return join(&unused, us);
}

/*
 * Keep @count ids until standard input ends, new ones, or resolved ones whose
 * events are read.
 */
static int hold(unsigned int count, bool resolved)
{
	struct rdma_cm_id **ids = calloc(count, sizeof(*ids));
	unsigned int i;
	char byte;

	if (!ids)
		return fail("calloc");
	if (resolved && bench_resolved(channel, ids, count))
		return 1;
	for (i = 0; i < count; i++) {
		if (resolved) {
			if (event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED))
				return 1;
		} else if (rdma_create_id(channel, &ids[i], NULL,
					  RDMA_PS_TCP)) {
			return fail("rdma_create_id");
		}
	}
	free(ids);
	puts("holding");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}

#ifdef BENCH_PROJECT
/*
 * The floor of each lookup in the kernel: a system call that copies a struct of
 * the size of a query and does nothing, and a result list of one entry.
 */
static int do_floor(double *us)
{
	struct {
		struct rdma_cmx_get_info info;
		char rest[sizeof(struct rdma_cmx_getaddrinfo) -
			  sizeof(struct rdma_cmx_get_info)];
	} arg = { .info.size = sizeof(arg) };
	struct rdma_addrinfo *list;
	double start = now_us();

	if (ioctl(channel->fd, RDMA_CMX_IO(GET_INFO), &arg))
		return fail("GET_INFO");
	list = calloc(1, sizeof(*list));
	if (!list)
		return fail("calloc");
	list->ai_src_addr = malloc(sizeof(struct sockaddr_in));
	list->ai_dst_addr = malloc(sizeof(struct sockaddr_in));
	free(list->ai_src_addr);
	free(list->ai_dst_addr);
	free(list);
	*us = now_us() - start;
	return 0;
}
#endif

static int measure(int (*operation)(double *us), unsigned int count)
{
	double *values = calloc(count, sizeof(*values));
	unsigned int i;
	double unused;

	/* The first call is not measured: it loads and caches. */
	if (!values || (count > 1 && operation(&unused)))
		return 1;
	for (i = 0; i < count; i++)
		if (operation(&values[i]))
			return 1;
	median_print(values, count);
	free(values);
	return 0;
}

/* Another guest has other addresses. */
static void addr_set(struct sockaddr_in *addr, const char *variable,
		     const char *usual)
{
	const char *text = getenv(variable);

	inet_pton(AF_INET, text ? text : usual, &addr->sin_addr);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(double *us);
	} operations[] = {
		{ "id", do_id }, { "bind", do_bind },
		{ "getaddrinfo", do_getaddrinfo }, { "learn", do_learn },
		{ "addr", do_addr }, { "route", do_route },
		{ "join", do_join }, { "leave", do_leave },
#ifdef BENCH_PROJECT
		{ "floor", do_floor },
#endif
	};
	unsigned int count;
	double us;
	size_t i;

	if (argc < 3) {
		fprintf(stderr, "usage: bench OPERATION COUNT [NAME]\n");
		return 2;
	}
	count = strtoul(argv[2], NULL, 10);
	name = argv[3];
	addr_set(&bench_local, "BENCH_LOCAL", "10.55.0.1");
	addr_set(&bench_peer, "BENCH_PEER", "10.55.0.2");
	bench_peer.sin_port = htons(BENCH_PORT);

	if (!strcmp(argv[1], "channel")) {
		if (do_channel(&us))
			return 1;
		printf("%.2f\n", us);
		return 0;
	}
	if (!strcmp(argv[1], "serve"))
		return bench_serve(name ? strtoul(name, NULL, 10) : 0);
	if (!strcmp(argv[1], "connect"))
		return bench_connect(count, false);
	if (!strcmp(argv[1], "connects"))
		return bench_connect(count, true);
	if (!strcmp(argv[1], "name"))
		return bench_name(count, name, BENCH_NAME_STEPS);
	if (!strcmp(argv[1], "name-call"))
		return bench_name(count, name, BENCH_NAME_CALL);
	if (!strcmp(argv[1], "name-race"))
		return bench_name(count, name, BENCH_NAME_RACE);
	if (!strcmp(argv[1], "events"))
		return bench_events(count, name ? strtoul(name, NULL, 10) : 1);
	if (!strcmp(argv[1], "rate"))
		return bench_rate(count, name ? strtoul(name, NULL, 10) : 1);
	if (!strcmp(argv[1], "scale"))
		return bench_scale(count);
	if (!strcmp(argv[1], "job"))
		return bench_job(count, name ? strtoul(name, NULL, 10) : 1);
	if (!strcmp(argv[1], "storm"))
		return bench_storm(count, name ? strtoul(name, NULL, 10) : 1);
#ifdef BENCH_PROJECT
	if (!strncmp(argv[1], "sa-", 3))
		return bench_sa(argv[1] + 3, count, name);
#endif
	if (!strncmp(argv[1], "joins-", 6))
		return bench_mcast(argv[1], count,
				   name ? strtoul(name, NULL, 10) : 0);
	channel = rdma_create_event_channel();
	if (!channel)
		return fail("rdma_create_event_channel");
	if (!strcmp(argv[1], "hold"))
		return hold(count, false);
	if (!strcmp(argv[1], "hold-resolved"))
		return hold(count, true);
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		if (!strcmp(argv[1], operations[i].name) && count &&
		    (operations[i].run != do_getaddrinfo || name))
			return measure(operations[i].run, count);
	fprintf(stderr, "bench: no operation '%s %s'\n", argv[1], argv[2]);
	return 2;
}
