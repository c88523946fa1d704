// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-09: many paths in one call over a device with simulated SAs: each
 * destination completes alone, few queries are outstanding at a time, a second
 * path, other ports of the peer, cancel, deadline, and invalidation of cached
 * paths: rdma_cmx_path.h.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cmx_path.h>

#include "kunit.h"
#include "resolve/prefetch.h"
#include "sa/wire.h"

#define DESTS	200

struct call {
	struct completion done;
	atomic_t calls;
	struct rdma_cmx_paths *paths;
	struct rdma_cmx_paths_query *q;
};

static struct fake fake;
static struct call *calls;
static union rdma_cmx_sockaddr *dst;

static int paths_init(struct kunit *test)
{
	int i, ret;

	calls = kunit_kcalloc(test, 2, sizeof(*calls), GFP_KERNEL);
	dst = kunit_kcalloc(test, DESTS, sizeof(*dst), GFP_KERNEL);
	if (!calls || !dst)
		return -ENOMEM;
	init_completion(&calls[0].done);
	init_completion(&calls[1].done);
	/* fe80::1:0 and following */
	for (i = 0; i < DESTS; i++) {
		dst[i].ib.sib_family = AF_IB;
		dst[i].ib.sib_pkey = htons(0xffff);
		dst[i].ib.sib_addr.sib_raw[0] = 0xfe;
		dst[i].ib.sib_addr.sib_raw[1] = 0x80;
		dst[i].ib.sib_addr.sib_raw[13] = 1;
		dst[i].ib.sib_addr.sib_raw[15] = i;
	}
	ret = fake_up(&fake);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	param_set(test, cmx_kunit_module(), "query_timeout_ms", 60000);
	param_set(test, cmx_kunit_module(), "route_timeout_ms", 60000);
	return ret;
}

static void paths_exit(struct kunit *test)
{
	fake_down(&fake);
	params_restore(test);
}

static void call_done(struct rdma_cmx_paths_query *query,
		      struct rdma_cmx_paths *paths, void *context)
{
	struct call *c = context;

	c->paths = paths;
	atomic_inc(&c->calls);
	complete(&c->done);
}

static void start_attr(struct kunit *test, struct call *c,
		       const struct rdma_cmx_paths_attr *with)
{
	struct rdma_cmx_paths_attr attr = *with;

	attr.net = &init_net;
	attr.dst = attr.dst ?: dst;
	reinit_completion(&c->done);
	atomic_set(&c->calls, 0);
	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_paths_start(&attr, call_done, c, &c->q));
}

#define START(test, c, ...)						\
	start_attr(test, c, &(struct rdma_cmx_paths_attr){ __VA_ARGS__ })

static void end(struct kunit *test, struct call *c, u32 found, u32 count)
{
	KUNIT_ASSERT_NE(test, 0ul,
			wait_for_completion_timeout(&c->done, KUNIT_WAIT));
	/* The callback has returned before this. */
	KUNIT_EXPECT_FALSE(test, rdma_cmx_paths_cancel(c->q));
	rdma_cmx_paths_query_put(c->q);
	KUNIT_EXPECT_EQ(test, atomic_read(&c->calls), 1);
	KUNIT_EXPECT_EQ(test, c->paths->count, count);
	KUNIT_EXPECT_EQ(test, c->paths->found, found);
}

static void call_drop(struct call *c)
{
	rdma_cmx_paths_put(c->paths);
	c->paths = NULL;
}

static unsigned int outstanding(u32 port)
{
	struct cmx_sched *sched = &fake.port[port]->sched;

	return READ_ONCE(sched->nr_running) + READ_ONCE(sched->nr_waiting);
}

/*
 * The SA of @port responds to its first query with @error or @count records.
 * The LIDs of record I are 0x10 + I and 0x20 + I, or all the same.
 */
