// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One channel with many ids: the time to read an event when many wait,
 * by one thread or by several. The readers share nothing but the channel and
 * an atomic count of the events that are left.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "bench.h"

static struct rdma_event_channel *channel;
static unsigned int left;

static int resolve_start(struct rdma_event_channel *ch, struct rdma_cm_id **id)
{
	struct sockaddr_in target = bench_local;

	target.sin_port = htons(BENCH_PORT);
	if (rdma_create_id(ch, id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(*id, NULL, (struct sockaddr *)&target,
			      BENCH_LONG_MS))
		return fail("rdma_resolve_addr");
	return 0;
}

/*
 * Have @count ids resolved, with their events unread. The kernel resolves in
 * the order of the calls: the event of the last one, on a separate channel,
 * shows that the others have ended.
 */
int bench_resolved(struct rdma_event_channel *ch, struct rdma_cm_id **ids,
		   unsigned int count)
{
	struct rdma_event_channel *last = rdma_create_event_channel();
	struct rdma_cm_id *id;
	unsigned int i;
	int ret;

	if (!last)
		return fail("rdma_create_event_channel");
	for (i = 0; i < count; i++)
		if (resolve_start(ch, &ids[i]))
			return 1;
	if (resolve_start(last, &id))
		return 1;
	ret = event_expect(last, RDMA_CM_EVENT_ADDR_RESOLVED);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(last);
	return ret;
}

/* Each takes the right to read an event before it reads: none waits in vain. */
static void *reader(void *arg)
{
	while (__atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED) - 1 < INT32_MAX)
		if (event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED))
			return (void *)1;
	return NULL;
}

static int readers_run(unsigned int threads)
{
	pthread_t *readers = calloc(threads, sizeof(*readers));
	unsigned int i;
	void *failed;
	int ret = 0;

	if (!readers)
		return fail("calloc");
	for (i = 0; i < threads; i++)
		if (pthread_create(&readers[i], NULL, reader, NULL))
			return fail("pthread_create");
	for (i = 0; i < threads; i++) {
		pthread_join(readers[i], &failed);
		ret |= !!failed;
	}
	free(readers);
	return ret;
}

/* The time for each of @count events; one reader is this thread. */
int bench_events(unsigned int count, unsigned int threads)
{
	struct rdma_cm_id **ids = calloc(count, sizeof(*ids));
	double start, us;
	unsigned int i;
	int ret;

	channel = rdma_create_event_channel();
	if (!ids || !channel || !count || !threads)
		return fail("set-up");
	if (bench_resolved(channel, ids, count))
		return 1;
	left = count;
	start = now_us();
	ret = threads == 1 ? !!reader(NULL) : readers_run(threads);
	us = now_us() - start;
	if (ret)
		return 1;
	printf("%.3f\n", us / count);
	for (i = 0; i < count; i++)
		rdma_destroy_id(ids[i]);
	rdma_destroy_event_channel(channel);
	free(ids);
	return 0;
}
