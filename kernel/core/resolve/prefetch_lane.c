// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The lanes of a call for many paths (prefetch.c).
 *
 * A lane has at most one outstanding query (query.c), and takes the next
 * destination when it has completed: a slow destination delays only its lane.
 * The queries equal those of a resolution, so ids find their responses in the
 * cache. For an alternate path a lane may send further queries: from each other
 * port of the device to the same GID; and, if none of these has a path, from
 * each port to the other ports of the peer (prefetch_peer.c).
 *
 * The work item of a lane owns it. Either the start queues the work item, or
 * the callback of the query that it has started. After a cancel of the call,
 * the canceller owns the lane once work item and query have ended.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "resolve/prefetch.h"

/* Maximum ports of a device that are tried for an alternate path */
#define CMX_ALT_PORTS	4

static bool cmx_many_running(const struct rdma_cmx_paths_query *p)
{
	return READ_ONCE(p->state) == CMX_MANY_RUNNING;
}

/* The lane has ended. It may be freed when this returns. */
static void cmx_lane_end(struct cmx_lane *lane)
{
	struct rdma_cmx_paths_query *p = lane->all;
	bool last;

	spin_lock(&p->lock);
	last = !--p->working && p->state == CMX_MANY_RUNNING;
	if (last)
		WRITE_ONCE(p->state, CMX_MANY_CALLING);
	spin_unlock(&p->lock);
	if (last)
		queue_work(cmx_many_wq, &p->call);
}

/* Takes the next destination; false if there is none, or no time for it. */
static bool cmx_lane_next(struct cmx_lane *lane)
{
	struct rdma_cmx_paths_query *p = lane->all;
	struct rdma_cmx_path *path;
	bool more;

	if (time_after_eq(jiffies, p->expires)) {
		if (lane->stage != CMX_LANE_FIRST) {
			path = &p->paths->paths[lane->i];
			path->alt_error = -ETIMEDOUT;
			memset(&path->alt_dst, 0, sizeof(path->alt_dst));
		}
		return false;
	}
	if (lane->stage != CMX_LANE_FIRST)
		return true;
	spin_lock(&p->lock);
	more = p->next < p->paths->count;
	if (more)
		lane->i = p->next++;
	spin_unlock(&p->lock);
	return more;
}

static void cmx_lane_done(struct rdma_cmx_query *query,
			  struct rdma_cmx_result *result, void *context)
{
	struct cmx_lane *lane = context;

	lane->result = result;
	queue_delayed_work(cmx_many_wq, &lane->work, 0);
}

static u64 cmx_path_sid(const struct rdma_cmx_paths_query *p,
			const union rdma_cmx_sockaddr *dst)
{
	u64 space = (u64)(p->attr.port_space ?: RDMA_PS_TCP) << 16;

	switch (dst->sa.sa_family) {
	case AF_INET:
		return space + ntohs(dst->in.sin_port);
	case AF_INET6:
		return space + ntohs(dst->in6.sin6_port);
	default:
		return be64_to_cpu(dst->ib.sib_sid);
	}
}

/* Makes an address of @gid, for a query for the alternate of @path. */
static void cmx_path_alt_gid(const struct rdma_cmx_paths_query *p,
			     const struct rdma_cmx_path *path,
			     const union ib_gid *gid,
			     union rdma_cmx_sockaddr *dst)
{
	struct sockaddr_ib *ib = &dst->ib;

	memset(dst, 0, sizeof(*dst));
	ib->sib_family = AF_IB;
	ib->sib_pkey = path->rec[0].pkey;
	memcpy(&ib->sib_addr, gid, sizeof(*gid));
	ib->sib_sid = cpu_to_be64(cmx_path_sid(p, &path->dst));
	ib->sib_sid_mask = cpu_to_be64(~0ULL);
	/* It has the traffic class. The source derives from this address. */
	if (path->src.sa.sa_family == AF_INET6)
		ib->sib_flowinfo = path->src.in6.sin6_flowinfo;
	else if (path->src.sa.sa_family == AF_IB)
		ib->sib_flowinfo = path->src.ib.sib_flowinfo;
}

