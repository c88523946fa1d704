// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memberships on InfiniBand, by ib_sa, which shares them between all its
 * callers on a port. Before a send-only full member joins, it queries the
 * capabilities of the SA: an SA without such members may interpret the request
 * in another way.
 *
 * Runs in the membership's work item. Callbacks only store their arguments,
 * under the membership's lock, and queue the work item.
 */
#include <linux/err.h>
#include <net/if_inet6.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cache.h>
#include <rdma/rdma_cm_ib.h>

#include "mcast/mcast.h"

/* An IPv6 address with this prefix, scope aside, is an MGID of the SA. */
#define CMX_SA_MGID_MASK	0xfff0ffff
#define CMX_SA_MGID		0xff10a01b
/* In an MGID of a datagram id, in place of IPoIB's signature */
#define CMX_CM_SIGNATURE	0x01

/* Waits for the state of a port: up to 200 ms together */
#define CMX_IB_PORT_POLL_MS	40
#define CMX_IB_PORT_POLLS	5

static struct ib_sa_client cmx_sa_mc_client;

static bool cmx_is_sa_mgid(const union rdma_cmx_sockaddr *addr)
{
	u32 begin = be32_to_cpu(addr->in6.sin6_addr.s6_addr32[0]);

	return (begin & CMX_SA_MGID_MASK) == CMX_SA_MGID;
}

/* The same MGIDs as in rdma_cm */
static void cmx_ib_mgid(const struct rdma_cm_id *id,
			const union rdma_cmx_sockaddr *addr,
			union ib_gid *mgid)
{
	const unsigned char *broadcast = id->route.addr.dev_addr.broadcast;
	unsigned char map[MAX_ADDR_LEN];

	switch (addr->sa.sa_family) {
	case AF_IB:
		memcpy(mgid, &addr->ib.sib_addr, sizeof(*mgid));
		return;
	case AF_INET6:
		if (cmx_is_sa_mgid(addr)) {
			memcpy(mgid, &addr->in6.sin6_addr, sizeof(*mgid));
			return;
		}
		ipv6_ib_mc_map(&addr->in6.sin6_addr, broadcast, map);
		break;
	default:
		ip_ib_mc_map(addr->in.sin_addr.s_addr, broadcast, map);
		break;
	}
	if (id->ps == RDMA_PS_UDP)
		map[7] = CMX_CM_SIGNATURE;
	memcpy(mgid, map + 4, sizeof(*mgid));
}

/* The parameters that the caller gave */
static void cmx_ib_set_param(struct cmx_group *g)
{
	const struct rdma_cmx_mc_param *param = &g->attr.param;
	struct ib_sa_mcmember_rec *rec = &g->wanted;

	if (param->mask & RDMA_CMX_MC_QKEY)
		rec->qkey = cpu_to_be32(param->qkey);
	if (param->mask & RDMA_CMX_MC_PKEY)
		rec->pkey = cpu_to_be16(param->pkey);
	if (param->mask & RDMA_CMX_MC_SL)
		rec->sl = param->sl;
	if (param->mask & RDMA_CMX_MC_TRAFFIC_CLASS)
		rec->traffic_class = param->traffic_class;
	if (param->mask & RDMA_CMX_MC_FLOW_LABEL)
		rec->flow_label = cpu_to_be32(param->flow_label);
	if (param->mask & RDMA_CMX_MC_MTU) {
		rec->mtu = param->mtu;
		rec->mtu_selector = IB_SA_EQ;
		g->comp_mask |= IB_SA_MCMEMBER_REC_MTU |
				IB_SA_MCMEMBER_REC_MTU_SELECTOR;
	}
	if (param->mask & RDMA_CMX_MC_RATE) {
		rec->rate = param->rate;
		rec->rate_selector = IB_SA_EQ;
		g->comp_mask |= IB_SA_MCMEMBER_REC_RATE |
				IB_SA_MCMEMBER_REC_RATE_SELECTOR;
	}
	if (param->mask & RDMA_CMX_MC_HOP_LIMIT) {
		rec->hop_limit = param->hop_limit;
		g->comp_mask |= IB_SA_MCMEMBER_REC_HOP_LIMIT;
	}
}

/*
 * A parameter that the caller did not give is that of the partition's broadcast
 * group, as in rdma_cm. An id bound by GID has no such group.
 *
 * ib_sa has the group from the start of IPoIB's first join, with zeros, and
 * without an MLID. After a loss it has the previous parameters, without a
 * JoinState, until IPoIB has rejoined it. A rejoin waits for that, for some
 * seconds after the last event of the port: after some changes of the P_Key
 * table IPoIB does not rejoin.
 */
