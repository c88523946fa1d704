// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The request: one object, one state machine, answered exactly once.
 *
 *	NAMES ──> READY ──> CALLING ──> DONE
 *	  └─────────┴──> CANCELLED
 *
 * NAMES waits for a name service, READY for the work item, CALLING is inside
 * the callback. rdma_cmx_query.lock guards the state, and with it who may
 * touch what: answer and error belong to whoever makes it READY, then to the
 * work item. The lock is innermost; nothing is called under it.
 *
 * References: the caller's, one of the look-up that is waited for, one of
 * the armed deadline, one of the queued work item.
 *
 * A consumer uses our symbols, so this module stays while a callback can run;
 * what is left after its last consumer has gone are our own work items, and
 * those cmx_query_exit() waits for.
 *
 * Numbers and cached names do not become a query in rdma_cmx_resolve(): they
 * are answered on the spot.
 */
#include <linux/completion.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "core.h"
#include "trace.h"

static unsigned int query_timeout_ms = 10000;
module_param(query_timeout_ms, uint, 0644);
MODULE_PARM_DESC(query_timeout_ms,
		 "Deadline in ms of a query that names none (default 10000)");

static unsigned int query_timeout_max_ms = 60000;
module_param(query_timeout_max_ms, uint, 0644);
MODULE_PARM_DESC(query_timeout_max_ms,
		 "Longest deadline in ms that a query may name (default 60000)");

enum cmx_query_state {
	CMX_QUERY_NAMES,
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
	int error;
	struct cmx_hints hints;
	struct cmx_candidates cands;
	struct cmx_answer answer;
	struct cmx_waiter waiter;
	struct work_struct work;
	struct delayed_work deadline;
	rdma_cmx_done_fn done;
	void *context;
	struct task_struct *caller;	/* runs the callback */
	struct completion idle;		/* it has run */
	char node[];
};

static struct workqueue_struct *cmx_wq;

static void cmx_query_release(struct kref *ref)
{
	struct rdma_cmx_query *q = container_of(ref, struct rdma_cmx_query,
						ref);

	cmx_answer_release(&q->answer);
	put_net(q->hints.net);
	kfree(q);
	cmx_stat_dec(live_queries);
}

void rdma_cmx_query_put(struct rdma_cmx_query *query)
{
	if (query)
		kref_put(&query->ref, cmx_query_release);
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_put);

/* What candidates need not be asked for; see cmx_question_names(). */
#define CMX_NEEDS_NAMES 1

/*
 * First half of a question: everything that goes without a name service.
 * Returns 0 with @cands filled, CMX_NEEDS_NAMES, or how it fails at once.
 */
static int cmx_question_local(const struct rdma_cmx_query_attr *attr,
			      struct cmx_hints *h, struct cmx_candidates *cands)
{
	int ret;

	ret = cmx_hints_init(h, attr);
	if (ret)
		return ret;
	if (!attr->node)
		return cmx_candidates_local(h, cands);

	ret = cmx_numeric_parse(h, attr->node, &cands->fixed[0]);
	if (ret < 0)
		return ret;
	if (ret) {
		cands->count = 1;
		cands->names = NULL;
		cands->canonname = attr->node;
		cands->canon_len = strlen(attr->node);
		return 0;
	}
	if (attr->flags & RDMA_CMX_AI_NUMERICHOST)
		return -ENOENT;
	if (!attr->names && !attr->names_later &&
	    !net_eq(attr->net, &init_net))
		return -EOPNOTSUPP;
	return CMX_NEEDS_NAMES;
}

/*
 * Second half: an answer that the caller brought or that is in the cache.
 * -EINPROGRESS: somebody has to be asked.
 */
static int cmx_question_names(const struct rdma_cmx_query_attr *attr,
			      struct cmx_answer *answer)
{
	if (attr->names) {
		cmx_stat_inc(names_given);
		return cmx_answer_copy(answer, attr->names, attr->names_len);
	}
	if (attr->names_later)
		return -EINPROGRESS;
	if (!cmx_name_valid(attr->node))
		return -ENOENT;
	return cmx_names_cached(attr->node, answer);
}

