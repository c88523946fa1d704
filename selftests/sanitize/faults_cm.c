// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, GAI-02: each call of the library to libc, to libibverbs and to the
 * kernel fails once in each function of the API (sweep.h). The function returns
 * the errno of the failure, the id can be destroyed, and no memory leaks: the
 * leak checker runs at the end of each test (leaks.c). This file has
 * connections, also by name, and groups.
 */
#include "sweep.h"

/* Connections */
static int has_server(struct scene *s)
{
	s->passive = rdma_create_event_channel();
	if (!s->passive)
		return -1;
	s->listener = id_listening(s->passive, PORT_FAULTS);
	s->id = id_ready(s->channel, PORT_FAULTS);
	return s->id ? 0 : -1;
}

static int connect_to(struct scene *s)
{
	return result(rdma_connect(s->id, NULL));
}

static int has_request(struct scene *s)
{
	return has_server(s) || connect_to(s) ||
	       event_wait(s->passive, &s->event, WAIT_MS) ||
	       qp_make(s->event->id, IBV_QPT_RC);
}

static int accept_request(struct scene *s)
{
	return result(rdma_accept(s->event->id, NULL));
}

static int reject_request(struct scene *s)
{
	return result(rdma_reject(s->event->id, NULL, 0));
}

static int has_connection(struct scene *s)
{
	server_start(&s->server, PORT_FAULTS);
	s->id = id_ready(s->channel, PORT_FAULTS);
	return s->id ? id_connect(s->id) : -1;
}

static int disconnect(struct scene *s)
{
	return result(rdma_disconnect(s->id));
}

static struct rdma_addrinfo *ai_get(int flags)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *res = NULL;

	rdma_getaddrinfo(OWN4, "7690", &hints, &res);
	return res;
}

static int has_active_list(struct scene *s)
{
	s->res = ai_get(0);
	if (!s->res || s->res->ai_connect)
		return -1;
	s->res->ai_connect = strdup("private data");
	s->res->ai_connect_len = 12;
	return 0;
}

static int has_passive_list(struct scene *s)
{
	s->res = ai_get(RAI_PASSIVE);
	return s->res ? 0 : -1;
}

static int create_ep(struct scene *s)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = 2,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return result(rdma_create_ep(&s->id, s->res, NULL, &attr));
}

TEST(RA_02_connections)
{
	static const struct step steps[] = {
		{ "rdma_connect", has_server, connect_to, true },
		{ "rdma_accept", has_request, accept_request },
		{ "rdma_reject", has_request, reject_request, true },
		{ "rdma_disconnect", has_connection, disconnect, true },
		{ "rdma_create_ep", has_active_list, create_ep, true },
		{ "rdma_create_ep to listen", has_passive_list, create_ep,
		  true },
	};

	SWEEP_ALL(steps);
}

/* Connections by name; without a channel the call waits for the last event. */
static int has_named(struct scene *s)
{
	server_start(&s->server, PORT_FAULTS);
	s->server.leaves = true;
	s->server.silent = true;
	s->id = id_make(NULL);
	return 0;
}

static int connect_by(struct scene *s, uint32_t flags, bool connects)
{
	struct ibv_qp_init_attr qp = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_conn_param param = { .private_data = "swept",
					 .private_data_len = 6 };
	struct rdmacmx_connect_attr attr = { .flags = flags,
					     .timeout_ms = WAIT_MS };

	if (connects) {
		attr.qp_init_attr = &qp;
		attr.conn_param = &param;
	}
	return result(rdmacmx_connect_name(s->id, OWN4, "7690", NULL, &attr));
}

static int name_route(struct scene *s)
{
	return connect_by(s, 0, false);
}

static int name_connect(struct scene *s)
{
	return connect_by(s, 0, true);
}

static int name_race(struct scene *s)
{
	return connect_by(s, RDMACMX_CONNECT_RACE, true);
}

static int has_name_connected(struct scene *s)
{
	return has_named(s) || name_connect(s);
}

static int name_report(struct scene *s)
{
	struct rdmacmx_candidate list[8];
	int n = rdmacmx_connect_report(s->id, list, 8);

	if (n < 0)
		return errno;
	return n == 1 && list[0].step == RDMACMX_STEP_UP ? 0 : EPROTO;
}

/* The first call gets what the module supports, and opens the device. */
TEST(KA_02_name_first)
{
	static const struct step steps[] = {
		{ "rdmacmx_connect_name, first", has_named, name_connect },
	};

	SWEEP_ALL(steps);
}

