// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rc, connections of the system tests:
 *
 *  rc serve PORT COUNT
 *	listen on all addresses, print "listening", and send back the first
 *	message of each of COUNT connections
 *  rc connect NAME PORT [sync]
 *	resolve NAME with rdma_resolve_addrinfo() (sync: rdma_getaddrinfo()),
 *	then resolve_addr, resolve_route, connect and an echo for each entry;
 *	one line "ADDRESS: ok" or "ADDRESS: why not" an entry, in its order
 *
 * One thread; each wait for an event gives up after 60 s.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define WAIT_MS 60000
#define MSG_LEN 64

struct conn {
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char in[MSG_LEN], out[MSG_LEN];
};

static void fatal(const char *what)
{
	fprintf(stderr, "rc: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* NULL, or the error */
static const char *event_get(struct rdma_event_channel *channel,
			     enum rdma_cm_event_type want,
			     struct rdma_cm_id **id)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	static char text[128];
	const char *wrong = NULL;

	if (poll(&pfd, 1, WAIT_MS) != 1)
		return "no event";
	if (rdma_get_cm_event(channel, &event))
		return "rdma_get_cm_event failed";
	if (event->event != want) {
		snprintf(text, sizeof(text), "%s %d",
			 rdma_event_str(event->event), event->status);
		wrong = text;
	}
	if (id)
		*id = event->id;
	rdma_ack_cm_event(event);
	return wrong;
}

static int conn_setup(struct conn *c, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_sge sge = { .addr = (uintptr_t)c->in, .length = MSG_LEN };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	memset(c, 0, sizeof(*c));
	c->id = id;
	c->pd = ibv_alloc_pd(id->verbs);
	c->cq = ibv_create_cq(id->verbs, 8, NULL, NULL, 0);
	if (!c->pd || !c->cq)
		return -1;
	c->mr = ibv_reg_mr(c->pd, c, sizeof(*c), IBV_ACCESS_LOCAL_WRITE);
	attr.send_cq = c->cq;
	attr.recv_cq = c->cq;
	if (!c->mr || rdma_create_qp(id, c->pd, &attr))
		return -1;
	sge.lkey = c->mr->lkey;
	return ibv_post_recv(id->qp, &wr, &bad);
}

static void conn_end(struct conn *c)
{
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
}

static int msg_send(struct conn *c)
{
	struct ibv_sge sge = { .addr = (uintptr_t)c->out, .length = MSG_LEN,
			       .lkey = c->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	return ibv_post_send(c->id->qp, &wr, &bad);
}

/* Waits until @count completions have arrived. */
static int completions_wait(struct conn *c, int count)
{
	struct ibv_wc wc;

	for (int ms = 0; count && ms < WAIT_MS; ms++) {
		while (count && ibv_poll_cq(c->cq, 1, &wc) == 1) {
			if (wc.status)
				return -1;
			count--;
		}
		usleep(1000);
	}
	return count ? -1 : 0;
}

static void serve(unsigned int port, int count)
{
	struct sockaddr_in6 any = { .sin6_family = AF_INET6,
				    .sin6_port = htons(port) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1 };
	struct rdma_cm_id *listener = NULL, *id;
	const char *wrong;
	struct conn c;

	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP))
		fatal("id");
	if (rdma_bind_addr(listener, (struct sockaddr *)&any) ||
	    rdma_listen(listener, 8))
		fatal("listen");
	printf("listening\n");
	fflush(stdout);
	while (count--) {
		wrong = event_get(channel, RDMA_CM_EVENT_CONNECT_REQUEST, &id);
		if (wrong)
			fatal(wrong);
		if (conn_setup(&c, id) || rdma_accept(id, &param))
			fatal("accept");
		wrong = event_get(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
		if (wrong || completions_wait(&c, 1))
			fatal(wrong ?: "message");
		memcpy(c.out, c.in, MSG_LEN);
		/* The client may disconnect before it acks this message. */
		if (msg_send(&c))
			fatal("echo");
		wrong = event_get(channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
		if (wrong)
			fatal(wrong);
		rdma_disconnect(id);
		conn_end(&c);
		rdma_destroy_id(id);
	}
	rdma_destroy_id(listener);
	rdma_destroy_event_channel(channel);
	printf("done\n");
}

static const char *entry_try(struct rdma_event_channel *channel,
			     struct rdma_addrinfo *ai, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .retry_count = 7 };
	const char *wrong;
	struct conn c;

	if (rdma_resolve_addr(id, ai->ai_src_addr, ai->ai_dst_addr, 30000))
		return strerror(errno);
	wrong = event_get(channel, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	if (wrong)
		return wrong;
	if (rdma_resolve_route(id, 30000))
		return "rdma_resolve_route failed";
	wrong = event_get(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	if (wrong)
		return wrong;
	if (conn_setup(&c, id))
		return "queue pair";
	wrong = "rdma_connect failed";
	if (rdma_connect(id, &param))
		goto end;
	wrong = event_get(channel, RDMA_CM_EVENT_ESTABLISHED, NULL);
	if (wrong)
		goto end;
	snprintf(c.out, MSG_LEN, "hello %d", getpid());
	wrong = "no echo";
	if (msg_send(&c) || completions_wait(&c, 2))
		goto end;
	wrong = memcmp(c.in, c.out, MSG_LEN) ? "wrong echo" : NULL;
	rdma_disconnect(id);
	event_get(channel, RDMA_CM_EVENT_DISCONNECTED, NULL);
end:
	conn_end(&c);
	return wrong;
}

static struct rdma_addrinfo *resolve(struct rdma_event_channel *channel,
				     const char *name, const char *port,
				     int sync)
{
	struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_RC,
				       .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;
	const char *wrong;
	int ret;

	if (sync) {
		ret = rdma_getaddrinfo(name, port, &hints, &res);
		if (ret)
			fatal(gai_strerror(ret));
		return res;
	}
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addrinfo(id, name, port, &hints))
		fatal("rdma_resolve_addrinfo");
	wrong = event_get(channel, RDMA_CM_EVENT_ADDRINFO_RESOLVED, NULL);
	if (wrong)
		fatal(wrong);
	if (rdma_query_addrinfo(id, &res))
		fatal("rdma_query_addrinfo");
	rdma_destroy_id(id);
	return res;
}

static void connect_all(const char *name, const char *port, int sync)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo *res, *ai;
	struct rdma_cm_id *id;
	const char *wrong;
	char host[128];

	if (!channel)
		fatal("rdma_create_event_channel");
	res = resolve(channel, name, port, sync);
	for (ai = res; ai; ai = ai->ai_next) {
		if (rdma_create_id(channel, &id, NULL, ai->ai_port_space))
			fatal("rdma_create_id");
		wrong = entry_try(channel, ai, id);
		rdma_destroy_id(id);
		getnameinfo(ai->ai_dst_addr, ai->ai_dst_len, host,
			    sizeof(host), NULL, 0, NI_NUMERICHOST);
		printf("%s: %s\n", host, wrong ?: "ok");
	}
	rdma_freeaddrinfo(res);
	rdma_destroy_event_channel(channel);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: see the top of tools/rc.c\n");
		return 2;
	}
	if (!strcmp(argv[1], "serve"))
		serve(atoi(argv[2]), atoi(argv[3]));
	else
		connect_all(argv[2], argv[3], argc > 4);
	return 0;
}
