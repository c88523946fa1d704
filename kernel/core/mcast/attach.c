// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue pair of an id of the kernel: it is attached for the id's groups, and
 * has one Q_Key. All with the id's handler lock.
 *
 * A Q_Key that the caller gave for a joined group has precedence. Otherwise the
 * queue pair has its base: in RDMA_PS_IPOIB that of the broadcast group, which a
 * subnet manager may change, and else what it had before a group set one.
 */
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rdma_cm_ib.h>

#include "mcast/mcast.h"

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

static void cmx_group_detach_locked(struct cmx_group *g)
{
	g->current_qkey = false;
	if (list_empty(&g->attachment))
		return;
	list_del_init(&g->attachment);
	if (!cmx_group_sharer(g))
		ib_detach_mcast(g->qp, &g->attached_gid, g->attached_lid);
}

/*
 * The MGID has another MLID than @from, which others are attached to. They are
 * moved, too. They have to be rejoined as well, so after an error they are
 * attached then.
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
		if (ret) {
			other->current_qkey = false;
			list_del_init(&other->attachment);
		} else {
			other->attached_lid = g->attached_lid;
		}
	}
	return ret;
}

/* True if a group of them is joined, and not lost */
static bool cmx_attachments_current(const struct cmx_attachments *attachments)
{
	const struct cmx_group *g;

	list_for_each_entry(g, &attachments->groups, attachment)
		if (g->current_qkey)
			return true;
	return false;
}

/*
 * The group whose Q_Key the queue pair has to have, or NULL: one that the caller
 * gave. @first precedes, then the group whose Q_Key it has. A group that is lost
 * keeps its Q_Key if no other one is joined: unicast may use it.
 */
static const struct cmx_group *
cmx_attachments_leader(const struct cmx_attachments *attachments,
		       const struct cmx_group *first)
{
	bool current_only = cmx_attachments_current(attachments);
	const struct cmx_group *g, *leader = NULL;

	list_for_each_entry(g, &attachments->groups, attachment) {
		if (!g->set_qkey || (current_only && !g->current_qkey))
			continue;
		if (g == first)
			return g;
		if (!leader ||
		    be32_to_cpu(g->rec.qkey) == attachments->qkey)
			leader = g;
	}
	return leader;
}

/* True if the partition's Q_Key is required, see cmx_attachments_leader() */
static bool cmx_attachments_partition(const struct cmx_attachments *attachments)
{
	const struct cmx_group *g;

	list_for_each_entry(g, &attachments->groups, attachment)
		if (g->current_qkey && !g->set_qkey &&
		    g->id->ps == RDMA_PS_IPOIB)
			return true;
	return false;
}

static void cmx_attachments_forget(struct cmx_attachments *attachments)
{
	attachments->qkey = 0;
	attachments->base = 0;
	attachments->foreign = false;
}

/*
 * Reads the Q_Key of the queue pair. One that the core has not set is the base:
 * it is of rdma_create_qp(), or the consumer has set it since. -EOPNOTSUPP: the
 * driver does not report it, or the queue pair is reset.
 */
static int cmx_group_read_qkey(const struct cmx_group *g)
{
	struct cmx_attachments *attachments = g->attachments;
	struct ib_qp_init_attr init = {};
	struct ib_qp_attr attr = {};
	int ret = ib_query_qp(g->qp, &attr, IB_QP_QKEY, &init);

	if (!ret && !attr.qkey)
		ret = -EOPNOTSUPP;
	if (ret == -EOPNOTSUPP && !attachments->base &&
	    g->id->ps != RDMA_PS_IPOIB)
		attachments->base = RDMA_UDP_QKEY;
	if (ret || attr.qkey == attachments->qkey)
		return ret;
	attachments->foreign = attachments->qkey;
	attachments->qkey = attr.qkey;
	if (!cmx_attachments_partition(attachments))
		attachments->base = attr.qkey;
	return 0;
}

/*
 * Sets the Q_Key that the groups require. @g has changed: it is joined, lost or
 * gone. One that the consumer has set is replaced by the join of its group, or
 * by the partition's if a joined group requires that. After an error a later
 * change sets it.
 */
