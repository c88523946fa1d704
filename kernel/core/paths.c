// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Path records of the candidates behind an InfiniBand port: one question to
 * the SA for each entry that will come out, all at once. They are what
 * rdma_cm would ask, so that a route can be taken from the cache later.
 *
 * The GID of an IP address comes from ARP or neighbour discovery, if it is
 * not known, before the question. A path that nobody tells is no error: the
 * entry has no route then.
 *
 * Belongs to one query; see ask.c for who may touch what.
 */
#include <linux/if_arp.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_cm_ib.h>

#include "core.h"
#include "sa_wire.h"

/* Paths to one destination; there are several only with LMC above 0. */
#define CMX_MAX_PATHS	4

/* Where the destination and the number of paths are on the wire. */
#define CMX_PATH_DGID	8
#define CMX_PATH_NUMB	49

struct cmx_route_ask {
	struct cmx_ask ask;
	struct cmx_routes *routes;
	const struct cmx_path *to;
	u32 path;		/* index of @to */
	u32 port_space;
	bool resolving;		/* @addr may be under way */
	bool resolved;		/* its callback has run */
	struct rdma_dev_addr addr;
};

/* Fields of a path record that a limit may set, apart from the end points. */
static const struct cmx_limit {
	ib_sa_comp_mask bits;
	u8 at;			/* byte on the wire */
	u8 len;
	u8 first;		/* bits of the first byte that belong to it */
	u8 last;		/* likewise of the last one */
} cmx_limits[] = {
	{ IB_SA_PATH_REC_SERVICE_ID, 0, 8, 0xff, 0xff },
	{ IB_SA_PATH_REC_DLID, 40, 2, 0xff, 0xff },
	{ IB_SA_PATH_REC_SLID, 42, 2, 0xff, 0xff },
	{ IB_SA_PATH_REC_FLOW_LABEL, 44, 3, 0x0f, 0xff },
	{ IB_SA_PATH_REC_HOP_LIMIT, 47, 1, 0xff, 0xff },
	{ IB_SA_PATH_REC_TRAFFIC_CLASS, 48, 1, 0xff, 0xff },
	{ IB_SA_PATH_REC_NUMB_PATH, 49, 1, 0x7f, 0x7f },
	{ IB_SA_PATH_REC_PKEY, 50, 2, 0xff, 0xff },
	{ IB_SA_PATH_REC_QOS_CLASS, 52, 2, 0xff, 0xf0 },
	{ IB_SA_PATH_REC_SL, 53, 1, 0x0f, 0x0f },
	{ IB_SA_PATH_REC_MTU_SELECTOR | IB_SA_PATH_REC_MTU, 54, 1, 0xff, 0xff },
	{ IB_SA_PATH_REC_RATE_SELECTOR | IB_SA_PATH_REC_RATE, 55, 1, 0xff,
	  0xff },
	{ IB_SA_PATH_REC_PACKET_LIFE_TIME_SELECTOR |
	  IB_SA_PATH_REC_PACKET_LIFE_TIME, 56, 1, 0xff, 0xff },
};

/* What a limit says is asked for; a field that is 0 says nothing. */
static void cmx_path_limit(struct cmx_sa_question *q,
			   const struct ib_path_rec_data *limit)
{
	const u8 *want = (const u8 *)limit->path_rec;
	const struct cmx_limit *l;
	u8 field[8];
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(cmx_limits); i++) {
		l = &cmx_limits[i];
		memcpy(field, want + l->at, l->len);
		field[0] &= l->first;
		field[l->len - 1] &= l->last;
		if (!memchr_inv(field, 0, l->len))
			continue;
		q->comp_mask |= (__force __be64)l->bits;
		q->rec[l->at] &= ~l->first;
		q->rec[l->at + l->len - 1] &= ~l->last;
		for (j = 0; j < l->len; j++) {
			if (j && j < l->len - 1)
				q->rec[l->at + j] = 0;
			q->rec[l->at + j] |= field[j];
		}
	}
}

/* What rdma_cm asks, but for all paths. */
static void cmx_path_question(struct cmx_sa_question *q,
			      struct sa_path_rec *rec, sa_family_t family,
			      const struct ib_path_rec_data *limit)
{
	ib_sa_comp_mask mask = IB_SA_PATH_REC_SERVICE_ID |
			       IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
			       IB_SA_PATH_REC_REVERSIBLE |
			       IB_SA_PATH_REC_NUMB_PATH | IB_SA_PATH_REC_PKEY;

	if (family == AF_INET)
		mask |= IB_SA_PATH_REC_QOS_CLASS;
	else
		mask |= IB_SA_PATH_REC_TRAFFIC_CLASS;
	rec->rec_type = SA_PATH_REC_TYPE_IB;
	rec->reversible = 1;
	rec->numb_path = CMX_MAX_PATHS;

	memset(q, 0, sizeof(*q));
	q->attr_id = cpu_to_be16(IB_SA_ATTR_PATH_REC);
	q->method = IB_SA_METHOD_GET_TABLE;
	q->rec_len = CMX_SA_PATH_REC_SIZE;
	q->comp_mask = (__force __be64)mask;
	ib_sa_pack_path(rec, q->rec);
	if (limit)
		cmx_path_limit(q, limit);
}

