// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Windows of outstanding connection requests: slots, limits, and the next user.
 * See connect/window.h. cmx_window_lock is held.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "connect/trace.h"
#include "connect/window.h"
#include "sched.h"

#define CMX_WINDOW_PARAM_MIN	64
#define CMX_WINDOW_PARAM_MAX	32768

DEFINE_SPINLOCK(cmx_window_lock);
static struct cmx_window cmx_windows[CMX_WINDOW_COUNT];
static DEFINE_HASHTABLE(cmx_window_users, 10);

unsigned int cmx_connect_window = 1024;

static int cmx_window_set(const char *val, const struct kernel_param *kp)
{
	unsigned int n;
	int ret;

	ret = kstrtouint(val, 0, &n);
	if (ret)
		return ret;
	if (n && (n < CMX_WINDOW_PARAM_MIN || n > CMX_WINDOW_PARAM_MAX))
		return -EINVAL;
	WRITE_ONCE(*(unsigned int *)kp->arg, n);
	return 0;
}

static const struct kernel_param_ops param_ops_cmx_window = {
	.set = cmx_window_set,
	.get = param_get_uint,
};

#define param_check_cmx_window	param_check_uint

module_param_named(connect_window, cmx_connect_window, cmx_window, 0644);
MODULE_PARM_DESC(connect_window, "Maximum outstanding connection requests of a port, 64 to 32768 (default 1024, 0 for no limit)");

static unsigned int connect_reply_ms = 4000;
module_param(connect_reply_ms, cmx_positive, 0644);
MODULE_PARM_DESC(connect_reply_ms, "Time in milliseconds that a connection request without a reply is outstanding (default 4000, at most 1.5 times that)");

struct cmx_window *cmx_window(unsigned int index)
{
	return &cmx_windows[index];
}

/*
 * A changed connect_reply_ms clears all windows: the slots in use are of an
 * epoch before or after those that count.
 */
u32 cmx_window_epoch(void)
{
	/*
	 * msecs_to_jiffies() returns an offset beyond 32 bits for larger
	 * values, which div_u64() would truncate.
	 */
	unsigned int ms = min_t(unsigned int, READ_ONCE(connect_reply_ms),
				INT_MAX);

	return div_u64(get_jiffies_64(),
		       msecs_to_jiffies(ms) / (CMX_WINDOW_EPOCHS - 1) + 1);
}

/* With no limit, connects that wait get slots at the next cmx_slot_scan(). */
unsigned int cmx_window_limit(const struct cmx_window *w)
{
	unsigned int max = READ_ONCE(cmx_connect_window) ?: U16_MAX;

	if (w - cmx_windows >= CMX_WINDOW_DESTS)
		return max;
	return clamp_t(unsigned int, w->limit ?: max / CMX_WINDOW_START,
		       CMX_WINDOW_MIN, max / CMX_WINDOW_MAX);
}

/* Drops the slots of epochs that have ended. */
static void cmx_window_advance(struct cmx_window *w)
{
	u32 now = cmx_window_epoch();
	int *count;

	if (w->epoch == now)
		return;
	if (now - w->epoch >= CMX_WINDOW_EPOCHS)
		w->epoch = now - CMX_WINDOW_EPOCHS;
	while (w->epoch != now) {
		count = &w->count[++w->epoch % CMX_WINDOW_EPOCHS];
		w->running -= *count;
		*count = 0;
	}
}

unsigned int cmx_window_running(struct cmx_window *w)
{
	cmx_window_advance(w);
	return max(w->running, 0) + w->held;
}

/* A new destination with @tag uses the window. */
static void cmx_window_begin(struct cmx_window *w, u32 tag)
{
	w->tag = tag;
	w->epoch = cmx_window_epoch();
	memset(w->count, 0, sizeof(w->count));
	w->running = 0;
	w->limit = 0;
	w->replies = 0;
	w->shrunk = w->epoch - 1;
}

/*
 * Slots that no longer count may still be held. Giving them back changes
 * nothing.
 */
static bool cmx_window_idle(struct cmx_window *w)
{
	return list_empty(&w->users) && !cmx_window_running(w);
}

/*
 * The index of the window of a destination. Prefers an idle window without a
 * tag: no limit is lost.
 */
unsigned int cmx_window_find(u32 tag)
{
	unsigned int i, home = tag % CMX_WINDOW_DESTS;
	struct cmx_window *w, *idle = NULL;

	for (i = 0; i < CMX_WINDOW_WAYS; i++)
		if (cmx_windows[home ^ i].tag == tag)
			return home ^ i;
	for (i = 0; i < CMX_WINDOW_WAYS; i++) {
		w = &cmx_windows[home ^ i];
		if (cmx_window_idle(w) && (!idle || (idle->tag && !w->tag)))
			idle = w;
	}
	if (!idle)
		return home;
	cmx_window_begin(idle, tag);
	return idle - cmx_windows;
}

/* True if the shared half has a free slot */
static bool cmx_window_half_free(struct cmx_window *w)
{
	return cmx_window_running(w) < (cmx_window_limit(w) + 1) / 2;
}

/* True if a connect may take a slot without allocating memory */
bool cmx_window_free(struct cmx_window *w)
{
	return list_empty(&w->users) && cmx_window_half_free(w);
}

void cmx_window_take(struct cmx_window *w)
{
	cmx_window_advance(w);
	w->count[w->epoch % CMX_WINDOW_EPOCHS]++;
	w->running++;
}

/*
 * Gives back a slot that was taken in @epoch. It may not count although @epoch
 * does: connect_reply_ms may have changed and changed back.
 */
