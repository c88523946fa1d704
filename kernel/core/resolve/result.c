// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds the result: the entries of each destination, best first, then in the
 * order of the resolver. It is one allocation. Process context, no locks.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "resolve/paths.h"

/*
 * The header that rdma_cm of the peer expects before private data in an IP port
 * space (annex A11 of the InfiniBand specification). For IP addresses rdma_cm
 * writes it. IP version 0 means that the addresses are GIDs.
 */
struct cmx_connect_hdr {
	u8 cma_version;
	u8 ip_version;		/* in the upper half */
	__be16 port;
	u8 src[16];
	u8 dst[16];
};

static_assert(sizeof(struct cmx_connect_hdr) == 36);

/* A result under construction. It contains the memory of its entries. */
struct cmx_build {
	const struct cmx_hints *h;
	const struct cmx_dest *dests;
	const struct cmx_paths *paths;
	struct cmx_entry_type types[CMX_ENTRY_TYPES];
	u32 n_types;
	struct rdma_cmx_entry *e;
	struct ib_path_rec_data *recs;
	struct cmx_connect_hdr *connect;
};

/* True for a GID in an IP port space: the caller has to send the header. */
static bool cmx_result_connects(const struct cmx_dest *dest, u32 port_space)
{
	return dest->ib && dest->dst.sa.sa_family == AF_IB &&
	       dest->src.sa.sa_family == AF_IB && port_space != RDMA_PS_IB;
}

static void cmx_result_connect_fill(struct cmx_connect_hdr *hdr,
				    const struct cmx_dest *dest)
{
	memset(hdr, 0, sizeof(*hdr));
	memcpy(hdr->src, &dest->src.ib.sib_addr, sizeof(hdr->src));
	memcpy(hdr->dst, &dest->dst.ib.sib_addr, sizeof(hdr->dst));
}

static void cmx_result_entry_fill(struct cmx_build *b, u32 i,
				  const struct cmx_entry_type *type)
{
	const struct cmx_dest *dest = &b->dests[i];
	const struct cmx_hints *h = b->h;
	struct rdma_cmx_entry *e = b->e++;

	e->flags = h->flags;
	e->family = dest->dst.sa.sa_family ?: dest->src.sa.sa_family;
	e->qp_type = type->qp_type;
	e->port_space = type->port_space;
	e->src = dest->src;
	e->dst = dest->dst;
	/* A source is the address of an RDMA device, or absent. */
	if (!e->src.sa.sa_family ||
	    (e->dst.sa.sa_family && dest->rank != CMX_RANK_RDMA))
		memset(&e->src, 0, sizeof(e->src));
	e->ibdev_index = dest->ibdev_index;
	e->port_num = dest->port_num;
	e->gid_index = dest->port_num ? dest->gid_index : -1;
	e->gid_type = e->gid_index < 0 ? IB_GID_TYPE_IB : dest->gid_type;
	e->route_count = 0;
	e->connect_len = 0;
	e->route = NULL;
	e->connect = NULL;
	if (e->dst.sa.sa_family == AF_IB && !dest->own_sid)
		cmx_addr_set_port(&e->dst, type->port_space, h->port);
	if (cmx_passive(h) && e->src.sa.sa_family == AF_IB && !dest->own_sid)
		cmx_addr_set_port(&e->src, type->port_space, h->port);

	if (b->recs)
		e->route_count = cmx_paths_get(b->paths, i, type->port_space,
					       b->recs);
	if (e->route_count) {
		e->route = b->recs;
		b->recs += e->route_count;
	}
	e->error = dest->error;
	if (!e->error && !e->route_count)
		e->error = cmx_paths_why(b->paths, i, type->port_space);
	if (cmx_result_connects(dest, type->port_space)) {
		cmx_result_connect_fill(b->connect, dest);
		e->connect_len = sizeof(*b->connect);
		e->connect = b->connect++;
	}
}

static void cmx_result_entries_fill(struct cmx_build *b, u32 n)
{
	enum cmx_rank rank;
	u32 i, k;

	for (rank = 0; rank < CMX_RANK_COUNT; rank++) {
		for (i = 0; i < n; i++) {
			if (b->dests[i].rank != rank)
				continue;
			for (k = 0; k < b->n_types; k++)
				cmx_result_entry_fill(b, i, &b->types[k]);
			cond_resched();
		}
	}
}

/* Counts the records and headers of the entries. */
static void cmx_result_count(const struct cmx_build *b, u32 n, u32 *recs,
			     u32 *connects)
{
	u32 i, k, port_space;

	*recs = 0;
	*connects = 0;
	for (i = 0; i < n; i++) {
		for (k = 0; k < b->n_types; k++) {
			port_space = b->types[k].port_space;
			*connects += cmx_result_connects(&b->dests[i],
							 port_space);
			if (b->paths->count)
				*recs += cmx_paths_get(b->paths, i, port_space,
						       NULL);
		}
		cond_resched();
	}
}

static u32 cmx_result_kept(const struct cmx_dest *dests, u32 n)
{
	u32 i, kept = 0;

	for (i = 0; i < n; i++)
		kept += dests[i].rank != CMX_RANK_DROPPED;
	return kept;
}

/*
 * Returns a result with one reference, or an ERR_PTR. A result in the memory of
 * @caller is not put. @caller is NULL after a wait.
 */
struct rdma_cmx_result *cmx_result_build(const struct cmx_hints *h,
					 const struct cmx_candidates *cands,
					 const struct cmx_dest *dests, u32 n,
					 const struct cmx_paths *paths,
					 const struct cmx_caller *caller)
{
	size_t entries, recs, connects, canon_len, size;
	struct cmx_build build CMX_UNINIT;
	u32 count, n_recs, n_connects;
	struct rdma_cmx_result *res;
	char *canon;

	build.h = h;
	build.dests = dests;
	build.paths = paths;
	build.n_types = cmx_entry_types(h, build.types);
	count = cmx_result_kept(dests, n) * build.n_types;
	if (!count && n)
		return ERR_PTR(-ENETUNREACH);
	cmx_result_count(&build, n, &n_recs, &n_connects);
	entries = struct_size(res, entries, count);
	recs = array_size(n_recs, sizeof(*build.recs));
	connects = array_size(n_connects, sizeof(*build.connect));
	canon_len = cands->canon_len ? cands->canon_len + 1 : 0;
	size = size_add(size_add(entries, recs), size_add(connects, canon_len));
	if (caller && caller->room && size <= caller->room_size) {
		res = caller->room;
	} else {
		res = kvmalloc(size, GFP_KERNEL_ACCOUNT);
		if (!res)
			return ERR_PTR(-ENOMEM);
		cmx_stat_inc(live_results);
	}
	kref_init(&res->ref);
	res->count = count;
	res->partial = false;
	res->canonname = NULL;

	build.e = res->entries;
	build.recs = recs ? (void *)res + entries : NULL;
	build.connect = (void *)res + entries + recs;
	cmx_result_entries_fill(&build, n);
	if (canon_len) {
		canon = (char *)res + entries + recs + connects;
		memcpy(canon, cands->canonname, cands->canon_len);
		canon[cands->canon_len] = 0;
		res->canonname = canon;
	}
	return res;
}

static void cmx_result_release(struct kref *ref)
{
	kvfree(container_of(ref, struct rdma_cmx_result, ref));
	cmx_stat_dec(live_results);
}

void rdma_cmx_result_put(struct rdma_cmx_result *result)
{
	if (!IS_ERR_OR_NULL(result))
		kref_put(&result->ref, cmx_result_release);
}
EXPORT_SYMBOL_GPL(rdma_cmx_result_put);
