// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Users query many names of a silent name server. The name of another user
 * resolves while all of theirs still wait. So does a name of a kernel consumer
 * when there are more users than slots. Users share the lookup of one name. A
 * user who has many ids in a user namespace is one user. A limit of 0 is invalid.
 */
#include "uapi.h"

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"

#define CONSUMER "/sys/kernel/debug/cmx_consumer/"
#define NAMES 64	/* of an attacker */
#define ATTACKERS 40
#define TIMEOUT 240000	/* of the attackers' queries */
#define OTHERS_TIMEOUT 60000	/* of the queries of others */

static int fd_names(int fd, int process, int count)
{
	char name[64];
	uint32_t id;
	int i, ret;

	for (i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "slot%d-%d.silent.test", process,
			 i);
		ret = id_create(fd, RDMA_PS_TCP, 1, &id) ?:
		      name_query(fd, id, name, TIMEOUT);
		if (ret && ret != -EAGAIN)
			return ret;
	}
	return 0;
}

/*
 * Starts a process that sends queries as @uid, writes a byte to @out, and
 * stays.
 */
static pid_t attacker_start(uid_t uid, int process, int out)
{
	pid_t pid = fork();
	int fd;

	if (pid)
		return pid;
	fd = user_become(uid) ? -1 : dev_open(O_NONBLOCK);
	if (fd < 0 || fd_names(fd, process, NAMES) || write(out, "", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

/* Starts attackers @first to @last - 1. 0 when all have sent their queries. */
static int attackers_start(pid_t *pids, int first, int last)
{
	struct pollfd in = { .events = POLLIN };
	int i, out[2], ret = 0;
	char c;

	if (pipe(out))
		return -1;
	for (i = first; i < last; i++)
		pids[i] = attacker_start(2000 + i, i, out[1]);
	in.fd = out[0];
	for (i = first; i < last && !ret; i++)
		ret = poll(&in, 1, 120000) != 1 || read(out[0], &c, 1) != 1;
	close(out[0]);
	close(out[1]);
	return ret;
}

FIXTURE(slots) {
	pid_t pids[ATTACKERS];
	long waiting, longest;
};

FIXTURE_SETUP(slots)
{
	/* Many helpers start again each time. */
	ASSERT_EQ(0, helper_timeout(12));
	self->waiting = number_get(PARAMETERS "names_waiting_per_user");
	ASSERT_LT(0, self->waiting);
	self->longest = number_get(PARAMETERS "query_timeout_max_ms");
	ASSERT_EQ(0, number_set(PARAMETERS "query_timeout_max_ms", TIMEOUT));
}

FIXTURE_TEARDOWN(slots)
{
	/* The processes of a namespace are a process group. */
	if (self->pids[0] > 0)
		kill(-self->pids[0], SIGKILL);
	pids_kill(self->pids, ATTACKERS);
	number_set(PARAMETERS "names_waiting_per_user", self->waiting);
	number_set(PARAMETERS "query_timeout_max_ms", self->longest);
	EXPECT_EQ(0, helper_timeout(HELPER_SECONDS));
	EXPECT_TRUE(number_gone(COUNTERS "live_lookups"));
}

static bool consumer_resolves(const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "modprobe cmx_consumer && "
		 "echo 'resolve %s 7471 timeout=%d' >" CONSUMER "command && "
		 "grep -q '^entries=' " CONSUMER "result; ret=$?; "
		 "rmmod cmx_consumer; exit $ret", name, OTHERS_TIMEOUT);
	return !system(line);
}

TEST_F_TIMEOUT(slots, names, 280)
{
	long slots = number_get(PARAMETERS "names_max");
	int i, started = 0;
	static const struct {
		int attackers;
		const char *name;
	} rounds[] = {
		{ 4, "four.any.cmx.test" },
		{ 12, "twelve.any.cmx.test" },
	};

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, attackers_start(self->pids, started,
					     rounds[i].attackers));
		started = rounds[i].attackers;
		EXPECT_EQ(0, user_resolve(3000, rounds[i].name, OTHERS_TIMEOUT)) {
			TH_LOG("with %d users", started);
		}
		/* The queries without a slot still wait. */
		EXPECT_LT(2 * slots, number_get(COUNTERS "live_lookups"));
	}
	/* More users than slots */
	ASSERT_EQ(0, attackers_start(self->pids, started, ATTACKERS));
	EXPECT_TRUE(consumer_resolves("kernel.any.cmx.test"));
	EXPECT_LT(2 * slots, number_get(COUNTERS "live_lookups"));
}

