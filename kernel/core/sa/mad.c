// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One MAD of a query: created, sent, cancelled, freed. See response.c for the
 * calls of ib_mad.
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
 *
 * A port has a limit of such MADs, for hardware that completes no send. ib_mad
 * of Linux 7.1 sends 128 MADs of an agent and queues the others. So with half of
 * these, a lookup that is sent again keeps its first and its last MAD only, and
 * is sent again less often.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "sa/internal.h"
#include "sa/trace.h"

/* The port's address handle must be freed before its last MAD. */
void cmx_sa_mad_free(struct cmx_sa_mad *m)
{
	cmx_sa_ah_put(m->ah);
	ib_free_send_mad(m->buf);
	kfree(m);
	cmx_stat_dec(live_sa_mads);
}

/* Under cmx_sa_lock. Ignores MADs that are not posted. */
void cmx_sa_mads_cancel(struct cmx_sa_lookup *l)
{
	struct cmx_sa_mad *m;

	list_for_each_entry(m, &l->mads, node)
		ib_modify_mad(m->buf, 0);
}

/* Under cmx_sa_lock. Cancels the MADs of @l between its first and its last. */
static void cmx_sa_mads_thin(struct cmx_sa_lookup *l)
{
	struct cmx_sa_mad *m;

	list_for_each_entry(m, &l->mads, node) {
		if (!list_is_first(&m->node, &l->mads) &&
		    !list_is_last(&m->node, &l->mads))
			ib_modify_mad(m->buf, 0);
	}
}

/*
 * Under cmx_sa_lock. With many MADs the next one of @l cancels the last one,
 * whose response may be long. So that one has as much time as all before it had.
 * An event has cancelled those of an older generation, but ib_mad may not have
 * returned them yet.
 */
bool cmx_sa_mads_due(const struct cmx_sa_lookup *l)
{
	const struct cmx_sa_mad *first, *last;

	if (l->port->mads < cmx_sa_mads_many() || list_empty(&l->mads) ||
	    list_is_singular(&l->mads))
		return true;
	first = list_first_entry(&l->mads, struct cmx_sa_mad, node);
	last = list_last_entry(&l->mads, struct cmx_sa_mad, node);
	return first->generation != last->generation ||
	       last->generation != cmx_sa_cache_generation(&l->port->cache) ||
	       time_after_eq(jiffies, 2 * last->sent_at - first->sent_at);
}

/*
 * Puts @m on the list. False: its lookup has ended while this thread waited for
 * the port's lock or for memory, or the port has too many MADs.
 */
bool cmx_sa_mad_add(struct cmx_sa_lookup *l, struct cmx_sa_mad *m)
{
	struct cmx_sa_port *port = l->port;
	bool ok;

	spin_lock(&cmx_sa_lock);
	ok = cmx_sa_lookup_sendable(l) && port->mads < cmx_sa_mads_max();
	if (ok) {
		list_add_tail(&m->node, &l->mads);
		if (++port->mads > cmx_sa_mads_many())
			cmx_sa_mads_thin(l);
	}
	spin_unlock(&cmx_sa_lock);
	return ok;
}

/* Takes @m off the list. ib_mad does not have it. */
void cmx_sa_mad_remove(struct cmx_sa_lookup *l, struct cmx_sa_mad *m)
{
	spin_lock(&cmx_sa_lock);
	list_del(&m->node);
	l->port->mads--;
	spin_unlock(&cmx_sa_lock);
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
 * The caller has a reference of @l. A MAD that cannot be sent counts as lost: a
 * retry may succeed.
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
	if (!cmx_sa_mad_add(l, m))
		goto free;
	trace_cmx_sa_send(l, m->buf->mad);
	if (ib_post_send_mad(m->buf, NULL)) {
		cmx_sa_mad_remove(l, m);
		goto free;
	}
	/* A lookup that ended meanwhile could not cancel it. */
	spin_lock(&cmx_sa_lock);
	if (l->entity.state == CMX_SCHED_GONE)
		cmx_sa_mads_cancel(l);
	spin_unlock(&cmx_sa_lock);
	goto unlock;
free:
	cmx_sa_mad_free(m);
	/* Not the last reference: the caller has one. */
	refcount_dec(&l->ref);
unlock:
	memalloc_noio_restore(noio);
	up_read(&l->port->agent_lock);
}
