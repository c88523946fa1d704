// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One candidate: creates its id, resolves address and route, connects, and
 * hands the id over or destroys it. One work item does all of it, one step for
 * each event.
 *
 * The event handler of the id, with the handler lock held, only stores the
 * event. So the work item may destroy the id at any time, which waits for the
 * handler. The handover takes both locks: an event before it ends the
 * candidate, an event after it goes to the caller's handler.
 */
#include <linux/export.h>
#include <linux/sched.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_cm_ib.h>

#include "connect/connect.h"

/* ARP, neighbour discovery and an SA that replies need less. */
#define CMX_TRY_ADDR_MS		3000
#define CMX_TRY_ROUTE_MS	5000

/* Length of rdma_cm's header before private data to an IP address */
#define CMX_TRY_IP_HEADER	36

/* No reply on a cached path: a second attempt follows. */
static void cmx_try_late(struct work_struct *work)
{
	struct cmx_try *t = container_of(to_delayed_work(work), struct cmx_try,
					 limit);
	struct rdma_cmx_connector *c = t->c;

	spin_lock(&c->lock);
	if (t->outstanding && !t->stop && !t->error && !t->connected) {
		t->over_limit = true;
		WRITE_ONCE(t->error, -ETIMEDOUT);
		cmx_connect_queue(&t->item);
	}
	spin_unlock(&c->lock);
	cmx_connector_put(c);
}

static void cmx_try_disarm(struct cmx_try *t)
{
	if (cancel_delayed_work_sync(&t->limit))
		cmx_connector_put(t->c);
}

/* A name server may say anything. */
bool cmx_try_has_device(const struct rdma_cmx_entry *entry)
{
	return entry->port_num && !cmx_addr_is_any(&entry->dst) &&
	       !cmx_addr_is_multicast(&entry->dst);
}

static void cmx_try_data(struct cmx_try *t, const void *data, u8 len)
{
	t->out->data_len = data ? len : 0;
	if (data)
		memcpy(t->out->data, data, len);
}

static void cmx_try_established(struct cmx_try *t,
				const struct rdma_cm_event *event)
{
	t->got = true;
	t->connected = true;
	t->param = event->param.conn;
	cmx_try_data(t, event->param.conn.private_data,
		     event->param.conn.private_data_len);
	t->param.private_data = t->out->data;
	t->param.private_data_len = t->out->data_len;
}

static void cmx_try_rejected(struct cmx_try *t, struct rdma_cm_id *id,
			     struct rdma_cm_event *event)
{
	const void *data;
	u8 len = 0;

	t->out->reason = event->status;
	t->out->reason_text = rdma_reject_msg(id, event->status);
	data = rdma_consumer_reject_data(id, event, &len);
	cmx_try_data(t, data, len);
	t->path_failed = cmx_rej_is_of_path(id, event->status);
}

/* The negative errno of an event, 0: none */
static int cmx_try_event_error(const struct rdma_cm_event *event)
{
	bool is_errno = event->status < 0 && event->status >= -MAX_ERRNO;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return is_errno ? event->status : -EHOSTUNREACH;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return is_errno ? event->status : -ECONNABORTED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return is_errno ? event->status : -ETIMEDOUT;
	case RDMA_CM_EVENT_REJECTED:
		return -ECONNREFUSED;
	case RDMA_CM_EVENT_DISCONNECTED:
		return -ECONNRESET;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return -EADDRNOTAVAIL;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return -ENODEV;
	default:
		return 0;
	}
}

/* The handler until the handover. The first error is kept. */
static int cmx_try_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	int error = cmx_try_event_error(event);
	struct cmx_try *t = id->context;

	rdma_cmx_route_event(&t->route, event);
	rdma_cmx_slot_event(&t->slot, event);
	spin_lock(&t->c->lock);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		t->got = true;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
	/* With a user's queue pair: the user sends the RTU. */
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		cmx_try_established(t, event);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (!t->error)
			cmx_try_rejected(t, id, event);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		t->path_failed = true;
		break;
	default:
		break;
	}
	if (!t->error)
		WRITE_ONCE(t->error, error);
	if (t->outstanding)
		cmx_connect_queue(&t->item);
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		cmx_connect_run_first(&t->item);
	spin_unlock(&t->c->lock);
	return 0;
}

/* The other half of the time is for a path that is not cached. */
static void cmx_try_arm(struct cmx_try *t)
{
	long left;

	spin_lock(&t->c->lock);
	left = cmx_deadline_left(t->c);
	spin_unlock(&t->c->lock);
	/* Too short for two attempts */
	if (left < HZ)
		return;
	refcount_inc(&t->c->uses);
	queue_delayed_work(cmx_connect_timer_wq, &t->limit,
			   min_t(long, left / 2,
				 msecs_to_jiffies(CMX_CONNECT_LIMIT_MS)));
}

