/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Connect by name: declarations that its files share. A file uses those below
 * it:
 *
 *	connect.c	the calls, cancel
 *	try.c		one candidate, from its address to the end of its id
 *	deadline.c	the deadline, and waits for slots
 *	race.c		starts and stops candidates, and chooses the winner
 *	slot.c		slots of connection requests (slot.h)
 *	window.c	their limits (window.h)
 *	work.c		references, work items, and the end of a connect
 *
 * rdma_cmx_connector.lock guards the state of a connect and of its candidates.
 * It nests inside the handler lock of an id and inside cmx_window_lock. It is
 * taken in process context only. Code under it decides and queues work. The
 * locks of users.c nest inside it.
 *
 * The work item of a candidate owns the candidate's id. It never runs twice at
 * the same time. The event handler of the id stores the event and queues the
 * work item. So the handler does nothing that rdma_cm or the caller may wait
 * for.
 */
#ifndef CMX_CONNECT_H
#define CMX_CONNECT_H

#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cmx_connect.h>

#include "core.h"
#include "resolve/resolve.h"
#include "route.h"
#include "slot.h"

/* Maximum outstanding candidates; as many more may be in destruction. */
#define CMX_CONNECT_OUTSTANDING	8

/*
 * Milliseconds until a candidate gives its place to a waiting one, and until an
 * attempt with a cached path is repeated without the cache. The CM retries a
 * lost REQ within that time, see CMX_REQ_RETRY_MS.
 */
#define CMX_CONNECT_LIMIT_MS	5000

/**
 * struct cmx_connect_item - a work item of a connect or of a candidate
 * @c: the connect
 * @work: the function; queued itself for a kernel consumer
 * @job: queued instead for a user
 * @queued: @job is pending
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
 * @entry: its entry of the result
 * @out: its part of the report
 * @item: does all work on the id
 * @limit: timer of an attempt with a cached path
 * @since: its start, or the end of its wait for a slot, in jiffies
 * @sent: when its request was sent, in jiffies, used by @item only
 * @id: its id, used by @item only
 * @step: as in @out, used by @item only
 * @outstanding: it has started and has not ended
 * @up: it is connected or routed, and waits for its handover or its end
 * @stop: it lost, or the connect was cancelled or is late
 * @leaving: it gives its place to a waiting candidate
 * @waiting: it waits for a slot
 * @hand_over: all others have ended
 * @got: the event of its step has arrived
 * @error: negative errno of an event or a timeout, 0: none
 * @connected: it has to be disconnected
 * @set_up: teardown has to be called, used by @item only
 * @cached: its path is from the cache, used by @item only
 * @path_failed: it failed, and the path may be the reason
 * @over_limit: no reply on a cached path within the limit, which is @error
 * @again: this is the second attempt, without the cache; used by @item only
 * @route: the query of its route, see route.h
 * @slot: the slot of its connection request, see slot.h
 * @caller: the task that runs a callback of the caller, or NULL
 * @param: from the event that connected it
 */
struct cmx_try {
	struct rdma_cmx_connector *c;
	const struct rdma_cmx_entry *entry;
	struct rdma_cmx_candidate *out;
	struct cmx_connect_item item;
	struct delayed_work limit;
	unsigned long since;
	unsigned long sent;
	struct rdma_cm_id *id;
	enum rdma_cmx_connect_step step;
	bool outstanding;
	bool up;
	bool stop;
	bool leaving;
	bool waiting;
	bool hand_over;
	bool got;
	int error;
	bool connected;
	bool set_up;
	bool cached;
	bool path_failed;
	bool over_limit;
	bool again;
	struct cmx_route route;
	struct cmx_slot slot;
	struct task_struct *caller;
	struct rdma_conn_param param;
};

