// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Outstanding queries to an SA: equal queries share one request, each waiter
 * completes once or not at all, and every query ends.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "kunit.h"

struct caller {
	struct cmx_sched_waiter waiter;
	struct completion done;
	atomic_t calls;
	int error;
	int count;
};

static struct fake fake;
static struct caller *callers;

#define CALLERS		256

static int lookup_init(struct kunit *test)
{
	int i, ret;

	callers = kcalloc(CALLERS, sizeof(*callers), GFP_KERNEL);
	if (!callers)
		return -ENOMEM;
	for (i = 0; i < CALLERS; i++)
		init_completion(&callers[i].done);
	ret = fake_up(&fake);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	return ret;
}

static void lookup_exit(struct kunit *test)
{
	fake_down(&fake);
	params_restore(test);
	kfree(callers);
	callers = NULL;
}

static void caller_done(struct cmx_sched_waiter *waiter, void *from, int error)
{
	struct caller *a = container_of(waiter, struct caller, waiter);
	const struct cmx_sa_answer *answer = from;

	a->error = error;
	a->count = answer ? answer->count : -1;
	atomic_inc(&a->calls);
	complete(&a->done);
}

/* Queries that are outstanding at the SA of @port, and those that are queued */
static unsigned int outstanding(u32 port)
{
	return READ_ONCE(fake.port[port]->sched.nr_running);
}

static unsigned int queued(u32 port)
{
	return READ_ONCE(fake.port[port]->sched.nr_waiting);
}

static int method_send_as(struct caller *a, u32 port, u32 n, unsigned int uid,
			  u8 method)
{
	struct cmx_sa_query q = {
		.attr_id = cpu_to_be16(0x31),
		.method = method,
		.rec_len = 176,
	};

	memcpy(q.rec, &n, sizeof(n));
	memset(&a->waiter, 0, sizeof(a->waiter));
	a->waiter.done = caller_done;
	reinit_completion(&a->done);
	atomic_set(&a->calls, 0);
	return cmx_sa_lookup(fake.port[port], &init_net, KUIDT_INIT(uid), &q,
			     &a->waiter);
}

#define KERNEL	__kuid_val(CMX_KERNEL_UID)

static int query_send_as(struct caller *a, u32 port, u32 n, unsigned int uid)
{
	return method_send_as(a, port, n, uid, IB_SA_METHOD_GET_TABLE);
}

static int query_send(struct caller *a, u32 port, u32 n)
{
	return query_send_as(a, port, n, 0);
}

static bool caller_wait(struct caller *a)
{
	return wait_for_completion_timeout(&a->done, KUNIT_WAIT);
}

static void expect_done(struct kunit *test, struct caller *a, int error,
			int count)
{
	KUNIT_ASSERT_TRUE(test, caller_wait(a));
	KUNIT_EXPECT_EQ(test, atomic_read(&a->calls), 1);
	KUNIT_EXPECT_EQ(test, a->error, error);
	KUNIT_EXPECT_EQ(test, a->count, count);
	/* The query is complete: there is nothing to forget. */
	KUNIT_EXPECT_FALSE(test, cmx_sa_forget(&a->waiter));
}

/* The SA of @port responds to its first outstanding query. */
static void respond(struct kunit *test, u32 port, u32 records, int error)
{
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(port)));
	l = fake_lookup(fake.port[port]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	fake_say(l, error ? NULL : fake_services(records, "s"), error);
}

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

	memset(&a->waiter, 0, sizeof(a->waiter));
	a->waiter.done = caller_done;
	reinit_completion(&a->done);
	atomic_set(&a->calls, 0);
	return cmx_sa_lookup(fake.port[1], &init_net, KUIDT_INIT(0), &q,
			     &a->waiter);
}

/* A path that changes while a query is outstanding */
static void lookup_gid_changed(struct kunit *test)
{
	union ib_gid gid = { .raw = { 0xfe, [15] = 9 } };

	KUNIT_ASSERT_EQ(test, 0, path_send(&callers[0], 9));
	cmx_sa_gid_changed(fake.port[1], &gid);
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
	struct cmx_sa_port *port = fake.port[1];
	struct cmx_sa_lookup *l;

	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 50);
	param_set(test, cmx_kunit_module(), "sa_retries", 9);
	port->response = msecs_to_jiffies(60000);
	port->window = 2;
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	l = fake_lookup(port);
	KUNIT_ASSERT_NOT_NULL(test, l);
	expect_done(test, &callers[0], -ETIMEDOUT, -1);
	KUNIT_EXPECT_LE(test, l->retries, 2u);
	KUNIT_EXPECT_EQ(test, port->window, 1u);
	cmx_sa_lookup_put(l);
	port->response = 0;
	port->window = 8;
}

/* A response after the end completes no caller. */
static void lookup_late(struct kunit *test)
{
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	l = fake_lookup(fake.port[1]);
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
	before = cmx_sa_cache_generation(&fake.port[1]->cache);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	l = fake_lookup(fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	fake_generation(&fake);
	cmx_sa_lookup_response(l, before, jiffies, NULL, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&callers[0].calls), 0);
	cmx_sa_lookups_again(fake.port[1]);
	cmx_sa_lookup_put(l);
	respond(test, 1, 6, 0);
	expect_done(test, &callers[0], 0, 6);
}

