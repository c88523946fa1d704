// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The name helper's decisions, without a network: which names are valid
 * (GAI-02), its response to the kernel (GAI-01, GAI-11), the errno of each
 * failure (GAI-02), and the meaning of a name server's reply. Prints TAP.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "names.h"
#include "netns.h"
#include "probe.h"
#include "srv.h"

static unsigned int tests, failures;

#define CHECK(cond, ...) do {						\
	bool ok_ = (cond);						\
									\
	failures += !ok_;						\
	printf("%sok %u - ", ok_ ? "" : "not ", ++tests);		\
	printf(__VA_ARGS__);						\
	printf("\n");							\
} while (0)

static union {
	struct rdma_cmx_names names;
	unsigned char bytes[CMX_NAMES_ANSWER_MAX + 16];
} answer;

static void test_names(void)
{
	static const struct {
		const char *name;
		bool good;
	} table[] = {
		{ "a", true },
		{ "host", true },
		{ "host.example.org", true },
		{ "host.example.org.", true },
		{ "_service._tcp.example", true },
		{ "-x", true },
		{ "--help", true },
		{ "127.0.0.1.example", true },
		{ "", false },
		{ ".", false },
		{ ".a", false },
		{ "a..b", false },
		{ "a.b..", false },
		{ "a b", false },
		{ "a\n", false },
		{ "a;b", false },
		{ "%k", false },
		{ "a/b", false },
		{ "../etc/passwd", false },
		{ "h\xc3\xb6st", false },
		{ "a:b", false },
		{ "fe80::1", false },
		{ "fe80::1%eth0", false },
		{ "10.1", false },
		{ "127.1", false },
		{ "1", false },
		{ "0x7f000001", false },
		{ "192.0.2.1", false },
	};
	char name[RDMA_CMX_NAMES_MAX_NAME + 2];
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		CHECK(cmx_names_valid(table[i].name) == table[i].good,
		      "GAI-02 name %zu is %s", i,
		      table[i].good ? "taken" : "refused");

	memset(name, 'a', sizeof(name));
	name[63] = 0;
	CHECK(cmx_names_valid(name), "GAI-02 a label of 63 is taken");
	name[63] = 'a';
	name[64] = 0;
	CHECK(!cmx_names_valid(name), "GAI-02 a label of 64 is refused");

	for (i = 0; i < sizeof(name); i++)
		name[i] = i % 50 == 49 ? '.' : 'a';
	name[RDMA_CMX_NAMES_MAX_NAME] = 0;
	CHECK(cmx_names_valid(name), "GAI-02 a name of 253 is taken");
	name[RDMA_CMX_NAMES_MAX_NAME] = 'a';
	name[RDMA_CMX_NAMES_MAX_NAME + 1] = 0;
	CHECK(!cmx_names_valid(name), "GAI-02 a name of 254 is refused");
}

struct entry {
	struct addrinfo ai;
	union {
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} addr;
};

static void entry_set(struct entry *e, struct entry *next, int family,
		      const char *text, unsigned int scope)
{
	memset(e, 0, sizeof(*e));
	e->ai.ai_family = family;
	e->ai.ai_addr = (void *)&e->addr;
	e->ai.ai_next = next ? &next->ai : NULL;
	if (family == AF_INET) {
		e->ai.ai_addrlen = sizeof(e->addr.in);
		inet_pton(family, text, &e->addr.in.sin_addr);
	} else {
		e->ai.ai_addrlen = sizeof(e->addr.in6);
		inet_pton(family, text, &e->addr.in6.sin6_addr);
		e->addr.in6.sin6_scope_id = scope;
	}
}

static bool addr_is(unsigned int i, int family, const char *text,
		    unsigned int scope)
{
	struct rdma_cmx_names_addr want = { .family = family,
					    .scope_id = scope };

	inet_pton(family, text, want.addr);
	return i < answer.names.addr_count &&
	       !memcmp(&want, &answer.names.addrs[i], sizeof(want));
}

