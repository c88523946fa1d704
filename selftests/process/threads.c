// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: threads. Many ids on many channels; many readers of one channel; acks
 * by other threads than the reader; destroys with unacked events.
 */
#include <sys/syscall.h>

#include "process.h"

#define PORT_THREADS	7640
#define PORT_GETTERS	7669

/* Complete connections, each thread with a private channel */
struct client {
	pthread_t thread;
	int rounds;
	int wrong;
	int done;		/* atomic */
	unsigned int port;
};

static void *client_run(void *arg)
{
	struct client *client = arg;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < client->rounds && !client->wrong; i++) {
		channel = rdma_create_event_channel();
		id = channel ? id_ready(channel, client->port) : NULL;
		if (!id) {
			client->wrong = __LINE__;
			break;
		}
		client->wrong = id_connect(id);
		if (!client->wrong)
			client->wrong = id_hang_up(id, i & 1);
		rdma_destroy_event_channel(channel);
	}
	return NULL;
}

TEST(RA_02_connections_of_many_threads)
{
	int i, threads = threads_of(16), rounds = rounds_of(50);
	struct client clients[16] = {};
	struct server servers[2];

	TH_LOG("%d threads, %d rounds each, 2 listeners", threads, rounds);
	for (i = 0; i < 2; i++)
		server_start(&servers[i], PORT_THREADS + i);
	for (i = 0; i < threads; i++) {
		clients[i].rounds = rounds;
		clients[i].port = PORT_THREADS + i % 2;
		ASSERT_EQ(0, pthread_create(&clients[i].thread, NULL,
					    client_run, &clients[i]));
	}
	for (i = 0; i < threads; i++) {
		pthread_join(clients[i].thread, NULL);
		EXPECT_EQ(0, clients[i].wrong) {
			TH_LOG("thread %d", i);
		}
	}
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, server_end(&servers[i]));
		EXPECT_TRUE(server_served(&servers[i],
					  (threads + 1 - i) / 2 * rounds));
	}
}

/* Likewise without a channel */
static void *sync_client_run(void *arg)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	struct client *client = arg;
	struct rdma_cm_id *id;
	char port[16];
	int i;

	snprintf(port, sizeof(port), "%u", client->port);
	for (i = 0; i < client->rounds && !client->wrong; i++) {
		client->wrong = 1;
		if (rdma_getaddrinfo(OWN4, port, &hints, &res))
			break;
		if (!rdma_create_ep(&id, res, NULL, NULL)) {
			if (!qp_make(id, IBV_QPT_RC) && !rdma_connect(id, NULL) &&
			    !rdma_disconnect(id))
				client->wrong = 0;
			rdma_destroy_ep(id);
		}
		rdma_freeaddrinfo(res);
	}
	return NULL;
}

TEST(RA_02_synchronous_ids_of_many_threads)
{
	int i, threads = threads_of(8), rounds = rounds_of(20);
	struct client clients[8] = {};
	struct server server;

	TH_LOG("%d threads, %d rounds each", threads, rounds);
	server_start(&server, PORT_THREADS);
	for (i = 0; i < threads; i++) {
		clients[i].rounds = rounds;
		clients[i].port = PORT_THREADS;
		ASSERT_EQ(0, pthread_create(&clients[i].thread, NULL,
					    sync_client_run, &clients[i]));
	}
	for (i = 0; i < threads; i++) {
		pthread_join(clients[i].thread, NULL);
		EXPECT_EQ(0, clients[i].wrong) {
			TH_LOG("thread %d", i);
		}
	}
	EXPECT_EQ(0, server_end(&server));
	EXPECT_TRUE(server_served(&server, threads * rounds));
}

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
struct destroyer {
	pthread_t thread;
	struct rdma_cm_id *id;
	pid_t tid;		/* atomic */
	int done;		/* atomic */
};

