/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The RDMA connection manager API, source and binary compatible with
 * rdma-core's <rdma/rdma_cma.h>. librdmacmx implements the functions;
 * <rdma/rdma_cmx.h> has its extensions of this API.
 *
 * Unless stated otherwise a function returns 0, or -1 with errno set. Many
 * threads may call the functions at the same time, but calls on one id must be
 * serialised; rdmacmx(7) lists the functions that are exempt. An object must
 * not be used while another thread destroys it, or after that. Exception: a
 * call that waits on a synchronous id ends with ECANCELED. The manual page of a
 * function (man 3cmx NAME) lists its errnos and says whether it waits.
 */
#ifndef RDMA_CMA_H
#define RDMA_CMA_H

#include <stddef.h>
#include <stdint.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <infiniband/verbs.h>
#include <infiniband/sa.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Codes of rdma_getaddrinfo() that <netdb.h> lacks, or has only with
 * _GNU_SOURCE. gai_strerror() knows each of them.
 */
#ifndef EAI_QPTYPE
#define EAI_QPTYPE	EAI_SOCKTYPE
#endif
#ifndef EAI_NODATA
#define EAI_NODATA	(-5)
#endif
#ifndef EAI_ADDRFAMILY
#define EAI_ADDRFAMILY	(-9)
#endif

enum rdma_cm_event_type {
	RDMA_CM_EVENT_ADDR_RESOLVED,
	RDMA_CM_EVENT_ADDR_ERROR,
	RDMA_CM_EVENT_ROUTE_RESOLVED,
	RDMA_CM_EVENT_ROUTE_ERROR,
	RDMA_CM_EVENT_CONNECT_REQUEST,
	RDMA_CM_EVENT_CONNECT_RESPONSE,
	RDMA_CM_EVENT_CONNECT_ERROR,
	RDMA_CM_EVENT_UNREACHABLE,
	RDMA_CM_EVENT_REJECTED,
	RDMA_CM_EVENT_ESTABLISHED,
	RDMA_CM_EVENT_DISCONNECTED,
	/* The device is gone: destroy the id and all objects of it. */
	RDMA_CM_EVENT_DEVICE_REMOVAL,
	RDMA_CM_EVENT_MULTICAST_JOIN,
	RDMA_CM_EVENT_MULTICAST_ERROR,
	RDMA_CM_EVENT_ADDR_CHANGE,
	RDMA_CM_EVENT_TIMEWAIT_EXIT,
	RDMA_CM_EVENT_ADDRINFO_RESOLVED,
	RDMA_CM_EVENT_ADDRINFO_ERROR,
	/* By rdma_write_cm_event() */
	RDMA_CM_EVENT_USER,
	/* Never delivered. */
	RDMA_CM_EVENT_INTERNAL,
};

enum rdma_port_space {
	RDMA_PS_IPOIB = 0x0002,
	RDMA_PS_TCP = 0x0106,
	RDMA_PS_UDP = 0x0111,
	RDMA_PS_IB = 0x013F,
};

/* Service ids of the IP port spaces: prefix and port number */
#define RDMA_IB_IP_PS_MASK	0xFFFFFFFFFFFF0000ULL
#define RDMA_IB_IP_PORT_MASK	0x000000000000FFFFULL
#define RDMA_IB_IP_PS_TCP	0x0000000001060000ULL
#define RDMA_IB_IP_PS_UDP	0x0000000001110000ULL
#define RDMA_IB_PS_IB		0x00000000013F0000ULL

/* Q_Key of datagram QPs and multicast groups of the RDMA CM */
#define RDMA_UDP_QKEY		0x01234567

struct rdma_ib_addr {
	union ibv_gid sgid;
	union ibv_gid dgid;
	__be16 pkey;
};

struct rdma_addr {
	union {
		struct sockaddr src_addr;
		struct sockaddr_in src_sin;
		struct sockaddr_in6 src_sin6;
		struct sockaddr_storage src_storage;
	};
	union {
		struct sockaddr dst_addr;
		struct sockaddr_in dst_sin;
		struct sockaddr_in6 dst_sin6;
		struct sockaddr_storage dst_storage;
	};
	union {
		struct rdma_ib_addr ibaddr;
	} addr;
};

