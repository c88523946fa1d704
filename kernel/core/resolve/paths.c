// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Path records of the candidates on InfiniBand ports: one SA query for each
 * entry of the result, all in parallel. They equal the queries of rdma_cm, so
 * that a route can be taken from the cache later. An SA without QoS ignores the
 * service, so all entries of an address, and all services of a node, share one
 * query then.
 *
 * ARP or neighbour discovery (neigh.c) resolves the GID of an IP address before
 * the query, unless it is known. A missing path record is no error: the entry
 * then has no route.
 *
 * Belongs to one query; sa/requests.c lists who may access which field.
 */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_sa.h>

#include "resolve/paths.h"
#include "sa/wire.h"

/* Port space of a path that is independent of it */
#define CMX_PATH_ANY_SPACE	0

/* Offset of NumbPath in wire format */
#define CMX_PATH_NUMB	49

/* As rdma_cm has it in its query. SRV records give each address a port. */
static u16 cmx_path_port(const struct cmx_hints *h, const struct cmx_dest *to)
{
	switch (to->dst.sa.sa_family) {
	case AF_INET:
		return ntohs(to->dst.in.sin_port);
	case AF_INET6:
		return ntohs(to->dst.in6.sin6_port);
	default:
		return h->port;
	}
}

static void cmx_path_rec_init(const struct cmx_hints *h,
			      const struct cmx_dest *to, u32 port_space,
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
					      cmx_path_port(h, to));
	cmx_path_set_class(rec, &to->src.sa, h->tos);
}

