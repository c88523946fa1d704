/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The query object, which query.c, run.c and resolve.c share */
#ifndef CMX_QUERY_H
#define CMX_QUERY_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "resolve/request.h"

enum cmx_query_state {
	CMX_QUERY_CALLER,
	CMX_QUERY_NAMES,
	CMX_QUERY_SERVICES,
	CMX_QUERY_PATHS,
	CMX_QUERY_RUNNING,
	CMX_QUERY_READY,
	CMX_QUERY_CALLING,
	CMX_QUERY_DONE,
	CMX_QUERY_CANCELLED,
};

struct rdma_cmx_query {
	struct kref ref;
	spinlock_t lock;		/* guards state, see query.c */
	enum cmx_query_state state;
	bool names_later;		/* CALLER waits for names */
	bool port_later;		/* CALLER waits for the port */
	bool late;			/* deadline has passed: do not wait */
	bool kernel;			/* of a kernel consumer */
	int error;			/* of the name lookup */
	unsigned long expires;		/* deadline, in jiffies */
	struct cmx_request req;
	struct ib_path_rec_data *limits;	/* req.hints.limits */
	struct rdma_cmx_result *result;	/* from READY on */
	struct cmx_sched_waiter waiter;
	struct cmx_user *user;	/* set before it waits */
	struct cmx_job job;		/* continues after a wait */
	struct cmx_job stop;		/* runs at the deadline */
	struct mem_cgroup *memcg;
	struct work_struct call;
	struct work_struct free;
	struct delayed_work deadline;
	rdma_cmx_done_fn done;
	void *context;
	struct task_struct *caller;	/* runs the callback */
	struct completion idle;		/* completed when it has run */
	char node[];
};

/* query.c */
extern struct workqueue_struct *cmx_call_wq;
void cmx_query_free_work(struct work_struct *work);
void cmx_query_queue(struct rdma_cmx_query *q);
kuid_t cmx_query_uid(const struct rdma_cmx_query *q);
int cmx_query_user_set(struct rdma_cmx_query *q);
void cmx_query_forget_names(struct rdma_cmx_query *q);
void cmx_query_disarm(struct rdma_cmx_query *q);
void cmx_query_arm(struct rdma_cmx_query *q, unsigned long expires);
bool cmx_query_advance(struct rdma_cmx_query *q, enum cmx_query_state from,
		       enum cmx_query_state to);
void cmx_query_stop(struct rdma_cmx_query *q, enum cmx_query_state state);

/* run.c */
struct rdma_cmx_query *
cmx_query_alloc(const struct cmx_request *req, rdma_cmx_done_fn done,
		void *context);
int cmx_query_wait(struct rdma_cmx_query *q, enum cmx_wait what);
void cmx_query_finish(struct rdma_cmx_query *q, int error);
void cmx_query_count(const void *query, const struct rdma_cmx_result *res);

#endif /* CMX_QUERY_H */
