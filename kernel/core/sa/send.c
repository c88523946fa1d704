// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One work item for each port sends the MADs of its queries. If the firmware of
 * the port hangs, this work item waits for it, with agent_lock. It occupies at
 * most two places of the work queue that all ports share: it may be queued while
 * it runs. cmx_sa_port.check occupies a third one. The lookups of the port end at
 * their timeouts.
 *
 * A lookup that ends leaves the list. So the list has no more lookups than the
 * port has outstanding ones, of which sa_parallel is the limit.
 *
 * The lookups that are in the list at the start of the work item share a read
 * of the port.
 *
 * cmx_sa_lock guards the list, and the part of it that the work item has taken.
 */
#include <linux/list.h>
#include <linux/sched.h>

#include "sa/internal.h"

/*
 * Under cmx_sa_lock. The next MAD of @l, which is running, will be sent.
 * Returns false if that was so before.
 */
bool cmx_sa_send(struct cmx_sa_lookup *l)
{
	struct cmx_sa_port *port = l->port;

	if (!list_empty(&l->send))
		return false;
	refcount_inc(&l->ref);
	list_add_tail(&l->send, &port->sends);
	cmx_sa_port_hold(port);
	if (!cmx_sa_queue(&port->send))
		refcount_dec(&port->ref);	/* @l has another one */
	return true;
}

/*
 * Under cmx_sa_lock. @l ends, and its next MAD is not sent. The caller has another
 * reference.
 */
void cmx_sa_send_cancel(struct cmx_sa_lookup *l)
{
	if (list_empty(&l->send))
		return;
	list_del_init(&l->send);
	refcount_dec(&l->ref);
}

/* Takes the next lookup off @list, with its reference; or NULL. */
static struct cmx_sa_lookup *cmx_sa_send_next(struct list_head *list)
{
	struct cmx_sa_lookup *l;

	spin_lock(&cmx_sa_lock);
	l = list_first_entry_or_null(list, struct cmx_sa_lookup, send);
	if (l)
		list_del_init(&l->send);
	spin_unlock(&cmx_sa_lock);
	return l;
}

static void cmx_sa_send_work(struct work_struct *work)
{
	struct cmx_sa_port *port = container_of(work, struct cmx_sa_port, send);
	struct cmx_sa_lookup *l;
	bool again = false;
	LIST_HEAD(list);

	spin_lock(&cmx_sa_lock);
	list_splice_init(&port->sends, &list);
	list_for_each_entry(l, &list, send)
		again |= l->retries > 1;
	spin_unlock(&cmx_sa_lock);

	/* A retry reads the address of the SM again. */
	if (again)
		cmx_sa_port_refresh(port);
	while ((l = cmx_sa_send_next(&list))) {
		cmx_sa_mad_send(l);
		cmx_sa_lookup_put(l);
		cond_resched();
	}
	cmx_sa_port_put(port);
}

void cmx_sa_send_init(struct cmx_sa_port *port)
{
	INIT_LIST_HEAD(&port->sends);
	INIT_WORK(&port->send, cmx_sa_send_work);
}
