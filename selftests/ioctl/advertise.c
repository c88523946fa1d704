// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ADVERTISE, WITHDRAW and QUERY_ADVERTISED: fields, permissions, limits,
 * changes that poll() reports, memory that cannot be written, the end of a
 * process. SV-01
 */
#include "advertise.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define ROUNDS		200
#define UNCHANGED	0xa5a5a5a5	/* a handle before the call */

static int withdraw(int fd, uint32_t handle)
{
	struct rdma_cmx_destroy arg = { .handle = handle };

	return call(fd, WITHDRAW, &arg);
}

TEST_F(advertise, SV_01_set_and_withdrawn)
{
	struct rdma_cmx_service_port ports[PORTS + 1];
	struct rdma_cmx_query_advertised arg;
	uint32_t i, k;

	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_NE(0, self->arg.handle);
	ASSERT_TRUE(set_wait(self->fd, self->arg.handle, PORTS));
	memset(ports, 0xa5, sizeof(ports));
	ASSERT_EQ(0, query(self->fd, self->arg.handle, &arg, ports, PORTS + 1));
	EXPECT_EQ(PORTS, arg.num_ports);
	EXPECT_EQ(PORTS, arg.num_set);
	EXPECT_EQ(0, arg.error);
	for (i = 0; i < PORTS; i++) {
		EXPECT_EQ(RDMA_CMX_SERVICE_PORT_SET, ports[i].state);
		EXPECT_EQ(0, ports[i].error);
		EXPECT_EQ(1, ports[i].port_num);
		EXPECT_EQ(900, ports[i].lease_s);
		EXPECT_EQ(0xffff, ports[i].pkey);
		EXPECT_EQ(0, ports[i].reserved);
		EXPECT_EQ(0xfe, ports[i].gid[0]);
		for (k = 0; k < i; k++)
			EXPECT_NE(ports[k].ibdev_index, ports[i].ibdev_index);
	}
	/* Nothing is written after the last one. */
	EXPECT_EQ(0xa5, *(uint8_t *)&ports[PORTS]);
	/* The id is in use, whatever the name. */
	self->arg.name[0] = 'I';
	self->arg.handle = UNCHANGED;
	EXPECT_EQ(-EEXIST, call(self->fd, ADVERTISE, &self->arg));
	EXPECT_EQ(UNCHANGED, self->arg.handle);
	EXPECT_EQ(1, counter("live_advertised"));
	EXPECT_EQ(0, withdraw(self->fd, 1));
	EXPECT_EQ(-ENOENT, withdraw(self->fd, 1));
	EXPECT_EQ(-ENOENT, query(self->fd, 1, &arg, NULL, 0));
	EXPECT_TRUE(number_gone(COUNTERS "live_service_records"));
}

/* A longer struct of a port ends with zeros; a short array has the first. */
TEST_F(advertise, ports)
{
	struct {
		struct rdma_cmx_service_port port;
		uint8_t more[24];
	} ports[PORTS];
	struct rdma_cmx_query_advertised arg = {};
	uint32_t i, k;

	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_TRUE(set_wait(self->fd, self->arg.handle, PORTS));
	memset(ports, 0xa5, sizeof(ports));
	arg.handle = self->arg.handle;
	arg.ports = (uintptr_t)ports;
	arg.max_ports = 2;
	arg.port_size = sizeof(ports[0]);
	ASSERT_EQ(0, call(self->fd, QUERY_ADVERTISED, &arg));
	EXPECT_EQ(PORTS, arg.num_ports);
	EXPECT_EQ(PORTS, arg.num_set);
	for (i = 0; i < PORTS; i++) {
		EXPECT_EQ(i < 2 ? 1 : 0xa5a5a5a5, ports[i].port.port_num);
		for (k = 0; k < sizeof(ports[i].more); k++)
			EXPECT_EQ(i < 2 ? 0 : 0xa5, ports[i].more[k]);
	}
	arg.port_size = sizeof(ports[0].port) - 1;
	EXPECT_EQ(-EINVAL, call(self->fd, QUERY_ADVERTISED, &arg));
	arg.port_size = 4097;
	EXPECT_EQ(-E2BIG, call(self->fd, QUERY_ADVERTISED, &arg));
	arg.port_size = sizeof(ports[0]);
	arg.ports = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, QUERY_ADVERTISED, &arg));
	arg.max_ports = 0;
	arg.port_size = 0;
	EXPECT_EQ(0, call(self->fd, QUERY_ADVERTISED, &arg));
	EXPECT_EQ(PORTS, arg.num_ports);
	arg.reserved = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, QUERY_ADVERTISED, &arg));
}

