// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx resolve --sa: the providers of a service on the InfiniBand fabric, which
 * rdma_getaddrinfo(3) gets from the subnet administrator.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <time.h>
#include <infiniband/ib.h>

#include <rdma/rdma_cmx.h>

#include "cmx.h"

/* The contents of one row or object */
struct entry {
	char gid[ADDR_TEXT_MAX];
	char source[ADDR_TEXT_MAX];
	char id[24];
	char pkey[8];
	char device[80];
	unsigned int lid;	/* 0: no path */
};

static const char *hint(int error, int err)
{
	switch (error) {
	case EAI_NONAME:
		return "this service is not registered: 'saquery -S' lists "
		       "the registered ones";
	case EAI_AGAIN:
		return "the subnet administrator does not respond, or is busy: "
		       "'sminfo' shows if a subnet manager runs";
	case EAI_FAIL:
		return "the subnet administrator refuses the query: see the "
		       "log of the subnet manager";
	case EAI_SERVICE:
		return "a service is a number of 64 bits or a name of at most "
		       "63 bytes";
	case EAI_BADFLAGS:
		return "the loaded module rdma_cmx cannot query the subnet "
		       "administrator";
	case EAI_SYSTEM:
		break;
	default:
		return gai_strerror(error);
	}
	switch (err) {
	case ENODEV:
		return "no InfiniBand port is active here: see 'rdma link'";
	case EBADMSG:
		return "the response of the subnet administrator is malformed";
	case EOVERFLOW:
		return "there are more than 4096 services, or more records than "
		       "the parameter sa_max_records of rdma_cmx";
	case EINVAL:
		return "an empty text is not a service";
	}
	return strerror(err);
}

static void entry_fill(struct entry *entry, const struct rdma_addrinfo *ai)
{
	const struct sockaddr_ib *dst = (const void *)ai->ai_dst_addr;
	const struct ibv_path_data *path = ai->ai_route;
	char text[ADDR_TEXT_MAX], name[80];
	const char *device;

	memset(entry, 0, sizeof(*entry));
	snprintf(entry->gid, sizeof(entry->gid), "%s",
		 addr_text(ai->ai_dst_len ? ai->ai_dst_addr : NULL, text));
	snprintf(entry->source, sizeof(entry->source), "%s",
		 addr_text(ai->ai_src_len ? ai->ai_src_addr : NULL, text));
	if (ai->ai_dst_len && dst->sib_family == AF_IB) {
		snprintf(entry->id, sizeof(entry->id), "0x%016llx",
			 (unsigned long long)be64toh(dst->sib_sid));
		snprintf(entry->pkey, sizeof(entry->pkey), "0x%04x",
			 be16toh(dst->sib_pkey));
	}
	device = device_text(ai, name);
	snprintf(entry->device, sizeof(entry->device), "%s", device ?: "-");
	if (ai->ai_route_len >= sizeof(*path))
		entry->lid = be16toh(path->path.dlid);
}

static const char *or_null(const char *text)
{
	return !*text || !strcmp(text, "-") ? NULL : text;
}

static void result_json(const struct service_query *query,
			const struct rdma_addrinfo *list, double ms)
{
	struct json json = { .file = stdout };
	const struct rdma_addrinfo *ai;
	struct entry entry;

	json_open(&json, NULL, '{');
	json_text(&json, "service", query->service);
	json_number(&json, "microseconds", ms * 1000);
	json_open(&json, "addresses", '[');
	for (ai = list; ai; ai = ai->ai_next) {
		entry_fill(&entry, ai);
		json_open(&json, NULL, '{');
		json_text(&json, "gid", or_null(entry.gid));
		json_text(&json, "service_id", or_null(entry.id));
		json_text(&json, "pkey", or_null(entry.pkey));
		if (entry.lid)
			json_number(&json, "lid", entry.lid);
		else
			json_text(&json, "lid", NULL);
		json_text(&json, "qp_type", type_text(ai->ai_qp_type));
		json_text(&json, "port_space", space_text(ai->ai_port_space));
		json_text(&json, "source", or_null(entry.source));
		json_text(&json, "device", or_null(entry.device));
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	putchar('\n');
}

static int result_table(const struct rdma_addrinfo *list, double ms)
{
	static const char *const head[] = {
		"GID", "SERVICE-ID", "P_KEY", "LID", "TYPE", "SOURCE", "DEVICE",
	};
	struct table table = { .columns = 7 };
	const struct rdma_addrinfo *ai;
	struct entry entry;
	char type[24], lid[8];
	size_t count = 0;
	bool ok;

	ok = table_add(&table, head);
	for (ai = list; ai && ok; ai = ai->ai_next, count++) {
		entry_fill(&entry, ai);
		snprintf(type, sizeof(type), "%s/%s",
			 type_text(ai->ai_qp_type),
			 space_text(ai->ai_port_space));
		snprintf(lid, sizeof(lid), entry.lid ? "%u" : "-", entry.lid);
		ok = table_add(&table, (const char *const []) {
			entry.gid, entry.id, entry.pkey, lid, type,
			entry.source, entry.device,
		});
	}
	if (ok)
		table_print(&table);
	table_free(&table);
	if (!ok)
		return failure("out of memory");
	printf("%zu %s in %.3f ms\n", count, count == 1 ? "entry" : "entries",
	       ms);
	return CMX_OK;
}

int service_resolve(const struct service_query *query)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_SA,
				       .ai_qp_type = query->qp_type,
				       .ai_port_space = RDMA_PS_IB };
	struct timespec start, end;
	struct rdma_addrinfo *list;
	struct sockaddr_ib source;
	const char *reason;
	double ms;
	int ret;

	if (device_check())
		return CMX_FAILED;
	if (query->device) {
		if (!device_gid(query->device, &source, &reason))
			return failure("'%s': %s", query->device, reason);
		hints.ai_src_addr = (struct sockaddr *)&source;
		hints.ai_src_len = sizeof(source);
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	/* The argument replaces the device of the environment. */
	ret = rdmacmx_getaddrinfo(query->device, NULL, query->service, &hints,
				  &list);
	if (ret)
		return failure("%s: %s", query->service, hint(ret, errno));
	clock_gettime(CLOCK_MONOTONIC, &end);
	ms = (end.tv_sec - start.tv_sec) * 1e3 +
	     (end.tv_nsec - start.tv_nsec) / 1e6;
	if (query->json)
		result_json(query, list, ms);
	else
		ret = result_table(list, ms);
	rdma_freeaddrinfo(list);
	return ret;
}
