// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A reader of events blocks in a page fault while others use its ids. Its
 * buffer is a page that is missing until the fault is served, so GET_EVENTS
 * stops in the middle. A destroy, leave or migrate does not wait for it, and no
 * event is lost or stale.
 */
#include "uapi.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "harness.h"

#define WAIT_S	60
#define USER	1000
#define USERFAULTFD	"/proc/sys/vm/unprivileged_userfaultfd"

FIXTURE(stopped) {
	int fd, other, uffd;
	void *page;
	uint32_t id, next;
	struct rdma_cmx_get_events arg;
	int ret;
	pthread_t reader;
	bool reading;
	long faults;	/* may users have them? */
};

static void *stopped_read(void *arg)
{
	FIXTURE_DATA(stopped) *s = arg;

	s->ret = call(s->fd, GET_EVENTS, &s->arg);
	return NULL;
}

FIXTURE_SETUP(stopped)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	ASSERT_TRUE(counter_wait("live_files", 0));
	self->faults = number_get(USERFAULTFD);
	number_set(USERFAULTFD, 1);
	ASSERT_EQ(0, user_enter(USER));
	self->uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (self->uffd < 0)
		return;
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_API, &api));
	self->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	reg.range.start = (uintptr_t)self->page;
	reg.range.len = 4096;
	ASSERT_EQ(0, ioctl(self->uffd, UFFDIO_REGISTER, &reg));
	self->fd = dev_open(O_NONBLOCK);
	self->other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	self->arg.buf = (uintptr_t)self->page;
	self->arg.buf_len = 4096;
}

/* After SKIP in the setup the harness would still run the test. */
#define NEED_FAULTS()							\
	do {								\
		if (self->uffd < 0)					\
			SKIP(return, "no userfaultfd");			\
	} while (0)

FIXTURE_TEARDOWN(stopped)
{
	ASSERT_EQ(0, user_leave());
	number_set(USERFAULTFD, self->faults);
	if (self->uffd < 0)
		return;
	close(self->uffd);
	if (self->reading)
		pthread_join(self->reader, NULL);
	close(self->fd);
	close(self->other);
	munmap(self->page, 4096);
	EXPECT_TRUE(nothing_left());
}

/* Waits until a thread is in the fault. */
static bool stopped_wait(FIXTURE_DATA(stopped) *s)
{
	struct pollfd pfd = { s->uffd, POLLIN, 0 };
	struct uffd_msg msg;

	return poll(&pfd, 1, WAIT_S * 1000) == 1 &&
	       read(s->uffd, &msg, sizeof(msg)) == sizeof(msg);
}

static bool stopped_start(FIXTURE_DATA(stopped) *s)
{
	s->reading = !pthread_create(&s->reader, NULL, stopped_read, s);
	return s->reading && stopped_wait(s);
}

static int stopped_end(FIXTURE_DATA(stopped) *s)
{
	struct uffdio_zeropage zero = {
		.range = { (uintptr_t)s->page, 4096 },
	};

	if (ioctl(s->uffd, UFFDIO_ZEROPAGE, &zero))
		return -errno;
	pthread_join(s->reader, NULL);
	s->reading = false;
	return s->ret;
}

/* Runs one command in a separate thread. False if it does not return. */
struct command {
	int (*run)(int fd, uint32_t handle);
	int fd, ret;
	uint32_t handle;
	pthread_t thread;
};

static void *command_run(void *arg)
{
	struct command *c = arg;

	c->ret = c->run(c->fd, c->handle);
	return NULL;
}

static bool command_ends(struct command *c)
{
	struct timespec end;

	if (pthread_create(&c->thread, NULL, command_run, c))
		return false;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_S;
	return !pthread_timedjoin_np(c->thread, NULL, &end);
}

static int two_ids(FIXTURE_DATA(stopped) *s)
{
	return id_create(s->fd, RDMA_PS_UDP, 1, &s->id) ?:
	       id_create(s->fd, RDMA_PS_UDP, 2, &s->next) ?:
	       id_write_event(s->fd, s->id, 11, 0) ?:
	       id_write_event(s->fd, s->next, 12, 0) ?:
	       id_write_event(s->fd, s->id, 13, 0) ?:
	       id_write_event(s->fd, s->next, 14, 0);
}

TEST_F_TIMEOUT(stopped, destroy_does_not_wait, 280)
{
	struct rdma_cmx_event *ev = self->page;
	struct command destroy = { .run = id_destroy, .fd = self->fd };
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, two_ids(self));
	ASSERT_TRUE(stopped_start(self));
	destroy.handle = self->id;
	ends = command_ends(&destroy);
	EXPECT_TRUE(ends);
	EXPECT_EQ(0, stopped_end(self));
	if (!ends)
		pthread_join(destroy.thread, NULL);
	/* The id's events were not reported; both of the other id were. */
	EXPECT_EQ(0, destroy.ret);
	ASSERT_EQ(2, self->arg.count);
	EXPECT_EQ(12, ev[0].status);
	EXPECT_EQ(14, ev[1].status);
	EXPECT_EQ(2, id_destroy(self->fd, self->next));
}

