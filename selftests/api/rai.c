// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Success of rdma_resolve_addrinfo(), rdma_query_addrinfo() and
 * rdma_write_cm_event(), also while a name server is silent.
 */
#include <fcntl.h>
#include <sys/epoll.h>

#include "api.h"

FIXTURE(rai) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id, *id2;
};

FIXTURE_SETUP(rai)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
				    RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id2, &self->id2,
				    RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(rai)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	EXPECT_EQ(0, rdma_destroy_id(self->id2));
	rdma_destroy_event_channel(self->channel);
}

static const struct rdma_addrinfo rc_hints = {
	.ai_qp_type = IBV_QPT_RC,
	.ai_port_space = RDMA_PS_TCP,
};

/* The order of the events proves it, without a clock. */
TEST_F(rai, RAI_01_silent_server_does_not_block)
{
	struct rdma_cm_event *event;
	char name[128];
	int status;

	name_fresh("silent.test", name, sizeof(name));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, name, PORT, &rc_hints));
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id2, PEER4, PORT, &rc_hints));

	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(self->id2, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event->event);
	rdma_ack_cm_event(event);

	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR, event->event);
	status = event->status;
	EXPECT_EQ(-ETIMEDOUT, status);
	rdma_ack_cm_event(event);
}

TEST_F(rai, RAI_01_other_names_go_on_while_one_is_silent)
{
	struct rdma_cm_event *event;
	char silent[128], name[128];

	name_fresh("silent.test", silent, sizeof(silent));
	name_fresh("any.cmx.test", name, sizeof(name));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, silent, PORT, &rc_hints));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id2, name, PORT, &rc_hints));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(self->id2, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event->event);
	rdma_ack_cm_event(event);
}

TEST_F(rai, RAI_01_fd_becomes_readable)
{
	struct epoll_event ev = { .events = EPOLLIN }, got;
	struct rdma_cm_event *event;
	int ep, flags;

	flags = fcntl(self->channel->fd, F_GETFL);
	ASSERT_EQ(0, fcntl(self->channel->fd, F_SETFL, flags | O_NONBLOCK));
	errno = 0;
	EXPECT_EQ(-1, rdma_get_cm_event(self->channel, &event));
	EXPECT_EQ(EAGAIN, errno);

	ep = epoll_create1(0);
	ASSERT_EQ(0, epoll_ctl(ep, EPOLL_CTL_ADD, self->channel->fd, &ev));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NAME_V4, PORT, NULL));
	ASSERT_EQ(1, epoll_wait(ep, &got, 1, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	EXPECT_EQ(0, epoll_wait(ep, &got, 1, 0));
	close(ep);
}

static void same_expect(struct __test_metadata *_metadata,
			struct rdma_cm_id *id, const char *node,
			const char *service, const struct rdma_addrinfo *hints)
{
	char want[TEXT_MAX], got[TEXT_MAX];
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_getaddrinfo(node, service, hints, &res));
	ai_text(res, want, sizeof(want));
	rdma_freeaddrinfo(res);

	ASSERT_EQ(0, rdma_resolve_addrinfo(id, node, service, hints));
	ASSERT_EQ(0, event_wait(id->channel, &event, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event->event);
	EXPECT_EQ(0, event->status);
	EXPECT_EQ(id, event->id);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	ASSERT_EQ(0, rdma_query_addrinfo(id, &res));
	EXPECT_STREQ(want, ai_text(res, got, sizeof(got)));
	rdma_freeaddrinfo(res);
}

TEST_F(rai, RAI_02_same_list_as_getaddrinfo)
{
	struct rdma_addrinfo passive = rc_hints, v6 = rc_hints;

	passive.ai_flags = RAI_PASSIVE;
	v6.ai_family = AF_INET6;
	same_expect(_metadata, self->id, NAME_STORAGE, PORT, &rc_hints);
	same_expect(_metadata, self->id, NAME_STORAGE, PORT, NULL);
	same_expect(_metadata, self->id, NAME_ALIAS, PORT, &v6);
	same_expect(_metadata, self->id, PEER6, PORT, &rc_hints);
	same_expect(_metadata, self->id, NULL, PORT, &rc_hints);
	same_expect(_metadata, self->id, NULL, PORT, &passive);
	same_expect(_metadata, self->id2, NAME_STORAGE, NULL, &rc_hints);
}

static long requests(void)
{
	FILE *f = fopen("/sys/module/rdma_cmx/counters/requests", "re");
	long value = -1;

	if (f) {
		if (fscanf(f, "%ld", &value) != 1)
			value = -1;
		fclose(f);
	}
	return value;
}

/* The library resolves the wildcard itself, with the result of the kernel. */
TEST_F(rai, RAI_02_same_wildcard)
{
	static const int families[] = { 0, AF_INET, AF_INET6, AF_IB };
	static const int types[][2] = {
		{ 0, 0 }, { 0, RDMA_PS_TCP }, { 0, RDMA_PS_UDP },
		{ 0, RDMA_PS_IPOIB }, { 0, RDMA_PS_IB }, { IBV_QPT_RC, 0 },
		{ IBV_QPT_UC, 0 }, { IBV_QPT_UD, 0 },
		{ IBV_QPT_XRC_RECV, RDMA_PS_TCP }, { IBV_QPT_UD, RDMA_PS_IB },
		{ IBV_QPT_UD, RDMA_PS_IPOIB }, { IBV_QPT_RC, RDMA_PS_IB },
	};
	static const int flags[] = { 0, RAI_NUMERICHOST | RAI_NOROUTE,
				     RAI_FAMILY };
	struct rdma_addrinfo hints = {}, *res;
	unsigned int f, t, g;
	long before;

	for (f = 0; f < ARRAY_SIZE(families); f++) {
		for (t = 0; t < ARRAY_SIZE(types); t++) {
			for (g = 0; g < ARRAY_SIZE(flags); g++) {
				hints.ai_family = families[f];
				hints.ai_qp_type = types[t][0];
				hints.ai_port_space = types[t][1];
				hints.ai_flags = RAI_PASSIVE | flags[g];
				same_expect(_metadata, self->id, NULL, PORT,
					    &hints);
			}
			same_expect(_metadata, self->id, NULL, NULL, &hints);
		}
	}

	before = requests();
	EXPECT_LE(0, before);
	hints = (struct rdma_addrinfo){ .ai_flags = RAI_PASSIVE };
	ASSERT_EQ(0, rdma_getaddrinfo(NULL, PORT, &hints, &res));
	rdma_freeaddrinfo(res);
	EXPECT_EQ(before, requests());
	/* The kernel resolves an address. */
	ASSERT_EQ(0, rdma_getaddrinfo(OWN4, PORT, &hints, &res));
	rdma_freeaddrinfo(res);
	EXPECT_EQ(before + 1, requests());
}

TEST_F(rai, RAI_02_query_once)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NAME_V4, PORT, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(self->id, &res));
	rdma_freeaddrinfo(res);
	errno = 0;
	EXPECT_EQ(-1, rdma_query_addrinfo(self->id, &res));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(rai, RAI_02_query_before_success)
{
	struct rdma_addrinfo *res;
	char name[128];

	errno = 0;
	EXPECT_EQ(-1, rdma_query_addrinfo(self->id, &res));
	EXPECT_EQ(ENOENT, errno);

	name_fresh("silent.test", name, sizeof(name));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, name, PORT, NULL));
	errno = 0;
	EXPECT_EQ(-1, rdma_query_addrinfo(self->id, &res));
	EXPECT_EQ(ENOENT, errno);
	/* The failed call has no effect: the resolution continues. */
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
		  event_take(self->channel, NULL));
	errno = 0;
	EXPECT_EQ(-1, rdma_query_addrinfo(self->id, &res));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(rai, RAI_02_query_before_event_is_read)
{
	struct rdma_addrinfo *res;
	int status = 1;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NAME_STORAGE, PORT,
					   &rc_hints));
	ASSERT_EQ(1, channel_readable(self->channel, WAIT_MS));
	ASSERT_EQ(0, rdma_query_addrinfo(self->id, &res));
	EXPECT_EQ(3, ai_count(res));
	rdma_freeaddrinfo(res);

	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, &status));
	EXPECT_EQ(0, status);
	errno = 0;
	EXPECT_EQ(-1, rdma_query_addrinfo(self->id, &res));
	EXPECT_EQ(ENOENT, errno);
}

