// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The name queries of a user have one limit, whatever the number of processes
 * and files. A query above the limit fails at once with EAGAIN, queries of
 * another user succeed meanwhile, and the first user's queries succeed again
 * after the earlier ones have ended. A lookup whose helper could not start, for
 * want of processes, is not cached.
 */
#include "uapi.h"

#include <sys/wait.h>

#include "harness.h"

#define THREADS_MAX "/proc/sys/kernel/threads-max"
#define PROCESSES 4
#define FILES 4
#define IDS 4
#define QUERIES (PROCESSES * FILES * IDS)
#define RUNNING 2
#define WAITING 3

/* Queries names of a silent server. Number of refused queries. */
static int query_many(int process)
{
	int f, i, ret, fd[FILES], started[FILES] = {}, refused = 0;
	union event_buf buf;
	char name[64];
	uint32_t id;

	for (f = 0; f < FILES; f++) {
		fd[f] = dev_open(O_NONBLOCK);
		if (fd[f] < 0)
			return 255;
		for (i = 0; i < IDS; i++) {
			snprintf(name, sizeof(name), "limit%d-%d-%d.silent.test",
				 process, f, i);
			if (id_create(fd[f], RDMA_PS_TCP, 1, &id))
				return 255;
			ret = name_query(fd[f], id, name, 0);
			if (ret == -EAGAIN)
				refused++;
			else if (ret)
				return 255;
			else
				started[f]++;
		}
	}
	/* A refusal comes at once, or by an event; the others time out. */
	for (f = 0; f < FILES; f++) {
		for (i = 0; i < started[f]; i++) {
			if (event_next(fd[f], &buf))
				return 255;
			if (buf.ev.event == RDMA_CMX_EV_ADDRINFO_ERROR &&
			    buf.ev.status == -EAGAIN)
				refused++;
		}
	}
	return refused;
}

FIXTURE(limits) {
	long running;
	long waiting;
};

FIXTURE_SETUP(limits)
{
	self->running = number_get(PARAMETERS "names_per_user");
	self->waiting = number_get(PARAMETERS "names_waiting_per_user");
	ASSERT_LT(0, self->running);
	ASSERT_LT(0, self->waiting);
	ASSERT_EQ(0, number_set(PARAMETERS "names_per_user", RUNNING));
	ASSERT_EQ(0, number_set(PARAMETERS "names_waiting_per_user", WAITING));
}

FIXTURE_TEARDOWN(limits)
{
	number_set(PARAMETERS "names_per_user", self->running);
	number_set(PARAMETERS "names_waiting_per_user", self->waiting);
}

TEST_F_TIMEOUT(limits, names_of_one_user, 280)
{
	int i, status, refused = 0;
	pid_t pids[PROCESSES];

	for (i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		ASSERT_LE(0, pids[i]);
		if (!pids[i])
			_exit(user_become(1000) ? 254 : query_many(i));
	}
	/* These queries wait meanwhile. */
	EXPECT_EQ(0, user_resolve(65534, "limits-other.any.cmx.test", 0));
	/* Each process may have one more query under construction. */
	EXPECT_GE(RUNNING + WAITING + 1 + PROCESSES,
		  number_get(COUNTERS "live_lookups"));
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		ASSERT_TRUE(WIFEXITED(status));
		ASSERT_GT(254, WEXITSTATUS(status));
		refused += WEXITSTATUS(status);
	}
	/* On a slow host a queue slot or two may become free meanwhile. */
	EXPECT_GE(QUERIES - RUNNING - WAITING, refused);
	EXPECT_LE(QUERIES / 2, refused);

	/* The processes have exited, which ends their queued queries. */
	EXPECT_TRUE(number_gone(COUNTERS "live_lookups"));
	EXPECT_EQ(0, user_resolve(1000, "limits-again.any.cmx.test", 0));
}

static int name_get(int fd, const char *name, uint32_t timeout_ms)
{
	struct rdma_cmx_getaddrinfo arg = {
		.query.node = (uintptr_t)name,
		.query.node_len = strlen(name),
		.query.timeout_ms = timeout_ms,
	};
	uint64_t buf[512];

	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	return call(fd, GETADDRINFO, &arg);
}

/* A lookup while no process can start; this one starts none. */
static int starved_get(int fd, const char *name)
{
	long max = number_get(THREADS_MAX);
	int ret;

	if (number_set(THREADS_MAX, 20))
		return -EPERM;
	ret = name_get(fd, name, 5000);
	return number_set(THREADS_MAX, max) ? -EPERM : ret;
}

/* The lookup may wait for a kernel thread that cannot start, either. */
TEST(no_process_for_the_helper)
{
	int fd = dev_open(0), i, ret = -ETIMEDOUT;
	char name[64];

	ASSERT_LE(0, fd);
	for (i = 0; i < 10 && (!ret || ret == -ETIMEDOUT); i++) {
		snprintf(name, sizeof(name), "warm%d.any.cmx.test", i);
		ASSERT_EQ(0, name_get(fd, name, 0));
		snprintf(name, sizeof(name), "starved%d.any.cmx.test", i);
		ret = starved_get(fd, name);
	}
	EXPECT_EQ(-EAGAIN, ret);
	EXPECT_EQ(0, name_get(fd, name, 0));
	close(fd);
}

TEST_HARNESS_MAIN
