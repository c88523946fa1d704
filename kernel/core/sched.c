// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Slots that users share, see sched.h. */
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/once.h>
#include <linux/siphash.h>
#include <linux/slab.h>

#include "sched.h"

/* For tables whose keys users choose: nobody can aim at one chain. */
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

void cmx_sched_init(struct cmx_sched *sched,
		    bool (*same)(const struct cmx_sched_entity *a,
				 const struct cmx_sched_entity *b))
{
	sched->same = same;
	hash_init(sched->lookups);
	hash_init(sched->users);
	INIT_LIST_HEAD(&sched->first);
	INIT_LIST_HEAD(&sched->more);
	INIT_LIST_HEAD(&sched->waiting);
	INIT_LIST_HEAD(&sched->running);
}

/* In no state yet that the engine knows. */
void cmx_sched_entity_init(struct cmx_sched_entity *entity, u32 hash)
{
	entity->state = CMX_SCHED_GONE;
	INIT_HLIST_NODE(&entity->hash);
	entity->hash_value = hash;
	INIT_LIST_HEAD(&entity->node);
	INIT_LIST_HEAD(&entity->queue);
	INIT_LIST_HEAD(&entity->followers);
}

/* For cmx_sched_add(), which may find that it is known already. */
struct cmx_sched_user *cmx_sched_user_alloc(kuid_t uid)
{
	struct cmx_sched_user *user;

	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	INIT_LIST_HEAD(&user->node);
	INIT_LIST_HEAD(&user->queue);
	user->uid = uid;
	return user;
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

static bool cmx_sched_user_is_root(const struct cmx_sched_user *user)
{
	return uid_eq(user->uid, GLOBAL_ROOT_UID);
}

/* The last among those who are like @user, or nowhere if nothing waits. */
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
 * Returns a lookup with the key of @like that the user @uid may join, or NULL.
 * It is a running one of any user, or a waiting one of the same user.
 */
struct cmx_sched_entity *cmx_sched_find(struct cmx_sched *sched,
					const struct cmx_sched_entity *like,
					kuid_t uid)
{
	struct cmx_sched_entity *entity;

	hash_for_each_possible(sched->lookups, entity, hash, like->hash_value) {
		if (entity->hash_value == like->hash_value &&
		    (entity->state == CMX_SCHED_RUNNING ||
		     uid_eq(entity->user->uid, uid)) &&
		    sched->same(entity, like))
			return entity;
	}
	return NULL;
}

/*
 * @entity waits from now on, for the user *@user; if that is known already,
 * @user keeps the caller's struct, otherwise it becomes NULL. -EAGAIN: the
 * user has too many waiting.
 */
int cmx_sched_add(struct cmx_sched *sched,
		  const struct cmx_sched_limits *limits,
		  struct cmx_sched_entity *entity,
		  struct cmx_sched_user **puser)
{
	u32 hash = cmx_sched_user_hash((*puser)->uid);
	struct cmx_sched_user *user;

