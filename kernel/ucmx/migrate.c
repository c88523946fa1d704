// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Migration of an id with its unread events to another file.
 *
 * Events that arrive meanwhile are held back and follow them. The locks of two
 * files are never held at once.
 */
#include <linux/file.h>

#include "ucmx.h"

/* Objects that an id counts for its file: itself, memberships, requests */
static unsigned int ucmx_id_weight(struct ucmx_id *id)
{
	return 1 + ucmx_mc_count(id) + atomic_read(&id->waiting);
}

/*
 * The callers keep both files open. All events are held back until the new
 * handle is visible. Returns the number of events that the old file has
 * reported, without those that the new one will report.
 */
static u32 ucmx_id_move(struct ucmx_id *id, struct ucmx_file *to, u32 handle)
{
	struct ucmx_file *from = id->file;
	unsigned int n = 1 + ucmx_mc_count(id);
	LIST_HEAD(moved);
	u32 reported;

	ucmx_event_leave(id, &moved);
	spin_lock(&id->lock);
	ucmx_query_move(id, from, to);
	ucmx_any_move(id, from, to);
	n += ucmx_event_enter(id, to, &moved, &reported);
	WRITE_ONCE(id->file, to);
	id->handle = handle;
	spin_unlock(&id->lock);
	ucmx_file_uncharge(from, n);
	/* Requests may have arrived since the check of the limit. */
	atomic_add(n, &to->nr_objs);
	return reported;
}

/* Charges for the requests of the id, to a file and its user */
struct ucmx_room {
	unsigned int file;
	unsigned int user;
};

static void ucmx_room_give(struct ucmx_file *to, const struct ucmx_room *room)
{
	atomic_sub(room->file, &to->nr_requests);
	atomic_sub(room->user, &to->user->requests);
}

/*
 * Charges the new file until the requests have moved. The id's mutex is held,
 * so their number does not grow.
 */
static int ucmx_room_take(struct ucmx_id *id, struct ucmx_file *to,
			  struct ucmx_room *room)
{
	unsigned int most;
	int ret;

	ucmx_query_weight(id, &room->file, &most);
	room->user = 0;
	ret = ucmx_request_charge(to, room->file);
	if (ret)
		return ret;
	if (id->file->user == to->user)
		return 0;
	for (; room->user < most; room->user++) {
		ret = ucmx_user_charge(to->user);
		if (ret) {
			ucmx_room_give(to, room);
			return ret;
		}
	}
	return 0;
}

static int ucmx_id_migrate_from(struct ucmx_cmd *cmd, struct ucmx_file *from)
{
	struct rdma_cmx_id_migrate *arg = cmd->buf;
	struct ucmx_file *to = cmd->file;
	struct ucmx_id *id;
	struct ucmx_room room;
	unsigned int weight;
	u32 events;
	bool held;
	int ret;

	id = ucmx_handle_get(from, arg->id);
	if (!id)
		return -ENOENT;
	ret = -ENOENT;
	if (ucmx_id_owned(id, arg->owner))
		ret = ucmx_handle_alloc(to, &arg->new_id, id);
	if (ret)
		goto put;
	/* User space has the new handle before the migration starts. */
	ret = ucmx_respond(cmd);
	if (!ret)
		ret = ucmx_id_relock(id, from);
	if (ret)
		goto free;
	weight = ucmx_id_weight(id);
	ret = ucmx_file_charge(to, weight);
	if (ret)
		goto unlock;
	ret = ucmx_room_take(id, to, &room);
	if (ret)
		goto uncharge;
	ret = ucmx_event_move_charge(id, to, &events);
	if (ret)
		goto give;
	if (ucmx_handle_hide(from, arg->id, id)) {
		held = id->hold;
		arg->events_reported = ucmx_id_move(id, to, arg->new_id);
		ucmx_handle_show(to, arg->new_id, id);
		/* A reader of an event may use the new handle at once. */
		if (!held)
			ucmx_event_unhold(id);
		ucmx_handle_free(from, arg->id);
	} else {
		ret = -ENOENT;
	}
	ucmx_event_move_uncharge(to, events);
give:
	ucmx_room_give(to, &room);
uncharge:
	ucmx_file_uncharge(to, weight);
unlock:
	mutex_unlock(&id->mutex);
free:
	if (ret)
		ucmx_handle_free(to, arg->new_id);
put:
	ucmx_id_put(id);
	return ret ?: ucmx_respond(cmd);
}

/* The id stays in its file. Returns the number of its events. */
static int ucmx_id_stay(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_migrate *arg = cmd->buf;
	struct ucmx_id *id;
	bool owned;

	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	owned = ucmx_id_owned(id, arg->owner);
	arg->new_id = arg->id;
	arg->events_reported = id->reported;
	ucmx_id_unlock(id);
	return owned ? ucmx_respond(cmd) : -ENOENT;
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
	if (src->f_op != &ucmx_fops)
		ret = -EINVAL;
	else if (src->private_data == cmd->file)
		ret = ucmx_id_stay(cmd);
	else
		ret = ucmx_id_migrate_from(cmd, src->private_data);
	fput(src);
	return ret;
}
