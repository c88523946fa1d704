// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The options and groups of cmx join. */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"

static bool addr_parse(const char *text, struct sockaddr_storage *addr)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *list;

	if (getaddrinfo(text, NULL, &hints, &list))
		return false;
	memcpy(addr, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return true;
}

static bool is_multicast(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	return addr->ss_family == AF_INET ?
	       IN_MULTICAST(ntohl(in->sin_addr.s_addr)) :
	       IN6_IS_ADDR_MULTICAST(&in6->sin6_addr);
}

static bool groups_parse(struct join *join, char **texts, int count)
{
	int i;

	join->groups = calloc(count, sizeof(*join->groups));
	join->attrs = calloc(count, sizeof(*join->attrs));
	if (!join->groups || !join->attrs)
		return failure("out of memory"), false;
	join->ngroups = count;
	join->text = count == 1 ? texts[0] : "the groups";
	for (i = 0; i < count; i++) {
		struct group *group = &join->groups[i];

		group->text = texts[i];
		group->left = true;
		if (!addr_parse(texts[i], &group->addr) ||
		    !is_multicast(&group->addr))
			return misuse("'%s' is not a multicast address like "
				      "239.1.2.3", texts[i]), false;
		if (group->addr.ss_family != join->groups[0].addr.ss_family)
			return misuse("'%s' is of another family than '%s'",
				      texts[i], texts[0]), false;
	}
	return true;
}

/* Parameters of the group, by the option's letter. */
static int wanted_parse(struct rdmacmx_group *wanted, int option,
			const char *text)
{
	static const struct {
		char option;
		uint32_t bit;
		const char *name;
		unsigned long max;
	} known[] = {
		{ 'q', RDMACMX_GROUP_QKEY, "qkey", UINT32_MAX },
		{ 'k', RDMACMX_GROUP_PKEY, "pkey", UINT16_MAX },
		{ 'm', RDMACMX_GROUP_MTU, "mtu", 4096 },
		{ 'r', RDMACMX_GROUP_RATE, "rate", 63 },
		{ 'l', RDMACMX_GROUP_SL, "sl", 15 },
		{ 't', RDMACMX_GROUP_TRAFFIC_CLASS, "traffic-class", 255 },
		{ 'f', RDMACMX_GROUP_FLOW_LABEL, "flow-label", 0xfffff },
		{ 'h', RDMACMX_GROUP_HOP_LIMIT, "hop-limit", 255 },
	};
	unsigned long value;
	size_t i = 0;
	char *end;

	while (known[i].option != option)
		i++;
	errno = 0;
	value = strtoul(text, &end, 0);
	if (errno || *end || *text < '0' || *text > '9' || value > known[i].max)
		return misuse("--%s '%s': a number up to %lu", known[i].name,
			      text, known[i].max);
	wanted->mask |= known[i].bit;
	switch (option) {
	case 'q':
		wanted->qkey = value;
		break;
	case 'k':
		wanted->pkey = value;
		break;
	case 'm':
		for (i = IBV_MTU_256; i <= IBV_MTU_4096; i++)
			if (value == 128UL << i)
				wanted->mtu = i;
		if (!wanted->mtu)
			return misuse("--mtu '%s': 256, 512, 1024, 2048 or "
				      "4096", text);
		break;
	case 'r':
		wanted->rate = value;
		break;
	case 'l':
		wanted->sl = value;
		break;
	case 't':
		wanted->traffic_class = value;
		break;
	case 'f':
		wanted->flow_label = value;
		break;
	case 'h':
		wanted->hop_limit = value;
		break;
	}
	return CMX_OK;
}

static int join_options(struct join *join, int argc, char **argv,
			const char **source, const char **dev)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "send-only", no_argument, NULL, 's' },
		{ "persistent", no_argument, NULL, 'p' },
		{ "source", required_argument, NULL, 'a' },
		{ "dev", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'c' },
		{ "once", no_argument, NULL, 'o' },
		{ "qkey", required_argument, NULL, 'q' },
		{ "pkey", required_argument, NULL, 'k' },
		{ "mtu", required_argument, NULL, 'm' },
		{ "rate", required_argument, NULL, 'r' },
		{ "sl", required_argument, NULL, 'l' },
		{ "traffic-class", required_argument, NULL, 't' },
		{ "flow-label", required_argument, NULL, 'f' },
		{ "hop-limit", required_argument, NULL, 'h' },
		{ .name = NULL },
	};
	int option;

	while ((option = getopt_long(argc, argv, ":j", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			join->json = true;
			break;
		case 's':
			join->send_only = true;
			break;
		case 'p':
			join->persistent = true;
			break;
		case 'a':
			*source = optarg;
			break;
		case 'd':
			*dev = optarg;
			break;
		case 'c':
			if (!number_parse(optarg, 1000000, &join->count) ||
			    !join->count)
				return misuse("--count '%s': a number from 1 "
					      "to 1000000", optarg);
			break;
		case 'o':
			join->once = true;
			break;
		case ':':
		case '?':
			return misuse_option(option, argv, options);
		default:
			if (wanted_parse(&join->wanted, option, optarg))
				return CMX_USAGE;
			break;
		}
	}
	return CMX_OK;
}

int join_parse(struct join *join, int argc, char **argv)
{
	const char *source = NULL, *dev = NULL, *reason;
	int ret, family;

	ret = join_options(join, argc, argv, &source, &dev);
	if (ret)
		return ret;
	if (argc == optind)
		return misuse("join needs a GROUP, a multicast address");
	if (source && dev)
		return misuse("give --source or --dev, not both");
	if (join->once && join->count)
		return misuse("give --once or --count, not both");
	if (join->count && join->send_only && argc - optind > 1)
		return misuse("give one GROUP to send to");
	if (!groups_parse(join, argv + optind, argc - optind))
		return CMX_USAGE;
	family = join->groups[0].addr.ss_family;
	if (source && !addr_parse(source, &join->source))
		return misuse("--source '%s' is not an address", source);
	if (source && join->source.ss_family != family)
		return misuse("--source '%s' is of another family than '%s'",
			      source, join->groups[0].text);
	if (dev && !device_address(dev, family, &join->source, &reason))
		return failure("--dev '%s': %s", dev, reason);
	return CMX_OK;
}
