// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast joins: their checks, and who does them. A plain one on InfiniBand
 * goes through rdma_cm, with the checks that it leaves to its callers; on RoCE,
 * and where rdma_cm 6.1 refuses, it is a membership of ours, found by id and
 * address in a table whose lock guards nothing else. Process context.
 */
#include <linux/export.h>
#include <linux/hashtable.h>
#include <linux/string.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "mcast/mcast.h"
#include "mcast/trace.h"

#define CMX_MC_PARAMS							\
	(RDMA_CMX_MC_QKEY | RDMA_CMX_MC_PKEY | RDMA_CMX_MC_MTU |	\
	 RDMA_CMX_MC_RATE | RDMA_CMX_MC_SL | RDMA_CMX_MC_TRAFFIC_CLASS |	\
	 RDMA_CMX_MC_FLOW_LABEL | RDMA_CMX_MC_HOP_LIMIT)

#define CMX_FLOW_LABEL_MAX	0xfffff
#define CMX_SL_MAX		15
#define CMX_RATE_MAX		0x3f
#define CMX_PKEY_BASE		0x7fff

static DEFINE_HASHTABLE(cmx_members, 10);
static DEFINE_SPINLOCK(cmx_members_lock);

/* A value is either in the mask and in its range, or 0. */
static bool cmx_value_ok(u32 mask, u32 bit, u32 value, u32 min, u32 max)
{
	if (!(mask & bit))
		return !value;
	return value >= min && value <= max;
}

int cmx_mc_param_check(const struct rdma_cmx_mc_param *p)
{
	if (p->mask & ~CMX_MC_PARAMS)
		return -EOPNOTSUPP;
	if (memchr_inv(p->reserved, 0, sizeof(p->reserved)) ||
	    !cmx_value_ok(p->mask, RDMA_CMX_MC_QKEY, p->qkey, 1, U32_MAX) ||
	    !cmx_value_ok(p->mask, RDMA_CMX_MC_PKEY, p->pkey, 1, U16_MAX) ||
	    !cmx_value_ok(p->mask, RDMA_CMX_MC_MTU, p->mtu, IB_MTU_256,
			  IB_MTU_4096) ||
	    !cmx_value_ok(p->mask, RDMA_CMX_MC_RATE, p->rate, IB_RATE_2_5_GBPS,
			  CMX_RATE_MAX) ||
	    !cmx_value_ok(p->mask, RDMA_CMX_MC_SL, p->sl, 0, CMX_SL_MAX) ||
	    !cmx_value_ok(p->mask, RDMA_CMX_MC_TRAFFIC_CLASS, p->traffic_class,
			  0, U8_MAX) ||
	    !cmx_value_ok(p->mask, RDMA_CMX_MC_FLOW_LABEL, p->flow_label, 0,
			  CMX_FLOW_LABEL_MAX) ||
	    !cmx_value_ok(p->mask, RDMA_CMX_MC_HOP_LIMIT, p->hop_limit, 0,
			  U8_MAX))
		return -EINVAL;
	if (p->mask & RDMA_CMX_MC_PKEY && !(p->pkey & CMX_PKEY_BASE))
		return -EINVAL;
	return 0;
}

