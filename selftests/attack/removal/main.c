// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A user blocks the kernel in a page fault while a command copies, and the
 * administrator removes the RDMA device. Each command that copies has a
 * separate process, of an ordinary user unless it needs a capability. Meanwhile
 * other commands use the id, the removal of the device ends, and SIGKILL ends
 * the process. Other copies that fail or meet another one are here, too.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "victim.h"

#include "harness.h"

#define DEADLINE_S	60	/* of the removal, and of a killed process */
#define PREPARE_S	120	/* of a process beside the others */
#define USERFAULTFD	"/proc/sys/vm/unprivileged_userfaultfd"

/* The next byte; 0 after the deadline */
static char receive(int from)
{
	struct pollfd pfd = { from, POLLIN, 0 };
	char what;

	if (poll(&pfd, 1, PREPARE_S * 1000) != 1 ||
	    read(from, &what, 1) != 1)
		return 0;
	return what;
}

static bool ends(pid_t pid)
{
	int i;

	for (i = 0; i < DEADLINE_S * 10; i++) {
		if (waitpid(pid, NULL, WNOHANG) == pid)
			return true;
		poll(NULL, 0, 100);
	}
	return false;
}

static bool run_within(const char *command)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	return ends(pid);
}

static int device_add(void)
{
	return system("ip link add cmxrm0 type dummy && "
		      "ip addr add " DEVICE_ADDR "/24 dev cmxrm0 && "
		      "ip link set cmxrm0 up multicast on && "
		      "rdma link add rxe_rm type rxe netdev cmxrm0");
}

FIXTURE(removal) {
	int fd;
};

FIXTURE_SETUP(removal)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(removal)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_ids", 0));
	EXPECT_TRUE(counter_wait("live_mcs", 0));
	EXPECT_TRUE(counter_wait("live_queries", 0));
	EXPECT_TRUE(counter_wait("live_advertised", 0));
}

/* Each command of the module is in one of the tables. */
TEST_F(removal, all_commands)
{
	unsigned int nr;

	for (nr = 0; ioctl(self->fd, _IO(RDMA_CMX_IOC_TYPE, nr), NULL) &&
	     errno == EFAULT; nr++) {
		EXPECT_TRUE(command_listed(nr)) {
			TH_LOG("command %u is in no table", nr);
		}
	}
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_LT(RDMA_CMX_CMD_DROP_PATHS, nr);
}

TEST_F_TIMEOUT(removal, stopped_copies, 1200)
{
	pid_t pids[commands_count];
	int pipes[commands_count][2];
	long before = number_get(USERFAULTFD);
	unsigned int i;

	ASSERT_EQ(0, number_set(USERFAULTFD, 1));
	ASSERT_EQ(0, device_add());
	for (i = 0; i < commands_count; i++) {
		ASSERT_EQ(0, pipe(pipes[i]));
		pids[i] = fork();
		if (!pids[i])
			victim_main(&commands[i], pipes[i][1]);
		close(pipes[i][1]);
	}
	for (i = 0; i < commands_count; i++) {
		char what = receive(pipes[i][0]);

		EXPECT_EQ('s', what) {
			TH_LOG("%s was not stopped", commands[i].name);
		}
		for (; what == 's'; what = receive(pipes[i][0])) {
			what = receive(pipes[i][0]);
			EXPECT_EQ('f', what) {
				TH_LOG("%s holds its id", commands[i].name);
			}
			if (!what)
				break;
		}
	}
	EXPECT_TRUE(run_within("rdma link del rxe_rm")) {
		TH_LOG("the device waits");
	}
	for (i = 0; i < commands_count; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < commands_count; i++) {
		EXPECT_TRUE(ends(pids[i])) {
			TH_LOG("%s does not end", commands[i].name);
		}
		close(pipes[i][0]);
	}
	EXPECT_EQ(0, system("ip link del cmxrm0"));
	EXPECT_EQ(0, number_set(USERFAULTFD, before));
}

static void *result_take(void *arg)
{
	struct victim *v = arg;

	v->ended = ioctl(v->fd, v->ioctl, v->arg) ? errno : -1;
	return NULL;
}

/* Two callers copy the result; one of them consumes it. */
TEST_F_TIMEOUT(removal, result_is_taken_once, 100)
{
	struct rdma_cmx_query_addrinfo second = {};
	struct victim v = { .fd = self->fd };
	static char buf[PAGE];
	pthread_t thread;
	int ended;

	ASSERT_EQ(0, victim_pages(&v));
	ASSERT_EQ(0, id_create(v.fd, RDMA_PS_TCP, 1, &v.id));
	ASSERT_EQ(0, prepare_result(&v));
	ASSERT_EQ(0, stop_set(&v, WRITE_BUF));
	ASSERT_EQ(0, pthread_create(&thread, NULL, result_take, &v));
	ASSERT_TRUE(stopped(&v));

	second.id = v.id;
	second.buf = (uintptr_t)buf;
	second.buf_len = 8;
	EXPECT_EQ(-ENOSPC, call(v.fd, QUERY_ADDRINFO, &second));
	second.buf_len = sizeof(buf);
	EXPECT_EQ(0, call(v.fd, QUERY_ADDRINFO, &second));
	EXPECT_LT(0, second.len);
	EXPECT_EQ(-ENOENT, call(v.fd, QUERY_ADDRINFO, &second));

	ASSERT_EQ(0, protect(&v, v.buf, false));
	pthread_join(thread, NULL);
	ended = v.ended;
	EXPECT_EQ(ENOENT, ended);
	EXPECT_EQ(0, id_destroy(v.fd, v.id) < 0);
	close(v.uffd);
}

/* A group whose handle cannot be written is never joined. */
TEST_F(removal, unwritable_items_are_not_joined)
{
	struct rdma_cmx_join_many arg = {
		.count = GROUPS,
		.item_size = sizeof(struct rdma_cmx_join_item),
	};
	long before = counter("memberships");
	void *page;

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	items_set(page, GROUPS);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &arg.id));
	ASSERT_EQ(0, id_bind(self->fd, arg.id, ADDR_RDMA, 0));
	arg.items = (uintptr_t)page;
	EXPECT_EQ(-EFAULT, call(self->fd, JOIN_MANY, &arg));
	EXPECT_EQ(before, counter("memberships"));
	EXPECT_FALSE(event_pending(self->fd));
}

/* More routes than the limit are not copied. */
TEST_F(removal, too_many_routes)
{
	struct rdma_cmx_getaddrinfo arg = {};

	arg.query.node = (uintptr_t)ADDR_RDMA;
	arg.query.node_len = strlen(ADDR_RDMA);
	arg.query.route = 8;
	arg.query.route_len = 8 * 72;
	EXPECT_EQ(-EFAULT, call(self->fd, GETADDRINFO, &arg));
	arg.query.route_len = 9 * 72;
	EXPECT_EQ(-EINVAL, call(self->fd, GETADDRINFO, &arg));
}

TEST_HARNESS_MAIN
