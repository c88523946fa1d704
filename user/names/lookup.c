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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "lookup.h"
#include "names.h"
#include "srv.h"

/*
 * Milliseconds for all hosts of a service: with the addresses of one, and
 * without any. The name helper has 4 seconds in total.
 */
#define HOSTS_MS	2000
#define NONE_MS		5000

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

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/*
 * The target of a record is an absolute name: no search list applies. A host
 * may have several ports, in adjacent records.
 */
static int target_lookup(const struct cmx_srv *list, unsigned int i,
			 struct addrinfo **addrs)
{
	char name[sizeof(list->host) + 1];

	if (i && *addrs && !strcasecmp(list[i].host, list[i - 1].host))
		return 0;
	if (*addrs)
		freeaddrinfo(*addrs);
	*addrs = NULL;
	snprintf(name, sizeof(name), "%s.", list[i].host);
	return host_lookup(name, addrs);
}

/*
 * A host whose lookup fails is left out. Its error is returned if no host has
 * an address.
 */
static int targets_lookup(const struct cmx_srv *list, unsigned int count,
			  void *buf, size_t *len)
{
	/* Of a host, so that none displaces another */
	unsigned int most = RDMA_CMX_NAMES_MAX_ADDRS / count;
	const struct rdma_cmx_names *names = buf;
	struct addrinfo *addrs = NULL;
	long long start = now_ms();
	unsigned int i;
	int error = ENODATA, ret;

	cmx_names_begin(buf, RDMA_CMX_NAMES_VERSION_PORTS);
	for (i = 0; i < count; i++) {
		if (!list[i].host[0])
			continue;
		if (now_ms() - start >= (names->addr_count ? HOSTS_MS : NONE_MS))
			break;
		ret = target_lookup(list, i, &addrs);
		if (!ret)
			cmx_names_add(buf, addrs, list[i].port, most);
		else if (error == ENODATA)
			error = ret;
	}
	if (addrs)
		freeaddrinfo(addrs);
	/* There may be several hosts, so no name is canonical. */
	*len = cmx_names_end(buf, NULL);
	return *len ? 0 : error;
}

/* -1: the name has no SRV records, or the lookup of a host has to decide. */
static int service_lookup(const char *name, void *buf, size_t *len, int *error)
{
	struct cmx_srv *list = calloc(CMX_SRV_RECORDS, sizeof(*list));
	int count, ret = -1;
	int retry, retrans;

	if (!list)
		return ENOMEM;
	_res.res_h_errno = 0;
	count = cmx_srv_query(name, list);
	if (count < 0) {
		*error = -count;
	} else if (count) {
		/*
		 * A silent server of one host must leave time for the others.
		 */
		retry = _res.retry;
		retrans = _res.retrans;
		_res.retry = 1;
		_res.retrans = 1;
		ret = targets_lookup(list, count, buf, len);
		_res.retry = retry;
		_res.retrans = retrans;
		/* The error belongs to another name. */
		_res.res_h_errno = 0;
	}
	free(list);
	return ret;
}

int cmx_names_lookup(const char *name, void *buf, size_t *len)
{
	int error, dns, srv_error = 0;
	struct addrinfo *list;

	if (!cmx_names_valid(name))
		return ENOENT;
	if (cmx_srv_name(name)) {
		error = service_lookup(name, buf, len, &srv_error);
		if (error >= 0)
			return error;
	}
	dns = _res.res_h_errno;
	error = host_lookup(name, &list);
	if (error && srv_error) {
		error = srv_error;
		_res.res_h_errno = dns;
	}
	if (error)
		return error;
	*len = cmx_names_pack(list, buf);
	freeaddrinfo(list);
	/* A name without a usable address has no address. */
	return *len ? 0 : ENODATA;
}
