// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx resolve --env: a result in the format of programs that choose device,
 * port and GID themselves.
 */
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"

bool env_known(const char *form)
{
	return !strcmp(form, "nccl") || !strcmp(form, "ucx") ||
	       !strcmp(form, "perftest");
}

/*
 * A shell does not process quotes in the result of $(...): it splits a name
 * with blanks into words, and "-" begins an option. A container with
 * CAP_NET_ADMIN chooses names of devices and interfaces. So no name is quoted,
 * and only one that is a word for every reader is printed.
 */
static bool name_valid(const char *name)
{
	return *name && *name != '-' &&
	       !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-.:")];
}

static bool addr_same(const struct sockaddr *a, const struct sockaddr *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->sa_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr) &&
	       a6->sin6_scope_id == b6->sin6_scope_id;
}

/* Gets the interface with the source address; false: none. */
static bool interface_name(const struct rdma_addrinfo *ai,
			   char name[IF_NAMESIZE])
{
	struct ifaddrs *list, *at;
	bool found = false;

	if (!ai->ai_src_len || getifaddrs(&list))
		return false;
	for (at = list; at && !found; at = at->ifa_next) {
		found = at->ifa_addr && addr_same(at->ifa_addr,
						  ai->ai_src_addr);
		if (found)
			snprintf(name, IF_NAMESIZE, "%s", at->ifa_name);
	}
	freeifaddrs(list);
	return found;
}

int env_print(const char *form, const struct rdma_addrinfo *list)
{
	const struct rdma_addrinfo *ai;
	const char *device = NULL;
	char interface[IF_NAMESIZE] = "";
	uint8_t port = 0;
	int gid;

	for (ai = list; ai; ai = ai->ai_next) {
		device = rdmacmx_ai_device(ai, &port);
		if (device)
			break;
	}
	if (!device)
		return failure("no RDMA device reaches it: there is nothing "
			       "to print for %s", form);
	gid = rdmacmx_ai_gid_index(ai, NULL);
	if (!name_valid(device))
		return failure("RDMA device '%s': --env prints only names of letters, digits and _ . : -: rename it with: rdma dev set",
			       device);
	if (gid < 0)
		return failure("the GID index of %s/%u is not known: iWARP "
			       "has none, and an older module rdma_ucmx does "
			       "not report it", device, port);

	if (!strcmp(form, "nccl") && interface_name(ai, interface) &&
	    !name_valid(interface))
		return failure("network interface '%s': --env prints only names of letters, digits and _ . : -: rename it with: ip link set",
			       interface);

	if (!strcmp(form, "perftest")) {
		printf("-d %s -i %u -x %d\n", device, port, gid);
	} else if (!strcmp(form, "ucx")) {
		printf("UCX_NET_DEVICES=%s:%u\nUCX_IB_GID_INDEX=%d\n",
		       device, port, gid);
	} else {
		/* The second = means this name, not a prefix. */
		printf("NCCL_IB_HCA==%s:%u\nNCCL_IB_GID_INDEX=%d\n",
		       device, port, gid);
		if (*interface)
			printf("NCCL_SOCKET_IFNAME==%s\n", interface);
	}
	return CMX_OK;
}
