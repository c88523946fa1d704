// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Migration of an id with its unread events to another file.
 *
 * Events that arrive meanwhile are held back and follow them. The locks of two
 * files are never held at once.
 */
#include <linux/file.h>
#include <linux/sched.h>

#include "ucmx.h"

/*
 * Takes a batch of an id's events out of its file, newest first. Readers of
 * that file receive the oldest meanwhile. False if none is left.
 */
static bool ucmx_event_leave_some(struct ucmx_id *id, struct list_head *moved)
{
	struct ucmx_file *file = id->file;
	struct ucmx_event *ev, *tmp;
	unsigned int n = 0;

	spin_lock(&file->lock);
	list_for_each_entry_safe_reverse(ev, tmp, &id->queued, mine) {
		if (n++ == UCMX_BATCH)
			break;
		if (file->reading == ev)
			file->reading = NULL;
		list_del_init(&ev->ready);
		list_move(&ev->mine, moved);
	}
	spin_unlock(&file->lock);
	return n > UCMX_BATCH;
}

/*
 * Counts the events of @id for the file to which it will move, too. Returns 0
 * and their number in @n, for ucmx_event_enter(), or for
 * ucmx_event_move_uncharge() if the id does not move; or -EAGAIN if too many
 * events would be unread there.
 */
static int ucmx_event_move_charge(struct ucmx_id *id, struct ucmx_file *to,
				  u32 *n)
{
	struct ucmx_file *from = id->file;
	int ret = 0;

	spin_lock(&from->lock);
	*n = id->nr_events;
	spin_unlock(&from->lock);
	spin_lock(&to->lock);
	if (*n && to->nr_events + *n > READ_ONCE(ucmx_max_events))
		ret = -EAGAIN;
	else
		WRITE_ONCE(to->nr_events, to->nr_events + *n);
	spin_unlock(&to->lock);
	return ret;
}

static void ucmx_event_move_uncharge(struct ucmx_file *to, u32 n)
{
	spin_lock(&to->lock);
	WRITE_ONCE(to->nr_events, to->nr_events - n);
	spin_unlock(&to->lock);
}

/*
 * Takes the unread events of @id out of its file, to @moved. Later events are
 * held back until ucmx_event_unhold(). May sleep.
 */
static void ucmx_event_leave(struct ucmx_id *id, struct list_head *moved)
{
	spin_lock(&id->lock);
	id->hold = true;
	spin_unlock(&id->lock);
	while (ucmx_event_leave_some(id, moved))
		cond_resched();
}

/* The number of unread connection requests */
static unsigned int ucmx_id_conns(const struct ucmx_id *id)
{
	return id->listener ? atomic_read(&id->listener->waiting) : 0;
}

/*
 * Moves the unread events of @id, its lock held, to the file @to: those in
 * @moved, from ucmx_event_leave(), and then those held since. @charged is from
 * ucmx_event_move_charge(); some were read since, or arrived. @reported gets the
 * number of events that were reported until now. Returns the number of unread
 * connection requests.
 */
static unsigned int ucmx_event_enter(struct ucmx_id *id, struct ucmx_file *to,
				     struct list_head *moved, u32 charged,
				     u32 *reported)
{
	struct ucmx_file *from = id->file;
	unsigned int conns;

	lockdep_assert_held(&id->lock);
	list_splice(moved, &id->held);
	spin_lock(&from->lock);
	conns = ucmx_id_conns(id);
	*reported = id->reported;
	WRITE_ONCE(from->nr_events, from->nr_events - id->nr_events);
	spin_unlock(&from->lock);
	spin_lock(&to->lock);
	WRITE_ONCE(to->nr_events, to->nr_events + id->nr_events - charged);
	spin_unlock(&to->lock);
	return conns;
}

/* Objects that an id counts for its file: itself, memberships, requests */
static unsigned int ucmx_id_weight(struct ucmx_id *id)
{
	return 1 + ucmx_mc_count(id) + ucmx_id_conns(id);
}

/*
 * Charges for what an id counts: objects and events of its file, requests of
 * the file and of its user. The new file has them before the id moves, and the
 * id takes them over. So nothing there exceeds a limit, and no other command
 * fails because the id counts twice.
 */
struct ucmx_charge {
	unsigned int objs;
	u32 events;
	unsigned int requests;
	unsigned int user;
};

