// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast memberships of an id; mcast_qp.c has its queue pair. The id's lock
 * guards the list and the memberships, which are on the list until they are
 * freed. It is held over JOIN, so that a membership is found as soon as its
 * event can be.
 */
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cmx.h>

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
		/* A GID; the wildcard requests a group that the SM chooses. */
		return true;
	}
}

void cmx_mc_free_all(struct cmx_id *id)
{
	struct cmx_mc *mc;

	while ((mc = id->mcs)) {
		id->mcs = mc->next;
		cmx_mc_free(mc);
	}
}

/* It is not on the list. */
void cmx_mc_free(struct cmx_mc *mc)
{
	cmx_process_put(mc->process);
	free(mc);
}

/*
 * The membership of an event, which waits for its ack; NULL: this process has
 * none. The object of the cookie may be freed, or another id's: it is read only
 * if it is on the list.
 */
struct cmx_mc *cmx_mc_known(struct cmx_id *id, uint64_t uid, uint32_t handle)
{
	const void *object = cmx_cookie_object(uid);
	struct cmx_mc *mc;

	cmx_id_lock(id);
	for (mc = id->mcs; mc && mc != object; mc = mc->next)
		;
	if (mc && (mc->handle != handle || mc->cookie != uid))
		mc = NULL;
	if (mc)
		mc->events_taken++;
	pthread_mutex_unlock(&id->lock);
	return mc;
}

/*
 * Acks the last event of a synchronous id if it is about @mc. With the id's
 * lock, which is released for the ack: a thread that takes the event from there
 * may free it.
 */
static bool last_event_drop(struct cmx_id *id, struct cmx_mc *mc)
{
	struct cmx_event *last = (struct cmx_event *)id->id.event;

	if (!id->sync || !cmx_own(last, CMX_EVENT) || last->mc != mc)
		return false;
	id->id.event = NULL;
	pthread_mutex_unlock(&id->lock);
	cmx_event_ack(&last->event);
	cmx_id_lock(id);
	return true;
}

/* With the id's lock */
static void mc_drop(struct cmx_id *id, struct cmx_mc *mc)
{
	struct cmx_mc **pos = &id->mcs;

	while (*pos != mc)
		pos = &(*pos)->next;
	*pos = mc->next;
	cmx_mc_free(mc);
}

/*
 * A copy of a membership, or one that another process has left: the kernel
 * returns no number of events to wait for. With unacked ones it stays for them,
 * and the id frees it. So it does if the queue pair is attached still: who
 * destroys that detaches it before.
 */
static void uncounted_left(struct cmx_id *id, struct cmx_mc *mc, bool first)
{
	cmx_id_lock(id);
	if (first)
		cmx_mc_leave_end(mc);
	if (!mc->kept && mc->events_completed == mc->events_taken)
		mc_drop(id, mc);
	pthread_mutex_unlock(&id->lock);
}

/* After cmx_mc_leave_begin(). ENOENT: another process has left. */
static int mc_leave(struct cmx_id *id, struct cmx_mc *mc)
{
	struct rdma_cmx_destroy cmd = {
		.size = sizeof(cmd),
		.handle = mc->handle,
		.owner = cmx_id_owner(id),
	};
	bool copy = cmx_id_inherited(id);
	int err = 0;

	cmx_id_lock(id);
	last_event_drop(id, mc);
	pthread_mutex_unlock(&id->lock);
	/* As for a copy of an id */
	if (copy)
		cmd.uid = mc->cookie;
	if (cmx_destroy_ioctl(id, RDMA_CMX_IO(LEAVE), &cmd))
		err = errno;
	if (err == ENOENT || (copy && !err)) {
		uncounted_left(id, mc, !err);
		return err ? cmx_err(err) : 0;
	}

	/* A thread that had an event may store it as the last one meanwhile. */
	cmx_id_lock(id);
	while (!err && (int32_t)(mc->events_completed -
				 cmd.events_reported) < 0)
		if (!last_event_drop(id, mc))
			cmx_id_wait(id);
	if (err) {
		mc->left = false;
		mc->kept = false;
	} else {
		mc_drop(id, mc);
	}
	pthread_mutex_unlock(&id->lock);
	return err ? cmx_err(err) : 0;
}

