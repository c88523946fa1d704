// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The slots of an SA and the queue for them: their order, the limits of each
 * user, and what users who share a query do to each other.
 */
#include "sa_callers.h"

#define KERNEL	__kuid_val(CMX_KERNEL_UID)

/* A limited number of queries is outstanding, in the order of the calls. */
static void users_order(struct kunit *test)
{
	int i;

	/* Root leaves a quarter of the slots to others. */
	param_set(test, cmx_kunit_module(), "sa_parallel", 5);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[i], 1, i));
	KUNIT_EXPECT_EQ(test, outstanding(1), 4u);
	KUNIT_EXPECT_EQ(test, queued(1), 96u);
	/* A query that is cancelled in the queue leaves nothing behind. */
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[50].waiter));
	KUNIT_EXPECT_EQ(test, queued(1), 95u);
	for (i = 0; i < 100; i++) {
		if (i == 50)
			continue;
		KUNIT_EXPECT_LE(test, outstanding(1), 4u);
		respond_first(test, &callers[i], i);
	}
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

static void users_limit(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "sa_parallel", 5);
	param_set(test, cmx_kunit_module(), "sa_waiting_per_user", 10);
	for (i = 0; i < 14; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[i], 1, i));
	KUNIT_EXPECT_EQ(test, query_send(&callers[14], 1, 14), -EAGAIN);
	/* The other port has a separate limit. */
	KUNIT_EXPECT_EQ(test, 0, query_send(&callers[15], 2, 14));
	/* A query that joins a queued one takes no queue slot. */
	KUNIT_EXPECT_EQ(test, 0, query_send(&callers[16], 1, 13));
	KUNIT_EXPECT_EQ(test, queued(1), 10u);
	respond(test, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, query_send(&callers[17], 1, 14));
	expect_done(test, &callers[0], 0, 1);
	KUNIT_EXPECT_EQ(test, query_send(&callers[18], 1, 18), -EAGAIN);
	/* Another user has a separate limit, too. */
	KUNIT_EXPECT_EQ(test, 0, query_send_as(&callers[18], 1, 18, 1000));
	for (i = 1; i < 19; i++)
		if (i != 14)
			KUNIT_EXPECT_TRUE(test,
					  cmx_sa_forget(&callers[i].waiter));
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

/* Is the first outstanding query of port 1 for @n? */
static bool first_is(u32 n)
{
	struct cmx_sa_lookup *l = fake_lookup(callers_fake.port[1]);
	u32 got = ~n;

	if (l) {
		memcpy(&got, l->key.query.rec, sizeof(got));
		cmx_sa_lookup_put(l);
	}
	return got == n;
}

/* A query without a waiter ends, and ends no other query. */
static void users_abandoned(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 4000);
	param_set(test, cmx_kunit_module(), "sa_parallel", 5);
	for (i = 0; i < 12; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[i], 1, i));
	KUNIT_EXPECT_EQ(test, queued(1), 8u);
	KUNIT_ASSERT_TRUE(test, first_is(0));
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[0].waiter));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(!first_is(0)));
	for (i = 1; i < 12; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&callers[i].calls), 0);
	forget_all(test);
}

/* No user takes all slots of a port or its whole queue. */
static void users_share(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "sa_parallel", 8);
	param_set(test, cmx_kunit_module(), "sa_per_user", 2);
	param_set(test, cmx_kunit_module(), "sa_waiting_per_user", 10);
	for (i = 0; i < 12; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[i], 1, i, 1000));
	KUNIT_EXPECT_EQ(test, outstanding(1), 2u);
	KUNIT_EXPECT_EQ(test, queued(1), 10u);
	KUNIT_EXPECT_EQ(test, query_send_as(&callers[13], 1, 13, 1000), -EAGAIN);
	KUNIT_EXPECT_EQ(test, 0, query_send_as(&callers[14], 2, 13, 1000));
	/* Another user has slots at once, and a queue as well. */
	for (i = 20; i < 24; i++)
		KUNIT_EXPECT_EQ(test, 0, query_send_as(&callers[i], 1, i, 1001));
	KUNIT_EXPECT_EQ(test, outstanding(1), 4u);
	KUNIT_EXPECT_EQ(test, queued(1), 12u);
	/* The scheduler alternates: 2 queries of each user are outstanding. */
	respond_first(test, &callers[0], 0);
	respond_first(test, &callers[1], 1);
	respond_first(test, &callers[20], 20);
	respond_first(test, &callers[21], 21);
	KUNIT_EXPECT_EQ(test, outstanding(1), 4u);
	forget_all(test);
}

