// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which candidate starts, stops or wins, in the manner of RFC 8305: the next one
 * starts when none is under way, or when the last start is some time ago. The
 * first that is up wins, and the others stop; if it is lost before it is handed
 * over, those that stopped for it may start again.
 *
 * All of it is decisions: with the connect's lock, from any work item, without
 * waiting. Work items of the candidates and of the connect carry them out.
 */
#include <linux/workqueue.h>

#include "connect/connect.h"

/* To the work item of the connect, which has a reference then. */
static void cmx_race_queue(struct rdma_cmx_connector *c)
{
	kref_get(&c->ref);
	if (!queue_work(cmx_connect_wq, &c->work))
		cmx_connector_drop(c);
}

static void cmx_race_arm(struct rdma_cmx_connector *c)
{
	c->slow = false;
	kref_get(&c->ref);
	if (mod_delayed_work(cmx_connect_timer_wq, &c->delay_work, c->delay))
		cmx_connector_drop(c);
}

/* The next candidate that a device reaches and that has not failed. */
static bool cmx_race_start(struct rdma_cmx_connector *c)
{
	while (c->next < c->count) {
		struct cmx_try *t = &c->tries[c->next++];

		if (t->flying || t->out->error)
			continue;
		c->flights++;
		cmx_try_start(t);
		cmx_race_arm(c);
		return true;
	}
	return false;
}

static void cmx_race_stop(struct rdma_cmx_connector *c)
{
	u32 i;

	for (i = 0; i < c->count; i++) {
		struct cmx_try *t = &c->tries[i];

		if (!t->flying || t->stop || (t == c->winner && !c->cancelled))
			continue;
		WRITE_ONCE(t->stop, true);
		cmx_try_queue(t);
	}
}

/* With the lock, whenever something has changed. */
void cmx_race(struct rdma_cmx_connector *c)
{
	/* What is up by the deadline is in time. */
	bool over = c->cancelled || (c->late && !c->winner);

	if (c->ending)
		return;
	if (!c->resolved) {
		if (over)
			cmx_race_queue(c);
		return;
	}
	if (over || c->winner) {
		cmx_race_stop(c);
	} else {
		while (c->flights < CMX_CONNECT_FLIGHT &&
		       (!c->flights || c->slow))
			if (!cmx_race_start(c))
				break;
	}
	/* The winner of a connect that goes on is the only one that may be left. */
	if (c->flights > (c->winner && !c->cancelled))
		return;
	c->ending = true;
	if (c->flights) {
		c->winner->hand_over = true;
		cmx_try_queue(c->winner);
	} else {
		cmx_race_queue(c);
	}
}

/* It stopped for a winner that is lost: it may start again. */
static void cmx_race_revive(struct rdma_cmx_connector *c, struct cmx_try *t)
{
	if (t->flying || !t->stop || t->out->error != -ECANCELED)
		return;
	t->out->error = 0;
	t->out->step = RDMA_CMX_CONNECT_UNTRIED;
	c->next = min_t(u32, c->next, t - c->tries);
}

/* @t is down; with the lock. */
void cmx_race_down(struct rdma_cmx_connector *c, struct cmx_try *t)
{
	u32 i;

	t->flying = false;
	c->flights--;
	if (c->winner == t) {
		c->winner = NULL;
		c->ending = false;
	}
	if (!c->winner && !c->cancelled && !c->late)
		for (i = 0; i < c->count; i++)
			cmx_race_revive(c, &c->tries[i]);
	cmx_race(c);
}

/* Why there is no id: with the lock, the error of the one that came furthest. */
int cmx_race_error(const struct rdma_cmx_connector *c)
{
	const struct rdma_cmx_candidate *out, *best = NULL;
	u32 i;

	if (c->error)
		return c->error;
	if (c->late)
		return -ETIMEDOUT;
	for (i = 0; i < c->count; i++) {
		out = &c->report->candidates[i];
		if (out->step >= RDMA_CMX_CONNECT_ADDR && out->error &&
		    (!best || out->step > best->step))
			best = out;
	}
	return best ? best->error : -ENETUNREACH;
}

void cmx_race_delay(struct work_struct *work)
{
	struct rdma_cmx_connector *c = container_of(to_delayed_work(work),
						    struct rdma_cmx_connector,
						    delay_work);

	spin_lock(&c->lock);
	c->slow = true;
	cmx_race(c);
	spin_unlock(&c->lock);
	rdma_cmx_connect_put(c);
}
