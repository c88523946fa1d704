// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Events: their memory, and the lists of unread events.
 *
 * An operation that ends with an event reserves it when it starts. An id has at
 * most one unread event of each type that no operation requested. The
 * allocation of these does not fail.
 *
 * An unread event is in a list of its id. It is in the list of the file as
 * well, unless the id holds its events back. So a walk over the events of an id
 * finds no others, and the file's list keeps the order of arrival. Lists change
 * in batches, which bounds the time under a spinlock.
 *
 * A connection request beyond the backlog is an event, too, but it is in the
 * list excess. It becomes the last event of the file when a request before it
 * is read. So at most as many requests as the backlog precede another event.
 */
#include <linux/sched.h>
#include <linux/slab.h>

#include "ucmx.h"

/**
 * ucmx_event_init - initialise an event that is part of another object
 * @ev: the event, zeroed
 * @id: owner
 * @type: event type
 */
void ucmx_event_init(struct ucmx_event *ev, struct ucmx_id *id, u8 type)
{
	INIT_LIST_HEAD(&ev->ready);
	INIT_LIST_HEAD(&ev->mine);
	ev->id = id;
	ev->event = type;
}

/**
 * ucmx_event_alloc - allocate an event
 * @id: owner
 * @cap: size of its body in bytes
 * @gfp: flags; with __GFP_ACCOUNT if the caller runs for the id's user
 *
 * Return: the event, zeroed, or NULL.
 */
struct ucmx_event *ucmx_event_alloc(struct ucmx_id *id, unsigned int cap,
				    gfp_t gfp)
{
	struct ucmx_event *ev;

	ev = kzalloc(sizeof(*ev) + cap, gfp);
	if (!ev)
		return NULL;
	ucmx_event_init(ev, id, 0);
	ev->body = (u64 *)(ev + 1);
	ev->cap = cap;
	ucmx_stat_inc(live_events);
	return ev;
}

/**
 * ucmx_event_free - free an event that is in no list
 * @ev: the event; ignored if it is part of another object
 */
void ucmx_event_free(struct ucmx_event *ev)
{
	if (ev->embedded)
		return;
	kfree(ev);
	ucmx_stat_dec(live_events);
}

static unsigned int ucmx_slot_cap(enum ucmx_slot slot)
{
	switch (slot) {
	case UCMX_SLOT_ADDR:
		return sizeof(struct rdma_cmx_id_info);
	case UCMX_SLOT_ROUTE:
		return sizeof(struct rdma_cmx_id_info) +
		       UCMX_MAX_PATHS * sizeof(struct ib_path_rec_data);
	case UCMX_SLOT_CONN:
		return UCMX_PARAM_LEN + RDMA_CMX_MAX_PRIVATE_DATA;
	case UCMX_SLOT_RACE:
		return UCMX_PARAM_LEN + sizeof(struct rdma_cmx_id_info) +
		       UCMX_MAX_PATHS * sizeof(struct ib_path_rec_data) +
		       RDMA_CMX_MAX_PRIVATE_DATA;
	default:
		return 0;
	}
}

/**
 * ucmx_event_check - check that an operation may start that ends with an event
 * @id: the id, its mutex held
 *
 * Return: 0, or -EAGAIN if too many events of the file are unread.
 */
int ucmx_event_check(struct ucmx_id *id)
{
	struct ucmx_file *file = id->file;

	if (READ_ONCE(file->nr_events) >= READ_ONCE(ucmx_max_events))
		return -EAGAIN;
	return 0;
}

/**
 * ucmx_event_reserve - allocate an event before an operation starts
 * @id: the id, its mutex held
 * @slot: purpose; an event left from an earlier operation is reused
 *
 * Context: may sleep.
 * Return: 0, -EAGAIN if too many events are unread, or -ENOMEM.
 */
int ucmx_event_reserve(struct ucmx_id *id, enum ucmx_slot slot)
{
	struct ucmx_event *ev;
	bool found = false;

	lockdep_assert_held(&id->mutex);
	if (ucmx_event_check(id))
		return -EAGAIN;
	spin_lock(&id->lock);
	for (ev = id->reserve; ev; ev = ev->next)
		found |= ev->slot == slot;
	spin_unlock(&id->lock);
	if (found)
		return 0;

	ev = ucmx_event_alloc(id, ucmx_slot_cap(slot), GFP_KERNEL_ACCOUNT);
	if (!ev)
		return -ENOMEM;
	ev->slot = slot;
	spin_lock(&id->lock);
	ev->next = id->reserve;
	id->reserve = ev;
	spin_unlock(&id->lock);
	return 0;
}