/*
 * A user without an outstanding query gets a free slot, whatever the number of
 * other users and of their queries; root has a reserve beyond that, and kernel
 * consumers have one that root leaves to them. The window limits only users who
 * have queries outstanding.
 */
static void users_reserve(struct kunit *test)
{
	int i, user, n = 0;

	param_set(test, cmx_kunit_module(), "sa_parallel", 32);
	callers_fake.port[1]->window = 32;
	for (user = 0; user < 6; user++)
		for (i = 0; i < 20; i++, n++)
			KUNIT_ASSERT_EQ(test, 0,
					query_send_as(&callers[n], 1, n, 1000 + user));
	/* These take half of the slots, and one for each user after that. */
	KUNIT_EXPECT_LE(test, outstanding(1), 16u + 6);
	for (user = 6; outstanding(1) < 28; user++, n++) {
		unsigned int before = outstanding(1);

		callers_fake.port[1]->window = 8;
		KUNIT_ASSERT_EQ(test, 0,
				query_send_as(&callers[n], 1, n, 1000 + user));
		KUNIT_ASSERT_EQ(test, outstanding(1), before + 1);
	}
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[n], 1, n, 2000));
	KUNIT_EXPECT_EQ(test, outstanding(1), 28u);
	n++;
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[n], 1, n, 0));
	KUNIT_EXPECT_EQ(test, outstanding(1), 29u);
	n++;
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[n], 1, n, KERNEL));
	KUNIT_EXPECT_EQ(test, outstanding(1), 30u);
	forget_all(test);
}

/*
 * A query far behind in one user's queue delays that user alone. A query of
 * another user changes the place of none.
 */
static void users_follow(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "sa_parallel", 1);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[i], 1, i, 1000));
	KUNIT_EXPECT_EQ(test, 0, query_send_as(&callers[100], 1, 99, 1001));
	KUNIT_EXPECT_EQ(test, 0, query_send_as(&callers[101], 1, 99, 1002));
	KUNIT_EXPECT_EQ(test, queued(1), 101u);
	respond_first(test, &callers[0], 0);
	/* One response for three users, one of whom cancels before it. */
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	KUNIT_EXPECT_EQ(test, queued(1), 98u);
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[101].waiter));
	respond_first(test, &callers[100], 99);
	expect_done(test, &callers[99], 0, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&callers[101].calls), 0);
	respond_first(test, &callers[1], 1);
	forget_all(test);
}

/* A follower still waits when the query that it follows has no waiter. */
static void users_follower_stays(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_parallel", 1);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 1000);
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[0], 1, 0, 1000));
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[1], 1, 1, 1001));
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[2], 1, 1, 1002));
	respond_first(test, &callers[0], 0);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[1].waiter));
	/* The query has a retry in this time. */
	schedule_timeout_uninterruptible(msecs_to_jiffies(2300));
	respond_first(test, &callers[2], 1);
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
}

static struct kunit_case users_cases[] = {
	KUNIT_CASE(users_order),
	KUNIT_CASE(users_limit),
	KUNIT_CASE(users_abandoned),
	KUNIT_CASE(users_share),
	KUNIT_CASE(users_reserve),
	KUNIT_CASE(users_follow),
	KUNIT_CASE(users_follower_stays),
	{}
};

static struct kunit_suite users_suite = {
	.name = "cmx_sa_users",
	.init = callers_init,
	.exit = callers_exit,
	.test_cases = users_cases,
};

kunit_test_suite(users_suite);
