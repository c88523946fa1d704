// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds the list that comes out: every candidate annotated, the best first,
 * within that in the resolver's own order. Process context, no locks.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "core.h"

/* Most questions have no more candidates than fit on the stack. */
#define CMX_FEW 2

/* Annotates what is wanted of the candidates; returns how many, or -ENOMEM. */
static int cmx_paths_fill(const struct cmx_hints *h,
			  const struct cmx_candidates *cands,
			  struct cmx_path *paths)
{
	union rdma_cmx_sockaddr addr CMX_UNINIT;
	u32 i, n = 0;
	int ret;

	for (i = 0; i < cands->count; i++) {
		struct cmx_path *path = &paths[n];

		if (!cmx_candidates_get(h, cands, i, &addr))
			continue;
		if (cmx_passive(h)) {
			path->src = addr;
			memset(&path->dst, 0, sizeof(path->dst));
		} else if (addr.sa.sa_family) {
			path->dst = addr;
			memset(&path->src, 0, sizeof(path->src));
		} else {
			path->src = h->src;
			memset(&path->dst, 0, sizeof(path->dst));
		}
		ret = cmx_route_annotate(h, path);
		if (ret)
			return ret;
		n++;
	}
	return n;
}

static void cmx_entry_fill(const struct cmx_hints *h,
			   const struct cmx_path *path, u32 qp_type,
			   u32 port_space, struct rdma_cmx_entry *e)
{
	e->flags = h->flags;
	e->family = path->dst.sa.sa_family ?: path->src.sa.sa_family;
	e->qp_type = qp_type;
	e->port_space = port_space;
	e->src = path->src;
	e->dst = path->dst;
	if (!e->src.sa.sa_family)
		memset(&e->src, 0, sizeof(e->src));
	e->ibdev_index = path->ibdev_index;
	e->port_num = path->port_num;
	e->route_count = 0;
	e->connect_len = 0;
	e->route = NULL;
	e->connect = NULL;
	if (e->dst.sa.sa_family == AF_IB)
		cmx_addr_set_port(&e->dst, port_space, h->port);
	if (cmx_passive(h) && e->src.sa.sa_family == AF_IB)
		cmx_addr_set_port(&e->src, port_space, h->port);
}

static void cmx_entries_fill(const struct cmx_hints *h,
			     const struct cmx_path *paths, u32 n,
			     struct rdma_cmx_entry *e)
{
	enum cmx_rank rank;
	u32 i;

	for (rank = 0; rank < CMX_RANK_COUNT; rank++) {
		for (i = 0; i < n; i++) {
			if (paths[i].rank != rank)
				continue;
			if (h->qp_type) {
				cmx_entry_fill(h, &paths[i], h->qp_type,
					       h->port_space, e++);
				continue;
			}
			cmx_entry_fill(h, &paths[i], IB_QPT_RC, RDMA_PS_TCP,
				       e++);
			cmx_entry_fill(h, &paths[i], IB_QPT_UD, RDMA_PS_UDP,
				       e++);
		}
	}
}

/* Returns a result with one reference, or an ERR_PTR. */
struct rdma_cmx_result *cmx_result_build(const struct cmx_hints *h,
					 const struct cmx_candidates *cands)
{
	struct cmx_path few[CMX_FEW] CMX_UNINIT, *paths = few;
	struct rdma_cmx_result *res;
	size_t entries, canon_len;
	char *canon;
	u32 count;
	int n;

	if (cands->count > CMX_FEW) {
		paths = kvmalloc_array(cands->count, sizeof(*paths),
				       GFP_KERNEL);
		if (!paths)
			return ERR_PTR(-ENOMEM);
	}
	n = cmx_paths_fill(h, cands, paths);
	if (n < 0) {
		res = ERR_PTR(n);
		goto out;
	}
	count = h->qp_type ? n : 2 * n;

	entries = struct_size(res, entries, count);
	canon_len = cands->canon_len ? cands->canon_len + 1 : 0;
	res = kvmalloc(entries + canon_len, GFP_KERNEL_ACCOUNT);
	if (!res) {
		res = ERR_PTR(-ENOMEM);
		goto out;
	}
	kref_init(&res->ref);
	res->count = count;
	res->canonname = NULL;
	cmx_entries_fill(h, paths, n, res->entries);
	if (canon_len) {
		canon = (char *)res + entries;
		memcpy(canon, cands->canonname, cands->canon_len);
		canon[cands->canon_len] = 0;
		res->canonname = canon;
	}
	cmx_stat_inc(live_results);
out:
	if (paths != few)
		kvfree(paths);
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