static int cmx_join_check(const struct rdma_cm_id *id,
			  const struct rdma_cmx_join_attr *attr)
{
	if (!attr->addr || !id->device || id->qp_type != IB_QPT_UD)
		return -EINVAL;
	if (attr->join_flags != RDMA_MC_JOIN_FLAG_FULLMEMBER &&
	    attr->join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
		return -EINVAL;
	if (!cmx_addr_is_multicast(attr->addr))
		return -EINVAL;
	if (attr->flags & ~RDMA_CMX_JOIN_PERSISTENT)
		return -EOPNOTSUPP;
	if (!rdma_protocol_roce(id->device, id->port_num) &&
	    !rdma_cap_ib_mcast(id->device, id->port_num))
		return -EOPNOTSUPP;
	return cmx_mc_param_check(&attr->param);
}

/*
 * Can rdma_cm do it? Not on RoCE, where it would leave on whatever netdevice
 * the id is bound to by then.
 */
static bool cmx_join_is_plain(const struct rdma_cm_id *id,
			      const struct rdma_cmx_join_attr *attr)
{
	return !id->qp && !attr->param.mask && !attr->flags &&
	       !rdma_protocol_roce(id->device, id->port_num) &&
	       attr->join_flags == RDMA_MC_JOIN_FLAG_FULLMEMBER &&
	       id->route.addr.src_addr.ss_family != AF_IB;
}

static int cmx_join_plain(struct rdma_cm_id *id,
			  const struct rdma_cmx_join_attr *attr, void *context)
{
	union rdma_cmx_sockaddr addr = *attr->addr;
	u8 state = attr->join_flags == RDMA_MC_JOIN_FLAG_FULLMEMBER ?
		   BIT(FULLMEMBER_JOIN) : BIT(SENDONLY_FULLMEMBER_JOIN);
	int ret;

	ret = rdma_join_multicast(id, &addr.sa, state, context);
	/* An errno that user space does not know. */
	return ret == -ENOTSUPP ? -EOPNOTSUPP : ret;
}

static int cmx_join_member(struct rdma_cm_id *id,
			   const struct rdma_cmx_join_attr *attr, void *context)
{
	struct cmx_member *m;
	int ret;

	m = cmx_member_alloc(id, attr, context);
	if (!m)
		return -ENOMEM;
	m->roce = rdma_protocol_roce(id->device, id->port_num);
	if (m->roce)
		ret = cmx_mcast_roce_prepare(m, &attr->param);
	else
		ret = cmx_mcast_ib_prepare(m, &attr->param);
	if (ret) {
		cmx_member_put(m);
		return ret;
	}
	spin_lock(&cmx_members_lock);
	hash_add(cmx_members, &m->node, (unsigned long)id);
	/* Within the lock: whoever finds it may free it. */
	cmx_member_kick(m, 0);
	spin_unlock(&cmx_members_lock);
	return 0;
}

int rdma_cmx_join(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
		  void *context)
{
	int ret;

	ret = cmx_join_check(id, attr);
	if (ret)
		return ret;
	if (cmx_join_is_plain(id, attr))
		ret = cmx_join_plain(id, attr, context);
	else
		ret = cmx_join_member(id, attr, context);
	if (!ret)
		cmx_stat_inc(joins);
	trace_cmx_join(id, attr->addr, attr->join_flags, ret);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_join);

/* Take the newest membership of a group, or of any, out of the table. */
static struct cmx_member *cmx_member_take(struct rdma_cm_id *id,
					  const union rdma_cmx_sockaddr *addr)
{
	size_t len = addr ? cmx_addr_size(addr->sa.sa_family) : 0;
	struct cmx_member *m;

	spin_lock(&cmx_members_lock);
	hash_for_each_possible(cmx_members, m, node, (unsigned long)id) {
		if (m->id == id && (!addr || !memcmp(&m->addr, addr, len))) {
			hash_del(&m->node);
			spin_unlock(&cmx_members_lock);
			return m;
		}
	}
	spin_unlock(&cmx_members_lock);
	return NULL;
}

void rdma_cmx_leave(struct rdma_cm_id *id, const union rdma_cmx_sockaddr *addr)
{
	union rdma_cmx_sockaddr copy = *addr;
	struct cmx_member *m;

	/* Of no length: it would be equal to each group. */
	if (!cmx_addr_size(copy.sa.sa_family))
		return;
	trace_cmx_leave(id, &copy);
	cmx_stat_inc(leaves);
	m = cmx_member_take(id, &copy);
	if (m)
		cmx_member_end(m);
	else
		rdma_leave_multicast(id, &copy.sa);
}
EXPORT_SYMBOL_GPL(rdma_cmx_leave);

void rdma_cmx_leave_all(struct rdma_cm_id *id)
{
	struct cmx_member *m;

	while ((m = cmx_member_take(id, NULL))) {
		trace_cmx_leave(id, &m->addr);
		cmx_stat_inc(leaves);
		cmx_member_end(m);
	}
}
EXPORT_SYMBOL_GPL(rdma_cmx_leave_all);

void rdma_cmx_group_param(struct rdma_cm_id *id, const struct rdma_ud_param *ud,
			  struct rdma_cmx_mc_param *param)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(&ud->ah_attr);
	struct ib_sa_mcmember_rec rec;
	union ib_gid mgid = grh->dgid;

	memset(param, 0, sizeof(*param));
	param->mask = RDMA_CMX_MC_QKEY | RDMA_CMX_MC_SL | RDMA_CMX_MC_MTU |
		      RDMA_CMX_MC_TRAFFIC_CLASS | RDMA_CMX_MC_FLOW_LABEL |
		      RDMA_CMX_MC_HOP_LIMIT;
	param->qkey = ud->qkey;
	param->sl = rdma_ah_get_sl(&ud->ah_attr);
	param->traffic_class = grh->traffic_class;
	param->flow_label = grh->flow_label;
	param->hop_limit = grh->hop_limit;
	if (rdma_protocol_roce(id->device, id->port_num)) {
		param->mtu = cmx_mcast_roce_mtu(id);
	} else if (!ib_sa_get_mcmember_rec(id->device, id->port_num, &mgid,
					   &rec)) {
		param->mask |= RDMA_CMX_MC_PKEY | RDMA_CMX_MC_RATE;
		param->pkey = be16_to_cpu(rec.pkey);
		param->mtu = rec.mtu;
		param->rate = rec.rate;
	}
	if (!param->mtu)
		param->mask &= ~RDMA_CMX_MC_MTU;
}
EXPORT_SYMBOL_GPL(rdma_cmx_group_param);

int cmx_mcast_init(void)
{
	int ret;

	ret = cmx_member_init();
	if (!ret)
		cmx_mcast_ib_init();
	return ret;
}

void cmx_mcast_exit(void)
{
	WARN_ON(!hash_empty(cmx_members));
	cmx_mcast_ib_exit();
	cmx_member_exit();
}
