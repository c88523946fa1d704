// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tags of destinations: two services have different tags, and no listener has
 * many.
 */
#include <linux/inet.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "connect/window.h"
#include "kunit.h"

static struct rdma_cm_id *id;

static int tag_init(struct kunit *test)
{
	id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);
	if (!id)
		return -ENOMEM;
	id->device = kunit_kzalloc(test, sizeof(*id->device), GFP_KERNEL);
	if (!id->device)
		return -ENOMEM;
	id->port_num = 1;
	id->route.addr.dev_addr.net = &init_net;
	return 0;
}

/* The tag of a numeric address in a port space, and its port number */
static u32 tag_of(struct kunit *test, const char *addr, const char *port,
		  enum rdma_ucm_port_space ps)
{
	u32 tag;

	memset(&id->route.addr.dst_addr, 0, sizeof(id->route.addr.dst_addr));
	KUNIT_ASSERT_EQ(test, 0, inet_pton_with_scope(&init_net, AF_UNSPEC,
						      addr, port,
						      &id->route.addr.dst_addr));
	id->ps = ps;
	KUNIT_ASSERT_TRUE(test, cmx_slot_tag(id, &tag));
	return tag;
}

/* All pairs differ. */
static void tag_different(struct kunit *test)
{
	static const struct {
		const char *addr;
		const char *port;
		enum rdma_ucm_port_space ps;
	} to[] = {
		{ "192.0.2.5", "4420", RDMA_PS_TCP },
		/* The bytes of the first one, on a little endian machine */
		{ "c000:205::", "4420", RDMA_PS_TCP },
		{ "192.0.2.5", "4420", RDMA_PS_UDP },
		{ "192.0.2.5", "4420", RDMA_PS_IPOIB },
		{ "192.0.2.5", "4420", RDMA_PS_IB },
		{ "192.0.2.5", "4421", RDMA_PS_TCP },
		{ "192.0.2.6", "4420", RDMA_PS_TCP },
		{ "2001:db8::5", "4420", RDMA_PS_TCP },
		{ "2001:db8::5", "4420", RDMA_PS_UDP },
	};
	u32 tag[ARRAY_SIZE(to)];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(to); i++) {
		tag[i] = tag_of(test, to[i].addr, to[i].port, to[i].ps);
		KUNIT_EXPECT_EQ(test, tag[i], tag_of(test, to[i].addr,
						     to[i].port, to[i].ps));
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, tag[i], tag[j]);
	}
}

static u32 tag_of_scope(struct kunit *test, const char *addr, u32 scope)
{
	struct sockaddr_in6 *to = (void *)&id->route.addr.dst_addr;
	u32 tag;

	memset(&id->route.addr.dst_addr, 0, sizeof(id->route.addr.dst_addr));
	to->sin6_family = AF_INET6;
	to->sin6_scope_id = scope;
	KUNIT_ASSERT_TRUE(test, in6_pton(addr, -1, to->sin6_addr.s6_addr, -1,
					 NULL));
	KUNIT_ASSERT_TRUE(test, cmx_slot_tag(id, &tag));
	return tag;
}

/* A scope matters for link-local addresses only. */
static void tag_scope(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, tag_of_scope(test, "2001:db8::5", 1),
			tag_of_scope(test, "2001:db8::5", 2));
	KUNIT_EXPECT_NE(test, tag_of_scope(test, "fe80::5", 1),
			tag_of_scope(test, "fe80::5", 2));
}

static void tag_other(struct kunit *test)
{
	struct net *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);
	u32 tag = tag_of(test, "192.0.2.5", "4420", RDMA_PS_TCP);

	KUNIT_ASSERT_NOT_NULL(test, other);
	other->net_cookie = init_net.net_cookie + 1;
	id->port_num = 2;
	KUNIT_EXPECT_NE(test, tag, tag_of(test, "192.0.2.5", "4420",
					  RDMA_PS_TCP));
	id->port_num = 1;
	id->device->index = 1;
	KUNIT_EXPECT_NE(test, tag, tag_of(test, "192.0.2.5", "4420",
					  RDMA_PS_TCP));
	id->device->index = 0;
	id->route.addr.dev_addr.net = other;
	KUNIT_EXPECT_NE(test, tag, tag_of(test, "192.0.2.5", "4420",
					  RDMA_PS_TCP));
	id->route.addr.dev_addr.net = &init_net;
	id->route.addr.dst_addr.ss_family = AF_UNSPEC;
	KUNIT_EXPECT_FALSE(test, cmx_slot_tag(id, &tag));
}

static struct kunit_case tag_cases[] = {
	KUNIT_CASE(tag_different),
	KUNIT_CASE(tag_scope),
	KUNIT_CASE(tag_other),
	{}
};

static struct kunit_suite tag_suite = {
	.name = "cmx_window_tag",
	.init = tag_init,
	.test_cases = tag_cases,
};

kunit_test_suite(tag_suite);
