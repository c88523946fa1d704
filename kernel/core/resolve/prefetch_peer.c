// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The other ports of a peer, for a second path (prefetch_worker.c). The SA's
 * NodeRecord of the first path's DLID has the GUID of the node. The NodeRecords
 * of the node, one for each port in the subnet, have the GUIDs of the ports.
 *
 * A query has a reference of the call until its callback has returned. The
 * worker's timer is its deadline. The callback queues the worker, under the
 * lock of the call, unless the call is cancelled.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>

#include "resolve/prefetch.h"
#include "sa/wire.h"

/* Maximum records of a response that are read */
#define CMX_PEER_RECORDS	64u

/* Adds a port of the node to which the first path does not lead. */
static void cmx_peer_add(struct cmx_worker *worker,
			 const struct cmx_sa_node_rec *rec)
{
	const struct rdma_cmx_paths *paths = worker->all->paths;
	const struct sa_path_rec *first = paths->paths[worker->i].rec;
	union ib_gid gid = {
		.global.subnet_prefix = worker->prefix,
		.global.interface_id = rec->port_guid,
	};

	if (rec->node_guid != worker->node_guid ||
	    worker->peer_count == CMX_PEER_PORTS ||
	    !memcmp(&gid, &first->dgid, sizeof(gid)))
		return;
	worker->peers[worker->peer_count++] = gid;
}

static void cmx_peer_take(struct cmx_worker *worker,
			  const struct cmx_sa_response *response)
{
	u32 i, count = min(response->count, CMX_PEER_RECORDS);
	const struct cmx_sa_node_rec *rec;

	for (i = 0; i < count; i++) {
		rec = cmx_sa_response_rec(response, i);
		if (worker->stage == CMX_WORKER_PEERS)
			cmx_peer_add(worker, rec);
		else if (!worker->node_guid && rec->type == RDMA_NODE_IB_CA)
			/*
			 * The LID of a path through routers is that of a
			 * router.
			 */
			worker->node_guid = rec->node_guid;
	}
}

static void cmx_peer_done(struct cmx_sched_waiter *waiter, void *response,
			  int error)
{
	struct cmx_worker *worker = container_of(waiter, struct cmx_worker,
						 waiter);
	struct rdma_cmx_paths_query *p = worker->all;

	spin_lock(&p->lock);
	if (p->state == CMX_PREFETCH_RUNNING) {
		worker->error = error;
		if (!error)
			cmx_peer_take(worker, response);
		worker->completed = true;
		mod_delayed_work(cmx_prefetch_wq, &worker->work, 0);
	}
	spin_unlock(&p->lock);
	rdma_cmx_paths_query_put(p);
}

/* Port @num of the first path's device, and its GID prefix; or NULL */
static struct cmx_sa_port *cmx_peer_port(const struct cmx_worker *worker,
					 u32 num, __be64 *prefix)
{
	const struct rdma_cmx_paths_query *p = worker->all;
	const struct rdma_cmx_path *path = &p->paths->paths[worker->i];
	const struct rdma_cmx_entry e = {
		.ibdev_index = path->ibdev_index,
		.port_num = path->port_num,
	};
	struct ib_device *ibdev;
	union ib_gid gid;
	int ret;

	ibdev = rdma_cmx_entry_device(&e, p->attr.net);
	if (!ibdev)
		return NULL;
	ret = rdma_query_gid(ibdev, num, 0, &gid);
	ib_device_put(ibdev);
	if (ret)
		return NULL;
	*prefix = gid.global.subnet_prefix;
	return cmx_sa_port_get(path->ibdev_index, num);
}

static void cmx_peer_query(const struct cmx_worker *worker, u32 lid,
			   struct cmx_sa_query *q)
{
	struct cmx_sa_node_rec *rec = (void *)q->rec;

	memset(q, 0, sizeof(*q));
	q->attr_id = cpu_to_be16(IB_SA_ATTR_NODE_REC);
	q->method = IB_SA_METHOD_GET_TABLE;
	q->rec_len = sizeof(*rec);
	if (worker->stage == CMX_WORKER_NODE) {
		rec->lid = cpu_to_be16(lid);
		q->comp_mask = cpu_to_be64(CMX_SA_NODE_LID);
	} else {
		rec->node_guid = worker->node_guid;
		q->comp_mask = cpu_to_be64(CMX_SA_NODE_GUID);
	}
}

/**
 * cmx_peer_start - query NodeRecords for a worker
 * @worker: in CMX_WORKER_NODE, or in CMX_WORKER_PEERS, with the port
 *
 * Context: process context, may sleep; does not wait for an SA.
 * Return: 0: the response, or the deadline of the call, queues the work item of
 * @worker; or a negative errno.
 */
int cmx_peer_start(struct cmx_worker *worker)
{
	struct rdma_cmx_paths_query *p = worker->all;
	struct rdma_cmx_path *path = &p->paths->paths[worker->i];
	u32 lid = be32_to_cpu(sa_path_get_dlid(&path->rec[0]));
	u32 num = worker->stage == CMX_WORKER_NODE ? path->port_num :
						 worker->alt_port;
	long left = p->expires - jiffies;
	struct cmx_sa_port *port;
	struct cmx_sa_query q;
	int ret;

	/* NodeRecords have no extended LIDs. */
	if (lid > U16_MAX)
		return -ENOENT;
	port = cmx_peer_port(worker, num, &worker->prefix);
	if (!port)
		return -ENODEV;
	cmx_peer_query(worker, lid, &q);
	worker->peer_count = 0;
	worker->peer_next = 0;
	worker->error = 0;
	worker->completed = false;
	worker->queried = true;
	worker->waiter.done = cmx_peer_done;
	if (p->attr.refresh)
		cmx_sa_uncache(port, p->attr.net, &q, CMX_SA_GONE_RENEWED);
	kref_get(&p->ref);
	ret = cmx_sa_lookup(port, p->attr.net, cmx_kernel_uid(p->attr.net),
			    &q, &worker->waiter);
	cmx_sa_port_put(port);
	if (ret) {
		worker->queried = false;
		rdma_cmx_paths_query_put(p);
		return ret;
	}
	/* No effect if the callback has queued the work item. */
	queue_delayed_work(cmx_prefetch_wq, &worker->work, max(left, 1L));
	return 0;
}

/* For the owner of the worker: the callback has not run, and will not run. */
void cmx_peer_forget(struct cmx_worker *worker)
{
	if (cmx_sa_forget(&worker->waiter))
		rdma_cmx_paths_query_put(worker->all);
}

/**
 * cmx_peer_completed - check if a query for NodeRecords has completed
 * @worker: the worker that has sent it
 *
 * Context: the work item of @worker.
 * Return: true, and @worker has the response or an error; false: its callback
 * is running, and queues the work item.
 */
bool cmx_peer_completed(struct cmx_worker *worker)
{
	bool completed;

	spin_lock(&worker->all->lock);
	completed = worker->completed;
	spin_unlock(&worker->all->lock);
	if (completed) {
		/*
		 * If the timer has started this, the callback has queued the
		 * work item again, before @completed. The worker must not end
		 * twice.
		 */
		cancel_delayed_work(&worker->work);
		return true;
	}
	if (!cmx_sa_forget(&worker->waiter))
		return false;
	rdma_cmx_paths_query_put(worker->all);
	worker->error = -ETIMEDOUT;
	return true;
}
