// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Kernel memory does not reach user space. Each output buffer has a known
 * pattern before the call. Afterwards the reserved bytes are zero, the bytes
 * after the output are unchanged, and no output byte is part of that pattern,
 * of one that the allocator of a debug kernel writes (0x6b, 0x5a, 0xbb, 0xcc),
 * or of a kernel address.
 */
#include "ioctl.h"

#include <linux/types.h>
#include <rdma/ib_user_verbs.h>

#include "harness.h"

#define OURS 0xa5
#define ROUTE_MS "/sys/module/rdma_cmx/parameters/route_timeout_ms"

FIXTURE(leaks) {
	int fd;
	long route_ms;
};

FIXTURE_SETUP(leaks)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	/* A result without a late path is shorter than the next one. */
	self->route_ms = number_get(ROUTE_MS);
	ASSERT_EQ(0, number_set(ROUTE_MS, 60000));
}

FIXTURE_TEARDOWN(leaks)
{
	number_set(ROUTE_MS, self->route_ms);
	close(self->fd);
}

static bool all(const void *p, size_t len, uint8_t value)
{
	const uint8_t *byte = p;

	while (len--) {
		if (*byte++ != value)
			return false;
	}
	return true;
}

#define ZERO(field) all(&(field), sizeof(field), 0)

/* Offset of the first invalid content, or -1 */
static int stain(const void *p, size_t len)
{
	static const uint8_t patterns[] = { OURS, 0x6b, 0x5a, 0xbb, 0xcc };
	const uint8_t *byte = p;
	uint64_t word;
	size_t at, i;

	for (at = 0; at + 4 <= len; at++) {
		for (i = 0; i < sizeof(patterns); i++) {
			if (all(byte + at, 4, patterns[i]))
				return at;
		}
	}
	/* x86-64 has the kernel in the upper half; -1 is no address. */
	for (at = 0; at + 8 <= len; at += 8) {
		memcpy(&word, byte + at, 8);
		if (word >= 0xffff800000000000ULL && word != UINT64_MAX)
			return at;
	}
	return -1;
}

/* Are the bytes after the address of its family zero? */
static bool addr_clean(const struct rdma_cmx_addr *addr)
{
	size_t len = 0;

	switch (addr->family) {
	case AF_INET:
		len = 16;
		if (!all(&addr->data[6], 8, 0))
			return false;
		break;
	case AF_INET6:
		len = 28;
		break;
	case AF_IB:
		return true;	/* fills it */
	case 0:
		break;
	default:
		return false;
	}
	return all((const char *)addr + len, sizeof(*addr) - len, 0);
}

static bool info_clean(const struct rdma_cmx_id_info *info)
{
	return stain(info, sizeof(*info)) < 0 && ZERO(info->reserved) &&
	       addr_clean(&info->src) && addr_clean(&info->dst);
}

static int id_clean(int fd, uint32_t id)
{
	struct rdma_cmx_id_query query;
	int ret;

	memset(&query, OURS, sizeof(query));
	query.id = id;
	query.flags = 0;
	query.reserved = 0;
	ret = call(fd, ID_QUERY, &query);
	if (ret)
		return ret;
	return stain(&query, sizeof(query)) < 0 && info_clean(&query.info) ?
	       0 : -EBADMSG;
}

/* Each part has its length, and no bytes are between them. */
static bool lengths_clean(const struct rdma_cmx_event *ev)
{
	uint32_t info = ev->flags & RDMA_CMX_EVENT_INFO ?
			sizeof(struct rdma_cmx_id_info) : 0;
	uint32_t param = ev->flags & RDMA_CMX_EVENT_MC_PARAM ?
			 sizeof(struct rdma_cmx_mc_param) : 0;

	return ev->header_len == sizeof(*ev) && ev->info_len == info &&
	       ev->mc_param_len == param &&
	       ev->len == sizeof(*ev) + info + param +
			  ev->num_paths * sizeof(struct ib_path_rec_data) +
			  (ev->private_data_len + 7) / 8 * 8;
}

