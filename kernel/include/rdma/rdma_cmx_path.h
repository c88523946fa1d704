/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * In-kernel API of rdma_cmx: path records of many peers.
 *
 * A driver that connects to all nodes of a cluster resolves their paths first,
 * in one call:
 *
 *	struct rdma_cmx_paths_attr attr = {
 *		.net = &init_net,
 *		.dst = addresses,
 *		.count = n,
 *	};
 *	struct rdma_cmx_paths *paths = rdma_cmx_paths_get(&attr);
 *
 * The paths are then in the cache: rdma_cmx_set_cached_path() and
 * rdma_cmx_connect() use them without a query to the subnet administrator (SA).
 */
#ifndef RDMA_CMX_PATH_H
#define RDMA_CMX_PATH_H

#include <rdma/rdma_cmx.h>

struct rdma_cmx_paths_query;

/* Maximum destinations of one call; more would evict each other. */
#define RDMA_CMX_MAX_PATHS	4096

/**
 * struct rdma_cmx_paths_attr - attributes of a query for paths
 * @net: network namespace of routes, neighbours and devices
 * @dev: name of the only RDMA device of the sources, or NULL
 * @dev_port: the only port of @dev, 0: any
 * @src: source address, or NULL. Destinations of another family fail with
 *	-EINVAL
 * @dst: destinations: IP addresses behind IPoIB, with the port number of the
 *	connection; or GIDs (struct sockaddr_ib), with P_Key and service id.
 *	Only an SA with QoS uses port number and service id
 * @alt_dst: @count other addresses of the same peers, at other ports of theirs,
 *	for @alternate; family 0: none. Or NULL
 * @count: number of destinations, 1 to RDMA_CMX_MAX_PATHS
 * @port_space: RDMA_PS_*, 0: RDMA_PS_TCP
 * @tos: type of service, as in struct rdma_cmx_query_attr
 * @alternate: resolve a second path to each destination
 * @refresh: query the SA even if the cache has the paths
 * @timeout_ms: deadline of the whole call in milliseconds, 0: module parameter
 *	query_timeout_ms. The maximum is query_timeout_max_ms, as in struct
 *	rdma_cmx_query_attr
 *
 * All memory that it points to, except @net, is copied.
 */
struct rdma_cmx_paths_attr {
	struct net *net;
	const char *dev;
	u32 dev_port;
	const union rdma_cmx_sockaddr *src;
	const union rdma_cmx_sockaddr *dst;
	const union rdma_cmx_sockaddr *alt_dst;
	u32 count;
	u32 port_space;
	u8 tos;
	bool alternate;
	bool refresh;
	u32 timeout_ms;
};

/**
 * struct rdma_cmx_path - the path to one destination
 * @dst: the destination
 * @src: source address, family 0: none
 * @error: 0: the first @rec is valid; or a negative errno: @error of struct
 *	rdma_cmx_entry, or that of the query; -EOPNOTSUPP also for RoCE and
 *	iWARP, which have no path records; -ETIMEDOUT also after the deadline
 * @ibdev_index: the RDMA device; valid if @error is 0
 * @port_num: its port
 * @alt_error: with @alternate: 0: the second @rec is valid; -ENOENT: the fabric
 *	has no second path; or the negative errno of its query. Without
 *	@alternate it is 0, and the second @rec is zero
 * @alt_port_num: the port that the second @rec starts at
 * @alt_dst: the destination of the second @rec; family 0: it is from the
 *	response to the query of the first @rec
 * @rec: the path, and the alternate path, in the form of rdma_set_ib_path():
 *	PathRecords of the InfiniBand Architecture Specification 1, 15.2.5.16
 *
 * The alternate path is the first of these that exists:
 *
 * - one that the SA reports beside the first, with other LIDs at both ends, if
 *   the ports have several (LMC above 0);
 * - one from another port of the same device, to @alt_dst of the attributes or,
 *   without that, to the same GID;
 * - without @alt_dst, one to another port of the peer, found by NodeRecords of
 *   the SA: from another port of the device, or from the same port. In the last
 *   case only the DLIDs differ, and a failure of that port breaks both.
 *
 * The first of them depends on @tos of the attributes, and the second one if
 * @alt_dst is an IPv4 address. The SA does not report which switches the two
 * paths have in common. A peer with one port requires at least two more
 * queries.
 */
struct rdma_cmx_path {
	union rdma_cmx_sockaddr dst;
	union rdma_cmx_sockaddr src;
	int error;
	u32 ibdev_index;
	u32 port_num;
	int alt_error;
	u32 alt_port_num;
	union rdma_cmx_sockaddr alt_dst;
	struct sa_path_rec rec[2];
};

/**
 * struct rdma_cmx_paths - the paths of one call, read only
 * @ref: reference count
 * @found: number of @paths without an error
 * @count: number of @paths
 * @paths: in the order of the destinations
 */
