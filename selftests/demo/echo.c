// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Data over an RC queue pair:
 *	echo serve ADDRESS PORT	answer one client with what it sends, reversed
 *	echo serve-ib GID	the same on an InfiniBand port; prints the
 *				service id to which to connect
 *	echo connect NODE PORT	connect to the first of NODE's addresses that
 *				works, send a block, check the answer
 *	echo connect-sa SERVICE	the same, with the SA's records of SERVICE
 *				(not with the stock library, which cannot)
 * Built for this project's library and for the stock one, which use the same
 * protocol on the wire.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/ib.h>
#include <rdma/rdma_cma.h>

#define BLOCK 4096
#define WAIT_MS 60000

static unsigned char out[BLOCK], in[BLOCK];

static int fail(const char *what)
{
	printf("%s: %s\n", what, strerror(errno));
	return 1;
}

static struct rdma_cm_event *event_get(struct rdma_event_channel *channel,
				       enum rdma_cm_event_type want)
{
	struct pollfd wait = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	if (poll(&wait, 1, WAIT_MS) != 1 || rdma_get_cm_event(channel, &event)) {
		printf("%s did not come\n", rdma_event_str(want));
		return NULL;
	}
	if (event->event != want) {
		printf("%s came instead of %s, status %d\n",
		       rdma_event_str(event->event), rdma_event_str(want),
		       event->status);
		rdma_ack_cm_event(event);
		return NULL;
	}
	return event;
}

static int event_wait(struct rdma_event_channel *channel,
		      enum rdma_cm_event_type want)
{
	struct rdma_cm_event *event = event_get(channel, want);

	return !event || rdma_ack_cm_event(event);
}

static int complete(struct rdma_cm_id *id, struct ibv_cq *cq,
		    struct ibv_comp_channel *channel)
{
	struct pollfd wait = { .fd = channel->fd, .events = POLLIN };
	struct ibv_wc wc;
	void *context;
	int ret;

	for (;;) {
		ret = ibv_poll_cq(cq, 1, &wc);
		if (ret)
			break;
		ibv_req_notify_cq(cq, 0);
		ret = ibv_poll_cq(cq, 1, &wc);
		if (ret)
			break;
		if (poll(&wait, 1, WAIT_MS) != 1 ||
		    ibv_get_cq_event(channel, &cq, &context))
			return puts("no completion in time"), 1;
		ibv_ack_cq_events(cq, 1);
	}
	if (ret < 0 || wc.status != IBV_WC_SUCCESS)
		return printf("work request: %s\n",
			      ibv_wc_status_str(wc.status)), 1;
	return 0;
}

static int qp_make(struct rdma_cm_id *id, struct ibv_mr *mr[2])
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct ibv_sge sge = { .addr = (uintptr_t)in, .length = BLOCK };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (rdma_create_qp(id, NULL, &attr))
		return fail("rdma_create_qp");
	mr[0] = ibv_reg_mr(id->qp->pd, out, BLOCK, 0);
	mr[1] = ibv_reg_mr(id->qp->pd, in, BLOCK, IBV_ACCESS_LOCAL_WRITE);
	if (!mr[0] || !mr[1])
		return fail("ibv_reg_mr");
	sge.lkey = mr[1]->lkey;
	if (ibv_post_recv(id->qp, &wr, &bad))
		return fail("ibv_post_recv");
	return 0;
}

static int send_post(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)out, .length = BLOCK,
			       .lkey = mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	return ibv_post_send(id->qp, &wr, &bad) ? fail("ibv_post_send") : 0;
}

static void id_close(struct rdma_cm_id *id, struct ibv_mr *mr[2])
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (mr[0])
		ibv_dereg_mr(mr[0]);
	if (mr[1])
		ibv_dereg_mr(mr[1]);
	rdma_destroy_id(id);
}

static struct rdma_cm_id *ip_listen(struct rdma_event_channel *channel,
				    const char *address, const char *port)
{
	struct rdma_cm_id *id;
	struct addrinfo *ai;
	int ret;

	if (getaddrinfo(address, port, NULL, &ai))
		return NULL;
	ret = rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	      rdma_bind_addr(id, ai->ai_addr) || rdma_listen(id, 1);
	freeaddrinfo(ai);
	if (ret)
		return NULL;
	puts("listening");
	return id;
}

/* Listens on any id of the port space. */
static struct rdma_cm_id *ib_listen(struct rdma_event_channel *channel,
				    const char *gid)
{
	struct sockaddr_ib addr = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(0xffff),
		.sib_sid = htobe64((uint64_t)RDMA_PS_IB << 16),
		.sib_sid_mask = htobe64(~0xffffULL),
	};
	struct sockaddr_ib *local;
	struct rdma_cm_id *id;

	if (inet_pton(AF_INET6, gid, &addr.sib_addr) != 1 ||
	    rdma_create_id(channel, &id, NULL, RDMA_PS_IB) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr) || rdma_listen(id, 1))
		return NULL;
	local = (struct sockaddr_ib *)rdma_get_local_addr(id);
	printf("listening, service id 0x%016llx\n",
	       (unsigned long long)be64toh(local->sib_sid));
	return id;
}

