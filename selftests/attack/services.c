// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services of programs: changes that poll() may miss, users who advertise up to
 * the limit of all, queries for records that end while the response arrives,
 * callers that are stopped while they wait for an SA that is silent, and copies
 * that are stopped while a device is removed.
 */
#include "uapi.h"

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "harness.h"

#define WAIT_MS		60000
#define PER_USER	7
#define MAX		16
#define USERS		3
#define THREADS		4
#define ROUNDS		150

FIXTURE(services) {
	int fd;
	long per_user, max, life, route;
	pid_t pids[USERS];
	struct rdma_cmx_advertise arg;
};

FIXTURE_SETUP(services)
{
	self->per_user = number_get(PARAMETERS "services_per_user");
	self->max = number_get(PARAMETERS "services_max");
	self->life = number_get(PARAMETERS "sa_cache_ms");
	self->route = number_get(PARAMETERS "route_timeout_ms");
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	memset(&self->arg, 0, sizeof(self->arg));
	self->arg.service_id = 0x1061a00;
	strcpy((char *)self->arg.name, "attack");
}

FIXTURE_TEARDOWN(services)
{
	pids_kill(self->pids, USERS);
	close(self->fd);
	number_set(PARAMETERS "services_per_user", self->per_user);
	number_set(PARAMETERS "services_max", self->max);
	number_set(PARAMETERS "sa_cache_ms", self->life);
	number_set(PARAMETERS "route_timeout_ms", self->route);
	EXPECT_TRUE(number_gone(COUNTERS "live_services"));
	EXPECT_TRUE(number_gone(COUNTERS "live_service_records"));
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
}

static int query(int fd, uint32_t handle, uint64_t ports, uint32_t room)
{
	struct rdma_cmx_query_advertised arg = {
		.handle = handle,
		.ports = ports,
		.max_ports = room,
		.port_size = sizeof(struct rdma_cmx_service_port),
	};

	return call(fd, QUERY_ADVERTISED, &arg);
}

static bool changed(int fd, int timeout)
{
	struct pollfd pfd = { .fd = fd, .events = POLLPRI };

	return poll(&pfd, 1, timeout) == 1 && pfd.revents == POLLPRI;
}

/* A poller that adds EPOLLPRI later is woken, too. */
TEST_F(services, epoll_modified)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC);

	ASSERT_LE(0, ep);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->fd, &event));
	event.events = EPOLLIN | EPOLLPRI;
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_MOD, self->fd, &event));
	ASSERT_EQ(0, epoll_wait(ep, &event, 1, 0));
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	EXPECT_EQ(1, epoll_wait(ep, &event, 1, WAIT_MS));
	EXPECT_TRUE(event.events & EPOLLPRI);
	EXPECT_TRUE(changed(self->fd, 0));
	close(ep);
}

/* A failed query does not clear the change. */
TEST_F(services, failed_query)
{
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_TRUE(changed(self->fd, WAIT_MS));
	EXPECT_EQ(-EFAULT, query(self->fd, self->arg.handle, 8, 1));
	EXPECT_TRUE(changed(self->fd, 0));
}

/* Advertises up to the user's limit, in namespaces of the user, and stays. */
static int taker_run(void *arg)
{
	struct rdma_cmx_advertise *service = arg;
	int fd = dev_open(O_NONBLOCK), i;

	if (fd < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 1;
	for (i = 0; i < PER_USER; i++) {
		service->service_id++;
		call(fd, ADVERTISE, service);
	}
	pause();
	return 0;
}

static bool refused_wait(long value)
{
	double end = now_ms() + WAIT_MS;

	while (number_get(COUNTERS "services_refused") < value &&
	       now_ms() < end)
		poll(NULL, 0, 20);
	return number_get(COUNTERS "services_refused") >= value;
}

/* Users without a device use up the limit of all; root still advertises. */
TEST_F(services, SEC_root_has_a_share)
{
	long refused = number_get(COUNTERS "services_refused");
	int i;

	ASSERT_EQ(0, number_set(PARAMETERS "services_per_user", PER_USER));
	ASSERT_EQ(0, number_set(PARAMETERS "services_max", MAX));
	for (i = 0; i < USERS; i++)
		self->pids[i] = user_start(2000 + i, taker_run, &self->arg);
	/* Fewer than they request */
	ASSERT_TRUE(refused_wait(refused + USERS * PER_USER - MAX));
	EXPECT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
}

static volatile bool running;

static void nothing(int sig)
{
}

/* Deadlines close to the time of a response, and signals */
static void *getter(void *arg)
{
	struct rdma_cmx_service_record records[8];
	struct rdma_cmx_get_services get;
	long n = (long)arg, *done = calloc(1, sizeof(*done));
	int fd = dev_open(O_NONBLOCK), i, ret;

	for (i = 0; running; i++) {
		memset(&get, 0, sizeof(get));
		snprintf((char *)get.service, sizeof(get.service), "get-%ld",
			 (n + i) % 3);
		get.records = (uintptr_t)records;
		get.max_records = 8;
		get.record_size = sizeof(records[0]);
		get.timeout_ms = 1 + i % 40;
		ret = call(fd, GET_SERVICES, &get);
		if (ret && ret != -ETIMEDOUT && ret != -EINTR) {
			fprintf(stderr, "# %d\n", ret);
			*done = -1;
			break;
		}
		++*done;
	}
	close(fd);
	return done;
}

TEST_F_TIMEOUT(services, records_turmoil, 200)
{
	struct sigaction action = { .sa_handler = nothing };
	int i, k, rounds = kernel_slow() ? ROUNDS / 5 : ROUNDS;
	pthread_t thread[THREADS];
	long *done;

	sigaction(SIGUSR1, &action, NULL);
	running = true;
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, getter,
					    (void *)(long)i));
	for (i = 0; i < rounds; i++) {
		struct rdma_cmx_destroy end = {};

		snprintf((char *)self->arg.name, sizeof(self->arg.name),
			 "get-%d", i % 3);
		self->arg.service_id++;
		ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
		changed(self->fd, 100);
		for (k = 0; k < THREADS; k++)
			pthread_kill(thread[k], SIGUSR1);
		end.handle = self->arg.handle;
		ASSERT_EQ(0, call(self->fd, WITHDRAW, &end));
	}
	running = false;
	for (i = 0; i < THREADS; i++) {
		pthread_join(thread[i], (void **)&done);
		EXPECT_LT(0, *done);
		free(done);
	}
}

