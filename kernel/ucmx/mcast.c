// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast memberships.
 *
 * rdma_cm finds a membership by its address and leaves the newest of equal
 * ones, whose event may still be outstanding. So an id joins a group once: all
 * its memberships of that address share a struct ucmx_group, which is the
 * context of rdma_cm's events, and the last membership leaves the group. A
 * later membership receives the group's event again.
 *
 * Memberships of an id change under its mutex. Its lock guards the lists and
 * the state against the event handler. The table of memberships belongs to the
 * module, so that a handle survives the migration of the id. The entry of a
 * joined membership changes only under the mutex of the id. A handle is an
 * index of that table, permuted by a secret key: handles do not disclose how
 * many others there are.
 */
#include <linux/capability.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#include "ucmx.h"

#define UCMX_QKEY_PRIVILEGED	0x80000000

enum ucmx_group_state {
	UCMX_GROUP_PENDING,
	UCMX_GROUP_JOINED,
	UCMX_GROUP_ERROR,	/* of no use, rdma_cm still knows it */
	UCMX_GROUP_GONE,	/* rdma_cm has forgotten it */
};

/* The request of a program, zeroed: groups are compared bytewise. */
struct ucmx_mc_req {
	union rdma_cmx_sockaddr addr;
	u32 join_flags;
	u32 flags;
	struct rdma_cmx_mc_param param;
};

struct ucmx_group {
	struct hlist_node node;		/* in ucmx_id.groups */
	struct list_head mcs;
	struct ucmx_mc_req req;
	enum ucmx_group_state state;
	u64 body[UCMX_MC_BODY / sizeof(u64)];	/* by the id's lock */
};

struct ucmx_mc {
	struct list_head list;		/* in ucmx_group.mcs */
	struct ucmx_id *id;
	struct ucmx_group *group;
	u64 uid;
	u32 index;			/* in ucmx_mcs */
	u32 handle;
	u32 reported;			/* by ucmx_file.lock */
	struct ucmx_event join;		/* JOIN, or ERROR of the join */
	struct ucmx_event error;	/* ERROR after a JOIN */
	u64 body[UCMX_MC_BODY / sizeof(u64)];	/* of join */
};

static DEFINE_XARRAY_FLAGS(ucmx_mcs, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);

/* A Feistel network over the halves of a number; 0 stays 0. */
#define UCMX_MC_ROUNDS	4

static u16 ucmx_mc_round(u16 half, unsigned int round)
{
	static siphash_key_t key;

	get_random_once(&key, sizeof(key));
	return siphash_1u32(half | round << 16, &key);
}

static u32 ucmx_mc_index_to_handle(u32 x)
{
	int i;

	do {
		for (i = 0; i < UCMX_MC_ROUNDS; i++)
			x = x << 16 | (x >> 16 ^ ucmx_mc_round(x, i));
	} while (!x);
	return x;
}

static u32 ucmx_mc_handle_to_index(u32 x)
{
	int i;

	if (!x)
		return 0;
	do {
		for (i = UCMX_MC_ROUNDS; i-- > 0;)
			x = x >> 16 | (u32)(u16)(x ^ ucmx_mc_round(x >> 16,
								   i)) << 16;
	} while (!x);
	return x;
}

void ucmx_mc_exit(void)
{
	WARN_ON(!xa_empty(&ucmx_mcs));
	xa_destroy(&ucmx_mcs);
}

/* An event was handed out to the owner; the file's lock is held. */
void ucmx_mc_reported(struct ucmx_event *ev)
{
	ev->mc->reported++;
}

/* Count the memberships of an id, its mutex is held. */
unsigned int ucmx_mc_count(struct ucmx_id *id)
{
	struct ucmx_group *group;
	struct ucmx_mc *mc;
	unsigned int n = 0;

	hlist_for_each_entry(group, &id->groups, node)
		list_for_each_entry(mc, &group->mcs, list)
			n++;
	return n;
}

static void ucmx_mc_joined(struct ucmx_mc *mc)
{
	struct ucmx_event *ev = &mc->join;

	ev->event = RDMA_CM_EVENT_MULTICAST_JOIN;
	ev->len = UCMX_MC_BODY;
	ev->flags = RDMA_CMX_EVENT_UD | RDMA_CMX_EVENT_MC_PARAM;
	ucmx_event_add(ev, mc->group->body);
}

