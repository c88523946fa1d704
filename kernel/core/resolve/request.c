// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A request: the attributes of a query and all intermediate results. One
 * function advances it as far as it goes without a response of a name service,
 * a neighbour or an SA. It may wait for the firmware of a port that is not
 * known to be active, see cmx_hints_check_port(). So a request starts on the
 * stack of its caller, and ends there if everything is known. A request that has
 * to wait is moved into a query (query.c), which continues with the next step.
 *
 * One thread at a time works on it. No locks, process context.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "resolve/request.h"

/* A number or a name. Checks that the caller may look up names. */
static int cmx_request_parse_node(struct cmx_request *r)
{
	const struct rdma_cmx_query_attr *attr = r->attr;
	const struct cmx_caller *caller = r->caller;
	struct cmx_candidates *cands = &r->cands;
	int ret;

	ret = cmx_numeric_parse(&r->hints, attr->node, &cands->fixed[0]);
	if (ret < 0)
		return ret;
	if (ret) {
		cands->count = 1;
		cands->own_sid = false;
		cands->names = NULL;
		cands->services = NULL;
		cands->canonname = attr->node;
		cands->canon_len = strlen(attr->node);
		return 0;
	}
	if (attr->flags & RDMA_CMX_AI_NUMERICHOST)
		return -ENOENT;
	r->named = true;
	r->step = CMX_STEP_NAMES;
	/* A number has one address, so no other address waits for it. */
	r->hints.warm = !(attr->flags & (RDMA_CMX_AI_PASSIVE |
					 RDMA_CMX_AI_NOROUTE));
	if (caller->names || caller->names_later)
		return 0;
	return caller->no_names ? -ENOKEY : 0;
}

/* Checks only the attributes. Takes nothing that has to be released. */
int cmx_request_parse(struct cmx_request *r,
		      const struct rdma_cmx_query_attr *attr,
		      const struct cmx_caller *caller)
{
	int ret;

	r->attr = attr;
	r->caller = caller;
	r->node = attr->node;
	r->named = false;
	r->step = CMX_STEP_DESTS;
	r->cands.canonname = NULL;
	memset(&r->answer, 0, sizeof(r->answer));
	r->services.count = 0;
	r->services.port = NULL;
	r->services.list = NULL;
	r->services.partial = false;
	r->dests = NULL;
	r->paths.count = 0;
	r->paths.req = NULL;
	r->result = NULL;

	if ((caller->names_len && !caller->names) ||
	    ((caller->names || caller->names_later) && !attr->node) ||
	    (caller->port_later && (!attr->has_port || attr->port ||
				    (attr->flags & RDMA_CMX_AI_SA))))
		return -EINVAL;
	ret = cmx_hints_init(&r->hints, attr);
	if (!ret)
		ret = cmx_rail_hint(&r->hints, attr);
	if (ret)
		return ret;
	r->hints.uid = caller->kernel ? cmx_kernel_uid(r->hints.net) :
					caller->uid;
	r->hints.locked = caller->locked;
	if (attr->flags & RDMA_CMX_AI_SA) {
		r->step = CMX_STEP_SERVICES;
		return 0;
	}
	ret = attr->node ? cmx_request_parse_node(r) :
			   cmx_candidates_local(&r->hints, &r->cands);
	if (caller->port_later ||
	    (r->named && caller->names_later && !caller->names))
		r->step = CMX_STEP_CALLER;
	return ret;
}

/*
 * Returns 0, or the errno of invalid attributes, and then nothing has to be
 * released. @attr and @caller must stay valid until the request is moved.
 */
int cmx_request_init(struct cmx_request *r,
		     const struct rdma_cmx_query_attr *attr,
		     const struct cmx_caller *caller)
{
	int ret;

	ret = cmx_request_parse(r, attr, caller);
	if (ret)
		return ret;
	if (r->step == CMX_STEP_SERVICES)
		return cmx_services_init(&r->services, &r->hints, attr);
	if (r->named && caller->names) {
		ret = cmx_answer_copy(&r->answer, caller->names,
				      caller->names_len);
		if (!ret)
			cmx_stat_inc(names_given);
	}
	return ret;
}

/* The caller first: with an invalid service no name is looked up. */
static int cmx_request_caller(struct cmx_request *r)
{
	r->step = r->named ? CMX_STEP_NAMES : CMX_STEP_DESTS;
	return CMX_WAIT_CALLER;
}

/* Sets the port late. The request waits for its caller. */
void cmx_request_set_port(struct cmx_request *r, u16 port, u32 qp_type)
{
	cmx_hints_set_port(&r->hints, port, qp_type);
	if (!r->named)
		cmx_candidates_set_port(&r->hints, &r->cands);
}

