// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Cached responses of an SA.
 *
 * An entry is valid for sa_cache_ms from the time its query was sent, or for
 * the shortest lease among its service records. An event after which the SA may
 * respond differently starts a new generation of the cache. Entries of an older
 * one are not found any more, even before they are freed. At a limit, entries
 * of the user with the most are evicted first (share.c).
 *
 * While the SA reports changes of paths (inform.c), a path whose query was sent
 * since then is valid for sa_path_cache_ms instead. A report drops the paths to
 * its GID, which have an index. Paths have numbers, too, so that a walk over
 * them (paths.c) continues after the lock was released.
 *
 * cmx_sa_cache.lock guards all of a cache. Responses are freed without it. The
 * time under it does not depend on the number of entries.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "sa/internal.h"
#include "sa/trace.h"
#include "sa/wire.h"

static unsigned int sa_cache_ms = 15000;
module_param(sa_cache_ms, uint, 0644);
MODULE_PARM_DESC(sa_cache_ms,
		 "Lifetime in ms of cached SA responses (default 15000, 0: none are cached)");

static unsigned int sa_path_cache_ms = 600000;
module_param(sa_path_cache_ms, uint, 0644);
MODULE_PARM_DESC(sa_path_cache_ms,
		 "Lifetime in ms of cached paths while the SA reports changes (default 600000, 0: sa_cache_ms)");

#define CMX_SA_CACHE_MAX_MS (24 * 3600 * MSEC_PER_SEC)

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

const union ib_gid *cmx_sa_query_dgid(const struct cmx_sa_query *q)
{
	const __be64 mask = (__force __be64)IB_SA_PATH_REC_DGID;

	if (q->attr_id != cpu_to_be16(IB_SA_ATTR_PATH_REC) ||
	    !(q->comp_mask & mask))
		return NULL;
	return (const union ib_gid *)(q->rec + CMX_SA_PATH_DGID);
}

u32 cmx_sa_gid_hash(const union ib_gid *gid)
{
	return cmx_hash(gid->raw, sizeof(gid->raw));
}

/* Jiffies at which @e expires. Under the lock, or before it is added. */
unsigned long cmx_sa_entry_expires(const struct cmx_sa_cache *cache,
				   struct cmx_sa_entry *e)
{
	unsigned int ms = min_t(unsigned int, READ_ONCE(sa_path_cache_ms),
				CMX_SA_CACHE_MAX_MS);

	if (ms && cache->followed == cache->generation &&
	    hash_hashed(&e->gid) &&
	    time_after_eq(e->sent_at, cache->followed_since))
		return e->sent_at + msecs_to_jiffies(ms);
	return e->sent_at + e->life;
}

/* Under the lock */
bool cmx_sa_entry_valid(const struct cmx_sa_cache *cache,
			struct cmx_sa_entry *e)
{
	return e->generation == cache->generation &&
	       time_before(jiffies, cmx_sa_entry_expires(cache, e));
}

static void cmx_sa_path_gone(const struct cmx_sa_entry *e, enum cmx_sa_gone why)
{
	trace_cmx_path_gone(&e->key.query, why);
	switch (why) {
	case CMX_SA_GONE_EXPIRED:
		cmx_stat_inc(paths_expired);
		break;
	case CMX_SA_GONE_EVENT:
		cmx_stat_inc(paths_outdated);
		break;
	case CMX_SA_GONE_LIMIT:
		cmx_stat_inc(paths_evicted);
		break;
	case CMX_SA_GONE_REPORT:
		cmx_stat_inc(paths_dropped);
		break;
	case CMX_SA_GONE_FAILED:
		cmx_stat_inc(paths_failed);
		break;
	case CMX_SA_GONE_COMMAND:
		cmx_stat_inc(paths_forgotten);
		break;
	case CMX_SA_GONE_RENEWED:
		break;
	}
}

/* Under the lock. @e is no longer in its share. */
static void cmx_sa_entry_unlink(struct cmx_sa_cache *cache,
				struct cmx_sa_entry *e, enum cmx_sa_gone why)
{
	hash_del(&e->hash);
	if (hash_hashed(&e->gid)) {
		hash_del(&e->gid);
		rb_erase(&e->order, &cache->order);
		cmx_sa_path_gone(e, why);
	}
	cmx_stat_dec(sa_cached);
	cmx_stat_inc(live_sa_responses);
}

