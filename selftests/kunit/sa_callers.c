// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* See sa_callers.h. */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "sa_callers.h"

struct fake callers_fake;
struct caller *callers;

int callers_init(struct kunit *test)
{
	int i, ret;

	callers = kcalloc(CALLERS, sizeof(*callers), GFP_KERNEL);
	if (!callers)
		return -ENOMEM;
	for (i = 0; i < CALLERS; i++)
		init_completion(&callers[i].done);
	ret = fake_up(&callers_fake);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	return ret;
}

void callers_exit(struct kunit *test)
{
	fake_down(&callers_fake);
	params_restore(test);
	kfree(callers);
	callers = NULL;
}

static void caller_done(struct cmx_sched_waiter *waiter, void *from, int error)
{
	struct caller *a = container_of(waiter, struct caller, waiter);
	const struct cmx_sa_response *answer = from;

	a->error = error;
	a->count = answer ? answer->count : -1;
	atomic_inc(&a->calls);
	complete(&a->done);
}

unsigned int outstanding(u32 port)
{
	return READ_ONCE(callers_fake.port[port]->sched.nr_running);
}

unsigned int queued(u32 port)
{
	return READ_ONCE(callers_fake.port[port]->sched.nr_waiting);
}

int caller_send(struct caller *a, u32 port, unsigned int uid,
		const struct cmx_sa_query *q)
{
	memset(&a->waiter, 0, sizeof(a->waiter));
	a->waiter.done = caller_done;
	reinit_completion(&a->done);
	atomic_set(&a->calls, 0);
	return cmx_sa_lookup(callers_fake.port[port], &init_net,
			     KUIDT_INIT(uid), q, &a->waiter);
}

int query_send_as(struct caller *a, u32 port, u32 n, unsigned int uid)
{
	struct cmx_sa_query q = {
		.attr_id = cpu_to_be16(0x31),
		.method = IB_SA_METHOD_GET_TABLE,
		.rec_len = 176,
	};

	memcpy(q.rec, &n, sizeof(n));
	return caller_send(a, port, uid, &q);
}

int query_send(struct caller *a, u32 port, u32 n)
{
	return query_send_as(a, port, n, 0);
}

bool caller_wait(struct caller *a)
{
	return wait_for_completion_timeout(&a->done, KUNIT_WAIT);
}

void expect_done(struct kunit *test, struct caller *a, int error, int count)
{
	KUNIT_ASSERT_TRUE(test, caller_wait(a));
	KUNIT_EXPECT_EQ(test, atomic_read(&a->calls), 1);
	KUNIT_EXPECT_EQ(test, a->error, error);
	KUNIT_EXPECT_EQ(test, a->count, count);
	/* The query is complete: there is nothing to forget. */
	KUNIT_EXPECT_FALSE(test, cmx_sa_forget(&a->waiter));
}

void respond(struct kunit *test, u32 port, u32 records, int error)
{
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(port)));
	l = fake_lookup(callers_fake.port[port]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	fake_say(l, error ? NULL : fake_services(records, "s"), error);
}

void respond_first(struct kunit *test, struct caller *a, u32 n)
{
	struct cmx_sa_lookup *l;
	u32 got;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	l = fake_lookup(callers_fake.port[1]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	memcpy(&got, l->key.query.rec, sizeof(got));
	KUNIT_EXPECT_EQ(test, got, n);
	fake_say(l, fake_services(1, "s"), 0);
	expect_done(test, a, 0, 1);
}

void forget_all(struct kunit *test)
{
	int i;

	for (i = 0; i < CALLERS; i++)
		if (callers[i].waiter.entity)
			KUNIT_EXPECT_TRUE(test,
					  cmx_sa_forget(&callers[i].waiter));
	KUNIT_EXPECT_EQ(test, queued(1), 0u);
}