static void cmx_path_rec_init(const struct cmx_hints *h,
			      const struct cmx_path *to, u32 port_space,
			      struct sa_path_rec *rec)
{
	memset(rec, 0, sizeof(*rec));
	rec->sgid = to->sgid;
	if (to->dgid_state == CMX_DGID_KNOWN)
		rec->dgid = to->dgid;
	else if (to->dgid_state == CMX_DGID_SELF)
		rec->dgid = to->sgid;
	rec->pkey = to->pkey;
	if (to->own_sid)
		rec->service_id = to->dst.ib.sib_sid;
	else
		rec->service_id = cpu_to_be64(((u64)port_space << 16) +
					      h->port);
}

/* Do the end points of a limit fit, as far as they are known? */
static bool cmx_path_limit_fits(const struct ib_path_rec_data *limit,
				const struct cmx_path *to,
				const union ib_gid *dgid)
{
	const u8 *want = (const u8 *)limit->path_rec + CMX_PATH_DGID;

	if (dgid && memchr_inv(want, 0, sizeof(*dgid)) &&
	    memcmp(want, dgid, sizeof(*dgid)))
		return false;
	want += sizeof(*dgid);
	return !memchr_inv(want, 0, sizeof(to->sgid)) ||
	       !memcmp(want, &to->sgid, sizeof(to->sgid));
}

static bool cmx_path_wanted(const struct cmx_hints *h,
			    const struct cmx_path *to)
{
	return to->ib && to->rank == CMX_RANK_RDMA && to->dst.sa.sa_family &&
	       to->dgid_state != CMX_DGID_NONE &&
	       !(h->flags & RDMA_CMX_AI_NOROUTE);
}

static void cmx_route_add(struct cmx_routes *r, const struct cmx_path *paths,
			  u32 path, u32 port_space,
			  const struct ib_path_rec_data *limit)
{
	struct cmx_route_ask *ra = &r->ask[r->count];
	const struct cmx_path *to = &paths[path];
	struct sa_path_rec rec;

	cmx_path_rec_init(r->h, to, port_space, &rec);
	if (limit && !cmx_path_limit_fits(limit, to,
					  to->dgid_state == CMX_DGID_ASK ?
					  NULL : &rec.dgid))
		return;
	ra->to = to;
	ra->path = path;
	ra->port_space = port_space;
	ra->ask.port = cmx_device_sa_port(to->ibdev_index, to->port_num);
	cmx_path_question(&ra->ask.question, &rec, to->dst.sa.sa_family,
			  limit);
	if (limit && to->dgid_state == CMX_DGID_ASK)
		/* Kept for the comparison to come. */
		memcpy(ra->ask.question.rec + CMX_PATH_DGID,
		       (const u8 *)limit->path_rec + CMX_PATH_DGID,
		       sizeof(to->dgid));
	r->count++;
}

/*
 * Prepares the questions, of which there may be none. @paths have to stay.
 * Returns 0 or -ENOMEM.
 */
int cmx_routes_init(struct cmx_routes *r, const struct cmx_hints *h,
		    const struct cmx_path *paths, u32 n)
{
	u32 limits = max(h->limit_count, 1u);
	u32 i, j, wanted = 0;

	r->h = h;
	r->count = 0;
	r->ask = NULL;
	for (i = 0; i < n; i++)
		wanted += cmx_path_wanted(h, &paths[i]);
	if (!wanted)
		return 0;
	wanted *= limits * cmx_path_types(h);
	r->ask = kvcalloc(wanted, sizeof(*r->ask), GFP_KERNEL_ACCOUNT);
	if (!r->ask)
		return -ENOMEM;

	for (i = 0; i < n; i++) {
		if (!cmx_path_wanted(h, &paths[i]))
			continue;
		for (j = 0; j < limits; j++) {
			const struct ib_path_rec_data *limit =
				h->limit_count ? &h->limits[j] : NULL;

			if (h->qp_type) {
				cmx_route_add(r, paths, i, h->port_space,
					      limit);
				continue;
			}
			cmx_route_add(r, paths, i, RDMA_PS_TCP, limit);
			cmx_route_add(r, paths, i, RDMA_PS_UDP, limit);
		}
	}
	return 0;
}

