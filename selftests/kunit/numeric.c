// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Numeric nodes, and properties of addresses: GAI-01, GAI-06, GAI-15 */
#include <net/net_namespace.h>
#include <rdma/ib.h>

#include "resolve/resolve.h"
#include "kunit.h"

#define TEXT_RESULT(_desc, _text, _family, _ret, _scope, ...)		\
	{ .desc = _desc, .text = _text, .family = _family, .ret = _ret,	\
	  .scope = _scope, .want = { __VA_ARGS__ } }

static const struct text {
	const char *desc;
	const char *text;
	sa_family_t family;
	int ret;		/* 1: a number, 0: not a number */
	u32 scope;
	u8 want[16];
} texts[] = {
	TEXT_RESULT("IPv4", "192.0.2.1", 0, 1, 0, 192, 0, 2, 1),
	TEXT_RESULT("IPv4 highest", "255.255.255.255", AF_INET, 1, 0,
		    255, 255, 255, 255),
	TEXT_RESULT("IPv4 zero", "0.0.0.0", 0, 1, 0, 0),
	TEXT_RESULT("IPv4 for AF_INET6", "192.0.2.1", AF_INET6,
		    -EADDRNOTAVAIL, 0),
	TEXT_RESULT("IPv4 for AF_IB", "192.0.2.1", AF_IB, -EADDRNOTAVAIL, 0),
	TEXT_RESULT("IPv4 too big", "192.0.2.256", 0, 0, 0),
	TEXT_RESULT("IPv4 of 65537", "65537.0.2.1", 0, 0, 0),
	TEXT_RESULT("IPv4 of 2 to 32", "4294967296.0.2.1", 0, 0, 0),
	TEXT_RESULT("IPv4 of 3 parts", "192.0.513", 0, 1, 0, 192, 0, 2, 1),
	TEXT_RESULT("IPv4 of 2 parts", "192.66049", 0, 1, 0, 192, 1, 2, 1),
	TEXT_RESULT("IPv4 of 1 part", "3221225985", 0, 1, 0, 192, 0, 2, 1),
	TEXT_RESULT("IPv4 of 3 parts too big", "192.0.65536", 0, 0, 0),
	TEXT_RESULT("IPv4 of 2 parts too big", "192.16777216", 0, 0, 0),
	TEXT_RESULT("IPv4 of 1 part too big", "4294967296", 0, 0, 0),
	TEXT_RESULT("IPv4 of 2 to 64 and 1", "18446744073709551617", 0, 0, 0),
	TEXT_RESULT("IPv4 octal", "0300.0.02.01", 0, 1, 0, 192, 0, 2, 1),
	TEXT_RESULT("IPv4 octal, long", "00000000000000010.0.0.2", 0, 1, 0,
		    8, 0, 0, 2),
	TEXT_RESULT("IPv4 no octal", "192.0.2.08", 0, 0, 0),
	TEXT_RESULT("IPv4 empty hex", "192.0.2.0x", 0, 0, 0),
	TEXT_RESULT("IPv4 bad hex", "192.0.2.0xg", 0, 0, 0),
	TEXT_RESULT("IPv4 long", "192.0.2.1.1", 0, 0, 0),
	TEXT_RESULT("IPv4 empty part", "192..2.1", 0, 0, 0),
	TEXT_RESULT("IPv4 dot behind", "192.0.2.1.", 0, 0, 0),
	TEXT_RESULT("IPv4 dot before", ".192.0.2.1", 0, 0, 0),
	TEXT_RESULT("IPv4 blank behind", "192.0.2.1 ", 0, 0, 0),
	TEXT_RESULT("IPv4 blank before", " 192.0.2.1", 0, 0, 0),
	TEXT_RESULT("IPv4 newline", "192.0.2.1\n", 0, 0, 0),
	TEXT_RESULT("IPv4 sign", "-1.0.2.1", 0, 0, 0),
	TEXT_RESULT("IPv4 hex", "0xc0.0.0X2.1", 0, 1, 0, 192, 0, 2, 1),
	TEXT_RESULT("IPv4 hex, one part", "0xC0000201", 0, 1, 0,
		    192, 0, 2, 1),
	TEXT_RESULT("IPv4 with zone", "192.0.2.1%lo", 0, 0, 0),
	TEXT_RESULT("IPv4 with colon", "192.0.2.1:80", 0, 0, 0),
	TEXT_RESULT("IPv4 with mask", "192.0.2.1/24", 0, 0, 0),
	TEXT_RESULT("IPv4 and byte 0xff", "192.0.2.1\xff", 0, 0, 0),
	TEXT_RESULT("IPv6", "2001:db8::1", 0, 1, 0,
		    0x20, 1, 0xd, 0xb8, [15] = 1),
	TEXT_RESULT("IPv6 long", "2001:0db8:0:0:0:0:0:1", AF_INET6, 1, 0,
		    0x20, 1, 0xd, 0xb8, [15] = 1),
	TEXT_RESULT("IPv6 upper case", "2001:DB8::A", 0, 1, 0,
		    0x20, 1, 0xd, 0xb8, [15] = 10),
	TEXT_RESULT("IPv6 any", "::", 0, 1, 0, 0),
	TEXT_RESULT("IPv6 loopback", "::1", 0, 1, 0, [15] = 1),
	TEXT_RESULT("IPv6 mapped", "::ffff:192.0.2.1", 0, 1, 0,
		    [10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1),
	TEXT_RESULT("IPv6 for AF_INET", "2001:db8::1", AF_INET,
		    -EADDRNOTAVAIL, 0),
	TEXT_RESULT("IPv6 as GID", "fe80::2:c903:0:1", AF_IB, 1, 0,
		    0xfe, 0x80, [9] = 2, [10] = 0xc9, [11] = 3, [15] = 1),
	TEXT_RESULT("IPv6 gap in front", "::2:3:4:5:6:7:8", 0, 1, 0,
		    [3] = 2, [5] = 3, [7] = 4, [9] = 5, [11] = 6, [13] = 7,
		    [15] = 8),
	TEXT_RESULT("IPv6 gap behind", "1:2:3:4:5:6:7::", 0, 1, 0,
		    [1] = 1, [3] = 2, [5] = 3, [7] = 4, [9] = 5, [11] = 6,
		    [13] = 7),
	TEXT_RESULT("IPv6 empty gap", "1:2:3:4::5:6:7:8", 0, 0, 0),
	TEXT_RESULT("IPv6 empty gap behind", "1:2:3:4:5:6:7:8::", 0, 0, 0),
	TEXT_RESULT("IPv6 with IPv4", "1:2:3:4:5:6:1.2.3.4", 0, 1, 0,
		    [1] = 1, [3] = 2, [5] = 3, [7] = 4, [9] = 5, [11] = 6,
		    [12] = 1, [13] = 2, [14] = 3, [15] = 4),
	TEXT_RESULT("IPv6 with IPv4 too long", "1:2:3:4:5:6:7:1.2.3.4", 0, 0,
		    0),
	TEXT_RESULT("IPv6 with octal IPv4", "::ffff:010.0.0.1", 0, 0, 0),
	TEXT_RESULT("IPv6 with short IPv4", "::ffff:10.1", 0, 0, 0),
	TEXT_RESULT("IPv6 of 5 zeros", "::00001", 0, 0, 0),
	TEXT_RESULT("IPv6 of 3 colons", ":::", 0, 0, 0),
	TEXT_RESULT("IPv6 two gaps", "2001::db8::1", 0, 0, 0),
	TEXT_RESULT("IPv6 of 9 parts", "1:2:3:4:5:6:7:8:9", 0, 0, 0),
	TEXT_RESULT("IPv6 of 7 parts", "1:2:3:4:5:6:7", 0, 0, 0),
	TEXT_RESULT("IPv6 of 5 digits", "2001:db8::12345", 0, 0, 0),
	TEXT_RESULT("IPv6 bad digit", "2001:db8::g", 0, 0, 0),
	TEXT_RESULT("IPv6 colon behind", "2001:db8::1:", 0, 0, 0),
	TEXT_RESULT("IPv6 colon before", ":2001:db8::1", 0, 0, 0),
	TEXT_RESULT("IPv6 in brackets", "[2001:db8::1]", 0, 0, 0),
	TEXT_RESULT("IPv6 blank behind", "2001:db8::1 ", 0, 0, 0),
	TEXT_RESULT("IPv6 newline", "2001:db8::1\n", 0, 0, 0),
	TEXT_RESULT("zone by name", "fe80::1%lo", 0, 1, 1,
		    0xfe, 0x80, [15] = 1),
	TEXT_RESULT("zone by index", "fe80::1%1", 0, 1, 1,
		    0xfe, 0x80, [15] = 1),
	TEXT_RESULT("zone of a GID", "fe80::1%lo", AF_IB, 1, 1,
		    0xfe, 0x80, [15] = 1),
	TEXT_RESULT("zone of a group", "ff02::1%lo", 0, 1, 1,
		    0xff, 2, [15] = 1),
	TEXT_RESULT("zone of a node's group", "ff01::1%lo", 0, 1, 1,
		    0xff, 1, [15] = 1),
	TEXT_RESULT("zone by name, elsewhere", "2001:db8::1%lo", 0, -ENOENT, 0),
	TEXT_RESULT("zone of loopback by name", "::1%lo", 0, -ENOENT, 0),
	TEXT_RESULT("zone of loopback by index", "::1%1", 0, 1, 1, [15] = 1),
	TEXT_RESULT("zone empty", "fe80::1%", 0, -ENOENT, 0),
	TEXT_RESULT("zone unknown", "fe80::1%nosuch0", 0, -ENOENT, 0),
	TEXT_RESULT("zone 0", "fe80::1%0", 0, -ENOENT, 0),
	TEXT_RESULT("zone of a far index", "fe80::1%4294967295", 0, -ENOENT, 0),
	TEXT_RESULT("zone of 2 to 32 and 1", "fe80::1%4294967297", 0,
		    -ENOENT, 0),
	TEXT_RESULT("zone negative", "fe80::1%-1", 0, -ENOENT, 0),
	TEXT_RESULT("zone with a sign", "fe80::1%+1", 0, -ENOENT, 0),
	TEXT_RESULT("zone with a newline", "fe80::1%1\n", 0, -ENOENT, 0),
	TEXT_RESULT("zone with a blank", "fe80::1% 1", 0, -ENOENT, 0),
	TEXT_RESULT("zone in hex", "fe80::1%0x1", 0, -ENOENT, 0),
	TEXT_RESULT("two zones", "fe80::1%lo%lo", 0, -ENOENT, 0),
	TEXT_RESULT("zone for AF_INET", "fe80::1%lo", AF_INET,
		    -EADDRNOTAVAIL, 0),
	TEXT_RESULT("zone alone", "%lo", 0, 0, 0),
	TEXT_RESULT("a name", "host", 0, 0, 0),
	TEXT_RESULT("a name of hex digits", "abcd", 0, 0, 0),
	TEXT_RESULT("a single number", "1", 0, 1, 0, 0, 0, 0, 1),
	TEXT_RESULT("a colon", ":", 0, 0, 0),
	TEXT_RESULT("three colons", ":::", 0, 0, 0),
};

static void text_desc(const struct text *t, char *desc)
{
	strscpy(desc, t->desc, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(text, texts, text_desc);

static void numeric_text(struct kunit *test)
{
	const struct text *t = test->param_value;
	struct cmx_hints hints = {
		.net = &init_net,
		.family = t->family,
		.port_space = RDMA_PS_TCP,
		.port = 4420,
		.has_port = true,
	};
	union rdma_cmx_sockaddr addr;
	int ret;

	memset(&addr, 0xa5, sizeof(addr));
	ret = cmx_numeric_parse(&hints, t->text, &addr);
	KUNIT_ASSERT_EQ(test, ret, t->ret);
	if (ret != 1)
		return;
	if (t->family == AF_IB) {
		KUNIT_EXPECT_EQ(test, addr.sa.sa_family, AF_IB);
		KUNIT_EXPECT_FALSE(test, memcmp(&addr.ib.sib_addr, t->want, 16));
		KUNIT_EXPECT_EQ(test, be16_to_cpu(addr.ib.sib_pkey), 0xffff);
		/* 0x0106 is the port space of TCP, 4420 is 0x1144. */
		KUNIT_EXPECT_EQ(test, be64_to_cpu(addr.ib.sib_sid),
				0x1061144ull);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(addr.ib.sib_sid_mask), ~0ull);
		KUNIT_EXPECT_EQ(test, addr.ib.sib_flowinfo, 0);
		KUNIT_EXPECT_EQ(test, addr.ib.sib_scope_id, (u64)t->scope);
	} else if (strchr(t->text, ':')) {
		KUNIT_EXPECT_EQ(test, addr.sa.sa_family, AF_INET6);
		KUNIT_EXPECT_FALSE(test, memcmp(&addr.in6.sin6_addr, t->want,
						16));
		KUNIT_EXPECT_EQ(test, ntohs(addr.in6.sin6_port), 4420);
		KUNIT_EXPECT_EQ(test, addr.in6.sin6_flowinfo, 0);
		KUNIT_EXPECT_EQ(test, addr.in6.sin6_scope_id, t->scope);
	} else {
		KUNIT_EXPECT_EQ(test, addr.sa.sa_family, AF_INET);
		KUNIT_EXPECT_FALSE(test, memcmp(&addr.in.sin_addr, t->want, 4));
		KUNIT_EXPECT_EQ(test, ntohs(addr.in.sin_port), 4420);
		KUNIT_EXPECT_NULL(test, memchr_inv(addr.in.sin_zero, 0, 8));
	}
}

/* The parser does not read past the end of a text; KASAN checks it. */
static void numeric_random(struct kunit *test)
{
	static const char chars[] = "0123456789abcdefxg.:%-/ ::..";
	struct cmx_hints hints = { .net = &init_net };
	union rdma_cmx_sockaddr addr;
	u32 round, len, i;
	char *text;
	int ret;

	for (round = 0; round < 5000; round++) {
		len = kunit_random(24);
		text = kmalloc(len + 1, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, text);
		for (i = 0; i < len; i++)
			text[i] = chars[kunit_random(sizeof(chars) - 1)];
		text[len] = 0;
		ret = cmx_numeric_parse(&hints, text, &addr);
		KUNIT_EXPECT_LE(test, ret, 1);
		kfree(text);
	}
}

/* A GID and the service id in it: GAI-06. */
static void addr_port(struct kunit *test)
{
	static const u32 spaces[] = { 0x2, 0x106, 0x111, 0x13f };
	union rdma_cmx_sockaddr addr = {};
	u64 ip_ps = 0xffffffffffff0000ull;
	int i;

	addr.sa.sa_family = AF_IB;
	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		cmx_addr_set_port(&addr, spaces[i], 65535);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(addr.ib.sib_sid),
				((u64)spaces[i] << 16) | 0xffff);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(addr.ib.sib_sid_mask), ~0ull);
		/* Without a port each port space is valid. */
		cmx_addr_set_port(&addr, spaces[i], 0);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(addr.ib.sib_sid),
				(u64)spaces[i] << 16);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(addr.ib.sib_sid_mask), ip_ps);
	}
	cmx_addr_set_port(&addr, 0, 0);
	KUNIT_EXPECT_EQ(test, addr.ib.sib_sid, 0);
	KUNIT_EXPECT_EQ(test, addr.ib.sib_sid_mask, 0);
}

