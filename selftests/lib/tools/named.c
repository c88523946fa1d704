// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * named NODE SERVICE: connects by name with a queue pair, prints the event, and
 * the error of the same call on the connected id.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_cmx.h>

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr qp = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_conn_param param = {
		.responder_resources = 1, .initiator_depth = 1,
		.retry_count = 7,
	};
	struct rdmacmx_connect_attr attr = {
		.qp_init_attr = &qp, .conn_param = &param,
	};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (argc != 3 || !channel ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdmacmx_connect_name(id, argv[1], argv[2], NULL, &attr) ||
	    rdma_get_cm_event(channel, &event)) {
		perror("named");
		return 1;
	}
	puts(rdma_event_str(event->event));
	rdma_ack_cm_event(event);
	if (rdmacmx_connect_name(id, argv[1], argv[2], NULL, &attr))
		puts(strerror(errno));
	rdma_disconnect(id);
	rdma_destroy_ep(id);
	rdma_destroy_event_channel(channel);
	return 0;
}
