// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cached responses: the cache keeps them for sa_cache_ms from the query on,
 * never longer than a lease or beyond a change of generation, and within its
 * limits; it drops the oldest of a user first. While the SA reports changes,
 * paths that were queried since then live for sa_path_cache_ms; a report drops
 * those to its GID. A walk over the paths of a network namespace lists them, or
 * drops them, whatever comes and goes meanwhile.
 */
#include <linux/slab.h>

#include "kunit.h"

static struct cmx_sa_cache *cache;

static int cache_init(struct kunit *test)
{
	cache = kvzalloc(sizeof(*cache), GFP_KERNEL);
	if (!cache)
		return -ENOMEM;
	cmx_sa_cache_init(cache);
	return 0;
}

static void cache_exit(struct kunit *test)
{
	params_restore(test);
	if (!cache)
		return;
	cmx_sa_cache_exit(cache);
	KUNIT_EXPECT_EQ(test, cache->count, 0u);
	KUNIT_EXPECT_EQ(test, cache->bytes, (size_t)0);
	KUNIT_EXPECT_TRUE(test, hash_empty(cache->gids));
	kvfree(cache);
}

static void key_make(struct cmx_sa_key *key, u32 n)
{
	memset(key, 0, sizeof(*key));
	key->net = 1;
	key->query.attr_id = cpu_to_be16(0x31);
	key->query.method = IB_SA_METHOD_GET_TABLE;
	key->query.rec_len = 176;
	memcpy(key->query.rec, &n, sizeof(n));
}

/* Adds @answer, which is consumed; false: the cache does not take it. */
static bool put_at(const struct cmx_sa_key *key, struct cmx_sa_response *answer,
		   unsigned long sent_at, u32 generation)
{
	struct cmx_sa_entry *e;
	LIST_HEAD(victims);

	e = cmx_sa_entry_alloc(key, answer, sent_at, generation);
	if (e)
		cmx_sa_cache_add(cache, e, GLOBAL_ROOT_UID, &victims);
	cmx_sa_entries_free(&victims);
	cmx_sa_response_put(answer);
	return e;
}

static bool put(u32 n, u32 count)
{
	struct cmx_sa_key key;

	key_make(&key, n);
	return put_at(&key, fake_services(count, "s"), jiffies,
		      cmx_sa_cache_generation(cache));
}

/* The number of records of the cached response, or -1 when there is none. */
static int get_key(const struct cmx_sa_key *key)
{
	struct cmx_sa_response *answer = cmx_sa_cache_get(cache, key);
	int count = answer ? answer->count : -1;

	cmx_sa_response_put(answer);
	return count;
}

static int get(u32 n)
{
	struct cmx_sa_key key;

	key_make(&key, n);
	return get_key(&key);
}

static void cache_hit(struct kunit *test)
{
	struct cmx_sa_key key;
	u32 i;

	KUNIT_EXPECT_EQ(test, get(1), -1);
	KUNIT_EXPECT_TRUE(test, put(1, 3));
	KUNIT_EXPECT_EQ(test, get(1), 3);
	KUNIT_EXPECT_EQ(test, get(1), 3);
	KUNIT_EXPECT_EQ(test, get(2), -1);
	/* A newer response replaces the older one. */
	KUNIT_EXPECT_TRUE(test, put(1, 5));
	KUNIT_EXPECT_EQ(test, get(1), 5);
	KUNIT_EXPECT_EQ(test, cache->count, 1u);
	/* Queries that differ in any byte are different. */
	for (i = 0; i < sizeof(key); i++) {
		key_make(&key, 1);
		((u8 *)&key)[i] ^= 1;
		KUNIT_EXPECT_EQ_MSG(test, get_key(&key), -1, "byte %u", i);
	}
}

