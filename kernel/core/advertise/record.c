// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ServiceRecord of a service at the SA of one port.
 *
 * Its work item chooses the next operation: set it; set it again before the
 * lease ends or after an event of the port; delete it. At most one query is
 * outstanding, so that a late Set never follows a Delete. The retries to an SA
 * that does not respond have increasing intervals. An event of the port resets
 * the interval.
 *
 * The key of a record at the SA is its id, GID and P_Key. When the port's GID
 * or P_Key changes, the old record is deleted first.
 *
 * A record that is no longer wanted is deleted at the SA if the SA may have it,
 * until a deadline. After the deadline the lease ends it.
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "advertise/advertise.h"
#include "advertise/trace.h"
#include "sa/wire.h"

/* Milliseconds between two attempts */
#define CMX_BACKOFF_MIN		1000
#define CMX_BACKOFF_MAX		16000

/* Milliseconds after the last event of a port: events come in groups */
#define CMX_SETTLE		100

/* A longer lease, in seconds, is renewed as often as this one */
#define CMX_RENEW_MAX		(24 * 3600)

static atomic_t cmx_records = ATOMIC_INIT(0);
static atomic_t cmx_going = ATOMIC_INIT(0);	/* of ports that are removed */

static void cmx_record_put(struct cmx_port_record *r)
{
	if (!refcount_dec_and_test(&r->ref))
		return;
	cmx_sa_port_put(r->port);
	cmx_service_put(r->service);
	kfree(r);
	cmx_stat_dec(live_service_records);
	if (atomic_dec_and_test(&cmx_records))
		cmx_service_wake();
}

/* Jiffies until @when, 0 if it has passed */
static unsigned long cmx_until(unsigned long when)
{
	return max_t(long, when - jiffies, 0);
}

static unsigned long cmx_random_ms(unsigned int ms)
{
	return msecs_to_jiffies(reciprocal_scale(get_random_u32(), ms));
}

/* Jiffies until the renewal: three to four eighths of the lease */
static unsigned long cmx_record_renewal(u32 lease)
{
	unsigned int ms = min_t(u32, lease, CMX_RENEW_MAX) * MSEC_PER_SEC;

	return msecs_to_jiffies(ms / 2) - cmx_random_ms(ms / 8);
}

/*
 * Gets the P_Key of a service on @port that requests @wanted. False if the port
 * does not have it.
 */
bool cmx_record_pkey(const struct cmx_sa_port *port, u16 wanted, u16 *pkey)
{
	struct ib_device *dev = cmx_sa_port_dev(port);
	u32 num = cmx_sa_port_num(port);
	u16 index;

	*pkey = wanted;
	if (wanted)
		return !ib_find_cached_pkey(dev, num, wanted, &index);
	return !ib_get_cached_pkey(dev, num, 0, pkey) && *pkey & 0x7fff;
}

static void cmx_record_query(const struct cmx_port_record *r,
			     struct cmx_sa_query *q)
{
	struct cmx_sa_service_rec *rec = (void *)q->rec;
	const struct rdma_cmx_service *s = r->service;
	u64 mask = CMX_SA_SERVICE_ID | CMX_SA_SERVICE_GID |
		   CMX_SA_SERVICE_PKEY;

	BUILD_BUG_ON(sizeof(rec->name) != sizeof(s->name));
	BUILD_BUG_ON(sizeof(rec->data8) + sizeof(rec->data16) +
		     sizeof(rec->data32) + sizeof(rec->data64) !=
		     sizeof(s->data));
	memset(q, 0, sizeof(*q));
	q->attr_id = cpu_to_be16(IB_SA_ATTR_SERVICE_REC);
	q->rec_len = sizeof(*rec);
	rec->id = cpu_to_be64(s->id);
	memcpy(rec->gid, &r->gid, sizeof(rec->gid));
	rec->pkey = cpu_to_be16(r->pkey);
	if (r->op == CMX_RECORD_SET) {
		q->method = IB_MGMT_METHOD_SET;
		mask |= CMX_SA_SERVICE_LEASE | CMX_SA_SERVICE_NAME |
			CMX_SA_SERVICE_DATA;
		rec->lease = cpu_to_be32(s->lease);
		memcpy(rec->name, s->name, sizeof(rec->name));
		/* The four arrays are contiguous in the record. */
		memcpy(q->rec + offsetof(struct cmx_sa_service_rec, data8),
		       s->data, sizeof(s->data));
	} else {
		q->method = IB_SA_METHOD_DELETE;
	}
	q->comp_mask = cpu_to_be64(mask);
}

/*
 * The query has completed. Drops its reference. Not under the lock, whose
 * holder may delay the queries of all users.
 */
