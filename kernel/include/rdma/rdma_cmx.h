/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * In-kernel API of rdma_cmx: address resolution and multicast joins beside
 * rdma_cm.
 *
 * A storage initiator that knows its target by name connects to it by
 * rdma_cmx_connect(), below, or finds its addresses:
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
 *		add(&e->src, &e->dst);
 *	rdma_cmx_result_put(res);
 *
 * or, without waiting, by rdma_cmx_query_start() with a callback.
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
#include <rdma/ib_sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cmx_ioctl.h>

struct net;
struct net_device;
struct rdma_cmx_member;
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
 * @net: network namespace whose routes, zones and names count. Names in
 *	another than the initial one need /etc/netns/NAME/resolv.conf on the
 *	host; the query ends with -EOPNOTSUPP where it is missing
 * @node: host name or numeric address, or NULL. For a name
 *	_service._protocol.domain SRV records give hosts and, without
 *	@has_port, ports
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
 * @dev: name of the only RDMA device whose entries count, or NULL: the result
 *	has no others. Without @src the source is one of the device, if its
 *	interface is in the subnet of the destination. Passive, a wildcard
 *	address becomes the device's first address of that family.
 *	-ENODEV: the namespace has no such device; -ENETUNREACH: it reaches none
 *	of the addresses
 * @dev_port: the only port of @dev that counts, 0: any. -ENXIO: the device has
 *	no such port
 * @tos: type of service that the ids will have by rdma_set_service_type(), or 0.
 *	It is the QoS class of path queries to IPv4 addresses, as it is in
 *	rdma_resolve_route(). For IPv6 and AF_IB the flow information of @src has
 *	the traffic class, and RoCE has no path records
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
	const char *dev;
	u32 dev_port;
	u8 tos;
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
 * @gid_index: of the source in the port's GID table, at the time of the query;
 *	-1: none, as on iWARP, or no RDMA device reaches @dst. Of a RoCE port
 *	that has it as both types it is that of RoCE v2
 * @gid_type: valid if @gid_index is not -1
 * @error: 0, or the first reason why an RDMA connection to @dst (or a listener
 *	at @src) would fail now. Without @port_num:
 *	-ENODEV: the interface is no RDMA device;
 *	-ENETUNREACH, -EHOSTUNREACH, -EACCES and others: of the routing table.
 *	-ENETUNREACH for a GID, too, that is in no subnet of a usable port;
 *	-EADDRNOTAVAIL: the source is no address of the namespace;
 *	-EAFNOSUPPORT: the source is of another family, or there is no IPv6;
 *	-EACCES: no port of the query is in the partition of the service.
 *	With @port_num, on InfiniBand, if path records are requested and @route
 *	is NULL, and for a GID that is unreachable:
 *	-ENOENT: the SA has no path, or none that agrees with the requested ones;
 *	-EHOSTUNREACH: the neighbour does not reply;
 *	-EOPNOTSUPP: behind an IP router: only rdma_resolve_addr() finds its GID;
 *	-ETIMEDOUT: the SA does not reply in time;
 *	-EAGAIN: the SA is busy, or the user has too many queries;
 *	-ECONNREFUSED, -EBADMSG: the SA refuses, or its response is malformed;
 *	-ENODEV: the port is not active.
 *	0 for a wildcard to listen on
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
	int gid_index;
	enum ib_gid_type gid_type;
	int error;
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
 * rdma_cmx_entry_device - the RDMA device of an entry
 * @entry: entry of a result
 * @net: namespace of the query; a device that it may not use is none
 *
 * The reference keeps the device registered, and its removal waits for it: give
 * it back with ib_device_put() soon, or on ib_client.remove. The device may not
 * be @entry's any more when its address has moved. rdma_get_gid_attr() has the
 * GID of the entry, by port_num and gid_index.
 *
 * Context: process, may sleep. The caller may hold the RTNL. Not in
 * ib_client.add, remove and rename.
 * Return: the device, or NULL: the entry has none, or it has been removed.
 */
struct ib_device *rdma_cmx_entry_device(const struct rdma_cmx_entry *entry,
					const struct net *net);

