// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user has the file of many ids in many epoll sets, or polls one such set very
 * often. Each event of an id wakes all of them. The removal of the device, and the
 * ids of others, do not wait for that.
 */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "ioctl.h"

#include "harness.h"

#define DEVICE_ADDR	"10.97.0.1"
#define SETS		400
#define COPIES		125
#define IDS		2000
#define NESTED		60000
#define WAIT_MS		60000

FIXTURE(pollers) {
	int fd, other, sets[SETS], copies[COPIES];
};

FIXTURE_SETUP(pollers)
{
	struct rlimit files = { 2 * NESTED, 2 * NESTED };
	struct epoll_event ev = { .events = EPOLLIN };
	int i, j;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &files));
	self->fd = dev_open(O_NONBLOCK);
	self->other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->other);
	for (j = 0; j < COPIES; j++)
		self->copies[j] = dup(self->fd);
	for (i = 0; i < SETS; i++) {
		self->sets[i] = epoll_create1(0);
		ASSERT_LE(0, self->sets[i]);
		for (j = 0; j < COPIES; j++)
			ASSERT_EQ(0, epoll_ctl(self->sets[i], EPOLL_CTL_ADD,
					       self->copies[j], &ev));
	}
}

FIXTURE_TEARDOWN(pollers)
{
	int i;

	for (i = 0; i < SETS; i++)
		close(self->sets[i]);
	for (i = 0; i < COPIES; i++)
		close(self->copies[i]);
	close(self->fd);
	close(self->other);
	EXPECT_TRUE(counter_wait("live_ids", 0));
}

/* The device of @n ids goes, and last that of an id of another file. */
static bool removal_ends(int fd, int other, int n)
{
	union event_buf buf;
	uint32_t id;
	int i, ret;

	ret = system("ip link add cmxrm0 type dummy && "
		     "ip addr add " DEVICE_ADDR "/24 dev cmxrm0 && "
		     "ip link set cmxrm0 up && "
		     "rdma link add rxe_rm type rxe netdev cmxrm0");
	for (i = 0; !ret && i < n; i++)
		ret = id_create(fd, RDMA_PS_TCP, 1, &id) ?:
		      id_bind(fd, id, DEVICE_ADDR, 0);
	ret = ret ?: id_create(other, RDMA_PS_TCP, 2, &id) ?:
	      id_bind(other, id, DEVICE_ADDR, 0) ?:
	      system("rdma link del rxe_rm &") ?:
	      event_want(other, EV_DEVICE_REMOVAL, &buf);
	return !ret &&
	       !system("i=0; while rdma link show rxe_rm >/dev/null 2>&1 && "
		       "[ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done; "
		       "ip link del cmxrm0");
}

TEST_F_TIMEOUT(pollers, removal, 280)
{
	struct epoll_event ev;
	int i;

	EXPECT_TRUE(removal_ends(self->fd, self->other, IDS));
	/* All pollers are woken. */
	for (i = 0; i < SETS; i++)
		EXPECT_EQ(1, epoll_wait(self->sets[i], &ev, 1, WAIT_MS));
}

/* The file has one set, and that has the pollers: those of poll(), any number. */
TEST_F_TIMEOUT(pollers, nested, 280)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd *fds = calloc(NESTED, sizeof(*fds));
	pid_t pids[8];
	int set, fd, i;

	fd = dev_open(O_NONBLOCK);
	set = epoll_create1(0);
	ASSERT_LE(0, set);
	ASSERT_NE(NULL, fds);
	ASSERT_EQ(0, epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev));
	for (i = 0; i < NESTED; i++)
		fds[i].fd = set;
	for (i = 0; i < 8; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(poll(fds, NESTED, -1));
	}
	EXPECT_TRUE(removal_ends(fd, self->other, IDS));
	EXPECT_EQ(1, epoll_wait(set, &ev, 1, WAIT_MS));
	for (i = 0; i < 8; i++) {
		kill(pids[i], SIGKILL);
		EXPECT_EQ(pids[i], waitpid(pids[i], NULL, 0));
	}
	close(set);
	close(fd);
	free(fds);
}

/* A poller that is one of many gets each event, also with EPOLLET. */
TEST_F_TIMEOUT(pollers, edges, 280)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int set = epoll_create1(0), i;
	union event_buf buf;
	uint32_t id;

	ASSERT_EQ(0, epoll_ctl(set, EPOLL_CTL_ADD, self->fd, &ev));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, id_write_event(self->fd, id, 0, i));
		ASSERT_EQ(1, epoll_wait(set, &ev, 1, WAIT_MS));
		if (i % 2)
			ASSERT_EQ(0, event_next(self->fd, &buf));
	}
	close(set);
}

TEST_HARNESS_MAIN
