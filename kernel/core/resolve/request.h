/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The request: a query without its life cycle */
#ifndef CMX_REQUEST_H
#define CMX_REQUEST_H

#include "names/names.h"
#include "resolve/paths.h"
#include "resolve/resolve.h"

/* The next step of a request. It starts in one of the steps up to DESTS. */
enum cmx_step {
	CMX_STEP_CALLER,	/* wait for names or the port of the caller */
	CMX_STEP_NAMES,		/* find the name in the cache */
	CMX_STEP_NAMED,		/* take the addresses of the result */
	CMX_STEP_SERVICES,	/* find the services in the caches */
	CMX_STEP_MERGE,		/* merge the services of all ports */
	CMX_STEP_DESTS,		/* annotate the addresses */
	CMX_STEP_PATHS,		/* find their path records in the caches */
	CMX_STEP_RESULT,	/* build the result */
	CMX_STEP_DONE,
};

/* The event that a request waits for */
enum cmx_wait {
	CMX_WAIT_CALLER = 1,	/* rdma_cmx_query_give_names() */
	CMX_WAIT_NAMES,		/* a name service */
	CMX_WAIT_SERVICES,	/* SAs that have a service */
	CMX_WAIT_PATHS,		/* SAs that have paths */
};

/* Most requests have at most so many destinations, kept on the stack */
#define CMX_FEW 2

/**
 * struct cmx_request - a query without its life cycle
 * @attr: attributes of the query, NULL once it was moved
 * @caller: on whose behalf, likewise
 * @node: of the query, or NULL
 * @named: @node is a name
 * @step: the next step
 * @hints: the checked attributes
 * @cands: the addresses, once they are known
 * @answer: result of a name service
 * @services: services of the SAs
 * @dests: annotated @cands, NULL before that
 * @few: memory of a few @dests
 * @dest_count: number of @dests
 * @paths: their path records
 * @result: the result; its reference is the caller's
 */
struct cmx_request {
	const struct rdma_cmx_query_attr *attr;
	const struct cmx_caller *caller;
	const char *node;
	bool named;
	enum cmx_step step;
	struct cmx_hints hints;
	struct cmx_candidates cands;
	struct cmx_answer answer;
	struct cmx_services services;
	struct cmx_dest *dests;
	struct cmx_dest few[CMX_FEW];
	u32 dest_count;
	struct cmx_paths paths;
	struct rdma_cmx_result *result;
};

/* request.c */
int cmx_request_parse(struct cmx_request *r,
		      const struct rdma_cmx_query_attr *attr,
		      const struct cmx_caller *caller);
int cmx_request_init(struct cmx_request *r,
		     const struct rdma_cmx_query_attr *attr,
		     const struct cmx_caller *caller);
int cmx_request_advance(struct cmx_request *r);
int cmx_request_prepare(struct cmx_request *r);
void cmx_request_set_port(struct cmx_request *r, u16 port, u32 qp_type);
void cmx_request_move(struct cmx_request *r, const struct cmx_request *from,
		      const char *node, const struct ib_path_rec_data *limits);
void cmx_request_release(struct cmx_request *r);

#endif /* CMX_REQUEST_H */
