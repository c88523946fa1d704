// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Valid host names, and responses of a name service, which a process writes and
 * the kernel does not trust: rdma_cmx_names.h.
 */
#include <linux/slab.h>

#include "resolve/resolve.h"
#include "kunit.h"

/* A name of labels with the given lengths, with a dot at the end or not */
static void name_make(char *text, const int *labels, bool dot)
{
	for (; *labels; labels++) {
		memset(text, 'a', *labels);
		text += *labels;
		*text = '.';
		text += labels[1] || dot;
	}
	*text = 0;
}

static void names_lengths(struct kunit *test)
{
	/* 253 bytes: the longest name. A label has 63 at most. */
	static const int longest[] = { 63, 63, 63, 61, 0 };
	static const int longer[] = { 63, 63, 63, 62, 0 };
	static const int label[] = { 64, 0 };
	static const int label_in[] = { 3, 64, 3, 0 };
	char *text = kunit_kzalloc(test, 300, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, text);
	name_make(text, longest, false);
	KUNIT_ASSERT_EQ(test, strlen(text), (size_t)253);
	KUNIT_EXPECT_TRUE(test, cmx_name_valid(text));
	name_make(text, longer, false);
	KUNIT_EXPECT_FALSE(test, cmx_name_valid(text));
	name_make(text, longer, true);
	KUNIT_EXPECT_FALSE(test, cmx_name_valid(text));
	name_make(text, label, false);
	KUNIT_EXPECT_FALSE(test, cmx_name_valid(text));
	name_make(text, label_in, false);
	KUNIT_EXPECT_FALSE(test, cmx_name_valid(text));
}

static void names_bytes(struct kunit *test)
{
	char text[] = "a?b";
	int c;

	for (c = 1; c < 256; c++) {
		bool ok = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			  (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
			  c == '.';

		text[1] = c;
		KUNIT_EXPECT_EQ_MSG(test, cmx_name_valid(text), ok, "%d", c);
	}
}

static void names_dots(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, cmx_name_valid("a"));
	KUNIT_EXPECT_TRUE(test, cmx_name_valid("a.b"));
	KUNIT_EXPECT_TRUE(test, cmx_name_valid("a.b."));
	KUNIT_EXPECT_FALSE(test, cmx_name_valid(""));
	KUNIT_EXPECT_FALSE(test, cmx_name_valid("."));
	KUNIT_EXPECT_FALSE(test, cmx_name_valid(".a"));
	KUNIT_EXPECT_FALSE(test, cmx_name_valid("a..b"));
	KUNIT_EXPECT_FALSE(test, cmx_name_valid("a.."));
}

#define CANON		"host.example"
#define CANON_LEN	12

/* Two addresses and a canonical name, in memory of exactly that size. */
static struct rdma_cmx_names *answer_make(size_t *len)
{
	struct rdma_cmx_names *n;

	*len = sizeof(*n) + 2 * sizeof(n->addrs[0]) + CANON_LEN;
	n = kzalloc(*len, GFP_KERNEL);
	if (!n)
		return NULL;
	n->version = 1;
	n->addr_count = 2;
	n->canon_len = CANON_LEN;
	n->addrs[0].family = 2;
	n->addrs[0].addr[0] = 192;
	n->addrs[1].family = 10;
	n->addrs[1].addr[0] = 0xfe;
	n->addrs[1].addr[1] = 0x80;
	n->addrs[1].scope_id = 3;
	memcpy((u8 *)n + *len - CANON_LEN, CANON, CANON_LEN);
	return n;
}

/* The result of the check for a valid response with one byte changed */
static int answer_with(size_t at, u8 value)
{
	struct rdma_cmx_names *n;
	size_t len;
	int ret;

	n = answer_make(&len);
	if (!n)
		return -ENOMEM;
	((u8 *)n)[at] = value;
	ret = cmx_answer_check(n, len);
	kfree(n);
	return ret;
}

#define FIELD(_field)	offsetof(struct rdma_cmx_names, _field)
#define CANON_AT	FIELD(addrs[2])

/* Each byte with a value that a rule excludes */
static const struct bad {
	size_t at;
	u8 value;
} bads[] = {
	{ FIELD(version), 0 },
	{ FIELD(version), 3 },
	{ FIELD(version) + 1, 1 },
	{ FIELD(reserved), 1 },
	{ FIELD(reserved) + 1, 1 },
	{ FIELD(addr_count), 0 },
	{ FIELD(addr_count), 1 },
	{ FIELD(addr_count), 3 },
	{ FIELD(addr_count) + 1, 0xff },
	{ FIELD(canon_len), 0 },
	{ FIELD(canon_len), CANON_LEN - 1 },
	{ FIELD(canon_len), CANON_LEN + 1 },
	{ FIELD(canon_len) + 1, 0xff },
	{ FIELD(addrs[0].port), 1 },
	{ FIELD(addrs[1].port) + 1, 1 },
	{ FIELD(addrs[0].family), 0 },
	{ FIELD(addrs[0].family), 1 },
	{ FIELD(addrs[0].family), 27 },
	{ FIELD(addrs[0].family) + 1, 1 },
	{ FIELD(addrs[0].scope_id), 1 },
	{ FIELD(addrs[0].addr[4]), 1 },
	{ FIELD(addrs[0].addr[15]), 1 },
	/* Only a link-local address has a zone. */
	{ FIELD(addrs[1].addr[0]), 0x20 },
	{ CANON_AT, 0 },
	{ CANON_AT + CANON_LEN - 1, 0 },
	{ CANON_AT + 4, '\n' },
	{ CANON_AT + 4, ' ' },
	{ CANON_AT + 4, 0x1b },
	{ CANON_AT + 4, 0x7f },
};

