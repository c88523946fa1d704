// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Which MADs of a query are given to ib_mad: none of a query that has ended
 * meanwhile, and a limited number of a port, whose hardware may complete none.
 */
#include <linux/slab.h>

#include "sa_callers.h"

static struct cmx_sa_port *port_of(void)
{
	return callers_fake.port[1];
}

/* The first query, with a reference */
static struct cmx_sa_lookup *mads_query(struct kunit *test, u8 method)
{
	struct cmx_sa_query q = {
		.attr_id = cpu_to_be16(0x31),
		.method = method,
		.rec_len = 176,
	};
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_EQ(test, 0, caller_send(&callers[0], 1, 0, &q));
	l = fake_lookup(port_of());
	KUNIT_ASSERT_NOT_NULL(test, l);
	return l;
}

static void mads_limit(struct kunit *test)
{
	struct cmx_sa_lookup *l = mads_query(test, IB_SA_METHOD_GET_TABLE);
	struct cmx_sa_mad m = {};

	KUNIT_EXPECT_EQ(test, cmx_sa_mads_max(), 256u);
	KUNIT_EXPECT_EQ(test, cmx_sa_mads_many(), 64u);
	port_of()->mads = 256;
	KUNIT_EXPECT_FALSE(test, cmx_sa_mad_add(l, &m));
	KUNIT_EXPECT_TRUE(test, list_empty(&l->mads));
	port_of()->mads = 255;
	KUNIT_EXPECT_TRUE(test, cmx_sa_mad_add(l, &m));
	KUNIT_EXPECT_EQ(test, port_of()->mads, 256u);
	cmx_sa_mad_remove(l, &m);
	KUNIT_EXPECT_EQ(test, port_of()->mads, 255u);
	KUNIT_EXPECT_TRUE(test, list_empty(&l->mads));
	port_of()->mads = 0;
	param_set(test, cmx_kunit_module(), "sa_parallel", 1);
	KUNIT_EXPECT_EQ(test, cmx_sa_mads_max(), 64u);
	/* Before the maximum, or no query is sent again. */
	KUNIT_EXPECT_EQ(test, cmx_sa_mads_many(), 32u);
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[0].waiter));
	cmx_sa_lookup_put(l);
}

/*
 * With many MADs the next one cancels the last one, whose response may be long.
 * It does so after as much time as the ones before had.
 */
static void mads_due(struct kunit *test)
{
	struct cmx_sa_lookup *l = mads_query(test, IB_SA_METHOD_GET_TABLE);
	struct cmx_sa_mad m[2] = {};
	unsigned long now = jiffies;
	int i;

	KUNIT_EXPECT_TRUE(test, cmx_sa_mads_due(l));
	for (i = 0; i < 2; i++) {
		m[i].generation = cmx_sa_port_generation(port_of());
		m[i].sent_at = i ? now : now - 3600 * HZ;
		KUNIT_EXPECT_TRUE(test, cmx_sa_mad_add(l, &m[i]));
	}
	/* The first MAD has been outstanding for an hour, the last for no time. */
	KUNIT_EXPECT_TRUE(test, cmx_sa_mads_due(l));
	port_of()->mads = 64;
	KUNIT_EXPECT_FALSE(test, cmx_sa_mads_due(l));
	m[1].sent_at = now - 900 * HZ;
	KUNIT_EXPECT_FALSE(test, cmx_sa_mads_due(l));
	m[1].sent_at = now - 1800 * HZ;
	KUNIT_EXPECT_TRUE(test, cmx_sa_mads_due(l));
	m[1].sent_at = now;
	m[1].generation--;
	KUNIT_EXPECT_TRUE(test, cmx_sa_mads_due(l));
	m[1].generation++;
	/* An event has cancelled the first one, which is still here. */
	KUNIT_EXPECT_FALSE(test, cmx_sa_mads_due(l));
	m[0].generation--;
	KUNIT_EXPECT_TRUE(test, cmx_sa_mads_due(l));
	m[0].generation++;
	/* The first one is not cancelled. */
	cmx_sa_mad_remove(l, &m[1]);
	port_of()->mads = 64;
	KUNIT_EXPECT_TRUE(test, cmx_sa_mads_due(l));
	cmx_sa_mad_remove(l, &m[0]);
	port_of()->mads = 0;
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[0].waiter));
	cmx_sa_lookup_put(l);
}

/* Its waiter gives up while a MAD waits for memory. */
static void mads_ended(struct kunit *test)
{
	struct cmx_sa_lookup *l = mads_query(test, IB_MGMT_METHOD_SET);
	struct cmx_sa_mad m = {};

	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[0].waiter));
	KUNIT_EXPECT_FALSE(test, cmx_sa_mad_add(l, &m));
	KUNIT_EXPECT_TRUE(test, list_empty(&l->mads));
	KUNIT_EXPECT_EQ(test, port_of()->mads, 0u);
	/* It ends at its next step, which is now. */
	cmx_sa_lookups_again(port_of());
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(!outstanding(1)));
	cmx_sa_lookup_put(l);
}

static struct kunit_case mads_cases[] = {
	KUNIT_CASE(mads_limit),
	KUNIT_CASE(mads_due),
	KUNIT_CASE(mads_ended),
	{}
};

static struct kunit_suite mads_suite = {
	.name = "cmx_sa_mads",
	.init = callers_init,
	.exit = callers_exit,
	.test_cases = mads_cases,
};

kunit_test_suite(mads_suite);
