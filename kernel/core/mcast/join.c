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

/* True if both have the queue pair attached to the same MGID */
static bool cmx_group_shares(const struct cmx_group *g,
			     const struct cmx_group *other)
{
	return other != g && other->qp == g->qp &&
	       !memcmp(&other->attached_gid, &g->attached_gid,
		       sizeof(g->attached_gid));
}

/*
 * Another group of the id that has attached the queue pair to the same MGID, or
 * NULL: two addresses may differ in a port only. Drivers do not count
 * attachments: the first detachment ends all, and the next one fails. Most do
 * not compare the MLID, either. An MGID has one at a time, so all groups that
 * share an attachment have the same.
 */
static struct cmx_group *cmx_group_sharer(const struct cmx_group *g)
{
	struct cmx_group *other;

	list_for_each_entry(other, &g->attachments->groups, attachment) {
		if (cmx_group_shares(g, other))
			return other;
	}
	return NULL;
}

/* With the id's handler lock */
static void cmx_group_detach_locked(struct cmx_group *g)
{
	if (list_empty(&g->attachment))
		return;
	list_del_init(&g->attachment);
	if (!cmx_group_sharer(g))
		ib_detach_mcast(g->qp, &g->attached_gid, g->attached_lid);
}

/*
 * The MGID has another MLID than @from, which others are attached to. They are
 * moved, too. They have to be rejoined as well, so after an error they are
 * attached then. Likewise.
 */
static int cmx_group_move_locked(struct cmx_group *g, u16 from)
{
	struct cmx_group *other, *next;
	int ret;

	ib_detach_mcast(g->qp, &g->attached_gid, from);
	ret = ib_attach_mcast(g->qp, &g->attached_gid, g->attached_lid);
	list_for_each_entry_safe(other, next, &g->attachments->groups,
				 attachment) {
		if (!cmx_group_shares(g, other))
			continue;
		if (ret)
			list_del_init(&other->attachment);
		else
			other->attached_lid = g->attached_lid;
	}
	return ret;
}

/*
 * True if the queue pair gets @qkey, that of the group. One that the caller gave
 * has precedence over that of another group. The Q_Key of a group without one
 * differs from that of rdma_create_qp() in port space RDMA_PS_IPOIB only: it is
 * that of the broadcast group, and a subnet manager may change it. Likewise.
 */
static bool cmx_group_sets_qkey(const struct cmx_group *g, u32 qkey, bool same)
{
	const struct cmx_group *other;

	if (g->set_qkey && !same)
		return true;
	if (g->attachments->qkey == qkey)
		return false;
	if (g->set_qkey)
		return true;
	list_for_each_entry(other, &g->attachments->groups, attachment) {
		if (other->set_qkey && !other->lost)
			return false;
	}
	return g->id->ps == RDMA_PS_IPOIB;
}

/*
 * The attached group whose Q_Key the queue pair has to have, or NULL. One that
 * is lost has a former Q_Key: any other one precedes it. Of these one with a
 * Q_Key of the caller is first, and one whose Q_Key it has. Likewise.
 */
static struct cmx_group *
cmx_attachments_leader(struct cmx_attachments *attachments)
{
	struct cmx_group *g, *first = NULL;

	list_for_each_entry(g, &attachments->groups, attachment) {
		if (g->lost)
			continue;
		if (g->set_qkey &&
		    be32_to_cpu(g->rec.qkey) == attachments->qkey)
			return g;
		if (!first || (g->set_qkey && !first->set_qkey))
			first = g;
	}
	return first ?: list_first_entry_or_null(&attachments->groups,
						 struct cmx_group, attachment);
}

/*
 * @g is detached. If the queue pair has its Q_Key of the caller, it gets that
 * of a group that is left. After an error the next join of that one sets it.
 * Likewise.
 */
static void cmx_group_restore_qkey(struct cmx_group *g)
{
	struct cmx_attachments *attachments = g->attachments;
	struct cmx_group *left = cmx_attachments_leader(attachments);
	struct ib_qp_attr attr = {};

	if (!left) {
		/* The consumer may replace the queue pair now. */
		attachments->qkey = 0;
		return;
	}
	if (!g->set_qkey || be32_to_cpu(g->rec.qkey) != attachments->qkey)
		return;
	attr.qkey = be32_to_cpu(left->rec.qkey);
	if (attr.qkey == attachments->qkey)
		return;
	if (ib_modify_qp(g->qp, &attr, IB_QP_QKEY))
		attr.qkey = 0;
	attachments->qkey = attr.qkey;
}

void cmx_group_detach(struct cmx_group *g)
{
	if (!g->qp)
		return;
	rdma_lock_handler(g->id);
	cmx_group_detach_locked(g);
	cmx_group_restore_qkey(g);
	rdma_unlock_handler(g->id);
}

/* A group that was rejoined may have another MLID or Q_Key. Likewise. */
static int cmx_group_attach_locked(struct cmx_group *g)
{
	struct ib_qp_attr attr = { .qkey = be32_to_cpu(g->rec.qkey) };
	u16 lid = be16_to_cpu(g->rec.mlid);
	struct cmx_group *other;
	int ret = 0;
	bool same;

	same = !list_empty(&g->attachment) && g->attached_lid == lid &&
	       !memcmp(&g->attached_gid, &g->rec.mgid, sizeof(g->rec.mgid));
	if (cmx_group_sets_qkey(g, attr.qkey, same)) {
		ret = ib_modify_qp(g->qp, &attr, IB_QP_QKEY);
		if (ret)
			return ret;
		g->attachments->qkey = attr.qkey;
	}
	if (same)
		return 0;
	cmx_group_detach_locked(g);
	g->attached_gid = g->rec.mgid;
	g->attached_lid = lid;
	other = cmx_group_sharer(g);
	if (!other)
		ret = ib_attach_mcast(g->qp, &g->attached_gid, lid);
	else if (other->attached_lid != lid)
		ret = cmx_group_move_locked(g, other->attached_lid);
	if (ret)
		return ret;
	list_add(&g->attachment, &g->attachments->groups);
	return 0;
}

int cmx_group_attach(struct cmx_group *g)
{
	int ret;

	if (!g->qp || g->send_only)
		return 0;
	rdma_lock_handler(g->id);
	ret = cmx_group_attach_locked(g);
	rdma_unlock_handler(g->id);
	return ret;
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
		if (g->state == CMX_GROUP_JOINED)
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
