/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Functions that rdma_ucmx calls on behalf of a user: queries, services, cached
 * paths and connects; and definitions of the CM that it shares with connect/.
 * Drivers call the functions of <rdma/rdma_cmx.h>, on behalf of the kernel.
 */
#ifndef CMX_CALLER_H
#define CMX_CALLER_H

#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/uidgid.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_connect.h>
#include <rdma/rdma_cmx_names.h>
#include <rdma/rdma_cmx_service.h>

#ifdef CMX_HEADERS
/* Ties rdma_ucmx to the rdma_cmx of the same headers, see compat.mk. */
void CMX_HEADERS(void);
#endif

/**
 * struct cmx_caller - on whose behalf a query is sent
 * @uid: user that lookups count for
 * @kernel: a kernel consumer, whose work does not wait for processes
 * @room: memory of the caller for the result, or NULL; rdma_cmx_resolve_for()
 *	only. It returns a small result of a query that does not wait there.
 *	The caller does not put such a result
 * @room_size: size of @room in bytes
 * @names: the caller's result of the name lookup, or NULL; checked
 * @names_len: size of @names in bytes
 * @names_later: rdma_cmx_query_give_names() passes the names
 * @port_later: rdma_cmx_query_give_names() passes the port; the attributes have
 *	has_port and port 0. The kernel looks up a name after that
 * @no_names: the caller has other names than the host. A name that requires a
 *	lookup or is in the cache fails with -ENOKEY; numeric addresses, @names
 *	and @names_later are valid
 * @locked: the caller holds a lock that the removal of a device needs: the start
 *	does not wait for the firmware of a port. It takes one that is not known
 *	to be active as down; rdma_cmx_services_check_ports() before the lock
 *	reads it
 *
 * All other memory that it points to is copied before the call returns.
 */
struct cmx_caller {
	kuid_t uid;
	const struct rdma_cmx_names *names;
	size_t names_len;
	bool names_later;
	bool port_later;
	bool no_names;
	bool locked;
	bool kernel;
	struct rdma_cmx_result *room;
	size_t room_size;
};

/**
 * struct cmx_given - names and port for rdma_cmx_query_give_names()
 * @error: a positive errno with which the query fails, or 0
 * @names: result of the name lookup, for a query with names_later; copied
 * @names_len: size of @names in bytes, else 0
 * @has_port: @port is valid, for a query with port_later
 * @port: port number in host byte order
 * @qp_type: IB_QPT_RC or IB_QPT_UD: the service has @port for this type only;
 *	or 0: for all types of the query
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
 * @attr: as for rdma_cmx_query_start()
 * @caller: on whose behalf
 * @done: as for rdma_cmx_query_start()
 * @context: as for rdma_cmx_query_start()
 * @known: as for rdma_cmx_query_start()
 * @pquery: as for rdma_cmx_query_start()
 *
 * Context: process context, may sleep for memory and locks, and unless @caller
 * is locked for the firmware of ports that are down.
 * Return: as rdma_cmx_query_start(); -EBADMSG: @caller has malformed names.
 */
int rdma_cmx_query_start_for(const struct rdma_cmx_query_attr *attr,
			     const struct cmx_caller *caller,
			     rdma_cmx_done_fn done, void *context,
			     struct rdma_cmx_result **known,
			     struct rdma_cmx_query **pquery);

/**
 * rdma_cmx_services_check_ports - read the ports that a query of a service uses
 * @attr: attributes of the query, with RDMA_CMX_AI_SA; errors are ignored
 *
 * It reads those that are not known to be active.
 *
 * Context: process context, may sleep for the firmware of the devices. The
 * caller holds no lock that others need meanwhile.
 */
void rdma_cmx_services_check_ports(const struct rdma_cmx_query_attr *attr);

