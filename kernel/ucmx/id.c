// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Ids: memory, references, how a command finds and locks one, its address. */
#include <linux/memcontrol.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

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
 * ucmx_id_alloc - allocate an id, which is in no table yet
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
	ucmx_stat_inc(ids);
	ucmx_stat_inc(live_ids);
	return id;
}

/* For requests of an id; the memory is charged to the caller. */
struct ucmx_listener *ucmx_listener_alloc(void)
{
	struct ucmx_listener *l = kzalloc(sizeof(*l), GFP_KERNEL_ACCOUNT);

	if (!l)
		return NULL;
	INIT_LIST_HEAD(&l->excess);
	l->memcg = get_mem_cgroup_from_mm(current->mm);
	return l;
}

void ucmx_listener_free(struct ucmx_listener *l)
{
	if (!l)
		return;
	mem_cgroup_put(l->memcg);
	kfree(l);
}

void ucmx_id_put(struct ucmx_id *id)
{
	if (!refcount_dec_and_test(&id->ref))
		return;
	ucmx_listener_free(id->listener);
	mutex_destroy(&id->mutex);
	kmem_cache_free(ucmx_id_cache, id);
	ucmx_stat_dec(live_ids);
}

/* True if the device is being removed and the id still has the cm id */
static bool ucmx_id_going(const struct ucmx_id *id)
{
	return READ_ONCE(id->gone) && READ_ONCE(id->cm);
}

/**
 * ucmx_id_relock - lock an id that was found before
 * @id: the id, with a reference of the caller
 * @file: file of the caller
 *
 * The removal of a device does not sleep for the mutex (close.c). This waits
 * until it has run.
 *
 * Context: may sleep.
 * Return: 0 with the id's mutex held, -ENOENT if the id was destroyed or
 * migrated meanwhile, or -EINTR if the process is being killed.
 */
int ucmx_id_relock(struct ucmx_id *id, struct ucmx_file *file)
{
	for (;;) {
		if (wait_var_event_killable(&id->cm, !ucmx_id_going(id)) ||
		    mutex_lock_killable(&id->mutex))
			return -EINTR;
		if (id->dead || READ_ONCE(id->file) != file) {
			mutex_unlock(&id->mutex);
			return -ENOENT;
		}
		if (!ucmx_id_going(id))
			return 0;
		mutex_unlock(&id->mutex);
	}
}

/**
 * ucmx_id_lock_any - find an id and lock it
 * @file: file of the caller
 * @handle: handle of the id
 *
 * Context: may sleep.
 * Return: the id with its mutex held, which the caller releases with
 * ucmx_id_unlock(), -ENOENT, or an error of ucmx_id_relock(). cm is NULL if the
 * device is gone.
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

/* With the id's mutex: 0, or the error of a command that needs its cm id */
static int ucmx_id_usable(const struct ucmx_id *id)
{
	if (!id->cm)
		return -ENODEV;
	return id->racing ? -EBUSY : 0;
}

/**
 * ucmx_id_bound - may a command use the device of an id?
 * @id: the id
 *
 * Context: the caller has the id's mutex. Does not sleep.
 * Return: 0, -ENODEV if the device is gone, -EBUSY while its candidates race, or
 * -EINVAL if the id is not bound.
 */
int ucmx_id_bound(const struct ucmx_id *id)
{
	int ret = ucmx_id_usable(id);

	if (!ret && !id->cm->device)
		ret = -EINVAL;
	return ret;
}

/**
 * ucmx_id_lock - find an id that has not lost its device, and lock it
 * @file: file of the caller
 * @handle: handle of the id
 *
 * Context: may sleep.
 * Return: as ucmx_id_lock_any(), -ENODEV, or -EBUSY while its candidates race.
 */
struct ucmx_id *ucmx_id_lock(struct ucmx_file *file, u32 handle)
{
	struct ucmx_id *id = ucmx_id_lock_any(file, handle);
	int ret;

	if (IS_ERR(id))
		return id;
	ret = ucmx_id_usable(id);
	if (ret) {
		ucmx_id_unlock(id);
		return ERR_PTR(ret);
	}
	return id;
}

/**
 * ucmx_id_lock_dev - find an id that is bound to a device, and lock it
 * @file: file of the caller
 * @handle: handle of the id
 *
 * Context: may sleep.
 * Return: as ucmx_id_lock_any(), or an error of ucmx_id_bound().
 */
struct ucmx_id *ucmx_id_lock_dev(struct ucmx_file *file, u32 handle)
{
	struct ucmx_id *id = ucmx_id_lock_any(file, handle);
	int ret;

	if (IS_ERR(id))
		return id;
	ret = ucmx_id_bound(id);
	if (ret) {
		ucmx_id_unlock(id);
		return ERR_PTR(ret);
	}
	return id;
}

void ucmx_id_unlock(struct ucmx_id *id)
{
	mutex_unlock(&id->mutex);
	ucmx_id_put(id);
}

/* True if the id has no address and no device, and no state of rdma_cm */
bool ucmx_cm_is_unbound(const struct rdma_cm_id *cm)
{
	return !cm->device && !cm->route.addr.src_addr.ss_family;
}

/**
 * ucmx_cm_bind_undo - remove what rdma_cm leaves in an id that it cannot bind
 * @cm: the id, of a locked id; ucmx_cm_is_unbound() was true before
 *
 * The interface of the failed address would be that of the next one.
 */
void ucmx_cm_bind_undo(struct rdma_cm_id *cm)
{
	struct rdma_addr *addr = &cm->route.addr;

	memset(&addr->src_addr, 0, sizeof(addr->src_addr));
	memset(&addr->dst_addr, 0, sizeof(addr->dst_addr));
	addr->dev_addr.bound_dev_if = 0;
}
