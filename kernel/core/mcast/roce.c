// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memberships on RoCE: the MGID, and for full members on RoCE v2 the IGMP or
 * MLD membership of the netdevice. There is no response: a join is complete
 * when the netdevice has it, and is reported before rdma_cmx_join() returns.
 * rdma_cmx makes all of them itself: rdma_cm leaves on the netdevice that the
 * id is bound to at that time, and another rdma_resolve_addr() may have bound
 * it to another one.
 */
#include <linux/netdevice.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm_ib.h>

#include "mcast/mcast.h"

/* Parameters that have a meaning without a subnet administrator */
#define CMX_ROCE_PARAMS							\
	(RDMA_CMX_MC_QKEY | RDMA_CMX_MC_SL | RDMA_CMX_MC_TRAFFIC_CLASS |	\
	 RDMA_CMX_MC_FLOW_LABEL | RDMA_CMX_MC_HOP_LIMIT)

static enum ib_gid_type cmx_mcast_gid_type(const struct rdma_cm_id *id)
{
	const struct ib_gid_attr *attr = id->route.addr.dev_addr.sgid_attr;

	return attr ? attr->gid_type : IB_GID_TYPE_ROCE_UDP_ENCAP;
}

static int cmx_mcast_ifindex(const struct rdma_cm_id *id)
{
	return READ_ONCE(id->route.addr.dev_addr.bound_dev_if);
}

/* The same MGIDs as in rdma_cm */
static void cmx_roce_mgid(const union rdma_cmx_sockaddr *addr, bool v2,
			  union ib_gid *mgid)
{
	memset(mgid, 0, sizeof(*mgid));
	if (addr->sa.sa_family == AF_INET6) {
		memcpy(mgid, &addr->in6.sin6_addr, sizeof(*mgid));
		return;
	}
	if (!v2) {
		mgid->raw[0] = 0xff;
		mgid->raw[1] = 0x0e;
	}
	mgid->raw[10] = 0xff;
	mgid->raw[11] = 0xff;
	memcpy(mgid->raw + 12, &addr->in.sin_addr, 4);
}

static void cmx_roce_rec(struct cmx_group *g, bool v2, enum ib_mtu mtu,
			 const struct rdma_cmx_mc_param *param)
{
	struct ib_sa_mcmember_rec *rec = &g->rec;

	cmx_roce_mgid(&g->addr, v2, &rec->mgid);
	rdma_ip2gid((struct sockaddr *)&g->id->route.addr.src_addr,
		    &rec->port_gid);
	rec->pkey = cpu_to_be16(0xffff);
	rec->qkey = cpu_to_be32(param->qkey ?: RDMA_UDP_QKEY);
	rec->rate = IB_RATE_PORT_CURRENT;
	rec->sl = param->sl;
	rec->traffic_class = param->traffic_class;
	rec->flow_label = cpu_to_be32(param->flow_label);
	if (param->mask & RDMA_CMX_MC_HOP_LIMIT)
		rec->hop_limit = param->hop_limit;
	else
		rec->hop_limit = v2 ? IPV6_DEFAULT_HOPLIMIT : 1;
	rec->mtu = mtu;
}

/* Sets 0 if it is below the smallest MTU of RDMA. */
static int cmx_roce_mtu(struct net *net, int ifindex, enum ib_mtu *mtu)
{
	struct net_device *ndev;

	rcu_read_lock();
	ndev = ifindex ? dev_get_by_index_rcu(net, ifindex) : NULL;
	if (ndev)
		*mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));
	rcu_read_unlock();
	return ndev ? 0 : -ENODEV;
}

/*
 * Gets the address of the group into g->ud. The netdevice is held only during
 * this call: its unregistration waits for the reference, and a join for the
 * RTNL.
 */
static int cmx_roce_address(struct cmx_group *g, struct net *net, int *status)
{
	struct net_device *ndev = dev_get_by_index(net, g->ifindex);

	if (!ndev)
		return -ENODEV;
	*status = 0;
	/* The id's GID has been removed since the bind. */
	if (ib_init_ah_from_mcmember(g->id->device, g->id->port_num, &g->rec,
				     ndev, g->gid_type, &g->ud.ah_attr))
		*status = -EADDRNOTAVAIL;
	dev_put(ndev);
	return 0;
}

/*
 * Joins, and gets the address of the group into g->ud. @status has an error of
 * the address, for the event. The return value has an error of the call.
 */
int cmx_mcast_roce_join(struct cmx_group *g,
			const struct rdma_cmx_mc_param *param, int *status)
{
	struct net *net = g->id->route.addr.dev_addr.net;
	sa_family_t family = g->addr.sa.sa_family;
	sa_family_t src;
	enum ib_mtu mtu;
	bool v2;
	int ret;

	/* MGIDs derive from IP addresses. */
	if (family == AF_IB || param->mask & ~CMX_ROCE_PARAMS)
		return -EOPNOTSUPP;
	g->gid_type = cmx_mcast_gid_type(g->id);
	g->ifindex = cmx_mcast_ifindex(g->id);
	v2 = g->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP;
	src = g->id->route.addr.src_addr.ss_family;
	if (v2 && family == AF_INET6 && src != AF_INET6)
		return -EAFNOSUPPORT;
	ret = cmx_roce_mtu(net, g->ifindex, &mtu);
	if (ret)
		return ret;
	cmx_roce_rec(g, v2, mtu, param);
	if (!mtu)
		return -EINVAL;
	if (!g->send_only && v2) {
		ret = cmx_mcast_ip_join(&g->ip, net, g->ifindex, &g->addr);
		if (ret)
			return ret;
	}
	ret = cmx_roce_address(g, net, status);
	if (ret)
		cmx_mcast_ip_leave(&g->ip);
	return ret;
}
