// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Options of an id. The value is copied before the id is locked. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm_ib.h>

#include "ucmx.h"

/* More path records than callers use. The first one that fits is used. */
#define UCMX_MAX_OPTION_PATHS	64

static int ucmx_option_id(struct ucmx_id *id, u32 optname, const void *val,
			  u32 len)
{
	const u8 *byte = val;
	const int *num = val;
	int ret;

	switch (optname) {
	case RDMA_OPTION_ID_TOS:
		if (len != sizeof(*byte))
			return -EINVAL;
		rdma_set_service_type(id->cm, *byte);
		id->tos_set = true;
		id->tos = *byte;
		return 0;
	case RDMA_OPTION_ID_REUSEADDR:
		if (len != sizeof(*num))
			return -EINVAL;
		return rdma_set_reuseaddr(id->cm, !!*num);
	case RDMA_OPTION_ID_AFONLY:
		if (len != sizeof(*num))
			return -EINVAL;
		return rdma_set_afonly(id->cm, !!*num);
	case RDMA_OPTION_ID_ACK_TIMEOUT:
		if (len != sizeof(*byte))
			return -EINVAL;
		ret = rdma_set_ack_timeout(id->cm, *byte);
		if (!ret) {
			id->ack_timeout_set = true;
			id->ack_timeout = *byte;
		}
		return ret;
	}
	return -EOPNOTSUPP;
}

/*
 * rdma_cm overwrites its pointer without freeing the previous record. A failed
 * rdma_resolve_route() leaves a record there, which is unused once rdma_cm has
 * another one. The handler of an event reads the record.
 */
static int ucmx_path_set(struct rdma_cm_id *cm, struct sa_path_rec *path)
{
	struct sa_path_rec *left;
	int ret;

	rdma_lock_handler(cm);
	left = cm->route.path_rec;
	ret = rdma_set_ib_path(cm, path);
	if (cm->route.path_rec != left)
		kfree(left);
	rdma_unlock_handler(cm);
	return ret;
}

static int ucmx_option_path(struct ucmx_id *id,
			    struct ib_path_rec_data *data, u32 len)
{
	const u32 want = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
	struct rdma_cm_id *cm = id->cm;
	struct sa_path_rec path, opa;
	int ret;

	if (!len || len % sizeof(*data))
		return -EINVAL;
	for (; data->flags != want; data++) {
		len -= sizeof(*data);
		if (!len)
			return -EINVAL;
	}
	if (!cm->device || !rdma_cap_ib_cm(cm->device, cm->port_num))
		return -EINVAL;
	if (cmx_route_is_queried(&id->route))
		return -EINVAL;

	memset(&path, 0, sizeof(path));
	path.rec_type = SA_PATH_REC_TYPE_IB;
	ib_sa_unpack_path(data->path_rec, &path);

	ret = ucmx_event_reserve(id, UCMX_SLOT_ROUTE);
	if (ret)
		return ret;
	if (rdma_cap_opa_ah(cm->device, cm->port_num)) {
		sa_convert_path_ib_to_opa(&opa, &path);
		ret = ucmx_path_set(cm, &opa);
	} else {
		ret = ucmx_path_set(cm, &path);
	}
	if (ret)
		return ret;
	id->slot.own_path = true;
	/* It may be from the cache: a failed connect drops it then. */
	WRITE_ONCE(id->path_cached, true);
	ucmx_route_resolved(id);
	return 0;
}

static int ucmx_option_ib(struct ucmx_id *id, u32 optname, void *val, u32 len)
{
	if (optname != RDMA_OPTION_IB_PATH)
		return -EOPNOTSUPP;
	return ucmx_option_path(id, val, len);
}

int ucmx_id_set_option(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_set_option *arg = cmd->buf;
	void __user *uval = u64_to_user_ptr(arg->optval);
	struct ucmx_id *id;
	u64 small = 0;
	void *val;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	if (arg->optlen > UCMX_MAX_OPTION_PATHS *
			  sizeof(struct ib_path_rec_data))
		return -EINVAL;
	if (arg->optlen <= sizeof(small)) {
		if (copy_from_user(&small, uval, arg->optlen))
			return -EFAULT;
		val = &small;
	} else {
		val = memdup_user(uval, arg->optlen);
		if (IS_ERR(val))
			return PTR_ERR(val);
	}

	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto free;
	}
	switch (arg->level) {
	case RDMA_OPTION_ID:
		ret = ucmx_option_id(id, arg->optname, val, arg->optlen);
		break;
	case RDMA_OPTION_IB:
		ret = ucmx_option_ib(id, arg->optname, val, arg->optlen);
		break;
	default:
		ret = -EOPNOTSUPP;
	}
	ucmx_id_unlock(id);
free:
	if (val != &small)
		kfree(val);
	return ret;
}
