// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults in work items: the n-th allocation of each kernel worker fails. In any
 * case the operation ends with an event in time, with success or ENOMEM, and
 * works again afterwards. Other users of the workers have faults, too, so that
 * the error can be theirs.
 */
#include "uapi.h"
#include "work.h"

#define ROUNDS_EVENTS	15

FIXTURE(work) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(work)
{
	ASSERT_EQ(0, system("modprobe cmx_consumer"));
	self->fd = consumer_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(work)
{
	close(self->fd);
	EXPECT_EQ(0, system("rmmod cmx_consumer"));
}

/* A name that no cache knows, by the name helper */
TEST_F_TIMEOUT(work, KA_01_names, SWEEP_LIMIT)
{
	WORK_SWEEP("start work%d.any.cmx.test 1 timeout=60000", "wait", NULL);
}

/* An id of rdma_ucmx: each step ends with its event. */
TEST_F_TIMEOUT(work, events, SWEEP_LIMIT)
{
	union event_buf buf;
	int fd = dev_open(O_NONBLOCK), n, hits = 0;
	uint32_t id;

	for (n = 1; n <= ROUNDS_EVENTS; n++) {
		ASSERT_EQ(0, id_create(fd, RDMA_PS_TCP, 1, &id));
		workers_arm(n);
		ASSERT_EQ(0, id_resolve_addr(fd, id, NULL, ADDR_RDMA, 4791));
		EXPECT_EQ(0, event_next(fd, &buf));
		if (buf.ev.event == EV_ADDR_RESOLVED) {
			ASSERT_EQ(0, id_resolve_route(fd, id));
			EXPECT_EQ(0, event_next(fd, &buf));
		}
		hits += workers_hit();
		EXPECT_FALSE(event_pending(fd));
		EXPECT_LE(0, id_destroy(fd, id));
	}
	TH_LOG("%d faults", hits);
	close(fd);
	EXPECT_TRUE(nothing_left());
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
