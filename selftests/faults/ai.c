// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Faults in resolutions (RAI-03): ENOMEM, and what was there stays. */
#include "uapi.h"
#include "faults.h"

#include "harness.h"

#define NODE	"faults.example"

FIXTURE(ai) {
	int fd;
	uint32_t id;
	uint64_t space[1024];
};

FIXTURE_SETUP(ai)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
}

FIXTURE_TEARDOWN(ai)
{
	close(self->fd);
	EXPECT_TRUE(nothing_left());
}

/* An answer of a name service with more addresses than a stack has room for */
static struct {
	struct rdma_cmx_names head;
	struct rdma_cmx_names_addr addr[8];
} names = { .head = { .version = RDMA_CMX_NAMES_VERSION, .addr_count = 8 } };

static void names_fill(void)
{
	char text[32];
	int i;

	for (i = 0; i < 8; i++) {
		snprintf(text, sizeof(text), "10.55.0.%d", i + 1);
		names.addr[i].family = AF_INET;
		inet_pton(AF_INET, text, names.addr[i].addr);
	}
}

static int getaddrinfo_(FIXTURE_DATA(ai) *self, const char *node, bool given)
{
	struct rdma_cmx_getaddrinfo arg = {};
	int ret;

	arg.buf = (uintptr_t)self->space;
	arg.buf_len = sizeof(self->space);
	arg.query.node = (uintptr_t)node;
	arg.query.node_len = strlen(node);
	if (given) {
		arg.query.names = (uintptr_t)&names;
		arg.query.names_len = sizeof(names);
	}
	ret = call(self->fd, GETADDRINFO, &arg);
	return ret;
}

TEST_F_TIMEOUT(ai, getaddrinfo, SWEEP_LIMIT)
{
	char long_node[400];

	names_fill();
	EACH_FAULT(, getaddrinfo_(self, ADDR_RDMA, false), 0, 0,);
	EACH_FAULT(, getaddrinfo_(self, "fd55::2", false), 0, 0,);
	EACH_FAULT(, getaddrinfo_(self, "203.0.113.9", false), 0, 0,);
	EACH_FAULT(, getaddrinfo_(self, NODE, true), 0, 0,);
	memset(long_node, 'a', sizeof(long_node) - 1);
	long_node[sizeof(long_node) - 1] = 0;
	EACH_FAULT(, getaddrinfo_(self, long_node, true), 0, 0,);
	EACH_FAULT(, getaddrinfo_(self, long_node, false), -ENOENT, 0,);
}

static int resolve(FIXTURE_DATA(ai) *self, const char *node, uint32_t flags,
		   bool given)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = self->id };

	arg.query.node = (uintptr_t)node;
	arg.query.node_len = strlen(node);
	arg.query.flags = flags;
	if (given) {
		arg.query.names = (uintptr_t)&names;
		arg.query.names_len = sizeof(names);
	}
	return call(self->fd, RESOLVE_ADDRINFO, &arg);
}

static int result_get(FIXTURE_DATA(ai) *self)
{
	struct rdma_cmx_query_addrinfo arg = { .id = self->id };

	arg.buf = (uintptr_t)self->space;
	arg.buf_len = sizeof(self->space);
	return call(self->fd, QUERY_ADDRINFO, &arg);
}

static int give(FIXTURE_DATA(ai) *self)
{
	struct rdma_cmx_give_names arg = { .id = self->id };

	arg.names = (uintptr_t)&names;
	arg.names_len = sizeof(names);
	return call(self->fd, GIVE_NAMES, &arg);
}

/*
 * A resolution ends with a result. If memory failed that the caller allocates
 * behind the start (@hit), it may end with ENOMEM, and without a result.
 */
static int outcome(FIXTURE_DATA(ai) *self, bool hit)
{
	union event_buf buf;
	int ret = event_next(self->fd, &buf);

	if (ret)
		return ret;
	if (buf.ev.event == RDMA_CMX_EV_ADDRINFO_RESOLVED)
		return result_get(self);
	if (buf.ev.event != RDMA_CMX_EV_ADDRINFO_ERROR || !hit)
		return -EPROTO;
	if (buf.ev.status != -ENOMEM)
		return buf.ev.status;
	return result_get(self) == -ENOENT ? 0 : -EPROTO;
}

/* The event is there whatever failed, and never twice. */
TEST_F_TIMEOUT(ai, resolve, SWEEP_LIMIT)
{
	names_fill();
	EACH_FAULT(, resolve(self, ADDR_RDMA, 0, false), 0, 0, EXPECT_EQ(0, outcome(self, hit_)));
	EACH_FAULT(, resolve(self, NODE, 0, true), 0, 0, EXPECT_EQ(0, outcome(self, hit_)));
	EXPECT_FALSE(event_pending(self->fd));
}

/* RAI-07: a resolution that could not start takes no result away. */
TEST_F_TIMEOUT(ai, result_survives, SWEEP_LIMIT)
{
	union event_buf buf;
	bool hit = true;
	int n, ret;

	names_fill();
	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		ASSERT_EQ(0, resolve(self, ADDR_RDMA, 0, false));
		ASSERT_EQ(0, event_want(self->fd,
					RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
		fault_arm(n);
		ret = resolve(self, NODE, RDMA_CMX_AIQ_NAMES_LATER, false);
		hit = fault_hit();
		if (ret) {
			EXPECT_TRUE(fault_result(ret, hit));
			EXPECT_EQ(0, result_get(self)) TH_LOG("fault %d", n);
			EXPECT_FALSE(event_pending(self->fd));
			continue;
		}
		EXPECT_EQ(-ENOENT, result_get(self));
		ASSERT_EQ(0, give(self));
		ASSERT_EQ(0, event_want(self->fd,
					RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	}
	TH_LOG("%d fault points", n - 2);
	EXPECT_LT(2, n);
}

TEST_F_TIMEOUT(ai, give_names, SWEEP_LIMIT)
{
	names_fill();
	EACH_FAULT(ASSERT_EQ(0, resolve(self, NODE, RDMA_CMX_AIQ_NAMES_LATER,
					false)),
		   give(self), 0, 0, EXPECT_EQ(0, outcome(self, hit_)));
}

/* A result is taken only when it was written. */
TEST_F_TIMEOUT(ai, query_addrinfo, SWEEP_LIMIT)
{
	union event_buf buf;

	names_fill();
	EACH_FAULT(({
		ASSERT_EQ(0, resolve(self, NODE, 0, true));
		ASSERT_EQ(0, event_want(self->fd,
					RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf));
	}), result_get(self), 0, 0, EXPECT_EQ(-ENOENT, result_get(self)));
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
