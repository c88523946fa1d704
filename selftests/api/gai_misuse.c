// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GAI-15: misuse of rdma_getaddrinfo() returns an error. The stock library
 * crashes or reads past the end on each of these. Addresses lie at the end of
 * mapped memory, so that a read past the end crashes.
 */
#include "api.h"

#define EINVAL_EXPECT(call) do {					\
	errno = 0;							\
	EXPECT_EQ(EAI_SYSTEM, call);					\
	EXPECT_EQ(EINVAL, errno);					\
} while (0)

static struct rdma_addrinfo *res;

TEST(GAI_15_res_null)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST };

	EINVAL_EXPECT(rdma_getaddrinfo(PEER4, PORT, NULL, NULL));
	EINVAL_EXPECT(rdma_getaddrinfo(PEER4, PORT, &hints, NULL));
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, PORT, &hints, NULL));
}

TEST(GAI_15_src_len_without_address)
{
	struct rdma_addrinfo hints = { .ai_src_len = 16 };

	EINVAL_EXPECT(rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));
	hints.ai_flags = RAI_PASSIVE;
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, PORT, &hints, &res));
}

TEST(GAI_15_dst_len_without_address)
{
	struct rdma_addrinfo hints = { .ai_dst_len = 16 };

	EINVAL_EXPECT(rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));
}

/* An address with a length that does not match its family */
static void len_expect(struct __test_metadata *_metadata, const char *host,
		       socklen_t len)
{
	struct rdma_addrinfo hints = { };
	struct sockaddr_storage ss;
	void *addr;

	addr_make(&ss, host, 7471);
	addr = guarded(&ss, len);

	hints.ai_src_addr = addr;
	hints.ai_src_len = len;
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, PORT, &hints, &res));
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));

	memset(&hints, 0, sizeof(hints));
	hints.ai_dst_addr = addr;
	hints.ai_dst_len = len;
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, PORT, &hints, &res));
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));
}

TEST(GAI_15_address_too_short)
{
	len_expect(_metadata, PEER4, 1);
	len_expect(_metadata, PEER4, 2);
	len_expect(_metadata, PEER4, 8);
	len_expect(_metadata, PEER4, 15);
	len_expect(_metadata, PEER6, 16);
	len_expect(_metadata, PEER6, 27);
}

TEST(GAI_15_address_too_long)
{
	len_expect(_metadata, PEER4, sizeof(struct sockaddr_in6));
	len_expect(_metadata, PEER4, 128);
	len_expect(_metadata, PEER6, 48);
}

TEST(GAI_15_huge_length)
{
	struct sockaddr_storage ss;
	struct rdma_addrinfo hints = {
		.ai_dst_addr = addr_make(&ss, PEER4, 7471),
		.ai_dst_len = 0xffffffff,
	};

	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));
	hints.ai_src_addr = hints.ai_dst_addr;
	hints.ai_src_len = 0x7fffffff;
	hints.ai_dst_addr = NULL;
	hints.ai_dst_len = 0;
	EINVAL_EXPECT(rdma_getaddrinfo(PEER4, PORT, &hints, &res));
}

TEST(GAI_15_unknown_family_of_address)
{
	struct sockaddr_storage ss;
	struct rdma_addrinfo hints = {
		.ai_dst_addr = addr_make(&ss, PEER4, 7471),
		.ai_dst_len = sizeof(struct sockaddr_in),
	};

	ss.ss_family = AF_UNIX;
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));
	ss.ss_family = AF_UNSPEC;
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));
	ss.ss_family = 0xffff;
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));
}

TEST(GAI_15_address_of_another_family)
{
	struct sockaddr_storage ss;
	struct rdma_addrinfo hints = {
		.ai_family = AF_INET6,
		.ai_src_addr = addr_make(&ss, OWN4, 0),
		.ai_src_len = sizeof(struct sockaddr_in),
	};

	EINVAL_EXPECT(rdma_getaddrinfo(PEER6, PORT, &hints, &res));

	memset(&hints, 0, sizeof(hints));
	hints.ai_family = AF_INET;
	hints.ai_dst_addr = addr_make(&ss, PEER6, 7471);
	hints.ai_dst_len = sizeof(struct sockaddr_in6);
	EINVAL_EXPECT(rdma_getaddrinfo(NULL, NULL, &hints, &res));
}

/* An IPv4 text is no GID; a parser of GIDs would read past its 16 bytes. */
TEST(GAI_15_ipv4_text_as_gid)
{
	static const unsigned char mapped[16] = { [10] = 0xff, 0xff, 10, 55, 0,
						  2 };
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_FAMILY | RAI_NUMERICHOST,
		.ai_family = AF_IB,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	int ret;

	for (int i = 0; i < 2; i++) {
		ret = rdma_getaddrinfo(PEER4, PORT, &hints, &res);
		if (ret) {
			EXPECT_EQ(EAI_ADDRFAMILY, ret);
		} else {
			EXPECT_EQ(AF_IB, res->ai_dst_addr->sa_family);
			EXPECT_EQ(0, memcmp((char *)res->ai_dst_addr + 8,
					    mapped, 16));
			rdma_freeaddrinfo(res);
		}
		hints.ai_flags = RAI_FAMILY;
	}
}

TEST(GAI_15_node_string_at_end_of_memory)
{
	char *node = guarded(PEER4, sizeof(PEER4));
	char *service = guarded(PORT, sizeof(PORT));

	ASSERT_EQ(0, rdma_getaddrinfo(node, service, NULL, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);
}

TEST(GAI_15_free_null)
{
	rdma_freeaddrinfo(NULL);
}

TEST_HARNESS_MAIN