/* Another user shares the lookup of a name for which very many wait. */
TEST_F_TIMEOUT(slots, one_name, 280)
{
	double began = now_ms();
	uint32_t id[2];
	int fd[2], i, ret;

	/* Longer than it takes to send them */
	ASSERT_EQ(0, helper_timeout(20));
	fd[0] = dev_open(O_NONBLOCK);
	fd[1] = dev_open(O_NONBLOCK);
	for (i = 0; i < 1100; i++) {
		ASSERT_EQ(0, id_create(fd[i % 2], RDMA_PS_TCP, 1, &id[0]));
		ASSERT_EQ(0, name_query(fd[i % 2], id[0], "one.silent.test",
					TIMEOUT));
	}
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, id_create(fd[0], RDMA_PS_TCP, 1, &id[i]));
	/* A query counts for the user who sends it. */
	ASSERT_EQ(0, setreuid(2000, -1));
	ret = name_query(fd[0], id[0], "one.silent.test", TIMEOUT);
	if (!ret)
		ret = name_query(fd[0], id[1], "other.silent.test", TIMEOUT);
	ASSERT_EQ(0, setreuid(0, -1));
	EXPECT_EQ(0, ret);
	/* One of each name */
	EXPECT_EQ(2, number_get(COUNTERS "live_lookups")) {
		TH_LOG("after %.0f ms", now_ms() - began);
	}
	close(fd[0]);
	close(fd[1]);
}

/* With ids 1 to 12 of a user namespace of user 1000 */
static int namespace_query(int in, int out)
{
	int fd, i, round, status, ret = 0;
	char c = 0;
	pid_t pid;

	if (user_become(1000) || unshare(CLONE_NEWUSER) ||
	    write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
		return 1;
	for (i = 1; i <= 12 && !ret; i++) {
		pid = fork();
		if (!pid) {
			if (setresuid(i, i, i))
				_exit(2);
			fd = dev_open(O_NONBLOCK);
			if (fd < 0 || fd_names(fd, 100 + i, 8))
				_exit(3);
			if (write(out, &c, 1) != 1)
				_exit(4);
			/*
			 * Queries that replace those with a timeout of the
			 * helper
			 */
			for (round = 1;; round++) {
				poll(NULL, 0, 500);
				fd_names(fd, 100 * round + 100 + i, 8);
			}
		}
		ret = pid < 0;
	}
	pause();
	while (wait(&status) > 0)
		;
	return ret;
}

/* Reads a byte from the processes of the namespace; one may have failed. */
static bool byte_wait(int from)
{
	struct pollfd in = { .fd = from, .events = POLLIN };
	char c;

	return poll(&in, 1, 120000) == 1 && read(from, &c, 1) == 1;
}

TEST_F_TIMEOUT(slots, subordinate_ids, 280)
{
	long refused = number_get(COUNTERS "name_refused");
	int in[2], out[2], i, own = 0;
	char name[64];

	ASSERT_EQ(0, number_set(PARAMETERS "names_waiting_per_user", 8));
	ASSERT_EQ(0, pipe(in));
	ASSERT_EQ(0, pipe(out));
	self->pids[0] = fork();
	ASSERT_LE(0, self->pids[0]);
	if (!self->pids[0]) {
		/* The signal to the group ends the children, too. */
		setpgid(0, 0);
		_exit(namespace_query(in[0], out[1]));
	}
	ASSERT_TRUE(byte_wait(out[0]));
	ASSERT_EQ(0, id_map_write(self->pids[0], "uid_map", 1000, 100000,
				  100));
	ASSERT_EQ(0, id_map_write(self->pids[0], "gid_map", 1000, 100000,
				  100));
	ASSERT_EQ(1, write(in[1], "", 1));
	for (i = 0; i < 12; i++)
		ASSERT_TRUE(byte_wait(out[0]));
	/* One user: of 96 queries 8 run and 8 wait, and more as these end */
	EXPECT_LE(30, number_get(COUNTERS "name_refused") - refused);
	EXPECT_EQ(0, user_resolve(3000, "subordinate.any.cmx.test",
				  OTHERS_TIMEOUT));
	/*
	 * The user's id outside counts as the same user; a slot may just be
	 * free.
	 */
	for (i = 0; i < 20 && own != EAGAIN; i++) {
		snprintf(name, sizeof(name), "own%d.any.cmx.test", i);
		own = user_resolve(1000, name, OTHERS_TIMEOUT);
	}
	EXPECT_EQ(EAGAIN, own);
	kill(-self->pids[0], SIGKILL);
}

TEST(no_limit_of_zero)
{
	static const char * const names[] = {
		"names_max", "names_per_user", "names_waiting_per_user",
		"sa_parallel", "sa_per_user", "sa_waiting_per_user",
		"sa_timeout_ms", "sa_max_records", NULL,
	};
	char path[128];
	long before;
	int i;

	for (i = 0; names[i]; i++) {
		snprintf(path, sizeof(path), PARAMETERS "%s", names[i]);
		before = number_get(path);
		ASSERT_LT(0, before);
		EXPECT_EQ(-1, number_set(path, 0)) {
			TH_LOG("%s", names[i]);
		}
		EXPECT_EQ(before, number_get(path));
		number_set(path, before);
	}
}

TEST_HARNESS_MAIN
