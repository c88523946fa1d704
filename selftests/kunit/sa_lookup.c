// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Outstanding queries to an SA: equal queries share one request, each waiter
 * completes once or not at all, and every query ends. sa_users.c has the queue.
 */
#include <linux/delay.h>

#include "sa_callers.h"

static void lookup_coalesce(struct kunit *test)
{
	int i;

	for (i = 0; i < CALLERS; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[i], 1, 7));
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
	/* Some callers cancel. This does not affect the others. */
	for (i = 0; i < CALLERS; i += 3)
		KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[i].waiter));
	respond(test, 1, 2, 0);
	for (i = 0; i < CALLERS; i++) {
		if (i % 3)
			expect_done(test, &callers[i], 0, 2);
		else
			KUNIT_EXPECT_EQ(test, atomic_read(&callers[i].calls),
					0);
	}
	/* The cache answers the next query. */
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	expect_done(test, &callers[0], 0, 2);
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
}

static int path_send(struct caller *a, u8 gid)
{
	struct cmx_sa_query q = {
		.attr_id = cpu_to_be16(0x35),
		.method = IB_SA_METHOD_GET_TABLE,
		.rec_len = 64,
		.comp_mask = cpu_to_be64(1 << 2),
		.rec[8] = 0xfe,
		.rec[8 + 15] = gid,
	};

	return caller_send(a, 1, 0, &q);
}

/* A path that changes while a query is outstanding */
static void lookup_gid_changed(struct kunit *test)
{
	union ib_gid gid = { .raw = { 0xfe, [15] = 9 } };

	KUNIT_ASSERT_EQ(test, 0, path_send(&callers[0], 9));
	cmx_sa_gid_changed(callers_fake.port[1], &gid);
	/* A later query does not join an earlier one. */
	KUNIT_ASSERT_EQ(test, 0, path_send(&callers[1], 9));
	KUNIT_EXPECT_EQ(test, outstanding(1), 2u);
	/* The response to the earlier one is used, but not cached. */
	respond(test, 1, 1, 0);
	expect_done(test, &callers[0], 0, 1);
	KUNIT_ASSERT_EQ(test, 0, path_send(&callers[0], 9));
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&callers[0].calls), 0);
	/* That to the later one is. */
	respond(test, 1, 2, 0);
	expect_done(test, &callers[0], 0, 2);
	expect_done(test, &callers[1], 0, 2);
	KUNIT_ASSERT_EQ(test, 0, path_send(&callers[0], 9));
	expect_done(test, &callers[0], 0, 2);
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
}

/* It changes before a query that waits for its slot is sent. */
static void lookup_gid_changed_before(struct kunit *test)
{
	union ib_gid gid = { .raw = { 0xfe, [15] = 9 } };

	param_set(test, cmx_kunit_module(), "sa_parallel", 1);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	KUNIT_ASSERT_EQ(test, 0, path_send(&callers[1], 9));
	cmx_sa_gid_changed(callers_fake.port[1], &gid);
	/* Another one of the same user joins it. */
	KUNIT_ASSERT_EQ(test, 0, path_send(&callers[2], 9));
	KUNIT_EXPECT_EQ(test, queued(1), 1u);
	respond(test, 1, 1, 0);
	expect_done(test, &callers[0], 0, 1);
	respond(test, 1, 2, 0);
	expect_done(test, &callers[1], 0, 2);
	expect_done(test, &callers[2], 0, 2);
	/* Its response is cached. */
	KUNIT_ASSERT_EQ(test, 0, path_send(&callers[0], 9));
	expect_done(test, &callers[0], 0, 2);
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
}

/* The first lookup that waits for a slot of port 1 */
static struct cmx_sched_entity *first_queued(void)
{
	return list_first_entry(&callers_fake.port[1]->sched.waiting,
				struct cmx_sched_entity, node);
}

/*
 * Waiters are called one after another. Users do not wait for the many of
 * another user.
 */
