// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* RA-02: two children of an exited parent, which share its objects. */
#include <sys/syscall.h>

#include "process.h"

#define PORT_SIBLINGS	7625

/*
 * One child destroys its copy and creates an id, which gets the same handle.
 * The copy of the other child is of the destroyed id.
 */
struct siblings {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int result[2];		/* pipe */
	int parent;		/* its pidfd */
	int other[2];		/* pipe from the first child to the second */
	int back[2];
};

static int first_child(struct siblings *s)
{
	struct pollfd pfd = { .fd = s->parent, .events = POLLIN };
	struct rdma_event_channel *channel = s->channel;
	struct rdma_cm_id *id;
	char c = 0;

	if (poll(&pfd, 1, WAIT_MS) != 1 || rdma_destroy_id(s->id))
		return __LINE__;
	id = id_make(channel);
	if (id_bind(id, OWN4, PORT_SIBLINGS) ||
	    write(s->other[1], &c, 1) != 1 || read(s->back[0], &c, 1) != 1)
		return __LINE__;
	/* The id exists, and its port is free. */
	if (rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 1) ||
	    event_take(channel, NULL) != RDMA_CM_EVENT_USER)
		return __LINE__;
	return rdma_destroy_id(id) ? __LINE__ : 0;
}

static int second_child(struct siblings *s)
{
	char c;

	if (read(s->other[0], &c, 1) != 1)
		return __LINE__;
	if (rdma_destroy_id(s->id))
		return __LINE__;
	return write(s->back[1], &c, 1) == 1 ? 0 : __LINE__;
}

static int leave_siblings_behind(void *arg)
{
	int (*const children[])(struct siblings *s) = {
		first_child, second_child,
	};
	struct siblings *s = arg;
	size_t i;
	pid_t pid;
	int wrong;

	s->parent = syscall(SYS_pidfd_open, getpid(), 0);
	s->channel = rdma_create_event_channel();
	if (!s->channel)
		return 1;
	s->id = id_make(s->channel);
	for (i = 0; i < 2; i++) {
		pid = fork();
		if (pid < 0)
			return 2;
		if (pid)
			continue;
		wrong = children[i](s);
		_exit(write(s->result[1], &wrong, sizeof(wrong)) !=
		      sizeof(wrong));
	}
	return 0;
}

TEST(RA_02_copy_of_an_id_whose_handle_is_used_again)
{
	struct pollfd pfd = { .events = POLLIN };
	int i, pidfd, wrong;
	struct siblings s;

	pidfd = syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0 && errno == ENOSYS)
		SKIP(return, "valgrind does not know pidfd_open()");
	ASSERT_LE(0, pidfd);
	close(pidfd);
	ASSERT_EQ(0, pipe(s.result));
	ASSERT_EQ(0, pipe(s.other));
	ASSERT_EQ(0, pipe(s.back));
	ASSERT_EQ(0, child_wait(child_start(leave_siblings_behind, &s)));
	pfd.fd = s.result[0];
	for (i = 0; i < 2; i++) {
		wrong = -1;
		ASSERT_EQ(1, poll(&pfd, 1, WAIT_MS));
		EXPECT_EQ(sizeof(wrong), read(pfd.fd, &wrong, sizeof(wrong)));
		EXPECT_EQ(0, wrong);
	}
}

#define FIRST_GROUP	"239.55.62.1"
#define SECOND_GROUP	"239.55.62.2"

/*
 * The parent destroys an id and leaves a group, and creates others, which get
 * the same handles. The first child has copies of the destroyed objects, the
 * second of the later ones: they have one owner.
 */
struct heirs {
	struct siblings s;
	struct rdma_cm_id *member;	/* in both groups, one by one */
	struct rdma_cm_id *fresh;	/* has the handle of s.id */
};

static int group_join(struct rdma_cm_id *id, const char *group)
{
	struct sockaddr_storage ss;

	return rdma_join_multicast(id, addr_make(&ss, group, 0), NULL) ||
	       event_take(id->channel, NULL) != RDMA_CM_EVENT_MULTICAST_JOIN;
}

static int group_leave(struct rdma_cm_id *id, const char *group)
{
	struct sockaddr_storage ss;

	return rdma_leave_multicast(id, addr_make(&ss, group, 0));
}

static int stale_child(struct heirs *h)
{
	struct pollfd pfd = { .fd = h->s.parent, .events = POLLIN };
	char c = 0;

	if (poll(&pfd, 1, WAIT_MS) != 1)
		return __LINE__;
	group_leave(h->member, FIRST_GROUP);
	if (rdma_destroy_id(h->s.id))
		return __LINE__;
	return write(h->s.other[1], &c, 1) == 1 ? 0 : __LINE__;
}

static int fresh_child(struct heirs *h)
{
	char c;

	if (read(h->s.other[0], &c, 1) != 1)
		return __LINE__;
	if (rdma_write_cm_event(h->fresh, RDMA_CM_EVENT_USER, 0, 1) ||
	    event_take(h->s.channel, NULL) != RDMA_CM_EVENT_USER)
		return __LINE__;
	if (group_leave(h->member, SECOND_GROUP))
		return __LINE__;
	return 0;
}

