// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA devices: the port that owns a source address. The lookup is the one of
 * rdma_cm when it binds an id, so that both come to the same port.
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

#include "resolve/resolve.h"

struct cmx_ibdev {
	struct list_head node;
	struct ib_device *ibdev;
	char name[IB_DEVICE_NAME_MAX];
};

static LIST_HEAD(cmx_devices);
static DECLARE_RWSEM(cmx_devices_lock);

static int cmx_device_add(struct ib_device *ibdev);
static void cmx_device_remove(struct ib_device *ibdev, void *data);
static void cmx_device_rename(struct ib_device *ibdev, void *data);

static struct ib_client cmx_client = {
	.name = "rdma_cmx",
	.add = cmx_device_add,
	.remove = cmx_device_remove,
	.rename = cmx_device_rename,
	.no_kverbs_req = true,
};

static int cmx_device_add(struct ib_device *ibdev)
{
	struct cmx_ibdev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	ib_set_client_data(ibdev, &cmx_client, dev);
	down_write(&cmx_devices_lock);
	list_add_tail(&dev->node, &cmx_devices);
	up_write(&cmx_devices_lock);
	return 0;
}

static void cmx_device_remove(struct ib_device *ibdev, void *data)
{
	struct cmx_ibdev *dev = data;

	down_write(&cmx_devices_lock);
	list_del(&dev->node);
	up_write(&cmx_devices_lock);
	kfree(dev);
}

/* It cannot come before the device was added, or after it was removed. */
static void cmx_device_rename(struct ib_device *ibdev, void *data)
{
	struct cmx_ibdev *dev = data;

	down_write(&cmx_devices_lock);
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	up_write(&cmx_devices_lock);
}

/* Sets the GID index of @dest. */
static bool cmx_port_has_gid(struct ib_device *ibdev, u32 port,
			     const union ib_gid *gid, enum ib_gid_type type,
			     struct net_device *ndev, struct cmx_dest *dest)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(ibdev, gid, type, port, ndev);
	if (IS_ERR(attr))
		return false;
	dest->gid_index = attr->index;
	dest->gid_type = attr->gid_type;
	rdma_put_gid_attr(attr);
	return true;
}

/* Of a netdevice, or of any if @ndev is NULL. */
static bool cmx_port_has_roce_gid(struct ib_device *ibdev, u32 port,
				  const union ib_gid *gid,
				  struct net_device *ndev,
				  struct cmx_dest *dest)
{
	/* A port has GIDs of its types only; a search is expensive. */
	return (rdma_protocol_roce_udp_encap(ibdev, port) &&
		cmx_port_has_gid(ibdev, port, gid, IB_GID_TYPE_ROCE_UDP_ENCAP,
				 ndev, dest)) ||
	       (rdma_protocol_roce_eth_encap(ibdev, port) &&
		cmx_port_has_gid(ibdev, port, gid, IB_GID_TYPE_ROCE, ndev,
				 dest));
}

/*
 * A GID of a port, unless it is that of an address in another network
 * namespace.
 */
bool cmx_port_gid_get(struct ib_device *ibdev, u32 port, int index,
		      const struct net *net, union ib_gid *gid)
{
	const struct ib_gid_attr *attr;
	const struct net_device *ndev;
	bool visible = true;

	attr = rdma_get_gid_attr(ibdev, port, index);
	if (IS_ERR(attr))
		return false;
	*gid = attr->gid;
	if (rdma_protocol_roce(ibdev, port)) {
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(attr);
		visible = IS_ERR(ndev) || net_eq(dev_net(ndev), net);
		rcu_read_unlock();
	}
	rdma_put_gid_attr(attr);
	return visible;
}

/* RoCE knows the address itself, IPoIB and iWARP the netdevice's. */
static bool cmx_port_owns(struct ib_device *ibdev, u32 port,
			  const union ib_gid *ip_gid, struct net_device *ndev,
			  struct cmx_dest *dest)
{
	struct ib_device *owner;
	union ib_gid gid;

	if (rdma_protocol_roce(ibdev, port)) {
		if (ndev->type != ARPHRD_ETHER)
			return false;
		return cmx_port_has_roce_gid(ibdev, port, ip_gid, ndev, dest);
	}
	if (rdma_protocol_ib(ibdev, port)) {
		if (ndev->type != ARPHRD_INFINIBAND)
			return false;
		memcpy(&gid, ndev->dev_addr + 4, sizeof(gid));
		return cmx_port_has_gid(ibdev, port, &gid, IB_GID_TYPE_IB,
					NULL, dest);
	}
	if (rdma_protocol_iwarp(ibdev, port)) {
		owner = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
		if (owner)
			ib_device_put(owner);
		return owner == ibdev;
	}
	return false;
}

/* An InfiniBand port: what a path query needs of @ndev. */
static void cmx_device_dest_from(struct cmx_dest *dest,
				 const struct net_device *ndev)
{
	u16 pkey = ndev->broadcast[8] << 8 | ndev->broadcast[9];

	dest->ib = true;
	dest->pkey = cpu_to_be16(pkey);
	memcpy(&dest->sgid, ndev->dev_addr + 4, sizeof(dest->sgid));
}

/* Sets the device of @dest if one owns the address @ip_gid of @ndev. */
bool cmx_device_find(struct net *net, const union ib_gid *ip_gid,
		     struct net_device *ndev, struct cmx_dest *dest)
{
	struct cmx_ibdev *dev;
	bool found = false;
	u32 port;

	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (!cmx_port_owns(dev->ibdev, port, ip_gid, ndev,
					   dest))
				continue;
			dest->ibdev_index = dev->ibdev->index;
			dest->port_num = port;
			if (rdma_cap_ib_sa(dev->ibdev, port))
				cmx_device_dest_from(dest, ndev);
			found = true;
			goto out;
		}
	}
