// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The connection manager's commands and their events (RA-01, RA-02). */
#include <sys/mman.h>

#include "ioctl.h"

#include "harness.h"

/* IBV_EVENT_PATH_MIG */
#define PATH_MIGRATED	6

FIXTURE(cm) {
	int fd;
};

FIXTURE_SETUP(cm)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(cm)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_ids", 0));
	EXPECT_EQ(0, counter("live_events"));
}

TEST_F(cm, resolve_addr_and_route)
{
	struct rdma_cmx_id_query query = {};
	struct rdma_cmx_id_info *info;
	union event_buf buf;
	uint32_t id;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 42, &id));
	EXPECT_EQ(-EINVAL, id_resolve_route(self->fd, id));
	ASSERT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_RDMA, 7000));
	ASSERT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
	EXPECT_EQ(42, buf.ev.uid);
	EXPECT_EQ(id, buf.ev.id);
	EXPECT_EQ(0, buf.ev.obj);
	EXPECT_EQ(0, buf.ev.status);
	EXPECT_EQ(sizeof(buf.ev) + sizeof(*info), buf.ev.len);
	info = event_info(&buf.ev);
	ASSERT_NE(NULL, info);
	EXPECT_EQ(AF_INET, info->dst.family);
	EXPECT_EQ(7000, addr_port(&info->dst));
	EXPECT_EQ(1, info->port_num);
	EXPECT_NE(0, info->node_guid);
	query.id = id;
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(0, memcmp(info, &query.info, sizeof(*info)));

	ASSERT_EQ(0, id_resolve_route(self->fd, id));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &buf));
	info = event_info(&buf.ev);
	ASSERT_NE(NULL, info);
	EXPECT_EQ(sizeof(*info), buf.ev.info_len);
	EXPECT_EQ(1, info->num_paths);
	EXPECT_EQ(1, buf.ev.num_paths);
	EXPECT_TRUE(buf.ev.flags & RDMA_CMX_EVENT_PATHS);
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(1, query.info.num_paths);
	EXPECT_EQ(0, memcmp(info + 1, query.paths, sizeof(query.paths[0])));
	EXPECT_EQ(2, id_destroy(self->fd, id));
}

/* The caller's path replaces the resolution of the route. */
TEST_F(cm, path_by_option)
{
	struct rdma_cmx_id_set_option opt = {
		.level = RDMA_OPTION_IB,
		.optname = RDMA_OPTION_IB_PATH,
	};
	struct ib_path_rec_data path[2] = {};
	struct rdma_cmx_id_info *info;
	union event_buf buf;
	uint32_t id;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, i + 1, &id));
		ASSERT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_RDMA,
					     7000));
		ASSERT_EQ(0, event_want(self->fd, EV_ADDR_RESOLVED, &buf));
		if (i)
			break;
		ASSERT_EQ(0, id_resolve_route(self->fd, id));
		ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &buf));
		/* The first record does not have the required flags. */
		memcpy(&path[1], event_info(&buf.ev) + 1, sizeof(path[1]));
	}
	opt.id = id;
	opt.optval = (uintptr_t)path;
	opt.optlen = sizeof(path);
	ASSERT_EQ(0, call(self->fd, ID_SET_OPTION, &opt));
	ASSERT_EQ(0, event_want(self->fd, EV_ROUTE_RESOLVED, &buf));
	EXPECT_EQ(2, buf.ev.uid);
	info = event_info(&buf.ev);
	ASSERT_NE(NULL, info);
	EXPECT_EQ(1, info->num_paths);
	/* A second path fails. */
	EXPECT_EQ(-EINVAL, call(self->fd, ID_SET_OPTION, &opt));
	EXPECT_FALSE(event_pending(self->fd));
	EXPECT_EQ(0, id_connect(self->fd, id));
}

TEST_F(cm, resolve_addr_fails)
{
	union event_buf buf;
	uint32_t id;
	int i;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 42, &id));
	/*
	 * A local address without an RDMA device, several times on one id: each
	 * attempt reserves the event again.
	 */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, id_resolve_addr(self->fd, id, NULL, ADDR_PLAIN,
					     7000));
		ASSERT_EQ(0, event_want(self->fd, EV_ADDR_ERROR, &buf));
		EXPECT_EQ(-ENODEV, buf.ev.status);
		EXPECT_EQ(sizeof(buf.ev), buf.ev.len);
	}
	EXPECT_EQ(3, id_destroy(self->fd, id));
}