static void lookup_many_waiters(struct kunit *test)
{
	struct cmx_sa_lookup *l;
	int i;

	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[0], 1, 1, 1000));
	l = fake_lookup(callers_fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	KUNIT_EXPECT_EQ(test, l->entity.count, 1u);
	/* As if the user had 1,022 more of them */
	l->entity.count = 1023;
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[1], 1, 1, 1001));
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_EXPECT_EQ(test, l->entity.count, 1024u);
	/* Those of the same user join it, others do not. */
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[2], 1, 1, 1000));
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[3], 1, 1, 1002));
	KUNIT_EXPECT_EQ(test, outstanding(1), 2u);
	cmx_sa_lookup_put(l);
	respond(test, 1, 1, 0);
	respond(test, 1, 2, 0);
	for (i = 0; i < 4; i++)
		expect_done(test, &callers[i], 0, i == 3 ? 2 : 1);

	/* With a slot for one query, two of which wait */
	param_set(test, cmx_kunit_module(), "sa_parallel", 1);
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[i], 1, 2 + !i,
						       1000 + i));
	KUNIT_EXPECT_EQ(test, queued(1), 2u);
	first_queued()->count = 1024;
	respond(test, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_EXPECT_EQ(test, queued(1), 1u);
	respond(test, 1, 2, 0);
	respond(test, 1, 3, 0);
	for (i = 0; i < 3; i++)
		expect_done(test, &callers[i], 0, i + 1);

	/* Followers are called last: the leader's user stops at the limit, too. */
	for (i = 0; i < 3; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[i], 1, 4 + !i,
						       1000 + i));
	respond(test, 1, 1, 0);
	l = fake_lookup(callers_fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
	KUNIT_EXPECT_FALSE(test, list_empty(&l->entity.followers));
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[3], 1, 4, 1001));
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
	l->entity.count = 1024;
	KUNIT_ASSERT_EQ(test, 0, query_send_as(&callers[4], 1, 4, 1001));
	KUNIT_EXPECT_EQ(test, queued(1), 1u);
	cmx_sa_lookup_put(l);
	respond(test, 1, 2, 0);
	respond(test, 1, 3, 0);
	for (i = 0; i < 5; i++)
		expect_done(test, &callers[i], 0, i == 4 ? 3 : i ? 2 : 1);
}

/* A different query or port is a different request. */
static void lookup_apart(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[1], 1, 2));
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[2], 2, 1));
	KUNIT_EXPECT_EQ(test, outstanding(1), 2u);
	KUNIT_EXPECT_EQ(test, outstanding(2), 1u);
	respond(test, 1, 1, 0);
	respond(test, 1, 2, 0);
	respond(test, 2, 3, 0);
	expect_done(test, &callers[0], 0, 1);
	expect_done(test, &callers[1], 0, 2);
	expect_done(test, &callers[2], 0, 3);
}

static void lookup_errors(struct kunit *test)
{
	static const int errors[] = {
		-ECONNREFUSED, -EBADMSG, -ENOMEM, -EOPNOTSUPP,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, i));
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[1], 1, i));
		respond(test, 1, 0, errors[i]);
		expect_done(test, &callers[0], errors[i], -1);
		expect_done(test, &callers[1], errors[i], -1);
		/* The cache keeps no error. */
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, i));
		KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
		respond(test, 1, 1, 0);
		expect_done(test, &callers[0], 0, 1);
	}
	/* The cache keeps no empty response. */
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 100));
	respond(test, 1, 0, 0);
	expect_done(test, &callers[0], 0, 0);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 100));
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[0].waiter));
}

/* A busy SA gives no response: the query stays, and ends with -EAGAIN. */
static void lookup_busy(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	respond(test, 1, 0, -EBUSY);
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&callers[0].calls), 0);
	respond(test, 1, 4, 0);
	expect_done(test, &callers[0], 0, 4);

	/* 9 s, so that it does not time out before the response */
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 1000);
	param_set(test, cmx_kunit_module(), "sa_retries", 4);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 2));
	respond(test, 1, 0, -EBUSY);
	expect_done(test, &callers[0], -EAGAIN, -1);
}

static void lookup_timeout(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 10);
	param_set(test, cmx_kunit_module(), "sa_retries", 3);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	expect_done(test, &callers[0], -ETIMEDOUT, -1);
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
	/* No caller waits: the query is not sent again, and ends. */
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 2000);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[1], 1, 2));
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&callers[1].waiter));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(!outstanding(1)));
	KUNIT_EXPECT_EQ(test, atomic_read(&callers[1].calls), 0);
}

/*
 * An SA whose responses take long gets a second request, and not the ten that
 * its parameters allow; and after that one query at a time.
 */
static void lookup_slow(struct kunit *test)
{
	struct cmx_sa_port *port = callers_fake.port[1];
	struct cmx_sa_lookup *l;
	unsigned int i, retries = 0;

	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 50);
	param_set(test, cmx_kunit_module(), "sa_retries", 9);
	port->response = msecs_to_jiffies(60000);
	/* The second request is due after 0.5 s, and too late after 1 s. */
	for (i = 0; i < 4 && retries < 2; i++) {
		port->window = 2;
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
		l = fake_lookup(port);
		expect_done(test, &callers[0], -ETIMEDOUT, -1);
		if (!l)
			continue;
		retries = l->retries;
		cmx_sa_lookup_put(l);
	}
	KUNIT_EXPECT_EQ(test, retries, 2u);
	KUNIT_EXPECT_EQ(test, port->window, 1u);
	port->response = 0;
	port->window = 8;
}

