// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A failure of an id drops the path of its destination from the cache, which
 * others use, too, if it says that this path is invalid: not if the peer has
 * rejected the request, if the query for a path had little time, or if the id
 * had another path than the cache.
 */
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_cm.h>

#include "any.h"
#include "resolve/resolve.h"
#include "kunit.h"

#define DLID	0x21
#define SLID	0x11

static struct fake fake;

struct bed {
	struct ucmx_file file;
	struct ucmx_id *id;
	struct rdma_cm_id cm;
	struct sa_path_rec path;
	struct cmx_sched_waiter waiter;
	struct completion cached;
};

/*
 * The reasons of a REJ are those of the CM. The device has the capability only
 * while no client adds or removes it.
 */
static void cm_set(bool has)
{
	u32 *flags = &fake.ibdev->port_data[1].immutable.core_cap_flags;

	*flags = has ? *flags | RDMA_CORE_CAP_IB_CM :
		       *flags & ~RDMA_CORE_CAP_IB_CM;
}

static int failed_init(struct kunit *test)
{
	int ret = fake_up(&fake);

	if (!ret)
		cm_set(true);
	param_set(test, cmx_kunit_module(), "sa_timeout_ms", 60000);
	return ret;
}

static void failed_exit(struct kunit *test)
{
	if (fake.ibdev)
		cm_set(false);
	fake_down(&fake);
	params_restore(test);
}

/* An id of fe80::1 to fe80::2, with an address and without a path */
static struct bed *bed_make(struct kunit *test)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct rdma_dev_addr *dev;

	KUNIT_ASSERT_NOT_NULL(test, b);
	ucmx_file_init(&b->file, NULL);
	b->id = ucmx_id_alloc(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, b->id);
	b->id->file = &b->file;
	/* The file has unread events of all types: no more are added. */
	atomic_set(&b->id->unsolicited, -1);
	b->cm.context = b->id;
	b->cm.device = fake.ibdev;
	b->cm.port_num = 1;
	b->cm.ps = RDMA_PS_TCP;
	b->cm.qp_type = IB_QPT_RC;
	b->cm.route.addr.src_addr.ss_family = AF_INET;
	b->cm.route.addr.dst_addr.ss_family = AF_INET;
	dev = &b->cm.route.addr.dev_addr;
	dev->net = &init_net;
	rdma_addr_set_sgid(dev, &(union ib_gid){ .raw = { 0xfe, 0x80, [15] = 1 } });
	rdma_addr_set_dgid(dev, &(union ib_gid){ .raw = { 0xfe, 0x80, [15] = 2 } });
	ib_addr_set_pkey(dev, 0xffff);
	return b;
}

static void bed_end(struct bed *b)
{
	ucmx_id_put(b->id);
}

static void path_done(struct cmx_sched_waiter *waiter, void *answer, int error)
{
	complete(&container_of(waiter, struct bed, waiter)->cached);
}

static bool path_is_cached(struct kunit *test, struct bed *b)
{
	struct cmx_sa_response *answer = NULL;
	struct cmx_sa_query q;
	struct cmx_sa_port *port = cmx_cached_path_query(&b->cm, 0, &q);

	KUNIT_ASSERT_FALSE(test, IS_ERR(port));
	if (!cmx_sa_peek(port, &init_net, &q, &answer))
		cmx_sa_response_put(answer);
	cmx_sa_port_put(port);
	return answer;
}

/* The cache has the path, and the id, too. */
static void path_cache(struct kunit *test, struct bed *b)
{
	struct cmx_sa_query q;
	struct cmx_sa_port *port = cmx_cached_path_query(&b->cm, 0, &q);
	struct cmx_sa_response *answer = cmx_sa_response_alloc(1, 64);
	u8 *rec;

	KUNIT_ASSERT_FALSE(test, IS_ERR(port));
	KUNIT_ASSERT_NOT_NULL(test, answer);
	rec = (u8 *)cmx_sa_response_rec(answer, 0);
	memcpy(rec, q.rec, 64);
	rec[41] = DLID;
	rec[43] = SLID;
	cmx_path_unpack(rec, &b->path);
	KUNIT_EXPECT_EQ(test, be16_to_cpu(b->path.ib.dlid), DLID);
	b->cm.route.path_rec = &b->path;
	b->cm.route.num_pri_alt_paths = 1;
	b->id->path_cached = true;
	if (!path_is_cached(test, b)) {
		init_completion(&b->cached);
		b->waiter.done = path_done;
		KUNIT_ASSERT_EQ(test, 0, cmx_sa_lookup(port, &init_net,
						       KUIDT_INIT(1000), &q,
						       &b->waiter));
		KUNIT_ASSERT_TRUE(test, WAIT_FOR(READ_ONCE(port->sched.nr_running)));
		fake_say(fake_lookup(port), answer, 0);
		wait_for_completion(&b->cached);
	} else {
		cmx_sa_response_put(answer);
	}
	cmx_sa_port_put(port);
	KUNIT_ASSERT_TRUE(test, path_is_cached(test, b));
}

static void event(struct bed *b, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event e = { .event = type, .status = status };

	ucmx_cm_handler(&b->cm, &e);
}

