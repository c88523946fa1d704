// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Job start, in the pattern `doubling' of selftests/simulate: each device is a
 * node, whose ranks are processes. Each rank resolves the routes to the nodes 1,
 * 2, 4, 8 and so on behind it, one after another. When all ranks have theirs,
 * each connects to these nodes, one after another. Ids have addresses before,
 * and stay until all are connected.
 *
 * No queue pair is needed to connect. A listener for each node accepts.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <infiniband/ib.h>

#include "bench.h"

#define JOB_NODES_MAX	16
#define JOB_RANKS_MAX	1024	/* of all nodes */
#define JOB_PEERS_MAX	4
#define STEPS		3	/* to the paths, to the connections, to the end */
#define JOB_TRIES	5	/* of a program */
#define JOB_ROUTE_MS	2000
#define JOB_SID		((uint64_t)RDMA_PS_IB << 16 | BENCH_PORT)

struct rank {
	pid_t pid;
	unsigned int node, number;	/* of its node's */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *ids[JOB_PEERS_MAX];
	/* Read by the others */
	unsigned int calls, timeouts, gave_up;
	double paths, connected;	/* when the last one was there */
};

static struct job {
	unsigned int nodes, ranks, peers;
	char gids[JOB_NODES_MAX][INET6_ADDRSTRLEN];
	pid_t listeners[JOB_NODES_MAX];
	struct rank *rank;		/* shared by the processes */
	int ready[2], start[STEPS][2];	/* start: until the end of the file */
} job;

static int gids_read(void)
{
	char *text = getenv("BENCH_GIDS"), *word;
	unsigned int i;

	word = text ? strtok(text, " ") : NULL;
	for (i = 0; i < job.nodes && word; i++) {
		snprintf(job.gids[i], sizeof(job.gids[i]), "%s", word);
		word = strtok(NULL, " ");
	}
	errno = EINVAL;
	return i < job.nodes ? fail("BENCH_GIDS has too few GIDs") : 0;
}

static struct sockaddr_ib node_addr(unsigned int node, uint64_t sid)
{
	struct sockaddr_ib addr = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(0xffff),
		.sib_sid = htobe64(sid),
		.sib_sid_mask = sid ? htobe64(UINT64_MAX) : 0,
	};

	inet_pton(AF_INET6, job.gids[node], &addr.sib_addr);
	return addr;
}

static int ready_report(bool failed)
{
	char byte = failed;

	return write(job.ready[1], &byte, 1) == 1 ? 0 : fail("ready");
}

/* Waits until @count processes are ready, or one has failed. */
static int ready_wait(unsigned int count)
{
	struct pollfd fd = { .fd = job.ready[0], .events = POLLIN };
	char byte;

	for (; count; count--)
		if (poll(&fd, 1, 4 * BENCH_LONG_MS) != 1 ||
		    read(job.ready[0], &byte, 1) != 1 || byte)
			return fail("a process is not ready");
	return 0;
}

/* A rank at the end of a step: all begin the next one at once. */
static int step_wait(unsigned int step)
{
	char byte;

	if (ready_report(false))
		return 1;
	return read(job.start[step][0], &byte, 1) ? fail("start") : 0;
}

/* As each number of a queue pair is that of one connection, it is the peer's. */
static int accept_request(struct rdma_event_channel *channel)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1 };
	struct rdma_cm_event *event;
	int ret = 0;

	if (rdma_get_cm_event(channel, &event))
		return fail("rdma_get_cm_event");
	param.qp_num = event->param.conn.qp_num;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST &&
	    rdma_accept(event->id, &param))
		ret = fail("rdma_accept");
	rdma_ack_cm_event(event);
	return ret;
}

static int listener_run(unsigned int node)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct sockaddr_ib addr = node_addr(node, JOB_SID);
	struct rdma_cm_id *id;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_IB) ||
	    rdma_bind_addr(id, (struct sockaddr *)&addr) ||
	    rdma_listen(id, 1024))
		return fail("rdma_listen");
	if (ready_report(false))
		return 1;
	while (!accept_request(channel))
		;
	return 1;
}

/* Like the model's: each rank of a node begins with another peer. */
static unsigned int rank_peer(const struct rank *rank, unsigned int i)
{
	i = (i + rank->number * job.peers / job.ranks) % job.peers;
	return (rank->node + (1U << i)) % job.nodes;
}

