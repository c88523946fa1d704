// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx_fabric: the module's parameters, beginning and end.  fab_plug_mutex is
 * taken around devices coming and going.
 */

#include <linux/module.h>

#include "fabric.h"

static unsigned int devices = 4;
module_param(devices, uint, 0444);
MODULE_PARM_DESC(devices, "InfiniBand devices on the switch, 1 to 16 (default 4)");

DEFINE_SPINLOCK(fab_lock);
DEFINE_MUTEX(fab_plug_mutex); /* devices coming and going */
struct fab_slot fab_slots[FAB_SLOTS_MAX];
unsigned int fab_n_slots;

static struct platform_device *fab_parent;

static void fab_slot_init(struct fab_slot *slot, unsigned int number)
{
	slot->number = number;
	slot->cable = true;
	fab_port_init(&slot->port, IB_PORT_DOWN);
	spin_lock_init(&slot->lock);
	INIT_LIST_HEAD(&slot->faults);
	INIT_LIST_HEAD(&slot->mads);
}

static void fab_slots_unplug(void)
{
	unsigned int i;

	/*
	 * The first device usually has the subnet manager, which the others use
	 * at their removal
	 */
	mutex_lock(&fab_plug_mutex);
	for (i = fab_n_slots; i > 0; i--)
		fab_dev_unplug(&fab_slots[i - 1]);
	mutex_unlock(&fab_plug_mutex);
	for (i = 0; i < fab_n_slots; i++) {
		fab_fault_clear(&fab_slots[i]);
		fab_count_clear(&fab_slots[i]);
	}
}

static int __init fab_init(void)
{
	unsigned int i;
	int ret = 0;

	if (!devices || devices > FAB_SLOTS_MAX)
		return -EINVAL;
	fab_parent = platform_device_register_simple("cmx_fabric", -1, NULL, 0);
	if (IS_ERR(fab_parent))
		return PTR_ERR(fab_parent);
	ret = ib_register_client(&fab_client);
	if (ret)
		goto err_parent;

	fab_switch_init();
	fab_n_slots = devices;
	for (i = 0; i < fab_n_slots; i++)
		fab_slot_init(&fab_slots[i], i + 1);
	mutex_lock(&fab_plug_mutex);
	for (i = 0; i < fab_n_slots && !ret; i++)
		ret = fab_dev_plug(&fab_slots[i], fab_parent);
	mutex_unlock(&fab_plug_mutex);
	if (ret)
		goto err_slots;
	fab_knobs_add(fab_parent);
	return 0;

err_slots:
	fab_slots_unplug();
	ib_unregister_client(&fab_client);
err_parent:
	platform_device_unregister(fab_parent);
	return ret;
}
module_init(fab_init);

static void __exit fab_exit(void)
{
	fab_knobs_remove();
	fab_slots_unplug();
	ib_unregister_client(&fab_client);
	platform_device_unregister(fab_parent);
}
module_exit(fab_exit);

MODULE_DESCRIPTION("InfiniBand devices and their switch in software, for tests");
MODULE_LICENSE("Dual BSD/GPL");
