// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of an InfiniBand port: its device is added and removed, its MAD
 * agent is registered, and events have their effect on queries and responses.
 * The removal of a device unregisters the agents and ends all queries.
 *
 * An event starts a new generation of the cache without delay. A work item does
 * the rest, after it has read the state and the SM of the port. It also runs
 * when another reader finds a change, whose event may be late, and again after
 * a read that failed.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "sa/internal.h"
#include "sa/trace.h"

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

/*
 * A read that failed is no event: it reports nothing but that the port is down
 * since, which the work item, or another reader, may have found.
 */
static void cmx_sa_port_work(struct work_struct *work)
{
	struct cmx_sa_port *port = container_of(to_delayed_work(work),
						struct cmx_sa_port, refresh);
	unsigned int noio = memalloc_noio_save();
	bool failed = cmx_sa_port_read(port) < 0;
	bool active = READ_ONCE(port->active);

	if (failed && active) {
		/* It runs again. */
	} else if (active) {
		port->down = false;
		cmx_sa_lookups_again(port);
		cmx_sa_info_refresh(port);
		cmx_sa_inform_refresh(port);
		cmx_sa_port_changed(port, CMX_SA_UP);
	} else {
		/* First, so that a watcher knows why its queries fail. */
		if (!failed || !port->down)
			cmx_sa_port_changed(port, CMX_SA_DOWN);
		port->down = true;
		cmx_sa_lookups_fail(port, -ENODEV);
	}
	memalloc_noio_restore(noio);
}

/* The SA may have lost its records, or respond differently. */
static void cmx_sa_port_event(struct cmx_sa_port *port, int event)
{
	trace_cmx_sa_event(port, event);
	if (event == IB_EVENT_PORT_ERR || event == IB_EVENT_DEVICE_FATAL)
		atomic_inc(&port->errors);
	cmx_sa_cache_drop(&port->cache);
	/* A reader of the counter knows that the cache is empty. */
	cmx_stat_inc(sa_events);
	cmx_sa_port_kick(port, 0);
}

/* The SA has reported a GID of the port, see report.c. */
static void cmx_sa_port_own(struct work_struct *work)
{
	struct cmx_sa_inform *in = container_of(to_delayed_work(work),
						struct cmx_sa_inform, own);

	cmx_sa_port_event(container_of(in, struct cmx_sa_port, inform),
			  IB_EVENT_GID_CHANGE);
}

static void cmx_sa_event(struct ib_event_handler *handler,
			 struct ib_event *event)
{
	struct cmx_sa_port *port = container_of(handler, struct cmx_sa_port,
						events);

	/* A fatal error is one of all ports. */
	if (cmx_sa_event_counts(event->event) &&
	    (event->event == IB_EVENT_DEVICE_FATAL ||
	     event->element.port_num == port->num))
		cmx_sa_port_event(port, event->event);
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
	INIT_DELAYED_WORK(&port->refresh, cmx_sa_port_work);
	cmx_sa_port_check_init(port);
	INIT_DELAYED_WORK(&port->inform.own, cmx_sa_port_own);
	port->inform.own_due = jiffies;
	init_rwsem(&port->agent_lock);
	atomic_set(&port->tid, get_random_u32());
	cmx_sched_init(&port->sched, &cmx_sa_lock, &cmx_sa_lookup_ops);
	cmx_sa_send_init(port);
	port->window = CMX_SA_MIN_PARALLEL;
	port->last_response = jiffies;
	cmx_sa_cache_init(&port->cache);
	cmx_sa_info_init(port);
	cmx_sa_inform_init(port);
	cmx_stat_inc(sa_ports);
	return port;
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
	cmx_sa_port_read(port);
	cmx_sa_port_list(port);
	/* Queries the ClassPortInfo. No other query of it is outstanding. */
	cmx_sa_port_kick(port, 0);
	return 0;
}

/* The port is off the list. */
static void cmx_sa_port_remove(struct cmx_sa_port *port)
{
	struct ib_mad_agent *agent;
	struct cmx_sa_ah *ah;

	ib_unregister_event_handler(&port->events);
	cmx_sa_inform_stop(port);
	cancel_delayed_work_sync(&port->refresh);
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
