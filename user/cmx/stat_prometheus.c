// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx stat --prometheus: the counters in the text format of Prometheus, for the
 * directory that node_exporter reads. A file there is replaced atomically:
 * node_exporter must not read a part of it. The directory may be below one of
 * another user, who replaces names by links while root writes: it is opened
 * once, and for root no part of its path may be a link.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cmx.h"
#include "stat.h"

/* A value that can shrink is a gauge, see rdma_cmx(4). */
static bool is_gauge(const char *name)
{
	return !strncmp(name, "live_", 5) || !strcmp(name, "sa_cached") ||
	       !strcmp(name, "sa_ports") || !strcmp(name, "sa_subscribed") ||
	       !strcmp(name, "sa_subscribed_paths");
}

/* The names are files in sysfs; invalid metric names are skipped. */
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
			/*
			 * A counter of both modules was printed with the first.
			 */
			if (is_metric(name) &&
			    (!i || !counter_find(&modules[0], name)))
				metric_print(file, modules, name);
		}
	}
}

/* Opens the directory of path; *name is the rest. -1 and errno. */
static int folder_open(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = geteuid() ? 0 : RESOLVE_NO_SYMLINKS,
	};
	char *folder;
	int fd;

	*name = slash ? slash + 1 : path;
	folder = slash ? strndup(path, slash - path + 1) : strdup(".");
	if (!folder)
		return -1;
	fd = syscall(SYS_openat2, AT_FDCWD, folder, &how, sizeof(how));
	free(folder);
	return fd;
}

/* Creates a new file for name in the directory, called *other. -1 and errno. */
static int file_create(int folder, const char *name, char **other)
{
	unsigned int number;
	int fd;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -1;
	/* node_exporter reads *.prom, so not this file. */
	if (asprintf(other, "%s.%08x", name, number) < 0) {
		*other = NULL;
		return -1;
	}
	fd = openat(folder, *other,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(*other);
		*other = NULL;
	}
	return fd;
}

/* A signal in between would leave a file behind. */
static void signals_hold(sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, old);
}

static int file_replace(int folder, const char *name,
			const struct counters modules[STAT_MODULES])
{
	FILE *file = NULL;
	char *other = NULL;
	int fd, err;

	fd = file_create(folder, name, &other);
	if (fd < 0)
		return errno;
	if (!fchmod(fd, 0644))
		file = fdopen(fd, "w");
	err = errno;
	if (file) {
		metrics_print(file, modules);
		err = fflush(file) || ferror(file) ? errno : 0;
		if (fclose(file) && !err)
			err = errno;
		if (!err && renameat(folder, other, folder, name))
			err = errno;
	} else {
		close(fd);
	}
	if (err)
		unlinkat(folder, other, 0);
	free(other);
	return err;
}

int stat_prometheus(const struct counters modules[STAT_MODULES],
		    const char *path)
{
	const char *name;
	struct stat st;
	sigset_t old;
	int folder, err;

	if (!path) {
		metrics_print(stdout, modules);
		return CMX_OK;
	}
	folder = folder_open(path, &name);
	if (folder < 0 && errno == ELOOP)
		return failure("%s: root does not follow links in the path",
			       path);
	if (folder < 0)
		return failure("%s: %s", path, strerror(errno));
	/* Root might replace it: a device, a pipe. */
	if (!fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    !S_ISREG(st.st_mode)) {
		close(folder);
		return failure("%s is not a regular file", path);
	}
	signals_hold(&old);
	err = file_replace(folder, name, modules);
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(folder);
	return err ? failure("%s: %s", path, strerror(err)) : CMX_OK;
}
