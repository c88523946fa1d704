// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A peer does not confirm a message, or there is no peer. The CM retransmits
 * the message until it gives up. The end of an ordinary user's id does not wait
 * for that.
 */
#include "uapi.h"

#include "harness.h"

/* A CM request without a reply times out after 69 s: 16 times 4.3 s. */
#define PROMPT_MS	30000
#define USER		1000

FIXTURE(retransmits) {
	int fd;
};

FIXTURE_SETUP(retransmits)
{
	ASSERT_EQ(0, user_enter(USER));
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(retransmits)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_ids", 0));
}

/* The peer has the reply of the passive id and does not send the RTU. */
static int half_connect(int fd, uint32_t *passive)
{
	uint32_t listener, active;
	union event_buf buf;

	return request_get(fd, RDMA_PS_TCP, 2, &listener, &active, passive) ?:
	       id_accept(fd, *passive, 3) ?:
	       event_want(fd, EV_CONNECT_RESPONSE, &buf);
}

static double destroy_ms(int fd, uint32_t id)
{
	double start = now_ms();

	id_destroy(fd, id);
	return now_ms() - start;
}

TEST_F_TIMEOUT(retransmits, reject_after_accept, 100)
{
	struct rdma_cmx_reject reject = {};

	ASSERT_EQ(0, half_connect(self->fd, &reject.id));
	EXPECT_EQ(-EINVAL, call(self->fd, REJECT, &reject));
	EXPECT_GT(PROMPT_MS, destroy_ms(self->fd, reject.id));
}

TEST_F_TIMEOUT(retransmits, accept_after_accept, 100)
{
	uint32_t passive;

	ASSERT_EQ(0, half_connect(self->fd, &passive));
	EXPECT_EQ(-EINVAL, id_accept(self->fd, passive, 4));
	EXPECT_GT(PROMPT_MS, destroy_ms(self->fd, passive));
}

/* No host has this address: the test sets its neighbour. */
#define ABSENT		"10.55.0.99"

/* The administrator sets it, and the test is the user again. */
static int command_run(const char *command)
{
	int ret = user_leave() || system(command);

	return user_enter(USER) || ret ? -EIO : 0;
}

static int neighbour_set(const char *mac)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "ip neigh replace " ABSENT " lladdr %s dev eth0 nud permanent",
		 mac);
	return command_run(command);
}

static int absent_connect(int fd, uint32_t *id)
{
	union event_buf buf;

	return neighbour_set("02:00:00:00:00:01") ?:
	       id_create(fd, RDMA_PS_TCP, 1, id) ?:
	       id_resolve_addr(fd, *id, NULL, ABSENT, 4420) ?:
	       event_want(fd, EV_ADDR_RESOLVED, &buf) ?:
	       id_resolve_route(fd, *id) ?:
	       event_want(fd, EV_ROUTE_RESOLVED, &buf) ?:
	       id_connect(fd, *id);
}

/* rdma_cm reports a changed neighbour, and the REQ remains outstanding. */
TEST_F_TIMEOUT(retransmits, answer_after_a_changed_neighbour, 200)
{
	struct rdma_cmx_reject reject = {};
	union event_buf buf;

	EXPECT_EQ(0, absent_connect(self->fd, &reject.id));
	EXPECT_EQ(0, neighbour_set("02:00:00:00:00:02"));
	EXPECT_EQ(0, event_want(self->fd, EV_UNREACHABLE, &buf));
	EXPECT_EQ(-EINVAL, call(self->fd, REJECT, &reject));
	EXPECT_EQ(-EINVAL, id_accept(self->fd, reject.id, 0));
	EXPECT_GT(PROMPT_MS, destroy_ms(self->fd, reject.id));
	EXPECT_EQ(0, command_run("ip neigh del " ABSENT " dev eth0"));
}

/* IBV_EVENT_COMM_EST */
#define COMM_EST	4

TEST_F_TIMEOUT(retransmits, destroy_after_notify, 100)
{
	struct rdma_cmx_id_arg notify = { .event = COMM_EST };
	int round;

	for (round = 0; round < 5; round++) {
		ASSERT_EQ(0, half_connect(self->fd, &notify.id));
		EXPECT_EQ(0, call(self->fd, NOTIFY, &notify));
		ASSERT_GT(PROMPT_MS, destroy_ms(self->fd, notify.id));
		close(self->fd);
		self->fd = dev_open(O_NONBLOCK);
		ASSERT_LE(0, self->fd);
	}
}

TEST_HARNESS_MAIN
