// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: ids that migrate between channels with their outstanding operations,
 * each option of rdma_set_option() with its effect, and rdma_get_devices().
 */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pair.h"

FIXTURE(ids) {
	struct rdma_event_channel *from;
	struct rdma_event_channel *to;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(ids)
{
	self->from = rdma_create_event_channel();
	self->to = rdma_create_event_channel();
	ASSERT_NE(NULL, self->from);
	ASSERT_NE(NULL, self->to);
	ASSERT_EQ(0, rdma_create_id(self->from, &self->id, self, RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(ids)
{
	if (self->id)
		EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->from);
	rdma_destroy_event_channel(self->to);
}

static int resolve(struct rdma_cm_id *id, const char *dst)
{
	struct sockaddr_storage ss;

	return rdma_resolve_addr(id, NULL, addr_make(&ss, dst, 7471), 30000);
}

TEST_F(ids, RA_02_unread_events_move_along)
{
	ASSERT_EQ(0, resolve(self->id, OWN4));
	ASSERT_EQ(1, channel_readable(self->from, WAIT_MS));
	ASSERT_EQ(0, rdma_migrate_id(self->id, self->to));
	EXPECT_EQ(self->to, self->id->channel);
	EXPECT_EQ(0, channel_readable(self->from, 0));
	EXPECT_EQ(0, event_status(self->to, RDMA_CM_EVENT_ADDR_RESOLVED));
	/* Back to the first channel, with the later events */
	ASSERT_EQ(0, rdma_migrate_id(self->id, self->from));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 30000));
	EXPECT_EQ(0, event_status(self->from, RDMA_CM_EVENT_ROUTE_RESOLVED));
	EXPECT_EQ(0, channel_readable(self->to, 0));
	/* To its current channel */
	EXPECT_EQ(0, rdma_migrate_id(self->id, self->from));
}

struct mover {
	struct rdma_cm_id *id;
	struct rdma_event_channel *to;
	pid_t tid;
	int moved;
	int ret;
};

static void *mover_run(void *arg)
{
	struct mover *m = arg;

	__atomic_store_n(&m->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	m->ret = rdma_migrate_id(m->id, m->to);
	__atomic_store_n(&m->moved, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* A migrate waits until events that were read are acked. */
TEST_F(ids, RA_02_migrate_waits_for_acks)
{
	struct mover m = { .id = self->id, .to = self->to };
	struct rdma_cm_event *event;
	pthread_t thread;

	ASSERT_EQ(0, resolve(self->id, OWN4));
	event = event_want(self->from, RDMA_CM_EVENT_ADDR_RESOLVED);
	ASSERT_NE(NULL, event);
	ASSERT_EQ(0, pthread_create(&thread, NULL, mover_run, &m));
	while (!__atomic_load_n(&m.tid, __ATOMIC_ACQUIRE))
		sched_yield();
	/* The thread sleeps on a futex (system call 202 of x86-64). */
	EXPECT_TRUE(wait_for(WAIT_MS, "grep -q '^202 ' /proc/%d/task/%d/syscall",
			     getpid(), m.tid));
	EXPECT_EQ(0, __atomic_load_n(&m.moved, __ATOMIC_ACQUIRE));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, m.ret);
	ASSERT_EQ(0, rdma_resolve_route(self->id, 30000));
	EXPECT_EQ(0, event_status(self->to, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

TEST_F(ids, RA_02_to_no_channel_and_back)
{
	ASSERT_EQ(0, rdma_migrate_id(self->id, NULL));
	EXPECT_NE(self->from, self->id->channel);
	ASSERT_EQ(0, resolve(self->id, OWN4));
	ASSERT_NE(NULL, self->id->event);
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, self->id->event->event);
	errno = 0;
	EXPECT_EQ(-1, rdma_migrate_id(self->id, NULL));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, rdma_migrate_id(self->id, self->to));
	EXPECT_EQ(NULL, self->id->event);
	ASSERT_EQ(0, rdma_resolve_route(self->id, 30000));
	EXPECT_EQ(0, event_status(self->to, RDMA_CM_EVENT_ROUTE_RESOLVED));
}

#define SET(id, opt, val) \
	rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_##opt, &(val), \
			sizeof(val))

TEST_F(ids, RA_02_option_tos)
{
	uint8_t tos = 0x28;
	int wide = 0x28;

	FAILS(EINVAL, SET(self->id, TOS, wide));
	FAILS(EINVAL, rdma_set_option(self->id, RDMA_OPTION_ID,
				      RDMA_OPTION_ID_TOS, &tos, 0));
	ASSERT_EQ(0, SET(self->id, TOS, tos));
	ASSERT_EQ(0, resolve(self->id, OWN4));
	ASSERT_EQ(0, event_status(self->from, RDMA_CM_EVENT_ADDR_RESOLVED));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 30000));
	ASSERT_EQ(0, event_status(self->from, RDMA_CM_EVENT_ROUTE_RESOLVED));
	ASSERT_LT(0, self->id->route.num_paths);
	EXPECT_EQ(tos, self->id->route.path_rec[0].traffic_class);
}

TEST_F(ids, RA_02_option_reuseaddr)
{
	struct rdma_cm_id *other;
	unsigned int port;
	uint8_t narrow = 1;
	int on = 1;

	FAILS(EINVAL, SET(self->id, REUSEADDR, narrow));
	ASSERT_EQ(0, SET(self->id, REUSEADDR, on));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	port = ntohs(rdma_get_src_port(self->id));
	ASSERT_EQ(0, rdma_create_id(self->from, &other, NULL, RDMA_PS_TCP));
	FAILS(EADDRINUSE, id_bind(other, OWN4, port));
	ASSERT_EQ(0, SET(other, REUSEADDR, on));
	ASSERT_EQ(0, id_bind(other, OWN4, port));
	/* rdma_listen() needs the port exclusively. */
	FAILS(EADDRINUSE, rdma_listen(other, 1));
	EXPECT_EQ(0, rdma_destroy_id(other));
	EXPECT_EQ(0, rdma_listen(self->id, 1));
}

TEST_F(ids, RA_02_option_afonly)
{
	struct rdma_cm_id *other;
	unsigned int port;
	uint8_t narrow = 1;
	int on = 1, off = 0;

	FAILS(EINVAL, SET(self->id, AFONLY, narrow));
	ASSERT_EQ(0, SET(self->id, AFONLY, on));
	ASSERT_EQ(0, id_bind(self->id, "::", 0));
	port = ntohs(rdma_get_src_port(self->id));
	/* The IPv4 side of the port is free. */
	ASSERT_EQ(0, rdma_create_id(self->from, &other, NULL, RDMA_PS_TCP));
	EXPECT_EQ(0, id_bind(other, "0.0.0.0", port));
	EXPECT_EQ(0, rdma_destroy_id(other));
	EXPECT_EQ(0, rdma_destroy_id(self->id));

	ASSERT_EQ(0, rdma_create_id(self->from, &self->id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, SET(self->id, AFONLY, off));
	ASSERT_EQ(0, id_bind(self->id, "::", 0));
	port = ntohs(rdma_get_src_port(self->id));
	ASSERT_EQ(0, rdma_create_id(self->from, &other, NULL, RDMA_PS_TCP));
	FAILS(EADDRNOTAVAIL, id_bind(other, "0.0.0.0", port));
	EXPECT_EQ(0, rdma_destroy_id(other));
}

TEST_F(ids, RA_02_option_ack_timeout)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	uint8_t timeout = 19;
	struct rdma_cm_id *ud;
	int wide = 19;
	struct pair p;

	FAILS(EINVAL, SET(self->id, ACK_TIMEOUT, wide));
	ASSERT_EQ(0, rdma_create_id(self->from, &ud, NULL, RDMA_PS_UDP));
	FAILS(EINVAL, SET(ud, ACK_TIMEOUT, timeout));
	EXPECT_EQ(0, rdma_destroy_id(ud));

	ASSERT_EQ(0, pair_open(&p, RDMA_PS_TCP));
	ASSERT_EQ(0, SET(p.client, ACK_TIMEOUT, timeout));
	ASSERT_EQ(0, pair_connect(&p));
	ASSERT_EQ(0, ibv_query_qp(p.client->qp, &attr, IBV_QP_TIMEOUT, &init));
	EXPECT_EQ(timeout, attr.timeout);
	pair_close(&p);
}

TEST_F(ids, RA_02_option_path)
{
	struct ibv_path_data path = { .flags = IBV_PATH_FLAG_GMP };

	/* No device yet; incomplete records; no usable record */
	path.flags |= IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	FAILS(EINVAL, rdma_set_option(self->id, RDMA_OPTION_IB,
				      RDMA_OPTION_IB_PATH, &path,
				      sizeof(path)));
	ASSERT_EQ(0, resolve(self->id, OWN4));
	ASSERT_EQ(0, event_status(self->from, RDMA_CM_EVENT_ADDR_RESOLVED));
	FAILS(EINVAL, rdma_set_option(self->id, RDMA_OPTION_IB,
				      RDMA_OPTION_IB_PATH, &path,
				      sizeof(path) - 8));
	path.flags = IBV_PATH_FLAG_GMP;
	FAILS(EINVAL, rdma_set_option(self->id, RDMA_OPTION_IB,
				      RDMA_OPTION_IB_PATH, &path,
				      sizeof(path)));
	EXPECT_EQ(0, channel_readable(self->from, 0));
}

TEST_F(ids, RA_02_unknown_options)
{
	int val = 1;

	FAILS(ENOSYS, rdma_set_option(self->id, 17, 0, &val, sizeof(val)));
	FAILS(ENOSYS, rdma_set_option(self->id, RDMA_OPTION_ID, 17, &val,
				      sizeof(val)));
	FAILS(ENOSYS, rdma_set_option(self->id, RDMA_OPTION_IB, 17, &val,
				      sizeof(val)));
	FAILS(EFAULT, rdma_set_option(self->id, RDMA_OPTION_ID,
				      RDMA_OPTION_ID_REUSEADDR, (void *)8,
				      sizeof(val)));
}

TEST_F(ids, RA_02_devices)
{
	struct ibv_context **list, **again;
	int count = -1, more = -1, i;

	list = rdma_get_devices(&count);
	ASSERT_NE(NULL, list);
	ASSERT_LT(0, count);
	EXPECT_EQ(NULL, list[count]);
	again = rdma_get_devices(&more);
	ASSERT_NE(NULL, again);
	EXPECT_EQ(count, more);
	for (i = 0; i < count; i++)
		EXPECT_EQ(list[i], again[i]);
	rdma_free_devices(again);
	/* Ids use the same contexts, so objects of both can be combined. */
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	for (i = 0; i < count && list[i] != self->id->verbs; i++)
		;
	EXPECT_LT(i, count);
	rdma_free_devices(list);
	list = rdma_get_devices(NULL);
	EXPECT_NE(NULL, list);
	rdma_free_devices(list);
}

/* Events of a destroyed id are dropped. The destroy waits for read ones. */
TEST_F(ids, RA_02_destroy_with_an_unread_event)
{
	ASSERT_EQ(0, resolve(self->id, OWN4));
	ASSERT_EQ(1, channel_readable(self->from, WAIT_MS));
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	self->id = NULL;
	EXPECT_EQ(0, channel_readable(self->from, 0));
}

TEST_HARNESS_MAIN
