// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA devices: the port that has a source address. The lookup is that of
 * rdma_cm when it binds an id, so both find the same port.
 *
 * cmx_devices_lock guards cmx_devices and cmx_removal_until. A device is valid
 * while it is on the list, since the client's remove callback first takes it
 * off. The device index saves most queries the walk over the list and its lock.
 * Readers of it hold RCU, which the remove callback waits for.
 */
#include <linux/atomic.h>
#include <linux/if_arp.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/rwsem.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "resolve/device_index.h"
#include "resolve/resolve.h"

struct cmx_ibdev {
	struct list_head node;
	struct ib_device *ibdev;
	struct ib_event_handler events;
	atomic_t holds;		/* the removal waits until it is 0 */
	char name[IB_DEVICE_NAME_MAX];
};

static LIST_HEAD(cmx_devices);
static DECLARE_RWSEM(cmx_devices_lock);

/* Time for clients that were registered earlier to remove a device */
#define CMX_REMOVAL_MS	30000

static u64 cmx_removal_until;	/* of the last removal, in jiffies */

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

/*
 * ib_core reports each change of a GID table of RoCE after the change. Other
 * events are rare; all of them drop the index.
 */
static void cmx_device_event(struct ib_event_handler *handler,
			     struct ib_event *event)
{
	cmx_index_drop();
}

static int cmx_device_add(struct ib_device *ibdev)
{
	struct cmx_ibdev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return -ENOMEM;
	dev->ibdev = ibdev;
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	ib_set_client_data(ibdev, &cmx_client, dev);
	INIT_IB_EVENT_HANDLER(&dev->events, ibdev, cmx_device_event);
	ib_register_event_handler(&dev->events);
	down_write(&cmx_devices_lock);
	list_add_tail(&dev->node, &cmx_devices);
	cmx_index_drop();
	up_write(&cmx_devices_lock);
	return 0;
}

/* Under the lock. Ids may wait for DEVICE_REMOVAL until then. */
static void cmx_removal_limit(void)
{
	cmx_removal_until = get_jiffies_64() + msecs_to_jiffies(CMX_REMOVAL_MS);
}

static void cmx_device_remove(struct ib_device *ibdev, void *data)
{
	struct cmx_ibdev *dev = data;

	down_write(&cmx_devices_lock);
	list_del(&dev->node);
	cmx_removal_limit();
	cmx_index_drop();
	up_write(&cmx_devices_lock);
	/* Pairs with cmx_device_release(): the device is off the list. */
	wait_var_event(&dev->holds, !atomic_read(&dev->holds));
	ib_unregister_event_handler(&dev->events);
	/* Waits for readers that found it in the index before. */
	synchronize_rcu();
	kfree(dev);
	/* The other clients follow, and those before may have taken long. */
	down_write(&cmx_devices_lock);
	cmx_removal_limit();
	up_write(&cmx_devices_lock);
}

/*
 * Delays the removal of a device until cmx_device_release(). NULL: the removal
 * has begun, or the device is not added yet.
 */
struct cmx_ibdev *cmx_device_hold(const struct ib_device *ibdev)
{
	struct cmx_ibdev *dev, *found = NULL;

	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (dev->ibdev != ibdev)
			continue;
		atomic_inc(&dev->holds);
		found = dev;
		break;
	}
	up_read(&cmx_devices_lock);
	return found;
}

void cmx_device_release(struct cmx_ibdev *dev)
{
	atomic_t *holds = &dev->holds;

	/* @dev may be freed then. The waiter uses only the address. */
	if (atomic_dec_and_test(holds))
		wake_up_var(holds);
}

/* Jiffies in which DEVICE_REMOVAL of the last device may arrive; 0: none */
unsigned long cmx_device_removal_left(void)
{
	u64 now = get_jiffies_64(), until;

	down_read(&cmx_devices_lock);
	until = cmx_removal_until;
	up_read(&cmx_devices_lock);
	return time_before64(now, until) ? until - now : 0;
}

/* ib_core calls it only between add and remove. */
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

