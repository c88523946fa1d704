// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The table of services: its lock, references and reports of services, claims
 * of records, the limits, and the end of a service. It also queues the work
 * items of records, since the end of one lets others continue, and those of
 * calls.
 */
#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "advertise/advertise.h"

unsigned int cmx_services_per_user = 1024;
module_param_named(services_per_user, cmx_services_per_user, uint, 0644);
MODULE_PARM_DESC(services_per_user,
		 "Maximum services that one user advertises (default 1024)");

unsigned int cmx_services_max = 16384;
module_param_named(services_max, cmx_services_max, uint, 0644);
MODULE_PARM_DESC(services_max,
		 "Maximum services of all users and kernel consumers (default 16384)");

DEFINE_MUTEX(cmx_service_lock);	/* services and their records */

DEFINE_HASHTABLE(cmx_service_table, CMX_SERVICES_BITS);
static unsigned int cmx_services_count;
static LIST_HEAD(cmx_service_users);
DECLARE_WAIT_QUEUE_HEAD(cmx_service_wait);	/* for the end of a record */

static struct workqueue_struct *cmx_record_wq;
struct cmx_users cmx_service_callers = CMX_USERS_INIT(cmx_service_callers);

struct cmx_service_call {
	struct cmx_job job;
	void (*fn)(void *arg);
	void *arg;
	struct completion done;
};

static void cmx_service_call_run(struct cmx_job *job)
{
	struct cmx_service_call *call = container_of(job,
						     struct cmx_service_call,
						     job);

	mutex_lock(&cmx_service_lock);
	call->fn(call->arg);
	mutex_unlock(&cmx_service_lock);
	/* Last: it is on the caller's stack. */
	complete(&call->done);
}

/*
 * Calls @fn under the lock, in a work item, and waits for the end. @fn waits for
 * nothing else, so that the calls do not wait for a callback that makes one.
 * The queue is scheduled round robin over the users.
 */
void cmx_service_call(struct rdma_cmx_service *s, void (*fn)(void *arg),
		      void *arg)
{
	struct cmx_service_call call = {
		.job.run = cmx_service_call_run,
		.fn = fn,
		.arg = arg,
	};

	/* Lockdep knows the order as if the caller took it. */
	might_lock(&cmx_service_lock);
	init_completion(&call.done);
	cmx_user_run(s->caller, &call.job);
	wait_for_completion(&call.done);
}

/* Wakes waiters for the end of a record. */
void cmx_service_wake(void)
{
	wake_up_all(&cmx_service_wait);
}

void cmx_service_put(struct rdma_cmx_service *s)
{
	if (!refcount_dec_and_test(&s->ref))
		return;
	cmx_user_put(s->caller);
	put_net(s->net);
	kfree(s);
	cmx_stat_dec(live_services);
}

/* Not under cmx_service_lock, but @s->reports was incremented under it. */
void cmx_service_report(struct rdma_cmx_service *s,
			const struct rdma_cmx_service_event *event)
{
	rdma_cmx_service_fn fn;

	mutex_lock(&s->report_lock);
	fn = READ_ONCE(s->event);
	if (fn)
		fn(s, event, s->context);
	mutex_unlock(&s->report_lock);
	/* Pairs with the barrier of wait_var_event(). */
	if (atomic_dec_and_test(&s->reports))
		wake_up_var(&s->reports);
}

/*
 * Queues the work item to run after @delay, instead of its present time. Under
 * the lock, or with a reference. A record that has ended ignores it.
 */
void cmx_record_kick(struct cmx_port_record *r, unsigned long delay)
{
	refcount_inc(&r->ref);
	if (mod_delayed_work(cmx_record_wq, &r->work, delay))
		refcount_dec(&r->ref);	/* it was pending, with a reference */
}

/*
 * Under the lock. True if another service has @pkey with the same id on the
 * port of @record. @passes: it is about to end.
 */
