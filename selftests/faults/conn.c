// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in the connection manager's commands. rdma_cm handles failures of its
 * own allocations: an ACCEPT that fails rejects the peer.
 */
#include "uapi.h"
#include "faults.h"

#include <infiniband/verbs.h>

#include "harness.h"

FIXTURE(conn) {
	int fd;
	int peer;		/* of the active side */
	uint16_t port;
	uint32_t listener;
	uint32_t active;
	uint32_t passive;
};

FIXTURE_SETUP(conn)
{
	struct rdma_cmx_id_query query = {};

	self->fd = dev_open(O_NONBLOCK);
	self->peer = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->peer);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->listener));
	ASSERT_EQ(0, id_bind(self->fd, self->listener, ADDR_RDMA, 0));
	query.id = self->listener;
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	self->port = addr_port(&query.info.src);
}

FIXTURE_TEARDOWN(conn)
{
	close(self->fd);
	close(self->peer);
	EXPECT_TRUE(nothing_left());
}

/* The steps of a connection return 0 or a negative errno. */
static int active_make(FIXTURE_DATA(conn) *self)
{
	return id_create(self->peer, RDMA_PS_TCP, 2, &self->active);
}

static int active_addr(FIXTURE_DATA(conn) *self)
{
	union event_buf buf;

	return active_make(self) ?:
	       id_resolve_addr(self->peer, self->active, NULL, ADDR_RDMA,
			       self->port) ?:
	       event_want(self->peer, EV_ADDR_RESOLVED, &buf);
}

static int active_route(FIXTURE_DATA(conn) *self)
{
	union event_buf buf;

	return active_addr(self) ?:
	       id_resolve_route(self->peer, self->active) ?:
	       event_want(self->peer, EV_ROUTE_RESOLVED, &buf);
}

static int request_made(FIXTURE_DATA(conn) *self)
{
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	int ret = active_route(self) ?: id_connect(self->peer, self->active);

	return ret ?: poll(&pfd, 1, 60000) == 1 ? 0 : -ETIME;
}

static int request_read(FIXTURE_DATA(conn) *self)
{
	union event_buf buf;
	int ret = request_made(self) ?:
		  event_want(self->fd, EV_CONNECT_REQUEST, &buf);

	self->passive = buf.ev.obj;
	return ret;
}

static int reply_read(FIXTURE_DATA(conn) *self)
{
	union event_buf buf;

	return request_read(self) ?:
	       id_accept(self->fd, self->passive, 3) ?:
	       event_want(self->peer, EV_CONNECT_RESPONSE, &buf);
}

static int established(FIXTURE_DATA(conn) *self)
{
	struct rdma_cmx_connect arg = { .flags = RDMA_CMX_ACCEPT_NO_PARAM };
	union event_buf buf;
	int ret = reply_read(self);

	arg.id = self->active;
	return ret ?: call(self->peer, ACCEPT, &arg) ?:
	       event_want(self->fd, EV_ESTABLISHED, &buf);
}

/* Both sides are destroyed, with unread events. */
static void over(FIXTURE_DATA(conn) *self)
{
	char buf[8192];

	id_destroy(self->peer, self->active);
	if (self->passive)
		id_destroy(self->fd, self->passive);
	self->passive = 0;
	while (event_pending(self->fd) &&
	       !events_get(self->fd, buf, sizeof(buf), 0, NULL))
		;
}

TEST_F_TIMEOUT(conn, resolve_addr, SWEEP_LIMIT)
{
	union event_buf buf;

	EACH_FAULT(ASSERT_EQ(0, active_make(self)),
		   id_resolve_addr(self->peer, self->active, NULL, ADDR_RDMA,
				   self->port), 0, 0, ({
		/* A started resolution ends with an event. */
		EXPECT_EQ(0, event_next(self->peer, &buf));
		EXPECT_GE(EV_ADDR_ERROR, buf.ev.event);
		over(self);
	}));
	EXPECT_EQ(EV_ADDR_RESOLVED, buf.ev.event);
}

TEST_F_TIMEOUT(conn, resolve_route, SWEEP_LIMIT)
{
	union event_buf buf;

	EACH_FAULT(ASSERT_EQ(0, active_addr(self)),
		   id_resolve_route(self->peer, self->active), 0, 0, ({
		EXPECT_EQ(0, event_next(self->peer, &buf));
		over(self);
	}));
	EXPECT_EQ(EV_ROUTE_RESOLVED, buf.ev.event);
}

TEST_F_TIMEOUT(conn, listen, SWEEP_LIMIT)
{
	uint32_t id;

	EACH_FAULT(({ ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
		      ASSERT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0)); }),
		   id_listen(self->fd, id), 0, 0,
		   EXPECT_EQ(0, id_destroy(self->fd, id)));
	EACH_FAULT(ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &id)),
		   id_listen(self->fd, id), 0, 0,
		   EXPECT_EQ(0, id_destroy(self->fd, id)));
}

TEST_F_TIMEOUT(conn, connect, SWEEP_LIMIT)
{
	ASSERT_EQ(0, id_listen(self->fd, self->listener));
	EACH_FAULT(ASSERT_EQ(0, active_route(self)),
		   id_connect(self->peer, self->active), 0, 0, over(self));
}

