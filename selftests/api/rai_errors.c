// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * How an asynchronous resolution fails: later by an event (RAI-03), or at
 * once without one (RAI-04, RAI-05).
 */
#include "api.h"

FIXTURE(rai) {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
};

FIXTURE_SETUP(rai)
{
	self->channel = rdma_create_event_channel();
	ASSERT_NE(NULL, self->channel);
	ASSERT_EQ(0, rdma_create_id(self->channel, &self->id, self,
				    RDMA_PS_TCP));
}

FIXTURE_TEARDOWN(rai)
{
	EXPECT_EQ(0, rdma_destroy_id(self->id));
	rdma_destroy_event_channel(self->channel);
}

/* Resolves a name that fails later; the status of the event, which is not 0. */
static int status_of(struct rdma_cm_id *id, const char *node, int family)
{
	struct rdma_addrinfo hints = { .ai_family = family };
	int status = 1, type;

	if (rdma_resolve_addrinfo(id, node, PORT, &hints))
		return 2;
	type = event_take(id->channel, &status);
	return type == RDMA_CM_EVENT_ADDRINFO_ERROR ? status : 3;
}

static void resolves_expect(struct __test_metadata *_metadata,
			    struct rdma_cm_id *id)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_resolve_addrinfo(id, NAME_V4, PORT, NULL));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(id->channel, NULL));
	ASSERT_EQ(0, rdma_query_addrinfo(id, &res));
	EXPECT_NE(NULL, ai_find(res, "10.55.0.2:7471"));
	rdma_freeaddrinfo(res);
}

TEST_F(rai, RAI_03_no_such_name)
{
	char name[128];

	name_fresh("cmx.test", name, sizeof(name));
	EXPECT_EQ(-ENOENT, status_of(self->id, name, 0));
	/* The response of the cache is the same. */
	EXPECT_EQ(-ENOENT, status_of(self->id, name, 0));
	resolves_expect(_metadata, self->id);
}

TEST_F(rai, RAI_03_timed_out)
{
	char name[128];

	name_fresh("silent.test", name, sizeof(name));
	EXPECT_EQ(-ETIMEDOUT, status_of(self->id, name, 0));
	resolves_expect(_metadata, self->id);
}

TEST_F(rai, RAI_03_temporary)
{
	char name[128];

	name_fresh("servfail.test", name, sizeof(name));
	EXPECT_EQ(-EAGAIN, status_of(self->id, name, 0));
	resolves_expect(_metadata, self->id);
}

/* Further errnos that <rdma/rdma_cmx_ioctl.h> lists */
TEST_F(rai, RAI_03_other_reasons)
{
	char name[128];

	name_fresh("refused.test", name, sizeof(name));
	EXPECT_EQ(-ECONNREFUSED, status_of(self->id, name, 0));
	EXPECT_EQ(-ENODATA, status_of(self->id, NAME_NODATA, 0));
	EXPECT_EQ(-EADDRNOTAVAIL, status_of(self->id, NAME_V4, AF_INET6));
	resolves_expect(_metadata, self->id);
}

TEST_F(rai, RAI_03_error_after_success_leaves_no_old_result)
{
	struct rdma_addrinfo *res;

	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NAME_V4, PORT, NULL));
	ASSERT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
	EXPECT_EQ(-ENOENT, status_of(self->id, "nobody.cmx.test", 0));
	errno = 0;
	EXPECT_EQ(-1, rdma_query_addrinfo(self->id, &res));
	EXPECT_EQ(ENOENT, errno);
}

/*
 * -1 with errno and no event. The next event is one that is written afterwards,
 * so the failed call has no pending event.
 */
static int at_once(struct rdma_cm_id *id, const char *node,
		   const char *service, const struct rdma_addrinfo *hints)
{
	int ret, err;

	errno = 0;
	ret = rdma_resolve_addrinfo(id, node, service, hints);
	err = errno;
	if (ret != -1)
		return -1000 - ret;
	if (rdma_write_cm_event(id, RDMA_CM_EVENT_USER, 0, 0) ||
	    event_take(id->channel, NULL) != RDMA_CM_EVENT_USER ||
	    channel_readable(id->channel, 0))
		return -2000;
	return err;
}