#define PORTS		4	/* of the simulated fabric */
#define WAITERS		8
#define JOINERS		4
#define TIMEOUT_MS	240000	/* of their queries, more than the test's */

/* Waits for the records of service @arg. */
static int waiter_run(void *arg)
{
	struct rdma_cmx_service_record records[8];
	struct rdma_cmx_get_services get = {
		.records = (uintptr_t)records,
		.max_records = 8,
		.record_size = sizeof(records[0]),
		.timeout_ms = TIMEOUT_MS,
	};

	strcpy((char *)get.service, arg);
	return -call(dev_open(O_NONBLOCK), GET_SERVICES, &get);
}

static bool number_reaches(const char *path, long value, int ms)
{
	double end = now_ms() + ms;

	while (number_get(path) < value && now_ms() < end)
		poll(NULL, 0, 20);
	return number_get(path) >= value;
}

/* Sends the signal until the process ends; its status, or -1. */
static int stopped_by(pid_t pid, int sig)
{
	double end = now_ms() + WAIT_MS;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (now_ms() > end)
			return -1;
		kill(pid, sig);
		poll(NULL, 0, 20);
	}
	return status;
}

FIXTURE(silent) {
	long timeout, longest;
	pid_t pids[WAITERS + JOINERS];
};

FIXTURE_SETUP(silent)
{
	self->timeout = number_get(PARAMETERS "sa_timeout_ms");
	self->longest = number_get(PARAMETERS "query_timeout_max_ms");
	memset(self->pids, 0, sizeof(self->pids));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 20000));
	ASSERT_EQ(0, number_set(PARAMETERS "query_timeout_max_ms",
				TIMEOUT_MS));
	ASSERT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults "
				 "\"drop class=3 method=0x12 attr=0x31\""));
}

FIXTURE_TEARDOWN(silent)
{
	pids_kill(self->pids, WAITERS + JOINERS);
	EXPECT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults clear"));
	number_set(PARAMETERS "sa_timeout_ms", self->timeout);
	number_set(PARAMETERS "query_timeout_max_ms", self->longest);
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
}

/* SIGKILL and a handled signal stop a caller that waits; another goes on. */
TEST_F_TIMEOUT(silent, SEC_waiting_callers_can_be_stopped, 200)
{
	struct sigaction action = { .sa_handler = nothing };
	char name[WAITERS][32];
	int i, last, status;
	bool shared;
	long joined;

	/* The processes inherit it. */
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	for (i = 0; i < WAITERS; i++) {
		snprintf(name[i], sizeof(name[i]), "silent-%d", i);
		self->pids[i] = user_start(1000, waiter_run, name[i]);
		ASSERT_LT(0, self->pids[i]);
	}
	ASSERT_TRUE(number_reaches(COUNTERS "live_sa_lookups",
				   WAITERS * PORTS, WAIT_MS));
	/*
	 * One more waits for the responses to queries of the first. If a port
	 * has an event meanwhile, the next one does.
	 */
	last = WAITERS;
	do {
		joined = number_get(COUNTERS "sa_coalesced") + PORTS;
		self->pids[last] = user_start(3000, waiter_run, name[0]);
		ASSERT_LT(0, self->pids[last]);
		shared = number_reaches(COUNTERS "sa_coalesced", joined, 20000);
	} while (!shared && ++last < WAITERS + JOINERS);
	ASSERT_TRUE(shared);
	for (i = 0; i < WAITERS; i++) {
		status = stopped_by(self->pids[i], i % 2 ? SIGUSR1 : SIGKILL);
		ASSERT_NE(-1, status) {
			TH_LOG("process %d waits for the SA", i);
		}
		self->pids[i] = 0;
		if (i % 2) {
			EXPECT_TRUE(WIFEXITED(status));
			EXPECT_EQ(EINTR, WEXITSTATUS(status));
		} else {
			EXPECT_TRUE(WIFSIGNALED(status));
			EXPECT_EQ(SIGKILL, WTERMSIG(status));
		}
	}
	ASSERT_EQ(0, fabric_bash("knob_set $(fab_dev 1) faults clear"));
	EXPECT_EQ(0, user_end(self->pids[last]));
	self->pids[last] = 0;
}

