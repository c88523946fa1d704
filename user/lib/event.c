// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events: take one, process it, return it to the program, count its ack.
 *
 * The library takes exactly one event from the kernel at a time. The others
 * stay there and keep the channel's fd readable for poll(). An id is not freed
 * between the kernel's report of an event and its ack, because destroying it
 * waits for the ack. So the id is used without a lock, and acked under the id's
 * lock.
 *
 * The library first looks up the objects of an event's cookies (own.c). Parent
 * and child may read one channel. Each creates ids there that are absent in the
 * other, or replaced, or of which the other has destroyed its copy.
 */
#include <stdlib.h>
#include <string.h>

#include "lib.h"

/*
 * Between these one thread processes an event of the id, takes its queue pair
 * or moves it. Handle, channel and queue pair are used without a lock. Meanwhile
 * none waits for acks of the program's events: a thread that acks in batches
 * takes another event before.
 */
void cmx_id_enter(struct cmx_id *id)
{
	cmx_id_enter_locked(id);
	id->busy = true;
	pthread_mutex_unlock(&id->lock);
}

/* Likewise, but keeps the id's lock. Its release ends what it begins. */
void cmx_id_enter_locked(struct cmx_id *id)
{
	cmx_id_lock(id);
	cmx_id_adopt(id);
	while (id->busy)
		cmx_id_wait(id);
}

void cmx_id_leave(struct cmx_id *id)
{
	cmx_id_lock(id);
	id->busy = false;
	cmx_id_wake(id);
	pthread_mutex_unlock(&id->lock);
}

/* With the id's lock. The last event of a destroyed copy */
static bool orphan_acked(struct cmx_id *id)
{
	return id->orphan &&
	       id->events_completed ==
	       __atomic_load_n(&id->events_taken, __ATOMIC_RELAXED);
}

static void id_complete(struct cmx_id *id, struct cmx_mc *mc, uint32_t moves)
{
	bool last;

	cmx_id_lock(id);
	id->events_completed++;
	if (moves == id->moves)
		id->moved_completed++;
	if (mc)
		mc->events_completed++;
	last = orphan_acked(id);
	cmx_id_wake(id);
	pthread_mutex_unlock(&id->lock);
	if (unlikely(last))
		cmx_id_free(id);
}

/* False: there is no such event. */
bool cmx_event_ack(struct rdma_cm_event *event)
{
	struct cmx_event *evt = (struct cmx_event *)event;

	if (!cmx_own_del(event, CMX_EVENT))
		return false;
	id_complete(evt->id, evt->mc, evt->moves);
	free(evt);
	return true;
}

/* Acks the event that a synchronous id holds for its owner. */
void cmx_event_drop_last(struct cmx_id *id)
{
	struct rdma_cm_event *event;

	if (!__atomic_load_n(&id->id.event, __ATOMIC_RELAXED))
		return;
	cmx_id_lock(id);
	event = id->id.event;
	id->id.event = NULL;
	pthread_mutex_unlock(&id->lock);
	if (event)
		cmx_event_ack(event);
}

/* The length field of the API is a byte. */
static uint8_t private_data_copy(struct cmx_event *evt,
				 const struct cmx_raw_event *raw,
				 const void **data)
{
	size_t len = raw->private_data ? raw->ev.private_data_len : 0;

	if (!len)
		return 0;
	if (len > UINT8_MAX)
		len = UINT8_MAX;
	memcpy(evt->private_data, raw->private_data, len);
	/* The memory may have another peer's event. */
	memset(evt->private_data + len, 0, sizeof(evt->private_data) - len);
	*data = evt->private_data;
	return len;
}

static void param_copy(struct cmx_event *evt, const struct cmx_raw_event *raw)
{
	if (raw->ev.flags & RDMA_CMX_EVENT_UD) {
		struct rdma_ud_param *ud = &evt->event.param.ud;

		ud->private_data_len = private_data_copy(evt, raw,
							 &ud->private_data);
		cmx_ah_attr_from_kern(&ud->ah_attr, &raw->ev.param.ud.ah_attr);
		ud->qp_num = raw->ev.param.ud.qp_num;
		ud->qkey = raw->ev.param.ud.qkey;
	} else {
		struct rdma_conn_param *conn = &evt->event.param.conn;

		conn->private_data_len =
			private_data_copy(evt, raw, &conn->private_data);
		if (!(raw->ev.flags & RDMA_CMX_EVENT_CONN))
			return;
		conn->responder_resources =
			raw->ev.param.conn.responder_resources;
		conn->initiator_depth = raw->ev.param.conn.initiator_depth;
		conn->flow_control = raw->ev.param.conn.flow_control;
		conn->retry_count = raw->ev.param.conn.retry_count;
		conn->rnr_retry_count = raw->ev.param.conn.rnr_retry_count;
		conn->srq = raw->ev.param.conn.srq;
		conn->qp_num = raw->ev.param.conn.qp_num;
	}
}