/**
 * rdma_cmx_resolve_for - rdma_cmx_resolve() on behalf of @caller
 * @attr: as for rdma_cmx_resolve()
 * @caller: on whose behalf; without names_later and port_later
 *
 * Context: process context, sleeps until the result or the deadline; a signal
 * ends the wait. Before that it may wait, unless @caller is locked, for the
 * firmware of a port that is not known to be active, which may outlast the
 * deadline and a signal.
 * Return: as rdma_cmx_resolve().
 */
struct rdma_cmx_result *
rdma_cmx_resolve_for(const struct rdma_cmx_query_attr *attr,
		     const struct cmx_caller *caller);

/**
 * rdma_cmx_query_give_names - pass the caller's names and port to a query
 * @query: started with names_later, port_later or both
 * @given: an error, or all that @query waits for and nothing else
 *
 * Context: process context, may sleep.
 * Return: 0; -ESRCH: the query does not wait for its caller; -EINVAL: @given is
 * not what the query waits for, or its qp_type contradicts the query; -EBADMSG:
 * the names are malformed; -ENOMEM. After -EINVAL, -EBADMSG and -ENOMEM the
 * query continues to wait.
 */
int rdma_cmx_query_give_names(struct rdma_cmx_query *query,
			      const struct cmx_given *given);

/**
 * rdma_cmx_advertise_for - rdma_cmx_advertise() on behalf of a user
 * @attr: as for rdma_cmx_advertise()
 * @uid: user that the service and its queries count for
 * @event: as for rdma_cmx_advertise()
 * @context: as for rdma_cmx_advertise()
 *
 * The caller has checked that the user has CAP_NET_ADMIN in the user namespace
 * that owns the network namespace. The service is advertised on devices of
 * network namespaces that this user namespace, or a descendant of it, owns. So
 * a container does not advertise on shared devices of the host.
 *
 * Context: process context, may sleep. It does not wait for an SA. It may wait
 * for the firmware of a port that is not known to be active.
 * Return: as rdma_cmx_advertise(); -EAGAIN: the user has services_per_user
 * services, or all users have services_max.
 */
struct rdma_cmx_service *
rdma_cmx_advertise_for(const struct rdma_cmx_service_attr *attr, kuid_t uid,
		       rdma_cmx_service_fn event, void *context);

/**
 * rdma_cmx_get_services_for - rdma_cmx_get_services() on behalf of a user
 * @attr: as for rdma_cmx_get_services()
 * @uid: user that the queries count for
 *
 * For a query for all services the caller has checked that the user has
 * CAP_NET_ADMIN in the user namespace that owns the network namespace. Such a
 * query is sent on devices of network namespaces that this user namespace, or a
 * descendant of it, owns. The records are charged to the caller's cgroup.
 *
 * Context: process context, sleeps until the SAs have responded, or until the
 * deadline; a signal ends the wait. Before that it may wait for the firmware of
 * a port that is not known to be active, which may outlast the deadline and a
 * signal.
 * Return: as rdma_cmx_get_services().
 */
struct rdma_cmx_services *
rdma_cmx_get_services_for(const struct rdma_cmx_services_attr *attr, kuid_t uid);

/**
 * struct cmx_paths_attr - selects cached paths
 * @net: network namespace whose resolutions cached the paths
 * @dgid: destination GID of the paths, or NULL: all
 * @dev: name of the only RDMA device, or NULL: all
 * @dev_port: the only port of @dev, 0: all
 */
struct cmx_paths_attr {
	struct net *net;
	const union ib_gid *dgid;
	const char *dev;
	u32 dev_port;
};

/**
 * typedef cmx_paths_fn - receives some of the paths
 * @paths: the paths; valid during the call
 * @count: number of @paths, at least 1
 * @arg: as given to rdma_cmx_get_paths()
 *
 * Runs without locks and may sleep.
 *
 * Return: 0, or a negative errno that ends the list.
 */
typedef int (*cmx_paths_fn)(const struct rdma_cmx_cached_path *paths,
			    unsigned int count, void *arg);

