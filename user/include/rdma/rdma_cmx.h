/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The extensions of librdmacmx to <rdma/rdma_cma.h>.
 */
#ifndef RDMA_CMX_H
#define RDMA_CMX_H

#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rdmacmx_ai_device - get the local RDMA device that reaches an address
 * @ai: an entry that rdma_getaddrinfo() or rdma_query_addrinfo() of this
 *	library returned; not one that the caller has made
 * @port: the device's port number, or NULL
 *
 * Returns the device's name as rdma(8) shows it, to be neither changed nor
 * freed. NULL with errno ENODEV: no local RDMA device reaches the address
 * (or the device has gone since); EINVAL: @ai is NULL or not from here.
 */
const char *rdmacmx_ai_device(const struct rdma_addrinfo *ai, uint8_t *port);

/**
 * rdmacmx_ai_gid_index - get the index of the local GID of an entry
 * @ai: as in rdmacmx_ai_device()
 * @gid_type: type of the GID, IBV_GID_TYPE_*, or NULL
 *
 * Returns the index in the GID table of the device's port, as it was when the
 * entry was made. -1 with errno ENODEV: no local RDMA device reaches the
 * address; ENODATA: the index is not known (iWARP, or an older module); EINVAL:
 * @ai is NULL or not from here.
 */
int rdmacmx_ai_gid_index(const struct rdma_addrinfo *ai, int *gid_type);

/**
 * rdmacmx_getaddrinfo - rdma_getaddrinfo() for one RDMA device
 * @device: NAME, NAME:PORT or NAME/PORT; NULL: as rdma_getaddrinfo()
 * @node: as rdma_getaddrinfo()
 * @service: likewise
 * @hints: likewise
 * @res: likewise; all entries are of this device and port
 *
 * It goes before the environment variable RDMACMX_DEVICE. Returns what
 * rdma_getaddrinfo() does; EAI_SYSTEM with errno ENODEV: there is no such
 * device; ENXIO: it has no such port; ENETUNREACH: it reaches no address of
 * @node. EAI_BADFLAGS: the loaded module does not know of devices.
 */
int rdmacmx_getaddrinfo(const char *device, const char *node,
			const char *service, const struct rdma_addrinfo *hints,
			struct rdma_addrinfo **res);

/* Fields of struct rdmacmx_group. */
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
 * @mask: RDMACMX_GROUP_*: the other fields that are valid. In a join the fields
 *	that are not must be 0.
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
 * struct rdmacmx_join_attr - a multicast membership
 * @addr: group: IPv4 or IPv6 multicast address, or MGID in a sockaddr_ib
 * @join_flags: enum rdma_cm_mc_join_flags of <rdma/rdma_cma.h>
 * @flags: RDMACMX_JOIN_*
 * @group: parameters that the group must have; a mask of 0 requires none
 * @context: rdmacmx_join_many(): comes back as param.ud.private_data
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
 * rdmacmx_join_multicast - join a multicast group with more than an address
 * @id: id that is bound to a device
 * @attr: the group
 * @context: comes back as param.ud.private_data of the event
 *
 * As rdma_join_multicast_ex(); rdmacmx_join_multicast(3) lists the differences.
 * Returns 0, or -1 with errno.
 */
int rdmacmx_join_multicast(struct rdma_cm_id *id,
			   const struct rdmacmx_join_attr *attr, void *context);

/**
 * rdmacmx_join_many - join many groups at once
 * @id: id that is bound to a device
 * @attrs: the groups, each with its context and its error
 * @count: number of groups, not 0
 *
 * All joins proceed concurrently; each has a separate event. Returns the number
 * of started joins, or -1 with errno when none was tried.
 */
int rdmacmx_join_many(struct rdma_cm_id *id, struct rdmacmx_join_attr *attrs,
		      int count);

/**
 * rdmacmx_event_group - get the parameters of the group that was joined
 * @event: an RDMA_CM_EVENT_MULTICAST_JOIN of this library, not acknowledged
 * @group: result
 *
 * Returns 0, or -1 with errno EINVAL: not such an event.
 */
int rdmacmx_event_group(const struct rdma_cm_event *event,
			struct rdmacmx_group *group);

#ifdef __cplusplus
}
#endif

#endif /* RDMA_CMX_H */
