// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user has many addresses annotated and leaves the results in the kernel.
 * Queries of others succeed meanwhile. The results are charged to the user's
 * memory cgroup. Their number is limited over all files of the user.
 */
#include "uapi.h"

#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"

#define ADDRS		256
#define PER_FILE	1000
#define FLOOD		10000	/* queries */
#define LATE_MS		4000
#define GROUP_DIR	"/sys/fs/cgroup/attack-results"
#define GROUP_MB	64

struct names {
	struct rdma_cmx_names head;
	struct rdma_cmx_names_addr addr[ADDRS];
};

static uint32_t names_make(struct names *n, int count)
{
	int i;

	memset(n, 0, sizeof(*n));
	n->head.version = RDMA_CMX_NAMES_VERSION;
	n->head.addr_count = count;
	for (i = 0; i < count; i++) {
		n->addr[i].family = AF_INET;
		inet_pton(AF_INET, "10.55.0.0", n->addr[i].addr);
		n->addr[i].addr[3] = 1 + i % 250;
	}
	return sizeof(n->head) + count * sizeof(n->addr[0]);
}

/* Sends a query for @count addresses. */
static int query_by(int fd, int count, uint32_t id)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.id = id,
		.query.port_space = RDMA_PS_TCP,
		.query.node = (uintptr_t)"many.example",
		.query.node_len = 12,
	};
	struct names n;

	arg.query.names_len = names_make(&n, count);
	arg.query.names = (uintptr_t)&n;
	return call(fd, RESOLVE_ADDRINFO, &arg);
}

/* Likewise with a new id of @fd */
static int query_start(int fd, int count, uint32_t *id)
{
	return id_create(fd, RDMA_PS_TCP, 1, id) ?: query_by(fd, count, *id);
}

static int result_take(int fd, uint32_t id)
{
	static char buf[1 << 16];
	struct rdma_cmx_query_addrinfo arg = {
		.id = id, .buf = (uintptr_t)buf, .buf_len = sizeof(buf),
	};

	return call(fd, QUERY_ADDRINFO, &arg);
}

/* Creates up to FLOOD results of all addresses and reads none. Their number. */
static int hoard(uid_t uid, int *error)
{
	struct rlimit limit = { 4096, 4096 };
	int fd = -1, i, ret = 0;
	uint32_t id;

	setrlimit(RLIMIT_NOFILE, &limit);
	if (user_become(uid))
		_exit(250);
	for (i = 0; i < FLOOD; i++) {
		if (i % PER_FILE == 0)
			fd = dev_open(O_NONBLOCK);
		if (fd < 0)
			_exit(251);
		do
			ret = query_start(fd, ADDRS, &id);
		while (ret == -EAGAIN && counter("live_queries") < FLOOD / 2);
		if (ret)
			break;
	}
	*error = -ret;
	return i;
}

static void reap(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

FIXTURE(results) {
	pid_t pid;
	long user_requests;
};

FIXTURE_SETUP(results)
{
	self->pid = 0;
	self->user_requests = number_get(UCMX_PARAMETERS "max_user_requests");
}

FIXTURE_TEARDOWN(results)
{
	double end = now_ms() + 60000;

	reap(self->pid);
	if (self->user_requests > 0)
		number_set(UCMX_PARAMETERS "max_user_requests",
			   self->user_requests);
	EXPECT_TRUE(counter_wait("live_files", 0));
	while (number_get(COUNTERS "live_queries") +
	       number_get(COUNTERS "live_results") && now_ms() < end)
		poll(NULL, 0, 20);
	EXPECT_EQ(0, number_get(COUNTERS "live_queries"));
	EXPECT_EQ(0, number_get(COUNTERS "live_results"));
	rmdir(GROUP_DIR);
}

/* A query of another user for one address does not wait for the first user. */
TEST_F_TIMEOUT(results, slots, 280)
{
	double took, worst = 0;
	union event_buf buf;
	int fd, status = -1, n = 0, late = 0, error = 0;
	long results;
	uint32_t id;

	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid) {
		hoard(1000, &error);
		_exit(error);
	}
	ASSERT_EQ(0, setgroups(0, NULL));
	ASSERT_EQ(0, setresuid(65534, 65534, 0));
	fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, fd);
	/* And once after all have started */
	do {
		results = number_get(COUNTERS "live_results");
		took = now_ms();
		ASSERT_EQ(0, query_start(fd, 1, &id));
		ASSERT_EQ(0, event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
		took = now_ms() - took;
		if (took > worst)
			worst = took;
		/* A guest that stops delays the results of others, too. */
		late += took > LATE_MS &&
			number_get(COUNTERS "live_results") - results >
			FLOOD / 20;
		ASSERT_EQ(0, result_take(fd, id));
		ASSERT_LE(0, id_destroy(fd, id));
		n++;
		poll(NULL, 0, 50);
	} while (waitpid(self->pid, &status, WNOHANG) == 0);
	self->pid = 0;
	TH_LOG("%d queries meanwhile, the longest took %.0f ms", n, worst);
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_EQ(0, late);
	close(fd);
	ASSERT_EQ(0, setresuid(0, 0, 0));
}

static int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), ret;

	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return ret;
}

