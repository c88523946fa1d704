// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Responses that queries keep: each user pays once for the whole of each,
 * within sa_kb_per_user, and nobody for those of others; nothing is left on any
 * way that a query ends.
 */
#include <linux/completion.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "kunit.h"
#include "sa/requests.h"
#include "user.h"

#define KERNEL	INVALID_UID
#define ALICE	KUIDT_INIT(4711)
#define BOB	KUIDT_INIT(4712)

#define SOME	100	/* records, of 176 bytes each */
#define SETS	4

/* Queries of one user, each for a service @n at the port of its index */
struct set {
	struct cmx_sa_requests requests;
	struct cmx_sa_request request[FAKE_PORTS + 1];
	struct completion done;
	atomic_t failed;
	u32 stops;
};

static struct fake fake;
static struct set *sets;

static int hold_init(struct kunit *test)
{
	int ret;

	sets = kcalloc(SETS, sizeof(*sets), GFP_KERNEL);
	if (!sets)
		return -ENOMEM;
	ret = fake_up(&fake);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	return ret;
}

static void hold_exit(struct kunit *test)
{
	fake_down(&fake);
	params_restore(test);
	kfree(sets);
	sets = NULL;
	KUNIT_EXPECT_EQ(test, cmx_sa_held(ALICE), 0ul);
	KUNIT_EXPECT_EQ(test, cmx_sa_held(BOB), 0ul);
	KUNIT_EXPECT_EQ(test, cmx_sa_held(KERNEL), 0ul);
}

static void set_done(struct cmx_sa_requests *requests)
{
	complete(&container_of(requests, struct set, requests)->done);
}

static void set_failed(struct cmx_sa_requests *requests)
{
	atomic_inc(&container_of(requests, struct set, requests)->failed);
}

/* Counts in stops if it has stopped them */
static void set_stopped(struct cmx_sa_requests *requests)
{
	struct set *s = container_of(requests, struct set, requests);
	u32 i;

	if (!cmx_sa_requests_stop(requests))
		return;
	s->stops++;
	for (i = 1; i <= FAKE_PORTS; i++)
		cmx_sa_request_stop(&s->request[i]);
	cmx_sa_requests_put(requests);
}

/* @whole: without one response the others are useless. */
static void set_begin(struct set *s, kuid_t uid, bool whole)
{
	memset(s, 0, sizeof(*s));
	init_completion(&s->done);
	cmx_sa_requests_init(&s->requests);
	if (whole)
		s->requests.failed = set_failed;
	cmx_sa_requests_begin(&s->requests, uid, set_done, set_stopped);
}

static void set_query(struct set *s, kuid_t uid, u32 n, u32 port)
{
	struct cmx_sa_request *r = &s->request[port];

	r->requests = &s->requests;
	cmx_sa_port_hold(fake.port[port]);
	r->port = fake.port[port];
	r->query.attr_id = cpu_to_be16(0x31);
	r->query.method = IB_SA_METHOD_GET_TABLE;
	r->query.rec_len = 176;
	memcpy(r->query.rec, &n, sizeof(n));
	atomic_inc(&s->requests.pending);
	cmx_sa_request_start(r, &init_net, uid);
}

/* At @ports ports */
static void set_start(struct set *s, kuid_t uid, u32 n, u32 ports, bool whole)
{
	u32 i;

	set_begin(s, uid, whole);
	for (i = 1; i <= ports; i++)
		set_query(s, uid, n, i);
	cmx_sa_requests_end(&s->requests);
}

static void set_wait(struct kunit *test, struct set *s)
{
	KUNIT_ASSERT_NE(test, 0ul,
			wait_for_completion_timeout(&s->done, KUNIT_WAIT));
}

/* Has it the response of @port, and not only the charge? */
static bool set_has(struct set *s, u32 port)
{
	bool has;

	spin_lock(&s->requests.held_lock);
	has = s->request[port].charged;
	spin_unlock(&s->requests.held_lock);
	return has;
}