static void cmx_lane_attr(const struct cmx_lane *lane,
			  struct rdma_cmx_query_attr *attr)
{
	const struct rdma_cmx_paths_query *p = lane->all;
	const struct rdma_cmx_path *path = &p->paths->paths[lane->i];

	*attr = p->attr;
	attr->dst = &path->dst;
	if (lane->stage == CMX_LANE_FIRST)
		return;
	attr->dst = &path->alt_dst;
	/* The source is that of the other port. */
	attr->src = NULL;
	attr->dev = lane->dev;
	attr->dev_port = lane->alt_port;
}

/* Returns NULL if the query is outstanding. */
static struct rdma_cmx_result *cmx_lane_query(struct cmx_lane *lane)
{
	long left = lane->all->expires - jiffies;
	struct rdma_cmx_query_attr attr;
	struct rdma_cmx_result *known;
	int ret;

	cmx_lane_attr(lane, &attr);
	/* 0 means the default deadline, and the deadline may have passed. */
	attr.timeout_ms = jiffies_to_msecs(max(left, 1L));
	ret = rdma_cmx_query_start(&attr, cmx_lane_done, lane, &known,
				   &lane->query);
	return ret ? ERR_PTR(ret) : known;
}

/* The error of the first entry of @res, or 0 */
static int cmx_path_error(const struct rdma_cmx_result *res)
{
	if (IS_ERR(res))
		return PTR_ERR(res);
	if (res->entries[0].error)
		return res->entries[0].error;
	return res->entries[0].route_count ? 0 : -EOPNOTSUPP;
}

/* The first record with other LIDs at both ends than @rec[0] */
static bool cmx_path_second(const struct rdma_cmx_entry *e,
			    struct sa_path_rec *rec)
{
	u32 i;

	for (i = 1; !rdma_cmx_entry_path(e, i, &rec[1]); i++) {
		if (sa_path_get_slid(&rec[1]) != sa_path_get_slid(&rec[0]) &&
		    sa_path_get_dlid(&rec[1]) != sa_path_get_dlid(&rec[0]))
			return true;
	}
	memset(&rec[1], 0, sizeof(rec[1]));
	return false;
}

/* The next port to try, which is not that of the first path */
static void cmx_lane_port(struct cmx_lane *lane, u32 ports, u32 own)
{
	do {
		lane->alt_port++;
	} while (lane->alt_port == own);
	if (lane->alt_port > ports)
		lane->alt_port = 0;
}

/* Gets the name of the device of @path, and its number of ports. */
int cmx_lane_dev(const struct rdma_cmx_path *path, struct net *net, char *dev,
		 u32 *ports)
{
	struct rdma_cmx_entry e = {
		.ibdev_index = path->ibdev_index,
		.port_num = path->port_num,
	};
	struct ib_device *ibdev;

	ibdev = rdma_cmx_entry_device(&e, net);
	if (!ibdev)
		return -ENODEV;
	/* Not dev_name(), whose memory a rename frees */
	strscpy(dev, ibdev->name, IB_DEVICE_NAME_MAX);
	if (ports)
		*ports = ibdev->phys_port_cnt;
	ib_device_put(ibdev);
	return 0;
}

/* Continues with another port of the device, or with 0 if none is left. */
static void cmx_lane_port_next(struct cmx_lane *lane,
			       const struct rdma_cmx_path *path)
{
	u32 ports;

	if (!lane->alt_left ||
	    cmx_lane_dev(path, lane->all->attr.net, lane->dev, &ports)) {
		lane->alt_port = 0;
		return;
	}
	lane->alt_left--;
	cmx_lane_port(lane, ports, path->port_num);
}

/* The destination is complete. */
static void cmx_lane_through(struct cmx_lane *lane, struct rdma_cmx_path *path)
{
	lane->stage = CMX_LANE_FIRST;
	lane->alt_port = 0;
	if (path->alt_error)
		memset(&path->alt_dst, 0, sizeof(path->alt_dst));
}

