// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MC-02, MC-09: the Q_Key of a queue pair that is attached for memberships, on a
 * mocked device (mock.h). In RDMA_PS_IPOIB it is that of the partition, which a
 * subnet manager may change, unless the program gives one.
 */
#include <rdma/rdma_cmx.h>

#include "harness.h"
#include "mock.h"

#define OTHER_QKEY	0x0b1c	/* of the partition, later */
#define OWN_QKEY	0x0b1d	/* of the program */

FIXTURE(qkey) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(qkey)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_IPOIB));
}

FIXTURE_TEARDOWN(qkey)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

/* The event that the program reads, or -1 */
static int event_read(FIXTURE_DATA(qkey) *self)
{
	struct rdma_cm_event *event;
	int type;

	if (rdma_get_cm_event(self->channel, &event))
		return -1;
	type = event->event;
	return rdma_ack_cm_event(event) ? -1 : type;
}

/*
 * Likewise, of a membership: the oldest is 0. Unless the program has given the
 * Q_Key, it is that of the partition.
 */
static int joined(FIXTURE_DATA(qkey) *self, unsigned int which, uint16_t mlid,
		  uint32_t qkey)
{
	if (qkey != OWN_QKEY)
		mock.init_qkey = qkey;
	mock_rejoined(which, mlid, qkey);
	return event_read(self);
}

static bool joins(FIXTURE_DATA(qkey) *self, unsigned int which, uint32_t qkey)
{
	return joined(self, which, MOCK_MLID, qkey) ==
	       RDMA_CM_EVENT_MULTICAST_JOIN;
}

static bool lost(FIXTURE_DATA(qkey) *self, unsigned int which)
{
	mock_lost(which);
	return event_read(self) == RDMA_CM_EVENT_MULTICAST_ERROR;
}

static struct sockaddr *group(unsigned int number)
{
	static struct sockaddr_in sin = { .sin_family = AF_INET };

	sin.sin_addr.s_addr = htonl(0xef370100 + number);
	return (struct sockaddr *)&sin;
}

/* Group 1, 2 or 3, with a Q_Key of the program unless that is 0 */
static int join(FIXTURE_DATA(qkey) *self, unsigned int number, uint32_t qkey)
{
	struct rdmacmx_join_attr attr = {
		.addr = group(number),
		.flags = RDMACMX_JOIN_PERSISTENT,
		.group.mask = qkey ? RDMACMX_GROUP_QKEY : 0,
		.group.qkey = qkey,
	};

	return rdmacmx_join_multicast(self->id, &attr, NULL);
}

static int leave(FIXTURE_DATA(qkey) *self, unsigned int number)
{
	return rdma_leave_multicast(self->id, group(number));
}

/* By rdma_create_qp(): rdma_cm has this Q_Key. */
static int qp_create(FIXTURE_DATA(qkey) *self, uint32_t qkey)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD };

	mock.init_qkey = qkey;
	mock_qp(self->id, true);
	self->id->qp = NULL;
	return rdma_create_qp(self->id, NULL, &init);
}

/* The rejoined group has another Q_Key, which the program has not chosen. */
TEST_F(qkey, MC_09_rejoin_sets_another_qkey)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  joined(self, 0, MOCK_MLID + 1, MOCK_QKEY));
	EXPECT_EQ(1, mock.qkeys);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  joined(self, 0, MOCK_MLID + 1, OTHER_QKEY));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN,
		  joined(self, 0, MOCK_MLID + 1, OTHER_QKEY));
	EXPECT_EQ(2, mock.qkeys);
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	EXPECT_EQ(1, mock.attached);
}

/* The event of its first join was replaced by that of a rejoin. */
TEST_F(qkey, MC_09_qkey_changes_before_the_first_event)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, OTHER_QKEY));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	EXPECT_EQ(1, mock.attached);
}

/* It is set at the next rejoin. Meanwhile nothing is left attached. */
TEST_F(qkey, MC_09_another_qkey_cannot_be_set)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(1, mock.attached);
	mock.verbs_error = ENOMEM;
	EXPECT_FALSE(joins(self, 0, OTHER_QKEY));
	EXPECT_EQ(0, mock.attached);
	mock.verbs_error = 0;
	EXPECT_TRUE(joins(self, 0, OTHER_QKEY));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	EXPECT_EQ(1, mock.attached);
	EXPECT_EQ(0, leave(self, 1));
	EXPECT_EQ(0, mock.attached);
}

/* A program without CAP_NET_RAW cannot set one with the highest bit. */
TEST_F(qkey, MC_02_qkey_that_the_queue_pair_has_is_not_set)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	EXPECT_EQ(1, mock.qkeys);
	ASSERT_EQ(0, join(self, 1, 0));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	EXPECT_EQ(1, mock.qkeys);
	EXPECT_EQ(1, mock.attached);
}

/* The library does not know the Q_Key of the former queue pair then. */
TEST_F(qkey, MC_02_queue_pair_of_the_program_gets_the_qkey)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	rdma_destroy_qp(self->id);
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(2, mock.qkeys);
}

