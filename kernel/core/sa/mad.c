// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One MAD of a query: created, sent, received, checked.
 *
 * A retry is a separate MAD with a new transaction id. Earlier ids stay valid,
 * and the first response is used. A retry with the same id, as in ib_mad, fails
 * for a response of several segments: when some of them are lost, the SA starts
 * again, and the receiver, which still has the first half, aborts the new
 * response, for 40 s.
 *
 * For the same reason the service record query of ib_sa, which 6.18 and later
 * have with RMPP, is not used: ib_mad does its retries. Each of its queries has
 * one caller. Here callers share a query, and outstanding ones have a limit.
 *
 * A MAD is on the list of its lookup, which cmx_sa_lock guards, from before its
 * post until ib_mad returns it, so it can be cancelled there.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "sa/internal.h"
#include "sa/wire.h"
#include "sa/trace.h"

static unsigned int sa_max_records = 8192;
module_param(sa_max_records, cmx_positive, 0644);
MODULE_PARM_DESC(sa_max_records,
		 "Maximum records in an SA response; a longer one fails with EOVERFLOW (default 8192)");

struct cmx_sa_mad {
	struct list_head node;
	struct cmx_sa_lookup *lookup;
	struct cmx_sa_ah *ah;
	struct ib_mad_send_buf *buf;
	unsigned long sent_at;
	u32 generation;
};

struct cmx_sa_answer *cmx_sa_answer_alloc(u32 count, u32 stride)
{
	struct cmx_sa_answer *answer;
	size_t len = (size_t)count * stride;

	answer = kvmalloc(struct_size(answer, data, len), GFP_KERNEL);
	if (!answer)
		return NULL;
	refcount_set(&answer->ref, 1);
	answer->count = count;
	answer->stride = stride;
	answer->len = len;
	cmx_stat_inc(live_sa_answers);
	return answer;
}

/* May sleep */
void cmx_sa_answer_put(struct cmx_sa_answer *answer)
{
	if (answer && refcount_dec_and_test(&answer->ref)) {
		kvfree(answer);
		cmx_stat_dec(live_sa_answers);
	}
}

/*
 * Returns 0: there are records; 1: there are none; -EBUSY: the SA may respond
 * later; -ECONNREFUSED.
 */
static int cmx_sa_status(u16 status)
{
	if (status & CMX_SA_STATUS_BUSY)
		return -EBUSY;
	if (status & CMX_SA_STATUS_REDIRECT) {
		cmx_stat_inc(sa_redirects);
		return -ECONNREFUSED;
	}
	switch (status) {
	case 0:
		return 0;
	case CMX_SA_STATUS_NO_RECORDS:
	case CMX_SA_STATUS_INVALID_GID:	/* no port has it */
		return 1;
	case CMX_SA_STATUS_NO_RESOURCES:
		return -EBUSY;
	}
	return -ECONNREFUSED;
}

/* Copies @len bytes of records from the segments of @wc. */
static int cmx_sa_copy(void *to, const struct ib_mad_recv_wc *wc, size_t len)
{
	const struct ib_mad_recv_buf *seg;
	const struct ib_sa_mad *mad;
	size_t n;

	list_for_each_entry(seg, &wc->rmpp_list, list) {
		mad = (const void *)seg->mad;
		n = min_t(size_t, len, sizeof(mad->data));
		memcpy(to, mad->data, n);
		to += n;
		len -= n;
		if (!len)
			return 0;
	}
	return len ? -EBADMSG : 0;
}

