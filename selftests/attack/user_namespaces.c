// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user maps 65536 ids into a user namespace, and spreads requests over them,
 * over nested namespaces, and over further namespaces. All of these are one
 * user: the owner of the outermost namespace. The limits of that owner apply.
 * The limits of other owners and of other containers do not change.
 */
#include "uapi.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "harness.h"

#define OWNER		1000
#define OTHER		1001
#define SUBIDS		65536	/* ids in a namespace */
#define PROCESSES	12	/* of a namespace, each with its own id */
#define TRIES		4	/* of a process */
#define ALL		(PROCESSES * TRIES)
#define LIMIT		10
#define RUNNING		2	/* of the limit for names */
#define WAIT_MS		60000
#define QUERY_MS	240000	/* longer than the test */
#define UCMX_PARAMETERS	"/sys/module/rdma_ucmx/parameters/"

/* Each creates one object, which its file keeps. 0 or a negative errno. */
typedef int (*take_fn)(int fd, uint32_t id, int n);

/* Not resolved by a helper: it only counts as outstanding. */
static int take_request(int fd, uint32_t id, int n)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.id = id,
		.query.flags = RDMA_CMX_AIQ_NAMES_LATER,
		.query.node = (uintptr_t)"later.example",
		.query.node_len = 13,
		.query.port_space = RDMA_PS_TCP,
		.query.timeout_ms = QUERY_MS,
	};

	return call(fd, RESOLVE_ADDRINFO, &arg);
}

static int take_group(int fd, uint32_t id, int n)
{
	char group[32];
	uint32_t mc;

	snprintf(group, sizeof(group), "239.56.%d.%d", n / 200, 1 + n % 200);
	return id_bind(fd, id, ADDR_RDMA, 0) ?: mc_join(fd, id, group, 1, &mc);
}

static int take_name(int fd, uint32_t id, int n)
{
	char name[64];

	snprintf(name, sizeof(name), "ns%d-%d.silent.test", getpid(), n);
	return name_query(fd, id, name, QUERY_MS);
}

/* The results of a process */
struct count {
	int taken;
	int refused;	/* -EAGAIN */
	int wrong;	/* any other error, the last one */
};

static void take_many(take_fn take, int first, struct count *count)
{
	int fd = dev_open(O_NONBLOCK), i, ret;
	uint32_t id;

	for (i = first; i < first + TRIES; i++) {
		ret = fd < 0 ? -EBADF :
		      id_create(fd, take == take_group ? RDMA_PS_UDP :
						RDMA_PS_TCP, 1, &id) ?:
		      take(fd, id, i);
		if (!ret)
			count->taken++;
		else if (ret == -EAGAIN)
			count->refused++;
		else
			count->wrong = ret;
	}
}

/* The @n-th process: a separate id, every other one in a nested namespace */
static void member_run(take_fn take, int n, int out)
{
	uid_t uid = 1 + n * ((SUBIDS - 2) / (PROCESSES - 1));
	struct count count = {};

	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
	    (n % 2 && unshare(CLONE_NEWUSER)))
		count.wrong = -errno;
	else
		take_many(take, n * TRIES, &count);
	if (write(out, &count, sizeof(count)) == sizeof(count))
		pause();
	_exit(0);
}

/* Creates the namespace, waits for its map, and starts the processes. */
static void container_run(uid_t owner, take_fn take, int in, int out)
{
	char c = 0;
	int i;

	setpgid(0, 0);
	if ((owner && user_become(owner)) || unshare(CLONE_NEWUSER) ||
	    write(out, &c, 1) != 1 || read(in, &c, 1) != 1)
		_exit(1);
	for (i = 0; i < PROCESSES; i++)
		if (!fork())
			member_run(take, i, out);
	pause();
	_exit(0);
}

static int wait_read(int fd, void *buf, size_t len)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };

	return poll(&in, 1, WAIT_MS) == 1 && read(fd, buf, len) == len ? 0 : -1;
}

/*
 * Starts a container of user @owner, whose root is @root outside. Returns its
 * process, which leads the group of all, and their results, or -1.
 */
static pid_t container_start(uid_t owner, uid_t root, take_fn take,
			     struct count *sum)
{
	struct count count;
	int in[2], out[2], i, ret = -1;
	pid_t pid;
	char c;