static long free_mb(void)
{
	char line[128];
	long kb = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %ld", &kb) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kb / 1024;
}

/* The group reaches its limit before the host does. */
TEST_F_TIMEOUT(results, charged, 280)
{
	int error = 0, pipes[2];
	long before, least, now;
	char text[32], c;

	file_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	ASSERT_EQ(0, mkdir(GROUP_DIR, 0755));
	snprintf(text, sizeof(text), "%dM", GROUP_MB);
	ASSERT_EQ(0, file_write(GROUP_DIR "/memory.max", text));
	ASSERT_EQ(0, pipe(pipes));
	before = least = free_mb();
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid) {
		if (file_write(GROUP_DIR "/cgroup.procs", "0"))
			_exit(252);
		close(pipes[0]);
		hoard(1000, &error);
		if (write(pipes[1], "x", 1) != 1)
			_exit(253);
		pause();
	}
	close(pipes[1]);
	/* Until all results have arrived, or the process was killed */
	for (;;) {
		struct pollfd pfd = { .fd = pipes[0], .events = POLLIN };

		now = free_mb();
		if (now < least)
			least = now;
		if (poll(&pfd, 1, 20) == 1)
			break;
	}
	if (read(pipes[0], &c, 1) == 1)
		TH_LOG("it was refused");
	reap(self->pid);
	self->pid = 0;
	TH_LOG("%ld MB less on the machine, at most", before - least);
	EXPECT_GT(3 * GROUP_MB, before - least);
	close(pipes[0]);
}

/* The limit is for all files, until the result is read or its id ends. */
TEST_F(results, of_a_user)
{
	uint32_t id[5], other;
	union event_buf buf;
	int fd[2], i;

	ASSERT_LT(0, self->user_requests);
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_user_requests", 4));
	fd[0] = dev_open(O_NONBLOCK);
	fd[1] = dev_open(O_NONBLOCK);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, query_start(fd[i % 2], 1, &id[i]));
		ASSERT_EQ(0, event_want(fd[i % 2],
					RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-EAGAIN, query_start(fd[i], 1, &other));
	EXPECT_EQ(0, result_take(fd[0], id[0]));
	EXPECT_EQ(0, query_start(fd[1], 1, &id[4]));
	EXPECT_EQ(-EAGAIN, query_start(fd[0], 1, &other));
	EXPECT_LE(0, id_destroy(fd[1], id[1]));
	EXPECT_EQ(0, query_start(fd[0], 1, &other));
	EXPECT_EQ(-EAGAIN, query_start(fd[0], 1, &other));
	/* The close of a file frees its results. */
	close(fd[0]);
	EXPECT_EQ(0, query_start(fd[1], 1, &other));
	close(fd[1]);
}

/* A user at the limit can replace a result of the same id. */
TEST_F(results, replaced_at_the_limit)
{
	union event_buf buf;
	uint32_t id, other;
	int fd, i;

	ASSERT_LT(0, self->user_requests);
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_user_requests", 1));
	fd = dev_open(O_NONBLOCK);
	ASSERT_EQ(0, query_start(fd, 1, &id));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED,
					&buf));
		EXPECT_EQ(-EAGAIN, query_start(fd, 1, &other));
		ASSERT_EQ(0, query_by(fd, 1, id));
		EXPECT_EQ(-EAGAIN, query_start(fd, 1, &other));
	}
	ASSERT_EQ(0, event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	/*
	 * A query that fails at the start keeps the old result, which still
	 * counts.
	 */
	EXPECT_EQ(-EBADMSG, query_by(fd, 0, id));
	EXPECT_EQ(-EAGAIN, query_start(fd, 1, &other));
	EXPECT_EQ(0, result_take(fd, id));
	EXPECT_EQ(0, query_start(fd, 1, &other));
	EXPECT_EQ(-EAGAIN, query_by(fd, 1, id));
	close(fd);
}

static int getaddrinfo_by(int fd, uint32_t len)
{
	struct rdma_cmx_getaddrinfo arg = {
		.query.port_space = RDMA_PS_TCP,
		.query.node = (uintptr_t)"10.55.0.2",
		.query.node_len = len,
	};
	uint64_t buf[64];

	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	return call(fd, GETADDRINFO, &arg);
}

/* A call that waits for its result counts, however it ends. */
TEST_F(results, of_a_user_who_waits)
{
	union event_buf buf;
	uint32_t id;
	int fd[2], i;

	ASSERT_LT(0, self->user_requests);
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_user_requests", 1));
	fd[0] = dev_open(O_NONBLOCK);
	fd[1] = dev_open(O_NONBLOCK);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, getaddrinfo_by(fd[i % 2], 9));
		EXPECT_EQ(-ENOENT, getaddrinfo_by(fd[i % 2],
						  RDMA_CMX_MAX_NODE + 1));
	}
	ASSERT_EQ(0, query_start(fd[0], 1, &id));
	ASSERT_EQ(0, event_want(fd[0], RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-EAGAIN, getaddrinfo_by(fd[i % 2], 9));
	EXPECT_EQ(0, result_take(fd[0], id));
	EXPECT_EQ(0, getaddrinfo_by(fd[1], 9));
	close(fd[0]);
	close(fd[1]);
}

TEST_HARNESS_MAIN
