// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connections by the entries of a result: by GID in an IP port space and in
 * that of InfiniBand, by a service of the SA. The listener is on device 3, in a
 * thread. Each test is a separate process.
 */
#include <pthread.h>
#include <string.h>
#include <rdma/rdma_cmx.h>

#include "sa.h"

#define DEV_LISTEN	DEV_OTHER
#define TEXT		"hello"
#define CONNECT_LEN	36

struct listener {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct rdma_cm_id *peer;
	pthread_t thread;
	uint8_t data[256];	/* private data of the request */
	size_t len;
	int error;
};

static int peer_accept(struct listener *l, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .responder_resources = 1 };

	l->peer = event->id;
	l->len = event->param.conn.private_data_len;
	memcpy(l->data, event->param.conn.private_data, l->len);
	if (qp_make(event->id, IBV_QPT_RC))
		return -1;
	return rdma_accept(event->id, &param);
}

/* Accepts one connection, until it is established. */
static void *listener_run(void *arg)
{
	struct listener *l = arg;
	struct rdma_cm_event *event;
	int type;

	do {
		if (event_wait(l->channel, &event, WAIT_MS)) {
			l->error = errno;
			return NULL;
		}
		type = event->event;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST &&
		    peer_accept(l, event))
			l->error = errno;
		rdma_ack_cm_event(event);
	} while (type == RDMA_CM_EVENT_CONNECT_REQUEST && !l->error);
	if (type != RDMA_CM_EVENT_ESTABLISHED && !l->error)
		l->error = EPROTO;
	return NULL;
}

/* Listens by GID; the port is in @sid. */
static int listener_start(struct listener *l, int port_space,
			  unsigned long long *sid)
{
	struct sockaddr_ib addr = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(0xffff),
		.sib_addr = *gid(DEV_LISTEN),
		.sib_sid = htobe64((unsigned long long)port_space << 16),
		.sib_sid_mask = htobe64(~0xffffULL),
	};

	memset(l, 0, sizeof(*l));
	l->channel = rdma_create_event_channel();
	if (!l->channel ||
	    rdma_create_id(l->channel, &l->id, NULL, port_space) ||
	    rdma_bind_addr(l->id, (struct sockaddr *)&addr) ||
	    rdma_listen(l->id, 4))
		return -1;
	*sid = be64toh(ib(rdma_get_local_addr(l->id))->sib_sid);
	return pthread_create(&l->thread, NULL, listener_run, l);
}

static void listener_end(struct listener *l)
{
	if (l->peer) {
		rdma_destroy_qp(l->peer);
		rdma_destroy_id(l->peer);
	}
	rdma_destroy_id(l->id);
	rdma_destroy_event_channel(l->channel);
}

/* Connects with rdma_create_ep(); private data or NULL. */
static struct rdma_cm_id *ep_connect(struct rdma_addrinfo *ai, const void *data,
				     size_t len)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
	};
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = len,
		.responder_resources = 1,
		.retry_count = 7,
	};
	struct rdma_cm_id *id;
	int err;

	if (rdma_create_ep(&id, ai, NULL, &attr)) {
		fprintf(stderr, "# rdma_create_ep: %s\n", strerror(errno));
		return NULL;
	}
	if (!rdma_connect(id, &param))
		return id;
	err = errno;
	fprintf(stderr, "# rdma_connect: %s\n", strerror(err));
	rdma_destroy_ep(id);
	errno = err;
	return NULL;
}

static struct rdma_addrinfo *gid_get(unsigned long long sid, int port_space)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_FAMILY,
		.ai_family = AF_IB,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = port_space,
	};
	struct rdma_addrinfo *res = NULL;
	char port[16];

	snprintf(port, sizeof(port), "%llu", sid & 0xffff);
	return rdma_getaddrinfo(gid_text(DEV_LISTEN), port, &hints, &res) ?
	       NULL : res;
}

TEST(GAI_10_connect_data_goes_first)
{
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	unsigned long long sid;
	struct listener l;

	ASSERT_EQ(0, listener_start(&l, RDMA_PS_TCP, &sid));
	res = gid_get(sid, RDMA_PS_TCP);
	ASSERT_NE(NULL, res);
	ASSERT_EQ(CONNECT_LEN, res->ai_connect_len);
	id = ep_connect(res, TEXT, sizeof(TEXT));
	pthread_join(l.thread, NULL);
	EXPECT_NE(NULL, id);
	EXPECT_EQ(0, l.error);
	ASSERT_LE(CONNECT_LEN + sizeof(TEXT), l.len);
	EXPECT_EQ(0, memcmp(l.data, res->ai_connect, CONNECT_LEN));
	EXPECT_EQ(0, memcmp(l.data + CONNECT_LEN, TEXT, sizeof(TEXT)));
	rdma_freeaddrinfo(res);
	if (id)
		rdma_destroy_ep(id);
	listener_end(&l);
}

