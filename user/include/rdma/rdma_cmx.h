/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The extensions of librdmacmx to <rdma/rdma_cma.h>. Its rules for threads and
 * errno apply. The manual page of a function (man 3cmx NAME) has the details.
 */
#ifndef RDMA_CMX_H
#define RDMA_CMX_H

#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rdmacmx_ai_device - get the local RDMA device that reaches an address
 * @ai: entry from rdma_getaddrinfo() or rdma_query_addrinfo() of this library;
 *	not one that the caller has created
 * @port: the device's port number, or NULL
 *
 * Returns the device's name as rdma(8) shows it; the caller neither changes nor
 * frees it. NULL with errno ENODEV: no local RDMA device reaches the address,
 * or the device is gone; EINVAL: @ai is NULL or not from this library.
 */
const char *rdmacmx_ai_device(const struct rdma_addrinfo *ai, uint8_t *port);

/**
 * rdmacmx_ai_gid_index - get the index of the local GID of an entry
 * @ai: as in rdmacmx_ai_device()
 * @gid_type: type of the GID, IBV_GID_TYPE_*, or NULL
 *
 * Returns the index in the GID table of the device's port, at the time of the
 * resolution. -1 with errno ENODEV: no local RDMA device reaches the address;
 * ENODATA: the index is not known (iWARP, or an older module); EINVAL: @ai is
 * NULL or not from this library.
 */
int rdmacmx_ai_gid_index(const struct rdma_addrinfo *ai, int *gid_type);

/**
 * rdmacmx_getaddrinfo - rdma_getaddrinfo() for one RDMA device
 * @device: NAME, NAME:PORT or NAME/PORT; NULL: as rdma_getaddrinfo()
 * @node: as for rdma_getaddrinfo()
 * @service: as for rdma_getaddrinfo()
 * @hints: as for rdma_getaddrinfo()
 * @res: as for rdma_getaddrinfo(); all entries are of this device and port
 *
 * The argument overrides the environment variable RDMACMX_DEVICE. Returns the
 * codes of rdma_getaddrinfo(). EAI_SYSTEM with errno ENODEV: there is no such
 * device; ENXIO: it has no such port; ENETUNREACH: it reaches no address of
 * @node. EAI_BADFLAGS: the loaded module does not support devices.
 */
int rdmacmx_getaddrinfo(const char *device, const char *node,
			const char *service, const struct rdma_addrinfo *hints,
			struct rdma_addrinfo **res);

/* Fields of struct rdmacmx_group */
enum {
	RDMACMX_GROUP_QKEY = 1 << 0,
	RDMACMX_GROUP_PKEY = 1 << 1,
	RDMACMX_GROUP_MTU = 1 << 2,
	RDMACMX_GROUP_RATE = 1 << 3,
	RDMACMX_GROUP_SL = 1 << 4,
	RDMACMX_GROUP_TRAFFIC_CLASS = 1 << 5,
	RDMACMX_GROUP_FLOW_LABEL = 1 << 6,
	RDMACMX_GROUP_HOP_LIMIT = 1 << 7
};

/**
 * struct rdmacmx_group - parameters of a multicast group
 * @mask: RDMACMX_GROUP_*: valid fields. In a join all others must be 0
 * @qkey: Q_Key, host byte order, not 0
 * @flow_label: flow label, 20 bits, host byte order
 * @pkey: P_Key, host byte order; the port must have it
 * @mtu: enum ibv_mtu
 * @rate: enum ibv_rate
 * @sl: service level
 * @traffic_class: traffic class
 * @hop_limit: hop limit
 */
struct rdmacmx_group {
	uint32_t mask;
	uint32_t qkey;
	uint32_t flow_label;
	uint16_t pkey;
	uint8_t mtu;
	uint8_t rate;
	uint8_t sl;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t reserved;
};

enum {
	/* Rejoin when the fabric drops the membership. */
	RDMACMX_JOIN_PERSISTENT = 1 << 0
};

