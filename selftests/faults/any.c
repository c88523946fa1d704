// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in RESOLVE_ANY and QUERY_CANDIDATES (KA-02): ENOMEM, and the same call
 * works afterwards. 10.55.0.1 and fd55::1 are here.
 */
#include "uapi.h"
#include "faults.h"

#include "harness.h"

FIXTURE(any) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(any)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(any)
{
	close(self->fd);
	EXPECT_TRUE(nothing_left());
}

/* An id with a result of two addresses */
static int result_make_port(FIXTURE_DATA(any) *self, uint16_t port)
{
	struct {
		struct rdma_cmx_names head;
		struct rdma_cmx_names_addr addr[2];
	} names = {
		.head = { .version = RDMA_CMX_NAMES_VERSION, .addr_count = 2 },
		.addr = { { .family = AF_INET }, { .family = AF_INET6 } },
	};
	struct rdma_cmx_resolve_addrinfo arg = {};
	union event_buf buf;
	int ret;

	inet_pton(AF_INET, ADDR_RDMA, names.addr[0].addr);
	inet_pton(AF_INET6, "fd55::1", names.addr[1].addr);
	ret = id_create(self->fd, RDMA_PS_TCP, 1, &self->id);
	if (ret)
		return ret;
	arg.id = self->id;
	arg.query.node = (uintptr_t)"faults.example";
	arg.query.node_len = 14;
	arg.query.port_space = RDMA_PS_TCP;
	arg.query.port = htons(port);
	arg.query.flags = port ? RDMA_CMX_AIQ_PORT : 0;
	arg.query.names = (uintptr_t)&names;
	arg.query.names_len = sizeof(names);
	return call(self->fd, RESOLVE_ADDRINFO, &arg) ?:
	       event_want(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &buf);
}

static int result_make(FIXTURE_DATA(any) *self)
{
	return result_make_port(self, 0);
}

static int race_start(FIXTURE_DATA(any) *self)
{
	struct rdma_cmx_resolve_any arg = { .id = self->id };

	arg.timeout_ms = 60000;
	return call(self->fd, RESOLVE_ANY, &arg);
}

/* With connections: nobody listens. */
static int connections_start(FIXTURE_DATA(any) *self)
{
	struct rdma_cmx_any_qp qps[2] = {
		{ .qp_num = 0x77 }, { .candidate = 1, .qp_num = 0x78 },
	};
	struct rdma_cmx_resolve_any arg = {
		.id = self->id, .flags = RDMA_CMX_ANY_RACE,
		.timeout_ms = 120000, .qps = (uintptr_t)qps, .num_qps = 2,
	};

	return call(self->fd, RESOLVE_ANY, &arg);
}

static int next_start(FIXTURE_DATA(any) *self)
{
	struct rdma_cmx_resolve_any arg = { .id = self->id };

	arg.flags = RDMA_CMX_ANY_NEXT;
	arg.step = RDMA_CMX_STEP_SETUP;
	arg.error = EIO;
	return call(self->fd, RESOLVE_ANY, &arg);
}

/* Is the id bound, to the first candidate, of which no failure is reported? */
static bool winner_stays(FIXTURE_DATA(any) *self)
{
	struct rdma_cmx_candidate_info list[2];
	struct rdma_cmx_query_candidates arg = {
		.id = self->id, .candidates = (uintptr_t)list,
		.max_candidates = 2, .candidate_size = sizeof(list[0]),
	};
	struct rdma_cmx_id_query query = { .id = self->id };

	return !call(self->fd, QUERY_CANDIDATES, &arg) && arg.winner == 0 &&
	       list[0].step == RDMA_CMX_STEP_UP && !list[0].error &&
	       !call(self->fd, ID_QUERY, &query) && query.info.node_guid;
}

/* One that fails changes nothing: it is no ENOMEM if it does. */
static int next_whole(FIXTURE_DATA(any) *self)
{
	int ret = next_start(self);

	return ret && !winner_stays(self) ? -EBADE : ret;
}

static int routed(FIXTURE_DATA(any) *self)
{
	union event_buf buf;

	return event_want(self->fd, EV_ROUTE_RESOLVED, &buf);
}

static int report_get(FIXTURE_DATA(any) *self, uint64_t flags)
{
	struct rdma_cmx_candidate_info list[2];
	struct rdma_cmx_query_candidates arg = {
		.id = self->id, .flags = flags,
	};

	arg.candidates = (uintptr_t)list;
	arg.max_candidates = 2;
	arg.candidate_size = sizeof(list[0]);
	return call(self->fd, QUERY_CANDIDATES, &arg);
}

