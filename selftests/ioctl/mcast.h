/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Multicast at the uAPI: the fixture, a bound UDP id of a private file. */
#ifndef IOCTL_MCAST_H
#define IOCTL_MCAST_H

#include "ioctl.h"
#include "harness.h"

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

#endif /* IOCTL_MCAST_H */
