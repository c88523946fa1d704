// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* cmx paths: list, drop and preload the cached paths of InfiniBand ports */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include <rdma/rdma_cmx_ioctl.h>

#include "cmx.h"
#include "paths.h"

/* Initial number, and for paths that are added between two calls */
#define ROOM	256

/* Present devices and their indices */
struct devices {
	struct ibv_device **list;
	int count;
};

struct paths {
	struct rdma_cmx_cached_path *list;
	uint32_t count;
};

/* The text of a path's fields, from a PathRecord in wire format */
struct cells {
	char device[80];
	char sgid[INET6_ADDRSTRLEN];
	char dgid[INET6_ADDRSTRLEN];
	char pkey[8];
	char dlid[8];
	char sl[8];
	char mtu[8];
	char left[16];
};

static const uint8_t *wire(const struct rdma_cmx_cached_path *path)
{
	return (const uint8_t *)path->path.path_rec;
}

static unsigned int wire16(const struct rdma_cmx_cached_path *path, size_t at)
{
	return wire(path)[at] << 8 | wire(path)[at + 1];
}

static unsigned int path_sl(const struct rdma_cmx_cached_path *path)
{
	return wire(path)[53] & 0xf;
}

/* In bytes; 0: unknown to the SA */
static unsigned int path_mtu(const struct rdma_cmx_cached_path *path)
{
	unsigned int mtu = wire(path)[54] & 0x3f;

	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

/* A device that was removed is shown by its index. */
static void path_device(const struct rdma_cmx_cached_path *path,
			const struct devices *devices, char text[64])
{
	int i;

	for (i = 0; i < devices->count; i++) {
		if (ibv_get_device_index(devices->list[i]) !=
		    (int)path->ibdev_index)
			continue;
		snprintf(text, 64, "%s",
			 ibv_get_device_name(devices->list[i]));
		return;
	}
	snprintf(text, 64, "#%u", path->ibdev_index);
}

static void cells_fill(struct cells *c, const struct rdma_cmx_cached_path *path,
		       const struct devices *devices)
{
	unsigned int mtu = path_mtu(path);
	char device[64];

	path_device(path, devices, device);
	snprintf(c->device, sizeof(c->device), "%s/%u", device, path->port_num);
	inet_ntop(AF_INET6, wire(path) + 24, c->sgid, sizeof(c->sgid));
	inet_ntop(AF_INET6, wire(path) + 8, c->dgid, sizeof(c->dgid));
	snprintf(c->pkey, sizeof(c->pkey), "0x%04x", wire16(path, 50));
	snprintf(c->dlid, sizeof(c->dlid), "%u", wire16(path, 40));
	snprintf(c->sl, sizeof(c->sl), "%u", path_sl(path));
	if (mtu)
		snprintf(c->mtu, sizeof(c->mtu), "%u", mtu);
	else
		strcpy(c->mtu, "-");
	snprintf(c->left, sizeof(c->left), "%u s",
		 path->left_ms / 1000 + !!(path->left_ms % 1000));
}

static int paths_table(const struct paths *paths, const struct devices *devices)
{
	static const char *const head[] = {
		"DEVICE", "SOURCE", "DESTINATION", "P_KEY", "DLID", "SL", "MTU",
		"EXPIRES",
	};
	struct table table = { .columns = 8 };
	struct cells c;
	uint32_t i;
	bool ok;

	ok = table_add(&table, head);
	for (i = 0; i < paths->count && ok; i++) {
		cells_fill(&c, &paths->list[i], devices);
		ok = table_add(&table, (const char *const []) {
			c.device, c.sgid, c.dgid, c.pkey, c.dlid, c.sl, c.mtu,
			c.left,
		});
	}
	if (ok)
		table_print(&table);
	table_free(&table);
	if (!ok)
		return failure("out of memory");
	printf("%u %s\n", paths->count, paths->count == 1 ? "path" : "paths");
	return CMX_OK;
}

static void paths_json(const struct paths *paths, const struct devices *devices)
{
	struct json json = { .file = stdout };
	const struct rdma_cmx_cached_path *path;
	char device[64];
	struct cells c;
	uint32_t i;

	json_open(&json, NULL, '{');
	json_open(&json, "paths", '[');
	for (i = 0; i < paths->count; i++) {
		path = &paths->list[i];
		cells_fill(&c, path, devices);
		path_device(path, devices, device);
		json_open(&json, NULL, '{');
		json_text(&json, "device", device);
		json_number(&json, "port", path->port_num);
		json_text(&json, "sgid", c.sgid);
		json_text(&json, "dgid", c.dgid);
		json_text(&json, "pkey", c.pkey);
		json_number(&json, "slid", wire16(path, 42));
		json_number(&json, "dlid", wire16(path, 40));
		json_number(&json, "sl", path_sl(path));
		json_number(&json, "mtu", path_mtu(path));
		json_number(&json, "rate", wire(path)[55] & 0x3f);
		json_number(&json, "traffic_class", wire(path)[48]);
		json_number(&json, "records", path->num_paths);
		json_number(&json, "age_ms", path->age_ms);
		json_number(&json, "left_ms", path->left_ms);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

/* NAME, NAME:PORT or NAME/PORT to the fields of a command */
static bool device_parse(const char *text, uint8_t dev[64], uint32_t *port)
{
	size_t len = strcspn(text, ":/");
	unsigned long number = 0;

	if (!len || len >= 64)
		return false;
	if (text[len] &&
	    (!number_parse(text + len + 1, UINT32_MAX, &number) || !number))
		return false;
	memcpy(dev, text, len);
	*port = number;
	return true;
}

static int paths_failure(const char *device, int error)
{
	switch (error) {
	case EPERM:
		return failure("only root, or who has CAP_NET_ADMIN in the user "
			       "namespace of this network namespace, may drop "
			       "paths");
	case ENODEV:
		return failure("--dev '%s': there is no such InfiniBand device: "
			       "see 'rdma link'", device ?: "");
	case ENXIO:
		return failure("--dev '%s': the device has no such port: see "
			       "'rdma link'", device ?: "");
	case ENOTTY:
		return failure("the loaded module rdma_ucmx has no "
			       "commands for paths: install the one of this version");
	}
	return failure("paths: %s", strerror(error));
}

/* Returns an error number; 0: @paths has them, to be freed. */
static int paths_get(int fd, struct rdma_cmx_get_paths *cmd,
		     struct paths *paths)
{
	uint32_t room = ROOM;
	int err;

	cmd->size = sizeof(*cmd);
	cmd->path_size = sizeof(*paths->list);
	do {
		free(paths->list);
		paths->list = malloc(room * sizeof(*paths->list));
		if (!paths->list)
			return ENOMEM;
		cmd->paths = (uintptr_t)paths->list;
		cmd->max_paths = room;
		err = ioctl(fd, RDMA_CMX_IO(GET_PATHS), cmd) ? errno : 0;
		/* The number may grow before the next call. */
		if (err == ENOSPC)
			room = cmd->num_paths + ROOM;
	} while (err == ENOSPC);
	paths->count = cmd->num_paths;
	return err;
}

static int paths_list(const char *device, struct rdma_cmx_get_paths *cmd,
		      bool json)
{
	struct devices devices = {};
	struct paths paths = {};
	int fd = device_open(), err, ret = CMX_OK;

	if (fd < 0)
		return CMX_FAILED;
	err = paths_get(fd, cmd, &paths);
	close(fd);
	if (err) {
		free(paths.list);
		return paths_failure(device, err);
	}
	devices.list = ibv_get_device_list(&devices.count);
	if (!devices.list)
		devices.count = 0;
	if (json)
		paths_json(&paths, &devices);
	else
		ret = paths_table(&paths, &devices);
	if (devices.list)
		ibv_free_device_list(devices.list);
	free(paths.list);
	return ret;
}

/* Drops the paths to each of @gids; all, if there is none. */
static int paths_drop(const char *device, struct rdma_cmx_drop_paths *cmd,
		      char **gids, bool json)
{
	struct json out = { .file = stdout };
	int fd = device_open(), err = 0;
	unsigned int dropped = 0;

	if (fd < 0)
		return CMX_FAILED;
	cmd->size = sizeof(*cmd);
	do {
		if (*gids)
			inet_pton(AF_INET6, *gids++, cmd->dgid);
		err = ioctl(fd, RDMA_CMX_IO(DROP_PATHS), cmd) ? errno : 0;
		/*
		 * After an error the field has the number of the previous call.
		 */
		if (!err)
			dropped += cmd->num_paths;
	} while (!err && *gids);
	close(fd);
	/* The number for the GIDs before the failed one */
	if (err && !dropped)
		return paths_failure(device, err);
	if (json) {
		json_open(&out, NULL, '{');
		json_number(&out, "dropped", dropped);
		json_close(&out, '}');
		putchar('\n');
	} else {
		printf("%u %s dropped\n", dropped,
		       dropped == 1 ? "path" : "paths");
	}
	return err ? paths_failure(device, err) : CMX_OK;
}

/* The arguments of a command; those of another one are refused. */
struct arguments {
	const char *device;
	const char *file;
	const char *service;
	bool all;
	bool json;
};

static int list_run(const struct arguments *args, char **words)
{
	struct rdma_cmx_get_paths cmd = {};

	if (args->all || args->file || args->service)
		return misuse("paths list has the options -j and --dev only");
	if (*words)
		return misuse("'%s' is not a command of paths: list, preload or "
			      "drop", *words);
	if (args->device &&
	    !device_parse(args->device, cmd.dev, &cmd.dev_port))
		return misuse("--dev '%s': DEVICE or DEVICE:PORT",
			      args->device);
	return paths_list(args->device, &cmd, args->json);
}

static int drop_run(const struct arguments *args, char **words)
{
	struct rdma_cmx_drop_paths cmd = {};
	struct in6_addr gid;
	char **word;

	if (args->file || args->service)
		return misuse("paths drop has the options -j, --all and --dev "
			      "only");
	if (args->all ? *words != NULL : !*words)
		return misuse("paths drop needs a GID, or --all");
	for (word = words; *word; word++)
		if (inet_pton(AF_INET6, *word, &gid) != 1 ||
		    IN6_IS_ADDR_UNSPECIFIED(&gid))
			return misuse("'%s' is not a GID: 'cmx paths' lists "
				      "those of the cached paths", *word);
	if (args->device &&
	    !device_parse(args->device, cmd.dev, &cmd.dev_port))
		return misuse("--dev '%s': DEVICE or DEVICE:PORT",
			      args->device);
	return paths_drop(args->device, &cmd, words, args->json);
}

static int preload_run(const struct arguments *args, char **words)
{
	const struct preload preload = {
		.names = words,
		.file = args->file,
		.service = args->service,
		.json = args->json,
	};

	if (args->all || args->device)
		return misuse("paths preload has the options -j, --file and "
			      "--service only");
	if (!*words && !args->file)
		return misuse("paths preload needs a NAME or --file");
	return paths_preload(&preload);
}

int cmd_paths(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "dev", required_argument, NULL, 'd' },
		{ "file", required_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "service", required_argument, NULL, 's' },
		{ .name = NULL },
	};
	static const struct {
		const char *name;
		int (*run)(const struct arguments *args, char **words);
	} commands[] = {
		{ "list", list_run }, { "preload", preload_run },
		{ "drop", drop_run },
	};
	int (*run)(const struct arguments *args, char **words) = list_run;
	struct arguments args = {};
	size_t i;
	int option;

	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]);
	     i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		run = commands[i].run;
		argc--, argv++;
		break;
	}
	while ((option = getopt_long(argc, argv, ":jf:", options, NULL)) != -1) {
		switch (option) {
		case 'a':
			args.all = true;
			break;
		case 'd':
			args.device = optarg;
			break;
		case 'f':
			args.file = optarg;
			break;
		case 'j':
			args.json = true;
			break;
		case 's':
			args.service = optarg;
			break;
		default:
			return misuse_option(option, argv, options);
		}
	}
	return run(&args, argv + optind);
}
