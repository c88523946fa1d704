// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Success of rdma_getaddrinfo(): names, numbers, services, sources and the
 * order of the result.
 */
#include <net/if.h>

#include "api.h"

/* Each address has one entry only. */
static const struct rdma_addrinfo rc_hints = {
	.ai_qp_type = IBV_QPT_RC,
	.ai_port_space = RDMA_PS_TCP,
};

static const char *src_of(const struct rdma_addrinfo *ai, char *buf, size_t len)
{
	return ai ? host_text(ai->ai_src_addr, buf, len) : "no such entry";
}

TEST(GAI_01_name_gives_every_address)
{
	struct rdma_addrinfo *res, *ai;

	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, &rc_hints, &res));
	EXPECT_EQ(3, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	EXPECT_NE(NULL, ai_find(res, "[fd55::2]:7471"));
	EXPECT_NE(NULL, ai_find(res, "192.168.77.2:7471"));
	for (ai = res; ai; ai = ai->ai_next) {
		EXPECT_EQ(addr_len(ai->ai_dst_addr), ai->ai_dst_len);
		EXPECT_EQ(ai->ai_dst_addr->sa_family, ai->ai_family);
	}
	rdma_freeaddrinfo(res);
}

/* Other spellings of names; the second kind is in /etc/hosts. */
TEST(GAI_01_spellings_of_a_name)
{
	static const char *const names[] = {
		"V4ONLY.CMX.Test", "v4only.cmx.test.", "storage-in-hosts",
	};
	struct rdma_addrinfo *res;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		ASSERT_EQ(0, rdma_getaddrinfo(names[i], PORT, &rc_hints,
					      &res)) {
			TH_LOG("%s", names[i]);
		}
		EXPECT_EQ(1, ai_count(res));
		EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
		rdma_freeaddrinfo(res);
	}
}

/* The kernel's DNS resolver rejects names of one or two characters. */
TEST(GAI_01_short_name)
{
	struct rdma_addrinfo *res;
	int ret;

	ASSERT_EQ(0, run("cp /etc/hosts /tmp/hosts.before && "
			 "printf '10.55.0.2 x\\n' >>/etc/hosts"));
	ret = rdma_getaddrinfo("x", PORT, &rc_hints, &res);
	run("cat /tmp/hosts.before >/etc/hosts");
	ASSERT_EQ(0, ret);
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);
}

/* 127.0.0.1 and ::1 are valid results without an RDMA device. */
TEST(GAI_01_localhost)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_getaddrinfo("localhost", PORT, &rc_hints, &res));
	EXPECT_NE(NULL, ai_find(res, "127.0.0.1:7471"));
	rdma_freeaddrinfo(res);
}

TEST(GAI_01_dotted_ipv4)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, &rc_hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_EQ(AF_INET, res->ai_family);
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);
}

TEST(GAI_01_ipv6_hex)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_getaddrinfo("FD55:0:0::2", PORT, &rc_hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_EQ(AF_INET6, res->ai_family);
	EXPECT_NE(NULL, ai_find(res, "[fd55::2]:7471"));
	rdma_freeaddrinfo(res);
}

TEST(GAI_01_link_local_keeps_zone)
{
	struct rdma_addrinfo *res;
	struct sockaddr_in6 *in6;

	ASSERT_EQ(0, rdma_getaddrinfo("fe80::1%" ETH, PORT, &rc_hints, &res));
	ASSERT_EQ(AF_INET6, res->ai_dst_addr->sa_family);
	in6 = (struct sockaddr_in6 *)res->ai_dst_addr;
	EXPECT_EQ(if_nametoindex(ETH), in6->sin6_scope_id);
	EXPECT_NE(NULL, ai_find(res, "[fe80::1%" ETH "]:7471"));
	rdma_freeaddrinfo(res);

	/* Another rail, another zone */
	ASSERT_EQ(0, rdma_getaddrinfo("fe80::1%mgmt0", PORT, &rc_hints, &res));
	in6 = (struct sockaddr_in6 *)res->ai_dst_addr;
	EXPECT_EQ(if_nametoindex("mgmt0"), in6->sin6_scope_id);
	rdma_freeaddrinfo(res);
}

