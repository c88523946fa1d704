// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-08: when the result of a watch counts as changed, and how long a watch
 * waits: rdma_cmx_watch() in rdma_cmx.h.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "resolve/resolve.h"
#include "kunit.h"

#define ENTRIES	8

static struct rdma_cmx_result *answer_make(struct kunit *test, u32 count)
{
	struct rdma_cmx_result *res;
	u32 i;

	res = kunit_kzalloc(test, struct_size(res, entries, ENTRIES), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, res);
	res->count = count;
	for (i = 0; i < count; i++) {
		struct rdma_cmx_entry *e = &res->entries[i];

		e->qp_type = IB_QPT_RC;
		e->port_space = RDMA_PS_TCP;
		e->port_num = 1;
		e->dst.in.sin_family = AF_INET;
		e->dst.in.sin_addr.s_addr = htonl(0x0a000001 + i);
		e->dst.in.sin_port = htons(4420);
		e->src.in.sin_family = AF_INET;
	}
	return res;
}

/* Does @b count as a change after @a? */
static bool changed(struct kunit *test, const struct rdma_cmx_result *a,
		    const struct rdma_cmx_result *b, bool partial)
{
	struct cmx_watch_set *old = cmx_watch_set(a), *set = cmx_watch_set(b);
	bool ret = true;

	KUNIT_EXPECT_NOT_NULL(test, old);
	KUNIT_EXPECT_NOT_NULL(test, set);
	if (old && set) {
		set->partial |= partial;
		ret = cmx_watch_changed(old, set);
	}
	kvfree(old);
	kvfree(set);
	return ret;
}

static void watch_order(struct kunit *test)
{
	struct rdma_cmx_result *a = answer_make(test, ENTRIES);
	struct rdma_cmx_result *b = answer_make(test, ENTRIES);
	u32 round, i, k;

	for (round = 0; round < 50; round++) {
		i = kunit_random(ENTRIES);
		k = kunit_random(ENTRIES);
		swap(b->entries[i], b->entries[k]);
		KUNIT_EXPECT_FALSE(test, changed(test, a, b, false));
	}
	/* A repeated entry counts once. */
	a->count = 1;
	b->count = 2;
	b->entries[0] = a->entries[0];
	b->entries[1] = a->entries[0];
	KUNIT_EXPECT_FALSE(test, changed(test, a, b, false));
}

static void watch_same(struct kunit *test)
{
	struct rdma_cmx_result *a = answer_make(test, 3);
	struct rdma_cmx_result *b = answer_make(test, 3);
	struct rdma_cmx_entry *e = &b->entries[1];

	/* The source and the device do not matter. */
	e->src.in.sin_addr.s_addr = htonl(0x0a0000fe);
	e->ibdev_index = 7;
	e->port_num = 2;
	e->gid_index = 3;
	e->error = -ETIMEDOUT;
	e->route_count = 1;
	b->canonname = "host.example";
	/* Padding does not matter. */
	memset(e->dst.in.sin_zero, 0x5a, sizeof(e->dst.in.sin_zero));
	memset((u8 *)&e->dst + sizeof(e->dst.in), 0x5a,
	       sizeof(e->dst) - sizeof(e->dst.in));
	KUNIT_EXPECT_FALSE(test, changed(test, a, b, false));
}

static void watch_other(struct kunit *test)
{
	struct rdma_cmx_result *a = answer_make(test, 3);
	struct rdma_cmx_result *b = answer_make(test, 3);
	struct rdma_cmx_entry saved = b->entries[1], *e = &b->entries[1];

	e->dst.in.sin_addr.s_addr = htonl(0x0a000009);
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
	*e = saved;
	e->dst.in.sin_port = htons(4421);
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
	*e = saved;
	e->qp_type = IB_QPT_UD;
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
	*e = saved;
	e->port_space = RDMA_PS_UDP;
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
	*e = saved;
	e->port_num = 0;
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
	*e = saved;
	KUNIT_EXPECT_FALSE(test, changed(test, a, b, false));
	b->count = 2;
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
	KUNIT_EXPECT_TRUE(test, changed(test, b, a, false));
	/* No entry, and the first result */
	KUNIT_EXPECT_TRUE(test, changed(test, a, ERR_PTR(-ENOENT), false));
	KUNIT_EXPECT_TRUE(test, changed(test, ERR_PTR(-ENOENT), a, false));
	KUNIT_EXPECT_FALSE(test, changed(test, ERR_PTR(-ENOENT),
					 ERR_PTR(-ENODATA), false));
}

/* Passive: the source is the address. */
static void watch_passive(struct kunit *test)
{
	struct rdma_cmx_result *a = answer_make(test, 1);
	struct rdma_cmx_result *b = answer_make(test, 1);

	memset(&a->entries[0].dst, 0, sizeof(a->entries[0].dst));
	memset(&b->entries[0].dst, 0, sizeof(b->entries[0].dst));
	KUNIT_EXPECT_FALSE(test, changed(test, a, b, false));
	b->entries[0].src.in.sin_addr.s_addr = htonl(0x0a000001);
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
}

