// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast memberships of an id. The id's lock protects the list and what
 * the memberships say; it is held over JOIN, which does not wait, so that a
 * membership is found as soon as its event can be.
 */
#include <stdlib.h>
#include <string.h>

#include "lib.h"

static bool addr_is_multicast(const struct sockaddr *addr)
{
	const struct sockaddr_in6 *sin6 = (const void *)addr;
	const struct sockaddr_in *sin = (const void *)addr;

	switch (addr->sa_family) {
	case AF_INET:
		return IN_MULTICAST(ntohl(sin->sin_addr.s_addr));
	case AF_INET6:
		return IN6_IS_ADDR_MULTICAST(&sin6->sin6_addr);
	default:
		/* A GID; the wildcard asks for a group of the SM's choice. */
		return true;
	}
}

/* With the id's lock. A QP is attached once for all its memberships. */
static bool group_attached(struct cmx_id *id, const struct cmx_mc *like)
{
	struct cmx_mc *mc;

	for (mc = id->mcs; mc; mc = mc->next)
		if (mc != like && mc->attached && mc->mlid == like->mlid &&
		    !memcmp(&mc->mgid, &like->mgid, sizeof(mc->mgid)))
			return true;
	return false;
}

static void mc_detach(struct cmx_mc *mc)
{
	struct cmx_id *id = mc->id;

	if (!mc->attached)
		return;
	mc->attached = false;
	if (id->id.qp && !group_attached(id, mc))
		ibv_detach_mcast(id->id.qp, &mc->mgid, mc->mlid);
}

/* A join has succeeded and its event is on the way to the program. */
int cmx_mc_joined(struct cmx_mc *mc, const struct ibv_ah_attr *ah_attr)
{
	struct cmx_id *id = mc->id;
	int ret = 0;

	pthread_mutex_lock(&id->lock);
	mc->mgid = ah_attr->grh.dgid;
	mc->mlid = ah_attr->dlid;
	if (id->id.qp &&
	    mc->join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER) {
		if (!group_attached(id, mc))
			ret = ibv_attach_mcast(id->id.qp, &mc->mgid, mc->mlid);
		mc->attached = !ret;
	}
	pthread_mutex_unlock(&id->lock);
	return rdma_seterrno(ret);
}

void cmx_mc_detach_all(struct cmx_id *id)
{
	struct cmx_mc *mc;

	pthread_mutex_lock(&id->lock);
	for (mc = id->mcs; mc; mc = mc->next)
		mc_detach(mc);
	pthread_mutex_unlock(&id->lock);
}

void cmx_mc_free_all(struct cmx_id *id)
{
	struct cmx_mc *mc;

	while ((mc = id->mcs)) {
		id->mcs = mc->next;
		free(mc);
	}
}

/* Ack the last event of a synchronous id if it is about @mc. */
static void last_event_drop(struct cmx_id *id, struct cmx_mc *mc)
{
	struct cmx_event *last = (struct cmx_event *)id->id.event;

	if (id->sync && last && last->mc == mc)
		cmx_event_drop_last(id);
}

/* @mc is off the list. */
static int mc_leave(struct cmx_id *id, struct cmx_mc *mc)
{
	struct rdma_cmx_destroy cmd = {
		.size = sizeof(cmd),
		.handle = mc->handle,
	};
	int err = 0;

	last_event_drop(id, mc);
	if (cmx_id_ioctl(id, LEAVE, &cmd))
		err = errno;

	pthread_mutex_lock(&id->lock);
	while (!err && (int32_t)(mc->events_completed -
				 cmd.events_reported) < 0)
		pthread_cond_wait(&id->cond, &id->lock);
	/* Only now: an event in another thread's hands may have attached. */
	mc_detach(mc);
	pthread_mutex_unlock(&id->lock);
	free(mc);
	return err ? cmx_err(err) : 0;
}

static void mc_unlink(struct cmx_id *id, struct cmx_mc *mc)
{
	struct cmx_mc **pos;

	for (pos = &id->mcs; *pos; pos = &(*pos)->next) {
		if (*pos == mc) {
			*pos = mc->next;
			return;
		}
	}
}

static int mc_join(struct cmx_id *id, const struct sockaddr *addr,
		   uint32_t join_flags, void *context)
{
	struct rdma_cmx_join cmd = {
		.size = sizeof(cmd),
		.join_flags = join_flags,
	};
	struct cmx_mc *mc;
	int err;

	if (!addr)
		return cmx_err(EINVAL);
	if (cmx_addr_to_kern(&cmd.addr, addr))
		return -1;
	if (!addr_is_multicast(addr))
		return cmx_err(EINVAL);
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -1;
	mc->id = id;
	mc->context = context;
	mc->join_flags = join_flags;
	mc->addr = cmd.addr;
	cmd.uid = (uintptr_t)mc;

	pthread_mutex_lock(&id->lock);
	cmd.id = id->handle;
	if (cmx_id_ioctl(id, JOIN, &cmd)) {
		err = errno;
		pthread_mutex_unlock(&id->lock);
		free(mc);
		return cmx_err(err);
	}
	mc->handle = cmd.mc;
	mc->next = id->mcs;
	id->mcs = mc;
	pthread_mutex_unlock(&id->lock);

	if (!cmx_complete(id))
		return 0;
	/* A synchronous join that failed leaves nothing to leave. */
	err = errno;
	if (err != ECANCELED) {
		pthread_mutex_lock(&id->lock);
		mc_unlink(id, mc);
		pthread_mutex_unlock(&id->lock);
		mc_leave(id, mc);
	}
	return cmx_err(err);
}

CMX_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id,
				      struct rdma_cm_join_mc_attr_ex *attr,
				      void *context)
{
	CMX_ID_OR_STOCK(id, rdma_join_multicast_ex, id, attr, context);
	if (!attr)
		return cmx_err(EINVAL);
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return cmx_err(ENOTSUP);
	if (!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS) ||
	    !(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return cmx_err(EINVAL);
	return mc_join(cmx_id(id), attr->addr, attr->join_flags, context);
}

CMX_EXPORT int rdma_join_multicast(struct rdma_cm_id *id,
				   struct sockaddr *addr, void *context)
{
	CMX_ID_OR_STOCK(id, rdma_join_multicast, id, addr, context);
	return mc_join(cmx_id(id), addr, RDMA_MC_JOIN_FLAG_FULLMEMBER, context);
}

CMX_EXPORT int rdma_leave_multicast(struct rdma_cm_id *id,
				    struct sockaddr *addr)
{
	struct cmx_id *cid = cmx_id(id);
	struct rdma_cmx_addr group;
	struct cmx_mc *mc;

	CMX_ID_OR_STOCK(id, rdma_leave_multicast, id, addr);
	if (!addr)
		return cmx_err(EINVAL);
	if (cmx_addr_to_kern(&group, addr))
		return -1;

	pthread_mutex_lock(&cid->lock);
	for (mc = cid->mcs; mc; mc = mc->next)
		if (!memcmp(&mc->addr, &group, sizeof(group)))
			break;
	if (mc)
		mc_unlink(cid, mc);
	pthread_mutex_unlock(&cid->lock);
	if (!mc)
		return cmx_err(EADDRNOTAVAIL);
	return mc_leave(cid, mc);
}
