// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The record of an advertised service at its SA: a deletion that the SA has not
 * confirmed is retried, before the record with another P_Key is set, and after
 * the end of the service, also if the port is down for a moment. SV-01
 *
 * A process takes neither the lock of all services nor that of a callback: it
 * could be preempted with it. The test sees that its thread waits, but not for a
 * mutex, on kernels with CONFIG_DEBUG_MUTEXES.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cmx_service.h>

#include "advertise/advertise.h"
#include "kunit.h"

#define PORT		1
#define OTHER_PORT	2
#define PKEY		0xffff	/* of the device, at first */
#define OTHER_PKEY	0x8005

static struct fake fake;
static struct rdma_cmx_service *service;
/* Of the last query, in jiffies */
static unsigned long sent, responded;
static int set_error;	/* of the last Set */
static bool was_set;	/* the last response was to a Set */
static rdma_cmx_service_fn callback;	/* of the next service */
static struct completion report_began, report_may_end;

static int advertise_init(struct kunit *test)
{
	int ret = fake_up(&fake);

	service = NULL;
	was_set = false;
	callback = NULL;
	init_completion(&report_began);
	init_completion(&report_may_end);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	return ret;
}

static void withdraw(void)
{
	rdma_cmx_withdraw(service);
	service = NULL;
}

static void advertise_exit(struct kunit *test)
{
	complete_all(&report_may_end);
	if (service)
		withdraw();
	fake_down(&fake);
	params_restore(test);
}

/* Set again after 2 s at the latest: the port has no events. */
static void advertise(struct kunit *test)
{
	struct rdma_cmx_service_attr attr = {
		.net = &init_net,
		.name = "kunit",
		.id = 0x1061d40,
		.lease_s = RDMA_CMX_MIN_LEASE,
		.dev = dev_name(&fake.ibdev->dev),
		.dev_port = PORT,
	};
	struct rdma_cmx_service *s = rdma_cmx_advertise(&attr, callback, NULL);

	KUNIT_ASSERT_FALSE(test, IS_ERR(s));
	service = s;
}

static bool is_set(int set, int error)
{
	struct rdma_cmx_service_state state;

	rdma_cmx_service_get_state(service, &state);
	return state.set == set && state.waiting == !set &&
	       state.error == error;
}

/* The next query */
static struct cmx_sa_lookup *query(struct kunit *test)
{
	struct cmx_sa_port *port = fake.port[PORT];
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(READ_ONCE(port->sched.nr_running)));
	l = fake_lookup(port);
	KUNIT_ASSERT_NOT_NULL(test, l);
	sent = l->started_at;
	KUNIT_EXPECT_EQ(test, be16_to_cpu(l->key.query.attr_id), 0x31);
	return l;
}

static u16 query_pkey(const struct cmx_sa_lookup *l)
{
	const struct cmx_sa_service_rec *rec = (const void *)l->key.query.rec;

	return be16_to_cpu(rec->pkey);
}

/* The SA responds to a query with @error, or with its record. */
static void say(struct kunit *test, struct cmx_sa_lookup *l, int error)
{
	const u32 len = sizeof(struct cmx_sa_service_rec);
	struct cmx_sa_response *answer = NULL;

	if (!error) {
		answer = cmx_sa_response_alloc(1, len);
		KUNIT_ASSERT_NOT_NULL(test, answer);
		memcpy(answer->data, l->key.query.rec, len);
	}
	responded = jiffies;
	fake_say(l, answer, error);
}

/*
 * The next query is @method for the record with @pkey. The SA responds with
 * @error.
 *
 * A Set is retried after 1 s to 2 s. A test that stands still as long finds one
 * more Set before the first deletion. It ends like the last one.
 */
static void respond(struct kunit *test, u8 method, u16 pkey, int error)
{
	struct cmx_sa_lookup *l = query(test);

	if (method == IB_SA_METHOD_DELETE && was_set &&
	    query_pkey(l) == pkey &&
	    l->key.query.method == IB_MGMT_METHOD_SET) {
		KUNIT_EXPECT_GE(test, sent - responded, msecs_to_jiffies(900));
		say(test, l, set_error);
		l = query(test);
	}
	KUNIT_EXPECT_EQ(test, l->key.query.method, method);
	KUNIT_EXPECT_EQ(test, query_pkey(l), pkey);
	was_set = method == IB_MGMT_METHOD_SET;
	if (was_set)
		set_error = error;
	say(test, l, error);
}

