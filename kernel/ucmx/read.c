// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GET_EVENTS and WRITE_EVENT.
 *
 * The read mutex serialises readers, so that events are read in the order of
 * arrival. No other code takes it. A reader copies the first event into a
 * record and leaves it in the queue. When user space has received the record,
 * the reader removes the event. If ucmx_file.reading shows that the event was
 * dropped, moved or changed meanwhile, the record does not count. So no access
 * to user memory holds a lock that an event handler, a destroy, a migration or
 * a removal needs. After a failure the event is still in the queue.
 */
#include <linux/sched/signal.h>

#include "ucmx.h"

/* A copy of an event for user space */
struct ucmx_record {
	struct ucmx_event *ev;	/* only compared; others may free it */
	struct ucmx_id *conn;	/* CONNECT_REQUEST: the new id, a reference */
	struct ucmx_id *listen;	/* likewise: the listening id, a reference */
	u32 handle;		/* of conn */
	struct rdma_cmx_event rec;
	u8 body[RDMA_CMX_MAX_EVENT - sizeof(struct rdma_cmx_event)];
};

/* The file's lock is held. */
static void ucmx_record_fill(struct ucmx_record *r, struct ucmx_event *ev)
{
	const u8 *body = (const u8 *)ev->body;
	unsigned int len = ev->len, pad;

	BUILD_BUG_ON(sizeof(r->rec) % 8 ||
		     sizeof(struct rdma_cmx_id_info) % 8 ||
		     sizeof(struct rdma_cmx_mc_param) % 8 ||
		     offsetof(struct ucmx_record, body) !=
		     offsetofend(struct ucmx_record, rec) ||
		     sizeof(r->rec) + sizeof(struct rdma_cmx_id_info) +
		     UCMX_MAX_PATHS * sizeof(struct ib_path_rec_data) +
		     RDMA_CMX_MAX_PRIVATE_DATA > RDMA_CMX_MAX_EVENT);

	r->ev = ev;
	r->conn = NULL;
	memset(&r->rec, 0, sizeof(r->rec));
	r->rec.event = ev->event;
	r->rec.uid = READ_ONCE(ev->id->uid);
	r->rec.id = ev->id->handle;
	r->rec.obj = ev->obj;
	r->rec.obj_uid = ev->arg;
	r->rec.status = ev->status;
	r->rec.flags = ev->flags;
	r->rec.num_paths = ev->num_paths;
	r->rec.attempt = ev->attempt;
	r->rec.private_data_len = ev->pd_len;
	r->rec.header_len = sizeof(r->rec);
	if (ev->flags & RDMA_CMX_EVENT_INFO)
		r->rec.info_len = sizeof(struct rdma_cmx_id_info);
	if (ev->flags & RDMA_CMX_EVENT_MC_PARAM)
		r->rec.mc_param_len = sizeof(struct rdma_cmx_mc_param);
	if (ev->flags & (RDMA_CMX_EVENT_CONN | RDMA_CMX_EVENT_UD)) {
		memcpy(&r->rec.param, body, UCMX_PARAM_LEN);
		body += UCMX_PARAM_LEN;
		len -= UCMX_PARAM_LEN;
	}
	pad = -len & 7;
	memcpy(r->body, body, len);
	memset(r->body + len, 0, pad);
	r->rec.len = sizeof(r->rec) + len + pad;
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		r->conn = ev->conn;
		ucmx_id_get(r->conn);
		r->listen = ev->id;
		ucmx_id_get(r->listen);
	}
}

/* False if there is no event. */
static bool ucmx_record_start(struct ucmx_file *file, struct ucmx_record *r)
{
	struct ucmx_event *ev;

	spin_lock(&file->lock);
	ev = list_first_entry_or_null(&file->events, struct ucmx_event, ready);
	file->reading = ev;
	if (ev)
		ucmx_record_fill(r, ev);
	spin_unlock(&file->lock);
	return ev;
}

/*
 * User space has the record: removes the event. Nothing fails afterwards.
 * -ESTALE if the event has changed since the record was made.
 */
