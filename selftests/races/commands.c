// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RAI-07, OPS-04: each command while another thread destroys its id or closes
 * its file. The call ends, as if it came before or after, and no object is
 * left.
 */
#include "uapi.h"
#include "pair.h"

#include "harness.h"

#define ROUNDS	42
#define DELAY_US	20

struct stage {
	int fd, other;
	uint32_t id, mc, listener, conn;
	int ret;
	unsigned int seed;
	const struct command *command;
};

struct command {
	const char *name;
	int (*run)(struct stage *s);
};

static int run_get_info(struct stage *s)
{
	struct rdma_cmx_get_info arg = {};

	return call(s->fd, GET_INFO, &arg);
}

static int run_get_events(struct stage *s)
{
	union event_buf buf;

	return events_get(s->fd, &buf, sizeof(buf), 0, NULL);
}

static int run_create(struct stage *s)
{
	uint32_t id;

	return id_create(s->fd, RDMA_PS_TCP, 7, &id);
}

static int run_destroy(struct stage *s)
{
	return id_destroy(s->fd, s->id);
}

static int run_bind(struct stage *s)
{
	return id_bind(s->fd, s->id, ADDR_RDMA, 0);
}

static int run_query(struct stage *s)
{
	struct rdma_cmx_id_query arg = { .id = s->id };

	return call(s->fd, ID_QUERY, &arg);
}

static int run_option(struct stage *s)
{
	uint8_t tos = 4;
	struct rdma_cmx_id_set_option arg = {
		.id = s->id, .level = 0, .optname = 0,
		.optval = (uintptr_t)&tos, .optlen = 1,
	};

	return call(s->fd, ID_SET_OPTION, &arg);
}

static int run_migrate(struct stage *s)
{
	struct rdma_cmx_id_migrate arg = { .id = s->id, .src_fd = s->fd };

	return call(s->other, ID_MIGRATE, &arg);
}

static int run_resolve_addr(struct stage *s)
{
	return id_resolve_addr(s->fd, s->id, NULL, ADDR_RDMA, 9000);
}

static int run_resolve_route(struct stage *s)
{
	return id_resolve_route(s->fd, s->id);
}

static int run_qp_attr(struct stage *s)
{
	struct rdma_cmx_init_qp_attr arg = { .id = s->id, .qp_state = 1 };

	return call(s->fd, INIT_QP_ATTR, &arg);
}

static int run_conn_qp_attr(struct stage *s)
{
	struct rdma_cmx_conn_qp_attr arg = { .id = s->id };

	return call(s->fd, CONN_QP_ATTR, &arg);
}

static int run_connect(struct stage *s)
{
	return id_connect(s->fd, s->id);
}

static int run_listen(struct stage *s)
{
	return id_listen(s->fd, s->id);
}

static int run_accept(struct stage *s)
{
	return id_accept(s->fd, s->id, 5);
}

static int run_reject(struct stage *s)
{
	struct rdma_cmx_reject arg = { .id = s->id };

	return call(s->fd, REJECT, &arg);
}

static int run_disconnect(struct stage *s)
{
	struct rdma_cmx_id_arg arg = { .id = s->id };

	return call(s->fd, DISCONNECT, &arg);
}

static int run_notify(struct stage *s)
{
	struct rdma_cmx_id_arg arg = { .id = s->id, .event = 4 };

	return call(s->fd, NOTIFY, &arg);
}

static int run_write_event(struct stage *s)
{
	return id_write_event(s->fd, s->id, 1, 2);
}

static int resolve(struct stage *s, const char *node, uint32_t flags)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = s->id };

	arg.query.node = (uintptr_t)node;
	arg.query.node_len = strlen(node);
	arg.query.flags = flags;
	return call(s->fd, RESOLVE_ADDRINFO, &arg);
}

static int run_resolve_number(struct stage *s)
{
	return resolve(s, ADDR_RDMA, 0);
}

static int run_resolve_name(struct stage *s)
{
	return resolve(s, "races.silent.test", 0);
}

static int run_resolve_later(struct stage *s)
{
	return resolve(s, "races.example", RDMA_CMX_AIQ_NAMES_LATER);
}

static int run_give_names(struct stage *s)
{
	struct rdma_cmx_give_names arg = { .id = s->id, .error = ENOENT };

	return call(s->fd, GIVE_NAMES, &arg);
}

