/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Tracepoints of sa/, below events/rdma_cmx in tracefs. They copy the name of a
 * device from struct ib_device: a rename frees that of dev_name().
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cmx

#if !defined(CMX_SA_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_SA_TRACE_H

#include <linux/tracepoint.h>

#include "sa/internal.h"
#include "sa/wire.h"

/* A MAD is about to be sent. */
TRACE_EVENT(cmx_sa_send,
	    TP_PROTO(const struct cmx_sa_lookup *l,
		     const struct ib_mad_hdr *hdr),
	    TP_ARGS(l, hdr),
	    TP_STRUCT__entry(__field(const void *, lookup)
			     __dynamic_array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, port)
			     __field(u16, attr)
			     __field(u8, method)
			     __field(u64, tid)
			     __field(unsigned int, count)),
	    TP_fast_assign(__entry->lookup = l;
			   strscpy(__get_str(dev), l->port->dev->name,
				   IB_DEVICE_NAME_MAX);
			   __entry->port = l->port->num;
			   __entry->attr = be16_to_cpu(hdr->attr_id);
			   __entry->method = hdr->method;
			   __entry->tid = be64_to_cpu(hdr->tid);
			   __entry->count = l->retries;),
	    TP_printk("lookup=%p dev=%s port=%u attr=0x%x method=0x%x tid=0x%llx send=%u",
		      __entry->lookup, __get_str(dev), __entry->port,
		      __entry->attr, __entry->method, __entry->tid,
		      __entry->count)
);

/* A response has arrived; status is the SA's. */
TRACE_EVENT(cmx_sa_response,
	    TP_PROTO(const struct cmx_sa_lookup *l,
		     const struct ib_mad_hdr *hdr,
		     const struct cmx_sa_response *response, int error),
	    TP_ARGS(l, hdr, response, error),
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
			   __entry->count = response ? response->count : 0;
			   __entry->stride = response ? response->stride : 0;),
	    TP_printk("lookup=%p tid=0x%llx status=0x%04x error=%d records=%u stride=%u",
		      __entry->lookup, __entry->tid, __entry->status,
		      __entry->error, __entry->count, __entry->stride)
);

/* A query to an SA has completed. */
TRACE_EVENT(cmx_sa_done,
	    TP_PROTO(const struct cmx_sa_lookup *l,
		     const struct cmx_sa_response *response, int error),
	    TP_ARGS(l, response, error),
	    TP_STRUCT__entry(__field(const void *, lookup)
			     __field(int, error)
			     __field(u32, count)
			     __field(unsigned int, sends)),
	    TP_fast_assign(__entry->lookup = l;
			   __entry->error = error;
			   __entry->count = response ? response->count : 0;
			   __entry->sends = l->retries;),
	    TP_printk("lookup=%p error=%d records=%u sends=%u",
		      __entry->lookup, __entry->error, __entry->count,
		      __entry->sends)
);

/* A change of the port: enum ib_event_type */
TRACE_EVENT(cmx_sa_event,
	    TP_PROTO(const struct cmx_sa_port *port, int event),
	    TP_ARGS(port, event),
	    TP_STRUCT__entry(__dynamic_array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, port)
			     __field(int, event)),
	    TP_fast_assign(strscpy(__get_str(dev), port->dev->name,
				   IB_DEVICE_NAME_MAX);
			   __entry->port = port->num;
			   __entry->event = event;),
	    TP_printk("dev=%s port=%u event=%d", __get_str(dev),
		      __entry->port, __entry->event)
);

/*
 * A report: with trap 0 it was ignored, and slid and qp are its source.
 * dropped: number of dropped paths to the GID.
 */
