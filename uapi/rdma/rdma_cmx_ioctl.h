/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx.
 *
 * Version 1. From this version on structs only grow, at their end; numbers and
 * meanings stay.
 *
 * One open file is one context and one event channel. Objects (ids and
 * multicast memberships) are 32-bit handles of that file; 0 is never a
 * handle. Every command is an ioctl that takes one struct, read and written
 * in place, whose first field is its size in bytes:
 *
 *  - A struct that is shorter than the first published form of the command:
 *    EINVAL.
 *  - A struct that is longer than the kernel knows: taken if the unknown
 *    part is zero, otherwise, or above a page, E2BIG.
 *  - A shorter struct than the kernel knows (an older caller): the missing
 *    fields count as zero, and only @size bytes are written back.
 *
 * What a struct says of a field that is only "out" is not read, and it may be
 * uninitialised, if the field was there in version 1. One that came later must
 * be zero: to an older kernel it is a part that it does not know.
 *
 * Structs grow at their end only, as does the last one that a struct contains:
 * rdma_cmx_id_info in ID_BIND and ID_QUERY, rdma_cmx_conn_param in CONNECT and
 * ACCEPT, rdma_cmx_ai_query in RESOLVE_ADDRINFO and GETADDRINFO,
 * rdma_cmx_mc_param in JOIN and in the items of JOIN_MANY. Nothing is ever
 * added behind one of these. Records (struct rdma_cmx_event, struct
 * rdma_cmx_ai_entry) have lengths in them. All other structs inside of a struct
 * never change: rdma_cmx_addr, rdma_cmx_event_conn, rdma_cmx_event_ud, and
 * those of other headers.
 *
 * Pointers travel as __aligned_u64; the layout is the same for 32-bit and
 * 64-bit callers. There are no write() or read() commands.
 *
 * Errnos that every command may give:
 *
 *  ENOTTY      the command number is not known
 *  EFAULT      a pointer of the caller is bad; nothing was changed, unless
 *              another thread has unmapped the struct during the command
 *  EINVAL      a reserved field is not zero, or a value has no meaning
 *  EOPNOTSUPP  a flag or value that this kernel does not know
 *  E2BIG       see above
 *  ENOENT      no such handle in this file
 *  ENODEV      the RDMA device of the id is gone
 *  ENOMEM      out of memory; nothing was changed
 *  EMFILE      a limit of this context is reached (handles)
 *  EAGAIN      a limit is reached that passes by itself (requests, look-ups)
 *
 * What else a command may give stands at its struct. Failures of a name or
 * service resolution use the errnos listed at RDMA_CMX_AI_ERRNOS.
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

/* The number of a command never changes and is never used again. */
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
};

#define RDMA_CMX_IO(cmd)	_IO(RDMA_CMX_IOC_TYPE, RDMA_CMX_CMD_##cmd)

/* Bytes of private data that any CM message can carry at most. */
#define RDMA_CMX_MAX_PRIVATE_DATA	256

/* Longest node and service text, without a final NUL. */
#define RDMA_CMX_MAX_NODE	1024
#define RDMA_CMX_MAX_SERVICE	63

/**
 * struct rdma_cmx_addr - a socket address
 * @family: AF_INET, AF_INET6, AF_IB; 0 means that no address is given
 * @data: the rest of struct sockaddr_in, sockaddr_in6 or sockaddr_ib; what
 *	is behind the address of that family must be zero
 */
struct rdma_cmx_addr {
	__u16 family;
	__u8 data[46];
} __attribute__((aligned(8)));