struct rdma_cmx_paths {
	struct kref ref;
	u32 found;
	u32 count;
	struct rdma_cmx_path paths[];
};

/**
 * typedef rdma_cmx_paths_fn - called when each path is resolved or has failed
 * @query: the call
 * @paths: with a reference for the callee
 * @context: as given to rdma_cmx_paths_start()
 *
 * Runs once, in process context, and may sleep. Does not run after
 * rdma_cmx_paths_cancel() has returned. It may call rdma_cmx_paths_query_put(),
 * start another query, and cancel others whose callback does not wait for this
 * one. A module that may be unloaded keeps its reference and calls
 * rdma_cmx_paths_cancel() before: nothing else waits for the return of the
 * callback.
 */
typedef void (*rdma_cmx_paths_fn)(struct rdma_cmx_paths_query *query,
				  struct rdma_cmx_paths *paths, void *context);

/**
 * rdma_cmx_paths_start - resolve many paths without waiting
 * @attr: the paths
 * @done: called once, from a work item; @pquery is set before
 * @context: argument of @done
 * @pquery: out: the call, with a reference for the caller, dropped by
 *	rdma_cmx_paths_query_put()
 *
 * Few destinations are outstanding at a time, so thousands do not delay other
 * queries of the kernel. A silent peer or SA delays no other destination beyond
 * the deadline. Equal queries share their results, and cached paths are not
 * queried. Each destination completes separately.
 *
 * The call keeps the network namespace until it ends.
 *
 * Context: process context, may sleep for memory and locks only. The work items
 * of the call may wait for the firmware of a port that is not known to be
 * active.
 * Return: 0; or a negative errno without a call of @done. -EINVAL: no network
 * namespace, destination or callback, an invalid count, family of the source,
 * or port without a device; -ENODEV, -ENXIO: there is no such device or port;
 * -EPROTOTYPE: the port space; -EAGAIN: outstanding calls would have more
 * destinations than the module parameter paths_max; -ENOMEM.
 */
int rdma_cmx_paths_start(const struct rdma_cmx_paths_attr *attr,
			 rdma_cmx_paths_fn done, void *context,
			 struct rdma_cmx_paths_query **pquery);

/**
 * rdma_cmx_paths_cancel - cancel a call
 * @query: the call
 *
 * After the return the callback is not running and will not run. Paths that
 * were resolved stay in the cache. Has no effect on a call that has ended.
 * Several threads may call it. From within the callback of @query it returns
 * without waiting.
 *
 * Context: process context, may sleep until running callbacks and work items
 * have returned. It does not wait for an SA. A work item may wait for the
 * firmware of a port that is not known to be active. The caller holds no lock
 * that the callback takes.
 * Return: true if the callback has not run and will not run.
 */
bool rdma_cmx_paths_cancel(struct rdma_cmx_paths_query *query);

/**
 * rdma_cmx_paths_query_put - drop a reference of a call
 * @query: the call, or NULL; this does not cancel it
 *
 * Context: process context, may sleep.
 */
void rdma_cmx_paths_query_put(struct rdma_cmx_paths_query *query);

/**
 * rdma_cmx_paths_get - resolve many paths and wait
 * @attr: the paths
 *
 * Context: process context, sleeps until the end or the deadline; a signal ends
 * the wait. The wait of a work item for the firmware of a port that is not
 * known to be active may outlast both. The caller holds no lock that others
 * need meanwhile.
 * Return: the paths, dropped by rdma_cmx_paths_put(); or an ERR_PTR as from
 * rdma_cmx_paths_start(), -ERESTARTSYS after a signal.
 */
struct rdma_cmx_paths *
rdma_cmx_paths_get(const struct rdma_cmx_paths_attr *attr);

/**
 * rdma_cmx_paths_put - drop a reference of paths
 * @paths: the paths, an ERR_PTR or NULL
 *
 * Context: process context, may sleep.
 */
void rdma_cmx_paths_put(struct rdma_cmx_paths *paths);

/**
 * rdma_cmx_path_invalidate - drop a path that failed from the cache
 * @attr: of the call that has found it; @dst, @alt_dst and @count are ignored
 * @path: the path; it does not change
 *
 * The path and its alternate are dropped: the next query for them is sent to
 * the SA. Paths that an SA with QoS has for other services or types of service
 * stay. For an id see rdma_cmx_drop_cached_path().
 *
 * Context: process context, may sleep. It sends no query. It may wait for the
 * firmware of an InfiniBand port that is not known to be active. The caller
 * holds no lock that others need meanwhile.
 * Return: 0; or the errno of a query with these attributes.
 */
int rdma_cmx_path_invalidate(const struct rdma_cmx_paths_attr *attr,
			     const struct rdma_cmx_path *path);

#endif /* RDMA_CMX_PATH_H */
