// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Watches: a query that is repeated, and a callback when its result has
 * changed.
 *
 * One work item of a watch does everything, step by step: it starts the query;
 * the query's end queues it; it compares, calls back, and sets its timer. So a
 * watch has at most one outstanding query, and a watch in its callback delays
 * no other. It is busy from the first step to the last.
 *
 * Two queries of a watch start at least watch_gap_ms apart. Events of devices
 * and requests for a refresh move the timer forward as far as that allows.
 * While the watch is busy they are deferred. After a failure the next query
 * follows after the minimum time, which doubles with each failure.
 *
 * A watch has no reference of its network namespace. When the namespace ends,
 * the watch clears its pointer under the lock, and calls back a last time.
 *
 * cmx_watch_lock guards the list and all fields of a watch that not only its
 * work item uses. It is innermost, in process context. Code under it only sets
 * timers. rdma_cmx_watch_stop() frees a watch after its work item has ended. If
 * the callback has stopped the watch, the work item frees it.
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "resolve/resolve.h"
#include "sched.h"

static unsigned int watches_max = 1024;
module_param(watches_max, uint, 0644);
MODULE_PARM_DESC(watches_max,
		 "Maximum watches, of which one module has a quarter at most (default 1024)");

static unsigned int watch_gap_ms = 5000;
module_param(watch_gap_ms, cmx_positive, 0644);
MODULE_PARM_DESC(watch_gap_ms,
		 "Minimum time in ms between two queries of a watch (default 5000)");

#define CMX_WATCH_INTERVAL_MS	30000
/* A GID table, and a cache of an SA, follows an event within this time. */
#define CMX_WATCH_SETTLE_MS	250

struct rdma_cmx_watch {
	struct list_head node;
	struct rdma_cmx_query_attr attr;	/* net is NULL */
	struct module *owner;
	rdma_cmx_watch_fn changed;
	void *context;
	u32 interval_ms;
	struct net *net;		/* NULL: gone */
	struct delayed_work work;
	unsigned long started;		/* of the last query, in jiffies */
	unsigned long due;		/* the timer, unless busy */
	unsigned int fails;		/* in a row */
	int error;			/* of the last query */
	bool busy;
	unsigned long settled;		/* evaluate earlier events then */
	bool again;			/* repeat a query from before that */
	bool refresh;			/* the next query is a refresh */
	bool refreshing;		/* the last query was a refresh */
	bool ended;			/* the last callback has begun */
	bool stopped;
	bool self;			/* stopped by its callback */
	struct task_struct *caller;	/* runs the callback */
	struct rdma_cmx_query *query;	/* used by the work item */
	struct rdma_cmx_result *res;	/* of the query, or an ERR_PTR */
	struct cmx_watch_set *set;	/* NULL: no report yet */
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	char node_text[RDMA_CMX_MAX_NODE + 1];
	char service[RDMA_CMX_MAX_SERVICE + 1];
	char dev[IB_DEVICE_NAME_MAX];
	char iface[IFNAMSIZ];
};

static DEFINE_SPINLOCK(cmx_watch_lock);
static LIST_HEAD(cmx_watches);
static unsigned int cmx_watch_count;
static struct workqueue_struct *cmx_watch_wq;

/* Under the lock */
static void cmx_watch_set_timer(struct rdma_cmx_watch *w, unsigned long due)
{
	unsigned long now = jiffies;

	w->due = due;
	mod_delayed_work(cmx_watch_wq, &w->work,
			 time_after(due, now) ? due - now : 0);
}

/* Under the lock. The earliest time of the next query, at least @ms from now */
static unsigned long cmx_watch_earliest(const struct rdma_cmx_watch *w,
					unsigned int ms)
{
	u32 gap = cmx_watch_delay(READ_ONCE(watch_gap_ms), w->fails,
				  get_random_u32());
	unsigned long due = w->started + msecs_to_jiffies(gap);
	unsigned long now = jiffies + msecs_to_jiffies(ms);

	return time_after(due, now) ? due : now;
}

/* Under the lock. Moves the next query forward to @ms from now, or later. */
static void cmx_watch_pull(struct rdma_cmx_watch *w, unsigned int ms)
{
	unsigned long due = jiffies + msecs_to_jiffies(ms);

	if (time_after(due, w->settled))
		w->settled = due;
	if (w->busy || w->ended) {
		w->again = true;
		return;
	}
	due = cmx_watch_earliest(w, ms);
	if (time_before(due, w->due))
		cmx_watch_set_timer(w, due);
}

static void cmx_watch_free(struct rdma_cmx_watch *w)
{
	rdma_cmx_query_put(w->query);
	rdma_cmx_result_put(w->res);
	kvfree(w->set);
	kfree(w);
	cmx_stat_dec(live_watches);
}

