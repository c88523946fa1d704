/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx.
 *
 * This is version 1. From this version on a struct grows only at its end.
 * Numbers and meanings do not change.
 *
 * One open file is one context and one event channel. Objects (ids, multicast
 * memberships and services) are 32-bit handles of that file; 0 is never a
 * handle. Every command is an ioctl with one struct, which the kernel reads
 * and writes in place. The first field of the struct is its size in bytes:
 *
 *  - The struct is shorter than the first published form of the command: the
 *    command fails with EINVAL.
 *  - The struct is longer than the kernel knows: the kernel accepts it if the
 *    unknown part is zero. Otherwise, and above a page, the command fails with
 *    E2BIG.
 *  - The struct is shorter than the kernel knows (an older caller): the kernel
 *    takes the missing fields as zero, and writes back only @size bytes.
 *
 * The kernel ignores the input value of "out" fields of version 1; they may be
 * uninitialised. "out" fields that were added later must be zero: an older
 * kernel does not know them.
 *
 * A struct that is the last field of another one grows at its end, too:
 * rdma_cmx_id_info in ID_BIND and ID_QUERY, rdma_cmx_conn_param in CONNECT and
 * ACCEPT, rdma_cmx_ai_query in RESOLVE_ADDRINFO and GETADDRINFO,
 * rdma_cmx_mc_param in JOIN and in the items of JOIN_MANY. No field is ever
 * added behind one of these. Records (struct rdma_cmx_event, struct
 * rdma_cmx_ai_entry) contain their lengths. All other structs inside of a
 * struct never change: rdma_cmx_addr, rdma_cmx_event_conn, rdma_cmx_event_ud,
 * and those of other headers.
 *
 * A pointer is passed as __aligned_u64; the layout is the same for 32-bit and
 * 64-bit callers. There are no write() or read() commands.
 *
 * Every command may fail with these errnos:
 *
 *  ENOTTY      the command number is not known
 *  EFAULT      a pointer of the caller is invalid; nothing was changed, unless
 *              another thread has unmapped the struct during the command
 *  EINVAL      a reserved field is not zero, or a value has no meaning
 *  EOPNOTSUPP  this kernel does not know a flag or value
 *  E2BIG       see above
 *  ENOENT      this file has no such handle
 *  ENODEV      the RDMA device of the id is gone
 *  ENOMEM      out of memory; nothing was changed
 *  EMFILE      a limit of this context is reached (handles)
 *  EAGAIN      a temporary limit is reached (requests, lookups)
 *
 * The comment at the struct of a command lists its other errnos. A name or
 * service resolution fails with the errnos listed at RDMA_CMX_AI_ERRNOS.
 */
#ifndef RDMA_CMX_IOCTL_H
#define RDMA_CMX_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

#define RDMA_CMX_DEVICE		"/dev/infiniband/rdma_cmx"
#define RDMA_CMX_ABI_VERSION	1

#define RDMA_CMX_IOC_TYPE	0xBD

/* The number of a command never changes and is never reused. */
enum {
	RDMA_CMX_CMD_GET_INFO = 0x00,
	RDMA_CMX_CMD_GET_EVENTS,
	RDMA_CMX_CMD_ID_CREATE,
	RDMA_CMX_CMD_ID_DESTROY,
	RDMA_CMX_CMD_ID_BIND,
	RDMA_CMX_CMD_ID_QUERY,
	RDMA_CMX_CMD_ID_SET_OPTION,
	RDMA_CMX_CMD_ID_MIGRATE,
	RDMA_CMX_CMD_RESOLVE_ADDR,
	RDMA_CMX_CMD_RESOLVE_ROUTE,
	RDMA_CMX_CMD_INIT_QP_ATTR,
	RDMA_CMX_CMD_CONNECT,
	RDMA_CMX_CMD_LISTEN,
	RDMA_CMX_CMD_ACCEPT,
	RDMA_CMX_CMD_REJECT,
	RDMA_CMX_CMD_DISCONNECT,
	RDMA_CMX_CMD_NOTIFY,
	RDMA_CMX_CMD_WRITE_EVENT,
	RDMA_CMX_CMD_RESOLVE_ADDRINFO,
	RDMA_CMX_CMD_GIVE_NAMES,
	RDMA_CMX_CMD_QUERY_ADDRINFO,
	RDMA_CMX_CMD_GETADDRINFO,
	RDMA_CMX_CMD_JOIN,
	RDMA_CMX_CMD_LEAVE,
	RDMA_CMX_CMD_CONN_QP_ATTR,
	RDMA_CMX_CMD_JOIN_MANY,
	RDMA_CMX_CMD_ADVERTISE,
	RDMA_CMX_CMD_WITHDRAW,
	RDMA_CMX_CMD_QUERY_ADVERTISED,
	RDMA_CMX_CMD_GET_SERVICES,
	RDMA_CMX_CMD_RESOLVE_ANY,
	RDMA_CMX_CMD_QUERY_CANDIDATES,
	RDMA_CMX_CMD_GET_PATHS,
	RDMA_CMX_CMD_DROP_PATHS,
};

#define RDMA_CMX_IO(cmd)	_IO(RDMA_CMX_IOC_TYPE, RDMA_CMX_CMD_##cmd)

/* The maximum length of private data in any CM message, in bytes. */
#define RDMA_CMX_MAX_PRIVATE_DATA	256

/* The maximum length of a node and a service text, without a final NUL. */
#define RDMA_CMX_MAX_NODE	1024
#define RDMA_CMX_MAX_SERVICE	63

/**
 * struct rdma_cmx_addr - a socket address
 * @family: AF_INET, AF_INET6, AF_IB; 0 means that no address is given
 * @data: the rest of struct sockaddr_in, sockaddr_in6 or sockaddr_ib; the
 *	bytes behind the address of that family must be zero
 */
struct rdma_cmx_addr {
	__u16 family;
	__u8 data[46];
} __attribute__((aligned(8)));

/**
 * struct rdma_cmx_id_info - device and addresses of an id
 * @node_guid: node GUID of the RDMA device, network byte order, 0 if unbound
 * @ibdev_index: index of the RDMA device, as rdma(8) shows it
 * @num_paths: number of path records of the id
 * @pkey: P_Key, host byte order
 * @port_num: port, 0 if unbound
 * @reserved: 0
 * @src: local address with the port, in the id's family
 * @dst: peer address, likewise; family 0 if there is none
 * @src_ib: local GID as sockaddr_ib (P_Key, GID, service id)
 * @dst_ib: peer GID likewise
 */
struct rdma_cmx_id_info {
	__aligned_u64 node_guid;
	__u32 ibdev_index;
	__u32 num_paths;
	__u16 pkey;
	__u8 port_num;
	__u8 reserved[5];
	struct rdma_cmx_addr src;
	struct rdma_cmx_addr dst;
	struct rdma_cmx_addr src_ib;
	struct rdma_cmx_addr dst_ib;
};