static void set(struct kunit *test, u16 pkey)
{
	respond(test, IB_MGMT_METHOD_SET, pkey, 0);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(is_set(1, 0)));
}

/* The last reference is that of the fake. */
static void expect_gone(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test,
			  WAIT_FOR(refcount_read(&fake.port[PORT]->ref) == 1));
}

static void pkey_changes(struct kunit *test, u16 from, u16 to, int error)
{
	KUNIT_ASSERT_TRUE(test, fake_set_pkey(&fake, to));
	respond(test, IB_SA_METHOD_DELETE, from, error);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(is_set(0, error)));
	respond(test, IB_SA_METHOD_DELETE, from, 0);
	set(test, to);
}

/* The record of the old P_Key does not stay beside that of the new one. */
static void advertise_pkey(struct kunit *test)
{
	advertise(test);
	set(test, PKEY);
	pkey_changes(test, PKEY, OTHER_PKEY, -ETIMEDOUT);
	pkey_changes(test, OTHER_PKEY, PKEY, -EAGAIN);
	withdraw();
	respond(test, IB_SA_METHOD_DELETE, PKEY, 0);
	expect_gone(test);
}

/* The SA may have it although the Set has failed; but not if it refuses. */
static void advertise_unknown(struct kunit *test)
{
	advertise(test);
	respond(test, IB_MGMT_METHOD_SET, PKEY, -ETIMEDOUT);
	KUNIT_ASSERT_TRUE(test, fake_set_pkey(&fake, OTHER_PKEY));
	respond(test, IB_SA_METHOD_DELETE, PKEY, -ECONNREFUSED);
	set(test, OTHER_PKEY);
	withdraw();
	respond(test, IB_SA_METHOD_DELETE, OTHER_PKEY, -ECONNREFUSED);
	expect_gone(test);
}

/* Retried until the deadline, but not without a pause */
static void advertise_withdrawn(struct kunit *test)
{
	unsigned long before = 0;
	int i;

	advertise(test);
	set(test, PKEY);
	withdraw();
	for (i = 0; i < 3; i++) {
		respond(test, IB_SA_METHOD_DELETE, PKEY, -ETIMEDOUT);
		if (i)
			KUNIT_EXPECT_GE(test, sent - before,
					msecs_to_jiffies(50));
		before = responded;
	}
	respond(test, IB_SA_METHOD_DELETE, PKEY, 0);
	expect_gone(test);
}

static void port_active(bool active)
{
	spin_lock(&cmx_sa_lock);
	WRITE_ONCE(fake.port[PORT]->active, active);
	spin_unlock(&cmx_sa_lock);
}

/*
 * Has the work item run? It leaves a timer, or ends the record. While it has
 * the lock, a timer may be that of the deadline.
 */
static bool attempted(struct cmx_port_record *r)
{
	bool ran;

	mutex_lock(&cmx_service_lock);
	ran = list_empty(&r->node) || timer_pending(&r->work.timer);
	mutex_unlock(&cmx_service_lock);
	return ran;
}

/*
 * A read has found the port down, but its watchers are not called: another work
 * item has to read it again. The port is back before.
 */
static void advertise_port_was_down(struct kunit *test)
{
	struct cmx_port_record *r;

	advertise(test);
	set(test, PKEY);
	r = list_first_entry(&service->records, struct cmx_port_record, node);
	refcount_inc(&r->ref);
	port_active(false);
	withdraw();
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(attempted(r)));
	KUNIT_EXPECT_FALSE(test, list_empty(&r->node));
	refcount_dec(&r->ref);
	port_active(true);
	respond(test, IB_SA_METHOD_DELETE, PKEY, 0);
	expect_gone(test);
}

static struct completion other_over;

static void other_done(struct cmx_sched_waiter *waiter, void *answer, int error)
{
	complete(&other_over);
}

