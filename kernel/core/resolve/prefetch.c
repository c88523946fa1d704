// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Paths to many destinations: a call, whose workers (prefetch_worker.c) share
 * them.
 *
 *	RUNNING ──> CALLING ──> DONE
 *	   └──> CANCELLED
 *
 * The path of a destination belongs to the worker that has taken it, until the
 * last worker has ended. The callback runs in a separate work item, so that it
 * may cancel other calls: a cancel waits for workers.
 *
 * rdma_cmx_paths_query.lock guards the state, the next destination and the
 * number of working workers. It is innermost. Workers are queued under it.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/limits.h>
#include <linux/memcontrol.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cmx_path.h>

#include "resolve/prefetch.h"

static unsigned int paths_max = 16384;
module_param(paths_max, uint, 0644);
MODULE_PARM_DESC(paths_max,
		 "Maximum destinations of all outstanding calls of kernel consumers for many paths (default 16384)");

/* Maximum outstanding queries of one call */
#define CMX_WORKERS	32u

/* Destinations of outstanding calls */
static atomic_t cmx_prefetch_count = ATOMIC_INIT(0);

static bool cmx_prefetch_reserve(u32 count)
{
	u32 max = min_t(u32, READ_ONCE(paths_max), INT_MAX);
	int n = atomic_read(&cmx_prefetch_count);

	do {
		/* The limit may have been lowered. */
		if (count > max || n > max - count)
			return false;
	} while (!atomic_try_cmpxchg(&cmx_prefetch_count, &n, n + count));
	return true;
}

/* Releases the reservations and the reference of a call that has ended. */
static void cmx_prefetch_ended(struct rdma_cmx_paths_query *p, u32 count)
{
	atomic_sub(count, &cmx_prefetch_count);
	put_net(p->attr.net);
	complete_all(&p->idle);
	rdma_cmx_paths_query_put(p);
}

/* The last worker queues it, unless the call is cancelled. */
static void cmx_prefetch_call(struct work_struct *work)
{
	struct rdma_cmx_paths_query *p = container_of(work,
						      struct rdma_cmx_paths_query,
						      call);
	struct rdma_cmx_paths *paths = p->paths;
	u32 i, count = paths->count;

	spin_lock(&p->lock);
	p->caller = current;
	spin_unlock(&p->lock);
	for (i = 0; i < count; i++)
		paths->found += !paths->paths[i].error;
	p->paths = NULL;
	p->done(p, paths, p->context);

	spin_lock(&p->lock);
	WRITE_ONCE(p->state, CMX_PREFETCH_DONE);
	p->caller = NULL;
	spin_unlock(&p->lock);
	cmx_prefetch_ended(p, count);
}

bool rdma_cmx_paths_cancel(struct rdma_cmx_paths_query *query)
{
	bool first, self;
	u32 i;

	spin_lock(&query->lock);
	first = query->state == CMX_PREFETCH_RUNNING;
	if (first)
		WRITE_ONCE(query->state, CMX_PREFETCH_CANCELLED);
	self = query->caller == current;
	spin_unlock(&query->lock);
	if (first) {
		for (i = 0; i < query->worker_count; i++)
			cmx_worker_stop(&query->workers[i]);
		cmx_prefetch_ended(query, query->paths->count);
	} else if (!self) {
		wait_for_completion(&query->idle);
	}
	return READ_ONCE(query->state) == CMX_PREFETCH_CANCELLED;
}
EXPORT_SYMBOL_GPL(rdma_cmx_paths_cancel);

