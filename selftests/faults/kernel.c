// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in the calls of the kernel API, made by cmx_consumer.ko in this
 * thread: each fails with ENOMEM, or gives what it gives without a fault.
 * KA-01, KA-02, KA-08, KA-09, MC-11. The consumer's own allocations fail as well.
 */
#include "uapi.h"
#include "consumer.h"
#include "faults.h"

#include "harness.h"

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
}

/*
 * Sweep @command; "wait" behind it, if it does not wait itself; @undo behind
 * each, or NULL.
 */
static void sweep(struct __test_metadata *_metadata, int fd,
		  const char *command, bool wait, const char *undo)
{
	struct consumer_answer want, got;
	bool hit = true;
	int n, ret;

	ASSERT_EQ(0, consumer_do(fd, command)) TH_LOG("%s", command);
	if (wait)
		ASSERT_EQ(0, consumer_do(fd, "wait"));
	consumer_read(&want);
	if (undo)
		ASSERT_EQ(0, consumer_do(fd, undo));
	for (n = 1; hit; n++) {
		ASSERT_GT(FAULTS_MAX, n);
		fault_arm(n);
		ret = consumer_do(fd, command);
		hit = fault_hit();
		EXPECT_TRUE(!ret || (hit && (ret == -ENOMEM ||
					     ret == -EFAULT))) {
			TH_LOG("%s: fault %d: %d", command, n, ret);
		}
		consumer_read(&got);
		if (!ret && wait && !got.error) {
			EXPECT_EQ(0, consumer_do(fd, "wait"));
			consumer_read(&got);
		}
		if (!ret && !(hit && got.error == -ENOMEM))
			EXPECT_STREQ(want.text, got.text) {
				TH_LOG("%s: fault %d", command, n);
			}
		if (!ret && undo && !got.error)
			EXPECT_EQ(0, consumer_do(fd, undo));
		/* All is as before. */
		EXPECT_EQ(0, consumer_do(fd, command));
		if (wait)
			EXPECT_EQ(0, consumer_do(fd, "wait"));
		consumer_read(&got);
		EXPECT_STREQ(want.text, got.text) {
			TH_LOG("%s: after fault %d", command, n);
		}
		if (undo)
			EXPECT_EQ(0, consumer_do(fd, undo));
	}
	TH_LOG("%s: %d fault points", command, n - 2);
	EXPECT_LT(2, n);
}

#define SWEEP(command, wait, undo) \
	sweep(_metadata, self->fd, command, wait, undo)

TEST_F_TIMEOUT(kernel, KA_01_resolve, SWEEP_LIMIT)
{
	SWEEP("known 10.55.0.2 7471", true, NULL);
	SWEEP("resolve 10.55.0.2 7471", false, NULL);
	SWEEP("resolve fd55::2 7471 qp=2", false, NULL);
	SWEEP("resolve - 7471 passive", false, NULL);
	SWEEP("start 10.55.0.2 7471", true, NULL);
	SWEEP("start later.example 1 later", false, "cancel");
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
	ASSERT_EQ(0, consumer_do(self->fd, "leave"));
}

/* What the calling thread does; the candidates are worked on elsewhere. */
TEST_F_TIMEOUT(kernel, KA_02_connect, SWEEP_LIMIT)
{
	ASSERT_EQ(0, consumer_do(self->fd, "listen 10.55.0.1 7600 accept"));
	SWEEP("connect-sync -- 10.55.0.1 7600", false, "connect-end");
	SWEEP("connect -- 10.55.0.1 7600", false, "connect-end");
	ASSERT_EQ(0, consumer_do(self->fd, "unlisten"));
}

TEST_F_TIMEOUT(kernel, KA_08_watch, SWEEP_LIMIT)
{
	SWEEP("watch -- 10.55.0.2 7471", false, "unwatch");
	SWEEP("resolve 10.55.0.2 7471 refresh", false, NULL);
}

/* RoCE has no path records, but the call and its queries are the same. */
TEST_F_TIMEOUT(kernel, KA_09_paths, SWEEP_LIMIT)
{
	SWEEP("paths-sync 10.55.0.2 10.55.0.3", false, NULL);
	SWEEP("paths-start alt 10.55.0.2/10.55.0.3 fd55::2", false,
	      "paths-cancel");
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
