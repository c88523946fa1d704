// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RESOLVE_ANY and QUERY_CANDIDATES at the uAPI: KA-02 for user space.
 */
#include "any.h"

TEST_F(any, refused)
{
	struct rdma_cmx_resolve_any arg = { .id = self->id };
	struct rdma_cmx_query_candidates query = { .id = self->id };

	EXPECT_EQ(-ENOENT, CANDIDATES());
	/* No result, no deadline, a delay that is too short */
	EXPECT_EQ(-ENOENT, any(self->fd, self->id, 0, 1000));
	ASSERT_EQ(0, result(self->fd, self->id, 4420, ADDR_RDMA));
	EXPECT_EQ(-EINVAL, any(self->fd, self->id, 0, 0));
	arg.timeout_ms = 1000;
	arg.delay_ms = 9;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ANY, &arg));
	arg.delay_ms = 0;
	arg.flags = 1 << 3;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, RESOLVE_ANY, &arg));
	arg.flags = RDMA_CMX_ANY_NEXT | RDMA_CMX_ANY_CONNECT;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ANY, &arg));
	arg.flags = 0;
	/* Fields of NEXT only */
	arg.error = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ANY, &arg));
	arg.error = 0;
	arg.step = RDMA_CMX_STEP_REQUEST;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ANY, &arg));
	arg.step = 0;
	arg.reason = 8;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ANY, &arg));
	EXPECT_EQ(-EINVAL, any_next(self->fd, self->id, 1, 0));
	EXPECT_EQ(-ENOENT, any(self->fd, self->id + 1, 0, 1000));
	EXPECT_EQ(-ENOENT, CANDIDATES());
	query.max_candidates = 1;
	query.candidate_size = offsetof(struct rdma_cmx_candidate_info, end_ms);
	EXPECT_EQ(-EINVAL, call(self->fd, QUERY_CANDIDATES, &query));
	query.candidate_size = 4097;
	EXPECT_EQ(-E2BIG, call(self->fd, QUERY_CANDIDATES, &query));

	/* A bound id, and a result to bind to */
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	EXPECT_EQ(-EINVAL, any(self->fd, self->id, 0, 1000));
	ASSERT_LE(0, id_destroy(self->fd, self->id));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
	ASSERT_EQ(0, result_ps(self->fd, self->id, RDMA_PS_TCP, 4420,
			       RDMA_CMX_AI_PASSIVE, ADDR_RDMA, NULL));
	EXPECT_EQ(-EINVAL, any(self->fd, self->id, 0, 1000));
	EXPECT_FALSE(event_pending(self->fd));
}

/* A new id with a result whose source is @src and @port */
static int result_from(int fd, uint32_t *id, const char *src, uint16_t port)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.query.node = (uintptr_t)addr_rdma,
		.query.node_len = strlen(addr_rdma),
		.query.port_space = RDMA_PS_TCP,
		.query.port = htons(4420),
		.query.flags = RDMA_CMX_AIQ_PORT,
	};
	union event_buf ev;
	int ret = id_create(fd, RDMA_PS_TCP, 1, id);

	arg.id = *id;
	addr_set(&arg.query.src, src, port);
	ret = ret ?: call(fd, RESOLVE_ADDRINFO, &arg);
	return ret ?: event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &ev);
}

/* A port below 1024 takes a capability, as RESOLVE_ADDR and ID_BIND say. */
TEST_F(any, source_port)
{
	const char *sources[] = { ADDR_RDMA, "0.0.0.0" };
	struct rdma_cmx_query_candidates untried = UNTRIED();
	struct rdma_cmx_id_query query = {};
	unsigned int i;

	ASSERT_EQ(0, result_from(self->fd, &query.id, ADDR_RDMA, 80));
	ASSERT_EQ(0, any(self->fd, query.id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(80, addr_port(&query.info.src));
	ASSERT_LE(0, id_destroy(self->fd, query.id));

	ASSERT_EQ(0, setresgid(2000, 2000, 2000));
	ASSERT_EQ(0, setresuid(2000, 2000, 2000));
	for (i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		ASSERT_EQ(0, result_from(self->fd, &query.id, sources[i], 80));
		untried.id = query.id;
		ASSERT_EQ(0, call(self->fd, QUERY_CANDIDATES, &untried));
		EXPECT_EQ(RDMA_CMX_STEP_ADDR, self->list[0].step);
		EXPECT_EQ(-EACCES, self->list[0].error);
		ASSERT_EQ(0, any(self->fd, query.id, 0, 60000));
		ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &self->ev));
		EXPECT_EQ(-EACCES, self->ev.ev.status);
		ASSERT_EQ(0, candidates(self->fd, query.id, self->list,
					&self->count, &self->winner));
		EXPECT_EQ(RDMA_CMX_STEP_ADDR, self->list[0].step);
		EXPECT_EQ(-EACCES, self->list[0].error);
	}
	ASSERT_EQ(0, result_from(self->fd, &query.id, ADDR_RDMA, 2000));
	ASSERT_EQ(0, any(self->fd, query.id, 0, 60000));
	EXPECT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
}