TEST(GAI_10_connect_without_data)
{
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	unsigned long long sid;
	struct listener l;

	ASSERT_EQ(0, listener_start(&l, RDMA_PS_IB, &sid));
	res = gid_get(sid, RDMA_PS_IB);
	ASSERT_NE(NULL, res);
	EXPECT_EQ(0, res->ai_connect_len);
	id = ep_connect(res, NULL, 0);
	pthread_join(l.thread, NULL);
	EXPECT_NE(NULL, id);
	EXPECT_EQ(0, l.error);
	for (size_t i = 0; i < l.len; i++)
		EXPECT_EQ(0, l.data[i]);
	rdma_freeaddrinfo(res);
	if (id)
		rdma_destroy_ep(id);
	listener_end(&l);
}

/*
 * In the port space of InfiniBand all private data belongs to the caller. But
 * the listener of rdma_cm parses a version and an IP version from the first two
 * bytes of any request, with librdmacm too.
 */
TEST(GAI_10_own_data_in_the_port_space_of_infiniband)
{
	static const char data[] = "\0\0hello";
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	unsigned long long sid;
	struct listener l;

	ASSERT_EQ(0, listener_start(&l, RDMA_PS_IB, &sid));
	res = gid_get(sid, RDMA_PS_IB);
	ASSERT_NE(NULL, res);
	EXPECT_EQ(0, res->ai_connect_len);
	errno = 0;
	EXPECT_EQ(NULL, ep_connect(res, TEXT, sizeof(TEXT)));
	EXPECT_EQ(ECONNREFUSED, errno);
	id = ep_connect(res, data, sizeof(data));
	pthread_join(l.thread, NULL);
	EXPECT_NE(NULL, id);
	EXPECT_EQ(0, l.error);
	ASSERT_LE(sizeof(data), l.len);
	EXPECT_EQ(0, memcmp(l.data, data, sizeof(data)));
	rdma_freeaddrinfo(res);
	if (id)
		rdma_destroy_ep(id);
	listener_end(&l);
}

/* Connects asynchronously, step by step, with the addresses of the entry. */
static struct rdma_cm_id *steps_connect(struct __test_metadata *_metadata,
					struct rdma_event_channel *channel,
					struct rdma_addrinfo *ai)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.retry_count = 7,
	};
	struct rdma_cm_id *id;
	int status;

	EXPECT_EQ(0, rdma_create_id(channel, &id, NULL, ai->ai_port_space));
	EXPECT_EQ(0, rdma_resolve_addr(id, ai->ai_src_addr, ai->ai_dst_addr,
				       30000));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, event_take(channel, &status)) {
		TH_LOG("status %d", status);
	}
	EXPECT_EQ(0, rdma_resolve_route(id, 30000));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED, event_take(channel, &status)) {
		TH_LOG("status %d", status);
	}
	EXPECT_EQ(1, id->route.num_paths);
	EXPECT_EQ(0, qp_make(id, IBV_QPT_RC));
	EXPECT_EQ(0, rdma_connect(id, &param));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(channel, &status)) {
		TH_LOG("status %d", status);
	}
	return id;
}

TEST(RAI_08_connect_to_each_service)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id, *bound;
	struct rdma_addrinfo *res, *ai;
	unsigned long long sid;
	struct listener l;
	char name[64], usual[32];

	ASSERT_TRUE(parameter_set("sa_cache_ms", "3600000", usual));
	ASSERT_TRUE(cache_renew());
	bound = id_on(channel, DEV_OWN);
	ASSERT_NE(NULL, bound);
	ASSERT_EQ(0, listener_start(&l, RDMA_PS_IB, &sid));
	service_name(name);
	ASSERT_EQ(0, service(DEV_LISTEN, "-n %s -i %llu set", name, sid));
	ASSERT_EQ(0, sa_get(bound, name, 0, &res));
	ASSERT_EQ(1, ai_count(res));
	EXPECT_LT(0, res->ai_route_len);

	/* The result contains the route: no query is sent again. */
	ASSERT_EQ(0, paths_lost(true));
	for (ai = res; ai; ai = ai->ai_next) {
		id = steps_connect(_metadata, channel, ai);
		pthread_join(l.thread, NULL);
		EXPECT_EQ(0, l.error);
		rdma_destroy_qp(id);
		rdma_destroy_id(id);
	}
	EXPECT_EQ(0, paths_lost(false));
	EXPECT_TRUE(parameter_set("sa_cache_ms", usual, NULL));
	rdma_freeaddrinfo(res);
	rdma_destroy_id(bound);
	listener_end(&l);
	EXPECT_EQ(0, service(DEV_LISTEN, "-n %s -i %llu delete", name, sid));
	rdma_destroy_event_channel(channel);
}

