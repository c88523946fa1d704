/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * In-kernel API of rdma_cmx: address resolution in addition to rdma_cm. Other
 * headers have the rest:
 *
 *	<rdma/rdma_cmx_connect.h>	connect by name
 *	<rdma/rdma_cmx_path.h>		path records of many peers
 *	<rdma/rdma_cmx_service.h>	services at the subnet administrators
 *	<rdma/rdma_cmx_mcast.h>		multicast memberships
 *
 * A storage initiator that has the name of its target connects to it by
 * rdma_cmx_connect(), or resolves its addresses:
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
 * Without waiting, rdma_cmx_query_start() calls a callback.
 *
 * RDMA_CMX_AI_ERRNOS in <rdma/rdma_cmx_ioctl_resolve.h> lists the errnos of a
 * resolution.
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

/* All addresses of the resolver; no larger than sockaddr_ib */
union rdma_cmx_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_ib ib;
};

/**
 * struct rdma_cmx_query_attr - attributes of a query
 * @net: network namespace of routes, zones and names. Names in another than the
 *	initial one require a resolv.conf in /etc/netns on the host, see
 *	cmx-names(8); without it the query fails with -EOPNOTSUPP
 * @node: host name or numeric address, or NULL. For a name
 *	_service._protocol.domain SRV records (RFC 2782) give hosts and, without
 *	@has_port, ports
 * @service: service name of at most 63 bytes, or a service id as a number of
 *	base 0; only with RDMA_CMX_AI_SA, else NULL. The entries have family
 *	AF_IB and port space RDMA_PS_IB, whatever @port_space is
 * @port: port number in host byte order, valid with @has_port
 * @has_port: the caller gives a port. A query with only a port has as result
 *	the loopback address, or the wildcard if passive
 * @flags: RDMA_CMX_AI_*
 * @family: AF_INET, AF_INET6, or 0 for any. AF_IB requires RDMA_CMX_AI_FAMILY,
 *	and is as 0 without it
 * @qp_type: IB_QPT_*, or 0 for any
 * @port_space: RDMA_PS_*, or 0 for any
 * @src: hints.ai_src_addr or NULL; with RDMA_CMX_AI_SA the port to query. As in
 *	rdma_cm, the route uses the interface that has this address
 * @dst: hints.ai_dst_addr or NULL
 * @route: path records that limit the routes, or NULL. A route matches one of
 *	them in each field that is not 0. Without @node and @dst the first one
 *	gives the destination
 * @route_count: number of records, at most RDMA_CMX_MAX_ROUTES
 * @id: with RDMA_CMX_AI_SA the id whose port is queried, or NULL for all ports
 * @dev: name of the only RDMA device of the entries, or NULL for any. Without
 *	@src the source is an address of the device, if its interface is in the
 *	subnet of the destination; with IPv6 on IPoIB, if the routing table
 *	prefers this interface to others of the subnet, too. A passive query
 *	replaces a wildcard address by the device's first address of that
 *	family. -ENODEV: the namespace has no such device; -ENETUNREACH: the
 *	device reaches none of the addresses
 * @dev_port: the only port of @dev, 0: any. -ENXIO: the device has no such port
 * @iface: name of the only netdevice of the entries, such as a VLAN, or NULL
 *	for any. It has the source, and the route of rdma_cm by this source uses
 *	it.
 *	Without @src the source is that of its route, or its first address. A
 *	passive query replaces a wildcard address by its first address of that
 *	family. Entries by GID, and services, are those of its InfiniBand port,
 *	if it is IPoIB. -EINVAL: with @dev; -ENODEV: @net has no such netdevice,
 *	or it is not IPoIB, with RDMA_CMX_AI_SA; -ENXIO: it has no RDMA device;
 *	-ENETUNREACH: no RDMA device reaches any of the addresses from it, or
 *	IPv6 prefers routes by other netdevices
 * @tos: type of service that the caller will set with rdma_set_service_type(),
 *	or 0. It is the QoS class of path queries to IPv4 addresses, as in
 *	rdma_resolve_route(). For IPv6 and AF_IB the flow information of @src
 *	has the traffic class. RoCE has no path records
 * @timeout_ms: deadline of the query in milliseconds, 0: module parameter
 *	query_timeout_ms. The maximum is the module parameter
 *	query_timeout_max_ms; it replaces a later deadline. The result lacks
 *	path records that take longer than the module parameter route_timeout_ms
 * @refresh: query names, services and path records even if the cache has them,
 *	or has a negative entry. The results are cached. An equal query that is
 *	outstanding is shared
 *
 * The call copies all memory that this struct points to, except @net and @id.
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
	const char *iface;
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
 * @src: local address; family 0: none was found
 * @dst: address of the node; family 0 if passive
 * @ibdev_index: RDMA device that reaches @dst; valid if @port_num is not 0
 * @port_num: its port; 0: no RDMA device reaches @dst
 * @gid_index: of the source in the port's GID table, at the time of the query;
 *	-1: none, as on iWARP, or no RDMA device reaches @dst. If a RoCE port
 *	has the GID as both types, it is the index of RoCE v2
 * @gid_type: valid if @gid_index is not -1
 * @error: 0, or the first reason why an RDMA connection to @dst (or a listener
 *	at @src) would fail now. 0 for a wildcard to listen on.
 *	Without @port_num:
 *	-ENODEV: the interface is no RDMA device;
 *	-ENETUNREACH, -EHOSTUNREACH, -EACCES and others: of the routing table.
 *	-ENETUNREACH also for a GID that is in no subnet of a usable port;
 *	-EADDRNOTAVAIL: the source is no address of the namespace;
 *	-EAFNOSUPPORT: the source has another family, or there is no IPv6;
 *	-EACCES: no port of the query is in the partition of the service.
 *	With @port_num, on InfiniBand, if path records are requested and @route
 *	is NULL, and for a GID that is unreachable:
 *	-ENOENT: the SA has no path, or none that matches the requested ones;
 *	-EHOSTUNREACH: the neighbour does not reply;
 *	-EOPNOTSUPP: behind an IP router: only rdma_resolve_addr() finds its GID;
 *	-ETIMEDOUT: the SA does not respond in time;
 *	-EAGAIN: the SA is busy, or the user has too many queries, or too much
 *	memory of responses;
 *	-ECONNREFUSED, -EBADMSG: the SA refuses, or its response is malformed;
 *	-EOVERFLOW: it has more records than the parameter sa_max_records;
 *	-ENODEV: the port is not active
 * @route_count: number of path records in @route
 * @connect_len: length of @connect in bytes
 * @route: path records on InfiniBand, in the order of preference, or NULL
 * @connect: data that precedes the private data of a connect, or NULL: for
 *	AF_IB in an IP port space
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
 *	that only this SA has are missing
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

/**
 * rdma_cmx_for_each_entry - iterate over the entries of a result
 * @e: the entry, a pointer to const struct rdma_cmx_entry
 * @i: index of the entry, u32
 * @res: the result, with a reference of the caller
 */
