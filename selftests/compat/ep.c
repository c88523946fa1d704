// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: synchronous ids: endpoints of both sides, with and without a queue
 * pair and a protection domain, and rdma_get_request(). The client has a
 * separate thread, since each side waits for the other.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "pair.h"

#define TEXT	"from endpoint to endpoint"

FIXTURE(ep) {
	struct rdma_addrinfo *passive;
	struct rdma_addrinfo *active;
	struct rdma_cm_id *listener;
	pthread_t thread;
};

FIXTURE_SETUP(ep)
{
	memset(self, 0, sizeof(*self));
}

FIXTURE_TEARDOWN(ep)
{
	if (self->listener)
		rdma_destroy_ep(self->listener);
	if (self->passive)
		rdma_freeaddrinfo(self->passive);
	if (self->active)
		rdma_freeaddrinfo(self->active);
}

static struct rdma_addrinfo *ai_get(int flags, int ps, unsigned int port)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = ps,
	};
	struct rdma_addrinfo *res;
	char service[8];

	snprintf(service, sizeof(service), "%u", port);
	return rdma_getaddrinfo(OWN4, service, &hints, &res) ? NULL : res;
}

/* The actions of the client; the address is that of the listener. */
struct client {
	struct rdma_addrinfo *ai;
	struct rdma_conn_param *param;
	bool own_pd;
	bool late_qp;
	sem_t sent;		/* the message completed, or failed */
	sem_t served;		/* the server has received enough */
	int error;		/* step that failed, or 0 */
	int errnum;
};

static int client_send(struct rdma_cm_id *id)
{
	char text[] = TEXT;
	struct ibv_mr *mr = rdma_reg_msgs(id, text, sizeof(text));
	struct ibv_wc wc;

	if (!mr || rdma_post_send(id, NULL, text, sizeof(text), mr, 0))
		return 10;
	if (rdma_get_send_comp(id, &wc) != 1 || wc.status)
		return 11;
	return rdma_dereg_mr(mr) ? 12 : 0;
}

static int client_run(struct client *c)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct ibv_pd *pd = NULL;
	struct rdma_cm_id *id;
	int err;

	attr.qp_type = IBV_QPT_UD;	/* the type of the entry counts */
	if (c->own_pd) {
		/* A protection domain needs the device of an id. */
		if (rdma_create_ep(&id, c->ai, NULL, NULL))
			return 1;
		pd = ibv_alloc_pd(id->verbs);
		if (!pd || id->qp)
			return 2;
		rdma_destroy_ep(id);
	}
	if (rdma_create_ep(&id, c->ai, pd, c->late_qp ? NULL : &attr))
		return 3;
	if (!id->verbs || !id->channel || !id->event || id->context ||
	    id->event->event != RDMA_CM_EVENT_ROUTE_RESOLVED)
		return 4;
	if (!c->late_qp && attr.qp_type != IBV_QPT_RC)
		return 5;
	if (c->late_qp) {
		attr.qp_type = IBV_QPT_RC;
		if (id->qp || rdma_create_qp(id, pd, &attr))
			return 6;
	}
	if (pd && id->qp->pd != pd)
		return 7;
	if (rdma_connect(id, c->param))
		return 8;
	if (id->event->event != RDMA_CM_EVENT_ESTABLISHED)
		return 9;
	err = client_send(id);
	sem_post(&c->sent);
	if (err)
		return err;
	/* Without this the DREQ may overtake the RTU on a busy host. */
	sem_wait(&c->served);
	if (rdma_disconnect(id))
		return 13;
	rdma_destroy_ep(id);
	return pd && ibv_dealloc_pd(pd) ? 14 : 0;
}

static void *client_thread(void *arg)
{
	struct client *c = arg;

	c->error = client_run(c);
	c->errnum = errno;
	return NULL;
}

static int client_start(FIXTURE_DATA(ep) *self, struct client *c)
{
	c->ai = self->active;
	return sem_init(&c->sent, 0, 0) ?: sem_init(&c->served, 0, 0) ?:
	       pthread_create(&self->thread, NULL, client_thread, c);
}

