// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guarantees of the RC and UC transport of the simulated HCA, through
 * libibverbs: data arrives, or on UC may be lost.
 */
#include <errno.h>
#include <poll.h>

#include "transport.h"

/* --- Data ----------------------------------------------------------------- */

TEST_F(pair, rc_send)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	fill(self->a.buf, 5000, 1);
	ASSERT_EQ(0, end_recv(&self->b, 7, 64, 6000));
	ASSERT_EQ(0, end_send(&self->a, 8, IBV_WR_SEND, 0, 5000));
	SENT(&self->a, 8, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_SEND, self->wc.opcode);
	EXPECT_EQ(self->a.qp->qp_num, self->wc.qp_num);
	RECEIVED(&self->b, 7, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_RECV, self->wc.opcode);
	EXPECT_EQ(5000, self->wc.byte_len);
	EXPECT_EQ(self->b.qp->qp_num, self->wc.qp_num);
	EXPECT_EQ(self->a.qp->qp_num, self->wc.src_qp);
	EXPECT_EQ(self->a.lid, self->wc.slid);
	EXPECT_EQ(0, self->wc.wc_flags);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + 64, 5000));
	EXPECT_EQ(0, self->b.buf[63]);
	EXPECT_EQ(0, self->b.buf[5064]);
}

TEST_F(pair, rc_send_pieces_with_immediate)
{
	struct ibv_sge from[3], to[2];
	struct ibv_send_wr send = {
		.wr_id = 1, .sg_list = from, .num_sge = 3,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32(0x12345678),
	};
	struct ibv_recv_wr recv = { .wr_id = 2, .sg_list = to, .num_sge = 2 };
	struct ibv_recv_wr *bad;
	int i;

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	fill(self->a.buf, 600000, 3);
	for (i = 0; i < 3; i++)
		from[i] = (struct ibv_sge) {
			.addr = (uintptr_t)self->a.buf + i * 100001,
			.length = 100001, .lkey = self->a.mr->lkey,
		};
	to[0] = (struct ibv_sge) {
		.addr = (uintptr_t)self->b.buf, .length = 70003,
		.lkey = self->b.mr->lkey,
	};
	to[1] = (struct ibv_sge) {
		.addr = (uintptr_t)self->b.buf + 70003, .length = 400000,
		.lkey = self->b.mr->lkey,
	};
	ASSERT_EQ(0, ibv_post_recv(self->b.qp, &recv, &bad));
	ASSERT_EQ(0, end_post(&self->a, &send));
	RECEIVED(&self->b, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(300003, self->wc.byte_len);
	EXPECT_EQ(IBV_WC_WITH_IMM, self->wc.wc_flags);
	EXPECT_EQ(htobe32(0x12345678), self->wc.imm_data);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 300003));
	EXPECT_EQ(0, self->b.buf[300003]);
	SENT(&self->a, 1, IBV_WC_SUCCESS);
}

TEST_F(pair, rc_nothing)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 10));
	ASSERT_EQ(0, end_post(&self->a, &wr));
	RECEIVED(&self->b, 1, IBV_WC_SUCCESS);
	EXPECT_EQ(0, self->wc.byte_len);
	SENT(&self->a, 0, IBV_WC_SUCCESS);
	/* no bytes, no key */
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.wr.rdma.rkey = 0xbad;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_SUCCESS);
	wr.opcode = IBV_WR_RDMA_READ;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_SUCCESS);
}

