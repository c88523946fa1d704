// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A device's life: how it shows itself to rdmavt and ib_core, and how it comes
 * and goes.  fab_plug_mutex is held for the latter.
 */

#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/vmalloc.h>

#include "fabric.h"

#define FAB_QPS_MAX	16000
#define FAB_QPN_FIRST	16
#define FAB_RD_ATOMIC	16
#define FAB_FAST_REG_PAGES	512

/* rdmavt names its device in messages by that of a PCI device */
static struct pci_dev fab_pci = { .dev.init_name = "cmx_fabric" };

static struct pci_dev *fab_get_pci_dev(struct rvt_dev_info *rdi)
{
	return &fab_pci;
}

static int fab_query_port_state(struct rvt_dev_info *rdi, u32 port_num,
				struct ib_port_attr *attr)
{
	struct fab_dev *dev = container_of(rdi, struct fab_dev, rdi);
	unsigned long flags;

	spin_lock_irqsave(&fab_lock, flags);
	attr->lid = dev->port.lid;
	attr->lmc = dev->port.lmc;
	attr->state = dev->port.state;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	if (dev->port.state == IB_PORT_DOWN)
		attr->phys_state = dev->port.disabled ?
				   IB_PORT_PHYS_STATE_DISABLED :
				   IB_PORT_PHYS_STATE_POLLING;
	attr->active_mtu = dev->port.mtu;
	spin_unlock_irqrestore(&fab_lock, flags);
	attr->max_mtu = FAB_MTU;
	attr->gid_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_QDR;
	return 0;
}

static int fab_get_guid(struct rvt_dev_info *rdi, struct rvt_ibport *ibp,
			int index, __be64 *guid)
{
	struct fab_dev *dev = container_of(rdi, struct fab_dev, rdi);

	if (index)
		return -EINVAL;
	*guid = dev->port_guid;
	return 0;
}

static int fab_shut_down_port(struct rvt_dev_info *rdi, u32 port_num)
{
	return -EOPNOTSUPP;
}

static int fab_modify_device(struct ib_device *ibdev, int mask,
			     struct ib_device_modify *modify)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC)
		memcpy(ibdev->node_desc, modify->node_desc,
		       sizeof(ibdev->node_desc));
	return 0;
}

/* rdmavt only checks that it exists */
static unsigned int fab_free_all_qps(struct rvt_dev_info *rdi)
{
	return 0;
}

/* The objects of a user go with the device, see fab_mmap() */
static void fab_disassociate_ucontext(struct ib_ucontext *context)
{
}

/*
 * rdmavt's mappings reference its object until they are closed, and the object
 * points to the user context, which does not live that long when the device is
 * removed first.  The pages have their own references: put the object at once.
 */
static int (*fab_rvt_mmap)(struct ib_ucontext *context,
			   struct vm_area_struct *vma);

static int fab_mmap(struct ib_ucontext *context, struct vm_area_struct *vma)
{
	int ret = fab_rvt_mmap(context, vma);

	if (ret)
		return ret;
	if (vma->vm_ops && vma->vm_ops->close)
		vma->vm_ops->close(vma);
	vma->vm_ops = NULL;
	vma->vm_private_data = NULL;
	return 0;
}

/*
 * rdmavt waits for the work item that calls the completion handler, which may
 * queue ib_core's only then. ib_core has cancelled that before, and does not
 * again: it would poll a queue that is freed.
 */
static int (*fab_rvt_destroy_cq)(struct ib_cq *cq, struct ib_udata *udata);

static int fab_destroy_cq(struct ib_cq *cq, struct ib_udata *udata)
{
	flush_work(&ibcq_to_rvtcq(cq)->comptask);
	if (cq->poll_ctx == IB_POLL_WORKQUEUE ||
	    cq->poll_ctx == IB_POLL_UNBOUND_WORKQUEUE)
		cancel_work_sync(&cq->work);
	return fab_rvt_destroy_cq(cq, udata);
}

static const struct attribute_group *fab_port_groups[] = { NULL };

static const struct ib_device_ops fab_dev_ops = {
	.owner = THIS_MODULE,
	/* so that a stock user space provider takes it */
	.driver_id = RDMA_DRIVER_QIB,
	.port_groups = fab_port_groups,
	.modify_device = fab_modify_device,
	.process_mad = fab_process_mad,
	.disassociate_ucontext = fab_disassociate_ucontext,
};