static int id_open(struct rank *rank, unsigned int i)
{
	struct sockaddr_ib dst = node_addr(rank_peer(rank, i), JOB_SID);
	struct sockaddr_ib src = node_addr(rank->node, 0);

	if (rdma_create_id(rank->channel, &rank->ids[i], NULL, RDMA_PS_IB) ||
	    rdma_resolve_addr(rank->ids[i], (struct sockaddr *)&src,
			      (struct sockaddr *)&dst, BENCH_LONG_MS))
		return fail("rdma_resolve_addr");
	return event_expect(rank->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
}

/* 0, or a negative errno of the event; 1 for all else */
static int route_once(struct rank *rank, struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;
	int ret = 1;

	rank->calls++;
	if (rdma_resolve_route(id, JOB_ROUTE_MS))
		return fail("rdma_resolve_route");
	if (rdma_get_cm_event(rank->channel, &event))
		return fail("rdma_get_cm_event");
	if (event->event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		ret = 0;
	else if (event->event == RDMA_CM_EVENT_ROUTE_ERROR && event->status < 0)
		ret = event->status;
	rdma_ack_cm_event(event);
	return ret;
}

/* As a program does: it repeats what timed out, and gives up at last. */
static int route_resolve(struct rank *rank, unsigned int i)
{
	unsigned int tries;
	int ret;

	for (tries = 0; tries < JOB_TRIES; tries++) {
		ret = route_once(rank, rank->ids[i]);
		if (!ret)
			rank->paths = now_us();
		if (ret != -ETIMEDOUT) {
			errno = ret < 0 ? -ret : EPROTO;
			return ret ? fail("route") : 0;
		}
		rank->timeouts++;
	}
	rank->gave_up++;
	rdma_destroy_id(rank->ids[i]);
	rank->ids[i] = NULL;
	return 0;
}

static int id_connect(struct rank *rank, unsigned int i)
{
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.qp_num = (getppid() & 0xfff) << 12 |
			  ((rank - job.rank) * JOB_PEERS_MAX + i),
	};

	if (rdma_connect(rank->ids[i], &param))
		return fail("rdma_connect");
	if (event_expect(rank->channel, RDMA_CM_EVENT_CONNECT_RESPONSE))
		return 1;
	if (rdma_establish(rank->ids[i]))
		return fail("rdma_establish");
	rank->connected = now_us();
	return 0;
}

static int rank_run(struct rank *rank)
{
	unsigned int i;

	rank->channel = rdma_create_event_channel();
	if (!rank->channel)
		return fail("rdma_create_event_channel");
	for (i = 0; i < job.peers; i++)
		if (id_open(rank, i))
			return 1;
	if (step_wait(0))
		return 1;
	for (i = 0; i < job.peers; i++)
		if (route_resolve(rank, i))
			return 1;
	if (step_wait(1))
		return 1;
	for (i = 0; i < job.peers; i++)
		if (rank->ids[i] && id_connect(rank, i))
			return 1;
	return step_wait(2);
}

/* Starts a listener, or a rank if that is not NULL. */
static pid_t process_start(unsigned int node, struct rank *rank)
{
	pid_t pid = fork();
	unsigned int i;

	if (pid < 0)
		fail("fork");
	if (pid)
		return pid;
	for (i = 0; i < STEPS; i++)
		close(job.start[i][1]);
	if (rank ? rank_run(rank) : listener_run(node))
		ready_report(true);
	_exit(0);
}

static int processes_start(void)
{
	unsigned int i, count = job.nodes * job.ranks;

	for (i = 0; i < job.nodes; i++) {
		job.listeners[i] = process_start(i, NULL);
		if (job.listeners[i] < 0)
			return 1;
	}
	if (ready_wait(job.nodes))
		return 1;
	for (i = 0; i < count; i++) {
		job.rank[i].node = i % job.nodes;
		job.rank[i].number = i / job.nodes;
		job.rank[i].pid = process_start(0, &job.rank[i]);
		if (job.rank[i].pid < 0)
			return 1;
	}
	return ready_wait(count);
}

static int steps_run(double start[2])
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		start[i] = now_us();
		close(job.start[i][1]);
		if (ready_wait(job.nodes * job.ranks))
			return 1;
	}
	return 0;
}

static void result_print(const double start[2])
{
	unsigned int i, calls = 0, timeouts = 0, gave_up = 0;
	double paths = start[0], connected = start[1];

	for (i = 0; i < job.nodes * job.ranks; i++) {
		const struct rank *rank = &job.rank[i];

		calls += rank->calls;
		timeouts += rank->timeouts;
		gave_up += rank->gave_up;
		if (rank->paths > paths)
			paths = rank->paths;
		if (rank->connected > connected)
			connected = rank->connected;
	}
	printf("calls=%u timeouts=%u gave_up=%u paths_ms=%.3f connects_ms=%.3f\n",
	       calls, timeouts, gave_up, (paths - start[0]) / 1000,
	       (connected - start[1]) / 1000);
}

static void process_end(pid_t pid)
{
	if (pid > 0)
		kill(pid, SIGKILL);
}

static void processes_end(void)
{
	unsigned int i;

	for (i = 0; i < job.nodes; i++)
		process_end(job.listeners[i]);
	for (i = 0; i < job.nodes * job.ranks; i++)
		process_end(job.rank[i].pid);
	while (wait(NULL) > 0)
		;
}

/* @ranks processes for each of @nodes devices, whose GIDs are in BENCH_GIDS */
int bench_job(unsigned int nodes, unsigned int ranks)
{
	double start[2];
	int ret;

	job.nodes = nodes;
	job.ranks = ranks;
	while ((1U << job.peers) < nodes)
		job.peers++;
	if (nodes < 2 || nodes > JOB_NODES_MAX || !ranks ||
	    ranks > JOB_RANKS_MAX / nodes || gids_read()) {
		errno = EINVAL;
		return fail("nodes are 2 to 16, ranks of all up to 1,024");
	}
	job.rank = mmap(NULL, nodes * ranks * sizeof(*job.rank),
			PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			0);
	if (job.rank == MAP_FAILED || pipe(job.ready) || pipe(job.start[0]) ||
	    pipe(job.start[1]) || pipe(job.start[2]))
		return fail("set-up");
	/*
	 * Once, not in each process: libibverbs loads its providers, and the
	 * first channel of the stock library opens all devices.
	 */
	ibv_free_device_list(ibv_get_device_list(NULL));
	if (!rdma_create_event_channel())
		return fail("rdma_create_event_channel");
	ret = processes_start() || steps_run(start);
	if (!ret)
		result_print(start);
	processes_end();
	return ret;
}
