// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MC-06 on a mocked device (mock.h): several processes have the memberships of
 * an id and its queue pair. A child leaves beside the process that has joined,
 * after it or instead of it; the other one may have left before.
 */
#include <malloc.h>
#include <sys/wait.h>

#include "mcast.h"

/* Runs @fn in a child, which inherits the id. Its result */
static int inherited(FIXTURE_DATA(mcast) *self,
		     int (*fn)(FIXTURE_DATA(mcast) *self))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(fn(self));
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	       WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int leave_all(FIXTURE_DATA(mcast) *self)
{
	/* One beside the parent's */
	if (join(self) || leave(self) || mock.members != 1)
		return 1;
	if (leave(self) || mock.members)
		return 2;
	return leave(self) == EADDRNOTAVAIL ? 0 : 3;
}

TEST_F(mcast, MC_06_child_leaves_one_group_several_times)
{
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, inherited(self, leave_all));
}

/* The parent may have joined again meanwhile. */
static int leave_attached(FIXTURE_DATA(mcast) *self)
{
	mock_leave();
	if (leave(self) != EADDRNOTAVAIL)
		return 1;
	return mock.attached ? 0 : 2;
}

TEST_F(mcast, MC_06_child_leaves_the_queue_pair_attached)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, inherited(self, leave_attached));
	EXPECT_EQ(0, leave(self));
	EXPECT_EQ(0, mock.attached);
}

/* The first leave ends the child's own membership, the second one both. */
static int leave_own_attached(FIXTURE_DATA(mcast) *self)
{
	if (join(self) || leave(self) || !mock.attached)
		return 1;
	if (leave(self) || !mock.attached)
		return 2;
	if (join(self) || leave(self) || mock.attached)
		return 3;
	return 0;
}

TEST_F(mcast, MC_06_child_detaches_what_it_has_joined)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, inherited(self, leave_own_attached));
}

/* The joiner keeps the queue pair, or this process destroys it. */
static int leave_and_destroy(FIXTURE_DATA(mcast) *self)
{
	if (leave(self) || !mock.attached)
		return 1;
	rdma_destroy_qp(self->id);
	return mock.destroyed || mock.attached ? 2 : 0;
}

TEST_F(mcast, MC_06_child_leaves_and_destroys_the_queue_pair)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, inherited(self, leave_and_destroy));
}

static FIXTURE_DATA(mcast) *reader;

static void move_read(void)
{
	mock.leaves = NULL;
	if (move(reader, 0) != RDMA_CM_EVENT_MULTICAST_JOIN)
		abort();
}

/*
 * A thread reads the event of a rejoin during the leave. The queue pair is
 * attached to the former MLID.
 */
static int leave_moved(FIXTURE_DATA(mcast) *self)
{
	reader = self;
	mock.leaves = move_read;
	return leave_and_destroy(self);
}

TEST_F(mcast, MC_06_child_leaves_a_group_that_moves)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, inherited(self, leave_moved));
}

static int results[2];
static int (*membership)(FIXTURE_DATA(mcast) *self) = join;
static int (*replacement)(FIXTURE_DATA(mcast) *self);

/* The child of a process that has joined, and is gone */
static int leave_inherited(FIXTURE_DATA(mcast) *self)
{
	return leave(self) || mock.attached;
}

/* A sibling has left and joined again. */
static int leave_after_sibling(FIXTURE_DATA(mcast) *self)
{
	int ret = leave_attached(self);

	if (ret)
		return ret;
	rdma_destroy_qp(self->id);
	return mock.destroyed || mock.attached ? 3 : 0;
}

#define OWN_QKEY	0x0b1d	/* of the program */

