// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Whole resolutions over a device with simulated SAs: services of two ports
 * merged, path records, and a cancel and a timeout in each state.
 */
#include <linux/completion.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "kunit.h"
#include "resolve/query.h"

#define SERVICE_REC	0x31
#define PATH_REC	0x35

struct caller {
	struct completion done;
	atomic_t calls;
	struct rdma_cmx_result *res;
	struct rdma_cmx_query *q;
};

static struct fake fake;
static struct caller *caller;

static int pipeline_init(struct kunit *test)
{
	int ret;

	caller = kunit_kzalloc(test, sizeof(*caller), GFP_KERNEL);
	if (!caller)
		return -ENOMEM;
	init_completion(&caller->done);
	ret = fake_up(&fake);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	param_set(test, cmx_kunit_module(), "query_timeout_ms", 60000);
	param_set(test, cmx_kunit_module(), "route_timeout_ms", 60000);
	return ret;
}

static void pipeline_exit(struct kunit *test)
{
	fake_down(&fake);
	params_restore(test);
}

static void caller_done(struct rdma_cmx_query *query,
			struct rdma_cmx_result *result, void *context)
{
	struct caller *a = context;

	a->res = result;
	atomic_inc(&a->calls);
	complete(&a->done);
}

static void start_attr(struct kunit *test,
		       const struct rdma_cmx_query_attr *with)
{
	struct rdma_cmx_query_attr attr = *with;

	attr.net = &init_net;
	reinit_completion(&caller->done);
	atomic_set(&caller->calls, 0);
	KUNIT_ASSERT_EQ(test, 0, rdma_cmx_query_start(&attr, caller_done, caller,
						      NULL, &caller->q));
}

#define START(test, ...)						\
	start_attr(test, &(struct rdma_cmx_query_attr){ __VA_ARGS__ })

/* Checks the end of a query: a result of @count entries, or an error. */
static void end(struct kunit *test, int error, u32 count)
{
	KUNIT_ASSERT_NE(test, 0ul,
			wait_for_completion_timeout(&caller->done, KUNIT_WAIT));
	rdma_cmx_query_put(caller->q);
	KUNIT_EXPECT_EQ(test, atomic_read(&caller->calls), 1);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(caller->res), error);
	if (!error && !IS_ERR(caller->res))
		KUNIT_EXPECT_EQ(test, caller->res->count, count);
}

static void result_drop(void)
{
	rdma_cmx_result_put(caller->res);
	caller->res = NULL;
}

static void cancelled(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, rdma_cmx_query_cancel(caller->q));
	rdma_cmx_query_put(caller->q);
	KUNIT_EXPECT_EQ(test, atomic_read(&caller->calls), 0);
}

/* The first outstanding query of @port, which is for @attr_id */
static struct cmx_sa_lookup *first_query(struct kunit *test, u32 port,
					 u16 attr_id)
{
	struct cmx_sa_lookup *l;

	KUNIT_ASSERT_TRUE(test,
			  WAIT_FOR(READ_ONCE(fake.port[port]->sched.nr_running)));
	l = fake_lookup(fake.port[port]);
	KUNIT_ASSERT_NOT_NULL(test, l);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(l->key.query.attr_id), attr_id);
	return l;
}

static void respond_services(struct kunit *test, u32 port,
			     struct cmx_sa_response *answer)
{
	fake_say(first_query(test, port, SERVICE_REC), answer, 0);
}

/* @count paths to the destination of the query */
static void respond_paths(struct kunit *test, u32 port, u32 count)
{
	struct cmx_sa_lookup *l = first_query(test, port, PATH_REC);
	struct cmx_sa_response *answer = cmx_sa_response_alloc(count, 64);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, answer);
	for (i = 0; i < count; i++) {
		u8 *rec = (u8 *)cmx_sa_response_rec(answer, i);

		memcpy(rec, l->key.query.rec, 64);
		/* a DLID as a mark */
		rec[40] = i >> 8;
		rec[41] = i;
	}
	fake_say(l, answer, 0);
}

/* Services of @port's response, at other GIDs than those of the other port */
static struct cmx_sa_response *services_of(u32 port, u32 count)
{
	struct cmx_sa_response *answer = fake_services(count, "target");
	u32 i;