bool cmx_service_claimed(const struct cmx_port_record *record, u16 pkey,
			 bool *passes)
{
	const struct rdma_cmx_service *s = record->service, *other;
	const struct cmx_port_record *r;

	hash_for_each_possible(cmx_service_table, other, hash,
			       cmx_service_hash(s->id)) {
		if (other == s || other->id != s->id)
			continue;
		list_for_each_entry(r, &other->records, node) {
			if (r->port == record->port && r->claimed &&
			    cmx_same_partition(r->pkey, pkey)) {
				*passes = r->ending;
				return true;
			}
		}
	}
	return false;
}

/* Under the lock. Queues the records that @record has blocked. */
void cmx_service_unclaimed(const struct cmx_port_record *record)
{
	struct rdma_cmx_service *s = record->service, *other;
	struct cmx_port_record *r;

	hash_for_each_possible(cmx_service_table, other, hash,
			       cmx_service_hash(s->id)) {
		if (other == s || other->id != s->id)
			continue;
		list_for_each_entry(r, &other->records, node) {
			/*
			 * Others fail for another reason, as often as their
			 * backoff allows.
			 */
			if (r->port != record->port || !r->blocked ||
			    r->ending ||
			    !cmx_same_partition(r->blocked_pkey, record->pkey))
				continue;
			r->blocked = false;
			r->due = jiffies;
			cmx_record_kick(r, 0);
		}
	}
}

/* Under the lock. */
static struct cmx_service_user *cmx_service_user_find(kuid_t uid)
{
	struct cmx_service_user *user;

	list_for_each_entry(user, &cmx_service_users, node) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

/* Under the lock. Takes @fresh over for a user without an object. */
int cmx_service_count(struct rdma_cmx_service *s,
		      struct cmx_service_user **fresh)
{
	unsigned int max = READ_ONCE(cmx_services_max);
	struct cmx_service_user *user = NULL;

	if (s->counted) {
		/* An eighth is for kernel consumers, another one for root. */
		max -= max / 8 * (uid_eq(s->uid, GLOBAL_ROOT_UID) ? 1 : 2);
		user = cmx_service_user_find(s->uid) ?: *fresh;
		if (user->count >= READ_ONCE(cmx_services_per_user))
			return -EAGAIN;
	}
	if (cmx_services_count >= max)
		return -EAGAIN;
	if (user) {
		if (!user->count++) {
			list_add(&user->node, &cmx_service_users);
			*fresh = NULL;
		}
	}
	cmx_services_count++;
	return 0;
}

static void cmx_service_uncount(struct rdma_cmx_service *s)
{
	struct cmx_service_user *user;

	cmx_services_count--;
	if (!s->counted)
		return;
	user = cmx_service_user_find(s->uid);
	if (!--user->count) {
		list_del(&user->node);
		kfree(user);
	}
}

/* Under the lock. A record or the service has ended. */
void cmx_service_ended(struct rdma_cmx_service *s)
{
	if (s->withdrawn && list_empty(&s->records)) {
		hash_del(&s->hash);
		cmx_service_uncount(s);
		cmx_service_put(s);
	}
	cmx_service_wake();
}

/*
 * Callbacks run on the queue of records, and make calls, which thus have another
 * queue. One call at a time: more would wait for the lock, and a removal of a
 * device behind them. A consumer may call while memory is reclaimed.
 */
int cmx_service_init(void)
{
	cmx_record_wq = alloc_workqueue("rdma_cmx_service", WQ_UNBOUND, 0);
	if (!cmx_record_wq)
		return -ENOMEM;
	cmx_service_callers.wq = alloc_ordered_workqueue("rdma_cmx_service_call",
							 WQ_MEM_RECLAIM);
	if (cmx_service_callers.wq)
		return 0;
	destroy_workqueue(cmx_record_wq);
	return -ENOMEM;
}

/* No record is left. The last work items may not have returned. */
void cmx_service_exit(void)
{
	destroy_workqueue(cmx_service_callers.wq);
	destroy_workqueue(cmx_record_wq);
}
