// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rdma_getaddrinfo() with hints: QP type and port space, passive side, GIDs,
 * and queries without a node.
 */
#include "api.h"

/*
 * GAI-03. The result for a QP type and a port space; qp < 0: EAI_QPTYPE. The
 * valid combinations are those of rdma-core.
 */
FIXTURE(pair) {
	int unused;
};

FIXTURE_VARIANT(pair) {
	int qp, ps, out_qp, out_ps;
};

#define PAIR(_name, _qp, _ps, _out_qp, _out_ps)				\
FIXTURE_VARIANT_ADD(pair, _name) {					\
	.qp = _qp, .ps = _ps, .out_qp = _out_qp, .out_ps = _out_ps,	\
}

PAIR(rc_tcp, IBV_QPT_RC, RDMA_PS_TCP, IBV_QPT_RC, RDMA_PS_TCP);
PAIR(uc_tcp, IBV_QPT_UC, RDMA_PS_TCP, IBV_QPT_UC, RDMA_PS_TCP);
PAIR(xrc_send_tcp, IBV_QPT_XRC_SEND, RDMA_PS_TCP, IBV_QPT_XRC_SEND,
     RDMA_PS_TCP);
PAIR(xrc_recv_tcp, IBV_QPT_XRC_RECV, RDMA_PS_TCP, IBV_QPT_XRC_RECV,
     RDMA_PS_TCP);
PAIR(ud_udp, IBV_QPT_UD, RDMA_PS_UDP, IBV_QPT_UD, RDMA_PS_UDP);
PAIR(ud_ipoib, IBV_QPT_UD, RDMA_PS_IPOIB, IBV_QPT_UD, RDMA_PS_IPOIB);
PAIR(rc_ib, IBV_QPT_RC, RDMA_PS_IB, IBV_QPT_RC, RDMA_PS_IB);
PAIR(uc_ib, IBV_QPT_UC, RDMA_PS_IB, IBV_QPT_UC, RDMA_PS_IB);
PAIR(ud_ib, IBV_QPT_UD, RDMA_PS_IB, IBV_QPT_UD, RDMA_PS_IB);
PAIR(rc_any, IBV_QPT_RC, 0, IBV_QPT_RC, RDMA_PS_TCP);
PAIR(uc_any, IBV_QPT_UC, 0, IBV_QPT_UC, RDMA_PS_TCP);
PAIR(ud_any, IBV_QPT_UD, 0, IBV_QPT_UD, RDMA_PS_UDP);
PAIR(any_tcp, 0, RDMA_PS_TCP, IBV_QPT_RC, RDMA_PS_TCP);
PAIR(any_udp, 0, RDMA_PS_UDP, IBV_QPT_UD, RDMA_PS_UDP);
PAIR(any_ipoib, 0, RDMA_PS_IPOIB, IBV_QPT_UD, RDMA_PS_IPOIB);
PAIR(ud_tcp, IBV_QPT_UD, RDMA_PS_TCP, -1, 0);
PAIR(rc_udp, IBV_QPT_RC, RDMA_PS_UDP, -1, 0);
PAIR(uc_udp, IBV_QPT_UC, RDMA_PS_UDP, -1, 0);
PAIR(xrc_send_udp, IBV_QPT_XRC_SEND, RDMA_PS_UDP, -1, 0);
PAIR(rc_ipoib, IBV_QPT_RC, RDMA_PS_IPOIB, -1, 0);

FIXTURE_SETUP(pair)
{
}

FIXTURE_TEARDOWN(pair)
{
}

TEST_F(pair, GAI_03_qp_type_and_port_space)
{
	struct rdma_addrinfo hints = {
		.ai_qp_type = variant->qp,
		.ai_port_space = variant->ps,
	};
	struct rdma_addrinfo *res;

	/* By number and by name: the check is the same for both. */
	if (variant->out_qp < 0) {
		EXPECT_EQ(EAI_QPTYPE,
			  rdma_getaddrinfo(PEER4, PORT, &hints, &res));
		EXPECT_EQ(EAI_QPTYPE,
			  rdma_getaddrinfo(NAME_V4, PORT, &hints, &res));
		EXPECT_EQ(EAI_QPTYPE,
			  rdma_getaddrinfo(NULL, PORT, &hints, &res));
		return;
	}
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_EQ(variant->out_qp, res->ai_qp_type);
	EXPECT_EQ(variant->out_ps, res->ai_port_space);
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_V4, PORT, &hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_EQ(variant->out_qp, res->ai_qp_type);
	EXPECT_EQ(variant->out_ps, res->ai_port_space);
	rdma_freeaddrinfo(res);
}

