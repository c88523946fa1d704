// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A storm: many processes connect to one listener at the same time. Each
 * prepares its ids first; all connect when standard input ends. `storm
 * PROCESSES EACH' prints how many connections failed, how many of these are
 * lost, without any event, and after how many milliseconds half and all of the
 * others were established.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* For an event: rdma_cm gives up long before. */
#define STORM_MS	240000

/* Of all processes */
static struct {
	unsigned int ready;
	unsigned int lost;
	double start;
	double ms[];		/* of each connection; 0: failed */
} *shared;

static struct rdma_conn_param param = {
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 7,
	.rnr_retry_count = 7,
};

static int prepare(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		   double *ms)
{
	struct sockaddr_in target = bench_peer;

	if (rdma_create_id(channel, id, ms, RDMA_PS_TCP) ||
	    rdma_resolve_addr(*id, (struct sockaddr *)&bench_local,
			      (struct sockaddr *)&target, BENCH_LONG_MS))
		return fail("rdma_resolve_addr");
	if (event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED))
		return 1;
	if (rdma_resolve_route(*id, BENCH_LONG_MS))
		return fail("rdma_resolve_route");
	return event_expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED) ||
	       bench_qp(*id);
}

/* The next event of a connection; false: none comes in time */
static bool connected(struct rdma_event_channel *channel)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&pfd, 1, STORM_MS) != 1 ||
	    rdma_get_cm_event(channel, &event)) {
		fail("rdma_get_cm_event");
		return false;
	}
	if (event->event == RDMA_CM_EVENT_ESTABLISHED)
		*(double *)event->id->context = (now_us() - shared->start) / 1e3;
	else
		fprintf(stderr, "bench: %s, status %d\n",
			rdma_event_str(event->event), event->status);
	rdma_ack_cm_event(event);
	return true;
}

static void storm_process(unsigned int each, double *ms, int go, int end)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id **ids = calloc(each, sizeof(*ids));
	unsigned int i, n = 0, outstanding = 0;
	char byte;

	if (!channel || !ids)
		fail("set-up");
	else
		while (n < each && !prepare(channel, &ids[n], &ms[n]))
			n++;
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_RELEASE);
	while (read(go, &byte, 1) > 0)
		;
	for (i = 0; i < n; i++) {
		if (rdma_connect(ids[i], &param))
			fail("rdma_connect");
		else
			outstanding++;
	}
	while (outstanding && connected(channel))
		outstanding--;
	__atomic_add_fetch(&shared->lost, outstanding, __ATOMIC_RELAXED);
	__atomic_add_fetch(&shared->ready, 1, __ATOMIC_RELEASE);
	/* The connections stay until all are there. */
	while (read(end, &byte, 1) > 0)
		;
	_exit(0);
}

static int ready_wait(unsigned int n)
{
	double until = now_us() + 1e6 * 600;

	while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) < n) {
		if (now_us() > until) {
			errno = ETIME;
			return fail("the processes");
		}
		usleep(1000);
	}
	return 0;
}

static int ms_order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void storm_print(unsigned int count)
{
	unsigned int failed = 0;

	qsort(shared->ms, count, sizeof(shared->ms[0]), ms_order);
	while (failed < count && !shared->ms[failed])
		failed++;
	printf("failed %u\nlost %u\n", failed, shared->lost);
	if (failed == count)
		return;
	printf("median %.1f\nlast %.1f\n",
	       shared->ms[failed + (count - failed - 1) / 2],
	       shared->ms[count - 1]);
}

int bench_storm(unsigned int processes, unsigned int each)
{
	size_t size = sizeof(*shared) +
		      (size_t)processes * each * sizeof(shared->ms[0]);
	int go[2], end[2], ret;
	unsigned int i;
	char byte;

	shared = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || pipe(go) || pipe(end))
		return fail("set-up");
	/* The providers get loaded once, not in each process. */
	ibv_free_device_list(ibv_get_device_list(NULL));
	for (i = 0; i < processes; i++) {
		switch (fork()) {
		case -1:
			return fail("fork");
		case 0:
			close(go[1]);
			close(end[1]);
			storm_process(each, shared->ms + i * each, go[0],
				      end[0]);
		}
	}
	if (ready_wait(processes))
		return 1;
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	shared->start = now_us();
	close(go[1]);
	ret = ready_wait(2 * processes);
	close(end[1]);
	while (wait(NULL) > 0)
		;
	storm_print(processes * each);
	return ret;
}
