/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Calls of rdma_cmx_paths_start() over a device with simulated SAs, for the
 * suites of KA-09.
 */
#ifndef CMX_KUNIT_PATHS_H
#define CMX_KUNIT_PATHS_H

#include <linux/completion.h>
#include <rdma/rdma_cmx_path.h>

#include "kunit.h"

#define DESTS	200

struct call {
	struct completion done;
	atomic_t calls;
	struct rdma_cmx_paths *paths;
	struct rdma_cmx_paths_query *q;
};

/* Of the suite that runs: two calls, and DESTS destinations fe80::1:0 etc. */
extern struct fake paths_fake;
extern struct call *calls;
extern union rdma_cmx_sockaddr *dests;

int paths_init(struct kunit *test);
void paths_exit(struct kunit *test);

void call_done(struct rdma_cmx_paths_query *query,
	       struct rdma_cmx_paths *paths, void *context);
/* Starts a call in init_net, to dests if @with has no destinations. */
void call_start(struct kunit *test, struct call *c,
		const struct rdma_cmx_paths_attr *with);
#define START(test, c, ...)						\
	call_start(test, c, &(struct rdma_cmx_paths_attr){ __VA_ARGS__ })
/* The call completes, once, with @found of @count paths. */
void call_end(struct kunit *test, struct call *c, u32 found, u32 count);
void call_drop(struct call *c);

/* Queries at the SA of @port, and those that are queued */
unsigned int paths_outstanding(u32 port);
/* The first query at the SA of @port, when there is one */
struct cmx_sa_lookup *paths_lookup(struct kunit *test, u32 port);
/*
 * The SA of @port responds to its first query with @error or @count records.
 * The LIDs of record I are 0x10 + I and 0x20 + I, or all the same.
 */
void paths_respond(struct kunit *test, u32 port, u32 count, bool same,
		   int error);

#endif /* CMX_KUNIT_PATHS_H */
