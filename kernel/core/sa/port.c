// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * InfiniBand ports: an object for each, on a list, with the state of the port
 * and the address of the SM.
 *
 * cmx_sa_ports_lock guards cmx_sa_ports. A port is on the list from the
 * addition of its device to its removal (device.c). The object is valid as long
 * as it has references, and so is the memory of the struct ib_device. The MAD
 * layer is an older client of the device, so it is present until the removal
 * here has ended.
 *
 * All devices and users share that lock. It is a spinlock, because a process
 * that is preempted with a semaphore keeps others waiting for as long as its
 * user wants. A walk over the ports has a reference of one at a time.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "sa/internal.h"

/* Delay after a read of a port that failed; it doubles. */
#define CMX_SA_PORT_RETRY_MIN	HZ
#define CMX_SA_PORT_RETRY_MAX	(60 * HZ)

DEFINE_SPINLOCK(cmx_sa_lock);
/* Created and destroyed by lookup.c */
struct workqueue_struct *cmx_sa_wq;

static LIST_HEAD(cmx_sa_ports);	/* by number */
static DEFINE_SPINLOCK(cmx_sa_ports_lock);
static u64 cmx_sa_ports_listed;

/*
 * Queues a work item for which cmx_sa_lookups_exit() waits. Returns false if it
 * was queued.
 */
bool cmx_sa_queue(struct work_struct *work)
{
	return queue_work(cmx_sa_wq, work);
}

/* May sleep */
void cmx_sa_ah_put(struct cmx_sa_ah *ah)
{
	if (ah && refcount_dec_and_test(&ah->ref)) {
		rdma_destroy_ah(ah->ah, RDMA_DESTROY_AH_SLEEPABLE);
		kfree(ah);
	}
}

/* The address of the SM with a reference, or NULL */
struct cmx_sa_ah *cmx_sa_ah_get(struct cmx_sa_port *port, u32 *generation)
{
	struct cmx_sa_ah *ah;

	spin_lock(&cmx_sa_lock);
	*generation = cmx_sa_cache_generation(&port->cache);
	ah = port->ah;
	if (ah)
		refcount_inc(&ah->ref);
	spin_unlock(&cmx_sa_lock);
	return ah;
}

/*
 * Under agent_lock, with an agent. NULL: the port has no SM. Or an ERR_PTR, and
 * a later read may succeed.
 */
static struct cmx_sa_ah *cmx_sa_ah_make(struct cmx_sa_port *port,
					const struct ib_port_attr *attr)
{
	struct rdma_ah_attr ah_attr = {};
	struct cmx_sa_ah *ah;
	int ret;

	if (!attr->sm_lid)
		return NULL;
	ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	if (!ah)
		return ERR_PTR(-ENOMEM);
	refcount_set(&ah->ref, 1);
	/* The default partition reaches the SA; its index should be 0. */
	if (ib_find_cached_pkey(port->dev, port->num, IB_DEFAULT_PKEY_FULL,
				&ah->pkey_index))
		ah->pkey_index = 0;
	ah_attr.type = RDMA_AH_ATTR_TYPE_IB;
	rdma_ah_set_dlid(&ah_attr, attr->sm_lid);
	rdma_ah_set_sl(&ah_attr, attr->sm_sl);
	rdma_ah_set_port_num(&ah_attr, port->num);
	if (rdma_is_grh_required(port->dev, port->num)) {
		rdma_ah_set_ah_flags(&ah_attr, IB_AH_GRH);
		rdma_ah_set_subnet_prefix(&ah_attr,
					  cpu_to_be64(attr->subnet_prefix));
		rdma_ah_set_interface_id(&ah_attr,
					 cpu_to_be64(IB_SA_WELL_KNOWN_GUID));
	}
	ah->ah = rdma_create_ah(port->agent->qp->pd, &ah_attr,
				RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ah->ah)) {
		ret = PTR_ERR(ah->ah);
		kfree(ah);
		return ERR_PTR(ret);
	}
	ah->lid = attr->sm_lid;
	return ah;
}

