/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connect by name: what its files share.
 *
 *	connect.c	the calls, their deadline, cancel and end
 *	race.c		which candidate starts, stops or wins
 *	try.c		one candidate, from its address to its id's end
 *
 * cmx_connect.lock guards the state of a connect and of its candidates. It is
 * innermost, below the handler lock of an id, and taken in process context only.
 * Nothing is called under it but what queues work: the locks of resolve/user.c are
 * inside.
 *
 * The id of a candidate belongs to the candidate's work item, which does not run
 * beside itself; the id's event handler stores the event and queues it. So
 * nothing that rdma_cm or the caller may wait for runs in the handler.
 */
#ifndef CMX_CONNECT_H
#define CMX_CONNECT_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cmx_connect.h>

#include "core.h"
#include "resolve/resolve.h"
#include "route.h"
#include "slot.h"

/* Candidates that are outstanding at a time; as many may be being destroyed. */
#define CMX_CONNECT_FLIGHT	8

/*
 * Milliseconds that a candidate has before it gives way to one that waits, and a
 * path of the cache before it is replaced: a request that was lost is sent again
 * within that time, after 4.3 s on InfiniBand and RoCE.
 */
#define CMX_CONNECT_LIMIT_MS	5000

/**
 * struct cmx_connect_item - a work item of a connect or of a candidate
 * @c: the connect
 * @work: what runs, and how it is queued for a kernel consumer
 * @job: for a user, likewise
 * @queued: @job is among those of the user
 */
struct cmx_connect_item {
	struct rdma_cmx_connector *c;
	struct work_struct work;
	struct cmx_job job;
	bool queued;
};

/**
 * struct cmx_try - one candidate
 * @c: the connect
 * @entry: of the result
 * @out: its part of the report
 * @item: does all that is done with the id
 * @limit: timer of an attempt on a path of the cache
 * @since: when it was started, in jiffies
 * @id: its id, @item's only
 * @step: as in @out, @item's only
 * @flying: between its start and its end
 * @up: it was connected or routed, and waits to be handed over or taken down
 * @stop: it lost, or the call ended
 * @leaving: it gives way to one that waits
 * @hand_over: all others are down
 * @got: the event that its step waits for has come
 * @error: of an event, 0: none
 * @connected: it has to be disconnected
 * @set_up: it has to be torn down, @item's only
 * @cached: its path is of the cache, @item's only
 * @path_failed: it failed in a way that the path may be the reason for
 * @again: the second attempt, without the cache; @item's only
 * @route: the query of its route, see route.h
 * @slot: for its connection request, see slot.h
 * @caller: runs a callback of the caller
 * @param: of the event that connected it
 */
struct cmx_try {
	struct rdma_cmx_connector *c;
	const struct rdma_cmx_entry *entry;
	struct rdma_cmx_candidate *out;
	struct cmx_connect_item item;
	struct delayed_work limit;
	unsigned long since;
	struct rdma_cm_id *id;
	enum rdma_cmx_connect_step step;
	bool flying;
	bool up;
	bool stop;
	bool leaving;
	bool hand_over;
	bool got;
	int error;
	bool connected;
	bool set_up;
	bool cached;
	bool path_failed;
	bool again;
	struct cmx_route route;
	struct cmx_slot slot;
	struct task_struct *caller;
	struct rdma_conn_param param;
};

/**
 * struct rdma_cmx_connector - a connect
 * @ref: the caller's; its own until it ends; one of each armed timer and queued
 *	work item
 * @lock: see above
 * @user: whose jobs its work items are; NULL: a kernel consumer's, whose items
 *	have a work queue that no user delays
 * @attr: of the caller, without what @attr.query points to
 * @net: of the query, with a reference until it ends
 * @context: of setup and teardown
 * @done: the callback
 * @done_context: of that
 * @started: when
 * @expires: deadline, in jiffies
 * @delay: of the next candidate, in jiffies
 * @share: what a candidate has before it gives way, in jiffies; of the time that
 *	was left at the start, or when the last winner was lost
 * @limited: the caller gave path records
 * @own_dev: the caller gave a device
 * @tos: type of service of the ids
 * @uid: whom the queries of routes are counted for; CMX_KERNEL_UID for kernel consumers
 * @query: the resolution, or NULL
 * @result: its result, or NULL
 * @error: of the resolution
 * @report: what became of the candidates, or NULL; the callback's in the end
 * @count: number of candidates
 * @tries: the candidates
 * @resolved: the query is through: what it has left stays
 * @next: the first candidate that may be untried
 * @flights: candidates that are flying
 * @leaving: those of them that give way
 * @winner: the first that was up, until it is lost
 * @slow: the delay is over: the next one may start beside the others
 * @late: the deadline is over
 * @cancelled: there is no callback any more
 * @ending: no candidate is left but the winner
 * @ended: the end has begun
 * @called: the callback has begun
 * @caller: runs it
 * @idle: nothing of the caller runs or will run
 * @item: ends the query, or the connect
 * @delay_work: timer of @delay
 * @deadline: timer of @expires
 */
struct rdma_cmx_connector {
	struct kref ref;
	spinlock_t lock;		/* see above */
	struct cmx_query_user *user;
	struct rdma_cmx_connect_attr attr;
	struct net *net;
	void *context;
	rdma_cmx_connect_fn done;
	void *done_context;
	ktime_t started;
	unsigned long expires;
	unsigned long delay;
	unsigned long share;
	bool limited;
	bool own_dev;
	u8 tos;
	kuid_t uid;
	struct rdma_cmx_query *query;
	struct rdma_cmx_result *result;
	int error;
	struct rdma_cmx_connect_report *report;
	u32 count;
	struct cmx_try *tries;
	bool resolved;
	u32 next;
	u32 flights;
	u32 leaving;
	struct cmx_try *winner;
	bool slow;
	bool late;
	bool cancelled;
	bool ending;
	bool ended;
	bool called;
	struct task_struct *caller;
	struct completion idle;
	struct cmx_connect_item item;
	struct delayed_work delay_work;
	struct delayed_work deadline;
};

static inline u32 cmx_connect_ms(const struct rdma_cmx_connector *c)
{
	return ktime_ms_delta(ktime_get(), c->started);
}

/* connect.c */
extern struct workqueue_struct *cmx_connect_timer_wq;
void cmx_connect_item_init(struct cmx_connect_item *item,
			   struct rdma_cmx_connector *c, work_func_t fn);
void cmx_connect_queue(struct cmx_connect_item *item);
void cmx_connector_drop(struct rdma_cmx_connector *c);
void cmx_connect_end(struct rdma_cmx_connector *c, struct rdma_cm_id *id);
int cmx_connect_init(void);
void cmx_connect_exit(void);

/* race.c */
void cmx_race(struct rdma_cmx_connector *c);
void cmx_race_down(struct rdma_cmx_connector *c, struct cmx_try *t);
int cmx_race_error(const struct rdma_cmx_connector *c);
void cmx_race_delay(struct work_struct *work);
void cmx_race_share(struct rdma_cmx_connector *c);

/* try.c */
void cmx_try_init(struct cmx_try *t, struct rdma_cmx_connector *c,
		  const struct rdma_cmx_entry *entry,
		  struct rdma_cmx_candidate *out);
void cmx_try_queue(struct cmx_try *t);
void cmx_try_start(struct cmx_try *t);
void cmx_try_work(struct work_struct *work);

#endif /* CMX_CONNECT_H */
