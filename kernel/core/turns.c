// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Turns of users, see turns.h. */
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/once.h>
#include <linux/siphash.h>
#include <linux/slab.h>

#include "turns.h"

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

void cmx_turns_init(struct cmx_turns *turns,
		    bool (*same)(const struct cmx_turn *a,
				 const struct cmx_turn *b))
{
	turns->same = same;
	hash_init(turns->lookups);
	hash_init(turns->users);
	INIT_LIST_HEAD(&turns->first);
	INIT_LIST_HEAD(&turns->more);
	INIT_LIST_HEAD(&turns->waiting);
	INIT_LIST_HEAD(&turns->running);
}

/* In no state yet that the engine knows. */
void cmx_turn_init(struct cmx_turn *turn, u32 hash)
{
	turn->state = CMX_TURN_GONE;
	INIT_HLIST_NODE(&turn->hash);
	turn->hash_value = hash;
	INIT_LIST_HEAD(&turn->node);
	INIT_LIST_HEAD(&turn->queue);
	INIT_LIST_HEAD(&turn->followers);
}

/* For cmx_turns_add(), which may find that it is known already. */
struct cmx_turn_user *cmx_turn_user_alloc(kuid_t uid)
{
	struct cmx_turn_user *user;

	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	INIT_LIST_HEAD(&user->node);
	INIT_LIST_HEAD(&user->queue);
	user->uid = uid;
	return user;
}

static u32 cmx_turn_user_hash(kuid_t uid)
{
	uid_t value = __kuid_val(uid);

	return cmx_hash(&value, sizeof(value));
}