/* The message invalidates the R_Key of the peer, if it is valid. */
TEST_F(pair, rc_send_with_invalidate)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_mr *spare;

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	spare = ibv_reg_mr(self->b.pd, self->b.buf, 4096,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	ASSERT_NE(NULL, spare);
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 10));
	ASSERT_EQ(0, end_recv(&self->b, 2, 0, 10));
	wr.invalidate_rkey = spare->rkey;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_SUCCESS);
	RECEIVED(&self->b, 1, IBV_WC_SUCCESS);
	/* not the flag: rdmavt's ring has the kernel's value of it */
	EXPECT_EQ(spare->rkey, self->wc.invalidated_rkey);
	ASSERT_EQ(0, end_rdma(&self->a, 3, IBV_WR_RDMA_WRITE, 0, 10, &self->b,
			      0));
	SENT(&self->a, 3, IBV_WC_SUCCESS);
	wr.invalidate_rkey = spare->rkey ^ 0x5500;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_REM_ACCESS_ERR);
	RECEIVED(&self->b, 2, IBV_WC_LOC_PROT_ERR);
	EXPECT_EQ(0, ibv_dereg_mr(spare));
}

TEST_F(pair, rc_invalidated_key)
{
	struct ibv_sge sge;
	struct ibv_send_wr write = {
		.wr_id = 2, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr send = {
		.wr_id = 1, .opcode = IBV_WR_SEND_WITH_INV,
		.send_flags = IBV_SEND_SIGNALED, .next = &write,
	};
	struct ibv_mr *spare;

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	spare = ibv_reg_mr(self->b.pd, self->b.buf, 4096,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	ASSERT_NE(NULL, spare);
	sge = (struct ibv_sge) {
		.addr = (uintptr_t)self->a.buf, .length = 10,
		.lkey = self->a.mr->lkey,
	};
	send.invalidate_rkey = spare->rkey;
	write.wr.rdma.remote_addr = (uintptr_t)self->b.buf;
	write.wr.rdma.rkey = spare->rkey;
	ASSERT_EQ(0, end_recv(&self->b, 3, 0, 10));
	ASSERT_EQ(0, end_post(&self->a, &send));
	SENT(&self->a, 1, IBV_WC_SUCCESS);
	SENT(&self->a, 2, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EQ(0, ibv_dereg_mr(spare));
}

TEST_F(pair, rc_rdma)
{
	const uint32_t length = HALF - 4093;

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	fill(self->a.buf, length, 5);
	ASSERT_EQ(0, end_rdma(&self->a, 1, IBV_WR_RDMA_WRITE, 0, length,
			      &self->b, 13));
	SENT(&self->a, 1, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_RDMA_WRITE, self->wc.opcode);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + 13, length));
	EXPECT_EQ(0, self->b.buf[12]);
	EXPECT_EQ(0, self->b.buf[13 + length]);

	ASSERT_EQ(0, end_rdma(&self->a, 2, IBV_WR_RDMA_READ, HALF, length,
			      &self->b, 13));
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_RDMA_READ, self->wc.opcode);
	EXPECT_EQ(length, self->wc.byte_len);
	EXPECT_EQ(0, memcmp(self->a.buf, self->a.buf + HALF, length));
	EXPECT_TRUE(end_idle(&self->b));
}

TEST_F(pair, rc_write_with_immediate)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = 99,
	};

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	fill(self->a.buf, 1000, 9);
	sge = (struct ibv_sge) {
		.addr = (uintptr_t)self->a.buf, .length = 1000,
		.lkey = self->a.mr->lkey,
	};
	wr.wr.rdma.remote_addr = (uintptr_t)self->b.buf + HALF;
	wr.wr.rdma.rkey = self->b.mr->rkey;
	ASSERT_EQ(0, end_recv(&self->b, 4, 0, 100));
	ASSERT_EQ(0, end_post(&self->a, &wr));
	RECEIVED(&self->b, 4, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, self->wc.opcode);
	EXPECT_EQ(99, self->wc.imm_data);
	EXPECT_EQ(1000, self->wc.byte_len);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + HALF, 1000));
	EXPECT_EQ(0, self->b.buf[0]);
	SENT(&self->a, 1, IBV_WC_SUCCESS);
}

