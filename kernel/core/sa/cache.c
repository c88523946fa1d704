// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cached responses of an SA.
 *
 * An entry lives for sa_cache_ms from when its query was sent, or as long
 * as the shortest lease among its service records. An event after which the SA
 * may respond differently gives the cache a new generation; entries of an older
 * one are not found any more, even before they are freed. At a limit the oldest
 * entries are dropped first: they would expire soon.
 *
 * cmx_sa_cache.lock guards all of a cache. Answers are freed without it, and
 * nothing under it takes longer with the number of entries.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "sa/internal.h"
#include "sa/wire.h"

static unsigned int sa_cache_ms = 15000;
module_param(sa_cache_ms, uint, 0644);
MODULE_PARM_DESC(sa_cache_ms,
		 "Lifetime in ms of cached SA responses (default 15000, 0: none are cached)");

static unsigned int sa_cache_entries = 4096;
module_param(sa_cache_entries, uint, 0644);
MODULE_PARM_DESC(sa_cache_entries,
		 "Maximum cached SA responses per port (default 4096)");

static unsigned int sa_cache_kb = 4096;
module_param(sa_cache_kb, uint, 0644);
MODULE_PARM_DESC(sa_cache_kb,
		 "Maximum memory in KB of cached SA responses per port (default 4096)");

/* Entries that one step under the lock takes away at most. */
#define CMX_SA_CACHE_BATCH 64

struct cmx_sa_entry {
	struct hlist_node hash;
	struct list_head node;
	u32 generation;
	u32 hash_value;
	unsigned long expires;
	size_t bytes;
	struct cmx_sa_answer *answer;
	struct cmx_sa_key key;
};

u32 cmx_sa_key_hash(const struct cmx_sa_key *key)
{
	return cmx_hash(key, sizeof(*key));
}

bool cmx_sa_key_equal(const struct cmx_sa_key *a, const struct cmx_sa_key *b)
{
	return !memcmp(a, b, sizeof(*a));
}

u32 cmx_sa_cache_generation(const struct cmx_sa_cache *cache)
{
	return READ_ONCE(cache->generation);
}

static struct cmx_sa_entry *cmx_sa_entry_find(struct cmx_sa_cache *cache,
					      const struct cmx_sa_key *key,
					      u32 hash)
{
	struct cmx_sa_entry *e;

	hash_for_each_possible(cache->hash, e, hash, hash) {
		if (e->hash_value == hash && cmx_sa_key_equal(&e->key, key))
			return e;
	}
	return NULL;
}

static void cmx_sa_entry_remove(struct cmx_sa_cache *cache,
				struct cmx_sa_entry *e,
				struct list_head *victims)
{
	hash_del(&e->hash);
	list_move_tail(&e->node, victims);
	cache->count--;
	cache->bytes -= e->bytes;
	cmx_stat_dec(sa_cached);
	cmx_stat_inc(live_sa_answers);
}

/* One that is in no cache, or NULL. */
void cmx_sa_entry_free(struct cmx_sa_entry *e)
{
	if (e) {
		cmx_sa_answer_put(e->answer);
		kfree(e);
	}
}

void cmx_sa_entries_free(struct list_head *victims)
{
	struct cmx_sa_entry *e, *tmp;

	list_for_each_entry_safe(e, tmp, victims, node)
		cmx_sa_entry_free(e);
}

/* The answer with a reference, or NULL. */
struct cmx_sa_answer *cmx_sa_cache_get(struct cmx_sa_cache *cache,
				       const struct cmx_sa_key *key)
{
	struct cmx_sa_answer *answer = NULL;
	struct cmx_sa_entry *e;
	u32 hash;

	if (!READ_ONCE(sa_cache_ms))
		return NULL;
	hash = cmx_sa_key_hash(key);
	spin_lock(&cache->lock);
	e = cmx_sa_entry_find(cache, key, hash);
	if (e && e->generation == cache->generation &&
	    time_before(jiffies, e->expires)) {
		answer = e->answer;
		cmx_sa_answer_get(answer);
	}
	spin_unlock(&cache->lock);
	return answer;
}

/* How long an answer may be used, in ms. */
static unsigned int cmx_sa_answer_life(const struct cmx_sa_key *key,
				       const struct cmx_sa_answer *answer)
{
	unsigned int life = min_t(unsigned int, READ_ONCE(sa_cache_ms),
				  24 * 3600 * MSEC_PER_SEC);
	const struct cmx_sa_service_rec *rec;
	u64 lease;
	u32 i;

	if (key->query.attr_id != cpu_to_be16(IB_SA_ATTR_SERVICE_REC) ||
	    answer->stride < sizeof(*rec))
		return life;
	for (i = 0; i < answer->count; i++) {
		rec = cmx_sa_answer_rec(answer, i);
		lease = be32_to_cpu(rec->lease);
		if (lease != CMX_SA_LEASE_FOREVER)
			life = min_t(u64, life, lease * MSEC_PER_SEC);
	}
	return life;
}

/*
 * Makes an entry for @answer, of which it takes a reference, to a query
 * sent at @sent_at. NULL when it is not to be cached, or without memory.
 *
 * That there are no records is not remembered: who waits for a service to
 * appear is to find it at once.
 */
struct cmx_sa_entry *cmx_sa_entry_alloc(const struct cmx_sa_key *key,
					struct cmx_sa_answer *answer,
					unsigned long sent_at, u32 generation)
{
	struct cmx_sa_entry *e;
	unsigned int life;

	if (!answer->count)
		return NULL;
	life = cmx_sa_answer_life(key, answer);
	if (!life)
		return NULL;
	e = kmalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return NULL;
	INIT_LIST_HEAD(&e->node);
	e->key = *key;
	e->hash_value = cmx_sa_key_hash(key);
	e->generation = generation;
	e->expires = sent_at + msecs_to_jiffies(life);
	e->bytes = sizeof(*e) + sizeof(*answer) + answer->len;
	e->answer = answer;
	cmx_sa_answer_get(answer);
	return e;
}

