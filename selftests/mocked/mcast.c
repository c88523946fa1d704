// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MC-02, MC-06, MC-09: the memberships of an id, and the queue pair that is
 * attached for them, on a mocked device (mock.h). qkey.c has its Q_Key,
 * mcast_fork.c other processes.
 */
#include <malloc.h>
#include <sys/mman.h>

#include "mcast.h"

static void attach(FIXTURE_DATA(mcast) *self)
{
	union ibv_gid gid;

	memset(&gid, MOCK_MGID, sizeof(gid));
	mock_qp(self->id, false);
	ibv_attach_mcast(self->id->qp, &gid, MOCK_MLID);
}

/* Without a queue pair at the event the program attaches one. */
TEST_F(mcast, MC_02_leave_detaches_what_the_program_attached)
{
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, mock.attaches);
	attach(self);
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(1, mock.detaches);
	rdma_destroy_qp(self->id);
	EXPECT_EQ(0, mock.destroyed);
}

/* The last membership of the group detaches. */
TEST_F(mcast, MC_02_leave_keeps_it_attached_for_another_membership)
{
	ASSERT_EQ(0, join(self));
	attach(self);
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, mock.detaches);
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(1, mock.detaches);
	rdma_destroy_qp(self->id);
	EXPECT_EQ(0, mock.destroyed);
}

TEST_F(mcast, MC_02_destroy_detaches_what_the_program_attached)
{
	int i;

	ASSERT_EQ(0, join(self));
	ASSERT_EQ(0, join(self));
	/* The id stays a member: the program attaches the next one, too. */
	for (i = 0; i < 2; i++) {
		attach(self);
		rdma_destroy_qp(self->id);
		EXPECT_EQ(0, mock.destroyed);
		EXPECT_EQ(NULL, self->id->qp);
	}
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, leave(self));
}

static int join_send_only(FIXTURE_DATA(mcast) *self)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = (void *)&self->group,
	};
	struct rdma_cm_event *event;

	if (rdma_join_multicast_ex(self->id, &attr, NULL))
		return errno;
	mock_joined();
	if (rdma_get_cm_event(self->channel, &event))
		return errno;
	return rdma_ack_cm_event(event);
}

TEST_F(mcast, MC_02_send_only_does_not_detach)
{
	ASSERT_EQ(0, join_send_only(self));
	attach(self);
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, mock.detaches);
}

/* The queue pair was moved once, and receives. */
static bool moved(void)
{
	return mock.detaches == 1 && mock.attaches == 2 && mock.attached &&
	       mock.mlid == OTHER_MLID;
}

/* The rejoined group has another MLID. */
TEST_F(mcast, MC_09_memberships_of_one_group_move_together)
{
	unsigned int i;

	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self));
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(1, mock.attaches);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, move(self, i));
		EXPECT_TRUE(moved());
	}
	EXPECT_EQ(0, leave(self));
	EXPECT_TRUE(moved());
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, mock.attached);
	rdma_destroy_qp(self->id);
	EXPECT_EQ(0, mock.destroyed);
}

/* The newest one leaves between the two events. */
TEST_F(mcast, MC_09_move_before_a_leave)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self));
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, move(self, 1));
	EXPECT_EQ(0, leave(self));
	EXPECT_TRUE(moved());
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, move(self, 0));
	EXPECT_TRUE(moved());
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, mock.attached);
}

/* The last one to leave has no event of the other MLID. */
TEST_F(mcast, MC_09_leave_without_the_event_of_the_move)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self));
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, move(self, 1));
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, mock.attached);
	rdma_destroy_qp(self->id);
	EXPECT_EQ(0, mock.destroyed);
}

/* The move of a send-only member neither detaches nor attaches. */
TEST_F(mcast, MC_09_send_only_moves_beside_a_full_member)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join_send_only(self));
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, move(self, 0));
	EXPECT_EQ(1, mock.attached);
	EXPECT_EQ(0, mock.detaches);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, move(self, 1));
	EXPECT_TRUE(moved());
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, mock.attached);
	EXPECT_EQ(0, leave(self));
}

/* The program has attached the queue pair. */
TEST_F(mcast, MC_09_what_the_program_attached_moves)
{
	ASSERT_EQ(0, join(self));
	ASSERT_EQ(0, join(self));
	attach(self);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, move(self, 0));
	EXPECT_TRUE(moved());
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, move(self, 1));
	EXPECT_TRUE(moved());
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, mock.attached);
}

/*
 * The cookie of an event may be that of a membership that is another id's now,
 * and that another thread frees: here it is on pages that cannot be read.
 */
TEST_F(mcast, MC_06_event_of_the_membership_of_another_id)
{
	size_t page = sysconf(_SC_PAGESIZE), mapped = mallinfo2().hblks;
	struct rdma_cm_event *event;
	struct rdma_cm_id *other;
	char *mc;
	int i;

	ASSERT_EQ(0, rdma_create_id(self->channel, &other, NULL, RDMA_PS_UDP));
	/* Once the heap is full, malloc() maps separate pages. */
	ASSERT_EQ(1, mallopt(M_MMAP_THRESHOLD, 1));
	for (i = 0; i < 100000 && mallinfo2().hblks == mapped; i++)
		ASSERT_NE(NULL, malloc(sizeof(struct cmx_mc)));
	ASSERT_NE(mapped, mallinfo2().hblks);
	ASSERT_EQ(0, rdma_join_multicast(other, (void *)&self->group, NULL));
	ASSERT_EQ(1, mallopt(M_MMAP_THRESHOLD, 128 * 1024));
	mock_misjoined(self->id, 0);

	mc = (char *)cmx_id(other)->mcs;
	mc -= (uintptr_t)mc & (page - 1);
	ASSERT_EQ(0, mprotect(mc, page, PROT_NONE));
	EXPECT_EQ(-1, rdma_get_cm_event(self->channel, &event));
	EXPECT_EQ(EAGAIN, errno);
	ASSERT_EQ(0, mprotect(mc, page, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_HARNESS_MAIN
