/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The counters of the modules, which cmx stat reads and prints */
#ifndef CMX_STAT_H
#define CMX_STAT_H

#include <stdbool.h>
#include <stddef.h>

#define STAT_MODULES	2

struct counter {
	char *name;
	unsigned long long value;
};

/* Counters of one module, ordered by name */
struct counters {
	const char *module;
	bool loaded;
	struct counter *list;
	size_t count;
};

/* Prints in the text format of Prometheus, to @path or, if NULL, to stdout. */
int stat_prometheus(const struct counters modules[STAT_MODULES],
		    const char *path);

#endif /* CMX_STAT_H */