/* One call returns the attributes of three INIT_QP_ATTR. */
TEST_F(cm, attributes_of_a_connection)
{
	struct rdma_cmx_conn_qp_attr all = {};
	struct rdma_cmx_init_qp_attr one[3] = {};
	struct rdma_cmx_conn_qp_attr *edge;
	uint32_t listener, active, passive;
	unsigned int i;
	uint8_t *page;

	ASSERT_EQ(0, connect_pair(self->fd, &listener, &active, &passive));
	all.id = passive;
	/* Output only: the kernel ignores and overwrites it. */
	memset(&all.attr, 0xa5, sizeof(all.attr));
	ASSERT_EQ(0, call(self->fd, CONN_QP_ATTR, &all));
	for (i = 0; i < 3; i++) {
		one[i].id = passive;
		one[i].qp_state = 1 + i;
		memset(&one[i].attr, 0xa5, sizeof(one[i].attr));
		ASSERT_EQ(0, call(self->fd, INIT_QP_ATTR, &one[i]));
	}
	EXPECT_EQ(all.init_mask, one[0].attr.qp_attr_mask);
	EXPECT_EQ(all.rtr_mask, one[1].attr.qp_attr_mask);
	EXPECT_EQ(all.rts_mask, one[2].attr.qp_attr_mask);
	EXPECT_EQ(0, all.attr.qp_attr_mask);
	EXPECT_EQ(0, all.attr.qp_state);
	EXPECT_EQ(all.attr.port_num, one[0].attr.port_num);
	EXPECT_EQ(all.attr.qp_access_flags, one[0].attr.qp_access_flags);
	EXPECT_EQ(all.attr.pkey_index, one[0].attr.pkey_index);
	EXPECT_NE(0, one[1].attr.dest_qp_num);
	EXPECT_EQ(all.attr.dest_qp_num, one[1].attr.dest_qp_num);
	EXPECT_EQ(all.attr.rq_psn, one[1].attr.rq_psn);
	EXPECT_EQ(all.attr.path_mtu, one[1].attr.path_mtu);
	EXPECT_EQ(0, memcmp(&all.attr.ah_attr, &one[1].attr.ah_attr,
			    sizeof(all.attr.ah_attr)));
	EXPECT_EQ(all.attr.sq_psn, one[2].attr.sq_psn);
	EXPECT_EQ(all.attr.timeout, one[2].attr.timeout);
	EXPECT_EQ(all.attr.retry_cnt, one[2].attr.retry_cnt);
	EXPECT_EQ(all.attr.rnr_retry, one[2].attr.rnr_retry);
	EXPECT_EQ(all.attr.max_rd_atomic, one[2].attr.max_rd_atomic);

	/* The kernel cannot write the whole output. */
	page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, page);
	ASSERT_EQ(0, munmap(page + 4096, 4096));
	edge = (void *)(page + 4096 - sizeof(*edge) + 8);
	edge->id = passive;
	edge->reserved = 0;
	EXPECT_EQ(-EFAULT, call(self->fd, CONN_QP_ATTR, edge));
	munmap(page, 4096);

	/* The id has no connection. */
	all.id = listener;
	EXPECT_EQ(-EINVAL, call(self->fd, CONN_QP_ATTR, &all));
}

/* The error for a former cookie does not depend on the present id. */
TEST_F(cm, former_cookie)
{
	struct rdma_cmx_init_qp_attr attr = { .qp_state = 1, .uid = 1 };
	uint32_t former;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &former));
	ASSERT_LE(0, id_destroy(self->fd, former));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &attr.id));
	EXPECT_EQ(-ENOENT, call(self->fd, INIT_QP_ATTR, &attr));
	attr.uid = 2;
	EXPECT_EQ(-EINVAL, call(self->fd, INIT_QP_ATTR, &attr));
}

