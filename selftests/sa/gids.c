// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Addresses that are GIDs: numeric nodes, hints, path records and their limits,
 * connection data. All four ports are in this namespace. Each test is a
 * separate process.
 */
#include <endian.h>
#include <infiniband/sa.h>
#include <string.h>

#include "sa.h"

#define SID_TCP		0x01060000ULL
#define SID_UDP		0x01110000ULL
#define SID_IB		0x013F0000ULL
#define PORT_NUM	7471

#define CONNECT_LEN	36

static struct rdma_addrinfo gid_hints(int qp_type, int port_space)
{
	return (struct rdma_addrinfo) {
		.ai_flags = RAI_FAMILY,
		.ai_family = AF_IB,
		.ai_qp_type = qp_type,
		.ai_port_space = port_space,
	};
}

static bool gid_is_local(const struct ib_addr *addr)
{
	for (unsigned int n = 1; n <= DEVICES; n++)
		if (!memcmp(addr, gid(n), sizeof(*addr)))
			return true;
	return false;
}

static unsigned int lid(const void *addr)
{
	for (unsigned int n = 1; n <= DEVICES; n++)
		if (!memcmp(addr, gid(n), 16))
			return bash_number("dev_lid %s", device(n));
	return 0;
}

/* The path records of an entry, between its addresses */
static const struct ibv_path_data *paths_expect(struct __test_metadata *_metadata,
						const struct rdma_addrinfo *ai)
{
	const struct sockaddr_ib *src = ib(ai->ai_src_addr);
	const struct sockaddr_ib *dst = ib(ai->ai_dst_addr);
	const struct ibv_path_data *data = ai->ai_route;
	size_t i, n = ai->ai_route_len / sizeof(*data);

	EXPECT_LT(0, n);
	EXPECT_EQ(0, ai->ai_route_len % sizeof(*data));
	if (!n || !src || !dst)
		abort();
	EXPECT_EQ(IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
		  IBV_PATH_FLAG_BIDIRECTIONAL, data[0].flags);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(0, memcmp(&data[i].path.dgid, &dst->sib_addr, 16));
		EXPECT_EQ(0, memcmp(&data[i].path.sgid, &src->sib_addr, 16));
		EXPECT_EQ(lid(&dst->sib_addr), be16toh(data[i].path.dlid));
		EXPECT_EQ(lid(&src->sib_addr), be16toh(data[i].path.slid));
		EXPECT_EQ(0xffff, be16toh(data[i].path.pkey));
		EXPECT_EQ(0x80, data[i].path.reversible_numpath & 0x80);
		EXPECT_NE(0, data[i].path.mtu & 0x3f);
		EXPECT_NE(0, data[i].path.rate & 0x3f);
	}
	return data;
}

static void gid_expect(struct __test_metadata *_metadata,
		       const struct rdma_addrinfo *ai, unsigned int node,
		       unsigned long long sid)
{
	const struct sockaddr_ib *dst = ib(ai->ai_dst_addr);
	const struct sockaddr_ib *src = ib(ai->ai_src_addr);

	EXPECT_EQ(AF_IB, ai->ai_family);
	EXPECT_EQ(sizeof(*dst), ai->ai_dst_len);
	EXPECT_EQ(sizeof(*src), ai->ai_src_len);
	ASSERT_NE(NULL, dst);
	ASSERT_NE(NULL, src);
	EXPECT_EQ(0, memcmp(&dst->sib_addr, gid(node), 16));
	EXPECT_EQ(sid, be64toh(dst->sib_sid));
	EXPECT_EQ(UINT64_MAX, be64toh(dst->sib_sid_mask));
	EXPECT_EQ(0xffff, be16toh(dst->sib_pkey));
	EXPECT_EQ(0xffff, be16toh(src->sib_pkey));
	EXPECT_TRUE(gid_is_local(&src->sib_addr));
}

