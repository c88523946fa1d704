// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The commands of the connection manager. Each locks its id, reserves the
 * events that end it, and calls rdma_cm.
 */
#include <linux/memcontrol.h>
#include <linux/string.h>
#include <linux/wait_bit.h>
#include <net/ipv6.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_marshall.h>
#include <rdma/ib_sa.h>

#include "ucmx.h"

/* Timeout of a work item of ib_cm; a removed device has no such item. */
#define UCMX_ESTABLISH_TIMEOUT	(5 * HZ)

/* True if rdma_cm binds an id with this address to a device */
static bool ucmx_addr_has_device(const union rdma_cmx_sockaddr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return !ipv4_is_zeronet(addr->in.sin_addr.s_addr) &&
		       !ipv4_is_loopback(addr->in.sin_addr.s_addr);
	case AF_INET6:
		return !ipv6_addr_any(&addr->in6.sin6_addr) &&
		       !ipv6_addr_loopback(&addr->in6.sin6_addr);
	case AF_IB:
		return !ib_addr_any(&addr->ib.sib_addr) &&
		       !ib_addr_loopback(&addr->ib.sib_addr);
	default:
		return false;
	}
}

/*
 * Resolves the addresses of an id that rdma_cm binds first. An id without a
 * device was not bound: only a bind finds a port in use, or, for an address of
 * a device, fails and leaves none.
 */
static int ucmx_addr_start(struct ucmx_id *id, union rdma_cmx_sockaddr *src,
			   union rdma_cmx_sockaddr *dst, u32 timeout_ms)
{
	bool unbound = ucmx_cm_is_unbound(id->cm);
	int ret;

	ret = rdma_resolve_addr(id->cm, src->sa.sa_family ? &src->sa : NULL,
				&dst->sa, timeout_ms);
	if (ret && unbound && !id->cm->device &&
	    (ret == -EADDRINUSE || ucmx_addr_has_device(src)))
		ucmx_cm_bind_undo(id->cm);
	return ret;
}

int ucmx_resolve_addr(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_resolve_addr *arg = cmd->buf;
	union rdma_cmx_sockaddr src, dst;
	struct ucmx_id *id;
	int src_len, ret;

	src_len = ucmx_addr_get(&src, &arg->src);
	if (arg->reserved || src_len < 0 || ucmx_addr_get(&dst, &arg->dst) <= 0)
		return -EINVAL;
	ret = ucmx_source_check(&src);
	if (ret)
		return ret;
	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ucmx_event_reserve(id, UCMX_SLOT_ADDR);
	if (!ret)
		ret = ucmx_addr_start(id, &src, &dst, arg->timeout_ms);
	ucmx_id_unlock(id);
	/* The routing table returns ENOBUFS without memory. */
	return ret == -ENOBUFS ? -ENOMEM : ret;
}

/* A cached path replaces the query. */
static int ucmx_route_start(struct ucmx_id *id, u32 timeout_ms)
{
	struct rdma_cm_id *cm = id->cm;

	if (cmx_route_is_queried(&id->route))
		return -EINVAL;
	/* Before the state change that allows CONNECT */
	WRITE_ONCE(id->path_cached, true);
	if (timeout_ms && cmx_route_is_addressed(&id->route) &&
	    rdma_cap_ib_sa(cm->device, cm->port_num) &&
	    !rdma_cmx_set_cached_path_tos(cm, id->tos)) {
		ucmx_route_resolved(id);
		return 0;
	}
	return rdma_cmx_route_start(cm, &id->route, timeout_ms, id->tos,
				    KUIDT_INIT(id->file->user->index));
}

int ucmx_resolve_route(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_resolve_route *arg = cmd->buf;
	struct ucmx_id *id;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ucmx_event_reserve(id, UCMX_SLOT_ROUTE);
	if (!ret)
		ret = ucmx_route_start(id, arg->timeout_ms);
	ucmx_id_unlock(id);
	return ret;
}

