// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Tests of the simulation, as TAP: each result can be derived by hand, or by
 * the formula that its comment names. host/simulate.sh runs it.
 */
#include <stdio.h>
#include <string.h>

#include "simulate.h"

static int count, failed;

static void check(bool good, const char *what, double got, double want)
{
	printf("%sok %d %s\n", good ? "" : "not ", ++count, what);
	if (!good) {
		printf("# got %.6f, wanted %.6f\n", got, want);
		failed = 1;
	}
}

static void is(const char *what, double got, double want)
{
	double off = got - want;

	check(off < 1e-6 && off > -1e-6, what, got, want);
}

/* Within @percent */
static void near(const char *what, double got, double want, double percent)
{
	double off = got - want, most = want * percent / 100;

	check(off <= most && off >= -most, what, got, want);
}

/* One SA of 100 us, no other time */
static struct sim_job plain(enum sim_variant variant, enum sim_pattern pattern,
			    uint32_t nodes, uint32_t ranks, uint32_t targets)
{
	struct sim_job job;

	job_defaults(&job);
	job.variant = variant;
	job.pattern = pattern;
	job.nodes = nodes;
	job.ranks = ranks;
	job.targets = targets;
	job.spread = 0;
	job.cm = 0;
	job.window = 8;
	job.adaptive = false;
	return job;
}

static struct sim_result run(const struct sim_job *job)
{
	struct sim_result result;

	job_run(job, &result);
	return result;
}

static void test_heap(void)
{
	static const uint32_t times[] = { 5, 1, 3, 1, 4, 1, 9, 2 };
	struct sim_heap heap = {};
	struct sim_event event;
	bool sorted = true;
	uint64_t last = 0;
	uint32_t i, ones = 0;

	for (i = 0; i < 8; i++)
		heap_add(&heap, times[i], 0, i);
	for (i = 0; heap_take(&heap, &event); i++) {
		sorted = sorted && event.time >= last;
		last = event.time;
		/* Those of time 1 are at 1, 3 and 5. */
		if (event.time == 1)
			ones = 10 * ones + event.arg;
	}
	is("heap: as many come out as went in", i, 8);
	check(sorted, "heap: the earliest comes first", last, 9);
	is("heap: of equal ones the first", ones, 135);
	heap_free(&heap);
}

static void test_patterns(void)
{
	struct sim_job job = plain(VARIANT_STOCK, PATTERN_ALL, 7, 1, 3);
	uint32_t i, j, n, pairs, seen, even;

	for (even = 0; even < 2; even++) {
		uint8_t met[8][8] = {};

		job.nodes = 7 + even;
		pairs = 0;
		seen = 0;
		for (i = 0; i < job.nodes; i++)
			for (j = 0; j < pattern_peers(&job, i); j++) {
				n = pattern_peer(&job, i, j);
				pairs++;
				seen += !met[i][n] && !met[n][i] && i != n;
				met[i][n] = 1;
			}
		n = job.nodes * (job.nodes - 1) / 2;
		is("all: as many as there are pairs", pairs, n);
		is("all: each pair once", seen, n);
	}
	job.pattern = PATTERN_DOUBLING;
	job.nodes = 10000;
	is("doubling: 1, 2, 4 ... 8192 are below 10,000",
	   pattern_peers(&job, 0), 14);
	is("doubling: the last one of the first node",
	   pattern_peer(&job, 0, 13), 8192);
	job.pattern = PATTERN_RING;
	is("ring: the last node's is the first", pattern_peer(&job, 9999, 0),
	   0);
	job.nodes = 1;
	is("ring: a single node has none", pattern_peers(&job, 0), 0);
}

static void test_single_server(void)
{
	struct sim_job job = plain(VARIANT_STOCK, PATTERN_STORAGE, 1, 1, 1);
	struct sim_result r = run(&job);

	is("one query", r.queries, 1);
	is("... takes what the SA takes, ms", r.paths_ms, 0.1);
	is("... and did not wait", r.sa_wait_us, 0);

	/* 10 at once: the last one ends after 10 times 100 us, the mean wait
	 * is (0 + 1 + ... + 9) / 10 of them.
	 */
	job.nodes = 10;
	r = run(&job);
	is("ten at once end one by one, ms", r.paths_ms, 1);
	is("... the mean wait, us", r.sa_wait_us, 450);
	is("... the longest queue", r.sa_longest, 10);
	is("... the SA was always busy", r.sa_busy, 1);

	/* M/D/1: load 1/2 waits for half of a service, load 0.8 for two. */
	job.nodes = 200000;
	job.sample = 1000000;
	job.spread = 40000 * SIM_MS;
	r = run(&job);
	near("M/D/1 at a load of 0.5, us", r.sa_wait_us, 50, 3);
	job.spread = 25000 * SIM_MS;
	r = run(&job);
	near("M/D/1 at a load of 0.8, us", r.sa_wait_us, 200, 5);
}

