// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of a query whose names the test provides: it completes once, or is
 * cancelled and never completes, whatever happens at the same time.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "kunit.h"
#include "resolve/query.h"

struct client {
	struct completion done;
	struct completion entered;	/* the callback has started */
	struct completion go;		/* it may return */
	bool hold;
	bool cancel;			/* cancels itself */
	bool cancelled;
	atomic_t calls;
	int error;
	u32 count;
};

static struct client *client;

static int query_init(struct kunit *test)
{
	client = kunit_kzalloc(test, sizeof(*client), GFP_KERNEL);
	if (!client)
		return -ENOMEM;
	init_completion(&client->done);
	init_completion(&client->entered);
	init_completion(&client->go);
	return 0;
}

static void client_done(struct rdma_cmx_query *query,
			struct rdma_cmx_result *result, void *context)
{
	struct client *a = context;

	complete(&a->entered);
	if (a->hold)
		wait_for_completion_timeout(&a->go, KUNIT_WAIT);
	if (a->cancel)
		a->cancelled = rdma_cmx_query_cancel(query);
	a->error = PTR_ERR_OR_ZERO(result);
	a->count = IS_ERR(result) ? 0 : result->count;
	rdma_cmx_result_put(result);
	atomic_inc(&a->calls);
	complete(&a->done);
}

static struct rdma_cmx_query *start(struct kunit *test, u32 timeout_ms)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
		.node = "host.example",
		.qp_type = IB_QPT_RC,
		.timeout_ms = timeout_ms,
	};
	struct cmx_caller later = { .names_later = true };
	struct rdma_cmx_query *q = NULL;

	reinit_completion(&client->done);
	reinit_completion(&client->entered);
	atomic_set(&client->calls, 0);
	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_query_start_for(&attr, &later, client_done,
						 client, NULL, &q));
	KUNIT_ASSERT_NOT_NULL(test, q);
	return q;
}

/* Gives two addresses without a route. */
static int give(struct rdma_cmx_query *q, int error)
{
	struct {
		struct rdma_cmx_names n;
		struct rdma_cmx_names_addr a[2];
	} names = {
		.n = { .version = 1, .addr_count = 2 },
		.a = { { .family = AF_INET, .addr = { 203, 0, 113, 9 } },
		       { .family = AF_INET, .addr = { 203, 0, 113, 10 } } },
	};

	return rdma_cmx_query_give_names(q, &(struct cmx_given){
		.error = error, .names = &names.n, .names_len = sizeof(names),
	});
}

static int give_bad(struct rdma_cmx_query *q, const void *names, size_t len)
{
	return rdma_cmx_query_give_names(q, &(struct cmx_given){
		.names = names, .names_len = len,
	});
}

static int give_port(struct rdma_cmx_query *q, u16 port, u32 qp_type)
{
	return rdma_cmx_query_give_names(q, &(struct cmx_given){
		.has_port = true, .port = port, .qp_type = qp_type,
	});
}

static void done_wait(struct kunit *test, int error, u32 count)
{
	KUNIT_ASSERT_NE(test, 0ul,
			wait_for_completion_timeout(&client->done, KUNIT_WAIT));
	KUNIT_EXPECT_EQ(test, atomic_read(&client->calls), 1);
	KUNIT_EXPECT_EQ(test, client->error, error);
	KUNIT_EXPECT_EQ(test, client->count, count);
}

static void query_answered(struct kunit *test)
{
	struct rdma_cmx_query *q = start(test, 0);

	KUNIT_EXPECT_EQ(test, give(q, 0), 0);
	/* A second response fails, RAI-02. */
	KUNIT_EXPECT_EQ(test, give(q, 0), -ESRCH);
	KUNIT_EXPECT_EQ(test, give(q, ENOENT), -ESRCH);
	done_wait(test, 0, 2);
	KUNIT_EXPECT_EQ(test, give(q, 0), -ESRCH);
	/* After the end there is nothing to cancel. */
	KUNIT_EXPECT_FALSE(test, rdma_cmx_query_cancel(q));
	KUNIT_EXPECT_FALSE(test, rdma_cmx_query_cancel(q));
	rdma_cmx_query_put(q);
}

/* A process that is being killed gives the names: others read the result. */
static void query_killed(struct kunit *test)
{
	struct rdma_cmx_query *q = start(test, 0);

	allow_signal(SIGKILL);
	send_sig(SIGKILL, current, 0);
	KUNIT_EXPECT_TRUE(test, fatal_signal_pending(current));
	KUNIT_EXPECT_EQ(test, give(q, 0), 0);
	flush_signals(current);
	disallow_signal(SIGKILL);
	done_wait(test, 0, 2);
	rdma_cmx_query_put(q);
}

