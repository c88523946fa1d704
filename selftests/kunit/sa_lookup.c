// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Questions to an SA on their way: the same asked by many is asked once, each
 * waiter is told once or not at all, and everything ends.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "kunit.h"

struct asker {
	struct cmx_sa_waiter waiter;
	struct completion done;
	atomic_t calls;
	int error;
	int count;
};

static struct fake fake;
static struct asker *askers;

#define ASKERS		256

static int lookup_init(struct kunit *test)
{
	int i, ret;

	askers = kcalloc(ASKERS, sizeof(*askers), GFP_KERNEL);
	if (!askers)
		return -ENOMEM;
	for (i = 0; i < ASKERS; i++)
		init_completion(&askers[i].done);
	ret = fake_up(&fake);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	return ret;
}

static void lookup_exit(struct kunit *test)
{
	fake_down(&fake);
	params_restore(test);
	kfree(askers);
	askers = NULL;
}

static void asker_done(struct cmx_sa_waiter *waiter,
		       struct cmx_sa_answer *answer, int error)
{
	struct asker *a = container_of(waiter, struct asker, waiter);

	a->error = error;
	a->count = answer ? answer->count : -1;
	atomic_inc(&a->calls);
	complete(&a->done);
}

/* Queries that the SA of @port is asked, and those that wait. */
static unsigned int asked(u32 port)
{
	return READ_ONCE(fake.port[port]->sched.nr_running);
}

static unsigned int queued(u32 port)
{
	return READ_ONCE(fake.port[port]->sched.nr_waiting);
}

static int ask_as(struct asker *a, u32 port, u32 n, unsigned int uid)
{
	struct cmx_sa_query q = {
		.attr_id = cpu_to_be16(0x31),
		.method = IB_SA_METHOD_GET_TABLE,
		.rec_len = 176,
	};

	memcpy(q.rec, &n, sizeof(n));
	memset(&a->waiter, 0, sizeof(a->waiter));
	a->waiter.done = asker_done;
	reinit_completion(&a->done);
	atomic_set(&a->calls, 0);
	return cmx_sa_lookup(fake.port[port], &init_net, KUIDT_INIT(uid), &q,
			     &a->waiter);
}

static int ask(struct asker *a, u32 port, u32 n)
{
	return ask_as(a, port, n, 0);
}

static bool asker_wait(struct asker *a)
{
	return wait_for_completion_timeout(&a->done, KUNIT_WAIT);
}

static void told(struct kunit *test, struct asker *a, int error, int count)
{
	KUNIT_ASSERT_TRUE(test, asker_wait(a));
	KUNIT_EXPECT_EQ(test, atomic_read(&a->calls), 1);
	KUNIT_EXPECT_EQ(test, a->error, error);
	KUNIT_EXPECT_EQ(test, a->count, count);
	/* Through: there is nothing to forget. */
	KUNIT_EXPECT_FALSE(test, cmx_sa_forget(&a->waiter));
}

/* The SA of @port is asked, and says that. */
static void say(struct kunit *test, u32 port, u32 records, int error)
{
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(asked(port)));
	l = fake_asked(fake.port[port]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	fake_say(l, error ? NULL : fake_services(records, "s"), error);
}

static void lookup_coalesce(struct kunit *test)
{
	int i;

	for (i = 0; i < ASKERS; i++)
		KUNIT_ASSERT_EQ(test, 0, ask(&askers[i], 1, 7));
	KUNIT_EXPECT_EQ(test, asked(1), 1u);
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
	/* Some go, which the others do not notice. */
	for (i = 0; i < ASKERS; i += 3)
		KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&askers[i].waiter));
	say(test, 1, 2, 0);
	for (i = 0; i < ASKERS; i++) {
		if (i % 3)
			told(test, &askers[i], 0, 2);
		else
			KUNIT_EXPECT_EQ(test, atomic_read(&askers[i].calls),
					0);
	}
	/* And the next one is answered from what is known. */
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 7));
	told(test, &askers[0], 0, 2);
	KUNIT_EXPECT_EQ(test, asked(1), 0u);
}

