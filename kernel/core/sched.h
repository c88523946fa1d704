/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Lookups that callers share, and the queue slots that users share: lookups of
 * names, and queries to an SA.
 *
 *	WAITING ──> RUNNING ──> GONE
 *	   └──> FOLLOWING ────────┘
 *
 * A caller joins a lookup with the same key, or starts one. Its waiter is
 * called once the lookup is GONE: without the lock, from the owner's work item,
 * one waiter after another, so that other waiters may leave at any time. A
 * running lookup without waiters still completes.
 *
 * A running lookup cannot be stopped, so slots are reserved from the start. The
 * slots are divided:
 *
 *	one half	is shared by users with work; a user takes at most twice
 *			what it leaves of this half, and at most per_user
 *	an eighth	is for kernel consumers and for root, one half each, but
 *			at least one if there are 8 slots
 *	the rest	is for users without a running lookup: one slot each
 *
 * Users without a running lookup are first, in FIFO order. The lookups of a
 * user are in FIFO order. Kernel consumers and root may exceed the half, up to
 * three quarters.
 *
 * If two users wait for the same key, each has a lookup, so that no user
 * changes another's place. When one of them gets a slot, lookups with the same
 * key follow it, unless it or they have too many waiters: they leave their
 * queues and end with it.
 *
 * The owner's lock guards all of it. Only cmx_sched_forget() and
 * cmx_sched_complete() take it here. The time under it does not depend on the
 * number of users, of lookups or of waiters, except for the followers of one
 * lookup.
 */
#ifndef CMX_SCHED_H
#define CMX_SCHED_H

#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/spinlock_types.h>
#include <linux/uidgid.h>

#define CMX_SCHED_BITS		12
#define CMX_SCHED_USER_BITS	8

struct cmx_sched;
struct cmx_sched_entity;

/* Users, by their reserve */
enum cmx_sched_class {
	CMX_SCHED_KERNEL,
	CMX_SCHED_ROOT,
	CMX_SCHED_OTHERS,
	CMX_SCHED_CLASSES,
};

/*
 * Kernel consumers. Processes of root are another user, with those of a
 * container without a user namespace.
 */
#define CMX_KERNEL_UID		INVALID_UID
/*
 * Services of kernel consumers, so that other queries do not wait for theirs.
 * Only root could give a process this uid.
 */
#define CMX_SERVICES_UID	KUIDT_INIT((uid_t)-2)

/**
 * struct cmx_sched_limits - present limits
 * @slots: maximum running lookups
 * @window: above this number only a user without a running lookup gets a slot
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
 * @node: in sched->first or sched->more while lookups wait
 * @uid: the user
 * @queue: lookups that wait
 * @waiting: number of lookups that wait
 * @running: number of lookups that run
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
	CMX_SCHED_FOLLOWING,	/* ends with a running one */
	CMX_SCHED_GONE,
};

/**
 * struct cmx_sched_entity - scheduling state of a lookup
 * @state: written under the lock
 * @hash: while it waits or runs
 * @hash_value: hash of its key
 * @node: in sched->waiting, sched->running or the followers of another
 * @queue: in user->queue, while it waits
 * @followers: lookups that end with this one
 * @waiters: callers that wait for it
 * @count: number of @waiters
 * @sched: its scheduler
 * @user: the user, while it waits or runs; before that, a new struct for the
 *	user that is private to the lookup
 */
struct cmx_sched_entity {
	enum cmx_sched_state state;
	struct hlist_node hash;
	u32 hash_value;
	struct list_head node;
	struct list_head queue;
	struct list_head followers;
	struct list_head waiters;
	unsigned int count;
	struct cmx_sched *sched;
	struct cmx_sched_user *user;
};

/**
 * struct cmx_sched_waiter - waits for a lookup
 * @done: called once, from a work item without locks, may sleep: with the
 *	@result of the lookup, which is valid during the call, or an @error
 * @node: in the waiters of @entity
 * @entity: NULL when it does not wait
 */
struct cmx_sched_waiter {
	void (*done)(struct cmx_sched_waiter *waiter, void *result, int error);
	struct list_head node;
	struct cmx_sched_entity *entity;
};

/**
 * struct cmx_sched_ops - functions of the owner
 * @same: true if two lookups of the same hash have the same key
 * @limits: returns the present limits; no slots: nothing starts. Under the lock
 * @start: the lookup has a slot; under the lock
 * @release: frees a lookup that never had a slot; without the lock
 * @shared: users do not share a lookup with as many waiters, which are called
 *	one after another
 */
struct cmx_sched_ops {
	bool (*same)(const struct cmx_sched_entity *a,
		     const struct cmx_sched_entity *b);
	struct cmx_sched_limits (*limits)(const struct cmx_sched *sched);
	void (*start)(struct cmx_sched_entity *entity);
	void (*release)(struct cmx_sched_entity *entity);
	unsigned int shared;
};

/**
 * struct cmx_sched - queue slots and their users
 * @ops: the owner's functions
 * @lock: the owner's lock
 * @lookups: lookups that wait or run, by key
 * @users: users, by uid
 * @first: users with waiting lookups and no running one
 * @more: users with waiting and running lookups
 * @waiting: lookups that wait, oldest first
 * @running: lookups that run, oldest first
 * @nr_waiting: number of lookups that wait
 * @nr_running: number of lookups that run
 * @nr_class: @nr_running by class
 */
struct cmx_sched {
	const struct cmx_sched_ops *ops;
	spinlock_t *lock;	/* guards all fields */
	DECLARE_HASHTABLE(lookups, CMX_SCHED_BITS);
	DECLARE_HASHTABLE(users, CMX_SCHED_USER_BITS);
	struct list_head first;
	struct list_head more;
	struct list_head waiting;
	struct list_head running;
	unsigned int nr_waiting;
	unsigned int nr_running;
	unsigned int nr_class[CMX_SCHED_CLASSES];
};

u32 cmx_hash(const void *data, size_t len);

void cmx_sched_init(struct cmx_sched *sched, spinlock_t *lock,
		    const struct cmx_sched_ops *ops);
int cmx_sched_entity_init(struct cmx_sched_entity *entity,
			  struct cmx_sched *sched, kuid_t uid, u32 hash);
void cmx_sched_entity_exit(struct cmx_sched_entity *entity);

/* Under the owner's lock */
int cmx_sched_join(struct cmx_sched_entity *fresh,
		   struct cmx_sched_waiter *waiter);
void cmx_sched_wait(struct cmx_sched_entity *entity,
		    struct cmx_sched_waiter *waiter);
bool cmx_sched_wanted(const struct cmx_sched_entity *entity);
void cmx_sched_run(struct cmx_sched *sched);
void cmx_sched_leave(struct cmx_sched_entity *entity);

/* Without the owner's lock */
void cmx_sched_complete(struct cmx_sched_entity *entity, void *result,
			int error);
bool cmx_sched_forget(spinlock_t *lock, struct cmx_sched_waiter *waiter);

/* Type of module parameters that must not be 0 */
extern const struct kernel_param_ops param_ops_cmx_positive;
#define param_check_cmx_positive	param_check_uint

#endif /* CMX_SCHED_H */