TEST(KA_02_name)
{
	static const struct step steps[] = {
		{ "rdmacmx_connect_name, a route", has_named, name_route },
		{ "rdmacmx_connect_name", has_named, name_connect },
		{ "rdmacmx_connect_name, a race", has_named, name_race },
		{ "rdmacmx_connect_report", has_name_connected, name_report,
		  true },
	};
	struct scene s = {};

	ASSERT_EQ(0, has_name_connected(&s));
	scene_clear(_metadata, &s);
	SWEEP_ALL(steps);
}

static void nonblocking(struct rdma_event_channel *channel)
{
	fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
}

/*
 * The library rejects a request for which it has no id, and reads the next
 * event. There is none here.
 */
TEST(RA_02_request)
{
	int n, ret, err, rejected = 0;
	struct scene s;

	for (n = 1; n < MOST; n++) {
		memset(&s, 0, sizeof(s));
		s.channel = rdma_create_event_channel();
		ASSERT_EQ(0, has_server(&s));
		nonblocking(s.passive);
		ASSERT_EQ(0, connect_to(&s));
		ASSERT_EQ(1, channel_readable(s.passive, WAIT_MS));
		fault_arm(n);
		ret = result(rdma_get_cm_event(s.passive, &s.event));
		err = fault_disarm();
		if (err && ret == EAGAIN) {
			rejected++;
			EXPECT_EQ(RDMA_CM_EVENT_REJECTED,
				  event_take(s.channel, NULL));
		} else {
			EXPECT_EQ(err, ret);
		}
		/* A failure before the read leaves the request in the queue. */
		if (err && ret != EAGAIN)
			EXPECT_EQ(0, rdma_get_cm_event(s.passive, &s.event));
		scene_clear(_metadata, &s);
		if (!err)
			break;
	}
	TH_LOG("%d fault points", n - 1);
	EXPECT_LT(0, rejected);
	EXPECT_LT(1, n);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/* Likewise for a request with an id and a separate QP */
TEST(RA_02_request_with_qp)
{
	int n, ret, err, fds = 0, refused = 0;
	struct rdma_cm_id *request;
	struct scene s;
	long live = 0;

	for (n = 1; n < MOST; n++) {
		memset(&s, 0, sizeof(s));
		s.channel = rdma_create_event_channel();
		ASSERT_EQ(0, has_passive_list(&s));
		ASSERT_EQ(0, create_ep(&s));
		s.listener = s.id;
		ASSERT_EQ(0, rdma_listen(s.listener, 4));
		s.id = id_ready(s.channel, PORT_FAULTS);
		ASSERT_NE(NULL, s.id);
		nonblocking(s.listener->channel);
		ASSERT_EQ(0, connect_to(&s));
		ASSERT_EQ(1, channel_readable(s.listener->channel, WAIT_MS));
		fds = fds_open();
		request = NULL;
		fault_arm(n);
		ret = result(rdma_get_request(s.listener, &request));
		err = fault_disarm();
		EXPECT_TRUE(ret == err || ret == EAGAIN) {
			TH_LOG("%d: %s", n, strerror(ret));
		}
		EXPECT_EQ(!ret, !!request);
		/* The program rejects a request without a QP. */
		if (ret && s.listener->event) {
			request = s.listener->event->id;
			EXPECT_EQ(0, rdma_reject(request, NULL, 0));
			EXPECT_EQ(RDMA_CM_EVENT_REJECTED,
				  event_take(s.channel, NULL));
			refused++;
		}
		if (request)
			rdma_destroy_ep(request);
		EXPECT_EQ(fds, fds_open()) {
			TH_LOG("%d: %s", n, strerror(ret));
		}
		scene_clear(_metadata, &s);
		if (n == 1)
			live = live_objects();
		if (!err)
			break;
	}
	EXPECT_EQ(0, ret);
	TH_LOG("%d fault points", n - 1);
	/* Event, id, its channel and queues */
	EXPECT_LT(8, n);
	EXPECT_LT(4, refused);
	EXPECT_TRUE(live_back(live));
}

/*
 * The peer has accepted, and the QP does not become ready: the failed
 * connection is reported once.
 */
TEST(RA_02_response)
{
	int n, ret, err, failures = 0;
	struct rdma_cm_event *event;
	struct rdma_cm_id *request;
	struct scene s;

	for (n = 1; n < MOST; n++) {
		memset(&s, 0, sizeof(s));
		s.channel = rdma_create_event_channel();
		ASSERT_EQ(0, has_request(&s));
		nonblocking(s.channel);
		ASSERT_EQ(0, accept_request(&s));
		ASSERT_EQ(1, channel_readable(s.channel, WAIT_MS));
		fault_arm(n);
		ret = result(rdma_get_cm_event(s.channel, &event));
		err = fault_disarm();
		if (ret) {
			EXPECT_EQ(err, ret);
			ASSERT_EQ(0, rdma_get_cm_event(s.channel, &event));
			EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event->event);
		} else if (err) {
			failures++;
			EXPECT_EQ(RDMA_CM_EVENT_CONNECT_ERROR, event->event);
			EXPECT_EQ(-err, event->status);
		} else {
			EXPECT_EQ(RDMA_CM_EVENT_ESTABLISHED, event->event);
		}
		rdma_ack_cm_event(event);
		/*
		 * The end of the peer causes another event, which is not
		 * reported.
		 */
		if (!ret && err) {
			request = s.event->id;
			rdma_ack_cm_event(s.event);
			s.event = NULL;
			rdma_destroy_ep(request);
			EXPECT_EQ(1, channel_readable(s.channel, WAIT_MS));
			EXPECT_EQ(EAGAIN, result(rdma_get_cm_event(s.channel,
								   &event)));
		}
		scene_clear(_metadata, &s);
		if (!err)
			break;
	}
	TH_LOG("%d fault points", n - 1);
	/* CONN_QP_ATTR, at least one change of the QP, ACCEPT */
	EXPECT_LT(2, failures);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

/* Groups */
static int join(struct scene *s)
{
	struct sockaddr_storage ss;
	struct rdmacmx_join_attr attr = {
		.addr = addr_make(&ss, GROUP, 0),
		.group = { .mask = RDMACMX_GROUP_QKEY, .qkey = 0x1ee7 },
	};

	return result(rdmacmx_join_multicast(s->id, &attr, s));
}

static int join_many(struct scene *s)
{
	struct rdmacmx_join_attr attr[3] = {};
	struct sockaddr_storage ss[3];
	char text[32];
	int i, ret;

	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "239.55.71.%d", i + 1);
		attr[i].addr = addr_make(&ss[i], text, 0);
	}
	ret = rdmacmx_join_many(s->id, attr, 3);
	if (ret < 0)
		return errno;
	for (i = 0; i < 3; i++)
		if (attr[i].error)
			return attr[i].error;
	return ret == 3 ? 0 : EPROTO;
}

