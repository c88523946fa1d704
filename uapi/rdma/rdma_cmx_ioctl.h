/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx: the rules, the numbers of the commands,
 * and GET_INFO. It includes the headers of the other commands by subject:
 *
 *  rdma_cmx_ioctl_event.h    GET_EVENTS: the events of a file
 *  rdma_cmx_ioctl_id.h       ids and connections
 *  rdma_cmx_ioctl_resolve.h  names and services; the race of the addresses
 *  rdma_cmx_ioctl_mcast.h    multicast groups
 *  rdma_cmx_ioctl_service.h  services at the subnet administrator
 *  rdma_cmx_ioctl_path.h     cached paths
 *  rdma_cmx_ioctl_types.h    what several of them have
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
 * rdma_cmx_id_info in ID_BIND and ID_QUERY, rdma_cmx_conn_param in CONNECT,
 * ACCEPT and RESOLVE_ANY, rdma_cmx_ai_query in RESOLVE_ADDRINFO and
 * GETADDRINFO, rdma_cmx_mc_param in JOIN and in the items of JOIN_MANY. No
 * field is ever added behind one of these. Records (struct rdma_cmx_event,
 * struct rdma_cmx_ai_entry) contain their lengths. All other structs inside of
 * a struct never change: rdma_cmx_addr, rdma_cmx_event_conn,
 * rdma_cmx_event_ud, and those of other headers.
 *
 * A pointer is passed as __aligned_u64; the layout is the same for 32-bit and
 * 64-bit callers. There are no write() or read() commands.
 *
 * Any thread may issue any command. The kernel serialises the commands on one
 * id. GET_EVENTS waits for an event, and GETADDRINFO and GET_SERVICES wait for
 * their result. No other command waits for a name server or an SA. On iWARP
 * CONNECT may wait for the peer. A command that concerns InfiniBand ports may
 * wait for the firmware of a port that is not known to be active.
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
 *  EBUSY       RESOLVE_ANY of the id is outstanding
 *  EINTR       the process is being killed while the command waits for its id
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
#include <rdma/rdma_cmx_ioctl_event.h>
#include <rdma/rdma_cmx_ioctl_id.h>
#include <rdma/rdma_cmx_ioctl_mcast.h>
#include <rdma/rdma_cmx_ioctl_path.h>
#include <rdma/rdma_cmx_ioctl_resolve.h>
#include <rdma/rdma_cmx_ioctl_service.h>

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

/**
 * struct rdma_cmx_get_info - RDMA_CMX_IO(GET_INFO)
 * @size: sizeof(struct rdma_cmx_get_info)
 * @abi_version: out: RDMA_CMX_ABI_VERSION; grows, never breaks
 * @features: out: RDMA_CMX_FEATURE_* bits
 * @max_ids: out: ids, memberships and services of one context; above it: EMFILE
 * @max_requests: out: unfinished resolutions of one context; above it: EAGAIN
 * @max_user_requests: out: resolutions of one user, in all contexts, that are
 *	unfinished or whose result was not used; above it: EAGAIN. Ids count,
 *	too, if their last RESOLVE_ANY had a result of more than 16 entries,
 *	or 64 path records
 * @max_events: out: unread events of one context; at this limit a command that
 *	ends with an event fails with EAGAIN
 * @max_backlog: out: unread connection requests of one listening id, with
 *	those that wait beyond its backlog
 * @max_joins: out: items of one JOIN_MANY; above it: E2BIG
 * @max_event: out: maximum length of an event record in bytes; a buffer of this
 *	size holds any record
 * @max_private_data: out: maximum length of private data in CONNECT, ACCEPT and
 *	REJECT, in bytes; the limit of a message may be less
 * @max_user_groups: out: multicast groups that one user may be a full member of
 *	on RoCE v2; above it: EAGAIN. The parameter groups_per_user of rdma_cmx
 * @max_user_services: out: services that one user advertises; above it: EAGAIN.
 *	The parameter services_per_user of rdma_cmx, as are the following ones.
 *	Reserved before: all of them are 0 from an older kernel
 * @max_services: out: services of all users and kernel consumers. Root may use
 *	7/8 of it, others 3/4; above that: EAGAIN. services_max
 * @max_user_connects: out: connects of one user that wait to send their
 *	request; above it: EAGAIN. connect_queue
 * @max_connect_wait_ms: out: milliseconds of such a wait, after which the
 *	connect fails. connect_wait_ms
 * @max_user_names: out: queued name lookups of one user; above it: EAGAIN.
 *	names_waiting_per_user
 * @max_user_sa_queries: out: queued SA queries of one user and port; above it:
 *	EAGAIN. sa_waiting_per_user
 * @max_user_sa_kb: out: KB of the SA responses that unfinished queries of one
 *	user keep; above it: EAGAIN. sa_kb_per_user
 * @max_sa_records: out: records of an SA response; above it: EOVERFLOW.
 *	sa_max_records
 * @max_timeout_ms: out: deadline of a resolution in milliseconds; it replaces a
 *	later one. query_timeout_max_ms
 *
 * The struct may end behind @max_requests, before @max_user_groups, or before
 * @max_services. @max_joins, @max_event and @max_private_data are constants of
 * the kernel; @max_joins is not below RDMA_CMX_MAX_JOINS. The other limits are
 * the present values of module parameters, which root may change. They are not
 * what is left to the caller.
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
	__u32 max_user_services;
	__u32 max_services;
	__u32 max_user_connects;
	__u32 max_connect_wait_ms;
	__u32 max_user_names;
	__u32 max_user_sa_queries;
	__u32 max_user_sa_kb;
	__u32 max_sa_records;
	__u32 max_timeout_ms;
};

enum {
	/*
	 * The kernel looks up names for the calling thread. The flag is not set
	 * in a network or mount namespace other than the initial one, or below
	 * another root directory. There the caller looks up the name with its
	 * libc and passes the result to the kernel (names in
	 * rdma_cmx_ai_query). A name without a result fails with ENOKEY then.
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
	/* RDMA_CMX_ANY_RACE and RDMA_CMX_CANDIDATES_UNTRIED exist. */
	RDMA_CMX_FEATURE_RACE = 1 << 7,
};

#endif /* RDMA_CMX_IOCTL_H */