static int serve(const char *address, const char *port)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .rnr_retry_count = 7 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;
	struct ibv_mr *mr[2] = {};
	int i;

	if (!channel)
		return fail("rdma_create_event_channel");
	listener = port ? ip_listen(channel, address, port) :
		   ib_listen(channel, address);
	if (!listener)
		return fail("listen");
	event = event_get(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (!event)
		return 1;
	id = event->id;
	rdma_ack_cm_event(event);
	if (qp_make(id, mr))
		return 1;
	if (rdma_accept(id, &param))
		return fail("rdma_accept");
	if (event_wait(channel, RDMA_CM_EVENT_ESTABLISHED) ||
	    complete(id, id->recv_cq, id->recv_cq_channel))
		return 1;
	for (i = 0; i < BLOCK; i++)
		out[i] = in[BLOCK - 1 - i];
	/* The client may disconnect before it acks the reply. */
	if (send_post(id, mr[0]) ||
	    event_wait(channel, RDMA_CM_EVENT_DISCONNECTED))
		return 1;
	rdma_disconnect(id);
	puts("served one client");
	id_close(id, mr);
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	return 0;
}

/* Connects an id to one address. NULL on failure, with the reason printed. */
static struct rdma_cm_id *reach(struct rdma_event_channel *channel,
				const struct rdma_addrinfo *ai,
				struct ibv_mr *mr[2])
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, ai->ai_port_space))
		return fail("rdma_create_id"), NULL;
	if (rdma_resolve_addr(id, ai->ai_src_len ? ai->ai_src_addr : NULL,
			      ai->ai_dst_addr, 20000))
		fail("rdma_resolve_addr");
	else if (!event_wait(channel, RDMA_CM_EVENT_ADDR_RESOLVED) &&
		 !rdma_resolve_route(id, 20000) &&
		 !event_wait(channel, RDMA_CM_EVENT_ROUTE_RESOLVED) &&
		 !qp_make(id, mr) && !rdma_connect(id, &param) &&
		 !event_wait(channel, RDMA_CM_EVENT_ESTABLISHED))
		return id;
	id_close(id, mr);
	mr[0] = NULL;
	mr[1] = NULL;
	return NULL;
}

static void address_print(char *text, size_t size, struct sockaddr *addr,
			  socklen_t len)
{
	if (addr->sa_family == AF_IB)
		inet_ntop(AF_INET6, &((struct sockaddr_ib *)addr)->sib_addr,
			  text, size);
	else
		getnameinfo(addr, len, text, size, NULL, 0, NI_NUMERICHOST);
}

static int client_run(const char *node, const char *service,
		      const struct rdma_addrinfo *hints)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo *list, *ai;
	struct rdma_cm_id *id = NULL;
	struct ibv_mr *mr[2] = {};
	char text[NI_MAXHOST];
	int ret, i;

	if (!channel)
		return fail("rdma_create_event_channel");
	ret = rdma_getaddrinfo(node, service, hints, &list);
	if (ret)
		return printf("%s: %s\n", node ?: service,
			      ret == EAI_SYSTEM ? strerror(errno) :
			      gai_strerror(ret)), 1;
	for (ai = list; ai && !id; ai = ai->ai_next) {
		address_print(text, sizeof(text), ai->ai_dst_addr,
			      ai->ai_dst_len);
		printf("trying %s\n", text);
		id = reach(channel, ai, mr);
	}
	rdma_freeaddrinfo(list);
	if (!id)
		return puts("no address can be connected"), 1;
	printf("connected to %s by %s, queue pair %u\n", text,
	       ibv_get_device_name(id->verbs->device), id->qp->qp_num);
	for (i = 0; i < BLOCK; i++)
		out[i] = i * 7 + (i >> 8);
	if (send_post(id, mr[0]) ||
	    complete(id, id->send_cq, id->send_cq_channel) ||
	    complete(id, id->recv_cq, id->recv_cq_channel))
		return 1;
	for (i = 0; i < BLOCK; i++)
		if (in[i] != out[BLOCK - 1 - i])
			return printf("byte %d is wrong\n", i), 1;
	printf("sent %d bytes, %d came back, reversed, every byte right\n",
	       BLOCK, BLOCK);
	rdma_disconnect(id);
	if (event_wait(channel, RDMA_CM_EVENT_DISCONNECTED))
		return 1;
	id_close(id, mr);
	rdma_destroy_event_channel(channel);
	return 0;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_RC,
				       .ai_port_space = RDMA_PS_TCP };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv[2], argv[3]);
	if (argc == 3 && !strcmp(argv[1], "serve-ib"))
		return serve(argv[2], NULL);
	if (argc == 4 && !strcmp(argv[1], "connect"))
		return client_run(argv[2], argv[3], &hints);
#ifdef RAI_SA
	if (argc == 3 && !strcmp(argv[1], "connect-sa")) {
		hints.ai_flags = RAI_SA;
		hints.ai_port_space = RDMA_PS_IB;
		return client_run(NULL, argv[2], &hints);
	}
#endif
	fprintf(stderr, "usage: echo serve ADDRESS PORT | serve-ib GID | "
		"connect NODE PORT | connect-sa SERVICE\n");
	return 2;
}