/* A response after the end completes no caller. */
static void lookup_late(struct kunit *test)
{
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	l = fake_lookup(callers_fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	respond(test, 1, 1, 0);
	expect_done(test, &callers[0], 0, 1);
	refcount_inc(&l->ref);
	fake_say(l, fake_services(9, "s"), 0);
	refcount_inc(&l->ref);
	fake_say(l, NULL, -EBADMSG);
	refcount_inc(&l->ref);
	fake_say(l, NULL, -EBUSY);
	cmx_sa_lookup_put(l);
	KUNIT_EXPECT_EQ(test, atomic_read(&callers[0].calls), 1);
	/* It does not replace the first response in the cache. */
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	expect_done(test, &callers[0], 0, 1);
}

/* After a change of the port, responses to earlier requests are dropped. */
static void lookup_generation(struct kunit *test)
{
	struct cmx_sa_lookup *l;
	u32 before;

	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	before = cmx_sa_cache_generation(&callers_fake.port[1]->cache);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	l = fake_lookup(callers_fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	fake_generation(&callers_fake);
	cmx_sa_lookup_response(l, before, jiffies, NULL, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&callers[0].calls), 0);
	cmx_sa_lookups_again(callers_fake.port[1]);
	cmx_sa_lookup_put(l);
	respond(test, 1, 6, 0);
	expect_done(test, &callers[0], 0, 6);
}

static void lookup_port_gone(struct kunit *test)
{
	struct cmx_sa_port *port = callers_fake.port[1];
	int i;

	for (i = 0; i < 20; i++)
		KUNIT_ASSERT_EQ(test, 0, query_send(&callers[i], 1, i));
	KUNIT_EXPECT_GT(test, queued(1), 0u);
	spin_lock(&cmx_sa_lock);
	WRITE_ONCE(port->active, false);
	spin_unlock(&cmx_sa_lock);
	KUNIT_EXPECT_EQ(test, query_send(&callers[20], 1, 0), -ENODEV);
	cmx_sa_lookups_fail(port, -ENODEV);
	for (i = 0; i < 20; i++)
		expect_done(test, &callers[i], -ENODEV, -1);
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

/* A port that has come up again keeps the queries since then. */
static void lookup_port_back(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	cmx_sa_lookups_fail(callers_fake.port[1], -ENODEV);
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	respond_first(test, &callers[0], 1);
}

struct race {
	struct work_struct work;
	struct cmx_sa_lookup *l;
};

static void race_work(struct work_struct *work)
{
	struct race *race = container_of(work, struct race, work);

	fake_say(race->l, fake_services(1, "s"), 0);
}

/* A response races with a cancel: one of them wins, and the loser sees it. */
static void lookup_race(struct kunit *test)
{
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	u32 round, forgotten = 0, delay = 100, i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	INIT_WORK(&race->work, race_work);
	for (round = 0; round < 500; round++) {
		fake_generation(&callers_fake);
		for (i = 0; i < 4; i++)
			KUNIT_ASSERT_EQ(test, 0, query_send(&callers[i], 1, round));
		KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
		race->l = fake_lookup(callers_fake.port[1]);
		KUNIT_ASSERT_NOT_NULL(test, race->l);
		queue_work(system_unbound_wq, &race->work);
		udelay(kunit_random(delay + 1));
		for (i = 0; i < 4; i++) {
			if (cmx_sa_forget(&callers[i].waiter)) {
				forgotten++;
				delay = min(delay + 5, 2000u);
				KUNIT_EXPECT_EQ(test, 0,
						atomic_read(&callers[i].calls));
			} else {
				delay -= min(delay, 5u);
				KUNIT_ASSERT_TRUE(test, caller_wait(&callers[i]));
			}
		}
		flush_work(&race->work);
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_LE(test, atomic_read(&callers[i].calls), 1);
	}
	kunit_info(test, "%u of 2000 were forgotten", forgotten);
}

/* A Set of a record is sent each time; it makes older responses invalid. */
static void lookup_changes(struct kunit *test)
{
	struct cmx_sa_query set = {
		.attr_id = cpu_to_be16(0x31),
		.method = IB_MGMT_METHOD_SET,
		.rec_len = 176,
		.rec[0] = 7,
	};
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0, caller_send(&callers[0], 1, 0, &set));
		respond(test, 1, 1, 0);
		expect_done(test, &callers[0], 0, 1);
	}
	/* A response to it is none to a query. */
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	cmx_sa_services_changed();
	/* The outstanding query may miss the change. */
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[1], 1, 7));
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(outstanding(1) == 2));
	respond(test, 1, 1, 0);
	expect_done(test, &callers[0], 0, 1);
	respond(test, 1, 2, 0);
	expect_done(test, &callers[1], 0, 2);
	/* The second response is in the cache, until the next change. */
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	expect_done(test, &callers[0], 0, 2);
	cmx_sa_services_changed();
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	respond(test, 1, 3, 0);
	expect_done(test, &callers[0], 0, 3);
}

