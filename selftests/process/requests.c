// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: threads that wait in rdma_get_request() for the same listener, which
 * holds one request for them.
 */
#include <sys/syscall.h>

#include "process.h"

#define PORT_GETTERS	7669

/* Threads that wait for a request of one listener; returns when they wait. */
#define GETTERS	2

static bool getters_start(struct caller *g, struct rdma_cm_id *listener)
{
	bool wait = true;
	int i;

	for (i = 0; i < GETTERS; i++)
		caller_start(&g[i], request_wait, listener);
	for (i = 0; i < GETTERS; i++)
		wait = caller_sleeps(&g[i], SYS_ioctl) && wait;
	return wait;
}

/* Their errnos */
static void getters_end(struct caller *g, int err[GETTERS])
{
	int i;

	for (i = 0; i < GETTERS; i++)
		err[i] = (intptr_t)caller_end(&g[i]);
}

/* Each has an event that is no request, and the listener holds one of them. */
TEST(RA_02_two_threads_get_no_request)
{
	struct rdma_cm_id *listener = id_listening(NULL, PORT_GETTERS);
	struct caller g[GETTERS];
	int i, err[GETTERS];

	ASSERT_TRUE(getters_start(g, listener));
	for (i = 0; i < GETTERS; i++)
		ASSERT_EQ(0, rdma_write_cm_event(listener, RDMA_CM_EVENT_USER,
						 0, 0));
	getters_end(g, err);
	for (i = 0; i < GETTERS; i++)
		EXPECT_EQ(EINVAL, err[i]);
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
	struct caller g[GETTERS];
	int err[GETTERS];

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
	getters_end(g, err);
	EXPECT_NE(err[0] == ECANCELED, err[1] == ECANCELED);
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
	struct caller g[GETTERS];
	int i, err[GETTERS];

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
	getters_end(g, err);
	for (i = 0; i < GETTERS; i++)
		EXPECT_NE(0, err[i]);
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
