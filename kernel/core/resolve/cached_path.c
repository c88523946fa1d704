// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Uses a cached path record of a resolution for an id that would query the SA
 * again, and drops it. No state, process context.
 */
#include <linux/export.h>
#include <linux/module.h>
#include <linux/string.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_sa.h>
#include <rdma/rdma_cm_ib.h>
#include <rdma/rdma_netlink.h>

#include "resolve/request.h"
#include "sa/wire.h"

static bool path_provider = CMX_NL_PRIVILEGED;
module_param(path_provider, bool, 0644);
MODULE_PARM_DESC(path_provider,
		 "Query a path provider on netlink, such as ibacm, first (default on before Linux 6.12, then off: any process may listen)");

/* True if ib_sa queries a provider of paths before the SA (ibacm) */
bool cmx_path_provider_listens(void)
{
	return READ_ONCE(path_provider) &&
	       rdma_nl_chk_listeners(RDMA_NL_GROUP_LS);
}

/*
 * Gets the query of rdma_resolve_route(), and its port, active or not, with a
 * reference. Does not wait for firmware.
 */
struct cmx_sa_port *cmx_cached_path_query(struct rdma_cm_id *id, u8 tos,
					  struct cmx_sa_query *q)
{
	struct rdma_addr *addr = &id->route.addr;
	struct sa_path_rec rec = {};
	struct cmx_sa_port *port;

	if (!id->device || !rdma_cap_ib_sa(id->device, id->port_num) ||
	    rdma_cap_opa_ah(id->device, id->port_num))
		return ERR_PTR(-EOPNOTSUPP);
	rdma_addr_get_sgid(&addr->dev_addr, &rec.sgid);
	rdma_addr_get_dgid(&addr->dev_addr, &rec.dgid);
	rec.pkey = cpu_to_be16(ib_addr_get_pkey(&addr->dev_addr));
	rec.service_id = rdma_get_service_id(id, (struct sockaddr *)
					     &addr->dst_addr);
	cmx_path_set_class(&rec, (struct sockaddr *)&addr->src_addr, tos);
	port = cmx_sa_port_find(id->device->index, id->port_num);
	if (!port)
		return ERR_PTR(-ENODEV);
	cmx_path_query(q, &rec, addr->src_addr.ss_family, cmx_sa_has_qos(port),
		       NULL);
	return port;
}

/* Uses the first path of @response, if it leads to the DGID of @q. */
static int cmx_cached_path_use(struct rdma_cm_id *id,
			       const struct cmx_sa_query *q,
			       const struct cmx_sa_response *response)
{
	const u8 *wire = cmx_sa_response_rec(response, 0);
	struct sa_path_rec rec;

	if (!response->count)
		return -ENOENT;
	if (memcmp(wire + CMX_PATH_DGID, q->rec + CMX_PATH_DGID,
		   sizeof(rec.dgid)))
		return -ENOENT;
	cmx_path_unpack(wire, &rec);
	return rdma_set_ib_path(id, &rec);
}

int rdma_cmx_set_cached_path_tos(struct rdma_cm_id *id, u8 tos)
{
	struct cmx_sa_response *response;
	struct cmx_sa_query q CMX_UNINIT;
	struct cmx_sa_port *port;
	int ret;

	/* A failed rdma_resolve_route() left a record, which would leak. */
	if (id->route.path_rec || cmx_path_provider_listens())
		return -ENOENT;
	port = cmx_cached_path_query(id, tos, &q);
	if (IS_ERR(port))
		return PTR_ERR(port);
	ret = -ENODEV;
	if (cmx_sa_port_is_active(port))
		ret = cmx_sa_cached(port, id->route.addr.dev_addr.net, &q,
				    &response) ? -ENOENT : 0;
	cmx_sa_port_put(port);
	if (ret)
		return ret;
	ret = cmx_cached_path_use(id, &q, response);
	cmx_sa_response_put(response);
	return ret;
}
EXPORT_SYMBOL_GPL(rdma_cmx_set_cached_path_tos);

int rdma_cmx_set_cached_path(struct rdma_cm_id *id)
{
	return rdma_cmx_set_cached_path_tos(id, 0);
}
EXPORT_SYMBOL_GPL(rdma_cmx_set_cached_path);

/* True if requests over both paths have the same addresses and parameters */
static bool cmx_cached_path_same(const struct sa_path_rec *a,
				 const struct sa_path_rec *b)
{
	return a->rec_type == b->rec_type &&
	       !memcmp(&a->dgid, &b->dgid, sizeof(a->dgid)) &&
	       !memcmp(&a->sgid, &b->sgid, sizeof(a->sgid)) &&
	       a->ib.dlid == b->ib.dlid && a->ib.slid == b->ib.slid &&
	       a->pkey == b->pkey && a->sl == b->sl && a->mtu == b->mtu &&
	       a->rate == b->rate && a->traffic_class == b->traffic_class &&
	       a->flow_label == b->flow_label &&
	       a->hop_limit == b->hop_limit &&
	       a->packet_life_time == b->packet_life_time;
}

/* True if the cache has another path: a user set that of the id, or it is old. */
static bool cmx_cached_path_differs(const struct rdma_cm_id *id,
				    struct cmx_sa_port *port,
				    const struct cmx_sa_query *q)
{
	struct cmx_sa_response *response;
	struct sa_path_rec rec;
	bool differs;

	/* A failed query of rdma_cm leaves a record without contents. */
	if (!id->route.num_pri_alt_paths || !id->route.path_rec ||
	    cmx_sa_peek(port, id->route.addr.dev_addr.net, q, &response))
		return false;
	differs = response->count;
	if (differs) {
		cmx_path_unpack(cmx_sa_response_rec(response, 0), &rec);
		differs = !cmx_cached_path_same(&rec, id->route.path_rec);
	}
	cmx_sa_response_put(response);
	return differs;
}

void rdma_cmx_drop_cached_path_tos(struct rdma_cm_id *id, u8 tos)
{
	struct cmx_sa_query q CMX_UNINIT;
	struct cmx_sa_port *port;

	port = cmx_cached_path_query(id, tos, &q);
	if (IS_ERR(port))
		return;
	if (!cmx_cached_path_differs(id, port, &q))
		cmx_sa_uncache(port, id->route.addr.dev_addr.net, &q,
			       CMX_SA_GONE_FAILED);
	cmx_sa_port_put(port);
}
EXPORT_SYMBOL_GPL(rdma_cmx_drop_cached_path_tos);

void rdma_cmx_drop_cached_path(struct rdma_cm_id *id)
{
	rdma_cmx_drop_cached_path_tos(id, 0);
}
EXPORT_SYMBOL_GPL(rdma_cmx_drop_cached_path);

/*
 * Drops the path that a query with @attr would find in the cache if its
 * destination has @dgid. It sends no query, and resolves no neighbour.
 */
int cmx_cached_path_forget(const struct rdma_cmx_query_attr *attr,
			   const union ib_gid *dgid)
{
	struct cmx_request req CMX_UNINIT;
	struct cmx_sa_request *sa;
	int ret;
	u32 i;

	ret = cmx_request_init(&req, attr, &cmx_kernel);
	if (ret)
		return ret;
	ret = cmx_request_prepare(&req);
	for (i = 0; !ret && i < req.paths.count; i++) {
		sa = &req.paths.req[i].sa;
		memcpy(sa->query.rec + CMX_PATH_DGID, dgid, sizeof(*dgid));
		if (sa->port)
			cmx_sa_uncache(sa->port, attr->net, &sa->query,
				       CMX_SA_GONE_FAILED);
	}
	cmx_request_release(&req);
	return ret;
}