static void *destroy_run(void *arg)
{
	struct destroyer *d = arg;

	__atomic_store_n(&d->tid, gettid(), __ATOMIC_RELEASE);
	rdma_destroy_id(d->id);
	__atomic_store_n(&d->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static pid_t destroyer_tid(struct destroyer *d)
{
	pid_t tid;

	while (!(tid = __atomic_load_n(&d->tid, __ATOMIC_ACQUIRE)))
		usleep(1000);
	return tid;
}

TEST(RA_02_destroy_waits_for_acks)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *events[3];
	struct destroyer d = {};
	int i;

	cmx_mem_atomic(&d, sizeof(d));
	ASSERT_NE(NULL, channel);
	d.id = id_make(channel);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, rdma_write_cm_event(d.id, RDMA_CM_EVENT_USER, 0,
						 i));
	/* The third event is never read, and nothing waits for it. */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, event_wait(channel, &events[i], WAIT_MS));
	ASSERT_EQ(0, pthread_create(&d.thread, NULL, destroy_run, &d));
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(thread_sleeps(destroyer_tid(&d), SYS_futex));
		EXPECT_EQ(0, __atomic_load_n(&d.done, __ATOMIC_ACQUIRE));
		/* The memory is still valid. */
		EXPECT_EQ(d.id, events[i]->id);
		rdma_ack_cm_event(events[i]);
	}
	pthread_join(d.thread, NULL);
	EXPECT_EQ(1, d.done);
	EXPECT_EQ(0, channel_readable(channel, 0));
	rdma_destroy_event_channel(channel);
}

/*
 * rdma_migrate_id() returns after the ack of the last event of the old channel.
 * Acks of events from the new channel do not count.
 */
struct mover {
	pthread_t thread;
	struct rdma_cm_id *id;
	struct rdma_event_channel *to;
	pid_t tid;		/* atomic */
	int ret;
};

static void *move_run(void *arg)
{
	struct mover *m = arg;

	__atomic_store_n(&m->tid, gettid(), __ATOMIC_RELEASE);
	m->ret = rdma_migrate_id(m->id, m->to);
	return NULL;
}

TEST(RA_02_migrate_waits_for_acks_of_the_old_channel)
{
	struct rdma_event_channel *from = rdma_create_event_channel();
	struct rdma_cm_event *old, *new;
	struct mover m = { .ret = -1 };
	pid_t tid;
	int i;

	cmx_mem_atomic(&m.tid, sizeof(m.tid));
	m.to = rdma_create_event_channel();
	ASSERT_NE(NULL, from);
	ASSERT_NE(NULL, m.to);
	m.id = id_make(from);
	for (i = 1; i <= 2; i++)
		ASSERT_EQ(0, rdma_write_cm_event(m.id, RDMA_CM_EVENT_USER, 0,
						 i));
	ASSERT_EQ(0, event_wait(from, &old, WAIT_MS));
	ASSERT_EQ(0, pthread_create(&m.thread, NULL, move_run, &m));
	while (!(tid = __atomic_load_n(&m.tid, __ATOMIC_ACQUIRE)))
		usleep(1000);
	ASSERT_TRUE(thread_sleeps(tid, SYS_futex));
	/*
	 * The id migrated with the second event, and waits for the ack of the
	 * first.
	 */
	ASSERT_EQ(0, event_wait(m.to, &new, WAIT_MS));
	EXPECT_EQ(2, new->param.arg);
	rdma_ack_cm_event(new);
	EXPECT_TRUE(thread_sleeps(tid, SYS_futex));
	rdma_ack_cm_event(old);
	pthread_join(m.thread, NULL);
	EXPECT_EQ(0, m.ret);
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

/*
 * A listener migrates between two channels while requests arrive, and a reader
 * of each channel rejects them. The new id belongs to the channel that reported
 * the request.
 */
struct refuser {
	pthread_t thread;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *end;		/* reports the end */
	int requests;
	int wrong;
};

static void *refuse_run(void *arg)
{
	struct refuser *r = arg;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	for (;;) {
		if (event_wait(r->channel, &event, WAIT_MS)) {
			r->wrong = __LINE__;
			return NULL;
		}
		if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
			break;
		r->requests++;
		id = event->id;
		if (id->channel != r->channel)
			r->wrong = __LINE__;
		if (rdma_reject(id, NULL, 0))
			r->wrong = __LINE__;
		rdma_ack_cm_event(event);
		if (rdma_destroy_id(id))
			r->wrong = __LINE__;
	}
	rdma_ack_cm_event(event);
	return NULL;
}

/* Without a listener the CM would reject it, too, but nobody would count it. */
static void *refused_run(void *arg)
{
	struct client *client = arg;
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < client->rounds && !client->wrong; i++) {
		id = channel ? id_ready(channel, client->port) : NULL;
		if (!id) {
			client->wrong = __LINE__;
			break;
		}
		if (rdma_connect(id, NULL) ||
		    event_take(channel, NULL) != RDMA_CM_EVENT_REJECTED)
			client->wrong = __LINE__;
		rdma_destroy_qp(id);
		if (rdma_destroy_id(id))
			client->wrong = __LINE__;
	}
	rdma_destroy_event_channel(channel);
	__atomic_store_n(&client->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

TEST(RA_02_listener_moves_while_requests_come)
{
	struct client client = { .rounds = rounds_of(20),
				 .port = PORT_THREADS };
	struct refuser refusers[2] = {};
	struct rdma_cm_id *listener;
	int i, moves = 0;

	cmx_mem_atomic(&client.done, sizeof(client.done));
	for (i = 0; i < 2; i++) {
		refusers[i].channel = rdma_create_event_channel();
		ASSERT_NE(NULL, refusers[i].channel);
		refusers[i].end = id_make(refusers[i].channel);
	}
	listener = id_listening(refusers[0].channel, PORT_THREADS);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&refusers[i].thread, NULL,
					    refuse_run, &refusers[i]));
	ASSERT_EQ(0, pthread_create(&client.thread, NULL, refused_run,
				    &client));
	while (!__atomic_load_n(&client.done, __ATOMIC_ACQUIRE)) {
		ASSERT_EQ(0, rdma_migrate_id(listener,
					     refusers[++moves % 2].channel));
		usleep(2000);
	}
	pthread_join(client.thread, NULL);
	EXPECT_EQ(0, client.wrong);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, rdma_write_cm_event(refusers[i].end,
						 RDMA_CM_EVENT_USER, 0, 0));
		pthread_join(refusers[i].thread, NULL);
		EXPECT_EQ(0, refusers[i].wrong);
	}
	TH_LOG("%d moves, %d and %d requests", moves, refusers[0].requests,
	       refusers[1].requests);
	/* On a slow host the client's retries count, too. */
	EXPECT_LE(client.rounds, refusers[0].requests + refusers[1].requests);
	EXPECT_EQ(0, rdma_destroy_id(listener));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, rdma_destroy_id(refusers[i].end));
		rdma_destroy_event_channel(refusers[i].channel);
	}
}