TEST(GAI_03_unknown_qp_type)
{
	struct rdma_addrinfo hints = { .ai_qp_type = 77 }, *res;

	EXPECT_EQ(EAI_QPTYPE, rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	hints.ai_qp_type = -1;
	EXPECT_EQ(EAI_QPTYPE, rdma_getaddrinfo(NAME_V4, PORT, &hints, &res));
}

/* Two adjacent entries for each address, RC first */
static void both_expect(struct __test_metadata *_metadata,
			struct rdma_addrinfo *res, unsigned int addresses)
{
	struct rdma_addrinfo *ai;
	char a[160], b[160];

	EXPECT_EQ(2 * addresses, ai_count(res));
	for (ai = res; ai && ai->ai_next; ai = ai->ai_next->ai_next) {
		EXPECT_EQ(IBV_QPT_RC, ai->ai_qp_type);
		EXPECT_EQ(RDMA_PS_TCP, ai->ai_port_space);
		EXPECT_EQ(IBV_QPT_UD, ai->ai_next->ai_qp_type);
		EXPECT_EQ(RDMA_PS_UDP, ai->ai_next->ai_port_space);
		EXPECT_STREQ(addr_text(ai->ai_dst_addr, a, sizeof(a)),
			     addr_text(ai->ai_next->ai_dst_addr, b, sizeof(b)));
	}
}

TEST(GAI_03_both_zero)
{
	struct rdma_addrinfo hints = { }, *res;

	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	both_expect(_metadata, res, 1);
	rdma_freeaddrinfo(res);
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, &hints, &res));
	both_expect(_metadata, res, 3);
	rdma_freeaddrinfo(res);
}

TEST(GAI_03_no_hints)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, NULL, &res));
	both_expect(_metadata, res, 3);
	rdma_freeaddrinfo(res);
}

static const struct rdma_addrinfo passive_hints = {
	.ai_flags = RAI_PASSIVE,
	.ai_qp_type = IBV_QPT_RC,
	.ai_port_space = RDMA_PS_TCP,
};

TEST(GAI_04_passive_with_node)
{
	static const char *const nodes[] = { OWN4, OWN6 };
	struct rdma_addrinfo *res;
	char text[160];

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, rdma_getaddrinfo(nodes[i], PORT, &passive_hints,
					      &res));
		EXPECT_EQ(1, ai_count(res));
		EXPECT_EQ(0, res->ai_dst_len);
		EXPECT_EQ(NULL, res->ai_dst_addr);
		ASSERT_NE(NULL, res->ai_src_addr);
		EXPECT_EQ(addr_len(res->ai_src_addr), res->ai_src_len);
		EXPECT_STREQ(i ? "[fd55::1]:7471" : "10.55.0.1:7471",
			     addr_text(res->ai_src_addr, text, sizeof(text)));
		EXPECT_EQ(RAI_PASSIVE, res->ai_flags & RAI_PASSIVE);
		rdma_freeaddrinfo(res);
	}
}

TEST(GAI_04_passive_with_name)
{
	struct rdma_addrinfo *res, *ai;
	bool v4 = false, v6 = false;
	char text[160];

	ASSERT_EQ(0, rdma_getaddrinfo("alpha.cmx.test", PORT, &passive_hints,
				      &res));
	EXPECT_EQ(2, ai_count(res));
	for (ai = res; ai; ai = ai->ai_next) {
		EXPECT_EQ(0, ai->ai_dst_len);
		EXPECT_EQ(NULL, ai->ai_dst_addr);
		addr_text(ai->ai_src_addr, text, sizeof(text));
		v4 |= !strcmp(text, "10.55.0.1:7471");
		v6 |= !strcmp(text, "[fd55::1]:7471");
	}
	EXPECT_TRUE(v4 && v6);
	rdma_freeaddrinfo(res);
}

TEST(GAI_04_passive_without_node)
{
	struct rdma_addrinfo hints = passive_hints, *res, *ai;
	bool v4 = false, v6 = false;
	char text[160];

	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &hints, &res));
	EXPECT_EQ(2, ai_count(res));
	for (ai = res; ai; ai = ai->ai_next) {
		EXPECT_EQ(0, ai->ai_dst_len);
		addr_text(ai->ai_src_addr, text, sizeof(text));
		v4 |= !strcmp(text, "0.0.0.0:7471");
		v6 |= !strcmp(text, "[::]:7471");
	}
	EXPECT_TRUE(v4);
	EXPECT_TRUE(v6);
	rdma_freeaddrinfo(res);

	hints.ai_family = AF_INET6;
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_STREQ("[::]:7471",
		     addr_text(res->ai_src_addr, text, sizeof(text)));
	rdma_freeaddrinfo(res);
}

TEST(GAI_04_passive_result_can_be_listened_on)
{
	struct rdma_event_channel *channel;
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_getaddrinfo(OWN4, "7472", &passive_hints, &res));
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, res->ai_port_space));
	EXPECT_EQ(0, rdma_bind_addr(id, res->ai_src_addr));
	EXPECT_EQ(0, rdma_listen(id, 1));
	EXPECT_EQ(htons(7472), rdma_get_src_port(id));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	rdma_freeaddrinfo(res);
}

