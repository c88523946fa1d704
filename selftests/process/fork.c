// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: fork(). A child changes no object of the parent, whatever it does with
 * its copies, and can use the library: connections, a device that a thread of
 * the parent opens, names, registered memory.
 */
#include <infiniband/verbs.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <sys/mman.h>

#include "process.h"

#define PORT_FORK	7620

static int just_exit(void *arg)
{
	return 0;
}

/* With atexit handlers and destructors of libraries */
static int full_exit(void *arg)
{
	exit(0);
}

/* Closes the channel before the id, in the wrong order. */
static int close_copy(void *arg)
{
	struct heritage *h = arg;

	rdma_destroy_event_channel(h->channel);
	return rdma_destroy_id(h->id);
}

static int resolve_events(struct rdma_cm_id *id)
{
	int status;

	if (id_resolve_addr(id, NULL, OWN4, PORT_FORK, &status) !=
	    RDMA_CM_EVENT_ADDR_RESOLVED)
		return __LINE__;
	if (rdma_resolve_route(id, 5000))
		return __LINE__;
	if (event_take(id->channel, &status) != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return __LINE__;
	return 0;
}

TEST(RA_02_child_leaves_the_parents_ids_alone)
{
	static int (*const ways[])(void *arg) = {
		just_exit, full_exit, heritage_destroy, close_copy,
	};
	struct rdma_cm_event *event;
	struct heritage h;
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		h.channel = rdma_create_event_channel();
		ASSERT_NE(NULL, h.channel);
		h.id = id_make(h.channel);
		/* One event is unread, one is not acked. */
		ASSERT_EQ(0, rdma_write_cm_event(h.id, RDMA_CM_EVENT_USER, 0,
						 1));
		ASSERT_EQ(0, rdma_write_cm_event(h.id, RDMA_CM_EVENT_USER, 0,
						 2));
		ASSERT_EQ(0, event_wait(h.channel, &event, WAIT_MS));
		EXPECT_EQ(1, event->param.arg);

		EXPECT_EQ(0, child_wait(child_start(ways[i], &h))) {
			TH_LOG("way %zu", i);
		}
		rdma_ack_cm_event(event);
		ASSERT_EQ(0, event_wait(h.channel, &event, WAIT_MS));
		EXPECT_EQ(2, event->param.arg);
		rdma_ack_cm_event(event);
		EXPECT_EQ(0, resolve_events(h.id));
		EXPECT_EQ(0, rdma_destroy_id(h.id));
		rdma_destroy_event_channel(h.channel);
	}
}

static int connect_in_child(void *arg)
{
	return connect_out(PORT_FORK);
}

/* Before and after the parent has used the device */
TEST(RA_02_child_uses_the_library_for_itself)
{
	struct server server;
	int i;

	server_start(&server, PORT_FORK);
	EXPECT_EQ(0, child_wait(child_start(connect_in_child, NULL)));
	/* Of three connections all may be overtaken, of nine not. */
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, connect_out(PORT_FORK));
		EXPECT_EQ(0, child_wait(child_start(connect_in_child, NULL)));
	}
	EXPECT_EQ(0, server_end(&server));
	EXPECT_TRUE(server_served(&server, 9));
}

/*
 * The address sanitizer leaves the lock of its allocator held in a child that
 * is forked while another thread allocates.
 */
#ifndef __SANITIZE_ADDRESS__

/*
 * fork() while another thread is inside the library: opening the device takes
 * some milliseconds under a lock.
 */
static void *bind_one(void *arg)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	if (!channel)
		return arg;
	id = id_make(channel);
	if (id_bind(id, OWN4, 0))
		return arg;
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return NULL;
}

static int bind_in_child(void *arg)
{
	return bind_one("failed") != NULL;
}

/* A separate process, so that the device is not open yet. */
static int fork_in_between(void *arg)
{
	int delay_us = *(int *)arg;
	pthread_t thread;
	void *failed;
	int status;

	if (pthread_create(&thread, NULL, bind_one, "failed"))
		return 1;
	usleep(delay_us);
	status = child_wait(child_start(bind_in_child, NULL));
	pthread_join(thread, &failed);
	return failed ? 2 : status ? 3 : 0;
}

