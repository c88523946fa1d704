// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The workers of a call for many paths (prefetch.c).
 *
 * A worker has at most one outstanding query (query.c), and takes the next
 * destination when it has completed: a slow destination delays only its worker.
 * The queries equal those of a resolution, so ids find their responses in the
 * cache. For an alternate path a worker may send further queries: from each
 * other port of the device to the same GID; and, if none of these has a path,
 * from each port to the other ports of the peer (prefetch_peer.c).
 *
 * The work item of a worker owns it. Either the start queues the work item, or
 * the callback of the query that it has started. After a cancel of the call,
 * the canceller owns the worker once work item and query have ended.
 */
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "resolve/prefetch.h"

/* Maximum ports of a device that are tried for an alternate path */
#define CMX_ALT_PORTS	4

static bool cmx_prefetch_running(const struct rdma_cmx_paths_query *p)
{
	return READ_ONCE(p->state) == CMX_PREFETCH_RUNNING;
}

/* The worker has ended. It may be freed when this returns. */
static void cmx_worker_end(struct cmx_worker *worker)
{
	struct rdma_cmx_paths_query *p = worker->all;
	bool last;

	spin_lock(&p->lock);
	last = !--p->working && p->state == CMX_PREFETCH_RUNNING;
	if (last)
		WRITE_ONCE(p->state, CMX_PREFETCH_CALLING);
	spin_unlock(&p->lock);
	if (last)
		queue_work(cmx_prefetch_wq, &p->call);
}

/* Takes the next destination; false if there is none, or no time for it. */
static bool cmx_worker_next(struct cmx_worker *worker)
{
	struct rdma_cmx_paths_query *p = worker->all;
	struct rdma_cmx_path *path;
	bool more;

	if (time_after_eq(jiffies, p->expires)) {
		if (worker->stage != CMX_WORKER_FIRST) {
			path = &p->paths->paths[worker->i];
			path->alt_error = -ETIMEDOUT;
			memset(&path->alt_dst, 0, sizeof(path->alt_dst));
		}
		return false;
	}
	if (worker->stage != CMX_WORKER_FIRST)
		return true;
	spin_lock(&p->lock);
	more = p->next < p->paths->count;
	if (more)
		worker->i = p->next++;
	spin_unlock(&p->lock);
	return more;
}

static void cmx_worker_done(struct rdma_cmx_query *query,
			    struct rdma_cmx_result *result, void *context)
{
	struct cmx_worker *worker = context;

	worker->result = result;
	queue_delayed_work(cmx_prefetch_wq, &worker->work, 0);
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

static void cmx_worker_attr(const struct cmx_worker *worker,
			    struct rdma_cmx_query_attr *attr)
{
	const struct rdma_cmx_paths_query *p = worker->all;
	const struct rdma_cmx_path *path = &p->paths->paths[worker->i];

	*attr = p->attr;
	attr->dst = &path->dst;
	if (worker->stage == CMX_WORKER_FIRST)
		return;
	attr->dst = &path->alt_dst;
	/* The source is that of the other port. */
	attr->src = NULL;
	attr->dev = worker->dev;
	attr->dev_port = worker->alt_port;
}

/* Returns NULL if the query is outstanding. */
static struct rdma_cmx_result *cmx_worker_query(struct cmx_worker *worker)
{
	long left = worker->all->expires - jiffies;
	struct rdma_cmx_query_attr attr;
	struct rdma_cmx_result *known;
	int ret;

