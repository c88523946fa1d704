// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The RDMA device or the netdevice of the hints. The interfaces of the device:
 * an address to listen on, and the interface in the subnet of a destination.
 *
 * Process context. The device list's lock is outermost, RCU nests inside it.
 */
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "resolve/resolve.h"

/* Interfaces that a walk over the GIDs records */
#define CMX_RAIL_SEEN	64

/**
 * struct cmx_rail - a search on the ports of the hints
 * @net: namespace of the interfaces
 * @addr: wildcard of a family, and then the address; or the destination
 * @subnet: @addr is a destination
 * @ifindex: interface that is in its subnet
 * @seen: interfaces that were checked
 * @seen_count: number of @seen
 */
struct cmx_rail {
	struct net *net;
	union rdma_cmx_sockaddr *addr;
	bool subnet;
	int ifindex;
	int seen[CMX_RAIL_SEEN];
	unsigned int seen_count;
};

static bool cmx_rail_ip4(struct cmx_rail *rail, const struct net_device *ndev)
{
	const struct in_device *in_dev = __in_dev_get_rcu(ndev);
	struct in_addr *addr = &rail->addr->in.sin_addr;
	const struct in_ifaddr *ifa;

	if (!in_dev)
		return false;
	in_dev_for_each_ifa_rcu(ifa, in_dev) {
		if (rail->subnet) {
			if (inet_ifa_match(addr->s_addr, ifa))
				return true;
		} else if (!(ifa->ifa_flags & IFA_F_SECONDARY)) {
			addr->s_addr = ifa->ifa_local;
			return true;
		}
	}
	return false;
}

static bool cmx_rail_ip6(struct cmx_rail *rail, const struct net_device *ndev)
{
	const struct inet6_dev *idev = __in6_dev_get(ndev);
	struct in6_addr *addr = &rail->addr->in6.sin6_addr;
	const struct inet6_ifaddr *ifa;

	if (!idev)
		return false;
	list_for_each_entry_rcu(ifa, &idev->addr_list, if_list) {
		/*
		 * Link-local addresses need a zone, tentative ones cannot be
		 * used.
		 */
		if (ipv6_addr_type(&ifa->addr) & IPV6_ADDR_LINKLOCAL ||
		    (ifa->flags & IFA_F_TENTATIVE &&
		     !(ifa->flags & IFA_F_OPTIMISTIC)))
			continue;
		if (rail->subnet) {
			if (ipv6_prefix_equal(&ifa->addr, addr,
					      ifa->prefix_len))
				return true;
		} else {
			*addr = ifa->addr;
			return true;
		}
	}
	return false;
}

/*
 * An interface with many addresses has many GIDs: check it once. Beyond
 * CMX_RAIL_SEEN interfaces, once for GIDs that follow each other.
 */
static bool cmx_rail_seen(struct cmx_rail *rail, int ifindex)
{
	unsigned int i;

	for (i = 0; i < rail->seen_count; i++)
		if (rail->seen[i] == ifindex)
			return true;
	if (rail->seen_count < CMX_RAIL_SEEN)
		rail->seen_count++;
	rail->seen[rail->seen_count - 1] = ifindex;
	return false;
}

/* With RCU: true if @ndev is the interface */
static bool cmx_rail_ndev(struct cmx_rail *rail, const struct net_device *ndev)
{
	bool found;

	if (!net_eq(dev_net(ndev), rail->net) || !(ndev->flags & IFF_UP) ||
	    cmx_rail_seen(rail, ndev->ifindex))
		return false;
	if (rail->addr->sa.sa_family == AF_INET)
		found = cmx_rail_ip4(rail, ndev);
	else
		found = cmx_rail_ip6(rail, ndev);
	if (found)
		rail->ifindex = ndev->ifindex;
	return found;
}

/* On RoCE the GIDs refer to their interfaces. */
static bool cmx_rail_roce(struct cmx_rail *rail, struct ib_device *ibdev,
			  u32 port)
{
	const struct net_device *ndev;
	const struct ib_gid_attr *attr;
	bool found = false;
	int i;

	for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(attr);
		if (!IS_ERR(ndev))
			found = cmx_rail_ndev(rail, ndev);
		rcu_read_unlock();
		rdma_put_gid_attr(attr);
		if (found)
			break;
		/* An interface may have many addresses. */
		cond_resched();
	}
	return found;
}

/* IPoIB has the GID in its hardware address; the driver reports iWARP's. */
static bool cmx_rail_is(struct ib_device *ibdev, u32 port,
			const union ib_gid *gid, struct net_device *ndev)
{
	struct ib_device *owner;

	if (rdma_protocol_ib(ibdev, port))
		return ndev->type == ARPHRD_INFINIBAND &&
		       !memcmp(ndev->dev_addr + 4, gid, sizeof(*gid));
	owner = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
	if (owner)
		ib_device_put(owner);
	return owner == ibdev;
}

