// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What the RC and UC transport of the simulated HCA promises, seen through
 * libibverbs: data, errors, retries, and the states that they lead to.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#include "pair.h"

#define HALF	(END_BYTES / 2)

static void fill(uint8_t *buf, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		buf[i] = (i * 131 + (i >> 9) * 7 + seed) & 0xff;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

FIXTURE(pair) {
	struct end a, b;
	struct ibv_wc wc;
};

FIXTURE_SETUP(pair)
{
	ASSERT_TRUE(end_open(&self->a, 0));
	ASSERT_TRUE(end_open(&self->b, 1));
}

FIXTURE_TEARDOWN(pair)
{
	EXPECT_TRUE(end_close(&self->a));
	EXPECT_TRUE(end_close(&self->b));
}

/* The next completion of an end is this one */
#define SENT(end, id, result) do {					\
	ASSERT_EQ(0, end_sent(end, &self->wc));				\
	EXPECT_EQ(id, self->wc.wr_id);					\
	ASSERT_EQ(result, self->wc.status);				\
} while (0)

#define RECEIVED(end, id, result) do {					\
	ASSERT_EQ(0, end_received(end, &self->wc));			\
	EXPECT_EQ(id, self->wc.wr_id);					\
	ASSERT_EQ(result, self->wc.status);				\
} while (0)

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

/* The message takes the other end's key away, and only a key that is one */
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
	/* not its flag: rdmavt's ring has the kernel's value of it */
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

	/* not on a boundary of eight bytes */
	wr.wr.atomic.remote_addr += 4;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_REM_INV_REQ_ERR);
}

/* A read, and behind a fence a send of what it has brought */
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
	/* the read was not to be signalled */
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

/* An event for the solicited one only */
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
	EXPECT_EQ(1, poll(&poll_in, 1, 20000));
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

/* --- Waiting for the other end --------------------------------------------- */

TEST_F(pair, rc_no_receive_ever)
{
	struct end_attr attr = rc_attr;

	attr.rnr_retry = 2;
	ASSERT_TRUE(pair_up(&self->a, &self->b, &attr));
	ASSERT_EQ(0, end_send(&self->a, 1, IBV_WR_SEND, 0, 10));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	SENT(&self->a, 2, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(IBV_QPS_ERR, end_state_get(&self->a));
	/* it had no fault */
	EXPECT_EQ(IBV_QPS_RTS, end_state_get(&self->b));
}

/* 491.52 ms is the longest there is: two of them have passed, or more */
TEST_F(pair, rc_no_receive_time)
{
	struct end_attr attr = rc_attr;
	uint64_t before;

	attr.rnr_retry = 2;
	attr.rnr_timer = 31;
	ASSERT_TRUE(pair_up(&self->a, &self->b, &attr));
	before = now_ms();
	ASSERT_EQ(0, end_send(&self->a, 1, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	EXPECT_LE(980, now_ms() - before);
}

TEST_F(pair, rc_receive_comes_late)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	fill(self->a.buf, 100, 8);
	ASSERT_EQ(0, end_send(&self->a, 1, IBV_WR_SEND, 0, 100));
	ASSERT_EQ(0, end_rdma(&self->a, 2, IBV_WR_RDMA_WRITE, 0, 100, &self->b,
			      HALF));
	usleep(20000);
	/* nothing overtakes */
	EXPECT_TRUE(end_idle(&self->a));
	EXPECT_EQ(0, self->b.buf[HALF + 1]);
	ASSERT_EQ(0, end_recv(&self->b, 3, 0, 100));
	RECEIVED(&self->b, 3, IBV_WC_SUCCESS);
	SENT(&self->a, 1, IBV_WC_SUCCESS);
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 100));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + HALF, 100));
}

/* Four times 4.096 us * 2^14: the first attempt and three more */
TEST_F(pair, rc_nobody_there)
{
	struct end_attr attr = rc_attr;
	uint64_t before;

	attr.dest_qpn = 0xabcdef;
	ASSERT_TRUE(pair_up(&self->a, &self->b, &attr));
	before = now_ms();
	ASSERT_EQ(0, end_send(&self->a, 1, IBV_WR_SEND, 0, 10));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 1, IBV_WC_RETRY_EXC_ERR);
	EXPECT_LE(4 * 67, now_ms() - before);
	SENT(&self->a, 2, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(IBV_QPS_ERR, end_state_get(&self->a));
}

