// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Moving an id with its unread events to another file.
 *
 * The id's lock is held from the first to the last event, so that what comes
 * meanwhile follows them. The read mutex of the old file keeps readers away
 * from the events; no lock is taken of two files at once.
 */
#include <linux/file.h>

#include "ucmx.h"

/* The id's own share of a file's objects: itself, memberships, requests. */
static unsigned int ucmx_id_weight(struct ucmx_id *id)
{
	unsigned int n = 1 + ucmx_mc_count(id);
	struct ucmx_event *ev;

	spin_lock(&id->lock);
	spin_lock(&id->file->lock);
	if (id->queued)
		list_for_each_entry(ev, &id->file->events, list)
			if (ev->id == id &&
			    ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
				n++;
	spin_unlock(&id->file->lock);
	spin_unlock(&id->lock);
	return n;
}

/* Both callers' files are kept open by them. */
static void ucmx_id_move(struct ucmx_id *id, struct ucmx_file *to, u32 handle)
{
	struct ucmx_file *from = id->file;
	struct ucmx_event *ev, *tmp;
	unsigned int n = 0, conns = 0;
	LIST_HEAD(events);

	mutex_lock(&from->read_mutex);
	spin_lock(&id->lock);

	spin_lock(&from->lock);
	list_for_each_entry_safe(ev, tmp, &from->events, list) {
		if (ev->id != id)
			continue;
		list_move_tail(&ev->list, &events);
		n++;
	}
	from->nr_events -= n;
	spin_unlock(&from->lock);

	list_for_each_entry(ev, &events, list) {
		if (ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
			continue;
		spin_lock_nested(&ev->conn->lock, SINGLE_DEPTH_NESTING);
		WRITE_ONCE(ev->conn->file, to);
		spin_unlock(&ev->conn->lock);
		conns++;
	}
	ucmx_query_move(id, from, to);
	WRITE_ONCE(id->file, to);
	id->handle = handle;

	spin_lock(&to->lock);
	list_splice_tail(&events, &to->events);
	to->nr_events += n;
	spin_unlock(&to->lock);
	if (n)
		wake_up_interruptible(&to->wait);

	spin_unlock(&id->lock);
	mutex_unlock(&from->read_mutex);

	n = 1 + ucmx_mc_count(id) + conns;
	ucmx_file_uncharge(from, n);
	/* Requests may have come since the limit was asked. */
	atomic_add(n, &to->nr_objs);
}

static int ucmx_id_migrate_from(struct ucmx_cmd *cmd, struct ucmx_file *from)
{
	struct rdma_cmx_id_migrate *arg = cmd->buf;
	struct ucmx_file *to = cmd->file;
	struct ucmx_id *id;
	unsigned int weight;
	int ret;

	id = ucmx_id_lock_any(from, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (from == to) {
		arg->new_id = arg->id;
		goto respond;
	}

	weight = ucmx_id_weight(id);
	ret = ucmx_file_charge(to, weight);
	if (ret)
		goto unlock;
	ret = ucmx_handle_alloc_moving(to, &arg->new_id, id);
	if (ret)
		goto uncharge;
	ret = ucmx_respond(cmd);
	if (!ret && !ucmx_handle_move(from, arg->id, id))
		ret = -ENOENT;
	if (ret) {
		ucmx_handle_free(to, arg->new_id);
		goto uncharge;
	}

	ucmx_id_move(id, to, arg->new_id);
	ucmx_file_uncharge(to, weight);
	ucmx_handle_moved(to, arg->new_id, id);
	ucmx_handle_free(from, arg->id);
respond:
	arg->events_reported = id->reported;
	ret = ucmx_respond(cmd);
	goto unlock;

uncharge:
	ucmx_file_uncharge(to, weight);
unlock:
	ucmx_id_unlock(id);
	return ret;
}

int ucmx_id_migrate(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_migrate *arg = cmd->buf;
	struct file *src;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	src = fget(arg->src_fd);
	if (!src)
		return -EBADF;
	if (src->f_op == &ucmx_fops)
		ret = ucmx_id_migrate_from(cmd, src->private_data);
	else
		ret = -EINVAL;
	fput(src);
	return ret;
}