static void cmx_watch_done(struct rdma_cmx_query *query,
			   struct rdma_cmx_result *result, void *context)
{
	struct rdma_cmx_watch *w = context;

	spin_lock(&cmx_watch_lock);
	if (!w->stopped) {
		w->res = result;
		result = NULL;
		cmx_watch_set_timer(w, jiffies);
	}
	spin_unlock(&cmx_watch_lock);
	rdma_cmx_result_put(result);
}

/* Drops the caller's reference of @net. */
static int cmx_watch_query(struct rdma_cmx_watch *w, struct net *net,
			   bool refresh)
{
	struct rdma_cmx_query_attr attr = w->attr;
	int ret;

	attr.net = net;
	attr.refresh = refresh;
	cmx_stat_inc(watch_queries);
	ret = rdma_cmx_query_start(&attr, cmx_watch_done, w, NULL, &w->query);
	put_net(net);
	return ret;
}

/* Stores @res as the reported one, if it is to be reported. */
static bool cmx_watch_take(struct rdma_cmx_watch *w,
			   const struct rdma_cmx_result *res)
{
	int error = PTR_ERR_OR_ZERO(res);
	struct cmx_watch_set *set = NULL;
	bool good, changed = false;

	if (!error || cmx_watch_gone(error, w->attr.src))
		set = cmx_watch_set(res);
	good = set;
	if (good)
		changed = cmx_watch_changed(w->set, set);
	if (changed)
		swap(w->set, set);
	/* A failure, or lack of memory, changes nothing. */
	spin_lock(&cmx_watch_lock);
	w->error = error ?: good ? 0 : -ENOMEM;
	w->fails = good ? 0 : min(w->fails + 1, 4u);
	/* A query that failed may not have updated a cache. */
	w->refresh |= w->refreshing && !good;
	w->refreshing = false;
	spin_unlock(&cmx_watch_lock);
	kvfree(set);
	return changed;
}

/*
 * A reference keeps the owner's module during the callback, which may have
 * stopped the watch, so that the module's exit has nothing to wait for. A
 * module that is being unloaded stops the watch itself.
 */
static void cmx_watch_call(struct rdma_cmx_watch *w,
			   struct rdma_cmx_result *res)
{
	struct module *owner = w->owner;
	bool call;

	if (!try_module_get(owner)) {
		rdma_cmx_result_put(res);
		return;
	}
	spin_lock(&cmx_watch_lock);
	call = !w->stopped;
	if (call)
		w->caller = current;
	spin_unlock(&cmx_watch_lock);
	if (call) {
		cmx_stat_inc(watch_events);
		w->changed(w, res, w->context);
	} else {
		rdma_cmx_result_put(res);
	}
	module_put(owner);
}

/* Under the lock. The watch is done, and waits for the next query. */
static void cmx_watch_rest(struct rdma_cmx_watch *w)
{
	u32 gap = READ_ONCE(watch_gap_ms);
	u32 ms = cmx_watch_delay(w->fails ? gap : max(w->interval_ms, gap),
				 w->fails, get_random_u32());

	w->caller = NULL;
	w->busy = false;
	if (w->stopped || w->ended)
		return;
	if (!w->net)
		cmx_watch_set_timer(w, jiffies);
	else if (w->again || w->refresh)
		cmx_watch_set_timer(w, cmx_watch_earliest(w,
							  CMX_WATCH_SETTLE_MS));
	else
		cmx_watch_set_timer(w, jiffies + msecs_to_jiffies(ms));
}

/*
 * Under the lock. Chooses the next step. Returns false: none; or the result of
 * a query, or a reference of the namespace for a query.
 */
static bool cmx_watch_begin(struct rdma_cmx_watch *w,
			    struct rdma_cmx_result **res, struct net **net)
{
	if (w->stopped || w->ended)
		return false;
	*res = w->res;
	w->res = NULL;
	if (*res)
		return true;
	if (w->busy)
		return false;
	if (!w->net) {
		w->ended = true;
		*res = ERR_PTR(-ENETDOWN);
	} else {
		*net = maybe_get_net(w->net);
		/* The namespace ends. Its exit queues the work item again. */
		if (!*net)
			return false;
		w->started = jiffies;
	}
	w->busy = true;
	return true;
}