static int cmx_ib_fill(struct cmx_group *g)
{
	struct ib_sa_mcmember_rec *rec = &g->wanted, now;
	int ret;

	if (g->has_broadcast) {
		ret = ib_sa_get_mcmember_rec(g->id->device, g->id->port_num,
					     &g->broadcast, &now);
		if (ret)
			return ret;
		if (!now.mlid || (g->was_joined && !now.join_state &&
				  g->backoff < CMX_BACKOFF_MAX))
			return -EADDRNOTAVAIL;
		rec->sl = now.sl;
		rec->traffic_class = now.traffic_class;
		rec->flow_label = now.flow_label;
		rec->mtu = now.mtu;
		rec->rate = now.rate;
		rec->hop_limit = now.hop_limit;
		if (g->id->ps == RDMA_PS_IPOIB && now.qkey)
			rec->qkey = now.qkey;
	}
	cmx_ib_set_param(g);
	return 0;
}

/*
 * A later resolution of the id changes its addresses. The membership keeps
 * those of the first join.
 */
int cmx_mcast_ib_prepare(struct cmx_group *g)
{
	struct rdma_dev_addr *dev_addr = &g->id->route.addr.dev_addr;
	struct ib_sa_mcmember_rec *rec = &g->wanted;
	u16 index;
	int ret;

	ib_addr_get_mgid(dev_addr, &g->broadcast);
	g->has_broadcast = g->id->route.addr.src_addr.ss_family != AF_IB;
	rec->qkey = cpu_to_be32(RDMA_UDP_QKEY);
	cmx_ib_mgid(g->id, &g->addr, &rec->mgid);
	rdma_addr_get_sgid(dev_addr, &rec->port_gid);
	rec->pkey = cpu_to_be16(ib_addr_get_pkey(dev_addr));
	rec->join_state = g->send_only ? BIT(SENDONLY_FULLMEMBER_JOIN) :
					 BIT(FULLMEMBER_JOIN);
	g->comp_mask = IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID |
		       IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE |
		       IB_SA_MCMEMBER_REC_QKEY | IB_SA_MCMEMBER_REC_SL |
		       IB_SA_MCMEMBER_REC_FLOW_LABEL |
		       IB_SA_MCMEMBER_REC_TRAFFIC_CLASS;
	if (g->id->ps == RDMA_PS_IPOIB) {
		rec->mtu_selector = IB_SA_EQ;
		rec->rate_selector = IB_SA_EQ;
		g->comp_mask |= IB_SA_MCMEMBER_REC_RATE |
				IB_SA_MCMEMBER_REC_RATE_SELECTOR |
				IB_SA_MCMEMBER_REC_MTU |
				IB_SA_MCMEMBER_REC_MTU_SELECTOR |
				IB_SA_MCMEMBER_REC_HOP_LIMIT;
	}
	ret = cmx_ib_fill(g);
	if (ret)
		return ret;
	/* The table of the device may be a command of the firmware an entry. */
	if (ib_find_cached_pkey(g->id->device, g->id->port_num,
				be16_to_cpu(rec->pkey), &index))
		return -EINVAL;
	return 0;
}

/* ib_sa reports the end of a join, or the loss of a membership. */
static int cmx_ib_callback(int status, struct ib_sa_multicast *multicast)
{
	struct cmx_group *g = multicast->context;

	spin_lock(&g->lock);
	g->event = true;
	g->event_status = status;
	if (!status) {
		g->granted = true;
		g->event_rec = multicast->rec;
	}
	spin_unlock(&g->lock);
	cmx_group_kick(g, 0);
	/* The work item or the leave frees it. */
	return 0;
}

/* IPoIB can rejoin from now on, or has lost its group again. */
static void cmx_ib_follow_port(struct cmx_group *g)
{
	struct cmx_sa_port *port;
	u32 generation;

	port = cmx_sa_port_find(g->id->device->index, g->id->port_num);
	if (!port)
		return;
	generation = cmx_sa_port_generation(port);
	cmx_sa_port_put(port);
	if (generation != g->generation)
		g->backoff = CMX_BACKOFF_MIN;
	g->generation = generation;
}

static int cmx_ib_join(struct cmx_group *g)
{
	struct ib_sa_multicast *mc;
	int ret;

	if (g->was_joined) {
		cmx_ib_follow_port(g);
		ret = cmx_ib_fill(g);
		if (ret)
			return ret;
	}
	mc = ib_sa_join_multicast(&cmx_sa_mc_client, g->id->device,
				  g->id->port_num, &g->wanted, g->comp_mask,
				  GFP_KERNEL, cmx_ib_callback, g);
	if (IS_ERR(mc))
		return PTR_ERR(mc);
	g->sa_mc = mc;
	return -EINPROGRESS;
}