TEST_F(advertise, fields)
{
	struct rdma_cmx_advertise good;
	unsigned int i;

	self->arg.handle = UNCHANGED;
	good = self->arg;
#define REFUSED(want, field, value) do {				\
	self->arg = good;						\
	self->arg.field = value;					\
	EXPECT_EQ(want, call(self->fd, ADVERTISE, &self->arg))		\
		TH_LOG(#field);						\
	EXPECT_EQ(UNCHANGED, self->arg.handle) TH_LOG(#field);		\
} while (0)
	REFUSED(-EINVAL, service_id, 0);
	REFUSED(-EINVAL, name[0], 0);
	REFUSED(-EINVAL, name[2], 0);
	REFUSED(-EINVAL, name[63], 'x');
	REFUSED(-EINVAL, dev[1], 'x');
	REFUSED(-EINVAL, dev_port, 1);
	REFUSED(-EINVAL, pkey, 0x8000);
	REFUSED(-ERANGE, lease_s, 3);
	for (i = 0; i < 16; i++)
		REFUSED(-EINVAL, reserved, 1 << i);
	for (i = 0; i < 32; i++)
		REFUSED(-EOPNOTSUPP, flags, 1u << i);
	self->arg = good;
	memset(self->arg.name, 'x', sizeof(self->arg.name));
	EXPECT_EQ(-EINVAL, call(self->fd, ADVERTISE, &self->arg));
	self->arg = good;
	memset(self->arg.dev, 'x', sizeof(self->arg.dev));
	EXPECT_EQ(-EINVAL, call(self->fd, ADVERTISE, &self->arg));
	self->arg = good;
	strcpy((char *)self->arg.dev, "nosuch0");
	EXPECT_EQ(-ENODEV, call(self->fd, ADVERTISE, &self->arg));
	EXPECT_EQ(UNCHANGED, self->arg.handle);
	EXPECT_EQ(0, counter("live_advertised"));
	/* The longest name */
	self->arg = good;
	memset(self->arg.name, 'x', sizeof(self->arg.name) - 1);
	EXPECT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
}

TEST_F(advertise, cookies)
{
	struct rdma_cmx_destroy arg = {};
	struct rdma_cmx_query_advertised state;
	int other = dev_open(O_NONBLOCK);

	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	arg.handle = self->arg.handle;
	EXPECT_EQ(-ENOENT, call(other, WITHDRAW, &arg));
	EXPECT_EQ(-ENOENT, query(other, arg.handle, &state, NULL, 0));
	EXPECT_EQ(-ENOENT, call(self->fd, LEAVE, &arg));
	EXPECT_EQ(-ENOENT, call(self->fd, ID_DESTROY, &arg));
	arg.owner = 9;
	EXPECT_EQ(-ENOENT, call(self->fd, WITHDRAW, &arg));
	arg.owner = 8;
	arg.uid = 9;
	EXPECT_EQ(-ENOENT, call(self->fd, WITHDRAW, &arg));
	arg.uid = 7;
	arg.reserved = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, WITHDRAW, &arg));
	arg.reserved = 0;
	arg.events_reported = 77;
	EXPECT_EQ(0, call(self->fd, WITHDRAW, &arg));
	EXPECT_EQ(0, arg.events_reported);
	close(other);
}

/* poll() reports a change until QUERY_ADVERTISED, if requested. */
TEST_F(advertise, poll)
{
	struct pollfd pfd = { .fd = self->fd, .events = POLLPRI | POLLIN };
	struct rdma_cmx_query_advertised arg;
	double end;
	int changes;

	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_EQ(1, poll(&pfd, 1, WAIT_MS));
	EXPECT_EQ(POLLPRI, pfd.revents);
	EXPECT_FALSE(event_pending(self->fd));
	ASSERT_TRUE(set_wait(self->fd, self->arg.handle, PORTS));
	/* The report of a port follows its state. */
	end = now_ms() + WAIT_MS;
	do {
		ASSERT_EQ(0, query(self->fd, self->arg.handle, &arg, NULL, 0));
		changes = poll(&pfd, 1, 0);
	} while (changes && now_ms() < end);
	EXPECT_EQ(0, changes);
	ASSERT_EQ(0, fabric_bash("knob_set $(fab_dev 3) link 0"));
	/* Other ports may be set again before, and are not set meanwhile. */
	do {
		ASSERT_EQ(1, poll(&pfd, 1, WAIT_MS));
		EXPECT_EQ(POLLPRI, pfd.revents);
		ASSERT_EQ(0, query(self->fd, self->arg.handle, &arg, NULL, 0));
	} while (arg.num_set != PORTS - 1 || arg.error != -ENODEV);
	/* A service that is withdrawn with an unread change */
	ASSERT_EQ(0, fabric_bash("link_up $(fab_dev 3)"));
	ASSERT_EQ(1, poll(&pfd, 1, WAIT_MS));
	EXPECT_EQ(0, withdraw(self->fd, self->arg.handle));
	EXPECT_EQ(0, poll(&pfd, 1, 0));
	ASSERT_EQ(0, fabric_bash("port_active_wait"));
}

static int advertise_run(void *arg)
{
	int fd = dev_open(O_NONBLOCK);

	return -call(fd, ADVERTISE, (struct rdma_cmx_advertise *)arg);
}

