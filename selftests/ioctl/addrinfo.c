// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queries at the uAPI that the kernel completes at once (GAI-01), and invalid
 * ones.
 */
#include "addrinfo.h"

TEST_F(addrinfo, numeric)
{
	struct rdma_cmx_getaddrinfo arg = {};
	uint64_t buf[512];
	struct rdma_cmx_ai_entry *e = (void *)buf;

	query_make(&arg.query, ADDR_RDMA);
	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	ASSERT_EQ(0, call(self->fd, GETADDRINFO, &arg));
	EXPECT_EQ(1, entries_count(buf, arg.len));
	EXPECT_EQ(sizeof(*e), e->header_len);
	EXPECT_EQ(RDMA_PS_TCP, e->port_space);
	EXPECT_EQ(AF_INET, e->family);
	EXPECT_EQ(4420, addr_port(&e->dst));
	EXPECT_EQ(AF_INET, e->src.family);
	EXPECT_EQ(1, e->port_num);

	/* ENOSPC reports the needed size exactly. */
	arg.buf_len = arg.len - 1;
	arg.len = 0;
	EXPECT_EQ(-ENOSPC, call(self->fd, GETADDRINFO, &arg));
	EXPECT_EQ(arg.buf_len + 1, arg.len);
	arg.buf_len = arg.len;
	EXPECT_EQ(0, call(self->fd, GETADDRINFO, &arg));
	arg.buf = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, GETADDRINFO, &arg));
}

/* Reads a file of the GID table of rxe0. */
static int gid_file(const char *name, uint32_t index, char text[64])
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/rxe0/ports/1/%s/%u", name, index);
	f = fopen(path, "r");
	if (!f || !fgets(text, 64, f))
		text[0] = 0;
	text[strcspn(text, "\n")] = 0;
	return f ? fclose(f) : -1;
}

/* The query and the entry with and without the fields of devices and GIDs */
TEST_F(addrinfo, gid_index)
{
	struct rdma_cmx_getaddrinfo arg = {};
	uint64_t buf[512];
	struct rdma_cmx_ai_entry *e = (void *)buf;
	struct in6_addr gid, want = {};
	char text[64];

	query_make(&arg.query, ADDR_RDMA);
	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	arg.size = 200;
	ASSERT_EQ(0, ioctl(self->fd, RDMA_CMX_IO(GETADDRINFO), &arg));
	ASSERT_EQ(1, entries_count(buf, arg.len));
	EXPECT_EQ(144, e->header_len);
	ASSERT_EQ(RDMA_CMX_GID_ROCE_V2, e->gid_type);
	gid_file("gids", e->gid_index, text);
	ASSERT_EQ(1, inet_pton(AF_INET6, text, &gid));
	memset(want.s6_addr + 10, 0xff, 2);
	inet_pton(AF_INET, ADDR_RDMA, want.s6_addr + 12);
	EXPECT_EQ(0, memcmp(&gid, &want, sizeof(gid)));
	gid_file("gid_attrs/types", e->gid_index, text);
	EXPECT_STREQ("RoCE v2", text);

	/* A source that was given as a GID has the GID type of the port. */
	query_make(&arg.query, "::ffff:10.55.0.1");
	arg.query.ai_flags = RDMA_CMX_AI_FAMILY;
	arg.query.family = AF_IB;
	ASSERT_EQ(0, call(self->fd, GETADDRINFO, &arg));
	ASSERT_EQ(1, entries_count(buf, arg.len));
	EXPECT_EQ(AF_IB, e->src.family);
	EXPECT_EQ(1, e->port_num);
	EXPECT_EQ(RDMA_CMX_GID_ROCE_V2, e->gid_type);
	gid_file("gid_attrs/types", e->gid_index, text);
	EXPECT_STREQ("RoCE v2", text);

	/* An address without a device has no GID. */
	query_make(&arg.query, ADDR_PLAIN);
	ASSERT_EQ(0, call(self->fd, GETADDRINFO, &arg));
	EXPECT_EQ(0, e->port_num);
	EXPECT_EQ(RDMA_CMX_GID_NONE, e->gid_type);
	EXPECT_EQ(0, e->gid_index);
}

