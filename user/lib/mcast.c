// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast memberships of an id. The id's lock guards the list and the
 * memberships, which are on the list until they are freed. It is held over
 * JOIN, so that a membership is found as soon as its event can be.
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

/*
 * Drivers do not count attachments to an MGID. Most do not compare the MLID,
 * either. An MGID has one at a time, so all its memberships have the same.
 */
static bool same_group(const struct cmx_mc *mc, const struct cmx_mc *like)
{
	return !memcmp(&mc->mgid, &like->mgid, sizeof(mc->mgid));
}

/* With the id's lock. A QP is attached once for all its memberships. */
static bool group_attached(struct cmx_id *id, const struct cmx_mc *like)
{
	struct cmx_mc *mc;

	for (mc = id->mcs; mc; mc = mc->next)
		if (mc->attached && same_group(mc, like))
			return true;
	return false;
}

static bool mc_attachable(const struct cmx_mc *mc)
{
	return !mc->left &&
	       mc->join_flags != RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
}

/* The QP may be attached for it: by the library, or by the program. */
static bool mc_receives(const struct cmx_mc *mc)
{
	return mc->joined && mc_attachable(mc);
}

static bool group_received(struct cmx_id *id, const struct cmx_mc *like)
{
	struct cmx_mc *mc;

	for (mc = id->mcs; mc; mc = mc->next)
		if (mc != like && mc_receives(mc) && same_group(mc, like))
			return true;
	return false;
}

/*
 * The kernel knows whether the QP is attached: a program attaches one that the
 * id did not have when it read the event.
 */
static void mc_detach(struct cmx_mc *mc)
{
	struct cmx_id *id = mc->id;

	mc->attached = false;
	if (id->id.qp && (mc_receives(mc) || mc->kept))
		ibv_detach_mcast(id->id.qp, &mc->mgid, mc->mlid);
	mc->kept = false;
}

/* Likewise, unless another membership of the group needs it */
static void mc_detach_last(struct cmx_mc *mc)
{
	if (group_received(mc->id, mc))
		mc->attached = false;
	else
		mc_detach(mc);
}

/*
 * With the id's lock. The group has this MLID, possibly another one than its
 * memberships have: before the QP is attached, its attachment to the former one
 * ends.
 */
static void group_move(const struct cmx_mc *mc, uint16_t mlid)
{
	struct cmx_mc *other;

	for (other = mc->id->mcs; other; other = other->next) {
		if (!same_group(other, mc) || other->mlid == mlid)
			continue;
		mc_detach(other);
		other->mlid = mlid;
	}
}

/*
 * A membership whose Q_Key, which the program gave, has precedence over that of
 * others; or NULL. With the id's lock.
 */
static const struct cmx_mc *qkey_given(const struct cmx_id *id)
{
	const struct cmx_mc *mc;

	for (mc = id->mcs; mc; mc = mc->next)
		if (mc->own_qkey && mc->qkey && mc_receives(mc))
			break;
	return mc;
}

/*
 * The Q_Key of a group without one of the program is another than that of
 * rdma_create_qp() in RDMA_PS_IPOIB only: the partition's, which a subnet
 * manager may change.
 */
static bool mc_sets_qkey(const struct cmx_mc *mc)
{
	const struct cmx_id *id = mc->id;

	if (!mc->qkey)
		return false;
	/* The program may have set another one since. */
	if (mc->own_qkey && !mc->attached)
		return true;
	if (id->qkey == mc->qkey)
		return false;
	return mc->own_qkey ||
	       (id->id.ps == RDMA_PS_IPOIB && !qkey_given(id));
}

/* With the id's lock. Returns an error number. */
static int qkey_set(struct cmx_id *id, struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qkey = qkey };
	int err = ibv_modify_qp(qp, &attr, IBV_QP_QKEY);

	if (!err)
		id->qkey = qkey;
	return err;
}

/*
 * With the id's lock. @mc has ended. If the queue pair has the Q_Key that the
 * program gave for it, it gets that of another membership. After an error the
 * next JOIN of that one sets it.
 */
static void qkey_restore(const struct cmx_mc *mc, uint32_t qkey)
{
	struct cmx_id *id = mc->id;
	const struct cmx_mc *other = qkey_given(id);

	if (!mc->own_qkey || !id->id.qp || id->qkey != qkey)
		return;
	if (!other && id->id.ps == RDMA_PS_IPOIB)
		for (other = id->mcs; other; other = other->next)
			if (other->qkey && mc_receives(other))
				break;
	if (other && other->qkey != qkey)
		qkey_set(id, id->id.qp, other->qkey);
}

/*
 * With the id's lock. Returns an error number. A membership that joins again is
 * attached; with another Q_Key that cannot be set it receives nothing.
 */