TEST(GAI_01_link_local_zone_by_number)
{
	struct rdma_addrinfo *res;
	char node[64];

	snprintf(node, sizeof(node), "fe80::1%%%u", if_nametoindex(ETH));
	ASSERT_EQ(0, rdma_getaddrinfo(node, PORT, &rc_hints, &res));
	EXPECT_NE(NULL, ai_find(res, "[fe80::1%" ETH "]:7471"));
	rdma_freeaddrinfo(res);
}

TEST(GAI_01_service_name)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, etc_private("services", "\ncmxtest 7499/tcp\n"));
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, "cmxtest", &rc_hints, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7499"));
	rdma_freeaddrinfo(res);
}

TEST(GAI_01_port_limits)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, "0", &rc_hints, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:0"));
	rdma_freeaddrinfo(res);
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, "65535", &rc_hints, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:65535"));
	rdma_freeaddrinfo(res);
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, NULL, &rc_hints, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:0"));
	rdma_freeaddrinfo(res);
}

/* Resolved by the kernel, and by the library */
TEST(SV_02_hosts_and_ports_of_a_service)
{
	struct rdma_addrinfo *res;
	int way;

	for (way = 0; way < 2; way++) {
		if (way)
			ASSERT_EQ(0, setenv("RDMACMX_NAMES", "libc", 1));
		ASSERT_EQ(0, rdma_getaddrinfo("_ordered._tcp.cmx.test", NULL,
					      &rc_hints, &res));
		EXPECT_EQ(2, ai_count(res));
		EXPECT_EQ(res, ai_find(res, "10.55.0.2:4421"));
		EXPECT_NE(NULL, ai_find(res, "[fd55::2]:4422"));
		rdma_freeaddrinfo(res);
		ASSERT_EQ(0, rdma_getaddrinfo("_weighted._tcp.cmx.test", NULL,
					      &rc_hints, &res));
		EXPECT_NE(NULL, ai_find(res, "10.55.0.2:4001"));
		EXPECT_NE(NULL, ai_find(res, "10.55.0.2:4002"));
		rdma_freeaddrinfo(res);
		ASSERT_EQ(0, rdma_getaddrinfo("_plain._tcp.cmx.test", PORT,
					      &rc_hints, &res));
		EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
		rdma_freeaddrinfo(res);
		EXPECT_EQ(EAI_NODATA, rdma_getaddrinfo("_none._tcp.cmx.test",
						       NULL, &rc_hints, &res));
		EXPECT_EQ(EAI_NONAME, rdma_getaddrinfo("_lost._tcp.cmx.test",
						       NULL, &rc_hints, &res));
	}
}

TEST(GAI_05_numerichost_with_name)
{
	struct rdma_addrinfo hints = rc_hints, *res;
	char name[128];

	name_fresh("any.cmx.test", name, sizeof(name));
	hints.ai_flags = RAI_NUMERICHOST;
	EXPECT_EQ(EAI_NONAME, rdma_getaddrinfo(name, PORT, &hints, &res));
	dns_barrier();
	EXPECT_EQ(0, dns_queries(name));

	/* The same name resolves without the flag. */
	ASSERT_EQ(0, rdma_getaddrinfo(name, PORT, &rc_hints, &res));
	rdma_freeaddrinfo(res);
	dns_barrier();
	EXPECT_LT(0, dns_queries(name));
}

TEST(GAI_05_numerichost_with_number)
{
	struct rdma_addrinfo hints = rc_hints, *res;

	hints.ai_flags = RAI_NUMERICHOST;
	ASSERT_EQ(0, rdma_getaddrinfo(PEER6, PORT, &hints, &res));
	EXPECT_NE(NULL, ai_find(res, "[fd55::2]:7471"));
	rdma_freeaddrinfo(res);
}

