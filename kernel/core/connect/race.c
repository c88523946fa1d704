// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Starts and stops candidates and chooses the winner, as in RFC 8305. The next
 * candidate starts when one has failed, or when the delay has passed since
 * the last start. The first candidate that is up wins, and the others stop. A
 * winner that is lost before its handover has failed, and those that stopped
 * for it may start again. So there are at most as many losses as candidates.
 * When all places are taken, the candidate that started first gives up its
 * place after its share of the time. So silent peers do not block the other
 * candidates.
 *
 * The functions only decide. They run with the connect's lock, in any work
 * item, and do not sleep. Work items of the candidates and of the connect
 * execute the decisions.
 */
#include <linux/workqueue.h>

#include "connect/connect.h"

static void cmx_race_timer(struct rdma_cmx_connector *c, unsigned long delay)
{
	refcount_inc(&c->uses);
	if (mod_delayed_work(cmx_connect_timer_wq, &c->delay_work, delay))
		refcount_dec(&c->uses);
}

/* True unless it has failed. One that stopped for a winner may start again. */
static bool cmx_race_alive(const struct cmx_try *t)
{
	return t->outstanding || !t->out->error ||
	       (t->stop && t->out->error == -ECANCELED);
}

/* Each candidate gets a share of the time, even if all peers are silent. */
void cmx_race_share(struct rdma_cmx_connector *c)
{
	long left = cmx_deadline_left(c);
	u32 i, alive = 0;

	for (i = 0; i < c->count; i++)
		alive += cmx_race_alive(&c->tries[i]);
	if (alive)
		left /= (long)DIV_ROUND_UP(alive, CMX_CONNECT_OUTSTANDING);
	c->share = clamp_t(long, left, 1,
			   msecs_to_jiffies(CMX_CONNECT_LIMIT_MS));
}

/* The next candidate that has a device and has not failed, or NULL */
static struct cmx_try *cmx_race_next(struct rdma_cmx_connector *c)
{
	for (; c->next < c->count; c->next++) {
		struct cmx_try *t = &c->tries[c->next];

		if (!t->outstanding && cmx_race_alive(t))
			return t;
	}
	return NULL;
}

/* An attempt begins. The lock is held. */
void cmx_race_reset(struct cmx_try *t)
{
	t->step = RDMA_CMX_CONNECT_ADDR;
	t->up = false;
	t->stop = false;
	t->hand_over = false;
	t->got = false;
	t->error = 0;
	t->connected = false;
	t->cached = false;
	t->path_failed = false;
	t->over_limit = false;
	t->out->reason = 0;
	t->out->reason_text = NULL;
	t->out->data_len = 0;
	t->out->attempts++;
	cmx_stat_inc(connect_attempts);
}

static void cmx_race_begin(struct cmx_try *t)
{
	if (!t->out->attempts)
		t->out->start_ms = cmx_connect_ms(t->c);
	t->outstanding = true;
	t->out->error = 0;
	t->again = false;
	t->since = jiffies;
	cmx_race_reset(t);
	cmx_connect_queue(&t->item);
}

static void cmx_race_start(struct rdma_cmx_connector *c, struct cmx_try *t)
{
	c->next++;
	c->flights++;
	cmx_race_begin(t);
	c->slow = false;
	cmx_race_timer(c, c->delay);
}

/*
 * The candidate that started first. Those that are up, connected or failed end
 * by themselves. The time of one that waits for a slot has not begun.
 */
static struct cmx_try *cmx_race_oldest(const struct rdma_cmx_connector *c)
{
	struct cmx_try *oldest = NULL;
	u32 i;

	for (i = 0; i < c->count; i++) {
		struct cmx_try *t = &c->tries[i];

		if (t->outstanding && !t->leaving && !t->error && !t->connected &&
		    !t->up && !t->waiting &&
		    (!oldest || time_before(t->since, oldest->since)))
			oldest = t;
	}
	return oldest;
}