static void ucmx_mc_failed(struct ucmx_mc *mc, enum ucmx_group_state was,
			   int status)
{
	struct ucmx_event *ev;

	ev = was == UCMX_GROUP_PENDING ? &mc->join : &mc->error;
	ev->event = RDMA_CM_EVENT_MULTICAST_ERROR;
	/* rdma_cm reports no reason if the id's GID has gone meanwhile. */
	ev->status = status ?: -EADDRNOTAVAIL;
	ucmx_event_add(ev, NULL);
}

/**
 * ucmx_mc_event - report the end of a join, or the loss of a group
 * @id: the id
 * @cm: its cm id, handler lock held
 * @e: the event; its private data is the group
 *
 * A rejoin of a persistent membership is reported once more, unless the first
 * event has not been read.
 */
void ucmx_mc_event(struct ucmx_id *id, struct rdma_cm_id *cm,
		   struct rdma_cm_event *e)
{
	struct ucmx_group *group = (void *)e->param.ud.private_data;
	u64 body[ARRAY_SIZE(group->body)] = {};
	enum ucmx_group_state was;
	struct ucmx_mc *mc;

	if (e->event == RDMA_CM_EVENT_MULTICAST_JOIN) {
		ucmx_fill_ud(body, cm, &e->param.ud);
		rdma_cmx_group_param(cm, &e->param.ud,
				     (void *)body + UCMX_MC_UD);
	}

	spin_lock(&id->lock);
	was = group->state;
	/* DEVICE_REMOVAL is the last event of a membership. */
	if (was == UCMX_GROUP_GONE || was == UCMX_GROUP_ERROR || id->gone)
		goto unlock;
	if (e->event == RDMA_CM_EVENT_MULTICAST_JOIN) {
		memcpy(group->body, body, sizeof(body));
		group->state = UCMX_GROUP_JOINED;
		list_for_each_entry(mc, &group->mcs, list)
			ucmx_mc_joined(mc);
	} else {
		group->state = UCMX_GROUP_ERROR;
		list_for_each_entry(mc, &group->mcs, list)
			ucmx_mc_failed(mc, was, e->status);
	}
	/* Once for all: there may be many members, and many pollers. */
	ucmx_event_wake(id);
unlock:
	spin_unlock(&id->lock);
}

static struct ucmx_group *ucmx_group_find(struct ucmx_id *id,
					  const union rdma_cmx_sockaddr *addr)
{
	struct ucmx_group *group;

	hlist_for_each_entry(group, &id->groups, node)
		if (group->state != UCMX_GROUP_GONE &&
		    !memcmp(&group->req.addr, addr, sizeof(*addr)))
			return group;
	return NULL;
}

/* When it returns, no handler uses the group, and none will. */
static void ucmx_group_leave(struct ucmx_id *id, struct ucmx_group *group)
{
	if (group->state == UCMX_GROUP_GONE)
		return;
	rdma_cmx_leave(id->cm, &group->req.addr);
	spin_lock(&id->lock);
	group->state = UCMX_GROUP_GONE;
	spin_unlock(&id->lock);
}

/**
 * ucmx_mc_detach - leave all groups before the cm id goes away
 * @id: the id, its mutex held, cm still there
 */
void ucmx_mc_detach(struct ucmx_id *id)
{
	struct ucmx_group *group;

	hlist_for_each_entry(group, &id->groups, node)
		ucmx_group_leave(id, group);
}

static void ucmx_mc_free(struct ucmx_mc *mc)
{
	xa_erase(&ucmx_mcs, mc->index);
	kfree(mc);
	ucmx_stat_dec(UCMX_LIVE_MCS);
}

/**
 * ucmx_mc_end - free the memberships of a dead id
 * @id: the id, its events purged
 */
