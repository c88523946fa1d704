/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints of each step, below events/rdma_cmx in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cmx

#if !defined(CMX_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_TRACE_H

#include <linux/tracepoint.h>

#include "core.h"
#include "sa_int.h"

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

DECLARE_EVENT_CLASS(cmx_name_class,
		    TP_PROTO(const char *name, int error),
		    TP_ARGS(name, error),
		    TP_STRUCT__entry(__string(name, name)
				     __field(int, error)),
		    TP_fast_assign(cmx_assign_str(name, name);
				   __entry->error = error;),
		    TP_printk("name=%s error=%d", __get_str(name), __entry->error)
);

/* Answer from the cache, good or bad. */
DEFINE_EVENT(cmx_name_class, cmx_name_hit,
	     TP_PROTO(const char *name, int error), TP_ARGS(name, error));
/* The key service is asked. */
DEFINE_EVENT(cmx_name_class, cmx_lookup_start,
	     TP_PROTO(const char *name, int error), TP_ARGS(name, error));
DEFINE_EVENT(cmx_name_class, cmx_lookup_done,
	     TP_PROTO(const char *name, int error), TP_ARGS(name, error));
/* A question waits for a look-up that others started. */
DEFINE_EVENT(cmx_name_class, cmx_lookup_join,
	     TP_PROTO(const char *name, int error), TP_ARGS(name, error));

TRACE_EVENT(cmx_annotate,
	    TP_PROTO(const struct cmx_path *path),
	    TP_ARGS(path),
	    TP_STRUCT__entry(__array(u8, src, sizeof(struct sockaddr_in6))
			     __array(u8, dst, sizeof(struct sockaddr_in6))
			     __field(int, rank)
			     __field(u32, ibdev_index)
			     __field(u32, port_num)),
	    TP_fast_assign(memcpy(__entry->src, &path->src, sizeof(struct sockaddr_in6));
			   memcpy(__entry->dst, &path->dst, sizeof(struct sockaddr_in6));
			   __entry->rank = path->rank;
			   __entry->ibdev_index = path->ibdev_index;
			   __entry->port_num = path->port_num;),
	    TP_printk("src=%pISc dst=%pISc rank=%d ibdev=%u port=%u",
		      __entry->src, __entry->dst, __entry->rank,
		      __entry->ibdev_index, __entry->port_num)
);

/* A MAD is about to be sent. */
TRACE_EVENT(cmx_sa_ask,
	    TP_PROTO(const struct cmx_sa_lookup *l,
		     const struct ib_mad_hdr *hdr),
	    TP_ARGS(l, hdr),
	    TP_STRUCT__entry(__field(const void *, lookup)
			     __string(dev, dev_name(&l->port->dev->dev))
			     __field(u32, port)
			     __field(u16, attr)
			     __field(u8, method)
			     __field(u64, tid)
			     __field(unsigned int, count)),
	    TP_fast_assign(__entry->lookup = l;
			   cmx_assign_str(dev, dev_name(&l->port->dev->dev));
			   __entry->port = l->port->num;
			   __entry->attr = be16_to_cpu(hdr->attr_id);
			   __entry->method = hdr->method;
			   __entry->tid = be64_to_cpu(hdr->tid);
			   __entry->count = l->repeats;),
	    TP_printk("lookup=%p dev=%s port=%u attr=0x%x method=0x%x tid=0x%llx send=%u",
		      __entry->lookup, __get_str(dev), __entry->port,
		      __entry->attr, __entry->method, __entry->tid,
		      __entry->count)
);

/* A MAD has come back; status is the SA's. */
TRACE_EVENT(cmx_sa_answer,
	    TP_PROTO(const struct cmx_sa_lookup *l,
		     const struct ib_mad_hdr *hdr,
		     const struct cmx_sa_answer *answer, int error),
	    TP_ARGS(l, hdr, answer, error),
	    TP_STRUCT__entry(__field(const void *, lookup)
			     __field(u64, tid)
			     __field(u16, status)
			     __field(int, error)
			     __field(u32, count)
			     __field(u32, stride)),
	    TP_fast_assign(__entry->lookup = l;
			   __entry->tid = be64_to_cpu(hdr->tid);
			   __entry->status = be16_to_cpu(hdr->status);
			   __entry->error = error;
			   __entry->count = answer ? answer->count : 0;
			   __entry->stride = answer ? answer->stride : 0;),
	    TP_printk("lookup=%p tid=0x%llx status=0x%04x error=%d records=%u stride=%u",
		      __entry->lookup, __entry->tid, __entry->status,
		      __entry->error, __entry->count, __entry->stride)
);

/* A question to an SA is through. */
TRACE_EVENT(cmx_sa_done,
	    TP_PROTO(const struct cmx_sa_lookup *l,
		     const struct cmx_sa_answer *answer, int error),
	    TP_ARGS(l, answer, error),
	    TP_STRUCT__entry(__field(const void *, lookup)
			     __field(int, error)
			     __field(u32, count)
			     __field(unsigned int, sends)),
	    TP_fast_assign(__entry->lookup = l;
			   __entry->error = error;
			   __entry->count = answer ? answer->count : 0;
			   __entry->sends = l->repeats;),
	    TP_printk("lookup=%p error=%d records=%u sends=%u",
		      __entry->lookup, __entry->error, __entry->count,
		      __entry->sends)
);

/* A change of the port: enum ib_event_type. */
TRACE_EVENT(cmx_sa_event,
	    TP_PROTO(const struct cmx_sa_port *port, int event),
	    TP_ARGS(port, event),
	    TP_STRUCT__entry(__string(dev, dev_name(&port->dev->dev))
			     __field(u32, port)
			     __field(int, event)),
	    TP_fast_assign(cmx_assign_str(dev, dev_name(&port->dev->dev));
			   __entry->port = port->num;
			   __entry->event = event;),
	    TP_printk("dev=%s port=%u event=%d", __get_str(dev),
		      __entry->port, __entry->event)
);

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

/* A membership that rdma_cm does not know was joined, or has failed. */
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

#endif /* CMX_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
