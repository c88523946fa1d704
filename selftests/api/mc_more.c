// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Joins beyond rdma_join_multicast_ex(), on RoCE: IPv6 groups (MC-07),
 * parameters (MC-08), many groups in one call (MC-10).
 */
#include <rdma/rdma_cmx.h>

#include "api.h"

#define GROUP6	"ff15::55:201"
#define MANY	300

FIXTURE(mc) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *id6;
	struct sockaddr_storage group[MANY];
	struct rdmacmx_join_attr attr[MANY];
};

FIXTURE_SETUP(mc)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id6, NULL,
				    RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	ASSERT_EQ(0, id_bind(self->id6, OWN6, 0));
	for (int i = 0; i < MANY; i++) {
		char text[32];

		snprintf(text, sizeof(text), "239.57.%d.%d", i >> 8, i & 255);
		self->attr[i].addr = addr_make(&self->group[i], text, 0);
		self->attr[i].context = &self->attr[i];
	}
}

FIXTURE_TEARDOWN(mc)
{
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	if (self->id->qp)
		rdma_destroy_qp(self->id);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->id6));
	rdma_destroy_event_channel(self->channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

static bool mld_joined(void)
{
	return !run("bash -c '. " SELFTESTS "/lib.sh; mld_joined " ETH
		    " ff150000000000000000000000550201'");
}

/* Only the address differs from an IPv4 join. */
TEST_F(mc, MC_07_full_member_has_mld_membership)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.addr = addr_make(&self->group[0], GROUP6, 0),
	};
	const struct sockaddr_in6 *in6 = (void *)attr.addr;
	struct rdma_cm_event *event;

	EXPECT_FALSE(mld_joined());
	ASSERT_EQ(0, rdma_join_multicast_ex(self->id6, &attr, self));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
	EXPECT_EQ(self, event->param.ud.private_data);
	EXPECT_EQ(0xffffff, event->param.ud.qp_num);
	EXPECT_EQ(RDMA_UDP_QKEY, event->param.ud.qkey);
	EXPECT_EQ(1, event->param.ud.ah_attr.is_global);
	EXPECT_EQ(64, event->param.ud.ah_attr.grh.hop_limit);
	EXPECT_EQ(0, memcmp(&in6->sin6_addr,
			    &event->param.ud.ah_attr.grh.dgid, 16));
	rdma_ack_cm_event(event);
	EXPECT_TRUE(mld_joined());
	EXPECT_EQ(0, rdma_leave_multicast(self->id6, attr.addr));
	EXPECT_FALSE(mld_joined());
}

TEST_F(mc, MC_07_send_only_has_none)
{
	self->attr[0].addr = addr_make(&self->group[0], GROUP6, 0);
	self->attr[0].join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	ASSERT_EQ(0, rdmacmx_join_multicast(self->id6, &self->attr[0], NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_FALSE(mld_joined());
	EXPECT_EQ(0, rdma_leave_multicast(self->id6, self->attr[0].addr));
}

TEST_F(mc, MC_07_destroy_leaves)
{
	struct rdma_cm_id *id;

	self->attr[0].addr = addr_make(&self->group[0], GROUP6, 0);
	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, OWN6, 0));
	ASSERT_EQ(0, rdmacmx_join_multicast(id, &self->attr[0], NULL));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  event_take(self->channel, NULL));
	EXPECT_TRUE(mld_joined());
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_FALSE(mld_joined());
}

TEST_F(mc, MC_07_leave_at_once)
{
	self->attr[0].addr = addr_make(&self->group[0], GROUP6, 0);
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(0, rdmacmx_join_multicast(self->id6, &self->attr[0],
						    NULL));
		ASSERT_EQ(0, rdma_leave_multicast(self->id6,
						  self->attr[0].addr));
		ASSERT_EQ(0, channel_readable(self->channel, 0));
	}
	EXPECT_FALSE(mld_joined());
}

