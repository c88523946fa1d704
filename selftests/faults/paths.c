// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Faults in GET_PATHS and DROP_PATHS, with a path in the cache. */
#include "uapi.h"
#include "faults.h"

#include "harness.h"

FIXTURE(paths) {
	int fd;
};

/* A resolution leaves a path. */
static int path_make(FIXTURE_DATA(paths) *self)
{
	struct rdma_cmx_getaddrinfo arg = {
		.query.node = (uintptr_t)"10.66.0.3",
		.query.node_len = 9,
		.query.port_space = RDMA_PS_TCP,
		.query.flags = RDMA_CMX_AIQ_PORT,
		.query.timeout_ms = 60000,
	};
	uint64_t buf[512];

	arg.buf = (uintptr_t)buf;
	arg.buf_len = sizeof(buf);
	return call(self->fd, GETADDRINFO, &arg);
}

FIXTURE_SETUP(paths)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 3600000));
	/* The result has its path, however late the SA responds. */
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", 60000));
	ASSERT_EQ(0, path_make(self));
}

FIXTURE_TEARDOWN(paths)
{
	close(self->fd);
	EXPECT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 15000));
	EXPECT_EQ(0, number_set(PARAMETERS "route_timeout_ms", 3000));
	EXPECT_TRUE(nothing_left());
}

static int list(FIXTURE_DATA(paths) *self)
{
	struct rdma_cmx_cached_path paths[16];
	struct rdma_cmx_get_paths arg = {
		.paths = (uintptr_t)paths,
		.max_paths = 16,
		.path_size = sizeof(paths[0]),
	};
	int ret = call(self->fd, GET_PATHS, &arg);

	return ret ?: arg.num_paths ? 0 : -ENODATA;
}

static int drop(FIXTURE_DATA(paths) *self)
{
	struct rdma_cmx_drop_paths arg = {};

	return call(self->fd, DROP_PATHS, &arg);
}

TEST_F_TIMEOUT(paths, get_paths, SWEEP_LIMIT)
{
	EACH_FAULT(, list(self), 0, 0,);
}

TEST_F_TIMEOUT(paths, drop_paths, SWEEP_LIMIT)
{
	EACH_FAULT(, drop(self), 0, 0,);
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
