// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The responder of RC and UC: one message, whole, from the requester's buffers
 * to those of the connected QP or back.
 *
 * Runs in the requester's work item.  The responder's r_lock is held to judge
 * the request, for each piece that is copied, and to complete the receive; it is
 * dropped between the pieces.  Meanwhile rx_from marks the QP as being in the
 * middle of a message.  When it leaves its state the mark goes, under the same
 * lock, and with it the requester's right to touch its buffers.
 */
#include <linux/sizes.h>

#include "rc.h"

#define FAB_PIECE	SZ_64K
#define FAB_PSN_MASK	0xffffff

/**
 * struct fab_message - a request on its way
 * @from:	requester
 * @to:		responder, with a reference
 * @wqe:	the request
 * @slid:	where it comes from
 * @pkey:	its partition
 * @left:	bytes not copied yet
 * @local:	the requester's buffers, which its request holds
 * @remote:	the responder's memory that a key gave access to; held here
 * @src:	where the bytes are
 * @dst:	where they go
 * @wc:		completion of the receive, if there is one
 * @receives:	takes a receive buffer
 * @event:	to be reported to the responder's owner afterwards
 * @has_event:	@event is set
 * @comm_est:	this is the first message of the connection
 * @last_wqe:	the responder stopped and hangs on a shared receive queue
 */
struct fab_message {
	struct rvt_qp *from;
	struct rvt_qp *to;
	struct rvt_swqe *wqe;
	u16 slid;
	u16 pkey;
	u32 left;
	struct rvt_sge_state local;
	struct rvt_sge_state remote;
	struct rvt_sge_state *src;
	struct rvt_sge_state *dst;
	struct ib_wc wc;
	enum ib_event_type event;
	bool receives;
	bool has_event;
	bool comm_est;
	bool last_wqe;
};

static u16 fab_qp_pkey(struct rvt_qp *qp)
{
	return READ_ONCE(rvt_to_iport(qp)->pkey_table[qp->s_pkey_index]);
}

/* The same partition, and not both limited members. */
static bool fab_pkeys_match(u16 a, u16 b)
{
	return (a & 0x7fff) && !((a ^ b) & 0x7fff) && ((a | b) & 0x8000);
}

/* Would its packets pass the checks of their headers? */
static bool fab_message_is_for(const struct fab_message *m)
{
	struct rvt_qp *to = m->to;

	if (!(ib_rvt_state_ops[to->state] & RVT_PROCESS_RECV_OK) ||
	    to->ibqp.qp_type != m->from->ibqp.qp_type ||
	    fab_qp_of(to)->rx_from)
		return false;
	if ((u16)rdma_ah_get_dlid(&to->remote_ah_attr) != m->slid ||
	    !fab_pkeys_match(fab_qp_pkey(to), m->pkey))
		return false;
	/* UC accepts any first packet, and acknowledges none */
	if (to->ibqp.qp_type == IB_QPT_UC)
		return true;
	return to->remote_qpn == m->from->ibqp.qp_num &&
	       !((to->r_psn ^ m->wqe->psn) & FAB_PSN_MASK);
}

/*
 * The request is invalid.  An RC responder stops; @status is for the receive
 * that it has begun, @event for its owner if there is none.  UC drops the
 * message.
 */
static void fab_responder_fail(struct fab_message *m, enum ib_wc_status status,
			       enum ib_event_type event)
{
	struct rvt_qp *to = m->to;

	if (to->ibqp.qp_type == IB_QPT_UC)
		return;
	m->has_event = !test_bit(RVT_R_WRID_VALID, &to->r_aflags);
	m->event = event;
	spin_lock(&to->s_lock);
	m->last_wqe = rvt_error_qp(to, status);
	spin_unlock(&to->s_lock);
}

static enum fab_answer fab_refuse(struct fab_message *m)
{
	fab_responder_fail(m, IB_WC_LOC_QP_OP_ERR, IB_EVENT_QP_REQ_ERR);
	return FAB_NAK_INVALID;
}

static enum fab_answer fab_deny(struct fab_message *m)
{
	fab_responder_fail(m, IB_WC_LOC_PROT_ERR, IB_EVENT_QP_ACCESS_ERR);
	return FAB_NAK_ACCESS;
}

