/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Interface of rc.c, the requester of RC and UC, and rc_resp.c, the responder */
#ifndef CMX_FABRIC_RC_H
#define CMX_FABRIC_RC_H

#include "fabric.h"

/* The response to a message of the requester */
enum fab_answer {
	FAB_ACK,
	FAB_SILENCE,		/* it was lost, or no QP received it */
	FAB_RNR,		/* no receive buffer at this moment */
	FAB_NAK_INVALID,
	FAB_NAK_ACCESS,
	FAB_NAK_OPERATION,
};

/**
 * fab_rc_deliver() - execute one request on the connected QP
 * @qp:		the requester
 * @wqe:	its request, valid until the requester completes it
 * @rnr_code:	set with FAB_RNR: time to wait, coded as in the packet
 *
 * Context: process context, the requester's work item, no lock.
 * Return: the responder's response.  A UC responder sends none, so for UC any
 * value means done.
 */
enum fab_answer fab_rc_deliver(struct rvt_qp *qp, struct rvt_swqe *wqe,
			       u8 *rnr_code);

/* Reports to the QP's owner.  No lock held, the caller keeps the QP. */
static inline void fab_qp_event(struct rvt_qp *qp, enum ib_event_type type)
{
	struct ib_event event = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
}

#endif
