// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * After a failed connect its path is removed from the cache. After a reject by
 * the peer the path stays, whether the id got it from the cache or from a cached
 * result. It also stays if a request has had no reply for less time than the CM
 * waits before its first retry, 4.3 s: a user chooses the deadline. See also
 * kunit/path_failed.c.
 */
#include "uapi.h"

#include "harness.h"

#define PORT	7499
#define USER	1000

FIXTURE(cached_path) {
	long route, life;
	int fd;
	uint32_t listener;
};

/* Resolves the address, so that the cache has the path. */
static int path_known(int fd)
{
	struct rdma_cmx_getaddrinfo arg = {
		.query.node = (uintptr_t)ADDR_RDMA,
		.query.node_len = strlen(ADDR_RDMA),
		.query.port_space = RDMA_PS_TCP,
		.query.port = htons(PORT),
		.query.flags = RDMA_CMX_AIQ_PORT,
		.query.timeout_ms = 60000,
	};
	uint64_t buf[512];

	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	return call(fd, GETADDRINFO, &arg);
}

/*
 * Creates an id with a route, and stores its event in @buf. @cached: whether
 * the path came from the cache.
 */
static int route_take(int fd, uint64_t uid, uint32_t *id, union event_buf *buf,
		      bool *cached)
{
	long hits = number_get(COUNTERS "sa_hits");
	int ret;

	ret = id_create(fd, RDMA_PS_TCP, uid, id) ?:
	      id_resolve_addr(fd, *id, NULL, ADDR_RDMA, PORT) ?:
	      event_want(fd, EV_ADDR_RESOLVED, buf) ?:
	      id_resolve_route(fd, *id) ?:
	      event_want(fd, EV_ROUTE_RESOLVED, buf);
	*cached = number_get(COUNTERS "sa_hits") > hits;
	return ret;
}

static int connect_as(int fd, uint32_t id, uint32_t qp_num)
{
	struct rdma_cmx_connect arg = {
		.id = id,
		.param.qp_num = qp_num,
		.param.responder_resources = 1,
		.param.initiator_depth = 1,
		.param.retry_count = 7,
		.param.rnr_retry_count = 7,
	};

	return call(fd, CONNECT, &arg);
}

static int paths_drop(void)
{
	struct rdma_cmx_drop_paths arg = {};
	int fd = dev_open(O_NONBLOCK);
	int ret = fd < 0 ? fd : call(fd, DROP_PATHS, &arg);

	if (fd >= 0)
		close(fd);
	return ret;
}

FIXTURE_SETUP(cached_path)
{
	self->route = number_get(PARAMETERS "route_timeout_ms");
	self->life = number_get(PARAMETERS "sa_cache_ms");
	/* The result has its path, however late the SA responds. */
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", 60000));
	/*
	 * A path whose query precedes the subscription for reports lives for
	 * sa_cache_ms only. The path of this test does not expire.
	 */
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 3600000));
	ASSERT_EQ(0, paths_drop());
	ASSERT_EQ(0, user_enter(USER));
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, path_known(self->fd));
}

FIXTURE_TEARDOWN(cached_path)
{
	close(self->fd);
	ASSERT_EQ(0, user_leave());
	number_set(PARAMETERS "route_timeout_ms", self->route);
	number_set(PARAMETERS "sa_cache_ms", self->life);
	EXPECT_EQ(0, paths_drop());
	EXPECT_TRUE(counter_wait("live_ids", 0));
}

/* Without a listener the peer rejects: the path is valid. */
TEST_F(cached_path, refused)
{
	union event_buf buf;
	bool cached;
	uint32_t id;

	ASSERT_EQ(0, route_take(self->fd, 1, &id, &buf, &cached));
	EXPECT_TRUE(cached);
	ASSERT_EQ(0, connect_as(self->fd, id, 0x1111));
	ASSERT_EQ(0, event_want(self->fd, EV_REJECTED, &buf));
	ASSERT_EQ(0, route_take(self->fd, 2, &id, &buf, &cached));
	EXPECT_TRUE(cached);
}