static bool heir_fork(struct heirs *h, int (*child)(struct heirs *h))
{
	pid_t pid = fork();
	int wrong;

	if (pid)
		return pid > 0;
	wrong = child(h);
	_exit(write(h->s.result[1], &wrong, sizeof(wrong)) != sizeof(wrong));
}

static int leave_heirs_behind(void *arg)
{
	struct heirs *h = arg;
	struct siblings *s = &h->s;

	s->parent = syscall(SYS_pidfd_open, getpid(), 0);
	s->channel = rdma_create_event_channel();
	if (!s->channel ||
	    rdma_create_id(s->channel, &h->member, NULL, RDMA_PS_UDP) ||
	    id_bind(h->member, OWN4, 0) || group_join(h->member, FIRST_GROUP))
		return __LINE__;
	s->id = id_make(s->channel);
	if (!heir_fork(h, stale_child) || rdma_destroy_id(s->id) ||
	    group_leave(h->member, FIRST_GROUP))
		return __LINE__;
	h->fresh = id_make(s->channel);
	if (group_join(h->member, SECOND_GROUP) || !heir_fork(h, fresh_child))
		return __LINE__;
	return 0;
}

TEST(RA_02_stale_copy_of_what_one_owner_had)
{
	struct pollfd pfd = { .events = POLLIN };
	int i, pidfd, wrong;
	struct heirs h;

	pidfd = syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0 && errno == ENOSYS)
		SKIP(return, "valgrind does not know pidfd_open()");
	ASSERT_LE(0, pidfd);
	close(pidfd);
	ASSERT_EQ(0, pipe(h.s.result));
	ASSERT_EQ(0, pipe(h.s.other));
	ASSERT_EQ(0, child_wait(child_start(leave_heirs_behind, &h)));
	pfd.fd = h.s.result[0];
	for (i = 0; i < 2; i++) {
		wrong = -1;
		ASSERT_EQ(1, poll(&pfd, 1, WAIT_MS));
		EXPECT_EQ(sizeof(wrong), read(pfd.fd, &wrong, sizeof(wrong)));
		EXPECT_EQ(0, wrong);
	}
}

/*
 * Both children destroy their copies of an endpoint. The first one creates
 * another, whose queues get the numbers of the destroyed ones.
 */
static int first_heir(struct heirs *h)
{
	struct pollfd pfd = { .fd = h->s.parent, .events = POLLIN };
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rdma_cm_id *id;
	uint32_t handle;
	char c = 0;

	if (poll(&pfd, 1, WAIT_MS) != 1)
		return __LINE__;
	handle = h->s.id->qp->handle;
	rdma_destroy_ep(h->s.id);
	id = id_make(h->s.channel);
	if (id_bind(id, OWN4, 0) || qp_make(id, IBV_QPT_RC) ||
	    id->qp->handle != handle)
		return __LINE__;
	if (write(h->s.other[1], &c, 1) != 1 || read(h->s.back[0], &c, 1) != 1)
		return __LINE__;
	if (ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init))
		return __LINE__;
	rdma_destroy_ep(id);
	return 0;
}

static int second_heir(struct heirs *h)
{
	char c;

	if (read(h->s.other[0], &c, 1) != 1)
		return __LINE__;
	rdma_destroy_ep(h->s.id);
	return write(h->s.back[1], &c, 1) == 1 ? 0 : __LINE__;
}

static int leave_endpoint_behind(void *arg)
{
	struct heirs *h = arg;
	struct siblings *s = &h->s;

	s->parent = syscall(SYS_pidfd_open, getpid(), 0);
	s->channel = rdma_create_event_channel();
	if (!s->channel)
		return __LINE__;
	/* Keeps the device. */
	h->member = id_make(s->channel);
	s->id = id_make(s->channel);
	if (id_bind(h->member, OWN4, 0) || id_bind(s->id, OWN4, 0) ||
	    qp_make(s->id, IBV_QPT_RC))
		return __LINE__;
	if (!heir_fork(h, first_heir) || !heir_fork(h, second_heir))
		return __LINE__;
	return 0;
}

TEST(RA_02_copy_of_an_endpoint_whose_numbers_are_used_again)
{
	struct pollfd pfd = { .events = POLLIN };
	int i, pidfd, wrong;
	struct heirs h;

	pidfd = syscall(SYS_pidfd_open, getpid(), 0);
	if (pidfd < 0 && errno == ENOSYS)
		SKIP(return, "valgrind does not know pidfd_open()");
	ASSERT_LE(0, pidfd);
	close(pidfd);
	ASSERT_EQ(0, pipe(h.s.result));
	ASSERT_EQ(0, pipe(h.s.other));
	ASSERT_EQ(0, pipe(h.s.back));
	ASSERT_EQ(0, child_wait(child_start(leave_endpoint_behind, &h)));
	pfd.fd = h.s.result[0];
	for (i = 0; i < 2; i++) {
		wrong = -1;
		ASSERT_EQ(1, poll(&pfd, 1, WAIT_MS));
		EXPECT_EQ(sizeof(wrong), read(pfd.fd, &wrong, sizeof(wrong)));
		EXPECT_EQ(0, wrong);
	}
}

TEST_HARNESS_MAIN
