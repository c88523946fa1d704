// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Slots of connects, in the window of their destination and in that of their
 * port. See slot.h for the callers, connect/window.h for the rules and the
 * lock.
 *
 * While connects wait, a work item runs once a second. It ends waits that have
 * timed out, and assigns slots in place of those that no longer count.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <rdma/ib.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "connect/connect.h"
#include "connect/trace.h"
#include "connect/window.h"
#include "sched.h"

/* Maximum waits that one loop under the lock handles */
#define CMX_SLOT_BATCH	64

unsigned int cmx_connect_queue_max = 65536;
module_param_named(connect_queue, cmx_connect_queue_max, uint, 0644);
MODULE_PARM_DESC(connect_queue, "Maximum waiting connects of one user (default 65536)");

unsigned int cmx_connect_wait_ms = 120000;
module_param_named(connect_wait_ms, cmx_connect_wait_ms, cmx_positive, 0644);
MODULE_PARM_DESC(connect_wait_ms, "Milliseconds after which a waiting connect fails (default 120000)");

/**
 * rdma_cmx_slot_max_wait - maximum time of a wait for a slot
 *
 * Return: connect_wait_ms, in jiffies.
 */
unsigned long rdma_cmx_slot_max_wait(void)
{
	return msecs_to_jiffies(READ_ONCE(cmx_connect_wait_ms));
}
EXPORT_SYMBOL_GPL(rdma_cmx_slot_max_wait);

static LIST_HEAD(cmx_slot_waits);	/* oldest first */

static void cmx_slot_scan(struct work_struct *work);
static DECLARE_DELAYED_WORK(cmx_slot_work, cmx_slot_scan);

static struct cmx_window *cmx_slot_window(const struct cmx_slot *slot,
					  enum cmx_window_stage stage)
{
	return cmx_window(stage == CMX_STAGE_DEST ? slot->dest :
			  CMX_WINDOW_DESTS + slot->port);
}

