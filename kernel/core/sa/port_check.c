// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The state of a port that is not known to be active. Its firmware may hang, so
 * a caller who delays others waits for a short time only: a work item reads the
 * state. It has a reference of the port. cmx_sa_lock guards checking and
 * look_end. Process context.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "sa/internal.h"

/* Firmware that works responds in milliseconds. */
#define CMX_SA_CHECK_MS	200

static void cmx_sa_port_check_work(struct work_struct *work)
{
	struct cmx_sa_port *port = container_of(work, struct cmx_sa_port, check);

	cmx_sa_port_refresh(port);
	spin_lock(&cmx_sa_lock);
	WRITE_ONCE(port->checking, false);
	spin_unlock(&cmx_sa_lock);
	/* Pairs with the barrier of wait_var_event_timeout(). */
	smp_mb();
	wake_up_var(&port->checking);
	cmx_sa_port_put(port);
}

/*
 * Starts a read unless one is outstanding, and waits for it. The time is that
 * of the read, not of the caller. Returns true if it was an earlier one.
 *
 * A port that is not listed is being removed, and the work queue may end then.
 * cmx_sa_inform_stop() takes the lock in between.
 */
static bool cmx_sa_port_check_wait(struct cmx_sa_port *port)
{
	bool joined, gone;
	long left;

	spin_lock(&cmx_sa_lock);
	joined = port->checking;
	gone = !joined && list_empty_careful(&port->node);
	if (!joined && !gone) {
		WRITE_ONCE(port->checking, true);
		port->look_end = jiffies + msecs_to_jiffies(CMX_SA_CHECK_MS);
		cmx_sa_port_hold(port);
		cmx_sa_queue(&port->check);
	}
	left = port->look_end - jiffies;
	spin_unlock(&cmx_sa_lock);
	return !gone && left > 0 &&
	       wait_var_event_timeout(&port->checking,
				      !READ_ONCE(port->checking), left) &&
	       joined;
}

/**
 * cmx_sa_port_check_timeout - check that a port is active, in little time
 * @port: the port
 *
 * As cmx_sa_port_check(), but all callers together wait at most CMX_SA_CHECK_MS
 * for one read. If that read continues, later callers do not wait. So firmware
 * that hangs does not delay the work that is queued behind the callers.
 *
 * Context: process context, may sleep for at most twice CMX_SA_CHECK_MS.
 * Return: true if the port is active, as far as known.
 */
bool cmx_sa_port_check_timeout(struct cmx_sa_port *port)
{
	/* An earlier read may have missed the event that the caller knows. */
	if (!cmx_sa_port_is_active(port) && cmx_sa_port_check_wait(port) &&
	    !cmx_sa_port_is_active(port))
		cmx_sa_port_check_wait(port);
	return cmx_sa_port_is_active(port);
}

void cmx_sa_port_check_init(struct cmx_sa_port *port)
{
	INIT_WORK(&port->check, cmx_sa_port_check_work);
}
