// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The result of a watch (watch.c): comparison, and time until the next query.
 * It stores the set of its entries' hashes, 8 bytes each. The hash is keyed: no
 * name server can make two results collide. No state, process context, may
 * sleep.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/once.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "resolve/resolve.h"

/* Set in the hash of an open entry, and in no other */
#define CMX_WATCH_OPEN	1ULL

/* At least @base_ms, doubled by each of the first four failures */
u32 cmx_watch_delay(u32 base_ms, unsigned int fails, u32 random)
{
	u32 ms = clamp(base_ms, 1u, (u32)CMX_WATCH_MAX_MS) << min(fails, 4u);

	/*
	 * Hosts of a fabric have the same events. They spread over a quarter.
	 */
	return ms + random % (ms / 4 + 1);
}

/* True if @error means that there is no address */
bool cmx_watch_gone(int error, bool own_src)
{
	return error == -ENOENT || error == -ENODATA ||
	       (error == -EADDRNOTAVAIL && !own_src);
}

/*
 * The compared fields of an entry. Source and device are left out: they depend
 * on which SA reported a service first, and on routes. Padding is zeroed.
 */
struct cmx_watch_key {
	union rdma_cmx_sockaddr addr;
	u32 qp_type;
	u32 port_space;
	u32 reached;
	u32 zero;
};

static u64 cmx_watch_hash(const struct rdma_cmx_entry *e)
{
	static siphash_key_t key __read_mostly;
	const union rdma_cmx_sockaddr *addr;
	struct cmx_watch_key k;

	get_random_once(&key, sizeof(key));
	/* To listen on, the source is compared. */
	addr = e->dst.sa.sa_family ? &e->dst : &e->src;
	memset(&k, 0, sizeof(k));
	memcpy(&k.addr, addr, cmx_addr_size(addr->sa.sa_family));
	if (addr->sa.sa_family == AF_INET)
		memset(k.addr.in.sin_zero, 0, sizeof(k.addr.in.sin_zero));
	k.qp_type = e->qp_type;
	k.port_space = e->port_space;
	k.reached = !!e->port_num;
	return siphash(&k, sizeof(k), &key);
}

static int cmx_watch_cmp(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* True if it is unknown whether a device reaches it */
static bool cmx_watch_open(const struct rdma_cmx_entry *e)
{
	return e->error == -ETIMEDOUT || e->error == -EAGAIN ||
	       e->error == -ENOMEM;
}

/*
 * The set of a result, empty for an error; NULL without memory. An entry that
 * is there twice is open if both are.
 */
struct cmx_watch_set *cmx_watch_set(const struct rdma_cmx_result *res)
{
	u32 i, k, n = IS_ERR(res) ? 0 : res->count;
	const struct rdma_cmx_entry *e;
	struct cmx_watch_set *set;

	set = kvmalloc(struct_size(set, hash, n), GFP_KERNEL);
	if (!set)
		return NULL;
	set->partial = !IS_ERR(res) && res->partial;
	for (i = 0; i < n; i++) {
		e = &res->entries[i];
		set->hash[i] = cmx_watch_hash(e) & ~CMX_WATCH_OPEN;
		if (!cmx_watch_open(e))
			continue;
		set->hash[i] |= CMX_WATCH_OPEN;
		set->partial = true;
	}
	sort(set->hash, n, sizeof(set->hash[0]), cmx_watch_cmp, NULL);
	for (i = 0, k = 0; i < n; i++) {
		if (!k || (set->hash[k - 1] ^ set->hash[i]) & ~CMX_WATCH_OPEN)
			set->hash[k++] = set->hash[i];
	}
	set->count = k;
	return set;
}

/*
 * True if @set differs from @old, the reported one, which is NULL the first
 * time. Of a partial set only its entries are compared, except open ones:
 * missing ones may still exist. Open entries of @old were reported like others.
 */
bool cmx_watch_changed(const struct cmx_watch_set *old,
		       const struct cmx_watch_set *set)
{
	u32 i, k = 0;
	u64 hash;

	if (!old)
		return true;
	if (!set->partial && old->count != set->count)
		return true;
	for (i = 0; i < set->count; i++) {
		hash = set->hash[i];
		if (hash & CMX_WATCH_OPEN)
			continue;
		while (k < old->count &&
		       (old->hash[k] & ~CMX_WATCH_OPEN) < hash)
			k++;
		if (k == old->count ||
		    (old->hash[k] & ~CMX_WATCH_OPEN) != hash)
			return true;
	}
	return false;
}
