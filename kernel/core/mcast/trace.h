/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints of mcast/, below events/rdma_cmx in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cmx

#if !defined(CMX_MCAST_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_MCAST_TRACE_H

#include <linux/tracepoint.h>

#include "mcast/mcast.h"

TRACE_EVENT(cmx_join,
	    TP_PROTO(const struct rdma_cm_id *id,
		     const union rdma_cmx_sockaddr *addr, u32 join_flags,
		     int error),
	    TP_ARGS(id, addr, join_flags, error),
	    TP_STRUCT__entry(__field(const void *, id)
			     __array(u8, addr, sizeof(struct sockaddr_in6))
			     __field(u32, join_flags)
			     __field(int, error)),
	    TP_fast_assign(__entry->id = id;
			   memcpy(__entry->addr, addr, sizeof(struct sockaddr_in6));
			   __entry->join_flags = join_flags;
			   __entry->error = error;),
	    TP_printk("id=%p group=%pISc flags=%u error=%d", __entry->id,
		      __entry->addr, __entry->join_flags, __entry->error)
);

/* A membership without rdma_cm was joined, or has failed. */
TRACE_EVENT(cmx_member,
	    TP_PROTO(const struct rdma_cm_id *id,
		     const union rdma_cmx_sockaddr *addr, int error),
	    TP_ARGS(id, addr, error),
	    TP_STRUCT__entry(__field(const void *, id)
			     __array(u8, addr, sizeof(struct sockaddr_in6))
			     __field(int, error)),
	    TP_fast_assign(__entry->id = id;
			   memcpy(__entry->addr, addr, sizeof(struct sockaddr_in6));
			   __entry->error = error;),
	    TP_printk("id=%p group=%pISc error=%d", __entry->id,
		      __entry->addr, __entry->error)
);

TRACE_EVENT(cmx_leave,
	    TP_PROTO(const struct rdma_cm_id *id,
		     const union rdma_cmx_sockaddr *addr),
	    TP_ARGS(id, addr),
	    TP_STRUCT__entry(__field(const void *, id)
			     __array(u8, addr, sizeof(struct sockaddr_in6))),
	    TP_fast_assign(__entry->id = id;
			   memcpy(__entry->addr, addr, sizeof(struct sockaddr_in6));),
	    TP_printk("id=%p group=%pISc", __entry->id, __entry->addr)
);

#endif /* CMX_MCAST_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH mcast
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
