// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Calls of ib_mad for a MAD of a query: the response of the SA, which completes
 * the lookup, and the end of the MAD. Each MAD has a reference of its lookup.
 *
 * ib_mad passes a response by its transaction id alone. Any node, of any subnet
 * of the host, could guess one. So a response is accepted only from the address
 * that its MAD was sent to. Another one counts as lost, with its MAD.
 */
#include <linux/jiffies.h>

#include "sa/internal.h"
#include "sa/trace.h"

/*
 * The SA has responded to a MAD of @l that was sent at @sent_at. -EBUSY: it is
 * busy. The next retry follows at its time.
 */
void cmx_sa_lookup_response(struct cmx_sa_lookup *l, u32 generation,
			    unsigned long sent_at,
			    struct cmx_sa_response *response,
			    int error)
{
	struct cmx_sa_port *port = l->port;
	struct cmx_sa_entry *entry = NULL;
	LIST_HEAD(victims);

	/* The port stores its SA's ClassPortInfo until the next event. */
	if (!error && !cmx_sa_query_is_info(&l->key.query) &&
	    !cmx_sa_query_changes(&l->key.query))
		entry = cmx_sa_entry_alloc(&l->key, response, sent_at,
					   generation);

	spin_lock(&cmx_sa_lock);
	port->last_response = jiffies;
	if (!cmx_sa_query_changes(&l->key.query))
		cmx_sa_response_time(port, port->last_response - sent_at);
	if (l->entity.state == CMX_SCHED_RUNNING &&
	    generation == cmx_sa_cache_generation(&port->cache)) {
		/* The record retries a Set, later. */
		if (error == -EBUSY &&
		    l->key.query.method == IB_MGMT_METHOD_SET)
			error = -EAGAIN;
		l->busy = error == -EBUSY;
		if (!error && cmx_sa_query_is_info(&l->key.query))
			cmx_sa_info_learn(port, generation, response);
		/* Before the lookup ends, or others would query again. */
		if (entry && !l->dropped &&
		    l->gid_changes == cmx_sa_gid_changes(port,
							 &l->key.query)) {
			cmx_sa_cache_add(&port->cache, entry,
					 l->entity.user->uid, &victims);
			entry = NULL;
		}
		if (!l->busy)
			cmx_sa_lookup_done(l, response, error);
	}
	spin_unlock(&cmx_sa_lock);

	cmx_sa_entry_free(entry);
	cmx_sa_entries_free(&victims);
}

/*
 * True if the port of @agent received it. mlx5 receives with a QP of another
 * type, of which the device is known only.
 */
static bool cmx_sa_mad_is_here(const struct ib_mad_agent *agent,
			       const struct ib_wc *wc)
{
	const struct ib_qp *qp = wc->qp;

	return qp == agent->qp ||
	       (qp && qp->device == agent->device &&
		qp->qp_type != IB_QPT_GSI);
}

/* A response has arrived. cmx_sa_mad_sent() follows for its query. */
void cmx_sa_mad_received(struct ib_mad_agent *agent,
			 struct ib_mad_send_buf *buf,
			 struct ib_mad_recv_wc *wc)
{
	struct cmx_sa_response *response = NULL;
	struct cmx_sa_lookup *l;
	struct cmx_sa_mad *m = buf ? buf->context[0] : NULL;
	int error;

	if (m && (!cmx_sa_mad_is_here(agent, wc->wc) ||
		  !cmx_sa_port_is_source(agent->context, m->ah, wc->wc))) {
		cmx_stat_inc(sa_responses_ignored);
	} else if (m) {
		l = m->lookup;
		error = cmx_sa_read(&l->key.query, wc, &response);
		trace_cmx_sa_response(l, &wc->recv_buf.mad->mad_hdr, response,
				      error);
		cmx_sa_lookup_response(l, m->generation, m->sent_at, response,
				       error);
		cmx_sa_response_put(response);
	}
	ib_free_recv_mad(wc);
}

/*
 * ib_mad has completed a MAD: with a response, cancelled, or timed out. The
 * lookup has its timeout separately.
 */
void cmx_sa_mad_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	struct cmx_sa_mad *m = wc->send_buf->context[0];
	struct cmx_sa_lookup *l = m->lookup;

	cmx_sa_mad_remove(l, m);
	cmx_sa_mad_free(m);
	cmx_sa_lookup_put(l);
}