/* On a netdevice, or on any if @ndev is NULL */
static bool cmx_port_has_roce_gid(struct ib_device *ibdev, u32 port,
				  const union ib_gid *gid,
				  struct net_device *ndev,
				  struct cmx_dest *dest)
{
	/* A port has GIDs of its types only, and a search is expensive. */
	return (rdma_protocol_roce_udp_encap(ibdev, port) &&
		cmx_port_has_gid(ibdev, port, gid, IB_GID_TYPE_ROCE_UDP_ENCAP,
				 ndev, dest)) ||
	       (rdma_protocol_roce_eth_encap(ibdev, port) &&
		cmx_port_has_gid(ibdev, port, gid, IB_GID_TYPE_ROCE, ndev,
				 dest));
}

/*
 * A GID of a port, unless it belongs to an address in another network namespace
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

/* The driver decides. A netdevice with several devices has one here. */
static bool cmx_device_has_ndev(const struct ib_device *ibdev,
				struct net_device *ndev)
{
	struct ib_device *owner;

	owner = ib_device_get_by_netdev(ndev, RDMA_DRIVER_UNKNOWN);
	if (owner)
		ib_device_put(owner);
	return owner == ibdev;
}

/* RoCE has the address itself, IPoIB and iWARP that of the netdevice: @gid. */
static bool cmx_port_owns(struct ib_device *ibdev, u32 port,
			  const union ib_gid *gid, struct net_device *ndev,
			  struct cmx_dest *dest)
{
	if (rdma_protocol_roce(ibdev, port)) {
		if (ndev->type != ARPHRD_ETHER)
			return false;
		return cmx_port_has_roce_gid(ibdev, port, gid, ndev, dest);
	}
	if (rdma_protocol_ib(ibdev, port)) {
		if (ndev->type != ARPHRD_INFINIBAND)
			return false;
		return cmx_port_has_gid(ibdev, port, gid, IB_GID_TYPE_IB, NULL,
					dest);
	}
	return rdma_protocol_iwarp(ibdev, port) &&
	       cmx_device_has_ndev(ibdev, ndev);
}

/* An InfiniBand port: sets the fields of a path query from @ndev. */
static void cmx_device_dest_from(struct cmx_dest *dest,
				 const struct net_device *ndev)
{
	u16 pkey = ndev->broadcast[8] << 8 | ndev->broadcast[9];

	dest->ib = true;
	dest->pkey = cpu_to_be16(pkey);
	memcpy(&dest->sgid, ndev->dev_addr + 4, sizeof(dest->sgid));
}

static void cmx_device_dest_set(struct cmx_dest *dest,
				const struct cmx_owner *owner,
				const struct net_device *ndev)
{
	dest->ibdev_index = owner->ibdev->index;
	dest->port_num = owner->port_num;
	dest->gid_index = owner->gid_index;
	dest->gid_type = owner->gid_type;
	if (rdma_cap_ib_sa(owner->ibdev, owner->port_num))
		cmx_device_dest_from(dest, ndev);
}

/* With RCU: true if the entry of the index is still valid for @net */
static bool cmx_owner_valid(const struct cmx_owner *owner,
			    const struct cmx_index_key *key,
			    const struct net *net, struct net_device *ndev)
{
	struct ib_device *ibdev = owner->ibdev;
	const struct ib_gid_attr *attr;
	bool valid;

	if (!ibdev)
		return !owner->iwarp || cmx_device_has_ndev(NULL, ndev);
	if (!rdma_dev_access_netns(ibdev, net))
		return false;
	if (rdma_protocol_iwarp(ibdev, owner->port_num))
		return cmx_device_has_ndev(ibdev, ndev);
	attr = rdma_get_gid_attr(ibdev, owner->port_num, owner->gid_index);
	if (IS_ERR(attr))
		return false;
	valid = attr->gid_type == owner->gid_type &&
		!memcmp(&attr->gid, &key->gid, sizeof(key->gid)) &&
		(!rdma_protocol_roce(ibdev, owner->port_num) ||
		 rcu_access_pointer(attr->ndev) == ndev);
	rdma_put_gid_attr(attr);
	return valid;
}

