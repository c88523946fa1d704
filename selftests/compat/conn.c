// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: connections of ids on channels: parameters and private data on both
 * sides, the two kinds of reject, datagrams, and calls that fail.
 */
#include <stdlib.h>

#include "pair.h"

FIXTURE(conn) {
	struct pair p;
};

FIXTURE_SETUP(conn)
{
	ASSERT_EQ(0, pair_open(&self->p, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(conn)
{
	pair_close(&self->p);
}

/* The program uses the device of the library that it was built for. */
TEST_F(conn, RA_03_the_right_device)
{
	const char *want = getenv("COMPAT_DEVICE") ?: COMPAT_DEVICE;
	char text[256];

	EXPECT_STREQ(want, channel_device(self->p.active, text, sizeof(text)));
}

TEST_F(conn, RA_02_parameters)
{
	struct rdma_conn_param param = {
		.private_data = "greeting", .private_data_len = 9,
		.responder_resources = 2, .initiator_depth = 3,
		.flow_control = 1, .retry_count = 5, .rnr_retry_count = 6,
	};
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct pair *p = &self->p;
	struct rdma_conn_param *got;
	struct rdma_cm_event *event;
	char a[160], b[160];

	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	EXPECT_EQ(IBV_QPS_INIT, qp_state(p->client->qp));
	ASSERT_EQ(0, rdma_connect(p->client, &param));

	event = event_want(p->passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(0, event->status);
	EXPECT_EQ(p->listener, event->listen_id);
	p->server = event->id;
	ASSERT_NE(p->listener, p->server);
	/* The new id starts like its listener, bound to the device. */
	EXPECT_EQ(p, p->server->context);
	EXPECT_EQ(p->passive, p->server->channel);
	EXPECT_EQ(RDMA_PS_TCP, p->server->ps);
	EXPECT_EQ(IBV_QPT_RC, p->server->qp_type);
	EXPECT_EQ(p->client->verbs, p->server->verbs);
	EXPECT_EQ(p->client->pd, p->server->pd);
	EXPECT_EQ(1, p->server->port_num);
	EXPECT_EQ(NULL, p->server->qp);
	EXPECT_LT(0, p->server->route.num_paths);
	/* Each side reports the depths of the other side. */
	got = &event->param.conn;
	EXPECT_EQ(3, got->responder_resources);
	EXPECT_EQ(2, got->initiator_depth);
	EXPECT_EQ(1, got->flow_control);
	EXPECT_EQ(5, got->retry_count);
	EXPECT_EQ(6, got->rnr_retry_count);
	EXPECT_EQ(p->client->qp->qp_num, got->qp_num);
	EXPECT_EQ(0, got->srq);
	EXPECT_TRUE(data_is(got->private_data, got->private_data_len,
			    "greeting"));
	EXPECT_EQ(0, rdma_ack_cm_event(event));

	EXPECT_EQ(rdma_get_src_port(p->listener),
		  rdma_get_src_port(p->server));
	EXPECT_EQ(rdma_get_src_port(p->client), rdma_get_dst_port(p->server));
	EXPECT_STREQ(addr_text(rdma_get_local_addr(p->client), a, 160),
		     addr_text(rdma_get_peer_addr(p->server), b, 160));
	EXPECT_STREQ(addr_text(rdma_get_peer_addr(p->client), a, 160),
		     addr_text(rdma_get_local_addr(p->server), b, 160));

	attr = pair_qp(RDMA_PS_TCP);
	ASSERT_EQ(0, rdma_create_qp(p->server, NULL, &attr));
	param.private_data = "answer";
	param.private_data_len = 7;
	param.responder_resources = RDMA_MAX_RESP_RES;
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	ASSERT_EQ(0, rdma_accept(p->server, &param));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(p->server->qp));

	event = event_want(p->active, RDMA_CM_EVENT_ESTABLISHED);
	ASSERT_NE(NULL, event);
	got = &event->param.conn;
	EXPECT_EQ(p->client, event->id);
	EXPECT_EQ(NULL, event->listen_id);
	EXPECT_TRUE(data_is(got->private_data, got->private_data_len,
			    "answer"));
	EXPECT_EQ(p->server->qp->qp_num, got->qp_num);
	/* By default no more than the values of the request */
	EXPECT_EQ(2, got->responder_resources);
	EXPECT_EQ(3, got->initiator_depth);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(p->client->qp));
	EXPECT_EQ(0, event_status(p->passive, RDMA_CM_EVENT_ESTABLISHED));
}

TEST_F(conn, RA_02_disconnect)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, pair_connect(p));
	EXPECT_EQ(0, rdma_disconnect(p->client));
	EXPECT_EQ(IBV_QPS_ERR, qp_state(p->client->qp));
	EXPECT_EQ(0, event_status(p->passive, RDMA_CM_EVENT_DISCONNECTED));
	EXPECT_EQ(0, rdma_disconnect(p->server));
	EXPECT_EQ(IBV_QPS_ERR, qp_state(p->server->qp));
	EXPECT_EQ(0, event_status(p->active, RDMA_CM_EVENT_DISCONNECTED));
}

