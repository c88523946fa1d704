// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: a thread reads the event of an id and destroys the id, while the call
 * that caused the event returns in another thread. The call must not use the id
 * any more. The library calls this program's ioctl() in place of libc's; it
 * returns when the id is destroyed and its memory is reused, or when a freed
 * event was acked once more.
 */
#include <malloc.h>
#include <pthread.h>

#include "api.h"
#include "intercept.h"
#include <rdma/rdma_cmx_ioctl.h>

#define PATTERN	0xaa

/* One id at a time; the thread that destroys it ends before ioctl() returns. */
static struct {
	unsigned long command;		/* destroy after it; 0: none */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	unsigned char *memory;		/* the memory of the id */
	size_t size;
	int event;
	int ret;
} victim;

/* An acked event; the next event may have its memory. */
static struct {
	struct rdma_cm_event *event;	/* NULL: none */
	int ret;
	int err;
} acked;

static void *acker(void *arg)
{
	acked.ret = rdma_ack_cm_event(acked.event);
	acked.err = errno;
	return NULL;
}

static void *destroyer(void *arg)
{
	struct rdma_cm_event *event;
	void *other;
	int tries;

	victim.ret = -1;
	if (event_wait(victim.channel, &event, WAIT_MS))
		return NULL;
	victim.event = event->event;
	rdma_ack_cm_event(event);
	victim.size = malloc_usable_size(victim.id);
	if (victim.id->qp)
		rdma_destroy_qp(victim.id);
	victim.ret = rdma_destroy_id(victim.id);
	/* The allocator returns the same memory soon, if not at once. */
	for (tries = 0; tries < 64; tries++) {
		other = malloc(victim.size);
		if (!other)
			break;
		memset(other, PATTERN, victim.size);
		if (other == victim.id) {
			victim.memory = other;
			break;
		}
	}
	return NULL;
}

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	pthread_t thread;
	int ret;

	if (acked.event && request == RDMA_CMX_IO(GET_EVENTS)) {
		if (!pthread_create(&thread, NULL, acker, NULL))
			pthread_join(thread, NULL);
		acked.event = NULL;
	}
	ret = ioctl_real(fd, request, arg);
	if (ret || !victim.command || request != victim.command)
		return ret;
	victim.command = 0;
	if (!pthread_create(&thread, NULL, destroyer, NULL))
		pthread_join(thread, NULL);
	return ret;
}

FIXTURE(destroyed) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(destroyed)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(destroyed)
{
	rdma_destroy_event_channel(self->channel);
}

static void victim_set(FIXTURE_DATA(destroyed) *self, unsigned long command)
{
	victim.channel = self->channel;
	victim.id = self->id;
	victim.command = command;
}

static void victim_check(struct __test_metadata *_metadata, int event)
{
	size_t i;

	EXPECT_EQ(event, victim.event);
	EXPECT_EQ(0, victim.ret);
	ASSERT_NE(NULL, victim.memory);
	for (i = 0; i < victim.size && victim.memory[i] == PATTERN; i++)
		;
	EXPECT_EQ(victim.size, i);
}

TEST_F(destroyed, RA_02_when_its_address_is_resolved)
{
	struct sockaddr_storage ss;

	victim_set(self, RDMA_CMX_IO(RESOLVE_ADDR));
	EXPECT_EQ(0, rdma_resolve_addr(self->id, NULL,
				       addr_make(&ss, OWN4, 1), 30000));
	victim_check(_metadata, RDMA_CM_EVENT_ADDR_RESOLVED);
}

TEST_F(destroyed, RA_02_when_its_route_is_resolved)
{
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, OWN4, 1, NULL));
	victim_set(self, RDMA_CMX_IO(RESOLVE_ROUTE));
	EXPECT_EQ(0, rdma_resolve_route(self->id, 30000));
	victim_check(_metadata, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

TEST_F(destroyed, RA_02_when_it_is_rejected)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, OWN4, 1, NULL));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 30000));
	ASSERT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_create_qp(self->id, NULL, &attr));
	victim_set(self, RDMA_CMX_IO(CONNECT));
	EXPECT_EQ(0, rdma_connect(self->id, NULL));
	victim_check(_metadata, RDMA_CM_EVENT_REJECTED);
}

TEST_F(destroyed, RA_02_event_that_is_acked_again_while_the_next_is_read)
{
	struct rdma_cm_event *first, *second;
	int i;

	for (i = 1; i <= 2; i++)
		ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER,
						 0, i));
	ASSERT_EQ(0, event_wait(self->channel, &first, WAIT_MS));
	EXPECT_EQ(1, first->param.arg);
	ASSERT_EQ(0, rdma_ack_cm_event(first));

	acked.ret = 1;
	acked.event = first;
	ASSERT_EQ(0, event_wait(self->channel, &second, WAIT_MS));
	/* The ack came before the second event had this memory. */
	EXPECT_EQ(first, second);
	EXPECT_EQ(-1, acked.ret);
	EXPECT_EQ(EINVAL, acked.err);
	EXPECT_EQ(self->id, second->id);
	EXPECT_EQ(RDMA_CM_EVENT_USER, second->event);
	EXPECT_EQ(2, second->param.arg);
	EXPECT_EQ(0, rdma_ack_cm_event(second));
	errno = 0;
	EXPECT_EQ(-1, rdma_ack_cm_event(second));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, rdma_destroy_id(self->id));
}

TEST_HARNESS_MAIN