/**
 * struct rdma_cmx_id_info - what an id is bound to
 * @node_guid: node GUID of the RDMA device, network byte order, 0 if unbound
 * @ibdev_index: index of the RDMA device, as rdma(8) shows it
 * @num_paths: path records that the id has
 * @pkey: P_Key, host byte order
 * @port_num: port, 0 if unbound
 * @reserved: 0
 * @src: local address with the port in the id's own family
 * @dst: peer address likewise; family 0 when there is none
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
 * @max_ids: out: ids and memberships of one context; above it: EMFILE
 * @max_requests: out: unfinished resolutions of one context; above it: EAGAIN
 * @max_user_requests: out: resolutions of one user, in all contexts, that are
 *	unfinished or whose answer was not taken; above it: EAGAIN
 * @max_events: out: unread events of one context; from there on what ends with
 *	an event is EAGAIN
 * @max_backlog: out: unread connection requests of one listening id
 * @max_joins: out: items of one JOIN_MANY; above it: E2BIG
 * @max_event: out: bytes of an event record at most: a buffer of so many takes
 *	any
 * @max_private_data: out: bytes of private data that CONNECT, ACCEPT and REJECT
 *	take at most; the limit of a message may be less
 *
 * The struct may end behind @max_requests. The first five limits are module
 * parameters, as they are now. @max_joins is not
 * below RDMA_CMX_MAX_JOINS. How many multicast groups a user may be a full
 * member of on RoCE v2 is a parameter of the module rdma_cmx, groups_per_user.
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
};

enum {
	/*
	 * The kernel looks up names for the calling thread. Not set in a
	 * network or mount namespace other than the initial one, or below
	 * another root directory: there the caller asks its own libc and
	 * hands the answer down (names in rdma_cmx_ai_query). A name without
	 * an answer is ENOKEY then, judged for each request.
	 */
	RDMA_CMX_FEATURE_NAMES = 1 << 0,
	/* RAI_SA works. */
	RDMA_CMX_FEATURE_SA = 1 << 1,
	/*
	 * JOIN takes flags and parameters and knows IPv6 groups on RoCE v2,
	 * JOIN_MANY exists, MULTICAST_JOIN says what the group is like.
	 */
	RDMA_CMX_FEATURE_MCAST = 1 << 2,
};

/*
 * Events beyond those of enum rdma_cm_event_type in older headers; the same
 * numbers as in librdmacm.
 *
 * A type that is added later comes only to a caller that has requested it, by a
 * field or flag of a command that an older caller does not have. The same goes
 * for a part of a record that makes one longer than RDMA_CMX_MAX_EVENT. Other
 * new parts may come to everybody, behind those that are known: readers skip
 * flags that they do not know.
 */
enum {
	RDMA_CMX_EV_ADDRINFO_RESOLVED = 16,
	RDMA_CMX_EV_ADDRINFO_ERROR = 17,
	RDMA_CMX_EV_USER = 18,
};

/* What the peer asks for or grants, as in struct rdma_cmx_conn_param. */
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

