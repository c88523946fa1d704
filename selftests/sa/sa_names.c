// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services by name and by id at a real SA: texts that are ids, the fields of an
 * entry, several records, and invalid queries. Each test is a separate process.
 */
#include <string.h>

#include "sa.h"

FIXTURE(sa) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	char name[64];
	unsigned long long sid;
};

FIXTURE_SETUP(sa)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	self->id = id_on(self->channel, DEV_OWN);
	ASSERT_NE(NULL, self->id);
	service_name(self->name);
	self->sid = service_id();
}

FIXTURE_TEARDOWN(sa)
{
	if (self->id)
		EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

/* The one entry of a service of DEV_OTHER with this id */
static void entry_expect(struct __test_metadata *_metadata,
			 const struct rdma_addrinfo *ai,
			 unsigned long long sid)
{
	const struct sockaddr_ib *dst, *src;

	ASSERT_NE(NULL, ai);
	EXPECT_EQ(NULL, ai->ai_next);
	EXPECT_EQ(AF_IB, ai->ai_family);
	EXPECT_EQ(RDMA_PS_IB, ai->ai_port_space);
	EXPECT_EQ(IBV_QPT_RC, ai->ai_qp_type);
	EXPECT_EQ(sizeof(*dst), ai->ai_dst_len);
	EXPECT_EQ(sizeof(*src), ai->ai_src_len);
	dst = ib(ai->ai_dst_addr);
	src = ib(ai->ai_src_addr);
	ASSERT_NE(NULL, dst);
	ASSERT_NE(NULL, src);
	EXPECT_EQ(sid, be64toh(dst->sib_sid));
	EXPECT_EQ(UINT64_MAX, be64toh(dst->sib_sid_mask));
	EXPECT_EQ(0xffff, be16toh(dst->sib_pkey));
	EXPECT_EQ(0, memcmp(&dst->sib_addr, gid(DEV_OTHER), 16));
	EXPECT_EQ(0, memcmp(&src->sib_addr, gid(DEV_OWN), 16));
}

static void found_expect(struct __test_metadata *_metadata,
			 struct rdma_cm_id *id, const char *text,
			 unsigned long long sid)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, sa_get(id, text, 0, &res)) {
		TH_LOG("service '%s'", text);
	}
	entry_expect(_metadata, res, sid);
	rdma_freeaddrinfo(res);
}

TEST_F(sa, RAI_06_by_name)
{
	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", self->name,
			     self->sid));
	found_expect(_metadata, self->id, self->name, self->sid);
}

TEST_F(sa, RAI_06_by_id)
{
	char text[64];

	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", self->name,
			     self->sid));
	snprintf(text, sizeof(text), "%llu", self->sid);
	found_expect(_metadata, self->id, text, self->sid);
	snprintf(text, sizeof(text), "0x%llx", self->sid);
	found_expect(_metadata, self->id, text, self->sid);
	snprintf(text, sizeof(text), "0X%llX", self->sid);
	found_expect(_metadata, self->id, text, self->sid);
	snprintf(text, sizeof(text), "0%llo", self->sid);
	found_expect(_metadata, self->id, text, self->sid);
}

TEST_F(sa, RAI_06_id_of_all_bits)
{
	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i 0xffffffffffffffff set",
			     self->name));
	found_expect(_metadata, self->id, "0xffffffffffffffff", UINT64_MAX);
	found_expect(_metadata, self->id, "18446744073709551615", UINT64_MAX);
	found_expect(_metadata, self->id, "01777777777777777777777",
		     UINT64_MAX);
	found_expect(_metadata, self->id, self->name, UINT64_MAX);
	/* The next number is no id, and no service has it as a name. */
	EXPECT_EQ(-ENOENT, sa_count(self->id, "18446744073709551616"));
	EXPECT_EQ(0, service(DEV_OTHER, "-n %s -i 0xffffffffffffffff delete",
			     self->name));
}

