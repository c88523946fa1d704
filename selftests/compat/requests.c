// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: unread connection requests while their listener migrates to another
 * channel. Not run on the stock stack: rdma_ucm of Linux 6.1 moves the event
 * but not its id, which is then unusable.
 */
#include "pair.h"

FIXTURE(requests) {
	struct rdma_event_channel *to;
	struct pair p;
};

FIXTURE_SETUP(requests)
{
	self->to = rdma_create_event_channel();
	ASSERT_NE(NULL, self->to);
	ASSERT_EQ(0, pair_open(&self->p, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(requests)
{
	pair_close(&self->p);
	rdma_destroy_event_channel(self->to);
}

/* The destroy of a listener drops its requests and their ids. */
TEST_F(requests, RA_02_listener_with_a_request)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	struct pair *p = &self->p;

	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	ASSERT_EQ(0, rdma_connect(p->client, NULL));
	ASSERT_EQ(1, channel_readable(p->passive, WAIT_MS));
	ASSERT_EQ(0, rdma_migrate_id(p->listener, self->to));
	EXPECT_EQ(0, channel_readable(p->passive, 0));
	event = event_want(self->to, RDMA_CM_EVENT_CONNECT_REQUEST);
	ASSERT_NE(NULL, event);
	id = event->id;
	EXPECT_EQ(self->to, id->channel);
	EXPECT_EQ(p->listener, event->listen_id);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, rdma_reject(id, NULL, 0));
	EXPECT_EQ(28, event_status(p->active, RDMA_CM_EVENT_REJECTED));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(requests, RA_02_listener_becomes_synchronous)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct rdma_cm_id *id;
	struct pair *p = &self->p;

	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	ASSERT_EQ(0, rdma_connect(p->client, NULL));
	ASSERT_EQ(1, channel_readable(p->passive, WAIT_MS));
	ASSERT_EQ(0, rdma_migrate_id(p->listener, NULL));
	ASSERT_EQ(0, rdma_get_request(p->listener, &id));
	EXPECT_NE(p->listener->channel, id->channel);
	EXPECT_EQ(p->listener, id->event->listen_id);
	EXPECT_EQ(0, rdma_reject(id, NULL, 0));
	EXPECT_EQ(28, event_status(p->active, RDMA_CM_EVENT_REJECTED));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_HARNESS_MAIN
