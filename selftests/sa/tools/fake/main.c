// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * fake: an SA with wrong responses. It replaces the SA for the ports of
 * --victim (see sm_lid_set()) while no subnet manager runs, until SIGTERM. One
 * line of output for each request: its method and attribute.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "fake.h"

#define VICTIMS_MAX	16
#define RECORDS_MAX	1000
#define ID_FIRST	0x5001

static const char usage[] =
"fake [OPTION...] MODE[=NUMBER]\n"
"  -C, --device DEVICE  where the fake SA is\n"
"  -V, --victim DEVICE  whom it serves (may be repeated)\n"
"  -n, --records N      records of an answer (default: 3)\n"
"  -t, --times N        spoil N answers only, then be good\n"
"  -d, --delay MS       wait before each answer\n"
"  -a, --attribute ID   spoil answers on that attribute (default: 0x31,\n"
"                       ServiceRecord)\n"
"  -p, --pkey P_KEY     of the service records (default: 0xffff)\n"
"  -c, --capabilities N CapabilityMask2 of ClassPortInfo (default: 0)\n"
"  -f, --from DEVICE    sends the answers, in place of the fake SA\n";

struct fake {
	struct mad_port port;
	struct mad_port from;	/* usually the same */
	const struct mode *mode;
	unsigned long arg;
	unsigned long records;
	unsigned long times;
	unsigned long delay_ms;
	uint16_t attr;
	struct mad_port victims[VICTIMS_MAX];
	unsigned int former[VICTIMS_MAX];
	size_t victim_count;
	uint16_t pkey;
	uint32_t caps;
};

static volatile sig_atomic_t ended;

static void end(int sig)
{
	ended = 1;
}

static unsigned long number(const char *text)
{
	unsigned long value;
	char *rest;

	errno = 0;
	value = strtoul(text, &rest, 0);
	if (errno || rest == text || *rest)
		die("'%s' is not a number", text);
	return value;
}

/* The first word of a file of port 1 of a device */
static bool port_read(const char *device, const char *name, char text[64])
{
	char path[300];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "%s/ports/1/%s", device, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	ok = fscanf(file, "%63s", text) == 1;
	fclose(file);
	return ok;
}

/* Finds the LID of a GID, 0: no port has it. All ports are on this host. */
static unsigned int lid_find(const uint8_t gid[16])
{
	unsigned int lid = 0;
	uint8_t raw[16];
	char text[64];
	glob_t devices;
	size_t i;

	if (glob("/sys/class/infiniband/*", 0, NULL, &devices))
		return 0;
	for (i = 0; i < devices.gl_pathc && !lid; i++) {
		const char *device = devices.gl_pathv[i];

		if (port_read(device, "gids/0", text) &&
		    inet_pton(AF_INET6, text, raw) == 1 &&
		    !memcmp(raw, gid, sizeof(raw)) &&
		    port_read(device, "lid", text))
			lid = strtoul(text, NULL, 16);
	}
	globfree(&devices);
	return lid;
}

/* The response to a query by name or by id, with @fake->records records */
static void services_fill(const struct fake *fake, struct reply *reply,
			  const struct umad_sa_packet *request)
{
	const uint64_t mask = be64toh(request->comp_mask);
	struct service_record queried, rec = {};
	size_t i;

	memcpy(&queried, request->data, sizeof(queried));
	for (i = 0; i < fake->records; i++) {
		rec.id = htobe64(ID_FIRST + i);
		snprintf(rec.name, sizeof(rec.name), "fake");
		memcpy(rec.gid, fake->port.gid, sizeof(rec.gid));
		if (mask & SERVICE_ID) {
			/* One id, so each record has another GID */
			rec.id = queried.id;
			rec.gid[15] += i;
		}
		if (mask & SERVICE_NAME)
			memcpy(rec.name, queried.name, sizeof(rec.name));
		rec.pkey = htobe16(fake->pkey);
		rec.lease = htobe32(0xffffffff);
		memcpy(reply->table + i * sizeof(rec), &rec, sizeof(rec));
	}
	reply->size = sizeof(rec);
	reply->count = fake->records;
}

/* One PathRecord, or none to a GID that no port has */
static void paths_fill(struct reply *reply,
		       const struct umad_sa_packet *request,
		       unsigned int source)
{
	unsigned int lid = lid_find(request->data + 8);
	uint8_t *rec = reply->table;

	reply->size = 64;
	reply->count = lid ? 1 : 0;
	memset(rec, 0, reply->size);
	memcpy(rec + 8, request->data + 8, 32);
	rec[40] = lid >> 8;
	rec[41] = lid;
	rec[42] = source >> 8;
	rec[43] = source;
	rec[49] = 0x81;		/* reversible, one path */
	rec[50] = 0xff;		/* P_Key */
	rec[51] = 0xff;
	rec[54] = 0x80 | 4;	/* exactly: MTU 2048, 10 Gb/s, 1 s */
	rec[55] = 0x80 | 3;
	rec[56] = 0x80 | 18;
}

