// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services of programs: changes that poll() may miss, users who advertise up to
 * the limit of all, and queries for records that end while the response
 * arrives.
 */
#include "uapi.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>

#include "harness.h"

#define WAIT_MS		60000
#define PER_USER	7
#define MAX		16
#define USERS		3
#define THREADS		4
#define ROUNDS		150

FIXTURE(services) {
	int fd;
	long per_user, max;
	pid_t pids[USERS];
	struct rdma_cmx_advertise arg;
};

FIXTURE_SETUP(services)
{
	self->per_user = number_get(PARAMETERS "services_per_user");
	self->max = number_get(PARAMETERS "services_max");
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

TEST_HARNESS_MAIN
