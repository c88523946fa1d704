// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The commands that query the resolver, and the form of its results. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "resolver.h"

/* Reads the ports in the namespace of the id, whose mutex is not held then. */
static int ucmx_ports_check(struct ucmx_file *file, u32 handle,
			    struct ucmx_request *req)
{
	struct ucmx_id *id = ucmx_id_lock(file, handle);
	struct net *net;

	if (IS_ERR(id))
		return PTR_ERR(id);
	net = get_net(id->cm->route.addr.dev_addr.net);
	ucmx_id_unlock(id);
	req->attr.net = net;
	rdma_cmx_services_check_ports(&req->attr);
	req->attr.net = NULL;
	put_net(net);
	return 0;
}

/**
 * ucmx_addrinfo_start - start the resolution of an id
 * @file: file of the caller
 * @handle: handle of the id
 * @req: the request; the namespace of the id replaces that of the caller
 *
 * The removal of the id's device waits for the id's mutex, and the firmware of
 * another device may be slow. So ports are read before, and the id's own one
 * with the mutex held.
 *
 * Context: may sleep.
 * Return: 0 or a negative errno.
 */
int ucmx_addrinfo_start(struct ucmx_file *file, u32 handle,
			struct ucmx_request *req)
{
	struct ucmx_id *id;
	int ret = 0;

	if (req->all_ports)
		ret = ucmx_ports_check(file, handle, req);
	if (ret)
		return ret;
	id = ucmx_id_lock(file, handle);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ucmx_query_start(id, req);
	ucmx_id_unlock(id);
	return ret;
}

int ucmx_resolve_addrinfo(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_resolve_addrinfo *arg = cmd->buf;
	struct ucmx_request req CMX_UNINIT;
	int ret;

	ret = ucmx_request_get(&req, &arg->query, true);
	if (!ret)
		ret = ucmx_addrinfo_start(cmd->file, arg->id, &req);
	ucmx_request_put(&req);
	return ret;
}

/* Valid: an error, or names, a port or both. Absent fields are 0. */
static int ucmx_give_names_check(const struct rdma_cmx_give_names *arg)
{
	bool port = arg->flags & RDMA_CMX_GIVE_PORT;

	if (arg->flags & ~RDMA_CMX_GIVE_PORT)
		return -EOPNOTSUPP;
	if (arg->error > MAX_ERRNO || (!port && (arg->port || arg->qp_type)) ||
	    (!arg->names_len && arg->names) || arg->reserved)
		return -EINVAL;
	return !arg->error == (port || arg->names_len) ? 0 : -EINVAL;
}

int ucmx_give_names(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_give_names *arg = cmd->buf;
	struct cmx_given given = {
		.error = arg->error,
		.names_len = arg->names_len,
		.has_port = arg->flags & RDMA_CMX_GIVE_PORT,
		.port = ntohs(arg->port),
		.qp_type = arg->qp_type,
	};
	struct ucmx_id *id;
	void *names = NULL;
	int ret;

	ret = ucmx_give_names_check(arg);
	if (ret)
		return ret;
	if (arg->names_len) {
		names = ucmx_names_get(arg->names, arg->names_len);
		if (IS_ERR(names))
			return PTR_ERR(names);
	}
	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id)) {
		ret = PTR_ERR(id);
		goto free;
	}
	given.names = names;
	ret = ucmx_query_give_names(id, &given);
	ucmx_id_unlock(id);
free:
	kfree(names);
	return ret;
}

static size_t ucmx_entry_len(const struct rdma_cmx_entry *e, size_t canon)
{
	return sizeof(struct rdma_cmx_ai_entry) +
	       e->route_count * sizeof(*e->route) +
	       ALIGN(e->connect_len, 8) + ALIGN(canon, 8);
}

static int ucmx_copy_padded(void __user **buf, const void *src, size_t len)
{
	static const u8 zeros[8];

	if (!len)
		return 0;
	if (copy_to_user(*buf, src, len) ||
	    (len & 7 && copy_to_user(*buf + len, zeros, -len & 7)))
		return -EFAULT;
	*buf += ALIGN(len, 8);
	return 0;
}

static u32 ucmx_gid_type(const struct rdma_cmx_entry *e)
{
	if (e->gid_index < 0)
		return RDMA_CMX_GID_NONE;
	switch (e->gid_type) {
	case IB_GID_TYPE_IB:
		return RDMA_CMX_GID_IB;
	case IB_GID_TYPE_ROCE:
		return RDMA_CMX_GID_ROCE_V1;
	case IB_GID_TYPE_ROCE_UDP_ENCAP:
		return RDMA_CMX_GID_ROCE_V2;
	default:
		return RDMA_CMX_GID_NONE;
	}
}