/* @bare: only its wr_id, the data has another destination */
static enum fab_answer fab_receive_take(struct fab_message *m, bool bare)
{
	struct rvt_qp *to = m->to;
	int got;

	m->receives = true;
	/* kept from a message that did not fit, see fab_too_long() */
	if (fab_qp_of(to)->rx_kept) {
		fab_qp_of(to)->rx_kept = false;
		if (bare)
			rvt_put_ss(&to->r_sge);
		return FAB_ACK;
	}
	got = rvt_get_rwqe(to, bare);
	if (got > 0)
		return FAB_ACK;
	if (!got)
		return FAB_RNR;
	/* rdmavt has completed it with an error: its buffers are bad */
	spin_lock(&to->s_lock);
	m->last_wqe = rvt_error_qp(to, IB_WC_LOC_QP_OP_ERR);
	spin_unlock(&to->s_lock);
	return FAB_NAK_OPERATION;
}

static enum fab_answer fab_too_long(struct fab_message *m)
{
	struct rvt_qp *to = m->to;

	if (to->ibqp.qp_type == IB_QPT_RC) {
		fab_responder_fail(m, IB_WC_LOC_LEN_ERR, IB_EVENT_QP_REQ_ERR);
		return FAB_NAK_INVALID;
	}
	/* UC keeps the buffer for the next message. */
	fab_qp_of(to)->rx_kept = true;
	return FAB_SILENCE;
}

static enum fab_answer fab_send_begin(struct fab_message *m)
{
	enum fab_answer answer = fab_receive_take(m, false);

	m->src = &m->local;
	m->dst = &m->to->r_sge;
	if (answer == FAB_ACK && m->wqe->length > m->to->r_len)
		return fab_too_long(m);
	return answer;
}

/* A key is needed only for an access of at least one byte. */
static bool fab_remote_get(struct fab_message *m, u64 addr, u32 rkey,
			   int access)
{
	u32 length = m->wqe->length;

	if (!length)
		return true;
	if (!rvt_rkey_ok(m->to, &m->remote.sge, length, addr, rkey, access))
		return false;
	m->remote.num_sge = 1;
	m->remote.total_len = length;
	return true;
}

static enum fab_answer fab_write_begin(struct fab_message *m)
{
	struct ib_rdma_wr *wr = &m->wqe->rdma_wr;

	if (!(m->to->qp_access_flags & IB_ACCESS_REMOTE_WRITE))
		return fab_refuse(m);
	if (!fab_remote_get(m, wr->remote_addr, wr->rkey,
			    IB_ACCESS_REMOTE_WRITE))
		return fab_deny(m);
	m->src = &m->local;
	m->dst = &m->remote;
	if (wr->wr.opcode == IB_WR_RDMA_WRITE_WITH_IMM)
		return fab_receive_take(m, true);
	return FAB_ACK;
}

static enum fab_answer fab_read_begin(struct fab_message *m)
{
	struct ib_rdma_wr *wr = &m->wqe->rdma_wr;

	if (!(m->to->qp_access_flags & IB_ACCESS_REMOTE_READ) ||
	    !m->to->r_max_rd_atomic)
		return fab_refuse(m);
	if (!fab_remote_get(m, wr->remote_addr, wr->rkey,
			    IB_ACCESS_REMOTE_READ))
		return fab_deny(m);
	m->src = &m->remote;
	m->dst = &m->local;
	return FAB_ACK;
}

/* Without pieces, since an atomic has eight bytes only */
static enum fab_answer fab_atomic_do(struct fab_message *m)
{
	struct ib_atomic_wr *wr = &m->wqe->atomic_wr;
	void *vaddr;
	u64 before;

	if (!(m->to->qp_access_flags & IB_ACCESS_REMOTE_ATOMIC) ||
	    !m->to->r_max_rd_atomic ||
	    !IS_ALIGNED(wr->remote_addr, sizeof(u64)))
		return fab_refuse(m);
	m->left = 0;
	m->wqe->length = sizeof(u64);
	if (!fab_remote_get(m, wr->remote_addr, wr->rkey,
			    IB_ACCESS_REMOTE_ATOMIC))
		return fab_deny(m);
	/* the region may map aligned addresses to unaligned memory */
	vaddr = m->remote.sge.vaddr;
	if (!IS_ALIGNED((unsigned long)vaddr, sizeof(u64)))
		return fab_refuse(m);
	if (wr->wr.opcode == IB_WR_ATOMIC_FETCH_AND_ADD)
		before = atomic64_fetch_add(wr->compare_add, vaddr);
	else
		before = atomic64_cmpxchg(vaddr, wr->compare_add, wr->swap);
	rvt_copy_sge(m->from, &m->local, &before, sizeof(before), false, false);
	return FAB_ACK;
}

