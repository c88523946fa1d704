// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx doctor: the kernel's view of the network. Types of interfaces, their
 * masters, routes and neighbours (by rtnetlink).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netpacket/packet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmx.h"
#include "doctor.h"

/* IPv4 addresses have labels: the name, and maybe ":" and more. */
static bool netdev_is(const char *netdev, const struct ifaddrs *at)
{
	size_t len = strcspn(at->ifa_name, ":");

	return strlen(netdev) == len && !strncmp(at->ifa_name, netdev, len);
}

/*
 * All addresses at the time of the first call: there may be thousands, and each
 * interface of a port is searched for among them. Never freed. NULL: they
 * cannot be read.
 */
static const struct ifaddrs *addresses(void)
{
	static struct ifaddrs *list;

	if (!list && getifaddrs(&list))
		list = NULL;
	return list;
}

bool netdev_has_address(const char *netdev)
{
	const struct sockaddr_in6 *in6;
	const struct ifaddrs *at;
	bool found = false;

	for (at = addresses(); at && !found; at = at->ifa_next) {
		if (!at->ifa_addr || !netdev_is(netdev, at))
			continue;
		in6 = (const void *)at->ifa_addr;
		found = at->ifa_addr->sa_family == AF_INET ||
			(at->ifa_addr->sa_family == AF_INET6 &&
			 !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr));
	}
	return found;
}

/* The default GID contains the MAC address as EUI-64, or with a dev_id. */
static bool gid_of_mac(const struct in6_addr *gid, const struct ifaddrs *at)
{
	const struct sockaddr_ll *ll = (const void *)at->ifa_addr;
	const unsigned char *mac = ll->sll_addr, *eui = gid->s6_addr + 8;

	if (ll->sll_halen != 6)
		return false;
	/* iWARP has nothing but the MAC address. */
	if (!memcmp(gid->s6_addr, mac, 6))
		return true;
	return IN6_IS_ADDR_LINKLOCAL(gid) && !((eui[0] ^ mac[0]) & ~2) &&
	       !memcmp(eui + 1, mac + 1, 2) && !memcmp(eui + 5, mac + 3, 3);
}

bool netdev_has_gid(const char *netdev, const struct in6_addr *gid)
{
	const struct ifaddrs *at;
	bool found = false;

	for (at = addresses(); at && !found; at = at->ifa_next) {
		const struct sockaddr_in *in = (const void *)at->ifa_addr;
		const struct sockaddr_in6 *in6 = (const void *)at->ifa_addr;

		if (!at->ifa_addr || !netdev_is(netdev, at))
			continue;
		if (at->ifa_addr->sa_family == AF_INET)
			found = IN6_IS_ADDR_V4MAPPED(gid) &&
				!memcmp(gid->s6_addr + 12, &in->sin_addr, 4);
		else if (at->ifa_addr->sa_family == AF_INET6)
			found = !memcmp(gid, &in6->sin6_addr, sizeof(*gid));
		else if (at->ifa_addr->sa_family == AF_PACKET)
			found = gid_of_mac(gid, at);
	}
	return found;
}

