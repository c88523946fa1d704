// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: each thing that the library asks for, of the C library, of libibverbs
 * and of the kernel, fails once in each call (inject.h), the first first, until
 * the call meets no more of them. Each failure is told with the errno of what
 * failed, the id can be destroyed, and nothing is lost: the leak checker looks
 * at the end of each test (leaks.c).
 */
#include <fcntl.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_verbs.h>

#include "../process/process.h"
#include "inject.h"

#define PORT_FAULTS	7690
#define GROUP		"239.55.70.1"
/* More fault points than any call has */
#define MOST		60

/* What a call works on; what is set afterwards is freed. */
struct scene {
	struct rdma_event_channel *channel, *passive;
	struct rdma_cm_id *id, *listener;
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;
	struct ibv_context **devices;
	struct server server;
	const char *node;
};

/* One call. All of them give an errno, or 0. */
struct step {
	const char *name;
	int (*before)(struct scene *s);
	int (*call)(struct scene *s);
	bool again;	/* when it has failed, the same call is made once more */
	bool lenient;	/* it can do without some of what failed */
};

static int result(int ret)
{
	return ret ? errno : 0;
}

static void scene_clear(struct __test_metadata *_metadata, struct scene *s)
{
	if (s->event) {
		struct rdma_cm_id *request = s->event->id;
		bool is_request = s->event->listen_id;

		rdma_ack_cm_event(s->event);
		if (is_request)
			rdma_destroy_ep(request);
	}
	if (s->id) {
		rdma_destroy_qp(s->id);
		rdma_destroy_srq(s->id);
		EXPECT_EQ(0, rdma_destroy_id(s->id));
	}
	if (s->listener)
		EXPECT_EQ(0, rdma_destroy_id(s->listener));
	if (s->server.channel)
		EXPECT_EQ(0, server_end(&s->server));
	rdma_freeaddrinfo(s->res);
	rdma_free_devices(s->devices);
	rdma_destroy_event_channel(s->passive);
	rdma_destroy_event_channel(s->channel);
}

/* In the kernel, which ends some things later */
static bool live_back(long before)
{
	long long end = now_ms() + WAIT_MS;

	while (live_objects() > before) {
		if (now_ms() > end)
			return false;
		usleep(10000);
	}
	return true;
}

static void sweep(struct __test_metadata *_metadata, const struct step *step)
{
	struct scene s;
	int n, ret, err, fds;
	long live;

	fds = fds_open();
	live = live_objects();
	for (n = 1; n < MOST; n++) {
		memset(&s, 0, sizeof(s));
		s.channel = rdma_create_event_channel();
		ASSERT_NE(NULL, s.channel);
		ASSERT_EQ(0, step->before ? step->before(&s) : 0) {
			TH_LOG("%s: what is before it: %m", step->name);
		}
		fault_arm(n);
		ret = step->call(&s);
		err = fault_disarm();
		if (!step->lenient || ret)
			EXPECT_EQ(err, ret) {
				TH_LOG("%s, %d", step->name, n);
			}
		if (err && step->again)
			EXPECT_EQ(0, step->call(&s)) {
				TH_LOG("%s again, %d", step->name, n);
			}
		scene_clear(_metadata, &s);
		if (!err)
			break;
		/* What is opened once stays open. */
		if (n == 1) {
			fds = fds_open();
			live = live_objects();
		}
	}
	TH_LOG("%s: %d fault points", step->name, n - 1);
	EXPECT_LT(1, n);
	EXPECT_GT(MOST, n);
	EXPECT_GE(fds, fds_open()) {
		TH_LOG("%s leaves descriptors open", step->name);
	}
	EXPECT_TRUE(live_back(live)) {
		TH_LOG("%s: live objects: %ld", step->name, live_objects());
	}
}

static void sweep_all(struct __test_metadata *_metadata,
		      const struct step *steps, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		sweep(_metadata, &steps[i]);
}

#define SWEEP_ALL(steps)						\
	sweep_all(_metadata, steps, sizeof(steps) / sizeof((steps)[0]))

/* Ids before the call */
static int has_id(struct scene *s)
{
	s->id = id_make(s->channel);
	return 0;
}

static int has_sync(struct scene *s)
{
	s->id = id_make(NULL);
	return 0;
}

static int has_bound(struct scene *s)
{
	s->id = id_make(s->channel);
	return id_bind(s->id, OWN4, 0);
}

static int has_datagram(struct scene *s)
{
	return rdma_create_id(s->channel, &s->id, NULL, RDMA_PS_UDP) ||
	       id_bind(s->id, OWN4, 0);
}

