// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx doctor NAME: the name, then each of its addresses, resolved as a program
 * would do it. After a failure the kernel's tables have the cause.
 *
 * An address that RDMA does not reach is no failure while another one is
 * reached: a host also has addresses for its management.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"
#include "doctor.h"

/* A name server may return any number. */
#define ADDRESSES	16
#define STEP_MS		3000

/* The library takes the device of the environment for each query. */
static const char *device_environment(void)
{
	const char *device = secure_getenv("RDMACMX_DEVICE");

	return device && *device ? device : NULL;
}

static void name_failure(struct doctor *doctor, int error, int err)
{
	static const struct {
		int error;
		const char *id;
		const char *mend;	/* with the quoted name */
	} known[] = {
		{ EAI_NONAME, "name-unknown", "echo ADDRESS %s >>/etc/hosts" },
		{ EAI_NODATA, "name-no-address",
		  "echo ADDRESS %s >>/etc/hosts" },
		{ EAI_ADDRFAMILY, "name-no-address",
		  "echo ADDRESS %s >>/etc/hosts" },
		{ EAI_AGAIN, "name-server",
		  "getent ahosts -- %s    # then the servers in /etc/resolv.conf" },
		{ EAI_FAIL, "name-server",
		  "getent ahosts -- %s    # then the servers in /etc/resolv.conf" },
	};
	char name[QUOTED_MAX];
	bool usual;
	size_t i;

	quoted(doctor->node, name);
	/* No host has such a name, and it cannot be in /etc/hosts. */
	usual = !strcmp(doctor->node, name);
	if (error == EAI_AGAIN && doctor->busy) {
		check_add(doctor, CHECK_WRONG, "names-busy",
			  "%s: not looked up, as this user has too many lookups",
			  doctor->node);
		check_mend(doctor, "cmx stat");
		return;
	}
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (known[i].error != error)
			continue;
		check_add(doctor, CHECK_WRONG, known[i].id, "%s: %s",
			  doctor->node, gai_strerror(error));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		check_mend(doctor, usual ? known[i].mend : "getent ahosts -- %s",
			   name);
#pragma GCC diagnostic pop
		return;
	}
	if (error == EAI_SERVICE) {
		check_add(doctor, CHECK_WRONG, "service",
			  "%s: neither a port nor a name in /etc/services",
			  doctor->service ? doctor->service : "-");
		check_mend(doctor, "cmx doctor -- %s 7471    # a port", name);
		return;
	}
	if (device_environment() && (error == -1 || error == EAI_SYSTEM) &&
	    (err == ENETUNREACH || err == ENODEV || err == ENXIO)) {
		check_add(doctor, CHECK_WRONG, "device-env",
			  "%s: the device of RDMACMX_DEVICE reaches no address of it: %s",
			  doctor->node, strerror(err));
		check_mend(doctor, "unset RDMACMX_DEVICE");
		return;
	}
	check_add(doctor, CHECK_WRONG, "name", "%s: %s", doctor->node,
		  error == -1 || error == EAI_SYSTEM ? strerror(err) :
						       gai_strerror(error));
	check_mend(doctor, "getent ahosts -- %s", name);
}

/* For ip, which takes a zone as dev */
static const char *ip_words(const struct sockaddr *addr, char out[QUOTED_MAX])
{
	char text[ADDR_TEXT_MAX], zone[QUOTED_MAX];
	size_t len;

	addr_text(addr, text);
	len = strcspn(text, "%");
	snprintf(out, QUOTED_MAX, "%.*s", (int)len, text);
	if (text[len])
		snprintf(out + len, QUOTED_MAX - len, " dev %.400s",
			 quoted(text + len + 1, zone));
	return out;
}

