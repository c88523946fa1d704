// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-02 for user space: rdmacmx_connect_name() to one address after the other.
 */
#include "api.h"
#include "connect_name.h"

TEST_F(name, KA_02_refused)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE };

	REFUSED(EINVAL, rdmacmx_connect_name(NULL, "both.test", "1", NULL, NULL));
	REFUSED(EINVAL, rdmacmx_connect_name(self->id, NULL, NULL, NULL, NULL));
	REFUSED(EINVAL, rdmacmx_connect_name(self->id, "both.test", "1",
					     &hints, NULL));
	hints.ai_flags = RAI_SA;
	REFUSED(EPROTOTYPE, rdmacmx_connect_name(self->id, NULL, "a", &hints,
						 NULL));
	self->attr.reserved[4] = 1;
	REFUSED(EINVAL, CONNECT("both.test"));
	self->attr.reserved[4] = 0;
	self->attr.delay_ms = 9;
	REFUSED(EINVAL, CONNECT("both.test"));
	self->attr.delay_ms = 0;
	self->attr.qp_init_attr = NULL;
	REFUSED(EINVAL, CONNECT("both.test"));
	self->attr.qp_init_attr = &self->qp;
	self->attr.device = "nosuch0";
	REFUSED(ENODEV, CONNECT("10.55.0.1"));
	self->attr.device = NULL;
	REFUSED(ENOENT, REPORT());
	REFUSED(EINVAL, rdmacmx_connect_report(self->id, NULL, 1));
	REFUSED(EINVAL, rdmacmx_connect_report(self->id, self->list, -1));
	self->attr.flags = 1 << 1;
	REFUSED(EINVAL, CONNECT("both.test"));
	self->attr.flags = RDMACMX_CONNECT_RACE;
	self->attr.qp_init_attr = NULL;
	self->attr.conn_param = NULL;
	REFUSED(EINVAL, CONNECT("both.test"));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	REFUSED(EINVAL, CONNECT("both.test"));
}

/* One call, one event: bound, addressed and routed. */
TEST_F(name, KA_02_routed)
{
	char text[128];
	int status = -1;

	ASSERT_EQ(0, rdmacmx_connect_name(self->id, "second.test", LISTEN_TEXT,
					  NULL, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_STREQ(OWN4 ":" LISTEN_TEXT,
		     addr_text(rdma_get_peer_addr(self->id), text,
			       sizeof(text)));
	EXPECT_STREQ(OWN4, host_text(rdma_get_local_addr(self->id), text,
				     sizeof(text)));
	EXPECT_NE(NULL, self->id->verbs);
	EXPECT_NE(NULL, self->id->pd);
	EXPECT_EQ(NULL, self->id->qp);

	ASSERT_EQ(2, REPORT());
	EXPECT_TRUE(dst_is(&self->list[0], DEAD6));
	EXPECT_EQ(RDMACMX_STEP_ADDR, self->list[0].step);
	EXPECT_NE(0, self->list[0].error);
	EXPECT_STREQ("rxe0", self->list[0].device);
	EXPECT_TRUE(dst_is(&self->list[1], OWN4));
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(0, self->list[1].error);
	EXPECT_EQ(1, self->list[1].port);
	EXPECT_EQ(2, rdmacmx_connect_report(self->id, NULL, 0));

	/* It goes on as any other id. */
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, qp_make(self->id, IBV_QPT_RC));
	ASSERT_EQ(0, rdma_connect(self->id, &self->param));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
}

/* One call, one event: connected. The first address is dead. */
TEST_F(name, KA_02_connected)
{
	int status = -1;

	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("second.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	ASSERT_NE(NULL, self->id->qp);
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
	EXPECT_EQ(self, self->id->context);
	EXPECT_TRUE(becomes(&self->listener.established, 1));
	EXPECT_EQ(1, self->listener.requests);
	EXPECT_STREQ("hello", self->listener.data);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(0, rdma_disconnect(self->id));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, event_take(self->channel, NULL));
}

/* The first address has no listener. */
TEST_F(name, KA_02_next_address)
{
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	ASSERT_EQ(2, REPORT());
	EXPECT_TRUE(dst_is(&self->list[0], OWN6));
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	/* A listener has the port, but not the address: rdma_cm rejects. */
	EXPECT_EQ(28, self->list[0].reason);
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
}

/* The first address does not reply: it has its share of the time. */
TEST_F(name, KA_02_silent_peer)
{
	struct listener silent = {};

	ASSERT_EQ(0, listener_start(&silent, OWN6, false));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(ETIMEDOUT, self->list[0].error);
	EXPECT_EQ(0, self->list[1].error);
	EXPECT_EQ(1, silent.requests);
	listener_end(&silent);
}

TEST_F(name, KA_02_all_dead)
{
	int status = 0;

	/* No listener, by either address */
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event_take(self->channel, &status));
	EXPECT_EQ(8, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(NULL, self->id->qp);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	EXPECT_EQ(ECONNREFUSED, self->list[1].error);
}

TEST_F(name, KA_02_no_route)
{
	int status = 0;

	ASSERT_EQ(0, CONNECT("dead.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_GT(0, status);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_ADDR, self->list[0].step);
	EXPECT_EQ(RDMACMX_STEP_ADDR, self->list[1].step);
	/* The same id, another name */
	ASSERT_EQ(0, CONNECT("plain.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENETUNREACH, status);
	ASSERT_EQ(1, REPORT());
	EXPECT_EQ(RDMACMX_STEP_NO_DEVICE, self->list[0].step);
	EXPECT_STREQ("", self->list[0].device);
	ASSERT_EQ(0, CONNECT("nosuch.cmx.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENOENT, status);
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("10.55.0.1"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
}

/* The deadline, where no first attempt is over before it */
TEST_F(name, KA_02_deadline)
{
	int status = 0;

	self->attr.timeout_ms = 300;
	ASSERT_EQ(0, CONNECT(DEAD6));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ETIMEDOUT, status);
	self->attr.timeout_ms = 8000;
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	ASSERT_EQ(0, CONNECT(OWN4));
	EXPECT_EQ(RDMA_CM_EVENT_UNREACHABLE,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ETIMEDOUT, status);
	EXPECT_EQ(NULL, self->id->qp);
}

TEST_F(name, KA_02_second_call_is_busy)
{
	ASSERT_EQ(0, CONNECT("dead.test"));
	REFUSED(EBUSY, CONNECT("both.test"));
	REFUSED(EBUSY, rdma_resolve_addrinfo(self->id, OWN4, "1", NULL));
}

/* Destroyed at each step; the fixture looks for what is left. */
TEST_F(name, KA_02_destroyed_while_the_name_is_resolved)
{
	char name[128];

	name_fresh("silent.test", name, sizeof(name));
	ASSERT_EQ(0, CONNECT(name));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

TEST_F(name, KA_02_destroyed_while_addresses_race)
{
	struct rdma_cm_id *other;

	ASSERT_EQ(0, rdma_create_id(self->channel, &other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, CONNECT("dead.test"));
	/* The name is resolved here, the race starts. */
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	events_run(self->channel, other);
	REFUSED(EBUSY, REPORT());
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_F(name, KA_02_destroyed_while_it_connects)
{
	struct rdma_cm_id *other;

	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	ASSERT_EQ(0, rdma_create_id(self->channel, &other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, CONNECT(OWN4));
	until_requested(self, other);
	EXPECT_NE(NULL, self->id->qp);
	/* Not rdma_destroy_ep(): the program has no queue pair yet. */
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_F(name, KA_02_synchronous)
{
	connect_synchronous(_metadata, self);
}

TEST_HARNESS_MAIN