/* It destroys the first one itself. The second has the same address. */
TEST_F(qkey, MC_02_each_queue_pair_of_the_program_gets_the_qkey)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(0, leave(self, 1));
	EXPECT_EQ(1, mock.qkeys);
	self->id->qp->qp_num++;
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(2, mock.qkeys);
}

/* That one has the address of the queue pair whose Q_Key the library knew. */
TEST_F(qkey, MC_02_queue_pair_of_the_program_after_a_failed_one)
{
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	mock.bad_qkey = OWN_QKEY;
	EXPECT_EQ(-1, qp_create(self, MOCK_QKEY));
	EXPECT_EQ(EPERM, errno);
	EXPECT_EQ(0, leave(self, 1));
	mock_qp(self->id, false);
	mock.qkey = 0;
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
}

/* rdma_cm knows it. The event of the last membership has the former one. */
TEST_F(qkey, MC_09_new_queue_pair_has_the_present_qkey)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_TRUE(joins(self, 0, OTHER_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	rdma_destroy_qp(self->id);
	ASSERT_EQ(0, qp_create(self, OTHER_QKEY));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	EXPECT_TRUE(lost(self, 1));
	rdma_destroy_qp(self->id);
	ASSERT_EQ(0, qp_create(self, OTHER_QKEY));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
}

static FIXTURE_DATA(qkey) *reader;

static void rejoin_read(void)
{
	mock.inits = NULL;
	if (!joins(reader, 0, OTHER_QKEY))
		abort();
}

/* Another thread reads the event of a rejoin behind the Q_Key of INIT. */
TEST_F(qkey, MC_09_qkey_changes_while_a_queue_pair_is_created)
{
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	reader = self;
	mock.inits = rejoin_read;
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	EXPECT_TRUE(!mock.inits);
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
}

/* The event is unread when the group is lost. The partition has another one. */
TEST_F(qkey, MC_09_older_event_does_not_replace_the_qkey)
{
	ASSERT_EQ(0, join(self, 1, 0));
	mock_rejoined(0, MOCK_MLID, MOCK_QKEY);
	ASSERT_EQ(0, qp_create(self, OTHER_QKEY));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event_read(self));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	/* Nor is it restored. */
	ASSERT_EQ(0, join(self, 2, OWN_QKEY));
	EXPECT_TRUE(joins(self, 1, OWN_QKEY));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
	EXPECT_EQ(0, leave(self, 2));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
}

/* Another id may have the handle meanwhile. */
TEST_F(qkey, MC_09_event_of_an_ended_id_sends_no_command)
{
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	cmx_id(self->id)->ended = true;
	mock.inits = abort;
	mock_rejoined(0, MOCK_MLID, OTHER_QKEY);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event_read(self));
	mock.inits = NULL;
	cmx_id(self->id)->ended = false;
}

/* A copy of another process's id, for one, whose queue pair has a newer one. */
TEST_F(qkey, MC_09_event_of_an_ended_id_sets_no_qkey)
{
	ASSERT_EQ(0, join(self, 1, 0));
	ASSERT_EQ(0, qp_create(self, OTHER_QKEY));
	cmx_id(self->id)->ended = true;
	mock_rejoined(0, MOCK_MLID, MOCK_QKEY);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event_read(self));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	EXPECT_EQ(1, mock.qkeys);
	cmx_id(self->id)->ended = false;
}

static void older_read(void)
{
	mock.inits = NULL;
	mock_rejoined(0, MOCK_MLID, MOCK_QKEY);
	if (event_read(reader) != RDMA_CM_EVENT_MULTICAST_JOIN)
		abort();
}

/* Another thread reads such an event behind the Q_Key of INIT. */
TEST_F(qkey, MC_09_older_event_while_a_queue_pair_is_created)
{
	ASSERT_EQ(0, join(self, 1, 0));
	reader = self;
	mock.inits = older_read;
	ASSERT_EQ(0, qp_create(self, OTHER_QKEY));
	EXPECT_TRUE(!mock.inits);
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
}

/* A Q_Key of the program has precedence, in any order of the events. */
TEST_F(qkey, MC_02_given_qkey_stays_set)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
}

TEST_F(qkey, MC_02_given_qkey_is_set_last)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 1, OTHER_QKEY));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
}

TEST_F(qkey, MC_09_given_qkey_stays_set_after_a_rejoin)
{
	unsigned int first;

	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	for (first = 0; first < 2; first++) {
		EXPECT_TRUE(joins(self, first, first ? OTHER_QKEY : OWN_QKEY));
		EXPECT_TRUE(joins(self, !first, first ? OWN_QKEY : OTHER_QKEY));
		EXPECT_EQ(OWN_QKEY, mock.qkey);
	}
	/* Once by INIT, once by the first event */
	EXPECT_EQ(2, mock.qkeys);
}

