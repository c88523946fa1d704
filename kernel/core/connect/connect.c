// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connect by name: a query, and then candidates that race (race.c). A connect
 * ends exactly once, when no candidate is left but the one that is handed over.
 */
#include <linux/capability.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "connect/connect.h"
#include "connect/window.h"

#define CMX_CONNECT_DELAY_MS		250
#define CMX_CONNECT_DELAY_MIN_MS	10

static unsigned int connect_timeout_ms = 30000;
module_param(connect_timeout_ms, uint, 0644);
MODULE_PARM_DESC(connect_timeout_ms,
		 "Default deadline of a connect by name in ms (default 30000)");

/* Cancels the query after the deadline, or ends the connect without an id. */
static void cmx_connect_work(struct work_struct *work)
{
	struct rdma_cmx_connector *c = container_of(work,
						    struct rdma_cmx_connector,
						    item.work);
	bool resolved, end;
	int error = 0;

	spin_lock(&c->lock);
	resolved = c->resolved;
	end = c->ending && !c->winner && !c->ended;
	if (end) {
		c->ended = true;
		c->called = !c->cancelled;
		c->caller = current;
		error = cmx_race_error(c);
	}
	spin_unlock(&c->lock);

	if (!resolved && rdma_cmx_query_cancel(c->query)) {
		spin_lock(&c->lock);
		c->resolved = true;
		cmx_race(c);
		spin_unlock(&c->lock);
	}
	if (end)
		cmx_connect_end(c, ERR_PTR(error));
	cmx_connector_put(c);
}

/*
 * In the user's context: later rdma_cm would check the capability of the work
 * item that binds the id.
 */
static bool cmx_connect_may_bind(const struct rdma_cmx_entry *entry)
{
	u16 port = cmx_addr_port(&entry->src);

	return !port || port >= PROT_SOCK || capable(CAP_NET_BIND_SERVICE);
}

int rdma_cmx_connect_check(const struct rdma_cmx_entry *entry, u32 port_space,
			   u32 qp_type)
{
	if (!cmx_try_has_device(entry))
		return -ENETUNREACH;
	if (entry->port_space != port_space || entry->qp_type != qp_type)
		return -EPROTOTYPE;
	return cmx_connect_may_bind(entry) ? 0 : -EACCES;
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect_check);

/*
 * Applies the user's attributes, in the user's context. Candidates that failed
 * before, or that the id cannot use, do not start.
 */
static void cmx_connect_given(struct rdma_cmx_connector *c,
			      const struct cmx_connect_given *given)
{
	const struct rdma_cmx_candidate *old;
	u32 i;

	for (i = 0; i < c->count; i++) {
		const struct rdma_cmx_entry *entry = &c->result->entries[i];
		struct rdma_cmx_candidate *out = &c->report->candidates[i];

		old = given->before ? &given->before->candidates[i] : NULL;
		if (old && !cmx_candidate_alive(old)) {
			*out = *old;
			continue;
		}
		out->error = rdma_cmx_connect_check(entry, given->port_space,
						    given->qp_type);
		out->step = cmx_candidate_step(out->error);
		if (!out->error && given->check)
			out->error = given->check(entry, c->context);
	}
}

/* Allocates the candidates, one for each entry of the result. */
static int cmx_connect_alloc(struct rdma_cmx_connector *c,
			     const struct cmx_connect_given *given, gfp_t gfp)
{
	struct rdma_cmx_result *res = c->result;
	u32 i;

	c->report = kvzalloc(struct_size(c->report, candidates, res->count),
			     gfp);
	c->tries = kvcalloc(res->count, sizeof(*c->tries), gfp);
	if (!c->report || !c->tries) {
		kvfree(c->report);
		c->report = NULL;
		return -ENOMEM;
	}
	kref_init(&c->report->ref);
	c->report->count = res->count;
	c->count = res->count;
	c->report->winner = res->count;
	for (i = 0; i < res->count; i++)
		cmx_try_init(&c->tries[i], c, &res->entries[i],
			     &c->report->candidates[i]);
	if (given)
		cmx_connect_given(c, given);
	cmx_race_share(c);
	return 0;
}

static void cmx_connect_resolved(struct rdma_cmx_query *query,
				 struct rdma_cmx_result *result, void *context)
{
	struct rdma_cmx_connector *c = context;
	int error = PTR_ERR_OR_ZERO(result);