#define EXPECT_DEV(err, name, port) do {				\
	arg.query.dev = (uintptr_t)(name);				\
	arg.query.dev_len = strlen(name);				\
	arg.query.dev_port = (port);					\
	EXPECT_EQ(-(err), call(self->fd, GETADDRINFO, &arg))		\
		TH_LOG("'%s' %u", name, port);				\
} while (0)

TEST_F(addrinfo, device)
{
	struct rdma_cmx_resolve_addrinfo later = { .id = self->id };
	struct rdma_cmx_getaddrinfo arg = {};
	uint64_t buf[512];
	struct rdma_cmx_ai_entry *e = (void *)buf;
	char name[65] = {};
	union event_buf ev;
	struct names n;
	uint32_t len;

	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	/* The device reaches one of three addresses. */
	query_make(&arg.query, NODE);
	arg.query.names_len = names_make(&n);
	arg.query.names = (uintptr_t)&n;
	EXPECT_DEV(0, "rxe0", 0);
	EXPECT_EQ(1, entries_count(buf, arg.len));
	EXPECT_EQ(1, e->port_num);
	EXPECT_DEV(0, "rxe0", 1);
	EXPECT_EQ(1, entries_count(buf, arg.len));
	EXPECT_DEV(ENXIO, "rxe0", 2);
	EXPECT_DEV(ENXIO, "rxe0", UINT32_MAX);
	EXPECT_DEV(ENODEV, "rxe", 0);
	EXPECT_DEV(ENODEV, "rxe00", 1);
	EXPECT_DEV(ENODEV, "nosuch0", 0);
	memset(name, 'r', 63);
	EXPECT_DEV(ENODEV, name, 0);
	name[63] = 'r';
	EXPECT_DEV(ENODEV, name, 0);
	arg.query.dev_len = UINT32_MAX;
	EXPECT_EQ(-ENODEV, call(self->fd, GETADDRINFO, &arg));
	/* A name with a NUL, an invalid pointer, and a half-set device */
	arg.query.dev = (uintptr_t)"rxe0";
	arg.query.dev_len = 5;
	EXPECT_EQ(-EINVAL, call(self->fd, GETADDRINFO, &arg));
	arg.query.dev = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, GETADDRINFO, &arg));
	arg.query.dev_len = 0;
	EXPECT_EQ(-EINVAL, call(self->fd, GETADDRINFO, &arg));
	arg.query.dev = 0;
	arg.query.dev_port = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, GETADDRINFO, &arg));

	/* An address that the device does not reach */
	query_make(&arg.query, ADDR_PLAIN);
	EXPECT_DEV(ENETUNREACH, "rxe0", 1);
	/* Passive: the wildcard becomes an address of the device. */
	query_make(&arg.query, NULL);
	arg.query.ai_flags = RDMA_CMX_AI_PASSIVE;
	arg.query.family = AF_INET;
	EXPECT_DEV(0, "rxe0", 1);
	ASSERT_EQ(1, entries_count(buf, arg.len));
	EXPECT_EQ(AF_INET, e->src.family);
	EXPECT_EQ(4420, addr_port(&e->src));
	EXPECT_EQ(1, e->port_num);
	EXPECT_EQ(RDMA_CMX_GID_ROCE_V2, e->gid_type);
	/* By an event, with names that are given later */
	query_make(&later.query, NODE);
	later.query.flags |= RDMA_CMX_AIQ_NAMES_LATER;
	later.query.dev = (uintptr_t)"nosuch0";
	later.query.dev_len = 7;
	EXPECT_EQ(-ENODEV, call(self->fd, RESOLVE_ADDRINFO, &later));
	later.query.dev = (uintptr_t)"rxe0";
	later.query.dev_len = 4;
	ASSERT_EQ(0, call(self->fd, RESOLVE_ADDRINFO, &later));
	ASSERT_EQ(0, names_give(self->fd, self->id, 0));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &ev));
	ASSERT_EQ(0, result_get(self->fd, self->id, buf, sizeof(buf), &len));
	EXPECT_EQ(1, entries_count(buf, len));
	EXPECT_EQ(1, e->port_num);
}

