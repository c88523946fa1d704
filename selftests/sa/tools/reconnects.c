// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * reconnects ROUNDS PEERS GID...: from each GID but the last it connects to
 * PEERS of the others, and disconnects, ROUNDS times. Each round is a separate
 * process; all run at the same time. A thread for each GID accepts. Prints the
 * number of connections.
 *
 * The connections have no queue pair: only the CM and the SA take part.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

#define SID		((uint64_t)RDMA_PS_IB << 16 | 7491)
#define LONG_MS		60000
#define LIMIT_S		300	/* for all */

static char **gids;
static unsigned int count, peers;

static struct sockaddr_ib addr_of(unsigned int node, uint64_t sid)
{
	struct sockaddr_ib addr = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(0xffff),
		.sib_sid = htobe64(sid),
		.sib_sid_mask = sid ? htobe64(UINT64_MAX) : 0,
	};

	if (inet_pton(AF_INET6, gids[node], &addr.sib_addr) != 1) {
		fprintf(stderr, "%s is no GID\n", gids[node]);
		exit(2);
	}
	return addr;
}

/* Takes the next event. Its type, or -1. */
static int event_take(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	int type;

	if (rdma_get_cm_event(channel, &event))
		return -1;
	type = event->event;
	if (event->status)
		fprintf(stderr, "%s: status %d\n", rdma_event_str(type),
			event->status);
	rdma_ack_cm_event(event);
	return type;
}

static void request_take(struct rdma_event_channel *channel)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *gone = NULL;

	if (rdma_get_cm_event(channel, &event)) {
		perror("rdma_get_cm_event");
		exit(1);
	}
	/* The number of the peer's queue pair, which no other one has */
	param.qp_num = event->param.conn.qp_num;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		if (rdma_accept(event->id, &param))
			perror("rdma_accept");
	} else if (event->event == RDMA_CM_EVENT_DISCONNECTED) {
		rdma_disconnect(event->id);
		gone = event->id;
	}
	rdma_ack_cm_event(event);
	if (gone)
		rdma_destroy_id(gone);
}

static void *listener_run(void *channel)
{
	for (;;)
		request_take(channel);
	return NULL;
}

static int listener_start(unsigned int node)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_ib addr = addr_of(node, SID);
	struct rdma_cm_id *id;
	pthread_t thread;

	return !channel || rdma_create_id(channel, &id, NULL, RDMA_PS_IB) ||
	       rdma_bind_addr(id, (struct sockaddr *)&addr) ||
	       rdma_listen(id, 1024) ||
	       pthread_create(&thread, NULL, listener_run, channel);
}

static int connect_once(struct rdma_event_channel *channel, unsigned int from,
			unsigned int to, unsigned int qp_num)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.qp_num = qp_num,
	};
	struct sockaddr_ib dst = addr_of(to, SID), src = addr_of(from, 0);
	struct rdma_cm_id *id;
	int ret;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_IB))
		return -1;
	ret = rdma_resolve_addr(id, (struct sockaddr *)&src,
				(struct sockaddr *)&dst, LONG_MS) ||
	      event_take(channel) != RDMA_CM_EVENT_ADDR_RESOLVED ||
	      rdma_resolve_route(id, LONG_MS) ||
	      event_take(channel) != RDMA_CM_EVENT_ROUTE_RESOLVED ||
	      rdma_connect(id, &param) ||
	      event_take(channel) != RDMA_CM_EVENT_CONNECT_RESPONSE ||
	      rdma_establish(id) || rdma_disconnect(id) ||
	      event_take(channel) != RDMA_CM_EVENT_DISCONNECTED;
	if (ret)
		fprintf(stderr, "%s to %s failed\n", gids[from], gids[to]);
	rdma_destroy_id(id);
	return ret;
}

/* Connects once to each peer of each node. Returns the exit code. */
static int round_run(unsigned int qp_num)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	unsigned int from, i;

	if (!channel)
		return 1;
	for (from = 0; from < count - 1; from++)
		for (i = 1; i <= peers; i++)
			if (connect_once(channel, from, (from + i) % count,
					 qp_num++ & 0xffffff))
				return 1;
	return 0;
}

/* A process for a round, which begins when @start closes. */
static int round_start(unsigned int i, const int start[2])
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid < 0;
	alarm(LIMIT_S);
	close(start[1]);
	if (read(start[0], &byte, 1))
		_exit(1);
	_exit(round_run(getppid() << 12 | i << 8));
}

int main(int argc, char **argv)
{
	unsigned int i, rounds, failed = 0;
	int start[2], status;

	if (argc < 6)
		return 2;
	alarm(LIMIT_S);
	rounds = atoi(argv[1]);
	peers = atoi(argv[2]);
	gids = argv + 3;
	count = argc - 3;
	if (rounds > 16 || peers * (count - 1) > 256 || pipe(start))
		return 2;
	for (i = 0; i < rounds; i++)
		failed += round_start(i, start);
	for (i = 0; i < count; i++)
		failed += listener_start(i);
	close(start[1]);
	for (i = 0; i < rounds; i++)
		if (wait(&status) < 0 || status)
			failed++;
	if (failed)
		return 1;
	printf("%u\n", rounds * peers * (count - 1));
	return 0;
}
