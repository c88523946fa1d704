// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Outstanding queries of an SA. The same query of several callers is one
 * lookup:
 *
 *	WAITING ──> RUNNING ──> GONE
 *
 * WAITING waits for a slot (sched.h), since an SA that gets thousands of MADs
 * at once loses most of them, and answers late to the others. RUNNING has MADs
 * out; its work item retries the query until the deadline. GONE has its
 * answer or error, and the work item calls its waiters, and those of lookups
 * that follow it, so that ib_mad does not wait for them. A lookup whose
 * waiters have all gone still takes the answer that comes, for the cache, but
 * does not retry.
 *
 * An answer to a query that was sent before the port changed (the cache has
 * another generation then) does not count: the query is sent again.
 *
 * cmx_sa_lock guards all of it.
 */
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "sa/internal.h"
#include "sa/trace.h"
#include "sched.h"

static unsigned int sa_timeout_ms = 400;
module_param(sa_timeout_ms, cmx_positive, 0644);
MODULE_PARM_DESC(sa_timeout_ms,
		 "Time in ms until the first retry of an SA query (default 400); twice that between the next ones");

static unsigned int sa_retries = 9;
module_param(sa_retries, uint, 0644);
MODULE_PARM_DESC(sa_retries,
		 "Retries of an SA query (default 9, at most 20)");

static unsigned int sa_parallel = 64;
module_param(sa_parallel, cmx_positive, 0644);
MODULE_PARM_DESC(sa_parallel,
		 "Maximum outstanding SA queries per port (default 64)");

static unsigned int sa_per_user = 48;
module_param(sa_per_user, cmx_positive, 0644);
MODULE_PARM_DESC(sa_per_user,
		 "Of those, maximum queries of one user (default 48)");

static unsigned int sa_waiting_per_user = 16384;
module_param(sa_waiting_per_user, cmx_positive, 0644);
MODULE_PARM_DESC(sa_waiting_per_user,
		 "Maximum waiting SA queries of one user and port (default 16384)");

#define CMX_SA_MAX_RETRIES 20
#define CMX_SA_MAX_TIMEOUT_MS 60000

static struct workqueue_struct *cmx_sa_wq;

/* How long to wait for a response after @retries retries, in jiffies. */
static unsigned long cmx_sa_timeout(unsigned int retries)
{
	unsigned int ms = clamp_t(unsigned int, READ_ONCE(sa_timeout_ms), 1,
				  CMX_SA_MAX_TIMEOUT_MS);

	return msecs_to_jiffies(retries ? 2 * ms : ms);
}

static unsigned long cmx_sa_timeout_total(void)
{
	unsigned int i, retries = min_t(unsigned int, READ_ONCE(sa_retries),
					CMX_SA_MAX_RETRIES);
	unsigned long sum = 0;

	for (i = 0; i <= retries; i++)
		sum += cmx_sa_timeout(i);
	return sum;
}

void cmx_sa_lookup_put(struct cmx_sa_lookup *l)
{
	if (!refcount_dec_and_test(&l->ref))
		return;
	cmx_sa_answer_put(l->answer);
	cmx_sa_port_put(l->port);
	kfree(l);
	cmx_stat_dec(live_sa_lookups);
}

/*
 * The number of outstanding queries follows what the SA can do: it grows with
 * each answer that comes at once, and shrinks when one is late, so that retries
 * do not become most of what the SA has to do. Under cmx_sa_lock.
 */
static void cmx_sa_window_adapt(struct cmx_sa_port *port, unsigned long took)
{
	if (took < cmx_sa_timeout(0) / 2)
		port->window++;
	else if (took >= cmx_sa_timeout(0))
		port->window -= port->window / 4;
	port->window = clamp(port->window, CMX_SA_MIN_PARALLEL,
			     max_t(unsigned int, READ_ONCE(sa_parallel),
				   CMX_SA_MIN_PARALLEL));
}