/**
 * struct rdmacmx_join_attr - attributes of a multicast membership
 * @addr: group: IPv4 or IPv6 multicast address, or MGID in a sockaddr_ib
 * @join_flags: enum rdma_cm_mc_join_flags of <rdma/rdma_cma.h>
 * @flags: RDMACMX_JOIN_*
 * @group: parameters that the group must have; a mask of 0 requires none
 * @context: rdmacmx_join_many(): returned as param.ud.private_data
 * @error: out, rdmacmx_join_many(): 0 or an errno
 * @reserved: 0
 */
struct rdmacmx_join_attr {
	struct sockaddr *addr;
	uint32_t join_flags;
	uint32_t flags;
	struct rdmacmx_group group;
	void *context;
	int error;
	uint32_t reserved[5];
};

/**
 * rdmacmx_join_multicast - join a multicast group with flags and parameters
 * @id: id that is bound to a device
 * @attr: the group
 * @context: returned as param.ud.private_data of the event
 *
 * As rdma_join_multicast_ex(); rdmacmx_join_multicast(3) lists the differences.
 * Returns 0, or -1 with errno.
 */
int rdmacmx_join_multicast(struct rdma_cm_id *id,
			   const struct rdmacmx_join_attr *attr, void *context);

/**
 * rdmacmx_join_many - join many groups in one call
 * @id: id that is bound to a device
 * @attrs: the groups, each with its context and its error
 * @count: number of groups, not 0
 *
 * All joins proceed concurrently; each has a separate event. Returns the number
 * of started joins, or -1 with errno if none was tried.
 */
int rdmacmx_join_many(struct rdma_cm_id *id, struct rdmacmx_join_attr *attrs,
		      int count);

/**
 * rdmacmx_event_group - get the parameters of a joined group
 * @event: an RDMA_CM_EVENT_MULTICAST_JOIN of this library, not acknowledged
 * @group: result
 *
 * Returns 0, or -1 with errno EINVAL: not such an event.
 */
int rdmacmx_event_group(const struct rdma_cm_event *event,
			struct rdmacmx_group *group);

struct rdmacmx_service;

/* A lease without end */
#define RDMACMX_LEASE_FOREVER	0xffffffff

/* Bytes of service data */
#define RDMACMX_SERVICE_DATA	64

/**
 * struct rdmacmx_service_attr - a service to advertise
 * @name: name of 1 to 63 bytes
 * @id: service id, host byte order, not 0
 * @device: NAME, NAME:PORT or NAME/PORT; NULL: all InfiniBand devices
 * @data: service data in wire format, or NULL; padded with zeros
 * @data_len: bytes of @data, at most RDMACMX_SERVICE_DATA
 * @lease: lease in seconds, at least 4; 0: the module's default
 * @pkey: P_Key, host byte order; 0: the first one of each port
 * @reserved: 0
 */
struct rdmacmx_service_attr {
	const char *name;
	uint64_t id;
	const char *device;
	const void *data;
	size_t data_len;
	uint32_t lease;
	uint16_t pkey;
	uint16_t reserved[9];
};

enum rdmacmx_service_state {
	RDMACMX_SERVICE_SET = 1,	/* the SA has the record */
	RDMACMX_SERVICE_TRYING = 2,	/* it may not have it */
	RDMACMX_SERVICE_DOWN = 3	/* the port is not active */
};

/**
 * struct rdmacmx_service_port - a service at one port
 * @device: name of the RDMA device; empty if it is gone
 * @port: its port
 * @state: enum rdmacmx_service_state
 * @error: errno of the last attempt, if the record is not set
 * @lease: granted lease in seconds, if the record is set
 * @pkey: P_Key of the record, host byte order, likewise
 * @gid: GID of the record, likewise
 * @reserved: 0
 */
struct rdmacmx_service_port {
	char device[64];
	uint32_t port;
	uint32_t state;
	int error;
	uint32_t lease;
	uint16_t pkey;
	uint16_t reserved[7];
	union ibv_gid gid;
};