static void test_pack(void)
{
	static struct entry e[300];
	char canon[300], text[16];
	size_t len, i;

	/* different garbage each time: the helper must not pass it on */
	memset(&answer, 0xa5, sizeof(answer));
	entry_set(&e[0], &e[1], AF_INET6, "fe80::1", 3);
	entry_set(&e[1], &e[2], AF_INET, "192.0.2.7", 0);
	entry_set(&e[2], &e[3], AF_INET6, "2001:db8::1", 9);
	entry_set(&e[3], &e[4], AF_INET, "192.0.2.7", 0);
	entry_set(&e[4], &e[5], AF_INET6, "fe80::1", 4);
	entry_set(&e[5], &e[6], AF_INET, "192.0.2.1", 0);
	entry_set(&e[6], NULL, AF_INET6, "2001:db8::1", 0);
	e[0].ai.ai_canonname = "real.example";
	len = cmx_names_pack(&e[0].ai, &answer);
	CHECK(answer.names.version == RDMA_CMX_NAMES_VERSION &&
	      !answer.names.reserved, "GAI-01 version and reserved");
	CHECK(answer.names.addr_count == 5, "GAI-01 no address twice, got %u",
	      answer.names.addr_count);
	CHECK(addr_is(0, AF_INET6, "fe80::1", 3) &&
	      addr_is(1, AF_INET, "192.0.2.7", 0) &&
	      addr_is(2, AF_INET6, "2001:db8::1", 0) &&
	      addr_is(3, AF_INET6, "fe80::1", 4) &&
	      addr_is(4, AF_INET, "192.0.2.1", 0),
	      "GAI-01 order and zones kept, unused bytes 0");
	CHECK(answer.names.canon_len == 12 &&
	      !memcmp(&answer.names.addrs[5], "real.example", 12),
	      "GAI-11 canonical name");
	CHECK(len == 8 + 5 * 24 + 12, "length is right, got %zu", len);

	e[0].ai.ai_canonname = NULL;
	len = cmx_names_pack(&e[0].ai, &answer);
	CHECK(len == 8 + 5 * 24 && !answer.names.canon_len,
	      "GAI-11 no canonical name");
	e[0].ai.ai_canonname = "evil\nname";
	cmx_names_pack(&e[0].ai, &answer);
	CHECK(!answer.names.canon_len, "GAI-11 a bad canonical name is left out");
	memset(canon, 'a', sizeof(canon));
	for (i = 0; i < sizeof(canon); i += 50)
		canon[i + 49] = '.';
	canon[254] = 0;
	e[0].ai.ai_canonname = canon;
	cmx_names_pack(&e[0].ai, &answer);
	CHECK(!answer.names.canon_len,
	      "GAI-11 a canonical name of 254 is left out");

	for (i = 0; i < 300; i++) {
		snprintf(text, sizeof(text), "10.0.%zu.%zu", i / 250, i % 250);
		entry_set(&e[i], i < 299 ? &e[i + 1] : NULL, AF_INET, text, 0);
	}
	canon[253] = 0;
	e[0].ai.ai_canonname = canon;
	memset(&answer, 0xa5, sizeof(answer));
	len = cmx_names_pack(&e[0].ai, &answer);
	CHECK(answer.names.addr_count == RDMA_CMX_NAMES_MAX_ADDRS &&
	      addr_is(255, AF_INET, "10.0.1.5", 0),
	      "GAI-01 of 300 addresses the first 256");
	CHECK(len == CMX_NAMES_ANSWER_MAX && answer.bytes[len] == 0xa5,
	      "the longest answer fits and writes nothing behind it");
	for (i = 0; i < 300; i++)
		e[i].ai.ai_next = i ? &e[i - 1].ai : NULL;
	cmx_names_pack(&e[299].ai, &answer);
	CHECK(answer.names.addr_count == RDMA_CMX_NAMES_MAX_ADDRS &&
	      addr_is(0, AF_INET, "10.0.1.5", 0) &&
	      addr_is(255, AF_INET, "10.0.0.0", 0),
	      "GAI-01 the same 256 of another order, which is kept");

	CHECK(!cmx_names_pack(NULL, &answer), "no list is no answer");
	entry_set(&e[0], NULL, AF_INET, "10.0.0.1", 0);
	e[0].ai.ai_family = AF_UNIX;
	CHECK(!cmx_names_pack(&e[0].ai, &answer), "a strange family is skipped");
	e[0].ai.ai_family = AF_INET6;
	CHECK(!cmx_names_pack(&e[0].ai, &answer), "a short address is skipped");
}