/* The first use of the library, of libibverbs and of the device at once */
static pthread_barrier_t start;

static void *first_bind(void *arg)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;

	pthread_barrier_wait(&start);
	channel = rdma_create_event_channel();
	if (!channel)
		return "channel";
	id = id_make(channel);
	if (id_bind(id, OWN4, 0) || !id->verbs)
		return "bind";
	if (rdma_destroy_id(id))
		return "destroy";
	rdma_destroy_event_channel(channel);
	return NULL;
}

TEST(RA_02_first_use_by_many_threads)
{
	int i, threads = threads_of(16);
	pthread_t ids[16];
	void *failed;

	TH_LOG("%d threads", threads);
	ASSERT_EQ(0, pthread_barrier_init(&start, NULL, threads));
	for (i = 0; i < threads; i++)
		ASSERT_EQ(0, pthread_create(&ids[i], NULL, first_bind, NULL));
	for (i = 0; i < threads; i++) {
		pthread_join(ids[i], &failed);
		EXPECT_EQ(NULL, failed) {
			TH_LOG("%s", (char *)failed);
		}
	}
}

/* Threads that wait for a request of one listener */
struct getter {
	struct rdma_cm_id *listener;
	pthread_t thread;
	pid_t tid;		/* atomic */
	int err;
};

#define GETTERS	2

static void *request_get(void *arg)
{
	struct getter *g = arg;
	struct rdma_cm_id *id;

	__atomic_store_n(&g->tid, gettid(), __ATOMIC_RELEASE);
	g->err = rdma_get_request(g->listener, &id) ? errno : 0;
	return NULL;
}

/* Returns when they wait. */
static bool getters_start(struct getter *g, struct rdma_cm_id *listener)
{
	pid_t tid;
	int i;

	memset(g, 0, GETTERS * sizeof(*g));
	for (i = 0; i < GETTERS; i++) {
		cmx_mem_atomic(&g[i].tid, sizeof(g[i].tid));
		g[i].listener = listener;
		if (pthread_create(&g[i].thread, NULL, request_get, &g[i]))
			abort();
	}
	for (i = 0; i < GETTERS; i++) {
		while (!(tid = __atomic_load_n(&g[i].tid, __ATOMIC_ACQUIRE)))
			usleep(1000);
		if (!thread_sleeps(tid, SYS_ioctl))
			return false;
	}
	return true;
}