void cmx_window_give(struct cmx_window *w, u32 epoch)
{
	cmx_window_advance(w);
	if (w->epoch - epoch >= CMX_WINDOW_EPOCHS || w->running <= 0)
		return;
	w->count[epoch % CMX_WINDOW_EPOCHS]--;
	w->running--;
}

static void cmx_window_resize(struct cmx_window *w, unsigned int limit)
{
	trace_cmx_connect_window(w - cmx_windows, w->tag, cmx_window_running(w),
				 cmx_window_limit(w), limit);
	w->limit = limit;
	w->replies = 0;
}

/* Evaluates the result of a request that was sent in @epoch. */
void cmx_window_sign(struct cmx_window *w, u32 epoch, enum cmx_window_sign sign)
{
	unsigned int limit = cmx_window_limit(w);
	u32 now = cmx_window_epoch();

	if (sign == CMX_WINDOW_NO_SIGN)
		return;
	/* The CM has retried the REQ, or the listener has delayed it. */
	if (now - epoch >= CMX_WINDOW_EPOCHS)
		sign = CMX_WINDOW_BUSY;
	if (sign == CMX_WINDOW_REPLY) {
		if (++w->replies >= limit)
			cmx_window_resize(w, limit + 1);
	} else if ((s32)(epoch - w->shrunk) > 0 || (s32)(now - w->shrunk) < 0) {
		w->shrunk = now;
		cmx_window_resize(w, max(limit / 2, CMX_WINDOW_MIN + 0U));
	}
}

static u32 cmx_window_user_hash(kuid_t uid, unsigned int window)
{
	u32 key[] = { __kuid_val(uid), window };

	return cmx_hash(key, sizeof(key));
}

struct cmx_window_user *cmx_window_user_find(kuid_t uid, unsigned int window)
{
	u32 hash = cmx_window_user_hash(uid, window);
	struct cmx_window_user *u;

	hash_for_each_possible(cmx_window_users, u, hash, hash) {
		if (u->window == window && uid_eq(u->uid, uid))
			return u;
	}
	return NULL;
}

/* @wait refers to the user object of wait->user[i] at a window. */
void cmx_window_user_join(struct cmx_window_wait *wait, unsigned int i,
			  unsigned int window)
{
	struct cmx_window_user *fresh = wait->user[i];
	struct cmx_window_user *u = cmx_window_user_find(fresh->uid, window);

	if (u) {
		kfree(fresh);
		wait->user[i] = u;
	} else {
		u = fresh;
		u->window = window;
		hash_add(cmx_window_users, &u->hash,
			 cmx_window_user_hash(u->uid, window));
	}
	u->refs++;
}

void cmx_window_user_leave(struct cmx_window_wait *wait, unsigned int i)
{
	struct cmx_window_user *u = wait->user[i];

	wait->user[i] = NULL;
	if (u->reserved == wait)
		u->reserved = NULL;
	if (--u->refs)
		return;
	hash_del(&u->hash);
	kfree(u);
}

/*
 * True if @u has a slot of the reserve that counts. It counts also while the
 * connect waits for its port.
 */
static bool cmx_window_user_served(const struct cmx_window_user *u)
{
	return u->reserved &&
	       (u->reserved->slot->state == CMX_SLOT_WAITING ||
		cmx_window_epoch() - u->since < CMX_WINDOW_EPOCHS);
}

/* True if the slot that is reserved for @uid is free */
static bool cmx_window_unserved(const struct cmx_window *w, kuid_t uid)
{
	const struct cmx_window_user *u;

	u = cmx_window_user_find(uid, w - cmx_windows);
	return !u || !cmx_window_user_served(u);
}

static bool cmx_window_may_reserve(struct cmx_window *w,
				   const struct cmx_window_user *u)
{
	unsigned int limit = cmx_window_limit(w);

	if (cmx_window_user_served(u))
		return false;
	if (!uid_eq(u->uid, CMX_KERNEL_UID)) {
		limit -= cmx_window_unserved(w, CMX_KERNEL_UID);
		if (!uid_eq(u->uid, GLOBAL_ROOT_UID))
			limit -= cmx_window_unserved(w, GLOBAL_ROOT_UID);
	}
	return cmx_window_running(w) < limit;
}

/* The user @uid, if it waits and may take its reserved slot; or NULL */
static struct cmx_window_user *cmx_window_next_of(struct cmx_window *w,
						  kuid_t uid)
{
	struct cmx_window_user *u = cmx_window_user_find(uid, w - cmx_windows);

	return u && u->waiting && cmx_window_may_reserve(w, u) ? u : NULL;
}

/*
 * The user that gets the next slot, or NULL. Users that got a slot are behind
 * the others, so the loop passes over at most as many as have a slot of the
 * reserve.
 */
struct cmx_window_user *cmx_window_next(struct cmx_window *w, bool *reserved)
{
	struct cmx_window_user *u;

	u = list_first_entry_or_null(&w->users, struct cmx_window_user, node);
	if (!u)
		return NULL;
	*reserved = !cmx_window_half_free(w);
	if (!*reserved)
		return u;
	list_for_each_entry(u, &w->users, node) {
		if (cmx_window_user_served(u))
			continue;
		if (cmx_window_may_reserve(w, u))
			return u;
		break;
	}
	return cmx_window_next_of(w, CMX_KERNEL_UID) ?:
	       cmx_window_next_of(w, GLOBAL_ROOT_UID);
}

void cmx_windows_init(void)
{
	unsigned int i;

	for (i = 0; i < CMX_WINDOW_COUNT; i++) {
		INIT_LIST_HEAD(&cmx_windows[i].users);
		cmx_window_begin(&cmx_windows[i], 0);
	}
}
