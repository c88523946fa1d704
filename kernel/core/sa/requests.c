// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several SA queries that are sent together, and stopped together.
 *
 * cmx_sa_requests.pending counts outstanding queries, and one for whoever
 * starts them, so that done() comes after all of them; whether they were
 * answered or stopped. Until done() runs an answer belongs to whoever fills
 * it in, afterwards to the owner of all. cmx_sa_requests.lock keeps a stop from
 * overtaking the start; answers come in without it.
 *
 * An answer is charged to the holder of all while a request has it (hold.c).
 * A cached answer needs no charge before the start: a call that ends with it
 * waits for nothing.
 */
#include "sa/internal.h"
#include "sa/requests.h"

/* Takes @request's answer away, which is charged, for cmx_sa_request_free(). */
static struct cmx_sa_answer *cmx_sa_request_take(struct cmx_sa_request *request)
{
	struct cmx_sa_answer *answer = request->answer;

	request->answer = NULL;
	request->charged = false;
	return answer;
}

static void cmx_sa_request_free(const struct cmx_sa_requests *requests,
				struct cmx_sa_answer *answer)
{
	cmx_sa_uncharge(requests->holder, answer);
	cmx_sa_answer_put(answer);
}

/*
 * No answer is of use any more. The caller has a share of pending. Those who
 * have not got theirs do not get it; no more of them than there are ports.
 */
static void cmx_sa_requests_refuse(struct cmx_sa_requests *requests, int error)
{
	struct cmx_sa_answer *answer;
	struct cmx_sa_request *r;

	do {
		answer = NULL;
		spin_lock(&requests->held_lock);
		if (!requests->refused)
			requests->refused = error;
		r = list_first_entry_or_null(&requests->held,
					     struct cmx_sa_request, held);
		if (r) {
			list_del(&r->held);
			answer = cmx_sa_request_take(r);
			r->error = error;
		}
		spin_unlock(&requests->held_lock);
		if (answer)
			cmx_sa_request_free(requests, answer);
	} while (answer);
	requests->failed(requests);
}

/*
 * @answer is for @request, which takes a reference if its holder may have it.
 * A refused answer stays with the other requests for it.
 */
static void cmx_sa_request_hold(struct cmx_sa_request *request,
				struct cmx_sa_answer *answer)
{
	struct cmx_sa_requests *requests = request->requests;
	int ret = cmx_sa_charge(requests->holder, answer);

	if (!ret) {
		cmx_sa_answer_get(answer);
		spin_lock(&requests->held_lock);
		ret = requests->refused;
		if (!ret) {
			request->answer = answer;
			request->charged = true;
			if (requests->failed)
				list_add(&request->held, &requests->held);
		}
		spin_unlock(&requests->held_lock);
		if (ret)
			cmx_sa_request_free(requests, answer);
	}
	/* One with an answer belongs to whoever refuses another. */
	if (!ret)
		return;
	request->error = ret;
	if (requests->failed)
		cmx_sa_requests_refuse(requests, ret);
}

static void cmx_sa_request_done(struct cmx_sched_waiter *waiter, void *answer,
				int error)
{
	struct cmx_sa_request *request = container_of(waiter,
						       struct cmx_sa_request,
						       waiter);

	request->error = error;
	if (!error)
		cmx_sa_request_hold(request, answer);
	cmx_sa_requests_put(request->requests);
}

/* True if the answer is there. After a refresh has begun it is new. */
bool cmx_sa_request_cached(struct cmx_sa_request *request, struct net *net)
{
	if (request->refresh && request->port) {
		request->refresh = false;
		cmx_sa_uncache(request->port, net, &request->query,
			       CMX_SA_GONE_RENEWED);
		return false;
	}
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
	int ret = READ_ONCE(request->requests->refused);
	struct cmx_sa_answer *answer;

	if (!ret && cmx_sa_request_cached(request, net)) {
		answer = request->answer;
		request->answer = NULL;
		request->error = 0;
		cmx_sa_request_hold(request, answer);
		cmx_sa_answer_put(answer);
		cmx_sa_requests_put(request->requests);
		return;
	}
	if (ret) {
		/* Another's answer was refused: this one is of no use. */
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

/* For the owner of all. The answer is not needed any more, or never was. */
void cmx_sa_request_drop(struct cmx_sa_request *request)
{
	if (request->charged) {
		cmx_sa_request_free(request->requests,
				    cmx_sa_request_take(request));
	} else {
		cmx_sa_answer_put(request->answer);
		request->answer = NULL;
	}
}

void cmx_sa_request_release(struct cmx_sa_request *request)
{
	cmx_sa_request_drop(request);
	if (request->port)
		cmx_sa_port_put(request->port);
}

/* The memory may hold anything. A stop before the start finds 0. */
void cmx_sa_requests_init(struct cmx_sa_requests *requests)
{
	mutex_init(&requests->lock);
	requests->stopped = false;
	requests->stopping = false;
	atomic_set(&requests->pending, 0);
	requests->done = NULL;
	requests->failed = NULL;
	requests->holder = CMX_KERNEL_UID;
	spin_lock_init(&requests->held_lock);
	requests->refused = 0;
	INIT_LIST_HEAD(&requests->held);
}

/* Queries start between begin and end. */
void cmx_sa_requests_begin(struct cmx_sa_requests *requests, kuid_t holder,
			   void (*done)(struct cmx_sa_requests *requests))
{
	requests->done = done;
	requests->holder = holder;
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

	/* Who starts them may wait for memory for each. */
	WRITE_ONCE(requests->stopped, true);
	mutex_lock(&requests->lock);
	first = !requests->stopping && atomic_inc_not_zero(&requests->pending);
	requests->stopping = true;
	mutex_unlock(&requests->lock);
	return first;
}

void cmx_sa_requests_put(struct cmx_sa_requests *requests)
{
	if (atomic_dec_and_test(&requests->pending))
		requests->done(requests);
}