struct rdma_cmx_mc_param cmx_mc_param(const struct rdmacmx_group *group)
{
	return (struct rdma_cmx_mc_param) {
		.mask = group->mask,
		.qkey = group->qkey,
		.flow_label = group->flow_label,
		.pkey = group->pkey,
		.mtu = group->mtu,
		.rate = group->rate,
		.sl = group->sl,
		.traffic_class = group->traffic_class,
		.hop_limit = group->hop_limit,
	};
}

/* A membership as requested. The command to the kernel uses both. */
struct cmx_mc *cmx_mc_alloc(struct cmx_id *id,
			    const struct rdmacmx_join_attr *attr,
			    void *context)
{
	struct cmx_mc *mc;
	size_t i;

	errno = EINVAL;
	for (i = 0; i < sizeof(attr->reserved) / sizeof(attr->reserved[0]); i++)
		if (attr->reserved[i])
			return NULL;
	if (!attr->addr || attr->group.reserved)
		return NULL;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return NULL;
	mc->process = cmx_process_get();
	if (!mc->process) {
		free(mc);
		return NULL;
	}
	if (cmx_addr_to_kern(&mc->addr, attr->addr) ||
	    !addr_is_multicast(attr->addr)) {
		cmx_mc_free(mc);
		errno = EINVAL;
		return NULL;
	}
	mc->id = id;
	mc->context = context;
	mc->join_flags = attr->join_flags;
	mc->own_qkey = attr->group.mask & RDMACMX_GROUP_QKEY;
	mc->cookie = cmx_cookie(mc);
	return mc;
}

/* With the id's lock */
void cmx_mc_link(struct cmx_mc *mc, uint32_t handle)
{
	mc->handle = handle;
	mc->next = mc->id->mcs;
	mc->id->mcs = mc;
}

/* A synchronous join that failed leaves no membership. */
static int mc_complete(struct cmx_id *id, struct cmx_mc *mc)
{
	bool dying;
	int err;

	if (!cmx_complete(id))
		return 0;
	err = errno;
	cmx_id_lock(id);
	dying = id->dying;
	if (!dying)
		cmx_mc_leave_begin(mc);
	pthread_mutex_unlock(&id->lock);
	/* Otherwise it goes with the id. */
	if (!dying)
		mc_leave(id, mc);
	return cmx_err(err);
}

/*
 * A call waits for the next event of the id. So that this is not another
 * thread's, one synchronous join runs at a time; until its end: a failure is
 * undone on the id.
 */
static int join_begin(struct cmx_id *id, struct cmx_mc *mc)
{
	bool dying;

	if (cmx_sync_enter(id))
		return -1;
	cmx_id_lock(id);
	while (id->joining)
		cmx_id_wait(id);
	dying = id->dying;
	if (!dying)
		id->joining = mc;
	pthread_mutex_unlock(&id->lock);
	if (!dying)
		return 0;
	cmx_sync_leave(id);
	return cmx_err(ECANCELED);
}

static void join_end(struct cmx_id *id)
{
	cmx_id_lock(id);
	id->joining = NULL;
	cmx_id_wake(id);
	pthread_mutex_unlock(&id->lock);
	cmx_sync_leave(id);
}

int cmx_mc_join(struct cmx_id *id, const struct rdmacmx_join_attr *attr,
		void *context)
{
	struct rdma_cmx_join cmd;
	struct cmx_mc *mc;
	bool sync = id->sync;
	int ret, err;

	mc = cmx_mc_alloc(id, attr, context);
	if (!mc)
		return -1;
	cmd = (struct rdma_cmx_join) {
		.size = sizeof(cmd),
		.join_flags = attr->join_flags,
		.uid = mc->cookie,
		.addr = mc->addr,
		.flags = attr->flags,
		.param = cmx_mc_param(&attr->group),
	};
	if (sync && join_begin(id, mc)) {
		cmx_mc_free(mc);
		return cmx_err(ECANCELED);
	}
	cmx_id_lock(id);
	cmd.id = id->handle;
	ret = cmx_id_ioctl(id, JOIN, &cmd);
	err = errno;
	if (!ret)
		cmx_mc_link(mc, cmd.mc);
	pthread_mutex_unlock(&id->lock);

	if (ret) {
		cmx_mc_free(mc);
	} else if (sync) {
		ret = mc_complete(id, mc);
		err = errno;
	}
	if (sync)
		join_end(id);
	return ret ? cmx_err(err) : 0;
}

