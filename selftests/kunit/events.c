// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * An event that is part of another object, like that of a membership, and is
 * queued again: while it waits, while a reader copies it to user space, and
 * after it was read. No state is lost, and none is reported twice. The events
 * have the order of their states.
 *
 * Requests beyond the backlog: each follows once another was read.
 */
#include <linux/slab.h>

#include "ucmx.h"
#include "kunit.h"

/* The body of an event is one number, its state. */
struct bed {
	struct ucmx_file file;
	struct ucmx_id id;
	struct ucmx_event ev, other;
	struct ucmx_listener listener;
	struct ucmx_id conn;
	u64 body, other_body;
};

static struct bed *bed_make(struct kunit *test)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, b);
	ucmx_file_init(&b->file, NULL);
	spin_lock_init(&b->id.lock);
	INIT_LIST_HEAD(&b->id.queued);
	INIT_LIST_HEAD(&b->id.held);
	INIT_LIST_HEAD(&b->listener.excess);
	b->id.listener = &b->listener;
	b->id.file = &b->file;
	ucmx_event_init(&b->ev, &b->id, 0);
	ucmx_event_init(&b->other, &b->id, 0);
	b->ev.body = &b->body;
	b->other.body = &b->other_body;
	b->ev.embedded = true;
	b->other.embedded = true;
	b->ev.len = sizeof(b->body);
	b->other.len = sizeof(b->other_body);
	return b;
}

static void comes(struct bed *b, struct ucmx_event *ev, u64 state)
{
	spin_lock(&b->id.lock);
	spin_lock(&b->file.lock);
	*ev->body = state;
	ucmx_event_add(ev, &b->file);
	spin_unlock(&b->file.lock);
	spin_unlock(&b->id.lock);
}

static struct ucmx_event *first(struct bed *b)
{
	return list_first_entry_or_null(&b->file.events, struct ucmx_event,
					ready);
}

/* The steps of a reader before and after its copy to user space */
static u64 copy_begins(struct bed *b)
{
	u64 copy;

	spin_lock(&b->file.lock);
	b->file.reading = first(b);
	copy = *b->file.reading->body;
	spin_unlock(&b->file.lock);
	return copy;
}

/* False: the copy does not count. */
static bool copy_counts(struct bed *b, struct ucmx_event *ev)
{
	bool counts;

	spin_lock(&b->file.lock);
	counts = b->file.reading == ev;
	if (counts)
		ucmx_event_unlink(ev, &b->file);
	spin_unlock(&b->file.lock);
	return counts;
}

/* The first event is @ev, with this state. It is read. */
static void is_read(struct kunit *test, struct bed *b, struct ucmx_event *ev,
		    u64 state)
{
	KUNIT_ASSERT_PTR_EQ(test, first(b), ev);
	KUNIT_EXPECT_EQ(test, copy_begins(b), state);
	KUNIT_EXPECT_TRUE(test, copy_counts(b, ev));
}

static void events_while_it_is_read(struct kunit *test)
{
	struct bed *b = bed_make(test);

	comes(b, &b->ev, 1);
	comes(b, &b->other, 100);
	KUNIT_EXPECT_EQ(test, copy_begins(b), 1ull);
	comes(b, &b->ev, 2);
	/* The copy is old: the event stays, and is read behind the other. */
	KUNIT_EXPECT_FALSE(test, copy_counts(b, &b->ev));
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 2u);
	KUNIT_ASSERT_PTR_EQ(test, first(b), &b->other);
	/* Another event is no reason to read that one again. */
	KUNIT_EXPECT_EQ(test, copy_begins(b), 100ull);
	comes(b, &b->ev, 3);
	KUNIT_EXPECT_TRUE(test, copy_counts(b, &b->other));
	is_read(test, b, &b->ev, 3);
	KUNIT_EXPECT_NULL(test, first(b));
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 0u);
	KUNIT_EXPECT_EQ(test, b->id.nr_events, 0u);
}

