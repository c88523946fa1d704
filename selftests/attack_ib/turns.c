// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Users whose queries an SA does not answer: another user's query, which it
 * would answer, goes out at once, and with more users than slots a kernel
 * consumer's does.
 */
#include "common.h"
#include "limits.h"

#include <signal.h>
#include <sys/wait.h>

#include "../harness.h"

#define ADDR_ASKER "10.66.0.2"
#define QUERIES 40	/* of an attacker */
#define ATTACKERS 80
#define TIMEOUT 60000

static int bash(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line),
		 "bash -c '. /usr/lib/rdma-cmx/selftests/lib.sh; "
		 ". /usr/lib/rdma-cmx/selftests/fabric.sh; %s'", command);
	return system(line);
}

/* A process that asks as @uid for services and stays. */
static pid_t attacker_start(uid_t uid, int process)
{
	struct rdma_cmx_resolve_addrinfo arg;
	pid_t pid = fork();
	char name[32];
	int fd, i;

	if (pid)
		return pid;
	fd = user_become(uid) ? -1 : dev_open(O_NONBLOCK);
	for (i = 0; i < QUERIES; i++) {
		memset(&arg, 0, sizeof(arg));
		snprintf(name, sizeof(name), "turn-%d-%d", process, i);
		arg.query.ai_flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE;
		arg.query.timeout_ms = TIMEOUT;
		arg.query.service = (uintptr_t)name;
		arg.query.service_len = strlen(name);
		if (fd < 0 || id_create(fd, RDMA_PS_TCP, 1, &arg.id) ||
		    id_bind(fd, arg.id, ADDR_ASKER, 0) ||
		    call(fd, RESOLVE_ADDRINFO, &arg))
			_exit(1);
	}
	pause();
	_exit(0);
}

/*
 * In a process of its own: bytes of the route to @addr in units of one path
 * record, or 255
 */
static int user_route(uid_t uid, const char *addr)
{
	struct rdma_cmx_getaddrinfo arg = {
		.query.node = (uintptr_t)addr,
		.query.node_len = strlen(addr),
		.query.port_space = RDMA_PS_TCP,
		.query.timeout_ms = TIMEOUT,
	};
	const struct rdma_cmx_ai_entry *entry;
	char buf[4096] __attribute__((aligned(8)));
	int status, fd;
	pid_t pid = fork();

	if (!pid) {
		/* By the port whose SA the others query */
		addr_set(&arg.query.src, ADDR_ASKER, 0);
		arg.buf = (uintptr_t)buf;
		arg.buf_len = sizeof(buf);
		entry = (const void *)buf;
		if (user_become(uid))
			_exit(255);
		fd = dev_open(0);
		if (fd < 0 || call(fd, GETADDRINFO, &arg))
			_exit(255);
		_exit(entry->route_len / 72);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 255;
	return WEXITSTATUS(status);
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

FIXTURE(turns) {
	long timeout, cache, route;
	pid_t pids[ATTACKERS];
};

FIXTURE_SETUP(turns)
{
	self->timeout = number_get(PARAMETERS "sa_timeout_ms");
	self->cache = number_get(PARAMETERS "sa_cache_ms");
	self->route = number_get(PARAMETERS "route_timeout_ms");
	/* The neighbour is known from here on. */
	ASSERT_EQ(1, user_route(0, "10.66.0.3"));
	/* What is not answered stays out, and what is known is asked. */
	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 30000));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 0));
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", 20000));
	ASSERT_EQ(0, bash("knob_set $(fab_dev 1) faults "
			  "\"drop class=3 method=0x12 attr=0x31 rmpp=0\""));
}

FIXTURE_TEARDOWN(turns)
{
	double end = now_ms() + 90000;
	int i;

	for (i = 0; i < ATTACKERS; i++) {
		if (self->pids[i] <= 0)
			continue;
		kill(self->pids[i], SIGKILL);
		waitpid(self->pids[i], NULL, 0);
	}
	EXPECT_EQ(0, bash("knob_set $(fab_dev 1) faults clear"));
	number_set(PARAMETERS "sa_timeout_ms", self->timeout);
	number_set(PARAMETERS "sa_cache_ms", self->cache);
	number_set(PARAMETERS "route_timeout_ms", self->route);
	/* Their waiters are gone: they end when they would be sent again. */
	EXPECT_EQ(0, bash("knob_set $(fab_dev 2) event client_reregister"));
	while (lookups() && now_ms() < end)
		poll(NULL, 0, 20);
	EXPECT_EQ(0, lookups());
	EXPECT_EQ(1, user_route(3000, "10.66.0.3"));
}

TEST_F_TIMEOUT(turns, sa, 280)
{
	static const int rounds[] = { 4, 12, ATTACKERS };
	int i, started = 0;

	for (i = 0; i < 3; i++) {
		for (; started < rounds[i]; started++) {
			self->pids[started] = attacker_start(2000 + started,
							     started);
			ASSERT_LT(0, self->pids[started]);
		}
		/* None of them ends by itself. */
		ASSERT_TRUE(lookups_reach(started * QUERIES));
		EXPECT_EQ(1, user_route(rounds[i] == ATTACKERS ? 0 : 3000,
					"10.66.0.3")) {
			TH_LOG("with %d users", started);
		}
		EXPECT_LE(started * QUERIES, lookups());
	}
}

TEST_HARNESS_MAIN