	user = cmx_sched_user_find(sched, (*puser)->uid, hash);
	if (user && user->waiting >= limits->waiting_per_user)
		return -EAGAIN;
	if (!user) {
		user = *puser;
		*puser = NULL;
		hash_add(sched->users, &user->hash, hash);
	}
	entity->user = user;
	WRITE_ONCE(entity->state, CMX_SCHED_WAITING);
	hash_add(sched->lookups, &entity->hash, entity->hash_value);
	list_add_tail(&entity->node, &sched->waiting);
	list_add_tail(&entity->queue, &user->queue);
	sched->nr_waiting++;
	if (!user->waiting++)
		cmx_sched_user_place(sched, user);
	return 0;
}

/* @entity waits no longer; its user may be idle now. */
static void cmx_sched_unqueue(struct cmx_sched *sched,
			      struct cmx_sched_entity *entity)
{
	list_del_init(&entity->queue);
	sched->nr_waiting--;
	if (!--entity->user->waiting)
		list_del_init(&entity->user->node);
}

/* May @user, with nothing running, have a slot? */
static bool cmx_sched_may_first(const struct cmx_sched *sched,
				const struct cmx_sched_limits *limits,
				const struct cmx_sched_user *user)
{
	unsigned int reserve = limits->slots / 8;

	if (cmx_sched_user_is_root(user))
		reserve = 0;
	reserve -= min(reserve, sched->nr_root);
	return sched->nr_running < limits->slots - reserve;
}

/* May @user, with some running, have one more? */
static bool cmx_sched_may_more(const struct cmx_sched *sched,
			       const struct cmx_sched_limits *limits,
			       const struct cmx_sched_user *user)
{
	unsigned int half = limits->slots - limits->slots / 2;

	if (user->running >= limits->per_user ||
	    sched->nr_running >= limits->window)
		return false;
	if (cmx_sched_user_is_root(user))
		return sched->nr_running < limits->slots - limits->slots / 4;
	return sched->nr_running < half &&
	       user->running < 2 * (half - sched->nr_running);
}

/*
 * Who is next, or NULL. Root, if it waits for its first slot behind others, is
 * found by its uid when only its reserve is left.
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
		user = cmx_sched_user_find(sched, GLOBAL_ROOT_UID,
					   cmx_sched_user_hash(GLOBAL_ROOT_UID));
		if (user && user->waiting && !user->running &&
		    cmx_sched_may_first(sched, limits, user))
			return user;
	}
	/* No more users than lookups that run. */
	list_for_each_entry(user, &sched->more, node) {
		if (cmx_sched_may_more(sched, limits, user))
			return user;
	}
	return NULL;
}

/* Those who wait for the same as @entity wait for @entity. */
static void cmx_sched_gather(struct cmx_sched *sched,
			     struct cmx_sched_entity *entity)
{
	struct cmx_sched_user *user;
	struct hlist_node *tmp;
	struct cmx_sched_entity *other;

	hash_for_each_possible_safe(sched->lookups, other, tmp, hash,
				    entity->hash_value) {
		if (other == entity ||
		    other->hash_value != entity->hash_value ||
		    !sched->same(other, entity))
			continue;
		user = other->user;
		cmx_sched_unqueue(sched, other);
		cmx_sched_user_idle(user);
		hash_del(&other->hash);
		other->user = NULL;
		WRITE_ONCE(other->state, CMX_SCHED_FOLLOWING);
		list_move_tail(&other->node, &entity->followers);
	}
}

/* The next lookup that gets a slot, which it has now. Or NULL. */
struct cmx_sched_entity *cmx_sched_next(struct cmx_sched *sched,
					const struct cmx_sched_limits *limits)
{
	struct cmx_sched_user *user;
	struct cmx_sched_entity *entity;

	user = cmx_sched_next_user(sched, limits);
	if (!user)
		return NULL;
	entity = list_first_entry(&user->queue, struct cmx_sched_entity, queue);
	cmx_sched_unqueue(sched, entity);
	WRITE_ONCE(entity->state, CMX_SCHED_RUNNING);
	list_move_tail(&entity->node, &sched->running);
	sched->nr_running++;
	if (cmx_sched_user_is_root(user))
		sched->nr_root++;
	user->running++;
	cmx_sched_user_place(sched, user);
	cmx_sched_gather(sched, entity);
	return entity;
}

/*
 * @entity, in whatever state, counts no more and cannot be joined. Its
 * followers stay with it.
 */
void cmx_sched_leave(struct cmx_sched *sched, struct cmx_sched_entity *entity)
{
	struct cmx_sched_user *user = entity->user;

	switch (entity->state) {
	case CMX_SCHED_WAITING:
		cmx_sched_unqueue(sched, entity);
		break;
	case CMX_SCHED_RUNNING:
		sched->nr_running--;
		if (cmx_sched_user_is_root(user))
			sched->nr_root--;
		/* It waits for its first one again. */
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
}

/* One that followed @entity and follows it no more, or NULL. */
struct cmx_sched_entity *cmx_sched_follower(struct cmx_sched_entity *entity)
{
	struct cmx_sched_entity *follower;

	follower = list_first_entry_or_null(&entity->followers,
					    struct cmx_sched_entity,
					    node);
	if (follower) {
		list_del_init(&follower->node);
		WRITE_ONCE(follower->state, CMX_SCHED_GONE);
	}
	return follower;
}
