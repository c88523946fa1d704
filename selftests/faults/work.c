// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in work items: the n-th allocation of each kernel worker fails. In any
 * case the operation ends with an event in time, with success or ENOMEM, and
 * works again afterwards. Other users of the workers have faults, too, so that
 * the error can be theirs.
 */
#include "uapi.h"
#include "work.h"

#define ROUNDS_EVENTS	15
#define ROUNDS_WATCH	10
#define LOOKUPS		"/sys/module/rdma_cmx/counters/name_lookups"

FIXTURE(work) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(work)
{
	ASSERT_EQ(0, system("modprobe cmx_consumer"));
	self->fd = consumer_open();
	ASSERT_LE(0, self->fd);
	/* Without a fault each name resolves. */
	ASSERT_EQ(0, helper_timeout(5 * HELPER_SECONDS));
}

FIXTURE_TEARDOWN(work)
{
	close(self->fd);
	EXPECT_EQ(0, helper_timeout(HELPER_SECONDS));
	EXPECT_EQ(0, system("rmmod cmx_consumer"));
}

/* A name that no cache knows, by the name helper */
TEST_F_TIMEOUT(work, KA_01_names, SWEEP_LIMIT)
{
	WORK_SWEEP("start work%d.any.cmx.test 1 timeout=60000", "wait", NULL);
}

/* Work items try the addresses, on both sides, without faults of the driver. */
TEST_F_TIMEOUT(work, KA_02_connect, SWEEP_LIMIT)
{
	ASSERT_EQ(0, consumer_do(self->fd, "listen 10.55.0.1 7600 accept"));
	WORK_SWEEP("connect deadline=60000 -- 10.55.0.1 7600", NULL,
		   "connect-end");
	EXPECT_EQ(0, consumer_do(self->fd, "unlisten"));
	EXPECT_TRUE(live_are(0));
}

TEST_F_TIMEOUT(work, KA_09_paths, SWEEP_LIMIT)
{
	WORK_SWEEP("paths timeout=60000 10.55.0.2 fd55::2", NULL, NULL);
}

/* An id of rdma_ucmx: each step ends with its event. */
TEST_F_TIMEOUT(work, events, SWEEP_LIMIT)
{
	union event_buf buf;
	int fd = dev_open(O_NONBLOCK), n, hits = 0;
	uint32_t id;

	for (n = 1; n <= ROUNDS_EVENTS; n++) {
		ASSERT_EQ(0, id_create(fd, RDMA_PS_TCP, 1, &id));
		workers_arm(n);
		ASSERT_EQ(0, id_resolve_addr(fd, id, NULL, ADDR_RDMA, 4791));
		EXPECT_EQ(0, event_next(fd, &buf));
		if (buf.ev.event == EV_ADDR_RESOLVED) {
			ASSERT_EQ(0, id_resolve_route(fd, id));
			EXPECT_EQ(0, event_next(fd, &buf));
		}
		hits += workers_hit();
		EXPECT_FALSE(event_pending(fd));
		EXPECT_LE(0, id_destroy(fd, id));
	}
	TH_LOG("%d faults", hits);
	close(fd);
	EXPECT_TRUE(nothing_left());
}

static bool lookups_above(long before)
{
	double end = now_ms() + 60000;

	while (number_get(LOOKUPS) <= before && now_ms() < end)
		poll(NULL, 0, 10);
	return number_get(LOOKUPS) > before;
}

/* A query that has failed is sent again: the answer comes, and comes once. */
TEST_F_TIMEOUT(work, KA_08_watch, SWEEP_LIMIT)
{
	static const char once[] = "events=1 error=0 partial=0 last=0 wrong=0";
	struct consumer_answer got;
	int n, hits = 0;
	char text[128];
	long before;

	ASSERT_EQ(0, number_set(PARAMETERS "watch_gap_ms", 50));
	for (n = 1; n <= ROUNDS_WATCH; n += work_step()) {
		snprintf(text, sizeof(text),
			 "watch interval=3600000 -- watch%d.any.cmx.test 1", n);
		workers_arm(n);
		EXPECT_EQ(0, consumer_do(self->fd, text));
		EXPECT_EQ(0, consumer_wait(self->fd, "watched 0", once, &got)) {
			TH_LOG("fault %d: %s", n, got.text);
		}
		hits += workers_hit();
		/* Past the cache, with the same answer */
		before = number_get(LOOKUPS);
		workers_arm(n);
		EXPECT_EQ(0, consumer_do(self->fd, "watch-refresh 0"));
		EXPECT_TRUE(lookups_above(before));
		hits += workers_hit();
		EXPECT_EQ(0, consumer_wait(self->fd, "watched 0", once, &got)) {
			TH_LOG("refresh, fault %d: %s", n, got.text);
		}
		EXPECT_EQ(0, consumer_do(self->fd, "unwatch"));
	}
	TH_LOG("%d faults", hits);
	EXPECT_LT(0, hits);
	EXPECT_TRUE(live_are(0));
	EXPECT_EQ(0, number_set(PARAMETERS "watch_gap_ms", 5000));
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
