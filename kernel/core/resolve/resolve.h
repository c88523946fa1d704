/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queries. A file uses those below it:
 *
 *	watch.c		repeats queries, to report changed results,
 *	watch_set.c	and compares results
 *	prefetch.c	path records of many destinations,
 *	prefetch_worker.c  the queries for them,
 *	prefetch_peer.c	and for the ports of a peer
 *	prefetch_ref.c	references of such a call
 *	records.c	all ServiceRecords of the SAs
 *	route.c		the route query of an id of rdma_cm, and its device's
 *			removal
 *	route_query.c	that route from the cache or the SA
 *	cached_path.c	uses a cached path record for an id of rdma_cm, and
 *			drops it
 *	entry.c		device and path records of an entry, for drivers
 *
 *	resolve.c	the entry points. A request whose result is known ends
 *			there, on the stack
 *	run.c		otherwise, the work of a query: waits, continues, calls
 *			back
 *	query.c		its state, references and cancel
 *	request.c	takes a request from its hints to its result
 *	result.c	the sorted result
 *	paths.c		path records of an InfiniBand port
 *	neigh.c		neighbours whose GID a path requires
 *	path_query.c	the SA query for a path
 *	services.c	with RAI_SA, the services of the SAs
 *	numeric.c	a node that is a number; names/ has the others
 *	hints.c		validates the attributes
 *	dest.c		annotates the addresses: source by the routing table
 *	source.c	netdevice and interface of a source
 *	candidates.c	the addresses
 *	neigh_warm.c	starts discovery of the neighbour of a name's address
 *	rail.c		interfaces of the device of the hints
 *	device.c	RDMA device of a source
 *	device_index.c	caches searches for it
 *
 * paths.c gives neigh.c a callback, and run.c gives one to paths.c and
 * services.c. Some files have a header as well: request.h, paths.h (with neigh.c
 * and path_query.c), query.h (with run.c), prefetch.h and device_index.h.
 */
#ifndef CMX_RESOLVE_H
#define CMX_RESOLVE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "core.h"
#include "names/names.h"
#include "sa/requests.h"
#include "users.h"

struct dst_entry;
struct net_device;
struct cmx_paths;
struct cmx_sa_service_rec;
struct sa_path_rec;

#define CMX_AI_FLAGS							\
	(RDMA_CMX_AI_PASSIVE | RDMA_CMX_AI_NUMERICHOST |		\
	 RDMA_CMX_AI_NOROUTE | RDMA_CMX_AI_FAMILY | RDMA_CMX_AI_SA |	\
	 RDMA_CMX_AI_DNS)

/**
 * struct cmx_hints - checked attributes of a query, without its name
 * @net: of the caller; the owner of the hints has a reference
 * @uid: user that SA queries and responses count for; cmx_request_parse() sets it
 * @flags: RDMA_CMX_AI_*
 * @family: AF_INET, AF_INET6; AF_IB only with RAI_FAMILY; 0: any
 * @qp_type: of the caller, or implied by @port_space; 0: RC and then UD
 * @port_space: of the caller, or implied by @qp_type
 * @port: port number, 0 if none
 * @has_port: a port was given, or will be given
 * @any_type: neither @qp_type nor @port_space of the caller selects a type
 * @src: requested source, family 0: any
 * @dst: hints.ai_dst_addr, family 0: none
 * @limits: path records that paths have to match, or NULL
 * @limit_count: number of @limits
 * @by_dev: only one device is used; cmx_rail_hint() sets this, @dev_*, @ifindex
 * @dev_index: that device
 * @dev_port: its only port, 0: any
 * @ifindex: the only netdevice, 0: any
 * @tos: type of service
 * @refresh: do not use the caches
 * @warm: start discovery of neighbours; cmx_request_parse() sets it
 * @locked: the caller waits for no firmware, see struct cmx_caller; likewise. It
 *	is clear once the caller has returned
 * @brief: in a job, which delays others: it waits for the firmware of a port
 *	for a short time only
 */