/* A text that does not parse as a number as a whole is a name. */
TEST_F(sa, RAI_06_names_that_look_like_ids)
{
	static const char *const texts[] = {
		"123abc", "0xfoo", "0x", "089", "12.5", "1e3", "0b1",
		"-n", "x", "UTF-8-\xc3\xa9",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		ASSERT_EQ(0, service(DEV_OTHER, "--name=\"%s\" -i %llu set",
				     texts[i], self->sid + i));
		found_expect(_metadata, self->id, texts[i], self->sid + i);
	}
}

/* A number is an id only, even if a service has it as its name. */
TEST_F(sa, RAI_06_numbers_are_ids)
{
	char text[64];

	snprintf(text, sizeof(text), "%llu", self->sid + 7);
	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", text, self->sid));
	EXPECT_EQ(-ENOENT, sa_count(self->id, text));
}

TEST_F(sa, RAI_06_names_of_63_and_64_bytes)
{
	struct rdma_addrinfo *res;
	char longest[66];

	memset(longest, 'n', sizeof(longest));
	snprintf(longest, 12, "%-11.11s", self->name);
	longest[11] = '-';
	longest[63] = '\0';
	ASSERT_EQ(0, service(DEV_OTHER, "-n '%s' -i %llu set", longest,
			     self->sid));
	found_expect(_metadata, self->id, longest, self->sid);

	/* A longer name fails at once, and is not cut to a valid one; RAI-04 */
	longest[63] = 'n';
	longest[64] = '\0';
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(self->id, NULL, longest,
			&(struct rdma_addrinfo) { .ai_flags = RAI_SA }));
	EXPECT_LT(0, errno);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(EAI_SERVICE, rdma_getaddrinfo(NULL, longest,
			&(struct rdma_addrinfo) { .ai_flags = RAI_SA }, &res));

	/* A name at the SA that fills its field is not cut either. */
	ASSERT_EQ(0, service(DEV_OTHER, "-n '%s' -i %llu set", longest,
			     self->sid + 1));
	longest[63] = '\0';
	EXPECT_EQ(1, sa_count(self->id, longest));
}

/* Names are compared as a whole, and with their case. */
TEST_F(sa, RAI_06_no_part_of_a_name)
{
	char other[80];

	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", self->name,
			     self->sid));
	snprintf(other, sizeof(other), "%sx", self->name);
	EXPECT_EQ(-ENOENT, sa_count(self->id, other));
	snprintf(other, sizeof(other), "%.*s", (int)strlen(self->name) - 1,
		 self->name);
	EXPECT_EQ(-ENOENT, sa_count(self->id, other));
	snprintf(other, sizeof(other), "S%s", self->name + 1);
	EXPECT_EQ(-ENOENT, sa_count(self->id, other));
}

TEST_F(sa, RAI_06_several_records)
{
	unsigned long long seen = 0, sid;
	struct rdma_addrinfo *res, *ai;

	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu -c 7 set", self->name,
			     self->sid));
	ASSERT_EQ(0, sa_get(self->id, self->name, 0, &res));
	EXPECT_EQ(7, ai_count(res));
	for (ai = res; ai; ai = ai->ai_next) {
		ASSERT_NE(NULL, ib(ai->ai_dst_addr));
		sid = be64toh(ib(ai->ai_dst_addr)->sib_sid) - self->sid;
		ASSERT_GT(7, sid);
		seen |= 1 << sid;
	}
	EXPECT_EQ(0x7f, seen);
	rdma_freeaddrinfo(res);
}

TEST_F(sa, RAI_06_same_name_on_several_nodes)
{
	struct rdma_addrinfo *res, *ai;
	unsigned int n, seen = 0;

	for (n = 1; n <= DEVICES; n++)
		ASSERT_EQ(0, service(n, "-n %s -i %llu set", self->name,
				     self->sid));
	ASSERT_EQ(0, sa_get(self->id, self->name, 0, &res));
	EXPECT_EQ(DEVICES, ai_count(res));
	for (ai = res; ai; ai = ai->ai_next) {
		EXPECT_EQ(self->sid, be64toh(ib(ai->ai_dst_addr)->sib_sid));
		for (n = 1; n <= DEVICES; n++)
			if (!memcmp(&ib(ai->ai_dst_addr)->sib_addr, gid(n), 16))
				seen |= 1 << n;
	}
	EXPECT_EQ(((1 << DEVICES) - 1) << 1, seen);
	rdma_freeaddrinfo(res);
}

