// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several SA queries that are sent together, and stopped together.
 *
 * cmx_sa_requests.pending counts outstanding queries, and one for whoever
 * starts them, so that done() comes after all of them; whether they were
 * answered or stopped. Until done() runs an answer belongs to whoever fills
 * it in, afterwards to the owner of all. cmx_sa_requests.lock keeps a stop from
 * overtaking the start; answers come in without it.
 */
#include "sa/requests.h"

static void cmx_sa_request_done(struct cmx_sched_waiter *waiter, void *answer,
				int error)
{
	struct cmx_sa_request *request = container_of(waiter,
						       struct cmx_sa_request,
						       waiter);

	if (!error) {
		cmx_sa_answer_get(answer);
		request->answer = answer;
	}
	request->error = error;
	cmx_sa_requests_put(request->requests);
}

/* True if the answer is there. */
bool cmx_sa_request_cached(struct cmx_sa_request *request, struct net *net)
{
	if (!request->answer && request->port)
		request->error = cmx_sa_cached(request->port, net,
					       &request->query,
					       &request->answer);
	return request->answer;
}

/* Takes its share of pending over: an answer will give it back. */
void cmx_sa_request_start(struct cmx_sa_request *request, struct net *net,
			  kuid_t uid)
{
	int ret;

	if (cmx_sa_request_cached(request, net)) {
		ret = -EALREADY;
	} else if (READ_ONCE(request->requests->stopped)) {
		ret = -ETIMEDOUT;
	} else if (!request->port) {
		ret = -ENODEV;
	} else {
		request->waiter.done = cmx_sa_request_done;
		request->started = true;
		ret = cmx_sa_lookup(request->port, net, uid, &request->query,
				    &request->waiter);
	}
	if (!ret)
		return;
	request->started = false;
	if (!request->answer)
		request->error = ret;
	cmx_sa_requests_put(request->requests);
}

/* Not at the same time as cmx_sa_request_start(). */
void cmx_sa_request_stop(struct cmx_sa_request *request)
{
	if (!request->started || !cmx_sa_forget(&request->waiter))
		return;
	request->error = -ETIMEDOUT;
	cmx_sa_requests_put(request->requests);
}

void cmx_sa_request_release(struct cmx_sa_request *request)
{
	if (request->answer)
		cmx_sa_answer_put(request->answer);
	if (request->port)
		cmx_sa_port_put(request->port);
}

/* Whatever is in its memory. A stop that comes before the start finds 0. */
void cmx_sa_requests_init(struct cmx_sa_requests *requests)
{
	mutex_init(&requests->lock);
	requests->stopped = false;
	atomic_set(&requests->pending, 0);
	requests->done = NULL;
}

/* Whoever starts queries does so between begin and end. */
void cmx_sa_requests_begin(struct cmx_sa_requests *requests,
			   void (*done)(struct cmx_sa_requests *requests))
{
	requests->done = done;
	atomic_set(&requests->pending, 1);
	mutex_lock(&requests->lock);
}

/* @requests may be gone when this returns. */
void cmx_sa_requests_end(struct cmx_sa_requests *requests)
{
	mutex_unlock(&requests->lock);
	cmx_sa_requests_put(requests);
}

/*
 * Forbids to start any more. Returns true to one caller, who then has to stop
 * each query, and to put @requests: done() does not run before that.
 */
bool cmx_sa_requests_stop(struct cmx_sa_requests *requests)
{
	bool first;

	mutex_lock(&requests->lock);
	first = !requests->stopped && atomic_inc_not_zero(&requests->pending);
	requests->stopped = true;
	mutex_unlock(&requests->lock);
	return first;
}

void cmx_sa_requests_put(struct cmx_sa_requests *requests)
{
	if (atomic_dec_and_test(&requests->pending))
		requests->done(requests);
}