static void watch_partial(struct kunit *test)
{
	struct rdma_cmx_result *a = answer_make(test, 3);
	struct rdma_cmx_result *b = answer_make(test, 2);
	struct cmx_watch_set *set;

	KUNIT_EXPECT_FALSE(test, changed(test, a, b, true));
	b->entries[1].dst.in.sin_addr.s_addr = htonl(0x0a000009);
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, true));
	b->count = 3;
	b->entries[2] = a->entries[1];
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, true));
	set = cmx_watch_set(b);
	KUNIT_ASSERT_NOT_NULL(test, set);
	set->partial = true;
	KUNIT_EXPECT_TRUE(test, cmx_watch_changed(NULL, set));
	kvfree(set);
}

/* Without a path record it is unknown whether a device reaches the entry. */
static void watch_silence(struct kunit *test)
{
	static const int open[] = { -ETIMEDOUT, -EAGAIN, -ENOMEM };
	struct rdma_cmx_result *a = answer_make(test, 3);
	struct rdma_cmx_result *b = answer_make(test, 3);
	u32 i;

	b->entries[1].port_num = 0;
	b->entries[1].error = -EHOSTUNREACH;
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
	KUNIT_EXPECT_TRUE(test, changed(test, b, a, false));
	for (i = 0; i < ARRAY_SIZE(open); i++) {
		b->entries[1].error = open[i];
		KUNIT_EXPECT_FALSE(test, changed(test, a, b, false));
	}
	b->entries[2].dst.in.sin_addr.s_addr = htonl(0x0a000009);
	KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
	/* The entry is known again, with a device. */
	b->entries[2].dst = a->entries[2].dst;
	KUNIT_EXPECT_TRUE(test, changed(test, b, a, false));
}

/* The reported result has an entry whose path record was late. */
static void watch_late(struct kunit *test)
{
	struct rdma_cmx_result *a = answer_make(test, 3);
	struct rdma_cmx_result *b = answer_make(test, 2);
	u32 i;

	for (i = 0; i < 3; i++) {
		a->entries[i].error = -ETIMEDOUT;
		/* It arrives, or is late again. */
		KUNIT_EXPECT_FALSE(test, changed(test, a, answer_make(test, 3),
						 false));
		KUNIT_EXPECT_FALSE(test, changed(test, a, a, false));
		/* An entry has gone, which was late or not. */
		KUNIT_EXPECT_TRUE(test, changed(test, a, b, false));
		KUNIT_EXPECT_FALSE(test, changed(test, a, b, true));
		a->entries[i].error = 0;
	}
	/* It was reported once with and once without its path record. */
	a->entries[2] = a->entries[1];
	a->entries[2].error = -ETIMEDOUT;
	KUNIT_EXPECT_FALSE(test, changed(test, a, b, false));
	KUNIT_EXPECT_FALSE(test, changed(test, b, a, false));
}

static void watch_errors(struct kunit *test)
{
	static const int gone[] = { -ENOENT, -ENODATA, -EADDRNOTAVAIL };
	static const int fails[] = {
		-EAGAIN, -ETIMEDOUT, -ECONNREFUSED, -ENOMEM, -ENOKEY, -ENODEV,
		-ENETUNREACH, -EBADMSG, -EOVERFLOW, -EOPNOTSUPP, -EACCES,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(gone); i++)
		KUNIT_EXPECT_TRUE(test, cmx_watch_gone(gone[i], false));
	/* The unavailable address may be the caller's source. */
	KUNIT_EXPECT_FALSE(test, cmx_watch_gone(-EADDRNOTAVAIL, true));
	for (i = 0; i < ARRAY_SIZE(fails); i++)
		KUNIT_EXPECT_FALSE_MSG(test, cmx_watch_gone(fails[i], false),
				       "%d", fails[i]);
}

/* Never early; at most doubled four times, and a quarter late */
static void watch_interval(struct kunit *test)
{
	static const u32 base[] = { 1, 7, 1000, 30000, 86400000 };
	u32 i, fails, round, ms;
	u64 least;

	for (i = 0; i < ARRAY_SIZE(base); i++) {
		for (fails = 0; fails < 40; fails++) {
			least = (u64)base[i] * (fails < 4 ? 1 << fails : 16);
			for (round = 0; round < 20; round++) {
				ms = cmx_watch_delay(base[i], fails,
						     kunit_random(U32_MAX));
				KUNIT_EXPECT_GE(test, (u64)ms, least);
				KUNIT_EXPECT_LE(test, (u64)ms,
						least + least / 4);
			}
			KUNIT_EXPECT_EQ(test, (u64)cmx_watch_delay(base[i], fails, 0),
					least);
		}
	}
	KUNIT_EXPECT_GE(test, cmx_watch_delay(0, 0, 0), 1u);
	KUNIT_EXPECT_EQ(test, cmx_watch_delay(U32_MAX, 0, 0), 86400000u);
}

static struct kunit_case watch_cases[] = {
	KUNIT_CASE(watch_order),
	KUNIT_CASE(watch_same),
	KUNIT_CASE(watch_other),
	KUNIT_CASE(watch_passive),
	KUNIT_CASE(watch_partial),
	KUNIT_CASE(watch_silence),
	KUNIT_CASE(watch_late),
	KUNIT_CASE(watch_errors),
	KUNIT_CASE(watch_interval),
	{}
};

static struct kunit_suite watch_suite = {
	.name = "cmx_watch",
	.test_cases = watch_cases,
};

kunit_test_suite(watch_suite);