static void set_release(struct set *s)
{
	u32 i;

	for (i = 1; i <= FAKE_PORTS; i++) {
		if (s->request[i].port)
			cmx_sa_request_release(&s->request[i]);
		s->request[i].port = NULL;
	}
}

static void set_stop(struct kunit *test, struct set *s)
{
	set_stopped(&s->requests);
	KUNIT_ASSERT_EQ(test, 1u, s->stops);
	set_wait(test, s);
}

/* The SA of @port responds to its first outstanding query. */
static void respond(struct kunit *test, u32 port, u32 records)
{
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_TRUE(test,
			  WAIT_FOR(READ_ONCE(fake.port[port]->sched.nr_running)));
	l = fake_lookup(fake.port[port]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	fake_say(l, fake_services(records, "s"), 0);
}

static void expect_error(struct kunit *test, const struct set *s, u32 port,
			 int error)
{
	KUNIT_EXPECT_EQ(test, s->request[port].error, error);
	KUNIT_EXPECT_EQ(test, !s->request[port].response, !!error);
}

/* What @records cost: their bytes, and not a KB more */
static void expect_held(struct kunit *test, kuid_t uid, u32 records)
{
	KUNIT_EXPECT_GE(test, cmx_sa_held(uid), 176ul * records);
	KUNIT_EXPECT_LE(test, cmx_sa_held(uid),
			176ul * records + (records ? 1024 : 0));
}

/* The limit counts all queries of one user, and only those. */
static void hold_limit(struct kunit *test)
{
	u32 i;

	/* 17600 bytes and a head: twice, but not three times */
	param_set(test, cmx_kunit_module(), "sa_kb_per_user", 40);
	for (i = 0; i < 3; i++) {
		set_start(&sets[i], ALICE, i, 1, false);
		respond(test, 1, SOME);
		set_wait(test, &sets[i]);
	}
	expect_error(test, &sets[0], 1, 0);
	expect_error(test, &sets[1], 1, 0);
	expect_error(test, &sets[2], 1, -EAGAIN);
	expect_held(test, ALICE, 2 * SOME);
	set_release(&sets[2]);
	expect_held(test, ALICE, 2 * SOME);

	set_start(&sets[2], BOB, 10, 1, false);
	respond(test, 1, SOME);
	set_wait(test, &sets[2]);
	set_start(&sets[3], KERNEL, 11, 1, false);
	respond(test, 1, SOME);
	set_wait(test, &sets[3]);
	expect_error(test, &sets[2], 1, 0);
	expect_error(test, &sets[3], 1, 0);
	expect_held(test, BOB, SOME);
	expect_held(test, KERNEL, SOME);
	set_release(&sets[3]);

	/* The end of a query releases its memory. */
	set_release(&sets[0]);
	expect_held(test, ALICE, SOME);
	set_start(&sets[0], ALICE, 12, 1, false);
	respond(test, 1, SOME);
	set_wait(test, &sets[0]);
	expect_error(test, &sets[0], 1, 0);

	/* A limit that is lower than what is kept already */
	param_set(test, cmx_kunit_module(), "sa_kb_per_user", 1);
	set_start(&sets[3], ALICE, 13, 1, false);
	respond(test, 1, 1);
	set_wait(test, &sets[3]);
	expect_error(test, &sets[3], 1, -EAGAIN);
	set_release(&sets[3]);
	for (i = 0; i < 3; i++)
		set_release(&sets[i]);
}

/* Each user that keeps a shared response pays for it, once, and nobody else. */
static void hold_shared(struct kunit *test)
{
	u32 i;

	param_set(test, cmx_kunit_module(), "sa_kb_per_user", 20);
	set_start(&sets[0], ALICE, 1, 1, false);
	set_start(&sets[1], ALICE, 1, 1, false);
	set_start(&sets[2], BOB, 1, 1, false);
	KUNIT_EXPECT_EQ(test, READ_ONCE(fake.port[1]->sched.nr_running), 1u);
	respond(test, 1, SOME);
	for (i = 0; i < 3; i++) {
		set_wait(test, &sets[i]);
		expect_error(test, &sets[i], 1, 0);
	}
	expect_held(test, ALICE, SOME);
	expect_held(test, BOB, SOME);
	/* Another response does not fit beside it. */
	set_start(&sets[3], ALICE, 2, 1, false);
	respond(test, 1, SOME);
	set_wait(test, &sets[3]);
	expect_error(test, &sets[3], 1, -EAGAIN);
	set_release(&sets[3]);
	/* The first query goes; its user still pays, for the second. */
	set_release(&sets[0]);
	expect_held(test, ALICE, SOME);
	set_release(&sets[1]);
	expect_held(test, ALICE, 0);
	expect_held(test, BOB, SOME);
	set_release(&sets[2]);
}

/* A response from the cache is kept like any other. */
static void hold_cached(struct kunit *test)
{
	u32 i;

	param_set(test, cmx_kunit_module(), "sa_kb_per_user", 20);
	set_start(&sets[0], BOB, 1, 1, false);
	respond(test, 1, SOME);
	set_wait(test, &sets[0]);
	for (i = 1; i < 3; i++) {
		set_start(&sets[i], ALICE, 1, 1, false);
		set_wait(test, &sets[i]);
		expect_error(test, &sets[i], 1, 0);
		expect_held(test, ALICE, SOME);
	}
	KUNIT_EXPECT_EQ(test, READ_ONCE(fake.port[1]->sched.nr_running), 0u);
	/* Below what the user keeps: that may be kept once more, nothing else. */
	param_set(test, cmx_kunit_module(), "sa_kb_per_user", 1);
	set_start(&sets[3], ALICE, 1, 1, false);
	set_wait(test, &sets[3]);
	expect_error(test, &sets[3], 1, 0);
	expect_held(test, ALICE, SOME);
	for (i = 0; i < 4; i++)
		set_release(&sets[i]);
	/* The cache has it, and no user. */
	expect_held(test, ALICE, 0);
	expect_held(test, BOB, 0);
}

#define MANY	1000	/* queries of one user for one response */

static void hold_many(struct kunit *test)
{
	struct set *many = kvcalloc(MANY, sizeof(*many), GFP_KERNEL);
	u32 i, wrong = 0;

	KUNIT_ASSERT_NOT_NULL(test, many);
	param_set(test, cmx_kunit_module(), "sa_kb_per_user", 20);
	for (i = 0; i < MANY; i++)
		set_start(&many[i], ALICE, 1, 1, false);
	respond(test, 1, SOME);
	for (i = 0; i < MANY; i++) {
		set_wait(test, &many[i]);
		wrong += many[i].request[1].error ||
			 !many[i].request[1].response;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0u);
	/* In another order than they came */
	for (i = 0; i < MANY; i++) {
		expect_held(test, ALICE, SOME);
		set_release(&many[i * 7 % MANY]);
	}
	expect_held(test, ALICE, 0);
	kvfree(many);
}

/* A refused response frees the others at once if they are of no use then. */
static void hold_whole(struct kunit *test)
{
	u32 first;

	param_set(test, cmx_kunit_module(), "sa_kb_per_user", 20);
	for (first = 1; first <= 2; first++) {
		set_start(&sets[0], ALICE, first, 2, true);
		respond(test, first, SOME);
		KUNIT_ASSERT_TRUE(test, WAIT_FOR(set_has(&sets[0], first)));
		KUNIT_EXPECT_EQ(test, atomic_read(&sets[0].failed), 0);
		respond(test, 3 - first, SOME);
		set_wait(test, &sets[0]);
		KUNIT_EXPECT_EQ(test, atomic_read(&sets[0].failed), 1);
		expect_held(test, ALICE, 0);
		expect_error(test, &sets[0], 1, -EAGAIN);
		expect_error(test, &sets[0], 2, -EAGAIN);
		set_release(&sets[0]);
	}
	/* While another is outstanding; its response is not kept. */
	set_start(&sets[0], ALICE, 3, 2, true);
	respond(test, 2, 2 * SOME);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(atomic_read(&sets[0].failed)));
	KUNIT_EXPECT_FALSE(test, completion_done(&sets[0].done));
	respond(test, 1, 1);
	set_wait(test, &sets[0]);
	expect_held(test, ALICE, 0);
	expect_error(test, &sets[0], 1, -EAGAIN);
	set_release(&sets[0]);
	/* Else they stay. */
	set_start(&sets[0], ALICE, 4, 2, false);
	respond(test, 1, SOME);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(cmx_sa_held(ALICE)));
	respond(test, 2, SOME);
	set_wait(test, &sets[0]);
	expect_error(test, &sets[0], 1, 0);
	expect_error(test, &sets[0], 2, -EAGAIN);
	expect_held(test, ALICE, SOME);
	set_release(&sets[0]);
}

