/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx: ids and connections.
 * rdma_cmx_ioctl.h has the rules.
 */
#ifndef RDMA_CMX_IOCTL_ID_H
#define RDMA_CMX_IOCTL_ID_H

#include <linux/types.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_cmx_ioctl_types.h>

/**
 * struct rdma_cmx_id_create - RDMA_CMX_IO(ID_CREATE)
 * @size: sizeof(struct rdma_cmx_id_create)
 * @port_space: RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB or RDMA_PS_IB
 * @qp_type: enum ib_uverbs_qp_type: RC for TCP, UD for UDP and IPOIB; for IB
 *	RC, UC, UD, RAW_PACKET, XRC_INI or XRC_TGT; else EINVAL. A result of the
 *	resolver with TCP may have UC or XRC: use RC for its connections
 * @id: out: handle
 * @uid: cookie, returned with each event, not 0
 * @owner: cookie of the process that creates the id. Processes that share a
 *	file distinguish each other's ids by it, since handles are reused
 */
struct rdma_cmx_id_create {
	__u32 size;
	__u32 port_space;
	__u32 qp_type;
	__u32 id;
	__aligned_u64 uid;
	__aligned_u64 owner;
};

/**
 * struct rdma_cmx_destroy - RDMA_CMX_IO(ID_DESTROY), RDMA_CMX_IO(LEAVE) and
 *	RDMA_CMX_IO(WITHDRAW)
 * @size: sizeof(struct rdma_cmx_destroy)
 * @handle: id, membership or service
 * @events_reported: out: events of the object that GET_EVENTS returned to a
 *	reader whose cookie is that of the id's owner, 0 or not
 * @reserved: 0
 * @owner: 0, or the cookie of the id's owner; ENOENT if the id has another
 *	one, and nothing is destroyed
 * @uid: 0, or the cookie of the object, as its events report it; ENOENT if it
 *	has another one, and nothing is destroyed. An id from a CONNECT_REQUEST
 *	has none before ACCEPT. One owner thus distinguishes its objects, since
 *	handles are reused. The struct may end before it
 *
 * When the command returns, no event of the object is in the queue, and no
 * further one follows. Destroying an id destroys its memberships, its unread
 * connection requests and its resolution. Events of an id's memberships count
 * for the id too, connection requests count for the listening id.
 */
struct rdma_cmx_destroy {
	__u32 size;
	__u32 handle;
	__u32 events_reported;
	__u32 reserved;
	__aligned_u64 owner;
	__aligned_u64 uid;
};

/**
 * struct rdma_cmx_id_bind - RDMA_CMX_IO(ID_BIND)
 * @size: sizeof(struct rdma_cmx_id_bind)
 * @id: handle
 * @flags: 0
 * @reserved: 0
 * @addr: local address and port
 * @info: out: the id's info after the bind
 *
 * The command fails with EADDRNOTAVAIL, EADDRINUSE, ENODEV, EINVAL and EACCES
 * as rdma_bind_addr() does. Then the id is as before.
 */
struct rdma_cmx_id_bind {
	__u32 size;
	__u32 id;
	__u32 flags;
	__u32 reserved;
	struct rdma_cmx_addr addr;
	struct rdma_cmx_id_info info;
};

/**
 * struct rdma_cmx_id_query - RDMA_CMX_IO(ID_QUERY)
 * @size: sizeof(struct rdma_cmx_id_query)
 * @id: handle
 * @flags: 0
 * @reserved: 0
 * @paths: out: the first info.num_paths path records, at most 2
 * @info: out
 */
struct rdma_cmx_id_query {
	__u32 size;
	__u32 id;
	__u32 flags;
	__u32 reserved;
	struct ib_path_rec_data paths[2];
	struct rdma_cmx_id_info info;
};

