// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The state of a port that is not known to be active. A work item reads it, with
 * agent_lock. A caller that took the lock could keep it for long: its processor
 * may be busy with other threads of its user. Firmware may hang, so a caller who
 * delays others does not wait, or waits for a short time only.
 *
 * An outstanding read may have missed the event that a caller knows, so a caller
 * waits for one that begins later. All callers during a read share the next one.
 *
 * The work item has a reference of the port. cmx_sa_lock guards checking,
 * check_again, checks and check_end. Process context.
 */
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

#include "sa/internal.h"

/* Firmware that works responds in milliseconds. */
#define CMX_SA_CHECK_MS	200

/*
 * Starts a read. Returns false if the port is not listed: it is being removed,
 * and the work queue may end then. cmx_sa_inform_stop() takes the lock in
 * between.
 */
static bool cmx_sa_port_check_start(struct cmx_sa_port *port)
{
	port->checking = !list_empty_careful(&port->node);
	if (port->checking) {
		port->check_end = jiffies + msecs_to_jiffies(CMX_SA_CHECK_MS);
		cmx_sa_port_hold(port);
		cmx_sa_queue(&port->check);
	}
	return port->checking;
}

static void cmx_sa_port_check_work(struct work_struct *work)
{
	struct cmx_sa_port *port = container_of(work, struct cmx_sa_port, check);
	u32 ended = 1;

	cmx_sa_port_refresh(port);
	spin_lock(&cmx_sa_lock);
	port->checking = false;
	/* Without another read nobody waits for it. */
	if (port->check_again && !cmx_sa_port_check_start(port))
		ended++;
	port->check_again = false;
	/* After the state of the port */
	smp_store_release(&port->checks, port->checks + ended);
	spin_unlock(&cmx_sa_lock);
	/* Pairs with the barrier of wait_var_event(). */
	smp_mb();
	wake_up_var(&port->checks);
	cmx_sa_port_put(port);
}

/**
 * cmx_sa_port_check_begin - begin to read the state of a port
 * @port: the port
 *
 * Context: process context, does not sleep.
 * Return: for cmx_sa_port_check_ended().
 */
u32 cmx_sa_port_check_begin(struct cmx_sa_port *port)
{
	u32 after;

	spin_lock(&cmx_sa_lock);
	after = port->checks;
	if (port->checking) {
		port->check_again = true;
		after += 2;
	} else if (cmx_sa_port_check_start(port)) {
		after++;
	}
	spin_unlock(&cmx_sa_lock);
	return after;
}

/**
 * cmx_sa_port_check_ended - check that a read has ended
 * @port: the port
 * @after: from cmx_sa_port_check_begin()
 *
 * Context: any.
 */
bool cmx_sa_port_check_ended(const struct cmx_sa_port *port, u32 after)
{
	/* Pairs with the release of cmx_sa_port_check_work(). */
	return (s32)(smp_load_acquire(&port->checks) - after) >= 0;
}

/**
 * cmx_sa_port_check - check that a port is active
 * @port: the port
 *
 * The event may not have arrived yet, so this has the state of a port read that
 * is not known to be active. Callers share a read.
 *
 * Context: process context, may sleep for the firmware of the device; a killed
 * process does not. The caller holds no lock that others need meanwhile.
 * Return: true if the port is active, as far as known.
 */
bool cmx_sa_port_check(struct cmx_sa_port *port)
{
	u32 after;

	if (!cmx_sa_port_is_active(port)) {
		after = cmx_sa_port_check_begin(port);
		wait_var_event_killable(&port->checks,
					cmx_sa_port_check_ended(port, after));
	}
	return cmx_sa_port_is_active(port);
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
	u32 after, ended;
	long left;

	if (cmx_sa_port_is_active(port))
		return true;
	after = cmx_sa_port_check_begin(port);
	do {
		/* Before the end of the read that follows that one */
		ended = smp_load_acquire(&port->checks);
		left = READ_ONCE(port->check_end) - jiffies;
		if (left <= 0 || cmx_sa_port_check_ended(port, after))
			break;
	} while (wait_var_event_timeout(&port->checks,
					READ_ONCE(port->checks) != ended,
					left));
	return cmx_sa_port_is_active(port);
}

/**
 * cmx_sa_port_get - get an active port with a reference for the caller
 * @ibdev_index: index of its device
 * @port_num: its number
 *
 * Context: as for cmx_sa_port_check().
 * Return: the port, or NULL if it is not an active InfiniBand port.
 */
struct cmx_sa_port *cmx_sa_port_get(u32 ibdev_index, u32 port_num)
{
	struct cmx_sa_port *port = cmx_sa_port_find(ibdev_index, port_num);

	if (port && !cmx_sa_port_check(port)) {
		cmx_sa_port_put(port);
		port = NULL;
	}
	return port;
}

void cmx_sa_port_check_init(struct cmx_sa_port *port)
{
	INIT_WORK(&port->check, cmx_sa_port_check_work);
}
