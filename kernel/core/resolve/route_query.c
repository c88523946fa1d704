// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The route of an id by path queries of rdma_cmx. They are equal for all ids to
 * a peer, so the SA receives one, and the cache keeps the response. The id
 * receives the events that rdma_cm would report.
 *
 * rdma_cm handles the remaining cases (route.c): ports without an SA; ids
 * without an address, or with another query; and, for the time that is left,
 * queries that fail with an error other than a missing path. A provider on the
 * netlink of local services (ibacm) takes precedence over the SA: while there
 * is one, rdma_cm queries, whose ib_sa first sends the query to the provider.
 *
 * A query is a separate object, since response and deadline may arrive while
 * the id is destroyed. References: of the cmx_route; of the waiter until it was
 * called or removed; of the queued or running work item. cmx_route_lock guards
 * the two pointers between a query and its cmx_route. The handler lock of the
 * id guards cmx_route.state. The work item takes the handler lock, so the code
 * that ends a query, and waits for it, holds no lock that the handler takes.
 */
#include <linux/jiffies.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_addr.h>
#include <rdma/rdma_cm_ib.h>

#include "resolve/paths.h"
#include "route.h"
#include "sa/wire.h"

/**
 * struct cmx_route_query - a path query for an id
 * @ref: see above
 * @waiter: waiter of the query
 * @work: runs after the response, or at the deadline
 * @id: the id, until the query has ended
 * @route: its state, NULL: the query has ended
 * @deadline: in jiffies
 * @dgid: destination of the path
 * @completed: the waiter was called; by release and acquire
 * @error: of the query
 * @rec: the path
 */
struct cmx_route_query {
	refcount_t ref;
	struct cmx_sched_waiter waiter;
	struct delayed_work work;
	struct rdma_cm_id *id;
	struct cmx_route *route;
	unsigned long deadline;
	union ib_gid dgid;
	bool completed;
	int error;
	u8 rec[CMX_SA_PATH_REC_SIZE];
};

static DEFINE_SPINLOCK(cmx_route_lock);

static struct workqueue_struct *cmx_route_wq;

static void cmx_route_query_put(struct cmx_route_query *q)
{
	if (refcount_dec_and_test(&q->ref))
		kfree(q);
}

/* Queues the work item to run after @delay, or now if it is 0. */
static void cmx_route_query_kick(struct cmx_route_query *q,
				 unsigned long delay)
{
	refcount_inc(&q->ref);
	if (delay ? !queue_delayed_work(cmx_route_wq, &q->work, delay) :
		    mod_delayed_work(cmx_route_wq, &q->work, 0))
		refcount_dec(&q->ref);	/* it was pending, with a reference */
}

/* Uses the first path, as cmx_cached_path_use() does. */
static int cmx_route_query_take(struct cmx_route_query *q,
				const struct cmx_sa_response *response)
{
	const u8 *rec;

	if (!response->count)
		return -ENOENT;
	rec = cmx_sa_response_rec(response, 0);
	if (memcmp(rec + CMX_PATH_DGID, &q->dgid, sizeof(q->dgid)))
		return -ENOENT;
	memcpy(q->rec, rec, sizeof(q->rec));
	return 0;
}

static void cmx_route_query_done(struct cmx_sched_waiter *waiter,
				 void *response,
				 int error)
{
	struct cmx_route_query *q = container_of(waiter, struct cmx_route_query,
						 waiter);

	q->error = error ?: cmx_route_query_take(q, response);
	/* Pairs with cmx_route_query_over(). */
	smp_store_release(&q->completed, true);
	/*
	 * Before its end. While a work item is being cancelled,
	 * mod_delayed_work() of Linux 6.10 and later neither queues it nor
	 * returns so.
	 */
	spin_lock(&cmx_route_lock);
	if (q->route)
		cmx_route_query_kick(q, 0);
	spin_unlock(&cmx_route_lock);
	cmx_route_query_put(q);
}

/*
 * True if it has completed. Else done() is running, or the waiter does not wait
 * yet: done() or cmx_route_query_late() queues the work item.
 */
