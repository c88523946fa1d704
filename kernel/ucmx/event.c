// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events: their memory, the queue of a file, GET_EVENTS and WRITE_EVENT.
 *
 * An operation that ends with an event reserves it when it starts; an event
 * that nobody asked for is allocated as it comes, and such an allocation does
 * not fail. Whoever takes an event out of the queue holds the read mutex, so
 * a reader may copy the first event with nothing but that held, and takes it
 * out only after user space has it.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "ucmx.h"

#define UCMX_PARAM_LEN	sizeof_field(struct rdma_cmx_event, param)

/**
 * ucmx_event_init - set up an event that is part of another object
 * @ev: the event, zeroed
 * @id: owner
 * @type: event type
 */
void ucmx_event_init(struct ucmx_event *ev, struct ucmx_id *id, u8 type)
{
	INIT_LIST_HEAD(&ev->list);
	ev->id = id;
	ev->event = type;
}

/**
 * ucmx_event_alloc - allocate an event
 * @id: owner
 * @cap: bytes that its body has to take
 * @gfp: how; __GFP_ACCOUNT is for those who run for the id's user
 *
 * Return: the event, zeroed, or NULL.
 */
struct ucmx_event *ucmx_event_alloc(struct ucmx_id *id, unsigned int cap,
				    gfp_t gfp)
{
	struct ucmx_event *ev;

	ev = kzalloc(sizeof(*ev) + cap, gfp);
	if (!ev)
		return NULL;
	ucmx_event_init(ev, id, 0);
	ev->body = (u64 *)(ev + 1);
	ev->cap = cap;
	ucmx_stat_inc(UCMX_LIVE_EVENTS);
	return ev;
}

/**
 * ucmx_event_free - free an event that is in no list
 * @ev: the event; nothing happens if it belongs to another object
 */
void ucmx_event_free(struct ucmx_event *ev)
{
	if (ev->embedded)
		return;
	kfree(ev);
	ucmx_stat_dec(UCMX_LIVE_EVENTS);
}

static unsigned int ucmx_slot_cap(enum ucmx_slot slot)
{
	switch (slot) {
	case UCMX_SLOT_ADDR:
		return sizeof(struct rdma_cmx_id_info);
	case UCMX_SLOT_ROUTE:
		return sizeof(struct rdma_cmx_id_info) +
		       UCMX_MAX_PATHS * sizeof(struct ib_path_rec_data);
	case UCMX_SLOT_CONN:
		return UCMX_PARAM_LEN + RDMA_CMX_MAX_PRIVATE_DATA;
	default:
		return 0;
	}
}

/**
 * ucmx_event_reserve - have an event ready before an operation starts
 * @id: the id, its mutex held
 * @slot: what for; an event that is left from before serves again
 *
 * Return: 0 or -ENOMEM.
 */
int ucmx_event_reserve(struct ucmx_id *id, enum ucmx_slot slot)
{
	struct ucmx_event *ev;
	bool found = false;

	lockdep_assert_held(&id->mutex);
	spin_lock(&id->lock);
	for (ev = id->reserve; ev && !found; ev = ev->next)
		found = ev->slot == slot;
	spin_unlock(&id->lock);
	if (found)
		return 0;

	ev = ucmx_event_alloc(id, ucmx_slot_cap(slot), GFP_KERNEL_ACCOUNT);
	if (!ev)
		return -ENOMEM;
	ev->slot = slot;
	spin_lock(&id->lock);
	ev->next = id->reserve;
	id->reserve = ev;
	spin_unlock(&id->lock);
	return 0;
}

/**
 * ucmx_event_take - get the memory for an event that has come
 * @id: owner
 * @slot: where it may be reserved
 * @cap: bytes that its body has to take
 *
 * Return: the event; this does not fail.
 */
