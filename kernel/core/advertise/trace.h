/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Tracepoints of advertise/, below events/rdma_cmx in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rdma_cmx

#if !defined(CMX_ADVERTISE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_ADVERTISE_TRACE_H

#include <linux/tracepoint.h>

#include "advertise/advertise.h"

TRACE_EVENT(cmx_advertise,
	    TP_PROTO(const struct rdma_cmx_service *service),
	    TP_ARGS(service),
	    TP_STRUCT__entry(__field(const void *, service)
			     __field(u64, id)
			     __field(u16, pkey)
			     __field(u32, lease)
			     __array(char, name, CMX_SERVICE_NAME_SIZE)),
	    TP_fast_assign(__entry->service = service;
			   __entry->id = service->id;
			   __entry->pkey = service->pkey;
			   __entry->lease = service->lease;
			   memcpy(__entry->name, service->name,
				  CMX_SERVICE_NAME_SIZE);),
	    TP_printk("service=%p id=0x%llx pkey=0x%04x lease=%u name=%s",
		      __entry->service, __entry->id, __entry->pkey,
		      __entry->lease, __entry->name)
);

TRACE_EVENT(cmx_withdraw,
	    TP_PROTO(const struct rdma_cmx_service *service),
	    TP_ARGS(service),
	    TP_STRUCT__entry(__field(const void *, service)
			     __field(u64, id)),
	    TP_fast_assign(__entry->service = service;
			   __entry->id = service->id;),
	    TP_printk("service=%p id=0x%llx", __entry->service, __entry->id)
);

/* A query for a record has completed: op 1: set, 2: delete. */
TRACE_EVENT(cmx_record,
	    TP_PROTO(const struct cmx_port_record *r, int error),
	    TP_ARGS(r, error),
	    TP_STRUCT__entry(__field(const void *, service)
			     __dynamic_array(char, dev, IB_DEVICE_NAME_MAX)
			     __field(u32, port)
			     __field(u64, id)
			     __field(u16, pkey)
			     __field(int, op)
			     __field(int, error)),
	    TP_fast_assign(__entry->service = r->service;
			   strscpy(__get_str(dev),
				   cmx_sa_port_dev(r->port)->name,
				   IB_DEVICE_NAME_MAX);
			   __entry->port = cmx_sa_port_num(r->port);
			   __entry->id = r->service->id;
			   __entry->pkey = r->pkey;
			   __entry->op = r->op;
			   __entry->error = error;),
	    TP_printk("service=%p dev=%s port=%u id=0x%llx pkey=0x%04x op=%d error=%d",
		      __entry->service, __get_str(dev), __entry->port,
		      __entry->id, __entry->pkey, __entry->op,
		      __entry->error)
);

#endif /* CMX_ADVERTISE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH advertise
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
