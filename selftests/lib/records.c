// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02: the library on a kernel of another age. The tests change the output of
 * the kernel: structs that are longer than the library knows, or shorter, parts
 * that it does not know, and values that only an odd peer sends.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cmx.h>
#include <rdma/rdma_cmx_ioctl.h>

#include "api.h"
#include "intercept.h"

#define MORE	16		/* extra bytes of a newer kernel's struct */
#define PORT_RECORDS	7650
#define PORT_TEXT	"7650"
#define GROUP	"239.55.65.1"

static enum {
	AS_IT_IS,
	LONGER,			/* each struct, and an unknown part */
	SHORT_INFO,		/* of an older kernel, without the GIDs */
	SHORT_HEADER,
	ODD_HEADER,
	LONG_HEADER,		/* longer than the record */
	LONG_INFO,		/* likewise */
	LONG_RECORD,		/* than a record may be */
	NO_REASON,		/* a peer's REJ with reason 0 */
} age;

static unsigned int changed;

/* Opens a gap of @len bytes at @at, with invalid content. */
static void gap_open(uint8_t *buf, size_t used, size_t at, size_t len)
{
	memmove(buf + at + len, buf + at, used - at);
	memset(buf + at, 0xee, len);
}

static void event_longer(struct rdma_cmx_event *ev)
{
	size_t pad = (ev->private_data_len + 7) & ~7;
	uint8_t *buf = (void *)ev;
	size_t at = ev->header_len;

	gap_open(buf, ev->len, at, MORE);
	ev->len += MORE;
	ev->header_len += MORE;
	at += MORE + ev->info_len;
	if (ev->flags & RDMA_CMX_EVENT_INFO) {
		gap_open(buf, ev->len, at, MORE);
		ev->len += MORE;
		ev->info_len += MORE;
		at += MORE;
	}
	at += ev->num_paths * sizeof(struct ib_path_rec_data) + pad +
	      ev->mc_param_len;
	if (ev->flags & RDMA_CMX_EVENT_MC_PARAM) {
		gap_open(buf, ev->len, at, MORE);
		ev->len += MORE;
		ev->mc_param_len += MORE;
		at += MORE;
	}
	gap_open(buf, ev->len, at, 3 * MORE);
	ev->len += 3 * MORE;
	ev->flags |= 1 << 9 | 1 << 15;
}

static void event_short_info(struct rdma_cmx_event *ev)
{
	const size_t cut = sizeof(struct rdma_cmx_id_info) -
			   offsetof(struct rdma_cmx_id_info, src_ib);
	uint8_t *buf = (void *)ev;
	size_t end = ev->header_len + ev->info_len;

	if (!(ev->flags & RDMA_CMX_EVENT_INFO))
		return;
	memmove(buf + end - cut, buf + end, ev->len - end);
	ev->len -= cut;
	ev->info_len -= cut;
}

static void event_change(struct rdma_cmx_event *ev)
{
	switch (age) {
	case LONGER:
		event_longer(ev);
		break;
	case SHORT_INFO:
		event_short_info(ev);
		break;
	case SHORT_HEADER:
		ev->header_len -= 8;
		break;
	case ODD_HEADER:
		ev->header_len += 4;
		break;
	case LONG_HEADER:
		ev->header_len = ev->len + 8;
		break;
	case LONG_INFO:
		ev->flags |= RDMA_CMX_EVENT_INFO;
		ev->info_len = ev->len;
		break;
	case LONG_RECORD:
		ev->len = RDMA_CMX_MAX_EVENT + 8;
		break;
	case NO_REASON:
		if (ev->event != RDMA_CM_EVENT_REJECTED)
			return;
		ev->status = 0;
		break;
	default:
		return;
	}
	changed++;
}

static void entry_change(struct rdma_cmx_ai_entry *e, uint8_t *buf,
			 uint32_t *len)
{
	switch (age) {
	case LONGER:
		gap_open(buf, *len, (uint8_t *)e - buf + e->header_len, MORE);
		e->header_len += MORE;
		e->len += MORE;
		*len += MORE;
		break;
	case SHORT_HEADER:
		/* Shorter than the first published struct */
		e->header_len = 128;
		break;
	case ODD_HEADER:
		e->header_len += 4;
		break;
	case LONG_HEADER:
		e->header_len = e->len + 8;
		break;
	default:
		return;
	}
	changed++;
}

static int entries_change(void *buf, uint32_t *len, uint32_t room)
{
	struct rdma_cmx_ai_entry *e;
	uint32_t pos, n = 0;

	for (pos = 0; pos < *len; pos += e->len, n++)
		e = buf + pos;
	if (*len + n * MORE > room) {
		*len += n * MORE;
		errno = ENOSPC;
		return -1;
	}
	for (pos = 0; pos < *len; pos += e->len) {
		e = buf + pos;
		entry_change(e, buf, len);
	}
	return 0;
}

