// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Packets between a device and the switch, and a device's way in: counters,
 * faults and the queue that its receive work empties.  rx_lock guards the
 * queues.
 */

#include <linux/slab.h>

#include "fabric.h"

/* A slow receiver loses packets, like hardware */
#define FAB_RX_MAX	8192

struct fab_packet *fab_packet_new(u32 length, gfp_t gfp)
{
	struct fab_packet *packet;

	packet = kzalloc(struct_size(packet, data, length),
			 gfp | __GFP_NOWARN);
	if (packet)
		packet->length = length;
	return packet;
}

void fab_packet_free(struct fab_packet *packet)
{
	kfree(packet);
}

static struct fab_packet *fab_packet_copy(const struct fab_packet *packet)
{
	return kmemdup(packet, struct_size(packet, data, packet->length),
		       GFP_ATOMIC | __GFP_NOWARN);
}

static void fab_traffic_sent(struct fab_traffic *traffic,
			     const struct fab_packet *packet)
{
	atomic64_inc(&traffic->tx_packets);
	atomic64_add(DIV_ROUND_UP(packet->length, 4), &traffic->tx_words);
	if (fab_lid_is_mcast(packet->dlid))
		atomic64_inc(&traffic->mcast_tx);
}

static void fab_traffic_received(struct fab_traffic *traffic,
				 const struct fab_packet *packet)
{
	atomic64_inc(&traffic->rx_packets);
	atomic64_add(DIV_ROUND_UP(packet->length, 4), &traffic->rx_words);
	if (fab_lid_is_mcast(packet->dlid))
		atomic64_inc(&traffic->mcast_rx);
}

/**
 * fab_wire_send - send a packet from a device
 * @dev: the device
 * @packet: the packet, which is given away
 *
 * Lost silently, as on a wire, when the port may not send.
 *
 * Context: any, without a QP's locks.
 */
void fab_wire_send(struct fab_dev *dev, struct fab_packet *packet)
{
	struct fab_slot *slot = dev->slot;
	struct fab_packet *copy;
	unsigned long flags;
	bool ready, own;

	spin_lock_irqsave(&fab_lock, flags);
	ready = packet->dst_qp ? dev->port.state == IB_PORT_ACTIVE : slot->up;
	own = fab_port_owns(&dev->port, packet->dlid);
	spin_unlock_irqrestore(&fab_lock, flags);
	if (!ready) {
		atomic64_inc(&dev->traffic.discards);
		fab_packet_free(packet);
		return;
	}
	fab_count(slot, packet, false);
	fab_traffic_sent(&dev->traffic, packet);
	if (own) {
		fab_wire_receive(dev, packet);
		return;
	}
	if (fab_lid_is_mcast(packet->dlid)) {
		/*
		 * The switch does not send it back: the HCA delivers to its own
		 * QPs
		 */
		copy = fab_packet_copy(packet);
		if (copy)
			fab_wire_receive(dev, copy);
	}
	fab_traffic_received(&slot->traffic, packet);
	fab_switch_input(slot, packet);
}

/* Is the packet for this port, and does the port accept it now? */
static bool fab_wire_accepts(struct fab_dev *dev,
			     const struct fab_packet *packet)
{
	unsigned long flags;
	bool mine;

	spin_lock_irqsave(&fab_lock, flags);
	if (!packet->dst_qp)
		mine = packet->dlid == FAB_LID_PERMISSIVE ||
		       fab_port_owns(&dev->port, packet->dlid);
	else
		mine = dev->port.state >= IB_PORT_ARMED &&
		       (fab_lid_is_mcast(packet->dlid) ||
			fab_port_owns(&dev->port, packet->dlid));
	spin_unlock_irqrestore(&fab_lock, flags);
	return mine;
}

static void fab_rx_queue(struct fab_dev *dev, struct fab_packet *packet)
{
	lockdep_assert_held(&dev->rx_lock);
	if (dev->rx_count >= FAB_RX_MAX) {
		atomic64_inc(&dev->traffic.discards);
		fab_packet_free(packet);
		return;
	}
	dev->rx_count++;
	list_add_tail(&packet->node, &dev->rx);
	queue_work(dev->wq, &dev->rx_work);
}