static void fab_attributes(struct ib_device_attr *attr)
{
	attr->device_cap_flags = IB_DEVICE_BAD_PKEY_CNTR |
				 IB_DEVICE_BAD_QKEY_CNTR |
				 IB_DEVICE_SYS_IMAGE_GUID |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SRQ_RESIZE |
				 IB_DEVICE_MEM_MGT_EXTENSIONS;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_mr_size = ~0ULL;
	attr->max_qp = FAB_QPS_MAX;
	attr->max_qp_wr = 16384;
	attr->max_send_sge = 32;
	attr->max_recv_sge = 32;
	attr->max_sge_rd = 32;
	attr->max_cq = 16384;
	attr->max_cqe = 65535;
	attr->max_mr = 65535;
	attr->max_fast_reg_page_list_len = FAB_FAST_REG_PAGES;
	attr->max_pd = 16384;
	attr->max_ah = 65535;
	attr->max_srq = 1024;
	attr->max_srq_wr = 32767;
	attr->max_srq_sge = 32;
	attr->max_qp_rd_atom = FAB_RD_ATOMIC;
	attr->max_qp_init_rd_atom = FAB_RD_ATOMIC;
	attr->max_res_rd_atom = FAB_RD_ATOMIC * FAB_QPS_MAX;
	attr->atomic_cap = IB_ATOMIC_GLOB;
	attr->max_pkeys = FAB_PKEYS;
	attr->max_mcast_grp = 1024;
	attr->max_mcast_qp_attach = 64;
	attr->max_total_mcast_qp_attach = 1024 * 64;
	attr->local_ca_ack_delay = 1;
}

static void fab_parameters(struct fab_dev *dev)
{
	struct rvt_driver_params *params = &dev->rdi.dparms;
	struct rvt_driver_provided *ops = &dev->rdi.driver_f;

	fab_attributes(&params->props);
	params->props.sys_image_guid = dev->rdi.ibdev.node_guid;
	params->lkey_table_size = 16;
	params->qp_table_size = 256;
	params->qpn_start = FAB_QPN_FIRST;
	params->qpn_inc = 1;
	params->qpn_res_start = 2;
	params->qpn_res_end = FAB_QPN_FIRST - 1;
	params->qos_shift = 1;
	params->psn_mask = 0xffffff;
	params->psn_shift = 8;
	params->psn_modify_mask = 0xffffff;
	params->nports = 1;
	params->npkeys = FAB_PKEYS;
	params->node = first_online_node;
	params->max_rdma_atomic = FAB_RD_ATOMIC;
	params->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	params->max_mad_size = IB_MGMT_MAD_SIZE;
	params->sge_copy_mode = RVT_SGE_COPY_MEMCPY;

	fab_send_ops(ops);
	ops->get_pci_dev = fab_get_pci_dev;
	ops->check_ah = fab_check_ah;
	ops->get_guid_be = fab_get_guid;
	ops->query_port_state = fab_query_port_state;
	ops->shut_down_port = fab_shut_down_port;
	ops->cap_mask_chg = fab_cap_mask_changed;
	ops->free_all_qps = fab_free_all_qps;
	dev->rdi.post_parms = fab_post_parms;
	dev->rdi.wc_opcode = fab_wc_opcode;
}

/**
 * fab_dev_events - report events of a device's port
 * @dev: the device
 * @events: a bit for each IB_EVENT_*
 *
 * Context: any.
 */
void fab_dev_events(struct fab_dev *dev, unsigned long events)
{
	struct ib_event event = {
		.device = &dev->rdi.ibdev,
		.element.port_num = 1,
	};
	unsigned int bit;

	rcu_read_lock();
	if (!READ_ONCE(dev->dying)) {
		for_each_set_bit(bit, &events, BITS_PER_LONG) {
			event.event = bit;
			ib_dispatch_event(&event);
		}
	}
	rcu_read_unlock();
}

/*
 * rdmavt registers an agent for traps.  It would outlive ib_core's part of it
 * when the device changes its namespace, and the traps here need no agent.
 */
static void fab_agent_drop(struct fab_dev *dev)
{
	struct ib_mad_agent *agent = dev->ibp.send_agent;

	dev->ibp.send_agent = NULL;
	if (agent)
		ib_unregister_mad_agent(agent);
}

