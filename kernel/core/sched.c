// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Shared lookups and their queue slots, see sched.h. */
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/once.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "sched.h"

/* For tables with keys of users: a user cannot choose the chain. */
u32 cmx_hash(const void *data, size_t len)
{
	static siphash_key_t key __read_mostly;

	get_random_once(&key, sizeof(key));
	return siphash(data, len, &key);
}

static int cmx_param_set_positive(const char *val,
				  const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, UINT_MAX);
}

const struct kernel_param_ops param_ops_cmx_positive = {
	.set = cmx_param_set_positive,
	.get = param_get_uint,
};

void cmx_sched_init(struct cmx_sched *sched, spinlock_t *lock,
		    const struct cmx_sched_ops *ops)
{
	sched->ops = ops;
	sched->lock = lock;
	hash_init(sched->lookups);
	hash_init(sched->users);
	INIT_LIST_HEAD(&sched->first);
	INIT_LIST_HEAD(&sched->more);
	INIT_LIST_HEAD(&sched->waiting);
	INIT_LIST_HEAD(&sched->running);
}

/*
 * Initialises a lookup on behalf of @uid, not yet part of @sched. It cannot be
 * joined. Returns 0 or -ENOMEM.
 */
int cmx_sched_entity_init(struct cmx_sched_entity *entity,
			  struct cmx_sched *sched, kuid_t uid, u32 hash)
{
	struct cmx_sched_user *user;

	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return -ENOMEM;
	INIT_LIST_HEAD(&user->node);
	INIT_LIST_HEAD(&user->queue);
	user->uid = uid;

	entity->state = CMX_SCHED_GONE;
	INIT_HLIST_NODE(&entity->hash);
	entity->hash_value = hash;
	INIT_LIST_HEAD(&entity->node);
	INIT_LIST_HEAD(&entity->queue);
	INIT_LIST_HEAD(&entity->followers);
	INIT_LIST_HEAD(&entity->waiters);
	entity->count = 0;
	entity->sched = sched;
	entity->user = user;
	return 0;
}

/* Before a lookup, which is GONE, is freed */
void cmx_sched_entity_exit(struct cmx_sched_entity *entity)
{
	kfree(entity->user);
}

static u32 cmx_sched_user_hash(kuid_t uid)
{
	uid_t value = __kuid_val(uid);

	return cmx_hash(&value, sizeof(value));
}

