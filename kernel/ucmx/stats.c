// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Counters, one read-only file each in /sys/module/rdma_ucmx/counters. Those
 * that start with live_ are zero when nothing is open. Plain atomics, no
 * locks.
 */
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/sysfs.h>

#include "ucmx.h"

atomic_long_t ucmx_stats[UCMX_NR_STATS];

struct ucmx_stat_attr {
	struct module_attribute attr;
	enum ucmx_stat stat;
};

/* The module's kobject calls its files the way of module_attribute. */
static ssize_t ucmx_stat_show(struct module_attribute *attr,
			      struct module_kobject *mk, char *buf)
{
	struct ucmx_stat_attr *s =
		container_of(attr, struct ucmx_stat_attr, attr);

	return sysfs_emit(buf, "%ld\n", atomic_long_read(&ucmx_stats[s->stat]));
}

#define UCMX_STAT(_name, _stat)						\
static struct ucmx_stat_attr ucmx_attr_##_name = {			\
	.attr = __ATTR(_name, 0444, ucmx_stat_show, NULL),		\
	.stat = _stat,							\
}

UCMX_STAT(files, UCMX_FILES);
UCMX_STAT(ids, UCMX_IDS);
UCMX_STAT(memberships, UCMX_MCS);
UCMX_STAT(events, UCMX_EVENTS);
UCMX_STAT(requests, UCMX_REQUESTS);
UCMX_STAT(refused_connects, UCMX_REFUSED);
UCMX_STAT(live_files, UCMX_LIVE_FILES);
UCMX_STAT(live_ids, UCMX_LIVE_IDS);
UCMX_STAT(live_mcs, UCMX_LIVE_MCS);
UCMX_STAT(live_events, UCMX_LIVE_EVENTS);
UCMX_STAT(live_queries, UCMX_LIVE_QUERIES);

static struct attribute *ucmx_stat_attrs[] = {
	&ucmx_attr_files.attr.attr,
	&ucmx_attr_ids.attr.attr,
	&ucmx_attr_memberships.attr.attr,
	&ucmx_attr_events.attr.attr,
	&ucmx_attr_requests.attr.attr,
	&ucmx_attr_refused_connects.attr.attr,
	&ucmx_attr_live_files.attr.attr,
	&ucmx_attr_live_ids.attr.attr,
	&ucmx_attr_live_mcs.attr.attr,
	&ucmx_attr_live_events.attr.attr,
	&ucmx_attr_live_queries.attr.attr,
	NULL
};

static const struct attribute_group ucmx_stat_group = {
	.name = "counters",
	.attrs = ucmx_stat_attrs,
};

int ucmx_stats_init(void)
{
	return sysfs_create_group(&THIS_MODULE->mkobj.kobj, &ucmx_stat_group);
}

void ucmx_stats_exit(void)
{
	sysfs_remove_group(&THIS_MODULE->mkobj.kobj, &ucmx_stat_group);
}