static void answer_fields(struct kunit *test)
{
	struct rdma_cmx_names *n;
	size_t len;
	u32 i;

	KUNIT_EXPECT_EQ(test, answer_with(FIELD(version), 1), 0);
	/* A link-local address is valid without a zone. */
	KUNIT_EXPECT_EQ(test, answer_with(FIELD(addrs[1].scope_id), 0), 0);
	for (i = 0; i < ARRAY_SIZE(bads); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    answer_with(bads[i].at, bads[i].value),
				    -EBADMSG, "byte %zu is %u", bads[i].at,
				    bads[i].value);
	n = answer_make(&len);
	KUNIT_ASSERT_NOT_NULL(test, n);
	n->version = RDMA_CMX_NAMES_VERSION_PORTS;
	n->addrs[0].port = 0xffff;
	KUNIT_EXPECT_EQ(test, cmx_answer_check(n, len), 0);
	/* One address less allows a name that is longer by its size. */
	n->version = RDMA_CMX_NAMES_VERSION;
	n->addrs[0].port = 0;
	n->addr_count = 1;
	n->canon_len = CANON_LEN + sizeof(n->addrs[0]);
	KUNIT_EXPECT_EQ(test, cmx_answer_check(n, len), -EBADMSG);
	kfree(n);
}

/* Any length but the valid one. */
static void answer_lengths(struct kunit *test)
{
	struct rdma_cmx_names *n;
	size_t len, cut;
	void *copy;

	n = answer_make(&len);
	KUNIT_ASSERT_NOT_NULL(test, n);
	for (cut = 0; cut < len; cut++) {
		copy = kmemdup(n, cut, GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, copy);
		KUNIT_EXPECT_EQ(test, cmx_answer_check(copy, cut), -EBADMSG);
		kfree(copy);
	}
	copy = kzalloc(len + 1, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, n, len);
	KUNIT_EXPECT_EQ(test, cmx_answer_check(copy, len + 1), -EBADMSG);
	kfree(copy);
	kfree(n);
}

/* The limits are 256 addresses and a name of 253 bytes. */
static void answer_limits(struct kunit *test)
{
	size_t room = sizeof(struct rdma_cmx_names) +
		      257 * sizeof(struct rdma_cmx_names_addr) + 254;
	struct rdma_cmx_names *n = kunit_kzalloc(test, room, GFP_KERNEL);
	struct cmx_answer answer = {};
	size_t len;
	int i, addrs, canon;

	KUNIT_ASSERT_NOT_NULL(test, n);
	for (addrs = 255; addrs <= 257; addrs++) {
		for (canon = 252; canon <= 254; canon++) {
			memset(n, 0, room);
			n->version = 1;
			n->addr_count = addrs;
			n->canon_len = canon;
			for (i = 0; i < addrs; i++)
				n->addrs[i].family = 10;
			memset(&n->addrs[addrs], 'a', canon);
			len = sizeof(*n) + addrs * sizeof(n->addrs[0]) + canon;
			i = addrs <= 256 && canon <= 253 ? 0 : -EBADMSG;
			KUNIT_EXPECT_EQ(test, cmx_answer_check(n, len), i);
			KUNIT_EXPECT_EQ(test, cmx_answer_copy(&answer, n, len),
					i);
			cmx_answer_release(&answer);
		}
	}
	KUNIT_EXPECT_EQ(test, cmx_answer_copy(&answer, NULL, 0), -EBADMSG);
	KUNIT_EXPECT_EQ(test, cmx_answer_copy(&answer, n, 0), -EBADMSG);
	KUNIT_EXPECT_EQ(test, cmx_answer_copy(&answer, n, SIZE_MAX), -EBADMSG);
	KUNIT_EXPECT_NULL(test, answer.own);
}

/* A response that passes satisfies all rules. */
static void answer_random(struct kunit *test)
{
	u32 round, i, passed = 0;
	struct rdma_cmx_names *n;
	size_t len;

	for (round = 0; round < 5000; round++) {
		n = answer_make(&len);
		KUNIT_ASSERT_NOT_NULL(test, n);
		for (i = kunit_random(4); i; i--)
			((u8 *)n)[kunit_random(len)] = kunit_random(256);
		if (!cmx_answer_check(n, len)) {
			passed++;
			KUNIT_EXPECT_EQ(test, n->addr_count, 2);
			KUNIT_EXPECT_EQ(test, n->canon_len, CANON_LEN);
		}
		kfree(n);
	}
	KUNIT_EXPECT_GT(test, passed, 1000u);
}

static struct kunit_case names_cases[] = {
	KUNIT_CASE(names_lengths),
	KUNIT_CASE(names_bytes),
	KUNIT_CASE(names_dots),
	KUNIT_CASE(answer_fields),
	KUNIT_CASE(answer_lengths),
	KUNIT_CASE(answer_limits),
	KUNIT_CASE(answer_random),
	{}
};

static struct kunit_suite names_suite = {
	.name = "cmx_names",
	.test_cases = names_cases,
};

kunit_test_suite(names_suite);
