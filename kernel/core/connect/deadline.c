// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The deadline of a connect. The time in which a candidate waits for a slot
 * does not count, whatever the other ones do: the peer has not received a
 * request. All such times together extend the deadline by at most
 * connect_wait_ms, or what is left of it for a user.
 *
 * The lock of the connect guards all of it.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/workqueue.h>

#include "connect/connect.h"

/* Jiffies until the deadline passes if nothing changes. The lock is held. */
static long cmx_deadline_next(const struct rdma_cmx_connector *c)
{
	return c->waiting ? (long)(c->until - jiffies) : cmx_deadline_left(c);
}

/* An armed timer is a use. The lock is held. */
static void cmx_deadline_queue(struct rdma_cmx_connector *c)
{
	refcount_inc(&c->uses);
	if (mod_delayed_work(cmx_connect_timer_wq, &c->deadline,
			     max(cmx_deadline_next(c), 0L)))
		refcount_dec(&c->uses);
}

/* Arms the deadline of a started connect, unless it has ended already. */
void cmx_deadline_arm(struct rdma_cmx_connector *c)
{
	spin_lock(&c->lock);
	if (!c->ended && !c->called)
		cmx_deadline_queue(c);
	spin_unlock(&c->lock);
}

void cmx_deadline_work(struct work_struct *work)
{
	struct rdma_cmx_connector *c = container_of(to_delayed_work(work),
						    struct rdma_cmx_connector,
						    deadline);

	spin_lock(&c->lock);
	if (cmx_deadline_next(c) > 0) {
		/* A wait has moved it. */
		if (!c->ended && !c->called)
			cmx_deadline_queue(c);
	} else {
		WRITE_ONCE(c->late, true);
		cmx_race(c);
	}
	spin_unlock(&c->lock);
	cmx_connector_put(c);
}

/* @t begins to wait for a slot. */
void cmx_deadline_wait(struct cmx_try *t)
{
	struct rdma_cmx_connector *c = t->c;

	spin_lock(&c->lock);
	t->waiting = true;
	if (!c->waiting++)
		c->waits_since = jiffies;
	spin_unlock(&c->lock);
}

/* @t no longer waits, and its own time begins. The lock is held. */
void cmx_deadline_granted(struct cmx_try *t)
{
	struct rdma_cmx_connector *c = t->c;
	unsigned long waited = jiffies - c->waits_since;

	t->waiting = false;
	t->since = jiffies;
	if (--c->waiting)
		return;
	c->expires += waited;
	c->waited += waited;
	/* The timer may be that of the wait. */
	if (!c->late && !c->ended && !c->called)
		cmx_deadline_queue(c);
}

/* The same, if no callback follows */
void cmx_deadline_wait_over(struct cmx_try *t)
{
	spin_lock(&t->c->lock);
	cmx_deadline_granted(t);
	/* The race may have found nobody whose time it could measure. */
	cmx_race(t->c);
	spin_unlock(&t->c->lock);
}

unsigned long rdma_cmx_connect_waited(struct rdma_cmx_connector *connector)
{
	unsigned long waited;

	spin_lock(&connector->lock);
	waited = connector->waited;
	spin_unlock(&connector->lock);
	return waited;
}
EXPORT_SYMBOL_GPL(rdma_cmx_connect_waited);