/**
 * struct rdma_cmx_get_info - RDMA_CMX_IO(GET_INFO)
 * @size: sizeof(struct rdma_cmx_get_info)
 * @abi_version: out: RDMA_CMX_ABI_VERSION; grows, never breaks
 * @features: out: RDMA_CMX_FEATURE_* bits
 * @max_ids: out: ids, memberships and services of one context; above it: EMFILE
 * @max_requests: out: unfinished resolutions of one context; above it: EAGAIN
 * @max_user_requests: out: resolutions of one user, in all contexts, that are
 *	unfinished or whose result was not taken; above it: EAGAIN
 * @max_events: out: unread events of one context; at this limit a command that
 *	ends with an event fails with EAGAIN
 * @max_backlog: out: unread connection requests of one listening id
 * @max_joins: out: items of one JOIN_MANY; above it: E2BIG
 * @max_event: out: maximum length of an event record in bytes; a buffer of this
 *	size holds any record
 * @max_private_data: out: maximum length of private data in CONNECT, ACCEPT and
 *	REJECT, in bytes; the limit of a message may be less
 * @max_user_groups: out: multicast groups that one user may be a full member of
 *	on RoCE v2; above it: EAGAIN. The parameter groups_per_user of rdma_cmx
 * @reserved: out: 0
 *
 * The struct may end behind @max_requests, or before @max_user_groups. The first
 * five limits are the present values of module parameters, as is
 * @max_user_groups. @max_joins is not below RDMA_CMX_MAX_JOINS.
 */
struct rdma_cmx_get_info {
	__u32 size;
	__u32 abi_version;
	__aligned_u64 features;
	__u32 max_ids;
	__u32 max_requests;
	__u32 max_user_requests;
	__u32 max_events;
	__u32 max_backlog;
	__u32 max_joins;
	__u32 max_event;
	__u32 max_private_data;
	__u32 max_user_groups;
	__u32 reserved;
};

enum {
	/*
	 * The kernel looks up names for the calling thread. The flag is not
	 * set in a network or mount namespace other than the initial one, or
	 * below another root directory. There the caller looks up the name
	 * with its libc and passes the answer to the kernel (names in
	 * rdma_cmx_ai_query). A name without an answer fails with ENOKEY then.
	 * The kernel decides this for each request.
	 */
	RDMA_CMX_FEATURE_NAMES = 1 << 0,
	/* RAI_SA works. */
	RDMA_CMX_FEATURE_SA = 1 << 1,
	/*
	 * JOIN takes flags and parameters and knows IPv6 groups on RoCE v2,
	 * JOIN_MANY exists, MULTICAST_JOIN reports the group's parameters.
	 */
	RDMA_CMX_FEATURE_MCAST = 1 << 2,
	/* ADVERTISE, WITHDRAW and QUERY_ADVERTISED exist. */
	RDMA_CMX_FEATURE_ADVERTISE = 1 << 3,
	/* GET_SERVICES exists. */
	RDMA_CMX_FEATURE_SERVICES = 1 << 4,
	/* RESOLVE_ANY and QUERY_CANDIDATES exist. */
	RDMA_CMX_FEATURE_CONNECT = 1 << 5,
	/* GET_PATHS and DROP_PATHS exist. */
	RDMA_CMX_FEATURE_PATHS = 1 << 6,
};

/*
 * These events are not in enum rdma_cm_event_type of older headers. They have
 * the same numbers as in librdmacm.
 *
 * The kernel reports a type that is added later only to a caller that has
 * requested it, by a field or flag of a command that an older caller does not
 * have. The same applies to a part that makes a record longer than
 * RDMA_CMX_MAX_EVENT. Any reader may receive other new parts, behind the known
 * ones: readers skip flags that they do not know.
 */
enum {
	RDMA_CMX_EV_ADDRINFO_RESOLVED = 16,
	RDMA_CMX_EV_ADDRINFO_ERROR = 17,
	RDMA_CMX_EV_USER = 18,
};

/* The peer requests or grants these, as in struct rdma_cmx_conn_param. */
struct rdma_cmx_event_conn {
	__u32 qp_num;
	__u8 responder_resources;
	__u8 initiator_depth;
	__u8 flow_control;
	__u8 retry_count;
	__u8 rnr_retry_count;
	__u8 srq;
	__u8 reserved[2];
	__u32 ece_vendor_id;
	__u32 ece_attr_mod;
};

/* The destination of a UD queue pair. */
struct rdma_cmx_event_ud {
	__u32 qp_num;
	__u32 qkey;
	struct ib_uverbs_ah_attr ah_attr;
};

/**
 * struct rdma_cmx_event - one event, RDMA_CMX_IO(GET_EVENTS)
 * @len: bytes of this record, a multiple of 8; the next record follows
 * @event: enum rdma_cm_event_type or RDMA_CMX_EV_*
 * @uid: cookie of the id (for CONNECT_REQUEST: of the listening id)
 * @id: handle of the id (for CONNECT_REQUEST: of the listening id)
 * @obj: CONNECT_REQUEST: handle of the new id, which belongs to the reader;
 *	MULTICAST_JOIN, MULTICAST_ERROR: handle of the membership; else 0
 * @obj_uid: cookie of the membership; USER: the argument of WRITE_EVENT
 * @status: 0, a negative errno, or the transport's reject reason
 * @flags: RDMA_CMX_EVENT_*: the parts that follow the fixed part, in the order
 *	of the bits
 * @num_paths: records behind RDMA_CMX_EVENT_PATHS
 * @reserved: 0
 * @private_data_len: bytes behind RDMA_CMX_EVENT_PRIVATE_DATA, padded to a
 *	multiple of 8 with zeros
 * @header_len: bytes of this struct as the kernel knows it; the first part
 *	follows
 * @info_len: bytes behind RDMA_CMX_EVENT_INFO, else 0
 * @mc_param_len: bytes behind RDMA_CMX_EVENT_MC_PARAM, else 0
 * @param: conn for the events of a connection, ud for SIDR replies,
 *	requests of UD ids and MULTICAST_JOIN; zero without the flag
 *
 * The three lengths are multiples of 8. This struct, struct rdma_cmx_id_info
 * and struct rdma_cmx_mc_param grow at their end. A reader uses the lengths to
 * find each part, reads the fields that it knows, and takes fields that an
 * older kernel does not have as 0. Flags that the reader does not know stand
 * for parts behind the known ones, within @len; the reader skips them.
 *
 * The kernel reports events of an id made by a CONNECT_REQUEST after its
 * ACCEPT, with the cookie given there.
 */
struct rdma_cmx_event {
	__u32 len;
	__u32 event;
	__aligned_u64 uid;
	__u32 id;
	__u32 obj;
	__aligned_u64 obj_uid;
	__s32 status;
	__u16 flags;
	__u8 num_paths;
	__u8 reserved;
	__u16 private_data_len;
	__u16 header_len;
	__u16 info_len;
	__u16 mc_param_len;
	union {
		struct rdma_cmx_event_conn conn;
		struct rdma_cmx_event_ud ud;
		__aligned_u64 align[6];
	} param;
};

