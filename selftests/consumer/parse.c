// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Queries from text:
 *	NODE PORT [passive] [numerichost] [noroute] [sa] [dns] [cancel-inside]
 *		[own-net] [flags=N] [family=N] [qp=N] [ps=N] [timeout=MS] [later]
 *		[src=ADDRESS [sport=N]] [dst=ADDRESS] [service=TEXT]
 *		[dev=TEXT] [devport=N] [iface=TEXT] [gids] [why] [tos=N] [refresh]
 * NODE and PORT may be "-" for none, ADDRESS a number or "gid:GID"; own-net is
 * the network namespace of the writer. No state.
 */
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "consumer.h"

int consumer_parse_addr(const char *text, union rdma_cmx_sockaddr *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (!strncmp(text, "gid:", 4)) {
		addr->ib.sib_family = AF_IB;
		addr->ib.sib_pkey = htons(0xffff);
		return in6_pton(text + 4, -1, addr->ib.sib_addr.sib_raw, -1,
				NULL) ? 0 : -EINVAL;
	}
	if (in4_pton(text, -1, (u8 *)&addr->in.sin_addr, -1, NULL)) {
		addr->in.sin_family = AF_INET;
		return 0;
	}
	if (in6_pton(text, -1, addr->in6.sin6_addr.s6_addr, -1, NULL)) {
		addr->in6.sin6_family = AF_INET6;
		return 0;
	}
	return -EINVAL;
}

static int parse_value(char *word, char *value, struct consumer_request *q)
{
	u32 n;

	if (!strcmp(word, "src")) {
		q->attr.src = &q->src;
		return consumer_parse_addr(value, &q->src);
	}
	if (!strcmp(word, "dst")) {
		q->attr.dst = &q->dst;
		return consumer_parse_addr(value, &q->dst);
	}
	if (!strcmp(word, "service")) {
		q->attr.service = value;
		return 0;
	}
	if (!strcmp(word, "dev")) {
		q->attr.dev = value;
		return 0;
	}
	if (!strcmp(word, "iface")) {
		q->attr.iface = value;
		return 0;
	}
	if (kstrtou32(value, 0, &n))
		return -EINVAL;
	if (!strcmp(word, "flags"))
		q->attr.flags |= n;
	else if (!strcmp(word, "family"))
		q->attr.family = n;
	else if (!strcmp(word, "qp"))
		q->attr.qp_type = n;
	else if (!strcmp(word, "ps"))
		q->attr.port_space = n;
	else if (!strcmp(word, "devport"))
		q->attr.dev_port = n;
	else if (!strcmp(word, "tos"))
		q->attr.tos = n;
	else if (!strcmp(word, "timeout"))
		q->attr.timeout_ms = n;
	else if (!strcmp(word, "sport"))	/* IPv6 has it there, too. */
		q->src.in.sin_port = htons(n);
	else
		return -EINVAL;
	return 0;
}

static int parse_word(char *word, struct consumer_request *q)
{
	if (!strcmp(word, "passive"))
		q->attr.flags |= RDMA_CMX_AI_PASSIVE;
	else if (!strcmp(word, "numerichost"))
		q->attr.flags |= RDMA_CMX_AI_NUMERICHOST;
	else if (!strcmp(word, "noroute"))
		q->attr.flags |= RDMA_CMX_AI_NOROUTE;
	else if (!strcmp(word, "sa"))
		q->attr.flags |= RDMA_CMX_AI_SA;
	else if (!strcmp(word, "dns"))
		q->attr.flags |= RDMA_CMX_AI_DNS;
	else if (!strcmp(word, "later"))
		q->caller.names_later = true;
	else if (!strcmp(word, "refresh"))
		q->attr.refresh = true;
	else if (!strcmp(word, "gids"))
		q->gids = true;
	else if (!strcmp(word, "why"))
		q->why = true;
	else if (!strcmp(word, "own-net"))
		q->attr.net = current->nsproxy->net_ns;
	else if (!strcmp(word, "cancel-inside"))
		q->cancel_inside = true;
	else
		return -EINVAL;
	return 0;
}

int consumer_parse(char *line, struct consumer_request *q)
{
	char *node, *port, *word, *value;
	int ret;

	memset(q, 0, sizeof(*q));
	q->attr.net = &init_net;

	node = strsep(&line, " ");
	port = strsep(&line, " ");
	if (!node || !port)
		return -EINVAL;
	if (strcmp(node, "-"))
		q->attr.node = node;
	if (strcmp(port, "-")) {
		if (kstrtou16(port, 0, &q->attr.port))
			return -EINVAL;
		q->attr.has_port = true;
	}
	while ((word = strsep(&line, " "))) {
		value = strchr(word, '=');
		if (value) {
			*value++ = 0;
			ret = parse_value(word, value, q);
		} else {
			ret = *word ? parse_word(word, q) : 0;
		}
		if (ret)
			return ret;
	}
	return 0;
}
