// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx connect: rdmacmx_connect_name(3) to a name, and the state of each of its
 * addresses.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"

struct connect {
	const char *node;	/* NULL: a service of the SA */
	const char *service;
	struct rdma_addrinfo hints;
	struct rdmacmx_connect_attr attr;
	bool route;		/* no connection */
	bool json;
};

static const char *step_text(uint32_t step)
{
	static const char *const text[] = {
		"no-device", "untried", "address", "route", "queue-pair",
		"request", "up",
	};

	return step < sizeof(text) / sizeof(text[0]) ? text[step] : "?";
}

static const char *result_text(const struct rdmacmx_candidate *c,
			       char text[128])
{
	if (!c->error)
		return c->attempts ? "ok" : "-";
	if (c->error == ECANCELED)
		return "another was first";
	if (c->error == ENOBUFS && !c->attempts)
		return "no queue pair";
	if (!c->reason)
		return strerror(c->error);
	snprintf(text, 128, "%s (reason %u)", strerror(c->error), c->reason);
	return text;
}

static void candidate_device(const struct rdmacmx_candidate *c, char text[80])
{
	if (*c->device)
		snprintf(text, 80, "%s/%u", c->device, c->port);
	else
		strcpy(text, "-");
}

static const struct sockaddr *address(const struct sockaddr_storage *addr)
{
	return addr->ss_family ? (const struct sockaddr *)addr : NULL;
}

static bool report_table(const struct rdmacmx_candidate *list, int count)
{
	static const char *const head[] = {
		"DESTINATION", "SOURCE", "DEVICE", "STEP", "START", "END",
		"RESULT",
	};
	struct table table = { .columns = 7 };
	char dst[ADDR_TEXT_MAX], src[ADDR_TEXT_MAX], device[80];
	char start[16], end[16], result[128];
	bool ok = table_add(&table, head);

	for (; count-- && ok; list++) {
		candidate_device(list, device);
		strcpy(start, "-");
		strcpy(end, "-");
		if (list->attempts) {
			snprintf(start, sizeof(start), "%u ms", list->start_ms);
			snprintf(end, sizeof(end), "%u ms", list->end_ms);
		}
		ok = table_add(&table, (const char *const []) {
			addr_text(address(&list->dst), dst),
			addr_text(address(&list->src), src), device,
			step_text(list->step), start, end,
			result_text(list, result),
		});
	}
	if (ok)
		table_print(&table);
	table_free(&table);
	return ok;
}