/**
 * rdma_cmx_entry_path - a path record of an entry
 * @entry: entry of a result
 * @i: number of the record, below route_count; the first one is to be used first
 * @rec: the record, for rdma_set_ib_path() on an id after
 *	RDMA_CM_EVENT_ADDR_RESOLVED with the addresses of @entry. Where
 *	rdma_cap_opa_ah(), sa_convert_path_ib_to_opa() has to convert it
 *
 * Context: any.
 * Return: 0; -ENOENT: there is no such record, as on RoCE and iWARP. Call
 * rdma_resolve_route() then.
 */
int rdma_cmx_entry_path(const struct rdma_cmx_entry *entry, u32 i,
			struct sa_path_rec *rec);

/**
 * rdma_cmx_netdev_device - the RDMA device of a netdevice
 * @ndev: netdevice, to which the caller has a reference
 *
 * That is the device with a port on @ndev or, if there is none, on a netdevice
 * that @ndev is made of: VLAN, macvlan, bridge, bond, team, in any order. Of
 * several it is the one that was registered first; a bond may use another one
 * now. A bridge may have ports without RDMA, too. Whether RDMA reaches a peer
 * from an address of @ndev is another matter: rdma_cmx_resolve() finds out.
 * IPoIB of any partition has the device of its port.
 *
 * The device is one that the namespace of @ndev may use.
 *
 * Context: process, may sleep. The caller may hold the RTNL, but neither RCU
 * nor a spinlock. Not in ib_client.add, remove and rename.
 * Return: the device, as from rdma_cmx_entry_device(), or NULL: not RDMA.
 */
struct ib_device *rdma_cmx_netdev_device(struct net_device *ndev);

/**
 * rdma_cmx_set_cached_path - give an id a path from the cache
 * @id: id after RDMA_CM_EVENT_ADDR_RESOLVED, on an InfiniBand port
 *
 * The cache has the path records of earlier resolutions. With such a path the
 * id is as after RDMA_CM_EVENT_ROUTE_RESOLVED, which does not come: the caller
 * goes on at once. After an error nothing has changed: call
 * rdma_resolve_route(). An id with a type of service (rdma_set_service_type())
 * may need another path: see rdma_cmx_set_cached_path_tos().
 *
 * Context: process, may sleep.
 * Return: 0; -ENOENT: no such path is known; -EOPNOTSUPP: not an InfiniBand
 * port; -ENODEV: the port is not active; or as rdma_set_ib_path().
 */
int rdma_cmx_set_cached_path(struct rdma_cm_id *id);

/**
 * rdma_cmx_set_cached_path_tos - likewise, for an id with a type of service
 * @id: as for rdma_cmx_set_cached_path()
 * @tos: as given to rdma_set_service_type(), which does not tell others
 *
 * Queries with rdma_cmx_query_attr.tos have left such a path in the cache. An SA
 * without QoS has the same one for all types of service.
 *
 * Context: process, may sleep.
 * Return: as rdma_cmx_set_cached_path().
 */
int rdma_cmx_set_cached_path_tos(struct rdma_cm_id *id, u8 tos);

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
 * rdma_cmx_drop_cached_path_tos - likewise, for an id with a type of service
 * @id: as for rdma_cmx_drop_cached_path()
 * @tos: as for rdma_cmx_set_cached_path_tos()
 *
 * Context: process, may sleep.
 */
void rdma_cmx_drop_cached_path_tos(struct rdma_cm_id *id, u8 tos);

/**
 * struct rdma_cmx_join_attr - a multicast membership
 * @addr: group: IPv4 or IPv6 multicast address, or MGID in a sockaddr_ib
 * @join_flags: RDMA_MC_JOIN_FLAG_FULLMEMBER or _SENDONLY_FULLMEMBER
 * @flags: RDMA_CMX_JOIN_*
 * @param: parameters of the group; a mask of 0 requests none
 * @report_lost: with RDMA_CMX_JOIN_PERSISTENT, report
 *	RDMA_CMX_EVENT_MULTICAST_LOST, too; to this membership only
 */
struct rdma_cmx_join_attr {
	const union rdma_cmx_sockaddr *addr;
	u32 join_flags;
	u32 flags;
	struct rdma_cmx_mc_param param;
	bool report_lost;
};

/*
 * A persistent membership is lost: what is sent to the group may not arrive until
 * RDMA_CM_EVENT_MULTICAST_JOIN reports that it was rejoined. The status says why.
 * rdma_cm has no such event: compare with it before a switch.
 */
#define RDMA_CMX_EVENT_MULTICAST_LOST	((enum rdma_cm_event_type)0x10000)

