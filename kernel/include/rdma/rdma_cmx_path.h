/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * In-kernel API of rdma_cmx: path records alone, for those who have many peers.
 *
 * A driver that is about to connect to all nodes of a cluster finds their paths
 * first, in one call:
 *
 *	struct rdma_cmx_paths_attr attr = {
 *		.net = &init_net,
 *		.dst = addresses,
 *		.count = n,
 *	};
 *	struct rdma_cmx_paths *paths = rdma_cmx_paths_get(&attr);
 *
 * They are in the cache then: rdma_cmx_set_cached_path() and rdma_cmx_connect()
 * take them without a query of the subnet administrator (SA).
 */
#ifndef RDMA_CMX_PATH_H
#define RDMA_CMX_PATH_H

#include <rdma/rdma_cmx.h>

struct rdma_cmx_paths_query;

/* Destinations of one call; more would push each other out of the cache. */
#define RDMA_CMX_MAX_PATHS	4096

/**
 * struct rdma_cmx_paths_attr - which paths
 * @net: network namespace whose routes, neighbours and devices count
 * @dev: name of the only RDMA device to start from, or NULL
 * @dev_port: its only port, 0: any
 * @src: source address, or NULL. Destinations of another family have -EINVAL
 * @dst: destinations: IP addresses behind IPoIB, with the port that will be
 *	connected to; or GIDs (struct sockaddr_ib), with P_Key and service id. The
 *	port and service id matter to an SA with QoS only
 * @alt_dst: @count other addresses of the same peers, at other ports of theirs,
 *	for @alternate; family 0: none. Or NULL
 * @count: how many, 1 to RDMA_CMX_MAX_PATHS
 * @port_space: RDMA_PS_*, 0: RDMA_PS_TCP
 * @tos: type of service, as in struct rdma_cmx_query_attr
 * @alternate: find a second path to each
 * @refresh: query the SA although the cache has the paths
 * @timeout_ms: deadline of the whole call in milliseconds, 0: module parameter
 *	query_timeout_ms
 *
 * All that it points to but @net is copied.
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
 * @error: 0: the first @rec is valid; or why there is no path: @error of struct
 *	rdma_cmx_entry, or that of the query; -EOPNOTSUPP also for RoCE and
 *	iWARP, which have no path records; -ETIMEDOUT also if the deadline came
 *	first
 * @ibdev_index: the RDMA device; valid if @error is 0
 * @port_num: its port
 * @alt_error: with @alternate: 0: the second @rec is valid; -ENOENT: the fabric
 *	has no second path; or why it was not found
 * @alt_port_num: the port that the second @rec starts at
 * @alt_dst: what the second @rec was queried for; family 0: it is an answer to
 *	the query of the first @rec
 * @rec: the path, and the alternate one, as rdma_set_ib_path() takes them
 *
 * The alternate path is the first of these that there is:
 *
 * - one that the SA knows beside the first, with other LIDs at both ends, if the
 *   ports have several (LMC above 0);
 * - one from another port of the same device, to @alt_dst of the attributes or,
 *   without that, to the same GID;
 * - without @alt_dst, one to another port of the peer, which the SA's NodeRecords
 *   lead to: from another port of the device, or from the same port. Then only
 *   the DLIDs differ, and the two fail together if that port does.
 *
 * All but the first do not depend on @tos of the attributes. Which switches the
 * two have in common, the SA does not say. A peer that has one port costs two
 * queries more.
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
 * typedef rdma_cmx_paths_fn - called when all paths are known, or known not to be
 * @query: the call
 * @paths: with a reference for the callee
 * @context: as given to rdma_cmx_paths_start()
 *
 * Runs once, in process context, may sleep. Does not run any more once
 * rdma_cmx_paths_cancel() has returned. It may call rdma_cmx_paths_query_put(),
 * start another query and cancel others.
 */
typedef void (*rdma_cmx_paths_fn)(struct rdma_cmx_paths_query *query,
				  struct rdma_cmx_paths *paths, void *context);

/**
 * rdma_cmx_paths_start - find many paths without waiting
 * @attr: which ones
 * @done: called once, from a work item, never before @pquery is set
 * @context: for @done
 * @pquery: out: the call, with a reference for the caller, who gives it back
 *	with rdma_cmx_paths_query_put()
 *
 * A few destinations are worked on at a time, so other queries of the kernel do
 * not wait behind thousands; a silent peer or SA holds up none of the others
 * but until the deadline. What equal queries have found meanwhile is shared,
 * and what the cache has is taken from there. Each destination ends by itself.
 *
 * The call keeps the network namespace until it ends.
 *
 * Context: process, may sleep for memory only.
 * Return: 0; -EINVAL: no @net, @dst or @done, or @count; -ENODEV, -ENXIO: the
 * device and port; -EPROTOTYPE: the port space; -EAGAIN: outstanding calls
 * have more destinations than the module parameter paths_max; -ENOMEM; then
 * @done is not called.
 */
int rdma_cmx_paths_start(const struct rdma_cmx_paths_attr *attr,
			 rdma_cmx_paths_fn done, void *context,
			 struct rdma_cmx_paths_query **pquery);

/**
 * rdma_cmx_paths_cancel - make sure that the callback does not run
 * @query: the call
 *
 * When it returns the callback is not running and will not run. What was found
 * so far stays in the cache. Harmless on a call that has ended and from several
 * threads; from within the callback of @query it returns at once.
 *
 * Context: process, may sleep until running callbacks are through; never for an
 * SA.
 * Return: true if the callback has not run and will not.
 */
bool rdma_cmx_paths_cancel(struct rdma_cmx_paths_query *query);

/**
 * rdma_cmx_paths_query_put - give a reference back
 * @query: the call, or NULL; it is not cancelled by this
 *
 * Context: process, may sleep.
 */
void rdma_cmx_paths_query_put(struct rdma_cmx_paths_query *query);

/**
 * rdma_cmx_paths_get - find many paths and wait
 * @attr: which ones
 *
 * Context: process; sleeps until the end or the deadline, in a killable and
 * interruptible wait.
 * Return: the paths, to be given back with rdma_cmx_paths_put(), or an ERR_PTR
 * as from rdma_cmx_paths_start(), -ERESTARTSYS after a signal.
 */
struct rdma_cmx_paths *
rdma_cmx_paths_get(const struct rdma_cmx_paths_attr *attr);

/**
 * rdma_cmx_paths_put - give paths back
 * @paths: the paths, an ERR_PTR or NULL
 *
 * Context: process, may sleep.
 */
void rdma_cmx_paths_put(struct rdma_cmx_paths *paths);

/**
 * rdma_cmx_path_invalidate - forget a path that does not work
 * @attr: of the call that has found it; @dst, @alt_dst and @count do not matter
 * @path: the path; it does not change
 *
 * The cache forgets the path and its alternate: the next query for them is sent
 * to the SA. Those that other services or types of service have at an SA with
 * QoS stay. For an id see rdma_cmx_drop_cached_path().
 *
 * Context: process, may sleep for memory and locks only.
 * Return: 0; or the errno of a query with these attributes.
 */
int rdma_cmx_path_invalidate(const struct rdma_cmx_paths_attr *attr,
			     const struct rdma_cmx_path *path);

#endif /* RDMA_CMX_PATH_H */
