// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * MADs that a port has sent and received, by class, method, attribute and RMPP
 * type, so that a test can count queries.  Under slot.lock.
 */

#include <linux/seq_file.h>
#include <linux/slab.h>

#include "fabric.h"

/* Usual traffic has fewer kinds than this */
#define FAB_MADS_MAX	256

struct fab_mad_count {
	struct list_head node;
	u8 class;
	u8 method;
	u8 rmpp_type;
	u16 attr_id;
	u64 received;
	u64 sent;
};

/**
 * fab_rmpp_type - what part of a longer MAD this is
 * @packet: a MAD
 *
 * Return: IB_MGMT_RMPP_TYPE_*; 0 when it stands alone, or is of a class that
 * the tests do not look at
 */
u8 fab_rmpp_type(const struct fab_packet *packet)
{
	const struct ib_rmpp_mad *mad = (const void *)packet->data;

	if (mad->mad_hdr.mgmt_class != IB_MGMT_CLASS_SUBN_ADM ||
	    !(mad->rmpp_hdr.rmpp_rtime_flags & IB_MGMT_RMPP_FLAG_ACTIVE))
		return 0;
	return mad->rmpp_hdr.rmpp_type;
}

static struct fab_mad_count *fab_count_find(struct fab_slot *slot,
					    const struct fab_packet *packet)
{
	const struct ib_mad_hdr *mad = (const void *)packet->data;
	u16 attr_id = be16_to_cpu(mad->attr_id);
	u8 rmpp_type = fab_rmpp_type(packet);
	struct fab_mad_count *count;

	lockdep_assert_held(&slot->lock);
	list_for_each_entry(count, &slot->mads, node)
		if (count->class == mad->mgmt_class &&
		    count->method == mad->method &&
		    count->rmpp_type == rmpp_type && count->attr_id == attr_id)
			return count;
	if (slot->n_mads >= FAB_MADS_MAX)
		return NULL;
	count = kzalloc(sizeof(*count), GFP_ATOMIC | __GFP_NOWARN);
	if (!count)
		return NULL;
	count->class = mad->mgmt_class;
	count->method = mad->method;
	count->rmpp_type = rmpp_type;
	count->attr_id = attr_id;
	list_add_tail(&count->node, &slot->mads);
	slot->n_mads++;
	return count;
}

/**
 * fab_count - count a packet, if it is a MAD
 * @slot: whose device sends or receives it
 * @packet: the packet
 * @received: received, before any fault
 *
 * Context: any.
 */
void fab_count(struct fab_slot *slot, const struct fab_packet *packet,
	       bool received)
{
	struct fab_mad_count *count;
	unsigned long flags;

	if (!fab_packet_is_mad(packet))
		return;
	spin_lock_irqsave(&slot->lock, flags);
	count = fab_count_find(slot, packet);
	if (count && received)
		count->received++;
	else if (count)
		count->sent++;
	spin_unlock_irqrestore(&slot->lock, flags);
}

void fab_count_show(struct fab_slot *slot, struct seq_file *file)
{
	struct fab_mad_count *count;

	seq_puts(file, "class method attr rmpp received sent\n");
	spin_lock_irq(&slot->lock);
	list_for_each_entry(count, &slot->mads, node)
		seq_printf(file, "0x%02x 0x%02x 0x%04x %u %llu %llu\n",
			   count->class, count->method, count->attr_id,
			   count->rmpp_type, count->received, count->sent);
	spin_unlock_irq(&slot->lock);
}

void fab_count_clear(struct fab_slot *slot)
{
	struct fab_mad_count *count, *next;

	spin_lock_irq(&slot->lock);
	list_for_each_entry_safe(count, next, &slot->mads, node) {
		list_del(&count->node);
		kfree(count);
	}
	slot->n_mads = 0;
	spin_unlock_irq(&slot->lock);
}
