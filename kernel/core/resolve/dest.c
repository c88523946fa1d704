// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Destinations: the source address by the routing table of the namespace, and
 * the RDMA device that has the source. Process context. Nothing sleeps under
 * RCU.
 */
#include <linux/if_arp.h>
#include <linux/if_infiniband.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/sched/signal.h>
#include <net/ip_fib.h>
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
 * The netdevice of a route, with a reference. A route to a local address uses
 * the loopback device. Then, as in rdma_cm, the netdevice with the source is
 * used.
 */
static struct net_device *cmx_dest_ndev(struct net *net,
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
	return ndev ?: cmx_source_ndev(net, src);
}

/*
 * On IPoIB the hardware address of the next hop has the GID. That of a gateway
 * is of no use: the IP stack does not know the GID of a host behind it.
 */
static void cmx_dest_dgid(struct cmx_dest *dest, const struct dst_entry *dst,
			  const void *daddr, bool local, bool gateway)
{
	u8 ha[ALIGN(MAX_ADDR_LEN, sizeof(unsigned long))] = {};
	const struct net_device *ndev;
	struct neighbour *n;

	if (local) {
		dest->dgid_state = CMX_DGID_SELF;
		return;
	}
	rcu_read_lock();
	ndev = READ_ONCE(dst->dev);
	if (ndev->type != ARPHRD_INFINIBAND || gateway) {
		dest->dgid_state = CMX_DGID_NONE;
		goto out;
	}
	dest->dgid_state = CMX_DGID_UNRESOLVED;
	n = dst_neigh_lookup(dst, daddr);
	if (!n)
		goto out;
	/* The owner of a tun device may change its type meanwhile. */
	if (READ_ONCE(n->nud_state) & NUD_VALID &&
	    ndev->addr_len == INFINIBAND_ALEN) {
		neigh_ha_snapshot(ha, n, ndev);
		memcpy(&dest->dgid, ha + 4, sizeof(dest->dgid));
		dest->dgid_state = CMX_DGID_KNOWN;
	}
	neigh_release(n);
out:
	rcu_read_unlock();
}

/*
 * Having no route is a result; lack of memory is an error. The routing table
 * returns EINVAL for a black hole, and ENETUNREACH for an IPv4 source that is
 * not local, as if there was no route.
 */
static int cmx_dest_error(struct net *net, const struct cmx_dest *dest,
			  int error)
{
	if (error == -ENOBUFS)
		return -ENOMEM;
	if (error == -EINVAL)
		error = -ENETUNREACH;
	if (error != -ENETUNREACH || !dest->src.sa.sa_family)
		return error;
	return cmx_source_ifindex(net, &dest->src) ? -ENETUNREACH :
						     -EADDRNOTAVAIL;
}

/*
 * True if the netdevice of the hints has the source. By this address rdma_cm
 * binds an id to its netdevice.
 */
static bool cmx_dest_from_iface(const struct cmx_hints *h,
				const struct cmx_dest *dest)
{
	if (cmx_addr_is_link_local(&dest->dst) &&
	    dest->dst.in6.sin6_scope_id &&
	    dest->dst.in6.sin6_scope_id != h->ifindex)
		return false;
	return cmx_source_ifindex(h->net, &dest->src) == h->ifindex;
}

/*
 * The device of a netdevice may change, if it is a bond. So only an entry by
 * GID has to be of the port that the query began with: IPoIB's.
 */
bool cmx_dest_taken(const struct cmx_hints *h, const struct cmx_dest *dest)
{
	if (!h->by_dev && !h->ifindex)
		return true;
	if (!dest->port_num)
		return false;
	if (h->ifindex && dest->src.sa.sa_family != AF_IB)
		return cmx_dest_from_iface(h, dest);
	return h->by_dev &&
	       cmx_hints_take(h, dest->ibdev_index, dest->port_num);
}

/* Sets the RDMA device of the source, which @ndev has. */
static void cmx_dest_device(const struct cmx_hints *h, struct cmx_dest *dest,
			    struct net_device *ndev)
{
	union ib_gid gid;

	dest->rank = CMX_RANK_REACHED;
	cmx_gid_from_ip(&dest->src, &gid);
	if (cmx_device_find(h->net, &gid, ndev, dest))
		dest->rank = CMX_RANK_RDMA;
	else
		dest->error = -ENODEV;
}

