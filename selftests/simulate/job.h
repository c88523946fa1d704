/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that job.c and job_run.c share: the state of one run. One
 * thread.
 */
#ifndef CMX_SIMULATE_JOB_H
#define CMX_SIMULATE_JOB_H

#include "simulate.h"

/*
 * The limits of kernel/core/sa/load.c: of 64 slots a single ordinary user gets
 * 22 (cmx_sched_may_more()); a query ends after CMX_TOTAL.
 */
#define CMX_WINDOW_MAX	22
#define CMX_FIRST	(400 * SIM_MS)
#define CMX_NEXT	(800 * SIM_MS)
#define CMX_TOTAL	(7600 * SIM_MS)

enum { EVENT_START, EVENT_TIMER, EVENT_SERVED, EVENT_SILENT, EVENT_ALIVE };

struct policy {
	sim_time first, next;	/* until the first retry, the other ones */
	sim_time total;		/* a query ends */
	uint32_t window, window_max;
	bool adaptive;		/* no retry before 2 * mean response time */
	bool of_node;		/* the requester is the node, with a cache */
	bool follows_sm;	/* a new SM drops the cache, and resends */
};

struct slot {
	uint32_t requester;
	uint32_t lookup;
	uint32_t number;	/* of its query, to detect old responses */
	uint16_t attempt;
	uint16_t tries;
	bool active, armed;	/* a query; an EVENT_TIMER is pending */
	sim_time due, deadline;
};

struct requester {
	uint32_t node, rank;
	uint32_t lookups;	/* of a wave */
	uint32_t next, done, wave;
	uint32_t running, window;
	uint32_t first_slot, slots;
	sim_time response;	/* mean time until one */
	bool waiting;		/* for the next wave */
};

/* A MAD in the queue of the SA */
struct request {
	uint32_t slot, number;
	sim_time since;
};

struct counts {
	sim_time now;
	double done, queries, mads, served, useless, hits, timeouts, gave_up;
	double connections;
};

struct run {
	const struct sim_job *job;
	struct policy policy;
	uint32_t nodes;		/* simulated nodes */
	double scale;		/* each represents so many */
	sim_time sa;		/* scaled */
	uint32_t sa_queue;	/* scaled */
	struct sim_heap heap;
	sim_time now;
	uint64_t seed;

	struct requester *requesters;
	uint32_t requesters_count;
	struct slot *slots;
	uint32_t slots_count;
	sim_time **known;	/* of each node: when a path was cached, or 0 */
	sim_time *work_done;	/* of each host */
	sim_time last_path, dropped;

	struct request *queue;
	uint32_t head, queued, longest, epoch;
	bool silent;
	double waited;

	struct counts counts, half;
	double total;		/* lookups */
};

/* Number of connections that wait for one lookup */
uint32_t connections_of(const struct run *run);
void event_handle(struct run *run, const struct sim_event *event);

#endif /* CMX_SIMULATE_JOB_H */