static int resolve_addr(struct scene *s)
{
	struct sockaddr_storage ss;

	return result(rdma_resolve_addr(s->id, NULL,
					addr_make(&ss, OWN4, PORT_FAULTS),
					5000));
}

static int has_address(struct scene *s)
{
	s->id = id_make(NULL);
	return resolve_addr(s);
}

/* Life of an id */
static int create_channel(struct scene *s)
{
	s->passive = rdma_create_event_channel();
	return result(!s->passive);
}

static int create_id(struct scene *s)
{
	return result(rdma_create_id(s->channel, &s->id, s, RDMA_PS_TCP));
}

static int create_sync(struct scene *s)
{
	return result(rdma_create_id(NULL, &s->id, s, RDMA_PS_TCP));
}

static int destroy_id(struct scene *s)
{
	if (rdma_destroy_id(s->id))
		return errno;
	s->id = NULL;
	return 0;
}

static int to_sync(struct scene *s)
{
	return result(rdma_migrate_id(s->id, NULL));
}

static int to_channel(struct scene *s)
{
	return result(rdma_migrate_id(s->id, s->channel));
}

static int set_option(struct scene *s)
{
	uint8_t tos = 8;

	return result(rdma_set_option(s->id, RDMA_OPTION_ID,
				      RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
}

static int write_event(struct scene *s)
{
	return result(rdma_write_cm_event(s->id, RDMA_CM_EVENT_USER, 0, 1));
}

static int has_event(struct scene *s)
{
	return has_bound(s) || write_event(s);
}

static int get_event(struct scene *s)
{
	return result(rdma_get_cm_event(s->channel, &s->event));
}

TEST(RA_02_ids)
{
	static const struct step steps[] = {
		{ "rdma_create_event_channel", NULL, create_channel, true },
		{ "rdma_create_id", NULL, create_id, true },
		{ "rdma_create_id, synchronous", NULL, create_sync, true },
		{ "rdma_destroy_id", has_bound, destroy_id, true },
		{ "rdma_destroy_id, synchronous", has_sync, destroy_id, true },
		{ "rdma_migrate_id from a channel", has_id, to_sync, true },
		{ "rdma_migrate_id to a channel", has_sync, to_channel, true },
		{ "rdma_set_option", has_id, set_option, true },
		{ "rdma_write_cm_event", has_id, write_event, true },
		{ "rdma_get_cm_event", has_event, get_event, true },
	};

	SWEEP_ALL(steps);
}

/* Addresses, devices and queues */
static int bind_addr(struct scene *s)
{
	return result(id_bind(s->id, OWN4, 0));
}

static int listen_on(struct scene *s)
{
	return result(rdma_listen(s->id, 4));
}

static int resolve_route(struct scene *s)
{
	return result(rdma_resolve_route(s->id, 5000));
}

static int create_qp(struct scene *s)
{
	return result(qp_make(s->id));
}

static int create_qp_datagram(struct scene *s)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = 2,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};

	return result(rdma_create_qp(s->id, NULL, &attr));
}

static int create_srq(struct scene *s)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};

	return result(rdma_create_srq(s->id, NULL, &attr));
}

static int init_qp_attr(struct scene *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	return result(rdma_init_qp_attr(s->id, &attr, &mask));
}

static int get_devices(struct scene *s)
{
	s->devices = rdma_get_devices(NULL);
	return result(!s->devices);
}

TEST(RA_02_addresses_and_queues)
{
	static const struct step steps[] = {
		{ "rdma_bind_addr", has_id, bind_addr, true },
		{ "rdma_listen", has_bound, listen_on },
		{ "rdma_resolve_addr", has_sync, resolve_addr },
		{ "rdma_resolve_route", has_address, resolve_route },
		{ "rdma_create_qp", has_bound, create_qp, true },
		{ "rdma_create_qp, datagram", has_datagram, create_qp_datagram,
		  true },
		{ "rdma_create_srq", has_bound, create_srq, true },
		{ "rdma_init_qp_attr", has_bound, init_qp_attr, true },
		{ "rdma_get_devices", NULL, get_devices, true },
	};

	/* A device is opened once: see below. */
	rdma_free_devices(rdma_get_devices(NULL));
	SWEEP_ALL(steps);
}

/*
 * A device is opened by the first id that needs it, so each failure has a
 * process of its own: it exits with 0 if nothing failed, 1 if the failure was
 * told and the next id has its device, else with more.
 */
struct first {
	int (*call)(struct scene *s);
	int n;
};

