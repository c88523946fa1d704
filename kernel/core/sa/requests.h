/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Several SA queries that are sent together, and stopped together. */
#ifndef CMX_SA_REQUESTS_H
#define CMX_SA_REQUESTS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "sa/sa.h"

/**
 * struct cmx_sa_requests - SA queries that are sent together
 * @lock: starting against stopping
 * @stopped: no more are started; set without the lock
 * @stopping: somebody has stopped them, by the lock
 * @pending: those without an answer, one more while they are started
 * @done: called once when none is pending any more; by whoever saw to that,
 *	in process context without locks
 * @holder: user whom the answers are charged to, INVALID_UID: the kernel
 * @failed: NULL, or one answer that is refused makes the others useless: they
 *	are freed at once, and this is called in process context without locks,
 *	once or more, while queries may be outstanding
 * @held_lock: guards what follows, and with @failed the answers
 * @refused: then, why the answer was refused, or 0
 * @held: then, requests with an answer
 */
struct cmx_sa_requests {
	struct mutex lock;	/* starting against stopping */
	bool stopped;
	bool stopping;
	atomic_t pending;
	void (*done)(struct cmx_sa_requests *requests);
	kuid_t holder;
	void (*failed)(struct cmx_sa_requests *requests);
	spinlock_t held_lock;	/* guards answers, see above */
	int refused;
	struct list_head held;
};

/**
 * struct cmx_sa_request - one of them
 * @waiter: for its answer
 * @requests: the others
 * @port: whose SA it is for; a reference
 * @answer: a reference; NULL if there is none (yet)
 * @error: why, a negative errno
 * @started: @waiter may be waiting
 * @charged: @answer is charged to the holder of @requests
 * @held: among those with an answer
 * @refresh: what the cache has does not count
 * @query: the query
 */
struct cmx_sa_request {
	struct cmx_sched_waiter waiter;
	struct cmx_sa_requests *requests;
	struct cmx_sa_port *port;
	struct cmx_sa_answer *answer;
	int error;
	bool started;
	bool charged;
	struct list_head held;
	bool refresh;
	struct cmx_sa_query query;
};

bool cmx_sa_request_cached(struct cmx_sa_request *request, struct net *net);
void cmx_sa_request_start(struct cmx_sa_request *request, struct net *net,
			  kuid_t uid);
void cmx_sa_request_stop(struct cmx_sa_request *request);
void cmx_sa_request_drop(struct cmx_sa_request *request);
void cmx_sa_request_release(struct cmx_sa_request *request);
void cmx_sa_requests_init(struct cmx_sa_requests *requests);
void cmx_sa_requests_begin(struct cmx_sa_requests *requests, kuid_t holder,
			   void (*done)(struct cmx_sa_requests *requests));
void cmx_sa_requests_end(struct cmx_sa_requests *requests);
bool cmx_sa_requests_stop(struct cmx_sa_requests *requests);
void cmx_sa_requests_put(struct cmx_sa_requests *requests);

#endif /* CMX_SA_REQUESTS_H */