static void query_errors(struct kunit *test)
{
	static const int errors[] = {
		ENOENT, ENODATA, EAGAIN, ETIMEDOUT, ECONNREFUSED, ENOMEM, EIO,
		MAX_ERRNO,
	};
	struct rdma_cmx_query *q;
	int i;

	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		q = start(test, 0);
		KUNIT_EXPECT_EQ(test, give(q, errors[i]), 0);
		done_wait(test, -errors[i], 0);
		rdma_cmx_query_put(q);
	}
}

/* Malformed names are rejected, and the query stays pending. */
static void query_bad_names(struct kunit *test)
{
	struct rdma_cmx_names none = { .version = 1 };
	struct rdma_cmx_query *q = start(test, 0);

	KUNIT_EXPECT_EQ(test, give(q, -ENOENT), -EINVAL);
	KUNIT_EXPECT_EQ(test, give(q, MAX_ERRNO + 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, give(q, INT_MIN), -EINVAL);
	KUNIT_EXPECT_EQ(test, -EINVAL, give_bad(q, NULL, 0));
	KUNIT_EXPECT_EQ(test, -EBADMSG, give_bad(q, &none, sizeof(none)));
	KUNIT_EXPECT_EQ(test, -EBADMSG, give_bad(q, &none, 3));
	KUNIT_EXPECT_EQ(test, -EINVAL, give_port(q, 1, 0));
	KUNIT_EXPECT_EQ(test, atomic_read(&client->calls), 0);
	KUNIT_EXPECT_EQ(test, give(q, 0), 0);
	done_wait(test, 0, 2);
	rdma_cmx_query_put(q);
}

static void query_cancel_waiting(struct kunit *test)
{
	struct rdma_cmx_query *q = start(test, 0);

	KUNIT_EXPECT_TRUE(test, rdma_cmx_query_cancel(q));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_query_cancel(q));
	KUNIT_EXPECT_EQ(test, give(q, 0), -ESRCH);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->calls), 0);
	rdma_cmx_query_put(q);
}

static void query_deadline(struct kunit *test)
{
	struct rdma_cmx_query *q = start(test, 20);

	done_wait(test, -ETIMEDOUT, 0);
	KUNIT_EXPECT_EQ(test, give(q, 0), -ESRCH);
	KUNIT_EXPECT_FALSE(test, rdma_cmx_query_cancel(q));
	rdma_cmx_query_put(q);

	/* Without a timeout that of the module; above the limit the limit */
	param_set(test, cmx_kunit_module(), "query_timeout_ms", 20);
	q = start(test, 0);
	done_wait(test, -ETIMEDOUT, 0);
	rdma_cmx_query_put(q);
	param_set(test, cmx_kunit_module(), "query_timeout_max_ms", 30);
	q = start(test, U32_MAX);
	done_wait(test, -ETIMEDOUT, 0);
	rdma_cmx_query_put(q);
}

/* The result is complete even if the caller puts the query first. */
static void query_put_early(struct kunit *test)
{
	struct rdma_cmx_query *q = start(test, 20);

	rdma_cmx_query_put(q);
	done_wait(test, -ETIMEDOUT, 0);
}

struct canceller {
	struct work_struct work;
	struct rdma_cmx_query *q;
	bool cancelled;
	bool ended;
};

static void cancel_run(struct work_struct *work)
{
	struct canceller *c = container_of(work, struct canceller, work);

	c->cancelled = rdma_cmx_query_cancel(c->q);
	WRITE_ONCE(c->ended, true);
}

/* Cancel waits for a running callback, except from within it. */
static void query_cancel_calling(struct kunit *test)
{
	struct canceller *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, c);
	INIT_WORK(&c->work, cancel_run);
	client->hold = true;
	client->cancel = true;
	client->cancelled = true;
	c->q = start(test, 0);
	KUNIT_EXPECT_EQ(test, give(c->q, 0), 0);
	wait_for_completion_timeout(&client->entered, KUNIT_WAIT);
	queue_work(system_unbound_wq, &c->work);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(c->ended));
	complete(&client->go);
	flush_work(&c->work);
	KUNIT_EXPECT_FALSE(test, c->cancelled);
	KUNIT_EXPECT_FALSE(test, client->cancelled);
	done_wait(test, 0, 2);
	rdma_cmx_query_put(c->q);
}

/*
 * Result, deadline and cancel at the same time: one of them wins. Earlier
 * rounds adjust the delay of the result, so that each wins at times.
 */