static void remote_ece_set(struct cmx_id *id, const struct cmx_raw_event *raw)
{
	if (!(raw->ev.flags & RDMA_CMX_EVENT_CONN))
		return;
	id->remote_ece.vendor_id = raw->ev.param.conn.ece_vendor_id;
	id->remote_ece.options = raw->ev.param.conn.ece_attr_mod;
}

/* Fails with errno. The event then becomes the error event @error. */
static int resolved(struct cmx_event *evt, const struct cmx_raw_event *raw)
{
	struct cmx_id *id = evt->id;

	if (raw->ev.flags & RDMA_CMX_EVENT_INFO &&
	    cmx_id_set_info(id, &raw->info))
		return -1;
	if (raw->paths &&
	    cmx_id_set_paths(id, raw->paths, raw->ev.num_paths))
		return -1;
	return id->id.verbs ? 0 : cmx_err(ENODEV);
}

static void event_failed(struct cmx_event *evt, enum rdma_cm_event_type error)
{
	evt->event.event = error;
	evt->event.status = -errno;
}

/* Fails with errno. The event then becomes CONNECT_ERROR. */
static int replied(struct cmx_event *evt, const struct cmx_raw_event *raw)
{
	struct cmx_id *id = evt->id;

	/* The winner of a race: the id gets its device and queue pair. */
	if (cmx_named_races(id) && cmx_named_won(id, !resolved(evt, raw)))
		return -1;
	remote_ece_set(id, raw);
	if (!id->id.qp)
		return 0;
	if (cmx_conn_respond_ece(id))
		return -1;
	evt->event.event = RDMA_CM_EVENT_ESTABLISHED;
	cmx_named_replied(id);
	return 0;
}

/* False: a connect by name continues with another address. */
static bool conn_responded(struct cmx_event *evt,
			   const struct cmx_raw_event *raw)
{
	if (!replied(evt, raw))
		return true;
	event_failed(evt, RDMA_CM_EVENT_CONNECT_ERROR);
	if (!cmx_named_failed(evt->id, &evt->event))
		return false;
	evt->id->connect_error = true;
	return true;
}

/* Destroys an id that arrived with a request, and belongs to the reader. */
static void handle_destroy(int fd, uint32_t handle)
{
	struct rdma_cmx_destroy cmd = {
		.size = sizeof(cmd),
		.handle = handle,
		.owner = cmx_process_cookie(),
	};

	ioctl(fd, RDMA_CMX_IO(ID_DESTROY), &cmd);
}

/* A request brings a new id. False: no memory, the request is dropped. */
static bool conn_requested(struct cmx_event *evt,
			   struct rdma_event_channel *channel,
			   const struct cmx_raw_event *raw)
{
	struct cmx_id *listener = evt->id;
	struct cmx_id *id;
	bool sync;

	/* The handle is of the event's file: the listener may have moved. */
	cmx_id_lock(listener);
	sync = listener->sync && listener->id.channel == channel;
	pthread_mutex_unlock(&listener->lock);
	id = cmx_id_alloc(channel, listener->id.context, listener->id.ps,
			  listener->id.qp_type);
	if (!id) {
		handle_destroy(channel->fd, raw->ev.obj);
		return false;
	}
	id->handle = raw->ev.obj;
	id->request = true;
	if (raw->ev.flags & RDMA_CMX_EVENT_CONN) {
		id->initiator_depth = raw->ev.param.conn.initiator_depth;
		id->responder_resources =
			raw->ev.param.conn.responder_resources;
	}
	remote_ece_set(id, raw);

	if ((sync && cmx_id_migrate(id, NULL)) ||
	    (raw->ev.flags & RDMA_CMX_EVENT_INFO &&
	     cmx_id_set_info(id, &raw->info)) ||
	    (raw->paths &&
	     cmx_id_set_paths(id, raw->paths, raw->ev.num_paths))) {
		cmx_id_destroy(id);
		return false;
	}
	evt->event.listen_id = &listener->id;
	evt->event.id = &id->id;
	return true;
}