TEST_F(pair, rc_atomics)
{
	uint64_t *there = (uint64_t *)(self->b.buf + 4096);
	uint64_t *here = (uint64_t *)self->a.buf;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.send_flags = IBV_SEND_SIGNALED,
	};

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	sge = (struct ibv_sge) {
		.addr = (uintptr_t)here, .length = 8, .lkey = self->a.mr->lkey,
	};
	*there = 0xfffffffffffffffeULL;
	wr.wr.atomic.remote_addr = (uintptr_t)there;
	wr.wr.atomic.rkey = self->b.mr->rkey;
	wr.wr.atomic.compare_add = 5;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_FETCH_ADD, self->wc.opcode);
	EXPECT_EQ(0xfffffffffffffffeULL, *here);
	EXPECT_EQ(3, *there);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 4;
	wr.wr.atomic.swap = 77;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_WC_COMP_SWAP, self->wc.opcode);
	EXPECT_EQ(3, *here);
	EXPECT_EQ(3, *there);
	wr.wr.atomic.compare_add = 3;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_SUCCESS);
	EXPECT_EQ(3, *here);
	EXPECT_EQ(77, *there);

	/* not aligned to eight bytes */
	wr.wr.atomic.remote_addr += 4;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_REM_INV_REQ_ERR);
}

/* A read, and a fenced send of the data that was read */
TEST_F(pair, rc_fence)
{
	struct ibv_sge read_sge, send_sge;
	struct ibv_send_wr send = {
		.wr_id = 2, .sg_list = &send_sge, .num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE,
	};
	struct ibv_send_wr read = {
		.wr_id = 1, .sg_list = &read_sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_READ, .next = &send,
	};

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	read_sge = (struct ibv_sge) {
		.addr = (uintptr_t)self->a.buf, .length = 200000,
		.lkey = self->a.mr->lkey,
	};
	send_sge = read_sge;
	read.wr.rdma.remote_addr = (uintptr_t)self->b.buf;
	read.wr.rdma.rkey = self->b.mr->rkey;
	fill(self->b.buf, 200000, 21);
	ASSERT_EQ(0, end_recv(&self->b, 3, HALF, 200000));
	ASSERT_EQ(0, end_post(&self->a, &read));
	/* the read is not signalled */
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	RECEIVED(&self->b, 3, IBV_WC_SUCCESS);
	EXPECT_EQ(0, memcmp(self->b.buf, self->b.buf + HALF, 200000));
}

TEST_F(pair, rc_self)
{
	ASSERT_TRUE(end_qp(&self->a, IBV_QPT_RC));
	ASSERT_EQ(0, end_init(&self->a, &rc_attr));
	ASSERT_EQ(0, end_rtr(&self->a, &self->a, &rc_attr));
	ASSERT_EQ(0, end_rts(&self->a, &rc_attr));
	fill(self->a.buf, 3000, 2);
	ASSERT_EQ(0, end_recv(&self->a, 1, HALF, 3000));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 3000));
	RECEIVED(&self->a, 1, IBV_WC_SUCCESS);
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(0, memcmp(self->a.buf, self->a.buf + HALF, 3000));
}

/* An event for the solicited message only */
TEST_F(pair, rc_solicited)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	struct pollfd poll_in = { .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	poll_in.fd = self->b.recv_channel->fd;
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 10));
	ASSERT_EQ(0, end_recv(&self->b, 2, 0, 10));
	ASSERT_EQ(0, ibv_req_notify_cq(self->b.recv_cq, 1));
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_SUCCESS);
	EXPECT_EQ(0, poll(&poll_in, 1, 100));
	wr.send_flags |= IBV_SEND_SOLICITED;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	EXPECT_EQ(1, poll(&poll_in, 1, 60000));
	ASSERT_EQ(0, ibv_get_cq_event(self->b.recv_channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
	RECEIVED(&self->b, 1, IBV_WC_SUCCESS);
	RECEIVED(&self->b, 2, IBV_WC_SUCCESS);
}

TEST_F(pair, rc_srq)
{
	struct ibv_srq_attr limit = { .srq_limit = 2 };
	int i;

	ASSERT_TRUE(end_srq(&self->b));
	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, end_recv(&self->b, i, 100 * i, 100));
	ASSERT_EQ(0, ibv_modify_srq(self->b.srq, &limit, IBV_SRQ_LIMIT));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, end_send(&self->a, i, IBV_WR_SEND, 0, 50));
		SENT(&self->a, i, IBV_WC_SUCCESS);
		RECEIVED(&self->b, i, IBV_WC_SUCCESS);
	}
	EXPECT_EQ(IBV_EVENT_SRQ_LIMIT_REACHED, end_event(&self->b));
	ASSERT_EQ(0, end_state(&self->b, IBV_QPS_ERR));
	EXPECT_EQ(IBV_EVENT_QP_LAST_WQE_REACHED, end_event(&self->b));
}

