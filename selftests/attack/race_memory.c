// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The candidates of a user's races have route queries that the SA does not
 * respond to. The memory cgroup of the user's process pays for them, though work
 * queues start them.
 */
#include "uapi.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "harness.h"

#define CGROUPS		"/sys/fs/cgroup"
#define GROUP_DIR	CGROUPS "/cmx_races"
#define SA_TIMEOUT_MS	PARAMETERS "sa_timeout_ms"
#define ATTEMPTS	COUNTERS "connect_attempts"
#define ROUTES		COUNTERS "routes"
#define RACES		200
#define QUERY		256	/* bytes of a route query, at least */
#define HERE		"10.66.0.4"	/* reaches itself, by a route of the SA */
#define PORT		7900
#define TIMEOUT		60000
#define WAIT_MS		120000
#define STABLE_MS	3000	/* the numbers of a group are some seconds old */

static int text_set(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	int ret;

	if (!f)
		return -1;
	ret = fputs(text, f) < 0;
	return fclose(f) || ret ? -1 : 0;
}

/* Bytes of kernel objects that the group pays for */
static long group_slab(void)
{
	FILE *f = fopen(GROUP_DIR "/memory.stat", "r");
	char line[128];
	long bytes = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "slab_unreclaimable %ld", &bytes) == 1)
			break;
	if (f)
		fclose(f);
	return bytes;
}

/* The largest number until there was none larger for some time */
static long group_slab_stable(void)
{
	double end = now_ms() + STABLE_MS;
	long most = 0, n;

	while (now_ms() < end) {
		n = group_slab();
		if (n > most) {
			most = n;
			end = now_ms() + STABLE_MS;
		}
		poll(NULL, 0, 50);
	}
	return most;
}

/* Have the id a result of one address, from source port @src_port or any. */
static int result_get(int fd, uint32_t id, uint16_t src_port)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.id = id,
		.query.port_space = RDMA_PS_TCP,
		.query.ai_flags = RDMA_CMX_AI_NOROUTE,
		.query.flags = RDMA_CMX_AIQ_PORT,
		.query.port = htons(PORT),
		.query.node = (uintptr_t)HERE,
		.query.node_len = strlen(HERE),
	};
	union event_buf ev;

	addr_set(&arg.query.src, HERE, src_port);
	return call(fd, RESOLVE_ADDRINFO, &arg) ?:
	       event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &ev);
}

static int race_start(int fd, uint32_t id)
{
	struct rdma_cmx_resolve_any arg = { .id = id, .timeout_ms = TIMEOUT };

	return call(fd, RESOLVE_ANY, &arg);
}

static bool number_reaches(const char *path, long n)
{
	double end = now_ms() + WAIT_MS;

	while (number_get(path) < n && now_ms() < end)
		poll(NULL, 0, 20);
	return number_get(path) >= n;
}

static uint32_t ids[RACES];

/* All races fail, as the source port is in use. Their errors are not taken. */
static int races_fail(int fd)
{
	long before = number_get(ATTEMPTS);
	uint32_t holder;
	int i;

	if (id_create(fd, RDMA_PS_TCP, RACES + 1, &holder) ||
	    id_bind(fd, holder, HERE, PORT))
		return __LINE__;
	for (i = 0; i < RACES; i++)
		if (id_create(fd, RDMA_PS_TCP, i + 1, &ids[i]) ||
		    result_get(fd, ids[i], PORT))
			return __LINE__;
	for (i = 0; i < RACES; i++)
		if (race_start(fd, ids[i]))
			return __LINE__;
	return number_reaches(ATTEMPTS, before + RACES) ? 0 : __LINE__;
}

static int races_query(int fd)
{
	long before = number_get(ROUTES);
	union event_buf ev;
	int i;

	for (i = 0; i < RACES; i++)
		if (event_want(fd, EV_ROUTE_ERROR, &ev) ||
		    ev.ev.status != -EADDRINUSE)
			return __LINE__;
	for (i = 0; i < RACES; i++)
		if (result_get(fd, ids[i], 0))
			return __LINE__;
	for (i = 0; i < RACES; i++)
		if (race_start(fd, ids[i]))
			return __LINE__;
	return number_reaches(ROUTES, before + RACES) ? 0 : __LINE__;
}

/* Those that the SA was too slow for begin again. */
static int races_again(int fd)
{
	union event_buf ev;

	while (event_pending(fd))
		if (event_want(fd, EV_ROUTE_ERROR, &ev) ||
		    ev.ev.uid > RACES || race_start(fd, ids[ev.ev.uid - 1]))
			return __LINE__;
	return 0;
}

/*
 * A process of the group: the line of what has failed, or 0. The races have the
 * same memory with and without queries, but for those.
 */
static int charged(void)
{
	double end;
	long before;
	int fd, ret;

	if (text_set(GROUP_DIR "/cgroup.procs", "0") || user_become(1000))
		return __LINE__;
	fd = dev_open(O_NONBLOCK);
	ret = races_fail(fd);
	if (ret)
		return ret;
	before = group_slab_stable();
	ret = races_query(fd);
	end = now_ms() + WAIT_MS;
	while (!ret && group_slab() < before + RACES * QUERY) {
		if (now_ms() > end)
			ret = __LINE__;
		else
			ret = races_again(fd);
		poll(NULL, 0, 20);
	}
	fprintf(stderr, "# %d races: %ld bytes more with queries\n", RACES,
		group_slab() - before);
	return ret;
}

FIXTURE(memory) {
	long timeout;
};

FIXTURE_SETUP(memory)
{
	text_set(CGROUPS "/cgroup.subtree_control", "+memory");
	mkdir(GROUP_DIR, 0755);
	if (group_slab() < 0) {
		rmdir(GROUP_DIR);
		SKIP(return, "no memory controller");
	}
	self->timeout = number_get(SA_TIMEOUT_MS);
	ASSERT_EQ(0, number_set(SA_TIMEOUT_MS, 30000));
	ASSERT_EQ(0, fabric_bash("sm_pause"));
}

FIXTURE_TEARDOWN(memory)
{
	EXPECT_EQ(0, fabric_bash("sm_resume"));
	number_set(SA_TIMEOUT_MS, self->timeout);
	EXPECT_TRUE(nothing_left());
	/* Queries without a waiter end at their next retry. */
	EXPECT_EQ(0, fabric_bash("for dev in $(cat $fab_state/devices); do "
				 "knob_set $dev event client_reregister; done"));
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
	EXPECT_EQ(0, rmdir(GROUP_DIR));
}

TEST_F_TIMEOUT(memory, of_route_queries, 280)
{
	int p[2], line = -1;
	pid_t pid;

	ASSERT_EQ(0, pipe(p));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		line = charged();
		_exit(write(p[1], &line, sizeof(line)) != sizeof(line));
	}
	close(p[1]);
	EXPECT_EQ(sizeof(line), read(p[0], &line, sizeof(line)));
	close(p[0]);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ(0, line);
}

TEST_HARNESS_MAIN
