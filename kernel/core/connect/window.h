/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Windows of outstanding connection requests, inside: what window.c, slot.c and
 * the unit tests share.
 *
 * A window belongs to a destination (network namespace, device, port, port space,
 * address and port or service id there) or to a port of a device. Both are places of a table:
 * nothing is allocated for one, and nobody can have many made. A connect needs a
 * slot of its destination first, then one of its port.
 *
 * A keyed hash of a destination is its tag. It has a set of four places, and
 * uses of them
 *
 *	that with its tag
 *	else an idle one, where nothing counts or waits: it takes that over,
 *			with the limit of the start
 *	else a fixed one, as a guest: its requests count and wait there, and
 *			what they come to does not change the limit
 *
 * Of the slots of a window
 *
 *	one half	is for whoever comes, while nobody waits; then users
 *			get them one after another
 *	one		is for kernel consumers
 *	one		is for root
 *	the rest	is for users who have none of this part: one slot each
 *
 * The first half costs two counters. Only who finds it in use allocates memory
 * (struct cmx_window_wait), and may wait, first come first served within a user.
 *
 * The CM sends a REQ again after 4.3 s. A slot counts for connect_reply_ms, 4 to
 * 6 s: a listener that accepts none before it has received many gets more of them
 * by and by, and a dead peer does not keep the slots from others. The slot of a
 * destination whose connect waits for its port counts until it has both, or
 * connect_wait_ms are over.
 *
 * A destination's limit grows by one with each window of replies, and halves,
 * once for the requests that were outstanding together, when a request gets no
 * reply, a late one, or a REJ for want of resources. A port's limit is constant:
 * a slow peer says nothing about it.
 *
 * Requests to one destination thus never shrink the limit of another one,
 * however many destinations a user has. What he can do is to keep all places in
 * use: a set by four requests that nobody answers, again every 4 s, all sets by
 * 1,024 or more. The shared half of a port lets him have 512. Other ports have
 * more, and a connect that waits for its port counts at its destination, too. Even
 * then
 *
 *	a destination that is in use keeps its place and its limit
 *	another one is a guest where the limit is 16 or more, divided as above:
 *			no user's requests keep the others from a slot
 *	soon after the last of them it has a place, and the limit of the start
 *
 * He can also have limits forgotten: a destination that is not in use may lose
 * its place, and begins anew. One that finds a place after it was a guest may
 * have slots of both windows outstanding.
 *
 * cmx_window_lock guards all of it. Owners' locks are inside, see
 * rdma_cmx_slot_fn.
 */
#ifndef CMX_CONNECT_WINDOW_H
#define CMX_CONNECT_WINDOW_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "sched.h"
#include "slot.h"

#define CMX_WINDOW_DESTS	1024	/* in sets: */
#define CMX_WINDOW_WAYS		4
#define CMX_WINDOW_PORTS	64
#define CMX_WINDOW_COUNT	(CMX_WINDOW_DESTS + CMX_WINDOW_PORTS)
#define CMX_WINDOW_NONE		CMX_WINDOW_COUNT	/* of a user's sum */

/* A slot counts in the epoch in which it was taken and in the two after it. */
#define CMX_WINDOW_EPOCHS	3

/* Limits of a destination, in parts of connect_window */
#define CMX_WINDOW_START	4
#define CMX_WINDOW_MAX		2
/* ... and the smallest */
#define CMX_WINDOW_MIN		16

/**
 * struct cmx_window - slots of a destination or a port
 * @users: users with connects that wait here; the next one first
 * @tag: of the destination; 0: it is of none yet
 * @epoch: to which @count was brought up to date
 * @count: slots taken in an epoch; less than 0 if one was taken as it ended
 * @running: sum of those
 * @held: slots of a destination whose connects wait for their port
 * @limit: of a destination; 0: as at the start
 * @replies: since @limit has changed
 * @shrunk: epoch in which @limit was halved; one to come: it was counted anew
 */
struct cmx_window {
	struct list_head users;
	u32 tag;
	u32 epoch;
	int count[CMX_WINDOW_EPOCHS];
	int running;
	u32 held;
	u16 limit;
	u16 replies;
	u32 shrunk;
};

enum cmx_window_stage {
	CMX_STAGE_DEST,
	CMX_STAGE_PORT,
	CMX_STAGES,
};

/**
 * struct cmx_window_user - a user at a window, or a user's sum
 * @hash: by @uid and @window
 * @node: in cmx_window.users while anything waits
 * @queue: connects that wait here, oldest first
 * @uid: the user
 * @window: the window, or CMX_WINDOW_NONE
 * @waiting: connects that wait
 * @refs: waits that refer to it
 * @reserved: that has the slot of the reserve, or NULL
 * @since: epoch in which it got it
 */
struct cmx_window_user {
	struct hlist_node hash;
	struct list_head node;
	struct list_head queue;
	kuid_t uid;
	u32 window;
	u32 waiting;
	u32 refs;
	struct cmx_window_wait *reserved;
	u32 since;
};

/**
 * struct cmx_window_wait - a connect that has found no slot at once
 * @slot: of the owner
 * @all: among all that wait, oldest first
 * @queue: in cmx_window_user.queue
 * @stage: for which of the two slots it waits
 * @user: the user at the two windows, and the sum; or fresh ones
 * @since: in jiffies
 * @at_once: the owner has not returned from rdma_cmx_slot_wait() yet
 * @done: the owner's callback
 * @context: of that
 */
struct cmx_window_wait {
	struct cmx_slot *slot;
	struct list_head all;
	struct list_head queue;
	enum cmx_window_stage stage;
	struct cmx_window_user *user[CMX_STAGES + 1];
	unsigned long since;
	bool at_once;
	rdma_cmx_slot_fn done;
	void *context;
};

/* What a request has come to */
enum cmx_window_sign {
	CMX_WINDOW_NO_SIGN,
	CMX_WINDOW_REPLY,
	CMX_WINDOW_BUSY,
};

/* window.c */
extern spinlock_t cmx_window_lock;
extern unsigned int cmx_connect_window;
struct cmx_window *cmx_window(unsigned int index);
unsigned int cmx_window_find(u32 tag);
u32 cmx_window_epoch(void);
unsigned int cmx_window_limit(const struct cmx_window *w);
unsigned int cmx_window_running(struct cmx_window *w);
bool cmx_window_free(struct cmx_window *w);
void cmx_window_take(struct cmx_window *w);
void cmx_window_give(struct cmx_window *w, u32 epoch);
void cmx_window_sign(struct cmx_window *w, u32 epoch,
		     enum cmx_window_sign sign);
struct cmx_window_user *cmx_window_next(struct cmx_window *w, bool *reserved);
struct cmx_window_user *cmx_window_user_find(kuid_t uid, unsigned int window);
void cmx_window_user_join(struct cmx_window_wait *wait, unsigned int i,
			  unsigned int window);
void cmx_window_user_leave(struct cmx_window_wait *wait, unsigned int i);
void cmx_windows_init(void);

/* slot.c */
bool cmx_slot_tag(const struct rdma_cm_id *id, u32 *tag);
int cmx_slot_get(struct cmx_slot *slot, u32 tag, u8 port);
int cmx_slot_wait(struct cmx_slot *slot, u32 tag, u8 port, kuid_t uid,
		  rdma_cmx_slot_fn done, void *context);
void cmx_slot_release(struct cmx_slot *slot, enum cmx_window_sign sign);
void cmx_slot_exit(void);

#endif /* CMX_CONNECT_WINDOW_H */
