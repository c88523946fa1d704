// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx advertise: a service at the subnet administrators, until a signal. It
 * waits in poll for changes of the service and for signals, and prints each
 * port whose state has changed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"

/* A service id that the local operating system assigns: the name's */
#define ID_LOCAL	(0x02ULL << 56)
#define ID_LOCAL_MASK	((1ULL << 56) - 1)

#define NAME_MAX_LEN	63
#define LEASE_MIN	4

struct advertise {
	struct rdmacmx_service_attr attr;
	uint8_t data[RDMACMX_SERVICE_DATA];
	bool json;
	int signals;
	struct rdmacmx_service *service;
	struct rdmacmx_service_port *ports;	/* as printed last */
	int nports;
	bool none;		/* printed that there is no port */
};

/* Parses @text as one number, as in C. */
static bool wide_parse(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 0);
	return !errno && !*end && *value <= max;
}

/* The same id for a name on each host: FNV-1a. */
static uint64_t name_id(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3;
	return ID_LOCAL | (hash & ID_LOCAL_MASK);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int data_hex(struct advertise *adv, const char *text)
{
	size_t i, len = strlen(text);
	int high, low;

	if (len % 2 || len / 2 > sizeof(adv->data))
		goto wrong;
	for (i = 0; i < len / 2; i++) {
		high = hex_digit(text[2 * i]);
		low = hex_digit(text[2 * i + 1]);
		if (high < 0 || low < 0)
			goto wrong;
		adv->data[i] = high << 4 | low;
	}
	adv->attr.data_len = len / 2;
	return CMX_OK;

wrong:
	return misuse("--data-hex '%s': pairs of hexadecimal digits, at most "
		      "%zu", text, sizeof(adv->data));
}

static int data_text(struct advertise *adv, const char *text)
{
	size_t len = strlen(text);

	if (len > sizeof(adv->data))
		return misuse("--data '%s' has %zu bytes: at most %zu", text,
			      len, sizeof(adv->data));
	memcpy(adv->data, text, len);
	adv->attr.data_len = len;
	return CMX_OK;
}

static int lease_parse(struct advertise *adv, const char *text)
{
	uint64_t value;

	if (!strcmp(text, "forever")) {
		adv->attr.lease = RDMACMX_LEASE_FOREVER;
		return CMX_OK;
	}
	if (!wide_parse(text, RDMACMX_LEASE_FOREVER - 1, &value) ||
	    value < LEASE_MIN)
		return misuse("--lease '%s': seconds, at least %d, or 'forever'",
			      text, LEASE_MIN);
	adv->attr.lease = value;
	return CMX_OK;
}

static int option_parse(struct advertise *adv, int option, const char *text)
{
	uint64_t value;

	switch (option) {
	case 'j':
		adv->json = true;
		return CMX_OK;
	case 'd':
		adv->attr.device = text;
		return CMX_OK;
	case 't':
		return data_text(adv, text);
	case 'x':
		return data_hex(adv, text);
	case 'l':
		return lease_parse(adv, text);
	case 'i':
		if (!wide_parse(text, UINT64_MAX, &value) || !value)
			return misuse("--id '%s': a number of 64 bits, not 0",
				      text);
		adv->attr.id = value;
		return CMX_OK;
	case 'p':
		if (!wide_parse(text, UINT16_MAX, &value) || !value)
			return misuse("--port '%s': a number from 1 to 65535",
				      text);
		/* The service id of rdma_cm's listener on this port */
		adv->attr.id = (uint64_t)RDMA_PS_TCP << 16 | value;
		return CMX_OK;
	default:	/* 'k' */
		if (!wide_parse(text, UINT16_MAX, &value) || !(value & 0x7fff))
			return misuse("--pkey '%s': a number like 0xffff", text);
		adv->attr.pkey = value;
		return CMX_OK;
	}
}

static int name_parse(struct advertise *adv, const char *name)
{
	uint64_t number;

	if (!*name || strlen(name) > NAME_MAX_LEN)
		return misuse("'%s' has %zu bytes: a name has 1 to %d", name,
			      strlen(name), NAME_MAX_LEN);
	adv->attr.name = name;
	/* A query for a number is a query for an id. */
	if (wide_parse(name, UINT64_MAX, &number)) {
		if (!number || (adv->attr.id && adv->attr.id != number))
			return misuse("'%s' is found as a service id: give a "
				      "name, or this id", name);
		adv->attr.id = number;
	}
	if (!adv->attr.id)
		adv->attr.id = name_id(name);
	return CMX_OK;
}

static int advertise_parse(struct advertise *adv, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "id", required_argument, NULL, 'i' },
		{ "port", required_argument, NULL, 'p' },
		{ "data", required_argument, NULL, 't' },
		{ "data-hex", required_argument, NULL, 'x' },
		{ "lease", required_argument, NULL, 'l' },
		{ "pkey", required_argument, NULL, 'k' },
		{ "dev", required_argument, NULL, 'd' },
		{ .name = NULL },
	};
	bool id = false, data = false;
	int option, ret;

	while ((option = getopt_long(argc, argv, ":j", options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return misuse_option(option, argv, options);
		if ((option == 'i' || option == 'p') && id)
			return misuse("give --id or --port, once");
		if ((option == 't' || option == 'x') && data)
			return misuse("give --data or --data-hex, once");
		id |= option == 'i' || option == 'p';
		data |= option == 't' || option == 'x';
		ret = option_parse(adv, option, optarg);
		if (ret)
			return ret;
	}
	if (argc - optind != 1)
		return misuse("advertise needs one NAME, that of the service");
	adv->attr.data = adv->data;
	return name_parse(adv, argv[optind]);
}

static int start_failure(const struct advertise *adv, int error)
{
	const char *name = adv->attr.name, *dev = adv->attr.device;

	switch (error) {
	case EPERM:
		return failure("%s: advertising needs CAP_NET_ADMIN in the user "
			       "namespace of this network namespace: run it as "
			       "root", name);
	case EEXIST:
		return failure("%s: this host advertises the id 0x%llx in this "
			       "partition already: end that one, or give "
			       "another --id", name,
			       (unsigned long long)adv->attr.id);
	case ENODEV:
		if (dev)
			return failure("--dev '%s': no such InfiniBand device "
				       "in this network namespace: 'rdma link' "
				       "lists them", dev);
		break;
	case ENXIO:
		return failure("--dev '%s': the device has no such port: 'rdma "
			       "link' lists them", dev ?: "");
	case EAGAIN:
		return failure("%s: the user, or all of them, advertise as many "
			       "services as they may: raise services_per_user "
			       "or services_max in "
			       "/sys/module/rdma_cmx/parameters", name);
	case EOPNOTSUPP:
		return failure("%s: the loaded module rdma_ucmx cannot "
			       "advertise: install the one of this version",
			       name);
	}
	return failure("%s: %s", name, strerror(error));
}

static const char *reason(int error)
{
	switch (error) {
	case 0:
		return "the subnet administrator has not responded yet";
	case ETIMEDOUT:
		return "the subnet administrator does not respond: 'sminfo' "
		       "shows if a subnet manager runs";
	case EAGAIN:
		return "the subnet administrator is busy, or the user has too "
		       "many queries";
	case ECONNREFUSED:
		return "the subnet administrator refuses the record: see the "
		       "log of the subnet manager";
	case EBADMSG:
		return "the response of the subnet administrator is malformed";
	case ERANGE:
		return "the subnet administrator grants a lease under 4 s, "
		       "which would end before it is renewed";
	case ENOENT:
		return "the port does not have the P_Key: see "
		       "/sys/class/infiniband/DEVICE/ports/PORT/pkeys";
	case EEXIST:
		return "this host advertises the id in this partition already";
	case ENODEV:
		return "the port is not active: see 'rdma link'";
	}
	return strerror(error);
}

/* A line, or an object. @port: NULL if the event concerns no port. */
static void event_print(const struct advertise *adv, const char *event,
			const struct rdmacmx_service_port *port,
			const char *text)
{
	struct json json = { .file = stdout };
	char gid[INET6_ADDRSTRLEN], id[24], pkey[8], name[CLEAN_MAX];
	bool set = port && port->state == RDMACMX_SERVICE_SET && !text;

	snprintf(id, sizeof(id), "0x%016llx", (unsigned long long)adv->attr.id);
	if (set) {
		inet_ntop(AF_INET6, &port->gid, gid, sizeof(gid));
		snprintf(pkey, sizeof(pkey), "0x%04x", port->pkey);
	}
	if (adv->json) {
		json_open(&json, NULL, '{');
		json_text(&json, "event", event);
		json_text(&json, "service", adv->attr.name);
		json_text(&json, "service_id", id);
		if (port) {
			json_text(&json, "device", port->device);
			json_number(&json, "port", port->port);
		}
		if (set) {
			json_text(&json, "gid", gid);
			json_text(&json, "pkey", pkey);
			json_number(&json, "lease", port->lease);
		}
		if (text)
			json_text(&json, "reason", text);
		json_close(&json, '}');
		putchar('\n');
	} else {
		printf("%-10s  ", event);
		if (port)
			printf("%s/%u", clean(port->device, name), port->port);
		else
			printf("%s, id %s", clean(adv->attr.name, name), id);
		if (set && port->lease == RDMACMX_LEASE_FOREVER)
			printf("  GID %s, P_Key %s, no end of the lease\n", gid,
			       pkey);
		else if (set)
			printf("  GID %s, P_Key %s, lease %u s\n", gid, pkey,
			       port->lease);
		else
			printf("%s%s\n", text ? "  " : "", text ?: "");
	}
	fflush(stdout);
}

static void port_print(const struct advertise *adv,
		       const struct rdmacmx_service_port *port)
{
	switch (port->state) {
	case RDMACMX_SERVICE_SET:
		event_print(adv, "set", port, NULL);
		break;
	case RDMACMX_SERVICE_DOWN:
		event_print(adv, "down", port, reason(ENODEV));
		break;
	default:
		event_print(adv, "trying", port, reason(port->error));
	}
}

static bool same_port(const struct rdmacmx_service_port *a,
		      const struct rdmacmx_service_port *b)
{
	return a->port == b->port && !strcmp(a->device, b->device);
}

static bool same_state(const struct rdmacmx_service_port *a,
		       const struct rdmacmx_service_port *b)
{
	return a->state == b->state && a->error == b->error &&
	       a->lease == b->lease && a->pkey == b->pkey &&
	       !memcmp(&a->gid, &b->gid, sizeof(a->gid));
}

static struct rdmacmx_service_port *
port_find(struct rdmacmx_service_port *ports, int n,
	  const struct rdmacmx_service_port *like)
{
	for (; n > 0; n--, ports++)
		if (same_port(ports, like))
			return ports;
	return NULL;
}

/* The present ports, or NULL */
static struct rdmacmx_service_port *ports_get(struct advertise *adv, int *count)
{
	struct rdmacmx_service_port *ports = NULL, *grown;
	int room = 0, n;

	while ((n = rdmacmx_service_ports(adv->service, ports, room)) > room ||
	       !ports) {
		if (n < 0)
			break;
		room = n + 1;
		grown = reallocarray(ports, room, sizeof(*ports));
		if (!grown) {
			n = -1;
			break;
		}
		ports = grown;
	}
	*count = n;
	if (n >= 0)
		return ports;
	free(ports);
	return NULL;
}

/* Prints the ports that have changed. */
static int changes_print(struct advertise *adv)
{
	struct rdmacmx_service_port *now, *old;
	int i, n;

	now = ports_get(adv, &n);
	if (!now)
		return failure("%s: %s", adv->attr.name, strerror(errno));
	for (i = 0; i < adv->nports; i++)
		if (!port_find(now, n, &adv->ports[i]))
			event_print(adv, "gone", &adv->ports[i],
				    "the device is not here any more");
	for (i = 0; i < n; i++) {
		old = port_find(adv->ports, adv->nports, &now[i]);
		/* The first attempt, and one after an event, have not ended. */
		if (now[i].state == RDMACMX_SERVICE_TRYING && !now[i].error) {
			if (old)
				now[i] = *old;
			continue;
		}
		if (!old || !same_state(old, &now[i]))
			port_print(adv, &now[i]);
	}
	if (!n && !adv->none)
		event_print(adv, "waiting", NULL, "no InfiniBand port is active "
			    "here: see 'rdma link'");
	adv->none = !n;
	free(adv->ports);
	adv->ports = now;
	adv->nports = n;
	return CMX_OK;
}

static int advertise_stay(struct advertise *adv)
{
	struct pollfd wait[] = {
		{ .fd = rdmacmx_service_fd(adv->service), .events = POLLPRI },
		{ .fd = adv->signals, .events = POLLIN },
	};

	for (;;) {
		if (changes_print(adv))
			return CMX_FAILED;
		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			return failure("poll: %s", strerror(errno));
		if (wait[1].revents)
			return CMX_OK;
	}
}

static int advertise_run(struct advertise *adv)
{
	sigset_t set;
	int ret;

	if (device_check())
		return CMX_FAILED;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	adv->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (adv->signals < 0)
		return failure("signalfd: %s", strerror(errno));
	adv->service = rdmacmx_advertise(&adv->attr);
	if (!adv->service) {
		ret = start_failure(adv, errno);
	} else {
		event_print(adv, "advertised", NULL, NULL);
		ret = advertise_stay(adv);
		rdmacmx_withdraw(adv->service);
		event_print(adv, "withdrawn", NULL, NULL);
	}
	close(adv->signals);
	return ret;
}

int cmd_advertise(int argc, char **argv)
{
	struct advertise adv = {};
	int ret;

	ret = advertise_parse(&adv, argc, argv);
	if (!ret)
		ret = advertise_run(&adv);
	free(adv.ports);
	return ret;
}
