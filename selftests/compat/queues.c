// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: a failed creation of queues changes nothing. Not run on the stock
 * library: it returns pointers to destroyed completion queues, and destroys
 * those of a queue pair in use.
 */
#include "pair.h"

FIXTURE(queues) {
	struct pair p;
};

FIXTURE_SETUP(queues)
{
	ASSERT_EQ(0, pair_open(&self->p, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(queues)
{
	pair_close(&self->p);
}

/* Programs retry with smaller values and the same attributes. */
TEST_F(queues, RA_02_smaller_queue_pair)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct ibv_qp_init_attr_ex ex = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_cm_id *id = self->p.client;

	attr.cap.max_send_sge = 0x7fffffff;
	ASSERT_EQ(-1, rdma_create_qp(id, NULL, &attr));
	EXPECT_EQ(NULL, attr.send_cq);
	EXPECT_EQ(NULL, attr.recv_cq);
	EXPECT_EQ(NULL, id->send_cq);
	EXPECT_EQ(NULL, id->recv_cq_channel);
	attr.cap.max_send_sge = 1;
	ASSERT_EQ(0, rdma_create_qp(id, NULL, &attr));
	EXPECT_EQ(id->send_cq, attr.send_cq);
	EXPECT_EQ(id->recv_cq, attr.recv_cq);
	rdma_destroy_qp(id);

	ex.cap.max_send_sge = 0x7fffffff;
	ASSERT_EQ(-1, rdma_create_qp_ex(id, &ex));
	EXPECT_EQ(NULL, ex.send_cq);
	EXPECT_EQ(NULL, ex.recv_cq);
	ex.cap.max_send_sge = 1;
	ASSERT_EQ(0, rdma_create_qp_ex(id, &ex));
	EXPECT_EQ(id->send_cq, ex.send_cq);
}

TEST_F(queues, RA_02_srq_that_fails_beside_a_queue_pair)
{
	struct ibv_srq_init_attr srq = {
		.attr = { .max_wr = 0x7fffffff, .max_sge = 1 },
	};
	struct ibv_comp_channel *channel;
	struct pair *p = &self->p;
	struct ibv_wc wc;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char in[16];

	ASSERT_EQ(0, pair_connect(p));
	cq = p->server->recv_cq;
	channel = p->server->recv_cq_channel;
	ASSERT_EQ(-1, rdma_create_srq(p->server, NULL, &srq));
	EXPECT_EQ(NULL, p->server->srq);
	EXPECT_EQ(cq, p->server->recv_cq);
	EXPECT_EQ(channel, p->server->recv_cq_channel);
	EXPECT_NE(NULL, p->server->send_cq);

	mr = rdma_reg_msgs(p->server, in, sizeof(in));
	ASSERT_NE(NULL, mr);
	ASSERT_EQ(0, rdma_post_recv(p->server, NULL, in, sizeof(in), mr));
	ASSERT_EQ(0, rdma_post_send(p->client, NULL, "still", 6, NULL,
				    IBV_SEND_INLINE));
	ASSERT_EQ(1, rdma_get_recv_comp(p->server, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_STREQ("still", in);
	EXPECT_EQ(0, rdma_dereg_mr(mr));
}

TEST_HARNESS_MAIN
