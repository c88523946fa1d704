/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Counters of a module: per CPU, without locks. Each is a read-only file in
 * /sys/module/NAME/counters. A module has one list, a macro LIST(X) of X(name):
 *
 *	struct my_stats { LIST(CMX_COUNTER_FIELD) };
 *	DEFINE_PER_CPU(struct my_stats, my_stats);
 *	CMX_COUNTERS(my_counters, my_stats, LIST);
 *
 * It counts with this_cpu_inc(my_stats.name). A read sums the CPUs. The sum is
 * exact while nothing counts.
 */
#ifndef CMX_COUNTERS_H
#define CMX_COUNTERS_H

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/kobject.h>
#include <linux/percpu.h>

struct cmx_counters;

/**
 * struct cmx_counter - the file of a counter
 * @attr: the file
 * @counters: the counters of its module
 */
struct cmx_counter {
	struct kobj_attribute attr;
	struct cmx_counters *counters;
};

/**
 * struct cmx_counters - the counters of a module
 * @values: the first value
 * @names: their names
 * @files: their files
 * @count: number of counters
 * @dir: directory of the files
 */
struct cmx_counters {
	s64 __percpu *values;
	const char * const *names;
	struct cmx_counter *files;
	unsigned int count;
	struct kobject *dir;
};

#define CMX_COUNTER_FIELD(_name)	s64 _name;
#define CMX_COUNTER_NAME(_name)		#_name,

#define CMX_COUNTERS(_name, _stats, _list)				\
static const char * const _name##_names[] = { _list(CMX_COUNTER_NAME) };\
static struct cmx_counter _name##_files[ARRAY_SIZE(_name##_names)];	\
static_assert(sizeof(_stats) == sizeof(s64) * ARRAY_SIZE(_name##_names)); \
static struct cmx_counters _name = {					\
	.values = (s64 __percpu *)&(_stats),				\
	.names = _name##_names,						\
	.files = _name##_files,						\
	.count = ARRAY_SIZE(_name##_names),				\
}

/**
 * cmx_counters_init - create the files of a module's counters
 * @counters: from CMX_COUNTERS()
 * @module: kobject of the module
 *
 * Context: process context, may sleep.
 * Return: 0 or a negative errno.
 */
int cmx_counters_init(struct cmx_counters *counters, struct kobject *module);

/**
 * cmx_counters_exit - remove the files
 * @counters: from cmx_counters_init()
 *
 * Context: process context, may sleep; waits for readers of the files.
 */
void cmx_counters_exit(struct cmx_counters *counters);

#endif /* CMX_COUNTERS_H */