/* Number and distance of the records in a response with status 0 */
static int cmx_sa_measure(const struct cmx_sa_query *q,
			  const struct ib_mad_recv_wc *wc,
			  u32 *count, u32 *stride)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;
	bool rmpp = mad->rmpp_hdr.rmpp_rtime_flags & IB_MGMT_RMPP_FLAG_ACTIVE;
	int len = wc->mad_len - IB_MGMT_SA_HDR;
	u8 method = q->method | IB_MGMT_METHOD_RESP;
	u32 max;

	if (q->method == IB_MGMT_METHOD_SET)
		method = IB_MGMT_METHOD_GET_RESP;
	if (mad->mad_hdr.method != method ||
	    mad->mad_hdr.attr_id != q->attr_id || len < 0)
		return -EBADMSG;
	if (q->method != IB_SA_METHOD_GET_TABLE) {
		if (len < q->rec_len)
			return -EBADMSG;
		*count = 1;
		*stride = q->rec_len;
		return 0;
	}
	/* Only RMPP has the length of a table. */
	if (!rmpp)
		return -EBADMSG;
	*count = 0;
	*stride = be16_to_cpu(mad->sa_hdr.attr_offset) * 8;
	if (!len) {
		*stride = q->rec_len;
		return 0;
	}
	if (*stride < q->rec_len || !*stride || len % *stride)
		return -EBADMSG;
	*count = len / *stride;
	max = READ_ONCE(sa_max_records);
	/* The SA chooses the distance of the records. */
	if (*count > max || len > (u64)max * round_up(q->rec_len, 8))
		return -EOVERFLOW;
	return 0;
}

/*
 * Reads the response to @q. Returns 0 with a reference in @panswer; -EBUSY: the
 * SA may respond later; or an error as for a waiter.
 */
int cmx_sa_read(const struct cmx_sa_query *q,
		const struct ib_mad_recv_wc *wc,
		struct cmx_sa_answer **panswer)
{
	const struct ib_sa_mad *mad = (const void *)wc->recv_buf.mad;
	u32 count = 0, stride = q->rec_len;
	struct cmx_sa_answer *answer;
	int ret;

	ret = cmx_sa_status(be16_to_cpu(mad->mad_hdr.status));
	if (ret < 0)
		return ret;
	if (!ret) {
		ret = cmx_sa_measure(q, wc, &count, &stride);
		if (ret)
			return ret;
	}
	answer = cmx_sa_answer_alloc(count, stride);
	if (!answer)
		return -ENOMEM;
	if (count) {
		ret = cmx_sa_copy(answer->data, wc, answer->len);
		if (ret) {
			cmx_sa_answer_put(answer);
			return ret;
		}
	}
	*panswer = answer;
	return 0;
}

/* A response has arrived. cmx_sa_mad_sent() follows for its query. */
void cmx_sa_mad_received(struct ib_mad_agent *agent,
			 struct ib_mad_send_buf *buf,
			 struct ib_mad_recv_wc *wc)
{
	struct cmx_sa_answer *answer = NULL;
	struct cmx_sa_lookup *l;
	struct cmx_sa_mad *m;
	int error;

	if (buf) {
		m = buf->context[0];
		l = m->lookup;
		error = cmx_sa_read(&l->key.query, wc, &answer);
		trace_cmx_sa_answer(l, &wc->recv_buf.mad->mad_hdr, answer,
				    error);
		cmx_sa_lookup_response(l, m->generation, m->sent_at, answer,
				       error);
		cmx_sa_answer_put(answer);
	}
	ib_free_recv_mad(wc);
}

/* The port's address handle must be freed before its last MAD. */
static void cmx_sa_mad_free(struct cmx_sa_mad *m)
{
	cmx_sa_ah_put(m->ah);
	ib_free_send_mad(m->buf);
	cmx_sa_lookup_put(m->lookup);
	kfree(m);
	cmx_stat_dec(live_sa_mads);
}

/*
 * ib_mad has completed a MAD: with a response, cancelled, or timed out. The
 * lookup has its timeout separately.
 */
void cmx_sa_mad_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	struct cmx_sa_mad *m = wc->send_buf->context[0];

	spin_lock(&cmx_sa_lock);
	list_del(&m->node);
	spin_unlock(&cmx_sa_lock);
	cmx_sa_mad_free(m);
}

/* Under cmx_sa_lock. Ignores MADs that are not posted. */
void cmx_sa_mads_cancel(struct cmx_sa_lookup *l)
{
	struct cmx_sa_mad *m;

	list_for_each_entry(m, &l->mads, node)
		ib_modify_mad(m->buf, 0);
}