static int cmx_group_sync_qkey(const struct cmx_group *g)
{
	struct cmx_attachments *attachments = g->attachments;
	const struct cmx_group *leader = cmx_attachments_leader(attachments, g);
	bool partition = !leader && cmx_attachments_partition(attachments);
	bool leads = leader == g && g->current_qkey;
	struct ib_qp_attr attr = {};
	int known, ret;

	if (g->qp->qp_num != attachments->qp_num) {
		attachments->qp_num = g->qp->qp_num;
		cmx_attachments_forget(attachments);
	}
	if (!leader && !partition && attachments->qkey == attachments->base)
		return 0;
	known = cmx_group_read_qkey(g);
	if (g->current_qkey && !g->set_qkey && g->id->ps == RDMA_PS_IPOIB)
		attachments->base = be32_to_cpu(g->rec.qkey);
	/* A join beside the leader sets none, and does not need to know. */
	if (known && known != -EOPNOTSUPP)
		return leader && g->current_qkey && !leads ? 0 : known;
	if (attachments->foreign && !partition && !leads)
		return 0;
	attr.qkey = leader ? be32_to_cpu(leader->rec.qkey) : attachments->base;
	if (!attr.qkey)
		return 0;
	if (attr.qkey == attachments->qkey && !(known && leads)) {
		/* The consumer has set it, and now a group requires it. */
		if (leads)
			attachments->foreign = false;
		return 0;
	}
	ret = ib_modify_qp(g->qp, &attr, IB_QP_QKEY);
	if (ret)
		return ret;
	attachments->qkey = attr.qkey;
	attachments->foreign = false;
	return 0;
}

/* The consumer may replace a queue pair without groups. */
static void cmx_attachments_end(struct cmx_attachments *attachments)
{
	if (list_empty(&attachments->groups))
		cmx_attachments_forget(attachments);
}

void cmx_group_detach(struct cmx_group *g)
{
	if (!g->qp || g->send_only)
		return;
	rdma_lock_handler(g->id);
	if (g->qp == g->id->qp) {
		cmx_group_detach_locked(g);
		if (!cmx_group_sync_qkey(g))
			cmx_attachments_end(g->attachments);
	} else {
		/* The queue pair is destroyed, as it may be if the join failed. */
		g->current_qkey = false;
		list_del_init(&g->attachment);
	}
	rdma_unlock_handler(g->id);
}

/* A group that was rejoined may have another MLID. */
static int cmx_group_attach_locked(struct cmx_group *g)
{
	u16 lid = be16_to_cpu(g->rec.mlid);
	struct cmx_group *other;
	int ret;

	cmx_group_detach_locked(g);
	g->attached_gid = g->rec.mgid;
	g->attached_lid = lid;
	other = cmx_group_sharer(g);
	if (!other)
		ret = ib_attach_mcast(g->qp, &g->attached_gid, lid);
	else if (other->attached_lid != lid)
		ret = cmx_group_move_locked(g, other->attached_lid);
	else
		ret = 0;
	if (!ret)
		list_add(&g->attachment, &g->attachments->groups);
	return ret;
}

/* The group is joined: it is attached, or moved, and may have another Q_Key. */
static int cmx_group_use_locked(struct cmx_group *g)
{
	bool same = !list_empty(&g->attachment) &&
		    g->attached_lid == be16_to_cpu(g->rec.mlid) &&
		    !memcmp(&g->attached_gid, &g->rec.mgid,
			    sizeof(g->rec.mgid));
	int ret = same ? 0 : cmx_group_attach_locked(g);

	g->current_qkey = !ret;
	if (!ret)
		ret = cmx_group_sync_qkey(g);
	if (!ret)
		return 0;
	g->current_qkey = false;
	/* One that is lost keeps its Q_Key until it is rejoined. */
	if (cmx_attachments_current(g->attachments))
		cmx_group_sync_qkey(g);
	return ret;
}

int cmx_group_attach(struct cmx_group *g)
{
	int ret;

	if (!g->qp || g->send_only)
		return 0;
	rdma_lock_handler(g->id);
	ret = cmx_group_use_locked(g);
	rdma_unlock_handler(g->id);
	return ret;
}

/*
 * A persistent group is lost, and is attached still. Its Q_Key is a former one.
 * The caller holds the handler lock.
 */
void cmx_group_outdate(struct cmx_group *g)
{
	if (!g->current_qkey)
		return;
	g->current_qkey = false;
	cmx_group_sync_qkey(g);
}