/**
 * struct rdma_cmx_id_set_option - RDMA_CMX_IO(ID_SET_OPTION)
 * @size: sizeof(struct rdma_cmx_id_set_option)
 * @id: handle
 * @level: RDMA_OPTION_ID or RDMA_OPTION_IB
 * @optname: RDMA_OPTION_ID_* or RDMA_OPTION_IB_PATH
 * @optval: pointer to the value, as for rdma_set_option(3)
 * @optlen: bytes of the value
 * @reserved: 0
 *
 * RDMA_OPTION_IB_PATH takes 1 to 64 struct ib_path_rec_data. The kernel uses
 * the first one with exactly the flags IB_PATH_GMP, _PRIMARY and
 * _BIDIRECTIONAL. The event ROUTE_RESOLVED follows.
 *
 * EOPNOTSUPP: no such level or option (rdma_set_option(3) returns ENOSYS).
 * EINVAL: @optlen does not match the option; or the state, type or device of
 * the id does not permit the option; or there is no usable path record. EAGAIN:
 * RDMA_OPTION_IB_PATH, and max_events events of the file are unread.
 */
struct rdma_cmx_id_set_option {
	__u32 size;
	__u32 id;
	__u32 level;
	__u32 optname;
	__aligned_u64 optval;
	__u32 optlen;
	__u32 reserved;
};

/**
 * struct rdma_cmx_id_migrate - RDMA_CMX_IO(ID_MIGRATE)
 * @size: sizeof(struct rdma_cmx_id_migrate)
 * @id: handle in the file behind @src_fd
 * @src_fd: file that has the id now; the caller makes the ioctl on the new file
 * @new_id: out: handle in the new file; the old one is gone
 * @events_reported: out: as for ID_DESTROY, events of the id in all its life
 *	until it left the old file, without those that the new file reports
 * @reserved: 0
 * @owner: as for ID_DESTROY; the id keeps its owner
 *
 * Unread events of the id move with it, in order; its memberships keep their
 * handles. EAGAIN: with them, more than max_events would be unread in the new
 * file; or what the id counts would exceed max_requests of the new file, or
 * max_user_requests of its user. EBADF, EINVAL: @src_fd is not an rdma_cmx
 * file. If @src_fd is the same file, nothing happens and @new_id is @id.
 */
struct rdma_cmx_id_migrate {
	__u32 size;
	__u32 id;
	__s32 src_fd;
	__u32 new_id;
	__u32 events_reported;
	__u32 reserved;
	__aligned_u64 owner;
};

/**
 * struct rdma_cmx_resolve_addr - RDMA_CMX_IO(RESOLVE_ADDR)
 * @size: sizeof(struct rdma_cmx_resolve_addr)
 * @id: handle
 * @timeout_ms: timeout of the resolution in milliseconds. 0: the kernel uses
 *	known data only and does not wait; above 2147483647: no timeout
 * @reserved: 0
 * @src: local address, or family 0
 * @dst: address to resolve
 *
 * The event ADDR_RESOLVED with info, or ADDR_ERROR with a negative errno,
 * follows. If @src has a device and the command fails to bind the id to it, the
 * id is as before.
 *
 * The command fails with EADDRNOTAVAIL, EADDRINUSE, ENODEV, ENETUNREACH, EINVAL
 * and EACCES as rdma_resolve_addr() does, or with EAGAIN: max_events events of
 * the file are unread. The status of ADDR_ERROR may be one of these, too.
 */
struct rdma_cmx_resolve_addr {
	__u32 size;
	__u32 id;
	__u32 timeout_ms;
	__u32 reserved;
	struct rdma_cmx_addr src;
	struct rdma_cmx_addr dst;
};

/**
 * struct rdma_cmx_resolve_route - RDMA_CMX_IO(RESOLVE_ROUTE)
 * @size: sizeof(struct rdma_cmx_resolve_route)
 * @id: handle
 * @timeout_ms: timeout of the response of the subnet administrator in
 *	milliseconds; 0: EINVAL; above 2147483647: no timeout. On RoCE and iWARP
 *	the kernel does not wait
 * @reserved: 0
 *
 * The event ROUTE_RESOLVED with info and paths, or ROUTE_ERROR with a negative
 * errno, follows. The errno is -ETIMEDOUT without a response, and -EINVAL
 * without a path.
 *
 * EINVAL: the id has no resolved address, or has a route. EAGAIN: max_events
 * events of the file are unread.
 */
struct rdma_cmx_resolve_route {
	__u32 size;
	__u32 id;
	__u32 timeout_ms;
	__u32 reserved;
};