static enum fab_answer fab_message_begin(struct fab_message *m)
{
	struct rvt_qp *to = m->to;

	if (!fab_message_is_for(m))
		return FAB_SILENCE;
	if (to->state == IB_QPS_RTR && !(to->r_flags & RVT_R_COMM_EST)) {
		to->r_flags |= RVT_R_COMM_EST;
		m->comm_est = true;
	}
	switch (m->wqe->wr.opcode) {
	case IB_WR_SEND_WITH_IMM:
		m->wc.wc_flags = IB_WC_WITH_IMM;
		m->wc.ex.imm_data = m->wqe->wr.ex.imm_data;
		fallthrough;
	case IB_WR_SEND:
	case IB_WR_SEND_WITH_INV:
		m->wc.opcode = IB_WC_RECV;
		return fab_send_begin(m);
	case IB_WR_RDMA_WRITE_WITH_IMM:
		m->wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
		m->wc.wc_flags = IB_WC_WITH_IMM;
		m->wc.ex.imm_data = m->wqe->wr.ex.imm_data;
		fallthrough;
	case IB_WR_RDMA_WRITE:
		return fab_write_begin(m);
	case IB_WR_RDMA_READ:
		return fab_read_begin(m);
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		return fab_atomic_do(m);
	default:
		return fab_refuse(m);
	}
}

/*
 * Programs wait for the last byte of an RDMA write to change, so it must not
 * come before the others: rdmavt's copy_last.
 */
static void fab_piece_copy(struct fab_message *m)
{
	bool in_order = m->wqe->wr.opcode == IB_WR_RDMA_WRITE &&
			rvt_is_user_qp(m->to);
	u32 piece = min_t(u32, m->left, FAB_PIECE);
	u32 len;

	m->left -= piece;
	for (; piece; piece -= len) {
		len = rvt_get_sge_length(&m->src->sge, piece);
		if (WARN_ON_ONCE(!len))
			return;
		/* the responder's regions are let go of on the way */
		rvt_copy_sge(m->to, m->dst, m->src->sge.vaddr, len,
			     m->dst != &m->local,
			     in_order && !m->left && len == piece);
		rvt_update_sge(m->src, len, m->src != &m->local);
	}
}

/* All bytes have been copied */
static enum fab_answer fab_message_end(struct fab_message *m)
{
	struct rvt_swqe *wqe = m->wqe;
	struct rvt_qp *to = m->to;

	if (m->dst == &to->r_sge)
		rvt_put_ss(m->dst);
	if (wqe->wr.opcode == IB_WR_SEND_WITH_INV) {
		if (rvt_invalidate_rkey(to, wqe->wr.ex.invalidate_rkey))
			return fab_deny(m);
		m->wc.wc_flags = IB_WC_WITH_INVALIDATE;
		m->wc.ex.invalidate_rkey = wqe->wr.ex.invalidate_rkey;
	}
	to->r_psn = (wqe->lpsn + 1) & FAB_PSN_MASK;
	to->r_msn++;
	if (!m->receives || !test_and_clear_bit(RVT_R_WRID_VALID, &to->r_aflags))
		return FAB_ACK;
	m->wc.wr_id = to->r_wr_id;
	m->wc.status = IB_WC_SUCCESS;
	m->wc.byte_len = wqe->length;
	m->wc.qp = &to->ibqp;
	m->wc.src_qp = to->remote_qpn;
	m->wc.pkey_index = to->s_pkey_index;
	m->wc.slid = m->slid;
	m->wc.sl = rdma_ah_get_sl(&to->remote_ah_attr);
	m->wc.port_num = to->port_num;
	fab_recv_complete(to, &m->wc, wqe->wr.send_flags & IB_SEND_SOLICITED);
	return FAB_ACK;
}

/* Still in the middle of this message, in the same state? */
static bool fab_message_goes_on(const struct fab_message *m)
{
	return fab_qp_of(m->to)->rx_from == m->from &&
	       (ib_rvt_state_ops[m->to->state] & RVT_PROCESS_RECV_OK);
}