#define rdma_cmx_for_each_entry(e, i, res)				\
	for ((i) = 0, (e) = (res)->entries; (i) < (res)->count; (i)++, (e)++)

/**
 * typedef rdma_cmx_done_fn - called when a query has completed
 * @query: the query
 * @result: the result with a reference for the callee, or an ERR_PTR
 * @context: as given to rdma_cmx_query_start()
 *
 * Runs once, in process context, and may sleep. Does not run after
 * rdma_cmx_query_cancel() has returned. It may call rdma_cmx_query_put() and
 * start another query. It does not cancel a query whose callback may wait for
 * this one. A module that may be unloaded keeps its reference and calls
 * rdma_cmx_query_cancel() before, also for a query that has called back:
 * nothing else waits for the return of the callback.
 */
typedef void (*rdma_cmx_done_fn)(struct rdma_cmx_query *query,
				 struct rdma_cmx_result *result,
				 void *context);

/**
 * rdma_cmx_query_start - start a query without waiting
 * @attr: the query
 * @done: called once with the result, from a work item. @pquery is set before
 * @context: argument of @done
 * @known: out: the result, if it is known without waiting (numeric addresses,
 *	cached names, services and paths), with a reference for the caller. No
 *	query is started then, and @done is not called. Otherwise NULL. If
 *	@known is NULL, @done receives such a result, too
 * @pquery: out: the query, with a reference for the caller, dropped by
 *	rdma_cmx_query_put(); NULL if @known has the result
 *
 * The callback reports errors of the resolution. Before this returns, only the
 * callback may use *@pquery. The query keeps the network namespace until the
 * callback has returned or, without a callback, until its last reference is
 * dropped.
 *
 * Context: process context, may sleep. It waits for no name server, neighbour
 * or SA. It may wait for the firmware of an InfiniBand port that is not known
 * to be active: with RDMA_CMX_AI_SA, and for the path records of an address
 * that is known at once. @attr.timeout_ms does not limit that wait. The caller
 * holds no lock that others need meanwhile.
 * Return: 0; or a negative errno without a query and a call of @done: an errno
 * of the attributes; -EAGAIN: a limit is reached; -ENODEV: there is no port to
 * query; -ENOMEM.
 */
