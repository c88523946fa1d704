// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx nvme connect: an NVMe over RDMA subsystem by name. Each address of the
 * name, or of the service at the subnet administrator, that an RDMA device
 * reaches becomes a path of it; nvme-cli connects. --follow repeats the
 * resolution, adds new paths and removes those that the name no longer has.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rdma_cmx.h>

#include "nvme.h"

#define FABRICS		"/dev/nvme-fabrics"
#define PORT		4420	/* IANA's, of nvme */
#define RECORDS_MAX	64
#define PORTS_MAX	64
#define FOLLOW_SECONDS	10
#define FOLLOW_MAX	86400

static void path_add(struct nvme_paths *paths, const struct nvme_path *path,
		     bool *more)
{
	if (nvme_path_find(paths, path))
		return;
	if (paths->count < NVME_PATHS_MAX)
		paths->path[paths->count++] = *path;
	else
		*more = true;
}

/* Adds the addresses of a result. Returns 0 or the code of the call. */
static int paths_add(const struct nvme *nvme, const char *node,
		     const char *service, int flags, struct nvme_result *result)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *list, *ai;
	struct nvme_path path;
	unsigned int port;
	int ret;

	ret = rdmacmx_getaddrinfo(nvme->device, node, service, &hints, &list);
	if (ret)
		return ret;
	for (ai = list; ai; ai = ai->ai_next) {
		memset(&path, 0, sizeof(path));
		addr_text(ai->ai_dst_addr, path.addr);
		/* Only libibverbs knows its name, which NVMe does not need. */
		device_text(ai, path.device);
		if (ai->ai_src_len)
			addr_text(ai->ai_src_addr, path.source);
		/* Commas separate the kernel's list of options. */
		if (strchr(path.addr, ',') || strchr(path.source, ','))
			continue;
		port = addr_port(ai->ai_dst_addr);
		snprintf(path.port, sizeof(path.port), "%u",
			 port ? port : PORT);
		path_add(*path.source ? &result->want : &result->unreached,
			 &path, &result->more);
	}
	rdma_freeaddrinfo(list);
	return 0;
}

/* A port whose device has gone has no paths any more, and counts as active. */
static bool port_active(const char *device, uint32_t number)
{
	char path[160], state;
	FILE *f;
	bool active;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%.63s/ports/%u/state", device, number);
	f = fopen(path, "re");
	if (!f)
		return true;
	active = fread(&state, 1, 1, f) != 1 || state == '4';
	fclose(f);
	return active;
}

static void unreached_add(const char *addr, const char *port,
			  struct nvme_result *result)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST,
		.ai_socktype = SOCK_STREAM,
	};
	struct nvme_path path = {};
	struct addrinfo *list;
	unsigned int number;

	if (getaddrinfo(addr, port, &hints, &list)) {
		result->more = true;
		return;
	}
	addr_text(list->ai_addr, path.addr);
	number = addr_port(list->ai_addr);
	snprintf(path.port, sizeof(path.port), "%u", number ? number : PORT);
	freeaddrinfo(list);
	path_add(&result->unreached, &path, &result->more);
}

/*
 * "ADDRESS" or "ADDRESS PORT" in the service data of a record. Any node on the
 * fabric may have written them; an invalid address gives no path. A name of a
 * port gives none, either: root would send it to the name services.
 */
static void record_add(const struct nvme *nvme,
		       const struct rdmacmx_service_record *rec,
		       struct nvme_result *result)
{
	char text[RDMACMX_SERVICE_DATA + 1], *port;
	int ret;

	memcpy(text, rec->data, sizeof(rec->data));
	text[sizeof(rec->data)] = '\0';
	port = strchr(text, ' ');
	if (port)
		*port++ = '\0';
	if (!*text ||
	    (port && (!*port || port[strspn(port, "0123456789")])))
		return;
	ret = paths_add(nvme, text, port, RAI_NUMERICHOST, result);
	/* The service has the address, but now it cannot be resolved. */
	if (ret && ret != EAI_NONAME && ret != EAI_SERVICE)
		unreached_add(text, port, result);
}

