// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * RDMA devices: the port that has a source address. The lookup is that of
 * rdma_cm when it binds an id, so both find the same port.
 *
 * cmx_devices_lock guards cmx_devices and cmx_removal_until. A device is valid
 * while it is on the list, since the client's remove callback first takes it
 * off. The lock disables preemption: a process that is preempted with a semaphore
 * would delay the removal of devices for as long as its user wants. A walk over
 * the list releases it after each device. The device index saves most queries
 * the walk. Readers of it hold RCU, which the remove callback waits for.
 */
#include <linux/atomic.h>
#include <linux/if_arp.h>
#include <linux/jiffies.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait_bit.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>

#include "resolve/device_index.h"
#include "resolve/resolve.h"

struct cmx_ibdev {
	struct list_head node;
	u64 number;		/* ascending, never reused */
	struct ib_device *ibdev;
	struct ib_event_handler events;
	atomic_t holds;		/* the removal waits until it is 0 */
	char name[IB_DEVICE_NAME_MAX];
};

static LIST_HEAD(cmx_devices);	/* by number */
static DEFINE_RWLOCK(cmx_devices_lock);
static u64 cmx_devices_listed;

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
	write_lock(&cmx_devices_lock);
	dev->number = ++cmx_devices_listed;
	list_add_tail(&dev->node, &cmx_devices);
	cmx_index_drop();
	write_unlock(&cmx_devices_lock);
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

	write_lock(&cmx_devices_lock);
	list_del(&dev->node);
	cmx_removal_limit();
	cmx_index_drop();
	write_unlock(&cmx_devices_lock);
	/* Pairs with cmx_device_release(): the device is off the list. */
	wait_var_event(&dev->holds, !atomic_read(&dev->holds));
	ib_unregister_event_handler(&dev->events);
	/* Waits for readers that found it in the index before. */
	synchronize_rcu();
	kfree(dev);
	/* The other clients follow, and those before may have taken long. */
	write_lock(&cmx_devices_lock);
	cmx_removal_limit();
	write_unlock(&cmx_devices_lock);
}

/*
 * Delays the removal of a device until cmx_device_release(). NULL: the removal
 * has begun, or the device is not added yet.
 */
struct cmx_ibdev *cmx_device_hold(const struct ib_device *ibdev)
{
	struct cmx_ibdev *dev, *found = NULL;

	read_lock(&cmx_devices_lock);
	list_for_each_entry(dev, &cmx_devices, node) {
		if (dev->ibdev != ibdev)
			continue;
		atomic_inc(&dev->holds);
		found = dev;
		break;
	}
	read_unlock(&cmx_devices_lock);
	return found;
}

void cmx_device_release(struct cmx_ibdev *dev)
{
	atomic_t *holds = &dev->holds;

	/* @dev may be freed then. The waiter uses only the address. */
	if (atomic_dec_and_test(holds))
		wake_up_var(holds);
}

typedef bool (*cmx_device_fn)(struct ib_device *ibdev, void *arg);

/* Under the lock. The device of @net that follows @number, which this sets */
static struct ib_device *cmx_device_next(const struct net *net, u64 *number)
{
	struct cmx_ibdev *dev;

	list_for_each_entry(dev, &cmx_devices, node) {
		if (dev->number <= *number ||
		    !rdma_dev_access_netns(dev->ibdev, net))
			continue;
		*number = dev->number;
		return dev->ibdev;
	}
	return NULL;
}

/* Calls @fn, which does not sleep, under the lock until it returns true. */
static bool cmx_device_each(const struct net *net, cmx_device_fn fn, void *arg)
{
	struct ib_device *ibdev;
	bool found = false;
	u64 number = 0;

	do {
		read_lock(&cmx_devices_lock);
		ibdev = cmx_device_next(net, &number);
		if (ibdev)
			found = fn(ibdev, arg);
		read_unlock(&cmx_devices_lock);
	} while (ibdev && !found);
	return found;
}

/* Jiffies in which DEVICE_REMOVAL of the last device may arrive; 0: none */
unsigned long cmx_device_removal_left(void)
{
	u64 now = get_jiffies_64(), until;

	read_lock(&cmx_devices_lock);
	until = cmx_removal_until;
	read_unlock(&cmx_devices_lock);
	return time_before64(now, until) ? until - now : 0;
}

