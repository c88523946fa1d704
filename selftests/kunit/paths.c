// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-09: many paths in one call: each destination completes alone, few queries
 * are outstanding at a time, cancel, deadline, and invalidation of cached
 * paths: rdma_cmx_path.h.
 */
#include <linux/kthread.h>
#include <net/net_namespace.h>

#include "paths.h"

static int start_error(const struct rdma_cmx_paths_attr *attr,
		       rdma_cmx_paths_fn done)
{
	struct rdma_cmx_paths_query *q = (void *)1;
	int ret = rdma_cmx_paths_start(attr, done, &calls[0], &q);

	return q ? -EUCLEAN : ret;
}

static void paths_input(struct kunit *test)
{
	const struct rdma_cmx_paths_attr good = {
		.net = &init_net, .dst = dests, .count = 1,
	};
	struct rdma_cmx_paths_attr attr;

#define BAD(error, field, value)					\
	do {								\
		attr = good;						\
		attr.field = value;					\
		KUNIT_EXPECT_EQ(test, start_error(&attr, call_done), error); \
	} while (0)
	BAD(-EINVAL, net, NULL);
	BAD(-EINVAL, dst, NULL);
	BAD(-EINVAL, count, 0);
	BAD(-EINVAL, count, 4097);
	BAD(-EINVAL, count, U32_MAX);
	BAD(-EINVAL, dev_port, 1);
	BAD(-ENODEV, dev, "cmxnone");
	BAD(-EPROTOTYPE, port_space, 7);
	KUNIT_EXPECT_EQ(test, start_error(&good, NULL), -EINVAL);
	param_set(test, cmx_kunit_module(), "paths_max", 1);
	BAD(-EAGAIN, count, 2);
	/* A failed call reserves nothing. */
	START(test, &calls[0], .count = 1);
	KUNIT_EXPECT_EQ(test, start_error(&good, call_done), -EAGAIN);
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	rdma_cmx_paths_query_put(calls[0].q);
	START(test, &calls[0], .count = 1);
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	rdma_cmx_paths_query_put(calls[0].q);
}

/* One found, one unknown, one rejected, one malformed, one without a family */
static void paths_each(struct kunit *test)
{
	struct rdma_cmx_path *path;
	u32 i;

	dests[4].sa.sa_family = AF_UNIX;
	/* One after the other, so that the order of the queries is known */
	for (i = 0; i < 4; i++) {
		START(test, &calls[0], .dst = dests + i, .count = 1);
		paths_respond(test, 1, i == 0, false,
			      i == 2 ? -ECONNREFUSED : i == 3 ? -EBADMSG : 0);
		call_end(test, &calls[0], !i, 1);
		call_drop(&calls[0]);
	}
	/* The first path is cached; the SA has no record of the last. */
	START(test, &calls[0], .count = 5);
	for (i = 0; i < 3; i++)
		paths_respond(test, 1, 0, false, i ? -ECONNREFUSED : 0);
	call_end(test, &calls[0], 1, 5);
	path = calls[0].paths->paths;
	KUNIT_EXPECT_EQ(test, path[0].error, 0);
	KUNIT_EXPECT_EQ(test, path[0].port_num, 1u);
	KUNIT_EXPECT_EQ(test, path[0].ibdev_index, paths_fake.ibdev->index);
	KUNIT_EXPECT_EQ(test, path[0].rec[0].rec_type,
			(enum sa_path_rec_type)SA_PATH_REC_TYPE_IB);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(sa_path_get_slid(&path[0].rec[0])),
			0x50u);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(sa_path_get_dlid(&path[0].rec[0])),
			0x20u);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(path[0].rec[0].pkey), 0xffff);
	KUNIT_EXPECT_EQ(test, path[0].src.ib.sib_addr.sib_raw[15], 1);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_EQ(test, path[i].dst.sa.sa_family,
				i < 4 ? AF_IB : AF_UNIX);
	KUNIT_EXPECT_EQ(test, path[1].error + path[2].error + path[3].error,
			-ENOENT - 2 * ECONNREFUSED);
	KUNIT_EXPECT_EQ(test, path[4].error, -EINVAL);
	call_drop(&calls[0]);
}