static struct cmx_sched_limits cmx_sa_limits(const struct cmx_sa_port *port)
{
	return (struct cmx_sched_limits) {
		.slots = READ_ONCE(sa_parallel),
		.window = port->window,
		.per_user = READ_ONCE(sa_per_user),
		.waiting_per_user = READ_ONCE(sa_waiting_per_user),
	};
}

static struct cmx_sa_lookup *
cmx_sa_lookup_of(const struct cmx_sched_entity *entity)
{
	return container_of(entity, struct cmx_sa_lookup, entity);
}

bool cmx_sa_lookup_same(const struct cmx_sched_entity *a,
			const struct cmx_sched_entity *b)
{
	return cmx_sa_key_equal(&cmx_sa_lookup_of(a)->key,
				&cmx_sa_lookup_of(b)->key);
}

/* Has the work item of @l run after @delay, or sooner if it would anyhow. */
static void cmx_sa_lookup_kick(struct cmx_sa_lookup *l, unsigned long delay)
{
	refcount_inc(&l->ref);
	if (delay ? !queue_delayed_work(cmx_sa_wq, &l->work, delay) :
		    mod_delayed_work(cmx_sa_wq, &l->work, 0))
		refcount_dec(&l->ref);	/* it was queued, with a reference */
}

/* Starts the next lookups for which there is a slot. */
static void cmx_sa_port_schedule(struct cmx_sa_port *port)
{
	struct cmx_sched_limits limits = cmx_sa_limits(port);
	struct cmx_sa_lookup *l;
	struct cmx_sched_entity *entity;

	while (port->active) {
		entity = cmx_sched_next(&port->sched, &limits);
		if (!entity)
			break;
		l = cmx_sa_lookup_of(entity);
		l->started_at = jiffies;
		l->deadline = jiffies + cmx_sa_timeout_total();
		cmx_stat_inc(sa_queries);
		cmx_sa_lookup_kick(l, 0);
	}
}

/*
 * Its work item calls the waiters; that needs the lock, so the reference of
 * the port cannot be the last one.
 */
static void cmx_sa_lookup_done(struct cmx_sa_lookup *l,
			       struct cmx_sa_answer *answer, int error)
{
	cmx_sched_leave(&l->port->sched, &l->entity);
	cmx_sa_mads_cancel(l);
	l->error = error;
	if (answer) {
		cmx_sa_answer_get(answer);
		l->answer = answer;
	}
	if (error)
		cmx_stat_inc(sa_errors);
	trace_cmx_sa_done(l, answer, error);
	cmx_sa_port_schedule(l->port);
	cmx_sa_lookup_kick(l, 0);
	refcount_dec(&l->ref);
}

/*
 * The SA has responded to a MAD of @l that was sent at @sent_at. -EBUSY:
 * that it cannot answer now; the next retry is due anyhow.
 */
void cmx_sa_lookup_response(struct cmx_sa_lookup *l, u32 generation,
			    unsigned long sent_at, struct cmx_sa_answer *answer,
			    int error)
{
	struct cmx_sa_port *port = l->port;
	struct cmx_sa_entry *entry = NULL;
	LIST_HEAD(victims);

	if (!error)
		entry = cmx_sa_entry_alloc(&l->key, answer, sent_at,
					   generation);

	spin_lock(&cmx_sa_lock);
	port->last_response = jiffies;
	cmx_sa_window_adapt(port, port->last_response - sent_at);
	if (l->entity.state == CMX_SCHED_RUNNING &&
	    generation == cmx_sa_cache_generation(&port->cache)) {
		l->busy = error == -EBUSY;
		/* Before the lookup goes, or others would query again. */
		if (entry)
			cmx_sa_cache_add(&port->cache, entry, &victims);
		entry = NULL;
		if (!l->busy)
			cmx_sa_lookup_done(l, answer, error);
	}
	spin_unlock(&cmx_sa_lock);

	cmx_sa_entry_free(entry);
	cmx_sa_entries_free(&victims);
}

