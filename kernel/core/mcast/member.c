// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The life of a membership: joined, reported, lost, joined again.
 *
 * All of it happens in the membership's work item, which never runs twice at
 * once, so most of struct cmx_member needs no lock. The work takes the id's
 * handler lock to call the consumer; therefore nobody may leave within that
 * handler. Leaving marks the membership dead, which keeps the work from being
 * queued again, waits for the work, and then has the membership to itself.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "mcast/mcast.h"
#include "mcast/trace.h"

/* Between two tries of a persistent membership, in milliseconds. */
#define CMX_BACKOFF_MIN		20
#define CMX_BACKOFF_MAX		5000

static struct workqueue_struct *cmx_member_wq;

/* Let the work run after @ms milliseconds, unless it is too late. */
void cmx_member_kick(struct cmx_member *m, unsigned int ms)
{
	spin_lock(&m->lock);
	if (!m->dead)
		mod_delayed_work(cmx_member_wq, &m->work, msecs_to_jiffies(ms));
	spin_unlock(&m->lock);
}

/* On RoCE it has joined before the work runs. */
static int cmx_member_start(struct cmx_member *m)
{
	return m->roce ? 0 : cmx_mcast_ib_start(m);
}

static void cmx_member_stop(struct cmx_member *m)
{
	if (m->roce)
		cmx_mcast_ip_leave(&m->ip);
	else
		cmx_mcast_ib_stop(m);
}

static void cmx_member_detach(struct cmx_member *m)
{
	if (m->attached)
		ib_detach_mcast(m->qp, &m->attached_gid, m->attached_lid);
	m->attached = false;
}

/* A group that was joined again may have another MLID. */
static int cmx_member_attach(struct cmx_member *m)
{
	struct ib_qp_attr attr = { .qkey = be32_to_cpu(m->rec.qkey) };
	u16 lid = be16_to_cpu(m->rec.mlid);
	int ret;

	if (!m->qp || m->send_only)
		return 0;
	if (m->attached && m->attached_lid == lid &&
	    !memcmp(&m->attached_gid, &m->rec.mgid, sizeof(m->rec.mgid)))
		return 0;
	cmx_member_detach(m);
	if (m->set_qkey) {
		ret = ib_modify_qp(m->qp, &attr, IB_QP_QKEY);
		if (ret)
			return ret;
	}
	ret = ib_attach_mcast(m->qp, &m->rec.mgid, lid);
	if (ret)
		return ret;
	m->attached = true;
	m->attached_gid = m->rec.mgid;
	m->attached_lid = lid;
	return 0;
}

static int cmx_member_ah(struct cmx_member *m, struct rdma_ah_attr *ah_attr)
{
	struct net_device *ndev = NULL;
	enum ib_gid_type type = IB_GID_TYPE_IB;
	int ret;

	if (m->roce) {
		ndev = cmx_mcast_netdev(m->id, m->ifindex);
		type = m->gid_type;
	}
	ret = ib_init_ah_from_mcmember(m->id->device, m->id->port_num, &m->rec,
				       ndev, type, ah_attr);
	dev_put(ndev);
	/* The id's GID has gone since it was bound. */
	return ret ? -EADDRNOTAVAIL : 0;
}

static void cmx_member_report(struct cmx_member *m, struct rdma_cm_event *event)
{
	event->param.ud.private_data = m->context;
	trace_cmx_member(m->id, &m->addr, event->status);
	rdma_lock_handler(m->id);
	m->id->event_handler(m->id, event);
	rdma_unlock_handler(m->id);
}

static int cmx_member_joined(struct cmx_member *m)
{
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_MULTICAST_JOIN };
	struct rdma_ud_param *ud = &event.param.ud;
	int ret;

	ret = cmx_member_ah(m, &ud->ah_attr);
	if (ret)
		return ret;
	ret = cmx_member_attach(m);
	if (ret)
		goto destroy_ah;
	if (m->was_joined)
		cmx_stat_inc(rejoins);
	m->state = CMX_MEMBER_JOINED;
	m->was_joined = true;
	m->backoff = CMX_BACKOFF_MIN;
	ud->qp_num = 0xffffff;
	ud->qkey = be32_to_cpu(m->rec.qkey);
	cmx_member_report(m, &event);
destroy_ah:
	rdma_destroy_ah_attr(&ud->ah_attr);
	return ret;
}

static void cmx_member_failed(struct cmx_member *m, int status)
{
	struct rdma_cm_event event = {
		.event = RDMA_CM_EVENT_MULTICAST_ERROR,
		.status = status,
	};

	cmx_member_stop(m);
	if (m->persistent && m->was_joined) {
		m->state = CMX_MEMBER_IDLE;
		cmx_member_kick(m, m->backoff);
		m->backoff = min(2 * m->backoff, CMX_BACKOFF_MAX);
		return;
	}
	cmx_member_detach(m);
	m->state = CMX_MEMBER_FAILED;
	cmx_member_report(m, &event);
}

static void cmx_member_work(struct work_struct *work)
{
	struct cmx_member *m =
		container_of(to_delayed_work(work), struct cmx_member, work);
	int status;

	if (m->state == CMX_MEMBER_IDLE) {
		m->state = CMX_MEMBER_BUSY;
		status = cmx_member_start(m);
	} else if (m->roce || !cmx_mcast_ib_event(m, &status)) {
		return;
	}
	if (status == -EINPROGRESS)
		return;
	if (!status)
		status = cmx_member_joined(m);
	if (status)
		cmx_member_failed(m, status);
}

struct cmx_member *cmx_member_alloc(struct rdma_cm_id *id,
				    const struct rdma_cmx_join_attr *attr,
				    void *context)
{
	struct cmx_member *m;

	m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);
	if (!m)
		return NULL;
	refcount_set(&m->ref, 1);
	spin_lock_init(&m->lock);
	INIT_DELAYED_WORK(&m->work, cmx_member_work);
	m->backoff = CMX_BACKOFF_MIN;
	m->id = id;
	m->qp = id->qp;
	m->context = context;
	m->addr = *attr->addr;
	m->send_only = attr->join_flags ==
		       RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	m->persistent = attr->flags & RDMA_CMX_JOIN_PERSISTENT;
	m->set_qkey = attr->param.mask & RDMA_CMX_MC_QKEY;
	cmx_stat_inc(live_members);
	return m;
}

void cmx_member_put(struct cmx_member *m)
{
	if (!refcount_dec_and_test(&m->ref))
		return;
	kfree(m);
	cmx_stat_dec(live_members);
}

/* Leave; the caller has taken it out of the table. */
void cmx_member_end(struct cmx_member *m)
{
	spin_lock(&m->lock);
	m->dead = true;
	spin_unlock(&m->lock);
	cancel_delayed_work_sync(&m->work);
	cmx_member_detach(m);
	cmx_member_stop(m);
	cmx_member_put(m);
}

int cmx_member_init(void)
{
	int ret = cmx_mcast_ip_init();

	if (ret)
		return ret;
	cmx_member_wq = alloc_workqueue("rdma_cmx_mc",
					WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (cmx_member_wq)
		return 0;
	cmx_mcast_ip_exit();
	return -ENOMEM;
}

void cmx_member_exit(void)
{
	destroy_workqueue(cmx_member_wq);
	cmx_mcast_ip_exit();
}