/* The next event, of @type, which has only its record */
static int event_clean(int fd, uint32_t type, union event_buf *buf)
{
	const struct rdma_cmx_event *ev = &buf->ev;
	const uint8_t *data;
	int ret = event_next(fd, buf);
	uint32_t pad;

	if (ret)
		return ret;
	if (ev->event != type)
		return -EPROTO;
	if (ev->len < sizeof(*ev) || ev->len > sizeof(*buf) || ev->len % 8 ||
	    stain(buf, ev->len) >= 0)
		return -EBADMSG;
	if (!all((char *)buf + ev->len, sizeof(*buf) - ev->len, OURS))
		return -E2BIG;
	if (!ZERO(ev->attempt) || !lengths_clean(ev))
		return -EBADMSG;
	if (!(ev->flags & (RDMA_CMX_EVENT_CONN | RDMA_CMX_EVENT_UD)) &&
	    !ZERO(ev->param))
		return -EBADMSG;
	if (ev->flags & RDMA_CMX_EVENT_CONN && !ZERO(ev->param.conn.reserved))
		return -EBADMSG;
	if (ev->flags & RDMA_CMX_EVENT_INFO &&
	    !info_clean((void *)ev + ev->header_len))
		return -EBADMSG;
	/* Private data is the last part of an event of a connection. */
	if (ev->flags & RDMA_CMX_EVENT_PRIVATE_DATA) {
		pad = -ev->private_data_len & 7;
		data = (uint8_t *)buf + ev->len - pad;
		if (!all(data, pad, 0))
			return -EBADMSG;
	}
	return 0;
}

TEST_F(leaks, get_info)
{
	struct rdma_cmx_get_info info;

	memset(&info, OURS, sizeof(info));
	ASSERT_EQ(0, call(self->fd, GET_INFO, &info));
	EXPECT_EQ(-1, stain(&info, sizeof(info)));
}

TEST_F(leaks, attributes_before_a_connection)
{
	struct rdma_cmx_init_qp_attr attr;
	uint32_t id;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	EXPECT_EQ(0, id_clean(self->fd, id));
	ASSERT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0));
	EXPECT_EQ(0, id_clean(self->fd, id));
	memset(&attr, OURS, sizeof(attr));
	attr.id = id;
	attr.qp_state = 1;
	attr.reserved = 0;
	attr.uid = 0;
	ASSERT_EQ(0, call(self->fd, INIT_QP_ATTR, &attr));
	EXPECT_EQ(-1, stain(&attr, sizeof(attr)));
	EXPECT_TRUE(ZERO(attr.attr.reserved));
	EXPECT_TRUE(ZERO(attr.attr.ah_attr));
	EXPECT_TRUE(ZERO(attr.attr.alt_ah_attr));
}

TEST_F(leaks, connection)
{
	uint32_t listener, active, passive;
	uint16_t port;
	struct rdma_cmx_conn_qp_attr attr;
	struct rdma_cmx_init_qp_attr one;
	union event_buf buf;
	int state;

	ASSERT_EQ(0, listener_new(self->fd, 1, &listener, &port));
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 2, &active));
	ASSERT_EQ(0, id_resolve_addr(self->fd, active, NULL, ADDR_RDMA, port));
	EXPECT_EQ(0, event_clean(self->fd, EV_ADDR_RESOLVED, &buf));
	EXPECT_EQ(0, id_clean(self->fd, active));
	ASSERT_EQ(0, id_resolve_route(self->fd, active));
	EXPECT_EQ(0, event_clean(self->fd, EV_ROUTE_RESOLVED, &buf));
	EXPECT_EQ(0, id_clean(self->fd, active));
	ASSERT_EQ(0, id_connect(self->fd, active));
	EXPECT_EQ(0, event_clean(self->fd, EV_CONNECT_REQUEST, &buf));
	passive = buf.ev.obj;
	EXPECT_EQ(0, id_clean(self->fd, passive));
	for (state = 1; state <= 3; state++) {
		memset(&one, OURS, sizeof(one));
		one.id = passive;
		one.qp_state = state;
		one.reserved = 0;
		one.uid = 0;
		ASSERT_EQ(0, call(self->fd, INIT_QP_ATTR, &one));
		EXPECT_EQ(-1, stain(&one, sizeof(one)));
		EXPECT_TRUE(ZERO(one.attr.reserved));
		EXPECT_TRUE(ZERO(one.attr.ah_attr.reserved));
		EXPECT_TRUE(ZERO(one.attr.ah_attr.grh.reserved));
	}
	memset(&attr, OURS, sizeof(attr));
	attr.id = passive;
	attr.reserved = 0;
	ASSERT_EQ(0, call(self->fd, CONN_QP_ATTR, &attr));
	EXPECT_EQ(-1, stain(&attr, sizeof(attr)));
	EXPECT_TRUE(ZERO(attr.attr.reserved));
	EXPECT_TRUE(ZERO(attr.attr.ah_attr.reserved));
	ASSERT_EQ(0, id_accept(self->fd, passive, 3));
	EXPECT_EQ(0, event_clean(self->fd, EV_CONNECT_RESPONSE, &buf));
	EXPECT_EQ(0, id_clean(self->fd, active));
}

