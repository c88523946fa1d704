// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA_CMX_ANY_RACE at the uAPI: KA-02 for user space, with connections that
 * race. No queue pair is behind the numbers: the kernel does not look.
 */
#include "any.h"

#include <unistd.h>

#define PORT	4481

/* Numbers that neither connect nor accept of ioctl.c uses, nor used before */
static uint32_t qp_numbers(uint32_t count)
{
	static uint32_t used;
	uint32_t first = used;

	used += count;
	return 0x800000 | (getpid() << 8 & 0x7fff00) | first;
}

/* A race of @count candidates from @first on, with queue pairs from @qp_num on */
static int any_race_from(int fd, uint32_t id, uint32_t first, uint32_t count,
			 uint32_t qp_num, uint32_t timeout_ms)
{
	struct rdma_cmx_any_qp qps[RDMA_CMX_MAX_ANY_QPS] = {};
	struct rdma_cmx_resolve_any arg = {
		.id = id, .flags = RDMA_CMX_ANY_RACE, .timeout_ms = timeout_ms,
		.delay_ms = 10, .qps = (uintptr_t)qps, .num_qps = count,
		.param = {
			.responder_resources = 1, .initiator_depth = 1,
			.retry_count = 7, .rnr_retry_count = 7,
			.private_data_len = 5, .private_data = "hello",
		},
	};
	uint32_t i;

	for (i = 0; i < count && i < RDMA_CMX_MAX_ANY_QPS; i++) {
		qps[i].candidate = first + i;
		qps[i].qp_num = qp_num + i;
	}
	return call(fd, RESOLVE_ANY, &arg);
}

static int any_race(int fd, uint32_t id, uint32_t count, uint32_t qp_num,
		    uint32_t timeout_ms)
{
	return any_race_from(fd, id, 0, count, qp_num, timeout_ms);
}

static int listener_at(int fd, const char *address, uint64_t uid)
{
	uint32_t id;

	return id_create(fd, RDMA_PS_TCP, uid, &id) ?:
	       id_bind(fd, id, address, PORT) ?: id_listen(fd, id);
}

/*
 * The requests of both candidates, in whatever order they come: to the listener
 * at the first address, whose cookie is 2, and at the second, whose is 3.
 */
static int requests_get(int fd, uint32_t qp_num, uint32_t passive[2])
{
	union event_buf ev;
	int i, n, ret;

	passive[0] = 0;
	passive[1] = 0;
	for (i = 0; i < 2; i++) {
		ret = event_want(fd, EV_CONNECT_REQUEST, &ev);
		if (ret)
			return ret;
		n = ev.ev.uid == 3;
		if (passive[n] || ev.ev.param.conn.qp_num != qp_num + n ||
		    ev.ev.private_data_len < 5)
			return -EPROTO;
		passive[n] = ev.ev.obj;
	}
	return 0;
}

/* A race of two addresses, of which @peer listens at both and has the requests */
static int race_of_two(int fd, uint32_t id, int peer, uint32_t passive[2])
{
	uint32_t qp_num = qp_numbers(2);

	return listener_at(peer, OWN6, 2) ?: listener_at(peer, ADDR_RDMA, 3) ?:
	       result(fd, id, PORT, OWN6, ADDR_RDMA) ?:
	       any_race(fd, id, 2, qp_num, 120000) ?:
	       requests_get(peer, qp_num, passive);
}

/* The RTU */
static int rtu_send(int fd, uint32_t id)
{
	struct rdma_cmx_connect arg = {
		.id = id, .flags = RDMA_CMX_ACCEPT_NO_PARAM,
	};

	return call(fd, ACCEPT, &arg);
}

/*
 * The peer has the request @passive, which was rejected when its candidate had
 * lost: there is nothing to accept, or REJECTED follows.
 */
