// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * InfiniBand ports: an object for each, with a MAD agent, the address of the
 * SM, and the effect of events on queries and responses.
 *
 * cmx_sa_ports_lock guards cmx_sa_ports. A port is on the list from the
 * addition of its device to its removal, which unregisters the agent and ends
 * all queries. The object is valid as long as it has references, and so is the
 * memory of the struct ib_device. The MAD layer is an older client of the
 * device, so it is present until the removal here has ended.
 *
 * All devices and users share that lock: no code waits for a device with it
 * held, nor for memory. A walk over the ports has a reference of one at a time.
 *
 * An event starts a new generation of the cache without delay. A work item does
 * the rest, after it has read the state and the SM of the port.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>

#include "sa/internal.h"
#include "sa/trace.h"

DEFINE_SPINLOCK(cmx_sa_lock);

static LIST_HEAD(cmx_sa_ports);	/* by number */
static DECLARE_RWSEM(cmx_sa_ports_lock);
static u64 cmx_sa_ports_listed;

static LIST_HEAD(cmx_sa_watchers);
static DECLARE_RWSEM(cmx_sa_watchers_lock);

/**
 * cmx_sa_watch - register a watcher of all ports
 * @watcher: with its function; valid until cmx_sa_unwatch()
 *
 * Present ports are not reported.
 *
 * Context: process context, may sleep.
 */
void cmx_sa_watch(struct cmx_sa_watcher *watcher)
{
	down_write(&cmx_sa_watchers_lock);
	list_add_tail(&watcher->node, &cmx_sa_watchers);
	up_write(&cmx_sa_watchers_lock);
}

/**
 * cmx_sa_unwatch - unregister a watcher
 * @watcher: not running after the return
 *
 * Context: process context, may sleep.
 */
void cmx_sa_unwatch(struct cmx_sa_watcher *watcher)
{
	down_write(&cmx_sa_watchers_lock);
	list_del(&watcher->node);
	up_write(&cmx_sa_watchers_lock);
}

static void cmx_sa_port_changed(struct cmx_sa_port *port,
				enum cmx_sa_change change)
{
	struct cmx_sa_watcher *watcher;

	down_read(&cmx_sa_watchers_lock);
	list_for_each_entry(watcher, &cmx_sa_watchers, node)
		watcher->changed(port, change);
	up_read(&cmx_sa_watchers_lock);
}

/* May sleep */
void cmx_sa_ah_put(struct cmx_sa_ah *ah)
{
	if (ah && refcount_dec_and_test(&ah->ref)) {
		rdma_destroy_ah(ah->ah, RDMA_DESTROY_AH_SLEEPABLE);
		kfree(ah);
	}
}

/* Under agent_lock, with an agent. NULL: the SM is not known, or no memory. */
static struct cmx_sa_ah *cmx_sa_ah_make(struct cmx_sa_port *port,
					const struct ib_port_attr *attr)
{
	struct rdma_ah_attr ah_attr = {};
	struct cmx_sa_ah *ah;

	if (!attr->sm_lid)
		return NULL;
	ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	if (!ah)
		return NULL;
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
		kfree(ah);
		return NULL;
	}
	ah->lid = attr->sm_lid;
	return ah;
}

