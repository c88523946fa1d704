// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Route queries of rdma_cm, and ids that are destroyed while a query is
 * outstanding: see route.h for the race with the removal of the device.
 *
 * ib_core removes its clients in the reverse order of their registration, so
 * this module's remove callback returns before that of rdma_cm begins. It waits
 * for ids that are being destroyed. From then on, an id is destroyed only after
 * DEVICE_REMOVAL, when the thread that removes the device has finished with the
 * id: it does not sleep between the event and the cancel of the query.
 *
 * Clients between the two may take long, and one may wait for the process that
 * destroys the id, as uverbs of some drivers does. So the wait for
 * DEVICE_REMOVAL has a limit. It does not start if no device is being removed:
 * this module's add callback may be late, or have failed, and the user chooses
 * the query's timeout.
 */
#include <linux/export.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/wait_bit.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#include "resolve/resolve.h"
#include "route.h"

/* True if rdma_cm makes the route locally, in a work item without a cancel */
static bool cmx_route_is_local(const struct rdma_cm_id *id,
			       const struct cmx_route *route)
{
	return cmx_route_is_addressed(route) &&
	       READ_ONCE(route->state) == CMX_ROUTE_NONE &&
	       !rdma_cap_ib_sa(id->device, id->port_num);
}

/*
 * Without the handler lock, for which the work item would wait. No other query
 * is outstanding, so no event of one ends the state. DEVICE_REMOVAL may arrive
 * while the call fails, and the thread that removes the device continues as if
 * there was a query: REMOVED stays.
 */
static int cmx_route_start_local(struct rdma_cm_id *id, struct cmx_route *route,
				 u32 timeout_ms)
{
	int ret;

	WRITE_ONCE(route->state, CMX_ROUTE_OUTSTANDING);
	ret = rdma_resolve_route(id, timeout_ms);
	if (!ret)
		return 0;
	rdma_lock_handler(id);
	if (route->state == CMX_ROUTE_OUTSTANDING)
		WRITE_ONCE(route->state, CMX_ROUTE_NONE);
	rdma_unlock_handler(id);
	return ret;
}

/**
 * rdma_cmx_route_start - start the route query of an id
 * @id: the id; its handler calls rdma_cmx_route_event()
 * @route: the state of its query
 * @timeout_ms: timeout in milliseconds, as for rdma_resolve_route()
 * @tos: type of service of @id
 * @uid: user that an SA query counts for
 *
 * The caller serialises the calls for an id. The events are those of
 * rdma_resolve_route().
 *
 * Context: process context, may sleep. If the port has an SA it takes the
 * handler lock, for which the event waits. Unless @route is locked, it may wait
 * for the firmware of a port that is not known to be active.
 *
 * Return: as rdma_resolve_route(); -EAGAIN: too many SA queries of @uid wait.
 */
int rdma_cmx_route_start(struct rdma_cm_id *id, struct cmx_route *route,
			 u32 timeout_ms, u8 tos, kuid_t uid)
{
	int ret;

	if (cmx_route_is_queried(route))
		return -EINVAL;
	if (cmx_route_is_local(id, route))
		return cmx_route_start_local(id, route, timeout_ms);
	ret = cmx_route_query_start(id, route, timeout_ms, tos, uid);
	/* rdma_cm's queries must not circumvent a user's limit. */
	if (!ret || ret == -EAGAIN)
		return ret;
	rdma_lock_handler(id);
	ret = rdma_resolve_route(id, timeout_ms);
	if (!ret)
		WRITE_ONCE(route->state, CMX_ROUTE_OUTSTANDING);
	rdma_unlock_handler(id);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_route_start);

/**
 * rdma_cmx_route_event - process an event of an id
 * @route: the state of the id's query
 * @event: any event
 *
 * Context: the id's event handler, which must not sleep after this call for
 * RDMA_CM_EVENT_DEVICE_REMOVAL.
 */
void rdma_cmx_route_event(struct cmx_route *route,
			  const struct rdma_cm_event *event)
{
	enum cmx_route_state state;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		/* Pairs with cmx_route_is_addressed(). */
		smp_store_release(&route->addressed, true);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		WRITE_ONCE(route->addressed, false);
		/* The query of rdma_cmx for a removed device has no event. */
		if (cmx_route_is_queried(route))
			WRITE_ONCE(route->state, CMX_ROUTE_NONE);
		break;
	default:
		break;
	}
	if (READ_ONCE(route->state) != CMX_ROUTE_OUTSTANDING)
		return;
	switch (event->event) {
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		state = CMX_ROUTE_NONE;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		state = CMX_ROUTE_REMOVED;
		route->remover = task_pid_nr(current);
		route->switches = current->nvcsw;
		break;
	default:
		return;
	}
	/* After @remover and @switches, which are read without a lock */
	smp_store_release(&route->state, state);
	/* Pairs with the barrier of wait_var_event(). */
	smp_mb();
	wake_up_var(&route->state);
}
EXPORT_SYMBOL_GPL(rdma_cmx_route_event);

/* Returns false if the device is being removed, or is not added yet. */
static bool cmx_route_destroy_before_removal(struct rdma_cm_id *id)
{
	struct cmx_ibdev *dev = cmx_device_hold(id->device);

	if (!dev)
		return false;
	rdma_destroy_id(id);
	cmx_device_release(dev);
	return true;
}

/*
 * True if the thread that removes the device has slept since DEVICE_REMOVAL, or
 * has exited: it has cancelled the query. It sleeps soon, because rdma_cm waits
 * for the id.
 *
 * Neither a grace period nor a lock would do: any process can prolong those.
 */
static bool cmx_route_is_cancelled(const struct cmx_route *route)
{
	struct task_struct *remover;
	bool slept;

	rcu_read_lock();
	remover = pid_task(find_pid_ns(route->remover, &init_pid_ns),
			   PIDTYPE_PID);
	slept = !remover ||
		(u32)READ_ONCE(remover->nvcsw) != route->switches;
	rcu_read_unlock();
	/* After all that the thread did before. Pairs with __schedule(). */
	smp_mb();
	return slept;
}

/**
 * rdma_cmx_route_destroy - destroy an id that may have an outstanding query
 * @id: the id
 * @route: the state of its query
 *
 * Context: process context, may sleep. Not in an event handler. The caller
 * holds no lock that the handler of @id takes.
 */
void rdma_cmx_route_destroy(struct rdma_cm_id *id, struct cmx_route *route)
{
	unsigned long left;

	cmx_route_query_stop(route);
	while (READ_ONCE(route->state) == CMX_ROUTE_OUTSTANDING) {
		if (cmx_route_destroy_before_removal(id)) {
			WRITE_ONCE(route->state, CMX_ROUTE_NONE);
			WRITE_ONCE(route->addressed, false);
			return;
		}
		left = cmx_device_removal_left();
		if (!left)
			break;
		wait_var_event_timeout(&route->state, READ_ONCE(route->state) !=
				       CMX_ROUTE_OUTSTANDING,
				       min_t(unsigned long, left, HZ));
	}
	/* Pairs with the release of rdma_cmx_route_event(). */
	if (smp_load_acquire(&route->state) == CMX_ROUTE_REMOVED)
		while (!cmx_route_is_cancelled(route))
			schedule_timeout_uninterruptible(1);
	rdma_destroy_id(id);
	WRITE_ONCE(route->state, CMX_ROUTE_NONE);
	/* Another id may use @route. */
	WRITE_ONCE(route->addressed, false);
}
EXPORT_SYMBOL_GPL(rdma_cmx_route_destroy);