static int ucmx_record_commit(struct ucmx_file *file, struct ucmx_record *r,
			      u64 reader)
{
	struct ucmx_event *ev = r->ev;
	struct ucmx_id *id;

	spin_lock(&file->lock);
	if (file->reading != ev) {
		spin_unlock(&file->lock);
		return -ESTALE;
	}
	id = ev->id;
	ucmx_event_unlink(ev, file);
	/* The owner would not know of another process's ack. */
	if (id->owner == reader)
		id->reported++;
	if (ev->reported)
		ev->reported(ev, id->owner == reader);
	if (r->conn) {
		atomic_dec(&id->listener->waiting);
		r->conn->owner = reader;
		WRITE_ONCE(r->conn->file, file);
	}
	if (ev->embedded)
		ev = NULL;
	spin_unlock(&file->lock);
	/* The id, and with it an embedded event, may be gone now. */
	if (ev)
		ucmx_event_free(ev);
	if (r->conn) {
		ucmx_handle_show(file, r->handle, r->conn);
		ucmx_event_advance(r->listen);
	}
	return 0;
}

/* Returns a record. @count includes it. */
static int ucmx_record_put(struct ucmx_cmd *cmd, struct ucmx_record *r,
			   void __user *buf, u32 count)
{
	struct rdma_cmx_get_events __user *uarg = cmd->ubuf;
	struct rdma_cmx_get_events *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	int ret;

	if (r->conn) {
		/*
		 * @conn is in no other table, but a reader may put it into one.
		 */
		ret = ucmx_handle_alloc(file, &r->handle, r->conn);
		if (ret)
			return ret;
		r->rec.obj = r->handle;
	}
	ret = -EFAULT;
	if (!copy_to_user(buf, &r->rec, r->rec.len) &&
	    !put_user(count, &uarg->count))
		ret = ucmx_record_commit(file, r, arg->reader);
	if (ret && r->conn)
		ucmx_handle_free(file, r->handle);
	return ret;
}

/*
 * Returns the first event to user space. Returns its bytes, 0 if the event has
 * changed meanwhile, or -EAGAIN if there is none.
 */
static noinline_for_stack int ucmx_event_deliver(struct ucmx_cmd *cmd,
						 void __user *buf, u32 space,
						 u32 count)
{
	struct rdma_cmx_get_events __user *uarg = cmd->ubuf;
	struct ucmx_record r CMX_UNINIT;
	int ret;

	if (!ucmx_record_start(cmd->file, &r))
		return -EAGAIN;
	ret = r.rec.len > space ? -ENOSPC : ucmx_record_put(cmd, &r, buf,
							    count + 1);
	if (r.conn) {
		ucmx_id_put(r.conn);
		ucmx_id_put(r.listen);
	}
	if (!ret)
		return r.rec.len;
	if (ret != -ESTALE)
		return ret;
	/* The caller has not received the event. */
	return put_user(count, &uarg->count);
}

static int ucmx_events_take(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_get_events *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	void __user *buf = u64_to_user_ptr(arg->buf);
	u32 space = arg->buf_len, count = 0;
	int ret;

	if (mutex_lock_interruptible(&file->read_mutex))
		return -ERESTARTSYS;
	for (;;) {
		ret = ucmx_event_deliver(cmd, buf, space, count);
		if (ret < 0)
			break;
		buf += ret;
		space -= ret;
		count += ret > 0;
		/* It is 0 if there is no limit. */
		if (ret && count == arg->max_events)
			break;
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
		/* -EAGAIN: another reader was first. */
		ret = ucmx_events_take(cmd);
	} while (ret == -EAGAIN);

	/* A wake-up wakes one reader, which wakes the next one for the rest. */
	if (!list_empty(&file->events))
		ucmx_file_wake(file);
	return ret;
}

/* A reader may return an ADDR_CHANGE, which has no other fields. */
static bool ucmx_event_writable(const struct rdma_cmx_write_event *arg)
{
	return arg->event == RDMA_CMX_EV_USER ||
	       (arg->event == RDMA_CM_EVENT_ADDR_CHANGE && !arg->status &&
		!arg->arg);
}

int ucmx_write_event(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_write_event *arg = cmd->buf;
	struct ucmx_event *ev;
	struct ucmx_id *id;
	int ret;

	if (!ucmx_event_writable(arg))
		return -EINVAL;
	/* Before the lock: it may wait for memory of the user's cgroup. */
	ev = ucmx_event_alloc(NULL, 0, GFP_KERNEL_ACCOUNT);
	if (!ev)
		return -ENOMEM;
	ev->event = arg->event;
	ev->status = arg->status;
	ev->arg = arg->arg;
	id = ucmx_id_lock_any(cmd->file, arg->id);
	ret = PTR_ERR_OR_ZERO(id);
	if (!ret) {
		ret = ucmx_event_check(id);
		if (!ret) {
			ev->id = id;
			ucmx_event_post(ev);
		}
		ucmx_id_unlock(id);
	}
	if (ret)
		ucmx_event_free(ev);
	return ret;
}