TEST(GAI_06_family_restricts)
{
	struct rdma_addrinfo hints = rc_hints, *res;

	hints.ai_family = AF_INET;
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, &hints, &res));
	EXPECT_EQ(2, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	EXPECT_NE(NULL, ai_find(res, "192.168.77.2:7471"));
	rdma_freeaddrinfo(res);

	hints.ai_family = AF_INET6;
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, &hints, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "[fd55::2]:7471"));
	rdma_freeaddrinfo(res);
}

TEST(GAI_08_source_of_each_destination)
{
	struct rdma_addrinfo *res, *ai;
	char buf[160];

	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, &rc_hints, &res));
	EXPECT_STREQ(OWN4, src_of(ai_find(res, "10.55.0.2:7471"), buf, 160));
	EXPECT_STREQ(OWN6, src_of(ai_find(res, "[fd55::2]:7471"), buf, 160));
	/* Reachable, but not through an RDMA device */
	ai = ai_find(res, "192.168.77.2:7471");
	ASSERT_NE(NULL, ai);
	EXPECT_EQ(0, ai->ai_src_len);
	EXPECT_EQ(NULL, ai->ai_src_addr);
	for (ai = res; ai->ai_next; ai = ai->ai_next) {
		EXPECT_EQ(addr_len(ai->ai_dst_addr), ai->ai_src_len);
	}
	rdma_freeaddrinfo(res);
}

TEST(GAI_08_source_of_hints_is_kept)
{
	struct rdma_addrinfo hints = rc_hints, *res;
	struct sockaddr_storage ss;
	char buf[160];

	hints.ai_src_addr = addr_make(&ss, OWN4, 0);
	hints.ai_src_len = sizeof(struct sockaddr_in);
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, &hints, &res));
	EXPECT_STREQ(OWN4, src_of(res, buf, sizeof(buf)));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	/* The result has a copy of the source. */
	EXPECT_NE(hints.ai_src_addr, res->ai_src_addr);
	rdma_freeaddrinfo(res);
}

TEST(GAI_08_no_source_for_unreachable)
{
	struct rdma_addrinfo *res;

	/* Even if the host has a default route */
	ASSERT_EQ(0, run("ip route replace unreachable 203.0.113.0/24"));
	EXPECT_EQ(0, rdma_getaddrinfo(NAME_FAR, PORT, &rc_hints, &res)) {
		run("ip route del unreachable 203.0.113.0/24");
		return;
	}
	run("ip route del unreachable 203.0.113.0/24");
	EXPECT_EQ(1, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "203.0.113.9:7471"));
	EXPECT_EQ(0, res->ai_src_len);
	EXPECT_EQ(NULL, res->ai_src_addr);
	rdma_freeaddrinfo(res);
}

/* Route and connect data are for InfiniBand, whose tests have them. */
TEST(GAI_09_GAI_10_no_route_and_no_connect_data_on_roce)
{
	struct rdma_addrinfo *res, *ai;

	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, &rc_hints, &res));
	for (ai = res; ai; ai = ai->ai_next) {
		EXPECT_EQ(0, ai->ai_route_len);
		EXPECT_EQ(NULL, ai->ai_route);
		EXPECT_EQ(0, ai->ai_connect_len);
		EXPECT_EQ(NULL, ai->ai_connect);
	}
	rdma_freeaddrinfo(res);
}

TEST(GAI_11_canonical_name)
{
	struct addrinfo hints = { .ai_flags = AI_CANONNAME }, *ai;
	struct rdma_addrinfo *res, *entry;

	ASSERT_EQ(0, getaddrinfo(NAME_ALIAS, NULL, &hints, &ai));
	ASSERT_STREQ(NAME_STORAGE, ai->ai_canonname);
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_ALIAS, PORT, &rc_hints, &res));
	EXPECT_EQ(3, ai_count(res));
	/* Each entry has its destination. */
	for (entry = res; entry; entry = entry->ai_next) {
		EXPECT_STREQ(ai->ai_canonname,
			     entry->ai_dst_canonname ?: "(none)");
		EXPECT_EQ(NULL, entry->ai_src_canonname);
	}
	rdma_freeaddrinfo(res);
	freeaddrinfo(ai);

	ASSERT_EQ(0, getaddrinfo(NAME_V4, NULL, &hints, &ai));
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_V4, PORT, &rc_hints, &res));
	EXPECT_STREQ(ai->ai_canonname, res->ai_dst_canonname ?: "(none)");
	rdma_freeaddrinfo(res);
	freeaddrinfo(ai);
}

