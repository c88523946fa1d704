// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * QUERY_CANDIDATES: the state of each candidate in the last race of an id, or
 * the candidates of the next race.
 *
 * The report, or the result, is read under the id's mutex. The copies are
 * written to user space without it.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "any.h"

/* The first published form of a candidate is constant. */
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

/* An entry before its first race; the mutex of @id is held */
static void ucmx_candidate_untried(struct rdma_cmx_candidate_info *to,
				   const struct rdma_cmx_entry *from,
				   const struct ucmx_id *id)
{
	ucmx_addr_put(&to->src, &from->src.sa);
	ucmx_addr_put(&to->dst, &from->dst.sa);
	to->ibdev_index = from->ibdev_index;
	to->port_num = from->port_num;
	to->error = rdma_cmx_connect_check(from, id->cm->ps, id->cm->qp_type);
	to->step = cmx_candidate_step(to->error);
}

/* Memory for at most @arg->max_candidates; NULL for none; or an ERR_PTR */
static struct rdma_cmx_candidate_info *
ucmx_candidates_alloc(struct rdma_cmx_query_candidates *arg, u32 count,
		      u32 winner, u32 *n)
{
	struct rdma_cmx_candidate_info *infos;

	arg->num_candidates = count;
	arg->winner = winner;
	*n = min(arg->max_candidates, count);
	if (!*n)
		return NULL;
	infos = kvcalloc(*n, sizeof(*infos), GFP_KERNEL_ACCOUNT);
	return infos ?: ERR_PTR(-ENOMEM);
}

/* Copies the candidates of the last race. The mutex is held. */
static struct rdma_cmx_candidate_info *
ucmx_candidates_get(struct ucmx_id *id, struct rdma_cmx_query_candidates *arg,
		    u32 *n)
{
	struct rdma_cmx_candidate_info *infos;
	struct rdma_cmx_connect_report *report;
	u32 i;

	report = id->any ? id->any->report : NULL;
	if (!report)
		return ERR_PTR(-ENOENT);
	infos = ucmx_candidates_alloc(arg, report->count, report->winner, n);
	for (i = 0; !IS_ERR(infos) && i < *n; i++)
		ucmx_candidate_fill(&infos[i], &report->candidates[i]);
	return infos;
}

/* Copies the candidates of the next race. The mutex is held. */
static struct rdma_cmx_candidate_info *
ucmx_candidates_next(struct ucmx_id *id, struct rdma_cmx_query_candidates *arg,
		     u32 *n)
{
	struct rdma_cmx_candidate_info *infos;
	struct rdma_cmx_result *result;
	u32 i;

	if (!id->cm)
		return ERR_PTR(-ENODEV);
	result = ucmx_result_get(id);
	if (!result)
		return ERR_PTR(-ENOENT);
	infos = ucmx_candidates_alloc(arg, result->count, result->count, n);
	for (i = 0; !IS_ERR(infos) && i < *n; i++)
		ucmx_candidate_untried(&infos[i], &result->entries[i], id);
	rdma_cmx_result_put(result);
	return infos;
}

int ucmx_query_candidates(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_query_candidates *arg = cmd->buf;
	struct rdma_cmx_candidate_info *infos;
	struct ucmx_id *id;
	u32 n = 0;
	int ret;

	if (arg->flags & ~(u64)RDMA_CMX_CANDIDATES_UNTRIED)
		return -EINVAL;
	if (arg->max_candidates && arg->candidate_size < UCMX_CANDIDATE_MIN)
		return -EINVAL;
	if (arg->max_candidates && arg->candidate_size > PAGE_SIZE)
		return -E2BIG;
	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (id->racing)
		infos = ERR_PTR(-EBUSY);
	else if (arg->flags & RDMA_CMX_CANDIDATES_UNTRIED)
		infos = ucmx_candidates_next(id, arg, &n);
	else
		infos = ucmx_candidates_get(id, arg, &n);
	ucmx_id_unlock(id);
	if (IS_ERR(infos))
		return PTR_ERR(infos);
	ret = ucmx_items_put(arg->candidates, arg->candidate_size, infos,
			     sizeof(*infos), n);
	kvfree(infos);
	return ret ?: ucmx_respond(cmd);
}