static int ucmx_entry_put(void __user **buf, const struct rdma_cmx_entry *e,
			  const char *canonname, size_t canon)
{
	struct {
		struct rdma_cmx_ai_entry entry;
		char canon[64];
	} out CMX_UNINIT;
	size_t len = sizeof(out.entry);

	/* Each field is set, and there is no padding between them. */
	BUILD_BUG_ON(sizeof(out.entry) % 8 || sizeof(*e->route) % 8 ||
		     offsetof(typeof(out), canon) != sizeof(out.entry) ||
		     sizeof(out.entry) != 48 + 2 * sizeof(out.entry.src));
	out.entry.len = ucmx_entry_len(e, canon);
	out.entry.ai_flags = e->flags;
	out.entry.qp_type = e->qp_type;
	out.entry.port_space = e->port_space;
	out.entry.family = e->family;
	out.entry.canon_len = canon;
	out.entry.route_len = e->route_count * sizeof(*e->route);
	out.entry.connect_len = e->connect_len;
	out.entry.ibdev_index = e->ibdev_index;
	out.entry.port_num = e->port_num;
	out.entry.header_len = sizeof(out.entry);
	ucmx_addr_put(&out.entry.src, &e->src.sa);
	ucmx_addr_put(&out.entry.dst, &e->dst.sa);
	out.entry.gid_index = e->gid_index < 0 ? 0 : e->gid_index;
	out.entry.gid_type = ucmx_gid_type(e);
	/* The common case needs one copy. */
	if (!e->route_count && !e->connect_len && canon <= sizeof(out.canon)) {
		memcpy(out.canon, canonname, canon);
		memset(out.canon + canon, 0, -canon & 7);
		len += ALIGN(canon, 8);
		canon = 0;
	}
	return ucmx_copy_padded(buf, &out, len) ?:
	       ucmx_copy_padded(buf, e->route, out.entry.route_len) ?:
	       ucmx_copy_padded(buf, e->connect, e->connect_len) ?:
	       ucmx_copy_padded(buf, canonname, canon);
}

/* Sets @len to the required size, also if the result does not fit. */
static int ucmx_result_put(void __user *buf, u32 buf_len, u32 *len,
			   const struct rdma_cmx_result *res)
{
	const struct rdma_cmx_entry *e;
	size_t canon = 0, need = 0;
	u32 i;
	int ret;

	if (res->canonname)
		canon = min_t(size_t, strlen(res->canonname), U16_MAX);
	rdma_cmx_for_each_entry(e, i, res)
		need += ucmx_entry_len(e, i ? 0 : canon);
	*len = need;
	if (need > buf_len)
		return -ENOSPC;
	rdma_cmx_for_each_entry(e, i, res) {
		ret = ucmx_entry_put(&buf, e, res->canonname, i ? 0 : canon);
		if (ret)
			return ret;
	}
	return 0;
}

int ucmx_query_addrinfo(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_query_addrinfo *arg = cmd->buf;
	struct rdma_cmx_result *res;
	struct ucmx_id *id;
	int ret = -ENOENT;

	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	res = ucmx_result_get(id);
	mutex_unlock(&id->mutex);
	if (!res)
		goto put;
	ret = ucmx_result_put(u64_to_user_ptr(arg->buf), arg->buf_len,
			      &arg->len, res);
	if ((!ret || ret == -ENOSPC) && ucmx_respond(cmd))
		ret = -EFAULT;
	/* If several callers have copied the result, one takes it. */
	if (!ret)
		ret = ucmx_id_relock(id, cmd->file);
	if (!ret) {
		if (!ucmx_result_take(id, res))
			ret = -ENOENT;
		mutex_unlock(&id->mutex);
	}
	rdma_cmx_result_put(res);
put:
	ucmx_id_put(id);
	return ret;
}

/* Memory for a result of two entries, enough for most results */
union ucmx_room {
	struct rdma_cmx_result res;
	u64 room[(sizeof(struct rdma_cmx_result) + 64 +
		  2 * sizeof(struct rdma_cmx_entry)) / sizeof(u64)];
};

int ucmx_getaddrinfo(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_getaddrinfo __user *uarg = cmd->ubuf;
	struct rdma_cmx_getaddrinfo *arg = cmd->buf;
	struct rdma_cmx_result *res;
	struct ucmx_request req CMX_UNINIT;
	union ucmx_room room CMX_UNINIT;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	ret = ucmx_call_charge(cmd->file);
	if (ret)
		return ret;
	ret = ucmx_request_get(&req, &arg->query, false);
	if (ret)
		goto put;
	req.caller.room = &room.res;
	req.caller.room_size = sizeof(room);
	ucmx_stat_inc(requests);
	res = rdma_cmx_resolve_for(&req.attr, &req.caller);
	if (IS_ERR(res)) {
		ret = PTR_ERR(res);
		if (ret == -ERESTARTSYS)
			ret = -EINTR;
		goto put;
	}
	ret = ucmx_result_put(u64_to_user_ptr(arg->buf), arg->buf_len,
			      &arg->len, res);
	if (res != &room.res)
		rdma_cmx_result_put(res);
	/* Only this field of the struct changes. */
	if ((!ret || ret == -ENOSPC) && put_user(arg->len, &uarg->len))
		ret = -EFAULT;
put:
	ucmx_request_put(&req);
	ucmx_call_uncharge(cmd->file);
	return ret;
}
