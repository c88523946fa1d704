// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SV-01: GET_SERVICES, which returns the records of all users: fields, sizes,
 * permissions, also in a namespace that shares the devices; an SA that does not
 * respond.
 */
#include "advertise.h"

#include <signal.h>

struct records {
	struct rdma_cmx_get_services arg;
	struct rdma_cmx_service_record records[8];
};

/* Reads the records of a service; NULL: of all. */
static int records_get(int fd, const char *service, struct records *r)
{
	memset(r, 0, sizeof(*r));
	memset(r->records, 0xa5, sizeof(r->records));
	if (service)
		strcpy((char *)r->arg.service, service);
	r->arg.records = (uintptr_t)r->records;
	r->arg.max_records = 8;
	r->arg.record_size = sizeof(r->records[0]);
	r->arg.timeout_ms = 60000;
	return call(fd, GET_SERVICES, &r->arg);
}

TEST_F(advertise, SV_01_records)
{
	struct records r;
	unsigned int i, k;

	self->arg.lease_s = 300;
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_TRUE(set_wait(self->fd, self->arg.handle, PORTS));
	for (k = 0; k < 2; k++) {
		/* By name, and by id */
		ASSERT_EQ(0, records_get(self->fd, k ? "0x1061100" : "ioctl",
					 &r));
		EXPECT_EQ(PORTS, r.arg.num_ports);
		EXPECT_EQ(0, r.arg.error);
		/* Each SA has all records; each record is returned once. */
		ASSERT_EQ(PORTS, r.arg.num_records);
		for (i = 0; i < PORTS; i++) {
			EXPECT_EQ(0x1061100, r.records[i].service_id);
			EXPECT_EQ(300, r.records[i].lease_s);
			EXPECT_EQ(0xffff, r.records[i].pkey);
			EXPECT_EQ(0, r.records[i].reserved);
			EXPECT_EQ(1, r.records[i].port_num);
			EXPECT_STREQ("ioctl", (char *)r.records[i].name);
			EXPECT_EQ(0, memcmp(r.records[i].data, self->arg.data,
					    64));
		}
		EXPECT_EQ(0xa5, *(uint8_t *)&r.records[PORTS]);
	}
	/* The rest of the array is unchanged. */
	r.arg.max_records = PORTS - 1;
	memset(r.records, 0xa5, sizeof(r.records));
	EXPECT_EQ(-ENOSPC, call(self->fd, GET_SERVICES, &r.arg));
	EXPECT_EQ(PORTS, r.arg.num_records);
	EXPECT_EQ(0xa5, *(uint8_t *)r.records);
	strcpy((char *)r.arg.dev, "nosuch0");
	EXPECT_EQ(-ENODEV, call(self->fd, GET_SERVICES, &r.arg));
	EXPECT_EQ(0, records_get(self->fd, "nosuch", &r));
	EXPECT_EQ(0, r.arg.num_records);
	EXPECT_EQ(PORTS, r.arg.num_ports);
	EXPECT_EQ(0, records_get(self->fd, NULL, &r));
	EXPECT_EQ(PORTS, r.arg.num_records);
}

