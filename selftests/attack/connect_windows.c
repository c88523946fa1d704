// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user connects to many private listeners and accepts late, so that the limit
 * of each of them halves. Afterwards destinations of other users, with earlier
 * connections, still have the initial limit.
 *
 * connect_window is 128: a destination has 32 slots at the start, 16 of which
 * are for all users. With half of the limit these are 8.
 */
#include "uapi.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness.h"

#define WINDOW		PARAMETERS "connect_window"
#define REPLY_MS	PARAMETERS "connect_reply_ms"
#define WAIT_MS		PARAMETERS "connect_wait_ms"
#define HOUR_MS		3600000
#define DESTS		32
#define LISTENERS	320	/* of the attacker */
#define FIRST		8	/* its first requests, replied late */
#define ATTEMPTS	10	/* 8 have a slot, and one of the user */

static struct shared {
	uint16_t ports[FIRST];
	_Atomic uint32_t calls;
	_Atomic bool done;
} *shared;

/* id_connect() and id_accept() use only 256 numbers in each process. */
static void param_set(struct rdma_cmx_conn_param *param)
{
	param->qp_num = 1 << 23 | ++shared->calls;
	param->retry_count = 7;
	param->rnr_retry_count = 7;
	param->responder_resources = 1;
	param->initiator_depth = 1;
}

static int request_send(int fd, uint16_t port)
{
	struct rdma_cmx_connect arg = {};
	int ret = active_new(fd, 2, port, &arg.id);

	param_set(&arg.param);
	return ret ?: call(fd, CONNECT, &arg);
}

static int request_accept(int fd, uint32_t id)
{
	struct rdma_cmx_connect arg = { .id = id, .uid = 3 };

	param_set(&arg.param);
	return call(fd, ACCEPT, &arg);
}

/* Accepts the request of @passive, and waits for the response. */
static int reply(int passive, uint32_t request, int fd)
{
	union event_buf buf;

	return request_accept(passive, request) ?:
	       event_want(fd, EV_CONNECT_RESPONSE, &buf);
}

/*
 * Receives all requests before it accepts any. The last ones get a slot when
 * the first ones no longer count.
 */
static int attack(int fd, int passive)
{
	static uint32_t requests[LISTENERS];
	union event_buf buf;
	uint16_t port;
	uint32_t id;
	int i, ret;

	for (i = 0; i < LISTENERS; i++) {
		ret = listener_new(passive, 1, &id, &port) ?:
		      request_send(fd, port);
		if (ret)
			return ret;
		if (i < FIRST)
			shared->ports[i] = port;
	}
	for (i = 0; i < LISTENERS; i++) {
		ret = event_want(passive, EV_CONNECT_REQUEST, &buf);
		if (ret)
			return ret;
		requests[i] = buf.ev.obj;
	}
	for (i = 0; i < LISTENERS && !ret; i++)
		ret = reply(passive, requests[i], fd);
	return ret;
}

static int attack_run(void *arg)
{
	int fd = dev_open(O_NONBLOCK), passive = dev_open(O_NONBLOCK);
	int ret = attack(fd, passive);

	if (ret) {
		fprintf(stderr, "# the attacker's error: %d\n", ret);
		return 1;
	}
	close(fd);
	shared->done = true;
	pause();
	return 0;
}

/* Number of attempts that are sent at once, without any reply */
static int sent_at_once(uint16_t port)
{
	int fd = dev_open(O_NONBLOCK), n = 0;

	while (n < ATTEMPTS && !request_send(fd, port) && !number_get(WAITS))
		n++;
	close(fd);
	return number_gone(WAITS) ? n : -1;
}

FIXTURE(windows) {
	long window, reply, wait;
	pid_t pid;
	int fd;
	uint16_t ports[DESTS];
};

FIXTURE_SETUP(windows)
{
	uint32_t id;
	int i;

	ASSERT_TRUE(counter_wait("live_files", 0));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)shared);
	self->window = number_get(WINDOW);
	self->reply = number_get(REPLY_MS);
	self->wait = number_get(WAIT_MS);
	ASSERT_EQ(0, number_set(WINDOW, 128));
	/* No attempt ends by itself, on a slow host either. */
	ASSERT_EQ(0, number_set(REPLY_MS, HOUR_MS));
	ASSERT_EQ(0, number_set(WAIT_MS, HOUR_MS));
	self->fd = dev_open(O_NONBLOCK);
	for (i = 0; i < DESTS; i++)
		ASSERT_EQ(0, listener_new(self->fd, 1, &id, &self->ports[i]));
}

FIXTURE_TEARDOWN(windows)
{
	pids_kill(&self->pid, 1);
	close(self->fd);
	number_set(WINDOW, self->window);
	number_set(REPLY_MS, self->reply);
	number_set(WAIT_MS, self->wait);
	munmap(shared, sizeof(*shared));
	EXPECT_TRUE(nothing_left());
}

TEST_F_TIMEOUT(windows, many, 280)
{
	int fd = dev_open(O_NONBLOCK), i, shrunk = 0;
	double end = now_ms() + 240000;
	union event_buf buf;

	for (i = 0; i < DESTS; i++) {
		ASSERT_EQ(0, request_send(fd, self->ports[i]));
		ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
		ASSERT_EQ(0, reply(self->fd, buf.ev.obj, fd));
	}
	close(fd);
	ASSERT_EQ(0, number_set(REPLY_MS, 500));
	self->pid = user_start(2000, attack_run, NULL);
	while (!shared->done && now_ms() < end &&
	       !waitpid(self->pid, NULL, WNOHANG))
		poll(NULL, 0, 20);
	ASSERT_TRUE((bool)shared->done);
	ASSERT_EQ(0, number_set(REPLY_MS, HOUR_MS));
	/* The attacker's destinations have the limits of a slow listener. */
	for (i = 0; i < FIRST; i++)
		shrunk += sent_at_once(shared->ports[i]) == ATTEMPTS - 1;
	EXPECT_LT(0, shrunk);
	for (i = 0; i < DESTS; i++)
		EXPECT_EQ(ATTEMPTS, sent_at_once(self->ports[i]));
}

TEST_HARNESS_MAIN