static int device_first(void *arg)
{
	struct first *first = arg;
	struct scene s = { .id = id_make(NULL) };
	int ret, err;

	if (!s.id)
		return 2;
	fault_arm(first->n);
	ret = first->call(&s);
	err = fault_disarm();
	if (!err)
		return ret ? 3 : 0;
	/* A device that cannot be opened is left out of the list. */
	if (ret != err && first->call != get_devices)
		return 4;
	rdma_free_devices(s.devices);
	if (rdma_destroy_id(s.id))
		return 5;
	s.id = id_make(NULL);
	if (bind_addr(&s) || !s.id->verbs || !s.id->pd || get_devices(&s))
		return 6;
	rdma_free_devices(s.devices);
	return rdma_destroy_id(s.id) ? 7 : 1;
}

TEST(RA_02_first_device)
{
	static int (*const calls[])(struct scene *s) = {
		bind_addr, resolve_addr, get_devices,
	};
	struct first first;
	int status;
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		first.call = calls[i];
		for (first.n = 1; first.n < MOST; first.n++) {
			status = child_wait(child_start(device_first, &first));
			if (!status)
				break;
			EXPECT_EQ(1, status) {
				TH_LOG("call %zu, %d", i, first.n);
			}
		}
		TH_LOG("call %zu: %d fault points", i, first.n - 1);
		/* Descriptors, list, device, its attributes, PD */
		EXPECT_LT(5, first.n);
		EXPECT_GT(MOST, first.n);
	}
}

/* Names and lists */
static int getaddrinfo_get(struct scene *s, const char *node,
			   const struct rdma_addrinfo *hints)
{
	int ret = rdma_getaddrinfo(node, PORT, hints, &s->res);

	return ret == EAI_MEMORY ? ENOMEM : ret == EAI_SYSTEM ? errno : ret;
}

static int ai_number(struct scene *s)
{
	return getaddrinfo_get(s, PEER4, NULL);
}

static int ai_name(struct scene *s)
{
	return getaddrinfo_get(s, NAME_STORAGE, NULL);
}

static int ai_passive(struct scene *s)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE };

	return getaddrinfo_get(s, NULL, &hints);
}

static int ai_route(struct scene *s)
{
	struct ibv_path_record route = {};
	struct rdma_addrinfo hints = {
		.ai_route = &route,
		.ai_route_len = sizeof(route),
	};
	int ret = getaddrinfo_get(s, PEER4, &hints);

	/* Not a path that leads there: what the answer is is not asked here. */
	return ret == ENOMEM || ret == EIO ? ret : 0;
}

static int ai_device(struct scene *s)
{
	return result(!rdmacmx_ai_device(s->res, NULL));
}

static int has_list(struct scene *s)
{
	return ai_number(s);
}

static int resolve_name(struct scene *s)
{
	return result(rdma_resolve_addrinfo(s->id, NAME_STORAGE, PORT, NULL));
}

static int has_answer(struct scene *s)
{
	return has_sync(s) || resolve_name(s);
}

static int query_addrinfo(struct scene *s)
{
	return result(rdma_query_addrinfo(s->id, &s->res));
}

static const struct step names[] = {
	{ "rdma_getaddrinfo of a name", NULL, ai_name, true, true },
	{ "rdma_getaddrinfo of a number", NULL, ai_number, true },
	{ "rdma_getaddrinfo to listen", NULL, ai_passive, true },
	{ "rdma_getaddrinfo with a route", NULL, ai_route, true },
	{ "rdmacmx_ai_device", has_list, ai_device, true, true },
	{ "rdma_resolve_addrinfo", has_sync, resolve_name },
	/* Each result is handed out once. */
	{ "rdma_query_addrinfo", has_answer, query_addrinfo },
};

TEST(GAI_02_names)
{
	SWEEP_ALL(names);
}

/* This process looks names up. */
TEST(GAI_02_names_of_libc)
{
	setenv("RDMACMX_NAMES", "libc", 1);
	SWEEP_ALL(names);
}

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
	       qp_make(s->event->id);
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

static void nonblocking(struct rdma_event_channel *channel)
{
	fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
}

/*
 * A request for which there is no id is turned down, and the next event asked
 * for: here is none.
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
		/* What failed before it was taken is still there. */
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

/* The same where a request comes with an id and a QP of its own */
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
		/* A request that has got no QP is for the program to refuse. */
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
 * The peer has accepted, and the QP does not get ready: a connection that has
 * failed is told of once.
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
		/* The peer's end brings another event, which is not shown. */
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

static int leave(struct scene *s)
{
	struct sockaddr_storage ss;

	return result(rdma_leave_multicast(s->id, addr_make(&ss, GROUP, 0)));
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
		{ "rdma_leave_multicast", has_group, leave, true },
	};

	SWEEP_ALL(steps);
}

/* Joined, but the QP does not get attached */
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
		ret = get_event(&s);
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