static int user_namespace_run(void *arg)
{
	return unshare(CLONE_NEWUSER) ? 250 : advertise_run(arg);
}

TEST_F(advertise, SEC_rights)
{
	EXPECT_EQ(EPERM, user_end(user_start(1000, advertise_run, &self->arg)));
	EXPECT_EQ(EPERM, user_end(user_start(0, user_namespace_run,
					     &self->arg)));
	EXPECT_EQ(EPERM, user_end(user_start(1000, user_namespace_run,
					     &self->arg)));
	EXPECT_EQ(ENODEV, user_end(user_start(1000, network_run, &self->arg)));
	/* Fields are checked before permissions. */
	self->arg.service_id = 0;
	EXPECT_EQ(EINVAL, user_end(user_start(1000, advertise_run,
					      &self->arg)));
}

TEST_F(advertise, limits)
{
	long per_user = number_get(PARAMETERS "services_per_user");
	long ids = number_get(UCMX_PARAMETERS "max_ids");
	uint32_t handles[3];
	int i;

	ASSERT_EQ(0, number_set(PARAMETERS "services_per_user", 3));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
		handles[i] = self->arg.handle;
		self->arg.service_id++;
	}
	self->arg.handle = UNCHANGED;
	EXPECT_EQ(-EAGAIN, call(self->fd, ADVERTISE, &self->arg));
	EXPECT_EQ(UNCHANGED, self->arg.handle);
	EXPECT_EQ(0, number_set(PARAMETERS "services_per_user", per_user));
	EXPECT_EQ(3, counter("live_advertised"));
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_ids", 3));
	EXPECT_EQ(-EMFILE, call(self->fd, ADVERTISE, &self->arg));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, withdraw(self->fd, handles[i]));
	for (i = 0; i < 3; i++) {
		self->arg.service_id++;
		EXPECT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	}
	EXPECT_EQ(0, number_set(UCMX_PARAMETERS "max_ids", ids));
}

TEST_F(advertise, read_only_struct)
{
	struct rdma_cmx_advertise *arg;
	struct rdma_cmx_destroy *end;

	arg = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, arg);
	*arg = self->arg;
	arg->size = sizeof(*arg);
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->fd, RDMA_CMX_IO(ADVERTISE), arg));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, counter("live_advertised"));
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ | PROT_WRITE));
	end = (void *)arg;
	memset(end, 0, sizeof(*end));
	end->size = sizeof(*end);
	end->handle = self->arg.handle;
	ASSERT_EQ(0, mprotect(arg, 4096, PROT_READ));
	EXPECT_EQ(-1, ioctl(self->fd, RDMA_CMX_IO(WITHDRAW), arg));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, withdraw(self->fd, self->arg.handle));
	munmap(arg, 4096);
}

static volatile bool racing;

static void *query_thread(void *arg)
{
	struct rdma_cmx_query_advertised state;
	struct rdma_cmx_service_port ports[PORTS];
	int fd = *(int *)arg;

	while (racing) {
		query(fd, 1, &state, ports, PORTS);
		withdraw(fd, 2);
	}
	return NULL;
}

/* Queries race a withdraw; each service is withdrawn once. */
TEST_F(advertise, races)
{
	int i, gone = 0, rounds = kernel_slow() ? ROUNDS / 4 : ROUNDS;
	pthread_t thread[2];

	racing = true;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, query_thread,
					    &self->fd));
	for (i = 0; i < rounds; i++) {
		self->arg.service_id++;
		ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
		gone += withdraw(self->fd, self->arg.handle) == 0;
	}
	racing = false;
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	EXPECT_LE(1, gone);
	EXPECT_EQ(0, counter("live_advertised"));
}

/*
 * The services of SEC_05_killed. The result of saquery may be old. A slow SA may
 * still have services of other tests.
 */
static int services_are(int count)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "n() { [ $(sa_services | grep -cx killed) = %d ]; }; wait_for 60 n",
		 count);
	return fabric_bash(command);
}

/* The end of a killed process withdraws all its services. */
TEST_F(advertise, SEC_05_killed)
{
	int pipes[2], status;
	char c;
	pid_t pid;

	ASSERT_EQ(0, pipe(pipes));
	strcpy((char *)self->arg.name, "killed");
	pid = fork();
	if (!pid) {
		int fd = dev_open(O_NONBLOCK);

		if (call(fd, ADVERTISE, &self->arg) ||
		    !set_wait(fd, self->arg.handle, PORTS) ||
		    write(pipes[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	close(pipes[1]);
	ASSERT_EQ(1, read(pipes[0], &c, 1));
	EXPECT_EQ(0, services_are(4));
	kill(pid, SIGKILL);
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(counter_wait("live_advertised", 0));
	EXPECT_TRUE(number_gone(COUNTERS "live_service_records"));
	EXPECT_EQ(0, services_are(0));
}

TEST_HARNESS_MAIN
