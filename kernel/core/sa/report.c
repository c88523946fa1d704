// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Reports of an SA: a GID came into service or went out of service, or paths
 * have changed. A report drops the cached paths to its GIDs. It is confirmed,
 * or the SA would send it again.
 *
 * Any node can send such a MAD to QP 1. It is accepted only from QP 1 of the
 * LID of the SM, which no other port can use as source, in the partition of the
 * SA. Others have no effect and no response. But the SM forwards the traps of
 * any node. A report costs the paths that it drops, and a report of the port's
 * GID, or of paths without a GID, the cache, once a minute. Only its response
 * is queued, up to a limit.
 *
 * Runs in work items of ib_mad, one at a time for a port. No locks.
 */
#include <rdma/ib_cache.h>

#include "sa/internal.h"
#include "sa/trace.h"
#include "sa/wire.h"

/* Maximum responses that are not sent yet; a report without one is repeated. */
#define CMX_SA_MAX_RESPONSES 32

/* Minimum time between events by reports of the port's GIDs */
#define CMX_SA_REPORT_OWN	(60 * HZ)

/* Sends @buf to @ah. Consumes both. */
void cmx_sa_report_post(struct cmx_sa_port *port, struct ib_mad_send_buf *buf,
			struct cmx_sa_ah *ah)
{
	buf->ah = ah->ah;
	buf->context[0] = ah;
	atomic_inc(&port->inform.responses);
	cmx_stat_inc(live_sa_mads);
	if (!ib_post_send_mad(buf, NULL))
		return;
	cmx_stat_dec(live_sa_mads);
	atomic_dec(&port->inform.responses);
	ib_free_send_mad(buf);
	cmx_sa_ah_put(ah);
}

void cmx_sa_report_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	struct cmx_sa_port *port = agent->context;

	cmx_sa_ah_put(wc->send_buf->context[0]);
	ib_free_send_mad(wc->send_buf);
	atomic_dec(&port->inform.responses);
	cmx_stat_dec(live_sa_mads);
}

/* True if it is from the SA, and valid */
static bool cmx_sa_report_is_valid(const struct cmx_sa_port *port,
				   const struct cmx_sa_ah *ah,
				   const struct ib_mad_recv_wc *wc)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;

	return cmx_sa_port_is_source(port, ah, wc->wc) &&
	       mad->mad_hdr.method == IB_MGMT_METHOD_REPORT &&
	       mad->mad_hdr.attr_id == cpu_to_be16(IB_SA_ATTR_NOTICE) &&
	       !(mad->rmpp_hdr.rmpp_rtime_flags & IB_MGMT_RMPP_FLAG_ACTIVE) &&
	       wc->mad_len >= IB_MGMT_SA_HDR + sizeof(struct cmx_sa_notice);
}

/* The response is the report with another method. */
static void cmx_sa_report_respond(struct cmx_sa_port *port,
				  struct ib_mad_agent *agent,
				  struct cmx_sa_ah *ah,
				  const struct ib_mad_recv_wc *wc)
{
	struct ib_mad_send_buf *buf;
	struct ib_sa_mad *mad;

	if (atomic_read(&port->inform.responses) >= CMX_SA_MAX_RESPONSES)
		return;
	buf = ib_create_send_mad(agent, 1, wc->wc->pkey_index, 0,
				 IB_MGMT_SA_HDR, IB_MGMT_SA_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf))
		return;
	mad = buf->mad;
	memcpy(mad, wc->recv_buf.mad, sizeof(*mad));
	mad->mad_hdr.method = IB_MGMT_METHOD_REPORT_RESP;
	mad->mad_hdr.status = 0;
	refcount_inc(&ah->ref);
	cmx_sa_report_post(port, buf, ah);
}

