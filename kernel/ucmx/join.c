// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The commands JOIN and JOIN_MANY. Handles are allocated first and written to
 * user space without a lock: access to user memory may take any time, and the
 * removal of the device waits for the id's mutex. A group is joined only after
 * its handle was written.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

#include "ucmx.h"

/* Locks an id again. It must have a device, and no race in progress. */
static int ucmx_join_lock(struct ucmx_cmd *cmd, struct ucmx_id *id)
{
	int ret = ucmx_id_relock(id, cmd->file);

	if (ret)
		return ret;
	if (!id->cm)
		ret = -ENODEV;
	else if (id->racing)
		ret = -EBUSY;
	if (ret)
		mutex_unlock(&id->mutex);
	return ret;
}

int ucmx_join(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_join __user *uarg = cmd->ubuf;
	struct rdma_cmx_join *arg = cmd->buf;
	struct rdma_cmx_join_item item = {
		.join_flags = arg->join_flags,
		.flags = arg->flags,
		.uid = arg->uid,
		.addr = arg->addr,
		.param = arg->param,
	};
	struct ucmx_id *id;
	struct ucmx_mc *mc;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	mc = ucmx_mc_create(id, item.uid);
	mutex_unlock(&id->mutex);
	ret = PTR_ERR_OR_ZERO(mc);
	if (ret)
		goto put;
	ret = put_user(ucmx_mc_handle(mc), &uarg->mc);
	if (!ret)
		ret = ucmx_join_lock(cmd, id);
	if (ret) {
		ucmx_mc_abort(mc, cmd->file);
		goto put;
	}
	ret = ucmx_mc_join(mc, &item);
	mutex_unlock(&id->mutex);
put:
	ucmx_id_put(id);
	return ret;
}

/* A failure sets the error of its item, and NULL in @mcs. */
static void ucmx_join_create(struct ucmx_id *id,
			     struct rdma_cmx_join_item *items,
			     struct ucmx_mc **mcs, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		struct ucmx_mc *mc = ucmx_mc_create(id, items[i].uid);

		items[i].error = PTR_ERR_OR_ZERO(mc);
		items[i].mc = IS_ERR(mc) ? 0 : ucmx_mc_handle(mc);
		mcs[i] = IS_ERR(mc) ? NULL : mc;
		cond_resched();
	}
}

static u32 ucmx_join_items(struct ucmx_cmd *cmd,
			   struct rdma_cmx_join_item *items,
			   struct ucmx_mc **mcs, u32 count)
{
	u32 i, joined = 0;

	for (i = 0; i < count; i++) {
		struct rdma_cmx_join_item *item = &items[i];

		if (!mcs[i])
			continue;
		if (fatal_signal_pending(current)) {
			item->error = -EINTR;
			ucmx_mc_abort(mcs[i], cmd->file);
		} else {
			item->error = ucmx_mc_join(mcs[i], item);
		}
		if (item->error)
			item->mc = 0;
		else
			joined++;
		cond_resched();
	}
	return joined;
}

/* The first published form of an item is constant. */
#define UCMX_JOIN_ITEM_MIN						\
	offsetofend(struct rdma_cmx_join_item, param.reserved)

/* An item has the caller's size, like the struct of a command. */
static int ucmx_join_items_get(const struct rdma_cmx_join_many *arg,
			       struct rdma_cmx_join_item *items)
{
	const void __user *pos = u64_to_user_ptr(arg->items);
	u32 i;
	int ret;

	for (i = 0; i < arg->count; i++, pos += arg->item_size) {
		ret = copy_struct_from_user(&items[i], sizeof(items[i]), pos,
					    arg->item_size);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int ucmx_join_respond(struct ucmx_cmd *cmd,
			     const struct rdma_cmx_join_item *items)
{
	struct rdma_cmx_join_many *arg = cmd->buf;
	size_t len = min_t(size_t, arg->item_size, sizeof(*items));
	void __user *pos = u64_to_user_ptr(arg->items);
	u32 i;

	for (i = 0; i < arg->count; i++, pos += arg->item_size) {
		if (copy_to_user(pos, &items[i], len))
			return -EFAULT;
		cond_resched();
	}
	return ucmx_respond(cmd);
}

static int ucmx_join_all(struct ucmx_cmd *cmd, struct ucmx_id *id,
			 struct rdma_cmx_join_item *items,
			 struct ucmx_mc **mcs)
{
	struct rdma_cmx_join_many *arg = cmd->buf;
	u32 i;
	int ret;

	ucmx_join_create(id, items, mcs, arg->count);
	mutex_unlock(&id->mutex);

	arg->joined = 0;
	ret = ucmx_join_respond(cmd, items);
	if (!ret)
		ret = ucmx_join_lock(cmd, id);
	if (ret) {
		for (i = 0; i < arg->count; i++)
			if (mcs[i])
				ucmx_mc_abort(mcs[i], cmd->file);
		return ret;
	}
	arg->joined = ucmx_join_items(cmd, items, mcs, arg->count);
	mutex_unlock(&id->mutex);
	return ucmx_join_respond(cmd, items);
}

int ucmx_join_many(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_join_many *arg = cmd->buf;
	struct rdma_cmx_join_item *items;
	struct ucmx_mc **mcs;
	struct ucmx_id *id;
	int ret = -ENOMEM;

	if (arg->reserved || !arg->count || arg->item_size < UCMX_JOIN_ITEM_MIN)
		return -EINVAL;
	if (arg->count > RDMA_CMX_MAX_JOINS || arg->item_size > PAGE_SIZE)
		return -E2BIG;
	items = kvmalloc_array(arg->count, sizeof(*items), GFP_KERNEL_ACCOUNT);
	mcs = kvmalloc_array(arg->count, sizeof(*mcs), GFP_KERNEL_ACCOUNT);
	if (!items || !mcs)
		goto free;
	ret = ucmx_join_items_get(arg, items);
	if (ret)
		goto free;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	ret = PTR_ERR_OR_ZERO(id);
	if (ret)
		goto free;
	ret = ucmx_join_all(cmd, id, items, mcs);
	ucmx_id_put(id);
free:
	kvfree(mcs);
	kvfree(items);
	return ret;
}