static bool request_withdrawn(int fd, uint32_t passive)
{
	union event_buf ev;
	int ret = id_accept(fd, passive, 77);

	if (ret)
		return ret == -EINVAL;
	return !event_want(fd, EV_REJECTED, &ev) && ev.ev.uid == 77;
}

/*
 * A race that ends by its deadline in @step; repeated if the guest has stopped
 * and the deadline has passed before that. 0, -EPROTO, or another errno
 */
static int race_late(FIXTURE_DATA(any) *self, uint32_t step, uint16_t port,
		     uint32_t timeout_ms)
{
	int ret, tries;

	for (tries = 0; tries < 5; tries++) {
		ret = result(self->fd, self->id, port, ADDR_RDMA) ?:
		      any_race(self->fd, self->id, 1, qp_numbers(1),
			       timeout_ms) ?:
		      event_want(self->fd, EV_ROUTE_ERROR, &self->ev) ?:
		      CANDIDATES();
		if (ret)
			return ret;
		if (self->ev.ev.status != -ETIMEDOUT)
			break;
		if (self->list[0].step == step)
			return 0;
	}
	fprintf(stderr, "# status %d in step %u\n", self->ev.ev.status,
		self->list[0].step);
	return -EPROTO;
}

TEST_F(any, race_refused)
{
	struct rdma_cmx_any_qp qps[2] = { { .qp_num = 0x77 },
					  { .candidate = 1, .qp_num = 0x78 } };
	const struct rdma_cmx_resolve_any good = {
		.id = self->id, .flags = RDMA_CMX_ANY_RACE, .timeout_ms = 60000,
		.qps = (uintptr_t)qps, .num_qps = 2,
	};
	struct rdma_cmx_resolve_any arg;
	uint32_t udp;

#define BAD(err, field, value) do {					\
	arg = good;							\
	arg.field = value;						\
	EXPECT_EQ(err, call(self->fd, RESOLVE_ANY, &arg));		\
} while (0)
#define BAD_QP(field, value) do {					\
	const struct rdma_cmx_any_qp qp = qps[1];			\
									\
	arg = good;							\
	qps[1].field = value;						\
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ANY, &arg));		\
	qps[1] = qp;							\
} while (0)
	arg = good;
	EXPECT_EQ(-ENOENT, call(self->fd, RESOLVE_ANY, &arg));
	ASSERT_EQ(0, result(self->fd, self->id, PORT, OWN6, ADDR_RDMA));
	BAD(-EINVAL, flags, RDMA_CMX_ANY_RACE | RDMA_CMX_ANY_CONNECT);
	BAD(-EINVAL, flags, RDMA_CMX_ANY_RACE | RDMA_CMX_ANY_NEXT);
	/* Without the flag there are no queue pairs. */
	BAD(-EINVAL, flags, 0);
	BAD(-EINVAL, flags, RDMA_CMX_ANY_CONNECT);
	BAD(-EINVAL, timeout_ms, 0);
	BAD(-EINVAL, num_qps, 0);
	BAD(-EINVAL, num_qps, RDMA_CMX_MAX_ANY_QPS + 1);
	BAD(-EINVAL, num_qps, UINT32_MAX);
	BAD(-EFAULT, qps, 8);
	BAD(-EINVAL, reserved, 1);
	BAD(-EINVAL, param.qp_num, 1);
	BAD(-EINVAL, param.qkey, 1);
	BAD(-EINVAL, param.srq, 1);
	BAD(-EINVAL, param.ece_vendor_id, 1);
	BAD(-EINVAL, param.ece_attr_mod, 1);
	BAD(-EINVAL, param.private_data[0], 1);
	BAD(-EINVAL, param.private_data_len, 256);
	BAD_QP(candidate, 0);
	BAD_QP(candidate, 2);
	BAD_QP(candidate, UINT32_MAX);
	BAD_QP(qp_num, 1 << 24);
	BAD_QP(reserved, 1);
