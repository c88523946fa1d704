// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in the calls of the kernel API that need an SA, in the calling thread:
 * services, their records, connects by them, paths of the cache, joins. KA-02,
 * KA-03, KA-06, KA-07, KA-09, SV-01. The work items of queries, connects and
 * joins are swept in sa_work.c. Also a program's queries of records and of the
 * ports of its service.
 */
#include "sweep.h"

/* A service of somebody else */
#define SERVICE	"/usr/lib/rdma-cmx/selftests/sa/tools/service -C $(fab_dev 3) " \
		"-n work -i 0x13f7700 "

FIXTURE(ib) {
	int fd;
};

FIXTURE_SETUP(ib)
{
	ASSERT_EQ(0, system("modprobe cmx_consumer"));
	self->fd = consumer_open();
	ASSERT_LE(0, self->fd);
	/* Answers come from the SA each time. */
	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 0));
	ASSERT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 1500));
	/* An SA that responds late fails no query. */
	ASSERT_EQ(0, number_set(PARAMETERS "query_timeout_ms", 60000));
	ASSERT_EQ(0, number_set(PARAMETERS "route_timeout_ms", 60000));
}

FIXTURE_TEARDOWN(ib)
{
	close(self->fd);
	EXPECT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 15000));
	EXPECT_EQ(0, number_set(PARAMETERS "sa_timeout_ms", 400));
	EXPECT_EQ(0, number_set(PARAMETERS "query_timeout_ms", 10000));
	EXPECT_EQ(0, number_set(PARAMETERS "route_timeout_ms", 3000));
	EXPECT_EQ(0, system("rmmod cmx_consumer"));
	EXPECT_TRUE(live_are(0));
}

#define SWEPT		"advertise swept 0x1061d30"

/* It is on all ports, or on none. */
TEST_F_TIMEOUT(ib, KA_03_advertise, SWEEP_LIMIT)
{
	struct consumer_answer got;
	int n, ret, refused = 0;
	bool hit = true;
	long events;

	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		events = number_get(SA_EVENTS);
		fault_arm(n);
		ret = consumer_do(self->fd, SWEPT);
		hit = fault_hit();
		consumer_read(&got);
		EXPECT_TRUE(fault_answer(ret, hit, &got)) {
			TH_LOG("fault %d: %d, %s", n, ret, got.text);
		}
		if (ret || got.error) {
			refused += !ret;
		} else {
			EXPECT_TRUE(advertised_once(self->fd, events, &got)) {
				TH_LOG("fault %d: %s", n, got.text);
			}
			EXPECT_NE(NULL, strstr(got.text, ",0,0 last"));
			EXPECT_EQ(0, consumer_do(self->fd, "withdraw"));
		}
		EXPECT_TRUE(live_are(0)) TH_LOG("fault %d", n);
	}
	TH_LOG("advertise: %d fault points, %d ENOMEM", n - 2, refused);
	/* The service, and a record for each port */
	EXPECT_LE(5, refused);
}

TEST_F_TIMEOUT(ib, KA_03_withdraw, SWEEP_LIMIT)
{
	struct consumer_answer got;
	bool hit = true;
	int n, ret;
	long events;

	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		events = number_get(SA_EVENTS);
		ASSERT_EQ(0, consumer_do(self->fd, SWEPT));
		ASSERT_TRUE(advertised_once(self->fd, events, &got));
		fault_arm(n);
		ret = consumer_do(self->fd, "withdraw");
		hit = fault_hit();
		EXPECT_TRUE(fault_result(ret, hit)) TH_LOG("fault %d", n);
		if (ret)
			EXPECT_EQ(0, consumer_do(self->fd, "withdraw"));
		EXPECT_TRUE(live_are(0)) TH_LOG("fault %d", n);
	}
	TH_LOG("withdraw: %d fault points", n - 2);
	EXPECT_LT(2, n);
	EXPECT_EQ(0, consumer_do(self->fd, "services-get swept"));
	consumer_read(&got);
	EXPECT_STREQ("records=0 ports=4 error=0\n", got.text);
}

