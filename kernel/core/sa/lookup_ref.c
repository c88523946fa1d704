// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * References of a lookup, for lookup.c and the files below it. In process
 * context, without locks: the last put may sleep.
 */
#include <linux/slab.h>

#include "sa/internal.h"

void cmx_sa_lookup_put(struct cmx_sa_lookup *l)
{
	if (!refcount_dec_and_test(&l->ref))
		return;
	cmx_sched_entity_exit(&l->entity);
	cmx_sa_response_put(l->response);
	cmx_sa_port_put(l->port);
	kfree(l);
	cmx_stat_dec(live_sa_lookups);
}
