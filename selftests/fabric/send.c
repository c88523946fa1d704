// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Send queues: what all transports share.  Every send runs in its QP's work
 * item, without locks, but those of ib_mad, which run in their post.
 */

#include "fabric.h"

#define FAB_MESSAGE_MAX	0x80000000U

#define FAB_CONNECTED	(BIT(IB_QPT_RC) | BIT(IB_QPT_UC))
#define FAB_DATAGRAM	(BIT(IB_QPT_UD) | BIT(IB_QPT_SMI) | BIT(IB_QPT_GSI))

const struct rvt_operation_params fab_post_parms[RVT_OPERATION_MAX] = {
	[IB_WR_SEND] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = FAB_CONNECTED | FAB_DATAGRAM,
	},
	[IB_WR_SEND_WITH_IMM] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = FAB_CONNECTED | BIT(IB_QPT_UD),
	},
	[IB_WR_SEND_WITH_INV] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = BIT(IB_QPT_RC),
	},
	[IB_WR_RDMA_WRITE] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = FAB_CONNECTED,
	},
	[IB_WR_RDMA_WRITE_WITH_IMM] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = FAB_CONNECTED,
	},
	[IB_WR_RDMA_READ] = {
		.length = sizeof(struct ib_rdma_wr),
		.qpt_support = BIT(IB_QPT_RC),
		.flags = RVT_OPERATION_ATOMIC,
	},
	[IB_WR_ATOMIC_CMP_AND_SWP] = {
		.length = sizeof(struct ib_atomic_wr),
		.qpt_support = BIT(IB_QPT_RC),
		.flags = RVT_OPERATION_ATOMIC | RVT_OPERATION_ATOMIC_SGE,
	},
	[IB_WR_ATOMIC_FETCH_AND_ADD] = {
		.length = sizeof(struct ib_atomic_wr),
		.qpt_support = BIT(IB_QPT_RC),
		.flags = RVT_OPERATION_ATOMIC | RVT_OPERATION_ATOMIC_SGE,
	},
	[IB_WR_REG_MR] = {
		.length = sizeof(struct ib_reg_wr),
		.qpt_support = BIT(IB_QPT_RC),
		.flags = RVT_OPERATION_LOCAL,
	},
	[IB_WR_LOCAL_INV] = {
		.length = sizeof(struct ib_send_wr),
		.qpt_support = BIT(IB_QPT_RC),
		.flags = RVT_OPERATION_LOCAL,
	},
};

const enum ib_wc_opcode fab_wc_opcode[RVT_OPERATION_MAX] = {
	[IB_WR_SEND] = IB_WC_SEND,
	[IB_WR_SEND_WITH_IMM] = IB_WC_SEND,
	[IB_WR_SEND_WITH_INV] = IB_WC_SEND,
	[IB_WR_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_WRITE_WITH_IMM] = IB_WC_RDMA_WRITE,
	[IB_WR_RDMA_READ] = IB_WC_RDMA_READ,
	[IB_WR_ATOMIC_CMP_AND_SWP] = IB_WC_COMP_SWAP,
	[IB_WR_ATOMIC_FETCH_AND_ADD] = IB_WC_FETCH_ADD,
	[IB_WR_REG_MR] = IB_WC_REG_MR,
	[IB_WR_LOCAL_INV] = IB_WC_LOCAL_INV,
};

static bool fab_qp_connected(struct rvt_qp *qp)
{
	return BIT(qp->ibqp.qp_type) & FAB_CONNECTED;
}

static void fab_send_work(struct work_struct *work)
{
	struct rvt_qp *qp = container_of(work, struct fab_qp, send)->qp;

	if (fab_qp_connected(qp))
		fab_rc_send(qp);
	else if (fab_qp_is_mad(qp))
		fab_mad_send(qp, false);
	else
		fab_ud_send(qp);
}

/**
 * fab_send_schedule - have a QP's send queue looked at
 * @qp: the QP
 *
 * Context: any, with any of the QP's locks.
 * Return: false if it was going to happen already
 */
