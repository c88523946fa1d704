// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GAI-08: the device, port and GID index of an entry, and the device that a
 * program or its environment requests.
 */
#include <rdma/rdma_cmx.h>

#include "api.h"

/* Compares the source with the GID at an index, from the verbs. */
static int gid_check(const struct rdma_addrinfo *ai, const char *device,
		     uint8_t port, int index, int type)
{
	const struct sockaddr_in6 *in6 = (void *)ai->ai_src_addr;
	const struct sockaddr_in *in = (void *)ai->ai_src_addr;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;
	struct ibv_gid_entry entry;
	union ibv_gid gid, want = {};
	int i, ret = -1;

	for (i = 0; list && list[i] && !verbs; i++)
		if (!strcmp(ibv_get_device_name(list[i]), device))
			verbs = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!verbs)
		return -2;
	if (in->sin_family == AF_INET) {
		memset(want.raw + 10, 0xff, 2);
		memcpy(want.raw + 12, &in->sin_addr, 4);
	} else {
		memcpy(want.raw, &in6->sin6_addr, 16);
	}
	if (!ibv_query_gid(verbs, port, index, &gid) &&
	    !ibv_query_gid_ex(verbs, port, index, &entry, 0) &&
	    !memcmp(&gid, &want, sizeof(gid)) &&
	    !memcmp(&entry.gid, &want, sizeof(gid)) &&
	    (int)entry.gid_type == type)
		ret = 0;
	ibv_close_device(verbs);
	return ret;
}

TEST(GAI_08_gid_of_an_entry)
{
	struct rdma_addrinfo *res, *ai;
	uint8_t port = 0;
	int reached = 0;

	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, NULL, &res));
	for (ai = res; ai; ai = ai->ai_next) {
		const char *name = rdmacmx_ai_device(ai, &port);
		int type = -1, index;

		errno = 0;
		index = rdmacmx_ai_gid_index(ai, &type);
		if (!name) {
			EXPECT_EQ(-1, index);
			EXPECT_EQ(ENODEV, errno);
			EXPECT_EQ(-1, type);
			continue;
		}
		ASSERT_LE(0, index);
		EXPECT_EQ(IBV_GID_TYPE_ROCE_V2, type);
		EXPECT_EQ(0, gid_check(ai, name, port, index, type));
		EXPECT_NE(0, gid_check(ai, name, port, index + 1, type));
		EXPECT_EQ(index, rdmacmx_ai_gid_index(ai, NULL));
		reached++;
	}
	EXPECT_LT(0, reached);
	rdma_freeaddrinfo(res);
	errno = 0;
	EXPECT_EQ(-1, rdmacmx_ai_gid_index(NULL, NULL));
	EXPECT_EQ(EINVAL, errno);
}

/* The entries of one device; errors, and the ways to name it */
TEST(GAI_08_getaddrinfo_of_a_device)
{
	static const char *const forms[] = { IBDEV, IBDEV ":1", IBDEV "/1" };
	static const struct {
		const char *device;
		int err;
	} wrong[] = {
		{ "nosuch0", ENODEV }, { "", ENODEV }, { ":1", ENODEV },
		{ IBDEV ":", ENODEV }, { IBDEV ":x", ENODEV },
		{ IBDEV ":0", ENXIO }, { IBDEV ":2", ENXIO },
		{ IBDEV ":4294967297", ENXIO },
		{ "n1234567890123456789012345678901234567890"
		  "123456789012345678901234567890", ENODEV },
	};
	struct rdma_addrinfo *res, *ai;
	unsigned int i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		ASSERT_EQ(0, rdmacmx_getaddrinfo(forms[i], NAME_STORAGE, PORT,
						 NULL, &res));
		/* All of storage.cmx.test's but the one without RDMA */
		for (ai = res; ai; ai = ai->ai_next)
			EXPECT_STREQ(IBDEV, rdmacmx_ai_device(ai, NULL));
		rdma_freeaddrinfo(res);
	}
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		errno = 0;
		EXPECT_EQ(EAI_SYSTEM,
			  rdmacmx_getaddrinfo(wrong[i].device, NAME_STORAGE,
					      PORT, NULL, &res));
		EXPECT_EQ(wrong[i].err, errno) TH_LOG("%s", wrong[i].device);
	}
	errno = 0;
	EXPECT_EQ(EAI_SYSTEM, rdmacmx_getaddrinfo(IBDEV, "192.168.77.2", PORT,
						  NULL, &res));
	EXPECT_EQ(ENETUNREACH, errno);
	ASSERT_EQ(0, rdmacmx_getaddrinfo(NULL, "192.168.77.2", PORT, NULL,
					 &res));
	rdma_freeaddrinfo(res);
}