/*
 * True if a port whose SA has had records of the service is not active: that
 * SA is not queried, without an error. Call with the present records.
 */
static bool ports_left_out(const struct rdmacmx_service_record *records,
			   int count)
{
	static struct {
		char device[sizeof(records->device)];
		uint32_t number;
	} ports[PORTS_MAX];
	static size_t known;
	bool left_out = false;
	size_t at;
	int i;

	for (i = 0; i < count; i++) {
		for (at = 0; at < known; at++)
			if (!strcmp(ports[at].device, records[i].device) &&
			    ports[at].number == records[i].port)
				break;
		if (at < known || known == PORTS_MAX)
			continue;
		strcpy(ports[known].device, records[i].device);
		ports[known++].number = records[i].port;
	}
	for (at = 0; at < known; at++)
		left_out |= !port_active(ports[at].device, ports[at].number);
	return left_out;
}

/*
 * Each record may cost the time that a dead address does not respond, and any
 * node may set thousands. So only the first ones count, until the paths are
 * complete.
 */
static int records_add(const struct nvme *nvme, struct nvme_result *result)
{
	struct rdmacmx_service_record *records;
	static bool reported;
	int count, error, i;

	count = rdmacmx_get_services(nvme->device, nvme->node, &records,
				     &error);
	if (count < 0)
		return -1;
	result->more = error || ports_left_out(records, count);
	if (count > RECORDS_MAX && !reported) {
		failure("%s: it has %d service records: only the first %d count",
			nvme->node, count, RECORDS_MAX);
		reported = true;
	}
	for (i = 0; i < count && !signals_ended(); i++) {
		if (i == RECORDS_MAX || result->want.count == NVME_PATHS_MAX) {
			result->more = true;
			break;
		}
		record_add(nvme, &records[i], result);
	}
	free(records);
	return 0;
}

/* False: no device reaches an address, with the reason in @why. */
static bool result_get(const struct nvme *nvme, struct nvme_result *result,
		       char why[160])
{
	int ret;

	memset(result, 0, sizeof(*result));
	ret = nvme->sa ? records_add(nvme, result) :
	      paths_add(nvme, nvme->node, nvme->service, 0, result);
	if (ret)
		snprintf(why, 160, "%s: run 'cmx %s' with the name",
			 ret == -1 || ret == EAI_SYSTEM ? strerror(errno) :
			 gai_strerror(ret),
			 nvme->sa ? "services" : "doctor");
	else if (!result->want.count)
		snprintf(why, 160, nvme->sa ?
			 "no service record with an address that an RDMA device reaches" :
			 "no RDMA device reaches any of its addresses");
	return result->want.count;
}

/* Gets the paths of @want that @have lacks. */
static void paths_missing(const struct nvme_paths *want,
			  const struct nvme_paths *have,
			  struct nvme_paths *missing)
{
	size_t i;

	missing->count = 0;
	for (i = 0; i < want->count; i++)
		if (!nvme_path_find(have, &want->path[i]))
			missing->path[missing->count++] = want->path[i];
}

/* Gets the controllers of the result, with the device that reaches each. */
static void paths_joined(const struct nvme_paths *want,
			 const struct nvme_paths *have,
			 struct nvme_paths *joined)
{
	const struct nvme_path *ctrl;
	struct nvme_path *path;
	size_t i;

	joined->count = 0;
	for (i = 0; i < want->count; i++) {
		ctrl = nvme_path_find(have, &want->path[i]);
		if (!ctrl)
			continue;
		path = &joined->path[joined->count++];
		*path = want->path[i];
		strcpy(path->name, ctrl->name);
		strcpy(path->state, ctrl->state);
	}
}

