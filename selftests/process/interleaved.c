// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, KA-02: a thread destroys, disconnects or moves an id while another one
 * is in a call on it, or processes its event.
 */
#include "process.h"
#include "interleaved.h"

TEST_F(interleaved, RA_02_destroy_in_resolve_addr)
{
	OVERTAKEN(self->id, RESOLVE_ADDR,
		  rdma_resolve_addr(self->id, NULL, ADDR(self), 30000));
}

TEST_F(interleaved, RA_02_destroy_in_resolve_route)
{
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL, ADDR(self), 30000));
	OVERTAKEN(self->id, RESOLVE_ROUTE, rdma_resolve_route(self->id, 30000));
}

TEST_F(interleaved, RAI_07_destroy_in_resolve_addrinfo)
{
	OVERTAKEN(self->id, RESOLVE_ADDRINFO,
		  rdma_resolve_addrinfo(self->id, OWN4, PORT_TEXT, NULL));
}

TEST_F(interleaved, KA_02_destroy_in_connect_name)
{
	OVERTAKEN(self->id, RESOLVE_ADDRINFO,
		  rdmacmx_connect_name(self->id, OWN4, PORT_TEXT, NULL,
				       &self->attr));
}

TEST_F(interleaved, RA_02_destroy_in_connect)
{
	addr_make(&self->ss, OWN4, PORT_NOBODY);
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	OVERTAKEN(self->id, CONNECT, rdma_connect(self->id, NULL));
	EXPECT_NE(NULL, overlap.qp);
}

TEST_F(interleaved, RA_02_destroy_in_disconnect)
{
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	ASSERT_EQ(0, rdma_connect(self->id, NULL));
	OVERTAKEN(self->id, DISCONNECT, rdma_disconnect(self->id));
	EXPECT_NE(NULL, overlap.qp);
}

/* The thread that connects prepares the queue pair for the peer's reply. */
TEST_F(interleaved, RA_02_destroy_while_the_reply_is_processed)
{
	ASSERT_EQ(0, id_route(self->id, ADDR(self)));
	OVERTAKEN(self->id, CONN_QP_ATTR, rdma_connect(self->id, NULL));
	EXPECT_NE(NULL, overlap.qp);
}

TEST_F(interleaved, KA_02_destroy_while_the_reply_is_processed)
{
	OVERTAKEN(self->id, CONN_QP_ATTR,
		  rdmacmx_connect_name(self->id, OWN4, PORT_TEXT, NULL,
				       &self->attr));
	EXPECT_NE(NULL, overlap.qp);
}

/* The second join finds the id whole, and that it is being destroyed. */
TEST_F(interleaved, MC_10_destroy_in_join_many)
{
	struct sockaddr_storage group[2];
	struct rdmacmx_join_attr attr[2] = {};
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < 2; i++)
		attr[i].addr = addr_make(&group[i], i ? "239.55.9.2" :
							"239.55.9.1", 0);
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, rdma_resolve_addr(id, NULL, ADDR(self), 30000));
	/* JOIN holds the lock that destroying takes; then it reads its event. */
	overlap_set(id, RDMA_CMX_IO(GET_EVENTS), rdma_destroy_ep);
	slow = true;
	EXPECT_EQ(0, rdmacmx_join_many(id, attr, 2));
	slow = false;
	EXPECT_EQ(ECANCELED, attr[0].error);
	EXPECT_EQ(ECANCELED, attr[1].error);
	ASSERT_EQ(0, command);
	caller_end(&overlap.caller);
	EXPECT_TRUE(overlap.there);
	rdma_destroy_ep(self->id);
}

TEST_F(interleaved, RA_02_destroy_in_accept)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *request, *client;

	ASSERT_NE(NULL, channel);
	listener = id_listening(NULL, PORT_INTER + 1);
	client = id_ready(channel, PORT_INTER + 1);
	ASSERT_NE(NULL, client);
	ASSERT_EQ(0, rdma_connect(client, NULL));
	ASSERT_EQ(0, rdma_get_request(listener, &request));
	ASSERT_EQ(0, qp_make(request, IBV_QPT_RC));
	OVERTAKEN(request, ACCEPT, rdma_accept(request, NULL));
	EXPECT_NE(NULL, overlap.qp);
	rdma_destroy_ep(client);
	rdma_destroy_ep(listener);
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