TEST(GAI_06_numeric_gid)
{
	static const struct {
		int qp_type, port_space;
		unsigned long long sid;
	} kinds[] = {
		{ IBV_QPT_RC, RDMA_PS_TCP, SID_TCP },
		{ IBV_QPT_UD, RDMA_PS_UDP, SID_UDP },
		{ IBV_QPT_RC, RDMA_PS_IB, SID_IB },
		{ IBV_QPT_UD, RDMA_PS_IB, SID_IB },
	};
	struct rdma_addrinfo hints, *res;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		hints = gid_hints(kinds[i].qp_type, kinds[i].port_space);
		ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &hints, &res));
		EXPECT_EQ(NULL, res->ai_next);
		EXPECT_EQ(kinds[i].qp_type, res->ai_qp_type);
		EXPECT_EQ(kinds[i].port_space, res->ai_port_space);
		gid_expect(_metadata, res, 2, kinds[i].sid + PORT_NUM);
		paths_expect(_metadata, res);
		rdma_freeaddrinfo(res);
	}
}

TEST(GAI_06_both_types)
{
	struct rdma_addrinfo hints = gid_hints(0, 0), *res;

	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(3), PORT, &hints, &res));
	ASSERT_EQ(2, ai_count(res));
	gid_expect(_metadata, res, 3, SID_TCP + PORT_NUM);
	gid_expect(_metadata, res->ai_next, 3, SID_UDP + PORT_NUM);
	paths_expect(_metadata, res);
	paths_expect(_metadata, res->ai_next);
	rdma_freeaddrinfo(res);
}

TEST(GAI_08_gid_of_nobody_is_unreachable)
{
	struct rdma_addrinfo hints = gid_hints(IBV_QPT_RC, RDMA_PS_IB), *res;

	/* A GID of the subnet that no port has */
	ASSERT_EQ(0, rdma_getaddrinfo("fe80::dead:beef:0:1", PORT, &hints,
				      &res));
	EXPECT_EQ(NULL, res->ai_next);
	EXPECT_EQ(0, res->ai_src_len);
	EXPECT_EQ(0, res->ai_route_len);
	EXPECT_EQ(sizeof(struct sockaddr_ib), res->ai_dst_len);
	rdma_freeaddrinfo(res);
}

TEST(GAI_09_no_route_if_not_wanted)
{
	struct rdma_addrinfo hints = gid_hints(IBV_QPT_RC, RDMA_PS_IB), *res;
	long long before;

	hints.ai_flags |= RAI_NOROUTE;
	before = sa_queries(ATTR_PATH);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &hints, &res));
	gid_expect(_metadata, res, 2, SID_IB + PORT_NUM);
	EXPECT_EQ(0, res->ai_route_len);
	EXPECT_EQ(NULL, res->ai_route);
	rdma_freeaddrinfo(res);
	EXPECT_EQ(before, sa_queries(ATTR_PATH));
}

TEST(GAI_09_passive_has_no_route)
{
	struct rdma_addrinfo hints = gid_hints(IBV_QPT_RC, RDMA_PS_TCP), *res;

	hints.ai_flags |= RAI_PASSIVE;
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &hints, &res));
	EXPECT_EQ(0, res->ai_dst_len);
	EXPECT_EQ(0, memcmp(&ib(res->ai_src_addr)->sib_addr, gid(2), 16));
	EXPECT_EQ(0, res->ai_route_len);
	EXPECT_EQ(0, res->ai_connect_len);
	rdma_freeaddrinfo(res);
}

FIXTURE(limit) {
	struct ibv_path_data data[10];
	struct rdma_addrinfo hints;
	struct rdma_addrinfo *res;
};

FIXTURE_SETUP(limit)
{
	memset(self, 0, sizeof(*self));
	self->hints = gid_hints(IBV_QPT_RC, RDMA_PS_IB);
	self->hints.ai_route = self->data;
	self->hints.ai_route_len = sizeof(self->data[0]);
}

FIXTURE_TEARDOWN(limit)
{
	rdma_freeaddrinfo(self->res);
}

TEST_F(limit, GAI_09_limit_service_level)
{
	const struct ibv_path_data *path;

	self->data[0].path.qosclass_sl = htobe16(3);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
				      &self->res));
	path = paths_expect(_metadata, self->res);
	EXPECT_EQ(3, be16toh(path->path.qosclass_sl) & 0xf);
}