static int server_message(struct rdma_cm_id *id)
{
	char text[64] = "";
	struct ibv_mr *mr = rdma_reg_msgs(id, text, sizeof(text));
	struct ibv_wc wc;

	if (!mr || rdma_post_recv(id, NULL, text, sizeof(text), mr))
		return 1;
	if (rdma_accept(id, NULL))
		return 2;
	if (!id->event || id->event->event != RDMA_CM_EVENT_ESTABLISHED)
		return 3;
	if (rdma_get_recv_comp(id, &wc) != 1 || wc.status)
		return 4;
	if (strcmp(text, TEXT))
		return 5;
	return rdma_dereg_mr(mr) ? 6 : 0;
}

/*
 * The client waits for the end, even if the message fails. A queue pair in the
 * error state no longer acknowledges it, and soft-RoCE retries without end.
 */
static int server_receive(struct rdma_cm_id *id, struct client *c)
{
	int ret = server_message(id);

	sem_post(&c->served);
	if (!ret)
		sem_wait(&c->sent);
	if (rdma_disconnect(id) && !ret)
		ret = 7;
	return ret;
}

static void listen_on(struct __test_metadata *_metadata,
		      FIXTURE_DATA(ep) *self, struct ibv_pd *pd,
		      struct ibv_qp_init_attr *attr)
{
	self->passive = ai_get(RAI_PASSIVE, RDMA_PS_TCP, 0);
	ASSERT_NE(NULL, self->passive);
	ASSERT_EQ(0, rdma_create_ep(&self->listener, self->passive, pd, attr));
	ASSERT_EQ(0, rdma_listen(self->listener, 4));
	EXPECT_EQ(NULL, self->listener->qp);
	self->active = ai_get(0, RDMA_PS_TCP,
			      ntohs(rdma_get_src_port(self->listener)));
	ASSERT_NE(NULL, self->active);
}

TEST_F(ep, RA_02_all_by_the_endpoint)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_UDP);
	struct client c = {};
	struct rdma_cm_id *id;

	listen_on(_metadata, self, NULL, &attr);
	/* The library copies the attributes and does not change them. */
	EXPECT_EQ(IBV_QPT_UD, attr.qp_type);
	ASSERT_EQ(0, client_start(self, &c));
	ASSERT_EQ(0, rdma_get_request(self->listener, &id));
	ASSERT_NE(NULL, id->event);
	EXPECT_EQ(RDMA_CM_EVENT_CONNECT_REQUEST, id->event->event);
	EXPECT_EQ(id, id->event->id);
	EXPECT_EQ(self->listener, id->event->listen_id);
	EXPECT_NE(self->listener->channel, id->channel);
	ASSERT_NE(NULL, id->qp);
	EXPECT_EQ(IBV_QPT_RC, id->qp->qp_type);
	EXPECT_EQ(self->listener->pd, id->pd);
	EXPECT_EQ(0, server_receive(id, &c));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(0, c.error);
	rdma_destroy_ep(id);
}

TEST_F(ep, RA_02_own_domains)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct client c = { .own_pd = true };
	struct rdma_cm_id *id, *probe;
	struct ibv_pd *pd;

	ASSERT_EQ(0, rdma_create_id(NULL, &probe, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, id_bind(probe, OWN4, 0));
	pd = ibv_alloc_pd(probe->verbs);
	ASSERT_NE(NULL, pd);
	listen_on(_metadata, self, pd, &attr);
	EXPECT_EQ(pd, self->listener->pd);
	ASSERT_EQ(0, client_start(self, &c));
	ASSERT_EQ(0, rdma_get_request(self->listener, &id));
	ASSERT_NE(NULL, id->qp);
	EXPECT_EQ(pd, id->qp->pd);
	EXPECT_EQ(pd, id->pd);
	EXPECT_EQ(0, server_receive(id, &c));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(0, c.error);
	rdma_destroy_ep(id);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
	EXPECT_EQ(0, rdma_destroy_id(probe));
}

