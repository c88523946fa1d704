// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: queue pairs that the program creates: rdma_init_qp_attr() for each
 * state, rdma_establish(), rdma_notify(), and extended connection options
 * (ECE).
 */
#include "pair.h"

/* Objects of a program that calls the verbs itself */
struct own {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

FIXTURE(ownqp) {
	struct pair p;
	struct own client;
	struct own server;
};

FIXTURE_SETUP(ownqp)
{
	ASSERT_EQ(0, pair_open(&self->p, RDMA_PS_TCP));
}

static void own_close(struct own *own)
{
	if (own->qp)
		ibv_destroy_qp(own->qp);
	if (own->cq)
		ibv_destroy_cq(own->cq);
	if (own->pd)
		ibv_dealloc_pd(own->pd);
}

FIXTURE_TEARDOWN(ownqp)
{
	own_close(&self->client);
	own_close(&self->server);
	pair_close(&self->p);
}

static int own_state(struct own *own, struct rdma_cm_id *id,
		     enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask = 0;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return -1;
	if (attr.qp_state != state || !(mask & IBV_QP_STATE))
		return -2;
	return ibv_modify_qp(own->qp, &attr, mask) ? -3 : 0;
}

static int own_open(struct own *own, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);

	own->pd = ibv_alloc_pd(id->verbs);
	own->cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
	attr.send_cq = own->cq;
	attr.recv_cq = own->cq;
	own->qp = ibv_create_qp(own->pd, &attr);
	return own->qp ? own_state(own, id, IBV_QPS_INIT) : -1;
}

static int own_ready(struct own *own, struct rdma_cm_id *id)
{
	return own_state(own, id, IBV_QPS_RTR) ?:
	       own_state(own, id, IBV_QPS_RTS);
}

/* Connects up to CONNECT_RESPONSE. The caller has set options before. */
static int own_request(struct pair *p, struct own *client, struct own *server)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1,
		.retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_cm_event *event;

	if (own_open(client, p->client))
		return 1;
	param.qp_num = client->qp->qp_num;
	if (rdma_connect(p->client, &param))
		return 2;
	event = event_want(p->passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (!event)
		return 3;
	p->server = event->id;
	if (event->param.conn.qp_num != client->qp->qp_num)
		return 4;
	rdma_ack_cm_event(event);
	return own_open(server, p->server) || own_ready(server, p->server) ?
	       5 : 0;
}

static int own_accept(struct pair *p, struct own *server)
{
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1,
		.rnr_retry_count = 7, .qp_num = server->qp->qp_num,
	};
	struct rdma_cm_event *event;
	uint32_t qpn;

	if (rdma_accept(p->server, &param))
		return 1;
	event = event_want(p->active, RDMA_CM_EVENT_CONNECT_RESPONSE);
	if (!event)
		return 2;
	qpn = event->param.conn.qp_num;
	rdma_ack_cm_event(event);
	return qpn == server->qp->qp_num ? 0 : 3;
}

static int cq_wait(struct ibv_cq *cq, struct ibv_wc *wc)
{
	long long end = now_ms() + WAIT_MS;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc)) && now_ms() < end)
		sched_yield();
	return n;
}

/* A message from the client to the server, by plain verbs */
static int own_send(struct own *client, struct own *server)
{
	char in[32] = "", out[32] = "by my own queue pair";
	struct ibv_mr *mr_in, *mr_out;
	struct ibv_sge sge = { .length = sizeof(in) };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .sg_list = &sge, .num_sge = 1,
				    .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_wc wc;

	mr_in = ibv_reg_mr(server->pd, in, sizeof(in), IBV_ACCESS_LOCAL_WRITE);
	mr_out = ibv_reg_mr(client->pd, out, sizeof(out), 0);
	if (!mr_in || !mr_out)
		return 1;
	sge.addr = (uintptr_t)in;
	sge.lkey = mr_in->lkey;
	if (ibv_post_recv(server->qp, &recv, &bad_recv))
		return 2;
	sge.addr = (uintptr_t)out;
	sge.lkey = mr_out->lkey;
	if (ibv_post_send(client->qp, &send, &bad_send))
		return 3;
	if (cq_wait(client->cq, &wc) != 1 || wc.status)
		return 4;
	if (cq_wait(server->cq, &wc) != 1 || wc.status)
		return 5;
	if (strcmp(in, out))
		return 6;
	ibv_dereg_mr(mr_in);
	ibv_dereg_mr(mr_out);
	return 0;
}