/* True if an SA with these capabilities has send-only full members */
static int cmx_ib_send_only(u32 caps)
{
	return caps & IB_SA_CAP_MASK2_SENDONLY_FULL_MEM_SUPPORT ? 0 :
								  -EOPNOTSUPP;
}

static void cmx_ib_responded(struct cmx_sched_waiter *waiter, void *response,
			     int error)
{
	struct cmx_group *g = container_of(waiter, struct cmx_group, waiter);
	u32 caps;

	if (!error)
		error = cmx_sa_info_read(response, &caps) ? -EOPNOTSUPP :
							  cmx_ib_send_only(caps);
	spin_lock(&g->lock);
	g->event = true;
	g->event_status = error;
	spin_unlock(&g->lock);
	cmx_group_kick(g, 0);
	cmx_group_put(g);
}

/*
 * True if @port is active. The event may not have arrived yet, so its state is
 * read. The work items of all groups share a queue, so this one does not wait
 * for firmware: @again is set, and it runs again later.
 */
static bool cmx_ib_port_check(struct cmx_group *g, struct cmx_sa_port *port,
			      bool *again)
{
	bool first = !g->port_polls;
	/* Before the state */
	bool ended = !first && cmx_sa_port_check_ended(port, g->port_check);

	*again = !cmx_sa_port_is_active(port) && !ended &&
		 g->port_polls < CMX_IB_PORT_POLLS;
	if (!*again) {
		g->port_polls = 0;
		return cmx_sa_port_is_active(port);
	}
	if (first)
		g->port_check = cmx_sa_port_check_begin(port);
	g->port_polls++;
	g->state = CMX_GROUP_IDLE;
	cmx_group_kick(g, CMX_IB_PORT_POLL_MS);
	return false;
}

/*
 * 0: the SA has them; -EINPROGRESS: cmx_ib_responded() is called, or the work
 * item runs again.
 */
static int cmx_ib_query_sendonly(struct cmx_group *g)
{
	struct cmx_sa_port *port;
	bool again;
	u32 caps;
	int ret;

	port = cmx_sa_port_find(g->id->device->index, g->id->port_num);
	if (!port)
		return -ENODEV;
	if (!cmx_ib_port_check(g, port, &again)) {
		ret = again ? -EINPROGRESS : -ENODEV;
	} else if (!cmx_sa_info(port, &caps)) {
		ret = cmx_ib_send_only(caps);
	} else {
		refcount_inc(&g->ref);
		g->querying = true;
		g->waiter.done = cmx_ib_responded;
		ret = cmx_sa_info_lookup(port, &g->waiter);
		if (ret) {
			g->querying = false;
			refcount_dec(&g->ref);
		} else {
			ret = -EINPROGRESS;
		}
	}
	cmx_sa_port_put(port);
	return ret;
}

/*
 * Evaluates the stored event. A join that continues reports no event; its next
 * step does.
 */
bool cmx_mcast_ib_event(struct cmx_group *g, int *status)
{
	bool event;

	spin_lock(&g->lock);
	event = g->event;
	g->event = false;
	*status = g->event_status;
	if (event && !*status && !g->querying)
		g->rec = g->event_rec;
	/* It was joined, and lost before this has run. */
	if (event && *status && g->granted)
		g->was_joined = true;
	spin_unlock(&g->lock);
	if (event && g->querying) {
		g->querying = false;
		if (!*status)
			*status = cmx_ib_join(g);
	}
	return event;
}

int cmx_mcast_ib_start(struct cmx_group *g)
{
	int ret;

	if (g->send_only) {
		ret = cmx_ib_query_sendonly(g);
		if (ret)
			return ret;
	}
	return cmx_ib_join(g);
}

/* Ignores an event after this: it belongs to the query. */
void cmx_mcast_ib_stop(struct cmx_group *g)
{
	if (g->querying && cmx_sa_forget(&g->waiter))
		refcount_dec(&g->ref);
	g->querying = false;
	/* Waits for a running callback. */
	if (g->sa_mc)
		ib_sa_free_multicast(g->sa_mc);
	g->sa_mc = NULL;
	spin_lock(&g->lock);
	g->event = false;
	spin_unlock(&g->lock);
}

void cmx_mcast_ib_init(void)
{
	ib_sa_register_client(&cmx_sa_mc_client);
}

void cmx_mcast_ib_exit(void)
{
	ib_sa_unregister_client(&cmx_sa_mc_client);
}
