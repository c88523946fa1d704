// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-01: rdma_resolve_addr() on RoCE. RA-02: a refused datagram id. RA-04: the
 * first event channel opens no device.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>

#include "api.h"

#define UD_PORT		7557

FIXTURE(ra) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(ra)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
				    RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(ra)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

static void bound_expect(struct __test_metadata *_metadata,
			 struct rdma_cm_id *id, const char *src,
			 const char *dst)
{
	char text[160];

	ASSERT_NE(NULL, id->verbs);
	EXPECT_STREQ(IBDEV, ibv_get_device_name(id->verbs->device));
	EXPECT_EQ(1, id->port_num);
	EXPECT_STREQ(src, host_text(rdma_get_local_addr(id), text, 160));
	EXPECT_STREQ(dst, host_text(rdma_get_peer_addr(id), text, 160));
}

TEST_F(ra, RA_01_destination_only)
{
	int status = 1;

	EXPECT_EQ(NULL, self->id->verbs);
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, PEER4, 7471, &status));
	EXPECT_EQ(0, status);
	bound_expect(_metadata, self->id, OWN4, PEER4);
	EXPECT_EQ(htons(7471), rdma_get_dst_port(self->id));
	EXPECT_NE(0, rdma_get_src_port(self->id));
}

TEST_F(ra, RA_01_destination_only_ipv6)
{
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, PEER6, 7471, NULL));
	bound_expect(_metadata, self->id, OWN6, PEER6);
}

TEST_F(ra, RA_01_source_and_destination)
{
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, OWN4, PEER4, 7471, NULL));
	bound_expect(_metadata, self->id, OWN4, PEER4);
}

TEST_F(ra, RA_01_source_is_like_bind)
{
	struct sockaddr_storage src, dst;
	struct rdma_cm_id *bound;

	/* The port of the source becomes the id's port, as after a bind. */
	addr_make(&dst, PEER4, 7471);
	ASSERT_EQ(0, rdma_resolve_addr(self->id, addr_make(&src, OWN4, 7555),
				       (struct sockaddr *)&dst, 30000));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, event_take(self->channel, NULL));
	EXPECT_EQ(htons(7555), rdma_get_src_port(self->id));

	/* The port is in use: bind and resolve fail. */
	ASSERT_EQ(0, rdma_create_id(self->channel, &bound, NULL, RDMA_PS_TCP));
	errno = 0;
	EXPECT_EQ(-1, rdma_bind_addr(bound, (struct sockaddr *)&src));
	EXPECT_EQ(EADDRINUSE, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addr(bound, (struct sockaddr *)&src,
					(struct sockaddr *)&dst, 30000));
	EXPECT_EQ(EADDRINUSE, errno);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
	rdma_destroy_id(bound);
}

TEST_F(ra, RA_01_bad_source_is_like_bad_bind)
{
	/* Not local; local without an RDMA device */
	static const char *const hosts[] = { "203.0.113.1", MGMT4 };
	struct sockaddr_storage src, dst;
	int bind_errno;

	addr_make(&dst, PEER4, 7471);
	for (int i = 0; i < 2; i++) {
		addr_make(&src, hosts[i], 0);
		errno = 0;
		ASSERT_EQ(-1, rdma_bind_addr(self->id,
					     (struct sockaddr *)&src));
		bind_errno = errno;
		EXPECT_NE(0, bind_errno);
		errno = 0;
		ASSERT_EQ(-1, rdma_resolve_addr(self->id,
						(struct sockaddr *)&src,
						(struct sockaddr *)&dst, 30000));
		EXPECT_EQ(bind_errno, errno);
		EXPECT_EQ(0, channel_readable(self->channel, 0));
	}
}

TEST_F(ra, RA_01_bound_before)
{
	ASSERT_EQ(0, id_bind(self->id, OWN4, 7556));
	ASSERT_NE(NULL, self->id->verbs);
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, PEER4, 7471, NULL));
	bound_expect(_metadata, self->id, OWN4, PEER4);
	EXPECT_EQ(htons(7556), rdma_get_src_port(self->id));
}

TEST_F(ra, RA_01_routing_table)
{
	int type;

	ASSERT_EQ(0, run("ip route replace 10.66.0.0/24 via " PEER4));
	type = id_resolve_addr(self->id, NULL, "10.66.0.9", 7471, NULL);
	run("ip route del 10.66.0.0/24");
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED, type);
	bound_expect(_metadata, self->id, OWN4, "10.66.0.9");
}

TEST_F(ra, RA_01_arp_and_nd)
{
	struct rdma_cm_id *id6;

	ASSERT_EQ(0, run("ip neigh flush to " PEER4 " dev " ETH));
	ASSERT_EQ(0, run("ip neigh flush to " PEER6 " dev " ETH));
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, PEER4, 7471, NULL));
	EXPECT_EQ(0, run("ip neigh show " PEER4 " dev " ETH " | grep -q lladdr"));

	ASSERT_EQ(0, rdma_create_id(self->channel, &id6, NULL, RDMA_PS_TCP));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(id6, NULL, PEER6, 7471, NULL));
	EXPECT_EQ(0, run("ip neigh show " PEER6 " dev " ETH " | grep -q lladdr"));
	rdma_destroy_id(id6);
}

