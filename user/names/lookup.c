// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Looks up a name by libc: the addresses of a host, or for _service._tcp.domain
 * those of the hosts that offer the service, each with its port. The state is
 * that of the thread's DNS client.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <stdlib.h>
#include <time.h>

#include "lookup.h"
#include "names.h"
#include "srv.h"

/* After this time no other host is looked up: a zone may name many. */
#define HOSTS_SECONDS	5

static int host_lookup(const char *name, struct addrinfo **list)
{
	static const struct addrinfo hints = {
		.ai_flags = AI_CANONNAME,
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	int gai;

	/* An earlier lookup of this thread may have left an error. */
	_res.res_h_errno = 0;
	errno = 0;
	gai = getaddrinfo(name, NULL, &hints, list);
	return cmx_names_errno(gai, _res.res_h_errno, errno);
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/*
 * A host that cannot be looked up is left out. Its error counts if no host has
 * an address.
 */
static int hosts_lookup(const struct cmx_srv *list, unsigned int count,
			void *buf, size_t *len)
{
	unsigned int i, hosts = 0;
	time_t start = seconds();
	struct addrinfo *addrs;
	int error = ENODATA, ret;

	cmx_names_begin(buf, RDMA_CMX_NAMES_VERSION_PORTS);
	for (i = 0; i < count && hosts < CMX_SRV_HOSTS; i++) {
		if (!list[i].host[0])
			continue;
		if (hosts && seconds() - start >= HOSTS_SECONDS)
			break;
		hosts++;
		ret = host_lookup(list[i].host, &addrs);
		if (ret) {
			if (error == ENODATA)
				error = ret;
			continue;
		}
		cmx_names_add(buf, addrs, list[i].port);
		freeaddrinfo(addrs);
	}
	/* There may be several hosts: none of their names is canonical. */
	*len = cmx_names_end(buf, NULL);
	return *len ? 0 : error;
}

/* -1: the name has no SRV records. */
static int service_lookup(const char *name, void *buf, size_t *len)
{
	struct cmx_srv *list = calloc(CMX_SRV_RECORDS, sizeof(*list));
	int count, error = -1;

	if (!list)
		return ENOMEM;
	_res.res_h_errno = 0;
	count = cmx_srv_query(name, list);
	if (count < 0)
		error = -count;
	else if (count)
		error = hosts_lookup(list, count, buf, len);
	free(list);
	return error;
}

int cmx_names_lookup(const char *name, void *buf, size_t *len)
{
	struct addrinfo *list;
	int error;

	if (!cmx_names_valid(name))
		return ENOENT;
	if (cmx_srv_name(name)) {
		error = service_lookup(name, buf, len);
		if (error >= 0)
			return error;
	}
	error = host_lookup(name, &list);
	if (error)
		return error;
	*len = cmx_names_pack(list, buf);
	freeaddrinfo(list);
	/* A name without a usable address has no address. */
	return *len ? 0 : ENODATA;
}
