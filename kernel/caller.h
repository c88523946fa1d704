/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queries on behalf of a user, and a limit. rdma_ucmx calls these; a driver calls those of
 * <rdma/rdma_cmx.h>, for the kernel itself.
 */
#ifndef CMX_CALLER_H
#define CMX_CALLER_H

#include <linux/ktime.h>
#include <linux/uidgid.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_connect.h>
#include <rdma/rdma_cmx_names.h>
#include <rdma/rdma_cmx_service.h>

/**
 * struct cmx_caller - on whose behalf a query is made
 * @uid: user whom lookups are counted against
 * @kernel: a kernel consumer, whose work waits for no process
 * @room: memory of the caller for the result, or NULL; rdma_cmx_resolve_for()
 *	only. A small result of a query that does not wait is there, and is not
 *	put
 * @room_size: bytes of @room
 * @names: the caller's own answer for the node, or NULL; checked
 * @names_len: bytes of @names
 * @names_later: the answer comes with rdma_cmx_query_give_names()
 * @port_later: so does the port; the attributes have has_port and port 0. A
 *	name that the kernel looks up is looked up after that
 * @no_names: the host's names are not the caller's. A name that would be
 *	looked up, or is in the cache, is -ENOKEY; numbers, @names and
 *	@names_later are taken
 *
 * All else that it points to is copied before the call returns.
 */
struct cmx_caller {
	kuid_t uid;
	const struct rdma_cmx_names *names;
	size_t names_len;
	bool names_later;
	bool port_later;
	bool no_names;
	bool kernel;
	struct rdma_cmx_result *room;
	size_t room_size;
};

/**
 * struct cmx_given - what rdma_cmx_query_give_names() brings
 * @error: a positive errno: the query fails with it; or 0
 * @names: the answer of a query with names_later; copied
 * @names_len: bytes of @names, else 0
 * @has_port: with the port of a query with port_later
 * @port: port number in host byte order
 * @qp_type: IB_QPT_RC or IB_QPT_UD: the service has @port for this type only.
 *	0: for all that the query leaves open
 */
struct cmx_given {
	int error;
	const struct rdma_cmx_names *names;
	size_t names_len;
	bool has_port;
	u16 port;
	u32 qp_type;
};

/**
 * rdma_cmx_query_start_for - rdma_cmx_query_start() on behalf of @caller
 * @attr: as there
 * @caller: on whose behalf
 * @done: as there
 * @context: as there
 * @known: as there
 * @pquery: as there
 *
 * Return: as there; -EBADMSG for malformed names.
 */
int rdma_cmx_query_start_for(const struct rdma_cmx_query_attr *attr,
			     const struct cmx_caller *caller,
			     rdma_cmx_done_fn done, void *context,
			     struct rdma_cmx_result **known,
			     struct rdma_cmx_query **pquery);

/**
 * rdma_cmx_resolve_for - rdma_cmx_resolve() on behalf of @caller
 * @attr: as there
 * @caller: on whose behalf; without names_later and port_later
 *
 * Return: as there.
 */
struct rdma_cmx_result *
rdma_cmx_resolve_for(const struct rdma_cmx_query_attr *attr,
		     const struct cmx_caller *caller);

/**
 * rdma_cmx_query_give_names - bring what the caller has looked up
 * @query: started with names_later, port_later or both
 * @given: an error, or all that @query waits for and nothing else
 *
 * Context: process, may sleep.
 * Return: 0; -ESRCH when the query does not wait for its caller (any more);
 * -EINVAL when @given is not what it waits for, or @qp_type contradicts it;
 * -EBADMSG for names that are malformed. After the last two the query goes on
 * waiting.
 */
int rdma_cmx_query_give_names(struct rdma_cmx_query *query,
			      const struct cmx_given *given);

/**
 * rdma_cmx_advertise_for - rdma_cmx_advertise() on behalf of a user
 * @attr: as there
 * @uid: user whom the service and its queries are counted for
 * @event: as there
 * @context: as there
 *
 * The caller has checked that the user has CAP_NET_ADMIN in the user namespace
 * that owns the network namespace. The service is on devices of network
 * namespaces that this user namespace or one below it owns, so a container does
 * not advertise on the host's devices, which it may use where they are shared.
 *
 * Return: as there; -EAGAIN: the user has services_per_user services, or all
 * users have services_max.
 */
struct rdma_cmx_service *
rdma_cmx_advertise_for(const struct rdma_cmx_service_attr *attr, kuid_t uid,
		       rdma_cmx_service_fn event, void *context);

/**
 * rdma_cmx_get_services_for - rdma_cmx_get_services() on behalf of a user
 * @attr: as there
 * @uid: user whom the queries are counted for
 *
 * The caller has checked that the user has CAP_NET_ADMIN in the user namespace
 * that owns the network namespace, if the query is for all services. It then
 * goes to devices of network namespaces that this user namespace or one below
 * it owns. The records are charged to the cgroup of the caller.
 *
 * Return: as there.
 */