static void getters_end(struct getter *g)
{
	int i;

	for (i = 0; i < GETTERS; i++)
		pthread_join(g[i].thread, NULL);
}

/* Each has an event that is no request, and the listener holds one of them. */
TEST(RA_02_two_threads_get_no_request)
{
	struct rdma_cm_id *listener = id_listening(NULL, PORT_GETTERS);
	struct getter g[GETTERS];
	int i;

	ASSERT_TRUE(getters_start(g, listener));
	for (i = 0; i < GETTERS; i++)
		ASSERT_EQ(0, rdma_write_cm_event(listener, RDMA_CM_EVENT_USER,
						 0, 0));
	getters_end(g);
	for (i = 0; i < GETTERS; i++)
		EXPECT_EQ(EINVAL, g[i].err);
	EXPECT_EQ(0, rdma_destroy_id(listener));
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/* Its requests get no queue pair. */
static struct rdma_cm_id *listener_failing(void)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1 << 30, .max_recv_wr = 1 },
	};
	struct sockaddr_storage ss;
	struct rdma_addrinfo res = {
		.ai_flags = RAI_PASSIVE,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
		.ai_src_addr = addr_make(&ss, OWN4, PORT_GETTERS),
	};
	struct rdma_cm_id *listener;

	if (rdma_create_ep(&listener, &res, NULL, &attr) ||
	    rdma_listen(listener, GETTERS))
		abort();
	return listener;
}

/* The next call of a thread would drop the request that another one got. */
TEST(RA_02_a_thread_gets_no_queue_pair_while_another_waits)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *id;
	struct getter g[GETTERS];

	ASSERT_NE(NULL, channel);
	listener = listener_failing();
	ASSERT_TRUE(getters_start(g, listener));
	id = id_ready(channel, PORT_GETTERS);
	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, rdma_connect(id, NULL));
	EXPECT_EQ(1, channel_readable(channel, WAIT_MS));
	EXPECT_EQ(NULL, __atomic_load_n(&listener->event, __ATOMIC_RELAXED));
	rdma_destroy_ep(listener);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event_take(channel, NULL));
	getters_end(g);
	EXPECT_NE(g[0].err == ECANCELED, g[1].err == ECANCELED);
	rdma_destroy_ep(id);
	rdma_destroy_event_channel(channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/*
 * One thread finds its request in the listener. Once two have waited together,
 * another thread's next call could drop it, also if that is in no call now.
 */
TEST(RA_02_two_threads_get_no_queue_pair)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *failed, *ids[GETTERS];
	struct getter g[GETTERS];
	int i;

	ASSERT_NE(NULL, channel);
	listener = listener_failing();
	ids[0] = id_ready(channel, PORT_GETTERS);
	ASSERT_NE(NULL, ids[0]);
	ASSERT_EQ(0, rdma_connect(ids[0], NULL));
	EXPECT_EQ(-1, rdma_get_request(listener, &failed));
	ASSERT_NE(NULL, listener->event);
	failed = listener->event->id;
	EXPECT_EQ(0, rdma_reject(failed, NULL, 0));
	EXPECT_EQ(0, rdma_destroy_id(failed));
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event_take(channel, NULL));
	rdma_destroy_ep(ids[0]);

	ASSERT_TRUE(getters_start(g, listener));
	for (i = 0; i < GETTERS; i++) {
		ids[i] = id_ready(channel, PORT_GETTERS);
		ASSERT_NE(NULL, ids[i]);
	}
	/* The channel has no other event when the first one is rejected. */
	for (i = 0; i < GETTERS; i++)
		ASSERT_EQ(0, rdma_connect(ids[i], NULL));
	getters_end(g);
	for (i = 0; i < GETTERS; i++)
		EXPECT_NE(0, g[i].err);
	/* The last one was alone in its call. */
	EXPECT_EQ(NULL, listener->event);
	for (i = 0; i < GETTERS; i++)
		EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event_take(channel, NULL));
	rdma_destroy_ep(listener);
	for (i = 0; i < GETTERS; i++)
		rdma_destroy_ep(ids[i]);
	rdma_destroy_event_channel(channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_HARNESS_MAIN
