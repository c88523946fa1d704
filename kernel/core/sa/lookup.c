// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Outstanding queries to an SA. Equal queries of several callers share one
 * lookup (sched.h). It waits for a slot (load.c). With a slot it has
 * outstanding MADs (send.c); its work item retries the query until the
 * deadline. After a response or error the work item calls the waiters, so that
 * ib_mad does not wait for them. It never waits for firmware. A lookup without
 * waiters still accepts a response, for the cache, but does not retry.
 *
 * A response to a query that was sent before the port changed, in another
 * generation of the cache, is ignored: the query is sent again. A response to a
 * query that was sent before its path changed is not cached.
 *
 * cmx_sa_lock guards all of it.
 */
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "sa/internal.h"
#include "sa/trace.h"
#include "sched.h"

/* Timeouts that a ClassPortInfo query gets at most */
#define CMX_SA_INFO_TIMEOUTS 4

/* Numbers the queries that change the SA */
static atomic64_t cmx_sa_changes = ATOMIC64_INIT(0);
/*
 * Number of changes of this host's services. Of all ports and namespaces:
 * several may have the same SA, and a service of one namespace is found in
 * another. A change costs the user who makes it a MAD, and others at most the
 * query that they would send without the cache.
 */
static atomic64_t cmx_sa_services = ATOMIC64_INIT(0);

static struct cmx_sa_lookup *
cmx_sa_lookup_of(const struct cmx_sched_entity *entity)
{
	return container_of(entity, struct cmx_sa_lookup, entity);
}

static bool cmx_sa_lookup_same(const struct cmx_sched_entity *a,
			       const struct cmx_sched_entity *b)
{
	const struct cmx_sa_lookup *l = cmx_sa_lookup_of(a);
	const struct cmx_sa_lookup *m = cmx_sa_lookup_of(b);

	/* One that waits is sent after all changes so far. */
	if (a->state == CMX_SCHED_RUNNING && l->gid_changes != m->gid_changes)
		return false;
	return l->dropped == m->dropped && cmx_sa_key_equal(&l->key, &m->key);
}

/* Queues the work item of @l after @delay, or at its present, earlier time. */
static void cmx_sa_lookup_kick(struct cmx_sa_lookup *l, unsigned long delay)
{
	refcount_inc(&l->ref);
	if (delay ? !queue_delayed_work(cmx_sa_wq, &l->work, delay) :
		    mod_delayed_work(cmx_sa_wq, &l->work, 0))
		refcount_dec(&l->ref);	/* it was pending, with a reference */
}

/* Time until the next step of @l, which is sent now */
static unsigned long cmx_sa_lookup_delay(const struct cmx_sa_lookup *l)
{
	/* The deadline may have passed since the caller compared it. */
	long left = l->deadline - jiffies;

	return min_t(unsigned long, max(left, 0L),
		     cmx_sa_retry_delay(l->port, l->retries));
}

static void cmx_sa_lookup_start(struct cmx_sched_entity *entity)
{
	struct cmx_sa_lookup *l = cmx_sa_lookup_of(entity);

	l->started_at = jiffies;
	l->deadline = jiffies + cmx_sa_timeout_total();
	l->gid_changes = cmx_sa_gid_changes(l->port, &l->key.query);
	if (l->key.query.attr_id == cpu_to_be16(IB_SA_ATTR_INFORM_INFO))
		cmx_stat_inc(sa_subscribes);
	else
		cmx_stat_inc(sa_queries);
	cmx_sa_lookup_kick(l, cmx_sa_lookup_delay(l));
	l->retries = 1;
	cmx_sa_send(l);
}

static void cmx_sa_lookup_release(struct cmx_sched_entity *entity)
{
	cmx_sa_lookup_put(cmx_sa_lookup_of(entity));
}

const struct cmx_sched_ops cmx_sa_lookup_ops = {
	.same = cmx_sa_lookup_same,
	.limits = cmx_sa_limits,
	.start = cmx_sa_lookup_start,
	.release = cmx_sa_lookup_release,
	/* One user may have any number of waiters. */
	.shared = 1024,
};

/*
 * The work item calls the waiters. It needs the lock, so the port's reference
 * is not the last one.
 */
