// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A numeric node is the address that libc parses, or it is rejected (GAI-01,
 * GAI-05): programs that filter addresses parse them with libc.
 */
#include <stdlib.h>

#include "api.h"

static const struct rdma_addrinfo numeric_hints = {
	.ai_flags = RAI_NUMERICHOST,
	.ai_qp_type = IBV_QPT_RC,
	.ai_port_space = RDMA_PS_TCP,
};

static const char *const texts[] = {
	"10.55.0.2", "0177.0.0.1", "00000000000000010.0.0.2", "127.1",
	"0x7f.1", "2130706433", "4294967296", "4294967295", "1.2.3.4.",
	"1.2.3.256", "1.2.65535", "1.2.65536", "1.16777215", "1.16777216",
	"08.1", "09", "0", "00", "0x", "0x.1", "0X7F000001", "0xg", "1.0x",
	"017700000001", "040000000000", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4\n",
	"1.2.3.4\tx", "1..2", ".1", "1.", ".", "1.2.3.4.5", "-1", "+1",
	"1.-2", "1e1", "256.1", "0400.1", "0377.1", "1.2.0x3.04",
	"18446744073709551617", "99999999999999999999999", "0b101",
	"1.2.3.4%lo", "1.2.3.4/24", "::1%1", "::1%lo", "::1%0",
	"::ffff:10.55.0.2", "::ffff:010.55.0.2", "::ffff:10.55.2",
	"::ffff:0xa.55.0.2", "::10.55.0.256", "::10.55.0.2.", "::", ":::",
	":", ":1", "1:", "1::", "::1::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::",
	"::2:3:4:5:6:7:8", "1::2:3:4:5:6:7:8", "1:2:3:4::5:6:7:8",
	"1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8:9",
	"1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "::00001", "::0001",
	"::10000", "::g", "FE80::A", "fe80::1%lo", "fe80::1%1", "fe80::1%01",
	"fe80::1%+1", "fe80::1%-1", "fe80::1% 1", "fe80::1%1 ", "fe80::1%",
	"fe80::1%%1", "fe80::1%4294967295", "fe80::1%4294967296",
	"fe80::1%4294967297", "fe80::1%18446744073709551617",
	"fe80::1%0x1", "fe80::1%nosuch0", "fe80::1%lo%1",
	"fe80::1%aaaaaaaaaaaaaaaaaaaaaaaa", "ff01::1%lo", "ff02::1%lo",
	"ff05::1%lo", "ff05::1%1", "fec0::1%lo", "2001:db8::1%lo",
	"2001:db8::1%1", "fe80::1/64", "[::1]", "::1]", "1.2.3.4:80",
};

/* The address with its zone, without a port */
static const char *libc_says(const char *text, char *buf, size_t len)
{
	struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *list;

	if (getaddrinfo(text, NULL, &hints, &list))
		return NULL;
	host_text(list->ai_addr, buf, len);
	freeaddrinfo(list);
	return buf;
}

static const char *we_say(const char *text, const struct rdma_addrinfo *hints,
			  char *buf, size_t len)
{
	struct rdma_addrinfo *list;

	if (rdma_getaddrinfo(text, PORT, hints, &list))
		return NULL;
	host_text(list->ai_dst_addr, buf, len);
	rdma_freeaddrinfo(list);
	return buf;
}

/* The library also rejects zones of interfaces that do not exist. */
static bool agrees(const char *text, const struct rdma_addrinfo *hints)
{
	char libc[128], ours[128];
	const char *want = libc_says(text, libc, sizeof(libc));
	const char *got = we_say(text, hints, ours, sizeof(ours));
	bool good;

	if (got)
		good = want && !strcmp(got, want);
	else
		good = !want || strchr(text, '%');
	if (!good)
		printf("# '%s': libc %s, here %s\n", text, want ?: "none",
		       got ?: "none");
	return good;
}

TEST(GAI_05_numbers_are_libcs)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		EXPECT_TRUE(agrees(texts[i], &numeric_hints));
}

/* Without the flag both resolvers parse a number as that address. */
TEST(GAI_01_numbers_are_no_names)
{
	struct rdma_addrinfo hints = numeric_hints;
	char buf[128];

	hints.ai_flags = 0;
	for (int own = 0; own < 2; own++) {
		if (own)
			ASSERT_EQ(0, setenv("RDMACMX_NAMES", "libc", 1));
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			if (libc_says(texts[i], buf, sizeof(buf)))
				EXPECT_TRUE(agrees(texts[i], &hints));
	}
}

static const char *const parts[] = {
	"0", "1", "7", "10", "127", "255", "256", "0255", "0377", "0400",
	"08", "00", "0000000000000010", "0x", "0x7f", "0XfF", "0x100", "65535",
	"65536", "0xffff", "16777215", "16777216", "4294967295", "4294967296",
	"037777777777", "0xffffffff", "0x100000000", "18446744073709551616",
	"", "1a", "0b1", "-1", "+1", " 1", "1 ", "a",
};

static const char *pick(const char *const list[], size_t count)
{
	return list[random() % count];
}

#define PICK(list)	pick(list, ARRAY_SIZE(list))

TEST(GAI_05_sweep_of_ipv4)
{
	unsigned int bad = 0;
	char text[256];

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		bad += !agrees(parts[i], &numeric_hints);
		for (size_t k = 0; k < ARRAY_SIZE(parts); k++) {
			snprintf(text, sizeof(text), "%s.%s", parts[i],
				 parts[k]);
			bad += !agrees(text, &numeric_hints);
		}
	}
	srandom(4);
	for (int i = 0; i < 1000 && bad < 20; i++) {
		/* Valid leading parts in most texts */
		int count = 3 + random() % 3, len = 0;

		for (int k = 0; k < count; k++)
			len += sprintf(text + len, "%s%s", k ? "." : "",
				       random() % 8 && k + 1 < count ?
				       pick(parts, 9) : PICK(parts));
		bad += !agrees(text, &numeric_hints);
	}
	EXPECT_EQ(0, bad);
}

TEST(GAI_05_sweep_of_ipv6)
{
	static const char *const groups[] = {
		"1", "0", "ffff", "fe80", "0a", "", "", "1", "00001", "10000",
		"g", "1.2.3.4", "1.2.3", "01.2.3.4", "1.2.3.256", "1.2.3.4.",
	};
	static const char *const zones[] = {
		"", "", "", "", "", "", "%lo", "%1", "%01", "%0", "%",
		"%4294967295", "%4294967297", "%nosuch0", "%-1", "%1 ",
	};
	unsigned int bad = 0;
	char text[256];

	srandom(6);
	for (int i = 0; i < 1500 && bad < 20; i++) {
		int count = 2 + random() % 8, len = 0;

		for (int k = 0; k < count; k++)
			len += sprintf(text + len, "%s%s", k ? ":" : "",
				       random() % 4 ? pick(groups, 7) :
						      PICK(groups));
		strcpy(text + len, PICK(zones));
		bad += !agrees(text, &numeric_hints);
	}
	EXPECT_EQ(0, bad);
}

TEST_HARNESS_MAIN
