// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The work of a query, from its creation on: it waits, continues with its
 * request after a result or at its deadline, and calls back. query.c has the
 * states and the owner in each. Process context.
 */
#include <linux/completion.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "resolve/query.h"
#include "resolve/trace.h"

static unsigned int route_timeout_ms = 3000;
module_param(route_timeout_ms, uint, 0644);
MODULE_PARM_DESC(route_timeout_ms,
		 "Time in ms that a query waits for path records, within its deadline (default 3000)");

/*
 * Changes @from to RUNNING with @answer, which the query takes over, or with
 * @error. The caller continues with the query. Returns false without a change
 * if it is not in that state.
 */
static bool cmx_query_named(struct rdma_cmx_query *q,
			    enum cmx_query_state from,
			    const struct cmx_answer *answer, int error)
{
	spin_lock(&q->lock);
	if (q->state != from) {
		spin_unlock(&q->lock);
		return false;
	}
	if (answer && answer->names)
		q->req.answer = *answer;
	q->error = error;
	q->state = CMX_QUERY_RUNNING;
	spin_unlock(&q->lock);
	return true;
}

/* The lookup has completed. Drops its reference. */
static void cmx_query_names_done(struct cmx_sched_waiter *waiter, void *from,
				 int error)
{
	struct rdma_cmx_query *q = container_of(waiter, struct rdma_cmx_query,
						waiter);
	struct cmx_answer answer = {};

	if (from)
		cmx_answer_share(&answer, from);
	if (cmx_query_named(q, CMX_QUERY_NAMES, &answer, error))
		cmx_query_queue(q);
	else
		cmx_answer_release(&answer);
	rdma_cmx_query_put(q);
}

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
		cmx_user_run(q->user, &q->stop);
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

/* RUNNING to NAMES, unless it was cancelled */
static int cmx_query_wait_names(struct rdma_cmx_query *q)
{
	kuid_t uid = cmx_query_uid(q);
	struct net *net;
	int ret;

	ret = cmx_query_user_set(q);
	if (ret)
		return ret;
	/* In NAMES the deadline may end the query, which then has none. */
	net = get_net(q->req.hints.net);
	if (!cmx_query_advance(q, CMX_QUERY_RUNNING, CMX_QUERY_NAMES)) {
		put_net(net);
		return 0;
	}
	kref_get(&q->ref);
	ret = cmx_names_wait(q->node, net, uid, q->req.hints.refresh,
			     &q->waiter);
	put_net(net);
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
static void cmx_query_run(struct rdma_cmx_query *q)
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

/*
 * The deadline of a query that waits for SAs. It runs in a job of the user, who
 * chooses the number of requests that it visits.
 */
static void cmx_query_late(struct cmx_job *job)
{
	struct rdma_cmx_query *q = container_of(job, struct rdma_cmx_query,
						stop);
	enum cmx_query_state state = READ_ONCE(q->state);

	if (state == CMX_QUERY_SERVICES || state == CMX_QUERY_PATHS)
		cmx_query_stop(q, state);
	rdma_cmx_query_put(q);
}

static void cmx_query_deadline(struct work_struct *work)
{
	struct rdma_cmx_query *q = container_of(to_delayed_work(work),
						struct rdma_cmx_query,
						deadline);
	enum cmx_query_state state;
	bool first;

	spin_lock(&q->lock);
	state = q->state;
	first = !q->late;
	q->late = true;
	spin_unlock(&q->lock);

	if (state <= CMX_QUERY_RUNNING)
		trace_cmx_query_timeout(q);
	if (first && (state == CMX_QUERY_SERVICES ||
		      state == CMX_QUERY_PATHS)) {
		/*
		 * The job takes the reference. A query that waits has a user.
		 */
		cmx_user_run(q->user, &q->stop);
		return;
	}
	if (state <= CMX_QUERY_NAMES &&
	    cmx_query_named(q, state, NULL, -ETIMEDOUT)) {
		cmx_query_stop(q, state);
		/* An error needs no job. */
		cmx_query_run(q);
	}
	rdma_cmx_query_put(q);
}

/* After a wait the query is RUNNING, or cancelled. */
static void cmx_query_work(struct cmx_job *job)
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
static void cmx_query_call(struct work_struct *work)
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
	/* The caller may keep the query, also until the namespace's exit. */
	put_net(q->req.hints.net);
	q->req.hints.net = NULL;

	spin_lock(&q->lock);
	q->state = CMX_QUERY_DONE;
	q->caller = NULL;
	spin_unlock(&q->lock);
	complete_all(&q->idle);
put:
	rdma_cmx_query_put(q);
}

