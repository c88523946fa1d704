// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Ids: their life, bind and query.
 *
 * The caller that takes an id out of its file's xarray, or finds it in the
 * queue as an unread connection request, closes it once.
 * Closing marks it dead under its mutex, so that commands which found it
 * before fail. It ends all that could make events for the id before it purges
 * the queue.
 */
#include <linux/memcontrol.h>
#include <linux/slab.h>

#include "ucmx.h"

static struct kmem_cache *ucmx_id_cache;

int ucmx_id_cache_init(void)
{
	ucmx_id_cache = KMEM_CACHE(ucmx_id, SLAB_ACCOUNT);
	return ucmx_id_cache ? 0 : -ENOMEM;
}

void ucmx_id_cache_exit(void)
{
	kmem_cache_destroy(ucmx_id_cache);
}

/**
 * ucmx_id_alloc - make an id that is in no table yet
 * @gfp: flags of the allocation
 *
 * Return: the id with one reference, for the table, or NULL.
 */
struct ucmx_id *ucmx_id_alloc(gfp_t gfp)
{
	struct ucmx_id *id;

	id = kmem_cache_zalloc(ucmx_id_cache, gfp);
	if (!id)
		return NULL;
	refcount_set(&id->ref, 1);
	spin_lock_init(&id->lock);
	mutex_init(&id->mutex);
	INIT_LIST_HEAD(&id->queued);
	INIT_LIST_HEAD(&id->held);
	INIT_LIST_HEAD(&id->reserve);
	id->hidden = true;
	ucmx_stat_inc(UCMX_IDS);
	ucmx_stat_inc(UCMX_LIVE_IDS);
	return id;
}

void ucmx_id_get(struct ucmx_id *id)
{
	refcount_inc(&id->ref);
}

void ucmx_id_put(struct ucmx_id *id)
{
	if (!refcount_dec_and_test(&id->ref))
		return;
	mem_cgroup_put(id->memcg);
	mutex_destroy(&id->mutex);
	kmem_cache_free(ucmx_id_cache, id);
	ucmx_stat_dec(UCMX_LIVE_IDS);
}

/**
 * ucmx_id_relock - lock an id that was found before
 * @id: the id, of which the caller has a reference
 * @file: file of the caller
 *
 * Return: 0 with the id's mutex held, -ENOENT if it was destroyed or migrated
 * meanwhile, or -EINTR if the process is being killed.
 */
int ucmx_id_relock(struct ucmx_id *id, struct ucmx_file *file)
{
	if (mutex_lock_killable(&id->mutex))
		return -EINTR;
	if (!id->dead && READ_ONCE(id->file) == file)
		return 0;
	mutex_unlock(&id->mutex);
	return -ENOENT;
}

/**
 * ucmx_id_lock_any - find an id and lock it
 * @file: file of the caller
 * @handle: handle of the id
 *
 * Return: the id with its mutex held, which the caller releases with
 * ucmx_id_unlock(), or an error of ucmx_id_relock(). The device may be gone,
 * then cm is NULL.
 */
struct ucmx_id *ucmx_id_lock_any(struct ucmx_file *file, u32 handle)
{
	struct ucmx_id *id = ucmx_handle_get(file, handle);
	int ret;

	if (!id)
		return ERR_PTR(-ENOENT);
	ret = ucmx_id_relock(id, file);
	if (ret) {
		ucmx_id_put(id);
		return ERR_PTR(ret);
	}
	return id;
}

/**
 * ucmx_id_lock - find an id that has not lost its device, and lock it
 * @file: file of the caller
 * @handle: handle of the id
 *
 * Return: as ucmx_id_lock_any(), or -ENODEV.
 */
struct ucmx_id *ucmx_id_lock(struct ucmx_file *file, u32 handle)
{
	struct ucmx_id *id = ucmx_id_lock_any(file, handle);

	if (!IS_ERR(id) && !id->cm) {
		ucmx_id_unlock(id);
		return ERR_PTR(-ENODEV);
	}
	return id;
}

