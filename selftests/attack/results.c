// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user has many addresses annotated and leaves the results in the kernel.
 * Queries of others succeed meanwhile. The results are charged to the user's
 * memory cgroup. Their number is limited over all files of the user.
 * RESOLVE_ANY keeps a result that the user takes: a large one counts until the
 * id ends.
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
#define NEAR		"10.55.0.0"
#define SILENT		"10.55.0.100"	/* no host replies */
#define PLAIN		"192.168.77.0"	/* no RDMA device */
#define SMALL		16		/* entries of a result that is small */
#define LARGE		(SMALL + 1)
#define USER_REQUESTS	UCMX_PARAMETERS "max_user_requests"
#define REQUESTS	UCMX_PARAMETERS "max_requests"

struct names {
	struct rdma_cmx_names head;
	struct rdma_cmx_names_addr addr[ADDRS];
};

/* @count addresses, at most 250 different ones, which follow @net */
static uint32_t names_make(struct names *n, const char *net, int count)
{
	int i;

	memset(n, 0, sizeof(*n));
	n->head.version = RDMA_CMX_NAMES_VERSION;
	n->head.addr_count = count;
	for (i = 0; i < count; i++) {
		n->addr[i].family = AF_INET;
		inet_pton(AF_INET, net, n->addr[i].addr);
		n->addr[i].addr[3] += 1 + i % 250;
	}
	return sizeof(n->head) + count * sizeof(n->addr[0]);
}

/* Sends a query for @count addresses after @net. */
static int query_net(int fd, const char *net, int count, uint32_t id)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.id = id,
		.query.port_space = RDMA_PS_TCP,
		.query.node = (uintptr_t)"many.example",
		.query.node_len = 12,
	};
	struct names n;

	arg.query.names_len = names_make(&n, net, count);
	arg.query.names = (uintptr_t)&n;
	return call(fd, RESOLVE_ADDRINFO, &arg);
}

static int query_by(int fd, int count, uint32_t id)
{
	return query_net(fd, NEAR, count, id);
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
	self->user_requests = number_get(USER_REQUESTS);
}

FIXTURE_TEARDOWN(results)
{
	double end = now_ms() + 60000;

	reap(self->pid);
	if (self->user_requests > 0)
		number_set(USER_REQUESTS, self->user_requests);
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
	ASSERT_EQ(0, number_set(USER_REQUESTS, 4));
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
	ASSERT_EQ(0, number_set(USER_REQUESTS, 1));
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
	ASSERT_EQ(0, number_set(USER_REQUESTS, 1));
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

/* True if the user of @fd has @n requests. The limit is then one more. */
static bool user_has(int fd, int n)
{
	return !number_set(USER_REQUESTS, n) &&
	       getaddrinfo_by(fd, 9) == -EAGAIN &&
	       !number_set(USER_REQUESTS, n + 1) && !getaddrinfo_by(fd, 9);
}

/* Gives the id a result of @count addresses after @net. */
static int result_make(int fd, const char *net, int count, uint32_t id)
{
	union event_buf buf;

	return query_net(fd, net, count, id) ?:
	       event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf);
}

static int race_start(int fd, uint32_t id, uint32_t delay_ms)
{
	struct rdma_cmx_resolve_any arg = {
		.id = id, .timeout_ms = 60000, .delay_ms = delay_ms,
	};

	return call(fd, RESOLVE_ANY, &arg);
}

/* A file may have no request. */
static int race_refused(int fd, uint32_t id)
{
	long requests = number_get(REQUESTS);
	int ret;

	if (requests <= 0 || number_set(REQUESTS, 0))
		return -1;
	ret = race_start(fd, id, 0);
	return number_set(REQUESTS, requests) ? -1 : ret;
}

/* The number of entries in the last race of the id, or a negative errno */
static int race_entries(int fd, uint32_t id)
{
	struct rdma_cmx_query_candidates arg = { .id = id };

	return call(fd, QUERY_CANDIDATES, &arg) ?: (int)arg.num_candidates;
}

