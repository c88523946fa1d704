// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: threads. Many ids on many channels, a listener that migrates, the
 * first use of the library. See acks.c and requests.c for threads that wait.
 */
#include "process.h"

#define PORT_THREADS	7640

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

TEST_HARNESS_MAIN