/**
 * ucmx_id_lock_dev - find an id that is bound to a device, and lock it
 * @file: file of the caller
 * @handle: handle of the id
 *
 * Return: as ucmx_id_lock(), or -EINVAL if the id is not bound.
 */
struct ucmx_id *ucmx_id_lock_dev(struct ucmx_file *file, u32 handle)
{
	struct ucmx_id *id = ucmx_id_lock(file, handle);

	if (!IS_ERR(id) && !id->cm->device) {
		ucmx_id_unlock(id);
		return ERR_PTR(-EINVAL);
	}
	return id;
}

void ucmx_id_unlock(struct ucmx_id *id)
{
	mutex_unlock(&id->mutex);
	ucmx_id_put(id);
}

/* Take the cm id away; the caller destroys it outside of the mutex. */
static struct rdma_cm_id *ucmx_id_detach(struct ucmx_id *id)
{
	struct rdma_cm_id *cm = id->cm;

	lockdep_assert_held(&id->mutex);
	if (cm) {
		ucmx_mc_detach(id);
		id->cm = NULL;
	}
	return cm;
}

/*
 * The device waits until all its ids are destroyed, and user space may keep
 * them for any time. So the cm id goes now and the id stays without it.
 */
static void ucmx_id_removal_work(struct work_struct *work)
{
	struct ucmx_removal *removal =
		container_of(work, struct ucmx_removal, work);
	struct ucmx_id *id = removal->ev.id;
	struct rdma_cm_id *cm;

	mutex_lock(&id->mutex);
	ucmx_query_device_gone(id);
	cm = ucmx_id_detach(id);
	mutex_unlock(&id->mutex);
	if (cm)
		rdma_destroy_id(cm);
}

/**
 * ucmx_id_may_bind - prepare for the removal of the id's device
 * @id: the id, its mutex held or not yet known to anybody
 *
 * The caller calls it before an operation that may bind the id to a device.
 *
 * Return: 0 or -ENOMEM.
 */
int ucmx_id_may_bind(struct ucmx_id *id)
{
	return ucmx_id_may_bind_gfp(id, GFP_KERNEL_ACCOUNT);
}

/* The same, with memory that is allocated with @gfp. */
int ucmx_id_may_bind_gfp(struct ucmx_id *id, gfp_t gfp)
{
	struct ucmx_removal *removal;

	if (id->removal)
		return 0;
	removal = kzalloc(sizeof(*removal), gfp);
	if (!removal)
		return -ENOMEM;
	INIT_WORK(&removal->work, ucmx_id_removal_work);
	ucmx_event_init(&removal->ev, id, RDMA_CM_EVENT_DEVICE_REMOVAL);
	removal->ev.embedded = true;
	id->removal = removal;
	return 0;
}

/**
 * ucmx_id_close - end an id
 * @id: the id, taken out of its table by the caller
 *
 * The last reference frees its memory; all else is freed when this returns.
 */
void ucmx_id_close(struct ucmx_id *id)
{
	struct ucmx_event *ev, *tmp;
	struct rdma_cm_id *cm;
	LIST_HEAD(conns);

	mutex_lock(&id->mutex);
	id->dead = true;
	cm = ucmx_id_detach(id);
	mutex_unlock(&id->mutex);

	/* The sources of events, in the order in which one starts another. */
	if (cm)
		rdma_destroy_id(cm);
	if (id->removal && id->removal->queued)
		cancel_work_sync(&id->removal->work);
	ucmx_query_end(id);

	ucmx_event_purge(id, &conns);
	ucmx_mc_end(id);
	ucmx_query_drop(id);
	ucmx_event_drop_reserve(id);
	kfree(id->removal);
	ucmx_file_uncharge(id->file, 1);

	list_for_each_entry_safe(ev, tmp, &conns, mine) {
		spin_lock(&ev->conn->lock);
		WRITE_ONCE(ev->conn->file, id->file);
		spin_unlock(&ev->conn->lock);
		ucmx_id_close(ev->conn);
		ucmx_id_put(ev->conn);
		ucmx_event_free(ev);
		cond_resched();
	}
}