static size_t cmx_sa_cache_bytes(void)
{
	return (size_t)READ_ONCE(sa_cache_kb) * 1024;
}

/* Would it be there if nothing else was? */
static bool cmx_sa_cache_takes(const struct cmx_sa_entry *e)
{
	return e->bytes <= cmx_sa_cache_bytes();
}

static bool cmx_sa_cache_full(const struct cmx_sa_cache *cache,
			      const struct cmx_sa_entry *e)
{
	return cache->count >= READ_ONCE(sa_cache_entries) ||
	       cache->bytes + e->bytes > cmx_sa_cache_bytes();
}

/* Takes @e over. @victims are for cmx_sa_entries_free(), without locks. */
void cmx_sa_cache_add(struct cmx_sa_cache *cache, struct cmx_sa_entry *e,
		      struct list_head *victims)
{
	struct cmx_sa_entry *old;
	unsigned int i;

	spin_lock(&cache->lock);
	if (e->generation != cache->generation)
		goto drop;
	old = cmx_sa_entry_find(cache, &e->key, e->hash_value);
	if (old)
		cmx_sa_entry_remove(cache, old, victims);
	/* Others need not make room for what does not stay. */
	if (!cmx_sa_cache_takes(e))
		goto drop;
	for (i = 0; i < CMX_SA_CACHE_BATCH && cache->count; i++) {
		if (!cmx_sa_cache_full(cache, e))
			break;
		old = list_first_entry(&cache->entries, struct cmx_sa_entry,
				       node);
		cmx_sa_entry_remove(cache, old, victims);
	}
	if (cmx_sa_cache_full(cache, e))
		goto drop;
	hash_add(cache->hash, &e->hash, e->hash_value);
	list_add_tail(&e->node, &cache->entries);
	cache->count++;
	cache->bytes += e->bytes;
	cmx_stat_inc(sa_cached);
	cmx_stat_dec(live_sa_answers);
	queue_delayed_work(system_unbound_wq, &cache->sweep,
			   msecs_to_jiffies(READ_ONCE(sa_cache_ms)) + 1);
	spin_unlock(&cache->lock);
	return;

drop:
	list_add_tail(&e->node, victims);
	spin_unlock(&cache->lock);
}

/*
 * Frees entries that are of no use any more, beginning with the oldest,
 * in steps. Those behind one that is still good wait for the next time.
 */
static void cmx_sa_cache_purge(struct cmx_sa_cache *cache)
{
	struct cmx_sa_entry *e, *tmp;
	LIST_HEAD(victims);
	unsigned int i;

	do {
		i = 0;
		spin_lock(&cache->lock);
		list_for_each_entry_safe(e, tmp, &cache->entries, node) {
			if (i == CMX_SA_CACHE_BATCH)
				break;
			if (e->generation == cache->generation &&
			    time_before(jiffies, e->expires))
				break;
			cmx_sa_entry_remove(cache, e, &victims);
			i++;
		}
		spin_unlock(&cache->lock);
		cmx_sa_entries_free(&victims);
		INIT_LIST_HEAD(&victims);
	} while (i == CMX_SA_CACHE_BATCH);
}

static void cmx_sa_cache_sweep(struct work_struct *work)
{
	struct cmx_sa_cache *cache = container_of(to_delayed_work(work),
						  struct cmx_sa_cache, sweep);
	struct cmx_sa_entry *e;
	unsigned long delay;

	cmx_sa_cache_purge(cache);
	spin_lock(&cache->lock);
	e = list_first_entry_or_null(&cache->entries, struct cmx_sa_entry,
				     node);
	if (e) {
		delay = max_t(long, e->expires - jiffies, HZ / 10);
		queue_delayed_work(system_unbound_wq, &cache->sweep, delay);
	}
	spin_unlock(&cache->lock);
}

/* The answer to @key has turned out to be wrong. */
void cmx_sa_cache_remove(struct cmx_sa_cache *cache,
			 const struct cmx_sa_key *key)
{
	u32 hash = cmx_sa_key_hash(key);
	struct cmx_sa_entry *e;
	LIST_HEAD(victims);

	spin_lock(&cache->lock);
	e = cmx_sa_entry_find(cache, key, hash);
	if (e)
		cmx_sa_entry_remove(cache, e, &victims);
	spin_unlock(&cache->lock);
	cmx_sa_entries_free(&victims);
}

/* No answer to a query sent before this is returned after it. */
void cmx_sa_cache_drop(struct cmx_sa_cache *cache)
{
	spin_lock(&cache->lock);
	WRITE_ONCE(cache->generation, cache->generation + 1);
	spin_unlock(&cache->lock);
	cmx_sa_cache_purge(cache);
}

void cmx_sa_cache_init(struct cmx_sa_cache *cache)
{
	spin_lock_init(&cache->lock);
	hash_init(cache->hash);
	INIT_LIST_HEAD(&cache->entries);
	INIT_DELAYED_WORK(&cache->sweep, cmx_sa_cache_sweep);
}

/*
 * No query of the port may be outstanding, so that nothing is added. The
 * sweep has to find the cache empty, or it would queue itself again.
 */
void cmx_sa_cache_exit(struct cmx_sa_cache *cache)
{
	cmx_sa_cache_drop(cache);
	cancel_delayed_work_sync(&cache->sweep);
}