/* Milliseconds to the deadline: at least 1, at most @max */
static unsigned long cmx_try_left(struct cmx_try *t, unsigned int max)
{
	long left;

	spin_lock(&t->c->lock);
	left = cmx_deadline_left(t->c);
	spin_unlock(&t->c->lock);
	return clamp_t(unsigned int, jiffies_to_msecs(max(left, 1L)), 1, max);
}

static int cmx_try_addr(struct cmx_try *t)
{
	const struct rdma_cmx_entry *e = t->entry;
	struct rdma_cmx_connector *c = t->c;
	union rdma_cmx_sockaddr src = e->src;
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(c->net, cmx_try_event, t, e->port_space,
			    e->qp_type);
	if (IS_ERR(id))
		return PTR_ERR(id);
	t->id = id;
	if (c->attr.has_tos)
		rdma_set_service_type(id, c->attr.tos);
	if (c->has_ack_timeout) {
		ret = rdma_set_ack_timeout(id, c->ack_timeout);
		if (ret)
			return ret;
	}
	/* Several candidates have the port that the caller gave. */
	if (c->count > 1 && cmx_addr_port(&src)) {
		ret = rdma_set_reuseaddr(id, 1);
		if (ret)
			return ret;
	}
	return rdma_resolve_addr(id, src.sa.sa_family ? &src.sa : NULL,
				 &e->dst.sa, cmx_try_left(t, CMX_TRY_ADDR_MS));
}

/*
 * True if the path is one between the GIDs of @addr. The neighbour may have
 * changed since the result. After a failover of a bond the id is on another
 * port.
 */
bool cmx_try_path_fits(const struct rdma_dev_addr *addr,
		       const struct sa_path_rec *rec)
{
	union ib_gid sgid, dgid;

	rdma_addr_get_sgid((struct rdma_dev_addr *)addr, &sgid);
	rdma_addr_get_dgid((struct rdma_dev_addr *)addr, &dgid);
	return !memcmp(&sgid, &rec->sgid, sizeof(sgid)) &&
	       !memcmp(&dgid, &rec->dgid, sizeof(dgid));
}

/* Sets the path of the result, which matches those that the caller gave. */
static int cmx_try_given_path(struct cmx_try *t)
{
	struct sa_path_rec rec;

	if (rdma_cmx_entry_path(t->entry, 0, &rec) ||
	    !cmx_try_path_fits(&t->id->route.addr.dev_addr, &rec))
		return -EHOSTUNREACH;
	return rdma_set_ib_path(t->id, &rec);
}

/* Returns 0: an event follows; 1: it has a route; or a negative errno. */
static int cmx_try_route(struct cmx_try *t)
{
	const struct rdma_cmx_connector *c = t->c;
	struct rdma_cm_id *id = t->id;

	/* Another device or netdevice has the same address. */
	if (c->own_dev && id->device->index != t->entry->ibdev_index)
		return -ENODEV;
	if (c->ifindex && t->entry->family != AF_IB &&
	    id->route.addr.dev_addr.bound_dev_if != c->ifindex)
		return -ENODEV;
	t->step = RDMA_CMX_CONNECT_ROUTE;
	t->route.locked = c->user;
	if (c->limited && rdma_cap_ib_sa(id->device, id->port_num))
		return cmx_try_given_path(t) ?: 1;
	if (!t->again && !rdma_cmx_set_cached_path_tos(id, c->tos)) {
		t->cached = true;
		return 1;
	}
	return rdma_cmx_route_start(id, &t->route,
				    cmx_try_left(t, CMX_TRY_ROUTE_MS), c->tos,
				    c->uid);
}

/* Private data of a request: maximum for the caller and the entry */
static size_t cmx_try_room(const struct rdma_cm_id *id)
{
	if (!rdma_cap_ib_cm(id->device, id->port_num))
		return U8_MAX;
	return id->route.addr.src_addr.ss_family == AF_IB ?
	       IB_CM_REQ_PRIVATE_DATA_SIZE :
	       IB_CM_REQ_PRIVATE_DATA_SIZE - CMX_TRY_IP_HEADER;
}

static void cmx_try_calls(struct cmx_try *t, struct task_struct *caller)
{
	spin_lock(&t->c->lock);
	t->caller = caller;
	spin_unlock(&t->c->lock);
}

/* The wait for a slot has ended; @error is 0 or -ETIMEDOUT. */
static void cmx_try_granted(void *context, int error)
{
	struct cmx_try *t = context;

	spin_lock(&t->c->lock);
	cmx_deadline_granted(t);
	t->got = true;
	if (!t->error)
		WRITE_ONCE(t->error, error);
	if (t->outstanding)
		cmx_connect_queue(&t->item);
	/* Its share of the time begins. */
	cmx_race(t->c);
	spin_unlock(&t->c->lock);
}