#define PAGE		4096
#define COPIES		3

/* A command that is stopped when it copies its array to a page */
struct copy {
	pthread_t thread;
	int fd, ret;
	uint32_t handle;
	uint64_t page;
};

static void *services_copy(void *arg)
{
	struct rdma_cmx_get_services get = {
		.service = "attack",
		.timeout_ms = WAIT_MS,
	};
	struct copy *c = arg;

	get.records = c->page;
	get.max_records = 8;
	get.record_size = sizeof(struct rdma_cmx_service_record);
	c->ret = user_enter(1000) ?: call(c->fd, GET_SERVICES, &get);
	return NULL;
}

static void *paths_copy(void *arg)
{
	struct rdma_cmx_get_paths get = { .max_paths = 32 };
	struct copy *c = arg;

	get.paths = c->page;
	get.path_size = sizeof(struct rdma_cmx_cached_path);
	c->ret = user_enter(1000) ?: call(c->fd, GET_PATHS, &get);
	return NULL;
}

static void *advertised_copy(void *arg)
{
	struct copy *c = arg;

	c->ret = query(c->fd, c->handle, c->page, PORTS);
	return NULL;
}

/* A write to a page of @range faults, and waits until it is unregistered. */
static int faults_wait(const struct uffdio_range *range)
{
	struct uffdio_register reg = {
		.range = *range, .mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &reg))
		return -1;
	return fd;
}

static bool fault_read(int uffd)
{
	struct pollfd pfd = { .fd = uffd, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&pfd, 1, WAIT_MS) == 1 &&
	       read(uffd, &msg, sizeof(msg)) == sizeof(msg);
}

static bool set_everywhere(int fd, uint32_t handle)
{
	double end = now_ms() + WAIT_MS;
	struct rdma_cmx_query_advertised arg = { .handle = handle };

	while (!call(fd, QUERY_ADVERTISED, &arg) && arg.num_set < PORTS &&
	       now_ms() < end)
		poll(NULL, 0, 20);
	return arg.num_set == PORTS;
}

/* The removal of a device waits for no copy of an array. */
TEST_F_TIMEOUT(services, SEC_stopped_copies, 280)
{
	static void *(*const run[COPIES])(void *) = {
		services_copy, paths_copy, advertised_copy,
	};
	struct uffdio_range range = { .len = COPIES * PAGE };
	double end;
	struct copy copy[COPIES];
	pid_t pid;
	int i, uffd, status = -1;

	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_TRUE(set_everywhere(self->fd, self->arg.handle));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 3600000));
	/* The result has its path, however late the SA responds. */
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", WAIT_MS));
	ASSERT_LT(0, route_query("10.66.0.4", "10.66.0.2", WAIT_MS));
	range.start = (uintptr_t)mmap(NULL, range.len, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uffd = faults_wait(&range);
	ASSERT_LE(0, uffd);
	for (i = 0; i < COPIES; i++) {
		copy[i].fd = self->fd;
		copy[i].handle = self->arg.handle;
		copy[i].page = range.start + i * PAGE;
		ASSERT_EQ(0, pthread_create(&copy[i].thread, NULL, run[i],
					    &copy[i]));
		EXPECT_TRUE(fault_read(uffd)) {
			TH_LOG("copy %d was not stopped", i);
		}
	}
	pid = fork();
	if (!pid)
		_exit(fabric_bash("knob_set $(fab_dev 4) plugged 0") ? 1 : 0);
	end = now_ms() + WAIT_MS;
	while (waitpid(pid, &status, WNOHANG) == 0 && now_ms() < end)
		poll(NULL, 0, 20);
	EXPECT_EQ(0, status);
	/* Nor does another command with the same handle. */
	EXPECT_EQ(0, query(self->fd, self->arg.handle, 0, 0));
	EXPECT_EQ(0, ioctl(uffd, UFFDIO_UNREGISTER, &range));
	for (i = 0; i < COPIES; i++) {
		pthread_join(copy[i].thread, NULL);
		EXPECT_EQ(0, copy[i].ret);
	}
	close(uffd);
	munmap((void *)(uintptr_t)range.start, range.len);
	EXPECT_EQ(0, fabric_bash("d=$(fab_dev 4); knob_set $d plugged 1; "
				 "wait_for 120 devices_back $d; "
				 "addresses_add $d; port_active_wait $d"));
}

TEST_HARNESS_MAIN