/* A parent accepts valid lengths and errors of its child. */
static void test_check(void)
{
	struct addrinfo ai = { .ai_family = AF_INET };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	char canon[] = "host.example";
	size_t len;

	ai.ai_addr = (void *)&sin;
	ai.ai_addrlen = sizeof(sin);
	ai.ai_canonname = canon;
	len = cmx_names_pack(&ai, &answer);
	CHECK(cmx_names_check(&answer, len), "an answer is one");
	CHECK(!cmx_names_check(&answer, len - 1) &&
	      !cmx_names_check(&answer, len + 1) &&
	      !cmx_names_check(&answer, 0), "of no other length");
	answer.names.addr_count = 2;
	CHECK(!cmx_names_check(&answer, len), "nor with another count");
	answer.names.addr_count = 1;
	answer.names.addrs[0].family = AF_UNIX;
	CHECK(!cmx_names_check(&answer, len), "nor of another family");
	answer.names.addrs[0].family = AF_INET;
	answer.bytes[len - 1] = 27;
	CHECK(!cmx_names_check(&answer, len), "nor with such a name");
	CHECK(cmx_names_known(ENOENT) && cmx_names_known(EIO) &&
	      !cmx_names_known(0) && !cmx_names_known(-ENOENT) &&
	      !cmx_names_known(ENOKEY), "errors that the kernel knows");
}

static void test_errors(void)
{
	static const struct {
		int gai, dns, sys, want;
	} table[] = {
		{ 0, 0, EIO, 0 },
		{ EAI_NONAME, HOST_NOT_FOUND, 0, ENOENT },
		{ EAI_NONAME, 0, 0, ENOENT },
		{ EAI_NONAME, TRY_AGAIN, 0, EAGAIN },
		{ EAI_NONAME, NO_RECOVERY, 0, ECONNREFUSED },
		{ EAI_NONAME, NO_DATA, 0, ENODATA },
		{ EAI_NODATA, NO_DATA, 0, ENODATA },
		{ EAI_ADDRFAMILY, 0, 0, ENODATA },
		{ EAI_AGAIN, TRY_AGAIN, EAGAIN, EAGAIN },
		{ EAI_FAIL, NO_RECOVERY, 0, ECONNREFUSED },
		{ EAI_MEMORY, 0, ENOMEM, ENOMEM },
		{ EAI_SYSTEM, 0, ENOMEM, ENOMEM },
		{ EAI_SYSTEM, 0, ETIMEDOUT, ETIMEDOUT },
		{ EAI_SYSTEM, 0, ECONNREFUSED, EIO },
		{ EAI_SYSTEM, 0, 0, EIO },
		{ EAI_BADFLAGS, 0, 0, EIO },
		{ EAI_FAMILY, 0, 0, EIO },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int got = cmx_names_errno(table[i].gai, table[i].dns,
					  table[i].sys);

		CHECK(got == table[i].want, "GAI-02 EAI %d, DNS %d: %s",
		      table[i].gai, table[i].dns,
		      got ? strerrorname_np(got) : "success");
	}
}

static void test_numbers(void)
{
	static const char *const bad[] = {
		"", " 1", "1 ", "+1", "-1", "0x10", "1s", "0", "101",
		"99999999999999999999",
	};
	long v = 7;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!cmx_names_number(bad[i], 1, 100, &v) && v == 7,
		      "number '%s' is refused", bad[i]);
	CHECK(cmx_names_number("1", 1, 100, &v) && v == 1, "lowest number");
	CHECK(cmx_names_number("100", 1, 100, &v) && v == 100,
	      "highest number");
}

static void test_replies(void)
{
	static const unsigned char query[] = {
		0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0,
		1, 'a', 1, 't', 0, 0, 1, 0, 1,
	};
	static const enum cmx_probe rcodes[] = {
		CMX_PROBE_ANSWERED, CMX_PROBE_REFUSED, CMX_PROBE_FAILING,
		CMX_PROBE_ANSWERED, CMX_PROBE_REFUSED, CMX_PROBE_REFUSED,
		CMX_PROBE_FAILING,
	};
	unsigned char reply[sizeof(query)];
	size_t i;

#define MEANS(len) cmx_probe_reply(query, sizeof(query), reply, len)
	memcpy(reply, query, sizeof(reply));
	CHECK(MEANS(sizeof(reply)) == CMX_PROBE_SILENT,
	      "a query is no reply");
	reply[2] |= 0x80;
	for (i = 0; i < sizeof(rcodes) / sizeof(rcodes[0]); i++) {
		reply[3] = 0x80 | i;
		CHECK(MEANS(sizeof(reply)) == rcodes[i],
		      "GAI-02 meaning of rcode %zu", i);
	}
	reply[3] = 5;
	reply[13] = 'A';
	CHECK(MEANS(sizeof(reply)) == CMX_PROBE_REFUSED,
	      "the case of letters does not matter");
	reply[13] = 'b';
	CHECK(MEANS(sizeof(reply)) == CMX_PROBE_SILENT,
	      "a reply to another question is none");
	reply[13] = 'a';
	reply[0]++;
	CHECK(MEANS(sizeof(reply)) == CMX_PROBE_SILENT,
	      "a reply with another id is none");
	reply[0]--;
	for (i = 0; i < sizeof(reply); i++)
		if (MEANS(i) != CMX_PROBE_SILENT)
			break;
	CHECK(i == sizeof(reply), "a truncated reply is none");
	reply[5] = 0;
	CHECK(MEANS(12) == CMX_PROBE_REFUSED,
	      "a refusal without the question counts");
	reply[3] = 2;
	CHECK(MEANS(12) == CMX_PROBE_SILENT,
	      "a failure without the question does not");
#undef MEANS
}

