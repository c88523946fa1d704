// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02 on a mocked device (mock.h): queues that a program requests with
 * objects of another device, whose number is that of another object on the id's
 * device.
 */
#include "harness.h"
#include "mock.h"

FIXTURE(queues) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct ibv_context other;
	struct ibv_pd pd;
	struct ibv_cq cq;
	struct ibv_xrcd xrcd;
};

FIXTURE_SETUP(queues)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_TCP));
	mock_qp(self->id, true);
	self->id->qp = NULL;
	self->pd.context = self->id->verbs;
	self->cq.context = self->id->verbs;
	self->xrcd.context = self->id->verbs;
}

FIXTURE_TEARDOWN(queues)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

TEST_F(queues, RA_02_shared_receive_queue_of_another_device)
{
	struct ibv_srq_init_attr attr = {};
	struct ibv_pd foreign = { .context = &self->other };

	errno = 0;
	EXPECT_EQ(-1, rdma_create_srq(self->id, &foreign, &attr));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, self->id->srq);
	EXPECT_EQ(0, rdma_create_srq(self->id, &self->pd, &attr));
	EXPECT_EQ(&self->pd, self->id->pd);
	/* That of the id */
	EXPECT_EQ(0, rdma_create_srq(self->id, NULL, &attr));
	self->id->srq = NULL;
}

/* The errno: libibverbs finds that the device has no XRC. */
static int xrc_create(FIXTURE_DATA(queues) *self)
{
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = &self->pd, .cq = &self->cq, .xrcd = &self->xrcd,
	};

	errno = 0;
	return rdma_create_srq_ex(self->id, &attr) ? errno : 0;
}

TEST_F(queues, RA_02_xrc_queue_of_another_device)
{
	EXPECT_EQ(EOPNOTSUPP, xrc_create(self));
	self->cq.context = &self->other;
	EXPECT_EQ(EINVAL, xrc_create(self));
	self->cq.context = self->id->verbs;
	self->xrcd.context = &self->other;
	EXPECT_EQ(EINVAL, xrc_create(self));
	self->xrcd.context = self->id->verbs;
	self->pd.context = &self->other;
	EXPECT_EQ(EINVAL, xrc_create(self));
}

/* It has neither a completion queue nor an XRC domain: they are not read. */
TEST_F(queues, RA_02_basic_queue_ignores_others)
{
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_BASIC,
		.pd = &self->pd, .cq = (void *)1, .xrcd = (void *)1,
	};

	EXPECT_EQ(0, rdma_create_srq_ex(self->id, &attr));
	self->id->srq = NULL;
}

TEST_HARNESS_MAIN
