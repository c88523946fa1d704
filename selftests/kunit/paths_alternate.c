// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * KA-09: the second path to a destination: other LIDs, another port of this
 * host, another destination, another port of the peer, which the SAs list:
 * rdma_cmx_path.h.
 */
#include <net/net_namespace.h>

#include "paths.h"
#include "resolve/prefetch.h"

/* Responds with one record, with @dlid. */
static void respond_lid(struct kunit *test, u32 port, u8 dlid)
{
	struct cmx_sa_response *answer = cmx_sa_response_alloc(1, 64);
	struct cmx_sa_lookup *l = paths_lookup(test, port);

	KUNIT_ASSERT_NOT_NULL(test, answer);
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
	struct cmx_sa_response *answer = NULL;
	struct cmx_sa_node_rec *rec;
	struct cmx_sa_lookup *l = paths_lookup(test, port);
	u32 i;

	KUNIT_EXPECT_EQ(test, l->key.query.attr_id,
			cpu_to_be16(IB_SA_ATTR_NODE_REC));
	if (!error) {
		answer = cmx_sa_response_alloc(count + !!count, sizeof(*rec));
		KUNIT_ASSERT_NOT_NULL(test, answer);
		memset(answer->data, 0, answer->len);
	}
	for (i = 0; !error && count && i <= count; i++) {
		rec = (void *)cmx_sa_response_rec(answer, i);
		rec->type = RDMA_NODE_IB_CA;
		rec->node_guid = cpu_to_be64(i == count ? 7 : node);
		rec->port_guid = i ? cpu_to_be64(0x7700 + i) :
				     first_guid;
	}
	fake_say(l, answer, error);
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
	union rdma_cmx_sockaddr alt = dests[9];
	struct rdma_cmx_path *path;

	/* Other LIDs of the same ports */
	START(test, &calls[0], .count = 1, .alternate = true);
	paths_respond(test, 1, 2, false, 0);
	call_end(test, &calls[0], 1, 1);
	expect_second(test, 1, 0x51, 0x21);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_dst.sa.sa_family, 0);
	call_drop(&calls[0]);
	/* The same LIDs again are no second path: the other port has one. */
	START(test, &calls[0], .dst = dests + 1, .count = 1, .alternate = true);
	paths_respond(test, 1, 4, true, 0);
	paths_respond(test, 2, 1, false, 0);
	call_end(test, &calls[0], 1, 1);
	expect_second(test, 2, 0x90, 0x20);
	path = calls[0].paths->paths;
	KUNIT_EXPECT_EQ(test, path->rec[1].sgid.raw[15], 2);
	KUNIT_EXPECT_EQ(test, path->rec[1].dgid.raw[15], 1);
	call_drop(&calls[0]);
	/* To another address of the peer */
	START(test, &calls[0], .dst = dests + 2, .alt_dst = &alt, .count = 1,
	      .alternate = true);
	paths_respond(test, 1, 1, false, 0);
	paths_respond(test, 2, 1, false, 0);
	call_end(test, &calls[0], 1, 1);
	expect_second(test, 2, 0x90, 0x20);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->rec[1].dgid.raw[15], 9);
	call_drop(&calls[0]);
	/* The other port has none; the first path is valid nevertheless. */
	START(test, &calls[0], .dst = dests + 3, .count = 1, .alternate = true);
	paths_respond(test, 1, 1, false, 0);
	paths_respond(test, 2, 0, false, 0);
	respond_node(test, 1, 0, 0);
	call_end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ENOENT);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_dst.sa.sa_family, 0);
	call_drop(&calls[0]);
	/* With a given port of the peer there is no search. */
	alt = dests[8];
	START(test, &calls[0], .dst = dests + 4, .alt_dst = &alt, .count = 1,
	      .alternate = true);
	paths_respond(test, 1, 1, false, 0);
	paths_respond(test, 2, 0, false, -EBADMSG);
	call_end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -EBADMSG);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_dst.sa.sa_family, 0);
	call_drop(&calls[0]);
}