/* Under cmx_devices_lock */
static void cmx_device_walk(struct net *net, const union ib_gid *gid,
			    struct net_device *ndev, struct cmx_dest *dest,
			    struct cmx_owner *owner)
{
	struct cmx_ibdev *dev;
	u32 port;

	cmx_stat_inc(device_walks);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (!rdma_dev_access_netns(dev->ibdev, net))
			continue;
		rdma_for_each_port(dev->ibdev, port) {
			if (rdma_protocol_iwarp(dev->ibdev, port))
				owner->iwarp = true;
			if (!cmx_port_owns(dev->ibdev, port, gid, ndev, dest))
				continue;
			owner->ibdev = dev->ibdev;
			owner->port_num = port;
			owner->gid_index = dest->gid_index;
			owner->gid_type = dest->gid_type;
			return;
		}
	}
}

/* Sets the device of @dest if one has the address @ip_gid of @ndev. */
bool cmx_device_find(struct net *net, const union ib_gid *ip_gid,
		     struct net_device *ndev, struct cmx_dest *dest)
{
	bool ipoib = ndev->type == ARPHRD_INFINIBAND;
	struct cmx_index_key key = {
		.cookie = net->net_cookie,
		.ndev = ndev,
		.type = ndev->type,
	};
	struct cmx_owner owner = {};
	bool known;
	s64 now;

	if (ipoib)
		memcpy(&key.gid, ndev->dev_addr + 4, sizeof(key.gid));
	else
		key.gid = *ip_gid;

	rcu_read_lock();
	known = cmx_index_find(&key, &owner) &&
		cmx_owner_valid(&owner, &key, net, ndev);
	if (known && owner.ibdev)
		cmx_device_dest_set(dest, &owner, ndev);
	rcu_read_unlock();
	if (known)
		return owner.ibdev;

	memset(&owner, 0, sizeof(owner));
	down_read(&cmx_devices_lock);
	now = cmx_index_generation();
	cmx_device_walk(net, &key.gid, ndev, dest, &owner);
	if (owner.ibdev)
		cmx_device_dest_set(dest, &owner, ndev);
	/* GIDs of InfiniBand change without an event. */
	if (owner.ibdev || !ipoib)
		cmx_index_set(&key, &owner, now);
	up_read(&cmx_devices_lock);
	return owner.ibdev;
}

/* True if the port is active and a member of the partition */
static bool cmx_port_usable(struct ib_device *ibdev, u32 port, __be16 pkey)
{
	enum ib_port_state state;
	u16 index;

	return !ib_get_cached_port_state(ibdev, port, &state) &&
	       state == IB_PORT_ACTIVE &&
	       !ib_find_cached_pkey(ibdev, port, ntohs(pkey), &index);
}

/* Sets dest->src to a GID of a port that reaches @dest, if it is empty. */
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
	/* With no source given, rdma_cm chooses one that works. */
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
		/* The GID may be there for each type. */
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

/* Likewise for AF_IB: a port with that source, or in the subnet of dst */
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
 * The device of the hints, by its present name; a later rename does not matter.
 * A device of another namespace is treated as absent.
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

/* Calls @fn for each port of the hints, until it returns true. */
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

/*
 * The first device of @net that @fn accepts, with a reference of its
 * registration, or NULL. A device on the list has a reference, so this gets
 * another one.
 */
struct ib_device *cmx_device_first(const struct net *net,
				   bool (*fn)(struct ib_device *ibdev, void *arg),
				   void *arg)
{
	struct ib_device *found = NULL;
	struct cmx_ibdev *dev;

	down_read(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (!rdma_dev_access_netns(dev->ibdev, net) ||
		    !fn(dev->ibdev, arg) || !ib_device_try_get(dev->ibdev))
			continue;
		found = dev->ibdev;
		break;
	}
	up_read(&cmx_devices_lock);
	return found;
}

int cmx_device_init(void)
{
	cmx_index_init();
	return ib_register_client(&cmx_client);
}

void cmx_device_exit(void)
{
	ib_unregister_client(&cmx_client);
}
