/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Simulation of a job start: many nodes send path queries to one SA, and many
 * clients connect to one listener. Documentation/scale.rst has the model, its
 * inputs, and what was measured.
 *
 *	heap.c		events in the order of their time
 *	pattern.c	who connects to whom
 *	job.c		nodes, their windows and caches, the SA
 *	job_run.c	a run of that, and what it comes to
 *	storm.c		clients on one listener
 *	main.c		the command line, one row of results
 *	units.c		tests of all of it, with results that a reader can derive
 *	run		`make simulate`: tables and drawings
 *
 * One thread, no locks. The same seed gives the same result.
 */
#ifndef CMX_SIMULATE_H
#define CMX_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t sim_time;	/* ns */

#define SIM_US		1000ULL
#define SIM_MS		(1000 * SIM_US)
#define SIM_NEVER	UINT64_MAX

/* --- heap.c --- */

struct sim_event {
	sim_time time;
	uint64_t order;		/* of equal times, the first one comes first */
	uint32_t type;
	uint32_t arg;
};

struct sim_heap {
	struct sim_event *events;
	size_t count, room;
	uint64_t order;
};

void heap_add(struct sim_heap *heap, sim_time time, uint32_t type,
	      uint32_t arg);
bool heap_take(struct sim_heap *heap, struct sim_event *event);
void heap_free(struct sim_heap *heap);
/* Zeroed memory; exits without memory. */
void *sim_alloc(size_t count, size_t size);
/* A number below @n; *@state is the generator's */
uint64_t sim_random(uint64_t *state, uint64_t n);

/* --- pattern.c --- */

enum sim_pattern {
	PATTERN_ALL,		/* each pair of ranks of two nodes, once */
	PATTERN_RING,		/* each node to the next, by one rank */
	PATTERN_DOUBLING,	/* each rank to the nodes at 1, 2, 4, 8 ... */
	PATTERN_STORAGE,	/* each rank to each target */
	PATTERNS
};

extern const char *const pattern_names[PATTERNS];

struct sim_job;
uint32_t pattern_peers(const struct sim_job *job, uint32_t node);
uint32_t pattern_peer(const struct sim_job *job, uint32_t node, uint32_t n);
/* Ranks of a node that connect, and their connections to one peer node */
uint32_t pattern_ranks(const struct sim_job *job);
uint32_t pattern_each(const struct sim_job *job);
uint32_t pattern_machines(const struct sim_job *job);

/* --- job_run.c --- */

enum sim_variant {
	VARIANT_STOCK,		/* each rdma_resolve_route() is a query */
	VARIANT_IBACM,		/* ibacm on each node, one query at a time */
	VARIANT_CMX,		/* this project */
	VARIANTS
};

extern const char *const variant_names[VARIANTS];

struct sim_job {
	enum sim_variant variant;
	enum sim_pattern pattern;
	bool preload;		/* the caches have all paths at the start */
	uint32_t nodes, ranks;
	uint32_t targets;	/* of PATTERN_STORAGE */
	uint32_t depth;		/* connects of a rank at a time */
	uint32_t waves;		/* number of repetitions */
	sim_time wave_gap;
	sim_time spread;	/* maximum random delay of a node's start */
	sim_time life;		/* of a cached path */
	sim_time route;		/* timeout of rdma_resolve_route() in stock */
	uint32_t tries;		/* timeouts until a program gives up */
	sim_time sa;		/* service time of a query at the SA */
	uint32_t sa_queue;	/* maximum MADs in its queue */
	sim_time sa_fifo;	/* queues no MAD while the first waits longer */
	sim_time silent_from, silent_for;	/* SM failover; 0: none */
	sim_time cm;		/* time of a node for one end of a connection */
	uint32_t window;	/* initially, of the project */
	bool adaptive;		/* it does not retry before the SA responds */
	uint32_t sample;	/* maximum slots; more are represented */
	uint64_t max_events;	/* then extrapolate */
	uint64_t seed;
};

struct sim_result {
	double connections;
	double queries;		/* different ones; a retry is none */
	double mads;		/* sent to the SA */
	double served;		/* by the SA */
	double useless;		/* of those: without a waiter */
	double hits;		/* paths that were in a cache */
	double timeouts;	/* connects that ended with a timeout */
	double gave_up;		/* connections that were not established */
	double sa_wait_us;	/* mean, of MADs in the queue of the SA */
	double sa_busy;		/* fraction of the time to the last response */
	uint32_t sa_longest;	/* queue of the SA */
	double paths_ms;	/* until the last path */
	double connected_ms;	/* until the last connection */
	uint64_t events;
	bool extrapolated;
	double scale;		/* nodes that each simulated one represents */
};

void job_defaults(struct sim_job *job);
/* The parameters and the results of a job; its caller owns both. */
void job_run(const struct sim_job *job, struct sim_result *result);

/* --- storm.c --- */

struct sim_storm {
	uint32_t nodes, clients;	/* in total, spread over the nodes */
	uint32_t window;	/* maximum of a node, 0: no limit */
	uint32_t window_first;	/* initial window */
	uint32_t window_min;
	uint32_t backlog;	/* of the listener */
	uint32_t mad_queue;	/* receives that are posted on QP1 */
	sim_time mad;		/* time of the listener's node for a MAD */
	sim_time accept;	/* time of the listener for a connection */
	sim_time timeout;	/* of a REQ */
	uint32_t retries;	/* of a REQ */
	uint32_t tries;		/* timeouts until a program gives up */
	sim_time again;		/* from a timeout to its next attempt */
	sim_time spread;
	uint64_t seed;
};

struct sim_storm_result {
	uint32_t connected;
	uint32_t failed;	/* clients that never connected */
	uint64_t dropped;	/* REQs that found the backlog full */
	uint64_t lost;		/* REQs that found no receive posted */
	uint64_t sent;		/* REQs, with retries */
	uint32_t window;	/* of the first node, at the end */
	double median_ms, last_ms;	/* of those who connected */
	double ideal_ms;	/* median without a wait at the listener */
};

void storm_defaults(struct sim_storm *storm);
void storm_run(const struct sim_storm *storm, struct sim_storm_result *result);

#endif /* CMX_SIMULATE_H */
