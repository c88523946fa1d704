// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: the inline helpers of <rdma/rdma_verbs.h>, queue pairs and shared
 * receive queues, with data transfer.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "pair.h"

#define SIZE	256

FIXTURE(verbs) {
	struct pair p;
	char out[SIZE];		/* of the client */
	char in[SIZE];		/* of the server */
	struct ibv_mr *mr_out;
	struct ibv_mr *mr_in;
};

FIXTURE_SETUP(verbs)
{
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, pair_open(&self->p, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(verbs)
{
	if (self->mr_out)
		EXPECT_EQ(0, rdma_dereg_mr(self->mr_out));
	if (self->mr_in)
		EXPECT_EQ(0, rdma_dereg_mr(self->mr_in));
	pair_close(&self->p);
}

static bool sent(struct rdma_cm_id *id, void *context, enum ibv_wc_opcode op)
{
	struct ibv_wc wc;

	return rdma_get_send_comp(id, &wc) == 1 && !wc.status &&
	       wc.wr_id == (uintptr_t)context && wc.opcode == op;
}

static bool received(struct rdma_cm_id *id, void *context, uint32_t len)
{
	struct ibv_wc wc;

	return rdma_get_recv_comp(id, &wc) == 1 && !wc.status &&
	       wc.wr_id == (uintptr_t)context && wc.opcode == IBV_WC_RECV &&
	       wc.byte_len == len;
}

TEST_F(verbs, RA_02_send_and_recv)
{
	struct pair *p = &self->p;

	ASSERT_EQ(0, pair_connect(p));
	EXPECT_NE(NULL, p->client->send_cq);
	EXPECT_NE(NULL, p->client->recv_cq);
	EXPECT_NE(NULL, p->client->send_cq_channel);
	EXPECT_NE(NULL, p->client->recv_cq_channel);
	EXPECT_EQ(p->client->send_cq, p->client->qp->send_cq);
	EXPECT_EQ(p->client->pd, p->client->qp->pd);

	self->mr_out = rdma_reg_msgs(p->client, self->out, SIZE);
	self->mr_in = rdma_reg_msgs(p->server, self->in, SIZE);
	ASSERT_NE(NULL, self->mr_out);
	ASSERT_NE(NULL, self->mr_in);
	ASSERT_EQ(0, rdma_post_recv(p->server, &self->in, self->in, SIZE,
				    self->mr_in));
	strcpy(self->out, "one buffer");
	ASSERT_EQ(0, rdma_post_send(p->client, &self->out, self->out, 100,
				    self->mr_out, 0));
	EXPECT_TRUE(sent(p->client, &self->out, IBV_WC_SEND));
	EXPECT_TRUE(received(p->server, &self->in, 100));
	EXPECT_STREQ("one buffer", self->in);

	/* Inline data needs no registered memory. */
	ASSERT_EQ(0, rdma_post_recv(p->server, NULL, self->in, SIZE,
				    self->mr_in));
	ASSERT_EQ(0, rdma_post_send(p->client, NULL, "inline", 7, NULL,
				    IBV_SEND_INLINE));
	EXPECT_TRUE(sent(p->client, NULL, IBV_WC_SEND));
	EXPECT_TRUE(received(p->server, NULL, 7));
	EXPECT_STREQ("inline", self->in);
}

TEST_F(verbs, RA_02_lists_of_buffers)
{
	struct pair *p = &self->p;
	struct ibv_sge sge[64];
	int i;

	ASSERT_EQ(0, pair_connect(p));
	self->mr_out = rdma_reg_msgs(p->client, self->out, SIZE);
	self->mr_in = rdma_reg_msgs(p->server, self->in, SIZE);
	ASSERT_NE(NULL, self->mr_out);
	ASSERT_NE(NULL, self->mr_in);
	for (i = 0; i < 3; i++)
		sge[i] = (struct ibv_sge) {
			.addr = (uintptr_t)&self->in[64 * i],
			.length = 4,
			.lkey = self->mr_in->lkey,
		};
	ASSERT_EQ(0, rdma_post_recvv(p->server, self, sge, 3));
	memcpy(self->out, "abcdef", 6);
	memcpy(self->out + 100, "ghijkl", 6);
	for (i = 0; i < 2; i++)
		sge[i] = (struct ibv_sge) {
			.addr = (uintptr_t)&self->out[100 * i],
			.length = 6,
			.lkey = self->mr_out->lkey,
		};
	ASSERT_EQ(0, rdma_post_sendv(p->client, self, sge, 2, 0));
	EXPECT_TRUE(sent(p->client, self, IBV_WC_SEND));
	EXPECT_TRUE(received(p->server, self, 12));
	EXPECT_EQ(0, memcmp(self->in, "abcd", 5));
	EXPECT_EQ(0, memcmp(self->in + 64, "efgh", 5));
	EXPECT_EQ(0, memcmp(self->in + 128, "ijkl", 5));

	/* More SGEs than any of these devices supports */
	for (i = 2; i < 64; i++)
		sge[i] = sge[0];
	EXPECT_EQ(-1, rdma_post_sendv(p->client, self, sge, 64, 0));
	EXPECT_EQ(-1, rdma_post_recvv(p->client, self, sge, 64));
}

TEST_F(verbs, RA_02_read)
{
	struct pair *p = &self->p;
	struct ibv_sge sge[2];

	ASSERT_EQ(0, pair_connect(p));
	strcpy(self->in, "to be read");
	self->mr_in = rdma_reg_read(p->server, self->in, SIZE);
	self->mr_out = rdma_reg_msgs(p->client, self->out, SIZE);
	ASSERT_NE(NULL, self->mr_in);
	ASSERT_NE(NULL, self->mr_out);
	ASSERT_EQ(0, rdma_post_read(p->client, self, self->out, 11,
				    self->mr_out, 0, (uintptr_t)self->in,
				    self->mr_in->rkey));
	EXPECT_TRUE(sent(p->client, self, IBV_WC_RDMA_READ));
	EXPECT_STREQ("to be read", self->out);

	memset(self->out, 0, SIZE);
	sge[0] = (struct ibv_sge) { .addr = (uintptr_t)self->out, .length = 6,
				    .lkey = self->mr_out->lkey };
	sge[1] = sge[0];
	sge[1].addr += 64;
	sge[1].length = 5;
	ASSERT_EQ(0, rdma_post_readv(p->client, self, sge, 2, 0,
				     (uintptr_t)self->in, self->mr_in->rkey));
	EXPECT_TRUE(sent(p->client, self, IBV_WC_RDMA_READ));
	EXPECT_EQ(0, memcmp("to be ", self->out, 7));
	EXPECT_STREQ("read", self->out + 64);
}

TEST_F(verbs, RA_02_write)
{
	struct pair *p = &self->p;
	struct ibv_sge sge[2];

	ASSERT_EQ(0, pair_connect(p));
	self->mr_in = rdma_reg_write(p->server, self->in, SIZE);
	self->mr_out = rdma_reg_msgs(p->client, self->out, SIZE);
	ASSERT_NE(NULL, self->mr_in);
	ASSERT_NE(NULL, self->mr_out);
	strcpy(self->out, "written");
	ASSERT_EQ(0, rdma_post_write(p->client, self, self->out, 8,
				     self->mr_out, 0, (uintptr_t)self->in,
				     self->mr_in->rkey));
	EXPECT_TRUE(sent(p->client, self, IBV_WC_RDMA_WRITE));
	EXPECT_STREQ("written", self->in);

	sge[0] = (struct ibv_sge) { .addr = (uintptr_t)self->out + 4,
				    .length = 3, .lkey = self->mr_out->lkey };
	sge[1] = sge[0];
	ASSERT_EQ(0, rdma_post_writev(p->client, self, sge, 2, 0,
				      (uintptr_t)self->in + 100,
				      self->mr_in->rkey));
	EXPECT_TRUE(sent(p->client, self, IBV_WC_RDMA_WRITE));
	EXPECT_STREQ("tenten", self->in + 100);
}

/* A write to memory that was registered for remote reads fails. */
TEST_F(verbs, RA_02_access_is_limited)
{
	struct pair *p = &self->p;
	struct ibv_wc wc;

	ASSERT_EQ(0, pair_connect(p));
	strcpy(self->in, "untouched");
	self->mr_in = rdma_reg_read(p->server, self->in, SIZE);
	ASSERT_NE(NULL, self->mr_in);
	ASSERT_EQ(0, rdma_post_write(p->client, self, "overwritten", 12, NULL,
				     IBV_SEND_INLINE, (uintptr_t)self->in,
				     self->mr_in->rkey));
	ASSERT_EQ(1, rdma_get_send_comp(p->client, &wc));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, wc.status);
	EXPECT_STREQ("untouched", self->in);
}

TEST_F(verbs, RA_02_flushed_at_the_end)
{
	struct pair *p = &self->p;
	struct ibv_wc wc;

	ASSERT_EQ(0, pair_connect(p));
	self->mr_in = rdma_reg_msgs(p->server, self->in, SIZE);
	ASSERT_NE(NULL, self->mr_in);
	ASSERT_EQ(0, rdma_post_recv(p->server, self, self->in, SIZE,
				    self->mr_in));
	ASSERT_EQ(0, rdma_disconnect(p->server));
	ASSERT_EQ(1, rdma_get_recv_comp(p->server, &wc));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
	EXPECT_EQ((uintptr_t)self, wc.wr_id);
}

TEST_F(verbs, RA_02_bad_memory)
{
	long page = sysconf(_SC_PAGESIZE);
	void *gone = mmap(NULL, page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, gone);
	munmap(gone, page);
	errno = 0;
	EXPECT_EQ(NULL, rdma_reg_msgs(self->p.client, gone, page));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(NULL, rdma_reg_read(self->p.client, gone, page));
	EXPECT_EQ(NULL, rdma_reg_write(self->p.client, gone, page));
}

TEST_F(verbs, RA_02_shared_receive_queue)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_TCP);
	struct pair *p = &self->p;

	/* The client receives from a shared receive queue. */
	ASSERT_EQ(0, rdma_create_srq(p->client, NULL, &srq));
	ASSERT_NE(NULL, p->client->srq);
	EXPECT_EQ(p->client->pd, p->client->srq->pd);
	ASSERT_EQ(0, rdma_create_qp(p->client, NULL, &attr));
	EXPECT_EQ(p->client->srq, p->client->qp->srq);
	ASSERT_EQ(0, pair_connect(p));

	self->mr_out = rdma_reg_msgs(p->server, self->out, SIZE);
	self->mr_in = rdma_reg_msgs(p->client, self->in, SIZE);
	ASSERT_NE(NULL, self->mr_out);
	ASSERT_NE(NULL, self->mr_in);
	ASSERT_EQ(0, rdma_post_recv(p->client, self, self->in, SIZE,
				    self->mr_in));
	strcpy(self->out, "shared");
	ASSERT_EQ(0, rdma_post_send(p->server, self, self->out, 7,
				    self->mr_out, 0));
	EXPECT_TRUE(sent(p->server, self, IBV_WC_SEND));
	EXPECT_TRUE(received(p->client, self, 7));
	EXPECT_STREQ("shared", self->in);

	rdma_destroy_qp(p->client);
	EXPECT_EQ(NULL, p->client->qp);
	EXPECT_EQ(NULL, p->client->recv_cq);
	rdma_destroy_srq(p->client);
	EXPECT_EQ(NULL, p->client->srq);
}

