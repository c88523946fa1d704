// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, GAI-10: synchronous ids and endpoints, migration between channels; and
 * calls where the stock library hangs or crashes (RAI-07, MC-13).
 */
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_verbs.h>

#include "process.h"

#define EP_PORT		"7601"
#define UD_PORT		7606
#define MESSAGE		"over a synchronous id"
#define GROUP		"239.55.60.1"

static const struct ibv_qp_init_attr qp_attr = {
	.cap = {
		.max_send_wr = 2, .max_recv_wr = 2,
		.max_send_sge = 1, .max_recv_sge = 1,
	},
	.qp_type = IBV_QPT_RC,
	.sq_sig_all = 1,
};

static struct rdma_addrinfo *ai_get(int flags)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *res;

	return rdma_getaddrinfo(OWN4, EP_PORT, &hints, &res) ? NULL : res;
}

/* One side of a connection; the thread returns its status in result. */
struct side {
	struct rdma_cm_id *listener;
	char buf[64];
	sem_t sent;		/* the client's message has completed */
	sem_t served;
	int result;
};

static int request_serve(struct side *side, struct rdma_cm_id *id)
{
	struct ibv_mr *mr;
	struct ibv_wc wc;

	mr = rdma_reg_msgs(id, side->buf, sizeof(side->buf));
	if (!mr)
		return 2;
	if (rdma_post_recv(id, NULL, side->buf, sizeof(side->buf), mr))
		return 3;
	if (rdma_accept(id, NULL))
		return 4;
	if (id->event->event != RDMA_CM_EVENT_ESTABLISHED)
		return 5;
	if (rdma_get_recv_comp(id, &wc) != 1 || wc.status)
		return 6;
	rdma_dereg_mr(mr);
	return 0;
}

static void *server(void *arg)
{
	struct side *side = arg;
	struct rdma_cm_id *id;

	if (rdma_get_request(side->listener, &id)) {
		side->result = 1;
		sem_post(&side->served);
		return NULL;
	}
	side->result = request_serve(side, id);
	sem_post(&side->served);
	/* A queue pair in the error state no longer acknowledges it. */
	if (!side->result)
		sem_wait(&side->sent);
	rdma_disconnect(id);
	rdma_destroy_ep(id);
	return NULL;
}

TEST(RA_02_endpoints)
{
	struct ibv_qp_init_attr attr = qp_attr;
	struct side side = { .result = -1 };
	struct rdma_addrinfo *res;
	char out[] = MESSAGE;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	pthread_t thread;

	res = ai_get(RAI_PASSIVE);
	ASSERT_NE(NULL, res);
	ASSERT_EQ(0, rdma_create_ep(&side.listener, res, NULL, &attr));
	rdma_freeaddrinfo(res);
	EXPECT_EQ(htons(atoi(EP_PORT)), rdma_get_src_port(side.listener));
	ASSERT_EQ(0, rdma_listen(side.listener, 4));
	ASSERT_EQ(0, sem_init(&side.sent, 0, 0));
	ASSERT_EQ(0, sem_init(&side.served, 0, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, server, &side));

	res = ai_get(0);
	ASSERT_NE(NULL, res);
	attr = qp_attr;
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, &attr));
	rdma_freeaddrinfo(res);
	EXPECT_NE(NULL, id->verbs);
	EXPECT_NE(NULL, id->qp);
	EXPECT_NE(NULL, id->pd);
	EXPECT_EQ(1, id->port_num);
	EXPECT_LT(0, id->route.num_paths);
	EXPECT_NE(NULL, id->route.path_rec);
	ASSERT_EQ(0, rdma_connect(id, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, id->event->event);

	mr = rdma_reg_msgs(id, out, sizeof(out));
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, rdma_post_send(id, NULL, out, sizeof(out), mr, 0));
	EXPECT_EQ(1, rdma_get_send_comp(id, &wc));
	EXPECT_EQ(0, wc.status);
	sem_post(&side.sent);
	sem_wait(&side.served);
	/* Each waits until the other has disconnected, for a minute at most. */
	rdma_disconnect(id);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, side.result);
	EXPECT_STREQ(MESSAGE, side.buf);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(side.listener);
}

TEST(RA_02_endpoint_refused)
{
	struct ibv_qp_init_attr attr = qp_attr;
	struct rdma_addrinfo *res = ai_get(0);
	struct rdma_cm_id *id;

	ASSERT_NE(NULL, res);
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, &attr));
	errno = 0;
	EXPECT_EQ(-1, rdma_connect(id, NULL));
	EXPECT_EQ(ECONNREFUSED, errno);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(res);
}

