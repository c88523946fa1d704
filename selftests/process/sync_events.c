// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, MC-13: events that a call on a synchronous id reads, and that are not of
 * its operation; joins and leaves by two threads.
 */
#include <fcntl.h>

#include "process.h"
#include "interleaved.h"

/* Not the end of any call; the program can read it when it has a channel. */
TEST_F(interleaved, RA_02_address_change_in_a_call)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	int i;

	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0,
						 MADE(RDMA_CM_EVENT_ADDR_CHANGE)));
	ASSERT_EQ(0, rdma_connect(self->id, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, self->id->event->event);
	EXPECT_EQ(0, rdma_disconnect(self->id));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, self->id->event->event);
	ASSERT_EQ(0, rdma_migrate_id(self->id, channel));
	ASSERT_EQ(0, event_wait(channel, &event, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_CHANGE, event->event);
	EXPECT_EQ(0, event->status);
	EXPECT_EQ(0, event->param.arg);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

/* Nor is it a failure of a listener. */
TEST_F(interleaved, RA_02_address_change_before_a_request)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *request, *client;

	ASSERT_NE(NULL, channel);
	rdma_destroy_ep(self->id);
	listener = id_listening(NULL, PORT_INTER + 1);
	client = id_ready(channel, PORT_INTER + 1);
	ASSERT_NE(NULL, client);
	ASSERT_EQ(0, rdma_write_cm_event(listener, RDMA_CM_EVENT_USER, 0,
					 MADE(RDMA_CM_EVENT_ADDR_CHANGE)));
	ASSERT_EQ(0, rdma_connect(client, NULL));
	ASSERT_EQ(0, rdma_get_request(listener, &request));
	rdma_destroy_ep(request);
	rdma_destroy_ep(client);
	ASSERT_EQ(0, rdma_migrate_id(listener, channel));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_CHANGE, event_take(channel, NULL));
	EXPECT_EQ(0, rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

/* A server that polls its listener finds nothing to read. */
TEST_F(interleaved, RA_02_address_change_of_a_polled_listener)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *request;
	int i;

	ASSERT_NE(NULL, channel);
	rdma_destroy_ep(self->id);
	listener = id_listening(NULL, PORT_INTER + 1);
	ASSERT_EQ(0, fcntl(listener->channel->fd, F_SETFL, O_NONBLOCK));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, rdma_write_cm_event(listener, RDMA_CM_EVENT_USER, 0,
						 MADE(RDMA_CM_EVENT_ADDR_CHANGE)));
		errno = 0;
		EXPECT_EQ(-1, rdma_get_request(listener, &request));
		EXPECT_EQ(EAGAIN, errno);
		EXPECT_EQ(0, channel_readable(listener->channel, 0));
	}
	ASSERT_EQ(0, rdma_migrate_id(listener, channel));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_CHANGE, event_take(channel, NULL));
	/* Once */
	ASSERT_EQ(0, rdma_migrate_id(listener, NULL));
	ASSERT_EQ(0, rdma_migrate_id(listener, channel));
	EXPECT_EQ(0, channel_readable(channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

/* The kernel rejoins a group while the id joins another one. */
TEST_F(interleaved, MC_13_rejoin_in_a_synchronous_join)
{
	struct sockaddr_storage group[2];
	struct rdma_cm_id *id;
	int i;

	rdma_destroy_ep(self->id);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	for (i = 0; i < 2; i++) {
		addr_make(&group[i], i ? "239.55.9.2" : "239.55.9.1", 0);
		ASSERT_EQ(0, rdma_join_multicast(id, (void *)&group[i],
						 &group[i]));
		EXPECT_EQ(&group[i], id->event->param.ud.private_data);
		ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0,
						 MADE(RDMA_CM_EVENT_MULTICAST_JOIN)));
	}
	EXPECT_EQ(0, rdma_destroy_id(id));
}

static struct sockaddr_storage groups[2];
static void (*meanwhile)(struct rdma_cm_id *id);
static int joined;			/* the errno */

static void join_second(struct rdma_cm_id *id)
{
	joined = rdma_join_multicast(id, (void *)&groups[1], &groups[1]) ?
		 errno : 0;
}

static void *join_first(void *id)
{
	/* The event of the join is there when the command returns. */
	overlap_set(id, RDMA_CMX_IO(JOIN), meanwhile);
	return (void *)(intptr_t)(rdma_join_multicast(id, (void *)&groups[0],
						      &groups[0]) ? errno : 0);
}

/* With a deadline */
static int thread_join(pthread_t thread, void **ret)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += WAIT_MS / 1000;
	return pthread_timedjoin_np(thread, ret, &end);
}

