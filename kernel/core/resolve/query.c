// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A query: a request that has to wait, or whose end has to be reported. It ends
 * exactly once.
 *
 *	CALLER ────┐
 *	NAMES ─────┤
 *	SERVICES ──┼──> RUNNING ──> READY ──> CALLING ──> DONE
 *	PATHS ─────┘       │
 *	  ^────────────────┘
 *
 * Each state up to READY may also change to CANCELLED. CALLER waits for names
 * or a port from the caller, NAMES for a name service, SERVICES for service
 * records of SAs, PATHS for path records of SAs. In RUNNING the request
 * continues (run.c). READY has the result. CALLING runs the callback.
 *
 * rdma_cmx_query.lock guards the state. The state determines the owner of the
 * fields: the code that makes the query RUNNING owns the result of a name
 * service and its error. The code that runs the request owns everything else of
 * it, except for outstanding SA queries (sa/requests.c). The lock is innermost.
 * Code under it calls nothing except to arm the timer.
 *
 * References: the caller's; one of the outstanding lookup or set of SA queries;
 * one of the armed deadline; one of the queued work item.
 *
 * The deadline ends CALLER and NAMES with an error. It ends SERVICES with an
 * error unless some SAs have responded. It ends PATHS with the paths that are
 * known: an address without a route is a valid result.
 *
 * Consumers use symbols of this module, so it stays loaded while a callback can
 * run. After the last consumer only work items of this module are left.
 * cmx_query_exit() waits for them.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "resolve/query.h"
#include "resolve/trace.h"

static unsigned int query_timeout_ms = 10000;
module_param(query_timeout_ms, uint, 0644);
MODULE_PARM_DESC(query_timeout_ms,
		 "Default deadline of a query in ms (default 10000)");

static unsigned int query_timeout_max_ms = 60000;
module_param(query_timeout_max_ms, uint, 0644);
MODULE_PARM_DESC(query_timeout_max_ms,
		 "Maximum deadline of a query in ms (default 60000)");

struct workqueue_struct *cmx_wq;
struct workqueue_struct *cmx_call_wq;
static struct workqueue_struct *cmx_deadline_wq;
static struct workqueue_struct *cmx_free_wq;

static void cmx_query_free(struct rdma_cmx_query *q)
{
	cmx_request_release(&q->req);
	kfree(q->limits);
	mem_cgroup_put(q->memcg);
	cmx_query_user_put(q->user);
	put_net(q->req.hints.net);
	kfree(q);
	cmx_stat_dec(live_queries);
}

static void cmx_query_free_work(struct work_struct *work)
{
	cmx_query_free(container_of(work, struct rdma_cmx_query, free));
}

/*
 * The release of an SA request or of much memory requires process context. It
 * does not run in a job of the user, because an earlier job may sleep for
 * memory of the user's cgroup.
 */
static void cmx_query_release(struct kref *ref)
{
	struct rdma_cmx_query *q = container_of(ref, struct rdma_cmx_query,
						ref);

	if (q->user || q->req.dests || q->req.services.port)
		queue_work(cmx_free_wq, &q->free);
	else
		cmx_query_free(q);
}

void rdma_cmx_query_put(struct rdma_cmx_query *query)
{
	if (query)
		kref_put(&query->ref, cmx_query_release);
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_put);

/* Continues in a job of the user, which exists since the query has waited. */
void cmx_query_queue(struct rdma_cmx_query *q)
{
	kref_get(&q->ref);
	cmx_query_user_run(q->user, &q->job);
}

/* Called before the query waits. */
int cmx_query_user_set(struct rdma_cmx_query *q)
{
	if (!q->user)
		q->user = cmx_query_user_get(&cmx_query_users,
					     q->req.hints.uid, q->kernel,
					     GFP_KERNEL_ACCOUNT);
	return q->user ? 0 : -ENOMEM;
}

void cmx_query_disarm(struct rdma_cmx_query *q)
{
	if (cancel_delayed_work(&q->deadline))
		rdma_cmx_query_put(q);
}

/* With the lock. An armed deadline moves. */
void cmx_query_arm(struct rdma_cmx_query *q, unsigned long expires)
{
	unsigned long now = jiffies;

	kref_get(&q->ref);
	if (mod_delayed_work(cmx_deadline_wq, &q->deadline,
			     time_after(expires, now) ? expires - now : 0))
		/* Not the last one: the caller has one. */
		rdma_cmx_query_put(q);
}

