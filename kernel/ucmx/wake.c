// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Wake-ups of those who wait for events of a file, or for changes of its services.
 *
 * By epoll, and poll() of that, a user may have any number of pollers, and a
 * wake-up takes time for each: N entries of the file in epoll sets with M pollers
 * are N times M, and one entry has as many if the sets are in other sets. It runs
 * in contexts that report to all users: the removal of a device, the CM, the
 * records of services. They leave it to a work item of the user, unless the time
 * until the event is read matters: then they wake few entries, and a user's long
 * wake-ups get a small share of their time. Work items of several users run at
 * the same time.
 *
 * ucmx_user.wake_debt is the time, by ktime_get_mono_fast_ns(), at which the share
 * has paid for the wake-ups so far. A short burst may run ahead of it: an interrupt
 * makes single wake-ups of any program long. local_clock() may stop while a wake-up
 * has interrupts off.
 *
 * ucmx_user.lock guards the list of files whose waiters the work item wakes, one
 * file at a time. A file leaves it before it is freed.
 */
#include <linux/poll.h>
#include <linux/timekeeping.h>

#include "ucmx.h"

/* Maximum time of a wake-up of few pollers. The user is charged the rest. */
#define UCMX_WAKE_FREE	(20 * NSEC_PER_USEC)
/* The long wake-ups of a user have one part in so many of the time, ... */
#define UCMX_WAKE_PART	16
/* ... at most this much at once, ... */
#define UCMX_WAKE_BURST	(10 * NSEC_PER_MSEC)
/* ... and a debt of at most this, unless one wake-up costs more. */
#define UCMX_WAKE_MOST	(60 * NSEC_PER_SEC)
/* Maximum entries of pollers that are woken without the work item */
#define UCMX_WAKE_FEW	4
/* Maximum waiters, with readers, among which it looks for more pollers */
#define UCMX_WAKE_SCAN	64

static bool ucmx_wake_owes(const struct ucmx_user *user)
{
	u64 debt = READ_ONCE(user->wake_debt);

	return debt && debt > ktime_get_mono_fast_ns() +
			      UCMX_WAKE_PART * UCMX_WAKE_BURST;
}

/* A reader waits by wait_event_interruptible_exclusive(). */
static bool ucmx_wake_is_reader(const struct wait_queue_entry *entry)
{
	return entry->flags & WQ_FLAG_EXCLUSIVE &&
	       entry->func == autoremove_wake_function;
}

/*
 * One reader is woken, but not one that runs: then those behind it are woken as
 * well. Pollers may be exclusive, too (EPOLLEXCLUSIVE), and an epoll set that
 * nobody waits for does not count as woken. The queue's lock is held.
 */
static bool ucmx_wake_many(const struct wait_queue_head *queue)
{
	unsigned int waiters = 0, pollers = 0;
	struct wait_queue_entry *entry;

	list_for_each_entry(entry, &queue->head, entry) {
		pollers += !ucmx_wake_is_reader(entry);
		if (pollers > UCMX_WAKE_FEW || ++waiters > UCMX_WAKE_SCAN)
			return true;
	}
	return false;
}

static void ucmx_wake_charge(struct ucmx_user *user, u64 now, u64 took)
{
	u64 old = READ_ONCE(user->wake_debt), debt, seen;

	for (;; old = seen) {
		debt = min(max(old, now) + UCMX_WAKE_PART * took,
			   now + max_t(u64, UCMX_WAKE_MOST,
				       UCMX_WAKE_PART * took));
		seen = cmpxchg64(&user->wake_debt, old, debt);
		if (seen == old)
			break;
	}
}

/*
 * Charges what a wake-up has taken longer than @free since @start. The clock may
 * go back by some nanoseconds.
 */
static void ucmx_wake_end(struct ucmx_file *file, u64 start, s64 free)
{
	s64 took = ktime_get_mono_fast_ns() - start;

	if (took > free)
		ucmx_wake_charge(file->user, start + took, took - free);
}

/*
 * Wakes few pollers. False: it has woken none, because there are many, or because
 * somebody walks the queue, for as long as its pollers take.
 */
