// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast memberships: handles and events of the memberships of rdma_cmx.
 *
 * The id's mutex guards its memberships. The event handler of the id reports to
 * them, with the handler lock held. The id's lock guards the events. The tree
 * of memberships is global, so that a handle survives the migration of the id.
 * A joined membership leaves the tree only under the mutex of the id. Handles
 * are random numbers, so they do not disclose the number of memberships.
 */
#include <linux/capability.h>
#include <linux/random.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "ucmx.h"

#define UCMX_QKEY_PRIVILEGED	0x80000000

struct ucmx_mc {
	struct rb_node entry;		/* in ucmx_mcs */
	struct hlist_node node;		/* in ucmx_id.mcs */
	struct ucmx_id *id;
	struct rdma_cmx_member *member;	/* NULL: not joined, or device gone */
	u64 uid;
	u32 handle;
	u32 reported;			/* by ucmx_file.lock */
	bool shown;			/* visible to LEAVE */
	bool joined;			/* JOIN was reported, by ucmx_id.lock */
	struct ucmx_event join;		/* JOIN, or ERROR without one */
	struct ucmx_event error;	/* ERROR after a JOIN that was read */
	u64 body[UCMX_MC_BODY / sizeof(u64)];	/* of join */
};

static struct rb_root ucmx_mcs = RB_ROOT;	/* by handle */
static DEFINE_SPINLOCK(ucmx_mcs_lock);

static int ucmx_mc_cmp(const void *key, const struct rb_node *node)
{
	u32 handle = *(const u32 *)key;
	u32 other = rb_entry(node, struct ucmx_mc, entry)->handle;

	return handle < other ? -1 : handle > other;
}

static int ucmx_mc_order(struct rb_node *a, const struct rb_node *b)
{
	return ucmx_mc_cmp(&rb_entry(a, struct ucmx_mc, entry)->handle, b);
}

/* Allocates a handle, which is not 0. */
static void ucmx_mc_enter(struct ucmx_mc *mc)
{
	bool used;

	do {
		mc->handle = get_random_u32();
		spin_lock(&ucmx_mcs_lock);
		used = !mc->handle ||
		       rb_find_add(&mc->entry, &ucmx_mcs, ucmx_mc_order);
		spin_unlock(&ucmx_mcs_lock);
	} while (used);
}

void ucmx_mc_exit(void)
{
	WARN_ON(!RB_EMPTY_ROOT(&ucmx_mcs));
}

/* Counts an event that was read. The file's lock is held. */
static void ucmx_mc_join_reported(struct ucmx_event *ev, bool owner)
{
	container_of(ev, struct ucmx_mc, join)->reported += owner;
}

static void ucmx_mc_error_reported(struct ucmx_event *ev, bool owner)
{
	container_of(ev, struct ucmx_mc, error)->reported += owner;
}

/* The number of memberships of an id. Its mutex is held. */
unsigned int ucmx_mc_count(struct ucmx_id *id)
{
	struct ucmx_mc *mc;
	unsigned int n = 0;

	hlist_for_each_entry(mc, &id->mcs, node)
		n++;
	return n;
}

/*
 * The join has ended, or the group was lost. id->cm is valid: memberships leave
 * before it is detached. A later event replaces an unread JOIN, whose state is over.
 * So the events of all memberships of an id are in the order of their states. A
 * reader copies the event by the file's lock.
 */
static void ucmx_mc_event(struct rdma_cmx_member *member,
			  struct rdma_cm_event *e,
			  const struct rdma_cmx_mc_param *param, void *context)
{
	struct ucmx_mc *mc = context;
	u64 body[ARRAY_SIZE(mc->body)] = {};
	struct ucmx_id *id = mc->id;
	struct ucmx_event *ev = &mc->join;
	struct ucmx_file *file;

	if (param) {
		ucmx_fill_ud(body, id->cm, &e->param.ud);
		memcpy((void *)body + UCMX_MC_UD, param, sizeof(*param));
	}

	spin_lock(&id->lock);
	/* DEVICE_REMOVAL is the last event of a membership. */
	if (id->gone)
		goto unlock;
	file = id->file;
	spin_lock(&file->lock);
	if (param) {
		mc->joined = true;
		memcpy(mc->body, body, sizeof(body));
		ev->len = UCMX_MC_BODY;
		ev->flags = RDMA_CMX_EVENT_UD | RDMA_CMX_EVENT_MC_PARAM;
	} else if (mc->joined && list_empty(&ev->mine)) {
		ev = &mc->error;
	} else {
		ev->len = 0;
		ev->flags = 0;
	}
	ev->event = e->event;
	ev->status = e->status;
	ucmx_event_add(ev, file);
	spin_unlock(&file->lock);
unlock:
	spin_unlock(&id->lock);
}

