// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* MC-05, MC-13: joins and leaves that fail, each with its errno. */
#include "api.h"

#define GROUP	"239.55.2.1"
#define BOTH	(RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS)

FIXTURE(mc) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct sockaddr_storage group;
	struct rdma_cm_join_mc_attr_ex attr;
};

FIXTURE_SETUP(mc)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	self->attr.comp_mask = BOTH;
	self->attr.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	self->attr.addr = addr_make(&self->group, GROUP, 0);
}

/* A failed call reports no event, and the id can still join. */
FIXTURE_TEARDOWN(mc)
{
	struct sockaddr_storage good;

	EXPECT_EQ(0, channel_readable(self->channel, 0));
	self->attr.comp_mask = BOTH;
	self->attr.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	self->attr.addr = addr_make(&good, GROUP, 0);
	EXPECT_EQ(0, rdma_join_multicast_ex(self->id, &self->attr, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, rdma_leave_multicast(self->id, self->attr.addr));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

#define REFUSED(err) do {						\
	errno = 0;							\
	EXPECT_EQ(-1, rdma_join_multicast_ex(self->id, &self->attr, NULL)); \
	EXPECT_EQ(err, errno);						\
} while (0)

TEST_F(mc, MC_05_unknown_comp_mask)
{
	for (unsigned int bit = 2; bit < 32; bit++) {
		self->attr.comp_mask = BOTH | 1u << bit;
		REFUSED(ENOTSUP);
		self->attr.comp_mask = 1u << bit;
		REFUSED(ENOTSUP);
	}
}

TEST_F(mc, MC_05_no_address)
{
	self->attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	REFUSED(EINVAL);
}

TEST_F(mc, MC_05_no_flags)
{
	self->attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	REFUSED(EINVAL);
	self->attr.comp_mask = 0;
	REFUSED(EINVAL);
}

TEST_F(mc, MC_05_unknown_flag_value)
{
	self->attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	REFUSED(EINVAL);
	self->attr.join_flags = 0x10000;
	REFUSED(EINVAL);
	self->attr.join_flags = UINT32_MAX;
	REFUSED(EINVAL);
}

TEST_F(mc, MC_05_null_address)
{
	self->attr.addr = NULL;
	REFUSED(EINVAL);
}

TEST_F(mc, MC_05_bad_family)
{
	static const int families[] = { AF_UNSPEC, AF_UNIX, AF_PACKET, 255,
					65535 };

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		self->group.ss_family = families[i];
		REFUSED(EINVAL);
	}
}

TEST_F(mc, MC_05_not_multicast)
{
	static const char *const hosts[] = {
		PEER4, OWN4, "0.0.0.0", "223.255.255.255", "240.0.0.1",
		"255.255.255.255", "10.55.0.255", PEER6, "::", "::1",
		"fe80::1", "feff::1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		self->attr.addr = addr_make(&self->group, hosts[i], 0);
		for (int flags = 0; flags < 2; flags++) {
			self->attr.join_flags = flags;
			REFUSED(EINVAL);
		}
	}
}

TEST_F(mc, MC_05_plain_join_checks_too)
{
	struct sockaddr_storage ss;

	errno = 0;
	EXPECT_EQ(-1, rdma_join_multicast(self->id, addr_make(&ss, PEER4, 0),
					  NULL));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_join_multicast(self->id, NULL, NULL));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(mc, MC_05_id_not_bound)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	errno = 0;
	EXPECT_EQ(-1, rdma_join_multicast_ex(id, &self->attr, NULL));
	EXPECT_NE(0, errno);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(mc, MC_05_bound_to_no_device)
{
	struct rdma_cm_id *id;

	/* A bind to the wildcard address selects a port, but no device. */
	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, "0.0.0.0", 0));
	EXPECT_EQ(-1, rdma_join_multicast_ex(id, &self->attr, NULL));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(mc, MC_05_leave_of_a_group_never_joined)
{
	struct sockaddr_storage ss;

	errno = 0;
	EXPECT_EQ(-1, rdma_leave_multicast(self->id, self->attr.addr));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
	ASSERT_EQ(0, rdma_join_multicast_ex(self->id, &self->attr, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	errno = 0;
	EXPECT_EQ(-1, rdma_leave_multicast(self->id,
					   addr_make(&ss, "239.55.2.2", 0)));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
	EXPECT_EQ(0, rdma_leave_multicast(self->id, self->attr.addr));
}

TEST_F(mc, MC_13_null)
{
	errno = 0;
	EXPECT_EQ(-1, rdma_join_multicast_ex(NULL, &self->attr, NULL));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_join_multicast_ex(self->id, NULL, NULL));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_join_multicast(NULL, self->attr.addr, NULL));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_leave_multicast(NULL, self->attr.addr));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_leave_multicast(self->id, NULL));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(mc, MC_13_leave_with_bad_family)
{
	self->group.ss_family = AF_UNIX;
	errno = 0;
	EXPECT_EQ(-1, rdma_leave_multicast(self->id, self->attr.addr));
	EXPECT_EQ(EINVAL, errno);
}

TEST_HARNESS_MAIN
