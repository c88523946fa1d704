// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Counters of this module; rdma_cmx shows them. */
#include <linux/module.h>

#include "stats.h"

DEFINE_PER_CPU(struct ucmx_stats, ucmx_stats);

CMX_COUNTERS(ucmx_counters, ucmx_stats, UCMX_STATS);

int ucmx_stats_init(void)
{
	return cmx_counters_init(&ucmx_counters, &THIS_MODULE->mkobj.kobj);
}

void ucmx_stats_exit(void)
{
	cmx_counters_exit(&ucmx_counters);
}