bool netdev_master(const char *netdev, char master[IF_NAMESIZE])
{
	char path[128], target[256];
	const char *base;
	ssize_t len;

	snprintf(path, sizeof(path), "/sys/class/net/%s/master", netdev);
	len = readlink(path, target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	target[len] = '\0';
	base = strrchr(target, '/');
	snprintf(master, IF_NAMESIZE, "%.15s", base ? base + 1 : target);
	return true;
}

/* A chain of interfaces is short; the kernel allows 8. */
#define DEPTH	8

/* Gets the links to lower interfaces, to be freed; false: none. */
static bool lowers_find(const char *netdev, glob_t *files)
{
	char path[128], escaped[2 * IF_NAMESIZE], *to;

	for (to = escaped; *netdev && to < escaped + sizeof(escaped) - 2;
	     *to++ = *netdev++)
		if (strchr("*?[\\", *netdev))
			*to++ = '\\';
	*to = 0;
	snprintf(path, sizeof(path), "/sys/class/net/%s/lower_*", escaped);
	return !glob(path, 0, NULL, files);
}

static void lower_name(const char *path, char name[IF_NAMESIZE])
{
	snprintf(name, IF_NAMESIZE, "%.15s",
		 strrchr(path, '/') + strlen("/lower_"));
}

void netdev_below_vlans(const char *netdev, char lower[IF_NAMESIZE])
{
	unsigned int depth;
	char kind[32];
	glob_t files;

	snprintf(lower, IF_NAMESIZE, "%.15s", netdev);
	for (depth = 0; depth < DEPTH; depth++) {
		netdev_kind(lower, kind);
		if (strcmp(kind, "vlan") || !lowers_find(lower, &files))
			return;
		lower_name(files.gl_pathv[0], lower);
		globfree(&files);
	}
}

bool netdev_is_upper(const char *netdev)
{
	glob_t files;

	if (!lowers_find(netdev, &files))
		return false;
	globfree(&files);
	return true;
}

/* A bridge may have a thousand ports, each of which may have as many. */
#define LOWERS	4096

static const struct port *port_below(const struct doctor *doctor,
				     const char *netdev,
				     char lower[IF_NAMESIZE],
				     unsigned int depth, unsigned int *left)
{
	const struct port *port = NULL;
	char name[IF_NAMESIZE];
	glob_t files;
	size_t i;

	if (!depth || !lowers_find(netdev, &files))
		return NULL;
	for (i = 0; i < files.gl_pathc && !port && *left; i++) {
		--*left;
		lower_name(files.gl_pathv[i], name);
		port = port_of_netdev(doctor, name);
		if (port)
			strcpy(lower, name);
		else
			port = port_below(doctor, name, lower, depth - 1,
					  left);
	}
	globfree(&files);
	return port;
}

const struct port *netdev_port_below(const struct doctor *doctor,
				     const char *netdev,
				     char lower[IF_NAMESIZE])
{
	unsigned int left = LOWERS;

	return port_below(doctor, netdev, lower, DEPTH, &left);
}

static const void *address_of(const struct sockaddr *addr, size_t *len)
{
	if (addr->sa_family == AF_INET6) {
		*len = 16;
		return &((const struct sockaddr_in6 *)addr)->sin6_addr;
	}
	*len = 4;
	return &((const struct sockaddr_in *)addr)->sin_addr;
}

/* One request of rtnetlink with one reply. */
struct message {
	struct nlmsghdr head;
	union {
		struct rtmsg route;
		struct ndmsg neighbour;
		struct ifinfomsg link;
	};
	char attrs[64];
};

static void attr_add(struct message *msg, int type, const void *data,
		     size_t len)
{
	struct rtattr *attr = (void *)((char *)msg +
				       NLMSG_ALIGN(msg->head.nlmsg_len));

	attr->rta_type = type;
	attr->rta_len = RTA_LENGTH(len);
	memcpy(RTA_DATA(attr), data, len);
	msg->head.nlmsg_len = NLMSG_ALIGN(msg->head.nlmsg_len) +
			      RTA_ALIGN(attr->rta_len);
}

/* Returns 0 and a reply of the requested type in @reply, or an errno. */
static int request(struct message *msg, int type, void *reply, size_t size)
{
	const struct timeval limit = { .tv_sec = 2 };
	const struct nlmsghdr *head = reply;
	const struct nlmsgerr *error;
	int fd, ret = 0;
	ssize_t len;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	msg->head.nlmsg_flags = NLM_F_REQUEST;
	if (send(fd, msg, msg->head.nlmsg_len, 0) < 0)
		ret = errno;
	len = ret ? 0 : recv(fd, reply, size, 0);
	if (len < 0)
		ret = errno;
	close(fd);
	if (ret)
		return ret;
	if (!NLMSG_OK(head, (size_t)len))
		return EPROTO;
	if (head->nlmsg_type == NLMSG_ERROR) {
		error = NLMSG_DATA(head);
		return head->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)) &&
		       error->error ? -error->error : EPROTO;
	}
	return head->nlmsg_type == type ? 0 : EPROTO;
}

/* An attribute of that type, or NULL */
static const struct rtattr *attr_find(const struct rtattr *attr, int left,
				      int type)
{
	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left))
		if ((attr->rta_type & NLA_TYPE_MASK) == type)
			return attr;
	return NULL;
}

