// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each allocation of each command fails once, one after the other: the
 * command then fails with ENOMEM and changes nothing, or succeeds; no event is
 * lost, nothing leaks. Needs a kernel with fault injection (fail-nth), skipped
 * on others.
 */
#include "common.h"

#include "kselftest_harness.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"

FIXTURE(faults) {
	int fd;
	int nth;
	uint32_t id;
};

FIXTURE_SETUP(faults)
{
	self->nth = open(FAIL_NTH, O_RDWR);
	ASSERT_LE(0, self->nth);
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
}

FIXTURE_TEARDOWN(faults)
{
	close(self->nth);
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_EQ(0, counter("live_ids"));
	EXPECT_EQ(0, counter("live_mcs"));
	EXPECT_EQ(0, counter("live_events"));
	EXPECT_EQ(0, counter("live_queries"));
}

/* The n-th allocation from here on fails. */
static void fault_arm(int nth, int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	if (pwrite(nth, text, strlen(text), 0) < 0)
		abort();
}

/* Whether it came to that; disarms. */
static bool fault_hit(int nth)
{
	char text[16] = "";

	if (pread(nth, text, sizeof(text) - 1, 0) < 0)
		abort();
	if (pwrite(nth, "0", 1, 0) < 0)
		abort();
	return atoi(text) == 0;
}

/*
 * Run @op until no allocation of it is left to fail, undo it when it
 * succeeded, and leave with all clean.
 */
#define FOR_EACH_FAULT(op, undo) do {					\
	int n_, ret_;							\
	bool hit_ = true;						\
	for (n_ = 1; hit_; n_++) {					\
		ASSERT_GT(200, n_);					\
		fault_arm(self->nth, n_);				\
		ret_ = (op);						\
		hit_ = fault_hit(self->nth);				\
		if (!ret_) {						\
			undo;						\
		} else {						\
			EXPECT_TRUE(hit_);				\
			EXPECT_EQ(-ENOMEM, ret_) TH_LOG(#op ": fault %d", n_); \
		}							\
	}								\
	TH_LOG(#op ": %d allocations", n_ - 2);				\
} while (0)

TEST_F(faults, open)
{
	int fd;

	FOR_EACH_FAULT((fd = dev_open(0)) < 0 ? -errno : 0, close(fd));
}

TEST_F(faults, create)
{
	uint32_t id;

	FOR_EACH_FAULT(id_create(self->fd, RDMA_PS_TCP, 2, &id),
		       EXPECT_EQ(0, id_destroy(self->fd, id)));
	EXPECT_EQ(1, counter("live_ids"));
}

TEST_F(faults, bind)
{
	uint32_t id;
	int n, ret;

	for (n = 1, ret = -ENOMEM; n < 200; n++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
		fault_arm(self->nth, n);
		ret = id_bind(self->fd, id, ADDR_RDMA, 0);
		if (!fault_hit(self->nth))
			break;
		if (ret)
			EXPECT_EQ(-ENOMEM, ret);
		EXPECT_EQ(0, id_destroy(self->fd, id));
	}
	EXPECT_EQ(0, ret);
	EXPECT_LT(1, n);
}

/* A resolution that has started is told of. */
TEST_F(faults, resolve_addr)
{
	union event_buf buf;
	uint32_t id;
	int n, ret;

	for (n = 1, ret = -ENOMEM; n < 200; n++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &id));
		fault_arm(self->nth, n);
		ret = id_resolve_addr(self->fd, id, NULL, ADDR_RDMA, 7000);
		if (!fault_hit(self->nth))
			break;
		if (!ret) {
			EXPECT_EQ(0, event_next(self->fd, &buf));
			EXPECT_GE(EV_ADDR_ERROR, buf.ev.event);
		}
		EXPECT_LE(0, id_destroy(self->fd, id));
	}
	EXPECT_EQ(0, ret);
	EXPECT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
}

TEST_F(faults, write_event)
{
	union event_buf buf;

	FOR_EACH_FAULT(id_write_event(self->fd, self->id, 1, 2),
		       EXPECT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER,
					       &buf)));
	EXPECT_FALSE(event_pending(self->fd));
}

TEST_F(faults, join)
{
	union event_buf buf;
	uint32_t mc;

	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	FOR_EACH_FAULT(mc_join(self->fd, self->id, GROUP, 9, &mc), ({
		EXPECT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
		EXPECT_EQ(1, mc_leave(self->fd, mc));
	}));
	EXPECT_EQ(0, counter("live_mcs"));
}

TEST_F(faults, getaddrinfo)
{
	static const char node[] = ADDR_RDMA;
	struct rdma_cmx_getaddrinfo arg = {};
	uint64_t space[128];

	arg.buf = (uintptr_t)space;
	arg.buf_len = sizeof(space);
	arg.query.node = (uintptr_t)node;
	arg.query.node_len = strlen(node);
	FOR_EACH_FAULT(call(self->fd, GETADDRINFO, &arg), (void)0);
}