/* A struct that is longer than the kernel's ends with zeros. */
TEST_F(advertise, record_size)
{
	struct {
		struct rdma_cmx_service_record record;
		uint8_t more[40];
	} wide[PORTS];
	struct records r;
	int i, k;

	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_TRUE(set_wait(self->fd, self->arg.handle, PORTS));
	ASSERT_EQ(0, records_get(self->fd, "ioctl", &r));
	memset(wide, 0xa5, sizeof(wide));
	r.arg.records = (uintptr_t)wide;
	r.arg.max_records = PORTS;
	r.arg.record_size = sizeof(wide[0]);
	ASSERT_EQ(0, call(self->fd, GET_SERVICES, &r.arg));
	for (i = 0; i < PORTS; i++) {
		EXPECT_EQ(0x1061100, wide[i].record.service_id);
		for (k = 0; k < 40; k++)
			EXPECT_EQ(0, wide[i].more[k]);
	}
	r.arg.record_size = sizeof(r.records[0]) - 1;
	EXPECT_EQ(-EINVAL, call(self->fd, GET_SERVICES, &r.arg));
	r.arg.record_size = 4097;
	EXPECT_EQ(-E2BIG, call(self->fd, GET_SERVICES, &r.arg));
	r.arg.record_size = sizeof(r.records[0]);
	r.arg.records = 8;
	EXPECT_EQ(-EFAULT, call(self->fd, GET_SERVICES, &r.arg));
	r.arg.flags = 1;
	EXPECT_EQ(-EOPNOTSUPP, call(self->fd, GET_SERVICES, &r.arg));
	r.arg.flags = 0;
	r.arg.service[63] = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, GET_SERVICES, &r.arg));
	r.arg.service[63] = 0;
	r.arg.dev_port = 1;
	EXPECT_EQ(-EINVAL, call(self->fd, GET_SERVICES, &r.arg));
}

static int records_run(void *arg)
{
	struct records r;

	return -records_get(dev_open(O_NONBLOCK), arg, &r) ?:
	       100 + r.arg.num_records;
}

/* Every user may query a name; only root may query all. */
TEST_F(advertise, SEC_records)
{
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_TRUE(set_wait(self->fd, self->arg.handle, PORTS));
	EXPECT_EQ(100 + PORTS, user_end(user_start(1000, records_run,
						   "ioctl")));
	EXPECT_EQ(EPERM, user_end(user_start(1000, records_run, NULL)));
	EXPECT_EQ(100 + PORTS, user_end(user_start(0, records_run, NULL)));
}

static int shared_run(void *arg)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWNET) ? 250 : records_run(arg);
}

/*
 * A user who creates a network namespace has capabilities there, but not for
 * the shared devices: the user may resolve names with them, but neither
 * advertise nor list.
 */
TEST_F(advertise, SEC_shared_devices)
{
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &self->arg));
	ASSERT_TRUE(set_wait(self->fd, self->arg.handle, PORTS));
	self->arg.service_id++;
	ASSERT_EQ(0, fabric_bash("wait_for 40 rdma system set netns shared"));
	EXPECT_EQ(100 + PORTS, user_end(user_start(1000, shared_run, "ioctl")));
	EXPECT_EQ(ENODEV, user_end(user_start(1000, shared_run, NULL)));
	EXPECT_EQ(ENODEV, user_end(user_start(1000, network_run, &self->arg)));
	EXPECT_EQ(0, fabric_bash("wait_for 40 rdma system set netns exclusive"));
}

static void nothing(int sig)
{
}

/* An SA that does not respond: the deadline, and a signal. */
TEST_F(advertise, records_late)
{
	struct sigaction action = { .sa_handler = nothing };
	struct records r;
	double start, took = 1e9;
	int i;

	ASSERT_EQ(0, fabric_bash("sm_pause"));
	memset(&r, 0, sizeof(r));
	strcpy((char *)r.arg.service, "late");
	r.arg.record_size = sizeof(r.records[0]);
	r.arg.timeout_ms = 300;
	/* Several attempts, as a guest may stop */
	for (i = 0; i < 4 && took >= 5000; i++) {
		start = now_ms();
		EXPECT_EQ(-ETIMEDOUT, call(self->fd, GET_SERVICES, &r.arg));
		took = now_ms() - start;
	}
	EXPECT_GT(5000, took);
	sigaction(SIGALRM, &action, NULL);
	/* Repeated: the first signal may come before the wait. */
	ualarm(500000, 500000);
	r.arg.timeout_ms = 60000;
	EXPECT_EQ(-EINTR, call(self->fd, GET_SERVICES, &r.arg));
	ualarm(0, 0);
	EXPECT_EQ(0, fabric_bash("sm_resume"));
	EXPECT_TRUE(number_gone(COUNTERS "live_sa_lookups"));
}

TEST_HARNESS_MAIN