void cmx_sa_lookup_done(struct cmx_sa_lookup *l,
			struct cmx_sa_response *response, int error)
{
	cmx_sched_leave(&l->entity);
	cmx_sa_mads_cancel(l);
	l->error = error;
	if (response) {
		cmx_sa_response_get(response);
		l->response = response;
	}
	if (error)
		cmx_stat_inc(sa_errors);
	trace_cmx_sa_done(l, response, error);
	cmx_sa_lookup_kick(l, 0);
	cmx_sa_send_cancel(l);
	refcount_dec(&l->ref);
}

/* Number of changes of paths to the DGID of a query */
u32 cmx_sa_gid_changes(const struct cmx_sa_port *port,
		       const struct cmx_sa_query *query)
{
	const union ib_gid *gid = cmx_sa_query_dgid(query);

	if (!gid)
		return 0;
	return READ_ONCE(port->gid_changes[cmx_sa_gid_hash(gid) %
					   CMX_SA_GID_CHANGES]);
}

/*
 * The paths to a GID have changed. The cache drops them. Responses to earlier
 * queries are not cached, and a later query does not join an earlier one.
 * Returns the number of dropped paths.
 */
unsigned int cmx_sa_gid_changed(struct cmx_sa_port *port,
				const union ib_gid *gid)
{
	u32 *changes = &port->gid_changes[cmx_sa_gid_hash(gid) %
					  CMX_SA_GID_CHANGES];

	spin_lock(&cmx_sa_lock);
	WRITE_ONCE(*changes, *changes + 1);
	spin_unlock(&cmx_sa_lock);
	return cmx_sa_cache_drop_gid(&port->cache, gid);
}

/*
 * A user drops the paths of a namespace, or those to @gid if it is not NULL.
 * Responses to queries that were sent before are not cached, and a later query
 * does not join them. At most sa_parallel queries are outstanding. Queries that
 * wait are sent later.
 */
void cmx_sa_lookups_drop(struct cmx_sa_port *port, u64 net,
			 const union ib_gid *gid)
{
	const union ib_gid *dgid;
	struct cmx_sa_lookup *l;

	spin_lock(&cmx_sa_lock);
	list_for_each_entry(l, &port->sched.running, entity.node) {
		dgid = cmx_sa_query_dgid(&l->key.query);
		if (l->key.net == net && dgid &&
		    (!gid || !memcmp(dgid, gid, sizeof(*gid))))
			l->dropped = true;
	}
	spin_unlock(&cmx_sa_lock);
}

/*
 * A query that was sent since @since has no response. If the SA has not
 * responded in that time, queued lookups that have waited nearly as long end,
 * too, one by one.
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
		cond_resched();
	} while (more);
}

/* Under cmx_sa_lock, without a response */
static void cmx_sa_lookup_expire(struct cmx_sa_lookup *l)
{
	if (!l->busy)
		cmx_stat_inc(sa_timeouts);
	cmx_sa_lookup_done(l, NULL, l->busy ? -EAGAIN : -ETIMEDOUT);
}

/* Retries the query, or ends it with a timeout. */
static void cmx_sa_lookup_step(struct cmx_sa_lookup *l)
{
	struct cmx_sa_port *port = l->port;
	unsigned long since = l->started_at;
	bool late;

	spin_lock(&cmx_sa_lock);
	if (l->entity.state != CMX_SCHED_RUNNING) {
		spin_unlock(&cmx_sa_lock);
		return;
	}
	late = time_after_eq(jiffies, l->deadline);
	if (late || !cmx_sched_wanted(&l->entity)) {
		cmx_sa_lookup_expire(l);
	} else {
		/* Now, or it would delay a work item that a response queues. */
		cmx_sa_lookup_kick(l, cmx_sa_lookup_delay(l));
		if (cmx_sa_mads_due(l) && cmx_sa_send(l)) {
			/*
			 * An SA without memory for records may respond to other
			 * queries.
			 */
			if (!cmx_sa_query_changes(&l->key.query))
				cmx_sa_window_adapt(port, cmx_sa_timeout(0));
			cmx_stat_inc(sa_retries);
			l->retries++;
		}
	}
	spin_unlock(&cmx_sa_lock);

	/* A query without waiters ends early, which is not the SA's fault. */
	if (late)
		cmx_sa_queue_expire(port, since);
}

/* With the lock, or the state may be visible before the response. */
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
		cmx_sched_complete(&l->entity, l->response, l->error);
	else
		cmx_sa_lookup_step(l);
	cmx_sa_lookup_put(l);
}

