/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * In-kernel API of rdma_cmx: address resolution and multicast joins beside
 * rdma_cm.
 *
 * A storage initiator that knows its target by name does this:
 *
 *	struct rdma_cmx_query_attr attr = {
 *		.net = &init_net,
 *		.node = "storage.example.com",
 *		.port = 4420,
 *		.has_port = true,
 *	};
 *	struct rdma_cmx_result *res;
 *
 *	res = rdma_cmx_resolve(&attr);
 *	if (IS_ERR(res))
 *		return PTR_ERR(res);
 *	rdma_cmx_for_each_entry(e, i, res)
 *		try(&e->src, &e->dst);
 *	rdma_cmx_result_put(res);
 *
 * or, without waiting, rdma_cmx_query_start() with a callback.
 *
 * How a resolution fails is listed at RDMA_CMX_AI_ERRNOS in
 * <rdma/rdma_cmx_ioctl.h>.
 */
#ifndef RDMA_CMX_H
#define RDMA_CMX_H

#include <linux/socket.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/kref.h>
#include <rdma/ib.h>
#include <rdma/ib_user_sa.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cmx_ioctl.h>

struct net;
struct rdma_cmx_query;

/* Every address that the resolver knows; no larger than sockaddr_ib. */
union rdma_cmx_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_ib ib;
};

/* Path records of a caller that limit the routes of a query. */
#define RDMA_CMX_MAX_ROUTES	8

/**
 * struct rdma_cmx_query_attr - attributes of a query
 * @net: network namespace whose routes, zones and names count. Names are
 *	looked up in the initial namespace only (-EOPNOTSUPP elsewhere)
 * @node: host name or numeric address, or NULL
 * @service: service name of at most 63 bytes, or a service id, that is a number
 *	of base 0; only with RDMA_CMX_AI_SA, else NULL. The entries are of
 *	family AF_IB and port space RDMA_PS_IB, whatever @port_space is
 * @port: port number in host byte order, when @has_port
 * @has_port: the caller gave a port. The result of a query with a port only
 *	is the loopback address, or the wildcard if passive
 * @flags: RDMA_CMX_AI_*
 * @family: AF_INET, AF_INET6, AF_IB, or 0 for any
 * @qp_type: IB_QPT_RC, IB_QPT_UD, …, or 0 for any
 * @port_space: RDMA_PS_*, or 0 for any
 * @src: hints.ai_src_addr or NULL; with RDMA_CMX_AI_SA the port to query
 * @dst: hints.ai_dst_addr or NULL
 * @route: path records that limit the routes, or NULL: a route agrees with one
 *	of them in each field that is not 0. Without @node and @dst the first
 *	one names the destination
 * @route_count: how many, at most RDMA_CMX_MAX_ROUTES
 * @id: with RDMA_CMX_AI_SA the id whose port is queried, or NULL for all ports
 * @timeout_ms: deadline of the query in milliseconds, 0: module parameter
 *	query_timeout_ms. Path records that take longer than the module
 *	parameter route_timeout_ms are left out
 *
 * All that it points to is copied before the call returns.
 */
struct rdma_cmx_query_attr {
	struct net *net;
	const char *node;
	const char *service;
	u16 port;
	bool has_port;
	u32 flags;
	sa_family_t family;
	u32 qp_type;
	u32 port_space;
	const union rdma_cmx_sockaddr *src;
	const union rdma_cmx_sockaddr *dst;
	const struct ib_path_rec_data *route;
	u32 route_count;
	struct rdma_cm_id *id;
	u32 timeout_ms;
};

/**
 * struct rdma_cmx_entry - one address of a result
 * @flags: of the query
 * @family: family of @src and @dst
 * @qp_type: IB_QPT_*
 * @port_space: RDMA_PS_*
 * @src: local address; family 0 when none could be found
 * @dst: address of the node; family 0 if passive
 * @ibdev_index: RDMA device that reaches @dst; valid if @port_num is not 0
 * @port_num: its port, 0 when no RDMA device reaches @dst
 * @route_count: path records behind @route
 * @connect_len: bytes behind @connect
 * @route: path records on InfiniBand, the first to be used first, or NULL
 * @connect: data that has to open the private data of a connect, or NULL:
 *	for AF_IB in an IP port space
 */
struct rdma_cmx_entry {
	u32 flags;
	sa_family_t family;
	u32 qp_type;
	u32 port_space;
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	u32 ibdev_index;
	u32 port_num;
	u32 route_count;
	u32 connect_len;
	const struct ib_path_rec_data *route;
	const void *connect;
};

