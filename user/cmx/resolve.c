// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx resolve: the result of rdma_getaddrinfo(3) for a name, and the RDMA
 * device behind each source address.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"

struct query {
	const char *node;
	const char *service;
	const char *device;	/* NULL: any */
	const char *env;	/* form of the output, or NULL */
	struct rdma_addrinfo hints;
	bool json;
};

const char *device_text(const struct rdma_addrinfo *ai, char text[80])
{
	const char *name;
	uint8_t port;

	name = rdmacmx_ai_device(ai, &port);
	if (!name)
		return NULL;
	snprintf(text, 80, "%s/%u", name, port);
	return text;
}

/* Index and type of the local GID; false: not known */
static bool gid_text(const struct rdma_addrinfo *ai, int *index,
		     const char **type)
{
	int gid_type;

	*index = rdmacmx_ai_gid_index(ai, &gid_type);
	if (*index < 0)
		return false;
	*type = gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCEv2" :
		gid_type == IBV_GID_TYPE_ROCE_V1 ? "RoCEv1" : "IB";
	return true;
}

const char *type_text(int qp_type)
{
	switch (qp_type) {
	case IBV_QPT_RC:
		return "RC";
	case IBV_QPT_UC:
		return "UC";
	case IBV_QPT_UD:
		return "UD";
	case IBV_QPT_XRC_SEND:
		return "XRC_SEND";
	case IBV_QPT_XRC_RECV:
		return "XRC_RECV";
	}
	return "?";
}

const char *space_text(int port_space)
{
	switch (port_space) {
	case RDMA_PS_TCP:
		return "TCP";
	case RDMA_PS_UDP:
		return "UDP";
	case RDMA_PS_IPOIB:
		return "IPOIB";
	case RDMA_PS_IB:
		return "IB";
	}
	return "?";
}

static const char *hint(int error, const struct query *query)
{
	switch (error) {
	case EAI_NONAME:
		if (query->hints.ai_flags & RAI_NUMERICHOST)
			return "it is not an address, and -n forbids a name lookup";
		return "check the spelling, /etc/hosts and the DNS zone";
	case EAI_AGAIN:
		return "no name server responded: check /etc/resolv.conf, or "
		       "try again later";
	case EAI_FAIL:
		return "the name server refuses the query: see its log";
	case EAI_NODATA:
		return "the name exists, but has no address";
	case EAI_ADDRFAMILY:
		return "it has addresses of the other family only: leave out "
		       "-4 or -6";
	case EAI_SERVICE:
		return "a service is a port from 0 to 65535 or a name in "
		       "/etc/services for this transport";
	}
	return NULL;
}

static int resolve_failure(int error, const struct query *query)
{
	const char *node = query->node ? query->node : "-";
	const char *what = hint(error, query);
	int err = errno;

	if (query->device && error == EAI_SYSTEM && err == ENODEV)
		return failure("--dev '%s': there is no such RDMA device, see: "
			       "rdma link", query->device);
	if (query->device && error == EAI_SYSTEM && err == ENXIO)
		return failure("--dev '%s': the device has no such port, see: "
			       "rdma link", query->device);
	if (query->device && error == EAI_SYSTEM && err == ENETUNREACH)
		return failure("%s: RDMA device '%s' reaches none of its "
			       "addresses: without --dev all are listed",
			       node, query->device);
	if (query->device && error == EAI_BADFLAGS)
		return failure("--dev '%s': the loaded module rdma_ucmx is "
			       "older than that option", query->device);
	if (error == -1 || error == EAI_SYSTEM)
		return failure("%s%s%s: %s", node,
			       query->service ? " " : "",
			       query->service ? query->service : "",
			       strerror(err));
	return failure("%s%s%s: %s%s%s", node, query->service ? " " : "",
		       query->service ? query->service : "",
		       gai_strerror(error), what ? ": " : "",
		       what ? what : "");
}