TEST_F(verbs, RA_02_create_srq_ex)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 8, .max_sge = 1 },
		.srq_type = IBV_SRQT_BASIC,
	};
	struct pair *p = &self->p;
	struct ibv_pd *pd;

	errno = 0;
	EXPECT_EQ(-1, rdma_create_srq_ex(p->client, &attr));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, p->client->srq);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	ASSERT_EQ(0, rdma_create_srq_ex(p->client, &attr));
	EXPECT_EQ(p->client->pd, p->client->srq->pd);
	rdma_destroy_srq(p->client);

	pd = ibv_alloc_pd(p->client->verbs);
	ASSERT_NE(NULL, pd);
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	attr.pd = pd;
	ASSERT_EQ(0, rdma_create_srq_ex(p->client, &attr));
	EXPECT_EQ(pd, p->client->srq->pd);
	rdma_destroy_srq(p->client);
	EXPECT_EQ(0, ibv_dealloc_pd(pd));

	/* More than any device supports */
	attr.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	attr.attr.max_wr = 0x7fffffff;
	EXPECT_EQ(-1, rdma_create_srq_ex(p->client, &attr));
	EXPECT_EQ(NULL, p->client->srq);
}

/* The caller keeps its completion queues and protection domain. */
TEST_F(verbs, RA_02_create_qp_ex)
{
	struct ibv_qp_init_attr_ex attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
	};
	struct pair *p = &self->p;
	struct ibv_pd *pd, *usual = p->client->pd;
	struct ibv_cq *cq, *other;

	pd = ibv_alloc_pd(p->client->verbs);
	cq = ibv_create_cq(p->client->verbs, 8, NULL, NULL, 0);
	other = ibv_create_cq(p->client->verbs, 8, NULL, NULL, 0);
	ASSERT_NE(NULL, pd);
	ASSERT_NE(NULL, cq);
	ASSERT_NE(NULL, other);
	attr.pd = pd;
	attr.send_cq = cq;
	attr.recv_cq = other;
	ASSERT_EQ(0, rdma_create_qp_ex(p->client, &attr));
	EXPECT_EQ(pd, p->client->pd);
	EXPECT_EQ(pd, p->client->qp->pd);
	EXPECT_EQ(cq, p->client->qp->send_cq);
	EXPECT_EQ(other, p->client->qp->recv_cq);
	EXPECT_EQ(NULL, p->client->send_cq);
	EXPECT_EQ(NULL, p->client->recv_cq);
	/* A second queue pair fails. */
	errno = 0;
	EXPECT_EQ(-1, rdma_create_qp_ex(p->client, &attr));
	EXPECT_EQ(EINVAL, errno);
	rdma_destroy_qp(p->client);
	EXPECT_EQ(0, ibv_destroy_cq(cq));
	EXPECT_EQ(0, ibv_destroy_cq(other));
	p->client->pd = usual;
	EXPECT_EQ(0, ibv_dealloc_pd(pd));

	/* Without the caller's queues the library creates them. */
	attr.comp_mask = 0;
	attr.send_cq = NULL;
	attr.recv_cq = NULL;
	ASSERT_EQ(0, rdma_create_qp_ex(p->client, &attr));
	EXPECT_EQ(usual, attr.pd);
	EXPECT_EQ(p->client->send_cq, attr.send_cq);
	EXPECT_NE(NULL, attr.recv_cq);
	rdma_destroy_qp(p->client);

	/* A failed creation leaves no object. */
	attr.cap.max_send_wr = 0x7fffffff;
	attr.send_cq = NULL;
	attr.recv_cq = NULL;
	EXPECT_EQ(-1, rdma_create_qp_ex(p->client, &attr));
	EXPECT_EQ(NULL, p->client->qp);
	EXPECT_EQ(NULL, p->client->recv_cq);
	EXPECT_EQ(NULL, p->client->recv_cq_channel);
}

TEST_HARNESS_MAIN