/* Where a UD queue pair sends to. */
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
 * @flags: RDMA_CMX_EVENT_*: which parts follow the fixed part, in the order
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
 * and struct rdma_cmx_mc_param grow at their end: a reader goes by the lengths,
 * takes what it knows of each, and takes as 0 what an older kernel does not
 * have. Flags that it does not know stand for parts behind those that it knows,
 * before @len; it skips them.
 *
 * Events of an id made by a CONNECT_REQUEST come after its ACCEPT, with the
 * cookie given there.
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
	 * struct rdma_cmx_id_info: with ADDR_RESOLVED and ROUTE_RESOLVED of
	 * the id itself, with CONNECT_REQUEST of the new id.
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
 * @max_events: take at most so many; 0: as many as fit
 * @buf: where struct rdma_cmx_event records go
 * @buf_len: bytes of @buf
 * @count: out: records written, at least one after success
 * @reader: cookie of who reads, see events_reported of struct
 *	rdma_cmx_destroy; an id from a CONNECT_REQUEST has it as its owner
 *
 * Waits for an event unless the file is O_NONBLOCK (EAGAIN). The wait ends
 * with EINTR or a restart on a signal. ENOSPC: @buf is too small for the
 * first event, which stays first; max_event bytes (GET_INFO) always suffice.
 * EFAULT likewise leaves the event first. A record behind the first that does
 * not fit or cannot be written ends the batch and comes with the next call.
 *
 * A command that ends with an event fails with EAGAIN, and does nothing, while
 * max_events events of the file (a module parameter) are unread. Of events that
 * no command asks for, as ADDR_CHANGE, an id has at most one of each type
 * unread; what comes meanwhile is one with it.
 *
 * An event that is dropped while it is written, for its id is destroyed or
 * migrated, does not count; the bytes behind the last record may be those of
 * such an event.
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
 * @uid: cookie that comes back with each event, not 0
 * @owner: cookie of who makes the id. Processes that share a file distinguish
 *	each other's ids by it, since handles are used again
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
 * struct rdma_cmx_destroy - RDMA_CMX_IO(ID_DESTROY) and RDMA_CMX_IO(LEAVE)
 * @size: sizeof(struct rdma_cmx_destroy)
 * @handle: id or membership
 * @events_reported: out: events of the object that GET_EVENTS handed out to
 *	a reader whose cookie is that of the id's owner, 0 or not
 * @reserved: 0
 * @owner: 0, or the cookie of the id's owner; ENOENT if it has another one,
 *	and nothing is destroyed
 *
 * When it returns no event of the object is in the queue and none will come.
 * Destroying an id destroys its memberships, its unread connection requests
 * and its resolution. Events of an id's memberships count for the id too,
 * connection requests count for the listening id.
 */
