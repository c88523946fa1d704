// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RA-02, GAI-13: calls of the API of librdmacm that wait for no event: options,
 * devices, shared receive queues and queue pairs, lists that the program has
 * changed, names of events; and NULL in each argument.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_verbs.h>

#include "api.h"

TEST(RA_02_options)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id, *other;
	uint8_t tos = 0x20;
	int on = 1;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	EXPECT_EQ(0, rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
				     &tos, sizeof(tos)));
	EXPECT_EQ(0, rdma_set_option(id, RDMA_OPTION_ID,
				     RDMA_OPTION_ID_REUSEADDR, &on,
				     sizeof(on)));
	EXPECT_EQ(-1, rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
				      &on, 3));
	errno = 0;
	EXPECT_EQ(-1, rdma_set_option(id, 7, 0, &on, sizeof(on)));
	EXPECT_EQ(ENOSYS, errno);
	ASSERT_EQ(0, rdma_bind_addr(id, addr_make(&ss, OWN4, 7602)));

	ASSERT_EQ(0, rdma_create_id(NULL, &other, NULL, RDMA_PS_TCP));
	errno = 0;
	EXPECT_EQ(-1, rdma_bind_addr(other, addr_make(&ss, OWN4, 7602)));
	EXPECT_EQ(EADDRINUSE, errno);
	EXPECT_EQ(0, rdma_set_option(other, RDMA_OPTION_ID,
				     RDMA_OPTION_ID_REUSEADDR, &on,
				     sizeof(on)));
	EXPECT_EQ(0, rdma_bind_addr(other, addr_make(&ss, OWN4, 7602)));
	EXPECT_EQ(0, rdma_destroy_id(other));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST(RA_02_devices)
{
	struct ibv_context **list;
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;
	int count = -1, i;

	list = rdma_get_devices(&count);
	ASSERT_NE(NULL, list);
	ASSERT_LT(0, count);
	EXPECT_EQ(NULL, list[count]);

	/* An id uses one of the same contexts. */
	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	ASSERT_EQ(0, rdma_bind_addr(id, addr_make(&ss, OWN4, 0)));
	for (i = 0; i < count && list[i] != id->verbs; i++)
		;
	EXPECT_LT(i, count);
	EXPECT_STREQ(IBDEV, ibv_get_device_name(id->verbs->device));
	EXPECT_EQ(0, rdma_destroy_id(id));
	rdma_free_devices(list);
	rdma_free_devices(NULL);
}

TEST(RA_02_shared_receive_queue)
{
	struct ibv_srq_init_attr srq_attr = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	EXPECT_EQ(-1, rdma_create_srq(id, NULL, &srq_attr));
	ASSERT_EQ(0, rdma_bind_addr(id, addr_make(&ss, OWN4, 0)));
	ASSERT_EQ(0, rdma_create_srq(id, NULL, &srq_attr));
	ASSERT_NE(NULL, id->srq);
	ASSERT_EQ(0, qp_make(id, IBV_QPT_RC));
	EXPECT_EQ(id->srq, id->qp->srq);
	rdma_destroy_ep(id);
}

TEST(RA_02_qp_needs_a_device)
{
	struct sockaddr_storage ss;
	struct rdma_cm_id *id;

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	errno = 0;
	EXPECT_EQ(-1, qp_make(id, IBV_QPT_RC));
	EXPECT_EQ(EINVAL, errno);
	errno = 0;
	EXPECT_EQ(-1, rdma_connect(id, NULL));
	EXPECT_EQ(EINVAL, errno);
	ASSERT_EQ(0, rdma_bind_addr(id, addr_make(&ss, OWN4, 0)));
	ASSERT_EQ(0, qp_make(id, IBV_QPT_RC));
	EXPECT_NE(NULL, id->send_cq_channel);
	EXPECT_NE(NULL, id->recv_cq);
	errno = 0;
	EXPECT_EQ(-1, qp_make(id, IBV_QPT_RC));
	EXPECT_EQ(EINVAL, errno);
	rdma_destroy_qp(id);
	EXPECT_EQ(NULL, id->qp);
	EXPECT_EQ(NULL, id->send_cq);
	rdma_destroy_qp(id);
	EXPECT_EQ(0, rdma_destroy_id(id));
}