TEST_F(leaks, multicast)
{
	struct rdma_cmx_join_item item = { .uid = 9, .join_flags = 1 };
	struct rdma_cmx_join_many many = {
		.items = (uintptr_t)&item, .count = 1,
		.item_size = sizeof(item),
	};
	union event_buf buf;
	uint32_t id, mc;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_UDP, 1, &id));
	ASSERT_EQ(0, id_bind(self->fd, id, ADDR_RDMA, 0));
	ASSERT_EQ(0, mc_join(self->fd, id, GROUP, 7, &mc));
	EXPECT_EQ(0, event_clean(self->fd, EV_MULTICAST_JOIN, &buf));
	many.id = id;
	addr_set(&item.addr, "239.55.0.2", 0);
	item.mc = 0xa5a5a5a5;
	item.error = 0xa5a5a5a5;
	ASSERT_EQ(0, call(self->fd, JOIN_MANY, &many));
	EXPECT_EQ(-1, stain(&item, sizeof(item)));
	EXPECT_EQ(0, event_clean(self->fd, EV_MULTICAST_JOIN, &buf));
	EXPECT_EQ(0, id_write_event(self->fd, id, 5, 6));
	EXPECT_EQ(0, event_clean(self->fd, RDMA_CMX_EV_USER, &buf));
}

/* Checks entries and the bytes between them. */
static int entries_clean(const void *buf, uint32_t len)
{
	const struct rdma_cmx_ai_entry *e;
	const char *end, *canon;
	uint32_t at;

	if (stain(buf, len) >= 0)
		return -EBADMSG;
	for (at = 0; at < len; at += e->len) {
		e = buf + at;
		if (e->len < sizeof(*e) || e->len > len - at)
			return -EPROTO;
		canon = (char *)(e + 1) + e->route_len +
			(e->connect_len + 7) / 8 * 8;
		end = (char *)e + e->len;
		if (canon + e->canon_len > end)
			return -EPROTO;
		if (e->header_len != sizeof(*e) || !addr_clean(&e->src) ||
		    !addr_clean(&e->dst) ||
		    !all((char *)(e + 1) + e->route_len + e->connect_len,
			 canon - ((char *)(e + 1) + e->route_len +
				  e->connect_len), 0) ||
		    !all(canon + e->canon_len, end - canon - e->canon_len, 0))
			return -EBADMSG;
	}
	return at == len ? 0 : -EPROTO;
}

static void query_make(struct rdma_cmx_ai_query *query, const char *node)
{
	query->node = (uintptr_t)node;
	query->node_len = strlen(node);
	query->port_space = RDMA_PS_TCP;
	query->port = htons(4420);
	query->flags = RDMA_CMX_AIQ_PORT;
	query->timeout_ms = 60000;
}

TEST_F(leaks, getaddrinfo)
{
	static const char *const roce[] = {
		"10.55.0.1", "fd55::1", "storage.cmx.test", "alias.cmx.test"
	};
	static const char *const infiniband[] = {
		"10.66.0.1", "fd66::1", "node1.cmx.test", "node2.cmx.test"
	};
	const char *const *nodes = on_infiniband ? infiniband : roce;
	struct rdma_cmx_getaddrinfo arg;
	uint32_t i, needed;
	char buf[4096];

	for (i = 0; i < 4; i++) {
		memset(&arg, 0, sizeof(arg));
		query_make(&arg.query, nodes[i]);
		arg.buf = (uintptr_t)buf;
		arg.buf_len = 8;
		memset(buf, OURS, sizeof(buf));
		EXPECT_EQ(-ENOSPC, call(self->fd, GETADDRINFO, &arg));
		EXPECT_TRUE(all(buf, sizeof(buf), OURS));
		needed = arg.len;
		arg.buf_len = sizeof(buf);
		ASSERT_EQ(0, call(self->fd, GETADDRINFO, &arg))
			TH_LOG("%s", nodes[i]);
		EXPECT_EQ(needed, arg.len);
		EXPECT_EQ(0, entries_clean(buf, arg.len))
			TH_LOG("%s", nodes[i]);
		EXPECT_TRUE(all(buf + arg.len, sizeof(buf) - arg.len, OURS));
	}
}