struct rdma_route {
	struct rdma_addr addr;
	struct ibv_sa_path_rec *path_rec;	/* num_paths of them, or NULL */
	int num_paths;
};

struct rdma_event_channel {
	int fd;			/* for poll(), epoll, fcntl(O_NONBLOCK) */
};

struct rdma_cm_id {
	struct ibv_context *verbs;	/* NULL until bound to a device */
	struct rdma_event_channel *channel;
	void *context;			/* the caller's */
	struct ibv_qp *qp;
	struct rdma_route route;
	enum rdma_port_space ps;
	uint8_t port_num;
	struct rdma_cm_event *event;	/* last event of a synchronous id */
	struct ibv_comp_channel *send_cq_channel;
	struct ibv_cq *send_cq;
	struct ibv_comp_channel *recv_cq_channel;
	struct ibv_cq *recv_cq;
	struct ibv_srq *srq;
	struct ibv_pd *pd;
	enum ibv_qp_type qp_type;
};

/* Maximum of the device, in struct rdma_conn_param */
enum {
	RDMA_MAX_RESP_RES = 0xFF,
	RDMA_MAX_INIT_DEPTH = 0xFF
};

struct rdma_conn_param {
	const void *private_data;
	uint8_t private_data_len;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;		/* not used by rdma_accept() */
	uint8_t rnr_retry_count;
	/* Only for an id without a QP: */
	uint8_t srq;
	uint32_t qp_num;
};

struct rdma_ud_param {
	const void *private_data;
	uint8_t private_data_len;
	struct ibv_ah_attr ah_attr;
	uint32_t qp_num;
	uint32_t qkey;
};

struct rdma_cm_event {
	struct rdma_cm_id *id;
	struct rdma_cm_id *listen_id;	/* of CONNECT_REQUEST */
	enum rdma_cm_event_type event;
	int status;
	union {
		struct rdma_conn_param conn;
		struct rdma_ud_param ud;
		uint64_t arg;		/* of RDMA_CM_EVENT_USER */
	} param;
};

/* ai_flags */
#define RAI_PASSIVE		0x00000001	/* for the listening side */
#define RAI_NUMERICHOST		0x00000002	/* no query to a name server */
#define RAI_NOROUTE		0x00000004	/* do not resolve routes */
#define RAI_FAMILY		0x00000008	/* read node as ai_family */
#define RAI_SA			0x00000010	/* query the InfiniBand SA */
#define RAI_DNS			0x00000020	/* query the name service */

struct rdma_addrinfo {
	int ai_flags;			/* RAI_* */
	int ai_family;			/* AF_INET, AF_INET6, AF_IB */
	int ai_qp_type;			/* enum ibv_qp_type */
	int ai_port_space;		/* enum rdma_port_space */
	socklen_t ai_src_len;
	socklen_t ai_dst_len;
	struct sockaddr *ai_src_addr;
	struct sockaddr *ai_dst_addr;
	char *ai_src_canonname;
	char *ai_dst_canonname;
	size_t ai_route_len;		/* in bytes */
	void *ai_route;			/* struct ibv_path_data [] */
	size_t ai_connect_len;
	void *ai_connect;
	struct rdma_addrinfo *ai_next;
};

/* Valid members of struct rdma_cm_join_mc_attr_ex */
enum rdma_cm_join_mc_attr_mask {
	RDMA_CM_JOIN_MC_ATTR_ADDRESS = 1 << 0,
	RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS = 1 << 1,
	RDMA_CM_JOIN_MC_ATTR_RESERVED = 1 << 2,
};

enum rdma_cm_mc_join_flags {
	RDMA_MC_JOIN_FLAG_FULLMEMBER,
	RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
	RDMA_MC_JOIN_FLAG_RESERVED,
};