static int ioctl_intercept(int fd, unsigned long request, void *arg)
{
	struct rdma_cmx_query_addrinfo *query;
	struct rdma_cmx_getaddrinfo *gai;
	struct rdma_cmx_get_events *get;
	int ret;

	ret = ioctl_real(fd, request, arg);
	if (ret || age == AS_IT_IS)
		return ret;
	switch (request) {
	case RDMA_CMX_IO(GET_EVENTS):
		get = arg;
		event_change((void *)(uintptr_t)get->buf);
		return 0;
	case RDMA_CMX_IO(GETADDRINFO):
		gai = arg;
		return entries_change((void *)(uintptr_t)gai->buf, &gai->len,
				      gai->buf_len);
	case RDMA_CMX_IO(QUERY_ADDRINFO):
		query = arg;
		return entries_change((void *)(uintptr_t)query->buf,
				      &query->len, query->buf_len);
	}
	return 0;
}

FIXTURE(records) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	bool file_stays;	/* file of calls without a channel */
};

FIXTURE_SETUP(records)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, NULL,
				    RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(records)
{
	age = AS_IT_IS;
	rdma_destroy_id(self->id);
	rdma_destroy_event_channel(self->channel);
	if (!self->file_stays)
		EXPECT_TRUE(live_objects_gone(WAIT_MS));
}

TEST_F(records, longer_user_event)
{
	struct rdma_cm_event *event;

	age = LONGER;
	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, -5,
					 0x123456789));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_USER, event->event);
	EXPECT_EQ(-5, event->status);
	EXPECT_EQ(0x123456789, event->param.arg);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(1, changed);
}

/* Two ids of one address resolve the same, whatever follows the known part. */
TEST_F(records, longer_info_and_paths)
{
	struct rdma_cm_id *id;
	int status;

	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(id, NULL, OWN4, PORT_RECORDS, &status));
	ASSERT_EQ(0, rdma_resolve_route(id, 5000));
	ASSERT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, &status));
	age = LONGER;
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, OWN4, PORT_RECORDS, &status));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 5000));
	ASSERT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, &status));
	EXPECT_EQ(2, changed);
	EXPECT_EQ(id->verbs, self->id->verbs);
	EXPECT_EQ(id->port_num, self->id->port_num);
	EXPECT_EQ(0, memcmp(&id->route.addr.addr.ibaddr,
			    &self->id->route.addr.addr.ibaddr,
			    sizeof(id->route.addr.addr.ibaddr)));
	ASSERT_EQ(1, id->route.num_paths);
	ASSERT_EQ(1, self->id->route.num_paths);
	/* All but the flow label, which depends on the port */
	id->route.path_rec->flow_label = self->id->route.path_rec->flow_label;
	EXPECT_EQ(0, memcmp(id->route.path_rec, self->id->route.path_rec,
			    sizeof(*id->route.path_rec)));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* Behind a longer part, and before an unknown one */
TEST_F(records, longer_connect_request)
{
	struct rdma_conn_param param = {
		.private_data = "13 bytes here", .private_data_len = 13,
		.responder_resources = 1, .initiator_depth = 1,
		.qp_num = 0x4711,
	};
	struct rdma_cm_id *listener;
	struct rdma_cm_event *event;
	int status;

	ASSERT_EQ(0, rdma_create_id(self->channel, &listener, NULL,
				    RDMA_PS_TCP));
	ASSERT_EQ(0, id_bind(listener, OWN4, PORT_RECORDS));
	ASSERT_EQ(0, rdma_listen(listener, 1));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, OWN4, PORT_RECORDS, &status));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 5000));
	ASSERT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, &status));
	age = LONGER;
	ASSERT_EQ(0, rdma_connect(self->id, &param));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	ASSERT_EQ(RDMA_CM_EVENT_CONNECT_REQUEST, event->event);
	EXPECT_EQ(listener, event->listen_id);
	EXPECT_EQ(0x4711, event->param.conn.qp_num);
	/* The message of rdma_cm is longer, and its length is reported. */
	ASSERT_LE(13, event->param.conn.private_data_len);
	EXPECT_EQ(0, memcmp("13 bytes here", event->param.conn.private_data,
			    13));
	EXPECT_NE(NULL, event->id->verbs);
	EXPECT_EQ(1, event->id->route.num_paths);
	EXPECT_EQ(0, rdma_destroy_id(event->id));
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	EXPECT_EQ(0, rdma_destroy_id(listener));
}

