// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RAI-07: a second call while one is outstanding, and the destroy of an id
 * during its lookup, by the same thread and by another.
 */
#include <pthread.h>

#include "api.h"

FIXTURE(rai) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *other;
	char name[128];
};

FIXTURE_SETUP(rai)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
				    RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->other, NULL,
				    RDMA_PS_TCP));
	name_fresh("silent.test", self->name, sizeof(self->name));
}

FIXTURE_TEARDOWN(rai)
{
	EXPECT_EQ(0, rdma_destroy_id(self->other));
	rdma_destroy_event_channel(self->channel);
}

TEST_F(rai, RAI_07_second_call_is_busy)
{
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, self->name, PORT, NULL));
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(self->id, NAME_V4, PORT, NULL));
	EXPECT_EQ(EBUSY, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(self->id, PEER4, PORT, NULL));
	EXPECT_EQ(EBUSY, errno);

	/* One event for the first, none for the others */
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, PEER4, PORT, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
}

#define SILENT_MS	4000	/* of a silent name, vm/guest/check */

/*
 * The destroy is prompt: another id that waits for the same name still waits
 * when the destroy returns. Only the other id reports an event.
 */
TEST_F(rai, RAI_07_destroy_in_flight)
{
	long long begin = now_ms();
	struct rdma_cm_event *event;
	bool early;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->other, self->name, PORT,
					   NULL));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, self->name, PORT, NULL));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	/* A guest may stop for so long that the lookup has ended. */
	early = channel_readable(self->channel, 0);
	EXPECT_TRUE(!early || now_ms() - begin >= SILENT_MS);

	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(self->other, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR, event->event);
	rdma_ack_cm_event(event);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/* The destruction of the id drops its unread event. */
TEST_F(rai, RAI_07_destroy_with_unread_event)
{
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, PEER4, PORT, NULL));
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/* The cancel of one waiter does not affect the others. */
TEST_F(rai, RAI_07_destroy_leaves_others_their_answer)
{
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;
	char name[128];

	name_fresh("any.cmx.test", name, sizeof(name));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, name, PORT, NULL));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->other, name, PORT, NULL));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(self->other, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event->event);
	rdma_ack_cm_event(event);
	ASSERT_EQ(0, rdma_query_addrinfo(self->other, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);
}

/* A thread waits in rdma_get_cm_event() while another destroys the id. */
static void *event_reader(void *arg)
{
	return (void *)(long)event_take(arg, NULL);
}

TEST_F(rai, RAI_07_destroy_while_a_thread_waits_for_the_event)
{
	pthread_t thread;
	void *type;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, self->name, PORT, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, event_reader,
				    self->channel));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	ASSERT_EQ(0, rdma_write_cm_event(self->other, RDMA_CM_EVENT_USER, 0,
					 0));
	pthread_join(thread, &type);
	EXPECT_EQ(RDMA_CM_EVENT_USER, (long)type);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

static void *id_destroyer(void *arg)
{
	return (void *)(long)rdma_destroy_id(arg);
}

TEST_F(rai, RAI_07_destroy_from_another_thread)
{
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, self->name, PORT, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, id_destroyer, self->id));
	pthread_join(thread, &ret);
	EXPECT_EQ(0, (long)ret);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/*
 * Destroys at any moment of a resolution: names from the cache, new names,
 * wrong names, numbers, each followed by a destroy in another thread. After
 * each destroy the channel is empty, and at the end no object is left.
 */
TEST_F(rai, RAI_07_destroy_races)
{
	char fresh[128];
	const char *nodes[] = { NAME_STORAGE, fresh, "nobody.cmx.test",
				PEER4 };
	struct rdma_cm_id *id;
	pthread_t thread;

	ASSERT_EQ(0, rdma_destroy_id(self->id));
	for (int i = 0; i < 100; i++) {
		name_fresh("any.cmx.test", fresh, sizeof(fresh));
		ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL,
					    RDMA_PS_TCP));
		while (rdma_resolve_addrinfo(id, nodes[i % 4], PORT, NULL)) {
			/* Lookups of destroyed ids still count. */
			ASSERT_EQ(EAGAIN, errno);
			usleep(10000);
		}
		for (volatile int spin = (i * 37) % 2000; spin > 0; spin--)
			;
		ASSERT_EQ(0, pthread_create(&thread, NULL, id_destroyer, id));
		pthread_join(thread, NULL);
		ASSERT_EQ(0, channel_readable(self->channel, 0));
	}
}

/* Results arrive and user events are written while a thread reads them. */
struct race {
	struct rdma_cm_id *ids[32];
	pthread_barrier_t barrier;
};

static void *writer(void *arg)
{
	struct race *r = arg;

	pthread_barrier_wait(&r->barrier);
	for (int i = 0; i < 32; i++)
		rdma_write_cm_event(r->ids[i], RDMA_CM_EVENT_USER, 0, 0);
	return NULL;
}

TEST_F(rai, RAI_07_events_race_with_reader)
{
	struct race r;
	pthread_t thread;

	ASSERT_EQ(0, rdma_destroy_id(self->id));
	ASSERT_EQ(0, pthread_barrier_init(&r.barrier, NULL, 2));
	for (int i = 0; i < 32; i++) {
		ASSERT_EQ(0, rdma_create_id(self->channel, &r.ids[i], NULL,
					    RDMA_PS_TCP));
		ASSERT_EQ(0, rdma_resolve_addrinfo(r.ids[i], PEER4, PORT,
						   NULL));
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, writer, &r));
	pthread_barrier_wait(&r.barrier);
	/* Each id has two events; none is lost or repeated. */
	for (int i = 0; i < 64; i++) {
		ASSERT_LT(0, event_take(self->channel, NULL));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	for (int i = 0; i < 32; i++) {
		EXPECT_EQ(0, rdma_destroy_id(r.ids[i]));
	}
}

TEST(RAI_07_close_of_everything_in_flight)
{
	/* Keeps the channel reachable for a leak checker */
	static struct rdma_event_channel *channel;
	static struct rdma_cm_id *id;
	char name[128];

	name_fresh("silent.test", name, sizeof(name));
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, name, PORT, NULL));
	/* The close of the file frees the result, without rdma_destroy_id(). */
	close(channel->fd);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_HARNESS_MAIN