static int paths_print(const struct nvme *nvme, const struct nvme_paths *paths)
{
	static const char *const head[] = {
		"CONTROLLER", "STATE", "ADDRESS", "PORT", "SOURCE", "DEVICE",
	};
	struct table table = { .columns = 6 };
	struct json json = { .file = stdout };
	const struct nvme_path *path;
	bool ok;
	size_t i;

	if (nvme->json) {
		json_open(&json, NULL, '{');
		json_text(&json, "nqn", nvme->nqn);
		json_open(&json, "paths", '[');
		for (i = 0; i < paths->count; i++) {
			path = &paths->path[i];
			json_open(&json, NULL, '{');
			json_text(&json, "controller", path->name);
			json_text(&json, "state", path->state);
			json_text(&json, "address", path->addr);
			json_text(&json, "port", path->port);
			json_text(&json, "source", path->source);
			json_text(&json, "device",
				  *path->device ? path->device : NULL);
			json_close(&json, '}');
		}
		json_close(&json, ']');
		json_close(&json, '}');
		putchar('\n');
		return CMX_OK;
	}
	ok = table_add(&table, head);
	for (i = 0; i < paths->count && ok; i++) {
		path = &paths->path[i];
		ok = table_add(&table, (const char *const []) {
			path->name, path->state, path->addr, path->port,
			path->source, *path->device ? path->device : "-",
		});
	}
	if (ok)
		table_print(&table);
	table_free(&table);
	return ok ? CMX_OK : failure("out of memory");
}

/* Connects the missing paths of @want. @joined: those that are connected. */
static bool paths_connect(const struct nvme *nvme,
			  const struct nvme_paths *want, bool quiet,
			  struct nvme_paths *joined)
{
	static struct nvme_paths have, missing;

	nvme_controllers(nvme->nqn, &have);
	paths_missing(want, &have, &missing);
	if (missing.count &&
	    !nvme_connect(&missing, nvme->nqn, nvme->options, quiet))
		return false;
	nvme_controllers(nvme->nqn, &have);
	paths_joined(want, &have, joined);
	return true;
}

static int connect_once(const struct nvme *nvme)
{
	static struct nvme_paths joined;
	static struct nvme_result result;
	char why[160];

	if (!result_get(nvme, &result, why))
		return failure("%s: %s", nvme->node, why);
	if (!paths_connect(nvme, &result.want, false, &joined))
		return CMX_FAILED;
	if (!joined.count)
		return failure("%s: none of its %zu addresses has the subsystem '%s'",
			       nvme->node, result.want.count, nvme->nqn);
	return paths_print(nvme, &joined);
}

void nvme_change_print(const char *what, const struct nvme_path *path)
{
	char addr[CLEAN_MAX];

	/* An address may name the interface that it is valid on. */
	printf("%s %s %s %s\n", what, path->name, clean(path->addr, addr),
	       path->port);
	fflush(stdout);
}

/* Reports paths that were added since the last round. */
static void changes_print(const struct nvme_paths *old,
			  const struct nvme_paths *now)
{
	size_t i;

	for (i = 0; i < now->count; i++)
		if (!nvme_path_find(old, &now->path[i]))
			nvme_change_print("connected", &now->path[i]);
}

/* Until a signal; SIGHUP only ends the pause. The connections stay. */
static int connect_follow(const struct nvme *nvme)
{
	static struct nvme_paths joined, old;
	static struct nvme_result result;
	char why[160], last[160] = "";
	bool first = true, found;

	signals_block();
	do {
		found = result_get(nvme, &result, why);
		/* The result may be a part. */
		if (signals_ended())
			break;
		if (!found) {
			/* An equal error is reported once. */
			if (strcmp(why, last))
				failure("%s: %s", nvme->node, why);
			strcpy(last, why);
			nvme_result_missed();
		} else if (paths_connect(nvme, &result.want, !first, &joined)) {
			last[0] = '\0';
			changes_print(&old, &joined);
			nvme_remove(nvme, &result, &joined);
			old = joined;
			first = false;
		} else {
			nvme_result_missed();
		}
	} while (signals_pause(nvme->follow));
	return CMX_OK;
}