/* Returns 0: it has a slot; 1: it waits for one; or a negative errno. */
static int cmx_try_slot(struct cmx_try *t)
{
	int ret;

	if (t->slot.state == CMX_SLOT_HELD || !rdma_cmx_slot_get(&t->slot, t->id))
		return 0;
	cmx_deadline_wait(t);
	ret = rdma_cmx_slot_wait(&t->slot, t->id, t->c->uid, cmx_try_granted,
				 t);
	if (ret <= 0)
		cmx_deadline_wait_over(t);
	return ret;
}

static int cmx_try_setup(struct cmx_try *t, struct rdma_conn_param *param)
{
	struct rdma_cmx_connector *c = t->c;
	int ret;

	t->step = RDMA_CMX_CONNECT_SETUP;
	cmx_try_calls(t, current);
	ret = c->attr.setup(t->id, t->entry, param, c->context);
	cmx_try_calls(t, NULL);
	if (ret)
		return ret < 0 ? ret : -EINVAL;
	t->set_up = true;
	/* A user's queue pair is only a number here. */
	if (!t->id->qp && !c->user)
		return -EINVAL;
	return READ_ONCE(t->stop) ? -ECANCELED : 0;
}

static int cmx_try_connect(struct cmx_try *t)
{
	const struct rdma_cmx_entry *e = t->entry;
	struct rdma_conn_param param = {
		.retry_count = t->c->attr.retry_count,
		.rnr_retry_count = t->c->attr.rnr_retry_count,
	};
	u8 data[U8_MAX];
	size_t len;
	int ret;

	ret = cmx_try_setup(t, &param);
	if (ret)
		return ret;
	len = (size_t)e->connect_len + param.private_data_len;
	if (len > cmx_try_room(t->id))
		return -EMSGSIZE;
	if (param.private_data_len && !param.private_data)
		return -EINVAL;
	if (e->connect_len)
		memcpy(data, e->connect, e->connect_len);
	if (param.private_data_len)
		memcpy(data + e->connect_len, param.private_data,
		       param.private_data_len);
	param.private_data = data;
	param.private_data_len = len;

	t->step = RDMA_CMX_CONNECT_REQUEST;
	if (t->cached)
		cmx_try_arm(t);
	cmx_stat_inc(connect_requests);
	t->sent = jiffies;
	ret = rdma_connect(t->id, &param);
	/* A request that cannot be sent may have an invalid path. */
	if (ret && ret != -ENOMEM)
		t->path_failed = true;
	return ret;
}

static int cmx_try_up(struct cmx_try *t)
{
	int ret;

	t->step = RDMA_CMX_CONNECT_UP;
	cmx_try_disarm(t);
	spin_lock(&t->c->lock);
	ret = cmx_race_up(t->c, t);
	spin_unlock(&t->c->lock);
	return ret;
}

/* Starts the candidate, or its next step. */
static int cmx_try_advance(struct cmx_try *t)
{
	int ret = 1;

	if (!t->id)
		return cmx_try_addr(t);
	if (t->step == RDMA_CMX_CONNECT_ADDR)
		ret = cmx_try_route(t);
	if (ret <= 0)
		return ret;
	if (t->step != RDMA_CMX_CONNECT_ROUTE || !t->c->attr.setup)
		return cmx_try_up(t);
	ret = cmx_try_slot(t);
	if (ret)
		return min(ret, 0);
	return cmx_try_connect(t);
}

/* True if the request got no reply in the candidate's time */
static bool cmx_try_is_silent(const struct cmx_try *t)
{
	const struct rdma_cmx_connector *c = t->c;
	int error = READ_ONCE(t->error);

	if (t->step != RDMA_CMX_CONNECT_REQUEST || t->connected)
		return false;
	return error == -ETIMEDOUT ||
	       (!error && READ_ONCE(c->late) && !READ_ONCE(c->winner));
}

/* True if the cache has to drop the path of the id, which others use, too. */
static bool cmx_try_path_is_bad(const struct cmx_try *t, bool silent)
{
	if (t->path_failed || (silent && cmx_req_is_silent(t->sent)))
		return true;
	/*
	 * The second attempt follows, and needs another query. A user may have
	 * chosen a short time, and others use the path.
	 */
	if (silent && t->cached && !t->c->user &&
	    READ_ONCE(t->error) == -ETIMEDOUT && !READ_ONCE(t->leaving) &&
	    !READ_ONCE(t->stop))
		return true;
	/*
	 * Another host with this LID rejects the service id before it compares
	 * the GIDs. A user may provoke this REJ by its choice of the port.
	 */
	return t->cached && !t->c->user &&
	       t->out->reason == IB_CM_REJ_INVALID_SERVICE_ID;
}