struct cmx_hints {
	struct net *net;
	kuid_t uid;
	u32 flags;
	sa_family_t family;
	u32 qp_type;
	u32 port_space;
	u16 port;
	bool has_port;
	bool any_type;
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	const struct ib_path_rec_data *limits;
	u32 limit_count;
	bool by_dev;
	u32 dev_index;
	u32 dev_port;
	int ifindex;
	u8 tos;
	bool refresh;
	bool warm;
	bool locked;
	bool brief;
};

/* Maximum limits of paths; each one is an SA query. */
#define CMX_MAX_LIMITS	RDMA_CMX_MAX_ROUTES

static inline bool cmx_passive(const struct cmx_hints *h)
{
	return h->flags & RDMA_CMX_AI_PASSIVE;
}

/* True if an entry may be of this device and port */
static inline bool cmx_hints_take(const struct cmx_hints *h, u32 index,
				  u32 port)
{
	return !h->by_dev || (index == h->dev_index &&
			      (!h->dev_port || port == h->dev_port));
}

/* True if a port is active. Waits for its firmware only if the caller may. */
static inline bool cmx_hints_check_port(const struct cmx_hints *h,
					struct cmx_sa_port *port)
{
	if (h->locked)
		return cmx_sa_port_is_active(port);
	return h->brief ? cmx_sa_port_check_timeout(port) :
			  cmx_sa_port_check(port);
}

/* hints.c */
int cmx_hints_init(struct cmx_hints *h, const struct rdma_cmx_query_attr *attr);
bool cmx_hints_may_narrow(const struct cmx_hints *h, u32 qp_type);
void cmx_hints_set_port(struct cmx_hints *h, u16 port, u32 qp_type);

/* numeric.c */
int cmx_numeric_parse(const struct cmx_hints *h, const char *node,
		      union rdma_cmx_sockaddr *addr);

/**
 * struct cmx_service - a service of an SA, and the port of the query
 * @id: service id
 * @gid: port that offers it
 * @sgid: local port
 * @pkey: its partition
 * @ibdev_index: local device
 * @port_num: port of the local device
 * @reached: the local port is a member of @pkey
 */
struct cmx_service {
	__be64 id;
	union ib_gid gid;
	union ib_gid sgid;
	__be16 pkey;
	u32 ibdev_index;
	u32 port_num;
	bool reached;
};

/**
 * struct cmx_candidates - addresses for a result
 * @count: number of addresses
 * @own_sid: the addresses have service ids that a port does not change
 * @names: contains the addresses, or NULL
 * @services: contains the addresses, or NULL
 * @fixed: the addresses if both are NULL
 * @canonname: canonical name or NULL; not terminated
 * @canon_len: its length
 */
struct cmx_candidates {
	u32 count;
	bool own_sid;
	const struct rdma_cmx_names *names;
	const struct cmx_service *services;
	union rdma_cmx_sockaddr fixed[2];
	const char *canonname;
	u32 canon_len;
};

/* candidates.c */
int cmx_candidates_local(const struct cmx_hints *h,
			 struct cmx_candidates *cands);
int cmx_candidates_names(const struct cmx_hints *h,
			 const struct rdma_cmx_names *names,
			 struct cmx_candidates *cands);
void cmx_candidates_set_port(const struct cmx_hints *h,
			     struct cmx_candidates *cands);
bool cmx_candidates_get(const struct cmx_hints *h,
			const struct cmx_candidates *cands, u32 i,
			union rdma_cmx_sockaddr *addr);

enum cmx_rank {
	CMX_RANK_RDMA,		/* a local RDMA device reaches it */
	CMX_RANK_REACHED,	/* the routing table reaches it */
	CMX_RANK_UNREACHED,
	CMX_RANK_COUNT,
	CMX_RANK_DROPPED = CMX_RANK_COUNT,	/* not in the result */
};

/* State of the GID of a destination on InfiniBand */
enum cmx_dgid {
	CMX_DGID_NONE,		/* no GID: there is no path */
	CMX_DGID_UNRESOLVED,	/* ARP or neighbour discovery resolves it */
	CMX_DGID_SELF,		/* the local port */
	CMX_DGID_KNOWN,
};

