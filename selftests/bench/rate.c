// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections a second: threads that each make one connection after another,
 * from its id to its end, on a private channel. The server is on the same
 * host (bench serve).
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

static unsigned int left;

static int connections_make(struct rdma_event_channel *channel)
{
	while (__atomic_fetch_sub(&left, 1, __ATOMIC_RELAXED) - 1 < INT32_MAX)
		if (bench_connection(channel))
			return 1;
	return 0;
}

static void *client(void *arg)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int ret;

	if (!channel) {
		fail("rdma_create_event_channel");
		return (void *)1;
	}
	ret = connections_make(channel);
	rdma_destroy_event_channel(channel);
	return ret ? (void *)1 : NULL;
}

/* The time for each of @count connections, made by @threads at a time. */
int bench_rate(unsigned int count, unsigned int threads)
{
	pthread_t *clients = calloc(threads, sizeof(*clients));
	unsigned int i;
	void *failed;
	double start;
	int ret = 0;

	/* The device and what all queue pairs share is there before. */
	left = 1;
	if (!clients || !count || !threads || client(NULL))
		return fail("set-up");
	left = count;
	start = now_us();
	for (i = 0; i < threads; i++)
		if (pthread_create(&clients[i], NULL, client, NULL))
			return fail("pthread_create");
	for (i = 0; i < threads; i++) {
		pthread_join(clients[i], &failed);
		ret |= !!failed;
	}
	if (ret)
		return 1;
	printf("%.3f\n", (now_us() - start) / count);
	free(clients);
	return 0;
}
