// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * GET_PATHS and DROP_PATHS: cached paths of the caller's network namespace.
 * They have no state and take no locks. rdma_cmx calls back without locks, so
 * that access to user memory may fault.
 */
#include <linux/capability.h>
#include <linux/nsproxy.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "caller.h"
#include "ucmx.h"

/* The first published form of a path is constant. */
#define UCMX_PATH_MIN	offsetofend(struct rdma_cmx_cached_path, path)

/* Copies as many paths as fit, and counts all. */
static int ucmx_paths_put(const struct rdma_cmx_cached_path *paths,
			  unsigned int count, void *context)
{
	struct rdma_cmx_get_paths *arg = context;
	u64 to = arg->paths + (u64)arg->num_paths * arg->path_size;
	u32 room = arg->max_paths - min(arg->max_paths, arg->num_paths);

	arg->num_paths += count;
	return ucmx_items_put(to, arg->path_size, paths, sizeof(*paths),
			      min(count, room));
}

static int ucmx_get_paths_check(const struct rdma_cmx_get_paths *arg)
{
	if (arg->flags)
		return -EOPNOTSUPP;
	if (!ucmx_text_ends(arg->dev, sizeof(arg->dev)))
		return -EINVAL;
	if (arg->max_paths && arg->path_size < UCMX_PATH_MIN)
		return -EINVAL;
	if (arg->max_paths && arg->path_size > PAGE_SIZE)
		return -E2BIG;
	return 0;
}

int ucmx_get_paths(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_get_paths *arg = cmd->buf;
	struct cmx_paths_attr attr = {
		.net = current->nsproxy->net_ns,
		.dev = *arg->dev ? arg->dev : NULL,
		.dev_port = arg->dev_port,
	};
	int ret;

	ret = ucmx_get_paths_check(arg);
	if (ret)
		return ret;
	arg->num_paths = 0;
	ret = rdma_cmx_get_paths(&attr, ucmx_paths_put, arg);
	if (!ret && arg->num_paths > arg->max_paths)
		ret = -ENOSPC;
	if ((!ret || ret == -ENOSPC) && ucmx_respond(cmd))
		ret = -EFAULT;
	return ret;
}

int ucmx_drop_paths(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_drop_paths *arg = cmd->buf;
	struct cmx_paths_attr attr = {
		.net = current->nsproxy->net_ns,
		.dev = *arg->dev ? arg->dev : NULL,
		.dev_port = arg->dev_port,
	};
	union ib_gid dgid;
	int ret;

	if (arg->flags)
		return -EOPNOTSUPP;
	if (!ucmx_text_ends(arg->dev, sizeof(arg->dev)))
		return -EINVAL;
	if (!ns_capable(current->nsproxy->net_ns->user_ns, CAP_NET_ADMIN))
		return -EPERM;
	/* Check first: dropped paths cannot be restored. */
	arg->num_paths = 0;
	ret = ucmx_respond(cmd);
	if (ret)
		return ret;
	if (memchr_inv(arg->dgid, 0, sizeof(arg->dgid))) {
		memcpy(&dgid, arg->dgid, sizeof(dgid));
		attr.dgid = &dgid;
	}
	ret = rdma_cmx_drop_paths(&attr, &arg->num_paths);
	return ret ?: ucmx_respond(cmd);
}