static int ucmx_qp_type(const struct rdma_cmx_id_create *arg)
{
	switch (arg->port_space) {
	case RDMA_PS_TCP:
		return arg->qp_type == IB_QPT_RC ? IB_QPT_RC : -EINVAL;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return arg->qp_type == IB_QPT_UD ? IB_QPT_UD : -EINVAL;
	case RDMA_PS_IB:
		break;
	default:
		return -EINVAL;
	}
	switch (arg->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_RAW_PACKET:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return arg->qp_type;
	}
	return -EINVAL;
}

int ucmx_id_create(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_create __user *uarg = cmd->ubuf;
	struct rdma_cmx_id_create *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	struct rdma_cm_id *cm;
	struct ucmx_id *id;
	int qp_type, ret;

	qp_type = ucmx_qp_type(arg);
	if (qp_type < 0 || !arg->uid)
		return -EINVAL;
	ret = ucmx_file_charge(file, 1);
	if (ret)
		return ret;
	id = ucmx_id_alloc(GFP_KERNEL);
	if (!id) {
		ret = -ENOMEM;
		goto err_charge;
	}
	id->file = file;
	id->owner = arg->owner;
	id->uid = arg->uid;

	ret = ucmx_handle_alloc(file, &id->handle, id);
	if (ret)
		goto err_id;

	/* Copied first: nothing can fail once others can find it. */
	ret = put_user(id->handle, &uarg->id);
	if (ret)
		goto err_handle;

	cm = rdma_create_user_id(ucmx_cm_handler, id, arg->port_space, qp_type);
	if (IS_ERR(cm)) {
		ret = PTR_ERR(cm);
		goto err_handle;
	}
	id->cm = cm;
	ucmx_handle_show(file, id);
	return 0;

err_handle:
	ucmx_handle_free(file, id->handle);
err_id:
	ucmx_id_put(id);
err_charge:
	ucmx_file_uncharge(file, 1);
	return ret;
}

int ucmx_id_destroy(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_destroy __user *uarg = cmd->ubuf;
	struct rdma_cmx_destroy *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	struct ucmx_id *id;
	u32 reported;

	if (arg->reserved)
		return -EINVAL;
	/* Find out now if the result cannot be written. */
	if (put_user(0, &uarg->events_reported))
		return -EFAULT;
	/* Only one caller gets it. */
	id = ucmx_handle_take(file, arg->handle, arg->owner);
	if (!id)
		return -ENOENT;

	ucmx_id_close(id);
	reported = id->reported;
	ucmx_handle_free(file, arg->handle);
	ucmx_id_put(id);
	return put_user(reported, &uarg->events_reported);
}

int ucmx_id_bind(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_bind *arg = cmd->buf;
	union rdma_cmx_sockaddr addr;
	struct ucmx_id *id;
	int ret;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved || ucmx_addr_get(&addr, &arg->addr) <= 0)
		return -EINVAL;
	if (ucmx_respond(cmd))
		return -EFAULT;
	ret = ucmx_source_check(&addr);
	if (ret)
		return ret;
	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ucmx_id_may_bind(id);
	if (!ret)
		ret = rdma_bind_addr(id->cm, &addr.sa);
	if (!ret)
		ucmx_info_fill(id->cm, &arg->info);
	ucmx_id_unlock(id);
	return ret ?: ucmx_respond(cmd);
}

int ucmx_id_query(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_query *arg = cmd->buf;
	struct ucmx_id *id;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved)
		return -EINVAL;
	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	memset(arg->paths, 0, sizeof(arg->paths));
	/* A handler writes the result of an address resolution. */
	rdma_lock_handler(id->cm);
	ucmx_info_fill(id->cm, &arg->info);
	ucmx_paths_fill(id->cm, arg->paths);
	rdma_unlock_handler(id->cm);
	ucmx_id_unlock(id);
	return ucmx_respond(cmd);
}