struct ucmx_event *ucmx_event_take(struct ucmx_id *id, enum ucmx_slot slot,
				   unsigned int cap)
{
	struct ucmx_event **link, *ev = NULL;

	spin_lock(&id->lock);
	for (link = &id->reserve; *link; link = &(*link)->next) {
		if ((*link)->slot == slot && (*link)->cap >= cap) {
			ev = *link;
			*link = ev->next;
			break;
		}
	}
	spin_unlock(&id->lock);
	if (!ev)
		return ucmx_event_alloc(id, cap, GFP_KERNEL | __GFP_NOFAIL);
	INIT_LIST_HEAD(&ev->list);
	return ev;
}

/**
 * ucmx_event_post_locked - queue an event, the id's lock is held
 * @ev: the event; an embedded one that still waits to be read is left there
 */
void ucmx_event_post_locked(struct ucmx_event *ev)
{
	struct ucmx_id *id = ev->id;
	struct ucmx_file *file = id->file;

	lockdep_assert_held(&id->lock);
	if (id->hold) {
		if (list_empty(&ev->list))
			list_add_tail(&ev->list, &id->held);
		return;
	}
	spin_lock(&file->lock);
	if (list_empty(&ev->list)) {
		list_add_tail(&ev->list, &file->events);
		file->nr_events++;
		id->queued++;
	}
	spin_unlock(&file->lock);
	ucmx_stat_inc(UCMX_EVENTS);
	/*
	 * For each event, so that users of EPOLLET see each; readers wait
	 * exclusively, so this wakes one. Within the lock, for the file may
	 * go as soon as the id can be migrated.
	 */
	wake_up_interruptible(&file->wait);
}

/**
 * ucmx_event_post - queue an event
 * @ev: the event
 */
void ucmx_event_post(struct ucmx_event *ev)
{
	struct ucmx_id *id = ev->id;

	spin_lock(&id->lock);
	ucmx_event_post_locked(ev);
	spin_unlock(&id->lock);
}

/**
 * ucmx_event_unhold - let the events of an accepted id go
 * @id: the id, in its handler's lock
 * @uid: its cookie from now on, 0 for the one that it has
 */
void ucmx_event_unhold(struct ucmx_id *id, u64 uid)
{
	struct ucmx_event *ev, *tmp;

	spin_lock(&id->lock);
	if (uid)
		WRITE_ONCE(id->uid, uid);
	if (id->hold) {
		id->hold = false;
		list_for_each_entry_safe(ev, tmp, &id->held, list) {
			list_del_init(&ev->list);
			ucmx_event_post_locked(ev);
		}
	}
	spin_unlock(&id->lock);
}

/* Is it to be dropped with @mc, or with all of the id if that is NULL? */
static bool ucmx_event_is_of(const struct ucmx_event *ev,
			     const struct ucmx_mc *mc)
{
	if (!mc)
		return true;
	return (ev->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
		ev->event == RDMA_CM_EVENT_MULTICAST_ERROR) && ev->mc == mc;
}

/* What waits until the id is accepted may be part of a membership, too. */
static void ucmx_event_purge_held(struct ucmx_id *id, struct ucmx_mc *mc)
{
	struct ucmx_event *ev, *tmp;

	spin_lock(&id->lock);
	list_for_each_entry_safe(ev, tmp, &id->held, list) {
		if (!ucmx_event_is_of(ev, mc))
			continue;
		list_del_init(&ev->list);
		ucmx_event_free(ev);
	}
	spin_unlock(&id->lock);
}

/**
 * ucmx_event_purge - drop the unread events of an id or a membership
 * @id: the id, dead or its mutex held
 * @mc: the membership, or NULL for the whole id
 * @conns: where connection requests go, whose ids have to be closed; unused
 *	with @mc
 */
void ucmx_event_purge(struct ucmx_id *id, struct ucmx_mc *mc,
		      struct list_head *conns)
{
	struct ucmx_file *file = id->file;
	struct ucmx_event *ev, *tmp;
	bool queued;

	ucmx_event_purge_held(id, mc);

	spin_lock(&file->lock);
	queued = id->queued;
	spin_unlock(&file->lock);
	if (!queued)
		return;