TEST_F(any, limits)
{
	long max = number_get(UCMX_PARAMETERS "max_requests"), user_max;
	int ret;

	ASSERT_EQ(0, result(self->fd, self->id, 4420, ADDR_RDMA, OWN6));
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_requests", 0));
	ret = any(self->fd, self->id, 0, 1000);
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_requests", max));
	EXPECT_EQ(-EAGAIN, ret);
	/* The race counts for its user instead of the result. */
	user_max = number_get(UCMX_PARAMETERS "max_user_requests");
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_user_requests", 1));
	ret = any(self->fd, self->id, 0, 60000);
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_user_requests", user_max));
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	/* The next candidate counts, too. Without a race nothing changes. */
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_requests", 0));
	ret = any_next(self->fd, self->id, EIO, 0);
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_requests", max));
	EXPECT_EQ(-EAGAIN, ret);
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_user_requests", 0));
	ret = any_next(self->fd, self->id, EIO, 0);
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_user_requests", user_max));
	EXPECT_EQ(-EAGAIN, ret);
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(0, self->winner);
	EXPECT_EQ(RDMA_CMX_STEP_UP, self->list[0].step);
	EXPECT_EQ(0, self->list[0].error);
	EXPECT_EQ(0, any_next(self->fd, self->id, EIO, 0));
	EXPECT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
}

/* The first address is dead, the second one wins; the id is its. */
TEST_F(any, second_wins)
{
	struct rdma_cmx_id_info *info;

	ASSERT_EQ(0, result(self->fd, self->id, 4420, ADDR_PLAIN, NOBODY,
			    ADDR_RDMA));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	EXPECT_EQ(0, self->ev.ev.status);
	EXPECT_EQ(1, self->ev.ev.uid);
	EXPECT_EQ(self->id, self->ev.ev.id);
	info = event_info(&self->ev.ev);
	ASSERT_NE(NULL, info);
	EXPECT_TRUE(addr_is(&info->dst, ADDR_RDMA));
	EXPECT_EQ(4420, addr_port(&info->dst));
	EXPECT_NE(0, info->node_guid);
	EXPECT_FALSE(event_pending(self->fd));

	ASSERT_EQ(0, CANDIDATES());
	ASSERT_EQ(3, self->count);
	/* Those that a device reaches come first. */
	EXPECT_EQ(1, self->winner);
	EXPECT_TRUE(addr_is(&self->list[0].dst, NOBODY));
	EXPECT_EQ(RDMA_CMX_STEP_ADDR, self->list[0].step);
	EXPECT_TRUE(self->list[0].error == -ECANCELED ||
		    self->list[0].error == -ETIMEDOUT);
	EXPECT_EQ(1, self->list[0].attempts);
	EXPECT_TRUE(addr_is(&self->list[1].dst, ADDR_RDMA));
	EXPECT_EQ(RDMA_CMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(0, self->list[1].error);
	EXPECT_EQ(1, self->list[1].port_num);
	/* Beside the first one; timers of the kernel count in ticks. */
	if (self->list[0].error == -ECANCELED)
		EXPECT_LE(240, self->list[1].start_ms);
	EXPECT_LE(self->list[1].start_ms, self->list[1].end_ms);
	EXPECT_TRUE(addr_is(&self->list[2].dst, ADDR_PLAIN));
	EXPECT_EQ(RDMA_CMX_STEP_NO_DEVICE, self->list[2].step);
	EXPECT_EQ(-ENETUNREACH, self->list[2].error);
	EXPECT_EQ(0, self->list[2].attempts);

	/* It is bound now: there is no second first time. */
	EXPECT_EQ(-EINVAL, any(self->fd, self->id, 0, 1000));
}

/* Of all ports only where ports are queried */
TEST_F(any, all_ports)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = self->id };

	arg.query.node = (uintptr_t)ADDR_RDMA;
	arg.query.node_len = strlen(ADDR_RDMA);
	arg.query.flags = RDMA_CMX_AIQ_ALL_PORTS;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ADDRINFO, &arg));
	/* There is no InfiniBand port. */
	arg.query.node = 0;
	arg.query.node_len = 0;
	arg.query.ai_flags = RDMA_CMX_AI_SA;
	arg.query.service = (uintptr_t)"a";
	arg.query.service_len = 1;
	EXPECT_EQ(-ENODEV, call(self->fd, RESOLVE_ADDRINFO, &arg));
	EXPECT_FALSE(event_pending(self->fd));
}

