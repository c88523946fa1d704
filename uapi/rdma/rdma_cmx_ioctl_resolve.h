/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx: resolution of names and services, and
 * the race of the addresses.
 * rdma_cmx_ioctl.h has the rules.
 */
#ifndef RDMA_CMX_IOCTL_RESOLVE_H
#define RDMA_CMX_IOCTL_RESOLVE_H

#include <linux/types.h>
#include <rdma/rdma_cmx_ioctl_id.h>
#include <rdma/rdma_cmx_ioctl_types.h>

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
 *  ETIMEDOUT      no response before the deadline     EAI_AGAIN
 *  ECONNREFUSED   permanently refused by the server   EAI_FAIL
 *  EOPNOTSUPP     unknown flags, RAI_SA with RAI_DNS  EAI_BADFLAGS
 *                 or with a node
 *  EAFNOSUPPORT   unknown family                      EAI_FAMILY
 *  EPROTOTYPE     qp_type contradicts port_space      EAI_QPTYPE
 *  ENOMEM         out of memory                       EAI_MEMORY
 *  ENOKEY         no name helper is installed, or     EAI_SYSTEM
 *                 the host's names are not the caller's: the caller looks up
 *                 the name and passes the result to the kernel
 *  ENODEV         there is no RDMA device @dev, or    EAI_SYSTEM
 *                 with RAI_SA no port can be queried
 *  ENXIO          @dev has no port @dev_port          EAI_SYSTEM
 *  ENETUNREACH    @dev reaches none of the addresses  EAI_SYSTEM
 *  EINVAL         invalid attributes                  EAI_SYSTEM
 *  others         unchanged                           EAI_SYSTEM
 */

/**
 * struct rdma_cmx_ai_query - a query to the resolver
 * @ai_flags: RDMA_CMX_AI_*
 * @qp_type: enum ib_uverbs_qp_type, 0: any
 * @port_space: RDMA_PS_*, 0: any; with RDMA_CMX_AI_SA the result has RDMA_PS_IB
 * @family: AF_INET, AF_INET6, AF_IB; 0: any, as is AF_IB without
 *	RDMA_CMX_AI_FAMILY
 * @port: port number in network byte order, valid with RDMA_CMX_AIQ_PORT,
 *	else 0
 * @flags: RDMA_CMX_AIQ_*
 * @timeout_ms: overall deadline in milliseconds; 0: the module's default; above
 *	the module's limit: that limit
 * @node_len: bytes of @node, 0: no node is given
 * @service_len: bytes of @service; only with RDMA_CMX_AI_SA
 * @route_len: bytes of @route, a multiple of 72, at most RDMA_CMX_MAX_ROUTES
 *	times that
 * @names_len: bytes of @names
 * @reserved: 0
 * @node: pointer to a name or numeric address, no final NUL
 * @service: pointer to a service name or id; an id is a number as in C:
 *	decimal, hexadecimal with 0x, octal with 0
 * @route: pointer to struct ib_path_rec_data []: paths have to match one of
 *	them in each field that is not 0; the kernel ignores @flags of a record
 * @names: pointer to struct rdma_cmx_names: the result of the caller's lookup
 *	of @node
 * @src: hints.ai_src_addr, or family 0
 * @dst: hints.ai_dst_addr, or family 0
 * @dev: pointer to the name of an RDMA device as rdma(8) shows it, no final
 *	NUL: the result has entries of this device only. Without @src the source
 *	is one of the device, if its interface is in the subnet of the
 *	destination; with IPv6 on IPoIB, if the routing table prefers this
 *	interface to others of the subnet, too. With RDMA_CMX_AI_PASSIVE a
 *	wildcard address becomes the device's first address of its family
 * @dev_len: bytes of @dev, 0: no device is given; then @dev and @dev_port are 0
 * @dev_port: port of the device, 0: any
 *
 * The struct may end behind @dst. A kernel that does not know @dev returns
 * E2BIG.
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
	 * result with GIVE_NAMES. The deadline runs meanwhile.
	 */
	RDMA_CMX_AIQ_NAMES_LATER = 1 << 1,
	/*
	 * RESOLVE_ADDRINFO only, without RDMA_CMX_AIQ_PORT and RDMA_CMX_AI_SA
	 * (EINVAL): the caller looks up the port of a service and passes it
	 * with GIVE_NAMES. The kernel looks up a name after that. The deadline
	 * runs meanwhile. A kernel that does not know the flag returns
	 * EOPNOTSUPP.
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
 * The struct may end behind @names. One command passes all that the query waits
 * for. ENOENT: no such id; ESRCH: no resolution waits for its caller; EINVAL:
 * something is missing, or was not requested; EBADMSG: @names is malformed.
 * After EINVAL, EBADMSG and ENOMEM the query continues to wait.
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

/* Maximum queue pairs of one RESOLVE_ANY */
#define RDMA_CMX_MAX_ANY_QPS	8

