// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * References of a call for many paths (prefetch.c) and of its result, and the
 * work queue of all calls.
 */
#include <linux/export.h>
#include <linux/kref.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cmx_path.h>

#include "resolve/prefetch.h"

struct workqueue_struct *cmx_prefetch_wq;

static void cmx_prefetch_free(struct kref *ref)
{
	kvfree(container_of(ref, struct rdma_cmx_paths, ref));
}

void rdma_cmx_paths_put(struct rdma_cmx_paths *paths)
{
	if (!IS_ERR_OR_NULL(paths))
		kref_put(&paths->ref, cmx_prefetch_free);
}
EXPORT_SYMBOL_GPL(rdma_cmx_paths_put);

static void cmx_prefetch_query_free(struct kref *ref)
{
	struct rdma_cmx_paths_query *p = container_of(ref,
						      struct rdma_cmx_paths_query,
						      ref);

	rdma_cmx_paths_put(p->paths);
	kvfree(p->alt_dst);
	mem_cgroup_put(p->memcg);
	kvfree(p);
	cmx_stat_dec(live_paths_queries);
}

void rdma_cmx_paths_query_put(struct rdma_cmx_paths_query *query)
{
	if (query)
		kref_put(&query->ref, cmx_prefetch_query_free);
}
EXPORT_SYMBOL_GPL(rdma_cmx_paths_query_put);

int cmx_prefetch_init(void)
{
	cmx_prefetch_wq = alloc_workqueue("rdma_cmx_paths", WQ_UNBOUND,
					  WQ_MAX_ACTIVE);
	return cmx_prefetch_wq ? 0 : -ENOMEM;
}

/* Consumers have ended or cancelled all calls. */
void cmx_prefetch_exit(void)
{
	destroy_workqueue(cmx_prefetch_wq);
}