/*
 * Queues the work item (device.c) after @delay, or at its present, earlier
 * time. A port that is being removed has none.
 */
void cmx_sa_port_kick(struct cmx_sa_port *port, unsigned long delay)
{
	spin_lock(&cmx_sa_lock);
	if (!port->inform.gone && delay)
		queue_delayed_work(system_unbound_wq, &port->refresh, delay);
	else if (!port->inform.gone)
		mod_delayed_work(system_unbound_wq, &port->refresh, 0);
	spin_unlock(&cmx_sa_lock);
}

/* Callers read a port that is down, too: the delay does not grow by that. */
static void cmx_sa_port_retry(struct cmx_sa_port *port)
{
	if (delayed_work_pending(&port->refresh))
		return;
	port->retry = clamp_t(unsigned long, 2 * port->retry,
			      CMX_SA_PORT_RETRY_MIN, CMX_SA_PORT_RETRY_MAX);
	cmx_sa_port_kick(port, port->retry);
}

/*
 * As cmx_sa_ah_make(), but without memory for an address the former one stays,
 * if its SM is the same.
 */
static struct cmx_sa_ah *cmx_sa_ah_update(struct cmx_sa_port *port,
					  const struct ib_port_attr *attr)
{
	struct cmx_sa_ah *ah = cmx_sa_ah_make(port, attr);

	if (!IS_ERR(ah)) {
		port->retry = 0;
		return ah;
	}
	cmx_sa_port_retry(port);
	ah = port->ah;
	if (!ah || ah->lid != attr->sm_lid)
		return NULL;
	refcount_inc(&ah->ref);
	return ah;
}

/* True if a MAD is of the partition that reaches the SA */
static bool cmx_sa_port_pkey(const struct cmx_sa_port *port,
			     const struct cmx_sa_ah *ah, const struct ib_wc *wc)
{
	u16 pkey, ours;

	return !ib_get_cached_pkey(port->dev, port->num, wc->pkey_index,
				   &pkey) &&
	       !ib_get_cached_pkey(port->dev, port->num, ah->pkey_index,
				   &ours) &&
	       !((pkey ^ ours) & 0x7fff);
}

/*
 * True if a MAD is from QP 1 of the LID of @ah, in the partition of the SA.
 * ib_mad compares none of these.
 */
bool cmx_sa_port_is_source(const struct cmx_sa_port *port,
			   const struct cmx_sa_ah *ah, const struct ib_wc *wc)
{
	return wc->slid == ah->lid && wc->src_qp == 1 &&
	       cmx_sa_port_pkey(port, ah, wc);
}

/* Returns the former address of the SM. */
struct cmx_sa_ah *cmx_sa_port_set(struct cmx_sa_port *port,
				  struct cmx_sa_ah *ah, bool active)
{
	struct cmx_sa_ah *old;

	spin_lock(&cmx_sa_lock);
	old = port->ah;
	port->ah = ah;
	WRITE_ONCE(port->active, active);
	spin_unlock(&cmx_sa_lock);
	return old;
}

/*
 * With agent_lock and an agent. Returns 1 if the state or the SM has changed,
 * else 0, or an error.
 *
 * A port that cannot be read may be active: it stays as it is, unless the
 * driver has reported an error. Then it is down until a read succeeds.
 */
static int cmx_sa_port_query(struct cmx_sa_port *port)
{
	/* An event during the read counts for the next one. */
	int ret, errors = atomic_read(&port->errors);
	struct cmx_sa_ah *ah = NULL;
	bool active = false, moved, changed;
	unsigned long retry = port->retry;
	struct ib_port_attr attr;

	ret = ib_query_port(port->dev, port->num, &attr);
	if (ret) {
		cmx_sa_port_retry(port);
		if (errors == port->errors_read)
			return ret;
	} else {
		port->errors_read = errors;
		active = attr.state == IB_PORT_ACTIVE;
		if (active)
			ah = cmx_sa_ah_update(port, &attr);
		else
			port->retry = 0;
	}
	moved = (ah ? ah->lid : 0) != (port->ah ? port->ah->lid : 0);
	/* Since a read that failed, the work item has not followed an event. */
	changed = moved || active != port->active || (retry && !port->retry);
	/* Here, or the agent's PD might be freed before the old one. */
	cmx_sa_ah_put(cmx_sa_port_set(port, ah, active));
	/* The old SM may have responded since the event. */
	if (moved)
		cmx_sa_cache_drop(&port->cache);
	return changed ? 1 : ret;
}