/* Another question, port or answer is another one. */
static void lookup_apart(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 1));
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[1], 1, 2));
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[2], 2, 1));
	KUNIT_EXPECT_EQ(test, asked(1), 2u);
	KUNIT_EXPECT_EQ(test, asked(2), 1u);
	say(test, 1, 1, 0);
	say(test, 1, 2, 0);
	say(test, 2, 3, 0);
	told(test, &askers[0], 0, 1);
	told(test, &askers[1], 0, 2);
	told(test, &askers[2], 0, 3);
}

static void lookup_errors(struct kunit *test)
{
	static const int errors[] = {
		-ECONNREFUSED, -EBADMSG, -ENOMEM, -EOPNOTSUPP,
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, i));
		KUNIT_ASSERT_EQ(test, 0, ask(&askers[1], 1, i));
		say(test, 1, 0, errors[i]);
		told(test, &askers[0], errors[i], -1);
		told(test, &askers[1], errors[i], -1);
		/* An error is not remembered. */
		KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, i));
		KUNIT_EXPECT_EQ(test, asked(1), 1u);
		say(test, 1, 1, 0);
		told(test, &askers[0], 0, 1);
	}
	/* Neither is it remembered that there are none. */
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 100));
	say(test, 1, 0, 0);
	told(test, &askers[0], 0, 0);
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 100));
	KUNIT_EXPECT_EQ(test, asked(1), 1u);
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&askers[0].waiter));
}

/* Busy is no answer: the question stays, and ends as -EAGAIN. */
static void lookup_busy(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 1));
	say(test, 1, 0, -EBUSY);
	KUNIT_EXPECT_EQ(test, asked(1), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&askers[0].calls), 0);
	say(test, 1, 4, 0);
	told(test, &askers[0], 0, 4);

	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 20);
	param_set(test, cmx_kunit_module(), "sa_retries", 20);
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 2));
	say(test, 1, 0, -EBUSY);
	told(test, &askers[0], -EAGAIN, -1);
}

static void lookup_timeout(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 10);
	param_set(test, cmx_kunit_module(), "sa_retries", 3);
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 1));
	told(test, &askers[0], -ETIMEDOUT, -1);
	KUNIT_EXPECT_EQ(test, asked(1), 0u);
	/* Nobody waits any more: it is not asked again, and ends, too. */
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[1], 1, 2));
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&askers[1].waiter));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(!asked(1)));
	KUNIT_EXPECT_EQ(test, atomic_read(&askers[1].calls), 0);
}

/* What comes after the end is not told to anybody. */
static void lookup_late(struct kunit *test)
{
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 1));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(asked(1)));
	l = fake_asked(fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	say(test, 1, 1, 0);
	told(test, &askers[0], 0, 1);
	refcount_inc(&l->ref);
	fake_say(l, fake_services(9, "s"), 0);
	refcount_inc(&l->ref);
	fake_say(l, NULL, -EBADMSG);
	refcount_inc(&l->ref);
	fake_say(l, NULL, -EBUSY);
	cmx_sa_lookup_put(l);
	KUNIT_EXPECT_EQ(test, atomic_read(&askers[0].calls), 1);
	/* Nor does it take the place of what was said first. */
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 1));
	told(test, &askers[0], 0, 1);
}

/* After a change of the port, what it was asked before does not count. */
static void lookup_generation(struct kunit *test)
{
	struct cmx_sa_lookup *l;
	u32 before;

	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 1));
	before = cmx_sa_cache_generation(&fake.port[1]->cache);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(asked(1)));
	l = fake_asked(fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	fake_generation(&fake);
	cmx_sa_lookup_response(l, before, jiffies, NULL, -ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, asked(1), 1u);
	KUNIT_EXPECT_EQ(test, atomic_read(&askers[0].calls), 0);
	cmx_sa_lookups_again(fake.port[1]);
	cmx_sa_lookup_put(l);
	say(test, 1, 6, 0);
	told(test, &askers[0], 0, 6);
}