TEST_F(rai, RAI_07_new_resolution_without_query)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NAME_STORAGE, PORT,
					   &rc_hints));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NAME_V6, PORT,
					   &rc_hints));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(self->id, &res));
	EXPECT_EQ(1, ai_count(res));
	EXPECT_NE(NULL, ai_find(res, "[fd55::2]:7471"));
	rdma_freeaddrinfo(res);
}

/* The caller owns the result, which outlives the id. */
TEST(RAI_02_result_outlives_id)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;

	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, NAME_V4, PORT, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event_take(channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(id, &res));
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);
}

/* A resolution does not bind the id; bind works meanwhile. */
TEST_F(rai, RAI_02_on_a_bound_id)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NAME_V4, PORT, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(self->id, &res));
	rdma_freeaddrinfo(res);
}

TEST_F(rai, RAI_09_write_event)
{
	struct rdma_cm_event *event;

	ASSERT_EQ(0, rdma_write_cm_event(self->id, RDMA_CM_EVENT_USER, -7,
					 0x123456789abcdef0ULL));
	ASSERT_EQ(0, rdma_write_cm_event(self->id2, RDMA_CM_EVENT_USER, 8,
					 UINT64_MAX));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(RDMA_CM_EVENT_USER, event->event);
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(-7, event->status);
	EXPECT_EQ(0x123456789abcdef0ULL, *(uint64_t *)&event->param);
	rdma_ack_cm_event(event);
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	EXPECT_EQ(self->id2, event->id);
	EXPECT_EQ(8, event->status);
	EXPECT_EQ(UINT64_MAX, *(uint64_t *)&event->param);
	rdma_ack_cm_event(event);
}

TEST_F(rai, RAI_09_other_events_are_refused)
{
	for (int type = -1; type < 40; type++) {
		if (type == RDMA_CM_EVENT_USER)
			continue;
		errno = 0;
		EXPECT_EQ(-1, rdma_write_cm_event(self->id, type, 0, 0)) {
			TH_LOG("event %d", type);
		}
		EXPECT_EQ(EINVAL, errno);
	}
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	errno = 0;
	EXPECT_EQ(-1, rdma_write_cm_event(NULL, RDMA_CM_EVENT_USER, 0, 0));
	EXPECT_EQ(EINVAL, errno);
}

TEST(RAI_02_event_names)
{
	EXPECT_STREQ("RDMA_CM_EVENT_ADDRINFO_RESOLVED",
		     rdma_event_str(RDMA_CM_EVENT_ADDRINFO_RESOLVED));
	EXPECT_STREQ("RDMA_CM_EVENT_ADDRINFO_ERROR",
		     rdma_event_str(RDMA_CM_EVENT_ADDRINFO_ERROR));
	EXPECT_STREQ("RDMA_CM_EVENT_USER", rdma_event_str(RDMA_CM_EVENT_USER));
}

TEST_HARNESS_MAIN
