// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What is known without asking anybody: numbers, cached names, services and
 * paths. In rdma_cmx_resolve() they do not become a query (query.c) but are
 * answered on the spot. No state, process context.
 */
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "resolve/resolve.h"
#include "resolve/trace.h"

/* Most queries have no more candidates than fit on the stack. */
#define CMX_FEW 2

/*
 * First part of a query: everything that goes without a service. Returns 0
 * with @cands filled, CMX_NEEDS_*, or how it fails at once.
 */
int cmx_resolve_local(const struct rdma_cmx_query_attr *attr,
		      struct cmx_hints *h, struct cmx_candidates *cands)
{
	int ret;

	ret = cmx_hints_init(h, attr);
	if (ret)
		return ret;
	if (attr->flags & RDMA_CMX_AI_SA)
		return CMX_NEEDS_SERVICES;
	if (!attr->node)
		return cmx_candidates_local(h, cands);

	ret = cmx_numeric_parse(h, attr->node, &cands->fixed[0]);
	if (ret < 0)
		return ret;
	if (ret) {
		cands->count = 1;
		cands->own_sid = false;
		cands->names = NULL;
		cands->services = NULL;
		cands->canonname = attr->node;
		cands->canon_len = strlen(attr->node);
		return 0;
	}
	if (attr->flags & RDMA_CMX_AI_NUMERICHOST)
		return -ENOENT;
	if (!attr->names && !attr->names_later) {
		if (attr->no_names)
			return -ENOKEY;
		if (!net_eq(attr->net, &init_net))
			return -EOPNOTSUPP;
	}
	return CMX_NEEDS_NAMES;
}

/*
 * Second part: names that the caller brought or that are in the cache.
 * -EINPROGRESS: somebody has to be asked.
 */
int cmx_resolve_known_names(const struct rdma_cmx_query_attr *attr,
			    struct cmx_answer *answer)
{
	if (attr->names) {
		cmx_stat_inc(names_given);
		return cmx_answer_copy(answer, attr->names, attr->names_len);
	}
	if (attr->names_later)
		return -EINPROGRESS;
	if (!cmx_name_valid(attr->node))
		return -ENOENT;
	return cmx_names_cached(attr->node, answer);
}

void cmx_count_done(const void *query, struct rdma_cmx_result *res)
{
	if (IS_ERR(res)) {
		cmx_stat_inc(failed);
		if (PTR_ERR(res) == -ETIMEDOUT)
			cmx_stat_inc(timeouts);
		trace_cmx_query_done(query, PTR_ERR(res), 0);
	} else {
		cmx_stat_inc(completed);
		trace_cmx_query_done(query, 0, res->count);
	}
}

int rdma_cmx_query_check(const struct rdma_cmx_query_attr *attr)
{
	struct cmx_candidates cands;
	struct cmx_hints hints;
	int ret;

	ret = cmx_resolve_local(attr, &hints, &cands);
	return min(ret, 0);
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_check);

/* The functions below return NULL if somebody has to be asked. */

static struct rdma_cmx_result *
cmx_resolve_paths(const struct cmx_hints *h, const struct cmx_candidates *cands)
{
	struct cmx_dest few[CMX_FEW] CMX_UNINIT, *dests = few;
	struct rdma_cmx_result *res = NULL;
	struct cmx_paths paths;
	int n, ret;

	if (cands->count > CMX_FEW) {
		dests = kvmalloc_array(cands->count, sizeof(*dests),
				       GFP_KERNEL);
		if (!dests)
			return ERR_PTR(-ENOMEM);
	}
	n = cmx_dests_fill(h, cands, dests);
	if (n < 0) {
		res = ERR_PTR(n);
		goto out;
	}
	ret = cmx_paths_init(&paths, h, dests, n);
	if (ret) {
		res = ERR_PTR(ret);
		goto out;
	}
	if (cmx_paths_cached(&paths)) {
		cmx_paths_rank(&paths, dests);
		res = cmx_result_build(h, cands, dests, n, &paths);
	}
	cmx_paths_release(&paths);
out:
	if (dests != few)
		kvfree(dests);
	return res;
}

