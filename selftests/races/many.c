// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Large numbers: ids are created and destroyed without growth (RA-02), and
 * thousands of resolutions are outstanding at once (RAI-01, RAI-07), until they
 * complete, time out, or their file is closed. A slow kernel has a tenth of
 * all, since it finds errors in the first ones.
 */
#include "uapi.h"

#include <pthread.h>

#include "harness.h"

#define THREADS		4
#define IDS		25000	/* of each thread */
#define AT_ONCE		10000
#define FILES		10	/* each below max_requests, 1,024 */
/* Memory that may stay in the allocator's caches, in KiB */
#define SLACK_KB	4096

FIXTURE(many) {
	int fd[FILES];
	uint32_t id[AT_ONCE];
	int ids, at_once, per_file;
};

FIXTURE_SETUP(many)
{
	int i;

	self->ids = IDS / (kernel_slow() ? 10 : 1);
	self->at_once = AT_ONCE / (kernel_slow() ? 10 : 1);
	self->per_file = self->at_once / FILES;
	ASSERT_TRUE(counter_wait("live_files", 0));
	for (i = 0; i < FILES; i++) {
		self->fd[i] = dev_open(O_NONBLOCK);
		ASSERT_LE(0, self->fd[i]);
	}
}

FIXTURE_TEARDOWN(many)
{
	int i;

	for (i = 0; i < FILES; i++)
		close(self->fd[i]);
	EXPECT_TRUE(nothing_left());
}

static long slab_unreclaimable(void)
{
	FILE *f = fopen("/proc/meminfo", "r");
	long kb = -1;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "SUnreclaim: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

struct worker {
	pthread_t thread;
	int fd, ids, ret;
};

/* Some are bound, or have an unread event, at their destroy. */
static void *ids_run(void *arg)
{
	struct worker *w = arg;
	uint32_t id;
	int i;

	for (i = 0; i < w->ids && w->ret >= 0; i++) {
		w->ret = id_create(w->fd, i & 1 ? RDMA_PS_TCP : RDMA_PS_UDP,
				   i + 1, &id);
		if (!w->ret && i % 16 == 0)
			w->ret = id_bind(w->fd, id, ADDR_RDMA, 0);
		if (!w->ret && i % 16 == 1)
			w->ret = id_write_event(w->fd, id, 1, 1);
		if (!w->ret)
			w->ret = id_destroy(w->fd, id);
	}
	return NULL;
}

/* All threads on one file */
static int ids_come_and_go(int fd, int ids)
{
	struct worker w[THREADS];
	int i, ret = 0;

	for (i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .fd = fd, .ids = ids };
		if (pthread_create(&w[i].thread, NULL, ids_run, &w[i]))
			abort();
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		if (w[i].ret < 0)
			ret = w[i].ret;
	}
	return ret;
}

TEST_F_TIMEOUT(many, RA_02_100000_ids, 200)
{
	long before, after;
	double end;

	ASSERT_EQ(0, ids_come_and_go(self->fd[0], 500));
	before = slab_unreclaimable();
	ASSERT_LT(0, before);
	ASSERT_EQ(0, ids_come_and_go(self->fd[0], self->ids));
	EXPECT_EQ(0, counter("live_ids"));
	/* Waits for memory that RCU and its work items still have to free. */
	for (end = now_ms() + 60e3;; poll(NULL, 0, 200)) {
		after = slab_unreclaimable();
		if (after < before + SLACK_KB || kernel_slow() ||
		    now_ms() > end)
			break;
	}
	TH_LOG("%d ids; SUnreclaim %ld KiB before, %ld after",
	       THREADS * self->ids, before, after);
	/* KASAN keeps freed memory; kmemleak finds leaks there. */
	if (!kernel_slow())
		EXPECT_GT(before + SLACK_KB, after);
}

static int resolve(int fd, uint32_t id, const char *node, uint32_t flags,
		   uint32_t ms)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };

	arg.query.node = (uintptr_t)node;
	arg.query.node_len = strlen(node);
	arg.query.flags = flags;
	arg.query.timeout_ms = ms;
	return call(fd, RESOLVE_ADDRINFO, &arg);
}

/* Counts the events with this status; the rest reports none in time. */
static int events_count(int fd, uint32_t event, int status, int wanted)
{
	union event_buf buf;
	int count = 0;

	while (count < wanted && !event_next(fd, &buf)) {
		if (buf.ev.event == event && buf.ev.status == status)
			count++;
		else
			fprintf(stderr, "# event %u status %d\n",
				buf.ev.event, buf.ev.status);
	}
	return count;
}

static int all_start(FIXTURE_DATA(many) *self, const char *node, uint32_t flags,
		     uint32_t ms)
{
	int i, fd, ret = 0;

	for (i = 0; i < self->at_once && !ret; i++) {
		fd = self->fd[i / self->per_file];
		ret = id_create(fd, RDMA_PS_TCP, i + 1, &self->id[i]) ?:
		      resolve(fd, self->id[i], node, flags, ms);
	}
	return ret;
}

TEST_F_TIMEOUT(many, RAI_01_10000_outstanding_are_answered, 200)
{
	struct rdma_cmx_give_names give = { .error = ENOENT };
	int i;

	ASSERT_EQ(0, all_start(self, "many.example", RDMA_CMX_AIQ_NAMES_LATER,
			       60000));
	EXPECT_EQ(self->at_once, counter("live_queries"));
	for (i = 0; i < self->at_once; i++) {
		give.id = self->id[i];
		ASSERT_EQ(0, call(self->fd[i / self->per_file], GIVE_NAMES,
				  &give));
	}
	for (i = 0; i < FILES; i++)
		EXPECT_EQ(self->per_file, events_count(self->fd[i],
			RDMA_CMX_EV_ADDRINFO_ERROR, -ENOENT, self->per_file));
}

/* One name of a silent server: one lookup, and an event for each query */
TEST_F_TIMEOUT(many, RAI_03_10000_outstanding_time_out, 200)
{
	int i;

	ASSERT_EQ(0, all_start(self, "many.silent.test", 0, 3000));
	for (i = 0; i < FILES; i++)
		EXPECT_EQ(self->per_file, events_count(self->fd[i],
			RDMA_CMX_EV_ADDRINFO_ERROR, -ETIMEDOUT,
			self->per_file));
}

TEST_F_TIMEOUT(many, RAI_07_10000_outstanding_are_closed, 200)
{
	ASSERT_EQ(0, all_start(self, "many.silent.test", 0, 60000));
	EXPECT_EQ(self->at_once, counter("live_queries"));
}

TEST_HARNESS_MAIN
