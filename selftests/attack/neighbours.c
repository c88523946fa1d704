// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user's queries resolve addresses on an IPoIB subnet that no host has.
 * ib_core resolves all addresses of the node on one thread, so queries are
 * scheduled there, too, and few of them are outstanding at a time.
 */
#include "uapi.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <rdma/ib_user_sa.h>

#include "harness.h"

#define ADDRS		256
#define LIMITS		8
#define QUERIES		8
#define LATE_MS		8000
#define STALL_MS	30000
#define TICK_MS		10

struct names {
	struct rdma_cmx_names head;
	struct rdma_cmx_names_addr addr[ADDRS];
};

/*
 * Addresses in fd66::/64, @step apart. They have one solicited-node group: the
 * subnet has not as many MLIDs, and other tests join groups, too.
 */
static uint32_t names_make(struct names *n, int query, int step)
{
	int i, host;

	memset(n, 0, sizeof(*n));
	n->head.version = RDMA_CMX_NAMES_VERSION;
	n->head.addr_count = ADDRS;
	for (i = 0; i < ADDRS; i++) {
		n->addr[i].family = AF_INET6;
		inet_pton(AF_INET6, "fd66::a:0", n->addr[i].addr);
		host = query * ADDRS + i * step;
		n->addr[i].addr[8] = host >> 8;
		n->addr[i].addr[9] = host;
	}
	return sizeof(*n);
}

/* All addresses, with both QP types, and paths with each hop limit */
static int query_start(int fd, int query, int step)
{
	struct ib_path_rec_data limits[LIMITS];
	struct rdma_cmx_resolve_addrinfo arg = {
		.query.node = (uintptr_t)"nobody.example",
		.query.node_len = 14,
		.query.route = (uintptr_t)limits,
		.query.route_len = sizeof(limits),
	};
	struct names n;
	int i, ret;

	memset(limits, 0, sizeof(limits));
	for (i = 0; i < LIMITS; i++) {
		limits[i].flags = IB_PATH_GMP | IB_PATH_PRIMARY |
				  IB_PATH_BIDIRECTIONAL;
		/* Hop limit */
		((uint8_t *)limits[i].path_rec)[47] = i + 1;
	}
	arg.query.names_len = names_make(&n, query, step);
	arg.query.names = (uintptr_t)&n;
	ret = id_create(fd, RDMA_PS_TCP, 1, &arg.id);
	return ret ?: call(fd, RESOLVE_ADDRINFO, &arg);
}

static int event_wait(int fd, union event_buf *buf)
{
	int ret, tries;

	for (tries = 0; tries < 9; tries++) {
		ret = event_next(fd, buf);
		if (ret != -ETIME)
			break;
	}
	return ret;
}

/* Runs as the user. 0 if all completed, without a route or with an error. */
static int flood(uid_t uid, int queries, int step)
{
	union event_buf buf;
	int fd, i;

	fd = user_become(uid) ? -1 : dev_open(O_NONBLOCK);
	if (fd < 0)
		return 250;
	for (i = 0; i < queries; i++) {
		if (query_start(fd, i, step))
			return 251;
	}
	for (i = 0; i < queries; i++) {
		if (event_wait(fd, &buf))
			return 252;
		if (buf.ev.event != RDMA_CMX_EV_ADDRINFO_RESOLVED)
			return 253;
	}
	return 0;
}

#define USER	1000

static pid_t flood_start(uid_t uid, int queries, int step)
{
	pid_t pid = fork();

	if (!pid)
		_exit(flood(uid, queries, step));
	return pid;
}

/*
 * The clock of a thread that sleeps, in steps of TICK_MS: it stops while the
 * host stops the guest.
 */
static int ticks;
static bool ticks_end;