/* Sets the tag of the destination. False if it has none. */
bool cmx_slot_tag(const struct rdma_cm_id *id, u32 *tag)
{
	const struct sockaddr_storage *to = &id->route.addr.dst_addr;
	const struct sockaddr_in6 *to6;
	struct {
		u64 addr[2];
		u64 service;
		u64 net;
		u32 device;
		u32 port;
		u32 scope;
		u32 kind;
	} key = {};

	switch (to->ss_family) {
	case AF_INET:
		key.addr[0] = (__force u32)
			((const struct sockaddr_in *)to)->sin_addr.s_addr;
		key.service = (__force u16)
			((const struct sockaddr_in *)to)->sin_port;
		break;
	case AF_INET6:
		to6 = (const struct sockaddr_in6 *)to;
		memcpy(key.addr, &to6->sin6_addr, sizeof(key.addr));
		key.service = (__force u16)to6->sin6_port;
		/* rdma_cm ignores the scope of other addresses. */
		if (ipv6_addr_type(&to6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
			key.scope = to6->sin6_scope_id;
		break;
	case AF_IB:
		memcpy(key.addr, &((const struct sockaddr_ib *)to)->sib_addr,
		       sizeof(key.addr));
		key.service = (__force u64)
			((const struct sockaddr_ib *)to)->sib_sid;
		break;
	default:
		return false;
	}
	/* Namespaces may have different neighbours. */
	key.net = id->route.addr.dev_addr.net->net_cookie;
	key.device = id->device->index;
	key.port = id->port_num;
	key.kind = to->ss_family << 16 | id->ps;
	*tag = cmx_hash(&key, sizeof(key));
	return true;
}

/* Sets tag and port window of an id. False if no limit applies to it. */
static bool cmx_slot_find(const struct rdma_cm_id *id, u32 *tag, u8 *port)
{
	/* iWARP connects by TCP, which has its own windows. */
	if (!READ_ONCE(cmx_connect_window) || !id->device ||
	    !rdma_cap_ib_cm(id->device, id->port_num) ||
	    !cmx_slot_tag(id, tag))
		return false;
	*port = (id->device->index + id->port_num * 17) % CMX_WINDOW_PORTS;
	return true;
}

/* A slot that waits or is HELD keeps its windows. */
static void cmx_slot_place(struct cmx_slot *slot, u32 tag, u8 port)
{
	slot->tag = tag;
	slot->dest = cmx_window_find(tag);
	slot->port = port;
}

/* As rdma_cmx_slot_get(). @port is the index of a port window. */
int cmx_slot_get(struct cmx_slot *slot, u32 tag, u8 port)
{
	struct cmx_window *to, *by;
	int ret = 0;

	spin_lock(&cmx_window_lock);
	cmx_slot_place(slot, tag, port);
	to = cmx_slot_window(slot, CMX_STAGE_DEST);
	by = cmx_slot_window(slot, CMX_STAGE_PORT);
	if (cmx_window_free(to) && cmx_window_free(by)) {
		cmx_window_take(to);
		cmx_window_take(by);
		slot->epoch = to->epoch;
		WRITE_ONCE(slot->state, CMX_SLOT_HELD);
	} else {
		ret = -EINPROGRESS;
	}
	spin_unlock(&cmx_window_lock);
	return ret;
}

/**
 * rdma_cmx_slot_get - take a slot, if one is free
 * @slot: slot of the id, not in use
 * @id: an id with a device and a destination
 *
 * It allocates no memory.
 *
 * Context: process context, does not sleep.
 * Return: 0 if the id may connect, -EINPROGRESS if it must wait: see
 * rdma_cmx_slot_wait().
 */
int rdma_cmx_slot_get(struct cmx_slot *slot, const struct rdma_cm_id *id)
{
	u32 tag;
	u8 port;
	int ret;

	if (!cmx_slot_find(id, &tag, &port))
		return 0;
	ret = cmx_slot_get(slot, tag, port);
	if (!ret)
		cmx_stat_inc(connect_slots);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_slot_get);

static void cmx_slot_queue(struct cmx_window_wait *wait,
			   enum cmx_window_stage stage)
{
	struct cmx_window_user *u = wait->user[stage];

	wait->stage = stage;
	list_add_tail(&wait->queue, &u->queue);
	if (!u->waiting++)
		list_add_tail(&u->node,
			      &cmx_slot_window(wait->slot, stage)->users);
}

static void cmx_slot_unqueue(struct cmx_window_wait *wait)
{
	struct cmx_window_user *u = wait->user[wait->stage];

	list_del_init(&wait->queue);
	if (!--u->waiting)
		list_del_init(&u->node);
}

static void cmx_wait_free(struct cmx_window_wait *wait)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wait->user); i++)
		kfree(wait->user[i]);
	kfree(wait);
}

/* The connect neither waits nor has a slot of the reserve. */
static void cmx_wait_drop(struct cmx_window_wait *wait)
{
	unsigned int i;

	wait->slot->wait = NULL;
	for (i = 0; i < ARRAY_SIZE(wait->user); i++)
		if (wait->user[i])
			cmx_window_user_leave(wait, i);
	kfree(wait);
}

/* The connect no longer waits. */
static void cmx_wait_over(struct cmx_window_wait *wait, int error)
{
	u32 ms = jiffies_to_msecs(jiffies - wait->since);

	list_del(&wait->all);
	wait->user[CMX_STAGES]->waiting--;
	cmx_window_user_leave(wait, CMX_STAGES);
	if (wait->at_once)
		return;
	cmx_stat_add(connect_wait_ms, ms);
	cmx_stat_dec(live_connect_waits);
	trace_cmx_connect_granted(wait->slot->dest, ms, error);
}

/* The connect has both slots. */
static void cmx_slot_granted(struct cmx_window_wait *wait)
{
	struct cmx_slot *slot = wait->slot;
	rdma_cmx_slot_fn done = wait->at_once ? NULL : wait->done;
	void *context = wait->context;
	unsigned int i, kept = 0;

	cmx_stat_inc(connect_slots);
	cmx_wait_over(wait, 0);
	WRITE_ONCE(slot->state, CMX_SLOT_HELD);
	for (i = 0; i < CMX_STAGES; i++)
		kept += wait->user[i]->reserved == wait;
	if (!kept)
		cmx_wait_drop(wait);
	if (done)
		done(context, 0);
}

