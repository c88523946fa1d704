// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in the calls of the kernel API, made by cmx_consumer.ko in this
 * thread: each fails with ENOMEM, or gives what it gives without a fault. Those
 * that end something have no error. kernel_ib.c has what needs InfiniBand.
 * KA-01, KA-02, KA-03, KA-06 to KA-09, MC-11.
 */
#include "sweep.h"

FIXTURE(kernel) {
	int fd;
};

FIXTURE_SETUP(kernel)
{
	ASSERT_EQ(0, system("modprobe cmx_consumer"));
	self->fd = consumer_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(kernel)
{
	close(self->fd);
	EXPECT_EQ(0, system("rmmod cmx_consumer"));
	EXPECT_TRUE(live_are(0));
}

TEST_F_TIMEOUT(kernel, KA_01_resolve, SWEEP_LIMIT)
{
	SWEEP("known 10.55.0.2 7471", true, NULL);
	SWEEP("resolve 10.55.0.2 7471", false, NULL);
	SWEEP("resolve fd55::2 7471 qp=2", false, NULL);
	SWEEP("resolve - 7471 passive", false, NULL);
	SWEEP("start 10.55.0.2 7471", true, NULL);
	SWEEP("start later.example 1 later", false, "cancel");
	SWEEP_END("start later.example 1 later", "cancel");
}

TEST_F_TIMEOUT(kernel, MC_11_join, SWEEP_LIMIT)
{
	SWEEP("join 10.55.0.1 239.55.7.1 0", false, "leave");
	SWEEP("join fd55::1 ff15::55:71 0", false, "leave");
	SWEEP("join 10.55.0.1 239.55.7.3 0 qkey=0x777", false, "leave");
	/* The queue pair is not made with faults: that is the driver's. */
	ASSERT_EQ(0, consumer_do(self->fd, "join 10.55.0.1 239.55.7.3 0 qp"));
	SWEEP("more 239.55.7.4 0", false, "part 239.55.7.4");
	/* Another membership of a group */
	SWEEP("more 239.55.7.3 0", false, "part 239.55.7.3");
	SWEEP_END("more 239.55.7.4 0", "part 239.55.7.4");
	ASSERT_EQ(0, consumer_do(self->fd, "leave"));
	SWEEP_END("join fd55::1 ff15::55:71 0", "leave");
}

/* A new group, another membership, a new group */
TEST_F_TIMEOUT(kernel, KA_07_join_many, SWEEP_LIMIT)
{
	ASSERT_EQ(0, consumer_do(self->fd, "join 10.55.0.1 239.55.7.20 0"));
	SWEEP_JOINS("many 239.55.7.21 239.55.7.20 239.55.7.22");
	ASSERT_EQ(0, consumer_do(self->fd, "leave"));
}

/* The part of the calling thread; work items try the candidates. */
TEST_F_TIMEOUT(kernel, KA_02_connect, SWEEP_LIMIT)
{
	ASSERT_EQ(0, consumer_do(self->fd, "listen 10.55.0.1 7600 accept"));
	SWEEP("connect-sync -- 10.55.0.1 7600", false, "connect-end");
	SWEEP("connect -- 10.55.0.1 7600", false, "connect-end");
	ASSERT_EQ(0, consumer_do(self->fd, "unlisten"));
	ASSERT_EQ(0, consumer_do(self->fd, "listen 10.55.0.1 7600 hang"));
	SWEEP_END("connect-start -- 10.55.0.1 7600", "connect-cancel");
	ASSERT_EQ(0, consumer_do(self->fd, "unlisten"));
}

/* Without an InfiniBand port it has no record. */
TEST_F_TIMEOUT(kernel, KA_03_advertise, SWEEP_LIMIT)
{
	SWEEP("advertise swept 0x1061d30", false, "withdraw");
	SWEEP_END("advertise swept 0x1061d30", "withdraw");
}

/* They do without memory: the same with each fault. */
TEST_F_TIMEOUT(kernel, KA_06_devices, SWEEP_LIMIT)
{
	SWEEP("netdev eth0", false, NULL);
	SWEEP("netdev mgmt0 rtnl", false, NULL);
	ASSERT_EQ(0, consumer_do(self->fd, "resolve 10.55.0.2 7471"));
	SWEEP("device 0", false, NULL);
	ASSERT_EQ(0, consumer_do(self->fd, "resolve 10.55.0.2 7471"));
	SWEEP("path 0 0", false, NULL);
}

TEST_F_TIMEOUT(kernel, KA_08_watch, SWEEP_LIMIT)
{
	SWEEP("watch -- 10.55.0.2 7471", false, "unwatch");
	SWEEP("resolve 10.55.0.2 7471 refresh", false, NULL);
	SWEEP_END("watch -- 10.55.0.2 7471", "unwatch");
	ASSERT_EQ(0, consumer_do(self->fd, "watch -- 10.55.0.2 7471"));
	SWEEP("watch-refresh 0", false, NULL);
	ASSERT_EQ(0, consumer_do(self->fd, "unwatch"));
}

/* RoCE has no path records, but the call and its queries are the same. */
TEST_F_TIMEOUT(kernel, KA_09_paths, SWEEP_LIMIT)
{
	SWEEP("paths-sync 10.55.0.2 10.55.0.3", false, NULL);
	SWEEP("paths-start alt 10.55.0.2/10.55.0.3 fd55::2", false,
	      "paths-cancel");
	SWEEP_END("paths-start 10.55.0.2 fd55::2", "paths-cancel");
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