/**
 * struct rdma_cmx_any_qp - a queue pair for a candidate
 * @candidate: index of the candidate, as in QUERY_CANDIDATES
 * @qp_num: number of the queue pair, 24 bits, on the candidate's device
 * @srq: not 0: it uses a shared receive queue
 * @reserved: 0
 */
struct rdma_cmx_any_qp {
	__u32 candidate;
	__u32 qp_num;
	__u32 srq;
	__u32 reserved;
};

/**
 * struct rdma_cmx_resolve_any - RDMA_CMX_IO(RESOLVE_ANY)
 * @size: sizeof(struct rdma_cmx_resolve_any)
 * @id: handle
 * @flags: RDMA_CMX_ANY_*
 * @timeout_ms: deadline in milliseconds, of this command and of the commands
 *	with RDMA_CMX_ANY_NEXT that follow it, without waits of requests for
 *	connect_window, up to connect_wait_ms; 0: EINVAL. With
 *	RDMA_CMX_ANY_NEXT: 0
 * @delay_ms: milliseconds from one start to the next while candidates are
 *	outstanding; 0: 250, else at least 10. With RDMA_CMX_ANY_NEXT: 0
 * @step: RDMA_CMX_ANY_NEXT: RDMA_CMX_STEP_SETUP or _REQUEST: the step in which
 *	the winner has failed; else 0
 * @error: RDMA_CMX_ANY_NEXT: the positive errno of @step; else 0
 * @reason: RDMA_CMX_ANY_NEXT: the status of REJECTED, or 0; else 0
 * @qps: RDMA_CMX_ANY_RACE: pointer to struct rdma_cmx_any_qp [], in the order
 *	of their candidates, at most one for each; else 0
 * @num_qps: RDMA_CMX_ANY_RACE: number of @qps, 1 to RDMA_CMX_MAX_ANY_QPS; else
 *	0
 * @reserved: 0
 * @param: RDMA_CMX_ANY_RACE: parameters of all requests. qp_num, qkey, srq and
 *	the fields of ECE are 0. Without the flag all of it is 0
 *
 * The struct may end before @qps, or behind the last used byte. A kernel that
 * does not know @qps returns E2BIG, or EOPNOTSUPP for the flag.
 *
 * The command resolves address and route of the candidates: the entries of the
 * result of RESOLVE_ADDRINFO, which was not taken. They race as in RFC 8305, in
 * their order: the next one starts when one has failed, or @delay_ms after
 * the last start. The first one that has its route wins: the id is then bound
 * to it, with its address and route. Candidates with another port space or QP
 * type than the id do not race.
 *
 * The event ROUTE_RESOLVED with info and paths, or ROUTE_ERROR, follows. The
 * status of ROUTE_ERROR is the errno of the candidate with the last step;
 * -ETIMEDOUT: the deadline has passed; -ENETUNREACH: no RDMA device reaches a
 * candidate. Until the event, commands on the id fail with EBUSY, except
 * GET_EVENTS, ID_DESTROY, ID_MIGRATE, WRITE_EVENT and QUERY_ADDRINFO. After
 * ROUTE_ERROR the id is not bound.
 *
 * The id keeps its type of service and its ACK timeout. A CONNECT that follows
 * puts the connection data of the entry before the private data.
 *
 * With RDMA_CMX_ANY_NEXT the command continues after the winner has failed: the
 * kernel destroys the connection and all that belongs to it, and the candidates
 * that have not failed race. ENOENT: all have failed. ETIMEDOUT: the deadline
 * has passed. EINVAL: there is no winner, or the id listens or has memberships.
 *
 * With RDMA_CMX_ANY_RACE the connections race: a request with the number of its
 * queue pair is sent to each candidate that has its route. The first one whose
 * peer replies wins; the kernel ends all others before it reports that. Peers
 * of those that have a request, or have replied, receive REJ. CONNECT_RESPONSE
 * follows, with info, paths, parameters and private data: the id is as after
 * CONNECT and that event. ROUTE_ERROR follows if none wins. A candidate without
 * a queue pair is not tried, and its error is ENOBUFS; one that has another
 * device than in the result fails with ENODEV, one of iWARP with EOPNOTSUPP.
 * After RDMA_CMX_ANY_NEXT the others, and those that were not tried, race for
 * their route.
 *
 * The caller owns the queue pairs. The kernel only puts their numbers into the
 * requests, as CONNECT does. The caller keeps them until the event, or until
 * ID_DESTROY has returned.
 *
 * ENOENT: there is no result. EINVAL: the id is bound, or the result is for
 * RDMA_CMX_AI_PASSIVE. EAGAIN: a limit of the resolutions is reached; nothing
 * has changed. EBUSY: a race is outstanding, or a resolution with
 * RDMA_CMX_ANY_NEXT. ENODEV: the id has lost its device.
 *
 * The command counts as one resolution until its event. After that it counts for
 * max_user_requests only if the result has more than 16 entries, or 64 path
 * records: until the id ends or another RESOLVE_ANY replaces the report of
 * QUERY_CANDIDATES. RDMA_CMX_ANY_NEXT does not count once more then. The result
 * itself does not count any more, taken or not.
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
	__aligned_u64 qps;
	__u32 num_qps;
	__u32 reserved;
	struct rdma_cmx_conn_param param;
};

enum {
	/* Continue with the candidates that have not failed. */
	RDMA_CMX_ANY_NEXT = 1 << 0,
	/*
	 * The deadline includes the connection: UNREACHABLE with -ETIMEDOUT
	 * follows a CONNECT without a reply after the winner's share of the
	 * time: at most five seconds if other candidates are left. The kernel
	 * reports no reply after that. RDMA_CMX_ANY_NEXT continues.
	 */
	RDMA_CMX_ANY_CONNECT = 1 << 1,
	/*
	 * The connections race, see above. Without the other flags; only for
	 * ids of RC, else EOPNOTSUPP. RDMA_CMX_FEATURE_RACE
	 */
	RDMA_CMX_ANY_RACE = 1 << 2,
};