/*
 * The same on a channel: until the connection is established the queue pair is
 * none of the program's.
 */
TEST_F(interleaved, KA_02_destroy_of_a_queue_pair_that_connects)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	overlap_set(id, RDMA_CMX_IO(CONN_QP_ATTR), rdma_destroy_qp);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, PORT_TEXT, NULL,
					  &self->attr));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(channel, NULL));
	caller_end(&overlap.caller);
	EXPECT_TRUE(overlap.there);
	EXPECT_NE(NULL, overlap.qp);
	/* It became the program's meanwhile. */
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(0, rdma_destroy_id(id));

	/* Between two events it stays, and goes with the id. */
	id = id_make(channel);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, NOBODY_TEXT, NULL,
					  &self->attr));
	while (!id->qp && channel_readable(channel, WAIT_MS) == 1) {
		rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0);
		event_take(channel, NULL);
	}
	rdma_destroy_qp(id);
	EXPECT_NE(NULL, id->qp);
	rdma_destroy_ep(id);
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

static int disconnected;		/* the errno */

static void disconnect(struct rdma_cm_id *id)
{
	disconnected = rdma_disconnect(id) ? errno : 0;
}

/*
 * While a thread works on a connect by name another one waits. It is refused,
 * unless the connection is established then.
 */
TEST_F(interleaved, KA_02_disconnect_while_it_connects)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;

	ASSERT_NE(NULL, channel);
	id = id_make(channel);
	overlap_set(id, RDMA_CMX_IO(CONNECT), disconnect);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, PORT_TEXT, NULL,
					  &self->attr));
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(channel, NULL));
	ASSERT_EQ(0, command);
	caller_end(&overlap.caller);
	EXPECT_TRUE(overlap.there);
	EXPECT_TRUE(!disconnected || disconnected == EINVAL);
	rdma_destroy_ep(id);
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

/* As id_ready(), by name: the program creates the queue pair, and connects. */
static struct rdma_cm_id *id_ready_by_name(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = id_make(channel);

	if (!rdmacmx_connect_name(id, OWN4, PORT_TEXT, NULL, NULL) &&
	    event_take(channel, NULL) == RDMA_CM_EVENT_ROUTE_RESOLVED &&
	    !qp_make(id, IBV_QPT_RC))
		return id;
	rdma_destroy_ep(id);
	return NULL;
}

/* The reader has the reply, which is no step of another id with its handle. */
static void destroy_when_read(struct __test_metadata *_metadata,
			      FIXTURE_DATA(interleaved) *self, bool named)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_comp_channel *comp;
	struct rdma_cm_id *id;
	struct ibv_cq *cq[2];
	struct ibv_qp *qp;
	int i;

	ASSERT_NE(NULL, channel);
	self->server.leaves = true;
	/* Holds the device, too. */
	ASSERT_EQ(0, rdma_migrate_id(self->id, channel));
	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	id = named ? id_ready_by_name(channel) : id_ready(channel, PORT_INTER);
	ASSERT_NE(NULL, id);
	qp = id->qp;
	cq[0] = id->send_cq;
	cq[1] = id->recv_cq;
	ASSERT_EQ(0, rdma_connect(id, NULL));
	ASSERT_EQ(1, channel_readable(channel, WAIT_MS));
	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, 0, 0));
	overlap_set(id, RDMA_CMX_IO(GET_EVENTS), overlap_destroy_id);
	steps = 0;
	EXPECT_EQ(RDMA_CM_EVENT_USER, event_take(channel, NULL));
	caller_end(&overlap.caller);
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(0, steps);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	for (i = 0; i < 2; i++) {
		comp = cq[i]->channel;
		EXPECT_EQ(0, ibv_destroy_cq(cq[i]));
		EXPECT_EQ(0, ibv_destroy_comp_channel(comp));
	}
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(channel);
}

TEST_F(interleaved, RA_02_destroy_when_the_reply_is_read)
{
	destroy_when_read(_metadata, self, false);
}

