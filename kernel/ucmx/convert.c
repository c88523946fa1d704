// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Converts addresses, id info, path records and parameters of connections
 * between the kernel's form and the ABI's, and writes the responses of commands.
 * Callers prevent changes of the cm id: they hold the id's mutex, or are its
 * event handler.
 */
#include <linux/ipv6.h>
#include <linux/string.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_sa.h>

#include "ucmx.h"

/* True if all bytes are 0: most requests have such addresses. */
static bool ucmx_addr_none(const struct rdma_cmx_addr *addr)
{
	const u64 *word = (const u64 *)addr;
	u64 bits = 0;
	size_t i;

	BUILD_BUG_ON(sizeof(*addr) % sizeof(*word));
	for (i = 0; i < sizeof(*addr) / sizeof(*word); i++)
		bits |= word[i];
	return !bits;
}

/**
 * ucmx_addr_get - copy an address from a caller's struct
 * @dst: the copy
 * @src: the caller's
 *
 * Return: its length in bytes, 0 if there is none, or -EINVAL.
 */
int ucmx_addr_get(union rdma_cmx_sockaddr *dst,
		  const struct rdma_cmx_addr *src)
{
	int len;

	BUILD_BUG_ON(sizeof(*dst) > sizeof(*src));
	dst->sa.sa_family = 0;
	if (!src->family)
		return ucmx_addr_none(src) ? 0 : -EINVAL;
	len = rdma_addr_size((const struct sockaddr *)src);
	if (!len || memchr_inv((const u8 *)src + len, 0, sizeof(*src) - len))
		return -EINVAL;

	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, len);
	/* rdma_cm compares this padding. */
	if (dst->sa.sa_family == AF_INET)
		memset(dst->in.sin_zero, 0, sizeof(dst->in.sin_zero));
	return len;
}

/**
 * ucmx_source_check - check if rdma_cm can look up an address's netdevice
 * @addr: the address, or none
 *
 * With ipv6.disable=1 there is no table of IPv6 addresses, but rdma_cm would
 * read it.
 *
 * Return: 0 or -EADDRNOTAVAIL.
 */
int ucmx_source_check(const union rdma_cmx_sockaddr *addr)
{
	if (addr->sa.sa_family == AF_INET6 && !ipv6_mod_enabled() &&
	    !ipv6_addr_any(&addr->in6.sin6_addr))
		return -EADDRNOTAVAIL;
	return 0;
}

/**
 * ucmx_addr_put - write an address to a caller's struct
 * @dst: the caller's; all bytes are set
 * @src: the address, of any family
 */
void ucmx_addr_put(struct rdma_cmx_addr *dst, const struct sockaddr *src)
{
	memset(dst, 0, sizeof(*dst));
	memcpy(dst, src, rdma_addr_size(src));
}

static void ucmx_gid_put(struct rdma_cm_id *cm, struct rdma_cmx_addr *dst,
			 struct sockaddr *addr, bool local)
{
	struct sockaddr_ib sib = { .sib_family = AF_IB };
	union ib_gid *gid = (union ib_gid *)&sib.sib_addr;

	if (addr->sa_family == AF_IB) {
		ucmx_addr_put(dst, addr);
		return;
	}
	if (cm->device)
		sib.sib_pkey = cpu_to_be16(ib_addr_get_pkey(&cm->route.addr.dev_addr));
	rdma_read_gids(cm, local ? gid : NULL, local ? NULL : gid);
	sib.sib_sid = rdma_get_service_id(cm, addr);
	ucmx_addr_put(dst, (struct sockaddr *)&sib);
}

/**
 * ucmx_info_fill - get device and addresses of an id
 * @cm: the id
 * @info: the result; all bytes are set
 */
