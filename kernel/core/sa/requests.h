/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Several SA queries that are started together, and stopped together */
#ifndef CMX_SA_REQUESTS_H
#define CMX_SA_REQUESTS_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "sa/sa.h"

/**
 * struct cmx_sa_requests - SA queries that are started together
 * @starters: threads that start queries
 * @stopped: no more are started
 * @stopping: a caller has stopped them
 * @pending: number without a response, plus one during the start
 * @done: called once when @pending becomes 0, in process context without locks
 * @stop: executes a stop that found @starters, in process context without
 *	locks; it calls cmx_sa_requests_stop() again
 * @holder: user that responses are charged to, INVALID_UID: the kernel
 * @failed: NULL, or: a refused response makes the others useless. They are
 *	freed without delay, and this is called in process context without
 *	locks, once or more, while queries may be outstanding
 * @held_lock: guards the fields below, and with @failed the responses
 * @refused: with @failed: negative errno of the refusal, or 0
 * @held: with @failed: requests with a response
 */
struct cmx_sa_requests {
	atomic_t starters;
	atomic_t stopping;
	bool stopped;
	atomic_t pending;
	void (*done)(struct cmx_sa_requests *requests);
	void (*stop)(struct cmx_sa_requests *requests);
	kuid_t holder;
	void (*failed)(struct cmx_sa_requests *requests);
	spinlock_t held_lock;	/* guards responses, see above */
	int refused;
	struct list_head held;
};

/**
 * struct cmx_sa_request - one of these queries
 * @waiter: waiter of the query
 * @requests: the set
 * @port: port of the SA, with a reference
 * @response: the response, with a reference, or NULL
 * @error: the negative errno without a response
 * @started: @waiter may be waiting
 * @charged: @response is charged to the holder of @requests
 * @held: in the list of requests with a response
 * @refresh: do not use the cache
 * @query: the query
 */
struct cmx_sa_request {
	struct cmx_sched_waiter waiter;
	struct cmx_sa_requests *requests;
	struct cmx_sa_port *port;
	struct cmx_sa_response *response;
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
			   void (*done)(struct cmx_sa_requests *requests),
			   void (*stop)(struct cmx_sa_requests *requests));
void cmx_sa_requests_enter(struct cmx_sa_requests *requests);
void cmx_sa_requests_end(struct cmx_sa_requests *requests);
bool cmx_sa_requests_stop(struct cmx_sa_requests *requests);
void cmx_sa_requests_put(struct cmx_sa_requests *requests);

#endif /* CMX_SA_REQUESTS_H */