/* True if the end points of a limit match, as far as they are known */
static bool cmx_path_limit_fits(const struct ib_path_rec_data *limit,
				const struct cmx_dest *to,
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

/* True if the entries of @to should have path records */
static bool cmx_path_expected(const struct cmx_hints *h,
			      const struct cmx_dest *to)
{
	return to->ib && to->rank == CMX_RANK_RDMA && to->dst.sa.sa_family &&
	       !(h->flags & RDMA_CMX_AI_NOROUTE);
}

static bool cmx_path_wanted(const struct cmx_hints *h,
			    const struct cmx_dest *to)
{
	return cmx_path_expected(h, to) && to->dgid_state != CMX_DGID_NONE;
}

/* Sets the port of @to. A query looks up each port once. */
static void cmx_path_set_port(const struct cmx_paths *r,
			      struct cmx_path_request *pr,
			      const struct cmx_dest *to)
{
	const struct cmx_dest *other;
	u32 i;

	/* At most one request for each port of the host passes this. */
	for (i = r->count; i-- > 0;) {
		other = cmx_path_to(r, i);
		if (other->ibdev_index != to->ibdev_index ||
		    other->port_num != to->port_num)
			continue;
		pr->sa.port = r->req[i].sa.port;
		pr->qos = r->req[i].qos;
		if (pr->sa.port)
			cmx_sa_port_hold(pr->sa.port);
		return;
	}
	pr->sa.port = cmx_sa_port_find(to->ibdev_index, to->port_num);
	if (pr->sa.port && !cmx_hints_check_port(r->h, pr->sa.port)) {
		cmx_sa_port_put(pr->sa.port);
		pr->sa.port = NULL;
	}
	pr->qos = !pr->sa.port || cmx_sa_has_qos(pr->sa.port);
}

/* Returns true if no other entry of this path needs another query. */
static bool cmx_path_add(struct cmx_paths *r, u32 dest, u32 port_space,
			 const struct ib_path_rec_data *limit)
{
	struct cmx_path_request *pr = &r->req[r->count];
	const struct cmx_dest *to = &r->dests[dest];
	const union ib_gid *dgid = NULL;
	struct sa_path_rec rec;

	cmx_path_rec_init(r->h, to, port_space, &rec);
	if (to->dgid_state != CMX_DGID_UNRESOLVED)
		dgid = &rec.dgid;
	if (limit && !cmx_path_limit_fits(limit, to, dgid))
		return true;
	pr->dest = dest;
	pr->sa.refresh = r->h->refresh;
	cmx_path_set_port(r, pr, to);
	pr->port_space = pr->qos ? port_space : CMX_PATH_ANY_SPACE;
	cmx_path_query(&pr->sa.query, &rec, to->dst.sa.sa_family, pr->qos,
		       limit);
	if (limit && !dgid)
		/* For the comparison later */
		memcpy(pr->sa.query.rec + CMX_PATH_DGID,
		       (const u8 *)limit->path_rec + CMX_PATH_DGID,
		       sizeof(to->dgid));
	r->count++;
	return !pr->qos;
}

/*
 * Prepares the queries; there may be none. @dests must stay valid. Returns 0 or
 * -ENOMEM.
 */
int cmx_paths_init(struct cmx_paths *r, const struct cmx_hints *h,
		   const struct cmx_dest *dests, u32 n)
{
	struct cmx_entry_type types[CMX_ENTRY_TYPES];
	u32 n_types = cmx_entry_types(h, types);
	u32 limits = max(h->limit_count, 1u);
	u32 i, j, k, wanted = 0;

	r->h = h;
	r->dests = dests;
	r->count = 0;
	r->req = NULL;
	r->user = NULL;
	for (i = 0; i < n; i++)
		wanted += cmx_path_wanted(h, &dests[i]);
	if (!wanted)
		return 0;
	wanted *= limits * n_types;
	r->req = kvcalloc(wanted, sizeof(*r->req), GFP_KERNEL_ACCOUNT);
	if (!r->req)
		return -ENOMEM;

	for (i = 0; i < n; i++) {
		if (!cmx_path_wanted(h, &dests[i]))
			continue;
		for (j = 0; j < limits; j++) {
			const struct ib_path_rec_data *limit =
				h->limit_count ? &h->limits[j] : NULL;

			for (k = 0; k < n_types; k++) {
				if (cmx_path_add(r, i, types[k].port_space,
						 limit))
					break;
			}
		}
		cond_resched();
	}
	return 0;
}

/* True if the cache has all path records */
bool cmx_paths_cached(struct cmx_paths *r)
{
	u32 i;

	for (i = 0; i < r->count; i++) {
		if (cmx_path_to(r, i)->dgid_state == CMX_DGID_UNRESOLVED ||
		    !cmx_sa_request_cached(&r->req[i].sa, r->h->net))
			return false;
		cond_resched();
	}
	return true;
}

/* By destination and source, then by index */
static int cmx_path_compare(const void *a, const void *b, const void *paths)
{
	const struct cmx_paths *r = paths;
	u32 i = *(const u32 *)a, j = *(const u32 *)b;
	const struct cmx_dest *p = cmx_path_to(r, i), *q = cmx_path_to(r, j);

	return memcmp(&p->dst, &q->dst, sizeof(p->dst)) ?:
	       memcmp(&p->src, &q->src, sizeof(p->src)) ?:
	       (i < j ? -1 : 1);
}

static bool cmx_path_same(const struct cmx_paths *r, u32 i, u32 j)
{
	const struct cmx_dest *p = cmx_path_to(r, i), *q = cmx_path_to(r, j);

	return !memcmp(&p->dst, &q->dst, sizeof(p->dst)) &&
	       !memcmp(&p->src, &q->src, sizeof(p->src));
}

/* Links the paths to one address, from @i on. Returns the last index. */
static u32 cmx_path_link(struct cmx_paths *r, u32 i)
{
	while (i + 1 < r->count && r->req[i + 1].dest == r->req[i].dest) {
		r->req[i].same = i + 1;
		i++;
	}
	return i;
}

/*
 * Groups the paths that require the same neighbour. The order of the addresses
 * is kept: the first of equal ones leads.
 */
int cmx_paths_lead(struct cmx_paths *r)
{
	u32 *first, i, end = 0, n = 0;

	first = kvmalloc_array(r->count, sizeof(*first), GFP_KERNEL_ACCOUNT);
	if (!first)
		return -ENOMEM;
	for (i = 0; i < r->count; i++) {
		if (cmx_path_to(r, i)->dgid_state == CMX_DGID_UNRESOLVED &&
		    (!i || r->req[i].dest != r->req[i - 1].dest))
			first[n++] = i;
	}
	sort_r(first, n, sizeof(*first), cmx_path_compare, NULL, r);
	for (i = 0; i < n; i++) {
		if (i && cmx_path_same(r, first[i - 1], first[i]))
			r->req[end].same = first[i];
		else
			r->req[first[i]].leads = true;
		end = cmx_path_link(r, first[i]);
	}
	kvfree(first);
	return 0;
}

/* The neighbour of @pr has @dgid, or @status is its error. */
static void cmx_path_resolved(struct cmx_paths *r, struct cmx_path_request *pr,
			      int status, const union ib_gid *dgid)
{
	union ib_gid *want = (void *)(pr->sa.query.rec + CMX_PATH_DGID);

	if (!status && memchr_inv(want, 0, sizeof(*want)) &&
	    memcmp(want, dgid, sizeof(*dgid)))
		status = -ENOENT;
	if (status) {
		pr->sa.error = status;
		cmx_sa_requests_put(&r->requests);
		return;
	}
	memcpy(want, dgid, sizeof(*dgid));
	cmx_sa_request_start(&pr->sa, r->h->net, r->h->uid);
}

static void cmx_paths_follow(struct cmx_paths *r, u32 lead, int status,
			     const union ib_gid *dgid)
{
	struct cmx_path_request *pr;
	u32 i = lead;

	do {
		pr = &r->req[i];
		i = pr->same;
		cmx_path_resolved(r, pr, status, dgid);
		cond_resched();
	} while (i);
}

/* The neighbour of @lead was resolved or failed. Drops a share of pending. */
static void cmx_paths_resolved(struct cmx_paths *r, u32 lead, int status,
			       const union ib_gid *dgid)
{
	struct mem_cgroup *old = set_active_memcg(r->memcg);

	cmx_sa_requests_enter(&r->requests);
	cmx_paths_follow(r, lead, status, dgid);
	set_active_memcg(old);
	cmx_sa_requests_end(&r->requests);
}

static void cmx_paths_stopped(struct cmx_sa_requests *requests)
{
	cmx_paths_stop(container_of(requests, struct cmx_paths, requests));
}

/*
 * Calls @done once, possibly before it returns. After cmx_paths_lead(), on
 * behalf of @user. @memcg must stay valid until @done is called.
 */
void cmx_paths_start(struct cmx_paths *r, struct cmx_user *user,
		     struct mem_cgroup *memcg,
		     void (*done)(struct cmx_sa_requests *requests))
{
	const struct cmx_users *users = NULL;
	struct cmx_path_request *pr;
	bool leads = false;
	u32 i, count;
	u8 state;

	cmx_sa_requests_begin(&r->requests, r->h->uid, done,
			      cmx_paths_stopped);
	/*
	 * All of them count, or none: cmx_paths_follow() drops those that wait
	 * for one lead. After a stop the others start no query.
	 */
	count = READ_ONCE(r->requests.stopped) ? 0 : r->count;
	for (i = 0; i < count; i++) {
		pr = &r->req[i];
		state = cmx_path_to(r, i)->dgid_state;
		atomic_inc(&r->requests.pending);
		pr->sa.requests = &r->requests;
		if (pr->leads) {
			pr->lead = CMX_LEAD_WAITS;
			leads = true;
		} else if (state != CMX_DGID_UNRESOLVED) {
			cmx_sa_request_start(&pr->sa, r->h->net, r->h->uid);
		}
		cond_resched();
	}
	if (leads) {
		r->memcg = memcg;
		r->resolved = cmx_paths_resolved;
		r->user = user;
		users = user->users;
		cmx_neighs_start(r);
	}
	/* Then @r and @user may be free. */
	cmx_sa_requests_end(&r->requests);
	if (users)
		cmx_neighs_kick(users);
}

/* Does not wait for a start, which executes the stop itself. */
void cmx_paths_stop(struct cmx_paths *r)
{
	struct cmx_path_request *pr;
	u32 i;

	if (!cmx_sa_requests_stop(&r->requests))
		return;
	if (r->user)
		cmx_neighs_stop(r);
	for (i = 0; i < r->count; i++) {
		pr = &r->req[i];
		if (pr->lead == CMX_LEAD_WAITS)
			cmx_paths_follow(r, i, -ETIMEDOUT, NULL);
		else
			cmx_sa_request_stop(&pr->sa);
		cond_resched();
	}
	cmx_sa_requests_put(&r->requests);
}

/* A missing path is a result, lack of memory an error. */
int cmx_paths_error(const struct cmx_paths *r)
{
	u32 i;

	for (i = 0; i < r->count; i++) {
		if (r->req[i].sa.error == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* True if the SA reports that there is no path */
static bool cmx_path_denied(const struct cmx_sa_request *request)
{
	if (request->response)
		return !request->response->count;
	return request->error == -ECONNREFUSED;
}

/* A GID without a path is unreachable, if the query accepts any path. */
void cmx_paths_rank(const struct cmx_paths *r, struct cmx_dest *dests)
{
	struct cmx_dest *dest;
	u32 i;

	for (i = 0; i < r->count && !r->h->limit_count; i++) {
		dest = &dests[r->req[i].dest];
		if (dest->dst.sa.sa_family != AF_IB ||
		    !cmx_path_denied(&r->req[i].sa))
			continue;
		dest->rank = r->h->by_dev ? CMX_RANK_DROPPED :
					    CMX_RANK_UNREACHED;
		dest->error = r->req[i].sa.error ?: -ENOENT;
		dest->src.sa.sa_family = 0;
		dest->port_num = 0;
	}
}

/* An SA may not send more paths than NumbPath. */
static u32 cmx_path_max(const struct cmx_sa_request *request)
{
	return request->query.rec[CMX_PATH_NUMB] & 0x7f;
}

/* The first request of a destination; they are in the order of destinations. */
static u32 cmx_paths_first(const struct cmx_paths *r, u32 dest)
{
	u32 low = 0, high = r->count, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (r->req[mid].dest < dest)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The error of a request without a record */
static int cmx_path_why(const struct cmx_sa_request *request)
{
	/* Paths that lead elsewhere are ignored. */
	if (request->response)
		return -ENOENT;
	/* The deadline has passed before the query was sent. */
	if (!request->error || request->error == -EINPROGRESS)
		return -ETIMEDOUT;
	return request->error;
}

/* The error of an entry without records: 0 if it needs none */
int cmx_paths_why(const struct cmx_paths *r, u32 dest, u32 port_space)
{
	const struct cmx_dest *to = &r->dests[dest];
	const struct cmx_path_request *pr;
	u32 i;

	if (!cmx_path_expected(r->h, to))
		return 0;
	if (to->dgid_state == CMX_DGID_NONE)
		return -EOPNOTSUPP;
	for (i = cmx_paths_first(r, dest);
	     i < r->count && r->req[i].dest == dest; i++) {
		pr = &r->req[i];
		if (pr->port_space == CMX_PATH_ANY_SPACE ||
		    pr->port_space == port_space)
			return cmx_path_why(&pr->sa);
	}
	/* No limit matches its end points. */
	return -ENOENT;
}

/* Writes the records of one entry, or counts them if @recs is NULL. */
u32 cmx_paths_get(const struct cmx_paths *r, u32 dest, u32 port_space,
		  struct ib_path_rec_data *recs)
{
	const struct cmx_path_request *pr;
	u32 i, j, n = 0, max;
	const u8 *rec;

	for (i = cmx_paths_first(r, dest);
	     i < r->count && r->req[i].dest == dest; i++) {
		pr = &r->req[i];
		if ((pr->port_space != CMX_PATH_ANY_SPACE &&
		     pr->port_space != port_space) || !pr->sa.response)
			continue;
		/* The SA may return no more. Others are not searched, either. */
		max = min(pr->sa.response->count, cmx_path_max(&pr->sa));
		for (j = 0; j < max; j++) {
			rec = cmx_sa_response_rec(pr->sa.response, j);
			/* It leads elsewhere. */
			if (memcmp(rec + CMX_PATH_DGID,
				   pr->sa.query.rec + CMX_PATH_DGID,
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

void cmx_paths_release(struct cmx_paths *r)
{
	u32 i;

	if (!r->count && !r->req)
		return;
	for (i = 0; i < r->count; i++) {
		cmx_sa_request_release(&r->req[i].sa);
		cond_resched();
	}
	kvfree(r->req);
	r->req = NULL;
	r->count = 0;
}