/**
 * struct cmx_dest - a destination, with its source, device and route
 * @src: local address, family 0: none
 * @dst: address of the node, family 0: none
 * @rank: how well it is reached
 * @error: 0, or the reason why no RDMA device reaches it
 * @ifindex: interface of the route; 0: there is none, or it is a local one
 * @ibdev_index: device, valid if @port_num is not 0
 * @port_num: port of the device, 0: none
 * @gid_index: of @src in the GID table of the port, -1: none
 * @gid_type: type of that GID
 * @ib: the port has an SA with path records; the fields below are valid
 * @dgid_state: state of @dgid
 * @own_sid: the service id of @dst does not contain a port number
 * @pkey: partition
 * @sgid: GID of the port
 * @dgid: GID of @dst
 */
struct cmx_dest {
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	enum cmx_rank rank;
	int error;
	int ifindex;
	u32 ibdev_index;
	u32 port_num;
	int gid_index;
	enum ib_gid_type gid_type;
	bool ib;
	bool own_sid;
	u8 dgid_state;
	__be16 pkey;
	union ib_gid sgid;
	union ib_gid dgid;
};

/**
 * struct cmx_entry_type - type of an entry
 * @qp_type: IB_QPT_*
 * @port_space: RDMA_PS_*
 */
struct cmx_entry_type {
	u32 qp_type;
	u32 port_space;
};

/* Entries of one address: RC and UD, if the hints select neither */
#define CMX_ENTRY_TYPES	2

static inline u32 cmx_entry_types(const struct cmx_hints *h,
				  struct cmx_entry_type *types)
{
	types[0].qp_type = h->qp_type;
	types[0].port_space = h->port_space;
	if (h->qp_type)
		return 1;
	types[0].qp_type = IB_QPT_RC;
	types[0].port_space = RDMA_PS_TCP;
	types[1].qp_type = IB_QPT_UD;
	types[1].port_space = RDMA_PS_UDP;
	return 2;
}

/* dest.c */
bool cmx_dest_taken(const struct cmx_hints *h, const struct cmx_dest *dest);
int cmx_dest_annotate(const struct cmx_hints *h, struct cmx_dest *dest);
int cmx_dests_fill(const struct cmx_hints *h,
		   const struct cmx_candidates *cands, struct cmx_dest *dests,
		   bool killable);

/* source.c */
struct net_device *cmx_source_ndev(struct net *net,
				   const union rdma_cmx_sockaddr *addr);
int cmx_source_ifindex(struct net *net, const union rdma_cmx_sockaddr *addr);
int cmx_source_choose(struct net *net, const union rdma_cmx_sockaddr *dst,
		      int oif, union rdma_cmx_sockaddr *src);

/* rail.c */
int cmx_iface_index(struct net *net, const char *name);
int cmx_rail_hint(struct cmx_hints *h, const struct rdma_cmx_query_attr *attr);
bool cmx_rail_first(struct net *net, int ifindex, union rdma_cmx_sockaddr *addr);
bool cmx_rail_addr(const struct cmx_hints *h, union rdma_cmx_sockaddr *addr);
int cmx_rail_ifindex(const struct cmx_hints *h,
		     const union rdma_cmx_sockaddr *dst);

/* device.c */
bool cmx_port_gid_get(struct ib_device *ibdev, u32 port, int index,
		      const struct net *net, union ib_gid *gid,
		      struct net_device **at);
bool cmx_device_hinted(const struct cmx_hints *h,
		       bool (*fn)(struct ib_device *ibdev, u32 port, void *arg),
		       void *arg);
bool cmx_device_find(struct net *net, const union ib_gid *ip_gid,
		     struct net_device *ndev, struct cmx_dest *dest);
bool cmx_device_find_ib(const struct cmx_hints *h, struct cmx_dest *dest);
int cmx_device_hint(struct cmx_hints *h, const struct rdma_cmx_query_attr *attr);
struct ib_device *cmx_device_first(const struct net *net,
				   bool (*fn)(struct ib_device *ibdev, void *arg),
				   void *arg);
