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
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "resolve/query.h"
#include "resolve/trace.h"
#include "user.h"

static unsigned int query_timeout_ms = 10000;
module_param(query_timeout_ms, uint, 0644);
MODULE_PARM_DESC(query_timeout_ms,
		 "Default deadline of a query in ms (default 10000)");

unsigned int cmx_query_timeout_max_ms = 60000;
module_param_named(query_timeout_max_ms, cmx_query_timeout_max_ms, uint, 0644);
MODULE_PARM_DESC(query_timeout_max_ms,
		 "Maximum deadline of a query in ms (default 60000)");

struct cmx_users cmx_query_users = CMX_USERS_INIT(cmx_query_users);
struct workqueue_struct *cmx_call_wq;
static struct workqueue_struct *cmx_deadline_wq;
static struct workqueue_struct *cmx_free_wq;

static void cmx_query_free(struct rdma_cmx_query *q)
{
	cmx_request_release(&q->req);
	kfree(q->limits);
	mem_cgroup_put(q->memcg);
	cmx_user_put(q->user);
	if (q->req.hints.net)
		put_net(q->req.hints.net);
	kfree(q);
	cmx_stat_dec(live_queries);
}

void cmx_query_free_work(struct work_struct *work)
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
	cmx_user_run(q->user, &q->job);
}

/* Names and jobs of a kernel query in a container count for its owner. */
kuid_t cmx_query_uid(const struct rdma_cmx_query *q)
{
	const struct net *net = q->req.hints.net;

	if (!q->kernel || net_eq(net, &init_net))
		return q->req.hints.uid;
	return net->user_ns == &init_user_ns ? GLOBAL_ROOT_UID :
					       cmx_user_of(net->user_ns);
}

/*
 * Called before the query waits. The root of a container chooses how long a
 * search of its routing rules takes, so its queries do not have the queue of the
 * kernel.
 */
int cmx_query_user_set(struct rdma_cmx_query *q)
{
	if (!q->user)
		q->user = cmx_user_get(&cmx_query_users, cmx_query_uid(q),
				       q->kernel, GFP_KERNEL_ACCOUNT);
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

void cmx_query_forget_names(struct rdma_cmx_query *q)
{
	if (cmx_names_forget(&q->waiter))
		rdma_cmx_query_put(q);
}

/* Ends the wait of a query in @state. */
void cmx_query_stop(struct rdma_cmx_query *q, enum cmx_query_state state)
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

/* The deadline of a caller that requests @timeout_ms, 0: the default */
unsigned long cmx_query_jiffies(u32 timeout_ms)
{
	u32 ms = timeout_ms ?: READ_ONCE(query_timeout_ms);

	return msecs_to_jiffies(min(ms, READ_ONCE(cmx_query_timeout_max_ms)));
}

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
	cmx_query_users.wq = alloc_workqueue("rdma_cmx", WQ_UNBOUND, 0);
	cmx_call_wq = alloc_workqueue("rdma_cmx_call", WQ_UNBOUND, 0);
	cmx_deadline_wq = alloc_workqueue("rdma_cmx_deadline",
					  WQ_UNBOUND | WQ_HIGHPRI, 0);
	cmx_free_wq = alloc_workqueue("rdma_cmx_free", WQ_UNBOUND, 0);
	if (cmx_query_users.wq && cmx_call_wq && cmx_deadline_wq && cmx_free_wq)
		return 0;
	if (cmx_free_wq)
		destroy_workqueue(cmx_free_wq);
	if (cmx_deadline_wq)
		destroy_workqueue(cmx_deadline_wq);
	if (cmx_call_wq)
		destroy_workqueue(cmx_call_wq);
	if (cmx_query_users.wq)
		destroy_workqueue(cmx_query_users.wq);
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
		flush_workqueue(cmx_query_users.wq);
		flush_workqueue(cmx_free_wq);
		msleep(20);
	}
	destroy_workqueue(cmx_deadline_wq);
	destroy_workqueue(cmx_call_wq);
	destroy_workqueue(cmx_query_users.wq);
	destroy_workqueue(cmx_free_wq);
}
