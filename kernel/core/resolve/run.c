// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The work of a query: it waits, continues with its request, and calls back.
 * query.c has the states and the owner in each. Process context.
 */
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>

#include "resolve/query.h"
#include "resolve/trace.h"
#include "user.h"

static unsigned int route_timeout_ms = 3000;
module_param(route_timeout_ms, uint, 0644);
MODULE_PARM_DESC(route_timeout_ms,
		 "Time in ms that a query waits for path records, within its deadline (default 3000)");

/* All SA queries have ended or were stopped. Drops their reference. */
static void cmx_query_services_done(struct cmx_sa_requests *requests)
{
	struct rdma_cmx_query *q = container_of(requests, struct rdma_cmx_query,
						req.services.requests);

	if (cmx_query_advance(q, CMX_QUERY_SERVICES, CMX_QUERY_RUNNING))
		cmx_query_queue(q);
	rdma_cmx_query_put(q);
}

/*
 * A limit has refused the response of one of them, which fails the query: it
 * waits for no other. In a job of the user, as at the deadline.
 */
static void cmx_query_services_failed(struct cmx_sa_requests *requests)
{
	struct rdma_cmx_query *q = container_of(requests, struct rdma_cmx_query,
						req.services.requests);
	bool first;

	spin_lock(&q->lock);
	first = q->state == CMX_QUERY_SERVICES && !q->late;
	if (first) {
		q->late = true;
		kref_get(&q->ref);
	}
	spin_unlock(&q->lock);
	if (first)
		cmx_query_user_run(q->user, &q->stop);
}

/* As cmx_query_services_done(), for path records. */
static void cmx_query_paths_done(struct cmx_sa_requests *requests)
{
	struct rdma_cmx_query *q = container_of(requests, struct rdma_cmx_query,
						req.paths.requests);

	if (cmx_query_advance(q, CMX_QUERY_PATHS, CMX_QUERY_RUNNING))
		cmx_query_queue(q);
	rdma_cmx_query_put(q);
}

/* The result may be there already: then there is no deadline. */
static void cmx_query_arm_if(struct rdma_cmx_query *q,
			     enum cmx_query_state state)
{
	spin_lock(&q->lock);
	if (q->state == state)
		cmx_query_arm(q, q->expires);
	spin_unlock(&q->lock);
}

/* To CALLER. The query is not visible before. */
static int cmx_query_wait_caller(struct rdma_cmx_query *q)
{
	int ret;

	ret = cmx_query_user_set(q);
	if (ret)
		return ret;
	q->state = CMX_QUERY_CALLER;
	cmx_query_arm_if(q, CMX_QUERY_CALLER);
	return 0;
}

/* Kernel lookups for a container count for the owner of the container. */
static kuid_t cmx_query_names_user(const struct rdma_cmx_query *q)
{
	const struct net *net = q->req.hints.net;

	if (!q->kernel || net_eq(net, &init_net))
		return q->req.hints.uid;
	return net->user_ns == &init_user_ns ? GLOBAL_ROOT_UID :
					       cmx_user_of(net->user_ns);
}

/* RUNNING to NAMES, unless it was cancelled */
static int cmx_query_wait_names(struct rdma_cmx_query *q)
{
	int ret;

	ret = cmx_query_user_set(q);
	if (ret)
		return ret;
	if (!cmx_query_advance(q, CMX_QUERY_RUNNING, CMX_QUERY_NAMES))
		return 0;
	kref_get(&q->ref);
	ret = cmx_names_wait(q->node, q->req.hints.net,
			     cmx_query_names_user(q), q->req.hints.refresh,
			     &q->waiter);
	if (ret) {
		rdma_cmx_query_put(q);
		/* The first of cancel, deadline and this ends it. */
		return cmx_query_advance(q, CMX_QUERY_NAMES,
					 CMX_QUERY_RUNNING) ? ret : 0;
	}
	cmx_query_arm_if(q, CMX_QUERY_NAMES);
	/* It ended before there was a lookup to cancel. */
	if (READ_ONCE(q->state) != CMX_QUERY_NAMES)
		cmx_query_forget_names(q);
	return 0;
}