TEST_F(ep, RA_02_queue_pairs_later)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct client c = { .late_qp = true };
	struct rdma_cm_id *id;

	listen_on(_metadata, self, NULL, NULL);
	ASSERT_EQ(0, client_start(self, &c));
	ASSERT_EQ(0, rdma_get_request(self->listener, &id));
	EXPECT_EQ(NULL, id->qp);
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	EXPECT_EQ(0, server_receive(id, &c));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(0, c.error);
	rdma_destroy_ep(id);
}

/* The private data of the entry precede those of the caller. */
TEST_F(ep, RA_02_connection_data)
{
	struct rdma_conn_param param = {
		.private_data = "tail", .private_data_len = 5,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct client c = { .param = &param };
	struct rdma_cm_id *id;

	listen_on(_metadata, self, NULL, &attr);
	free(self->active->ai_connect);
	self->active->ai_connect = strdup("head");
	self->active->ai_connect_len = 4;
	ASSERT_EQ(0, client_start(self, &c));
	ASSERT_EQ(0, rdma_get_request(self->listener, &id));
	EXPECT_TRUE(data_is(id->event->param.conn.private_data,
			    id->event->param.conn.private_data_len,
			    "headtail"));
	EXPECT_EQ(0, server_receive(id, &c));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(0, c.error);
	rdma_destroy_ep(id);
}

TEST_F(ep, RA_02_rejected)
{
	struct client c = {};
	struct rdma_cm_id *id;

	listen_on(_metadata, self, NULL, NULL);
	ASSERT_EQ(0, client_start(self, &c));
	ASSERT_EQ(0, rdma_get_request(self->listener, &id));
	EXPECT_EQ(0, rdma_reject(id, NULL, 0));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(8, c.error);
	EXPECT_EQ(ECONNREFUSED, c.errnum);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* No device can create the queue pair: only the request fails. */
TEST_F(ep, RA_02_request_without_a_queue_pair)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct client c = {};
	struct rdma_cm_id *id = NULL;

	attr.cap.max_send_wr = 0x7fffffff;
	listen_on(_metadata, self, NULL, &attr);
	ASSERT_EQ(0, client_start(self, &c));
	errno = 0;
	EXPECT_EQ(-1, rdma_get_request(self->listener, &id));
	EXPECT_LT(0, errno);
	/* The listener keeps the event, so that the caller can reject it. */
	ASSERT_NE(NULL, self->listener->event);
	id = self->listener->event->id;
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(0, rdma_reject(id, NULL, 0));
	pthread_join(self->thread, NULL);
	EXPECT_EQ(8, c.error);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(ep, RA_02_bad_endpoints)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct rdma_event_channel *channel;
	struct sockaddr_in *sin;
	struct rdma_cm_id *id, *other;

	/* An invalid queue pair */
	self->active = ai_get(0, RDMA_PS_TCP, 7);
	ASSERT_NE(NULL, self->active);
	attr.cap.max_recv_wr = 0x7fffffff;
	EXPECT_EQ(-1, rdma_create_ep(&id, self->active, NULL, &attr));
	/* An address of another host */
	self->passive = ai_get(RAI_PASSIVE, RDMA_PS_TCP, 0);
	ASSERT_NE(NULL, self->passive);
	sin = (struct sockaddr_in *)self->passive->ai_src_addr;
	sin->sin_addr.s_addr = inet_addr("203.0.113.1");
	EXPECT_EQ(-1, rdma_create_ep(&id, self->passive, NULL, NULL));
	/* An unknown port space */
	self->passive->ai_port_space = 0x4711;
	errno = 0;
	EXPECT_EQ(-1, rdma_create_ep(&id, self->passive, NULL, NULL));
	EXPECT_EQ(EINVAL, errno);

	/* With a channel, requests are events of the channel. */
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, id_bind(id, OWN4, 0));
	ASSERT_EQ(0, rdma_listen(id, 1));
	errno = 0;
	EXPECT_EQ(-1, rdma_get_request(id, &other));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

static void handler(int sig)
{
}

/* A signal ends the wait of a server. */
TEST_F(ep, RA_02_request_is_interrupted)
{
	struct sigaction sa = { .sa_handler = handler };
	/* Repeated: the first signal may come before the wait. */
	struct itimerval timer = {
		.it_value.tv_usec = 100000, .it_interval.tv_usec = 100000,
	};
	struct rdma_cm_id *id;

	listen_on(_metadata, self, NULL, NULL);
	ASSERT_EQ(0, sigaction(SIGALRM, &sa, NULL));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &timer, NULL));
	errno = 0;
	EXPECT_EQ(-1, rdma_get_request(self->listener, &id));
	EXPECT_EQ(EINTR, errno);
	timer = (struct itimerval) {};
	setitimer(ITIMER_REAL, &timer, NULL);
}