/* True if the table of @vrf has a route by an RDMA port's interface */
static bool vrf_reaches(struct doctor *doctor, const char *vrf,
			const struct sockaddr *dst, bool missing)
{
	char addr[ADDR_TEXT_MAX], next[ADDR_TEXT_MAX] = "";
	char kind[32], name[QUOTED_MAX];
	const struct port *port;
	struct route route;
	bool direct;

	netdev_kind(vrf, kind);
	if (strcmp(kind, "vrf") || route_find(dst, vrf, &route))
		return false;
	port = port_of_netdev(doctor, route.netdev);
	if (!port)
		return false;
	addr_text(dst, addr);
	check_add(doctor, CHECK_WRONG, "route-vrf",
		  "%s: the route by %s of %s/%u is in the VRF %s", addr,
		  route.netdev, port->device, port->number, vrf);
	addr_text((void *)&route.next, next);
	direct = !strcmp(addr, next);
	addr[strcspn(addr, "%")] = '\0';
	next[strcspn(next, "%")] = '\0';
	/* Another route may be that of the logged-in user. */
	if (missing)
		check_mend(doctor, "ip route add %s%s%s dev %s    # or bind the program to an address of that interface",
			   addr, direct ? "" : " via ", direct ? "" : next,
			   quoted(route.netdev, name));
	else
		check_mend(doctor, "ip route get vrf %s %s    # then bind the program to the source address that this shows",
			   quoted(vrf, name), addr);
	return true;
}

/*
 * True if the route is that of a VRF. rdma_cm uses it for an id that is bound
 * to an address of an interface in the VRF; ip vrf exec is for sockets and does
 * not affect it.
 */
static bool vrf_check(struct doctor *doctor, const struct sockaddr *dst,
		      bool missing)
{
	struct if_nameindex *all = if_nameindex(), *at;
	bool found = false;

	for (at = all; at && at->if_name && !found; at++)
		found = vrf_reaches(doctor, at->if_name, dst, missing);
	if (all)
		if_freenameindex(all);
	return found;
}

/* A GID belongs to an address and its interface; a route's source to any. */
static void source_elsewhere(struct doctor *doctor, const struct port *port,
			     const struct sockaddr *dst,
			     const struct route *route)
{
	char addr[ADDR_TEXT_MAX], source[ADDR_TEXT_MAX];
	char where[QUOTED_MAX], name[QUOTED_MAX], text[1024];

	addr_text(dst, addr);
	check_add(doctor, CHECK_WRONG, "gid-missing",
		  "%s: the route leaves by %s from %s, and %s/%u has no GID of that address there",
		  addr, route->netdev,
		  addr_text((void *)&route->source, source), port->device,
		  port->number);
	quoted(route->netdev, name);
	/* The kernel chooses an address of the interface. */
	if (route_unsourced(dst, name, text, sizeof(text)))
		check_mend(doctor, "ip route change %s", text);
	else
		check_mend(doctor, "ip route get fibmatch %s    # then give this route a source address of %s",
			   ip_words(dst, where), name);
}