/* Uses the route @dst to @daddr, with the source set. */
static int cmx_dest_routed(const struct cmx_hints *h, struct cmx_dest *dest,
			   struct dst_entry *dst, const void *daddr, bool local,
			   bool gateway)
{
	struct net_device *ndev;

	ndev = cmx_dest_ndev(h->net, dst, local, &dest->src);
	if (!ndev)
		return -ENODEV;
	dest->ifindex = local ? 0 : ndev->ifindex;
	cmx_dest_dgid(dest, dst, daddr, local, gateway);
	cmx_dest_device(h, dest, ndev);
	if (h->warm && !local && dest->rank == CMX_RANK_RDMA &&
	    dest->dgid_state != CMX_DGID_KNOWN &&
	    !cmx_addr_is_multicast(&dest->dst) && cmx_dest_taken(h, dest))
		cmx_neigh_warm(ndev, dst, daddr);
	dev_put(ndev);
	return 0;
}

/*
 * True if a table has a route by the interface of @fl4. Without one the kernel
 * treats any destination as on link.
 */
static bool cmx_dest_ip4_by(struct net *net, const struct flowi4 *fl4)
{
	struct fib_result res CMX_UNINIT;
	struct flowi4 key = *fl4;

	key.flowi4_iif = LOOPBACK_IFINDEX;
	return !fib_lookup(net, &key, &res, 0);
}

/* True if the caller gave a source */
static bool cmx_dest_sourced(const struct cmx_hints *h)
{
	return h->src.sa.sa_family && !cmx_addr_is_any(&h->src);
}

static int cmx_dest_ip4(const struct cmx_hints *h, struct cmx_dest *dest,
			int oif)
{
	struct flowi4 fl4 = {
		.daddr = dest->dst.in.sin_addr.s_addr,
		.flowi4_oif = oif,
	};
	struct rtable *rt;
	int ret;

	if (oif && !dest->src.sa.sa_family) {
		ret = cmx_source_choose(h->net, &dest->dst, oif, &dest->src);
		if (ret)
			return ret;
	}
	if (dest->src.sa.sa_family)
		fl4.saddr = dest->src.in.sin_addr.s_addr;
	/*
	 * Multicast needs no route by an interface. The interface of a device
	 * is in the subnet: on link is right then.
	 */
	if (oif && !ipv4_is_multicast(fl4.daddr) &&
	    (h->ifindex || cmx_dest_sourced(h)) &&
	    !cmx_dest_ip4_by(h->net, &fl4))
		return -ENETUNREACH;
	rt = ip_route_output_key(h->net, &fl4);
	if (IS_ERR(rt))
		return cmx_dest_error(h->net, dest, PTR_ERR(rt));

	dest->src.sa.sa_family = AF_INET;
	dest->src.in.sin_addr.s_addr = fl4.saddr;
	ret = cmx_dest_routed(h, dest, &rt->dst, &fl4.daddr,
			      rt->rt_flags & RTCF_LOCAL, rt->rt_uses_gateway);
	ip_rt_put(rt);
	return ret;
}

static int cmx_dst_ifindex(const struct dst_entry *dst)
{
	int ifindex;

	rcu_read_lock();
	ifindex = READ_ONCE(dst->dev)->ifindex;
	rcu_read_unlock();
	return ifindex;
}

/*
 * True if the route has to be that of the source. For a device of RoCE it need
 * not: an id stays on the device of its source, and the route only has the
 * neighbour. On IPoIB it selects the port of the path query.
 */
static bool cmx_dest_by_source(const struct cmx_hints *h, int oif)
{
	const struct net_device *ndev;
	bool ipoib;

	if (h->ifindex)
		return true;
	rcu_read_lock();
	ndev = dev_get_by_index_rcu(h->net, oif);
	ipoib = ndev && ndev->type == ARPHRD_INFINIBAND;
	rcu_read_unlock();
	return ipoib;
}

static int cmx_dest_ip6(const struct cmx_hints *h, struct cmx_dest *dest,
			int oif)
{
	struct flowi6 fl6 = {
		.daddr = dest->dst.in6.sin6_addr,
		.flowi6_oif = oif,
	};
	bool sourced = dest->src.sa.sa_family;
	struct dst_entry *dst;
	u32 flags;
	int ret;

	if (!ipv6_mod_enabled())
		return -EAFNOSUPPORT;
	if (oif && !sourced && cmx_dest_by_source(h, oif)) {
		ret = cmx_source_choose(h->net, &dest->dst, oif, &dest->src);
		if (ret)
			return ret;
		sourced = true;
	}
	if (sourced) {
		/* Unlike IPv4's, this table accepts any source. */
		if (!cmx_source_ifindex(h->net, &dest->src))
			return -EADDRNOTAVAIL;
		fl6.saddr = dest->src.in6.sin6_addr;
	}
	if (cmx_addr_is_link_local(&dest->dst) && !oif)
		fl6.flowi6_oif = dest->dst.in6.sin6_scope_id ?:
				 dest->src.in6.sin6_scope_id;
	dst = cmx_ipv6_route(h->net, &fl6);
	if (IS_ERR(dst))
		return cmx_dest_error(h->net, dest, PTR_ERR(dst));

	dest->src.sa.sa_family = AF_INET6;
	dest->src.in6.sin6_addr = fl6.saddr;
	if (cmx_addr_is_link_local(&dest->src))
		dest->src.in6.sin6_scope_id = fl6.flowi6_oif ?:
					      cmx_dst_ifindex(dst);
	flags = ((struct rt6_info *)dst)->rt6i_flags;
	/* With a source the table may take another interface. */
	if (sourced && oif && !(flags & RTF_LOCAL) &&
	    cmx_dst_ifindex(dst) != oif) {
		dst_release(dst);
		return -ENETUNREACH;
	}
	ret = cmx_dest_routed(h, dest, dst, &fl6.daddr, flags & RTF_LOCAL,
			      flags & RTF_GATEWAY);
	dst_release(dst);
	return ret;
}

