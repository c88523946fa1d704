// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A usual program of librdmacm: messages go to a server and come back, and the
 * client checks them. The server uses synchronous ids, the client events. Built
 * three times from this source: with librdmacm, with librdmacmx (only the
 * compiler flags differ), and with rsockets in addition, where each message
 * takes both ways.
 *
 * 	echo ADDRESS		server
 * 	echo -c ADDRESS		client
 */
#include <err.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#ifdef RSOCKETS
#include <rdma/rsocket.h>
#endif

#define PORT		"7650"
#define SOCKET_PORT	"7651"
#define MESSAGES	100
#define LENGTH		3000

static char out[LENGTH], in[LENGTH];
static struct ibv_mr *out_mr, *in_mr;

static void need(int ret, const char *what)
{
	if (ret)
		err(1, "%s", what);
}

static struct rdma_addrinfo *address(const char *text, int flags)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *ai;

	need(rdma_getaddrinfo(text, PORT, &hints, &ai), text);
	return ai;
}

static void qp_attr_fill(struct ibv_qp_init_attr *attr)
{
	*attr = (struct ibv_qp_init_attr){
		.cap = {
			.max_send_wr = 2,
			.max_recv_wr = 2,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
}

static void memory_register(struct rdma_cm_id *id)
{
	out_mr = rdma_reg_msgs(id, out, LENGTH);
	in_mr = rdma_reg_msgs(id, in, LENGTH);
	if (!out_mr || !in_mr)
		err(1, "rdma_reg_msgs");
	need(rdma_post_recv(id, NULL, in, LENGTH, in_mr), "rdma_post_recv");
}

static void message_send(struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	need(rdma_post_send(id, NULL, out, LENGTH, out_mr, 0),
	     "rdma_post_send");
	if (rdma_get_send_comp(id, &wc) != 1 || wc.status)
		errx(1, "send: %s", ibv_wc_status_str(wc.status));
}

static void message_receive(struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	if (rdma_get_recv_comp(id, &wc) != 1 || wc.status ||
	    wc.byte_len != LENGTH)
		errx(1, "receive: %s", ibv_wc_status_str(wc.status));
}

#ifdef RSOCKETS

static int socket_make(const char *text, struct addrinfo **ai)
{
	int fd;

	if (getaddrinfo(text, SOCKET_PORT, NULL, ai))
		errx(1, "getaddrinfo");
	fd = rsocket((*ai)->ai_family, SOCK_STREAM, 0);
	if (fd < 0)
		err(1, "rsocket");
	return fd;
}

static int socket_listen(const char *text)
{
	struct addrinfo *ai;
	int fd = socket_make(text, &ai);

	need(rbind(fd, ai->ai_addr, ai->ai_addrlen), "rbind");
	need(rlisten(fd, 1), "rlisten");
	return fd;
}

static int socket_accept(int listener)
{
	int fd = raccept(listener, NULL, NULL);

	if (fd < 0)
		err(1, "raccept");
	return fd;
}

static int socket_connect(const char *text)
{
	struct addrinfo *ai;
	int fd = socket_make(text, &ai);

	need(rconnect(fd, ai->ai_addr, ai->ai_addrlen), "rconnect");
	return fd;
}

static void socket_send(int fd, const char *data)
{
	if (rsend(fd, data, LENGTH, 0) != LENGTH)
		err(1, "rsend");
}

static void socket_receive(int fd, char *data)
{
	if (rrecv(fd, data, LENGTH, MSG_WAITALL) != LENGTH)
		err(1, "rrecv");
}

static void socket_close(int fd)
{
	rshutdown(fd, SHUT_RDWR);
	rclose(fd);
}

#else /* without rsockets nothing goes that way */

static int socket_listen(const char *text) { return -1; }
static int socket_accept(int listener) { return -1; }
static int socket_connect(const char *text) { return -1; }
static void socket_send(int fd, const char *data) { }
static void socket_receive(int fd, char *data) { memcpy(data, out, LENGTH); }
static void socket_close(int fd) { }

#endif

static int serve(const char *text)
{
	struct rdma_addrinfo *ai = address(text, RAI_PASSIVE);
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *listener, *id;
	int i, fd, socket;
	char data[LENGTH];

	qp_attr_fill(&attr);
	need(rdma_create_ep(&listener, ai, NULL, &attr), "rdma_create_ep");
	rdma_freeaddrinfo(ai);
	need(rdma_listen(listener, 1), "rdma_listen");
	/* Last, as a client connects when it detects the first one. */
	fd = socket_listen(text);
	need(rdma_get_request(listener, &id), "rdma_get_request");
	memory_register(id);
	need(rdma_accept(id, NULL), "rdma_accept");
	socket = socket_accept(fd);

	for (i = 0; i < MESSAGES; i++) {
		message_receive(id);
		memcpy(out, in, LENGTH);
		if (i + 1 < MESSAGES)
			need(rdma_post_recv(id, NULL, in, LENGTH, in_mr),
			     "rdma_post_recv");
		message_send(id);
		socket_receive(socket, data);
		socket_send(socket, data);
	}
	/* Until the client has all data and exits */
	need(rdma_disconnect(id), "rdma_disconnect");
	socket_close(socket);
	socket_close(fd);
	rdma_dereg_mr(out_mr);
	rdma_dereg_mr(in_mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	printf("served %d\n", i);
	return 0;
}

static void event_wait(struct rdma_event_channel *channel,
		       enum rdma_cm_event_type wanted)
{
	struct rdma_cm_event *event;

	need(rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
	if (event->event != wanted)
		errx(1, "%s (%d) in place of %s", rdma_event_str(event->event),
		     event->status, rdma_event_str(wanted));
	rdma_ack_cm_event(event);
}

static int echo_send(const char *text)
{
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_addrinfo *ai = address(text, 0);
	struct ibv_qp_init_attr attr;
	struct rdma_cm_id *id;
	char data[LENGTH];
	int i, j, socket;

	if (!channel)
		err(1, "rdma_create_event_channel");
	need(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	need(rdma_resolve_addr(id, NULL, ai->ai_dst_addr, 5000),
	     "rdma_resolve_addr");
	rdma_freeaddrinfo(ai);
	event_wait(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	need(rdma_resolve_route(id, 5000), "rdma_resolve_route");
	event_wait(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	qp_attr_fill(&attr);
	need(rdma_create_qp(id, NULL, &attr), "rdma_create_qp");
	memory_register(id);
	need(rdma_connect(id, &param), "rdma_connect");
	event_wait(channel, RDMA_CM_EVENT_ESTABLISHED);
	socket = socket_connect(text);

	for (i = 0; i < MESSAGES; i++) {
		for (j = 0; j < LENGTH; j++)
			out[j] = i * 7 + j;
		message_send(id);
		socket_send(socket, out);
		message_receive(id);
		socket_receive(socket, data);
		if (memcmp(in, out, LENGTH) || memcmp(data, out, LENGTH))
			errx(1, "message %d came back as another", i);
		if (i + 1 < MESSAGES)
			need(rdma_post_recv(id, NULL, in, LENGTH, in_mr),
			     "rdma_post_recv");
	}
	event_wait(channel, RDMA_CM_EVENT_DISCONNECTED);
	socket_close(socket);
	rdma_disconnect(id);
	rdma_destroy_qp(id);
	rdma_dereg_mr(out_mr);
	rdma_dereg_mr(in_mr);
	need(rdma_destroy_id(id), "rdma_destroy_id");
	rdma_destroy_event_channel(channel);
	printf("echoed %d\n", i);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "-c"))
		return echo_send(argv[2]);
	if (argc == 2)
		return serve(argv[1]);
	errx(2, "usage: echo [-c] ADDRESS");
}