static void cmx_count_done(const void *query, struct rdma_cmx_result *res)
{
	if (IS_ERR(res)) {
		cmx_stat_inc(failed);
		if (PTR_ERR(res) == -ETIMEDOUT)
			cmx_stat_inc(timeouts);
		trace_cmx_query_done(query, PTR_ERR(res), 0);
	} else {
		cmx_stat_inc(completed);
		trace_cmx_query_done(query, 0, res->count);
	}
}

static struct rdma_cmx_result *cmx_query_result(struct rdma_cmx_query *q)
{
	int ret = q->error;

	if (!ret && q->answer.names)
		ret = cmx_candidates_names(&q->hints, q->answer.names,
					   &q->cands);
	if (ret)
		return ERR_PTR(ret);
	return cmx_result_build(&q->hints, &q->cands);
}

/* READY to DONE, unless cancelled on the way. */
static void cmx_query_run(struct rdma_cmx_query *q)
{
	struct rdma_cmx_result *res;

	if (READ_ONCE(q->state) != CMX_QUERY_READY)
		return;
	res = cmx_query_result(q);

	spin_lock(&q->lock);
	if (q->state != CMX_QUERY_READY) {
		spin_unlock(&q->lock);
		rdma_cmx_result_put(res);
		return;
	}
	q->state = CMX_QUERY_CALLING;
	q->caller = current;
	spin_unlock(&q->lock);

	cmx_count_done(q, res);
	q->done(q, res, q->context);

	spin_lock(&q->lock);
	q->state = CMX_QUERY_DONE;
	q->caller = NULL;
	spin_unlock(&q->lock);
	complete_all(&q->idle);
}

static void cmx_query_work(struct work_struct *work)
{
	struct rdma_cmx_query *q = container_of(work, struct rdma_cmx_query,
						work);

	cmx_query_run(q);
	rdma_cmx_query_put(q);
}

static void cmx_query_queue(struct rdma_cmx_query *q)
{
	kref_get(&q->ref);
	queue_work(cmx_wq, &q->work);
}

static void cmx_query_disarm(struct rdma_cmx_query *q)
{
	if (cancel_delayed_work(&q->deadline))
		rdma_cmx_query_put(q);
}

/*
 * NAMES to READY with @answer, which the query takes over, or with @error.
 * Returns false, and leaves @answer alone, if it does not wait for names.
 */
static bool cmx_query_ready(struct rdma_cmx_query *q,
			    const struct cmx_answer *answer, int error)
{
	spin_lock(&q->lock);
	if (q->state != CMX_QUERY_NAMES) {
		spin_unlock(&q->lock);
		return false;
	}
	if (answer)
		q->answer = *answer;
	q->error = error;
	q->state = CMX_QUERY_READY;
	spin_unlock(&q->lock);
	return true;
}

static void cmx_query_forget_names(struct rdma_cmx_query *q)
{
	if (cmx_names_forget(&q->waiter))
		rdma_cmx_query_put(q);
}

static void cmx_query_deadline(struct work_struct *work)
{
	struct rdma_cmx_query *q = container_of(to_delayed_work(work),
						struct rdma_cmx_query,
						deadline);

	if (cmx_query_ready(q, NULL, -ETIMEDOUT)) {
		trace_cmx_query_timeout(q);
		cmx_query_forget_names(q);
		cmx_query_run(q);
	}
	rdma_cmx_query_put(q);
}

/* The look-up is through; consumes its reference. */
static void cmx_query_names_done(struct cmx_waiter *waiter,
				 const struct cmx_answer *from, int error)
{
	struct rdma_cmx_query *q = container_of(waiter, struct rdma_cmx_query,
						waiter);
	struct cmx_answer answer = {};

	if (from)
		cmx_answer_share(&answer, from);
	if (cmx_query_ready(q, &answer, error)) {
		cmx_query_disarm(q);
		cmx_query_queue(q);
	} else {
		cmx_answer_release(&answer);
	}
	rdma_cmx_query_put(q);
}