/* Is a response of the other port in the cache? */
static bool other_cached(const struct cmx_sa_query *query)
{
	struct cmx_sa_response *answer = NULL;
	int ret = cmx_sa_peek(fake.port[OTHER_PORT], &init_net, query, &answer);

	cmx_sa_response_put(answer);
	return !ret;
}

/* Another port may have the same SA: its responses are older than a change. */
static void advertise_other_port(struct kunit *test)
{
	static const struct cmx_sa_query query = {
		.attr_id = cpu_to_be16(0x31),
		.method = IB_SA_METHOD_GET_TABLE,
		.rec_len = 176,
	};
	static struct cmx_sched_waiter waiter[2];
	struct cmx_sa_lookup *l;
	int i;

	init_completion(&other_over);
	advertise(test);
	set(test, PKEY);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_FALSE(test, other_cached(&query));
		waiter[i].done = other_done;
		KUNIT_ASSERT_EQ(test, cmx_sa_lookup(fake.port[OTHER_PORT],
						    &init_net, GLOBAL_ROOT_UID,
						    &query, &waiter[i]), 0);
		l = fake_lookup(fake.port[OTHER_PORT]);
		KUNIT_ASSERT_NOT_NULL(test, l);
		fake_say(l, fake_services(1, "s"), 0);
		KUNIT_EXPECT_TRUE(test, other_cached(&query));
		/* A work item calls it. */
		KUNIT_ASSERT_NE(test, 0ul,
				wait_for_completion_timeout(&other_over,
							    KUNIT_WAIT));
		if (i)
			break;
		KUNIT_ASSERT_TRUE(test, fake_set_pkey(&fake, OTHER_PKEY));
		respond(test, IB_SA_METHOD_DELETE, PKEY, 0);
		set(test, OTHER_PKEY);
	}
	withdraw();
	respond(test, IB_SA_METHOD_DELETE, OTHER_PKEY, 0);
	expect_gone(test);
	KUNIT_EXPECT_FALSE(test, other_cached(&query));
}

static struct rdma_cmx_service *others[8];

static struct cmx_port_record *record_of(struct rdma_cmx_service *s)
{
	return list_first_entry(&s->records, struct cmx_port_record, node);
}

/* With the id of advertise(), in a partition that the port is not in */
static struct rdma_cmx_service *advertise_as(u16 pkey)
{
	struct rdma_cmx_service_attr attr = {
		.net = &init_net,
		.name = "kunit-other",
		.id = 0x1061d40,
		.pkey = pkey,
		.lease_s = RDMA_CMX_MIN_LEASE,
		.dev = dev_name(&fake.ibdev->dev),
		.dev_port = PORT,
	};

	return rdma_cmx_advertise(&attr, NULL, NULL);
}

/* Defers the next attempt after the first has failed, and its work has ended */
static bool defer(struct cmx_port_record *r, unsigned long due)
{
	bool failed;

	mutex_lock(&cmx_service_lock);
	failed = r->error == -ENOENT;
	if (failed)
		r->due = due;
	mutex_unlock(&cmx_service_lock);
	return failed;
}

/* The end of a service retries those alone that it has blocked. */
static void advertise_others(struct kunit *test)
{
	unsigned long due = jiffies + 3600 * HZ;
	int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		others[i] = advertise_as(0x9000 + i);
		KUNIT_ASSERT_FALSE(test, IS_ERR(others[i]));
		KUNIT_ASSERT_TRUE(test,
				  WAIT_FOR(defer(record_of(others[i]), due)));
	}
	advertise(test);
	set(test, PKEY);
	withdraw();
	respond(test, IB_SA_METHOD_DELETE, PKEY, 0);
	/* Its record does not use the port any more. */
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(refcount_read(&fake.port[PORT]->ref) ==
					 1 + ARRAY_SIZE(others)));
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		KUNIT_EXPECT_EQ(test, READ_ONCE(record_of(others[i])->due),
				due);
		rdma_cmx_withdraw(others[i]);
	}
	expect_gone(test);
}

/* A call in a thread of its own */
static void (*caller_call)(void);
static struct completion caller_over;

static int caller_run(void *arg)
{
	caller_call();
	complete(&caller_over);
	return 0;
}