static bool cmx_slot_run(struct cmx_window *w);

static void cmx_slot_stage_done(struct cmx_window_wait *wait)
{
	struct cmx_slot *slot = wait->slot;
	struct cmx_window *to = cmx_slot_window(slot, CMX_STAGE_DEST);
	struct cmx_window *by = cmx_slot_window(slot, CMX_STAGE_PORT);
	struct cmx_window_user *u = wait->user[CMX_STAGE_DEST];

	if (wait->stage == CMX_STAGE_DEST) {
		to->held++;
		cmx_slot_queue(wait, CMX_STAGE_PORT);
		cmx_slot_run(by);
		return;
	}
	/* Both count from now on. */
	to->held--;
	cmx_window_take(to);
	cmx_window_take(by);
	slot->epoch = to->epoch;
	if (u->reserved == wait)
		u->since = slot->epoch;
	cmx_slot_granted(wait);
}

/*
 * Assigns slots to connects that wait at @w. Returns true if more may be free,
 * after many slots have ceased to count.
 */
static bool cmx_slot_run(struct cmx_window *w)
{
	struct cmx_window_wait *wait;
	struct cmx_window_user *u;
	unsigned int n;
	bool reserved;

	for (n = 0; n < CMX_SLOT_BATCH; n++) {
		u = cmx_window_next(w, &reserved);
		if (!u)
			return false;
		wait = list_first_entry(&u->queue, struct cmx_window_wait,
					queue);
		cmx_slot_unqueue(wait);
		if (u->waiting)
			list_move_tail(&u->node, &w->users);
		if (reserved) {
			u->reserved = wait;
			u->since = w->epoch;
		}
		cmx_slot_stage_done(wait);
	}
	return true;
}

/*
 * Sets the state NONE. The owner, who reads it without the lock, may free
 * @slot.
 */
static void cmx_slot_none(struct cmx_slot *slot)
{
	/* Pairs with the acquire of cmx_slot_is_none(). */
	smp_store_release(&slot->state, CMX_SLOT_NONE);
}

static bool cmx_slot_is_none(const struct cmx_slot *slot)
{
	/* Pairs with the release of cmx_slot_none(). */
	return smp_load_acquire(&slot->state) == CMX_SLOT_NONE;
}

/* Ends a wait without a slot. */
static void cmx_slot_stop(struct cmx_window_wait *wait, int error)
{
	struct cmx_slot *slot = wait->slot;
	struct cmx_window *to = cmx_slot_window(slot, CMX_STAGE_DEST);

	cmx_slot_unqueue(wait);
	cmx_wait_over(wait, error);
	if (wait->stage == CMX_STAGE_PORT)
		to->held--;
	cmx_wait_drop(wait);
	cmx_slot_none(slot);
	cmx_slot_run(to);
}

static struct cmx_window_wait *cmx_wait_alloc(kuid_t uid)
{
	struct cmx_window_wait *wait;
	struct cmx_window_user *u;
	unsigned int i;

	wait = kzalloc(sizeof(*wait), GFP_KERNEL_ACCOUNT);
	if (!wait)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(wait->user); i++) {
		u = kzalloc(sizeof(*u), GFP_KERNEL_ACCOUNT);
		if (!u) {
			cmx_wait_free(wait);
			return NULL;
		}
		INIT_LIST_HEAD(&u->node);
		INIT_LIST_HEAD(&u->queue);
		u->uid = uid;
		wait->user[i] = u;
	}
	return wait;
}