/*
 * A query that was sent since @since has no response. If the SA has been
 * silent all that time, those who have waited in the queue nearly as long need
 * not do so again: they end too, one by one.
 */
static void cmx_sa_queue_expire(struct cmx_sa_port *port, unsigned long since)
{
	unsigned long late = since + cmx_sa_timeout_total() / 4;
	struct cmx_sa_lookup *l;
	bool more;

	do {
		more = false;
		spin_lock(&cmx_sa_lock);
		l = list_first_entry_or_null(&port->sched.waiting,
					     struct cmx_sa_lookup, entity.node);
		if (l && time_before(port->last_response, since) &&
		    time_before(l->queued_at, late)) {
			cmx_stat_inc(sa_timeouts);
			cmx_sa_lookup_done(l, NULL, -ETIMEDOUT);
			more = true;
		}
		spin_unlock(&cmx_sa_lock);
	} while (more);
}

/* Sends the query, or sends it again, or gives up. */
static void cmx_sa_lookup_step(struct cmx_sa_lookup *l)
{
	struct cmx_sa_port *port = l->port;
	unsigned long since = l->started_at;
	bool again, late, over;

	spin_lock(&cmx_sa_lock);
	if (l->entity.state != CMX_SCHED_RUNNING) {
		spin_unlock(&cmx_sa_lock);
		return;
	}
	again = l->retries;
	late = time_after_eq(jiffies, l->deadline);
	over = late || (again && list_empty(&l->waiters) &&
			list_empty(&l->entity.followers));
	if (over) {
		if (!l->busy)
			cmx_stat_inc(sa_timeouts);
		cmx_sa_lookup_done(l, NULL, l->busy ? -EAGAIN : -ETIMEDOUT);
	} else {
		/* Now, or it would put off what the answer makes urgent. */
		cmx_sa_lookup_kick(l, min(cmx_sa_timeout(l->retries),
					  l->deadline - jiffies));
		if (again)
			cmx_sa_window_adapt(port, cmx_sa_timeout(0));
		l->retries++;
	}
	spin_unlock(&cmx_sa_lock);

	/* A query that nobody waits for ends early, and proves nothing. */
	if (late)
		cmx_sa_queue_expire(port, since);
	if (over)
		return;
	if (again) {
		cmx_stat_inc(sa_retries);
		/* Is the SM still where it was? */
		cmx_sa_port_refresh(port);
	}
	cmx_sa_mad_send(l);
}

/* One by one: those who still wait may go at any time. */
static void cmx_sa_lookup_tell(struct cmx_sa_lookup *l,
			       struct cmx_sa_answer *answer, int error)
{
	struct cmx_sa_waiter *w;

	for (;;) {
		spin_lock(&cmx_sa_lock);
		w = list_first_entry_or_null(&l->waiters, struct cmx_sa_waiter,
					     node);
		if (w) {
			list_del(&w->node);
			w->lookup = NULL;
		}
		spin_unlock(&cmx_sa_lock);
		if (!w)
			return;
		w->done(w, answer, error);
		cond_resched();
	}
}

/* Everybody who waits for the same. */
static void cmx_sa_lookup_tell_all(struct cmx_sa_lookup *l)
{
	struct cmx_sa_lookup *other;
	struct cmx_sched_entity *follower;

	cmx_sa_lookup_tell(l, l->answer, l->error);
	for (;;) {
		spin_lock(&cmx_sa_lock);
		follower = cmx_sched_follower(&l->entity);
		spin_unlock(&cmx_sa_lock);
		if (!follower)
			return;
		other = cmx_sa_lookup_of(follower);
		cmx_sa_lookup_tell(other, l->answer, l->error);
		cmx_sa_lookup_put(other);
	}
}

/* With the lock, or the state may be seen before the answer is. */
static bool cmx_sa_lookup_gone(const struct cmx_sa_lookup *l)
{
	bool gone;

	spin_lock(&cmx_sa_lock);
	gone = l->entity.state == CMX_SCHED_GONE;
	spin_unlock(&cmx_sa_lock);
	return gone;
}

