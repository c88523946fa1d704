// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The event queue: wait, batches, no lost and no repeated events. */
#include "ioctl.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>

#include "harness.h"

#define MAX_EVENTS	UCMX_PARAMETERS "max_events"

FIXTURE(events) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(events)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
}

FIXTURE_TEARDOWN(events)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_EQ(0, counter("live_events"));
	EXPECT_EQ(0, counter("live_ids"));
}

TEST_F(events, write_event)
{
	struct rdma_cmx_write_event arg = { .id = self->id };
	union event_buf buf;
	int i;

	ASSERT_EQ(0, id_write_event(self->fd, self->id, -7, 0x1122334455667788));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
	EXPECT_EQ(-7, buf.ev.status);
	EXPECT_EQ(0x1122334455667788, buf.ev.obj_uid);
	EXPECT_EQ(self->id, buf.ev.id);
	EXPECT_EQ(1, buf.ev.uid);
	EXPECT_EQ(sizeof(buf.ev), buf.ev.len);
	EXPECT_EQ(sizeof(buf.ev), buf.ev.header_len);
	EXPECT_EQ(0, buf.ev.info_len);
	EXPECT_EQ(0, buf.ev.mc_param_len);
	EXPECT_EQ(0, buf.ev.flags);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(0, buf.ev.param.align[i]);
	/* RAI-09: a caller cannot write events of other types. */
	for (i = 0; i < 32; i++) {
		arg.event = i;
		if (i != RDMA_CMX_EV_USER && i != EV_ADDR_CHANGE) {
			EXPECT_EQ(-EINVAL, call(self->fd, WRITE_EVENT, &arg));
		}
	}
	EXPECT_FALSE(event_pending(self->fd));
}

/* A reader may return one. It has no status, and no argument. */
TEST_F(events, write_address_change)
{
	struct rdma_cmx_write_event arg = {
		.id = self->id, .event = EV_ADDR_CHANGE,
	};
	union event_buf buf;

	arg.status = -1;
	EXPECT_EQ(-EINVAL, call(self->fd, WRITE_EVENT, &arg));
	arg.status = 0;
	arg.arg = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, WRITE_EVENT, &arg));
	arg.arg = 0;
	ASSERT_EQ(0, call(self->fd, WRITE_EVENT, &arg));
	ASSERT_EQ(0, id_write_event(self->fd, self->id, 0, 0));
	ASSERT_EQ(0, event_want(self->fd, EV_ADDR_CHANGE, &buf));
	EXPECT_EQ(self->id, buf.ev.id);
	EXPECT_EQ(0, buf.ev.status);
	EXPECT_EQ(0, buf.ev.obj_uid);
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(2, id_destroy(self->fd, self->id));
}

TEST_F(events, empty_queue)
{
	union event_buf buf;

	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(-EAGAIN, events_get(self->fd, &buf, sizeof(buf), 0, NULL));
	ASSERT_EQ(0, id_write_event(self->fd, self->id, 0, 0));
	EXPECT_TRUE(event_pending(self->fd));
	EXPECT_EQ(0, events_get(self->fd, &buf, sizeof(buf), 0, NULL));
	EXPECT_FALSE(event_pending(self->fd));
}

TEST_F(events, batch)
{
	struct rdma_cmx_event ev[16];
	uint32_t count, i;

	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, id_write_event(self->fd, self->id, i, 0));
	/* The smallest of the requested, fitting and pending number */
	ASSERT_EQ(0, events_get(self->fd, ev, sizeof(ev), 3, &count));
	ASSERT_EQ(3, count);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(i, ev[i].status);
	ASSERT_EQ(0, events_get(self->fd, ev, 2 * sizeof(ev[0]) + 8, 0,
				&count));
	ASSERT_EQ(2, count);
	EXPECT_EQ(3, ev[0].status);
	EXPECT_EQ(4, ev[1].status);
	ASSERT_EQ(0, events_get(self->fd, ev, sizeof(ev), 0, &count));
	ASSERT_EQ(5, count);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(5 + i, ev[i].status);
	EXPECT_EQ(10, id_destroy(self->fd, self->id));
}