/* Two calls for one destination share a query, which outlives one of them. */
static void paths_share(struct kunit *test)
{
	START(test, &calls[0], .count = 1);
	START(test, &calls[1], .count = 1);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(paths_outstanding(1)));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	rdma_cmx_paths_query_put(calls[0].q);
	paths_respond(test, 1, 1, false, 0);
	call_end(test, &calls[1], 1, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&calls[0].calls), 0);
	KUNIT_EXPECT_EQ(test, paths_outstanding(1), 0u);
	call_drop(&calls[1]);
	/* From the cache */
	START(test, &calls[0], .count = 1);
	call_end(test, &calls[0], 1, 1);
	call_drop(&calls[0]);
}

/* A call with many destinations leaves slots for other kernel queries. */
static void paths_window(struct kunit *test)
{
	unsigned int n, most = 0;
	u32 i;

	START(test, &calls[0], .count = DESTS);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(paths_outstanding(1) == 32));
	for (i = 0; i < DESTS; i++) {
		n = paths_outstanding(1);
		most = max(most, n);
		paths_respond(test, 1, 1, false, 0);
	}
	call_end(test, &calls[0], DESTS, DESTS);
	KUNIT_EXPECT_LE(test, most, 32u);
	for (i = 0; i < DESTS; i++)
		KUNIT_EXPECT_EQ(test, calls[0].paths->paths[i].rec[0].dgid.raw[15],
				(u8)i);
	call_drop(&calls[0]);
}

static void paths_cancel(struct kunit *test)
{
	START(test, &calls[0], .count = DESTS);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(paths_outstanding(1) == 32));
	paths_respond(test, 1, 1, false, 0);
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	rdma_cmx_paths_query_put(calls[0].q);
	/* No further query is sent; the outstanding ones have no waiter. */
	while (paths_outstanding(1))
		paths_respond(test, 1, 1, false, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&calls[0].calls), 0);
	/* At once, too */
	START(test, &calls[0], .dst = dests + 100, .count = 100);
	rdma_cmx_paths_cancel(calls[0].q);
	rdma_cmx_paths_query_put(calls[0].q);
	rdma_cmx_paths_query_put(NULL);
	rdma_cmx_paths_put(NULL);
	rdma_cmx_paths_put(ERR_PTR(-ENOMEM));
}

/* The SA is silent: all end by the deadline, queued ones, too. */
static void paths_late(struct kunit *test)
{
	u32 i;

	START(test, &calls[0], .count = DESTS, .timeout_ms = 300,
	      .alternate = true);
	call_end(test, &calls[0], 0, DESTS);
	for (i = 0; i < DESTS; i++) {
		KUNIT_EXPECT_EQ(test, calls[0].paths->paths[i].error,
				-ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, calls[0].paths->paths[i].alt_error,
				-ETIMEDOUT);
	}
	call_drop(&calls[0]);
}

static void other_done(struct rdma_cmx_paths_query *query,
		       struct rdma_cmx_paths *paths, void *context)
{
	struct call *c = context;

	/* The locks of all calls are one class of lockdep. */
	if (rdma_cmx_paths_cancel(calls[1].q))
		atomic_inc(&c->calls);
	c->paths = paths;
	complete(&c->done);
}

/* A callback cancels another call. */
static void paths_cancel_other(struct kunit *test)
{
	const struct rdma_cmx_paths_attr attr = {
		.net = &init_net, .dst = dests, .count = 1,
	};

	START(test, &calls[1], .dst = dests + 1, .count = 40);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(paths_outstanding(1) == 32));
	reinit_completion(&calls[0].done);
	atomic_set(&calls[0].calls, 0);
	param_set(test, cmx_kunit_module(), "route_timeout_ms", 1);
	KUNIT_ASSERT_EQ(test, 0, rdma_cmx_paths_start(&attr, other_done,
						      &calls[0], &calls[0].q));
	call_end(test, &calls[0], 0, 1);
	call_drop(&calls[0]);
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[1].q));
	rdma_cmx_paths_query_put(calls[1].q);
	KUNIT_EXPECT_EQ(test, atomic_read(&calls[1].calls), 0);
}