/* Each call waits for its own join: the second one for the end of the first. */
TEST_F(interleaved, MC_13_two_synchronous_joins)
{
	struct rdma_cm_id *id;
	pthread_t thread;
	void *err = NULL;
	int i;

	rdma_destroy_ep(self->id);
	for (i = 0; i < 2; i++)
		addr_make(&groups[i], i ? "239.55.9.4" : "239.55.9.3", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	meanwhile = join_second;
	ASSERT_EQ(0, pthread_create(&thread, NULL, join_first, id));
	ASSERT_EQ(0, thread_join(thread, &err));
	EXPECT_EQ(NULL, err);
	ASSERT_EQ(0, thread_join(overlap.caller.thread, NULL));
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(0, joined);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, id->event->event);
	EXPECT_EQ(&groups[1], id->event->param.ud.private_data);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, rdma_leave_multicast(id, (void *)&groups[i]));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

static int left;			/* the errno */

static void leave_first(struct rdma_cm_id *id)
{
	left = rdma_leave_multicast(id, (void *)&groups[0]) ? errno : 0;
}

/* The leave waits for the end of the join, which may fail. */
TEST_F(interleaved, MC_13_leave_in_a_synchronous_join)
{
	struct rdma_cm_id *id;
	pthread_t thread;
	void *err;
	int fails;

	rdma_destroy_ep(self->id);
	addr_make(&groups[0], "239.55.9.5", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	meanwhile = leave_first;
	for (fails = 0; fails < 2; fails++) {
		if (fails)
			ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER,
							 0, 0));
		ASSERT_EQ(0, pthread_create(&thread, NULL, join_first, id));
		ASSERT_EQ(0, thread_join(thread, &err));
		EXPECT_EQ(fails ? EINTR : 0, (intptr_t)err);
		ASSERT_EQ(0, thread_join(overlap.caller.thread, NULL));
		EXPECT_TRUE(overlap.there);
		EXPECT_EQ(fails ? EADDRNOTAVAIL : 0, left);
		errno = 0;
		EXPECT_EQ(-1, rdma_leave_multicast(id, (void *)&groups[0]));
		EXPECT_EQ(EADDRNOTAVAIL, errno);
	}
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/*
 * A join has read that another membership is lost. The leave of that one waits
 * until the event is acked, which no later call does.
 */
TEST_F(interleaved, MC_13_leave_of_a_membership_whose_loss_ends_a_join)
{
	struct rdma_cm_id *id;
	int i;

	rdma_destroy_ep(self->id);
	for (i = 0; i < 2; i++)
		addr_make(&groups[i], i ? "239.55.9.7" : "239.55.9.6", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	ASSERT_EQ(0, rdma_join_multicast(id, (void *)&groups[0], NULL));
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, -ENETDOWN,
					 MADE(RDMA_CM_EVENT_MULTICAST_ERROR)));
	overlap_set(id, RDMA_CMX_IO(GET_EVENTS), leave_first);
	errno = 0;
	EXPECT_EQ(-1, rdma_join_multicast(id, (void *)&groups[1], NULL));
	EXPECT_EQ(ENETDOWN, errno);
	ASSERT_EQ(0, command);
	ASSERT_EQ(0, thread_join(overlap.caller.thread, NULL));
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(0, left);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* The destroy call waits until the leave has left the id. */
TEST_F(interleaved, MC_13_destroy_in_leave)
{
	struct rdma_cm_id *id;

	rdma_destroy_ep(self->id);
	addr_make(&groups[0], "239.55.9.8", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	ASSERT_EQ(0, rdma_join_multicast(id, (void *)&groups[0], NULL));
	overlap_set(id, RDMA_CMX_IO(LEAVE), rdma_destroy_ep);
	EXPECT_EQ(0, rdma_leave_multicast(id, (void *)&groups[0]));
	ASSERT_EQ(0, command);
	ASSERT_EQ(0, thread_join(overlap.caller.thread, NULL));
	EXPECT_TRUE(overlap.there);
}

TEST_F(interleaved, RA_02_device_removal_in_a_call)
{
	/* A server would wait for the rest of the connection. */
	addr_make(&self->ss, OWN4, PORT_NOBODY);
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0,
					 MADE(RDMA_CM_EVENT_DEVICE_REMOVAL)));
	errno = 0;
	EXPECT_EQ(-1, rdma_connect(self->id, NULL));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(RDMA_CM_EVENT_DEVICE_REMOVAL, self->id->event->event);
	rdma_destroy_ep(self->id);
}

TEST_HARNESS_MAIN
