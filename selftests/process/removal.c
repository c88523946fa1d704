// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * OPS-04: an RDMA device is removed and returns. A process that continues keeps
 * no descriptor: the library closes them with the last id of the device. The
 * removal waits for that, since rxe's verbs devices last until they are closed.
 */
#include "process.h"

#define DEVICE	"rxe0"

#define REMOVED	"/run/removal_status"

/* Not by a child, which would have the verbs device open, too */
static void device_remove(void)
{
	run("rm -f " REMOVED "; (timeout 60 rdma link del " DEVICE
	    "; echo $? >" REMOVED ") &");
}

static bool device_back(void)
{
	run("test -e /sys/class/infiniband/" DEVICE
	    " || timeout 30 rdma link add " DEVICE " type rxe netdev " ETH);
	return wait_for(WAIT_MS, "rdma link show " DEVICE
			"/1 | grep -q 'state ACTIVE'");
}

TEST(OPS_04_a_device_that_was_removed_is_closed)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	int round, fds;

	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	fds = fds_open();
	for (round = 0; round < 3; round++) {
		id = id_make(channel);
		ASSERT_EQ(0, id_bind(id, OWN4, 0));
		EXPECT_LT(fds, fds_open());
		device_remove();
		EXPECT_EQ(RDMA_CM_EVENT_DEVICE_REMOVAL,
			  event_take(channel, NULL));
		EXPECT_EQ(0, rdma_destroy_id(id));
		EXPECT_EQ(fds, fds_open());
		EXPECT_TRUE(wait_for(WAIT_MS, "grep -qx 0 " REMOVED));
		ASSERT_TRUE(device_back());
	}
	rdma_destroy_event_channel(channel);
	run("rm -f " REMOVED);
}

TEST_HARNESS_MAIN
