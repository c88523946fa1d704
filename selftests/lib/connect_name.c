// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-02 for user space: rdmacmx_connect_name(). Names are in a private
 * /etc/hosts, IPv6 addresses come first there: fd55::1 and 10.55.0.1 are here,
 * fd55::77 and 10.55.0.77 are nowhere. The listener is a thread.
 */
#include <pthread.h>
#include <string.h>
#include <rdma/rdma_cmx.h>

#include "api.h"

#define DEAD6		"fd55::77"
#define LISTEN_PORT	7488
#define LISTEN_TEXT	"7488"
#define CANDIDATES	8

#define HOSTS							\
	"fd55::1 both.test\n10.55.0.1 both.test\n"		\
	"fd55::77 second.test\n10.55.0.1 second.test\n"		\
	"fd55::77 dead.test\n10.55.0.77 dead.test\n"		\
	"192.168.77.1 plain.test\n"

struct listener {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct rdma_cm_id *peers[CANDIDATES];
	pthread_t thread;
	bool accepts;
	int requests;		/* atomic */
	int established;	/* likewise */
	char data[32];		/* of the first request */
};

FIXTURE(name) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct listener listener;
	struct ibv_qp_init_attr qp;
	struct rdma_conn_param param;
	struct rdmacmx_connect_attr attr;
	struct rdmacmx_candidate list[CANDIDATES];
};

FIXTURE_SETUP(name)
{
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, etc_private("hosts", HOSTS));
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
				    RDMA_PS_TCP));
	self->qp.cap.max_send_wr = 1;
	self->qp.cap.max_recv_wr = 1;
	self->qp.cap.max_send_sge = 1;
	self->qp.cap.max_recv_sge = 1;
	self->param.private_data = "hello";
	self->param.private_data_len = 6;
	self->param.retry_count = 7;
	self->param.rnr_retry_count = 7;
	self->attr.qp_init_attr = &self->qp;
	self->attr.conn_param = &self->param;
	self->attr.timeout_ms = 120000;
}

static void listener_end(struct listener *l)
{
	int i;

	if (!l->channel)
		return;
	rdma_write_cm_event(l->id, RDMA_CM_EVENT_USER, 0, 0);
	pthread_join(l->thread, NULL);
	for (i = 0; i < CANDIDATES && l->peers[i]; i++)
		rdma_destroy_ep(l->peers[i]);
	rdma_destroy_id(l->id);
	rdma_destroy_event_channel(l->channel);
	memset(l, 0, sizeof(*l));
}

/* Connections of this test in this process; GSI and SMI have other types. */
static bool queue_pairs_gone(void)
{
	return wait_for(WAIT_MS, "! rdma resource show qp | grep -q 'type RC'");
}

FIXTURE_TEARDOWN(name)
{
	if (self->id)
		rdma_destroy_ep(self->id);
	listener_end(&self->listener);
	rdma_destroy_event_channel(self->channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
	EXPECT_TRUE(queue_pairs_gone());
}

static void listener_request(struct listener *l, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .rnr_retry_count = 7 };
	int n = l->requests;

	if (n < CANDIDATES)
		l->peers[n] = event->id;
	if (!n)
		memcpy(l->data, event->param.conn.private_data,
		       sizeof(l->data));
	if (l->accepts && !qp_make(event->id, IBV_QPT_RC))
		rdma_accept(event->id, &param);
	__atomic_store_n(&l->requests, n + 1, __ATOMIC_RELEASE);
}

static void *listener_run(void *arg)
{
	struct listener *l = arg;
	struct rdma_cm_event *event;
	int type;

	do {
		if (rdma_get_cm_event(l->channel, &event))
			return NULL;
		type = event->event;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			listener_request(l, event);
		/* Only then the other side has its event. */
		if (type == RDMA_CM_EVENT_DISCONNECTED)
			rdma_disconnect(event->id);
		if (type == RDMA_CM_EVENT_ESTABLISHED)
			__atomic_add_fetch(&l->established, 1,
					   __ATOMIC_RELEASE);
		rdma_ack_cm_event(event);
	} while (type != RDMA_CM_EVENT_USER);
	return NULL;
}

static int listener_start(struct listener *l, const char *address, bool accepts)
{
	l->accepts = accepts;
	l->channel = rdma_create_event_channel();
	if (!l->channel ||
	    rdma_create_id(l->channel, &l->id, NULL, RDMA_PS_TCP) ||
	    id_bind(l->id, address, LISTEN_PORT) || rdma_listen(l->id, 4))
		return -1;
	return pthread_create(&l->thread, NULL, listener_run, l);
}

static bool becomes(const int *number, int value)
{
	long long end = now_ms() + WAIT_MS;

	while (__atomic_load_n(number, __ATOMIC_ACQUIRE) != value) {
		if (now_ms() > end)
			return false;
		poll(NULL, 0, 10);
	}
	return true;
}

#define CONNECT(name) \
	rdmacmx_connect_name(self->id, name, LISTEN_TEXT, NULL, &self->attr)
#define REPORT() \
	rdmacmx_connect_report(self->id, self->list, CANDIDATES)

