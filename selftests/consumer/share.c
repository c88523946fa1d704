// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Kernel threads that join one group with one id and leave it, again and again.
 * Each membership gets one event for its join, and none after its leave.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "consumer.h"

#define SHARE_THREADS	16
#define SHARE_ROUNDS	40

struct share {
	struct rdma_cm_id *id;
	struct rdma_cmx_join_attr attr;
	atomic_t wrong;
	atomic_t joins;
};

struct share_thread {
	struct share *share;
	struct task_struct *task;
	struct completion done;		/* ended */
	struct completion event;
	struct rdma_cmx_member *member;
	unsigned int events;
	bool left;
};

static void share_event(struct rdma_cmx_member *member,
			struct rdma_cm_event *event,
			const struct rdma_cmx_mc_param *param, void *context)
{
	struct share_thread *t = context;

	if (READ_ONCE(t->left) || t->events++ ||
	    event->event != RDMA_CM_EVENT_MULTICAST_JOIN || event->status ||
	    !param)
		atomic_inc(&t->share->wrong);
	complete(&t->event);
}

/* Every third round leaves without waiting for the event. */
static void share_round(struct share_thread *t, unsigned int round)
{
	struct share *s = t->share;

	t->events = 0;
	WRITE_ONCE(t->left, false);
	reinit_completion(&t->event);
	t->member = rdma_cmx_join(s->id, &s->attr, share_event, t);
	if (IS_ERR(t->member)) {
		atomic_inc(&s->wrong);
		return;
	}
	atomic_inc(&s->joins);
	if (round % 3 &&
	    !wait_for_completion_timeout(&t->event, 30 * HZ))
		atomic_inc(&s->wrong);
	rdma_cmx_leave(t->member);
	WRITE_ONCE(t->left, true);
}

static int share_thread(void *arg)
{
	struct share_thread *t = arg;
	unsigned int round;

	for (round = 0; round < SHARE_ROUNDS; round++)
		share_round(t, round);
	kthread_complete_and_exit(&t->done, 0);
}

int consumer_share_run(struct rdma_cm_id *id, unsigned int threads,
		       const union rdma_cmx_sockaddr *group, char *text,
		       size_t size)
{
	struct share s = { .id = id, .attr = { .addr = group } };
	struct share_thread *all;
	unsigned int i, started = 0;

	if (!threads || threads > SHARE_THREADS)
		return -EINVAL;
	all = kcalloc(threads, sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	for (i = 0; i < threads; i++) {
		struct share_thread *t = &all[i];

		t->share = &s;
		init_completion(&t->done);
		init_completion(&t->event);
		t->task = kthread_run(share_thread, t, "cmx_share");
		if (IS_ERR(t->task))
			break;
		started++;
	}
	for (i = 0; i < started; i++)
		wait_for_completion(&all[i].done);
	kfree(all);
	snprintf(text, size, "joins=%d wrong=%d\n", atomic_read(&s.joins),
		 atomic_read(&s.wrong));
	return 0;
}