/* True if nobody has to be asked. */
bool cmx_routes_cached(struct cmx_routes *r)
{
	u32 i;

	for (i = 0; i < r->count; i++) {
		if (r->ask[i].to->dgid_state == CMX_DGID_ASK ||
		    !cmx_ask_cached(&r->ask[i].ask, r->h->net))
			return false;
	}
	return true;
}

static void cmx_route_resolved(int status, struct sockaddr *src,
			       struct rdma_dev_addr *addr, void *context)
{
	struct cmx_route_ask *ra = context;
	struct cmx_ask *ask = &ra->ask;
	union ib_gid *want = (void *)(ask->question.rec + CMX_PATH_DGID);
	union ib_gid dgid;

	ra->resolved = true;
	if (!status && addr->dev_type != ARPHRD_INFINIBAND)
		status = -ENODEV;
	if (!status) {
		rdma_addr_get_dgid(addr, &dgid);
		if (memchr_inv(want, 0, sizeof(*want)) &&
		    memcmp(want, &dgid, sizeof(dgid)))
			status = -ENOENT;
	}
	if (status) {
		ask->error = status;
		cmx_asks_put(ask->asks);
		return;
	}
	memcpy(want, &dgid, sizeof(dgid));
	cmx_ask_start(ask, ra->routes->h);
}

static void cmx_route_resolve(struct cmx_route_ask *ra, unsigned int timeout_ms)
{
	union rdma_cmx_sockaddr src = ra->to->src, dst = ra->to->dst;
	int ret;

	ra->addr.net = ra->routes->h->net;
	if (cmx_addr_is_link_local(&dst))
		ra->addr.bound_dev_if = dst.in6.sin6_scope_id;
	ra->resolving = true;
	ret = rdma_resolve_ip(src.sa.sa_family ? &src.sa : NULL, &dst.sa,
			      &ra->addr, timeout_ms, cmx_route_resolved, false,
			      ra);
	if (ret) {
		ra->resolving = false;
		ra->ask.error = ret;
		cmx_asks_put(ra->ask.asks);
	}
}

/* @done comes once, maybe before this returns. */
void cmx_routes_start(struct cmx_routes *r, unsigned int timeout_ms,
		      void (*done)(struct cmx_asks *asks))
{
	struct cmx_route_ask *ra;
	u32 i;

	cmx_asks_begin(&r->asks, done);
	for (i = 0; i < r->count && !r->asks.stopped; i++) {
		ra = &r->ask[i];
		atomic_inc(&r->asks.pending);
		ra->ask.asks = &r->asks;
		ra->routes = r;
		if (ra->to->dgid_state == CMX_DGID_ASK)
			cmx_route_resolve(ra, timeout_ms);
		else
			cmx_ask_start(&ra->ask, r->h);
	}
	cmx_asks_end(&r->asks);
}

static void cmx_route_stop(struct cmx_route_ask *ra)
{
	if (ra->resolving) {
		/*
		 * Twice: a request is found by its address, and one that is
		 * just through, and had the same address, may be in the way.
		 * There is at most one, since they are worked off in order.
		 */
		rdma_addr_cancel(&ra->addr);
		rdma_addr_cancel(&ra->addr);
		if (!ra->resolved) {
			ra->ask.error = -ETIMEDOUT;
			cmx_asks_put(ra->ask.asks);
			return;
		}
	}
	cmx_ask_stop(&ra->ask);
}

void cmx_routes_stop(struct cmx_routes *r)
{
	u32 i;

	if (!cmx_asks_stop(&r->asks))
		return;
	for (i = 0; i < r->count; i++)
		cmx_route_stop(&r->ask[i]);
}

