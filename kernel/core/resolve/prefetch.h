/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations that the files of a call for many paths share */
#ifndef CMX_PREFETCH_H
#define CMX_PREFETCH_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cmx_path.h>

#include "resolve/resolve.h"

enum cmx_prefetch_state {
	CMX_PREFETCH_RUNNING,
	CMX_PREFETCH_CALLING,
	CMX_PREFETCH_DONE,
	CMX_PREFETCH_CANCELLED,
};

/* Maximum other ports of a peer that are tried from one port */
#define CMX_PEER_PORTS	4

/**
 * enum cmx_worker_stage - the next query of a worker
 * @CMX_WORKER_FIRST: the path to a destination
 * @CMX_WORKER_PORT: a second path, from another port of the device
 * @CMX_WORKER_NODE: the node of the destination
 * @CMX_WORKER_PEERS: the ports of that node, in the subnet of a port
 * @CMX_WORKER_PEER: a second path, to one of those ports
 */
enum cmx_worker_stage {
	CMX_WORKER_FIRST,
	CMX_WORKER_PORT,
	CMX_WORKER_NODE,
	CMX_WORKER_PEERS,
	CMX_WORKER_PEER,
};

/**
 * struct cmx_worker - resolves one destination after the other
 * @all: the call
 * @work: the next step, or the timer of a query for NodeRecords
 * @query: the last query, or NULL
 * @result: its result, or an ERR_PTR, once it has completed
 * @i: the destination
 * @stage: see above
 * @alt_port: source port of the device for a second path
 * @alt_left: number of other ports of the device to try
 * @dev: name of the device of the first path
 * @waiter: waiter of a query for NodeRecords
 * @queried: such a query is outstanding, or has completed
 * @completed: it has completed; until then the lock of the call guards this and
 *	the fields that follow
 * @error: 0 or its negative errno
 * @prefix: GID prefix of the port whose SA is queried
 * @node_guid: the node, or 0
 * @peers: GIDs of the node's other ports
 * @peer_count: number of @peers
 * @peer_next: index of the next one
 */
struct cmx_worker {
	struct rdma_cmx_paths_query *all;
	struct delayed_work work;
	struct rdma_cmx_query *query;
	struct rdma_cmx_result *result;
	u32 i;
	enum cmx_worker_stage stage;
	u32 alt_port;
	u32 alt_left;
	char dev[IB_DEVICE_NAME_MAX];
	struct cmx_sched_waiter waiter;
	bool queried;
	bool completed;
	int error;
	__be64 prefix;
	__be64 node_guid;
	union ib_gid peers[CMX_PEER_PORTS];
	u32 peer_count;
	u32 peer_next;
};

/**
 * struct rdma_cmx_paths_query - a call
 * @ref: the caller's, and one until the call has ended
 * @lock: see prefetch.c
 * @state: likewise
 * @next: the next destination for a worker
 * @working: number of workers that have not ended
 * @expires: deadline, in jiffies
 * @attr: attributes of each query; @attr.net has a reference until the end
 * @src: source of @attr
 * @dev: device of @attr
 * @alternate: second paths are requested
 * @alt_dst: other addresses of the destinations, or NULL
 * @memcg: charged for the queries
 * @paths: the result
 * @done: the callback
 * @context: argument of @done
 * @call: runs the callback
 * @caller: the thread that runs the callback
 * @idle: completed when the callback has run or will not run
 * @worker_count: number of @workers
 * @workers: the workers
 */
struct rdma_cmx_paths_query {
	struct kref ref;
	spinlock_t lock;		/* see prefetch.c */
	enum cmx_prefetch_state state;
	u32 next;
	u32 working;
	unsigned long expires;
	struct rdma_cmx_query_attr attr;
	union rdma_cmx_sockaddr src;
	char dev[IB_DEVICE_NAME_MAX];
	bool alternate;
	union rdma_cmx_sockaddr *alt_dst;
	struct mem_cgroup *memcg;
	struct rdma_cmx_paths *paths;
	rdma_cmx_paths_fn done;
	void *context;
	struct work_struct call;
	struct task_struct *caller;
	struct completion idle;
	u32 worker_count;
	struct cmx_worker workers[];
};

/* prefetch_ref.c */
extern struct workqueue_struct *cmx_prefetch_wq;

/* prefetch_peer.c */
int cmx_peer_start(struct cmx_worker *worker);
bool cmx_peer_completed(struct cmx_worker *worker);
void cmx_peer_forget(struct cmx_worker *worker);

/* prefetch_worker.c */
void cmx_worker_init(struct cmx_worker *worker,
		     struct rdma_cmx_paths_query *all);
void cmx_worker_stop(struct cmx_worker *worker);
int cmx_worker_dev(const struct rdma_cmx_path *path, struct net *net, char *dev,
		   u32 *ports);

#endif /* CMX_PREFETCH_H */
