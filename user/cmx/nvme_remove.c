// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx nvme connect --follow: removes the controllers whose address the name no
 * longer has. Each removed path may be the last one of a disk, so a controller
 * stays if that is not certain. One thread, no locks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rdma_cmx.h>

#include "doctor.h"	/* file_line() */
#include "nvme.h"

#define DEVICES		"/sys/class/infiniband/"
#define SOURCES_MAX	64

/*
 * An address is absent if so many results in a row lack it, over as many
 * lifetimes of a result in the kernel. A result within a lifetime of the one
 * before may be that of the same query, and does not count. A round without a
 * complete result ends the row.
 */
#define ABSENT_RESULTS	3

/* Lifetime of a name, unless cmx-names has another one; the minimum */
#define NAME_SECONDS	5

/* Lifetime of a response of the SA */
#define SA_CACHE_MS	"/sys/module/rdma_cmx/parameters/sa_cache_ms"
#define SA_CACHE_MAX_MS	86400000

/*
 * The addresses that the device has had in paths, also those that it has lost
 * since: a move to another subnet must remove the old paths, too. The oldest
 * ones are forgotten.
 */
struct sources {
	size_t count;
	char text[SOURCES_MAX][ADDR_TEXT_MAX];
};

static bool has_source(const struct sources *sources, const char *source)
{
	size_t i;

	for (i = 0; i < sources->count && i < SOURCES_MAX; i++)
		if (!strcmp(sources->text[i], source))
			return true;
	return false;
}

static void sources_add(struct sources *sources, const struct nvme_paths *paths)
{
	size_t i;

	for (i = 0; i < paths->count; i++)
		if (!has_source(sources, paths->path[i].source))
			strcpy(sources->text[sources->count++ % SOURCES_MAX],
			       paths->path[i].source);
}

/* True if @text is an address of the RDMA device */
static bool device_has(const char *device, const char *text)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = RAI_PASSIVE | RAI_NUMERICHOST | RAI_NOROUTE,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *list;

	if (rdmacmx_getaddrinfo(device, text, NULL, &hints, &list))
		return false;
	rdma_freeaddrinfo(list);
	return true;
}

/*
 * True if the address has moved from the requested device to another one: its
 * paths concern a follower of that device.
 */
static bool source_moved(const struct nvme *nvme, const char *source)
{
	bool moved = false;
	glob_t files;
	size_t i;

	if (device_has(nvme->device, source) ||
	    glob(DEVICES "*", 0, NULL, &files))
		return false;
	for (i = 0; i < files.gl_pathc && !moved; i++)
		moved = device_has(files.gl_pathv[i] + strlen(DEVICES), source);
	globfree(&files);
	return moved;
}

/* True if an interface has the address, or if that cannot be checked */
static bool source_listed(const char *source)
{
	struct ifaddrs *list, *at;
	char text[ADDR_TEXT_MAX];
	bool listed = false;

	if (getifaddrs(&list))
		return true;
	for (at = list; at && !listed; at = at->ifa_next)
		listed = !strcmp(addr_text(at->ifa_addr, text), source);
	freeifaddrs(list);
	return listed;
}

/*
 * True if the address is one of the host, or if that cannot be checked. A route
 * of type local has addresses that no interface has. Those of a VRF, and IPv6
 * ones that are still checked for duplicates, cannot be bound.
 */
static bool source_local(const char *source)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_NUMERICHOST,
		.ai_socktype = SOCK_DGRAM,
	};
	struct addrinfo *list;
	int fd, ret;
	bool local;

	ret = getaddrinfo(source, NULL, &hints, &list);
	/* A zone whose interface is gone has no name. */
	if (ret)
		return ret != EAI_NONAME;
	fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	local = fd < 0 || !bind(fd, list->ai_addr, list->ai_addrlen) ||
		errno != EADDRNOTAVAIL || source_listed(source);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(list);
	return local;
}

/*
 * True if the name has the address of the controller. Another source than that
 * of the result makes another path to it, as long as the host has this source.
 */
static bool paths_have(const struct nvme_paths *paths,
		       const struct nvme_path *ctrl)
{
	const struct nvme_path *path;
	size_t i;

	if (nvme_path_find(paths, ctrl))
		return true;
	for (i = 0; i < paths->count; i++) {
		path = &paths->path[i];
		if (!strcmp(path->addr, ctrl->addr) &&
		    !strcmp(path->port, ctrl->port))
			return source_local(ctrl->source);
	}
	return false;
}

