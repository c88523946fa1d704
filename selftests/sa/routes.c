// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Routes of ids on InfiniBand: the first route to a peer queries the SA, all
 * later ones use the cached path. The events are those of rdma_cm, which
 * queries if the module's query fails, and if there is a provider of paths. The
 * SM's device counts the queries.
 */
#include <string.h>
#include <sys/wait.h>
#include <rdma/rdma_cmx.h>

#include "sa.h"

#define PORT_NUM	7481
#define PEERS		3	/* 10.66.0.2 to 10.66.0.4 */
#define RECONNECTS	200
#define PROCESSES	4
#define LONG_MS		60000
#define SHORT_ROUNDS	200

FIXTURE(routes) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	char usual[32];
	char timeout[32];
};

/* A cancelled query lasts until its first retry; the setup waits for it. */
FIXTURE_SETUP(routes)
{
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "5000", self->timeout));
	ASSERT_TRUE(parameter_set("sa_cache_ms", "3600000", self->usual));
	ASSERT_TRUE(cache_renew());
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	self->id = NULL;
}

FIXTURE_TEARDOWN(routes)
{
	if (self->id)
		EXPECT_EQ(0, rdma_destroy_id(self->id));
	if (self->channel)
		rdma_destroy_event_channel(self->channel);
	EXPECT_EQ(0, paths_lost(false));
	EXPECT_TRUE(parameter_set("sa_cache_ms", self->usual, NULL));
	EXPECT_TRUE(parameter_set("sa_timeout_ms", self->timeout, NULL));
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/* Makes an id with the address of peer @n, NULL on failure. */
static struct rdma_cm_id *addressed(struct rdma_event_channel *channel,
				    unsigned int n)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT_NUM),
		.sin_addr.s_addr = htonl(0x0a420000 | n),
	};
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return NULL;
	if (!rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, LONG_MS) &&
	    event_take(channel, NULL) == RDMA_CM_EVENT_ADDR_RESOLVED)
		return id;
	rdma_destroy_id(id);
	return NULL;
}

/* Resolves a route to peer @n once. An errno or a wrong event. */
static int route_once(struct rdma_event_channel *channel, unsigned int n)
{
	struct rdma_cm_id *id = addressed(channel, n);
	int status, ret = -EPROTO;

	if (!id)
		return -EHOSTUNREACH;
	if (rdma_resolve_route(id, LONG_MS))
		ret = -errno;
	else if (event_take(channel, &status) == RDMA_CM_EVENT_ROUTE_RESOLVED)
		ret = status;
	if (!ret && (id->route.num_paths != 1 || !id->route.path_rec))
		ret = -ENODATA;
	rdma_destroy_id(id);
	return ret;
}

/* Resolves @rounds routes, to one peer after the other, in another process. */
static pid_t routes_start(unsigned int rounds)
{
	struct rdma_event_channel *channel;
	unsigned int i;
	int ret = 0;
	pid_t pid;

	pid = fork();
	if (pid)
		return pid;
	channel = rdma_create_event_channel();
	if (!channel)
		_exit(1);
	for (i = 0; !ret && i < rounds; i++)
		ret = route_once(channel, 2 + i % PEERS);
	if (ret)
		fprintf(stderr, "# route %u: %s\n", i, strerror(-ret));
	_exit(ret ? 1 : 0);
}

/* No name is resolved before: the routes fill the cache. */
TEST_F(routes, a_query_for_each_peer)
{
	long long before = sa_queries(ATTR_PATH), routes = counter("routes");
	long long by_cm = counter("routes_by_cm");
	pid_t pids[PROCESSES];
	int status;

	ASSERT_LE(0, before);
	/* A retry would count as another query. */
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "20000", NULL));
	/* The queries of rdma_cm are dropped. */
	ASSERT_EQ(0, bash("knob_set %s faults 'drop class=3 method=1 attr=0x35'",
			  device(DEV_SM)));
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = routes_start(RECONNECTS / PROCESSES);
	for (int i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(before + PEERS, sa_queries(ATTR_PATH));
	/* Concurrent routes of several processes share a query. */
	EXPECT_LE(routes + PEERS, counter("routes"));
	EXPECT_GE(routes + PEERS * PROCESSES, counter("routes"));
	EXPECT_EQ(by_cm, counter("routes_by_cm"));
}

