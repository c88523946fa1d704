// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* cmx stat: the counters that the modules keep below /sys/module. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx.h"

struct counter {
	char *name;
	unsigned long long value;
};

struct counters {
	struct counter *list;
	size_t count;
};

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

/* One file a counter: its name and a number. */
static bool counter_read(int dir, const char *name, unsigned long long *value)
{
	char text[32], *end;
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
	*value = strtoull(text, &end, 10);
	return end != text && (*end == '\n' || !*end);
}

/* 1: read, 0: the module is not there, -1: failed after a message. */
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

static int stat_print(bool as_json)
{
	static const char *const modules[] = { "rdma_cmx", "rdma_ucmx" };
	static const char *const head[] = { "MODULE", "COUNTER", "VALUE" };
	struct counters counters[2] = {};
	struct table table = { .columns = 3 };
	struct json json = { .file = stdout };
	int ret = CMX_OK, loaded[2];
	size_t i;

	for (i = 0; i < 2; i++) {
		loaded[i] = counters_read(modules[i], &counters[i]);
		if (loaded[i] < 0)
			ret = CMX_FAILED;
	}
	if (ret == CMX_OK && !loaded[0])
		ret = failure("the module rdma_cmx is not loaded: load it "
			      "with: modprobe rdma_ucmx");
	if (ret != CMX_OK)
		goto out;

	if (as_json) {
		json_open(&json, NULL, '{');
		for (i = 0; i < 2; i++)
			if (loaded[i])
				counters_json(&json, modules[i], &counters[i]);
		json_close(&json, '}');
		putchar('\n');
		goto out;
	}
	if (!table_add(&table, head) ||
	    !counters_table(&table, modules[0], &counters[0]) ||
	    !counters_table(&table, modules[1], &counters[1]))
		ret = failure("out of memory");
	else
		table_print(&table);
	table_free(&table);
	if (ret == CMX_OK && !loaded[1])
		puts("rdma_ucmx is not loaded");
out:
	for (i = 0; i < 2; i++)
		counters_free(&counters[i]);
	return ret;
}

int cmx_stat(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ .name = NULL },
	};
	bool as_json = false;
	int option;

	while ((option = getopt_long(argc, argv, "j", options, NULL)) != -1) {
		if (option != 'j')
			return misuse_option();
		as_json = true;
	}
	if (optind != argc)
		return misuse("'%s' is one argument too many", argv[optind]);
	return stat_print(as_json);
}
