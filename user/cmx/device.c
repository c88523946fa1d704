// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The addresses by which an RDMA device can be bound: IP, and GIDs */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <glob.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <infiniband/ib.h>

#include "cmx.h"

/* Reads the only line of a file in sysfs. An empty GID entry has none. */
static bool line_read(const char *path, char text[64])
{
	FILE *file = fopen(path, "re");
	bool ok;

	if (!file)
		return false;
	ok = fgets(text, 64, file);
	fclose(file);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
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

/* On RoCE each GID has a network interface. */
static bool roce_address(const char *device, const struct ifaddrs *list,
			 int family, struct sockaddr_storage *addr)
{
	char path[256], name[64];
	bool found = false;
	glob_t files;
	size_t i;

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/%s/ports/*/gid_attrs/ndevs/*", device);
	if (glob(path, 0, NULL, &files))
		return false;
	for (i = 0; i < files.gl_pathc && !found; i++)
		found = line_read(files.gl_pathv[i], name) &&
			netdev_address(list, name, family, addr);
	globfree(&files);
	return found;
}

/* True if the address of an IPoIB interface ends with that GID */
bool ipoib_of(const char *name, const struct in6_addr *gid)
{
	unsigned char hw[20];
	char path[256], text[64];
	size_t i;

	snprintf(path, sizeof(path), "/sys/class/net/%s/address", name);
	if (!line_read(path, text) || strlen(text) != 3 * sizeof(hw) - 1)
		return false;
	for (i = 0; i < sizeof(hw); i++)
		if (sscanf(text + 3 * i, "%2hhx", &hw[i]) != 1)
			return false;
	return !memcmp(hw + 4, gid, sizeof(*gid));
}

/* On InfiniBand an IPoIB interface has the port's GID in its address. */
static bool ipoib_address(const char *device, const struct ifaddrs *list,
			  int family, struct sockaddr_storage *addr)
{
	const struct ifaddrs *at;
	char path[256], text[64];
	struct in6_addr gid;
	bool found = false;
	glob_t files;
	size_t i;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/*/gids/0",
		 device);
	if (glob(path, 0, NULL, &files))
		return false;
	for (i = 0; i < files.gl_pathc && !found; i++) {
		if (!line_read(files.gl_pathv[i], text) ||
		    inet_pton(AF_INET6, text, &gid) != 1)
			continue;
		for (at = list; at && !found; at = at->ifa_next)
			found = at->ifa_addr && ipoib_of(at->ifa_name, &gid) &&
				netdev_address(list, at->ifa_name, family,
					       addr);
	}
	globfree(&files);
	return found;
}

bool device_address(const char *device, int family,
		    struct sockaddr_storage *addr, const char **reason)
{
	struct ifaddrs *list;
	char path[256];
	bool found;

	*reason = "there is no such RDMA device, see: rdma link";
	if (strchr(device, '/') || strlen(device) > 63)
		return false;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", device);
	if (access(path, F_OK))
		return false;
	*reason = "its network interface has no address of the group's family";
	if (getifaddrs(&list))
		return false;
	found = roce_address(device, list, family, addr) ||
		ipoib_address(device, list, family, addr);
	freeifaddrs(list);
	return found;
}

/* Reads the first line of a file of a port, without its end. */
static bool port_read(const char *device, unsigned long port, const char *name,
		      char text[64])
{
	char path[256];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%lu/%s",
		 device, port, name);
	return line_read(path, text);
}

bool device_gid(const char *text, struct sockaddr_ib *addr,
		const char **reason)
{
	const char *slash = strchrnul(text, '/');
	unsigned long port = 1, last = 255;
	char device[64], line[64];

	*reason = "there is no such RDMA device or port, see: rdma link";
	if (slash == text || slash - text > 63 ||
	    (*slash && (!number_parse(slash + 1, 255, &port) || !port)))
		return false;
	snprintf(device, sizeof(device), "%.*s", (int)(slash - text), text);
	if (*slash)
		last = port;
	for (; port <= last; port++) {
		if (!port_read(device, port, "link_layer", line))
			return false;
		if (strcmp(line, "InfiniBand")) {
			*reason = "that is not an InfiniBand port";
			continue;
		}
		*reason = "its GID cannot be read";
		memset(addr, 0, sizeof(*addr));
		addr->sib_family = AF_IB;
		return port_read(device, port, "gids/0", line) &&
		       inet_pton(AF_INET6, line, &addr->sib_addr) == 1;
	}
	return false;
}