/* Of two timeouts the shorter one expires first, and not early. */
TEST_F(ra, RA_01_timeout_is_kept)
{
	struct sockaddr_storage dst;
	struct rdma_cm_event *event;
	struct rdma_cm_id *longer;
	long long begin, took;

	run("ip neigh flush to " NOBODY4 " dev " ETH);
	ASSERT_EQ(0, rdma_create_id(self->channel, &longer, NULL,
				    RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addr(longer, NULL,
				       addr_make(&dst, NOBODY4, 7471), 60000));
	begin = now_ms();
	ASSERT_EQ(0, rdma_resolve_addr(self->id, NULL,
				       addr_make(&dst, NOBODY4, 7471), 500));
	ASSERT_EQ(0, event_wait(self->channel, &event, WAIT_MS));
	took = now_ms() - begin;
	EXPECT_EQ(self->id, event->id);
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_ERROR, event->event);
	EXPECT_EQ(-ETIMEDOUT, event->status);
	EXPECT_LE(450, took);
	rdma_ack_cm_event(event);
	EXPECT_EQ(0, rdma_destroy_id(longer));
}

TEST_F(ra, RA_01_failure_is_addr_error)
{
	int status = 0;

	/* Has a route, but through a device without RDMA */
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_ERROR,
		  id_resolve_addr(self->id, NULL, MGMT_PEER4, 7471, &status));
	EXPECT_GT(0, status);
	EXPECT_EQ(NULL, self->id->verbs);
}

TEST_F(ra, RA_01_id_is_usable_after_failure)
{
	int status;

	EXPECT_EQ(RDMA_CM_EVENT_ADDR_ERROR,
		  id_resolve_addr(self->id, NULL, MGMT_PEER4, 7471, &status));
	rdma_destroy_id(self->id);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
				    RDMA_PS_TCP));
	EXPECT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, PEER4, 7471, NULL));
}

TEST_F(ra, RA_01_route_follows)
{
	ASSERT_EQ(RDMA_CM_EVENT_ADDR_RESOLVED,
		  id_resolve_addr(self->id, NULL, PEER4, 7471, NULL));
	ASSERT_EQ(0, rdma_resolve_route(self->id, 30000));
	EXPECT_EQ(RDMA_CM_EVENT_ROUTE_RESOLVED,
		  event_take(self->channel, NULL));
	EXPECT_LE(1, self->id->route.num_paths);
	EXPECT_NE(NULL, self->id->route.path_rec);
}

TEST_F(ra, RA_01_misuse)
{
	struct sockaddr_storage dst;

	addr_make(&dst, PEER4, 7471);
	EXPECT_EQ(-1, rdma_resolve_addr(self->id, NULL, NULL, 1000));
	EXPECT_EQ(-1, rdma_resolve_route(self->id, 1000));
	dst.ss_family = AF_UNIX;
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addr(self->id, NULL,
					(struct sockaddr *)&dst, 1000));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(0, channel_readable(self->channel, 0));
}

/* Connects a synchronous datagram id. Returns the errno, and the status. */
static int datagram_connect(int *status)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct sockaddr_storage dst;
	struct rdma_cm_id *id;
	int err;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_UDP))
		return errno;
	err = rdma_resolve_addr(id, NULL, addr_make(&dst, OWN4, UD_PORT),
				30000) ||
	      rdma_resolve_route(id, 30000) ? -1 : 0;
	if (!err)
		err = rdma_connect(id, &param) ? errno : 0;
	*status = id->event ? id->event->status : 0;
	rdma_destroy_id(id);
	return err;
}

static void *request_reject(void *channel)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (event_wait(channel, &event, WAIT_MS))
		return "no request";
	id = event->id;
	rdma_ack_cm_event(event);
	if (rdma_reject(id, NULL, 0))
		return "no reject";
	return rdma_destroy_id(id) ? "not destroyed" : NULL;
}

/* The status of the reply is not the errno. */
TEST_F(ra, RA_02_datagram_id_is_refused)
{
	struct rdma_cm_id *listener;
	pthread_t thread;
	void *error;
	int status;

	EXPECT_EQ(ECONNREFUSED, datagram_connect(&status));
	EXPECT_LT(0, status);

	ASSERT_EQ(0, rdma_create_id(self->channel, &listener, NULL,
				    RDMA_PS_UDP));
	ASSERT_EQ(0, id_bind(listener, OWN4, UD_PORT));
	ASSERT_EQ(0, rdma_listen(listener, 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, request_reject,
				    self->channel));
	EXPECT_EQ(ECONNREFUSED, datagram_connect(&status));
	EXPECT_LT(0, status);
	ASSERT_EQ(0, pthread_join(thread, &error));
	EXPECT_EQ(NULL, error);
	EXPECT_EQ(0, rdma_destroy_id(listener));
}

/* The channel works without /sys. first_channel.sh tests its open files. */
TEST(RA_04_first_channel_without_sysfs)
{
	struct rdma_event_channel *channel;

	ASSERT_EQ(0, unshare(CLONE_NEWNS));
	ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ASSERT_EQ(0, mount("none", "/sys", "tmpfs", 0, NULL));
	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	EXPECT_EQ(0, channel_readable(channel, 0));
	rdma_destroy_event_channel(channel);
}

TEST_HARNESS_MAIN