/* EPROTO: the library has left, the kernel has not. */
static int leave(struct scene *s)
{
	struct sockaddr_storage ss;
	long before = live_objects();
	int ret;

	ret = result(rdma_leave_multicast(s->id, addr_make(&ss, GROUP, 0)));
	return ret || live_back(before - 1) ? ret : EPROTO;
}

static int has_queue(struct scene *s)
{
	return has_datagram(s) || create_qp_datagram(s);
}

static int has_group(struct scene *s)
{
	return has_queue(s) || join(s) ||
	       event_take(s->channel, NULL) != RDMA_CM_EVENT_MULTICAST_JOIN;
}

static int has_sync_datagram(struct scene *s)
{
	return rdma_create_id(NULL, &s->id, NULL, RDMA_PS_UDP) ||
	       id_bind(s->id, OWN4, 0) || create_qp_datagram(s);
}

TEST(MC_10_groups)
{
	static const struct step steps[] = {
		{ "rdmacmx_join_multicast", has_queue, join, true },
		{ "rdmacmx_join_multicast, synchronous", has_sync_datagram,
		  join },
		{ "rdmacmx_join_many", has_queue, join_many },
		/* Without the Q_Key of the others, which the next JOIN sets */
		{ "rdma_leave_multicast", has_group, leave, true, true },
	};

	SWEEP_ALL(steps);
}

/* Joined, but the QP cannot be attached */
TEST(MC_10_joined)
{
	int n, ret, err, failures = 0;
	struct scene s;

	for (n = 1; n < MOST; n++) {
		memset(&s, 0, sizeof(s));
		s.channel = rdma_create_event_channel();
		ASSERT_EQ(0, has_queue(&s));
		ASSERT_EQ(0, join(&s));
		ASSERT_EQ(1, channel_readable(s.channel, WAIT_MS));
		fault_arm(n);
		ret = result(rdma_get_cm_event(s.channel, &s.event));
		err = fault_disarm();
		if (ret) {
			EXPECT_EQ(err, ret);
		} else if (err) {
			failures++;
			EXPECT_EQ(RDMA_CM_EVENT_MULTICAST_ERROR,
				  s.event->event);
			EXPECT_EQ(-err, s.event->status);
		}
		scene_clear(_metadata, &s);
		if (!err)
			break;
	}
	TH_LOG("%d fault points", n - 1);
	/* Q_Key, attach */
	EXPECT_EQ(2, failures);
	EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_HARNESS_MAIN