TEST_F_TIMEOUT(ib, SV_01_services_get, SWEEP_LIMIT)
{
	ASSERT_EQ(0, fabric_bash(SERVICE "set"));
	SWEEP("services-get work", false, NULL);
	EXPECT_EQ(0, fabric_bash(SERVICE "delete"));
}

static int records_get(int fd)
{
	struct rdma_cmx_service_record records[8];
	struct rdma_cmx_get_services arg = {
		.service = "work",
		.records = (uintptr_t)records,
		.max_records = 8,
		.record_size = sizeof(records[0]),
		.timeout_ms = 60000,
	};
	int ret = call(fd, GET_SERVICES, &arg);

	return ret ?: arg.num_records == 1 ? 0 : -ENODATA;
}

/* The record is the same at the SAs of all ports: one response has it. */
TEST_F_TIMEOUT(ib, SV_01_get_services, SWEEP_LIMIT)
{
	int fd = dev_open(O_NONBLOCK);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fabric_bash(SERVICE "set"));
	EACH_FAULT(, records_get(fd), 0, 0,);
	EXPECT_EQ(0, fabric_bash(SERVICE "delete"));
	close(fd);
	EXPECT_TRUE(nothing_left());
}

/* All four ports of an advertised service */
static int ports_get(int fd, uint32_t handle)
{
	struct rdma_cmx_service_port ports[8];
	struct rdma_cmx_query_advertised arg = {
		.handle = handle,
		.ports = (uintptr_t)ports,
		.max_ports = 8,
		.port_size = sizeof(ports[0]),
	};
	int ret = call(fd, QUERY_ADVERTISED, &arg);

	return ret ?: arg.num_ports == 4 && arg.num_set == 4 ? 0 : -ENODATA;
}

TEST_F_TIMEOUT(ib, SV_01_query_advertised, SWEEP_LIMIT)
{
	struct rdma_cmx_advertise arg = { .service_id = 0x1061d31,
					  .name = "ports" };
	struct rdma_cmx_destroy end = {};
	int fd = dev_open(O_NONBLOCK);
	double limit = now_ms() + 60000;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, call(fd, ADVERTISE, &arg));
	while (ports_get(fd, arg.handle) && now_ms() < limit)
		poll(NULL, 0, 10);
	EACH_FAULT(, ports_get(fd, arg.handle), 0, 0,);
	end.handle = arg.handle;
	EXPECT_EQ(0, call(fd, WITHDRAW, &end));
	close(fd);
	EXPECT_TRUE(live_are(0));
}

TEST_F_TIMEOUT(ib, KA_02_connect, SWEEP_LIMIT)
{
	char here[64], there[64], command[256];

	ASSERT_TRUE(fabric_gids(here, there));
	ASSERT_EQ(0, fabric_bash(SERVICE "set"));
	snprintf(command, sizeof(command), "listen gid:%s 0x13f7700 accept",
		 there);
	ASSERT_EQ(0, consumer_do(self->fd, command));
	snprintf(command, sizeof(command),
		 "connect-sync deadline=60000 -- - - "
		 "sa service=work src=gid:%s", here);
	SWEEP(command, false, "connect-end");
	ASSERT_EQ(0, consumer_do(self->fd, "unlisten"));
	EXPECT_EQ(0, fabric_bash(SERVICE "delete"));
}

TEST_F_TIMEOUT(ib, KA_07_join_many, SWEEP_LIMIT)
{
	ASSERT_EQ(0, consumer_do(self->fd, "join 10.66.0.2 239.66.7.20 0"));
	SWEEP_JOINS("many 239.66.7.21 239.66.7.20 239.66.7.22");
	ASSERT_EQ(0, consumer_do(self->fd, "leave"));
}