/* The port loses the GID of the id. */
TEST_F(mc, MC_07_failure_is_multicast_error)
{
	struct rdma_cm_id *id;
	int status = 0;

	ASSERT_EQ(0, run("ip addr replace fd55::77/64 dev " ETH " nodad"));
	ASSERT_TRUE(wait_for(WAIT_MS, "cat /sys/class/infiniband/" IBDEV
			     "/ports/1/gids/* | grep -q ^fd55:.*:0077"));
	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, "fd55::77", 0));
	ASSERT_EQ(0, run("ip addr del fd55::77/64 dev " ETH));
	ASSERT_TRUE(wait_for(WAIT_MS, "! cat /sys/class/infiniband/" IBDEV
			     "/ports/1/gids/* | grep -q ^fd55:.*:0077"));
	self->attr[0].addr = addr_make(&self->group[0], GROUP6, 0);
	ASSERT_EQ(0, rdmacmx_join_multicast(id, &self->attr[0], NULL));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_ERROR,
		  event_take(self->channel, &status));
	EXPECT_EQ(-EADDRNOTAVAIL, status);
	EXPECT_FALSE(mld_joined());
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(mc, MC_08_group_is_reported)
{
	struct rdma_cm_event *event, plain;
	struct rdmacmx_group group;

	ASSERT_EQ(0, rdma_join_multicast(self->id, self->attr[0].addr, NULL));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	ASSERT_EQ(0, rdmacmx_event_group(event, &group));
	EXPECT_EQ(RDMA_UDP_QKEY, group.qkey);
	EXPECT_EQ(64, group.hop_limit);
	EXPECT_EQ(IBV_MTU_1024, group.mtu);
	EXPECT_EQ(0, group.mask & RDMACMX_GROUP_RATE);
	EXPECT_EQ(-1, rdmacmx_event_group(event, NULL));
	EXPECT_EQ(-1, rdmacmx_event_group(NULL, &group));
	rdma_ack_cm_event(event);
	EXPECT_EQ(0, rdma_leave_multicast(self->id, self->attr[0].addr));

	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, 0));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_event_group(event, &group));
	EXPECT_EQ(EINVAL, errno);
	plain = *event;
	rdma_ack_cm_event(event);
	EXPECT_EQ(RDMA_CM_EVENT_USER, plain.event);
}

/* The queue pair of a full member receives with the group's Q_Key. */
TEST_F(mc, MC_08_qkey_reaches_the_queue_pair)
{
	struct ibv_qp_init_attr init;
	struct rdma_cm_event *event;
	struct rdmacmx_group group;
	struct ibv_qp_attr attr;

	ASSERT_EQ(0, qp_make(self->id, IBV_QPT_UD));
	self->attr[0].group.mask = RDMACMX_GROUP_QKEY |
				   RDMACMX_GROUP_HOP_LIMIT;
	self->attr[0].group.qkey = 0x55aa55;
	self->attr[0].group.hop_limit = 3;
	self->attr[0].flags = RDMACMX_JOIN_PERSISTENT;
	ASSERT_EQ(0, rdmacmx_join_multicast(self->id, &self->attr[0], NULL));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(0x55aa55, event->param.ud.qkey);
	EXPECT_EQ(3, event->param.ud.ah_attr.grh.hop_limit);
	ASSERT_EQ(0, rdmacmx_event_group(event, &group));
	EXPECT_EQ(0x55aa55, group.qkey);
	EXPECT_EQ(3, group.hop_limit);
	rdma_ack_cm_event(event);
	ASSERT_EQ(0, ibv_query_qp(self->id->qp, &attr, IBV_QP_QKEY, &init));
	EXPECT_EQ(0x55aa55, attr.qkey);
	EXPECT_EQ(0, rdma_leave_multicast(self->id, self->attr[0].addr));
}

#define REFUSED(err) do {						\
	errno = 0;							\
	EXPECT_EQ(-1, rdmacmx_join_multicast(self->id, &self->attr[0],	\
					     NULL));			\
	EXPECT_EQ(err, errno);						\
} while (0)

