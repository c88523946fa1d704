// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The other ports of a peer, for a second path (prefetch_lane.c). The SA's
 * NodeRecord of the first path's DLID has the GUID of the node. The NodeRecords
 * of the node, one for each port in the subnet, have the GUIDs of the ports.
 *
 * A query has a reference of the call until its callback has returned. The
 * lane's timer is its deadline. The callback queues the lane, under the lock of
 * the call, unless the call is cancelled.
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
static void cmx_peer_add(struct cmx_lane *lane,
			 const struct cmx_sa_node_rec *rec)
{
	const struct sa_path_rec *first = lane->all->paths->paths[lane->i].rec;
	union ib_gid gid = {
		.global.subnet_prefix = lane->prefix,
		.global.interface_id = rec->port_guid,
	};

	if (rec->node_guid != lane->node_guid ||
	    lane->peer_count == CMX_PEER_PORTS ||
	    !memcmp(&gid, &first->dgid, sizeof(gid)))
		return;
	lane->peers[lane->peer_count++] = gid;
}

static void cmx_peer_take(struct cmx_lane *lane,
			  const struct cmx_sa_answer *answer)
{
	u32 i, count = min(answer->count, CMX_PEER_RECORDS);
	const struct cmx_sa_node_rec *rec;

	for (i = 0; i < count; i++) {
		rec = cmx_sa_answer_rec(answer, i);
		if (lane->stage == CMX_LANE_PEERS)
			cmx_peer_add(lane, rec);
		else if (!lane->node_guid && rec->type == RDMA_NODE_IB_CA)
			/*
			 * The LID of a path through routers is that of a
			 * router.
			 */
			lane->node_guid = rec->node_guid;
	}
}

static void cmx_peer_done(struct cmx_sched_waiter *waiter, void *answer,
			  int error)
{
	struct cmx_lane *lane = container_of(waiter, struct cmx_lane, waiter);
	struct rdma_cmx_paths_query *p = lane->all;

	spin_lock(&p->lock);
	if (p->state == CMX_MANY_RUNNING) {
		lane->error = error;
		if (!error)
			cmx_peer_take(lane, answer);
		lane->answered = true;
		mod_delayed_work(cmx_many_wq, &lane->work, 0);
	}
	spin_unlock(&p->lock);
	rdma_cmx_paths_query_put(p);
}

/* Port @num of the first path's device, and its GID prefix; or NULL */
static struct cmx_sa_port *cmx_peer_port(const struct cmx_lane *lane, u32 num,
					 __be64 *prefix)
{
	const struct rdma_cmx_paths_query *p = lane->all;
	const struct rdma_cmx_path *path = &p->paths->paths[lane->i];
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

static void cmx_peer_query(const struct cmx_lane *lane, u32 lid,
			   struct cmx_sa_query *q)
{
	struct cmx_sa_node_rec *rec = (void *)q->rec;

	memset(q, 0, sizeof(*q));
	q->attr_id = cpu_to_be16(IB_SA_ATTR_NODE_REC);
	q->method = IB_SA_METHOD_GET_TABLE;
	q->rec_len = sizeof(*rec);
	if (lane->stage == CMX_LANE_NODE) {
		rec->lid = cpu_to_be16(lid);
		q->comp_mask = cpu_to_be64(CMX_SA_NODE_LID);
	} else {
		rec->node_guid = lane->node_guid;
		q->comp_mask = cpu_to_be64(CMX_SA_NODE_GUID);
	}
}

/**
 * cmx_peer_start - query NodeRecords for a lane
 * @lane: in CMX_LANE_NODE, or in CMX_LANE_PEERS, with the port
 *
 * Context: process context, may sleep; does not wait for an SA.
 * Return: 0: the response, or the deadline of the call, queues the lane's work
 * item; or a negative errno.
 */
int cmx_peer_start(struct cmx_lane *lane)
{
	struct rdma_cmx_paths_query *p = lane->all;
	struct rdma_cmx_path *path = &p->paths->paths[lane->i];
	u32 lid = be32_to_cpu(sa_path_get_dlid(&path->rec[0]));
	u32 num = lane->stage == CMX_LANE_NODE ? path->port_num :
						 lane->alt_port;
	long left = p->expires - jiffies;
	struct cmx_sa_port *port;
	struct cmx_sa_query q;
	int ret;

	/* NodeRecords have no extended LIDs. */
	if (lid > U16_MAX)
		return -ENOENT;
	port = cmx_peer_port(lane, num, &lane->prefix);
	if (!port)
		return -ENODEV;
	cmx_peer_query(lane, lid, &q);
	lane->peer_count = 0;
	lane->peer_next = 0;
	lane->error = 0;
	lane->answered = false;
	lane->queried = true;
	lane->waiter.done = cmx_peer_done;
	if (p->attr.refresh)
		cmx_sa_uncache(port, p->attr.net, &q, CMX_SA_GONE_RENEWED);
	kref_get(&p->ref);
	ret = cmx_sa_lookup(port, p->attr.net, CMX_KERNEL_UID, &q,
			    &lane->waiter);
	cmx_sa_port_put(port);
	if (ret) {
		lane->queried = false;
		rdma_cmx_paths_query_put(p);
		return ret;
	}
	/* No effect if the callback has queued the work item. */
	queue_delayed_work(cmx_many_wq, &lane->work, max(left, 1L));
	return 0;
}

/* For the owner of the lane: the callback has not run, and will not run. */
void cmx_peer_forget(struct cmx_lane *lane)
{
	if (cmx_sa_forget(&lane->waiter))
		rdma_cmx_paths_query_put(lane->all);
}

/**
 * cmx_peer_answered - check if a query for NodeRecords has completed
 * @lane: the lane that has sent it
 *
 * Context: the work item of @lane.
 * Return: true, and @lane has the response or an error; false: its callback is
 * running, and queues the work item.
 */
bool cmx_peer_answered(struct cmx_lane *lane)
{
	bool answered;

	spin_lock(&lane->all->lock);
	answered = lane->answered;
	spin_unlock(&lane->all->lock);
	if (answered) {
		/*
		 * If the timer has started this, the callback has queued the
		 * work item again, before @answered. The lane must not end
		 * twice.
		 */
		cancel_delayed_work(&lane->work);
		return true;
	}
	if (!cmx_sa_forget(&lane->waiter))
		return false;
	rdma_cmx_paths_query_put(lane->all);
	lane->error = -ETIMEDOUT;
	return true;
}
