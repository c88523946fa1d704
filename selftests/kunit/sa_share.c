// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shares of users in a cache: at a limit the oldest response of the user with
 * the most goes, the new one counted. Among equals it is that of the new one's
 * user, else the oldest. A response that does not fit then drops nothing.
 */
#include <linux/slab.h>

#include "kunit.h"

#define A	KUIDT_INIT(1000)
#define B	KUIDT_INIT(1001)
#define C	KUIDT_INIT(1002)
#define D	KUIDT_INIT(1003)
#define ROOT	GLOBAL_ROOT_UID

static struct cmx_sa_cache *cache;

static int share_init(struct kunit *test)
{
	struct module *core = cmx_kunit_module();

	cache = kvzalloc(sizeof(*cache), GFP_KERNEL);
	if (!cache)
		return -ENOMEM;
	cmx_sa_cache_init(cache);
	/* Nothing expires. */
	param_set(test, core, "sa_cache_ms", 3600 * 1000);
	return 0;
}

static void share_exit(struct kunit *test)
{
	unsigned int i;

	params_restore(test);
	if (!cache)
		return;
	cmx_sa_cache_exit(cache);
	KUNIT_EXPECT_EQ(test, cache->count, 0u);
	KUNIT_EXPECT_EQ(test, cache->bytes, (size_t)0);
	for (i = 0; i < CMX_SA_SHARES; i++) {
		KUNIT_EXPECT_EQ(test, cache->share[i].count, 0u);
		KUNIT_EXPECT_EQ(test, cache->share[i].bytes, (size_t)0);
		KUNIT_EXPECT_TRUE(test, list_empty(&cache->share[i].entries));
		KUNIT_EXPECT_TRUE(test, list_empty(&cache->share[i].paths));
	}
	kvfree(cache);
}

/* The query @n of @uid: each user has different ones; every third is a path. */
static void key_make(struct cmx_sa_key *key, kuid_t uid, u32 n)
{
	u32 user = __kuid_val(uid);

	memset(key, 0, sizeof(*key));
	key->net = 1;
	key->query.attr_id = cpu_to_be16(n % 3 ? 0x31 : 0x35);
	key->query.method = IB_SA_METHOD_GET_TABLE;
	key->query.rec_len = 64;
	/* DGID: component 2, at byte 8 */
	key->query.comp_mask = cpu_to_be64(1 << 2);
	memcpy(key->query.rec + 8, &user, sizeof(user));
	memcpy(key->query.rec + 16, &n, sizeof(n));
}

/* The response to it has @count records, of 176 bytes. */
static void put(kuid_t uid, u32 n, u32 count)
{
	struct cmx_sa_response *answer = fake_services(count, "s");
	struct cmx_sa_entry *e;
	struct cmx_sa_key key;
	LIST_HEAD(victims);

	key_make(&key, uid, n);
	e = cmx_sa_entry_alloc(&key, answer, jiffies,
			       cmx_sa_cache_generation(cache));
	if (e)
		cmx_sa_cache_add(cache, e, uid, &victims);
	cmx_sa_entries_free(&victims);
	cmx_sa_response_put(answer);
}

static bool has(kuid_t uid, u32 n)
{
	struct cmx_sa_response *answer;
	struct cmx_sa_key key;
	bool found;

	key_make(&key, uid, n);
	answer = cmx_sa_cache_get(cache, &key);
	found = answer;
	cmx_sa_response_put(answer);
	return found;
}

/* How many of the queries @first to @last of @uid are cached */
static u32 hits(kuid_t uid, u32 first, u32 last)
{
	u32 n, sum = 0;

	for (n = first; n <= last; n++)
		sum += has(uid, n);
	return sum;
}

static void puts_of(kuid_t uid, u32 first, u32 last, u32 count)
{
	u32 n;

	for (n = first; n <= last; n++)
		put(uid, n, count);
}

/* Ages of entries are in jiffies. */
static void jiffy_pass(void)
{
	schedule_timeout_uninterruptible(2);
}

static void share_flood(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_cache_entries", 16);
	puts_of(ROOT, 1, 2, 1);
	puts_of(B, 1, 4, 1);
	puts_of(A, 1, 100, 1);
	KUNIT_EXPECT_EQ(test, cache->count, 16u);
	KUNIT_EXPECT_EQ(test, hits(ROOT, 1, 2), 2u);
	KUNIT_EXPECT_EQ(test, hits(B, 1, 4), 4u);
	KUNIT_EXPECT_EQ(test, hits(A, 1, 100), 10u);
	/* The other one is below an equal part, and gets it. */
	puts_of(B, 5, 50, 1);
	KUNIT_EXPECT_EQ(test, hits(ROOT, 1, 2), 2u);
	KUNIT_EXPECT_EQ(test, hits(A, 1, 100), 7u);
	KUNIT_EXPECT_EQ(test, hits(B, 1, 50), 7u);
	KUNIT_EXPECT_EQ(test, cache->count, 16u);
}

