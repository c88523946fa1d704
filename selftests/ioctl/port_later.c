// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Resolutions at the uAPI whose port the library gives later, with or without
 * names (RAI-01, RAI-03, RAI-04): the results, misuse, the deadline.
 */
#include "addrinfo.h"

static int port_later(int fd, uint32_t id, const char *node, uint32_t ps,
		      uint32_t flags)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };

	query_make(&arg.query, node);
	arg.query.port = 0;
	arg.query.port_space = ps;
	arg.query.flags = RDMA_CMX_AIQ_PORT_LATER | flags;
	return call(fd, RESOLVE_ADDRINFO, &arg);
}

static int port_give(int fd, uint32_t id, uint16_t port, uint32_t qp_type)
{
	struct rdma_cmx_give_names arg = {
		.id = id, .flags = RDMA_CMX_GIVE_PORT, .port = htons(port),
		.qp_type = qp_type,
	};

	return call(fd, GIVE_NAMES, &arg);
}

/* Without a node, for a number, and for addresses that come with the port */
TEST_F(addrinfo, port_later)
{
	static const uint16_t ports[] = { 1, 4420, 65535, 0 };
	static const uint32_t types[] = { 0, QPT_RC,
					  QPT_UD };
	struct rdma_cmx_give_names both = {
		.id = self->id, .flags = RDMA_CMX_GIVE_PORT,
		.port = htons(4420),
	};
	uint64_t space[512];
	struct rdma_cmx_ai_entry *e = (void *)space;
	union event_buf buf;
	struct names n;
	uint32_t len;
	int i, k;

	for (i = 0; i < 4; i++) {
		for (k = 0; k < 2; k++) {
			ASSERT_EQ(0, port_later(self->fd, self->id,
						k ? ADDR_RDMA : NULL,
						RDMA_PS_TCP, 0));
			EXPECT_FALSE(event_pending(self->fd));
			ASSERT_EQ(0, port_give(self->fd, self->id, ports[i],
					       0));
			ASSERT_EQ(0, event_want(self->fd,
						RDMA_CMX_EV_ADDRINFO_RESOLVED,
						&buf));
			ASSERT_EQ(0, result_get(self->fd, self->id, space,
						sizeof(space), &len));
			EXPECT_EQ(k ? 1 : 2, entries_count(space, len));
			EXPECT_EQ(ports[i], addr_port(&e->dst));
		}
	}
	/* A service of one type keeps the entries of that type. */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, port_later(self->fd, self->id, ADDR_RDMA, 0, 0));
		ASSERT_EQ(0, port_give(self->fd, self->id, 1, types[i]));
		ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED,
					&buf));
		ASSERT_EQ(0, result_get(self->fd, self->id, space,
					sizeof(space), &len));
		EXPECT_EQ(types[i] ? 1 : 2, entries_count(space, len));
		EXPECT_EQ(types[i] == QPT_UD ? RDMA_PS_UDP :
							 RDMA_PS_TCP,
			  e->port_space);
	}
	ASSERT_EQ(0, port_later(self->fd, self->id, NODE, RDMA_PS_TCP,
				RDMA_CMX_AIQ_NAMES_LATER));
	both.names_len = names_make(&n);
	both.names = (uintptr_t)&n;
	ASSERT_EQ(0, call(self->fd, GIVE_NAMES, &both));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	ASSERT_EQ(0, result_get(self->fd, self->id, space, sizeof(space),
				&len));
	EXPECT_EQ(0, answer_check(space, len));
}

