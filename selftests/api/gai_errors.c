// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GAI-02: rdma_getaddrinfo() returns a distinct error for each reason. Misuse
 * that crashes the stock library is in gai_misuse.c.
 */
#include "api.h"

/* An error returns no result. */
static struct rdma_addrinfo *const untouched = (void *)0x1234;

static int error_of(const char *node, const char *service, int flags, int family)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_family = family,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *res = untouched;
	int ret;

	ret = rdma_getaddrinfo(node, service, &hints, &res);
	if (!ret)
		rdma_freeaddrinfo(res);
	return ret;
}

static int error_in_zone(const char *zone)
{
	char name[128];

	return error_of(name_fresh(zone, name, sizeof(name)), PORT, 0, 0);
}

TEST(GAI_02_nothing_given)
{
	struct rdma_addrinfo *res = untouched;

	EXPECT_EQ(EAI_NONAME, rdma_getaddrinfo(NULL, NULL, NULL, &res));
}

TEST(GAI_02_unknown_node)
{
	EXPECT_EQ(EAI_NONAME, error_in_zone("cmx.test"));
	EXPECT_EQ(EAI_NONAME, error_in_zone("nowhere.example"));
	/* The cache answers the second call. */
	EXPECT_EQ(EAI_NONAME, error_of("nobody.cmx.test", PORT, 0, 0));
	EXPECT_EQ(EAI_NONAME, error_of("nobody.cmx.test", PORT, 0, 0));
}

TEST(GAI_02_name_without_address)
{
	EXPECT_EQ(EAI_NODATA, error_of(NAME_NODATA, PORT, 0, 0));
	EXPECT_EQ(EAI_NODATA, error_of(NAME_NODATA, PORT, 0, AF_UNSPEC));
}

TEST(GAI_02_no_address_of_family)
{
	EXPECT_EQ(EAI_ADDRFAMILY, error_of(NAME_V4, PORT, 0, AF_INET6));
	EXPECT_EQ(EAI_ADDRFAMILY, error_of(NAME_V6, PORT, 0, AF_INET));
	EXPECT_EQ(EAI_ADDRFAMILY, error_of(PEER4, PORT, 0, AF_INET6));
	EXPECT_EQ(EAI_ADDRFAMILY, error_of(PEER6, PORT, 0, AF_INET));
}

TEST(GAI_02_server_silent)
{
	EXPECT_EQ(EAI_AGAIN, error_in_zone("silent.test"));
}

TEST(GAI_02_server_servfail)
{
	EXPECT_EQ(EAI_AGAIN, error_in_zone("servfail.test"));
}

TEST(GAI_02_server_refused)
{
	EXPECT_EQ(EAI_FAIL, error_in_zone("refused.test"));
}

TEST(GAI_02_unknown_flags)
{
	unsigned int bit;

	for (bit = 6; bit < 32; bit++) {
		EXPECT_EQ(EAI_BADFLAGS, error_of(PEER4, PORT, 1u << bit, 0)) {
			TH_LOG("flag 0x%x", 1u << bit);
		}
	}
	EXPECT_EQ(EAI_BADFLAGS, error_of(NAME_V4, PORT, RAI_PASSIVE | 0x40, 0));
}

TEST(GAI_02_sa_with_dns)
{
	EXPECT_EQ(EAI_BADFLAGS, error_of(NULL, "svc", RAI_SA | RAI_DNS, 0));
	EXPECT_EQ(EAI_BADFLAGS, error_of(NAME_V4, PORT, RAI_SA | RAI_DNS, 0));
}

TEST(GAI_02_unknown_family)
{
	EXPECT_EQ(EAI_FAMILY, error_of(PEER4, PORT, 0, AF_UNIX));
	EXPECT_EQ(EAI_FAMILY, error_of(NAME_V4, PORT, 0, 255));
	EXPECT_EQ(EAI_FAMILY, error_of(NAME_V4, PORT, 0, -1));
	EXPECT_EQ(EAI_FAMILY, error_of(NAME_V4, PORT, 0, 0x10002));
}

