// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A run of job.c: its set-up, its end, and what is derived when it ends before
 * all is connected. One thread, no locks.
 */
#include <stdlib.h>
#include <string.h>

#include "job.h"

const char *const variant_names[VARIANTS] = {
	[VARIANT_STOCK] = "stock",
	[VARIANT_IBACM] = "ibacm",
	[VARIANT_CMX] = "cmx",
};

/* ib_sa: a tenth of the timeout each; ibacm: its configuration file */
#define STOCK_ATTEMPTS	11
#define IBACM_TIMEOUT	(2000 * SIM_MS)
#define IBACM_ATTEMPTS	3

void job_defaults(struct sim_job *job)
{
	*job = (struct sim_job) {
		.nodes = 16,
		.ranks = 64,
		.targets = 8,
		.depth = 1,
		.waves = 1,
		.spread = 1000 * SIM_MS,
		.life = SIM_NEVER,
		.route = 2000 * SIM_MS,
		.tries = 5,
		.sa = 100 * SIM_US,
		.sa_queue = 200000,
		.sa_fifo = 10000 * SIM_MS,
		.cm = 100 * SIM_US,
		.window = 1,
		.adaptive = true,
		.sample = 20000,
		.max_events = 4000000,
		.seed = 1,
	};
}

static void policy_init(struct policy *policy, const struct sim_job *job)
{
	switch (job->variant) {
	case VARIANT_STOCK:
		*policy = (struct policy) {
			.first = job->route / 10,
			.next = job->route / 10,
			.total = STOCK_ATTEMPTS * (job->route / 10),
			.window = job->depth,
			.window_max = job->depth,
		};
		return;
	case VARIANT_IBACM:
		*policy = (struct policy) {
			.first = IBACM_TIMEOUT,
			.next = IBACM_TIMEOUT,
			.total = IBACM_ATTEMPTS * IBACM_TIMEOUT,
			.window = 1,
			.window_max = 1,
			.of_node = true,
		};
		return;
	default:
		*policy = (struct policy) {
			.first = CMX_FIRST,
			.next = CMX_NEXT,
			.total = CMX_TOTAL,
			.window = job->window,
			.window_max = CMX_WINDOW_MAX,
			.adaptive = job->adaptive,
			.of_node = true,
			.follows_sm = true,
		};
	}
}

static uint32_t slots_of(const struct run *run)
{
	const struct sim_job *job = run->job;
	uint64_t wanted = (uint64_t)pattern_ranks(job) * job->depth;

	if (!run->policy.of_node || wanted > run->policy.window_max)
		return run->policy.window_max;
	return wanted;
}

/* The sample, and the SA that fits to it */
static void scale_init(struct run *run)
{
	const struct sim_job *job = run->job;
	uint64_t slots = slots_of(run);

	if (!run->policy.of_node)
		slots *= pattern_ranks(job);
	run->nodes = job->nodes;
	if (slots * job->nodes > job->sample)
		run->nodes = job->sample / slots ? job->sample / slots : 1;
	run->scale = (double)job->nodes / run->nodes;
	run->sa = job->sa * run->scale;
	run->sa_queue = job->sa_queue / run->scale;
	if (!run->sa_queue)
		run->sa_queue = 1;
}

static void requesters_init(struct run *run)
{
	const struct sim_job *job = run->job;
	uint32_t each = run->policy.of_node ? 1 : pattern_ranks(job);
	uint32_t i, j, slots = slots_of(run);
	sim_time start = 0;

	run->requesters_count = run->nodes * each;
	run->slots_count = run->requesters_count * slots;
	run->requesters = sim_alloc(run->requesters_count,
				    sizeof(*run->requesters));
	run->slots = sim_alloc(run->slots_count, sizeof(*run->slots));
	for (i = 0; i < run->requesters_count; i++) {
		struct requester *r = &run->requesters[i];

		r->node = i / each;
		r->rank = i % each;
		r->lookups = pattern_peers(job, r->node) *
			     (run->policy.of_node ? 1 : pattern_each(job));
		r->window = run->policy.window;
		r->first_slot = i * slots;
		r->slots = slots;
		for (j = 0; j < slots; j++)
			run->slots[r->first_slot + j].requester = i;
		run->total += (double)r->lookups * job->waves;
		if (!r->rank)
			start = sim_random(&run->seed, job->spread + 1);
		heap_add(&run->heap, start, EVENT_START, i);
	}
}