struct cmx_ibdev *cmx_device_hold(const struct ib_device *ibdev);
void cmx_device_release(struct cmx_ibdev *dev);
unsigned long cmx_device_removal_left(void);
int cmx_device_init(void);
void cmx_device_exit(void);

/* query.c */
extern struct cmx_users cmx_query_users;

/**
 * struct cmx_services - a query for the services of the SAs
 * @requests: state of the SA queries
 * @count: number of queries
 * @port: each query with its port; NULL: there are none
 * @list: services of all responses, once they are merged
 * @passive: to listen on: of each port, each service once
 * @started: @requests is in use
 * @partial: an SA did not respond
 */
struct cmx_services {
	struct cmx_sa_requests requests;
	u32 count;
	bool passive;
	bool started;
	bool partial;
	struct cmx_service_request *port;
	struct cmx_service *list;
};

/* services.c */
void cmx_service_query(struct cmx_sa_query *q, const char *service);
bool cmx_service_matches(const struct cmx_sa_query *q,
			 const struct cmx_sa_service_rec *rec);
int cmx_services_init(struct cmx_services *s, const struct cmx_hints *h,
		      const struct rdma_cmx_query_attr *attr);
bool cmx_services_cached(struct cmx_services *s, struct net *net);
void cmx_services_start(struct cmx_services *s, const struct cmx_hints *h,
			void (*done)(struct cmx_sa_requests *requests),
			void (*failed)(struct cmx_sa_requests *requests));
void cmx_services_stop(struct cmx_services *s);
int cmx_services_merge(struct cmx_services *s, struct cmx_candidates *cands);
void cmx_services_release(struct cmx_services *s);

/* neigh_warm.c */
void cmx_neigh_warm(const struct net_device *ndev, const struct dst_entry *dst,
		    const void *daddr);

/* result.c */
struct rdma_cmx_result *cmx_result_build(const struct cmx_hints *h,
					 const struct cmx_candidates *cands,
					 const struct cmx_dest *dests, u32 n,
					 const struct cmx_paths *paths,
					 const struct cmx_caller *caller);

/* entry.c */
void cmx_path_unpack(const void *wire, struct sa_path_rec *rec);

/**
 * struct cmx_watch_set - the entries of a result, for comparison
 * @count: number of different entries
 * @partial: there may be more
 * @hash: hash of each, in ascending order, with a mark of open entries
 */
struct cmx_watch_set {
	u32 count;
	bool partial;
	u64 hash[];
};

/* Maximum milliseconds between two queries of a watch, before doubling */
#define CMX_WATCH_MAX_MS	(24 * 3600 * 1000)

/* watch_set.c */
u32 cmx_watch_delay(u32 base_ms, unsigned int fails, u32 random);
bool cmx_watch_gone(int error, bool own_src);
struct cmx_watch_set *cmx_watch_set(const struct rdma_cmx_result *res);
bool cmx_watch_changed(const struct cmx_watch_set *old,
		       const struct cmx_watch_set *set);

/* watch.c */
int cmx_watch_init(void);
void cmx_watch_exit(void);

/* prefetch_ref.c */
int cmx_prefetch_init(void);
void cmx_prefetch_exit(void);

/* resolve.c */
extern const struct cmx_caller cmx_kernel;

/* cached_path.c */
int cmx_cached_path_forget(const struct rdma_cmx_query_attr *attr,
			   const union ib_gid *dgid);

/* query.c */
extern unsigned int cmx_query_timeout_max_ms;
unsigned long cmx_query_jiffies(u32 timeout_ms);
int cmx_query_init(void);
void cmx_query_exit(void);

/* cached_path.c */
bool cmx_path_provider_listens(void);
struct cmx_sa_port *cmx_cached_path_query(struct rdma_cm_id *id, u8 tos,
					  struct cmx_sa_query *q);

struct cmx_route;

/* route_query.c */
int cmx_route_query_start(struct rdma_cm_id *id, struct cmx_route *route,
			  u32 timeout_ms, u8 tos, kuid_t uid);
void cmx_route_query_stop(struct cmx_route *route);
int cmx_route_init(void);
void cmx_route_exit(void);

#endif /* CMX_RESOLVE_H */
