// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Parameters of a join, MC-08: each is in its range if its bit is set, and 0 if
 * not; struct rdma_cmx_mc_param documents the ranges. A join that waits for the
 * RTNL holds no netdevice. The limit of a rejoin's wait for IPoIB begins again
 * with each event of the port, MC-09.
 */
#include <linux/completion.h>
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "kunit.h"
#include "mcast/mcast.h"

static const struct field {
	const char *name;
	u32 bit;
	u32 min;
	u32 max;
	size_t at;
	size_t size;
} fields[] = {
	{ "qkey", 1, 1, ~0u, 4, 4 },
	{ "pkey", 2, 1, 0xffff, 12, 2 },
	{ "mtu", 4, 1, 5, 14, 1 },
	{ "rate", 8, 2, 63, 15, 1 },
	{ "sl", 16, 0, 15, 16, 1 },
	{ "traffic_class", 32, 0, 255, 17, 1 },
	{ "flow_label", 64, 0, 0xfffff, 8, 4 },
	{ "hop_limit", 128, 0, 255, 18, 1 },
};

static void field_desc(const struct field *f, char *desc)
{
	strscpy(desc, f->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(field, fields, field_desc);

static int check(const struct field *f, u32 mask, u32 value)
{
	struct rdma_cmx_mc_param p = { .mask = mask };

	memcpy((u8 *)&p + f->at, &value, f->size);
	return cmx_mc_param_check(&p);
}

static void mcast_range(struct kunit *test)
{
	const struct field *f = test->param_value;
	u32 width = BIT_ULL(8 * f->size) - 1;
	u32 values[] = { 0, 1, 2, f->min, f->max - 1, f->max, f->max + 1,
			 width };
	u32 i, v, good;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		v = values[i];
		if (v > width)
			continue;
		good = v >= f->min && v <= f->max;
		KUNIT_EXPECT_EQ_MSG(test, check(f, f->bit, v),
				    good ? 0 : -EINVAL, "%#x", v);
		KUNIT_EXPECT_EQ_MSG(test, check(f, 0, v), v ? -EINVAL : 0,
				    "%#x unrequested", v);
	}
}

/* A P_Key is a partition and a membership bit: 0x8000 is no partition. */
static void mcast_pkey(struct kunit *test)
{
	const struct field *pkey = &fields[1];

	KUNIT_EXPECT_EQ(test, check(pkey, 2, 0x8000), -EINVAL);
	KUNIT_EXPECT_EQ(test, check(pkey, 2, 0x8001), 0);
	KUNIT_EXPECT_EQ(test, check(pkey, 2, 0x7fff), 0);
}

static void mcast_mask(struct kunit *test)
{
	struct rdma_cmx_mc_param p;
	u32 bit, i;

	for (bit = 8; bit < 32; bit++) {
		memset(&p, 0, sizeof(p));
		p.mask = BIT(bit);
		KUNIT_EXPECT_EQ(test, cmx_mc_param_check(&p), -EOPNOTSUPP);
	}
	for (i = 0; i < sizeof(p.reserved); i++) {
		memset(&p, 0, sizeof(p));
		KUNIT_EXPECT_EQ(test, cmx_mc_param_check(&p), 0);
		p.reserved[i] = 1;
		KUNIT_EXPECT_EQ(test, cmx_mc_param_check(&p), -EINVAL);
	}
}

/* A full member on RoCE v2, and the thread that joins */
struct join {
	struct cmx_group group;
	struct rdma_cm_id id;
	struct rdma_cmx_mc_param param;
	struct completion done;
	int ret;
};

static int join_run(void *arg)
{
	struct join *j = arg;
	int status;

	j->ret = cmx_mcast_roce_join(&j->group, &j->param, &status);
	complete(&j->done);
	return 0;
}

static const struct net_device_ops ndev_ops = {};

static struct net_device *ndev_new(void)
{
	struct net_device *ndev;

	ndev = alloc_netdev(0, "cmxk%d", NET_NAME_ENUM, ether_setup);
	if (!ndev)
		return NULL;
	ndev->netdev_ops = &ndev_ops;
	ndev->needs_free_netdev = true;
	/* A work item of ib_core holds a new Ethernet device for a while. */
	ndev->type = ARPHRD_NONE;
	eth_hw_addr_random(ndev);
	if (!register_netdev(ndev))
		return ndev;
	free_netdev(ndev);
	return NULL;
}

static void mcast_waits_for_rtnl(struct kunit *test)
{
	struct task_struct *thread;
	struct net_device *ndev;
	struct join *j;
	int refs;

	j = kunit_kzalloc(test, sizeof(*j), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, j);
	ndev = ndev_new();
	KUNIT_ASSERT_NOT_NULL(test, ndev);
	init_completion(&j->done);
	j->id.route.addr.dev_addr.net = &init_net;
	j->id.route.addr.dev_addr.bound_dev_if = ndev->ifindex;
	j->id.route.addr.src_addr.ss_family = AF_INET;
	j->group.id = &j->id;
	j->group.addr.in.sin_family = AF_INET;
	j->group.addr.in.sin_addr.s_addr = htonl(0xe0000901);
	thread = kthread_create(join_run, j, "cmx_join");
	if (IS_ERR(thread)) {
		unregister_netdev(ndev);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	get_task_struct(thread);

	rtnl_lock();
	refs = netdev_refcnt_read(ndev);
	wake_up_process(thread);
	/* No other wait of a join is of that kind. */
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(READ_ONCE(thread->__state) ==
					 TASK_UNINTERRUPTIBLE));
	KUNIT_EXPECT_EQ(test, netdev_refcnt_read(ndev), refs);
	unregister_netdevice(ndev);
	rtnl_unlock();

	KUNIT_EXPECT_NE(test, 0ul,
			wait_for_completion_timeout(&j->done, KUNIT_WAIT));
	KUNIT_EXPECT_EQ(test, j->ret, -ENODEV);
	put_task_struct(thread);
}

static struct fake fake;

/* ib_sa does not serve this device, so the attempt fails. */
static unsigned int rejoin(struct kunit *test, struct cmx_group *g)
{
	KUNIT_EXPECT_EQ(test, cmx_mcast_ib_start(g), -ENODEV);
	return g->backoff;
}

static void mcast_follows_port(struct kunit *test)
{
	struct cmx_group *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	struct rdma_cm_id *id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, g);
	KUNIT_ASSERT_NOT_NULL(test, id);
	KUNIT_ASSERT_EQ(test, fake_up(&fake), 0);
	id->device = fake.ibdev;
	id->port_num = 1;
	g->id = id;
	g->has_broadcast = true;
	g->was_joined = true;
	g->broadcast.raw[0] = 0xff;
	fake_generation(&fake);
	g->backoff = CMX_BACKOFF_MAX;
	KUNIT_EXPECT_LT(test, rejoin(test, g), CMX_BACKOFF_MAX);
	g->backoff = CMX_BACKOFF_MAX;
	KUNIT_EXPECT_EQ(test, rejoin(test, g), CMX_BACKOFF_MAX);
	fake_generation(&fake);
	KUNIT_EXPECT_LT(test, rejoin(test, g), CMX_BACKOFF_MAX);
	fake_down(&fake);
}

static struct kunit_case mcast_cases[] = {
	KUNIT_CASE_PARAM(mcast_range, field_gen_params),
	KUNIT_CASE(mcast_pkey),
	KUNIT_CASE(mcast_mask),
	KUNIT_CASE(mcast_waits_for_rtnl),
	KUNIT_CASE(mcast_follows_port),
	{}
};

static struct kunit_suite mcast_suite = {
	.name = "cmx_mcast",
	.test_cases = mcast_cases,
};

kunit_test_suite(mcast_suite);