static bool fabrics_check(void)
{
	if (!access(FABRICS, R_OK | W_OK))
		return true;
	if (errno == ENOENT)
		failure("there is no " FABRICS ": load it with: modprobe nvme-rdma");
	else
		failure(FABRICS ": %s: only root connects", strerror(errno));
	return false;
}

/* A comma would start another option of the kernel's list. */
static bool nqn_valid(const char *nqn)
{
	return *nqn && strlen(nqn) <= NVME_NQN_MAX && !strpbrk(nqn, ", \t\n");
}

static int nvme_run(const struct nvme *nvme)
{
	/*
	 * If it was inherited as ignored, the exit codes of nvme would be lost.
	 */
	signal(SIGCHLD, SIG_DFL);
	if (device_check() || !fabrics_check())
		return CMX_FAILED;
	return nvme->follow ? connect_follow(nvme) : connect_once(nvme);
}

/*
 * Moves the options out of argv, which all users read in /proc as long as the
 * command runs: they may have secrets. For free(); NULL: no memory.
 */
static char **options_take(char **argv)
{
	size_t count, i, size = sizeof(*argv);
	char **options, *text;

	for (count = 0; argv[count]; count++)
		size += sizeof(*argv) + strlen(argv[count]) + 1;
	options = malloc(size);
	if (!options)
		return NULL;
	text = (char *)(options + count + 1);
	for (i = 0; i < count; i++) {
		options[i] = text;
		text = stpcpy(text, argv[i]) + 1;
		explicit_bzero(argv[i], strlen(argv[i]));
	}
	options[count] = NULL;
	return options;
}

int cmd_nvme(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dev", required_argument, NULL, 'd' },
		{ "follow", optional_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "nqn", required_argument, NULL, 'n' },
		{ "sa", no_argument, NULL, 's' },
		{ .name = NULL },
	};
	struct nvme nvme = {};
	int option, words, ret;

	if (argc < 2 || strcmp(argv[1], "connect"))
		return misuse("nvme has one command: connect");
	argc--, argv++;
	/* "+": the words behind the name are nvme's. */
	while ((option = getopt_long(argc, argv, "+:jn:", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			nvme.device = optarg;
			break;
		case 'f':
			nvme.follow = FOLLOW_SECONDS;
			if (optarg && (!number_parse(optarg, FOLLOW_MAX,
						     &nvme.follow) ||
				       !nvme.follow))
				return misuse("--follow '%s': seconds from 1 to %d",
					      optarg, FOLLOW_MAX);
			break;
		case 'j':
			nvme.json = true;
			break;
		case 'n':
			if (!nqn_valid(optarg))
				return misuse("--nqn '%s': 1 to %d characters without blanks and commas",
					      optarg, NVME_NQN_MAX);
			nvme.nqn = optarg;
			break;
		case 's':
			nvme.sa = true;
			break;
		default:
			return misuse_option(option, argv, options);
		}
	}
	if (!nvme.nqn)
		return misuse("nvme connect needs --nqn NQN");
	if (nvme.json && nvme.follow)
		return misuse("--follow goes without -j");
	argv += optind;
	for (words = 0; argv[words] && strcmp(argv[words], "--"); words++)
		;
	if (!words)
		return misuse("nvme connect needs a NAME");
	if (*argv[0] == '-' || (words > 1 && *argv[1] == '-'))
		return misuse("options come in front of NAME, those of nvme behind --");
	if (words > 2)
		return misuse("'%s' is one argument too many: options of nvme come behind --",
			      argv[2]);
	if (nvme.sa && words > 1)
		return misuse("'%s': with --sa the records have the ports",
			      argv[1]);
	nvme.node = argv[0];
	nvme.service = words > 1 ? argv[1] : NULL;
	nvme.options = options_take(argv + words + !!argv[words]);
	if (!nvme.options)
		return failure("out of memory");
	ret = nvme_run(&nvme);
	free(nvme.options);
	return ret;
}