/* The same, of one that has to wait for a slot */
TEST_F_TIMEOUT(conn, connect_wait, SWEEP_LIMIT)
{
	long window = number_get(PARAMETERS "connect_window");
	long reply = number_get(PARAMETERS "connect_reply_ms");
	uint32_t id;
	int i;

	ASSERT_EQ(0, number_set(PARAMETERS "connect_window", 64));
	ASSERT_EQ(0, number_set(PARAMETERS "connect_reply_ms", 3600000));
	ASSERT_EQ(0, id_listen(self->fd, self->listener));
	for (i = 0; i < 9; i++)
		ASSERT_EQ(0, connect_start(self->peer, 2, self->port, &id));
	EACH_FAULT(ASSERT_EQ(0, active_route(self)),
		   id_connect(self->peer, self->active), 0, 0, ({
		EXPECT_EQ(1, number_get(COUNTERS "live_connect_waits"));
		id_destroy(self->peer, self->active);
		EXPECT_EQ(0, number_get(COUNTERS "live_connect_waits"));
	}));
	EXPECT_EQ(0, number_set(PARAMETERS "connect_window", window));
	EXPECT_EQ(0, number_set(PARAMETERS "connect_reply_ms", reply));
}

/* A request that cannot be handed out now comes with the next call. */
TEST_F_TIMEOUT(conn, get_request, SWEEP_LIMIT)
{
	union event_buf buf;

	ASSERT_EQ(0, id_listen(self->fd, self->listener));
	EACH_FAULT(ASSERT_EQ(0, request_made(self)),
		   events_get(self->fd, &buf, sizeof(buf), 1, NULL), 0, 0, ({
		EXPECT_EQ(EV_CONNECT_REQUEST, buf.ev.event);
		self->passive = buf.ev.obj;
		over(self);
	}));
}

/* The n-th fault point of an op that may be tried once only. */
#define EACH_FAULT_ONCE(before, op, after) do {				\
	int n_, ret_;							\
	bool hit_ = true;						\
									\
	for (n_ = 1; hit_; n_++) {					\
		ASSERT_GT(FAULTS_MAX, n_);				\
		before;							\
		fault_arm(n_);						\
		ret_ = (op);						\
		hit_ = fault_hit();					\
		EXPECT_TRUE(fault_result(ret_, hit_))			\
			TH_LOG(#op ": fault %d: %d", n_, ret_);		\
		after;							\
	}								\
	TH_LOG(#op ": %d fault points", n_ - 2);			\
	EXPECT_LT(2, n_);						\
} while (0)

TEST_F_TIMEOUT(conn, accept, SWEEP_LIMIT)
{
	ASSERT_EQ(0, id_listen(self->fd, self->listener));
	EACH_FAULT_ONCE(ASSERT_EQ(0, request_read(self)),
			id_accept(self->fd, self->passive, 3), over(self));
}

TEST_F_TIMEOUT(conn, accept_reply, SWEEP_LIMIT)
{
	struct rdma_cmx_connect arg = { .flags = RDMA_CMX_ACCEPT_NO_PARAM };

	ASSERT_EQ(0, id_listen(self->fd, self->listener));
	EACH_FAULT_ONCE(ASSERT_EQ(0, reply_read(self)), ({
		arg.id = self->active;
		call(self->peer, ACCEPT, &arg);
	}), over(self));
}

TEST_F_TIMEOUT(conn, reject, SWEEP_LIMIT)
{
	struct rdma_cmx_reject arg = { .private_data_len = 3 };

	ASSERT_EQ(0, id_listen(self->fd, self->listener));
	memcpy(arg.private_data, "nay", 3);
	EACH_FAULT_ONCE(ASSERT_EQ(0, request_read(self)), ({
		arg.id = self->passive;
		call(self->fd, REJECT, &arg);
	}), over(self));
}

TEST_F_TIMEOUT(conn, disconnect, SWEEP_LIMIT)
{
	struct rdma_cmx_id_arg arg = {};

	ASSERT_EQ(0, id_listen(self->fd, self->listener));
	EACH_FAULT_ONCE(ASSERT_EQ(0, established(self)), ({
		arg.id = self->active;
		call(self->peer, DISCONNECT, &arg);
	}), over(self));
}

TEST_F_TIMEOUT(conn, queue_pair_and_notify, SWEEP_LIMIT)
{
	struct rdma_cmx_init_qp_attr one = { .qp_state = IBV_QPS_INIT };
	struct rdma_cmx_conn_qp_attr all = {};
	struct rdma_cmx_id_arg event = { .event = IBV_EVENT_PATH_MIG };

	ASSERT_EQ(0, id_listen(self->fd, self->listener));
	ASSERT_EQ(0, established(self));
	one.id = self->active;
	all.id = self->active;
	event.id = self->active;
	EACH_FAULT(, call(self->peer, INIT_QP_ATTR, &one), 0, 0,);
	EACH_FAULT(, call(self->peer, CONN_QP_ATTR, &all), 0, 0,);
	EACH_FAULT(, call(self->peer, NOTIFY, &event), 0, 0,);
	over(self);
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
