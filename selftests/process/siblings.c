// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* RA-02: two children of an exited parent, which share its objects. */
#include "heirs.h"
#include "process.h"

#define PORT_SIBLINGS	7625

/* Ids of a channel that have other handles than a destroyed one (abi.rst) */
#define OTHER_HANDLES	4095

/* The next id gets the handle of the last one that was destroyed. */
static bool handles_use(struct rdma_event_channel *channel)
{
	int i;

	for (i = 0; i < OTHER_HANDLES; i++)
		if (rdma_destroy_id(id_make(channel)))
			return false;
	return true;
}

/* The first child lets the second one go on, and waits for it. */
static bool other_goes_on(struct heirs *h)
{
	char c = 0;

	return write(h->other[1], &c, 1) == 1 && read(h->back[0], &c, 1) == 1;
}

/*
 * One child destroys its copy and creates an id, which gets the same handle or
 * the next one of its place. The copy of the other child is of the destroyed id.
 */
static bool same_handle;

static int first_child(struct heirs *h)
{
	struct rdma_event_channel *channel = h->channel;
	struct rdma_cm_id *id;

	if (!parent_gone(h) || rdma_destroy_id(h->id))
		return __LINE__;
	if (same_handle && !handles_use(channel))
		return __LINE__;
	id = id_make(channel);
	if (id_bind(id, OWN4, PORT_SIBLINGS) || !other_goes_on(h))
		return __LINE__;
	/* The id exists, and its port is free. */
	if (rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 1) ||
	    event_take(channel, NULL) != RDMA_CM_EVENT_USER)
		return __LINE__;
	return rdma_destroy_id(id) ? __LINE__ : 0;
}

static int second_child(struct heirs *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask, err;
	char c;

	if (read(h->other[0], &c, 1) != 1)
		return __LINE__;
	/* Not the attributes of the other id */
	err = rdma_init_qp_attr(h->id, &attr, &mask) ? errno : 0;
	if (!same_handle && (!rdma_listen(h->id, 1) || errno != ENOENT))
		return __LINE__;
	if (rdma_destroy_id(h->id))
		return __LINE__;
	if (write(h->back[1], &c, 1) != 1)
		return __LINE__;
	return err == ENOENT ? 0 : __LINE__;
}

static int leave_siblings_behind(struct heirs *h)
{
	h->channel = rdma_create_event_channel();
	if (!h->channel)
		return 1;
	h->id = id_make(h->channel);
	return heir_fork(h, first_child) && heir_fork(h, second_child) ? 0 : 2;
}

TEST(RA_02_copy_of_an_id_whose_place_is_used_again)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, leave_siblings_behind);
	heirs_end(_metadata, &h, 2);
}

TEST(RA_02_copy_of_an_id_whose_handle_is_used_again)
{
	struct heirs h;

	NEED_PIDFD();
	same_handle = true;
	heirs_start(_metadata, &h, leave_siblings_behind);
	heirs_end(_metadata, &h, 2);
	same_handle = false;
}

#define FIRST_GROUP	"239.55.62.1"
#define SECOND_GROUP	"239.55.62.2"

/*
 * The parent destroys an id and leaves a group, and creates others, which get
 * the same handles. The first child has copies of the destroyed objects, the
 * second of the later ones: they have one owner.
 */
static struct rdma_cm_id *member;	/* in both groups, one by one */
static struct rdma_cm_id *fresh;	/* has the handle of heirs.id */

static int group_join(struct rdma_cm_id *id, const char *group)
{
	struct sockaddr_storage ss;

	return rdma_join_multicast(id, addr_make(&ss, group, 0), NULL) ||
	       event_take(id->channel, NULL) != RDMA_CM_EVENT_MULTICAST_JOIN;
}

static int group_leave(struct rdma_cm_id *id, const char *group)
{
	struct sockaddr_storage ss;

	return rdma_leave_multicast(id, addr_make(&ss, group, 0));
}

static int stale_child(struct heirs *h)
{
	char c = 0;

	if (!parent_gone(h))
		return __LINE__;
	group_leave(member, FIRST_GROUP);
	if (rdma_destroy_id(h->id))
		return __LINE__;
	return write(h->other[1], &c, 1) == 1 ? 0 : __LINE__;
}

