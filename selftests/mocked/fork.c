// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, MC-06 on a mocked device (mock.h): a child of fork() finds out whether
 * the process that created its copies exists, and whether they are of a
 * destroyed id. Steps of two processes in an order that no testbed arranges.
 */
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "harness.h"
#include "mock.h"

static bool waits_before;	/* the handlers are registered */
static bool waits;		/* once they are */
static int registered;
static sem_t here, go;

int __register_atfork(void (*prepare)(void), void (*parent)(void),
		      void (*child)(void), void *dso);

static void wait_to_go(void)
{
	sem_post(&here);
	while (sem_wait(&go))
		;
}

/* The library's; registers them or returns late if the test wants it. */
int pthread_atfork(void (*prepare)(void), void (*parent)(void),
		   void (*child)(void))
{
	int err;

	if (waits_before)
		wait_to_go();
	err = __register_atfork(prepare, parent, child, NULL);
	registered++;
	if (waits)
		wait_to_go();
	return err;
}

static int setsig_error;	/* of F_SETSIG, or 0 */

/* The library's */
int fcntl(int fd, int command, ...)
{
	va_list ap;
	long arg;

	va_start(ap, command);
	arg = va_arg(ap, long);
	va_end(ap);
	if (command == F_SETSIG && setsig_error)
		return cmx_err(setsig_error);
	return syscall(SYS_fcntl, fd, command, arg);
}

static struct rdma_cm_id *routed;
static void *old_paths;
static bool old_known;	/* by the id, when they were freed */

void __libc_free(void *memory);

/* The library's */
void free(void *memory)
{
	if (memory && memory == old_paths) {
		old_known = routed->route.path_rec == memory;
		old_paths = NULL;
	}
	__libc_free(memory);
}

FIXTURE(fork) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(fork)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_TCP));
	/* A process that waits for ever stops the test. */
	alarm(60);
}

FIXTURE_TEARDOWN(fork)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

static int pidfd_open(pid_t pid)
{
	return syscall(SYS_pidfd_open, pid, 0);
}

/* The only pidfd of this process, or -1 */
static int pidfd_find(void)
{
	int fd;

	for (fd = 3; fd < 256; fd++)
		if (!syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) ||
		    errno != EBADF)
			return fd;
	return -1;
}

/* A pidfd of a process that has ended */
static int pidfd_of_dead(void)
{
	pid_t pid = fork();
	int fd;

	if (!pid)
		_exit(0);
	fd = pidfd_open(pid);
	waitpid(pid, NULL, 0);
	return fd;
}

/* In the child: 0, or the line number of the failure */
static int replaced(struct cmx_id *id)
{
	int fd = pidfd_find(), other;

	if (fd < 0 || !cmx_id_cared_for(id))
		return __LINE__ & 0xff;
	close(fd);
	if (!cmx_id_cared_for(id))
		return __LINE__ & 0xff;
	other = pidfd_of_dead();
	if (other < 0 || dup2(other, fd) != fd)
		return __LINE__ & 0xff;
	return cmx_id_cared_for(id) ? 0 : __LINE__;
}

/* The descriptor has the number of the one that the program has closed. */
TEST_F(fork, RA_02_another_pidfd)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(replaced(cmx_id(self->id)));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Without its mark it would not be recognised, and stay open. */
TEST_F(fork, RA_02_a_pidfd_that_cannot_be_marked)
{
	int status;
	pid_t pid;

	setsig_error = EPERM;
	pid = fork();
	if (!pid) {
		if (pidfd_find() >= 0)
			_exit(1);
		_exit(cmx_id_cared_for(cmx_id(self->id)) ? 0 : 2);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(-1, pidfd_find());
}

/* In a child of the child: the latter ends, its parent does not. */
static int grandchild(struct cmx_id *id, int child)
{
	struct pollfd pfd = { .fd = child, .events = POLLIN };

	if (poll(&pfd, 1, -1) != 1)
		return 1;
	return cmx_id_cared_for(id) ? 0 : 2;
}

/* Likewise, with the library's next pidfd */
TEST_F(fork, RA_02_the_next_pidfd)
{
	struct rdma_cm_id *id;
	int result = -1, ends[2], own, fd;
	pid_t pid;

	ASSERT_EQ(0, pipe(ends));
	pid = fork();
	if (!pid) {
		fd = pidfd_find();
		own = pidfd_open(getpid());
		close(fd);
		if (rdma_create_id(self->channel, &id, NULL, RDMA_PS_TCP))
			_exit(1);
		if (fork())
			_exit(fd < 0);
		result = pidfd_find() == fd ?
			 grandchild(cmx_id(self->id), own) : 3;
		_exit(write(ends[1], &result, sizeof(result)) < 0);
	}
	close(ends[1]);
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_EQ((ssize_t)sizeof(result),
		  read(ends[0], &result, sizeof(result)));
	EXPECT_EQ(0, result);
	close(ends[0]);
}

/* True if the child requests attributes of the id with this cookie only */
static bool child_compares(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask, status;
	pid_t pid = fork();

	if (!pid) {
		if (rdma_init_qp_attr(id, &attr, &mask))
			_exit(2);
		_exit(mock.init_uid == cmx_id_cookie(cmx_id(id)));
	}
	return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 1;
}

/* The kernel has the cookie of a request once that is accepted. */
TEST_F(fork, RA_02_cookie_of_an_accepted_request)
{
	struct rdma_cm_event *event;

	cmx_id(self->id)->request = true;
	EXPECT_FALSE(child_compares(self->id));
	mock_event(self->id, RDMA_CM_EVENT_ESTABLISHED);
	ASSERT_EQ(0, rdma_get_cm_event(self->channel, &event));
	ASSERT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_TRUE(child_compares(self->id));
}

/* Otherwise a child that is forked then would free them once more. */
TEST_F(fork, RA_02_id_has_new_paths_before_the_old_ones_are_freed)
{
	struct ib_path_rec_data path = {};

	routed = self->id;
	ASSERT_EQ(0, cmx_id_set_paths(cmx_id(routed), &path, 1));
	old_paths = routed->route.path_rec;
	ASSERT_NE(NULL, old_paths);
	ASSERT_EQ(0, cmx_id_set_paths(cmx_id(routed), &path, 1));
	EXPECT_EQ(NULL, old_paths);
	EXPECT_FALSE(old_known);
}

static struct rdma_cm_id *member;
static int orphaned;	/* wait status of the child */

/* The child destroys its copy of the queue pair. */
static void forked_in_attach(void)
{
	pid_t pid = fork();

	if (!pid) {
		alarm(60);
		rdma_destroy_qp(member);
		_exit(!!mock.destroyed);
	}
	if (waitpid(pid, &orphaned, 0) != pid)
		orphaned = -1;
}

/* The kernel has attached the queue pair, and the thread has not noted it. */
TEST(MC_06_forked_while_a_join_attaches)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_in group = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(0xef370101),
	};
	struct rdma_cm_event *event;

	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &member, NULL, RDMA_PS_UDP));
	mock_qp(member, false);
	ASSERT_EQ(0, rdma_join_multicast(member, (void *)&group, NULL));
	mock_joined();
	mock.attaching = forked_in_attach;
	ASSERT_EQ(0, rdma_get_cm_event(channel, &event));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(1, mock.attaches);
	EXPECT_EQ(0, orphaned);
	EXPECT_EQ(0, rdma_leave_multicast(member, (void *)&group));
	EXPECT_EQ(1, mock.detaches);
	rdma_destroy_qp(member);
	EXPECT_EQ(0, mock.destroyed);
	EXPECT_EQ(0, rdma_destroy_id(member));
	rdma_destroy_event_channel(channel);
}