/* Without a second wave no path is needed twice. */
static void known_init(struct run *run)
{
	uint32_t i;

	if (!run->policy.of_node || run->job->waves < 2)
		return;
	run->known = sim_alloc(run->nodes, sizeof(*run->known));
	for (i = 0; i < run->nodes; i++)
		run->known[i] = sim_alloc(pattern_peers(run->job, i),
					  sizeof(**run->known));
}

static uint32_t machines(const struct run *run)
{
	return run->nodes + pattern_machines(run->job) - run->job->nodes;
}

static void run_init(struct run *run, const struct sim_job *job)
{
	memset(run, 0, sizeof(*run));
	run->job = job;
	run->seed = job->seed;
	policy_init(&run->policy, job);
	scale_init(run);
	requesters_init(run);
	known_init(run);
	run->work_done = sim_alloc(machines(run), sizeof(*run->work_done));
	run->queue = sim_alloc(run->sa_queue, sizeof(*run->queue));
	if (job->silent_for)
		heap_add(&run->heap, job->silent_from, EVENT_SILENT, 0);
}

static void run_free(struct run *run)
{
	uint32_t i;

	for (i = 0; run->known && i < run->nodes; i++)
		free(run->known[i]);
	free(run->known);
	free(run->queue);
	free(run->work_done);
	free(run->slots);
	free(run->requesters);
	heap_free(&run->heap);
}

/*
 * The rest of a run is @part of its second half, in time and in all counts.
 * Each simulated node stands for several.
 */
static double whole(const struct run *run, double all, double half, double part)
{
	return (all + part * (all - half)) * run->scale;
}

static void run_counts(const struct run *run, struct sim_result *result,
		       double part)
{
	const struct counts *c = &run->counts, *half = &run->half;

#define WHOLE(name) result->name = whole(run, c->name, half->name, part)
	WHOLE(connections);
	WHOLE(queries);
	WHOLE(mads);
	WHOLE(served);
	WHOLE(useless);
	WHOLE(hits);
	WHOLE(timeouts);
	WHOLE(gave_up);
#undef WHOLE
}

static void run_result(const struct run *run, struct sim_result *result)
{
	const struct counts *c = &run->counts;
	double left = run->total - c->done, part = 0;
	uint32_t i, n = machines(run);
	sim_time last = 0;

	for (i = 0; i < n; i++)
		if (last < run->work_done[i])
			last = run->work_done[i];
	result->connected_ms = (double)last / SIM_MS;
	result->paths_ms = (double)run->last_path / SIM_MS;
	if (left) {
		result->extrapolated = true;
		part = left / (c->done - run->half.done);
		result->paths_ms = (c->now + part * (c->now - run->half.now)) /
				   SIM_MS;
		/* Both ends of each connection are work for somebody. */
		result->connected_ms += part * (c->connections -
						run->half.connections) * 2 *
					run->job->cm / n / SIM_MS;
		if (result->connected_ms < result->paths_ms)
			result->connected_ms = result->paths_ms;
	}
	run_counts(run, result, part);
	result->sa_longest = run->longest * run->scale;
	if (c->served)
		result->sa_wait_us = run->waited / c->served / SIM_US;
	if (c->now)
		result->sa_busy = c->served * run->sa / c->now;
	result->scale = run->scale;
}

void job_run(const struct sim_job *job, struct sim_result *result)
{
	struct sim_event event;
	struct run run;
	uint64_t n = 0;

	run_init(&run, job);
	while (run.counts.done < run.total && n < job->max_events &&
	       heap_take(&run.heap, &event)) {
		run.now = event.time;
		event_handle(&run, &event);
		run.counts.now = run.now;
		if (++n == job->max_events / 2)
			run.half = run.counts;
	}
	*result = (struct sim_result) { .events = n };
	run_result(&run, result);
	run_free(&run);
}
