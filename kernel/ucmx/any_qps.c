// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queue pairs of RDMA_CMX_ANY_RACE. The caller owns one for each candidate. As
 * with CONNECT, the kernel puts its number into the REQ of the candidate and
 * does not look up a queue pair with that number. A peer that replies has the
 * number. The caller modifies its queue pair itself.
 *
 * struct ucmx_any_qps is constant while the race is outstanding. Work items of
 * the candidates read it without a lock.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#include "any.h"

/**
 * struct ucmx_any_qps - queue pairs and parameters of requests
 * @param: parameters, without the queue pair
 * @data: private data of @param
 * @count: number of @qps, at least 1
 * @qps: the queue pairs, in the order of their candidates
 */
struct ucmx_any_qps {
	struct rdma_conn_param param;
	u8 data[U8_MAX];
	u32 count;
	struct rdma_cmx_any_qp qps[RDMA_CMX_MAX_ANY_QPS];
};

static int ucmx_any_qps_copy(struct ucmx_any_qps *qps,
			     const struct rdma_cmx_resolve_any *arg)
{
	u32 i;

	qps->count = arg->num_qps;
	if (copy_from_user(qps->qps, u64_to_user_ptr(arg->qps),
			   arg->num_qps * sizeof(qps->qps[0])))
		return -EFAULT;
	for (i = 0; i < qps->count; i++) {
		const struct rdma_cmx_any_qp *qp = &qps->qps[i];

		if (qp->qp_num >> 24 || qp->reserved ||
		    (i && qp->candidate <= qp[-1].candidate))
			return -EINVAL;
	}
	return 0;
}

/**
 * ucmx_any_qps_get - copy the queue pairs and parameters of a command
 * @arg: the command, with RDMA_CMX_ANY_RACE
 *
 * Return: the copy, for kfree(); or an ERR_PTR.
 */
struct ucmx_any_qps *ucmx_any_qps_get(const struct rdma_cmx_resolve_any *arg)
{
	const struct rdma_cmx_conn_param *param = &arg->param;
	struct ucmx_any_qps *qps;
	int ret;

	if (!arg->num_qps || arg->num_qps > RDMA_CMX_MAX_ANY_QPS ||
	    arg->reserved || param->qp_num || param->qkey || param->srq ||
	    param->ece_vendor_id || param->ece_attr_mod)
		return ERR_PTR(-EINVAL);
	qps = kzalloc(sizeof(*qps), GFP_KERNEL_ACCOUNT);
	if (!qps)
		return ERR_PTR(-ENOMEM);
	ret = ucmx_any_qps_copy(qps, arg) ?:
	      ucmx_conn_param(&qps->param, param);
	if (ret) {
		kfree(qps);
		return ERR_PTR(ret);
	}
	memcpy(qps->data, param->private_data, qps->param.private_data_len);
	qps->param.private_data = qps->data;
	return qps;
}

/* True if the result has a candidate for each queue pair */
bool ucmx_any_qps_fit(const struct ucmx_any_qps *qps, u32 candidates)
{
	return qps->qps[qps->count - 1].candidate < candidates;
}

/* Returns the queue pair of a candidate, or NULL. */
static const struct rdma_cmx_any_qp *
ucmx_any_qp(const struct ucmx_any *any, const struct rdma_cmx_entry *entry)
{
	const struct ucmx_any_qps *qps = any->qps;
	u32 i, candidate = entry - any->result->entries;

	for (i = 0; i < qps->count; i++)
		if (qps->qps[i].candidate == candidate)
			return &qps->qps[i];
	return NULL;
}

/* cmx_connect_given.check: a candidate without a queue pair cannot win. */
int ucmx_any_check(const struct rdma_cmx_entry *entry, const void *context)
{
	return ucmx_any_qp(context, entry) ? 0 : -ENOBUFS;
}

/* rdma_cmx_connect_attr.setup; @cm has its device and route. */
int ucmx_any_setup(struct rdma_cm_id *cm, const struct rdma_cmx_entry *entry,
		   struct rdma_conn_param *param, void *context)
{
	const struct ucmx_any *any = context;
	const struct rdma_cmx_any_qp *qp = ucmx_any_qp(any, entry);

	/* The iWARP CM modifies the queue pair itself. */
	if (!rdma_cap_ib_cm(cm->device, cm->port_num))
		return -EOPNOTSUPP;
	/* The caller created the queue pair on the candidate's device. */
	if (cm->device->index != entry->ibdev_index)
		return -ENODEV;
	*param = any->qps->param;
	param->qp_num = qp->qp_num;
	param->srq = !!qp->srq;
	return 0;
}

/* The caller owns the queue pair. */
void ucmx_any_teardown(struct rdma_cm_id *cm, void *context)
{
}