static struct cmx_sa_ah *cmx_sa_port_set(struct cmx_sa_port *port,
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
 * Reads the state and the SM of the port. May sleep, for the firmware of the
 * device. Callers that wait for the lock share the next read, or a removal
 * behind them would wait for a read of each.
 */
void cmx_sa_port_refresh(struct cmx_sa_port *port)
{
	u32 reads = READ_ONCE(port->reads);
	struct cmx_sa_ah *ah = NULL;
	struct ib_port_attr attr;
	unsigned int noio;
	bool active;

	/* A work item has no signals. */
	if (down_write_killable(&port->agent_lock))
		return;
	noio = memalloc_noio_save();
	/* Another caller's read may have begun since. */
	if (port->agent && port->reads == reads) {
		/* Visible before the read: a later event is read again. */
		smp_store_mb(port->reads, reads + 1);
		active = !ib_query_port(port->dev, port->num, &attr) &&
			 attr.state == IB_PORT_ACTIVE;
		if (active)
			ah = cmx_sa_ah_make(port, &attr);
		/* Here, or the agent's PD might be freed before the old one. */
		cmx_sa_ah_put(cmx_sa_port_set(port, ah, active));
	}
	memalloc_noio_restore(noio);
	up_write(&port->agent_lock);
}

static void cmx_sa_port_work(struct work_struct *work)
{
	struct cmx_sa_port *port = container_of(work, struct cmx_sa_port,
						refresh);
	unsigned int noio = memalloc_noio_save();

	cmx_sa_port_refresh(port);
	if (READ_ONCE(port->active)) {
		cmx_sa_lookups_again(port);
		cmx_sa_info_refresh(port);
		cmx_sa_inform_refresh(port);
		cmx_sa_port_changed(port, CMX_SA_UP);
	} else {
		/* First, so that a watcher knows why its queries fail. */
		cmx_sa_port_changed(port, CMX_SA_DOWN);
		cmx_sa_lookups_fail(port, -ENODEV);
	}
	memalloc_noio_restore(noio);
}

/* The SA may have lost its records, or respond differently. */
void cmx_sa_port_event(struct cmx_sa_port *port, int event)
{
	trace_cmx_sa_event(port, event);
	cmx_sa_cache_drop(&port->cache);
	/* A reader of the counter knows that the cache is empty. */
	cmx_stat_inc(sa_events);
	queue_work(system_unbound_wq, &port->refresh);
}

static void cmx_sa_event(struct ib_event_handler *handler,
			 struct ib_event *event)
{
	struct cmx_sa_port *port = container_of(handler, struct cmx_sa_port,
						events);

	switch (event->event) {
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_CLIENT_REREGISTER:
	case IB_EVENT_GID_CHANGE:
		if (event->element.port_num != port->num)
			return;
		break;
	case IB_EVENT_DEVICE_FATAL:
		break;
	default:
		return;
	}
	cmx_sa_port_event(port, event->event);
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
 * cmx_sa_port_look - check that a port is active
 * @port: the port
 *
 * The event may not have arrived yet, so this reads the state of a port that is
 * not known to be active.
 *
 * Context: process context, may sleep for the firmware of the device. The
 * caller holds no lock that others need meanwhile.
 */
bool cmx_sa_port_look(struct cmx_sa_port *port)
{
	if (!cmx_sa_port_is_active(port))
		cmx_sa_port_refresh(port);
	return cmx_sa_port_is_active(port);
}

/**
 * cmx_sa_port_find - get a port, active or not, with a reference for the caller
 * @ibdev_index: index of its device
 * @port_num: its number
 *
 * Context: process context, may sleep; does not wait for firmware.
 * Return: the port, or NULL if it is not an InfiniBand port.
 */
struct cmx_sa_port *cmx_sa_port_find(u32 ibdev_index, u32 port_num)
{
	struct cmx_sa_port *port, *found = NULL;

	down_read(&cmx_sa_ports_lock);
	list_for_each_entry(port, &cmx_sa_ports, node) {
		if (port->dev->index == ibdev_index && port->num == port_num) {
			cmx_sa_port_hold(port);
			found = port;
			break;
		}
	}
	up_read(&cmx_sa_ports_lock);
	return found;
}

/**
 * cmx_sa_port_get - get an active port with a reference for the caller
 * @ibdev_index: index of its device
 * @port_num: its number
 *
 * Context: as for cmx_sa_port_look().
 * Return: the port, or NULL if it is not an active InfiniBand port.
 */
struct cmx_sa_port *cmx_sa_port_get(u32 ibdev_index, u32 port_num)
{
	struct cmx_sa_port *port = cmx_sa_port_find(ibdev_index, port_num);

	if (port && !cmx_sa_port_look(port)) {
		cmx_sa_port_put(port);
		port = NULL;
	}
	return port;
}

/* The first port of @net after number @last, with a reference, or NULL */
static struct cmx_sa_port *cmx_sa_port_next(const struct net *net, u64 last)
{
	struct cmx_sa_port *port, *found = NULL;

	down_read(&cmx_sa_ports_lock);
	list_for_each_entry(port, &cmx_sa_ports, node) {
		if (port->number > last &&
		    rdma_dev_access_netns(port->dev, net)) {
			cmx_sa_port_hold(port);
			found = port;
			break;
		}
	}
	up_read(&cmx_sa_ports_lock);
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
 * Context: process context, may sleep; does not wait for firmware.
 * Return: true if the user namespace of @net, or a descendant of it, owns the
 * network namespace of the device, which is not being removed.
 */
bool cmx_sa_port_ruled(const struct cmx_sa_port *port, const struct net *net)
{
	const struct user_namespace *ns = NULL;

	/* The device's namespace is present while the port is on the list. */
	down_read(&cmx_sa_ports_lock);
	if (!list_empty(&port->node))
		ns = read_pnet(&port->dev->coredev.rdma_net)->user_ns;
	while (ns && ns != net->user_ns)
		ns = ns->parent;
	up_read(&cmx_sa_ports_lock);
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

	down_read(&cmx_sa_ports_lock);
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
	up_read(&cmx_sa_ports_lock);
	return ret;
}

/* Without an agent, not active, and not listed */
struct cmx_sa_port *cmx_sa_port_alloc(struct ib_device *dev, u32 num)
{
	struct cmx_sa_port *port;

	port = kvzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return NULL;
	refcount_set(&port->ref, 1);
	INIT_LIST_HEAD(&port->node);
	get_device(&dev->dev);
	port->dev = dev;
	port->num = num;
	INIT_WORK(&port->refresh, cmx_sa_port_work);
	init_rwsem(&port->agent_lock);
	atomic_set(&port->tid, get_random_u32());
	cmx_sched_init(&port->sched, &cmx_sa_lock, &cmx_sa_lookup_ops);
	port->window = CMX_SA_MIN_PARALLEL;
	port->last_response = jiffies;
	cmx_sa_cache_init(&port->cache);
	cmx_sa_info_init(port);
	cmx_sa_inform_init(port);
	cmx_stat_inc(sa_ports);
	return port;
}

/* Makes a port visible. The list takes the caller's reference. */
void cmx_sa_port_list(struct cmx_sa_port *port)
{
	down_write(&cmx_sa_ports_lock);
	port->number = ++cmx_sa_ports_listed;
	list_add_tail(&port->node, &cmx_sa_ports);
	up_write(&cmx_sa_ports_lock);
}

static int cmx_sa_port_add(struct ib_device *dev, u32 num)
{
	struct ib_mad_agent *agent;
	struct cmx_sa_port *port;

	port = cmx_sa_port_alloc(dev, num);
	if (!port)
		return -ENOMEM;
	/* For sends only: reports have another agent. */
	agent = ib_register_mad_agent(dev, num, IB_QPT_GSI, NULL,
				      IB_MGMT_RMPP_VERSION, cmx_sa_mad_sent,
				      cmx_sa_mad_received, port, 0);
	if (IS_ERR(agent)) {
		cmx_sa_port_put(port);
		return PTR_ERR(agent);
	}
	port->agent = agent;
	INIT_IB_EVENT_HANDLER(&port->events, dev, cmx_sa_event);
	ib_register_event_handler(&port->events);
	cmx_sa_port_refresh(port);
	cmx_sa_port_list(port);
	/* Queries the ClassPortInfo. No other query of it is outstanding. */
	queue_work(system_unbound_wq, &port->refresh);
	return 0;
}

/* The port is off the list. */
static void cmx_sa_port_remove(struct cmx_sa_port *port)
{
	struct ib_mad_agent *agent;
	struct cmx_sa_ah *ah;

	ib_unregister_event_handler(&port->events);
	cmx_sa_inform_stop(port);
	cancel_work_sync(&port->refresh);
	/* Last call before queries to its SA fail */
	cmx_sa_port_changed(port, CMX_SA_GOING);

	down_write(&port->agent_lock);
	agent = port->agent;
	port->agent = NULL;
	ah = cmx_sa_port_set(port, NULL, false);
	up_write(&port->agent_lock);

	cmx_sa_lookups_fail(port, -ENODEV);
	cmx_sa_ah_put(ah);
	/* Waits until ib_mad has returned all MADs. */
	ib_unregister_mad_agent(agent);
	cmx_sa_cache_exit(&port->cache);
	cmx_sa_port_put(port);
}

/* The first port of a device, with the list's reference, or NULL */
struct cmx_sa_port *cmx_sa_port_unlist(struct ib_device *dev)
{
	struct cmx_sa_port *port, *found = NULL;

	down_write(&cmx_sa_ports_lock);
	list_for_each_entry(port, &cmx_sa_ports, node) {
		if (port->dev == dev) {
			list_del_init(&port->node);
			found = port;
			break;
		}
	}
	up_write(&cmx_sa_ports_lock);
	return found;
}

/*
 * Memory may need I/O, and that may need this device: swap on a device of a
 * ULP. So neither this, nor what it waits for, starts I/O: work items and code
 * with agent_lock or cmx_service_lock. ib_mad does, when a response arrives.
 */
static void cmx_sa_device_remove(struct ib_device *dev, void *data)
{
	unsigned int noio = memalloc_noio_save();
	struct cmx_sa_port *port;

	while ((port = cmx_sa_port_unlist(dev)))
		cmx_sa_port_remove(port);
	memalloc_noio_restore(noio);
}

/* Omni-Path has other records. */
static int cmx_sa_device_add(struct ib_device *dev)
{
	int ret = -EOPNOTSUPP;
	u32 num;

	rdma_for_each_port(dev, num) {
		if (!rdma_cap_ib_sa(dev, num) || rdma_cap_opa_mad(dev, num))
			continue;
		ret = cmx_sa_port_add(dev, num);
		if (ret) {
			cmx_sa_device_remove(dev, NULL);
			break;
		}
	}
	return ret;
}

static struct ib_client cmx_sa_client = {
	.name = "rdma_cmx_sa",
	.add = cmx_sa_device_add,
	.remove = cmx_sa_device_remove,
};

int cmx_sa_init(void)
{
	int ret;

	ret = cmx_sa_lookups_init();
	if (ret)
		return ret;
	ret = ib_register_client(&cmx_sa_client);
	if (ret)
		cmx_sa_lookups_exit();
	return ret;
}

/* All waiters were called at the return. */
void cmx_sa_exit(void)
{
	ib_unregister_client(&cmx_sa_client);
	cmx_sa_lookups_exit();
}