enum {
	RDMA_CMX_EVENT_CONN = 1 << 0,		/* param.conn is valid */
	RDMA_CMX_EVENT_UD = 1 << 1,		/* param.ud is valid */
	/*
	 * struct rdma_cmx_id_info, with ADDR_RESOLVED and ROUTE_RESOLVED that
	 * of the id itself, with CONNECT_REQUEST that of the new id.
	 */
	RDMA_CMX_EVENT_INFO = 1 << 2,
	RDMA_CMX_EVENT_PATHS = 1 << 3,		/* struct ib_path_rec_data [] */
	RDMA_CMX_EVENT_PRIVATE_DATA = 1 << 4,
	RDMA_CMX_EVENT_MC_PARAM = 1 << 5,	/* struct rdma_cmx_mc_param */
};

/* No event is longer than this, unless the reader has requested it. */
#define RDMA_CMX_MAX_EVENT	1024

/**
 * struct rdma_cmx_get_events - RDMA_CMX_IO(GET_EVENTS)
 * @size: sizeof(struct rdma_cmx_get_events)
 * @max_events: maximum number of events to take; 0: as many as fit
 * @buf: buffer for struct rdma_cmx_event records
 * @buf_len: bytes of @buf
 * @count: out: number of records written, at least one after success
 * @reader: cookie of the reader, see events_reported of struct
 *	rdma_cmx_destroy; it becomes the owner of an id from a CONNECT_REQUEST
 *
 * The command waits for an event unless the file is O_NONBLOCK (EAGAIN). A
 * signal ends the wait with EINTR or a restart. ENOSPC: @buf is too small for
 * the first event, which stays first; max_event bytes (GET_INFO) always
 * suffice. EFAULT likewise leaves the event first. A record behind the first
 * that does not fit or cannot be written ends the batch; the next call returns
 * it.
 *
 * A command that ends with an event fails with EAGAIN, and does nothing, while
 * max_events events of the file (a module parameter) are unread. An id has at
 * most one unread event of each type that no command requests, as ADDR_CHANGE;
 * further events of the type are merged with it.
 *
 * @count excludes an event whose id is destroyed or migrated while the kernel
 * writes its record; the bytes behind the last record may be those of such an
 * event.
 */
struct rdma_cmx_get_events {
	__u32 size;
	__u32 max_events;
	__aligned_u64 buf;
	__u32 buf_len;
	__u32 count;
	__aligned_u64 reader;
};

/**
 * struct rdma_cmx_id_create - RDMA_CMX_IO(ID_CREATE)
 * @size: sizeof(struct rdma_cmx_id_create)
 * @port_space: RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB or RDMA_PS_IB
 * @qp_type: enum ib_uverbs_qp_type: RC for TCP, UD for UDP and IPOIB; for IB
 *	RC, UC, UD, RAW_PACKET, XRC_INI or XRC_TGT; else EINVAL. An answer of
 *	the resolver with TCP may have UC or XRC: its connections are RC's
 * @id: out: handle
 * @uid: cookie, returned with each event, not 0
 * @owner: cookie of the process that makes the id. Processes that share a file
 *	distinguish each other's ids by it, since handles are reused
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
 * as rdma_bind_addr() does.
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
 * _BIDIRECTIONAL. EOPNOTSUPP: no such level or option (rdma_set_option(3)
 * returns ENOSYS).
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
 * file. EBADF, EINVAL: @src_fd is not an rdma_cmx file. If @src_fd is the same
 * file, nothing happens and @new_id is @id.
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
 * follows.
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
 * The event ROUTE_RESOLVED with info and paths, or ROUTE_ERROR, follows.
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
 */
