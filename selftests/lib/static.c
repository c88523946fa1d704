// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-03: the static library. Each test is the first use of the library in its
 * process, and starts with an id, not with a channel.
 */
#include <pthread.h>
#include <rdma/rsocket.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "process.h"

#define STATIC_PORT	7603

/* The channel outlives the id, which the test has to destroy. */
TEST(RA_03_first_id_is_destroyed)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *next;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_migrate_id(id, channel));
	ASSERT_EQ(0, id_bind(id, OWN4, STATIC_PORT));
	EXPECT_EQ(0, rdma_destroy_id(id));

	ASSERT_EQ(0, rdma_create_id(channel, &next, NULL, RDMA_PS_TCP));
	EXPECT_EQ(0, id_bind(next, OWN4, STATIC_PORT)) {
		TH_LOG("%m");
	}
	EXPECT_EQ(0, rdma_destroy_id(next));
	rdma_destroy_event_channel(channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/* Destroys the id when the main thread waits for an event in the kernel. */
static void *destroyer(void *arg)
{
	if (!thread_sleeps(getpid(), SYS_ioctl))
		return (void *)-2;
	return (void *)(intptr_t)rdma_destroy_id(arg);
}

TEST(RA_03_first_id_is_destroyed_while_it_waits)
{
	struct rdma_cm_id *id, *request;
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, id_bind(id, OWN4, STATIC_PORT));
	ASSERT_EQ(0, rdma_listen(id, 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, destroyer, id));
	errno = 0;
	EXPECT_EQ(-1, rdma_get_request(id, &request));
	EXPECT_EQ(ECANCELED, errno);
	pthread_join(thread, &ret);
	EXPECT_EQ(NULL, ret);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/* The stock library cannot be loaded, and can later. */
TEST(RA_03_rsocket_after_a_failure)
{
	int fd;

	fds_limit();
	errno = 0;
	EXPECT_EQ(-1, rsocket(AF_INET, SOCK_STREAM, 0));
	EXPECT_EQ(ENOSYS, errno);
	fds_unlimit();
	fd = rsocket(AF_INET, SOCK_STREAM, 0);
	EXPECT_LE(0, fd) {
		TH_LOG("%m");
	}
	EXPECT_EQ(0, rclose(fd));
}

TEST_HARNESS_MAIN
