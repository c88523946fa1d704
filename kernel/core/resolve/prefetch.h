/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What prefetch.c and prefetch_lane.c share: a call for many paths. */
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

/**
 * struct cmx_lane - one destination after the other
 * @all: the call
 * @work: goes on
 * @query: the query that is outstanding or has ended, or NULL
 * @result: its result, or an ERR_PTR, once it has ended
 * @i: the destination
 * @alt_port: the query is for an alternate path from this port; 0: it is not
 * @alt_left: ports that may be tried still
 * @dev: name of the device of the first path
 */
struct cmx_lane {
	struct rdma_cmx_paths_query *all;
	struct work_struct work;
	struct rdma_cmx_query *query;
	struct rdma_cmx_result *result;
	u32 i;
	u32 alt_port;
	u32 alt_left;
	char dev[IB_DEVICE_NAME_MAX];
};

/**
 * struct rdma_cmx_paths_query - a call
 * @ref: the caller's, and its own until it has ended
 * @lock: see prefetch.c
 * @state: likewise
 * @next: destination that no lane has taken yet
 * @working: lanes that have not ended
 * @expires: deadline, in jiffies
 * @attr: of each query; @attr.net is a reference until it has ended
 * @src: source of @attr
 * @dev: device of @attr
 * @alternate: a second path is wanted
 * @alt_dst: other addresses of the destinations, or NULL
 * @memcg: pays for the queries
 * @paths: what is found
 * @done: the callback
 * @context: for @done
 * @call: runs the callback
 * @caller: the thread that does
 * @idle: it has run, or will not
 * @lane_count: how many
 * @lanes: they
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

/* prefetch.c */
extern struct workqueue_struct *cmx_many_wq;

/* prefetch_lane.c */
void cmx_lane_init(struct cmx_lane *lane, struct rdma_cmx_paths_query *all);
void cmx_lane_stop(struct cmx_lane *lane);
int cmx_many_dev(const struct rdma_cmx_path *path, struct net *net, char *dev,
		 u32 *ports);

#endif /* CMX_PREFETCH_H */
