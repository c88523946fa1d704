// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Shares of users in a cache, and its limits.
 *
 * An entry belongs to the user who sent its query, whoever uses it. At a limit
 * the oldest entry of the user with the most is evicted, the new one counted: a
 * user who sends ever more queries evicts entries of this same user, and a user
 * with less than an equal part loses nothing.
 *
 * Nothing is allocated for a user. The kernel's consumers and root have the
 * first two shares; others have one each, as long as they have entries. More
 * users than that share them, by a hash that none of them knows.
 *
 * cmx_sa_cache.lock guards all of it. A new entry evicts at most a batch, with
 * a visit of each share for each of them.
 */
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>

#include "sa/internal.h"
#include "sched.h"

static unsigned int sa_cache_entries = 4096;
module_param(sa_cache_entries, uint, 0644);
MODULE_PARM_DESC(sa_cache_entries,
		 "Maximum cached SA responses per port (default 4096)");

static unsigned int sa_cache_kb = 4096;
module_param(sa_cache_kb, uint, 0644);
MODULE_PARM_DESC(sa_cache_kb,
		 "Maximum memory in KB of cached SA responses per port (default 4096)");

void cmx_sa_shares_init(struct cmx_sa_cache *cache)
{
	unsigned int i;

	for (i = 0; i < CMX_SA_SHARES; i++) {
		INIT_LIST_HEAD(&cache->share[i].entries);
		INIT_LIST_HEAD(&cache->share[i].paths);
	}
}

/* The caller adds an entry before it releases the lock, or does not use it. */
struct cmx_sa_share *cmx_sa_share_of(struct cmx_sa_cache *cache, kuid_t uid)
{
	struct cmx_sa_share *share, *empty = NULL;
	uid_t value = __kuid_val(uid);
	unsigned int i;

	if (uid_eq(uid, CMX_KERNEL_UID))
		return &cache->share[0];
	if (uid_eq(uid, GLOBAL_ROOT_UID))
		return &cache->share[1];
	for (i = CMX_SA_OWN_SHARES; i < CMX_SA_SHARES; i++) {
		share = &cache->share[i];
		if (!share->count)
			empty = share;
		else if (uid_eq(share->user, uid))
			return share;
	}
	if (!empty)
		return &cache->share[CMX_SA_OWN_SHARES +
				     cmx_hash(&value, sizeof(value)) %
				     (CMX_SA_SHARES - CMX_SA_OWN_SHARES)];
	empty->user = uid;
	return empty;
}

/* The list of an entry. Entries expire roughly in the order of a list. */
static struct list_head *cmx_sa_share_list(struct cmx_sa_entry *e)
{
	return hash_hashed(&e->gid) ? &e->share->paths : &e->share->entries;
}

static void cmx_sa_share_add(struct cmx_sa_cache *cache,
			     const struct cmx_sa_entry *e)
{
	e->share->count++;
	e->share->bytes += e->bytes;
	cache->count++;
	cache->bytes += e->bytes;
}

/* Adds the newest entry. The index by DGID already has a path. */
void cmx_sa_share_enter(struct cmx_sa_cache *cache, struct cmx_sa_entry *e)
{
	list_add_tail(&e->node, cmx_sa_share_list(e));
	cmx_sa_share_add(cache, e);
}

/* Moves @e to @list. */
void cmx_sa_share_leave(struct cmx_sa_cache *cache, struct cmx_sa_entry *e,
			struct list_head *list)
{
	list_move_tail(&e->node, list);
	e->share->count--;
	e->share->bytes -= e->bytes;
	cache->count--;
	cache->bytes -= e->bytes;
}

/* Undoes the leave of the oldest entry of its list. */
static void cmx_sa_share_return(struct cmx_sa_cache *cache,
				struct cmx_sa_entry *e)
{
	list_move(&e->node, cmx_sa_share_list(e));
	cmx_sa_share_add(cache, e);
}

