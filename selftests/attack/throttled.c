// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user has queries outstanding, and then a memory cgroup that is beyond its
 * memory.high: the kernel charges the results to it, and lets whoever charges more
 * sleep, here work items. A query of another user does not wait for that.
 */
#include "uapi.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"

#define ADDR_CLIENT	"10.66.0.2"
#define ADDR_PEER	"10.66.0.3"
#define ADDRS		RDMA_CMX_NAMES_MAX_ADDRS
#define QUERIES		64	/* results of some 80 KB each */
#define TIMEOUT		240000
#define WAIT		60000
#define GROUP_DIR	"/sys/fs/cgroup/attack-throttled"

struct names {
	struct rdma_cmx_names head;
	struct rdma_cmx_names_addr addr[ADDRS];
};

/* A name whose addresses are all the same one */
static int query_start(int fd)
{
	static struct names names;
	struct rdma_cmx_resolve_addrinfo arg = {
		.query.port_space = RDMA_PS_TCP,
		.query.timeout_ms = TIMEOUT,
		.query.node = (uintptr_t)"many.example",
		.query.node_len = 12,
		.query.names = (uintptr_t)&names,
		.query.names_len = sizeof(names),
	};
	int i;

	names.head.version = RDMA_CMX_NAMES_VERSION;
	names.head.addr_count = ADDRS;
	for (i = 0; i < ADDRS; i++) {
		names.addr[i].family = AF_INET;
		inet_pton(AF_INET, ADDR_PEER, names.addr[i].addr);
	}
	addr_set(&arg.query.src, ADDR_CLIENT, 0);
	return id_create(fd, RDMA_PS_TCP, 1, &arg.id) ?:
	       call(fd, RESOLVE_ADDRINFO, &arg);
}

static int file_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");
	int ret;

	if (!f)
		return -1;
	ret = fputs(text, f) < 0;
	return fclose(f) || ret ? -1 : 0;
}

/* How often somebody was to wait for the group */
static long throttled(void)
{
	char line[64];
	long n = -1;
	FILE *f = fopen(GROUP_DIR "/memory.events", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "high %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* A process of the group that starts its queries and stays */
static pid_t attacker_start(int out)
{
	pid_t pid = fork();
	int fd = -1, i;

	if (pid)
		return pid;
	if (!file_write(GROUP_DIR "/cgroup.procs", "0") && !user_become(2000))
		fd = dev_open(O_NONBLOCK);
	for (i = 0; i < QUERIES; i++)
		if (fd < 0 || query_start(fd))
			_exit(1);
	if (write(out, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Path records to the peer, or 255 */
static int route_get(void *arg)
{
	int paths = route_query(ADDR_CLIENT, ADDR_PEER, TIMEOUT);

	return paths < 0 ? 255 : paths;
}

static bool route_found(void)
{
	double end = now_ms() + WAIT;

	while (user_end(user_start(3000, route_get, NULL)) != 1)
		if (now_ms() > end)
			return false;
	return true;
}

static bool counter_reaches(const char *name, long value)
{
	double end = now_ms() + WAIT;

	while (number_get(name) < value && now_ms() < end)
		poll(NULL, 0, 20);
	return number_get(name) >= value;
}

FIXTURE(throttled) {
	long timeout, cache, route, longest;
	bool paused;
	pid_t pid;
};

FIXTURE_SETUP(throttled)
{
	self->timeout = number_get(PARAMETERS "sa_timeout_ms");
	self->cache = number_get(PARAMETERS "sa_cache_ms");
	self->route = number_get(PARAMETERS "route_timeout_ms");
	self->longest = number_get(PARAMETERS "query_timeout_max_ms");
	/* The neighbour is known from here on. */
	ASSERT_TRUE(route_found());
	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 30000));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 0));
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", WAIT));
	ASSERT_EQ(0, number_set(PARAMETERS "query_timeout_max_ms", TIMEOUT));
	file_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	ASSERT_EQ(0, mkdir(GROUP_DIR, 0755));
}

FIXTURE_TEARDOWN(throttled)
{
	if (self->paused)
		EXPECT_EQ(0, fabric_bash("sm_resume"));
	if (self->pid > 0)
		pids_kill(&self->pid, 1);
	number_set(PARAMETERS "sa_timeout_ms", self->timeout);
	number_set(PARAMETERS "sa_cache_ms", self->cache);
	number_set(PARAMETERS "route_timeout_ms", self->route);
	number_set(PARAMETERS "query_timeout_max_ms", self->longest);
	EXPECT_TRUE(number_gone(COUNTERS "live_queries"));
	EXPECT_TRUE(number_gone(COUNTERS "live_results"));
	rmdir(GROUP_DIR);
}

TEST_F_TIMEOUT(throttled, results, 280)
{
	long before, results;
	int pipes[2];
	pid_t other;
	char c;

	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, fabric_bash("sm_pause"));
	self->paused = true;
	self->pid = attacker_start(pipes[1]);
	close(pipes[1]);
	ASSERT_EQ(1, read(pipes[0], &c, 1));
	close(pipes[0]);
	ASSERT_EQ(0, file_write(GROUP_DIR "/memory.high", "0"));
	before = throttled();
	/* One query for all of each user */
	other = user_start(3000, route_get, NULL);
	ASSERT_TRUE(counter_reaches(COUNTERS "live_sa_lookups", 2));
	ASSERT_EQ(0, number_get(COUNTERS "live_results"));
	ASSERT_EQ(0, fabric_bash("sm_resume"));
	self->paused = false;
	EXPECT_EQ(1, user_end(other));
	results = number_get(COUNTERS "live_results");
	TH_LOG("%ld of %d results were there before", results, QUERIES);
	EXPECT_GT(QUERIES, results);
	/* And it was not only for want of work. */
	EXPECT_TRUE(counter_reaches(COUNTERS "live_results", 16));
	EXPECT_LT(before, throttled());
}

TEST_HARNESS_MAIN