/* The environment selects a device if the program does not. */
TEST(GAI_08_device_of_the_environment)
{
	struct rdma_event_channel *channel;
	struct rdma_addrinfo *res, *ai;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, setenv("RDMACMX_DEVICE", IBDEV ":1", 1));
	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, NULL, &res));
	for (ai = res; ai; ai = ai->ai_next)
		EXPECT_STREQ(IBDEV, rdmacmx_ai_device(ai, NULL));
	rdma_freeaddrinfo(res);

	channel = rdma_create_event_channel();
	ASSERT_NE(NULL, channel);
	ASSERT_EQ(0, rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_resolve_addrinfo(id, NAME_STORAGE, PORT, NULL));
	ASSERT_EQ(0, rdma_get_cm_event(channel, &event));
	EXPECT_EQ(RDMA_CM_EVENT_ADDRINFO_RESOLVED, event->event);
	EXPECT_EQ(0, rdma_ack_cm_event(event));
	ASSERT_EQ(0, rdma_query_addrinfo(id, &res));
	for (ai = res; ai; ai = ai->ai_next)
		EXPECT_STREQ(IBDEV, rdmacmx_ai_device(ai, NULL));
	rdma_freeaddrinfo(res);

	ASSERT_EQ(0, setenv("RDMACMX_DEVICE", "nosuch0", 1));
	errno = 0;
	EXPECT_EQ(-1, rdma_resolve_addrinfo(id, NAME_STORAGE, PORT, NULL));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(EAI_SYSTEM, rdma_getaddrinfo(OWN4, PORT, NULL, &res));
	EXPECT_EQ(ENODEV, errno);
	/* The argument has priority, and an empty value has no effect. */
	ASSERT_EQ(0, rdmacmx_getaddrinfo(IBDEV, OWN4, PORT, NULL, &res));
	rdma_freeaddrinfo(res);
	ASSERT_EQ(0, setenv("RDMACMX_DEVICE", "", 1));
	ASSERT_EQ(0, rdma_getaddrinfo(OWN4, PORT, NULL, &res));
	rdma_freeaddrinfo(res);
	ASSERT_EQ(0, unsetenv("RDMACMX_DEVICE"));
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_destroy_event_channel(channel);
}

TEST(GAI_08_device_of_an_entry)
{
	struct rdma_addrinfo *res, *ai;
	uint8_t port = 0;
	int reached = 0;

	ASSERT_EQ(0, rdma_getaddrinfo(NAME_STORAGE, PORT, NULL, &res));
	for (ai = res; ai; ai = ai->ai_next) {
		const char *name = rdmacmx_ai_device(ai, &port);

		if (!name) {
			EXPECT_EQ(ENODEV, errno);
			continue;
		}
		EXPECT_STREQ(IBDEV, name);
		EXPECT_EQ(1, port);
		EXPECT_EQ(name, rdmacmx_ai_device(ai, NULL));
		reached++;
	}
	EXPECT_LT(0, reached);
	rdma_freeaddrinfo(res);
	errno = 0;
	EXPECT_EQ(NULL, rdmacmx_ai_device(NULL, &port));
	EXPECT_EQ(EINVAL, errno);
}

TEST_HARNESS_MAIN