TEST_F(events, no_space_keeps_the_event)
{
	union event_buf buf;

	ASSERT_EQ(0, id_write_event(self->fd, self->id, 5, 0));
	EXPECT_EQ(-ENOSPC, events_get(self->fd, &buf, 0, 0, NULL));
	EXPECT_EQ(-ENOSPC, events_get(self->fd, &buf,
				      sizeof(buf.ev) - 1, 0, NULL));
	EXPECT_TRUE(event_pending(self->fd));
	EXPECT_EQ(0, events_get(self->fd, &buf, sizeof(buf.ev), 0, NULL));
	EXPECT_EQ(5, buf.ev.status);
	EXPECT_EQ(1, id_destroy(self->fd, self->id));
}

TEST_F(events, bad_buffer_keeps_the_event)
{
	struct rdma_cmx_get_events *arg;
	struct rdma_cmx_event *ev;
	union event_buf buf;
	uint32_t count;
	uint8_t *page;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	munmap(page + 4096, 4096);
	ASSERT_EQ(0, id_write_event(self->fd, self->id, 5, 0));
	ASSERT_EQ(0, id_write_event(self->fd, self->id, 6, 0));

	EXPECT_EQ(-EFAULT, events_get(self->fd, NULL, sizeof(buf), 0, NULL));
	EXPECT_EQ(-EFAULT, events_get(self->fd, page + 4096 - 40, 4096, 0,
				      NULL));
	/* The count cannot be written: no event is removed. */
	arg = (void *)page;
	arg->size = sizeof(*arg);
	arg->buf = (uintptr_t)&buf;
	arg->buf_len = sizeof(buf);
	mprotect(page, 4096, PROT_READ);
	EXPECT_EQ(-1, ioctl(self->fd, RDMA_CMX_IO(GET_EVENTS), arg));
	EXPECT_EQ(EFAULT, errno);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);

	/* Space for one; the second one cannot be written. */
	ev = (void *)(page + 4096 - sizeof(*ev) - 8);
	ASSERT_EQ(0, events_get(self->fd, ev, 4096, 0, &count));
	EXPECT_EQ(1, count);
	EXPECT_EQ(5, ev->status);
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
	EXPECT_EQ(6, buf.ev.status);
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(2, id_destroy(self->fd, self->id));
	munmap(page, 4096);
}

/* A connection request that could not be copied is reported again. */
TEST_F(events, request_survives_a_bad_buffer)
{
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	uint32_t listener, active;
	union event_buf buf;
	int other = dev_open(O_NONBLOCK);
	uint16_t port;

	ASSERT_EQ(0, listener_new(self->fd, 1, &listener, &port));
	ASSERT_EQ(0, connect_start(other, 2, port, &active));
	ASSERT_EQ(1, poll(&pfd, 1, 60000));
	EXPECT_EQ(-EFAULT, events_get(self->fd, NULL, 4096, 0, NULL));
	EXPECT_EQ(-ENOSPC, events_get(self->fd, &buf, 96, 0, NULL));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
	EXPECT_EQ(0, id_accept(self->fd, buf.ev.obj, 3));
	close(other);
}

TEST_F(events, destroy_removes_unread)
{
	uint32_t other;
	union event_buf buf;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &other));
	ASSERT_EQ(0, id_write_event(self->fd, self->id, 1, 0));
	ASSERT_EQ(0, id_write_event(self->fd, other, 2, 0));
	ASSERT_EQ(0, id_write_event(self->fd, self->id, 3, 0));
	EXPECT_EQ(0, id_destroy(self->fd, self->id));
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
	EXPECT_EQ(2, buf.ev.status);
	EXPECT_FALSE(event_pending(self->fd));
}

TEST_F(events, limit)
{
	long old = number_get(MAX_EVENTS);
	union event_buf buf;
	int i;

	ASSERT_LT(0, old);
	ASSERT_EQ(0, number_set(MAX_EVENTS, 3));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, id_write_event(self->fd, self->id, i, 0));
	EXPECT_EQ(-EAGAIN, id_write_event(self->fd, self->id, i, 0));
	EXPECT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
	EXPECT_EQ(0, id_write_event(self->fd, self->id, i, 0));
	EXPECT_EQ(0, number_set(MAX_EVENTS, old));
}