/* A user chooses the port: no race drops what others use, either. */
TEST_F(cached_path, refused_in_a_race)
{
	struct rdma_cmx_any_qp qp = { .qp_num = 0x3333 };
	struct rdma_cmx_resolve_addrinfo resolve = {
		.query.node = (uintptr_t)ADDR_RDMA,
		.query.node_len = strlen(ADDR_RDMA),
		.query.port_space = RDMA_PS_TCP,
		.query.port = htons(PORT),
		.query.flags = RDMA_CMX_AIQ_PORT,
	};
	struct rdma_cmx_resolve_any race = {
		.flags = RDMA_CMX_ANY_RACE, .timeout_ms = 120000,
		.qps = (uintptr_t)&qp, .num_qps = 1,
		.param.responder_resources = 1, .param.initiator_depth = 1,
	};
	long hits = number_get(COUNTERS "sa_hits");
	union event_buf buf;
	bool cached;
	uint32_t id;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	resolve.id = id;
	race.id = id;
	ASSERT_EQ(0, call(self->fd, RESOLVE_ADDRINFO, &resolve));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	ASSERT_EQ(0, call(self->fd, RESOLVE_ANY, &race));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &buf));
	EXPECT_EQ(-ECONNREFUSED, buf.ev.status);
	EXPECT_LT(hits, number_get(COUNTERS "sa_hits"));
	ASSERT_EQ(0, route_take(self->fd, 2, &id, &buf, &cached));
	EXPECT_TRUE(cached);
}

/* Waits for an event of @type, in any order; the uid of its id. */
static int event_of(int fd, uint32_t type, union event_buf *buf)
{
	int ret, i;

	for (i = 0; i < 8; i++) {
		ret = event_next(fd, buf);
		if (ret || buf->ev.event == type)
			return ret;
	}
	return -EPROTO;
}

/* Creates an id with the first path of @with, a ROUTE_RESOLVED event. */
static int path_give(int fd, uint64_t uid, const union event_buf *with,
		     uint32_t *id)
{
	const struct rdma_cmx_event *ev = &with->ev;
	struct rdma_cmx_id_set_option arg = {
		.level = RDMA_OPTION_IB,
		.optname = RDMA_OPTION_IB_PATH,
		.optval = (uintptr_t)with + ev->header_len + ev->info_len,
		.optlen = sizeof(struct ib_path_rec_data),
	};
	union event_buf buf;
	int ret;

	if (!ev->num_paths)
		return -ENODATA;
	ret = id_create(fd, RDMA_PS_TCP, uid, id) ?:
	      id_resolve_addr(fd, *id, NULL, ADDR_RDMA, PORT) ?:
	      event_want(fd, EV_ADDR_RESOLVED, &buf);
	arg.id = *id;
	return ret ?: call(fd, ID_SET_OPTION, &arg) ?:
	       event_want(fd, EV_ROUTE_RESOLVED, &buf);
}

/*
 * Connects with the number of a connected queue pair: the peer's CM rejects it
 * as stale, without the listener. The path to the peer is valid, and a user may
 * do so in a loop.
 */
static void stale_expect(struct __test_metadata *_metadata,
			 FIXTURE_DATA(cached_path) *self, bool given)
{
	uint32_t listener, first, second, third;
	union event_buf buf, path;
	bool cached;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &listener));
	ASSERT_EQ(0, id_bind(self->fd, listener, ADDR_RDMA, PORT));
	ASSERT_EQ(0, id_listen(self->fd, listener));
	ASSERT_EQ(0, route_take(self->fd, 2, &first, &path, &cached));
	EXPECT_TRUE(cached);
	if (given) {
		ASSERT_EQ(0, path_give(self->fd, 3, &path, &second));
	} else {
		ASSERT_EQ(0, route_take(self->fd, 3, &second, &buf, &cached));
		EXPECT_TRUE(cached);
	}
	ASSERT_EQ(0, connect_as(self->fd, first, 0x2222));
	ASSERT_EQ(0, event_of(self->fd, EV_CONNECT_REQUEST, &buf));
	ASSERT_EQ(0, connect_as(self->fd, second, 0x2222));
	ASSERT_EQ(0, event_of(self->fd, EV_REJECTED, &buf));
	TH_LOG("reason %d", buf.ev.status);
	ASSERT_NE(28, buf.ev.status);
	ASSERT_NE(8, buf.ev.status);
	while (event_pending(self->fd))
		ASSERT_EQ(0, event_next(self->fd, &buf));
	ASSERT_EQ(0, route_take(self->fd, 4, &third, &buf, &cached));
	EXPECT_TRUE(cached);
}

TEST_F(cached_path, stale)
{
	stale_expect(_metadata, self, false);
}

/* rdma_create_ep() sets the path of a result on the id. */
TEST_F(cached_path, stale_of_result)
{
	stale_expect(_metadata, self, true);
}

