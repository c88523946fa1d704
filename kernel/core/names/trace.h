/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints of names/, below events/rdma_cmx in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cmx

#if !defined(CMX_NAMES_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_NAMES_TRACE_H

#include <linux/tracepoint.h>

#include "names/names.h"

DECLARE_EVENT_CLASS(cmx_name_class,
		    TP_PROTO(const char *name, int error),
		    TP_ARGS(name, error),
		    TP_STRUCT__entry(__string(name, name)
				     __field(int, error)),
		    TP_fast_assign(cmx_assign_str(name, name);
				   __entry->error = error;),
		    TP_printk("name=%s error=%d", __get_str(name), __entry->error)
);

/* A result from the cache, positive or negative */
DEFINE_EVENT(cmx_name_class, cmx_name_hit,
	     TP_PROTO(const char *name, int error), TP_ARGS(name, error));
/* A key is requested. */
DEFINE_EVENT(cmx_name_class, cmx_lookup_start,
	     TP_PROTO(const char *name, int error), TP_ARGS(name, error));
DEFINE_EVENT(cmx_name_class, cmx_lookup_done,
	     TP_PROTO(const char *name, int error), TP_ARGS(name, error));
/* A query waits for a lookup of another query. */
DEFINE_EVENT(cmx_name_class, cmx_lookup_join,
	     TP_PROTO(const char *name, int error), TP_ARGS(name, error));

#endif /* CMX_NAMES_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH names
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