static int cancel_run(void *arg)
{
	struct call *c = arg;
	struct rdma_cmx_paths_query *q;

	while (!(q = READ_ONCE(c->q)))
		cond_resched();
	rdma_cmx_paths_cancel(q);
	rdma_cmx_paths_query_put(q);
	complete(&c->done);
	return 0;
}

/* A thread that sees the call before its start returns cancels it. */
static void paths_cancel_start(struct kunit *test)
{
	const struct rdma_cmx_paths_attr attr = {
		.net = &init_net, .dst = dests, .count = DESTS,
	};
	struct call *c = &calls[0];
	struct task_struct *thread;
	unsigned int i;

	for (i = 0; i < 300; i++) {
		c->q = NULL;
		reinit_completion(&c->done);
		thread = kthread_run(cancel_run, c, "cmx_cancel");
		KUNIT_ASSERT_FALSE(test, IS_ERR(thread));
		/* The thread continues only after the start. */
		KUNIT_ASSERT_TRUE(test,
				  WAIT_FOR(!rdma_cmx_paths_start(&attr, call_done,
								 &calls[1],
								 &c->q)));
		KUNIT_ASSERT_NE(test, 0ul,
				wait_for_completion_timeout(&c->done,
							    KUNIT_WAIT));
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&calls[1].calls), 0);
}

static void paths_invalidate(struct kunit *test)
{
	struct rdma_cmx_paths_attr attr = {
		.net = &init_net, .alternate = true,
	};
	struct rdma_cmx_path *path;

	START(test, &calls[0], .count = 2, .alternate = true);
	paths_respond(test, 1, 1, false, 0);
	paths_respond(test, 1, 1, false, 0);
	paths_respond(test, 2, 1, false, 0);
	paths_respond(test, 2, 1, false, 0);
	call_end(test, &calls[0], 2, 2);
	path = calls[0].paths->paths;
	KUNIT_EXPECT_EQ(test, 0, rdma_cmx_path_invalidate(&attr, &path[1]));
	call_drop(&calls[0]);
	/* The first path is cached; the second, and its alternate, are not. */
	START(test, &calls[0], .count = 2, .alternate = true);
	paths_respond(test, 1, 1, false, 0);
	paths_respond(test, 2, 1, false, 0);
	call_end(test, &calls[0], 2, 2);
	/* A missing alternate is no error. */
	path = calls[0].paths->paths;
	path[0].error = -ENOENT;
	KUNIT_EXPECT_EQ(test, 0, rdma_cmx_path_invalidate(&attr, path));
	attr.net = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rdma_cmx_path_invalidate(&attr, &path[1]));
	call_drop(&calls[0]);
	START(test, &calls[0], .count = 2, .alternate = true);
	call_end(test, &calls[0], 2, 2);
	call_drop(&calls[0]);
	/* A refresh ignores the cache. */
	START(test, &calls[0], .count = 1, .refresh = true);
	paths_respond(test, 1, 1, false, 0);
	call_end(test, &calls[0], 1, 1);
	call_drop(&calls[0]);
}

/* The device is removed while the queries are outstanding. */
static void paths_removal(struct kunit *test)
{
	u32 i;

	START(test, &calls[0], .count = DESTS);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(paths_outstanding(1) == 32));
	fake_down(&paths_fake);
	call_end(test, &calls[0], 0, DESTS);
	for (i = 0; i < DESTS; i++)
		KUNIT_EXPECT_LT(test, calls[0].paths->paths[i].error, 0);
	call_drop(&calls[0]);
}

static struct kunit_case paths_cases[] = {
	KUNIT_CASE(paths_input),
	KUNIT_CASE(paths_each),
	KUNIT_CASE(paths_share),
	KUNIT_CASE(paths_window),
	KUNIT_CASE(paths_cancel),
	KUNIT_CASE(paths_cancel_other),
	KUNIT_CASE(paths_cancel_start),
	KUNIT_CASE(paths_late),
	KUNIT_CASE(paths_invalidate),
	KUNIT_CASE(paths_removal),
	{}
};

static struct kunit_suite paths_suite = {
	.name = "cmx_paths",
	.init = paths_init,
	.exit = paths_exit,
	.test_cases = paths_cases,
};

kunit_test_suite(paths_suite);
