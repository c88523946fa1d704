// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Validates a join. A plain join on InfiniBand uses rdma_cm, with the checks
 * that it leaves to its callers.
 */
#include <linux/string.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "mcast/mcast.h"

#define CMX_MC_PARAMS							\
	(RDMA_CMX_MC_QKEY | RDMA_CMX_MC_PKEY | RDMA_CMX_MC_MTU |	\
	 RDMA_CMX_MC_RATE | RDMA_CMX_MC_SL | RDMA_CMX_MC_TRAFFIC_CLASS |	\
	 RDMA_CMX_MC_FLOW_LABEL | RDMA_CMX_MC_HOP_LIMIT)

#define CMX_FLOW_LABEL_MAX	0xfffff
#define CMX_SL_MAX		15
#define CMX_RATE_MAX		0x3f
#define CMX_PKEY_BASE		0x7fff

/* True if a value is in the mask and in its range, or 0 */
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

int cmx_join_check(const struct rdma_cm_id *id,
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