static int resolve(int fd, uint32_t id, bool later)
{
	static const char node[] = ADDR_RDMA, name[] = "faults.example";
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };

	arg.query.node = (uintptr_t)(later ? name : node);
	arg.query.node_len = strlen(later ? name : node);
	arg.query.flags = later ? RDMA_CMX_AIQ_NAMES_LATER : 0;
	return call(fd, RESOLVE_ADDRINFO, &arg);
}

TEST_F(faults, resolve_addrinfo)
{
	struct rdma_cmx_give_names give = { .id = self->id, .error = ENOENT };
	union event_buf buf;

	FOR_EACH_FAULT(resolve(self->fd, self->id, false),
		       EXPECT_EQ(0, event_want(self->fd,
					       RDMA_CMX_EV_ADDRINFO_RESOLVED,
					       &buf)));
	FOR_EACH_FAULT(resolve(self->fd, self->id, true), ({
		EXPECT_EQ(0, call(self->fd, GIVE_NAMES, &give));
		EXPECT_EQ(0, event_want(self->fd, RDMA_CMX_EV_ADDRINFO_ERROR,
					&buf));
	}));
	EXPECT_FALSE(event_pending(self->fd));
}

/* A connection request that cannot be handed out now comes with the next. */
TEST_F(faults, get_events)
{
	struct rdma_cmx_id_query query = {};
	struct pollfd pfd = { self->fd, POLLIN, 0 };
	uint32_t listener, active;
	union event_buf buf;
	int other = dev_open(O_NONBLOCK), n, ret;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &listener));
	ASSERT_EQ(0, id_bind(self->fd, listener, ADDR_RDMA, 0));
	ASSERT_EQ(0, id_listen(self->fd, listener));
	query.id = listener;
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	ASSERT_EQ(0, id_create(other, RDMA_PS_TCP, 2, &active));
	ASSERT_EQ(0, id_resolve_addr(other, active, NULL, ADDR_RDMA,
				     addr_port(&query.info.src)));
	ASSERT_EQ(0, event_want(other, EV_ADDR_RESOLVED, &buf));
	ASSERT_EQ(0, id_resolve_route(other, active));
	ASSERT_EQ(0, event_want(other, EV_ROUTE_RESOLVED, &buf));
	for (n = 1, ret = -ENOMEM; ret && n < 200; n++) {
		fault_arm(self->nth, n);
		ret = id_connect(other, active);
		fault_hit(self->nth);
	}
	ASSERT_EQ(0, ret);
	ASSERT_EQ(1, poll(&pfd, 1, 10000));
	for (n = 1, ret = -ENOMEM; ret && n < 200; n++) {
		fault_arm(self->nth, n);
		ret = events_get(self->fd, &buf, sizeof(buf), 0, NULL);
		if (fault_hit(self->nth) && ret)
			EXPECT_EQ(-ENOMEM, ret);
	}
	ASSERT_EQ(0, ret);
	EXPECT_EQ(EV_CONNECT_REQUEST, buf.ev.event);
	for (n = 1, ret = -ENOMEM; ret == -ENOMEM && n < 200; n++) {
		fault_arm(self->nth, n);
		ret = id_accept(self->fd, buf.ev.obj, 3);
		fault_hit(self->nth);
	}
	close(other);
}

TEST_F(faults, migrate)
{
	struct rdma_cmx_id_migrate arg = {};
	int to = dev_open(O_NONBLOCK), a = self->fd, b = to, swap;
	union event_buf buf;
	uint32_t id = self->id;

	ASSERT_EQ(0, id_write_event(a, id, 1, 2));
	FOR_EACH_FAULT(({
		arg.id = id;
		arg.src_fd = a;
		call(b, ID_MIGRATE, &arg);
	}), ({
		id = arg.new_id;
		swap = a;
		a = b;
		b = swap;
	}));
	EXPECT_EQ(0, event_want(a, RDMA_CMX_EV_USER, &buf));
	EXPECT_EQ(1, id_destroy(a, id));
	close(to);
}

/* Allocations that may wait fail too, which is not the default. */
static bool faults_enable(void)
{
	FILE *f = fopen("/sys/kernel/debug/failslab/ignore-gfp-wait", "w");

	if (!f)
		return false;
	fputs("N", f);
	fclose(f);
	return !access(FAIL_NTH, W_OK);
}

int main(int argc, char **argv)
{
	if (!faults_enable()) {
		printf("TAP version 13\n");
		printf("1..0 # SKIP this kernel has no fault injection\n");
		return 0;
	}
	return test_harness_run(argc, argv);
}