/* No command by a stale handle reaches the id that has its place. */
TEST_F(cm, former_handle)
{
	struct rdma_cmx_conn_qp_attr attr = {};
	struct rdma_cmx_connect accept = {};
	uint32_t former, present;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &former));
	ASSERT_LE(0, id_destroy(self->fd, former));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &present));
	EXPECT_NE(former, present);
	attr.id = former;
	accept.id = former;
	EXPECT_EQ(-ENOENT, call(self->fd, CONN_QP_ATTR, &attr));
	EXPECT_EQ(-ENOENT, call(self->fd, ACCEPT, &accept));
	EXPECT_EQ(-ENOENT, id_destroy(self->fd, former));
	EXPECT_LE(0, id_destroy(self->fd, present));
}

TEST_F(cm, life_of_a_connection)
{
	static const uint32_t due[] = { EV_DISCONNECTED, EV_TIMEWAIT_EXIT };
	struct rdma_cmx_id_arg disc = {}, path = { .event = PATH_MIGRATED };
	/* Those that connect_pair() gives the two, and others */
	static const uint64_t cookies[] = { 2, 3, 1, 1ULL << 32 | 3 };
	struct rdma_cmx_init_qp_attr attr = {};
	uint32_t listener, active, passive;
	union event_buf buf;
	unsigned int seen[4] = {}, i;

	ASSERT_EQ(0, connect_pair(self->fd, &listener, &active, &passive));
	EXPECT_EQ(3, counter("live_ids"));
	/* Reserved: DISCONNECTED of each end, and no impossible event */
	EXPECT_EQ(2, counter("live_events"));
	attr.id = active;
	attr.qp_state = 1;	/* INIT */
	EXPECT_EQ(0, call(self->fd, INIT_QP_ATTR, &attr));
	EXPECT_NE(0, attr.attr.qp_attr_mask);
	EXPECT_EQ(1, attr.attr.port_num);
	attr.qp_state = 2;	/* RTR */
	EXPECT_EQ(0, call(self->fd, INIT_QP_ATTR, &attr));
	EXPECT_NE(0, attr.attr.dest_qp_num);
	attr.qp_state = 7;
	EXPECT_EQ(-EINVAL, call(self->fd, INIT_QP_ATTR, &attr));
	/* The cookie of a former id with this handle */
	attr.qp_state = 1;
	for (i = 0; i < 4; i++) {
		attr.id = i % 2 ? passive : active;
		attr.uid = cookies[i];
		memset(&attr.attr, 0, sizeof(attr.attr));
		EXPECT_EQ(i < 2 ? 0 : -ENOENT,
			  call(self->fd, INIT_QP_ATTR, &attr));
		EXPECT_EQ(i < 2, !!attr.attr.qp_attr_mask);
	}

	/* The peer stays connected, and reports the later disconnect. */
	path.id = active;
	EXPECT_EQ(0, call(self->fd, NOTIFY, &path));

	/* The wait of one end may be over before the other has its reply. */
	disc.id = active;
	ASSERT_EQ(0, call(self->fd, DISCONNECT, &disc));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(0, event_next(self->fd, &buf));
		ASSERT_TRUE(buf.ev.uid == 2 || buf.ev.uid == 3);
		ASSERT_GT(2, seen[buf.ev.uid]);
		ASSERT_EQ(due[seen[buf.ev.uid]++], buf.ev.event);
		if (buf.ev.event == EV_DISCONNECTED && buf.ev.uid == 3) {
			disc.id = passive;
			call(self->fd, DISCONNECT, &disc);
		}
	}
	/* CONNECT_REQUEST counts for the listener. */
	EXPECT_EQ(1, id_destroy(self->fd, listener));
	EXPECT_LE(5, id_destroy(self->fd, active));
	EXPECT_LE(3, id_destroy(self->fd, passive));
	EXPECT_EQ(0, counter("live_ids"));
}

static int request_make(int fd, uint32_t *listener, uint32_t *active)
{
	uint16_t port;

	return listener_new(fd, 1, listener, &port) ?:
	       connect_start(fd, 2, port, active);
}

