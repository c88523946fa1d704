// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QUERY_CANDIDATES: what the last race of an id has done with each candidate.
 *
 * The report is read under the id's mutex; the copies for the caller are
 * written to user space without it.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "any.h"

/* The first published form of a candidate; never changes. */
#define UCMX_CANDIDATE_MIN						\
	offsetofend(struct rdma_cmx_candidate_info, end_ms)

static void ucmx_candidate_fill(struct rdma_cmx_candidate_info *to,
				const struct rdma_cmx_candidate *from)
{
	BUILD_BUG_ON(RDMA_CMX_STEP_UP != (int)RDMA_CMX_CONNECT_UP);
	ucmx_addr_put(&to->src, &from->src.sa);
	ucmx_addr_put(&to->dst, &from->dst.sa);
	to->ibdev_index = from->ibdev_index;
	to->port_num = from->port_num;
	to->step = from->step;
	to->error = from->error;
	to->reason = from->reason;
	to->attempts = from->attempts;
	to->start_ms = from->start_ms;
	to->end_ms = from->end_ms;
}

/* Copies of at most @arg->max_candidates, or NULL for none; the mutex is held */
static struct rdma_cmx_candidate_info *
ucmx_candidates_get(struct ucmx_id *id, struct rdma_cmx_query_candidates *arg,
		    u32 *n)
{
	struct rdma_cmx_candidate_info *infos;
	struct rdma_cmx_connect_report *report;
	u32 i;

	*n = 0;
	if (id->racing)
		return ERR_PTR(-EBUSY);
	report = id->any ? id->any->report : NULL;
	if (!report)
		return ERR_PTR(-ENOENT);
	arg->num_candidates = report->count;
	arg->winner = report->winner;
	*n = min(arg->max_candidates, report->count);
	if (!*n)
		return NULL;
	infos = kvcalloc(*n, sizeof(*infos), GFP_KERNEL_ACCOUNT);
	if (!infos)
		return ERR_PTR(-ENOMEM);
	for (i = 0; i < *n; i++)
		ucmx_candidate_fill(&infos[i], &report->candidates[i]);
	return infos;
}

int ucmx_query_candidates(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_query_candidates *arg = cmd->buf;
	struct rdma_cmx_candidate_info *infos;
	struct ucmx_id *id;
	u32 n;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	if (arg->max_candidates && arg->candidate_size < UCMX_CANDIDATE_MIN)
		return -EINVAL;
	if (arg->max_candidates && arg->candidate_size > PAGE_SIZE)
		return -E2BIG;
	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	infos = ucmx_candidates_get(id, arg, &n);
	ucmx_id_unlock(id);
	if (IS_ERR(infos))
		return PTR_ERR(infos);
	ret = ucmx_items_put(arg->candidates, arg->candidate_size, infos,
			     sizeof(*infos), n);
	kvfree(infos);
	return ret ?: ucmx_respond(cmd);
}