int rdma_cmx_query_check(const struct rdma_cmx_query_attr *attr)
{
	struct cmx_candidates cands;
	struct cmx_hints hints;
	int ret;

	ret = cmx_question_local(attr, &hints, &cands);
	return min(ret, 0);
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_check);

static struct rdma_cmx_query *
cmx_query_alloc(const struct rdma_cmx_query_attr *attr, rdma_cmx_done_fn done,
		void *context)
{
	size_t node_len = attr->node ? strlen(attr->node) : 0;
	struct rdma_cmx_query *q;

	q = kzalloc(struct_size(q, node, node_len + 1), GFP_KERNEL_ACCOUNT);
	if (!q)
		return NULL;
	kref_init(&q->ref);
	spin_lock_init(&q->lock);
	init_completion(&q->idle);
	INIT_WORK(&q->work, cmx_query_work);
	INIT_DELAYED_WORK(&q->deadline, cmx_query_deadline);
	q->waiter.done = cmx_query_names_done;
	q->names_later = attr->names_later;
	q->done = done;
	q->context = context;
	memcpy(q->node, attr->node ?: "", node_len);
	cmx_stat_inc(live_queries);
	return q;
}

static unsigned long cmx_query_timeout(const struct rdma_cmx_query_attr *attr)
{
	u32 ms = attr->timeout_ms ?: READ_ONCE(query_timeout_ms);

	return msecs_to_jiffies(min(ms, READ_ONCE(query_timeout_max_ms)));
}

/*
 * Puts a query that needs names into NAMES or, if the answer is there, into
 * READY. The query is in use by others when this returns 0.
 */
static int cmx_query_ask_names(struct rdma_cmx_query *q,
			       const struct rdma_cmx_query_attr *attr)
{
	int ret;

	ret = cmx_question_names(attr, &q->answer);
	if (ret != -EINPROGRESS) {
		/* Bad names of the caller are the caller's own mistake. */
		if (ret && (attr->names || ret == -ENOMEM))
			return ret;
		q->error = ret;
		q->state = CMX_QUERY_READY;
		cmx_query_queue(q);
		return 0;
	}

	q->state = CMX_QUERY_NAMES;
	if (!attr->names_later) {
		kref_get(&q->ref);
		ret = cmx_names_lookup(q->node, q->hints.uid, &q->waiter);
		if (ret) {
			rdma_cmx_query_put(q);
			return ret;
		}
	}

	/* The look-up may be through already: then there is no deadline. */
	kref_get(&q->ref);
	spin_lock(&q->lock);
	if (q->state == CMX_QUERY_NAMES &&
	    queue_delayed_work(cmx_wq, &q->deadline, cmx_query_timeout(attr))) {
		spin_unlock(&q->lock);
		return 0;
	}
	spin_unlock(&q->lock);
	rdma_cmx_query_put(q);
	return 0;
}

int rdma_cmx_query_start(const struct rdma_cmx_query_attr *attr,
			 rdma_cmx_done_fn done, void *context,
			 struct rdma_cmx_query **pquery)
{
	struct cmx_candidates cands;
	struct rdma_cmx_query *q;
	struct cmx_hints hints;
	int ret;

	ret = cmx_question_local(attr, &hints, &cands);
	if (ret < 0)
		return ret;
	q = cmx_query_alloc(attr, done, context);
	if (!q)
		return -ENOMEM;
	q->hints = hints;
	get_net(hints.net);

	cmx_stat_inc(requests);
	trace_cmx_query_start(q, attr->node, &q->hints);
	*pquery = q;
	if (ret == CMX_NEEDS_NAMES) {
		ret = cmx_query_ask_names(q, attr);
	} else {
		q->cands = cands;
		if (cands.canonname)
			q->cands.canonname = q->node;
		q->state = CMX_QUERY_READY;
		cmx_query_queue(q);
	}
	if (ret) {
		*pquery = NULL;
		cmx_count_done(q, ERR_PTR(ret));
		rdma_cmx_query_put(q);
	}
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_start);