static struct cmx_sa_entry *cmx_sa_share_oldest(struct cmx_sa_share *share)
{
	struct cmx_sa_entry *e, *path;

	e = list_first_entry_or_null(&share->entries, struct cmx_sa_entry,
				     node);
	path = list_first_entry_or_null(&share->paths, struct cmx_sa_entry,
					node);
	if (!e || (path && time_before(path->added, e->added)))
		return path;
	return e;
}

static size_t cmx_sa_cache_bytes(void)
{
	return min_t(u64, (u64)READ_ONCE(sa_cache_kb) * 1024, SIZE_MAX);
}

/* True if it exceeds a limit, which was lowered */
static bool cmx_sa_cache_over(const struct cmx_sa_cache *cache)
{
	return cache->count > READ_ONCE(sa_cache_entries) ||
	       cache->bytes > cmx_sa_cache_bytes();
}

static bool cmx_sa_cache_full(const struct cmx_sa_cache *cache,
			      const struct cmx_sa_entry *e)
{
	return cache->count >= READ_ONCE(sa_cache_entries) ||
	       cache->bytes + e->bytes > cmx_sa_cache_bytes();
}

/* The size of a share at the limit, including the new entry @e */
static size_t cmx_sa_share_size(const struct cmx_sa_share *share,
				const struct cmx_sa_entry *e, bool bytes)
{
	bool own = e->share == share;

	if (bytes)
		return share->bytes + (own ? e->bytes : 0);
	return share->count + own;
}

/* True if @a, oldest of a user with as much, is evicted rather than @b */
static bool cmx_sa_entry_rather(const struct cmx_sa_entry *a,
				const struct cmx_sa_entry *b,
				const struct cmx_sa_share *own)
{
	return !b || (b->share != own && time_before(a->added, b->added));
}

/*
 * The next entry to evict for @e. Among equal users, it is that of @e's user,
 * else the oldest. NULL: @e alone exceeds the share of each other user.
 */
static struct cmx_sa_entry *cmx_sa_share_victim(struct cmx_sa_cache *cache,
						const struct cmx_sa_entry *e)
{
	bool bytes = cache->count < READ_ONCE(sa_cache_entries);
	struct cmx_sa_entry *old = cmx_sa_share_oldest(e->share), *other;
	size_t size, most = cmx_sa_share_size(e->share, e, bytes);
	struct cmx_sa_share *share;
	unsigned int i;

	for (i = 0; i < CMX_SA_SHARES; i++) {
		share = &cache->share[i];
		size = cmx_sa_share_size(share, e, bytes);
		if (share == e->share || size < most)
			continue;
		other = cmx_sa_share_oldest(share);
		if (size > most || cmx_sa_entry_rather(other, old, e->share)) {
			most = size;
			old = other;
		}
	}
	return old;
}

/*
 * True if @e fits after @chosen are evicted. They are at most a batch, and have
 * left their shares. If this is not enough nothing is evicted, because the
 * cache would not gain. But a cache beyond its limits has to shrink.
 */
bool cmx_sa_share_room(struct cmx_sa_cache *cache,
		       const struct cmx_sa_entry *e, struct list_head *chosen)
{
	bool over = cmx_sa_cache_over(cache);
	struct cmx_sa_entry *old, *tmp;
	unsigned int i;

	/* It does not fit into an empty cache. */
	if (e->bytes > cmx_sa_cache_bytes())
		return false;
	for (i = 0; i < CMX_SA_CACHE_BATCH && cmx_sa_cache_full(cache, e);
	     i++) {
		old = cmx_sa_share_victim(cache, e);
		if (!old)
			break;
		cmx_sa_share_leave(cache, old, chosen);
	}
	if (!cmx_sa_cache_full(cache, e))
		return true;
	if (!over) {
		list_for_each_entry_safe_reverse(old, tmp, chosen, node)
			cmx_sa_share_return(cache, old);
	}
	return false;
}