/* Builds a response of SRV records. */
static unsigned char msg[NS_MAXMSG];
static size_t msg_len;

static void put(const void *data, size_t len)
{
	memcpy(msg + msg_len, data, len);
	msg_len += len;
}

static void put16(unsigned int value)
{
	unsigned char bytes[2] = { value >> 8, value };

	put(bytes, 2);
}

static void msg_begin(unsigned int records)
{
	msg_len = 0;
	put16(0x1234);
	put16(0x8180);
	put16(1);
	put16(records);
	put16(0);
	put16(0);
	put("\2_s\4_tcp\1t", 11);	/* and its final 0 */
	put16(ns_t_srv);
	put16(ns_c_in);
}

/* @target: in the format of DNS, @len bytes */
static void msg_record(unsigned int type, unsigned int priority,
		       unsigned int weight, unsigned int port,
		       const void *target, size_t len)
{
	put16(0xc00c);			/* the name of the question */
	put16(type);
	put16(ns_c_in);
	put16(0);
	put16(60);
	put16(6 + len);
	put16(priority);
	put16(weight);
	put16(port);
	put(target, len);
}

static struct cmx_srv srvs[CMX_SRV_RECORDS];

static void test_srv_parse(void)
{
	size_t i, len;
	int count;

	CHECK(cmx_srv_name("_s._tcp.t") && cmx_srv_name("_s._udp.t."),
	      "SV-02 names of services");
	CHECK(!cmx_srv_name("s._tcp.t") && !cmx_srv_name("_s.tcp.t") &&
	      !cmx_srv_name("_s._tcp") && !cmx_srv_name("_s._tcp.") &&
	      !cmx_srv_name("_._tcp.t") && !cmx_srv_name("_s._.t") &&
	      !cmx_srv_name("_s") && !cmx_srv_name(""),
	      "SV-02 names of hosts");

	msg_begin(6);
	msg_record(ns_t_srv, 10, 60, 4420, "\1a\1t", 5);
	msg_record(ns_t_txt, 10, 60, 4420, "\1a\1t", 5);
	msg_record(ns_t_srv, 0xffff, 0, 0xffff, "\1b\xc0\x14", 4);
	msg_record(ns_t_srv, 1, 2, 3, "", 1);
	msg_record(ns_t_srv, 1, 2, 3, "\3a b\1t", 7);	/* not a host name */
	msg_record(ns_t_srv, 1, 2, 3, "\1a\1t\0x", 6);	/* too long */
	len = msg_len;
	count = cmx_srv_parse(msg, len, srvs);
	CHECK(count == 3, "SV-02 the records that are right: %d", count);
	CHECK(srvs[0].priority == 10 && srvs[0].weight == 60 &&
	      srvs[0].port == 4420 && !strcmp(srvs[0].host, "a.t"),
	      "SV-02 a record");
	CHECK(srvs[1].priority == 0xffff && !srvs[1].weight &&
	      srvs[1].port == 0xffff && !strcmp(srvs[1].host, "b.t"),
	      "SV-02 the largest numbers, and a compressed name");
	CHECK(!srvs[2].host[0], "SV-02 a service that is not offered");
	for (i = 0; i < len; i++)
		if (cmx_srv_parse(msg, i, srvs) != -1)
			break;
	CHECK(i == len, "SV-02 no shorter message is one: %zu", i);

	msg_begin(CMX_SRV_RECORDS + 1);
	for (i = 0; i <= CMX_SRV_RECORDS; i++)
		msg_record(ns_t_srv, 1, 1, i, "\1a\1t", 5);
	CHECK(cmx_srv_parse(msg, msg_len, srvs) == CMX_SRV_RECORDS,
	      "SV-02 no more records than there is room for");

	/* A compressed name that points to itself */
	msg_begin(1);
	msg_record(ns_t_srv, 1, 1, 1, "\xc0\x28", 2);
	CHECK(cmx_srv_parse(msg, msg_len, srvs) <= 0, "SV-02 a name in a circle");
}