static struct ucmx_event *ucmx_event_reserved(struct ucmx_id *id,
					      enum ucmx_slot slot,
					      unsigned int cap)
{
	struct ucmx_event *ev, **link;

	if (slot == UCMX_SLOT_NONE)
		return NULL;
	spin_lock(&id->lock);
	for (link = &id->reserve; (ev = *link); link = &ev->next) {
		if (ev->slot == slot && ev->cap >= cap) {
			*link = ev->next;
			INIT_LIST_HEAD(&ev->mine);
			break;
		}
	}
	spin_unlock(&id->lock);
	return ev;
}

/**
 * ucmx_event_take - get the memory for an event that has arrived
 * @id: owner
 * @type: event type
 * @slot: purpose of its reservation
 * @cap: size of its body in bytes
 *
 * Context: may sleep; the allocation is not charged and does not fail.
 * Return: the event, or NULL if it is not reserved and an event of its type is
 * unread already.
 */
struct ucmx_event *ucmx_event_take(struct ucmx_id *id, u8 type,
				   enum ucmx_slot slot, unsigned int cap)
{
	struct ucmx_event *ev = ucmx_event_reserved(id, slot, cap);

	if (ev)
		return ev;
	if (atomic_fetch_or(BIT(type), &id->unsolicited) & BIT(type))
		return NULL;
	ev = ucmx_event_alloc(id, cap, GFP_KERNEL | __GFP_NOFAIL);
	ev->unsolicited = true;
	return ev;
}

/* The locks of the id and of its file are held. */
static void ucmx_event_count(struct ucmx_event *ev, struct ucmx_file *file)
{
	if (ev->counted)
		return;
	ev->counted = true;
	ev->id->nr_events++;
	WRITE_ONCE(file->nr_events, file->nr_events + 1);
}

/* Appends to the readable events. The locks of id and file are held. */
static void ucmx_event_queue(struct ucmx_event *ev, struct ucmx_file *file)
{
	ucmx_event_count(ev, file);
	list_move_tail(&ev->mine, &ev->id->queued);
	list_add_tail(&ev->ready, &file->events);
}

/**
 * ucmx_event_unlink - remove an event from all lists
 * @ev: the event; if a reader cannot see it, the id's lock is held, too
 * @file: the id's file, its lock held
 *
 * A reader that has copied it discards the copy.
 */
void ucmx_event_unlink(struct ucmx_event *ev, struct ucmx_file *file)
{
	struct ucmx_id *id = ev->id;

	lockdep_assert_held(&file->lock);
	if (file->reading == ev)
		file->reading = NULL;
	list_del_init(&ev->ready);
	list_del_init(&ev->mine);
	if (ev->conn && !ev->excess)
		id->listener->nr_conns--;
	ev->excess = false;
	if (ev->counted) {
		ev->counted = false;
		id->nr_events--;
		WRITE_ONCE(file->nr_events, file->nr_events - 1);
	}
	if (ev->unsolicited)
		atomic_andnot(BIT(ev->event), &id->unsolicited);
}

/**
 * ucmx_event_add - queue an event, without waking a reader
 * @ev: the event, the id's lock held; an unread embedded event moves to the end:
 *	its new state is no older than those that other events report. The last
 *	one stays: poll() reads the list without the lock, and never finds it
 *	empty meanwhile
 * @file: the id's file, its lock held since the caller changed @ev
 *
 * ucmx_event_wake() follows.
 */
void ucmx_event_add(struct ucmx_event *ev, struct ucmx_file *file)
{
	struct ucmx_id *id = ev->id;

	lockdep_assert_held(&id->lock);
	lockdep_assert_held(&file->lock);
	ucmx_stat_inc(events);
	ev->attempt = id->attempt;
	if (file->reading == ev)
		file->reading = NULL;
	if (!id->hold && list_is_last(&ev->ready, &file->events))
		return;
	list_del_init(&ev->ready);
	if (id->hold) {
		ucmx_event_count(ev, file);
		list_move_tail(&ev->mine, &id->held);
	} else {
		ucmx_event_queue(ev, file);
	}
}