/* Returns 0: it has a slot; 1: it waits; -EAGAIN: @wait is unused. */
static int cmx_slot_begin(struct cmx_slot *slot, struct cmx_window_wait *wait)
{
	struct cmx_window_user *sum;

	sum = cmx_window_user_find(wait->user[0]->uid, CMX_WINDOW_NONE);
	if ((sum ? sum->waiting : 0) >= READ_ONCE(cmx_connect_queue_max))
		return -EAGAIN;
	cmx_window_user_join(wait, CMX_STAGE_DEST, slot->dest);
	cmx_window_user_join(wait, CMX_STAGE_PORT,
			     CMX_WINDOW_DESTS + slot->port);
	cmx_window_user_join(wait, CMX_STAGES, CMX_WINDOW_NONE);
	wait->user[CMX_STAGES]->waiting++;
	wait->slot = slot;
	wait->since = jiffies;
	wait->at_once = true;
	slot->wait = wait;
	WRITE_ONCE(slot->state, CMX_SLOT_WAITING);
	list_add_tail(&wait->all, &cmx_slot_waits);
	cmx_slot_queue(wait, CMX_STAGE_DEST);
	cmx_slot_run(cmx_slot_window(slot, CMX_STAGE_DEST));
	if (slot->state == CMX_SLOT_HELD)
		return 0;
	wait->at_once = false;
	cmx_stat_inc(connect_waits);
	cmx_stat_inc(live_connect_waits);
	trace_cmx_connect_wait(slot->dest, __kuid_val(wait->user[0]->uid));
	queue_delayed_work(cmx_connect_timer_wq, &cmx_slot_work, HZ);
	return 1;
}

int cmx_slot_wait(struct cmx_slot *slot, u32 tag, u8 port, kuid_t uid,
		  rdma_cmx_slot_fn done, void *context)
{
	struct cmx_window_wait *wait = cmx_wait_alloc(uid);
	int ret;

	if (!wait)
		return -ENOMEM;
	wait->done = done;
	wait->context = context;
	spin_lock(&cmx_window_lock);
	cmx_slot_place(slot, tag, port);
	ret = cmx_slot_begin(slot, wait);
	spin_unlock(&cmx_window_lock);
	if (ret < 0) {
		cmx_wait_free(wait);
		cmx_stat_inc(connect_refused);
	}
	return ret;
}

/**
 * rdma_cmx_slot_wait - wait for a slot
 * @slot: slot of the id, not in use
 * @id: as for rdma_cmx_slot_get()
 * @uid: the user
 * @done: called once if this returns 1, unless rdma_cmx_slot_cancel() comes
 *	first; called under a spinlock
 * @context: argument of @done
 *
 * Context: process context, may sleep. Memory is charged to the current
 * task's cgroup.
 * Return: 0 if the id may connect, 1 if it waits, -ENOMEM, or -EAGAIN if
 * connect_queue connects of the user wait.
 */
int rdma_cmx_slot_wait(struct cmx_slot *slot, const struct rdma_cm_id *id,
		       kuid_t uid, rdma_cmx_slot_fn done, void *context)
{
	u32 tag;
	u8 port;

	if (!cmx_slot_find(id, &tag, &port))
		return 0;
	return cmx_slot_wait(slot, tag, port, uid, done, context);
}
EXPORT_SYMBOL_GPL(rdma_cmx_slot_wait);

/**
 * rdma_cmx_slot_cancel - end a wait
 * @slot: slot of the id
 *
 * Context: process context, does not sleep.
 * Return: true if the wait has ended and the callback will not be called;
 * false if there was no wait.
 */
bool rdma_cmx_slot_cancel(struct cmx_slot *slot)
{
	bool waited;

	if (cmx_slot_is_none(slot))
		return false;
	spin_lock(&cmx_window_lock);
	waited = slot->state == CMX_SLOT_WAITING;
	if (waited)
		cmx_slot_stop(slot->wait, -ECANCELED);
	spin_unlock(&cmx_window_lock);
	return waited;
}
EXPORT_SYMBOL_GPL(rdma_cmx_slot_cancel);

