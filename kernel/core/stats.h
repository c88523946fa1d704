/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters, per CPU and without locks. Each is the file of the same name in
 * /sys/module/rdma_cmx/counters. Those that begin with live_ count objects and
 * are 0 when the module is idle.
 */
#ifndef CMX_STATS_H
#define CMX_STATS_H

#include <linux/percpu.h>

enum cmx_stat {
	CMX_STAT_requests,	/* queries */
	CMX_STAT_completed,	/* answered with a result */
	CMX_STAT_failed,	/* answered with an error */
	CMX_STAT_cancelled,	/* cancelled before an answer */
	CMX_STAT_timeouts,	/* of the failed: deadline passed */
	CMX_STAT_name_hits,	/* names answered from the cache */
	CMX_STAT_name_lookups,	/* names looked up by the key service */
	CMX_STAT_name_errors,	/* of those: ended with an error */
	CMX_STAT_name_refused,	/* names refused by a limit */
	CMX_STAT_coalesced,	/* queries that joined a lookup */
	CMX_STAT_names_given,	/* answers that callers brought */
	CMX_STAT_joins,		/* multicast joins that were started */
	CMX_STAT_leaves,	/* multicast groups left */
	CMX_STAT_rejoins,	/* lost memberships that were joined again */
	CMX_STAT_sa_ports,	/* InfiniBand ports with a MAD agent */
	CMX_STAT_sa_queries,	/* queries sent to an SA */
	CMX_STAT_sa_hits,	/* queries completed from the cache */
	CMX_STAT_sa_coalesced,	/* queries that joined an outstanding one */
	CMX_STAT_sa_retries,	/* MADs sent again */
	CMX_STAT_sa_timeouts,	/* queries that no SA responded to */
	CMX_STAT_sa_errors,	/* queries that ended with any error */
	CMX_STAT_sa_redirects,	/* answers that named another SA */
	CMX_STAT_sa_refused,	/* queries refused by a limit */
	CMX_STAT_sa_events,	/* changes of a port that emptied its cache */
	CMX_STAT_sa_cached,	/* answers in the caches */
	CMX_STAT_live_queries,
	CMX_STAT_live_lookups,
	CMX_STAT_live_results,
	CMX_STAT_live_neighs,	/* outstanding neighbour resolutions */
	CMX_STAT_live_sa_lookups,
	CMX_STAT_live_sa_mads,
	CMX_STAT_live_sa_answers,	/* outside the caches */
	CMX_STAT_live_members,	/* memberships that rdma_cm does not know */
	CMX_STAT_COUNT,
};

struct cmx_stats {
	s64 v[CMX_STAT_COUNT];
};

DECLARE_PER_CPU(struct cmx_stats, cmx_stats);

#define cmx_stat_inc(name)	this_cpu_inc(cmx_stats.v[CMX_STAT_##name])
#define cmx_stat_dec(name)	this_cpu_dec(cmx_stats.v[CMX_STAT_##name])

int cmx_stats_init(void);
void cmx_stats_exit(void);

#endif /* CMX_STATS_H */
