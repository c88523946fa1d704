// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Properties of socket addresses. No state, any context. */
#include <net/ipv6.h>

#include "core.h"

/* The port's part of a service id in an IP port space. */
#define CMX_IB_PORT_MASK	0xffffull

size_t cmx_addr_size(sa_family_t family)
{
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case AF_IB:
		return sizeof(struct sockaddr_ib);
	default:
		return 0;
	}
}

bool cmx_addr_is_link_local(const union rdma_cmx_sockaddr *addr)
{
	return addr->sa.sa_family == AF_INET6 &&
	       __ipv6_addr_needs_scope_id(__ipv6_addr_type(&addr->in6.sin6_addr));
}

bool cmx_addr_is_multicast(const union rdma_cmx_sockaddr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return ipv4_is_multicast(addr->in.sin_addr.s_addr);
	case AF_INET6:
		return ipv6_addr_is_multicast(&addr->in6.sin6_addr);
	case AF_IB:
		return addr->ib.sib_addr.sib_raw[0] == 0xff;
	default:
		return false;
	}
}

bool cmx_addr_is_any(const union rdma_cmx_sockaddr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return !addr->in.sin_addr.s_addr;
	case AF_INET6:
		return ipv6_addr_any(&addr->in6.sin6_addr);
	case AF_IB:
		return ib_addr_any(&addr->ib.sib_addr);
	default:
		return true;
	}
}

/* Port number of an address as in rdma_cm, 0: none */
u16 cmx_addr_port(const union rdma_cmx_sockaddr *addr)
{
	switch (addr->sa.sa_family) {
	case AF_INET:
		return ntohs(addr->in.sin_port);
	case AF_INET6:
		return ntohs(addr->in6.sin6_port);
	case AF_IB:
		return be64_to_cpu(addr->ib.sib_sid & addr->ib.sib_sid_mask);
	default:
		return 0;
	}
}

/*
 * Sets the port number of an IP address; for AF_IB the service id of the port
 * in its port space, as in rdma_cm.
 */
void cmx_addr_set_port(union rdma_cmx_sockaddr *addr, u32 port_space, u16 port)
{
	u64 mask = 0;

	switch (addr->sa.sa_family) {
	case AF_INET:
		addr->in.sin_port = htons(port);
		break;
	case AF_INET6:
		addr->in6.sin6_port = htons(port);
		break;
	case AF_IB:
		if (port_space)
			mask |= RDMA_IB_IP_PS_MASK;
		if (port)
			mask |= CMX_IB_PORT_MASK;
		addr->ib.sib_sid = cpu_to_be64(((u64)port_space << 16) + port);
		addr->ib.sib_sid_mask = cpu_to_be64(mask);
		break;
	}
}