TEST_F(pair, rc_not_ready_yet)
{
	struct end_attr attr = rc_attr;

	/* half a second, seven times more */
	attr.timeout = 17;
	attr.retry_cnt = 7;
	ASSERT_TRUE(end_qp(&self->a, IBV_QPT_RC));
	ASSERT_TRUE(end_qp(&self->b, IBV_QPT_RC));
	ASSERT_EQ(0, end_init(&self->a, &attr));
	ASSERT_EQ(0, end_init(&self->b, &attr));
	ASSERT_EQ(0, end_rtr(&self->a, &self->b, &attr));
	ASSERT_EQ(0, end_rts(&self->a, &attr));
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 100));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 10));
	usleep(50000);
	EXPECT_TRUE(end_idle(&self->a));
	ASSERT_EQ(0, end_rtr(&self->b, &self->a, &attr));
	RECEIVED(&self->b, 1, IBV_WC_SUCCESS);
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	/* it is not in RTS: that was the first word from the other end */
	EXPECT_EQ(IBV_EVENT_COMM_EST, end_event(&self->b));
	ASSERT_EQ(0, end_recv(&self->b, 3, 0, 100));
	ASSERT_EQ(0, end_send(&self->a, 4, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 4, IBV_WC_SUCCESS);
}

TEST_F(pair, rc_wrong_sequence_number)
{
	struct end_attr attr = rc_attr;

	attr.sq_psn = 0xfffffe;
	attr.rq_psn = 0xfffffd;
	ASSERT_TRUE(pair_up(&self->a, &self->b, &attr));
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 10));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 2, IBV_WC_RETRY_EXC_ERR);
	EXPECT_TRUE(end_idle(&self->b));
}

TEST_F(pair, rc_sequence_number_wraps)
{
	struct end_attr attr = rc_attr;
	int i;

	attr.sq_psn = 0xfffffe;
	attr.rq_psn = 0xfffffe;
	ASSERT_TRUE(pair_up(&self->a, &self->b, &attr));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, end_rdma(&self->a, i, IBV_WR_RDMA_WRITE, 0, 5000,
				      &self->b, 0));
		SENT(&self->a, i, IBV_WC_SUCCESS);
	}
}

/* The second entry of the table holds no key: no partition at all */
TEST_F(pair, rc_other_partition)
{
	struct end_attr attr = rc_attr;

	attr.pkey_index = 1;
	ASSERT_TRUE(pair_up(&self->a, &self->b, &attr));
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 10));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 2, IBV_WC_RETRY_EXC_ERR);
	EXPECT_TRUE(end_idle(&self->b));
}

/* --- Faults ---------------------------------------------------------------- */

TEST_F(pair, rc_too_long)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 10));
	ASSERT_EQ(0, end_recv(&self->b, 2, 0, 10));
	ASSERT_EQ(0, end_send(&self->a, 3, IBV_WR_SEND, 0, 11));
	SENT(&self->a, 3, IBV_WC_REM_INV_REQ_ERR);
	RECEIVED(&self->b, 1, IBV_WC_LOC_LEN_ERR);
	RECEIVED(&self->b, 2, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(IBV_QPS_ERR, end_state_get(&self->a));
	EXPECT_EQ(IBV_QPS_ERR, end_state_get(&self->b));
}

TEST_F(pair, rc_bad_receive)
{
	struct ibv_sge sge = { .length = 100 };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	sge.addr = (uintptr_t)self->b.buf;
	sge.lkey = self->b.mr->lkey ^ 0x5500;
	ASSERT_EQ(0, ibv_post_recv(self->b.qp, &wr, &bad));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 2, IBV_WC_REM_OP_ERR);
	RECEIVED(&self->b, 1, IBV_WC_LOC_PROT_ERR);
}

TEST_F(pair, rc_bad_remote_key)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	ASSERT_EQ(0, end_recv(&self->b, 1, 0, 10));
	/* one byte too many */
	ASSERT_EQ(0, end_rdma(&self->a, 2, IBV_WR_RDMA_WRITE, 0, 101, &self->b,
			      END_BYTES - 100));
	SENT(&self->a, 2, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EQ(IBV_EVENT_QP_ACCESS_ERR, end_event(&self->b));
	RECEIVED(&self->b, 1, IBV_WC_WR_FLUSH_ERR);
	EXPECT_EQ(0, self->b.buf[END_BYTES - 100]);
}

TEST_F(pair, rc_read_bad_remote_key)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	ASSERT_EQ(0, end_rdma(&self->a, 2, IBV_WR_RDMA_READ, 0, 101, &self->b,
			      END_BYTES - 100));
	SENT(&self->a, 2, IBV_WC_REM_ACCESS_ERR);
	EXPECT_EQ(IBV_EVENT_QP_ACCESS_ERR, end_event(&self->b));
}

FIXTURE(forbidden) {
	struct end a, b;
	struct ibv_wc wc;
};

FIXTURE_VARIANT(forbidden) {
	enum ibv_wr_opcode opcode;
	unsigned int access;
};

FIXTURE_VARIANT_ADD(forbidden, write) {
	.opcode = IBV_WR_RDMA_WRITE,
	.access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
};

FIXTURE_VARIANT_ADD(forbidden, read) {
	.opcode = IBV_WR_RDMA_READ,
	.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
};

FIXTURE_VARIANT_ADD(forbidden, atomic) {
	.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
	.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
};

FIXTURE_SETUP(forbidden)
{
	ASSERT_TRUE(end_open(&self->a, 0));
	ASSERT_TRUE(end_open(&self->b, 1));
}