/* An end without a response charges nobody; one half way charges that half. */
static void hold_ends(struct kunit *test)
{
	/* Cancelled, or the deadline */
	set_start(&sets[0], ALICE, 1, 2, true);
	respond(test, 1, SOME);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(cmx_sa_held(ALICE)));
	set_stop(test, &sets[0]);
	expect_held(test, ALICE, SOME);
	set_release(&sets[0]);
	expect_held(test, ALICE, 0);
	/* It comes for nobody. */
	respond(test, 2, SOME);
	expect_held(test, ALICE, 0);

	/* The device goes. */
	set_start(&sets[0], ALICE, 2, 2, true);
	respond(test, 1, SOME);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(cmx_sa_held(ALICE)));
	fake_down(&fake);
	set_wait(test, &sets[0]);
	expect_error(test, &sets[0], 1, 0);
	expect_error(test, &sets[0], 2, -ENODEV);
	expect_held(test, ALICE, SOME);
	set_release(&sets[0]);
	expect_held(test, ALICE, 0);
}

struct stopper {
	struct work_struct work;
	struct set *set;
	struct completion over;
};

static void stop_work(struct work_struct *work)
{
	struct stopper *stop = container_of(work, struct stopper, work);

	set_stopped(&stop->set->requests);
	complete(&stop->over);
}