/**
 * typedef rdma_cmx_member_fn - called when a join ends or a membership is lost
 * @member: the membership; rdma_cmx_join() may not have returned it yet
 * @event: RDMA_CM_EVENT_MULTICAST_JOIN or _ERROR with its status, as from
 *	rdma_join_multicast(), or RDMA_CMX_EVENT_MULTICAST_LOST if requested.
 *	param.ud is valid after a join; its private_data is NULL. Valid during
 *	the call
 * @param: parameters of the group after a join, by its mask, else NULL.
 *	On InfiniBand they are those of the subnet administrator
 * @context: as given to rdma_cmx_join()
 *
 * Another RDMA_CM_EVENT_MULTICAST_JOIN reports that a persistent membership was
 * rejoined; RDMA_CMX_EVENT_MULTICAST_LOST comes before it, once, where it was
 * requested. A membership of a group that is lost at the time gets the group's
 * last join and then that event, before rdma_cmx_join() returns. RDMA_CM_EVENT_MULTICAST_ERROR is the last event: the membership is
 * of no use then, and rdma_cmx_leave() frees it.
 *
 * Runs with the handler lock of the id held, in process context, and may sleep.
 * It must neither join nor leave with the id, nor destroy it.
 */
typedef void (*rdma_cmx_member_fn)(struct rdma_cmx_member *member,
				   struct rdma_cm_event *event,
				   const struct rdma_cmx_mc_param *param,
				   void *context);

/**
 * rdma_cmx_join - join a multicast group
 * @id: UD id that is bound to a device. Its event handler calls
 *	rdma_cmx_group_event(), and it does not use rdma_join_multicast()
 * @attr: the group; copied
 * @event: called with the event of the join, maybe before this returns
 * @context: for @event
 *
 * It does not wait, so many joins can be outstanding. Unlike
 * rdma_join_multicast() it
 *
 * - checks that the address is a multicast one and that the id is bound;
 * - joins IPv6 groups on RoCE v2;
 * - takes an id with a queue pair of rdma_create_qp(). A full member's is
 *   attached to the group before the event, and gets the Q_Key if @attr names
 *   one. Leave before rdma_destroy_qp();
 * - takes parameters of the group;
 * - rejoins a persistent membership when the fabric has dropped it, and moves
 *   the queue pair if the group has another MLID then;
 * - queries whether the subnet administrator has send-only full members, and
 *   fails with -EOPNOTSUPP, by the event, where it has not.
 *
 * The id joins a group once. Its memberships of an address share the group,
 * which the last one leaves. A membership of a group that is joined already
 * gets the event before this returns; of a persistent group that is lost and
 * joined again, the last one. All request the same, with the same queue
 * pair. After RDMA_CM_EVENT_MULTICAST_ERROR a new membership joins anew.
 *
 * On RoCE v2 a full member joins by IGMP or MLD on the netdevice that the id is
 * bound to now, and leaves there. What the current user has of that is limited
 * by the module parameter groups_per_user; a thread of the kernel has no limit.
 *
 * Context: process, may sleep; takes the RTNL on RoCE; not in the event handler
 * of any id. It takes the handler lock of @id, so the caller holds no lock that
 * @event or an event handler takes. Joins and leaves of an id wait for each
 * other.
 * Return: the membership, to be given back with rdma_cmx_leave() or
 * rdma_cmx_leave_all() before rdma_destroy_id(); or an ERR_PTR, then @event is
 * not called. -EINVAL: bad family, join flag, address or parameter, or not
 * bound; -EADDRINUSE: the id has joined the address with another request;
 * -EOPNOTSUPP: a flag or parameter that is not known, or the device cannot do
 * it; -EAFNOSUPPORT: an IPv6 group on RoCE v2 needs an id that is bound to an
 * IPv6 address; -EAGAIN: the user has too many on RoCE v2; -ENODEV: the
 * netdevice is gone or has no IP; -ENOMEM; or as rdma_join_multicast().
 */
struct rdma_cmx_member *
rdma_cmx_join(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
	      rdma_cmx_member_fn event, void *context);

/**
 * struct rdma_cmx_join_one - one join of many
 * @attr: the group, as for rdma_cmx_join()
 * @event: called with each event of the membership, or NULL
 * @context: for @event
 * @member: out: the membership, or NULL if the join failed at once
 * @status: out: 0 if the group was joined, or why not: the errno of
 *	rdma_cmx_join() or the status of the event; -ECANCELED: the membership
 *	was ended before
 */
