// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The SA responds while the work item of a record runs: the response is not
 * left until the deadline of the service, and a service that is withdrawn is
 * deleted at the SA. SV-01
 */
#include <linux/delay.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cmx_service.h>

#include "kunit.h"

#define PORT	1
#define ROUNDS	500

/* Far less than the ten seconds of the deadline */
#define SOON	(5 * HZ)

static struct fake fake;

static int record_init(struct kunit *test)
{
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	return fake_up(&fake);
}

static void record_exit(struct kunit *test)
{
	fake_down(&fake);
	params_restore(test);
}

static struct rdma_cmx_service *advertise(void)
{
	struct rdma_cmx_service_attr attr = {
		.net = &init_net,
		.name = "kunit",
		.id = 0x1061d40,
		.dev = dev_name(&fake.ibdev->dev),
		.dev_port = PORT,
	};

	return rdma_cmx_advertise(&attr, NULL, NULL);
}

/* The last reference is that of the fake. */
static bool record_gone(void)
{
	return refcount_read(&fake.port[PORT]->ref) == 1;
}

/* The outstanding query, with a reference; NULL: the record has ended. */
static struct cmx_sa_lookup *record_query(void)
{
	unsigned long end = jiffies + KUNIT_WAIT;
	struct cmx_sa_lookup *l;

	do {
		l = fake_lookup(fake.port[PORT]);
		if (l || record_gone())
			break;
		usleep_range(10, 20);
	} while (time_before(jiffies, end));
	return l;
}

/* The SA executes the query. */
static void record_say(struct cmx_sa_lookup *l)
{
	const u8 *rec = l->key.query.rec;
	struct cmx_sa_answer *answer;

	answer = cmx_sa_answer_alloc(1, sizeof(struct cmx_sa_service_rec));
	if (answer)
		memcpy(answer->data, rec, answer->len);
	fake_say(l, answer, answer ? 0 : -ENOMEM);
}

/* The response to the Set and the withdrawal, within microseconds */
static void record_race(struct rdma_cmx_service *s, struct cmx_sa_lookup *l)
{
	bool first = kunit_random(2);
	u32 delay = kunit_random(20);

	if (first)
		record_say(l);
	else
		rdma_cmx_withdraw(s);
	udelay(delay);
	if (first)
		rdma_cmx_withdraw(s);
	else
		record_say(l);
}

static void record_responses(struct kunit *test)
{
	struct rdma_cmx_service *s;
	struct cmx_sa_lookup *l;
	unsigned long said;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		s = advertise();
		KUNIT_ASSERT_FALSE(test, IS_ERR(s));
		l = record_query();
		KUNIT_ASSERT_NOT_NULL(test, l);
		KUNIT_EXPECT_EQ(test, l->key.query.method,
				IB_MGMT_METHOD_SET);
		record_race(s, l);
		l = record_query();
		KUNIT_ASSERT_NOT_NULL_MSG(test, l, "not deleted, round %d", i);
		KUNIT_EXPECT_EQ(test, l->key.query.method,
				IB_SA_METHOD_DELETE);
		record_say(l);
		said = jiffies;
		KUNIT_ASSERT_NULL(test, record_query());
		KUNIT_ASSERT_TRUE(test, record_gone());
		KUNIT_ASSERT_LT_MSG(test, jiffies - said,
				    (unsigned long)SOON, "round %d", i);
	}
}

static struct kunit_case record_cases[] = {
	KUNIT_CASE(record_responses),
	{}
};

static struct kunit_suite record_suite = {
	.name = "cmx_record",
	.init = record_init,
	.exit = record_exit,
	.test_cases = record_cases,
};

kunit_test_suite(record_suite);
