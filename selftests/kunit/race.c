// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The race of a connect's candidates. A candidate that has failed does not win.
 * The deadline does not run while a candidate waits for a slot, up to a limit
 * from the call. The share of a candidate begins with its slot. The candidates
 * have no ids: their work items do nothing. One case runs the work item of one
 * candidate: a reply after the limit of a cached path. Another one compares a
 * given path with the addresses that rdma_cm has found.
 */
#include <linux/if_arp.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm.h>

#include "connect/connect.h"
#include "kunit.h"

#define TRIES	(CMX_CONNECT_OUTSTANDING + 1)

struct bed {
	struct rdma_cmx_connector c;
	struct cmx_try tries[TRIES];
	struct rdma_cmx_candidate out[TRIES];
};

static struct bed *bed;

static void item_work(struct work_struct *work)
{
	struct cmx_connect_item *item = container_of(work,
						     struct cmx_connect_item,
						     work);

	cmx_connector_put(item->c);
}

static int race_init(struct kunit *test)
{
	struct rdma_cmx_connector *c;
	u32 i;

	bed = kzalloc(sizeof(*bed), GFP_KERNEL);
	if (!bed)
		return -ENOMEM;
	c = &bed->c;
	/* The use of the test: it is never the last one. */
	refcount_set(&c->uses, 1);
	spin_lock_init(&c->lock);
	cmx_connect_item_init(&c->item, c, item_work);
	INIT_DELAYED_WORK(&c->delay_work, cmx_race_delay);
	INIT_DELAYED_WORK(&c->deadline, cmx_deadline_work);
	c->tries = bed->tries;
	c->resolved = true;
	c->delay = 1;
	c->share = 1;
	c->expires = jiffies + 100 * HZ;
	c->until = jiffies + 3600 * HZ;
	for (i = 0; i < TRIES; i++) {
		bed->tries[i].c = c;
		bed->tries[i].out = &bed->out[i];
		cmx_connect_item_init(&bed->tries[i].item, c, item_work);
	}
	return 0;
}

static void race_exit(struct kunit *test)
{
	struct rdma_cmx_connector *c = &bed->c;

	spin_lock(&c->lock);
	c->ending = true;
	c->ended = true;
	spin_unlock(&c->lock);
	if (cancel_delayed_work_sync(&c->delay_work))
		cmx_connector_put(c);
	if (cancel_delayed_work_sync(&c->deadline))
		cmx_connector_put(c);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(refcount_read(&c->uses) == 1));
	kfree(bed);
}

/* The first @n candidates have started. */
static void start(u32 n, u32 count)
{
	struct rdma_cmx_connector *c = &bed->c;
	u32 i;

	for (i = 0; i < n; i++) {
		bed->tries[i].outstanding = true;
		bed->tries[i].since = jiffies;
		bed->out[i].attempts = 1;
	}
	c->flights = n;
	c->next = n;
	c->count = count;
}

static void granted(u32 i)
{
	spin_lock(&bed->c.lock);
	cmx_deadline_granted(&bed->tries[i]);
	cmx_race(&bed->c);
	spin_unlock(&bed->c.lock);
}

/* The next candidate may start now, and those that started have @share. */
static void race_again(unsigned long share)
{
	spin_lock(&bed->c.lock);
	bed->c.slow = true;
	bed->c.share = share;
	cmx_race(&bed->c);
	spin_unlock(&bed->c.lock);
}

static long left(void)
{
	long ret;

	spin_lock(&bed->c.lock);
	ret = cmx_deadline_left(&bed->c);
	spin_unlock(&bed->c.lock);
	return ret;
}

/* The timer runs now. True if the deadline has passed. */
static bool is_late(void)
{
	flush_delayed_work(&bed->c.deadline);
	return READ_ONCE(bed->c.late);
}

/* A wait of 1000 s, longer than the time of the connect */
static void deadline_waits(struct kunit *test)
{
	struct rdma_cmx_connector *c = &bed->c;
	unsigned long expires;

	start(1, 1);
	cmx_deadline_arm(c);
	cmx_deadline_wait(&bed->tries[0]);
	c->waits_since -= 1000 * HZ;
	c->expires -= 1000 * HZ;
	expires = c->expires;
	KUNIT_EXPECT_FALSE(test, is_late());
	KUNIT_EXPECT_GT(test, left(), 0l);
	granted(0);
	KUNIT_EXPECT_FALSE(test, is_late());
	KUNIT_EXPECT_GE(test, c->expires - expires, 1000ul * HZ);
	KUNIT_EXPECT_LE(test, left(), 100l * HZ);
	KUNIT_EXPECT_GE(test, c->waited, 1000ul * HZ);
	/* Its own time passes. */
	c->expires = jiffies;
	KUNIT_EXPECT_TRUE(test, is_late());
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bed->tries[0].stop));
}

/* Two waits at the same time count once. */
static void deadline_two_waits(struct kunit *test)
{
	struct rdma_cmx_connector *c = &bed->c;
	unsigned long expires = c->expires;

	start(2, 2);
	cmx_deadline_wait(&bed->tries[0]);
	cmx_deadline_wait(&bed->tries[1]);
	c->waits_since -= 1000 * HZ;
	granted(1);
	KUNIT_EXPECT_EQ(test, c->expires, expires);
	granted(0);
	KUNIT_EXPECT_GE(test, c->expires - expires, 1000ul * HZ);
	KUNIT_EXPECT_LT(test, c->expires - expires, 2000ul * HZ);
}

