// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many ids of one channel: what each step costs when COUNT ids are there, and
 * what the close of them all does to others. `scale COUNT' prints a line for
 * each figure; before the close it waits for the end of standard input.
 *
 * The ids have ports of two addresses, as one has too few. A figure is the
 * median of ten chunks of 100 ids each: the mean of a chunk.
 *
 * The first time, an id needs new memory of the process and of the kernel. So
 * 1,000 ids, of all parts of that memory, are destroyed and created again:
 * `again' is the cost of the latter. The lines `faults' have the page faults of
 * a created id.
 *
 * During the close, two threads run: a real-time one, which wakes up each
 * millisecond (its delay is the time for which nothing else could run), and one
 * that makes and destroys ids of another channel.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define CHUNK		100
#define CHUNKS		10
#define FIRST_PORT	1024
#define OTHER_PORT	65000
#define ADDRS		2
#define COUNT_MAX	(ADDRS * (OTHER_PORT - FIRST_PORT) - CHUNK * CHUNKS)

static struct rdma_event_channel *channel;
static struct rdma_cm_id **ids;

static struct sockaddr *addr_of(unsigned int i, struct sockaddr_in6 *space)
{
	struct sockaddr_in *in = (struct sockaddr_in *)space;
	const char *text = getenv("BENCH_LOCAL6");
	uint16_t port = htons(FIRST_PORT + i / ADDRS);

	if (i % ADDRS) {
		*in = bench_local;
		in->sin_port = port;
	} else {
		memset(space, 0, sizeof(*space));
		space->sin6_family = AF_INET6;
		space->sin6_port = port;
		inet_pton(AF_INET6, text ? text : "fd55::1", &space->sin6_addr);
	}
	return (struct sockaddr *)space;
}

static double created_faults;

static int create(unsigned int i)
{
	return rdma_create_id(channel, &ids[i], NULL, RDMA_PS_TCP);
}

static int bind_addr(unsigned int i)
{
	struct sockaddr_in6 addr;

	return rdma_bind_addr(ids[i], addr_of(i, &addr));
}

static int resolve(unsigned int i)
{
	struct sockaddr_in6 addr;

	return rdma_resolve_addr(ids[i], NULL, addr_of(i, &addr),
				 BENCH_LONG_MS);
}

static int event(unsigned int i)
{
	return event_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
}

static int destroy(unsigned int i)
{
	return rdma_destroy_id(ids[i]);
}

/* Do a step for @n ids from @first on; the time for each, or a negative number */
static double chunk_run(int (*step)(unsigned int i), unsigned int first,
			unsigned int n)
{
	double start = now_us();
	unsigned int i;

	for (i = 0; i < n; i++)
		if (step(first + i))
			return -1;
	return (now_us() - start) / n;
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* A bound id that stays: the first one opens the device, the last one closes it. */
static int keep(void)
{
	struct sockaddr_in addr = bench_local;
	struct rdma_cm_id *id;

	addr.sin_port = htons(OTHER_PORT + 1);
	return rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	       rdma_bind_addr(id, (struct sockaddr *)&addr);
}

/*
 * Do a step for @total ids, which the last or the first chunks are measured of:
 * while most are there.
 */
static int step_run(const char *name, int (*step)(unsigned int i),
		    unsigned int total, bool last, double *values)
{
	unsigned int chunks = total > CHUNK ? CHUNKS : 1, i;
	unsigned int rest = total - chunks * CHUNK;
	unsigned int from = last ? rest : 0;
	long before;

	if (last && rest && chunk_run(step, 0, rest) < 0)
		return fail(name);
	before = faults();
	for (i = 0; i < chunks; i++) {
		values[i] = chunk_run(step, from + i * CHUNK, CHUNK);
		if (values[i] < 0)
			return fail(name);
	}
	if (step == create)
		created_faults = (double)(faults() - before) / (chunks * CHUNK);
	if (!last && rest && chunk_run(step, chunks * CHUNK, rest) < 0)
		return fail(name);
	return 0;
}

/* The event of an id that is resolved after all others, on another channel */
static int resolved_wait(void)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct sockaddr_in6 addr;
	struct rdma_cm_id *id;
	int ret;

	if (!other || rdma_create_id(other, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, addr_of(0, &addr), BENCH_LONG_MS))
		return fail("rdma_resolve_addr");
	ret = event_expect(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(other);
	return ret;
}

static const struct {
	const char *name;
	int (*step)(unsigned int i);
	bool last;
} steps[] = {
	{ "create", create, true },
	{ "bind", bind_addr, true },
	{ "resolve", resolve, true },
	{ "event", event, false },
};

#define STEPS	4

/* All but the close, with the times of a run */
static int ids_run(unsigned int total, double values[STEPS + 1][CHUNKS],
		   unsigned int at)
{
	unsigned int left = total > CHUNK ? total - CHUNK * CHUNKS : 0, i;
	unsigned int chunks = (total - left) / CHUNK;

	for (i = 0; i < STEPS; i++)
		if (step_run(steps[i].name, steps[i].step, total, steps[i].last,
			     values[i] + at) ||
		    (steps[i].step == resolve && resolved_wait()))
			return 1;
	for (i = 0; i < chunks; i++) {
		values[STEPS][at + i] = chunk_run(destroy, left + i * CHUNK,
						  CHUNK);
		if (values[STEPS][at + i] < 0)
			return fail("rdma_destroy_id");
	}
	return 0;
}

static unsigned int stride;

static int create_again(unsigned int i)
{
	return create(i * stride);
}

static int destroy_some(unsigned int i)
{
	return destroy(i * stride);
}

/* Creates some of @count ids again, where they were. */
static int again_run(unsigned int count)
{
	double values[CHUNKS];
	long before;
	unsigned int i;

	stride = count / (CHUNK * CHUNKS);
	if (chunk_run(destroy_some, 0, CHUNK * CHUNKS) < 0)
		return fail("rdma_destroy_id");
	before = faults();
	for (i = 0; i < CHUNKS; i++) {
		values[i] = chunk_run(create_again, i * CHUNK, CHUNK);
		if (values[i] < 0)
			return fail("rdma_create_id");
	}
	printf("again_faults %.3f\nagain ",
	       (double)(faults() - before) / (CHUNK * CHUNKS));
	median_print(values, CHUNKS);
	return 0;
}

static bool over;

/* The longest time for which nothing else could run, in milliseconds */
static void *watch(void *arg)
{
	double *worst = arg, now;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		next.tv_nsec += 1000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		now = now_us() - next.tv_sec * 1e6 - next.tv_nsec / 1e3;
		if (now / 1e3 > *worst)
			*worst = now / 1e3;
		clock_gettime(CLOCK_MONOTONIC, &next);
	}
	return NULL;
}

