// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * JOIN_MANY (MC-10): the events and errors of single items, items of other
 * sizes, memory that is not mapped or cannot be written.
 */
#include "mcast.h"

#include <sys/mman.h>

#define MANY	256

static void items_set(struct rdma_cmx_join_item *items, int count)
{
	char group[32];
	int i;

	memset(items, 0, count * sizeof(*items));
	for (i = 0; i < count; i++) {
		snprintf(group, sizeof(group), "239.56.%d.%d", i >> 8, i & 255);
		addr_set(&items[i].addr, group, 0);
		items[i].uid = 1000 + i;
	}
}

static unsigned int bytes_set(const uint8_t *bytes, size_t len)
{
	unsigned int n = 0;

	while (len--)
		n += bytes[len] != 0;
	return n;
}

/* MC-10 */
TEST_F(mcast, many_groups)
{
	struct rdma_cmx_join_item items[MANY];
	struct rdma_cmx_join_many arg = {
		.id = self->id,
		.items = (uintptr_t)items,
		.count = MANY,
		.item_size = sizeof(items[0]),
	};
	bool seen[MANY] = {};
	union event_buf buf;
	unsigned int i, k;

	items_set(items, MANY);
	ASSERT_EQ(0, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(MANY, arg.joined);
	EXPECT_EQ(MANY, counter("live_mcs"));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		k = buf.ev.obj_uid - 1000;
		ASSERT_GT(MANY, k);
		EXPECT_FALSE(seen[k]);
		seen[k] = true;
		EXPECT_EQ(0, items[k].error);
		EXPECT_EQ(items[k].mc, buf.ev.obj);
		/* The last four bytes of the MGID are the group's. */
		EXPECT_EQ(k & 255, buf.ev.param.ud.ah_attr.grh.dgid[15]);
	}
	for (i = 0; i < MANY; i += 2)
		EXPECT_EQ(1, mc_leave(self->fd, items[i].mc));
	EXPECT_EQ(MANY / 2, counter("live_mcs"));
	EXPECT_LE(0, id_destroy(self->fd, self->id));
	EXPECT_EQ(0, counter("live_mcs"));
}

TEST_F(mcast, many_groups_some_refused)
{
	struct rdma_cmx_join_item items[6];
	struct rdma_cmx_join_many arg = {
		.id = self->id,
		.items = (uintptr_t)items,
		.count = 6,
		.item_size = sizeof(items[0]),
	};
	union event_buf buf;
	int i;

	items_set(items, 6);
	addr_set(&items[0].addr, "10.55.0.2", 0);
	items[2].join_flags = 7;
	items[3].param.mask = RDMA_CMX_MC_MTU;
	items[3].param.mtu = 4;
	items[4].addr = items[1].addr;
	items[4].join_flags = 1;
	ASSERT_EQ(0, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(2, arg.joined);
	EXPECT_EQ(-EINVAL, items[0].error);
	EXPECT_EQ(0, items[1].error);
	EXPECT_EQ(-EINVAL, items[2].error);
	EXPECT_EQ(-EOPNOTSUPP, items[3].error);
	EXPECT_EQ(-EADDRINUSE, items[4].error);
	EXPECT_EQ(0, items[5].error);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(!items[i].mc, !!items[i].error);
	EXPECT_EQ(2, counter("live_mcs"));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_FALSE(event_pending(self->fd));
}

/* Items of a newer caller, whose extra fields are zero or not */
TEST_F(mcast, many_groups_longer_items)
{
	static const uint32_t sizes[] = {
		sizeof(struct rdma_cmx_join_item) + 1,
		sizeof(struct rdma_cmx_join_item) + 24, 4096,
	};
	static struct rdma_cmx_join_item items[3];
	static uint8_t space[3 * 4096];
	struct rdma_cmx_join_many arg = {
		.id = self->id, .items = (uintptr_t)space, .count = 3,
	};
	union event_buf buf;
	unsigned int i, k;

	for (k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		arg.item_size = sizes[k];
		memset(space, 0, sizeof(space));
		items_set(items, 3);
		for (i = 0; i < 3; i++)
			memcpy(space + i * sizes[k], &items[i],
			       sizeof(items[i]));
		/* The last byte of the last item is in no known field. */
		space[3 * sizes[k] - 1] = 1;
		EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
		EXPECT_EQ(0, counter("live_mcs"));
		space[3 * sizes[k] - 1] = 0;
		ASSERT_EQ(0, call(self->fd, JOIN_MANY, &arg));
		EXPECT_EQ(3, arg.joined);
		for (i = 0; i < 3; i++) {
			ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN,
						&buf));
			memcpy(&items[i], space + i * sizes[k],
			       sizeof(items[i]));
			EXPECT_EQ(0, items[i].error);
			EXPECT_NE(0, items[i].mc);
			EXPECT_EQ(1000 + i, items[i].uid);
		}
		/* The bytes between the items are unchanged. */
		for (i = 0; i < 3; i++)
			EXPECT_EQ(0, bytes_set(space + i * sizes[k] +
					       sizeof(items[0]),
					       sizes[k] - sizeof(items[0])));
		for (i = 0; i < 3; i++)
			EXPECT_EQ(1, mc_leave(self->fd, items[i].mc));
	}
}

