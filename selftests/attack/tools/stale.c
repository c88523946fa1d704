// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * stale ADDRESS: a program of the stock librdmacm that passes destroyed ids,
 * events and channels, as perftest does when it retries after a rejected
 * connect. Another allocation then has their memory, filled with the mark by
 * which librdmacmx once recognized its objects. The program prints each call
 * that does not fail with EINVAL.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ID_MAGIC	0x7869646d636d5831ULL
#define EVENT_MAGIC	0x7876656d636d5831ULL
#define TIMEOUT_MS	30000

static int wrong;

/* Fills memory of all sizes that an object of a library may have had. */
static void heap_fill(uint64_t bytes)
{
	uint64_t *words;
	size_t size, i;
	int n;

	for (size = 16; size < 2048; size += 16) {
		for (n = 0; n < 8; n++) {
			words = malloc(size);
			for (i = 0; words && i < size / sizeof(*words); i++)
				words[i] = bytes;
		}
	}
}

#define REFUSED(call) do {						\
	errno = 0;							\
	if ((call) != -1 || errno != EINVAL) {				\
		printf("%s: errno %d\n", #call, errno);			\
		wrong++;						\
	}								\
} while (0)

static void id_refused(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct rdma_conn_param param = { .retry_count = 1 };
	struct ibv_qp_init_attr qp_attr = { .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr attr = {};
	struct rdma_cm_id *other;
	uint32_t option = 0;
	int mask;

	REFUSED(rdma_bind_addr(id, addr));
	REFUSED(rdma_resolve_addr(id, NULL, addr, TIMEOUT_MS));
	REFUSED(rdma_resolve_route(id, TIMEOUT_MS));
	REFUSED(rdma_create_qp(id, NULL, &qp_attr));
	REFUSED(rdma_init_qp_attr(id, &attr, &mask));
	REFUSED(rdma_connect(id, &param));
	REFUSED(rdma_listen(id, 1));
	REFUSED(rdma_accept(id, &param));
	REFUSED(rdma_reject(id, NULL, 0));
	REFUSED(rdma_notify(id, IBV_EVENT_COMM_EST));
	REFUSED(rdma_disconnect(id));
	REFUSED(rdma_join_multicast(id, addr, NULL));
	REFUSED(rdma_leave_multicast(id, addr));
	REFUSED(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS,
				&option, 1));
	REFUSED(rdma_migrate_id(id, NULL));
	REFUSED(rdma_get_request(id, &other));
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	if (rdma_get_src_port(id) || rdma_get_dst_port(id)) {
		printf("a port\n");
		wrong++;
	}
	REFUSED(rdma_destroy_id(id));
	rdma_destroy_ep(id);
}

static struct rdma_cm_event *event_next(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(channel, &event)) {
		perror("rdma_get_cm_event");
		exit(1);
	}
	return event;
}

/* Reads the next event, acks it, and acks it again. */
static int event_take(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event = event_next(channel);
	int what = event->event;

	if (rdma_ack_cm_event(event))
		wrong++;
	heap_fill(EVENT_MAGIC);
	REFUSED(rdma_ack_cm_event(event));
	return what;
}

/* No listener has the port. */
static struct rdma_cm_id *rejected(struct rdma_event_channel *channel,
				   struct sockaddr *addr)
{
	struct rdma_conn_param param = { .retry_count = 1, .qp_num = 1 };
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, addr, TIMEOUT_MS) ||
	    event_take(channel) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	    rdma_resolve_route(id, TIMEOUT_MS) ||
	    event_take(channel) != RDMA_CM_EVENT_ROUTE_RESOLVED ||
	    rdma_connect(id, &param) ||
	    event_take(channel) != RDMA_CM_EVENT_REJECTED) {
		perror("a rejected connect");
		exit(1);
	}
	return id;
}

int main(int argc, char **argv)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET, .sin_port = htons(7699),
	};
	struct sockaddr *addr = (struct sockaddr *)&sin;
	struct rdma_event_channel *channel;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (argc != 2 || inet_pton(AF_INET, argv[1], &sin.sin_addr) != 1)
		return 2;
	alarm(180);
	channel = rdma_create_event_channel();
	if (!channel)
		return 1;
	id = rejected(channel, addr);
	if (rdma_destroy_id(id))
		wrong++;
	heap_fill(ID_MAGIC);
	id_refused(id, addr);

	rdma_destroy_event_channel(channel);
	heap_fill(0);
	REFUSED(rdma_get_cm_event(channel, &event));
	REFUSED(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	rdma_destroy_event_channel(channel);

	/* A synchronous id owns its channel. */
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return 1;
	rdma_destroy_event_channel(id->channel);
	if (rdma_destroy_id(id))
		wrong++;
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
