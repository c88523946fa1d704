// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A caller's request to the resolver: the copy from user space, and the checks
 * that the resolver does not do. Process context, no locks.
 */
#include <linux/fs_struct.h>
#include <linux/nsproxy.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "compat.h"
#include "resolver.h"
#include "user.h"

/**
 * ucmx_names_initial - check that the caller sees the same names as the helper
 *
 * The kernel starts the helper in the namespaces of init_task. A name service
 * depends on the network namespace and on files, which the mount namespace and
 * the root directory select. The roots are only compared, so this needs no
 * reference and no lock. A root that another thread is changing counts as the
 * old or the new one.
 *
 * Return: true if all three are the helper's.
 */
bool ucmx_names_initial(void)
{
	const struct path *mine = &current->fs->root;
	const struct path *host = &cmx_init_fs->root;

	return net_eq(current->nsproxy->net_ns, &init_net) &&
	       current->nsproxy->mnt_ns == init_task.nsproxy->mnt_ns &&
	       READ_ONCE(mine->dentry) == READ_ONCE(host->dentry) &&
	       READ_ONCE(mine->mnt) == READ_ONCE(host->mnt);
}

static int ucmx_text_get(char *dst, u64 src, u32 len)
{
	if (copy_from_user(dst, u64_to_user_ptr(src), len))
		return -EFAULT;
	/* The text contains no NUL. */
	if (memchr(dst, 0, len))
		return -EINVAL;
	dst[len] = 0;
	return 0;
}

void ucmx_request_put(struct ucmx_request *req)
{
	if (req->node_buf != req->node)
		kfree(req->node_buf);
	/* Most requests have neither. */
	if (unlikely(req->names || req->route)) {
		kfree(req->names);
		kfree(req->route);
	}
}

static int ucmx_request_texts(struct ucmx_request *req,
			      const struct rdma_cmx_ai_query *arg)
{
	int ret;

	if (arg->node_len > RDMA_CMX_MAX_NODE)
		return -ENOENT;
	if (arg->service_len > RDMA_CMX_MAX_SERVICE)
		return -EINVAL;
	if (arg->node_len) {
		if (arg->node_len >= sizeof(req->node)) {
			req->node_buf = kmalloc(arg->node_len + 1,
						GFP_KERNEL_ACCOUNT);
			if (!req->node_buf)
				return -ENOMEM;
		}
		ret = ucmx_text_get(req->node_buf, arg->node, arg->node_len);
		if (ret)
			return ret;
		req->attr.node = req->node_buf;
	}
	if (arg->service_len) {
		ret = ucmx_text_get(req->service, arg->service,
				    arg->service_len);
		if (ret)
			return ret;
		req->attr.service = req->service;
	}
	return 0;
}

/* The resolver checks the device and its namespace. */
static int ucmx_request_dev(struct ucmx_request *req,
			    const struct rdma_cmx_ai_query *arg)
{
	int ret;

	if (!arg->dev_len)
		return arg->dev || arg->dev_port ? -EINVAL : 0;
	/* No device has such a long name. */
	if (arg->dev_len >= sizeof(req->dev))
		return -ENODEV;
	ret = ucmx_text_get(req->dev, arg->dev, arg->dev_len);
	if (ret)
		return ret;
	req->attr.dev = req->dev;
	req->attr.dev_port = arg->dev_port;
	return 0;
}

/* Charged to the caller: memdup_user() charges no cgroup. */
static void *ucmx_array_get(u64 src, u32 len)
{
	void *buf = kmalloc(len, GFP_KERNEL_ACCOUNT);

	if (!buf)
		return ERR_PTR(-ENOMEM);
	if (copy_from_user(buf, u64_to_user_ptr(src), len)) {
		kfree(buf);
		return ERR_PTR(-EFAULT);
	}
	return buf;
}

