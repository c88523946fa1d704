// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names and ids of services (RAI-06): a text that parses as a number of base 0
 * as a whole is an id, any other is a name.
 */
#include "resolve/resolve.h"
#include "kunit.h"

static const struct service {
	const char *text;
	u64 id;			/* 0: a name */
} services[] = {
	{ "1", 1 },
	{ "1234", 1234 },
	{ "0x10", 16 },
	{ "0X1f", 31 },
	{ "017", 15 },
	{ "00", 0xdead },
	{ "18446744073709551615", U64_MAX },
	{ "0xffffffffffffffff", U64_MAX },
	{ "01777777777777777777777", U64_MAX },
	{ "18446744073709551616", 0 },
	{ "0x10000000000000000", 0 },
	{ "09", 0 },
	{ "0x", 0 },
	{ "0xg", 0 },
	{ "1a", 0 },
	{ "1 ", 0 },
	{ " 1", 0 },
	{ "1\n", 0 },
	{ "+1", 0 },
	{ "-1", 0 },
	{ "1.0", 0 },
	{ "1e3", 0 },
	{ "target", 0 },
	{ "a b", 0 },
	{ "f00d", 0 },
	{ "\xc3\xa4", 0 },
};

static void service_desc(const struct service *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%*pE'", (int)strlen(s->text),
		 s->text);
}

KUNIT_ARRAY_PARAM(service, services, service_desc);

static void service_parse(struct kunit *test)
{
	const struct service *s = test->param_value;
	u64 want = s->id == 0xdead ? 0 : s->id;
	struct cmx_sa_query q;
	const u8 *rec = q.rec;

	memset(&q, 0xa5, sizeof(q));
	cmx_service_query(&q, s->text);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(q.attr_id), 0x31);
	KUNIT_EXPECT_EQ(test, q.method, 0x12);
	KUNIT_EXPECT_EQ(test, q.rec_len, 176);
	/* ServiceID is bit 0 at byte 0, ServiceName bit 6 at byte 48. */
	if (s->id) {
		KUNIT_EXPECT_EQ(test, be64_to_cpu(q.comp_mask), BIT_ULL(0));
		KUNIT_EXPECT_EQ(test, be64_to_cpu(*(__be64 *)rec), want);
		KUNIT_EXPECT_NULL(test, memchr_inv(rec + 8, 0, 192));
	} else {
		size_t len = strlen(s->text);

		KUNIT_EXPECT_EQ(test, be64_to_cpu(q.comp_mask), BIT_ULL(6));
		KUNIT_EXPECT_FALSE(test, memcmp(rec + 48, s->text, len));
		KUNIT_EXPECT_NULL(test, memchr_inv(rec, 0, 48));
		KUNIT_EXPECT_NULL(test, memchr_inv(rec + 48 + len, 0,
						   200 - 48 - len));
	}
	/* The cache compares queries byte by byte. */
	KUNIT_EXPECT_NULL(test, memchr_inv(q.reserved, 0, sizeof(q.reserved)));
}

static void service_longest(struct kunit *test)
{
	struct cmx_sa_query q;
	char text[64] = {};

	memset(text, 'x', 63);
	cmx_service_query(&q, text);
	KUNIT_EXPECT_FALSE(test, memcmp(q.rec + 48, text, 64));
	memset(text, '9', 63);
	cmx_service_query(&q, text);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(q.comp_mask), BIT_ULL(6));
}

static struct kunit_case service_cases[] = {
	KUNIT_CASE_PARAM(service_parse, service_gen_params),
	KUNIT_CASE(service_longest),
	{}
};

static struct kunit_suite service_suite = {
	.name = "cmx_service",
	.test_cases = service_cases,
};

kunit_test_suite(service_suite);