static bool mc_event(struct cmx_event *evt, const struct cmx_raw_event *raw)
{
	struct rdma_ud_param *ud = &evt->event.param.ud;

	evt->mc = cmx_mc_known(evt->id, raw->ev.obj_uid, raw->ev.obj);
	if (!evt->mc)
		return false;
	ud->private_data = evt->mc->context;
	ud->private_data_len = 0;
	if (raw->ev.flags & RDMA_CMX_EVENT_MC_PARAM)
		evt->group = raw->group;
	if (raw->ev.event == RDMA_CM_EVENT_MULTICAST_ERROR)
		cmx_mc_lost(evt->mc);
	else if (cmx_mc_joined(evt->mc, ud))
		event_failed(evt, RDMA_CM_EVENT_MULTICAST_ERROR);
	return true;
}

/*
 * The kernel has no name helper: looks up the name here. False while that
 * lookup is outstanding, and the program does not receive the event.
 */
static bool addrinfo_failed(struct cmx_event *evt)
{
	if (evt->event.status == -ENOKEY && cmx_names_retry(evt->id))
		return false;
	return cmx_named_failed(evt->id, &evt->event);
}

/* False: the connect by name continues. Otherwise it ends. */
static bool named_event(struct cmx_event *evt, int ret)
{
	if (ret < 0)
		event_failed(evt, RDMA_CM_EVENT_ROUTE_ERROR);
	return ret;
}

/* False: the program does not receive the event. */
static bool event_process(struct cmx_event *evt,
			  struct rdma_event_channel *channel,
			  const struct cmx_raw_event *raw)
{
	struct cmx_id *id = evt->id;

	switch (raw->ev.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (resolved(evt, raw))
			event_failed(evt, RDMA_CM_EVENT_ADDR_ERROR);
		return true;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (id->connect_error)
			return false;
		return named_event(evt, cmx_named_routed(id,
					resolved(evt, raw) ? errno ?: ENODEV : 0));
	case RDMA_CM_EVENT_ESTABLISHED:
		/* The kernel found the id by its cookie. */
		id->request = false;
		/* iWARP has no CONNECT_RESPONSE. */
		cmx_named_replied(id);
		return true;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return !cmx_named_goes_on(id);
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		/* Another thread has read the last event. */
		if (id->named && id->connect_error)
			return false;
		return cmx_named_failed(id, &evt->event);
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return conn_requested(evt, channel, raw);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		/* Another thread has read a later event. */
		if (id->connect_error)
			return false;
		return conn_responded(evt, raw);
	case RDMA_CM_EVENT_REJECTED:
		if (id->connect_error)
			return false;
		cmx_qp_error(id);
		return cmx_named_failed(id, &evt->event);
	case RDMA_CM_EVENT_DISCONNECTED:
		return !id->connect_error;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (id->dev)
			cmx_device_dead(id->dev);
		return cmx_named_failed(id, &evt->event);
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		return mc_event(evt, raw);
	case RDMA_CMX_EV_ADDRINFO_RESOLVED:
		return named_event(evt, cmx_named_resolved(id));
	case RDMA_CMX_EV_ADDRINFO_ERROR:
		return addrinfo_failed(evt);
	case RDMA_CMX_EV_USER:
		evt->event.param.arg = raw->ev.obj_uid;
		return true;
	default:
		return true;
	}
}

static bool handle_is(struct cmx_id *id, struct rdma_event_channel *channel,
		      uint32_t handle, uint32_t *moves)
{
	bool is, was;

	cmx_id_lock(id);
	is = channel == id->id.channel && handle == id->handle;
	was = !is && channel == id->old_channel && handle == id->old_handle;
	*moves = id->moves - was;
	pthread_mutex_unlock(&id->lock);
	return is || was;
}

/* The event is of another process's id, with the same cookie. */
static void event_uncount(struct cmx_id *id)
{
	bool last;

	cmx_id_lock(id);
	__atomic_sub_fetch(&id->events_taken, 1, __ATOMIC_RELAXED);
	last = orphan_acked(id);
	pthread_mutex_unlock(&id->lock);
	if (last)
		cmx_id_free(id);
}

