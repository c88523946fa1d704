// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Wake-ups of those who wait for events of a file, or for changes of its services.
 *
 * By epoll, and poll() of that, a user may have any number of pollers, and a
 * wake-up takes a time for each. Those who report to all users, a device's
 * removal, the CM and the records of services, find out once. Then a work item of
 * the user wakes them, for a second or more, until one of the others may try again.
 * Work items of several users run at the same time.
 *
 * ucmx_user.lock guards the list of files whose waiters the work item wakes, one
 * file at a time. A file leaves it before it is freed.
 */
#include <linux/poll.h>
#include <linux/sched/clock.h>

#include "ucmx.h"

/* A wake-up that takes longer has very many pollers. */
#define UCMX_WAKE_NS	(100 * NSEC_PER_USEC)

/* Returns false if it took long: the user is slow for much longer than that. */
static bool ucmx_wake_now(struct ucmx_file *file, unsigned int who)
{
	u64 start = local_clock(), took;

	if (who & UCMX_WAKE_EVENTS)
		wake_up_interruptible(&file->wait);
	if (who & UCMX_WAKE_CHANGES)
		wake_up_interruptible_poll(&file->changes, EPOLLPRI);
	took = local_clock() - start;
	if (took <= UCMX_WAKE_NS)
		return true;
	WRITE_ONCE(file->user->slow_until,
		   start + took + max_t(u64, NSEC_PER_SEC, 16 * took));
	return false;
}

static void ucmx_wake_later(struct ucmx_file *file, unsigned int who)
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
	ucmx_wake_now(file, who);
	spin_lock(&user->lock);
	user->waking = NULL;
	more = !list_empty(&user->woken);
	spin_unlock(&user->lock);
	if (more)
		queue_work(ucmx_wake_wq, &user->work);
}

/**
 * ucmx_file_wake - wake those who wait, if any
 * @file: the file, which has events, or changes, since before the call
 * @who: UCMX_WAKE_EVENTS: one reader, and the pollers; UCMX_WAKE_CHANGES: pollers
 *
 * Most events come while the program does something else: those cost no lock.
 */
void ucmx_file_wake(struct ucmx_file *file, unsigned int who)
{
	struct ucmx_user *user = file->user;
	u64 now, until;

	/* Its barrier pairs with those of ucmx_poll() and prepare_to_wait(). */
	if (!wq_has_sleeper(who == UCMX_WAKE_EVENTS ? &file->wait :
						      &file->changes))
		return;
	until = READ_ONCE(user->slow_until);
	now = until ? local_clock() : 0;
	if (until && (now < until ||
		      cmpxchg64(&user->slow_until, until,
				now + NSEC_PER_SEC) != until))
		ucmx_wake_later(file, who);
	else if (ucmx_wake_now(file, who) && until)
		WRITE_ONCE(user->slow_until, now);
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
