// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: a channel is closed while it still has ids. The ids are unusable then,
 * but the program can still destroy them and ack their events.
 */
#include "process.h"

#define PORT_CLOSE	7690
#define GROUP		"239.55.69.1"

TEST(RA_02_channel_goes_before_its_ids)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *ids[4];
	int i;

	ASSERT_NE(NULL, channel);
	for (i = 0; i < 4; i++)
		ids[i] = id_make(channel);
	ASSERT_EQ(0, id_bind(ids[1], OWN4, PORT_CLOSE));
	ASSERT_EQ(0, rdma_listen(ids[1], 1));
	ASSERT_EQ(0, rdma_resolve_addrinfo(ids[2], NAME_STORAGE, PORT, NULL));
	ASSERT_EQ(0, rdma_write_cm_event(ids[3], RDMA_CM_EVENT_USER, 0, 0));
	rdma_destroy_event_channel(channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));

	errno = 0;
	EXPECT_EQ(-1, id_bind(ids[0], OWN4, 0));
	EXPECT_EQ(EBADF, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_listen(ids[1], 1));
	EXPECT_EQ(EBADF, errno);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, rdma_destroy_id(ids[i]));
}

TEST(RA_02_channel_goes_before_the_acks)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *events[2];
	struct rdma_cm_id *id;
	int i;

	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, i));
		ASSERT_EQ(0, event_wait(channel, &events[i], WAIT_MS));
	}
	rdma_destroy_event_channel(channel);
	EXPECT_EQ(0, rdma_destroy_id(id));
	/* The last ack frees the id. */
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, rdma_ack_cm_event(events[i]));
}

TEST(RA_02_channel_goes_before_a_connection)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct server server;
	struct rdma_cm_id *id;

	ASSERT_NE(NULL, channel);
	server_start(&server, PORT_CLOSE);
	id = id_ready(channel, PORT_CLOSE);
	ASSERT_NE(NULL, id);
	EXPECT_EQ(0, id_connect(id));
	rdma_destroy_event_channel(channel);
	/* The kernel's id is destroyed, and the peer gets an event. */
	EXPECT_EQ(0, server_end(&server));
	errno = 0;
	EXPECT_EQ(-1, rdma_disconnect(id));
	EXPECT_EQ(EBADF, errno);
	rdma_destroy_ep(id);
}

TEST(MC_13_channel_goes_before_a_membership)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_storage ss;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, OWN4, 0));
	ASSERT_EQ(0, rdma_join_multicast(id, addr_make(&ss, GROUP, 0), NULL));
	ASSERT_EQ(0, event_wait(channel, &event, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
	rdma_destroy_event_channel(channel);
	EXPECT_TRUE(wait_for(WAIT_MS, "bash -c '. " SELFTESTS
			     "/lib.sh; ! igmp_joined " ETH " " GROUP "'"));
	errno = 0;
	EXPECT_EQ(-1, rdma_leave_multicast(id, addr_make(&ss, GROUP, 0)));
	EXPECT_EQ(EBADF, errno);
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

/* A migrated id neither keeps the old channel nor uses it. */
TEST(RA_02_channel_goes_after_its_id_has_moved)
{
	struct rdma_event_channel *a = rdma_create_event_channel();
	struct rdma_event_channel *b = rdma_create_event_channel();
	struct rdma_cm_id *id;
	int before;

	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	before = fds_open();
	id = id_make(a);
	ASSERT_EQ(0, rdma_migrate_id(id, b));
	rdma_destroy_event_channel(a);
	EXPECT_EQ(before - 1, fds_open());
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0));
	EXPECT_EQ(RDMA_CM_EVENT_USER, event_take(b, NULL));
	ASSERT_EQ(0, rdma_migrate_id(id, NULL));
	rdma_destroy_event_channel(b);
	EXPECT_EQ(before - 1, fds_open());
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(before - 2, fds_open());
}

TEST_HARNESS_MAIN