static bool cmx_rail_other(struct cmx_rail *rail, struct ib_device *ibdev,
			   u32 port)
{
	struct net_device *ndev;
	union ib_gid gid = {};
	bool found = false;

	if (rdma_protocol_ib(ibdev, port) &&
	    rdma_query_gid(ibdev, port, 0, &gid))
		return false;
	rcu_read_lock();
	for_each_netdev_rcu(rail->net, ndev) {
		found = cmx_rail_is(ibdev, port, &gid, ndev) &&
			cmx_rail_ndev(rail, ndev);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

static bool cmx_rail_port(struct ib_device *ibdev, u32 port, void *arg)
{
	struct cmx_rail *rail = arg;
	union ib_gid gid;

	if (rail->addr->sa.sa_family == AF_IB) {
		if (!rdma_cap_af_ib(ibdev, port) ||
		    !cmx_port_gid_get(ibdev, port, 0, rail->net, &gid))
			return false;
		memcpy(&rail->addr->ib.sib_addr, &gid, sizeof(gid));
		return true;
	}
	return rdma_protocol_roce(ibdev, port) ?
	       cmx_rail_roce(rail, ibdev, port) :
	       cmx_rail_other(rail, ibdev, port);
}

/*
 * Replaces the wildcard @addr of an IP family by the first address of a
 * netdevice; false: none.
 */
bool cmx_rail_first(struct net *net, int ifindex, union rdma_cmx_sockaddr *addr)
{
	struct cmx_rail rail = { .net = net, .addr = addr };
	const struct net_device *ndev;
	bool found;

	rcu_read_lock();
	ndev = dev_get_by_index_rcu(net, ifindex);
	found = ndev && cmx_rail_ndev(&rail, ndev);
	rcu_read_unlock();
	return found;
}

/*
 * Replaces the wildcard @addr by an address of the netdevice or of the device;
 * false: none.
 */
bool cmx_rail_addr(const struct cmx_hints *h, union rdma_cmx_sockaddr *addr)
{
	struct cmx_rail rail = { .net = h->net, .addr = addr };

	if (h->ifindex && addr->sa.sa_family != AF_IB)
		return cmx_rail_first(h->net, h->ifindex, addr);
	return h->by_dev && cmx_device_hinted(h, cmx_rail_port, &rail);
}

/*
 * The interface of the device that has the destination in its subnet, or 0. The
 * routing table selects it for destinations behind a gateway: with only an
 * interface, IPv4's table treats any destination as on link.
 */
int cmx_rail_ifindex(const struct cmx_hints *h,
		     const union rdma_cmx_sockaddr *dst)
{
	union rdma_cmx_sockaddr addr = *dst;
	struct cmx_rail rail = {
		.net = h->net, .addr = &addr, .subnet = true,
	};

	if (addr.sa.sa_family == AF_IB || cmx_addr_is_link_local(&addr))
		return 0;
	return cmx_device_hinted(h, cmx_rail_port, &rail) ? rail.ifindex : 0;
}

/* The index of a netdevice of @net, or -ENODEV */
int cmx_iface_index(struct net *net, const char *name)
{
	const struct net_device *ndev = NULL;
	int ret;

	rcu_read_lock();
	if (strnlen(name, IFNAMSIZ) < IFNAMSIZ)
		ndev = dev_get_by_name_rcu(net, name);
	ret = ndev ? ndev->ifindex : -ENODEV;
	rcu_read_unlock();
	return ret;
}

/* IPoIB has one port, which also has the entries by GID. */
static int cmx_iface_port(struct cmx_hints *h, struct ib_device *ibdev,
			  const struct net_device *ndev)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	memcpy(&gid, ndev->dev_addr + 4, sizeof(gid));
	attr = rdma_find_gid(ibdev, &gid, IB_GID_TYPE_IB, NULL);
	if (IS_ERR(attr))
		return -ENXIO;
	h->by_dev = true;
	h->dev_index = ibdev->index;
	h->dev_port = attr->port_num;
	rdma_put_gid_attr(attr);
	return 0;
}

/*
 * The netdevice of the hints, by its present name. A bond may have several RDMA
 * devices, so the source of an entry determines it.
 */
static int cmx_iface_hint(struct cmx_hints *h, const char *name)
{
	struct ib_device *ibdev;
	struct net_device *ndev;
	int ret;

	ret = cmx_iface_index(h->net, name);
	if (ret < 0)
		return ret;
	ndev = dev_get_by_index(h->net, ret);
	if (!ndev)
		return -ENODEV;
	h->ifindex = ret;
	ret = -ENXIO;
	ibdev = rdma_cmx_netdev_device(ndev);
	if (ibdev) {
		if (ndev->type == ARPHRD_INFINIBAND)
			ret = cmx_iface_port(h, ibdev, ndev);
		else
			ret = h->flags & RDMA_CMX_AI_SA ? -ENODEV : 0;
		ib_device_put(ibdev);
	}
	dev_put(ndev);
	return ret;
}

/* Sets the device, port and netdevice of the hints. */
int cmx_rail_hint(struct cmx_hints *h, const struct rdma_cmx_query_attr *attr)
{
	if (!attr->iface)
		return cmx_device_hint(h, attr);
	if (attr->dev || attr->dev_port)
		return -EINVAL;
	return cmx_iface_hint(h, attr->iface);
}