static void cmx_record_done(struct cmx_sched_waiter *waiter, void *response,
			    int error)
{
	struct cmx_port_record *r = container_of(waiter, struct cmx_port_record,
						 waiter);
	const struct cmx_sa_service_rec *rec;
	const struct cmx_sa_response *records = response;

	r->response_error = error;
	r->response_lease = CMX_SA_LEASE_FOREVER;
	if (!error && records->count) {
		rec = cmx_sa_response_rec(records, 0);
		r->response_lease = be32_to_cpu(rec->lease);
		if (be64_to_cpu(rec->id) != r->service->id ||
		    memcmp(rec->gid, &r->gid, sizeof(rec->gid)))
			r->response_error = -EBADMSG;
		else if (r->op == CMX_RECORD_SET &&
			 r->response_lease < RDMA_CMX_MIN_LEASE)
			/* No time to renew it */
			r->response_error = -ERANGE;
	} else if (!error && r->op == CMX_RECORD_SET) {
		/* Another status does not apply here. */
		r->response_error = -ECONNREFUSED;
	}
	/* Pairs with cmx_record_idle(). */
	smp_store_release(&r->completed, true);
	cmx_record_kick(r, 0);
	cmx_record_put(r);
}

/*
 * Under the lock. Returns 0; or a negative errno, and no query is outstanding.
 */
static int cmx_record_start(struct cmx_port_record *r, enum cmx_record_op op)
{
	struct cmx_sa_query q;
	int ret;

	r->op = op;
	r->completed = false;
	cmx_record_query(r, &q);
	memset(&r->waiter, 0, sizeof(r->waiter));
	r->waiter.done = cmx_record_done;
	refcount_inc(&r->ref);
	ret = cmx_sa_lookup(r->port, r->service->net, r->service->uid, &q,
			    &r->waiter);
	if (!ret)
		return 0;
	refcount_dec(&r->ref);
	r->op = CMX_RECORD_NONE;
	return ret;
}

/* The caller reports @event after it has released the lock. */
static void cmx_record_report(struct cmx_port_record *r,
			      enum rdma_cmx_service_event_type type, int status,
			      struct rdma_cmx_service_event *event)
{
	event->type = type;
	event->status = status;
	event->ibdev_index = cmx_sa_port_dev(r->port)->index;
	event->port_num = cmx_sa_port_num(r->port);
	r->reported = type;
}

static void cmx_record_failed(struct cmx_port_record *r, int error,
			      struct rdma_cmx_service_event *event)
{
	r->confirmed = false;
	r->error = error;
	r->service->error = error;
	r->due = jiffies + msecs_to_jiffies(r->backoff) +
		 cmx_random_ms(r->backoff / 4);
	r->backoff = min(2 * r->backoff, CMX_BACKOFF_MAX);
	cmx_stat_inc(service_failures);
	cmx_record_report(r, RDMA_CMX_SERVICE_FAILED, error, event);
}

static void cmx_record_is_set(struct cmx_port_record *r,
			      struct rdma_cmx_service_event *event)
{
	u32 lease = min(r->service->lease, r->response_lease);
	bool report = r->reported != RDMA_CMX_SERVICE_SET || r->again ||
		      lease != r->lease;

	if (!r->confirmed || r->again)
		cmx_sa_services_changed();
	r->confirmed = true;
	r->again = false;
	r->error = 0;
	r->backoff = CMX_BACKOFF_MIN;
	r->lease = lease;
	/* With a lease without end it is set again after events only. */
	r->due = jiffies + cmx_record_renewal(r->lease);
	cmx_stat_inc(service_sets);
	if (report)
		cmx_record_report(r, RDMA_CMX_SERVICE_SET, 0, event);
}

/* Evaluates the completed query. No query is outstanding afterwards. */
static void cmx_record_response(struct cmx_port_record *r,
				struct rdma_cmx_service_event *event)
{
	enum cmx_record_op op = r->op;

	trace_cmx_record(r, r->response_error);
	r->op = CMX_RECORD_NONE;
	if (op == CMX_RECORD_DELETE) {
		/* Without a response of the SA it may be there still. */
		r->exists = r->response_error &&
			    r->response_error != -ECONNREFUSED &&
			    r->response_error != -EBADMSG;
		r->deferred = r->exists;
		if (!r->response_error)
			cmx_stat_inc(service_deletes);
		/* The SA may have executed it without a response. */
		cmx_sa_services_changed();
		if (r->exists && r->usable && !r->ending)
			cmx_record_failed(r, r->response_error, event);
	} else if (!r->response_error) {
		cmx_record_is_set(r, event);
	} else {
		/* The SA may have executed it, unless it refused. */
		if (r->response_error != -ECONNREFUSED)
			cmx_sa_services_changed();
		if (r->usable)
			cmx_record_failed(r, r->response_error, event);
	}
}