static void query_race(struct kunit *test)
{
	struct canceller *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	u32 round, cancelled = 0, delay = 100;

	KUNIT_ASSERT_NOT_NULL(test, c);
	INIT_WORK(&c->work, cancel_run);
	for (round = 0; round < 1000; round++) {
		c->q = start(test, round % 4 == 3 ? 1 : 0);
		c->cancelled = false;
		if (round & 1) {
			queue_work(system_unbound_wq, &c->work);
			give(c->q, 0);
		} else {
			give(c->q, 0);
			udelay(kunit_random(delay + 1));
			queue_work(system_unbound_wq, &c->work);
		}
		flush_work(&c->work);
		/* After cancel no callback runs. */
		KUNIT_EXPECT_EQ(test, atomic_read(&client->calls),
				c->cancelled ? 0 : 1);
		if (c->cancelled) {
			cancelled++;
			delay = min(delay + 10, 2000u);
		} else {
			delay -= min(delay, 10u);
		}
		rdma_cmx_query_put(c->q);
	}
	kunit_info(test, "%u of 1000 were cancelled", cancelled);
}

/* The caller can take a result that is available at once, without a callback. */
static void query_known(struct kunit *test)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
		.node = "203.0.113.9",
		.qp_type = IB_QPT_RC,
	};
	struct cmx_caller later = { .names_later = true };
	struct rdma_cmx_result *known = NULL;
	struct rdma_cmx_query *q = (void *)1;

	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_query_start(&attr, client_done, client, &known,
					     &q));
	KUNIT_ASSERT_NOT_NULL(test, known);
	KUNIT_EXPECT_EQ(test, known->count, 1);
	KUNIT_EXPECT_STREQ(test, known->canonname, "203.0.113.9");
	KUNIT_EXPECT_PTR_EQ(test, q, (struct rdma_cmx_query *)NULL);
	rdma_cmx_result_put(known);

	/* Otherwise the callback gets it. */
	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_query_start(&attr, client_done, client, NULL,
					     &q));
	done_wait(test, 0, 1);
	rdma_cmx_query_put(q);

	/* A query that has to wait has no such result. */
	attr.node = "host.example";
	reinit_completion(&client->done);
	atomic_set(&client->calls, 0);
	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_query_start_for(&attr, &later, client_done,
						 client, &known, &q));
	KUNIT_EXPECT_PTR_EQ(test, known, (struct rdma_cmx_result *)NULL);
	KUNIT_EXPECT_EQ(test, give(q, 0), 0);
	done_wait(test, 0, 2);
	rdma_cmx_query_put(q);
}

/*
 * The memory of a query is not initialized to zero, and its deadline may stop
 * SA queries before they start: the stop finds nothing outstanding, whatever
 * the memory contained.
 */
static void query_stop_first(struct kunit *test)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
		.node = "host.example",
		.qp_type = IB_QPT_RC,
	};
	struct cmx_caller later = { .names_later = true };
	struct cmx_request *req;
	struct rdma_cmx_query *q;

	req = kunit_kmalloc(test, sizeof(*req), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, req);
	memset(req, 0x5a, sizeof(*req));
	KUNIT_ASSERT_EQ(test, 0, cmx_request_init(req, &attr, &later));
	q = cmx_query_alloc(req, client_done, client);
	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_EXPECT_FALSE(test,
			   cmx_sa_requests_stop(&q->req.services.requests));
	KUNIT_EXPECT_FALSE(test, cmx_sa_requests_stop(&q->req.paths.requests));
	rdma_cmx_query_put(q);
}

/* A query that fails at once has no callback: RAI-04 */
static void query_refused(struct kunit *test)
{
	struct rdma_cmx_names bad = { .version = 9 };
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
		.node = "host.example",
		.flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_DNS,
	};
	struct cmx_caller caller = {
		.names = &bad,
		.names_len = sizeof(bad),
	};
	struct rdma_cmx_result *known = (void *)1;
	struct rdma_cmx_query *q = (void *)1;

	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP,
			rdma_cmx_query_start(&attr, client_done, client, &known,
					     &q));
	attr.flags = 0;
	KUNIT_EXPECT_EQ(test, -EBADMSG,
			rdma_cmx_query_start_for(&attr, &caller, client_done,
						 client, &known, &q));
	KUNIT_EXPECT_PTR_EQ(test, q, (struct rdma_cmx_query *)NULL);
	KUNIT_EXPECT_PTR_EQ(test, known, (struct rdma_cmx_result *)NULL);
	KUNIT_EXPECT_EQ(test, atomic_read(&client->calls), 0);
	caller.names_later = true;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR_OR_ZERO(rdma_cmx_resolve_for(&attr, &caller)));

	/* A netdevice without RDMA, of no namespace, and beside a device */
	attr.iface = "lo";
	KUNIT_EXPECT_EQ(test, -ENXIO,
			PTR_ERR_OR_ZERO(rdma_cmx_resolve(&attr)));
	attr.iface = "no such";
	KUNIT_EXPECT_EQ(test, -ENODEV,
			PTR_ERR_OR_ZERO(rdma_cmx_resolve(&attr)));
	attr.dev = "mlx5_0";
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR_OR_ZERO(rdma_cmx_resolve(&attr)));
}