struct rdma_cm_join_mc_attr_ex {
	uint32_t comp_mask;		/* enum rdma_cm_join_mc_attr_mask */
	uint32_t join_flags;		/* one of rdma_cm_mc_join_flags */
	struct sockaddr *addr;		/* the group */
};

/**
 * rdma_create_event_channel - open an event channel
 *
 * It opens /dev/infiniband/rdma_cmx and accesses no device. Returns NULL with
 * the errno of open() on failure (ENOENT, ENODEV: the module is not loaded).
 */
struct rdma_event_channel *rdma_create_event_channel(void);

/**
 * rdma_destroy_event_channel - close an event channel
 * @channel: channel; its ids are destroyed and its events acknowledged
 */
void rdma_destroy_event_channel(struct rdma_event_channel *channel);

/**
 * rdma_create_id - create a communication identifier
 * @channel: channel of its events; NULL: a synchronous id, whose calls wait for
 *	their event and store it in id->event
 * @id: result
 * @context: value for id->context
 * @ps: port space
 */
int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		   void *context, enum rdma_port_space ps);

/**
 * rdma_create_ep - create a synchronous id with address and QP
 * @id: result
 * @res: entry of rdma_getaddrinfo(); with RAI_PASSIVE the id is bound,
 *	otherwise its address and route are resolved
 * @pd: protection domain, NULL: the device's default one
 * @qp_init_attr: attributes of the QP, NULL: no QP. With RAI_PASSIVE each id of
 *	rdma_get_request() gets such a QP
 */
int rdma_create_ep(struct rdma_cm_id **id, struct rdma_addrinfo *res,
		   struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);

/**
 * rdma_destroy_ep - destroy an id of rdma_create_ep() with its QP and SRQ
 * @id: id
 */
void rdma_destroy_ep(struct rdma_cm_id *id);

/**
 * rdma_destroy_id - destroy an id and cancel its outstanding operations
 * @id: id, whose QP has been destroyed before
 *
 * It waits until the reported events of the id are acknowledged. No event of
 * the id follows. It leaves all multicast groups of the id.
 */
int rdma_destroy_id(struct rdma_cm_id *id);

/**
 * rdma_bind_addr - bind an id to a local address
 * @id: id
 * @addr: address; a wildcard does not bind to a device
 */
int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr);

/**
 * rdma_resolve_addr - resolve the device and the RDMA address of a peer
 * @id: id
 * @src_addr: local address, or NULL
 * @dst_addr: address of the peer or of a multicast group
 * @timeout_ms: timeout in milliseconds
 *
 * ADDR_RESOLVED or ADDR_ERROR follows.
 */
int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *src_addr,
		      struct sockaddr *dst_addr, int timeout_ms);

/**
 * rdma_resolve_route - resolve the route to the resolved address
 * @id: id
 * @timeout_ms: timeout in milliseconds
 *
 * ROUTE_RESOLVED or ROUTE_ERROR follows.
 */
int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms);

/**
 * rdma_create_qp - create a QP whose states follow the id
 * @id: id, bound to a device
 * @pd: protection domain, NULL: the device's default one
 * @qp_init_attr: as for ibv_create_qp(); missing completion queues and channels
 *	are created and stored in the id
 *
 * After success a datagram QP can send, any other can post receives.
 */
int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *qp_init_attr);
int rdma_create_qp_ex(struct rdma_cm_id *id,
		      struct ibv_qp_init_attr_ex *qp_init_attr);

/**
 * rdma_destroy_qp - destroy the QP, and the completion queues created with it
 * @id: id
 */
void rdma_destroy_qp(struct rdma_cm_id *id);

/**
 * rdma_connect - send a connection request to the peer
 * @id: id with a resolved route; a datagram id resolves the peer's QP
 * @conn_param: parameters, NULL: the defaults
 *
 * ESTABLISHED (CONNECT_RESPONSE without a QP on the id), CONNECT_ERROR,
 * UNREACHABLE or REJECTED follows.
 */
int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);

/**
 * rdma_establish - complete a connection after CONNECT_RESPONSE
 * @id: id without a QP
 */
int rdma_establish(struct rdma_cm_id *id);

