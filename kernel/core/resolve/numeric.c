// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Numeric nodes: IPv4, IPv6 with a zone, GIDs. No state, any context.
 *
 * Programs check a text with libc before they pass it on. So a text is a number
 * exactly if getaddrinfo(3) reads it as one, with the same value. The kernel's
 * parsers (in4_pton(), in6_pton()) read some texts differently.
 */
#include <linux/ctype.h>
#include <linux/if.h>
#include <linux/netdevice.h>
#include <linux/string.h>
#include <net/ipv6.h>

#include "resolve/resolve.h"

/*
 * Parses digits up to the first other byte, where *@text then points. At most
 * 32 bits. Inline: most texts are decimal and need no call for each digit.
 */
static __always_inline bool cmx_digits_parse(const char **text, u32 base,
					     u32 *part)
{
	const char *p = *text;
	u64 value = 0;
	u32 digit;

	for (;; p++) {
		digit = base > 10 ? hex_to_bin(*p) : *p - '0';
		if (digit >= base)
			break;
		value = value * base + digit;
		if (value > U32_MAX)
			return false;
	}
	*text = p;
	*part = value;
	return true;
}

/*
 * Parses one part of an IPv4 number in C notation: octal after 0, hexadecimal
 * after 0x, else decimal. Moves @text behind it.
 */
static bool cmx_part_parse(const char **text, u32 *part)
{
	const char *p = *text;

	if (!isdigit(*p))
		return false;
	if (*p != '0')
		return cmx_digits_parse(text, 10, part);
	if ((p[1] | 0x20) != 'x' || !isxdigit(p[2]))
		return cmx_digits_parse(text, 8, part);
	*text += 2;
	return cmx_digits_parse(text, 16, part);
}

/* One to four parts; the last one fills the remaining bytes: inet_aton(3). */
static bool cmx_in4_parse(const char *text, __be32 *addr)
{
	u32 value = 0, part;
	int parts;

	for (parts = 0; parts < 4; parts++) {
		if (!cmx_part_parse(&text, &part))
			return false;
		if (!*text) {
			if ((u64)part >> (32 - 8 * parts))
				return false;
			*addr = htonl(value | part);
			return true;
		}
		if (*text++ != '.' || part > 0xff)
			return false;
		value |= part << (24 - 8 * parts);
	}
	return false;
}

/* Four decimal parts without leading zeros, at the end of an IPv6 number. */
static bool cmx_quad_parse(const char *text, const char *end, u8 quad[4])
{
	int i, value;

	for (i = 0; i < 4; i++) {
		if (text == end || !isdigit(*text) ||
		    (*text == '0' && text + 1 != end && isdigit(text[1])))
			return false;
		for (value = 0; text != end && isdigit(*text); text++) {
			value = value * 10 + *text - '0';
			if (value > 0xff)
				return false;
		}
		quad[i] = value;
		if (i < 3 && (text == end || *text++ != '.'))
			return false;
	}
	return text == end;
}

/* Up to four hexadecimal digits. Returns their number, 5 for more than four. */
static int cmx_group_parse(const char *text, const char *end, u8 group[2])
{
	u32 value = 0;
	int len;

	for (len = 0; len < 5 && text + len != end && isxdigit(text[len]); len++)
		value = value << 4 | hex_to_bin(text[len]);
	group[0] = value >> 8;
	group[1] = value;
	return len;
}

/* As inet_pton(3), for the text up to @end */
static bool cmx_in6_parse(const char *text, const char *end,
			  struct in6_addr *addr)
{
	int used = 0, gap = -1, len;
	u8 *bytes = addr->s6_addr;

	if (end - text >= 2 && text[0] == ':' && text[1] == ':') {
		gap = 0;
		text += 2;
	}
	while (text != end) {
		if (used == sizeof(*addr))
			return false;
		len = cmx_group_parse(text, end, bytes + used);
		if (len && text + len != end && text[len] == '.') {
			if (used > sizeof(*addr) - 4 ||
			    !cmx_quad_parse(text, end, bytes + used))
				return false;
			used += 4;
			break;
		}
		if (!len || len > 4)
			return false;
		used += 2;
		text += len;
		if (text == end)
			break;
		/* A colon, and a text behind it */
		if (*text++ != ':' || text == end)
			return false;
		if (*text == ':') {
			if (gap >= 0)
				return false;
			gap = used;
			text++;
		}
	}
	if (gap < 0)
		return used == sizeof(*addr);
	/* A gap has at least one group. */
	if (used == sizeof(*addr))
		return false;
	memmove(bytes + sizeof(*addr) - (used - gap), bytes + gap, used - gap);
	memset(bytes + gap, 0, sizeof(*addr) - used);
	return true;
}

/* kstrtou32() also accepts a sign before it and a newline behind it. */
static bool cmx_is_decimal(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

/* Addresses whose zone may be an interface name */
static bool cmx_zone_named(const struct in6_addr *addr)
{
	return ipv6_addr_type(addr) & IPV6_ADDR_LINKLOCAL ||
	       (addr->s6_addr[0] == 0xff && (addr->s6_addr[1] & 0xf) == 1);
}

/* The interface of a zone in that namespace: by name, then by index */
static int cmx_zone_parse(struct net *net, const struct in6_addr *addr,
			  const char *zone, u32 *scope)
{
	struct net_device *ndev = NULL;
	int ret = -ENOENT;
	u32 index;

	rcu_read_lock();
	if (cmx_zone_named(addr) && strnlen(zone, IFNAMSIZ) < IFNAMSIZ)
		ndev = dev_get_by_name_rcu(net, zone);
	if (!ndev && cmx_is_decimal(zone) && !kstrtou32(zone, 10, &index))
		ndev = dev_get_by_index_rcu(net, index);
	if (ndev) {
		*scope = ndev->ifindex;
		ret = 0;
	}
	rcu_read_unlock();
	return ret;
}

/*
 * Returns 1 and fills @addr if @node is a number, 0 if it is none, or the
 * negative errno of the query.
 */
int cmx_numeric_parse(const struct cmx_hints *h, const char *node,
		      union rdma_cmx_sockaddr *addr)
{
	struct in6_addr in6;
	const char *end;
	u32 scope = 0;
	__be32 in;
	int ret;

	if (cmx_in4_parse(node, &in)) {
		if (h->family && h->family != AF_INET)
			return -EADDRNOTAVAIL;
		memset(addr, 0, sizeof(*addr));
		addr->in.sin_family = AF_INET;
		addr->in.sin_addr.s_addr = in;
		cmx_addr_set_port(addr, h->port_space, h->port);
		return 1;
	}

	/* Most names end here. */
	if (*node != ':' && !isxdigit(*node))
		return 0;
	end = strchrnul(node, '%');
	if (!cmx_in6_parse(node, end, &in6))
		return 0;
	if (h->family == AF_INET)
		return -EADDRNOTAVAIL;
	if (*end) {
		ret = cmx_zone_parse(h->net, &in6, end + 1, &scope);
		if (ret)
			return ret;
	}

	memset(addr, 0, sizeof(*addr));
	if (h->family == AF_IB) {
		addr->ib.sib_family = AF_IB;
		addr->ib.sib_pkey = htons(0xffff);
		memcpy(addr->ib.sib_addr.sib_raw, in6.s6_addr, sizeof(in6));
		addr->ib.sib_scope_id = scope;
	} else {
		addr->in6.sin6_family = AF_INET6;
		addr->in6.sin6_addr = in6;
		addr->in6.sin6_scope_id = scope;
	}
	cmx_addr_set_port(addr, h->port_space, h->port);
	return 1;
}
