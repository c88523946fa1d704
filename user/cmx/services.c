// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* cmx services: the records of the subnet administrators */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"

#define DATA	RDMACMX_SERVICE_DATA

struct services {
	const char *name;	/* NULL: all */
	const char *device;	/* NULL: any */
	bool json;
};

static int query_failure(const struct services *query, int error)
{
	const char *what = query->name ?: "services";

	switch (error) {
	case EPERM:
		return failure("only root, or who has CAP_NET_ADMIN in the user "
			       "namespace of this network namespace, may list "
			       "all services: give the NAME of one");
	case ENODEV:
		if (query->device)
			return failure("--dev '%s': no active InfiniBand port: "
				       "see 'rdma link'", query->device);
		return failure("%s: no InfiniBand port is active here: see "
			       "'rdma link'", what);
	case ENXIO:
		return failure("--dev '%s': the device has no such port: see "
			       "'rdma link'", query->device ?: "");
	case ETIMEDOUT:
	case EAGAIN:
		return failure("%s: the subnet administrator does not respond, "
			       "or is busy: 'sminfo' shows if a subnet manager "
			       "runs", what);
	case ECONNREFUSED:
		return failure("%s: the subnet administrator refuses the query: "
			       "see the log of the subnet manager", what);
	case EBADMSG:
		return failure("%s: the response of the subnet administrator is "
			       "malformed", what);
	case EOVERFLOW:
		return failure("%s: there are more than 16384 records, or one "
			       "subnet administrator has more than the "
			       "parameter sa_max_records of rdma_cmx: give the "
			       "NAME of a service, or raise it", what);
	case EOPNOTSUPP:
		return failure("%s: the loaded module rdma_ucmx cannot list "
			       "services: install the one of this version",
			       what);
	}
	return failure("%s: %s", what, strerror(error));
}

/* Any node on the fabric may have written it: print ASCII only. */
static void plain(char *to, const char *from)
{
	for (; *from; from++)
		*to++ = *from >= 0x20 && *from < 0x7f ? *from : '?';
	*to = '\0';
}

/* Length of the data without the zeros at the end */
static size_t data_len(const struct rdmacmx_service_record *rec)
{
	size_t len = DATA;

	while (len && !rec->data[len - 1])
		len--;
	return len;
}

static bool data_is_text(const struct rdmacmx_service_record *rec)
{
	size_t i, len = data_len(rec);

	for (i = 0; i < len; i++)
		if (rec->data[i] < 0x20 || rec->data[i] >= 0x7f)
			return false;
	return len;
}

static void data_hex(const struct rdmacmx_service_record *rec,
		     char text[2 * DATA + 1])
{
	size_t i, len = data_len(rec);

	*text = '\0';
	for (i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", rec->data[i]);
}

/* The text of a record's fields */
struct cells {
	char name[sizeof(((struct rdmacmx_service_record *)0)->name)];
	char id[24];
	char gid[INET6_ADDRSTRLEN];
	char pkey[8];
	char lease[16];
	char device[80];
	char data[2 * DATA + 3];
};

static void cells_fill(struct cells *c,
		       const struct rdmacmx_service_record *rec)
{
	plain(c->name, *rec->name ? rec->name : "-");
	snprintf(c->id, sizeof(c->id), "0x%016llx",
		 (unsigned long long)rec->id);
	inet_ntop(AF_INET6, &rec->gid, c->gid, sizeof(c->gid));
	snprintf(c->pkey, sizeof(c->pkey), "0x%04x", rec->pkey);
	if (rec->lease == RDMACMX_LEASE_FOREVER)
		strcpy(c->lease, "forever");
	else
		snprintf(c->lease, sizeof(c->lease), "%u", rec->lease);
	snprintf(c->device, sizeof(c->device), "%s/%u", rec->device, rec->port);
	if (data_is_text(rec)) {
		snprintf(c->data, sizeof(c->data), "%.*s", (int)data_len(rec),
			 (const char *)rec->data);
	} else if (data_len(rec)) {
		strcpy(c->data, "0x");
		data_hex(rec, c->data + 2);
	} else {
		strcpy(c->data, "-");
	}
}

static int result_table(const struct rdmacmx_service_record *rec, int count)
{
	static const char *const head[] = {
		"SERVICE", "SERVICE-ID", "GID", "P_KEY", "LEASE", "SEEN-BY",
		"DATA",
	};
	struct table table = { .columns = 7 };
	struct cells c;
	bool ok;
	int i;

	ok = table_add(&table, head);
	for (i = 0; i < count && ok; i++) {
		cells_fill(&c, &rec[i]);
		ok = table_add(&table, (const char *const []) {
			c.name, c.id, c.gid, c.pkey, c.lease, c.device, c.data,
		});
	}
	if (ok)
		table_print(&table);
	table_free(&table);
	if (!ok)
		return failure("out of memory");
	printf("%d %s\n", count, count == 1 ? "record" : "records");
	return CMX_OK;
}

static void result_json(const struct services *query,
			const struct rdmacmx_service_record *rec, int count)
{
	struct json json = { .file = stdout };
	char hex[2 * DATA + 1];
	struct cells c;
	int i;

	json_open(&json, NULL, '{');
	json_text(&json, "service", query->name);
	json_open(&json, "records", '[');
	for (i = 0; i < count; i++) {
		cells_fill(&c, &rec[i]);
		data_hex(&rec[i], hex);
		json_open(&json, NULL, '{');
		json_text(&json, "name", rec[i].name);
		json_text(&json, "service_id", c.id);
		json_text(&json, "gid", c.gid);
		json_text(&json, "pkey", c.pkey);
		json_number(&json, "lease", rec[i].lease);
		json_text(&json, "device", rec[i].device);
		json_number(&json, "port", rec[i].port);
		json_text(&json, "data", hex);
		json_text(&json, "text", data_is_text(&rec[i]) ? c.data : NULL);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

static int services_run(const struct services *query)
{
	struct rdmacmx_service_record *records;
	int count, error, ret = CMX_OK;

	if (device_check())
		return CMX_FAILED;
	count = rdmacmx_get_services(query->device, query->name, &records,
				     &error);
	if (count < 0)
		return query_failure(query, errno);
	if (error)
		failure("the list may be incomplete: the subnet administrator of "
			"a port did not respond: %s", strerror(error));
	if (query->name && !count)
		ret = failure("%s: this service is not registered: 'cmx "
			      "services' lists the registered ones",
			      query->name);
	else if (query->json)
		result_json(query, records, count);
	else
		ret = result_table(records, count);
	free(records);
	return ret;
}

int cmd_services(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "dev", required_argument, NULL, 'd' },
		{ .name = NULL },
	};
	struct services query = {};
	int option;

	while ((option = getopt_long(argc, argv, ":j", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			query.json = true;
			break;
		case 'd':
			query.device = optarg;
			break;
		default:
			return misuse_option(option, argv, options);
		}
	}
	if (argc - optind > 1)
		return misuse("services takes one NAME, or none for all");
	query.name = argv[optind];
	if (query.name && (!*query.name || strlen(query.name) > 63))
		return misuse("'%s' has %zu bytes: a name has 1 to 63",
			      query.name, strlen(query.name));
	return services_run(&query);
}