/* Passive: checks that the address is local. */
static int cmx_dest_local(const struct cmx_hints *h, struct cmx_dest *dest)
{
	struct net_device *ndev = NULL;

	if (!cmx_addr_is_any(&dest->src))
		ndev = cmx_source_ndev(h->net, &dest->src);
	if (!ndev)
		return -EADDRNOTAVAIL;
	cmx_dest_device(h, dest, ndev);
	dev_put(ndev);
	return 0;
}

/* The error if no port is in the subnet of a GID, or has it */
static int cmx_dest_ib_error(const struct cmx_dest *dest)
{
	return dest->src.sa.sa_family ? -EADDRNOTAVAIL : -ENETUNREACH;
}

/* By interface @oif, or by the choice of the routing table if that is 0 */
static int cmx_dest_annotate_by(const struct cmx_hints *h,
				struct cmx_dest *dest, int oif)
{
	bool passive = !dest->dst.sa.sa_family;
	sa_family_t family = passive ? dest->src.sa.sa_family :
				       dest->dst.sa.sa_family;
	int ret;

	dest->rank = CMX_RANK_UNREACHED;
	dest->error = 0;
	dest->ifindex = 0;
	dest->port_num = 0;
	dest->ibdev_index = 0;
	dest->gid_index = -1;
	dest->gid_type = IB_GID_TYPE_IB;
	dest->ib = false;

	if (!passive) {
		if (!h->src.sa.sa_family) {
			memset(&dest->src, 0, sizeof(dest->src));
		} else if (h->src.sa.sa_family == family) {
			dest->src = h->src;
			if (cmx_addr_is_any(&dest->src))
				dest->src.sa.sa_family = 0;
		} else {
			dest->error = -EAFNOSUPPORT;
			goto unreached;
		}
	}

	switch (family) {
	case AF_INET:
		ret = passive ? cmx_dest_local(h, dest) :
				cmx_dest_ip4(h, dest, oif);
		break;
	case AF_INET6:
		ret = passive ? cmx_dest_local(h, dest) :
				cmx_dest_ip6(h, dest, oif);
		break;
	case AF_IB:
		if (!(passive && cmx_addr_is_any(&dest->src)) &&
		    cmx_device_find_ib(h, dest)) {
			dest->rank = CMX_RANK_RDMA;
			goto out;
		}
		ret = cmx_dest_ib_error(dest);
		break;
	default:
		ret = -EAFNOSUPPORT;
		break;
	}
	if (!ret)
		goto out;
	dest->error = ret;
	if (ret == -ENOMEM)
		return ret;

unreached:
	if (!passive) {
		dest->src.sa.sa_family = 0;
	} else if (cmx_addr_is_any(&dest->src)) {
		dest->rank = CMX_RANK_REACHED;
		dest->error = 0;
	}
out:
	trace_cmx_annotate(dest);
	return 0;
}

/*
 * The interface of a given source if the route of @dest uses another one, or 0.
 * The routing table does not select the interface by the source. rdma_cm does:
 * it binds the id to the interface that has the source.
 */
static int cmx_dest_source_oif(const struct cmx_hints *h,
			       const struct cmx_dest *dest)
{
	int ifindex;

	if (!dest->ifindex || cmx_addr_is_link_local(&dest->dst))
		return 0;
	ifindex = cmx_source_ifindex(h->net, &h->src);
	return ifindex == dest->ifindex ? 0 : ifindex;
}

/*
 * @dest has dst, and optionally src; or only src if passive. An unreachable one
 * is returned without src. The netdevice of the hints is used, if there is one.
 * If the routing table prefers an interface other than that of a given source,
 * the latter is used. If it prefers a device other than the one of the hints,
 * the interface of that device is used if it is in the subnet. Returns 0 or
 * -ENOMEM.
 */