void ucmx_mc_end(struct ucmx_id *id)
{
	struct ucmx_group *group;
	struct hlist_node *next;
	struct ucmx_mc *mc, *tmp;

	hlist_for_each_entry_safe(group, next, &id->groups, node) {
		list_for_each_entry_safe(mc, tmp, &group->mcs, list) {
			ucmx_mc_free(mc);
			ucmx_file_uncharge(id->file, 1);
		}
		hlist_del(&group->node);
		kfree(group);
	}
}

/*
 * Take a membership out of its group, free it, and the group with the last
 * one. Returns the number of its events that were handed out.
 */
static u32 ucmx_mc_drop(struct ucmx_id *id, struct ucmx_mc *mc)
{
	struct ucmx_group *group = mc->group;
	u32 reported;

	spin_lock(&id->lock);
	list_del(&mc->list);
	spin_unlock(&id->lock);
	/* Handlers do not find it any more; readers do until this is done. */
	ucmx_event_cancel(&mc->join);
	ucmx_event_cancel(&mc->error);
	reported = mc->reported;
	ucmx_mc_free(mc);

	if (list_empty(&group->mcs)) {
		if (id->cm)
			ucmx_group_leave(id, group);
		hlist_del(&group->node);
		kfree(group);
	}
	return reported;
}

/* A group for a join, new or shared. */
static struct ucmx_group *ucmx_group_get(struct ucmx_id *id,
					 const struct ucmx_mc_req *req,
					 bool *fresh)
{
	struct ucmx_group *group;

	*fresh = false;
	group = ucmx_group_find(id, &req->addr);
	if (group && group->state == UCMX_GROUP_ERROR) {
		ucmx_group_leave(id, group);
		group = NULL;
	}
	if (group)
		return memcmp(&group->req, req, sizeof(*req)) ?
		       ERR_PTR(-EADDRINUSE) : group;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&group->mcs);
	group->req = *req;
	hlist_add_head(&group->node, &id->groups);
	*fresh = true;
	return group;
}

/* A failed group takes no more members: it has reported its event. */
static bool ucmx_group_add(struct ucmx_id *id, struct ucmx_group *group,
			   struct ucmx_mc *mc)
{
	bool added;

	spin_lock(&id->lock);
	added = group->state != UCMX_GROUP_ERROR;
	if (added) {
		mc->group = group;
		list_add_tail(&mc->list, &group->mcs);
		if (group->state == UCMX_GROUP_JOINED && !id->gone) {
			ucmx_mc_joined(mc);
			ucmx_event_wake(id);
		}
	}
	spin_unlock(&id->lock);
	return added;
}

static int ucmx_mc_start(struct ucmx_id *id, struct ucmx_mc *mc,
			 const struct ucmx_mc_req *req)
{
	struct rdma_cmx_join_attr attr = {
		.addr = &req->addr,
		.join_flags = req->join_flags,
		.flags = req->flags,
		.param = req->param,
	};
	struct ucmx_group *group;
	bool fresh;
	int ret;

	do {
		group = ucmx_group_get(id, req, &fresh);
		if (IS_ERR(group))
			return PTR_ERR(group);
	} while (!ucmx_group_add(id, group, mc));
	if (!fresh)
		return 0;

	ret = rdma_cmx_join(id->cm, &attr, group);
	if (ret) {
		hlist_del(&group->node);
		kfree(group);
	}
	return ret;
}

/**
 * ucmx_mc_create - make a membership that nobody can find yet
 * @id: the id, its mutex held
 * @uid: cookie
 *
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
	ret = -ENOMEM;
	mc = kzalloc(sizeof(*mc), GFP_KERNEL_ACCOUNT);
	if (!mc)
		goto err_charge;
	mc->id = id;
	mc->uid = uid;
	ucmx_event_init(&mc->join, id, 0);
	ucmx_event_init(&mc->error, id, 0);
	mc->join.embedded = true;
	mc->error.embedded = true;
	mc->join.mc = mc;
	mc->error.mc = mc;
	mc->join.arg = uid;
	mc->error.arg = uid;
	mc->join.body = mc->body;
	ret = xa_alloc(&ucmx_mcs, &mc->index, XA_ZERO_ENTRY, xa_limit_32b,
		       GFP_KERNEL);
	if (ret)
		goto err_free;
	mc->handle = ucmx_mc_index_to_handle(mc->index);
	mc->join.obj = mc->handle;
	mc->error.obj = mc->handle;
	ucmx_stat_inc(UCMX_LIVE_MCS);
	return mc;

err_free:
	kfree(mc);
err_charge:
	ucmx_file_uncharge(id->file, 1);
	return ERR_PTR(ret);
}

u32 ucmx_mc_handle(const struct ucmx_mc *mc)
{
	return mc->handle;
}

/**
 * ucmx_mc_abort - take ucmx_mc_create() back
 * @mc: the membership, which nobody has found; no lock is needed
 * @file: file that was charged; the id may have moved to another meanwhile
 */