/* The queue pair determines the type; kernel connections have a TCP type. */
TEST(RA_02_endpoint_of_another_type)
{
	static const int types[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV,
	};
	struct rdma_addrinfo *res = ai_get(RAI_PASSIVE);
	struct rdma_cm_id *id;
	unsigned int i;

	ASSERT_NE(NULL, res);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		res->ai_qp_type = types[i];
		ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, NULL)) {
			TH_LOG("type %d", types[i]);
		}
		EXPECT_EQ(types[i], id->qp_type);
		rdma_destroy_ep(id);
	}
	rdma_freeaddrinfo(res);
}

/* Private data of the result and of the caller must fit one message. */
TEST(GAI_10_connect_data_too_long)
{
	struct rdma_addrinfo *res = ai_get(0);
	struct rdma_conn_param param = { .private_data_len = 255 };
	struct ibv_qp_init_attr attr = qp_attr;
	struct rdma_cm_id *id;
	char data[255] = {};

	ASSERT_NE(NULL, res);
	free(res->ai_connect);
	res->ai_connect_len = 4096;
	res->ai_connect = calloc(1, res->ai_connect_len);
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, &attr));
	errno = 0;
	EXPECT_EQ(-1, rdma_connect(id, NULL));
	EXPECT_EQ(EINVAL, errno);
	rdma_destroy_ep(id);

	res->ai_connect_len = 36;
	attr = qp_attr;
	ASSERT_EQ(0, rdma_create_ep(&id, res, NULL, &attr));
	param.private_data = data;
	errno = 0;
	EXPECT_EQ(-1, rdma_connect(id, &param));
	EXPECT_EQ(EINVAL, errno);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(res);
}

TEST(RA_02_migrate)
{
	struct rdma_event_channel *channel;
	struct sockaddr_storage ss;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, addr_make(&ss, PEER4, 1),
				       30000));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, id->event->event);
	errno = 0;
	EXPECT_EQ(-1, rdma_migrate_id(id, NULL));
	EXPECT_EQ(EINVAL, errno);

	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_migrate_id(id, channel));
	EXPECT_EQ(channel, id->channel);
	ASSERT_EQ(0, rdma_resolve_route(id, 30000));
	ASSERT_EQ(0, event_wait(channel, &event, WAIT_MS));
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED, event->event);
	EXPECT_EQ(0, rdma_ack_cm_event(event));

	ASSERT_EQ(0, rdma_migrate_id(id, NULL));
	rdma_destroy_event_channel(channel);
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, PEER4, PORT, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, id->event->event);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* The event of a synchronous id stays, even if the call fails. */
TEST(RA_02_synchronous_failure)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	EXPECT_EQ(-1, rdma_resolve_addr(id, NULL, addr_make(&ss, NOBODY4, 1),
					500));
	ASSERT_NE(NULL, id->event);
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_ERROR, id->event->event);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/*
 * Destroys the id when the main thread is in its call, which waits for an event
 * in the kernel. No program is started: a name has few seconds.
 */
static void *destroyer(void *arg)
{
	struct rdma_cm_id *id = arg;

	if (!thread_sleeps(getpid(), SYS_ioctl))
		return (void *)-2;
	return (void *)(intptr_t)rdma_destroy_id(id);
}

TEST(RAI_07_synchronous_destroy_in_mid_lookup)
{
	struct rdma_cm_id *id;
	char name[128];
	pthread_t thread;
	void *ret;

	for (int libc = 0; libc < 2; libc++) {
		if (libc)
			setenv("RDMACMX_NAMES", "libc", 1);
		name_fresh("silent.test", name, sizeof(name));
		ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
		ASSERT_EQ(0, pthread_create(&thread, NULL, destroyer, id));
		errno = 0;
		EXPECT_EQ(-1, rdma_resolve_addrinfo(id, name, PORT, NULL));
		EXPECT_EQ(ECANCELED, errno);
		pthread_join(thread, &ret);
		EXPECT_EQ(NULL, ret);
	}
}

TEST(RA_02_destroy_of_a_waiting_listener)
{
	struct rdma_cm_id *id, *request;
	struct sockaddr_storage ss;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(id, addr_make(&ss, OWN4, 0)));
	ASSERT_EQ(0, rdma_listen(id, 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, destroyer, id));
	errno = 0;
	EXPECT_EQ(-1, rdma_get_request(id, &request));
	EXPECT_EQ(ECANCELED, errno);
	pthread_join(thread, &ret);
	EXPECT_EQ(NULL, ret);
}