/* Reports why no RDMA device reaches an address. */
static void unreached(struct doctor *doctor, const struct sockaddr *dst)
{
	char lower[IF_NAMESIZE], below[IF_NAMESIZE];
	char kind[32], name[QUOTED_MAX];
	char addr[ADDR_TEXT_MAX], where[QUOTED_MAX];
	const struct port *port;
	struct route route;
	int err;

	addr_text(dst, addr);
	err = route_find(dst, NULL, &route);
	port = err ? NULL : port_of_netdev(doctor, route.netdev);
	if (port && !port->active) {
		check_add(doctor, CHECK_WRONG, "port-state",
			  "%s: the route leaves by %s, whose port %s/%u is not active",
			  addr, route.netdev, port->device, port->number);
		check_mend(doctor, "ip link set dev %s up",
			   quoted(route.netdev, name));
		return;
	}
	if (port && !port->iwarp && route.source.ss_family != AF_UNSPEC &&
	    !netdev_owns_address(route.netdev, (void *)&route.source)) {
		source_elsewhere(doctor, port, dst, &route);
		return;
	}
	if (port && !port->iwarp) {
		check_add(doctor, CHECK_WRONG, "gid-missing",
			  "%s: the route leaves by %s, and %s/%u has no GID for its address",
			  addr, route.netdev, port->device, port->number);
		check_mend(doctor, "ip addr show dev %s    # then take it down and up, if the host can do without it",
			   quoted(route.netdev, name));
		return;
	}
	if (netdev_down_to(dst, lower) &&
	    (port_of_netdev(doctor, lower) ||
	     netdev_port_below(doctor, lower, below))) {
		check_add(doctor, CHECK_WRONG, "netdev-down",
			  "%s: %s has an address of that network and is down",
			  addr, lower);
		check_mend(doctor, "ip link set dev %s up", quoted(lower, name));
		return;
	}
	port = err ? NULL : netdev_port_below(doctor, route.netdev, lower);
	if (port) {
		netdev_kind(route.netdev, kind);
		if (!port->active) {
			check_add(doctor, CHECK_WRONG, "port-state",
				  "%s: the route leaves by the %s %s above %s, whose port %s/%u is not active",
				  addr, kind, route.netdev, lower, port->device,
				  port->number);
			check_mend(doctor, "ip link set dev %s up",
				   quoted(lower, name));
			return;
		}
		check_add(doctor, CHECK_WRONG,
			  !strcmp(kind, "bridge") ? "netdev-bridge" :
			  !strcmp(kind, "bond") ? "netdev-bond" :
			  !strcmp(kind, "vlan") ? "netdev-vlan" :
			  !strcmp(kind, "macvlan") ? "netdev-macvlan" :
			  !strcmp(kind, "vrf") ? "route-vrf" : "netdev-upper",
			  "%s: the route leaves by the %s %s above %s, which RDMA does not see",
			  addr, kind, route.netdev, lower);
		/*
		 * For a part of a bridge or bond IP would not receive the
		 * reply.
		 */
		check_mend(doctor, "ip addr show dev %s    # then an address that this interface reaches by itself",
			   quoted(lower, name));
		return;
	}
	if (vrf_check(doctor, dst, err))
		return;
	if (err) {
		check_add(doctor, CHECK_WRONG, "route-missing",
			  "%s: no route: %s", addr, strerror(err));
		ip_words(dst, where);
		check_mend(doctor, "ip route add %s%s", where,
			   strchr(where, ' ') ? "" : " via GATEWAY");
		return;
	}
	check_add(doctor, CHECK_WRONG, "route-device",
		  "%s: the route leaves by %s, which has no RDMA device", addr,
		  route.netdev);
	/* A login from there would end. */
	check_mend(doctor, "rdma link show    # then an address that one of these reaches");
}

/* Checks addresses that a port reaches only by an unusable interface. */
static bool passed_check(struct doctor *doctor, const struct port *port,
			 const struct sockaddr *dst)
{
	char addr[ADDR_TEXT_MAX];
	struct passed passed;
	struct route route;

	if (route_find(dst, NULL, &route) || route.local ||
	    !netdev_passed(port, route.netdev, &passed))
		return false;
	check_add(doctor, passed.state, passed.id,
		  "%s: the route leaves by %s, and packets of %s/%u do not pass the %s %s",
		  addr_text(dst, addr), route.netdev, port->device,
		  port->number, passed.kind, passed.netdev);
	passed_mend(doctor, port, &passed);
	return true;
}

static void resolve_failure(struct doctor *doctor, const struct sockaddr *dst,
			    const char *device, int err)
{
	char addr[ADDR_TEXT_MAX], next[ADDR_TEXT_MAX], name[QUOTED_MAX];
	char where[QUOTED_MAX];
	const char *state = NULL;
	struct route route;

	addr_text(dst, addr);
	if (!route_find(dst, NULL, &route) && !route.local)
		state = neighbour_state(&route);
	if (err == ETIMEDOUT || err == EHOSTUNREACH ||
	    (state && (!strcmp(state, "FAILED") ||
		       !strcmp(state, "INCOMPLETE")))) {
		check_add(doctor, CHECK_WRONG, "neighbour",
			  "%s: %s does not respond on %s: %s%s%s", addr,
			  addr_text((void *)&route.next, next), device,
			  strerror(err), state ? ", neighbour " : "",
			  state ? state : "");
		next[strcspn(next, "%")] = '\0';
		if (*route.netdev)
			check_mend(doctor, "ip neigh flush to %s dev %s    # then the host and the switch",
				   quoted(next, where),
				   quoted(route.netdev, name));
		else
			check_mend(doctor, "ip route get %s",
				   ip_words(dst, where));
		return;
	}
	check_add(doctor, CHECK_WRONG, "address", "%s: rdma_resolve_addr: %s",
		  addr, strerror(err));
	check_mend(doctor, "ip route get %s", ip_words(dst, where));
}