static void gid_expect(struct __test_metadata *_metadata, int flags)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_FAMILY | flags,
		.ai_family = AF_IB,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *res;
	unsigned char gid[16];
	struct sockaddr_ib_view *sib;

	inet_pton(AF_INET6, "fe80::2:c903:0:1491", gid);
	ASSERT_EQ(0, rdma_getaddrinfo("fe80::2:c903:0:1491", PORT, &hints,
				      &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_EQ(AF_IB, res->ai_family);
	ASSERT_EQ(sizeof(*sib), res->ai_dst_len);
	sib = (struct sockaddr_ib_view *)res->ai_dst_addr;
	EXPECT_EQ(AF_IB, sib->family);
	EXPECT_EQ(0, memcmp(gid, sib->gid, 16));
	EXPECT_EQ(0xffff, ntohs(sib->pkey));
	EXPECT_EQ(RDMA_IB_IP_PS_TCP | 7471, be64toh(sib->sid));
	EXPECT_EQ(~0ULL, be64toh(sib->sid_mask));
	rdma_freeaddrinfo(res);
}

TEST(GAI_06_gid)
{
	gid_expect(_metadata, 0);
}

TEST(GAI_06_gid_numerichost)
{
	gid_expect(_metadata, RAI_NUMERICHOST);
}

TEST(GAI_07_destination_of_hints)
{
	struct sockaddr_storage ss;
	struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
		.ai_dst_addr = addr_make(&ss, PEER4, 7471),
		.ai_dst_len = sizeof(struct sockaddr_in),
	};
	struct rdma_addrinfo *res;
	char text[160];

	ASSERT_EQ(0, rdma_getaddrinfo(NULL, NULL, &hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	EXPECT_NE(hints.ai_dst_addr, res->ai_dst_addr);
	EXPECT_STREQ(OWN4, host_text(res->ai_src_addr, text, sizeof(text)));
	rdma_freeaddrinfo(res);
}

TEST(GAI_07_source_of_hints)
{
	struct sockaddr_storage ss;
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_PASSIVE,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
		.ai_src_addr = addr_make(&ss, OWN6, 7471),
		.ai_src_len = sizeof(struct sockaddr_in6),
	};
	struct rdma_addrinfo *res;
	char text[160];

	ASSERT_EQ(0, rdma_getaddrinfo(NULL, NULL, &hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_EQ(0, res->ai_dst_len);
	EXPECT_STREQ("[fd55::1]:7471",
		     addr_text(res->ai_src_addr, text, sizeof(text)));
	rdma_freeaddrinfo(res);
}

TEST(GAI_07_service_only_is_loopback)
{
	struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
		.ai_family = AF_INET,
	};
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "127.0.0.1:7471"));
	rdma_freeaddrinfo(res);

	hints.ai_family = AF_INET6;
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "[::1]:7471"));
	rdma_freeaddrinfo(res);

	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, NULL, &res));
	EXPECT_NE(NULL, ai_find(res, "127.0.0.1:7471"));
	EXPECT_NE(NULL, ai_find(res, "[::1]:7471"));
	rdma_freeaddrinfo(res);
}

/*
 * Nine records without flags have the length of eight with flags: GAI-09,
 * GAI-15. Nine are too many, and the call fails. As eight with flags they would
 * limit the paths at random.
 */
TEST(GAI_09_length_of_two_meanings)
{
	struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_RC }, *res;
	struct ibv_path_record records[9] = { };
	struct ibv_path_data data[8] = { };

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		records[i].dgid.raw[0] = 0xfe;
		records[i].dgid.raw[1] = 0x80;
		records[i].dgid.raw[15] = i + 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(data); i++) {
		data[i].flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
				IBV_PATH_FLAG_BIDIRECTIONAL;
		data[i].path = records[i];
	}
	hints.ai_route = records;
	hints.ai_route_len = sizeof(records);
	errno = 0;
	EXPECT_EQ(EAI_SYSTEM, rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	EXPECT_EQ(EINVAL, errno);

	hints.ai_route = data;
	hints.ai_route_len = sizeof(data);
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);

	hints.ai_route = records;
	hints.ai_route_len = 8 * sizeof(records[0]);
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	rdma_freeaddrinfo(res);
}

/* Neighbour discoveries by resolutions of names, or -1 */
static long neighs_warmed(void)
{
	FILE *file = fopen("/sys/module/rdma_cmx/counters/neighs_warmed", "r");
	long value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* A resolution without routes does not discover neighbours. */
TEST(GAI_09_noroute_discovers_no_neighbour)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NOROUTE, .ai_qp_type = IBV_QPT_RC,
	}, *res;
	long before;

	ASSERT_EQ(0, run("ip neigh flush to " PEER4 " dev " ETH));
	before = neighs_warmed();
	ASSERT_LE(0, before);
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_V4, PORT, &hints, &res));
	rdma_freeaddrinfo(res);
	EXPECT_EQ(before, neighs_warmed());
}

TEST_HARNESS_MAIN