#undef BAD
#undef BAD_QP
	EXPECT_FALSE(event_pending(self->fd));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &udp));
	ASSERT_EQ(0, result_ps(self->fd, udp, RDMA_PS_UDP, PORT, 0, ADDR_RDMA,
			       NULL));
	EXPECT_EQ(-EOPNOTSUPP, any_race(self->fd, udp, 1, 0x77, 60000));
}

/* The candidates of the next race, and of the last one */
TEST_F(any, untried)
{
	struct rdma_cmx_query_candidates arg = UNTRIED();

	EXPECT_EQ(-ENOENT, call(self->fd, QUERY_CANDIDATES, &arg));
	ASSERT_EQ(0, result(self->fd, self->id, PORT, ADDR_PLAIN, ADDR_RDMA));
	EXPECT_EQ(-ENOENT, CANDIDATES());
	ASSERT_EQ(0, call(self->fd, QUERY_CANDIDATES, &arg));
	ASSERT_EQ(2, arg.num_candidates);
	EXPECT_EQ(2, arg.winner);
	EXPECT_TRUE(addr_is(&self->list[0].dst, ADDR_RDMA));
	EXPECT_EQ(PORT, addr_port(&self->list[0].dst));
	EXPECT_EQ(RDMA_CMX_STEP_UNTRIED, self->list[0].step);
	EXPECT_EQ(0, self->list[0].error);
	EXPECT_EQ(1, self->list[0].port_num);
	EXPECT_EQ(RDMA_CMX_STEP_NO_DEVICE, self->list[1].step);
	EXPECT_EQ(-ENETUNREACH, self->list[1].error);
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(RDMA_CMX_STEP_UP, self->list[0].step);
	arg.flags = RDMA_CMX_CANDIDATES_UNTRIED | 2;
	EXPECT_EQ(-EINVAL, call(self->fd, QUERY_CANDIDATES, &arg));
}

/* A candidate that the next race would not start has its error before. */
TEST_F(any, untried_errors)
{
	struct rdma_cmx_query_candidates arg = UNTRIED();

	ASSERT_EQ(0, result_ps(self->fd, self->id, RDMA_PS_UDP, PORT, 0,
			       ADDR_RDMA, NULL));
	ASSERT_EQ(0, call(self->fd, QUERY_CANDIDATES, &arg));
	ASSERT_EQ(1, arg.num_candidates);
	EXPECT_EQ(RDMA_CMX_STEP_UNTRIED, self->list[0].step);
	EXPECT_EQ(-EPROTOTYPE, self->list[0].error);
	ASSERT_EQ(0, any_race(self->fd, self->id, 1, 0x77, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &self->ev));
	EXPECT_EQ(-ENETUNREACH, self->ev.ev.status);

	ASSERT_EQ(0, result(self->fd, self->id, PORT, "224.0.0.9", "0.0.0.0"));
	ASSERT_EQ(0, call(self->fd, QUERY_CANDIDATES, &arg));
	ASSERT_EQ(2, arg.num_candidates);
	EXPECT_EQ(-ENETUNREACH, self->list[0].error);
	EXPECT_EQ(RDMA_CMX_STEP_NO_DEVICE, self->list[0].step);
	EXPECT_EQ(-ENETUNREACH, self->list[1].error);
	EXPECT_EQ(RDMA_CMX_STEP_NO_DEVICE, self->list[1].step);
}