/* It has no event before rdma_accept(), which a call could wait for. */
TEST(RA_02_disconnect_of_a_request)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *request, *id;
	struct ibv_qp_init_attr attr;
	struct sockaddr_storage ss;
	struct sockaddr *dst;

	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(NULL, &listener, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(listener, addr_make(&ss, OWN4, 0)));
	ASSERT_EQ(0, rdma_listen(listener, 1));
	dst = addr_make(&ss, OWN4, ntohs(rdma_get_src_port(listener)));
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, dst, 30000));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, event_take(channel, NULL));
	ASSERT_EQ(0, rdma_resolve_route(id, 30000));
	ASSERT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED, event_take(channel, NULL));
	attr = qp_attr;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	ASSERT_EQ(0, rdma_connect(id, NULL));
	ASSERT_EQ(0, rdma_get_request(listener, &request));
	alarm(60);
	errno = 0;
	EXPECT_EQ(-1, rdma_disconnect(request));
	EXPECT_EQ(EINVAL, errno);
	alarm(0);
	EXPECT_EQ(0, rdma_destroy_id(request));
	rdma_destroy_ep(id);
	EXPECT_EQ(0, rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

TEST(MC_13_synchronous_leave)
{
	struct ibv_qp_init_attr attr = qp_attr;
	struct sockaddr_storage ss;
	struct sockaddr *group;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_bind_addr(id, addr_make(&ss, OWN4, 0)));
	attr.qp_type = IBV_QPT_UD;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	group = addr_make(&ss, GROUP, 0);
	/* A second join; the QP is destroyed before its leave. */
	ASSERT_EQ(0, rdma_join_multicast(id, group, &ss));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, id->event->event);
	EXPECT_EQ(&ss, id->event->param.ud.private_data);
	ASSERT_EQ(0, rdma_join_multicast(id, group, NULL));
	EXPECT_EQ(0, rdma_leave_multicast(id, group));
	rdma_destroy_qp(id);
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(0, rdma_leave_multicast(id, group));
	errno = 0;
	EXPECT_EQ(-1, rdma_leave_multicast(id, group));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* A join that fails leaves no membership, whatever has ended it. */
TEST(MC_13_user_event_in_a_synchronous_join)
{
	static const int statuses[] = { -ECANCELED, 0, -EPERM, INT_MIN };
	static const int errors[] = { ECANCELED, EINTR, EPERM, INT_MAX };
	struct sockaddr_storage ss;
	struct sockaddr *group;
	struct rdma_cm_id *id;
	int i;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_bind_addr(id, addr_make(&ss, OWN4, 0)));
	group = addr_make(&ss, GROUP, 0);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER,
						 statuses[i], 7));
		errno = 0;
		EXPECT_EQ(-1, rdma_join_multicast(id, group, NULL));
		EXPECT_EQ(errors[i], errno);
		EXPECT_EQ(RDMA_CM_EVENT_USER, id->event->event);
		EXPECT_EQ(7, id->event->param.arg);
		errno = 0;
		EXPECT_EQ(-1, rdma_leave_multicast(id, group));
		EXPECT_EQ(EADDRNOTAVAIL, errno);
	}
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* Only rdma_get_request() returns a request. Another call leaves no id of it. */
TEST(RA_02_join_rejects_a_request)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_id *listener, *client;
	struct sockaddr_storage ss;
	int status;

	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(NULL, &listener, NULL, RDMA_PS_UDP));
	addr_make(&ss, OWN4, UD_PORT);
	ASSERT_EQ(0, rdma_bind_addr(listener, (void *)&ss));
	ASSERT_EQ(0, rdma_listen(listener, 1));
	ASSERT_EQ(0, rdma_create_id(channel, &client, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(client, NULL, (void *)&ss, 30000));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, event_take(channel, NULL));
	ASSERT_EQ(0, rdma_resolve_route(client, 30000));
	ASSERT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED, event_take(channel, NULL));
	ASSERT_EQ(0, rdma_connect(client, &param));
	ASSERT_EQ(1, channel_readable(listener->channel, WAIT_MS));

	addr_make(&ss, GROUP, 0);
	EXPECT_EQ(0, rdma_join_multicast(listener, (void *)&ss, &ss));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, listener->event->event);
	EXPECT_EQ(&ss, listener->event->param.ud.private_data);
	EXPECT_EQ(RDMA_CM_EVENT_UNREACHABLE, event_take(channel, &status));
	EXPECT_NE(-ETIMEDOUT, status);
	EXPECT_EQ(0, rdma_destroy_id(client));
	EXPECT_EQ(0, rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_HARNESS_MAIN
