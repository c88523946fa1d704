// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * report: sends reports of a GID in or out of service, or of changed paths, like
 * an SA, from the port of a device. From the port of the subnet manager they are
 * valid, from others forged. Prints the number of confirmed ones. "report hold" instead
 * holds the reports that arrive at a port, and prints "ready". "report end" ends
 * a subscription of the port, and prints "ended".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mad.h"

/* Reports outstanding at the same time, and how long they wait by default */
#define WINDOW	16
#define WAIT_MS	3000

#define METHOD_REPORT	0x06
#define ATTR_NOTICE	0x02
/* Components of a path record, and where they are in a report */
#define PATH_DGID	(1 << 2)
#define PATH_SGID	(1 << 3)
#define PATH_RECORD	80

static const char usage[] =
"report [OPTION...] LID [KIND]\n"
"report -C DEVICE hold\n"
"report -C DEVICE -t NUMBER end\n"
"  -C, --device DEVICE\n"
"  -g, --gid GID        (of traps 68 and 69: the destination)\n"
"  -s, --source GID     of traps 68 and 69\n"
"  -t, --trap NUMBER    (default: 65)\n"
"  -c, --count N        (default: 1)\n"
"  -w, --wait MS        for each confirmation (default: 3000)\n"
"KIND: vendor, rmpp, attribute, or nothing: well formed\n";

struct what {
	unsigned int trap;
	int wait_ms;
	uint8_t gid[16], source[16];
	bool has_gid, has_source;
	const char *kind;
};

static void agent_register(struct mad_port *port, bool hold)
{
	struct umad_reg_attr attr = {
		.mgmt_class = UMAD_CLASS_SUBN_ADM,
		.mgmt_class_version = UMAD_SA_CLASS_VERSION,
		.method_mask[0] = hold ? 1ULL << METHOD_REPORT : 0,
	};

	if (umad_register2(port->fd, &attr, &port->agent))
		die("%s: cannot register: %s", port->device, strerror(errno));
}

static void report_send(struct mad_port *port, unsigned int lid,
			uint32_t tid, const struct what *what)
{
	const char *kind = what->kind;
	uint8_t buf[umad_size() + MAD_SIZE];
	struct umad_sa_packet *mad;

	memset(buf, 0, sizeof(buf));
	mad = umad_get_mad(buf);
	mad->mad_hdr.base_version = 1;
	mad->mad_hdr.mgmt_class = UMAD_CLASS_SUBN_ADM;
	mad->mad_hdr.class_version = UMAD_SA_CLASS_VERSION;
	mad->mad_hdr.method = METHOD_REPORT;
	mad->mad_hdr.tid = htobe64(tid);
	mad->mad_hdr.attr_id = htobe16(ATTR_NOTICE +
				       !strcmp(kind, "attribute"));
	if (!strcmp(kind, "rmpp")) {
		mad->rmpp_hdr.rmpp_version = UMAD_RMPP_VERSION;
		mad->rmpp_hdr.rmpp_type = RMPP_TYPE_DATA;
		mad->rmpp_hdr.rmpp_rtime_flags = RMPP_ACTIVE | RMPP_FIRST;
		mad->rmpp_hdr.seg_num = htobe32(1);
	}
	/* Informational, from a class manager */
	mad->data[0] = (strcmp(kind, "vendor") ? 0x80 : 0) | 3;
	mad->data[3] = 4;
	mad->data[4] = what->trap >> 8;
	mad->data[5] = what->trap;
	mad->data[6] = port->lid >> 8;
	mad->data[7] = port->lid;
	if (what->trap == 68 || what->trap == 69) {
		mad->data[17] = (what->has_gid ? PATH_DGID : 0) |
				(what->has_source ? PATH_SGID : 0);
		memcpy(mad->data + PATH_RECORD + 8, what->gid, 16);
		memcpy(mad->data + PATH_RECORD + 24, what->source, 16);
	} else {
		memcpy(mad->data + 16, what->gid, 16);
	}
	memcpy(mad->data + 64, port->gid, 16);
	umad_set_addr(buf, lid, 1, port->sm_sl, 0x80010000);
	if (umad_send(port->fd, port->agent, buf, MAD_SIZE, what->wait_ms, 0))
		die("%s: cannot send: %s", port->device, strerror(errno));
}

