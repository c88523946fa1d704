// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The work of a query: FOUND to DONE, by way of PATHS if path records are missing.
 * States, and who may do what in them, are in query.c. Process context.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "resolve/query.h"

static unsigned int route_timeout_ms = 3000;
module_param(route_timeout_ms, uint, 0644);
MODULE_PARM_DESC(route_timeout_ms,
		 "Time in ms that a query waits for path records, within its deadline (default 3000)");

/* All paths are known, or given up; drops the reference of the queries. */
static void cmx_query_paths_done(struct cmx_sa_requests *requests)
{
	struct rdma_cmx_query *q = container_of(requests, struct rdma_cmx_query,
						paths.requests);

	if (cmx_query_advance(q, CMX_QUERY_PATHS, CMX_QUERY_READY))
		cmx_query_queue(q);
	rdma_cmx_query_put(q);
}

static int cmx_query_candidates(struct rdma_cmx_query *q)
{
	if (q->error)
		return q->error;
	if (q->answer.names)
		return cmx_candidates_names(&q->hints, q->answer.names,
					    &q->cands);
	if (q->services.port)
		return cmx_services_merge(&q->services, &q->cands);
	return 0;
}

static int cmx_query_annotate(struct rdma_cmx_query *q)
{
	int ret;

	q->dests = kvmalloc_array(q->cands.count, sizeof(*q->dests),
				  GFP_KERNEL_ACCOUNT);
	if (!q->dests)
		return -ENOMEM;
	ret = cmx_dests_fill(&q->hints, &q->cands, q->dests);
	if (ret < 0)
		return ret;
	q->dest_count = ret;
	return cmx_paths_init(&q->paths, &q->hints, q->dests, q->dest_count);
}

/* FOUND to PATHS or, if nobody has to be asked, to READY: then true. */
static bool cmx_query_find_paths(struct rdma_cmx_query *q)
{
	unsigned int ms = READ_ONCE(route_timeout_ms);
	unsigned long expires;
	bool known;
	int ret;

	ret = cmx_query_candidates(q);
	if (!ret)
		ret = cmx_query_annotate(q);
	known = ret || cmx_paths_cached(&q->paths);
	if (!known)
		ret = cmx_paths_lead(&q->paths) ?: cmx_query_user_set(q);
	expires = jiffies + msecs_to_jiffies(ms);
	if (time_after(expires, q->expires))
		expires = q->expires;

	spin_lock(&q->lock);
	if (q->state != CMX_QUERY_FOUND) {
		spin_unlock(&q->lock);
		return false;
	}
	q->error = ret;
	if (known || ret || q->late) {
		q->state = CMX_QUERY_READY;
		spin_unlock(&q->lock);
		return true;
	}
	q->state = CMX_QUERY_PATHS;
	cmx_query_arm(q, expires);
	kref_get(&q->ref);
	spin_unlock(&q->lock);
	cmx_paths_start(&q->paths, q->user, cmx_query_paths_done);
	return false;
}

static struct rdma_cmx_result *cmx_query_result(struct rdma_cmx_query *q)
{
	int error = q->error ?: cmx_paths_error(&q->paths);

	if (error)
		return ERR_PTR(error);
	cmx_paths_rank(&q->paths, q->dests);
	return cmx_result_build(&q->hints, &q->cands, q->dests, q->dest_count,
				&q->paths);
}

/* READY: builds the answer, which the query's work item hands out. */
static void cmx_query_answer(struct rdma_cmx_query *q)
{
	cmx_query_disarm(q);
	q->result = cmx_query_result(q);
	cmx_query_parts_release(q);
	kref_get(&q->ref);
	queue_work(cmx_call_wq, &q->call);
}

/* From FOUND as far as it goes without waiting. */
void cmx_query_run(struct rdma_cmx_query *q)
{
	if (cmx_query_find_paths(q))
		cmx_query_answer(q);
}

/* It has waited: now it is FOUND or READY, or cancelled. */
void cmx_query_work(struct cmx_job *job)
{
	struct rdma_cmx_query *q = container_of(job, struct rdma_cmx_query,
						job);
	struct mem_cgroup *old = set_active_memcg(q->memcg);
	enum cmx_query_state state = READ_ONCE(q->state);

	if (state == CMX_QUERY_FOUND)
		cmx_query_run(q);
	else if (state == CMX_QUERY_READY)
		cmx_query_answer(q);
	set_active_memcg(old);
	rdma_cmx_query_put(q);
}

/* READY to DONE, unless cancelled on the way. */
void cmx_query_call(struct work_struct *work)
{
	struct rdma_cmx_query *q = container_of(work, struct rdma_cmx_query,
						call);

	spin_lock(&q->lock);
	if (q->state != CMX_QUERY_READY) {
		spin_unlock(&q->lock);
		rdma_cmx_result_put(q->result);
		goto put;
	}
	q->state = CMX_QUERY_CALLING;
	q->caller = current;
	spin_unlock(&q->lock);

	cmx_count_done(q, q->result);
	q->done(q, q->result, q->context);

	spin_lock(&q->lock);
	q->state = CMX_QUERY_DONE;
	q->caller = NULL;
	spin_unlock(&q->lock);
	complete_all(&q->idle);
put:
	rdma_cmx_query_put(q);
}
