// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * accept PORT: accepts all requests to PORT, by any address, any number at a time
 * (rping -P loses one of two that arrive together). The end of a connection, by
 * either side and at any step, is not an error.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <stdlib.h>

#include <rdma/rdma_cma.h>

static void request_accept(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_conn_param param = { .rnr_retry_count = 7 };

	/*
	 * Both fail if the client has left: a race withdraws the request of the
	 * candidate that lost. Its end is the next event of the id.
	 */
	if (!rdma_create_qp(id, NULL, &attr))
		rdma_accept(id, &param);
	else if (errno != EINVAL)
		err(1, "queue pair");
}

int main(int argc, char **argv)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int type;

	if (argc != 2)
		errx(2, "usage: accept PORT");
	any.sin6_port = htons(atoi(argv[1]));
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&any) || rdma_listen(id, 8))
		err(1, "listen on port %s", argv[1]);
	while (!rdma_get_cm_event(channel, &event)) {
		id = event->id;
		type = event->event;
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST)
			request_accept(id);
		rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_DISCONNECTED ||
		    type == RDMA_CM_EVENT_CONNECT_ERROR ||
		    type == RDMA_CM_EVENT_REJECTED)
			rdma_destroy_ep(id);
	}
	err(1, "event");
}