/**
 * rdma_listen - accept connection requests
 * @id: id with a local address; a wildcard listens on all devices
 * @backlog: maximum number of pending requests; further ones wait
 */
int rdma_listen(struct rdma_cm_id *id, int backlog);

/**
 * rdma_get_request - wait for a connection request
 * @listen: synchronous id that listens
 * @id: result, a synchronous id
 */
int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id);

/**
 * rdma_accept - accept a connection request
 * @id: id of a CONNECT_REQUEST
 * @conn_param: parameters; may be NULL if the id has a QP
 */
int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param);

/**
 * rdma_reject - reject a connection request
 * @id: id of a CONNECT_REQUEST
 * @private_data: for the peer, or NULL
 * @private_data_len: its length in bytes
 */
int rdma_reject(struct rdma_cm_id *id, const void *private_data,
		uint8_t private_data_len);

/**
 * rdma_reject_ece - reject a connection request because of its ECE options
 * @id: as for rdma_reject()
 * @private_data: as for rdma_reject()
 * @private_data_len: as for rdma_reject()
 */
int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
		    uint8_t private_data_len);

/**
 * rdma_notify - report an asynchronous event of the QP to the CM
 * @id: id
 * @event: event; the CM uses IBV_EVENT_COMM_EST
 */
int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event);

/**
 * rdma_disconnect - end a connection; the QP enters the error state
 * @id: id
 */
int rdma_disconnect(struct rdma_cm_id *id);

/**
 * rdma_join_multicast - join a group as full member
 * @id: id bound to a device
 * @addr: group
 * @context: returned as param.ud.private_data of the events
 *
 * MULTICAST_JOIN or MULTICAST_ERROR follows. A QP of the id is attached when
 * the event is retrieved.
 */
int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr,
			void *context);

/**
 * rdma_join_multicast_ex - join a group
 * @id: id bound to a device
 * @mc_join_attr: group and type of membership; a send-only member's QP is not
 *	attached
 * @context: returned as param.ud.private_data of the events
 */
int rdma_join_multicast_ex(struct rdma_cm_id *id,
			   struct rdma_cm_join_mc_attr_ex *mc_join_attr,
			   void *context);

/**
 * rdma_leave_multicast - leave a group and detach the QP from it
 * @id: id
 * @addr: group, as it was joined
 *
 * EADDRNOTAVAIL: the id has not joined it. The call waits until the reported
 * events of the membership are acknowledged. Unread ones are dropped.
 */
int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr);

/**
 * rdma_get_cm_event - get the next event of a channel
 * @channel: channel; waits unless its fd is O_NONBLOCK (EAGAIN)
 * @event: result, for rdma_ack_cm_event()
 */
int rdma_get_cm_event(struct rdma_event_channel *channel,
		      struct rdma_cm_event **event);

/**
 * rdma_ack_cm_event - acknowledge an event and free it
 * @event: event
 */
int rdma_ack_cm_event(struct rdma_cm_event *event);

/**
 * rdma_get_src_port - get the local port of an id, 0: none
 * @id: id
 */
__be16 rdma_get_src_port(struct rdma_cm_id *id);

/**
 * rdma_get_dst_port - get the peer's port, 0: none
 * @id: id
 */
__be16 rdma_get_dst_port(struct rdma_cm_id *id);

static inline struct sockaddr *rdma_get_local_addr(struct rdma_cm_id *id)
{
	return &id->route.addr.src_addr;
}

static inline struct sockaddr *rdma_get_peer_addr(struct rdma_cm_id *id)
{
	return &id->route.addr.dst_addr;
}

/**
 * rdma_get_devices - open all RDMA devices
 * @num_devices: number of devices, or NULL
 *
 * Returns an array that ends with NULL. The devices stay open.
 */
struct ibv_context **rdma_get_devices(int *num_devices);

/**
 * rdma_free_devices - free the array of rdma_get_devices()
 * @list: array
 */
void rdma_free_devices(struct ibv_context **list);

/**
 * rdma_event_str - get the name of an event
 * @event: event
 */
