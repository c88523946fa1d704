// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The commands JOIN and JOIN_MANY. The id's mutex is held from the first
 * membership until user space has all handles, so that what cannot be told is
 * undone before anybody sees it.
 */
#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "ucmx.h"

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
	ret = PTR_ERR_OR_ZERO(mc);
	if (ret)
		goto unlock;
	/* Told first: nothing can fail once it is joined. */
	ret = put_user(ucmx_mc_handle(mc), &uarg->mc);
	if (ret)
		ucmx_mc_abort(mc);
	else
		ret = ucmx_mc_join(mc, &item);
unlock:
	ucmx_id_unlock(id);
	return ret;
}

/* Each item tells what came of it; @mcs has those that were started. */
static u32 ucmx_join_items(struct ucmx_id *id, struct rdma_cmx_join_item *items,
			   struct ucmx_mc **mcs, u32 count)
{
	u32 i, joined = 0;

	for (i = 0; i < count; i++) {
		struct rdma_cmx_join_item *item = &items[i];
		struct ucmx_mc *mc;

		item->mc = 0;
		item->error = -EINTR;
		if (fatal_signal_pending(current))
			continue;
		mc = ucmx_mc_create(id, item->uid);
		item->error = PTR_ERR_OR_ZERO(mc);
		if (item->error)
			continue;
		item->mc = ucmx_mc_handle(mc);
		item->error = ucmx_mc_join(mc, item);
		if (item->error)
			item->mc = 0;
		else
			mcs[joined++] = mc;
		cond_resched();
	}
	return joined;
}

static int ucmx_join_locked(struct ucmx_cmd *cmd, struct ucmx_id *id,
			    struct rdma_cmx_join_item *items,
			    struct ucmx_mc **mcs)
{
	struct rdma_cmx_join_many *arg = cmd->buf;
	u32 i;

	arg->joined = ucmx_join_items(id, items, mcs, arg->count);
	if (!copy_to_user(u64_to_user_ptr(arg->items), items,
			  arg->count * sizeof(*items)) &&
	    !ucmx_respond(cmd))
		return 0;
	for (i = 0; i < arg->joined; i++)
		ucmx_mc_undo(mcs[i]);
	return -EFAULT;
}

int ucmx_join_many(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_join_many *arg = cmd->buf;
	struct rdma_cmx_join_item *items;
	struct ucmx_mc **mcs;
	struct ucmx_id *id;
	int ret = -ENOMEM;

	if (arg->reserved || !arg->count || arg->item_size != sizeof(*items))
		return -EINVAL;
	if (arg->count > RDMA_CMX_MAX_JOINS)
		return -E2BIG;
	items = kvmalloc_array(arg->count, sizeof(*items), GFP_KERNEL_ACCOUNT);
	mcs = kvmalloc_array(arg->count, sizeof(*mcs), GFP_KERNEL_ACCOUNT);
	if (!items || !mcs)
		goto free;
	ret = -EFAULT;
	if (copy_from_user(items, u64_to_user_ptr(arg->items),
			   arg->count * sizeof(*items)))
		goto free;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	ret = PTR_ERR_OR_ZERO(id);
	if (ret)
		goto free;
	ret = ucmx_join_locked(cmd, id, items, mcs);
	ucmx_id_unlock(id);
free:
	kvfree(mcs);
	kvfree(items);
	return ret;
}
