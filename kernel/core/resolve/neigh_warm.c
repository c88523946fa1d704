// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Neighbours of the addresses of a name. Programs often resolve each address
 * next, and ib_core resolves all addresses of the node in one thread. So a
 * query for a name starts ARP or neighbour discovery for all of them, without
 * waiting.
 *
 * The neighbour table has one entry for each, with at most one discovery. Its
 * limits apply, as for a datagram to the address.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rcupdate.h>
#include <net/dst.h>
#include <net/neighbour.h>

#include "resolve/resolve.h"

static bool neigh_warm = true;
module_param(neigh_warm, bool, 0644);
MODULE_PARM_DESC(neigh_warm,
		 "Start ARP or neighbour discovery for the addresses of a name (default Y)");

/* Their neighbours have no hardware address to discover. */
#define CMX_NO_DISCOVERY	(IFF_LOOPBACK | IFF_NOARP | IFF_POINTOPOINT)

/*
 * The next hop of the route @dst to @daddr, which leaves by @ndev unless that
 * is being unregistered. A stale neighbour is valid for ib_core.
 */
void cmx_neigh_warm(const struct net_device *ndev, const struct dst_entry *dst,
		    const void *daddr)
{
	struct neighbour *n = NULL;

	if (!READ_ONCE(neigh_warm) || ndev->flags & CMX_NO_DISCOVERY)
		return;
	rcu_read_lock();
	if (READ_ONCE(dst->dev) == ndev)
		n = dst_neigh_lookup(dst, daddr);
	rcu_read_unlock();
	/* The table is full. */
	if (!n)
		return;
	if (!(READ_ONCE(n->nud_state) & (NUD_VALID | NUD_INCOMPLETE))) {
		cmx_stat_inc(neighs_warmed);
		neigh_event_send(n, NULL);
	}
	neigh_release(n);
}