void *ucmx_names_get(u64 names, u32 len)
{
	if (len < sizeof(struct rdma_cmx_names) ||
	    len > sizeof(struct rdma_cmx_names) +
		  RDMA_CMX_NAMES_MAX_ADDRS *
		  sizeof(struct rdma_cmx_names_addr) +
		  RDMA_CMX_NAMES_MAX_NAME)
		return ERR_PTR(-EINVAL);
	return ucmx_array_get(names, len);
}

static int ucmx_request_arrays(struct ucmx_request *req,
			       const struct rdma_cmx_ai_query *arg)
{
	void *buf;

	if (arg->route_len) {
		if (arg->route_len % sizeof(*req->attr.route) ||
		    arg->route_len / sizeof(*req->attr.route) >
		    RDMA_CMX_MAX_ROUTES)
			return -EINVAL;
		buf = ucmx_array_get(arg->route, arg->route_len);
		if (IS_ERR(buf))
			return PTR_ERR(buf);
		req->route = buf;
		req->attr.route = buf;
		req->attr.route_count =
			arg->route_len / sizeof(*req->attr.route);
	}
	if (arg->names_len) {
		buf = ucmx_names_get(arg->names, arg->names_len);
		if (IS_ERR(buf))
			return PTR_ERR(buf);
		req->names = buf;
		req->caller.names = buf;
		req->caller.names_len = arg->names_len;
	}
	return 0;
}

/* The caller frees @req with ucmx_request_put(), also after an error. */
int ucmx_request_get(struct ucmx_request *req,
		     const struct rdma_cmx_ai_query *arg, bool later)
{
	u32 known = RDMA_CMX_AIQ_PORT;
	int src, dst, ret;

	memset(&req->attr, 0, sizeof(req->attr));
	memset(&req->caller, 0, sizeof(req->caller));
	req->node_buf = req->node;
	req->names = NULL;
	req->route = NULL;

	if (later)
		known |= RDMA_CMX_AIQ_NAMES_LATER | RDMA_CMX_AIQ_PORT_LATER |
			 RDMA_CMX_AIQ_ALL_PORTS;
	if (arg->flags & ~known)
		return -EOPNOTSUPP;
	if ((arg->flags & RDMA_CMX_AIQ_PORT) &&
	    (arg->flags & RDMA_CMX_AIQ_PORT_LATER))
		return -EINVAL;
	req->all_ports = arg->flags & RDMA_CMX_AIQ_ALL_PORTS;
	if (arg->reserved ||
	    (req->all_ports && !(arg->ai_flags & RDMA_CMX_AI_SA)))
		return -EINVAL;
	if (!(arg->flags & RDMA_CMX_AIQ_PORT) && arg->port)
		return -EINVAL;
	src = ucmx_addr_get(&req->src, &arg->src);
	dst = ucmx_addr_get(&req->dst, &arg->dst);
	if (src < 0 || dst < 0)
		return -EINVAL;

	ret = ucmx_request_texts(req, arg);
	if (!ret)
		ret = ucmx_request_dev(req, arg);
	if (!ret)
		ret = ucmx_request_arrays(req, arg);
	if (ret)
		return ret;

	req->caller.uid = cmx_current_user();
	req->attr.net = current->nsproxy->net_ns;
	req->attr.port = ntohs(arg->port);
	req->attr.has_port = arg->flags & (RDMA_CMX_AIQ_PORT |
					   RDMA_CMX_AIQ_PORT_LATER);
	req->attr.flags = arg->ai_flags;
	req->attr.family = arg->family;
	req->attr.qp_type = arg->qp_type;
	req->attr.port_space = arg->port_space;
	req->attr.src = src ? &req->src : NULL;
	req->attr.dst = dst ? &req->dst : NULL;
	req->caller.names_later = arg->flags & RDMA_CMX_AIQ_NAMES_LATER;
	req->caller.port_later = arg->flags & RDMA_CMX_AIQ_PORT_LATER;
	req->caller.no_names = arg->node_len && !ucmx_names_initial();
	req->attr.timeout_ms = arg->timeout_ms;
	return 0;
}