TEST_F(limit, GAI_09_limit_as_path_record)
{
	struct ibv_path_record rec = { .qosclass_sl = htobe16(5) };
	const struct ibv_path_data *path;

	self->hints.ai_route = &rec;
	self->hints.ai_route_len = sizeof(rec);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
				      &self->res));
	path = paths_expect(_metadata, self->res);
	EXPECT_EQ(5, be16toh(path->path.qosclass_sl) & 0xf);
}

TEST_F(limit, GAI_09_one_of_several_limits)
{
	const struct ibv_path_data *path;
	unsigned int seen = 0;
	size_t i;

	self->data[0].path.qosclass_sl = htobe16(1);
	self->data[1].path.qosclass_sl = htobe16(2);
	self->hints.ai_route_len = 2 * sizeof(self->data[0]);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
				      &self->res));
	path = paths_expect(_metadata, self->res);
	for (i = 0; i < self->res->ai_route_len / sizeof(*path); i++)
		seen |= 1 << (be16toh(path[i].path.qosclass_sl) & 0xf);
	EXPECT_EQ(1 << 1 | 1 << 2, seen);
}

TEST_F(limit, GAI_09_limit_mtu)
{
	const struct ibv_path_data *path;

	/* Exactly 256 */
	self->data[0].path.mtu = 2 << 6 | IBV_MTU_256;
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
				      &self->res));
	path = paths_expect(_metadata, self->res);
	EXPECT_EQ(IBV_MTU_256, path->path.mtu & 0x3f);
}

/* No path matches: the entry has the address, without a route. */
TEST_F(limit, GAI_09_limit_that_nothing_meets)
{
	/* More than 4096 */
	self->data[0].path.mtu = 0 << 6 | IBV_MTU_4096;
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
				      &self->res));
	EXPECT_EQ(0, self->res->ai_route_len);
	gid_expect(_metadata, self->res, 2, SID_IB + PORT_NUM);
}

TEST_F(limit, GAI_09_limit_to_another_node)
{
	memcpy(&self->data[0].path.dgid, gid(3), 16);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
				      &self->res));
	EXPECT_EQ(0, self->res->ai_route_len);
}

TEST_F(limit, GAI_09_limit_names_the_source)
{
	for (unsigned int n = 1; n <= DEVICES; n++) {
		memcpy(&self->data[0].path.sgid, gid(n), 16);
		ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
					      &self->res));
		EXPECT_EQ(0, memcmp(&ib(self->res->ai_src_addr)->sib_addr,
				    gid(n), 16));
		paths_expect(_metadata, self->res);
		rdma_freeaddrinfo(self->res);
		self->res = NULL;
	}
}

TEST_F(limit, GAI_09_too_many_limits)
{
	for (size_t i = 0; i < ARRAY_SIZE(self->data); i++)
		self->data[i].path.qosclass_sl = htobe16(1);
	self->hints.ai_route_len = 8 * sizeof(self->data[0]);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
				      &self->res));
	rdma_freeaddrinfo(self->res);
	self->res = NULL;
	self->hints.ai_route_len = 10 * sizeof(self->data[0]);
	EXPECT_EQ(EAI_SYSTEM, rdma_getaddrinfo(gid_text(2), PORT, &self->hints,
					       &self->res));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(limit, GAI_07_GAI_09_route_alone)
{
	const struct ibv_path_data *path;
	struct rdma_addrinfo *res;

	memcpy(&self->data[0].path.dgid, gid(4), 16);
	memcpy(&self->data[0].path.sgid, gid(2), 16);
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &self->hints, &self->res));
	EXPECT_EQ(NULL, self->res->ai_next);
	gid_expect(_metadata, self->res, 4, SID_IB + PORT_NUM);
	EXPECT_EQ(0, memcmp(&ib(self->res->ai_src_addr)->sib_addr, gid(2), 16));
	paths_expect(_metadata, self->res);

	/* The result of one call is the hint of the next. */
	self->hints.ai_route = self->res->ai_route;
	self->hints.ai_route_len = self->res->ai_route_len;
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &self->hints, &res));
	gid_expect(_metadata, res, 4, SID_IB + PORT_NUM);
	path = paths_expect(_metadata, res);
	EXPECT_EQ(0, memcmp(&path->path, self->res->ai_route + 8,
			    sizeof(path->path)));
	rdma_freeaddrinfo(res);

	/* Without a port the service id is that of the path, unchanged. */
	self->data[0].path.service_id = htobe64(0x123456789abcULL);
	self->hints.ai_route = self->data;
	self->hints.ai_route_len = sizeof(self->data[0]);
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, NULL, &self->hints, &res));
	gid_expect(_metadata, res, 4, 0x123456789abcULL);
	rdma_freeaddrinfo(res);
}

