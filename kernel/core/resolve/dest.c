// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The way to one address: source by the routing table of the namespace, and
 * the RDMA device that owns the source. Process context; takes RCU, and below
 * it nothing that sleeps but the device list's lock, which is taken outside.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/neighbour.h>
#include <net/route.h>

#include "resolve/resolve.h"
#include "resolve/trace.h"

static void cmx_gid_from_ip(const union rdma_cmx_sockaddr *addr,
			    union ib_gid *gid)
{
	struct in6_addr *in6 = (struct in6_addr *)gid->raw;

	if (addr->sa.sa_family == AF_INET)
		ipv6_addr_set_v4mapped(addr->in.sin_addr.s_addr, in6);
	else
		*in6 = addr->in6.sin6_addr;
}

/*
 * Netdevice that has an address, with a reference, or NULL. With
 * ipv6.disable=1 there are no tables of IPv6 addresses to look into.
 */
static struct net_device *cmx_ndev_of(struct net *net,
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
			ndev = ipv6_stub->ipv6_dev_find(net,
							&addr->in6.sin6_addr,
							NULL);
		}
	}
	dev_hold(ndev);
	rcu_read_unlock();
	return ndev;
}

/*
 * Netdevice that a route leaves by, with a reference. A route to an address
 * of our own leaves by the loopback device: there, as for rdma_cm, the device
 * that has the source counts.
 */
static struct net_device *cmx_route_ndev(struct net *net,
					 struct dst_entry *dst, bool local,
					 const union rdma_cmx_sockaddr *src)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = READ_ONCE(dst->dev);
	if (!local && !(ndev->flags & IFF_LOOPBACK))
		dev_hold(ndev);
	else
		ndev = NULL;
	rcu_read_unlock();
	return ndev ?: cmx_ndev_of(net, src);
}

/*
 * On IPoIB the hardware address of the next hop has the GID. A gateway's does
 * not help: the GID of what is behind it is not known to the IP stack.
 */
static void cmx_route_dgid(struct cmx_path *path, const struct dst_entry *dst,
			   const void *daddr, bool local, bool gateway)
{
	u8 ha[ALIGN(MAX_ADDR_LEN, sizeof(unsigned long))];
	const struct net_device *ndev;
	struct neighbour *n;

	if (local) {
		path->dgid_state = CMX_DGID_SELF;
		return;
	}
	rcu_read_lock();
	ndev = READ_ONCE(dst->dev);
	if (ndev->type != ARPHRD_INFINIBAND || gateway) {
		path->dgid_state = CMX_DGID_NONE;
		goto out;
	}
	path->dgid_state = CMX_DGID_ASK;
	n = dst_neigh_lookup(dst, daddr);
	if (!n)
		goto out;
	if (READ_ONCE(n->nud_state) & NUD_VALID) {
		neigh_ha_snapshot(ha, n, ndev);
		memcpy(&path->dgid, ha + 4, sizeof(path->dgid));
		path->dgid_state = CMX_DGID_KNOWN;
	}
	neigh_release(n);
out:
	rcu_read_unlock();
}

/* No way there is an answer, no memory to find one is not. */
static struct net_device *cmx_route_error(int error)
{
	return error == -ENOMEM || error == -ENOBUFS ? ERR_PTR(-ENOMEM) : NULL;
}

static struct net_device *cmx_route4(const struct cmx_hints *h,
				     struct cmx_path *path)
{
	struct flowi4 fl4 = {
		.daddr = path->dst.in.sin_addr.s_addr,
	};
	struct net_device *ndev;
	struct rtable *rt;
	bool local;

	if (path->src.sa.sa_family)
		fl4.saddr = path->src.in.sin_addr.s_addr;
	rt = ip_route_output_key(h->net, &fl4);
	if (IS_ERR(rt))
		return cmx_route_error(PTR_ERR(rt));

	path->src.sa.sa_family = AF_INET;
	path->src.in.sin_addr.s_addr = fl4.saddr;
	local = rt->rt_flags & RTCF_LOCAL;
	ndev = cmx_route_ndev(h->net, &rt->dst, local, &path->src);
	cmx_route_dgid(path, &rt->dst, &fl4.daddr, local, rt->rt_uses_gateway);
	ip_rt_put(rt);
	return ndev;
}