static int run_query_addrinfo(struct stage *s)
{
	uint64_t buf[128];
	struct rdma_cmx_query_addrinfo arg = {
		.id = s->id, .buf = (uintptr_t)buf, .buf_len = sizeof(buf),
	};

	return call(s->fd, QUERY_ADDRINFO, &arg);
}

static int run_getaddrinfo(struct stage *s)
{
	uint64_t buf[128];
	struct rdma_cmx_getaddrinfo arg = {
		.buf = (uintptr_t)buf, .buf_len = sizeof(buf),
	};

	arg.query.node = (uintptr_t)ADDR_RDMA;
	arg.query.node_len = strlen(ADDR_RDMA);
	return call(s->fd, GETADDRINFO, &arg);
}

static int run_join(struct stage *s)
{
	uint32_t mc;

	return mc_join(s->fd, s->id, "239.55.0.2", 1, &mc);
}

static int run_join_many(struct stage *s)
{
	struct rdma_cmx_join_item items[3] = {};
	struct rdma_cmx_join_many arg = {
		.id = s->id, .items = (uintptr_t)items, .count = 3,
		.item_size = sizeof(items[0]),
	};
	char text[16];
	int i;

	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "239.55.1.%d", i + 1);
		addr_set(&items[i].addr, text, 0);
	}
	return call(s->fd, JOIN_MANY, &arg);
}

static int run_leave(struct stage *s)
{
	return mc_leave(s->fd, s->mc);
}

static int run_any(struct stage *s)
{
	struct rdma_cmx_resolve_any arg = { .id = s->id, .timeout_ms = 9000 };

	return call(s->fd, RESOLVE_ANY, &arg);
}

static int run_next(struct stage *s)
{
	struct rdma_cmx_resolve_any arg = {
		.id = s->id, .flags = RDMA_CMX_ANY_NEXT,
		.step = RDMA_CMX_STEP_REQUEST, .error = ECONNREFUSED,
	};

	return call(s->fd, RESOLVE_ANY, &arg);
}

static int run_candidates(struct stage *s)
{
	struct rdma_cmx_candidate_info list[2];
	struct rdma_cmx_query_candidates arg = {
		.id = s->id, .candidates = (uintptr_t)list, .max_candidates = 2,
		.candidate_size = sizeof(list[0]),
	};

	return call(s->fd, QUERY_CANDIDATES, &arg);
}