static void respond(struct kunit *test, u32 port, u32 count, bool same,
		    int error)
{
	struct cmx_sa_answer *answer = NULL;
	struct cmx_sa_lookup *l;
	u32 i;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(READ_ONCE(fake.port[port]->sched.nr_running)));
	l = fake_lookup(fake.port[port]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	if (!error) {
		answer = cmx_sa_answer_alloc(count, 64);
		KUNIT_ASSERT_NOT_NULL(test, answer);
	}
	for (i = 0; !error && i < count; i++) {
		u8 *rec = (u8 *)cmx_sa_answer_rec(answer, i);

		memcpy(rec, l->key.query.rec, 64);
		rec[40] = 0;
		rec[41] = 0x20 + (same ? 0 : i);
		rec[42] = 0;
		rec[43] = 0x10 + port * 0x40 + (same ? 0 : i);
	}
	fake_say(l, answer, error);
}

/* Responds with one record, with @dlid. */
static void respond_lid(struct kunit *test, u32 port, u8 dlid)
{
	struct cmx_sa_answer *answer = cmx_sa_answer_alloc(1, 64);
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_NOT_NULL(test, answer);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(READ_ONCE(fake.port[port]->sched.nr_running)));
	l = fake_lookup(fake.port[port]);
	memcpy(answer->data, l->key.query.rec, 64);
	answer->data[40] = 0;
	answer->data[41] = dlid;
	answer->data[42] = 0;
	answer->data[43] = 0x10 + port * 0x40;
	fake_say(l, answer, 0);
}

/*
 * The SA of @port responds to a query for NodeRecords with @error, or with
 * @count ports of the node, the first of which has the GUID of the destination,
 * and a port of another node.
 */
static u64 node;
static __be64 first_guid;

static void respond_node(struct kunit *test, u32 port, u32 count, int error)
{
	struct cmx_sa_answer *answer = NULL;
	struct cmx_sa_node_rec *rec;
	struct cmx_sa_lookup *l;
	u32 i;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(READ_ONCE(fake.port[port]->sched.nr_running)));
	l = fake_lookup(fake.port[port]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	KUNIT_EXPECT_EQ(test, l->key.query.attr_id,
			cpu_to_be16(IB_SA_ATTR_NODE_REC));
	if (!error) {
		answer = cmx_sa_answer_alloc(count + !!count, sizeof(*rec));
		KUNIT_ASSERT_NOT_NULL(test, answer);
		memset(answer->data, 0, answer->len);
	}
	for (i = 0; !error && count && i <= count; i++) {
		rec = (void *)cmx_sa_answer_rec(answer, i);
		rec->type = RDMA_NODE_IB_CA;
		rec->node_guid = cpu_to_be64(i == count ? 7 : node);
		rec->port_guid = i ? cpu_to_be64(0x7700 + i) :
				     first_guid;
	}
	fake_say(l, answer, error);
}

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
		.net = &init_net, .dst = dst, .count = 1,
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

	dst[4].sa.sa_family = AF_UNIX;
	/* One after the other, so that the order of the queries is known */
	for (i = 0; i < 4; i++) {
		START(test, &calls[0], .dst = dst + i, .count = 1);
		respond(test, 1, i == 0, false,
			i == 2 ? -ECONNREFUSED : i == 3 ? -EBADMSG : 0);
		end(test, &calls[0], !i, 1);
		call_drop(&calls[0]);
	}
	/* The first path is cached; the SA has no record of the last. */
	START(test, &calls[0], .count = 5);
	for (i = 0; i < 3; i++)
		respond(test, 1, 0, false, i ? -ECONNREFUSED : 0);
	end(test, &calls[0], 1, 5);
	path = calls[0].paths->paths;
	KUNIT_EXPECT_EQ(test, path[0].error, 0);
	KUNIT_EXPECT_EQ(test, path[0].port_num, 1u);
	KUNIT_EXPECT_EQ(test, path[0].ibdev_index, fake.ibdev->index);
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
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	rdma_cmx_paths_query_put(calls[0].q);
	respond(test, 1, 1, false, 0);
	end(test, &calls[1], 1, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&calls[0].calls), 0);
	KUNIT_EXPECT_EQ(test, outstanding(1), 0u);
	call_drop(&calls[1]);
	/* From the cache */
	START(test, &calls[0], .count = 1);
	end(test, &calls[0], 1, 1);
	call_drop(&calls[0]);
}