static int fresh_child(struct heirs *h)
{
	char c;

	if (read(h->other[0], &c, 1) != 1)
		return __LINE__;
	if (rdma_write_cm_event(fresh, RDMA_CM_EVENT_USER, 0, 1) ||
	    event_take(h->channel, NULL) != RDMA_CM_EVENT_USER)
		return __LINE__;
	return group_leave(member, SECOND_GROUP) ? __LINE__ : 0;
}

static int leave_one_owner_behind(struct heirs *h)
{
	h->channel = rdma_create_event_channel();
	if (!h->channel ||
	    rdma_create_id(h->channel, &member, NULL, RDMA_PS_UDP) ||
	    id_bind(member, OWN4, 0) || group_join(member, FIRST_GROUP))
		return 1;
	h->id = id_make(h->channel);
	if (!heir_fork(h, stale_child) || rdma_destroy_id(h->id) ||
	    group_leave(member, FIRST_GROUP) || !handles_use(h->channel))
		return 2;
	fresh = id_make(h->channel);
	if (group_join(member, SECOND_GROUP) || !heir_fork(h, fresh_child))
		return 3;
	return 0;
}

TEST(RA_02_stale_copy_of_what_one_owner_had)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, leave_one_owner_behind);
	heirs_end(_metadata, &h, 2);
}

/*
 * Both children destroy their copies of an endpoint. The first one creates
 * another, whose queues get the numbers of the destroyed ones.
 */
static int first_heir(struct heirs *h)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct rdma_cm_id *id;
	uint32_t handle;

	if (!parent_gone(h))
		return __LINE__;
	handle = h->id->qp->handle;
	rdma_destroy_ep(h->id);
	id = id_make(h->channel);
	if (id_bind(id, OWN4, 0) || qp_make(id, IBV_QPT_RC) ||
	    id->qp->handle != handle)
		return __LINE__;
	if (!other_goes_on(h))
		return __LINE__;
	if (ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init))
		return __LINE__;
	rdma_destroy_ep(id);
	return 0;
}

static int second_heir(struct heirs *h)
{
	char c;

	if (read(h->other[0], &c, 1) != 1)
		return __LINE__;
	rdma_destroy_ep(h->id);
	return write(h->back[1], &c, 1) == 1 ? 0 : __LINE__;
}

static int leave_endpoint_behind(struct heirs *h)
{
	static struct rdma_cm_id *keeper;

	h->channel = rdma_create_event_channel();
	if (!h->channel)
		return 1;
	/* Keeps the device. */
	keeper = id_make(h->channel);
	h->id = id_make(h->channel);
	if (id_bind(keeper, OWN4, 0) || id_bind(h->id, OWN4, 0) ||
	    qp_make(h->id, IBV_QPT_RC))
		return 2;
	return heir_fork(h, first_heir) && heir_fork(h, second_heir) ? 0 : 3;
}

TEST(RA_02_copy_of_an_endpoint_whose_numbers_are_used_again)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, leave_endpoint_behind);
	heirs_end(_metadata, &h, 2);
}

#define PORT_REQUESTS	7626

/*
 * The parent has read a connection request, which nobody has accepted, and has
 * destroyed it. The next request gets its handle, and its queue pair the
 * numbers of the destroyed one. The first child has a copy of the former
 * request, the second of the later one, which the parent has accepted.
 */
static struct rdma_cm_id *listener, *client;

/* A connection request with a queue pair, or NULL */
static struct rdma_cm_id *request_read(struct rdma_event_channel *channel,
				       struct rdma_event_channel *clients)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	client = id_ready(clients, PORT_REQUESTS);
	if (!client || rdma_connect(client, NULL) ||
	    event_wait(channel, &event, WAIT_MS))
		return NULL;
	id = event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? event->id : NULL;
	rdma_ack_cm_event(event);
	return id && !qp_make(id, IBV_QPT_RC) ? id : NULL;
}

static int stale_request(struct heirs *h)
{
	char c = 0;

	if (!parent_gone(h))
		return __LINE__;
	rdma_destroy_ep(h->id);
	return write(h->other[1], &c, 1) == 1 ? 0 : __LINE__;
}

