// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The end of ids and of their devices.
 *
 * An id is closed once: by the caller that takes it out of its file's xarray,
 * or that finds it in the queue as an unread connection request. Closing marks
 * the id dead under its mutex; commands that found it before fail then. It ends
 * all sources of events for the id before it purges the queue.
 */
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "ucmx.h"

/* Jiffies between two attempts to lock an id */
#define UCMX_REMOVAL_WAIT	(HZ / 100 + 1)

/* Takes the cm id away. The caller destroys it without the mutex. */
static struct rdma_cm_id *ucmx_id_detach(struct ucmx_id *id)
{
	struct rdma_cm_id *cm = id->cm;

	lockdep_assert_held(&id->mutex);
	if (cm) {
		ucmx_any_drop_path(id);
		ucmx_connect_end(id);
		ucmx_mc_detach(id);
		WRITE_ONCE(id->cm, NULL);
		/* Pairs with the barrier of ucmx_id_relock()'s wait. */
		smp_mb();
		wake_up_var(&id->cm);
	}
	return cm;
}

/*
 * The removal of a device waits until all its ids are destroyed, and user space
 * may keep them for any time. So the cm id is destroyed now, and the id stays
 * without it.
 *
 * A command may hold the mutex while it waits for memory of the user's cgroup.
 * The ids of other users do not wait for that.
 */
static void ucmx_id_removal_work(struct work_struct *work)
{
	struct ucmx_removal *removal = container_of(to_delayed_work(work),
						    struct ucmx_removal, work);
	struct ucmx_id *id = removal->ev.id;
	struct rdma_cm_id *cm;

	if (!mutex_trylock(&id->mutex)) {
		queue_delayed_work(ucmx_wq, &removal->work, UCMX_REMOVAL_WAIT);
		return;
	}
	ucmx_query_device_gone(id);
	ucmx_any_device_gone(id);
	cm = ucmx_id_detach(id);
	mutex_unlock(&id->mutex);
	if (cm)
		rdma_cmx_route_destroy(cm, &id->route);
}

/**
 * ucmx_id_removal_alloc - allocate memory for the removal of the id's device
 * @id: the id, its handler lock held
 *
 * Few ids see a removal, so it is allocated late. Like other allocations for
 * unsolicited events it does not fail. It does no I/O, which may need the
 * device.
 *
 * Context: may sleep. Before rdma_cmx_route_event(), after which the handler of
 * a removal must not sleep.
 */
void ucmx_id_removal_alloc(struct ucmx_id *id)
{
	struct ucmx_removal *removal;

	if (id->removal)
		return;
	removal = kzalloc(sizeof(*removal), GFP_NOIO | __GFP_NOFAIL);
	INIT_DELAYED_WORK(&removal->work, ucmx_id_removal_work);
	ucmx_event_init(&removal->ev, id, RDMA_CM_EVENT_DEVICE_REMOVAL);
	removal->ev.embedded = true;
	id->removal = removal;
}

/**
 * ucmx_id_device_gone - report the removal of the id's device
 * @id: the id, its handler lock held
 *
 * An id may lose two devices, if RESOLVE_ANY gives it another cm id before the
 * work item has locked it. It reports one removal.
 */
void ucmx_id_device_gone(struct ucmx_id *id)
{
	bool first;

	spin_lock(&id->lock);
	first = !id->gone;
	/* A reader of the event finds it set. */
	WRITE_ONCE(id->gone, true);
	if (first)
		ucmx_event_post_locked(&id->removal->ev);
	spin_unlock(&id->lock);
	queue_delayed_work(ucmx_wq, &id->removal->work, 0);
}

/**
 * ucmx_id_close - end an id
 * @id: the id, taken out of its table by the caller
 *
 * It frees everything but the memory of the id, which the last reference frees.
 *
 * Context: process context, may sleep.
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

	/*
	 * Ends the sources of events, in the order in which they start others.
	 */
	if (cm)
		rdma_cmx_route_destroy(cm, &id->route);
	/* No handler runs any longer; the work item may. */
	if (id->removal)
		cancel_delayed_work_sync(&id->removal->work);
	ucmx_any_end(id);
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