static int migrate_from;

static int migrate(int fd, uint32_t id)
{
	struct rdma_cmx_id_migrate m = { .id = id, .src_fd = migrate_from };

	return call(fd, ID_MIGRATE, &m) ?: (int)m.events_reported;
}

TEST_F_TIMEOUT(stopped, migrate_does_not_wait, 280)
{
	struct command move = { .run = migrate, .fd = self->other };
	struct rdma_cmx_event *ev = self->page;
	union event_buf buf;
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, two_ids(self));
	ASSERT_TRUE(stopped_start(self));
	migrate_from = self->fd;
	move.handle = self->id;
	ends = command_ends(&move);
	EXPECT_TRUE(ends);
	if (ends) {
		ASSERT_EQ(0, event_next(self->other, &buf));
		EXPECT_EQ(11, buf.ev.status);
	}
	EXPECT_EQ(0, stopped_end(self));
	if (!ends)
		pthread_join(move.thread, NULL);
	EXPECT_EQ(0, move.ret);
	ASSERT_EQ(2, self->arg.count);
	EXPECT_EQ(12, ev[0].status);
	EXPECT_EQ(14, ev[1].status);
	ASSERT_EQ(0, event_next(self->other, &buf));
	EXPECT_EQ(13, buf.ev.status);
	EXPECT_FALSE(event_pending(self->other));
}

TEST_F_TIMEOUT(stopped, leave_does_not_wait, 280)
{
	struct command leave = { .run = mc_leave, .fd = self->fd };
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 5, &leave.handle));
	ASSERT_EQ(1, poll(&pfd, 1, WAIT_S * 1000));
	ASSERT_TRUE(stopped_start(self));
	ends = command_ends(&leave);
	EXPECT_TRUE(ends);
	EXPECT_EQ(-EAGAIN, stopped_end(self));
	if (!ends)
		pthread_join(leave.thread, NULL);
	EXPECT_EQ(0, leave.ret);
	EXPECT_EQ(0, id_destroy(self->fd, self->id));
}

/* The listener of a request is destroyed while its new id is read. */
TEST_F_TIMEOUT(stopped, request_of_a_destroyed_listener, 280)
{
	struct command destroy = { .run = id_destroy, .fd = self->fd };
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	union event_buf buf;
	uint32_t active;
	uint16_t port;
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, listener_new(self->fd, 1, &destroy.handle, &port));
	ASSERT_EQ(0, connect_start(self->other, 2, port, &active));
	ASSERT_EQ(1, poll(&pfd, 1, WAIT_S * 1000));
	ASSERT_TRUE(stopped_start(self));
	ends = command_ends(&destroy);
	EXPECT_TRUE(ends);
	if (ends) {
		EXPECT_EQ(0, event_want(self->other, EV_REJECTED, &buf));
	}
	EXPECT_EQ(-EAGAIN, stopped_end(self));
	if (!ends)
		pthread_join(destroy.thread, NULL);
	EXPECT_EQ(0, destroy.ret);
	EXPECT_EQ(1, counter("live_ids"));
	/* The handle of the request is free again. */
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
	EXPECT_EQ(0, id_destroy(self->fd, self->id));
}

/* A request migrates with its listener while it is read. */
TEST_F_TIMEOUT(stopped, request_of_a_moved_listener, 280)
{
	struct command move = { .run = migrate, .fd = self->other };
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	uint32_t active, handle;
	union event_buf buf;
	uint16_t port;
	bool ends;

	NEED_FAULTS();
	ASSERT_EQ(0, listener_new(self->fd, 1, &move.handle, &port));
	ASSERT_EQ(0, connect_start(self->other, 2, port, &active));
	ASSERT_EQ(1, poll(&pfd, 1, WAIT_S * 1000));
	ASSERT_TRUE(stopped_start(self));
	migrate_from = self->fd;
	ends = command_ends(&move);
	EXPECT_TRUE(ends);
	if (ends) {
		ASSERT_EQ(0, event_want(self->other, EV_CONNECT_REQUEST, &buf));
		/* The old file does not have it, whatever its handle. */
		for (handle = 0; handle < 64; handle++)
			EXPECT_EQ(-ENOENT, id_destroy(self->fd, handle % 8 |
						      handle / 8 << 20));
		EXPECT_EQ(0, id_accept(self->other, buf.ev.obj, 3));
	}
	EXPECT_EQ(-EAGAIN, stopped_end(self));
	if (!ends)
		pthread_join(move.thread, NULL);
	EXPECT_EQ(0, move.ret);
}

/* Of this test alone: the SA may still have others, with another MTU. */
#define MADE_GROUP	"239.55.92.1"