void cmx_slot_release(struct cmx_slot *slot, enum cmx_window_sign sign)
{
	struct cmx_window *to, *by;

	spin_lock(&cmx_window_lock);
	if (slot->state == CMX_SLOT_HELD) {
		to = cmx_slot_window(slot, CMX_STAGE_DEST);
		by = cmx_slot_window(slot, CMX_STAGE_PORT);
		if (slot->wait)
			cmx_wait_drop(slot->wait);
		cmx_window_give(to, slot->epoch);
		cmx_window_give(by, slot->epoch);
		/*
		 * The result of a guest does not concern the window's own
		 * destination.
		 */
		if (slot->tag == to->tag && !slot->own_path)
			cmx_window_sign(to, slot->epoch, sign);
		cmx_slot_none(slot);
		cmx_slot_run(to);
		cmx_slot_run(by);
	}
	spin_unlock(&cmx_window_lock);
}

/**
 * rdma_cmx_slot_put - give back a slot, if there is one
 * @slot: slot of an id whose REQ was not sent, or that is about to be
 *	destroyed; a wait for a slot does not end by this
 *
 * Context: process context, does not sleep.
 */
void rdma_cmx_slot_put(struct cmx_slot *slot)
{
	if (!cmx_slot_is_none(slot))
		cmx_slot_release(slot, CMX_WINDOW_NO_SIGN);
}
EXPORT_SYMBOL_GPL(rdma_cmx_slot_put);

/**
 * rdma_cmx_slot_end - give back a slot, if @event ends its request
 * @slot: slot of the id, in use
 * @event: event of the id
 *
 * rdma_cmx_slot_event() calls it.
 *
 * Context: the id's event handler, does not sleep.
 */
void rdma_cmx_slot_end(struct cmx_slot *slot, const struct rdma_cm_event *event)
{
	enum cmx_window_sign sign = CMX_WINDOW_NO_SIGN;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_ESTABLISHED:
		sign = CMX_WINDOW_REPLY;
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		/* A positive status is from the peer's SIDR_REP. */
		if (event->status < 0)
			sign = CMX_WINDOW_BUSY;
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (event->status == IB_CM_REJ_NO_QP ||
		    event->status == IB_CM_REJ_NO_RESOURCES ||
		    event->status == IB_CM_REJ_TIMEOUT)
			sign = CMX_WINDOW_BUSY;
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
	case RDMA_CM_EVENT_ADDR_ERROR:
		/* ADDR_ERROR: the Q_Key of a SIDR_REP is invalid */
		break;
	default:
		return;
	}
	cmx_slot_release(slot, sign);
}
EXPORT_SYMBOL_GPL(rdma_cmx_slot_end);

/* Returns true if more may have timed out. */
static bool cmx_slot_expire_some(void)
{
	unsigned long limit = rdma_cmx_slot_max_wait();
	struct cmx_window_wait *wait;
	unsigned int n;

	spin_lock(&cmx_window_lock);
	for (n = 0; n < CMX_SLOT_BATCH; n++) {
		wait = list_first_entry_or_null(&cmx_slot_waits,
						struct cmx_window_wait, all);
		if (!wait || jiffies - wait->since < limit)
			break;
		cmx_stat_inc(connect_timeouts);
		/* The owner's put or cancel waits for the lock. */
		wait->done(wait->context, -ETIMEDOUT);
		cmx_slot_stop(wait, -ETIMEDOUT);
	}
	spin_unlock(&cmx_window_lock);
	return n == CMX_SLOT_BATCH;
}

static void cmx_slot_scan(struct work_struct *work)
{
	struct cmx_window *w;
	unsigned int i;
	bool more;

	while (cmx_slot_expire_some())
		cond_resched();
	for (i = 0; i < CMX_WINDOW_COUNT; i++) {
		w = cmx_window(i);
		if (list_empty_careful(&w->users))
			continue;
		do {
			spin_lock(&cmx_window_lock);
			more = cmx_slot_run(w);
			spin_unlock(&cmx_window_lock);
			cond_resched();
		} while (more);
	}
	spin_lock(&cmx_window_lock);
	if (!list_empty(&cmx_slot_waits))
		queue_delayed_work(cmx_connect_timer_wq, &cmx_slot_work, HZ);
	spin_unlock(&cmx_window_lock);
}

/* All slots were put: their owners use this module. */
void cmx_slot_exit(void)
{
	cancel_delayed_work_sync(&cmx_slot_work);
}
