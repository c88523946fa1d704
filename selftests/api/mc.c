// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Success of rdma_join_multicast_ex() on RoCE: the event, the queue pair, IGMP
 * membership, leaving. The system tests send data and check the network.
 */
#include <dlfcn.h>

#include "api.h"

#define GROUP	"239.55.1.1"
#define GROUP2	"239.55.1.2"

/* Wraps functions of libibverbs: records attached and detached groups. */
static int attached, detached;
static struct ibv_qp *attached_qp;
static union ibv_gid attached_gid;

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int (*next)(struct ibv_qp *, const union ibv_gid *, uint16_t) =
		dlvsym(RTLD_NEXT, "ibv_attach_mcast", "IBVERBS_1.1");

	attached++;
	attached_qp = qp;
	attached_gid = *gid;
	return next(qp, gid, lid);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	int (*next)(struct ibv_qp *, const union ibv_gid *, uint16_t) =
		dlvsym(RTLD_NEXT, "ibv_detach_mcast", "IBVERBS_1.1");

	detached++;
	return next(qp, gid, lid);
}

FIXTURE(mc) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *id2;
};

FIXTURE_SETUP(mc)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id2, NULL,
				    RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	ASSERT_EQ(0, id_bind(self->id2, OWN4, 0));
}

FIXTURE_TEARDOWN(mc)
{
	if (self->id->qp)
		rdma_destroy_qp(self->id);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->id2));
	rdma_destroy_event_channel(self->channel);
}

static int join(struct rdma_cm_id *id, const char *group, int flags,
		void *context)
{
	struct sockaddr_storage ss;
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = flags,
		.addr = addr_make(&ss, group, 0),
	};

	return rdma_join_multicast_ex(id, &attr, context);
}

static int leave(struct rdma_cm_id *id, const char *group)
{
	struct sockaddr_storage ss;

	return rdma_leave_multicast(id, addr_make(&ss, group, 0));
}

static bool igmp_joined(const char *group)
{
	return !run("bash -c '. " SELFTESTS "/lib.sh; igmp_joined " ETH " %s'",
		    group);
}

static void event_expect(struct __test_metadata *_metadata,
			 struct rdma_cm_id *id, void *context)
{
	struct rdma_cm_event *event;
	unsigned char mgid[16] = { [10] = 0xff, 0xff, 239, 55, 1, 1 };

	ASSERT_EQ(0, event_wait(id->channel, &event, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
	EXPECT_EQ(0, event->status);
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(context, event->param.ud.private_data);
	EXPECT_EQ(0xffffff, event->param.ud.qp_num);
	EXPECT_EQ(RDMA_UDP_QKEY, event->param.ud.qkey);
	EXPECT_EQ(1, event->param.ud.ah_attr.is_global);
	EXPECT_EQ(id->port_num, event->param.ud.ah_attr.port_num);
	EXPECT_EQ(0, memcmp(mgid, &event->param.ud.ah_attr.grh.dgid, 16));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
}

TEST_F(mc, MC_01_full_member)
{
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER,
			  (void *)0x1234567));
	event_expect(_metadata, self->id, (void *)0x1234567);
	EXPECT_EQ(0, leave(self->id, GROUP));
}

TEST_F(mc, MC_01_send_only)
{
	ASSERT_EQ(0, join(self->id, GROUP,
			  RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, &self));
	event_expect(_metadata, self->id, &self);
	EXPECT_EQ(0, leave(self->id, GROUP));
}

TEST_F(mc, MC_01_plain_join_is_full_member)
{
	struct sockaddr_storage ss;

	ASSERT_EQ(0, rdma_join_multicast(self->id, addr_make(&ss, GROUP, 0),
					 NULL));
	event_expect(_metadata, self->id, NULL);
	EXPECT_TRUE(igmp_joined(GROUP));
	EXPECT_EQ(0, leave(self->id, GROUP));
}

TEST_F(mc, MC_01_after_resolve_addr)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(id, OWN4, GROUP, 0, NULL));
	ASSERT_EQ(0, join(id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, id));
	event_expect(_metadata, id, id);
	EXPECT_EQ(0, leave(id, GROUP));
	rdma_destroy_id(id);
}

/* The port loses the address of the id: the join cannot find its GID. */
TEST_F(mc, MC_01_failure_is_multicast_error)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int ret;

	ASSERT_EQ(0, run("ip addr replace 10.55.0.101/32 dev " ETH));
	ASSERT_TRUE(wait_for(WAIT_MS, "cat /sys/class/infiniband/" IBDEV
			     "/ports/1/gids/* | grep -q ffff:0a37:0065"));
	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, "10.55.0.101", 0));
	ASSERT_EQ(0, run("ip addr del 10.55.0.101/32 dev " ETH));
	ASSERT_TRUE(wait_for(WAIT_MS, "! cat /sys/class/infiniband/" IBDEV
			     "/ports/1/gids/* | grep -q ffff:0a37:0065"));
	ret = join(id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, (void *)0x77);
	EXPECT_EQ(0, ret);
	if (!ret) {
		ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
		EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_ERROR, event->event);
		EXPECT_GT(0, event->status);
		EXPECT_EQ(id, event->id);
		EXPECT_EQ((void *)0x77, event->param.ud.private_data);
		rdma_ack_cm_event(event);
	}
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_FALSE(igmp_joined(GROUP));
}