TEST_F_TIMEOUT(any, resolve_any, SWEEP_LIMIT)
{
	EACH_FAULT(ASSERT_EQ(0, result_make(self)), race_start(self), 0, 0, ({
		EXPECT_EQ(0, routed(self));
		EXPECT_FALSE(event_pending(self->fd));
		EXPECT_LE(0, id_destroy(self->fd, self->id));
	}));
}

TEST_F_TIMEOUT(any, connections, SWEEP_LIMIT)
{
	union event_buf buf;

	EACH_FAULT(ASSERT_EQ(0, result_make(self)), connections_start(self),
		   0, 0, ({
		EXPECT_EQ(0, event_want(self->fd, EV_ROUTE_ERROR, &buf));
		EXPECT_EQ(-ECONNREFUSED, buf.ev.status);
		EXPECT_FALSE(event_pending(self->fd));
		EXPECT_LE(0, id_destroy(self->fd, self->id));
	}));
}

TEST_F_TIMEOUT(any, next, SWEEP_LIMIT)
{
	EACH_FAULT(({
		ASSERT_EQ(0, result_make(self));
		ASSERT_EQ(0, race_start(self));
		ASSERT_EQ(0, routed(self));
	}), next_whole(self), 0, 0, ({
		EXPECT_EQ(0, routed(self));
		EXPECT_FALSE(event_pending(self->fd));
		EXPECT_LE(0, id_destroy(self->fd, self->id));
	}));
}

#define SILENT_PORT	4482

/* The id has sent a request to a peer that does not reply. */
static int request_send(FIXTURE_DATA(any) *self)
{
	struct rdma_cmx_resolve_any arg = {
		.flags = RDMA_CMX_ANY_CONNECT, .timeout_ms = 60000,
	};
	int ret = result_make_port(self, SILENT_PORT);

	arg.id = self->id;
	return ret ?: call(self->fd, RESOLVE_ANY, &arg) ?: routed(self) ?:
	       id_connect(self->fd, self->id);
}

/* Routed after a request, whose deadline may have passed before the NEXT */
static int routed_next(FIXTURE_DATA(any) *self)
{
	union event_buf buf;
	int ret = event_next(self->fd, &buf);

	if (!ret && buf.ev.event == EV_UNREACHABLE)
		ret = event_next(self->fd, &buf);
	return ret ?: buf.ev.event == EV_ROUTE_RESOLVED ? 0 : -EPROTO;
}

/*
 * One that fails leaves the deadline of the request as it is: 5 s, because of
 * the other candidate. The sweep may take longer, so each request has its own
 * file.
 */
TEST_F_TIMEOUT(any, next_after_request, SWEEP_LIMIT)
{
	int n = 0, failed = 0, ret, peer = dev_open(O_NONBLOCK);
	int first = self->fd, files[FAULTS_MAX];
	union event_buf buf;
	uint32_t listener;
	bool hit;

	ASSERT_LE(0, peer);
	ASSERT_EQ(0, id_create(peer, RDMA_PS_TCP, 2, &listener));
	ASSERT_EQ(0, id_bind(peer, listener, ADDR_RDMA, SILENT_PORT));
	ASSERT_EQ(0, id_listen(peer, listener));
	do {
		ASSERT_GT(FAULTS_MAX, n);
		self->fd = dev_open(O_NONBLOCK);
		ASSERT_LE(0, self->fd);
		ASSERT_EQ(0, request_send(self));
		fault_arm(++n);
		ret = next_start(self);
		hit = fault_hit();
		if (ret) {
			files[failed++] = self->fd;
		} else {
			EXPECT_EQ(0, routed_next(self));
			EXPECT_LE(0, id_destroy(self->fd, self->id));
			close(self->fd);
		}
	} while (hit);
	self->fd = first;
	EXPECT_LT(0, failed);
	while (failed) {
		EXPECT_EQ(0, event_want(files[--failed], EV_UNREACHABLE, &buf));
		close(files[failed]);
	}
	close(peer);
}

TEST_F_TIMEOUT(any, query_candidates, SWEEP_LIMIT)
{
	ASSERT_EQ(0, result_make(self));
	ASSERT_EQ(0, race_start(self));
	ASSERT_EQ(0, routed(self));
	EACH_FAULT(, report_get(self, 0), 0, 0,);
	EACH_FAULT(, report_get(self, RDMA_CMX_CANDIDATES_UNTRIED), 0, 0,);
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