struct blocker {
	struct work_struct work;
	struct completion *begun;
	struct completion *go;
	atomic_t *left;
};

static void blocker_run(struct work_struct *work)
{
	struct blocker *b = container_of(work, struct blocker, work);

	if (atomic_dec_and_test(b->left))
		complete(b->begun);
	wait_for_completion(b->go);
}

/*
 * A deadline does not wait for work: as many items as the work queue runs at a
 * time sleep, and the query still ends.
 */
static void query_deadline_busy(struct kunit *test)
{
	unsigned int count = WQ_DFL_ACTIVE, i;
	DECLARE_COMPLETION_ONSTACK(begun);
	DECLARE_COMPLETION_ONSTACK(behind);
	DECLARE_COMPLETION_ONSTACK(go);
	atomic_t left = ATOMIC_INIT(count), last = ATOMIC_INIT(1);
	struct rdma_cmx_query *q;
	struct blocker *b;
	unsigned long in_time;

	b = kunit_kcalloc(test, count + 1, sizeof(*b), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b);
	for (i = 0; i <= count; i++) {
		INIT_WORK(&b[i].work, blocker_run);
		b[i].begun = i < count ? &begun : &behind;
		b[i].left = i < count ? &left : &last;
		b[i].go = &go;
		queue_work(cmx_query_users.wq, &b[i].work);
	}
	/* The last one waits for the others: the work queue is full. */
	KUNIT_EXPECT_NE(test, 0ul,
			wait_for_completion_timeout(&begun, KUNIT_WAIT));
	KUNIT_EXPECT_FALSE(test, completion_done(&behind));
	q = start(test, 20);
	in_time = wait_for_completion_timeout(&client->done, KUNIT_WAIT);
	KUNIT_EXPECT_FALSE(test, completion_done(&behind));
	complete_all(&go);
	for (i = 0; i <= count; i++)
		flush_work(&b[i].work);
	KUNIT_EXPECT_NE(test, 0ul, in_time);
	rdma_cmx_query_cancel(q);
	KUNIT_EXPECT_EQ(test, client->error, -ETIMEDOUT);
	rdma_cmx_query_put(q);
}

/* A port is added later, for a number; then the result is available. */
static void query_port(struct kunit *test)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
		.node = "203.0.113.9",
		.has_port = true,
	};
	struct cmx_caller later = { .port_later = true };
	struct rdma_cmx_result *known;
	struct rdma_cmx_query *q;

	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_query_start_for(&attr, &later, client_done,
						 client, &known, &q));
	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_EXPECT_EQ(test, -EINVAL, give(q, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, give_port(q, 1, IB_QPT_UC));
	KUNIT_EXPECT_EQ(test, atomic_read(&client->calls), 0);
	KUNIT_EXPECT_EQ(test, 0, give_port(q, U16_MAX, IB_QPT_UD));
	KUNIT_EXPECT_EQ(test, -ESRCH, give_port(q, 1, 0));
	done_wait(test, 0, 1);
	rdma_cmx_query_put(q);

	/* The query has determined a type. */
	reinit_completion(&client->done);
	atomic_set(&client->calls, 0);
	attr.port_space = RDMA_PS_TCP;
	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_query_start_for(&attr, &later, client_done,
						 client, &known, &q));
	KUNIT_EXPECT_EQ(test, -EINVAL, give_port(q, 1, IB_QPT_RC));
	KUNIT_EXPECT_EQ(test, 0, give(q, ENOMEM));
	done_wait(test, -ENOMEM, 0);
	rdma_cmx_query_put(q);

	attr.port = 1;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rdma_cmx_query_start_for(&attr, &later, client_done,
						 client, &known, &q));
	attr.port = 0;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			PTR_ERR_OR_ZERO(rdma_cmx_resolve_for(&attr, &later)));
}

static struct kunit_case query_cases[] = {
	KUNIT_CASE(query_answered),
	KUNIT_CASE(query_killed),
	KUNIT_CASE(query_known),
	KUNIT_CASE(query_stop_first),
	KUNIT_CASE(query_errors),
	KUNIT_CASE(query_bad_names),
	KUNIT_CASE(query_port),
	KUNIT_CASE(query_cancel_waiting),
	KUNIT_CASE(query_deadline),
	KUNIT_CASE(query_deadline_busy),
	KUNIT_CASE(query_put_early),
	KUNIT_CASE(query_cancel_calling),
	KUNIT_CASE(query_race),
	KUNIT_CASE(query_refused),
	{}
};

static struct kunit_suite query_suite = {
	.name = "cmx_query",
	.init = query_init,
	.exit = params_restore,
	.test_cases = query_cases,
};

kunit_test_suite(query_suite);