const char *rdma_event_str(enum rdma_cm_event_type event);

/* Levels of rdma_set_option() */
enum {
	RDMA_OPTION_ID = 0,
	RDMA_OPTION_IB = 1
};

enum {
	RDMA_OPTION_ID_TOS = 0,		/* uint8_t */
	RDMA_OPTION_ID_REUSEADDR = 1,	/* int, like SO_REUSEADDR */
	RDMA_OPTION_ID_AFONLY = 2,	/* int, like IPV6_V6ONLY */
	RDMA_OPTION_ID_ACK_TIMEOUT = 3	/* uint8_t */
};

enum {
	RDMA_OPTION_IB_PATH = 1		/* struct ibv_path_data [] */
};

/**
 * rdma_set_option - set an option of an id
 * @id: id
 * @level: RDMA_OPTION_ID or RDMA_OPTION_IB
 * @optname: RDMA_OPTION_ID_* or RDMA_OPTION_IB_*
 * @optval: value
 * @optlen: its length in bytes
 */
int rdma_set_option(struct rdma_cm_id *id, int level, int optname,
		    void *optval, size_t optlen);

/**
 * rdma_migrate_id - report the events of an id on another channel
 * @id: id
 * @channel: channel, NULL: the id becomes synchronous
 *
 * The call waits until the events that the old channel reported are
 * acknowledged.
 */
int rdma_migrate_id(struct rdma_cm_id *id, struct rdma_event_channel *channel);

/**
 * rdma_getaddrinfo - resolve a name to addresses, devices and routes
 * @node: name or numeric address, or NULL
 * @service: service name or port number, with RAI_SA service name or id; or
 *	NULL
 * @hints: restrictions of the result, or NULL
 * @res: list of results, for rdma_freeaddrinfo()
 *
 * Returns 0 or an EAI_* code for gai_strerror(); for EAI_SYSTEM see errno.
 * The list has all addresses of the name. Addresses that a local RDMA device
 * reaches come first.
 */
int rdma_getaddrinfo(const char *node, const char *service,
		     const struct rdma_addrinfo *hints,
		     struct rdma_addrinfo **res);

/**
 * rdma_freeaddrinfo - free a list of results
 * @res: list, or NULL
 */
void rdma_freeaddrinfo(struct rdma_addrinfo *res);

/**
 * rdma_init_qp_attr - get the attributes for the next state of the caller's QP
 * @id: id
 * @qp_attr: in: qp_state; out: attributes for ibv_modify_qp()
 * @qp_attr_mask: their mask
 */
int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr,
		      int *qp_attr_mask);

/**
 * rdma_set_local_ece - set the ECE options to offer for the caller's QP
 * @id: id without a QP
 * @ece: options
 */
int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece);

/**
 * rdma_get_remote_ece - get the ECE options that the peer offered
 * @id: id without a QP
 * @ece: result
 */
int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece);

/**
 * rdma_resolve_addrinfo - rdma_getaddrinfo() without waiting
 * @id: id that receives the event; for RAI_SA bound to an InfiniBand port
 * @node: as for rdma_getaddrinfo(); NULL with RAI_SA
 * @service: as for rdma_getaddrinfo()
 * @hints: as for rdma_getaddrinfo()
 *
 * ADDRINFO_RESOLVED or ADDRINFO_ERROR follows. EBUSY: a resolution is
 * outstanding.
 */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
			  const char *service,
			  const struct rdma_addrinfo *hints);

/**
 * rdma_query_addrinfo - take the result of rdma_resolve_addrinfo()
 * @id: id
 * @info: result, for rdma_freeaddrinfo()
 *
 * ENOENT: there is none, or it was already taken.
 */
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);

/**
 * rdma_write_cm_event - send an event to the id's channel
 * @id: id
 * @event: RDMA_CM_EVENT_USER
 * @status: the event's status
 * @arg: the event's param.arg
 */
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event,
			int status, uint64_t arg);

#ifdef __cplusplus
}
#endif

#endif /* RDMA_CMA_H */