/* ClassPortInfo with the capabilities */
static void info_fill(const struct fake *fake, struct reply *reply)
{
	const uint32_t word = htobe32(fake->caps << 5);

	reply->size = 72;
	reply->count = 1;
	memset(reply->table, 0, reply->size);
	reply->table[0] = UMAD_BASE_VERSION;
	reply->table[1] = UMAD_SA_CLASS_VERSION;
	memcpy(reply->table + 4, &word, sizeof(word));
}

/* A valid response, before segmentation */
static void reply_fill(const struct fake *fake, struct reply *reply,
		       const struct umad_sa_packet *request,
		       unsigned int source)
{
	reply->head = *request;
	reply->head.mad_hdr.method |= UMAD_METHOD_RESP_MASK;
	reply->head.mad_hdr.status = 0;
	reply->head.attr_offset = 0;
	memset(&reply->head.rmpp_hdr, 0, sizeof(reply->head.rmpp_hdr));
	reply->attr = be16toh(request->mad_hdr.attr_id);
	reply->count = 0;
	reply->len = 0;
	reply->segment_count = 0;
	if (request->mad_hdr.method == UMAD_METHOD_SET) {
		reply->head.mad_hdr.method = UMAD_METHOD_GET_RESP;
		if (reply->attr != UMAD_SA_ATTR_SERVICE_REC)
			reply->head.mad_hdr.status =
				htobe16(UMAD_SA_STATUS_REQ_INVALID << 8);
		return;
	}
	if (request->mad_hdr.method == UMAD_SA_METHOD_DELETE)
		return;
	if (reply->attr == UMAD_SA_ATTR_SERVICE_REC)
		services_fill(fake, reply, request);
	else if (reply->attr == UMAD_SA_ATTR_PATH_REC)
		paths_fill(reply, request, source);
	else if (reply->attr == UMAD_ATTR_CLASS_PORT_INFO)
		info_fill(fake, reply);
	else
		reply->head.mad_hdr.status =
			htobe16(UMAD_SA_STATUS_NO_RECORDS << 8);
	reply->len = reply->count * reply->size;
	if (reply->count)
		reply->head.attr_offset = htobe16(reply->size / 8);
}

/* Each segment starts with the SA's header, which counts as payload. */
static void reply_cut(struct reply *reply)
{
	const size_t header = SA_HEADER - RMPP_HEADER;
	size_t at = 0, n = 0;

	do {
		struct segment *seg = &reply->segments[n++];

		seg->number = n;
		seg->version = UMAD_RMPP_VERSION;
		seg->type = RMPP_TYPE_DATA;
		seg->flags = RMPP_ACTIVE | (n == 1 ? RMPP_FIRST : 0);
		seg->status = 0;
		seg->copies = 1;
		seg->data = reply->table + at;
		seg->len = reply->len - at < SA_SEGMENT ? reply->len - at :
							  SA_SEGMENT;
		seg->paylen = 0;
		at += seg->len;
		if (at == reply->len) {
			seg->flags |= RMPP_LAST;
			seg->paylen = seg->len + header;
		}
	} while (at < reply->len && n < SEGMENTS_MAX);
	if (n > 1)
		reply->segments[0].paylen = reply->len + n * header;
	reply->segment_count = n;
}

/* umad rejects a second packet of a transaction until the first is sent. */
static void packet_send(struct fake *fake, void *buf)
{
	int tries;

	for (tries = 0; tries < 5000; tries++) {
		if (!umad_send(fake->from.fd, fake->from.agent, buf, MAD_SIZE,
			       0, 0))
			return;
		if (errno != EINVAL)
			break;
		usleep(200);
	}
	die("cannot send: %s", strerror(errno));
}

static void segment_send(struct fake *fake, const struct reply *reply,
			 const struct segment *seg, void *buf)
{
	struct umad_sa_packet *mad = umad_get_mad(buf);
	unsigned int copy;

	*mad = reply->head;
	mad->rmpp_hdr.rmpp_version = seg->version;
	mad->rmpp_hdr.rmpp_type = seg->type;
	mad->rmpp_hdr.rmpp_rtime_flags = seg->flags;
	mad->rmpp_hdr.rmpp_status = seg->status;
	mad->rmpp_hdr.seg_num = htobe32(seg->number);
	mad->rmpp_hdr.paylen_newwin = htobe32(seg->paylen);
	memset(mad->data, 0, sizeof(mad->data));
	memcpy(mad->data, seg->data, seg->len);
	for (copy = 0; copy < seg->copies; copy++)
		packet_send(fake, buf);
}

