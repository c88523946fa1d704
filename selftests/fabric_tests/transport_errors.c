// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Guarantees of the RC transport of the simulated HCA, through libibverbs:
 * errors, retries, and the states after them.
 */
#include <time.h>
#include <unistd.h>

#include "transport.h"

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* --- Waits for the other end ---------------------------------------------- */

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
	/* the responder did not fail */
	EXPECT_EQ(IBV_QPS_RTS, end_state_get(&self->b));
}

/* 491.52 ms is the longest RNR delay: at least two of them have passed */
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
	/* no later send completes first */
	EXPECT_TRUE(end_idle(&self->a));
	EXPECT_EQ(0, self->b.buf[HALF + 1]);
	ASSERT_EQ(0, end_recv(&self->b, 3, 0, 100));
	RECEIVED(&self->b, 3, IBV_WC_SUCCESS);
	SENT(&self->a, 1, IBV_WC_SUCCESS);
	SENT(&self->a, 2, IBV_WC_SUCCESS);
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf, 100));
	EXPECT_EQ(0, memcmp(self->a.buf, self->b.buf + HALF, 100));
}

/* Four times 4.096 us * 2^14: the first attempt and three retries */
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

	/* half a second, seven more times */
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
	/* it is in RTR: the first message reports COMM_EST */
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

/* The second entry of the table is 0, which is no partition. */
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

/* The region allows it, the queue pair does not. */
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
	/* later ones are flushed, too */
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
		/* another one waits for a receive buffer */
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
	struct ibv_send_wr send = {
		.wr_id = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr write = {
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.next = &send,
	};

	ASSERT_TRUE(pair_up(&self->a, &self->b, &rc_attr));
	/*
	 * The send waits for a receive buffer. It starts at once after the
	 * write, whose completion comes when the device has begun. Until the
	 * send has begun, the host may stop the processor.
	 */
	ASSERT_EQ(0, end_post(&self->a, &write));
	SENT(&self->a, 0, IBV_WC_SUCCESS);
	usleep(300000);
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

TEST_HARNESS_MAIN
