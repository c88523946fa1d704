// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in the commands on files, ids and events: each allocation and each
 * copy fails once. OPS-04
 */
#include "uapi.h"
#include "faults.h"

#include <rdma/rdma_user_cm.h>

#include "harness.h"

FIXTURE(ids) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(ids)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
}

FIXTURE_TEARDOWN(ids)
{
	close(self->fd);
	EXPECT_TRUE(nothing_left());
}

TEST_F_TIMEOUT(ids, open, SWEEP_LIMIT)
{
	int fd = -1;

	EACH_FAULT(, ((fd = dev_open(0)) < 0 ? -errno : 0), 0, 0, close(fd));
}

TEST_F_TIMEOUT(ids, get_info, SWEEP_LIMIT)
{
	struct rdma_cmx_get_info arg = {};

	EACH_FAULT(, call(self->fd, GET_INFO, &arg), 0, 0,);
	EXPECT_EQ(RDMA_CMX_ABI_VERSION, arg.abi_version);
}

TEST_F_TIMEOUT(ids, create, SWEEP_LIMIT)
{
	uint32_t id;

	EACH_FAULT(, id_create(self->fd, RDMA_PS_TCP, 2, &id), 0, 0,
		   EXPECT_EQ(0, id_destroy(self->fd, id)));
	EXPECT_EQ(1, counter("live_ids"));
}

/* Handles beyond the first need memory of the table. */
TEST_F_TIMEOUT(ids, create_many, SWEEP_LIMIT)
{
	uint32_t id[70];
	int i;

	for (i = 0; i < 63; i++)
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id[i]));
	EACH_FAULT(, id_create(self->fd, RDMA_PS_TCP, 2, &id[i]), 0, 0,
		   EXPECT_EQ(0, id_destroy(self->fd, id[i])));
	EXPECT_EQ(64, counter("live_ids"));
}

TEST_F_TIMEOUT(ids, destroy, SWEEP_LIMIT)
{
	uint32_t id;

	EACH_FAULT(({ ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &id));
		      ASSERT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0)); }),
		   id_destroy(self->fd, id), 0, -ENOENT,);
	EXPECT_EQ(1, counter("live_ids"));
}

TEST_F_TIMEOUT(ids, bind, SWEEP_LIMIT)
{
	uint32_t id;

	EACH_FAULT(ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id)),
		   id_bind(self->fd, id, ADDR_RDMA, 0), 0, -EINVAL,
		   EXPECT_EQ(0, id_destroy(self->fd, id)));
	EACH_FAULT(ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 2, &id)),
		   id_bind(self->fd, id, "fd55::1", 4791), 0, -EINVAL,
		   EXPECT_EQ(0, id_destroy(self->fd, id)));
}

TEST_F_TIMEOUT(ids, query, SWEEP_LIMIT)
{
	struct rdma_cmx_id_query arg = { .id = self->id };

	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	EACH_FAULT(, call(self->fd, ID_QUERY, &arg), 0, 0,);
	EXPECT_EQ(1, arg.info.port_num);
}

TEST_F_TIMEOUT(ids, set_option, SWEEP_LIMIT)
{
	struct rdma_cmx_id_set_option arg = { .id = self->id };
	struct ib_path_rec_data path = {};
	uint8_t tos = 32;

	arg.level = RDMA_OPTION_ID;
	arg.optname = RDMA_OPTION_ID_TOS;
	arg.optval = (uintptr_t)&tos;
	arg.optlen = 1;
	EACH_FAULT(, call(self->fd, ID_SET_OPTION, &arg), 0, 0,);
	/* One that is copied; the id has no use for it. */
	arg.level = RDMA_OPTION_IB;
	arg.optname = RDMA_OPTION_IB_PATH;
	arg.optval = (uintptr_t)&path;
	arg.optlen = sizeof(path);
	EACH_FAULT(, call(self->fd, ID_SET_OPTION, &arg), -EINVAL, 0,);
}

TEST_F_TIMEOUT(ids, write_event, SWEEP_LIMIT)
{
	union event_buf buf;

	EACH_FAULT(, id_write_event(self->fd, self->id, 1, 2), 0, 0,
		   EXPECT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf)));
	EXPECT_FALSE(event_pending(self->fd));
}

