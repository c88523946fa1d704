/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What query.c and annotate.c share: the query itself. */
#ifndef CMX_QUERY_H
#define CMX_QUERY_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "resolve/resolve.h"

enum cmx_query_state {
	CMX_QUERY_NAMES,
	CMX_QUERY_SERVICES,
	CMX_QUERY_FOUND,
	CMX_QUERY_PATHS,
	CMX_QUERY_READY,
	CMX_QUERY_CALLING,
	CMX_QUERY_DONE,
	CMX_QUERY_CANCELLED,
};

struct rdma_cmx_query {
	struct kref ref;
	spinlock_t lock;		/* guards state, see above */
	enum cmx_query_state state;
	bool names_later;
	bool late;			/* deadline is over: ask nobody */
	int error;
	unsigned long expires;		/* deadline, in jiffies */
	struct cmx_hints hints;
	struct ib_path_rec_data *limits;	/* hints.limits */
	struct cmx_candidates cands;
	struct cmx_answer answer;
	struct cmx_services services;
	struct cmx_dest *dests;		/* annotated candidates */
	u32 dest_count;
	struct cmx_paths paths;
	struct rdma_cmx_result *result;
	struct cmx_waiter waiter;
	struct cmx_query_user *user;		/* once it waits */
	struct cmx_job job;		/* turn of the user */
	struct cmx_job stop;		/* likewise, at the deadline */
	struct mem_cgroup *memcg;
	struct work_struct call;
	struct work_struct free;
	struct delayed_work deadline;
	rdma_cmx_done_fn done;
	void *context;
	struct task_struct *caller;	/* runs the callback */
	struct completion idle;		/* it has run */
	char node[];
};

/* query.c */
extern struct workqueue_struct *cmx_call_wq;
void cmx_query_parts_release(struct rdma_cmx_query *q);
void cmx_query_queue(struct rdma_cmx_query *q);
int cmx_query_user_set(struct rdma_cmx_query *q);
void cmx_query_disarm(struct rdma_cmx_query *q);
void cmx_query_arm(struct rdma_cmx_query *q, unsigned long expires);
bool cmx_query_advance(struct rdma_cmx_query *q, enum cmx_query_state from,
		       enum cmx_query_state to);

/* annotate.c */
void cmx_query_run(struct rdma_cmx_query *q);
void cmx_query_work(struct cmx_job *job);
void cmx_query_call(struct work_struct *work);

#endif /* CMX_QUERY_H */