/* True if the caller has given the other port of the peer */
static bool cmx_lane_alt_given(const struct cmx_lane *lane)
{
	const union rdma_cmx_sockaddr *alt = lane->all->alt_dst;

	return alt && alt[lane->i].sa.sa_family;
}

/* Queries from another port, if there is one; or searches the peer's ports. */
static void cmx_lane_other(struct cmx_lane *lane, struct rdma_cmx_path *path)
{
	const struct rdma_cmx_paths_query *p = lane->all;

	cmx_lane_port_next(lane, path);
	if (lane->alt_port) {
		lane->stage = CMX_LANE_PORT;
		if (cmx_lane_alt_given(lane))
			path->alt_dst = p->alt_dst[lane->i];
		else
			cmx_path_alt_gid(p, path, &path->rec[0].dgid,
					 &path->alt_dst);
	} else if (cmx_lane_alt_given(lane)) {
		cmx_lane_through(lane, path);
	} else {
		lane->stage = CMX_LANE_NODE;
		lane->node_guid = 0;
	}
}

/*
 * Queries the SA of the next port for the peer's ports. The own port is last.
 */
static void cmx_lane_local(struct cmx_lane *lane, struct rdma_cmx_path *path)
{
	if (lane->alt_port == path->port_num) {
		cmx_lane_through(lane, path);
		return;
	}
	cmx_lane_port_next(lane, path);
	if (!lane->alt_port)
		lane->alt_port = path->port_num;
	lane->stage = CMX_LANE_PEERS;
}

/* Queries the path to the peer's next port, or continues with the next port. */
static void cmx_lane_peer(struct cmx_lane *lane, struct rdma_cmx_path *path)
{
	if (lane->peer_next == lane->peer_count) {
		cmx_lane_local(lane, path);
		return;
	}
	cmx_path_alt_gid(lane->all, path, &lane->peers[lane->peer_next++],
			 &path->alt_dst);
	lane->stage = CMX_LANE_PEER;
}

/* The query for NodeRecords has completed, or was not sent. */
static void cmx_lane_node(struct cmx_lane *lane, int error)
{
	struct rdma_cmx_path *path = &lane->all->paths->paths[lane->i];

	lane->queried = false;
	if (error)
		path->alt_error = error;
	if (lane->stage == CMX_LANE_PEERS) {
		cmx_lane_peer(lane, path);
	} else if (lane->node_guid) {
		lane->alt_left = CMX_ALT_PORTS;
		lane->alt_port = 0;
		cmx_lane_local(lane, path);
	} else {
		cmx_lane_through(lane, path);
	}
}

static void cmx_lane_first(struct cmx_lane *lane, struct rdma_cmx_path *path,
			   const struct rdma_cmx_result *res)
{
	const struct rdma_cmx_entry *e;

	path->error = cmx_path_error(res);
	if (lane->all->alternate)
		path->alt_error = path->error ?: -ENOENT;
	if (path->error)
		return;
	e = &res->entries[0];
	path->src = e->src;
	path->ibdev_index = e->ibdev_index;
	path->port_num = e->port_num;
	rdma_cmx_entry_path(e, 0, &path->rec[0]);
	if (!lane->all->alternate)
		return;
	if (cmx_path_second(e, path->rec)) {
		path->alt_error = 0;
		path->alt_port_num = path->port_num;
		return;
	}
	lane->alt_left = CMX_ALT_PORTS;
	cmx_lane_other(lane, path);
}

/*
 * True if @rec is another path than the first. If it starts at the same port,
 * it must lead to another port of the peer.
 */
static bool cmx_path_apart(const struct cmx_lane *lane,
			   const struct rdma_cmx_path *path,
			   struct sa_path_rec *rec)
{
	struct sa_path_rec first = path->rec[0];

	if (lane->alt_port == path->port_num)
		return sa_path_get_dlid(rec) != sa_path_get_dlid(&first);
	return sa_path_get_slid(rec) != sa_path_get_slid(&first);
}

