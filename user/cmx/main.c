// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* cmx: selects the subcommand; help, version, and the format of errors. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rdma/rdma_cmx_ioctl.h>

#include "cmx.h"

static const char help[] =
"cmx - resolve and connect by name, find faults, and manage paths and services\n"
"\n"
"  cmx resolve [-j] [-4|-6] [-n] [--passive] [--type rc|ud|any]\n"
"              [--dev DEVICE[:PORT]] [--env nccl|ucx|perftest] NODE [SERVICE]\n"
"      Print the addresses of NODE, with the source address, the device and\n"
"      the GID index that reach each. Addresses behind a local RDMA device\n"
"      come first. --dev: only those of one device; --env: what other\n"
"      programs need to use the first one.\n"
"  cmx resolve --sa [-j] [--type rc|ud] [--dev DEVICE[/PORT]] SERVICE\n"
"      Print the service records of SERVICE, a name or an id, that the\n"
"      subnet administrator (SA) of the InfiniBand fabric has.\n"
"  cmx connect [-j] [-4|-6] [--race|--route] [--timeout SECONDS]\n"
"              [--dev DEVICE[:PORT]] NODE SERVICE\n"
"  cmx connect --sa [OPTION...] SERVICE\n"
"      Connect to the first address of NODE that works, print the outcome and\n"
"      the times of each, and disconnect; --race: send a request to each;\n"
"      --route: resolve only.\n"
"  cmx join [-j] [--send-only] [--persistent] [--source ADDRESS|--dev DEVICE]\n"
"           [--qkey N] [--pkey N] [--mtu N] [--rate N] [--sl N]\n"
"           [--traffic-class N] [--flow-label N] [--hop-limit N]\n"
"           [--once|--count N] GROUP...\n"
"      Join multicast groups, print their parameters, and stay a member\n"
"      until interrupted.\n"
"  cmx advertise [-j] [--id N|--port N] [--data TEXT|--data-hex HEX]\n"
"                [--lease SECONDS|forever] [--pkey N] [--dev DEVICE[:PORT]] NAME\n"
"      Advertise the service NAME at the subnet administrators of the\n"
"      InfiniBand fabric, and print what comes of it, until interrupted.\n"
"  cmx services [-j] [--dev DEVICE[:PORT]] [NAME]\n"
"      Print the service records of NAME, a name or an id, or of all services,\n"
"      with their leases and data.\n"
"  cmx paths [list] [-j] [--dev DEVICE[:PORT]]\n"
"  cmx paths preload [-j] [--service SERVICE] [--file FILE] [NAME...]\n"
"  cmx paths drop [-j] [--dev DEVICE[:PORT]] --all|GID...\n"
"      Print the cached paths of InfiniBand ports; fill the cache with those\n"
"      to each NAME, also of FILE, a line each; drop all, or those to a GID.\n"
"  cmx stat [-j]\n"
"  cmx stat --prometheus [--output FILE]\n"
"      Print the counters of rdma_cmx and rdma_ucmx.\n"
"  cmx doctor [-j] [NAME [SERVICE]]\n"
"      Check each step from the modules to the addresses of NAME, and print\n"
"      what is wrong and the command that mends it.\n"
"  cmx nvme connect [-j] [--sa] [--dev DEVICE[:PORT]] [--follow[=SECONDS]]\n"
"           --nqn NQN NAME [SERVICE] [-- OPTION...]\n"
"      Connect the NVMe subsystem NQN over each address of NAME that an RDMA\n"
"      device reaches, by nvme-cli with OPTION; --follow: stay, and follow the\n"
"      addresses of NAME.\n"
"  cmx run [--] PROGRAM [ARGUMENT...]\n"
"      Run PROGRAM, written for librdmacm, over rdma_cmx (by LD_PRELOAD).\n"
"  cmx help, cmx version\n"
"\n"
"  -j, --json   print JSON\n"
"Exit code: 0 done, 1 failed, 2 wrong usage; of run, PROGRAM's. See cmx(1).\n";

/* Without memory the prefix with the name is left out. */
static void report(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0) {
		fputs("cmx: out of memory\n", stderr);
		return;
	}
	text_clean(text);
	fprintf(stderr, "cmx: %s\n", text);
	free(text);
}

int failure(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	report(format, args);
	va_end(args);
	return CMX_FAILED;
}

int misuse(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	report(format, args);
	va_end(args);
	fputs("'cmx help' shows how it is used.\n", stderr);
	return CMX_USAGE;
}