TEST(RA_02_fork_while_a_thread_opens_the_device)
{
	int round, delay, rounds = rounds_of(20);

	TH_LOG("%d rounds", rounds);
	for (round = 0; round < rounds; round++) {
		delay = round * 1000;
		ASSERT_EQ(0, child_wait(child_start(fork_in_between, &delay))) {
			TH_LOG("after %d us", delay);
		}
	}
}

/* The parent's thread resolves a name, and still returns the result. */
TEST(RAI_07_fork_in_mid_lookup)
{
	struct heritage h;
	int status;

	setenv("RDMACMX_NAMES", "libc", 1);
	h.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, h.channel);
	h.id = id_make(h.channel);
	ASSERT_EQ(0, rdma_resolve_addrinfo(h.id, NAME_STORAGE, PORT, NULL));
	EXPECT_EQ(0, child_wait(child_start(close_copy, &h)));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(h.channel, &status));
	EXPECT_EQ(0, rdma_destroy_id(h.id));
	rdma_destroy_event_channel(h.channel);
}

#endif /* __SANITIZE_ADDRESS__ */

/* Memory that the device writes to stays with the parent. */
#define MESSAGE	"after the fork"

struct pair {
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;	/* of the request */
	char *buf;
	int wrong;
};

static void *receive(void *arg)
{
	struct pair *pair = arg;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	pair->wrong = 1;
	if (rdma_get_request(pair->listener, &id) || qp_make(id, IBV_QPT_RC))
		return NULL;
	mr = rdma_reg_msgs(id, pair->buf, 4096);
	if (!mr || rdma_post_recv(id, NULL, pair->buf, 4096, mr) ||
	    rdma_accept(id, NULL))
		return NULL;
	if (rdma_get_recv_comp(id, &wc) == 1 && !wc.status)
		pair->wrong = 0;
	rdma_dereg_mr(mr);
	/* The queue pair still has to acknowledge the message. */
	pair->id = id;
	return NULL;
}

static int scribble(void *arg)
{
	struct pair *pair = arg;

	/* The child may have no such page: no report of a sanitizer then */
	signal(SIGSEGV, SIG_DFL);
	memset(pair->buf, 'c', 4096);
	return 0;
}

TEST(RA_02_ibv_fork_init)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP }, *res;
	char text[] = MESSAGE;
	struct rdma_cm_id *id;
	struct pair pair = {};
	struct ibv_mr *mr;
	struct ibv_wc wc;
	pthread_t thread;

	ASSERT_EQ(0, ibv_fork_init());
	pair.buf = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, pair.buf);
	pair.listener = id_listening(NULL, PORT_FORK);
	ASSERT_EQ(0, pthread_create(&thread, NULL, receive, &pair));
	ASSERT_EQ(0, rdma_getaddrinfo(OWN4, "7620", &hints, &res));
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, NULL));
	rdma_freeaddrinfo(res);
	ASSERT_EQ(0, qp_make(id, IBV_QPT_RC));
	ASSERT_EQ(0, rdma_connect(id, NULL));

	/* The receive is posted. The copy of the child has no effect. */
	memset(text, 0, sizeof(text));
	strcpy(text, MESSAGE);
	EXPECT_GE(0, child_wait(child_start(scribble, &pair)));
	EXPECT_EQ(0, child_wait(child_start(just_exit, NULL)));

	mr = rdma_reg_msgs(id, text, sizeof(text));
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, rdma_post_send(id, NULL, text, sizeof(text), mr, 0));
	EXPECT_EQ(1, rdma_get_send_comp(id, &wc));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, pair.wrong);
	EXPECT_STREQ(MESSAGE, pair.buf);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(pair.id);
	rdma_destroy_ep(pair.listener);
	munmap(pair.buf, 4096);
}

TEST_HARNESS_MAIN