CMX_EXPORT int rdmacmx_join_multicast(struct rdma_cm_id *id,
				      const struct rdmacmx_join_attr *attr,
				      void *context)
{
	if (!cmx_id_ours(id) || !attr)
		return cmx_err(EINVAL);
	return cmx_mc_join(cmx_id(id), attr, context);
}

CMX_EXPORT int rdmacmx_event_group(const struct rdma_cm_event *event,
				   struct rdmacmx_group *group)
{
	const struct cmx_event *evt = (const struct cmx_event *)event;
	const struct rdma_cmx_mc_param *param;

	if (!group || !cmx_own(event, CMX_EVENT) ||
	    event->event != RDMA_CM_EVENT_MULTICAST_JOIN)
		return cmx_err(EINVAL);
	param = &evt->group;
	*group = (struct rdmacmx_group) {
		.mask = param->mask,
		.qkey = param->qkey,
		.flow_label = param->flow_label,
		.pkey = param->pkey,
		.mtu = param->mtu,
		.rate = param->rate,
		.sl = param->sl,
		.traffic_class = param->traffic_class,
		.hop_limit = param->hop_limit,
	};
	return 0;
}

CMX_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id,
				      struct rdma_cm_join_mc_attr_ex *attr,
				      void *context)
{
	struct rdmacmx_join_attr join = {};

	CMX_ID_OR_STOCK(id, rdma_join_multicast_ex, id, attr, context);
	if (!attr)
		return cmx_err(EINVAL);
	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return cmx_err(ENOTSUP);
	if (!(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_ADDRESS) ||
	    !(attr->comp_mask & RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) ||
	    attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return cmx_err(EINVAL);
	join.addr = attr->addr;
	join.join_flags = attr->join_flags;
	return cmx_mc_join(cmx_id(id), &join, context);
}

CMX_EXPORT int rdma_join_multicast(struct rdma_cm_id *id,
				   struct sockaddr *addr, void *context)
{
	struct rdmacmx_join_attr join = { .addr = addr };

	CMX_ID_OR_STOCK(id, rdma_join_multicast, id, addr, context);
	return cmx_mc_join(cmx_id(id), &join, context);
}

/* With the id's lock */
static struct cmx_mc *mc_find(struct cmx_id *id,
			      const struct rdma_cmx_addr *group)
{
	struct cmx_mc *mc;

	for (mc = id->mcs; mc; mc = mc->next)
		if (!mc->left && !memcmp(&mc->addr, group, sizeof(*group)))
			break;
	return mc;
}

/*
 * A call that joins the group waits for the event of its membership, and uses
 * that until its end. Another process may have left the newest ones.
 */
static int mc_leave_group(struct cmx_id *id, const struct rdma_cmx_addr *group)
{
	struct cmx_mc *mc;
	bool dying;
	int ret;

	do {
		cmx_id_lock(id);
		while ((mc = mc_find(id, group)) && mc == id->joining)
			cmx_id_wait(id);
		dying = id->dying;
		if (mc && !dying)
			cmx_mc_leave_begin(mc);
		pthread_mutex_unlock(&id->lock);
		if (dying)
			return cmx_err(ECANCELED);
		if (!mc)
			return cmx_err(EADDRNOTAVAIL);
		ret = mc_leave(id, mc);
	} while (ret && errno == ENOENT);
	return ret;
}

CMX_EXPORT int rdma_leave_multicast(struct rdma_cm_id *id,
				    struct sockaddr *addr)
{
	struct cmx_id *cid = cmx_id(id);
	struct rdma_cmx_addr group;
	bool sync;
	int ret, err;

	CMX_ID_OR_STOCK(id, rdma_leave_multicast, id, addr);
	if (!addr)
		return cmx_err(EINVAL);
	if (cmx_addr_to_kern(&group, addr) || cmx_call_begin(cid, &sync))
		return -1;
	ret = mc_leave_group(cid, &group);
	err = errno;
	if (sync)
		cmx_sync_leave(cid);
	return ret ? cmx_err(err) : 0;
}
