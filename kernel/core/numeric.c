// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Numeric nodes: IPv4, IPv6 with a zone, GIDs. No state, any context. */
#include <linux/inet.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "core.h"

/* kstrtou32() would take a sign before it and a newline behind it, too. */
static bool cmx_is_decimal(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* Interface that a zone names in that namespace: by name, then by index. */
static int cmx_zone_parse(struct net *net, const char *zone, u32 *scope)
{
	struct net_device *ndev;
	int ret = -ENOENT;
	u32 index;

	rcu_read_lock();
	ndev = dev_get_by_name_rcu(net, zone);
	if (!ndev && cmx_is_decimal(zone) && !kstrtou32(zone, 10, &index))
		ndev = dev_get_by_index_rcu(net, index);
	if (ndev) {
		*scope = ndev->ifindex;
		ret = 0;
	}
	rcu_read_unlock();
	return ret;
}

/*
 * Returns 1 and fills @addr if @node is a number, 0 if it is none, or how the
 * question fails.
 */
int cmx_numeric_parse(const struct cmx_hints *h, const char *node,
		      union rdma_cmx_sockaddr *addr)
{
	struct in6_addr in6;
	const char *end;
	u32 scope = 0;
	__be32 in;
	int ret;

	if (in4_pton(node, -1, (u8 *)&in, -1, &end) && !*end) {
		if (h->family && h->family != AF_INET)
			return -EADDRNOTAVAIL;
		memset(addr, 0, sizeof(*addr));
		addr->in.sin_family = AF_INET;
		addr->in.sin_addr.s_addr = in;
		cmx_addr_set_port(addr, h->port_space, h->port);
		return 1;
	}

	if (!in6_pton(node, -1, in6.s6_addr, '%', &end) ||
	    (*end && *end != '%'))
		return 0;
	if (h->family == AF_INET)
		return -EADDRNOTAVAIL;
	if (*end) {
		ret = cmx_zone_parse(h->net, end + 1, &scope);
		if (ret)
			return ret;
	}

	memset(addr, 0, sizeof(*addr));
	if (h->family == AF_IB) {
		addr->ib.sib_family = AF_IB;
		addr->ib.sib_pkey = htons(0xffff);
		memcpy(addr->ib.sib_addr.sib_raw, in6.s6_addr, sizeof(in6));
		addr->ib.sib_scope_id = scope;
	} else {
		addr->in6.sin6_family = AF_INET6;
		addr->in6.sin6_addr = in6;
		addr->in6.sin6_scope_id = scope;
	}
	cmx_addr_set_port(addr, h->port_space, h->port);
	return 1;
}