/**
 * rdmacmx_advertise - advertise a service at the subnet administrators
 * @attr: the service
 *
 * The kernel sets a record at each port and renews it until rdmacmx_withdraw()
 * or the end of the process. The call does not wait for a subnet administrator.
 *
 * Returns the service, or NULL with errno. EPERM: the process lacks
 * CAP_NET_ADMIN; EEXIST: this host already advertises the id; EINVAL,
 * ENAMETOOLONG, EMSGSIZE, ERANGE: the name, data or lease are out of range;
 * ENODEV, ENXIO: there is no such InfiniBand device or port; EAGAIN: the user
 * advertises too many services; EOPNOTSUPP: the loaded module cannot advertise.
 */
struct rdmacmx_service *
rdmacmx_advertise(const struct rdmacmx_service_attr *attr);

/**
 * rdmacmx_withdraw - end a service
 * @service: the service; freed
 *
 * The records are deleted in the background. Returns 0, or -1 with errno
 * EINVAL.
 */
int rdmacmx_withdraw(struct rdmacmx_service *service);

/**
 * rdmacmx_service_fd - get the file descriptor of a service, for poll(2)
 * @service: the service
 *
 * poll(2) reports POLLPRI while the service has changed since the last
 * rdmacmx_service_ports(). The caller neither closes nor reads it. Returns -1
 * with errno EINVAL if @service is NULL.
 */
int rdmacmx_service_fd(const struct rdmacmx_service *service);

/**
 * rdmacmx_service_ports - get the state of a service at each port
 * @service: the service
 * @ports: its ports
 * @room: number of elements of @ports; 0: @ports may be NULL
 *
 * Returns the number of ports; 0 while no InfiniBand port is active. If it is
 * more than @room, @ports has the first @room. -1 with errno EINVAL or ENOMEM.
 */
int rdmacmx_service_ports(struct rdmacmx_service *service,
			  struct rdmacmx_service_port *ports, int room);

/**
 * struct rdmacmx_service_record - a record of a subnet administrator
 * @id: service id, host byte order
 * @gid: GID of the node that has the service
 * @lease: lease in seconds, RDMACMX_LEASE_FOREVER: without end
 * @pkey: P_Key, host byte order
 * @reserved: 0
 * @device: RDMA device of the port whose subnet administrator has it
 * @port: that port
 * @name: name; a zero ends it
 * @data: service data in wire format
 */
struct rdmacmx_service_record {
	uint64_t id;
	union ibv_gid gid;
	uint32_t lease;
	uint16_t pkey;
	uint16_t reserved;
	char device[64];
	uint32_t port;
	char name[68];
	uint8_t data[RDMACMX_SERVICE_DATA];
};

/**
 * rdmacmx_get_services - get the records of a service
 * @device: NAME, NAME:PORT or NAME/PORT; NULL: all InfiniBand devices
 * @service: its name, or its id as a number; NULL: all services
 * @records: the records, for free()
 * @error: out: 0, or the errno of the first subnet administrator that has not
 *	responded, if another one has; may be NULL
 *
 * Returns the number of records, which may be 0; or -1 with errno. EPERM: all
 * services require CAP_NET_ADMIN; ENODEV, ENXIO: no such active port;
 * ETIMEDOUT, EAGAIN, ECONNREFUSED, EBADMSG: the error of the subnet
 * administrator; EINVAL, ENAMETOOLONG: @service; EOVERFLOW: too many records;
 * EOPNOTSUPP: the loaded module has no such query.
 */
int rdmacmx_get_services(const char *device, const char *service,
			 struct rdmacmx_service_record **records, int *error);

enum {
	/*
	 * The addresses race for a connection, not for a route. The library
	 * creates a queue pair for each of the first eight addresses that can
	 * be tried, and destroys those that lose. With @qp_init_attr.
	 */
	RDMACMX_CONNECT_RACE = 1 << 0
};

/**
 * struct rdmacmx_connect_attr - attributes of a connect by name
 * @device: NAME, NAME:PORT or NAME/PORT; NULL: all RDMA devices
 * @qp_init_attr: attributes of the queue pair, as for rdma_create_qp(); its
 *	type is the id's. NULL: the id is resolved and not connected
 * @pd: protection domain, or NULL; only with @qp_init_attr
 * @conn_param: as for rdma_connect(), or NULL; only with @qp_init_attr
 * @timeout_ms: deadline of resolution and connection in milliseconds; 0: 30
 *	seconds
 * @delay_ms: milliseconds from one start to the next while addresses are
 *	outstanding, at least 10; 0: 250
 * @flags: RDMACMX_CONNECT_*
 * @reserved: 0
 *
 * The call copies all memory that this struct points to.
 */