/* A call with many destinations leaves slots for other kernel queries. */
static void paths_window(struct kunit *test)
{
	unsigned int n, most = 0;
	u32 i;

	START(test, &calls[0], .count = DESTS);
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(outstanding(1) == 32));
	for (i = 0; i < DESTS; i++) {
		n = outstanding(1);
		most = max(most, n);
		respond(test, 1, 1, false, 0);
	}
	end(test, &calls[0], DESTS, DESTS);
	KUNIT_EXPECT_LE(test, most, 32u);
	for (i = 0; i < DESTS; i++)
		KUNIT_EXPECT_EQ(test, calls[0].paths->paths[i].rec[0].dgid.raw[15],
				(u8)i);
	call_drop(&calls[0]);
}

static void paths_cancel(struct kunit *test)
{
	START(test, &calls[0], .count = DESTS);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1) == 32));
	respond(test, 1, 1, false, 0);
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	rdma_cmx_paths_query_put(calls[0].q);
	/* No further query is sent; the outstanding ones have no waiter. */
	while (outstanding(1))
		respond(test, 1, 1, false, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&calls[0].calls), 0);
	/* At once, too */
	START(test, &calls[0], .dst = dst + 100, .count = 100);
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
	end(test, &calls[0], 0, DESTS);
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
		.net = &init_net, .dst = dst, .count = 1,
	};

	START(test, &calls[1], .dst = dst + 1, .count = 40);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1) == 32));
	reinit_completion(&calls[0].done);
	atomic_set(&calls[0].calls, 0);
	param_set(test, cmx_kunit_module(), "route_timeout_ms", 1);
	KUNIT_ASSERT_EQ(test, 0, rdma_cmx_paths_start(&attr, other_done,
						      &calls[0], &calls[0].q));
	end(test, &calls[0], 0, 1);
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
		.net = &init_net, .dst = dst, .count = DESTS,
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

static void expect_second(struct kunit *test, u32 port, u32 slid, u32 dlid)
{
	struct rdma_cmx_path *path = calls[0].paths->paths;

	KUNIT_EXPECT_EQ(test, path->error, 0);
	KUNIT_EXPECT_EQ(test, path->alt_error, 0);
	KUNIT_EXPECT_EQ(test, path->port_num, 1u);
	KUNIT_EXPECT_EQ(test, path->alt_port_num, port);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(sa_path_get_slid(&path->rec[0])),
			0x50u);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(sa_path_get_slid(&path->rec[1])),
			slid);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(sa_path_get_dlid(&path->rec[1])),
			dlid);
}

static void paths_alternate(struct kunit *test)
{
	union rdma_cmx_sockaddr alt = dst[9];
	struct rdma_cmx_path *path;

	/* Other LIDs of the same ports */
	START(test, &calls[0], .count = 1, .alternate = true);
	respond(test, 1, 2, false, 0);
	end(test, &calls[0], 1, 1);
	expect_second(test, 1, 0x51, 0x21);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_dst.sa.sa_family, 0);
	call_drop(&calls[0]);
	/* The same LIDs again are no second path: the other port has one. */
	START(test, &calls[0], .dst = dst + 1, .count = 1, .alternate = true);
	respond(test, 1, 4, true, 0);
	respond(test, 2, 1, false, 0);
	end(test, &calls[0], 1, 1);
	expect_second(test, 2, 0x90, 0x20);
	path = calls[0].paths->paths;
	KUNIT_EXPECT_EQ(test, path->rec[1].sgid.raw[15], 2);
	KUNIT_EXPECT_EQ(test, path->rec[1].dgid.raw[15], 1);
	call_drop(&calls[0]);
	/* To another address of the peer */
	START(test, &calls[0], .dst = dst + 2, .alt_dst = &alt, .count = 1,
	      .alternate = true);
	respond(test, 1, 1, false, 0);
	respond(test, 2, 1, false, 0);
	end(test, &calls[0], 1, 1);
	expect_second(test, 2, 0x90, 0x20);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->rec[1].dgid.raw[15], 9);
	call_drop(&calls[0]);
	/* The other port has none; the first path is valid nevertheless. */
	START(test, &calls[0], .dst = dst + 3, .count = 1, .alternate = true);
	respond(test, 1, 1, false, 0);
	respond(test, 2, 0, false, 0);
	respond_node(test, 1, 0, 0);
	end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ENOENT);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_dst.sa.sa_family, 0);
	call_drop(&calls[0]);
	/* With a given port of the peer there is no search. */
	alt = dst[8];
	START(test, &calls[0], .dst = dst + 4, .alt_dst = &alt, .count = 1,
	      .alternate = true);
	respond(test, 1, 1, false, 0);
	respond(test, 2, 0, false, -EBADMSG);
	end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -EBADMSG);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_dst.sa.sa_family, 0);
	call_drop(&calls[0]);
}

