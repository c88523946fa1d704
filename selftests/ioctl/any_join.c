// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * JOIN gives the mutex of its id up while it writes the handle, which a page fault
 * holds up here.
 */
#include "any.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Holds the next write to @page up; returns the descriptor. */
static int page_hold(void *page, size_t len)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	struct uffdio_register range = {
		.range = { (uintptr_t)page, len },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect protect = {
		range.range, UFFDIO_WRITEPROTECT_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	return fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	       ioctl(fd, UFFDIO_REGISTER, &range) ||
	       ioctl(fd, UFFDIO_WRITEPROTECT, &protect) ? -1 : fd;
}

static int page_release(int fd, void *page, size_t len)
{
	struct uffdio_writeprotect protect = { { (uintptr_t)page, len }, 0 };

	return ioctl(fd, UFFDIO_WRITEPROTECT, &protect);
}

struct join {
	int fd, ret;
	struct rdma_cmx_join *arg;
};

static void *join_run(void *arg)
{
	struct join *j = arg;

	j->ret = ioctl(j->fd, RDMA_CMX_IO(JOIN), j->arg) ? -errno : 0;
	return NULL;
}

/* A race begins while JOIN writes its handle: it is as busy as others are. */
TEST_F(any, join_while_racing)
{
	size_t len = sysconf(_SC_PAGESIZE);
	struct join join = { .fd = self->fd };
	struct pollfd pfd = { .events = POLLIN };
	pthread_t thread;

	join.arg = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, join.arg);
	join.arg->size = sizeof(*join.arg);
	join.arg->id = self->id;
	join.arg->join_flags = 1;
	addr_set(&join.arg->addr, GROUP, 0);
	ASSERT_EQ(0, result(self->fd, self->id, 4480, ADDR_RDMA, NOBODY));
	ASSERT_EQ(0, any(self->fd, self->id, 0, 60000));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &self->ev));
	pfd.fd = page_hold(join.arg, len);
	ASSERT_LE(0, pfd.fd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, join_run, &join));
	EXPECT_EQ(1, poll(&pfd, 1, 60000));
	EXPECT_EQ(0, any_next(self->fd, self->id, EIO, 0));
	EXPECT_EQ(0, page_release(pfd.fd, join.arg, len));
	pthread_join(thread, NULL);
	EXPECT_EQ(-EBUSY, join.ret);
	EXPECT_EQ(-EBUSY, CANDIDATES());
	close(pfd.fd);
}

TEST_HARNESS_MAIN