TEST_F(leaks, query_addrinfo)
{
	struct rdma_cmx_resolve_addrinfo arg = {};
	struct rdma_cmx_query_addrinfo query = {};
	union event_buf event;
	char buf[4096];
	uint32_t id;

	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &id));
	arg.id = id;
	query_make(&arg.query, on_infiniband ? "node2.cmx.test" : "alias.cmx.test");
	ASSERT_EQ(0, call(self->fd, RESOLVE_ADDRINFO, &arg));
	ASSERT_EQ(0, event_clean(self->fd, RDMA_CMX_EV_ADDRINFO_RESOLVED,
				 &event));
	memset(buf, OURS, sizeof(buf));
	query.id = id;
	query.buf = (uintptr_t)buf;
	query.buf_len = sizeof(struct rdma_cmx_ai_entry);
	EXPECT_EQ(-ENOSPC, call(self->fd, QUERY_ADDRINFO, &query));
	EXPECT_TRUE(all(buf, sizeof(buf), OURS));
	query.buf_len = sizeof(buf);
	ASSERT_EQ(0, call(self->fd, QUERY_ADDRINFO, &query));
	EXPECT_EQ(0, entries_clean(buf, query.len));
	EXPECT_TRUE(all(buf + query.len, sizeof(buf) - query.len, OURS));
}

TEST_F(leaks, services)
{
	struct rdma_cmx_advertise arg = { .service_id = 0x1061999, .name = "leak" };
	struct pollfd pfd = { .fd = self->fd, .events = POLLPRI };
	struct rdma_cmx_query_advertised query;
	struct rdma_cmx_service_port ports[8];
	uint32_t i;

	arg.handle = 0xa5a5a5a5;
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &arg));
	EXPECT_EQ(-1, stain(&arg, sizeof(arg)));
	do {
		memset(&query, OURS, sizeof(query));
		memset(ports, OURS, sizeof(ports));
		query.handle = arg.handle;
		query.ports = (uintptr_t)ports;
		query.max_ports = 8;
		query.port_size = sizeof(ports[0]);
		query.reserved = 0;
		ASSERT_EQ(0, call(self->fd, QUERY_ADVERTISED, &query));
		EXPECT_EQ(-1, stain(&query, sizeof(query)));
		ASSERT_GE(8, query.num_ports);
		EXPECT_EQ(-1, stain(ports, query.num_ports * sizeof(ports[0])));
		EXPECT_TRUE(all(&ports[query.num_ports],
				(8 - query.num_ports) * sizeof(ports[0]), OURS));
		for (i = 0; i < query.num_ports; i++) {
			EXPECT_TRUE(ZERO(ports[i].reserved));
			/* An unset port has no data of a record. */
			EXPECT_TRUE(ports[i].state == RDMA_CMX_SERVICE_PORT_SET ||
				    (ZERO(ports[i].gid) && !ports[i].pkey));
		}
	} while (on_infiniband && query.num_set < query.num_ports &&
		 poll(&pfd, 1, 60000) == 1);
	EXPECT_TRUE(!on_infiniband || query.num_set);
}

TEST_F(leaks, records)
{
	struct rdma_cmx_advertise arg = { .service_id = 0x1061998, .name = "leak" };
	struct pollfd pfd = { .fd = self->fd, .events = POLLPRI };
	struct rdma_cmx_service_record records[8];
	struct rdma_cmx_get_services query;
	uint32_t i;

	if (!on_infiniband)
		SKIP(return, "there is no SA");
	ASSERT_EQ(0, call(self->fd, ADVERTISE, &arg));
	do {
		memset(&query, 0, sizeof(query));
		memset(records, OURS, sizeof(records));
		strcpy((char *)query.service, "leak");
		query.records = (uintptr_t)records;
		query.max_records = 8;
		query.record_size = sizeof(records[0]);
		query.num_records = 0xa5a5a5a5;
		query.num_ports = 0xa5a5a5a5;
		query.error = 0xa5a5a5a5;
		ASSERT_EQ(0, call(self->fd, GET_SERVICES, &query));
		EXPECT_EQ(-1, stain(&query, sizeof(query)));
	} while (!query.num_records && poll(&pfd, 1, 60000) == 1);
	ASSERT_LT(0, query.num_records);
	for (i = 0; i < query.num_records; i++) {
		EXPECT_TRUE(ZERO(records[i].reserved));
		EXPECT_TRUE(ZERO(records[i].data));
		EXPECT_TRUE(all(records[i].name + 4, 60, 0));
	}
	EXPECT_TRUE(all(&records[i], (8 - i) * sizeof(records[0]), OURS));
}

TEST_HARNESS_MAIN