static void lookup_port_gone(struct kunit *test)
{
	struct cmx_sa_port *port = fake.port[1];
	int i;

	for (i = 0; i < 20; i++)
		KUNIT_ASSERT_EQ(test, 0, ask(&askers[i], 1, i));
	KUNIT_EXPECT_GT(test, queued(1), 0u);
	spin_lock(&cmx_sa_lock);
	WRITE_ONCE(port->active, false);
	spin_unlock(&cmx_sa_lock);
	KUNIT_EXPECT_EQ(test, ask(&askers[20], 1, 0), -ENODEV);
	cmx_sa_lookups_fail(port, -ENODEV);
	for (i = 0; i < 20; i++)
		told(test, &askers[i], -ENODEV, -1);
	KUNIT_EXPECT_EQ(test, asked(1), 0u);
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

/* So many at a time and no more, in the order of asking. */
static void lookup_turns(struct kunit *test)
{
	struct cmx_sa_lookup *l;
	u32 n;
	int i;

	/* Root leaves a quarter to others. */
	param_set(test, cmx_kunit_module(), "sa_parallel", 5);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, 0, ask(&askers[i], 1, i));
	KUNIT_EXPECT_EQ(test, asked(1), 4u);
	KUNIT_EXPECT_EQ(test, queued(1), 96u);
	/* One that goes before its turn leaves nothing behind. */
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&askers[50].waiter));
	KUNIT_EXPECT_EQ(test, queued(1), 95u);
	for (i = 0; i < 100; i++) {
		if (i == 50)
			continue;
		KUNIT_ASSERT_TRUE(test, WAIT_FOR(asked(1)));
		KUNIT_EXPECT_LE(test, asked(1), 4u);
		l = fake_asked(fake.port[1]);
		KUNIT_ASSERT_NOT_NULL(test, l);
		memcpy(&n, l->key.query.rec, sizeof(n));
		KUNIT_EXPECT_EQ(test, n, (u32)i);
		fake_say(l, fake_services(1, "s"), 0);
		told(test, &askers[i], 0, 1);
	}
	KUNIT_EXPECT_EQ(test, asked(1), 0u);
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

static void lookup_limit(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "sa_parallel", 5);
	param_set(test, cmx_kunit_module(), "sa_waiting_per_user", 10);
	for (i = 0; i < 14; i++)
		KUNIT_ASSERT_EQ(test, 0, ask(&askers[i], 1, i));
	KUNIT_EXPECT_EQ(test, ask(&askers[14], 1, 14), -EAGAIN);
	/* The other port has a limit of its own. */
	KUNIT_EXPECT_EQ(test, 0, ask(&askers[15], 2, 14));
	/* To join one that waits needs no room. */
	KUNIT_EXPECT_EQ(test, 0, ask(&askers[16], 1, 13));
	KUNIT_EXPECT_EQ(test, queued(1), 10u);
	say(test, 1, 1, 0);
	KUNIT_EXPECT_EQ(test, 0, ask(&askers[17], 1, 14));
	told(test, &askers[0], 0, 1);
	KUNIT_EXPECT_EQ(test, ask(&askers[18], 1, 18), -EAGAIN);
	/* And so has another user. */
	KUNIT_EXPECT_EQ(test, 0, ask_as(&askers[18], 1, 18, 1000));
	for (i = 1; i < 19; i++)
		if (i != 14)
			KUNIT_EXPECT_TRUE(test,
					  cmx_sa_forget(&askers[i].waiter));
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

/* The SA, asked for @n first, answers @a. */
static void answered(struct kunit *test, struct asker *a, u32 n)
{
	struct cmx_sa_lookup *l;
	u32 got;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(asked(1)));
	l = fake_asked(fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	memcpy(&got, l->key.query.rec, sizeof(got));
	KUNIT_EXPECT_EQ(test, got, n);
	fake_say(l, fake_services(1, "s"), 0);
	told(test, a, 0, 1);
}

static void forget_all(struct kunit *test)
{
	int i;

	for (i = 0; i < ASKERS; i++)
		if (askers[i].waiter.lookup)
			KUNIT_EXPECT_TRUE(test,
					  cmx_sa_forget(&askers[i].waiter));
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}