/* The entry stays in the list, without a path, after reachable ones. */
TEST_F(sa, RAI_06_record_whose_GID_is_gone)
{
	struct rdma_addrinfo *res = NULL;
	char usual[32];
	int ret;

	ASSERT_EQ(0, service(DEV_GONE, "-n %s -i %llu set", self->name,
			     self->sid));
	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", self->name,
			     self->sid + 1));
	ASSERT_EQ(0, bash("link_down %s; "
			  "gone() { ! sa_query NR | grep -q $(dev_guid %s); }; "
			  "wait_for 120 gone", device(DEV_GONE),
			  device(DEV_GONE)));
	/* An earlier test may have left the path in the cache. */
	ASSERT_TRUE(parameter_set("sa_cache_ms", "0", usual));
	ret = sa_get(self->id, self->name, 0, &res);
	EXPECT_TRUE(parameter_set("sa_cache_ms", usual, NULL));
	EXPECT_EQ(0, bash("link_up %s; port_active_wait",
			  device(DEV_GONE)));
	ASSERT_EQ(0, ret);
	ASSERT_EQ(2, ai_count(res));
	EXPECT_EQ(self->sid + 1, be64toh(ib(res->ai_dst_addr)->sib_sid));
	EXPECT_NE(0, res->ai_route_len);
	EXPECT_EQ(self->sid, be64toh(ib(res->ai_next->ai_dst_addr)->sib_sid));
	EXPECT_EQ(0, res->ai_next->ai_route_len);
	rdma_freeaddrinfo(res);
}

TEST_F(sa, RAI_03_no_such_service)
{
	char text[64];

	EXPECT_EQ(-ENOENT, sa_count(self->id, self->name));
	snprintf(text, sizeof(text), "%llu", self->sid);
	EXPECT_EQ(-ENOENT, sa_count(self->id, text));
	/* The id can resolve again, and finds a new service at once. */
	ASSERT_EQ(0, service(DEV_OTHER, "-n %s -i %llu set", self->name,
			     self->sid));
	EXPECT_EQ(1, sa_count(self->id, self->name));
	EXPECT_EQ(1, sa_count(self->id, text));
}

TEST_F(sa, GAI_12_all_ports_without_an_id)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_addrinfo *res, *ai, *other;
	char text[160], more[160];
	unsigned int n;

	for (n = 1; n <= 2; n++)
		ASSERT_EQ(0, service(n, "-n %s -i %llu set", self->name,
				     self->sid + n));
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, self->name, &hints, &res));
	for (n = 1; n <= 2; n++) {
		snprintf(text, sizeof(text), "ib[%s]:%llx/ffffffffffffffff",
			 gid_text(n), self->sid + n);
		EXPECT_NE(NULL, ai_find(res, text));
	}
	/* Merged: no entry twice */
	for (ai = res; ai; ai = ai->ai_next)
		for (other = ai->ai_next; other; other = other->ai_next)
			EXPECT_FALSE(!strcmp(addr_text(ai->ai_dst_addr, text,
						       sizeof(text)),
					     addr_text(other->ai_dst_addr, more,
						       sizeof(more))) &&
				     !memcmp(ai->ai_src_addr,
					     other->ai_src_addr,
					     sizeof(struct sockaddr_ib)));
	rdma_freeaddrinfo(res);
	service_name(self->name);
	EXPECT_EQ(EAI_NONAME, rdma_getaddrinfo(NULL, self->name, &hints, &res));
	EXPECT_EQ(EAI_BADFLAGS, rdma_getaddrinfo(gid_text(1), self->name,
						 &hints, &res));
}