struct rdma_cmx_join_one {
	struct rdma_cmx_join_attr attr;
	rdma_cmx_member_fn event;
	void *context;
	struct rdma_cmx_member *member;
	int status;
};

/**
 * typedef rdma_cmx_joined_fn - called when all of many joins have ended
 * @joins: as given to rdma_cmx_join_many()
 * @count: how many
 * @context: as given to rdma_cmx_join_many()
 *
 * Runs in process context and may sleep; maybe with the handler lock of the id
 * held, so it must neither join nor leave with the id, nor destroy it.
 */
typedef void (*rdma_cmx_joined_fn)(struct rdma_cmx_join_one *joins, u32 count,
				   void *context);

/**
 * rdma_cmx_join_many - join many multicast groups
 * @id: as for rdma_cmx_join()
 * @joins: the groups, and then the memberships; stays until @done was called.
 *	The addresses are copied
 * @count: how many, not 0
 * @done: called once when each join has ended by its first event or at once;
 *	maybe before this returns
 * @context: for @done
 *
 * As rdma_cmx_join() for each. A join that fails ends no other one. A membership
 * counts as ended when it is left; rdma_cmx_leave_all() thus has called @done
 * when it returns, unless the id was given to rdma_cmx_handler_end().
 *
 * Context: as rdma_cmx_join().
 * Return: 0, and @done is called; -EINVAL: @count is 0; -ENOMEM.
 */
int rdma_cmx_join_many(struct rdma_cm_id *id, struct rdma_cmx_join_one *joins,
		       u32 count, rdma_cmx_joined_fn done, void *context);

/**
 * rdma_cmx_group_event - give an event to the memberships that it is for
 * @id: the id
 * @event: RDMA_CM_EVENT_MULTICAST_JOIN or _ERROR
 *
 * The event handler of an id that rdma_cmx_join() was used on calls this for
 * both events, and returns 0. It calls the rdma_cmx_member_fn of each membership
 * of the group.
 *
 * Context: the event handler of @id.
 */
void rdma_cmx_group_event(struct rdma_cm_id *id, struct rdma_cm_event *event);

/**
 * rdma_cmx_leave - end a membership
 * @member: the membership; freed
 *
 * Its callback is not running and does not run any more once this has returned.
 * The last membership of a group leaves it and detaches the queue pair.
 *
 * Context: process, may sleep; takes the RTNL on RoCE; not in the event handler
 * of any id, and without a lock that one or a callback of rdma_cmx_join_many()
 * takes.
 */
void rdma_cmx_leave(struct rdma_cmx_member *member);

/**
 * rdma_cmx_leave_all - end all memberships of an id
 * @id: the id
 *
 * As rdma_cmx_leave() on each. To be called before rdma_destroy_qp() and
 * rdma_destroy_id(), unless each was left, also where rdma_cm alone would leave
 * a group by itself. On RDMA_CM_EVENT_DEVICE_REMOVAL, too: let a work item do
 * it, and destroy the id there.
 *
 * Context: process, may sleep; takes the RTNL on RoCE; not in the event handler
 * of any id, and without a lock that one takes.
 */
void rdma_cmx_leave_all(struct rdma_cm_id *id);

/**
 * rdma_cmx_handler_end - let an event handler destroy its id
 * @id: the id
 * @ret: what the handler would return; not 0: the id is to be destroyed
 *
 * rdma_cm destroys an id when its handler returns another value than 0. It does
 * not know the memberships of rdma_cmx_join(), which would be left with an id
 * that was freed. A handler of an id that may have some therefore ends with
 *
 *	return rdma_cmx_handler_end(id, ret);
 *
 * With memberships, a work item of rdma_cmx then leaves them all and destroys
 * the id, as after rdma_cmx_leave_all(), and its queue pair of rdma_create_qp(),
 * if any. Whoever frees the CQ and PD of one must know when, and rather does
 * all of this in a work item of its own. From this call on nobody uses the id or
 * a membership, and none of their callbacks is called, nor that of
 * rdma_cmx_join_many(). A join that is running in another thread uses the id: a
 * consumer with such threads returns 0 and destroys the id when they are through.
 *
 * Context: the event handler of @id.
 * Return: what the handler is to return: @ret, or 0 if rdma_cmx destroys @id.
 */