/* Fewer than there are, and none */
TEST_F(any, room)
{
	struct rdma_cmx_query_candidates arg = {
		.candidates = (uintptr_t)self->list, .max_candidates = 1,
		.candidate_size = sizeof(self->list[0]),
	};

	ASSERT_EQ(0, result(self->fd, self->id, 4420, ADDR_RDMA, ADDR_PLAIN));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	memset(self->list, 0xa5, sizeof(self->list));
	arg.id = self->id;
	ASSERT_EQ(0, call(self->fd, QUERY_CANDIDATES, &arg));
	EXPECT_EQ(2, arg.num_candidates);
	EXPECT_EQ(0, arg.winner);
	EXPECT_EQ(0, self->list[0].error);
	EXPECT_EQ((__s32)0xa5a5a5a5, self->list[1].error);
	arg.max_candidates = 0;
	arg.candidate_size = 0;
	arg.num_candidates = 0;
	ASSERT_EQ(0, call(self->fd, QUERY_CANDIDATES, &arg));
	EXPECT_EQ(2, arg.num_candidates);
	arg.max_candidates = 1;
	arg.candidate_size = sizeof(self->list[0]);
	arg.candidates = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, QUERY_CANDIDATES, &arg));
}

/* All are dead; the deadline is shorter than the first attempt. */
TEST_F(any, none_wins)
{
	ASSERT_EQ(0, result(self->fd, self->id, 4420, ADDR_PLAIN));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &self->ev));
	EXPECT_EQ(-ENETUNREACH, self->ev.ev.status);
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(1, self->count);
	EXPECT_EQ(1, self->winner);

	ASSERT_EQ(0, result(self->fd, self->id, 4420, NOBODY));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 100));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &self->ev));
	EXPECT_EQ(-ETIMEDOUT, self->ev.ev.status);
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(RDMA_CMX_STEP_ADDR, self->list[0].step);
	EXPECT_NE(0, self->list[0].error);

	/* The id can do all that it could do before. */
	EXPECT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
}

/* Addresses of another port space are none of the id's. */
TEST_F(any, other_type)
{
	struct rdma_cmx_query_candidates arg = UNTRIED();
	int i;

	ASSERT_EQ(0, result_ps(self->fd, self->id, RDMA_PS_UDP, 4420, 0,
			       ADDR_RDMA, ADDR_PLAIN, NULL));
	ASSERT_EQ(0, call(self->fd, QUERY_CANDIDATES, &arg));
	/* Before the race, and after it */
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(RDMA_CMX_STEP_UNTRIED, self->list[0].step);
		EXPECT_EQ(-EPROTOTYPE, self->list[0].error);
		/* Step and error have the same reason. */
		EXPECT_EQ(RDMA_CMX_STEP_NO_DEVICE, self->list[1].step);
		EXPECT_EQ(-ENETUNREACH, self->list[1].error);
		if (i)
			break;
		ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
		ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &self->ev));
		EXPECT_EQ(-ENETUNREACH, self->ev.ev.status);
		ASSERT_EQ(0, CANDIDATES());
		ASSERT_EQ(2, self->count);
	}
}

