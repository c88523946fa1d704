// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: threads and acks. Many readers of one channel; acks by other threads
 * than the reader; destroys and migrations with unacked events.
 */
#include <sys/syscall.h>

#include "process.h"

/*
 * One channel, many readers, and another thread that acks the events. The
 * readers count the events atomically.
 */
#define READERS	8
#define IDS	16
#define EVENTS	4000

struct crowd {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *ids[IDS];
	unsigned char seen[EVENTS];	/* atomic */
	pthread_mutex_t lock;		/* of the events to ack */
	pthread_cond_t cond;
	struct rdma_cm_event *queue[EVENTS + READERS];
	int queued;
	int acked;
	unsigned int wrong;		/* atomic */
};

static void *crowd_read(void *arg)
{
	struct crowd *crowd = arg;
	struct rdma_cm_event *event;
	uint64_t n;

	for (;;) {
		if (rdma_get_cm_event(crowd->channel, &event)) {
			__atomic_add_fetch(&crowd->wrong, 1, __ATOMIC_RELAXED);
			return NULL;
		}
		n = event->param.arg;
		if (n < EVENTS) {
			__atomic_add_fetch(&crowd->seen[n], 1,
					   __ATOMIC_RELAXED);
			if (event->id != crowd->ids[n % IDS])
				__atomic_add_fetch(&crowd->wrong, 1,
						   __ATOMIC_RELAXED);
		}
		pthread_mutex_lock(&crowd->lock);
		crowd->queue[crowd->queued++] = event;
		pthread_cond_signal(&crowd->cond);
		pthread_mutex_unlock(&crowd->lock);
		if (n == EVENTS)
			return NULL;
	}
}

static void *crowd_ack(void *arg)
{
	int total = rounds_of(EVENTS) + READERS;
	struct crowd *crowd = arg;
	struct rdma_cm_event *event;

	for (; crowd->acked < total; crowd->acked++) {
		pthread_mutex_lock(&crowd->lock);
		while (crowd->queued <= crowd->acked)
			pthread_cond_wait(&crowd->cond, &crowd->lock);
		event = crowd->queue[crowd->acked];
		pthread_mutex_unlock(&crowd->lock);
		rdma_ack_cm_event(event);
	}
	return NULL;
}

TEST(RA_02_one_channel_many_readers)
{
	static struct crowd crowd;
	pthread_t readers[READERS], acker;
	int i, events = rounds_of(EVENTS);

	TH_LOG("%d events of %d ids, %d readers", events, IDS, READERS);
	pthread_mutex_init(&crowd.lock, NULL);
	pthread_cond_init(&crowd.cond, NULL);
	crowd.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, crowd.channel);
	for (i = 0; i < IDS; i++)
		crowd.ids[i] = id_make(crowd.channel);
	ASSERT_EQ(0, pthread_create(&acker, NULL, crowd_ack, &crowd));
	for (i = 0; i < READERS; i++)
		ASSERT_EQ(0, pthread_create(&readers[i], NULL, crowd_read,
					    &crowd));
	for (i = 0; i < events; i++)
		while (rdma_write_cm_event(crowd.ids[i % IDS],
					   RDMA_CM_EVENT_USER, 0, i)) {
			/* The queue of a channel is bounded. */
			ASSERT_EQ(EAGAIN, errno);
			usleep(1000);
		}
	for (i = 0; i < READERS; i++)
		ASSERT_EQ(0, rdma_write_cm_event(crowd.ids[0],
						 RDMA_CM_EVENT_USER, 0,
						 EVENTS));
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	/* Waits for the acks of the other thread */
	for (i = 0; i < IDS; i++)
		EXPECT_EQ(0, rdma_destroy_id(crowd.ids[i]));
	pthread_join(acker, NULL);
	EXPECT_EQ(events + READERS, crowd.acked);
	EXPECT_EQ(0, crowd.wrong);
	for (i = 0; i < events; i++)
		EXPECT_EQ(1, crowd.seen[i]) {
			TH_LOG("event %d", i);
		}
	rdma_destroy_event_channel(crowd.channel);
}

/* rdma_destroy_id() returns after the ack of the last event. */
static void *destroy_run(void *arg)
{
	rdma_destroy_id(arg);
	return NULL;
}