TEST_F(rai, RAI_04_fails_at_once_without_event)
{
	struct rdma_addrinfo hints = { .ai_flags = 0x40 };
	struct sockaddr_storage ss;

	/* RDMA_CMX_AI_ERRNOS: unknown flags, family, QP type */
	EXPECT_EQ(EOPNOTSUPP, at_once(self->id, PEER4, PORT, &hints));
	EXPECT_EQ(EOPNOTSUPP, at_once(self->id, NAME_V4, PORT, &hints));

	memset(&hints, 0, sizeof(hints));
	hints.ai_family = AF_UNIX;
	EXPECT_EQ(EAFNOSUPPORT, at_once(self->id, NAME_V4, PORT, &hints));

	memset(&hints, 0, sizeof(hints));
	hints.ai_qp_type = IBV_QPT_UD;
	hints.ai_port_space = RDMA_PS_TCP;
	EXPECT_EQ(EPROTOTYPE, at_once(self->id, NAME_V4, PORT, &hints));

	memset(&hints, 0, sizeof(hints));
	hints.ai_dst_len = 16;
	EXPECT_EQ(EINVAL, at_once(self->id, NULL, NULL, &hints));
	hints.ai_dst_addr = addr_make(&ss, PEER4, 0);
	hints.ai_dst_len = 15;
	EXPECT_EQ(EINVAL, at_once(self->id, NULL, NULL, &hints));

	resolves_expect(_metadata, self->id);
}

TEST_F(rai, RAI_04_nothing_to_resolve)
{
	EXPECT_LT(0, at_once(self->id, NULL, NULL, NULL));
	resolves_expect(_metadata, self->id);
}

TEST_F(rai, RAI_04_bad_service)
{
	static const char *const unknown[] = { "nosuchservice", "-1" };
	int status;

	EXPECT_EQ(EINVAL, at_once(self->id, PEER4, "70000", NULL));
	/* The name service reports these errors. */
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		status = 0;
		ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, PEER4, unknown[i],
						   NULL));
		EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
			  event_take(self->channel, &status));
		EXPECT_EQ(-EINVAL, status);
	}
	resolves_expect(_metadata, self->id);
}

TEST_F(rai, RAI_04_null)
{
	struct rdma_addrinfo *res;

	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(NULL, NAME_V4, PORT, NULL));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_query_addrinfo(NULL, &res));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_query_addrinfo(self->id, NULL));
	EXPECT_EQ(EINVAL, errno);
}

/* An overlong name fails without a crash, at once or later. */
TEST_F(rai, RAI_04_overlong_name)
{
	static char name[100000];
	int status = 0, ret;

	for (size_t len = 254; len < sizeof(name); len *= 7) {
		memset(name, 'a', len);
		name[len] = '\0';
		ret = rdma_resolve_addrinfo(self->id, name, PORT, NULL);
		if (!ret) {
			EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_ERROR,
				  event_take(self->channel, &status));
			EXPECT_EQ(-ENOENT, status);
		} else {
			EXPECT_EQ(-1, ret);
		}
	}
	resolves_expect(_metadata, self->id);
}

TEST_F(rai, RAI_05_default_is_dns)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_DNS };

	resolves_expect(_metadata, self->id);
	ASSERT_EQ(0, rdma_resolve_addrinfo(self->id, NAME_V4, PORT, &hints));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED,
		  event_take(self->channel, NULL));
}

TEST_F(rai, RAI_05_both_flags)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA | RAI_DNS };

	EXPECT_EQ(EOPNOTSUPP, at_once(self->id, NULL, "svc", &hints));
	EXPECT_EQ(EOPNOTSUPP, at_once(self->id, NAME_V4, PORT, &hints));
}

TEST_F(rai, RAI_05_sa_with_node)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };

	EXPECT_EQ(EOPNOTSUPP, at_once(self->id, NAME_V4, "svc", &hints));
	EXPECT_EQ(EOPNOTSUPP, at_once(self->id, PEER4, "svc", &hints));
}

TEST_F(rai, RAI_05_sa_without_service)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };

	EXPECT_EQ(EINVAL, at_once(self->id, NULL, NULL, &hints));
}

TEST_F(rai, RAI_05_sa_on_unbound_id)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };

	EXPECT_LT(0, at_once(self->id, NULL, "svc", &hints));
}

TEST_F(rai, RAI_05_sa_on_roce_port)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA };

	ASSERT_EQ(0, id_bind(self->id, OWN4, 0));
	EXPECT_LT(0, at_once(self->id, NULL, "svc", &hints));
	EXPECT_LT(0, at_once(self->id, NULL, "0x1234", &hints));
}

TEST_HARNESS_MAIN
