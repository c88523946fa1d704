// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Management datagrams by ib_umad, see mad.h. One thread, no locks. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <infiniband/umad_sm.h>

#include "mad.h"

/* 10,000 records are 1.8 MB. */
#define ANSWER_MAX	(4 << 20)

#define REQUEST_MS	1000
#define REQUEST_RETRIES	7

/* Bytes of PortInfo that are written here */
#define PI_MASTER_SM_LID	18
#define PI_STATE		32
#define PI_PHYS_STATE		33
#define PI_MASTER_SM_SL		36

void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	putc('\n', stderr);
	exit(1);
}

double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

void mad_refresh(struct mad_port *port)
{
	umad_port_t attr;

	if (umad_get_port(port->device[0] ? port->device : NULL, port->number,
			  &attr))
		die("%s/%d: no such port", port->device, port->number);
	snprintf(port->device, sizeof(port->device), "%s", attr.ca_name);
	port->number = attr.portnum;
	port->lid = attr.base_lid;
	port->sm_lid = attr.sm_lid;
	port->sm_sl = attr.sm_sl;
	memcpy(port->gid, &attr.gid_prefix, 8);
	memcpy(port->gid + 8, &attr.port_guid, 8);
	umad_release_port(&attr);
}

void mad_open(struct mad_port *port, const char *device, int number)
{
	memset(port, 0, sizeof(*port));
	if (umad_init())
		die("umad_init: is ib_umad loaded?");
	snprintf(port->device, sizeof(port->device), "%s", device ?: "");
	port->number = number;
	mad_refresh(port);
	port->fd = umad_open_port(port->device, port->number);
	if (port->fd < 0)
		die("%s/%d: cannot open it: %s", port->device, port->number,
		    strerror(errno));
}

void mad_close(struct mad_port *port)
{
	umad_close_port(port->fd);
	port->fd = -1;
}

static void agent_register(struct mad_port *port, struct umad_reg_attr *attr)
{
	if (umad_register2(port->fd, attr, &port->agent))
		die("%s/%d: cannot register for class %u: %s", port->device,
		    port->number, attr->mgmt_class, strerror(errno));
}

void mad_register_client(struct mad_port *port)
{
	struct umad_reg_attr attr = {
		.mgmt_class = UMAD_CLASS_SUBN_ADM,
		.mgmt_class_version = UMAD_SA_CLASS_VERSION,
		.rmpp_version = UMAD_RMPP_VERSION,
	};

	agent_register(port, &attr);
}

void mad_register_server(struct mad_port *port)
{
	struct umad_reg_attr attr = {
		.mgmt_class = UMAD_CLASS_SUBN_ADM,
		.mgmt_class_version = UMAD_SA_CLASS_VERSION,
		.method_mask[0] = 1ULL << UMAD_METHOD_GET |
				  1ULL << UMAD_METHOD_SET |
				  1ULL << UMAD_SA_METHOD_GET_TABLE |
				  1ULL << UMAD_SA_METHOD_DELETE,
	};

	agent_register(port, &attr);
}

void sa_send(struct mad_port *port, uint32_t tid, uint8_t method,
	     uint16_t attr, uint64_t mask, const void *record, size_t len)
{
	uint8_t buf[umad_size() + MAD_SIZE];
	struct umad_sa_packet *mad;

	memset(buf, 0, sizeof(buf));
	mad = umad_get_mad(buf);
	mad->mad_hdr.base_version = 1;
	mad->mad_hdr.mgmt_class = UMAD_CLASS_SUBN_ADM;
	mad->mad_hdr.class_version = UMAD_SA_CLASS_VERSION;
	mad->mad_hdr.method = method;
	mad->mad_hdr.tid = htobe64(tid);
	mad->mad_hdr.attr_id = htobe16(attr);
	mad->comp_mask = htobe64(mask);
	memcpy(mad->data, record, len);
	umad_set_addr(buf, port->sm_lid, 1, port->sm_sl, 0x80010000);
	if (umad_send(port->fd, port->agent, buf, MAD_SIZE, REQUEST_MS,
		      REQUEST_RETRIES))
		die("%s/%d: cannot send: %s", port->device, port->number,
		    strerror(errno));
}