/* A candidate that does not reply ends after 3 s, which a guest may exceed. */
TEST_F(any, busy)
{
	struct rdma_cmx_id_query query = {};
	int ret[6], written, i, tries;

	for (tries = 0; tries < 5; tries++) {
		if (tries) {
			ASSERT_LE(0, id_destroy(self->fd, self->id));
			ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1,
					       &self->id));
		}
		ASSERT_EQ(0, result(self->fd, self->id, 4420, NOBODY));
		ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
		ret[0] = any(self->fd, self->id, 0, 60000);
		ret[1] = any_next(self->fd, self->id, 1, 0);
		ret[2] = CANDIDATES();
		ret[3] = id_bind(self->fd, self->id, ADDR_RDMA, 0);
		ret[4] = id_listen(self->fd, self->id);
		query.id = self->id;
		ret[5] = call(self->fd, ID_QUERY, &query);
		/* An event of the program's passes the race. */
		written = id_write_event(self->fd, self->id, 0, 7);
		ASSERT_EQ(0, event_next(self->fd, &self->ev));
		/* Has the race ended? */
		if (self->ev.ev.event == RDMA_CMX_EV_USER &&
		    !event_pending(self->fd))
			break;
	}
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(-EBUSY, ret[i]) {
			TH_LOG("call %d", i);
		}
	}
	EXPECT_EQ(0, written);
	EXPECT_EQ(RDMA_CMX_EV_USER, self->ev.ev.event);
	/* Destroyed in the middle: no event follows. */
	EXPECT_LE(0, id_destroy(self->fd, self->id));
	EXPECT_FALSE(event_pending(self->fd));
}

/* The race moves with its id. */
TEST_F(any, migrate)
{
	struct rdma_cmx_id_migrate arg = { .id = self->id, .src_fd = self->fd };
	int fd = dev_open(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, result(self->fd, self->id, 4420, NOBODY, ADDR_RDMA));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, call(fd, ID_MIGRATE, &arg));
	ASSERT_EQ(0, event_want(fd, EV_ROUTE_RESOLVED, &self->ev));
	EXPECT_EQ(arg.new_id, self->ev.ev.id);
	ASSERT_EQ(0, candidates(fd, arg.new_id, self->list, &self->count,
				&self->winner));
	EXPECT_EQ(1, self->winner);
	close(fd);
}

/* Killed in the middle; the fixture checks that nothing is left. */
TEST_F(any, killed)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		int fd = dev_open(O_NONBLOCK);
		uint32_t id;

		if (id_create(fd, RDMA_PS_TCP, 1, &id) ||
		    result(fd, id, 4420, NOBODY) || any(fd, id, 0, 60000))
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
}

/* The first address has no listener, the second one has. */
TEST_F(any, next_address)
{
	struct rdma_cmx_id_info *info;
	uint32_t listener, passive;
	uint16_t port = 4477;
	int tries;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &listener));
	ASSERT_EQ(0, id_bind(self->fd, listener, OWN6, port));
	ASSERT_EQ(0, id_listen(self->fd, listener));
	for (tries = 0; tries < 5; tries++) {
		ASSERT_EQ(0, result(self->fd, self->id, port, ADDR_RDMA, OWN6));
		ASSERT_EQ(0, any(self->fd, self->id, RDMA_CMX_ANY_CONNECT,
				 120000));
		ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED,
					&self->ev));
		ASSERT_EQ(0, id_connect(self->fd, self->id));
		ASSERT_EQ(0, event_next(self->fd, &self->ev));
		/* A guest may stop for longer than the 5 s of one address. */
		if (self->ev.ev.event != EV_UNREACHABLE)
			break;
		ASSERT_LE(0, id_destroy(self->fd, self->id));
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
	}
	ASSERT_EQ(EV_REJECTED, self->ev.ev.event);
	ASSERT_EQ(0, any_next(self->fd, self->id, ECONNREFUSED,
			      self->ev.ev.status));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	info = event_info(&self->ev.ev);
	ASSERT_NE(NULL, info);
	EXPECT_TRUE(addr_is(&info->dst, OWN6));
	ASSERT_EQ(0, CANDIDATES());
	ASSERT_EQ(2, self->count);
	EXPECT_EQ(1, self->winner);
	EXPECT_EQ(RDMA_CMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(-ECONNREFUSED, self->list[0].error);
	/* A listener has the port, but not the address: rdma_cm rejects. */
	EXPECT_EQ(28, self->list[0].reason);
	EXPECT_LE(self->list[0].end_ms, self->list[1].start_ms);

	ASSERT_EQ(0, id_connect(self->fd, self->id));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &self->ev));
	passive = self->ev.ev.obj;
	ASSERT_EQ(0, id_accept(self->fd, passive, 3));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_RESPONSE, &self->ev));
	EXPECT_EQ(self->id, self->ev.ev.id);
	/* There is none after it. */
	EXPECT_EQ(-ENOENT, any_next(self->fd, self->id, ECONNRESET, 0));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(-ECONNRESET, self->list[1].error);
}