bool fab_send_schedule(struct rvt_qp *qp)
{
	return queue_work(fab_dev_of(qp->ibqp.device)->wq,
			  &fab_qp_of(qp)->send);
}

/*
 * At the end of a post.  A MAD is complete then: ib_mad may send a request again
 * just before the response to the first one arrives.  If the second send were
 * incomplete then, and the device were removed, ib_sa might use freed memory
 * (stock-bugs.rst).
 *
 * Context: any, with locks of ib_mad, and none of the QP's.
 */
static bool fab_send_posted(struct rvt_qp *qp)
{
	if (!fab_qp_is_mad(qp))
		return fab_send_schedule(qp);
	fab_mad_send(qp, true);
	return true;
}

/*
 * For a single datagram of a user in its queue. It is sent when the call
 * returns: programs post their last ones without requesting completions, and
 * destroy the QP at once, for which an HCA is fast enough.
 *
 * Context: process, no lock but those of uverbs' objects.
 */
static void fab_do_send(struct rvt_qp *qp)
{
	fab_send_schedule(qp);
	flush_work(&fab_qp_of(qp)->send);
}

/**
 * fab_recv_complete - complete a receive
 * @qp: the QP
 * @wc: the completion
 * @solicited: the sender requested an event
 *
 * When the CQ is full the QP goes to the error state.
 *
 * Context: qp->r_lock is held, s_hlock and s_lock are not.
 */
void fab_recv_complete(struct rvt_qp *qp, struct ib_wc *wc, bool solicited)
{
	struct rvt_cq *cq = ibcq_to_rvtcq(qp->ibqp.recv_cq);

	if (!rvt_cq_enter(cq, wc, solicited))
		rvt_rc_error(qp, IB_WC_LOC_QP_OP_ERR);
}

/**
 * fab_send_complete - complete the oldest send request
 * @qp: the QP
 * @wqe: the request, at s_last
 * @status: how it went
 *
 * Context: no lock of the QP is held.
 */
void fab_send_complete(struct rvt_qp *qp, struct rvt_swqe *wqe,
		       enum ib_wc_status status)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_lock);
	rvt_send_complete(qp, wqe, status);
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
}

/* A kernel user may post with locks held, so fab_do_send() is not for it */
static int fab_setup_wqe(struct rvt_qp *qp, struct rvt_swqe *wqe,
			 bool *call_send)
{
	if (fab_qp_connected(qp)) {
		*call_send = false;
		return wqe->length > FAB_MESSAGE_MAX ? -EINVAL : 0;
	}
	if (!qp->ibqp.uobject)
		*call_send = false;
	return wqe->length > FAB_MTU_BYTES ? -EINVAL : 0;
}

static void *fab_qp_alloc(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	struct fab_qp *priv = kzalloc(sizeof(*priv), GFP_KERNEL);

	if (!priv)
		return ERR_PTR(-ENOMEM);
	priv->qp = qp;
	INIT_WORK(&priv->send, fab_send_work);
	spin_lock_init(&priv->mad_lock);
	return priv;
}

/* One that was reset before is not stopped again: its work may be queued */
static void fab_qp_free(struct rvt_dev_info *rdi, struct rvt_qp *qp)
{
	cancel_work_sync(&fab_qp_of(qp)->send);
	kfree(qp->priv);
	qp->priv = NULL;
}

/* The QP is in RESET: later calls send nothing */
static void fab_stop_send_queue(struct rvt_qp *qp)
{
	struct fab_qp *fqp = fab_qp_of(qp);

	cancel_work_sync(&fqp->send);
	spin_lock_irq(&fqp->mad_lock);
	spin_unlock_irq(&fqp->mad_lock);
	if (fab_qp_is_mad(qp)) {
		/* ib_mad frees the QP before it waits for its receives. */
		flush_work(&ibcq_to_rvtcq(qp->ibqp.recv_cq)->comptask);
		flush_work(&qp->ibqp.recv_cq->work);
	}
}

/* No request is in progress after the end of the work item */
static void fab_quiesce_qp(struct rvt_qp *qp)
{
}