static bool cmx_route_query_over(struct cmx_route_query *q)
{
	/* Pairs with cmx_route_query_done(). */
	if (smp_load_acquire(&q->completed))
		return true;
	if (!cmx_sa_forget(&q->waiter))
		return false;
	q->error = -ETIMEDOUT;
	q->completed = true;
	cmx_route_query_put(q);
	return true;
}

/* rdma_cm reports EINVAL for any error status of the SA's response. */
static int cmx_route_set(struct cmx_route_query *q)
{
	struct sa_path_rec rec;

	if (q->error)
		return -EINVAL;
	cmx_path_unpack(q->rec, &rec);
	return rdma_set_ib_path(q->id, &rec);
}

/* rdma_cm continues. Returns 0 if an event follows. */
static int cmx_route_hand_over(struct cmx_route_query *q,
			       struct cmx_route *route)
{
	long left = q->deadline - jiffies;
	int ret;

	if (left <= 0)
		return -ETIMEDOUT;
	left = min_t(unsigned long, left, msecs_to_jiffies(INT_MAX));
	ret = rdma_resolve_route(q->id, max(jiffies_to_msecs(left), 1U));
	if (!ret) {
		cmx_stat_inc(routes_by_cm);
		WRITE_ONCE(route->state, CMX_ROUTE_OUTSTANDING);
	}
	return ret;
}

/* With the handler lock, as for the events of rdma_cm */
static void cmx_route_query_end(struct cmx_route_query *q,
				struct cmx_route *route)
{
	struct rdma_cm_event event = {};
	struct rdma_cm_id *id = q->id;
	bool decided = !q->error || q->error == -ENOENT;

	rdma_lock_handler(id);
	if (route->state != CMX_ROUTE_QUERIED)
		goto unlock;
	/*
	 * QUERIED until rdma_cm has the route, so no command sets another one.
	 */
	if (decided)
		event.status = cmx_route_set(q);
	else
		event.status = cmx_route_hand_over(q, route);
	if (!event.status && !decided)
		goto unlock;
	WRITE_ONCE(route->state, CMX_ROUTE_NONE);
	event.event = event.status ? RDMA_CM_EVENT_ROUTE_ERROR :
				     RDMA_CM_EVENT_ROUTE_RESOLVED;
	id->event_handler(id, &event);
unlock:
	rdma_unlock_handler(id);
}

/* Takes the reference of a route for the caller; NULL if there is none. */
static struct cmx_route_query *cmx_route_query_detach(struct cmx_route *route)
{
	struct cmx_route_query *q;

	/*
	 * Few routes have a query, and all ids share the lock. Pairs with the
	 * release of cmx_route_query_work().
	 */
	if (!smp_load_acquire(&route->query))
		return NULL;
	spin_lock(&cmx_route_lock);
	q = route->query;
	if (q) {
		route->query = NULL;
		q->route = NULL;
	}
	spin_unlock(&cmx_route_lock);
	return q;
}

static void cmx_route_query_work(struct work_struct *work)
{
	struct cmx_route_query *q = container_of(to_delayed_work(work),
						 struct cmx_route_query, work);
	struct cmx_route *route;
	bool ended = false;

	spin_lock(&cmx_route_lock);
	route = q->route;
	spin_unlock(&cmx_route_lock);
	/* Both stay: the code that detaches the query waits for this. */
	if (!route || !cmx_route_query_over(q))
		goto put;
	cmx_route_query_end(q, route);
	spin_lock(&cmx_route_lock);
	if (q->route) {
		/* After all accesses to the route */
		smp_store_release(&route->query, NULL);
		q->route = NULL;
		ended = true;
	}
	spin_unlock(&cmx_route_lock);
	if (ended)
		cmx_route_query_put(q);
put:
	cmx_route_query_put(q);
}

/* Ends the query of a route, if there is one, without an event. */
void cmx_route_query_stop(struct cmx_route *route)
{
	struct cmx_route_query *q = cmx_route_query_detach(route);

	if (!q)
		return;
	if (cmx_sa_forget(&q->waiter))
		cmx_route_query_put(q);
	if (cancel_delayed_work_sync(&q->work))
		cmx_route_query_put(q);
	if (route->state == CMX_ROUTE_QUERIED)
		WRITE_ONCE(route->state, CMX_ROUTE_NONE);
	cmx_route_query_put(q);
}