/**
 * struct rdma_cmx_init_qp_attr - RDMA_CMX_IO(INIT_QP_ATTR)
 * @size: sizeof(struct rdma_cmx_init_qp_attr)
 * @id: handle
 * @qp_state: the new state, enum ib_qp_state
 * @reserved: 0
 * @attr: out: attributes and their mask for that transition
 * @uid: 0, or the cookie of the id, as for ID_DESTROY: ENOENT if it has another
 *	one. An id from a CONNECT_REQUEST has none before ACCEPT. The struct may
 *	end before it
 *
 * EINVAL: the id is not bound to a device, or its connection does not have the
 * attributes of that state yet. ENODEV also: an id in RDMA_PS_IPOIB on a port
 * without multicast, which has no broadcast group and so no Q_Key. Likewise
 * CONN_QP_ATTR and ACCEPT.
 */
struct rdma_cmx_init_qp_attr {
	__u32 size;
	__u32 id;
	__u32 qp_state;
	__u32 reserved;
	struct ib_uverbs_qp_attr attr;
	__aligned_u64 uid;
};

/**
 * struct rdma_cmx_conn_qp_attr - RDMA_CMX_IO(CONN_QP_ATTR)
 * @size: sizeof(struct rdma_cmx_conn_qp_attr)
 * @id: handle, of a connection that has the peer's request or reply
 * @init_mask: out: attributes for the transition to INIT
 * @rtr_mask: out: those for the transition to RTR
 * @rts_mask: out: those for the transition to RTS
 * @reserved: 0
 * @attr: out: all of them; @attr.qp_state and @attr.qp_attr_mask are 0
 *
 * For a connected queue pair the command returns the same as three
 * RDMA_CMX_IO(INIT_QP_ATTR), for the transitions to RTS. An attribute of more
 * than one of them has one value. Q_Keys of other types: use INIT_QP_ATTR.
 */
struct rdma_cmx_conn_qp_attr {
	__u32 size;
	__u32 id;
	__u32 init_mask;
	__u32 rtr_mask;
	__u32 rts_mask;
	__u32 reserved;
	struct ib_uverbs_qp_attr attr;
};

/**
 * struct rdma_cmx_conn_param - connection parameters
 * @qp_num: queue pair, 24 bits
 * @qkey: Q_Key of a UD id, used in AF_IB only (else the CM's)
 * @responder_resources: outstanding RDMA reads that the peer may have here
 * @initiator_depth: outstanding RDMA reads towards the peer
 * @flow_control: hardware flow control is available; the lowest bit counts
 * @retry_count: retries of a lost packet; above 7: 7
 * @rnr_retry_count: retries after receiver not ready; above 7: 7, which means
 *	no limit
 * @srq: not 0: the queue pair uses a shared receive queue
 * @private_data_len: bytes of @private_data; the limit depends on the message
 *	and the address family (see rdma_connect(3)); above it: EINVAL
 * @ece_vendor_id: enhanced connection establishment, vendor
 * @ece_attr_mod: enhanced connection establishment, options
 * @private_data: bytes behind @private_data_len must be zero; the struct of
 *	a command may end behind the last used byte
 */
struct rdma_cmx_conn_param {
	__u32 qp_num;
	__u32 qkey;
	__u8 responder_resources;
	__u8 initiator_depth;
	__u8 flow_control;
	__u8 retry_count;
	__u8 rnr_retry_count;
	__u8 srq;
	__u16 private_data_len;
	__u32 ece_vendor_id;
	__u32 ece_attr_mod;
	__u8 private_data[RDMA_CMX_MAX_PRIVATE_DATA];
};

/**
 * struct rdma_cmx_connect - RDMA_CMX_IO(CONNECT) and RDMA_CMX_IO(ACCEPT)
 * @size: sizeof(struct rdma_cmx_connect)
 * @id: handle
 * @uid: ACCEPT: cookie of the id from now on; must not be 0 for an id from a
 *	CONNECT_REQUEST, 0 leaves the cookie of another; CONNECT: 0
 * @flags: ACCEPT: RDMA_CMX_ACCEPT_*; CONNECT: 0
 * @reserved: 0
 * @param: parameters
 *
 * After CONNECT an event follows: CONNECT_RESPONSE (of a datagram id, and on
 * iWARP, ESTABLISHED), REJECTED, UNREACHABLE or CONNECT_ERROR. Above the limits
 * of connection requests, see rdma_cmx(4), the request waits in the kernel, and
 * an event reports its errors. After ACCEPT of a request for a connection
 * ESTABLISHED or one of the last three follows.
 *
 * EINVAL: CONNECT: the id has no route, or has sent a request before; ACCEPT:
 * the id has no request or response, or its reply is outstanding; both: too
 * much private data. EAGAIN: max_events events of the file are unread; or, by
 * CONNECT, connect_queue connects of the user wait.
 */
