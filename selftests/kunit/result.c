// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The order of a result, GAI-03, GAI-08, GAI-10, GAI-14: first the addresses
 * that a local RDMA device reaches, then those that routing reaches, then the
 * rest, both without a source; within each the order of the resolver.
 */
#include <linux/slab.h>
#include <rdma/ib_sa.h>

#include "resolve/paths.h"
#include "kunit.h"

#define PATHS_MAX	64

static struct cmx_dest *paths_make(struct kunit *test, u32 n)
{
	struct cmx_dest *dests;
	u32 i;

	dests = kunit_kzalloc(test, PATHS_MAX * sizeof(*dests), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dests);
	for (i = 0; i < n; i++) {
		dests[i].dst.in.sin_family = AF_INET;
		dests[i].dst.in.sin_addr.s_addr = htonl(0x0a000000 + i);
		dests[i].rank = kunit_random(3);
		if (dests[i].rank != CMX_RANK_UNREACHED) {
			dests[i].src.in.sin_family = AF_INET;
			dests[i].src.in.sin_addr.s_addr = htonl(0x0a010000 + i);
		} else {
			/* The source of an earlier attempt is ignored. */
			memset(&dests[i].src, 0x5a, sizeof(dests[i].src));
			dests[i].src.sa.sa_family = 0;
		}
		if (dests[i].rank == CMX_RANK_RDMA)
			dests[i].port_num = 1;
	}
	return dests;
}

static struct rdma_cmx_result *build(const struct cmx_hints *h,
				     const struct cmx_dest *dests, u32 n,
				     const char *canonname)
{
	struct cmx_candidates cands = {
		.canonname = canonname,
		.canon_len = canonname ? strlen(canonname) : 0,
	};
	struct cmx_paths paths = { .h = h, .dests = dests };

	return cmx_result_build(h, &cands, dests, n, &paths, NULL);
}

/* The next path in the order, which updates @seen */
static int next_path(const struct cmx_dest *dests, u32 n, bool *seen)
{
	u32 rank, i;

	for (rank = 0; rank < 3; rank++) {
		for (i = 0; i < n; i++) {
			if (dests[i].rank == rank && !seen[i]) {
				seen[i] = true;
				return i;
			}
		}
	}
	return -1;
}

static void result_check(struct kunit *test, const struct cmx_hints *h,
			 const struct cmx_dest *dests, u32 n)
{
	static const union rdma_cmx_sockaddr none;
	u32 types = h->qp_type ? 1 : 2, i, k = 0, t;
	bool seen[PATHS_MAX] = {};
	struct rdma_cmx_result *res;
	int p;

	res = build(h, dests, n, "host.example");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, res);
	KUNIT_ASSERT_EQ(test, res->count, n * types);
	KUNIT_EXPECT_STREQ(test, res->canonname, "host.example");
	for (i = 0; i < n; i++) {
		p = next_path(dests, n, seen);
		for (t = 0; t < types; t++, k++) {
			const struct rdma_cmx_entry *e = &res->entries[k];
			bool ud = h->qp_type ? h->qp_type == 4 : t;

			KUNIT_EXPECT_EQ(test, e->dst.in.sin_addr.s_addr,
					dests[p].dst.in.sin_addr.s_addr);
			KUNIT_EXPECT_EQ(test, e->qp_type, ud ? 4u : 2u);
			KUNIT_EXPECT_EQ(test, e->port_space,
					ud ? 0x111u : 0x106u);
			KUNIT_EXPECT_EQ(test, e->port_num, dests[p].port_num);
			KUNIT_EXPECT_EQ(test, e->route_count, 0u);
			KUNIT_EXPECT_EQ(test, e->connect_len, 0u);
			KUNIT_EXPECT_FALSE(test, memcmp(&e->src,
							dests[p].rank ?
							&none : &dests[p].src,
							sizeof(e->src)));
		}
	}
	rdma_cmx_result_put(res);
}

static void result_order(struct kunit *test)
{
	static const struct cmx_hints any = {};
	static const struct cmx_hints rc = {
		.qp_type = IB_QPT_RC, .port_space = RDMA_PS_TCP,
	};
	static const struct cmx_hints ud = {
		.qp_type = IB_QPT_UD, .port_space = RDMA_PS_UDP,
	};
	struct cmx_dest *dests;
	u32 round, n;

	for (round = 0; round < 100; round++) {
		n = kunit_random(PATHS_MAX + 1);
		dests = paths_make(test, n);
		result_check(test, &any, dests, n);
		result_check(test, &rc, dests, n);
		result_check(test, &ud, dests, n);
		kunit_kfree(test, dests);
	}
}