static void lookup_port_gone(struct kunit *test)
{
	struct cmx_sa_port *port = fake.port[1];
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

/* A limited number of queries is outstanding, in the order of the calls. */
static void lookup_order(struct kunit *test)
{
	struct cmx_sa_lookup *l;
	u32 n;
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
		KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
		KUNIT_EXPECT_LE(test, outstanding(1), 4u);
		l = fake_lookup(fake.port[1]);
		KUNIT_ASSERT_NOT_NULL(test, l);
		memcpy(&n, l->key.query.rec, sizeof(n));
		KUNIT_EXPECT_EQ(test, n, (u32)i);
		fake_say(l, fake_services(1, "s"), 0);
		expect_done(test, &callers[i], 0, 1);
	}
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

static void lookup_limit(struct kunit *test)
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

/* The first outstanding query is for @n; its response completes @a. */
static void respond_first(struct kunit *test, struct caller *a, u32 n)
{
	struct cmx_sa_lookup *l;
	u32 got;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	l = fake_lookup(fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	memcpy(&got, l->key.query.rec, sizeof(got));
	KUNIT_EXPECT_EQ(test, got, n);
	fake_say(l, fake_services(1, "s"), 0);
	expect_done(test, a, 0, 1);
}

static void forget_all(struct kunit *test)
{
	int i;

	for (i = 0; i < CALLERS; i++)
		if (callers[i].waiter.entity)
			KUNIT_EXPECT_TRUE(test,
					  cmx_sa_forget(&callers[i].waiter));
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

/* Is the first outstanding query of port 1 for @n? */
static bool first_is(u32 n)
{
	struct cmx_sa_lookup *l = fake_lookup(fake.port[1]);
	u32 got = ~n;

	if (l) {
		memcpy(&got, l->key.query.rec, sizeof(got));
		cmx_sa_lookup_put(l);
	}
	return got == n;
}

/* A query without a waiter ends, and ends no other query. */
static void lookup_abandoned(struct kunit *test)
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
static void lookup_users(struct kunit *test)
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
static void lookup_reserve(struct kunit *test)
{
	int i, user, n = 0;

	param_set(test, cmx_kunit_module(), "sa_parallel", 32);
	fake.port[1]->window = 32;
	for (user = 0; user < 6; user++)
		for (i = 0; i < 20; i++, n++)
			KUNIT_ASSERT_EQ(test, 0,
					query_send_as(&callers[n], 1, n, 1000 + user));
	/* These take half of the slots, and one for each user after that. */
	KUNIT_EXPECT_LE(test, outstanding(1), 16u + 6);
	for (user = 6; outstanding(1) < 28; user++, n++) {
		unsigned int before = outstanding(1);

		fake.port[1]->window = 8;
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
static void lookup_follow(struct kunit *test)
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
static void lookup_follower_stays(struct kunit *test)
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

/* A port that has come up again keeps the queries since then. */
static void lookup_port_back(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 1));
	cmx_sa_lookups_fail(fake.port[1], -ENODEV);
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
		fake_generation(&fake);
		for (i = 0; i < 4; i++)
			KUNIT_ASSERT_EQ(test, 0, query_send(&callers[i], 1, round));
		KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
		race->l = fake_lookup(fake.port[1]);
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

/* What sets a record is sent each time; it makes older responses invalid. */
static void lookup_changes(struct kunit *test)
{
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, 0,
				method_send_as(&callers[0], 1, 7, 0,
					       IB_MGMT_METHOD_SET));
		respond(test, 1, 1, 0);
		expect_done(test, &callers[0], 0, 1);
	}
	/* A response to it is none to a query. */
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	cmx_sa_services_changed(fake.port[1]);
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
	cmx_sa_services_changed(fake.port[1]);
	KUNIT_ASSERT_EQ(test, 0, query_send(&callers[0], 1, 7));
	respond(test, 1, 3, 0);
	expect_done(test, &callers[0], 0, 3);
}

static struct kunit_case lookup_cases[] = {
	KUNIT_CASE(lookup_coalesce),
	KUNIT_CASE(lookup_gid_changed),
	KUNIT_CASE(lookup_apart),
	KUNIT_CASE(lookup_errors),
	KUNIT_CASE(lookup_busy),
	KUNIT_CASE(lookup_timeout),
	KUNIT_CASE(lookup_slow),
	KUNIT_CASE(lookup_late),
	KUNIT_CASE(lookup_generation),
	KUNIT_CASE(lookup_port_gone),
	KUNIT_CASE(lookup_order),
	KUNIT_CASE(lookup_limit),
	KUNIT_CASE(lookup_abandoned),
	KUNIT_CASE(lookup_users),
	KUNIT_CASE(lookup_reserve),
	KUNIT_CASE(lookup_follow),
	KUNIT_CASE(lookup_follower_stays),
	KUNIT_CASE(lookup_port_back),
	KUNIT_CASE(lookup_race),
	KUNIT_CASE(lookup_changes),
	{}
};

static struct kunit_suite lookup_suite = {
	.name = "cmx_sa_lookup",
	.init = lookup_init,
	.exit = lookup_exit,
	.test_cases = lookup_cases,
};

kunit_test_suite(lookup_suite);
