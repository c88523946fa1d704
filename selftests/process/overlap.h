/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * A thread in the library stops at a chosen command, starts another thread that
 * destroys the id, and goes on when that one waits for it or has ended.
 */
#ifndef PROCESS_OVERLAP_H
#define PROCESS_OVERLAP_H

#include <sys/syscall.h>

#include "process.h"

/* The next command of this thread at which the test calls overlap_begin() */
static __thread unsigned long command;	/* or 0 */

static struct {
	void (*destroy)(struct rdma_cm_id *id);
	struct rdma_cm_id *id;
	struct caller caller;
	bool there;			/* it waited: the id is still whole */
	struct ibv_qp *qp;		/* of the id then */
} overlap;

static void *overlap_run(void *arg)
{
	overlap.destroy(overlap.id);
	return NULL;
}

static inline void overlap_begin(void)
{
	command = 0;
	caller_start(&overlap.caller, overlap_run, NULL);
	caller_sleeps(&overlap.caller, SYS_futex);
	overlap.there = !caller_ended(&overlap.caller);
	if (overlap.there && overlap.id)
		overlap.qp = overlap.id->qp;
}

/* At the next @request of this thread, destroy @id. */
static inline void overlap_set(struct rdma_cm_id *id, unsigned long request,
			       void (*destroy)(struct rdma_cm_id *id))
{
	overlap.id = id;
	overlap.destroy = destroy;
	command = request;
}

static inline void overlap_destroy_id(struct rdma_cm_id *id)
{
	if (rdma_destroy_id(id))
		abort();
}

#endif /* PROCESS_OVERLAP_H */
