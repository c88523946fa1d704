// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Where ib_core hands MADs to a device, how it stops to do so, and the traps
 * that a device sends.  Takes fab_lock for a look at the port.
 */

#include <linux/delay.h>

#include "fabric.h"

/*
 * The requests to which ib_mad itself responds: by fab_process_mad(), or
 * because no agent accepts them.  A MAD that the node sends to itself has no
 * GRH.
 */
static bool fab_mad_requests(const struct ib_mad_hdr *hdr,
			     const struct ib_grh *grh)
{
	return grh && (hdr->method == IB_MGMT_METHOD_GET ||
		       hdr->method == IB_MGMT_METHOD_SET);
}

static int fab_mad_answer(struct fab_dev *dev, struct ib_mad *mad)
{
	switch (mad->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		return fab_sma_process(dev, (struct ib_smp *)mad);
	case IB_MGMT_CLASS_PERF_MGMT:
		if (fab_pma_process(&dev->traffic, 1, mad))
			return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	}
	return IB_MAD_RESULT_SUCCESS;
}

int fab_process_mad(struct ib_device *ibdev, int flags, u32 port_num,
		    const struct ib_wc *wc, const struct ib_grh *grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index)
{
	struct fab_dev *dev = fab_dev_of(ibdev);
	int ret;

	if (!READ_ONCE(dev->answering) && fab_mad_requests(&in->mad_hdr, grh))
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	*out = *in;
	ret = fab_mad_answer(dev, out);
	if (grh && ret & IB_MAD_RESULT_REPLY && READ_ONCE(dev->slot->answer_ms))
		WRITE_ONCE(dev->delayed, current);
	return ret;
}

/*
 * rdmavt's check_ah.  The next address handle that ib_mad creates in the thread
 * of a response is for that response.  Sleep for answer_ms here: ib_mad has
 * selected its agent, and has no reference to it yet.
 */
int fab_check_ah(struct ib_device *ibdev, struct rdma_ah_attr *attr)
{
	struct fab_dev *dev = fab_dev_of(ibdev);

	if (READ_ONCE(dev->delayed) == current) {
		WRITE_ONCE(dev->delayed, NULL);
		msleep(READ_ONCE(dev->slot->answer_ms));
	}
	return 0;
}

/*
 * ib_mad sends its responses by an agent that it frees when the device is
 * removed, even if only from its namespace, and does not check for a response
 * that is being sent (agent_send_response() in Linux 6.1): a request at that
 * moment makes it use freed memory.  So the device stops its responses before
 * the removal from ib_mad.  This client of ib_core does that: it is younger
 * than ib_mad, and ib_core removes the youngest client first.
 */
static int fab_answers_begin(struct ib_device *ibdev)
{
	if (ibdev->ops.process_mad != fab_process_mad)
		return -EOPNOTSUPP;
	WRITE_ONCE(fab_dev_of(ibdev)->answering, true);
	return 0;
}

static void fab_answers_end(struct ib_device *ibdev, void *client_data)
{
	struct fab_dev *dev = fab_dev_of(ibdev);
	struct rvt_qp *qp;

	WRITE_ONCE(dev->answering, false);
	/* Responses in progress: ib_mad makes them in the CQ's work. */
	rcu_read_lock();
	qp = rcu_dereference(dev->ibp.qp[1]);
	rcu_read_unlock();
	if (qp)
		flush_work(&qp->ibqp.recv_cq->work);
}

struct ib_client fab_client = {
	.name = "cmx_fabric",
	.add = fab_answers_begin,
	.remove = fab_answers_end,
};

/**
 * fab_trap_make - a packet with a trap for the subnet manager
 * @lid: from here
 * @sm_lid: to here
 * @sm_sl: with this service level
 * @notice: the notice to send
 *
 * Context: any.
 * Return: the packet, or NULL
 */
struct fab_packet *fab_trap_make(u16 lid, u16 sm_lid, u8 sm_sl,
				 const struct ib_mad_notice_attr *notice)
{
	static atomic64_t tid;
	struct fab_packet *packet;
	struct ib_smp *smp;

	packet = fab_packet_new(IB_MGMT_MAD_SIZE, GFP_ATOMIC);
	if (!packet)
		return NULL;
	packet->slid = lid;
	packet->dlid = sm_lid;
	packet->sl = sm_sl;
	packet->pkey = IB_DEFAULT_PKEY_FULL;
	smp = (struct ib_smp *)packet->data;
	ib_init_query_mad(smp);
	smp->method = IB_MGMT_METHOD_TRAP;
	smp->attr_id = IB_SMP_ATTR_NOTICE;
	smp->tid = cpu_to_be64(atomic64_inc_return(&tid));
	memcpy(smp->data, notice, sizeof(*notice));
	return packet;
}

/* rdmavt's cap_mask_chg: an SM, a CM or the like has come to the port or left */
void fab_cap_mask_changed(struct rvt_dev_info *rdi, u32 port_num)
{
	struct fab_dev *dev = container_of(rdi, struct fab_dev, rdi);
	struct ib_mad_notice_attr notice = {
		.generic_type = IB_NOTICE_TYPE_INFO,
		.prod_type_lsb = IB_NOTICE_PROD_CA,
		.trap_num = IB_NOTICE_TRAP_CAP_MASK_CHG,
	};
	struct fab_packet *packet;
	u16 lid, sm_lid;
	unsigned long flags;
	u8 sm_sl;

	spin_lock_irqsave(&fab_lock, flags);
	lid = dev->port.state == IB_PORT_ACTIVE ? dev->port.lid : 0;
	sm_lid = dev->port.sm_lid;
	sm_sl = dev->port.sm_sl;
	spin_unlock_irqrestore(&fab_lock, flags);
	if (!lid || !sm_lid)
		return;
	notice.issuer_lid = cpu_to_be16(lid);
	notice.details.ntc_144.lid = notice.issuer_lid;
	notice.details.ntc_144.new_cap_mask =
		cpu_to_be32(dev->ibp.port_cap_flags);
	packet = fab_trap_make(lid, sm_lid, sm_sl, &notice);
	if (packet)
		fab_wire_send(dev, packet);
}