/* Under the lock */
void cmx_sa_entry_remove(struct cmx_sa_cache *cache, struct cmx_sa_entry *e,
			 struct list_head *victims, enum cmx_sa_gone why)
{
	cmx_sa_share_leave(cache, e, victims);
	cmx_sa_entry_unlink(cache, e, why);
}

/* Frees an entry that is in no cache, or NULL. */
void cmx_sa_entry_free(struct cmx_sa_entry *e)
{
	if (e) {
		cmx_sa_response_put(e->response);
		kfree(e);
	}
}

void cmx_sa_entries_free(struct list_head *victims)
{
	struct cmx_sa_entry *e, *tmp;

	list_for_each_entry_safe(e, tmp, victims, node)
		cmx_sa_entry_free(e);
}

/* If false, no entry is found. */
bool cmx_sa_cache_usable(void)
{
	return READ_ONCE(sa_cache_ms);
}

/* The response with a reference, or NULL */
struct cmx_sa_response *cmx_sa_cache_get(struct cmx_sa_cache *cache,
					 const struct cmx_sa_key *key)
{
	struct cmx_sa_response *response = NULL;
	struct cmx_sa_entry *e;
	u32 hash;

	if (!cmx_sa_cache_usable())
		return NULL;
	hash = cmx_sa_key_hash(key);
	spin_lock(&cache->lock);
	e = cmx_sa_entry_find(cache, key, hash);
	if (e && cmx_sa_entry_valid(cache, e)) {
		response = e->response;
		cmx_sa_response_get(response);
	}
	spin_unlock(&cache->lock);
	return response;
}

/* Milliseconds for which a response is valid without reports */
static unsigned int cmx_sa_response_life(const struct cmx_sa_key *key,
					 const struct cmx_sa_response *response)
{
	unsigned int life = min_t(unsigned int, READ_ONCE(sa_cache_ms),
				  CMX_SA_CACHE_MAX_MS);
	const struct cmx_sa_service_rec *rec;
	u64 lease;
	u32 i;

	if (key->query.attr_id != cpu_to_be16(IB_SA_ATTR_SERVICE_REC) ||
	    response->stride < sizeof(*rec))
		return life;
	for (i = 0; i < response->count; i++) {
		rec = cmx_sa_response_rec(response, i);
		lease = be32_to_cpu(rec->lease);
		if (lease != CMX_SA_LEASE_FOREVER)
			life = min_t(u64, life, lease * MSEC_PER_SEC);
	}
	return life;
}

/*
 * Creates an entry for @response, of which it takes a reference, to a query
 * sent at @sent_at. NULL if it is not to be cached, or without memory.
 *
 * A response without records is not cached, so that a caller that waits for a
 * service finds it without delay.
 */
struct cmx_sa_entry *cmx_sa_entry_alloc(const struct cmx_sa_key *key,
					struct cmx_sa_response *response,
					unsigned long sent_at, u32 generation)
{
	struct cmx_sa_entry *e;
	unsigned int life;

	if (!response->count)
		return NULL;
	life = cmx_sa_response_life(key, response);
	if (!life)
		return NULL;
	e = kmalloc(sizeof(*e), GFP_KERNEL);
	if (!e)
		return NULL;
	INIT_LIST_HEAD(&e->node);
	INIT_HLIST_NODE(&e->gid);
	e->key = *key;
	e->hash_value = cmx_sa_key_hash(key);
	e->generation = generation;
	e->sent_at = sent_at;
	e->life = msecs_to_jiffies(life);
	e->bytes = sizeof(*e) + sizeof(*response) + response->len;
	e->response = response;
	cmx_sa_response_get(response);
	return e;
}

static bool cmx_sa_path_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct cmx_sa_entry, order)->number <
	       rb_entry(b, struct cmx_sa_entry, order)->number;
}

/* Under the lock. The sweep runs at @at, or earlier. */
static void cmx_sa_sweep_by(struct cmx_sa_cache *cache, unsigned long at)
{
	long left = at - jiffies;

	if (delayed_work_pending(&cache->sweep) &&
	    !time_before(at, cache->sweep_at))
		return;
	cache->sweep_at = at;
	mod_delayed_work(system_unbound_wq, &cache->sweep, max(left, 0L));
}

