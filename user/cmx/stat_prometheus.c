// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx stat --prometheus: the counters in the text format of Prometheus, for
 * the folder that node_exporter reads. A file there is replaced as a whole:
 * node_exporter must not read a half.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmx.h"
#include "stat.h"

/* What shrinks is a gauge; rdma_cmx(4) says what each is. */
static bool is_gauge(const char *name)
{
	return !strncmp(name, "live_", 5) || !strcmp(name, "sa_cached") ||
	       !strcmp(name, "sa_ports");
}

/* The names are files in sysfs; what is no metric's name is passed over. */
static bool is_metric(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789")];
}

static void metric_head(FILE *file, const char *name, const char *suffix,
			const char *type, const char *help)
{
	fprintf(file, "# HELP rdma_cmx_%s%s %s\n", name, suffix, help);
	fprintf(file, "# TYPE rdma_cmx_%s%s %s\n", name, suffix, type);
}

static const struct counter *counter_find(const struct counters *module,
					  const char *name)
{
	size_t i;

	for (i = 0; i < module->count; i++)
		if (!strcmp(module->list[i].name, name))
			return &module->list[i];
	return NULL;
}

/* One metric with a value for each module that has the counter */
static void metric_print(FILE *file,
			 const struct counters modules[STAT_MODULES],
			 const char *name)
{
	const char *suffix = is_gauge(name) ? "" : "_total";
	const struct counter *counter;
	size_t i;

	metric_head(file, name, suffix, is_gauge(name) ? "gauge" : "counter",
		    "See rdma_cmx(4).");
	for (i = 0; i < STAT_MODULES; i++) {
		counter = counter_find(&modules[i], name);
		if (counter)
			fprintf(file, "rdma_cmx_%s%s{module=\"%s\"} %llu\n",
				name, suffix, modules[i].module,
				counter->value);
	}
}

static void metrics_print(FILE *file,
			  const struct counters modules[STAT_MODULES])
{
	const char *name;
	size_t i, at;

	metric_head(file, "loaded", "", "gauge",
		    "1 if the kernel module is loaded.");
	for (i = 0; i < STAT_MODULES; i++)
		fprintf(file, "rdma_cmx_loaded{module=\"%s\"} %d\n",
			modules[i].module, modules[i].loaded);
	for (i = 0; i < STAT_MODULES; i++) {
		for (at = 0; at < modules[i].count; at++) {
			name = modules[i].list[at].name;
			/* One of both modules was printed with the first. */
			if (is_metric(name) &&
			    (!i || !counter_find(&modules[0], name)))
				metric_print(file, modules, name);
		}
	}
}

int stat_prometheus(const struct counters modules[STAT_MODULES],
		    const char *path)
{
	FILE *file = NULL;
	struct stat st;
	char *other;
	int fd, err;

	if (!path) {
		metrics_print(stdout, modules);
		return CMX_OK;
	}
	/* It would be replaced, by root perhaps: a device, a pipe. */
	if (!lstat(path, &st) && !S_ISREG(st.st_mode))
		return failure("%s is not a regular file", path);
	/* node_exporter reads *.prom, and so not this. */
	if (asprintf(&other, "%s.XXXXXX", path) < 0)
		return failure("out of memory");
	fd = mkostemp(other, O_CLOEXEC);
	if (fd < 0) {
		err = errno;
		free(other);
		return failure("%s: %s", path, strerror(err));
	}
	if (!fchmod(fd, 0644))
		file = fdopen(fd, "w");
	err = errno;
	if (file) {
		metrics_print(file, modules);
		err = fflush(file) || ferror(file) ? errno : 0;
		if (fclose(file) && !err)
			err = errno;
		if (!err && rename(other, path))
			err = errno;
	} else {
		close(fd);
	}
	if (err)
		unlink(other);
	free(other);
	return err ? failure("%s: %s", path, strerror(err)) : CMX_OK;
}