struct rdma_cmx_destroy {
	__u32 size;
	__u32 handle;
	__u32 events_reported;
	__u32 reserved;
	__aligned_u64 owner;
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
 * EADDRNOTAVAIL, EADDRINUSE, ENODEV, EINVAL, EACCES as rdma_bind_addr().
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
 * RDMA_OPTION_IB_PATH takes 1 to 64 struct ib_path_rec_data. The first one whose
 * flags are IB_PATH_GMP, _PRIMARY and _BIDIRECTIONAL, and no others, counts.
 * EOPNOTSUPP: no such level or option (rdma_set_option(3) says ENOSYS).
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
 * @src_fd: file that has the id now; the ioctl is made on the new file
 * @new_id: out: handle in the new file; the old one is gone
 * @events_reported: out: as for ID_DESTROY, events of the id in all its life
 *	until it left the old file; none that the new file hands out
 * @reserved: 0
 * @owner: as for ID_DESTROY; the id keeps the one that it has
 *
 * Unread events of the id move with it, in order; its memberships keep their
 * handles. EAGAIN: with them, more than max_events would be unread in the new
 * file. EBADF, EINVAL: @src_fd is not an rdma_cmx file. With @src_fd the
 * same file nothing happens and @new_id is @id.
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
 * @timeout_ms: milliseconds to wait for the resolution. 0: what is not known
 *	is not waited for; above 2147483647: there is no end
 * @reserved: 0
 * @src: local address, or family 0
 * @dst: address to resolve
 *
 * ADDR_RESOLVED with info, or ADDR_ERROR with a negative errno, follows.
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
 * @timeout_ms: milliseconds to wait for an answer of the subnet administrator;
 *	0: EINVAL; above 2147483647: there is no end. On RoCE and iWARP nothing
 *	is waited for
 * @reserved: 0
 *
 * ROUTE_RESOLVED with info and paths, or ROUTE_ERROR, follows.
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
 * @qp_state: enum ib_qp_state to go to
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
 * What three RDMA_CMX_IO(INIT_QP_ATTR) would tell, for the way of a
 * connected queue pair to RTS. An attribute of more than one of them has one
 * value.
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
 * @qkey: Q_Key of a UD id, taken in AF_IB only (else the CM's own)
 * @responder_resources: outstanding RDMA reads that the peer may have here
 * @initiator_depth: outstanding RDMA reads towards the peer
 * @flow_control: hardware flow control is available; the lowest bit counts
 * @retry_count: retries of a lost packet; above 7: 7
 * @rnr_retry_count: retries after receiver not ready; above 7: 7, which has no
 *	end
 * @srq: not 0: the queue pair uses a shared receive queue
 * @private_data_len: bytes of @private_data, the limit depends on the
 *	message and the address family (see rdma_connect(3)); EINVAL above
 * @ece_vendor_id: enhanced connection establishment, vendor
 * @ece_attr_mod: enhanced connection establishment, options
 * @private_data: bytes behind @private_data_len must be zero; the struct of
 *	a command may end behind the last byte that is used
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
	 * There are no parameters, @param is zero (else EINVAL): the answer
	 * to CONNECT_RESPONSE of an id whose QP is set up by hand.
	 */
	RDMA_CMX_ACCEPT_NO_PARAM = 1 << 0,
};

/**
 * struct rdma_cmx_listen - RDMA_CMX_IO(LISTEN)
 * @size: sizeof(struct rdma_cmx_listen)
 * @id: handle
 * @backlog: connection requests that may wait; 0, less, or above the module
 *	parameter max_backlog: that limit (see RDMA_CMX_IO(GET_INFO))
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
 * @reason: 0: IB_CM_REJ_CONSUMER_DEFINED, else IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED
 * @reserved: 0
 * @private_data_len: bytes of @private_data
 * @reserved2: 0
 * @private_data: bytes behind @private_data_len must be zero
 *
 * EINVAL: nothing to reject: the peer's answer to CONNECT or to ACCEPT is still
 * due.
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
 * Of NOTIFY's events IB_EVENT_COMM_EST establishes a connection whose peer's
 * last message was lost. IB_EVENT_PATH_MIG is taken and changes nothing: an id
 * has no alternate path. Any other is EINVAL; on iWARP all are taken, and none
 * changes anything.
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
 * @status: comes back as the event's status
 * @arg: comes back as the event's obj_uid
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
 * RDMA_CMX_AI_ERRNOS: how a resolution fails, as the errno of the call or the
 * negative status of ADDRINFO_ERROR, and the EAI code of rdma_getaddrinfo(3):
 *
 *  ENOENT         no such node or service             EAI_NONAME
 *  ENODATA        the node has no address             EAI_NODATA
 *  EADDRNOTAVAIL  none of the asked family            EAI_ADDRFAMILY
 *  EAGAIN         temporary failure, limit reached    EAI_AGAIN
 *  ETIMEDOUT      no answer before the deadline       EAI_AGAIN
 *  ECONNREFUSED   refused for good by the server      EAI_FAIL
 *  EOPNOTSUPP     unknown flags, RAI_SA with RAI_DNS  EAI_BADFLAGS
 *                 or with a node
 *  EAFNOSUPPORT   unknown family                      EAI_FAMILY
 *  EPROTOTYPE     qp_type against port_space          EAI_QPTYPE
 *  ENOMEM         out of memory                       EAI_MEMORY
 *  ENOKEY         no name helper is installed, or the host's names are not
 *                 the caller's: look up the name and hand the answer down
 *  others         as they are                         EAI_SYSTEM
 */

/**
 * struct rdma_cmx_ai_query - a question for the resolver
 * @ai_flags: RDMA_CMX_AI_*
 * @qp_type: enum ib_uverbs_qp_type, 0: any
 * @port_space: RDMA_PS_*, 0: any; with RDMA_CMX_AI_SA the answer has RDMA_PS_IB
 * @family: AF_INET, AF_INET6, AF_IB; 0: any, as is AF_IB without
 *	RDMA_CMX_AI_FAMILY
 * @port: port number in network byte order, valid with RDMA_CMX_AIQ_PORT
 * @flags: RDMA_CMX_AIQ_*
 * @timeout_ms: overall deadline, 0: the module's default; more than the
 *	module's limit counts as that limit
 * @node_len: bytes of @node, 0: no node is given
 * @service_len: bytes of @service; only with RDMA_CMX_AI_SA
 * @route_len: bytes of @route, a multiple of 72, at most 8 times that
 * @names_len: bytes of @names
 * @reserved: 0
 * @node: pointer to a name or numeric address, no final NUL
 * @service: pointer to a service name or id; an id is a number like those of
 *	C: decimal, hexadecimal with 0x, octal with 0
 * @route: pointer to struct ib_path_rec_data []: paths have to agree with one
 *	of them in each field that is not 0; @flags of a record do not count
 * @names: pointer to struct rdma_cmx_names: what the caller's own name
 *	service says about @node
 * @src: hints.ai_src_addr, or family 0
 * @dst: hints.ai_dst_addr, or family 0
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
};

enum {
	RDMA_CMX_AIQ_PORT = 1 << 0,
	/*
	 * RESOLVE_ADDRINFO only: the caller looks @node up and brings the
	 * answer with GIVE_NAMES. The deadline runs meanwhile.
	 */
	RDMA_CMX_AIQ_NAMES_LATER = 1 << 1,
};

