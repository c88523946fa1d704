// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Wake-ups of very many pollers: whoever reports an event does them for a small
 * share of the time, and leaves the rest to a work item of the user. So does the
 * removal of a device, and a change of a service, with all of them.
 */
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "ucmx.h"
#include "kunit.h"

/* More than a user's share at once; a part of it; a wait for another poller */
#define SLOW_US		12000
#define PART_US		300
#define SPIN_NS		(5 * NSEC_PER_SEC)

/* One that stands for many: it takes long itself. */
struct poller {
	struct wait_queue_entry entry;
	atomic_t direct;	/* calls by whoever reports */
	atomic_t by_work;
	unsigned int us;	/* how long a call takes */
	bool *until;		/* before that, wait for this, or SPIN_NS ... */
	int not_on;		/* ... but not on this processor */
	bool interruptible;	/* with interrupts on */
	bool spins;
	bool late;
};

struct bed {
	struct ucmx_user user;
	struct ucmx_file file[2];
	struct poller events[2], changes[2];
	struct ucmx_id id;	/* of file 0 */
	struct ucmx_event ev;
};

static void poller_spin(struct poller *p)
{
	u64 end = ktime_get_mono_fast_ns() + SPIN_NS;

	while (p->spins && !READ_ONCE(*p->until) && !p->late) {
		p->late = ktime_get_mono_fast_ns() >= end;
		cpu_relax();
	}
	end = ktime_get_mono_fast_ns() + p->us * NSEC_PER_USEC;
	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
}

static int poller_wake(struct wait_queue_entry *entry, unsigned int mode,
		       int flags, void *key)
{
	struct poller *p = container_of(entry, struct poller, entry);

	WRITE_ONCE(p->spins, p->until && smp_processor_id() != p->not_on);
	atomic_inc(current->flags & PF_WQ_WORKER ? &p->by_work : &p->direct);
	/* No interrupt wakes it. */
	if (p->interruptible)
		local_irq_enable();
	poller_spin(p);
	if (p->interruptible)
		local_irq_disable();
	WRITE_ONCE(p->spins, false);
	return 0;
}

/* The test itself: it runs, so it is not woken, and stays in the queue. */
static void reader_add(struct wait_queue_entry *reader, struct bed *b)
{
	init_wait_entry(reader, 0);
	add_wait_queue_exclusive(&b->file[0].wait, reader);
}

static void poller_add(struct poller *p, wait_queue_head_t *queue)
{
	init_waitqueue_func_entry(&p->entry, poller_wake);
	add_wait_queue(queue, &p->entry);
	p->us = SLOW_US;
}

static struct bed *bed_make(struct kunit *test)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, b);
	ucmx_user_wake_init(&b->user);
	for (i = 0; i < 2; i++) {
		ucmx_file_init(&b->file[i], &b->user);
		poller_add(&b->events[i], &b->file[i].wait);
		poller_add(&b->changes[i], &b->file[i].changes);
	}
	b->id.file = &b->file[0];
	ucmx_event_init(&b->ev, &b->id, RDMA_CMX_EV_USER);
	return b;
}

static void bed_end(struct bed *b)
{
	ucmx_file_wake_end(&b->file[0]);
	ucmx_file_wake_end(&b->file[1]);
	ucmx_user_wake_exit(&b->user);
}

/* The share has paid for all. */
static u64 pass(struct bed *b)
{
	u64 now;

	flush_work(&b->user.work);
	now = ktime_get_mono_fast_ns();
	WRITE_ONCE(b->user.wake_debt, now);
	return now;
}

/*
 * The first wake-up, or that after pass(), is charged to the user: all of it,
 * with interrupts off.
 */
static void wake(struct kunit *test, struct bed *b, u64 now)
{
	ucmx_file_wake(&b->file[0]);
	KUNIT_EXPECT_GE(test, b->user.wake_debt,
			now + 16 * SLOW_US * NSEC_PER_USEC);
}

/* While the user is in debt, however long the test takes */
static void wake_later(struct bed *b, int file)
{
	WRITE_ONCE(b->user.wake_debt,
		   ktime_get_mono_fast_ns() + 3600 * NSEC_PER_SEC);
	ucmx_file_wake(&b->file[file]);
}

static bool worked(const struct poller *p, int calls)
{
	return WAIT_FOR(atomic_read(&p->by_work) == calls);
}

