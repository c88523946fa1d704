// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: threads share a channel, each by an epoll set with EPOLLEXCLUSIVE, as
 * a server does that wants one of them to be woken. Each event wakes at least
 * one that waits, and no event stays unread.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "process.h"

#define SETS	2
#define ROUNDS	300
#define BURST	32

struct room {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int stop;		/* an eventfd that each set has, too */
	atomic_uint got;
	atomic_int wrong;	/* line number, or 0 */
};

struct waiter {
	struct room *room;
	pthread_t thread;
	atomic_int tid;
	int set;
	bool one;		/* event for each wake-up */
	unsigned int woken;
};

static void events_take(struct waiter *w)
{
	struct rdma_cm_event *event;
	struct room *room = w->room;

	while (!rdma_get_cm_event(room->channel, &event)) {
		if (event->event != RDMA_CM_EVENT_USER)
			room->wrong = __LINE__;
		if (rdma_ack_cm_event(event))
			room->wrong = __LINE__;
		room->got++;
		if (w->one)
			return;
	}
	if (errno != EAGAIN)
		room->wrong = __LINE__;
}

static void *waiter_run(void *arg)
{
	struct waiter *w = arg;
	struct epoll_event ev;

	w->tid = syscall(SYS_gettid);
	for (;;) {
		if (epoll_wait(w->set, &ev, 1, -1) != 1) {
			w->room->wrong = __LINE__;
			return NULL;
		}
		if (ev.data.fd == w->room->stop)
			return NULL;
		w->woken++;
		events_take(w);
	}
}

static bool set_make(struct waiter *w, struct room *room, uint32_t flags)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLEXCLUSIVE | flags,
		.data.fd = room->channel->fd,
	};
	struct epoll_event stop = { .events = EPOLLIN, .data.fd = room->stop };

	w->room = room;
	w->tid = 0;
	w->woken = 0;
	w->one = false;
	w->set = epoll_create1(EPOLL_CLOEXEC);
	return w->set >= 0 &&
	       !epoll_ctl(w->set, EPOLL_CTL_ADD, room->channel->fd, &event) &&
	       !epoll_ctl(w->set, EPOLL_CTL_ADD, room->stop, &stop);
}

static bool waiter_start(struct waiter *w)
{
	return !pthread_create(&w->thread, NULL, waiter_run, w);
}

/* Waits until the thread is in epoll_wait(). */
static bool waiter_sleeps(struct waiter *w)
{
	long long end = now_ms() + WAIT_MS;

	while (!w->tid && now_ms() < end)
		usleep(1000);
	return thread_sleeps(w->tid, SYS_epoll_wait);
}

static bool got_reach(struct room *room, unsigned int wanted)
{
	long long end = now_ms() + WAIT_MS;

	while (room->got < wanted && now_ms() < end)
		usleep(100);
	return room->got == wanted;
}

static int event_write(struct room *room, int n)
{
	return rdma_write_cm_event(room->id, RDMA_CM_EVENT_USER, 0, n);
}

FIXTURE(exclusive) {
	struct room room;
	struct waiter waiter[SETS];
};

FIXTURE_SETUP(exclusive)
{
	struct room *room = &self->room;

	room->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, room->channel);
	ASSERT_EQ(0, fcntl(room->channel->fd, F_SETFL, O_NONBLOCK));
	room->id = id_make(room->channel);
	room->stop = eventfd(0, EFD_CLOEXEC);
	ASSERT_LE(0, room->stop);
	room->got = 0;
	room->wrong = 0;
}

FIXTURE_TEARDOWN(exclusive)
{
	EXPECT_EQ(0, rdma_destroy_id(self->room.id));
	rdma_destroy_event_channel(self->room.channel);
	close(self->room.stop);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

static void waiters_end(struct __test_metadata *_metadata, struct room *room,
			struct waiter *waiter, int threads)
{
	const uint64_t one = 1;
	int i;

	EXPECT_EQ(sizeof(one), write(room->stop, &one, sizeof(one)));
	for (i = 0; i < threads; i++) {
		pthread_join(waiter[i].thread, NULL);
		TH_LOG("thread %d was woken %u times", i, waiter[i].woken);
	}
	EXPECT_EQ(0, atomic_load(&room->wrong));
}

/* One event after the other, to threads that sleep and that are about to */
static void each_expect(struct __test_metadata *_metadata,
			FIXTURE_DATA(exclusive) *self, uint32_t flags)
{
	int i, n, rounds = rounds_of(ROUNDS);
	struct room *room = &self->room;

	for (i = 0; i < SETS; i++) {
		ASSERT_TRUE(set_make(&self->waiter[i], room, flags));
		ASSERT_TRUE(waiter_start(&self->waiter[i]));
	}
	for (n = 0; n < rounds; n++) {
		for (i = 0; i < SETS && n % 10 == 0; i++)
			ASSERT_TRUE(waiter_sleeps(&self->waiter[i]));
		ASSERT_EQ(0, event_write(room, n));
		ASSERT_TRUE(got_reach(room, n + 1)) {
			TH_LOG("event %d woke nobody", n);
		}
	}
	waiters_end(_metadata, room, self->waiter, SETS);
	for (i = 0; i < SETS; i++)
		close(self->waiter[i].set);
}

TEST_F(exclusive, RA_02_each_event_wakes_a_thread)
{
	each_expect(_metadata, self, 0);
}

TEST_F(exclusive, RA_02_each_edge_wakes_a_thread)
{
	each_expect(_metadata, self, EPOLLET);
}

/* A set that nobody waits for does not use a wake-up up. */
TEST_F(exclusive, RA_02_one_thread_waits)
{
	struct room *room = &self->room;
	unsigned int all = 0;
	struct waiter idle;
	int order, n;

	for (order = 0; order < 2; order++) {
		if (!order)
			ASSERT_TRUE(set_make(&idle, room, 0));
		ASSERT_TRUE(set_make(&self->waiter[0], room, 0));
		if (order)
			ASSERT_TRUE(set_make(&idle, room, 0));
		ASSERT_TRUE(waiter_start(&self->waiter[0]));
		for (n = 0; n < 10; n++) {
			ASSERT_TRUE(waiter_sleeps(&self->waiter[0]));
			ASSERT_EQ(0, event_write(room, n));
			ASSERT_TRUE(got_reach(room, ++all)) {
				TH_LOG("order %d: event %d woke nobody", order,
				       n);
			}
		}
		waiters_end(_metadata, room, self->waiter, 1);
		ASSERT_EQ(8, read(room->stop, &(uint64_t){ 0 }, 8));
		close(self->waiter[0].set);
		close(idle.set);
	}
}

/* Many events at once; each thread takes one for each wake-up. */
TEST_F(exclusive, RA_02_no_event_of_a_burst_stays)
{
	int i, n, round, rounds = rounds_of(ROUNDS / 10);
	struct room *room = &self->room;

	for (i = 0; i < SETS; i++) {
		ASSERT_TRUE(set_make(&self->waiter[i], room, 0));
		self->waiter[i].one = true;
		ASSERT_TRUE(waiter_start(&self->waiter[i]));
	}
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < SETS; i++)
			ASSERT_TRUE(waiter_sleeps(&self->waiter[i]));
		for (n = 0; n < BURST; n++)
			ASSERT_EQ(0, event_write(room, n));
		ASSERT_TRUE(got_reach(room, (round + 1) * BURST));
	}
	waiters_end(_metadata, room, self->waiter, SETS);
	for (i = 0; i < SETS; i++)
		close(self->waiter[i].set);
}

TEST_HARNESS_MAIN