/*
 * Reads the state and the SM of the port. May sleep, for the firmware of the
 * device. Callers that wait for the lock share the next read, or a removal
 * behind them would wait for a read of each. Returns as cmx_sa_port_query().
 */
int cmx_sa_port_read(struct cmx_sa_port *port)
{
	u32 reads = READ_ONCE(port->reads);
	unsigned int noio;
	int ret = 0;

	/* A work item has no signals. */
	if (down_write_killable(&port->agent_lock))
		return 0;
	noio = memalloc_noio_save();
	/* Another caller's read may have begun since. */
	if (port->agent && port->reads == reads) {
		/* Visible before the read: a later event is read again. */
		smp_store_mb(port->reads, reads + 1);
		ret = cmx_sa_port_query(port);
	}
	memalloc_noio_restore(noio);
	up_write(&port->agent_lock);
	return ret;
}

/* As cmx_sa_port_read(). A change has the effect of an event. */
void cmx_sa_port_refresh(struct cmx_sa_port *port)
{
	if (cmx_sa_port_read(port) > 0)
		cmx_sa_port_kick(port, 0);
}

/**
 * cmx_sa_port_hold - take another reference
 * @port: a port that stays during the call
 *
 * Context: any.
 */
void cmx_sa_port_hold(struct cmx_sa_port *port)
{
	refcount_inc(&port->ref);
}

/**
 * cmx_sa_port_put - drop a reference
 * @port: the port or NULL
 *
 * Context: process context, may sleep.
 */
void cmx_sa_port_put(struct cmx_sa_port *port)
{
	if (port && refcount_dec_and_test(&port->ref)) {
		put_device(&port->dev->dev);
		kvfree(port);
		cmx_stat_dec(sa_ports);
	}
}

struct ib_device *cmx_sa_port_dev(const struct cmx_sa_port *port)
{
	return port->dev;
}

u32 cmx_sa_port_num(const struct cmx_sa_port *port)
{
	return port->num;
}

/**
 * cmx_sa_port_generation - get the generation, which changes with each event
 * @port: the port
 *
 * A response is valid if the generation is still that of its query.
 *
 * Context: any.
 */
u32 cmx_sa_port_generation(const struct cmx_sa_port *port)
{
	return cmx_sa_cache_generation(&port->cache);
}

/**
 * cmx_sa_port_is_active - check that a port is active, as far as known
 * @port: the port
 *
 * Context: any.
 */
bool cmx_sa_port_is_active(const struct cmx_sa_port *port)
{
	return READ_ONCE(port->active);
}

/**
 * cmx_sa_port_find - get a port, active or not, with a reference for the caller
 * @ibdev_index: index of its device
 * @port_num: its number
 *
 * Context: process context, does not sleep.
 * Return: the port, or NULL if it is not an InfiniBand port.
 */
struct cmx_sa_port *cmx_sa_port_find(u32 ibdev_index, u32 port_num)
{
	struct cmx_sa_port *port, *found = NULL;

	spin_lock(&cmx_sa_ports_lock);
	list_for_each_entry(port, &cmx_sa_ports, node) {
		if (port->dev->index == ibdev_index && port->num == port_num) {
			cmx_sa_port_hold(port);
			found = port;
			break;
		}
	}
	spin_unlock(&cmx_sa_ports_lock);
	return found;
}

/* The first port of @net after number @last, with a reference, or NULL */
static struct cmx_sa_port *cmx_sa_port_next(const struct net *net, u64 last)
{
	struct cmx_sa_port *port, *found = NULL;