int misuse_option(int option, char **argv, const struct option *longs)
{
	/* getopt_long() has advanced behind it, except in a word like -jx. */
	const char *arg = argv[optind - 1];
	size_t len = strcspn(arg, "=");

	if (option == ':')
		return misuse("'%s' needs an argument", arg);
	/* An unknown long option has no letter. */
	if (!optopt)
		return misuse("'%.*s' is not an option", (int)len, arg);
	/*
	 * Letters of long options may be unknown, too, and within a word @arg
	 * is the previous word.
	 */
	for (; longs->name && len > 2 && arg[len]; longs++)
		if (longs->val == optopt && !longs->has_arg &&
		    !strncmp(arg, "--", 2) &&
		    !strncmp(arg + 2, longs->name, len - 2))
			return misuse("'%.*s' takes no argument", (int)len, arg);
	return misuse("'-%c' is not an option", optopt);
}

bool number_parse(const char *text, unsigned long max, unsigned long *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoul(text, &end, 10);
	return !errno && !*end && *value <= max;
}

/* As in a container that may not use the device */
bool device_absent(void)
{
	int fd = open(RDMA_CMX_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		close(fd);
		return false;
	}
	return errno == ENOENT || errno == ENOTDIR || errno == ENODEV ||
	       errno == ENXIO || errno == EPERM;
}

int device_open(void)
{
	int fd = open(RDMA_CMX_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ENODEV || errno == ENXIO)
		failure("there is no " RDMA_CMX_DEVICE
			": load it with: modprobe rdma_ucmx");
	else if (errno == EACCES || errno == EPERM)
		failure(RDMA_CMX_DEVICE ": %s: the udev rule "
			"60-rdma-cmx.rules opens it to everybody; apply it "
			"with: udevadm trigger " RDMA_CMX_DEVICE, strerror(errno));
	else
		failure(RDMA_CMX_DEVICE ": %s", strerror(errno));
	return -1;
}

/* A file or another device with that name opens, too. */
int device_check(void)
{
	struct rdma_cmx_get_info info = { .size = sizeof(info) };
	int fd = device_open(), ret;

	if (fd < 0)
		return CMX_FAILED;
	ret = ioctl(fd, RDMA_CMX_IO(GET_INFO), &info);
	if (ret)
		failure(RDMA_CMX_DEVICE " is not the device of rdma_ucmx, or the module and this command do not match: %s",
			strerror(errno));
	close(fd);
	return ret ? CMX_FAILED : CMX_OK;
}

/* An older kernel has no limit after max_user_groups. */
static void limits_print(const struct rdma_cmx_get_info *info)
{
	printf("limits of a user: requests %u, groups %u",
	       info->max_user_requests, info->max_user_groups);
	if (info->max_user_names)
		printf(", services %u (of all users %u), waiting connects %u,"
		       " waiting name lookups %u, waiting SA queries %u (of a"
		       " port), SA responses %u KB",
		       info->max_user_services, info->max_services,
		       info->max_user_connects, info->max_user_names,
		       info->max_user_sa_queries, info->max_user_sa_kb);
	putchar('\n');
}

static int version(void)
{
	struct rdma_cmx_get_info info = { .size = sizeof(info) };
	int fd;

	puts("cmx " CMX_VERSION);
	/* The command's version is valid output without a device, too. */
	fd = open(RDMA_CMX_DEVICE, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return CMX_OK;
	if (!ioctl(fd, RDMA_CMX_IO(GET_INFO), &info)) {
		printf("kernel: ABI %u,%s%s ids %u, requests %u\n",
		       info.abi_version,
		       info.features & RDMA_CMX_FEATURE_NAMES ?
		       " looks up names," : "",
		       info.features & RDMA_CMX_FEATURE_SA ?
		       " queries the SA," : "",
		       info.max_ids, info.max_requests);
		limits_print(&info);
	}
	close(fd);
	return CMX_OK;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = {
		{ "resolve", cmd_resolve },
		{ "connect", cmd_connect },
		{ "join", cmd_join },
		{ "advertise", cmd_advertise },
		{ "services", cmd_services },
		{ "paths", cmd_paths },
		{ "stat", cmd_stat },
		{ "doctor", cmd_doctor },
		{ "nvme", cmd_nvme },
		{ "run", cmd_run },
	};
	int ret = -1;
	size_t i;

	if (argc < 2)
		return misuse("a command is missing: resolve, connect, join, advertise, services, paths, stat, doctor, nvme, run, help or version");
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[1], commands[i].name))
			ret = commands[i].run(argc - 1, argv + 1);
	if (ret < 0 && (!strcmp(argv[1], "help") ||
			!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(help, stdout);
		ret = CMX_OK;
	}
	if (ret < 0 && (!strcmp(argv[1], "version") ||
			!strcmp(argv[1], "--version")))
		ret = version();
	if (ret < 0)
		return misuse("'%s' is not a command of cmx", argv[1]);
	/* A full disk or a closed pipe must not look like success. */
	if ((fflush(stdout) || ferror(stdout)) && ret == CMX_OK)
		ret = failure("cannot write the output: %s", strerror(errno));
	return ret;
}
