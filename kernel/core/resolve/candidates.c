// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The addresses of a result: from a number, from the result of a name service,
 * or without a node from the hints. No state, any context.
 */
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_sa.h>

#include "resolve/resolve.h"

static void cmx_candidate_add(const struct cmx_hints *h,
			      struct cmx_candidates *cands, sa_family_t family)
{
	union rdma_cmx_sockaddr *addr = &cands->fixed[cands->count];
	bool loopback = !cmx_passive(h);

	memset(addr, 0, sizeof(*addr));
	addr->sa.sa_family = family;
	switch (family) {
	case AF_INET:
		if (loopback)
			addr->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		break;
	case AF_INET6:
		if (loopback)
			addr->in6.sin6_addr = in6addr_loopback;
		break;
	case AF_IB:
		addr->ib.sib_pkey = htons(0xffff);
		if (loopback)
			addr->ib.sib_addr.sib_raw[15] = 1;
		break;
	}
	cmx_addr_set_port(addr, h->port_space, h->port);
	cands->count++;
}

/* The destination of a path record that the caller gave */
static bool cmx_candidate_from_limit(const struct cmx_hints *h,
				     struct cmx_candidates *cands)
{
	struct sockaddr_ib *ib = &cands->fixed[0].ib;
	struct sa_path_rec rec = { .rec_type = SA_PATH_REC_TYPE_IB };
	u32 wire[sizeof(h->limits->path_rec) / sizeof(u32)];

	memcpy(wire, h->limits->path_rec, sizeof(wire));
	ib_sa_unpack_path(wire, &rec);
	if (rdma_is_zero_gid(&rec.dgid))
		return false;

	memset(&cands->fixed[0], 0, sizeof(cands->fixed[0]));
	ib->sib_family = AF_IB;
	ib->sib_pkey = rec.pkey ?: htons(0xffff);
	memcpy(&ib->sib_addr, &rec.dgid, sizeof(rec.dgid));
	if (rec.service_id && !h->has_port) {
		ib->sib_sid = rec.service_id;
		ib->sib_sid_mask = cpu_to_be64(~0ULL);
		cands->own_sid = true;
	} else {
		cmx_addr_set_port(&cands->fixed[0], h->port_space, h->port);
	}
	cands->count = 1;
	return true;
}

/* Without a node: an address of the hints, or loopback or wildcard. */
int cmx_candidates_local(const struct cmx_hints *h,
			 struct cmx_candidates *cands)
{
	const union rdma_cmx_sockaddr *given;
	sa_family_t family = h->family;

	cands->count = 0;
	cands->own_sid = false;
	cands->names = NULL;
	cands->services = NULL;
	cands->canonname = NULL;
	cands->canon_len = 0;

	given = cmx_passive(h) ? &h->src : &h->dst;
	if (given->sa.sa_family) {
		cands->fixed[0] = *given;
		if (h->has_port)
			cmx_addr_set_port(&cands->fixed[0], h->port_space,
					  h->port);
		else
			cands->own_sid = given->sa.sa_family == AF_IB &&
					 given->ib.sib_sid;
		cands->count = 1;
		return 0;
	}

	if (h->limit_count && !cmx_passive(h)) {
		if (family && family != AF_IB)
			return -EADDRNOTAVAIL;
		if (cmx_candidate_from_limit(h, cands))
			return 0;
	}

	if (!h->has_port && !cmx_passive(h)) {
		if (!h->src.sa.sa_family)
			return -ENOENT;
		/* Only a source: one entry without other attributes */
		memset(&cands->fixed[0], 0, sizeof(cands->fixed[0]));
		cands->count = 1;
		return 0;
	}

	if (!family && !cmx_passive(h))
		family = h->src.sa.sa_family;
	if (family) {
		cmx_candidate_add(h, cands, family);
	} else {
		cmx_candidate_add(h, cands, AF_INET);
		cmx_candidate_add(h, cands, AF_INET6);
	}
	return 0;
}

/* Sets the port of addresses that were resolved before the port. */
void cmx_candidates_set_port(const struct cmx_hints *h,
			     struct cmx_candidates *cands)
{
	u32 i;

	for (i = 0; i < cands->count; i++)
		cmx_addr_set_port(&cands->fixed[i], h->port_space, h->port);
}

static bool cmx_candidate_wanted(const struct cmx_hints *h,
				 const struct rdma_cmx_names_addr *a)
{
	return !h->family || h->family == a->family;
}

/* A checked result. Addresses of another family are skipped later. */
int cmx_candidates_names(const struct cmx_hints *h,
			 const struct rdma_cmx_names *names,
			 struct cmx_candidates *cands)
{
	u32 i;

	for (i = 0; i < names->addr_count; i++) {
		if (cmx_candidate_wanted(h, &names->addrs[i]))
			break;
	}
	if (i == names->addr_count)
		return -EADDRNOTAVAIL;

	cands->count = names->addr_count;
	cands->own_sid = false;
	cands->names = names;
	cands->services = NULL;
	cands->canonname = (const char *)&names->addrs[names->addr_count];
	cands->canon_len = names->canon_len;
	return 0;
}

/* Fills @addr. False: candidate @i is not of the family of the hints. */
bool cmx_candidates_get(const struct cmx_hints *h,
			const struct cmx_candidates *cands, u32 i,
			union rdma_cmx_sockaddr *addr)
{
	const struct rdma_cmx_names_addr *a;

	if (!cands->names) {
		*addr = cands->fixed[i];
		return true;
	}

	a = &cands->names->addrs[i];
	if (!cmx_candidate_wanted(h, a))
		return false;
	memset(addr, 0, sizeof(*addr));
	addr->sa.sa_family = a->family;
	if (a->family == AF_INET) {
		memcpy(&addr->in.sin_addr, a->addr, 4);
	} else {
		memcpy(&addr->in6.sin6_addr, a->addr, 16);
		addr->in6.sin6_scope_id = a->scope_id;
	}
	cmx_addr_set_port(addr, h->port_space, h->has_port ? h->port : a->port);
	return true;
}