/* ib_core calls it only between add and remove. */
static void cmx_device_rename(struct ib_device *ibdev, void *data)
{
	struct cmx_ibdev *dev = data;

	write_lock(&cmx_devices_lock);
	strscpy(dev->name, dev_name(&ibdev->dev), sizeof(dev->name));
	write_unlock(&cmx_devices_lock);
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
 * A GID of a port, unless it belongs to an address in another network namespace.
 * @at: its netdevice on RoCE, which may be gone at the return; or NULL
 */
bool cmx_port_gid_get(struct ib_device *ibdev, u32 port, int index,
		      const struct net *net, union ib_gid *gid,
		      struct net_device **at)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev = NULL;
	bool visible = true;

	attr = rdma_get_gid_attr(ibdev, port, index);
	if (IS_ERR(attr))
		return false;
	*gid = attr->gid;
	if (rdma_protocol_roce(ibdev, port)) {
		rcu_read_lock();
		/* An error: the GID is being deleted. */
		ndev = rdma_read_gid_attr_ndev_rcu(attr);
		visible = !IS_ERR(ndev) && net_eq(dev_net(ndev), net);
		rcu_read_unlock();
	}
	rdma_put_gid_attr(attr);
	if (at)
		*at = ndev;
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

struct cmx_walk {
	const union ib_gid *gid;
	struct net_device *ndev;
	struct cmx_dest *dest;
	struct cmx_owner *owner;
};

/* The first port of a device that has the address */
static bool cmx_device_owns(struct ib_device *ibdev, void *arg)
{
	struct cmx_walk *walk = arg;
	struct cmx_owner *owner = walk->owner;
	u32 port;

	rdma_for_each_port(ibdev, port) {
		if (rdma_protocol_iwarp(ibdev, port))
			owner->iwarp = true;
		if (!cmx_port_owns(ibdev, port, walk->gid, walk->ndev,
				   walk->dest))
			continue;
		owner->ibdev = ibdev;
		owner->port_num = port;
		owner->gid_index = walk->dest->gid_index;
		owner->gid_type = walk->dest->gid_type;
		cmx_device_dest_set(walk->dest, owner, walk->ndev);
		return true;
	}
	return false;
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
	struct cmx_walk walk = {
		.gid = &key.gid, .ndev = ndev, .dest = dest, .owner = &owner,
	};
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
	cmx_stat_inc(device_walks);
	/* A device that goes meanwhile starts another generation. */
	now = cmx_index_generation();
	known = cmx_device_each(net, cmx_device_owns, &walk);
	/* GIDs of InfiniBand change without an event. */
	if (known || !ipoib)
		cmx_index_set(&key, &owner, now);
	return known;
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
	struct net_device *ndev;
	union ib_gid gid;
	int i;

	if (!rdma_cap_af_ib(ibdev, port))
		return false;
	/* With no source given, rdma_cm chooses one that works. */
	if (!given && !cmx_port_usable(ibdev, port, dest->dst.ib.sib_pkey))
		return false;
	for (i = 0; i < ibdev->port_data[port].immutable.gid_tbl_len; i++) {
		if (!cmx_port_gid_get(ibdev, port, i, net, &gid, &ndev))
			continue;
		if (given ? memcmp(&gid, want, sizeof(gid)) :
		    gid.global.subnet_prefix != dgid->global.subnet_prefix)
			continue;
		dest->gid_index = i;
		dest->gid_type = IB_GID_TYPE_IB;
		/*
		 * The GID may be there for each type, and on netdevices of
		 * other namespaces.
		 */
		if (rdma_protocol_roce(ibdev, port) &&
		    !cmx_port_has_roce_gid(ibdev, port, &gid, ndev, dest))
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

struct cmx_walk_ib {
	const struct cmx_hints *h;
	struct cmx_dest *dest;
};

static bool cmx_device_reaches_gid(struct ib_device *ibdev, void *arg)
{
	struct cmx_walk_ib *walk = arg;
	u32 port;

	rdma_for_each_port(ibdev, port) {
		if (!cmx_hints_take(walk->h, ibdev->index, port) ||
		    !cmx_port_reaches_gid(walk->h->net, ibdev, port,
					  walk->dest))
			continue;
		walk->dest->ibdev_index = ibdev->index;
		walk->dest->port_num = port;
		return true;
	}
	return false;
}

/* Likewise for AF_IB: a port with that source, or in the subnet of dst */
bool cmx_device_find_ib(const struct cmx_hints *h, struct cmx_dest *dest)
{
	struct cmx_walk_ib walk = { .h = h, .dest = dest };

	return cmx_device_each(h->net, cmx_device_reaches_gid, &walk);
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
	read_lock(&cmx_devices_lock);
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
	read_unlock(&cmx_devices_lock);
	return ret;
}

struct cmx_walk_hint {
	const struct cmx_hints *h;
	bool (*fn)(struct ib_device *ibdev, u32 port, void *arg);
	void *arg;
};

static bool cmx_device_is_hinted(struct ib_device *ibdev, void *arg)
{
	struct cmx_walk_hint *walk = arg;
	const struct cmx_hints *h = walk->h;
	u32 port;

	if (ibdev->index != h->dev_index)
		return false;
	rdma_for_each_port(ibdev, port)
		if (cmx_hints_take(h, h->dev_index, port) &&
		    walk->fn(ibdev, port, walk->arg))
			return true;
	return false;
}

/*
 * Calls @fn, which does not sleep, for each port of the hints, until it returns
 * true.
 */
bool cmx_device_hinted(const struct cmx_hints *h,
		       bool (*fn)(struct ib_device *ibdev, u32 port, void *arg),
		       void *arg)
{
	struct cmx_walk_hint walk = { .h = h, .fn = fn, .arg = arg };

	return cmx_device_each(h->net, cmx_device_is_hinted, &walk);
}

/*
 * The first device of @net that @fn accepts, with a reference of its
 * registration, or NULL. @fn may call the driver, which may sleep.
 */
struct ib_device *cmx_device_first(const struct net *net,
				   bool (*fn)(struct ib_device *ibdev, void *arg),
				   void *arg)
{
	struct ib_device *ibdev;
	u64 number = 0;

	for (;;) {
		read_lock(&cmx_devices_lock);
		do
			ibdev = cmx_device_next(net, &number);
		while (ibdev && !ib_device_try_get(ibdev));
		read_unlock(&cmx_devices_lock);
		if (!ibdev || fn(ibdev, arg))
			return ibdev;
		ib_device_put(ibdev);
	}
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
