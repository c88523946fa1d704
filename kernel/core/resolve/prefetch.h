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

enum cmx_many_state {
	CMX_MANY_RUNNING,
	CMX_MANY_CALLING,
	CMX_MANY_DONE,
	CMX_MANY_CANCELLED,
};

/* Maximum other ports of a peer that are tried from one port */
#define CMX_PEER_PORTS	4

/**
 * enum cmx_lane_stage - the next query of a lane
 * @CMX_LANE_FIRST: the path to a destination
 * @CMX_LANE_PORT: a second path, from another port of the device
 * @CMX_LANE_NODE: the node of the destination
 * @CMX_LANE_PEERS: the ports of that node, in the subnet of a port
 * @CMX_LANE_PEER: a second path, to one of those ports
 */
enum cmx_lane_stage {
	CMX_LANE_FIRST,
	CMX_LANE_PORT,
	CMX_LANE_NODE,
	CMX_LANE_PEERS,
	CMX_LANE_PEER,
};

/**
 * struct cmx_lane - resolves one destination after the other
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
 * @answered: it has completed; until then the lock of the call guards this and
 *	the fields that follow
 * @error: 0 or its negative errno
 * @prefix: GID prefix of the port whose SA is queried
 * @node_guid: the node, or 0
 * @peers: GIDs of the node's other ports
 * @peer_count: number of @peers
 * @peer_next: index of the next one
 */
struct cmx_lane {
	struct rdma_cmx_paths_query *all;
	struct delayed_work work;
	struct rdma_cmx_query *query;
	struct rdma_cmx_result *result;
	u32 i;
	enum cmx_lane_stage stage;
	u32 alt_port;
	u32 alt_left;
	char dev[IB_DEVICE_NAME_MAX];
	struct cmx_sched_waiter waiter;
	bool queried;
	bool answered;
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
 * @next: the next destination for a lane
 * @working: number of lanes that have not ended
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
 * @lane_count: number of @lanes
 * @lanes: the lanes
 */
struct rdma_cmx_paths_query {
	struct kref ref;
	spinlock_t lock;		/* see prefetch.c */
	enum cmx_many_state state;
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
	u32 lane_count;
	struct cmx_lane lanes[];
};

/* prefetch_ref.c */
extern struct workqueue_struct *cmx_many_wq;

/* prefetch_peer.c */
int cmx_peer_start(struct cmx_lane *lane);
bool cmx_peer_answered(struct cmx_lane *lane);
void cmx_peer_forget(struct cmx_lane *lane);

/* prefetch_lane.c */
void cmx_lane_init(struct cmx_lane *lane, struct rdma_cmx_paths_query *all);
void cmx_lane_stop(struct cmx_lane *lane);
int cmx_lane_dev(const struct rdma_cmx_path *path, struct net *net, char *dev,
		 u32 *ports);

#endif /* CMX_PREFETCH_H */