/* Ends an attempt. Returns true if another one follows. */
static bool cmx_try_down(struct cmx_try *t, int error)
{
	struct rdma_cmx_connector *c = t->c;
	bool silent = false, again;

	cmx_try_disarm(t);
	if (t->id) {
		silent = cmx_try_is_silent(t);
		if (t->connected)
			rdma_disconnect(t->id);
		if (cmx_try_path_is_bad(t, silent))
			rdma_cmx_drop_cached_path_tos(t->id, c->tos);
		if (t->set_up) {
			cmx_try_calls(t, current);
			c->attr.teardown(t->id, c->context);
			cmx_try_calls(t, NULL);
			t->set_up = false;
		}
		if (rdma_cmx_slot_cancel(&t->slot))
			cmx_deadline_wait_over(t);
		rdma_cmx_slot_put(&t->slot);
		rdma_cmx_route_destroy(t->id, &t->route);
		t->id = NULL;
	}
	spin_lock(&c->lock);
	/* After the limit, a reply may have arrived, too late. */
	again = t->cached && (t->path_failed || silent || t->over_limit) &&
		!t->stop && !t->leaving && !t->up && error != -ENODEV;
	if (again) {
		t->again = true;
		cmx_race_reset(t);
	} else {
		t->out->step = t->step;
		t->out->error = error;
		t->out->end_ms = cmx_connect_ms(c);
		cmx_race_down(c, t);
	}
	spin_unlock(&c->lock);
	return again;
}

/* The caller's handler and context replace those of the candidate. */
static int cmx_try_hand_over(struct cmx_try *t)
{
	struct rdma_cmx_connector *c = t->c;
	struct rdma_cm_id *id = t->id;
	int error;

	/* Its work item may still use both. */
	cmx_route_query_stop(&t->route);
	rdma_lock_handler(id);
	spin_lock(&c->lock);
	error = c->cancelled ? -ECANCELED : t->error;
	if (!error) {
		c->called = true;
		c->caller = current;
		t->outstanding = false;
		id->event_handler = c->attr.handler;
		id->context = c->attr.id_context;
	}
	spin_unlock(&c->lock);
	rdma_unlock_handler(id);
	if (error)
		return error;

	rdma_cmx_slot_put(&t->slot);
	t->id = NULL;
	t->out->step = RDMA_CMX_CONNECT_UP;
	c->report->winner = t - c->tries;
	c->report->param = t->param;
	cmx_connect_end(c, id);
	return 0;
}

/* Returns true if another step follows at once. */
static bool cmx_try_run(struct cmx_try *t)
{
	struct rdma_cmx_connector *c = t->c;
	bool got, hand_over;
	int ret;

	spin_lock(&c->lock);
	if (!t->outstanding) {
		spin_unlock(&c->lock);
		return false;
	}
	ret = t->stop ? -ECANCELED : t->error;
	got = t->got || !t->id;
	t->got = false;
	hand_over = t->hand_over;
	spin_unlock(&c->lock);

	if (!ret && t->up && !hand_over)
		return false;
	if (!ret && !t->up && !got)
		return false;
	if (!ret)
		ret = t->up ? cmx_try_hand_over(t) : cmx_try_advance(t);
	if (!ret)
		/* Its own event may have made it the only one left. */
		return t->up && READ_ONCE(t->outstanding);
	return cmx_try_down(t, READ_ONCE(t->error) ?: ret);
}

static void cmx_try_work(struct work_struct *work)
{
	struct cmx_try *t = container_of(work, struct cmx_try, item.work);
	struct rdma_cmx_connector *c = t->c;

	while (cmx_try_run(t))
		;
	cmx_connector_put(c);
}

void cmx_try_init(struct cmx_try *t, struct rdma_cmx_connector *c,
		  const struct rdma_cmx_entry *entry,
		  struct rdma_cmx_candidate *out)
{
	t->c = c;
	t->entry = entry;
	t->out = out;
	out->src = entry->src;
	out->dst = entry->dst;
	out->ibdev_index = entry->ibdev_index;
	out->port_num = entry->port_num;
	out->step = RDMA_CMX_CONNECT_UNTRIED;
	if (!cmx_try_has_device(entry)) {
		out->step = RDMA_CMX_CONNECT_NO_DEVICE;
		out->error = -ENETUNREACH;
	}
	cmx_connect_item_init(&t->item, c, cmx_try_work);
	INIT_DELAYED_WORK(&t->limit, cmx_try_late);
}
