/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Windows of outstanding connection requests: declarations that window.c,
 * slot.c and the unit tests share.
 *
 * A window belongs to a destination (network namespace, RDMA device and its
 * port, port space, address, and port number or service id there) or to a port
 * of a device. Both are entries of a table of constant size. A connect first
 * takes a slot of its destination, then one of its port.
 *
 * The tag of a destination is a keyed hash. It selects a set of four windows.
 * The destination uses
 *
 *	the window with its tag;
 *	else an idle window, where nothing counts or waits, with the
 *			initial limit;
 *	else a fixed window, as a guest: its requests count and wait there,
 *			and their results do not change the limit.
 *
 * The slots of a window are divided:
 *
 *	one half	is shared: everybody takes them while nobody waits;
 *			then users get them in rotation
 *	one		is for kernel consumers
 *	one		is for root
 *	the rest	is for users without a slot of this part: one each
 *
 * The first half costs two counters. A connect that finds it in use allocates
 * memory (struct cmx_window_wait) and may wait. Connects of a user wait in FIFO
 * order.
 *
 * The CM retries a REQ after 4.3 s. A slot counts for connect_reply_ms, 4 to 6
 * s by default. So a listener that accepts none before it has received many
 * receives more over time, and a dead peer does not block slots. While a
 * connect waits for its port, its slot of the destination counts, for at most
 * connect_wait_ms.
 *
 * The limit of a destination grows by one with each window of replies. It
 * halves when a request gets no reply, a late reply, or a REJ for lack of
 * resources; once for requests that were outstanding together. The limit of a
 * port is constant: a slow peer is no reason to change it.
 *
 * So requests to one destination never shrink the limit of another one. A user
 * can keep all windows in use: four requests without a reply occupy a set for 4
 * s, 1,024 or more occupy all sets. The shared half of a port has 512 slots.
 * Other ports have more, and connects that wait for their port count at their
 * destination, too. Even then
 *
 *	a destination in use keeps its window and its limit;
 *	another one is a guest where the limit is 16 or more, divided as
 *			above: each user can get a slot;
 *	soon after the last of those requests it has a window and the
 *			initial limit.
 *
 * Such a user can also evict limits: an idle destination may lose its window,
 * and starts with the initial limit again. A former guest that finds a window
 * may have slots of both windows outstanding.
 *
 * cmx_window_lock guards all of it. Locks of owners nest inside it, see
 * rdma_cmx_slot_fn.
 */
#ifndef CMX_CONNECT_WINDOW_H
#define CMX_CONNECT_WINDOW_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "sched.h"
#include "slot.h"

#define CMX_WINDOW_DESTS	1024	/* in sets of CMX_WINDOW_WAYS */
#define CMX_WINDOW_WAYS		4
#define CMX_WINDOW_PORTS	64
#define CMX_WINDOW_COUNT	(CMX_WINDOW_DESTS + CMX_WINDOW_PORTS)
#define CMX_WINDOW_NONE		CMX_WINDOW_COUNT	/* sum of a user */

/* A slot counts in the epoch in which it was taken and in the two after it. */
#define CMX_WINDOW_EPOCHS	3

/* Limits of a destination, in parts of connect_window */
#define CMX_WINDOW_START	4
#define CMX_WINDOW_MAX		2
/* ... and the smallest one */
#define CMX_WINDOW_MIN		16

/**
 * struct cmx_window - slots of a destination or a port
 * @users: users with connects that wait here, in scheduling order
 * @tag: of the destination; 0: never used
 * @epoch: of the last update of @count
 * @count: slots taken in each epoch; negative if an epoch ended between the
 *	takes at the windows of the destination and of the port
 * @running: sum of @count
 * @held: slots of a destination whose connects wait for their port
 * @limit: of a destination; 0: the initial one
 * @replies: since @limit has changed
 * @shrunk: epoch in which @limit was halved; in the future if a change of
 *	connect_reply_ms has renumbered the epochs
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
 * struct cmx_window_user - a user at a window, or the sum of a user
 * @hash: by @uid and @window
 * @node: in cmx_window.users while connects wait
 * @queue: connects that wait here, oldest first
 * @uid: the user
 * @window: the window, or CMX_WINDOW_NONE
 * @waiting: number of connects that wait
 * @refs: number of waits that refer to it
 * @reserved: the wait that has a slot of the reserve, or NULL
 * @since: epoch in which @reserved got it
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
 * struct cmx_window_wait - a connect that found no free slot
 * @slot: of the owner
 * @all: in the list of all that wait, oldest first
 * @queue: in cmx_window_user.queue
 * @stage: the slot that it waits for
 * @user: the user at the two windows, and the sum; or new ones
 * @since: start of the wait, in jiffies
 * @at_once: rdma_cmx_slot_wait() has not returned yet
 * @done: the owner's callback
 * @context: of @done
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

/* Result of a request */
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
