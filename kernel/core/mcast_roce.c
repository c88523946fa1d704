// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memberships on RoCE: the MGID, and on RoCE v2 the IGMP or MLD membership of
 * the netdevice, which full members need to receive. Nobody answers: a join
 * is done when the netdevice has it. Runs in the membership's work, without
 * locks of ours; the routing table's lock is taken.
 */
#include <linux/igmp.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm_ib.h>

#include "mcast.h"

/* What has a meaning without a subnet administrator. */
#define CMX_ROCE_PARAMS							\
	(RDMA_CMX_MC_QKEY | RDMA_CMX_MC_SL | RDMA_CMX_MC_TRAFFIC_CLASS |	\
	 RDMA_CMX_MC_FLOW_LABEL | RDMA_CMX_MC_HOP_LIMIT)

enum ib_gid_type cmx_mcast_gid_type(const struct rdma_cm_id *id)
{
	const struct ib_gid_attr *attr = id->route.addr.dev_addr.sgid_attr;

	return attr ? attr->gid_type : IB_GID_TYPE_ROCE_UDP_ENCAP;
}

bool cmx_mcast_is_roce_v2(const struct rdma_cm_id *id)
{
	return cmx_mcast_gid_type(id) == IB_GID_TYPE_ROCE_UDP_ENCAP;
}

/* The id's netdevice with a reference, or NULL. */
struct net_device *cmx_mcast_netdev(const struct rdma_cm_id *id)
{
	const struct rdma_dev_addr *dev_addr = &id->route.addr.dev_addr;

	if (!dev_addr->bound_dev_if)
		return NULL;
	return dev_get_by_index(dev_addr->net, dev_addr->bound_dev_if);
}

/* MTU of the id's port, enum ib_mtu, or 0. */
u8 cmx_mcast_roce_mtu(const struct rdma_cm_id *id)
{
	struct net_device *ndev = cmx_mcast_netdev(id);
	u8 mtu = 0;

	if (ndev) {
		mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));
		dev_put(ndev);
	}
	return mtu;
}

/* The same MGIDs as rdma_cm uses. */
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

int cmx_mcast_roce_prepare(struct cmx_member *m,
			   const struct rdma_cmx_mc_param *param)
{
	sa_family_t family = m->addr.sa.sa_family;
	struct ib_sa_mcmember_rec *rec = &m->asked;
	bool v2 = cmx_mcast_is_roce_v2(m->id);
	sa_family_t src;

	/* MGIDs are made of IP addresses. */
	if (family == AF_IB || param->mask & ~CMX_ROCE_PARAMS)
		return -EOPNOTSUPP;
	src = m->id->route.addr.src_addr.ss_family;
	if (v2 && family != src)
		return -EAFNOSUPPORT;

	cmx_roce_mgid(&m->addr, v2, &rec->mgid);
	rdma_ip2gid((struct sockaddr *)&m->id->route.addr.src_addr,
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
	return 0;
}

/* The routing table's lock is held. */
static int cmx_ip_join(const struct cmx_member *m, struct net_device *ndev)
{
	struct in_device *in_dev;

	if (m->addr.sa.sa_family == AF_INET6) {
#if IS_ENABLED(CONFIG_IPV6)
		return ipv6_dev_mc_inc(ndev, &m->addr.in6.sin6_addr);
#else
		return -EAFNOSUPPORT;
#endif
	}
	in_dev = __in_dev_get_rtnl(ndev);
	if (!in_dev)
		return -ENODEV;
	ip_mc_inc_group(in_dev, m->addr.in.sin_addr.s_addr);
	return 0;
}

/* Likewise; the netdevice may have forgotten it. */
static void cmx_ip_leave(const struct cmx_member *m, struct net_device *ndev)
{
	struct in_device *in_dev;

	if (m->addr.sa.sa_family == AF_INET6) {
#if IS_ENABLED(CONFIG_IPV6)
		ipv6_dev_mc_dec(ndev, &m->addr.in6.sin6_addr);
#endif
		return;
	}
	in_dev = __in_dev_get_rtnl(ndev);
	if (in_dev)
		ip_mc_dec_group(in_dev, m->addr.in.sin_addr.s_addr);
}

int cmx_mcast_roce_start(struct cmx_member *m)
{
	struct net_device *ndev = cmx_mcast_netdev(m->id);
	int ret = 0;

	if (!ndev)
		return -ENODEV;
	m->rec = m->asked;
	m->rec.mtu = iboe_get_mtu(READ_ONCE(ndev->mtu));
	if (!m->rec.mtu) {
		ret = -EINVAL;
	} else if (!m->send_only && cmx_mcast_is_roce_v2(m->id)) {
		rtnl_lock();
		ret = cmx_ip_join(m, ndev);
		rtnl_unlock();
		m->told_network = !ret;
	}
	dev_put(ndev);
	return ret;
}

void cmx_mcast_roce_stop(struct cmx_member *m)
{
	struct net_device *ndev;

	if (!m->told_network)
		return;
	m->told_network = false;
	ndev = cmx_mcast_netdev(m->id);
	if (!ndev)
		return;
	rtnl_lock();
	cmx_ip_leave(m, ndev);
	rtnl_unlock();
	dev_put(ndev);
}