static void fab_rx_hold(struct fab_dev *dev, struct fab_packet *packet, u32 ms)
{
	unsigned long wait = msecs_to_jiffies(ms);

	lockdep_assert_held(&dev->rx_lock);
	packet->due = jiffies + wait;
	list_add_tail(&packet->node, &dev->held);
	if (!delayed_work_pending(&dev->held_work) ||
	    time_before(packet->due, dev->held_work.timer.expires))
		mod_delayed_work(dev->wq, &dev->held_work, wait);
}

/* An overtaken packet is sent after the one that overtook it */
static void fab_rx_swapped(struct fab_dev *dev)
{
	struct fab_packet *packet, *next;

	lockdep_assert_held(&dev->rx_lock);
	list_for_each_entry_safe(packet, next, &dev->held, node) {
		if (!packet->swap)
			continue;
		list_del(&packet->node);
		fab_rx_queue(dev, packet);
	}
}

/**
 * fab_wire_receive - take a packet from the wire
 * @dev: who takes it
 * @packet: the packet, which is given away
 *
 * Context: any, without a QP's locks, and under rcu_read_lock() unless @dev is
 * the sender.
 */
void fab_wire_receive(struct fab_dev *dev, struct fab_packet *packet)
{
	struct fab_packet *copy = NULL;
	enum fab_verdict verdict;
	unsigned long flags;
	u32 ms = 0;

	if (!fab_wire_accepts(dev, packet)) {
		fab_packet_free(packet);
		return;
	}
	fab_count(dev->slot, packet, true);
	fab_traffic_received(&dev->traffic, packet);
	verdict = fab_fault_judge(dev->slot, packet, &ms);
	if (verdict == FAB_DROP) {
		fab_packet_free(packet);
		return;
	}
	if (verdict == FAB_DUPLICATE)
		copy = fab_packet_copy(packet);

	spin_lock_irqsave(&dev->rx_lock, flags);
	switch (verdict) {
	case FAB_REORDER:
		packet->swap = true;
		fallthrough;
	case FAB_DELAY:
		fab_rx_hold(dev, packet, ms);
		break;
	default:
		fab_rx_queue(dev, packet);
		if (copy)
			fab_rx_queue(dev, copy);
		fab_rx_swapped(dev);
	}
	spin_unlock_irqrestore(&dev->rx_lock, flags);
}

static void fab_rx_work(struct work_struct *work)
{
	struct fab_dev *dev = container_of(work, struct fab_dev, rx_work);
	struct fab_packet *packet;

	for (;;) {
		spin_lock_irq(&dev->rx_lock);
		packet = list_first_entry_or_null(&dev->rx, struct fab_packet,
						  node);
		if (packet) {
			list_del(&packet->node);
			dev->rx_count--;
		}
		spin_unlock_irq(&dev->rx_lock);
		if (!packet)
			return;
		fab_ud_receive(dev, packet);
		fab_packet_free(packet);
		cond_resched();
	}
}

static void fab_held_work(struct work_struct *work)
{
	struct fab_dev *dev = container_of(work, struct fab_dev,
					   held_work.work);
	struct fab_packet *packet, *next;
	unsigned long now = jiffies, first = 0;
	bool more = false;

	spin_lock_irq(&dev->rx_lock);
	list_for_each_entry_safe(packet, next, &dev->held, node) {
		if (time_after_eq(now, packet->due)) {
			list_del(&packet->node);
			fab_rx_queue(dev, packet);
		} else if (!more || time_before(packet->due, first)) {
			first = packet->due;
			more = true;
		}
	}
	if (more)
		mod_delayed_work(dev->wq, &dev->held_work, first - now);
	spin_unlock_irq(&dev->rx_lock);
}

void fab_wire_init(struct fab_dev *dev)
{
	spin_lock_init(&dev->rx_lock);
	INIT_LIST_HEAD(&dev->rx);
	INIT_LIST_HEAD(&dev->held);
	INIT_WORK(&dev->rx_work, fab_rx_work);
	INIT_DELAYED_WORK(&dev->held_work, fab_held_work);
}

/* The device is unlisted: packets to it are lost */
void fab_wire_stop(struct fab_dev *dev)
{
	struct fab_packet *packet, *next;

	cancel_delayed_work_sync(&dev->held_work);
	cancel_work_sync(&dev->rx_work);
	list_splice_init(&dev->held, &dev->rx);
	list_for_each_entry_safe(packet, next, &dev->rx, node)
		fab_packet_free(packet);
	INIT_LIST_HEAD(&dev->rx);
}