static void wake_events(struct kunit *test)
{
	struct bed *b = bed_make(test);
	struct poller *p = b->events;

	wake(test, b, ktime_get_mono_fast_ns());
	KUNIT_EXPECT_EQ(test, atomic_read(&p[0].direct), 1);
	wake_later(b, 0);
	KUNIT_EXPECT_TRUE(test, worked(&p[0], 1));
	/* All files of the user, of which each poller is woken */
	wake_later(b, 1);
	wake_later(b, 0);
	KUNIT_EXPECT_TRUE(test, worked(&p[0], 2));
	KUNIT_EXPECT_TRUE(test, worked(&p[1], 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&p[0].direct), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&p[1].direct), 0);
	/* When the debt is paid, the report wakes them again. */
	wake(test, b, pass(b));
	KUNIT_EXPECT_EQ(test, atomic_read(&p[0].direct), 2);
	wake_later(b, 0);
	KUNIT_EXPECT_TRUE(test, worked(&p[0], 3));
	KUNIT_EXPECT_EQ(test, atomic_read(&p[0].direct), 2);
	/* Others are not woken. */
	KUNIT_EXPECT_EQ(test, atomic_read(&b->changes[0].direct), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->changes[0].by_work), 0);
	bed_end(b);
}

/* Changes are not urgent: the work item wakes, whatever the debt is. */
static void wake_changes(struct kunit *test)
{
	struct bed *b = bed_make(test);
	struct poller *p = b->changes;

	ucmx_file_wake_later(&b->file[0], UCMX_WAKE_CHANGES);
	KUNIT_EXPECT_TRUE(test, worked(&p[0], 1));
	ucmx_file_wake_later(&b->file[1], UCMX_WAKE_CHANGES);
	ucmx_file_wake_later(&b->file[0], UCMX_WAKE_CHANGES);
	KUNIT_EXPECT_TRUE(test, worked(&p[0], 2));
	KUNIT_EXPECT_TRUE(test, worked(&p[1], 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&p[0].direct), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&p[1].direct), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->events[0].direct), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->events[0].by_work), 0);
	bed_end(b);
}

/* One work item wakes both: neither wake-up is lost. */
static void wake_both(struct kunit *test)
{
	struct bed *b = bed_make(test);

	ucmx_file_wake_later(&b->file[0], UCMX_WAKE_CHANGES);
	ucmx_file_wake_later(&b->file[0], UCMX_WAKE_EVENTS);
	KUNIT_EXPECT_TRUE(test, worked(&b->changes[0], 1));
	KUNIT_EXPECT_TRUE(test, worked(&b->events[0], 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&b->changes[0].direct), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->events[0].direct), 0);
	bed_end(b);
}

/*
 * A poller may stand for others, with sets in sets. The removal of a device does
 * not wait for a single one.
 */
static void wake_removal(struct kunit *test)
{
	struct bed *b = bed_make(test);
	struct poller *p = &b->events[0];
	struct ucmx_id *id = ucmx_id_alloc(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, id);
	atomic_set(&b->file[0].nr_objs, 1);
	id->file = &b->file[0];
	ucmx_id_removal_alloc(id);
	ucmx_id_device_gone(id);
	KUNIT_EXPECT_TRUE(test, worked(p, 1));
	KUNIT_EXPECT_EQ(test, b->file[0].nr_events, 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->direct), 0);
	ucmx_id_close(id);
	ucmx_id_put(id);
	KUNIT_EXPECT_EQ(test, b->file[0].nr_events, 0u);
	bed_end(b);
}

/* An interrupt makes some wake-ups long: the user needs no work item for that. */
static void wake_burst(struct kunit *test)
{
	struct bed *b = bed_make(test);
	bool calm = true;
	int i;

	b->events[0].us = PART_US;
	for (i = 0; i < 5; i++) {
		calm &= b->user.wake_debt <=
			ktime_get_mono_fast_ns() + 100 * NSEC_PER_MSEC;
		ucmx_file_wake(&b->file[0]);
	}
	/* Unless the test itself was interrupted for long */
	if (calm)
		KUNIT_EXPECT_EQ(test, atomic_read(&b->events[0].direct), 5);
	bed_end(b);
}

/* Few pollers of a file are woken at once, and one reader of any number. */
static void wake_few(struct kunit *test)
{
	struct wait_queue_entry reader[3];
	struct poller more[4];
	struct bed *b = bed_make(test);
	unsigned int i;

	b->events[0].us = 0;
	for (i = 0; i < ARRAY_SIZE(reader); i++)
		reader_add(&reader[i], b);
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		memset(&more[i], 0, sizeof(more[i]));
		if (i == 3) {
			ucmx_file_wake(&b->file[0]);
			KUNIT_EXPECT_EQ(test, atomic_read(&more[0].direct), 1);
			KUNIT_EXPECT_EQ(test, atomic_read(&more[0].by_work), 0);
		}
		poller_add(&more[i], &b->file[0].wait);
		more[i].us = 0;
	}
	/* One more than few */
	ucmx_file_wake(&b->file[0]);
	KUNIT_EXPECT_TRUE(test, worked(&more[3], 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&more[3].direct), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&more[0].direct), 1);
	bed_end(b);
}

