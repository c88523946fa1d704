// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rdma_resolve_addrinfo() and rdma_query_addrinfo(): the kernel keeps the query
 * and its result, the library keeps neither.
 */
#include <stdlib.h>

#include "lib.h"

CMX_EXPORT int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
				     const char *service,
				     const struct rdma_addrinfo *hints)
{
	struct cmx_id *cid = cmx_id(id);
	struct cmx_request req;
	bool sync, own;
	int err;

	CMX_ID_OR_STOCK(id, rdma_resolve_addrinfo, id, node, service, hints);
	if (!node && !service && !hints)
		return cmx_err(EINVAL);
	err = cmx_request_init(&req, node, service, hints);
	if (err)
		return cmx_err(err == CMX_ESERVICE ? EINVAL : err);

	err = 0;
	sync = cid->sync;
	own = req.named && cmx_names_own();
	if (cmx_names_resolve(cid, &req, own))
		err = errno;
	/* The kernel's names are not this thread's. */
	if (err == ENOKEY && !own)
		err = cmx_names_resolve(cid, &req, true) ? errno : 0;
	cmx_request_clear(&req);
	return err ? cmx_err(err) : cmx_complete(cid, sync);
}

CMX_EXPORT int rdma_query_addrinfo(struct rdma_cm_id *id,
				   struct rdma_addrinfo **info)
{
	struct rdma_cmx_query_addrinfo cmd = { .size = sizeof(cmd) };
	/* Zero for memory checkers, which do not know what the ioctl writes */
	uint8_t buf[4096] __attribute__((aligned(8))) = {};
	void *big = NULL;
	int ret;

	CMX_ID_OR_STOCK(id, rdma_query_addrinfo, id, info);
	if (!info)
		return cmx_err(EINVAL);
	cmd.id = cmx_id(id)->handle;
	cmd.buf = (uintptr_t)buf;
	cmd.buf_len = sizeof(buf);

	ret = cmx_id_ioctl(cmx_id(id), QUERY_ADDRINFO, &cmd);
	while (ret && errno == ENOSPC && cmd.len > cmd.buf_len) {
		free(big);
		big = calloc(1, cmd.len);
		if (!big)
			return -1;
		cmd.buf = (uintptr_t)big;
		cmd.buf_len = cmd.len;
		ret = cmx_id_ioctl(cmx_id(id), QUERY_ADDRINFO, &cmd);
	}
	if (!ret)
		ret = cmx_ai_from_kern((const void *)(uintptr_t)cmd.buf,
				       cmd.len, info);
	if (big) {
		int saved = errno;

		free(big);
		errno = saved;
	}
	return ret;
}