	mutex_lock(&file->read_mutex);
	spin_lock(&file->lock);
	list_for_each_entry_safe(ev, tmp, &file->events, list) {
		if (ev->id != id || !ucmx_event_is_of(ev, mc))
			continue;
		list_del_init(&ev->list);
		file->nr_events--;
		id->queued--;
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
			list_add_tail(&ev->list, conns);
		else
			ucmx_event_free(ev);
	}
	spin_unlock(&file->lock);
	mutex_unlock(&file->read_mutex);
}

/**
 * ucmx_event_drop_all - free what an id holds back or in reserve
 * @id: the id, dead, without anything that makes events
 */
void ucmx_event_drop_all(struct ucmx_id *id)
{
	struct ucmx_event *ev, *tmp;

	list_for_each_entry_safe(ev, tmp, &id->held, list) {
		list_del_init(&ev->list);
		ucmx_event_free(ev);
	}
	while (id->reserve) {
		ev = id->reserve;
		id->reserve = ev->next;
		ucmx_event_free(ev);
	}
}

/* The read mutex is held. On failure the event is as it was. */
static int ucmx_event_copy(struct ucmx_file *file, struct ucmx_event *ev,
			   void __user *buf, u32 space)
{
	static const u8 zeros[8];
	struct rdma_cmx_event rec = {
		.event = ev->event,
		.uid = READ_ONCE(ev->id->uid),
		.id = ev->id->handle,
		.status = ev->status,
		.flags = ev->flags,
		.num_paths = ev->num_paths,
		.private_data_len = ev->pd_len,
	};
	u64 mc_body[UCMX_MC_BODY / sizeof(u64)];
	const u8 *tail = (const u8 *)ev->body;
	unsigned int len = ev->len, pad;

	BUILD_BUG_ON(sizeof(rec) % 8 ||
		     sizeof(rec) + sizeof(struct rdma_cmx_id_info) +
		     UCMX_MAX_PATHS * sizeof(struct ib_path_rec_data) +
		     RDMA_CMX_MAX_PRIVATE_DATA > RDMA_CMX_MAX_EVENT);

	if (ev->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	    ev->event == RDMA_CM_EVENT_MULTICAST_ERROR) {
		rec.obj = ucmx_mc_read(ev, &rec.obj_uid, mc_body);
		tail = (const u8 *)mc_body;
	}
	if (ev->flags & (RDMA_CMX_EVENT_CONN | RDMA_CMX_EVENT_UD)) {
		memcpy(&rec.param, tail, sizeof(rec.param));
		tail += sizeof(rec.param);
		len -= sizeof(rec.param);
	}
	pad = -len & 7;
	rec.len = sizeof(rec) + len + pad;
	if (rec.len > space)
		return -ENOSPC;

	switch (ev->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		rec.obj = ev->conn->handle;
		break;
	case RDMA_CMX_EV_USER:
		rec.obj_uid = ev->arg;
		break;
	}

	if (copy_to_user(buf, &rec, sizeof(rec)) ||
	    (len && copy_to_user(buf + sizeof(rec), tail, len)) ||
	    (pad && copy_to_user(buf + sizeof(rec) + len, zeros, pad)))
		return -EFAULT;
	return rec.len;
}