FIXTURE_TEARDOWN(forbidden)
{
	EXPECT_TRUE(end_close(&self->a));
	EXPECT_TRUE(end_close(&self->b));
}

/* The region allows it, the queue pair does not */
TEST_F(forbidden, rc)
{
	struct end_attr attr = rc_attr;
	struct ibv_sge sge;
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = variant->opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	attr.access = variant->access;
	ASSERT_TRUE(pair_up(&self->a, &self->b, &attr));
	sge = (struct ibv_sge) {
		.addr = (uintptr_t)self->a.buf, .length = 8,
		.lkey = self->a.mr->lkey,
	};
	if (variant->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)self->b.buf;
		wr.wr.atomic.rkey = self->b.mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)self->b.buf;
		wr.wr.rdma.rkey = self->b.mr->rkey;
	}
	self->a.buf[0] = 1;
	ASSERT_EQ(0, end_post(&self->a, &wr));
	SENT(&self->a, 0, IBV_WC_REM_INV_REQ_ERR);
	EXPECT_EQ(IBV_EVENT_QP_REQ_ERR, end_event(&self->b));
	EXPECT_EQ(0, self->b.buf[0]);
	EXPECT_EQ(IBV_QPS_ERR, end_state_get(&self->b));
}

/* --- States ---------------------------------------------------------------- */

TEST_F(pair, rc_flush)
{
	int i;

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, end_recv(&self->a, 10 + i, 0, 10));
		ASSERT_EQ(0, end_send(&self->a, i, IBV_WR_SEND, 0, 10));
	}
	/* all wait for a receive buffer */
	ASSERT_EQ(0, end_state(&self->a, IBV_QPS_ERR));
	for (i = 0; i < 3; i++) {
		SENT(&self->a, i, IBV_WC_WR_FLUSH_ERR);
		RECEIVED(&self->a, 10 + i, IBV_WC_WR_FLUSH_ERR);
	}
	/* so do those that come later */
	ASSERT_EQ(0, end_send(&self->a, 4, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 4, IBV_WC_WR_FLUSH_ERR);
}

TEST_F(pair, rc_peer_in_error)
{
	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	ASSERT_EQ(0, end_state(&self->b, IBV_QPS_ERR));
	ASSERT_EQ(0, end_send(&self->a, 1, IBV_WR_SEND, 0, 10));
	SENT(&self->a, 1, IBV_WC_RETRY_EXC_ERR);
}

TEST_F(pair, rc_used_again)
{
	int i;

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, end_recv(&self->b, 1, 0, 1000));
		ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 1000));
		SENT(&self->a, 2, IBV_WC_SUCCESS);
		RECEIVED(&self->b, 1, IBV_WC_SUCCESS);
		/* and one that waits */
		ASSERT_EQ(0, end_send(&self->a, 3, IBV_WR_SEND, 0, 1000));
		ASSERT_EQ(0, end_state(&self->a, IBV_QPS_RESET));
		ASSERT_EQ(0, end_state(&self->b, IBV_QPS_RESET));
		ASSERT_EQ(0, end_init(&self->a, &rc_attr));
		ASSERT_EQ(0, end_init(&self->b, &rc_attr));
		ASSERT_EQ(0, end_rtr(&self->a, &self->b, &rc_attr));
		ASSERT_EQ(0, end_rtr(&self->b, &self->a, &rc_attr));
		ASSERT_EQ(0, end_rts(&self->a, &rc_attr));
		ASSERT_EQ(0, end_rts(&self->b, &rc_attr));
	}
	EXPECT_TRUE(end_idle(&self->a));
	EXPECT_TRUE(end_idle(&self->b));
}

TEST_F(pair, rc_send_queue_drain)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1,
	};

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	/* this one has begun, and waits */
	ASSERT_EQ(0, end_send(&self->a, 1, IBV_WR_SEND, 0, 10));
	usleep(20000);
	ASSERT_EQ(0, ibv_modify_qp(self->a.qp, &attr, IBV_QP_STATE |
				   IBV_QP_EN_SQD_ASYNC_NOTIFY));
	ASSERT_EQ(0, end_send(&self->a, 2, IBV_WR_SEND, 0, 10));
	ASSERT_EQ(0, end_recv(&self->b, 3, 0, 10));
	ASSERT_EQ(0, end_recv(&self->b, 4, 0, 10));
	SENT(&self->a, 1, IBV_WC_SUCCESS);
	EXPECT_EQ(IBV_EVENT_SQ_DRAINED, end_event(&self->a));
	RECEIVED(&self->b, 3, IBV_WC_SUCCESS);
	EXPECT_TRUE(end_idle(&self->a));
	EXPECT_TRUE(end_idle(&self->b));
	ASSERT_EQ(0, end_state(&self->a, IBV_QPS_RTS));
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	RECEIVED(&self->b, 4, IBV_WC_SUCCESS);
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

/* Packets that the receiver cannot take are lost, without an error. */
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

/* A buffer that is kept for the next message does not keep its memory */
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