	/* Nobody else reads these before c->resolved is set. */
	if (!error) {
		c->result = result;
		error = cmx_connect_alloc(c, NULL, GFP_KERNEL);
	}
	c->error = error;
	spin_lock(&c->lock);
	c->resolved = true;
	cmx_race(c);
	spin_unlock(&c->lock);
}

static bool cmx_connect_delay_ok(const struct rdma_cmx_connect_attr *attr)
{
	return !attr->delay_ms || attr->delay_ms >= CMX_CONNECT_DELAY_MIN_MS;
}

static int cmx_connect_check(const struct rdma_cmx_connect_attr *attr,
			     struct rdma_cmx_query_attr *query)
{
	if (!query->net || !attr->handler || !attr->setup != !attr->teardown ||
	    !cmx_connect_delay_ok(attr) ||
	    (query->flags & RDMA_CMX_AI_PASSIVE))
		return -EINVAL;
	if (!query->qp_type && query->port_space != RDMA_PS_UDP &&
	    query->port_space != RDMA_PS_IPOIB)
		query->qp_type = IB_QPT_RC;
	/* rdma_create_qp() and ESTABLISHED differ for other types. */
	if (attr->setup && query->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	return 0;
}

static struct rdma_cmx_connector *
cmx_connector_alloc(const struct rdma_cmx_connect_attr *attr,
		    void *context, rdma_cmx_connect_fn done, void *done_context,
		    gfp_t gfp)
{
	struct rdma_cmx_connector *c;

	c = kzalloc(sizeof(*c), gfp);
	if (!c)
		return NULL;
	kref_init(&c->ref);
	/* Of the uses; of these, one until the connect has ended */
	kref_get(&c->ref);
	refcount_set(&c->uses, 1);
	spin_lock_init(&c->lock);
	init_completion(&c->idle);
	cmx_connect_item_init(&c->item, c, cmx_connect_work);
	INIT_DELAYED_WORK(&c->delay_work, cmx_race_delay);
	INIT_DELAYED_WORK(&c->deadline, cmx_deadline_work);
	c->attr = *attr;
	c->limited = attr->query.route_count;
	c->own_dev = attr->query.dev;
	c->tos = attr->has_tos ? attr->tos : 0;
	memset(&c->attr.query, 0, sizeof(c->attr.query));
	c->context = context;
	c->done = done;
	c->done_context = done_context;
	c->started = ktime_get();
	c->delay = msecs_to_jiffies(attr->delay_ms ?: CMX_CONNECT_DELAY_MS);
	c->expires = jiffies +
		     msecs_to_jiffies(attr->timeout_ms ?:
				      READ_ONCE(connect_timeout_ms));
	c->until = c->expires + rdma_cmx_slot_max_wait();
	cmx_stat_inc(live_connects);
	return c;
}

static int cmx_connect_start(const struct rdma_cmx_connect_attr *attr,
			     void *context, rdma_cmx_connect_fn done,
			     void *done_context,
			     struct rdma_cmx_connector **pconnector)
{
	struct rdma_cmx_query_attr query = attr->query;
	struct rdma_cmx_result *known;
	struct rdma_cmx_connector *c;
	int ret;

	*pconnector = NULL;
	ret = cmx_connect_check(attr, &query);
	if (ret)
		return ret;
	c = cmx_connector_alloc(attr, context, done, done_context, GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	if (attr->has_tos)
		query.tos = attr->tos;
	c->net = get_net(query.net);
	c->uid = cmx_kernel_uid(c->net);
	/* The query fails without the netdevice. */
	if (query.iface)
		c->ifindex = cmx_iface_index(c->net, query.iface);
	*pconnector = c;
	/* The connect may end before this. */
	refcount_inc(&c->uses);
	ret = rdma_cmx_query_start(&query, cmx_connect_resolved, c, &known,
				   &c->query);
	if (!ret) {
		cmx_stat_inc(connects);
		if (known)
			cmx_connect_resolved(NULL, known, c);
		cmx_deadline_arm(c);
	} else {
		*pconnector = NULL;
		put_net(c->net);
		/* The connect's, and the caller's */
		cmx_connector_put(c);
		rdma_cmx_connect_put(c);
	}
	cmx_connector_put(c);
	return ret;
}

int rdma_cmx_connect_start(const struct rdma_cmx_connect_attr *attr,
			   rdma_cmx_connect_fn done, void *context,
			   struct rdma_cmx_connector **pconnector)
{
	*pconnector = NULL;
	return done ? cmx_connect_start(attr, context, done, context,
					pconnector) : -EINVAL;
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect_start);

int rdma_cmx_connect_start_for(const struct rdma_cmx_connect_attr *attr,
			       const struct cmx_connect_given *given,
			       rdma_cmx_connect_fn done, void *context,
			       struct rdma_cmx_connector **pconnector)
{
	struct rdma_cmx_connector *c;
	int ret;