TEST_F(cm, connect_request)
{
	struct rdma_cmx_reject rej = {};
	struct rdma_cmx_id_query query = {};
	uint32_t listener, active;
	union event_buf buf;
	const char *data;

	ASSERT_EQ(0, request_make(self->fd, &listener, &active));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
	EXPECT_EQ(1, buf.ev.uid);
	EXPECT_EQ(listener, buf.ev.id);
	EXPECT_NE(0, buf.ev.obj);
	EXPECT_TRUE(buf.ev.flags & RDMA_CMX_EVENT_CONN);
	EXPECT_EQ(qp_num_last, buf.ev.param.conn.qp_num);
	EXPECT_EQ(7, buf.ev.param.conn.rnr_retry_count);
	ASSERT_TRUE(buf.ev.flags & RDMA_CMX_EVENT_PRIVATE_DATA);
	data = buf.space + buf.ev.len - (buf.ev.private_data_len + 7) / 8 * 8;
	EXPECT_EQ(0, memcmp(data, "hello", 6));
	ASSERT_NE(NULL, event_info(&buf.ev));
	query.id = buf.ev.obj;
	ASSERT_EQ(0, call(self->fd, ID_QUERY, &query));
	EXPECT_EQ(0, memcmp(event_info(&buf.ev), &query.info,
			    sizeof(query.info)));

	EXPECT_EQ(-EINVAL, id_accept(self->fd, query.id, 0));
	rej.id = query.id;
	rej.private_data_len = 3;
	memcpy(rej.private_data, "no!", 3);
	ASSERT_EQ(0, call(self->fd, REJECT, &rej));
	ASSERT_EQ(0, event_want(self->fd, EV_REJECTED, &buf));
	EXPECT_EQ(2, buf.ev.uid);
	EXPECT_EQ(28, buf.ev.status);	/* IB_CM_REJ_CONSUMER_DEFINED */
	data = buf.space + buf.ev.len - (buf.ev.private_data_len + 7) / 8 * 8;
	EXPECT_EQ(0, memcmp(data, "no!", 4));
}

/* Unread requests end with their listener, and the peer gets a reject. */
TEST_F(cm, listener_with_unread_request)
{
	uint32_t listener, active;
	union event_buf buf;
	struct pollfd pfd = { self->fd, POLLIN, 0 };

	ASSERT_EQ(0, request_make(self->fd, &listener, &active));
	ASSERT_EQ(1, poll(&pfd, 1, 60000));
	EXPECT_EQ(3, counter("live_ids"));
	EXPECT_EQ(0, id_destroy(self->fd, listener));
	EXPECT_EQ(1, counter("live_ids"));
	ASSERT_EQ(0, event_want(self->fd, EV_REJECTED, &buf));
	EXPECT_EQ(2, buf.ev.uid);
}

TEST_F(cm, close_with_unread_request)
{
	uint32_t listener, active;
	struct pollfd pfd = { self->fd, POLLIN, 0 };

	ASSERT_EQ(0, request_make(self->fd, &listener, &active));
	ASSERT_EQ(1, poll(&pfd, 1, 60000));
}

/* Events of a request are reported after the accept. */
TEST_F(cm, events_before_accept)
{
	uint32_t listener, active, passive;
	union event_buf buf;
	int ret;

	ASSERT_EQ(0, request_make(self->fd, &listener, &active));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
	passive = buf.ev.obj;
	ASSERT_LE(0, id_destroy(self->fd, active));
	/*
	 * The peer is destroyed. The CM decides whether accept still works, but
	 * no event has cookie 0.
	 */
	ret = id_accept(self->fd, passive, 3);
	if (!ret) {
		ASSERT_EQ(0, event_next(self->fd, &buf));
		EXPECT_EQ(3, buf.ev.uid);
	}
	EXPECT_LE(0, id_destroy(self->fd, passive));
	EXPECT_FALSE(event_pending(self->fd));
}

/* Without a reply, the destroy of the id does not wait. */
TEST_F(cm, answer_before_the_reply)
{
	struct rdma_cmx_reject reject = {};
	uint32_t listener, active, passive;
	double start;

	ASSERT_EQ(0, request_get(self->fd, RDMA_PS_TCP, 2, &listener, &active,
				 &passive));
	reject.id = active;
	EXPECT_EQ(-EINVAL, call(self->fd, REJECT, &reject));
	EXPECT_EQ(-EINVAL, id_accept(self->fd, active, 3));
	start = now_ms();
	EXPECT_LE(0, id_destroy(self->fd, active));
	/* A CM request without a reply times out after 69 s. */
	EXPECT_GT(30000, now_ms() - start);
	EXPECT_LE(0, id_destroy(self->fd, passive));
}

