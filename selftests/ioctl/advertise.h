/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Advertised services at the uAPI: the fixture, a service of a private file
 * that a test advertises, the wait until it is set, a user without a device.
 */
#ifndef IOCTL_ADVERTISE_H
#define IOCTL_ADVERTISE_H

#include "uapi.h"

#include <sched.h>

#include "harness.h"

#define PORTS		4	/* of the simulated fabric */
#define WAIT_MS		90000

FIXTURE(advertise) {
	int fd;
	struct rdma_cmx_advertise arg;
};

FIXTURE_SETUP(advertise)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	memset(&self->arg, 0, sizeof(self->arg));
	self->arg.service_id = 0x1061100;
	self->arg.uid = 7;
	self->arg.owner = 8;
	strcpy((char *)self->arg.name, "ioctl");
	memset(self->arg.data, 0x5d, sizeof(self->arg.data));
}

FIXTURE_TEARDOWN(advertise)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_advertised", 0));
	EXPECT_TRUE(number_gone(COUNTERS "live_services"));
	EXPECT_TRUE(number_gone(COUNTERS "live_service_records"));
}

static inline int query(int fd, uint32_t handle,
			struct rdma_cmx_query_advertised *arg,
			struct rdma_cmx_service_port *ports, uint32_t room)
{
	memset(arg, 0, sizeof(*arg));
	arg->handle = handle;
	arg->ports = (uintptr_t)ports;
	arg->max_ports = room;
	arg->port_size = sizeof(*ports);
	return call(fd, QUERY_ADVERTISED, arg);
}

/* Waits for changes until @wanted ports are set; false after the deadline. */
static inline bool set_wait(int fd, uint32_t handle, uint32_t wanted)
{
	struct pollfd pfd = { .fd = fd, .events = POLLPRI };
	struct rdma_cmx_query_advertised arg;
	double end = now_ms() + WAIT_MS;

	while (!query(fd, handle, &arg, NULL, 0)) {
		if (arg.num_ports == wanted && arg.num_set == wanted)
			return true;
		if (now_ms() > end || poll(&pfd, 1, end - now_ms()) != 1)
			break;
	}
	fprintf(stderr, "# %u of %u ports are set, error %d\n", arg.num_set,
		arg.num_ports, arg.error);
	return false;
}

/* The user owns the namespace, which has no device. */
static inline int network_run(void *arg)
{
	struct rdma_cmx_query_advertised state;
	struct rdma_cmx_advertise *service = arg;
	int fd = dev_open(O_NONBLOCK);

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 250;
	if (call(fd, ADVERTISE, service))
		return 251;
	if (query(fd, service->handle, &state, NULL, 0))
		return 252;
	return state.num_ports ? 253 : -state.error;
}

#endif /* IOCTL_ADVERTISE_H */