TEST_F(ownqp, RA_02_establish)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, own_request(p, &self->client, &self->server));
	ASSERT_EQ(0, own_accept(p, &self->server));
	ASSERT_EQ(0, own_ready(&self->client, p->client));
	ASSERT_EQ(0, rdma_establish(p->client));
	ASSERT_EQ(0, event_status(p->passive, RDMA_CM_EVENT_ESTABLISHED));
	EXPECT_EQ(0, own_send(&self->client, &self->server));
	EXPECT_EQ(0, rdma_disconnect(p->client));
	EXPECT_EQ(0, event_status(p->passive, RDMA_CM_EVENT_DISCONNECTED));
	/* The library does not change the state of the program's queue pair. */
	EXPECT_EQ(IBV_QPS_RTS, qp_state(self->client.qp));
	EXPECT_EQ(0, rdma_disconnect(p->server));
	EXPECT_EQ(0, event_status(p->active, RDMA_CM_EVENT_DISCONNECTED));
}

/* Data arrived before the RTU: the server may send. */
TEST_F(ownqp, RA_02_notify)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, own_request(p, &self->client, &self->server));
	ASSERT_EQ(0, own_accept(p, &self->server));
	errno = 0;
	EXPECT_EQ(-1, rdma_notify(p->server, IBV_EVENT_QP_FATAL));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, rdma_notify(p->server, IBV_EVENT_COMM_EST));
	EXPECT_EQ(0, event_status(p->passive, RDMA_CM_EVENT_ESTABLISHED));
}

TEST_F(ownqp, RA_02_attributes)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct pair *p = &self->p;
	struct rdma_cm_id *id;
	int mask = 0;

	ASSERT_EQ(0, rdma_init_qp_attr(p->client, &attr, &mask));
	EXPECT_EQ(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		  IBV_QP_ACCESS_FLAGS, mask);
	EXPECT_EQ(p->client->port_num, attr.port_num);
	EXPECT_EQ(IBV_QPS_INIT, attr.qp_state);

	attr.qp_state = 99;
	errno = 0;
	EXPECT_EQ(-1, rdma_init_qp_attr(p->client, &attr, &mask));
	EXPECT_EQ(EINVAL, errno);
	/* Without a device */
	ASSERT_EQ(0, rdma_create_id(p->active, &id, NULL, RDMA_PS_TCP));
	attr.qp_state = IBV_QPS_INIT;
	errno = 0;
	EXPECT_EQ(-1, rdma_init_qp_attr(id, &attr, &mask));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(ownqp, RA_02_establish_needs_an_own_qp)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct pair *p = &self->p;

	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	errno = 0;
	EXPECT_EQ(-1, rdma_establish(p->client));
	EXPECT_EQ(EINVAL, errno);
	rdma_destroy_qp(p->client);
	/* Without a connection */
	errno = 0;
	EXPECT_EQ(-1, rdma_establish(p->client));
	EXPECT_EQ(EINVAL, errno);
}

#define ECE_VENDOR	0xabc123

TEST_F(ownqp, RA_02_ece)
{
	struct ibv_ece ece = { .vendor_id = ECE_VENDOR, .options = 0x7f };
	struct ibv_ece got = { .comp_mask = 9 };
	struct pair *p = &self->p;

	ASSERT_EQ(0, rdma_set_local_ece(p->client, &ece));
	ASSERT_EQ(0, own_request(p, &self->client, &self->server));
	ASSERT_EQ(0, rdma_get_remote_ece(p->server, &got));
	EXPECT_EQ(ECE_VENDOR, got.vendor_id);
	EXPECT_EQ(0x7f, got.options);
	EXPECT_EQ(0, got.comp_mask);
	/* The reply has the common options. */
	ece.options = 0x11;
	ASSERT_EQ(0, rdma_set_local_ece(p->server, &ece));
	ASSERT_EQ(0, own_accept(p, &self->server));
	ASSERT_EQ(0, rdma_get_remote_ece(p->client, &got));
	EXPECT_EQ(ECE_VENDOR, got.vendor_id);
	EXPECT_EQ(0x11, got.options);
}

TEST_F(ownqp, RA_02_ece_misuse)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct ibv_ece ece = { .options = 1 }, got = {};
	struct pair *p = &self->p;

	/* The peer has not sent any yet. */
	EXPECT_EQ(0, rdma_get_remote_ece(p->client, &got));
	EXPECT_EQ(0, got.vendor_id);
	errno = 0;
	EXPECT_EQ(-1, rdma_set_local_ece(p->client, &ece));
	EXPECT_EQ(EINVAL, errno);
	ece.vendor_id = ECE_VENDOR;
	ece.comp_mask = 1;
	errno = 0;
	EXPECT_EQ(-1, rdma_set_local_ece(p->client, &ece));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_set_local_ece(p->client, NULL));
	EXPECT_EQ(EINVAL, errno);
	/* With a queue pair of the id the library sets the options. */
	ece.comp_mask = 0;
	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	errno = 0;
	EXPECT_EQ(-1, rdma_set_local_ece(p->client, &ece));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_get_remote_ece(p->client, &got));
	EXPECT_EQ(EINVAL, errno);
}

TEST_HARNESS_MAIN