/*
 * The id of the event, which waits for its ack; or NULL. It is counted first:
 * other readers and fork() need the lock of the copies, while JOIN, for one, may
 * hold the lock of the id for long.
 */
static struct cmx_id *event_id(struct rdma_event_channel *channel,
			       const struct cmx_raw_event *raw, uint32_t *moves)
{
	struct cmx_id *id = cmx_cookie_object(raw->ev.uid);
	bool known = false, locked = cmx_copies_lock();

	if (cmx_id_ours(&id->id)) {
		cmx_mem_take(id);
		known = cmx_id_cookie(id) == raw->ev.uid;
		if (known)
			__atomic_add_fetch(&id->events_taken, 1,
					   __ATOMIC_RELAXED);
	}
	cmx_copies_unlock(locked);
	if (!known)
		return NULL;
	if (handle_is(id, channel, raw->ev.id, moves))
		return id;
	event_uncount(id);
	return NULL;
}

/* Events that use the queue pair of any id; a connect by name has others. */
static bool event_uses_qp(uint32_t event)
{
	return event == RDMA_CM_EVENT_CONNECT_RESPONSE ||
	       event == RDMA_CM_EVENT_REJECTED;
}

static bool event_enter(struct cmx_id *id, uint32_t event)
{
	if (!id->named && !event_uses_qp(event))
		return false;
	cmx_id_enter(id);
	return true;
}

/*
 * An id that is being destroyed takes no further step, nor does one whose
 * connect by name has gone on. The id is entered.
 */
static bool event_late(struct cmx_id *id, const struct rdma_cmx_event *ev)
{
	if (id->ended && (event_uses_qp(ev->event) || cmx_named_goes_on(id)))
		return true;
	return id->named && cmx_named_late(id, ev);
}

/* Sets the known fields. False: the program does not receive the event. */
static bool event_fill(struct cmx_event *evt,
		       struct rdma_event_channel *channel,
		       const struct cmx_raw_event *raw)
{
	uint32_t moves;
	struct cmx_id *id = event_id(channel, raw, &moves);
	bool entered, wanted;

	if (!id) {
		if (raw->ev.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			handle_destroy(channel->fd, raw->ev.obj);
		return false;
	}
	memset(evt, 0, offsetof(struct cmx_event, private_data));
	evt->id = id;
	evt->moves = moves;
	evt->event.id = &id->id;
	evt->event.event = raw->ev.event;
	evt->event.status = raw->ev.status;
	param_copy(evt, raw);
	entered = event_enter(id, raw->ev.event);
	wanted = !(entered && event_late(id, &raw->ev)) &&
		 event_process(evt, channel, raw);
	if (entered)
		cmx_id_leave(id);
	if (!wanted)
		id_complete(id, evt->mc, moves);
	return wanted;
}

int cmx_event_get(struct rdma_event_channel *channel,
		  struct rdma_cm_event **event)
{
	struct cmx_raw_event raw;
	struct cmx_event *evt;
	uint8_t *place;
	int err, cancel;
	bool wanted;

	/* Allocated first, so that no event is lost without memory. */
	evt = malloc(sizeof(*evt));
	if (!evt)
		return -1;
	/* It becomes an event once it is complete. */
	place = cmx_own_reserve(evt);
	if (!place) {
		err = ENOMEM;
		goto err_free;
	}
	do {
		if (cmx_raw_event_get(channel->fd, &raw)) {
			err = errno;
			goto err_free;
		}
		/* Other threads wait for one that processes an event. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		wanted = event_fill(evt, channel, &raw);
		pthread_setcancelstate(cancel, NULL);
	} while (!wanted);
	cmx_own_set(place, CMX_EVENT);
	*event = &evt->event;
	return 0;

err_free:
	free(evt);
	return cmx_err(err);
}

CMX_EXPORT int rdma_get_cm_event(struct rdma_event_channel *channel,
				 struct rdma_cm_event **event)
{
	if (unlikely(!cmx_channel_ours(channel)))
		return cmx_stocks(channel) ?
		       CMX_STOCK(rdma_get_cm_event, channel, event) :
		       cmx_err(EINVAL);
	if (!event)
		return cmx_err(EINVAL);
	return cmx_event_get(channel, event);
}

CMX_EXPORT int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	if (likely(cmx_event_ack(event)))
		return 0;
	return cmx_stocks(event) ? CMX_STOCK(rdma_ack_cm_event, event) :
				   cmx_err(EINVAL);
}