/* Each destination has its own alternate one, or none: then it is the same. */
static void paths_alternate_dst(struct kunit *test)
{
	union rdma_cmx_sockaddr alt[3] = { dst[70], { }, dst[71] };
	const u8 want[] = { 70, 61, 71 };
	struct rdma_cmx_path *path;
	int i;

	START(test, &calls[0], .dst = dst + 60, .alt_dst = alt, .count = 3,
	      .alternate = true);
	for (i = 0; i < 3; i++)
		respond(test, 1, 1, false, 0);
	for (i = 0; i < 3; i++)
		respond(test, 2, 1, false, 0);
	end(test, &calls[0], 3, 3);
	for (i = 0; i < 3; i++) {
		path = &calls[0].paths->paths[i];
		KUNIT_EXPECT_EQ(test, path->alt_error, 0);
		KUNIT_EXPECT_EQ(test, path->alt_port_num, 2u);
		KUNIT_EXPECT_EQ(test, path->rec[0].dgid.raw[15], 60 + i);
		KUNIT_EXPECT_EQ(test, path->rec[1].dgid.raw[15], want[i]);
		KUNIT_EXPECT_EQ(test, path->alt_dst.sa.sa_family, AF_IB);
		KUNIT_EXPECT_EQ(test, path->alt_dst.ib.sib_addr.sib_raw[15],
				want[i]);
	}
	call_drop(&calls[0]);
}

/*
 * Up to the query for the node of dst[@i], which has a unique LID: the cache
 * has nothing of that node.
 */
static void peer_begin(struct kunit *test, u32 i, u32 timeout_ms)
{
	node = 0x70 + i;
	memcpy(&first_guid, dst[i].ib.sib_addr.sib_raw + 8, sizeof(first_guid));
	START(test, &calls[0], .dst = dst + i, .count = 1, .alternate = true,
	      .timeout_ms = timeout_ms);
	respond_lid(test, 1, 0x30 + i);
	respond(test, 2, 0, false, 0);
}

/* A second path to another port of the peer */
static void paths_peer(struct kunit *test)
{
	struct rdma_cmx_paths_attr attr = {
		.net = &init_net, .alternate = true,
	};
	struct rdma_cmx_path *path;

	/* From the other port, whose SA knows two more ports of the node */
	peer_begin(test, 0, 0);
	respond_node(test, 1, 1, 0);
	respond_node(test, 2, 3, 0);
	respond(test, 2, 0, false, 0);
	respond(test, 2, 1, false, 0);
	end(test, &calls[0], 1, 1);
	expect_second(test, 2, 0x90, 0x20);
	path = calls[0].paths->paths;
	KUNIT_EXPECT_EQ(test, path->rec[1].dgid.raw[0], 0xfe);
	KUNIT_EXPECT_EQ(test, path->rec[1].dgid.raw[14], 0x77);
	KUNIT_EXPECT_EQ(test, path->rec[1].dgid.raw[15], 2);
	KUNIT_EXPECT_EQ(test, path->alt_dst.ib.sib_addr.sib_raw[15], 2);
	KUNIT_EXPECT_EQ(test, 0, rdma_cmx_path_invalidate(&attr, path));
	call_drop(&calls[0]);
	/* The two paths are invalidated; the ports of the node stay cached. */
	START(test, &calls[0], .count = 1, .alternate = true);
	respond_lid(test, 1, 0x30);
	respond(test, 2, 1, false, 0);
	end(test, &calls[0], 1, 1);
	expect_second(test, 2, 0x90, 0x20);
	call_drop(&calls[0]);

	/* From the first port: the other LID has to be the peer's. */
	peer_begin(test, 1, 0);
	respond_node(test, 1, 1, 0);
	respond_node(test, 2, 0, -ECONNREFUSED);
	respond_node(test, 1, 3, 0);
	respond_lid(test, 1, 0x31);
	respond_lid(test, 1, 0x29);
	end(test, &calls[0], 1, 1);
	expect_second(test, 1, 0x50, 0x29);
	call_drop(&calls[0]);

	/* A node with one port */
	peer_begin(test, 2, 0);
	respond_node(test, 1, 1, 0);
	respond_node(test, 2, 0, 0);
	respond_node(test, 1, 1, 0);
	end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ENOENT);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_dst.sa.sa_family, 0);
	call_drop(&calls[0]);
}