/**
 * struct rdma_cmx_connector - a connect
 * @ref: the caller's; one of all uses
 * @uses: one until the connect has ended; one of each armed timer and of each
 *	pending work item
 * @lock: see above
 * @user: schedules the work items of a user; NULL for kernel consumers, whose
 *	work items have a work queue that no user delays
 * @attr: of the caller, without the memory that @attr.query points to
 * @net: of the query, with a reference until the connect has ended
 * @context: of setup and teardown
 * @done: the callback
 * @done_context: of @done
 * @started: start of the connect
 * @expires: deadline, without a wait that has not ended, in jiffies
 * @until: the deadline is not later, however long candidates wait, in jiffies
 * @waiting: number of candidates that wait for a slot
 * @waits_since: since when there are some, in jiffies
 * @waited: the sum of earlier waits, in jiffies
 * @delay: until the next candidate starts, in jiffies
 * @share: time of a candidate before another one replaces it, in jiffies;
 *	calculated at the start and when a winner is lost
 * @limited: the caller gave path records
 * @own_dev: the caller gave a device
 * @ifindex: the netdevice that the caller gave, or 0. Its RDMA device may
 *	change, if it is a bond
 * @has_ack_timeout: @ack_timeout is valid
 * @ack_timeout: of the user's id
 * @tos: type of service of the ids
 * @uid: user that route queries count for; cmx_kernel_uid() for kernel consumers
 * @query: the resolution, or NULL
 * @result: its result, or NULL
 * @error: of the resolution
 * @report: state of the candidates, or NULL; passed to the callback at the end
 * @count: number of candidates, 0 after the last use
 * @tries: the candidates, NULL after the last use
 * @resolved: the query has ended; @result, @error and @tries do not change
 * @next: the first candidate that may be untried
 * @flights: number of outstanding candidates
 * @leaving: number of those that give up their place
 * @winner: the first candidate that was up, until it is lost
 * @slow: the delay has passed: the next candidate may start
 * @late: the deadline has passed
 * @cancelled: the callback will not be called
 * @ending: no candidate is left but the winner
 * @ended: the end has begun
 * @called: the callback has begun
 * @caller: the task that runs the callback
 * @idle: completed when no code of the caller runs or will run
 * @item: cancels the query, or ends the connect
 * @delay_work: timer of @delay
 * @deadline: timer of @expires
 */
struct rdma_cmx_connector {
	struct kref ref;
	refcount_t uses;
	spinlock_t lock;		/* see above */
	struct cmx_user *user;
	struct rdma_cmx_connect_attr attr;
	struct net *net;
	void *context;
	rdma_cmx_connect_fn done;
	void *done_context;
	ktime_t started;
	unsigned long expires;
	unsigned long until;
	u32 waiting;
	unsigned long waits_since;
	unsigned long waited;
	unsigned long delay;
	unsigned long share;
	bool limited;
	bool own_dev;
	int ifindex;
	bool has_ack_timeout;
	u8 ack_timeout;
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

/* Jiffies to the deadline; 0 or less: it has passed. The lock is held. */
static inline long cmx_deadline_left(const struct rdma_cmx_connector *c)
{
	unsigned long now = jiffies;
	long left = c->expires - (c->waiting ? c->waits_since : now);

	return min_t(long, left, c->until - now);
}

/* connect.c */
int cmx_connect_init(void);
void cmx_connect_exit(void);

/* slot.c */
extern unsigned int cmx_connect_queue_max, cmx_connect_wait_ms;

/* try.c */
bool cmx_try_has_device(const struct rdma_cmx_entry *entry);
bool cmx_try_path_fits(const struct rdma_dev_addr *addr,
		       const struct sa_path_rec *rec);
void cmx_try_init(struct cmx_try *t, struct rdma_cmx_connector *c,
		  const struct rdma_cmx_entry *entry,
		  struct rdma_cmx_candidate *out);

/* deadline.c */
void cmx_deadline_arm(struct rdma_cmx_connector *c);
void cmx_deadline_work(struct work_struct *work);
void cmx_deadline_wait(struct cmx_try *t);
void cmx_deadline_granted(struct cmx_try *t);
void cmx_deadline_wait_over(struct cmx_try *t);

/* race.c */
void cmx_race_reset(struct cmx_try *t);
void cmx_race(struct rdma_cmx_connector *c);
int cmx_race_up(struct rdma_cmx_connector *c, struct cmx_try *t);
void cmx_race_down(struct rdma_cmx_connector *c, struct cmx_try *t);
int cmx_race_error(const struct rdma_cmx_connector *c);
void cmx_race_delay(struct work_struct *work);
void cmx_race_share(struct rdma_cmx_connector *c);

/* work.c */
extern struct cmx_users cmx_connect_users;
extern struct workqueue_struct *cmx_connect_timer_wq;
void cmx_connect_item_init(struct cmx_connect_item *item,
			   struct rdma_cmx_connector *c, work_func_t fn);
void cmx_connect_queue(struct cmx_connect_item *item);
void cmx_connect_run_first(struct cmx_connect_item *item);
void cmx_connector_put(struct rdma_cmx_connector *c);
void cmx_connect_end(struct rdma_cmx_connector *c, struct rdma_cm_id *id);
int cmx_connect_work_init(void);
void cmx_connect_work_exit(void);

#endif /* CMX_CONNECT_H */