TEST_F(addrinfo, given_names)
{
	struct rdma_cmx_getaddrinfo arg = {};
	uint64_t buf[512];
	struct names n;

	query_make(&arg.query, NODE);
	arg.query.names_len = names_make(&n);
	arg.query.names = (uintptr_t)&n;
	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	ASSERT_EQ(0, call(self->fd, GETADDRINFO, &arg));
	EXPECT_EQ(0, answer_check(buf, arg.len));
}

TEST_F(addrinfo, invalid_queries)
{
	struct rdma_cmx_getaddrinfo arg = {};
	uint64_t buf[512];
	char node[RDMA_CMX_MAX_NODE + 2];
	struct names n;

#define EXPECT_GAI(err) EXPECT_EQ(-(err), call(self->fd, GETADDRINFO, &arg))
	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	/* Longer than any name. */
	memset(node, 'a', sizeof(node));
	query_make(&arg.query, NULL);
	arg.query.node = (uintptr_t)node;
	arg.query.node_len = RDMA_CMX_MAX_NODE + 1;
	EXPECT_GAI(ENOENT);
	arg.query.node_len = UINT32_MAX;
	EXPECT_GAI(ENOENT);
	arg.query.node_len = RDMA_CMX_MAX_NODE;
	EXPECT_GAI(ENOENT);
	/* A NUL inside */
	query_make(&arg.query, NODE);
	memcpy(node, NODE, sizeof(NODE));
	node[3] = 0;
	arg.query.node = (uintptr_t)node;
	EXPECT_GAI(EINVAL);
	arg.query.node = 8;
	EXPECT_GAI(EFAULT);
	/* A service that is too long, or without the SA flag */
	query_make(&arg.query, NULL);
	arg.query.service = (uintptr_t)node;
	arg.query.service_len = RDMA_CMX_MAX_SERVICE + 1;
	EXPECT_GAI(EINVAL);
	/* The query has no node and no port. */
	query_make(&arg.query, NULL);
	arg.query.flags = 0;
	arg.query.port = 0;
	EXPECT_GAI(ENOENT);
	arg.query.port = 1;
	EXPECT_GAI(EINVAL);
	/* Arrays with an invalid length */
	query_make(&arg.query, ADDR_RDMA);
	arg.query.route = (uintptr_t)buf;
	arg.query.route_len = 71;
	EXPECT_GAI(EINVAL);
	arg.query.route_len = 72u << 20;
	EXPECT_GAI(EINVAL);
	query_make(&arg.query, NODE);
	arg.query.names_len = names_make(&n);
	arg.query.names = 8;
	EXPECT_GAI(EFAULT);
	arg.query.names = (uintptr_t)&n;
	arg.query.names_len = 3;
	EXPECT_GAI(EINVAL);
	arg.query.names_len = UINT32_MAX;
	EXPECT_GAI(EINVAL);
	/* Malformed names */
	arg.query.names_len = names_make(&n);
	n.head.addr_count = 200;
	EXPECT_GAI(EBADMSG);
	names_make(&n);
	n.head.version = 99;
	EXPECT_GAI(EBADMSG);
	/* Invalid hints */
	query_make(&arg.query, ADDR_RDMA);
	arg.query.family = AF_UNIX;
	EXPECT_GAI(EAFNOSUPPORT);
	query_make(&arg.query, ADDR_RDMA);
	arg.query.qp_type = 4;	/* UD with RDMA_PS_TCP */
	EXPECT_GAI(EPROTOTYPE);
	query_make(&arg.query, NODE);
	arg.query.ai_flags = RDMA_CMX_AI_NUMERICHOST;
	EXPECT_GAI(ENOENT);
	arg.query.ai_flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_DNS;
	EXPECT_GAI(EOPNOTSUPP);
}

TEST_HARNESS_MAIN
