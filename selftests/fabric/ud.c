// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Unreliable datagrams, and with them MADs.  A sender copies its message into a
 * packet and is done; nothing is held while the packet travels.  A receiver
 * copies it out under its QP's r_lock.
 */

#include "fabric.h"

#define FAB_GRH_VERSION	(6U << 28)
#define FAB_GRH_NEXT	0x1b
/* A GRH counts these besides the payload: BTH, DETH, ICRC */
#define FAB_GRH_EXTRA	(12 + 8 + 4)

static void fab_gather(struct fab_packet *packet, struct rvt_swqe *wqe)
{
	struct rvt_sge_state ss = {};
	u32 done = 0;

	if (!wqe->length)
		return;
	ss.sge = wqe->sg_list[0];
	ss.sg_list = wqe->sg_list + 1;
	ss.num_sge = wqe->wr.num_sge;
	ss.total_len = wqe->length;

	while (done < wqe->length) {
		u32 n = rvt_get_sge_length(&ss.sge, wqe->length - done);

		memcpy(packet->data + done, ss.sge.vaddr, n);
		rvt_update_sge(&ss, n, false);
		done += n;
	}
}

static void fab_grh_fill(struct fab_dev *dev, struct fab_packet *packet,
			 const struct ib_global_route *route)
{
	struct ib_grh *grh = &packet->grh;

	packet->has_grh = true;
	grh->version_tclass_flow = cpu_to_be32(FAB_GRH_VERSION |
					       route->traffic_class << 20 |
					       (route->flow_label & 0xfffff));
	grh->paylen = cpu_to_be16(ALIGN(packet->length, 4) + FAB_GRH_EXTRA);
	grh->next_hdr = FAB_GRH_NEXT;
	grh->hop_limit = route->hop_limit;
	grh->sgid.global.subnet_prefix = dev->ibp.gid_prefix;
	grh->sgid.global.interface_id = dev->port_guid;
	grh->dgid = route->dgid;
}

static struct fab_packet *fab_ud_packet(struct rvt_qp *qp,
					struct rvt_swqe *wqe, gfp_t gfp)
{
	struct fab_dev *dev = fab_dev_of(qp->ibqp.device);
	struct rdma_ah_attr *ah = rvt_get_swqe_ah_attr(wqe);
	struct fab_packet *packet;
	u16 lid = READ_ONCE(dev->port.lid);
	u16 key_index = qp->s_pkey_index;
	u32 qkey = rvt_get_swqe_remote_qkey(wqe);

	packet = fab_packet_new(wqe->length, gfp);
	if (!packet)
		return NULL;
	fab_gather(packet, wqe);

	if (qp->ibqp.qp_type == IB_QPT_GSI)
		key_index = rvt_get_swqe_pkey_index(wqe);
	packet->pkey = rvt_get_pkey(&dev->rdi, 0, key_index);
	packet->dlid = rdma_ah_get_dlid(ah);
	packet->slid = FAB_LID_PERMISSIVE;
	/* A sender to the permissive LID gets responses by the same route */
	if (lid && packet->dlid != FAB_LID_PERMISSIVE)
		packet->slid = lid | (rdma_ah_get_path_bits(ah) &
				      ((1 << READ_ONCE(dev->port.lmc)) - 1));
	packet->sl = rdma_ah_get_sl(ah);
	packet->src_qp = qp->ibqp.qp_num;
	packet->dst_qp = rvt_get_swqe_remote_qpn(wqe);
	/* The high bit selects the QP's Q_Key */
	packet->qkey = qkey & IB_QP_SET_QKEY ? qp->qkey : qkey;
	packet->solicited = wqe->wr.send_flags & IB_SEND_SOLICITED;
	if (wqe->wr.opcode == IB_WR_SEND_WITH_IMM) {
		packet->has_imm = true;
		packet->imm_data = wqe->wr.ex.imm_data;
	}
	if (rdma_ah_get_ah_flags(ah) & IB_AH_GRH)
		fab_grh_fill(dev, packet, rdma_ah_read_grh(ah));
	return packet;
}