struct dgram {
	struct rdma_addrinfo *ai;
	int error;
};

static int dgram_run(struct dgram *d)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_UDP);
	struct rdma_cm_id *id;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	if (rdma_create_ep(&id, d->ai, NULL, &attr))
		return 1;
	if (id->qp_type != IBV_QPT_UD || qp_state(id->qp) != IBV_QPS_RTS)
		return 2;
	if (rdma_connect(id, NULL))
		return 3;
	if (id->event->event != RDMA_CM_EVENT_ESTABLISHED)
		return 4;
	ah = ibv_create_ah(id->pd, &id->event->param.ud.ah_attr);
	if (!ah)
		return 5;
	if (rdma_post_ud_send(id, NULL, TEXT, sizeof(TEXT), NULL,
			      IBV_SEND_INLINE, ah,
			      id->event->param.ud.qp_num))
		return 6;
	if (rdma_get_send_comp(id, &wc) != 1 || wc.status)
		return 7;
	ibv_destroy_ah(ah);
	rdma_destroy_ep(id);
	return 0;
}

static void *dgram_thread(void *arg)
{
	struct dgram *d = arg;

	d->error = dgram_run(d);
	return NULL;
}

TEST_F(ep, RA_02_datagrams)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_UDP);
	struct dgram d = {};
	struct rdma_cm_id *id;
	char in[40 + 64] = "", text[256];
	struct ibv_mr *mr;
	struct ibv_wc wc;

	self->passive = ai_get(RAI_PASSIVE, RDMA_PS_UDP, 0);
	ASSERT_NE(NULL, self->passive);
	ASSERT_EQ(0, rdma_create_ep(&self->listener, self->passive, NULL,
				    &attr));
	ASSERT_EQ(0, rdma_listen(self->listener, 4));
	self->active = ai_get(0, RDMA_PS_UDP,
			      ntohs(rdma_get_src_port(self->listener)));
	ASSERT_NE(NULL, self->active);
	d.ai = self->active;
	ASSERT_EQ(0, pthread_create(&self->thread, NULL, dgram_thread, &d));
	ASSERT_EQ(0, rdma_get_request(self->listener, &id));
	mr = rdma_reg_msgs(id, in, sizeof(in));
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, rdma_post_recv(id, NULL, in, sizeof(in), mr));
	/* No event follows the reply, so the call does not wait. */
	ASSERT_EQ(0, rdma_accept(id, NULL));
	/* Newer rdma-core acks the event; rdma-core 44 keeps it. */
	if (!strcmp(channel_device(id->channel, text, sizeof(text)),
		    "rdma_cmx"))
		EXPECT_EQ(NULL, id->event);
	ASSERT_EQ(1, rdma_get_recv_comp(id, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_STREQ(TEXT, in + 40);
	pthread_join(self->thread, NULL);
	EXPECT_EQ(0, d.error);
	EXPECT_EQ(0, rdma_dereg_mr(mr));
	rdma_destroy_ep(id);
}

TEST_HARNESS_MAIN
