// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The requester of RC and UC: takes requests off a QP's send queue, one at a
 * time and in order, so that fences and the limits of outstanding reads hold by
 * themselves.  No packets are made: rc_resp.c does to the connected QP what they
 * would have done.  What gets lost is tried again when rdmavt's retry timer or
 * RNR timer has run out.
 *
 * The QP's work item is alone in moving s_cur and s_last; s_lock protects them
 * and s_flags.  The locks of two QPs are never held together.
 */
#include <linux/sizes.h>

#include <rdma/ib_hdrs.h>

#include "rc.h"

/* The limit of one run of the work item, for the device's other work */
#define FAB_BATCH_REQUESTS	64
#define FAB_BATCH_BYTES		SZ_1M

/* s_flags, where rdmavt leaves room for the driver */
#define FAB_S_RETRIES_OUT	BIT(31)	/* the last retry has timed out too */
#define FAB_S_DRAIN_NOTE	BIT(30)	/* SQ_DRAINED is wanted */

/* The next request to process; *status: if not success, fail it */
static struct rvt_swqe *fab_request_next(struct rvt_qp *qp,
					 enum ib_wc_status *status)
{
	struct rvt_swqe *wqe = NULL;
	bool drained = false;
	unsigned long flags;
	int ops;

	*status = IB_WC_SUCCESS;
	spin_lock_irqsave(&qp->s_lock, flags);
	ops = ib_rvt_state_ops[qp->state];
	if (qp->state != IB_QPS_SQD)
		qp->s_flags &= ~FAB_S_DRAIN_NOTE;
	if (ops & RVT_FLUSH_SEND) {
		*status = IB_WC_WR_FLUSH_ERR;
	} else if (!(ops & RVT_PROCESS_SEND_OK) ||
		   (qp->s_flags & RVT_S_ANY_WAIT)) {
		goto unlock;
	} else if (qp->s_flags & FAB_S_RETRIES_OUT) {
		*status = IB_WC_RETRY_EXC_ERR;
	} else if (!(ops & RVT_PROCESS_NEXT_SEND_OK) &&
		   qp->s_last == qp->s_cur) {
		drained = qp->s_flags & FAB_S_DRAIN_NOTE;
		qp->s_flags &= ~FAB_S_DRAIN_NOTE;
		goto unlock;
	}
	qp->s_flags &= ~FAB_S_RETRIES_OUT;
	/* pairs with the barrier before rdmavt moves s_head */
	if (qp->s_last == smp_load_acquire(&qp->s_head))
		goto unlock;
	wqe = rvt_get_swqe_ptr(qp, qp->s_last);
	if (qp->s_last == qp->s_cur)
		qp->s_cur = rvt_qp_swqe_incr(qp, qp->s_cur);
unlock:
	spin_unlock_irqrestore(&qp->s_lock, flags);
	if (drained)
		fab_qp_event(qp, IB_EVENT_SQ_DRAINED);
	return wqe;
}

/* After a completion in error, which only RC has. */
static void fab_requester_fail(struct rvt_qp *qp)
{
	unsigned long flags;
	bool last_wqe;

	spin_lock_irqsave(&qp->r_lock, flags);
	spin_lock(&qp->s_lock);
	last_wqe = rvt_error_qp(qp, IB_WC_WR_FLUSH_ERR);
	spin_unlock(&qp->s_lock);
	spin_unlock_irqrestore(&qp->r_lock, flags);
	if (last_wqe)
		fab_qp_event(qp, IB_EVENT_QP_LAST_WQE_REACHED);
}

/*
 * The peer did not respond.  True: the retry timer is running, unless the QP's
 * owner has set a timeout of 0, which means none.
 */
static bool fab_ack_await(struct rvt_qp *qp)
{
	unsigned long flags;
	bool waiting;

	spin_lock_irqsave(&qp->s_lock, flags);
	waiting = ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK;
	if (waiting) {
		qp->s_flags |= RVT_S_WAIT_ACK;
		if (qp->timeout)
			rvt_mod_retry_timer(qp);
	}
	spin_unlock_irqrestore(&qp->s_lock, flags);
	return waiting;
}

/* False: no retry is left.  7 means without a limit. */
static bool fab_rnr_await(struct rvt_qp *qp, u8 rnr_code)
{
	unsigned long flags;
	bool more;

	spin_lock_irqsave(&qp->s_lock, flags);
	qp->s_retry = qp->s_retry_cnt;
	more = qp->s_rnr_retry;
	if (more && (ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK)) {
		if (qp->s_rnr_retry_cnt < 7)
			qp->s_rnr_retry--;
		rvt_add_rnr_timer(qp, rnr_code << IB_AETH_CREDIT_SHIFT);
	}
	spin_unlock_irqrestore(&qp->s_lock, flags);
	return more;
}

