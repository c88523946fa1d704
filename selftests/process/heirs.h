/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Children that go on when their parent has exited. They inherit its id and
 * channel, and each reports its result in a pipe.
 */
#ifndef PROCESS_HEIRS_H
#define PROCESS_HEIRS_H

#include <sys/syscall.h>

#include "process.h"

struct heirs {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int (*leave)(struct heirs *h);	/* what the parent does */
	int parent;		/* its pidfd */
	int result[2];		/* pipe: an int of each child */
	int other[2];		/* pipe from the first child to the second */
	int back[2];
};

/* With a pidfd a child detects the exit of its parent. */
#define NEED_PIDFD()							\
	do {								\
		int pidfd_ = syscall(SYS_pidfd_open, getpid(), 0);	\
									\
		if (pidfd_ < 0 && errno == ENOSYS)			\
			SKIP(return, "valgrind has no pidfd_open()");	\
		ASSERT_LE(0, pidfd_);					\
		close(pidfd_);						\
	} while (0)

/* In the parent: starts a child. False if it cannot. */
static bool heir_fork(struct heirs *h, int (*child)(struct heirs *h))
{
	pid_t pid = fork();
	int wrong;

	if (pid)
		return pid > 0;
	wrong = child(h);
	_exit(write(h->result[1], &wrong, sizeof(wrong)) != sizeof(wrong));
}

/* In a child: waits for the exit of the parent. */
static bool parent_gone(struct heirs *h)
{
	struct pollfd pfd = { .fd = h->parent, .events = POLLIN };

	return poll(&pfd, 1, WAIT_MS) == 1;
}

static int heirs_parent(void *arg)
{
	struct heirs *h = arg;

	h->parent = syscall(SYS_pidfd_open, getpid(), 0);
	return h->leave(h);
}

/* Starts the parent, and returns when it has exited. */
static void heirs_start(struct __test_metadata *_metadata, struct heirs *h,
			int (*leave)(struct heirs *h))
{
	h->leave = leave;
	ASSERT_EQ(0, pipe(h->result));
	ASSERT_EQ(0, pipe(h->other));
	ASSERT_EQ(0, pipe(h->back));
	ASSERT_EQ(0, child_wait(child_start(heirs_parent, h)));
	/* The end of a child without a result */
	close(h->result[1]);
}

/* Waits for the results of @count children. */
static void heirs_end(struct __test_metadata *_metadata, struct heirs *h,
		      int count)
{
	struct pollfd pfd = { .fd = h->result[0], .events = POLLIN };
	int i, wrong;

	for (i = 0; i < count; i++) {
		wrong = -1;
		ASSERT_EQ(1, poll(&pfd, 1, 2 * WAIT_MS));
		EXPECT_EQ(sizeof(wrong), read(pfd.fd, &wrong, sizeof(wrong)));
		EXPECT_EQ(0, wrong);
	}
	for (i = 0; i < 2; i++) {
		close(h->other[i]);
		close(h->back[i]);
	}
	close(h->result[0]);
}

#endif /* PROCESS_HEIRS_H */