	cmx_worker_attr(worker, &attr);
	/* 0 means the default deadline, and the deadline may have passed. */
	attr.timeout_ms = jiffies_to_msecs(max(left, 1L));
	ret = rdma_cmx_query_start(&attr, cmx_worker_done, worker, &known,
				   &worker->query);
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
static void cmx_worker_port(struct cmx_worker *worker, u32 ports, u32 own)
{
	do {
		worker->alt_port++;
	} while (worker->alt_port == own);
	if (worker->alt_port > ports)
		worker->alt_port = 0;
}

/* Gets the name of the device of @path, and its number of ports. */
int cmx_worker_dev(const struct rdma_cmx_path *path, struct net *net, char *dev,
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
static void cmx_worker_port_next(struct cmx_worker *worker,
				 const struct rdma_cmx_path *path)
{
	u32 ports;

	if (!worker->alt_left ||
	    cmx_worker_dev(path, worker->all->attr.net, worker->dev, &ports)) {
		worker->alt_port = 0;
		return;
	}
	worker->alt_left--;
	cmx_worker_port(worker, ports, path->port_num);
}

/* The destination is complete. */
static void cmx_worker_through(struct cmx_worker *worker,
			       struct rdma_cmx_path *path)
{
	worker->stage = CMX_WORKER_FIRST;
	worker->alt_port = 0;
	if (path->alt_error)
		memset(&path->alt_dst, 0, sizeof(path->alt_dst));
}

/* True if the caller has given the other port of the peer */
static bool cmx_worker_alt_given(const struct cmx_worker *worker)
{
	const union rdma_cmx_sockaddr *alt = worker->all->alt_dst;

	return alt && alt[worker->i].sa.sa_family;
}

/* Queries from another port, if there is one; or searches the peer's ports. */
static void cmx_worker_other(struct cmx_worker *worker,
			     struct rdma_cmx_path *path)
{
	const struct rdma_cmx_paths_query *p = worker->all;

	cmx_worker_port_next(worker, path);
	if (worker->alt_port) {
		worker->stage = CMX_WORKER_PORT;
		if (cmx_worker_alt_given(worker))
			path->alt_dst = p->alt_dst[worker->i];
		else
			cmx_path_alt_gid(p, path, &path->rec[0].dgid,
					 &path->alt_dst);
	} else if (cmx_worker_alt_given(worker)) {
		cmx_worker_through(worker, path);
	} else {
		worker->stage = CMX_WORKER_NODE;
		worker->node_guid = 0;
	}
}

/*
 * Queries the SA of the next port for the peer's ports. The own port is last.
 */
static void cmx_worker_local(struct cmx_worker *worker,
			     struct rdma_cmx_path *path)
{
	if (worker->alt_port == path->port_num) {
		cmx_worker_through(worker, path);
		return;
	}
	cmx_worker_port_next(worker, path);
	if (!worker->alt_port)
		worker->alt_port = path->port_num;
	worker->stage = CMX_WORKER_PEERS;
}

/* Queries the path to the peer's next port, or continues with the next port. */
static void cmx_worker_peer(struct cmx_worker *worker,
			    struct rdma_cmx_path *path)
{
	if (worker->peer_next == worker->peer_count) {
		cmx_worker_local(worker, path);
		return;
	}
	cmx_path_alt_gid(worker->all, path, &worker->peers[worker->peer_next++],
			 &path->alt_dst);
	worker->stage = CMX_WORKER_PEER;
}

/* The query for NodeRecords has completed, or was not sent. */
static void cmx_worker_node(struct cmx_worker *worker, int error)
{
	struct rdma_cmx_path *path = &worker->all->paths->paths[worker->i];

	worker->queried = false;
	if (error)
		path->alt_error = error;
	if (worker->stage == CMX_WORKER_PEERS) {
		cmx_worker_peer(worker, path);
	} else if (worker->node_guid) {
		worker->alt_left = CMX_ALT_PORTS;
		worker->alt_port = 0;
		cmx_worker_local(worker, path);
	} else {
		cmx_worker_through(worker, path);
	}
}

static void cmx_worker_first(struct cmx_worker *worker,
			     struct rdma_cmx_path *path,
			     const struct rdma_cmx_result *res)
{
	const struct rdma_cmx_entry *e;

	path->error = cmx_path_error(res);
	if (worker->all->alternate)
		path->alt_error = path->error ?: -ENOENT;
	if (path->error)
		return;
	e = &res->entries[0];
	path->src = e->src;
	path->ibdev_index = e->ibdev_index;
	path->port_num = e->port_num;
	rdma_cmx_entry_path(e, 0, &path->rec[0]);
	if (!worker->all->alternate)
		return;
	if (cmx_path_second(e, path->rec)) {
		path->alt_error = 0;
		path->alt_port_num = path->port_num;
		return;
	}
	worker->alt_left = CMX_ALT_PORTS;
	cmx_worker_other(worker, path);
}

/*
 * True if @rec is another path than the first. If it starts at the same port,
 * it must lead to another port of the peer.
 */
static bool cmx_path_apart(const struct cmx_worker *worker,
			   const struct rdma_cmx_path *path,
			   struct sa_path_rec *rec)
{
	struct sa_path_rec first = path->rec[0];

	if (worker->alt_port == path->port_num)
		return sa_path_get_dlid(rec) != sa_path_get_dlid(&first);
	return sa_path_get_slid(rec) != sa_path_get_slid(&first);
}

static void cmx_worker_alternate(struct cmx_worker *worker,
				 struct rdma_cmx_path *path,
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
		    !cmx_path_apart(worker, path, &rec))
			error = -ENOENT;
	}
	if (!error) {
		path->rec[1] = rec;
		path->alt_error = 0;
		path->alt_port_num = worker->alt_port;
		cmx_worker_through(worker, path);
		return;
	}
	/* -ENOENT means that no other port reaches it. */
	if (error != -ENETUNREACH)
		path->alt_error = error;
	if (worker->stage == CMX_WORKER_PORT)
		cmx_worker_other(worker, path);
	else
		cmx_worker_peer(worker, path);
}

static void cmx_worker_take(struct cmx_worker *worker,
			    struct rdma_cmx_result *res)
{
	struct rdma_cmx_path *path = &worker->all->paths->paths[worker->i];

