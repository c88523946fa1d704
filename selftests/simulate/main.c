// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * simulate job|storm NAME=VALUE...: one simulation, its results as one line of
 * NAME=VALUE. `simulate help' lists the parameters with their defaults. Times
 * are in microseconds, or milliseconds where the name says so.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulate.h"

static struct sim_job job;
static struct sim_storm storm;

struct parameter {
	const char *name;
	uint32_t *number;
	uint64_t *large;
	uint64_t unit;		/* of @large */
};

#define NUMBER(of, name)	{ #name, &(of).name, NULL, 1 }
#define TIME(of, name, unit)	{ #name "_" unit, NULL, &(of).name, \
				  unit[0] == 'u' ? SIM_US : SIM_MS }
#define LARGE(of, name)		{ #name, NULL, &(of).name, 1 }

static const struct parameter job_parameters[] = {
	NUMBER(job, nodes), NUMBER(job, ranks), NUMBER(job, targets),
	NUMBER(job, depth), NUMBER(job, waves), NUMBER(job, tries),
	NUMBER(job, sa_queue), NUMBER(job, window), NUMBER(job, sample),
	TIME(job, sa, "us"), TIME(job, cm, "us"), TIME(job, spread, "ms"),
	TIME(job, wave_gap, "ms"), TIME(job, life, "ms"),
	TIME(job, route, "ms"), TIME(job, sa_fifo, "ms"),
	TIME(job, silent_from, "ms"), TIME(job, silent_for, "ms"),
	LARGE(job, max_events), LARGE(job, seed),
	{}
};

static const struct parameter storm_parameters[] = {
	NUMBER(storm, nodes), NUMBER(storm, clients), NUMBER(storm, window),
	NUMBER(storm, window_first), NUMBER(storm, window_min),
	NUMBER(storm, backlog),
	NUMBER(storm, mad_queue), NUMBER(storm, retries), NUMBER(storm, tries),
	TIME(storm, mad, "us"), TIME(storm, accept, "us"),
	TIME(storm, timeout, "ms"), TIME(storm, again, "ms"),
	TIME(storm, spread, "ms"), LARGE(storm, seed),
	{}
};

static int usage(const char *why, const char *what)
{
	fprintf(stderr, "simulate: %s: %s; see `simulate help'\n", why, what);
	return 2;
}

static bool parameter_set(const struct parameter *p, const char *name,
			  const char *text)
{
	uint64_t value;
	char *end;

	for (; p->name; p++)
		if (!strcmp(p->name, name))
			break;
	if (!p->name || *text < '0' || *text > '9')
		return false;
	value = strtoull(text, &end, 10);
	if (*end)
		return false;
	if (p->number) {
		*p->number = value;
		return value <= UINT32_MAX / 2;
	}
	*p->large = value * p->unit;
	return value <= UINT64_MAX / 4 / p->unit;
}

static int word_find(const char *const *words, int count, const char *word)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(words[i], word))
			return i;
	return -1;
}

/* The parameters that are words */
static bool job_word(const char *name, const char *text)
{
	int found;

	if (!strcmp(name, "variant")) {
		found = word_find(variant_names, VARIANTS, text);
		job.variant = found;
		return found >= 0;
	}
	if (!strcmp(name, "pattern")) {
		found = word_find(pattern_names, PATTERNS, text);
		job.pattern = found;
		return found >= 0;
	}
	if (strcmp(text, "0") && strcmp(text, "1"))
		return false;
	if (!strcmp(name, "preload"))
		job.preload = *text == '1';
	else if (!strcmp(name, "adaptive"))
		job.adaptive = *text == '1';
	else
		return false;
	return true;
}

static int parse(int argc, char **argv, const struct parameter *parameters,
		 bool words)
{
	char *text;
	int i;

	for (i = 0; i < argc; i++) {
		text = strchr(argv[i], '=');
		if (!text)
			return usage("not NAME=VALUE", argv[i]);
		*text++ = 0;
		if (!parameter_set(parameters, argv[i], text) &&
		    !(words && job_word(argv[i], text)))
			return usage("no such parameter or value", argv[i]);
	}
	return 0;
}

static int job_main(void)
{
	struct sim_result r;

	if (!job.nodes || !job.ranks || !job.targets || !job.depth ||
	    !job.waves || !job.sa_queue || !job.window || !job.sample || job.max_events < 2 ||
	    (uint64_t)job.nodes * job.ranks * job.depth > 100000000)
		return usage("out of range", "a size of the job");
	job_run(&job, &r);
	printf("variant=%s preload=%d pattern=%s nodes=%" PRIu32
	       " ranks=%" PRIu32 " connections=%.0f queries=%.0f mads=%.0f"
	       " served=%.0f useless=%.0f hits=%.0f timeouts=%.0f gave_up=%.0f"
	       " sa_longest=%" PRIu32 " sa_wait_us=%.1f sa_busy=%.3f"
	       " paths_ms=%.3f connected_ms=%.3f extrapolated=%d scale=%.1f"
	       " events=%" PRIu64 "\n", variant_names[job.variant], job.preload,
	       pattern_names[job.pattern], job.nodes, job.ranks, r.connections,
	       r.queries, r.mads, r.served, r.useless, r.hits, r.timeouts,
	       r.gave_up, r.sa_longest, r.sa_wait_us, r.sa_busy, r.paths_ms,
	       r.connected_ms, r.extrapolated, r.scale, r.events);
	return 0;
}

static int storm_main(void)
{
	struct sim_storm_result r;

	if (!storm.nodes || !storm.clients || !storm.backlog ||
	    !storm.mad_queue || !storm.tries || storm.tries > 1000 ||
	    storm.retries > 1000 || storm.clients > 10000000 ||
	    storm.nodes > 1000000)
		return usage("out of range", "a size of the storm");
	storm_run(&storm, &r);
	printf("nodes=%" PRIu32 " clients=%" PRIu32 " window=%" PRIu32
	       " connected=%" PRIu32 " failed=%" PRIu32 " dropped=%" PRIu64
	       " lost=%" PRIu64 " sent=%" PRIu64 " median_ms=%.3f"
	       " ideal_ms=%.3f last_ms=%.3f\n", storm.nodes, storm.clients,
	       storm.window, r.connected, r.failed, r.dropped, r.lost, r.sent,
	       r.median_ms, r.ideal_ms, r.last_ms);
	return 0;
}

static void help(const char *what, const struct parameter *p)
{
	printf("simulate %s", what);
	for (; p->name; p++) {
		if (p->number)
			printf(" %s=%" PRIu32, p->name, *p->number);
		else if (*p->large == SIM_NEVER)
			printf(" %s=NUMBER", p->name);
		else
			printf(" %s=%" PRIu64, p->name, *p->large / p->unit);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int ret;

	job_defaults(&job);
	storm_defaults(&storm);
	if (!strcmp(what, "job")) {
		ret = parse(argc - 2, argv + 2, job_parameters, true);
		return ret ? ret : job_main();
	}
	if (!strcmp(what, "storm")) {
		ret = parse(argc - 2, argv + 2, storm_parameters, false);
		return ret ? ret : storm_main();
	}
	if (strcmp(what, "help"))
		return usage("neither job nor storm", what);
	help("job variant=stock|ibacm|cmx preload=0|1 adaptive=0|1 pattern=all|ring|doubling|storage",
	     job_parameters);
	help("storm", storm_parameters);
	return 0;
}