static void cmx_lane_alternate(struct cmx_lane *lane, struct rdma_cmx_path *path,
			       const struct rdma_cmx_result *res)
{
	int error = cmx_path_error(res);
	struct sa_path_rec rec;

	if (!error) {
		rdma_cmx_entry_path(&res->entries[0], 0, &rec);
		/*
		 * Check it: the SA may return any record, and another device
		 * may have the name now.
		 */
		if (res->entries[0].ibdev_index != path->ibdev_index ||
		    !cmx_path_apart(lane, path, &rec))
			error = -ENOENT;
	}
	if (!error) {
		path->rec[1] = rec;
		path->alt_error = 0;
		path->alt_port_num = lane->alt_port;
		cmx_lane_through(lane, path);
		return;
	}
	/* -ENOENT means that no other port reaches it. */
	if (error != -ENETUNREACH)
		path->alt_error = error;
	if (lane->stage == CMX_LANE_PORT)
		cmx_lane_other(lane, path);
	else
		cmx_lane_peer(lane, path);
}

static void cmx_lane_take(struct cmx_lane *lane, struct rdma_cmx_result *res)
{
	struct rdma_cmx_path *path = &lane->all->paths->paths[lane->i];

	if (lane->stage == CMX_LANE_FIRST)
		cmx_lane_first(lane, path, res);
	else
		cmx_lane_alternate(lane, path, res);
	rdma_cmx_result_put(res);
}

/* Sends the next query. Returns false if it is outstanding. */
static bool cmx_lane_step(struct cmx_lane *lane)
{
	struct rdma_cmx_result *res;
	int ret;

	if (lane->stage == CMX_LANE_NODE || lane->stage == CMX_LANE_PEERS) {
		ret = cmx_peer_start(lane);
		if (!ret)
			return false;
		cmx_lane_node(lane, ret);
		return true;
	}
	res = cmx_lane_query(lane);
	if (res)
		cmx_lane_take(lane, res);
	return res;
}

/* Runs from one query to the next. Returns false if one is outstanding. */
static bool cmx_lane_run(struct cmx_lane *lane)
{
	struct rdma_cmx_result *res = lane->result;

	rdma_cmx_query_put(lane->query);
	lane->query = NULL;
	lane->result = NULL;
	if (lane->queried) {
		if (!cmx_peer_answered(lane))
			return false;
		cmx_lane_node(lane, lane->error);
	}
	if (res)
		cmx_lane_take(lane, res);
	do {
		if (!cmx_many_running(lane->all) || !cmx_lane_next(lane))
			return true;
		cond_resched();
	} while (cmx_lane_step(lane));
	return false;
}

static void cmx_lane_work(struct work_struct *work)
{
	struct cmx_lane *lane = container_of(to_delayed_work(work),
					     struct cmx_lane, work);
	struct mem_cgroup *old;
	bool end;

	/* The canceller takes over the state of the lane. */
	if (!cmx_many_running(lane->all))
		return;
	old = set_active_memcg(lane->all->memcg);
	end = cmx_lane_run(lane);
	set_active_memcg(old);
	if (end)
		cmx_lane_end(lane);
}

void cmx_lane_init(struct cmx_lane *lane, struct rdma_cmx_paths_query *all)
{
	lane->all = all;
	INIT_DELAYED_WORK(&lane->work, cmx_lane_work);
}

/* No code of the lane runs afterwards. */
void cmx_lane_stop(struct cmx_lane *lane)
{
	cancel_delayed_work_sync(&lane->work);
	if (lane->query) {
		rdma_cmx_query_cancel(lane->query);
		/* The callback of the query may have queued the work item. */
		cancel_delayed_work_sync(&lane->work);
		rdma_cmx_query_put(lane->query);
		lane->query = NULL;
	}
	/* The callback of a query for NodeRecords no longer queues it. */
	cmx_peer_forget(lane);
	rdma_cmx_result_put(lane->result);
	lane->result = NULL;
}
