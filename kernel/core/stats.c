// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters in /sys/module/rdma_cmx/counters, one value per file. Reading sums
 * the CPUs without a lock: exact when nothing moves.
 */
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#include "stats.h"

DEFINE_PER_CPU(struct cmx_stats, cmx_stats);

static const char * const cmx_stat_names[CMX_STAT_COUNT] = {
	[CMX_STAT_requests] = "requests",
	[CMX_STAT_completed] = "completed",
	[CMX_STAT_failed] = "failed",
	[CMX_STAT_cancelled] = "cancelled",
	[CMX_STAT_timeouts] = "timeouts",
	[CMX_STAT_name_hits] = "name_hits",
	[CMX_STAT_name_lookups] = "name_lookups",
	[CMX_STAT_name_errors] = "name_errors",
	[CMX_STAT_name_refused] = "name_refused",
	[CMX_STAT_coalesced] = "coalesced",
	[CMX_STAT_names_given] = "names_given",
	[CMX_STAT_joins] = "joins",
	[CMX_STAT_leaves] = "leaves",
	[CMX_STAT_rejoins] = "rejoins",
	[CMX_STAT_sa_ports] = "sa_ports",
	[CMX_STAT_sa_queries] = "sa_queries",
	[CMX_STAT_sa_hits] = "sa_hits",
	[CMX_STAT_sa_coalesced] = "sa_coalesced",
	[CMX_STAT_sa_retries] = "sa_retries",
	[CMX_STAT_sa_timeouts] = "sa_timeouts",
	[CMX_STAT_sa_errors] = "sa_errors",
	[CMX_STAT_sa_redirects] = "sa_redirects",
	[CMX_STAT_sa_refused] = "sa_refused",
	[CMX_STAT_sa_events] = "sa_events",
	[CMX_STAT_sa_cached] = "sa_cached",
	[CMX_STAT_live_queries] = "live_queries",
	[CMX_STAT_live_lookups] = "live_lookups",
	[CMX_STAT_live_results] = "live_results",
	[CMX_STAT_live_neighs] = "live_neighs",
	[CMX_STAT_live_sa_lookups] = "live_sa_lookups",
	[CMX_STAT_live_sa_mads] = "live_sa_mads",
	[CMX_STAT_live_sa_answers] = "live_sa_answers",
	[CMX_STAT_live_members] = "live_members",
};

static struct kobj_attribute cmx_stat_files[CMX_STAT_COUNT];
static struct kobject *cmx_stat_dir;

static ssize_t cmx_stat_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	size_t stat = attr - cmx_stat_files;
	s64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(cmx_stats, cpu).v[stat]);
	return sysfs_emit(buf, "%lld\n", sum);
}

int cmx_stats_init(void)
{
	int i, ret;

	cmx_stat_dir = kobject_create_and_add("counters",
					      &THIS_MODULE->mkobj.kobj);
	if (!cmx_stat_dir)
		return -ENOMEM;
	for (i = 0; i < CMX_STAT_COUNT; i++) {
		sysfs_attr_init(&cmx_stat_files[i].attr);
		cmx_stat_files[i].attr.name = cmx_stat_names[i];
		cmx_stat_files[i].attr.mode = 0444;
		cmx_stat_files[i].show = cmx_stat_show;
		ret = sysfs_create_file(cmx_stat_dir, &cmx_stat_files[i].attr);
		if (ret) {
			cmx_stats_exit();
			return ret;
		}
	}
	return 0;
}

/* The files go with their folder; readers are waited for. */
void cmx_stats_exit(void)
{
	kobject_put(cmx_stat_dir);
}