/* The timer fires when the limit passes, not when the connect gets a slot. */
static void deadline_limit(struct kunit *test)
{
	struct rdma_cmx_connector *c = &bed->c;

	start(1, 1);
	cmx_deadline_wait(&bed->tries[0]);
	c->until = jiffies + 2;
	cmx_deadline_arm(c);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(READ_ONCE(c->late)));
	/* The work item sets it after that. */
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(READ_ONCE(bed->tries[0].stop)));
	granted(0);
	KUNIT_EXPECT_LE(test, left(), 0l);
}

/* One that waits does not give its place to another one. */
static void deadline_share(struct kunit *test)
{
	struct rdma_cmx_connector *c = &bed->c;
	u32 i;

	start(CMX_CONNECT_OUTSTANDING, TRIES);
	for (i = 0; i < CMX_CONNECT_OUTSTANDING; i++) {
		cmx_deadline_wait(&bed->tries[i]);
		bed->tries[i].since -= 1000 * HZ;
	}
	race_again(0);
	KUNIT_EXPECT_EQ(test, c->leaving, 0u);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bed->tries[TRIES - 1].outstanding));
	/* Longer than the test, and then over */
	c->share = 1000 * HZ;
	granted(3);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bed->tries[3].leaving));
	race_again(0);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bed->tries[3].leaving));
	KUNIT_EXPECT_EQ(test, c->leaving, 1u);
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bed->tries[TRIES - 1].outstanding));
}

static int comes_up(u32 i)
{
	int ret;

	spin_lock(&bed->c.lock);
	ret = cmx_race_up(&bed->c, &bed->tries[i]);
	spin_unlock(&bed->c.lock);
	return ret;
}

/* An event has ended the candidate, in the moment in which it comes up. */
static void race_up_failed(struct kunit *test)
{
	struct rdma_cmx_connector *c = &bed->c;

	start(3, 3);
	bed->tries[0].error = -ENODEV;
	KUNIT_EXPECT_EQ(test, comes_up(0), -ENODEV);
	KUNIT_EXPECT_PTR_EQ(test, c->winner, NULL);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bed->tries[1].stop));
	KUNIT_EXPECT_EQ(test, comes_up(1), 0);
	KUNIT_EXPECT_PTR_EQ(test, c->winner, &bed->tries[1]);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(bed->tries[1].stop));
	KUNIT_EXPECT_TRUE(test, READ_ONCE(bed->tries[2].stop));
	/* A second one is up, too late. */
	KUNIT_EXPECT_EQ(test, comes_up(2), 0);
	KUNIT_EXPECT_PTR_EQ(test, c->winner, &bed->tries[1]);
}

static int no_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return 0;
}

/*
 * The limit of an attempt on a cached path passes, and the reply arrives before
 * the work item runs. The second attempt, which has no address here, follows.
 */
static void late_reply(struct kunit *test)
{
	static const struct rdma_cmx_entry entry = {
		.port_space = RDMA_PS_TCP,
		.qp_type = IB_QPT_RC,
	};
	struct rdma_cmx_connector *c = &bed->c;
	struct cmx_try *t = &bed->tries[0];
	work_func_t run;

	c->net = &init_net;
	cmx_try_init(t, c, &entry, &bed->out[0]);
	start(1, 1);
	t->id = rdma_create_id(&init_net, no_event, t, RDMA_PS_TCP, IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t->id));
	t->step = RDMA_CMX_CONNECT_REQUEST;
	t->cached = true;
	/* It does not run yet. */
	run = t->item.work.func;
	t->item.work.func = item_work;
	refcount_inc(&c->uses);
	t->limit.work.func(&t->limit.work);
	KUNIT_EXPECT_EQ(test, t->error, -ETIMEDOUT);
	flush_work(&t->item.work);
	t->connected = true;
	refcount_inc(&c->uses);
	run(&t->item.work);
	KUNIT_EXPECT_EQ(test, bed->out[0].attempts, 2u);
	KUNIT_EXPECT_LT(test, bed->out[0].error, 0);
	KUNIT_EXPECT_EQ(test, (int)bed->out[0].step, (int)RDMA_CMX_CONNECT_ADDR);
	KUNIT_EXPECT_NULL(test, t->id);
}

/* A path of another port, or to another neighbour, is not used. */
static void path_fits(struct kunit *test)
{
	struct rdma_dev_addr addr = { .dev_type = ARPHRD_INFINIBAND };
	struct sa_path_rec rec = {};
	union ib_gid gid = { .raw = { 0xfe, 0x80, [15] = 1 } };

	rdma_addr_set_sgid(&addr, &gid);
	rec.sgid = gid;
	gid.raw[15] = 2;
	rdma_addr_set_dgid(&addr, &gid);
	rec.dgid = gid;
	KUNIT_EXPECT_TRUE(test, cmx_try_path_fits(&addr, &rec));
	gid.raw[15] = 3;
	rdma_addr_set_sgid(&addr, &gid);
	KUNIT_EXPECT_FALSE(test, cmx_try_path_fits(&addr, &rec));
	rdma_addr_set_sgid(&addr, &rec.sgid);
	rdma_addr_set_dgid(&addr, &gid);
	KUNIT_EXPECT_FALSE(test, cmx_try_path_fits(&addr, &rec));
}

static struct kunit_case race_cases[] = {
	KUNIT_CASE(race_up_failed),
	KUNIT_CASE(deadline_waits),
	KUNIT_CASE(deadline_two_waits),
	KUNIT_CASE(deadline_limit),
	KUNIT_CASE(deadline_share),
	KUNIT_CASE(late_reply),
	KUNIT_CASE(path_fits),
	{}
};

static struct kunit_suite race_suite = {
	.name = "cmx_race",
	.init = race_init,
	.exit = race_exit,
	.test_cases = race_cases,
};

kunit_test_suite(race_suite);