/* rdma_cm's query by GID has no type of service: the path is the same. */
TEST(RA_01_route_with_a_type_of_service)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	char usual[32];
	uint8_t tos = 8;

	ASSERT_TRUE(parameter_set("sa_cache_ms", "3600000", usual));
	ASSERT_TRUE(cache_renew());
	res = gid_get(1, RDMA_PS_IB);
	ASSERT_NE(NULL, res);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_IB));
		if (i)
			ASSERT_EQ(0, rdma_set_option(id, RDMA_OPTION_ID,
						     RDMA_OPTION_ID_TOS, &tos,
						     sizeof(tos)));
		ASSERT_EQ(0, rdma_resolve_addr(id, res->ai_src_addr,
					       res->ai_dst_addr, 30000));
		ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
			  event_take(channel, NULL));
		ASSERT_EQ(0, paths_lost(true));
		EXPECT_EQ(0, rdma_resolve_route(id, 30000));
		EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
			  event_take(channel, NULL));
		ASSERT_EQ(0, paths_lost(false));
		rdma_destroy_id(id);
	}
	EXPECT_TRUE(parameter_set("sa_cache_ms", usual, NULL));
	rdma_freeaddrinfo(res);
	rdma_destroy_event_channel(channel);
}

/*
 * Connects by name, in one call: the kernel finds the port that reaches the
 * service.
 */
static int name_connect(struct rdma_event_channel *channel,
			struct rdma_cm_id **id, int port_space,
			const char *node, const char *service_text,
			struct rdma_addrinfo *hints,
			struct rdma_conn_param *param)
{
	struct ibv_qp_init_attr qp = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdmacmx_connect_attr attr = {
		.qp_init_attr = &qp, .conn_param = param, .timeout_ms = 120000,
	};

	if (rdma_create_id(channel, id, NULL, port_space))
		return -1;
	if (rdmacmx_connect_name(*id, node, service_text, hints, &attr))
		return -errno;
	return event_take(channel, NULL);
}

TEST(KA_02_program_connects_to_a_service)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };
	struct rdmacmx_candidate list[8];
	struct rdma_cm_id *id;
	unsigned long long sid;
	struct listener l;
	char name[64];
	int n;

	ASSERT_EQ(0, listener_start(&l, RDMA_PS_IB, &sid));
	service_name(name);
	ASSERT_EQ(0, service(DEV_LISTEN, "-n %s -i %llu set", name, sid));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  name_connect(channel, &id, RDMA_PS_IB, NULL, name, &hints,
			       NULL));
	pthread_join(l.thread, NULL);
	EXPECT_EQ(0, l.error);
	n = rdmacmx_connect_report(id, list, 8);
	ASSERT_LE(1, n);
	EXPECT_EQ(AF_IB, list[0].dst.ss_family);
	while (n-- && list[n].step != RDMACMX_STEP_UP)
		;
	ASSERT_LE(0, n);
	EXPECT_EQ(0, list[n].error);
	rdma_destroy_ep(id);
	listener_end(&l);
	EXPECT_EQ(0, service(DEV_LISTEN, "-n %s -i %llu delete", name, sid));
	/* An unknown service */
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
		  name_connect(channel, &id, RDMA_PS_IB, NULL, "no such service",
			       &hints, NULL));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
}

/* By GID in an IP port space: a header precedes the program's private data. */
TEST(KA_02_program_connects_to_a_gid)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_FAMILY, .ai_family = AF_IB,
	};
	struct rdma_conn_param param = {
		.private_data = TEXT, .private_data_len = sizeof(TEXT),
		.retry_count = 7,
	};
	struct rdma_cm_id *id;
	unsigned long long sid;
	struct listener l;
	char port[16];

	ASSERT_EQ(0, listener_start(&l, RDMA_PS_TCP, &sid));
	snprintf(port, sizeof(port), "%llu", sid & 0xffff);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED,
		  name_connect(channel, &id, RDMA_PS_TCP, gid_text(DEV_LISTEN),
			       port, &hints, &param));
	pthread_join(l.thread, NULL);
	EXPECT_EQ(0, l.error);
	ASSERT_LE(CONNECT_LEN + sizeof(TEXT), l.len);
	EXPECT_EQ(0, memcmp(l.data + CONNECT_LEN, TEXT, sizeof(TEXT)));
	rdma_destroy_ep(id);
	listener_end(&l);
	rdma_destroy_event_channel(channel);
}

TEST_HARNESS_MAIN