	for (i = 0; answer && i < count; i++)
		((struct cmx_sa_service_rec *)
		 cmx_sa_response_rec(answer, i))->gid[13] = port;
	return answer;
}

/* RAI-06, GAI-12, GAI-09: queries to all ports, and paths to each service. */
static void pipeline_services(struct kunit *test)
{
	const struct rdma_cmx_entry *e;
	u32 i;

	START(test, .flags = RDMA_CMX_AI_SA, .service = "target");
	respond_services(test, 1, services_of(1, 2));
	respond_services(test, 2, services_of(2, 1));
	respond_paths(test, 1, 1);
	respond_paths(test, 1, 2);
	respond_paths(test, 2, 3);
	end(test, 0, 3);
	rdma_cmx_for_each_entry(e, i, caller->res) {
		u8 port = i < 2 ? 1 : 2;

		KUNIT_EXPECT_EQ(test, e->family, AF_IB);
		KUNIT_EXPECT_EQ(test, e->port_space, 0x13fu);
		KUNIT_EXPECT_EQ(test, e->qp_type, 2u);
		KUNIT_EXPECT_EQ(test, e->ibdev_index, fake.ibdev->index);
		KUNIT_EXPECT_EQ(test, e->port_num, port);
		KUNIT_EXPECT_EQ(test, e->dst.ib.sib_addr.sib_raw[13], port);
		KUNIT_EXPECT_EQ(test, e->src.ib.sib_addr.sib_raw[15], port);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(e->dst.ib.sib_sid),
				0x1000ull + (i < 2 ? i : 0));
		KUNIT_EXPECT_EQ(test, be16_to_cpu(e->dst.ib.sib_pkey), 0xffff);
		KUNIT_EXPECT_EQ(test, e->route_count, i + 1);
		KUNIT_EXPECT_EQ(test, e->connect_len, 0u);
	}
	result_drop();
	/* The same again sends no query. */
	START(test, .flags = RDMA_CMX_AI_SA, .service = "target");
	end(test, 0, 3);
	result_drop();
}

/* A service of both ports comes once; one that no port reaches comes last. */
static void pipeline_merge(struct kunit *test)
{
	struct cmx_sa_response *answer = services_of(0, 3);
	const struct rdma_cmx_entry *e;
	struct cmx_sa_service_rec *rec;
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, answer);
	rec = (void *)cmx_sa_response_rec(answer, 0);
	rec->pkey = cpu_to_be16(0x8002);	/* a P_Key of no port */
	rec = (void *)cmx_sa_response_rec(answer, 1);
	rec->pkey = cpu_to_be16(0x8001);	/* a P_Key of port 2 */
	rec = (void *)cmx_sa_response_rec(answer, 2);
	rec->pkey = 0;				/* the default P_Key */
	START(test, .flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE,
	      .service = "target");
	cmx_sa_response_get(answer);
	respond_services(test, 1, answer);
	respond_services(test, 2, answer);
	end(test, 0, 3);
	rdma_cmx_for_each_entry(e, i, caller->res) {
		u16 pkey = be16_to_cpu(e->dst.ib.sib_pkey);

		KUNIT_EXPECT_EQ(test, e->route_count, 0u);
		KUNIT_EXPECT_EQ(test, pkey == 0x8002, i == 2);
		switch (pkey) {
		case 0x8002:
			KUNIT_EXPECT_EQ(test, e->src.sa.sa_family, 0);
			KUNIT_EXPECT_EQ(test, e->port_num, 0u);
			break;
		case 0x8001:
			/* Port 1 returned it, too, but cannot reach it. */
			KUNIT_EXPECT_EQ(test, e->port_num, 2u);
			KUNIT_EXPECT_EQ(test, e->src.ib.sib_pkey,
					cpu_to_be16(0x8001));
			break;
		default:
			KUNIT_EXPECT_EQ(test, pkey, 0xffff);
			KUNIT_EXPECT_EQ(test, e->port_num, 1u);
		}
	}
	result_drop();
}

