/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * One timed operation of the RDMA connection manager for each program run: each
 * function prints the median in microseconds, or prints the failure and returns
 * 1. One thread, except in events.c, rate.c and scale.c.
 */
#ifndef BENCH_H
#define BENCH_H

#include <netinet/in.h>
#include <stdbool.h>

#include <rdma/rdma_cma.h>

#define BENCH_PORT 7490
#define BENCH_WAIT_MS 5000
/* For operations behind thousands of queued ones */
#define BENCH_LONG_MS 60000

extern struct sockaddr_in bench_local, bench_peer;

double now_us(void);
int fail(const char *what);
/* Sorts @count values, and prints their median to stdout. */
void median_print(double *values, unsigned int count);

/* Wait for an event and acknowledge it. 0: it was @want. */
int event_expect(struct rdma_event_channel *channel,
		 enum rdma_cm_event_type want);

struct ibv_pd *bench_qp_attr(struct ibv_context *verbs,
			     struct ibv_qp_init_attr *attr);
int bench_qp(struct rdma_cm_id *id);
enum bench_name {
	BENCH_NAME_STEPS,
	BENCH_NAME_CALL,
	BENCH_NAME_RACE,	/* a call with RDMACMX_CONNECT_RACE */
};

int bench_name(unsigned int count, const char *name, enum bench_name how);
int bench_connect(unsigned int count, bool at_once);
int bench_connection(struct rdma_event_channel *channel);
int bench_serve(unsigned int delay_ms);
int bench_rate(unsigned int count, unsigned int threads);
int bench_resolved(struct rdma_event_channel *channel, struct rdma_cm_id **ids,
		   unsigned int count);
int bench_events(unsigned int count, unsigned int threads);
int bench_scale(unsigned int count);
int bench_job(unsigned int nodes, unsigned int ranks);
int bench_storm(unsigned int processes, unsigned int each);
int bench_sa(const char *operation, unsigned int count, const char *name);
int bench_mcast(const char *how, unsigned int count, unsigned int first);

#endif /* BENCH_H */