/* An event that could not be handed out is the first of the next call. */
TEST_F_TIMEOUT(ids, get_events, SWEEP_LIMIT)
{
	union event_buf buf;
	uint64_t arg = 0;

	EACH_FAULT(ASSERT_EQ(0, id_write_event(self->fd, self->id, 1, ++arg)),
		   events_get(self->fd, &buf, sizeof(buf), 1, NULL), 0, 0,
		   EXPECT_EQ(arg, buf.ev.obj_uid));
	EXPECT_FALSE(event_pending(self->fd));
}

/* A batch ends where a fault is; none is lost, none comes twice. */
TEST_F_TIMEOUT(ids, get_many_events, SWEEP_LIMIT)
{
	struct { struct rdma_cmx_event ev; } buf[4];
	uint64_t seen;
	uint32_t count, i;
	int n, ret;
	bool hit = true;

	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		for (i = 0; i < 4; i++)
			ASSERT_EQ(0, id_write_event(self->fd, self->id, 0, i));
		fault_arm(n);
		count = 0;
		ret = events_get(self->fd, buf, sizeof(buf), 0, &count);
		hit = fault_hit();
		EXPECT_TRUE(!ret || (hit && ret == -EFAULT)) TH_LOG("%d", ret);
		seen = ret ? 0 : count;
		for (i = 0; i < seen; i++)
			EXPECT_EQ(i, buf[i].ev.obj_uid);
		for (; seen < 4; seen++) {
			ASSERT_EQ(0, events_get(self->fd, buf, sizeof(buf), 1,
						NULL));
			EXPECT_EQ(seen, buf[0].ev.obj_uid);
		}
		EXPECT_FALSE(event_pending(self->fd));
	}
}

TEST_F_TIMEOUT(ids, migrate, SWEEP_LIMIT)
{
	struct rdma_cmx_id_migrate arg = {};
	int to = dev_open(O_NONBLOCK), a = self->fd, b = to, swap, n, ret;
	union event_buf buf;
	uint32_t id = self->id;
	bool hit = true;

	ASSERT_EQ(0, id_write_event(a, id, 1, 2));
	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		arg = (struct rdma_cmx_id_migrate){ .id = id, .src_fd = a };
		fault_arm(n);
		ret = call(b, ID_MIGRATE, &arg);
		hit = fault_hit();
		EXPECT_TRUE(fault_result(ret, hit));
		/* Moved, unless the first answer could not be written. */
		if (ret && id_write_event(a, id, 1, 3) == 0) {
			ASSERT_EQ(0, call(b, ID_MIGRATE, &arg));
			ASSERT_EQ(0, event_want(b, RDMA_CMX_EV_USER, &buf));
			ASSERT_EQ(2, buf.ev.obj_uid);
			ASSERT_EQ(0, event_want(b, RDMA_CMX_EV_USER, &buf));
			ASSERT_EQ(3, buf.ev.obj_uid);
			ASSERT_EQ(0, id_write_event(b, arg.new_id, 1, 2));
		}
		id = arg.new_id;
		swap = a;
		a = b;
		b = swap;
	}
	EXPECT_EQ(0, event_want(a, RDMA_CMX_EV_USER, &buf));
	EXPECT_LE(1, id_destroy(a, id));
	close(to);
}

/* Without a port: what follows on one is in work items. */
TEST_F_TIMEOUT(ids, advertise, SWEEP_LIMIT)
{
	struct rdma_cmx_advertise arg = { .service_id = 1, .name = "fault" };
	struct rdma_cmx_query_advertised query = {};
	struct rdma_cmx_destroy end = {};

	EACH_FAULT(, call(self->fd, ADVERTISE, &arg), 0, 0, ({
		end.handle = arg.handle;
		EXPECT_EQ(0, call(self->fd, WITHDRAW, &end));
	}));
	EXPECT_EQ(0, counter("live_advertised"));
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &arg));
	query.handle = arg.handle;
	EACH_FAULT(, call(self->fd, QUERY_ADVERTISED, &query), 0, 0,);
	end.handle = arg.handle;
	EXPECT_EQ(0, call(self->fd, WITHDRAW, &end));
	EACH_FAULT(({ ASSERT_EQ(0, call(self->fd, ADVERTISE, &arg));
		      end.handle = arg.handle; }),
		   call(self->fd, WITHDRAW, &end), 0, -ENOENT,);
	EXPECT_EQ(0, counter("live_advertised"));
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