TEST_F(records, longer_multicast_join)
{
	struct rdmacmx_group group = {}, grown = {};
	struct rdma_cm_event *event;
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	struct sockaddr *addr = addr_make(&ss, GROUP, 0);
	int i;

	ASSERT_EQ(0, rdma_create_id(self->channel, &id, NULL, RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(id, OWN4, 0));
	for (i = 0; i < 2; i++) {
		age = i ? LONGER : AS_IT_IS;
		ASSERT_EQ(0, rdma_join_multicast(id, addr, &group));
		ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
		ASSERT_EQ(RDMA_CM_EVENT_MULTICAST_JOIN, event->event);
		EXPECT_EQ(&group, event->param.ud.private_data);
		EXPECT_EQ(0, rdmacmx_event_group(event, i ? &grown : &group));
		EXPECT_EQ(0, rdma_ack_cm_event(event));
		EXPECT_EQ(0, rdma_leave_multicast(id, addr));
	}
	EXPECT_EQ(1, changed);
	EXPECT_NE(0, group.mask);
	EXPECT_EQ(0, memcmp(&group, &grown, sizeof(group)));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* Fields that an older kernel lacks are zero, and the rest is right. */
TEST_F(records, shorter_info)
{
	static const union ibv_gid zero;
	int status;

	age = SHORT_INFO;
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, OWN4, PORT_RECORDS, &status));
	EXPECT_EQ(1, changed);
	EXPECT_NE(NULL, self->id->verbs);
	EXPECT_EQ(AF_INET, rdma_get_local_addr(self->id)->sa_family);
	EXPECT_EQ(PORT_RECORDS, ntohs(rdma_get_dst_port(self->id)));
	EXPECT_EQ(0, memcmp(&zero, &self->id->route.addr.addr.ibaddr.sgid,
			    sizeof(zero)));
	EXPECT_EQ(0, memcmp(&zero, &self->id->route.addr.addr.ibaddr.dgid,
			    sizeof(zero)));
}

TEST_F(records, lengths_that_cannot_be)
{
	struct rdma_cm_event *event;
	int how;

	for (how = SHORT_HEADER; how <= LONG_RECORD; how++) {
		age = how;
		ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER,
						 0, 0));
		EXPECT_EQ(-1, rdma_get_cm_event(self->channel, &event));
		EXPECT_EQ(EPROTO, errno) {
			TH_LOG("way %d", how);
		}
	}
	/* The kernel has reported them, and no thread can ack them. */
	rdma_destroy_event_channel(self->channel);
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
}

TEST_F(records, addresses)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP };
	static const char *const nodes[] = { OWN4, NAME_STORAGE, NAME_ALIAS };
	char text[2][TEXT_MAX];
	struct rdma_addrinfo *res;
	unsigned int i, how;

	self->file_stays = true;
	for (i = 0; i < 3; i++) {
		for (how = 0; how < 2; how++) {
			age = how ? LONGER : AS_IT_IS;
			ASSERT_EQ(0, rdma_getaddrinfo(nodes[i], PORT, &hints,
						      &res));
			ai_text(res, text[how], TEXT_MAX);
			rdma_freeaddrinfo(res);
		}
		EXPECT_STREQ(text[0], text[1]);
		ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, nodes[i], PORT,
						   &hints));
		ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
			  event_take(self->channel, NULL));
		ASSERT_EQ(0, rdma_query_addrinfo(self->id, &res));
		EXPECT_STREQ(text[0], ai_text(res, text[1], TEXT_MAX));
		rdma_freeaddrinfo(res);
	}
	EXPECT_LE(9, changed);
	for (age = SHORT_HEADER; age <= LONG_HEADER; age++) {
		EXPECT_EQ(EAI_SYSTEM, rdma_getaddrinfo(OWN4, PORT, &hints,
						       &res));
		EXPECT_EQ(EPROTO, errno);
	}
}

/* ib_cm takes the reason of a REJ as it comes: rejected is rejected. */
TEST_F(records, rejected_with_reason_0)
{
	struct ibv_qp_init_attr qp = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	const struct rdmacmx_connect_attr attr = { .qp_init_attr = &qp };
	struct sockaddr_storage ss;
	struct rdma_cm_id *ids[2];
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, rdma_create_id(NULL, &ids[i], NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(ids[0], NULL,
				       addr_make(&ss, OWN4, PORT_RECORDS),
				       5000));
	ASSERT_EQ(0, rdma_resolve_route(ids[0], 5000));
	ASSERT_EQ(0, qp_make(ids[0], IBV_QPT_RC));
	age = NO_REASON;
	errno = 0;
	EXPECT_EQ(-1, rdma_connect(ids[0], NULL));
	EXPECT_EQ(ECONNREFUSED, errno);
	EXPECT_EQ(1, changed);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_connect_name(ids[1], OWN4, PORT_TEXT, NULL,
					   &attr));
	EXPECT_EQ(ECONNREFUSED, errno);
	EXPECT_EQ(2, changed);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(RDMA_CM_EVENT_REJECTED, ids[i]->event->event);
		EXPECT_EQ(0, ids[i]->event->status);
		rdma_destroy_ep(ids[i]);
	}
}

TEST_HARNESS_MAIN