static struct net_device *cmx_route6(const struct cmx_hints *h,
				     struct cmx_path *path)
{
	struct flowi6 fl6 = {
		.daddr = path->dst.in6.sin6_addr,
	};
	struct net_device *ndev;
	struct dst_entry *dst;
	bool local;

	if (!ipv6_mod_enabled())
		return NULL;
	if (path->src.sa.sa_family) {
		/* Unlike IPv4's, this table takes any source. */
		ndev = cmx_ndev_of(h->net, &path->src);
		if (!ndev)
			return NULL;
		dev_put(ndev);
		fl6.saddr = path->src.in6.sin6_addr;
	}
	if (cmx_addr_is_link_local(&path->dst))
		fl6.flowi6_oif = path->dst.in6.sin6_scope_id ?:
				 path->src.in6.sin6_scope_id;
	dst = ipv6_stub->ipv6_dst_lookup_flow(h->net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return cmx_route_error(PTR_ERR(dst));

	path->src.sa.sa_family = AF_INET6;
	path->src.in6.sin6_addr = fl6.saddr;
	local = ((struct rt6_info *)dst)->rt6i_flags & RTF_LOCAL;
	if (cmx_addr_is_link_local(&path->src)) {
		rcu_read_lock();
		path->src.in6.sin6_scope_id = fl6.flowi6_oif ?:
					      READ_ONCE(dst->dev)->ifindex;
		rcu_read_unlock();
	}
	ndev = cmx_route_ndev(h->net, dst, local, &path->src);
	cmx_route_dgid(path, dst, &fl6.daddr, local,
		       ((struct rt6_info *)dst)->rt6i_flags & RTF_GATEWAY);
	dst_release(dst);
	return ndev;
}

/* Passive: is the address one of ours? */
static struct net_device *cmx_route_local(const struct cmx_hints *h,
					  struct cmx_path *path)
{
	if (cmx_addr_is_any(&path->src))
		return NULL;
	return cmx_ndev_of(h->net, &path->src);
}

/*
 * @path comes with dst, and with src where that is wanted, or with src alone
 * if passive. An unreachable one goes back without src. Returns 0 or -ENOMEM.
 */
int cmx_route_annotate(const struct cmx_hints *h, struct cmx_path *path)
{
	struct net_device *ndev;
	union ib_gid gid;
	bool passive = !path->dst.sa.sa_family;
	sa_family_t family = passive ? path->src.sa.sa_family :
				       path->dst.sa.sa_family;

	path->rank = CMX_RANK_UNREACHED;
	path->port_num = 0;
	path->ibdev_index = 0;
	path->ib = false;

	if (!passive) {
		if (!h->src.sa.sa_family) {
			memset(&path->src, 0, sizeof(path->src));
		} else if (h->src.sa.sa_family == family) {
			path->src = h->src;
			if (cmx_addr_is_any(&path->src))
				path->src.sa.sa_family = 0;
		} else {
			goto unreached;
		}
	}

	switch (family) {
	case AF_INET:
		ndev = passive ? cmx_route_local(h, path) : cmx_route4(h, path);
		break;
	case AF_INET6:
		ndev = passive ? cmx_route_local(h, path) : cmx_route6(h, path);
		break;
	case AF_IB:
		if (!(passive && cmx_addr_is_any(&path->src)) &&
		    cmx_device_find_ib(h->net, path)) {
			path->rank = CMX_RANK_RDMA;
			goto out;
		}
		fallthrough;
	default:
		ndev = NULL;
		break;
	}
	if (IS_ERR(ndev))
		return PTR_ERR(ndev);
	if (!ndev)
		goto unreached;

	path->rank = CMX_RANK_REACHED;
	cmx_gid_from_ip(&path->src, &gid);
	if (cmx_device_find(h->net, &gid, ndev, path))
		path->rank = CMX_RANK_RDMA;
	dev_put(ndev);
	goto out;

unreached:
	if (!passive)
		path->src.sa.sa_family = 0;
	else if (cmx_addr_is_any(&path->src))
		path->rank = CMX_RANK_REACHED;
out:
	trace_cmx_annotate(path);
	return 0;
}