TEST_F(mc, MC_02_attached_when_event_is_retrieved)
{
	unsigned char mgid[16] = { [10] = 0xff, 0xff, 239, 55, 1, 1 };
	struct rdma_cm_event *event;

	ASSERT_EQ(0, qp_make(self->id, IBV_QPT_UD));
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	EXPECT_EQ(0, attached);
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(1, attached);
	EXPECT_EQ(self->id->qp, attached_qp);
	EXPECT_EQ(0, memcmp(mgid, &attached_gid, 16));
	rdma_ack_cm_event(event);
	EXPECT_EQ(0, detached);
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_EQ(1, attached);
	EXPECT_EQ(1, detached);
}

TEST_F(mc, MC_02_send_only_is_not_attached)
{
	ASSERT_EQ(0, qp_make(self->id, IBV_QPT_UD));
	ASSERT_EQ(0, join(self->id, GROUP,
			  RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_EQ(0, attached);
	EXPECT_EQ(0, detached);
}

TEST_F(mc, MC_02_without_qp_nothing_is_attached)
{
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, attached);
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_EQ(0, detached);
}

TEST_F(mc, MC_03_full_member_has_igmp_membership)
{
	EXPECT_FALSE(igmp_joined(GROUP));
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_TRUE(igmp_joined(GROUP));
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_FALSE(igmp_joined(GROUP));
}

TEST_F(mc, MC_03_send_only_has_none)
{
	ASSERT_EQ(0, join(self->id, GROUP,
			  RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_FALSE(igmp_joined(GROUP));
	EXPECT_EQ(0, leave(self->id, GROUP));
}

/* The leave of the send-only membership does not end another membership. */
TEST_F(mc, MC_03_send_only_leave_beside_full_member)
{
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
	ASSERT_EQ(0, join(self->id2, GROUP,
			  RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, leave(self->id2, GROUP));
	EXPECT_TRUE(igmp_joined(GROUP));
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_FALSE(igmp_joined(GROUP));
}

TEST_F(mc, MC_03_destroy_leaves)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, OWN4, 0));
	ASSERT_EQ(0, join(id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_TRUE(igmp_joined(GROUP));
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_FALSE(igmp_joined(GROUP));
}

TEST_F(mc, MC_06_twice_on_one_id)
{
	struct rdma_cm_event *event;
	unsigned long seen = 0;

	ASSERT_EQ(0, qp_make(self->id, IBV_QPT_UD));
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER,
			  (void *)1));
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER,
			  (void *)2));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
		EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
		seen |= (unsigned long)event->param.ud.private_data;
		rdma_ack_cm_event(event);
	}
	EXPECT_EQ(3, seen);
	EXPECT_TRUE(igmp_joined(GROUP));
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_TRUE(igmp_joined(GROUP));
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_FALSE(igmp_joined(GROUP));
	errno = 0;
	EXPECT_EQ(-1, leave(self->id, GROUP));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
}

TEST_F(mc, MC_06_on_two_ids)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *first;

	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER,
			  self->id));
	ASSERT_EQ(0, join(self->id2, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER,
			  self->id2));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(event->id, event->param.ud.private_data);
	first = event->id;
	rdma_ack_cm_event(event);
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(event->id, event->param.ud.private_data);
	EXPECT_NE(first, event->id);
	rdma_ack_cm_event(event);
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_TRUE(igmp_joined(GROUP));
	errno = 0;
	EXPECT_EQ(-1, leave(self->id, GROUP));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
	EXPECT_EQ(0, leave(self->id2, GROUP));
	EXPECT_FALSE(igmp_joined(GROUP));
}

TEST_F(mc, MC_06_two_groups_on_one_id)
{
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
	ASSERT_EQ(0, join(self->id, GROUP2, RDMA_MC_JOIN_FLAG_FULLMEMBER,
			  NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_FALSE(igmp_joined(GROUP));
	EXPECT_TRUE(igmp_joined(GROUP2));
	EXPECT_EQ(0, leave(self->id, GROUP2));
}

TEST(MC_13_leave_on_synchronous_id)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, OWN4, 0));
	ASSERT_EQ(0, join(id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
	EXPECT_TRUE(igmp_joined(GROUP));
	EXPECT_EQ(0, leave(id, GROUP));
	EXPECT_FALSE(igmp_joined(GROUP));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(mc, MC_13_leave_removes_unread_event)
{
	ASSERT_EQ(0, join(self->id, GROUP, RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	EXPECT_EQ(0, leave(self->id, GROUP));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, 0));
	EXPECT_EQ(RDMA_CM_EVENT_USER, event_take(self->channel, NULL));
	EXPECT_FALSE(igmp_joined(GROUP));
}

TEST_F(mc, MC_13_leave_at_once)
{
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(0, join(self->id, GROUP,
				  RDMA_MC_JOIN_FLAG_FULLMEMBER, NULL));
		ASSERT_EQ(0, leave(self->id, GROUP));
		ASSERT_EQ(0, channel_readable(self->channel, 0));
	}
	EXPECT_FALSE(igmp_joined(GROUP));
}

TEST_HARNESS_MAIN
