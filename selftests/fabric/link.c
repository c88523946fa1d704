// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The link between a port of the switch and a device: up when the cable is
 * whole, something is plugged in and neither end is disabled.  Under fab_lock.
 */

#include "fabric.h"

static bool fab_link_set(struct fab_slot *slot, struct fab_dev *dev, bool up,
			 unsigned long *events)
{
	u8 state = up ? IB_PORT_INIT : IB_PORT_DOWN;

	lockdep_assert_held(&fab_lock);
	if (slot->up == up)
		return false;
	slot->up = up;
	slot->port.state = state;
	if (dev) {
		if (dev->port.state == IB_PORT_ACTIVE)
			*events |= BIT(IB_EVENT_PORT_ERR);
		dev->port.state = state;
	}
	fab_switch.changed = true;
	return true;
}

/**
 * fab_link_update - have the link follow what it depends on
 * @slot: the switch's port
 * @bounce: take it down and up again when it is up
 *
 * Context: any.
 */
void fab_link_update(struct fab_slot *slot, bool bounce)
{
	unsigned long events = 0, flags;
	struct fab_dev *dev;
	bool changed = false, up;

	rcu_read_lock();
	spin_lock_irqsave(&fab_lock, flags);
	dev = rcu_dereference(slot->dev);
	up = slot->cable && dev && !dev->port.disabled && !slot->port.disabled;
	if (bounce)
		changed = fab_link_set(slot, dev, false, &events);
	changed |= fab_link_set(slot, dev, up, &events);
	spin_unlock_irqrestore(&fab_lock, flags);
	if (dev)
		fab_dev_events(dev, events);
	rcu_read_unlock();
	if (changed)
		fab_switch_trap();
}

/**
 * fab_link_cable - pull a slot's cable or put it in
 * @slot: the slot
 * @whole: put it in
 */
void fab_link_cable(struct fab_slot *slot, bool whole)
{
	unsigned long flags;

	spin_lock_irqsave(&fab_lock, flags);
	slot->cable = whole;
	spin_unlock_irqrestore(&fab_lock, flags);
	fab_link_update(slot, false);
}
