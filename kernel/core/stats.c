// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Counters of both modules (counters.h), and the list of rdma_cmx. */
#include <linux/export.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#include "stats.h"

DEFINE_PER_CPU(struct cmx_stats, cmx_stats);

CMX_COUNTERS(cmx_counters, cmx_stats, CMX_STATS);

static ssize_t cmx_counter_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	struct cmx_counter *file = container_of(attr, struct cmx_counter, attr);
	struct cmx_counters *c = file->counters;
	size_t i = file - c->files;
	s64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(c->values, cpu)[i]);
	/* A CPU that was read may have counted up what another counts down. */
	return sysfs_emit(buf, "%lld\n", max(sum, 0LL));
}

int cmx_counters_init(struct cmx_counters *counters, struct kobject *module)
{
	unsigned int i;
	int ret;

	counters->dir = kobject_create_and_add("counters", module);
	if (!counters->dir)
		return -ENOMEM;
	for (i = 0; i < counters->count; i++) {
		struct cmx_counter *file = &counters->files[i];

		file->counters = counters;
		sysfs_attr_init(&file->attr.attr);
		file->attr.attr.name = counters->names[i];
		file->attr.attr.mode = 0444;
		file->attr.show = cmx_counter_show;
		ret = sysfs_create_file(counters->dir, &file->attr.attr);
		if (ret) {
			cmx_counters_exit(counters);
			return ret;
		}
	}
	return 0;
}
EXPORT_SYMBOL_GPL(cmx_counters_init);

/* The directory is removed now, and its files with it. */
void cmx_counters_exit(struct cmx_counters *counters)
{
	kobject_del(counters->dir);
	kobject_put(counters->dir);
}
EXPORT_SYMBOL_GPL(cmx_counters_exit);

int cmx_stats_init(void)
{
	return cmx_counters_init(&cmx_counters, &THIS_MODULE->mkobj.kobj);
}

void cmx_stats_exit(void)
{
	cmx_counters_exit(&cmx_counters);
}