/*
 * ib_sa does not initialise what it has of a port without multicast, which a
 * device may have beside another one. rdma_cm takes its Q_Key.
 */
static bool ucmx_has_qkey(const struct rdma_cm_id *cm)
{
	return cm->ps != RDMA_PS_IPOIB ||
	       rdma_cap_ib_mcast(cm->device, cm->port_num);
}

/*
 * In RDMA_PS_IPOIB the Q_Key is that of the broadcast group, which may change.
 * rdma_cm before Linux 6.1.25 returns the id's first one.
 */
static void ucmx_present_qkey(struct rdma_cm_id *cm, u32 *qkey)
{
	struct ib_sa_mcmember_rec rec;
	union ib_gid mgid;

	ib_addr_get_mgid(&cm->route.addr.dev_addr, &mgid);
	if (!ib_sa_get_mcmember_rec(cm->device, cm->port_num, &mgid, &rec))
		*qkey = be32_to_cpu(rec.qkey);
}

int ucmx_init_qp_attr(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_init_qp_attr *arg = cmd->buf;
	struct ib_qp_attr attr = { .qp_state = arg->qp_state };
	struct ucmx_id *id;
	int mask = 0, ret;

	if (arg->reserved || arg->qp_state > IB_QPS_ERR)
		return -EINVAL;
	id = ucmx_id_lock_any(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* First: no state of another id with this handle is to be seen. */
	ret = ucmx_uid_is(id->uid, arg->uid) ? ucmx_id_bound(id) : -ENOENT;
	if (!ret)
		ret = ucmx_has_qkey(id->cm) ?
		      rdma_init_qp_attr(id->cm, &attr, &mask) : -ENODEV;
	if (!ret) {
		if ((mask & IB_QP_QKEY) && id->cm->ps == RDMA_PS_IPOIB)
			ucmx_present_qkey(id->cm, &attr.qkey);
		memset(&arg->attr, 0, sizeof(arg->attr));
		ib_copy_qp_attr_to_user(id->cm->device, &arg->attr, &attr);
		arg->attr.qp_attr_mask = mask;
	}
	ucmx_id_unlock(id);
	return ret ?: ucmx_respond(cmd);
}

int ucmx_conn_qp_attr(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_conn_qp_attr *arg = cmd->buf;
	struct ib_qp_attr attr = {};
	int mask[3] = {}, ret, i;
	struct ucmx_id *id;

	if (arg->reserved)
		return -EINVAL;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ucmx_has_qkey(id->cm) ? 0 : -ENODEV;
	for (i = 0; !ret && i < ARRAY_SIZE(mask); i++) {
		attr.qp_state = IB_QPS_INIT + i;
		ret = rdma_init_qp_attr(id->cm, &attr, &mask[i]);
	}
	if (!ret) {
		attr.qp_state = 0;
		memset(&arg->attr, 0, sizeof(arg->attr));
		ib_copy_qp_attr_to_user(id->cm->device, &arg->attr, &attr);
	}
	ucmx_id_unlock(id);
	if (ret)
		return ret;
	arg->init_mask = mask[0];
	arg->rtr_mask = mask[1];
	arg->rts_mask = mask[2];
	return ucmx_respond(cmd);
}

/* Without AF_IB the CM uses its default Q_Key. */
static void ucmx_conn_qkey(struct rdma_cm_id *cm, struct rdma_conn_param *param)
{
	if (cm->route.addr.src_addr.ss_family != AF_IB)
		param->qkey = 0;
}

/*
 * TIMEWAIT_EXIT is not reserved: most ids are destroyed before it arrives, and
 * no caller depends on it.
 */
static int ucmx_reserve_conn(struct ucmx_id *id)
{
	return ucmx_event_reserve(id, UCMX_SLOT_CONN) ?:
	       ucmx_event_reserve(id, UCMX_SLOT_DISCONNECT);
}

/*
 * While a request or a reply is outstanding, ACCEPT and REJECT are invalid. The
 * CM would lose track of the message, but not cancel its MAD. The end of the
 * id, and with it the removal of the device, would wait for the MAD's timeout:
 * more than a minute, or, for a reply, a time that the peer has chosen.
 */
static int ucmx_reply_check(struct ucmx_id *id)
{
	return READ_ONCE(id->cm_outstanding) ? -EINVAL : 0;
}

int ucmx_connect(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_connect *arg = cmd->buf;
	struct rdma_ucm_ece ece = {
		.vendor_id = arg->param.ece_vendor_id,
		.attr_mod = arg->param.ece_attr_mod,
	};
	struct rdma_conn_param param;
	u8 data[U8_MAX] CMX_UNINIT;
	struct ucmx_id *id;
	bool limited;
	int ret;

	if (arg->reserved || arg->uid)
		return -EINVAL;
	if (arg->flags)
		return -EOPNOTSUPP;
	ret = ucmx_conn_param(&param, &arg->param);
	if (ret)
		return ret;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ucmx_reserve_conn(id);
	if (!ret)
		ret = ucmx_any_private_data(id, &param, data);
	if (!ret) {
		ucmx_conn_qkey(id->cm, &param);
		limited = ucmx_any_connects(id);
		ret = ucmx_connect_start(id, &param, &ece);
		/* If the deadline has passed, its event reports the failure. */
		if (ret && limited && !ucmx_any_replied(id))
			ret = 0;
	}
	ucmx_id_unlock(id);
	return ret;
}

/*
 * The id's mutex is held, and it gets *@new unless it has one. The lock orders
 * it before the state by which rdma_cm starts to report requests.
 */
static struct ucmx_listener *ucmx_listener(struct ucmx_id *id,
					   struct ucmx_listener **new)
{
	if (!id->listener) {
		spin_lock(&id->lock);
		id->listener = *new;
		spin_unlock(&id->lock);
		*new = NULL;
	}
	return id->listener;
}

int ucmx_listen(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_listen *arg = cmd->buf;
	unsigned int max = READ_ONCE(ucmx_max_backlog);
	struct ucmx_listener *l, *new;
	struct ucmx_id *id;
	int old, ret;

	if (arg->reserved)
		return -EINVAL;
	if (arg->backlog <= 0 || arg->backlog > max)
		arg->backlog = clamp_t(unsigned int, max, 1, INT_MAX);
	/* The removal of the device waits for the mutex. */
	new = ucmx_listener_alloc();
	if (!new)
		return -ENOMEM;
	id = ucmx_id_lock(cmd->file, arg->id);
	if (IS_ERR(id)) {
		ucmx_listener_free(new);
		return PTR_ERR(id);
	}
	l = ucmx_listener(id, &new);
	/* Requests may arrive before rdma_listen() returns. */
	old = l->backlog;
	WRITE_ONCE(l->backlog, arg->backlog);
	ret = rdma_listen(id->cm, arg->backlog);
	if (ret)
		WRITE_ONCE(l->backlog, old);
	ucmx_id_unlock(id);
	ucmx_listener_free(new);
	return ret;
}

int ucmx_accept(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_connect *arg = cmd->buf;
	struct rdma_ucm_ece ece = {
		.vendor_id = arg->param.ece_vendor_id,
		.attr_mod = arg->param.ece_attr_mod,
	};
	struct rdma_conn_param param;
	bool no_param;
	struct ucmx_id *id;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	if (arg->flags & ~(u32)RDMA_CMX_ACCEPT_NO_PARAM)
		return -EOPNOTSUPP;
	no_param = arg->flags & RDMA_CMX_ACCEPT_NO_PARAM;
	if (!no_param)
		ret = ucmx_conn_param(&param, &arg->param);
	else
		ret = memchr_inv(&arg->param, 0, sizeof(arg->param)) ?
		      -EINVAL : 0;
	if (ret)
		return ret;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = -EINVAL;
	if (id->hold && !arg->uid)
		goto unlock;
	ret = ucmx_reply_check(id);
	if (!ret && !ucmx_has_qkey(id->cm))
		ret = -ENODEV;
	/* An RTU has no event, and CONNECT has reserved DISCONNECTED. */
	if (!ret && id->hold)
		ret = ucmx_reserve_conn(id);
	if (ret)
		goto unlock;

	/* The handler lock keeps events out until the new cookie is set. */
	rdma_lock_handler(id->cm);
	if (no_param) {
		ret = rdma_accept_ece(id->cm, NULL, &ece);
	} else {
		ucmx_conn_qkey(id->cm, &param);
		ret = rdma_accept_ece(id->cm, &param, &ece);
	}
	if (!ret) {
		/* The reply is outstanding until ESTABLISHED. */
		if (id->hold && id->cm->qp_type != IB_QPT_UD)
			WRITE_ONCE(id->cm_outstanding, true);
		if (arg->uid)
			WRITE_ONCE(id->uid, arg->uid);
	}
	rdma_unlock_handler(id->cm);
	/* Any number of events, for which no handler may wait */
	if (!ret)
		ucmx_event_unhold(id);
unlock:
	ucmx_id_unlock(id);
	return ret;
}

int ucmx_reject(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_reject *arg = cmd->buf;
	struct ucmx_id *id;
	int ret;

	if (arg->reserved || arg->reserved2)
		return -EINVAL;
	if (!arg->reason)
		arg->reason = IB_CM_REJ_CONSUMER_DEFINED;
	if (arg->reason != IB_CM_REJ_CONSUMER_DEFINED &&
	    arg->reason != IB_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED)
		return -EINVAL;
	ret = ucmx_private_data_check(arg->private_data, arg->private_data_len);
	if (ret)
		return ret;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ucmx_reply_check(id);
	if (!ret)
		ret = rdma_reject(id->cm, arg->private_data,
				  arg->private_data_len, arg->reason);
	ucmx_id_unlock(id);
	return ret;
}

int ucmx_disconnect(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_arg *arg = cmd->buf;
	struct ucmx_id *id;
	int ret;

	if (arg->reserved || arg->event)
		return -EINVAL;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	/* A connect that waits for a slot has no connection. It fails. */
	ret = ucmx_connect_stop(id) ? 0 : rdma_disconnect(id->cm);
	ucmx_id_unlock(id);
	return ret;
}

/*
 * rdma_cm has no alternate paths. On IB_EVENT_PATH_MIG ib_cm would replace the
 * active path by its empty alternate path. The peer would become unreachable,
 * and a reference to the GID would leak.
 */
static int ucmx_notify_locked(struct ucmx_id *id, u32 event)
{
	int ret;

	if (event == IB_EVENT_PATH_MIG)
		return 0;
	ret = rdma_notify(id->cm, event);
	/*
	 * The CM changes the state to established now. A work item of it
	 * cancels the reply and reports the event. A disconnect or the end of
	 * the id before that would make the CM lose track of the reply's MAD.
	 */
	if (!ret && event == IB_EVENT_COMM_EST &&
	    rdma_cap_ib_cm(id->cm->device, id->cm->port_num))
		wait_var_event_timeout(&id->cm_outstanding,
				       !READ_ONCE(id->cm_outstanding),
				       UCMX_ESTABLISH_TIMEOUT);
	return ret;
}

int ucmx_notify(struct ucmx_cmd *cmd)
{
	struct rdma_cmx_id_arg *arg = cmd->buf;
	struct ucmx_id *id;
	int ret;

	if (arg->reserved)
		return -EINVAL;
	id = ucmx_id_lock_dev(cmd->file, arg->id);
	if (IS_ERR(id))
		return PTR_ERR(id);
	ret = ucmx_notify_locked(id, arg->event);
	ucmx_id_unlock(id);
	return ret;
}