/* Without a cache concurrent queries are still shared. */
TEST_F(routes, without_a_cache)
{
	struct rdma_cm_id *ids[20];
	long long before;
	int status;

	ASSERT_TRUE(parameter_set("sa_cache_ms", "0", NULL));
	ASSERT_TRUE(parameter_set("sa_timeout_ms", "60000", NULL));
	for (int i = 0; i < 20; i++) {
		ids[i] = addressed(self->channel, 3);
		ASSERT_NE(NULL, ids[i]);
	}
	before = sa_queries(ATTR_PATH);
	/* All are outstanding before the SA receives the first one. */
	ASSERT_EQ(0, bash("knob_set %s faults"
			  " 'delay class=3 method=0x12 attr=0x35 ms=6000'",
			  device(DEV_SM)));
	for (int i = 0; i < 20; i++)
		ASSERT_EQ(0, rdma_resolve_route(ids[i], LONG_MS));
	for (int i = 0; i < 20; i++) {
		EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
			  event_take(self->channel, &status));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(before + 1, sa_queries(ATTR_PATH));
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(0, rdma_destroy_id(ids[i]));
	ASSERT_EQ(0, bash("knob_set %s faults clear", device(DEV_SM)));
	ASSERT_EQ(0, route_once(self->channel, 3));
	EXPECT_EQ(before + 2, sa_queries(ATTR_PATH));
}

static void lost_expect(struct __test_metadata *_metadata,
			FIXTURE_DATA(routes) *self, const char *sa_timeout_ms)
{
	struct rdma_cm_id *id;
	long long start;
	int status;

	ASSERT_TRUE(parameter_set("sa_timeout_ms", sa_timeout_ms, NULL));
	id = self->id = addressed(self->channel, 4);
	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, paths_lost(true));
	start = now_ms();
	ASSERT_EQ(0, rdma_resolve_route(id, 2000));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR, event_take(self->channel, &status));
	EXPECT_EQ(-ETIMEDOUT, status);
	EXPECT_LE(1900, now_ms() - start);
	EXPECT_GT(50000, now_ms() - start);
	/* The id keeps its address. The module's query may be outstanding. */
	ASSERT_EQ(0, paths_lost(false));
	ASSERT_EQ(0, rdma_resolve_route(id, LONG_MS));
	ASSERT_EQ(0, bash("knob_set %s event client_reregister",
			  device(DEV_SM)));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, &status));
	EXPECT_EQ(1, id->route.num_paths);
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_route(id, LONG_MS));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(routes, timeout)
{
	long long before = counter("routes_by_cm");

	lost_expect(_metadata, self, "5000");
	EXPECT_EQ(before, counter("routes_by_cm"));
}

/* Makes an id of the client's port, resolved to a GID that no port has. */
static struct rdma_cm_id *addressed_nobody(struct rdma_event_channel *channel,
					   unsigned int n)
{
	struct sockaddr_ib addr = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(0xffff),
		.sib_addr = *gid(DEV_OTHER),
		.sib_sid = htobe64(0x1060000 + PORT_NUM),
		.sib_sid_mask = htobe64(~0ULL),
	};
	struct rdma_cm_id *id = id_on(channel, DEV_OWN);

	addr.sib_addr.sib_raw[14] ^= 0x77;
	addr.sib_addr.sib_raw[15] = n;
	if (id && !rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr,
				     LONG_MS) &&
	    event_take(channel, NULL) == RDMA_CM_EVENT_ADDR_RESOLVED)
		return id;
	return NULL;
}

/*
 * rdma_cm sends no query for a user above the limit: it would not wait for
 * others.
 */
