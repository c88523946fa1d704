// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The resolution of an id, from start to end.
 *
 * The id's mutex guards it. The resolver's work item delivers the result. It
 * takes only the id's lock, because a cancel waits for it with the mutex held.
 *
 * A resolution is outstanding until a reader has received its event. Its object
 * stays, with the result, until the next resolution or the end of the id. It
 * counts for its file until it has finished, and for the file's user until the
 * result is taken, raced (any.c), or freed with the object.
 */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "resolver.h"

struct ucmx_query {
	struct rdma_cmx_query *query;	/* NULL: finished at once */
	struct rdma_cmx_result *result;
	struct ucmx_event ev;
	bool done;		/* finished, by ucmx_id.lock */
	bool read;		/* event handed out, by ucmx_file.lock */
	bool by_device;		/* sent from the id's port */
	bool limited;		/* the caller gave path records */
	bool own_dev;		/* the caller gave a device */
	bool charged;		/* to the file's user, by ucmx_id.lock */
};

/* Returns 0 or -EAGAIN. */
int ucmx_request_charge(struct ucmx_file *file, unsigned int n)
{
	if (!n)
		return 0;
	if (atomic_add_return(n, &file->nr_requests) <=
	    READ_ONCE(ucmx_max_requests))
		return 0;
	atomic_sub(n, &file->nr_requests);
	return -EAGAIN;
}

/**
 * ucmx_call_charge - charge a command that waits for its result
 * @file: the file
 *
 * Return: 0, then ucmx_call_uncharge() follows; or -EAGAIN.
 */
int ucmx_call_charge(struct ucmx_file *file)
{
	int ret;

	ret = ucmx_request_charge(file, 1);
	if (ret)
		return ret;
	ret = ucmx_user_charge(file->user);
	if (ret)
		atomic_dec(&file->nr_requests);
	return ret;
}

void ucmx_call_uncharge(struct ucmx_file *file)
{
	atomic_dec(&file->user->requests);
	atomic_dec(&file->nr_requests);
}

/* The event was read. The file's lock is held. */
static void ucmx_query_read(struct ucmx_event *ev, bool owner)
{
	container_of(ev, struct ucmx_query, ev)->read = true;
}

/**
 * ucmx_query_weight - get the charges of the requests of an id
 * @id: the id, its lock held; its mutex keeps them from growing
 * @file: charges to its file
 * @user: charges to the file's user
 */
void ucmx_query_weight(struct ucmx_id *id, unsigned int *file,
		       unsigned int *user)
{
	lockdep_assert_held(&id->lock);
	*file = id->racing + (id->query && !id->query->done);
	*user = (id->racing || id->any_large) +
		(id->query && id->query->charged);
}

/* The id's lock is held, or @uq is not visible to others. */
static void ucmx_query_uncharge(struct ucmx_query *uq)
{
	if (uq->charged)
		atomic_dec(&uq->ev.id->file->user->requests);
	uq->charged = false;
}

static void ucmx_query_finish(struct ucmx_query *uq,
			      struct rdma_cmx_result *result)
{
	struct ucmx_id *id = uq->ev.id;

	spin_lock(&id->lock);
	uq->done = true;
	if (IS_ERR(result)) {
		uq->ev.event = RDMA_CMX_EV_ADDRINFO_ERROR;
		uq->ev.status = PTR_ERR(result);
		ucmx_query_uncharge(uq);
	} else {
		uq->ev.event = RDMA_CMX_EV_ADDRINFO_RESOLVED;
		uq->result = result;
	}
	atomic_dec(&id->file->nr_requests);
	ucmx_event_post_locked(&uq->ev);
	spin_unlock(&id->lock);
}

static void ucmx_query_done(struct rdma_cmx_query *query,
			    struct rdma_cmx_result *result, void *context)
{
	ucmx_query_finish(context, result);
}

/* True if it has not finished and will not finish. */
static bool ucmx_query_cancel(struct ucmx_query *uq)
{
	return uq->query && rdma_cmx_query_cancel(uq->query);
}

/*
 * The callback has run or was cancelled, the event is in no queue. The id still
 * has its file. Its mutex is held, or the id is dead.
 */
static void ucmx_query_free(struct ucmx_query *uq)
{
	ucmx_query_uncharge(uq);
	if (uq->query)
		rdma_cmx_query_put(uq->query);
	rdma_cmx_result_put(uq->result);
	kfree(uq);
	ucmx_stat_dec(live_queries);
}

/**
 * ucmx_query_end - end the resolution of a dead id
 * @id: the id
 *
 * The purge of the queue still finds its event. The caller frees the object
 * with ucmx_query_drop() after that.
 */
void ucmx_query_end(struct ucmx_id *id)
{
	struct ucmx_query *uq = id->query;

	if (!uq || !ucmx_query_cancel(uq))
		return;
	spin_lock(&id->lock);
	if (!uq->done)
		atomic_dec(&id->file->nr_requests);
	uq->done = true;
	ucmx_query_uncharge(uq);
	spin_unlock(&id->lock);
}

void ucmx_query_drop(struct ucmx_id *id)
{
	if (!id->query)
		return;
	ucmx_query_free(id->query);
	id->query = NULL;
}

/**
 * ucmx_query_device_gone - fail a resolution that uses the id's port
 * @id: the id, its mutex held
 */