TEST_F(interleaved, KA_02_destroy_when_the_reply_is_read)
{
	destroy_when_read(_metadata, self, true);
}

static struct rdma_event_channel *elsewhere;

static void migrate(struct rdma_cm_id *id)
{
	if (rdma_migrate_id(id, elsewhere))
		abort();
}

/* All steps of the reply use one handle. Elsewhere it is another id's. */
TEST_F(interleaved, RA_02_migrate_while_the_reply_is_processed)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id, *other;

	elsewhere = rdma_create_event_channel();
	ASSERT_NE(NULL, elsewhere);
	ASSERT_NE(NULL, channel);
	other = id_make(elsewhere);
	id = id_ready(channel, PORT_INTER);
	ASSERT_NE(NULL, id);
	ASSERT_EQ(0, rdma_connect(id, NULL));
	overlap_set(id, RDMA_CMX_IO(CONN_QP_ATTR), migrate);
	EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event_take(channel, NULL));
	ASSERT_EQ(0, command);
	caller_end(&overlap.caller);
	EXPECT_TRUE(overlap.there);
	EXPECT_EQ(elsewhere, id->channel);
	rdma_destroy_ep(id);
	rdma_destroy_ep(other);
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
	rdma_destroy_event_channel(elsewhere);
}

static void *late_reader(void *arg)
{
	return (void *)(intptr_t)event_take(arg, NULL);
}

/* Nothing comes after the last event. */
TEST_F(interleaved, KA_02_failure_is_read_before_the_removal)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id;
	pthread_t thread;
	void *event;

	ASSERT_NE(NULL, channel);
	sem_init(&late.read, 0, 0);
	sem_init(&late.removed, 0, 0);
	late.armed = true;
	id = id_make(channel);
	ASSERT_EQ(0, rdmacmx_connect_name(id, OWN4, NOBODY_TEXT, NULL,
					  &self->attr));
	ASSERT_EQ(0, pthread_create(&thread, NULL, late_reader, channel));
	sem_wait(&late.read);
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0,
					 MADE(RDMA_CM_EVENT_DEVICE_REMOVAL)));
	EXPECT_EQ(RDMA_CM_EVENT_DEVICE_REMOVAL, event_take(channel, NULL));
	sem_post(&late.removed);
	ASSERT_EQ(0, rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0));
	pthread_join(thread, &event);
	EXPECT_EQ(RDMA_CM_EVENT_USER, (intptr_t)event);
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_ep(self->id);
	rdma_destroy_event_channel(channel);
}

/* As a child that reads the channel of an inherited id */
TEST_F(interleaved, RA_02_destroy_while_another_process_takes_the_event)
{
	struct rdma_cm_id *listener = id_listening(NULL, PORT_INTER + 1);
	pthread_t thread;
	void *err;

	sem_init(&thief.waits, 0, 0);
	sem_init(&thief.taken, 0, 0);
	rdma_destroy_ep(self->id);
	thief.armed = true;
	ASSERT_EQ(0, pthread_create(&thread, NULL, request_wait, listener));
	sem_wait(&thief.waits);
	EXPECT_EQ(0, rdma_destroy_id(listener));
	pthread_join(thread, &err);
	EXPECT_EQ(ECANCELED, (intptr_t)err);
	EXPECT_FALSE(thief.armed);
}

static void look_up(struct rdma_cm_id *id)
{
	struct rdma_addrinfo *res;

	if (rdma_getaddrinfo(OWN4, PORT_TEXT, NULL, &res))
		abort();
	rdma_freeaddrinfo(res);
}

/* The program has closed the file; two threads see it at a time. */
TEST_F(interleaved, GAI_13_file_is_opened_again_once)
{
	int fds;

	rdma_destroy_ep(self->id);
	look_up(NULL);
	fds = fds_open();
	ASSERT_EQ(0, close(shared_fd));
	overlap_set(NULL, RDMA_CMX_IO(GETADDRINFO), look_up);
	look_up(NULL);
	ASSERT_EQ(0, command);
	caller_end(&overlap.caller);
	EXPECT_FALSE(overlap.there);
	EXPECT_EQ(fds, fds_open());
	EXPECT_EQ(0, close(shared_fd));
}

TEST_HARNESS_MAIN
