/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Two threads in the library, of which one stops at a chosen command until the
 * other is done, or waits for it. The commands of both come through here, and
 * the unlocks. For one source of a program: it defines functions of libc.
 */
#ifndef PROCESS_INTERLEAVED_H
#define PROCESS_INTERLEAVED_H

#include <semaphore.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_ioctl.h>

#include "intercept.h"
#include "overlap.h"
#include "process.h"
#include "unlock.h"

#define PORT_INTER	7698
#define PORT_TEXT	"7698"

#define PORT_NOBODY	7697		/* has no listener */
#define NOBODY_TEXT	"7697"

/* The @command of overlap.h is done, but the thread has a lock. */
static __thread bool locked;
static __thread bool slow;		/* give way after each unlock, too */

/*
 * A connect by name: one thread holds UNREACHABLE until another one has
 * received the end, DEVICE_REMOVAL.
 */
static struct {
	bool armed;
	sem_t read;			/* it has UNREACHABLE */
	sem_t removed;			/* the other has got DEVICE_REMOVAL */
} late;

static void late_change(struct rdma_cmx_event *ev)
{
	if (ev->event == RDMA_CM_EVENT_REJECTED) {
		ev->event = RDMA_CM_EVENT_UNREACHABLE;
		ev->status = -ETIMEDOUT;
		sem_post(&late.read);
		sem_wait(&late.removed);
	}
}

/*
 * The argument of a USER event that is made one of @type, as if the kernel had
 * reported it, of the first membership, whose leave counts it, too
 */
#define MADE(type)	(0x6d616400 | (type))

static struct {
	uint64_t uid;
	uint32_t handle;
	uint32_t made;
} membership;

static void event_make(struct rdma_cmx_event *ev)
{
	if (ev->event != RDMA_CMX_EV_USER || (ev->obj_uid & ~0xffULL) != MADE(0))
		return;
	ev->event = ev->obj_uid & 0xff;
	ev->obj_uid = membership.uid;
	ev->obj = membership.handle;
	if (ev->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	    ev->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		membership.made++;
}

static void membership_left(struct rdma_cmx_destroy *leave)
{
	if (leave->handle == membership.handle)
		leave->events_reported += membership.made;
}

static void membership_set(const struct rdma_cmx_join *join)
{
	if (membership.uid)
		return;
	membership.uid = join->uid;
	membership.handle = join->mc;
}

/*
 * Another process that reads the file takes the event that would wake a thread,
 * which is about to wait.
 */
static struct {
	bool armed;
	sem_t waits;			/* the thread is */
	sem_t taken;			/* and may go on */
} thief;

static void thief_take(int fd)
{
	uint64_t buf[RDMA_CMX_MAX_EVENT / sizeof(uint64_t)];
	struct rdma_cmx_get_events get = {
		.size = sizeof(get),
		.max_events = 1,
		.buf = (uintptr_t)buf,
		.buf_len = sizeof(buf),
		.reader = 1,
	};

	thief.armed = false;
	if (syscall(SYS_ioctl, fd, RDMA_CMX_IO(GET_EVENTS), &get))
		abort();
	sem_post(&thief.taken);
}

static void unlock_intercept(void)
{
	if (locked) {
		locked = false;
		overlap_begin();
	} else if (slow && !command) {
		/* On a busy machine that may be too short to see a failure. */
		usleep(20000);
		caller_sleeps(&overlap.caller, SYS_futex);
	}
}

static int shared_fd;		/* of the calls without a channel */
/* Commands of this thread for a reply; the server accepts in another one. */
static __thread int steps;

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	struct rdma_cmx_get_events *get;
	int ret;

	if (thief.armed && request == RDMA_CMX_IO(GET_EVENTS)) {
		sem_post(&thief.waits);
		sem_wait(&thief.taken);
	}
	ret = ioctl_real(fd, request, arg);
	if (request == RDMA_CMX_IO(GETADDRINFO))
		shared_fd = fd;
	if (request == RDMA_CMX_IO(CONN_QP_ATTR) ||
	    request == RDMA_CMX_IO(ACCEPT))
		steps++;
	if (ret && errno == EBADF && request == command) {
		overlap_begin();
		errno = EBADF;
	}
	if (ret)
		return ret;
	if (request == RDMA_CMX_IO(GET_EVENTS)) {
		get = arg;
		if (late.armed)
			late_change((void *)(uintptr_t)get->buf);
		event_make((void *)(uintptr_t)get->buf);
	}
	if (request == RDMA_CMX_IO(JOIN))
		membership_set(arg);
	if (request == RDMA_CMX_IO(LEAVE))
		membership_left(arg);
	if (thief.armed && request == RDMA_CMX_IO(WRITE_EVENT))
		thief_take(fd);
	if (request != command)
		return ret;
	/*
	 * The library has a lock there that the other thread takes: of names,
	 * or of the id.
	 */
	if (request == RDMA_CMX_IO(RESOLVE_ADDRINFO) ||
	    request == RDMA_CMX_IO(JOIN))
		locked = true;
	else
		overlap_begin();
	return ret;
}

FIXTURE(interleaved) {
	struct sockaddr_storage ss;
	struct server server;
	struct rdma_cm_id *id;		/* synchronous */
	struct ibv_qp_init_attr qp;
	struct rdmacmx_connect_attr attr;
};

FIXTURE_SETUP(interleaved)
{
	memset(self, 0, sizeof(*self));
	server_start(&self->server, PORT_INTER);
	self->id = id_make(NULL);
	addr_make(&self->ss, OWN4, PORT_INTER);
	self->qp.cap.max_send_wr = 1;
	self->qp.cap.max_recv_wr = 1;
	self->qp.cap.max_send_sge = 1;
	self->qp.cap.max_recv_sge = 1;
	self->attr.qp_init_attr = &self->qp;
}

FIXTURE_TEARDOWN(interleaved)
{
	EXPECT_EQ(0, server_end(&self->server));
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

#define ADDR(self)	((struct sockaddr *)&(self)->ss)

static inline int id_route(struct rdma_cm_id *id, struct sockaddr *addr)
{
	if (rdma_resolve_addr(id, NULL, addr, 30000) ||
	    rdma_resolve_route(id, 30000))
		return -1;
	return qp_make(id, IBV_QPT_RC);
}

/* The call ends when the other thread has begun to destroy the id, which waits. */
#define OVERTAKEN(id, request, call) do {				\
	overlap_set(id, RDMA_CMX_IO(request), rdma_destroy_ep);		\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(ECANCELED, errno);					\
	ASSERT_EQ(0, command);						\
	caller_end(&overlap.caller);					\
	EXPECT_TRUE(overlap.there);					\
} while (0)

#endif /* PROCESS_INTERLEAVED_H */
