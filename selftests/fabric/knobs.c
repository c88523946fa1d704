// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Knobs in debugfs, for root only: a folder for each slot, which stays when its
 * device is unplugged.  They take the locks of what they change.
 */

#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "fabric.h"

#define FAB_COMMAND_MAX	200
#define FAB_ANSWER_MS_MAX	10000

static struct dentry *fab_root;
static struct platform_device *fab_knobs_parent;

/* Copies a line from user space; the caller frees it */
static char *fab_line(const char __user *from, size_t length)
{
	char *text;

	if (length > FAB_COMMAND_MAX)
		return ERR_PTR(-EINVAL);
	text = memdup_user_nul(from, length);
	if (!IS_ERR(text))
		strim(text);
	return text;
}

static struct fab_slot *fab_slot_of(struct file *file)
{
	return ((struct seq_file *)file->private_data)->private;
}

static int fab_faults_show(struct seq_file *file, void *unused)
{
	fab_fault_show(file->private, file);
	return 0;
}

static ssize_t fab_faults_write(struct file *file, const char __user *from,
				size_t length, loff_t *pos)
{
	char *text = fab_line(from, length);
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = fab_fault_command(fab_slot_of(file), text);
	kfree(text);
	return ret ?: length;
}

static int fab_mads_show(struct seq_file *file, void *unused)
{
	fab_count_show(file->private, file);
	return 0;
}

/* Any write resets all counts */
static ssize_t fab_mads_write(struct file *file, const char __user *from,
			      size_t length, loff_t *pos)
{
	fab_count_clear(fab_slot_of(file));
	return length;
}

static int fab_link_show(struct seq_file *file, void *unused)
{
	struct fab_slot *slot = file->private;

	seq_printf(file, "%u\n", READ_ONCE(slot->cable));
	return 0;
}

static ssize_t fab_link_write(struct file *file, const char __user *from,
			      size_t length, loff_t *pos)
{
	bool whole;
	int ret = kstrtobool_from_user(from, length, &whole);

	if (ret)
		return ret;
	fab_link_cable(fab_slot_of(file), whole);
	return length;
}

static int fab_plugged_show(struct seq_file *file, void *unused)
{
	struct fab_slot *slot = file->private;

	seq_printf(file, "%u\n", !!rcu_access_pointer(slot->dev));
	return 0;
}

static ssize_t fab_plugged_write(struct file *file, const char __user *from,
				 size_t length, loff_t *pos)
{
	struct fab_slot *slot = fab_slot_of(file);
	bool plugged;
	int ret = kstrtobool_from_user(from, length, &plugged);

	if (ret)
		return ret;
	mutex_lock(&fab_plug_mutex);
	if (!plugged)
		fab_dev_unplug(slot);
	else if (!rcu_access_pointer(slot->dev))
		ret = fab_dev_plug(slot, fab_knobs_parent);
	mutex_unlock(&fab_plug_mutex);
	return ret ?: length;
}

static int fab_answer_ms_show(struct seq_file *file, void *unused)
{
	struct fab_slot *slot = file->private;

	seq_printf(file, "%u\n", READ_ONCE(slot->answer_ms));
	return 0;
}

static ssize_t fab_answer_ms_write(struct file *file, const char __user *from,
				   size_t length, loff_t *pos)
{
	unsigned int ms;
	int ret = kstrtouint_from_user(from, length, 0, &ms);

	if (ret)
		return ret;
	if (ms > FAB_ANSWER_MS_MAX)
		return -EINVAL;
	WRITE_ONCE(fab_slot_of(file)->answer_ms, ms);
	return length;
}

static int fab_first_show(struct seq_file *file, void *unused)
{
	struct fab_slot *slot = file->private;

	seq_printf(file, "%u\n", READ_ONCE(slot->first));
	return 0;
}

/* A subnet manager that knows the devices detects it after a restart */
static ssize_t fab_first_write(struct file *file, const char __user *from,
			       size_t length, loff_t *pos)
{
	struct fab_slot *slot = fab_slot_of(file);
	unsigned int first;
	int ret = kstrtouint_from_user(from, length, 0, &first);

	if (ret)
		return ret;
	if (first > fab_n_slots || first == slot->number)
		return -EINVAL;
	WRITE_ONCE(slot->first, first);
	return length;
}

static const struct {
	const char *name;
	enum ib_event_type event;
} fab_events[] = {
	{ "port_active", IB_EVENT_PORT_ACTIVE },
	{ "port_error", IB_EVENT_PORT_ERR },
	{ "lid_change", IB_EVENT_LID_CHANGE },
	{ "pkey_change", IB_EVENT_PKEY_CHANGE },
	{ "sm_change", IB_EVENT_SM_CHANGE },
	{ "client_reregister", IB_EVENT_CLIENT_REREGISTER },
	{ "gid_change", IB_EVENT_GID_CHANGE },
	{ "device_fatal", IB_EVENT_DEVICE_FATAL },
};