/* Sets the attributes of each query. Returns 0 or the errno of the call. */
static int cmx_prefetch_attr(struct rdma_cmx_paths_query *p,
			     const struct rdma_cmx_paths_attr *attr)
{
	struct rdma_cmx_query_attr *query = &p->attr;

	query->net = attr->net;
	query->port_space = attr->port_space;
	query->qp_type = attr->port_space ? 0 : IB_QPT_RC;
	query->tos = attr->tos;
	query->refresh = attr->refresh;
	query->dev_port = attr->dev_port;
	if (attr->dev) {
		if (strscpy(p->dev, attr->dev, sizeof(p->dev)) < 0)
			return -ENODEV;
		query->dev = p->dev;
	}
	if (attr->src) {
		if (!cmx_addr_size(attr->src->sa.sa_family))
			return -EINVAL;
		memcpy(&p->src, attr->src,
		       cmx_addr_size(attr->src->sa.sa_family));
		query->src = &p->src;
	}
	return 0;
}

/* Checks that these attributes allow the query of a destination. */
static int cmx_prefetch_attr_check(const struct rdma_cmx_query_attr *query)
{
	struct rdma_cmx_query_attr attr = *query;
	struct cmx_hints hints;

	attr.has_port = true;
	return cmx_hints_init(&hints, &attr) ?: cmx_rail_hint(&hints, &attr);
}

/* Copies each address up to its length. Invalid ones fail separately. */
static void cmx_prefetch_addr(union rdma_cmx_sockaddr *to,
			      const union rdma_cmx_sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, cmx_addr_size(from->sa.sa_family) ?:
	       sizeof(from->sa.sa_family));
}

static int cmx_prefetch_copy(struct rdma_cmx_paths_query *p,
			     const struct rdma_cmx_paths_attr *attr)
{
	u32 i;

	p->paths = kvzalloc(struct_size(p->paths, paths, attr->count),
			    GFP_KERNEL_ACCOUNT);
	if (!p->paths)
		return -ENOMEM;
	kref_init(&p->paths->ref);
	p->paths->count = attr->count;
	for (i = 0; i < attr->count; i++) {
		cmx_prefetch_addr(&p->paths->paths[i].dst, &attr->dst[i]);
		p->paths->paths[i].error = -ETIMEDOUT;
		if (attr->alternate)
			p->paths->paths[i].alt_error = -ETIMEDOUT;
		cond_resched();
	}
	p->alternate = attr->alternate;
	if (!attr->alternate || !attr->alt_dst)
		return 0;
	p->alt_dst = kvmalloc_array(attr->count, sizeof(*p->alt_dst),
				    GFP_KERNEL_ACCOUNT);
	if (!p->alt_dst)
		return -ENOMEM;
	for (i = 0; i < attr->count; i++) {
		cmx_prefetch_addr(&p->alt_dst[i], &attr->alt_dst[i]);
		cond_resched();
	}
	return 0;
}

static struct rdma_cmx_paths_query *
cmx_prefetch_alloc(const struct rdma_cmx_paths_attr *attr)
{
	u32 i, workers = min(attr->count, CMX_WORKERS);
	struct rdma_cmx_paths_query *p;
	int ret;

	p = kvzalloc(struct_size(p, workers, workers), GFP_KERNEL_ACCOUNT);
	if (!p)
		return ERR_PTR(-ENOMEM);
	cmx_stat_inc(live_paths_queries);
	kref_init(&p->ref);
	spin_lock_init(&p->lock);
	init_completion(&p->idle);
	INIT_WORK(&p->call, cmx_prefetch_call);
	p->worker_count = workers;
	p->working = workers;
	for (i = 0; i < workers; i++)
		cmx_worker_init(&p->workers[i], p);
	ret = cmx_prefetch_attr(p, attr) ?: cmx_prefetch_attr_check(&p->attr) ?:
	      cmx_prefetch_copy(p, attr);
	if (!ret)
		return p;
	rdma_cmx_paths_query_put(p);
	return ERR_PTR(ret);
}

/* Another thread that has @pquery may have cancelled it. */
static void cmx_prefetch_begin(struct rdma_cmx_paths_query *p)
{
	u32 i;

	spin_lock(&p->lock);
	if (p->state == CMX_PREFETCH_RUNNING)
		for (i = 0; i < p->worker_count; i++)
			queue_delayed_work(cmx_prefetch_wq,
					   &p->workers[i].work, 0);
	spin_unlock(&p->lock);
}