/* Returns the thread, which does not run yet, with a reference. */
static struct task_struct *caller_new(struct kunit *test, void (*call)(void))
{
	struct task_struct *thread;

	caller_call = call;
	init_completion(&caller_over);
	thread = kthread_create(caller_run, NULL, "cmx_caller");
	KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
	return get_task_struct(thread);
}

static void caller_end(struct kunit *test, struct task_struct *thread)
{
	KUNIT_EXPECT_NE(test, 0ul,
			wait_for_completion_timeout(&caller_over, KUNIT_WAIT));
	put_task_struct(thread);
}

static bool waits_for_mutex(const struct task_struct *thread)
{
#ifdef CONFIG_DEBUG_MUTEXES
	return READ_ONCE(thread->blocked_on);
#else
	return false;
#endif
}

/* Starts the call, which waits for the test, but not for a mutex. */
static void caller_waits(struct kunit *test, struct task_struct *thread)
{
	wake_up_process(thread);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(READ_ONCE(thread->__state) ==
					 TASK_UNINTERRUPTIBLE));
	KUNIT_EXPECT_FALSE(test, waits_for_mutex(thread));
	KUNIT_EXPECT_FALSE(test, completion_done(&caller_over));
}

static void call_state(void)
{
	struct rdma_cmx_service_state state;

	rdma_cmx_service_get_state(service, &state);
}

static void call_ports(void)
{
	struct rdma_cmx_service_port ports[1];

	rdma_cmx_service_get_ports(service, ports, ARRAY_SIZE(ports));
}

static void call_advertise(void)
{
	others[0] = advertise_as(0x9001);
}

static void advertise_lock(struct kunit *test)
{
	static void (*const calls[])(void) = {
		call_advertise, call_state, call_ports, withdraw,
	};
	struct task_struct *thread;
	int i;

	if (!IS_ENABLED(CONFIG_DEBUG_MUTEXES))
		kunit_skip(test, "needs CONFIG_DEBUG_MUTEXES");
	advertise(test);
	set(test, PKEY);
	others[0] = NULL;
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		thread = caller_new(test, calls[i]);
		mutex_lock(&cmx_service_lock);
		caller_waits(test, thread);
		mutex_unlock(&cmx_service_lock);
		caller_end(test, thread);
	}
	respond(test, IB_SA_METHOD_DELETE, PKEY, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(others[0]));
	rdma_cmx_withdraw(others[0]);
	expect_gone(test);
}

static void report(struct rdma_cmx_service *s,
		   const struct rdma_cmx_service_event *event, void *context)
{
	complete(&report_began);
	wait_for_completion(&report_may_end);
}

/* The end of a service waits for its callback, and not for a mutex either. */
static void advertise_report(struct kunit *test)
{
	struct task_struct *thread;
	struct rdma_cmx_service *s;

	if (!IS_ENABLED(CONFIG_DEBUG_MUTEXES))
		kunit_skip(test, "needs CONFIG_DEBUG_MUTEXES");
	callback = report;
	advertise(test);
	s = service;
	set(test, PKEY);
	KUNIT_ASSERT_NE(test, 0ul,
			wait_for_completion_timeout(&report_began, KUNIT_WAIT));
	thread = caller_new(test, withdraw);
	wake_up_process(thread);
	/* From then on it waits for the callback alone. */
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(!READ_ONCE(s->event)));
	caller_waits(test, thread);
	complete_all(&report_may_end);
	caller_end(test, thread);
	respond(test, IB_SA_METHOD_DELETE, PKEY, 0);
	expect_gone(test);
}

static struct kunit_case advertise_cases[] = {
	KUNIT_CASE(advertise_pkey),
	KUNIT_CASE(advertise_unknown),
	KUNIT_CASE(advertise_withdrawn),
	KUNIT_CASE(advertise_port_was_down),
	KUNIT_CASE(advertise_other_port),
	KUNIT_CASE(advertise_others),
	KUNIT_CASE(advertise_lock),
	KUNIT_CASE(advertise_report),
	{}
};

static struct kunit_suite advertise_suite = {
	.name = "cmx_advertise",
	.init = advertise_init,
	.exit = advertise_exit,
	.test_cases = advertise_cases,
};

kunit_test_suite(advertise_suite);
