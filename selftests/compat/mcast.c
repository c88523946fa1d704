// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: join and leave of an IPv4 group on RoCE, the fields of the event, and
 * invalid joins. system/multicast_data.sh tests the data.
 */
#include "pair.h"

#define GROUP	"239.55.61.1"
#define JOINED	"bash -c '. " SELFTESTS "/lib.sh; igmp_joined " ETH " " GROUP "'"

FIXTURE(mcast) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct sockaddr_storage group;
	struct sockaddr *addr;
};

FIXTURE_SETUP(mcast)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	self->addr = addr_make(&self->group, GROUP, 0);
}

FIXTURE_TEARDOWN(mcast)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

static void joined_check(struct __test_metadata *_metadata,
			 FIXTURE_DATA(mcast) *self, void *context)
{
	static const uint8_t gid[16] = {
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 55, 61, 1
	};
	struct rdma_cm_event *event;
	struct rdma_ud_param *ud;
	struct ibv_ah *ah;

	event = event_want(self->channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	ASSERT_NE(NULL, event);
	ud = &event->param.ud;
	EXPECT_EQ(0, event->status);
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(context, ud->private_data);
	EXPECT_EQ(0, ud->private_data_len);
	EXPECT_EQ(0xffffff, ud->qp_num);
	EXPECT_EQ(RDMA_UDP_QKEY, ud->qkey);
	EXPECT_EQ(1, ud->ah_attr.is_global);
	EXPECT_EQ(1, ud->ah_attr.port_num);
	EXPECT_EQ(0, memcmp(gid, ud->ah_attr.grh.dgid.raw, 16));
	ah = ibv_create_ah(self->id->pd, &ud->ah_attr);
	EXPECT_NE(NULL, ah);
	if (ah)
		ibv_destroy_ah(ah);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

TEST_F(mcast, RA_02_join_and_leave)
{
	struct ibv_qp_init_attr attr = pair_qp(RDMA_PS_UDP);

	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &attr));
	ASSERT_EQ(0, rdma_join_multicast(self->id, self->addr, self));
	joined_check(_metadata, self, self);
	EXPECT_EQ(0, run(JOINED));
	ASSERT_EQ(0, rdma_leave_multicast(self->id, self->addr));
	EXPECT_EQ(-1, rdma_leave_multicast(self->id, self->addr));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
	/* The queue pair is detached: destroy fails on an attached one. */
	rdma_destroy_qp(self->id);
	EXPECT_EQ(NULL, self->id->qp);
}

TEST_F(mcast, RA_02_join_ex)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = self->addr,
	};

	ASSERT_EQ(0, rdma_join_multicast_ex(self->id, &attr, &attr));
	joined_check(_metadata, self, &attr);
	EXPECT_NE(0, run(JOINED));
	ASSERT_EQ(0, rdma_leave_multicast(self->id, self->addr));
}

TEST_F(mcast, RA_02_join_misuse)
{
	struct rdma_cm_join_mc_attr_ex attr = { .addr = self->addr };
	struct sockaddr nothing = { .sa_family = AF_UNIX };

	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED;
	FAILS(ENOTSUP, rdma_join_multicast_ex(self->id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	FAILS(EINVAL, rdma_join_multicast_ex(self->id, &attr, NULL));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	FAILS(EINVAL, rdma_join_multicast_ex(self->id, &attr, NULL));
	attr.comp_mask |= RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	FAILS(EINVAL, rdma_join_multicast_ex(self->id, &attr, NULL));
	attr.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
	attr.addr = &nothing;
	FAILS(EINVAL, rdma_join_multicast_ex(self->id, &attr, NULL));
	FAILS(EINVAL, rdma_join_multicast(self->id, &nothing, NULL));
	FAILS(EINVAL, rdma_leave_multicast(self->id, &nothing));
	FAILS(EADDRNOTAVAIL, rdma_leave_multicast(self->id, self->addr));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

TEST_HARNESS_MAIN
