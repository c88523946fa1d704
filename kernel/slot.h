/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The limit of outstanding connection requests: a connect sends its REQ when it
 * has a slot, and gives the slot back when the REQ is no longer outstanding.
 *
 *	rdma_cmx_slot_get()	before rdma_connect(); -EINPROGRESS: it must wait
 *	rdma_cmx_slot_wait()	has a callback when it has waited
 *	rdma_cmx_slot_event()	in the handler of the id
 *	rdma_cmx_slot_put()	when rdma_connect() has failed; before the end
 *	rdma_cmx_slot_cancel()	instead, of one that may wait
 *
 * The owner of a slot serialises these, but for events; an event, a callback and
 * the owner's put may meet: the slot is given back once. The owner calls put
 * before it frees the slot, whatever came before.
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
 * enum cmx_slot_state - the slot of an id
 * @CMX_SLOT_NONE: it has none
 * @CMX_SLOT_WAITING: it waits for one
 * @CMX_SLOT_HELD: it has one
 */
enum cmx_slot_state {
	CMX_SLOT_NONE,
	CMX_SLOT_WAITING,
	CMX_SLOT_HELD,
};

/**
 * struct cmx_slot - the same, in the object of an id, zeroed at first
 * @wait: while it waits, and while it has a slot of its user's reserve
 * @epoch: HELD: since when
 * @tag: of the destination
 * @dest: window in which it counts, of the destination or of its host
 * @port: window of the port
 * @state: an enum cmx_slot_state
 * @own_path: a user gave the path: it may lead nowhere, and says nothing about the
 *	destination
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
 * The slot is HELD, or the wait has failed: -ETIMEDOUT. Under a spinlock, which
 * is outside of those that it takes: it only queues work.
 */
typedef void (*rdma_cmx_slot_fn)(void *context, int error);

/* connect/slot.c of rdma_cmx */
int rdma_cmx_slot_get(struct cmx_slot *slot, const struct rdma_cm_id *id);
int rdma_cmx_slot_wait(struct cmx_slot *slot, const struct rdma_cm_id *id,
		       kuid_t uid, rdma_cmx_slot_fn done, void *context);
bool rdma_cmx_slot_cancel(struct cmx_slot *slot);
void rdma_cmx_slot_put(struct cmx_slot *slot);
void rdma_cmx_slot_end(struct cmx_slot *slot,
		       const struct rdma_cm_event *event);

/**
 * rdma_cmx_slot_event - an event of an id has come
 * @slot: the slot of the id
 * @event: any event
 *
 * Context: the id's event handler.
 */
static inline void rdma_cmx_slot_event(struct cmx_slot *slot,
				       const struct rdma_cm_event *event)
{
	if (READ_ONCE(slot->state) == CMX_SLOT_HELD)
		rdma_cmx_slot_end(slot, event);
}

#endif /* CMX_SLOT_H */