static void *first_call(void *arg)
{
	cmx_fork_init();
	return NULL;
}

/* Twice, they would wait for the locks that they have. */
TEST(RA_02_handlers_are_registered_once)
{
	pthread_t thread;
	int status;
	pid_t pid;

	ASSERT_EQ(0, sem_init(&here, 0, 0));
	ASSERT_EQ(0, sem_init(&go, 0, 0));
	waits = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, first_call, NULL));
	while (sem_wait(&here))
		;
	pid = fork();
	if (!pid) {
		alarm(60);
		waits = false;
		cmx_fork_init();
		pid = fork();
		if (!pid)
			_exit(0);
		if (pid != waitpid(pid, &status, 0) || status)
			_exit(100);
		_exit(registered);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(1, WEXITSTATUS(status));
	sem_post(&go);
	ASSERT_EQ(0, pthread_join(thread, NULL));
}

static struct heritage {
	struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id, *created;
	int result;
} before;

/* In the child, before the handler of the library */
static void first_handler(void)
{
	struct cmx_id *id = cmx_id(before.id);

	alarm(60);
	/* A thread of the parent initialised the lock. */
	id->locker = (struct cmx_process *)((char *)id->process + 1);
	before.result = rdma_ack_cm_event(before.event) ||
			rdma_create_id(before.channel, &before.created, NULL,
				       RDMA_PS_TCP);
}

static int handled(void)
{
	if (before.result)
		return 1;
	if (cmx_id_inherited(cmx_id(before.created)) ||
	    !cmx_id_inherited(cmx_id(before.id)))
		return 2;
	return rdma_destroy_id(before.created) || rdma_destroy_id(before.id) ?
	       3 : 0;
}

/* Handlers of a child run in the order of their registration. */
TEST(RA_02_called_by_a_handler_of_the_program)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, __register_atfork(NULL, NULL, first_handler, NULL));
	before.channel = rdma_create_event_channel();
	ASSERT_NE(NULL, before.channel);
	ASSERT_EQ(0, rdma_create_id(before.channel, &before.id, NULL,
				    RDMA_PS_TCP));
	mock_event(before.id, RDMA_CM_EVENT_USER);
	ASSERT_EQ(0, rdma_get_cm_event(before.channel, &before.event));
	pid = fork();
	if (!pid)
		_exit(handled());
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, rdma_ack_cm_event(before.event));
	EXPECT_EQ(0, rdma_destroy_id(before.id));
	rdma_destroy_event_channel(before.channel);
}

static void *lookup(void *arg)
{
	struct rdma_addrinfo *res;

	rdma_getaddrinfo("10.55.0.2", "7471", NULL, &res);
	return NULL;
}

/* The first call has no lock while it registers the handlers. */
TEST(RA_02_forked_before_handlers_are_registered)
{
	pthread_t thread;
	int status;
	pid_t pid;

	ASSERT_EQ(0, sem_init(&here, 0, 0));
	ASSERT_EQ(0, sem_init(&go, 0, 0));
	waits_before = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, lookup, NULL));
	while (sem_wait(&here))
		;
	pid = fork();
	if (!pid) {
		alarm(60);
		waits_before = false;
		lookup(NULL);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	sem_post(&go);
	ASSERT_EQ(0, pthread_join(thread, NULL));
}

TEST_HARNESS_MAIN
