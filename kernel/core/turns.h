/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Slots that users share: lookups of names, and queries of an SA.
 *
 * A lookup that runs cannot be taken back, so what one user must leave to
 * others stays free from the start. Of all slots
 *
 *	one half	is for whoever has work; a user takes no more than twice
 *			what it leaves of this half, and never more than
 *			per_user
 *	an eighth	is for kernel consumers and root
 *	the rest	is for users who have nothing running: one slot each
 *
 * Users with nothing running come first, in the order of their turns; among
 * one user's lookups the order is that of starting. Root may go beyond the
 * half, up to three quarters.
 *
 * Two users who wait for the same have a lookup each, so that nobody changes
 * another's place. When one of them gets a slot, those with the same
 * key follow it: they leave their queues and end with it.
 *
 * The owner's lock guards all of it. Nothing here takes longer with the number
 * of users or of lookups, but for the followers of one lookup.
 */
#ifndef CMX_TURNS_H
#define CMX_TURNS_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/uidgid.h>

#define CMX_TURNS_BITS		12
#define CMX_TURNS_USER_BITS	8

struct cmx_turn;

/**
 * struct cmx_turns_limits - limits at the moment
 * @slots: lookups that run at a time
 * @window: beyond this many only a user with nothing running gets a slot
 * @per_user: slots of one user
 * @waiting_per_user: lookups of one user that wait
 */
struct cmx_turns_limits {
	unsigned int slots;
	unsigned int window;
	unsigned int per_user;
	unsigned int waiting_per_user;
};

/**
 * struct cmx_turn_user - a user with lookups that wait or run
 * @hash: by @uid
 * @node: in turns->first or turns->more while anything waits
 * @uid: the user
 * @queue: lookups that wait
 * @waiting: number of those
 * @running: number of those that run
 */
struct cmx_turn_user {
	struct hlist_node hash;
	struct list_head node;
	kuid_t uid;
	struct list_head queue;
	unsigned int waiting;
	unsigned int running;
};

enum cmx_turn_state {
	CMX_TURN_WAITING,
	CMX_TURN_RUNNING,
	CMX_TURN_FOLLOWING,	/* ends with the one that runs */
	CMX_TURN_GONE,
};

/**
 * struct cmx_turn - what a lookup has of this
 * @state: written under the lock
 * @hash: while it waits or runs
 * @hash_value: hash of its key
 * @node: in turns->waiting, turns->running or the followers of another
 * @queue: in user->queue, while it waits
 * @followers: lookups that end with this one
 * @user: the user, while it waits or runs
 */
struct cmx_turn {
	enum cmx_turn_state state;
	struct hlist_node hash;
	u32 hash_value;
	struct list_head node;
	struct list_head queue;
	struct list_head followers;
	struct cmx_turn_user *user;
};

/**
 * struct cmx_turns - slots and those who want them
 * @same: do two lookups of the same hash have the same key?
 * @lookups: those that wait or run, by key
 * @users: users, by uid
 * @first: users who have lookups waiting and none running
 * @more: users who have both
 * @waiting: lookups that wait, oldest first
 * @running: lookups that run, oldest first
 * @nr_waiting: number of those that wait
 * @nr_running: number of those that run
 * @nr_root: of those, root's
 */
struct cmx_turns {
	bool (*same)(const struct cmx_turn *a, const struct cmx_turn *b);
	DECLARE_HASHTABLE(lookups, CMX_TURNS_BITS);
	DECLARE_HASHTABLE(users, CMX_TURNS_USER_BITS);
	struct list_head first;
	struct list_head more;
	struct list_head waiting;
	struct list_head running;
	unsigned int nr_waiting;
	unsigned int nr_running;
	unsigned int nr_root;
};

u32 cmx_hash(const void *data, size_t len);

void cmx_turns_init(struct cmx_turns *turns,
		    bool (*same)(const struct cmx_turn *a,
				 const struct cmx_turn *b));
void cmx_turn_init(struct cmx_turn *turn, u32 hash);
struct cmx_turn_user *cmx_turn_user_alloc(kuid_t uid);

/* Under the owner's lock. */
struct cmx_turn *cmx_turns_find(struct cmx_turns *turns,
				const struct cmx_turn *like, kuid_t uid);
int cmx_turns_add(struct cmx_turns *turns,
		  const struct cmx_turns_limits *limits, struct cmx_turn *turn,
		  struct cmx_turn_user **user);
struct cmx_turn *cmx_turns_next(struct cmx_turns *turns,
				const struct cmx_turns_limits *limits);
void cmx_turns_leave(struct cmx_turns *turns, struct cmx_turn *turn);
struct cmx_turn *cmx_turn_follower(struct cmx_turn *turn);

/* Type of module parameters that would stop everything with 0. */
extern const struct kernel_param_ops param_ops_cmx_positive;
#define param_check_cmx_positive	param_check_uint

#endif /* CMX_TURNS_H */