/* Nobody listens, so each is refused. */
TEST_F(any, race_loses)
{
	struct rdma_cmx_any_qp qp = { .qp_num = 0x77 };
	struct rdma_cmx_resolve_any arg = {
		.id = self->id, .flags = RDMA_CMX_ANY_RACE, .timeout_ms = 60000,
		.qps = (uintptr_t)&qp, .num_qps = 1,
		/* One byte more than there is room for */
		.param.private_data_len = 57,
	};
	uint32_t i;

	ASSERT_EQ(0, result(self->fd, self->id, PORT, OWN6, ADDR_RDMA, NOBODY));
	ASSERT_EQ(0, any_race(self->fd, self->id, 2, qp_numbers(2), 120000));
	/* The race may have ended by then. */
	EXPECT_TRUE(CANDIDATES() == -EBUSY || event_pending(self->fd));
	EXPECT_TRUE(id_connect(self->fd, self->id) == -EBUSY ||
		    event_pending(self->fd));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &self->ev));
	EXPECT_EQ(-ECONNREFUSED, self->ev.ev.status);
	EXPECT_FALSE(event_pending(self->fd));
	ASSERT_EQ(0, CANDIDATES());
	ASSERT_EQ(3, self->count);
	EXPECT_EQ(3, self->winner);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(RDMA_CMX_STEP_REQUEST, self->list[i].step);
		EXPECT_EQ(-ECONNREFUSED, self->list[i].error);
		/* IBTA: invalid service ID */
		EXPECT_EQ(8, self->list[i].reason);
	}
	EXPECT_EQ(RDMA_CMX_STEP_UNTRIED, self->list[2].step);
	EXPECT_EQ(-ENOBUFS, self->list[2].error);

	/* One has no queue pair and is not tried, the other one too much data. */
	ASSERT_EQ(0, result(self->fd, self->id, PORT, OWN6, ADDR_RDMA));
	ASSERT_EQ(0, call(self->fd, RESOLVE_ANY, &arg));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &self->ev));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(RDMA_CMX_STEP_SETUP, self->list[0].step);
	EXPECT_EQ(-EMSGSIZE, self->list[0].error);
	EXPECT_EQ(RDMA_CMX_STEP_UNTRIED, self->list[1].step);
	EXPECT_EQ(-ENOBUFS, self->list[1].error);
	EXPECT_EQ(0, self->list[1].attempts);
	/* The id can do all that it could do before. */
	EXPECT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
}

/*
 * The first peer does not reply, and the second accepts. It does not wait for
 * the end of the first, whose request is outstanding until it loses.
 */
TEST_F(any, race_silent_peer)
{
	struct rdma_cmx_id_query query = { .id = self->id };
	struct rdma_cmx_id_info *info;
	uint32_t passive[2];
	int peer = dev_open(O_NONBLOCK);

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, race_of_two(self->fd, self->id, peer, passive));
	EXPECT_FALSE(event_pending(self->fd));
	ASSERT_EQ(0, id_accept(peer, passive[1], 9));

	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_RESPONSE, &self->ev));
	EXPECT_EQ(1, self->ev.ev.uid);
	EXPECT_EQ(self->id, self->ev.ev.id);
	EXPECT_EQ(qp_num_last, self->ev.ev.param.conn.qp_num);
	EXPECT_TRUE(self->ev.ev.flags & RDMA_CMX_EVENT_PATHS);
	info = event_info(&self->ev.ev);
	ASSERT_NE(NULL, info);
	EXPECT_TRUE(addr_is(&info->dst, ADDR_RDMA));
	EXPECT_EQ(PORT, addr_port(&info->dst));
	EXPECT_NE(0, info->node_guid);
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(1, self->winner);
	EXPECT_EQ(RDMA_CMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(-ECANCELED, self->list[0].error);
	EXPECT_EQ(RDMA_CMX_STEP_UP, self->list[1].step);
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(PORT, addr_port(&query.info.dst));
	/* As after CONNECT */
	EXPECT_EQ(-EINVAL, id_connect(self->fd, self->id));
	EXPECT_EQ(-EINVAL, any(self->fd, self->id, 0, 60000));

	ASSERT_EQ(0, rtu_send(self->fd, self->id));
	ASSERT_EQ(0, event_want(peer, EV_ESTABLISHED, &self->ev));
	EXPECT_EQ(9, self->ev.ev.uid);
	EXPECT_TRUE(request_withdrawn(peer, passive[0]));
	EXPECT_FALSE(event_pending(self->fd));
	close(peer);
}

