// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls on a synchronous id, which wait for an event of it. A thread that
 * destroys the id first ends them, and waits until their threads have left the
 * id. The id's lock guards the counter of these threads.
 */
#include <time.h>

#include "lib.h"

/* @shares: the call is one that several threads may be in. */
static int sync_enter(struct cmx_id *id, bool shares)
{
	bool dying;

	cmx_id_lock(id);
	cmx_id_adopt(id);
	dying = id->dying;
	if (!dying)
		id->waiters++;
	if (shares && id->waiters > 1)
		id->shared = true;
	pthread_mutex_unlock(&id->lock);
	return dying ? cmx_err(ECANCELED) : 0;
}

/*
 * A thread in a call on a synchronous id delays a thread that destroys the id,
 * which waits until the former has left. ECANCELED: the destruction has begun.
 */
int cmx_sync_enter(struct cmx_id *id)
{
	return sync_enter(id, false);
}

/*
 * With the id's lock. In a child of fork() by a signal handler a call goes on
 * that is not counted there.
 */
static void waiter_left(struct cmx_id *id)
{
	if (id->waiters)
		id->waiters--;
	cmx_id_wake(id);
}

void cmx_sync_leave(struct cmx_id *id)
{
	cmx_id_lock(id);
	waiter_left(id);
	pthread_mutex_unlock(&id->lock);
}

/*
 * Leaves with @event, if any, stored in @place. The event is dropped if another
 * thread has stored one there meanwhile, or would drop a request from there in
 * its next call: a request goes with its new id. ECANCELED: the id is being
 * destroyed. Then no thread would ack the event, and it is dropped, too.
 */
int cmx_event_leave(struct cmx_id *id, struct rdma_cm_event *event,
		    struct rdma_cm_event **place)
{
	struct rdma_cm_id *request = event && event->listen_id ? event->id :
								 NULL;
	bool dying, stored;

	cmx_id_lock(id);
	dying = id->dying;
	stored = !dying && !(event && *place) &&
		 !(request && place == &id->id.event && id->shared);
	if (stored) {
		if (event)
			*place = event;
		waiter_left(id);
	}
	pthread_mutex_unlock(&id->lock);
	if (stored)
		return 0;

	if (event && dying)
		cmx_named_dropped(id, event);
	if (event)
		cmx_event_ack(event);
	cmx_sync_leave(id);
	if (request)
		rdma_destroy_ep(request);
	return dying ? cmx_err(ECANCELED) : 0;
}

/* The error number of a synchronous call that @event ends, or 0 */
static int sync_error(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_REJECTED:
		/* The reason is the peer's, and may be 0. */
		return ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
		/* Of a SIDR reply: a peer must not choose the error number. */
		if (event->status > 0)
			return ECONNREFUSED;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return ENODEV;
	case RDMA_CM_EVENT_USER:
		if (!event->status)
			return EINTR;
		break;
	default:
		break;
	}
	return cmx_status_err(event->status);
}

/*
 * False: no call requests the event. TIMEWAIT_EXIT is the end of rdma_disconnect()
 * if DISCONNECTED was read before.
 */
static bool sync_requested(struct cmx_id *id,
			   const struct rdma_cm_event *event)
{
	bool joining;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_CHANGE:
		return false;
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		/* Otherwise the kernel has rejoined a group. */
		cmx_id_lock(id);
		joining = ((const struct cmx_event *)event)->mc == id->joining;
		pthread_mutex_unlock(&id->lock);
		return joining;
	default:
		return true;
	}
}

/*
 * A call has read ADDR_CHANGE, which is not its end. Not before the id has
 * another channel is it written again: a program that polls the private one
 * would find it readable, with nothing to read.
 */
static void addr_change_keep(struct cmx_id *id)
{
	cmx_id_lock(id);
	id->addr_changed = true;
	pthread_mutex_unlock(&id->lock);
}

/*
 * The id has moved to a channel of the program. Without memory the event is
 * lost: it is a hint.
 */
void cmx_addr_change_write(struct cmx_id *id)
{
	struct rdma_cmx_write_event cmd = {
		.size = sizeof(cmd),
		.id = id->handle,
		.event = RDMA_CM_EVENT_ADDR_CHANGE,
	};
	bool changed;

	cmx_id_lock(id);
	changed = id->addr_changed;
	id->addr_changed = false;
	pthread_mutex_unlock(&id->lock);
	if (changed)
		cmx_id_ioctl(id, WRITE_EVENT, &cmd);
}

/*
 * The next event that is requested. Fails with errno. Only rdma_get_request(),
 * which is interruptible, returns a connection request. Another call rejects it:
 * nobody would find the new id in an event of that call.
 */
