// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reports the state of a group to its members, and the end of joins that have
 * one callback.
 */
#include <linux/slab.h>

#include "mcast/mcast.h"

void cmx_batch_put(struct cmx_batch *b)
{
	if (!refcount_dec_and_test(&b->pending))
		return;
	b->done(b->joins, b->count, b->context);
	kfree(b);
}

/* The first event or the end: with the handler lock, or in no list. */
void cmx_member_settle(struct rdma_cmx_member *m, int status)
{
	struct cmx_batch *b = m->batch;

	if (!b)
		return;
	m->batch = NULL;
	if (!m->owner->ended) {
		b->joins[m->number].status = status;
		cmx_batch_put(b);
	} else if (refcount_dec_and_test(&b->pending)) {
		/* The id contains all of it, and the caller is gone. */
		kfree(b);
	}
}

/* Reports the state of the group. The id's handler lock is held. */
void cmx_member_report(struct rdma_cmx_member *m)
{
	struct cmx_group *g = m->group;
	struct rdma_cm_event event = {
		.event = RDMA_CM_EVENT_MULTICAST_JOIN,
	};

	if (g->failed) {
		event.event = RDMA_CM_EVENT_MULTICAST_ERROR;
		event.status = g->failed;
	} else {
		event.param.ud = g->ud;
	}
	if (m->event && !m->owner->ended)
		m->event(m, &event, g->failed ? NULL : &g->param, m->context);
	cmx_member_settle(m, g->failed);
}

/* Reports the loss to members that requested it, likewise. */
void cmx_member_report_lost(struct rdma_cmx_member *m)
{
	struct rdma_cm_event event = {
		.event = RDMA_CMX_EVENT_MULTICAST_LOST,
		.status = m->group->lost,
	};

	if (m->report_lost && m->group->lost && m->group->joined && m->event &&
	    !m->owner->ended)
		m->event(m, &event, NULL, m->context);
}

/*
 * The group's work item: a persistent group is lost, and will be rejoined. The
 * id's handler does not know this event, so the members receive it directly. They
 * receive none if it was lost before its first join was reported.
 */
void cmx_members_lost(struct cmx_group *g, int status)
{
	struct rdma_cmx_member *m;

	rdma_lock_handler(g->id);
	g->lost = status;
	cmx_group_outdate(g);
	list_for_each_entry(m, &g->members, node)
		cmx_member_report_lost(m);
	rdma_unlock_handler(g->id);
}