/* Names that violate the header leave the query outstanding. */
TEST_F(addrinfo, port_later_misuse)
{
	struct rdma_cmx_give_names give = { .id = self->id };
	struct rdma_cmx_resolve_addrinfo arg = { .id = self->id };
	struct rdma_cmx_getaddrinfo gai = {};
	union event_buf buf;
	struct names n;

	/* The query */
	query_make(&arg.query, ADDR_RDMA);
	arg.query.flags |= RDMA_CMX_AIQ_PORT_LATER;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ADDRINFO, &arg));
	arg.query.flags = RDMA_CMX_AIQ_PORT_LATER;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ADDRINFO, &arg));
	arg.query.port = 0;
	arg.query.flags |= RDMA_CMX_AIQ_ALL_PORTS << 1;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, RESOLVE_ADDRINFO, &arg));
	query_make(&arg.query, NULL);
	arg.query.port = 0;
	arg.query.flags = RDMA_CMX_AIQ_PORT_LATER;
	arg.query.ai_flags = RDMA_CMX_AI_SA;
	arg.query.service = (uintptr_t)"x";
	arg.query.service_len = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, RESOLVE_ADDRINFO, &arg));
	gai.query = arg.query;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, GETADDRINFO, &gai));

	/* A port for an id without a query */
	EXPECT_EQ(-ESRCH, port_give(self->fd, self->id, 1, 0));
	ASSERT_EQ(0, resolve_later(self->fd, self->id, NODE));
	EXPECT_EQ(-EINVAL, port_give(self->fd, self->id, 1, 0));
	give.flags = RDMA_CMX_GIVE_PORT;
	give.names_len = names_make(&n);
	give.names = (uintptr_t)&n;
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	EXPECT_EQ(0, names_give(self->fd, self->id, 0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));

	/* Names without a port, both, and invalid fields */
	ASSERT_EQ(0, port_later(self->fd, self->id, ADDR_RDMA, RDMA_PS_TCP,
				0));
	EXPECT_EQ(-EINVAL, names_give(self->fd, self->id, 0));
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	give = (struct rdma_cmx_give_names){ .id = self->id, .port = 1 };
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	give.error = ENOENT;
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	give.flags = RDMA_CMX_GIVE_PORT;
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	give.error = 0;
	give.flags |= 2;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, GIVE_NAMES, &give));
	give.flags = RDMA_CMX_GIVE_PORT;
	give.reserved = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	give.reserved = 0;
	give.names = (uintptr_t)&n;
	EXPECT_EQ(-EINVAL, call(self->fd, GIVE_NAMES, &give));
	/* The first published struct has no port. */
	give = (struct rdma_cmx_give_names){
		.size = 24, .id = self->id, .flags = RDMA_CMX_GIVE_PORT,
	};
	EXPECT_EQ(-1, ioctl(self->fd, RDMA_CMX_IO(GIVE_NAMES), &give));
	EXPECT_EQ(EINVAL, errno);
	/* The query has a type; a service can have two. */
	EXPECT_EQ(-EINVAL, port_give(self->fd, self->id, 1, QPT_RC));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(0, port_give(self->fd, self->id, 1, 0));
	EXPECT_EQ(-ESRCH, port_give(self->fd, self->id, 1, 0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));

	ASSERT_EQ(0, port_later(self->fd, self->id, ADDR_RDMA, 0, 0));
	EXPECT_EQ(-EINVAL, port_give(self->fd, self->id, 1, QPT_UC));
	EXPECT_EQ(-EINVAL, port_give(self->fd, self->id, 1, UINT32_MAX));
	/* It can end by an error in the older struct, or with its id. */
	EXPECT_EQ(0, names_give(self->fd, self->id, EINVAL));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_ERROR, &buf));
	EXPECT_EQ(-EINVAL, buf.ev.status);
	ASSERT_EQ(0, port_later(self->fd, self->id, NODE, 0, 0));
	EXPECT_LE(0, id_destroy(self->fd, self->id));
}

/* The deadline of a query includes the lookup of the port by the caller. */
TEST_F(addrinfo, port_later_deadline)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = self->id };
	union event_buf buf;

	query_make(&arg.query, ADDR_RDMA);
	arg.query.port = 0;
	arg.query.flags = RDMA_CMX_AIQ_PORT_LATER;
	arg.query.timeout_ms = 200;
	ASSERT_EQ(0, call(self->fd, RESOLVE_ADDRINFO, &arg));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_ERROR, &buf));
	EXPECT_EQ(-ETIMEDOUT, buf.ev.status);
	EXPECT_EQ(-ESRCH, port_give(self->fd, self->id, 1, 0));
}

TEST_HARNESS_MAIN
