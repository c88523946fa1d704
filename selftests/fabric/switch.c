// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The switch: where packets go.  Tables and states are looked at under fab_lock,
 * which is released before a packet is forwarded.
 */

#include <linux/slab.h>

#include "fabric.h"

struct fab_switch fab_switch;

void fab_switch_init(void)
{
	memset(&fab_switch, 0, sizeof(fab_switch));
	memset(fab_switch.lft, FAB_NO_PORT, sizeof(fab_switch.lft));
	fab_port_init(&fab_switch.port0, IB_PORT_ACTIVE);
	fab_switch.port0.cap_mask = IB_PORT_TRAP_SUP |
				    IB_PORT_SYS_IMAGE_GUID_SUP;
	fab_switch.guid = cpu_to_be64(FAB_NODE_GUID | 0xffff0000);
}

/* Finds the port of a LID; 0: the switch's own */
static unsigned int fab_switch_lookup(u16 lid)
{
	lockdep_assert_held(&fab_lock);
	if (fab_port_owns(&fab_switch.port0, lid))
		return 0;
	if (lid > fab_switch.lft_top || lid >= FAB_LIDS)
		return FAB_NO_PORT;
	return fab_switch.lft[lid];
}

static struct fab_slot *fab_slot_get(unsigned int number)
{
	return number && number <= fab_n_slots ? &fab_slots[number - 1] : NULL;
}

/**
 * fab_peer - who answers to a LID
 * @from: the sender
 * @dlid: the LID
 *
 * Context: any, with a QP's locks or without; under rcu_read_lock(), and what
 * is returned is good until that is left.
 * Return: NULL when no packet would come through now: no cable, a port that is
 * not ACTIVE, or no route
 */
struct fab_dev *fab_peer(struct fab_dev *from, u16 dlid)
{
	struct fab_dev *peer = NULL;
	struct fab_slot *slot;
	unsigned long flags;

	spin_lock_irqsave(&fab_lock, flags);
	if (from->port.state != IB_PORT_ACTIVE)
		goto out;
	if (fab_port_owns(&from->port, dlid)) {
		peer = from;
		goto out;
	}
	slot = fab_slot_get(fab_switch_lookup(dlid));
	if (from->slot->port.state != IB_PORT_ACTIVE || !slot ||
	    slot->port.state != IB_PORT_ACTIVE)
		goto out;
	peer = rcu_dereference(slot->dev);
	if (peer && (peer->port.state < IB_PORT_ARMED ||
		     !fab_port_owns(&peer->port, dlid)))
		peer = NULL;
out:
	spin_unlock_irqrestore(&fab_lock, flags);
	return peer;
}

/**
 * fab_switch_output - send a packet out of a port
 * @slot: the port
 * @packet: the packet, which is given away
 */
void fab_switch_output(struct fab_slot *slot, struct fab_packet *packet)
{
	struct fab_dev *dev = NULL;
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&fab_lock, flags);
	if (packet->dst_qp ? slot->port.state == IB_PORT_ACTIVE : slot->up)
		dev = rcu_dereference(slot->dev);
	spin_unlock_irqrestore(&fab_lock, flags);
	if (dev) {
		atomic64_inc(&slot->traffic.tx_packets);
		atomic64_add(DIV_ROUND_UP(packet->length, 4),
			     &slot->traffic.tx_words);
		fab_wire_receive(dev, packet);
	} else {
		atomic64_inc(&slot->traffic.discards);
		fab_packet_free(packet);
	}
	rcu_read_unlock();
}

static void fab_switch_flood(struct fab_slot *in, struct fab_packet *packet)
{
	unsigned int index = packet->dlid - FAB_LID_MCAST;
	unsigned long ports = 0, flags;
	unsigned int number;

	spin_lock_irqsave(&fab_lock, flags);
	if (index < FAB_MLIDS)
		ports = fab_switch.mft[index] & ~BIT(in->number);
	spin_unlock_irqrestore(&fab_lock, flags);

	for_each_set_bit(number, &ports, BITS_PER_LONG) {
		struct fab_slot *slot = fab_slot_get(number);
		struct fab_packet *copy;

		if (!slot)
			continue;
		copy = kmemdup(packet,
			       struct_size(packet, data, packet->length),
			       GFP_ATOMIC | __GFP_NOWARN);
		if (copy)
			fab_switch_output(slot, copy);
	}
	fab_packet_free(packet);
}

/**
 * fab_switch_route - send a packet to its DLID
 * @packet: the packet, which is given away
 */
void fab_switch_route(struct fab_packet *packet)
{
	struct fab_slot *slot;
	unsigned int number;
	unsigned long flags;

	spin_lock_irqsave(&fab_lock, flags);
	number = fab_switch_lookup(packet->dlid);
	spin_unlock_irqrestore(&fab_lock, flags);
	slot = fab_slot_get(number);
	if (slot)
		fab_switch_output(slot, packet);
	else
		fab_packet_free(packet);
}

/**
 * fab_switch_input - take a packet from a port
 * @slot: the port
 * @packet: the packet, which is given away
 */
void fab_switch_input(struct fab_slot *slot, struct fab_packet *packet)
{
	struct ib_mad_hdr *mad = (struct ib_mad_hdr *)packet->data;
	unsigned long flags;
	bool ready, own, smp;

	spin_lock_irqsave(&fab_lock, flags);
	ready = packet->dst_qp ? slot->port.state >= IB_PORT_ARMED : slot->up;
	own = fab_port_owns(&fab_switch.port0, packet->dlid) ||
	      packet->dlid == FAB_LID_PERMISSIVE;
	spin_unlock_irqrestore(&fab_lock, flags);

	smp = !packet->dst_qp && fab_packet_is_mad(packet) &&
	      (mad->mgmt_class == IB_MGMT_CLASS_SUBN_LID_ROUTED ||
	       mad->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE);
	if (!ready || (!packet->dst_qp && !smp))
		fab_packet_free(packet);
	else if (own && smp)
		fab_switch_smp(slot, packet);
	else if (own)
		fab_switch_gmp(packet);
	else if (fab_lid_is_mcast(packet->dlid))
		fab_switch_flood(slot, packet);
	else
		fab_switch_route(packet);
}
