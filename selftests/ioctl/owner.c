// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The cookies of owner and reader determine the owner of an id, among processes
 * that share a file. Process ids have no effect.
 */
#include "ioctl.h"

#include <sched.h>
#include <sys/wait.h>

#include "harness.h"

#define MINE	0xfeedface00000001ULL
#define OTHERS	0xfeedface00000002ULL

FIXTURE(owner) {
	int fd;
	uint32_t id;
};

static int create(int fd, uint32_t ps, uint64_t owner, uint32_t *id)
{
	struct rdma_cmx_id_create arg = {
		.port_space = ps, .qp_type = qp_type_of(ps), .uid = 1,
		.owner = owner,
	};
	int ret = call(fd, ID_CREATE, &arg);

	*id = arg.id;
	return ret;
}

/* Reads the next event with this cookie of the reader. */
static int take(int fd, uint64_t reader, union event_buf *buf)
{
	struct rdma_cmx_get_events arg = {
		.max_events = 1,
		.buf = (uintptr_t)buf,
		.buf_len = sizeof(*buf),
		.reader = reader,
	};
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (poll(&pfd, 1, 60000) != 1)
		return -ETIME;
	return call(fd, GET_EVENTS, &arg);
}

static int destroy(int fd, uint32_t id, uint64_t owner)
{
	struct rdma_cmx_destroy arg = { .handle = id, .owner = owner };
	int ret = call(fd, ID_DESTROY, &arg);

	return ret ? ret : (int)arg.events_reported;
}

static int leave(int fd, uint32_t mc, uint64_t owner)
{
	struct rdma_cmx_destroy arg = { .handle = mc, .owner = owner };
	int ret = call(fd, LEAVE, &arg);

	return ret ? ret : (int)arg.events_reported;
}

static int migrate(int from, uint32_t id, uint64_t owner, int to,
		   uint32_t *new_id)
{
	struct rdma_cmx_id_migrate arg = {
		.id = id, .src_fd = from, .owner = owner,
	};
	int ret = call(to, ID_MIGRATE, &arg);

	*new_id = arg.new_id;
	return ret ? ret : (int)arg.events_reported;
}

FIXTURE_SETUP(owner)
{
	self->fd = dev_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, create(self->fd, RDMA_PS_UDP, MINE, &self->id));
}

FIXTURE_TEARDOWN(owner)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_EQ(0, counter("live_ids"));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(0, counter("live_events"));
}

TEST_F(owner, destroys)
{
	union event_buf buf;

	ASSERT_EQ(0, id_write_event(self->fd, self->id, 3, 4));
	EXPECT_EQ(-ENOENT, destroy(self->fd, self->id, OTHERS));
	EXPECT_EQ(-ENOENT, destroy(self->fd, self->id, ~0ULL));
	EXPECT_EQ(-ENOENT, destroy(self->fd, self->id, MINE & UINT32_MAX));
	/* The id is unchanged. */
	ASSERT_EQ(0, take(self->fd, MINE, &buf));
	EXPECT_EQ(self->id, buf.ev.id);
	EXPECT_EQ(4, buf.ev.obj_uid);
	EXPECT_EQ(1, destroy(self->fd, self->id, MINE));
	EXPECT_EQ(-ENOENT, destroy(self->fd, self->id, MINE));
}

/* Without a cookie a caller may destroy any id; an id without one is free. */
TEST_F(owner, without_cookie)
{
	union event_buf buf;
	uint32_t id;

	EXPECT_EQ(0, destroy(self->fd, self->id, 0));
	ASSERT_EQ(0, create(self->fd, RDMA_PS_UDP, 0, &id));
	ASSERT_EQ(0, id_write_event(self->fd, id, 0, 0));
	ASSERT_EQ(0, id_write_event(self->fd, id, 0, 0));
	ASSERT_EQ(0, take(self->fd, 0, &buf));
	ASSERT_EQ(0, take(self->fd, MINE, &buf));
	EXPECT_EQ(-ENOENT, destroy(self->fd, id, MINE));
	EXPECT_EQ(1, destroy(self->fd, id, 0));
}

