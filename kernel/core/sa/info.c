// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ClassPortInfo of an SA: its optional capabilities. A port queries it in the
 * background whenever its SM may be a new one, and keeps it until the next such
 * event. Only the caller of cmx_sa_info_lookup() waits for it.
 *
 * cmx_sa_port.info has the generation of the cache in which it is valid, and
 * the capabilities, in one word, so that a path query reads it without a lock.
 */
#include <net/net_namespace.h>

#include "sa/internal.h"
#include "sa/wire.h"

/* A generation that will not occur soon */
void cmx_sa_info_init(struct cmx_sa_port *port)
{
	atomic64_set(&port->info, (u64)U32_MAX << 32);
}

/* Stores the SA's response of @generation. Under cmx_sa_lock. */
void cmx_sa_info_learn(struct cmx_sa_port *port, u32 generation,
		       const struct cmx_sa_response *response)
{
	u32 caps;

	if (!cmx_sa_info_read(response, &caps))
		atomic64_set(&port->info, (u64)generation << 32 | caps);
}

/* Gets the capabilities of a response (CapabilityMask2). 0 or -ENOENT. */
int cmx_sa_info_read(const struct cmx_sa_response *response, u32 *caps)
{
	if (!response->count)
		return -ENOENT;
	*caps = ib_get_cpi_capmask2((void *)cmx_sa_response_rec(response, 0));
	return 0;
}

/**
 * cmx_sa_info - get the capabilities of an SA, if they are known
 * @port: port of the SA
 * @caps: the capabilities, CMX_SA_CAP2_*
 *
 * Context: any.
 * Return: 0, or -EINPROGRESS.
 */
int cmx_sa_info(const struct cmx_sa_port *port, u32 *caps)
{
	u64 info = atomic64_read(&port->info);

	if (info >> 32 != cmx_sa_cache_generation(&port->cache))
		return -EINPROGRESS;
	*caps = (u32)info;
	return 0;
}

/**
 * cmx_sa_has_qos - check if a path may depend on the service
 * @port: port of the SA
 *
 * Context: any.
 * Return: false if the SA has reported that it does not support QoS.
 */
bool cmx_sa_has_qos(const struct cmx_sa_port *port)
{
	u32 caps;

	return cmx_sa_info(port, &caps) || caps & CMX_SA_CAP2_QOS;
}

/**
 * cmx_sa_info_lookup - query the ClassPortInfo of an SA
 * @port: port of the SA
 * @waiter: as for cmx_sa_lookup()
 *
 * All namespaces and users share one query, which counts as the kernel's.
 *
 * Context: process context, may sleep for memory only.
 * Return: as cmx_sa_lookup().
 */
int cmx_sa_info_lookup(struct cmx_sa_port *port,
		       struct cmx_sched_waiter *waiter)
{
	static const struct cmx_sa_query query = {
		.attr_id = IB_MGMT_CLASSPORTINFO_ATTR_ID,
		.method = IB_MGMT_METHOD_GET,
		.rec_len = sizeof(struct ib_class_port_info),
	};

	return cmx_sa_lookup(port, &init_net, CMX_KERNEL_UID, &query, waiter);
}

/* The response is stored already. Without one the state stays unknown. */
static void cmx_sa_info_done(struct cmx_sched_waiter *waiter, void *response,
			     int error)
{
}

/* Only in port->refresh, so one at a time */
void cmx_sa_info_refresh(struct cmx_sa_port *port)
{
	cmx_sa_forget(&port->info_waiter);
	port->info_waiter.done = cmx_sa_info_done;
	cmx_sa_info_lookup(port, &port->info_waiter);
}
