// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Capabilities of an SA: known from a response of the same generation only, and
 * without QoS when the SA itself reports it.
 */
#include <linux/completion.h>

#include "kunit.h"

#define CAP2_QOS	0x2	/* IsQoSSupported */

static struct fake fake;
static struct completion done;
static struct cmx_sched_waiter waiter;
static int status;

static int info_init(struct kunit *test)
{
	init_completion(&done);
	return fake_up(&fake);
}

static void info_exit(struct kunit *test)
{
	fake_down(&fake);
	params_restore(test);
}

static void info_done(struct cmx_sched_waiter *w, void *answer, int error)
{
	status = error;
	complete(&done);
}

static struct cmx_sa_response *info_answer(u32 count, u32 caps)
{
	struct cmx_sa_response *answer;
	struct ib_class_port_info *info;

	answer = cmx_sa_response_alloc(count, sizeof(*info));
	if (answer && count) {
		memset(answer->data, 0, answer->len);
		info = (void *)answer->data;
		info->cap_mask2_resp_time = cpu_to_be32(caps << 5 | 0x1f);
	}
	return answer;
}

/* The SA of port 1 is queried, and responds in @generation. */
static void respond(struct kunit *test, u32 generation,
		    struct cmx_sa_response *answer, int error)
{
	struct cmx_sa_lookup *l;

	waiter.done = info_done;
	KUNIT_ASSERT_EQ(test, 0, cmx_sa_info_lookup(fake.port[1], &waiter));
	l = fake_lookup(fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	cmx_sa_lookup_response(l, generation, jiffies, answer, error);
	cmx_sa_response_put(answer);
	cmx_sa_lookup_put(l);
}

static u32 generation(void)
{
	return cmx_sa_cache_generation(&fake.port[1]->cache);
}

static void responded(struct kunit *test, struct cmx_sa_response *answer,
		      int error)
{
	respond(test, generation(), answer, error);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&done, KUNIT_WAIT));
	KUNIT_EXPECT_EQ(test, status, error);
}

static void unknown(struct kunit *test)
{
	u32 caps;

	KUNIT_EXPECT_EQ(test, cmx_sa_info(fake.port[1], &caps), -EINPROGRESS);
	KUNIT_EXPECT_TRUE(test, cmx_sa_has_qos(fake.port[1]));
}

static void known(struct kunit *test, u32 want)
{
	u32 caps = ~want;

	KUNIT_EXPECT_EQ(test, cmx_sa_info(fake.port[1], &caps), 0);
	KUNIT_EXPECT_EQ(test, caps, want);
	KUNIT_EXPECT_EQ(test, cmx_sa_has_qos(fake.port[1]),
			(bool)(want & CAP2_QOS));
}

static void info_responses(struct kunit *test)
{
	static const u32 masks[] = { 0, CAP2_QOS, 0x7ffffff, 0x7fffffd };
	int i;

	unknown(test);
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		responded(test, info_answer(1, masks[i]), 0);
		known(test, masks[i]);
		/* Of this port only */
		KUNIT_EXPECT_TRUE(test, cmx_sa_has_qos(fake.port[2]));
		fake_generation(&fake);
		unknown(test);
	}
}

static void info_errors(struct kunit *test)
{
	responded(test, NULL, -ECONNREFUSED);
	unknown(test);
	responded(test, NULL, -EBADMSG);
	unknown(test);
	responded(test, info_answer(0, 0), 0);
	unknown(test);
}

/* A response of the former SM is ignored, and the query stays outstanding. */
static void info_late(struct kunit *test)
{
	u32 before = generation();

	fake_generation(&fake);
	respond(test, before, info_answer(1, 0), 0);
	unknown(test);
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&waiter));
}

/* As if @l had begun, and as if it ended, as many seconds earlier */
static void info_age(struct cmx_sa_lookup *l, int begun, int ends)
{
	spin_lock(&cmx_sa_lock);
	l->started_at -= begun * HZ;
	l->deadline -= ends * HZ;
	spin_unlock(&cmx_sa_lock);
}

/* An SM that has one event after another prolongs a query for some time only. */
static void info_events(struct kunit *test)
{
	struct cmx_sa_lookup *l, *next;

	/* 180 s in all, and 720 s with events */
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	param_set(test, cmx_kunit_module(), "sa_retries", 1);
	waiter.done = info_done;
	KUNIT_ASSERT_EQ(test, 0, cmx_sa_info_lookup(fake.port[1], &waiter));
	l = fake_lookup(fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	/* After 400 s it has 180 s again. */
	info_age(l, 400, 100);
	cmx_sa_lookups_again(fake.port[1]);
	KUNIT_EXPECT_GE(test, l->deadline - l->started_at, 580ul * HZ);
	KUNIT_EXPECT_FALSE(test, completion_done(&done));
	/* After 600 s they would be too many. */
	info_age(l, 200, 0);
	cmx_sa_lookups_again(fake.port[1]);
	KUNIT_ASSERT_TRUE(test, wait_for_completion_timeout(&done, KUNIT_WAIT));
	KUNIT_EXPECT_EQ(test, status, -ETIMEDOUT);
	/* The last event begins another one, with all of the timeout. */
	waiter.done = info_done;
	KUNIT_ASSERT_EQ(test, 0, cmx_sa_info_lookup(fake.port[1], &waiter));
	next = fake_lookup(fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, next);
	KUNIT_EXPECT_PTR_NE(test, next, l);
	cmx_sa_lookup_put(next);
	cmx_sa_lookup_put(l);
	KUNIT_EXPECT_TRUE(test, cmx_sa_forget(&waiter) ||
				wait_for_completion_timeout(&done, KUNIT_WAIT));
}

static struct kunit_case info_cases[] = {
	KUNIT_CASE(info_responses),
	KUNIT_CASE(info_errors),
	KUNIT_CASE(info_late),
	KUNIT_CASE(info_events),
	{}
};

static struct kunit_suite info_suite = {
	.name = "cmx_sa_info",
	.init = info_init,
	.exit = info_exit,
	.test_cases = info_cases,
};

kunit_test_suite(info_suite);