/* True if @gid is one of the port's */
static bool cmx_sa_report_is_own(const struct cmx_sa_port *port,
				 const union ib_gid *gid)
{
	const struct ib_gid_attr *attr;

	attr = rdma_find_gid_by_port(port->dev, gid, IB_GID_TYPE_IB, port->num,
				     NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return true;
}

/*
 * A report of the port's GID, or of unknown paths, is an event of the port: it
 * clears the cache and renews the subscriptions. Any node can make the SM send
 * one. So the first one is executed without delay, and later ones are merged
 * for some time. An SM that has lost the port for a while has an event for
 * that, too. Calls for a port are serialised.
 */
static void cmx_sa_report_own(struct cmx_sa_port *port)
{
	struct cmx_sa_inform *in = &port->inform;
	long left = in->own_due - jiffies;

	/* A time long ago may look like the future. */
	left = clamp_t(long, left, 0, CMX_SA_REPORT_OWN);
	if (queue_delayed_work(system_unbound_wq, &in->own, left))
		in->own_due = jiffies + left + CMX_SA_REPORT_OWN;
}

/* The paths to @raw have changed. */
static void cmx_sa_report_drop(struct cmx_sa_port *port,
			       const struct ib_mad_recv_wc *wc, u16 trap,
			       const u8 *raw)
{
	unsigned int dropped;
	union ib_gid gid;

	memcpy(&gid, raw, sizeof(gid));
	dropped = cmx_sa_gid_changed(port, &gid);
	trace_cmx_sa_report(port, wc->wc, trap, &gid, dropped);
}

/*
 * Paths have changed. Those to the destination are dropped. So are those to the
 * source, if it is another port: a path may be used in both directions. Without
 * a GID of another port the report may be of any path of the port.
 */
static void cmx_sa_report_paths(struct cmx_sa_port *port,
				const struct ib_mad_recv_wc *wc, u16 trap)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;
	const struct cmx_sa_path_notice *notice = (const void *)mad->data;
	const u8 *dgid = notice->path + CMX_SA_PATH_DGID;
	const u8 *sgid = notice->path + CMX_SA_PATH_SGID;
	__be64 mask = 0;
	union ib_gid gid;

	cmx_stat_inc(sa_reports_paths);
	if (wc->mad_len >= IB_MGMT_SA_HDR + sizeof(*notice))
		mask = notice->mask;
	if (mask & (__force __be64)IB_SA_PATH_REC_SGID) {
		memcpy(&gid, sgid, sizeof(gid));
		if (cmx_sa_report_is_own(port, &gid))
			mask &= ~(__force __be64)IB_SA_PATH_REC_SGID;
		else
			cmx_sa_report_drop(port, wc, trap, sgid);
	}
	if (mask & (__force __be64)IB_SA_PATH_REC_DGID)
		cmx_sa_report_drop(port, wc, trap, dgid);
	if (mask & (__force __be64)(IB_SA_PATH_REC_SGID | IB_SA_PATH_REC_DGID))
		return;
	trace_cmx_sa_report(port, wc->wc, trap, &zgid, 0);
	cmx_sa_report_own(port);
}

/* Returns false if the report is ignored. */
static bool cmx_sa_report_apply(struct cmx_sa_port *port,
				const struct ib_mad_recv_wc *wc)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;
	const struct cmx_sa_notice *notice = (const void *)mad->data;
	u16 trap = be16_to_cpu(notice->trap);
	union ib_gid gid;

	if (!(notice->type & CMX_SA_NOTICE_GENERIC))
		return false;
	switch (trap) {
	case CMX_SA_TRAP_GID_IN:
	case CMX_SA_TRAP_GID_OUT:
		cmx_sa_report_drop(port, wc, trap, notice->gid);
		memcpy(&gid, notice->gid, sizeof(gid));
		/* All paths start there. */
		if (cmx_sa_report_is_own(port, &gid))
			cmx_sa_report_own(port);
		break;
	case CMX_SA_TRAP_UNPATH:
	case CMX_SA_TRAP_REPATH:
		cmx_sa_report_paths(port, wc, trap);
		break;
	default:
		return false;
	}
	cmx_stat_inc(sa_reports);
	return true;
}

static void cmx_sa_report_ignored(const struct cmx_sa_port *port,
				  const struct ib_wc *wc)
{
	cmx_stat_inc(sa_reports_ignored);
	trace_cmx_sa_report(port, wc, 0, &zgid, 0);
}

void cmx_sa_report_received(struct ib_mad_agent *agent,
			    struct ib_mad_send_buf *buf,
			    struct ib_mad_recv_wc *wc)
{
	struct cmx_sa_port *port = agent->context;
	struct cmx_sa_ah *ah;
	u32 generation;

	ah = cmx_sa_ah_get(port, &generation);
	if (!ah || !cmx_sa_report_is_valid(port, ah, wc)) {
		cmx_sa_report_ignored(port, wc->wc);
	} else {
		/*
		 * The paths to the GID are dropped before the response is sent,
		 * after which the SA does not repeat the report. An event of a
		 * GID of the port is only queued: its work item runs later.
		 */
		if (!cmx_sa_report_apply(port, wc))
			cmx_sa_report_ignored(port, wc->wc);
		cmx_sa_report_respond(port, agent, ah, wc);
	}
	cmx_sa_ah_put(ah);
	ib_free_recv_mad(wc);
}