/* Waits until @id is rejected. @p keeps the id of the request. */
static int request(struct pair *p)
{
	struct ibv_qp_init_attr attr = pair_qp(p->ps);
	struct rdma_cm_event *event;

	if (rdma_create_qp(p->client, NULL, &attr) ||
	    rdma_connect(p->client, NULL))
		return -1;
	event = event_want(p->passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (!event)
		return -1;
	p->server = event->id;
	return rdma_ack_cm_event(event);
}

/* Reasons, InfiniBand specification, 12.6.7.2 */
#define REASON_CONSUMER		28
#define REASON_VENDOR_OPTION	35

TEST_F(conn, RA_02_reject)
{
	struct pair *p = &self->p;
	struct rdma_cm_event *event;

	ASSERT_EQ(0, request(p));
	ASSERT_EQ(0, rdma_reject(p->server, "no room", 8));
	event = event_want(p->active, RDMA_CM_EVENT_REJECTED);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(REASON_CONSUMER, event->status);
	EXPECT_TRUE(data_is(event->param.conn.private_data,
			    event->param.conn.private_data_len, "no room"));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(IBV_QPS_ERR, qp_state(p->client->qp));
}

TEST_F(conn, RA_02_reject_for_ece)
{
	struct pair *p = &self->p;
	struct rdma_cm_event *event;

	ASSERT_EQ(0, request(p));
	ASSERT_EQ(0, rdma_reject_ece(p->server, "other make", 11));
	event = event_want(p->active, RDMA_CM_EVENT_REJECTED);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(REASON_VENDOR_OPTION, event->status);
	EXPECT_TRUE(data_is(event->param.conn.private_data,
			    event->param.conn.private_data_len, "other make"));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

TEST_F(conn, RA_02_not_now)
{
	struct rdma_conn_param param = { .retry_count = 7 };
	struct pair *p = &self->p;
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;

	/* Without a connection, and without a request */
	FAILS(EINVAL, rdma_disconnect(p->client));
	FAILS(EINVAL, rdma_reject(p->client, NULL, 0));
	FAILS(EINVAL, rdma_accept(p->client, &param));
	FAILS(EINVAL, rdma_notify(p->client, IBV_EVENT_COMM_EST));
	/* Without a queue pair, and without the number of one */
	FAILS(EINVAL, rdma_connect(p->client, NULL));
	/* A second time */
	FAILS(EINVAL, rdma_bind_addr(p->listener, addr_make(&ss, OWN4, 0)));
	FAILS(EINVAL, rdma_listen(p->client, 1));
	FAILS(EINVAL, rdma_resolve_route(p->client, 1000));
	FAILS(EINVAL, rdma_resolve_addr(p->client, NULL,
					addr_make(&ss, OWN4, 1), 1000));

	/* More outstanding reads than the device supports */
	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	param.responder_resources = 254;
	FAILS(EINVAL, rdma_connect(p->client, &param));
	param.responder_resources = 0;
	param.initiator_depth = 254;
	FAILS(EINVAL, rdma_connect(p->client, &param));

	FAILS(EINVAL, rdma_create_id(p->active, &id, NULL, 0x4711));
	ASSERT_EQ(0, rdma_create_id(p->active, &id, NULL, RDMA_PS_TCP));
	ss.ss_family = AF_UNIX;
	FAILS(EINVAL, rdma_bind_addr(id, (struct sockaddr *)&ss));
	FAILS(EINVAL, rdma_resolve_addr(id, NULL, (struct sockaddr *)&ss, 1));
	EXPECT_EQ(-1, rdma_bind_addr(id, addr_make(&ss, "203.0.113.1", 0)));
	FAILS(EADDRINUSE, rdma_bind_addr(id, addr_make(&ss, OWN4,
				ntohs(rdma_get_src_port(p->listener)))));
	/* Bound to an address, but not resolved */
	ASSERT_EQ(0, rdma_bind_addr(id, addr_make(&ss, OWN4, 0)));
	FAILS(EINVAL, rdma_resolve_route(id, 1000));
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	FAILS(EINVAL, rdma_connect(id, NULL));
	rdma_destroy_qp(id);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* The largest length that fits beside the header of the CM */
TEST_F(conn, RA_02_private_data_limits)
{
	static const char data[255];
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = 57,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct pair *p = &self->p;
	struct rdma_cm_event *event;

	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	FAILS(EINVAL, rdma_connect(p->client, &param));
	param.private_data_len = 56;
	ASSERT_EQ(0, rdma_connect(p->client, &param));
	event = event_want(p->passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(56, event->param.conn.private_data_len);
	p->server = event->id;
	EXPECT_EQ(0, rdma_ack_cm_event(event));

	attr = pair_qp(RDMA_PS_TCP);
	ASSERT_EQ(0, rdma_create_qp(p->server, NULL, &attr));
	param.private_data_len = 197;
	FAILS(EINVAL, rdma_accept(p->server, &param));
	EXPECT_EQ(IBV_QPS_ERR, qp_state(p->server->qp));
	/* The CM has rejected the request, which ends it. */
	event = event_want(p->active, RDMA_CM_EVENT_REJECTED);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(148, event->param.conn.private_data_len);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

TEST_F(conn, RA_02_private_data_limit_of_reject)
{
	static const char data[255];
	struct pair *p = &self->p;

	ASSERT_EQ(0, request(p));
	FAILS(EINVAL, rdma_reject(p->server, data, 149));
	ASSERT_EQ(0, rdma_reject(p->server, data, 148));
	EXPECT_EQ(REASON_CONSUMER, event_status(p->active,
						RDMA_CM_EVENT_REJECTED));
}

TEST_F(conn, RA_02_largest_answer)
{
	static const char data[255];
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = 196,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct pair *p = &self->p;

	ASSERT_EQ(0, request(p));
	ASSERT_EQ(0, rdma_create_qp(p->server, NULL, &attr));
	ASSERT_EQ(0, rdma_accept(p->server, &param));
	EXPECT_EQ(0, event_status(p->active, RDMA_CM_EVENT_ESTABLISHED));
}

/* A client of either family connects to the wildcard. */
static void wildcard_check(struct __test_metadata *_metadata, struct pair *p,
			   struct rdma_cm_id *listener, const char *addr)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	unsigned int port = ntohs(rdma_get_src_port(listener));
	struct rdma_cm_event *event;
	struct rdma_cm_id *client;
	char text[160];

	ASSERT_EQ(0, rdma_create_id(p->active, &client, NULL, RDMA_PS_TCP));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(client, NULL, addr, port, NULL));
	ASSERT_EQ(0, rdma_resolve_route(client, 30000));
	ASSERT_EQ(0, event_status(p->active, RDMA_CM_EVENT_ROUTE_RESOLVED));
	ASSERT_EQ(0, rdma_create_qp(client, NULL, &attr));
	ASSERT_EQ(0, rdma_connect(client, NULL));
	event = event_want(p->passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	ASSERT_NE(NULL, event);
	EXPECT_EQ(listener, event->listen_id);
	EXPECT_STREQ(addr, host_text(rdma_get_local_addr(event->id), text,
				     sizeof(text)));
	EXPECT_EQ(0, rdma_reject(event->id, NULL, 0));
	p->server = event->id;
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, rdma_destroy_id(p->server));
	p->server = NULL;
	EXPECT_EQ(REASON_CONSUMER, event_status(p->active,
						RDMA_CM_EVENT_REJECTED));
	rdma_destroy_qp(client);
	EXPECT_EQ(0, rdma_destroy_id(client));
}

TEST_F(conn, RA_02_listen_without_an_address)
{
	struct pair *p = &self->p;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(p->passive, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_listen(id, 1));
	EXPECT_NE(0, rdma_get_src_port(id));
	EXPECT_EQ(NULL, id->verbs);
	wildcard_check(_metadata, p, id, OWN4);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* The guest delta has no IPv6. */
static bool ipv6_enabled(void)
{
	return !access("/proc/net/if_inet6", F_OK);
}

TEST_F(conn, RA_02_wildcard_of_both_families)
{
	struct pair *p = &self->p;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(p->passive, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, id_bind(id, "::", 0));
	ASSERT_EQ(0, rdma_listen(id, 1));
	EXPECT_EQ(NULL, id->verbs);
	if (ipv6_enabled())
		wildcard_check(_metadata, p, id, OWN6);
	wildcard_check(_metadata, p, id, OWN4);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(conn, RA_02_addresses_of_an_idle_id)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(self->p.active, &id, self, RDMA_PS_UDP));
	EXPECT_EQ(0, rdma_get_src_port(id));
	EXPECT_EQ(0, rdma_get_dst_port(id));
	EXPECT_EQ(0, rdma_get_local_addr(id)->sa_family);
	EXPECT_EQ(0, rdma_get_peer_addr(id)->sa_family);
	EXPECT_EQ(NULL, id->verbs);
	EXPECT_EQ(self, id->context);
	EXPECT_EQ(RDMA_PS_UDP, id->ps);
	EXPECT_EQ(IBV_QPT_UD, id->qp_type);
	ASSERT_EQ(0, id_bind(id, ipv6_enabled() ? OWN6 : OWN4, 0));
	EXPECT_NE(0, rdma_get_src_port(id));
	EXPECT_EQ(ipv6_enabled() ? AF_INET6 : AF_INET,
		  rdma_get_local_addr(id)->sa_family);
	EXPECT_NE(NULL, id->verbs);
	EXPECT_NE(NULL, id->pd);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

FIXTURE(dgram) {
	struct pair p;
};

FIXTURE_SETUP(dgram)
{
	ASSERT_EQ(0, pair_open(&self->p, RDMA_PS_UDP));
}

FIXTURE_TEARDOWN(dgram)
{
	pair_close(&self->p);
}

/* A datagram id requests the queue pair of a port. */
TEST_F(dgram, RA_02_lookup_and_send)
{
	struct rdma_conn_param param = { .private_data = "who",
					 .private_data_len = 4 };
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_UDP);
	char out[] = "datagram", in[40 + 64] = "";
	struct ibv_mr *mr_out, *mr_in;
	struct pair *p = &self->p;
	struct rdma_cm_event *event;
	struct rdma_ud_param *ud;
	uint32_t qpn;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	EXPECT_EQ(IBV_QPS_RTS, qp_state(p->client->qp));
	ASSERT_EQ(0, rdma_connect(p->client, &param));
	event = event_want(p->passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	ASSERT_NE(NULL, event);
	ud = &event->param.ud;
	EXPECT_TRUE(data_is(ud->private_data, ud->private_data_len, "who"));
	p->server = event->id;
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	attr = pair_qp(RDMA_PS_UDP);
	ASSERT_EQ(0, rdma_create_qp(p->server, NULL, &attr));
	mr_in = rdma_reg_msgs(p->server, in, sizeof(in));
	ASSERT_NE(NULL, mr_in);
	ASSERT_EQ(0, rdma_post_recv(p->server, in, in, sizeof(in), mr_in));
	param.private_data = "me";
	param.private_data_len = 3;
	ASSERT_EQ(0, rdma_accept(p->server, &param));

	event = event_want(p->active, RDMA_CM_EVENT_ESTABLISHED);
	ASSERT_NE(NULL, event);
	ud = &event->param.ud;
	EXPECT_TRUE(data_is(ud->private_data, ud->private_data_len, "me"));
	EXPECT_EQ(p->server->qp->qp_num, ud->qp_num);
	EXPECT_EQ(RDMA_UDP_QKEY, ud->qkey);
	qpn = ud->qp_num;
	ah = ibv_create_ah(p->client->pd, &ud->ah_attr);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	ASSERT_NE(NULL, ah);

	mr_out = rdma_reg_msgs(p->client, out, sizeof(out));
	ASSERT_NE(NULL, mr_out);
	ASSERT_EQ(0, rdma_post_ud_send(p->client, out, out, sizeof(out),
				       mr_out, 0, ah, qpn));
	ASSERT_EQ(1, rdma_get_send_comp(p->client, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ((uintptr_t)out, wc.wr_id);
	ASSERT_EQ(1, rdma_get_recv_comp(p->server, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(40 + sizeof(out), wc.byte_len);
	EXPECT_STREQ("datagram", in + 40);
	EXPECT_EQ(0, rdma_dereg_mr(mr_in));
	EXPECT_EQ(0, rdma_dereg_mr(mr_out));
	EXPECT_EQ(0, ibv_destroy_ah(ah));
}

#define SIDR_REJECTED	2	/* InfiniBand specification, 12.11.2 */

TEST_F(dgram, RA_02_reject)
{
	ASSERT_EQ(0, request(&self->p));
	ASSERT_EQ(0, rdma_reject(self->p.server, "nobody", 7));
	EXPECT_EQ(SIDR_REJECTED, event_status(self->p.active,
					      RDMA_CM_EVENT_UNREACHABLE));
}

TEST_HARNESS_MAIN