void ucmx_info_fill(struct rdma_cm_id *cm, struct rdma_cmx_id_info *info)
{
	struct rdma_addr *addr = &cm->route.addr;

	memset(info, 0, sizeof(*info));
	ucmx_addr_put(&info->src, (struct sockaddr *)&addr->src_addr);
	ucmx_addr_put(&info->dst, (struct sockaddr *)&addr->dst_addr);
	ucmx_gid_put(cm, &info->src_ib, (struct sockaddr *)&addr->src_addr,
		     true);
	ucmx_gid_put(cm, &info->dst_ib, (struct sockaddr *)&addr->dst_addr,
		     false);
	if (!cm->device)
		return;
	info->node_guid = (__force u64)cm->device->node_guid;
	info->ibdev_index = cm->device->index;
	info->port_num = cm->port_num;
	info->pkey = ib_addr_get_pkey(&addr->dev_addr);
	info->num_paths = ucmx_paths_fill(cm, NULL);
}

/**
 * ucmx_paths_fill - get the path records of an id
 * @cm: the id
 * @paths: array of UCMX_MAX_PATHS, or NULL to count only
 *
 * Return: number of path records.
 */
unsigned int ucmx_paths_fill(struct rdma_cm_id *cm,
			     struct ib_path_rec_data *paths)
{
	unsigned int i, n;

	if (!cm->route.path_rec)
		return 0;
	n = clamp(cm->route.num_pri_alt_paths, 0, UCMX_MAX_PATHS);
	for (i = 0; paths && i < n; i++) {
		struct sa_path_rec *rec = &cm->route.path_rec[i];
		struct sa_path_rec ib;

		memset(&paths[i], 0, sizeof(paths[i]));
		paths[i].flags = IB_PATH_GMP | IB_PATH_PRIMARY |
				 IB_PATH_BIDIRECTIONAL;
		if (rec->rec_type == SA_PATH_REC_TYPE_OPA) {
			sa_convert_path_opa_to_ib(&ib, rec);
			rec = &ib;
		}
		ib_sa_pack_path(rec, &paths[i].path_rec);
	}
	return n;
}

/**
 * ucmx_fill_ud - fill the param of an event of a UD id or a membership
 * @dst: the result, zeroed by the caller
 * @cm: the id
 * @src: the parameters from rdma_cm
 */
void ucmx_fill_ud(void *dst, struct rdma_cm_id *cm, struct rdma_ud_param *src)
{
	struct rdma_cmx_event_ud *ud = dst;

	ud->qp_num = src->qp_num;
	ud->qkey = src->qkey;
	ib_copy_ah_attr_to_user(cm->device, &ud->ah_attr, &src->ah_attr);
}

/* The caller's struct contains the private data, and outlives the call. */
int ucmx_private_data_check(const u8 *data, u16 len)
{
	if (len > U8_MAX ||
	    memchr_inv(data + len, 0, RDMA_CMX_MAX_PRIVATE_DATA - len))
		return -EINVAL;
	return 0;
}

int ucmx_conn_param(struct rdma_conn_param *dst,
		    const struct rdma_cmx_conn_param *src)
{
	if (src->qp_num >> 24)
		return -EINVAL;
	memset(dst, 0, sizeof(*dst));
	dst->private_data = src->private_data;
	dst->private_data_len = src->private_data_len;
	dst->responder_resources = src->responder_resources;
	dst->initiator_depth = src->initiator_depth;
	dst->flow_control = src->flow_control;
	dst->retry_count = src->retry_count;
	dst->rnr_retry_count = src->rnr_retry_count;
	dst->srq = src->srq;
	dst->qp_num = src->qp_num;
	dst->qkey = src->qkey;
	return ucmx_private_data_check(src->private_data,
				       src->private_data_len);
}

/**
 * ucmx_respond - write the command's struct back
 * @cmd: the command
 *
 * It writes only as many bytes as the caller's struct has. A command that
 * cannot be undone also calls it first, to check that the result can be
 * written.
 *
 * Context: process context, may sleep.
 * Return: 0 or -EFAULT.
 */
int ucmx_respond(struct ucmx_cmd *cmd)
{
	if (copy_to_user(cmd->ubuf, cmd->buf, min(cmd->usize, cmd->ksize)))
		return -EFAULT;
	return 0;
}