static void cmx_sa_lookup_work(struct work_struct *work)
{
	struct cmx_sa_lookup *l = container_of(to_delayed_work(work),
					       struct cmx_sa_lookup, work);

	if (cmx_sa_lookup_gone(l))
		cmx_sa_lookup_tell_all(l);
	else
		cmx_sa_lookup_step(l);
	cmx_sa_lookup_put(l);
}

static void cmx_sa_key_init(struct cmx_sa_key *key, struct net *net,
			    const struct cmx_sa_query *query)
{
	key->net = net->net_cookie;
	key->query = *query;
}

static struct cmx_sa_lookup *
cmx_sa_lookup_alloc(struct cmx_sa_port *port, struct net *net,
		    const struct cmx_sa_query *query)
{
	struct cmx_sa_lookup *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return NULL;
	refcount_set(&l->ref, 1);
	INIT_LIST_HEAD(&l->waiters);
	INIT_LIST_HEAD(&l->mads);
	INIT_DELAYED_WORK(&l->work, cmx_sa_lookup_work);
	cmx_sa_port_hold(port);
	l->port = port;
	cmx_sa_key_init(&l->key, net, query);
	cmx_sched_entity_init(&l->entity, cmx_sa_key_hash(&l->key));
	cmx_stat_inc(live_sa_lookups);
	return l;
}

/**
 * cmx_sa_cached - complete a query from the cache
 * @port: whose SA it is for
 * @net: on whose behalf
 * @query: the query
 * @answer: where the answer goes, with a reference for the caller
 *
 * Context: process.
 * Return: 0, or -EINPROGRESS if it is not in the cache.
 */
int cmx_sa_cached(struct cmx_sa_port *port, struct net *net,
		  const struct cmx_sa_query *query,
		  struct cmx_sa_answer **answer)
{
	struct cmx_sa_key key;

	cmx_sa_key_init(&key, net, query);
	*answer = cmx_sa_cache_get(&port->cache, &key);
	if (!*answer)
		return -EINPROGRESS;
	cmx_stat_inc(sa_hits);
	return 0;
}

/**
 * cmx_sa_uncache - forget the answer to a query, so that the next one is sent
 * @port: whose SA
 * @net: on whose behalf
 * @query: the query
 *
 * Context: process.
 */
void cmx_sa_uncache(struct cmx_sa_port *port, struct net *net,
		    const struct cmx_sa_query *query)
{
	struct cmx_sa_key key;

	cmx_sa_key_init(&key, net, query);
	cmx_sa_cache_remove(&port->cache, &key);
}

/**
 * cmx_sa_lookup - send a query to the SA
 * @port: whose SA
 * @net: on whose behalf
 * @uid: user whom the query is counted for
 * @query: the query; copied
 * @waiter: its done() is called once, maybe by another CPU before this has
 *	returned, unless cmx_sa_forget() comes first
 *
 * Joins a lookup of the same query that is under way.
 *
 * Context: process, may sleep for memory only.
 * Return: 0; -ENODEV: the port is not active (any more); -EAGAIN: too many
 * queries of the user wait; -ENOMEM; then done() is not called.
 */
int cmx_sa_lookup(struct cmx_sa_port *port, struct net *net, kuid_t uid,
		  const struct cmx_sa_query *query,
		  struct cmx_sa_waiter *waiter)
{
	struct cmx_sched_limits limits;
	struct cmx_sa_lookup *l, *fresh;
	struct cmx_sched_user *user;
	struct cmx_sched_entity *entity;
	int ret = 0;

	if (WARN_ON_ONCE(query->rec_len > sizeof(query->rec)))
		return -EINVAL;
	user = cmx_sched_user_alloc(uid);
	if (!user)
		return -ENOMEM;
	fresh = cmx_sa_lookup_alloc(port, net, query);
	if (!fresh) {
		kfree(user);
		return -ENOMEM;
	}