/* Names from the caller, or from the cache */
static int cmx_request_names(struct cmx_request *r)
{
	int ret;

	if (r->answer.names)
		return 0;
	if (r->hints.refresh)
		return cmx_name_valid(r->node) ? CMX_WAIT_NAMES : -ENOENT;
	ret = cmx_names_cached(r->node, r->hints.net, &r->answer);
	return ret == -EINPROGRESS ? CMX_WAIT_NAMES : ret;
}

static int cmx_request_dests(struct cmx_request *r)
{
	int ret;

	r->dests = r->few;
	if (r->cands.count > ARRAY_SIZE(r->few)) {
		r->dests = kvmalloc_array(r->cands.count, sizeof(*r->dests),
					  GFP_KERNEL_ACCOUNT);
		if (!r->dests)
			return -ENOMEM;
	}
	/*
	 * The thread that continues a query may not be the one that waits, and
	 * a kernel consumer's query may not be the work of its thread.
	 */
	ret = cmx_dests_fill(&r->hints, &r->cands, r->dests,
			     r->caller && !r->caller->kernel);
	if (ret < 0)
		return ret;
	/* The device or the netdevice of the hints reaches none of them. */
	if (!ret && (r->hints.by_dev || r->hints.ifindex))
		return -ENETUNREACH;
	r->dest_count = ret;
	return cmx_paths_init(&r->paths, &r->hints, r->dests, r->dest_count);
}

static int cmx_request_result(struct cmx_request *r)
{
	int ret;

	ret = cmx_paths_error(&r->paths);
	if (ret)
		return ret;
	cmx_paths_rank(&r->paths, r->dests);
	r->result = cmx_result_build(&r->hints, &r->cands, r->dests,
				     r->dest_count, &r->paths, r->caller);
	if (!IS_ERR(r->result)) {
		r->result->partial = r->services.partial;
		return 0;
	}
	ret = PTR_ERR(r->result);
	r->result = NULL;
	return ret;
}

/* One step. The next step starts with the result of a wait, if any. */
static int cmx_request_step(struct cmx_request *r)
{
	switch (r->step) {
	case CMX_STEP_CALLER:
		return cmx_request_caller(r);
	case CMX_STEP_NAMES:
		r->step = CMX_STEP_NAMED;
		return cmx_request_names(r);
	case CMX_STEP_NAMED:
		r->step = CMX_STEP_DESTS;
		return cmx_candidates_names(&r->hints, r->answer.names,
					    &r->cands);
	case CMX_STEP_SERVICES:
		r->step = CMX_STEP_MERGE;
		return cmx_services_cached(&r->services, r->hints.net) ?
		       0 : CMX_WAIT_SERVICES;
	case CMX_STEP_MERGE:
		r->step = CMX_STEP_DESTS;
		return cmx_services_merge(&r->services, &r->cands);
	case CMX_STEP_DESTS:
		r->step = CMX_STEP_PATHS;
		return cmx_request_dests(r);
	case CMX_STEP_PATHS:
		r->step = CMX_STEP_RESULT;
		return cmx_paths_cached(&r->paths) ? 0 : CMX_WAIT_PATHS;
	case CMX_STEP_RESULT:
		r->step = CMX_STEP_DONE;
		return cmx_request_result(r);
	case CMX_STEP_DONE:
		break;
	}
	return 0;
}

/*
 * Advances the request as far as it goes. Returns 0: @r->result is set;
 * CMX_WAIT_*: call again after the wait; or a negative errno.
 */
int cmx_request_advance(struct cmx_request *r)
{
	int ret;

	do {
		ret = cmx_request_step(r);
	} while (!ret && r->step != CMX_STEP_DONE);
	return ret;
}

/*
 * Advances the request up to the queries for path records, none of which is
 * sent. For a request without a name and a service, which does not wait before.
 * Returns 0 or a negative errno.
 */
int cmx_request_prepare(struct cmx_request *r)
{
	int ret = 0;

	while (!ret && r->step != CMX_STEP_PATHS)
		ret = cmx_request_step(r);
	return ret;
}

/*
 * Moves a request that @from has begun. @node and @limits are copies of the
 * caller's memory, and stay valid; the caller's memory is not used any more.
 */
void cmx_request_move(struct cmx_request *r, const struct cmx_request *from,
		      const char *node, const struct ib_path_rec_data *limits)
{
	*r = *from;
	r->hints.limits = limits;
	if (r->cands.canonname && r->cands.canonname == r->attr->node)
		r->cands.canonname = node;
	if (r->dests == from->few)
		r->dests = r->few;
	r->paths.h = &r->hints;
	r->paths.dests = r->dests;
	r->node = node;
	r->attr = NULL;
	r->caller = NULL;
}

/* Releases all but the result, whose receiver has taken it. May sleep. */
void cmx_request_release(struct cmx_request *r)
{
	cmx_paths_release(&r->paths);
	cmx_services_release(&r->services);
	cmx_answer_release(&r->answer);
	if (r->dests != r->few)
		kvfree(r->dests);
	r->dests = NULL;
}