/*
 * A stop while queries start, which may take long: it does not wait for them,
 * no more of them start, and the starter ends those that have.
 */
static void hold_stopped(struct kunit *test)
{
	struct stopper stop = { .set = &sets[0] };
	unsigned long over;
	u32 first;

	INIT_WORK_ONSTACK(&stop.work, stop_work);
	for (first = 1; first <= 2; first++) {
		set_begin(&sets[0], ALICE, true);
		set_query(&sets[0], ALICE, first, first);
		KUNIT_EXPECT_EQ(test, 1u,
				READ_ONCE(fake.port[first]->sched.nr_running));
		init_completion(&stop.over);
		schedule_work(&stop.work);
		over = wait_for_completion_timeout(&stop.over, KUNIT_WAIT);
		KUNIT_EXPECT_NE(test, 0ul, over);
		KUNIT_EXPECT_EQ(test, 0u, sets[0].stops);
		set_query(&sets[0], ALICE, first, 3 - first);
		expect_error(test, &sets[0], 3 - first, -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, 0u,
				READ_ONCE(fake.port[3 - first]->sched.nr_running));
		KUNIT_EXPECT_FALSE(test, completion_done(&sets[0].done));
		cmx_sa_requests_end(&sets[0].requests);
		set_wait(test, &sets[0]);
		flush_work(&stop.work);
		KUNIT_EXPECT_EQ(test, 1u, sets[0].stops);
		expect_error(test, &sets[0], first, -ETIMEDOUT);
		/* Done once, and nobody else has to stop anything. */
		KUNIT_EXPECT_FALSE(test, completion_done(&sets[0].done));
		KUNIT_EXPECT_FALSE(test,
				   cmx_sa_requests_stop(&sets[0].requests));
		respond(test, first, 1);
		set_release(&sets[0]);
		expect_held(test, ALICE, 0);
	}
	destroy_work_on_stack(&stop.work);
}

