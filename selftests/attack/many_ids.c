// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A file with a hundred thousand bound ids is closed, or its process is killed.
 * Some of the ids listen, some have an unread event. Another user continues
 * meanwhile, and no object is left. The kernel log has no report, for example
 * of a soft lockup.
 *
 * A port number has 16 bits, so the ids have ports of two addresses.
 */
#include "uapi.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness.h"

#define MAX_IDS		UCMX_PARAMETERS "max_ids"
#define MAX_EVENTS	UCMX_PARAMETERS "max_events"
#define FIRST_PORT	1024
#define OTHER_PORT	65000
#define OTHER		3000

static struct shared {
	_Atomic bool full;
	_Atomic int rounds;		/* of the other user */
} *shared;

static int count_of(int usual)
{
	return kernel_slow() ? usual / 10 : usual;
}

static int ids_make(int fd, int n)
{
	const char *addr[] = { ADDR_RDMA, "fd55::1" };
	uint32_t id;
	int i, ret;

	for (i = 0; i < n; i++) {
		ret = id_create(fd, RDMA_PS_TCP, i + 1, &id) ?:
		      id_bind(fd, id, addr[i % 2], FIRST_PORT + i / 2);
		if (!ret && i % 100 == 1)
			ret = id_listen(fd, id);
		else if (!ret && i % 10 == 1)
			ret = id_resolve_addr(fd, id, NULL, addr[i % 2], 7471);
		if (ret) {
			fprintf(stderr, "# id %d: error %d\n", i, ret);
			return ret;
		}
	}
	return 0;
}

static int other_run(void *arg)
{
	int fd = dev_open(O_NONBLOCK), ret = 0;
	union event_buf buf;
	uint32_t id;

	while (!ret) {
		ret = id_create(fd, RDMA_PS_TCP, 1, &id) ?:
		      id_bind(fd, id, ADDR_RDMA, OTHER_PORT) ?:
		      id_resolve_addr(fd, id, NULL, ADDR_RDMA, 7471) ?:
		      event_want(fd, EV_ADDR_RESOLVED, &buf);
		ret = ret ?: id_destroy(fd, id) != 1;
		shared->rounds++;
	}
	return 1;
}

static int holder_run(void *arg)
{
	int fd = dev_open(O_NONBLOCK);

	if (ids_make(fd, *(int *)arg))
		return 1;
	shared->full = true;
	pause();
	return 0;
}

FIXTURE(many_ids) {
	long ids, events;
	pid_t other, holder;
};

FIXTURE_SETUP(many_ids)
{
	double end = now_ms() + 60000;

	ASSERT_TRUE(counter_wait("live_files", 0));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, shared);
	self->ids = number_get(MAX_IDS);
	self->events = number_get(MAX_EVENTS);
	ASSERT_EQ(0, number_set(MAX_IDS, 200000));
	ASSERT_EQ(0, number_set(MAX_EVENTS, 200000));
	self->other = user_start(OTHER, other_run, NULL);
	while (shared->rounds < 2 && now_ms() < end)
		poll(NULL, 0, 10);
	ASSERT_LE(2, (int)shared->rounds);
}

FIXTURE_TEARDOWN(many_ids)
{
	/* The other user has had no error. */
	EXPECT_EQ(0, waitpid(self->other, NULL, WNOHANG));
	pids_kill(&self->other, 1);
	pids_kill(&self->holder, 1);
	EXPECT_TRUE(nothing_left());
	number_set(MAX_IDS, self->ids);
	number_set(MAX_EVENTS, self->events);
}

/* Is a port of one of the ids free? */
static bool port_is_free(void)
{
	int fd = dev_open(O_NONBLOCK), ret;
	uint32_t id;

	ret = id_create(fd, RDMA_PS_TCP, 1, &id) ?:
	      id_bind(fd, id, ADDR_RDMA, FIRST_PORT);
	close(fd);
	return !ret;
}

TEST_F_TIMEOUT(many_ids, closed, 420)
{
	int n = count_of(100000), rounds;
	int fd = dev_open(O_NONBLOCK);

	ASSERT_EQ(0, ids_make(fd, n));
	EXPECT_LE(n, counter("live_ids"));
	rounds = shared->rounds;
	close(fd);
	/* At least one round began and ended meanwhile. */
	EXPECT_LE(rounds + 2, (int)shared->rounds);
	EXPECT_GE(1, counter("live_ids"));
	EXPECT_TRUE(port_is_free());
}

TEST_F_TIMEOUT(many_ids, killed, 420)
{
	int n = count_of(30000), rounds;
	double end = now_ms() + 340000;

	self->holder = user_start(0, holder_run, &n);
	while (!shared->full && now_ms() < end &&
	       !waitpid(self->holder, NULL, WNOHANG))
		poll(NULL, 0, 10);
	ASSERT_TRUE((bool)shared->full);
	EXPECT_LE(n, counter("live_ids"));
	rounds = shared->rounds;
	pids_kill(&self->holder, 1);
	self->holder = 0;
	EXPECT_LE(rounds + 2, (int)shared->rounds);
	EXPECT_GE(1, counter("live_ids"));
	EXPECT_TRUE(port_is_free());
}

TEST_HARNESS_MAIN