/* Is it @n that the SA of port 1 is asked first? */
static bool first_is(u32 n)
{
	struct cmx_sa_lookup *l = fake_asked(fake.port[1]);
	u32 got = ~n;

	if (l) {
		memcpy(&got, l->key.query.rec, sizeof(got));
		cmx_sa_lookup_put(l);
	}
	return got == n;
}

/* A query that nobody waits for ends, and takes nobody else's with it. */
static void lookup_abandoned(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 1000);
	param_set(test, cmx_kunit_module(), "sa_parallel", 5);
	for (i = 0; i < 12; i++)
		KUNIT_ASSERT_EQ(test, 0, ask(&askers[i], 1, i));
	KUNIT_EXPECT_EQ(test, queued(1), 8u);
	KUNIT_ASSERT_TRUE(test, first_is(0));
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&askers[0].waiter));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(!first_is(0)));
	for (i = 1; i < 12; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&askers[i].calls), 0);
	forget_all(test);
}

/* No user takes all turns, or all room to wait; each port by itself. */
static void lookup_users(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "sa_parallel", 8);
	param_set(test, cmx_kunit_module(), "sa_per_user", 2);
	param_set(test, cmx_kunit_module(), "sa_waiting_per_user", 10);
	for (i = 0; i < 12; i++)
		KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[i], 1, i, 1000));
	KUNIT_EXPECT_EQ(test, asked(1), 2u);
	KUNIT_EXPECT_EQ(test, queued(1), 10u);
	KUNIT_EXPECT_EQ(test, ask_as(&askers[13], 1, 13, 1000), -EAGAIN);
	KUNIT_EXPECT_EQ(test, 0, ask_as(&askers[14], 2, 13, 1000));
	/* Another user is asked for at once, and has a queue as well. */
	for (i = 20; i < 24; i++)
		KUNIT_EXPECT_EQ(test, 0, ask_as(&askers[i], 1, i, 1001));
	KUNIT_EXPECT_EQ(test, asked(1), 4u);
	KUNIT_EXPECT_EQ(test, queued(1), 12u);
	/* Turns go round: 2 of each are out. */
	answered(test, &askers[0], 0);
	answered(test, &askers[1], 1);
	answered(test, &askers[20], 20);
	answered(test, &askers[21], 21);
	KUNIT_EXPECT_EQ(test, asked(1), 4u);
	forget_all(test);
}

/*
 * However many users there are and whatever they have out: one who has
 * nothing out gets a slot as long as there is one, and root beyond that. The
 * window is for those who have something out.
 */
static void lookup_reserve(struct kunit *test)
{
	int i, user, n = 0;

	param_set(test, cmx_kunit_module(), "sa_parallel", 32);
	fake.port[1]->window = 32;
	for (user = 0; user < 6; user++)
		for (i = 0; i < 20; i++, n++)
			KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[n], 1, n,
							1000 + user));
	/* Half of the slots, and one more for whoever comes then. */
	KUNIT_EXPECT_LE(test, asked(1), 16u + 6);
	for (user = 6; asked(1) < 28; user++, n++) {
		unsigned int before = asked(1);

		fake.port[1]->window = 8;
		KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[n], 1, n, 1000 + user));
		KUNIT_ASSERT_EQ(test, asked(1), before + 1);
	}
	KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[n], 1, n, 2000));
	KUNIT_EXPECT_EQ(test, asked(1), 28u);
	n++;
	KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[n], 1, n, 0));
	KUNIT_EXPECT_EQ(test, asked(1), 29u);
	forget_all(test);
}

/*
 * What waits far behind in one user's queue waits there for that user alone,
 * and what another user asks for changes nobody's place.
 */
static void lookup_follow(struct kunit *test)
{
	int i;

	param_set(test, cmx_kunit_module(), "sa_parallel", 1);
	for (i = 0; i < 100; i++)
		KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[i], 1, i, 1000));
	KUNIT_EXPECT_EQ(test, 0, ask_as(&askers[100], 1, 99, 1001));
	KUNIT_EXPECT_EQ(test, 0, ask_as(&askers[101], 1, 99, 1002));
	KUNIT_EXPECT_EQ(test, queued(1), 101u);
	answered(test, &askers[0], 0);
	/* One answer for three users, of whom one goes before. */
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(asked(1)));
	KUNIT_EXPECT_EQ(test, queued(1), 98u);
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&askers[101].waiter));
	answered(test, &askers[100], 99);
	told(test, &askers[99], 0, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&askers[101].calls), 0);
	answered(test, &askers[1], 1);
	forget_all(test);
}