struct rdma_cmx_services *
rdma_cmx_get_services_for(const struct rdma_cmx_services_attr *attr, kuid_t uid);

/**
 * struct cmx_paths_attr - which cached paths
 * @net: network namespace, whose resolutions have left them
 * @dgid: the only GID that they lead to, or NULL: all
 * @dev: name of the only RDMA device, or NULL: all
 * @dev_port: its only port, 0: all
 */
struct cmx_paths_attr {
	struct net *net;
	const union ib_gid *dgid;
	const char *dev;
	u32 dev_port;
};

/**
 * typedef cmx_paths_fn - takes some of the paths
 * @paths: the paths; valid during the call
 * @count: how many, at least 1
 * @arg: as given to rdma_cmx_get_paths()
 *
 * Called without locks. May sleep.
 *
 * Return: 0, or an error that ends the list.
 */
typedef int (*cmx_paths_fn)(const struct rdma_cmx_cached_path *paths,
			    unsigned int count, void *arg);

/**
 * rdma_cmx_get_paths - list cached paths
 * @attr: which ones; its dgid is not used
 * @fn: called for some of them at a time
 * @arg: for @fn
 *
 * Ports that have left the fabric have none. The memory is charged to the cgroup
 * of the caller, and does not grow with the number of paths.
 *
 * Context: process, may sleep; it waits for no SA.
 * Return: 0; -EINVAL: a port without a device; -ENODEV: there is no such
 * InfiniBand device; -ENXIO: the device has no such port; -EINTR: a fatal signal
 * is pending; -ENOMEM; or an error of @fn.
 */
int rdma_cmx_get_paths(const struct cmx_paths_attr *attr, cmx_paths_fn fn,
		       void *arg);

/**
 * rdma_cmx_drop_paths - drop cached paths
 * @attr: which ones
 * @count: out: how many were dropped, also after an error
 *
 * The response to a query that was sent before is not cached.
 *
 * Context: process, may sleep; it waits for no SA.
 * Return: as rdma_cmx_get_paths().
 */
int rdma_cmx_drop_paths(const struct cmx_paths_attr *attr, u32 *count);

/**
 * struct cmx_connect_given - what a connect on behalf of a user begins with
 * @result: the candidates
 * @before: report of an earlier connect to @result: those that failed there
 *	stay as they are; or NULL
 * @started: when the first connect to @result has started
 * @port_space: of the id that the user has; others take no part
 * @qp_type: likewise
 * @uid: the user, whom the queries of routes are counted for, and by whom the
 *	work is scheduled
 * @limited: the user gave path records
 * @own_dev: the user gave a device
 */
struct cmx_connect_given {
	struct rdma_cmx_result *result;
	const struct rdma_cmx_connect_report *before;
	ktime_t started;
	u32 port_space;
	u32 qp_type;
	kuid_t uid;
	bool limited;
	bool own_dev;
};

/**
 * rdma_cmx_connect_start_for - rdma_cmx_connect_start() on behalf of a user
 * @attr: as there; of its query only net is used. Its setup returns the number
 *	of a queue pair that the user has made, and its id is handed over when
 *	the peer has replied: with RDMA_CM_EVENT_CONNECT_RESPONSE, after which the
 *	user sends the RTU. Its callbacks may not sleep for long
 * @given: as above; the connect takes a reference of the result
 * @done: as there
 * @context: as there
 * @pconnector: as there
 *
 * The memory of the candidates is charged to the cgroup of the caller. One work
 * item of all connects of a user runs at a time: a callback that waits for
 * another connect of the user waits for ever. It does not run before this
 * returns if the caller holds a lock that it takes.
 *
 * Return: 0, -EINVAL or -ENOMEM.
 */
int rdma_cmx_connect_start_for(const struct rdma_cmx_connect_attr *attr,
			       const struct cmx_connect_given *given,
			       rdma_cmx_connect_fn done, void *context,
			       struct rdma_cmx_connector **pconnector);

/**
 * rdma_cmx_connect_stop - let a connect end
 * @connector: from rdma_cmx_connect_start_for()
 *
 * rdma_cmx_connect_cancel() is to follow, and waits. Whoever ends many connects
 * stops all of them first: what others go on with would keep each one waiting.
 * The callback is not called unless it has begun.
 *
 * Context: any that may take a spinlock; it does not sleep.
 */
void rdma_cmx_connect_stop(struct rdma_cmx_connector *connector);

/**
 * rdma_cmx_max_user_groups - how many groups may a user be a member of?
 *
 * Return: the present value of the module parameter groups_per_user.
 */
unsigned int rdma_cmx_max_user_groups(void);

#endif /* CMX_CALLER_H */