/* Starts a race of one address whose peer does not reply. */
static int silent_race(int fd, uint32_t *id, uint16_t port, uint32_t flags,
		       uint32_t timeout_ms)
{
	struct rdma_cmx_resolve_addrinfo ai = {
		.query.node = (uintptr_t)ADDR_RDMA,
		.query.node_len = strlen(ADDR_RDMA),
		.query.port_space = RDMA_PS_TCP,
		.query.port = htons(port),
		.query.flags = RDMA_CMX_AIQ_PORT,
	};
	static struct rdma_cmx_any_qp qp = { .qp_num = 0x3300 };
	struct rdma_cmx_resolve_any arg = {
		.flags = flags, .timeout_ms = timeout_ms,
	};
	union event_buf buf;
	int ret = id_create(fd, RDMA_PS_TCP, 1, id);

	ai.id = *id;
	arg.id = *id;
	if (flags & RDMA_CMX_ANY_RACE) {
		qp.qp_num++;
		arg.qps = (uintptr_t)&qp;
		arg.num_qps = 1;
	}
	return ret ?: call(fd, RESOLVE_ADDRINFO, &ai) ?:
	       event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf) ?:
	       call(fd, RESOLVE_ANY, &arg);
}

/*
 * A request has no reply until the deadline. *@ms: until the end of the id,
 * with the time before the request. *@after: since the request, at least; of
 * CONNECT only. Returns 0, or -EAGAIN: the deadline was before the request.
 */
static int silent_peer(int fd, uint32_t flags, uint32_t timeout_ms, double *ms,
		       double *after)
{
	int peer = dev_open(O_NONBLOCK), ret;
	double start = now_ms(), sent = start;
	uint32_t listener, id;
	union event_buf buf;
	uint16_t port;

	ret = listener_new(peer, 2, &listener, &port) ?:
	      silent_race(fd, &id, port, flags, timeout_ms);
	if (!ret && !(flags & RDMA_CMX_ANY_RACE)) {
		ret = event_next(fd, &buf);
		if (!ret && buf.ev.event == EV_ROUTE_ERROR)
			ret = -EAGAIN;
		ret = ret ?: id_connect(fd, id);
		sent = now_ms();
		ret = ret ?: event_want(fd, EV_UNREACHABLE, &buf);
	} else if (!ret) {
		ret = event_want(fd, EV_ROUTE_ERROR, &buf);
	}
	if (!ret && (buf.ev.status != -ETIMEDOUT || !event_pending(peer)))
		ret = -EAGAIN;
	*after = now_ms() - sent;
	if (id_destroy(fd, id) < 0)
		ret = -EBADE;
	*ms = now_ms() - start;
	close(peer);
	return ret;
}

/* Unless the guest stops for a moment, the end is before the CM's retry. */
static void silent_expect(struct __test_metadata *_metadata,
			  FIXTURE_DATA(cached_path) *self, uint32_t flags,
			  uint32_t timeout_ms)
{
	union event_buf buf;
	int ret, tries = 0;
	bool cached;
	uint32_t id;
	double ms, after;

	do {
		ASSERT_EQ(0, path_known(self->fd));
		ret = silent_peer(self->fd, flags, timeout_ms, &ms, &after);
		ASSERT_TRUE(!ret || ret == -EAGAIN) {
			TH_LOG("error %d", ret);
		}
	} while ((ret || ms >= 4200) && ++tries < 10);
	ASSERT_GT(10, tries);
	ASSERT_EQ(0, route_take(self->fd, 3, &id, &buf, &cached));
	EXPECT_TRUE(cached);
}

TEST_F(cached_path, short_deadline)
{
	silent_expect(_metadata, self, RDMA_CMX_ANY_CONNECT, 2000);
}

/* Too short for a second attempt, which would cache the path again. */
TEST_F(cached_path, short_race)
{
	silent_expect(_metadata, self, RDMA_CMX_ANY_RACE, 900);
}

/* Long enough for the CM's retry, unless the guest stops before the request */
TEST_F(cached_path, long_deadline)
{
	long failed = number_get(COUNTERS "paths_failed");
	union event_buf buf;
	int ret, tries = 0;
	double ms, after;
	bool cached;
	uint32_t id;

	do {
		ASSERT_EQ(0, path_known(self->fd));
		ret = silent_peer(self->fd, RDMA_CMX_ANY_CONNECT, 8000, &ms,
				  &after);
		ASSERT_TRUE(!ret || ret == -EAGAIN) {
			TH_LOG("error %d", ret);
		}
	} while ((ret || after < 4400) && ++tries < 10);
	ASSERT_GT(10, tries);
	ASSERT_EQ(0, route_take(self->fd, 3, &id, &buf, &cached));
	EXPECT_FALSE(cached);
	EXPECT_LT(failed, number_get(COUNTERS "paths_failed"));
	/* A resolution queries the SA and caches the path again. */
	ASSERT_EQ(0, path_known(self->fd));
	ASSERT_EQ(0, route_take(self->fd, 4, &id, &buf, &cached));
	EXPECT_TRUE(cached);
}

TEST_HARNESS_MAIN