int rdma_cmx_query_start(const struct rdma_cmx_query_attr *attr,
			 rdma_cmx_done_fn done, void *context,
			 struct rdma_cmx_result **known,
			 struct rdma_cmx_query **pquery);

/**
 * rdma_cmx_query_cancel - cancel a query
 * @query: the query, not NULL
 *
 * After the return the callback is not running and will not run. Has no effect
 * on a completed query. Several threads may call it. A call from within the
 * callback of @query returns without waiting.
 *
 * Context: process context, may sleep until a running callback has returned;
 * does not wait for a name server or an SA. The caller holds no lock that the
 * callback takes.
 * Return: true if the callback has not run and will not run.
 */
bool rdma_cmx_query_cancel(struct rdma_cmx_query *query);

/**
 * rdma_cmx_query_put - drop a reference of a query
 * @query: the query, or NULL; this does not cancel it
 *
 * Context: any that may free memory, also atomic.
 */
void rdma_cmx_query_put(struct rdma_cmx_query *query);

/**
 * rdma_cmx_resolve - run a query and wait for its result
 * @attr: the query
 *
 * Context: process context, sleeps until the result or the deadline; a signal
 * ends the wait. Before that it may wait for the firmware of a port that is not
 * known to be active, which may outlast the deadline and a signal. The caller
 * holds no lock that others need meanwhile.
 * Return: a result, dropped by rdma_cmx_result_put(); or an ERR_PTR: an errno
 * of RDMA_CMX_AI_ERRNOS or of rdma_cmx_query_start(), or -ERESTARTSYS after a
 * signal.
 */
struct rdma_cmx_result *rdma_cmx_resolve(const struct rdma_cmx_query_attr *attr);

/**
 * rdma_cmx_result_put - drop a reference of a result
 * @result: a result, an ERR_PTR or NULL
 *
 * Context: process context, may sleep.
 */
void rdma_cmx_result_put(struct rdma_cmx_result *result);

/**
 * struct rdma_cmx_watch_attr - attributes of a watch
 * @query: the query, without @id and @route; @refresh is ignored
 * @owner: THIS_MODULE of the caller. A callback holds a reference of it, and
 *	its watches are counted
 * @interval_ms: time between two queries in milliseconds, at most a day, 0: 30
 *	s. If it is below the module parameter watch_gap_ms, that applies. A
 *	random time of at most a quarter is added
 */
struct rdma_cmx_watch_attr {
	struct rdma_cmx_query_attr query;
	struct module *owner;
	u32 interval_ms;
};

/**
 * typedef rdma_cmx_watch_fn - called with the first result and each change
 * @watch: the watch; rdma_cmx_watch() may not have returned it yet
 * @result: the result, with a reference for the callee; or an ERR_PTR. -ENOENT,
 *	-ENODATA and, without @src of the query, -EADDRNOTAVAIL: the name
 *	service or the SAs have responded that there is none. With @src,
 *	-EADDRNOTAVAIL is a failed query: the source may be added again.
 *	-ENETDOWN: the network namespace is gone; this is the last callback
 * @context: as given to rdma_cmx_watch()
 *
 * Runs in process context, one at a time for a watch, and may sleep. It may
 * call rdma_cmx_watch_refresh(), rdma_cmx_watch_stop() and all other functions
 * of process context, but does not stop another watch. Its watch sends no query
 * meanwhile. Other watches continue, unless WQ_MAX_ACTIVE callbacks (at least
 * 512) sleep at the same time; the limit of a module is a quarter of the module
 * parameter watches_max.
 */
typedef void (*rdma_cmx_watch_fn)(struct rdma_cmx_watch *watch,
				  struct rdma_cmx_result *result,
				  void *context);