TEST_F(events, epoll_edges)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	union event_buf buf;
	int ep = epoll_create1(0), i;

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &ev));
	EXPECT_EQ(0, epoll_wait(ep, &ev, 1, 0));
	/* Each event wakes a poller, even with others pending. */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, id_write_event(self->fd, self->id, i, 0));
		EXPECT_EQ(1, epoll_wait(ep, &ev, 1, 30000));
		EXPECT_EQ(0, epoll_wait(ep, &ev, 1, 0));
	}
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, event_next(self->fd, &buf));
	close(ep);
}

static void on_signal(int sig)
{
}

static _Atomic bool kicked;

/* Interrupts until the wait has ended, whenever it begins. */
static void *kick(void *arg)
{
	pthread_t *main_thread = arg;

	while (!kicked) {
		pthread_kill(*main_thread, SIGUSR1);
		poll(NULL, 0, 5);
	}
	return NULL;
}

TEST_F(events, interrupted_wait)
{
	struct sigaction sa = { .sa_handler = on_signal };
	pthread_t me = pthread_self(), thread;
	union event_buf buf;

	sigaction(SIGUSR1, &sa, NULL);
	fcntl(self->fd, F_SETFL, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, kick, &me));
	EXPECT_EQ(-EINTR, events_get(self->fd, &buf, sizeof(buf), 0, NULL));
	kicked = true;
	pthread_join(thread, NULL);
}

/* Many readers and writers: each event once, and no reader misses one. */
#define READERS		4
#define WRITERS		2
#define EACH		2000

struct crowd {
	int fd;
	uint32_t id;
	int number;
	_Atomic uint32_t *seen;
	_Atomic int *left;
};

static void *crowd_write(void *arg)
{
	struct crowd *c = arg;
	int i;

	for (i = 0; i < EACH; i++)
		while (id_write_event(c->fd, c->id, 0, c->number * EACH + i))
			sched_yield();
	return NULL;
}

static void *crowd_read(void *arg)
{
	struct crowd *c = arg;
	struct rdma_cmx_event ev[4];
	uint32_t count, i;

	while (!events_get(c->fd, ev, sizeof(ev), c->number, &count)) {
		for (i = 0; i < count; i++) {
			if (ev[i].obj_uid == UINT64_MAX)
				return NULL;
			atomic_fetch_add(&c->seen[ev[i].obj_uid], 1);
			atomic_fetch_sub(c->left, 1);
		}
	}
	return NULL;
}

TEST_F(events, crowd)
{
	static _Atomic uint32_t seen[WRITERS * EACH];
	_Atomic int left = WRITERS * EACH;
	pthread_t writer[WRITERS], reader[READERS];
	struct crowd w[WRITERS], r[READERS];
	double end = now_ms() + 60000;
	int i;

	fcntl(self->fd, F_SETFL, 0);
	for (i = 0; i < READERS; i++) {
		r[i] = (struct crowd){ self->fd, self->id, 1, seen, &left };
		ASSERT_EQ(0, pthread_create(&reader[i], NULL, crowd_read,
					    &r[i]));
	}
	for (i = 0; i < WRITERS; i++) {
		w[i] = (struct crowd){ self->fd, self->id, i, seen, &left };
		ASSERT_EQ(0, pthread_create(&writer[i], NULL, crowd_write,
					    &w[i]));
	}
	for (i = 0; i < WRITERS; i++)
		pthread_join(writer[i], NULL);
	while (left && now_ms() < end)
		poll(NULL, 0, 5);
	EXPECT_EQ(0, atomic_load(&left));
	for (i = 0; i < READERS; i++)
		EXPECT_EQ(0, id_write_event(self->fd, self->id, 0, UINT64_MAX));
	for (i = 0; i < READERS; i++)
		pthread_join(reader[i], NULL);
	for (i = 0; i < WRITERS * EACH; i++)
		if (seen[i] != 1)
			break;
	EXPECT_EQ(WRITERS * EACH, i) TH_LOG("seen %u times", seen[i]);
	EXPECT_EQ(WRITERS * EACH + READERS, id_destroy(self->fd, self->id));
}

TEST_HARNESS_MAIN