static void cmx_sa_key_init(struct cmx_sa_key *key, struct net *net,
			    const struct cmx_sa_query *query)
{
	key->net = net->net_cookie;
	key->services = 0;
	/* A change does not join an older query. */
	if (cmx_sa_query_changes(query))
		key->services = atomic64_inc_return(&cmx_sa_changes);
	else if (query->attr_id == cpu_to_be16(IB_SA_ATTR_SERVICE_REC))
		key->services = atomic64_read(&cmx_sa_services);
	key->query = *query;
}

/**
 * cmx_sa_services_changed - invalidate all responses about services
 *
 * Call it after a ServiceRecord was set or deleted. Later queries, of any port,
 * neither use a cached response nor join an outstanding query.
 *
 * Context: any.
 */
void cmx_sa_services_changed(void)
{
	atomic64_inc(&cmx_sa_services);
}

static struct cmx_sa_lookup *
cmx_sa_lookup_alloc(struct cmx_sa_port *port, struct net *net, kuid_t uid,
		    const struct cmx_sa_query *query)
{
	struct cmx_sa_lookup *l;

	l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);
	if (!l)
		return NULL;
	refcount_set(&l->ref, 1);
	INIT_LIST_HEAD(&l->mads);
	INIT_LIST_HEAD(&l->send);
	INIT_DELAYED_WORK(&l->work, cmx_sa_lookup_work);
	cmx_sa_key_init(&l->key, net, query);
	l->gid_changes = cmx_sa_gid_changes(port, query);
	if (cmx_sched_entity_init(&l->entity, &port->sched, uid,
				  cmx_sa_key_hash(&l->key))) {
		kfree(l);
		return NULL;
	}
	cmx_sa_port_hold(port);
	l->port = port;
	l->queued_at = jiffies;
	cmx_stat_inc(live_sa_lookups);
	return l;
}

/* A query was not sent. @joined: it waits for the response to another one. */
static void cmx_sa_saved(const struct cmx_sa_port *port,
			 const struct cmx_sa_query *query, bool joined)
{
	bool path = cmx_sa_query_dgid(query);

	if (path)
		trace_cmx_path_saved(port, query, joined);
	if (joined) {
		cmx_stat_inc(sa_coalesced);
		if (path)
			cmx_stat_inc(paths_coalesced);
	} else {
		cmx_stat_inc(sa_hits);
		if (path)
			cmx_stat_inc(paths_hits);
	}
}

/**
 * cmx_sa_peek - get the response to a query from the cache
 * @port: port of the SA
 * @net: on whose behalf
 * @query: the query, which is not completed
 * @response: the response, with a reference for the caller
 *
 * Context: process context, does not sleep.
 * Return: 0, or -EINPROGRESS if it is not in the cache.
 */
int cmx_sa_peek(struct cmx_sa_port *port, struct net *net,
		const struct cmx_sa_query *query,
		struct cmx_sa_response **response)
{
	struct cmx_sa_key key;

	cmx_sa_key_init(&key, net, query);
	*response = cmx_sa_cache_get(&port->cache, &key);
	return *response ? 0 : -EINPROGRESS;
}

/**
 * cmx_sa_cached - complete a query from the cache
 * @port: port of the SA
 * @net: on whose behalf
 * @query: the query
 * @response: the response, with a reference for the caller
 *
 * Context: process context, does not sleep.
 * Return: 0, or -EINPROGRESS if it is not in the cache.
 */
int cmx_sa_cached(struct cmx_sa_port *port, struct net *net,
		  const struct cmx_sa_query *query,
		  struct cmx_sa_response **response)
{
	int ret = cmx_sa_peek(port, net, query, response);

	if (!ret)
		cmx_sa_saved(port, query, false);
	return ret;
}

/**
 * cmx_sa_uncache - drop the response to a query, so that the next one is sent
 * @port: port of the SA
 * @net: on whose behalf
 * @query: the query
 * @why: the reason, if it is a path
 *
 * Context: process context, may sleep.
 * Return: true if there was a response.
 */
bool cmx_sa_uncache(struct cmx_sa_port *port, struct net *net,
		    const struct cmx_sa_query *query, enum cmx_sa_gone why)
{
	struct cmx_sa_key key;

	cmx_sa_key_init(&key, net, query);
	return cmx_sa_cache_remove(&port->cache, &key, why);
}

