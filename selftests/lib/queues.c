// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues, shared receive queues and protection domains belong to one
 * device. libibverbs passes them by number, so that the queue of another device
 * with the same number would be taken.
 */
#include "api.h"
#include "connect_name.h"

#define RAIL_ADD	"ip link add rail1 type dummy && " \
			"ip link set rail1 up && " \
			"ip addr add " RAIL4 "/24 dev rail1 && " \
			"rdma link add rxe_r1 type rxe netdev rail1"
#define RAIL_DEL	"rdma link del rxe_r1 && ip link del rail1"
#define RAIL_THERE	"grep -qs ffff:0a3a:0001 " \
			"/sys/class/infiniband/rxe_r1/ports/1/gids/*"

/* One id on each device, and queues that have the same numbers on both */
struct pair {
	struct rdma_cm_id *own, *rail;
	struct ibv_cq *cq, *rail_cq;
	struct ibv_srq *srq, *rail_srq;
};

static struct ibv_cq *cq_make(struct ibv_context *verbs)
{
	return ibv_create_cq(verbs, 4, NULL, NULL, 0);
}

static struct ibv_srq *srq_make(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };

	return ibv_create_srq(pd, &attr);
}

static bool pair_make(struct pair *p)
{
	if (!wait_for(WAIT_MS, RAIL_THERE) ||
	    rdma_create_id(NULL, &p->own, NULL, RDMA_PS_TCP) ||
	    rdma_create_id(NULL, &p->rail, NULL, RDMA_PS_TCP) ||
	    id_bind(p->own, OWN4, 0) || id_bind(p->rail, RAIL4, 0))
		return false;
	p->cq = cq_make(p->own->verbs);
	p->rail_cq = cq_make(p->rail->verbs);
	p->srq = srq_make(p->own->pd);
	p->rail_srq = srq_make(p->rail->pd);
	return p->cq && p->rail_cq && p->srq && p->rail_srq &&
	       p->cq->handle == p->rail_cq->handle &&
	       p->srq->handle == p->rail_srq->handle;
}

static void pair_end(struct pair *p)
{
	ibv_destroy_srq(p->srq);
	ibv_destroy_srq(p->rail_srq);
	ibv_destroy_cq(p->cq);
	ibv_destroy_cq(p->rail_cq);
	rdma_destroy_id(p->own);
	rdma_destroy_id(p->rail);
}

TEST_F(name, RA_02_queues_of_another_device)
{
	struct ibv_qp_init_attr attr;
	struct ibv_context *again;
	struct pair p;
	int i;

	ASSERT_TRUE(pair_make(&p));
	self->qp.qp_type = IBV_QPT_RC;
	for (i = 0; i < 4; i++) {
		attr = self->qp;
		attr.send_cq = i == 0 ? p.rail_cq : p.cq;
		attr.recv_cq = i == 1 ? p.rail_cq : p.cq;
		attr.srq = i == 2 ? p.rail_srq : p.srq;
		errno = 0;
		EXPECT_EQ(-1, rdma_create_qp(p.own, i == 3 ? p.rail->pd : NULL,
					     &attr)) TH_LOG("%d", i);
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(NULL, p.own->qp);
	}
	/* The same device, opened twice */
	again = ibv_open_device(p.own->verbs->device);
	ASSERT_NE(NULL, again);
	attr = self->qp;
	attr.send_cq = cq_make(again);
	ASSERT_NE(NULL, attr.send_cq);
	attr.recv_cq = p.cq;
	EXPECT_EQ(-1, rdma_create_qp(p.own, NULL, &attr));
	EXPECT_EQ(EINVAL, errno);
	ibv_destroy_cq(attr.send_cq);
	ibv_close_device(again);
	attr = self->qp;
	attr.send_cq = p.cq;
	attr.recv_cq = p.cq;
	attr.srq = p.srq;
	EXPECT_EQ(0, rdma_create_qp(p.own, NULL, &attr));
	rdma_destroy_qp(p.own);
	pair_end(&p);
}

/* An address of another device gets no queue pair; the next one connects. */
TEST_F(name, KA_02_queue_of_one_device)
{
	struct listener rail = {};
	struct pair p;
	int i, n;

	ASSERT_TRUE(pair_make(&p));
	ASSERT_EQ(0, listener_start(&rail, RAIL4, true));
	ASSERT_EQ(0, listener_start(&self->listener, OWN4, true));
	self->qp.send_cq = p.cq;
	self->qp.recv_cq = p.cq;
	for (i = 0; i < 2; i++) {
		self->attr.flags = i ? RDMACMX_CONNECT_RACE : 0;
		ASSERT_EQ(0, CONNECT("rails.test"));
		EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED,
			  event_take(self->channel, NULL));
		EXPECT_EQ(p.own->verbs, self->id->verbs);
		ASSERT_EQ(2, REPORT());
		n = dst_is(&self->list[1], RAIL4);
		EXPECT_TRUE(dst_is(&self->list[n], RAIL4));
		EXPECT_EQ(i ? RDMACMX_STEP_UNTRIED : RDMACMX_STEP_SETUP,
			  self->list[n].step);
		EXPECT_EQ(i ? ENOBUFS : EINVAL, self->list[n].error);
		rdma_destroy_ep(self->id);
		ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
					    RDMA_PS_TCP));
	}
	EXPECT_EQ(0, __atomic_load_n(&rail.requests, __ATOMIC_ACQUIRE));
	listener_end(&rail);
	pair_end(&p);
}

/* soft-RoCE goes only when the tests, which have it open, have ended. */
int main(int argc, char **argv)
{
	int ret;

	if (run(RAIL_ADD)) {
		printf("Bail out! no second device\n");
		return 1;
	}
	ret = test_harness_run(argc, argv);
	return run(RAIL_DEL) ? 1 : ret;
}