void netdev_kind(const char *netdev, char kind[32])
{
	char reply[16384] __attribute__((aligned(8))) = "";
	const struct nlmsghdr *head = (const void *)reply;
	struct message msg = {
		.head.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
		.head.nlmsg_type = RTM_GETLINK,
		.link.ifi_index = if_nametoindex(netdev),
	};
	const struct rtattr *attr;

	strcpy(kind, "interface");
	if (!msg.link.ifi_index ||
	    request(&msg, RTM_NEWLINK, reply, sizeof(reply)))
		return;
	attr = attr_find(IFLA_RTA(NLMSG_DATA(head)),
			 IFLA_PAYLOAD(head), IFLA_LINKINFO);
	if (attr)
		attr = attr_find(RTA_DATA(attr), RTA_PAYLOAD(attr),
				 IFLA_INFO_KIND);
	if (attr && RTA_PAYLOAD(attr))
		snprintf(kind, 32, "%.*s", (int)RTA_PAYLOAD(attr),
			 (const char *)RTA_DATA(attr));
}

/* The matching route as it was added, with its table */
#define ROUTE_MATCH	(RTM_F_FIB_MATCH | RTM_F_LOOKUP_TABLE)

/* The reply to a request for the route to @addr by @oif, or an errno */
static int route_get(const struct sockaddr *addr, uint32_t oif,
		     unsigned int flags, void *reply, size_t size)
{
	struct message msg = {
		.head.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
		.head.nlmsg_type = RTM_GETROUTE,
		.route.rtm_family = addr->sa_family,
		.route.rtm_flags = flags,
	};
	const void *data;
	size_t len;

	data = address_of(addr, &len);
	msg.route.rtm_dst_len = 8 * len;
	attr_add(&msg, RTA_DST, data, len);
	if (!oif && len == 16)
		oif = ((const struct sockaddr_in6 *)addr)->sin6_scope_id;
	if (oif)
		attr_add(&msg, RTA_OIF, &oif, sizeof(oif));
	return request(&msg, RTM_NEWROUTE, reply, size);
}

int route_find(const struct sockaddr *addr, const char *vrf,
	       struct route *route)
{
	char reply[4096] __attribute__((aligned(8))) = "";
	const struct nlmsghdr *head = (const void *)reply;
	const struct rtmsg *rtm = NLMSG_DATA(head);
	const struct rtattr *attr;
	unsigned int of = vrf ? if_nametoindex(vrf) : 0;
	size_t len;
	int ret, left;

	memset(route, 0, sizeof(*route));
	/*
	 * The VRF was removed: without an index, the main table would be read.
	 */
	if (vrf && !of)
		return ENODEV;
	address_of(addr, &len);
	memcpy(&route->next, addr, len == 4 ? sizeof(struct sockaddr_in) :
				   sizeof(struct sockaddr_in6));
	ret = route_get(addr, of, 0, reply, sizeof(reply));
	if (ret)
		return ret;
	if (rtm->rtm_type == RTN_UNREACHABLE || rtm->rtm_type == RTN_BLACKHOLE)
		return ENETUNREACH;
	if (rtm->rtm_type == RTN_PROHIBIT)
		return EACCES;
	route->local = rtm->rtm_type == RTN_LOCAL;
	route->group = rtm->rtm_type == RTN_BROADCAST ||
		       rtm->rtm_type == RTN_MULTICAST;
	left = RTM_PAYLOAD(head);
	for (attr = RTM_RTA(rtm); RTA_OK(attr, left);
	     attr = RTA_NEXT(attr, left)) {
		if (attr->rta_type == RTA_OIF &&
		    RTA_PAYLOAD(attr) == sizeof(unsigned int)) {
			unsigned int index;

			memcpy(&index, RTA_DATA(attr), sizeof(index));
			if (!if_indextoname(index, route->netdev))
				return ENODEV;
		} else if (attr->rta_type == RTA_GATEWAY &&
			   RTA_PAYLOAD(attr) == len) {
			memcpy((void *)address_of((void *)&route->next, &len),
			       RTA_DATA(attr), len);
		} else if (attr->rta_type == RTA_PREFSRC &&
			   RTA_PAYLOAD(attr) == len) {
			route->source.ss_family = addr->sa_family;
			memcpy((void *)address_of((void *)&route->source, &len),
			       RTA_DATA(attr), len);
		}
	}
	return 0;
}

unsigned int route_length(const struct sockaddr *addr)
{
	char reply[4096] __attribute__((aligned(8))) = "";
	const struct rtmsg *rtm = NLMSG_DATA((struct nlmsghdr *)reply);

	return route_get(addr, 0, ROUTE_MATCH, reply,
			 sizeof(reply)) ? 0 : rtm->rtm_dst_len;
}