static void cmx_watch_work(struct work_struct *work)
{
	struct rdma_cmx_watch *w = container_of(to_delayed_work(work),
						struct rdma_cmx_watch, work);
	bool begins, refresh = false, self;
	struct rdma_cmx_result *res;
	struct net *net = NULL;
	int ret;

	spin_lock(&cmx_watch_lock);
	begins = cmx_watch_begin(w, &res, &net);
	if (net) {
		refresh = w->refresh;
		w->refreshing = refresh;
		w->refresh = false;
		w->again = time_before(w->started, w->settled);
		/* A time long ago would be a later one on 32 bit. */
		if (!w->again)
			w->settled = w->started;
	}
	spin_unlock(&cmx_watch_lock);
	if (!begins)
		return;
	if (net) {
		ret = cmx_watch_query(w, net, refresh);
		if (!ret)
			return;
		res = ERR_PTR(ret);
	}
	rdma_cmx_query_put(w->query);
	w->query = NULL;
	if (w->ended || cmx_watch_take(w, res))
		cmx_watch_call(w, res);
	else
		rdma_cmx_result_put(res);

	spin_lock(&cmx_watch_lock);
	cmx_watch_rest(w);
	self = w->self;
	spin_unlock(&cmx_watch_lock);
	if (!self)
		return;
	/* The end of the namespace may have queued this item meanwhile. */
	cancel_delayed_work(&w->work);
	cmx_watch_free(w);
}

static int cmx_watch_copy(struct rdma_cmx_watch *w,
			  const struct rdma_cmx_watch_attr *attr)
{
	const struct rdma_cmx_query_attr *query = &attr->query;
	struct cmx_hints hints;
	int ret;

	if (query->id || query->route || query->route_count ||
	    attr->interval_ms > CMX_WATCH_MAX_MS)
		return -EINVAL;
	/* Each query would fail so. */
	if ((query->dev_port && !query->dev) || (query->iface && query->dev))
		return -EINVAL;
	/* This also checks lengths and families. */
	ret = cmx_hints_init(&hints, query);
	if (ret)
		return ret;
	w->attr = *query;
	w->attr.net = NULL;
	if (query->node) {
		strscpy(w->node_text, query->node, sizeof(w->node_text));
		w->attr.node = w->node_text;
	}
	if (query->service) {
		strscpy(w->service, query->service, sizeof(w->service));
		w->attr.service = w->service;
	}
	if (query->dev) {
		if (strscpy(w->dev, query->dev, sizeof(w->dev)) < 0)
			return -ENODEV;
		w->attr.dev = w->dev;
	}
	if (query->iface) {
		if (strscpy(w->iface, query->iface, sizeof(w->iface)) < 0)
			return -ENODEV;
		w->attr.iface = w->iface;
	}
	if (query->src) {
		w->src = hints.src;
		w->attr.src = &w->src;
	}
	if (query->dst) {
		w->dst = hints.dst;
		w->attr.dst = &w->dst;
	}
	w->net = query->net;
	w->owner = attr->owner;
	w->interval_ms = attr->interval_ms ?: CMX_WATCH_INTERVAL_MS;
	return 0;
}

/* Under the lock. */
static bool cmx_watch_fits(const struct rdma_cmx_watch *w)
{
	unsigned int max = READ_ONCE(watches_max), own = 0;
	const struct rdma_cmx_watch *other;

	list_for_each_entry(other, &cmx_watches, node)
		own += other->owner == w->owner;
	return cmx_watch_count < max && own < max - max / 4 * 3;
}

struct rdma_cmx_watch *rdma_cmx_watch(const struct rdma_cmx_watch_attr *attr,
				      rdma_cmx_watch_fn changed, void *context)
{
	struct rdma_cmx_watch *w;
	int ret;

	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return ERR_PTR(-ENOMEM);
	ret = cmx_watch_copy(w, attr);
	if (ret) {
		kfree(w);
		return ERR_PTR(ret);
	}
	INIT_DELAYED_WORK(&w->work, cmx_watch_work);
	w->settled = jiffies;
	w->error = -EINPROGRESS;
	w->changed = changed;
	w->context = context;
	cmx_stat_inc(live_watches);
	spin_lock(&cmx_watch_lock);
	if (cmx_watch_fits(w)) {
		list_add_tail(&w->node, &cmx_watches);
		cmx_watch_count++;
		cmx_watch_set_timer(w, jiffies);
	} else {
		ret = -EAGAIN;
	}
	spin_unlock(&cmx_watch_lock);
	if (ret) {
		cmx_watch_free(w);
		return ERR_PTR(ret);
	}
	return w;
}
EXPORT_SYMBOL_GPL(rdma_cmx_watch);

void rdma_cmx_watch_refresh(struct rdma_cmx_watch *watch)
{
	spin_lock(&cmx_watch_lock);
	watch->refresh = true;
	cmx_watch_pull(watch, 0);
	spin_unlock(&cmx_watch_lock);
}
EXPORT_SYMBOL_GPL(rdma_cmx_watch_refresh);

