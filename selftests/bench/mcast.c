// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Joins of many groups by one id: the time from the first call until all
 * events are there. Leaving is not timed. One thread.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef BENCH_PROJECT
#include <rdma/rdma_cmx.h>
#endif

#include "bench.h"

/* Unused groups, as many as InfiniBand's 28 bits of the address */
#define GROUP_BASE 0xee000000u
/* A single join is short: its figure is the median of some. */
#define SINGLE_TIMES 21

static struct rdma_event_channel *channel;
static struct sockaddr_in *groups;

static struct sockaddr *group(unsigned int i)
{
	return (struct sockaddr *)&groups[i];
}

static int events_take(unsigned int count)
{
	while (count--)
		if (event_expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN))
			return 1;
	return 0;
}

static int join_each(struct rdma_cm_id *id, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (rdma_join_multicast(id, group(i), NULL))
			return fail("rdma_join_multicast");
		if (events_take(1))
			return 1;
	}
	return 0;
}

static int join_then_take(struct rdma_cm_id *id, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (rdma_join_multicast(id, group(i), NULL))
			return fail("rdma_join_multicast");
	return events_take(count);
}

#ifdef BENCH_PROJECT
static int join_many(struct rdma_cm_id *id, unsigned int count)
{
	struct rdmacmx_join_attr *attrs = calloc(count, sizeof(*attrs));
	unsigned int i;
	int joined;

	if (!attrs)
		return fail("calloc");
	for (i = 0; i < count; i++)
		attrs[i].addr = group(i);
	joined = rdmacmx_join_many(id, attrs, count);
	free(attrs);
	if (joined != (int)count)
		return fail("rdmacmx_join_many");
	return events_take(count);
}
#endif

/* Join @count groups from number @first on; @id is to be destroyed. */
static int joins_time(int (*joins)(struct rdma_cm_id *id, unsigned int count),
		      unsigned int count, unsigned int first,
		      struct rdma_cm_id **id, double *us)
{
	unsigned int i;
	double start;
	int ret;

	for (i = 0; i < count; i++) {
		groups[i].sin_family = AF_INET;
		groups[i].sin_addr.s_addr = htonl(GROUP_BASE + first + i);
	}
	if (rdma_create_id(channel, id, NULL, RDMA_PS_UDP) ||
	    rdma_bind_addr(*id, (struct sockaddr *)&bench_local))
		return fail("rdma_bind_addr");
	start = now_us();
	ret = joins(*id, count);
	*us = now_us() - start;
	return ret;
}

/* @first: number of the first group; no two runs are to have the same ones */
int bench_mcast(const char *how, unsigned int count, unsigned int first)
{
	int (*joins)(struct rdma_cm_id *id, unsigned int count) = NULL;
	unsigned int i, times = count == 1 ? SINGLE_TIMES : 1;
	struct rdma_cm_id *ids[SINGLE_TIMES];
	double values[SINGLE_TIMES];

	if (!strcmp(how, "joins-each"))
		joins = join_each;
	else if (!strcmp(how, "joins-then-events"))
		joins = join_then_take;
#ifdef BENCH_PROJECT
	else if (!strcmp(how, "joins-many"))
		joins = join_many;
#endif
	if (!joins || !count) {
		fprintf(stderr, "bench: no operation '%s %u'\n", how, count);
		return 2;
	}
	channel = rdma_create_event_channel();
	groups = calloc(count, sizeof(*groups));
	if (!channel || !groups)
		return fail("rdma_create_event_channel");
	for (i = 0; i < times; i++)
		if (joins_time(joins, count, first + i, &ids[i], &values[i]))
			return 1;
	/* Which leaves all groups. Only now: the SA has work with it later. */
	for (i = 0; i < times; i++)
		if (rdma_destroy_id(ids[i]))
			return fail("rdma_destroy_id");
	median_print(values, times);
	free(groups);
	rdma_destroy_event_channel(channel);
	return 0;
}