/**
 * rdma_cmx_watch - watch the result of a query
 * @attr: the query and the interval
 * @changed: the callback, not NULL
 * @context: argument of @changed
 *
 * The callback receives the first result. It receives a later result if the set
 * of destinations (passive: sources) has changed, with their ports, service ids
 * and types, or if an RDMA device reaches others of them. Order, sources,
 * devices, path records, @error of an entry and the canonical name are not
 * compared. A query that fails changes nothing. The next one follows after
 * twice watch_gap_ms. Each further failure in a row doubles that, up to sixteen
 * times watch_gap_ms. A random time of at most a quarter is added. Entries that
 * a partial result lacks are no change. An entry whose path records did not
 * arrive in time counts as unchanged.
 *
 * Queries use the caches: a change is reported at the latest after the lifetime
 * or lease of the old result and one interval. After an event of an RDMA
 * device, such as a GID, P_Key, SM or port change, a query follows sooner, but
 * not before watch_gap_ms have passed since the start of the last one.
 *
 * A result is a list of addresses to connect to, not a report of broken
 * connections: an SA may know no services for some time after its restart.
 *
 * The watch has no reference of @attr.query.net; the caller holds one during
 * this call.
 *
 * Context: process context, may sleep for memory; does not wait for a query.
 * Return: the watch, ended by rdma_cmx_watch_stop(). If its callback has
 * stopped it already, the pointer is invalid: such a callback records that
 * under a lock, and the caller takes the lock before it stores the pointer. Or
 * an ERR_PTR, and @changed is not called: an errno of the attributes as from
 * rdma_cmx_query_start(); without the device, port or netdevice of @dev,
 * @dev_port or @iface, however, each query fails, see rdma_cmx_watch_error().
 * -ENODEV: the name @dev or @iface is too long; -EINVAL: @id, @route, the
 * interval, @dev_port without @dev, or @iface with @dev; -EAGAIN: there are
 * watches_max watches, or the owner has a quarter of them; -ENOMEM.
 */
struct rdma_cmx_watch *rdma_cmx_watch(const struct rdma_cmx_watch_attr *attr,
				      rdma_cmx_watch_fn changed, void *context);

/**
 * rdma_cmx_watch_refresh - query without the caches
 * @watch: the watch
 *
 * The next query starts as soon as watch_gap_ms allows. It has @refresh of
 * struct rdma_cmx_query_attr, as do the queries after it until one succeeds.
 * Another call before that has no effect.
 *
 * Context: process context, does not sleep.
 */
void rdma_cmx_watch_refresh(struct rdma_cmx_watch *watch);

/**
 * rdma_cmx_watch_error - get the error of the last query of a watch
 * @watch: the watch
 *
 * The callback does not report a query that fails: it changes nothing.
 *
 * Context: any but interrupts, does not sleep.
 * Return: 0: the last query that has ended has a result; -EINPROGRESS: none has
 * ended; -ENETDOWN: the network namespace is gone; or the errno of the query.
 */
int rdma_cmx_watch_error(struct rdma_cmx_watch *watch);

/**
 * rdma_cmx_watch_stop - end a watch
 * @watch: the watch, an ERR_PTR or NULL; freed. Called once
 *
 * After the return its callback is not running and will not run. If the
 * callback itself calls this, it is the last one. The owner's module is not
 * unloaded before that callback has returned.
 *
 * Context: process context, may sleep until a running callback or the start of
 * a query has returned. It does not wait for a name server or an SA. The start
 * of a query may wait for the firmware of a port that is not known to be
 * active. The caller holds no lock that the callback takes, and is not the
 * callback of another watch.
 */
void rdma_cmx_watch_stop(struct rdma_cmx_watch *watch);

/**
 * rdma_cmx_entry_device - get the RDMA device of an entry
 * @entry: entry of a result
 * @net: namespace of the query; a device that it may not use is ignored
 *
 * The reference keeps the device registered, and its removal waits for it. Drop
 * it with ib_device_put() soon, or on ib_client.remove. If the address of the
 * entry has moved, another device may have it. rdma_get_gid_attr() returns the
 * GID of the entry, by port_num and gid_index.
 *
 * Context: process context, may sleep. The caller may hold the RTNL. Not in
 * ib_client.add, remove and rename.
 * Return: the device, or NULL: the entry has none, @net may not use it, or it
 * was removed.
 */
struct ib_device *rdma_cmx_entry_device(const struct rdma_cmx_entry *entry,
					const struct net *net);

