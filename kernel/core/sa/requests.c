// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Several SA queries that are started together, and stopped together.
 *
 * cmx_sa_requests.pending counts outstanding queries, plus one for the code
 * that starts them, so that done() follows after all of them, completed or
 * stopped. Until done() runs, a response belongs to the code that stores it,
 * afterwards to the owner of all.
 *
 * The code that starts queries may wait for memory of a cgroup. A stop does not
 * wait for it: the last starter executes the stop. Two starters start different
 * queries, and do not wait for each other.
 *
 * A response is charged to the holder of all while a request has it (hold.c). A
 * cached response needs no charge before the start: a call that ends with it
 * does not wait.
 */
#include "sa/internal.h"
#include "sa/requests.h"

/* Takes @request's charged response, for cmx_sa_request_free(). */
static struct cmx_sa_response *
cmx_sa_request_take(struct cmx_sa_request *request)
{
	struct cmx_sa_response *response = request->response;

	request->response = NULL;
	request->charged = false;
	return response;
}

static void cmx_sa_request_free(const struct cmx_sa_requests *requests,
				struct cmx_sa_response *response)
{
	cmx_sa_uncharge(requests->holder, response);
	cmx_sa_response_put(response);
}

/*
 * The responses are of no use. The caller has a share of pending. Requests that
 * have no response do not get one. Their number is at most that of the ports.
 */
static void cmx_sa_requests_refuse(struct cmx_sa_requests *requests, int error)
{
	struct cmx_sa_response *response;
	struct cmx_sa_request *r;

	do {
		response = NULL;
		spin_lock(&requests->held_lock);
		if (!requests->refused)
			requests->refused = error;
		r = list_first_entry_or_null(&requests->held,
					     struct cmx_sa_request, held);
		if (r) {
			list_del(&r->held);
			response = cmx_sa_request_take(r);
			r->error = error;
		}
		spin_unlock(&requests->held_lock);
		if (response)
			cmx_sa_request_free(requests, response);
	} while (response);
	requests->failed(requests);
}

/*
 * Gives @response to @request, which takes a reference if the charge to its
 * holder succeeds. A refused response stays with the other requests for it.
 */
static void cmx_sa_request_hold(struct cmx_sa_request *request,
				struct cmx_sa_response *response)
{
	struct cmx_sa_requests *requests = request->requests;
	int ret = cmx_sa_charge(requests->holder, response);

	if (!ret) {
		cmx_sa_response_get(response);
		spin_lock(&requests->held_lock);
		ret = requests->refused;
		if (!ret) {
			request->response = response;
			request->charged = true;
			if (requests->failed)
				list_add(&request->held, &requests->held);
		}
		spin_unlock(&requests->held_lock);
		if (ret)
			cmx_sa_request_free(requests, response);
	}
	/* The code that refuses another response owns this one. */
	if (!ret)
		return;
	request->error = ret;
	if (requests->failed)
		cmx_sa_requests_refuse(requests, ret);
}

static void cmx_sa_request_done(struct cmx_sched_waiter *waiter, void *response,
				int error)
{
	struct cmx_sa_request *request = container_of(waiter,
						       struct cmx_sa_request,
						       waiter);

	request->error = error;
	if (!error)
		cmx_sa_request_hold(request, response);
	cmx_sa_requests_put(request->requests);
}

/* True if the cache has a response. A refresh gets a new one. */
bool cmx_sa_request_cached(struct cmx_sa_request *request, struct net *net)
{
	if (request->refresh && request->port) {
		request->refresh = false;
		cmx_sa_uncache(request->port, net, &request->query,
			       CMX_SA_GONE_RENEWED);
		return false;
	}
	if (!request->response && request->port)
		request->error = cmx_sa_cached(request->port, net,
					       &request->query,
					       &request->response);
	return request->response;
}