/* A passive query returns the address of the port, and no destination. */
TEST_F(sa, GAI_04_passive)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA | RAI_PASSIVE };
	struct rdma_addrinfo *res, *ai;
	unsigned int n, own = 0;

	for (n = DEV_OWN; n <= DEV_OTHER; n++)
		ASSERT_EQ(0, service(n, "-n %s -i %llu set", self->name,
				     self->sid));
	ASSERT_EQ(0, sa_get(self->id, self->name, RAI_PASSIVE, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_EQ(AF_IB, res->ai_family);
	EXPECT_EQ(0, res->ai_dst_len);
	EXPECT_EQ(NULL, res->ai_dst_addr);
	EXPECT_EQ(0, res->ai_route_len);
	EXPECT_EQ(0, res->ai_connect_len);
	ASSERT_NE(NULL, ib(res->ai_src_addr));
	EXPECT_EQ(sizeof(struct sockaddr_ib), res->ai_src_len);
	EXPECT_EQ(self->sid, be64toh(ib(res->ai_src_addr)->sib_sid));
	EXPECT_EQ(0, memcmp(&ib(res->ai_src_addr)->sib_addr, gid(DEV_OWN),
			    16));
	rdma_freeaddrinfo(res);

	/* Each port that sends a query, once */
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, self->name, &hints, &res));
	for (ai = res; ai; ai = ai->ai_next) {
		EXPECT_EQ(0, ai->ai_dst_len);
		ASSERT_NE(NULL, ib(ai->ai_src_addr));
		for (n = 1; n <= DEVICES; n++)
			if (!memcmp(&ib(ai->ai_src_addr)->sib_addr, gid(n), 16))
				own |= 1 << n;
	}
	EXPECT_EQ(__builtin_popcount(own), ai_count(res));
	EXPECT_NE(0, own & 1 << DEV_OWN);
	rdma_freeaddrinfo(res);
}

#define MANY	300

/* A service that several ports find counts once towards the limit. */
TEST_F(sa, GAI_12_many_records)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_addrinfo *res;
	unsigned int n;
	int ret;

	for (n = DEV_OWN; n <= DEV_OTHER; n++)
		ASSERT_EQ(0, service(n, "-n %s -i %llu -c %d set", self->name,
				     self->sid, MANY));
	ret = rdma_getaddrinfo(NULL, self->name, &hints, &res);
	for (n = DEV_OWN; n <= DEV_OTHER; n++)
		EXPECT_EQ(0, service(n, "-n %s -i %llu -c %d delete",
				     self->name, self->sid, MANY));
	ASSERT_EQ(0, ret);
	EXPECT_EQ(2 * MANY, ai_count(res));
	rdma_freeaddrinfo(res);
}

TEST_F(sa, RAI_07_one_query_at_a_time)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };

	ASSERT_EQ(0, bash("sm_pause"));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NULL, self->name,
					   &hints));
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(self->id, NULL, self->name,
					    &hints));
	EXPECT_EQ(EBUSY, errno);
	ASSERT_EQ(0, bash("sm_resume"));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/* The id is destroyed at once, while no SA responds, and without an event. */
TEST_F(sa, RAI_07_destroyed_while_outstanding)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_cm_id *next;

	ASSERT_EQ(0, bash("sm_pause"));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NULL, self->name,
					   &hints));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_EQ(0, bash("sm_resume"));
	/* The SA's response to this query follows that to the other. */
	next = id_on(self->channel, DEV_OWN);
	ASSERT_NE(NULL, next);
	EXPECT_EQ(-ENOENT, sa_count(next, self->name));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	rdma_destroy_id(next);
}

TEST_F(sa, RAI_04_misuse)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdma_cm_id *unbound;
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_create_id(self->channel, &unbound, NULL,
				    RDMA_PS_IB));
	EXPECT_EQ(-EINVAL, sa_get(unbound, self->name, 0, &res));
	rdma_destroy_id(unbound);
	EXPECT_EQ(-EINVAL, sa_get(self->id, "", 0, &res));
	hints.ai_flags = RAI_SA | RAI_DNS;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(self->id, NULL, self->name,
					    &hints));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

TEST_HARNESS_MAIN