static enum fab_answer fab_message_carry(struct fab_message *m)
{
	struct rvt_qp *to = m->to;
	enum fab_answer answer;
	unsigned long flags;

	spin_lock_irqsave(&to->r_lock, flags);
	answer = fab_message_begin(m);
	if (answer != FAB_ACK)
		goto unlock;
	fab_qp_of(to)->rx_from = m->from;
	while (m->left) {
		fab_piece_copy(m);
		if (!m->left)
			break;
		spin_unlock_irqrestore(&to->r_lock, flags);
		cond_resched();
		spin_lock_irqsave(&to->r_lock, flags);
		if (!fab_message_goes_on(m)) {
			answer = FAB_SILENCE;
			goto unlock;
		}
	}
	fab_qp_of(to)->rx_from = NULL;
	answer = fab_message_end(m);
unlock:
	spin_unlock_irqrestore(&to->r_lock, flags);
	rvt_put_ss(&m->remote);
	return answer;
}

/* For PMA: the data's packets, at both ends of the two links. */
static void fab_message_count(const struct fab_message *m)
{
	struct fab_dev *tx = fab_dev_of(m->from->ibqp.device);
	struct fab_dev *rx = fab_dev_of(m->to->ibqp.device);
	u32 packets = m->wqe->lpsn - m->wqe->psn + 1;
	u32 words = DIV_ROUND_UP(m->wqe->length, 4);

	if (tx == rx)
		return;
	if (m->wqe->wr.opcode == IB_WR_RDMA_READ)
		swap(tx, rx);
	atomic64_add(packets, &tx->traffic.tx_packets);
	atomic64_add(words, &tx->traffic.tx_words);
	atomic64_add(packets, &tx->slot->traffic.rx_packets);
	atomic64_add(words, &tx->slot->traffic.rx_words);
	atomic64_add(packets, &rx->slot->traffic.tx_packets);
	atomic64_add(words, &rx->slot->traffic.tx_words);
	atomic64_add(packets, &rx->traffic.rx_packets);
	atomic64_add(words, &rx->traffic.rx_words);
}

/* The connected QP, with a reference, or NULL. */
static struct rvt_qp *fab_responder_get(struct rvt_qp *qp, u16 *slid)
{
	struct fab_dev *dev = fab_dev_of(qp->ibqp.device);
	struct fab_dev *peer;
	struct rvt_qp *to = NULL;
	unsigned long flags;
	u32 qpn;
	u16 dlid;

	spin_lock_irqsave(&qp->s_lock, flags);
	dlid = rdma_ah_get_dlid(&qp->remote_ah_attr);
	*slid = READ_ONCE(dev->port.lid) | rdma_ah_get_path_bits(&qp->remote_ah_attr);
	qpn = qp->remote_qpn;
	spin_unlock_irqrestore(&qp->s_lock, flags);
	rcu_read_lock();
	peer = fab_peer(dev, dlid);
	if (peer && qpn > 1)
		to = rvt_lookup_qpn(&peer->rdi, &peer->ibp, qpn);
	if (to)
		rvt_get_qp(to);
	rcu_read_unlock();
	return to;
}

enum fab_answer fab_rc_deliver(struct rvt_qp *qp, struct rvt_swqe *wqe,
			       u8 *rnr_code)
{
	struct fab_message m = {
		.from = qp,
		.wqe = wqe,
		.left = wqe->length,
	};
	enum fab_answer answer;

	m.to = fab_responder_get(qp, &m.slid);
	if (!m.to)
		return FAB_SILENCE;
	/* a queue for requests without data has no room for the first one */
	if (wqe->wr.num_sge)
		rvt_restart_sge(&m.local, wqe, 0);
	m.pkey = fab_qp_pkey(qp);
	answer = fab_message_carry(&m);
	if (answer == FAB_ACK)
		fab_message_count(&m);
	*rnr_code = READ_ONCE(m.to->r_min_rnr_timer);
	if (m.comm_est)
		fab_qp_event(m.to, IB_EVENT_COMM_EST);
	if (m.has_event)
		fab_qp_event(m.to, m.event);
	if (m.last_wqe)
		fab_qp_event(m.to, IB_EVENT_QP_LAST_WQE_REACHED);
	rvt_put_qp(m.to);
	return answer;
}