/* Joins @group with a Q_Key of the program. */
static int join_qkey(FIXTURE_DATA(mcast) *self)
{
	struct rdmacmx_join_attr attr = {
		.addr = (void *)&self->group,
		.group.mask = RDMACMX_GROUP_QKEY,
		.group.qkey = OWN_QKEY,
	};
	struct rdma_cm_event *event;

	if (rdmacmx_join_multicast(self->id, &attr, NULL))
		return errno;
	mock_rejoined(mock.members - 1, MOCK_MLID, OWN_QKEY);
	if (rdma_get_cm_event(self->channel, &event))
		return errno;
	return rdma_ack_cm_event(event);
}

/* A group with it, and one without */
static int join_two(FIXTURE_DATA(mcast) *self, const struct sockaddr_in *other)
{
	struct sockaddr_in group = self->group;
	int ret = join_qkey(self);

	self->group = *other;
	ret = ret ?: join(self);
	self->group = group;
	return ret ?: mock.qkey != OWN_QKEY;
}

static int join_groups(FIXTURE_DATA(mcast) *self)
{
	struct sockaddr_in other = self->group;

	other.sin_addr.s_addr = htonl(0xef370102);
	return join_two(self, &other);
}

/* They have one MGID. */
static int join_ports(FIXTURE_DATA(mcast) *self)
{
	struct sockaddr_in other = self->group;

	other.sin_port = htons(7);
	return join_two(self, &other);
}

/* No other group needs the Q_Key. */
static int leave_qkey(FIXTURE_DATA(mcast) *self)
{
	return leave(self) || mock.attached || mock.qkey != MOCK_QKEY;
}

/* The fabric ends the group with the Q_Key. */
static int lose(FIXTURE_DATA(mcast) *self)
{
	struct rdma_cm_event *event;
	int type;

	mock_lost(0);
	if (rdma_get_cm_event(self->channel, &event))
		return -1;
	type = event->event;
	return rdma_ack_cm_event(event) ||
	       type != RDMA_CM_EVENT_MULTICAST_ERROR;
}

/* The joiner may need the Q_Key for a group that this process does not know. */
static int lose_inherited(FIXTURE_DATA(mcast) *self)
{
	return lose(self) || mock.qkey != OWN_QKEY;
}

static int lose_replaced(FIXTURE_DATA(mcast) *self)
{
	return lose(self) || mock.qkey != MOCK_QKEY;
}

/* The other membership needs the attachment. The left one is freed. */
static int leave_port(FIXTURE_DATA(mcast) *self)
{
	if (leave(self) || !mock.attached || mock.detaches)
		return 1;
	if (mock.qkey != MOCK_QKEY)
		return 2;
	return cmx_id(self->id)->mcs->next ? 3 : 0;
}

/* It joins itself, and has left and joined again when its child leaves. */
static int join_and_fork(FIXTURE_DATA(mcast) *self)
{
	return leave(self) || join(self) || inherited(self, leave_attached);
}

/* By @membership; its child runs @replacement when it is gone. */
static int join_and_exit(FIXTURE_DATA(mcast) *self)
{
	int ret;

	mock_qp(self->id, false);
	if (membership(self) || !mock.attached)
		return 2;
	if (fork())
		return 0;
	alarm(60);
	while (cmx_process_alive(cmx_id(self->id)->mcs->process))
		usleep(1000);
	ret = replacement(self);
	return write(results[1], &ret, sizeof(ret)) < 0;
}

static int create_join_and_exit(FIXTURE_DATA(mcast) *self)
{
	if (rdma_create_id(self->channel, &self->id, NULL, RDMA_PS_UDP))
		return 1;
	return join_and_exit(self);
}

static int replaced(FIXTURE_DATA(mcast) *self, bool create,
		    int (*fn)(FIXTURE_DATA(mcast) *self))
{
	int ret = -1;

	replacement = fn;
	if (pipe(results) ||
	    inherited(self, create ? create_join_and_exit : join_and_exit))
		return -2;
	close(results[1]);
	if (read(results[0], &ret, sizeof(ret)) != sizeof(ret))
		ret = -3;
	close(results[0]);
	return ret;
}

TEST_F(mcast, MC_06_child_that_replaces_its_parent_detaches)
{
	EXPECT_EQ(0, replaced(self, true, leave_inherited));
}