/* The longest time that an id of another channel took */
static void *others(void *arg)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct sockaddr_in addr = bench_local;
	double *worst = arg, start;
	struct rdma_cm_id *id;

	addr.sin_port = htons(OTHER_PORT);
	while (other && !__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		start = now_us();
		if (rdma_create_id(other, &id, NULL, RDMA_PS_TCP) ||
		    rdma_bind_addr(id, (struct sockaddr *)&addr) ||
		    rdma_destroy_id(id)) {
			*worst = -1;
			break;
		}
		if ((now_us() - start) / 1e3 > *worst)
			*worst = (now_us() - start) / 1e3;
	}
	rdma_destroy_event_channel(other);
	return NULL;
}

static int watch_start(pthread_t *thread, void *(*run)(void *arg), double *ms,
		       int priority)
{
	struct sched_param param = { .sched_priority = priority };
	pthread_attr_t attr;

	*ms = 0;
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, priority ? SCHED_FIFO : SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &param);
	return pthread_create(thread, &attr, run, ms) ? fail("pthread_create") : 0;
}

/* Close @fd, or compute for @us: what others see meanwhile. */
static int watched(int fd, double *us, double *stall, double *request)
{
	double start, end;
	pthread_t a, b;

	over = false;
	if (watch_start(&a, watch, stall, 50) ||
	    watch_start(&b, others, request, 0))
		return 1;
	/* Both run. */
	usleep(50000);
	start = now_us();
	end = start + *us;
	if (fd >= 0)
		close(fd);
	else
		while (now_us() < end)
			;
	*us = now_us() - start;
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return *request < 0 ? fail("an id of another channel") : 0;
}

static int close_run(unsigned int count)
{
	double us = 0, stall, request, usual_stall, usual_request;
	char byte;

	puts("holding");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	if (watched(channel->fd, &us, &stall, &request))
		return 1;
	printf("close %.3f\nstall %.3f\nrequest %.3f\n", us / count, stall,
	       request);
	if (watched(-1, &us, &usual_stall, &usual_request))
		return 1;
	printf("usual_stall %.3f\nusual_request %.3f\n", usual_stall,
	       usual_request);
	return 0;
}

int bench_scale(unsigned int count)
{
	unsigned int total = count > CHUNK ? count + CHUNK * CHUNKS : CHUNK;
	double values[STEPS + 1][CHUNKS];
	unsigned int i;

	if (count > COUNT_MAX) {
		fprintf(stderr, "bench: no more than %d ids\n", COUNT_MAX);
		return 2;
	}
	ids = calloc(total, sizeof(*ids));
	channel = rdma_create_event_channel();
	/* Freed memory of the process stays there. */
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	if (!ids || !channel || keep())
		return fail("set-up");
	/* The first ids load and cache. */
	if (ids_run(CHUNK, values, 0))
		return 1;
	for (i = 0; i < (total > CHUNK ? 1 : CHUNKS); i++)
		if (ids_run(total, values, i))
			return 1;
	for (i = 0; i <= STEPS; i++) {
		printf("%s ", i < STEPS ? steps[i].name : "destroy");
		median_print(values[i], CHUNKS);
	}
	if (total == CHUNK)
		return 0;
	printf("faults %.3f\n", created_faults);
	return again_run(count) || close_run(count);
}
