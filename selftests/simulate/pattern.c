// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The pairs that connect. The end that connects needs the path; the other has
 * it from the REQ. Ranks of one node use shared memory, and connect to each
 * other in no pattern.
 */
#include "simulate.h"

const char *const pattern_names[PATTERNS] = {
	[PATTERN_ALL] = "all",
	[PATTERN_RING] = "ring",
	[PATTERN_DOUBLING] = "doubling",
	[PATTERN_STORAGE] = "storage",
};

/* Nodes that @node connects to; each is one path. */
uint32_t pattern_peers(const struct sim_job *job, uint32_t node)
{
	uint32_t n = job->nodes, count = 0;

	switch (job->pattern) {
	case PATTERN_ALL:
		/* Half of the others, so that each pair has one who connects */
		return (n - 1) / 2 + (n % 2 == 0 && node < n / 2);
	case PATTERN_RING:
		return n > 1;
	case PATTERN_DOUBLING:
		while (count < 31 && (1U << count) < n)
			count++;
		return count;
	case PATTERN_STORAGE:
		return job->targets;
	default:
		return 0;
	}
}

/* The number of the @n-th of them; targets come after the nodes. */
uint32_t pattern_peer(const struct sim_job *job, uint32_t node, uint32_t n)
{
	uint64_t to;

	switch (job->pattern) {
	case PATTERN_STORAGE:
		return job->nodes + ((uint64_t)node + n) % job->targets;
	case PATTERN_DOUBLING:
		to = (uint64_t)node + (1U << n);
		break;
	default:
		to = (uint64_t)node + 1 + n;
	}
	return to % job->nodes;
}

uint32_t pattern_ranks(const struct sim_job *job)
{
	return job->pattern == PATTERN_RING ? 1 : job->ranks;
}

uint32_t pattern_each(const struct sim_job *job)
{
	return job->pattern == PATTERN_ALL ? job->ranks : 1;
}

uint32_t pattern_machines(const struct sim_job *job)
{
	return job->nodes +
	       (job->pattern == PATTERN_STORAGE ? job->targets : 0);
}