/* Services that do not match the query, none, or far too many */
static void pipeline_strange(struct kunit *test)
{
	struct cmx_sa_response *answer;
	struct cmx_sa_service_rec *rec;

	START(test, .flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE,
	      .service = "target");
	respond_services(test, 1, fake_services(3, "other"));
	respond_services(test, 2, fake_services(0, "target"));
	end(test, -EBADMSG, 0);

	START(test, .flags = RDMA_CMX_AI_SA, .service = "nosuch");
	respond_services(test, 1, fake_services(0, "nosuch"));
	respond_services(test, 2, fake_services(0, "nosuch"));
	end(test, -ENOENT, 0);

	/* A name without a terminator, and one with bytes behind it */
	START(test, .flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE,
	      .service = "x");
	answer = fake_services(2, "x");
	KUNIT_ASSERT_NOT_NULL(test, answer);
	rec = (void *)cmx_sa_response_rec(answer, 0);
	memset(rec->name, 'x', sizeof(rec->name));
	rec = (void *)cmx_sa_response_rec(answer, 1);
	memset(rec->name + 2, 0xff, sizeof(rec->name) - 2);
	respond_services(test, 1, answer);
	respond_services(test, 2, fake_services(0, "x"));
	end(test, 0, 1);
	result_drop();

	/* The limit is 4096; a service of two ports counts once. */
	START(test, .flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE,
	      .service = "many");
	respond_services(test, 1, fake_services(4097, "many"));
	respond_services(test, 2, fake_services(97, "many"));
	end(test, -EOVERFLOW, 0);
}

/* An SA that fails does not affect the result of the other: GAI-12 */
static void pipeline_partial(struct kunit *test)
{
	START(test, .flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE,
	      .service = "target");
	fake_say(first_query(test, 1, SERVICE_REC), NULL, -ECONNREFUSED);
	respond_services(test, 2, services_of(2, 1));
	end(test, 0, 1);
	result_drop();
	START(test, .flags = RDMA_CMX_AI_SA, .service = "b");
	fake_say(first_query(test, 1, SERVICE_REC), NULL, -ECONNREFUSED);
	respond_services(test, 2, fake_services(0, "b"));
	end(test, -ECONNREFUSED, 0);
	/* An SA that is silent until the deadline does not, either. */
	START(test, .flags = RDMA_CMX_AI_SA | RDMA_CMX_AI_NOROUTE,
	      .service = "target2");
	respond_services(test, 2, fake_services(2, "target2"));
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(cmx_sa_held(INVALID_UID)));
	/* The deadline passes. */
	flush_delayed_work(&caller->q->deadline);
	end(test, 0, 2);
	result_drop();
}

static void pipeline_silent(struct kunit *test)
{
	START(test, .flags = RDMA_CMX_AI_SA, .service = "target",
	      .timeout_ms = 20);
	end(test, -ETIMEDOUT, 0);
	/* Without a path response the result has no routes. */
	param_set(test, cmx_kunit_module(), "route_timeout_ms", 20);
	START(test, .flags = RDMA_CMX_AI_FAMILY, .family = AF_IB,
	      .node = "fe80::100", .qp_type = IB_QPT_RC);
	end(test, 0, 1);
	KUNIT_EXPECT_EQ(test, caller->res->entries[0].route_count, 0u);
	KUNIT_EXPECT_EQ(test, caller->res->entries[0].port_num, 1u);
	result_drop();
}

static void pipeline_cancel(struct kunit *test)
{
	START(test, .flags = RDMA_CMX_AI_SA, .service = "target");
	cmx_sa_lookup_put(first_query(test, 1, SERVICE_REC));
	cancelled(test);
	/* A response now completes no query, but is cached. */
	respond_services(test, 1, services_of(1, 1));
	respond_services(test, 2, services_of(2, 1));
	KUNIT_EXPECT_EQ(test, atomic_read(&caller->calls), 0);

	START(test, .flags = RDMA_CMX_AI_SA, .service = "target");
	cmx_sa_lookup_put(first_query(test, 1, PATH_REC));
	cmx_sa_lookup_put(first_query(test, 2, PATH_REC));
	cancelled(test);
	respond_paths(test, 1, 1);
	respond_paths(test, 2, 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&caller->calls), 0);

	START(test, .flags = RDMA_CMX_AI_SA, .service = "target");
	end(test, 0, 2);
	result_drop();
}