static void cache_generation(struct kunit *test)
{
	u32 before = cmx_sa_cache_generation(cache);
	struct cmx_sa_key key;
	u32 i;

	for (i = 0; i < 200; i++)
		put(i, 1);
	cmx_sa_cache_drop(cache);
	KUNIT_EXPECT_NE(test, cmx_sa_cache_generation(cache), before);
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_EQ(test, get(i), -1);
	KUNIT_EXPECT_EQ(test, cache->count, 0u);
	/* A response to a query before the change is too late. */
	key_make(&key, 1);
	put_at(&key, fake_services(1, "s"), jiffies, before);
	KUNIT_EXPECT_EQ(test, get(1), -1);
	KUNIT_EXPECT_EQ(test, cache->count, 0u);
	/* It does not drop a valid one. */
	KUNIT_EXPECT_TRUE(test, put(1, 2));
	put_at(&key, fake_services(1, "s"), jiffies, before);
	KUNIT_EXPECT_EQ(test, get(1), 2);
}

static void cache_expiry(struct kunit *test)
{
	struct module *core = cmx_kunit_module();
	struct cmx_sa_key key;
	u32 now = cmx_sa_cache_generation(cache);

	param_set(test, core, "sa_cache_ms", 15000);
	key_make(&key, 1);
	/* The time runs from the query, not from the response. */
	put_at(&key, fake_services(1, "s"), jiffies - 16 * HZ, now);
	KUNIT_EXPECT_EQ(test, get(1), -1);
	put_at(&key, fake_services(1, "s"), jiffies - 5 * HZ, now);
	KUNIT_EXPECT_EQ(test, get(1), 1);
	param_set(test, core, "sa_cache_ms", 0);
	KUNIT_EXPECT_EQ(test, get(1), -1);
	KUNIT_EXPECT_FALSE(test, put(2, 1));
	param_set(test, core, "sa_cache_ms", 15000);
	KUNIT_EXPECT_EQ(test, get(2), -1);
}

/* OPS: never longer than the shortest lease of a service */
static void cache_lease(struct kunit *test)
{
	u32 now = cmx_sa_cache_generation(cache);
	struct cmx_sa_service_rec *rec;
	struct cmx_sa_response *answer;
	struct cmx_sa_key key;

	param_set(test, cmx_kunit_module(), "sa_cache_ms", 3600 * 1000);
	key_make(&key, 1);
	answer = fake_services(3, "s");
	KUNIT_ASSERT_NOT_NULL(test, answer);
	rec = (void *)cmx_sa_response_rec(answer, 1);
	rec->lease = cpu_to_be32(600);
	put_at(&key, answer, jiffies - 500 * HZ, now);
	KUNIT_EXPECT_EQ(test, get(1), 3);

	answer = fake_services(3, "s");
	KUNIT_ASSERT_NOT_NULL(test, answer);
	rec = (void *)cmx_sa_response_rec(answer, 2);
	rec->lease = cpu_to_be32(600);
	put_at(&key, answer, jiffies - 601 * HZ, now);
	KUNIT_EXPECT_EQ(test, get(1), -1);

	answer = fake_services(2, "s");
	KUNIT_ASSERT_NOT_NULL(test, answer);
	rec = (void *)cmx_sa_response_rec(answer, 0);
	rec->lease = 0;
	KUNIT_EXPECT_FALSE(test, put_at(&key, answer, jiffies, now));

	/* The bytes of a path record are no lease. */
	answer = fake_services(2, "s");
	KUNIT_ASSERT_NOT_NULL(test, answer);
	rec = (void *)cmx_sa_response_rec(answer, 0);
	rec->lease = 0;
	key.query.attr_id = cpu_to_be16(0x35);
	KUNIT_EXPECT_TRUE(test, put_at(&key, answer, jiffies, now));
	KUNIT_EXPECT_EQ(test, get_key(&key), 2);
}

/* A caller that waits for a new service finds it at once. */
static void cache_nothing(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, put(1, 0));
	KUNIT_EXPECT_EQ(test, get(1), -1);
}