/* The oldest candidate ends after its share of the time. */
static bool cmx_race_make_room(struct rdma_cmx_connector *c)
{
	struct cmx_try *t = cmx_race_oldest(c);
	unsigned long now = jiffies;

	/* The destruction of an id may take long. Limit their number. */
	if (!t || c->leaving == CMX_CONNECT_OUTSTANDING)
		return false;
	if (time_before(now, t->since + c->share)) {
		cmx_race_timer(c, t->since + c->share - now);
		return false;
	}
	t->leaving = true;
	c->leaving++;
	/* One that has stopped for a winner has not failed. */
	if (!t->stop)
		WRITE_ONCE(t->error, -ETIMEDOUT);
	cmx_connect_queue(&t->item);
	return true;
}

/* The delay does not apply to a candidate that starts again. */
static bool cmx_race_may_start(struct rdma_cmx_connector *c,
			       const struct cmx_try *t)
{
	u32 active = c->flights - c->leaving;

	if (!active)
		return true;
	return (c->slow || t->out->attempts) &&
	       (active < CMX_CONNECT_OUTSTANDING || cmx_race_make_room(c));
}

static void cmx_race_stop(struct rdma_cmx_connector *c)
{
	u32 i;

	for (i = 0; i < c->count; i++) {
		struct cmx_try *t = &c->tries[i];

		if (!t->outstanding || t->stop || (t == c->winner && !c->cancelled))
			continue;
		WRITE_ONCE(t->stop, true);
		cmx_connect_queue(&t->item);
	}
}

/* Takes the decisions after each change. The lock is held. */
void cmx_race(struct rdma_cmx_connector *c)
{
	/* A connection that is up by the deadline is in time. */
	bool over = c->cancelled || (c->late && !c->winner);
	struct cmx_try *t;

	if (c->ending)
		return;
	if (!c->resolved) {
		if (over)
			cmx_connect_queue(&c->item);
		return;
	}
	if (over || c->winner) {
		cmx_race_stop(c);
	} else {
		while ((t = cmx_race_next(c)) && cmx_race_may_start(c, t))
			cmx_race_start(c, t);
	}
	/*
	 * Without a cancel, the winner stays. Wait for the end of all others.
	 */
	if (c->flights > (c->winner && !c->cancelled))
		return;
	c->ending = true;
	if (c->flights) {
		c->winner->hand_over = true;
		cmx_connect_queue(&c->winner->item);
	} else {
		cmx_connect_queue(&c->item);
	}
}

/*
 * @t is connected or routed. The first one wins. The lock is held. Returns 0; or
 * the error of an event that has ended @t meanwhile, and the others continue.
 */
int cmx_race_up(struct rdma_cmx_connector *c, struct cmx_try *t)
{
	if (t->error)
		return t->error;
	t->up = true;
	if (!c->winner && !t->stop)
		c->winner = t;
	else
		t->stop = true;
	t->out->end_ms = cmx_connect_ms(c);
	cmx_race(c);
	return 0;
}

/* @t has ended. The lock is held. */
void cmx_race_down(struct rdma_cmx_connector *c, struct cmx_try *t)
{
	bool replaced = t->leaving;

	t->outstanding = false;
	c->flights--;
	if (replaced)
		c->leaving--;
	t->leaving = false;
	if (c->winner == t) {
		c->winner = NULL;
		c->ending = false;
		/* Those that stopped for it have ended or are ending. */
		c->next = 0;
		cmx_race_share(c);
	}
	if (t->stop)
		c->next = min_t(u32, c->next, t - c->tries);
	else if (t->out->error && !replaced)
		/* The next one does not wait for the delay. */
		c->slow = true;
	cmx_race(c);
}

/*
 * The error of a connect without a winner: that of the candidate with the last
 * step. The lock is held.
 */
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
	cmx_connector_put(c);
}