TEST(RA_02_destroy_waits_for_acks)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *events[3];
	struct caller destroyer;
	struct rdma_cm_id *id;
	int i;

	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, i));
	/* The third event is never read, and nothing waits for it. */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, event_wait(channel, &events[i], WAIT_MS));
	caller_start(&destroyer, destroy_run, id);
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(caller_sleeps(&destroyer, SYS_futex));
		EXPECT_FALSE(caller_ended(&destroyer));
		/* The memory is still valid. */
		EXPECT_EQ(id, events[i]->id);
		rdma_ack_cm_event(events[i]);
	}
	caller_end(&destroyer);
	EXPECT_EQ(0, channel_readable(channel, 0));
	rdma_destroy_event_channel(channel);
}

/*
 * rdma_migrate_id() returns after the ack of the last event of the old channel.
 * Acks of events from the new channel do not count.
 */
struct mover {
	struct rdma_cm_id *id;
	struct rdma_event_channel *to;
	struct caller caller;
};

static void *move_run(void *arg)
{
	struct mover *m = arg;

	return (void *)(intptr_t)rdma_migrate_id(m->id, m->to);
}

TEST(RA_02_migrate_waits_for_acks_of_the_old_channel)
{
	struct rdma_event_channel *from = rdma_create_event_channel();
	struct rdma_cm_event *old, *new;
	struct mover m;
	int i;

	m.to = rdma_create_event_channel();
	ASSERT_NE(NULL, from);
	ASSERT_NE(NULL, m.to);
	m.id = id_make(from);
	for (i = 1; i <= 2; i++)
		ASSERT_EQ(0, rdma_write_cm_event(m.id, RDMA_CM_EVENT_USER, 0,
						 i));
	ASSERT_EQ(0, event_wait(from, &old, WAIT_MS));
	caller_start(&m.caller, move_run, &m);
	ASSERT_TRUE(caller_sleeps(&m.caller, SYS_futex));
	/*
	 * The id migrated with the second event, and waits for the ack of the
	 * first.
	 */
	ASSERT_EQ(0, event_wait(m.to, &new, WAIT_MS));
	EXPECT_EQ(2, new->param.arg);
	rdma_ack_cm_event(new);
	EXPECT_TRUE(caller_sleeps(&m.caller, SYS_futex));
	rdma_ack_cm_event(old);
	EXPECT_EQ(NULL, caller_end(&m.caller));
	EXPECT_EQ(0, rdma_destroy_id(m.id));
	rdma_destroy_event_channel(from);
	rdma_destroy_event_channel(m.to);
}

/* Ids are destroyed while others of the channel report events to readers. */
struct churn {
	struct rdma_event_channel *channel;
	int rounds;
	int wrong;		/* atomic */
};

static void *churn_run(void *arg)
{
	struct churn *churn = arg;
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < churn->rounds; i++) {
		if (rdma_create_id(churn->channel, &id, NULL, RDMA_PS_TCP) ||
		    rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0) ||
		    rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0) ||
		    rdma_resolve_addrinfo(id, PEER4, PORT, NULL) ||
		    rdma_destroy_id(id))
			__atomic_add_fetch(&churn->wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *churn_read(void *arg)
{
	struct churn *churn = arg;
	struct rdma_cm_event *event;
	bool end = false;

	while (!end) {
		if (rdma_get_cm_event(churn->channel, &event))
			abort();
		end = event->param.arg == 1 &&
		      event->event == RDMA_CM_EVENT_USER;
		/* The id exists until its event is acked. */
		if (event->id->channel != churn->channel)
			__atomic_add_fetch(&churn->wrong, 1, __ATOMIC_RELAXED);
		rdma_ack_cm_event(event);
	}
	return NULL;
}

TEST(RA_02_destroy_while_others_read)
{
	int i, threads = threads_of(8), rounds = rounds_of(100);
	struct churn churn = { .rounds = rounds };
	pthread_t makers[8], readers[4];
	struct rdma_cm_id *id;

	TH_LOG("%d threads, %d rounds each, 4 readers", threads, rounds);
	churn.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, churn.channel);
	id = id_make(churn.channel);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&readers[i], NULL, churn_read,
					    &churn));
	for (i = 0; i < threads; i++)
		ASSERT_EQ(0, pthread_create(&makers[i], NULL, churn_run,
					    &churn));
	for (i = 0; i < threads; i++)
		pthread_join(makers[i], NULL);
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 1));
	for (i = 0; i < 4; i++)
		pthread_join(readers[i], NULL);
	EXPECT_EQ(0, churn.wrong);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(churn.channel);
}

TEST_HARNESS_MAIN