/* Takes over a share of pending, which the response drops. */
void cmx_sa_request_start(struct cmx_sa_request *request, struct net *net,
			  kuid_t uid)
{
	int ret = READ_ONCE(request->requests->refused);
	struct cmx_sa_response *response;

	if (!ret && cmx_sa_request_cached(request, net)) {
		response = request->response;
		request->response = NULL;
		request->error = 0;
		cmx_sa_request_hold(request, response);
		cmx_sa_response_put(response);
		cmx_sa_requests_put(request->requests);
		return;
	}
	if (ret) {
		/*
		 * The response to another one was refused: this one is of no
		 * use.
		 */
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

/* Not concurrently with cmx_sa_request_start() */
void cmx_sa_request_stop(struct cmx_sa_request *request)
{
	if (!request->started || !cmx_sa_forget(&request->waiter))
		return;
	request->error = -ETIMEDOUT;
	cmx_sa_requests_put(request->requests);
}

/* For the owner of all. Drops the response, if there is one. */
void cmx_sa_request_drop(struct cmx_sa_request *request)
{
	if (request->charged) {
		cmx_sa_request_free(request->requests,
				    cmx_sa_request_take(request));
	} else {
		cmx_sa_response_put(request->response);
		request->response = NULL;
	}
}

void cmx_sa_request_release(struct cmx_sa_request *request)
{
	cmx_sa_request_drop(request);
	if (request->port)
		cmx_sa_port_put(request->port);
}

/* The memory is uninitialised. A stop before the start finds 0. */
void cmx_sa_requests_init(struct cmx_sa_requests *requests)
{
	atomic_set(&requests->starters, 0);
	requests->stopped = false;
	atomic_set(&requests->stopping, 0);
	atomic_set(&requests->pending, 0);
	requests->done = NULL;
	requests->stop = NULL;
	requests->failed = NULL;
	requests->holder = CMX_KERNEL_UID;
	spin_lock_init(&requests->held_lock);
	requests->refused = 0;
	INIT_LIST_HEAD(&requests->held);
}

/* Queries start between this and cmx_sa_requests_end(). */
void cmx_sa_requests_begin(struct cmx_sa_requests *requests, kuid_t holder,
			   void (*done)(struct cmx_sa_requests *requests),
			   void (*stop)(struct cmx_sa_requests *requests))
{
	requests->done = done;
	requests->stop = stop;
	requests->holder = holder;
	atomic_set(&requests->pending, 1);
	cmx_sa_requests_enter(requests);
}

/* As cmx_sa_requests_begin(), later. The caller has a share of pending. */
void cmx_sa_requests_enter(struct cmx_sa_requests *requests)
{
	/* Before reads of stopped. Pairs with cmx_sa_requests_stop(). */
	atomic_inc_return(&requests->starters);
}

/* Drops a share of pending. @requests may be freed when this returns. */
void cmx_sa_requests_end(struct cmx_sa_requests *requests)
{
	/* Before the read of stopped. Pairs with cmx_sa_requests_stop(). */
	if (!atomic_dec_return(&requests->starters) &&
	    READ_ONCE(requests->stopped))
		requests->stop(requests);
	cmx_sa_requests_put(requests);
}

/*
 * Prevents further starts. Returns true to one caller, which then has to stop
 * each query, and to put @requests. done() does not run before that. While
 * queries are started, that caller is the stop() of cmx_sa_requests_end().
 */
bool cmx_sa_requests_stop(struct cmx_sa_requests *requests)
{
	WRITE_ONCE(requests->stopped, true);
	/*
	 * Pairs with the atomic operations on starters, which are barriers.
	 * Either this finds no starter, and later ones find the flag, or the
	 * last starter finds it.
	 */
	smp_mb();
	if (atomic_read_acquire(&requests->starters))
		return false;
	return !atomic_xchg(&requests->stopping, 1) &&
	       atomic_inc_not_zero(&requests->pending);
}

void cmx_sa_requests_put(struct cmx_sa_requests *requests)
{
	if (atomic_dec_and_test(&requests->pending))
		requests->done(requests);
}