static int mc_attach(struct cmx_mc *mc)
{
	struct cmx_id *id = mc->id;
	int err = 0;

	if (!id->id.qp)
		return 0;
	if (mc_sets_qkey(mc))
		err = qkey_set(id, id->id.qp, mc->qkey);
	if (err)
		mc_detach_last(mc);
	else if (!mc->attached && !group_attached(id, mc))
		err = ibv_attach_mcast(id->id.qp, &mc->mgid, mc->mlid);
	mc->attached = !err;
	return err;
}

/*
 * A join has succeeded, before the program receives its event. A persistent
 * membership gets here again, possibly with another MLID, and with another Q_Key
 * if that is the partition's.
 */
int cmx_mc_joined(struct cmx_mc *mc, const struct rdma_ud_param *ud)
{
	const union ibv_gid *mgid = &ud->ah_attr.grh.dgid;
	struct cmx_id *id = mc->id;
	int err = 0;

	pthread_mutex_lock(&id->lock);
	if (memcmp(&mc->mgid, mgid, sizeof(*mgid)))
		mc_detach_last(mc);
	mc->mgid = *mgid;
	mc->qkey = ud->qkey;
	if (mc_attachable(mc))
		group_move(mc, ud->ah_attr.dlid);
	mc->mlid = ud->ah_attr.dlid;
	if (mc_attachable(mc))
		err = mc_attach(mc);
	mc->joined = !err;
	pthread_mutex_unlock(&id->lock);
	return rdma_seterrno(err);
}

/* The fabric has ended it. It is detached when the program leaves. */
void cmx_mc_lost(struct cmx_mc *mc)
{
	uint32_t qkey;

	pthread_mutex_lock(&mc->id->lock);
	qkey = mc->qkey;
	mc->qkey = 0;
	qkey_restore(mc, qkey);
	pthread_mutex_unlock(&mc->id->lock);
}

/*
 * With the id's lock. @qp is new, and has @qkey, in RDMA_PS_IPOIB the present
 * one of the partition. Returns an error number.
 */
int cmx_mc_qkey_init(struct cmx_id *id, struct ibv_qp *qp, uint32_t qkey)
{
	const struct cmx_mc *given = qkey_given(id);

	if (given && given->qkey != qkey)
		return qkey_set(id, qp, given->qkey);
	id->qkey = qkey;
	return 0;
}

/* With the id's lock */
void cmx_mc_detach_all(struct cmx_id *id)
{
	struct cmx_mc *mc;

	for (mc = id->mcs; mc; mc = mc->next)
		mc_detach(mc);
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

	pthread_mutex_lock(&id->lock);
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
	pthread_mutex_lock(&id->lock);
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
	pthread_mutex_lock(&id->lock);
	if (mc->kept && first && !cmx_process_alive(mc->process) &&
	    !group_received(id, mc))
		mc_detach(mc);
	if (!mc->kept && mc->events_completed == mc->events_taken)
		mc_drop(id, mc);
	pthread_mutex_unlock(&id->lock);
}

/* After mc_leave_begin(). ENOENT: another process has left. */
static int mc_leave(struct cmx_id *id, struct cmx_mc *mc)
{
	struct rdma_cmx_destroy cmd = {
		.size = sizeof(cmd),
		.handle = mc->handle,
		.owner = cmx_id_owner(id),
	};
	bool copy = cmx_id_inherited(id);
	int err = 0;

	pthread_mutex_lock(&id->lock);
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
	pthread_mutex_lock(&id->lock);
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

/*
 * With the id's lock, before mc_leave(): another thread that destroys the queue
 * pair finds it detached, and one that reads an event attaches it no more.
 *
 * A process does not know the memberships that the joiner of this one has joined
 * since the fork, of the same group on the same queue pair. The joiner detaches
 * it. If that is gone, the process whose LEAVE succeeds does: another one may
 * have joined again.
 */
static void mc_leave_begin(struct cmx_mc *mc)
{
	bool own = mc->process == cmx_process_have();

	if (own) {
		mc_detach_last(mc);
	} else {
		mc->attached = false;
		mc->kept = mc_receives(mc);
	}
	mc->left = true;
	if (own)
		qkey_restore(mc, mc->qkey);
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
	pthread_mutex_lock(&id->lock);
	dying = id->dying;
	if (!dying)
		mc_leave_begin(mc);
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
	pthread_mutex_lock(&id->lock);
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
	pthread_mutex_lock(&id->lock);
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
	pthread_mutex_lock(&id->lock);
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
		pthread_mutex_lock(&id->lock);
		while ((mc = mc_find(id, group)) && mc == id->joining)
			cmx_id_wait(id);
		dying = id->dying;
		if (mc && !dying)
			mc_leave_begin(mc);
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