/* Of one's own, the oldest one goes, of whatever kind. */
static void share_oldest(struct kunit *test)
{
	u32 n;

	param_set(test, cmx_kunit_module(), "sa_cache_entries", 8);
	puts_of(B, 1, 2, 1);
	for (n = 1; n <= 20; n++) {
		put(A, n, 1);
		KUNIT_EXPECT_EQ(test, hits(A, 1, n), min(n, 6u));
		KUNIT_EXPECT_EQ(test, hits(A, n > 6 ? n - 5 : 1, n), min(n, 6u));
		jiffy_pass();
	}
	KUNIT_EXPECT_EQ(test, hits(B, 1, 2), 2u);
}

/* Equals: a newcomer has the place of the oldest, and that only. */
static void share_equals(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_cache_entries", 4);
	put(B, 1, 1);
	jiffy_pass();
	put(ROOT, 1, 1);
	put(A, 1, 1);
	put(C, 1, 1);
	jiffy_pass();
	puts_of(D, 1, 100, 1);
	KUNIT_EXPECT_FALSE(test, has(B, 1));
	KUNIT_EXPECT_TRUE(test, has(ROOT, 1));
	KUNIT_EXPECT_TRUE(test, has(A, 1));
	KUNIT_EXPECT_TRUE(test, has(C, 1));
	KUNIT_EXPECT_TRUE(test, has(D, 100));
}

/* With the new one, a user has as much as another, whose entries are older. */
static void share_own(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_cache_entries", 3);
	puts_of(B, 1, 2, 1);
	jiffy_pass();
	puts_of(A, 1, 10, 1);
	KUNIT_EXPECT_EQ(test, hits(B, 1, 2), 2u);
	KUNIT_EXPECT_EQ(test, hits(A, 1, 10), 1u);
	KUNIT_EXPECT_TRUE(test, has(A, 10));
}

static void share_bytes(struct kunit *test)
{
	struct cmx_sa_share *a;
	u32 n;

	param_set(test, cmx_kunit_module(), "sa_cache_kb", 64);
	puts_of(ROOT, 1, 2, 1);
	puts_of(B, 1, 8, 1);
	for (n = 1; n <= 50; n++) {
		put(A, n, 20);
		KUNIT_EXPECT_TRUE(test, has(A, n));
		KUNIT_EXPECT_LE(test, cache->bytes, (size_t)64 * 1024);
	}
	KUNIT_EXPECT_EQ(test, hits(ROOT, 1, 2), 2u);
	KUNIT_EXPECT_EQ(test, hits(B, 1, 8), 8u);
	/* It is not that of the user with the most entries. */
	puts_of(ROOT, 3, 20, 1);
	KUNIT_EXPECT_EQ(test, hits(ROOT, 1, 20), 20u);
	KUNIT_EXPECT_EQ(test, hits(B, 1, 8), 8u);
	/* One for which all others of that user have to go */
	a = cmx_sa_share_of(cache, A);
	KUNIT_EXPECT_GT(test, a->count, 8u);
	put(A, 51, 270);
	KUNIT_EXPECT_TRUE(test, has(A, 51));
	KUNIT_EXPECT_EQ(test, a->count, 1u);
	KUNIT_EXPECT_EQ(test, hits(ROOT, 1, 20), 20u);
	KUNIT_EXPECT_EQ(test, hits(B, 1, 8), 8u);
}

/* A response that does not fit drops no other, of any user. */
static void share_misfit(struct kunit *test)
{
	u32 n;

	param_set(test, cmx_kunit_module(), "sa_cache_kb", 64);
	/* 42 KB and 19 KB */
	for (n = 1; n <= 20; n++) {
		put(B, n, 10);
		jiffy_pass();
	}
	puts_of(A, 1, 5, 20);
	/* 35 KB: with some of B's gone, it is more than what B has. */
	put(C, 1, 200);
	KUNIT_EXPECT_FALSE(test, has(C, 1));
	KUNIT_EXPECT_EQ(test, hits(B, 1, 20), 20u);
	KUNIT_EXPECT_EQ(test, hits(A, 1, 5), 5u);
	KUNIT_EXPECT_EQ(test, cache->count, 25u);
	put(C, 2, 1);
	KUNIT_EXPECT_TRUE(test, has(C, 2));
	/* They are in the same order as before. */
	for (n = 21; n <= 30; n++) {
		put(B, n, 10);
		KUNIT_EXPECT_EQ(test, hits(B, n - 19, n), 20u);
		KUNIT_EXPECT_LE(test, hits(B, 1, n), 21u);
		jiffy_pass();
	}
}

/* A step drops a batch at most. */
static void share_batch(struct kunit *test)
{
	u32 count;

	param_set(test, cmx_kunit_module(), "sa_cache_kb", 128);
	puts_of(A, 1, 500, 1);
	count = cache->count;
	KUNIT_EXPECT_GT(test, count, 2u * CMX_SA_CACHE_BATCH);
	put(A, 501, 400);
	KUNIT_EXPECT_FALSE(test, has(A, 501));
	KUNIT_EXPECT_EQ(test, cache->count, count);
	KUNIT_EXPECT_EQ(test, hits(A, 1, 500), count);
	put(A, 502, 100);
	KUNIT_EXPECT_TRUE(test, has(A, 502));
	KUNIT_EXPECT_LT(test, cache->count, count);
	KUNIT_EXPECT_GE(test, cache->count, count - CMX_SA_CACHE_BATCH);
}

