// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The SA queries of a user by a port have limits, over all processes and files
 * of the user. The scheduler alternates between users. A query above the limit
 * fails with EAGAIN, and queries of another user still succeed.
 */
#include "uapi.h"

#include <signal.h>
#include <sys/wait.h>

#include "harness.h"

#define ADDR_CLIENT "10.66.0.2"
#define SA_HELPER "/usr/lib/rdma-cmx/selftests/sa/tools/service "

#define PARALLEL 4	/* outstanding queries */
#define PROCESSES 3
#define QUERIES 300	/* of a process */
#define WAITING 50	/* of one user */
#define TIMEOUT 100000

/* The SA is slow, so that queries wait in the queue. */
static int answers_delay(const char *ms)
{
	char command[128];

	snprintf(command, sizeof(command), "knob_set $(fab_dev 2) faults "
		 "\"delay class=3 method=0x92 ms=%s\"", ms);
	return fabric_bash(command);
}

static int service_resolve(void *service)
{
	int fd = dev_open(O_NONBLOCK);

	return -(fd < 0 ? fd : service_query(fd, ADDR_CLIENT, service, TIMEOUT)
				?: query_result(fd));
}

/* 0 or an errno */
static int user_query(uid_t uid, char *service)
{
	return user_end(user_start(uid, service_resolve, service));
}

/*
 * Starts a process of user 1000 that queries many services and stays. It writes
 * a byte to @out after the last call, and then one for each query that fails.
 */
static pid_t flood_start(int process, int out)
{
	pid_t pid = fork();
	char name[32];
	int fd, i, ret;

	if (pid)
		return pid;
	fd = user_become(1000) ? -1 : dev_open(O_NONBLOCK);
	for (i = 0; i < QUERIES; i++) {
		snprintf(name, sizeof(name), "flood-%d-%d", process, i);
		if (fd < 0 || service_query(fd, ADDR_CLIENT, name, TIMEOUT))
			_exit(1);
	}
	if (write(out, "a", 1) != 1)
		_exit(1);
	for (i = 0; i < QUERIES; i++) {
		do
			ret = query_result(fd);
		while (ret == -ETIME);
		if (ret == -EAGAIN && write(out, "r", 1) != 1)
			_exit(1);
	}
	pause();
	_exit(0);
}

/* The next byte of a flood; 0 after a minute, or when all have exited */
static char flood_read(int in)
{
	struct pollfd poll_in = { .fd = in, .events = POLLIN };
	char c;

	if (poll(&poll_in, 1, 60000) != 1 || read(in, &c, 1) != 1)
		return 0;
	return c;
}

static long lookups(void)
{
	return number_get(COUNTERS "live_sa_lookups");
}

FIXTURE(limits) {
	long timeout, parallel, per_user, cache;
	pid_t pids[PROCESSES];
	int pipe[2];
};

FIXTURE_SETUP(limits)
{
	self->timeout = number_get(PARAMETERS "sa_timeout_ms");
	self->parallel = number_get(PARAMETERS "sa_parallel");
	self->per_user = number_get(PARAMETERS "sa_waiting_per_user");
	self->cache = number_get(PARAMETERS "sa_cache_ms");
	ASSERT_LT(0, self->per_user);
	/* Without retries of late queries, and without the cache */
	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 20000));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_parallel", PARALLEL));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 0));
	ASSERT_EQ(0, fabric_bash(SA_HELPER "-C $(fab_dev 3) -n limits -i 0x7701 set"));
	ASSERT_EQ(0, pipe(self->pipe));
}

FIXTURE_TEARDOWN(limits)
{
	pids_kill(self->pids, PROCESSES);
	EXPECT_EQ(0, fabric_bash("knob_set $(fab_dev 2) faults clear"));
	/* The processes have exited, which ends their queued queries. */
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
	EXPECT_EQ(0, user_query(1000, "limits"));
	number_set(PARAMETERS "sa_timeout_ms", self->timeout);
	number_set(PARAMETERS "sa_parallel", self->parallel);
	number_set(PARAMETERS "sa_waiting_per_user", self->per_user);
	number_set(PARAMETERS "sa_cache_ms", self->cache);
	EXPECT_EQ(0, fabric_bash(SA_HELPER
			  "-C $(fab_dev 3) -n limits -i 0x7701 delete"));
}

/* The last caller is not served last: the scheduler alternates. */
TEST_F_TIMEOUT(limits, scheduling_of_users, 600)
{
	long left;
	int i;

	ASSERT_EQ(0, answers_delay("300"));
	for (i = 0; i < PROCESSES; i++) {
		self->pids[i] = flood_start(i, self->pipe[1]);
		ASSERT_LT(0, self->pids[i]);
	}
	for (i = 0; i < PROCESSES; i++)
		ASSERT_EQ('a', flood_read(self->pipe[0]));
	ASSERT_LT(QUERIES, lookups());
	EXPECT_EQ(0, user_query(65534, "limits"));
	left = lookups();
	TH_LOG("%ld of %d queries of the first user still wait", left,
	       PROCESSES * QUERIES);
	EXPECT_LT(QUERIES / 2, left);
}

/* The queue of a port is longer than the limit of one user. */
TEST_F_TIMEOUT(limits, queue_of_users, 600)
{
	int i, sent = 0, refused = 0;

	ASSERT_EQ(0, answers_delay("3000"));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_waiting_per_user", WAITING));
	for (i = 0; i < PROCESSES; i++) {
		self->pids[i] = flood_start(i, self->pipe[1]);
		ASSERT_LT(0, self->pids[i]);
	}
	while (sent < PROCESSES || refused < QUERIES) {
		switch (flood_read(self->pipe[0])) {
		case 'a':
			sent++;
			break;
		case 'r':
			refused++;
			break;
		default:
			ASSERT_TRUE(false) {
				TH_LOG("%d of %d have sent theirs, %d refused",
				       sent, PROCESSES, refused);
			}
		}
	}
	/* With the outstanding queries, and those that are being freed */
	EXPECT_GE(WAITING + 2 * PARALLEL, lookups());
	EXPECT_EQ(0, user_query(65534, "limits"));
	EXPECT_LT(WAITING / 2, lookups());
}

TEST_HARNESS_MAIN