static void fab_flush_qp_waiters(struct rvt_qp *qp)
{
}

static void fab_notify_qp_reset(struct rvt_qp *qp)
{
	if (fab_qp_connected(qp))
		fab_rc_reset(qp);
}

static void fab_notify_error_qp(struct rvt_qp *qp)
{
	if (fab_qp_connected(qp))
		fab_rc_error(qp);
}

static void fab_modify_qp(struct rvt_qp *qp, struct ib_qp_attr *attr,
			  int attr_mask, struct ib_udata *udata)
{
	if (fab_qp_connected(qp))
		fab_rc_modify(qp, attr, attr_mask, udata);
}

/*
 * QP0 and QP1 come and go with their users.  rdmavt frees all numbers in the
 * table's bits, so have those two there as well, and never leave its first
 * page, which holds more than max_qp.
 */
static int fab_alloc_qpn(struct rvt_dev_info *rdi, struct rvt_qpn_table *table,
			 enum ib_qp_type type, u32 port_num)
{
	unsigned long *bits = table->map[0].page;
	u32 qpn;

	if (type == IB_QPT_SMI || type == IB_QPT_GSI) {
		qpn = type == IB_QPT_GSI;
		return test_and_set_bit(qpn, bits) ? -EBUSY : qpn;
	}
	spin_lock(&table->lock);
	qpn = find_next_zero_bit(bits, RVT_BITS_PER_PAGE, table->last + 1);
	if (qpn >= RVT_BITS_PER_PAGE)
		qpn = find_next_zero_bit(bits, RVT_BITS_PER_PAGE,
					 rdi->dparms.qpn_start);
	if (qpn < RVT_BITS_PER_PAGE) {
		set_bit(qpn, bits);
		table->last = qpn;
	}
	spin_unlock(&table->lock);
	return qpn < RVT_BITS_PER_PAGE ? qpn : -ENOMEM;
}

static int fab_get_pmtu(struct rvt_dev_info *rdi, struct rvt_qp *qp,
			struct ib_qp_attr *attr)
{
	return ib_mtu_enum_to_int(attr->path_mtu) < 0 ? -EINVAL :
						       attr->path_mtu;
}

static u32 fab_mtu_from_qp(struct rvt_dev_info *rdi, struct rvt_qp *qp,
			   u32 pmtu)
{
	return ib_mtu_enum_to_int(pmtu);
}

static int fab_mtu_to_path_mtu(u32 mtu)
{
	return ib_mtu_int_to_enum(mtu);
}

/* rdmavt numbers a datagram's packets by this; a datagram is always one */
static void fab_notify_new_ah(struct ib_device *ibdev,
			      struct rdma_ah_attr *attr, struct rvt_ah *ah)
{
	ah->log_pmtu = ilog2(FAB_MTU_BYTES);
}

/**
 * fab_send_ops - fill in rdmavt's operations on queue pairs
 * @ops: the device's operations
 */
void fab_send_ops(struct rvt_driver_provided *ops)
{
	ops->schedule_send = fab_send_schedule;
	ops->schedule_send_no_lock = fab_send_posted;
	ops->setup_wqe = fab_setup_wqe;
	ops->do_send = fab_do_send;
	ops->qp_priv_alloc = fab_qp_alloc;
	ops->qp_priv_free = fab_qp_free;
	ops->notify_qp_reset = fab_notify_qp_reset;
	ops->notify_error_qp = fab_notify_error_qp;
	ops->notify_restart_rc = fab_rc_restart;
	ops->modify_qp = fab_modify_qp;
	ops->flush_qp_waiters = fab_flush_qp_waiters;
	ops->stop_send_queue = fab_stop_send_queue;
	ops->quiesce_qp = fab_quiesce_qp;
	ops->alloc_qpn = fab_alloc_qpn;
	ops->get_pmtu_from_attr = fab_get_pmtu;
	ops->mtu_from_qp = fab_mtu_from_qp;
	ops->mtu_to_path_mtu = fab_mtu_to_path_mtu;
	ops->notify_new_ah = fab_notify_new_ah;
}