static bool family_same(const struct nvme_path *a, const struct nvme_path *b)
{
	return !strchr(a->addr, ':') == !strchr(b->addr, ':');
}

/*
 * True if the result may lack the address of the controller without a mark. Of
 * SRV records, a host whose lookup fails is left out. Of a host, the query for
 * one family may fail. A restarted SA has no records until they are set again.
 */
static bool result_doubtful(const struct nvme *nvme,
			    const struct nvme_result *result,
			    const struct nvme_path *ctrl)
{
	size_t i;

	if (nvme->sa || nvme->node[0] == '_')
		return true;
	for (i = 0; i < result->want.count; i++)
		if (family_same(&result->want.path[i], ctrl))
			return false;
	for (i = 0; i < result->unreached.count; i++)
		if (family_same(&result->unreached.path[i], ctrl))
			return false;
	return true;
}

static long seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/*
 * Of the present result. From 2: the element of absent_long() that was never
 * used has 0.
 */
static unsigned long number = 1;

void nvme_result_missed(void)
{
	number++;
}

/*
 * Of a result in the kernel, in seconds. One that cannot be read counts as the
 * maximum.
 */
static long lifetime(const struct nvme *nvme)
{
	long seconds = NAME_SECONDS;
	unsigned long ms;
	char text[32];

	if (nvme->sa) {
		if (!file_line(text, sizeof(text), SA_CACHE_MS) ||
		    !number_parse(text, SA_CACHE_MAX_MS, &ms))
			ms = SA_CACHE_MAX_MS;
		if (ms > NAME_SECONDS * 1000)
			seconds = (ms + 999) / 1000;
	}
	return seconds;
}

/*
 * Call for each controller whose address the present result lacks. True if the
 * results have lacked it long enough.
 */
static bool absent_long(const struct nvme *nvme, const struct nvme_path *ctrl)
{
	static struct absent {
		struct nvme_path ctrl;
		unsigned long results, last;
		long since, counted;
	} absent[NVME_CONTROLLERS_MAX];
	const long now = seconds_now(), life = lifetime(nvme);
	struct absent *at, *unused = NULL;

	for (at = absent; at < absent + NVME_CONTROLLERS_MAX; at++) {
		/* The result before had the address, or it is unused. */
		if (at->last + 1 < number)
			unused = at;
		else if (!strcmp(at->ctrl.name, ctrl->name) &&
			 nvme_path_same(&at->ctrl, ctrl))
			break;
	}
	if (at == absent + NVME_CONTROLLERS_MAX) {
		at = unused;
		if (!at)
			return false;
		at->ctrl = *ctrl;
		at->results = 0;
		at->since = now;
	}
	at->last = number;
	/* Seconds are rounded down. */
	if (!at->results || now - at->counted > life) {
		at->results++;
		at->counted = now;
	}
	return at->results >= ABSENT_RESULTS &&
	       now - at->since >= ABSENT_RESULTS * life;
}

/*
 * Removes the controllers whose address the name no longer has, but only those
 * whose namespaces the controllers of @joined serve: a wrong result, or one
 * before the namespaces are found, must not remove a disk. An address that no
 * device reaches now still belongs to the name. With a requested device, the
 * result does not concern the paths of others. Each removal may take the
 * kernel's timeout of a dead target, so a signal ends the series.
 */
void nvme_remove(const struct nvme *nvme, const struct nvme_result *result,
		 const struct nvme_paths *joined)
{
	/* As the library reads it: "" is none. */
	const char *env = secure_getenv("RDMACMX_DEVICE");
	const bool one_device = nvme->device || (env && *env);
	static struct nvme_paths have;
	static struct sources sources;
	const struct nvme_path *path;
	size_t i;

	sources_add(&sources, &result->want);
	if (result->more) {
		nvme_result_missed();
		return;
	}
	number++;
	nvme_controllers(nvme->nqn, &have);
	for (i = 0; i < have.count && !signals_ended(); i++) {
		path = &have.path[i];
		if (paths_have(&result->want, path) ||
		    paths_have(&result->unreached, path) ||
		    (one_device && (!has_source(&sources, path->source) ||
				    source_moved(nvme, path->source))) ||
		    (result_doubtful(nvme, result, path) &&
		     !absent_long(nvme, path)) ||
		    !nvme_served(path, nvme->nqn, joined))
			continue;
		if (nvme_disconnect(path, nvme->nqn))
			nvme_change_print("disconnected", path);
	}
}
