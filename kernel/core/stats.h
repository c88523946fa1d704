/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of rdma_cmx. Those that begin with live_ count objects and are 0
 * when the module is idle.
 */
#ifndef CMX_STATS_H
#define CMX_STATS_H

#include "counters.h"

#define CMX_STATS(X)							\
	X(requests)		/* queries */				\
	X(completed)		/* completed with a result */		\
	X(failed)		/* completed with an error */		\
	X(cancelled)		/* cancelled before a result */		\
	X(timeouts)		/* of the failed: deadline passed */	\
	X(name_hits)		/* names found in the cache */		\
	X(name_lookups)		/* names looked up by the key service */ \
	X(name_errors)		/* of those: ended with an error */	\
	X(name_refused)		/* names refused by a limit */		\
	X(coalesced)		/* queries that joined a lookup */	\
	X(names_given)		/* results passed by callers */		\
	X(neighs_warmed)	/* discoveries of neighbours of names' addresses */ \
	X(device_walks)		/* searches of all GID tables for an address */ \
	X(routes)		/* route queries of ids, not from the cache */ \
	X(routes_by_cm)		/* of those: left to rdma_cm after an error */ \
	X(connects)		/* connects by name */			\
	X(connect_attempts)	/* attempts of candidates, with an id each */ \
	X(connect_requests)	/* requests of candidates */		\
	X(connected)		/* of the connects: with an id */	\
	X(paths_queries)	/* calls for many paths */		\
	X(paths_destinations)	/* of those */				\
	X(connect_slots)	/* connection requests that got a slot */ \
	X(connect_waits)	/* connection requests that waited */	\
	X(connect_wait_ms)	/* sum of their waiting times */	\
	X(connect_timeouts)	/* of the waits: without a slot in time */ \
	X(connect_refused)	/* refused by connect_queue */		\
	X(watch_queries)	/* queries of watches */		\
	X(watch_events)		/* callbacks of watches */		\
	X(joins)		/* multicast joins that were started */	\
	X(leaves)		/* multicast groups left */		\
	X(rejoins)		/* lost memberships that were rejoined */ \
	X(services)		/* services that were advertised */	\
	X(services_refused)	/* not advertised because of a limit */	\
	X(services_lost)	/* records on ports that went down */	\
	X(service_sets)		/* records set or renewed */		\
	X(service_deletes)	/* records deleted */			\
	X(service_failures)	/* attempts to set one that failed */	\
	X(sa_ports)		/* InfiniBand ports with a MAD agent */	\
	X(sa_queries)		/* queries sent to an SA */		\
	X(sa_hits)		/* queries completed from the cache */	\
	X(sa_coalesced)		/* queries that joined an outstanding one */ \
	X(sa_retries)		/* MADs that were retried */		\
	X(sa_timeouts)		/* queries that no SA responded to */	\
	X(sa_errors)		/* queries that ended with any error */	\
	X(sa_redirects)		/* responses that redirected */		\
	X(sa_responses_ignored)	/* responses that are not from the SA */ \
	X(sa_refused)		/* queries refused by a limit */	\
	X(sa_memory_refused)	/* responses refused by sa_kb_per_user */ \
	X(sa_events)		/* changes of a port that emptied its cache */ \
	X(sa_cached)		/* responses in the caches */		\
	X(sa_subscribed)	/* ports whose SA reports changes of paths */ \
	X(sa_subscribed_paths)	/* of these: also by traps 68 and 69 */	\
	X(sa_subscribes)	/* subscriptions that were sent to an SA */ \
	X(sa_subscribe_errors)	/* attempts to subscribe that failed */	\
	X(sa_reports)		/* reports of SAs: of GIDs, of paths */	\
	X(sa_reports_paths)	/* of these: changed paths, traps 68 and 69 */ \
	X(sa_reports_ignored)	/* not from the SA, malformed, or of no use */ \
	X(paths_hits)		/* of sa_hits: for paths */		\
	X(paths_coalesced)	/* of sa_coalesced: for paths */	\
	X(paths_dropped)	/* paths that were dropped for a report */ \
	X(paths_failed)		/* likewise, for a connect that failed */ \
	X(paths_forgotten)	/* by a user's command */		\
	X(paths_outdated)	/* for an event of the port */		\
	X(paths_evicted)	/* for a limit of the cache */		\
	X(paths_expired)	/* after their lifetime */		\
	X(live_queries)							\
	X(live_lookups)							\
	X(live_results)							\
	X(live_neighs)		/* outstanding neighbour resolutions */	\
	X(live_services)						\
	X(live_service_records)						\
	X(live_sa_lookups)						\
	X(live_sa_mads)							\
	X(live_sa_responses)	/* outside the caches */		\
	X(live_sa_bytes)	/* of responses that queries keep */	\
	X(live_connects)						\
	X(live_paths_queries)						\
	X(live_connect_waits)						\
	X(live_watches)							\
	X(live_members)		/* memberships that rdma_cm does not know */

struct cmx_stats {
	CMX_STATS(CMX_COUNTER_FIELD)
};

DECLARE_PER_CPU(struct cmx_stats, cmx_stats);

#define cmx_stat_inc(name)	this_cpu_inc(cmx_stats.name)
#define cmx_stat_dec(name)	this_cpu_dec(cmx_stats.name)
#define cmx_stat_add(name, n)	this_cpu_add(cmx_stats.name, (s64)(n))
#define cmx_stat_sub(name, n)	this_cpu_sub(cmx_stats.name, (s64)(n))

int cmx_stats_init(void);
void cmx_stats_exit(void);

#endif /* CMX_STATS_H */
