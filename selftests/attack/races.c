// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user has many races of addresses, each with many candidates that fail at
 * once because the source port is in use. Work of all the races is pending at
 * any time. A race of another user needs several work items. Each of them waits
 * for at most one work item of the first user.
 *
 * The test measures the order in attempts of candidates, so it does not depend
 * on time.
 */
#include "uapi.h"

#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "harness.h"

#define ADDRS		128
#define RACES		300
#define ROUNDS		5
#define ATTEMPTS	COUNTERS "connect_attempts"
#define HERE		"10.55.0.1"
#define PORT		7900
#define TIMEOUT		60000

struct names {
	struct rdma_cmx_names head;
	struct rdma_cmx_names_addr addr[ADDRS];
};

/*
 * Sets a result of @count addresses on the id, from source port @src_port, or
 * any.
 */
static int result_get(int fd, uint32_t id, int count, uint16_t src_port)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.id = id,
		.query.port_space = RDMA_PS_TCP,
		.query.flags = RDMA_CMX_AIQ_PORT,
		.query.port = htons(PORT),
		.query.node = (uintptr_t)"races.example",
		.query.node_len = 13,
	};
	struct names n = { .head.version = RDMA_CMX_NAMES_VERSION };
	union event_buf ev;
	int i, ret;

	if (src_port)
		addr_set(&arg.query.src, HERE, src_port);
	n.head.addr_count = count;
	for (i = 0; i < count; i++) {
		n.addr[i].family = AF_INET;
		inet_pton(AF_INET, HERE, n.addr[i].addr);
		n.addr[i].addr[3] += i;
	}
	arg.query.names = (uintptr_t)&n;
	arg.query.names_len = sizeof(n.head) + count * sizeof(n.addr[0]);
	ret = call(fd, RESOLVE_ADDRINFO, &arg);
	return ret ?: event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &ev);
}

static int race_start(int fd, uint32_t id)
{
	struct rdma_cmx_resolve_any arg = { .id = id, .timeout_ms = TIMEOUT };

	return call(fd, RESOLVE_ANY, &arg);
}

static uint32_t ids[RACES];

/* Creates ids with results, and occupies the port. 0 or an error. */
static int races_prepare(int fd)
{
	uint32_t holder;
	int i, ret = 0;

	for (i = 0; !ret && i < RACES; i++)
		ret = id_create(fd, RDMA_PS_TCP, 1, &ids[i]) ?:
		      result_get(fd, ids[i], ADDRS, PORT);
	return ret ?: id_create(fd, RDMA_PS_TCP, 1, &holder) ?:
	       id_bind(fd, holder, HERE, PORT);
}

/*
 * Starts a process of user 1000. It writes a byte to @out when all races have
 * started.
 */
static pid_t attacker_start(int out)
{
	pid_t pid = fork();
	int fd, i, ret;

	if (pid)
		return pid;
	fd = setresuid(0, 0, 0) || user_become(1000) ? -1 :
						       dev_open(O_NONBLOCK);
	ret = fd < 0 ? fd : races_prepare(fd);
	for (i = 0; !ret && i < RACES; i++)
		ret = race_start(fd, ids[i]);
	if (ret)
		fprintf(stderr, "# the races: %d\n", ret);
	else if (write(out, "x", 1) == 1)
		pause();
	_exit(1);
}

FIXTURE(races) {
	pid_t pid;
	int fd, pipe[2];
	long attempts;
};

FIXTURE_SETUP(races)
{
	ASSERT_TRUE(counter_wait("live_files", 0));
	ASSERT_EQ(0, pipe(self->pipe));
	self->pid = 0;
	self->attempts = number_get(ATTEMPTS);
}

FIXTURE_TEARDOWN(races)
{
	ASSERT_EQ(0, setresuid(0, 0, 0));
	/* The process still runs. */
	EXPECT_EQ(0, waitpid(self->pid, NULL, WNOHANG));
	pids_kill(&self->pid, 1);
	close(self->fd);
	close(self->pipe[0]);
	EXPECT_TRUE(nothing_left());
}

/* Ids of another user, with results */
static int rounds_prepare(int fd, uint32_t *id)
{
	int i, ret = 0;

	for (i = 0; !ret && i < ROUNDS; i++)
		ret = id_create(fd, RDMA_PS_TCP, 1, &id[i]) ?:
		      result_get(fd, id[i], 1, 0);
	return ret;
}

/*
 * In the order of arrival each work item of the other user would wait for one
 * of each race.
 */
TEST_F_TIMEOUT(races, of_another_user, 280)
{
	long least = LONG_MAX, left, n;
	uint32_t id[ROUNDS];
	union event_buf ev;
	int i;
	char c;

	ASSERT_EQ(0, setresuid(3000, 3000, 0));
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_EQ(0, rounds_prepare(self->fd, id));
	self->pid = attacker_start(self->pipe[1]);
	ASSERT_LT(0, self->pid);
	close(self->pipe[1]);
	ASSERT_EQ(1, read(self->pipe[0], &c, 1));
	for (i = 0; i < ROUNDS; i++) {
		n = number_get(ATTEMPTS);
		ASSERT_EQ(0, race_start(self->fd, id[i]));
		ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &ev));
		n = number_get(ATTEMPTS) - n;
		left = RACES * ADDRS + self->attempts - number_get(ATTEMPTS);
		TH_LOG("%ld attempts meanwhile, %ld are left", n, left);
		/* All races of the first user are still running. */
		if (left > RACES && n < least)
			least = n;
	}
	EXPECT_GT(RACES, least);
}

/* The end of the process ends all of its races at once. */
TEST(killed)
{
	long attempts, left;
	int out[2];
	pid_t pid;
	char c;

	ASSERT_TRUE(counter_wait("live_files", 0));
	ASSERT_EQ(0, pipe(out));
	left = RACES * ADDRS + number_get(ATTEMPTS);
	pid = attacker_start(out[1]);
	ASSERT_LT(0, pid);
	close(out[1]);
	ASSERT_EQ(1, read(out[0], &c, 1));
	attempts = number_get(ATTEMPTS);
	left -= attempts;
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_TRUE(nothing_left());
	attempts = number_get(ATTEMPTS) - attempts;
	TH_LOG("%ld attempts after the end, %ld were left", attempts, left);
	EXPECT_LT(RACES, left);
	EXPECT_GT(left / 2, attempts);
}

TEST_HARNESS_MAIN
