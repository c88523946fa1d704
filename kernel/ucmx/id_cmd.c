// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The commands ID_CREATE, ID_DESTROY, ID_BIND and ID_QUERY. */
#include "ucmx.h"

static int ucmx_qp_type(const struct rdma_cmx_id_create *arg)
{
	switch (arg->port_space) {
	case RDMA_PS_TCP:
		return arg->qp_type == IB_QPT_RC ? IB_QPT_RC : -EINVAL;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return arg->qp_type == IB_QPT_UD ? IB_QPT_UD : -EINVAL;
	case RDMA_PS_IB:
		break;
	default:
		return -EINVAL;
	}
	switch (arg->qp_type) {
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_UD:
	case IB_QPT_RAW_PACKET:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		return arg->qp_type;
	}
	return -EINVAL;
}

int ucmx_id_create(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_create __user *uarg = cmd->ubuf;
	struct rdma_cmx_id_create *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	struct rdma_cm_id *cm;
	struct ucmx_id *id;
	int qp_type, ret;

	qp_type = ucmx_qp_type(arg);
	if (qp_type < 0 || !arg->uid)
		return -EINVAL;
	ret = ucmx_file_charge(file, 1);
	if (ret)
		return ret;
	id = ucmx_id_alloc(GFP_KERNEL);
	if (!id) {
		ret = -ENOMEM;
		goto err_charge;
	}
	id->file = file;
	id->owner = arg->owner;
	id->uid = arg->uid;

	ret = ucmx_handle_alloc(file, &id->handle, id);
	if (ret)
		goto err_id;

	/* Copied first: after the id is visible nothing may fail. */
	ret = put_user(id->handle, &uarg->id);
	if (ret)
		goto err_handle;

	cm = rdma_create_user_id(ucmx_cm_handler, id, arg->port_space, qp_type);
	if (IS_ERR(cm)) {
		ret = PTR_ERR(cm);
		goto err_handle;
	}
	id->cm = cm;
	ucmx_handle_show(file, id->handle, id);
	return 0;

err_handle:
	ucmx_handle_free(file, id->handle);
err_id:
	ucmx_id_put(id);
err_charge:
	ucmx_file_uncharge(file, 1);
	return ret;
}

int ucmx_id_destroy(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_destroy __user *uarg = cmd->ubuf;
	struct rdma_cmx_destroy *arg = cmd->buf;
	struct ucmx_file *file = cmd->file;
	struct ucmx_id *id;
	u32 reported;

	if (arg->reserved)
		return -EINVAL;
	/* Check now that the result can be written. */
	if (put_user(0, &uarg->events_reported))
		return -EFAULT;
	/* Only one caller gets the id. */
	id = ucmx_handle_take(file, arg->handle, arg->owner, arg->uid);
	if (!id)
		return -ENOENT;

	ucmx_id_close(id);
	reported = id->reported;
	ucmx_handle_free(file, arg->handle);
	ucmx_id_put(id);
	return put_user(reported, &uarg->events_reported);
}

int ucmx_id_bind(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_bind *arg = cmd->buf;
	union rdma_cmx_sockaddr addr;
	struct ucmx_id *id;
	bool unbound;
	int ret;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved || ucmx_addr_get(&addr, &arg->addr) <= 0)
		return -EINVAL;
	if (ucmx_respond(cmd))
		return -EFAULT;
	ret = ucmx_source_check(&addr);
	if (ret)
		return ret;
	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	unbound = ucmx_cm_is_unbound(id->cm);
	ret = rdma_bind_addr(id->cm, &addr.sa);
	if (!ret)
		ucmx_info_fill(id->cm, &arg->info);
	else if (unbound)
		ucmx_cm_bind_undo(id->cm);
	ucmx_id_unlock(id);
	return ret ?: ucmx_respond(cmd);
}

int ucmx_id_query(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_query *arg = cmd->buf;
	struct ucmx_id *id;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (arg->reserved)
		return -EINVAL;
	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	memset(arg->paths, 0, sizeof(arg->paths));
	/* An event handler writes the result of an address resolution. */
	rdma_lock_handler(id->cm);
	ucmx_info_fill(id->cm, &arg->info);
	ucmx_paths_fill(id->cm, arg->paths);
	rdma_unlock_handler(id->cm);
	ucmx_id_unlock(id);
	return ucmx_respond(cmd);
}
