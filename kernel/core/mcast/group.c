// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The object of a group that an id joins: its memory, its parameters, and the
 * queue of its work item (join.c).
 */
#include <linux/slab.h>
#include <rdma/rdma_user_cm.h>

#include "mcast/mcast.h"

static struct workqueue_struct *cmx_group_wq;

/* Queues the work item after @ms milliseconds, unless the group is dead. */
void cmx_group_kick(struct cmx_group *g, unsigned int ms)
{
	spin_lock(&g->lock);
	if (!g->dead)
		mod_delayed_work(cmx_group_wq, &g->work, msecs_to_jiffies(ms));
	spin_unlock(&g->lock);
}

/*
 * True if rdma_cm can join it. Not on RoCE: rdma_cm leaves on the netdevice
 * that the id is bound to at that time. Nor in RDMA_PS_IPOIB: rdma_cm joins with
 * the Q_Key that the partition had when the id used it first, and does not
 * report the loss of a group after another one is known.
 */
static bool cmx_group_is_plain(const struct cmx_group *g)
{
	return !g->qp && !g->attr.param.mask && !g->attr.flags && !g->roce &&
	       !g->send_only && g->id->ps != RDMA_PS_IPOIB &&
	       g->id->route.addr.src_addr.ss_family != AF_IB;
}

/*
 * @attr is checked. Its address is padded with zeros. @attachments are those of
 * the id.
 */
struct cmx_group *cmx_group_alloc(struct rdma_cm_id *id,
				  const struct rdma_cmx_join_attr *attr,
				  struct cmx_attachments *attachments)
{
	struct cmx_group *g;

	g = kmalloc(sizeof(*g), GFP_KERNEL_ACCOUNT);
	if (!g)
		return NULL;
	/* An assignment clears in place by words, kzalloc() by bytes. */
	*g = (struct cmx_group) {
		.ref = REFCOUNT_INIT(1),
		.id = id,
		.addr = *attr->addr,
		.attr = *attr,
		.send_only = attr->join_flags ==
			     RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.persistent = attr->flags & RDMA_CMX_JOIN_PERSISTENT,
		.roce = rdma_protocol_roce(id->device, id->port_num),
		.set_qkey = attr->param.mask & RDMA_CMX_MC_QKEY,
		.qp = id->qp,
		.attachments = attachments,
	};
	RB_CLEAR_NODE(&g->node);
	INIT_LIST_HEAD(&g->order);
	INIT_LIST_HEAD(&g->members);
	INIT_LIST_HEAD(&g->attachment);
	spin_lock_init(&g->lock);
	g->attr.addr = &g->addr;
	g->plain = cmx_group_is_plain(g);
	if (!g->plain)
		cmx_stat_inc(live_members);
	return g;
}

void cmx_group_put(struct cmx_group *g)
{
	if (!refcount_dec_and_test(&g->ref))
		return;
	if (!g->plain)
		cmx_stat_dec(live_members);
	kfree(g);
}

/* True if a join has the same attributes as the group */
bool cmx_group_is(const struct cmx_group *g,
		  const struct rdma_cmx_join_attr *attr)
{
	return g->attr.join_flags == attr->join_flags &&
	       g->attr.flags == attr->flags && g->qp == g->id->qp &&
	       !memcmp(&g->attr.param, &attr->param, sizeof(attr->param));
}

/* Fills the parameters of a joined group. The id's handler lock is held. */
void cmx_group_fill(struct cmx_group *g)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&g->ud.ah_attr);
	struct rdma_cmx_mc_param *param = &g->param;
	struct ib_sa_mcmember_rec rec;
	union ib_gid mgid = grh->dgid;

	memset(param, 0, sizeof(*param));
	param->mask = RDMA_CMX_MC_QKEY | RDMA_CMX_MC_SL | RDMA_CMX_MC_MTU |
		      RDMA_CMX_MC_TRAFFIC_CLASS | RDMA_CMX_MC_FLOW_LABEL |
		      RDMA_CMX_MC_HOP_LIMIT;
	param->qkey = g->ud.qkey;
	param->sl = rdma_ah_get_sl(&g->ud.ah_attr);
	param->traffic_class = grh->traffic_class;
	param->flow_label = grh->flow_label;
	param->hop_limit = grh->hop_limit;
	if (g->roce) {
		param->mtu = g->rec.mtu;
	} else if (!ib_sa_get_mcmember_rec(g->id->device, g->id->port_num,
					   &mgid, &rec)) {
		param->mask |= RDMA_CMX_MC_PKEY | RDMA_CMX_MC_RATE;
		param->pkey = be16_to_cpu(rec.pkey);
		param->mtu = rec.mtu;
		param->rate = rec.rate;
	}
	if (!param->mtu)
		param->mask &= ~RDMA_CMX_MC_MTU;
}

/* Stores the join for later members. The id's handler lock is held. */
void cmx_group_keep(struct cmx_group *g, struct rdma_ud_param *ud)
{
	if (g->joined)
		rdma_destroy_ah_attr(&g->ud.ah_attr);
	g->joined = true;
	g->lost = 0;
	g->ud = *ud;
	g->ud.private_data = NULL;
	rdma_copy_ah_attr(&g->ud.ah_attr, &ud->ah_attr);
	cmx_group_fill(g);
}

int cmx_group_init(void)
{
	cmx_group_wq = alloc_workqueue("rdma_cmx_mc",
				       WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return cmx_group_wq ? 0 : -ENOMEM;
}

void cmx_group_exit(void)
{
	destroy_workqueue(cmx_group_wq);
}
