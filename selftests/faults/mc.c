// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Faults in joins (MC-08) and leaves. */
#include "uapi.h"
#include "faults.h"

#include "harness.h"

#define GROUP6		"ff15::55:31"
#define ITEMS		5

FIXTURE(joins) {
	int fd;
	uint32_t id;
	uint32_t id6;
};

FIXTURE_SETUP(joins)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &self->id6));
	ASSERT_EQ(0, id_bind(self->fd, self->id6, "fd55::1", 0));
}

FIXTURE_TEARDOWN(joins)
{
	close(self->fd);
	EXPECT_TRUE(nothing_left());
}

/* By rdma_cm, and by the core: an IPv6 group, parameters. */
TEST_F_TIMEOUT(joins, join, SWEEP_LIMIT)
{
	struct rdma_cmx_join arg = { .id = self->id };
	union event_buf buf;
	uint32_t mc;

	EACH_FAULT(, mc_join(self->fd, self->id, GROUP, 9, &mc), 0, 0, ({
		EXPECT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		EXPECT_EQ(1, mc_leave(self->fd, mc));
	}));
	EACH_FAULT(, mc_join(self->fd, self->id6, GROUP6, 9, &mc), 0, 0, ({
		EXPECT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		EXPECT_EQ(1, mc_leave(self->fd, mc));
	}));
	addr_set(&arg.addr, GROUP, 0);
	arg.param.mask = RDMA_CMX_MC_QKEY;
	arg.param.qkey = 0x1234;
	EACH_FAULT(, call(self->fd, JOIN, &arg), 0, 0, ({
		EXPECT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		EXPECT_EQ(1, mc_leave(self->fd, arg.mc));
	}));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_FALSE(event_pending(self->fd));
}

/* A second membership of a group that is joined */
TEST_F_TIMEOUT(joins, join_again, SWEEP_LIMIT)
{
	union event_buf buf;
	uint32_t first, mc;

	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 9, &first));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EACH_FAULT(, mc_join(self->fd, self->id, GROUP, 8, &mc), 0, 0, ({
		EXPECT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		EXPECT_EQ(8, buf.ev.obj_uid);
		EXPECT_EQ(1, mc_leave(self->fd, mc));
	}));
	EXPECT_EQ(1, mc_leave(self->fd, first));
}

TEST_F_TIMEOUT(joins, leave, SWEEP_LIMIT)
{
	union event_buf buf;
	uint32_t mc;

	EACH_FAULT(({
		ASSERT_EQ(0, mc_join(self->fd, self->id6, GROUP6, 9, &mc));
		ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	}), (mc_leave(self->fd, mc) == 1 ? 0 : -errno), 0, -ENOENT,);
	EXPECT_EQ(0, counter("live_mcs"));
}

static int join_many(int fd, uint32_t id, struct rdma_cmx_join_item *items,
		     uint32_t *joined)
{
	struct rdma_cmx_join_many arg = {
		.id = id, .items = (uintptr_t)items, .count = ITEMS,
		.item_size = sizeof(*items),
	};
	char text[32];
	int i, ret;

	memset(items, 0, ITEMS * sizeof(*items));
	for (i = 0; i < ITEMS; i++) {
		snprintf(text, sizeof(text), "239.55.3.%d", i);
		addr_set(&items[i].addr, text, 0);
		items[i].uid = i;
	}
	ret = call(fd, JOIN_MANY, &arg);
	*joined = arg.joined;
	return ret;
}

/*
 * Each item has its result. EFAULT means that there is none, or that the
 * items could not be written a second time: each handle that is there counts.
 */
TEST_F_TIMEOUT(joins, join_many, SWEEP_LIMIT)
{
	struct rdma_cmx_join_item items[ITEMS];
	union event_buf buf;
	uint32_t joined, ok;
	int i, n, ret;
	bool hit = true;

	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		fault_arm(n);
		ret = join_many(self->fd, self->id, items, &joined);
		hit = fault_hit();
		if (ret) {
			EXPECT_TRUE(fault_result(ret, hit))
				TH_LOG("fault %d: %d", n, ret);
			joined = counter("live_mcs");
			/* The handles were written before, the rest was not. */
			EXPECT_TRUE(!joined || ret == -EFAULT);
			for (i = 0; i < joined; i++)
				EXPECT_EQ(0, event_want(self->fd,
							EV_MULTICAST_JOIN,
							&buf));
			for (i = ok = 0; i < ITEMS; i++)
				ok += mc_leave(self->fd, items[i].mc) >= 0;
			EXPECT_EQ(joined, ok);
			EXPECT_EQ(0, counter("live_mcs"));
			EXPECT_FALSE(event_pending(self->fd));
			continue;
		}
		for (i = ok = 0; i < ITEMS; i++) {
			EXPECT_TRUE(!items[i].error ||
				    (hit && items[i].error == -ENOMEM));
			EXPECT_EQ(!items[i].error, !!items[i].mc);
			ok += !items[i].error;
		}
		EXPECT_EQ(ok, joined);
		EXPECT_LE(ITEMS - 1, joined);
		for (i = 0; i < ok; i++)
			EXPECT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN,
						&buf));
		for (i = 0; i < ITEMS; i++)
			if (items[i].mc)
				EXPECT_EQ(1, mc_leave(self->fd, items[i].mc));
	}
	TH_LOG("%d fault points", n - 2);
	EXPECT_LT(2, n);
	EXPECT_FALSE(event_pending(self->fd));
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