static void cache_entries(struct kunit *test)
{
	u32 i;

	param_set(test, cmx_kunit_module(), "sa_cache_entries", 16);
	for (i = 0; i < 100; i++) {
		put(i, 1);
		KUNIT_EXPECT_LE(test, cache->count, 16u);
		KUNIT_EXPECT_EQ(test, get(i), 1);
	}
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, get(i), i < 84 ? -1 : 1);
	/* A smaller limit applies from the next response on. */
	param_set(test, cmx_kunit_module(), "sa_cache_entries", 4);
	put(200, 1);
	KUNIT_EXPECT_LE(test, cache->count, 4u);
	param_set(test, cmx_kunit_module(), "sa_cache_entries", 0);
	put(201, 1);
	KUNIT_EXPECT_EQ(test, get(201), -1);
}

static void cache_memory(struct kunit *test)
{
	u32 i, count;

	param_set(test, cmx_kunit_module(), "sa_cache_kb", 64);
	for (i = 0; i < 100; i++) {
		put(i, 1 + kunit_random(40));
		KUNIT_EXPECT_LE(test, cache->bytes, (size_t)64 * 1024);
	}
	KUNIT_EXPECT_GT(test, cache->count, 2u);
	/* The cache does not keep a response that is larger than its limit. */
	count = cache->count;
	put(200, 400);
	KUNIT_EXPECT_EQ(test, get(200), -1);
	KUNIT_EXPECT_EQ(test, cache->count, count);
	/* The older response to the same query is outdated. */
	put(202, 1);
	put(202, 400);
	KUNIT_EXPECT_EQ(test, get(202), -1);
	put(201, 1);
	KUNIT_EXPECT_EQ(test, get(201), 1);
}

/* A path query to the GID whose last byte is @gid; @n makes it another one. */
static void path_key_make(struct cmx_sa_key *key, u8 gid, u8 n)
{
	memset(key, 0, sizeof(*key));
	key->net = 1 + n;
	key->query.attr_id = cpu_to_be16(0x35);
	key->query.method = IB_SA_METHOD_GET_TABLE;
	key->query.rec_len = 64;
	/* DGID: component 2, at byte 8 */
	key->query.comp_mask = cpu_to_be64(1 << 2);
	key->query.rec[8] = 0xfe;
	key->query.rec[8 + 15] = gid;
}

static bool put_path(u8 gid, u8 n, unsigned long sent_at)
{
	struct cmx_sa_key key;

	path_key_make(&key, gid, n);
	return put_at(&key, fake_services(1, "s"), sent_at,
		      cmx_sa_cache_generation(cache));
}

static int get_path(u8 gid, u8 n)
{
	struct cmx_sa_key key;

	path_key_make(&key, gid, n);
	return get_key(&key);
}

/* The time at which the SA begins to report */
static void follow(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, cmx_sa_cache_follow(cache,
			  cmx_sa_cache_generation(cache)));
}

static void cache_followed(struct kunit *test)
{
	struct module *core = cmx_kunit_module();
	unsigned long since;
	struct cmx_sa_key key;

	param_set(test, core, "sa_cache_ms", 15000);
	param_set(test, core, "sa_path_cache_ms", 600000);
	/* An earlier query may have had a response of before a change. */
	put_path(1, 0, jiffies - 20 * HZ);
	KUNIT_EXPECT_EQ(test, get_path(1, 0), -1);
	follow(test);
	KUNIT_EXPECT_EQ(test, get_path(1, 0), -1);
	/* As if it had begun long ago */
	since = jiffies - 700 * HZ;
	cache->followed_since = since;
	put_path(2, 0, jiffies - 540 * HZ);
	KUNIT_EXPECT_EQ(test, get_path(2, 0), 1);
	put_path(3, 0, jiffies - 601 * HZ);
	KUNIT_EXPECT_EQ(test, get_path(3, 0), -1);
	/* Only paths */
	key_make(&key, 1);
	put_at(&key, fake_services(1, "s"), jiffies - 20 * HZ,
	       cmx_sa_cache_generation(cache));
	KUNIT_EXPECT_EQ(test, get(1), -1);
	/* A subscription that is renewed */
	follow(test);
	KUNIT_EXPECT_EQ(test, cache->followed_since, since);
	KUNIT_EXPECT_EQ(test, get_path(2, 0), 1);
	param_set(test, core, "sa_path_cache_ms", 0);
	KUNIT_EXPECT_EQ(test, get_path(2, 0), -1);
	param_set(test, core, "sa_path_cache_ms", 600000);
	KUNIT_EXPECT_EQ(test, get_path(2, 0), 1);
	/* It is lost: what there is does not live long any more. */
	cmx_sa_cache_unfollow(cache);
	KUNIT_EXPECT_EQ(test, get_path(2, 0), -1);
	follow(test);
	KUNIT_EXPECT_EQ(test, get_path(2, 0), -1);
	/* One of before an event is none. */
	cmx_sa_cache_drop(cache);
	KUNIT_EXPECT_FALSE(test, cmx_sa_cache_follow(cache,
			   cmx_sa_cache_generation(cache) - 1));
	put_path(2, 0, jiffies - 20 * HZ);
	KUNIT_EXPECT_EQ(test, get_path(2, 0), -1);
}