void ucmx_query_device_gone(struct ucmx_id *id)
{
	struct ucmx_query *uq = id->query;

	if (!uq || !uq->by_device)
		return;
	if (ucmx_query_cancel(uq) && !uq->done)
		ucmx_query_finish(uq, ERR_PTR(-ENODEV));
}

static struct ucmx_query *ucmx_query_alloc(struct ucmx_id *id)
{
	struct ucmx_query *uq;

	uq = kzalloc(sizeof(*uq), GFP_KERNEL_ACCOUNT);
	if (!uq)
		return NULL;
	ucmx_event_init(&uq->ev, id, RDMA_CMX_EV_ADDRINFO_ERROR);
	uq->ev.embedded = true;
	uq->ev.reported = ucmx_query_read;
	ucmx_stat_inc(live_queries);
	return uq;
}

/* The id's mutex is held. */
bool ucmx_query_outstanding(struct ucmx_id *id)
{
	bool ret;

	spin_lock(&id->file->lock);
	ret = id->query && !id->query->read;
	spin_unlock(&id->file->lock);
	return ret;
}

/* Frees an object whose event was read. Its callback may not have returned. */
static void ucmx_query_retire(struct ucmx_query *uq)
{
	if (!uq)
		return;
	ucmx_query_cancel(uq);
	ucmx_query_free(uq);
}

int ucmx_query_start(struct ucmx_id *id, struct ucmx_request *req)
{
	struct rdma_cmx_result *known;
	struct ucmx_query *uq, *old;
	bool inherit;
	int ret;

	if (ucmx_query_outstanding(id))
		return -EBUSY;
	ret = ucmx_event_check(id) ?: ucmx_request_charge(id->file, 1);
	if (ret)
		return ret;
	ret = -ENOMEM;
	uq = ucmx_query_alloc(id);
	if (!uq)
		goto err_charge;
	/* It takes over the charge of its predecessor. */
	inherit = id->query && id->query->charged;
	if (!inherit) {
		ret = ucmx_user_charge(id->file->user);
		if (ret)
			goto err_free;
		uq->charged = true;
	}
	req->attr.net = id->cm->route.addr.dev_addr.net;
	/* For users the helper resolves only in the initial namespace. */
	if (!net_eq(req->attr.net, &init_net))
		req->caller.no_names = true;
	if ((req->attr.flags & RDMA_CMX_AI_SA) && !req->all_ports) {
		req->attr.id = id->cm;
		uq->by_device = true;
	}
	/* Of the id's own port the firmware is that of its removal. */
	req->caller.locked = !uq->by_device;
	uq->limited = req->attr.route_count;
	uq->own_dev = req->attr.dev;
	/* The predecessor stays until this one has started. */
	spin_lock(&id->lock);
	old = id->query;
	id->query = uq;
	if (inherit) {
		old->charged = false;
		uq->charged = true;
	}
	spin_unlock(&id->lock);

	ret = rdma_cmx_query_start_for(&req->attr, &req->caller,
				       ucmx_query_done, uq, &known,
				       &uq->query);
	if (!ret) {
		if (known)
			ucmx_query_finish(uq, known);
		ucmx_stat_inc(requests);
		ucmx_query_retire(old);
		return 0;
	}
	uq->query = NULL;
	spin_lock(&id->lock);
	id->query = old;
	if (inherit) {
		uq->charged = false;
		old->charged = true;
	}
	spin_unlock(&id->lock);
err_free:
	ucmx_query_free(uq);
err_charge:
	atomic_dec(&id->file->nr_requests);
	return ret;
}

/* The id's mutex is held. -ESRCH: no resolution waits for its caller. */
int ucmx_query_give_names(struct ucmx_id *id, const struct cmx_given *given)
{
	if (!id->query || !id->query->query)
		return -ESRCH;
	return rdma_cmx_query_give_names(id->query->query, given);
}

/* The result of an id with a reference, or NULL; the id's mutex is held. */
struct rdma_cmx_result *ucmx_result_get(struct ucmx_id *id)
{
	struct rdma_cmx_result *res = NULL;

	spin_lock(&id->lock);
	if (id->query)
		res = id->query->result;
	if (res)
		kref_get(&res->ref);
	spin_unlock(&id->lock);
	return res;
}

/* True if the user has the charge of @id's result, by the id's mutex */
bool ucmx_result_charged(const struct ucmx_id *id)
{
	return id->query->charged;
}

/*
 * A race counts for the result of @id from now on. It has taken the charge of
 * the user over, if @taken. The id's lock is held.
 */
void ucmx_result_raced(struct ucmx_id *id, bool taken)
{
	if (taken)
		id->query->charged = false;
	else
		ucmx_query_uncharge(id->query);
}

/* The limits of the request of a result. The id's mutex is held. */
void ucmx_query_limits(struct ucmx_id *id, bool *limited, bool *own_dev)
{
	*limited = id->query->limited;
	*own_dev = id->query->own_dev;
}

/*
 * Takes @res away from its id. The caller's reference keeps a later result from
 * having the address of @res. Returns false if another caller was first.
 */
bool ucmx_result_take(struct ucmx_id *id, struct rdma_cmx_result *res)
{
	bool taken = false;

	spin_lock(&id->lock);
	if (id->query && id->query->result == res) {
		id->query->result = NULL;
		ucmx_query_uncharge(id->query);
		taken = true;
	}
	spin_unlock(&id->lock);
	if (taken)
		rdma_cmx_result_put(res);
	return taken;
}
