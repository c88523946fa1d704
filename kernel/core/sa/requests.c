// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several questions to SAs that are asked together, and stopped together.
 *
 * cmx_asks.pending counts the questions that are out, and one for whoever
 * starts them, so that done() comes after all of them; whether they were
 * answered or stopped. Until done() runs an answer belongs to whoever fills
 * it in, afterwards to the owner of all. cmx_asks.lock keeps a stop from
 * overtaking the start; answers come in without it.
 */
#include "sa/requests.h"

static void cmx_ask_done(struct cmx_sa_waiter *waiter,
			 struct cmx_sa_answer *answer, int error)
{
	struct cmx_ask *ask = container_of(waiter, struct cmx_ask, waiter);

	if (!error) {
		cmx_sa_answer_get(answer);
		ask->answer = answer;
	}
	ask->error = error;
	cmx_asks_put(ask->asks);
}

/* True if the answer is there. */
bool cmx_ask_cached(struct cmx_ask *ask, struct net *net)
{
	if (!ask->answer && ask->port)
		ask->error = cmx_sa_cached(ask->port, net, &ask->question,
					   &ask->answer);
	return ask->answer;
}

/* Takes its share of pending over: an answer will give it back. */
void cmx_ask_start(struct cmx_ask *ask, struct net *net, kuid_t uid)
{
	int ret;

	if (cmx_ask_cached(ask, net)) {
		ret = -EALREADY;
	} else if (READ_ONCE(ask->asks->stopped)) {
		ret = -ETIMEDOUT;
	} else if (!ask->port) {
		ret = -ENODEV;
	} else {
		ask->waiter.done = cmx_ask_done;
		ask->started = true;
		ret = cmx_sa_lookup(ask->port, net, uid, &ask->question,
				    &ask->waiter);
	}
	if (!ret)
		return;
	ask->started = false;
	if (!ask->answer)
		ask->error = ret;
	cmx_asks_put(ask->asks);
}

/* Not at the same time as cmx_ask_start(). */
void cmx_ask_stop(struct cmx_ask *ask)
{
	if (!ask->started || !cmx_sa_forget(&ask->waiter))
		return;
	ask->error = -ETIMEDOUT;
	cmx_asks_put(ask->asks);
}

void cmx_ask_release(struct cmx_ask *ask)
{
	if (ask->answer)
		cmx_sa_answer_put(ask->answer);
	if (ask->port)
		cmx_sa_port_put(ask->port);
}

/* Whoever starts questions does so between begin and end. */
void cmx_asks_begin(struct cmx_asks *asks,
		    void (*done)(struct cmx_asks *asks))
{
	asks->done = done;
	atomic_set(&asks->pending, 1);
	mutex_lock(&asks->lock);
}

/* @asks may be gone when this returns. */
void cmx_asks_end(struct cmx_asks *asks)
{
	mutex_unlock(&asks->lock);
	cmx_asks_put(asks);
}

/*
 * Forbids to start any more. Returns true to one caller, who then has to stop
 * each question, and to put @asks: done() does not run before that.
 */
bool cmx_asks_stop(struct cmx_asks *asks)
{
	bool first;

	mutex_lock(&asks->lock);
	first = !asks->stopped && atomic_inc_not_zero(&asks->pending);
	asks->stopped = true;
	mutex_unlock(&asks->lock);
	return first;
}

void cmx_asks_put(struct cmx_asks *asks)
{
	if (atomic_dec_and_test(&asks->pending))
		asks->done(asks);
}
