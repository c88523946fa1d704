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
 * Users with nothing running come first, in the order in which they came; among
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
#ifndef CMX_SCHED_H
#define CMX_SCHED_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/uidgid.h>

#define CMX_SCHED_BITS		12
#define CMX_SCHED_USER_BITS	8

struct cmx_sched_entity;

/**
 * struct cmx_sched_limits - limits at the moment
 * @slots: lookups that run at a time
 * @window: beyond this many only a user with nothing running gets a slot
 * @per_user: slots of one user
 * @waiting_per_user: lookups of one user that wait
 */
struct cmx_sched_limits {
	unsigned int slots;
	unsigned int window;
	unsigned int per_user;
	unsigned int waiting_per_user;
};

/**
 * struct cmx_sched_user - a user with lookups that wait or run
 * @hash: by @uid
 * @node: in sched->first or sched->more while anything waits
 * @uid: the user
 * @queue: lookups that wait
 * @waiting: number of those
 * @running: number of those that run
 */
struct cmx_sched_user {
	struct hlist_node hash;
	struct list_head node;
	kuid_t uid;
	struct list_head queue;
	unsigned int waiting;
	unsigned int running;
};

enum cmx_sched_state {
	CMX_SCHED_WAITING,
	CMX_SCHED_RUNNING,
	CMX_SCHED_FOLLOWING,	/* ends with the one that runs */
	CMX_SCHED_GONE,
};

/**
 * struct cmx_sched_entity - what a lookup has of this
 * @state: written under the lock
 * @hash: while it waits or runs
 * @hash_value: hash of its key
 * @node: in sched->waiting, sched->running or the followers of another
 * @queue: in user->queue, while it waits
 * @followers: lookups that end with this one
 * @user: the user, while it waits or runs
 */
struct cmx_sched_entity {
	enum cmx_sched_state state;
	struct hlist_node hash;
	u32 hash_value;
	struct list_head node;
	struct list_head queue;
	struct list_head followers;
	struct cmx_sched_user *user;
};

/**
 * struct cmx_sched - slots and those who want them
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
struct cmx_sched {
	bool (*same)(const struct cmx_sched_entity *a,
		     const struct cmx_sched_entity *b);
	DECLARE_HASHTABLE(lookups, CMX_SCHED_BITS);
	DECLARE_HASHTABLE(users, CMX_SCHED_USER_BITS);
	struct list_head first;
	struct list_head more;
	struct list_head waiting;
	struct list_head running;
	unsigned int nr_waiting;
	unsigned int nr_running;
	unsigned int nr_root;
};

u32 cmx_hash(const void *data, size_t len);

void cmx_sched_init(struct cmx_sched *sched,
		    bool (*same)(const struct cmx_sched_entity *a,
				 const struct cmx_sched_entity *b));
void cmx_sched_entity_init(struct cmx_sched_entity *entity, u32 hash);
struct cmx_sched_user *cmx_sched_user_alloc(kuid_t uid);

/* Under the owner's lock. */
struct cmx_sched_entity *cmx_sched_find(struct cmx_sched *sched,
					const struct cmx_sched_entity *like,
					kuid_t uid);
int cmx_sched_add(struct cmx_sched *sched,
		  const struct cmx_sched_limits *limits,
		  struct cmx_sched_entity *entity,
		  struct cmx_sched_user **user);
struct cmx_sched_entity *cmx_sched_next(struct cmx_sched *sched,
					const struct cmx_sched_limits *limits);
void cmx_sched_leave(struct cmx_sched *sched, struct cmx_sched_entity *entity);
struct cmx_sched_entity *cmx_sched_follower(struct cmx_sched_entity *entity);

/* Type of module parameters that would stop everything with 0. */
extern const struct kernel_param_ops param_ops_cmx_positive;
#define param_check_cmx_positive	param_check_uint

#endif /* CMX_SCHED_H */
