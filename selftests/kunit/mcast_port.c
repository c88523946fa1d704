// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A send-only join at a port that is not known to be active waits for the state
 * of the port, but keeps no worker: the groups of all users share them. MC-04
 */
#include <linux/completion.h>
#include <rdma/rdma_cm.h>

#include "kunit.h"
#include "mcast/mcast.h"

#define POLLS	5	/* of 40 ms */

static struct fake fake;
/* Not used for MADs, because the port has no SM */
static struct ib_mad_agent agent;
static struct completion released;
static atomic_t reads;
static bool active;

static int port_read(struct ib_device *ibdev, u32 num,
		     struct ib_port_attr *attr)
{
	if (ibdev != fake.ibdev || num != 1)
		return 0;
	attr->sm_lid = 0;
	attr->state = READ_ONCE(active) ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	atomic_inc(&reads);
	wait_for_completion(&released);
	return 0;
}

static int port_init(struct kunit *test)
{
	int ret = fake_up(&fake);

	if (ret)
		return ret;
	init_completion(&released);
	atomic_set(&reads, 0);
	active = false;
	fake.port[1]->agent = &agent;
	fake.port[1]->active = false;
	WRITE_ONCE(fake_read, port_read);
	return 0;
}

static void port_exit(struct kunit *test)
{
	complete_all(&released);
	/* Also waits for a read. */
	down_write(&fake.port[1]->agent_lock);
	fake.port[1]->agent = NULL;
	up_write(&fake.port[1]->agent_lock);
	WRITE_ONCE(fake_read, NULL);
	fake_down(&fake);
}

/* The test is the work item of the group. */
struct sender {
	struct rdma_cm_id id;
	struct cmx_group group;
};

static struct cmx_group *group_make(struct kunit *test)
{
	struct sender *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, s);
	s->id.device = fake.ibdev;
	s->id.port_num = 1;
	s->group.id = &s->id;
	s->group.send_only = true;
	s->group.dead = true;
	refcount_set(&s->group.ref, 1);
	spin_lock_init(&s->group.lock);
	return &s->group;
}

/* A step that runs again later */
static void step(struct kunit *test, struct cmx_group *g)
{
	g->state = CMX_GROUP_BUSY;
	KUNIT_EXPECT_EQ(test, cmx_mcast_ib_start(g), -EINPROGRESS);
	KUNIT_EXPECT_EQ(test, g->state, CMX_GROUP_IDLE);
}

static void port_hangs(struct kunit *test)
{
	struct cmx_group *g = group_make(test);
	int round, i;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < POLLS; i++)
			step(test, g);
		KUNIT_EXPECT_EQ(test, cmx_mcast_ib_start(g), -ENODEV);
	}
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(atomic_read(&reads)));
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), 1);
}

static void port_is_down(struct kunit *test)
{
	struct cmx_group *g = group_make(test);

	complete_all(&released);
	step(test, g);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(cmx_sa_port_check_ended(fake.port[1],
								 g->port_check)));
	KUNIT_EXPECT_EQ(test, cmx_mcast_ib_start(g), -ENODEV);
}

/* Its event is late. */
static void port_comes_up(struct kunit *test)
{
	struct cmx_group *g = group_make(test);

	WRITE_ONCE(active, true);
	complete_all(&released);
	step(test, g);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(READ_ONCE(fake.port[1]->active)));
	KUNIT_EXPECT_EQ(test, cmx_mcast_ib_start(g), -EINPROGRESS);
	KUNIT_EXPECT_TRUE(test, g->querying);
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&g->waiter));
}

static struct kunit_case port_cases[] = {
	KUNIT_CASE(port_hangs),
	KUNIT_CASE(port_is_down),
	KUNIT_CASE(port_comes_up),
	{}
};

static struct kunit_suite port_suite = {
	.name = "cmx_mcast_port",
	.init = port_init,
	.exit = port_exit,
	.test_cases = port_cases,
};

kunit_test_suite(port_suite);