TEST_F(qkey, MC_09_new_queue_pair_gets_the_given_qkey)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	rdma_destroy_qp(self->id);
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
}

/* The partition's is 0. */
TEST_F(qkey, MC_09_new_queue_pair_without_a_qkey_gets_the_given_one)
{
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	ASSERT_EQ(0, qp_create(self, 0));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
}

/* A membership that has ended has none. */
TEST_F(qkey, MC_09_given_qkey_ends_with_its_membership)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	EXPECT_TRUE(lost(self, 0));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
	EXPECT_TRUE(joins(self, 1, OTHER_QKEY));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	rdma_destroy_qp(self->id);
	ASSERT_EQ(0, qp_create(self, OTHER_QKEY));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
}

TEST_F(qkey, MC_09_given_qkey_ends_with_a_leave)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	EXPECT_EQ(0, leave(self, 1));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
}

/* Another group needs it, which the program gave the same. */
TEST_F(qkey, MC_09_given_qkey_stays_while_a_group_has_it)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, OWN_QKEY));
	ASSERT_EQ(0, join(self, 3, OTHER_QKEY));
	EXPECT_TRUE(joins(self, 2, OTHER_QKEY));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_TRUE(joins(self, 1, OWN_QKEY));
	EXPECT_EQ(0, leave(self, 1));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
	EXPECT_EQ(0, leave(self, 2));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
	EXPECT_EQ(0, leave(self, 3));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
}

/* The partition's has changed meanwhile. One group has not reported its end yet. */
TEST_F(qkey, MC_09_present_qkey_is_restored)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	ASSERT_EQ(0, join(self, 3, 0));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	EXPECT_TRUE(joins(self, 2, MOCK_QKEY));
	EXPECT_TRUE(joins(self, 1, OTHER_QKEY));
	EXPECT_EQ(0, leave(self, 1));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
}

/* The attachment fails: the device refuses another MLID of the same MGID. */
TEST_F(qkey, MC_05_failed_join_leaves_no_qkey)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_ERROR,
		  joined(self, 1, MOCK_MLID + 1, OWN_QKEY));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
}

/* The library knows no Q_Key of the program's queue pair, and sets none. */
TEST_F(qkey, MC_05_failed_join_changes_no_qkey)
{
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, OTHER_QKEY));
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	EXPECT_TRUE(lost(self, 1));
	EXPECT_EQ(0, mock.qkeys);
}

/* Two threads may read the events of a membership in the other order. */
TEST_F(qkey, MC_05_ended_membership_attaches_nothing)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	EXPECT_TRUE(lost(self, 0));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
	EXPECT_EQ(0, mock.attached);
}

/* The id gets another port space: these have a constant Q_Key. */
static int port_space_udp(FIXTURE_DATA(qkey) *self)
{
	return rdma_destroy_id(self->id) ||
	       rdma_create_id(self->channel, &self->id, NULL, RDMA_PS_UDP);
}

TEST_F(qkey, MC_09_given_qkey_ends_in_each_port_space)
{
	ASSERT_EQ(0, port_space_udp(self));
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_TRUE(joins(self, 1, MOCK_QKEY));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
	EXPECT_EQ(0, leave(self, 1));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
}

/* The leave restores none, as the library knows no other one yet. */
TEST_F(qkey, MC_09_group_after_a_given_qkey)
{
	ASSERT_EQ(0, port_space_udp(self));
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_EQ(0, leave(self, 1));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
}

/* Its program has set one. */
TEST_F(qkey, MC_02_unknown_qkey_stays_in_other_port_spaces)
{
	ASSERT_EQ(0, port_space_udp(self));
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self, 1, 0));
	EXPECT_TRUE(joins(self, 0, MOCK_QKEY));
	EXPECT_EQ(1, mock.attached);
	EXPECT_EQ(0, mock.qkeys);
}

/* Its queue pair is not attached. */
TEST_F(qkey, MC_02_given_qkey_of_a_send_only_member)
{
	struct rdmacmx_join_attr attr = {
		.addr = group(1),
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.group.mask = RDMACMX_GROUP_QKEY,
		.group.qkey = OWN_QKEY,
	};

	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, rdmacmx_join_multicast(self->id, &attr, NULL));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_EQ(MOCK_QKEY, mock.qkey);
	ASSERT_EQ(0, join(self, 2, 0));
	EXPECT_TRUE(joins(self, 1, OTHER_QKEY));
	EXPECT_EQ(OTHER_QKEY, mock.qkey);
}

/* The program has set another one itself since. */
TEST_F(qkey, MC_02_given_qkey_is_set_by_each_join)
{
	ASSERT_EQ(0, qp_create(self, MOCK_QKEY));
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_EQ(0, leave(self, 1));
	mock.qkey = OTHER_QKEY;
	ASSERT_EQ(0, join(self, 1, OWN_QKEY));
	EXPECT_TRUE(joins(self, 0, OWN_QKEY));
	EXPECT_EQ(OWN_QKEY, mock.qkey);
}

TEST_HARNESS_MAIN
