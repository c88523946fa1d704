// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast joins through rdma_cm, with the checks that it leaves to its
 * callers. No state, process context.
 */
#include <linux/export.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_user_cm.h>

#include "core.h"
#include "trace.h"

static int cmx_join_state(u32 join_flags, u8 *state)
{
	switch (join_flags) {
	case RDMA_MC_JOIN_FLAG_FULLMEMBER:
		*state = BIT(FULLMEMBER_JOIN);
		return 0;
	case RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER:
		*state = BIT(SENDONLY_FULLMEMBER_JOIN);
		return 0;
	default:
		return -EINVAL;
	}
}

int rdma_cmx_join(struct rdma_cm_id *id, const struct rdma_cmx_join_attr *attr,
		  void *context)
{
	union rdma_cmx_sockaddr addr;
	u8 state;
	int ret;

	if (!attr->addr || !id->device)
		return -EINVAL;
	ret = cmx_join_state(attr->join_flags, &state);
	if (ret)
		return ret;
	addr = *attr->addr;
	if (!cmx_addr_is_multicast(&addr))
		return -EINVAL;
	/* rdma_cm warns and refuses: the kernel's own queue pairs. */
	if (id->qp)
		return -EOPNOTSUPP;
	if (!rdma_protocol_roce(id->device, id->port_num) &&
	    !rdma_cap_ib_mcast(id->device, id->port_num))
		return -EOPNOTSUPP;

	ret = rdma_join_multicast(id, &addr.sa, state, context);
	/* An errno that user space does not know. */
	if (ret == -ENOTSUPP)
		ret = -EOPNOTSUPP;
	if (!ret)
		cmx_stat_inc(joins);
	trace_cmx_join(id, &addr, attr->join_flags, ret);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_join);

void rdma_cmx_leave(struct rdma_cm_id *id, const union rdma_cmx_sockaddr *addr)
{
	union rdma_cmx_sockaddr copy = *addr;

	trace_cmx_leave(id, &copy);
	cmx_stat_inc(leaves);
	rdma_leave_multicast(id, &copy.sa);
}
EXPORT_SYMBOL_GPL(rdma_cmx_leave);