static void report_json(const struct connect *con,
			const struct rdmacmx_candidate *list, int count,
			int error)
{
	struct json json = { .file = stdout };
	char text[ADDR_TEXT_MAX], device[80];

	json_open(&json, NULL, '{');
	json_text(&json, "node", con->node);
	json_text(&json, "service", con->service);
	json_text(&json, "error", error ? strerror(error) : NULL);
	json_open(&json, "candidates", '[');
	for (; count--; list++) {
		candidate_device(list, device);
		json_open(&json, NULL, '{');
		json_text(&json, "destination",
			  addr_text(address(&list->dst), text));
		json_text(&json, "source", list->src.ss_family ?
			  addr_text(address(&list->src), text) : NULL);
		json_text(&json, "device", *list->device ? device : NULL);
		json_text(&json, "step", step_text(list->step));
		json_text(&json, "error", list->error ?
			  strerror(list->error) : NULL);
		json_number(&json, "reason", list->reason);
		json_number(&json, "attempts", list->attempts);
		json_number(&json, "start_ms", list->start_ms);
		json_number(&json, "end_ms", list->end_ms);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

static int connect_failure(const struct connect *con, int count, int error)
{
	const char *node = con->node ?: con->service;

	switch (error) {
	case ENOENT:
		return failure("%s: there is no such name or "
			       "service: check the spelling", node);
	case ENETUNREACH:
		return failure("%s: no RDMA device reaches an address of it: "
			       "see 'cmx doctor %s'", node, node);
	case ECONNREFUSED:
		return failure("%s %s: refused: nothing listens there, or the "
			       "peer rejects", node, con->service ?: "");
	case ETIMEDOUT:
		return failure("%s: no response before the deadline: 'cmx "
			       "doctor' checks this host", node);
	case EOPNOTSUPP:
		if (count)
			return failure("%s: iWARP devices cannot race: leave "
				       "out --race", node);
		return failure("%s: the loaded module rdma_ucmx cannot connect "
			       "by name: install the one of this version", node);
	}
	return failure("%s: %s", node, strerror(error));
}

/* The report is printed also after a failure. */
static int report(const struct connect *con, struct rdma_cm_id *id, int error)
{
	struct rdmacmx_candidate *list;
	int count = rdmacmx_connect_report(id, NULL, 0);
	bool ok = true;

	if (count < 0)
		count = 0;
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return failure("out of memory");
	if (count && rdmacmx_connect_report(id, list, count) < 0)
		count = 0;
	if (con->json)
		report_json(con, list, count, error);
	else if (count)
		ok = report_table(list, count);
	free(list);
	if (!ok)
		return failure("out of memory");
	return error ? connect_failure(con, count, error) : CMX_OK;
}

static int connect_run(struct connect *con)
{
	struct ibv_qp_init_attr qp = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct rdma_cm_id *id;
	int ret, error;

	if (device_check())
		return CMX_FAILED;
	if (rdma_create_id(NULL, &id, NULL, con->node ? RDMA_PS_TCP :
							RDMA_PS_IB))
		return failure("%s", strerror(errno));
	if (!con->route)
		con->attr.qp_init_attr = &qp;
	error = rdmacmx_connect_name(id, con->node, con->service, &con->hints,
				     &con->attr) ? errno : 0;
	ret = report(con, id, error);
	if (!error && !con->route)
		rdma_disconnect(id);
	rdma_destroy_ep(id);
	return ret;
}

static bool seconds_parse(const char *text, uint32_t *ms)
{
	unsigned long value;

	if (!number_parse(text, 86400, &value) || !value)
		return false;
	*ms = value * 1000;
	return true;
}

int cmd_connect(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dev", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, 'j' },
		{ "race", no_argument, NULL, 'R' },
		{ "route", no_argument, NULL, 'r' },
		{ "sa", no_argument, NULL, 's' },
		{ "timeout", required_argument, NULL, 't' },
		{ .name = NULL },
	};
	struct connect con = {};
	bool sa = false;
	int option, count;

	while ((option = getopt_long(argc, argv, ":j46", options,
				     NULL)) != -1) {
		switch (option) {
		case 'd':
			con.attr.device = optarg;
			break;
		case 'j':
			con.json = true;
			break;
		case '4':
		case '6':
			con.hints.ai_family = option == '4' ? AF_INET : AF_INET6;
			con.hints.ai_flags |= RAI_FAMILY;
			break;
		case 'R':
			con.attr.flags = RDMACMX_CONNECT_RACE;
			break;
		case 'r':
			con.route = true;
			break;
		case 's':
			sa = true;
			break;
		case 't':
			if (!seconds_parse(optarg, &con.attr.timeout_ms))
				return misuse("--timeout '%s': seconds from 1 "
					      "to 86400", optarg);
			break;
		default:
			return misuse_option(option, argv, options);
		}
	}
	if (con.route && con.attr.flags)
		return misuse("--race does not go with --route, which connects "
			      "to none");
	if (sa && con.hints.ai_family)
		return misuse("-4 and -6 do not go with --sa");
	argv += optind;
	count = argc - optind;
	if (count < 1 + !sa)
		return misuse(sa ? "connect --sa needs a SERVICE" :
				   "connect needs a NODE and a SERVICE");
	if (count > 1 + !sa)
		return misuse("'%s' is one argument too many", argv[1 + !sa]);
	if (sa)
		con.hints.ai_flags |= RAI_SA;
	else
		con.node = *argv++;
	con.service = *argv;
	return connect_run(&con);
}