/*
 * Sends the oldest request. False: there is none, or not now.
 * @later: without memory, leave it to the work item, which would lose it
 */
static bool fab_ud_send_one(struct rvt_qp *qp, gfp_t gfp, bool later)
{
	int ops = ib_rvt_state_ops[READ_ONCE(qp->state)];
	struct fab_packet *packet;
	struct rvt_swqe *wqe;

	/* pairs with the barrier before s_head moves on */
	if (qp->s_last == smp_load_acquire(&qp->s_head))
		return false;
	wqe = rvt_get_swqe_ptr(qp, qp->s_last);
	if (ops & RVT_FLUSH_SEND) {
		fab_send_complete(qp, wqe, IB_WC_WR_FLUSH_ERR);
		return true;
	}
	if (!(ops & RVT_PROCESS_NEXT_SEND_OK))
		return false;
	packet = fab_ud_packet(qp, wqe, gfp);
	if (!packet && later) {
		fab_send_schedule(qp);
		return false;
	}
	/* Complete it first: no response may be earlier (stock-bugs.rst) */
	fab_send_complete(qp, wqe, IB_WC_SUCCESS);
	if (packet)
		fab_wire_send(fab_dev_of(qp->ibqp.device), packet);
	return true;
}

/**
 * fab_ud_send - send what is in a datagram QP's send queue
 * @qp: the QP, which is not of ib_mad
 *
 * Context: the QP's work item, no lock.
 */
void fab_ud_send(struct rvt_qp *qp)
{
	while (fab_ud_send_one(qp, GFP_NOIO, false))
		cond_resched();
}

/**
 * fab_mad_send - send what is in the send queue of QP0 or QP1
 * @qp: the QP
 * @posted: from a post, not from the work item
 *
 * Context: any, no lock of the QP.
 */
void fab_mad_send(struct rvt_qp *qp, bool posted)
{
	struct fab_qp *fqp = fab_qp_of(qp);
	unsigned long flags;

	spin_lock_irqsave(&fqp->mad_lock, flags);
	while (fab_ud_send_one(qp, GFP_ATOMIC, posted))
		;
	spin_unlock_irqrestore(&fqp->mad_lock, flags);
}

/* Equal but for membership, and one of the two is a full member */
static bool fab_pkey_match(u16 a, u16 b)
{
	return (a & 0x7fff) == (b & 0x7fff) && (a & 0x7fff) &&
	       ((a | b) & 0x8000);
}

static int fab_pkey_find(struct fab_dev *dev, u16 pkey)
{
	int i;

	for (i = 0; i < FAB_PKEYS; i++)
		if (fab_pkey_match(dev->port.pkeys[i], pkey))
			return i;
	return -ENOENT;
}

/* May this packet come in, and for QP1 by which partition? */
static bool fab_ud_admits(struct fab_dev *dev, struct rvt_qp *qp,
			  const struct fab_packet *packet, u16 *key_index)
{
	int index;

	*key_index = 0;
	switch (qp->ibqp.qp_type) {
	case IB_QPT_SMI:
		return packet->length == IB_MGMT_MAD_SIZE && !packet->src_qp;
	case IB_QPT_GSI:
		index = fab_pkey_find(dev, packet->pkey);
		if (index < 0) {
			dev->ibp.pkey_violations++;
			return false;
		}
		*key_index = index;
		if (packet->length != IB_MGMT_MAD_SIZE)
			return false;
		break;
	case IB_QPT_UD:
		if (!fab_pkey_match(packet->pkey,
				    dev->port.pkeys[qp->s_pkey_index])) {
			dev->ibp.pkey_violations++;
			return false;
		}
		break;
	default:
		return false;
	}
	if (packet->qkey != qp->qkey) {
		dev->ibp.qkey_violations++;
		return false;
	}
	return true;
}