/* The header before private data when addresses are GIDs */
static void result_connect(struct kunit *test)
{
	static const u32 spaces[] = { 0x106, 0x111, 0x13f };
	struct cmx_hints h = { .qp_type = IB_QPT_RC, .port = 4420 };
	struct rdma_cmx_result *res;
	struct cmx_dest dest = {
		.rank = CMX_RANK_RDMA, .port_num = 1, .ib = true,
	};
	const u8 *data;
	u32 i;

	dest.dst.ib.sib_family = AF_IB;
	dest.dst.ib.sib_addr.sib_raw[15] = 2;
	dest.src.ib.sib_family = AF_IB;
	dest.src.ib.sib_addr.sib_raw[15] = 1;
	for (i = 0; i < ARRAY_SIZE(spaces); i++) {
		h.port_space = spaces[i];
		res = build(&h, &dest, 1, NULL);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, res);
		KUNIT_EXPECT_PTR_EQ(test, res->canonname, (const char *)NULL);
		KUNIT_EXPECT_EQ(test, res->entries[0].connect_len,
				spaces[i] == 0x13f ? 0u : 36u);
		KUNIT_EXPECT_EQ(test,
				be64_to_cpu(res->entries[0].dst.ib.sib_sid),
				((u64)spaces[i] << 16) + 4420);
		data = res->entries[0].connect;
		if (res->entries[0].connect_len) {
			/* IP version 0, no port, source, destination */
			KUNIT_EXPECT_NULL(test, memchr_inv(data, 0, 19));
			KUNIT_EXPECT_EQ(test, data[19], 1);
			KUNIT_EXPECT_NULL(test, memchr_inv(data + 20, 0, 15));
			KUNIT_EXPECT_EQ(test, data[35], 2);
		}
		rdma_cmx_result_put(res);
	}
}

/* Without a node, GAI-04, GAI-07: the loopback address, passive the wildcard */
static void result_local(struct kunit *test)
{
	static const u16 families[] = { 0, AF_INET, AF_INET6, AF_IB };
	struct cmx_candidates cands;
	struct cmx_hints h;
	u32 i, passive, k;
	u8 last;

	for (passive = 0; passive < 2; passive++) {
		for (i = 0; i < ARRAY_SIZE(families); i++) {
			memset(&h, 0, sizeof(h));
			h.family = families[i];
			h.flags = passive ? RDMA_CMX_AI_PASSIVE : 0;
			h.has_port = true;
			h.port = 4420;
			h.port_space = RDMA_PS_TCP;
			KUNIT_ASSERT_EQ(test, 0,
					cmx_candidates_local(&h, &cands));
			KUNIT_ASSERT_EQ(test, cands.count,
					families[i] ? 1u : 2u);
			for (k = 0; k < cands.count; k++) {
				union rdma_cmx_sockaddr *a = &cands.fixed[k];

				if (families[i])
					KUNIT_EXPECT_EQ(test, a->sa.sa_family,
							families[i]);
				KUNIT_EXPECT_EQ(test, cmx_addr_is_any(a),
						passive);
				if (a->sa.sa_family == AF_INET)
					last = ((u8 *)&a->in.sin_addr)[3];
				else if (a->sa.sa_family == AF_INET6)
					last = a->in6.sin6_addr.s6_addr[15];
				else
					last = a->ib.sib_addr.sib_raw[15];
				KUNIT_EXPECT_EQ(test, last, !passive);
			}
			/* Neither a port nor another hint */
			h.has_port = false;
			h.port = 0;
			KUNIT_EXPECT_EQ(test, cmx_candidates_local(&h, &cands),
					passive ? 0 : -ENOENT);
		}
	}
}

/* In the memory of the caller if it fits, and not past its end */
static void result_room(struct kunit *test)
{
	static const struct cmx_hints any = {};
	const struct cmx_candidates cands = {
		.canonname = "host.example", .canon_len = 12,
	};
	const size_t need = struct_size((struct rdma_cmx_result *)NULL,
					entries, 2) + 13;
	struct cmx_dest *dests = paths_make(test, 1);
	struct cmx_paths paths = { .h = &any, .dests = dests };
	struct cmx_caller caller = {};
	struct rdma_cmx_result *res;
	u8 *room;

	room = kunit_kzalloc(test, need + 64, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, room);
	caller.room = (struct rdma_cmx_result *)room;
	for (caller.room_size = need - 1; caller.room_size <= need + 1;
	     caller.room_size++) {
		bool fits = caller.room_size >= need;

		memset(room, 0x5a, need + 64);
		res = cmx_result_build(&any, &cands, dests, 1, &paths, &caller);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, res);
		KUNIT_EXPECT_EQ(test, res == caller.room, fits);
		KUNIT_EXPECT_EQ(test, res->count, 2u);
		KUNIT_EXPECT_STREQ(test, res->canonname, "host.example");
		KUNIT_EXPECT_NULL(test, memchr_inv(room + (fits ? need : 0),
						   0x5a, 64 + (fits ? 0 : need)));
		if (res != caller.room)
			rdma_cmx_result_put(res);
	}
}

static struct kunit_case result_cases[] = {
	KUNIT_CASE(result_order),
	KUNIT_CASE(result_connect),
	KUNIT_CASE(result_local),
	KUNIT_CASE(result_room),
	{}
};

static struct kunit_suite result_suite = {
	.name = "cmx_result",
	.test_cases = result_cases,
};

kunit_test_suite(result_suite);