int rdma_cmx_query_give_names(struct rdma_cmx_query *query, int error,
			      const struct rdma_cmx_names *names,
			      size_t names_len)
{
	struct cmx_answer answer = {};
	int ret;

	if (error < 0 || error > MAX_ERRNO)
		return -EINVAL;
	if (!query->names_later)
		return -ESRCH;
	if (!error) {
		ret = cmx_answer_copy(&answer, names, names_len);
		if (ret)
			return ret;
	}
	if (!cmx_query_ready(query, &answer, -error)) {
		cmx_answer_release(&answer);
		return -ESRCH;
	}
	cmx_stat_inc(names_given);
	cmx_query_disarm(query);
	cmx_query_queue(query);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_give_names);

bool rdma_cmx_query_cancel(struct rdma_cmx_query *query)
{
	bool waits, runs;

	spin_lock(&query->lock);
	waits = query->state == CMX_QUERY_NAMES;
	if (waits || query->state == CMX_QUERY_READY) {
		query->state = CMX_QUERY_CANCELLED;
		spin_unlock(&query->lock);
		if (waits) {
			cmx_query_disarm(query);
			cmx_query_forget_names(query);
		}
		cmx_stat_inc(cancelled);
		trace_cmx_query_cancel(query);
		return true;
	}
	if (query->state == CMX_QUERY_CANCELLED) {
		spin_unlock(&query->lock);
		return true;
	}
	runs = query->state == CMX_QUERY_CALLING && query->caller != current;
	spin_unlock(&query->lock);
	if (runs)
		wait_for_completion(&query->idle);
	return false;
}
EXPORT_SYMBOL_GPL(rdma_cmx_query_cancel);

struct cmx_sync {
	struct completion done;
	struct rdma_cmx_result *res;
};

static void cmx_sync_done(struct rdma_cmx_query *query,
			  struct rdma_cmx_result *result, void *context)
{
	struct cmx_sync *sync = context;

	sync->res = result;
	complete(&sync->done);
}

static struct rdma_cmx_result *
cmx_resolve_wait(const struct rdma_cmx_query_attr *attr)
{
	struct rdma_cmx_query *q;
	struct cmx_sync sync;
	int ret;

	init_completion(&sync.done);
	ret = rdma_cmx_query_start(attr, cmx_sync_done, &sync, &q);
	if (ret)
		return ERR_PTR(ret);
	/* After a signal the answer may still have come first. */
	if (wait_for_completion_interruptible(&sync.done) &&
	    rdma_cmx_query_cancel(q))
		sync.res = ERR_PTR(-ERESTARTSYS);
	rdma_cmx_query_put(q);
	return sync.res;
}

struct rdma_cmx_result *rdma_cmx_resolve(const struct rdma_cmx_query_attr *attr)
{
	struct cmx_answer answer = {};
	struct cmx_candidates cands CMX_UNINIT;
	struct rdma_cmx_result *res;
	struct cmx_hints hints CMX_UNINIT;
	int ret;

	if (attr->names_later)
		return ERR_PTR(-EINVAL);
	ret = cmx_question_local(attr, &hints, &cands);
	if (ret < 0)
		return ERR_PTR(ret);
	if (ret == CMX_NEEDS_NAMES) {
		ret = cmx_question_names(attr, &answer);
		if (ret == -EINPROGRESS)
			return cmx_resolve_wait(attr);
		if (!ret)
			ret = cmx_candidates_names(&hints, answer.names,
						   &cands);
	}

	cmx_stat_inc(requests);
	trace_cmx_query_start(NULL, attr->node, &hints);
	res = ret ? ERR_PTR(ret) : cmx_result_build(&hints, &cands);
	cmx_answer_release(&answer);
	cmx_count_done(NULL, res);
	return res;
}
EXPORT_SYMBOL_GPL(rdma_cmx_resolve);

int cmx_query_init(void)
{
	cmx_wq = alloc_workqueue("rdma_cmx", WQ_UNBOUND, 0);
	return cmx_wq ? 0 : -ENOMEM;
}

void cmx_query_exit(void)
{
	destroy_workqueue(cmx_wq);
}