/* The device is removed while queries to its SAs are outstanding. */
static void pipeline_removal(struct kunit *test)
{
	START(test, .flags = RDMA_CMX_AI_SA, .service = "target");
	cmx_sa_lookup_put(first_query(test, 1, SERVICE_REC));
	cmx_sa_lookup_put(first_query(test, 2, SERVICE_REC));
	fake_down(&fake);
	end(test, -ENODEV, 0);
}

/* No more paths than the query requests, none to another GID: GAI-09 */
static void pipeline_paths(struct kunit *test)
{
	struct rdma_cmx_query_attr attr = {
		.flags = RDMA_CMX_AI_FAMILY, .family = AF_IB,
		.node = "fe80::100", .qp_type = IB_QPT_RC,
	};
	const struct rdma_cmx_entry *e;
	struct cmx_sa_lookup *l;
	struct cmx_sa_response *answer;
	u32 wanted, i;

	start_attr(test, &attr);
	l = first_query(test, 1, PATH_REC);
	wanted = l->key.query.rec[49] & 0x7f;	/* NumbPath */
	cmx_sa_lookup_put(l);
	KUNIT_EXPECT_GT(test, wanted, 0u);
	respond_paths(test, 1, 3000);
	end(test, 0, 1);
	e = caller->res->entries;
	KUNIT_EXPECT_EQ(test, e->route_count, wanted);
	KUNIT_ASSERT_GT(test, e->route_count, 0u);
	/* Primary first, the others are alternates: ibv_path_data */
	for (i = 0; i < min(e->route_count, wanted); i++) {
		KUNIT_EXPECT_EQ(test, e->route[i].flags,
				IB_PATH_BIDIRECTIONAL |
				(i ? IB_PATH_ALTERNATE :
				 IB_PATH_GMP | IB_PATH_PRIMARY));
		KUNIT_EXPECT_EQ(test, ((u8 *)e->route[i].path_rec)[41], i);
	}
	result_drop();

	fake_generation(&fake);
	start_attr(test, &attr);
	l = first_query(test, 1, PATH_REC);
	answer = cmx_sa_response_alloc(2, 64);
	KUNIT_ASSERT_NOT_NULL(test, answer);
	memcpy(answer->data, l->key.query.rec, 64);
	memcpy(answer->data + 64, l->key.query.rec, 64);
	answer->data[8 + 15] ^= 1;	/* another DGID */
	fake_say(l, answer, 0);
	end(test, 0, 1);
	KUNIT_EXPECT_EQ(test, caller->res->entries[0].route_count, 1u);
	result_drop();

	/* Records beyond NumbPath are not searched for one that fits. */
	fake_generation(&fake);
	start_attr(test, &attr);
	l = first_query(test, 1, PATH_REC);
	answer = cmx_sa_response_alloc(wanted + 1, 64);
	KUNIT_ASSERT_NOT_NULL(test, answer);
	for (i = 0; i <= wanted; i++) {
		memcpy(answer->data + i * 64, l->key.query.rec, 64);
		answer->data[i * 64 + 8 + 15] ^= i < wanted;
	}
	fake_say(l, answer, 0);
	end(test, 0, 1);
	KUNIT_EXPECT_EQ(test, caller->res->entries[0].route_count, 0u);
	KUNIT_EXPECT_EQ(test, caller->res->entries[0].error, -ENOENT);
	result_drop();

	/* Without a path the GID is unreachable: GAI-08. */
	fake_generation(&fake);
	start_attr(test, &attr);
	respond_paths(test, 1, 0);
	end(test, 0, 1);
	KUNIT_EXPECT_EQ(test, caller->res->entries[0].src.sa.sa_family, 0);
	KUNIT_EXPECT_EQ(test, caller->res->entries[0].port_num, 0u);
	result_drop();
}