int rdma_cmx_handler_end(struct rdma_cm_id *id, int ret);

/* --- Services at the subnet administrators --- */

struct rdma_cmx_service;

/* The shortest lease, in seconds: time for a renewal and its retries. */
#define RDMA_CMX_MIN_LEASE	4
#define RDMA_CMX_LEASE_FOREVER	0xffffffff

/**
 * struct rdma_cmx_service_attr - a service to advertise
 * @net: network namespace on whose InfiniBand ports it is. A reference is held
 *	until the service has ended: no pernet exit function can be the one that
 *	withdraws it
 * @name: name of 1 to 63 bytes. One that is a number is found by id only: see
 *	rdma_cmx_query_attr.service
 * @id: service id in host byte order, not 0
 * @pkey: P_Key, 0: the first one in the P_Key table of each port
 * @data: the record's service data, as it is on the wire: 16 bytes of data8,
 *	8 numbers of data16, 4 of data32, 2 of data64, all big endian
 * @lease_s: lease in seconds, at least RDMA_CMX_MIN_LEASE; 0: module parameter
 *	service_lease_s; RDMA_CMX_LEASE_FOREVER: without end. Such a record stays
 *	at the SA when this host cannot delete it any more
 * @dev: name of the only RDMA device, or NULL: all, also those that come later
 * @dev_port: its only port, 0: all
 *
 * All that it points to is copied before the call returns.
 */
struct rdma_cmx_service_attr {
	struct net *net;
	const char *name;
	u64 id;
	u16 pkey;
	u8 data[64];
	u32 lease_s;
	const char *dev;
	u32 dev_port;
};

/**
 * enum rdma_cmx_service_event_type - what happened to a service on a port
 * @RDMA_CMX_SERVICE_SET: the SA of the port has the record. Again after each
 *	event of the port, when the record was set again; not at renewals
 * @RDMA_CMX_SERVICE_LOST: the port went down or away. The record is set when it
 *	is back
 * @RDMA_CMX_SERVICE_FAILED: an attempt to set or renew the record failed.
 *	Others follow: after 1 s, later 16 s, or at the next event of the port
 */
enum rdma_cmx_service_event_type {
	RDMA_CMX_SERVICE_SET = 1,
	RDMA_CMX_SERVICE_LOST,
	RDMA_CMX_SERVICE_FAILED,
};

/**
 * struct rdma_cmx_service_event - for a rdma_cmx_service_fn
 * @type: see above
 * @status: 0 or a negative errno. -ETIMEDOUT: the SA does not respond; -EAGAIN:
 *	it is busy, or the user has too many SA queries; -ECONNREFUSED: it
 *	refuses the record; -EBADMSG: its response is malformed; -ENOENT: the
 *	port does not have the P_Key; -EEXIST: another service has the id in this
 *	partition on this port; -ENODEV: the port is not active; -ENOMEM
 * @ibdev_index: RDMA device of the port
 * @port_num: its number
 */
struct rdma_cmx_service_event {
	enum rdma_cmx_service_event_type type;
	int status;
	u32 ibdev_index;
	u32 port_num;
};

/**
 * typedef rdma_cmx_service_fn - called when a service changes on a port
 * @service: the service; rdma_cmx_advertise() may not have returned it yet
 * @event: what happened; valid during the call
 * @context: as given to rdma_cmx_advertise()
 *
 * Calls for a service come one by one, for a port in order, in process context.
 * They may sleep, and call rdma_cmx_service_get_state(), but not
 * rdma_cmx_withdraw().
 */
typedef void (*rdma_cmx_service_fn)(struct rdma_cmx_service *service,
				    const struct rdma_cmx_service_event *event,
				    void *context);

/**
 * struct rdma_cmx_service_state - where a service is
 * @set: ports whose SA has the record, as of the last query and event
 * @waiting: ports that were active and whose SA has not
 * @error: 0 if @set is not 0 and @waiting is; else why the last attempt failed,
 *	0 if none has failed yet, -ENODEV without an active port
 */
struct rdma_cmx_service_state {
	u32 set;
	u32 waiting;
	int error;
};

