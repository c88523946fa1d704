// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A group is joined, reported, lost, rejoined and left: by rdma_cm, or on RoCE
 * and where rdma_cm 6.1 refuses by rdma_cmx.
 *
 * On RoCE the join does all of it before it returns. On InfiniBand the group's
 * work item does it. It never runs twice at the same time, so most of struct
 * cmx_group needs no lock. The work item takes the id's handler lock to call
 * the consumer. Therefore no code may leave a group within that handler. A
 * leave marks the group dead, which prevents further queueing, and waits for
 * the work item. Then it has exclusive access to the group.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_user_cm.h>

#include "mcast/mcast.h"
#include "mcast/trace.h"

/* Queue pair number of all groups */
#define CMX_MC_QP_NUM		0xffffff

static void cmx_group_stop(struct cmx_group *g)
{
	if (g->roce)
		cmx_mcast_ip_leave(&g->ip);
	else
		cmx_mcast_ib_stop(g);
}

static void cmx_group_report(struct cmx_group *g, struct rdma_cm_event *event)
{
	event->param.ud.private_data = g;
	trace_cmx_member(g->id, &g->addr, event->status);
	rdma_lock_handler(g->id);
	g->id->event_handler(g->id, event);
	rdma_unlock_handler(g->id);
}

static int cmx_group_joined(struct cmx_group *g)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_MULTICAST_JOIN };
	struct rdma_ud_param *ud = &event.param.ud;
	int ret;

	/* The id's GID has been removed since the bind. */
	if (ib_init_ah_from_mcmember(g->id->device, g->id->port_num, &g->rec,
				     NULL, IB_GID_TYPE_IB, &ud->ah_attr))
		return -EADDRNOTAVAIL;
	ret = cmx_group_attach(g);
	if (ret)
		goto destroy_ah;
	if (g->was_joined)
		cmx_stat_inc(rejoins);
	g->state = CMX_GROUP_JOINED;
	g->was_joined = true;
	g->backoff = CMX_BACKOFF_MIN;
	ud->qp_num = CMX_MC_QP_NUM;
	ud->qkey = be32_to_cpu(g->rec.qkey);
	cmx_group_report(g, &event);
destroy_ah:
	rdma_destroy_ah_attr(&ud->ah_attr);
	return ret;
}

static void cmx_group_failed(struct cmx_group *g, int status)
{
	struct rdma_cm_event event = {
		.event = RDMA_CM_EVENT_MULTICAST_ERROR,
		.status = status,
	};

	cmx_group_stop(g);
	if (g->persistent && g->was_joined) {
		if (!g->lost)
			cmx_members_lost(g, status);
		g->state = CMX_GROUP_IDLE;
		cmx_group_kick(g, g->backoff);
		g->backoff = min(2 * g->backoff, CMX_BACKOFF_MAX);
		return;
	}
	cmx_group_detach(g);
	g->state = CMX_GROUP_FAILED;
	cmx_group_report(g, &event);
}

static void cmx_group_work(struct work_struct *work)
{
	struct cmx_group *g =
		container_of(to_delayed_work(work), struct cmx_group, work);
	int status;

	if (g->state == CMX_GROUP_IDLE) {
		g->state = CMX_GROUP_BUSY;
		status = cmx_mcast_ib_start(g);
	} else if (!cmx_mcast_ib_event(g, &status)) {
		return;
	}
	if (status == -EINPROGRESS)
		return;
	if (!status)
		status = cmx_group_joined(g);
	if (status)
		cmx_group_failed(g, status);
}

static int cmx_group_join_plain(struct cmx_group *g)
{
	int ret = rdma_join_multicast(g->id, &g->addr.sa, BIT(FULLMEMBER_JOIN),
				      g);

	/* User space does not know this errno. */
	return ret == -ENOTSUPP ? -EOPNOTSUPP : ret;
}

/* The group is not visible to others, so its members need no lock. */
static int cmx_group_join_roce(struct cmx_group *g)
{
	int ret, status;

	ret = cmx_mcast_roce_join(g, &g->attr.param, &status);
	if (ret)
		return ret;
	if (!status) {
		status = cmx_group_attach(g);
		if (status)
			rdma_destroy_ah_attr(&g->ud.ah_attr);
	}
	trace_cmx_member(g->id, &g->addr, status);
	if (status) {
		cmx_group_detach(g);
		cmx_group_stop(g);
		g->failed = status;
		return 0;
	}
	g->joined = true;
	g->ud.qp_num = CMX_MC_QP_NUM;
	g->ud.qkey = be32_to_cpu(g->rec.qkey);
	cmx_group_fill(g);
	return 0;
}

static int cmx_group_join_ib(struct cmx_group *g)
{
	INIT_DELAYED_WORK(&g->work, cmx_group_work);
	g->backoff = CMX_BACKOFF_MIN;
	return cmx_mcast_ib_prepare(g);
}

/*
 * On RoCE the event is ready at the return and is not reported. On InfiniBand
 * it may be reported before the return. No event follows an error.
 */
int cmx_group_join(struct cmx_group *g)
{
	int ret;

	if (g->plain)
		ret = cmx_group_join_plain(g);
	else if (g->roce)
		ret = cmx_group_join_roce(g);
	else
		ret = cmx_group_join_ib(g);
	if (ret)
		return ret;
	cmx_stat_inc(joins);
	if (!g->plain && !g->roce)
		cmx_group_kick(g, 0);
	return 0;
}

static void cmx_group_quiesce(struct cmx_group *g)
{
	spin_lock(&g->lock);
	g->dead = true;
	spin_unlock(&g->lock);
	cancel_delayed_work_sync(&g->work);
}

/* No handler uses the group after the return. */
void cmx_group_leave(struct cmx_group *g)
{
	if (g->left)
		return;
	g->left = true;
	trace_cmx_leave(g->id, &g->addr);
	cmx_stat_inc(leaves);
	if (g->plain) {
		rdma_leave_multicast(g->id, &g->addr.sa);
	} else {
		if (!g->roce)
			cmx_group_quiesce(g);
		cmx_group_detach(g);
		cmx_group_stop(g);
	}
	if (g->joined)
		rdma_destroy_ah_attr(&g->ud.ah_attr);
}