static struct cmx_turn_user *cmx_turn_user_find(struct cmx_turns *turns,
						kuid_t uid, u32 hash)
{
	struct cmx_turn_user *user;

	hash_for_each_possible(turns->users, user, hash, hash) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

static bool cmx_turn_user_is_root(const struct cmx_turn_user *user)
{
	return uid_eq(user->uid, GLOBAL_ROOT_UID);
}

/* The last among those who are like @user, or nowhere if nothing waits. */
static void cmx_turn_user_place(struct cmx_turns *turns,
				struct cmx_turn_user *user)
{
	list_del_init(&user->node);
	if (user->waiting)
		list_add_tail(&user->node, user->running ? &turns->more :
							   &turns->first);
}

static void cmx_turn_user_idle(struct cmx_turn_user *user)
{
	if (user->running || user->waiting)
		return;
	hash_del(&user->hash);
	kfree(user);
}

/*
 * A lookup that the user @uid may join, with the key of @like: one that runs,
 * or one of its own that waits. Or NULL.
 */
struct cmx_turn *cmx_turns_find(struct cmx_turns *turns,
				const struct cmx_turn *like, kuid_t uid)
{
	struct cmx_turn *turn;

	hash_for_each_possible(turns->lookups, turn, hash, like->hash_value) {
		if (turn->hash_value == like->hash_value &&
		    (turn->state == CMX_TURN_RUNNING ||
		     uid_eq(turn->user->uid, uid)) &&
		    turns->same(turn, like))
			return turn;
	}
	return NULL;
}

/*
 * @turn waits from now on, for the user *@user; if that is known already,
 * @user keeps the caller's struct, otherwise it becomes NULL. -EAGAIN: the
 * user has too many waiting.
 */
int cmx_turns_add(struct cmx_turns *turns,
		  const struct cmx_turns_limits *limits, struct cmx_turn *turn,
		  struct cmx_turn_user **puser)
{
	u32 hash = cmx_turn_user_hash((*puser)->uid);
	struct cmx_turn_user *user;

	user = cmx_turn_user_find(turns, (*puser)->uid, hash);
	if (user && user->waiting >= limits->waiting_per_user)
		return -EAGAIN;
	if (!user) {
		user = *puser;
		*puser = NULL;
		hash_add(turns->users, &user->hash, hash);
	}
	turn->user = user;
	WRITE_ONCE(turn->state, CMX_TURN_WAITING);
	hash_add(turns->lookups, &turn->hash, turn->hash_value);
	list_add_tail(&turn->node, &turns->waiting);
	list_add_tail(&turn->queue, &user->queue);
	turns->nr_waiting++;
	if (!user->waiting++)
		cmx_turn_user_place(turns, user);
	return 0;
}

/* @turn waits no longer; its user may be idle now. */
static void cmx_turn_unqueue(struct cmx_turns *turns, struct cmx_turn *turn)
{
	list_del_init(&turn->queue);
	turns->nr_waiting--;
	if (!--turn->user->waiting)
		list_del_init(&turn->user->node);
}

/* May @user, with nothing running, have a slot? */
static bool cmx_turns_may_first(const struct cmx_turns *turns,
				const struct cmx_turns_limits *limits,
				const struct cmx_turn_user *user)
{
	unsigned int reserve = limits->slots / 8;

	if (cmx_turn_user_is_root(user))
		reserve = 0;
	reserve -= min(reserve, turns->nr_root);
	return turns->nr_running < limits->slots - reserve;
}

/* May @user, with some running, have one more? */
static bool cmx_turns_may_more(const struct cmx_turns *turns,
			       const struct cmx_turns_limits *limits,
			       const struct cmx_turn_user *user)
{
	unsigned int half = limits->slots - limits->slots / 2;

	if (user->running >= limits->per_user ||
	    turns->nr_running >= limits->window)
		return false;
	if (cmx_turn_user_is_root(user))
		return turns->nr_running < limits->slots - limits->slots / 4;
	return turns->nr_running < half &&
	       user->running < 2 * (half - turns->nr_running);
}

/*
 * Who is next, or NULL. Root, if it waits for its first slot behind others, is
 * found by its uid when only its reserve is left.
 */
static struct cmx_turn_user *
cmx_turns_next_user(struct cmx_turns *turns,
		    const struct cmx_turns_limits *limits)
{
	struct cmx_turn_user *user;

	user = list_first_entry_or_null(&turns->first, struct cmx_turn_user,
					node);
	if (user && cmx_turns_may_first(turns, limits, user))
		return user;
	if (user) {
		user = cmx_turn_user_find(turns, GLOBAL_ROOT_UID,
					  cmx_turn_user_hash(GLOBAL_ROOT_UID));
		if (user && user->waiting && !user->running &&
		    cmx_turns_may_first(turns, limits, user))
			return user;
	}
	/* No more users than lookups that run. */
	list_for_each_entry(user, &turns->more, node) {
		if (cmx_turns_may_more(turns, limits, user))
			return user;
	}
	return NULL;
}

/* Those who wait for the same as @turn wait for @turn. */
static void cmx_turns_gather(struct cmx_turns *turns, struct cmx_turn *turn)
{
	struct cmx_turn_user *user;
	struct hlist_node *tmp;
	struct cmx_turn *other;

	hash_for_each_possible_safe(turns->lookups, other, tmp, hash,
				    turn->hash_value) {
		if (other == turn || other->hash_value != turn->hash_value ||
		    !turns->same(other, turn))
			continue;
		user = other->user;
		cmx_turn_unqueue(turns, other);
		cmx_turn_user_idle(user);
		hash_del(&other->hash);
		other->user = NULL;
		WRITE_ONCE(other->state, CMX_TURN_FOLLOWING);
		list_move_tail(&other->node, &turn->followers);
	}
}

/* The next lookup that gets a slot, which it has now. Or NULL. */
struct cmx_turn *cmx_turns_next(struct cmx_turns *turns,
				const struct cmx_turns_limits *limits)
{
	struct cmx_turn_user *user;
	struct cmx_turn *turn;

	user = cmx_turns_next_user(turns, limits);
	if (!user)
		return NULL;
	turn = list_first_entry(&user->queue, struct cmx_turn, queue);
	cmx_turn_unqueue(turns, turn);
	WRITE_ONCE(turn->state, CMX_TURN_RUNNING);
	list_move_tail(&turn->node, &turns->running);
	turns->nr_running++;
	if (cmx_turn_user_is_root(user))
		turns->nr_root++;
	user->running++;
	cmx_turn_user_place(turns, user);
	cmx_turns_gather(turns, turn);
	return turn;
}

/*
 * @turn, in whatever state, counts no more and cannot be joined. Its
 * followers stay with it.
 */
void cmx_turns_leave(struct cmx_turns *turns, struct cmx_turn *turn)
{
	struct cmx_turn_user *user = turn->user;

	switch (turn->state) {
	case CMX_TURN_WAITING:
		cmx_turn_unqueue(turns, turn);
		break;
	case CMX_TURN_RUNNING:
		turns->nr_running--;
		if (cmx_turn_user_is_root(user))
			turns->nr_root--;
		/* It waits for its first one again. */
		if (!--user->running)
			cmx_turn_user_place(turns, user);
		break;
	case CMX_TURN_FOLLOWING:
		break;
	case CMX_TURN_GONE:
		return;
	}
	if (user) {
		hash_del(&turn->hash);
		cmx_turn_user_idle(user);
		turn->user = NULL;
	}
	list_del_init(&turn->node);
	WRITE_ONCE(turn->state, CMX_TURN_GONE);
}

/* One that followed @turn and follows it no more, or NULL. */
struct cmx_turn *cmx_turn_follower(struct cmx_turn *turn)
{
	struct cmx_turn *follower;

	follower = list_first_entry_or_null(&turn->followers, struct cmx_turn,
					    node);
	if (follower) {
		list_del_init(&follower->node);
		WRITE_ONCE(follower->state, CMX_TURN_GONE);
	}
	return follower;
}