/* The address of the SM with a reference, or NULL */
struct cmx_sa_ah *cmx_sa_ah_get(struct cmx_sa_port *port, u32 *generation)
{
	struct cmx_sa_ah *ah;

	spin_lock(&cmx_sa_lock);
	*generation = cmx_sa_cache_generation(&port->cache);
	ah = port->ah;
	if (ah)
		refcount_inc(&ah->ref);
	spin_unlock(&cmx_sa_lock);
	return ah;
}

static void cmx_sa_mad_fill(struct ib_sa_mad *mad, struct cmx_sa_port *port,
			    const struct cmx_sa_query *q)
{
	mad->mad_hdr.base_version = IB_MGMT_BASE_VERSION;
	mad->mad_hdr.mgmt_class = IB_MGMT_CLASS_SUBN_ADM;
	mad->mad_hdr.class_version = IB_SA_CLASS_VERSION;
	mad->mad_hdr.method = q->method;
	mad->mad_hdr.attr_id = q->attr_id;
	mad->mad_hdr.tid = cpu_to_be64((u64)port->agent->hi_tid << 32 |
				       (u32)atomic_inc_return(&port->tid));
	mad->sa_hdr.comp_mask = (__force ib_sa_comp_mask)q->comp_mask;
	memcpy(mad->data, q->rec, q->rec_len);
}

/* Under port->agent_lock, which keeps the agent */
static struct cmx_sa_mad *cmx_sa_mad_make(struct cmx_sa_lookup *l)
{
	struct cmx_sa_port *port = l->port;
	struct ib_mad_send_buf *buf;
	struct cmx_sa_mad *m;
	long left;

	if (!port->agent)
		return NULL;
	m = kzalloc(sizeof(*m), GFP_KERNEL);
	if (!m)
		return NULL;
	m->ah = cmx_sa_ah_get(port, &m->generation);
	if (!m->ah)
		goto free;
	buf = ib_create_send_mad(port->agent, 1, m->ah->pkey_index, 0,
				 IB_MGMT_SA_HDR, IB_MGMT_SA_DATA, GFP_KERNEL,
				 IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf))
		goto put_ah;
	cmx_sa_mad_fill(buf->mad, port, &l->key.query);
	left = max_t(long, l->deadline - jiffies, 1);
	buf->ah = m->ah->ah;
	buf->timeout_ms = jiffies_to_msecs(left);
	buf->context[0] = m;
	m->buf = buf;
	m->sent_at = jiffies;
	refcount_inc(&l->ref);
	m->lookup = l;
	cmx_stat_inc(live_sa_mads);
	return m;

put_ah:
	cmx_sa_ah_put(m->ah);
free:
	kfree(m);
	return NULL;
}

/*
 * In the work item of @l. A MAD that cannot be sent counts as lost: a retry may
 * succeed.
 */
void cmx_sa_mad_send(struct cmx_sa_lookup *l)
{
	struct cmx_sa_mad *m;
	unsigned int noio;

	down_read(&l->port->agent_lock);
	/* A removal waits for the lock: see cmx_sa_device_remove(). */
	noio = memalloc_noio_save();
	m = cmx_sa_mad_make(l);
	if (!m)
		goto unlock;
	spin_lock(&cmx_sa_lock);
	list_add_tail(&m->node, &l->mads);
	spin_unlock(&cmx_sa_lock);

	trace_cmx_sa_send(l, m->buf->mad);
	if (ib_post_send_mad(m->buf, NULL)) {
		spin_lock(&cmx_sa_lock);
		list_del(&m->node);
		spin_unlock(&cmx_sa_lock);
		cmx_sa_mad_free(m);
		goto unlock;
	}
	/* A lookup that ended meanwhile could not cancel it. */
	spin_lock(&cmx_sa_lock);
	if (l->entity.state == CMX_SCHED_GONE)
		cmx_sa_mads_cancel(l);
	spin_unlock(&cmx_sa_lock);
unlock:
	memalloc_noio_restore(noio);
	up_read(&l->port->agent_lock);
}