static bool counter_grows(const char *name, long from)
{
	double end = now_ms() + 60000;

	while (counter(name) <= from && now_ms() < end)
		poll(NULL, 0, 10);
	return counter(name) > from;
}

/* MRAs that the device has sent */
#define MRAS	"/sys/class/infiniband/rxe0/ports/1/cm_tx_msgs/mra"

static int listener_small(int fd, uint32_t ps, uint32_t *id, uint16_t *port)
{
	struct rdma_cmx_listen arg = { .backlog = 1 };
	struct rdma_cmx_id_query query = {};
	int ret;

	ret = id_create(fd, ps, 1, id) ?: id_bind(fd, *id, ADDR_RDMA, 0);
	arg.id = *id;
	query.id = *id;
	ret = ret ?: call(fd, LISTEN, &arg) ?: call(fd, ID_QUERY, &query);
	*port = addr_port(&query.info.src);
	return ret;
}

FIXTURE(backlog) {
	int fd;
	int other;
	long max;
	long held;
	long refused;
};

FIXTURE_SETUP(backlog)
{
	self->fd = dev_open(O_NONBLOCK);
	self->other = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	self->max = number_get(UCMX_PARAMETERS "max_backlog");
	self->held = counter("held_connects");
	self->refused = counter("refused_connects");
	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_backlog", 3));
}

FIXTURE_TEARDOWN(backlog)
{
	EXPECT_EQ(0, number_set(UCMX_PARAMETERS "max_backlog", self->max));
	close(self->fd);
	close(self->other);
	EXPECT_TRUE(counter_wait("live_ids", 0));
	EXPECT_EQ(0, counter("live_events"));
}

/*
 * A request beyond the backlog waits. Its peer receives an MRA when it retries,
 * and is accepted at last. Another event of the listener precedes the request.
 */
TEST_F(backlog, waits)
{
	uint32_t listener, active[2], first;
	long mras = number_get(MRAS);
	double end = now_ms() + 60000;
	union event_buf buf;
	uint16_t port;
	int i;

	ASSERT_LE(0, mras);
	ASSERT_EQ(0, listener_small(self->fd, RDMA_PS_TCP, &listener, &port));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, connect_start(self->other, i + 2, port,
					   &active[i]));
	ASSERT_TRUE(counter_grows("held_connects", self->held));
	ASSERT_EQ(0, id_write_event(self->fd, listener, 0, 7));
	/* Both retry. */
	while (number_get(MRAS) < mras + 2 && now_ms() < end)
		poll(NULL, 0, 10);
	EXPECT_LE(mras + 2, number_get(MRAS));

	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
	first = buf.ev.obj;
	ASSERT_EQ(0, event_want(self->fd, RDMA_CMX_EV_USER, &buf));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
	EXPECT_FALSE(event_pending(self->fd));
	ASSERT_EQ(0, id_accept(self->fd, buf.ev.obj, 5));
	ASSERT_EQ(0, event_want(self->other, EV_CONNECT_RESPONSE, &buf));
	ASSERT_EQ(0, id_accept(self->fd, first, 4));
	ASSERT_EQ(0, event_want(self->other, EV_CONNECT_RESPONSE, &buf));
	EXPECT_EQ(self->refused, counter("refused_connects"));
}

