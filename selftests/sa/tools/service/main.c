// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * service: sets, deletes, lists, counts and times ServiceRecords at the SA of a
 * port, many at once if requested. Without --gid, set and delete use the port's
 * GID, and the others match any.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "../mad.h"

/* Requests outstanding at the same time */
#define WINDOW	32

static const char usage[] =
"service [OPTION...] set|delete|list|count|time\n"
"  -C, --device DEVICE  (default: the first active port)\n"
"  -P, --port NUMBER\n"
"  -n, --name NAME      \"%u\" in it becomes the number of the record\n"
"  -i, --id ID          service id of the first record, the others follow\n"
"  -g, --gid GID\n"
"  -p, --pkey PKEY\n"
"  -l, --lease SECONDS  (default: without end)\n"
"  -d, --data HEX       up to 64 bytes\n"
"  -c, --count N        records to set or delete, or rounds of time\n"
"set gives each record a different id. time prints the median time of one\n"
"query and its response in microseconds.\n";

struct request {
	const char *name;
	unsigned long long id;
	bool has_id;
	bool has_gid;
	bool has_pkey;
	bool has_data;
	unsigned long count;
	struct service_record record;
	uint64_t mask;
};

static unsigned long long number(const char *text)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || end == text || *end)
		die("'%s' is not a number", text);
	return value;
}

static void data_parse(const char *text, uint8_t data[64])
{
	size_t i, len = strlen(text);
	unsigned int byte;

	if (len % 2 || len > 128)
		die("'%s' is not up to 64 bytes in hexadecimal", text);
	for (i = 0; i < len / 2; i++) {
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			die("'%s' is not hexadecimal", text);
		data[i] = byte;
	}
}

/* Not snprintf(): the text comes from outside, and 64 bytes need no NUL. */
static void name_fill(char name[64], const char *text, unsigned long n)
{
	const char *mark = strstr(text, "%u");
	char whole[256];
	size_t len;

	if (mark)
		snprintf(whole, sizeof(whole), "%.*s%lu%s",
			 (int)(mark - text), text, n, mark + 2);
	else
		snprintf(whole, sizeof(whole), "%s", text);
	len = strlen(whole);
	if (len > 64)
		die("'%s' is longer than 64 bytes", whole);
	memset(name, 0, 64);
	memcpy(name, whole, len);
}

static void record_fill(struct request *req, unsigned long n)
{
	req->record.id = htobe64(req->id + n);
	if (req->name)
		name_fill(req->record.name, req->name, n);
}

static void mask_fill(struct request *req, bool set)
{
	req->mask = (req->has_id ? SERVICE_ID : 0) |
		    (req->has_gid ? SERVICE_GID : 0) |
		    (req->has_pkey ? SERVICE_PKEY : 0) |
		    (req->name ? SERVICE_NAME : 0);
	if (set)
		req->mask |= SERVICE_LEASE |
			     (req->has_data ? SERVICE_DATA : 0);
}

/* Changes all of @req->count records, a window of them at a time. */
static int records_change(struct mad_port *port, struct request *req,
			  uint8_t method, uint8_t reply)
{
	unsigned long sent = 0, done = 0, refused = 0;
	struct sa_answer answer;

	while (done < req->count) {
		while (sent < req->count && sent - done < WINDOW) {
			record_fill(req, sent);
			sa_send(port, ++sent, method, UMAD_SA_ATTR_SERVICE_REC,
				req->mask, &req->record, sizeof(req->record));
		}
		if (!sa_receive(port, &answer, 60000))
			die("no answer at all");
		if (answer.error)
			die("record %u: %s", answer.tid - 1,
			    strerror(answer.error));
		if (answer.method != reply || answer.status) {
			if (!refused++)
				fprintf(stderr,
					"service: record %u: method 0x%x, status 0x%x\n",
					answer.tid - 1, answer.method,
					answer.status);
		}
		done++;
	}
	return refused != 0;
}

static void request_send(struct mad_port *port, const struct request *req,
			 struct sa_answer *answer)
{
	static uint32_t tid;

	sa_send(port, ++tid, UMAD_SA_METHOD_GET_TABLE,
		UMAD_SA_ATTR_SERVICE_REC, req->mask, &req->record,
		sizeof(req->record));
	if (!sa_receive(port, answer, 60000))
		die("no answer at all");
	if (answer->error)
		die("%s", strerror(answer->error));
	if (answer->status)
		die("the SA refuses: status 0x%x", answer->status);
}

