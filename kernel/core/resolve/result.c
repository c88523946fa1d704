// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Builds the list that comes out: every candidate annotated, the best first,
 * within that in the resolver's own order. It is one piece of memory.
 * Process context, no locks.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "resolve/resolve.h"

/*
 * What rdma_cm of the peer expects in front of private data in an IP port
 * space (annex A11 of the InfiniBand specification). For IP addresses rdma_cm
 * writes it by itself. Version 0 of IP says that the addresses are GIDs.
 */
struct cmx_connect_hdr {
	u8 cma_version;
	u8 ip_version;		/* in the upper half */
	__be16 port;
	u8 src[16];
	u8 dst[16];
};

static_assert(sizeof(struct cmx_connect_hdr) == 36);

/* To listen on: the service at the port that asked, whoever else offers it. */
static void cmx_path_from_own(struct cmx_path *path,
			      const struct cmx_service *s)
{
	struct sockaddr_ib *src = &path->src.ib;

	memset(path, 0, sizeof(*path));
	src->sib_family = AF_IB;
	src->sib_pkey = s->pkey;
	memcpy(&src->sib_addr, &s->sgid, sizeof(s->sgid));
	src->sib_sid = s->id;
	src->sib_sid_mask = cpu_to_be64(~0ULL);
	path->own_sid = true;
	path->rank = CMX_RANK_UNREACHED;
	if (!s->reached)
		return;
	path->rank = CMX_RANK_RDMA;
	path->ibdev_index = s->ibdev_index;
	path->port_num = s->port_num;
}

static void cmx_path_from_service(struct cmx_path *path,
				  const struct cmx_service *s)
{
	struct sockaddr_ib *src = &path->src.ib, *dst = &path->dst.ib;

	memset(path, 0, sizeof(*path));
	dst->sib_family = AF_IB;
	dst->sib_pkey = s->pkey;
	memcpy(&dst->sib_addr, &s->gid, sizeof(s->gid));
	dst->sib_sid = s->id;
	dst->sib_sid_mask = cpu_to_be64(~0ULL);
	path->own_sid = true;
	path->rank = CMX_RANK_UNREACHED;
	if (!s->reached)
		return;

	src->sib_family = AF_IB;
	src->sib_pkey = s->pkey;
	memcpy(&src->sib_addr, &s->sgid, sizeof(s->sgid));
	path->rank = CMX_RANK_RDMA;
	path->ibdev_index = s->ibdev_index;
	path->port_num = s->port_num;
	path->ib = true;
	path->dgid_state = CMX_DGID_KNOWN;
	path->pkey = s->pkey;
	path->sgid = s->sgid;
	path->dgid = s->gid;
}

/*
 * Annotates what is wanted of the candidates, without path records. Returns
 * how many, or -ENOMEM.
 */