/**
 * ucmx_mc_group_event - report an event of a group
 * @id: the id
 * @cm: its cm id, handler lock held
 * @e: the event
 */
void ucmx_mc_group_event(struct ucmx_id *id, struct rdma_cm_id *cm,
			 struct rdma_cm_event *e)
{
	rdma_cmx_group_event(cm, e);
	/* Once for all members: there may be many, and many pollers. */
	spin_lock(&id->lock);
	ucmx_event_wake(id);
	spin_unlock(&id->lock);
}

/* No handler uses the membership after the return. */
static void ucmx_mc_part(struct ucmx_mc *mc)
{
	if (mc->member)
		rdma_cmx_leave(mc->member);
	mc->member = NULL;
}

/**
 * ucmx_mc_detach - leave all groups before the cm id is detached
 * @id: the id, its mutex held, cm still valid
 */
void ucmx_mc_detach(struct ucmx_id *id)
{
	struct ucmx_mc *mc;

	if (hlist_empty(&id->mcs))
		return;
	rdma_cmx_leave_all(id->cm);
	hlist_for_each_entry(mc, &id->mcs, node)
		mc->member = NULL;
}

static void ucmx_mc_free(struct ucmx_mc *mc)
{
	spin_lock(&ucmx_mcs_lock);
	rb_erase(&mc->entry, &ucmx_mcs);
	spin_unlock(&ucmx_mcs_lock);
	kfree(mc);
	ucmx_stat_dec(live_mcs);
}

/**
 * ucmx_mc_end - free the memberships of a dead id
 * @id: the id, its events purged
 */
void ucmx_mc_end(struct ucmx_id *id)
{
	struct hlist_node *next;
	struct ucmx_mc *mc;

	if (hlist_empty(&id->mcs))
		return;
	hlist_for_each_entry_safe(mc, next, &id->mcs, node) {
		ucmx_mc_free(mc);
		ucmx_file_uncharge(id->file, 1);
	}
	INIT_HLIST_HEAD(&id->mcs);
}

/*
 * Leaves and frees a membership. Returns the number of its events that were
 * read.
 */
static u32 ucmx_mc_drop(struct ucmx_mc *mc)
{
	u32 reported;

	ucmx_mc_part(mc);
	hlist_del(&mc->node);
	/* Readers may find the events until this returns. */
	ucmx_event_cancel(&mc->join, &mc->error);
	reported = mc->reported;
	ucmx_mc_free(mc);
	return reported;
}

static int ucmx_mc_start(struct ucmx_mc *mc,
			 const struct rdma_cmx_join_attr *attr)
{
	struct rdma_cmx_member *member;
	struct ucmx_id *id = mc->id;

	member = rdma_cmx_join(id->cm, attr, ucmx_mc_event, mc);
	if (IS_ERR(member))
		return PTR_ERR(member);
	mc->member = member;
	hlist_add_head(&mc->node, &id->mcs);
	/*
	 * On RoCE, and for a group that is joined already, the event is queued.
	 */
	spin_lock(&id->lock);
	if (!list_empty(&mc->join.mine))
		ucmx_event_wake(id);
	spin_unlock(&id->lock);
	return 0;
}

/**
 * ucmx_mc_create - create a membership that is not visible yet
 * @id: the id, its mutex held
 * @uid: cookie
 *
 * Context: may sleep.
 * Return: the membership with its handle, or an ERR_PTR.
 */
struct ucmx_mc *ucmx_mc_create(struct ucmx_id *id, u64 uid)
{
	struct ucmx_mc *mc;
	int ret;

	if (READ_ONCE(id->gone))
		return ERR_PTR(-ENODEV);
	ret = ucmx_event_check(id) ?: ucmx_file_charge(id->file, 1);
	if (ret)
		return ERR_PTR(ret);
	mc = kmalloc(sizeof(*mc), GFP_KERNEL_ACCOUNT);
	if (!mc) {
		ucmx_file_uncharge(id->file, 1);
		return ERR_PTR(-ENOMEM);
	}
	/* An assignment clears in place by words, kzalloc() by bytes. */
	*mc = (struct ucmx_mc) {
		.id = id,
		.uid = uid,
		.join = {
			.embedded = true,
			.reported = ucmx_mc_join_reported,
			.arg = uid,
			.body = mc->body,
		},
		.error = {
			.embedded = true,
			.reported = ucmx_mc_error_reported,
			.arg = uid,
		},
	};
	ucmx_event_init(&mc->join, id, 0);
	ucmx_event_init(&mc->error, id, 0);
	ucmx_mc_enter(mc);
	mc->join.obj = mc->handle;
	mc->error.obj = mc->handle;
	ucmx_stat_inc(live_mcs);
	return mc;
}

