/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints of connect/, below events/rdma_cmx in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cmx

#if !defined(CMX_CONNECT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_CONNECT_TRACE_H

#include <linux/tracepoint.h>

/* A connect waits; the window is that of its destination, or of its host. */
TRACE_EVENT(cmx_connect_wait,
	    TP_PROTO(unsigned int window, u32 uid),
	    TP_ARGS(window, uid),
	    TP_STRUCT__entry(__field(unsigned int, window)
			     __field(u32, uid)),
	    TP_fast_assign(__entry->window = window;
			   __entry->uid = uid;),
	    TP_printk("window=%u uid=%u", __entry->window, __entry->uid)
);

/* A connect no longer waits; error is 0 if it has a slot. */
TRACE_EVENT(cmx_connect_granted,
	    TP_PROTO(unsigned int window, u32 ms, int error),
	    TP_ARGS(window, ms, error),
	    TP_STRUCT__entry(__field(unsigned int, window)
			     __field(u32, ms)
			     __field(int, error)),
	    TP_fast_assign(__entry->window = window;
			   __entry->ms = ms;
			   __entry->error = error;),
	    TP_printk("window=%u ms=%u error=%d", __entry->window, __entry->ms,
		      __entry->error)
);

/*
 * The limit of a destination changes. Another tag in the same window means
 * another destination, which started with the initial limit.
 */
TRACE_EVENT(cmx_connect_window,
	    TP_PROTO(unsigned int window, u32 tag, unsigned int running,
		     unsigned int before, unsigned int limit),
	    TP_ARGS(window, tag, running, before, limit),
	    TP_STRUCT__entry(__field(unsigned int, window)
			     __field(u32, tag)
			     __field(unsigned int, running)
			     __field(unsigned int, before)
			     __field(unsigned int, limit)),
	    TP_fast_assign(__entry->window = window;
			   __entry->tag = tag;
			   __entry->running = running;
			   __entry->before = before;
			   __entry->limit = limit;),
	    TP_printk("window=%u tag=%08x running=%u limit=%u->%u",
		      __entry->window, __entry->tag, __entry->running,
		      __entry->before, __entry->limit)
);

#endif /* CMX_CONNECT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH connect
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
