/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Several questions to SAs that are asked together, and stopped together. */
#ifndef CMX_SA_REQUESTS_H
#define CMX_SA_REQUESTS_H

#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/uidgid.h>

#include "sa/sa.h"

/**
 * struct cmx_asks - questions to SAs that are asked together
 * @lock: starting against stopping
 * @stopped: no more are started
 * @pending: those without an answer, one more while they are started
 * @done: called once when none is pending any more; by whoever saw to that,
 *	in process context without locks
 */
struct cmx_asks {
	struct mutex lock;	/* starting against stopping */
	bool stopped;
	atomic_t pending;
	void (*done)(struct cmx_asks *asks);
};

/**
 * struct cmx_ask - one of them
 * @waiter: for its answer
 * @asks: the others
 * @port: whose SA is asked; a reference
 * @answer: a reference; NULL if there is none (yet)
 * @error: why, a negative errno
 * @started: @waiter may be waiting
 * @question: the question
 */
struct cmx_ask {
	struct cmx_sa_waiter waiter;
	struct cmx_asks *asks;
	struct cmx_sa_port *port;
	struct cmx_sa_answer *answer;
	int error;
	bool started;
	struct cmx_sa_question question;
};

bool cmx_ask_cached(struct cmx_ask *ask, struct net *net);
void cmx_ask_start(struct cmx_ask *ask, struct net *net, kuid_t uid);
void cmx_ask_stop(struct cmx_ask *ask);
void cmx_ask_release(struct cmx_ask *ask);
void cmx_asks_begin(struct cmx_asks *asks,
		    void (*done)(struct cmx_asks *asks));
void cmx_asks_end(struct cmx_asks *asks);
bool cmx_asks_stop(struct cmx_asks *asks);
void cmx_asks_put(struct cmx_asks *asks);

#endif /* CMX_SA_REQUESTS_H */
