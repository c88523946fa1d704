/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Queries to the resolver at the uAPI: the fixture, an id of a private file,
 * and a result of three addresses that the test itself passes, so that it
 * determines how long a request is outstanding.
 */
#ifndef IOCTL_ADDRINFO_H
#define IOCTL_ADDRINFO_H

#include "ioctl.h"
#include "harness.h"

#define NODE		"storage.example"

FIXTURE(addrinfo) {
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(addrinfo)
{
	self->fd = dev_open(O_NONBLOCK);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, id_create(self->fd, RDMA_PS_TCP, 1, &self->id));
}

FIXTURE_TEARDOWN(addrinfo)
{
	close(self->fd);
	EXPECT_TRUE(counter_wait("live_files", 0));
	EXPECT_EQ(0, counter("live_queries"));
	EXPECT_EQ(0, counter("live_events"));
	EXPECT_EQ(0, counter("live_ids"));
}

struct names {
	struct rdma_cmx_names head;
	struct rdma_cmx_names_addr addr[3];
	char canon[16];
};

static inline uint32_t names_make(struct names *n)
{
	const char *const text[] = {
		ADDR_PLAIN, "203.0.113.9", ADDR_RDMA,
	};
	int i;

	memset(n, 0, sizeof(*n));
	n->head.version = RDMA_CMX_NAMES_VERSION;
	n->head.addr_count = 3;
	n->head.canon_len = 9;
	for (i = 0; i < 3; i++) {
		n->addr[i].family = AF_INET;
		inet_pton(AF_INET, text[i], n->addr[i].addr);
	}
	memcpy(n->canon, "canonical", 9);
	return sizeof(n->head) + sizeof(n->addr) + 9;
}

static inline void query_make(struct rdma_cmx_ai_query *q, const char *node)
{
	memset(q, 0, sizeof(*q));
	q->node = (uintptr_t)node;
	q->node_len = node ? strlen(node) : 0;
	q->port_space = RDMA_PS_TCP;
	q->port = htons(4420);
	q->flags = RDMA_CMX_AIQ_PORT;
}

static inline int resolve_later(int fd, uint32_t id, const char *node)
{
	struct rdma_cmx_resolve_addrinfo arg = { .id = id };

	query_make(&arg.query, node);
	arg.query.flags |= RDMA_CMX_AIQ_NAMES_LATER;
	return call(fd, RESOLVE_ADDRINFO, &arg);
}

static inline int names_give(int fd, uint32_t id, int error)
{
	struct rdma_cmx_give_names arg = { .id = id, .error = error };
	struct names n;

	if (!error) {
		arg.names_len = names_make(&n);
		arg.names = (uintptr_t)&n;
	}
	return call(fd, GIVE_NAMES, &arg);
}

static inline int result_get(int fd, uint32_t id, void *buf, uint32_t buf_len,
		      uint32_t *len)
{
	struct rdma_cmx_query_addrinfo arg = {
		.id = id, .buf = (uintptr_t)buf, .buf_len = buf_len,
	};
	int ret = call(fd, QUERY_ADDRINFO, &arg);

	*len = arg.len;
	return ret;
}

/* Walks a result; the number of entries, or -1 if it is malformed. */
static inline int entries_count(const void *buf, uint32_t len)
{
	const struct rdma_cmx_ai_entry *e;
	uint32_t pos = 0;
	int n = 0;

	while (pos < len) {
		e = buf + pos;
		if (e->header_len < 136 || e->header_len % 8 || e->len % 8 ||
		    e->len > len - pos ||
		    e->len < e->header_len + e->route_len + e->connect_len +
			     e->canon_len)
			return -1;
		pos += e->len;
		n++;
	}
	return n;
}

/* The storage address first, the unreachable one last */
static inline int answer_check(const void *buf, uint32_t len)
{
	const struct rdma_cmx_ai_entry *e = buf;
	struct sockaddr_in in;

	memcpy(&in, &e->dst, sizeof(in));
	if (in.sin_family != AF_INET || ntohs(in.sin_port) != 4420 ||
	    in.sin_addr.s_addr != inet_addr(ADDR_RDMA) || e->port_num != 1)
		return -1;
	if (e->canon_len != 9 || e->route_len ||
	    memcmp(buf + e->header_len + e->connect_len, "canonical", 9))
		return -2;
	return entries_count(buf, len) == 3 ? 0 : -3;
}

#endif
