// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* See paths.h. */
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "paths.h"

struct fake paths_fake;
struct call *calls;
union rdma_cmx_sockaddr *dests;

int paths_init(struct kunit *test)
{
	int i, ret;

	calls = kunit_kcalloc(test, 2, sizeof(*calls), GFP_KERNEL);
	dests = kunit_kcalloc(test, DESTS, sizeof(*dests), GFP_KERNEL);
	if (!calls || !dests)
		return -ENOMEM;
	init_completion(&calls[0].done);
	init_completion(&calls[1].done);
	/* fe80::1:0 and following */
	for (i = 0; i < DESTS; i++) {
		dests[i].ib.sib_family = AF_IB;
		dests[i].ib.sib_pkey = htons(0xffff);
		dests[i].ib.sib_addr.sib_raw[0] = 0xfe;
		dests[i].ib.sib_addr.sib_raw[1] = 0x80;
		dests[i].ib.sib_addr.sib_raw[13] = 1;
		dests[i].ib.sib_addr.sib_raw[15] = i;
	}
	ret = fake_up(&paths_fake);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	param_set(test, cmx_kunit_module(), "query_timeout_ms", 60000);
	param_set(test, cmx_kunit_module(), "route_timeout_ms", 60000);
	return ret;
}

void paths_exit(struct kunit *test)
{
	fake_down(&paths_fake);
	params_restore(test);
}

void call_done(struct rdma_cmx_paths_query *query,
	       struct rdma_cmx_paths *paths, void *context)
{
	struct call *c = context;

	c->paths = paths;
	atomic_inc(&c->calls);
	complete(&c->done);
}

void call_start(struct kunit *test, struct call *c,
		const struct rdma_cmx_paths_attr *with)
{
	struct rdma_cmx_paths_attr attr = *with;

	attr.net = &init_net;
	attr.dst = attr.dst ?: dests;
	reinit_completion(&c->done);
	atomic_set(&c->calls, 0);
	KUNIT_ASSERT_EQ(test, 0,
			rdma_cmx_paths_start(&attr, call_done, c, &c->q));
}

void call_end(struct kunit *test, struct call *c, u32 found, u32 count)
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

void call_drop(struct call *c)
{
	rdma_cmx_paths_put(c->paths);
	c->paths = NULL;
}

unsigned int paths_outstanding(u32 port)
{
	struct cmx_sched *sched = &paths_fake.port[port]->sched;

	return READ_ONCE(sched->nr_running) + READ_ONCE(sched->nr_waiting);
}

struct cmx_sa_lookup *paths_lookup(struct kunit *test, u32 port)
{
	struct cmx_sa_port *sa = paths_fake.port[port];
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_TRUE(test, WAIT_FOR(READ_ONCE(sa->sched.nr_running)));
	l = fake_lookup(sa);
	KUNIT_ASSERT_NOT_NULL(test, l);
	return l;
}

void paths_respond(struct kunit *test, u32 port, u32 count, bool same,
		   int error)
{
	struct cmx_sa_response *answer = NULL;
	struct cmx_sa_lookup *l = paths_lookup(test, port);
	u32 i;

	if (!error) {
		answer = cmx_sa_response_alloc(count, 64);
		KUNIT_ASSERT_NOT_NULL(test, answer);
	}
	for (i = 0; !error && i < count; i++) {
		u8 *rec = (u8 *)cmx_sa_response_rec(answer, i);

		memcpy(rec, l->key.query.rec, 64);
		rec[40] = 0;
		rec[41] = 0x20 + (same ? 0 : i);
		rec[42] = 0;
		rec[43] = 0x10 + port * 0x40 + (same ? 0 : i);
	}
	fake_say(l, answer, error);
}