static bool dst_is(const struct rdmacmx_candidate *c, const char *text)
{
	char buf[128];

	return !strcmp(host_text((const void *)&c->dst, buf, sizeof(buf)),
		       text);
}

static enum ibv_qp_state qp_state(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init) ?
	       IBV_QPS_UNKNOWN : attr.qp_state;
}

#define REFUSED(err, call) do {						\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(err, errno);						\
} while (0)

TEST_F(name, KA_02_refused)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE };

	REFUSED(EINVAL, rdmacmx_connect_name(NULL, "both.test", "1", NULL, NULL));
	REFUSED(EINVAL, rdmacmx_connect_name(self->id, NULL, NULL, NULL, NULL));
	REFUSED(EINVAL, rdmacmx_connect_name(self->id, "both.test", "1",
					     &hints, NULL));
	hints.ai_flags = RAI_SA;
	REFUSED(EPROTOTYPE, rdmacmx_connect_name(self->id, NULL, "a", &hints,
						 NULL));
	self->attr.reserved[4] = 1;
	REFUSED(EINVAL, CONNECT("both.test"));
	self->attr.reserved[4] = 0;
	self->attr.qp_init_attr = NULL;
	REFUSED(EINVAL, CONNECT("both.test"));
	self->attr.qp_init_attr = &self->qp;
	self->attr.device = "nosuch0";
	REFUSED(ENODEV, CONNECT("10.55.0.1"));
	self->attr.device = NULL;
	REFUSED(ENOENT, REPORT());
	REFUSED(EINVAL, rdmacmx_connect_report(self->id, NULL, 1));
	REFUSED(EINVAL, rdmacmx_connect_report(self->id, self->list, -1));
	self->attr.flags = 1 << 1;
	REFUSED(EINVAL, CONNECT("both.test"));
	self->attr.flags = RDMACMX_CONNECT_RACE;
	self->attr.qp_init_attr = NULL;
	self->attr.conn_param = NULL;
	REFUSED(EINVAL, CONNECT("both.test"));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	REFUSED(EINVAL, CONNECT("both.test"));
}

/* One call, one event: bound, addressed and routed. */
TEST_F(name, KA_02_routed)
{
	char text[128];
	int status = -1;

	ASSERT_EQ(0, rdmacmx_connect_name(self->id, "second.test", LISTEN_TEXT,
					  NULL, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_STREQ(OWN4 ":" LISTEN_TEXT,
		     addr_text(rdma_get_peer_addr(self->id), text,
			       sizeof(text)));
	EXPECT_STREQ(OWN4, host_text(rdma_get_local_addr(self->id), text,
				     sizeof(text)));
	EXPECT_NE(NULL, self->id->verbs);
	EXPECT_NE(NULL, self->id->pd);
	EXPECT_EQ(NULL, self->id->qp);

	ASSERT_EQ(2, REPORT());
	EXPECT_TRUE(dst_is(&self->list[0], DEAD6));
	EXPECT_EQ(RDMACMX_STEP_ADDR, self->list[0].step);
	EXPECT_NE(0, self->list[0].error);
	EXPECT_STREQ("rxe0", self->list[0].device);
	EXPECT_TRUE(dst_is(&self->list[1], OWN4));
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(0, self->list[1].error);
	EXPECT_EQ(1, self->list[1].port);
	EXPECT_EQ(2, rdmacmx_connect_report(self->id, NULL, 0));

	/* It goes on as any other id. */
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, qp_make(self->id, IBV_QPT_RC));
	ASSERT_EQ(0, rdma_connect(self->id, &self->param));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
}

/* One call, one event: connected. The first address is dead. */
TEST_F(name, KA_02_connected)
{
	int status = -1;

	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("second.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	ASSERT_NE(NULL, self->id->qp);
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
	EXPECT_EQ(self, self->id->context);
	EXPECT_TRUE(becomes(&self->listener.established, 1));
	EXPECT_EQ(1, self->listener.requests);
	EXPECT_STREQ("hello", self->listener.data);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(0, rdma_disconnect(self->id));
	EXPECT_EQ(RDMA_CM_EVENT_DISCONNECTED, event_take(self->channel, NULL));
}

/* The first address has no listener. */
TEST_F(name, KA_02_next_address)
{
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	ASSERT_EQ(2, REPORT());
	EXPECT_TRUE(dst_is(&self->list[0], OWN6));
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	/* A listener has the port, but not the address: rdma_cm rejects. */
	EXPECT_EQ(28, self->list[0].reason);
	EXPECT_EQ(RDMACMX_STEP_UP, self->list[1].step);
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->id));
}

/* The first address does not reply: it has its share of the time. */
TEST_F(name, KA_02_silent_peer)
{
	struct listener silent = {};

	ASSERT_EQ(0, listener_start(&silent, OWN6, false));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_REQUEST, self->list[0].step);
	EXPECT_EQ(ETIMEDOUT, self->list[0].error);
	EXPECT_EQ(0, self->list[1].error);
	EXPECT_EQ(1, silent.requests);
	listener_end(&silent);
}