/* A cache beyond a limit that was lowered shrinks by a batch at a time. */
static void share_limit_lowered(struct kunit *test)
{
	u32 n, before;

	puts_of(A, 1, 200, 1);
	puts_of(B, 1, 10, 1);
	param_set(test, cmx_kunit_module(), "sa_cache_entries", 20);
	for (n = 11; cache->count > 20 && n < 20; n++) {
		before = cache->count;
		put(B, n, 1);
		KUNIT_EXPECT_LT(test, cache->count, before);
		KUNIT_EXPECT_GE(test, cache->count + CMX_SA_CACHE_BATCH,
				before);
	}
	KUNIT_EXPECT_EQ(test, cache->count, 20u);
	KUNIT_EXPECT_EQ(test, hits(A, 1, 200), 10u);
	KUNIT_EXPECT_EQ(test, hits(B, 1, n), 10u);
}

/* Root's and the kernel's are no user's, also with more users than shares. */
static void share_root(struct kunit *test)
{
	struct cmx_sa_share *root = cmx_sa_share_of(cache, ROOT);
	struct cmx_sa_share *kernel = cmx_sa_share_of(cache, CMX_KERNEL_UID);
	struct cmx_sa_share *share;
	u32 i;

	param_set(test, cmx_kunit_module(), "sa_cache_entries",
		  2 * CMX_SA_SHARES);
	KUNIT_EXPECT_PTR_NE(test, root, kernel);
	puts_of(ROOT, 1, 2, 1);
	puts_of(CMX_KERNEL_UID, 1, 2, 1);
	for (i = 1; i <= 10 * CMX_SA_SHARES; i++) {
		share = cmx_sa_share_of(cache, KUIDT_INIT(i));
		KUNIT_EXPECT_PTR_NE(test, root, share);
		KUNIT_EXPECT_PTR_NE(test, kernel, share);
		put(KUIDT_INIT(i), i, 1);
		KUNIT_EXPECT_TRUE(test, has(KUIDT_INIT(i), i));
	}
	KUNIT_EXPECT_EQ(test, hits(ROOT, 1, 2), 2u);
	KUNIT_EXPECT_EQ(test, hits(CMX_KERNEL_UID, 1, 2), 2u);
	KUNIT_EXPECT_EQ(test, root->count, 2u);
	KUNIT_EXPECT_EQ(test, kernel->count, 2u);
	KUNIT_EXPECT_EQ(test, cache->count, 2u * CMX_SA_SHARES);
}

/* A process of root's drops nothing of the kernel's consumers. */
static void share_kernel(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_cache_entries", 16);
	puts_of(CMX_KERNEL_UID, 1, 8, 1);
	puts_of(ROOT, 1, 100, 1);
	KUNIT_EXPECT_EQ(test, hits(CMX_KERNEL_UID, 1, 8), 8u);
	KUNIT_EXPECT_EQ(test, hits(ROOT, 1, 100), 8u);
	KUNIT_EXPECT_EQ(test, cache->count, 16u);
}

/* As many users as there are shares have one each. */
static void share_of_each(struct kunit *test)
{
	u32 i;

	for (i = 1; i <= CMX_SA_SHARES - 2; i++)
		put(KUIDT_INIT(i), i, 1);
	put(ROOT, 1, 1);
	put(CMX_KERNEL_UID, 1, 1);
	for (i = 0; i < CMX_SA_SHARES; i++)
		KUNIT_EXPECT_EQ(test, cache->share[i].count, 1u);
}

static void forget(kuid_t uid, u32 n)
{
	struct cmx_sa_key key;

	key_make(&key, uid, n);
	cmx_sa_cache_remove(cache, &key, CMX_SA_GONE_RENEWED);
}

/* Expired entries of all are freed, whatever others have cached again. */
static void share_sweep(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_cache_ms", 500);
	puts_of(ROOT, 1, 200, 1);
	puts_of(B, 1, 200, 1);
	puts_of(C, 3, 3, 1);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(({
		forget(A, 1);
		put(A, 1, 1);
		cache->count == 1;
	})));
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(!READ_ONCE(cache->count)));
}

static struct kunit_case share_cases[] = {
	KUNIT_CASE(share_flood),
	KUNIT_CASE(share_oldest),
	KUNIT_CASE(share_equals),
	KUNIT_CASE(share_own),
	KUNIT_CASE(share_bytes),
	KUNIT_CASE(share_misfit),
	KUNIT_CASE(share_batch),
	KUNIT_CASE(share_limit_lowered),
	KUNIT_CASE(share_root),
	KUNIT_CASE(share_kernel),
	KUNIT_CASE(share_of_each),
	KUNIT_CASE(share_sweep),
	{}
};

static struct kunit_suite share_suite = {
	.name = "cmx_sa_share",
	.init = share_init,
	.exit = share_exit,
	.test_cases = share_cases,
};

kunit_test_suite(share_suite);
