// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Joins of many groups in one call, in batches up to the kernel's maximum. The
 * id's lock as in mcast.c.
 */
#include <stdlib.h>

#include <rdma/rdma_cmx.h>

#include "lib.h"

/* One batch of JOIN_MANY, up to the kernel's maximum */
struct batch {
	struct rdma_cmx_join_item *items;
	struct cmx_mc **mcs;
	int *index;	/* of the item in the caller's array */
};

static int batch_fill(struct batch *batch, struct cmx_id *id,
		      struct rdmacmx_join_attr *attrs, int count)
{
	int i, n = 0;

	for (i = 0; i < count; i++) {
		batch->mcs[n] = cmx_mc_alloc(id, &attrs[i], attrs[i].context);
		attrs[i].error = batch->mcs[n] ? 0 : errno;
		if (!batch->mcs[n])
			continue;
		batch->items[n] = (struct rdma_cmx_join_item) {
			.join_flags = attrs[i].join_flags,
			.uid = batch->mcs[n]->cookie,
			.addr = batch->mcs[n]->addr,
			.flags = attrs[i].flags,
			.param = cmx_mc_param(&attrs[i].group),
		};
		batch->index[n++] = i;
	}
	return n;
}

/* Returns an error number, or 0: then @attrs have the errors. */
static int batch_join(struct batch *batch, struct cmx_id *id,
		      struct rdmacmx_join_attr *attrs, int count, int *joined)
{
	struct rdma_cmx_join_many cmd = {
		.size = sizeof(cmd),
		.items = (uintptr_t)batch->items,
		.item_size = sizeof(batch->items[0]),
	};
	int i, err = 0, n = batch_fill(batch, id, attrs, count);

	if (!n)
		return 0;
	cmd.count = n;
	cmx_id_lock(id);
	cmd.id = id->handle;
	if (cmx_id_ioctl(id, JOIN_MANY, &cmd))
		err = errno;
	for (i = 0; i < n; i++) {
		struct rdma_cmx_join_item *item = &batch->items[i];
		int error = err ? err : -item->error;

		attrs[batch->index[i]].error = error;
		if (error) {
			cmx_mc_free(batch->mcs[i]);
		} else {
			cmx_mc_link(batch->mcs[i], item->mc);
			(*joined)++;
		}
	}
	pthread_mutex_unlock(&id->lock);
	return err;
}

static int batch_alloc(struct batch *batch, int count)
{
	batch->items = malloc(count * sizeof(*batch->items));
	batch->mcs = malloc(count * sizeof(*batch->mcs));
	batch->index = malloc(count * sizeof(*batch->index));
	return batch->items && batch->mcs && batch->index ? 0 : ENOMEM;
}

static void batch_free(struct batch *batch)
{
	free(batch->items);
	free(batch->mcs);
	free(batch->index);
}

static int mc_join_many(struct cmx_id *id, struct rdmacmx_join_attr *attrs,
			int count, int *joined)
{
	int most = count < RDMA_CMX_MAX_JOINS ? count : RDMA_CMX_MAX_JOINS;
	struct batch batch;
	int done, some, err;

	err = batch_alloc(&batch, most);
	for (done = 0; done < count && !err; done += some) {
		some = count - done < most ? count - done : most;
		err = batch_join(&batch, id, attrs + done, some, joined);
	}
	for (; done < count; done++)
		attrs[done].error = err;
	batch_free(&batch);
	return err;
}

/* Each join waits for its event. The id stays until all are done. */
static int mc_join_each(struct cmx_id *id, struct rdmacmx_join_attr *attrs,
			int count, int *joined)
{
	int i;

	if (cmx_sync_enter(id)) {
		for (i = 0; i < count; i++)
			attrs[i].error = errno;
		return errno;
	}
	for (i = 0; i < count; i++) {
		attrs[i].error = cmx_mc_join(id, &attrs[i], attrs[i].context) ?
				 errno : 0;
		if (!attrs[i].error)
			(*joined)++;
	}
	cmx_sync_leave(id);
	return 0;
}

CMX_EXPORT int rdmacmx_join_many(struct rdma_cm_id *id,
				 struct rdmacmx_join_attr *attrs, int count)
{
	int err, joined = 0;

	if (!cmx_id_ours(id) || !attrs || count <= 0)
		return cmx_err(EINVAL);
	if (cmx_id(id)->sync)
		err = mc_join_each(cmx_id(id), attrs, count, &joined);
	else
		err = mc_join_many(cmx_id(id), attrs, count, &joined);
	return err && !joined ? cmx_err(err) : joined;
}