	*pconnector = NULL;
	if (!cmx_connect_delay_ok(attr))
		return -EINVAL;
	c = cmx_connector_alloc(attr, context, done, context, given->gfp);
	if (!c)
		return -ENOMEM;
	c->user = cmx_user_get(&cmx_connect_users, given->uid, false,
			       given->gfp);
	c->limited = given->limited;
	c->own_dev = given->own_dev;
	c->has_ack_timeout = given->has_ack_timeout;
	c->ack_timeout = given->ack_timeout;
	c->uid = given->uid;
	c->started = given->started;
	c->until = c->expires + given->max_wait;
	c->result = given->result;
	ret = c->user ? cmx_connect_alloc(c, given, given->gfp) : -ENOMEM;
	if (ret) {
		/* The connect's, and the caller's */
		cmx_connector_put(c);
		rdma_cmx_connect_put(c);
		return ret;
	}
	kref_get(&c->result->ref);
	c->net = get_net(attr->query.net);
	*pconnector = c;
	refcount_inc(&c->uses);
	cmx_stat_inc(connects);
	spin_lock(&c->lock);
	c->resolved = true;
	cmx_race(c);
	spin_unlock(&c->lock);
	cmx_deadline_arm(c);
	cmx_connector_put(c);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect_start_for);

/* True if the current task runs a callback. The lock is held. */
static bool cmx_connect_inside(const struct rdma_cmx_connector *c)
{
	u32 i;

	if (c->caller == current)
		return true;
	for (i = 0; c->resolved && i < c->count; i++)
		if (c->tries[i].caller == current)
			return true;
	return false;
}

bool rdma_cmx_connect_stop(struct rdma_cmx_connector *connector)
{
	bool called;

	spin_lock(&connector->lock);
	called = connector->called;
	if (!called) {
		connector->cancelled = true;
		cmx_race(connector);
	}
	spin_unlock(&connector->lock);
	return !called;
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect_stop);

bool rdma_cmx_connect_cancel(struct rdma_cmx_connector *connector)
{
	bool inside, called;

	spin_lock(&connector->lock);
	inside = cmx_connect_inside(connector);
	called = connector->called;
	if (!called) {
		connector->cancelled = true;
		cmx_race(connector);
	}
	spin_unlock(&connector->lock);
	if (!inside)
		wait_for_completion(&connector->idle);
	return !called;
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect_cancel);

struct cmx_connect_sync {
	struct completion done;
	struct rdma_cm_id *id;
	struct rdma_cmx_connect_report *report;
};

static void cmx_connect_sync_done(struct rdma_cmx_connector *connector,
				  struct rdma_cm_id *id,
				  struct rdma_cmx_connect_report *report,
				  void *context)
{
	struct cmx_connect_sync *sync = context;

	sync->id = id;
	sync->report = report;
	complete(&sync->done);
}

struct rdma_cm_id *
rdma_cmx_connect(const struct rdma_cmx_connect_attr *attr, void *context,
		 struct rdma_cmx_connect_report **report)
{
	struct cmx_connect_sync sync = {};
	struct rdma_cmx_connector *c;
	int ret;

	if (report)
		*report = NULL;
	init_completion(&sync.done);
	ret = cmx_connect_start(attr, context, cmx_connect_sync_done, &sync,
				&c);
	if (ret)
		return ERR_PTR(ret);
	/* The connect may have ended before the cancel. */
	if (wait_for_completion_killable(&sync.done) &&
	    rdma_cmx_connect_cancel(c))
		sync.id = ERR_PTR(-EINTR);
	rdma_cmx_connect_put(c);
	if (report)
		*report = sync.report;
	else
		rdma_cmx_connect_report_put(sync.report);
	return sync.id;
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect);

int cmx_connect_init(void)
{
	cmx_windows_init();
	return cmx_connect_work_init();
}

/*
 * Consumers end their connects before they are unloaded. Work items that drop
 * uses may be left.
 */
void cmx_connect_exit(void)
{
	cmx_slot_exit();
	cmx_connect_work_exit();
}