static bool ucmx_wake_few(struct ucmx_file *file)
{
	struct wait_queue_head *queue = &file->wait;
	u64 start = ktime_get_mono_fast_ns();
	unsigned long flags;
	bool few;

	if (!spin_trylock_irqsave(&queue->lock, flags))
		return false;
	few = !ucmx_wake_many(queue);
	if (few)
		wake_up_locked(queue);
	spin_unlock_irqrestore(&queue->lock, flags);
	ucmx_wake_end(file, start, UCMX_WAKE_FREE);
	return few;
}

static void ucmx_wake_queue(struct ucmx_file *file, unsigned int who)
{
	struct ucmx_user *user = file->user;

	spin_lock(&user->lock);
	file->wake |= who;
	if (list_empty(&file->woken))
		list_add_tail(&file->woken, &user->woken);
	spin_unlock(&user->lock);
	queue_work(ucmx_wake_wq, &user->work);
}

/* One file, and then other work: the next one is queued again. */
static void ucmx_wake_work(struct work_struct *work)
{
	struct ucmx_user *user = container_of(work, struct ucmx_user, work);
	struct ucmx_file *file;
	unsigned int who = 0;
	bool more;
	u64 start;

	spin_lock(&user->lock);
	file = list_first_entry_or_null(&user->woken, struct ucmx_file, woken);
	if (file) {
		list_del_init(&file->woken);
		who = file->wake;
		file->wake = 0;
	}
	user->waking = file;
	spin_unlock(&user->lock);
	if (!file)
		return;
	start = ktime_get_mono_fast_ns();
	if (who & UCMX_WAKE_EVENTS)
		wake_up_interruptible(&file->wait);
	if (who & UCMX_WAKE_CHANGES)
		wake_up_interruptible_poll(&file->changes, EPOLLPRI);
	/* The time is the user's. But others are not to try one that long. */
	ucmx_wake_end(file, start, UCMX_WAKE_BURST);
	spin_lock(&user->lock);
	user->waking = NULL;
	more = !list_empty(&user->woken);
	spin_unlock(&user->lock);
	if (more)
		queue_work(ucmx_wake_wq, &user->work);
}

/**
 * ucmx_file_wake - wake those who wait for events, if any
 * @file: the file, which has events since before the call
 *
 * It wakes one reader, and the pollers. Most events come while the program does
 * something else: those cost no lock.
 */
void ucmx_file_wake(struct ucmx_file *file)
{
	/* Its barrier pairs with those of ucmx_poll() and prepare_to_wait(). */
	if (!wq_has_sleeper(&file->wait))
		return;
	if (ucmx_wake_owes(file->user) || !ucmx_wake_few(file))
		ucmx_wake_queue(file, UCMX_WAKE_EVENTS);
}

/**
 * ucmx_file_wake_later - let the work item wake those who wait, if any
 * @file: the file, which has events, or changes, since before the call
 * @who: UCMX_WAKE_EVENTS: one reader, and the pollers; UCMX_WAKE_CHANGES: pollers
 *
 * For what need not be read at once.
 */
void ucmx_file_wake_later(struct ucmx_file *file, unsigned int who)
{
	bool events = who == UCMX_WAKE_EVENTS;

	/* Its barrier is as in ucmx_file_wake(). */
	if (wq_has_sleeper(events ? &file->wait : &file->changes))
		ucmx_wake_queue(file, who);
}

/**
 * ucmx_file_wake_end - forget the wake-ups of a file
 * @file: the file, for which nothing comes any more
 */
void ucmx_file_wake_end(struct ucmx_file *file)
{
	struct ucmx_user *user = file->user;
	bool waking;

	spin_lock(&user->lock);
	list_del_init(&file->woken);
	waking = user->waking == file;
	spin_unlock(&user->lock);
	if (waking)
		flush_work(&user->work);
}

void ucmx_user_wake_init(struct ucmx_user *user)
{
	spin_lock_init(&user->lock);
	INIT_LIST_HEAD(&user->woken);
	INIT_WORK(&user->work, ucmx_wake_work);
}

/* @user has no file any more. */
void ucmx_user_wake_exit(struct ucmx_user *user)
{
	cancel_work_sync(&user->work);
}