/* Hand out the first event; @count is what the caller will have then. */
static int ucmx_event_deliver(struct ucmx_cmd *cmd, struct ucmx_event *ev,
			      void __user *buf, u32 space, u32 count)
{
	struct rdma_cmx_get_events __user *uarg = cmd->ubuf;
	struct ucmx_file *file = cmd->file;
	struct ucmx_id *id = ev->id, *conn = NULL;
	pid_t reader = task_tgid_nr(current);
	int ret, len;

	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		conn = ev->conn;
		ret = ucmx_handle_alloc(file, &conn->handle, conn);
		if (ret)
			return ret;
	}

	len = ucmx_event_copy(file, ev, buf, space);
	if (len > 0 && put_user(count, &uarg->count))
		len = -EFAULT;
	if (len < 0) {
		if (conn)
			ucmx_handle_free(file, conn->handle);
		return len;
	}

	/* User space has it: nothing may fail from here on. */
	if (conn) {
		conn->owner = reader;
		atomic_dec(&id->waiting);
		ucmx_handle_show(file, conn);
	}
	spin_lock(&file->lock);
	list_del_init(&ev->list);
	file->nr_events--;
	id->queued--;
	/* The owner would not see the ack of its child. */
	if (id->owner == reader) {
		id->reported++;
		if (ev->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
		    ev->event == RDMA_CM_EVENT_MULTICAST_ERROR)
			ucmx_mc_reported(ev);
	}
	if (ev->event == RDMA_CMX_EV_ADDRINFO_RESOLVED ||
	    ev->event == RDMA_CMX_EV_ADDRINFO_ERROR)
		ucmx_query_read(ev);
	if (ev->embedded)
		ev = NULL;
	spin_unlock(&file->lock);
	/* The id, and with it an embedded event, may be gone now. */
	if (ev)
		ucmx_event_free(ev);
	return len;
}

static int ucmx_events_take(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_get_events *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	void __user *buf = u64_to_user_ptr(arg->buf);
	u32 space = arg->buf_len, count = 0;
	struct ucmx_event *ev;
	int ret = -EAGAIN;

	if (mutex_lock_interruptible(&file->read_mutex))
		return -ERESTARTSYS;
	while (!arg->max_events || count < arg->max_events) {
		spin_lock(&file->lock);
		ev = list_first_entry_or_null(&file->events, struct ucmx_event,
					      list);
		spin_unlock(&file->lock);
		if (!ev)
			break;
		ret = ucmx_event_deliver(cmd, ev, buf, space, count + 1);
		if (ret < 0)
			break;
		buf += ret;
		space -= ret;
		count++;
		if (fatal_signal_pending(current))
			break;
		cond_resched();
	}
	mutex_unlock(&file->read_mutex);
	return count ? 0 : ret;
}

static int ucmx_events_wait(struct ucmx_cmd *cmd)
{
	struct list_head *events = &cmd->file->events;

	if (!list_empty(events))
		return 0;
	if (cmd->filp->f_flags & O_NONBLOCK)
		return -EAGAIN;
	return wait_event_interruptible_exclusive(cmd->file->wait,
						  !list_empty(events));
}

int ucmx_get_events(struct ucmx_cmd *cmd)
{
	struct ucmx_file *file = cmd->file;
	int ret;

	do {
		ret = ucmx_events_wait(cmd);
		if (ret)
			return ret;
		/* -EAGAIN: another reader was faster. */
		ret = ucmx_events_take(cmd);
	} while (ret == -EAGAIN);

	/* A wake-up wakes one reader; what it leaves is for the next one. */
	if (!list_empty(&file->events))
		wake_up_interruptible(&file->wait);
	return ret;
}

int ucmx_write_event(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_write_event *arg = cmd->buf;
	struct ucmx_event *ev;
	struct ucmx_id *id;
	int ret = 0;

	if (arg->event != RDMA_CMX_EV_USER)
		return -EINVAL;
	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);

	ev = ucmx_event_alloc(id, 0, GFP_KERNEL_ACCOUNT);
	if (!ev) {
		ret = -ENOMEM;
		goto unlock;
	}
	ev->event = RDMA_CMX_EV_USER;
	ev->status = arg->status;
	ev->arg = arg->arg;

	spin_lock(&id->lock);
	if (READ_ONCE(id->file->nr_events) >= READ_ONCE(ucmx_max_events)) {
		ret = -EAGAIN;
	} else {
		ucmx_event_post_locked(ev);
		ev = NULL;
	}
	spin_unlock(&id->lock);
	if (ev)
		ucmx_event_free(ev);
unlock:
	ucmx_id_unlock(id);
	return ret;
}