static void test_queries(void)
{
	struct sim_job job = plain(VARIANT_STOCK, PATTERN_STORAGE, 1, 8, 5);

	is("stock: 8 ranks to 5 targets", run(&job).queries, 40);
	job.variant = VARIANT_IBACM;
	is("ibacm: the targets alone", run(&job).queries, 5);
	job.variant = VARIANT_CMX;
	is("project: likewise", run(&job).queries, 5);
	is("... all are connected", run(&job).connections, 40);
	job.preload = true;
	is("project, preloaded: none", run(&job).queries, 0);
	is("... all are connected", run(&job).connections, 40);

	/* Tasoulas et al.: one query a peer, whatever the reconnects */
	job = plain(VARIANT_CMX, PATTERN_STORAGE, 1, 1, 100);
	job.waves = 1000;
	is("project: 1,000 reconnects to 100 peers", run(&job).queries, 100);
	is("... the others were hits", run(&job).hits, 99900);
	job.variant = VARIANT_STOCK;
	is("stock: 1,000 reconnects to 100 peers", run(&job).queries, 100000);
	/* 4 waves at 0, 10, 20 and 30 ms: a life of 15 has ended at 20. */
	job = plain(VARIANT_CMX, PATTERN_STORAGE, 1, 1, 1);
	job.waves = 4;
	job.wave_gap = 10 * SIM_MS;
	job.life = 15 * SIM_MS;
	is("project: a path is queried again after its life", run(&job).queries,
	   2);

	job = plain(VARIANT_STOCK, PATTERN_ALL, 1000, 1, 1);
	is("stock: 1,000 nodes of one rank", run(&job).queries, 499500);
	job = plain(VARIANT_IBACM, PATTERN_ALL, 50, 16, 1);
	is("ibacm: each pair of nodes", run(&job).queries, 1225);
	is("... and each of ranks connects", run(&job).connections,
	   1225 * 256);
	job = plain(VARIANT_CMX, PATTERN_DOUBLING, 16, 4, 1);
	is("doubling: 4 peers of 16 nodes", run(&job).queries, 64);
	job.pattern = PATTERN_RING;
	is("ring: one peer of 16 nodes", run(&job).queries, 16);
}

static void test_work(void)
{
	struct sim_job job = plain(VARIANT_IBACM, PATTERN_STORAGE, 4, 8, 1);

	/* The target accepts 32 connections of 1 ms. */
	job.cm = SIM_MS;
	job.preload = true;
	is("a target's work is that of all nodes, ms", run(&job).connected_ms,
	   32);
	/* In a ring each node connects once and accepts once. */
	job.pattern = PATTERN_RING;
	is("a node's work is both ends, ms", run(&job).connected_ms, 2);
}

/* The SA is silent from the start. */
static void test_failover(void)
{
	struct sim_job job = plain(VARIANT_STOCK, PATTERN_STORAGE, 1, 1, 1);
	struct sim_result r;

	/* The query that the SA has begun is lost as well. */
	job.silent_from = 0;
	job.silent_for = 900 * SIM_MS;
	job.spread = 0;
	r = run(&job);
	/* Each 200 ms; the one at 1000 is answered. */
	is("stock: time, ms", r.paths_ms, 1000.1);
	is("... MADs", r.mads, 6);
	is("... no timeout", r.timeouts, 0);
	/* 11 attempts end at 2200; the program's next one sends at 3000. */
	job.silent_for = 2950 * SIM_MS;
	r = run(&job);
	is("stock: after a timeout, ms", r.paths_ms, 3000.1);
	is("... one connect timed out", r.timeouts, 1);
	is("... which the program made again", r.connections, 1);
	job.tries = 1;
	r = run(&job);
	is("... or gave up", r.gave_up, 1);
	is("... so that it is not connected", r.connections, 0);

	job = plain(VARIANT_IBACM, PATTERN_STORAGE, 1, 1, 1);
	job.silent_for = 2950 * SIM_MS;
	r = run(&job);
	/* At 0, 2000 and 4000 */
	is("ibacm: time, ms", r.paths_ms, 4000.1);

	job.variant = VARIANT_CMX;
	r = run(&job);
	/* At 0, 400, 1200, 2000, 2800, and at 2950 since the SM is new */
	is("project: time, ms", r.paths_ms, 2950.1);
	is("... MADs", r.mads, 6);
	is("... one query", r.queries, 1);

	/* Between two waves */
	job.waves = 2;
	job.wave_gap = 1000 * SIM_MS;
	job.silent_from = 400 * SIM_MS;
	job.silent_for = 100 * SIM_MS;
	is("project: a new SM drops the cache", run(&job).queries, 2);
	job.variant = VARIANT_IBACM;
	is("ibacm: it does not", run(&job).queries, 1);
}

