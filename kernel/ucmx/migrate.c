// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Moving an id with its unread events to another file.
 *
 * What comes while events move is held back and follows them. No lock is taken
 * of two files at once.
 */
#include <linux/file.h>

#include "ucmx.h"

/* The id's own share of a file's objects: itself, memberships, requests. */
static unsigned int ucmx_id_weight(struct ucmx_id *id)
{
	return 1 + ucmx_mc_count(id) + atomic_read(&id->waiting);
}

/*
 * Both callers' files are kept open by them. Returns how many events were
 * handed out through the old one; what the new one's readers get is not in it.
 */
static u32 ucmx_id_move(struct ucmx_id *id, struct ucmx_file *to, u32 handle)
{
	struct ucmx_file *from = id->file;
	unsigned int n = 1 + ucmx_mc_count(id);
	u32 reported;

	n += ucmx_event_move(id, to, handle, &reported);
	ucmx_file_uncharge(from, n);
	/* Requests may have come since the limit was asked. */
	atomic_add(n, &to->nr_objs);
	return reported;
}

static int ucmx_id_migrate_from(struct ucmx_cmd *cmd, struct ucmx_file *from)
{
	struct rdma_cmx_id_migrate *arg = cmd->buf;
	struct ucmx_file *to = cmd->file;
	struct ucmx_id *id;
	unsigned int weight;
	u32 events;
	int ret;

	id = ucmx_id_lock_any(from, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (from == to) {
		arg->new_id = arg->id;
		arg->events_reported = id->reported;
		goto respond;
	}

	weight = ucmx_id_weight(id);
	ret = ucmx_file_charge(to, weight);
	if (ret)
		goto unlock;
	ret = ucmx_event_move_charge(id, to, &events);
	if (ret)
		goto uncharge;
	ret = ucmx_handle_alloc_moving(to, &arg->new_id, id);
	if (ret)
		goto uncharge_events;
	ret = ucmx_respond(cmd);
	if (!ret && !ucmx_handle_move(from, arg->id, id))
		ret = -ENOENT;
	if (ret) {
		ucmx_handle_free(to, arg->new_id);
		goto uncharge_events;
	}

	arg->events_reported = ucmx_id_move(id, to, arg->new_id);
	ucmx_event_move_uncharge(to, events);
	ucmx_file_uncharge(to, weight);
	ucmx_handle_moved(to, arg->new_id, id);
	ucmx_handle_free(from, arg->id);
respond:
	ret = ucmx_respond(cmd);
	goto unlock;

uncharge_events:
	ucmx_event_move_uncharge(to, events);
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