/* A handle that is used again: its former object is destroyed. */
TEST_F(owner, handle_used_again)
{
	uint32_t id;
	int i;

	ASSERT_EQ(0, destroy(self->fd, self->id, MINE));
	/* The documented number of ids with other handles */
	for (i = 0; i < 4095; i++) {
		ASSERT_EQ(0, create(self->fd, RDMA_PS_UDP, OTHERS, &id));
		ASSERT_NE(self->id, id);
		ASSERT_EQ(0, destroy(self->fd, id, OTHERS));
	}
	ASSERT_EQ(0, create(self->fd, RDMA_PS_UDP, OTHERS, &id));
	ASSERT_EQ(self->id, id);
	EXPECT_EQ(-ENOENT, destroy(self->fd, id, MINE));
	EXPECT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0));
	EXPECT_EQ(0, destroy(self->fd, id, OTHERS));
}

static int end(int fd, unsigned int cmd, uint32_t handle, uint64_t owner,
	       uint64_t uid)
{
	struct rdma_cmx_destroy arg = {
		.size = sizeof(arg), .handle = handle, .owner = owner,
		.uid = uid,
	};

	return ioctl(fd, cmd, &arg) ? -errno : (int)arg.events_reported;
}

/* The user ids distinguish the objects of one owner. */
TEST_F(owner, handle_used_again_by_the_owner)
{
	const unsigned int destroy_id = RDMA_CMX_IO(ID_DESTROY);
	const unsigned int leave_mc = RDMA_CMX_IO(LEAVE);
	struct rdma_cmx_destroy old = { .size = 24, .owner = MINE, .uid = 7 };
	uint32_t mc;

	EXPECT_EQ(-ENOENT, end(self->fd, destroy_id, self->id, MINE, 2));
	EXPECT_EQ(-ENOENT, end(self->fd, destroy_id, self->id, 0, ~0ULL));
	EXPECT_EQ(-ENOENT, end(self->fd, destroy_id, self->id, MINE,
			       1ULL << 32));
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 5, &mc));
	EXPECT_EQ(-ENOENT, end(self->fd, leave_mc, mc, MINE, 1));
	EXPECT_EQ(-ENOENT, end(self->fd, leave_mc, mc, OTHERS, 5));
	EXPECT_EQ(1, counter("live_mcs"));
	EXPECT_EQ(0, end(self->fd, leave_mc, mc, MINE, 5));
	/* The first published struct has no user id to compare. */
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 5, &mc));
	old.handle = mc;
	EXPECT_EQ(0, ioctl(self->fd, leave_mc, &old));
	EXPECT_EQ(0, end(self->fd, destroy_id, self->id, MINE, 1));
	ASSERT_EQ(0, create(self->fd, RDMA_PS_UDP, MINE, &old.handle));
	EXPECT_EQ(0, ioctl(self->fd, destroy_id, &old));
	EXPECT_EQ(0, counter("live_ids"));
}

TEST_F(owner, counts_what_went_to_it)
{
	static const uint64_t readers[] = { MINE, OTHERS, 0, MINE, ~MINE };
	union event_buf buf;
	unsigned int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, id_write_event(self->fd, self->id, 0, i));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, take(self->fd, readers[i], &buf));
		EXPECT_EQ(i, buf.ev.obj_uid);
	}
	EXPECT_EQ(2, destroy(self->fd, self->id, MINE));
}

TEST_F(owner, leaves)
{
	union event_buf buf;
	uint32_t mc, again;

	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 5, &mc));
	ASSERT_EQ(0, take(self->fd, MINE, &buf));
	ASSERT_EQ(EV_MULTICAST_JOIN, buf.ev.event);
	EXPECT_EQ(-ENOENT, leave(self->fd, mc, OTHERS));
	EXPECT_EQ(1, counter("live_mcs"));
	EXPECT_EQ(1, leave(self->fd, mc, MINE));
	EXPECT_EQ(-ENOENT, leave(self->fd, mc, MINE));
	/* An event that another reader got does not count. */
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 5, &again));
	ASSERT_EQ(0, take(self->fd, OTHERS, &buf));
	EXPECT_EQ(again, buf.ev.obj);
	EXPECT_EQ(0, leave(self->fd, again, 0));
	EXPECT_EQ(1, destroy(self->fd, self->id, MINE));
}