/* The library frees lists that the program has changed. */
TEST(GAI_13_modified_lists)
{
	struct rdma_addrinfo *res, *own;

	ASSERT_EQ(0, rdma_getaddrinfo(OWN4, PORT, NULL, &res));
	free(res->ai_dst_addr);
	res->ai_dst_len = sizeof(struct sockaddr_in6);
	res->ai_dst_addr = calloc(1, res->ai_dst_len);
	free(res->ai_src_canonname);
	res->ai_src_canonname = strdup("changed");
	own = calloc(1, sizeof(*own));
	own->ai_route = malloc(72);
	own->ai_next = res;
	rdma_freeaddrinfo(own);
	rdma_freeaddrinfo(NULL);
}

#define IS_EINVAL(call) do {						\
	errno = 0;							\
	EXPECT_EQ(-1, call);						\
	EXPECT_EQ(EINVAL, errno) {					\
		TH_LOG("%s", #call);					\
	}								\
} while (0)

TEST(RA_02_null)
{
	struct rdma_conn_param param = {};
	struct ibv_qp_init_attr attr = {};
	struct ibv_qp_attr qp = {};
	struct ibv_ece ece = {};
	struct sockaddr addr = {};
	struct rdma_cm_id *id;
	int mask;

	IS_EINVAL(rdma_create_id(NULL, NULL, NULL, RDMA_PS_TCP));
	IS_EINVAL(rdma_destroy_id(NULL));
	IS_EINVAL(rdma_bind_addr(NULL, &addr));
	IS_EINVAL(rdma_resolve_addr(NULL, NULL, &addr, 1));
	IS_EINVAL(rdma_resolve_route(NULL, 1));
	IS_EINVAL(rdma_create_qp(NULL, NULL, &attr));
	IS_EINVAL(rdma_connect(NULL, &param));
	IS_EINVAL(rdma_establish(NULL));
	IS_EINVAL(rdma_listen(NULL, 1));
	IS_EINVAL(rdma_get_request(NULL, &id));
	IS_EINVAL(rdma_accept(NULL, &param));
	IS_EINVAL(rdma_reject(NULL, NULL, 0));
	IS_EINVAL(rdma_notify(NULL, IBV_EVENT_COMM_EST));
	IS_EINVAL(rdma_disconnect(NULL));
	IS_EINVAL(rdma_get_cm_event(NULL, NULL));
	IS_EINVAL(rdma_ack_cm_event(NULL));
	IS_EINVAL(rdma_set_option(NULL, 0, 0, &mask, sizeof(mask)));
	IS_EINVAL(rdma_migrate_id(NULL, NULL));
	IS_EINVAL(rdma_init_qp_attr(NULL, &qp, &mask));
	IS_EINVAL(rdma_set_local_ece(NULL, &ece));
	IS_EINVAL(rdma_get_remote_ece(NULL, &ece));
	IS_EINVAL(rdma_resolve_addrinfo(NULL, PEER4, PORT, NULL));
	IS_EINVAL(rdma_query_addrinfo(NULL, NULL));
	IS_EINVAL(rdma_write_cm_event(NULL, RDMA_CM_EVENT_USER, 0, 0));
	IS_EINVAL(rdma_create_ep(NULL, NULL, NULL, NULL));
	EXPECT_EQ(0, rdma_get_src_port(NULL));
	EXPECT_EQ(0, rdma_get_dst_port(NULL));
	rdma_destroy_qp(NULL);
	rdma_destroy_ep(NULL);
	rdma_destroy_srq(NULL);
	rdma_destroy_event_channel(NULL);

	ASSERT_EQ(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	IS_EINVAL(rdma_bind_addr(id, NULL));
	IS_EINVAL(rdma_bind_addr(id, &addr));
	IS_EINVAL(rdma_resolve_addr(id, NULL, NULL, 1));
	IS_EINVAL(rdma_disconnect(id));
	IS_EINVAL(rdma_get_request(id, NULL));
	IS_EINVAL(rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0));
	EXPECT_EQ(0, rdma_destroy_id(id));
}

TEST(RA_02_event_names)
{
	EXPECT_STREQ("RDMA_CM_EVENT_ADDR_RESOLVED", rdma_event_str(0));
	EXPECT_STREQ("RDMA_CM_EVENT_ADDRINFO_ERROR",
		     rdma_event_str(RDMA_CM_EVENT_ADDRINFO_ERROR));
	EXPECT_STREQ("RDMA_CM_EVENT_USER", rdma_event_str(RDMA_CM_EVENT_USER));
	EXPECT_STREQ("UNKNOWN EVENT", rdma_event_str(99));
	EXPECT_STREQ("UNKNOWN EVENT", rdma_event_str(-1));
}

TEST_HARNESS_MAIN