/* --- UC -------------------------------------------------------------------- */

TEST_F(pair, uc_data)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &uc_attr));
	fill(self->a.buf, 100000, 4);
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 100000));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 100000));
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	RECEIVED(&self->b, 1, IBV_WC_SUCCESS);
	EXPECT_EQ(100000, self->wc.byte_len);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 100000));
	ASSERT_EQ(0, end_rdma(&self->a, 3, IBV_WR_RDMA_WRITE, 0, 100000,
			      &self->b, HALF));
	SENT(&self->a, 3, IBV_WC_SUCCESS);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + HALF, 100000));
	EXPECT_NE(0, end_rdma(&self->a, 4, IBV_WR_RDMA_READ, 0, 100, &self->b,
			      0));
}

/* Packets that the receiver cannot accept are lost, without an error. */
TEST_F(pair, uc_loss)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &uc_attr));
	self->a.buf[0] = 1;
	ASSERT_EQ(0, end_send(&self->a, 1, IBV_WR_SEND, 0, 1));
	SENT(&self->a, 1, IBV_WC_SUCCESS);
	ASSERT_EQ(0, end_recv(&self->b, 2, 0, 10));
	/* too long: the buffer stays for the next one */
	self->a.buf[0] = 2;
	ASSERT_EQ(0, end_send(&self->a, 3, IBV_WR_SEND, 0, 11));
	SENT(&self->a, 3, IBV_WC_SUCCESS);
	/* out of bounds */
	ASSERT_EQ(0, end_rdma(&self->a, 4, IBV_WR_RDMA_WRITE, 0, 101, &self->b,
			      END_BYTES - 100));
	SENT(&self->a, 4, IBV_WC_SUCCESS);
	EXPECT_EQ(0, self->b.buf[END_BYTES - 100]);
	EXPECT_TRUE(end_idle(&self->b));
	self->a.buf[0] = 3;
	ASSERT_EQ(0, end_send(&self->a, 5, IBV_WR_SEND, 0, 9));
	SENT(&self->a, 5, IBV_WC_SUCCESS);
	RECEIVED(&self->b, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(9, self->wc.byte_len);
	EXPECT_EQ(3, self->b.buf[0]);
	EXPECT_EQ(IBV_QPS_RTS, end_state_get(&self->a));
	EXPECT_EQ(IBV_QPS_RTS, end_state_get(&self->b));
}

/* A buffer that is kept for the next message does not hold its memory. */
TEST_F(pair, uc_memory_goes)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &uc_attr));
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 10));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 11));
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	ASSERT_EQ(0, ibv_dereg_mr(self->b.mr));
	self->b.mr = NULL;
}

TEST_F(pair, uc_nobody_there)
{
	struct end_attr attr = uc_attr;

	attr.dest_qpn = 0xabcdef;
	ASSERT_TRUE(pair_up(&self->a, &self->b, &attr));
	ASSERT_EQ(0, end_send(&self->a, 1, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 1, IBV_WC_SUCCESS);
}

TEST_HARNESS_MAIN
