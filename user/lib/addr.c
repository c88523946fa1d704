// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Addresses: their form in the ABI, bind, resolve_addr, resolve_route, and the
 * info of an id from the kernel. The file has no locks; the thread that binds
 * an id or takes its event writes its route, as in librdmacm.
 */
#include <stdlib.h>
#include <string.h>

#include "lib.h"

_Static_assert(sizeof(struct rdma_cmx_addr) == sizeof(struct sockaddr_ib),
	       "an ABI address is as long as the longest socket address");
_Static_assert(sizeof(struct ib_path_rec_data) == sizeof(struct ibv_path_data),
	       "path records have one form in the ABI and in the API");

socklen_t cmx_addr_len(int family)
{
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

/*
 * @src NULL: no address. The padding of a sockaddr_in is not copied: programs
 * do not initialise it.
 */
int cmx_addr_to_kern(struct rdma_cmx_addr *dst, const struct sockaddr *src)
{
	size_t len;

	memset(dst, 0, sizeof(*dst));
	if (!src)
		return 0;
	len = cmx_addr_len(src->sa_family);
	if (!len)
		return cmx_err(EINVAL);
	if (src->sa_family == AF_INET)
		len = offsetof(struct sockaddr_in, sin_zero);
	memcpy(dst, src, len);
	return 0;
}

/* @dst must hold the family's address. Without an address it is unchanged. */
void cmx_addr_from_kern(void *dst, const struct rdma_cmx_addr *src)
{
	memcpy(dst, src, cmx_addr_len(src->family));
}

static void gid_from_kern(union ibv_gid *gid, const struct rdma_cmx_addr *src)
{
	struct sockaddr_ib sib;

	if (src->family != AF_IB)
		return;
	memcpy(&sib, src, sizeof(sib));
	memcpy(gid->raw, sib.sib_addr.sib_raw, sizeof(gid->raw));
}

int cmx_id_set_info(struct cmx_id *id, const struct rdma_cmx_id_info *info)
{
	struct rdma_addr *addr = &id->id.route.addr;

	cmx_addr_from_kern(&addr->src_storage, &info->src);
	cmx_addr_from_kern(&addr->dst_storage, &info->dst);
	gid_from_kern(&addr->addr.ibaddr.sgid, &info->src_ib);
	gid_from_kern(&addr->addr.ibaddr.dgid, &info->dst_ib);

	if (id->dev || !info->node_guid)
		return 0;
	id->dev = cmx_device_get(info->node_guid, info->ibdev_index);
	if (!id->dev)
		return -1;
	addr->addr.ibaddr.pkey = htobe16(info->pkey);
	id->id.port_num = info->port_num;
	id->id.pd = cmx_device_pd(id->dev);
	id->id.verbs = cmx_device_verbs(id->dev);
	return 0;
}

int cmx_id_set_paths(struct cmx_id *id, const struct ib_path_rec_data *paths,
		     unsigned int count)
{
	struct ibv_sa_path_rec *recs, *old = id->id.route.path_rec;
	struct ibv_path_data data;
	unsigned int i;

	if (!count)
		return 0;
	recs = calloc(count, sizeof(*recs));
	if (!recs)
		return -1;
	for (i = 0; i < count; i++) {
		memcpy(&data, &paths[i], sizeof(data));
		cmx_path_from_kern(&recs[i], &data.path);
		recs[i].preference = data.flags;
	}
	/* A child of fork() must not free the old ones once more. */
	id->id.route.path_rec = recs;
	id->id.route.num_paths = count;
	free(old);
	return 0;
}

CMX_EXPORT int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *addr)
{
	struct rdma_cmx_id_bind cmd = { .size = sizeof(cmd) };

	CMX_ID_OR_STOCK(id, rdma_bind_addr, id, addr);
	if (!addr)
		return cmx_err(EINVAL);
	if (cmx_addr_to_kern(&cmd.addr, addr))
		return -1;
	cmd.id = cmx_id(id)->handle;
	if (cmx_id_ioctl(cmx_id(id), ID_BIND, &cmd))
		return -1;
	return cmx_id_set_info(cmx_id(id), &cmd.info);
}

CMX_EXPORT int rdma_resolve_addr(struct rdma_cm_id *id,
				 struct sockaddr *src_addr,
				 struct sockaddr *dst_addr, int timeout_ms)
{
	struct rdma_cmx_resolve_addr cmd = {
		.size = sizeof(cmd),
		.timeout_ms = timeout_ms,
	};

	struct sockaddr_storage old;
	struct cmx_id *cid = cmx_id(id);
	bool sync;
	int ret;

	CMX_ID_OR_STOCK(id, rdma_resolve_addr, id, src_addr, dst_addr,
			timeout_ms);
	if (!dst_addr)
		return cmx_err(EINVAL);
	if (cmx_addr_to_kern(&cmd.src, src_addr) ||
	    cmx_addr_to_kern(&cmd.dst, dst_addr))
		return -1;
	if (cmx_call_begin(cid, &sync))
		return -1;
	cmd.id = cid->handle;
	/* For programs that print it when the resolution fails */
	old = id->route.addr.dst_storage;
	cmx_addr_from_kern(&id->route.addr.dst_storage, &cmd.dst);
	ret = cmx_id_ioctl(cid, RESOLVE_ADDR, &cmd);
	if (ret)
		id->route.addr.dst_storage = old;
	return cmx_call_end(cid, sync, ret);
}

CMX_EXPORT int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	struct rdma_cmx_resolve_route cmd = {
		.size = sizeof(cmd),
		.timeout_ms = timeout_ms,
	};
	struct cmx_id *cid = cmx_id(id);
	bool sync;

	CMX_ID_OR_STOCK(id, rdma_resolve_route, id, timeout_ms);
	if (cmx_call_begin(cid, &sync))
		return -1;
	cmd.id = cid->handle;
	return cmx_call_end(cid, sync, cmx_id_ioctl(cid, RESOLVE_ROUTE, &cmd));
}

static __be16 addr_port(const struct sockaddr *addr)
{
	const struct sockaddr_ib *sib = (const void *)addr;

	switch (addr->sa_family) {
	case AF_INET:
		return ((const struct sockaddr_in *)addr)->sin_port;
	case AF_INET6:
		return ((const struct sockaddr_in6 *)addr)->sin6_port;
	case AF_IB:
		return htobe16(be64toh(sib->sib_sid));
	default:
		return 0;
	}
}

CMX_EXPORT __be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return cmx_id_ours(id) || cmx_stocks(id) ?
	       addr_port(&id->route.addr.src_addr) : 0;
}

CMX_EXPORT __be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return cmx_id_ours(id) || cmx_stocks(id) ?
	       addr_port(&id->route.addr.dst_addr) : 0;
}