/* Both peers accept: one of them is connected, and the other one rejected. */
TEST_F(any, race_both_accept)
{
	int peer = dev_open(O_NONBLOCK), ret[2];
	uint32_t passive[2], i;

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, race_of_two(self->fd, self->id, peer, passive));
	for (i = 0; i < 2; i++)
		ret[i] = id_accept(peer, passive[i], 12 + i);
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_RESPONSE, &self->ev));
	EXPECT_FALSE(event_pending(self->fd));
	ASSERT_EQ(0, CANDIDATES());
	ASSERT_GT(2, self->winner);
	EXPECT_EQ(0, ret[self->winner]);
	EXPECT_EQ(-ECANCELED, self->list[!self->winner].error);
	/* The loser may be rejected before it has accepted. */
	if (!ret[!self->winner]) {
		ASSERT_EQ(0, event_want(peer, EV_REJECTED, &self->ev));
		EXPECT_EQ(12 + !self->winner, self->ev.ev.uid);
	} else {
		EXPECT_EQ(-EINVAL, ret[!self->winner]);
	}
	ASSERT_EQ(0, rtu_send(self->fd, self->id));
	ASSERT_EQ(0, event_want(peer, EV_ESTABLISHED, &self->ev));
	EXPECT_EQ(12 + self->winner, self->ev.ev.uid);
	EXPECT_FALSE(event_pending(peer));
	close(peer);
}

/* The winner withdraws its reply; those that lost race for their route. */
TEST_F(any, race_next)
{
	int peer = dev_open(O_NONBLOCK);
	uint32_t passive[2];

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, race_of_two(self->fd, self->id, peer, passive));
	ASSERT_EQ(0, id_accept(peer, passive[1], 9));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_RESPONSE, &self->ev));
	ASSERT_LE(0, id_destroy(peer, passive[1]));
	ASSERT_EQ(0, event_want(self->fd, EV_REJECTED, &self->ev));
	ASSERT_EQ(0, any_next(self->fd, self->id, ECONNRESET, 0));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(0, self->winner);
	EXPECT_EQ(-ECONNRESET, self->list[1].error);
	ASSERT_EQ(0, id_connect(self->fd, self->id));
	ASSERT_EQ(0, event_want(peer, EV_CONNECT_REQUEST, &self->ev));
	EXPECT_EQ(2, self->ev.ev.uid);
	close(peer);
}

/*
 * The first candidate has no queue pair: it is not tried, and its peer gets no
 * request. It needs none when the winner has withdrawn. Its request has a deadline.
 */
TEST_F(any, race_fewer_queue_pairs)
{
	int peer = dev_open(O_NONBLOCK);
	uint32_t passive;

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, listener_at(peer, OWN6, 2));
	ASSERT_EQ(0, listener_at(peer, ADDR_RDMA, 3));
	ASSERT_EQ(0, result(self->fd, self->id, PORT, OWN6, ADDR_RDMA, NOBODY));
	ASSERT_EQ(0, any_race_from(self->fd, self->id, 1, 1, qp_numbers(1),
				   120000));
	ASSERT_EQ(0, event_want(peer, EV_CONNECT_REQUEST, &self->ev));
	EXPECT_EQ(3, self->ev.ev.uid);
	passive = self->ev.ev.obj;
	ASSERT_EQ(0, id_accept(peer, passive, 9));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_RESPONSE, &self->ev));
	EXPECT_EQ(0, self->ev.ev.attempt);
	EXPECT_FALSE(event_pending(peer));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(1, self->winner);
	EXPECT_EQ(RDMA_CMX_STEP_UNTRIED, self->list[0].step);
	EXPECT_EQ(-ENOBUFS, self->list[0].error);
	EXPECT_EQ(0, self->list[0].attempts);
	ASSERT_LE(0, id_destroy(peer, passive));
	ASSERT_EQ(0, event_want(self->fd, EV_REJECTED, &self->ev));
	EXPECT_EQ(0, self->ev.ev.attempt);
	ASSERT_EQ(0, any_next(self->fd, self->id, ECONNRESET, 0));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	EXPECT_EQ(1, self->ev.ev.attempt);
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(0, self->winner);
	EXPECT_EQ(-ECONNRESET, self->list[1].error);
	ASSERT_EQ(0, id_connect(self->fd, self->id));
	ASSERT_EQ(0, event_want(peer, EV_CONNECT_REQUEST, &self->ev));
	EXPECT_EQ(2, self->ev.ev.uid);
	ASSERT_EQ(0, event_want(self->fd, EV_UNREACHABLE, &self->ev));
	EXPECT_EQ(-ETIMEDOUT, self->ev.ev.status);
	close(peer);
}

