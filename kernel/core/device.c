// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA devices: which port owns a source address? Asks what rdma_cm asks when
 * it binds an id, so that both come to the same port.
 *
 * cmx_devices is guarded by cmx_devices_lock; a device stays valid while it
 * is on the list, since the client's remove callback takes it off first.
 */
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "core.h"

struct cmx_device {
	struct list_head node;
	struct ib_device *ibdev;
};

static LIST_HEAD(cmx_devices);
static DECLARE_RWSEM(cmx_devices_lock);

static int cmx_device_add(struct ib_device *ibdev);
static void cmx_device_remove(struct ib_device *ibdev, void *data);

static struct ib_client cmx_client = {
	.name = "rdma_cmx",
	.add = cmx_device_add,
	.remove = cmx_device_remove,
	.no_kverbs_req = true,
};

static int cmx_device_add(struct ib_device *ibdev)
{
	struct cmx_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	ib_set_client_data(ibdev, &cmx_client, dev);
	down_write(&cmx_devices_lock);
	list_add_tail(&dev->node, &cmx_devices);
	up_write(&cmx_devices_lock);
	return 0;
}

static void cmx_device_remove(struct ib_device *ibdev, void *data)
{
	struct cmx_device *dev = data;

	down_write(&cmx_devices_lock);
	list_del(&dev->node);
	up_write(&cmx_devices_lock);
	kfree(dev);
}

static bool cmx_port_has_gid(struct ib_device *ibdev, u32 port,
			     const union ib_gid *gid, enum ib_gid_type type,
			     struct net_device *ndev)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(ibdev, gid, type, port, ndev);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/* RoCE knows the address itself, IPoIB and iWARP the netdevice's. */
static bool cmx_port_owns(struct ib_device *ibdev, u32 port,
			  const union ib_gid *ip_gid, struct net_device *ndev)
{
	struct ib_device *owner;
	union ib_gid gid;

	if (rdma_protocol_roce(ibdev, port)) {
		if (ndev->type != ARPHRD_ETHER)
			return false;
		return cmx_port_has_gid(ibdev, port, ip_gid,
					IB_GID_TYPE_ROCE_UDP_ENCAP, ndev) ||
		       cmx_port_has_gid(ibdev, port, ip_gid, IB_GID_TYPE_ROCE,
					ndev);
	}
	if (rdma_protocol_ib(ibdev, port)) {
		if (ndev->type != ARPHRD_INFINIBAND)
			return false;
		memcpy(&gid, ndev->dev_addr + 4, sizeof(gid));
		return cmx_port_has_gid(ibdev, port, &gid, IB_GID_TYPE_IB,
					NULL);
	}
	if (rdma_protocol_iwarp(ibdev, port)) {
		owner = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
		if (owner)
			ib_device_put(owner);
		return owner == ibdev;
	}
	return false;
}

/* Sets the device of @path if one owns the address @ip_gid of @ndev. */
bool cmx_device_find(struct net *net, const union ib_gid *ip_gid,
		     struct net_device *ndev, struct cmx_path *path)
{
	struct cmx_device *dev;
	bool found = false;
	u32 port;

	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (!cmx_port_owns(dev->ibdev, port, ip_gid, ndev))
				continue;
			path->ibdev_index = dev->ibdev->index;
			path->port_num = port;
			found = true;
			goto out;
		}
	}
out:
	up_read(&cmx_devices_lock);
	return found;
}

/* GID of a port that @path may start from, in path->src if that is empty. */
static bool cmx_port_reaches_gid(struct ib_device *ibdev, u32 port,
				 struct cmx_path *path)
{
	const union ib_gid *sgid = (void *)&path->src.ib.sib_addr;
	const union ib_gid *dgid = (void *)&path->dst.ib.sib_addr;
	union ib_gid gid;
	int i;

	if (!rdma_cap_af_ib(ibdev, port))
		return false;
	for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		if (rdma_query_gid(ibdev, port, i, &gid))
			continue;
		if (path->src.sa.sa_family) {
			if (!memcmp(&gid, sgid, sizeof(gid)))
				return true;
			continue;
		}
		if (gid.global.subnet_prefix != dgid->global.subnet_prefix)
			continue;
		path->src.ib = path->dst.ib;
		memcpy(&path->src.ib.sib_addr, &gid, sizeof(gid));
		path->src.ib.sib_sid = 0;
		path->src.ib.sib_sid_mask = 0;
		return true;
	}
	return false;
}

/* The same for AF_IB: a port with that source, or in the subnet of dst. */
bool cmx_device_find_ib(struct net *net, struct cmx_path *path)
{
	struct cmx_device *dev;
	bool found = false;
	u32 port;

	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (!cmx_port_reaches_gid(dev->ibdev, port, path))
				continue;
			path->ibdev_index = dev->ibdev->index;
			path->port_num = port;
			found = true;
			goto out;
		}
	}
out:
	up_read(&cmx_devices_lock);
	return found;
}

int cmx_device_init(void)
{
	return ib_register_client(&cmx_client);
}

void cmx_device_exit(void)
{
	ib_unregister_client(&cmx_client);
}