static void result_json(const struct query *query,
			const struct rdma_addrinfo *list, double ms)
{
	const bool passive = query->hints.ai_flags & RAI_PASSIVE;
	struct json json = { .file = stdout };
	const struct rdma_addrinfo *ai;
	char text[ADDR_TEXT_MAX], name[80];
	const char *type = NULL;
	int index;

	json_open(&json, NULL, '{');
	json_text(&json, "node", query->node);
	json_text(&json, "service", query->service);
	json_text(&json, "canonical_name",
		  passive ? list->ai_src_canonname : list->ai_dst_canonname);
	json_number(&json, "microseconds", ms * 1000);
	json_open(&json, "addresses", '[');
	for (ai = list; ai; ai = ai->ai_next) {
		json_open(&json, NULL, '{');
		json_text(&json, "destination", ai->ai_dst_len ?
			  addr_text(ai->ai_dst_addr, text) : NULL);
		json_text(&json, "source", ai->ai_src_len ?
			  addr_text(ai->ai_src_addr, text) : NULL);
		json_number(&json, "port",
			    addr_port(passive ? ai->ai_src_addr :
					        ai->ai_dst_addr));
		json_text(&json, "qp_type", type_text(ai->ai_qp_type));
		json_text(&json, "port_space", space_text(ai->ai_port_space));
		json_text(&json, "device", device_text(ai, name));
		if (gid_text(ai, &index, &type)) {
			json_number(&json, "gid_index", index);
			json_text(&json, "gid_type", type);
		} else {
			json_text(&json, "gid_index", NULL);
			json_text(&json, "gid_type", NULL);
		}
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

static int result_table(const struct query *query,
			const struct rdma_addrinfo *list, double ms)
{
	static const char *const head[] = {
		"DESTINATION", "SOURCE", "PORT", "TYPE", "DEVICE", "GID",
		"GID-TYPE",
	};
	struct table table = { .columns = 7 };
	char dst[ADDR_TEXT_MAX], src[ADDR_TEXT_MAX], port[8], type[24];
	const struct rdma_addrinfo *ai;
	const char *device, *canon, *gid_type;
	char name[80], gid[16], text[CLEAN_MAX];
	size_t count = 0;
	bool ok;
	int index;

	ok = table_add(&table, head);
	for (ai = list; ai && ok; ai = ai->ai_next, count++) {
		snprintf(port, sizeof(port), "%u",
			 addr_port(ai->ai_dst_len ? ai->ai_dst_addr :
				   ai->ai_src_addr));
		snprintf(type, sizeof(type), "%s/%s",
			 type_text(ai->ai_qp_type),
			 space_text(ai->ai_port_space));
		device = device_text(ai, name);
		if (gid_text(ai, &index, &gid_type)) {
			snprintf(gid, sizeof(gid), "%d", index);
		} else {
			strcpy(gid, "-");
			gid_type = "-";
		}
		ok = table_add(&table, (const char *const []) {
			addr_text(ai->ai_dst_len ? ai->ai_dst_addr : NULL, dst),
			addr_text(ai->ai_src_len ? ai->ai_src_addr : NULL, src),
			port, type, device ? device : "-", gid, gid_type,
		});
	}
	if (ok)
		table_print(&table);
	table_free(&table);
	if (!ok)
		return failure("out of memory");
	canon = list->ai_dst_canonname ? list->ai_dst_canonname :
					 list->ai_src_canonname;
	printf("%zu %s in %.3f ms%s%s\n", count,
	       count == 1 ? "entry" : "entries", ms,
	       canon ? ", canonical name " : "", clean(canon ?: "", text));
	return CMX_OK;
}

static int resolve(const struct query *query)
{
	struct timespec start, end;
	struct rdma_addrinfo *list;
	int ret;

	if (device_check())
		return CMX_FAILED;
	clock_gettime(CLOCK_MONOTONIC, &start);
	ret = rdmacmx_getaddrinfo(query->device, query->node, query->service,
				  &query->hints, &list);
	if (ret)
		return resolve_failure(ret, query);
	clock_gettime(CLOCK_MONOTONIC, &end);

	double ms = (end.tv_sec - start.tv_sec) * 1e3 +
		    (end.tv_nsec - start.tv_nsec) / 1e6;

	if (query->env)
		ret = env_print(query->env, list);
	else if (query->json)
		result_json(query, list, ms);
	else
		ret = result_table(query, list, ms);
	rdma_freeaddrinfo(list);
	return ret;
}

/* Most callers need RC connections; "any" is the default of the API. */
static bool type_parse(const char *text, struct rdma_addrinfo *hints)
{
	if (!strcmp(text, "rc")) {
		hints->ai_qp_type = IBV_QPT_RC;
		hints->ai_port_space = RDMA_PS_TCP;
	} else if (!strcmp(text, "ud")) {
		hints->ai_qp_type = IBV_QPT_UD;
		hints->ai_port_space = RDMA_PS_UDP;
	} else if (!strcmp(text, "any")) {
		hints->ai_qp_type = 0;
		hints->ai_port_space = 0;
	} else {
		return false;
	}
	return true;
}

static int service_run(const struct query *query,
		       struct service_query *service, char **args, int count)
{
	if (query->hints.ai_family || query->hints.ai_flags)
		return misuse("-4, -6, -n and --passive do not go with --sa");
	if (!count)
		return misuse("resolve --sa needs a SERVICE: a name or an id");
	if (count > 1)
		return misuse("'%s' is one argument too many", args[1]);
	if (!query->hints.ai_qp_type)
		return misuse("--type with --sa: rc or ud");
	service->service = args[0];
	service->device = query->device;
	service->qp_type = query->hints.ai_qp_type;
	service->json = query->json;
	return service_resolve(service);
}

int cmd_resolve(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dev", required_argument, NULL, 'd' },
		{ "env", required_argument, NULL, 'e' },
		{ "json", no_argument, NULL, 'j' },
		{ "numeric", no_argument, NULL, 'n' },
		{ "passive", no_argument, NULL, 'p' },
		{ "sa", no_argument, NULL, 's' },
		{ "type", required_argument, NULL, 't' },
		{ .name = NULL },
	};
	struct query query = {
		.hints.ai_qp_type = IBV_QPT_RC,
		.hints.ai_port_space = RDMA_PS_TCP,
	};
	struct service_query service = {};
	bool sa = false;
	int option;

	while ((option = getopt_long(argc, argv, ":j46nt:", options,
				     NULL)) != -1) {
		switch (option) {
		case 'd':
			query.device = optarg;
			break;
		case 'e':
			if (!env_known(optarg))
				return misuse("--env '%s': nccl, ucx or "
					      "perftest", optarg);
			query.env = optarg;
			break;
		case 'j':
			query.json = true;
			break;
		case '4':
		case '6':
			if (query.hints.ai_family)
				return misuse("give -4 or -6, once");
			query.hints.ai_family =
				option == '4' ? AF_INET : AF_INET6;
			break;
		case 'n':
			query.hints.ai_flags |= RAI_NUMERICHOST;
			break;
		case 'p':
			query.hints.ai_flags |= RAI_PASSIVE;
			break;
		case 's':
			sa = true;
			break;
		case 't':
			if (!type_parse(optarg, &query.hints))
				return misuse("--type '%s': rc, ud or any",
					      optarg);
			break;
		default:
			return misuse_option(option, argv, options);
		}
	}
	if (query.env && (sa || query.json))
		return misuse("--env goes without --sa and -j");
	if (sa)
		return service_run(&query, &service, argv + optind,
				   argc - optind);
	if (optind == argc)
		return misuse("resolve needs a NODE: a name or an address");
	if (argc - optind > 2)
		return misuse("'%s' is one argument too many", argv[optind + 2]);
	query.node = argv[optind];
	query.service = argv[optind + 1];
	/* "-": no node, so the loopback or, if passive, the wildcard address */
	if (!strcmp(query.node, "-")) {
		query.node = NULL;
		if (!query.service)
			return misuse("without a NODE there must be a SERVICE");
	}
	return resolve(&query);
}
