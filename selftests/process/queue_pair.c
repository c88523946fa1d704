// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, KA-02, MC-10: a thread processes an event of an id while another one
 * destroys the queue pair of the id. The verbs of the library come through here:
 * the event is read inside one of them.
 */
#include <dlfcn.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_ioctl.h>

#include "intercept.h"
#include "overlap.h"
#include "process.h"

#define PORT_QP		7694
#define PORT_TEXT	"7694"
#define PORT_NOBODY	7693		/* has no listener */
#define NO_EVENT	-2

#define REJECT		0x72656a	/* a USER event that is made REJECTED */

/* Events that are read while a queue pair and its queues are destroyed */
static struct {
	struct rdma_event_channel *channel;
	struct ibv_qp *qp;
	bool reading;
	int touched;			/* verbs on the queue pair meanwhile */
	int at_qp, at_cq;		/* the events */
	int ret;			/* of ibv_destroy_qp() */
} inside;

#define REAL(fn)	((__typeof__(&fn))dlsym(RTLD_NEXT, #fn))

static void read_one(int *event)
{
	if (*event != NO_EVENT || channel_readable(inside.channel, 0) != 1)
		return;
	inside.reading = true;
	*event = event_take(inside.channel, NULL);
	inside.reading = false;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	int ret;

	if (qp != inside.qp)
		return REAL(ibv_destroy_qp)(qp);
	read_one(&inside.at_qp);
	ret = REAL(ibv_destroy_qp)(qp);
	inside.ret = ret;
	return ret;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (inside.qp)
		read_one(&inside.at_cq);
	return REAL(ibv_destroy_cq)(cq);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	if (inside.reading)
		inside.touched++;
	return REAL(ibv_attach_mcast)(qp, gid, lid);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	if (inside.reading && qp == inside.qp)
		inside.touched++;
	if (overlap.id && attr->qp_state == IBV_QPS_ERR) {
		overlap_begin();
		/* The queue pair is gone. */
		if (!overlap.there)
			return 0;
	}
	return REAL(ibv_modify_qp)(qp, attr, mask);
}

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	struct rdma_cmx_get_events *get = arg;
	struct rdma_cmx_event *ev;
	int ret = ioctl_real(fd, request, arg);

	if (ret || request != RDMA_CMX_IO(GET_EVENTS))
		return ret;
	ev = (void *)(uintptr_t)get->buf;
	if (ev->event == RDMA_CMX_EV_USER && ev->obj_uid == REJECT)
		ev->event = RDMA_CM_EVENT_REJECTED;
	return 0;
}

FIXTURE(queue_pair) {
	struct rdma_event_channel *channel;
};

FIXTURE_SETUP(queue_pair)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
}

FIXTURE_TEARDOWN(queue_pair)
{
	rdma_destroy_event_channel(self->channel);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/* Destroys the queue pair, and has events read meanwhile. */
static void destroy_and_read(struct rdma_cm_id *id)
{
	inside.channel = id->channel;
	inside.qp = id->qp;
	inside.at_qp = NO_EVENT;
	inside.at_cq = NO_EVENT;
	inside.ret = -1;
	rdma_destroy_qp(id);
	inside.qp = NULL;
}

TEST_F(queue_pair, RA_02_reject_while_it_is_destroyed)
{
	struct rdma_cm_id *id = id_ready(self->channel, PORT_NOBODY);

	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, rdma_connect(id, NULL));
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, REJECT));
	destroy_and_read(id);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, inside.at_qp);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, inside.at_cq);
	EXPECT_EQ(0, inside.touched);
	EXPECT_EQ(0, inside.ret);
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(NULL, id->recv_cq);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_F(queue_pair, RA_02_reply_while_it_is_destroyed)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id, *listener, *request;

	ASSERT_NE(NULL, channel);
	listener = id_listening(channel, PORT_QP);
	id = id_ready(self->channel, PORT_QP);
	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, rdma_connect(id, NULL));
	ASSERT_EQ(0, event_wait(channel, &event, WAIT_MS));
	ASSERT_EQ(RDMA_CM_EVENT_CONNECT_REQUEST, event->event);
	request = event->id;
	rdma_ack_cm_event(event);
	ASSERT_EQ(0, qp_make(request, IBV_QPT_RC));
	ASSERT_EQ(0, rdma_accept(request, NULL));
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	destroy_and_read(id);
	/* As for a queue pair of the program's */
	EXPECT_EQ(RDMA_CM_EVENT_CONNECT_RESPONSE, inside.at_qp);
	EXPECT_EQ(0, inside.touched);
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_ep(request);
	EXPECT_EQ(0, rdma_destroy_id(listener));
	rdma_destroy_event_channel(channel);
}

/* The peer may reject what the client takes for established. */
TEST_F(queue_pair, KA_02_reject_while_it_is_destroyed)
{
	struct ibv_qp_init_attr qp = {
		.cap = {
			.max_send_wr = 1, .max_recv_wr = 1,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	const struct rdmacmx_connect_attr attr = { .qp_init_attr = &qp };
	struct server server;
	struct rdma_cm_id *id;

	server_start(&server, PORT_QP);
	id = id_make(self->channel);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, PORT_TEXT, NULL, &attr));
	ASSERT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, REJECT));
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, REJECT));
	destroy_and_read(id);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, inside.at_qp);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, inside.at_cq);
	EXPECT_EQ(0, inside.touched);
	EXPECT_EQ(0, inside.ret);
	EXPECT_EQ(0, rdma_destroy_id(id));
	EXPECT_EQ(0, server_end(&server));
}

/* The other way round: the reader is the first. */
TEST_F(queue_pair, RA_02_destroy_while_a_reject_is_processed)
{
	struct rdma_cm_id *id = id_ready(self->channel, PORT_NOBODY);

	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, rdma_connect(id, NULL));
	overlap_set(id, 0, rdma_destroy_qp);
	EXPECT_EQ(RDMA_CM_EVENT_REJECTED, event_take(self->channel, NULL));
	caller_end(&overlap.caller);
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* A membership joins (again) once the queue pair has left all groups. */
TEST_F(queue_pair, MC_10_join_while_it_is_destroyed)
{
	struct sockaddr_storage group;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, OWN4, 0));
	ASSERT_EQ(0, qp_make(id, IBV_QPT_UD));
	ASSERT_EQ(0, rdma_join_multicast(id, addr_make(&group, "239.55.94.1", 0),
					 NULL));
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	destroy_and_read(id);
	EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, inside.at_qp);
	EXPECT_EQ(0, inside.touched);
	EXPECT_EQ(0, inside.ret);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

static void *leave_run(void *arg)
{
	struct sockaddr_storage group;
	struct rdma_cm_id *id = arg;

	return (void *)(intptr_t)
		rdma_leave_multicast(id, addr_make(&group, "239.55.94.2", 0));
}

/* The membership waits for an ack. Its queue pair has left the group. */
TEST_F(queue_pair, MC_10_destroy_while_a_group_is_left)
{
	struct sockaddr_storage group;
	struct rdma_cm_event *event;
	struct caller leaver;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, OWN4, 0));
	ASSERT_EQ(0, qp_make(id, IBV_QPT_UD));
	ASSERT_EQ(0, rdma_join_multicast(id, addr_make(&group, "239.55.94.2", 0),
					 NULL));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
	caller_start(&leaver, leave_run, id);
	ASSERT_TRUE(caller_sleeps(&leaver, SYS_futex));
	destroy_and_read(id);
	EXPECT_EQ(0, inside.ret);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(NULL, caller_end(&leaver));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST_HARNESS_MAIN