struct rdmacmx_connect_attr {
	const char *device;
	struct ibv_qp_init_attr *qp_init_attr;
	struct ibv_pd *pd;
	struct rdma_conn_param *conn_param;
	uint32_t timeout_ms;
	uint32_t delay_ms;
	uint32_t flags;
	uint32_t reserved[5];
};

/**
 * rdmacmx_connect_name - resolve a name and connect to it
 * @id: id that is not bound
 * @node: as for rdma_getaddrinfo()
 * @service: as for rdma_getaddrinfo()
 * @hints: as for rdma_getaddrinfo(); port space and QP type are the id's
 * @attr: attributes, or NULL
 *
 * The addresses of the name race for address and route, as in RFC 8305; the
 * next one follows when a connection fails. With RDMACMX_CONNECT_RACE they race
 * for a connection. One event is reported: without a queue pair
 * RDMA_CM_EVENT_ROUTE_RESOLVED, with one RDMA_CM_EVENT_ESTABLISHED; or the
 * error of the last step, see rdmacmx_connect_name(3). With a synchronous id
 * the call waits for it.
 *
 * Returns 0, or -1 with errno.
 */
int rdmacmx_connect_name(struct rdma_cm_id *id, const char *node,
			 const char *service, const struct rdma_addrinfo *hints,
			 const struct rdmacmx_connect_attr *attr);

/* Last step of an address */
enum rdmacmx_step {
	RDMACMX_STEP_NO_DEVICE = 0,	/* no RDMA device reaches it */
	RDMACMX_STEP_UNTRIED = 1,
	RDMACMX_STEP_ADDR = 2,		/* rdma_resolve_addr() */
	RDMACMX_STEP_ROUTE = 3,		/* rdma_resolve_route() */
	RDMACMX_STEP_SETUP = 4,		/* rdma_create_qp() */
	RDMACMX_STEP_REQUEST = 5,	/* rdma_connect() */
	RDMACMX_STEP_UP = 6		/* it has won */
};

/**
 * struct rdmacmx_candidate - state of an address
 * @src: source address, family 0: none
 * @dst: destination address
 * @device: name of the RDMA device; empty: none reaches @dst, or it is gone
 * @port: its port
 * @step: enum rdmacmx_step
 * @error: errno of @step; 0: the winner, or untried; ECANCELED: outstanding
 *	when another one won; ENOBUFS without attempts: there was no queue pair
 * @reason: status of RDMA_CM_EVENT_REJECTED, or 0
 * @attempts: number of attempts
 * @start_ms: start of the first attempt, in milliseconds since the addresses
 *	were resolved
 * @end_ms: time when it was routed or failed, likewise
 * @reserved: 0
 */
struct rdmacmx_candidate {
	struct sockaddr_storage src;
	struct sockaddr_storage dst;
	char device[64];
	uint32_t port;
	uint32_t step;
	int error;
	uint32_t reason;
	uint32_t attempts;
	uint32_t start_ms;
	uint32_t end_ms;
	uint32_t reserved[5];
};

/**
 * rdmacmx_connect_report - get the state of the addresses of a name
 * @id: id of rdmacmx_connect_name(), after its event
 * @candidates: the addresses, in the order of rdma_getaddrinfo()
 * @room: number of elements of @candidates; 0: @candidates may be NULL
 *
 * Returns the number of addresses. If it is more than @room, @candidates has
 * the first @room. -1 with errno ENOENT: none was tried; EBUSY: the event is
 * outstanding; EINVAL, ENOMEM.
 */
int rdmacmx_connect_report(struct rdma_cm_id *id,
			   struct rdmacmx_candidate *candidates, int room);

#ifdef __cplusplus
}
#endif

#endif /* RDMA_CMX_H */