/* Sets QUERIED in the state in which rdma_cm would start a query. */
static bool cmx_route_claim(struct rdma_cm_id *id, struct cmx_route *route)
{
	bool ok;

	rdma_lock_handler(id);
	/* A record that rdma_cm left would leak. */
	ok = route->addressed && route->state == CMX_ROUTE_NONE &&
	     !id->route.path_rec;
	if (ok)
		WRITE_ONCE(route->state, CMX_ROUTE_QUERIED);
	rdma_unlock_handler(id);
	return ok;
}

static int cmx_route_query_send(struct cmx_route_query *q,
				struct cmx_sa_port *port,
				const struct cmx_sa_query *query, kuid_t uid)
{
	int ret;

	refcount_inc(&q->ref);
	ret = cmx_sa_lookup(port, q->id->route.addr.dev_addr.net, uid, query,
			    &q->waiter);
	if (ret)
		cmx_route_query_put(q);
	return ret;
}

/*
 * The deadline may have passed before the waiter waited. The work item has then
 * found nothing to end.
 */
static void cmx_route_query_late(struct cmx_route_query *q)
{
	spin_lock(&cmx_route_lock);
	if (q->route && time_after_eq(jiffies, q->deadline))
		cmx_route_query_kick(q, 0);
	spin_unlock(&cmx_route_lock);
}

/* With a reference for the route, and one for the caller */
static struct cmx_route_query *
cmx_route_query_alloc(struct rdma_cm_id *id, struct cmx_route *route,
		      const struct cmx_sa_query *query, u32 timeout_ms)
{
	struct cmx_route_query *q;

	q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	if (!q)
		return NULL;
	refcount_set(&q->ref, 2);
	INIT_DELAYED_WORK(&q->work, cmx_route_query_work);
	q->waiter.done = cmx_route_query_done;
	q->id = id;
	q->route = route;
	q->deadline = jiffies + msecs_to_jiffies(timeout_ms);
	memcpy(&q->dgid, query->rec + CMX_PATH_DGID, sizeof(q->dgid));
	return q;
}

/*
 * Queries the route of @id. Returns 0 if an event follows; -EAGAIN: a limit of
 * the user is reached; or another negative errno: rdma_cm has to query.
 */
int cmx_route_query_start(struct rdma_cm_id *id, struct cmx_route *route,
			  u32 timeout_ms, u8 tos, kuid_t uid)
{
	struct cmx_sa_query query CMX_UNINIT;
	struct cmx_route_query *q;
	struct cmx_sa_port *port;
	int ret;

	/* The remains of a query that has ended */
	cmx_route_query_stop(route);
	/* Until then rdma_cm changes the address. */
	if (!timeout_ms || !cmx_route_is_addressed(route))
		return -EINVAL;
	if (cmx_path_provider_listens())
		return -EOPNOTSUPP;
	port = cmx_cached_path_query(id, tos, &query);
	if (IS_ERR(port))
		return PTR_ERR(port);
	ret = -ENODEV;
	if (!(route->locked ? cmx_sa_port_is_active(port) :
			      cmx_sa_port_check(port)))
		goto put;
	ret = -ENOMEM;
	q = cmx_route_query_alloc(id, route, &query, timeout_ms);
	if (!q)
		goto put;
	ret = -EINVAL;
	if (!cmx_route_claim(id, route)) {
		kfree(q);
		goto put;
	}
	spin_lock(&cmx_route_lock);
	route->query = q;
	spin_unlock(&cmx_route_lock);
	/* Before the response, which queues it without delay */
	cmx_route_query_kick(q, msecs_to_jiffies(timeout_ms));
	cmx_stat_inc(routes);
	ret = cmx_route_query_send(q, port, &query, uid);
	if (ret)
		cmx_route_query_stop(route);
	else
		cmx_route_query_late(q);
	cmx_route_query_put(q);
put:
	cmx_sa_port_put(port);
	return ret;
}

int cmx_route_init(void)
{
	cmx_route_wq = alloc_workqueue("rdma_cmx_route", WQ_UNBOUND, 0);
	return cmx_route_wq ? 0 : -ENOMEM;
}

/* The last waiter was called. */
void cmx_route_exit(void)
{
	destroy_workqueue(cmx_route_wq);
}