/* @buf has the request with its sender's address, the target. */
static void request_answer(struct fake *fake, void *buf)
{
	const struct umad_sa_packet request =
		*(struct umad_sa_packet *)umad_get_mad(buf);
	static uint8_t table[(RECORDS_MAX + 1) * 256];
	static struct reply reply;
	const struct mode *spoil = NULL;
	size_t i;

	reply.table = table;
	reply_fill(fake, &reply, &request,
		   be16toh(umad_get_mad_addr(buf)->lid));
	if (reply.attr == fake->attr && fake->times) {
		spoil = fake->mode;
		fake->times--;
	}
	if (spoil && spoil->records)
		spoil->records(&reply, fake->arg);
	if (request.mad_hdr.method == UMAD_SA_METHOD_GET_TABLE) {
		reply_cut(&reply);
	} else {
		if (!reply.len &&
		    request.mad_hdr.method == UMAD_METHOD_GET &&
		    !reply.head.mad_hdr.status)
			reply.head.mad_hdr.status =
				htobe16(UMAD_SA_STATUS_NO_RECORDS << 8);
		reply.segments[0] = (struct segment) {
			.copies = 1,
			.data = reply.len ? reply.table : reply.head.data,
			.len = reply.len ? reply.size : SA_SEGMENT,
		};
		reply.segment_count = 1;
	}
	if (spoil && spoil->segments)
		spoil->segments(&reply, fake->arg);
	if (fake->delay_ms)
		usleep(fake->delay_ms * 1000);
	umad_get_mad_addr(buf)->qkey = htobe32(0x80010000);
	for (i = 0; i < reply.segment_count; i++)
		segment_send(fake, &reply, &reply.segments[i], buf);
}

static void serve(struct fake *fake)
{
	const struct umad_sa_packet *mad;
	uint8_t buf[umad_size() + MAD_SIZE];
	int len;

	while (!ended) {
		len = MAD_SIZE;
		if (umad_recv(fake->port.fd, buf, &len, -1) < 0) {
			if (errno == EINTR)
				continue;
			die("cannot receive: %s", strerror(errno));
		}
		mad = umad_get_mad(buf);
		/* The receiver's ACK, STOP or ABORT */
		if (umad_status(buf) ||
		    (mad->rmpp_hdr.rmpp_type &&
		     mad->rmpp_hdr.rmpp_type != RMPP_TYPE_DATA))
			continue;
		printf("0x%02x 0x%04x\n", mad->mad_hdr.method,
		       be16toh(mad->mad_hdr.attr_id));
		request_answer(fake, buf);
	}
}

static void mode_set(struct fake *fake, const char *text)
{
	const char *value = strchrnul(text, '=');
	const struct mode *mode;

	for (mode = fake_modes; mode->name; mode++)
		if (strlen(mode->name) == (size_t)(value - text) &&
		    !strncmp(mode->name, text, value - text))
			break;
	if (!mode->name)
		die("there is no mode '%s'", text);
	fake->mode = mode;
	if (*value)
		fake->arg = number(value + 1);
}

static void victim_add(struct fake *fake, const char *device)
{
	if (fake->victim_count == VICTIMS_MAX)
		die("too many victims");
	mad_open(&fake->victims[fake->victim_count++], device, 0);
}

static int usage_show(void)
{
	const struct mode *mode;

	fputs(usage, stderr);
	for (mode = fake_modes; mode->name; mode++)
		fprintf(stderr, "  %-14s %s\n", mode->name, mode->what);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'C' },
		{ "victim", required_argument, NULL, 'V' },
		{ "records", required_argument, NULL, 'n' },
		{ "times", required_argument, NULL, 't' },
		{ "delay", required_argument, NULL, 'd' },
		{ "attribute", required_argument, NULL, 'a' },
		{ "pkey", required_argument, NULL, 'p' },
		{ "capabilities", required_argument, NULL, 'c' },
		{ "from", required_argument, NULL, 'f' },
		{ NULL },
	};
	/* Without SA_RESTART, so that a signal ends the wait for a request */
	const struct sigaction action = { .sa_handler = end };
	static struct fake fake = {
		.records = 3, .times = -1UL, .attr = UMAD_SA_ATTR_SERVICE_REC,
		.pkey = 0xffff,
	};
	const char *device = NULL, *from = NULL;
	int option;
	size_t i;

	while ((option = getopt_long(argc, argv, "C:V:n:t:d:a:p:c:f:", options,
				     NULL)) != -1) {
		switch (option) {
		case 'C':
			device = optarg;
			break;
		case 'V':
			victim_add(&fake, optarg);
			break;
		case 'n':
			fake.records = number(optarg);
			break;
		case 't':
			fake.times = number(optarg);
			break;
		case 'd':
			fake.delay_ms = number(optarg);
			break;
		case 'a':
			fake.attr = number(optarg);
			break;
		case 'p':
			fake.pkey = number(optarg);
			break;
		case 'c':
			fake.caps = number(optarg);
			break;
		case 'f':
			from = optarg;
			break;
		default:
			return usage_show();
		}
	}
	if (optind + 1 != argc || fake.records > RECORDS_MAX)
		return usage_show();
	mode_set(&fake, argv[optind]);
	/* The program ends with a test that fails. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);

	mad_open(&fake.port, device, 0);
	mad_register_server(&fake.port);
	fake.from = fake.port;
	if (from) {
		mad_open(&fake.from, from, 0);
		mad_register_client(&fake.from);
	}
	for (i = 0; i < fake.victim_count; i++)
		fake.former[i] = sm_lid_set(&fake.victims[i], fake.port.lid);
	puts("ready");
	serve(&fake);
	for (i = 0; i < fake.victim_count; i++)
		sm_lid_set(&fake.victims[i], fake.former[i]);
	return 0;
}
