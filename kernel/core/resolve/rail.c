// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The RDMA device or the netdevice of the hints. The interfaces of the device:
 * an address to listen on, and the interface in the subnet of a destination.
 *
 * Process context.
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

/* Interfaces that a step finds */
#define CMX_RAIL_SEEN	64

/**
 * struct cmx_rail - a search on the ports of the hints
 * @net: namespace of the interfaces
 * @addr: wildcard of a family, and then the address; or the destination
 * @subnet: @addr is a destination
 * @ifindex: interface that is in its subnet
 * @port: port of the present step
 * @next: index of its next GID, -1: it has no more
 * @roce: it is on RoCE
 * @ibdev: iWARP: its device, which may be gone; else NULL
 * @gid: InfiniBand: its first GID
 * @seen: RoCE: interfaces of its GIDs
 * @seen_count: number of @seen
 *
 * The user chooses the number of interfaces and of their addresses. So a step
 * finds what the port has, with the lock of the devices, and the search
 * continues without it.
 */
struct cmx_rail {
	struct net *net;
	union rdma_cmx_sockaddr *addr;
	bool subnet;
	int ifindex;
	u32 port;
	int next;
	bool roce;
	const struct ib_device *ibdev;
	union ib_gid gid;
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

/* With RCU: true if @ndev is the interface */
static bool cmx_rail_ndev(struct cmx_rail *rail, const struct net_device *ndev)
{
	bool found;

	if (!net_eq(dev_net(ndev), rail->net) || !(ndev->flags & IFF_UP))
		return false;
	if (rail->addr->sa.sa_family == AF_INET)
		found = cmx_rail_ip4(rail, ndev);
	else
		found = cmx_rail_ip6(rail, ndev);
	if (found)
		rail->ifindex = ndev->ifindex;
	return found;
}

/* An interface with many addresses has many GIDs: it is seen once. */
static void cmx_rail_see(struct cmx_rail *rail, int ifindex)
{
	unsigned int i;

	for (i = 0; i < rail->seen_count; i++)
		if (rail->seen[i] == ifindex)
			return;
	rail->seen[rail->seen_count++] = ifindex;
}

/* On RoCE the GIDs refer to their interfaces. */
static void cmx_rail_gids(struct cmx_rail *rail, struct ib_device *ibdev,
			  u32 port)
{
	int i, len = ibdev->port_data[port].immutable.gid_tbl_len;
	const struct net_device *ndev;
	const struct ib_gid_attr *attr;

	for (i = rail->next; i < len && rail->seen_count < CMX_RAIL_SEEN; i++) {
		attr = rdma_get_gid_attr(ibdev, port, i);
		if (IS_ERR(attr))
			continue;
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(attr);
		if (!IS_ERR(ndev) && net_eq(dev_net(ndev), rail->net))
			cmx_rail_see(rail, ndev->ifindex);
		rcu_read_unlock();
		rdma_put_gid_attr(attr);
	}
	rail->next = i < len ? i : -1;
}

/* Does not sleep. True if the search continues with what it has found. */
static bool cmx_rail_step(struct ib_device *ibdev, u32 port, void *arg)
{
	struct cmx_rail *rail = arg;

	if (port < rail->port)
		return false;
	if (port > rail->port) {
		rail->port = port;
		rail->next = 0;
	}
	if (rail->addr->sa.sa_family == AF_IB)
		return rdma_cap_af_ib(ibdev, port) &&
		       cmx_port_gid_get(ibdev, port, 0, rail->net, &rail->gid,
					NULL);
	rail->seen_count = 0;
	rail->ibdev = NULL;
	rail->roce = rdma_protocol_roce(ibdev, port);
	if (rail->roce) {
		cmx_rail_gids(rail, ibdev, port);
		return true;
	}
	rail->next = -1;
	if (rdma_protocol_ib(ibdev, port))
		return !rdma_query_gid(ibdev, port, 0, &rail->gid);
	rail->ibdev = ibdev;
	return true;
}

static bool cmx_rail_roce(struct cmx_rail *rail)
{
	const struct net_device *ndev;
	bool found = false;
	unsigned int i;

	for (i = 0; i < rail->seen_count && !found; i++) {
		rcu_read_lock();
		ndev = dev_get_by_index_rcu(rail->net, rail->seen[i]);
		found = ndev && cmx_rail_ndev(rail, ndev);
		rcu_read_unlock();
		/* An interface may have many addresses. */
		cond_resched();
	}
	return found;
}

/* IPoIB has the GID in its hardware address; the driver reports iWARP's. */
static bool cmx_rail_is(const struct cmx_rail *rail, struct net_device *ndev)
{
	struct ib_device *owner;

	if (!rail->ibdev)
		return ndev->type == ARPHRD_INFINIBAND &&
		       !memcmp(ndev->dev_addr + 4, &rail->gid,
			       sizeof(rail->gid));
	owner = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
	if (owner)
		ib_device_put(owner);
	return owner == rail->ibdev;
}

static bool cmx_rail_other(struct cmx_rail *rail)
{
	struct net_device *ndev;
	bool found = false;

	rcu_read_lock();
	for_each_netdev_rcu(rail->net, ndev) {
		found = cmx_rail_is(rail, ndev) && cmx_rail_ndev(rail, ndev);
		if (found)
			break;
	}
	rcu_read_unlock();
	return found;
}

/* The device may go meanwhile, and then has no further step. */
static bool cmx_rail_search(const struct cmx_hints *h, struct cmx_rail *rail)
{
	bool found = false;

	while (!found && cmx_device_hinted(h, cmx_rail_step, rail)) {
		if (rail->addr->sa.sa_family == AF_IB) {
			memcpy(&rail->addr->ib.sib_addr, &rail->gid,
			       sizeof(rail->gid));
			return true;
		}
		found = rail->roce ? cmx_rail_roce(rail) : cmx_rail_other(rail);
		if (rail->next < 0) {
			rail->port++;
			rail->next = 0;
		}
	}
	return found;
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
	return h->by_dev && cmx_rail_search(h, &rail);
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
	return cmx_rail_search(h, &rail) ? rail.ifindex : 0;
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