TEST_F(mc, MC_08_refused)
{
	struct rdmacmx_join_attr *attr = &self->attr[0];
	const struct rdmacmx_join_attr good = *attr;

	attr->group.mask = RDMACMX_GROUP_MTU;
	attr->group.mtu = IBV_MTU_2048;
	REFUSED(EOPNOTSUPP);
	attr->group.mask = 1u << 20;
	attr->group.mtu = 0;
	REFUSED(EOPNOTSUPP);
	*attr = good;
	attr->flags = 1u << 31;
	REFUSED(EOPNOTSUPP);
	*attr = good;
	attr->group.sl = 1;
	REFUSED(EINVAL);
	*attr = good;
	attr->group.reserved = 1;
	REFUSED(EINVAL);
	*attr = good;
	attr->reserved[4] = 1;
	REFUSED(EINVAL);
	*attr = good;
	attr->addr = NULL;
	REFUSED(EINVAL);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_join_multicast(NULL, &good, NULL));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, rdmacmx_join_multicast(self->id, NULL, NULL));
}

/* Each join reports one event with its context, and attaches a queue pair. */
TEST_F(mc, MC_10_many_groups)
{
	struct rdma_cm_event *event;
	bool seen[MANY] = {};
	long i;

	ASSERT_EQ(0, qp_make(self->id, IBV_QPT_UD));
	ASSERT_EQ(MANY, rdmacmx_join_many(self->id, self->attr, MANY));
	for (int n = 0; n < MANY; n++) {
		ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
		EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
		i = (struct rdmacmx_join_attr *)event->param.ud.private_data -
		    self->attr;
		ASSERT_LE(0, i);
		ASSERT_GT(MANY, i);
		EXPECT_FALSE(seen[i]);
		seen[i] = true;
		EXPECT_EQ(i & 255, event->param.ud.ah_attr.grh.dgid.raw[15]);
		rdma_ack_cm_event(event);
	}
	for (i = 0; i < MANY; i++) {
		EXPECT_EQ(0, self->attr[i].error);
		EXPECT_EQ(0, rdma_leave_multicast(self->id,
						  self->attr[i].addr));
	}
}

TEST_F(mc, MC_10_some_are_refused)
{
	struct rdmacmx_join_attr *attr = self->attr;

	attr[0].addr = addr_make(&self->group[0], PEER4, 0);
	attr[2].addr = NULL;
	attr[3].flags = 1u << 9;
	attr[4].join_flags = 99;
	attr[5].addr = addr_make(&self->group[5], GROUP6, 0);
	EXPECT_EQ(2, rdmacmx_join_many(self->id, attr, 7));
	EXPECT_EQ(EINVAL, attr[0].error);
	EXPECT_EQ(0, attr[1].error);
	EXPECT_EQ(EINVAL, attr[2].error);
	EXPECT_EQ(EOPNOTSUPP, attr[3].error);
	EXPECT_EQ(EINVAL, attr[4].error);
	EXPECT_EQ(EAFNOSUPPORT, attr[5].error);
	EXPECT_EQ(0, attr[6].error);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
			  event_take(self->channel, NULL));
	errno = 0;
	EXPECT_EQ(-1, rdma_leave_multicast(self->id, attr[3].addr));
	EXPECT_EQ(EADDRNOTAVAIL, errno);
	EXPECT_EQ(0, rdma_leave_multicast(self->id, attr[1].addr));
	EXPECT_EQ(0, rdma_leave_multicast(self->id, attr[6].addr));
	/* Without a further candidate */
	EXPECT_EQ(0, rdmacmx_join_many(self->id, attr, 1));
}

TEST_F(mc, MC_10_misuse)
{
	struct rdma_cm_id *id;

	errno = 0;
	EXPECT_EQ(-1, rdmacmx_join_many(NULL, self->attr, 1));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, rdmacmx_join_many(self->id, NULL, 1));
	EXPECT_EQ(-1, rdmacmx_join_many(self->id, self->attr, 0));
	EXPECT_EQ(-1, rdmacmx_join_many(self->id, self->attr, -1));
	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_join_many(id, self->attr, 3));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(EINVAL, self->attr[2].error);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(mc, MC_10_synchronous_id)
{
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, OWN4, 0));
	self->attr[1].addr = NULL;
	EXPECT_EQ(2, rdmacmx_join_many(id, self->attr, 3));
	EXPECT_EQ(EINVAL, self->attr[1].error);
	EXPECT_EQ(0, rdma_leave_multicast(id, self->attr[0].addr));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_HARNESS_MAIN
