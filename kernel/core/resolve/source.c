// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Sources: the netdevice that has one, and the choice of one by an interface.
 *
 * rdma_cm binds an id to the interface that has the source of an entry. Then it
 * looks up the route with both. A lookup without the source may return another
 * route: rules select by the source, and IPv6 requires the interface only if
 * there is no source. So the source is chosen first, and the route of the entry
 * is that of a second lookup.
 *
 * Process context. Nothing is held between the lookups.
 */
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>

#include "resolve/resolve.h"

/*
 * The netdevice that has an address, with a reference, or NULL. With
 * ipv6.disable=1 there are no tables of IPv6 addresses.
 */
struct net_device *cmx_source_ndev(struct net *net,
				   const union rdma_cmx_sockaddr *addr)
{
	struct net_device *ndev = NULL;

	rcu_read_lock();
	if (addr->sa.sa_family == AF_INET) {
		ndev = __ip_dev_find(net, addr->in.sin_addr.s_addr, false);
	} else if (ipv6_mod_enabled()) {
		if (addr->in6.sin6_scope_id) {
			ndev = dev_get_by_index_rcu(net,
						    addr->in6.sin6_scope_id);
			if (ndev && !ipv6_chk_addr(net, &addr->in6.sin6_addr,
						   ndev, 1))
				ndev = NULL;
		} else {
			ndev = cmx_ipv6_dev_find(net,
						 &addr->in6.sin6_addr);
		}
	}
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/* The index of the netdevice that has an address, or 0 */
int cmx_source_ifindex(struct net *net, const union rdma_cmx_sockaddr *addr)
{
	struct net_device *ndev = cmx_source_ndev(net, addr);
	int ifindex = ndev ? ndev->ifindex : 0;

	/* It may be freed then. */
	dev_put(ndev);
	return ifindex;
}

/* Without a route the table treats any destination as on link. */
static int cmx_source_ip4(struct net *net, const union rdma_cmx_sockaddr *dst,
			  int oif, union rdma_cmx_sockaddr *src)
{
	struct flowi4 fl4 = {
		.daddr = dst->in.sin_addr.s_addr,
		.flowi4_oif = oif,
	};
	struct rtable *rt;

	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return PTR_ERR(rt);
	ip_rt_put(rt);
	src->in.sin_addr.s_addr = fl4.saddr;
	return 0;
}

static int cmx_source_ip6(struct net *net, const union rdma_cmx_sockaddr *dst,
			  int oif, union rdma_cmx_sockaddr *src)
{
	struct flowi6 fl6 = {
		.daddr = dst->in6.sin6_addr,
		.flowi6_oif = oif,
	};
	struct dst_entry *route;

	route = cmx_ipv6_route(net, &fl6);
	if (IS_ERR(route))
		return PTR_ERR(route);
	dst_release(route);
	src->in6.sin6_addr = fl6.saddr;
	if (cmx_addr_is_link_local(src))
		src->in6.sin6_scope_id = oif;
	return 0;
}

/* The wildcard of a family. The port and the flow information stay. */
static void cmx_source_any(union rdma_cmx_sockaddr *src, sa_family_t family)
{
	src->sa.sa_family = family;
	if (family == AF_INET) {
		src->in.sin_addr.s_addr = htonl(INADDR_ANY);
	} else {
		src->in6.sin6_addr = in6addr_any;
		src->in6.sin6_scope_id = 0;
	}
}

/*
 * Sets @src to the source for @dst by interface @oif: that of the route by it,
 * or its first address. The latter may be the one of a rule, without which
 * there is no route. Returns 0, -ENETUNREACH or -ENOMEM.
 */
int cmx_source_choose(struct net *net, const union rdma_cmx_sockaddr *dst,
		      int oif, union rdma_cmx_sockaddr *src)
{
	int ret;

	cmx_source_any(src, dst->sa.sa_family);
	ret = dst->sa.sa_family == AF_INET ?
	      cmx_source_ip4(net, dst, oif, src) :
	      cmx_source_ip6(net, dst, oif, src);
	if (ret == -ENOMEM || ret == -ENOBUFS)
		return -ENOMEM;
	/* IPv6 may choose an address of any interface. */
	if (!ret && cmx_source_ifindex(net, src) == oif)
		return 0;
	cmx_source_any(src, dst->sa.sa_family);
	return cmx_rail_first(net, oif, src) ? 0 : -ENETUNREACH;
}