int rdma_cmx_watch_error(struct rdma_cmx_watch *watch)
{
	int error;

	spin_lock(&cmx_watch_lock);
	error = watch->net ? watch->error : -ENETDOWN;
	spin_unlock(&cmx_watch_lock);
	return error;
}
EXPORT_SYMBOL_GPL(rdma_cmx_watch_error);

void rdma_cmx_watch_stop(struct rdma_cmx_watch *watch)
{
	bool self;

	if (IS_ERR_OR_NULL(watch))
		return;
	spin_lock(&cmx_watch_lock);
	list_del(&watch->node);
	cmx_watch_count--;
	watch->stopped = true;
	self = watch->caller == current;
	watch->self = self;
	spin_unlock(&cmx_watch_lock);
	/* The work item frees it when the callback returns. */
	if (self)
		return;
	cancel_delayed_work_sync(&watch->work);
	/* No query is started any more, and its end queues nothing. */
	if (watch->query)
		rdma_cmx_query_cancel(watch->query);
	cmx_watch_free(watch);
}
EXPORT_SYMBOL_GPL(rdma_cmx_watch_stop);

/*
 * Watches that may use @dev query soon after its event. All hosts of a fabric
 * have the event at the same time, so they spread over a quarter of the minimum
 * time.
 */
static void cmx_watch_device(struct ib_device *dev)
{
	u32 spread = clamp(READ_ONCE(watch_gap_ms), 4u,
			   (u32)CMX_WATCH_MAX_MS) / 4;
	struct rdma_cmx_watch *w;

	spin_lock(&cmx_watch_lock);
	list_for_each_entry(w, &cmx_watches, node) {
		if (!w->net || !rdma_dev_access_netns(dev, w->net))
			continue;
		/* A query that failed may succeed now. */
		w->fails = 0;
		cmx_watch_pull(w, CMX_WATCH_SETTLE_MS +
			       get_random_u32() % spread);
	}
	spin_unlock(&cmx_watch_lock);
}

static void cmx_watch_event(struct ib_event_handler *handler,
			    struct ib_event *event)
{
	if (cmx_sa_event_counts(event->event))
		cmx_watch_device(event->device);
}

static struct ib_client cmx_watch_client;

static int cmx_watch_device_add(struct ib_device *dev)
{
	struct ib_event_handler *handler = kzalloc(sizeof(*handler), GFP_KERNEL);

	if (!handler)
		return -ENOMEM;
	INIT_IB_EVENT_HANDLER(handler, dev, cmx_watch_event);
	ib_set_client_data(dev, &cmx_watch_client, handler);
	ib_register_event_handler(handler);
	cmx_watch_device(dev);
	return 0;
}

static void cmx_watch_device_remove(struct ib_device *dev, void *data)
{
	ib_unregister_event_handler(data);
	kfree(data);
	cmx_watch_device(dev);
}

static struct ib_client cmx_watch_client = {
	.name = "rdma_cmx_watch",
	.add = cmx_watch_device_add,
	.remove = cmx_watch_device_remove,
};

/* No query is outstanding in @net: it would have a reference. */
static void __net_exit cmx_watch_net_exit(struct net *net)
{
	struct rdma_cmx_watch *w;

	spin_lock(&cmx_watch_lock);
	list_for_each_entry(w, &cmx_watches, node) {
		if (w->net != net)
			continue;
		w->net = NULL;
		if (!w->busy)
			cmx_watch_set_timer(w, jiffies);
	}
	spin_unlock(&cmx_watch_lock);
}

static struct pernet_operations cmx_watch_net_ops = {
	.exit = cmx_watch_net_exit,
};

int cmx_watch_init(void)
{
	int ret;

	cmx_watch_wq = alloc_workqueue("rdma_cmx_watch", WQ_UNBOUND,
				       WQ_MAX_ACTIVE);
	if (!cmx_watch_wq)
		return -ENOMEM;
	ret = register_pernet_subsys(&cmx_watch_net_ops);
	if (ret)
		goto destroy;
	ret = ib_register_client(&cmx_watch_client);
	if (!ret)
		return 0;
	unregister_pernet_subsys(&cmx_watch_net_ops);
destroy:
	destroy_workqueue(cmx_watch_wq);
	return ret;
}

/* Consumers have stopped all watches. A callback that did so may still run. */
void cmx_watch_exit(void)
{
	ib_unregister_client(&cmx_watch_client);
	unregister_pernet_subsys(&cmx_watch_net_ops);
	destroy_workqueue(cmx_watch_wq);
}