/* Last step of a candidate */
enum {
	RDMA_CMX_STEP_NO_DEVICE = 0,	/* no device reaches it */
	RDMA_CMX_STEP_UNTRIED = 1,
	RDMA_CMX_STEP_ADDR = 2,		/* its address was resolved */
	RDMA_CMX_STEP_ROUTE = 3,	/* its route was resolved */
	RDMA_CMX_STEP_SETUP = 4,	/* a queue pair was created */
	RDMA_CMX_STEP_REQUEST = 5,	/* it was connected */
	RDMA_CMX_STEP_UP = 6,		/* nothing has failed */
};

/**
 * struct rdma_cmx_candidate_info - state of one entry of the result
 * @src: its source, family 0: none
 * @dst: its destination
 * @ibdev_index: its RDMA device, valid if @port_num is not 0
 * @port_num: port of the device, 0: none
 * @step: RDMA_CMX_STEP_*: its last step
 * @error: 0: the winner, or untried; else the negative errno of @step.
 *	-ENETUNREACH: no RDMA device reaches it; -EPROTOTYPE: of another port
 *	space or QP type; -EACCES: a source port that the caller may not use;
 *	-ENOBUFS: without a queue pair; -ECANCELED: outstanding when another
 *	one won
 * @reason: status of REJECTED, else 0
 * @attempts: number of attempts
 * @start_ms: start of the first attempt, in milliseconds since the command
 *	without RDMA_CMX_ANY_NEXT
 * @end_ms: time when it was routed or failed, likewise
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
 * @max_candidates: maximum number of elements of @candidates; 0: it is not used
 * @candidate_size: sizeof(struct rdma_cmx_candidate_info), the distance between
 *	two, as port_size of struct rdma_cmx_query_advertised
 * @num_candidates: out: number of candidates. If there are more than
 *	@max_candidates, the array has the first @max_candidates
 * @winner: out: index of the winner, @num_candidates: none
 * @flags: RDMA_CMX_CANDIDATES_*
 *
 * The command reports the last RESOLVE_ANY. ENOENT: there was none, or its
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
	__aligned_u64 flags;
};

enum {
	/*
	 * Those that the next RESOLVE_ANY has, of which none was tried, with the
	 * error of each that will not be. ENOENT: there is no result.
	 * RDMA_CMX_FEATURE_RACE
	 */
	RDMA_CMX_CANDIDATES_UNTRIED = 1 << 0,
};

#endif /* RDMA_CMX_IOCTL_RESOLVE_H */