static const struct command commands[] = {
	{ "GET_INFO", run_get_info }, { "GET_EVENTS", run_get_events },
	{ "ID_CREATE", run_create }, { "ID_DESTROY", run_destroy },
	{ "ID_BIND", run_bind }, { "ID_QUERY", run_query },
	{ "ID_SET_OPTION", run_option }, { "ID_MIGRATE", run_migrate },
	{ "RESOLVE_ADDR", run_resolve_addr },
	{ "RESOLVE_ROUTE", run_resolve_route },
	{ "INIT_QP_ATTR", run_qp_attr }, { "CONN_QP_ATTR", run_conn_qp_attr },
	{ "CONNECT", run_connect }, { "LISTEN", run_listen },
	{ "ACCEPT", run_accept }, { "REJECT", run_reject },
	{ "DISCONNECT", run_disconnect }, { "NOTIFY", run_notify },
	{ "WRITE_EVENT", run_write_event },
	{ "RESOLVE_ADDRINFO, a number", run_resolve_number },
	{ "RESOLVE_ADDRINFO, a name", run_resolve_name },
	{ "RESOLVE_ADDRINFO, names later", run_resolve_later },
	{ "GIVE_NAMES", run_give_names },
	{ "QUERY_ADDRINFO", run_query_addrinfo },
	{ "GETADDRINFO", run_getaddrinfo }, { "JOIN", run_join },
	{ "JOIN_MANY", run_join_many }, { "LEAVE", run_leave },
	{ "RESOLVE_ANY", run_any }, { "RESOLVE_ANY, next", run_next },
	{ "QUERY_CANDIDATES", run_candidates },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

/*
 * The state for the command in each round: an id that is new, bound and joined,
 * resolved up to its route, one end of a connection, an outstanding name, a
 * result, or a race of its addresses.
 */
static int stage_set(struct stage *s, unsigned int round)
{
	union event_buf buf;
	uint32_t active;

	s->fd = dev_open(O_NONBLOCK);
	s->other = dev_open(O_NONBLOCK);
	if (s->fd < 0 || s->other < 0)
		return -errno;
	s->mc = 0;
	switch (round % 7) {
	case 0:
		return id_create(s->fd, RDMA_PS_TCP, 1, &s->id);
	case 1:
		return id_create(s->fd, RDMA_PS_UDP, 1, &s->id) ?:
		       id_bind(s->fd, s->id, ADDR_RDMA, 0) ?:
		       mc_join(s->fd, s->id, GROUP, 1, &s->mc);
	case 2:
		return id_create(s->fd, RDMA_PS_TCP, 1, &s->id) ?:
		       id_resolve_addr(s->fd, s->id, NULL, ADDR_RDMA, 9000) ?:
		       event_want(s->fd, EV_ADDR_RESOLVED, &buf) ?:
		       id_resolve_route(s->fd, s->id);
	case 3:
		return connect_pair(s->fd, &s->listener, &active, &s->id);
	case 4:
		return id_create(s->fd, RDMA_PS_TCP, 1, &s->id) ?:
		       resolve(s, "races.example", RDMA_CMX_AIQ_NAMES_LATER);
	case 5:
		return id_create(s->fd, RDMA_PS_TCP, 1, &s->id) ?:
		       run_resolve_number(s) ?:
		       event_want(s->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf);
	default:
		return id_create(s->fd, RDMA_PS_TCP, 1, &s->id) ?:
		       run_resolve_number(s) ?:
		       event_want(s->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf) ?:
		       run_any(s);
	}
}

static void stage_run(void *arg)
{
	struct stage *s = arg;

	pair_delay(&s->seed, DELAY_US);
	s->ret = s->command->run(s);
}

FIXTURE(commands) {
	struct stage stage;
	struct pair pair;
};

FIXTURE_SETUP(commands)
{
	ASSERT_TRUE(counter_wait("live_files", 0));
	self->stage.seed = 1;
	pair_start(&self->pair, stage_run, &self->stage);
}

FIXTURE_TEARDOWN(commands)
{
	pair_end(&self->pair);
	EXPECT_TRUE(nothing_left());
}

/* Errors that are valid in some order of the commands */
static bool ret_known(int ret)
{
	switch (ret) {
	case -EINVAL: case -ENOENT: case -EBADF: case -EAGAIN: case -ENODEV:
	case -EADDRNOTAVAIL: case -EADDRINUSE: case -EBUSY: case -EISCONN:
	case -ENOTCONN: case -EOPNOTSUPP: case -ENODATA: case -ESRCH:
		return true;
	}
	return ret >= 0;
}

TEST_F_TIMEOUT(commands, RAI_07_destroy_against_each_command, 600)
{
	struct stage *s = &self->stage;
	unsigned int i, round, seed = 2;
	int ret;

	for (i = 0; i < COMMANDS; i++) {
		s->command = &commands[i];
		for (round = 0; round < ROUNDS; round++) {
			ASSERT_EQ(0, stage_set(s, round));
			pair_go(&self->pair);
			pair_delay(&seed, DELAY_US);
			ret = id_destroy(s->fd, s->id);
			pair_wait(&self->pair);
			/* Unless the command itself destroyed or moved it */
			if (s->command->run != run_destroy &&
			    s->command->run != run_migrate) {
				EXPECT_LE(0, ret);
			}
			EXPECT_TRUE(ret_known(s->ret)) {
				TH_LOG("%s: %s", commands[i].name,
				       strerror(-s->ret));
			}
			/* A new id may have the handle. */
			if (s->command->run != run_create) {
				EXPECT_EQ(-ENOENT, id_destroy(s->fd, s->id));
			}
			close(s->fd);
			close(s->other);
		}
	}
	TH_LOG("%zu commands, %d rounds each", COMMANDS, ROUNDS);
}

TEST_F_TIMEOUT(commands, OPS_04_close_against_each_command, 600)
{
	struct stage *s = &self->stage;
	unsigned int i, round, seed = 3;

	for (i = 0; i < COMMANDS; i++) {
		s->command = &commands[i];
		for (round = 0; round < ROUNDS; round++) {
			ASSERT_EQ(0, stage_set(s, round));
			pair_go(&self->pair);
			pair_delay(&seed, DELAY_US);
			close(s->fd);
			pair_wait(&self->pair);
			EXPECT_TRUE(ret_known(s->ret)) {
				TH_LOG("%s: %s", commands[i].name,
				       strerror(-s->ret));
			}
			close(s->other);
		}
	}
	TH_LOG("%zu commands, %d rounds each", COMMANDS, ROUNDS);
}

TEST_HARNESS_MAIN
