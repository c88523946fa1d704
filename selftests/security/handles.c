// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A handle is valid in its file only: each command with a handle returns ENOENT
 * for that of another file, whatever user and namespace opened that file, and
 * does not change the object.
 */
#include "ioctl.h"

#include <sched.h>

#include "harness.h"

#define PORT 7471

FIXTURE(handles) {
	int own;
	uint32_t id;
	uint32_t mc;
};

FIXTURE_SETUP(handles)
{
	union event_buf buf;

	self->own = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->own);
	ASSERT_EQ(0, id_create(self->own, RDMA_PS_UDP, 1, &self->id));
	ASSERT_EQ(0, id_bind(self->own, self->id, ADDR_RDMA, PORT));
	ASSERT_EQ(0, mc_join(self->own, self->id, GROUP, 7, &self->mc));
	ASSERT_EQ(0, event_want(self->own, EV_MULTICAST_JOIN, &buf));
}

FIXTURE_TEARDOWN(handles)
{
	close(self->own);
}

/* The commands with an id, with arguments that are valid otherwise */
static int tries(int fd, uint32_t id, uint32_t mc, const char **wrong)
{
	struct rdma_cmx_id_query query = { .id = id };
	struct rdma_cmx_id_arg arg = { .id = id };
	struct rdma_cmx_init_qp_attr attr = { .id = id, .qp_state = 1 };
	struct rdma_cmx_conn_qp_attr conn = { .id = id };
	struct rdma_cmx_reject rej = { .id = id };
	struct rdma_cmx_query_addrinfo qai = { .id = id };
	struct rdma_cmx_resolve_addrinfo rai = { .id = id };
	struct rdma_cmx_give_names names = { .id = id, .error = ENOENT };
	uint8_t tos = 1;
	struct rdma_cmx_id_set_option opt = {
		.id = id, .optval = (uintptr_t)&tos, .optlen = 1,
	};
	struct rdma_cmx_join_item item = { .uid = 1, .join_flags = 1 };
	struct rdma_cmx_join_many many = {
		.id = id, .items = (uintptr_t)&item, .count = 1,
		.item_size = sizeof(item),
	};
	struct rdma_cmx_resolve_any any = { .id = id, .timeout_ms = 1 };
	struct rdma_cmx_query_candidates cand = { .id = id };
	uint32_t other;
	int failed = 0;

	addr_set(&item.addr, GROUP, 0);
	rai.query.node = (uintptr_t)ADDR_RDMA;
	rai.query.node_len = strlen(ADDR_RDMA);
	rai.query.port_space = RDMA_PS_UDP;

#define REFUSED(expr) do {						\
	if ((expr) != -ENOENT) {					\
		*wrong = #expr;						\
		failed++;						\
	}								\
} while (0)
	REFUSED(call(fd, ID_QUERY, &query));
	REFUSED(id_bind(fd, id, ADDR_RDMA, 0));
	REFUSED(call(fd, ID_SET_OPTION, &opt));
	REFUSED(id_resolve_addr(fd, id, NULL, ADDR_RDMA, 1));
	REFUSED(id_resolve_route(fd, id));
	REFUSED(call(fd, INIT_QP_ATTR, &attr));
	REFUSED(call(fd, CONN_QP_ATTR, &conn));
	REFUSED(id_connect(fd, id));
	REFUSED(id_listen(fd, id));
	REFUSED(id_accept(fd, id, 1));
	REFUSED(call(fd, REJECT, &rej));
	REFUSED(call(fd, DISCONNECT, &arg));
	REFUSED(call(fd, NOTIFY, &arg));
	REFUSED(id_write_event(fd, id, 0, 0));
	REFUSED(call(fd, RESOLVE_ADDRINFO, &rai));
	REFUSED(call(fd, GIVE_NAMES, &names));
	REFUSED(call(fd, QUERY_ADDRINFO, &qai));
	REFUSED(call(fd, RESOLVE_ANY, &any));
	REFUSED(call(fd, QUERY_CANDIDATES, &cand));
	REFUSED(mc_join(fd, id, GROUP, 1, &other));
	REFUSED(call(fd, JOIN_MANY, &many));
	REFUSED(mc_leave(fd, mc));
	REFUSED(mc_leave(fd, id));
	REFUSED(id_destroy(fd, mc));
	REFUSED(id_destroy(fd, id));
#undef REFUSED
	return failed;
}

/* Are its address, its group and its events unchanged? */
static bool object_unharmed(int fd, uint32_t id, uint32_t mc)
{
	struct rdma_cmx_id_query query = { .id = id };

	return !event_pending(fd) && !call(fd, ID_QUERY, &query) &&
	       query.info.src.family == AF_INET &&
	       addr_port(&query.info.src) == PORT && mc_leave(fd, mc) >= 0 &&
	       id_destroy(fd, id) >= 0;
}

TEST_F(handles, of_another_file)
{
	const char *wrong = NULL;
	int other = dev_open(O_NONBLOCK);

	ASSERT_LE(0, other);
	EXPECT_EQ(0, tries(other, self->id, self->mc, &wrong))
		TH_LOG("%s", wrong);
	EXPECT_FALSE(event_pending(other));
	close(other);
	EXPECT_TRUE(object_unharmed(self->own, self->id, self->mc));
}

/* A user without privileges, in private user and network namespaces */
TEST_F(handles, of_another_namespace)
{
	const char *wrong = NULL;
	struct rdma_cmx_id_query query = {};
	uint32_t id;
	int other;

	ASSERT_EQ(0, setresgid(1000, 1000, 1000));
	ASSERT_EQ(0, setresuid(1000, 1000, 1000));
	/* Not even in that namespace: ports below 1024 need a capability. */
	other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, id_create(other, RDMA_PS_TCP, 1, &id));
	EXPECT_EQ(-EACCES, id_bind(other, id, ADDR_RDMA, 80));
	EXPECT_EQ(0, id_bind(other, id, ADDR_RDMA, 8080));
	close(other);
	ASSERT_EQ(0, unshare(CLONE_NEWUSER | CLONE_NEWNET));
	other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, other);
	EXPECT_EQ(0, tries(other, self->id, self->mc, &wrong))
		TH_LOG("%s", wrong);
	/* Its id cannot use addresses outside. */
	ASSERT_EQ(0, id_create(other, RDMA_PS_UDP, 1, &id));
	EXPECT_EQ(-EADDRNOTAVAIL, id_bind(other, id, ADDR_RDMA, PORT));
	query.id = id;
	EXPECT_EQ(0, call(other, ID_QUERY, &query));
	EXPECT_EQ(0, query.info.node_guid);
	EXPECT_EQ(0, id_destroy(other, id));
	close(other);
	EXPECT_TRUE(object_unharmed(self->own, self->id, self->mc));
}

/* No handle that a file of few ids gives out finds an object of other files. */
TEST_F(handles, guessed)
{
	struct rdma_cmx_id_query query = {};
	int other = dev_open(O_NONBLOCK);
	uint32_t handle;

	ASSERT_LE(0, other);
	for (handle = 0; handle < 16 * 4096; handle++) {
		query.id = handle % 16 | handle / 16 << 20;
		ASSERT_EQ(-ENOENT, call(other, ID_QUERY, &query));
	}
	close(other);
}

TEST_HARNESS_MAIN
