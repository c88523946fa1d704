// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* What one user may ask the SA of a port is counted for the user, over all
 * processes and files: turns go round the users, and a user who has asked too
 * much is refused with EAGAIN, while another one is still served.
 */
#include "uapi.h"

#include <signal.h>
#include <sys/wait.h>

#include "../harness.h"

#define ADDR_ASKER "10.66.0.2"
#define SA_HELPER "/usr/lib/rdma-cmx/selftests/sa/service.helper "

#define PARALLEL 4	/* questions that are out at a time */
#define PROCESSES 3
#define QUESTIONS 300	/* of a process */
#define WAITING 50	/* of one user */
#define TIMEOUT 100000

/* The SA is slow, so that questions wait. */
static int answers_delay(const char *ms)
{
	char command[128];

	snprintf(command, sizeof(command), "knob_set $(fab_dev 2) faults "
		 "\"delay class=3 method=0x92 ms=%s\"", ms);
	return fabric_bash(command);
}

/* How it ended: 0, or a negative errno */
static int service_told(int fd)
{
	union event_buf buf;
	int ret, tries;

	for (tries = 0; tries < 9; tries++) {
		ret = event_next(fd, &buf);
		if (ret != -ETIME)
			break;
	}
	if (ret)
		return ret;
	return buf.ev.event == RDMA_CMX_EV_ADDRINFO_RESOLVED ? 0 :
	       buf.ev.status;
}

static int service_resolve(void *service)
{
	int fd = dev_open(O_NONBLOCK);

	return -(fd < 0 ? fd : service_query(fd, ADDR_ASKER, service, TIMEOUT)
				?: service_told(fd));
}

/* 0 or an errno */
static int user_ask(uid_t uid, char *service)
{
	return user_end(user_start(uid, service_resolve, service));
}

/*
 * A process of user 1000 that asks for many services and stays. Says through
 * @out when it has asked, and then of each question that was refused.
 */
static pid_t flood_start(int process, int out)
{
	pid_t pid = fork();
	char name[32];
	int fd, i, ret;

	if (pid)
		return pid;
	fd = user_become(1000) ? -1 : dev_open(O_NONBLOCK);
	for (i = 0; i < QUESTIONS; i++) {
		snprintf(name, sizeof(name), "flood-%d-%d", process, i);
		if (fd < 0 || service_query(fd, ADDR_ASKER, name, TIMEOUT))
			_exit(1);
	}
	if (write(out, "a", 1) != 1)
		_exit(1);
	for (i = 0; i < QUESTIONS; i++) {
		do
			ret = service_told(fd);
		while (ret == -ETIME);
		if (ret == -EAGAIN && write(out, "r", 1) != 1)
			_exit(1);
	}
	pause();
	_exit(0);
}

/* The next that a flood says; 0 after a minute, or when all are gone. */
static char flood_says(int in)
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
	/* What is late is not asked again, and what is known is asked. */
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
	/* Their askers are gone: so are those that had not begun. */
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
	EXPECT_EQ(0, user_ask(1000, "limits"));
	number_set(PARAMETERS "sa_timeout_ms", self->timeout);
	number_set(PARAMETERS "sa_parallel", self->parallel);
	number_set(PARAMETERS "sa_waiting_per_user", self->per_user);
	number_set(PARAMETERS "sa_cache_ms", self->cache);
	EXPECT_EQ(0, fabric_bash(SA_HELPER
			  "-C $(fab_dev 3) -n limits -i 0x7701 delete"));
}

/* Whoever comes last is not told last: turns go round the users. */
TEST_F_TIMEOUT(limits, turns_of_users, 280)
{
	long left;
	int i;

	ASSERT_EQ(0, answers_delay("300"));
	for (i = 0; i < PROCESSES; i++) {
		self->pids[i] = flood_start(i, self->pipe[1]);
		ASSERT_LT(0, self->pids[i]);
	}
	for (i = 0; i < PROCESSES; i++)
		ASSERT_EQ('a', flood_says(self->pipe[0]));
	ASSERT_LT(QUESTIONS, lookups());
	EXPECT_EQ(0, user_ask(65534, "limits"));
	left = lookups();
	TH_LOG("%ld of %d questions of the first user still wait", left,
	       PROCESSES * QUESTIONS);
	EXPECT_LT(QUESTIONS / 2, left);
}

/* There is room for many more than one user may have waiting. */
TEST_F_TIMEOUT(limits, room_of_users, 280)
{
	int i, asked = 0, refused = 0;

	ASSERT_EQ(0, answers_delay("3000"));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_waiting_per_user", WAITING));
	for (i = 0; i < PROCESSES; i++) {
		self->pids[i] = flood_start(i, self->pipe[1]);
		ASSERT_LT(0, self->pids[i]);
	}
	while (asked < PROCESSES || refused < QUESTIONS) {
		switch (flood_says(self->pipe[0])) {
		case 'a':
			asked++;
			break;
		case 'r':
			refused++;
			break;
		default:
			ASSERT_TRUE(false) {
				TH_LOG("%d of %d have asked, %d refused",
				       asked, PROCESSES, refused);
			}
		}
	}
	/* With those that the SA is asked, and what is on its way out */
	EXPECT_GE(WAITING + 2 * PARALLEL, lookups());
	EXPECT_EQ(0, user_ask(65534, "limits"));
	EXPECT_LT(WAITING / 2, lookups());
}

TEST_HARNESS_MAIN