static void *ticks_count(void *unused)
{
	while (!__atomic_load_n(&ticks_end, __ATOMIC_RELAXED)) {
		poll(NULL, 0, TICK_MS);
		__atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static double ticks_ms(void)
{
	return TICK_MS * (double)__atomic_load_n(&ticks, __ATOMIC_RELAXED);
}

FIXTURE(neighbours) {
	pthread_t clock;
	pid_t pid, pid2;
	double worst;
	int late;
	long most, max, timeout, route, query;
};

FIXTURE_SETUP(neighbours)
{
	ticks_end = false;
	ASSERT_EQ(0, pthread_create(&self->clock, NULL, ticks_count, NULL));
	self->max = number_get(PARAMETERS "neighs_max");
	self->timeout = number_get(PARAMETERS "neigh_timeout_ms");
	self->route = number_get(PARAMETERS "route_timeout_ms");
	self->query = number_get(PARAMETERS "query_timeout_ms");
	self->pid2 = 0;
	self->pid = 0;
	self->worst = 0;
	self->late = 0;
	self->most = 0;
}

FIXTURE_TEARDOWN(neighbours)
{
	__atomic_store_n(&ticks_end, true, __ATOMIC_RELAXED);
	pthread_join(self->clock, NULL);
	pids_kill(&self->pid, 1);
	pids_kill(&self->pid2, 1);
	EXPECT_EQ(0, number_set(PARAMETERS "neighs_max", self->max));
	EXPECT_EQ(0, number_set(PARAMETERS "neigh_timeout_ms", self->timeout));
	EXPECT_EQ(0, number_set(PARAMETERS "route_timeout_ms", self->route));
	EXPECT_EQ(0, number_set(PARAMETERS "query_timeout_ms", self->query));
	EXPECT_TRUE(number_gone(COUNTERS "live_neighs"));
	EXPECT_TRUE(number_gone(COUNTERS "live_queries"));
	EXPECT_TRUE(counter_wait("live_files", 0));
}

/* A query of another user, for an address that needs no neighbour */
static double resolve_addr(void)
{
	double begin = ticks_ms();
	union event_buf buf;
	uint32_t id;
	int fd = dev_open(O_NONBLOCK), ret;

	ret = id_create(fd, RDMA_PS_TCP, 1, &id) ?:
	      id_resolve_addr(fd, id, NULL, ADDR_RDMA, 7471) ?:
	      event_wait(fd, &buf);
	if (!ret && buf.ev.event != EV_ADDR_RESOLVED)
		ret = -EPROTO;
	begin = ticks_ms() - begin;
	close(fd);
	return ret ? 1e9 : begin;
}

/* Waits until the number in a file is that, or more. */
static bool number_reached(const char *path, long number)
{
	double end = now_ms() + 60000;
	long n;

	while ((n = number_get(path)) < number && now_ms() < end)
		poll(NULL, 0, 2);
	return n >= number;
}

/* Queries until the flood has ended. Its exit status. */
static int watch(struct __test_metadata *_metadata,
		 FIXTURE_DATA(neighbours) *self)
{
	int status;
	double ms;
	long n;

	while (waitpid(self->pid, &status, WNOHANG) == 0) {
		n = number_get(COUNTERS "live_neighs");
		if (n > self->most)
			self->most = n;
		ms = resolve_addr();
		if (ms > self->worst)
			self->worst = ms;
		self->late += ms > LATE_MS;
		poll(NULL, 0, 5);
	}
	self->pid = 0;
	TH_LOG("%ld neighbours at a time, another one's took %.0f ms",
	       self->most, self->worst);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F_TIMEOUT(neighbours, many, 280)
{
	self->pid = flood_start(USER, QUERIES, 1);
	ASSERT_LT(0, self->pid);
	EXPECT_EQ(0, watch(_metadata, self));
	/* One may be late on a busy host; a long one is a stall. */
	EXPECT_GE(1, self->late);
	EXPECT_GT(STALL_MS, self->worst);
	EXPECT_LT(0, self->most);
	/* The counter still includes resolutions that have just ended. */
	EXPECT_GE(number_get(PARAMETERS "neighs_per_user") * 2, self->most);
}

/*
 * Two users flood, and neighs_max is less than the limit of one. The second
 * one begins later, has few queries, and ends first.
 */
TEST_F_TIMEOUT(neighbours, two_users, 280)
{
	const int max = 16;

	ASSERT_EQ(0, number_set(PARAMETERS "neighs_max", max));
	ASSERT_EQ(0, number_set(PARAMETERS "neigh_timeout_ms", 200));
	/* A query ends with its last neighbour, not by its deadline. */
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", 60000));
	ASSERT_EQ(0, number_set(PARAMETERS "query_timeout_ms", 60000));
	self->pid2 = flood_start(USER, QUERIES, 1);
	ASSERT_LT(0, self->pid2);
	ASSERT_TRUE(number_reached(COUNTERS "live_neighs", max));
	self->pid = flood_start(USER + 1, 1, 1);
	ASSERT_LT(0, self->pid);
	EXPECT_EQ(0, watch(_metadata, self));
	EXPECT_EQ(0, waitpid(self->pid2, NULL, WNOHANG));
	EXPECT_GE(1, self->late);
	EXPECT_GT(STALL_MS, self->worst);
	/* The counter still includes resolutions that have just ended. */
	EXPECT_GT(number_get(PARAMETERS "neighs_per_user"), self->most);
}

/* 256 queries of one address, with each limit, resolve one neighbour. */
TEST_F_TIMEOUT(neighbours, same, 280)
{
	int tries;

	/* It lasts for 1.5 s: a guest that stops may not see it. */
	for (tries = 0; tries < 5 && !self->most; tries++) {
		self->pid = flood_start(USER, 1, 0);
		ASSERT_LT(0, self->pid);
		EXPECT_EQ(0, watch(_metadata, self));
	}
	EXPECT_EQ(1, self->most);
}

/* A query that is cancelled before its result leaves no object. */
TEST_F_TIMEOUT(neighbours, gone, 280)
{
	self->pid = flood_start(USER, QUERIES, 1);
	ASSERT_LT(0, self->pid);
	EXPECT_TRUE(number_reached(COUNTERS "live_neighs", 1));
	kill(self->pid, SIGKILL);
	waitpid(self->pid, NULL, 0);
	self->pid = 0;
	EXPECT_GT(1e9, resolve_addr());
}

TEST_HARNESS_MAIN
