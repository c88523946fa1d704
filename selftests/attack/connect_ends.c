// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many connects wait for a slot when their process, their device or a kernel
 * consumer ends. No connect is left in the queue, and all slots are free.
 */
#include "connect_races.h"

#define MANY		60

/* The file of another process may still be open for a moment. */
static bool consumer_unloaded(void)
{
	double end = now_ms() + 60000;
	int ret;

	while ((ret = system("rmmod cmx_consumer 2>/dev/null")) &&
	       now_ms() < end)
		poll(NULL, 0, 20);
	return !ret;
}

/*
 * Many ids of a process wait, and the second of two connects of a kernel
 * consumer. Then the consumer, the device or the process ends.
 */
static int many_run(void *arg)
{
	const char *addr = addr_rdma = arg;
	int fd = dev_open(O_NONBLOCK), silent = dev_open(O_NONBLOCK), i;
	char text[64];
	uint32_t id;

	if (listen_at(silent, addr, SILENT))
		return 1;
	for (i = 0; i < MANY; i++)
		if (active_new(fd, 7, SILENT, &id) || connect_call(fd, id))
			return 1;
	snprintf(text, sizeof(text),
		 "connect-start twice deadline=600000 -- %s %u", addr, SILENT);
	text_put(CONSUMER, text);
	pause();
	return 0;
}

/* Sent: half of 16, one of the user, and one of the kernel */
#define MANY_WAIT	(MANY - 9)

TEST_F(races, device)
{
	self->serve = user_start(0, many_run, DEVICE_ADDR);
	ASSERT_TRUE(waits_are(MANY_WAIT + 1));
	EXPECT_EQ(0, device_del());
	EXPECT_TRUE(waits_are(0));
}

TEST_F(races, killed)
{
	self->serve = user_start(0, many_run, (void *)ADDR_RDMA);
	ASSERT_TRUE(waits_are(MANY_WAIT + 1));
	EXPECT_TRUE(consumer_unloaded());
	EXPECT_TRUE(waits_are(MANY_WAIT));
	pids_kill(&self->serve, 1);
	self->serve = 0;
	EXPECT_TRUE(waits_are(0));
	EXPECT_EQ(0, slots_missing());
}

TEST_HARNESS_MAIN