/**
 * struct rdma_cmx_ai_entry - one address of an answer
 * @len: bytes of this entry with all that follows, a multiple of 8
 * @ai_flags: as asked
 * @qp_type: enum ib_uverbs_qp_type
 * @port_space: RDMA_PS_*
 * @family: family of @src and @dst
 * @canon_len: bytes of the canonical name, last, padded to a multiple of 8;
 *	the first entry of an answer carries it for all
 * @route_len: bytes of struct ib_path_rec_data [] behind this struct
 * @connect_len: bytes of connection data behind the route, padded likewise
 * @ibdev_index: RDMA device that reaches @dst, valid if @port_num is not 0
 * @port_num: its port, 0: none does
 * @header_len: bytes of this struct as the kernel knows it, a multiple of 8;
 *	the route follows. It grows at its end, as struct rdma_cmx_event
 * @src: source address, family 0: none
 * @dst: destination address, family 0: none
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
};

/**
 * struct rdma_cmx_resolve_addrinfo - RDMA_CMX_IO(RESOLVE_ADDRINFO)
 * @size: sizeof(struct rdma_cmx_resolve_addrinfo)
 * @id: handle
 * @query: the question
 *
 * ADDRINFO_RESOLVED or ADDRINFO_ERROR follows. EBUSY: one is outstanding, that
 * is, its event has not been read. A result that was not taken is dropped.
 */
struct rdma_cmx_resolve_addrinfo {
	__u32 size;
	__u32 id;
	struct rdma_cmx_ai_query query;
};

/**
 * struct rdma_cmx_give_names - RDMA_CMX_IO(GIVE_NAMES)
 * @size: sizeof(struct rdma_cmx_give_names)
 * @id: handle with an outstanding RDMA_CMX_AIQ_NAMES_LATER
 * @error: 0, or the errno that the look-up ended with
 * @names_len: bytes of @names
 * @names: pointer to struct rdma_cmx_names
 *
 * ENOENT: no such id; ESRCH: nothing is waiting for names.
 */
struct rdma_cmx_give_names {
	__u32 size;
	__u32 id;
	__u32 error;
	__u32 names_len;
	__aligned_u64 names;
};