/* Under the lock. The sweep may run some time after @e expires. */
static void cmx_sa_cache_link(struct cmx_sa_cache *cache,
			      struct cmx_sa_entry *e)
{
	const union ib_gid *dgid = cmx_sa_query_dgid(&e->key.query);

	hash_add(cache->hash, &e->hash, e->hash_value);
	if (dgid) {
		hash_add(cache->gids, &e->gid, cmx_sa_gid_hash(dgid));
		e->number = ++cache->number;
		rb_add(&e->order, &cache->order, cmx_sa_path_less);
	}
	cmx_sa_share_enter(cache, e);
	e->added = jiffies;
	cmx_sa_sweep_by(cache, jiffies + e->life + 1);
}

/* Under the lock. The reason for the end of @e, if there is no other. */
enum cmx_sa_gone cmx_sa_entry_end(const struct cmx_sa_cache *cache,
				  struct cmx_sa_entry *e, enum cmx_sa_gone why)
{
	if (e->generation != cache->generation)
		return CMX_SA_GONE_EVENT;
	return cmx_sa_entry_valid(cache, e) ? why : CMX_SA_GONE_EXPIRED;
}

/*
 * Takes @e over, of a query of @uid. cmx_sa_entries_free() frees @victims,
 * without locks.
 */
void cmx_sa_cache_add(struct cmx_sa_cache *cache, struct cmx_sa_entry *e,
		      kuid_t uid, struct list_head *victims)
{
	struct cmx_sa_entry *old;
	enum cmx_sa_gone why;
	LIST_HEAD(chosen);
	bool fits;

	spin_lock(&cache->lock);
	if (e->generation != cache->generation)
		goto drop;
	old = cmx_sa_entry_find(cache, &e->key, e->hash_value);
	if (old) {
		why = cmx_sa_entry_end(cache, old, CMX_SA_GONE_RENEWED);
		cmx_sa_entry_remove(cache, old, victims, why);
	}
	e->share = cmx_sa_share_of(cache, uid);
	fits = cmx_sa_share_room(cache, e, &chosen);
	list_for_each_entry(old, &chosen, node) {
		why = cmx_sa_entry_end(cache, old, CMX_SA_GONE_LIMIT);
		cmx_sa_entry_unlink(cache, old, why);
	}
	list_splice_tail(&chosen, victims);
	if (!fits)
		goto drop;
	cmx_sa_cache_link(cache, e);
	cmx_stat_inc(sa_cached);
	cmx_stat_dec(live_sa_responses);
	spin_unlock(&cache->lock);
	return;

drop:
	list_add_tail(&e->node, victims);
	spin_unlock(&cache->lock);
}

/* Removes up to a batch from the front of a list. Returns the number. */
static unsigned int cmx_sa_list_purge(struct cmx_sa_cache *cache,
				      struct list_head *list,
				      struct list_head *victims)
{
	struct cmx_sa_entry *e, *tmp;
	unsigned int i = 0;

	list_for_each_entry_safe(e, tmp, list, node) {
		if (i == CMX_SA_CACHE_BATCH || cmx_sa_entry_valid(cache, e))
			break;
		cmx_sa_entry_remove(cache, e, victims,
				    cmx_sa_entry_end(cache, e,
						     CMX_SA_GONE_EXPIRED));
		i++;
	}
	return i;
}

/*
 * Frees invalid entries of a user, oldest first, in batches. Entries behind a
 * valid one wait for the next sweep.
 */
static void cmx_sa_share_purge(struct cmx_sa_cache *cache,
			       struct cmx_sa_share *share)
{
	LIST_HEAD(victims);
	unsigned int n;

	do {
		spin_lock(&cache->lock);
		n = max(cmx_sa_list_purge(cache, &share->entries, &victims),
			cmx_sa_list_purge(cache, &share->paths, &victims));
		spin_unlock(&cache->lock);
		cmx_sa_entries_free(&victims);
		INIT_LIST_HEAD(&victims);
		cond_resched();
	} while (n == CMX_SA_CACHE_BATCH);
}

static void cmx_sa_cache_purge(struct cmx_sa_cache *cache)
{
	unsigned int i;

	for (i = 0; i < CMX_SA_SHARES; i++)
		cmx_sa_share_purge(cache, &cache->share[i]);
}