/* Each destination has its own alternate one, or none: then it is the same. */
static void paths_alternate_dst(struct kunit *test)
{
	union rdma_cmx_sockaddr alt[3] = { dests[70], { }, dests[71] };
	const u8 want[] = { 70, 61, 71 };
	struct rdma_cmx_path *path;
	int i;

	START(test, &calls[0], .dst = dests + 60, .alt_dst = alt, .count = 3,
	      .alternate = true);
	for (i = 0; i < 3; i++)
		paths_respond(test, 1, 1, false, 0);
	for (i = 0; i < 3; i++)
		paths_respond(test, 2, 1, false, 0);
	call_end(test, &calls[0], 3, 3);
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
 * Up to the query for the node of dests[@i], which has a unique LID: the cache
 * has nothing of that node.
 */
static void peer_begin(struct kunit *test, u32 i)
{
	node = 0x70 + i;
	memcpy(&first_guid, dests[i].ib.sib_addr.sib_raw + 8, sizeof(first_guid));
	START(test, &calls[0], .dst = dests + i, .count = 1, .alternate = true);
	respond_lid(test, 1, 0x30 + i);
	paths_respond(test, 2, 0, false, 0);
}

/* A second path to another port of the peer */
static void paths_peer(struct kunit *test)
{
	struct rdma_cmx_paths_attr attr = {
		.net = &init_net, .alternate = true,
	};
	struct rdma_cmx_path *path;

	/* From the other port, whose SA knows two more ports of the node */
	peer_begin(test, 0);
	respond_node(test, 1, 1, 0);
	respond_node(test, 2, 3, 0);
	paths_respond(test, 2, 0, false, 0);
	paths_respond(test, 2, 1, false, 0);
	call_end(test, &calls[0], 1, 1);
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
	paths_respond(test, 2, 1, false, 0);
	call_end(test, &calls[0], 1, 1);
	expect_second(test, 2, 0x90, 0x20);
	call_drop(&calls[0]);

	/* From the first port: the other LID has to be the peer's. */
	peer_begin(test, 1);
	respond_node(test, 1, 1, 0);
	respond_node(test, 2, 0, -ECONNREFUSED);
	respond_node(test, 1, 3, 0);
	respond_lid(test, 1, 0x31);
	respond_lid(test, 1, 0x29);
	call_end(test, &calls[0], 1, 1);
	expect_second(test, 1, 0x50, 0x29);
	call_drop(&calls[0]);

	/* A node with one port */
	peer_begin(test, 2);
	respond_node(test, 1, 1, 0);
	respond_node(test, 2, 0, 0);
	respond_node(test, 1, 1, 0);
	call_end(test, &calls[0], 1, 1);
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
	struct cmx_worker *worker;
	unsigned long begun;
	u32 i;

	/* Many ports: four of each SA are tried. */
	peer_begin(test, 0);
	respond_node(test, 1, 1, 0);
	for (i = 2; i; i--) {
		respond_node(test, i, 200, 0);
		paths_respond(test, i, 0, false, 0);
		paths_respond(test, i, 0, false, 0);
		paths_respond(test, i, 0, false, 0);
		paths_respond(test, i, 0, false, i == 1 ? -EBADMSG : 0);
	}
	call_end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -EBADMSG);
	call_drop(&calls[0]);

	peer_begin(test, 1);
	respond_node(test, 1, 0, -ECONNREFUSED);
	call_end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ECONNREFUSED);
	call_drop(&calls[0]);

	begun = jiffies;
	peer_begin(test, 2);
	worker = calls[0].q->workers;
	/* Its timer, which is armed after the query, has the deadline. */
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(timer_pending(&worker->work.timer)));
	KUNIT_EXPECT_LE(test, worker->work.timer.expires - calls[0].q->expires,
			jiffies - begun);
	/* The deadline passes. */
	WRITE_ONCE(calls[0].q->expires, jiffies);
	flush_delayed_work(&worker->work);
	call_end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->error, 0);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ETIMEDOUT);
	call_drop(&calls[0]);
	KUNIT_EXPECT_EQ(test, paths_outstanding(1), 1u);
	respond_node(test, 1, 1, 0);

	peer_begin(test, 3);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(paths_outstanding(1)));
	KUNIT_EXPECT_TRUE(test, rdma_cmx_paths_cancel(calls[0].q));
	rdma_cmx_paths_query_put(calls[0].q);
	KUNIT_EXPECT_EQ(test, atomic_read(&calls[0].calls), 0);
	respond_node(test, 1, 1, 0);

	peer_begin(test, 4);
	KUNIT_ASSERT_TRUE(test, WAIT_FOR(paths_outstanding(1)));
	fake_down(&paths_fake);
	call_end(test, &calls[0], 1, 1);
	KUNIT_EXPECT_EQ(test, calls[0].paths->paths->alt_error, -ENODEV);
	call_drop(&calls[0]);
}

static struct kunit_case alternate_cases[] = {
	KUNIT_CASE(paths_alternate),
	KUNIT_CASE(paths_alternate_dst),
	KUNIT_CASE(paths_peer),
	KUNIT_CASE(paths_peer_faults),
	{}
};

static struct kunit_suite alternate_suite = {
	.name = "cmx_paths_alternate",
	.init = paths_init,
	.exit = paths_exit,
	.test_cases = alternate_cases,
};

kunit_test_suite(alternate_suite);
