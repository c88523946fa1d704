// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The hash of tables with keys that users choose: names, queries, service ids,
 * GIDs, uids, destinations. Without the seed nobody finds keys of one chain.
 */
#include <linux/siphash.h>

#include "kunit.h"
#include "sched.h"

#define KEYS	256
#define CHAINS	256

/* Without initialization the seed would be a key of zeros. */
static void hash_has_a_seed(struct kunit *test)
{
	static const siphash_key_t none;
	unsigned int same = 0;
	u64 key;

	for (key = 0; key < KEYS; key++) {
		u32 hash = cmx_hash(&key, sizeof(key));

		same += hash == (u32)siphash(&key, sizeof(key), &none);
		/* A second hash of the key is equal. */
		KUNIT_EXPECT_EQ(test, hash, cmx_hash(&key, sizeof(key)));
	}
	KUNIT_EXPECT_LT(test, same, 3u);
}

/*
 * Keys that differ in one byte of a query's length, by a power of two: 256 keys
 * in 256 chains, of which no chain has 16. A random function fails this with a
 * probability of one in 10^9.
 */
static void hash_spreads(struct kunit *test)
{
	unsigned int at, i, longest;
	u8 *key, *chains;

	key = kunit_kzalloc(test, IB_MGMT_SA_DATA, GFP_KERNEL);
	chains = kunit_kzalloc(test, CHAINS, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, key);
	KUNIT_ASSERT_NOT_NULL(test, chains);
	for (at = 0; at < IB_MGMT_SA_DATA; at++) {
		memset(chains, 0, CHAINS);
		longest = 0;
		for (i = 0; i < KEYS; i++) {
			u32 hash;

			key[at] = i;
			hash = cmx_hash(key, IB_MGMT_SA_DATA) % CHAINS;
			longest = max_t(unsigned int, longest, ++chains[hash]);
		}
		key[at] = 0;
		KUNIT_EXPECT_LT(test, longest, 16u);
	}
}

static struct kunit_case hash_cases[] = {
	KUNIT_CASE(hash_has_a_seed),
	KUNIT_CASE(hash_spreads),
	{}
};

static struct kunit_suite hash_suite = {
	.name = "cmx_hash",
	.test_cases = hash_cases,
};

kunit_test_suite(hash_suite);
