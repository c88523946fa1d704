// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * References and work items of a connect, and its end.
 *
 * References: the caller's; one of all uses. Uses: one until the connect has
 * ended; one of each armed timer and of each pending work item. The memory of
 * the candidates is freed with the last use: a caller may keep the connect for
 * long.
 *
 * The timers use a work queue that memory reclaim does not delay. Work on ids
 * uses others, because rdma_destroy_id() flushes work queues that it does
 * delay: one queue for kernel consumers, and one that schedules by user
 * (users.c).
 */
#include <linux/err.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "connect/connect.h"

struct cmx_users cmx_connect_users = CMX_USERS_INIT(cmx_connect_users);
static struct workqueue_struct *cmx_connect_wq;
struct workqueue_struct *cmx_connect_timer_wq;

static void cmx_report_release(struct kref *ref)
{
	kvfree(container_of(ref, struct rdma_cmx_connect_report, ref));
}

void rdma_cmx_connect_report_put(struct rdma_cmx_connect_report *report)
{
	if (report)
		kref_put(&report->ref, cmx_report_release);
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect_report_put);

static void cmx_connector_release(struct kref *ref)
{
	kfree(container_of(ref, struct rdma_cmx_connector, ref));
	cmx_stat_dec(live_connects);
}

void rdma_cmx_connect_put(struct rdma_cmx_connector *connector)
{
	if (connector)
		kref_put(&connector->ref, cmx_connector_release);
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect_put);

/* Drops a use. */
void cmx_connector_put(struct rdma_cmx_connector *c)
{
	struct cmx_try *tries;

	if (!refcount_dec_and_test(&c->uses))
		return;
	/* The caller may cancel an ended connect. */
	spin_lock(&c->lock);
	tries = c->tries;
	c->tries = NULL;
	c->count = 0;
	spin_unlock(&c->lock);
	kvfree(tries);
	rdma_cmx_query_put(c->query);
	cmx_user_put(c->user);
	rdma_cmx_connect_put(c);
}

static void cmx_connect_job(struct cmx_job *job)
{
	struct cmx_connect_item *item = container_of(job,
						     struct cmx_connect_item,
						     job);
	struct rdma_cmx_connector *c = item->c;

	spin_lock(&c->lock);
	item->queued = false;
	spin_unlock(&c->lock);
	/*
	 * The function drops its use of the connect, and with it of the item.
	 * Its allocations are not charged to a cgroup: a cgroup at its
	 * limits would make it sleep, and the user's exit and the removal of
	 * devices wait for it.
	 */
	item->work.func(&item->work);
}

/* @fn drops a use of @c. */
void cmx_connect_item_init(struct cmx_connect_item *item,
			   struct rdma_cmx_connector *c, work_func_t fn)
{
	item->c = c;
	INIT_WORK(&item->work, fn);
	item->job.run = cmx_connect_job;
}

/* A pending item is a use. The lock is held. */
void cmx_connect_queue(struct cmx_connect_item *item)
{
	struct rdma_cmx_connector *c = item->c;
	bool queued;

	refcount_inc(&c->uses);
	if (c->user) {
		queued = item->queued;
		item->queued = true;
		if (!queued)
			cmx_user_run(c->user, &item->job);
	} else {
		queued = !queue_work(cmx_connect_wq, &item->work);
	}
	if (queued)
		refcount_dec(&c->uses);
}

/*
 * A pending item is the next of its user: the removal of a device waits for it,
 * and not for all the others. The lock is held.
 */
void cmx_connect_run_first(struct cmx_connect_item *item)
{
	if (item->queued)
		cmx_user_run_first(item->c->user, &item->job);
}

static void cmx_connect_disarm(struct rdma_cmx_connector *c,
			       struct delayed_work *timer)
{
	if (cancel_delayed_work(timer))
		cmx_connector_put(c);
}

/*
 * Ends the connect. No candidate is left, no lock is held, and c->called does
 * not change. @id now belongs to the caller, or is an ERR_PTR.
 */
void cmx_connect_end(struct rdma_cmx_connector *c, struct rdma_cm_id *id)
{
	struct rdma_cmx_connect_report *report = c->report;

	cmx_connect_disarm(c, &c->delay_work);
	cmx_connect_disarm(c, &c->deadline);
	rdma_cmx_result_put(c->result);
	put_net(c->net);
	if (c->called) {
		if (!IS_ERR(id))
			cmx_stat_inc(connected);
		c->done(c, id, report, c->done_context);
	} else {
		rdma_cmx_connect_report_put(report);
	}
	spin_lock(&c->lock);
	c->caller = NULL;
	spin_unlock(&c->lock);
	complete_all(&c->idle);
	cmx_connector_put(c);
}

int cmx_connect_work_init(void)
{
	cmx_connect_wq = alloc_workqueue("rdma_cmx_connect", WQ_UNBOUND, 0);
	if (!cmx_connect_wq)
		return -ENOMEM;
	cmx_connect_users.wq = alloc_workqueue("rdma_cmx_connect_user",
					       WQ_UNBOUND, 0);
	if (!cmx_connect_users.wq)
		goto err;
	cmx_connect_timer_wq = alloc_workqueue("rdma_cmx_connect_timer",
					       WQ_UNBOUND | WQ_HIGHPRI |
					       WQ_MEM_RECLAIM, 0);
	if (cmx_connect_timer_wq)
		return 0;
	destroy_workqueue(cmx_connect_users.wq);
err:
	destroy_workqueue(cmx_connect_wq);
	return -ENOMEM;
}

void cmx_connect_work_exit(void)
{
	destroy_workqueue(cmx_connect_timer_wq);
	destroy_workqueue(cmx_connect_users.wq);
	destroy_workqueue(cmx_connect_wq);
}
