// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device index: the port that has an address of a netdevice, or none.
 * ib_core finds a GID by a walk over a table of up to a thousand entries, for
 * each device.
 *
 * An entry is the result of a walk over all devices, with the generation at
 * that time. Each change of a device or of a GID table starts a new generation,
 * which invalidates older entries. The table has a fixed size. A user with many
 * addresses may evict entries of others, who then walk.
 *
 * The lock of a bucket is innermost. Readers take no lock: they copy an entry
 * and check the sequence count.
 */
#include <linux/hash.h>
#include <linux/random.h>
#include <linux/seqlock.h>

#include "resolve/device_index.h"

#define CMX_INDEX_BITS	8
#define CMX_INDEX_WAYS	4

struct cmx_index_entry {
	struct cmx_index_key key;
	struct cmx_owner owner;
	s64 generation;		/* 0: empty */
};

struct cmx_index_bucket {
	seqlock_t lock;		/* guards the bucket */
	unsigned int next;	/* replaced if all are in use */
	struct cmx_index_entry entry[CMX_INDEX_WAYS];
};

static struct cmx_index_bucket cmx_index[1 << CMX_INDEX_BITS];
static atomic64_t cmx_index_now = ATOMIC64_INIT(1);
static u64 cmx_index_seed __read_mostly;

/* A weak hash suffices: anybody can fill all buckets of a small table. */
static u64 cmx_index_mix(u64 hash)
{
	hash *= GOLDEN_RATIO_64;
	return hash ^ hash >> 32;
}

static struct cmx_index_bucket *
cmx_index_bucket_of(const struct cmx_index_key *key)
{
	u64 hash = cmx_index_seed;

	/* The type follows from the netdevice. */
	hash = cmx_index_mix(hash ^ (__force u64)key->gid.global.subnet_prefix);
	hash = cmx_index_mix(hash ^ (__force u64)key->gid.global.interface_id);
	hash = cmx_index_mix(hash ^ key->cookie);
	hash = cmx_index_mix(hash ^ (uintptr_t)key->ndev);
	return &cmx_index[hash >> (64 - CMX_INDEX_BITS)];
}

static bool cmx_index_key_is(const struct cmx_index_key *a,
			     const struct cmx_index_key *b)
{
	return !memcmp(&a->gid, &b->gid, sizeof(a->gid)) &&
	       a->cookie == b->cookie && a->ndev == b->ndev &&
	       a->type == b->type;
}

/*
 * With RCU, during which the device of @owner stays: its removal starts a
 * generation and then waits for readers. The caller checks that @owner still
 * has the address, since an event follows the change.
 */
bool cmx_index_find(const struct cmx_index_key *key, struct cmx_owner *owner)
{
	struct cmx_index_bucket *b = cmx_index_bucket_of(key);
	s64 now = atomic64_read(&cmx_index_now);
	const struct cmx_index_entry *e;
	bool found = false;
	unsigned int seq;
	int i;

	seq = read_seqbegin(&b->lock);
	for (i = 0; i < CMX_INDEX_WAYS; i++) {
		e = &b->entry[i];
		if (e->generation != now || !cmx_index_key_is(&e->key, key))
			continue;
		*owner = e->owner;
		found = true;
		break;
	}
	return found && !read_seqretry(&b->lock, seq);
}

/* Called before the walk whose result cmx_index_set() stores. */
s64 cmx_index_generation(void)
{
	return atomic64_read_acquire(&cmx_index_now);
}

void cmx_index_set(const struct cmx_index_key *key,
		   const struct cmx_owner *owner, s64 generation)
{
	struct cmx_index_bucket *b = cmx_index_bucket_of(key);
	struct cmx_index_entry *e, *victim = NULL;
	int i;

	write_seqlock(&b->lock);
	/* A late walk evicts no valid entry. */
	if (generation != atomic64_read(&cmx_index_now))
		goto unlock;
	for (i = 0; i < CMX_INDEX_WAYS; i++) {
		e = &b->entry[i];
		if (cmx_index_key_is(&e->key, key)) {
			victim = e;
			break;
		}
		if (e->generation != generation)
			victim = e;
	}
	if (!victim)
		victim = &b->entry[b->next++ % CMX_INDEX_WAYS];
	victim->key = *key;
	victim->owner = *owner;
	victim->generation = generation;
unlock:
	write_sequnlock(&b->lock);
}

/*
 * A change has happened; any context. A walk that has begun before it stores no
 * valid entry.
 */
void cmx_index_drop(void)
{
	/* A full barrier: readers of the generation see the change. */
	atomic64_inc_return(&cmx_index_now);
}

void cmx_index_init(void)
{
	int i;

	cmx_index_seed = get_random_u64();
	for (i = 0; i < ARRAY_SIZE(cmx_index); i++)
		seqlock_init(&cmx_index[i].lock);
}