static void test_limits(void)
{
	struct sim_job job = plain(VARIANT_STOCK, PATTERN_STORAGE, 10, 1, 1);
	struct sim_result r, all;

	/* 4 of 10 find a place; the others come again after 200 ms, and 4 of
	 * them find one; then the last 2.
	 */
	job.sa_queue = 4;
	r = run(&job);
	is("SA queue of 4: MADs", r.mads, 18);
	is("... time, ms", r.paths_ms, 400.2);
	/* 20 outstanding at 100 ms each: a response takes 2 s. */
	job = plain(VARIANT_CMX, PATTERN_ALL, 20, 1, 1);
	job.sa = 100 * SIM_MS;
	r = run(&job);
	check(r.useless > 100, "retries that are too early are useless work",
	      r.useless, 100);
	job.window = 1;
	job.adaptive = true;
	all = run(&job);
	check(all.useless < r.useless / 4, "... with the mean response few are",
	      all.useless, r.useless / 4);

	/* A part of a run and a sample of the nodes stand for the whole. */
	job = plain(VARIANT_STOCK, PATTERN_ALL, 200, 4, 1);
	job.spread = 1000 * SIM_MS;
	job.route = 60000 * SIM_MS;
	job.sample = 1000000;
	all = run(&job);
	job.max_events = 60000;
	r = run(&job);
	check(r.extrapolated, "a run ends before all is connected", 0, 1);
	near("... its time", r.paths_ms, all.paths_ms, 2);
	near("... its queries", r.queries, all.queries, 2);
	job.sample = 100;
	r = run(&job);
	check(r.scale > 7, "a sample", r.scale, 8);
	near("... its time", r.paths_ms, all.paths_ms, 5);
	near("... its queries", r.queries, all.queries, 5);
}

static void test_storm(void)
{
	struct sim_storm storm;
	struct sim_storm_result r;

	storm_defaults(&storm);
	storm.nodes = 4;
	storm.clients = 100;
	storm.mad = 0;
	storm_run(&storm, &r);
	is("storm: all connect", r.connected, 100);
	is("... one after another, ms", r.last_ms, 100);
	is("... half of them within, ms", r.median_ms, 51);
	is("... as if the listener never waited", r.median_ms, r.ideal_ms);
	/* 10 of them each 4.295 s */
	storm.backlog = 10;
	storm_run(&storm, &r);
	is("backlog of 10: all connect", r.connected, 100);
	is("... and the others are dropped, each time", r.dropped, 450);
	is("... and sent again", r.sent, 550);
	is("... 10 each time, ms", r.last_ms, 9 * 4295 + 10);
	storm.retries = 2;
	storm.tries = 1;
	storm_run(&storm, &r);
	is("... or as many as the retries allow", r.connected, 30);
	is("... and the others fail", r.failed, 70);
	/* Half of it is for others. */
	storm.window = 4;
	storm.window_first = 4;
	storm.window_min = 4;
	storm_run(&storm, &r);
	is("window of 4 on 4 nodes: none is dropped", r.dropped, 0);
	is("... and no time is lost, ms", r.last_ms, 100);

	/* 30 at once, 8 receives, of which none is done before all have come:
	 * 22 are sent again after 4.295 s, and so on.
	 */
	storm_defaults(&storm);
	storm.nodes = 1;
	storm.clients = 30;
	storm.mad_queue = 8;
	storm_run(&storm, &r);
	is("receives of 8: the others are lost", r.lost, 22 + 14 + 6);
	is("... and sent again", r.sent, 30 + 22 + 14 + 6);
	is("... all connect", r.connected, 30);
	storm.retries = 2;
	storm.tries = 1;
	storm_run(&storm, &r);
	is("... or as many as the retries allow", r.connected, 24);
}

static void test_window(void)
{
	struct sim_storm storm;
	struct sim_storm_result r;

	/* 8 + 9 + ... + 15 = 92 REPs for those from 8 to 16 */
	storm_defaults(&storm);
	storm.nodes = 1;
	storm.clients = 100;
	storm.window = 512;
	storm.window_first = 8;
	storm.window_min = 8;
	storm.accept = 1;
	storm_run(&storm, &r);
	is("window of 8: it grows by one with each window of REPs", r.window,
	   16);
	storm.window = 10;
	storm_run(&storm, &r);
	is("... as far as it may", r.window, 10);

	/* Four are lost, and have their REP in the third epoch. */
	storm_defaults(&storm);
	storm.nodes = 1;
	storm.clients = 12;
	storm.window = 32;
	storm.mad_queue = 8;
	storm_run(&storm, &r);
	is("window of 32: REQs are lost", r.lost, 4);
	is("... once each, which does not halve it", r.window, 32);

	/* REPs after 1.5 s, 3 s and so on: the fifth is late, and the others */
	storm_defaults(&storm);
	storm.nodes = 1;
	storm.clients = 8;
	storm.window = 32;
	storm.accept = 1500 * SIM_MS;
	storm_run(&storm, &r);
	is("... late REPs of one time halve it once", r.window, 16);
	storm.window_min = 20;
	storm_run(&storm, &r);
	is("... but not below the least", r.window, 20);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_heap();
	test_patterns();
	test_single_server();
	test_queries();
	test_work();
	test_failover();
	test_limits();
	test_storm();
	test_window();
	printf("1..%d\n", count);
	return failed;
}