static void addr_forms(struct kunit *test)
{
	union rdma_cmx_sockaddr a;
	u32 family, i;
	bool multicast;

	for (family = 0; family < 300; family++) {
		size_t want = family == 2 ? 16 : family == 10 ? 28 :
			      family == 27 ? 48 : 0;

		KUNIT_EXPECT_EQ(test, cmx_addr_size(family), want);
		memset(&a, 0, sizeof(a));
		a.sa.sa_family = family;
		KUNIT_EXPECT_TRUE(test, cmx_addr_is_any(&a));
		KUNIT_EXPECT_FALSE(test, cmx_addr_is_multicast(&a));
		KUNIT_EXPECT_FALSE(test, cmx_addr_is_link_local(&a));
	}
	for (i = 0; i < 256; i++) {
		/* RFC 5771: 224.0.0.0/4; RFC 4291: ff00::/8, fe80::/10 */
		memset(&a, 0, sizeof(a));
		a.in.sin_family = AF_INET;
		((u8 *)&a.in.sin_addr)[0] = i;
		KUNIT_EXPECT_EQ(test, cmx_addr_is_multicast(&a),
				i >= 224 && i <= 239);
		KUNIT_EXPECT_EQ(test, cmx_addr_is_any(&a), !i);
		multicast = i == 255;
		memset(&a, 0, sizeof(a));
		a.in6.sin6_family = AF_INET6;
		a.in6.sin6_addr.s6_addr[0] = i;
		a.in6.sin6_addr.s6_addr[15] = 1;
		KUNIT_EXPECT_EQ(test, cmx_addr_is_multicast(&a), multicast);
		KUNIT_EXPECT_FALSE(test, cmx_addr_is_any(&a));
		a.in6.sin6_addr.s6_addr[0] = 0xfe;
		a.in6.sin6_addr.s6_addr[1] = i;
		KUNIT_EXPECT_EQ(test, cmx_addr_is_link_local(&a),
				i >= 0x80 && i <= 0xbf);
		memset(&a, 0, sizeof(a));
		a.ib.sib_family = AF_IB;
		a.ib.sib_addr.sib_raw[0] = i;
		a.ib.sib_addr.sib_raw[15] = 1;
		KUNIT_EXPECT_EQ(test, cmx_addr_is_multicast(&a), multicast);
		KUNIT_EXPECT_FALSE(test, cmx_addr_is_any(&a));
	}
}

static struct kunit_case numeric_cases[] = {
	KUNIT_CASE_PARAM(numeric_text, text_gen_params),
	KUNIT_CASE(numeric_random),
	KUNIT_CASE(addr_port),
	KUNIT_CASE(addr_forms),
	{}
};

static struct kunit_suite numeric_suite = {
	.name = "cmx_numeric",
	.test_cases = numeric_cases,
};

kunit_test_suite(numeric_suite);
