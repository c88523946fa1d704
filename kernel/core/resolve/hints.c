// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Validates the hints. Each rule returns its errno of RDMA_CMX_AI_ERRNOS. No
 * state, any context.
 */
#include <net/net_namespace.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "resolve/resolve.h"

/* Maximum length of a node; a number with a zone is shorter. */
#define CMX_NODE_MAX	RDMA_CMX_MAX_NODE

static int cmx_hints_family(struct cmx_hints *h,
			    const struct rdma_cmx_query_attr *attr)
{
	switch (attr->family) {
	case 0:
	case AF_INET:
	case AF_INET6:
		h->family = attr->family;
		return 0;
	case AF_IB:
		/* Without RAI_FAMILY librdmacm reads it as "any". */
		h->family = attr->flags & RDMA_CMX_AI_FAMILY ? AF_IB : 0;
		return 0;
	default:
		return -EAFNOSUPPORT;
	}
}

/* Connected queue pairs use TCP, datagrams UDP, all may use IB. */
static int cmx_hints_types(struct cmx_hints *h,
			   const struct rdma_cmx_query_attr *attr)
{
	bool stream = false, dgram = false;

	switch (attr->qp_type) {
	case 0:
		break;
	case IB_QPT_RC:
	case IB_QPT_UC:
	case IB_QPT_XRC_INI:
	case IB_QPT_XRC_TGT:
		stream = true;
		break;
	case IB_QPT_UD:
		dgram = true;
		break;
	default:
		return -EPROTOTYPE;
	}

	h->qp_type = attr->qp_type;
	h->port_space = attr->port_space;
	h->any_type = !h->qp_type &&
		      (!h->port_space || h->port_space == RDMA_PS_IB);

	switch (attr->port_space) {
	case 0:
		if (stream)
			h->port_space = RDMA_PS_TCP;
		else if (dgram)
			h->port_space = RDMA_PS_UDP;
		return 0;
	case RDMA_PS_TCP:
		if (!h->qp_type)
			h->qp_type = IB_QPT_RC;
		return dgram ? -EPROTOTYPE : 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		if (!h->qp_type)
			h->qp_type = IB_QPT_UD;
		return stream ? -EPROTOTYPE : 0;
	case RDMA_PS_IB:
		if (!h->qp_type)
			h->qp_type = IB_QPT_RC;
		return 0;
	default:
		return -EPROTOTYPE;
	}
}

static int cmx_hints_addr(const struct cmx_hints *h,
			  const union rdma_cmx_sockaddr *from,
			  union rdma_cmx_sockaddr *to)
{
	size_t size;

	to->sa.sa_family = 0;
	if (!from)
		return 0;
	size = cmx_addr_size(from->sa.sa_family);
	if (!size)
		return -EINVAL;
	if (h->family && h->family != from->sa.sa_family)
		return -EINVAL;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, size);
	return 0;
}

static int cmx_hints_sa(struct cmx_hints *h,
			const struct rdma_cmx_query_attr *attr)
{
	if (attr->node)
		return -EOPNOTSUPP;
	if (!attr->service || !*attr->service ||
	    strnlen(attr->service, RDMA_CMX_MAX_SERVICE + 1) >
	    RDMA_CMX_MAX_SERVICE)
		return -EINVAL;
	if (h->family && h->family != AF_IB)
		return -EADDRNOTAVAIL;
	/* As in librdmacm, whatever the hints are */
	h->port_space = RDMA_PS_IB;
	if (!h->qp_type)
		h->qp_type = IB_QPT_RC;
	if (attr->id) {
		if (!attr->id->device)
			return -EINVAL;
		if (!rdma_cap_ib_sa(attr->id->device, attr->id->port_num))
			return -EINVAL;
	}
	return 0;
}

/* A path record that limits a result of GIDs also gives the source. */
static void cmx_hints_limit_src(struct cmx_hints *h,
				const struct rdma_cmx_query_attr *attr)
{
	struct sa_path_rec rec = { .rec_type = SA_PATH_REC_TYPE_IB };
	u32 wire[sizeof(attr->route->path_rec) / sizeof(u32)];

	if (h->src.sa.sa_family || cmx_passive(h) ||
	    (h->family != AF_IB && h->dst.sa.sa_family != AF_IB &&
	     (attr->node || attr->dst)))
		return;
	memcpy(wire, attr->route->path_rec, sizeof(wire));
	ib_sa_unpack_path(wire, &rec);
	if (rdma_is_zero_gid(&rec.sgid))
		return;
	memset(&h->src, 0, sizeof(h->src));
	h->src.ib.sib_family = AF_IB;
	h->src.ib.sib_pkey = rec.pkey ?: htons(0xffff);
	memcpy(&h->src.ib.sib_addr, &rec.sgid, sizeof(rec.sgid));
}

/* Fills @h. Returns 0 or the errno of the query. */
int cmx_hints_init(struct cmx_hints *h, const struct rdma_cmx_query_attr *attr)
{
	int ret;

	if (!attr->net)
		return -EINVAL;
	if (attr->flags & ~CMX_AI_FLAGS)
		return -EOPNOTSUPP;
	if ((attr->flags & RDMA_CMX_AI_SA) && (attr->flags & RDMA_CMX_AI_DNS))
		return -EOPNOTSUPP;

	h->net = attr->net;
	h->flags = attr->flags;
	h->has_port = attr->has_port;
	h->port = attr->has_port ? attr->port : 0;
	h->by_dev = false;
	h->ifindex = 0;
	h->tos = attr->tos;
	h->refresh = attr->refresh;
	h->warm = false;
	h->locked = false;
	h->brief = false;

	ret = cmx_hints_family(h, attr);
	if (ret)
		return ret;
	ret = cmx_hints_types(h, attr);
	if (ret)
		return ret;
	ret = cmx_hints_addr(h, attr->src, &h->src);
	if (ret)
		return ret;
	ret = cmx_hints_addr(h, attr->dst, &h->dst);
	if (ret)
		return ret;
	if (attr->src && attr->dst &&
	    attr->src->sa.sa_family != attr->dst->sa.sa_family)
		return -EINVAL;
	if ((attr->route_count && !attr->route) ||
	    attr->route_count > CMX_MAX_LIMITS)
		return -EINVAL;

	h->limits = attr->route;
	h->limit_count = attr->route_count;
	if (h->limit_count)
		cmx_hints_limit_src(h, attr);

	if (attr->flags & RDMA_CMX_AI_SA)
		return cmx_hints_sa(h, attr);

	if (attr->service)
		return -EINVAL;
	if (attr->node) {
		if (!*attr->node ||
		    strnlen(attr->node, CMX_NODE_MAX + 1) > CMX_NODE_MAX)
			return -ENOENT;
		return 0;
	}
	if (!attr->has_port && !attr->src && !attr->dst &&
	    !attr->route_count && !cmx_passive(h))
		return -ENOENT;
	return 0;
}

/* True if a service that only @qp_type has may choose the type */
bool cmx_hints_may_narrow(const struct cmx_hints *h, u32 qp_type)
{
	return h->any_type && (qp_type == IB_QPT_RC || qp_type == IB_QPT_UD);
}

/* Sets the port that the caller looked up; @qp_type is 0 or may narrow. */
void cmx_hints_set_port(struct cmx_hints *h, u16 port, u32 qp_type)
{
	h->port = port;
	if (!qp_type)
		return;
	h->qp_type = qp_type;
	if (!h->port_space)
		h->port_space = qp_type == IB_QPT_UD ? RDMA_PS_UDP :
						       RDMA_PS_TCP;
}
