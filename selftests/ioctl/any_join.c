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

/*
 * JOIN while a race begins, on a new id. Its status, and whether the race is
 * still outstanding afterwards
 */
static int join_race(int fd, struct rdma_cmx_join *arg, size_t len,
		     bool *racing)
{
	struct rdma_cmx_candidate_info list[MAX];
	struct join join = { .fd = fd, .arg = arg };
	struct pollfd pfd = { .events = POLLIN };
	uint32_t count, winner;
	pthread_t thread;
	union event_buf ev;
	int ret;

	arg->mc = 0;
	ret = id_create(fd, RDMA_PS_TCP, 1, &arg->id) ?:
	      result(fd, arg->id, 4480, ADDR_RDMA, NOBODY) ?:
	      any(fd, arg->id, 0, 60000) ?:
	      event_want(fd, EV_ROUTE_RESOLVED, &ev);
	if (ret)
		return ret;
	pfd.fd = page_hold(arg, len);
	if (pfd.fd < 0 || pthread_create(&thread, NULL, join_run, &join))
		return -errno;
	ret = poll(&pfd, 1, 60000) == 1 ? any_next(fd, arg->id, EIO, 0) :
					  -ETIME;
	if (page_release(pfd.fd, arg, len))
		return -errno;
	pthread_join(thread, NULL);
	*racing = candidates(fd, arg->id, list, &count, &winner) == -EBUSY;
	close(pfd.fd);
	return ret ?: join.ret;
}

/*
 * A race begins while JOIN writes its handle: it is as busy as others are. The
 * candidate that does not reply ends after 3 s, which a guest may exceed.
 */
TEST_F(any, join_while_racing)
{
	size_t len = sysconf(_SC_PAGESIZE);
	struct rdma_cmx_join *arg;
	bool racing = false;
	int ret = 0, tries;

	arg = mmap(NULL, len, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	arg->size = sizeof(*arg);
	arg->join_flags = 1;
	addr_set(&arg->addr, GROUP, 0);
	for (tries = 0; tries < 5 && !racing; tries++) {
		ret = join_race(self->fd, arg, len, &racing);
		EXPECT_LE(0, id_destroy(self->fd, arg->id));
	}
	EXPECT_EQ(-EBUSY, ret);
	EXPECT_TRUE(racing);
}

TEST_HARNESS_MAIN