	memset(sum, 0, sizeof(*sum));
	if (pipe(in) || pipe(out))
		return -1;
	pid = fork();
	if (!pid)
		container_run(owner, take, in[0], out[1]);
	if (pid > 0 && !wait_read(out[0], &c, 1) &&
	    !id_map_write(pid, "uid_map", root, root + 100000, SUBIDS - 1) &&
	    !id_map_write(pid, "gid_map", root, root + 100000, SUBIDS - 1) &&
	    write(in[1], &c, 1) == 1) {
		for (i = 0; i < PROCESSES; i++) {
			if (wait_read(out[0], &count, sizeof(count)))
				break;
			sum->taken += count.taken;
			sum->refused += count.refused;
			sum->wrong = sum->wrong ?: count.wrong;
		}
		ret = i == PROCESSES ? 0 : -1;
	}
	for (i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
	if (!ret || pid <= 0)
		return pid;
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return -1;
}

static void container_stop(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(-pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Number of successes out of @TRIES for a user without a namespace */
static int take_plain(void *arg)
{
	struct count count = {};

	take_many(*(take_fn *)arg, 5000, &count);
	return count.wrong ? 253 : count.taken;
}

static struct {
	const char *path;
	long value;
	long before;
} limits[] = {
	{ UCMX_PARAMETERS "max_user_requests", LIMIT },
	{ PARAMETERS "groups_per_user", LIMIT },
	{ PARAMETERS "names_per_user", RUNNING },
	{ PARAMETERS "names_waiting_per_user", LIMIT - RUNNING },
	{ PARAMETERS "query_timeout_max_ms", QUERY_MS },
};

#define LIMITS	(sizeof(limits) / sizeof(limits[0]))
#define CONTAINERS	7

FIXTURE(owner) {
	pid_t pids[CONTAINERS];
};

FIXTURE_VARIANT(owner) {
	take_fn take;
};

FIXTURE_VARIANT_ADD(owner, requests) { .take = take_request };
FIXTURE_VARIANT_ADD(owner, groups) { .take = take_group };

/* 0, or the number of a limit that cannot be set */
static int limits_set(void)
{
	int i;

	for (i = 0; i < LIMITS; i++) {
		limits[i].before = number_get(limits[i].path);
		if (limits[i].before <= 0 ||
		    number_set(limits[i].path, limits[i].value))
			return i + 1;
	}
	return 0;
}

static void limits_restore(void)
{
	int i;

	for (i = 0; i < LIMITS; i++)
		if (limits[i].before > 0)
			number_set(limits[i].path, limits[i].before);
}

FIXTURE_SETUP(owner)
{
	memset(self->pids, 0, sizeof(self->pids));
	ASSERT_EQ(0, limits_set());
}

FIXTURE_TEARDOWN(owner)
{
	int i;

	for (i = 0; i < CONTAINERS; i++)
		container_stop(self->pids[i]);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_TRUE(number_gone(COUNTERS "live_lookups"));
	limits_restore();
}

#define CONTAINER(_n, _owner, _root, _taken) do {			\
	struct count _c;						\
	self->pids[_n] = container_start(_owner, _root, variant->take, &_c);\
	ASSERT_LT(0, self->pids[_n]);					\
	EXPECT_EQ(0, _c.wrong);						\
	EXPECT_EQ(_taken, _c.taken);					\
	EXPECT_EQ(ALL - (_taken), _c.refused);				\
} while (0)

TEST_F_TIMEOUT(owner, has_one_limit, 200)
{
	take_fn take = variant->take;

	CONTAINER(0, OWNER, OWNER, LIMIT);
	/* Another namespace of the owner, and the owner outside of both */
	CONTAINER(1, OWNER, OWNER, 0);
	EXPECT_EQ(0, user_end(user_start(OWNER, take_plain, &take)));
	/* Another owner, even if the namespace has an id of the first owner */
	CONTAINER(2, OTHER, OTHER, LIMIT);
	EXPECT_EQ(TRIES, user_end(user_start(3000, take_plain, &take)));
	/* A container that root creates is a user by the id of its root. */
	CONTAINER(3, 0, 200000, LIMIT);
	CONTAINER(4, 0, 400000, LIMIT);
	CONTAINER(5, 0, 200000, 0);
	/* Ended processes no longer count. */
	container_stop(self->pids[0]);
	container_stop(self->pids[1]);
	self->pids[0] = 0;
	self->pids[1] = 0;
	EXPECT_TRUE(counter_wait("live_files", 3 * PROCESSES + PROCESSES));
	CONTAINER(0, OWNER, OWNER, LIMIT);
	/* A namespace of root's whose root is root: each id is a user. */
	CONTAINER(6, 0, 0, ALL);
	EXPECT_EQ(TRIES, user_end(user_start(0, take_plain, &take)));
}

FIXTURE(names) {
	pid_t pid;
};

FIXTURE_SETUP(names)
{
	self->pid = 0;
	if (kernel_slow())
		ASSERT_EQ(0, helper_timeout(3 * HELPER_SECONDS));
	ASSERT_EQ(0, limits_set());
	/* Only the limit of names applies here. */
	ASSERT_EQ(0, number_set(limits[0].path, limits[0].before));
}

FIXTURE_TEARDOWN(names)
{
	container_stop(self->pid);
	EXPECT_EQ(0, helper_timeout(HELPER_SECONDS));
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_TRUE(number_gone(COUNTERS "live_lookups"));
	limits_restore();
}

/* Slots for names become free at the helpers' timeouts, so this is a range. */
TEST_F_TIMEOUT(names, of_an_owner, 200)
{
	long refused = number_get(COUNTERS "name_refused");
	struct count count;

	self->pid = container_start(OWNER, OWNER, take_name, &count);
	ASSERT_LT(0, self->pid);
	EXPECT_EQ(0, count.wrong);
	EXPECT_LE(ALL / 4, number_get(COUNTERS "name_refused") - refused);
	/* The namespace of another owner does not wait for any of them. */
	EXPECT_EQ(0, user_resolve(OTHER, "owner.any.cmx.test", 30000));
}

TEST_HARNESS_MAIN