	spin_lock(&cmx_sa_ports_lock);
	list_for_each_entry(port, &cmx_sa_ports, node) {
		if (port->number > last &&
		    rdma_dev_access_netns(port->dev, net)) {
			cmx_sa_port_hold(port);
			found = port;
			break;
		}
	}
	spin_unlock(&cmx_sa_ports_lock);
	return found;
}

/**
 * cmx_sa_ports_for_each - walk over all InfiniBand ports of a namespace
 * @net: the network namespace
 * @fn: called for each port, active or not, without a lock; it may keep the
 *	port by cmx_sa_port_hold(). A result other than 0 ends the walk
 * @arg: argument of @fn
 *
 * Context: process context, may sleep.
 * Return: the last result of @fn, 0 without ports.
 */
int cmx_sa_ports_for_each(const struct net *net,
			  int (*fn)(struct cmx_sa_port *port, void *arg),
			  void *arg)
{
	struct cmx_sa_port *port;
	u64 last = 0;
	int ret = 0;

	while (!ret && (port = cmx_sa_port_next(net, last))) {
		last = port->number;
		ret = fn(port, arg);
		cmx_sa_port_put(port);
	}
	return ret;
}

/**
 * cmx_sa_port_ruled - check that a namespace's owner owns the device's
 * namespace
 * @port: the port
 * @net: the network namespace
 *
 * A device may be shared with a namespace whose owner does not own that of the
 * device. This owner may use it, but neither advertise on it nor list all
 * services.
 *
 * Context: process context, does not sleep.
 * Return: true if the user namespace of @net, or a descendant of it, owns the
 * network namespace of the device, which is not being removed.
 */
bool cmx_sa_port_ruled(const struct cmx_sa_port *port, const struct net *net)
{
	const struct user_namespace *ns = NULL;

	/* The device's namespace is present while the port is on the list. */
	spin_lock(&cmx_sa_ports_lock);
	if (!list_empty(&port->node))
		ns = read_pnet(&port->dev->coredev.rdma_net)->user_ns;
	while (ns && ns != net->user_ns)
		ns = ns->parent;
	spin_unlock(&cmx_sa_ports_lock);
	return ns;
}

/**
 * cmx_sa_ports_find - check that an InfiniBand port exists, active or not
 * @net: the network namespace
 * @dev: name of a device
 * @num: number of its port, 0: any
 *
 * Context: process context, may sleep.
 * Return: 0; -ENXIO: the device has no such port; -ENODEV: no such device, or
 * it has no port with an SA.
 */
int cmx_sa_ports_find(struct net *net, const char *dev, u32 num)
{
	struct cmx_sa_port *port;
	int ret = -ENODEV;

	spin_lock(&cmx_sa_ports_lock);
	list_for_each_entry(port, &cmx_sa_ports, node) {
		if (!rdma_dev_access_netns(port->dev, net) ||
		    strncmp(port->dev->name, dev, IB_DEVICE_NAME_MAX))
			continue;
		ret = -ENXIO;
		if (!num || port->num == num) {
			ret = 0;
			break;
		}
	}
	spin_unlock(&cmx_sa_ports_lock);
	return ret;
}

/* Makes a port visible. The list takes the caller's reference. */
void cmx_sa_port_list(struct cmx_sa_port *port)
{
	spin_lock(&cmx_sa_ports_lock);
	port->number = ++cmx_sa_ports_listed;
	list_add_tail(&port->node, &cmx_sa_ports);
	spin_unlock(&cmx_sa_ports_lock);
}

/* The first port of a device, with the list's reference, or NULL */
struct cmx_sa_port *cmx_sa_port_unlist(struct ib_device *dev)
{
	struct cmx_sa_port *port, *found = NULL;

	spin_lock(&cmx_sa_ports_lock);
	list_for_each_entry(port, &cmx_sa_ports, node) {
		if (port->dev == dev) {
			list_del_init(&port->node);
			found = port;
			break;
		}
	}
	spin_unlock(&cmx_sa_ports_lock);
	return found;
}