void ucmx_mc_abort(struct ucmx_mc *mc, struct ucmx_file *file)
{
	ucmx_mc_free(mc);
	ucmx_file_uncharge(file, 1);
}

/**
 * ucmx_mc_join - let a membership join
 * @mc: from ucmx_mc_create(), gone if this fails; the id's mutex held, its
 *	file the same as then, its cm id there
 * @item: the caller's request
 *
 * Return: 0 or a negative errno.
 */
int ucmx_mc_join(struct ucmx_mc *mc, const struct rdma_cmx_join_item *item)
{
	struct ucmx_id *id = mc->id;
	struct ucmx_mc_req req;
	int ret = -ENODEV;

	/* The removal waits for the mutex, which many joins hold for long. */
	if (READ_ONCE(id->gone))
		goto abort;
	ret = -EINVAL;
	memset(&req, 0, sizeof(req));
	if (ucmx_addr_get(&req.addr, &item->addr) <= 0 ||
	    item->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		goto abort;
	/* A privileged Q_Key. */
	ret = -EPERM;
	if (item->param.qkey & UCMX_QKEY_PRIVILEGED && !capable(CAP_NET_RAW))
		goto abort;
	req.join_flags = item->join_flags;
	req.flags = item->flags;
	req.param = item->param;
	/* Its event may be read before this returns, and LEAVE called. */
	xa_store(&ucmx_mcs, mc->index, mc, GFP_KERNEL);
	ret = ucmx_mc_start(id, mc, &req);
	if (ret)
		goto abort;
	ucmx_stat_inc(UCMX_MCS);
	return 0;

abort:
	ucmx_mc_abort(mc, id->file);
	return ret;
}

/* Find a membership; the table's lock is held and keeps it. */
static struct ucmx_mc *ucmx_mc_find(struct ucmx_file *file,
				    const struct rdma_cmx_destroy *arg)
{
	struct ucmx_mc *mc = xa_load(&ucmx_mcs,
				     ucmx_mc_handle_to_index(arg->handle));

	return mc && READ_ONCE(mc->id->file) == file &&
	       ucmx_id_owned(mc->id, arg->owner) ? mc : NULL;
}

int ucmx_leave(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_destroy __user *uarg = cmd->ubuf;
	struct rdma_cmx_destroy *arg = cmd->buf;
	struct ucmx_id *id = NULL;
	struct ucmx_mc *mc;
	u32 reported;

	if (arg->reserved)
		return -EINVAL;
	/* Find out now if the result cannot be written. */
	if (put_user(0, &uarg->events_reported))
		return -EFAULT;
	xa_lock(&ucmx_mcs);
	mc = ucmx_mc_find(cmd->file, arg);
	if (mc) {
		id = mc->id;
		ucmx_id_get(id);
	}
	xa_unlock(&ucmx_mcs);
	if (!id)
		return -ENOENT;

	if (mutex_lock_killable(&id->mutex)) {
		ucmx_id_put(id);
		return -EINTR;
	}
	/* It may have gone, and its handle to another, while we waited. */
	xa_lock(&ucmx_mcs);
	mc = id->dead ? NULL : ucmx_mc_find(cmd->file, arg);
	if (mc && mc->id != id)
		mc = NULL;
	xa_unlock(&ucmx_mcs);
	if (!mc) {
		ucmx_id_unlock(id);
		return -ENOENT;
	}
	reported = ucmx_mc_drop(id, mc);
	ucmx_file_uncharge(cmd->file, 1);
	ucmx_id_unlock(id);
	return put_user(reported, &uarg->events_reported);
}