/**
 * rdma_cmx_get_paths - list cached paths
 * @attr: selects the paths; its dgid is ignored
 * @fn: called with some of the paths at a time
 * @arg: argument of @fn
 *
 * Ports that have left the fabric have no paths. The memory is charged to the
 * caller's cgroup, and does not depend on the number of paths.
 *
 * Context: process context, may sleep; does not wait for an SA.
 * Return: 0; -EINVAL: a port without a device; -ENODEV: there is no such
 * InfiniBand device; -ENXIO: the device has no such port; -EINTR: a fatal
 * signal is pending; -ENOMEM; or an error of @fn.
 */
int rdma_cmx_get_paths(const struct cmx_paths_attr *attr, cmx_paths_fn fn,
		       void *arg);

/**
 * rdma_cmx_drop_paths - drop cached paths
 * @attr: selects the paths
 * @count: out: number of dropped paths, also after an error
 *
 * The response to a query that is outstanding is not cached.
 *
 * Context: process context, may sleep; does not wait for an SA.
 * Return: as rdma_cmx_get_paths().
 */
int rdma_cmx_drop_paths(const struct cmx_paths_attr *attr, u32 *count);

/*
 * The CM retries a REQ at the earliest after this time: response timeout 20,
 * 4.096 us << 20. The lack of a reply before says nothing about the path. A
 * user chooses the deadline, and others use the path.
 */
#define CMX_REQ_RETRY_MS	4295

/* True if a REQ that was sent at @sent, in jiffies, should have a reply */
static inline bool cmx_req_is_silent(unsigned long sent)
{
	return time_after_eq(jiffies, sent + msecs_to_jiffies(CMX_REQ_RETRY_MS));
}

/*
 * True if a REJ with @reason means that the path is invalid: the peer, or
 * another receiver of the REQ, rejects the path. Any other REJ is the peer's,
 * over a path that works, and a user may provoke it.
 */
static inline bool cmx_rej_is_of_path(const struct rdma_cm_id *id, int reason)
{
	if (!rdma_cap_ib_cm(id->device, id->port_num))
		return false;
	return (reason >= IB_CM_REJ_INVALID_GID &&
		reason <= IB_CM_REJ_INVALID_PACKET_RATE) ||
	       reason == IB_CM_REJ_INVALID_MTU ||
	       reason == IB_CM_REJ_INVALID_FLOW_LABEL;
}

/**
 * struct cmx_connect_given - attributes of a connect on behalf of a user
 * @result: the candidates
 * @before: report of an earlier connect to @result: those that failed there
 *	stay as they are, see cmx_candidate_alive(); or NULL
 * @started: start of the first connect to @result
 * @max_wait: how long waits for slots may move the deadline, in jiffies
 * @port_space: port space of the user's id; other candidates are not tried
 * @qp_type: QP type of the user's id; other candidates are not tried
 * @uid: user that route queries count for, and whose work items are scheduled
 *	together
 * @limited: the user gave path records
 * @own_dev: the user gave a device
 * @has_ack_timeout: @ack_timeout is valid
 * @ack_timeout: ACK timeout of the user's id. On RoCE the packet lifetime of
 *	the route, and so the peer's timeout, follow from it
 * @check: returns 0, or the negative errno of a candidate that is not tried;
 *	gets the context of the callback. Or NULL
 * @gfp: of the memory of the connect
 */
struct cmx_connect_given {
	struct rdma_cmx_result *result;
	const struct rdma_cmx_connect_report *before;
	ktime_t started;
	unsigned long max_wait;
	u32 port_space;
	u32 qp_type;
	kuid_t uid;
	bool limited;
	bool own_dev;
	bool has_ack_timeout;
	u8 ack_timeout;
	int (*check)(const struct rdma_cmx_entry *entry, const void *context);
	gfp_t gfp;
};

