// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Fuzzing target: librdmacmx parses the arguments of rdma_getaddrinfo(), and a
 * response of the kernel, whose lengths alone it may trust.
 */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "lib.h"

/* Takes a text up to a zero or the end; the rest stays in @data. */
static char *text_take(const uint8_t **data, size_t *size)
{
	size_t len = strnlen((const char *)*data, *size);
	char *text = strndup((const char *)*data, len);

	if (len < *size)
		len++;
	*data += len;
	*size -= len;
	return text;
}

static void *bytes_take(const uint8_t **data, size_t *size, size_t len)
{
	void *bytes;

	if (len > *size)
		len = *size;
	bytes = malloc(len + !len);
	if (bytes)
		memcpy(bytes, *data, len);
	*data += len;
	*size -= len;
	return bytes;
}

static void request(const uint8_t *data, size_t size)
{
	struct rdma_addrinfo hints = {};
	char *node, *service;
	struct cmx_ai_request req;
	uint8_t head[16] = {};

	if (size < sizeof(head))
		return;
	memcpy(head, data, sizeof(head));
	data += sizeof(head);
	size -= sizeof(head);
	node = text_take(&data, &size);
	service = text_take(&data, &size);
	hints.ai_flags = head[0] | (uint32_t)head[1] << 28;
	hints.ai_family = (int[]){ 0, AF_INET, AF_INET6, AF_IB,
				   head[2] }[head[3] % 5];
	hints.ai_qp_type = head[4] & 15;
	hints.ai_port_space = (int[]){ 0, RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB,
				       head[5] }[head[6] % 5];
	/* With the length of the input, for any family */
	hints.ai_src_len = head[7] < size ? head[7] : size;
	hints.ai_src_addr = bytes_take(&data, &size, hints.ai_src_len);
	hints.ai_dst_len = head[8] < size ? head[8] : size;
	hints.ai_dst_addr = bytes_take(&data, &size, hints.ai_dst_len);
	hints.ai_route_len = size;
	hints.ai_route = bytes_take(&data, &size, size);
	if (node && service &&
	    !cmx_ai_request_init(&req, head[9] & 1 ? node : NULL,
				 head[9] & 2 ? service : NULL,
				 head[9] & 4 ? &hints : NULL, head[9] & 8)) {
		if (req.query.node_len > RDMA_CMX_MAX_NODE ||
		    req.query.service_len > RDMA_CMX_MAX_SERVICE)
			abort();
		cmx_ai_request_clear(&req);
	}
	free(node);
	free(service);
	free(hints.ai_src_addr);
	free(hints.ai_dst_addr);
	free(hints.ai_route);
}

/* Entries with almost valid lengths; others are rejected early. */
static void answer(const uint8_t *data, size_t size)
{
	struct rdma_addrinfo *list = NULL;
	struct rdma_cmx_ai_entry *e;
	uint8_t *bytes = malloc(size + 8);
	uint8_t how;

	if (!bytes)
		return;
	memcpy(bytes, data, size);
	e = (void *)bytes;
	if (size >= sizeof(*e)) {
		how = bytes[size - 1];
		if (how & 1)
			e->len = size & ~7u;
		if (how & 2)
			e->route_len &= 0xff;
		if (how & 4)
			e->connect_len &= 0xff;
		if (how & 8)
			e->canon_len &= 0xff;
		if (how & 16)
			e->src.family = how & 32 ? AF_INET6 : AF_IB;
	}
	if (!cmx_ai_from_kern(bytes, size, &list))
		rdma_freeaddrinfo(list);
	free(bytes);
}

/* An event, whose parts must lie within it */
static void event(const uint8_t *data, size_t size)
{
	struct cmx_raw_event *rec = malloc(sizeof(*rec));
	const uint8_t *end, *parts[2];
	size_t i;

	if (!rec)
		return;
	memset(rec, 0xa5, sizeof(*rec));
	memcpy(rec->bytes, data, size < sizeof(rec->bytes) ?
				 size : sizeof(rec->bytes));
	if (!cmx_raw_event_parse(rec)) {
		end = (uint8_t *)rec->bytes + rec->ev.len;
		parts[0] = (const void *)rec->paths;
		parts[1] = rec->private_data;
		for (i = 0; i < 2; i++)
			if (parts[i] && (parts[i] > end || parts[i] <
					 (uint8_t *)rec->bytes + 96))
				abort();
	}
	free(rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(const uint8_t *data, size_t size) = {
		answer, request, event,
	};

	if (size)
		targets[data[0] % 3](data + 1, size - 1);
	return 0;
}