static int fab_event_show(struct seq_file *file, void *unused)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(fab_events); i++)
		seq_printf(file, "%s\n", fab_events[i].name);
	return 0;
}

static int fab_event_raise(struct fab_slot *slot, const char *name)
{
	struct fab_dev *dev;
	int i, ret = -EINVAL;

	for (i = 0; i < ARRAY_SIZE(fab_events); i++) {
		if (strcmp(name, fab_events[i].name))
			continue;
		rcu_read_lock();
		dev = rcu_dereference(slot->dev);
		if (dev)
			fab_dev_events(dev, BIT(fab_events[i].event));
		ret = dev ? 0 : -ENODEV;
		rcu_read_unlock();
	}
	return ret;
}

static ssize_t fab_event_write(struct file *file, const char __user *from,
			       size_t length, loff_t *pos)
{
	char *text = fab_line(from, length);
	int ret;

	if (IS_ERR(text))
		return PTR_ERR(text);
	ret = fab_event_raise(fab_slot_of(file), text);
	kfree(text);
	return ret ?: length;
}

static const char *fab_state_name(u8 state)
{
	switch (state) {
	case IB_PORT_DOWN: return "DOWN";
	case IB_PORT_INIT: return "INIT";
	case IB_PORT_ARMED: return "ARMED";
	case IB_PORT_ACTIVE: return "ACTIVE";
	}
	return "?";
}

static int fab_status_show(struct seq_file *file, void *unused)
{
	struct fab_slot *slot = file->private;
	struct fab_dev *dev;

	rcu_read_lock();
	spin_lock_irq(&fab_lock);
	seq_printf(file, "switch port %u %s\n", slot->number,
		   fab_state_name(slot->port.state));
	dev = rcu_dereference(slot->dev);
	if (dev)
		seq_printf(file,
			   "device %s %s guid 0x%016llx lid %u lmc %u sm %u\n",
			   dev_name(&dev->rdi.ibdev.dev),
			   fab_state_name(dev->port.state),
			   be64_to_cpu(dev->port_guid), dev->port.lid,
			   dev->port.lmc, dev->port.sm_lid);
	spin_unlock_irq(&fab_lock);
	if (dev)
		seq_printf(file, "packets in %lld out %lld, dropped in %llu out %lld\n",
			   atomic64_read(&dev->traffic.rx_packets),
			   atomic64_read(&dev->traffic.tx_packets),
			   dev->ibp.n_pkt_drops,
			   atomic64_read(&dev->traffic.discards));
	rcu_read_unlock();
	return 0;
}

#define FAB_KNOB(name)							\
	static int fab_##name##_open(struct inode *inode,		\
				     struct file *file)			\
	{								\
		return single_open(file, fab_##name##_show,		\
				   inode->i_private);			\
	}								\
	static const struct file_operations fab_##name##_fops = {	\
		.owner = THIS_MODULE,					\
		.open = fab_##name##_open,				\
		.read = seq_read,					\
		.write = fab_##name##_write,				\
		.llseek = seq_lseek,					\
		.release = single_release,				\
	}

FAB_KNOB(faults);
FAB_KNOB(mads);
FAB_KNOB(link);
FAB_KNOB(plugged);
FAB_KNOB(answer_ms);
FAB_KNOB(first);
FAB_KNOB(event);
DEFINE_SHOW_ATTRIBUTE(fab_status);

/**
 * fab_knobs_add - make the knobs
 * @parent: the parent of devices that are plugged in by a knob
 */
void fab_knobs_add(struct platform_device *parent)
{
	unsigned int i;
	char name[16];

	fab_knobs_parent = parent;
	fab_root = debugfs_create_dir("cmx_fabric", NULL);
	for (i = 0; i < fab_n_slots; i++) {
		struct fab_slot *slot = &fab_slots[i];
		struct dentry *dir;

		snprintf(name, sizeof(name), "fab%u", i);
		dir = debugfs_create_dir(name, fab_root);
		debugfs_create_file("faults", 0600, dir, slot,
				    &fab_faults_fops);
		debugfs_create_file("mads", 0600, dir, slot, &fab_mads_fops);
		debugfs_create_file("link", 0600, dir, slot, &fab_link_fops);
		debugfs_create_file("plugged", 0600, dir, slot,
				    &fab_plugged_fops);
		debugfs_create_file("answer_ms", 0600, dir, slot,
				    &fab_answer_ms_fops);
		debugfs_create_file("first", 0600, dir, slot, &fab_first_fops);
		debugfs_create_file("event", 0600, dir, slot, &fab_event_fops);
		debugfs_create_file("status", 0400, dir, slot,
				    &fab_status_fops);
	}
}

/* Returns when no knob is in use any more */
void fab_knobs_remove(void)
{
	debugfs_remove_recursive(fab_root);
}