static struct cmx_sched_user *cmx_sched_user_find(struct cmx_sched *sched,
						  kuid_t uid, u32 hash)
{
	struct cmx_sched_user *user;

	hash_for_each_possible(sched->users, user, hash, hash) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

static enum cmx_sched_class cmx_sched_class(const struct cmx_sched_user *user)
{
	if (uid_eq(user->uid, CMX_KERNEL_UID))
		return CMX_SCHED_KERNEL;
	if (uid_eq(user->uid, GLOBAL_ROOT_UID))
		return CMX_SCHED_ROOT;
	return CMX_SCHED_OTHERS;
}

/* Free slots in the reserves of the classes before @class */
static unsigned int cmx_sched_reserve(const struct cmx_sched *sched,
				      const struct cmx_sched_limits *limits,
				      enum cmx_sched_class class)
{
	unsigned int each = DIV_ROUND_UP(limits->slots / 8, 2);
	unsigned int n = 0, i;

	for (i = CMX_SCHED_KERNEL; i < class; i++)
		n += each - min(each, sched->nr_class[i]);
	return n;
}

/* Moves @user to the end of its list, or off the lists if nothing waits. */
static void cmx_sched_user_place(struct cmx_sched *sched,
				 struct cmx_sched_user *user)
{
	list_del_init(&user->node);
	if (user->waiting)
		list_add_tail(&user->node, user->running ? &sched->more :
							   &sched->first);
}

static void cmx_sched_user_idle(struct cmx_sched_user *user)
{
	if (user->running || user->waiting)
		return;
	hash_del(&user->hash);
	kfree(user);
}

/*
 * Returns a lookup with the key of @like that its user may join, or NULL. It is
 * a running one with few waiters, or one of the same user that no lookup
 * follows: the waiters of followers are called last.
 */
static struct cmx_sched_entity *
cmx_sched_find(const struct cmx_sched_entity *like)
{
	struct cmx_sched *sched = like->sched;
	struct cmx_sched_entity *entity;

	hash_for_each_possible(sched->lookups, entity, hash, like->hash_value) {
		if (entity->hash_value == like->hash_value &&
		    ((entity->state == CMX_SCHED_RUNNING &&
		      entity->count < sched->ops->shared) ||
		     (uid_eq(entity->user->uid, like->user->uid) &&
		      list_empty(&entity->followers))) &&
		    sched->ops->same(entity, like))
			return entity;
	}
	return NULL;
}

/* Queues @entity. -EAGAIN: too many lookups of its user wait. */
static int cmx_sched_add(struct cmx_sched *sched,
			 struct cmx_sched_entity *entity)
{
	u32 hash = cmx_sched_user_hash(entity->user->uid);
	struct cmx_sched_user *user;

	user = cmx_sched_user_find(sched, entity->user->uid, hash);
	if (user) {
		if (user->waiting >= sched->ops->limits(sched).waiting_per_user)
			return -EAGAIN;
		kfree(entity->user);
		entity->user = user;
	} else {
		user = entity->user;
		hash_add(sched->users, &user->hash, hash);
	}
	WRITE_ONCE(entity->state, CMX_SCHED_WAITING);
	hash_add(sched->lookups, &entity->hash, entity->hash_value);
	list_add_tail(&entity->node, &sched->waiting);
	list_add_tail(&entity->queue, &user->queue);
	sched->nr_waiting++;
	if (!user->waiting++)
		cmx_sched_user_place(sched, user);
	return 0;
}

/* Removes @entity from the queue. Its user may be idle now. */
static void cmx_sched_unqueue(struct cmx_sched_entity *entity)
{
	list_del_init(&entity->queue);
	entity->sched->nr_waiting--;
	if (!--entity->user->waiting)
		list_del_init(&entity->user->node);
}

/* True if @user, with no running lookup, may have a slot */
static bool cmx_sched_may_first(const struct cmx_sched *sched,
				const struct cmx_sched_limits *limits,
				const struct cmx_sched_user *user)
{
	return sched->nr_running < limits->slots -
	       cmx_sched_reserve(sched, limits, cmx_sched_class(user));
}

/* True if @user, with running lookups, may have another slot */
static bool cmx_sched_may_more(const struct cmx_sched *sched,
			       const struct cmx_sched_limits *limits,
			       const struct cmx_sched_user *user)
{
	unsigned int half = limits->slots - limits->slots / 2;

	if (user->running >= limits->per_user ||
	    sched->nr_running >= limits->window)
		return false;
	if (cmx_sched_class(user) != CMX_SCHED_OTHERS)
		return sched->nr_running < limits->slots - limits->slots / 4;
	return sched->nr_running < half &&
	       user->running < 2 * (half - sched->nr_running);
}

/* The user @uid, if it may have its first slot */
static struct cmx_sched_user *
cmx_sched_first_of(struct cmx_sched *sched,
		   const struct cmx_sched_limits *limits, kuid_t uid)
{
	struct cmx_sched_user *user;

	user = cmx_sched_user_find(sched, uid, cmx_sched_user_hash(uid));
	return user && user->waiting && !user->running &&
	       cmx_sched_may_first(sched, limits, user) ? user : NULL;
}

/*
 * The next user, or NULL. Users with a reserve that wait for their first slot
 * behind others are found by their uid when only the reserve is left.
 */
static struct cmx_sched_user *
cmx_sched_next_user(struct cmx_sched *sched,
		    const struct cmx_sched_limits *limits)
{
	struct cmx_sched_user *user;

	user = list_first_entry_or_null(&sched->first, struct cmx_sched_user,
					node);
	if (user && cmx_sched_may_first(sched, limits, user))
		return user;
	if (user) {
		user = cmx_sched_first_of(sched, limits, CMX_KERNEL_UID) ?:
		       cmx_sched_first_of(sched, limits, GLOBAL_ROOT_UID);
		if (user)
			return user;
	}
	/* At most as many users as running lookups */
	list_for_each_entry(user, &sched->more, node) {
		if (cmx_sched_may_more(sched, limits, user))
			return user;
	}
	return NULL;
}

/* Lookups with the same key as @entity follow it, if they have few waiters. */
static void cmx_sched_gather(struct cmx_sched *sched,
			     struct cmx_sched_entity *entity)
{
	struct cmx_sched_user *user;
	struct hlist_node *tmp;
	struct cmx_sched_entity *other;

	if (entity->count >= sched->ops->shared)
		return;
	hash_for_each_possible_safe(sched->lookups, other, tmp, hash,
				    entity->hash_value) {
		if (other == entity || other->state != CMX_SCHED_WAITING ||
		    other->count >= sched->ops->shared ||
		    other->hash_value != entity->hash_value ||
		    !sched->ops->same(other, entity))
			continue;
		user = other->user;
		cmx_sched_unqueue(other);
		cmx_sched_user_idle(user);
		hash_del(&other->hash);
		other->user = NULL;
		WRITE_ONCE(other->state, CMX_SCHED_FOLLOWING);
		list_move_tail(&other->node, &entity->followers);
	}
}

/* Gives a slot to the next lookup, and returns it; or NULL. */
static struct cmx_sched_entity *
cmx_sched_next(struct cmx_sched *sched, const struct cmx_sched_limits *limits)
{
	struct cmx_sched_user *user;
	struct cmx_sched_entity *entity;

	user = cmx_sched_next_user(sched, limits);
	if (!user)
		return NULL;
	entity = list_first_entry(&user->queue, struct cmx_sched_entity, queue);
	cmx_sched_unqueue(entity);
	WRITE_ONCE(entity->state, CMX_SCHED_RUNNING);
	list_move_tail(&entity->node, &sched->running);
	sched->nr_running++;
	sched->nr_class[cmx_sched_class(user)]++;
	user->running++;
	cmx_sched_user_place(sched, user);
	cmx_sched_gather(sched, entity);
	return entity;
}

/* Starts the lookups for which there is a slot. */
void cmx_sched_run(struct cmx_sched *sched)
{
	struct cmx_sched_limits limits = sched->ops->limits(sched);
	struct cmx_sched_entity *entity;

	while ((entity = cmx_sched_next(sched, &limits)))
		sched->ops->start(entity);
}

/* For a lookup that can be joined, or whose owner always calls complete */
void cmx_sched_wait(struct cmx_sched_entity *entity,
		    struct cmx_sched_waiter *waiter)
{
	waiter->entity = entity;
	list_add_tail(&waiter->node, &entity->waiters);
	entity->count++;
}

/*
 * Lets @waiter wait for @fresh, or for a lookup with the same key. Starts
 * lookups that may start. Returns 0; 1: @fresh is not needed; -EAGAIN: neither,
 * because too many lookups of the user wait.
 */
int cmx_sched_join(struct cmx_sched_entity *fresh,
		   struct cmx_sched_waiter *waiter)
{
	struct cmx_sched_entity *entity = cmx_sched_find(fresh);
	int ret;

	if (!entity) {
		ret = cmx_sched_add(fresh->sched, fresh);
		if (ret)
			return ret;
	}
	cmx_sched_wait(entity ?: fresh, waiter);
	cmx_sched_run(fresh->sched);
	return entity ? 1 : 0;
}

/* True if a caller waits for @entity */
bool cmx_sched_wanted(const struct cmx_sched_entity *entity)
{
	return !list_empty(&entity->waiters) || !list_empty(&entity->followers);
}

/*
 * Removes @entity, in any state, so that it cannot be joined. Its waiters and
 * followers stay with it. The next lookup gets its slot.
 */
void cmx_sched_leave(struct cmx_sched_entity *entity)
{
	bool running = entity->state == CMX_SCHED_RUNNING;
	struct cmx_sched_user *user = entity->user;
	struct cmx_sched *sched = entity->sched;

	switch (entity->state) {
	case CMX_SCHED_WAITING:
		cmx_sched_unqueue(entity);
		break;
	case CMX_SCHED_RUNNING:
		sched->nr_running--;
		sched->nr_class[cmx_sched_class(user)]--;
		/* The user waits for its first slot again. */
		if (!--user->running)
			cmx_sched_user_place(sched, user);
		break;
	case CMX_SCHED_FOLLOWING:
		break;
	case CMX_SCHED_GONE:
		return;
	}
	if (user) {
		hash_del(&entity->hash);
		cmx_sched_user_idle(user);
		entity->user = NULL;
	}
	list_del_init(&entity->node);
	WRITE_ONCE(entity->state, CMX_SCHED_GONE);
	if (running)
		cmx_sched_run(sched);
}

static void cmx_sched_call(struct cmx_sched_entity *entity, void *result,
			   int error)
{
	spinlock_t *lock = entity->sched->lock;
	struct cmx_sched_waiter *w;

	for (;;) {
		spin_lock(lock);
		w = list_first_entry_or_null(&entity->waiters,
					     struct cmx_sched_waiter, node);
		if (w) {
			list_del(&w->node);
			entity->count--;
			w->entity = NULL;
		}
		spin_unlock(lock);
		if (!w)
			return;
		w->done(w, result, error);
		cond_resched();
	}
}

/*
 * Calls the waiters of @entity, which is GONE, and those of its followers. A
 * follower is freed. The caller frees @entity.
 */
void cmx_sched_complete(struct cmx_sched_entity *entity, void *result,
			int error)
{
	struct cmx_sched *sched = entity->sched;
	struct cmx_sched_entity *follower;

	cmx_sched_call(entity, result, error);
	for (;;) {
		spin_lock(sched->lock);
		follower = list_first_entry_or_null(&entity->followers,
						    struct cmx_sched_entity,
						    node);
		if (follower)
			cmx_sched_leave(follower);
		spin_unlock(sched->lock);
		if (!follower)
			return;
		cmx_sched_call(follower, result, error);
		sched->ops->release(follower);
	}
}

/*
 * Returns true if @waiter->done() has not been called and will not be called;
 * false if it was, is being called, or @waiter did not wait (zeroed). A lookup
 * without a slot has no work item, so its last waiter releases it.
 */
bool cmx_sched_forget(spinlock_t *lock, struct cmx_sched_waiter *waiter)
{
	struct cmx_sched_entity *entity, *idle = NULL;

	spin_lock(lock);
	entity = waiter->entity;
	if (entity) {
		list_del(&waiter->node);
		entity->count--;
		waiter->entity = NULL;
		if (list_empty(&entity->waiters) &&
		    (entity->state == CMX_SCHED_WAITING ||
		     entity->state == CMX_SCHED_FOLLOWING)) {
			cmx_sched_leave(entity);
			idle = entity;
		}
	}
	spin_unlock(lock);
	if (idle)
		idle->sched->ops->release(idle);
	return entity;
}