/* Have a receive buffer that the packet fits in; r_lock is held */
static bool fab_ud_buffer(struct fab_dev *dev, struct rvt_qp *qp,
			  const struct fab_packet *packet)
{
	if (qp->r_flags & RVT_R_REUSE_SGE) {
		qp->r_flags &= ~RVT_R_REUSE_SGE;
	} else {
		int ret = rvt_get_rwqe(qp, false);

		if (ret < 0)
			rvt_rc_error(qp, IB_WC_LOC_QP_OP_ERR);
		if (ret <= 0) {
			if (!packet->dst_qp)
				atomic64_inc(&dev->traffic.vl15_dropped);
			return false;
		}
	}
	if (packet->length + sizeof(struct ib_grh) <= qp->r_len)
		return true;
	/* The buffer stays for a packet that is not too long */
	qp->r_flags |= RVT_R_REUSE_SGE;
	return false;
}

static void fab_ud_deliver(struct fab_dev *dev, struct rvt_qp *qp,
			   struct fab_packet *packet)
{
	struct ib_wc wc = {};
	unsigned long flags;
	u16 key_index;

	if (!fab_ud_admits(dev, qp, packet, &key_index))
		goto drop;

	spin_lock_irqsave(&qp->r_lock, flags);
	if (!(ib_rvt_state_ops[qp->state] & RVT_PROCESS_RECV_OK) ||
	    !fab_ud_buffer(dev, qp, packet)) {
		spin_unlock_irqrestore(&qp->r_lock, flags);
		goto drop;
	}
	if (packet->has_grh) {
		rvt_copy_sge(qp, &qp->r_sge, &packet->grh, sizeof(packet->grh),
			     true, false);
		wc.wc_flags |= IB_WC_GRH;
	} else {
		rvt_skip_sge(&qp->r_sge, sizeof(packet->grh), true);
	}
	rvt_copy_sge(qp, &qp->r_sge, packet->data, packet->length, true, false);
	rvt_put_ss(&qp->r_sge);
	if (test_and_clear_bit(RVT_R_WRID_VALID, &qp->r_aflags)) {
		wc.wr_id = qp->r_wr_id;
		wc.status = IB_WC_SUCCESS;
		wc.opcode = IB_WC_RECV;
		wc.byte_len = packet->length + sizeof(packet->grh);
		wc.qp = &qp->ibqp;
		wc.src_qp = packet->src_qp;
		wc.pkey_index = key_index;
		wc.slid = packet->slid;
		wc.sl = packet->sl;
		wc.dlid_path_bits = packet->dlid &
				    ((1 << READ_ONCE(dev->port.lmc)) - 1);
		wc.port_num = 1;
		if (packet->has_imm) {
			wc.wc_flags |= IB_WC_WITH_IMM;
			wc.ex.imm_data = packet->imm_data;
		}
		fab_recv_complete(qp, &wc, packet->solicited);
	}
	spin_unlock_irqrestore(&qp->r_lock, flags);
	return;
drop:
	dev->ibp.n_pkt_drops++;
}

static void fab_ud_multicast(struct fab_dev *dev, struct fab_packet *packet)
{
	struct rvt_mcast *mcast;
	struct rvt_mcast_qp *member;

	if (!packet->has_grh)
		return;
	mcast = rvt_mcast_find(&dev->ibp, &packet->grh.dgid, packet->dlid);
	if (!mcast)
		return;
	list_for_each_entry_rcu(member, &mcast->qp_list, list)
		fab_ud_deliver(dev, member->qp, packet);
	/* The detach waits for the last reader */
	if (atomic_dec_return(&mcast->refcount) <= 1)
		wake_up(&mcast->wait);
}

/**
 * fab_ud_receive - deliver a packet that has arrived
 * @dev: where
 * @packet: the packet, which stays the caller's
 *
 * Context: the device's receive work, no lock.
 */
void fab_ud_receive(struct fab_dev *dev, struct fab_packet *packet)
{
	struct rvt_qp *qp;

	rcu_read_lock();
	if (fab_lid_is_mcast(packet->dlid)) {
		fab_ud_multicast(dev, packet);
	} else {
		qp = rvt_lookup_qpn(&dev->rdi, &dev->ibp, packet->dst_qp);
		if (qp)
			fab_ud_deliver(dev, qp, packet);
	}
	rcu_read_unlock();
}