u32 ucmx_mc_handle(const struct ucmx_mc *mc)
{
	return mc->handle;
}

/**
 * ucmx_mc_abort - undo ucmx_mc_create()
 * @mc: the membership, not visible; no lock is required
 * @file: the file that was charged; the id may have migrated since
 */
void ucmx_mc_abort(struct ucmx_mc *mc, struct ucmx_file *file)
{
	ucmx_mc_free(mc);
	ucmx_file_uncharge(file, 1);
}

/**
 * ucmx_mc_join - join the group of a membership
 * @mc: from ucmx_mc_create(), freed after an error; the id's mutex is held, its
 *	file is unchanged, its cm id is valid
 * @item: the caller's request
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int ucmx_mc_join(struct ucmx_mc *mc, const struct rdma_cmx_join_item *item)
{
	struct ucmx_id *id = mc->id;
	union rdma_cmx_sockaddr addr;
	struct rdma_cmx_join_attr attr = {
		.addr = &addr,
		.join_flags = item->join_flags,
		.flags = item->flags,
		.param = item->param,
	};
	int ret = -ENODEV;

	/* The removal waits for the mutex, which many joins hold for long. */
	if (READ_ONCE(id->gone))
		goto abort;
	ret = -EINVAL;
	if (ucmx_addr_get(&addr, &item->addr) <= 0 ||
	    cmx_route_is_queried(&id->route) ||
	    item->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		goto abort;
	/* A privileged Q_Key */
	ret = -EPERM;
	if (item->param.qkey & UCMX_QKEY_PRIVILEGED && !capable(CAP_NET_RAW))
		goto abort;
	/* Its event may be read, and LEAVE called, before this returns. */
	WRITE_ONCE(mc->shown, true);
	ret = ucmx_mc_start(mc, &attr);
	if (ret)
		goto abort;
	ucmx_stat_inc(memberships);
	return 0;

abort:
	ucmx_mc_abort(mc, id->file);
	return ret;
}

/* Finds a membership. The tree's lock is held and keeps it. */
static struct ucmx_mc *ucmx_mc_find(struct ucmx_file *file,
				    const struct rdma_cmx_destroy *arg)
{
	struct rb_node *node = rb_find(&arg->handle, &ucmx_mcs, ucmx_mc_cmp);
	struct ucmx_mc *mc = rb_entry_safe(node, struct ucmx_mc, entry);

	return mc && READ_ONCE(mc->shown) && READ_ONCE(mc->id->file) == file &&
	       ucmx_id_owned(mc->id, arg->owner) &&
	       ucmx_uid_is(mc->uid, arg->uid) ? mc : NULL;
}

int ucmx_leave(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_destroy __user *uarg = cmd->ubuf;
	struct rdma_cmx_destroy *arg = cmd->buf;
	struct ucmx_id *id = NULL;
	struct ucmx_mc *mc;
	u32 reported;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	/* Check now that the result can be written. */
	if (put_user(0, &uarg->events_reported))
		return -EFAULT;
	spin_lock(&ucmx_mcs_lock);
	mc = ucmx_mc_find(cmd->file, arg);
	if (mc) {
		id = mc->id;
		ucmx_id_get(id);
	}
	spin_unlock(&ucmx_mcs_lock);
	if (!id)
		return -ENOENT;

	ret = ucmx_id_relock(id, cmd->file);
	if (ret) {
		ucmx_id_put(id);
		return ret;
	}
	/*
	 * The membership may have ended during the wait, and another have its
	 * handle.
	 */
	spin_lock(&ucmx_mcs_lock);
	mc = ucmx_mc_find(cmd->file, arg);
	if (mc && mc->id != id)
		mc = NULL;
	spin_unlock(&ucmx_mcs_lock);
	if (!mc) {
		ucmx_id_unlock(id);
		return -ENOENT;
	}
	reported = ucmx_mc_drop(mc);
	ucmx_file_uncharge(cmd->file, 1);
	ucmx_id_unlock(id);
	return put_user(reported, &uarg->events_reported);
}
