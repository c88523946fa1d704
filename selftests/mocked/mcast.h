/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Memberships on a mocked device (mock.h): the fixture, an id that is not
 * bound, and steps of it. For one thread at a time.
 */
#ifndef MOCKED_MCAST_H
#define MOCKED_MCAST_H

#include <rdma/rdma_cmx.h>

#include "harness.h"
#include "mock.h"

FIXTURE(mcast) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct sockaddr_in group;
};

FIXTURE_SETUP(mcast)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_UDP));
	self->group.sin_family = AF_INET;
	self->group.sin_addr.s_addr = htonl(0xef370101);
}

FIXTURE_TEARDOWN(mcast)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

static inline int join(FIXTURE_DATA(mcast) *self)
{
	struct rdma_cm_event *event;

	if (rdma_join_multicast(self->id, (void *)&self->group, NULL))
		return errno;
	mock_joined();
	if (rdma_get_cm_event(self->channel, &event))
		return errno;
	return rdma_ack_cm_event(event);
}

static inline int leave(FIXTURE_DATA(mcast) *self)
{
	return rdma_leave_multicast(self->id, (void *)&self->group) ? errno : 0;
}

#define OTHER_MLID	0xc00b

/* The event that the program reads, or -1 */
static inline int move(FIXTURE_DATA(mcast) *self, unsigned int which)
{
	struct rdma_cm_event *event;
	int type;

	mock_rejoined(which, OTHER_MLID, MOCK_QKEY);
	if (rdma_get_cm_event(self->channel, &event))
		return -1;
	type = event->event;
	return rdma_ack_cm_event(event) ? -1 : type;
}

#endif /* MOCKED_MCAST_H */
