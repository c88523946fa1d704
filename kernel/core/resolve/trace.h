/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints of resolve/, below events/rdma_cmx in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cmx

#if !defined(CMX_RESOLVE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_RESOLVE_TRACE_H

#include <linux/tracepoint.h>

#include "resolve/resolve.h"

TRACE_EVENT(cmx_query_start,
	    TP_PROTO(const void *query, const char *node,
		     const struct cmx_hints *h),
	    TP_ARGS(query, node, h),
	    TP_STRUCT__entry(__field(const void *, query)
			     __string(node, node ? node : "")
			     __field(u16, port)
			     __field(u16, family)
			     __field(u32, flags)),
	    TP_fast_assign(__entry->query = query;
			   cmx_assign_str(node, node ? node : "");
			   __entry->port = h->port;
			   __entry->family = h->family;
			   __entry->flags = h->flags;),
	    TP_printk("query=%p node=%s port=%u family=%u flags=0x%x",
		      __entry->query, __get_str(node), __entry->port,
		      __entry->family, __entry->flags)
);

TRACE_EVENT(cmx_query_done,
	    TP_PROTO(const void *query, int error, u32 count),
	    TP_ARGS(query, error, count),
	    TP_STRUCT__entry(__field(const void *, query)
			     __field(int, error)
			     __field(u32, count)),
	    TP_fast_assign(__entry->query = query;
			   __entry->error = error;
			   __entry->count = count;),
	    TP_printk("query=%p error=%d entries=%u",
		      __entry->query, __entry->error, __entry->count)
);

DECLARE_EVENT_CLASS(cmx_query_class,
		    TP_PROTO(const void *query),
		    TP_ARGS(query),
		    TP_STRUCT__entry(__field(const void *, query)),
		    TP_fast_assign(__entry->query = query;),
		    TP_printk("query=%p", __entry->query)
);

DEFINE_EVENT(cmx_query_class, cmx_query_cancel,
	     TP_PROTO(const void *query), TP_ARGS(query));
DEFINE_EVENT(cmx_query_class, cmx_query_timeout,
	     TP_PROTO(const void *query), TP_ARGS(query));

TRACE_EVENT(cmx_annotate,
	    TP_PROTO(const struct cmx_dest *dest),
	    TP_ARGS(dest),
	    TP_STRUCT__entry(__array(u8, src, sizeof(struct sockaddr_in6))
			     __array(u8, dst, sizeof(struct sockaddr_in6))
			     __field(int, rank)
			     __field(u32, ibdev_index)
			     __field(u32, port_num)),
	    TP_fast_assign(memcpy(__entry->src, &dest->src, sizeof(struct sockaddr_in6));
			   memcpy(__entry->dst, &dest->dst, sizeof(struct sockaddr_in6));
			   __entry->rank = dest->rank;
			   __entry->ibdev_index = dest->ibdev_index;
			   __entry->port_num = dest->port_num;),
	    TP_printk("src=%pISc dst=%pISc rank=%d ibdev=%u port=%u",
		      __entry->src, __entry->dst, __entry->rank,
		      __entry->ibdev_index, __entry->port_num)
);

#endif /* CMX_RESOLVE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH resolve
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