int cmx_dest_annotate(const struct cmx_hints *h, struct cmx_dest *dest)
{
	int ret, oif = 0;

	ret = cmx_dest_annotate_by(h, dest, h->ifindex);
	if (ret || !dest->dst.sa.sa_family || h->ifindex)
		return ret;
	if (cmx_dest_sourced(h))
		oif = cmx_dest_source_oif(h, dest);
	else if (!cmx_dest_taken(h, dest))
		oif = cmx_rail_ifindex(h, &dest->dst);
	return oif ? cmx_dest_annotate_by(h, dest, oif) : 0;
}

/* To listen on: the service at the port of the query, whoever offers it */
static void cmx_dest_from_own(struct cmx_dest *dest,
			      const struct cmx_service *s)
{
	struct sockaddr_ib *src = &dest->src.ib;

	memset(dest, 0, sizeof(*dest));
	src->sib_family = AF_IB;
	src->sib_pkey = s->pkey;
	memcpy(&src->sib_addr, &s->sgid, sizeof(s->sgid));
	src->sib_sid = s->id;
	src->sib_sid_mask = cpu_to_be64(~0ULL);
	dest->own_sid = true;
	dest->rank = CMX_RANK_UNREACHED;
	dest->error = s->reached ? 0 : -EACCES;
	if (!s->reached)
		return;
	dest->rank = CMX_RANK_RDMA;
	dest->ibdev_index = s->ibdev_index;
	dest->port_num = s->port_num;
	/* Queries for services use the port's first GID. */
	dest->gid_index = 0;
	dest->gid_type = IB_GID_TYPE_IB;
}

static void cmx_dest_from_service(struct cmx_dest *dest,
				  const struct cmx_service *s)
{
	struct sockaddr_ib *src = &dest->src.ib, *dst = &dest->dst.ib;

	memset(dest, 0, sizeof(*dest));
	dst->sib_family = AF_IB;
	dst->sib_pkey = s->pkey;
	memcpy(&dst->sib_addr, &s->gid, sizeof(s->gid));
	dst->sib_sid = s->id;
	dst->sib_sid_mask = cpu_to_be64(~0ULL);
	dest->own_sid = true;
	dest->rank = CMX_RANK_UNREACHED;
	dest->error = s->reached ? 0 : -EACCES;
	if (!s->reached)
		return;

	src->sib_family = AF_IB;
	src->sib_pkey = s->pkey;
	memcpy(&src->sib_addr, &s->sgid, sizeof(s->sgid));
	dest->rank = CMX_RANK_RDMA;
	dest->ibdev_index = s->ibdev_index;
	dest->port_num = s->port_num;
	/* Queries for services use the port's first GID. */
	dest->gid_index = 0;
	dest->gid_type = IB_GID_TYPE_IB;
	dest->ib = true;
	dest->dgid_state = CMX_DGID_KNOWN;
	dest->pkey = s->pkey;
	dest->sgid = s->sgid;
	dest->dgid = s->gid;
}

/*
 * Annotates the matching candidates, without path records. Returns their
 * number, -ENOMEM, or, if @killable, -ERESTARTSYS if a fatal signal is pending.
 */
int cmx_dests_fill(const struct cmx_hints *h,
		   const struct cmx_candidates *cands, struct cmx_dest *dests,
		   bool killable)
{
	union rdma_cmx_sockaddr addr CMX_UNINIT;
	u32 i, n = 0;
	int ret;

	for (i = 0; i < cands->count; i++) {
		struct cmx_dest *dest = &dests[n];

		/*
		 * The administrator of the network determines the cost of each.
		 */
		cond_resched();
		if (killable && fatal_signal_pending(current))
			return -ERESTARTSYS;
		if (cands->services) {
			if (cmx_passive(h))
				cmx_dest_from_own(dest, &cands->services[i]);
			else
				cmx_dest_from_service(dest,
						      &cands->services[i]);
			n += cmx_dest_taken(h, dest);
			continue;
		}
		if (!cmx_candidates_get(h, cands, i, &addr))
			continue;
		dest->own_sid = cands->own_sid;
		if (cmx_passive(h)) {
			/*
			 * The wildcard is at all devices, but one is requested.
			 */
			if ((h->by_dev || h->ifindex) &&
			    cmx_addr_is_any(&addr) &&
			    !cmx_rail_addr(h, &addr))
				continue;
			dest->src = addr;
			memset(&dest->dst, 0, sizeof(dest->dst));
		} else if (addr.sa.sa_family) {
			dest->dst = addr;
			memset(&dest->src, 0, sizeof(dest->src));
		} else {
			dest->src = h->src;
			memset(&dest->dst, 0, sizeof(dest->dst));
		}
		ret = cmx_dest_annotate(h, dest);
		if (ret)
			return ret;
		n += cmx_dest_taken(h, dest);
	}
	return n;
}