/* A response or report is from QP 1 of the SM, in the SA's partition. */
static void lookup_source(struct kunit *test)
{
	const struct cmx_sa_ah ah = { .lid = 7 };
	const struct ib_wc right = { .slid = 7, .src_qp = 1 };
	struct cmx_sa_port *port = callers_fake.port[2];
	struct ib_wc wc = right;

	KUNIT_EXPECT_TRUE(test, cmx_sa_port_is_source(port, &ah, &wc));
	wc.slid = 8;
	KUNIT_EXPECT_FALSE(test, cmx_sa_port_is_source(port, &ah, &wc));
	wc = right;
	wc.src_qp = 2;
	KUNIT_EXPECT_FALSE(test, cmx_sa_port_is_source(port, &ah, &wc));
	wc = right;
	wc.pkey_index = 1;
	KUNIT_EXPECT_FALSE(test, cmx_sa_port_is_source(port, &ah, &wc));
}

static u16 sm_lid;

static int sm_read(struct ib_device *ibdev, u32 num, struct ib_port_attr *attr)
{
	attr->sm_lid = READ_ONCE(sm_lid);
	return 0;
}

/* Reads port 1. It has the agent meanwhile, and no query is outstanding. */
static void sm_find(struct ib_mad_agent *agent, u16 lid)
{
	struct cmx_sa_port *port = callers_fake.port[1];

	/* The last query has ended, but may be about to be sent. */
	flush_work(&port->send);
	WRITE_ONCE(sm_lid, lid);
	port->agent = agent;
	cmx_sa_port_refresh(port);
	port->agent = NULL;
}

/*
 * The SM changes. Until the port is read, the old one responds, and its
 * responses count as newer than the event.
 */
static void lookup_sm_changed(struct kunit *test)
{
	static struct ib_pd pd;
	static struct ib_qp qp = { .pd = &pd };
	static struct ib_mad_agent agent = { .qp = &qp };

	pd.device = callers_fake.ibdev;
	WRITE_ONCE(fake_read, sm_read);
	sm_find(&agent, 1);
	KUNIT_EXPECT_NOT_NULL(test, callers_fake.port[1]->ah);
	fake_generation(&callers_fake);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	respond(test, 1, 1, 0);
	expect_done(test, &callers[0], 0, 1);
	/* Read again without a change: the response is used. */
	sm_find(&agent, 1);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	expect_done(test, &callers[0], 0, 1);
	sm_find(&agent, 2);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	respond(test, 1, 2, 0);
	expect_done(test, &callers[0], 0, 2);
	sm_find(&agent, 0);
	WRITE_ONCE(fake_read, NULL);
}

static struct kunit_case lookup_cases[] = {
	KUNIT_CASE(lookup_coalesce),
	KUNIT_CASE(lookup_gid_changed),
	KUNIT_CASE(lookup_gid_changed_before),
	KUNIT_CASE(lookup_many_waiters),
	KUNIT_CASE(lookup_apart),
	KUNIT_CASE(lookup_errors),
	KUNIT_CASE(lookup_busy),
	KUNIT_CASE(lookup_timeout),
	KUNIT_CASE(lookup_slow),
	KUNIT_CASE(lookup_late),
	KUNIT_CASE(lookup_generation),
	KUNIT_CASE(lookup_port_gone),
	KUNIT_CASE(lookup_port_back),
	KUNIT_CASE(lookup_race),
	KUNIT_CASE(lookup_changes),
	KUNIT_CASE(lookup_source),
	KUNIT_CASE(lookup_sm_changed),
	{}
};

static struct kunit_suite lookup_suite = {
	.name = "cmx_sa_lookup",
	.init = callers_init,
	.exit = callers_exit,
	.test_cases = lookup_cases,
};

kunit_test_suite(lookup_suite);