bool sa_receive(struct mad_port *port, struct sa_answer *answer,
		int timeout_ms)
{
	static uint8_t *buf;
	const struct umad_sa_packet *mad;
	int len = ANSWER_MAX, ret;

	if (!buf)
		buf = malloc(umad_size() + ANSWER_MAX);
	if (!buf)
		die("out of memory");
	ret = umad_recv(port->fd, buf, &len, timeout_ms);
	if (ret < 0) {
		if (errno == ETIMEDOUT || errno == EAGAIN)
			return false;
		die("%s/%d: cannot receive: %s", port->device, port->number,
		    strerror(errno));
	}
	memset(answer, 0, sizeof(*answer));
	mad = umad_get_mad(buf);
	answer->error = umad_status(buf);
	answer->tid = be64toh(mad->mad_hdr.tid);
	answer->method = mad->mad_hdr.method;
	answer->status = be16toh(mad->mad_hdr.status);
	answer->attr = be16toh(mad->mad_hdr.attr_id);
	if (answer->error || (size_t)len < SA_HEADER)
		return true;
	answer->stride = be16toh(mad->attr_offset) * 8;
	answer->data = mad->data;
	answer->len = len - SA_HEADER;
	return true;
}

/* A packet to the local port and its response, in place */
static void smp_exchange(const struct mad_port *port, int fd, int agent,
			 struct umad_smp *smp, uint8_t method)
{
	uint8_t buf[umad_size() + MAD_SIZE];
	int len = MAD_SIZE;

	memset(buf, 0, umad_size());
	smp->base_version = 1;
	smp->mgmt_class = UMAD_CLASS_SUBN_DIRECTED_ROUTE;
	smp->class_version = 1;
	smp->method = method;
	smp->status = 0;
	smp->hop_ptr = 0;
	smp->hop_cnt = 0;
	smp->tid = htobe64(method);
	smp->attr_id = htobe16(UMAD_SM_ATTR_PORT_INFO);
	smp->attr_mod = htobe32(port->number);
	smp->dr_slid = 0xffff;
	smp->dr_dlid = 0xffff;
	memcpy(umad_get_mad(buf), smp, sizeof(*smp));
	umad_set_addr(buf, 0xffff, 0, 0, 0);
	if (umad_send(fd, agent, buf, MAD_SIZE, 1000, 3) ||
	    umad_recv(fd, buf, &len, 10000) < 0)
		die("%s/%d: no answer from the own port: %s", port->device,
		    port->number, strerror(errno));
	memcpy(smp, umad_get_mad(buf), sizeof(*smp));
	if (umad_status(buf) || (be16toh(smp->status) & 0x7fff))
		die("%s/%d: PortInfo by method %u: error %d, status 0x%x",
		    port->device, port->number, method, umad_status(buf),
		    be16toh(smp->status));
}

unsigned int sm_lid_set(const struct mad_port *victim, unsigned int lid)
{
	struct umad_smp smp = {};
	unsigned int former;
	int fd, agent;
	__be16 value;

	fd = umad_open_port(victim->device, victim->number);
	if (fd < 0)
		die("%s/%d: cannot open it: %s", victim->device,
		    victim->number, strerror(errno));
	agent = umad_register(fd, UMAD_CLASS_SUBN_DIRECTED_ROUTE, 1, 0, NULL);
	if (agent < 0)
		die("%s/%d: cannot register for SMPs: %s", victim->device,
		    victim->number, strerror(errno));
	smp_exchange(victim, fd, agent, &smp, UMAD_METHOD_GET);
	memcpy(&value, smp.data + PI_MASTER_SM_LID, sizeof(value));
	former = be16toh(value);
	value = htobe16(lid);
	memcpy(smp.data + PI_MASTER_SM_LID, &value, sizeof(value));
	/* States of 0 mean no change: the link stays. */
	smp.data[PI_STATE] &= 0xf0;
	smp.data[PI_PHYS_STATE] &= 0;
	smp.data[PI_MASTER_SM_SL] &= 0xf0;
	smp_exchange(victim, fd, agent, &smp, UMAD_METHOD_SET);
	umad_close_port(fd);
	return former;
}