/* Requests that wait move with their listener, in order. */
TEST_F(backlog, migrates)
{
	struct rdma_cmx_id_migrate arg = { .src_fd = self->fd };
	uint32_t active[3], listener, i;
	union event_buf buf;
	uint16_t port;

	ASSERT_EQ(0, listener_small(self->fd, RDMA_PS_TCP, &listener, &port));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, connect_start(self->other, i + 2, port,
					   &active[i]));
		/* Each has arrived before the next one is sent. */
		ASSERT_TRUE(counter_wait("live_ids", 3 + 2 * i));
	}
	/* An id exists before its request is counted. */
	EXPECT_TRUE(counter_wait("held_connects", self->held + 2));
	arg.id = listener;
	ASSERT_EQ(0, call(self->other, ID_MIGRATE, &arg));
	EXPECT_FALSE(event_pending(self->fd));
	ASSERT_EQ(0, id_write_event(self->other, arg.new_id, 0, 7));
	ASSERT_EQ(0, event_want(self->other, EV_CONNECT_REQUEST, &buf));
	EXPECT_EQ(arg.new_id, buf.ev.id);
	ASSERT_EQ(0, event_want(self->other, RDMA_CMX_EV_USER, &buf));
	ASSERT_EQ(0, event_want(self->other, EV_CONNECT_REQUEST, &buf));
	/* The last one ends with its listener, unread. */
	EXPECT_LE(0, id_destroy(self->other, arg.new_id));
}

TEST_F(backlog, is_full)
{
	struct rdma_cmx_listen arg = { .backlog = 10 };
	uint32_t active[3], listener, i;
	uint16_t port;

	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_backlog", 2));
	ASSERT_EQ(0, listener_small(self->fd, RDMA_PS_TCP, &listener, &port));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, connect_start(self->other, i + 2, port,
					   &active[i]));
	ASSERT_TRUE(counter_wait("live_ids", 5));
	/* LISTEN fails, and frees no queue slot. */
	arg.id = listener;
	EXPECT_EQ(-EINVAL, call(self->fd, LISTEN, &arg));
	ASSERT_EQ(0, connect_start(self->other, 4, port, &active[2]));
	EXPECT_TRUE(counter_grows("refused_connects", self->refused));
	/* It is dropped: the peer retries. */
	EXPECT_FALSE(event_pending(self->other));
	EXPECT_EQ(6, counter("live_ids"));
}

/* The CM cannot drop the request of a UD id. */
TEST_F(backlog, is_full_for_ud)
{
	uint32_t active[2], listener, i;
	union event_buf buf;
	uint16_t port;

	ASSERT_EQ(0, number_set(UCMX_PARAMETERS "max_backlog", 1));
	ASSERT_EQ(0, listener_small(self->fd, RDMA_PS_UDP, &listener, &port));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, active_of(self->other, RDMA_PS_UDP, i + 2, port,
				       &active[i]));
		ASSERT_EQ(0, id_connect(self->other, active[i]));
		if (!i)
			ASSERT_TRUE(counter_wait("live_ids", 3));
	}
	ASSERT_EQ(0, event_want(self->other, EV_UNREACHABLE, &buf));
	EXPECT_EQ(3, buf.ev.uid);
	EXPECT_LT(0, buf.ev.status);
	/* A peer that gets no response for 4 s sends its request again. */
	EXPECT_LE(self->refused + 1, counter("refused_connects"));
}

/* A UD id requests the peer's queue pair. */
TEST_F(cm, ud_request)
{
	uint32_t listener, active;
	union event_buf buf;
	uint16_t port;

	ASSERT_EQ(0, listener_of(self->fd, RDMA_PS_UDP, 1, &listener, &port));
	ASSERT_EQ(0, active_of(self->fd, RDMA_PS_UDP, 2, port, &active));
	ASSERT_EQ(0, id_connect(self->fd, active));
	ASSERT_EQ(0, event_want(self->fd, EV_CONNECT_REQUEST, &buf));
	EXPECT_TRUE(buf.ev.flags & RDMA_CMX_EVENT_UD);
	ASSERT_EQ(0, id_accept(self->fd, buf.ev.obj, 3));
	ASSERT_EQ(0, event_want(self->fd, EV_ESTABLISHED, &buf));
	EXPECT_EQ(2, buf.ev.uid);
	EXPECT_TRUE(buf.ev.flags & RDMA_CMX_EVENT_UD);
	EXPECT_EQ(qp_num_last, buf.ev.param.ud.qp_num);
	EXPECT_NE(0, buf.ev.param.ud.qkey);
	EXPECT_EQ(1, buf.ev.param.ud.ah_attr.port_num);
}

TEST_HARNESS_MAIN
