// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Multicast memberships as objects (MC-01, MC-05, MC-06, MC-13). */
#include "common.h"

#include <sys/mman.h>

#include "kselftest_harness.h"

FIXTURE(mcast) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(mcast)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
}

FIXTURE_TEARDOWN(mcast)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_ids", 0));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(0, counter("live_events"));
}

TEST_F(mcast, join_and_leave)
{
	union event_buf buf;
	uint32_t mc;

	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 77, &mc));
	EXPECT_NE(0, mc);
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(1, buf.ev.uid);
	EXPECT_EQ(self->id, buf.ev.id);
	EXPECT_EQ(mc, buf.ev.obj);
	EXPECT_EQ(77, buf.ev.obj_uid);
	EXPECT_EQ(0, buf.ev.status);
	EXPECT_EQ(RDMA_CMX_EVENT_UD, buf.ev.flags);
	EXPECT_EQ(0xffffff, buf.ev.param.ud.qp_num);
	EXPECT_NE(0, buf.ev.param.ud.qkey);
	EXPECT_EQ(1, buf.ev.param.ud.ah_attr.is_global);
	EXPECT_EQ(1, buf.ev.param.ud.ah_attr.port_num);
	EXPECT_EQ(1, counter("live_mcs"));
	EXPECT_EQ(1, mc_leave(self->fd, mc));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, mc));
	EXPECT_EQ(1, id_destroy(self->fd, self->id));
}

TEST_F(mcast, misuse)
{
	struct rdma_cmx_join arg = { .id = self->id };
	uint32_t id, mc;

	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, NULL, 1, &mc));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, "10.55.0.2", 1, &mc));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, "fd55::2", 1, &mc));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, self->id, "0.0.0.0", 1, &mc));
	addr_set(&arg.addr, GROUP, 0);
	arg.join_flags = 2;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN, &arg));
	arg.join_flags = 1u << 31;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN, &arg));
	arg.join_flags = 0;
	arg.addr.data[45] = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN, &arg));

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &id));
	EXPECT_EQ(-EINVAL, mc_join(self->fd, id, GROUP, 1, &mc));
	/* A handle of another kind. */
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, 0));
	EXPECT_EQ(-ENOENT, mc_leave(self->fd, UINT32_MAX));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
}

/* Two memberships of one group on one id: each has its own event. */
TEST_F(mcast, same_group_twice)
{
	struct rdma_cmx_join arg = { .id = self->id, .join_flags = 1 };
	uint32_t mc[3];
	union event_buf buf;
	unsigned int seen = 0;
	int i;

	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 100, &mc[0]));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 101, &mc[1]));
	EXPECT_NE(mc[0], mc[1]);
	addr_set(&arg.addr, GROUP, 0);
	EXPECT_EQ(-EADDRINUSE, call(self->fd, JOIN, &arg));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		seen |= 1 << (buf.ev.obj_uid - 100);
		EXPECT_EQ(mc[buf.ev.obj_uid - 100], buf.ev.obj);
		EXPECT_EQ(0xffffff, buf.ev.param.ud.qp_num);
	}
	EXPECT_EQ(3, seen);
	/* The older one goes, the newer stays; a third one joins it. */
	EXPECT_EQ(1, mc_leave(self->fd, mc[0]));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 102, &mc[2]));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(102, buf.ev.obj_uid);
	EXPECT_EQ(0xffffff, buf.ev.param.ud.qp_num);
	EXPECT_EQ(1, mc_leave(self->fd, mc[1]));
	EXPECT_EQ(1, mc_leave(self->fd, mc[2]));
	EXPECT_FALSE(event_pending(self->fd));
	/* All have left: the other flag is welcome now. */
	EXPECT_EQ(0, call(self->fd, JOIN, &arg));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
}

/* Leaving takes the unread event along, and only its own. */
TEST_F(mcast, leave_with_unread_event)
{
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	union event_buf buf;
	uint32_t a, b;
	int round;

	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 1, &a));
		ASSERT_EQ(0, mc_join(self->fd, self->id, "239.55.0.2", 2, &b));
		if (round & 1) {
			ASSERT_EQ(1, poll(&pfd, 1, 10000));
		}
		EXPECT_EQ(0, mc_leave(self->fd, a));
		ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		EXPECT_EQ(2, buf.ev.obj_uid);
		EXPECT_FALSE(event_pending(self->fd));
		EXPECT_EQ(1, mc_leave(self->fd, b));
	}
}

TEST_F(mcast, destroy_with_memberships)
{
	uint32_t mc[8];
	char group[32];
	int i;

	for (i = 0; i < 8; i++) {
		snprintf(group, sizeof(group), "239.55.1.%d", i / 2);
		ASSERT_EQ(0, mc_join(self->fd, self->id, group, i, &mc[i]));
	}
	EXPECT_LE(0, id_destroy(self->fd, self->id));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(-ENOENT, mc_leave(self->fd, mc[i]));
}

TEST_F(mcast, foreign_and_unanswerable)
{
	struct rdma_cmx_join *arg;
	int other = dev_open(0);
	uint32_t mc;

	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 1, &mc));
	EXPECT_EQ(-ENOENT, mc_leave(other, mc));
	close(other);

	arg = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	arg->size = sizeof(*arg);
	arg->id = self->id;
	addr_set(&arg->addr, "239.55.0.9", 0);
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->fd, RDMA_CMX_IO(JOIN), arg));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(1, counter("live_mcs"));
	munmap(arg, 4096);
}

TEST_HARNESS_MAIN