static int group_join(int fd, uint32_t id, uint32_t flags, uint8_t mtu)
{
	struct rdma_cmx_join arg = {
		.id = id,
		.uid = 5,
		.flags = flags,
		.param = { .mask = mtu ? RDMA_CMX_MC_MTU : 0, .mtu = mtu },
	};

	addr_set(&arg.addr, MADE_GROUP, 0);
	return call(fd, JOIN, &arg);
}

static int event_mtu(struct rdma_cmx_event *ev)
{
	struct rdma_cmx_mc_param *param = (void *)ev + ev->header_len;

	return ev->event == EV_MULTICAST_JOIN &&
	       ev->flags & RDMA_CMX_EVENT_MC_PARAM ? param->mtu : -1;
}

/* Runs @command of bash, after which a persistent membership joins again. */
static bool rejoined_by(const char *command)
{
	long before = number_get(COUNTERS "rejoins");
	time_t end = time(NULL) + WAIT_S;

	if (user_leave() || fabric_bash(command) || user_enter(USER))
		return false;
	while (number_get(COUNTERS "rejoins") <= before) {
		if (time(NULL) > end)
			return false;
		usleep(10000);
	}
	return true;
}

/*
 * Joins with a new id and @mtu (0: any). Returns the group's MTU, or -1. After a
 * restart of the subnet manager a join fails until IPoIB has joined its group
 * again, or ends with an event of the port.
 */
static int made(int fd, uint32_t uid, uint8_t mtu, uint32_t *id)
{
	time_t end = time(NULL) + WAIT_S;
	union event_buf buf;
	int ret;

	while (!id_create(fd, RDMA_PS_UDP, uid, id) &&
	       !id_bind(fd, *id, ADDR_RDMA, 0)) {
		ret = group_join(fd, *id, 0, mtu);
		if (!ret)
			ret = event_want(fd, EV_MULTICAST_JOIN, &buf);
		if (!ret)
			return event_mtu(&buf.ev);
		if (id_destroy(fd, *id) < 0 || time(NULL) > end) {
			fprintf(stderr, "# join: error %d\n", ret);
			break;
		}
		usleep(10000);
	}
	return -1;
}

/*
 * A persistent membership joins again while its first event is read: a subnet
 * manager that lost the group creates it with another MTU. The reader gets the
 * current parameters.
 */
TEST_F_TIMEOUT(stopped, rejoined_meanwhile, 280)
{
	struct rdma_cmx_event *ev = self->page;
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	uint32_t maker;
	time_t end;
	int mtu, ret;

	NEED_FAULTS();
	if (!on_infiniband)
		SKIP(return, "on RoCE nothing is joined again");
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	ASSERT_EQ(1, made(self->other, 2, 1, &maker));
	/* As in made() */
	end = time(NULL) + WAIT_S;
	while ((ret = group_join(self->fd, self->id, RDMA_CMX_JOIN_PERSISTENT,
				 0)) == -EADDRNOTAVAIL && time(NULL) < end)
		usleep(10000);
	ASSERT_EQ(0, ret);
	ASSERT_EQ(1, poll(&pfd, 1, WAIT_S * 1000));
	EXPECT_EQ(1, id_destroy(self->other, maker));
	ASSERT_TRUE(stopped_start(self));
	EXPECT_TRUE(rejoined_by("sm_stop; sm_start && port_active_wait"));
	/* By then the previous join has been reported. */
	EXPECT_TRUE(rejoined_by("knob_set $(fab_dev 1) event "
				"client_reregister"));
	EXPECT_EQ(0, stopped_end(self));
	ASSERT_EQ(1, self->arg.count);
	mtu = made(self->other, 3, 0, &maker);
	EXPECT_LT(1, mtu);
	EXPECT_EQ(mtu, event_mtu(ev));
}

/* SIGKILL in the fault does not lose an event. */
static _Atomic pid_t victim;

static void *victim_kill(void *arg)
{
	stopped_wait(arg);
	kill(victim, SIGKILL);
	return NULL;
}

TEST_F_TIMEOUT(stopped, killed_reader, 280)
{
	union event_buf buf;
	pthread_t killer;
	int status = 0, i;
	pid_t pid;

	NEED_FAULTS();
	ASSERT_EQ(0, two_ids(self));
	ASSERT_EQ(0, pthread_create(&killer, NULL, victim_kill, self));
	/* A process that shares the memory, and so the fault */
	pid = vfork();
	if (!pid) {
		victim = getpid();
		call(self->fd, GET_EVENTS, &self->arg);
		_exit(0);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	pthread_join(killer, NULL);
	EXPECT_TRUE(WIFSIGNALED(status));
	for (i = 11; i < 15; i++) {
		ASSERT_EQ(0, event_next(self->fd, &buf));
		EXPECT_EQ(i, buf.ev.status);
	}
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(2, id_destroy(self->fd, self->id));
}

TEST_HARNESS_MAIN