/* Of "DEVICE/PORT" */
static const struct port *port_named(const struct doctor *doctor,
				     const char *text)
{
	char name[80];
	size_t i;

	for (i = 0; i < doctor->port_count; i++) {
		snprintf(name, sizeof(name), "%s/%u", doctor->ports[i].device,
			 doctor->ports[i].number);
		if (!strcmp(name, text))
			return &doctor->ports[i];
	}
	return NULL;
}

/* Reports the GID of the connection, and its index. */
static void reached(struct doctor *doctor, const struct rdma_cm_id *id,
		    const struct port *known, const struct sockaddr *dst)
{
	char addr[ADDR_TEXT_MAX], text[INET6_ADDRSTRLEN];
	char type[32] = "", next[32];
	const union ibv_gid *want = &id->route.addr.addr.ibaddr.sgid;
	struct port port = { .number = id->port_num };
	unsigned int i, index = 0;
	struct in6_addr gid;

	addr_text(dst, addr);
	if (!id->verbs) {
		check_add(doctor, CHECK_OK, "address", "%s: reached", addr);
		return;
	}
	if (known) {
		port.infiniband = known->infiniband;
		port.iwarp = known->iwarp;
	}
	snprintf(port.device, sizeof(port.device), "%s",
		 ibv_get_device_name(id->verbs->device));
	/* It has one GID, which rdma_cm does not use. */
	if (port.iwarp) {
		check_add(doctor, CHECK_OK, "address",
			  "%s: reached by %s/%u, iWARP", addr, port.device,
			  port.number);
		return;
	}
	inet_ntop(AF_INET6, want, text, sizeof(text));
	/* A GID may also be there as RoCE v1; rdma_cm uses v2 by default. */
	for (i = 0; i < 256 && strcmp(type, "RoCE v2"); i++) {
		if (!port_gid(&port, i, &gid, next) ||
		    memcmp(&gid, want, sizeof(gid)) ||
		    (*type && strcmp(next, "RoCE v2")))
			continue;
		strcpy(type, next);
		index = i;
	}
	if (*type && !strcmp(type, "InfiniBand")) {
		check_add(doctor, CHECK_OK, "address",
			  "%s: reached by %s/%u, GID index %u (%s), P_Key 0x%04x",
			  addr, port.device, port.number, index, text,
			  ntohs(id->route.addr.addr.ibaddr.pkey));
		return;
	}
	if (*type) {
		check_add(doctor, CHECK_OK, "address",
			  "%s: reached by %s/%u, GID index %u (%s), %s", addr,
			  port.device, port.number, index, text, type);
		return;
	}
	check_add(doctor, CHECK_WRONG, "gid-missing",
		  "%s: the GID %s is not in the table of %s/%u", addr, text,
		  port.device, port.number);
	check_mend(doctor, "rdma link show");
}

/*
 * A connection has one peer, and these addresses have none. The kernel resolves
 * them, as it needs no reply.
 */