/* Another process, which still exists, has created the id. */
TEST_F(mcast, MC_06_child_that_replaces_the_joiner_detaches)
{
	EXPECT_EQ(0, replaced(self, false, leave_inherited));
}

TEST_F(mcast, MC_06_child_leaves_after_its_sibling)
{
	EXPECT_EQ(0, replaced(self, true, leave_after_sibling));
}

TEST_F(mcast, MC_06_child_that_replaces_its_parent_restores_the_qkey)
{
	membership = join_groups;
	EXPECT_EQ(0, replaced(self, true, leave_qkey));
}

TEST_F(mcast, MC_06_child_reads_the_end_of_a_group)
{
	mock_qp(self->id, false);
	ASSERT_EQ(0, join_groups(self));
	EXPECT_EQ(0, inherited(self, lose_inherited));
	EXPECT_EQ(0, lose_replaced(self));
}

TEST_F(mcast, MC_06_child_that_replaces_its_parent_reads_the_end_of_a_group)
{
	membership = join_groups;
	EXPECT_EQ(0, replaced(self, true, lose_replaced));
}

TEST_F(mcast, MC_06_child_leaves_the_queue_pair_to_a_membership)
{
	membership = join_ports;
	EXPECT_EQ(0, replaced(self, true, leave_port));
}

TEST_F(mcast, MC_06_child_of_a_child_that_has_joined)
{
	EXPECT_EQ(0, replaced(self, true, join_and_fork));
}

static int leave_other(FIXTURE_DATA(mcast) *self)
{
	mock_leave();
	if (leave(self) || mock.members)
		return 1;
	return leave(self) == EADDRNOTAVAIL ? 0 : 2;
}

/* Another process has ended the newest membership. */
TEST_F(mcast, MC_06_child_leaves_what_its_sibling_has_left)
{
	ASSERT_EQ(0, join(self));
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, inherited(self, leave_other));
}

TEST_F(mcast, MC_06_parent_leaves_what_its_child_has_left)
{
	ASSERT_EQ(0, join(self));
	ASSERT_EQ(0, join(self));
	EXPECT_EQ(0, leave_other(self));
}

/* The event is acked after the leave. */
static int leave_unacked(FIXTURE_DATA(mcast) *self)
{
	struct rdma_cm_event *event;

	if (rdma_join_multicast(self->id, (void *)&self->group, NULL))
		return 1;
	mock_joined();
	if (rdma_get_cm_event(self->channel, &event) || leave(self))
		return 2;
	if (leave(self) != EADDRNOTAVAIL || rdma_ack_cm_event(event))
		return 3;
	return rdma_destroy_id(self->id) ? 4 : 0;
}

TEST_F(mcast, MC_06_child_leaves_with_an_unacked_event)
{
	EXPECT_EQ(0, inherited(self, leave_unacked));
}

#define CYCLES	200

/* Joins and leaves, @other: another process leaves. False: it keeps memory. */
static bool leave_often(FIXTURE_DATA(mcast) *self, bool other)
{
	size_t used = 0;
	int i;

	for (i = 0; i <= CYCLES; i++) {
		if (join(self))
			return false;
		if (other)
			mock_leave();
		if (leave(self) != (other ? EADDRNOTAVAIL : 0))
			return false;
		/* The first one makes what stays. */
		if (!i)
			used = mallinfo2().uordblks;
	}
	return mallinfo2().uordblks <= used + CYCLES * sizeof(struct cmx_mc) / 2;
}

static int leave_own_often(FIXTURE_DATA(mcast) *self)
{
	return !leave_often(self, false);
}

/* The id keeps no memory of a membership that has ended. */
TEST_F(mcast, MC_06_child_joins_and_leaves_often)
{
	EXPECT_EQ(0, inherited(self, leave_own_often));
}

TEST_F(mcast, MC_06_another_process_leaves_often)
{
	EXPECT_TRUE(leave_often(self, true));
}

TEST_HARNESS_MAIN
