/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of rdma_ucmx, the one list of them. Those that begin with live_ are
 * 0 when no file is open.
 */
#ifndef UCMX_STATS_H
#define UCMX_STATS_H

#include "counters.h"

#define UCMX_STATS(X)							\
	X(files)		/* files opened */			\
	X(ids)			/* ids made, also by connection requests */	\
	X(memberships)		/* multicast memberships that were started */	\
	X(events)		/* events queued */			\
	X(requests)		/* resolutions that were started */	\
	X(races)		/* of candidates, that were started */	\
	X(refused_connects)	/* connection requests refused by a limit */	\
	X(live_files)							\
	X(live_ids)							\
	X(live_mcs)							\
	X(live_advertised)	/* services that have a handle */	\
	X(live_events)							\
	X(live_queries)						\
	X(live_races)		/* ids that have candidates */

struct ucmx_stats {
	UCMX_STATS(CMX_COUNTER_FIELD)
};

DECLARE_PER_CPU(struct ucmx_stats, ucmx_stats);

#define ucmx_stat_inc(name)	this_cpu_inc(ucmx_stats.name)
#define ucmx_stat_dec(name)	this_cpu_dec(ucmx_stats.name)

int ucmx_stats_init(void);
void ucmx_stats_exit(void);

#endif /* UCMX_STATS_H */