TEST_F(name, KA_02_all_dead)
{
	int status = 0;

	/* No listener, by either address */
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event_take(self->channel, &status));
	EXPECT_EQ(8, status);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(NULL, self->id->qp);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(ECONNREFUSED, self->list[0].error);
	EXPECT_EQ(ECONNREFUSED, self->list[1].error);
}

TEST_F(name, KA_02_no_route)
{
	int status = 0;

	ASSERT_EQ(0, CONNECT("dead.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_GT(0, status);
	ASSERT_EQ(2, REPORT());
	EXPECT_EQ(RDMACMX_STEP_ADDR, self->list[0].step);
	EXPECT_EQ(RDMACMX_STEP_ADDR, self->list[1].step);
	/* The same id, another name */
	ASSERT_EQ(0, CONNECT("plain.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENETUNREACH, status);
	ASSERT_EQ(1, REPORT());
	EXPECT_EQ(RDMACMX_STEP_NO_DEVICE, self->list[0].step);
	EXPECT_STREQ("", self->list[0].device);
	ASSERT_EQ(0, CONNECT("nosuch.cmx.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ENOENT, status);
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT("10.55.0.1"));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
}

/* The deadline, where no first attempt is over before it */
TEST_F(name, KA_02_deadline)
{
	int status = 0;

	self->attr.timeout_ms = 300;
	ASSERT_EQ(0, CONNECT(DEAD6));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ETIMEDOUT, status);
	self->attr.timeout_ms = 8000;
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	ASSERT_EQ(0, CONNECT(OWN4));
	EXPECT_EQ(RDMA_CM_EVENT_UNREACHABLE,
		  event_take(self->channel, &status));
	EXPECT_EQ(-ETIMEDOUT, status);
	EXPECT_EQ(NULL, self->id->qp);
}

TEST_F(name, KA_02_second_call_is_busy)
{
	ASSERT_EQ(0, CONNECT("dead.test"));
	REFUSED(EBUSY, CONNECT("both.test"));
	REFUSED(EBUSY, rdma_resolve_addrinfo(self->id, OWN4, "1", NULL));
}

/* Destroyed at each step; the fixture looks for what is left. */
TEST_F(name, KA_02_destroyed_while_the_name_is_resolved)
{
	char name[128];

	name_fresh("silent.test", name, sizeof(name));
	ASSERT_EQ(0, CONNECT(name));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/* Without another event in between, rdma_get_cm_event() would wait. */
static void events_run(struct rdma_event_channel *channel,
		       struct rdma_cm_id *other)
{
	rdma_write_cm_event(other, RDMA_CM_EVENT_USER, 0, 0);
	event_take(channel, NULL);
}

static void until_requested(FIXTURE_DATA(name) *self, struct rdma_cm_id *other)
{
	while (!__atomic_load_n(&self->listener.requests, __ATOMIC_ACQUIRE) &&
	       channel_readable(self->channel, 1000) >= 0)
		events_run(self->channel, other);
}

TEST_F(name, KA_02_destroyed_while_addresses_race)
{
	struct rdma_cm_id *other;

	ASSERT_EQ(0, rdma_create_id(self->channel, &other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, CONNECT("dead.test"));
	/* The name is resolved here, the race starts. */
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	events_run(self->channel, other);
	REFUSED(EBUSY, REPORT());
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_F(name, KA_02_destroyed_while_it_connects)
{
	struct rdma_cm_id *other;

	ASSERT_EQ(0, listener_start(&self->listener, OWN4, false));
	ASSERT_EQ(0, rdma_create_id(self->channel, &other, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, CONNECT(OWN4));
	until_requested(self, other);
	EXPECT_NE(NULL, self->id->qp);
	/* Not rdma_destroy_ep(): the program has no queue pair yet. */
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, rdma_destroy_id(other));
}

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
	/* More than any device can do: no queue pair either */
	self->qp.cap.max_send_wr = 1 << 30;
	ASSERT_EQ(0, CONNECT("both.test"));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_ERROR,
		  event_take(self->channel, &status));
	EXPECT_GT(0, status);
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
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, CONNECT(OWN4));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
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

/* Without a channel the call waits. */
static void synchronous(struct __test_metadata *_metadata,
			FIXTURE_DATA(name) *self)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdmacmx_connect_name(id, "both.test", LISTEN_TEXT, NULL,
					  &self->attr));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(id));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, id->event->event);
	rdma_destroy_ep(id);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	listener_end(&self->listener);
	REFUSED(ECONNREFUSED, rdmacmx_connect_name(id, "both.test", LISTEN_TEXT,
						   NULL, &self->attr));
	EXPECT_EQ(2, rdmacmx_connect_report(id, self->list, CANDIDATES));
	rdma_destroy_ep(id);
}

TEST_F(name, KA_02_synchronous)
{
	synchronous(_metadata, self);
}

TEST_F(name, KA_02_race_synchronous)
{
	self->attr.flags = RDMACMX_CONNECT_RACE;
	synchronous(_metadata, self);
}

TEST_HARNESS_MAIN
