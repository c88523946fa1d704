// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An SA does not respond to the queries of some users. A query of another user,
 * to which it responds, is sent at once. So is one of a kernel consumer with
 * more users than slots. Their retries leave room in ib_mad.
 */
#include "uapi.h"

#include <signal.h>
#include <sys/wait.h>

#include "harness.h"

#define ADDR_CLIENT "10.66.0.2"
#define QUERIES 40	/* of an attacker */
#define ATTACKERS 80
#define TIMEOUT 240000
#define PARALLEL 64	/* sa_parallel */

/* Starts a process that queries services as @uid and stays. */
static pid_t attacker_start(uid_t uid, int process)
{
	pid_t pid = fork();
	char name[32];
	int fd, i;

	if (pid)
		return pid;
	fd = user_become(uid) ? -1 : dev_open(O_NONBLOCK);
	for (i = 0; i < QUERIES; i++) {
		snprintf(name, sizeof(name), "slot-%d-%d", process, i);
		if (fd < 0 || service_query(fd, ADDR_CLIENT, name, TIMEOUT))
			_exit(1);
	}
	pause();
	_exit(0);
}

/* Queries paths to @addr. Number of path records, or 255. */
static int route_get(void *addr)
{
	/* Through the port with the SA that the others query */
	int paths = route_query(ADDR_CLIENT, addr, TIMEOUT);

	return paths < 0 ? 255 : paths;
}

static int user_route(uid_t uid, char *addr)
{
	return user_end(user_start(uid, route_get, addr));
}

/* Neighbour discovery may take some time, too. */
static bool user_routes(uid_t uid, char *addr)
{
	double end = now_ms() + 60000;

	while (user_route(uid, addr) != 1)
		if (now_ms() > end)
			return false;
	return true;
}

static long lookups(void)
{
	return number_get(COUNTERS "live_sa_lookups");
}

static bool lookups_reach(long value)
{
	double end = now_ms() + 60000;

	while (lookups() < value && now_ms() < end)
		poll(NULL, 0, 20);
	return lookups() >= value;
}

FIXTURE(slots) {
	long timeout, cache, route, longest;
	pid_t pids[ATTACKERS];
};

FIXTURE_SETUP(slots)
{
	self->timeout = number_get(PARAMETERS "sa_timeout_ms");
	self->cache = number_get(PARAMETERS "sa_cache_ms");
	self->route = number_get(PARAMETERS "route_timeout_ms");
	self->longest = number_get(PARAMETERS "query_timeout_max_ms");
	/* From here on the neighbour is resolved. */
	ASSERT_TRUE(user_routes(0, "10.66.0.3"));
	/* Queries without a response stay outstanding, and the cache is off. */
	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 30000));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 0));
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", 60000));
	ASSERT_EQ(0, number_set(PARAMETERS "query_timeout_max_ms", TIMEOUT));
	ASSERT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults "
				 "\"drop class=3 method=0x12 attr=0x31 rmpp=0\""));
}

FIXTURE_TEARDOWN(slots)
{
	pids_kill(self->pids, ATTACKERS);
	EXPECT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults clear"));
	number_set(PARAMETERS "sa_timeout_ms", self->timeout);
	number_set(PARAMETERS "sa_cache_ms", self->cache);
	number_set(PARAMETERS "route_timeout_ms", self->route);
	number_set(PARAMETERS "query_timeout_max_ms", self->longest);
	/* Queries without a waiter end at their next retry. */
	EXPECT_EQ(0, fabric_bash("knob_set $(fab_dev 2) event client_reregister"));
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
	EXPECT_TRUE(user_routes(3000, "10.66.0.3"));
}

TEST_F_TIMEOUT(slots, sa, 280)
{
	static const int rounds[] = { 4, 12, ATTACKERS };
	int i, started = 0;

	for (i = 0; i < 3; i++) {
		for (; started < rounds[i]; started++) {
			self->pids[started] = attacker_start(2000 + started,
							     started);
			ASSERT_LT(0, self->pids[started]);
		}
		/* None of them ends before the test does. */
		ASSERT_TRUE(lookups_reach(started * QUERIES));
		EXPECT_EQ(1, user_route(rounds[i] == ATTACKERS ? 0 : 3000,
					"10.66.0.3")) {
			TH_LOG("with %d users", started);
		}
		EXPECT_LE(started * QUERIES, lookups());
	}
}

/*
 * Each attempt is a MAD. ib_mad of Linux 7.1 sends 128 of them at a time, so
 * those that were sent again must leave room for the first one of another user.
 */
TEST_F_TIMEOUT(slots, mads, 280)
{
	double now, end, limit;
	long mads, most = 0;
	int i;

	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 400));
	for (i = 0; i < ATTACKERS; i++) {
		self->pids[i] = attacker_start(2000 + i, i);
		ASSERT_LT(0, self->pids[i]);
	}
	/* More than the timeout of a query, and longer if they start late */
	now = now_ms();
	end = now + 12000;
	limit = now + 90000;
	for (; now < end || (most < PARALLEL && now < limit); now = now_ms()) {
		poll(NULL, 0, 20);
		mads = number_get(COUNTERS "live_sa_mads");
		most = mads > most ? mads : most;
	}
	TH_LOG("%ld MADs", most);
	EXPECT_LE(PARALLEL, most);
	/* Two of each query, and those that ib_mad is about to return */
	EXPECT_GE(3 * PARALLEL, most);
	EXPECT_EQ(1, user_route(3000, "10.66.0.3"));
}

TEST_HARNESS_MAIN