static void events_while_it_waits(struct kunit *test)
{
	struct bed *b = bed_make(test);

	comes(b, &b->ev, 1);
	comes(b, &b->other, 100);
	comes(b, &b->ev, 2);
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 2u);
	is_read(test, b, &b->other, 100);
	is_read(test, b, &b->ev, 2);
	/* Held, as before the accept of a request */
	b->id.hold = true;
	comes(b, &b->ev, 3);
	comes(b, &b->ev, 4);
	KUNIT_EXPECT_NULL(test, first(b));
	KUNIT_EXPECT_TRUE(test, list_is_singular(&b->id.held));
	KUNIT_EXPECT_EQ(test, b->body, 4ull);
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 1u);
	comes(b, &b->other, 101);
	comes(b, &b->ev, 5);
	ucmx_event_unhold(&b->id);
	is_read(test, b, &b->other, 101);
	is_read(test, b, &b->ev, 5);
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 0u);
}

/* A migration holds back what comes, behind what is in the queue still. */
static void events_while_it_moves(struct kunit *test)
{
	struct bed *b = bed_make(test);

	comes(b, &b->ev, 1);
	b->id.hold = true;
	comes(b, &b->other, 100);
	KUNIT_EXPECT_EQ(test, copy_begins(b), 1ull);
	comes(b, &b->ev, 2);
	KUNIT_EXPECT_FALSE(test, copy_counts(b, &b->ev));
	KUNIT_EXPECT_NULL(test, first(b));
	KUNIT_EXPECT_TRUE(test, list_empty(&b->id.queued));
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 2u);
	ucmx_event_unhold(&b->id);
	is_read(test, b, &b->other, 100);
	is_read(test, b, &b->ev, 2);
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 0u);
}

/* Two requests to an id with a backlog of one */
static struct bed *requests_make(struct kunit *test)
{
	struct bed *b = bed_make(test);

	b->ev.conn = &b->conn;
	b->other.conn = &b->conn;
	b->listener.backlog = 1;
	b->id.attempt = 3;
	ucmx_event_post_conn(&b->ev);
	ucmx_event_post_conn(&b->other);
	KUNIT_EXPECT_PTR_EQ(test, first(b), &b->ev);
	KUNIT_EXPECT_TRUE(test, list_is_singular(&b->file.events));
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 2u);
	return b;
}

/* The first one is read. */
static void request_is_read(struct bed *b)
{
	spin_lock(&b->file.lock);
	ucmx_event_unlink(&b->ev, &b->file);
	spin_unlock(&b->file.lock);
	ucmx_event_advance(&b->id);
}

static void events_requests(struct kunit *test)
{
	struct bed *b = requests_make(test);

	request_is_read(b);
	KUNIT_EXPECT_PTR_EQ(test, first(b), &b->other);
	KUNIT_EXPECT_EQ(test, b->file.nr_events, 1u);
	KUNIT_EXPECT_EQ(test, b->ev.attempt, 3);
	KUNIT_EXPECT_EQ(test, b->other.attempt, 3);
}

/* A LISTEN that fails restores the former backlog. */
static void events_requests_after_a_failed_listen(struct kunit *test)
{
	struct bed *b = requests_make(test);

	b->listener.backlog = 0;
	request_is_read(b);
	KUNIT_EXPECT_PTR_EQ(test, first(b), &b->other);
}

static void events_requests_after_removal(struct kunit *test)
{
	struct bed *b = requests_make(test);

	b->id.gone = true;
	request_is_read(b);
	KUNIT_EXPECT_NULL(test, first(b));
	KUNIT_EXPECT_TRUE(test, list_is_singular(&b->listener.excess));
}

static struct kunit_case events_cases[] = {
	KUNIT_CASE(events_while_it_is_read),
	KUNIT_CASE(events_while_it_waits),
	KUNIT_CASE(events_while_it_moves),
	KUNIT_CASE(events_requests),
	KUNIT_CASE(events_requests_after_a_failed_listen),
	KUNIT_CASE(events_requests_after_removal),
	{}
};

static struct kunit_suite events_suite = {
	.name = "cmx_events",
	.test_cases = events_cases,
};

kunit_test_suite(events_suite);
