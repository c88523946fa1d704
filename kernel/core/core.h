/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Declarations that all files of rdma_cmx share. There are six directories. A
 * directory includes headers only of those to the right of it:
 *
 *	connect/ ──> resolve/		connect by name
 *	resolve/ ──> names/, sa/	a query, from its hints to its result
 *	mcast/ ──> sa/			multicast memberships
 *	advertise/ ──> sa/		services of this host at the SAs
 *	names/				names, by the kernel's key service
 *	sa/				queries to subnet administrators
 *
 * In each directory a file uses those below it in the list of its header.
 *
 * This directory has counters (stats.h), shared lookups and their queue slots
 * (sched.h), users and their jobs (users.h), socket addresses (addr.c), and the
 * module's entry (main.c), which includes the headers of all.
 */
#ifndef CMX_CORE_H
#define CMX_CORE_H

#include <rdma/rdma_cmx.h>

#include "caller.h"
#include "compat.h"
#include "stats.h"

/* addr.c */
size_t cmx_addr_size(sa_family_t family);
bool cmx_addr_is_link_local(const union rdma_cmx_sockaddr *addr);
bool cmx_addr_is_multicast(const union rdma_cmx_sockaddr *addr);
bool cmx_addr_is_any(const union rdma_cmx_sockaddr *addr);
u16 cmx_addr_port(const union rdma_cmx_sockaddr *addr);
void cmx_addr_set_port(union rdma_cmx_sockaddr *addr, u32 port_space, u16 port);

#endif /* CMX_CORE_H */