out:
	up_read(&cmx_devices_lock);
	return found;
}

/* Is the port a member of the partition, and up? */
static bool cmx_port_usable(struct ib_device *ibdev, u32 port, __be16 pkey)
{
	enum ib_port_state state;
	u16 index;

	return !ib_get_cached_port_state(ibdev, port, &state) &&
	       state == IB_PORT_ACTIVE &&
	       !ib_find_cached_pkey(ibdev, port, ntohs(pkey), &index);
}

/* GID of a port that @dest may start from, in dest->src if that is empty. */
static bool cmx_port_reaches_gid(const struct net *net,
				 struct ib_device *ibdev, u32 port,
				 struct cmx_dest *dest)
{
	const union ib_gid *want = (void *)&dest->src.ib.sib_addr;
	const union ib_gid *dgid = (void *)&dest->dst.ib.sib_addr;
	bool given = dest->src.sa.sa_family;
	union ib_gid gid;
	int i;

	if (!rdma_cap_af_ib(ibdev, port))
		return false;
	/* Any source will do: then rdma_cm takes one that works. */
	if (!given && !cmx_port_usable(ibdev, port, dest->dst.ib.sib_pkey))
		return false;
	for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		if (!cmx_port_gid_get(ibdev, port, i, net, &gid))
			continue;
		if (given ? memcmp(&gid, want, sizeof(gid)) :
		    gid.global.subnet_prefix != dgid->global.subnet_prefix)
			continue;
		dest->gid_index = i;
		dest->gid_type = IB_GID_TYPE_IB;
		/* The same may be there for each type. */
		if (rdma_protocol_roce(ibdev, port) &&
		    !cmx_port_has_roce_gid(ibdev, port, &gid, NULL, dest))
			continue;
		if (!given) {
			dest->src.ib = dest->dst.ib;
			memcpy(&dest->src.ib.sib_addr, &gid, sizeof(gid));
			dest->src.ib.sib_sid = 0;
			dest->src.ib.sib_sid_mask = 0;
		}
		if (!dest->dst.sa.sa_family || !rdma_cap_ib_sa(ibdev, port))
			return true;
		dest->ib = true;
		dest->pkey = dest->dst.ib.sib_pkey;
		dest->sgid = gid;
		dest->dgid = *dgid;
		dest->dgid_state = CMX_DGID_KNOWN;
		return true;
	}
	return false;
}

/* The same for AF_IB: a port with that source, or in the subnet of dst. */
bool cmx_device_find_ib(const struct cmx_hints *h, struct cmx_dest *dest)
{
	struct cmx_ibdev *dev;
	bool found = false;
	u32 port;

	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (!rdma_dev_access_netns(dev->ibdev, h->net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (!cmx_hints_take(h, dev->ibdev->index, port) ||
			    !cmx_port_reaches_gid(h->net, dev->ibdev, port,
						  dest))
				continue;
			dest->ibdev_index = dev->ibdev->index;
			dest->port_num = port;
			found = true;
			goto out;
		}
	}
out:
	up_read(&cmx_devices_lock);
	return found;
}

/*
 * The device that the caller wants, by the name that it has now; later ones do
 * not matter. One of another namespace is as one that does not exist.
 */
int cmx_device_hint(struct cmx_hints *h, const struct rdma_cmx_query_attr *attr)
{
	struct cmx_ibdev *dev;
	int ret = -ENODEV;

	if (!attr->dev)
		return attr->dev_port ? -EINVAL : 0;
	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (strcmp(dev->name, attr->dev) ||
		    !rdma_dev_access_netns(dev->ibdev, h->net))
			continue;
		ret = -ENXIO;
		if (attr->dev_port &&
		    !rdma_is_port_valid(dev->ibdev, attr->dev_port))
			break;
		h->by_dev = true;
		h->dev_index = dev->ibdev->index;
		h->dev_port = attr->dev_port;
		ret = 0;
		break;
	}
	up_read(&cmx_devices_lock);
	return ret;
}

/* Calls @fn for each port that the hints name, until it returns true. */
bool cmx_device_hinted(const struct cmx_hints *h,
		       bool (*fn)(struct ib_device *ibdev, u32 port, void *arg),
		       void *arg)
{
	struct cmx_ibdev *dev;
	bool ret = false;
	u32 port;

	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (dev->ibdev->index != h->dev_index ||
		    !rdma_dev_access_netns(dev->ibdev, h->net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			ret = cmx_hints_take(h, h->dev_index, port) &&
			      fn(dev->ibdev, port, arg);
			if (ret)
				break;
		}
		break;
	}
	up_read(&cmx_devices_lock);
	return ret;
}

/* The SA of an InfiniBand port, with a reference, or NULL. */
struct cmx_sa_port *cmx_device_sa_port(u32 ibdev_index, u32 port_num)
{
	struct cmx_sa_port *port = NULL;
	struct cmx_ibdev *dev;

	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (dev->ibdev->index == ibdev_index) {
			port = cmx_sa_port_get(dev->ibdev, port_num);
			break;
		}
	}
	up_read(&cmx_devices_lock);
	return port;
}

int cmx_device_init(void)
{
	return ib_register_client(&cmx_client);
}

void cmx_device_exit(void)
{
	ib_unregister_client(&cmx_client);
}
