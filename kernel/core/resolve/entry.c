// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device and path records of an entry for drivers, in the form of ib_core and
 * rdma_cm. Also the device of a netdevice. No state, process context.
 */
#include <linux/export.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>

#include "resolve/resolve.h"
#include "sa/wire.h"

static bool cmx_entry_is(struct ib_device *ibdev, void *arg)
{
	const struct rdma_cmx_entry *e = arg;

	return ibdev->index == e->ibdev_index;
}

struct ib_device *rdma_cmx_entry_device(const struct rdma_cmx_entry *entry,
					const struct net *net)
{
	if (!entry->port_num)
		return NULL;
	return cmx_device_first(net, cmx_entry_is, (void *)entry);
}
EXPORT_SYMBOL_GPL(rdma_cmx_entry_device);

/* The record in the form of rdma_cm; @wire may be unaligned. */
void cmx_path_unpack(const void *wire, struct sa_path_rec *rec)
{
	u8 copy[CMX_SA_PATH_REC_SIZE] __aligned(8);

	memcpy(copy, wire, sizeof(copy));
	memset(rec, 0, sizeof(*rec));
	rec->rec_type = SA_PATH_REC_TYPE_IB;
	ib_sa_unpack_path(copy, rec);
}

int rdma_cmx_entry_path(const struct rdma_cmx_entry *entry, u32 i,
			struct sa_path_rec *rec)
{
	if (i >= entry->route_count)
		return -ENOENT;
	cmx_path_unpack(entry->route[i].path_rec, rec);
	return 0;
}
EXPORT_SYMBOL_GPL(rdma_cmx_entry_path);

/* A netdevice to search for: a port's, or an upper one */
struct cmx_netdev {
	struct net_device *ndev;
	bool above;
};

/* The hardware address of IPoIB contains the port's GID. */
static bool cmx_port_has_ipoib(struct ib_device *ibdev, u32 port,
			       const struct net_device *ndev)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;

	if (ndev->type != ARPHRD_INFINIBAND)
		return false;
	memcpy(&gid, ndev->dev_addr + 4, sizeof(gid));
	attr = rdma_find_gid_by_port(ibdev, &gid, IB_GID_TYPE_IB, port, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

static bool cmx_port_has_netdev(struct ib_device *ibdev, u32 port,
				const struct cmx_netdev *want)
{
	struct net_device *ndev;
	bool found;

	if (rdma_protocol_ib(ibdev, port))
		return !want->above &&
		       cmx_port_has_ipoib(ibdev, port, want->ndev);
	ndev = cmx_ib_port_netdev(ibdev, port);
	if (!ndev)
		return false;
	if (want->above) {
		rcu_read_lock();
		found = netdev_has_upper_dev_all_rcu(ndev, want->ndev);
		rcu_read_unlock();
	} else {
		found = ndev == want->ndev;
	}
	dev_put(ndev);
	return found;
}

static bool cmx_device_has_netdev(struct ib_device *ibdev, void *arg)
{
	u32 port;

	rdma_for_each_port(ibdev, port) {
		if (cmx_port_has_netdev(ibdev, port, arg))
			return true;
	}
	return false;
}

struct ib_device *rdma_cmx_netdev_device(struct net_device *ndev)
{
	struct cmx_netdev want = { .ndev = ndev };
	struct ib_device *ibdev;

	ibdev = cmx_device_first(dev_net(ndev), cmx_device_has_netdev, &want);
	if (ibdev)
		return ibdev;
	want.above = true;
	return cmx_device_first(dev_net(ndev), cmx_device_has_netdev, &want);
}
EXPORT_SYMBOL_GPL(rdma_cmx_netdev_device);