/**
 * ucmx_event_wake - wake a reader of events that were added
 * @id: the id, its lock held since ucmx_event_add()
 */
void ucmx_event_wake(struct ucmx_id *id)
{
	struct ucmx_file *file = id->file;

	lockdep_assert_held(&id->lock);
	/*
	 * Once for each event, so that users of EPOLLET see each. Readers wait
	 * exclusively, so this wakes one. The lock keeps the file: it may be
	 * released once the id can migrate.
	 */
	if (!file || id->hold)
		return;
	/* The removal of the device waits for this. */
	if (id->gone)
		ucmx_file_wake_later(file, UCMX_WAKE_EVENTS);
	else
		ucmx_file_wake(file);
}

/* Appends a request to the events. The locks of id and file are held. */
static void ucmx_event_queue_conn(struct ucmx_event *ev, struct ucmx_file *file)
{
	struct ucmx_id *id = ev->id;

	ev->excess = false;
	id->listener->nr_conns++;
	if (id->hold)
		list_move_tail(&ev->mine, &id->held);
	else
		ucmx_event_queue(ev, file);
}

/*
 * Does one more request have to wait? One is always readable, as its reader lets
 * the next one follow: a LISTEN that failed leaves a backlog of 0.
 */
static bool ucmx_event_backlog_full(const struct ucmx_listener *l)
{
	return l->nr_conns && l->nr_conns >= READ_ONCE(l->backlog);
}

/* Queues requests for which the backlog has room. The id's lock is held. */
static void ucmx_event_advance_locked(struct ucmx_id *id)
{
	struct ucmx_listener *l = id->listener;
	struct ucmx_event *ev, *tmp;
	struct ucmx_file *file;
	bool any = false;

	/*
	 * Without a request, the id may be closed, and its file gone. Those of
	 * a removed device end with the id: its removal is its last event.
	 */
	if (list_empty(&l->excess) || id->gone)
		return;
	file = id->file;
	spin_lock(&file->lock);
	list_for_each_entry_safe(ev, tmp, &l->excess, mine) {
		if (ucmx_event_backlog_full(l))
			break;
		ucmx_event_queue_conn(ev, file);
		any = true;
	}
	spin_unlock(&file->lock);
	if (any)
		ucmx_event_wake(id);
}

/**
 * ucmx_event_advance - queue requests after others were read
 * @id: the listening id, with a reference; it may have been closed
 */
void ucmx_event_advance(struct ucmx_id *id)
{
	spin_lock(&id->lock);
	ucmx_event_advance_locked(id);
	spin_unlock(&id->lock);
}

/**
 * ucmx_event_post_conn - add a connection request, and wake a reader
 * @ev: the event, which reports a new id
 *
 * It follows the requests that came before, and waits for room in the backlog.
 */
void ucmx_event_post_conn(struct ucmx_event *ev)
{
	struct ucmx_id *id = ev->id;
	struct ucmx_file *file;

	ucmx_stat_inc(events);
	spin_lock(&id->lock);
	file = id->file;
	spin_lock(&file->lock);
	ucmx_event_count(ev, file);
	ev->excess = true;
	ev->attempt = id->attempt;
	list_add_tail(&ev->mine, &id->listener->excess);
	if (ucmx_event_backlog_full(id->listener))
		ucmx_stat_inc(held_connects);
	spin_unlock(&file->lock);
	ucmx_event_advance_locked(id);
	spin_unlock(&id->lock);
}

/**
 * ucmx_event_post_locked - queue an event and wake a reader
 * @ev: the event, in no list, the id's lock held
 */
void ucmx_event_post_locked(struct ucmx_event *ev)
{
	struct ucmx_id *id = ev->id;
	struct ucmx_file *file = READ_ONCE(id->file);

	lockdep_assert_held(&id->lock);
	if (!file) {
		/* An unread connection request holds all events back. */
		ucmx_stat_inc(events);
		list_add_tail(&ev->mine, &id->held);
		return;
	}
	spin_lock(&file->lock);
	/* A reader may free @ev once it is queued. */
	ucmx_event_add(ev, file);
	spin_unlock(&file->lock);
	ucmx_event_wake(id);
}