static void fab_port_setup(struct fab_dev *dev)
{
	fab_port_init(&dev->port, IB_PORT_DOWN);
	spin_lock_init(&dev->ibp.lock);
	dev->ibp.gid_prefix = dev->port.gid_prefix;
	dev->ibp.port_cap_flags = IB_PORT_TRAP_SUP | IB_PORT_SL_MAP_SUP |
				  IB_PORT_SYS_IMAGE_GUID_SUP |
				  IB_PORT_CLIENT_REG_SUP |
				  IB_PORT_CAP_MASK_NOTICE_SUP;
	rvt_init_port(&dev->rdi, &dev->ibp, 0, dev->port.pkeys);
}

/**
 * fab_dev_plug - make a device and plug it in
 * @slot: where
 * @parent: its parent device
 *
 * Context: process; fab_plug_mutex is held.
 */
int fab_dev_plug(struct fab_slot *slot, struct platform_device *parent)
{
	u64 guid = FAB_NODE_GUID | slot->number << 8;
	struct rvt_dev_info *rdi;
	struct fab_dev *dev;
	int ret;

	lockdep_assert_held(&fab_plug_mutex);
	rdi = rvt_alloc_device(sizeof(*dev), 1);
	if (!rdi)
		return -ENOMEM;
	dev = container_of(rdi, struct fab_dev, rdi);
	dev->slot = slot;
	dev->port_guid = cpu_to_be64(guid | 1);
	rdi->ibdev.node_guid = cpu_to_be64(guid);
	rdi->ibdev.phys_port_cnt = 1;
	rdi->ibdev.dev.parent = &parent->dev;
	rdi->ibdev.num_comp_vectors = num_online_cpus();
	snprintf(rdi->ibdev.node_desc, sizeof(rdi->ibdev.node_desc),
		 "cmx_fabric fab%u", slot->number - 1);
	/* rvt_set_ibdev_name() does this, and is not in newer kernels. */
	dev_set_name(&rdi->ibdev.dev, "fab%u", slot->number - 1);
	strscpy(rdi->ibdev.name, dev_name(&rdi->ibdev.dev), IB_DEVICE_NAME_MAX);
	fab_wire_init(dev);
	fab_port_setup(dev);
	fab_parameters(dev);
	ib_set_device_ops(&rdi->ibdev, &fab_dev_ops);

	dev->wq = alloc_workqueue("cmx_fab%u", WQ_MEM_RECLAIM | WQ_PERCPU, 0,
				  slot->number - 1);
	if (!dev->wq) {
		ret = -ENOMEM;
		goto err_dealloc;
	}
	ret = rvt_register_device(rdi);
	if (ret)
		goto err_wq;
	fab_agent_drop(dev);
	fab_rvt_mmap = rdi->ibdev.ops.mmap;
	rdi->ibdev.ops.mmap = fab_mmap;
	fab_rvt_destroy_cq = rdi->ibdev.ops.destroy_cq;
	rdi->ibdev.ops.destroy_cq = fab_destroy_cq;

	rcu_assign_pointer(slot->dev, dev);
	fab_link_update(slot, false);
	return 0;

err_wq:
	destroy_workqueue(dev->wq);
err_dealloc:
	rvt_dealloc_device(rdi);
	return ret;
}

/**
 * fab_dev_unplug - take a device away
 * @slot: where it is
 *
 * The link stays while ib_core's users go, as they may want to say good bye to
 * the subnet manager.  It has to be gone before rdmavt frees the table of QPs.
 *
 * Context: process; fab_plug_mutex is held.
 */
void fab_dev_unplug(struct fab_slot *slot)
{
	struct fab_dev *dev;

	dev = rcu_dereference_protected(slot->dev,
					lockdep_is_held(&fab_plug_mutex));
	if (!dev)
		return;
	WRITE_ONCE(dev->dying, true);
	synchronize_rcu();
	ib_unregister_device(&dev->rdi.ibdev);

	RCU_INIT_POINTER(slot->dev, NULL);
	fab_link_update(slot, false);
	synchronize_rcu();
	fab_wire_stop(dev);
	rvt_unregister_device(&dev->rdi);
	destroy_workqueue(dev->wq);
	rvt_dealloc_device(&dev->rdi);
}