TEST_F(owner, migrates)
{
	union event_buf buf;
	int to = dev_open(0);
	uint32_t id;

	ASSERT_LE(0, to);
	ASSERT_EQ(0, id_write_event(self->fd, self->id, 0, 0));
	ASSERT_EQ(0, id_write_event(self->fd, self->id, 0, 0));
	ASSERT_EQ(0, take(self->fd, MINE, &buf));
	EXPECT_EQ(-ENOENT, migrate(self->fd, self->id, OTHERS, to, &id));
	EXPECT_EQ(-ENOENT, migrate(self->fd, self->id, OTHERS, self->fd, &id));
	EXPECT_EQ(1, migrate(self->fd, self->id, MINE, self->fd, &id));
	EXPECT_EQ(self->id, id);
	EXPECT_EQ(1, migrate(self->fd, self->id, MINE, to, &id));
	/* The id keeps its owner. */
	EXPECT_EQ(-ENOENT, destroy(to, id, OTHERS));
	ASSERT_EQ(0, take(to, MINE, &buf));
	EXPECT_EQ(2, destroy(to, id, MINE));
	close(to);
}

/* The reader of a request owns its id. */
TEST_F(owner, requests)
{
	uint32_t listener, active;
	union event_buf buf;
	uint16_t port;

	ASSERT_EQ(0, create(self->fd, RDMA_PS_TCP, MINE, &listener));
	ASSERT_EQ(0, create(self->fd, RDMA_PS_TCP, MINE, &active));
	ASSERT_EQ(0, id_listen_port(self->fd, listener, &port));
	ASSERT_EQ(0, id_resolve_addr(self->fd, active, NULL, ADDR_RDMA, port));
	ASSERT_EQ(0, take(self->fd, MINE, &buf));
	ASSERT_EQ(0, id_resolve_route(self->fd, active));
	ASSERT_EQ(0, take(self->fd, MINE, &buf));
	ASSERT_EQ(0, id_connect(self->fd, active));
	ASSERT_EQ(0, take(self->fd, OTHERS, &buf));
	ASSERT_EQ(EV_CONNECT_REQUEST, buf.ev.event);
	EXPECT_EQ(-ENOENT, destroy(self->fd, buf.ev.obj, MINE));
	ASSERT_EQ(0, id_accept(self->fd, buf.ev.obj, 9));
	EXPECT_EQ(0, destroy(self->fd, buf.ev.obj, OTHERS));
	/* Another reader got the request, an event of the listener. */
	EXPECT_EQ(0, destroy(self->fd, listener, MINE));
	EXPECT_LE(2, destroy(self->fd, active, MINE));
}

/* In a private PID namespace, with the process id of the parent or another */
static int child_reads(int fd, uint64_t reader, int n)
{
	union event_buf buf;
	int status;
	pid_t pid;

	pid = fork();
	if (pid)
		return waitpid(pid, &status, 0) == pid ? status : -1;
	if (unshare(CLONE_NEWPID))
		_exit(1);
	pid = fork();
	if (pid) {
		if (waitpid(pid, &status, 0) != pid || status)
			_exit(2);
		_exit(0);
	}
	while (n--)
		if (take(fd, reader, &buf))
			_exit(3);
	_exit(0);
}

TEST_F(owner, is_no_process)
{
	unsigned int i;

	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, id_write_event(self->fd, self->id, 0, i));
	EXPECT_EQ(0, child_reads(self->fd, OTHERS, 2));
	EXPECT_EQ(0, child_reads(self->fd, MINE, 3));
	EXPECT_EQ(3, destroy(self->fd, self->id, MINE));
}

TEST_HARNESS_MAIN