/* The entries of PLAIN race and fail. Returns as race_entries(). */
static int race_fail(int fd, uint32_t id)
{
	union event_buf buf;

	return race_start(fd, id, 0) ?: event_want(fd, EV_ROUTE_ERROR, &buf) ?:
	       race_entries(fd, id);
}

/* A result that was raced counts once, if it is large, also when it is taken. */
TEST_F(results, raced_and_taken)
{
	uint32_t id[3];
	int fd[2], i;

	ASSERT_LT(0, self->user_requests);
	fd[0] = dev_open(O_NONBLOCK);
	fd[1] = dev_open(O_NONBLOCK);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, id_create(fd[i % 2], RDMA_PS_TCP, 1, &id[i]));
	ASSERT_TRUE(user_has(fd[0], 0));
	for (i = 0; i < 2; i++) {
		/* Those that stay, and the result, whose charge the race gets */
		ASSERT_EQ(0, number_set(USER_REQUESTS, i + 1));
		ASSERT_EQ(0, result_make(fd[i], PLAIN, LARGE, id[i]));
		ASSERT_EQ(LARGE, race_fail(fd[i], id[i]));
		EXPECT_TRUE(user_has(fd[i], i + 1));
		ASSERT_EQ(0, result_take(fd[i], id[i]));
		EXPECT_TRUE(user_has(fd[i], i + 1));
	}
	/* At the limit of a file nothing changes: the result is there, no race was. */
	ASSERT_EQ(0, number_set(USER_REQUESTS, 3));
	ASSERT_EQ(0, result_make(fd[0], PLAIN, LARGE, id[2]));
	EXPECT_EQ(-EAGAIN, race_refused(fd[0], id[2]));
	EXPECT_EQ(-ENOENT, race_entries(fd[0], id[2]));
	EXPECT_FALSE(event_pending(fd[0]));
	EXPECT_TRUE(user_has(fd[0], 3));
	/* The user's limit is lower now: a race that needs no charge starts. */
	ASSERT_EQ(0, number_set(USER_REQUESTS, 0));
	EXPECT_EQ(LARGE, race_fail(fd[0], id[2]));
	EXPECT_EQ(0, result_take(fd[0], id[2]));
	EXPECT_TRUE(user_has(fd[0], 3));
	/* The end of an id frees one, also for another file. */
	EXPECT_LE(0, id_destroy(fd[1], id[1]));
	EXPECT_TRUE(user_has(fd[0], 2));
	EXPECT_TRUE(user_has(fd[1], 2));
	/* The close of the file ends all. */
	close(fd[0]);
	EXPECT_TRUE(user_has(fd[1], 0));
	close(fd[1]);
}

/* Small results never count, however many ids have them. */
TEST_F(results, small_and_taken)
{
	uint32_t id;
	int fd, i;

	ASSERT_LT(0, self->user_requests);
	fd = dev_open(O_NONBLOCK);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, number_set(USER_REQUESTS, 1));
		ASSERT_EQ(0, id_create(fd, RDMA_PS_TCP, 1, &id));
		ASSERT_EQ(0, result_make(fd, PLAIN, SMALL, id));
		ASSERT_EQ(SMALL, race_fail(fd, id));
		EXPECT_TRUE(user_has(fd, 0));
		ASSERT_EQ(0, result_take(fd, id));
		EXPECT_TRUE(user_has(fd, 0));
	}
	close(fd);
}

