// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-02 for user space: rdmacmx_connect_name() with connections that race, and with
 * threads that share a channel.
 */
#include <rdma/rdma_cmx_ioctl.h>

#include "api.h"
#include "connect_name.h"
#include "intercept.h"

/*
 * Connections race. The first address does not reply, and is left as soon as the
 * second one does.
 */
TEST_F(name, KA_02_race_silent_peer)
{
	struct listener silent = {};
	int status = -1;

	self->attr.flags = RDMACMX_CONNECT_RACE;
	ASSERT_EQ(0, listener_start(&silent, OWN6, false));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_NE(NULL, self->id->qp);
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
	EXPECT_EQ(self->id->verbs, self->id->qp->context);
	EXPECT_EQ(self->id, self->id->send_cq->cq_context);
	EXPECT_EQ(self, self->id->context);
	EXPECT_TRUE(becomes(&self->listener.established, 1));
	EXPECT_STREQ("hello", self->listener.data);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	/* Not ETIMEDOUT: the second did not wait for its end. */
	EXPECT_EQ(ECANCELED, self->list[0].error);
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(0, self->list[1].error);
	EXPECT_TRUE(becomes(&silent.requests, 1));
	EXPECT_EQ(0, __atomic_load_n(&silent.established, __ATOMIC_ACQUIRE));
	EXPECT_EQ(0, rdma_disconnect(self->id));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, event_take(self->channel, NULL));
	listener_end(&silent);
}

/* The first address has no listener; and both accept. */
TEST_F(name, KA_02_race_next_address)
{
	struct listener first = {};

	self->attr.flags = RDMACMX_CONNECT_RACE;
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	EXPECT_EQ(28, self->list[0].reason);
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	rdma_destroy_ep(self->id);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
				    RDMA_PS_TCP));
	ASSERT_EQ(0, listener_start(&first, OWN6, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
	listener_end(&first);
}

TEST_F(name, KA_02_race_all_fail)
{
	const struct rdma_addrinfo udp = {
		.ai_port_space = RDMA_PS_UDP, .ai_qp_type = IBV_QPT_UD,
	};
	int status = 0;

	self->attr.flags = RDMACMX_CONNECT_RACE;
	/* No listener, by either address */
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ECONNREFUSED, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(NULL, self->id->qp);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	EXPECT_EQ(ECONNREFUSED, self->list[1].error);
	/* No device: no queue pair is made. */
	ASSERT_EQ(0, CONNECT("plain.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENETUNREACH, status);
	ASSERT_EQ(1, REPORT());
	EXPECT_EQ(RDMACMX_STEP_NO_DEVICE, self->list[0].step);
	/* More than any device can do: no queue pair either */
	self->qp.cap.max_send_wr = 1 << 30;
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_GT(0, status);
	/* None is made for an address that the kernel would not start. */
	ASSERT_EQ(0, rdmacmx_connect_name(self->id, OWN4, LISTEN_TEXT, &udp,
					  &self->attr));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENETUNREACH, status);
	ASSERT_EQ(1, REPORT());
	EXPECT_EQ(EPROTOTYPE, self->list[0].error);
	self->qp.cap.max_send_wr = 1;
	/* The deadline; then the same id connects. */
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	self->attr.timeout_ms = 2000;
	ASSERT_EQ(0, CONNECT(OWN4));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ETIMEDOUT, status);
	EXPECT_EQ(NULL, self->id->qp);
	listener_end(&self->listener);
	self->attr.timeout_ms = 120000;
	memset(&self->listener, 0, sizeof(self->listener));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT(OWN4));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
}