/* The port is not active. An event reports when it is. */
static void cmx_record_down(struct cmx_port_record *r,
			    struct rdma_cmx_service_event *event)
{
	r->confirmed = false;
	r->error = -ENODEV;
	r->service->error = -ENODEV;
	if (r->reported == RDMA_CMX_SERVICE_LOST)
		return;
	cmx_stat_inc(services_lost);
	cmx_record_report(r, RDMA_CMX_SERVICE_LOST, -ENODEV, event);
}

/*
 * True if it is to be set now. Otherwise the work item is queued for then,
 * unless the lease has no end.
 */
static bool cmx_record_is_due(struct cmx_port_record *r)
{
	u32 generation = cmx_sa_port_generation(r->port);

	if (generation != r->generation) {
		r->generation = generation;
		r->confirmed = false;
		r->again = true;
		r->backoff = CMX_BACKOFF_MIN;
		r->due = jiffies + msecs_to_jiffies(CMX_SETTLE) +
			 cmx_random_ms(CMX_SETTLE);
	}
	if (r->confirmed && r->service->lease == CMX_SA_LEASE_FOREVER &&
	    r->response_lease == CMX_SA_LEASE_FOREVER)
		return false;
	if (time_after_eq(jiffies, r->due))
		return true;
	cmx_record_kick(r, cmx_until(r->due));
	return false;
}

/* Sets it, after deleting an earlier record with another key. */
static void cmx_record_set(struct cmx_port_record *r,
			   struct rdma_cmx_service_event *event)
{
	struct ib_device *dev = cmx_sa_port_dev(r->port);
	union ib_gid gid;
	u16 pkey = 0;
	bool passes;
	int ret, error;

	ret = rdma_query_gid(dev, cmx_sa_port_num(r->port), 0, &gid);
	if (!ret && !cmx_record_pkey(r->port, r->service->pkey, &pkey))
		ret = -ENOENT;
	if (r->exists && (ret || pkey != r->pkey ||
			  memcmp(&gid, &r->gid, sizeof(gid)))) {
		error = cmx_record_start(r, CMX_RECORD_DELETE);
		if (error) {
			cmx_record_failed(r, error, event);
			cmx_record_kick(r, cmx_until(r->due));
		}
		return;
	}
	if (r->claimed && (ret || pkey != r->pkey)) {
		r->claimed = false;
		cmx_service_unclaimed(r);
	}
	r->blocked = !ret && cmx_service_claimed(r, pkey, &passes);
	r->blocked_pkey = pkey;
	if (r->blocked) {
		/* The end of the other record queues this work item. */
		if (passes)
			return;
		ret = -EEXIST;
	}
	if (!ret) {
		r->gid = gid;
		r->pkey = pkey;
		r->claimed = true;
		ret = cmx_record_start(r, CMX_RECORD_SET);
		if (!ret)
			r->exists = true;
	}
	if (ret) {
		cmx_record_failed(r, ret, event);
		cmx_record_kick(r, cmx_until(r->due));
	}
}

/* Removes it from the service. The running work item has a share of @r->ref. */
static void cmx_record_ended(struct cmx_port_record *r)
{
	struct rdma_cmx_service *s = r->service;
	bool claimed = r->claimed;

	r->claimed = false;
	if (r->going)
		atomic_dec(&cmx_going);
	list_del_init(&r->node);
	if (cancel_delayed_work(&r->work))
		refcount_dec(&r->ref);
	if (claimed)
		cmx_service_unclaimed(r);
	cmx_service_ended(s);
	refcount_dec(&r->ref);
}

/* No query is outstanding. */
static void cmx_record_ending(struct cmx_port_record *r,
			      struct rdma_cmx_service_event *event)
{
	int ret;

	if (!r->usable || !r->service->withdrawn)
		cmx_record_down(r, event);
	/* A port that is down may be active again in time. */
	if (r->exists && (r->usable || !r->going) &&
	    time_before(jiffies, r->deadline)) {
		/* First, as in cmx_record_idle() */
		cmx_record_kick(r, cmx_until(r->deadline));
		if (!r->usable)
			return;
		ret = r->deferred ? -EAGAIN :
				    cmx_record_start(r, CMX_RECORD_DELETE);
		r->deferred = false;
		if (!ret)
			return;
		/*
		 * A limit, or no memory, or the port went down and the watcher
		 * has not been called yet: all are temporary.
		 */
		if (ret != -ENODEV || !r->going) {
			cmx_record_kick(r, msecs_to_jiffies(CMX_SETTLE));
			return;
		}
	}
	cmx_record_ended(r);
}