static void cmx_query_init_one(struct rdma_cmx_query *q)
{
	kref_init(&q->ref);
	spin_lock_init(&q->lock);
	init_completion(&q->idle);
	INIT_WORK(&q->call, cmx_query_call);
	q->job.run = cmx_query_work;
	q->stop.run = cmx_query_late;
	INIT_WORK(&q->free, cmx_query_free_work);
	INIT_DELAYED_WORK(&q->deadline, cmx_query_deadline);
	cmx_sa_requests_init(&q->req.services.requests);
	cmx_sa_requests_init(&q->req.paths.requests);
	q->waiter.done = cmx_query_names_done;
}

static struct ib_path_rec_data *cmx_query_limits(const struct cmx_hints *h)
{
	return kmemdup(h->limits, array_size(h->limit_count,
					     sizeof(*h->limits)),
		       GFP_KERNEL_ACCOUNT);
}

/* In state RUNNING, with @req moved into it; or NULL */
struct rdma_cmx_query *
cmx_query_alloc(const struct cmx_request *req, rdma_cmx_done_fn done,
		void *context)
{
	const struct rdma_cmx_query_attr *attr = req->attr;
	size_t node_len = attr->node ? strlen(attr->node) : 0;
	const struct cmx_caller *caller = req->caller;
	struct rdma_cmx_query *q;

	q = kzalloc(struct_size(q, node, node_len + 1), GFP_KERNEL_ACCOUNT);
	if (!q)
		return NULL;
	if (req->hints.limit_count) {
		q->limits = cmx_query_limits(&req->hints);
		if (!q->limits) {
			kfree(q);
			return NULL;
		}
	}
	memcpy(q->node, attr->node ?: "", node_len);
	cmx_request_move(&q->req, req, q->node, q->limits);
	cmx_query_init_one(q);
	q->state = CMX_QUERY_RUNNING;
	get_net(q->req.hints.net);
	/* A process's limit of memory does not delay the kernel's jobs. */
	if (!caller->kernel)
		q->memcg = get_mem_cgroup_from_mm(current->mm);
	q->expires = jiffies + cmx_query_jiffies(attr->timeout_ms);
	q->names_later = caller->names_later && !caller->names;
	q->port_later = caller->port_later;
	q->kernel = caller->kernel;
	q->done = done;
	q->context = context;
	cmx_stat_inc(live_queries);
	return q;
}

/* True if @q waits for @given. The fields it reads are constant. */
static bool cmx_given_fits(const struct rdma_cmx_query *q,
			   const struct cmx_given *given)
{
	if (given->error)
		return given->error > 0 && given->error <= MAX_ERRNO;
	return !given->names_len == !q->names_later &&
	       given->has_port == q->port_later &&
	       (!given->qp_type ||
		(given->has_port &&
		 cmx_hints_may_narrow(&q->req.hints, given->qp_type)));
}

int rdma_cmx_query_give_names(struct rdma_cmx_query *query,
			      const struct cmx_given *given)
{
	struct cmx_answer answer = {};
	struct mem_cgroup *old;
	int ret;

	/* Allocates nothing for a query that does not wait for its caller. */
	if ((!query->names_later && !query->port_later) ||
	    READ_ONCE(query->state) != CMX_QUERY_CALLER)
		return -ESRCH;
	if (!cmx_given_fits(query, given))
		return -EINVAL;
	if (!given->error && given->names_len) {
		ret = cmx_answer_copy(&answer, given->names, given->names_len);
		if (ret)
			return ret;
	}
	if (!cmx_query_named(query, CMX_QUERY_CALLER, &answer,
			     -given->error)) {
		cmx_answer_release(&answer);
		return -ESRCH;
	}
	/* No other code accesses the request of a RUNNING query. */
	if (!given->error && given->has_port)
		cmx_request_set_port(&query->req, given->port, given->qp_type);
	if (query->names_later)
		cmx_stat_inc(names_given);
	/* Memory is charged to the cgroup of the start. */
	old = set_active_memcg(query->memcg);
	cmx_query_run(query);
	set_active_memcg(old);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_give_names);
