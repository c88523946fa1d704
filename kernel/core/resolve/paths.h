/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Path records of a query, and the neighbours that they require */
#ifndef CMX_RESOLVE_PATHS_H
#define CMX_RESOLVE_PATHS_H

#include <linux/list.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "resolve/resolve.h"
#include "sa/requests.h"

struct mem_cgroup;
struct sa_path_rec;

/* State of the first of the paths that require the same neighbour */
enum cmx_lead {
	CMX_LEAD_NONE,		/* not the first, or nothing is outstanding */
	CMX_LEAD_WAITS,		/* pending, or the neighbour is outstanding */
	CMX_LEAD_RESOLVED,	/* the code that resolved it continues */
};

/**
 * struct cmx_path_request - one path of a query
 * @sa: the SA query
 * @dest: index of the destination
 * @port_space: port space of the entry; 0: of all entries
 * @qos: the path may depend on the service
 * @same: index of the next one that requires the same neighbour; 0: the last
 * @leads: the first of those
 * @lead: state of the first one, guarded by the lock of neigh.c
 */
struct cmx_path_request {
	struct cmx_sa_request sa;
	u32 dest;
	u32 port_space;
	bool qos;
	u32 same;
	bool leads;
	u8 lead;
};

/**
 * struct cmx_paths - path records of the candidates
 * @requests: state of the SA queries
 * @h: hints of the query
 * @dests: the destinations
 * @count: number of @req
 * @req: each query with its path; NULL: there are none
 * @memcg: charged for SA queries after a neighbour; the query has a reference
 * @resolved: called when the neighbour of paths was resolved or failed, with
 *	the first of these paths and a share of pending
 * @user: user that waits for neighbours; this and the fields below belong to
 *	neigh.c
 * @next: the first of @req that has not started
 * @neigh_count: outstanding neighbour resolutions
 * @neighs: list of them
 * @wait: in the queries of @user that may start one
 */
struct cmx_paths {
	struct cmx_sa_requests requests;
	const struct cmx_hints *h;
	const struct cmx_dest *dests;
	u32 count;
	struct cmx_path_request *req;
	struct mem_cgroup *memcg;
	void (*resolved)(struct cmx_paths *r, u32 lead, int status,
			 const union ib_gid *dgid);
	struct cmx_user *user;
	u32 next;
	u32 neigh_count;
	struct list_head neighs;
	struct list_head wait;
};

static inline const struct cmx_dest *cmx_path_to(const struct cmx_paths *r,
						 u32 i)
{
	return &r->dests[r->req[i].dest];
}

/* Offset of the DGID of a path record in wire format */
#define CMX_PATH_DGID	8

/* path_query.c */
void cmx_path_set_class(struct sa_path_rec *rec, const struct sockaddr *src,
			u8 tos);
void cmx_path_query(struct cmx_sa_query *q, struct sa_path_rec *rec,
		    sa_family_t family, bool qos,
		    const struct ib_path_rec_data *limit);

/* paths.c */
int cmx_paths_init(struct cmx_paths *r, const struct cmx_hints *h,
		   const struct cmx_dest *dests, u32 n);
bool cmx_paths_cached(struct cmx_paths *r);
int cmx_paths_lead(struct cmx_paths *r);
void cmx_paths_start(struct cmx_paths *r, struct cmx_user *user,
		     struct mem_cgroup *memcg,
		     void (*done)(struct cmx_sa_requests *requests));
void cmx_paths_stop(struct cmx_paths *r);
int cmx_paths_error(const struct cmx_paths *r);
void cmx_paths_rank(const struct cmx_paths *r, struct cmx_dest *dests);
int cmx_paths_why(const struct cmx_paths *r, u32 dest, u32 port_space);
u32 cmx_paths_get(const struct cmx_paths *r, u32 dest, u32 port_space,
		  struct ib_path_rec_data *recs);
void cmx_paths_release(struct cmx_paths *r);

/* neigh.c */
void cmx_neighs_start(struct cmx_paths *r);
void cmx_neighs_kick(const struct cmx_users *users);
void cmx_neighs_stop(struct cmx_paths *r);

#endif /* CMX_RESOLVE_PATHS_H */
