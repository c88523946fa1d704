/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * rdmacmx_connect_name(): the fixture, and listeners, which are threads. Names
 * are in a private /etc/hosts, IPv6 addresses come first there: fd55::1 and
 * 10.55.0.1 are here, fd55::77 and 10.55.0.77 are nowhere.
 */
#ifndef LIB_CONNECT_NAME_H
#define LIB_CONNECT_NAME_H

#include <pthread.h>
#include <string.h>
#include <rdma/rdma_cmx.h>

#include "api.h"

#define DEAD6		"fd55::77"
#define RAIL4		"10.58.0.1"	/* of the second device of lib/queues */
#define LISTEN_PORT	7488
#define LISTEN_TEXT	"7488"
#define CANDIDATES	8

#define HOSTS							\
	"fd55::1 both.test\n10.55.0.1 both.test\n"		\
	"fd55::77 second.test\n10.55.0.1 second.test\n"		\
	"fd55::77 dead.test\n10.55.0.77 dead.test\n"		\
	"fd55::71 nine.test\nfd55::72 nine.test\n"		\
	"fd55::73 nine.test\nfd55::74 nine.test\n"		\
	"fd55::75 nine.test\nfd55::76 nine.test\n"		\
	"fd55::77 nine.test\nfd55::78 nine.test\n"		\
	"10.55.0.1 nine.test\n"					\
	"192.168.77.1 plain.test\n"				\
	RAIL4 " rails.test\n10.55.0.1 rails.test\n"

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

static inline void listener_end(struct listener *l)
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
	l->channel = NULL;
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

static inline void listener_request(struct listener *l, struct rdma_cm_event *event)
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

static inline void *listener_run(void *arg)
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

static inline int listener_start(struct listener *l, const char *address, bool accepts)
{
	l->accepts = accepts;
	l->channel = rdma_create_event_channel();
	if (!l->channel ||
	    rdma_create_id(l->channel, &l->id, NULL, RDMA_PS_TCP) ||
	    id_bind(l->id, address, LISTEN_PORT) || rdma_listen(l->id, 4))
		return -1;
	return pthread_create(&l->thread, NULL, listener_run, l);
}

static inline bool becomes(const int *number, int value)
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

static inline bool dst_is(const struct rdmacmx_candidate *c, const char *text)
{
	char buf[128];

	return !strcmp(host_text((const void *)&c->dst, buf, sizeof(buf)),
		       text);
}

static inline enum ibv_qp_state qp_state(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init) ?
	       IBV_QPS_UNKNOWN : attr.qp_state;
}

/* Without another event in between, rdma_get_cm_event() would wait. */
static inline void events_run(struct rdma_event_channel *channel,
		       struct rdma_cm_id *other)
{
	rdma_write_cm_event(other, RDMA_CM_EVENT_USER, 0, 0);
	event_take(channel, NULL);
}

/* Until the listener has a request: runs the events of the ids */
static inline void until_requested(FIXTURE_DATA(name) *self,
				   struct rdma_cm_id *other)
{
	while (!__atomic_load_n(&self->listener.requests, __ATOMIC_ACQUIRE) &&
	       channel_readable(self->channel, 1000) >= 0)
		events_run(self->channel, other);
}

#define REFUSED(err, call) do {						\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(err, errno);						\
} while (0)

/* Without a channel the call waits. */
static inline void connect_synchronous(struct __test_metadata *_metadata,
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

#endif /* LIB_CONNECT_NAME_H */