	spin_lock(&cmx_sa_lock);
	l = fresh;
	entity = cmx_sched_find(&port->sched, &fresh->entity, uid);
	/* It may have been answered since the caller looked there. */
	if (!entity)
		fresh->answer = cmx_sa_cache_get(&port->cache, &fresh->key);
	if (!port->active) {
		ret = -ENODEV;
	} else if (entity) {
		cmx_stat_inc(sa_coalesced);
		l = cmx_sa_lookup_of(entity);
	} else if (fresh->answer) {
		cmx_stat_inc(sa_hits);
		cmx_sa_lookup_kick(l, 0);
	} else {
		limits = cmx_sa_limits(port);
		ret = cmx_sched_add(&port->sched, &limits, &fresh->entity,
				    &user);
		if (ret) {
			cmx_stat_inc(sa_refused);
		} else {
			l->queued_at = jiffies;
			fresh = NULL;
		}
	}
	if (!ret) {
		waiter->lookup = l;
		list_add_tail(&waiter->node, &l->waiters);
		cmx_sa_port_schedule(port);
	}
	spin_unlock(&cmx_sa_lock);
	kfree(user);
	if (fresh)
		cmx_sa_lookup_put(fresh);
	return ret;
}

/**
 * cmx_sa_forget - wait no longer
 * @waiter: given to cmx_sa_lookup()
 *
 * Harmless on one that is through or never waited (zeroed).
 *
 * Context: process, does not sleep.
 * Return: true if done() has not been called and will not be; false if it
 * was, is being called, or nothing was waited for.
 */
bool cmx_sa_forget(struct cmx_sa_waiter *waiter)
{
	struct cmx_sa_lookup *l, *idle = NULL;

	spin_lock(&cmx_sa_lock);
	l = waiter->lookup;
	if (l) {
		list_del(&waiter->node);
		waiter->lookup = NULL;
		/* Without a slot, no work item knows it. */
		if (list_empty(&l->waiters) &&
		    (l->entity.state == CMX_SCHED_WAITING ||
		     l->entity.state == CMX_SCHED_FOLLOWING)) {
			cmx_sched_leave(&l->port->sched, &l->entity);
			idle = l;
		}
	}
	spin_unlock(&cmx_sa_lock);
	if (idle)
		cmx_sa_lookup_put(idle);
	return l;
}

/*
 * All queries of a port end, one by one, while it is not active: if it comes
 * up meanwhile, there are new ones among them.
 */
void cmx_sa_lookups_fail(struct cmx_sa_port *port, int error)
{
	struct cmx_sa_lookup *l;

	do {
		spin_lock(&cmx_sa_lock);
		l = list_first_entry_or_null(&port->sched.running,
					     struct cmx_sa_lookup,
					     entity.node) ?:
		    list_first_entry_or_null(&port->sched.waiting,
					     struct cmx_sa_lookup,
					     entity.node);
		if (port->active)
			l = NULL;
		if (l)
			cmx_sa_lookup_done(l, NULL, error);
		spin_unlock(&cmx_sa_lock);
	} while (l);
}

/*
 * The way to the SA is another one, or the SA itself: each outstanding query is
 * sent again at once. There are at most sa_parallel of them. And those go on
 * that waited while the port was down for a moment.
 */
void cmx_sa_lookups_again(struct cmx_sa_port *port)
{
	struct cmx_sa_lookup *l;

	spin_lock(&cmx_sa_lock);
	list_for_each_entry(l, &port->sched.running, entity.node) {
		cmx_sa_mads_cancel(l);
		cmx_sa_lookup_kick(l, 0);
	}
	cmx_sa_port_schedule(port);
	spin_unlock(&cmx_sa_lock);
}

int cmx_sa_lookups_init(void)
{
	cmx_sa_wq = alloc_workqueue("rdma_cmx_sa", WQ_UNBOUND, 0);
	return cmx_sa_wq ? 0 : -ENOMEM;
}

/* Waits until the last waiter was called. */
void cmx_sa_lookups_exit(void)
{
	destroy_workqueue(cmx_sa_wq);
}
