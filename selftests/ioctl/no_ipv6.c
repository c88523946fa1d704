// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A kernel booted with ipv6.disable=1 has no tables of IPv6 addresses and
 * routes, and its lookup functions do not check for them. Any user can pass an
 * IPv6 address. The result is an error or an entry that nothing reaches, and
 * IPv4 still works.
 */
#include "uapi.h"

#include <net/if.h>

#include "harness.h"

static const char *const addresses[] = {
	"::1", "fd55::1", "fd55::2", "fe80::1", "::ffff:10.55.0.1",
};

FIXTURE(no_ipv6) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(no_ipv6)
{
	ASSERT_EQ(0, user_become(65534));
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
}

FIXTURE_TEARDOWN(no_ipv6)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_files", 0));
}

static void scope_set(struct rdma_cmx_addr *addr)
{
	struct sockaddr_in6 in6;

	memcpy(&in6, addr, sizeof(in6));
	in6.sin6_scope_id = if_nametoindex("eth0");
	memcpy(addr, &in6, sizeof(in6));
}

/* The family of the first entry's source, or a negative errno. */
static int first_family(int fd, struct rdma_cmx_ai_query *query)
{
	struct rdma_cmx_ai_entry entries[8] = {};
	struct rdma_cmx_getaddrinfo arg = {
		.buf = (uintptr_t)entries,
		.buf_len = sizeof(entries),
		.query = *query,
	};
	int ret;

	arg.query.port_space = RDMA_PS_TCP;
	ret = call(fd, GETADDRINFO, &arg);
	if (!ret && !arg.len)
		return -EPROTO;
	return ret ?: entries[0].src.family;
}

static int resolved(int fd, const char *node, uint32_t flags)
{
	struct rdma_cmx_ai_query query = {
		.ai_flags = flags,
		.node = (uintptr_t)node,
		.node_len = strlen(node),
	};

	return first_family(fd, &query);
}

TEST_F(no_ipv6, resolver)
{
	struct rdma_cmx_ai_query query;
	char node[64];
	int i;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		TH_LOG("%s", addresses[i]);
		EXPECT_EQ(0, resolved(self->fd, addresses[i], 0));
		EXPECT_EQ(AF_INET6, resolved(self->fd, addresses[i],
					     RDMA_CMX_AI_PASSIVE));
		/*
		 * With the index of the zone: libc accepts a name for some
		 * addresses only.
		 */
		snprintf(node, sizeof(node), "%s%%%u", addresses[i],
			 if_nametoindex("eth0"));
		EXPECT_EQ(0, resolved(self->fd, node, 0));
		EXPECT_EQ(AF_INET6, resolved(self->fd, node,
					     RDMA_CMX_AI_PASSIVE));

		/* With a source, with and without a scope */
		memset(&query, 0, sizeof(query));
		addr_set(&query.src, addresses[i], 0);
		addr_set(&query.dst, "fd55::2", 0);
		EXPECT_EQ(0, first_family(self->fd, &query));
		scope_set(&query.src);
		EXPECT_EQ(0, first_family(self->fd, &query));
		memset(&query.dst, 0, sizeof(query.dst));
		EXPECT_EQ(AF_INET6, first_family(self->fd, &query));
	}
}

TEST_F(no_ipv6, ids)
{
	union event_buf buf;
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct rdma_cmx_id_bind bind = { .id = self->id };
		struct rdma_cmx_resolve_addr resolve = {
			.id = self->id, .timeout_ms = 2000,
		};

		TH_LOG("%s", addresses[i]);
		addr_set(&bind.addr, addresses[i], 0);
		EXPECT_EQ(-EADDRNOTAVAIL, call(self->fd, ID_BIND, &bind));
		scope_set(&bind.addr);
		EXPECT_EQ(-EADDRNOTAVAIL, call(self->fd, ID_BIND, &bind));

		addr_set(&resolve.src, addresses[i], 0);
		addr_set(&resolve.dst, "fd55::2", 7);
		EXPECT_EQ(-EADDRNOTAVAIL,
			  call(self->fd, RESOLVE_ADDR, &resolve));
		memset(&resolve.src, 0, sizeof(resolve.src));
		resolve.dst = bind.addr;
		ret = call(self->fd, RESOLVE_ADDR, &resolve);
		/* The loopback address selects the first device. */
		if (!ret)
			EXPECT_EQ(0, event_want(self->fd, i ? EV_ADDR_ERROR :
						EV_ADDR_RESOLVED, &buf));
		EXPECT_LE(0, id_destroy(self->fd, self->id));
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &self->id));
	}
	EXPECT_EQ(0, id_bind(self->fd, self->id, "::", 0));
}

TEST_F(no_ipv6, ipv4_goes_on)
{
	union event_buf buf;
	uint32_t id, mc;

	EXPECT_EQ(AF_INET, resolved(self->fd, ADDR_RDMA, 0));
	EXPECT_EQ(AF_INET, resolved(self->fd, "10.55.0.2", 0));
	ASSERT_EQ(0, id_bind(self->fd, self->id, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->fd, self->id, GROUP, 2, &mc));
	ASSERT_EQ(0, event_want(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(-EAFNOSUPPORT,
		  mc_join(self->fd, self->id, "ff15::55:1", 3, &mc));
	EXPECT_EQ(1, mc_leave(self->fd, buf.ev.obj));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	ASSERT_EQ(0, id_resolve_addr(self->fd, id, ADDR_RDMA, ADDR_RDMA, 7));
	ASSERT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
}

TEST_HARNESS_MAIN