/**
 * rdma_cmx_advertise - advertise a service at the SAs
 * @attr: the service
 * @event: called when it changes, or NULL
 * @context: for @event
 *
 * A record is set at the SA of each InfiniBand port that @attr names, as soon as
 * the port is active. Its ServiceGID is the port's first GID. The record is
 * renewed before its lease ends, and set again when the port has an event: SM,
 * LID, GID or P_Key change, client reregister, port up. An SA that does not
 * respond or refuses is queried again.
 *
 * Two services of a host with the same id, P_Key and port would be one record,
 * whatever their names, so the second one is refused. Where that shows later,
 * as on a port that is added, the second one waits until the first has ended.
 *
 * Context: process, may sleep; it waits for no SA.
 * Return: the service, to be given back with rdma_cmx_withdraw(); or an ERR_PTR,
 * then @event is not called. -EINVAL: no or an empty name, id 0, an invalid
 * P_Key, or a port without a device; -ENAMETOOLONG; -ERANGE: the lease is too
 * short; -EEXIST: see above; -ENODEV, -ENXIO: @net has no such InfiniBand
 * device, or the device no such port; -EAGAIN: there are services_max services;
 * -ENOMEM.
 */
struct rdma_cmx_service *
rdma_cmx_advertise(const struct rdma_cmx_service_attr *attr,
		   rdma_cmx_service_fn event, void *context);

/**
 * rdma_cmx_withdraw - end a service
 * @service: the service; freed
 *
 * Its callback is not running and does not run any more once this has returned.
 * The records are deleted afterwards, in the background. If an SA does not
 * respond for ten seconds, the record stays until its lease ends.
 *
 * Context: process, may sleep; not in the callback of a service, and without a
 * lock that it takes. It waits for no SA.
 */
void rdma_cmx_withdraw(struct rdma_cmx_service *service);

/**
 * rdma_cmx_service_get_state - where is a service?
 * @service: the service
 * @state: out
 *
 * Context: process, may sleep; it waits for no SA.
 */
void rdma_cmx_service_get_state(struct rdma_cmx_service *service,
				struct rdma_cmx_service_state *state);

/*
 * Connect by name
 */

struct rdma_cmx_connector;

/**
 * enum rdma_cmx_connect_step - how far a candidate has come
 * @RDMA_CMX_CONNECT_NO_DEVICE: no RDMA device reaches it; not tried
 * @RDMA_CMX_CONNECT_UNTRIED: the call ended before it was tried
 * @RDMA_CMX_CONNECT_ADDR: rdma_create_id(), rdma_resolve_addr()
 * @RDMA_CMX_CONNECT_ROUTE: rdma_resolve_route(), or a path of the cache
 * @RDMA_CMX_CONNECT_SETUP: the caller's setup, and the check of what it set
 * @RDMA_CMX_CONNECT_REQUEST: rdma_connect()
 * @RDMA_CMX_CONNECT_UP: it was connected, or routed if there is no setup
 */
enum rdma_cmx_connect_step {
	RDMA_CMX_CONNECT_NO_DEVICE,
	RDMA_CMX_CONNECT_UNTRIED,
	RDMA_CMX_CONNECT_ADDR,
	RDMA_CMX_CONNECT_ROUTE,
	RDMA_CMX_CONNECT_SETUP,
	RDMA_CMX_CONNECT_REQUEST,
	RDMA_CMX_CONNECT_UP,
};

/**
 * struct rdma_cmx_candidate - what became of one entry of the result
 * @src: its source, family 0: none
 * @dst: its destination
 * @ibdev_index: its RDMA device, valid if @port_num is not 0
 * @port_num: port of the device, 0: none
 * @step: how far it came, in its last attempt
 * @error: why it went no further: 0: it is the winner, or untried;
 *	-ENETUNREACH: no RDMA device reaches it; -ECANCELED: it was still under
 *	way when another one won or the call was ended;
 *	-ECONNREFUSED: rejected; -ECONNRESET: disconnected before the handover;
 *	-ENODEV: the device was removed, or the id was bound to another one than
 *	the query's @dev; -EADDRNOTAVAIL: the local address changed; -EMSGSIZE:
 *	more private data than a request has room for; or the errno of rdma_cm
 *	or of the setup
 * @reason: status of RDMA_CM_EVENT_REJECTED, else 0
 * @reason_text: rdma_reject_msg() of it, or NULL
 * @attempts: 2 if a path of the cache had failed
 * @start_ms: when it was first started, since the start of the call
 * @end_ms: when it came up or failed
 * @data_len: bytes of @data
 * @data: private data of the reply, or of a consumer's reject
 */
