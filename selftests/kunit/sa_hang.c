// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The firmware of four ports hangs, with many outstanding queries each. These
 * end at their timeouts, and the queries of another device go on.
 */
#include <linux/completion.h>
#include <net/net_namespace.h>

#include "kunit.h"

/* Together more than the 256 work items that a work queue runs by default */
#define HUNG_PORTS	4
#define HUNG_QUERIES	96
#define HUNG		(HUNG_PORTS * HUNG_QUERIES)

struct hang_call {
	struct cmx_sched_waiter waiter;
	struct completion done;
	int error;
};

static struct fake hung[HUNG_PORTS / FAKE_PORTS], works;
static struct hang_call calls[HUNG + 1];
/* Not used for MADs, because the ports have no SM */
static struct ib_mad_agent agent;
static struct completion released;
static atomic_t reads;

static int hang_read(struct ib_device *ibdev, u32 num,
		     struct ib_port_attr *attr)
{
	attr->sm_lid = 0;
	if (ibdev == works.ibdev)
		return 0;
	atomic_inc(&reads);
	wait_for_completion(&released);
	return 0;
}

static struct cmx_sa_port *hung_port(unsigned int i)
{
	return hung[i / FAKE_PORTS].port[1 + i % FAKE_PORTS];
}

static int hang_init(struct kunit *test)
{
	unsigned int i;
	int ret;

	init_completion(&released);
	atomic_set(&reads, 0);
	memset(calls, 0, sizeof(calls));
	memset(hung, 0, sizeof(hung));
	ret = fake_up(&works) ?: fake_up(&hung[0]) ?: fake_up(&hung[1]);
	if (ret)
		return ret;
	for (i = 0; i < HUNG_PORTS; i++)
		hung_port(i)->agent = &agent;
	WRITE_ONCE(fake_read, hang_read);
	param_set(test, cmx_kunit_module(), "sa_parallel", 128);
	return 0;
}

static void hang_exit(struct kunit *test)
{
	unsigned int i;

	complete_all(&released);
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i].waiter.done && !cmx_sa_forget(&calls[i].waiter))
			wait_for_completion(&calls[i].done);
	}
	for (i = 0; i < HUNG_PORTS && hung_port(i); i++) {
		/* Also waits for a read. */
		down_write(&hung_port(i)->agent_lock);
		hung_port(i)->agent = NULL;
		up_write(&hung_port(i)->agent_lock);
	}
	WRITE_ONCE(fake_read, NULL);
	fake_down(&hung[1]);
	fake_down(&hung[0]);
	fake_down(&works);
	params_restore(test);
}

static void hang_done(struct cmx_sched_waiter *waiter, void *answer, int error)
{
	struct hang_call *c = container_of(waiter, struct hang_call, waiter);

	c->error = error;
	complete_all(&c->done);
}

/* Each query is another one, of another user. */
static void hang_send(struct kunit *test, unsigned int n,
		      struct cmx_sa_port *port)
{
	struct cmx_sa_query q = {
		.attr_id = cpu_to_be16(0x31),
		.method = IB_SA_METHOD_GET_TABLE,
		.rec_len = 176,
	};
	int ret;

	memcpy(q.rec, &n, sizeof(n));
	init_completion(&calls[n].done);
	calls[n].waiter.done = hang_done;
	ret = cmx_sa_lookup(port, &init_net, KUIDT_INIT(1000 + n), &q,
			    &calls[n].waiter);
	if (ret)
		calls[n].waiter.done = NULL;
	KUNIT_ASSERT_EQ(test, ret, 0);
}

static bool hang_ended(unsigned int n)
{
	return wait_for_completion_timeout(&calls[n].done, 20 * HZ);
}

static void hang_others(struct kunit *test)
{
	struct cmx_sa_lookup *l;
	unsigned int i;

	/* 50 ms until the first retry, and 1.95 s in all */
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 50);
	param_set(test, cmx_kunit_module(), "sa_retries", 19);
	for (i = 0; i < HUNG; i++)
		hang_send(test, i, hung_port(i % HUNG_PORTS));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(atomic_read(&reads) == HUNG_PORTS));
	/* All are due for a retry. */
	schedule_timeout_uninterruptible(HZ / 2);
	/* The query of the other device does not end by itself. */
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	hang_send(test, HUNG, works.port[1]);
	l = fake_lookup(works.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	fake_say(l, fake_services(1, "s"), 0);
	KUNIT_EXPECT_TRUE(test, hang_ended(HUNG));
	KUNIT_EXPECT_EQ(test, calls[HUNG].error, 0);
	/* Each port waits for one read. */
	KUNIT_EXPECT_EQ(test, atomic_read(&reads), HUNG_PORTS);
}

static void hang_timeout(struct kunit *test)
{
	unsigned int i;

	/* 3.8 s in all */
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 200);
	param_set(test, cmx_kunit_module(), "sa_retries", 9);
	for (i = 0; i < HUNG_PORTS; i++)
		hang_send(test, i, hung_port(i));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(atomic_read(&reads) == HUNG_PORTS));
	/* These come behind the ones that are sent. */
	for (; i < 2 * HUNG_PORTS; i++)
		hang_send(test, i, hung_port(i % HUNG_PORTS));
	for (i = 0; i < 2 * HUNG_PORTS; i++) {
		KUNIT_EXPECT_TRUE(test, hang_ended(i));
		KUNIT_EXPECT_EQ(test, calls[i].error, -ETIMEDOUT);
	}
	/* What has ended is not kept for the end of the hang. */
	for (i = 0; i < HUNG_PORTS; i++)
		KUNIT_EXPECT_TRUE(test, list_empty(&hung_port(i)->sends));
}

static struct kunit_case hang_cases[] = {
	KUNIT_CASE(hang_others),
	KUNIT_CASE(hang_timeout),
	{}
};

static struct kunit_suite hang_suite = {
	.name = "cmx_sa_hang",
	.init = hang_init,
	.exit = hang_exit,
	.test_cases = hang_cases,
};

kunit_test_suite(hang_suite);