/*
 * With EPOLLEXCLUSIVE pollers are behind the readers, and all of them are woken
 * as long as nobody waits for their epoll sets.
 */
static void wake_exclusive(struct kunit *test)
{
	struct wait_queue_entry reader[3];
	struct poller more[4] = {};
	struct bed *b = bed_make(test);
	unsigned int i;

	b->events[0].us = 0;
	for (i = 0; i < ARRAY_SIZE(reader); i++)
		reader_add(&reader[i], b);
	for (i = 0; i < ARRAY_SIZE(more); i++) {
		init_waitqueue_func_entry(&more[i].entry, poller_wake);
		add_wait_queue_exclusive(&b->file[0].wait, &more[i].entry);
	}
	ucmx_file_wake(&b->file[0]);
	KUNIT_EXPECT_TRUE(test, worked(&more[3], 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&more[3].direct), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&b->events[0].direct), 0);
	bed_end(b);
}

/* The report of an event looks at a limited number of readers. */
static void wake_readers(struct kunit *test)
{
	const unsigned int n = 1000;
	struct wait_queue_entry *reader;
	struct bed *b = bed_make(test);
	unsigned int i;

	reader = kunit_kcalloc(test, n, sizeof(*reader), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, reader);
	for (i = 0; i < n; i++)
		reader_add(&reader[i], b);
	ucmx_file_wake(&b->file[0]);
	KUNIT_EXPECT_TRUE(test, worked(&b->events[0], 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&b->events[0].direct), 0);
	bed_end(b);
}

/* A reader wakes the next one for the rest: that is charged, too. */
static void wake_rest(struct kunit *test)
{
	struct rdma_cmx_get_events none = {};
	struct bed *b = bed_make(test);
	struct ucmx_cmd cmd = { .file = &b->file[0], .buf = &none };
	struct poller *p = &b->events[0];
	u64 now = ktime_get_mono_fast_ns();

	list_add_tail(&b->ev.ready, &b->file[0].events);
	KUNIT_EXPECT_EQ(test, ucmx_get_events(&cmd), -ENOSPC);
	KUNIT_EXPECT_EQ(test, atomic_read(&p->direct), 1);
	KUNIT_EXPECT_GE(test, b->user.wake_debt,
			now + 16 * SLOW_US * NSEC_PER_USEC);
	WRITE_ONCE(b->user.wake_debt, now + 3600 * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, ucmx_get_events(&cmd), -ENOSPC);
	KUNIT_EXPECT_TRUE(test, worked(p, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&p->direct), 1);
	bed_end(b);
}

/* A wake-up of minutes is paid with its share, not with the maximum. */
static void wake_price(struct kunit *test)
{
	struct bed *b = bed_make(test);
	u64 before = ktime_get_mono_fast_ns();

	b->events[0].us = 4500 * USEC_PER_MSEC;
	ucmx_file_wake(&b->file[0]);
	KUNIT_EXPECT_GT(test, b->user.wake_debt, before + 70 * NSEC_PER_SEC);
	bed_end(b);
}

/* A user who closes the last file has the debt still. */
static void wake_debt_stays(struct kunit *test)
{
	u64 debt = ktime_get_mono_fast_ns() + 3600 * NSEC_PER_SEC;
	struct ucmx_user *user = ucmx_user_get();

	KUNIT_ASSERT_NOT_NULL(test, user);
	if (user->refs != 1) {
		ucmx_user_put(user);
		kunit_skip(test, "root has a file");
	}
	WRITE_ONCE(user->wake_debt, debt);
	ucmx_user_put(user);
	user = ucmx_user_get();
	KUNIT_ASSERT_NOT_NULL(test, user);
	KUNIT_EXPECT_EQ(test, user->wake_debt, debt);
	WRITE_ONCE(user->wake_debt, 0);
	cancel_delayed_work_sync(&user->debt);
	user->refs--;
	ucmx_user_put(user);
}

/*
 * The work item wakes the poller of file 0 until @ended: with interrupts off, so
 * on another processor than the test's.
 */
static bool wake_begins(struct bed *b, bool *ended)
{
	struct poller *p = &b->events[0];
	unsigned long end = jiffies + KUNIT_WAIT;
	int calls;

	*ended = false;
	p->until = ended;
	p->late = false;
	p->not_on = smp_processor_id();
	do {
		calls = atomic_read(&p->by_work);
		wake_later(b, 0);
		/* A sleeping test would offer its own processor. */
		while (atomic_read(&p->by_work) == calls &&
		       time_before(jiffies, end))
			cond_resched();
	} while (!READ_ONCE(p->spins) && time_before(jiffies, end));
	return READ_ONCE(p->spins);
}