static void failed_drops(struct kunit *test)
{
	static const struct {
		enum rdma_cm_event_type type;
		int status;
	} is[] = {
		{ RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT },
		{ RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL },
		{ RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL },
		{ RDMA_CM_EVENT_REJECTED, IB_CM_REJ_INVALID_GID },
		{ RDMA_CM_EVENT_REJECTED, IB_CM_REJ_INVALID_PACKET_RATE },
		{ RDMA_CM_EVENT_REJECTED, IB_CM_REJ_INVALID_MTU },
		{ RDMA_CM_EVENT_REJECTED, IB_CM_REJ_INVALID_FLOW_LABEL },
	};
	struct bed *b = bed_make(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(is); i++) {
		path_cache(test, b);
		event(b, is[i].type, is[i].status);
		KUNIT_EXPECT_FALSE_MSG(test, path_is_cached(test, b), "%d", i);
	}
	/* Its query had another result than that of others. */
	path_cache(test, b);
	b->cm.route.path_rec = NULL;
	b->cm.route.num_pri_alt_paths = 0;
	event(b, RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL);
	KUNIT_EXPECT_FALSE(test, path_is_cached(test, b));
	/* The query was rdma_cm's, which leaves a record without contents. */
	path_cache(test, b);
	memset(&b->path, 0x6b, sizeof(b->path));
	b->cm.route.num_pri_alt_paths = 0;
	event(b, RDMA_CM_EVENT_ROUTE_ERROR, -EINVAL);
	KUNIT_EXPECT_FALSE(test, path_is_cached(test, b));
	bed_end(b);
}

/* A user may provoke each of these. */
static void failed_keeps(struct kunit *test)
{
	struct bed *b = bed_make(test);
	int reason;

	path_cache(test, b);
	for (reason = IB_CM_REJ_NO_QP; reason < 64; reason++) {
		if ((reason >= IB_CM_REJ_INVALID_GID &&
		     reason <= IB_CM_REJ_INVALID_PACKET_RATE) ||
		    reason == IB_CM_REJ_INVALID_MTU ||
		    reason == IB_CM_REJ_INVALID_FLOW_LABEL)
			continue;
		event(b, RDMA_CM_EVENT_REJECTED, reason);
		KUNIT_EXPECT_TRUE_MSG(test, path_is_cached(test, b), "%d",
				      reason);
		path_cache(test, b);
	}
	event(b, RDMA_CM_EVENT_UNREACHABLE, 1);
	KUNIT_EXPECT_TRUE(test, path_is_cached(test, b));
	path_cache(test, b);
	b->cm.route.path_rec = NULL;
	event(b, RDMA_CM_EVENT_ROUTE_ERROR, -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, path_is_cached(test, b));
	bed_end(b);
}

/* SET_OPTION: the peer is not at this LID, or does not accept this path. */
static void failed_of_user(struct kunit *test)
{
	struct bed *b = bed_make(test);

	path_cache(test, b);
	b->path.ib.dlid = cpu_to_be16(DLID + 1);
	event(b, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, path_is_cached(test, b));
	path_cache(test, b);
	b->path.sl ^= 1;
	event(b, RDMA_CM_EVENT_REJECTED, IB_CM_REJ_INVALID_SL);
	KUNIT_EXPECT_TRUE(test, path_is_cached(test, b));
	bed_end(b);
}

/*
 * rdma_cm reports a changed neighbour like a REQ without a reply, but the REQ
 * is still outstanding.
 */
static void failed_outstanding(struct kunit *test)
{
	static const struct {
		enum rdma_cm_event_type type;
		int status;
		bool outstanding;
	} is[] = {
		{ RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT, true },
		{ RDMA_CM_EVENT_UNREACHABLE, 1, false },
		{ RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL, false },
		{ RDMA_CM_EVENT_REJECTED, IB_CM_REJ_NO_QP, false },
		{ RDMA_CM_EVENT_CONNECT_RESPONSE, 0, false },
		{ RDMA_CM_EVENT_DISCONNECTED, 0, false },
	};
	struct bed *b = bed_make(test);
	int i;

	for (i = 0; i < ARRAY_SIZE(is); i++) {
		b->id->cm_outstanding = true;
		event(b, is[i].type, is[i].status);
		KUNIT_EXPECT_EQ_MSG(test, b->id->cm_outstanding,
				    is[i].outstanding, "%d", i);
	}
	/* The path is dropped once for a request. */
	path_cache(test, b);
	event(b, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, path_is_cached(test, b));
	KUNIT_EXPECT_FALSE(test, b->id->path_cached);
	bed_end(b);
}

/* Nor does it end the deadline of a CONNECT that waits for a slot. */
static void failed_waiting(struct kunit *test)
{
	struct ucmx_any *any = kunit_kzalloc(test, sizeof(*any), GFP_KERNEL);
	struct bed *b = bed_make(test);

	KUNIT_ASSERT_NOT_NULL(test, any);
	any->armed = true;
	b->id->any = any;
	b->id->connect = (struct ucmx_connect *)b;
	event(b, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	KUNIT_EXPECT_TRUE(test, any->armed);
	b->id->connect = NULL;
	event(b, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, any->armed);
	b->id->any = NULL;
	bed_end(b);
}

static struct kunit_case failed_cases[] = {
	KUNIT_CASE(failed_drops),
	KUNIT_CASE(failed_keeps),
	KUNIT_CASE(failed_of_user),
	KUNIT_CASE(failed_outstanding),
	KUNIT_CASE(failed_waiting),
	{}
};

static struct kunit_suite failed_suite = {
	.name = "ucmx_path_failed",
	.init = failed_init,
	.exit = failed_exit,
	.test_cases = failed_cases,
};

kunit_test_suite(failed_suite);