/* True if a later connect may start it. -ENOBUFS: it had no queue pair. */
static inline bool cmx_candidate_alive(const struct rdma_cmx_candidate *c)
{
	return !c->error || c->error == -ECANCELED ||
	       (c->error == -ENOBUFS && !c->attempts);
}

/**
 * rdma_cmx_connect_check - may a connect on behalf of a user start a candidate?
 * @entry: the candidate
 * @port_space: port space of the user's id
 * @qp_type: QP type of the user's id
 *
 * Context: process context of the user.
 * Return: 0; -ENETUNREACH: no RDMA device reaches it; -EPROTOTYPE: it is of
 * another port space or QP type; -EACCES: the user may not use its source port.
 */
int rdma_cmx_connect_check(const struct rdma_cmx_entry *entry, u32 port_space,
			   u32 qp_type);

/* The step of a candidate for which rdma_cmx_connect_check() returns @error */
static inline enum rdma_cmx_connect_step cmx_candidate_step(int error)
{
	switch (error) {
	case -ENETUNREACH:
		return RDMA_CMX_CONNECT_NO_DEVICE;
	case -EACCES:
		return RDMA_CMX_CONNECT_ADDR;
	default:
		return RDMA_CMX_CONNECT_UNTRIED;
	}
}

/**
 * rdma_cmx_connect_start_for - rdma_cmx_connect_start() on behalf of a user
 * @attr: as for rdma_cmx_connect_start(), with these differences: only net of
 *	its query is used. Its setup returns the number of a queue pair of the
 *	user. The id is handed over when the peer has replied, with
 *	RDMA_CM_EVENT_CONNECT_RESPONSE; the user then sends the RTU. Its
 *	callbacks must not sleep for long
 * @given: see above; the connect takes a reference of the result
 * @done: as for rdma_cmx_connect_start()
 * @context: as for rdma_cmx_connect_start()
 * @pconnector: as for rdma_cmx_connect_start()
 *
 * The memory of the candidates is charged to the caller's cgroup. The work
 * items of all connects of a user run one at a time: a callback that waits for
 * another connect of the same user deadlocks. A callback that takes a lock of
 * the caller waits until the caller releases it.
 *
 * Context: process context, may sleep for memory only.
 * Return: 0, -EINVAL or -ENOMEM.
 */
int rdma_cmx_connect_start_for(const struct rdma_cmx_connect_attr *attr,
			       const struct cmx_connect_given *given,
			       rdma_cmx_connect_fn done, void *context,
			       struct rdma_cmx_connector **pconnector);

/**
 * rdma_cmx_connect_waited - how long candidates have waited for slots
 * @connector: from rdma_cmx_connect_start_for(), which has ended
 *
 * Context: any, does not sleep.
 * Return: the time by which waits have moved the deadline, in jiffies.
 */
unsigned long rdma_cmx_connect_waited(struct rdma_cmx_connector *connector);

/**
 * struct cmx_limits - present values of module parameters that limit users
 * @timeout_ms: query_timeout_max_ms
 * @user_groups: groups_per_user
 * @user_services: services_per_user
 * @services: services_max
 * @user_connects: connect_queue
 * @connect_wait_ms: connect_wait_ms
 * @user_names: names_waiting_per_user
 * @user_sa_queries: sa_waiting_per_user
 * @user_sa_kb: sa_kb_per_user
 * @sa_records: sa_max_records
 */
struct cmx_limits {
	u32 timeout_ms;
	u32 user_groups;
	u32 user_services;
	u32 services;
	u32 user_connects;
	u32 connect_wait_ms;
	u32 user_names;
	u32 user_sa_queries;
	u32 user_sa_kb;
	u32 sa_records;
};

/**
 * rdma_cmx_limits - get the limits of users
 * @limits: out: the present values
 *
 * Context: any, does not sleep.
 */
void rdma_cmx_limits(struct cmx_limits *limits);

#endif /* CMX_CALLER_H */