/* To SERVICES, likewise */
static int cmx_query_wait_services(struct rdma_cmx_query *q)
{
	int ret;

	ret = cmx_query_user_set(q);
	if (ret)
		return ret;
	q->state = CMX_QUERY_SERVICES;
	kref_get(&q->ref);
	cmx_query_arm_if(q, CMX_QUERY_SERVICES);
	cmx_services_start(&q->req.services, &q->req.hints,
			   cmx_query_services_done, cmx_query_services_failed);
	return 0;
}

/* RUNNING to PATHS, unless it was cancelled; 1: its deadline has passed. */
static int cmx_query_wait_paths(struct rdma_cmx_query *q)
{
	unsigned int ms = READ_ONCE(route_timeout_ms);
	unsigned long expires;
	int ret;

	ret = cmx_paths_lead(&q->req.paths) ?: cmx_query_user_set(q);
	if (ret)
		return ret;
	expires = jiffies + msecs_to_jiffies(ms);
	if (time_after(expires, q->expires))
		expires = q->expires;

	spin_lock(&q->lock);
	if (q->state != CMX_QUERY_RUNNING || q->late) {
		ret = q->state == CMX_QUERY_RUNNING;
		spin_unlock(&q->lock);
		return ret;
	}
	q->state = CMX_QUERY_PATHS;
	cmx_query_arm(q, expires);
	kref_get(&q->ref);
	spin_unlock(&q->lock);
	cmx_paths_start(&q->req.paths, q->user, q->memcg,
			cmx_query_paths_done);
	return 0;
}

/*
 * Lets the query wait for @what. Returns 0: others use the query or it is
 * cancelled; 1: it has to continue without; or a negative errno.
 */
int cmx_query_wait(struct rdma_cmx_query *q, enum cmx_wait what)
{
	switch (what) {
	case CMX_WAIT_CALLER:
		return cmx_query_wait_caller(q);
	case CMX_WAIT_NAMES:
		return cmx_query_wait_names(q);
	case CMX_WAIT_SERVICES:
		return cmx_query_wait_services(q);
	case CMX_WAIT_PATHS:
		return cmx_query_wait_paths(q);
	}
	return -EINVAL;
}

/* RUNNING to READY, with the result of the request or with @error */
void cmx_query_finish(struct rdma_cmx_query *q, int error)
{
	q->result = error ? ERR_PTR(error) : q->req.result;
	cmx_query_disarm(q);
	cmx_request_release(&q->req);
	if (!cmx_query_advance(q, CMX_QUERY_RUNNING, CMX_QUERY_READY)) {
		rdma_cmx_result_put(q->result);
		return;
	}
	kref_get(&q->ref);
	queue_work(cmx_call_wq, &q->call);
}

/* Advances a RUNNING query as far as it goes without waiting. */
void cmx_query_run(struct rdma_cmx_query *q)
{
	int ret = q->error;

	while (!ret) {
		ret = cmx_request_advance(&q->req);
		if (ret <= 0)
			break;
		ret = cmx_query_wait(q, ret);
		if (!ret)
			return;
		if (ret > 0)
			ret = 0;
	}
	cmx_query_finish(q, ret);
}

/* After a wait the query is RUNNING, or cancelled. */
void cmx_query_work(struct cmx_job *job)
{
	struct rdma_cmx_query *q = container_of(job, struct rdma_cmx_query,
						job);
	struct mem_cgroup *old = set_active_memcg(q->memcg);

	if (READ_ONCE(q->state) == CMX_QUERY_RUNNING) {
		q->req.hints.locked = false;
		q->req.hints.brief = true;
		cmx_query_run(q);
	}
	set_active_memcg(old);
	rdma_cmx_query_put(q);
}

void cmx_query_count(const void *query, const struct rdma_cmx_result *res)
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

/* READY to DONE, unless it is cancelled */
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

	cmx_query_count(q, q->result);
	q->done(q, q->result, q->context);

	spin_lock(&q->lock);
	q->state = CMX_QUERY_DONE;
	q->caller = NULL;
	spin_unlock(&q->lock);
	complete_all(&q->idle);
put:
	rdma_cmx_query_put(q);
}