/**
 * cmx_sa_lookup - send a query to the SA
 * @port: port of the SA
 * @net: on whose behalf
 * @uid: user that the query counts for
 * @query: the query; copied
 * @waiter: its done() is called once, possibly before this returns, unless
 *	cmx_sa_forget() comes first. It receives a struct cmx_sa_response, or
 *	one of these errors:
 *	-ETIMEDOUT: the SA did not respond;
 *	-EAGAIN: the SA was busy all the time;
 *	-ECONNREFUSED: the SA refused, or redirected to another one;
 *	-EBADMSG: the response is malformed;
 *	-EOVERFLOW: the response has more than sa_max_records records;
 *	-ENODEV: the port went down, or the device was removed;
 *	-ENOMEM
 *
 * It joins an outstanding lookup of the same query.
 *
 * Context: process context, may sleep for memory only.
 * Return: 0; -ENODEV: the port is not active; -EAGAIN: too many queries of the
 * user wait; -ENOMEM. After an error done() is not called.
 */
int cmx_sa_lookup(struct cmx_sa_port *port, struct net *net, kuid_t uid,
		  const struct cmx_sa_query *query,
		  struct cmx_sched_waiter *waiter)
{
	struct cmx_sa_lookup *l;
	int ret = 1;

	if (WARN_ON_ONCE(query->rec_len > sizeof(query->rec)))
		return -EINVAL;
	l = cmx_sa_lookup_alloc(port, net, uid, query);
	if (!l)
		return -ENOMEM;

	spin_lock(&cmx_sa_lock);
	/* The response may have arrived since the caller checked the cache. */
	l->response = cmx_sa_cache_get(&port->cache, &l->key);
	if (!port->active) {
		ret = -ENODEV;
	} else if (l->response) {
		cmx_sa_saved(port, query, false);
		cmx_sched_wait(&l->entity, waiter);
		cmx_sa_lookup_kick(l, 0);
	} else {
		ret = cmx_sched_join(&l->entity, waiter);
		if (ret > 0)
			cmx_sa_saved(port, query, true);
		else if (ret)
			cmx_stat_inc(sa_refused);
	}
	spin_unlock(&cmx_sa_lock);
	/* With a response, the work item has another reference. */
	if (ret)
		cmx_sa_lookup_put(l);
	return min(ret, 0);
}

/**
 * cmx_sa_forget - cancel a wait
 * @waiter: given to cmx_sa_lookup()
 *
 * Has no effect on a waiter that was called, or never waited (zeroed).
 *
 * Context: process context, does not sleep.
 * Return: true if done() has not been called and will not be called; false if
 * it was, is being called, or @waiter did not wait.
 */
bool cmx_sa_forget(struct cmx_sched_waiter *waiter)
{
	return cmx_sched_forget(&cmx_sa_lock, waiter);
}

/*
 * Ends all queries of a port, one by one, while it is not active. It stops if
 * the port becomes active, because the list may then have new ones.
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
		cond_resched();
	} while (l);
}

/*
 * Under cmx_sa_lock. All of the timeout for the new SA: only an event queries its
 * ClassPortInfo again. The subnet manager chooses the number of events, so there
 * is a limit. Returns false if @l must end; the event begins another one.
 */
static bool cmx_sa_lookup_extend(struct cmx_sa_lookup *l)
{
	unsigned long total = cmx_sa_timeout_total();

	if (time_after(jiffies + total,
		       l->started_at + CMX_SA_INFO_TIMEOUTS * total))
		return false;
	l->deadline = jiffies + total;
	return true;
}

/*
 * The SA, or its address, has changed: each outstanding query is sent again
 * without delay. There are at most sa_parallel. Queries that waited while the
 * port was down continue, too.
 */
void cmx_sa_lookups_again(struct cmx_sa_port *port)
{
	struct cmx_sa_lookup *l, *ended = NULL;

	spin_lock(&cmx_sa_lock);
	list_for_each_entry(l, &port->sched.running, entity.node) {
		cmx_sa_mads_cancel(l);
		/* A port has one. */
		if (cmx_sa_query_is_info(&l->key.query) &&
		    !cmx_sa_lookup_extend(l))
			ended = l;
		cmx_sa_lookup_kick(l, 0);
	}
	if (ended)
		cmx_sa_lookup_expire(ended);
	cmx_sched_run(&port->sched);
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