/**
 * struct rdma_cmx_query_addrinfo - RDMA_CMX_IO(QUERY_ADDRINFO)
 * @size: sizeof(struct rdma_cmx_query_addrinfo)
 * @id: handle
 * @buf: where struct rdma_cmx_ai_entry records go
 * @buf_len: bytes of @buf
 * @len: out: bytes written, or needed
 *
 * Takes the result: a second time is ENOENT, as is a call before success. Of
 * calls at the same time one succeeds; the others may have written to @buf.
 * ENOSPC: @buf is too small, @len says what is needed, the result stays.
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
 * @buf: where struct rdma_cmx_ai_entry records go
 * @buf_len: bytes of @buf
 * @reserved: 0
 * @query: the question
 *
 * Waits for the answer; a signal ends the wait with EINTR. ENOSPC as above,
 * but the question has to be asked again. Only @len is written back.
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
 * struct rdma_cmx_mc_param - what a multicast group is like
 * @mask: RDMA_CMX_MC_*: which of the other fields are given. One that is not
 *	must be 0.
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
 * In a join: what the group has to be like. On InfiniBand the first member
 * makes the group so; the subnet administrator refuses another one whose
 * parameters differ from the group's. On RoCE these are properties of the
 * address that the member sends to, and RDMA_CMX_MC_PKEY, _MTU and _RATE are
 * EOPNOTSUPP.
 *
 * In MULTICAST_JOIN: what the group is like, as far as @mask says.
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

/* Flags of a join, beside its join_flags. */
enum {
	/*
	 * A membership that the fabric drops (another subnet manager, client
	 * reregistration, the port down and up) is joined again until it is
	 * left, and another MULTICAST_JOIN tells of that, where
	 * MULTICAST_ERROR would end it otherwise. The address may differ
	 * then. A join that fails from the start is not tried again. On RoCE
	 * nothing is dropped, so the flag has no effect there.
	 */
	RDMA_CMX_JOIN_PERSISTENT = 1 << 0,
};

/**
 * struct rdma_cmx_join - RDMA_CMX_IO(JOIN)
 * @size: sizeof(struct rdma_cmx_join)
 * @id: handle, bound to a device
 * @join_flags: RDMA_MC_JOIN_FLAG_FULLMEMBER or _SENDONLY_FULLMEMBER
 * @mc: out: handle of the membership
 * @uid: cookie that comes back as obj_uid
 * @addr: group: IPv4 or IPv6 multicast address, or MGID as sockaddr_ib
 * @flags: RDMA_CMX_JOIN_*; RDMA_CMX_FEATURE_MCAST
 * @reserved: 0
 * @param: what the group has to be like; RDMA_CMX_FEATURE_MCAST
 *
 * MULTICAST_JOIN or MULTICAST_ERROR follows, unless the id's DEVICE_REMOVAL
 * comes first: that is the last event of all its memberships, too. The struct
 * may end behind @addr. EINVAL: not a multicast address, a parameter out of
 * range, or the id is not bound or not for UD. EADDRINUSE: the id has joined
 * the group with another join flag, flag or parameter.
 * EOPNOTSUPP: a flag, parameter or address that the device cannot do; as the
 * status of MULTICAST_ERROR: the subnet administrator has no send-only full
 * members. EAFNOSUPPORT: an IPv6 group on RoCE v2 needs an id that is bound
 * to an IPv6 address. EAGAIN: a full member on RoCE v2 above the module
 * parameter groups_per_user. ENODEV: the netdevice is gone or has no IP.
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

/* Items of one JOIN_MANY that each kernel takes. */
#define RDMA_CMX_MAX_JOINS	1024

/**
 * struct rdma_cmx_join_item - one join of JOIN_MANY
 * @join_flags: as in struct rdma_cmx_join
 * @flags: as in struct rdma_cmx_join
 * @mc: out: handle of the membership, 0 if there is none
 * @error: out: 0, or the negative errno that JOIN would have failed with;
 *	-EINTR: not tried, for the process is being killed
 * @uid: cookie that comes back as obj_uid
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
 * @count: how many, 1 to max_joins (GET_INFO); more: E2BIG
 * @item_size: sizeof(struct rdma_cmx_join_item), by which the items follow
 *	each other. As for the struct of a command: shorter than the first
 *	published form: EINVAL; longer than the kernel knows and not zero
 *	there, or more than a page: E2BIG; the known part is written back
 * @joined: out: joins that were started
 * @reserved: 0
 *
 * Starts all joins, which then go on at the same time. An event of its own
 * follows for each that was started, as after JOIN. Success if the id could
 * be used at all: the items tell which joins were not started, and why.
 * Handles are written before anything is joined. EFAULT: nothing was joined,
 * unless @items or the struct became unwritable during the call.
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

#endif /* RDMA_CMX_IOCTL_H */
