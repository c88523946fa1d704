// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * After a failed connect its path is removed from the cache, whether the id got
 * the path from the cache or from a cached result. After a reject by the peer
 * the path stays.
 */
#include "uapi.h"

#include "harness.h"

#define PORT	7499

FIXTURE(cached_path) {
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

FIXTURE_SETUP(cached_path)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, path_known(self->fd));
}

FIXTURE_TEARDOWN(cached_path)
{
	close(self->fd);
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
 * as stale, without the listener.
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
	EXPECT_FALSE(cached);
	/* A resolution queries the SA and caches the path again. */
	ASSERT_EQ(0, path_known(self->fd));
	ASSERT_EQ(0, route_take(self->fd, 5, &third, &buf, &cached));
	EXPECT_TRUE(cached);
}

TEST_F(cached_path, dropped)
{
	stale_expect(_metadata, self, false);
}

/* rdma_create_ep() sets the path of a result on the id. */
TEST_F(cached_path, dropped_of_result)
{
	stale_expect(_metadata, self, true);
}

TEST_HARNESS_MAIN