static int accepted_request(struct heirs *h)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	char c;

	if (read(h->other[0], &c, 1) != 1)
		return __LINE__;
	if (rdma_write_cm_event(fresh, RDMA_CM_EVENT_USER, 0, 1) ||
	    event_take(h->channel, NULL) != RDMA_CM_EVENT_USER)
		return __LINE__;
	if (ibv_query_qp(fresh->qp, &attr, IBV_QP_STATE, &init))
		return __LINE__;
	/* It destroys the connection and its queues itself. */
	rdma_destroy_ep(fresh);
	return 0;
}

static int leave_requests_behind(struct heirs *h)
{
	struct rdma_event_channel *clients = rdma_create_event_channel();
	uint32_t handle;

	h->channel = rdma_create_event_channel();
	if (!clients || !h->channel)
		return 1;
	listener = id_listening(h->channel, PORT_REQUESTS);
	h->id = request_read(h->channel, clients);
	if (!h->id)
		return 2;
	handle = h->id->qp->handle;
	if (!heir_fork(h, stale_request) || rdma_reject(h->id, NULL, 0) ||
	    event_take(clients, NULL) != RDMA_CM_EVENT_REJECTED)
		return 3;
	rdma_destroy_ep(h->id);
	rdma_destroy_ep(client);
	if (!handles_use(h->channel))
		return 4;
	fresh = request_read(h->channel, clients);
	if (!fresh || fresh->qp->handle != handle)
		return 5;
	if (rdma_accept(fresh, NULL) ||
	    event_take(clients, NULL) != RDMA_CM_EVENT_ESTABLISHED ||
	    event_take(h->channel, NULL) != RDMA_CM_EVENT_ESTABLISHED)
		return 6;
	return heir_fork(h, accepted_request) ? 0 : 7;
}

TEST(RA_02_stale_copy_of_a_request_that_nobody_has_accepted)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, leave_requests_behind);
	heirs_end(_metadata, &h, 2);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/*
 * The parent has accepted a request, and has destroyed the connection. The next
 * id has its handle. The child has a copy of the connection.
 */
static int stale_connection(struct heirs *h)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	if (!parent_gone(h))
		return __LINE__;
	/* Not the attributes of the other id */
	return rdma_init_qp_attr(h->id, &attr, &mask) && errno == ENOENT ?
	       0 : __LINE__;
}

static int leave_connection_behind(struct heirs *h)
{
	struct rdma_event_channel *clients = rdma_create_event_channel();

	h->channel = rdma_create_event_channel();
	if (!clients || !h->channel)
		return 1;
	listener = id_listening(h->channel, PORT_REQUESTS);
	h->id = request_read(h->channel, clients);
	if (!h->id || rdma_accept(h->id, NULL) ||
	    event_take(clients, NULL) != RDMA_CM_EVENT_ESTABLISHED ||
	    event_take(h->channel, NULL) != RDMA_CM_EVENT_ESTABLISHED)
		return 2;
	if (!heir_fork(h, stale_connection))
		return 3;
	rdma_destroy_ep(h->id);
	rdma_destroy_ep(client);
	if (!handles_use(h->channel))
		return 4;
	fresh = id_make(h->channel);
	return id_bind(fresh, OWN4, 0) ? 5 : 0;
}

TEST(RA_02_stale_copy_of_an_accepted_request)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, leave_connection_behind);
	heirs_end(_metadata, &h, 1);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/* The peer receives a reject when the kernel destroys the request. */
static struct rdma_event_channel *peers;

static int destroy_request(struct heirs *h)
{
	if (!parent_gone(h))
		return __LINE__;
	rdma_destroy_ep(h->id);
	if (channel_readable(peers, 1000))
		return __LINE__;
	rdma_destroy_event_channel(h->channel);
	return event_take(peers, NULL) == RDMA_CM_EVENT_REJECTED ? 0 : __LINE__;
}

static int leave_request_behind(struct heirs *h)
{
	h->channel = rdma_create_event_channel();
	peers = rdma_create_event_channel();
	if (!h->channel || !peers)
		return 1;
	listener = id_listening(h->channel, PORT_REQUESTS);
	h->id = request_read(h->channel, peers);
	return h->id && heir_fork(h, destroy_request) ? 0 : 2;
}

TEST(RA_02_request_that_nobody_has_accepted_ends_with_its_channel)
{
	struct heirs h;

	NEED_PIDFD();
	heirs_start(_metadata, &h, leave_request_behind);
	heirs_end(_metadata, &h, 1);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_HARNESS_MAIN