/* hints.ai_route: the query has the fields that are not 0. */
static void pipeline_limits(struct kunit *test)
{
	struct ib_path_rec_data limit = {};
	struct rdma_cmx_query_attr attr = {
		.flags = RDMA_CMX_AI_FAMILY, .family = AF_IB,
		.node = "fe80::100", .qp_type = IB_QPT_RC,
		.route = &limit, .route_count = 1,
	};
	u8 *rec = (u8 *)limit.path_rec;
	struct cmx_sa_lookup *l;

	rec[40] = 0x12;		/* DLID */
	rec[41] = 0x34;
	rec[44] = 0xff;		/* RawTraffic and reserved, FlowLabel */
	rec[45] = 0x01;
	rec[46] = 0x02;
	rec[53] = 0x05;		/* QosClass 0, SL */
	start_attr(test, &attr);
	l = first_query(test, 1, PATH_REC);
	/* 15.2.5.16: the bits of DLID, FlowLabel and SL only */
	KUNIT_EXPECT_EQ(test, be64_to_cpu(l->key.query.comp_mask) &
			(BIT(4) | BIT(5) | BIT(6) | BIT(8) | BIT(9) | BIT(14) |
			 BIT(15) | BIT(16) | BIT(17) | BIT(18)),
			(u64)(BIT(4) | BIT(8) | BIT(15)));
	KUNIT_EXPECT_EQ(test, l->key.query.rec[40], 0x12);
	KUNIT_EXPECT_EQ(test, l->key.query.rec[41], 0x34);
	KUNIT_EXPECT_EQ(test, l->key.query.rec[44], 0x0f);
	KUNIT_EXPECT_EQ(test, l->key.query.rec[45], 0x01);
	KUNIT_EXPECT_EQ(test, l->key.query.rec[46], 0x02);
	KUNIT_EXPECT_EQ(test, l->key.query.rec[53] & 0x0f, 0x05);
	cmx_sa_lookup_put(l);
	cancelled(test);
	/* A route to another GID: no entry, and no query */
	rec[8] = 0xfe;
	rec[9] = 0x80;
	rec[23] = 0x77;
	start_attr(test, &attr);
	end(test, 0, 1);
	KUNIT_EXPECT_EQ(test, caller->res->entries[0].route_count, 0u);
	result_drop();
}

/* A rejected response ends the query. No response is kept unused. */
static void pipeline_memory(struct kunit *test)
{
	const struct rdma_cmx_entry *e;
	u32 i;

	param_set(test, cmx_kunit_module(), "sa_kb_per_user", 1);
	/* The SA of port 2 is silent. */
	START(test, .flags = RDMA_CMX_AI_SA, .service = "target");
	respond_services(test, 1, services_of(1, 100));
	end(test, -EAGAIN, 0);
	KUNIT_EXPECT_EQ(test, cmx_sa_held(INVALID_UID), 0ul);
	respond_services(test, 2, services_of(2, 0));

	fake_generation(&fake);
	START(test, .flags = RDMA_CMX_AI_SA, .service = "target");
	respond_services(test, 1, services_of(1, 1));
	KUNIT_EXPECT_TRUE(test, WAIT_FOR(cmx_sa_held(INVALID_UID)));
	respond_services(test, 2, services_of(2, 0));
	/* The services are merged when the path is queried. */
	KUNIT_ASSERT_TRUE(test,
			  WAIT_FOR(READ_ONCE(fake.port[1]->sched.nr_running)));
	KUNIT_EXPECT_EQ(test, cmx_sa_held(INVALID_UID), 0ul);
	respond_paths(test, 1, 20);
	end(test, 0, 1);
	rdma_cmx_for_each_entry(e, i, caller->res) {
		KUNIT_EXPECT_EQ(test, e->route_count, 0u);
		KUNIT_EXPECT_EQ(test, e->error, -EAGAIN);
	}
	result_drop();
	KUNIT_EXPECT_EQ(test, cmx_sa_held(INVALID_UID), 0ul);
}

static struct kunit_case pipeline_cases[] = {
	KUNIT_CASE(pipeline_services),
	KUNIT_CASE(pipeline_merge),
	KUNIT_CASE(pipeline_strange),
	KUNIT_CASE(pipeline_partial),
	KUNIT_CASE(pipeline_silent),
	KUNIT_CASE(pipeline_cancel),
	KUNIT_CASE(pipeline_removal),
	KUNIT_CASE(pipeline_paths),
	KUNIT_CASE(pipeline_limits),
	KUNIT_CASE(pipeline_memory),
	{}
};

static struct kunit_suite pipeline_suite = {
	.name = "cmx_pipeline",
	.init = pipeline_init,
	.exit = pipeline_exit,
	.test_cases = pipeline_cases,
};

kunit_test_suite(pipeline_suite);