static void fab_retries_refill(struct rvt_qp *qp)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->s_lock, flags);
	qp->s_retry = qp->s_retry_cnt;
	qp->s_rnr_retry = qp->s_rnr_retry_cnt;
	spin_unlock_irqrestore(&qp->s_lock, flags);
}

/* False: it waits for a timer. */
static bool fab_request_send(struct rvt_qp *qp, struct rvt_swqe *wqe,
			     enum ib_wc_status *status)
{
	enum fab_answer answer;
	u8 rnr_code = 0;

	*status = IB_WC_SUCCESS;
	answer = fab_rc_deliver(qp, wqe, &rnr_code);
	if (qp->ibqp.qp_type == IB_QPT_UC)
		return true;
	switch (answer) {
	case FAB_ACK:
		fab_retries_refill(qp);
		break;
	case FAB_SILENCE:
		if (fab_ack_await(qp))
			return false;
		*status = IB_WC_WR_FLUSH_ERR;
		break;
	case FAB_RNR:
		if (fab_rnr_await(qp, rnr_code))
			return false;
		*status = IB_WC_RNR_RETRY_EXC_ERR;
		break;
	case FAB_NAK_INVALID:
		*status = IB_WC_REM_INV_REQ_ERR;
		break;
	case FAB_NAK_ACCESS:
		*status = IB_WC_REM_ACCESS_ERR;
		break;
	case FAB_NAK_OPERATION:
		*status = IB_WC_REM_OP_ERR;
		break;
	}
	return true;
}

static bool fab_request_is_local(const struct rvt_swqe *wqe)
{
	return fab_post_parms[wqe->wr.opcode].flags & RVT_OPERATION_LOCAL;
}

/*
 * A registration or an invalidation.  rdmavt has done it when it was posted,
 * unless it is an invalidation that had to wait for the requests before it.
 */
static enum ib_wc_status fab_request_local(struct rvt_qp *qp,
					   struct rvt_swqe *wqe,
					   enum ib_wc_status status)
{
	if (wqe->wr.send_flags & RVT_SEND_COMPLETION_ONLY)
		return status;
	if (status == IB_WC_SUCCESS &&
	    rvt_invalidate_rkey(qp, wqe->wr.ex.invalidate_rkey))
		status = IB_WC_LOC_PROT_ERR;
	atomic_dec(&qp->local_ops_pending);
	return status;
}

void fab_rc_send(struct rvt_qp *qp)
{
	enum ib_wc_status status;
	struct rvt_swqe *wqe;
	u64 bytes = 0;
	int n;

	for (n = 0; n < FAB_BATCH_REQUESTS && bytes < FAB_BATCH_BYTES; n++) {
		wqe = fab_request_next(qp, &status);
		if (!wqe)
			return;
		bytes += wqe->length;
		if (fab_request_is_local(wqe))
			status = fab_request_local(qp, wqe, status);
		else if (status == IB_WC_SUCCESS &&
			 !fab_request_send(qp, wqe, &status))
			return;
		/* from here on the entry may be overwritten */
		fab_send_complete(qp, wqe, status);
		if (status != IB_WC_SUCCESS && status != IB_WC_WR_FLUSH_ERR)
			fab_requester_fail(qp);
	}
	fab_send_schedule(qp);
}

void fab_rc_restart(struct rvt_qp *qp, u32 psn, int wait)
{
	qp->s_flags &= ~RVT_S_WAIT_ACK;
	if (qp->s_retry)
		qp->s_retry--;
	else
		qp->s_flags |= FAB_S_RETRIES_OUT;
}

void fab_rc_modify(struct rvt_qp *qp, struct ib_qp_attr *attr, int attr_mask,
		   struct ib_udata *udata)
{
	if (qp->state == IB_QPS_SQD && (attr_mask & IB_QP_STATE) &&
	    (attr_mask & IB_QP_EN_SQD_ASYNC_NOTIFY) &&
	    attr->en_sqd_async_notify)
		qp->s_flags |= FAB_S_DRAIN_NOTE;
	/* the work item reports a drained queue, or continues after SQD */
	if (ib_rvt_state_ops[qp->state] & RVT_PROCESS_SEND_OK)
		fab_send_schedule(qp);
}

void fab_rc_reset(struct rvt_qp *qp)
{
	fab_qp_of(qp)->rx_from = NULL;
	fab_qp_of(qp)->rx_kept = false;
}

void fab_rc_error(struct rvt_qp *qp)
{
	fab_qp_of(qp)->rx_from = NULL;
	fab_qp_of(qp)->rx_kept = false;
}