	if (worker->stage == CMX_WORKER_FIRST)
		cmx_worker_first(worker, path, res);
	else
		cmx_worker_alternate(worker, path, res);
	rdma_cmx_result_put(res);
}

/* Sends the next query. Returns false if it is outstanding. */
static bool cmx_worker_step(struct cmx_worker *worker)
{
	struct rdma_cmx_result *res;
	int ret;

	if (worker->stage == CMX_WORKER_NODE ||
	    worker->stage == CMX_WORKER_PEERS) {
		ret = cmx_peer_start(worker);
		if (!ret)
			return false;
		cmx_worker_node(worker, ret);
		return true;
	}
	res = cmx_worker_query(worker);
	if (res)
		cmx_worker_take(worker, res);
	return res;
}

/* Runs from one query to the next. Returns false if one is outstanding. */
static bool cmx_worker_run(struct cmx_worker *worker)
{
	struct rdma_cmx_result *res = worker->result;

	rdma_cmx_query_put(worker->query);
	worker->query = NULL;
	worker->result = NULL;
	if (worker->queried) {
		if (!cmx_peer_completed(worker))
			return false;
		cmx_worker_node(worker, worker->error);
	}
	if (res)
		cmx_worker_take(worker, res);
	do {
		if (!cmx_prefetch_running(worker->all) ||
		    !cmx_worker_next(worker))
			return true;
		cond_resched();
	} while (cmx_worker_step(worker));
	return false;
}

static void cmx_worker_work(struct work_struct *work)
{
	struct cmx_worker *worker = container_of(to_delayed_work(work),
						 struct cmx_worker, work);
	struct mem_cgroup *old;
	bool end;

	/* The canceller takes over the state of the worker. */
	if (!cmx_prefetch_running(worker->all))
		return;
	old = set_active_memcg(worker->all->memcg);
	end = cmx_worker_run(worker);
	set_active_memcg(old);
	if (end)
		cmx_worker_end(worker);
}

void cmx_worker_init(struct cmx_worker *worker,
		     struct rdma_cmx_paths_query *all)
{
	worker->all = all;
	INIT_DELAYED_WORK(&worker->work, cmx_worker_work);
}

/* No code of the worker runs afterwards. */
void cmx_worker_stop(struct cmx_worker *worker)
{
	cancel_delayed_work_sync(&worker->work);
	if (worker->query) {
		rdma_cmx_query_cancel(worker->query);
		/* The callback of the query may have queued the work item. */
		cancel_delayed_work_sync(&worker->work);
		rdma_cmx_query_put(worker->query);
		worker->query = NULL;
	}
	/* The callback of a query for NodeRecords no longer queues it. */
	cmx_peer_forget(worker);
	rdma_cmx_result_put(worker->result);
	worker->result = NULL;
}
