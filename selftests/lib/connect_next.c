// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-02 for user space: the peer of the first address accepts, and ends before
 * the reply is processed. rdmacmx_connect_name() goes on with the next address.
 */
#include <rdma/rdma_cmx_ioctl.h>

#include "api.h"
#include "connect_name.h"
#include "intercept.h"

static struct listener *dies;		/* at the first reply */
static int rejected;			/* events of the first address */

/* Of this id the reject overtakes the reply; or NULL */
static struct rdma_cm_id *overtakes;
static int overtaking;			/* the event of that */

/* Until the kernel has the reject, behind the reply */
static void die(int fd, uint32_t handle)
{
	struct rdma_cmx_conn_qp_attr cmd = { .size = sizeof(cmd), .id = handle };
	struct listener *l = dies;
	int i;

	dies = NULL;
	if (!becomes(&l->requests, 1))
		return;
	rdma_destroy_ep(l->peers[0]);
	l->peers[0] = NULL;
	for (i = 0; i < WAIT_MS / 10; i++) {
		if (ioctl_real(fd, RDMA_CMX_IO(CONN_QP_ATTR), &cmd))
			return;
		poll(NULL, 0, 10);
	}
}

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	struct rdma_cmx_get_events *get = arg;
	const struct rdma_cmx_event *ev;
	int ret = ioctl_real(fd, request, arg);

	if (ret || request != RDMA_CMX_IO(GET_EVENTS))
		return ret;
	ev = (void *)(uintptr_t)get->buf;
	if (ev->event == RDMA_CM_EVENT_REJECTED)
		rejected++;
	if (!dies || ev->event != RDMA_CM_EVENT_CONNECT_RESPONSE)
		return 0;
	die(fd, ev->id);
	if (!overtakes)
		return 0;
	overtaking = event_take(overtakes->channel, NULL);
	/* The reader of the reply needs an event to return. */
	rdma_write_cm_event(overtakes, RDMA_CM_EVENT_USER, 0, 0);
	return 0;
}

static void connect_both(struct __test_metadata *_metadata,
			 FIXTURE_DATA(name) *self)
{
	struct listener first = {};
	int status = -1;

	ASSERT_EQ(0, listener_start(&first, OWN6, true));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	dies = &first;
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(overtakes ? RDMA_CM_EVENT_USER : RDMA_CM_EVENT_ESTABLISHED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	if (overtakes)
		EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, overtaking);
	EXPECT_EQ(NULL, dies);
	/* Its reject has come, and the program has not received it. */
	EXPECT_EQ(1, rejected);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_NE(NULL, self->id->qp);
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
	ASSERT_EQ(2, REPORT());
	EXPECT_TRUE(dst_is(&self->list[0], OWN6));
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_NE(0, self->list[0].error);
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	listener_end(&first);
}

TEST_F(name, KA_02_peer_that_accepts_and_dies)
{
	connect_both(_metadata, self);
}

TEST_F(name, KA_02_winner_that_accepts_and_dies)
{
	self->attr.flags = RDMACMX_CONNECT_RACE;
	/* The second one starts when the first has failed. */
	self->attr.delay_ms = 60000;
	connect_both(_metadata, self);
}

/* Two threads read the channel: the reply is processed when all is over. */
TEST_F(name, KA_02_reject_overtakes_the_reply)
{
	overtakes = self->id;
	connect_both(_metadata, self);
}

TEST_F(name, KA_02_reject_overtakes_the_reply_of_the_winner)
{
	overtakes = self->id;
	self->attr.flags = RDMACMX_CONNECT_RACE;
	self->attr.delay_ms = 60000;
	connect_both(_metadata, self);
}

/* None is left. */
TEST_F(name, KA_02_only_peer_accepts_and_dies)
{
	int status = 0;

	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	dies = &self->listener;
	ASSERT_EQ(0, CONNECT(OWN4));
	EXPECT_EQ(RDMA_CM_EVENT_CONNECT_ERROR,
		  event_take(self->channel, &status));
	EXPECT_GT(0, status);
	EXPECT_EQ(NULL, self->id->qp);
	ASSERT_EQ(1, REPORT());
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_NE(0, self->list[0].error);
}

TEST_HARNESS_MAIN