/* Destroyed with a request outstanding; or the deadline */
TEST_F(any, race_ends)
{
	int peer = dev_open(O_NONBLOCK);
	uint32_t passive;

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, listener_at(peer, ADDR_RDMA, 2));
	ASSERT_EQ(0, result(self->fd, self->id, PORT, ADDR_RDMA, NOBODY));
	ASSERT_EQ(0, any_race(self->fd, self->id, 2, qp_numbers(2), 120000));
	ASSERT_EQ(0, event_want(peer, EV_CONNECT_REQUEST, &self->ev));
	passive = self->ev.ev.obj;
	EXPECT_LE(0, id_destroy(self->fd, self->id));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_TRUE(request_withdrawn(peer, passive));

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
	ASSERT_EQ(0, race_late(self, RDMA_CMX_STEP_REQUEST, PORT, 5000));
	ASSERT_EQ(0, event_want(peer, EV_CONNECT_REQUEST, &self->ev));
	EXPECT_TRUE(request_withdrawn(peer, self->ev.ev.obj));
	close(peer);
}

/* The race moves with its id. */
TEST_F(any, race_migrates)
{
	struct rdma_cmx_id_migrate arg = { .id = self->id, .src_fd = self->fd };
	int peer = dev_open(O_NONBLOCK), fd = dev_open(O_NONBLOCK);

	ASSERT_LE(0, peer);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, listener_at(peer, ADDR_RDMA, 2));
	ASSERT_EQ(0, result(self->fd, self->id, PORT, ADDR_RDMA));
	ASSERT_EQ(0, any_race(self->fd, self->id, 1, qp_numbers(1), 120000));
	ASSERT_EQ(0, event_want(peer, EV_CONNECT_REQUEST, &self->ev));
	ASSERT_EQ(0, call(fd, ID_MIGRATE, &arg));
	ASSERT_EQ(0, id_accept(peer, self->ev.ev.obj, 9));
	ASSERT_EQ(0, event_want(fd, EV_CONNECT_RESPONSE, &self->ev));
	EXPECT_EQ(arg.new_id, self->ev.ev.id);
	EXPECT_EQ(0, rtu_send(fd, arg.new_id));
	EXPECT_EQ(0, event_want(peer, EV_ESTABLISHED, &self->ev));
	close(fd);
	close(peer);
}

/* Killed with a request outstanding; the fixture checks that nothing is left. */
TEST_F(any, race_killed)
{
	int peer = dev_open(O_NONBLOCK), status;
	pid_t pid;

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, listener_at(peer, ADDR_RDMA, 2));
	pid = fork();
	if (!pid) {
		int fd = dev_open(O_NONBLOCK);
		uint32_t id;

		if (id_create(fd, RDMA_PS_TCP, 1, &id) ||
		    result(fd, id, PORT, ADDR_RDMA, NOBODY) ||
		    any_race(fd, id, 2, qp_numbers(2), 120000))
			_exit(1);
		for (;;)
			pause();
	}
	EXPECT_EQ(0, event_want(peer, EV_CONNECT_REQUEST, &self->ev));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_TRUE(request_withdrawn(peer, self->ev.ev.obj));
	close(peer);
}