struct rdma_cmx_init_qp_attr {
	__u32 size;
	__u32 id;
	__u32 qp_state;
	__u32 reserved;
	struct ib_uverbs_qp_attr attr;
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
 * The command returns the same as three RDMA_CMX_IO(INIT_QP_ATTR), for the
 * transitions of a connected queue pair to RTS. An attribute of more than one
 * of them has one value.
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
 * @backlog: maximum number of unread connection requests; 0, less, or above
 *	the module parameter max_backlog: that limit (see RDMA_CMX_IO(GET_INFO))
 * @reserved: 0
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
 * lost. NOTIFY accepts IB_EVENT_PATH_MIG, which changes nothing: an id has no
 * alternate path. Any other event fails with EINVAL. On iWARP NOTIFY accepts
 * all events, and none changes anything.
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
 * @event: RDMA_CMX_EV_USER; any other: EINVAL
 * @status: the event's status
 * @arg: the event's obj_uid
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

/* ai_flags, the same values as RAI_* of <rdma/rdma_cma.h>. */
enum {
	RDMA_CMX_AI_PASSIVE = 0x01,
	RDMA_CMX_AI_NUMERICHOST = 0x02,
	RDMA_CMX_AI_NOROUTE = 0x04,
	RDMA_CMX_AI_FAMILY = 0x08,
	RDMA_CMX_AI_SA = 0x10,
	RDMA_CMX_AI_DNS = 0x20,
};

/*
 * RDMA_CMX_AI_ERRNOS: the errno of a failed resolution, returned by the call or
 * as the negative status of ADDRINFO_ERROR, and the EAI code of
 * rdma_getaddrinfo(3):
 *
 *  ENOENT         no such node or service             EAI_NONAME
 *  ENODATA        the node has no address             EAI_NODATA
 *  EADDRNOTAVAIL  none of the requested family        EAI_ADDRFAMILY
 *  EAGAIN         temporary failure, limit reached    EAI_AGAIN
 *  ETIMEDOUT      no answer before the deadline       EAI_AGAIN
 *  ECONNREFUSED   permanently refused by the server   EAI_FAIL
 *  EOPNOTSUPP     unknown flags, RAI_SA with RAI_DNS  EAI_BADFLAGS
 *                 or with a node
 *  EAFNOSUPPORT   unknown family                      EAI_FAMILY
 *  EPROTOTYPE     qp_type contradicts port_space      EAI_QPTYPE
 *  ENOMEM         out of memory                       EAI_MEMORY
 *  ENOKEY         no name helper is installed, or the host's names are not
 *                 the caller's: the caller looks up the name and passes the
 *                 answer to the kernel
 *  ENODEV         no RDMA device has the name @dev, or EAI_SYSTEM
 *                 with RAI_SA no port can be queried
 *  ENXIO          @dev has no port @dev_port          EAI_SYSTEM
 *  ENETUNREACH    @dev reaches none of the addresses  EAI_SYSTEM
 *  others         unchanged                           EAI_SYSTEM
 */

/**
 * struct rdma_cmx_ai_query - a query to the resolver
 * @ai_flags: RDMA_CMX_AI_*
 * @qp_type: enum ib_uverbs_qp_type, 0: any
 * @port_space: RDMA_PS_*, 0: any; with RDMA_CMX_AI_SA the answer has RDMA_PS_IB
 * @family: AF_INET, AF_INET6, AF_IB; 0: any, as is AF_IB without
 *	RDMA_CMX_AI_FAMILY
 * @port: port number in network byte order, valid with RDMA_CMX_AIQ_PORT,
 *	else 0
 * @flags: RDMA_CMX_AIQ_*
 * @timeout_ms: overall deadline in milliseconds; 0: the module's default; above
 *	the module's limit: that limit
 * @node_len: bytes of @node, 0: no node is given
 * @service_len: bytes of @service; only with RDMA_CMX_AI_SA
 * @route_len: bytes of @route, a multiple of 72, at most 8 times that
 * @names_len: bytes of @names
 * @reserved: 0
 * @node: pointer to a name or numeric address, no final NUL
 * @service: pointer to a service name or id; an id is a number as in C:
 *	decimal, hexadecimal with 0x, octal with 0
 * @route: pointer to struct ib_path_rec_data []: paths have to match one of
 *	them in each field that is not 0; the kernel ignores @flags of a record
 * @names: pointer to struct rdma_cmx_names: the answer of the caller's name
 *	service for @node
 * @src: hints.ai_src_addr, or family 0
 * @dst: hints.ai_dst_addr, or family 0
 * @dev: pointer to the name of an RDMA device as rdma(8) shows it, no final
 *	NUL: the result has entries of this device only. Without @src the source
 *	is one of the device, if its interface is in the subnet of the
 *	destination. With RDMA_CMX_AI_PASSIVE a wildcard address becomes the
 *	device's first address of its family
 * @dev_len: bytes of @dev, 0: no device is given; then @dev and @dev_port are 0
 * @dev_port: port of the device, 0: any
 *
 * The struct may end behind @dst. A kernel that does not know @dev refuses it
 * with E2BIG.
 */
struct rdma_cmx_ai_query {
	__u32 ai_flags;
	__u32 qp_type;
	__u32 port_space;
	__u16 family;
	__be16 port;
	__u32 flags;
	__u32 timeout_ms;
	__u32 node_len;
	__u32 service_len;
	__u32 route_len;
	__u32 names_len;
	__aligned_u64 reserved;
	__aligned_u64 node;
	__aligned_u64 service;
	__aligned_u64 route;
	__aligned_u64 names;
	struct rdma_cmx_addr src;
	struct rdma_cmx_addr dst;
	__aligned_u64 dev;
	__u32 dev_len;
	__u32 dev_port;
};

enum {
	RDMA_CMX_AIQ_PORT = 1 << 0,
	/*
	 * RESOLVE_ADDRINFO only: the caller looks up @node and passes the
	 * answer with GIVE_NAMES. The deadline runs meanwhile.
	 */
	RDMA_CMX_AIQ_NAMES_LATER = 1 << 1,
	/*
	 * RESOLVE_ADDRINFO only, without RDMA_CMX_AIQ_PORT and
	 * RDMA_CMX_AI_SA (EINVAL): the caller looks up the port of a service
	 * and passes it with GIVE_NAMES. The kernel looks up a name after that.
	 * The deadline runs meanwhile. A kernel that does not know the flag
	 * refuses the query with EOPNOTSUPP.
	 */
	RDMA_CMX_AIQ_PORT_LATER = 1 << 2,
	/*
	 * RESOLVE_ADDRINFO only, with RDMA_CMX_AI_SA (else EINVAL): query the
	 * subnet administrators of all InfiniBand ports, as GETADDRINFO does;
	 * the id need not be bound. RDMA_CMX_FEATURE_CONNECT
	 */
	RDMA_CMX_AIQ_ALL_PORTS = 1 << 3,
};

/* Types of GIDs. */
enum {
	RDMA_CMX_GID_NONE = 0,
	RDMA_CMX_GID_IB = 1,
	RDMA_CMX_GID_ROCE_V1 = 2,
	RDMA_CMX_GID_ROCE_V2 = 3,
};

/**
 * struct rdma_cmx_ai_entry - one address of a result
 * @len: bytes of this entry with all that follows, a multiple of 8
 * @ai_flags: as requested
 * @qp_type: enum ib_uverbs_qp_type
 * @port_space: RDMA_PS_*
 * @family: family of @src and @dst
 * @canon_len: bytes of the canonical name, last, padded to a multiple of 8;
 *	the first entry of a result has it for all
 * @route_len: bytes of struct ib_path_rec_data [] behind this struct
 * @connect_len: bytes of connection data behind the route, padded likewise
 * @ibdev_index: RDMA device that reaches @dst, valid if @port_num is not 0
 * @port_num: port of that device; 0: no device reaches @dst
 * @header_len: bytes of this struct as the kernel knows it, a multiple of 8;
 *	the route follows. The struct grows at its end, as struct rdma_cmx_event
 * @src: source address, family 0: none
 * @dst: destination address, family 0: none
 * @gid_index: of the source in the port's GID table at the time of the query,
 *	valid if @gid_type is not RDMA_CMX_GID_NONE. Where a RoCE port has the
 *	GID as both types it is that of RoCE v2
 * @gid_type: RDMA_CMX_GID_*; _NONE: no device, no GID as on iWARP, or a kernel
 *	whose struct ends behind @dst
 */
struct rdma_cmx_ai_entry {
	__u32 len;
	__u32 ai_flags;
	__u32 qp_type;
	__u32 port_space;
	__u16 family;
	__u16 canon_len;
	__u32 route_len;
	__u32 connect_len;
	__u32 ibdev_index;
	__u32 port_num;
	__u32 header_len;
	struct rdma_cmx_addr src;
	struct rdma_cmx_addr dst;
	__u32 gid_index;
	__u32 gid_type;
};

/**
 * struct rdma_cmx_resolve_addrinfo - RDMA_CMX_IO(RESOLVE_ADDRINFO)
 * @size: sizeof(struct rdma_cmx_resolve_addrinfo)
 * @id: handle
 * @query: the query
 *
 * The event ADDRINFO_RESOLVED or ADDRINFO_ERROR follows. EBUSY: a resolution is
 * outstanding, that is, its event has not been read. The command drops a result
 * that was not taken.
 */
struct rdma_cmx_resolve_addrinfo {
	__u32 size;
	__u32 id;
	struct rdma_cmx_ai_query query;
};

/**
 * struct rdma_cmx_give_names - RDMA_CMX_IO(GIVE_NAMES)
 * @size: sizeof(struct rdma_cmx_give_names)
 * @id: handle with an outstanding RDMA_CMX_AIQ_NAMES_LATER or _PORT_LATER
 * @error: 0, or the errno of a lookup; then all that follows is 0
 * @names_len: bytes of @names
 * @names: pointer to struct rdma_cmx_names, for RDMA_CMX_AIQ_NAMES_LATER
 * @qp_type: with RDMA_CMX_GIVE_PORT, enum ib_uverbs_qp_type, RC or UD: the
 *	service has @port for this type only, so the result has no entries of
 *	the other. EINVAL if the query has a qp_type, or a port_space other than
 *	RDMA_PS_IB. 0: @port is for all types of the query
 * @port: with RDMA_CMX_GIVE_PORT, port number in network byte order
 * @flags: RDMA_CMX_GIVE_*
 * @reserved: 0
 *
 * The struct may end behind @names. One command brings all that the query waits
 * for. ENOENT: no such id; ESRCH: no resolution waits for its caller; EINVAL:
 * something is missing, or was not requested; EBADMSG: @names is malformed.
 * After the last two the query goes on waiting.
 */
struct rdma_cmx_give_names {
	__u32 size;
	__u32 id;
	__u32 error;
	__u32 names_len;
	__aligned_u64 names;
	__u32 qp_type;
	__be16 port;
	__u16 flags;
	__aligned_u64 reserved;
};

enum {
	/* @port is valid, for RDMA_CMX_AIQ_PORT_LATER. */
	RDMA_CMX_GIVE_PORT = 1 << 0,
};

/**
 * struct rdma_cmx_query_addrinfo - RDMA_CMX_IO(QUERY_ADDRINFO)
 * @size: sizeof(struct rdma_cmx_query_addrinfo)
 * @id: handle
 * @buf: buffer for struct rdma_cmx_ai_entry records
 * @buf_len: bytes of @buf
 * @len: out: bytes written, or needed
 *
 * The command takes the result: a second call fails with ENOENT, as does a call
 * before success. Of concurrent calls one succeeds; the others may have written
 * to @buf. ENOSPC: @buf is too small, @len is the required size, the result
 * stays.
 */
struct rdma_cmx_query_addrinfo {
	__u32 size;
	__u32 id;
	__aligned_u64 buf;
	__u32 buf_len;
	__u32 len;
};

/**
 * struct rdma_cmx_getaddrinfo - RDMA_CMX_IO(GETADDRINFO)
 * @size: sizeof(struct rdma_cmx_getaddrinfo)
 * @len: out: bytes written, or needed
 * @buf: buffer for struct rdma_cmx_ai_entry records
 * @buf_len: bytes of @buf
 * @reserved: 0
 * @query: the query
 *
 * The command waits for the result; a signal ends the wait with EINTR. ENOSPC
 * as above, but the caller has to send the query again. The kernel writes back
 * only @len.
 */
struct rdma_cmx_getaddrinfo {
	__u32 size;
	__u32 len;
	__aligned_u64 buf;
	__u32 buf_len;
	__u32 reserved;
	struct rdma_cmx_ai_query query;
};

/**
 * struct rdma_cmx_mc_param - parameters of a multicast group
 * @mask: RDMA_CMX_MC_*: the other fields that are given. A field that is not
 *	given must be 0.
 * @qkey: Q_Key, not 0. One with the highest bit set is privileged: EPERM
 *	without CAP_NET_RAW
 * @flow_label: flow label, 20 bits
 * @pkey: P_Key, which the port must have
 * @mtu: enum ib_mtu: 1 to 5 for 256 to 4096 bytes
 * @rate: enum ib_rate
 * @sl: service level, 4 bits
 * @traffic_class: traffic class
 * @hop_limit: hop limit
 * @reserved: 0
 *
 * A join requires these parameters of the group. On InfiniBand the first member
 * creates the group with them; the subnet administrator refuses another member
 * whose parameters differ from the group's. On RoCE these are properties of the
 * address that the member sends to, and RDMA_CMX_MC_PKEY, _MTU and _RATE fail
 * with EOPNOTSUPP.
 *
 * MULTICAST_JOIN reports the group's parameters that are in @mask.
 */
struct rdma_cmx_mc_param {
	__u32 mask;
	__u32 qkey;
	__u32 flow_label;
	__u16 pkey;
	__u8 mtu;
	__u8 rate;
	__u8 sl;
	__u8 traffic_class;
	__u8 hop_limit;
	__u8 reserved[5];
};

enum {
	RDMA_CMX_MC_QKEY = 1 << 0,
	RDMA_CMX_MC_PKEY = 1 << 1,
	RDMA_CMX_MC_MTU = 1 << 2,
	RDMA_CMX_MC_RATE = 1 << 3,
	RDMA_CMX_MC_SL = 1 << 4,
	RDMA_CMX_MC_TRAFFIC_CLASS = 1 << 5,
	RDMA_CMX_MC_FLOW_LABEL = 1 << 6,
	RDMA_CMX_MC_HOP_LIMIT = 1 << 7,
};

/* Flags of a join, in addition to its join_flags. */
enum {
	/*
	 * The kernel rejoins a membership that the fabric drops (another
	 * subnet manager, client reregistration, the port down and up) until
	 * the caller leaves it. Another MULTICAST_JOIN reports that; without
	 * the flag MULTICAST_ERROR ends the membership. The address may
	 * differ then. The kernel does not retry a join that fails from the
	 * start. On RoCE nothing is dropped, so the flag has no effect there.
	 */
	RDMA_CMX_JOIN_PERSISTENT = 1 << 0,
};

/**
 * struct rdma_cmx_join - RDMA_CMX_IO(JOIN)
 * @size: sizeof(struct rdma_cmx_join)
 * @id: handle, bound to a device
 * @join_flags: RDMA_MC_JOIN_FLAG_FULLMEMBER or _SENDONLY_FULLMEMBER
 * @mc: out: handle of the membership
 * @uid: cookie, returned as obj_uid
 * @addr: group: IPv4 or IPv6 multicast address, or MGID as sockaddr_ib
 * @flags: RDMA_CMX_JOIN_*; RDMA_CMX_FEATURE_MCAST
 * @reserved: 0
 * @param: parameters that the group must have; RDMA_CMX_FEATURE_MCAST
 *
 * The event MULTICAST_JOIN or MULTICAST_ERROR follows, unless the id's
 * DEVICE_REMOVAL comes first: that is the last event of all its memberships,
 * too. The struct may end behind @addr. EINVAL: not a multicast address, a
 * parameter out of range, or the id is not bound or not for UD. EADDRINUSE: the
 * id has joined the group with another join flag, flag or parameter.
 * EOPNOTSUPP: the device does not support a flag, parameter or address; as the
 * status of MULTICAST_ERROR: the subnet administrator has no send-only full
 * members. EAFNOSUPPORT: an IPv6 group on RoCE v2 needs an id that is bound to
 * an IPv6 address. EAGAIN: a full member on RoCE v2 above the module parameter
 * groups_per_user. ENODEV: the netdevice is gone or has no IP.
 */
struct rdma_cmx_join {
	__u32 size;
	__u32 id;
	__u32 join_flags;
	__u32 mc;
	__aligned_u64 uid;
	struct rdma_cmx_addr addr;
	__u32 flags;
	__u32 reserved;
	struct rdma_cmx_mc_param param;
};

/* The number of items of one JOIN_MANY that every kernel takes. */
#define RDMA_CMX_MAX_JOINS	1024

/**
 * struct rdma_cmx_join_item - one join of JOIN_MANY
 * @join_flags: as in struct rdma_cmx_join
 * @flags: as in struct rdma_cmx_join
 * @mc: out: handle of the membership, 0 if there is none
 * @error: out: 0, or the negative errno that JOIN would have failed with;
 *	-EINTR: not started because the process is being killed
 * @uid: cookie, returned as obj_uid
 * @addr: as in struct rdma_cmx_join
 * @param: as in struct rdma_cmx_join
 */
struct rdma_cmx_join_item {
	__u32 join_flags;
	__u32 flags;
	__u32 mc;
	__s32 error;
	__aligned_u64 uid;
	struct rdma_cmx_addr addr;
	struct rdma_cmx_mc_param param;
};

/**
 * struct rdma_cmx_join_many - RDMA_CMX_IO(JOIN_MANY)
 * @size: sizeof(struct rdma_cmx_join_many)
 * @id: handle, bound to a device
 * @items: pointer to struct rdma_cmx_join_item []
 * @count: number of items, 1 to max_joins (GET_INFO); more: E2BIG
 * @item_size: sizeof(struct rdma_cmx_join_item), the distance between two
 *	items. As for the struct of a command: shorter than the first published
 *	form: EINVAL; longer than the kernel knows and not zero there, or more
 *	than a page: E2BIG; the kernel writes back the known part
 * @joined: out: number of joins that were started
 * @reserved: 0
 *
 * The command starts all joins, which then proceed concurrently. A separate
 * event follows for each started join, as after JOIN. The command succeeds if
 * the id could be used at all; @error of an item is the reason why its join was
 * not started. The kernel writes the handles before it starts a join. EFAULT:
 * no group was joined, unless @items or the struct became unwritable during the
 * call.
 */
struct rdma_cmx_join_many {
	__u32 size;
	__u32 id;
	__aligned_u64 items;
	__u32 count;
	__u32 item_size;
	__u32 joined;
	__u32 reserved;
};

/* Bytes of the service data of a ServiceRecord. */
#define RDMA_CMX_SERVICE_DATA	64

/* A lease without end. */
#define RDMA_CMX_SERVICE_FOREVER	0xffffffff

/**
 * struct rdma_cmx_advertise - RDMA_CMX_IO(ADVERTISE)
 * @size: sizeof(struct rdma_cmx_advertise)
 * @handle: out: handle of the service
 * @uid: cookie, for WITHDRAW
 * @owner: cookie of the process, as in struct rdma_cmx_id_create
 * @service_id: service id, host byte order, not 0
 * @flags: 0
 * @lease_s: lease in seconds, at least 4 (ERANGE); 0: the parameter
 *	service_lease_s of rdma_cmx; RDMA_CMX_SERVICE_FOREVER: without end
 * @dev_port: the only port of @dev, 0: all
 * @pkey: P_Key, host byte order; 0: the first one of each port
 * @reserved: 0
 * @name: name of 1 to RDMA_CMX_MAX_SERVICE bytes; zeros follow
 * @dev: name of the only RDMA device as rdma(8) shows it; zeros follow. All
 *	zeros: all InfiniBand devices, those that come later included
 * @data: the service data as they are on the wire
 *
 * The kernel sets a ServiceRecord at the subnet administrator of each
 * InfiniBand port that the caller's network namespace may use, renews it before
 * the lease ends, and sets it again after an event of the port. The command
 * waits for none: QUERY_ADVERTISED reports what came of it. WITHDRAW, and the
 * last close of the file, delete the records in the background.
 *
 * The service is on devices whose network namespace the user namespace of the
 * caller's network namespace owns, or one below it. It holds the network
 * namespace as a socket does.
 *
 * poll reports EPOLLPRI while a service of the file has changed since
 * QUERY_ADVERTISED was last called for it.
 *
 * EPERM: the caller lacks CAP_NET_ADMIN in the user namespace that owns its
 * network namespace. EINVAL: no name, a name or @dev that does not end with a
 * zero or has one in the middle, id 0, a P_Key without a partition, or a port
 * without a device. ENODEV, ENXIO: there is no such InfiniBand device or port.
 * EEXIST: a service of this host has the id in this partition on a port of this
 * one. EAGAIN: the user has services_per_user services, or all users have
 * services_max (parameters of rdma_cmx); a service counts until its records are
 * deleted.
 */
struct rdma_cmx_advertise {
	__u32 size;
	__u32 handle;
	__aligned_u64 uid;
	__aligned_u64 owner;
	__aligned_u64 service_id;
	__u32 flags;
	__u32 lease_s;
	__u32 dev_port;
	__u16 pkey;
	__u16 reserved;
	__u8 name[RDMA_CMX_MAX_SERVICE + 1];
	__u8 dev[64];
	__u8 data[RDMA_CMX_SERVICE_DATA];
};

/* States of a service at a port. */
enum {
	/* The subnet administrator has the record. */
	RDMA_CMX_SERVICE_PORT_SET = 1,
	/*
	 * It has not, or has not confirmed the last renewal. Attempts follow
	 * without end.
	 */
	RDMA_CMX_SERVICE_PORT_TRYING = 2,
	/* The port is not active. The record is set when it is. */
	RDMA_CMX_SERVICE_PORT_DOWN = 3,
};

/**
 * struct rdma_cmx_service_port - a service at one port
 * @ibdev_index: index of the RDMA device, as rdma(8) shows it
 * @port_num: its port
 * @state: RDMA_CMX_SERVICE_PORT_*
 * @error: 0, or the negative errno of the last attempt, if it is not set:
 *	-ETIMEDOUT: the subnet administrator does not respond; -EAGAIN: it is
 *	busy, or the user has too many queries; -ECONNREFUSED: it refuses the
 *	record; -EBADMSG: its response is malformed; -ENOENT: the port does not
 *	have the P_Key; -EEXIST: another service has the id in this partition on
 *	this port; -ENODEV: the port is not active; -ENOMEM
 * @lease_s: the lease that was granted, if it is set
 * @pkey: P_Key of the record, likewise
 * @reserved: 0
 * @gid: ServiceGID of the record, likewise
 */
struct rdma_cmx_service_port {
	__u32 ibdev_index;
	__u32 port_num;
	__u32 state;
	__s32 error;
	__u32 lease_s;
	__u16 pkey;
	__u16 reserved;
	__u8 gid[16];
};

/**
 * struct rdma_cmx_query_advertised - RDMA_CMX_IO(QUERY_ADVERTISED)
 * @size: sizeof(struct rdma_cmx_query_advertised)
 * @handle: handle of a service
 * @ports: pointer to struct rdma_cmx_service_port []
 * @max_ports: number of ports that @ports has room for; 0: @ports is not used
 * @port_size: sizeof(struct rdma_cmx_service_port), the distance between two
 *	ports. Shorter than the first published form: EINVAL; more than a page:
 *	E2BIG. The kernel writes zeros behind the part that it knows
 * @num_ports: out: ports that the service is at. If these are more than
 *	@max_ports, @ports has the first @max_ports
 * @num_set: out: of those, in state SET
 * @error: out: the error of a port that is not set, 0 if none has one; -ENODEV
 *	without a port
 * @reserved: 0
 */
struct rdma_cmx_query_advertised {
	__u32 size;
	__u32 handle;
	__aligned_u64 ports;
	__u32 max_ports;
	__u32 port_size;
	__u32 num_ports;
	__u32 num_set;
	__s32 error;
	__u32 reserved;
};

/**
 * struct rdma_cmx_service_record - a ServiceRecord, without its key
 * @service_id: service id, host byte order
 * @gid: ServiceGID
 * @lease_s: lease in seconds, as the SA reports it
 * @pkey: P_Key, host byte order
 * @reserved: 0
 * @ibdev_index: RDMA device of the port whose SA has it
 * @port_num: that port
 * @name: name; a zero ends it if it is shorter than the array
 * @data: the service data as they are on the wire
 */
struct rdma_cmx_service_record {
	__aligned_u64 service_id;
	__u8 gid[16];
	__u32 lease_s;
	__u16 pkey;
	__u16 reserved;
	__u32 ibdev_index;
	__u32 port_num;
	__u8 name[RDMA_CMX_MAX_SERVICE + 1];
	__u8 data[RDMA_CMX_SERVICE_DATA];
};

/**
 * struct rdma_cmx_get_services - RDMA_CMX_IO(GET_SERVICES)
 * @size: sizeof(struct rdma_cmx_get_services)
 * @flags: 0
 * @records: pointer to struct rdma_cmx_service_record []
 * @max_records: number of records that @records has room for
 * @record_size: sizeof(struct rdma_cmx_service_record), the distance between
 *	two records, as port_size of struct rdma_cmx_query_advertised
 * @timeout_ms: deadline, as in struct rdma_cmx_ai_query
 * @dev_port: the only port of @dev, 0: all
 * @num_records: out: number of records, also if there is no room for them
 * @num_ports: out: ports whose SA has responded
 * @error: out: 0, or the negative errno of the first port whose SA has not
 * @reserved: 0
 * @service: name of a service, or its id as a number; zeros follow. All zeros:
 *	all services
 * @dev: name of the only RDMA device; zeros follow. All zeros: all devices
 *
 * The command queries the subnet administrators of the active InfiniBand ports
 * of the caller's network namespace in parallel and waits for the responses,
 * which may come from the cache. A record that several have is there once. A
 * service that is not registered is no error, @num_records is 0.
 *
 * All services are queried on devices that the caller may advertise on, see
 * struct rdma_cmx_advertise.
 *
 * ENOSPC: there are more than @max_records records; the caller sends the query
 * again. EPERM: all services, and the caller lacks CAP_NET_ADMIN in the user
 * namespace that owns its network namespace. EINVAL: a text that does not end
 * with a zero or has one in the middle, a port without a device. ENODEV: no
 * port is active, or there is no such device; ENXIO: the device has no such
 * port. EOVERFLOW: more than 16384 records. EINTR: a signal. If no SA has
 * responded: the error of the first port, as in struct rdma_cmx_service_port,
 * or EOVERFLOW: its SA has more records than the parameter sa_max_records.
 */
struct rdma_cmx_get_services {
	__u32 size;
	__u32 flags;
	__aligned_u64 records;
	__u32 max_records;
	__u32 record_size;
	__u32 timeout_ms;
	__u32 dev_port;
	__u32 num_records;
	__u32 num_ports;
	__s32 error;
	__u32 reserved;
	__u8 service[RDMA_CMX_MAX_SERVICE + 1];
	__u8 dev[64];
};

/**
 * struct rdma_cmx_resolve_any - RDMA_CMX_IO(RESOLVE_ANY)
 * @size: sizeof(struct rdma_cmx_resolve_any)
 * @id: handle
 * @flags: RDMA_CMX_ANY_*
 * @timeout_ms: deadline in milliseconds, of this command and of those with
 *	RDMA_CMX_ANY_NEXT that follow it; 0: EINVAL. With RDMA_CMX_ANY_NEXT: 0
 * @delay_ms: after this time the next candidate starts beside those that are
 *	outstanding; 0: 250, else at least 10
 * @step: RDMA_CMX_ANY_NEXT: RDMA_CMX_STEP_SETUP or _REQUEST: where the last
 *	candidate has failed; else 0
 * @error: RDMA_CMX_ANY_NEXT: a positive errno: why; else 0
 * @reason: RDMA_CMX_ANY_NEXT: the status of REJECTED, or 0; else 0
 *
 * The command resolves address and route of the candidates: the entries of the
 * result that RESOLVE_ADDRINFO has left, and that was not taken. They race as
 * in RFC 8305, in their order: the next one starts when one has failed or is
 * slow. The first one that has its route wins: the id is then bound, addressed
 * and routed to it. Candidates of another port space or QP type than the id's
 * take no part.
 *
 * The event ROUTE_RESOLVED with info and paths, or ROUTE_ERROR, follows. Its
 * status is the errno of the candidate that came furthest; -ETIMEDOUT: the
 * deadline; -ENETUNREACH: no RDMA device reaches a candidate. Until then
 * commands on the id fail with EBUSY, but GET_EVENTS, ID_DESTROY, ID_MIGRATE,
 * WRITE_EVENT and QUERY_ADDRINFO. After ROUTE_ERROR the id is not bound.
 *
 * The id keeps its type of service and its ACK timeout. A CONNECT that follows
 * puts the data that the entry needs in front of the private data.
 *
 * With RDMA_CMX_ANY_NEXT the command continues after the winner has failed: the
 * kernel destroys the connection and what belongs to it, and the candidates
 * that have not failed race. ENOENT: all have. ETIMEDOUT: the deadline is over.
 * EINVAL: there is no winner.
 *
 * ENOENT: there is no result. EINVAL: the id is bound, or the result is for
 * RDMA_CMX_AI_PASSIVE. EAGAIN: a limit of the resolutions, among which the
 * command counts until its event. EBUSY: one is outstanding. ENODEV: the id has
 * lost its device.
 */
struct rdma_cmx_resolve_any {
	__u32 size;
	__u32 id;
	__u32 flags;
	__u32 timeout_ms;
	__u32 delay_ms;
	__u32 step;
	__u32 error;
	__u32 reason;
};

enum {
	/* Continue with the candidates that have not failed. */
	RDMA_CMX_ANY_NEXT = 1 << 0,
	/*
	 * The deadline is that of the connection, too: UNREACHABLE with
	 * -ETIMEDOUT follows a CONNECT that has no reply when the winner has
	 * had its share of the time: with other candidates left five seconds at
	 * most. No reply is reported after that. RDMA_CMX_ANY_NEXT continues.
	 */
	RDMA_CMX_ANY_CONNECT = 1 << 1,
};

/* How far a candidate has come. */
enum {
	RDMA_CMX_STEP_NO_DEVICE = 0,	/* no device reaches it */
	RDMA_CMX_STEP_UNTRIED = 1,
	RDMA_CMX_STEP_ADDR = 2,		/* its address was resolved */
	RDMA_CMX_STEP_ROUTE = 3,	/* its route was resolved */
	RDMA_CMX_STEP_SETUP = 4,	/* the caller made a queue pair */
	RDMA_CMX_STEP_REQUEST = 5,	/* it was connected */
	RDMA_CMX_STEP_UP = 6,		/* nothing has failed */
};

/**
 * struct rdma_cmx_candidate_info - what became of one entry of the result
 * @src: its source, family 0: none
 * @dst: its destination
 * @ibdev_index: its RDMA device, valid if @port_num is not 0
 * @port_num: port of the device, 0: none
 * @step: RDMA_CMX_STEP_*: what was done last
 * @error: 0: the winner, or untried; else the negative errno of @step.
 *	-ENETUNREACH: no RDMA device reaches it; -EPROTOTYPE: of another port
 *	space or QP type; -ECANCELED: outstanding when another one won
 * @reason: status of REJECTED, else 0
 * @attempts: how often it was tried
 * @start_ms: when it was first started, since the command without
 *	RDMA_CMX_ANY_NEXT
 * @end_ms: when it was routed or failed
 */
struct rdma_cmx_candidate_info {
	struct rdma_cmx_addr src;
	struct rdma_cmx_addr dst;
	__u32 ibdev_index;
	__u32 port_num;
	__u32 step;
	__s32 error;
	__u32 reason;
	__u32 attempts;
	__u32 start_ms;
	__u32 end_ms;
};

/**
 * struct rdma_cmx_query_candidates - RDMA_CMX_IO(QUERY_CANDIDATES)
 * @size: sizeof(struct rdma_cmx_query_candidates)
 * @id: handle
 * @candidates: pointer to struct rdma_cmx_candidate_info []
 * @max_candidates: number that @candidates has room for; 0: it is not used
 * @candidate_size: sizeof(struct rdma_cmx_candidate_info), the distance between
 *	two, as port_size of struct rdma_cmx_query_advertised
 * @num_candidates: out: number of candidates. If these are more than
 *	@max_candidates, @candidates has the first @max_candidates
 * @winner: out: index of the one that the id is routed to, @num_candidates: none
 * @reserved: 0
 *
 * The command reports what RESOLVE_ANY did. ENOENT: nothing, or its
 * candidates were not tried; EBUSY: it is outstanding.
 */
struct rdma_cmx_query_candidates {
	__u32 size;
	__u32 id;
	__aligned_u64 candidates;
	__u32 max_candidates;
	__u32 candidate_size;
	__u32 num_candidates;
	__u32 winner;
	__aligned_u64 reserved;
};

/**
 * struct rdma_cmx_cached_path - a cached path
 * @ibdev_index: RDMA device of the port whose SA has reported it
 * @port_num: that port
 * @num_paths: path records of the response
 * @age_ms: since its query was sent
 * @left_ms: after this time the next query is sent to the SA, unless an event
 *	of the port, a report of the SA or a failed connect comes first
 * @reserved: 0
 * @path: the first of the records, as the SA has sent it; its flags are 0
 */
struct rdma_cmx_cached_path {
	__u32 ibdev_index;
	__u32 port_num;
	__u32 num_paths;
	__u32 age_ms;
	__u32 left_ms;
	__u32 reserved;
	struct ib_path_rec_data path;
};

/**
 * struct rdma_cmx_get_paths - RDMA_CMX_IO(GET_PATHS)
 * @size: sizeof(struct rdma_cmx_get_paths)
 * @flags: 0
 * @paths: pointer to struct rdma_cmx_cached_path []
 * @max_paths: number of paths that @paths has room for; 0: @paths is not used
 * @path_size: sizeof(struct rdma_cmx_cached_path), the distance between two
 *	paths, as port_size of struct rdma_cmx_query_advertised
 * @dev_port: the only port of @dev, 0: all
 * @num_paths: out: number of paths, also if there is no room for them
 * @dev: name of the only RDMA device; zeros follow. All zeros: all devices
 *
 * The command reports the paths that resolutions of the caller's network
 * namespace have left in the cache, of active InfiniBand ports that this
 * namespace may use. It sends no query. Paths are in the order in which they
 * were cached, port by port. A path that is dropped during the command may be
 * reported; one that is cached during it may not be. None is reported twice.
 *
 * ENOSPC: there are more than @max_paths paths, of which @paths has the first
 * @max_paths. EINVAL: a text that does not end with a zero or has one in the
 * middle, a port without a device, or @path_size is too small. ENODEV: there is
 * no such InfiniBand device; ENXIO: the device has no such port. EINTR: the
 * process is being killed.
 */
struct rdma_cmx_get_paths {
	__u32 size;
	__u32 flags;
	__aligned_u64 paths;
	__u32 max_paths;
	__u32 path_size;
	__u32 dev_port;
	__u32 num_paths;
	__u8 dev[64];
};

/**
 * struct rdma_cmx_drop_paths - RDMA_CMX_IO(DROP_PATHS)
 * @size: sizeof(struct rdma_cmx_drop_paths)
 * @flags: 0
 * @dgid: only the paths whose queries were for this GID; all zeros: all paths
 * @dev_port: the only port of @dev, 0: all
 * @num_paths: out: number of paths that were dropped
 * @dev: name of the only RDMA device; zeros follow. All zeros: all devices
 *
 * The command drops paths that GET_PATHS reports, and none of another network
 * namespace. The next resolution of such a path sends a query to the SA. A
 * query that is outstanding completes, but its response is not cached. Ids and
 * results keep the paths that they have.
 *
 * EPERM: the caller lacks CAP_NET_ADMIN in the user namespace that owns its
 * network namespace. EINVAL: a text that does not end with a zero or has one in
 * the middle, a port without a device. ENODEV, ENXIO: as for GET_PATHS. EINTR:
 * the process is being killed; some paths may be dropped.
 */
struct rdma_cmx_drop_paths {
	__u32 size;
	__u32 flags;
	__u8 dgid[16];
	__u32 dev_port;
	__u32 num_paths;
	__u8 dev[64];
};

#endif /* RDMA_CMX_IOCTL_H */