/* One that follows still waits when the one that runs is for nobody. */
static void lookup_follower_stays(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_parallel", 1);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 300);
	KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[0], 1, 0, 1000));
	KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[1], 1, 1, 1001));
	KUNIT_ASSERT_EQ(test, 0, ask_as(&askers[2], 1, 1, 1002));
	answered(test, &askers[0], 0);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(asked(1)));
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&askers[1].waiter));
	/* Sent again, that is, more than once. */
	schedule_timeout_uninterruptible(msecs_to_jiffies(700));
	answered(test, &askers[2], 1);
	KUNIT_EXPECT_EQ(test, asked(1), 0u);
}

/* A port that has come up again keeps what was asked since then. */
static void lookup_port_back(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, 0, ask(&askers[0], 1, 1));
	cmx_sa_lookups_fail(fake.port[1], -ENODEV);
	KUNIT_EXPECT_EQ(test, asked(1), 1u);
	answered(test, &askers[0], 1);
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

/* Answered while it is forgotten: one of both, and whoever loses knows it. */
static void lookup_race(struct kunit *test)
{
	struct race *race = kunit_kzalloc(test, sizeof(*race), GFP_KERNEL);
	u32 round, forgotten = 0, delay = 100, i;

	KUNIT_ASSERT_NOT_NULL(test, race);
	INIT_WORK(&race->work, race_work);
	for (round = 0; round < 500; round++) {
		fake_generation(&fake);
		for (i = 0; i < 4; i++)
			KUNIT_ASSERT_EQ(test, 0, ask(&askers[i], 1, round));
		KUNIT_ASSERT_TRUE(test, WAIT_FOR(asked(1)));
		race->l = fake_asked(fake.port[1]);
		KUNIT_ASSERT_NOT_NULL(test, race->l);
		queue_work(system_unbound_wq, &race->work);
		udelay(kunit_random(delay + 1));
		for (i = 0; i < 4; i++) {
			if (cmx_sa_forget(&askers[i].waiter)) {
				forgotten++;
				delay = min(delay + 5, 2000u);
				KUNIT_EXPECT_EQ(test, 0,
						atomic_read(&askers[i].calls));
			} else {
				delay -= min(delay, 5u);
				KUNIT_ASSERT_TRUE(test, asker_wait(&askers[i]));
			}
		}
		flush_work(&race->work);
		for (i = 0; i < 4; i++)
			KUNIT_EXPECT_LE(test, atomic_read(&askers[i].calls), 1);
	}
	kunit_info(test, "%u of 2000 were forgotten", forgotten);
}

static struct kunit_case lookup_cases[] = {
	KUNIT_CASE(lookup_coalesce),
	KUNIT_CASE(lookup_apart),
	KUNIT_CASE(lookup_errors),
	KUNIT_CASE(lookup_busy),
	KUNIT_CASE(lookup_timeout),
	KUNIT_CASE(lookup_late),
	KUNIT_CASE(lookup_generation),
	KUNIT_CASE(lookup_port_gone),
	KUNIT_CASE(lookup_turns),
	KUNIT_CASE(lookup_limit),
	KUNIT_CASE(lookup_abandoned),
	KUNIT_CASE(lookup_users),
	KUNIT_CASE(lookup_reserve),
	KUNIT_CASE(lookup_follow),
	KUNIT_CASE(lookup_follower_stays),
	KUNIT_CASE(lookup_port_back),
	KUNIT_CASE(lookup_race),
	{}
};

static struct kunit_suite lookup_suite = {
	.name = "cmx_sa_lookup",
	.init = lookup_init,
	.exit = lookup_exit,
	.test_cases = lookup_cases,
};

kunit_test_suite(lookup_suite);