TRACE_EVENT(cmx_sa_report,
	    TP_PROTO(const struct cmx_sa_port *port, const struct ib_wc *wc,
		     u16 trap, const union ib_gid *gid, unsigned int dropped),
	    TP_ARGS(port, wc, trap, gid, dropped),
	    TP_STRUCT__entry(__dynamic_array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, port)
			     __field(u32, slid)
			     __field(u32, qp)
			     __field(u16, trap)
			     __array(u8, gid, 16)
			     __field(unsigned int, dropped)),
	    TP_fast_assign(strscpy(__get_str(dev), port->dev->name,
				   IB_DEVICE_NAME_MAX);
			   __entry->port = port->num;
			   __entry->slid = wc->slid;
			   __entry->qp = wc->src_qp;
			   __entry->trap = trap;
			   memcpy(__entry->gid, gid->raw, 16);
			   __entry->dropped = dropped;),
	    TP_printk("dev=%s port=%u slid=%u qp=%u trap=%u gid=%pI6 dropped=%u",
		      __get_str(dev), __entry->port, __entry->slid,
		      __entry->qp, __entry->trap, __entry->gid,
		      __entry->dropped)
);

/* The state of a subscription: 0: the port has it; or an error */
TRACE_EVENT(cmx_sa_inform,
	    TP_PROTO(const struct cmx_sa_port *port, int error),
	    TP_ARGS(port, error),
	    TP_STRUCT__entry(__dynamic_array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, port)
			     __field(int, error)),
	    TP_fast_assign(strscpy(__get_str(dev), port->dev->name,
				   IB_DEVICE_NAME_MAX);
			   __entry->port = port->num;
			   __entry->error = error;),
	    TP_printk("dev=%s port=%u error=%d", __get_str(dev),
		      __entry->port, __entry->error)
);

/* A path query was not sent: the path is cached, or it joined another one. */
TRACE_EVENT(cmx_path_saved,
	    TP_PROTO(const struct cmx_sa_port *port,
		     const struct cmx_sa_query *query, bool joined),
	    TP_ARGS(port, query, joined),
	    TP_STRUCT__entry(__dynamic_array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, port)
			     __array(u8, dgid, 16)
			     __field(int, joined)),
	    TP_fast_assign(strscpy(__get_str(dev), port->dev->name,
				   IB_DEVICE_NAME_MAX);
			   __entry->port = port->num;
			   memcpy(__entry->dgid, cmx_sa_query_dgid(query), 16);
			   __entry->joined = joined;),
	    TP_printk("dev=%s port=%u dgid=%pI6 joined=%d", __get_str(dev),
		      __entry->port, __entry->dgid, __entry->joined)
);

TRACE_DEFINE_ENUM(CMX_SA_GONE_EXPIRED);
TRACE_DEFINE_ENUM(CMX_SA_GONE_EVENT);
TRACE_DEFINE_ENUM(CMX_SA_GONE_LIMIT);
TRACE_DEFINE_ENUM(CMX_SA_GONE_REPORT);
TRACE_DEFINE_ENUM(CMX_SA_GONE_FAILED);
TRACE_DEFINE_ENUM(CMX_SA_GONE_COMMAND);
TRACE_DEFINE_ENUM(CMX_SA_GONE_RENEWED);

/* A path has left the cache. */
TRACE_EVENT(cmx_path_gone,
	    TP_PROTO(const struct cmx_sa_query *query, enum cmx_sa_gone why),
	    TP_ARGS(query, why),
	    TP_STRUCT__entry(__array(u8, sgid, 16)
			     __array(u8, dgid, 16)
			     __field(int, why)),
	    TP_fast_assign(memcpy(__entry->sgid, query->rec + CMX_SA_PATH_SGID,
				  16);
			   memcpy(__entry->dgid, cmx_sa_query_dgid(query), 16);
			   __entry->why = why;),
	    TP_printk("sgid=%pI6 dgid=%pI6 why=%s", __entry->sgid,
		      __entry->dgid,
		      __print_symbolic(__entry->why,
				       { CMX_SA_GONE_EXPIRED, "expired" },
				       { CMX_SA_GONE_EVENT, "event" },
				       { CMX_SA_GONE_LIMIT, "limit" },
				       { CMX_SA_GONE_REPORT, "report" },
				       { CMX_SA_GONE_FAILED, "failed" },
				       { CMX_SA_GONE_COMMAND, "command" },
				       { CMX_SA_GONE_RENEWED, "renewed" }))
);

#endif /* CMX_SA_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH sa
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
