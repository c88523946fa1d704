// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-02 for user space: rdmacmx_connect_name() with connections that race.
 */
#include "api.h"
#include "connect_name.h"

/*
 * Connections race. The first address does not reply, and is left as soon as the
 * second one does.
 */
TEST_F(name, KA_02_race_silent_peer)
{
	struct listener silent = {};
	int status = -1;

	self->attr.flags = RDMACMX_CONNECT_RACE;
	ASSERT_EQ(0, listener_start(&silent, OWN6, false));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_NE(NULL, self->id->qp);
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
	EXPECT_EQ(self->id->verbs, self->id->qp->context);
	EXPECT_EQ(self->id, self->id->send_cq->cq_context);
	EXPECT_EQ(self, self->id->context);
	EXPECT_TRUE(becomes(&self->listener.established, 1));
	EXPECT_STREQ("hello", self->listener.data);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	/* Not ETIMEDOUT: the second did not wait for its end. */
	EXPECT_EQ(ECANCELED, self->list[0].error);
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(0, self->list[1].error);
	EXPECT_TRUE(becomes(&silent.requests, 1));
	EXPECT_EQ(0, __atomic_load_n(&silent.established, __ATOMIC_ACQUIRE));
	EXPECT_EQ(0, rdma_disconnect(self->id));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, event_take(self->channel, NULL));
	listener_end(&silent);
}

/* The first address has no listener; and both accept. */
TEST_F(name, KA_02_race_next_address)
{
	struct listener first = {};

	self->attr.flags = RDMACMX_CONNECT_RACE;
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	EXPECT_EQ(28, self->list[0].reason);
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	rdma_destroy_ep(self->id);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
				    RDMA_PS_TCP));
	ASSERT_EQ(0, listener_start(&first, OWN6, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
	listener_end(&first);
}

TEST_F(name, KA_02_race_all_fail)
{
	int status = 0;

	self->attr.flags = RDMACMX_CONNECT_RACE;
	/* No listener, by either address */
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ECONNREFUSED, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(NULL, self->id->qp);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	EXPECT_EQ(ECONNREFUSED, self->list[1].error);
	/* No device: no queue pair is made. */
	ASSERT_EQ(0, CONNECT("plain.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENETUNREACH, status);
	/* More than any device can do: no queue pair either */
	self->qp.cap.max_send_wr = 1 << 30;
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_GT(0, status);
	self->qp.cap.max_send_wr = 1;
	/* The deadline; then the same id connects. */
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	self->attr.timeout_ms = 2000;
	ASSERT_EQ(0, CONNECT(OWN4));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ETIMEDOUT, status);
	EXPECT_EQ(NULL, self->id->qp);
	listener_end(&self->listener);
	self->attr.timeout_ms = 120000;
	memset(&self->listener, 0, sizeof(self->listener));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT(OWN4));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
}

TEST_F(name, KA_02_race_destroyed)
{
	struct rdma_cm_id *other;

	self->attr.flags = RDMACMX_CONNECT_RACE;
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	ASSERT_EQ(0, rdma_create_id(self->channel, &other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, CONNECT("second.test"));
	while (!__atomic_load_n(&self->listener.requests, __ATOMIC_ACQUIRE) &&
	       channel_readable(self->channel, 1000) >= 0)
		events_run(self->channel, other);
	REFUSED(EBUSY, REPORT());
	EXPECT_EQ(NULL, self->id->qp);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_F(name, KA_02_race_synchronous)
{
	struct rdma_cm_id *id;

	self->attr.flags = RDMACMX_CONNECT_RACE;
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdmacmx_connect_name(id, "both.test", LISTEN_TEXT, NULL,
					  &self->attr));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(id));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, id->event->event);
	rdma_destroy_ep(id);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	listener_end(&self->listener);
	REFUSED(ECONNREFUSED, rdmacmx_connect_name(id, "both.test", LISTEN_TEXT,
						   NULL, &self->attr));
	rdma_destroy_ep(id);
}

TEST_HARNESS_MAIN