/* The next race of an id takes over what the last one counts. */
TEST_F(results, raced_again)
{
	uint32_t id;
	int fd, i;

	ASSERT_LT(0, self->user_requests);
	fd = dev_open(O_NONBLOCK);
	ASSERT_EQ(0, id_create(fd, RDMA_PS_TCP, 1, &id));
	/* After a race that fails at the start the result counts. */
	ASSERT_EQ(0, number_set(USER_REQUESTS, 1));
	ASSERT_EQ(0, result_make(fd, PLAIN, LARGE, id));
	EXPECT_EQ(-EINVAL, race_start(fd, id, 9));
	EXPECT_TRUE(user_has(fd, 1));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, number_set(USER_REQUESTS, 2));
		ASSERT_EQ(0, result_make(fd, PLAIN, LARGE + i, id));
		ASSERT_EQ(LARGE + i, race_fail(fd, id));
		EXPECT_TRUE(user_has(fd, 1));
	}
	/* Also a race of few entries, which do not count when it has ended */
	ASSERT_EQ(0, result_make(fd, PLAIN, SMALL, id));
	EXPECT_EQ(-EINVAL, race_start(fd, id, 9));
	EXPECT_TRUE(user_has(fd, 2));
	ASSERT_EQ(0, number_set(USER_REQUESTS, 2));
	EXPECT_EQ(SMALL, race_fail(fd, id));
	EXPECT_TRUE(user_has(fd, 0));
	/* A large one at the limit of the file leaves the small one. */
	ASSERT_EQ(0, result_make(fd, PLAIN, LARGE, id));
	EXPECT_EQ(-EAGAIN, race_refused(fd, id));
	EXPECT_EQ(SMALL, race_entries(fd, id));
	EXPECT_FALSE(event_pending(fd));
	EXPECT_TRUE(user_has(fd, 1));
	close(fd);
}

/* What a large result counts moves with its id, while it races and later. */
TEST_F(results, raced_and_moved)
{
	static const char *const nets[] = { PLAIN, SILENT };
	struct rdma_cmx_id_migrate arg;
	int fd[3], i;
	uint32_t id;

	ASSERT_LT(0, self->user_requests);
	fd[0] = dev_open(O_NONBLOCK);
	fd[1] = dev_open(O_NONBLOCK);
	fd[2] = other_user_open();
	ASSERT_LE(0, fd[2]);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, number_set(USER_REQUESTS, self->user_requests));
		ASSERT_EQ(0, id_create(fd[0], RDMA_PS_TCP, 1, &id));
		ASSERT_EQ(0, result_make(fd[0], nets[i], LARGE, id));
		ASSERT_EQ(i ? 0 : LARGE, i ? race_start(fd[0], id, 0) :
					     race_fail(fd[0], id));
		ASSERT_EQ(0, result_take(fd[0], id));
		EXPECT_TRUE(user_has(fd[0], 1));
		/* To a file of the same user, above a lowered limit */
		arg = (struct rdma_cmx_id_migrate){ .id = id, .src_fd = fd[0] };
		ASSERT_EQ(0, number_set(USER_REQUESTS, 0));
		ASSERT_EQ(0, call(fd[1], ID_MIGRATE, &arg));
		EXPECT_TRUE(user_has(fd[0], 1));
		/* Not to another user at the limit */
		arg = (struct rdma_cmx_id_migrate){
			.id = arg.new_id, .src_fd = fd[1],
		};
		EXPECT_TRUE(user_has(fd[2], 0));
		ASSERT_EQ(0, number_set(USER_REQUESTS, 0));
		EXPECT_EQ(-EAGAIN, call(fd[2], ID_MIGRATE, &arg));
		EXPECT_TRUE(user_has(fd[1], 1));
		EXPECT_TRUE(user_has(fd[2], 0));
		ASSERT_EQ(0, number_set(USER_REQUESTS, 1));
		ASSERT_EQ(0, call(fd[2], ID_MIGRATE, &arg));
		EXPECT_TRUE(user_has(fd[0], 0));
		EXPECT_TRUE(user_has(fd[2], 1));
		EXPECT_LE(0, id_destroy(fd[2], arg.new_id));
		EXPECT_TRUE(user_has(fd[2], 0));
	}
	for (i = 0; i < 3; i++)
		close(fd[i]);
}

TEST_HARNESS_MAIN
