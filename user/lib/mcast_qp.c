// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The queue pair of an id with multicast memberships: it is attached for them,
 * and has one Q_Key. A program may attach it, too. All with the id's lock.
 */
#include <string.h>

#include "lib.h"

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

static void qkey_remember(struct cmx_id *id, const struct ibv_qp *qp,
			  uint32_t qkey)
{
	id->qkey = qkey;
	id->qkey_qp = qp;
	id->qkey_qp_num = qp->qp_num;
}

/*
 * The Q_Key of the id's queue pair, 0: unknown. The program may have replaced
 * that by another one, possibly at the same address.
 */
static uint32_t qkey_known(const struct cmx_id *id)
{
	const struct ibv_qp *qp = id->id.qp;

	if (qp != id->qkey_qp || qp->qp_num != id->qkey_qp_num)
		return 0;
	return id->qkey;
}

/*
 * The Q_Key of a group without one of the program is that of rdma_create_qp(),
 * but in RDMA_PS_IPOIB the partition's, which a subnet manager may change. The
 * library does not replace one that it does not know in other port spaces.
 */
static bool mc_sets_qkey(const struct cmx_mc *mc)
{
	const struct cmx_id *id = mc->id;
	uint32_t known = qkey_known(id);

	if (!mc->qkey)
		return false;
	/* The program may have set another one since. */
	if (mc->own_qkey && !mc->attached)
		return true;
	if (known == mc->qkey)
		return false;
	return mc->own_qkey ||
	       ((known || id->id.ps == RDMA_PS_IPOIB) && !qkey_given(id));
}

/* With the id's lock. Returns an error number. */
static int qkey_set(struct cmx_id *id, struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qkey = qkey };
	int err = ibv_modify_qp(qp, &attr, IBV_QP_QKEY);

	if (!err)
		qkey_remember(id, qp, qkey);
	return err;
}

/*
 * With the id's lock. @mc has ended. If the queue pair has the Q_Key that the
 * program gave for it, and no other membership needs that, it gets one of
 * another membership, or that of groups without one. After an error the next
 * JOIN sets it.
 */
static void qkey_restore(const struct cmx_mc *mc, uint32_t qkey)
{
	struct cmx_id *id = mc->id;
	uint32_t to = id->default_qkey;
	const struct cmx_mc *other;

	if (!mc->own_qkey || !id->id.qp || !qkey || qkey_known(id) != qkey)
		return;
	for (other = id->mcs; other; other = other->next) {
		if (!other->own_qkey || !other->qkey || !mc_receives(other))
			continue;
		to = other->qkey;
		if (to == qkey)
			return;
	}
	if (to && to != qkey)
		qkey_set(id, id->id.qp, to);
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
	if (err) {
		mc_detach_last(mc);
	} else if (!mc->attached && !group_attached(id, mc)) {
		/* A child that is forked in between must detach it. */
		mc->joined = true;
		err = ibv_attach_mcast(id->id.qp, &mc->mgid, mc->mlid);
	}
	mc->attached = !err;
	return err;
}

/*
 * With the id's lock. JOIN of a group without a Q_Key of the program has @qkey,
 * the partition's. In RDMA_PS_IPOIB the group may be lost, and rdma_create_qp()
 * may have set a newer one since: then rdma_cm has that. Returns the newer one.
 *
 * The handle of an id that is being destroyed may be another id's. That id
 * keeps the last one: its queue pair may be that of the id's creator.
 */
static uint32_t qkey_newer(struct cmx_id *id, uint32_t qkey)
{
	uint32_t last = id->default_qkey;

	if (id->id.ps != RDMA_PS_IPOIB || !last || qkey == last)
		return qkey;
	return id->ended || cmx_qp_init_qkey(id) == last ? last : qkey;
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
	uint32_t qkey = ud->qkey;
	int err = 0;

	cmx_id_lock(id);
	if (!mc->own_qkey && qkey)
		id->default_qkey = qkey = qkey_newer(id, qkey);
	/* Another thread has read its end, or is leaving, as it was joined. */
	if (mc->lost || (mc->left && mc->joined))
		goto unlock;
	if (memcmp(&mc->mgid, mgid, sizeof(*mgid)))
		mc_detach_last(mc);
	mc->mgid = *mgid;
	mc->qkey = qkey;
	if (mc_attachable(mc))
		group_move(mc, ud->ah_attr.dlid);
	mc->mlid = ud->ah_attr.dlid;
	if (mc_attachable(mc))
		err = mc_attach(mc);
	mc->joined = !err;
	if (err)
		qkey_restore(mc, mc->qkey);
unlock:
	pthread_mutex_unlock(&id->lock);
	return rdma_seterrno(err);
}

/*
 * The fabric has ended it. It is detached when the program leaves. A membership
 * that only the joiner of this one knows may need the Q_Key.
 */
void cmx_mc_lost(struct cmx_mc *mc)
{
	bool own = mc->process == cmx_process_have();
	uint32_t qkey;

	cmx_id_lock(mc->id);
	qkey = mc->qkey;
	mc->qkey = 0;
	mc->lost = true;
	if (own || !cmx_process_alive(mc->process))
		qkey_restore(mc, qkey);
	pthread_mutex_unlock(&mc->id->lock);
}

/*
 * With the id's lock. @qp is new, a datagram QP, and has @qkey, in RDMA_PS_IPOIB
 * the present one of the partition, which may be 0. @before is the id's
 * default_qkey before that was read. A JOIN that was read since has a newer one,
 * or an older one. Returns an error number.
 */
int cmx_mc_qkey_init(struct cmx_id *id, struct ibv_qp *qp, uint32_t qkey,
		     uint32_t before)
{
	const struct cmx_mc *given = qkey_given(id);
	uint32_t to;

	if (id->default_qkey == before)
		id->default_qkey = qkey;
	else if (id->id.ps == RDMA_PS_IPOIB)
		id->default_qkey = cmx_qp_init_qkey(id) ?: id->default_qkey;
	to = given ? given->qkey : id->default_qkey;
	if (to && to != qkey)
		return qkey_set(id, qp, to);
	qkey_remember(id, qp, qkey);
	return 0;
}

/* With the id's lock */
void cmx_mc_detach_all(struct cmx_id *id)
{
	struct cmx_mc *mc;

	for (mc = id->mcs; mc; mc = mc->next)
		mc_detach(mc);
}

/*
 * With the id's lock, before LEAVE: another thread that destroys the queue
 * pair finds it detached, and one that reads an event attaches it no more.
 *
 * A process does not know the memberships that the joiner of this one has joined
 * since the fork, of the same group on the same queue pair. The joiner detaches
 * it. If that is gone, the process whose LEAVE succeeds does: another one may
 * have joined again.
 */
void cmx_mc_leave_begin(struct cmx_mc *mc)
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

/* With the id's lock. LEAVE has ended the membership of another process. */
void cmx_mc_leave_end(struct cmx_mc *mc)
{
	if (!mc->kept || cmx_process_alive(mc->process))
		return;
	/* The QP is attached for another membership now. */
	if (group_received(mc->id, mc))
		mc->kept = false;
	else
		mc_detach(mc);
	qkey_restore(mc, mc->qkey);
}