/* A file that ends is not woken any more, and waits for no other. */
static void wake_end(struct kunit *test)
{
	struct poller *other;
	struct bed *b;
	int i = 0, before;
	bool ended, late;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one processor");
	b = bed_make(test);
	other = &b->events[1];
	migrate_disable();
	/* The test itself may stand still for the time of a spin. */
	do {
		if (!wake_begins(b, &ended)) {
			KUNIT_FAIL(test, "no work item on another processor");
			break;
		}
		before = atomic_read(&other->by_work);
		wake_later(b, 1);
		ucmx_file_wake_end(&b->file[1]);
		WRITE_ONCE(ended, true);
		/* This one waits for the work item. */
		ucmx_file_wake_end(&b->file[0]);
		KUNIT_EXPECT_FALSE(test, READ_ONCE(b->events[0].spins));
		late = b->events[0].late;
		if (!late)
			KUNIT_EXPECT_EQ(test, atomic_read(&other->by_work),
					before);
	} while (late && ++i < 4);
	migrate_enable();
	KUNIT_EXPECT_LT(test, i, 4);
	KUNIT_EXPECT_EQ(test, atomic_read(&other->direct), 0);
	ucmx_user_wake_exit(&b->user);
}

/*
 * The report of an event does not wait for the work item that walks the queue,
 * which wakes all once more.
 */
static void wake_walked(struct kunit *test)
{
	struct poller *p;
	struct bed *b;
	bool ended, late;
	int i = 0, calls;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one processor");
	b = bed_make(test);
	p = &b->events[0];
	migrate_disable();
	/* The test itself may stand still for the time of a spin. */
	do {
		if (!wake_begins(b, &ended)) {
			KUNIT_FAIL(test, "no work item on another processor");
			break;
		}
		calls = atomic_read(&p->by_work);
		WRITE_ONCE(b->user.wake_debt, 0);
		ucmx_file_wake(&b->file[0]);
		late = !READ_ONCE(p->spins);
		WRITE_ONCE(ended, true);
		KUNIT_EXPECT_TRUE(test, late || worked(p, calls + 1));
		ucmx_file_wake_end(&b->file[0]);
	} while (late && ++i < 4);
	migrate_enable();
	KUNIT_EXPECT_LT(test, i, 4);
	KUNIT_EXPECT_TRUE(test, i || !atomic_read(&p->direct));
	bed_end(b);
}

/*
 * The work item of one user wakes its poller while that of another one spins. With
 * two processors the test sleeps on the other one. Interrupts are on, or a work
 * item that was to run on the first one would stay there.
 */
static void wake_users(struct kunit *test)
{
	struct bed *slow, *other;
	struct poller *p;
	bool ended, late;
	int i = 0;

	if (num_online_cpus() < 2)
		kunit_skip(test, "one processor");
	slow = bed_make(test);
	other = bed_make(test);
	p = &slow->events[0];
	p->until = &ended;
	p->not_on = -1;
	p->interruptible = true;
	/* The test itself may stand still for the time of a spin. */
	do {
		ended = false;
		p->late = false;
		wake_later(slow, 0);
		KUNIT_EXPECT_TRUE(test, worked(p, i + 1));
		wake_later(other, 0);
		KUNIT_EXPECT_TRUE(test, worked(&other->events[0], i + 1));
		late = READ_ONCE(p->late);
		WRITE_ONCE(ended, true);
		ucmx_file_wake_end(&slow->file[0]);
	} while (late && ++i < 4);
	KUNIT_EXPECT_LT(test, i, 4);
	bed_end(slow);
	bed_end(other);
}

static struct kunit_case wake_cases[] = {
	KUNIT_CASE(wake_events),
	KUNIT_CASE(wake_changes),
	KUNIT_CASE(wake_both),
	KUNIT_CASE(wake_removal),
	KUNIT_CASE(wake_burst),
	KUNIT_CASE(wake_few),
	KUNIT_CASE(wake_exclusive),
	KUNIT_CASE(wake_readers),
	KUNIT_CASE(wake_rest),
	KUNIT_CASE(wake_price),
	KUNIT_CASE(wake_debt_stays),
	KUNIT_CASE(wake_end),
	KUNIT_CASE(wake_walked),
	KUNIT_CASE(wake_users),
	{}
};

static struct kunit_suite wake_suite = {
	.name = "ucmx_wake",
	.test_cases = wake_cases,
};

kunit_test_suite(wake_suite);