TEST(GAI_11_canonical_name_of_number)
{
	struct addrinfo hints = { .ai_flags = AI_CANONNAME }, *ai;
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, getaddrinfo(PEER4, NULL, &hints, &ai));
	ASSERT_EQ(0, rdma_getaddrinfo(PEER4, PORT, &rc_hints, &res));
	EXPECT_STREQ(ai->ai_canonname, res->ai_dst_canonname ?: "(none)");
	rdma_freeaddrinfo(res);
	freeaddrinfo(ai);
}

TEST(GAI_11_passive_names_the_source)
{
	struct rdma_addrinfo hints = rc_hints, *res, *ai;

	hints.ai_flags = RAI_PASSIVE;
	ASSERT_EQ(0, rdma_getaddrinfo("alpha.cmx.test", PORT, &hints, &res));
	for (ai = res; ai; ai = ai->ai_next) {
		EXPECT_STREQ("alpha.cmx.test",
			     ai->ai_src_canonname ?: "(none)");
		EXPECT_EQ(NULL, ai->ai_dst_canonname);
	}
	rdma_freeaddrinfo(res);
}

TEST(GAI_14_rdma_addresses_first)
{
	char got[TEXT_MAX] = "", want[TEXT_MAX] = "", text[160];
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list, *a;
	struct rdma_addrinfo *res, *ai;
	int pass;

	ASSERT_EQ(0, getaddrinfo(NAME_STORAGE, NULL, &hints, &list));
	/* The resolver's order, with the addresses behind eth0 first */
	for (pass = 0; pass < 2; pass++)
		for (a = list; a; a = a->ai_next) {
			host_text(a->ai_addr, text, sizeof(text));
			if ((strcmp(text, MGMT_PEER4) == 0) != pass)
				continue;
			strcat(want, " ");
			strcat(want, text);
		}
	freeaddrinfo(list);

	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, &rc_hints, &res));
	for (ai = res; ai; ai = ai->ai_next) {
		strcat(got, " ");
		strcat(got, host_text(ai->ai_dst_addr, text, sizeof(text)));
	}
	EXPECT_STREQ(want, got);
	rdma_freeaddrinfo(res);
}

/* /etc/hosts has all three kinds; the name helper reads it, too. */
TEST(GAI_14_unreachable_last)
{
	struct rdma_addrinfo *res = NULL;
	char got[TEXT_MAX] = "", text[160], name[128];
	int ret;

	name_fresh("three.hosts.test", name, sizeof(name));
	ASSERT_EQ(0, run("cp /etc/hosts /tmp/hosts.before && "
			 "printf '203.0.113.9 %s\\n192.168.77.2 %s\\n10.55.0.2 %s\\n' >>/etc/hosts && "
			 "ip route replace unreachable 203.0.113.0/24",
			 name, name, name));
	ret = rdma_getaddrinfo(name, PORT, &rc_hints, &res);
	run("cat /tmp/hosts.before >/etc/hosts; "
	    "ip route del unreachable 203.0.113.0/24");
	ASSERT_EQ(0, ret);
	for (struct rdma_addrinfo *ai = res; ai; ai = ai->ai_next) {
		strcat(got, " ");
		strcat(got, host_text(ai->ai_dst_addr, text, sizeof(text)));
		if (!ai->ai_next) {
			EXPECT_EQ(0, ai->ai_src_len);
		}
	}
	EXPECT_STREQ(" 10.55.0.2 192.168.77.2 203.0.113.9", got);
	rdma_freeaddrinfo(res);
}

TEST_HARNESS_MAIN