struct rdma_cmx_candidate {
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	u32 ibdev_index;
	u32 port_num;
	enum rdma_cmx_connect_step step;
	int error;
	int reason;
	const char *reason_text;
	u32 attempts;
	u32 start_ms;
	u32 end_ms;
	u8 data_len;
	u8 data[U8_MAX];
};

/**
 * struct rdma_cmx_connect_report - what became of all candidates, read only
 * @ref: reference count
 * @winner: index of the one that was handed over, or @count
 * @param: of the winner's RDMA_CM_EVENT_ESTABLISHED, if there was a setup;
 *	its private data is that of the candidate
 * @count: number of @candidates
 * @candidates: in the order of the result
 */
struct rdma_cmx_connect_report {
	struct kref ref;
	u32 winner;
	struct rdma_conn_param param;
	u32 count;
	struct rdma_cmx_candidate candidates[];
};

/**
 * struct rdma_cmx_connect_attr - attributes of a connect
 * @query: what to connect to. Without qp_type and port_space it is for
 *	IB_QPT_RC; RDMA_CMX_AI_PASSIVE is invalid. With RDMA_CMX_AI_NOROUTE the
 *	first candidate does not wait until the paths of all are known
 * @handler: event handler of the id that is handed over
 * @id_context: its context
 * @has_tos: @tos counts
 * @tos: for rdma_set_service_type(). Such an id uses no path of the cache
 * @timeout_ms: deadline of the whole call in milliseconds, 0: module parameter
 *	connect_timeout_ms
 * @delay_ms: after this time the next candidate starts beside those that are
 *	under way (RFC 8305, Connection Attempt Delay), 0: 250, at least 10
 * @retry_count: preset of the setup's param
 * @rnr_retry_count: likewise
 * @setup: called for a candidate when its route is resolved. It creates the
 *	queue pair with rdma_create_qp() and fills @param; what private_data
 *	points to stays until teardown or the end of the call. It does not
 *	change the id's event_handler or context. When it returns an errno it
 *	has undone what it did, and the candidate has failed. Several may run
 *	at a time, for different ids; again for a candidate whose path of the
 *	cache did not work, after its teardown. NULL: nothing is connected; the
 *	id that is handed over is bound, addressed and routed
 * @teardown: undoes the setup of a candidate that failed or lost; it calls
 *	rdma_destroy_qp(), and not rdma_destroy_id(). With @setup only
 *
 * All but @handler, @id_context, @setup and @teardown is copied, or in use
 * during the start only. @setup and @teardown run in process context without a
 * lock and may sleep; teardown ends soon, as the end of the call waits for it.
 * Neither starts a synchronous call of this kind.
 */
struct rdma_cmx_connect_attr {
	struct rdma_cmx_query_attr query;
	rdma_cm_event_handler handler;
	void *id_context;
	bool has_tos;
	u8 tos;
	u32 timeout_ms;
	u32 delay_ms;
	u8 retry_count;
	u8 rnr_retry_count;
	int (*setup)(struct rdma_cm_id *id, const struct rdma_cmx_entry *entry,
		     struct rdma_conn_param *param, void *context);
	void (*teardown)(struct rdma_cm_id *id, void *context);
};

/**
 * typedef rdma_cmx_connect_fn - called when a connect has ended
 * @connector: the connect
 * @id: the caller's id, or an ERR_PTR: the errno of the resolution; -ETIMEDOUT:
 *	the deadline; -ENETUNREACH: no RDMA device reaches any candidate;
 *	otherwise the error of the candidate that came furthest
 * @report: with a reference for the callee, or NULL if there was no candidate
 * @context: as given to rdma_cmx_connect_start()
 *
 * Runs once, in process context without a lock, may sleep. It is the last
 * callback: all other candidates are taken down before. It does not run any
 * more once rdma_cmx_connect_cancel() has returned. It may destroy the id, call
 * rdma_cmx_connect_put() and start another connect, but neither wait for one
 * nor cancel another: they need the work queue that it runs on.
 */
typedef void (*rdma_cmx_connect_fn)(struct rdma_cmx_connector *connector,
				    struct rdma_cm_id *id,
				    struct rdma_cmx_connect_report *report,
				    void *context);