/**
 * struct rdma_cmx_result - result of a query, read only
 * @ref: reference count
 * @count: number of @entries, at least 1
 * @canonname: canonical name of the node, or NULL
 * @entries: best first: reached by a local RDMA device; reached otherwise;
 *	unreachable
 */
struct rdma_cmx_result {
	struct kref ref;
	u32 count;
	const char *canonname;
	struct rdma_cmx_entry entries[];
};

#define rdma_cmx_for_each_entry(e, i, res)				\
	for ((i) = 0, (e) = (res)->entries; (i) < (res)->count; (i)++, (e)++)

/**
 * typedef rdma_cmx_done_fn - called when a query is complete
 * @query: the query
 * @result: the result with a reference for the callee, or an ERR_PTR
 * @context: as given to rdma_cmx_query_start()
 *
 * Runs once, in process context, may sleep. Does not run any more once
 * rdma_cmx_query_cancel() has returned. It may call rdma_cmx_query_put() and
 * start another query.
 */
typedef void (*rdma_cmx_done_fn)(struct rdma_cmx_query *query,
				 struct rdma_cmx_result *result,
				 void *context);

/**
 * rdma_cmx_query_start - start a query without waiting
 * @attr: the query
 * @done: called once with the result, from a work item: never before @pquery
 *	is set, so @done may rely on it
 * @context: for @done
 * @known: out: the result, if it is known at once (numbers, cached names,
 *	services and paths), with a reference for the caller. Then there is no
 *	query, and @done is not called. Otherwise NULL. If @known is NULL, @done
 *	gets such a result, too
 * @pquery: out: the query, with a reference for the caller, who gives it back
 *	with rdma_cmx_query_put(); NULL if @known has the result
 *
 * Context: process, may sleep for memory and locks only.
 * Return: 0, or why there is no query: the errno of its attributes, -EAGAIN at
 * a limit, -ENODEV without a port to query, -ENOMEM; then @done is not called.
 * @done reports other errors of a resolution. Only @done may use *@pquery
 * before this returns.
 */
int rdma_cmx_query_start(const struct rdma_cmx_query_attr *attr,
			 rdma_cmx_done_fn done, void *context,
			 struct rdma_cmx_result **known,
			 struct rdma_cmx_query **pquery);

/**
 * rdma_cmx_query_cancel - make sure that a query's callback does not run
 * @query: the query
 *
 * When it returns the callback is not running and will not run. Harmless on
 * a completed query and from several threads; from within the callback of
 * @query it returns at once.
 *
 * Context: process, may sleep until a running callback is through; never
 * for a name server or an SA.
 * Return: true if the callback has not run and will not.
 */
bool rdma_cmx_query_cancel(struct rdma_cmx_query *query);

/**
 * rdma_cmx_query_put - give a reference back
 * @query: the query; it is not cancelled by this
 *
 * Context: any that may free memory, also atomic.
 */
void rdma_cmx_query_put(struct rdma_cmx_query *query);

/**
 * rdma_cmx_resolve - run a query and wait for its result
 * @attr: the query
 *
 * Context: process; sleeps until the result or the deadline, in a killable
 * and interruptible wait.
 * Return: a result to be given back with rdma_cmx_result_put(), or an
 * ERR_PTR, -ERESTARTSYS after a signal.
 */
struct rdma_cmx_result *rdma_cmx_resolve(const struct rdma_cmx_query_attr *attr);

/**
 * rdma_cmx_result_put - give a result back
 * @result: a result, an ERR_PTR or NULL
 *
 * Context: process, may sleep.
 */
void rdma_cmx_result_put(struct rdma_cmx_result *result);

/**
 * rdma_cmx_set_cached_path - give an id a path from the cache
 * @id: id after RDMA_CM_EVENT_ADDR_RESOLVED, on an InfiniBand port
 *
 * The cache has the path records of earlier resolutions. With such a path the
 * id is as after RDMA_CM_EVENT_ROUTE_RESOLVED, which does not come: the caller
 * goes on at once. After an error nothing has changed: call
 * rdma_resolve_route(). Not for an id with a type of service
 * (rdma_set_service_type()), which may need another path.
 *
 * Context: process, may sleep.
 * Return: 0; -ENOENT: no such path is known; -EOPNOTSUPP: not an InfiniBand
 * port; -ENODEV: the port is not active; or as rdma_set_ib_path().
 */
int rdma_cmx_set_cached_path(struct rdma_cm_id *id);

/**
 * rdma_cmx_drop_cached_path - forget a path that does not work
 * @id: id that has taken its path from the cache
 *
 * The next rdma_cmx_set_cached_path() for the same destination fails, and
 * rdma_resolve_route() queries the SA. To be called when a connect on the path
 * has failed, also from the event handler of @id. The id's own path stays.
 *
 * Context: process, may sleep.
 */
