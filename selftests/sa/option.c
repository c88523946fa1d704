// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: RDMA_OPTION_IB_PATH on InfiniBand sets the path of a result, unchanged
 * or changed, instead of a path query. Each test is a separate process.
 */
#include <string.h>

#include "sa.h"

#define SL	3
#define PATHS	400

FIXTURE(option) {
	struct rdma_event_channel *channel;
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	struct ibv_path_data path;
	char cache_ms[32];
};

FIXTURE_SETUP(option)
{
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_FAMILY,
		.ai_family = AF_IB,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_IB,
	};

	/* Each route queries the SA. */
	ASSERT_TRUE(parameter_set("sa_cache_ms", "0", self->cache_ms));
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_getaddrinfo(gid_text(DEV_OTHER), "1", &hints,
				      &self->res));
	ASSERT_LE(sizeof(self->path), self->res->ai_route_len);
	memcpy(&self->path, self->res->ai_route, sizeof(self->path));
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_IB));
	ASSERT_EQ(0, rdma_resolve_addr(self->id, self->res->ai_src_addr,
				       self->res->ai_dst_addr, 30000));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  event_take(self->channel, NULL));
}

FIXTURE_TEARDOWN(option)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_freeaddrinfo(self->res);
	rdma_destroy_event_channel(self->channel);
	paths_lost(false);
	EXPECT_TRUE(parameter_set("sa_cache_ms", self->cache_ms, NULL));
}

static int path_set(struct rdma_cm_id *id, void *path, size_t len)
{
	return rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, path,
			       len);
}

/* The id has the path without a query, since queries are dropped. */
static void path_check(struct __test_metadata *_metadata,
		       FIXTURE_DATA(option) *self, unsigned int sl)
{
	const struct ibv_path_record *want = &self->path.path;
	const struct ibv_sa_path_rec *rec;
	int status = 1;

	ASSERT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	ASSERT_EQ(1, self->id->route.num_paths);
	rec = self->id->route.path_rec;
	EXPECT_EQ(0, memcmp(&want->dgid, &rec->dgid, sizeof(rec->dgid)));
	EXPECT_EQ(0, memcmp(&want->sgid, &rec->sgid, sizeof(rec->sgid)));
	EXPECT_EQ(want->dlid, rec->dlid);
	EXPECT_EQ(want->slid, rec->slid);
	EXPECT_EQ(want->pkey, rec->pkey);
	EXPECT_EQ(want->mtu & 0x3f, rec->mtu);
	EXPECT_EQ(sl, rec->sl);
}

TEST_F(option, RA_02_path_of_an_answer)
{
	ASSERT_EQ(0, paths_lost(true));
	ASSERT_EQ(0, path_set(self->id, self->res->ai_route,
			      self->res->ai_route_len));
	path_check(_metadata, self,
		   be16toh(self->path.path.qosclass_sl) & 0xf);
	/* A second route fails. */
	errno = 0;
	EXPECT_EQ(-1, path_set(self->id, &self->path, sizeof(self->path)));
	EXPECT_EQ(EINVAL, errno);
}

/* The first record with the flags of a complete path is used. */
TEST_F(option, RA_02_path_of_ones_own)
{
	struct ibv_path_data paths[3] = { self->path, self->path, self->path };

	ASSERT_EQ(0, paths_lost(true));
	paths[0].flags = IBV_PATH_FLAG_GMP;
	paths[1].path.qosclass_sl = htobe16(SL);
	ASSERT_EQ(0, path_set(self->id, paths, sizeof(paths)));
	path_check(_metadata, self, SL);
}

TEST_F(option, RA_02_path_that_is_none)
{
	struct ibv_path_data path = self->path;

	errno = 0;
	EXPECT_EQ(-1, path_set(self->id, &path, sizeof(path) - 1));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, path_set(self->id, &path, 0));
	EXPECT_EQ(EINVAL, errno);
	path.flags = IBV_PATH_FLAG_PRIMARY;
	errno = 0;
	EXPECT_EQ(-1, path_set(self->id, &path, sizeof(path)));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	/* rdma_resolve_route() still works. */
	ASSERT_EQ(0, rdma_resolve_route(self->id, 30000));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, NULL));
}

/* Allocated objects of the sizes that a path record may have */
static long long records(void)
{
	return bash_number("for n in 64 96 128 192; do"
			   " echo 1 >/sys/kernel/slab/kmalloc-$n/shrink; done;"
			   " awk '/^kmalloc-(64|96|128|192) / { n += $2 }"
			   " END { print n }' /proc/slabinfo");
}

/* Replaces a route that cannot be resolved by a path of the caller. */
static int path_after_error(struct rdma_event_channel *channel,
			    FIXTURE_DATA(option) *self)
{
	struct rdma_cm_id *id;
	int ret;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_IB))
		return -1;
	ret = rdma_resolve_addr(id, self->res->ai_src_addr,
				self->res->ai_dst_addr, 30000) ||
	      event_take(channel, NULL) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	      rdma_resolve_route(id, 1) ||
	      event_take(channel, NULL) != RDMA_CM_EVENT_ROUTE_ERROR ||
	      path_set(id, &self->path, sizeof(self->path)) ||
	      event_take(channel, NULL) != RDMA_CM_EVENT_ROUTE_RESOLVED;
	return rdma_destroy_id(id) ?: ret;
}

TEST_F(option, SEC_path_after_error_leaves_nothing)
{
	long long before, end;
	int i;

	ASSERT_EQ(0, paths_lost(true));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, path_after_error(self->channel, self));
	before = records();
	ASSERT_LT(0, before);
	for (i = 0; i < PATHS; i++)
		ASSERT_EQ(0, path_after_error(self->channel, self));
	/* Other programs allocate and free such objects, too. */
	for (end = now_ms() + WAIT_MS;
	     records() >= before + PATHS / 2 && now_ms() < end;)
		usleep(500000);
	EXPECT_GT(before + PATHS / 2, records());
}

TEST_HARNESS_MAIN