/* Eight dead addresses are before the one that replies. */
TEST_F(name, KA_02_race_ninth_address)
{
	struct rdmacmx_candidate list[9];

	self->attr.flags = RDMACMX_CONNECT_RACE;
	self->attr.delay_ms = 10;
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("nine.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	ASSERT_EQ(9, rdmacmx_connect_report(self->id, list, 9));
	EXPECT_TRUE(dst_is(&list[8], OWN4));
	EXPECT_EQ(RDMACMX_STEP_UP, list[8].step);
}

TEST_F(name, KA_02_race_destroyed)
{
	struct rdma_cm_id *other;

	self->attr.flags = RDMACMX_CONNECT_RACE;
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	ASSERT_EQ(0, rdma_create_id(self->channel, &other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, CONNECT("second.test"));
	until_requested(self, other);
	REFUSED(EBUSY, REPORT());
	EXPECT_EQ(NULL, self->id->qp);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_F(name, KA_02_race_synchronous)
{
	self->attr.flags = RDMACMX_CONNECT_RACE;
	connect_synchronous(_metadata, self);
}

/* The reply that a thread has read and not processed, see KA_02_late_reply. */
static struct {
	int armed;		/* hold the next one; all are atomic */
	int held;
	int released;
	int reads;		/* of that thread, since then */
} late;

static __thread bool late_reader;

static void late_hold(const struct rdma_cmx_get_events *cmd)
{
	const struct rdma_cmx_event *ev = (void *)(uintptr_t)cmd->buf;

	if (ev->event != RDMA_CM_EVENT_CONNECT_RESPONSE ||
	    !__atomic_exchange_n(&late.armed, 0, __ATOMIC_ACQ_REL))
		return;
	late_reader = true;
	__atomic_store_n(&late.held, 1, __ATOMIC_RELEASE);
	becomes(&late.released, 1);
}

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	int ret;

	if (request != RDMA_CMX_IO(GET_EVENTS))
		return ioctl_real(fd, request, arg);
	if (late_reader)
		__atomic_add_fetch(&late.reads, 1, __ATOMIC_RELEASE);
	ret = ioctl_real(fd, request, arg);
	if (!ret)
		late_hold(arg);
	return ret;
}

struct reader {
	struct rdma_event_channel *channel;
	pthread_t thread;
	int event;		/* atomic; -1: none yet */
};

static void *reader_run(void *arg)
{
	struct reader *r = arg;
	struct rdma_cm_event *event;

	if (!rdma_get_cm_event(r->channel, &event)) {
		__atomic_store_n(&r->event, event->event, __ATOMIC_RELEASE);
		rdma_ack_cm_event(event);
	}
	return NULL;
}

static int reader_start(struct reader *r, struct rdma_event_channel *channel)
{
	r->channel = channel;
	r->event = -1;
	return pthread_create(&r->thread, NULL, reader_run, r);
}

static int reader_event(struct reader *r)
{
	return __atomic_load_n(&r->event, __ATOMIC_ACQUIRE);
}

/* Has one of both an event? */
static bool reader_done(struct reader r[2])
{
	long long end = now_ms() + WAIT_MS;

	while (reader_event(&r[0]) < 0 && reader_event(&r[1]) < 0) {
		if (now_ms() > end)
			return false;
		poll(NULL, 0, 10);
	}
	return true;
}

/*
 * A thread reads the reply of the first peer, which withdraws it. Another thread
 * reads that, and sends the request to the second peer. The reply is no reply to
 * that one.
 */
TEST_F(name, KA_02_late_reply)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	struct listener first = {};
	struct reader r[2];
	long long end;

	ASSERT_EQ(0, listener_start(&first, OWN6, true));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	__atomic_store_n(&late.armed, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, CONNECT("both.test"));
	ASSERT_EQ(0, reader_start(&r[0], self->channel));
	ASSERT_TRUE(becomes(&late.held, 1));
	ASSERT_EQ(0, reader_start(&r[1], self->channel));
	ASSERT_TRUE(becomes(&first.requests, 1));
	rdma_destroy_ep(first.peers[0]);
	first.peers[0] = NULL;
	EXPECT_TRUE(becomes(&self->listener.requests, 1));
	__atomic_store_n(&late.released, 1, __ATOMIC_RELEASE);
	for (end = now_ms() + WAIT_MS; now_ms() < end; poll(NULL, 0, 10))
		if (reader_event(&r[0]) >= 0 ||
		    __atomic_load_n(&late.reads, __ATOMIC_ACQUIRE))
			break;
	EXPECT_EQ(-1, reader_event(&r[0]));
	EXPECT_EQ(-1, reader_event(&r[1]));
	EXPECT_EQ(0, qp_make(self->listener.peers[0], IBV_QPT_RC));
	EXPECT_EQ(0, rdma_accept(self->listener.peers[0], &param));
	EXPECT_TRUE(reader_done(r));
	rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, 0);
	pthread_join(r[0].thread, NULL);
	pthread_join(r[1].thread, NULL);
	EXPECT_TRUE(r[0].event == RDMA_CM_EVENT_ESTABLISHED ||
		    r[1].event == RDMA_CM_EVENT_ESTABLISHED);
	EXPECT_TRUE(r[0].event == RDMA_CM_EVENT_USER ||
		    r[1].event == RDMA_CM_EVENT_USER);
	ASSERT_NE(NULL, self->id->qp);
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
	EXPECT_TRUE(becomes(&self->listener.established, 1));
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	listener_end(&first);
}

TEST_HARNESS_MAIN
