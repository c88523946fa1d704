// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The answer of a watch (watch.c): how two of them are compared, and how long
 * the watch waits. It keeps the set of its entries' hashes, 8 bytes each. The
 * hash is keyed: no name server can make two answers look the same. No state,
 * process context, may sleep.
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

/* At least @base_ms, doubled by each of the first four failures. */
u32 cmx_watch_delay(u32 base_ms, unsigned int fails, u32 random)
{
	u32 ms = clamp(base_ms, 1u, (u32)CMX_WATCH_MAX_MS) << min(fails, 4u);

	/* A fabric's hosts have the same events: they spread over a quarter. */
	return ms + random % (ms / 4 + 1);
}

/* Does @error say that there is no address, or that it is not known? */
bool cmx_watch_gone(int error, bool own_src)
{
	return error == -ENOENT || error == -ENODATA ||
	       (error == -EADDRNOTAVAIL && !own_src);
}

/*
 * The parts of an entry that count. Its source and device do not: they depend
 * on which SA was the first to know a service, and on routes. Without a padding
 * that has a value.
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
	/* To listen on, it is the source. */
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

/* Does the SA's silence hide whether a device reaches it? */
static bool cmx_watch_open(const struct rdma_cmx_entry *e)
{
	return e->error == -ETIMEDOUT || e->error == -EAGAIN ||
	       e->error == -ENOMEM;
}

/*
 * Of a result, or of an error: empty. NULL: no memory. An entry whose state is
 * not known is left out.
 */
struct cmx_watch_set *cmx_watch_set(const struct rdma_cmx_result *res)
{
	u32 i, k, n = IS_ERR(res) ? 0 : res->count;
	struct cmx_watch_set *set;

	set = kvmalloc(struct_size(set, hash, n), GFP_KERNEL);
	if (!set)
		return NULL;
	set->partial = !IS_ERR(res) && res->partial;
	for (i = 0, k = 0; i < n; i++) {
		if (cmx_watch_open(&res->entries[i]))
			set->partial = true;
		else
			set->hash[k++] = cmx_watch_hash(&res->entries[i]);
	}
	n = k;
	sort(set->hash, n, sizeof(set->hash[0]), cmx_watch_cmp, NULL);
	for (i = 0, k = 0; i < n; i++) {
		if (!k || set->hash[k - 1] != set->hash[i])
			set->hash[k++] = set->hash[i];
	}
	set->count = k;
	return set;
}

/*
 * Is @set another one than @old, which is NULL the first time? Of a partial one
 * only what it has counts: what it lacks may still be there.
 */
bool cmx_watch_changed(const struct cmx_watch_set *old,
		       const struct cmx_watch_set *set)
{
	u32 i, k = 0;

	if (!old)
		return true;
	if (!set->partial && old->count != set->count)
		return true;
	for (i = 0; i < set->count; i++) {
		while (k < old->count && old->hash[k] < set->hash[i])
			k++;
		if (k == old->count || old->hash[k] != set->hash[i])
			return true;
	}
	return false;
}
