/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of rdma_ucmx. Those that begin with live_ are 0 while no file is
 * open.
 */
#ifndef UCMX_STATS_H
#define UCMX_STATS_H

#include "counters.h"

#define UCMX_STATS(X)							\
	X(files)		/* files opened */			\
	X(ids)			/* ids created, also by requests */	\
	X(memberships)		/* multicast memberships started */	\
	X(events)		/* events queued */			\
	X(requests)		/* resolutions started */		\
	X(races)		/* races of candidates started */	\
	X(held_connects)	/* requests beyond the backlog */	\
	X(refused_connects)	/* requests refused by a limit */	\
	X(live_files)							\
	X(live_ids)							\
	X(live_mcs)							\
	X(live_advertised)	/* services that have a handle */	\
	X(live_events)							\
	X(live_queries)							\
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