/* One number of a route's metrics, as ip writes it; false: another kind */
static bool metric_text(const struct rtattr *attr, FILE *file)
{
	static const char *const names[RTAX_MAX + 1] = {
		[RTAX_MTU] = "mtu", [RTAX_WINDOW] = "window",
		[RTAX_ADVMSS] = "advmss", [RTAX_REORDERING] = "reordering",
		[RTAX_HOPLIMIT] = "hoplimit", [RTAX_INITCWND] = "initcwnd",
		[RTAX_INITRWND] = "initrwnd", [RTAX_QUICKACK] = "quickack",
	};
	uint32_t value;

	if (attr->rta_type > RTAX_MAX || !names[attr->rta_type] ||
	    RTA_PAYLOAD(attr) != sizeof(value))
		return false;
	memcpy(&value, RTA_DATA(attr), sizeof(value));
	fprintf(file, " %s %u", names[attr->rta_type], value);
	return true;
}

/* An attribute of a route that its header lacks; false likewise */
static bool attr_text(const struct rtattr *attr, int family, FILE *file)
{
	const struct rtattr *metric = RTA_DATA(attr);
	int left = RTA_PAYLOAD(attr);
	char text[INET6_ADDRSTRLEN];
	bool known = true;
	uint32_t value = 0;

	if (left >= (int)sizeof(value))
		memcpy(&value, RTA_DATA(attr), sizeof(value));
	switch (attr->rta_type) {
	case RTA_DST:
	case RTA_OIF:
	case RTA_PREFSRC:
	case RTA_CACHEINFO:	/* of IPv6, what it counts; the rest below */
		return true;
	case RTA_GATEWAY:
		if (left != (family == AF_INET ? 4 : 16))
			return false;
		inet_ntop(family, RTA_DATA(attr), text, sizeof(text));
		fprintf(file, " via %s", text);
		return true;
	case RTA_TABLE:
		fprintf(file, " table %u", value);
		return true;
	case RTA_PRIORITY:
		fprintf(file, " metric %u", value);
		return true;
	case RTA_PREF:		/* medium is the default */
		return left == 1 && !*(const char *)RTA_DATA(attr);
	case RTA_METRICS:
		for (; known && RTA_OK(metric, left);
		     metric = RTA_NEXT(metric, left))
			known = metric_text(metric, file);
		return known;
	}
	return false;
}

/* True if the route expires, which only IPv6 supports */
static bool expires(const struct rtattr *attr)
{
	const struct rta_cacheinfo *info = RTA_DATA(attr);

	return attr->rta_type == RTA_CACHEINFO &&
	       (RTA_PAYLOAD(attr) < sizeof(*info) || info->rta_expires);
}

bool route_unsourced(const struct sockaddr *addr, const char *dev,
		     char *text, size_t size)
{
	char reply[4096] __attribute__((aligned(8))) = "";
	const struct nlmsghdr *head = (const void *)reply;
	const struct rtmsg *rtm = NLMSG_DATA(head);
	const struct rtattr *attr, *dst;
	char to[INET6_ADDRSTRLEN] = "::";
	bool known;
	FILE *file;
	int left;

	/*
	 * "ip route change" replaces the first route of that prefix and metric,
	 * and each interface has one of these.
	 */
	if (addr->sa_family == AF_INET6 &&
	    ((const struct sockaddr_in6 *)addr)->sin6_scope_id)
		return false;
	if (route_get(addr, 0, ROUTE_MATCH, reply, sizeof(reply)))
		return false;
	left = RTM_PAYLOAD(head);
	dst = attr_find(RTM_RTA(rtm), left, RTA_DST);
	known = rtm->rtm_type == RTN_UNICAST && !rtm->rtm_src_len &&
		attr_find(RTM_RTA(rtm), left, RTA_PREFSRC) &&
		!(rtm->rtm_flags & ~(RTM_F_FIB_MATCH | RTM_F_OFFLOAD |
				     RTM_F_OFFLOAD_FAILED | RTM_F_TRAP |
				     RTNH_F_ONLINK | RTNH_F_LINKDOWN |
				     RTNH_F_OFFLOAD | RTNH_F_TRAP));
	if (rtm->rtm_family == AF_INET)
		strcpy(to, "0.0.0.0");
	if (dst && RTA_PAYLOAD(dst) == (rtm->rtm_family == AF_INET ? 4 : 16))
		inet_ntop(rtm->rtm_family, RTA_DATA(dst), to, sizeof(to));
	file = fmemopen(text, size, "w");
	if (!file)
		return false;
	fprintf(file, "%s/%u dev %s proto %u", to, rtm->rtm_dst_len, dev,
		rtm->rtm_protocol);
	/* Those of IPv6 have none. */
	if (rtm->rtm_family == AF_INET)
		fprintf(file, " scope %u", rtm->rtm_scope);
	if (rtm->rtm_tos)
		fprintf(file, " tos 0x%02x", rtm->rtm_tos);
	if (rtm->rtm_flags & RTNH_F_ONLINK)
		fputs(" onlink", file);
	for (attr = RTM_RTA(rtm); known && RTA_OK(attr, left);
	     attr = RTA_NEXT(attr, left))
		known = attr_text(attr, rtm->rtm_family, file) &&
			!expires(attr);
	/* If it does not fit, the last character is missing. */
	return !fclose(file) && known && strlen(text) < size - 1;
}

