// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The entry points of queries. Each starts as a request on the stack: its
 * attributes are checked once, its text is parsed once, and each cache is
 * searched once. A known result ends it there. A query (query.c) is created
 * only for a request that has to wait, or whose end the callback has to report.
 *
 * There is one exception. For a query of user space for services on all ports,
 * rdma_cmx_services_check_ports() (services.c) checks the attributes and reads
 * the ports before rdma_ucmx takes the id's mutex: it may wait for firmware.
 */
#include <linux/completion.h>
#include <linux/module.h>

#include "resolve/query.h"
#include "resolve/trace.h"

/* Kernel consumers use the names of the host. */
const struct cmx_caller cmx_kernel = {
	.uid = CMX_KERNEL_UID,
	.kernel = true,
};

/* Ends a request that has not become a query; it is released. */
static void cmx_resolve_end(struct cmx_request *req,
			    const struct rdma_cmx_result *res)
{
	cmx_stat_inc(requests);
	trace_cmx_query_start(NULL, req->attr->node ?: req->attr->service,
			      &req->hints);
	cmx_query_count(NULL, res);
	cmx_request_release(req);
}

/* Creates a query of @req; @step is the result of cmx_request_advance(). */
static int cmx_resolve_query(struct cmx_request *req, int step,
			     rdma_cmx_done_fn done, void *context,
			     struct rdma_cmx_query **pquery)
{
	const struct rdma_cmx_query_attr *attr = req->attr;
	struct rdma_cmx_query *q;
	int ret = 0;

	q = cmx_query_alloc(req, done, context);
	if (!q) {
		rdma_cmx_result_put(req->result);
		cmx_request_release(req);
		return -ENOMEM;
	}
	cmx_stat_inc(requests);
	trace_cmx_query_start(q, attr->node ?: attr->service, &q->req.hints);
	*pquery = q;
	/* @done may drop the caller's reference before this returns. */
	kref_get(&q->ref);
	if (step > 0)
		ret = cmx_query_wait(q, step);
	else
		cmx_query_finish(q, step);
	if (ret) {
		*pquery = NULL;
		cmx_query_count(q, ERR_PTR(ret));
		rdma_cmx_query_put(q);
	}
	rdma_cmx_query_put(q);
	return ret;
}

int rdma_cmx_query_start_for(const struct rdma_cmx_query_attr *attr,
			     const struct cmx_caller *caller,
			     rdma_cmx_done_fn done, void *context,
			     struct rdma_cmx_result **known,
			     struct rdma_cmx_query **pquery)
{
	struct cmx_request req CMX_UNINIT;
	int ret;

	if (known)
		*known = NULL;
	*pquery = NULL;
	ret = cmx_request_init(&req, attr, caller);
	if (ret)
		return ret;
	ret = cmx_request_advance(&req);
	if (ret || !known)
		return cmx_resolve_query(&req, ret, done, context, pquery);
	*known = req.result;
	cmx_resolve_end(&req, req.result);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_start_for);

int rdma_cmx_query_start(const struct rdma_cmx_query_attr *attr,
			 rdma_cmx_done_fn done, void *context,
			 struct rdma_cmx_result **known,
			 struct rdma_cmx_query **pquery)
{
	return rdma_cmx_query_start_for(attr, &cmx_kernel, done, context,
					known, pquery);
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_start);

struct cmx_sync {
	struct completion done;
	struct rdma_cmx_result *res;
};

static void cmx_sync_done(struct rdma_cmx_query *query,
			  struct rdma_cmx_result *result, void *context)
{
	struct cmx_sync *sync = context;

	sync->res = result;
	complete(&sync->done);
}

static struct rdma_cmx_result *cmx_resolve_wait(struct cmx_request *req,
						int step)
{
	struct rdma_cmx_query *q;
	struct cmx_sync sync;
	int ret;

	init_completion(&sync.done);
	ret = cmx_resolve_query(req, step, cmx_sync_done, &sync, &q);
	if (ret)
		return ERR_PTR(ret);
	/* The query may have completed before the cancel. */
	if (wait_for_completion_interruptible(&sync.done) &&
	    rdma_cmx_query_cancel(q))
		sync.res = ERR_PTR(-ERESTARTSYS);
	rdma_cmx_query_put(q);
	return sync.res;
}

struct rdma_cmx_result *
rdma_cmx_resolve_for(const struct rdma_cmx_query_attr *attr,
		     const struct cmx_caller *caller)
{
	struct cmx_request req CMX_UNINIT;
	struct rdma_cmx_result *res;
	int ret;

	if (caller->names_later || caller->port_later)
		return ERR_PTR(-EINVAL);
	ret = cmx_request_init(&req, attr, caller);
	if (ret)
		return ERR_PTR(ret);
	ret = cmx_request_advance(&req);
	if (ret > 0)
		return cmx_resolve_wait(&req, ret);
	res = ret ? ERR_PTR(ret) : req.result;
	cmx_resolve_end(&req, res);
	return res;
}
EXPORT_SYMBOL_GPL(rdma_cmx_resolve_for);

struct rdma_cmx_result *rdma_cmx_resolve(const struct rdma_cmx_query_attr *attr)
{
	return rdma_cmx_resolve_for(attr, &cmx_kernel);
}
EXPORT_SYMBOL_GPL(rdma_cmx_resolve);
