// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Rules by which a port drops, delays, duplicates or reorders incoming packets.
 * The first matching rule applies.  Under slot.lock.
 */

#include <linux/random.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "fabric.h"

#define FAB_ANY		-1
#define FAB_REORDER_MS	1000

/**
 * struct fab_fault - one rule
 * @node:	in the slot's list
 * @verdict:	the action
 * @data:	to datagrams other than MADs
 * @class:	what a MAD must have, or FAB_ANY
 * @method:	likewise
 * @attr_id:	likewise
 * @rmpp_type:	likewise
 * @skip:	that many fitting packets are spared first
 * @count:	that many are harmed, then the rule is over; 0: all
 * @chance:	in percent
 * @ms:		how long to hold it back
 * @hits:	harmed so far
 */
struct fab_fault {
	struct list_head node;
	enum fab_verdict verdict;
	bool data;
	int class;
	int method;
	int attr_id;
	int rmpp_type;
	u32 skip;
	u32 count;
	u32 chance;
	u32 ms;
	u32 hits;
};

static const char * const fab_fault_names[] = {
	[FAB_DROP] = "drop",
	[FAB_DELAY] = "delay",
	[FAB_DUPLICATE] = "duplicate",
	[FAB_REORDER] = "reorder",
};

static bool fab_fault_fits(const struct fab_fault *fault,
			   const struct fab_packet *packet)
{
	const struct ib_mad_hdr *mad = (const void *)packet->data;

	if (fab_packet_is_mad(packet) == fault->data)
		return false;
	if (fault->data)
		return true;
	if (fault->rmpp_type != FAB_ANY &&
	    fault->rmpp_type != fab_rmpp_type(packet))
		return false;
	return (fault->class == FAB_ANY || fault->class == mad->mgmt_class) &&
	       (fault->method == FAB_ANY || fault->method == mad->method) &&
	       (fault->attr_id == FAB_ANY ||
		fault->attr_id == be16_to_cpu(mad->attr_id));
}

/**
 * fab_fault_judge - the action for a packet
 * @slot: whose device receives it
 * @packet: the packet
 * @ms: set: how long to hold it back
 *
 * Context: any.
 */
enum fab_verdict fab_fault_judge(struct fab_slot *slot,
				 const struct fab_packet *packet, u32 *ms)
{
	enum fab_verdict verdict = FAB_PASS;
	struct fab_fault *fault;
	unsigned long flags;

	spin_lock_irqsave(&slot->lock, flags);
	list_for_each_entry(fault, &slot->faults, node) {
		if (!fab_fault_fits(fault, packet) ||
		    (fault->count && fault->hits >= fault->count))
			continue;
		if (fault->skip) {
			fault->skip--;
			break;
		}
		if (get_random_u32() % 100 >= fault->chance)
			break;
		fault->hits++;
		verdict = fault->verdict;
		*ms = fault->ms;
		break;
	}
	spin_unlock_irqrestore(&slot->lock, flags);
	return verdict;
}

static int fab_fault_option(struct fab_fault *fault, char *word)
{
	char *value = strchr(word, '=');
	u32 number;
	int ret;

	if (!strcmp(word, "data")) {
		fault->data = true;
		return 0;
	}
	if (!value)
		return -EINVAL;
	*value++ = 0;
	ret = kstrtou32(value, 0, &number);
	if (ret)
		return ret;
	if (!strcmp(word, "class") && number <= U8_MAX)
		fault->class = number;
	else if (!strcmp(word, "method") && number <= U8_MAX)
		fault->method = number;
	else if (!strcmp(word, "attr") && number <= U16_MAX)
		fault->attr_id = number;
	else if (!strcmp(word, "rmpp") && number <= IB_MGMT_RMPP_TYPE_ABORT)
		fault->rmpp_type = number;
	else if (!strcmp(word, "skip"))
		fault->skip = number;
	else if (!strcmp(word, "count"))
		fault->count = number;
	else if (!strcmp(word, "chance") && number <= 100)
		fault->chance = number;
	else if (!strcmp(word, "ms") && number <= 60000)
		fault->ms = number;
	else
		return -EINVAL;
	return 0;
}

/**
 * fab_fault_command - add a rule, or remove all
 * @slot: the slot
 * @text: "clear", or what to do and to which packets; destroyed
 *
 * Return: 0, -EINVAL for a word that is not known, or -ENOMEM
 */
int fab_fault_command(struct fab_slot *slot, char *text)
{
	struct fab_fault *fault;
	char *word = strsep(&text, " ");
	int verdict, ret;

	if (!strcmp(word, "clear")) {
		fab_fault_clear(slot);
		return 0;
	}
	verdict = match_string(fab_fault_names + 1,
			       ARRAY_SIZE(fab_fault_names) - 1, word) + 1;
	if (verdict <= FAB_PASS)
		return -EINVAL;
	fault = kzalloc(sizeof(*fault), GFP_KERNEL);
	if (!fault)
		return -ENOMEM;
	fault->verdict = verdict;
	fault->class = FAB_ANY;
	fault->method = FAB_ANY;
	fault->attr_id = FAB_ANY;
	fault->rmpp_type = FAB_ANY;
	fault->chance = 100;
	if (verdict == FAB_REORDER)
		fault->ms = FAB_REORDER_MS;
	while ((word = strsep(&text, " "))) {
		if (!*word)
			continue;
		ret = fab_fault_option(fault, word);
		if (ret) {
			kfree(fault);
			return ret;
		}
	}
	spin_lock_irq(&slot->lock);
	list_add_tail(&fault->node, &slot->faults);
	spin_unlock_irq(&slot->lock);
	return 0;
}

static void fab_fault_key(struct seq_file *file, const char *key, int value)
{
	if (value != FAB_ANY)
		seq_printf(file, " %s=0x%x", key, value);
}

void fab_fault_show(struct fab_slot *slot, struct seq_file *file)
{
	struct fab_fault *fault;

	spin_lock_irq(&slot->lock);
	list_for_each_entry(fault, &slot->faults, node) {
		seq_puts(file, fab_fault_names[fault->verdict]);
		if (fault->data)
			seq_puts(file, " data");
		fab_fault_key(file, "class", fault->class);
		fab_fault_key(file, "method", fault->method);
		fab_fault_key(file, "attr", fault->attr_id);
		fab_fault_key(file, "rmpp", fault->rmpp_type);
		seq_printf(file, " skip=%u count=%u chance=%u ms=%u hits=%u\n",
			   fault->skip, fault->count, fault->chance, fault->ms,
			   fault->hits);
	}
	spin_unlock_irq(&slot->lock);
}

void fab_fault_clear(struct fab_slot *slot)
{
	struct fab_fault *fault, *next;

	spin_lock_irq(&slot->lock);
	list_for_each_entry_safe(fault, next, &slot->faults, node) {
		list_del(&fault->node);
		kfree(fault);
	}
	spin_unlock_irq(&slot->lock);
}