/* Returns false without a change if the query is not in state @from. */
bool cmx_query_advance(struct rdma_cmx_query *q, enum cmx_query_state from,
		       enum cmx_query_state to)
{
	bool ret;

	spin_lock(&q->lock);
	ret = q->state == from;
	if (ret)
		q->state = to;
	spin_unlock(&q->lock);
	return ret;
}

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

void cmx_query_forget_names(struct rdma_cmx_query *q)
{
	if (cmx_names_forget(&q->waiter))
		rdma_cmx_query_put(q);
}

/* Ends the wait of a query in @state. */
static void cmx_query_stop(struct rdma_cmx_query *q, enum cmx_query_state state)
{
	switch (state) {
	case CMX_QUERY_NAMES:
		cmx_query_forget_names(q);
		break;
	case CMX_QUERY_SERVICES:
		cmx_services_stop(&q->req.services);
		break;
	case CMX_QUERY_PATHS:
		cmx_paths_stop(&q->req.paths);
		break;
	default:
		break;
	}
}

/*
 * The deadline of a query that waits for SAs. It runs in a job of the user,
 * since it may wait for the code that starts the SA queries, which is the
 * user's.
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
		cmx_query_user_run(q->user, &q->stop);
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

/* The deadline of a caller that requests @timeout_ms, 0: the default */
unsigned long cmx_query_jiffies(u32 timeout_ms)
{
	u32 ms = timeout_ms ?: READ_ONCE(query_timeout_ms);

	return msecs_to_jiffies(min(ms, READ_ONCE(query_timeout_max_ms)));
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

bool rdma_cmx_query_cancel(struct rdma_cmx_query *query)
{
	enum cmx_query_state state;
	bool runs;

	spin_lock(&query->lock);
	state = query->state;
	if (state <= CMX_QUERY_READY)
		query->state = CMX_QUERY_CANCELLED;
	runs = state == CMX_QUERY_CALLING && query->caller != current;
	spin_unlock(&query->lock);

	if (state <= CMX_QUERY_READY) {
		cmx_query_disarm(query);
		cmx_query_stop(query, state);
		cmx_stat_inc(cancelled);
		trace_cmx_query_cancel(query);
	}
	if (runs)
		wait_for_completion(&query->idle);
	return state <= CMX_QUERY_READY || state == CMX_QUERY_CANCELLED;
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_cancel);

int cmx_query_init(void)
{
	cmx_wq = alloc_workqueue("rdma_cmx", WQ_UNBOUND, 0);
	cmx_call_wq = alloc_workqueue("rdma_cmx_call", WQ_UNBOUND, 0);
	cmx_deadline_wq = alloc_workqueue("rdma_cmx_deadline",
					  WQ_UNBOUND | WQ_HIGHPRI, 0);
	cmx_free_wq = alloc_workqueue("rdma_cmx_free", WQ_UNBOUND, 0);
	cmx_query_users.wq = cmx_wq;
	if (cmx_wq && cmx_call_wq && cmx_deadline_wq && cmx_free_wq)
		return 0;
	if (cmx_free_wq)
		destroy_workqueue(cmx_free_wq);
	if (cmx_deadline_wq)
		destroy_workqueue(cmx_deadline_wq);
	if (cmx_call_wq)
		destroy_workqueue(cmx_call_wq);
	if (cmx_wq)
		destroy_workqueue(cmx_wq);
	return -ENOMEM;
}

/* Queries are not added any more, so the sum may only be too high. */
static s64 cmx_query_live(void)
{
	s64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct cmx_stats *stats = per_cpu_ptr(&cmx_stats, cpu);

		sum += READ_ONCE(stats->live_queries) +
		       READ_ONCE(stats->live_neighs);
	}
	return sum;
}

/* The work queues queue work on each other, until all queries are freed. */
void cmx_query_exit(void)
{
	while (cmx_query_live()) {
		flush_workqueue(cmx_deadline_wq);
		flush_workqueue(cmx_call_wq);
		flush_workqueue(cmx_wq);
		flush_workqueue(cmx_free_wq);
		msleep(20);
	}
	destroy_workqueue(cmx_deadline_wq);
	destroy_workqueue(cmx_call_wq);
	destroy_workqueue(cmx_wq);
	destroy_workqueue(cmx_free_wq);
}