/* A stop while two threads start queries: the last one executes it. */
static void hold_two_starters(struct kunit *test)
{
	struct set *s = &sets[0];

	set_begin(s, ALICE, true);
	set_query(s, ALICE, 1, 1);
	atomic_inc(&s->requests.pending);
	cmx_sa_requests_enter(&s->requests);
	KUNIT_EXPECT_FALSE(test, cmx_sa_requests_stop(&s->requests));
	cmx_sa_requests_end(&s->requests);
	KUNIT_EXPECT_EQ(test, 0u, s->stops);
	set_query(s, ALICE, 1, 2);
	expect_error(test, s, 2, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, completion_done(&s->done));
	cmx_sa_requests_end(&s->requests);
	KUNIT_EXPECT_EQ(test, 1u, s->stops);
	set_wait(test, s);
	expect_error(test, s, 1, -ETIMEDOUT);
	set_release(s);
	expect_held(test, ALICE, 0);
}

/* A container of root's, which maps no root: its user is not the kernel. */
static void hold_container(struct kunit *test)
{
	struct user_namespace *ns;

	ns = kunit_kzalloc(test, sizeof(*ns), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, ns);
	ns->parent = &init_user_ns;
	ns->owner = GLOBAL_ROOT_UID;
	/* Nothing is mapped yet. */
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_user_of(ns), GLOBAL_ROOT_UID));
	ns->uid_map.nr_extents = 1;
	ns->uid_map.extent[0].first = 1000;
	ns->uid_map.extent[0].lower_first = __kuid_val(ALICE);
	ns->uid_map.extent[0].count = 1;
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_user_of(ns), ALICE));
	/* With a root it is that one. */
	ns->uid_map.extent[0].first = 0;
	ns->uid_map.extent[0].lower_first = __kuid_val(BOB);
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_user_of(ns), BOB));
}

/*
 * A namespace of root's whose root is root, such as one of PrivateUsers=yes:
 * the users are those of the host, also of the namespaces inside.
 */
static void hold_same_root(struct kunit *test)
{
	struct user_namespace *outer, *inner;

	outer = kunit_kzalloc(test, sizeof(*outer), GFP_KERNEL);
	inner = kunit_kzalloc(test, sizeof(*inner), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, outer);
	KUNIT_ASSERT_NOT_NULL(test, inner);
	outer->parent = &init_user_ns;
	outer->owner = GLOBAL_ROOT_UID;
	outer->uid_map.nr_extents = 1;
	outer->uid_map.extent[0].count = 1;
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_user_of(outer), GLOBAL_ROOT_UID));
	inner->parent = outer;
	inner->owner = ALICE;
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_user_of(inner), ALICE));
	/* Root makes a container inside. */
	inner->owner = GLOBAL_ROOT_UID;
	inner->uid_map = outer->uid_map;
	inner->uid_map.extent[0].lower_first = __kuid_val(BOB);
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_user_of(inner), BOB));
	/* The same in a container */
	inner->uid_map.extent[0].lower_first = 0;
	outer->uid_map.extent[0].lower_first = __kuid_val(ALICE);
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_user_of(inner), ALICE));
	/* A user's, to which root gave its own id */
	outer->owner = BOB;
	outer->uid_map.extent[0].lower_first = 0;
	KUNIT_EXPECT_TRUE(test, uid_eq(cmx_user_of(inner), BOB));
}

static struct kunit_case hold_cases[] = {
	KUNIT_CASE(hold_limit),
	KUNIT_CASE(hold_shared),
	KUNIT_CASE(hold_cached),
	KUNIT_CASE(hold_many),
	KUNIT_CASE(hold_whole),
	KUNIT_CASE(hold_ends),
	KUNIT_CASE(hold_stopped),
	KUNIT_CASE(hold_two_starters),
	KUNIT_CASE(hold_container),
	KUNIT_CASE(hold_same_root),
	{}
};

static struct kunit_suite hold_suite = {
	.name = "cmx_sa_hold",
	.init = hold_init,
	.exit = hold_exit,
	.test_cases = hold_cases,
};

kunit_test_suite(hold_suite);
