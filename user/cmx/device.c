// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The IP addresses that an RDMA device can be bound by. */
#define _GNU_SOURCE
#include <glob.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "cmx.h"

/* Network interface behind one entry of the GID table; false: none. */
static bool gid_netdev(const char *path, char name[64])
{
	FILE *file = fopen(path, "re");
	bool ok;

	if (!file)
		return false;
	/* The read of an empty entry fails. */
	ok = fgets(name, 64, file);
	fclose(file);
	if (ok)
		name[strcspn(name, "\n")] = '\0';
	return ok;
}

static bool netdev_address(const struct ifaddrs *list, const char *name,
			   int family, struct sockaddr_storage *addr)
{
	const struct ifaddrs *at;
	const struct sockaddr_in6 *in6;

	for (at = list; at; at = at->ifa_next) {
		if (!at->ifa_addr || at->ifa_addr->sa_family != family ||
		    strcmp(at->ifa_name, name))
			continue;
		in6 = (const void *)at->ifa_addr;
		if (family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			continue;
		memcpy(addr, at->ifa_addr, family == AF_INET ?
		       sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
		return true;
	}
	return false;
}

bool device_address(const char *device, int family,
		    struct sockaddr_storage *addr, const char **reason)
{
	struct ifaddrs *list;
	char path[256], name[64];
	bool found = false;
	glob_t files;
	size_t i;

	*reason = "there is no such RDMA device, see: rdma link";
	if (strchr(device, '/') || strlen(device) > 63)
		return false;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device);
	if (access(path, F_OK))
		return false;
	*reason = "its network interface has no address of the group's family";
	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/*/gid_attrs/ndevs/*", device);
	if (getifaddrs(&list))
		return false;
	if (!glob(path, 0, NULL, &files)) {
		for (i = 0; i < files.gl_pathc && !found; i++)
			found = gid_netdev(files.gl_pathv[i], name) &&
				netdev_address(list, name, family, addr);
		globfree(&files);
	}
	freeifaddrs(list);
	return found;
}