TEST_F(routes, user_at_the_limit)
{
	long long before = counter("routes_by_cm");
	char waiting[32], per_user[32];
	struct rdma_cm_id *ids[PEERS];
	int refused = 0;

	ASSERT_EQ(0, paths_lost(true));
	for (int i = 0; i < PEERS; i++) {
		ids[i] = addressed_nobody(self->channel, i);
		ASSERT_NE(NULL, ids[i]);
	}
	ASSERT_TRUE(parameter_set("sa_per_user", "1", per_user));
	ASSERT_TRUE(parameter_set("sa_waiting_per_user", "1", waiting));
	/* One is outstanding, another waits. */
	for (int i = 0; i < PEERS; i++) {
		errno = 0;
		if (!rdma_resolve_route(ids[i], LONG_MS))
			continue;
		EXPECT_EQ(EAGAIN, errno);
		refused++;
	}
	EXPECT_TRUE(parameter_set("sa_waiting_per_user", waiting, NULL));
	EXPECT_TRUE(parameter_set("sa_per_user", per_user, NULL));
	EXPECT_EQ(1, refused);
	EXPECT_EQ(before, counter("routes_by_cm"));
	/* A failed id keeps its address. */
	EXPECT_EQ(0, rdma_resolve_route(ids[PEERS - 1], LONG_MS));
	for (int i = 0; i < PEERS; i++)
		EXPECT_EQ(0, rdma_destroy_id(ids[i]));
}

/* The module's query ends before the caller's timeout. */
TEST_F(routes, timeout_of_rdma_cm)
{
	long long before = counter("routes_by_cm");
	char retries[32];

	ASSERT_TRUE(parameter_set("sa_retries", "0", retries));
	lost_expect(_metadata, self, "100");
	EXPECT_TRUE(parameter_set("sa_retries", retries, NULL));
	EXPECT_LT(before, counter("routes_by_cm"));
}

/* The shortest timeout for each query of a silent SA */
static int route_short(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = channel ? addressed(channel, 4) : NULL;
	int i, status;

	if (!id)
		return -1;
	for (i = 0; i < SHORT_ROUNDS; i++) {
		if (rdma_resolve_route(id, 1) ||
		    event_take(channel, &status) != RDMA_CM_EVENT_ROUTE_ERROR ||
		    status != -ETIMEDOUT)
			return -1;
	}
	return 0;
}

/* It may pass before the query is sent. There is still one event. */
TEST_F(routes, shortest_timeout)
{
	pid_t pids[PROCESSES];
	int status;

	ASSERT_EQ(0, paths_lost(true));
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(route_short() ? 1 : 0);
	}
	for (int i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(pids[i], waitpid(pids[i], &status, 0));
		EXPECT_EQ(0, status);
	}
}

/* A GID that no port has: rdma_cm reports EINVAL for all errors of the SA. */
TEST_F(routes, no_path)
{
	struct sockaddr_ib addr = {
		.sib_family = AF_IB,
		.sib_addr = *gid(DEV_OTHER),
		.sib_sid = htobe64(0x1060000 + PORT_NUM),
		.sib_sid_mask = htobe64(~0ULL),
	};
	int status;

	self->id = id_on(self->channel, DEV_OWN);
	ASSERT_NE(NULL, self->id);
	addr.sib_pkey = htobe16(0xffff);
	addr.sib_addr.sib_raw[15] ^= 0x77;
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL,
				       (struct sockaddr *)&addr, LONG_MS));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  event_take(self->channel, &status));
	ASSERT_EQ(0, rdma_resolve_route(self->id, LONG_MS));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR, event_take(self->channel, &status));
	EXPECT_EQ(-EINVAL, status);
}

#define REFUSED(call)							\
	do {								\
		errno = 0;						\
		EXPECT_EQ(-1, call);					\
		EXPECT_EQ(EINVAL, errno) {				\
			TH_LOG("%s", #call);				\
		}							\
	} while (0)

/* While a query is outstanding, as with rdma_cm */
TEST_F(routes, other_calls_meanwhile)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct ibv_path_data path = {
		.flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
			 IBV_PATH_FLAG_BIDIRECTIONAL,
	};
	struct sockaddr_in group = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0xef420001),
	};
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT_NUM),
		.sin_addr.s_addr = htonl(0x0a420002),
	};
	struct rdma_cm_id *id;
	int status;

	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_TCP));
	self->id = id;
	REFUSED(rdma_resolve_route(id, LONG_MS));
	ASSERT_EQ(0, rdma_destroy_id(id));
	id = self->id = addressed(self->channel, 3);
	ASSERT_NE(NULL, id);
	REFUSED(rdma_resolve_route(id, 0));
	ASSERT_EQ(0, paths_lost(true));
	ASSERT_EQ(0, rdma_resolve_route(id, LONG_MS));
	REFUSED(rdma_resolve_route(id, LONG_MS));
	REFUSED(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, LONG_MS));
	REFUSED(rdma_connect(id, &param));
	REFUSED(rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &path,
				sizeof(path)));
	REFUSED(rdma_join_multicast(id, (struct sockaddr *)&group, NULL));
	/* None of these calls has ended the query. */
	REFUSED(rdma_resolve_route(id, LONG_MS));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_EQ(0, paths_lost(false));
	ASSERT_EQ(0, bash("knob_set %s event client_reregister",
			  device(DEV_SM)));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/* The race of a user counts for the user, even if root is at the limit. */