/* That nobody knows the way is an answer, no memory to ask is not. */
int cmx_routes_error(const struct cmx_routes *r)
{
	u32 i;

	for (i = 0; i < r->count; i++) {
		if (r->ask[i].ask.error == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* Did the SA say that there is no way there? */
static bool cmx_route_denied(const struct cmx_ask *ask)
{
	return ask->answer ? !ask->answer->count : ask->error == -ECONNREFUSED;
}

/* A GID that no path leads to is unreachable, if any path would do. */
void cmx_routes_rank(const struct cmx_routes *r, struct cmx_path *paths)
{
	struct cmx_path *path;
	u32 i;

	for (i = 0; i < r->count && !r->h->limit_count; i++) {
		path = &paths[r->ask[i].path];
		if (path->dst.sa.sa_family != AF_IB ||
		    !cmx_route_denied(&r->ask[i].ask))
			continue;
		path->rank = CMX_RANK_UNREACHED;
		path->src.sa.sa_family = 0;
		path->port_num = 0;
	}
}

/* An SA may not tell more paths than it was asked for. */
static u32 cmx_route_max(const struct cmx_ask *ask)
{
	return ask->question.rec[CMX_PATH_NUMB] & 0x7f;
}

/* Writes the records of one entry, or counts them if @recs is NULL. */
u32 cmx_routes_get(const struct cmx_routes *r, u32 path, u32 port_space,
		   struct ib_path_rec_data *recs)
{
	const struct cmx_route_ask *ra;
	const u8 *rec;
	u32 i, j, n = 0, end;

	for (i = 0; i < r->count; i++) {
		ra = &r->ask[i];
		if (ra->path != path || ra->port_space != port_space ||
		    !ra->ask.answer)
			continue;
		end = n + cmx_route_max(&ra->ask);
		for (j = 0; j < ra->ask.answer->count && n < end; j++) {
			rec = cmx_sa_answer_rec(ra->ask.answer, j);
			/* Not what was asked for? */
			if (memcmp(rec + CMX_PATH_DGID,
				   ra->ask.question.rec + CMX_PATH_DGID,
				   sizeof(union ib_gid)))
				continue;
			if (recs) {
				recs[n].flags = IB_PATH_BIDIRECTIONAL |
						(n ? IB_PATH_ALTERNATE :
						 IB_PATH_GMP | IB_PATH_PRIMARY);
				recs[n].reserved = 0;
				memcpy(recs[n].path_rec, rec,
				       sizeof(recs[n].path_rec));
			}
			n++;
		}
	}
	return n;
}

void cmx_routes_release(struct cmx_routes *r)
{
	u32 i;

	for (i = 0; i < r->count; i++)
		cmx_ask_release(&r->ask[i].ask);
	kvfree(r->ask);
	r->ask = NULL;
	r->count = 0;
}

static u8 cmx_addr_traffic_class(const struct sockaddr *addr)
{
	switch (addr->sa_family) {
	case AF_INET6:
		return be32_to_cpu(((const struct sockaddr_in6 *)
				    addr)->sin6_flowinfo) >> 20;
	case AF_IB:
		return be32_to_cpu(((const struct sockaddr_ib *)
				    addr)->sib_flowinfo) >> 20;
	default:
		return 0;
	}
}

int rdma_cmx_set_cached_path(struct rdma_cm_id *id)
{
	struct rdma_addr *addr = &id->route.addr;
	struct sa_path_rec rec = {};
	struct cmx_sa_answer *answer;
	struct cmx_sa_question q CMX_UNINIT;
	struct cmx_sa_port *port;
	u8 wire[CMX_SA_PATH_REC_SIZE] __aligned(8);
	int ret;

	if (!id->device || !rdma_cap_ib_sa(id->device, id->port_num) ||
	    rdma_cap_opa_ah(id->device, id->port_num))
		return -EOPNOTSUPP;
	/* Left by a failed rdma_resolve_route(): rdma_cm would lose it. */
	if (id->route.path_rec)
		return -ENOENT;
	rdma_addr_get_sgid(&addr->dev_addr, &rec.sgid);
	rdma_addr_get_dgid(&addr->dev_addr, &rec.dgid);
	rec.pkey = cpu_to_be16(ib_addr_get_pkey(&addr->dev_addr));
	rec.service_id = rdma_get_service_id(id, (struct sockaddr *)
					     &addr->dst_addr);
	rec.traffic_class = cmx_addr_traffic_class((struct sockaddr *)
						   &addr->src_addr);
	cmx_path_question(&q, &rec, addr->src_addr.ss_family, NULL);

	port = cmx_sa_port_get(id->device, id->port_num);
	if (!port)
		return -ENODEV;
	ret = cmx_sa_cached(port, addr->dev_addr.net, &q, &answer);
	cmx_sa_port_put(port);
	if (ret)
		return -ENOENT;
	ret = -ENOENT;
	if (answer->count) {
		memcpy(wire, cmx_sa_answer_rec(answer, 0), sizeof(wire));
		if (!memcmp(wire + CMX_PATH_DGID, q.rec + CMX_PATH_DGID,
			    sizeof(rec.dgid))) {
			memset(&rec, 0, sizeof(rec));
			rec.rec_type = SA_PATH_REC_TYPE_IB;
			ib_sa_unpack_path(wire, &rec);
			ret = rdma_set_ib_path(id, &rec);
		}
	}
	cmx_sa_answer_put(answer);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_set_cached_path);
