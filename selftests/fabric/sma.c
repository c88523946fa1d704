// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The subnet management agent of a device.  What it reads and writes is under
 * fab_lock; events are reported after its release.
 */

#include "fabric.h"

/* Number of the device's port in its HCA */
static u8 fab_sma_number(const struct fab_dev *dev)
{
	return READ_ONCE(dev->slot->first) ? 2 : 1;
}

/* Is another device the second port of this one's HCA? */
static bool fab_sma_has_second(const struct fab_dev *dev)
{
	unsigned int i;

	for (i = 0; i < fab_n_slots; i++)
		if (READ_ONCE(fab_slots[i].first) == dev->slot->number)
			return true;
	return false;
}

static void fab_sma_node_info(struct fab_dev *dev, struct ib_smp *smp)
{
	unsigned int first = READ_ONCE(dev->slot->first);
	struct ib_node_info *info = (void *)smp->data;

	memset(smp->data, 0, sizeof(smp->data));
	info->base_version = 1;
	info->class_version = 1;
	info->node_type = 1;
	info->num_ports = first || fab_sma_has_second(dev) ? 2 : 1;
	info->node_guid = first ? cpu_to_be64(FAB_NODE_GUID | first << 8) :
				  dev->rdi.ibdev.node_guid;
	info->sys_guid = info->node_guid;
	info->port_guid = dev->port_guid;
	info->partition_cap = cpu_to_be16(FAB_PKEYS);
	info->local_port_num = fab_sma_number(dev);
}

static void fab_sma_port_info(struct fab_dev *dev, struct ib_smp *smp)
{
	struct ib_port_info *info = (void *)smp->data;
	unsigned long flags;

	spin_lock_irqsave(&fab_lock, flags);
	dev->port.cap_mask = dev->ibp.port_cap_flags;
	fab_portinfo_get(&dev->port, info);
	spin_unlock_irqrestore(&fab_lock, flags);
	info->local_port_num = fab_sma_number(dev);
	info->pkey_violations = cpu_to_be16(dev->ibp.pkey_violations);
	info->qkey_violations = cpu_to_be16(dev->ibp.qkey_violations);
}

static void fab_sma_port_info_set(struct fab_dev *dev, struct ib_smp *smp)
{
	struct ib_port_info *info = (void *)smp->data;
	u8 reregister = info->clientrereg_resv_subnetto & 0x80;
	unsigned long events = 0, flags;
	bool bounce = false;

	spin_lock_irqsave(&fab_lock, flags);
	smp->status |= fab_portinfo_set(&dev->port, FAB_PORT_HCA, info, &events,
					&bounce);
	/* rdmavt reads these for queries */
	dev->ibp.mkey = dev->port.mkey;
	dev->ibp.gid_prefix = dev->port.gid_prefix;
	dev->ibp.sm_lid = dev->port.sm_lid;
	dev->ibp.sm_sl = dev->port.sm_sl;
	dev->ibp.subnet_timeout = dev->port.subnet_timeout;
	spin_unlock_irqrestore(&fab_lock, flags);
	if (!info->pkey_violations)
		dev->ibp.pkey_violations = 0;
	if (!info->qkey_violations)
		dev->ibp.qkey_violations = 0;

	fab_dev_events(dev, events);
	if (bounce)
		fab_link_update(dev->slot, true);
	fab_sma_port_info(dev, smp);
	info->clientrereg_resv_subnetto |= reregister;
}

static void fab_sma_pkeys(struct fab_dev *dev, struct ib_smp *smp, bool set)
{
	__be16 *pkeys = (void *)smp->data;
	bool changed = false;
	unsigned long flags;

	if (be32_to_cpu(smp->attr_mod) & 0xffff) {
		smp->status |= FAB_STATUS(INVALID_ATTRIB_VALUE);
		return;
	}
	spin_lock_irqsave(&fab_lock, flags);
	if (set)
		changed = fab_pkeys_set(&dev->port, pkeys);
	memset(smp->data, 0, sizeof(smp->data));
	fab_pkeys_get(&dev->port, pkeys);
	spin_unlock_irqrestore(&fab_lock, flags);
	if (changed)
		fab_dev_events(dev, BIT(IB_EVENT_PKEY_CHANGE));
}

static void fab_sma_sl_to_vl(struct fab_dev *dev, struct ib_smp *smp, bool set)
{
	unsigned long flags;

	spin_lock_irqsave(&fab_lock, flags);
	if (set)
		memcpy(dev->port.sl2vl, smp->data, sizeof(dev->port.sl2vl));
	memset(smp->data, 0, sizeof(smp->data));
	memcpy(smp->data, dev->port.sl2vl, sizeof(dev->port.sl2vl));
	spin_unlock_irqrestore(&fab_lock, flags);
}

static bool fab_sma_attribute(struct fab_dev *dev, struct ib_smp *smp, bool set)
{
	switch (smp->attr_id) {
	case IB_SMP_ATTR_NODE_DESC:
		memcpy(smp->data, dev->rdi.ibdev.node_desc, sizeof(smp->data));
		return !set;
	case IB_SMP_ATTR_NODE_INFO:
		fab_sma_node_info(dev, smp);
		return !set;
	case IB_SMP_ATTR_GUID_INFO:
		memset(smp->data, 0, sizeof(smp->data));
		if (!smp->attr_mod)
			memcpy(smp->data, &dev->port_guid,
			       sizeof(dev->port_guid));
		return true;
	case IB_SMP_ATTR_PORT_INFO:
		if (set)
			fab_sma_port_info_set(dev, smp);
		else
			fab_sma_port_info(dev, smp);
		return true;
	case IB_SMP_ATTR_PKEY_TABLE:
		fab_sma_pkeys(dev, smp, set);
		return true;
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
		fab_sma_sl_to_vl(dev, smp, set);
		return true;
	case IB_SMP_ATTR_VL_ARB_TABLE:
		/* One VL: nothing to arbitrate */
		memset(smp->data, 0, sizeof(smp->data));
		return true;
	}
	return false;
}

/**
 * fab_sma_process - handle a subnet management packet
 * @dev: the device that has got it
 * @smp: the packet, which becomes its answer
 *
 * Context: any.
 * Return: IB_MAD_RESULT_*, for ib_core
 */
int fab_sma_process(struct fab_dev *dev, struct ib_smp *smp)
{
	bool set = smp->method == IB_MGMT_METHOD_SET;

	/* Answers, traps and their repressing are the subnet manager's */
	if (!set && smp->method != IB_MGMT_METHOD_GET)
		return IB_MAD_RESULT_SUCCESS;
	if (smp->attr_id == IB_SMP_ATTR_SM_INFO) {
		if (dev->ibp.port_cap_flags & IB_PORT_SM)
			return IB_MAD_RESULT_SUCCESS;
		if (dev->ibp.port_cap_flags & IB_PORT_SM_DISABLED)
			return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	}
	smp->status = 0;
	if (smp->class_version != 1)
		smp->status = FAB_STATUS(BAD_VERSION);
	else if (!fab_sma_attribute(dev, smp, set))
		smp->status = FAB_STATUS(UNSUPPORTED_METHOD_ATTRIB);
	smp->method = IB_MGMT_METHOD_GET_RESP;
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		smp->status |= IB_SMP_DIRECTION;
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}