/* The last item, or its extra part, is not mapped. */
TEST_F(mcast, many_groups_that_end_early)
{
	static const uint32_t lacks[] = { 1, 24, 25, 96, 120, 121 };
	struct rdma_cmx_join_item items[3];
	struct rdma_cmx_join_many arg = {
		.id = self->id, .count = 3, .item_size = sizeof(items[0]) + 24,
	};
	uint8_t *page, *pos;
	unsigned int i, k;

	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + 4096, 4096));
	items_set(items, 3);
	for (k = 0; k < sizeof(lacks) / sizeof(lacks[0]); k++) {
		pos = page + 4096 + lacks[k] - 3 * arg.item_size;
		memset(page, 0, 4096);
		for (i = 0; i < 2; i++)
			memcpy(pos + i * arg.item_size, &items[i],
			       sizeof(items[i]));
		arg.items = (uintptr_t)pos;
		EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg))
			TH_LOG("%u bytes short", lacks[k]);
	}
	/* Up to the end of the address space, and past it */
	arg.items = UINT64_MAX - 200;
	EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
	munmap(page, 4096);
}

TEST_F(mcast, many_groups_misuse)
{
	static struct rdma_cmx_join_item items[RDMA_CMX_MAX_JOINS];
	struct rdma_cmx_join_many good = {
		.id = self->id,
		.items = (uintptr_t)items,
		.count = 1,
		.item_size = sizeof(items[0]),
	}, arg = good;
	struct rdma_cmx_get_info info = {};
	void *page;

	items_set(items, RDMA_CMX_MAX_JOINS);
	arg.count = 0;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN_MANY, &arg));
	ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
	arg.count = info.max_joins + 1;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg.count = UINT32_MAX;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg = good;
	arg.item_size--;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN_MANY, &arg));
	arg.item_size = 0;
	EXPECT_EQ(-EINVAL, call(self->fd, JOIN_MANY, &arg));
	/* Each at the limit of the other, and a product that overflows */
	arg.item_size = 4097;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg.item_size = UINT32_MAX;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg.count = RDMA_CMX_MAX_JOINS;
	arg.item_size = 1 << 22;
	EXPECT_EQ(-E2BIG, call(self->fd, JOIN_MANY, &arg));
	arg = good;
	arg.id = 12345;
	EXPECT_EQ(-ENOENT, call(self->fd, JOIN_MANY, &arg));
	arg = good;
	arg.items = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg));

	/* A join whose handle cannot be written is undone. */
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	memcpy(page, items, 10 * sizeof(items[0]));
	ASSERT_EQ(0, mprotect(page, 4096, PROT_READ));
	arg = good;
	arg.items = (uintptr_t)page;
	arg.count = 10;
	EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
	munmap(page, 4096);
}

TEST_HARNESS_MAIN