/*
 * SAs that invent ports, return errors, or are silent; cancel and removal
 * meanwhile
 */
static void paths_peer_faults(struct kunit *test)
{
	u32 i;

	/* Many ports: four of each SA are tried. */
	peer_begin(test, 0, 0);
	respond_node(test, 1, 1, 0);
	for (i = 2; i; i--) {
		respond_node(test, i, 200, 0);
		respond(test, i, 0, false, 0);
		respond(test, i, 0, false, 0);
		respond(test, i, 0, false, 0);
		respond(test, i, 0, false, i == 1 ? -EBADMSG : 0);
	}
	end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -EBADMSG);
	call_drop(&calls[0]);

	peer_begin(test, 1, 0);
	respond_node(test, 1, 0, -ECONNREFUSED);
	end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ECONNREFUSED);
	call_drop(&calls[0]);

	peer_begin(test, 2, 3000);
	end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->error, 0);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ETIMEDOUT);
	call_drop(&calls[0]);
	KUNIT_EXPECT_EQ(test, outstanding(1), 1u);
	respond_node(test, 1, 1, 0);

	peer_begin(test, 3, 0);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	rdma_cmx_paths_query_put(calls[0].q);
	KUNIT_EXPECT_EQ(test, atomic_read(&calls[0].calls), 0);
	respond_node(test, 1, 1, 0);

	peer_begin(test, 4, 0);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1)));
	fake_down(&fake);
	end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ENODEV);
	call_drop(&calls[0]);
}

static void paths_invalidate(struct kunit *test)
{
	struct rdma_cmx_paths_attr attr = {
		.net = &init_net, .alternate = true,
	};
	struct rdma_cmx_path *path;

	START(test, &calls[0], .count = 2, .alternate = true);
	respond(test, 1, 1, false, 0);
	respond(test, 1, 1, false, 0);
	respond(test, 2, 1, false, 0);
	respond(test, 2, 1, false, 0);
	end(test, &calls[0], 2, 2);
	path = calls[0].paths->paths;
	KUNIT_EXPECT_EQ(test, 0, rdma_cmx_path_invalidate(&attr, &path[1]));
	call_drop(&calls[0]);
	/* The first path is cached; the second, and its alternate, are not. */
	START(test, &calls[0], .count = 2, .alternate = true);
	respond(test, 1, 1, false, 0);
	respond(test, 2, 1, false, 0);
	end(test, &calls[0], 2, 2);
	/* A missing alternate is no error. */
	path = calls[0].paths->paths;
	path[0].error = -ENOENT;
	KUNIT_EXPECT_EQ(test, 0, rdma_cmx_path_invalidate(&attr, path));
	attr.net = NULL;
	KUNIT_EXPECT_EQ(test, -EINVAL,
			rdma_cmx_path_invalidate(&attr, &path[1]));
	call_drop(&calls[0]);
	START(test, &calls[0], .count = 2, .alternate = true);
	end(test, &calls[0], 2, 2);
	call_drop(&calls[0]);
	/* A refresh ignores the cache. */
	START(test, &calls[0], .count = 1, .refresh = true);
	respond(test, 1, 1, false, 0);
	end(test, &calls[0], 1, 1);
	call_drop(&calls[0]);
}

/* The device is removed while the queries are outstanding. */
static void paths_removal(struct kunit *test)
{
	u32 i;

	START(test, &calls[0], .count = DESTS);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(outstanding(1) == 32));
	fake_down(&fake);
	end(test, &calls[0], 0, DESTS);
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
	KUNIT_CASE(paths_alternate),
	KUNIT_CASE(paths_alternate_dst),
	KUNIT_CASE(paths_peer),
	KUNIT_CASE(paths_peer_faults),
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