static void cache_gid(struct kunit *test)
{
	union ib_gid gid = { .raw = { 0xfe, [15] = 2 } };
	u32 count;
	int i;

	/* More than a step */
	for (i = 0; i < 200; i++)
		put_path(2, i, jiffies);
	for (i = 0; i < 100; i++)
		put_path(3 + i, 0, jiffies);
	put(1, 1);
	count = cache->count;
	KUNIT_EXPECT_EQ(test, cmx_sa_cache_drop_gid(cache, &gid), 200u);
	KUNIT_EXPECT_EQ(test, cache->count, count - 200);
	for (i = 0; i < 200; i++)
		KUNIT_EXPECT_EQ(test, get_path(2, i), -1);
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, get_path(3 + i, 0), 1);
	KUNIT_EXPECT_EQ(test, get(1), 1);
	KUNIT_EXPECT_EQ(test, cmx_sa_cache_drop_gid(cache, &gid), 0u);
	put_path(2, 0, jiffies);
	KUNIT_EXPECT_EQ(test, get_path(2, 0), 1);
}

/* All paths of a namespace, @room at a time; the sum of their counts */
static unsigned int list(u64 net, unsigned int room, unsigned int *steps)
{
	static struct rdma_cmx_cached_path paths[64];
	struct cmx_sa_walk walk;
	unsigned int n = 0;

	*steps = 0;
	cmx_sa_walk_begin(cache, &walk);
	while (!cmx_sa_walk_over(&walk)) {
		n += cmx_sa_paths_list(cache, net, &walk, paths, room);
		++*steps;
	}
	return n;
}

static void cache_list(struct kunit *test)
{
	struct rdma_cmx_cached_path path;
	unsigned int steps;
	struct cmx_sa_walk walk;
	int i;

	KUNIT_EXPECT_EQ(test, list(1, 64, &steps), 0u);
	/* Between those of other namespaces: 1 has one of five. */
	for (i = 0; i < 250; i++)
		put_path(i, i % 5, jiffies);
	put(1, 1);
	KUNIT_EXPECT_EQ(test, list(1, 64, &steps), 50u);
	/* A step is short, also when it finds nothing. */
	KUNIT_EXPECT_GE(test, steps, 250u / CMX_SA_CACHE_BATCH);
	KUNIT_EXPECT_EQ(test, list(1, 1, &steps), 50u);
	KUNIT_EXPECT_GE(test, steps, 50u);
	KUNIT_EXPECT_EQ(test, list(99, 64, &steps), 0u);
	KUNIT_EXPECT_GE(test, steps, 250u / CMX_SA_CACHE_BATCH);

	/* The walk lists no path that is added or removed meanwhile. */
	cmx_sa_walk_begin(cache, &walk);
	KUNIT_EXPECT_EQ(test, cmx_sa_paths_list(cache, 1, &walk, &path, 1), 1u);
	for (i = 0; i < 50; i++) {
		struct cmx_sa_key key;

		path_key_make(&key, 5 * i, 0);
		cmx_sa_cache_remove(cache, &key, CMX_SA_GONE_FAILED);
		/* Again, as a new one */
		put_path(5 * i, 0, jiffies);
	}
	i = 0;
	while (!cmx_sa_walk_over(&walk))
		i += cmx_sa_paths_list(cache, 1, &walk, &path, 1);
	KUNIT_EXPECT_EQ(test, i, 0);
	KUNIT_EXPECT_EQ(test, list(1, 64, &steps), 50u);

	/* Expired and outdated ones are not found, either. */
	put_path(251, 98, jiffies - 24 * 3600 * HZ);
	KUNIT_EXPECT_EQ(test, list(99, 64, &steps), 0u);
	param_set(test, cmx_kunit_module(), "sa_cache_ms", 0);
	KUNIT_EXPECT_EQ(test, list(1, 64, &steps), 0u);
	param_set(test, cmx_kunit_module(), "sa_cache_ms", 15000);
	cmx_sa_cache_drop(cache);
	KUNIT_EXPECT_EQ(test, list(1, 64, &steps), 0u);
	KUNIT_EXPECT_TRUE(test, RB_EMPTY_ROOT(&cache->order));
}