struct rdma_cmx_connect {
	__u32 size;
	__u32 id;
	__aligned_u64 uid;
	__u32 flags;
	__u32 reserved;
	struct rdma_cmx_conn_param param;
};

enum {
	/*
	 * The command has no parameters, @param is zero (else EINVAL). It
	 * responds to CONNECT_RESPONSE of an id whose QP the caller sets up.
	 */
	RDMA_CMX_ACCEPT_NO_PARAM = 1 << 0,
};

/**
 * struct rdma_cmx_listen - RDMA_CMX_IO(LISTEN)
 * @size: sizeof(struct rdma_cmx_listen)
 * @id: handle
 * @backlog: maximum number of connection requests that can be read; further
 *	ones wait until one is read. An iWARP device may refuse further ones. 0,
 *	less, or above the module parameter max_backlog: that limit (see
 *	RDMA_CMX_IO(GET_INFO))
 * @reserved: 0
 *
 * The event CONNECT_REQUEST reports each request.
 *
 * EINVAL: the id listens, or has started to connect. EADDRINUSE: another id
 * listens there.
 */
struct rdma_cmx_listen {
	__u32 size;
	__u32 id;
	__s32 backlog;
	__u32 reserved;
};

/**
 * struct rdma_cmx_reject - RDMA_CMX_IO(REJECT)
 * @size: sizeof(struct rdma_cmx_reject)
 * @id: handle
 * @reason: 0: IB_CM_REJ_CONSUMER_DEFINED, else
 *	IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED
 * @reserved: 0
 * @private_data_len: bytes of @private_data
 * @reserved2: 0
 * @private_data: bytes behind @private_data_len must be zero
 *
 * EINVAL: the id has nothing to reject: the peer's reply to CONNECT or to
 * ACCEPT is outstanding.
 */
struct rdma_cmx_reject {
	__u32 size;
	__u32 id;
	__u8 reason;
	__u8 reserved;
	__u16 private_data_len;
	__u32 reserved2;
	__u8 private_data[RDMA_CMX_MAX_PRIVATE_DATA];
};

/**
 * struct rdma_cmx_id_arg - RDMA_CMX_IO(DISCONNECT) and RDMA_CMX_IO(NOTIFY)
 * @size: sizeof(struct rdma_cmx_id_arg)
 * @id: handle
 * @event: NOTIFY: enum ib_event_type; DISCONNECT: 0
 * @reserved: 0
 *
 * IB_EVENT_COMM_EST establishes a connection whose peer's last message was
 * lost. NOTIFY waits until the CM has processed it, for at most 5 seconds.
 * NOTIFY accepts IB_EVENT_PATH_MIG, which changes nothing: an id has no
 * alternate path. Any other event fails with EINVAL. On iWARP NOTIFY accepts
 * all events, and none changes anything.
 *
 * EINVAL: the id has no connection. EISCONN: NOTIFY: the connection is
 * established already.
 */
struct rdma_cmx_id_arg {
	__u32 size;
	__u32 id;
	__u32 event;
	__u32 reserved;
};

/**
 * struct rdma_cmx_write_event - RDMA_CMX_IO(WRITE_EVENT)
 * @size: sizeof(struct rdma_cmx_write_event)
 * @id: handle
 * @event: RDMA_CMX_EV_USER, or RDMA_CM_EVENT_ADDR_CHANGE; any other: EINVAL
 * @status: the event's status; ADDR_CHANGE: 0
 * @arg: the event's obj_uid; ADDR_CHANGE: 0
 *
 * A process that has read an ADDR_CHANGE, and cannot pass it on now, writes it
 * back: it is read again, after the unread events.
 *
 * EAGAIN: max_events events of the file are unread.
 */
struct rdma_cmx_write_event {
	__u32 size;
	__u32 id;
	__u32 event;
	__s32 status;
	__aligned_u64 arg;
};

#endif /* RDMA_CMX_IOCTL_ID_H */