/* While a resolution of the id is outstanding there is no next one. */
TEST_F(any, next_while_resolving)
{
	struct rdma_cmx_resolve_addrinfo arg = {
		.id = self->id,
		.query.node = (uintptr_t)"any.example",
		.query.node_len = 11,
		.query.port_space = RDMA_PS_TCP,
		.query.flags = RDMA_CMX_AIQ_NAMES_LATER,
	};
	struct rdma_cmx_give_names names = { .id = self->id, .error = EIO };

	ASSERT_EQ(0, result(self->fd, self->id, 4480, ADDR_RDMA, OWN6));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, call(self->fd, RESOLVE_ADDRINFO, &arg));
	EXPECT_EQ(-EBUSY, any_next(self->fd, self->id, EIO, 0));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(0, self->list[0].error);
	/* Until its event is read */
	ASSERT_EQ(0, call(self->fd, GIVE_NAMES, &names));
	EXPECT_EQ(-EBUSY, any_next(self->fd, self->id, EIO, 0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_ERROR,
				&self->ev));
	EXPECT_EQ(0, any_next(self->fd, self->id, EIO, 0));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(1, self->winner);
	EXPECT_EQ(-EIO, self->list[0].error);
}

/* Connects to a peer that does not reply. */
static int connect_silent(FIXTURE_DATA(any) *self)
{
	uint32_t listener;
	uint16_t port;

	return listener_new(self->fd, 2, &listener, &port) ?:
	       result(self->fd, self->id, port, ADDR_RDMA) ?:
	       any(self->fd, self->id, RDMA_CMX_ANY_CONNECT, 20000) ?:
	       event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev) ?:
	       id_connect(self->fd, self->id);
}

/* The deadline is that of the connection. */
TEST_F(any, no_reply)
{
	ASSERT_EQ(0, connect_silent(self));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &self->ev));
	/* One more is refused, and the deadline stays. */
	EXPECT_EQ(-EINVAL, id_connect(self->fd, self->id));
	ASSERT_EQ(0, event_want(self->fd, EV_UNREACHABLE, &self->ev));
	EXPECT_EQ(-ETIMEDOUT, self->ev.ev.status);
	EXPECT_EQ(-ENOENT, any_next(self->fd, self->id, ETIMEDOUT, 0));
}

/* A second CONNECT fails, and takes nothing from the first one. */
TEST_F(any, second_connect)
{
	ASSERT_EQ(0, connect_silent(self));
	EXPECT_EQ(-EINVAL, id_connect(self->fd, self->id));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &self->ev));
	ASSERT_EQ(0, event_want(self->fd, EV_UNREACHABLE, &self->ev));
	EXPECT_EQ(-ETIMEDOUT, self->ev.ev.status);
	EXPECT_EQ(-EINVAL, id_connect(self->fd, self->id));
	EXPECT_FALSE(event_pending(self->fd));
}

/* One that was given up while it waited for a slot is not sent later. */
TEST_F(any, given_up_before_its_slot)
{
	long window = number_get(WINDOW), reply = number_get(REPLY_MS);
	long wait = number_get(WAIT_MS);
	uint32_t listener, out[OUTSTANDING];
	int i, ret, tries, fd = dev_open(O_NONBLOCK);
	int peer = dev_open(O_NONBLOCK);
	uint16_t port;

	ASSERT_LE(0, fd);
	ASSERT_LE(0, peer);
	ASSERT_EQ(0, number_set(WINDOW, 64));
	ASSERT_EQ(0, number_set(REPLY_MS, 3600000));
	ASSERT_EQ(0, listener_new(peer, 2, &listener, &port));
	for (i = 0; i < OUTSTANDING; i++)
		ASSERT_EQ(0, connect_start(fd, 3, port, &out[i]));
	ASSERT_EQ(0, result(self->fd, self->id, port, ADDR_RDMA));
	/* The maximum of the wait is that at the call. */
	ASSERT_EQ(0, number_set(WAIT_MS, 1));
	ASSERT_EQ(0, any(self->fd, self->id, RDMA_CMX_ANY_CONNECT, 20000));
	ASSERT_EQ(0, number_set(WAIT_MS, wait));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, id_connect(self->fd, self->id));
	ASSERT_EQ(0, event_want(self->fd, EV_UNREACHABLE, &self->ev));
	EXPECT_EQ(-EINVAL, id_connect(self->fd, self->id));
	for (i = 0; i < OUTSTANDING; i++)
		EXPECT_LE(0, id_destroy(fd, out[i]));
	/* Its wait ends, and it has sent nothing: another one may be sent. */
	for (tries = 0; tries < 6000; tries++) {
		ret = id_connect(self->fd, self->id);
		if (ret != -EINVAL)
			break;
		poll(NULL, 0, 10);
	}
	EXPECT_EQ(0, ret);
	/* The deadline is over, which is reported once more. */
	EXPECT_EQ(0, event_want(self->fd, EV_UNREACHABLE, &self->ev));
	EXPECT_EQ(-ETIMEDOUT, self->ev.ev.status);
	close(fd);
	close(peer);
	EXPECT_EQ(0, number_set(WINDOW, window));
	EXPECT_EQ(0, number_set(REPLY_MS, reply));
}