/**
 * rdma_cmx_entry_path - get a path record of an entry
 * @entry: entry of a result
 * @i: index of the record, below route_count; 0 is the preferred one
 * @rec: out: the record, for rdma_set_ib_path() on an id after
 *	RDMA_CM_EVENT_ADDR_RESOLVED with the addresses of @entry. With
 *	rdma_cap_opa_ah(), convert it with sa_convert_path_ib_to_opa() first
 *
 * The record is a PathRecord of the InfiniBand Architecture Specification 1,
 * 15.2.5.16.
 *
 * Context: any, does not sleep. The caller has a reference of the result.
 * Return: 0; -ENOENT: there is no such record, as on RoCE and iWARP. Call
 * rdma_resolve_route() then.
 */
int rdma_cmx_entry_path(const struct rdma_cmx_entry *entry, u32 i,
			struct sa_path_rec *rec);

/**
 * rdma_cmx_netdev_device - get the RDMA device of a netdevice
 * @ndev: netdevice, with a reference of the caller
 *
 * This is the device with a port on @ndev or, if there is none, on a lower
 * netdevice of @ndev: VLAN, macvlan, bridge, bond, team, in any order. Of
 * several it is the one that was registered first; a bond may use another one
 * now. A bridge may have ports without RDMA, too. rdma_cmx_resolve() finds out
 * whether RDMA reaches a peer from an address of @ndev. IPoIB of any partition
 * has the device of its port.
 *
 * The namespace of @ndev may use the device.
 *
 * Context: process context, may sleep. The caller may hold the RTNL, but
 * neither RCU nor a spinlock. Not in ib_client.add, remove and rename.
 * Return: the device, as from rdma_cmx_entry_device(), or NULL: no RDMA device.
 */
struct ib_device *rdma_cmx_netdev_device(struct net_device *ndev);

/**
 * rdma_cmx_set_cached_path - set the path of an id from the cache
 * @id: id after RDMA_CM_EVENT_ADDR_RESOLVED, on an InfiniBand port
 *
 * The cache has the path records of earlier resolutions. After success the
 * state of the id is that after RDMA_CM_EVENT_ROUTE_RESOLVED, without this
 * event: the caller continues. An error changes nothing: call
 * rdma_resolve_route(). An id with a type of service (rdma_set_service_type())
 * may need another path: see rdma_cmx_set_cached_path_tos().
 *
 * Context: process context, also the event handler of @id. May sleep for memory
 * and locks only; it waits for no firmware.
 * Return: 0; -ENOENT: the path is not cached, the id has a path record, or a
 * provider of paths listens (module parameter path_provider); -EOPNOTSUPP: not
 * an InfiniBand port, or an Omni-Path port; -ENODEV: the port is not active, or
 * was removed; or as rdma_set_ib_path().
 */
int rdma_cmx_set_cached_path(struct rdma_cm_id *id);

/**
 * rdma_cmx_set_cached_path_tos - set the path of an id with a type of service
 * @id: as for rdma_cmx_set_cached_path()
 * @tos: as given to rdma_set_service_type(), which rdma_cm does not report
 *
 * Queries with rdma_cmx_query_attr.tos cache such paths. An SA without QoS has
 * one path for all types of service.
 *
 * Context: as rdma_cmx_set_cached_path().
 * Return: as rdma_cmx_set_cached_path().
 */
int rdma_cmx_set_cached_path_tos(struct rdma_cm_id *id, u8 tos);

/**
 * rdma_cmx_drop_cached_path - drop a path that failed from the cache
 * @id: id with a path from the cache
 *
 * The next rdma_cmx_set_cached_path() for the same destination fails, and
 * rdma_resolve_route() of another id queries the SA. Call it when a connect on
 * the path has failed, also from the event handler of @id. The id keeps its
 * path. If the cache has another path than @id by then, it keeps it. Has no
 * effect on an id that is not bound to an InfiniBand port.
 *
 * Context: process context, also the event handler of @id. May sleep; it waits
 * for no firmware and sends no query.
 */
void rdma_cmx_drop_cached_path(struct rdma_cm_id *id);

/**
 * rdma_cmx_drop_cached_path_tos - drop the path of an id with a type of service
 * @id: as for rdma_cmx_drop_cached_path()
 * @tos: as for rdma_cmx_set_cached_path_tos()
 *
 * Context: as rdma_cmx_drop_cached_path().
 */
void rdma_cmx_drop_cached_path_tos(struct rdma_cm_id *id, u8 tos);

#endif /* RDMA_CMX_H */