static void record_print(const struct service_record *rec)
{
	char gid[INET6_ADDRSTRLEN];
	size_t i, last = 0;

	inet_ntop(AF_INET6, rec->gid, gid, sizeof(gid));
	printf("0x%016llx %s 0x%04x %u %.64s ",
	       (unsigned long long)be64toh(rec->id), gid, be16toh(rec->pkey),
	       be32toh(rec->lease), rec->name);
	for (i = 0; i < sizeof(rec->data); i++)
		if (rec->data[i])
			last = i + 1;
	for (i = 0; i < last; i++)
		printf("%02x", rec->data[i]);
	puts(last ? "" : "-");
}

static int records_show(struct mad_port *port, struct request *req, bool list)
{
	struct service_record rec;
	struct sa_answer answer;
	size_t at, count = 0;

	request_send(port, req, &answer);
	for (at = 0; answer.stride >= sizeof(rec) &&
	     at + answer.stride <= answer.len; at += answer.stride) {
		memcpy(&rec, answer.data + at, sizeof(rec));
		if (list)
			record_print(&rec);
		count++;
	}
	if (!list)
		printf("%zu\n", count);
	return 0;
}

static int value_order(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int trip_time(struct mad_port *port, struct request *req)
{
	double *values = calloc(req->count, sizeof(*values)), start;
	struct sa_answer answer;
	unsigned long i;

	if (!values)
		die("out of memory");
	request_send(port, req, &answer);
	for (i = 0; i < req->count; i++) {
		start = now_us();
		request_send(port, req, &answer);
		values[i] = now_us() - start;
	}
	qsort(values, req->count, sizeof(*values), value_order);
	printf("%.2f\n", values[req->count / 2]);
	free(values);
	return 0;
}

static int command_run(struct mad_port *port, struct request *req,
		       const char *command)
{
	const bool set = !strcmp(command, "set");

	if (set || !strcmp(command, "delete")) {
		if (!req->has_id || (set && !req->name))
			die("%s needs --id%s", command, set ? " and --name" : "");
		if (!req->has_gid)
			memcpy(req->record.gid, port->gid, 16);
		if (!req->has_pkey)
			req->record.pkey = htobe16(0xffff);
		req->has_gid = true;
		req->has_pkey = true;
		mask_fill(req, set);
		return records_change(port, req,
				      set ? UMAD_METHOD_SET :
					    UMAD_SA_METHOD_DELETE,
				      set ? UMAD_METHOD_GET_RESP :
					    UMAD_SA_METHOD_DELETE_RESP);
	}
	mask_fill(req, false);
	record_fill(req, 0);
	if (!strcmp(command, "list") || !strcmp(command, "count"))
		return records_show(port, req, !strcmp(command, "list"));
	if (!strcmp(command, "time"))
		return trip_time(port, req);
	fputs(usage, stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'C' },
		{ "port", required_argument, NULL, 'P' },
		{ "name", required_argument, NULL, 'n' },
		{ "id", required_argument, NULL, 'i' },
		{ "gid", required_argument, NULL, 'g' },
		{ "pkey", required_argument, NULL, 'p' },
		{ "lease", required_argument, NULL, 'l' },
		{ "data", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'c' },
		{ NULL },
	};
	struct request req = { .count = 1, .record.lease = 0xffffffff };
	const char *device = NULL;
	struct mad_port port;
	int option, number_of = 0;

	while ((option = getopt_long(argc, argv, "C:P:n:i:g:p:l:d:c:", options,
				     NULL)) != -1) {
		switch (option) {
		case 'C':
			device = optarg;
			break;
		case 'P':
			number_of = number(optarg);
			break;
		case 'n':
			req.name = optarg;
			break;
		case 'i':
			req.id = number(optarg);
			req.has_id = true;
			break;
		case 'g':
			if (inet_pton(AF_INET6, optarg, req.record.gid) != 1)
				die("'%s' is not a GID", optarg);
			req.has_gid = true;
			break;
		case 'p':
			req.record.pkey = htobe16(number(optarg));
			req.has_pkey = true;
			break;
		case 'l':
			req.record.lease = htobe32(number(optarg));
			break;
		case 'd':
			data_parse(optarg, req.record.data);
			req.has_data = true;
			break;
		case 'c':
			req.count = number(optarg);
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind + 1 != argc || !req.count) {
		fputs(usage, stderr);
		return 2;
	}
	mad_open(&port, device, number_of);
	mad_register_client(&port);
	return command_run(&port, &req, argv[optind]);
}