/**
 * ucmx_event_post - queue an event and wake a reader
 * @ev: the event
 */
void ucmx_event_post(struct ucmx_event *ev)
{
	struct ucmx_id *id = ev->id;

	spin_lock(&id->lock);
	ucmx_event_post_locked(ev);
	spin_unlock(&id->lock);
}

/* Queues a batch of held events. The id's lock is held. */
static void ucmx_event_unhold_some(struct ucmx_id *id)
{
	struct ucmx_file *file = id->file;
	struct ucmx_event *ev, *tmp;
	unsigned int n = 0;

	spin_lock(&file->lock);
	list_for_each_entry_safe(ev, tmp, &id->held, mine) {
		if (n++ == UCMX_BATCH)
			break;
		ucmx_event_queue(ev, file);
	}
	id->hold = !list_empty(&id->held);
	spin_unlock(&file->lock);
	if (n)
		ucmx_file_wake(file);
}

/**
 * ucmx_event_unhold - queue the held events of an accepted or migrated id
 * @id: the id, its mutex held
 *
 * Context: may sleep.
 */
void ucmx_event_unhold(struct ucmx_id *id)
{
	bool more;

	do {
		spin_lock(&id->lock);
		if (id->hold)
			ucmx_event_unhold_some(id);
		more = id->hold;
		spin_unlock(&id->lock);
		if (more)
			cond_resched();
	} while (more);
}

/**
 * ucmx_event_cancel - drop the two events that are part of another object
 * @a: an event; the id's mutex is held, and neither event is posted again
 * @b: the other one, of the same id
 */
void ucmx_event_cancel(struct ucmx_event *a, struct ucmx_event *b)
{
	struct ucmx_id *id = a->id;
	struct ucmx_file *file;

	spin_lock(&id->lock);
	file = id->file;
	spin_lock(&file->lock);
	ucmx_event_unlink(a, file);
	ucmx_event_unlink(b, file);
	spin_unlock(&file->lock);
	spin_unlock(&id->lock);
}

/* Drops a batch of an id's events into @gone; false if none is left. */
static bool ucmx_event_purge_some(struct ucmx_id *id, struct list_head *gone)
{
	struct ucmx_file *file = id->file;
	struct ucmx_event *ev;
	unsigned int n;

	spin_lock(&id->lock);
	spin_lock(&file->lock);
	for (n = 0; n < UCMX_BATCH; n++) {
		ev = list_first_entry_or_null(&id->queued, struct ucmx_event,
					      mine);
		if (!ev)
			ev = list_first_entry_or_null(&id->held,
						      struct ucmx_event, mine);
		if (!ev && id->listener)
			ev = list_first_entry_or_null(&id->listener->excess,
						      struct ucmx_event, mine);
		if (!ev)
			break;
		ucmx_event_unlink(ev, file);
		list_add_tail(&ev->mine, gone);
	}
	spin_unlock(&file->lock);
	spin_unlock(&id->lock);
	return n == UCMX_BATCH;
}

/**
 * ucmx_event_purge - drop the unread events of an id
 * @id: the id, dead, without sources of events
 * @conns: list for connection requests; the caller closes their ids
 *
 * Context: may sleep.
 */
void ucmx_event_purge(struct ucmx_id *id, struct list_head *conns)
{
	struct ucmx_event *ev, *tmp;
	LIST_HEAD(gone);
	bool more;

	do {
		more = ucmx_event_purge_some(id, &gone);
		list_for_each_entry_safe(ev, tmp, &gone, mine) {
			list_del_init(&ev->mine);
			if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
				list_add_tail(&ev->mine, conns);
			else
				ucmx_event_free(ev);
		}
		if (more)
			cond_resched();
	} while (more);
}

/**
 * ucmx_event_drop_reserve - free the reserved events of an id
 * @id: the id, dead, without sources of events
 */
void ucmx_event_drop_reserve(struct ucmx_id *id)
{
	struct ucmx_event *ev;

	while ((ev = id->reserve)) {
		id->reserve = ev->next;
		ucmx_event_free(ev);
	}
}