TEST_F(routes, race_of_a_user)
{
	struct rdmacmx_connect_attr attr = { .timeout_ms = 120000 };
	struct rdma_event_channel *channel;
	struct rdma_cm_id *ids[2], *id, *other;
	char parallel[32], waiting[32];
	long long refused;

	ASSERT_TRUE(parameter_set("sa_cache_ms", "0", NULL));
	ASSERT_TRUE(parameter_set("sa_parallel", "1", parallel));
	ASSERT_TRUE(parameter_set("sa_waiting_per_user", "1", waiting));
	/* The user who opens the file counts. */
	ASSERT_EQ(0, setresuid(1000, 1000, 0));
	channel = rdma_create_event_channel();
	ASSERT_EQ(0, setresuid(0, 0, 0));
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(channel, &other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdmacmx_connect_name(id, "10.66.0.4", "7481", NULL,
					  &attr));
	ASSERT_EQ(1, channel_readable(channel, WAIT_MS));
	for (int i = 0; i < 2; i++) {
		ids[i] = addressed(self->channel, 2 + i);
		ASSERT_NE(NULL, ids[i]);
	}
	ASSERT_EQ(0, paths_lost(true));
	/* One is sent, another waits. */
	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, rdma_resolve_route(ids[i], LONG_MS));
	refused = counter("sa_refused");
	/* This process resolves the name, and the race starts. */
	ASSERT_EQ(0, rdma_write_cm_event(other, RDMA_CM_EVENT_USER, 0, 0));
	EXPECT_EQ(RDMA_CM_EVENT_USER, event_take(channel, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR, event_take(channel, NULL));
	EXPECT_EQ(refused, counter("sa_refused"));
	ASSERT_EQ(0, paths_lost(false));
	EXPECT_EQ(0, rdma_destroy_id(ids[0]));
	EXPECT_EQ(0, rdma_destroy_id(ids[1]));
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(0, rdma_destroy_id(other));
	rdma_destroy_event_channel(channel);
	EXPECT_TRUE(parameter_set("sa_waiting_per_user", waiting, NULL));
	EXPECT_TRUE(parameter_set("sa_parallel", parallel, NULL));
}

/*
 * A provider of paths is queried first, as ib_sa does, and the cache is not
 * used, unless any process may be one.
 */
TEST_F(routes, provider)
{
	long long before, routes;
	char usual[32];
	pid_t pid;

	ASSERT_TRUE(parameter_set("path_provider", "Y", usual));
	ASSERT_EQ(0, route_once(self->channel, 3));
	pid = fork();
	if (!pid) {
		execl("/bin/bash", "bash", "-c", "exec " SELFTESTS
		      "/sa/tools/provider >/tmp/test/provider.log", NULL);
		_exit(127);
	}
	EXPECT_TRUE(wait_for(WAIT_MS, "grep -q ready /tmp/test/provider.log"));
	before = sa_queries(ATTR_PATH);
	routes = counter("routes");
	EXPECT_EQ(0, route_once(self->channel, 3));
	EXPECT_EQ(0, bash("grep -q query /tmp/test/provider.log"));
	EXPECT_EQ(before, sa_queries(ATTR_PATH));
	EXPECT_EQ(routes, counter("routes"));
	EXPECT_TRUE(parameter_set("path_provider", "N", NULL));
	routes = counter("sa_hits");
	EXPECT_EQ(0, route_once(self->channel, 3));
	EXPECT_LT(routes, counter("sa_hits"));
	EXPECT_TRUE(parameter_set("path_provider", usual, NULL));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	routes = counter("sa_hits");
	EXPECT_EQ(0, route_once(self->channel, 3));
	EXPECT_LT(routes, counter("sa_hits"));
}

TEST_HARNESS_MAIN