static int sync_event(struct cmx_id *id, struct rdma_cm_event **event,
		      bool interruptible)
{
	struct rdma_cm_id *request;
	int ret;

	for (;;) {
		ret = cmx_event_get(id->id.channel, event);
		if (ret && errno == EINTR && !interruptible)
			continue;
		if (ret)
			return ret;
		request = !interruptible && (*event)->listen_id ? (*event)->id :
								  NULL;
		if (!request && sync_requested(id, *event))
			return 0;
		if ((*event)->event == RDMA_CM_EVENT_ADDR_CHANGE)
			addr_change_keep(id);
		cmx_event_ack(*event);
		if (request)
			rdma_destroy_ep(request);
	}
}

/*
 * The next event of a synchronous id, from its private channel. EINTR only if
 * @interruptible. ECANCELED: another thread destroys the id, which must not be
 * used any more. After success the caller has to leave.
 */
int cmx_event_wait(struct cmx_id *id, struct rdma_cm_event **event,
		   bool interruptible)
{
	int err;

	/* Only the wait for a request is interruptible. */
	if (sync_enter(id, interruptible))
		return -1;
	cmx_event_drop_last(id);
	if (!sync_event(id, event, interruptible))
		return 0;
	err = errno;
	return cmx_event_leave(id, NULL, NULL) ? -1 : cmx_err(err);
}

/*
 * Wait for the operation that a call on a synchronous id has started. Once the
 * caller has left, too, the id and the event may be gone.
 */
int cmx_complete(struct cmx_id *id)
{
	struct rdma_cm_event *event;
	int err;

	/* A request that is not accepted reports no events. */
	if (!id->known)
		return cmx_err(EINVAL);
	/* The operation goes on: the next call must not receive its end. */
	if (cmx_event_wait(id, &event, false))
		return -1;
	err = sync_error(event);
	if (cmx_event_leave(id, event, &id->id.event))
		return -1;
	return err ? cmx_err(err) : 0;
}

/*
 * The calls that start an operation begin and end with these. @sync: the id is
 * synchronous. One on a channel may be destroyed as soon as the command is sent,
 * by the thread that took its event.
 */
int cmx_call_begin(struct cmx_id *id, bool *sync)
{
	*sync = id->sync;
	return *sync ? cmx_sync_enter(id) : 0;
}

/* The command has returned @ret. */
int cmx_call_end(struct cmx_id *id, bool sync, int ret)
{
	int err;

	if (!sync)
		return ret;
	if (!ret)
		ret = cmx_complete(id);
	err = errno;
	cmx_sync_leave(id);
	return ret ? cmx_err(err) : 0;
}

/*
 * Ends the waits of threads by an event for each. On a copy the event would end
 * a call of the parent, which goes on while it exists.
 */
static void waiters_wake(struct cmx_id *id)
{
	struct rdma_cmx_write_event cmd = {
		.size = sizeof(cmd),
		.id = id->handle,
		.event = RDMA_CMX_EV_USER,
		.status = -ECANCELED,
	};
	unsigned int i;

	if (cmx_id_inherited(id) && cmx_id_cared_for(id))
		return;
	for (i = 0; i < id->waiters; i++)
		if (cmx_id_ioctl(id, WRITE_EVENT, &cmd))
			break;
}

/*
 * Waits for the threads in calls on a synchronous id. Another reader of the
 * file, as a child of fork(), may take the event that wakes one. There may be no
 * memory for it, or too many unread events, which is temporary. So the threads
 * that stay get others. The parent may exit meanwhile.
 */
static void waiters_end(struct cmx_id *id)
{
	struct timespec end;

	cmx_id_lock(id);
	cmx_id_adopt(id);
	/* No other waiters follow. */
	id->dying = true;
	while (id->waiters) {
		waiters_wake(id);
		clock_gettime(CLOCK_MONOTONIC, &end);
		end.tv_nsec += 50000000;
		if (end.tv_nsec >= 1000000000) {
			end.tv_nsec -= 1000000000;
			end.tv_sec++;
		}
		while (id->waiters && cmx_id_wait_until(id, &end))
			;
	}
	pthread_mutex_unlock(&id->lock);
}

/*
 * Have the threads leave that are in calls on the id, which is about to be
 * destroyed: on a synchronous one they wait for an event.
 */
void cmx_id_end_calls(struct cmx_id *id)
{
	if (id->sync && id->id.channel->fd >= 0)
		waiters_end(id);
	/* Not before: such a call may start a lookup. */
	cmx_names_cancel(id);
}