/* Waits for one; true for a confirmation, false for a timeout. */
static bool report_confirmed(struct mad_port *port, const struct what *what)
{
	uint8_t buf[umad_size() + MAD_SIZE];
	const struct umad_sa_packet *mad = umad_get_mad(buf);
	int len = MAD_SIZE;

	if (umad_recv(port->fd, buf, &len, 20 * what->wait_ms) < 0)
		die("%s: cannot receive: %s", port->device, strerror(errno));
	return !umad_status(buf) && mad->mad_hdr.method ==
	       (METHOD_REPORT | UMAD_METHOD_RESP_MASK);
}

#define METHOD_SET	0x02
#define ATTR_INFORM	0x03

/* 13.4.8.3 InformInfo of the kernel's subscription, which is for QP 1 */
static void subscription_end(struct mad_port *port, unsigned int trap)
{
	uint8_t info[36] = {
		[16] = 0xff, [17] = 0xff,	/* all LIDs */
		[22] = 1,			/* generic; Subscribe is 0 */
		[24] = 0xff, [25] = 0xff,	/* all types */
		[26] = trap >> 8, [27] = trap,
		[30] = 1, [31] = 19,		/* QP and RespTimeValue */
		[33] = 0xff, [34] = 0xff, [35] = 0xff,
	};
	struct sa_answer answer;

	mad_register_client(port);
	sa_send(port, 1, METHOD_SET, ATTR_INFORM, 0, info, sizeof(info));
	if (!sa_receive(port, &answer, 20 * WAIT_MS) || answer.error)
		die("%s: no response", port->device);
	printf(answer.status ? "status %#x\n" : "ended\n", answer.status);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'C' },
		{ "gid", required_argument, NULL, 'g' },
		{ "source", required_argument, NULL, 's' },
		{ "trap", required_argument, NULL, 't' },
		{ "count", required_argument, NULL, 'c' },
		{ "wait", required_argument, NULL, 'w' },
		{}
	};
	unsigned int lid, count = 1, sent = 0, ended = 0, good = 0;
	struct what what = { .trap = 65, .wait_ms = WAIT_MS, .kind = "" };
	const char *device = NULL;
	struct mad_port port;
	int c;

	while ((c = getopt_long(argc, argv, "C:g:s:t:c:w:", options,
				NULL)) != -1) {
		switch (c) {
		case 'C':
			device = optarg;
			break;
		case 'g':
			if (inet_pton(AF_INET6, optarg, what.gid) != 1)
				die("'%s' is not a GID", optarg);
			what.has_gid = true;
			break;
		case 's':
			if (inet_pton(AF_INET6, optarg, what.source) != 1)
				die("'%s' is not a GID", optarg);
			what.has_source = true;
			break;
		case 't':
			what.trap = strtoul(optarg, NULL, 0);
			break;
		case 'c':
			count = strtoul(optarg, NULL, 0);
			break;
		case 'w':
			what.wait_ms = strtol(optarg, NULL, 0);
			break;
		default:
			die("%s", usage);
		}
	}
	if (optind == argc)
		die("%s", usage);
	mad_open(&port, device, 1);
	if (!strcmp(argv[optind], "hold")) {
		agent_register(&port, true);
		puts("ready");
		fflush(stdout);
		pause();
		return 0;
	}
	if (!strcmp(argv[optind], "end")) {
		subscription_end(&port, what.trap);
		mad_close(&port);
		return 0;
	}
	lid = strtoul(argv[optind], NULL, 0);
	if (optind + 1 < argc)
		what.kind = argv[optind + 1];
	agent_register(&port, false);
	while (ended < count) {
		while (sent < count && sent - ended < WINDOW)
			report_send(&port, lid, ++sent, &what);
		good += report_confirmed(&port, &what);
		ended++;
	}
	printf("%u\n", good);
	mad_close(&port);
	return 0;
}
