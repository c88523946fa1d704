// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* cmx stat: the counters of the modules below /sys/module */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx.h"
#include "stat.h"

static int counter_order(const void *a, const void *b)
{
	return strcmp(((const struct counter *)a)->name,
		      ((const struct counter *)b)->name);
}

static bool counter_add(struct counters *counters, const char *name,
			unsigned long long value)
{
	struct counter *grown;

	grown = reallocarray(counters->list, counters->count + 1,
			     sizeof(*grown));
	if (!grown)
		return false;
	counters->list = grown;
	grown += counters->count;
	grown->value = value;
	grown->name = strdup(name);
	if (!grown->name)
		return false;
	counters->count++;
	return true;
}

static void counters_free(struct counters *counters)
{
	while (counters->count)
		free(counters->list[--counters->count].name);
	free(counters->list);
}

/* Reads the file of a counter. */
static bool counter_read(int dir, const char *name, unsigned long long *value)
{
	char text[32], *end;
	long long number;
	ssize_t len;
	int fd;

	fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	number = strtoll(text, &end, 10);
	/* Of an older module, which has no lower limit */
	*value = number < 0 ? 0 : number;
	return end != text && (*end == '\n' || !*end);
}

/* 1: read, 0: the module is not loaded, -1: failed after a message */
static int counters_read(const char *module, struct counters *counters)
{
	unsigned long long value;
	struct dirent *entry;
	char path[64];
	DIR *dir;
	int ret = 1;

	snprintf(path, sizeof(path), "/sys/module/%s", module);
	if (access(path, F_OK))
		return 0;
	snprintf(path, sizeof(path), "/sys/module/%s/counters", module);
	dir = opendir(path);
	if (!dir) {
		failure("%s: %s", path, strerror(errno));
		return -1;
	}
	while (ret == 1 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (!counter_read(dirfd(dir), entry->d_name, &value)) {
			failure("%s/%s is not a counter", path, entry->d_name);
			ret = -1;
		} else if (!counter_add(counters, entry->d_name, value)) {
			failure("out of memory");
			ret = -1;
		}
	}
	closedir(dir);
	if (counters->count)
		qsort(counters->list, counters->count, sizeof(*counters->list),
		      counter_order);
	return ret;
}

static void counters_json(struct json *json, const char *module,
			  const struct counters *counters)
{
	size_t i;

	json_open(json, module, '{');
	for (i = 0; i < counters->count; i++)
		json_number(json, counters->list[i].name,
			    counters->list[i].value);
	json_close(json, '}');
}

static bool counters_table(struct table *table, const char *module,
			   const struct counters *counters)
{
	char value[24];
	size_t i;

	for (i = 0; i < counters->count; i++) {
		snprintf(value, sizeof(value), "%llu", counters->list[i].value);
		if (!table_add(table, (const char *const []) {
				module, counters->list[i].name, value }))
			return false;
	}
	return true;
}

static void modules_json(const struct counters modules[STAT_MODULES])
{
	struct json json = { .file = stdout };
	size_t i;

	json_open(&json, NULL, '{');
	for (i = 0; i < STAT_MODULES; i++)
		if (modules[i].loaded)
			counters_json(&json, modules[i].module, &modules[i]);
	json_close(&json, '}');
	putchar('\n');
}

static int modules_table(const struct counters modules[STAT_MODULES])
{
	static const char *const head[] = { "MODULE", "COUNTER", "VALUE" };
	struct table table = { .columns = 3 };
	bool ok = table_add(&table, head);
	size_t i;

	for (i = 0; i < STAT_MODULES && ok; i++)
		ok = counters_table(&table, modules[i].module, &modules[i]);
	if (ok)
		table_print(&table);
	table_free(&table);
	if (!ok)
		return failure("out of memory");
	if (!modules[1].loaded)
		puts("rdma_ucmx is not loaded");
	return CMX_OK;
}

enum format { FORMAT_TABLE, FORMAT_JSON, FORMAT_PROMETHEUS };

static int stat_print(enum format format, const char *path)
{
	struct counters modules[STAT_MODULES] = {
		{ .module = "rdma_cmx" }, { .module = "rdma_ucmx" },
	};
	int ret = CMX_OK, loaded;
	size_t i;

	for (i = 0; i < STAT_MODULES; i++) {
		loaded = counters_read(modules[i].module, &modules[i]);
		if (loaded < 0)
			ret = CMX_FAILED;
		modules[i].loaded = loaded > 0;
	}
	if (ret == CMX_OK && format == FORMAT_PROMETHEUS)
		ret = stat_prometheus(modules, path);
	else if (ret == CMX_OK && !modules[0].loaded)
		ret = failure("the module rdma_cmx is not loaded: load it "
			      "with: modprobe rdma_ucmx");
	else if (ret == CMX_OK && format == FORMAT_JSON)
		modules_json(modules);
	else if (ret == CMX_OK)
		ret = modules_table(modules);
	for (i = 0; i < STAT_MODULES; i++)
		counters_free(&modules[i]);
	return ret;
}

int cmd_stat(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "output", required_argument, NULL, 'o' },
		{ "prometheus", no_argument, NULL, 'p' },
		{ .name = NULL },
	};
	enum format format = FORMAT_TABLE;
	const char *path = NULL;
	int option;

	while ((option = getopt_long(argc, argv, ":j", options, NULL)) != -1) {
		switch (option) {
		case 'o':
			path = optarg;
			break;
		case 'j':
		case 'p':
			if (format != FORMAT_TABLE)
				return misuse("give --json or --prometheus, once");
			format = option == 'j' ? FORMAT_JSON :
						 FORMAT_PROMETHEUS;
			break;
		default:
			return misuse_option(option, argv, options);
		}
	}
	if (optind != argc)
		return misuse("'%s' is one argument too many", argv[optind]);
	if (path && format != FORMAT_PROMETHEUS)
		return misuse("--output goes with --prometheus only");
	if (path && !*path)
		return misuse("--output needs a FILE");
	return stat_print(format, path);
}