/* True if no query is outstanding */
static bool cmx_record_idle(struct cmx_port_record *r,
			    struct rdma_cmx_service_event *event)
{
	if (r->op == CMX_RECORD_NONE)
		return true;
	/* First, or it would delay a work item that a response queues. */
	if (r->ending && time_before(jiffies, r->deadline))
		cmx_record_kick(r, cmx_until(r->deadline));
	/* Pairs with cmx_record_done(). */
	if (smp_load_acquire(&r->completed)) {
		cmx_record_response(r, event);
		return true;
	}
	if (!r->ending || time_before(jiffies, r->deadline))
		return false;
	if (!cmx_sa_forget(&r->waiter))
		return false;	/* done() will queue this work item */
	cmx_sa_services_changed();
	r->op = CMX_RECORD_NONE;
	refcount_dec(&r->ref);
	return true;
}

static void cmx_record_step(struct cmx_port_record *r,
			    struct rdma_cmx_service_event *event)
{
	if (list_empty(&r->node) || !cmx_record_idle(r, event))
		return;
	if (r->ending)
		cmx_record_ending(r, event);
	else if (!r->usable)
		cmx_record_down(r, event);
	else if (cmx_record_is_due(r))
		cmx_record_set(r, event);
}

static void cmx_record_work(struct work_struct *work)
{
	struct cmx_port_record *r = container_of(to_delayed_work(work),
						 struct cmx_port_record, work);
	struct rdma_cmx_service_event event = {};
	unsigned int noio;

	mutex_lock(&cmx_service_lock);
	/* A removal waits for the lock: see cmx_sa_device_remove(). */
	noio = memalloc_noio_save();
	cmx_record_step(r, &event);
	memalloc_noio_restore(noio);
	if (event.type)
		atomic_inc(&r->service->reports);
	mutex_unlock(&cmx_service_lock);
	if (event.type)
		cmx_service_report(r->service, &event);
	cmx_record_put(r);
}

/* Under the lock. Its state, for the service's owner. */
void cmx_record_state(const struct cmx_port_record *r,
		      struct rdma_cmx_service_port *port)
{
	memset(port, 0, sizeof(*port));
	port->ibdev_index = cmx_sa_port_dev(r->port)->index;
	port->port_num = cmx_sa_port_num(r->port);
	port->error = r->error;
	if (r->confirmed)
		port->state = RDMA_CMX_SERVICE_PORT_SET;
	else if (r->usable)
		port->state = RDMA_CMX_SERVICE_PORT_TRYING;
	else
		port->state = RDMA_CMX_SERVICE_PORT_DOWN;
	if (!r->confirmed)
		return;
	port->lease_s = r->lease;
	port->pkey = r->pkey;
	memcpy(port->gid, &r->gid, sizeof(port->gid));
}

/* Under the lock. The port goes up or down, or had an event. */
void cmx_record_use(struct cmx_port_record *r, bool usable)
{
	if (usable && r->reported == RDMA_CMX_SERVICE_LOST)
		r->reported = 0;
	r->usable = usable;
	cmx_record_kick(r, 0);
}

/* Under the lock. Ends it within @ms milliseconds. */
void cmx_record_end(struct cmx_port_record *r, unsigned int ms)
{
	unsigned long deadline = jiffies + msecs_to_jiffies(ms);

	if (!r->ending || time_before(deadline, r->deadline))
		r->deadline = deadline;
	r->ending = true;
	cmx_record_kick(r, 0);
}

/* As cmx_record_end(), and the removal of the port waits for the end. */
void cmx_record_go(struct cmx_port_record *r, unsigned int ms)
{
	if (!r->going)
		atomic_inc(&cmx_going);
	r->going = true;
	cmx_record_end(r, ms);
}

/*
 * Under the lock. Adds a record of @s on @port, which is active. @r: zeroed
 * memory for it; or NULL: there is no caller to return an error to. That memory
 * is not charged: the removal of a port waits for the lock, and a cgroup at its
 * limit makes a charge sleep. The number of a user's services is limited.
 */
void cmx_record_add(struct rdma_cmx_service *s, struct cmx_sa_port *port,
		    struct cmx_port_record *r)
{
	if (!r)
		r = kzalloc(sizeof(*r), GFP_NOIO | __GFP_NOFAIL);
	refcount_set(&r->ref, 1);
	INIT_DELAYED_WORK(&r->work, cmx_record_work);
	refcount_inc(&s->ref);
	r->service = s;
	cmx_sa_port_hold(port);
	r->port = port;
	r->usable = true;
	r->generation = cmx_sa_port_generation(port);
	r->due = jiffies;
	r->backoff = CMX_BACKOFF_MIN;
	if (list_empty(&s->records))
		s->error = 0;
	list_add_tail(&r->node, &s->records);
	atomic_inc(&cmx_records);
	cmx_stat_inc(live_service_records);
	cmx_record_kick(r, 0);
}

bool cmx_records_going(void)
{
	return atomic_read(&cmx_going);
}

bool cmx_records_none(void)
{
	return !atomic_read(&cmx_records);
}