int cmx_paths_fill(const struct cmx_hints *h,
		   const struct cmx_candidates *cands, struct cmx_path *paths)
{
	union rdma_cmx_sockaddr addr CMX_UNINIT;
	u32 i, n = 0;
	int ret;

	for (i = 0; i < cands->count; i++) {
		struct cmx_path *path = &paths[n];

		if (cands->services) {
			if (cmx_passive(h))
				cmx_path_from_own(path, &cands->services[i]);
			else
				cmx_path_from_service(path,
						      &cands->services[i]);
			n++;
			continue;
		}
		if (!cmx_candidates_get(h, cands, i, &addr))
			continue;
		path->own_sid = cands->own_sid;
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

/* A result while it is put together; what entries point to is behind them. */
struct cmx_build {
	const struct cmx_hints *h;
	const struct cmx_path *paths;
	const struct cmx_routes *routes;
	struct rdma_cmx_entry *e;
	struct ib_path_rec_data *recs;
	struct cmx_connect_hdr *connect;
};

/* By GID in an IP port space: the caller has to send the header. */
static bool cmx_path_connects(const struct cmx_path *path, u32 port_space)
{
	return path->ib && path->dst.sa.sa_family == AF_IB &&
	       path->src.sa.sa_family == AF_IB && port_space != RDMA_PS_IB;
}

static void cmx_connect_fill(struct cmx_connect_hdr *hdr,
			     const struct cmx_path *path)
{
	memset(hdr, 0, sizeof(*hdr));
	memcpy(hdr->src, &path->src.ib.sib_addr, sizeof(hdr->src));
	memcpy(hdr->dst, &path->dst.ib.sib_addr, sizeof(hdr->dst));
}

static void cmx_entry_fill(struct cmx_build *b, u32 i, u32 qp_type,
			   u32 port_space)
{
	const struct cmx_path *path = &b->paths[i];
	const struct cmx_hints *h = b->h;
	struct rdma_cmx_entry *e = b->e++;

	e->flags = h->flags;
	e->family = path->dst.sa.sa_family ?: path->src.sa.sa_family;
	e->qp_type = qp_type;
	e->port_space = port_space;
	e->src = path->src;
	e->dst = path->dst;
	/* A source is the address of an RDMA device, or it is none. */
	if (!e->src.sa.sa_family ||
	    (e->dst.sa.sa_family && path->rank != CMX_RANK_RDMA))
		memset(&e->src, 0, sizeof(e->src));
	e->ibdev_index = path->ibdev_index;
	e->port_num = path->port_num;
	e->route_count = 0;
	e->connect_len = 0;
	e->route = NULL;
	e->connect = NULL;
	if (e->dst.sa.sa_family == AF_IB && !path->own_sid)
		cmx_addr_set_port(&e->dst, port_space, h->port);
	if (cmx_passive(h) && e->src.sa.sa_family == AF_IB && !path->own_sid)
		cmx_addr_set_port(&e->src, port_space, h->port);

	if (b->recs)
		e->route_count = cmx_routes_get(b->routes, i, port_space,
						b->recs);
	if (e->route_count) {
		e->route = b->recs;
		b->recs += e->route_count;
	}
	if (cmx_path_connects(path, port_space)) {
		cmx_connect_fill(b->connect, path);
		e->connect_len = sizeof(*b->connect);
		e->connect = b->connect++;
	}
}

static void cmx_entries_fill(struct cmx_build *b, u32 n)
{
	enum cmx_rank rank;
	u32 i;

	for (rank = 0; rank < CMX_RANK_COUNT; rank++) {
		for (i = 0; i < n; i++) {
			if (b->paths[i].rank != rank)
				continue;
			if (b->h->qp_type) {
				cmx_entry_fill(b, i, b->h->qp_type,
					       b->h->port_space);
				continue;
			}
			cmx_entry_fill(b, i, IB_QPT_RC, RDMA_PS_TCP);
			cmx_entry_fill(b, i, IB_QPT_UD, RDMA_PS_UDP);
		}
	}
}

static u32 cmx_connect_count(const struct cmx_hints *h,
			     const struct cmx_path *paths, u32 n)
{
	u32 i, count = 0;

	for (i = 0; i < n; i++) {
		if (h->qp_type)
			count += cmx_path_connects(&paths[i], h->port_space);
		else
			count += 2 * cmx_path_connects(&paths[i], RDMA_PS_TCP);
	}
	return count;
}

static u32 cmx_route_count(const struct cmx_hints *h,
			   const struct cmx_routes *routes, u32 n)
{
	u32 i, count = 0;

	for (i = 0; routes->count && i < n; i++) {
		if (h->qp_type) {
			count += cmx_routes_get(routes, i, h->port_space, NULL);
			continue;
		}
		count += cmx_routes_get(routes, i, RDMA_PS_TCP, NULL);
		count += cmx_routes_get(routes, i, RDMA_PS_UDP, NULL);
	}
	return count;
}

/* Returns a result with one reference, or an ERR_PTR. */
struct rdma_cmx_result *cmx_result_build(const struct cmx_hints *h,
					 const struct cmx_candidates *cands,
					 const struct cmx_path *paths, u32 n,
					 const struct cmx_routes *routes)
{
	u32 count = n * cmx_path_types(h);
	struct rdma_cmx_result *res;
	size_t entries, recs, connects, canon_len;
	struct cmx_build build;
	char *canon;

	entries = struct_size(res, entries, count);
	recs = array_size(cmx_route_count(h, routes, n), sizeof(*build.recs));
	connects = array_size(cmx_connect_count(h, paths, n),
			      sizeof(*build.connect));
	canon_len = cands->canon_len ? cands->canon_len + 1 : 0;
	res = kvmalloc(size_add(size_add(entries, recs),
				size_add(connects, canon_len)),
		       GFP_KERNEL_ACCOUNT);
	if (!res)
		return ERR_PTR(-ENOMEM);
	kref_init(&res->ref);
	res->count = count;
	res->canonname = NULL;

	build.h = h;
	build.paths = paths;
	build.routes = routes;
	build.e = res->entries;
	build.recs = recs ? (void *)res + entries : NULL;
	build.connect = (void *)res + entries + recs;
	cmx_entries_fill(&build, n);
	if (canon_len) {
		canon = (char *)res + entries + recs + connects;
		memcpy(canon, cands->canonname, cands->canon_len);
		canon[cands->canon_len] = 0;
		res->canonname = canon;
	}
	cmx_stat_inc(live_results);
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
