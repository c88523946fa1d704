/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * In-kernel API of rdma_cmx: address resolution beside rdma_cm. Other headers
 * have the rest:
 *
 *	<rdma/rdma_cmx_connect.h>	connect by name
 *	<rdma/rdma_cmx_path.h>		path records of many peers
 *	<rdma/rdma_cmx_service.h>	services at the subnet administrators
 *	<rdma/rdma_cmx_mcast.h>		multicast memberships
 *
 * A storage initiator that knows its target by name connects to it by
 * rdma_cmx_connect(), or finds its addresses:
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

struct module;
struct net;
struct net_device;
struct rdma_cmx_query;
struct rdma_cmx_watch;

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
 *	another than the initial one need a resolv.conf in /etc/netns on the
 *	host, see cmx-names(8); without, the query ends with -EOPNOTSUPP
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
 * @refresh: names, services and path records are queried although a cache has
 *	them, or knows that they do not exist; what the query finds is cached. A
 *	query for the same that is outstanding already will do
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
	bool refresh;
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
 *	-EAGAIN: the SA is busy, or the user has too many queries, or too much
 *	memory of responses;
 *	-ECONNREFUSED, -EBADMSG: the SA refuses, or its response is malformed;
 *	-EOVERFLOW: it has more records than the parameter sa_max_records;
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
 * @partial: with RDMA_CMX_AI_SA: the SA of a port did not respond, so entries
 *	that only it knows are missing
 * @canonname: canonical name of the node, or NULL
 * @entries: best first: reached by a local RDMA device; reached otherwise;
 *	unreachable
 */
struct rdma_cmx_result {
	struct kref ref;
	u32 count;
	bool partial;
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
 * struct rdma_cmx_watch_attr - attributes of a watch
 * @query: the query, without @id and @route; @refresh is not used
 * @owner: THIS_MODULE of the caller: it stays during a callback, and its
 *	watches are counted
 * @interval_ms: time between two queries in milliseconds, at most a day, 0: 30 s;
 *	at least the module parameter watch_gap_ms. The last quarter beyond it is
 *	random
 */
struct rdma_cmx_watch_attr {
	struct rdma_cmx_query_attr query;
	struct module *owner;
	u32 interval_ms;
};

/**
 * typedef rdma_cmx_watch_fn - called when an answer is known or another one
 * @watch: the watch; rdma_cmx_watch() may not have returned it yet
 * @result: the answer, with a reference for the callee; or an ERR_PTR.
 *	-ENOENT, -ENODATA, -EADDRNOTAVAIL: the name service or the SAs have
 *	answered that there is none. -ENETDOWN: the network namespace is gone;
 *	this is the last callback
 * @context: as given to rdma_cmx_watch()
 *
 * Runs in process context, for a watch one at a time, may sleep, and may call
 * rdma_cmx_watch_refresh(), rdma_cmx_watch_stop() and everything else that
 * process context may. While it runs its watch sends no query. Other watches go
 * on, unless WQ_MAX_ACTIVE callbacks (at least 512) sleep at the same time; a
 * module has no more watches than a quarter of the module parameter watches_max.
 */
typedef void (*rdma_cmx_watch_fn)(struct rdma_cmx_watch *watch,
				  struct rdma_cmx_result *result,
				  void *context);

/**
 * rdma_cmx_watch - report the answer of a query, and each other one
 * @attr: the query, and how often
 * @changed: the callback
 * @context: for @changed
 *
 * The first answer is reported. A later one is if it has another set of
 * destinations (passive: sources) with their ports, service ids and types, or if
 * others of them are reached by an RDMA device. Order, sources, devices, path
 * records, @error of an entry and the canonical name make no difference. A
 * query that fails changes nothing; the next one comes after watch_gap_ms,
 * doubled by each failure in a row, up to sixteen times. Of a partial result
 * only entries that are new count. An entry whose path records did not come in
 * time counts as it was.
 *
 * Queries take what the caches have: a change is reported after the lifetime or
 * lease of the old answer, and one interval, at most. An event of an RDMA device,
 * such as a GID, P_Key, SM or port change, is followed by a query sooner, but not
 * before watch_gap_ms have passed since the last one began.
 *
 * An answer says where to connect, not that a connection is broken: an SA that
 * has been restarted may know no services for some time.
 *
 * The watch has no reference of @attr.query.net; the caller has one for the
 * time of this call.
 *
 * Context: process, may sleep for memory; it waits for no query.
 * Return: the watch, to be ended by rdma_cmx_watch_stop(); or an ERR_PTR, then
 * @changed is not called: the errno of the attributes as from
 * rdma_cmx_query_start(), -EINVAL: @id, @route or the interval; -EAGAIN: there
 * are watches_max watches, or the owner has a quarter of them; -ENOMEM.
 */
struct rdma_cmx_watch *rdma_cmx_watch(const struct rdma_cmx_watch_attr *attr,
				      rdma_cmx_watch_fn changed, void *context);

/**
 * rdma_cmx_watch_refresh - query past the caches
 * @watch: the watch
 *
 * The next query comes as soon as watch_gap_ms allow, and is one with @refresh
 * of struct rdma_cmx_query_attr, and so are those after it until one does not
 * fail. Called again before that, it changes nothing.
 *
 * Context: process; it does not sleep.
 */
void rdma_cmx_watch_refresh(struct rdma_cmx_watch *watch);

/**
 * rdma_cmx_watch_stop - end a watch
 * @watch: the watch; freed. To be called once
 *
 * Its callback is not running and does not run any more once this has returned,
 * unless this is called by that callback, which is then the last. The owner's
 * module is not unloaded before that callback has returned.
 *
 * Context: process, may sleep until a running callback has returned, never for a
 * name server or an SA. Without a lock that the callback takes, and not in the
 * callback of another watch.
 */
void rdma_cmx_watch_stop(struct rdma_cmx_watch *watch);

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
 * @tos: as given to rdma_set_service_type(), which does not report it
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

#endif /* RDMA_CMX_H */
