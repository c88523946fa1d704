/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The limit of outstanding connection requests. A connect sends its REQ when it
 * has a slot, and gives the slot back when the REQ is no longer outstanding.
 *
 *	rdma_cmx_slot_get()	before rdma_connect(); -EINPROGRESS: wait
 *	rdma_cmx_slot_wait()	waits; a callback reports the end
 *	rdma_cmx_slot_event()	in the event handler of the id
 *	rdma_cmx_slot_put()	after rdma_connect() failed; before the end
 *	rdma_cmx_slot_cancel()	before put, for a connect that may wait
 *
 * The owner of a slot serialises these calls, except for events. An event, a
 * callback and the owner's put may run at the same time: the slot is given back
 * once. The owner calls put before it frees the slot, whatever has happened.
 * Put does not end a wait.
 */
#ifndef CMX_SLOT_H
#define CMX_SLOT_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct cmx_window_wait;
struct rdma_cm_event;
struct rdma_cm_id;

/**
 * enum cmx_slot_state - state of the slot of an id
 * @CMX_SLOT_NONE: the id has no slot
 * @CMX_SLOT_WAITING: the id waits for a slot
 * @CMX_SLOT_HELD: the id has a slot
 */
enum cmx_slot_state {
	CMX_SLOT_NONE,
	CMX_SLOT_WAITING,
	CMX_SLOT_HELD,
};

/**
 * struct cmx_slot - the slot of an id; part of the id's object, initially zero
 * @wait: while it waits, and while it has a slot of its user's reserve
 * @epoch: HELD: epoch in which it was taken
 * @tag: tag of the destination
 * @dest: window in which it counts, of the destination or of its host
 * @port: window of the port
 * @state: an enum cmx_slot_state
 * @own_path: a user set the path, which may be invalid: its result does not
 *	change the limit of the destination
 */
struct cmx_slot {
	struct cmx_window_wait *wait;
	u32 epoch;
	u32 tag;
	u16 dest;
	u8 port;
	u8 state;
	bool own_path;
};

/*
 * Called when the slot is HELD (@error 0) or the wait has timed out
 * (-ETIMEDOUT). It runs under a spinlock, which nests outside the locks that it
 * takes. It only queues work.
 */
typedef void (*rdma_cmx_slot_fn)(void *context, int error);

/* connect/slot.c of rdma_cmx */
unsigned long rdma_cmx_slot_max_wait(void);
int rdma_cmx_slot_get(struct cmx_slot *slot, const struct rdma_cm_id *id);
int rdma_cmx_slot_wait(struct cmx_slot *slot, const struct rdma_cm_id *id,
		       kuid_t uid, rdma_cmx_slot_fn done, void *context);
bool rdma_cmx_slot_cancel(struct cmx_slot *slot);
void rdma_cmx_slot_put(struct cmx_slot *slot);
void rdma_cmx_slot_end(struct cmx_slot *slot,
		       const struct rdma_cm_event *event);

/**
 * rdma_cmx_slot_event - process an event of an id
 * @slot: the slot of the id
 * @event: any event
 *
 * Context: the id's event handler, does not sleep.
 */
static inline void rdma_cmx_slot_event(struct cmx_slot *slot,
				       const struct rdma_cm_event *event)
{
	if (READ_ONCE(slot->state) == CMX_SLOT_HELD)
		rdma_cmx_slot_end(slot, event);
}

#endif /* CMX_SLOT_H */
