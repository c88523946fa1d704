/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queries on behalf of a user. rdma_ucmx calls these; a driver calls those of
 * <rdma/rdma_cmx.h>, for the kernel itself.
 */
#ifndef CMX_CALLER_H
#define CMX_CALLER_H

#include <linux/uidgid.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_names.h>

/**
 * struct cmx_caller - on whose behalf a query is made
 * @uid: user whom lookups are counted against
 * @names: the caller's own answer for the node, or NULL; checked
 * @names_len: bytes of @names
 * @names_later: the answer comes with rdma_cmx_query_give_names()
 * @no_names: the host's names are not the caller's. What would have to be
 *	looked up, or is in the cache, is -ENOKEY; numbers, @names and
 *	@names_later are taken
 *
 * All that it points to is copied before the call returns. With @names or
 * @names_later the network namespace may be any.
 */
struct cmx_caller {
	kuid_t uid;
	const struct rdma_cmx_names *names;
	size_t names_len;
	bool names_later;
	bool no_names;
};

/**
 * rdma_cmx_query_start_for - rdma_cmx_query_start() on behalf of @caller
 * @attr: as there
 * @caller: on whose behalf
 * @done: as there
 * @context: as there
 * @known: as there
 * @pquery: as there
 *
 * Return: as there; -EBADMSG for malformed names.
 */
int rdma_cmx_query_start_for(const struct rdma_cmx_query_attr *attr,
			     const struct cmx_caller *caller,
			     rdma_cmx_done_fn done, void *context,
			     struct rdma_cmx_result **known,
			     struct rdma_cmx_query **pquery);

/**
 * rdma_cmx_resolve_for - rdma_cmx_resolve() on behalf of @caller
 * @attr: as there
 * @caller: on whose behalf; without names_later
 *
 * Return: as there.
 */
struct rdma_cmx_result *
rdma_cmx_resolve_for(const struct rdma_cmx_query_attr *attr,
		     const struct cmx_caller *caller);

/**
 * rdma_cmx_query_give_names - bring the answer of the caller's name service
 * @query: started with names_later
 * @error: 0 or a positive errno
 * @names: the answer if @error is 0; copied
 * @names_len: bytes of @names
 *
 * Context: process, may sleep.
 * Return: 0; -ESRCH when the query does not wait for names (any more);
 * -EBADMSG for an answer that is malformed; then the query goes on waiting.
 */
int rdma_cmx_query_give_names(struct rdma_cmx_query *query, int error,
			      const struct rdma_cmx_names *names,
			      size_t names_len);

#endif /* CMX_CALLER_H */