/*
 * The limits choose the same records in whatever order: the priorities are 1
 * and 2, the weights 0 and 1, and the ports differ.
 */
static void test_srv_limits(void)
{
	unsigned int first, i, count, chosen[2] = {};
	bool other = false;

	for (first = 0; first < 2; first++) {
		msg_begin(CMX_SRV_RECORDS * 2);
		for (i = 0; i < CMX_SRV_RECORDS * 2; i++) {
			unsigned int port = (i * 5 + first * 77) %
					    (CMX_SRV_RECORDS * 2);

			msg_record(ns_t_srv, 1 + (port & 1), port >> 6, port,
				   "\1a\1t", 5);
		}
		count = cmx_srv_parse(msg, msg_len, srvs);
		CHECK(count == CMX_SRV_RECORDS,
		      "SV-02 all that there is room for");
		for (i = 0; i < count; i++)
			other |= srvs[i].priority != 1;
		count = cmx_srv_limit(srvs, count);
		CHECK(count == CMX_SRV_HOSTS, "SV-02 as many as are looked up");
		for (i = 0; i < count; i++) {
			other |= srvs[i].weight != 1;
			chosen[first] += srvs[i].port * srvs[i].port;
		}
	}
	CHECK(!other, "SV-02 of the lowest priority and the highest weight");
	CHECK(chosen[0] == chosen[1], "SV-02 the same in another order");
}

static unsigned int draw;

static unsigned int draw_next(unsigned int max)
{
	return draw < max ? draw : max;
}

/* The order for this random number, by the ports */
static const char *srv_ports(unsigned int number)
{
	static const struct cmx_srv list[] = {
		{ .priority = 2, .weight = 9, .port = 5 },
		{ .priority = 1, .weight = 3, .port = 1 },
		{ .priority = 1, .weight = 0, .port = 2 },
		{ .priority = 1, .weight = 1, .port = 3 },
	};
	static char text[5];
	size_t i;

	memcpy(srvs, list, sizeof(list));
	draw = number;
	cmx_srv_order(srvs, 4, draw_next);
	for (i = 0; i < 4; i++)
		text[i] = '0' + srvs[i].port;
	return text;
}

static void test_srv_order(void)
{
	/* RFC 2782: the first whose running sum is at least the number */
	CHECK(!strcmp(srv_ports(0), "2135") || !strcmp(srv_ports(0), "2315"),
	      "SV-02 number 0 takes weight 0 first");
	CHECK(srv_ports(1)[0] != '2', "SV-02 number 1 does not");
	CHECK(!strncmp(srv_ports(4), "31", 2) || !strncmp(srv_ports(4), "13", 2),
	      "SV-02 the highest number takes the last one first");
	CHECK(srv_ports(0)[3] == '5' && srv_ports(2)[3] == '5' &&
	      srv_ports(4)[3] == '5', "SV-02 a higher priority comes last");
}

static void test_netns(void)
{
	static const struct {
		const char *text;
		bool good;
		unsigned long inum;
		unsigned long long cookie;
	} table[] = {
		{ "a.b", true, 0, 0 },
		{ "a.b@4026532000:7", true, 4026532000, 7 },
		{ "a@4294967295:18446744073709551615", true, 4294967295,
		  18446744073709551615ULL },
		{ "a@4294967296:1", false },
		{ "a@1:18446744073709551616", false },
		{ "a@1:99999999999999999999", false },
		{ "a@0:1", false },
		{ "a@", false },
		{ "a@1", false },
		{ "a@1:", false },
		{ "a@:1", false },
		{ "a@-1:1", false },
		{ "a@1: 1", false },
		{ "a@1:1:1", false },
		{ "a@1@1:1", false },
		{ "a@../x:1", false },
	};
	struct cmx_netns ns;
	char text[64];
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		strcpy(text, table[i].text);
		CHECK(cmx_netns_parse(text, &ns) == table[i].good &&
		      (!table[i].good ||
		       (ns.inum == table[i].inum && !ns.name &&
			ns.cookie == table[i].cookie &&
			!strchr(text, '@') && *text == 'a')),
		      "KA-01 namespace %zu is %s", i,
		      table[i].good ? "taken" : "refused");
	}
}

int main(void)
{
	printf("TAP version 13\n");
	test_names();
	test_srv_parse();
	test_srv_limits();
	test_srv_order();
	test_netns();
	test_pack();
	test_check();
	test_errors();
	test_numbers();
	test_replies();
	printf("1..%u\n", tests);
	return failures ? 1 : 0;
}