void rdma_cmx_drop_cached_path(struct rdma_cm_id *id);

/**
 * struct rdma_cmx_join_attr - a multicast membership
 * @addr: group: IPv4 or IPv6 multicast address, or MGID in a sockaddr_ib
 * @join_flags: RDMA_MC_JOIN_FLAG_FULLMEMBER or _SENDONLY_FULLMEMBER
 * @flags: RDMA_CMX_JOIN_*
 * @param: parameters of the group; a mask of 0 requests none
 */
struct rdma_cmx_join_attr {
	const union rdma_cmx_sockaddr *addr;
	u32 join_flags;
	u32 flags;
	struct rdma_cmx_mc_param param;
};

/**
 * rdma_cmx_join - join a multicast group
 * @id: UD id that is bound to a device
 * @attr: the group; copied
 * @context: comes back as param.ud.private_data of the event
 *
 * RDMA_CM_EVENT_MULTICAST_JOIN or _ERROR comes to the id's event handler, as
 * from rdma_join_multicast(), maybe before this returns. It does not wait, so
 * many joins can be outstanding. The handler's return value is ignored. Unlike
 * rdma_join_multicast() it
 *
 * - checks that the address is a multicast one and that the id is bound;
 * - joins IPv6 groups on RoCE v2;
 * - takes an id with a queue pair of rdma_create_qp(). A full member's is
 *   attached to the group before the event, and gets the Q_Key if @attr names
 *   one. Leave before rdma_destroy_qp() and before rdma_destroy_id(): see
 *   rdma_cmx_leave_all();
 * - takes parameters of the group, which rdma_cmx_group_param() returns, too;
 * - joins a persistent membership again when the fabric has dropped it, and
 *   moves the queue pair if the group has another MLID then. The handler gets
 *   another RDMA_CM_EVENT_MULTICAST_JOIN.
 * - queries whether the subnet administrator has send-only full members, and
 *   fails with -EOPNOTSUPP, by the event, where it has not.
 *
 * One id may join a group more than once, but on InfiniBand either always
 * plainly, without @flags, parameters and queue pair, or never.
 *
 * On RoCE v2 a full member joins by IGMP or MLD on the netdevice that the id is
 * bound to now, and leaves there. What the current user has of that is limited
 * by the module parameter groups_per_user; a thread of the kernel has no limit.
 *
 * Context: process, may sleep; takes the RTNL on RoCE.
 * Return: 0; -EINVAL: bad family, join flag, address or parameter, or not
 * bound; -EOPNOTSUPP: a flag or parameter that is not known, or the device
 * cannot do it; -EAFNOSUPPORT: an IPv6 group on RoCE v2 needs an id that is
 * bound to an IPv6 address; -EAGAIN: the user has too many on RoCE v2; -ENODEV:
 * the netdevice is gone or has no IP; -ENOMEM; or as rdma_join_multicast().
 */
int rdma_cmx_join(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
		  void *context);

/**
 * rdma_cmx_leave - leave a multicast group
 * @id: the id
 * @addr: the group
 *
 * The newest membership of that address ends; its event does not come any
 * more once this has returned, and a queue pair is attached no more. Nothing
 * ends for an address of another family than AF_INET, AF_INET6 and AF_IB.
 *
 * Context: process, may sleep; not in the id's event handler.
 */
void rdma_cmx_leave(struct rdma_cm_id *id, const union rdma_cmx_sockaddr *addr);

/**
 * rdma_cmx_leave_all - end what rdma_cm does not know of an id
 * @id: the id
 *
 * Ends each membership that rdma_destroy_id() would not end, that is all but
 * plain ones on InfiniBand. To be called before rdma_destroy_qp() and
 * rdma_destroy_id() for an id that rdma_cmx_join() was used on, unless
 * rdma_cmx_leave() was called for each of its joins. On
 * RDMA_CM_EVENT_DEVICE_REMOVAL too: let a work item do it, and destroy the id
 * there.
 *
 * Context: process, may sleep; not in the id's event handler.
 */
void rdma_cmx_leave_all(struct rdma_cm_id *id);

/**
 * rdma_cmx_group_param - get the parameters of a group
 * @id: the id
 * @ud: from an RDMA_CM_EVENT_MULTICAST_JOIN of @id, within its handler
 * @param: out: what is known, as its mask says
 *
 * On InfiniBand they are those of the subnet administrator.
 *
 * Context: any but interrupts.
 */
void rdma_cmx_group_param(struct rdma_cm_id *id, const struct rdma_ud_param *ud,
			  struct rdma_cmx_mc_param *param);

#endif /* RDMA_CMX_H */