static struct rdma_cmx_result *
cmx_resolve_names(const struct rdma_cmx_query_attr *attr,
		  const struct cmx_hints *h)
{
	struct cmx_answer answer = {};
	struct cmx_candidates cands CMX_UNINIT;
	struct rdma_cmx_result *res;
	int ret;

	ret = cmx_resolve_known_names(attr, &answer);
	if (ret == -EINPROGRESS)
		return NULL;
	if (!ret)
		ret = cmx_candidates_names(h, answer.names, &cands);
	res = ret ? ERR_PTR(ret) : cmx_resolve_paths(h, &cands);
	cmx_answer_release(&answer);
	return res;
}

static struct rdma_cmx_result *
cmx_resolve_services(const struct rdma_cmx_query_attr *attr,
		     const struct cmx_hints *h)
{
	struct cmx_services services = {};
	struct cmx_candidates cands;
	struct rdma_cmx_result *res = NULL;
	int ret;

	ret = cmx_services_init(&services, h, attr);
	if (ret)
		return ERR_PTR(ret);
	if (cmx_services_cached(&services, h->net)) {
		ret = cmx_services_merge(&services, &cands);
		res = ret ? ERR_PTR(ret) : cmx_resolve_paths(h, &cands);
	}
	cmx_services_release(&services);
	return res;
}

struct cmx_sync {
	struct completion done;
	struct rdma_cmx_result *res;
};

static void cmx_sync_done(struct rdma_cmx_query *query,
			  struct rdma_cmx_result *result, void *context)
{
	struct cmx_sync *sync = context;

	sync->res = result;
	complete(&sync->done);
}

/* The synchronous form, for a query that somebody has to be asked for. */
static struct rdma_cmx_result *
cmx_resolve_wait(const struct rdma_cmx_query_attr *attr)
{
	struct rdma_cmx_query *q;
	struct cmx_sync sync;
	int ret;

	init_completion(&sync.done);
	ret = rdma_cmx_query_start(attr, cmx_sync_done, &sync, &q);
	if (ret)
		return ERR_PTR(ret);
	/* After a signal the answer may still have come first. */
	if (wait_for_completion_interruptible(&sync.done) &&
	    rdma_cmx_query_cancel(q))
		sync.res = ERR_PTR(-ERESTARTSYS);
	rdma_cmx_query_put(q);
	return sync.res;
}

/* @asked: it was well formed, and @hints are filled. */
static struct rdma_cmx_result *
cmx_resolve_now(const struct rdma_cmx_query_attr *attr, struct cmx_hints *hints,
		bool *asked)
{
	struct cmx_candidates cands CMX_UNINIT;
	int ret;

	ret = cmx_resolve_local(attr, hints, &cands);
	*asked = ret >= 0;
	if (ret < 0)
		return ERR_PTR(ret);
	if (ret == CMX_NEEDS_NAMES)
		return cmx_resolve_names(attr, hints);
	if (ret == CMX_NEEDS_SERVICES)
		return cmx_resolve_services(attr, hints);
	return cmx_resolve_paths(hints, &cands);
}

static void cmx_resolve_count(const struct rdma_cmx_query_attr *attr,
			      const struct cmx_hints *hints,
			      struct rdma_cmx_result *res)
{
	cmx_stat_inc(requests);
	trace_cmx_query_start(NULL, attr->node ?: attr->service, hints);
	cmx_count_done(NULL, res);
}

struct rdma_cmx_result *rdma_cmx_resolve(const struct rdma_cmx_query_attr *attr)
{
	struct cmx_hints hints CMX_UNINIT;
	struct rdma_cmx_result *res;
	bool asked;

	if (attr->names_later)
		return ERR_PTR(-EINVAL);
	res = cmx_resolve_now(attr, &hints, &asked);
	if (!res)
		return cmx_resolve_wait(attr);
	if (asked)
		cmx_resolve_count(attr, &hints, res);
	return res;
}
EXPORT_SYMBOL_GPL(rdma_cmx_resolve);

struct rdma_cmx_result *
rdma_cmx_resolve_known(const struct rdma_cmx_query_attr *attr)
{
	struct cmx_hints hints CMX_UNINIT;
	struct rdma_cmx_result *res;
	bool asked;

	/* Names of the caller's are looked at once. */
	if (attr->names || attr->names_later)
		return NULL;
	res = cmx_resolve_now(attr, &hints, &asked);
	if (IS_ERR_OR_NULL(res))
		return NULL;
	cmx_resolve_count(attr, &hints, res);
	return res;
}
EXPORT_SYMBOL_GPL(rdma_cmx_resolve_known);
