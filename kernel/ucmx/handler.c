// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The event handler of rdma_cm ids, and connection requests.
 *
 * It runs with the handler lock of the cm id, in process context, and takes no
 * mutex of this module.
 */
#include <linux/sched/mm.h>

#include "ucmx.h"

/*
 * True if a request may wait beyond the backlog. A peer can fill this queue, so
 * the program keeps the other half of its file's limits.
 */
static bool ucmx_conn_may_wait(const struct ucmx_id *listen, int waiting)
{
	const struct ucmx_file *file = listen->file;

	return waiting < READ_ONCE(ucmx_max_backlog) &&
	       READ_ONCE(file->nr_events) < READ_ONCE(ucmx_max_events) / 2 &&
	       atomic_read(&file->nr_objs) < READ_ONCE(ucmx_max_ids) / 2;
}

/*
 * Charges a request to the listening id and its file. Beyond the backlog it
 * waits, and the peer's CM learns that by an MRA when it retries.
 */
static int ucmx_conn_charge(struct ucmx_id *listen)
{
	struct ucmx_listener *l;
	int waiting, ret;

	spin_lock(&listen->lock);
	l = listen->listener;
	waiting = atomic_read(&l->waiting);
	if (waiting >= READ_ONCE(l->backlog) &&
	    !ucmx_conn_may_wait(listen, waiting))
		ret = -ENOMEM;
	else if (READ_ONCE(listen->file->nr_events) >=
		 READ_ONCE(ucmx_max_events))
		ret = -EAGAIN;
	else
		ret = ucmx_file_charge(listen->file, 1);
	if (!ret)
		atomic_inc(&l->waiting);
	spin_unlock(&listen->lock);
	return ret;
}

static void ucmx_conn_uncharge(struct ucmx_id *listen)
{
	spin_lock(&listen->lock);
	atomic_dec(&listen->listener->waiting);
	ucmx_file_uncharge(listen->file, 1);
	spin_unlock(&listen->lock);
}

/*
 * The memory is charged to the caller of LISTEN. This must not wait for that
 * cgroup: its memory.high would block the CM's work item, and all its users.
 */
static struct ucmx_event *ucmx_conn_alloc(struct ucmx_id *listen,
					  unsigned int len)
{
	const gfp_t gfp = GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT;
	struct mem_cgroup *old = set_active_memcg(listen->listener->memcg);
	struct ucmx_event *ev = NULL;
	struct ucmx_id *id;

	id = ucmx_id_alloc(gfp);
	if (id)
		ev = ucmx_event_alloc(listen, len, gfp);
	if (ev)
		ev->conn = id;
	else if (id)
		ucmx_id_put(id);
	set_active_memcg(old);
	return ev;
}

/*
 * The event that reports a new id contains it; it is in no table and has no
 * file. It owns @cm once this returns 0. After an error rdma_cm destroys @cm.
 * After -ENOMEM the CM sends no reply to a REQ, and the peer retries. It rejects
 * a REQ after any other errno, and a SIDR_REQ after any. So does the CM of iWARP.
 */
static int ucmx_connect_request(struct ucmx_id *listen, struct rdma_cm_id *cm,
				struct rdma_cm_event *e)
{
	struct ucmx_parts parts;
	struct ucmx_event *ev;
	int ret;

	ret = ucmx_conn_charge(listen);
	if (ret)
		goto refuse;
	ev = ucmx_conn_alloc(listen, ucmx_parts_get(&parts, cm, e, 0));
	if (!ev) {
		ret = -ENOMEM;
		goto err_charge;
	}
	ucmx_parts_put(ev, &parts, cm, e);
	ev->conn->cm = cm;
	ev->conn->hold = true;
	ev->conn->cm_used = true;
	cm->context = ev->conn;
	ucmx_event_post_conn(ev);
	return 0;

err_charge:
	ucmx_conn_uncharge(listen);
refuse:
	ucmx_stat_inc(refused_connects);
	return ret;
}

/**
 * ucmx_cm_handler - event handler of all cm ids of this module
 * @cm: the id, its handler lock held
 * @e: the event
 *
 * Return: 0; or for a connection request that is not accepted -ENOMEM: the CM
 * drops it if it is a REQ, or another negative errno: the CM rejects it.
 */
int ucmx_cm_handler(struct rdma_cm_id *cm, struct rdma_cm_event *e)
{
	struct ucmx_id *id = cm->context;

	if (e->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		ucmx_id_removal_alloc(id);
	rdma_cmx_route_event(&id->route, e);
	rdma_cmx_slot_event(&id->slot, e);
	switch (e->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return ucmx_connect_request(id, cm, e);
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		ucmx_mc_group_event(id, cm, e);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		ucmx_id_device_gone(id);
		break;
	default:
		ucmx_event_from_cm(id, cm, e);
		break;
	}
	return 0;
}