/**
 * rdma_cmx_connect_start - resolve and connect without waiting
 * @attr: what to connect to, and how
 * @done: called once with the id, never before @pconnector is set
 * @context: for @done, @attr->setup and @attr->teardown
 * @pconnector: out: the connect, with a reference for the caller, who gives it
 *	back with rdma_cmx_connect_put()
 *
 * The candidates are the entries of the query's result, in their order. The
 * next one starts when one has failed, or has not succeeded in time; no more
 * than eight are under way at a time. The first one that is connected wins. All
 * others are disconnected, if they were connected, and destroyed.
 *
 * A candidate takes its path from the cache if it is there. If a connect on
 * such a path fails other than by a reject of the peer, the path is forgotten,
 * and the candidate is tried once more with rdma_resolve_route(). With
 * attr->query.route the path is the one of the result, which agrees with it,
 * and there is no second attempt.
 *
 * Private data: that of an entry by GID in an IP port space is preceded by the
 * header that the peer expects; the setup does not care.
 *
 * An event of the winner before the handover, such as
 * RDMA_CM_EVENT_DISCONNECTED or _DEVICE_REMOVAL, ends it, and the other
 * candidates go on. After the handover, which is immediately before @done, it
 * goes to the handler of @attr, which may run before @done, but in an id that
 * the setup has seen. Until @done has run the handler returns 0.
 *
 * A device can be removed at any time: its candidates are taken down by then.
 * The connect keeps the network namespace until it ends, and rdma_cmx stays as
 * long as its consumer. The consumer, before it is unloaded, calls
 * rdma_cmx_connect_cancel() for each connect.
 *
 * A name needs a user process, and the ids need memory: neither is for a path
 * that memory reclaim waits for. The addresses of a result that is kept need no
 * user process.
 *
 * Context: process, may sleep for memory and locks only.
 * Return: 0, or why there is no connect; then @done is not called. -EINVAL: no
 * handler, no @done, one of setup and teardown without the other, delay_ms
 * below 10, or a passive query; -EOPNOTSUPP: a setup for other queue pairs than
 * IB_QPT_RC; or as rdma_cmx_query_start(). Only @done, setup and teardown may
 * use *@pconnector before this returns.
 */
int rdma_cmx_connect_start(const struct rdma_cmx_connect_attr *attr,
			   rdma_cmx_connect_fn done, void *context,
			   struct rdma_cmx_connector **pconnector);

/**
 * rdma_cmx_connect_cancel - end a connect
 * @connector: the connect
 *
 * When it returns, all candidates are taken down, and none of the callbacks is
 * running or will run. Harmless on a connect that has ended and from several
 * threads. From within setup, teardown or the callback of @connector it returns
 * at once: then the callback does not start any more, but candidates may still
 * be taken down. Not in the event handler of an id.
 *
 * Context: process, may sleep until running callbacks are through and the
 * candidates are destroyed; never for a name server or an SA. On InfiniBand
 * and RoCE it waits for no peer; rdma_connect() of an iWARP driver may wait for
 * a silent one, about two minutes on siw, and holds up handover and deadline
 * as long. The
 * caller holds no lock that setup, teardown or the callback takes.
 * Return: true if the callback has not run and will not: there is no id.
 */
bool rdma_cmx_connect_cancel(struct rdma_cmx_connector *connector);

/**
 * rdma_cmx_connect_put - give a reference back
 * @connector: the connect, or NULL; it is not cancelled by this
 *
 * Context: process, may sleep.
 */
void rdma_cmx_connect_put(struct rdma_cmx_connector *connector);

/**
 * rdma_cmx_connect - resolve, connect and wait
 * @attr: as for rdma_cmx_connect_start()
 * @context: for setup and teardown
 * @report: out: what became of the candidates, to be given back with
 *	rdma_cmx_connect_report_put(); NULL if there were none, or after a
 *	signal. May be NULL
 *
 * Context: process; sleeps until the end, in a killable wait. Not in the event
 * handler of an id.
 * Return: the caller's id, or an ERR_PTR as for rdma_cmx_connect_fn; -EINTR
 * after a fatal signal.
 */
struct rdma_cm_id *
rdma_cmx_connect(const struct rdma_cmx_connect_attr *attr, void *context,
		 struct rdma_cmx_connect_report **report);

/**
 * rdma_cmx_connect_report_put - give a report back
 * @report: a report or NULL
 *
 * Context: process, may sleep.
 */
void rdma_cmx_connect_report_put(struct rdma_cmx_connect_report *report);

#endif /* RDMA_CMX_H */
