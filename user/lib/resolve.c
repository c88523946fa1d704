// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rdma_resolve_addrinfo() and rdma_query_addrinfo(): the kernel stores the
 * query and its result, the library stores neither.
 */
#include <stdlib.h>

#include "lib.h"

static int request_send(struct cmx_id *id, struct cmx_ai_request *req, bool own)
{
	int err;

	if (!cmx_names_resolve(id, req, own))
		return 0;
	err = errno;
	/* A kernel that does not wait for a port. The caller handles others. */
	if (err != EOPNOTSUPP || !req->service)
		return err;
	err = cmx_ai_request_lookup(req);
	if (err)
		return err;
	return cmx_names_resolve(id, req, own) ? errno : 0;
}

/* Returns 0, an errno or CMX_ESERVICE. */
int cmx_resolve_start(struct cmx_id *id, struct cmx_ai_request *req)
{
	bool own = req->named && cmx_names_own(req);
	int err;

	err = request_send(id, req, own);
	/* This thread has other names than the kernel. */
	if (err == ENOKEY && !own)
		err = request_send(id, req, true);
	return cmx_ai_request_error(req, err);
}

static int resolve(struct cmx_id *id, const char *node, const char *service,
		   const struct rdma_addrinfo *hints)
{
	struct cmx_ai_request req;
	int err;

	err = cmx_ai_request_init(&req, node, service, hints, true);
	if (!err) {
		err = cmx_ai_request_device(&req, NULL);
		if (!err)
			err = cmx_resolve_start(id, &req);
		cmx_ai_request_clear(&req);
	}
	return rdma_seterrno(err == CMX_ESERVICE ? EINVAL : err);
}

CMX_EXPORT int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node,
				     const char *service,
				     const struct rdma_addrinfo *hints)
{
	struct cmx_id *cid = cmx_id(id);
	bool sync;

	CMX_ID_OR_STOCK(id, rdma_resolve_addrinfo, id, node, service, hints);
	if (!node && !service && !hints)
		return cmx_err(EINVAL);
	if (cmx_call_begin(cid, &sync))
		return -1;
	return cmx_call_end(cid, sync, resolve(cid, node, service, hints));
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