static void ucmx_requests_give(struct ucmx_file *to,
			       const struct ucmx_charge *charge)
{
	atomic_sub(charge->requests, &to->nr_requests);
	atomic_sub(charge->user, &to->user->requests);
}

/* The id's mutex is held, so the number of its requests does not grow. */
static int ucmx_requests_take(struct ucmx_id *id, struct ucmx_file *to,
			      struct ucmx_charge *charge)
{
	unsigned int most;
	int ret;

	spin_lock(&id->lock);
	ucmx_query_weight(id, &charge->requests, &most);
	spin_unlock(&id->lock);
	charge->user = 0;
	ret = ucmx_request_charge(to, charge->requests);
	if (ret)
		return ret;
	if (id->file->user == to->user)
		return 0;
	for (; charge->user < most; charge->user++) {
		ret = ucmx_user_charge(to->user);
		if (ret) {
			ucmx_requests_give(to, charge);
			return ret;
		}
	}
	return 0;
}

/* Some may have ended since they were charged. The id's lock is held. */
static void ucmx_requests_move(struct ucmx_id *id, struct ucmx_file *to,
			       const struct ucmx_charge *charge)
{
	struct ucmx_file *from = id->file;
	unsigned int requests, user;

	ucmx_query_weight(id, &requests, &user);
	atomic_sub(requests, &from->nr_requests);
	atomic_sub(charge->requests - requests, &to->nr_requests);
	if (from->user == to->user)
		return;
	atomic_sub(user, &from->user->requests);
	atomic_sub(charge->user - user, &to->user->requests);
}

static int ucmx_charge_take(struct ucmx_id *id, struct ucmx_file *to,
			    struct ucmx_charge *charge)
{
	int ret;

	charge->objs = ucmx_id_weight(id);
	ret = ucmx_file_charge(to, charge->objs);
	if (ret)
		return ret;
	ret = ucmx_requests_take(id, to, charge);
	if (ret)
		goto err_objs;
	ret = ucmx_event_move_charge(id, to, &charge->events);
	if (!ret)
		return 0;
	ucmx_requests_give(to, charge);
err_objs:
	ucmx_file_uncharge(to, charge->objs);
	return ret;
}

static void ucmx_charge_give(struct ucmx_file *to,
			     const struct ucmx_charge *charge)
{
	ucmx_event_move_uncharge(to, charge->events);
	ucmx_requests_give(to, charge);
	ucmx_file_uncharge(to, charge->objs);
}

/*
 * The callers keep both files open. All events are held back until the new
 * handle is visible. Returns the number of events that the old file has
 * reported, without those that the new one will report.
 */
static u32 ucmx_id_move(struct ucmx_id *id, struct ucmx_file *to,
			const struct ucmx_charge *charge)
{
	struct ucmx_file *from = id->file;
	unsigned int n = 1 + ucmx_mc_count(id);
	LIST_HEAD(moved);
	u32 reported;

	ucmx_event_leave(id, &moved);
	spin_lock(&id->lock);
	ucmx_requests_move(id, to, charge);
	n += ucmx_event_enter(id, to, &moved, charge->events, &reported);
	/* Before a reader of @to uncharges a request that it takes */
	atomic_add((int)(n - charge->objs), &to->nr_objs);
	WRITE_ONCE(id->file, to);
	spin_unlock(&id->lock);
	ucmx_file_uncharge(from, n);
	return reported;
}

static int ucmx_id_migrate_from(struct ucmx_cmd *cmd, struct ucmx_file *from)
{
	struct rdma_cmx_id_migrate *arg = cmd->buf;
	struct ucmx_file *to = cmd->file;
	struct ucmx_id *id;
	struct ucmx_charge charge;
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
	ret = ucmx_charge_take(id, to, &charge);
	if (ret)
		goto unlock;
	if (ucmx_handle_hide(from, arg->id, id)) {
		held = id->hold;
		arg->events_reported = ucmx_id_move(id, to, &charge);
		ucmx_handle_show(to, arg->new_id, id);
		/* A reader of an event may use the new handle at once. */
		if (!held)
			ucmx_event_unhold(id);
		ucmx_handle_free(from, arg->id);
	} else {
		ucmx_charge_give(to, &charge);
		ret = -ENOENT;
	}
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