static void cache_drop_net(struct kunit *test)
{
	union ib_gid gid = { .raw = { 0xfe, [15] = 7 } };
	unsigned int steps;
	int i;

	for (i = 0; i < 250; i++)
		put_path(i % 25, i % 5, jiffies);
	KUNIT_EXPECT_EQ(test, list(3, 64, &steps), 5u);
	for (i = 0; i < 200; i++)
		put_path(i, 2, jiffies);
	put(1, 1);
	KUNIT_EXPECT_EQ(test, list(3, 64, &steps), 200u);
	/* Of one GID, in one namespace */
	put_path(7, 1, jiffies);
	KUNIT_EXPECT_EQ(test, cmx_sa_paths_drop(cache, 3, &gid), 1u);
	KUNIT_EXPECT_EQ(test, get_path(7, 2), -1);
	KUNIT_EXPECT_EQ(test, get_path(7, 1), 1);
	KUNIT_EXPECT_EQ(test, get_path(8, 2), 1);
	KUNIT_EXPECT_EQ(test, cmx_sa_paths_drop(cache, 3, &gid), 0u);
	/* All of it, and nothing else */
	KUNIT_EXPECT_EQ(test, cmx_sa_paths_drop(cache, 3, NULL), 199u);
	KUNIT_EXPECT_EQ(test, list(3, 64, &steps), 0u);
	KUNIT_EXPECT_EQ(test, list(1, 64, &steps), 5u);
	KUNIT_EXPECT_EQ(test, get(1), 1);
	put_path(7, 2, jiffies);
	KUNIT_EXPECT_EQ(test, list(3, 64, &steps), 1u);
}

/* The oldest one goes first, of whatever kind. */
static void cache_kinds(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_cache_entries", 3);
	put(1, 1);
	schedule_timeout_uninterruptible(2);
	put_path(1, 0, jiffies);
	schedule_timeout_uninterruptible(2);
	put(2, 1);
	put_path(2, 0, jiffies);
	KUNIT_EXPECT_EQ(test, get(1), -1);
	KUNIT_EXPECT_EQ(test, get_path(1, 0), 1);
	put(3, 1);
	KUNIT_EXPECT_EQ(test, get_path(1, 0), -1);
	KUNIT_EXPECT_EQ(test, get(2), 1);
}

static struct kunit_case cache_cases[] = {
	KUNIT_CASE(cache_hit),
	KUNIT_CASE(cache_generation),
	KUNIT_CASE(cache_expiry),
	KUNIT_CASE(cache_lease),
	KUNIT_CASE(cache_nothing),
	KUNIT_CASE(cache_entries),
	KUNIT_CASE(cache_memory),
	KUNIT_CASE(cache_followed),
	KUNIT_CASE(cache_gid),
	KUNIT_CASE(cache_list),
	KUNIT_CASE(cache_drop_net),
	KUNIT_CASE(cache_kinds),
	{}
};

static struct kunit_suite cache_suite = {
	.name = "cmx_sa_cache",
	.init = cache_init,
	.exit = cache_exit,
	.test_cases = cache_cases,
};

kunit_test_suite(cache_suite);