TEST(GAI_02_unknown_service)
{
	EXPECT_EQ(EAI_SERVICE, error_of(PEER4, "nosuchservice", 0, 0));
	EXPECT_EQ(EAI_SERVICE, error_of(NULL, "nosuchservice", 0, 0));
}

TEST(GAI_02_port_out_of_range)
{
	static const char *const ports[] = {
		"65536", "70000", "-1", "4294967296", "4294974767",
		"18446744073709551616", "99999999999999999999999", "7471x",
		"0x1d2f", "74 71",
	};

	for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
		EXPECT_EQ(EAI_SERVICE, error_of(PEER4, ports[i], 0, 0)) {
			TH_LOG("service '%s'", ports[i]);
		}
	}
}

TEST(GAI_02_service_of_other_transport)
{
	struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_UD,
		.ai_port_space = RDMA_PS_UDP,
	};
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, etc_private("services",
				 "\ncmxtcp 7498/tcp\ncmxudp 7499/udp\n"));
	EXPECT_EQ(EAI_SERVICE, error_of(PEER4, "cmxudp", 0, 0));
	EXPECT_EQ(EAI_SERVICE, rdma_getaddrinfo(PEER4, "cmxtcp", &hints, &res));
	/* Both services exist for the other transport only. */
	EXPECT_EQ(0, error_of(PEER4, "cmxtcp", 0, 0));
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, "cmxudp", &hints, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7499"));
	rdma_freeaddrinfo(res);
}

/* A name longer than the limit is an unknown name. */
TEST(GAI_02_overlong_node)
{
	static const size_t lens[] = { 254, 255, 256, 1023, 1024, 1025, 4096,
				       65536, 1 << 20 };
	char *name;

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		name = malloc(lens[i] + 1);
		ASSERT_NE(NULL, name);
		for (size_t k = 0; k < lens[i]; k++)
			name[k] = k % 50 == 49 ? '.' : 'a';
		name[lens[i] - 1] = 'a';
		name[lens[i]] = '\0';
		EXPECT_EQ(EAI_NONAME, error_of(name, PORT, 0, 0)) {
			TH_LOG("%zu bytes", lens[i]);
		}
		free(name);
	}
}

TEST(GAI_02_overlong_service)
{
	char *name = malloc((1 << 20) + 1);

	ASSERT_NE(NULL, name);
	memset(name, 'a', 1 << 20);
	name[1 << 20] = '\0';
	EXPECT_EQ(EAI_SERVICE, error_of(PEER4, name, 0, 0));
	memset(name, '7', 1 << 20);
	EXPECT_EQ(EAI_SERVICE, error_of(PEER4, name, 0, 0));
	free(name);
}

/* None of these is a valid host; a call with them only fails. */
TEST(GAI_02_garbage_in_node)
{
	static const char *const names[] = {
		"a b", "a\nb", "\x01\x02\x7f", "%s%s%n", "a;reboot", "../etc",
		"$(id)", "\xff\xfe\xfd", "cmx:x", "a..b", "..", "-v", "--help",
		"10.55.0.2.", "1.2.3.4.5", "300.1.1.1", "fd55:::2",
		"fd55::2%", "fe80::1%nosuchif", "fd55::2/64", "[fd55::2]",
		"10.55.0.2:7471", "@", "*",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		EXPECT_EQ(EAI_NONAME, error_of(names[i], PORT, 0, 0)) {
			TH_LOG("node '%s'", names[i]);
		}
	}
}

TEST(GAI_02_gai_strerror_prints_each)
{
	static const int codes[] = {
		EAI_ADDRFAMILY, EAI_AGAIN, EAI_BADFLAGS, EAI_FAIL, EAI_FAMILY,
		EAI_MEMORY, EAI_NODATA, EAI_NONAME, EAI_SERVICE, EAI_QPTYPE,
		EAI_SYSTEM,
	};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		EXPECT_STRNE("Unknown error", gai_strerror(codes[i]));
		for (size_t k = 0; k < i; k++) {
			EXPECT_NE(codes[k], codes[i]);
		}
	}
	EXPECT_EQ(EAI_SOCKTYPE, EAI_QPTYPE);
}

TEST_HARNESS_MAIN