TEST_F(limit, GAI_07_route_without_destination)
{
	self->data[0].path.qosclass_sl = htobe16(1);
	EXPECT_EQ(EAI_NONAME, rdma_getaddrinfo(NULL, NULL, &self->hints,
					       &self->res));
}

TEST(GAI_07_destination_alone)
{
	struct sockaddr_ib dst = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(0xffff),
		.sib_addr = *gid(3),
		.sib_sid = htobe64(0x123456789abcULL),
		.sib_sid_mask = UINT64_MAX,
	};
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_IB,
		.ai_dst_addr = (struct sockaddr *)&dst,
		.ai_dst_len = sizeof(dst),
	};
	struct rdma_addrinfo *res;

	/* No port: the service id is the caller's. */
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, NULL, &hints, &res));
	gid_expect(_metadata, res, 3, 0x123456789abcULL);
	paths_expect(_metadata, res);
	rdma_freeaddrinfo(res);

	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &hints, &res));
	gid_expect(_metadata, res, 3, SID_IB + PORT_NUM);
	rdma_freeaddrinfo(res);
}

TEST(GAI_07_source_and_destination)
{
	struct sockaddr_ib src = { .sib_family = AF_IB, .sib_addr = *gid(4) };
	struct sockaddr_ib dst = { .sib_family = AF_IB, .sib_addr = *gid(3) };
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_IB,
		.ai_src_addr = (struct sockaddr *)&src,
		.ai_src_len = sizeof(src),
		.ai_dst_addr = (struct sockaddr *)&dst,
		.ai_dst_len = sizeof(dst),
	};
	struct rdma_addrinfo *res;

	src.sib_pkey = htobe16(0xffff);
	dst.sib_pkey = htobe16(0xffff);
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &hints, &res));
	EXPECT_EQ(0, memcmp(&ib(res->ai_src_addr)->sib_addr, gid(4), 16));
	paths_expect(_metadata, res);
	rdma_freeaddrinfo(res);

	/* Only a source */
	hints.ai_dst_len = 0;
	hints.ai_dst_addr = NULL;
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, NULL, &hints, &res));
	EXPECT_EQ(0, res->ai_dst_len);
	EXPECT_EQ(0, memcmp(&ib(res->ai_src_addr)->sib_addr, gid(4), 16));
	rdma_freeaddrinfo(res);
}

/* IB address in an IP port space: 36 bytes that the peer's rdma_cm needs */
TEST(GAI_10_connect_data)
{
	struct rdma_addrinfo hints, *res, *ai;
	const unsigned char *hdr;

	hints = gid_hints(0, 0);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &hints, &res));
	for (ai = res; ai; ai = ai->ai_next) {
		ASSERT_EQ(CONNECT_LEN, ai->ai_connect_len);
		hdr = ai->ai_connect;
		EXPECT_EQ(0, hdr[0]);
		EXPECT_EQ(0, hdr[1] >> 4);
		EXPECT_EQ(0, memcmp(hdr + 4, &ib(ai->ai_src_addr)->sib_addr,
				    16));
		EXPECT_EQ(0, memcmp(hdr + 20, gid(2), 16));
	}
	rdma_freeaddrinfo(res);

	hints = gid_hints(IBV_QPT_RC, RDMA_PS_IB);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(2), PORT, &hints, &res));
	EXPECT_EQ(0, res->ai_connect_len);
	EXPECT_EQ(NULL, res->ai_connect);
	rdma_freeaddrinfo(res);
}

TEST_HARNESS_MAIN