int rdma_cmx_paths_start(const struct rdma_cmx_paths_attr *attr,
			 rdma_cmx_paths_fn done, void *context,
			 struct rdma_cmx_paths_query **pquery)
{
	struct rdma_cmx_paths_query *p;

	*pquery = NULL;
	if (!attr->net || !attr->dst || !done || !attr->count ||
	    attr->count > RDMA_CMX_MAX_PATHS)
		return -EINVAL;
	if (!cmx_prefetch_reserve(attr->count))
		return -EAGAIN;
	p = cmx_prefetch_alloc(attr);
	if (IS_ERR(p)) {
		atomic_sub(attr->count, &cmx_prefetch_count);
		return PTR_ERR(p);
	}
	get_net(p->attr.net);
	p->memcg = get_mem_cgroup_from_mm(current->mm);
	p->expires = jiffies + cmx_query_jiffies(attr->timeout_ms);
	p->done = done;
	p->context = context;
	cmx_stat_inc(paths_queries);
	cmx_stat_add(paths_destinations, attr->count);
	/* The caller's reference may be dropped before this returns. */
	kref_get(&p->ref);
	kref_get(&p->ref);
	WRITE_ONCE(*pquery, p);
	cmx_prefetch_begin(p);
	rdma_cmx_paths_query_put(p);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_paths_start);

struct cmx_prefetch_sync {
	struct completion done;
	struct rdma_cmx_paths *paths;
};

static void cmx_prefetch_sync_done(struct rdma_cmx_paths_query *query,
				   struct rdma_cmx_paths *paths, void *context)
{
	struct cmx_prefetch_sync *sync = context;

	sync->paths = paths;
	complete(&sync->done);
}

struct rdma_cmx_paths *
rdma_cmx_paths_get(const struct rdma_cmx_paths_attr *attr)
{
	struct rdma_cmx_paths_query *p;
	struct cmx_prefetch_sync sync;
	int ret;

	init_completion(&sync.done);
	ret = rdma_cmx_paths_start(attr, cmx_prefetch_sync_done, &sync, &p);
	if (ret)
		return ERR_PTR(ret);
	/* The call may have ended before the cancel. */
	if (wait_for_completion_interruptible(&sync.done) &&
	    rdma_cmx_paths_cancel(p))
		sync.paths = ERR_PTR(-ERESTARTSYS);
	rdma_cmx_paths_query_put(p);
	return sync.paths;
}
EXPORT_SYMBOL_GPL(rdma_cmx_paths_get);

/* The query of the alternate path, as its worker has sent it */
static int cmx_prefetch_forget_alt(const struct rdma_cmx_path *path,
				   struct rdma_cmx_query_attr *query)
{
	char dev[IB_DEVICE_NAME_MAX];
	int ret;

	ret = cmx_worker_dev(path, query->net, dev, NULL);
	if (ret)
		return ret;
	query->src = NULL;
	query->dst = &path->alt_dst;
	query->dev = dev;
	query->dev_port = path->alt_port_num;
	return cmx_cached_path_forget(query, &path->rec[1].dgid);
}

int rdma_cmx_path_invalidate(const struct rdma_cmx_paths_attr *attr,
			     const struct rdma_cmx_path *path)
{
	struct rdma_cmx_paths_query *p;
	struct rdma_cmx_query_attr query;
	int ret;

	if (!attr->net)
		return -EINVAL;
	/* Nothing was found, so nothing is cached. */
	if (path->error)
		return 0;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	ret = cmx_prefetch_attr(p, attr);
	query = p->attr;
	query.dst = &path->dst;
	if (!ret)
		ret = cmx_cached_path_forget(&query, &path->rec[0].dgid);
	if (!ret && !path->alt_error && path->alt_dst.sa.sa_family)
		ret = cmx_prefetch_forget_alt(path, &query);
	kfree(p);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_path_invalidate);