/* Its requests take slots of the user, not of the kernel's consumers or root. */
TEST_F(any, race_slots)
{
	long window = number_get(WINDOW), reply = number_get(REPLY_MS);
	long wait = number_get(WAIT_MS);
	int i, fd = -1, peer = dev_open(O_NONBLOCK);
	uint32_t listener, out[OUTSTANDING], id;
	uint16_t port;

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, number_set(WINDOW, 64));
	ASSERT_EQ(0, number_set(REPLY_MS, 3600000));
	ASSERT_EQ(0, listener_new(peer, 2, &listener, &port));
	for (i = 0; i < OUTSTANDING; i++)
		EXPECT_EQ(0, connect_start(self->fd, 3, port, &out[i]));
	/* Those of root wait. */
	EXPECT_EQ(0, number_set(WAIT_MS, 1));
	EXPECT_EQ(0, race_late(self, RDMA_CMX_STEP_ROUTE, port, 60000));
	EXPECT_EQ(0, number_set(WAIT_MS, wait));
	if (!setresuid(2000, 2000, 0)) {
		fd = dev_open(O_NONBLOCK);
		EXPECT_LE(0, fd);
		EXPECT_EQ(0, id_create(fd, RDMA_PS_TCP, 1, &id));
		EXPECT_EQ(0, result(fd, id, port, ADDR_RDMA));
		EXPECT_EQ(0, any_race(fd, id, 1, qp_numbers(1), 120000));
		for (i = 0; i < OUTSTANDING + 1; i++)
			EXPECT_EQ(0, event_want(peer, EV_CONNECT_REQUEST,
						&self->ev));
	}
	EXPECT_EQ(0, setresuid(0, 0, 0));
	close(fd);
	close(peer);
	for (i = 0; i < OUTSTANDING; i++)
		EXPECT_LE(0, id_destroy(self->fd, out[i]));
	EXPECT_EQ(0, number_set(WINDOW, window));
	EXPECT_EQ(0, number_set(REPLY_MS, reply));
}

/* One that loses gives its slot back: there are more of them than slots. */
TEST_F(any, race_slots_of_losers)
{
	long window = number_get(WINDOW), reply = number_get(REPLY_MS);
	int i, peer = dev_open(O_NONBLOCK);
	uint32_t passive[2], qp_num, id;

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, number_set(WINDOW, 64));
	ASSERT_EQ(0, number_set(REPLY_MS, 3600000));
	EXPECT_EQ(0, listener_at(peer, OWN6, 2));
	EXPECT_EQ(0, listener_at(peer, ADDR_RDMA, 3));
	for (i = 0; i < OUTSTANDING + 2; i++) {
		qp_num = qp_numbers(2);
		EXPECT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
		EXPECT_EQ(0, result(self->fd, id, PORT, OWN6, ADDR_RDMA));
		EXPECT_EQ(0, any_race(self->fd, id, 2, qp_num, 120000));
		EXPECT_EQ(0, requests_get(peer, qp_num, passive));
		if (!passive[0] || !passive[1])
			break;
		EXPECT_EQ(0, id_accept(peer, passive[1], 9));
		EXPECT_EQ(0, event_want(self->fd, EV_CONNECT_RESPONSE,
					&self->ev));
		EXPECT_LE(0, id_destroy(self->fd, id));
		EXPECT_EQ(0, event_want(peer, EV_REJECTED, &self->ev));
		EXPECT_LE(0, id_destroy(peer, passive[0]));
		EXPECT_LE(0, id_destroy(peer, passive[1]));
	}
	EXPECT_EQ(OUTSTANDING + 2, i);
	close(peer);
	EXPECT_EQ(0, number_set(WINDOW, window));
	EXPECT_EQ(0, number_set(REPLY_MS, reply));
}

TEST_HARNESS_MAIN