TEST_F_TIMEOUT(ib, KA_06_entry, SWEEP_LIMIT)
{
	ASSERT_EQ(0, consumer_do(self->fd, "resolve 10.66.0.3 7900 qp=2"));
	SWEEP("device 0", false, NULL);
	SWEEP("path 0 0", false, NULL);
}

/* How many path queries that costs */
static long path_find(FIXTURE_DATA(ib) *self, const char *command)
{
	long before = number_get("/sys/module/rdma_cmx/counters/sa_queries");

	if (consumer_do(self->fd, command))
		return -1;
	return number_get("/sys/module/rdma_cmx/counters/sa_queries") - before;
}

#define PATHS		"paths-sync 10.66.0.3"

/* A path that was forgotten is not in the cache, whatever has failed. */
TEST_F_TIMEOUT(ib, KA_09_invalidate, SWEEP_LIMIT)
{
	int n, ret, refused = 0, kept = 0;
	struct consumer_answer got;
	bool hit = true;

	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 3600000));
	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		ASSERT_LE(0, path_find(self, PATHS));
		fault_arm(n);
		ret = consumer_do(self->fd, "paths-forget 0");
		hit = fault_hit();
		consumer_read(&got);
		EXPECT_TRUE(fault_answer(ret, hit, &got)) {
			TH_LOG("fault %d: %d, %s", n, ret, got.text);
		}
		if (!ret && !got.error) {
			EXPECT_LE(1, path_find(self, PATHS)) {
				TH_LOG("fault %d", n);
			}
			continue;
		}
		refused += !ret;
		/* Unless an event of a port has emptied the cache meanwhile */
		kept += path_find(self, PATHS) == 0;
	}
	TH_LOG("paths-forget: %d fault points, %d ENOMEM", n - 2, refused);
	EXPECT_LT(0, refused);
	EXPECT_LT(0, kept);
}

/* An id has its path, or none; and a path that was dropped has gone. */
TEST_F_TIMEOUT(ib, KA_09_cached_path, SWEEP_LIMIT)
{
	struct consumer_answer got;
	int n, ret, refused = 0;
	bool hit = true;

	ASSERT_EQ(0, number_set(PARAMETERS "sa_cache_ms", 3600000));
	ASSERT_EQ(0, consumer_do(self->fd, "resolve 10.66.0.3 7900 qp=2"));
	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		ASSERT_EQ(0, consumer_do(self->fd, PATHS));
		ASSERT_EQ(0, consumer_do(self->fd, "path-id 0 0"));
		fault_arm(n);
		ret = consumer_do(self->fd, "path-set");
		hit = fault_hit();
		consumer_read(&got);
		EXPECT_TRUE(fault_answer(ret, hit, &got)) {
			TH_LOG("fault %d: %d, %s", n, ret, got.text);
		}
		if (ret || got.error) {
			refused += !ret;
			EXPECT_EQ(0, consumer_do(self->fd, "path-set"));
			consumer_read(&got);
			EXPECT_STREQ("known=0\n", got.text);
		}
	}
	TH_LOG("path-set: %d fault points, %d ENOMEM", n - 2, refused);
	EXPECT_LT(0, refused);
	for (n = 1, hit = true; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		ASSERT_EQ(0, consumer_do(self->fd, PATHS));
		ASSERT_EQ(0, consumer_do(self->fd, "path-id 0 0"));
		fault_arm(n);
		ret = consumer_do(self->fd, "path-drop");
		hit = fault_hit();
		EXPECT_TRUE(fault_result(ret, hit)) TH_LOG("fault %d", n);
		if (ret)
			EXPECT_EQ(0, consumer_do(self->fd, "path-drop"));
		EXPECT_EQ(0, consumer_do(self->fd, "path-set"));
		consumer_read(&got);
		EXPECT_STREQ("known=-2\n", got.text) TH_LOG("fault %d", n);
	}
	TH_LOG("path-drop: %d fault points", n - 2);
	EXPECT_LT(2, n);
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