/* An error that means something else in a report ends the candidate, too. */
TEST_F(any, cancelled_is_a_failure)
{
	uint16_t port = 4479;

	ASSERT_EQ(0, result(self->fd, self->id, port, ADDR_RDMA, OWN6));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, any_next(self->fd, self->id, ECANCELED, 0));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(1, self->winner);
	EXPECT_EQ(-ECONNABORTED, self->list[0].error);
	EXPECT_EQ(-ENOENT, any_next(self->fd, self->id, ECANCELED, 0));
}

/* One that does not reply has its share, then the next one follows. */
TEST_F(any, no_reply_then_next)
{
	uint32_t listener;
	uint16_t port = 4478;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &listener));
	ASSERT_EQ(0, id_bind(self->fd, listener, ADDR_RDMA, port));
	ASSERT_EQ(0, id_listen(self->fd, listener));
	ASSERT_EQ(0, result(self->fd, self->id, port, ADDR_RDMA, OWN6));
	ASSERT_EQ(0, any(self->fd, self->id, RDMA_CMX_ANY_CONNECT, 120000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, id_connect(self->fd, self->id));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &self->ev));
	ASSERT_EQ(0, event_want(self->fd, EV_UNREACHABLE, &self->ev));
	EXPECT_EQ(-ETIMEDOUT, self->ev.ev.status);
	ASSERT_EQ(0, any_next(self->fd, self->id, ETIMEDOUT, 0));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	ASSERT_EQ(0, CANDIDATES());
	EXPECT_EQ(1, self->winner);
	EXPECT_EQ(-ETIMEDOUT, self->list[0].error);
}

/* The type of service and the ACK timeout stay the id's. */
TEST_F(any, options)
{
	struct rdma_cmx_id_set_option arg = {
		.id = self->id, .level = RDMA_OPTION_ID,
		.optname = RDMA_OPTION_ID_ACK_TIMEOUT, .optlen = 1,
	};
	struct rdma_cmx_init_qp_attr qp = { .id = self->id, .qp_state = 2 };
	struct rdma_cmx_id_query query = { .id = self->id };
	uint8_t value = 9;
	uint32_t listener, passive;
	uint16_t port;

	arg.optval = (uintptr_t)&value;
	ASSERT_EQ(0, call(self->fd, ID_SET_OPTION, &arg));
	arg.optname = RDMA_OPTION_ID_TOS;
	value = 32;
	ASSERT_EQ(0, call(self->fd, ID_SET_OPTION, &arg));
	ASSERT_EQ(0, listener_new(self->fd, 2, &listener, &port));
	ASSERT_EQ(0, result(self->fd, self->id, port, ADDR_RDMA));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	/* The REQ has the packet lifetime: the peer's timeout depends on it. */
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(8, ((uint8_t *)query.paths[0].path_rec)[56] & 0x3f);
	ASSERT_EQ(0, id_connect(self->fd, self->id));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &self->ev));
	passive = self->ev.ev.obj;
	ASSERT_EQ(0, id_accept(self->fd, passive, 3));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_RESPONSE, &self->ev));
	ASSERT_EQ(0, call(self->fd, INIT_QP_ATTR, &qp));
	EXPECT_EQ(32, qp.attr.ah_attr.grh.traffic_class);
	qp.qp_state = 3;
	ASSERT_EQ(0, call(self->fd, INIT_QP_ATTR, &qp));
	EXPECT_EQ(9, qp.attr.timeout);
}

TEST_HARNESS_MAIN
