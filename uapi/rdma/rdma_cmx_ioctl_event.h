/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx: events.
 * rdma_cmx_ioctl.h has the rules.
 */
#ifndef RDMA_CMX_IOCTL_EVENT_H
#define RDMA_CMX_IOCTL_EVENT_H

#include <linux/types.h>
#include <rdma/ib_user_verbs.h>

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
 * @attempt: number of RDMA_CMX_ANY_NEXT of the id that succeeded before the
 *	event came, modulo 256. A thread that processes a reply after another
 *	thread has sent such a command sees that the reply is not one to a
 *	later CONNECT. 0 from kernels that do not count
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
	__u8 attempt;
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
 * further events of the type are merged with it. Those of WRITE_EVENT are not
 * merged.
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

#endif /* RDMA_CMX_IOCTL_EVENT_H */