/* Under the lock. Sweeps again when the first entry of @list expires. */
static void cmx_sa_sweep_later(struct cmx_sa_cache *cache,
			       struct list_head *list)
{
	unsigned long soon = jiffies + HZ / 10;
	struct cmx_sa_entry *e;
	unsigned long at;

	e = list_first_entry_or_null(list, struct cmx_sa_entry, node);
	if (!e)
		return;
	at = cmx_sa_entry_expires(cache, e);
	cmx_sa_sweep_by(cache, time_before(at, soon) ? soon : at);
}

static void cmx_sa_cache_sweep(struct work_struct *work)
{
	struct cmx_sa_cache *cache = container_of(to_delayed_work(work),
						  struct cmx_sa_cache, sweep);
	unsigned int i;

	cmx_sa_cache_purge(cache);
	spin_lock(&cache->lock);
	for (i = 0; i < CMX_SA_SHARES; i++) {
		cmx_sa_sweep_later(cache, &cache->share[i].entries);
		cmx_sa_sweep_later(cache, &cache->share[i].paths);
	}
	spin_unlock(&cache->lock);
}

/* Removes the response to @key, valid or not. True if there was one. */
bool cmx_sa_cache_remove(struct cmx_sa_cache *cache,
			 const struct cmx_sa_key *key, enum cmx_sa_gone why)
{
	u32 hash = cmx_sa_key_hash(key);
	struct cmx_sa_entry *e;
	LIST_HEAD(victims);

	spin_lock(&cache->lock);
	e = cmx_sa_entry_find(cache, key, hash);
	if (e)
		cmx_sa_entry_remove(cache, e, &victims, why);
	spin_unlock(&cache->lock);
	cmx_sa_entries_free(&victims);
	return e;
}

/* The paths to @gid have changed. Returns the number of dropped ones. */
unsigned int cmx_sa_cache_drop_gid(struct cmx_sa_cache *cache,
				   const union ib_gid *gid)
{
	u32 hash = cmx_sa_gid_hash(gid);
	unsigned int n, sum = 0;
	struct cmx_sa_entry *e;
	struct hlist_node *tmp;
	LIST_HEAD(victims);

	do {
		n = 0;
		spin_lock(&cache->lock);
		hash_for_each_possible_safe(cache->gids, e, tmp, gid, hash) {
			if (memcmp(cmx_sa_query_dgid(&e->key.query), gid,
				   sizeof(*gid)))
				continue;
			cmx_sa_entry_remove(cache, e, &victims,
					    CMX_SA_GONE_REPORT);
			if (++n == CMX_SA_CACHE_BATCH)
				break;
		}
		spin_unlock(&cache->lock);
		cmx_sa_entries_free(&victims);
		INIT_LIST_HEAD(&victims);
		sum += n;
		cond_resched();
	} while (n == CMX_SA_CACHE_BATCH);
	return sum;
}

/*
 * The SA reports changes of paths in @generation. Queries that are sent from
 * now on get the longer lifetime. Returns false if @generation has ended.
 */
bool cmx_sa_cache_follow(struct cmx_sa_cache *cache, u32 generation)
{
	bool ok;

	spin_lock(&cache->lock);
	ok = generation == cache->generation;
	if (ok && cache->followed != generation) {
		cache->followed = generation;
		/* A query of this jiffy may have been sent before. */
		cache->followed_since = jiffies + 1;
	}
	spin_unlock(&cache->lock);
	return ok;
}

/* The SA may not report changes any more. */
void cmx_sa_cache_unfollow(struct cmx_sa_cache *cache)
{
	spin_lock(&cache->lock);
	cache->followed = cache->generation - 1;
	spin_unlock(&cache->lock);
}

/* After the return, no response to a query sent before is used. */
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
	hash_init(cache->gids);
	cmx_sa_shares_init(cache);
	cache->order = RB_ROOT;
	cache->followed = cache->generation - 1;
	INIT_DELAYED_WORK(&cache->sweep, cmx_sa_cache_sweep);
}

/*
 * No query of the port is outstanding, so nothing is added. The sweep must find
 * the cache empty, or it would queue itself again.
 */
void cmx_sa_cache_exit(struct cmx_sa_cache *cache)
{
	cmx_sa_cache_drop(cache);
	cancel_delayed_work_sync(&cache->sweep);
}
