/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations that the files of the resolver's commands share */
#ifndef UCMX_RESOLVER_H
#define UCMX_RESOLVER_H

#include "caller.h"
#include "ucmx.h"

/* A caller's request, with copies of its strings and arrays */
struct ucmx_request {
	struct rdma_cmx_query_attr attr;
	struct cmx_caller caller;
	union rdma_cmx_sockaddr src;
	union rdma_cmx_sockaddr dst;
	char *node_buf;
	void *names;
	void *route;
	bool all_ports;		/* use all ports, not only the id's */
	char service[RDMA_CMX_MAX_SERVICE + 1];
	char dev[IB_DEVICE_NAME_MAX];
	char node[192];
};

/* request.c */
int ucmx_request_get(struct ucmx_request *req,
		     const struct rdma_cmx_ai_query *arg, bool later);
void ucmx_request_put(struct ucmx_request *req);
void *ucmx_names_get(u64 names, u32 len);

/* addrinfo.c */
int ucmx_addrinfo_start(struct ucmx_file *file, u32 handle,
			struct ucmx_request *req);

/* query.c */
int ucmx_call_charge(struct ucmx_file *file);
void ucmx_call_uncharge(struct ucmx_file *file);
int ucmx_query_start(struct ucmx_id *id, struct ucmx_request *req);
int ucmx_query_give_names(struct ucmx_id *id, const struct cmx_given *given);
struct rdma_cmx_result *ucmx_result_get(struct ucmx_id *id);
bool ucmx_result_charged(const struct ucmx_id *id);
void ucmx_result_raced(struct ucmx_id *id, bool taken);
void ucmx_query_limits(struct ucmx_id *id, bool *limited, bool *own_dev);
bool ucmx_result_take(struct ucmx_id *id, struct rdma_cmx_result *res);

#endif /* UCMX_RESOLVER_H */
