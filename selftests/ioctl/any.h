/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * RESOLVE_ANY and QUERY_CANDIDATES at the uAPI: the fixture, an id of a private
 * file, and results of addresses that the test itself passes: 10.55.0.1 is
 * local, with IPv6 fd55::1; 10.55.0.77 does not reply to ARP; 192.168.77.1 has
 * no RDMA device.
 */
#ifndef IOCTL_ANY_H
#define IOCTL_ANY_H

#include "ioctl.h"
#include "uapi.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include "harness.h"

#define NOBODY	"10.55.0.77"
#define OWN6	"fd55::1"
#define MAX	8
#define WINDOW		"/sys/module/rdma_cmx/parameters/connect_window"
#define REPLY_MS	"/sys/module/rdma_cmx/parameters/connect_reply_ms"
#define WAIT_MS		"/sys/module/rdma_cmx/parameters/connect_wait_ms"
#define OUTSTANDING	9	/* of one user, with a window of 64 */

FIXTURE(any) {
	int fd;
	uint32_t id;
	union event_buf ev;
	struct rdma_cmx_candidate_info list[MAX];
	uint32_t count, winner;
};

FIXTURE_SETUP(any)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
}

FIXTURE_TEARDOWN(any)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_EQ(0, counter("live_races"));
	EXPECT_EQ(0, counter("live_queries"));
	EXPECT_EQ(0, counter("live_events"));
	/* The work item of a connect that waited may still have its id. */
	EXPECT_TRUE(counter_wait("live_ids", 0));
	/* The work item that has ended the last one may still have it. */
	EXPECT_TRUE(number_gone("/sys/module/rdma_cmx/counters/live_connects"));
}

/* Gives the id a result of these addresses, in this order. */
static inline int result_ps(int fd, uint32_t id, uint32_t ps, uint16_t port,
			    uint32_t ai_flags, ...)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };
	struct {
		struct rdma_cmx_names head;
		struct rdma_cmx_names_addr addr[MAX];
	} names = { .head.version = RDMA_CMX_NAMES_VERSION };
	union event_buf ev;
	const char *text;
	va_list ap;
	int n = 0, ret;

	va_start(ap, ai_flags);
	while ((text = va_arg(ap, const char *))) {
		names.addr[n].family = strchr(text, ':') ? AF_INET6 : AF_INET;
		inet_pton(names.addr[n].family, text, names.addr[n].addr);
		n++;
	}
	va_end(ap);
	names.head.addr_count = n;
	arg.query.node = (uintptr_t)"any.example";
	arg.query.node_len = 11;
	arg.query.ai_flags = ai_flags;
	arg.query.port_space = ps;
	arg.query.port = htons(port);
	arg.query.flags = RDMA_CMX_AIQ_PORT;
	arg.query.names = (uintptr_t)&names;
	arg.query.names_len = sizeof(names.head) + n * sizeof(names.addr[0]);
	ret = call(fd, RESOLVE_ADDRINFO, &arg);
	return ret ? ret : event_want(fd, RDMA_CMX_EV_ADDRINFO_RESOLVED, &ev);
}

#define result(fd, id, port, ...) \
	result_ps(fd, id, RDMA_PS_TCP, port, 0, __VA_ARGS__, NULL)

static inline int any(int fd, uint32_t id, uint32_t flags,
		      uint32_t timeout_ms)
{
	struct rdma_cmx_resolve_any arg = {
		.id = id, .flags = flags, .timeout_ms = timeout_ms,
	};

	return call(fd, RESOLVE_ANY, &arg);
}

static inline int any_next(int fd, uint32_t id, uint32_t error,
			   uint32_t reason)
{
	struct rdma_cmx_resolve_any arg = {
		.id = id, .flags = RDMA_CMX_ANY_NEXT,
		.step = RDMA_CMX_STEP_REQUEST, .error = error, .reason = reason,
	};

	return call(fd, RESOLVE_ANY, &arg);
}

static inline int candidates(int fd, uint32_t id,
			     struct rdma_cmx_candidate_info *list,
			     uint32_t *count, uint32_t *winner)
{
	struct rdma_cmx_query_candidates arg = {
		.id = id, .candidates = (uintptr_t)list,
		.max_candidates = MAX, .candidate_size = sizeof(*list),
	};
	int ret = call(fd, QUERY_CANDIDATES, &arg);

	*count = arg.num_candidates;
	*winner = arg.winner;
	return ret;
}

#define CANDIDATES() \
	candidates(self->fd, self->id, self->list, &self->count, &self->winner)

/* QUERY_CANDIDATES of the next race, with the fixture's list */
#define UNTRIED() {							\
	.id = self->id, .candidates = (uintptr_t)self->list,		\
	.max_candidates = MAX, .candidate_size = sizeof(self->list[0]),	\
	.flags = RDMA_CMX_CANDIDATES_UNTRIED,				\
}

static inline bool addr_is(const struct rdma_cmx_addr *addr, const char *text)
{
	struct rdma_cmx_addr want;

	addr_set(&want, text, addr_port(addr));
	return want.family == addr->family &&
	       !memcmp(want.data + 2, addr->data + 2,
		       want.family == AF_INET ? 4 : 20);
}

#endif /* IOCTL_ANY_H */