static bool group_check(struct doctor *doctor, const struct sockaddr *dst)
{
	const struct sockaddr_in6 *in6 = (const void *)dst;
	const struct sockaddr_in *in = (const void *)dst;
	bool multicast = dst->sa_family == AF_INET6 ?
			 IN6_IS_ADDR_MULTICAST(&in6->sin6_addr) :
			 IN_MULTICAST(ntohl(in->sin_addr.s_addr));
	/* A host without a default route has no route to it. */
	bool broadcast = dst->sa_family == AF_INET &&
			 in->sin_addr.s_addr == htonl(INADDR_BROADCAST);
	char addr[ADDR_TEXT_MAX], where[QUOTED_MAX];
	struct route route;

	if (!multicast && !broadcast &&
	    (route_find(dst, NULL, &route) || !route.group))
		return false;
	addr_text(dst, addr);
	check_add(doctor, CHECK_WRONG, "address",
		  "%s: a %s address, which no connection has", addr,
		  multicast ? "multicast" : "broadcast");
	if (multicast)
		check_mend(doctor, "cmx join %s", quoted(addr, where));
	else
		check_mend(doctor, "cmx doctor HOST    # the address of one");
	return true;
}

static void address_check(struct doctor *doctor, struct rdma_addrinfo *ai)
{
	char device[80], addr[ADDR_TEXT_MAX], name[QUOTED_MAX], *number;
	const struct port *port;
	struct rdma_cm_id *id;

	if (group_check(doctor, ai->ai_dst_addr))
		return;
	if (!device_text(ai, device)) {
		unreached(doctor, ai->ai_dst_addr);
		return;
	}
	port = port_named(doctor, device);
	if (port && passed_check(doctor, port, ai->ai_dst_addr))
		return;
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP)) {
		check_add(doctor, CHECK_WRONG, "address", "rdma_create_id: %s",
			  strerror(errno));
		check_mend(doctor, "cmx stat");
		return;
	}
	if (rdma_resolve_addr(id, ai->ai_src_len ? ai->ai_src_addr : NULL,
			      ai->ai_dst_addr, STEP_MS)) {
		resolve_failure(doctor, ai->ai_dst_addr, device, errno);
	} else if (rdma_resolve_route(id, STEP_MS)) {
		check_add(doctor, CHECK_WRONG, "path",
			  "%s: no path by %s: rdma_resolve_route: %s",
			  addr_text(ai->ai_dst_addr, addr), device,
			  strerror(errno));
		number = strchrnul(device, '/');
		if (*number)
			*number++ = '\0';
		check_mend(doctor, "saquery -C %s -P %s PR    # the paths that the subnet administrator has",
			   quoted(device, name), *number ? number : "1");
	} else {
		reached(doctor, id, port, ai->ai_dst_addr);
	}
	rdma_destroy_id(id);
}

/* One is reached: the others are no failure, or that of their rail. */
static void addresses_judge(struct doctor *doctor, size_t first)
{
	bool reached = false;
	size_t i;

	for (i = first; i < doctor->count; i++)
		reached |= doctor->checks[i].state == CHECK_OK;
	for (i = first; reached && i < doctor->count; i++) {
		struct check *check = &doctor->checks[i];

		if (check->state == CHECK_WRONG)
			check->state = !strncmp(check->id, "route-", 6) ?
				       CHECK_OK : CHECK_WARNING;
	}
}

void doctor_target(struct doctor *doctor)
{
	struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *list, *ai;
	char device[QUOTED_MAX];
	size_t first, count = 0;
	int ret, err;

	if (doctor->device < 0)
		return;
	if (device_environment())
		check_add(doctor, CHECK_OK, "device-env",
			  "RDMACMX_DEVICE is %s: only addresses that it reaches",
			  quoted(device_environment(), device));
	ret = rdma_getaddrinfo(doctor->node, doctor->service, &hints, &list);
	err = errno;
	if (ret) {
		name_failure(doctor, ret, err);
		return;
	}
	for (ai = list; ai; ai = ai->ai_next)
		count++;
	check_add(doctor, CHECK_OK, "name", "%s has %zu address%s%s",
		  doctor->node, count, count == 1 ? "" : "es", count > ADDRESSES ?
		  ", more than are checked" : "");
	first = doctor->count;
	for (ai = list, count = 0; ai && count < ADDRESSES;
	     ai = ai->ai_next, count++)
		if (ai->ai_dst_len)
			address_check(doctor, ai);
	rdma_freeaddrinfo(list);
	addresses_judge(doctor, first);
}