bool netdev_owns_address(const char *netdev, const struct sockaddr *addr)
{
	const struct ifaddrs *at;
	const void *data;
	bool found = false;
	size_t len;

	data = address_of(addr, &len);
	for (at = addresses(); at && !found; at = at->ifa_next)
		found = at->ifa_addr &&
			at->ifa_addr->sa_family == addr->sa_family &&
			netdev_is(netdev, at) &&
			!memcmp(address_of(at->ifa_addr, &len), data, len);
	return found;
}

/* Bits of @mask if @a and @b are equal in them; else -1 */
static int same_network(const struct sockaddr *a, const struct sockaddr *b,
			const struct sockaddr *mask)
{
	const unsigned char *x, *y, *m;
	int bits = 0;
	size_t len, i;

	x = address_of(a, &len);
	y = address_of(b, &len);
	m = address_of(mask, &len);
	for (i = 0; i < len; i++) {
		if ((x[i] ^ y[i]) & m[i])
			return -1;
		bits += __builtin_popcount(m[i]);
	}
	return bits;
}

bool netdev_down_to(const struct sockaddr *addr, char netdev[IF_NAMESIZE])
{
	int bits, longest = route_length(addr);
	const struct ifaddrs *at;
	bool found = false;

	for (at = addresses(); at; at = at->ifa_next) {
		if (!at->ifa_addr || !at->ifa_netmask ||
		    at->ifa_addr->sa_family != addr->sa_family ||
		    (at->ifa_flags & IFF_UP))
			continue;
		bits = same_network(addr, at->ifa_addr, at->ifa_netmask);
		if (bits < longest || (found && bits == longest))
			continue;
		found = true;
		longest = bits;
		snprintf(netdev, IF_NAMESIZE, "%.*s",
			 (int)strcspn(at->ifa_name, ":"), at->ifa_name);
	}
	return found;
}

const char *neighbour_state(const struct route *route)
{
	static const struct {
		unsigned int bit;
		const char *name;
	} names[] = {
		{ NUD_FAILED, "FAILED" }, { NUD_INCOMPLETE, "INCOMPLETE" },
		{ NUD_REACHABLE, "REACHABLE" }, { NUD_STALE, "STALE" },
		{ NUD_DELAY, "DELAY" }, { NUD_PROBE, "PROBE" },
		{ NUD_PERMANENT, "PERMANENT" }, { NUD_NOARP, "NOARP" },
	};
	char reply[4096] __attribute__((aligned(8))) = "";
	const struct ndmsg *ndm = NLMSG_DATA((struct nlmsghdr *)reply);
	struct message msg = {
		.head.nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)),
		.head.nlmsg_type = RTM_GETNEIGH,
		.neighbour.ndm_family = route->next.ss_family,
		.neighbour.ndm_ifindex = if_nametoindex(route->netdev),
	};
	const void *data;
	size_t len, i;

	data = address_of((const void *)&route->next, &len);
	attr_add(&msg, NDA_DST, data, len);
	if (request(&msg, RTM_NEWNEIGH, reply, sizeof(reply)))
		return NULL;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (ndm->ndm_state & names[i].bit)
			return names[i].name;
	return NULL;
}
