// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rdma_getaddrinfo() and its lists. Every part of an entry is a separate
 * allocation, as in the stock library: programs take entries apart, build
 * other lists of them, and free these with rdma_freeaddrinfo().
 */
#include <limits.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cmx.h>

#include "lib.h"

/* Enough for most results */
#define AI_BUF		1024

/* The first published form of an entry's fixed part is constant. */
#define ENTRY_MIN	136

/* Seconds after which an interrupted request is not retried */
#define AI_TIMEOUT	30

/* Memory of each entry of this library */
struct cmx_ai {
	struct rdma_addrinfo ai;
	uint32_t ibdev_index;
	uint32_t port_num;
	uint32_t gid_index;
	uint32_t gid_type;	/* RDMA_CMX_GID_* */
};

static void *bytes_dup(const void *from, size_t len)
{
	void *to = malloc(len);

	return to ? memcpy(to, from, len) : NULL;
}

static int addr_dup(struct sockaddr **addr, socklen_t *len,
		    const struct rdma_cmx_addr *from)
{
	*len = cmx_addr_len(from->family);
	if (!*len)
		return 0;
	*addr = bytes_dup(from, *len);
	return *addr ? 0 : -1;
}

static size_t padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* Converts one record to one entry; NULL with errno. */
static struct rdma_addrinfo *
entry_from_kern(const struct rdma_cmx_ai_entry *raw)
{
	const char *route = (const char *)raw + raw->header_len;
	const char *connect = route + raw->route_len;
	const char *canon = connect + padded(raw->connect_len);
	const struct rdma_cmx_ai_entry *e = raw;
	struct rdma_cmx_ai_entry whole;
	struct cmx_ai *new;
	char *name;

	if (raw->header_len % 8 ||
	    raw->len < (uint64_t)raw->header_len + raw->route_len +
		       padded(raw->connect_len) + padded(raw->canon_len)) {
		errno = EPROTO;
		return NULL;
	}
	/* Of an older kernel: fields that it lacks are 0. */
	if (raw->header_len < sizeof(*raw)) {
		cmx_grown_copy(&whole, sizeof(whole), raw, raw->header_len);
		e = &whole;
	}
	/* Not calloc(), which takes a lock. All fields are set below. */
	new = malloc(sizeof(*new));
	if (!new)
		return NULL;
	if (cmx_own_add(new, CMX_AI)) {
		free(new);
		errno = ENOMEM;
		return NULL;
	}
	*new = (struct cmx_ai){
		.ai = {
			.ai_flags = e->ai_flags,
			.ai_family = e->family,
			.ai_qp_type = e->qp_type,
			.ai_port_space = e->port_space,
		},
		.ibdev_index = e->ibdev_index,
		.port_num = e->port_num,
		.gid_index = e->gid_index,
		.gid_type = e->gid_type,
	};

	if (addr_dup(&new->ai.ai_src_addr, &new->ai.ai_src_len, &e->src) ||
	    addr_dup(&new->ai.ai_dst_addr, &new->ai.ai_dst_len, &e->dst))
		goto err;
	if (e->route_len) {
		new->ai.ai_route = bytes_dup(route, e->route_len);
		if (!new->ai.ai_route)
			goto err;
		new->ai.ai_route_len = e->route_len;
	}
	if (e->connect_len) {
		new->ai.ai_connect = bytes_dup(connect, e->connect_len);
		if (!new->ai.ai_connect)
			goto err;
		new->ai.ai_connect_len = e->connect_len;
	}
	if (e->canon_len) {
		name = malloc(e->canon_len + 1);
		if (!name)
			goto err;
		memcpy(name, canon, e->canon_len);
		name[e->canon_len] = 0;
		if (e->ai_flags & RAI_PASSIVE)
			new->ai.ai_src_canonname = name;
		else
			new->ai.ai_dst_canonname = name;
	}
	return &new->ai;

err:
	rdma_freeaddrinfo(&new->ai);
	errno = ENOMEM;
	return NULL;
}

/* The kernel returns the name once. Each entry gets a copy. */
static int canonname_copy(struct rdma_addrinfo *to,
			  const struct rdma_addrinfo *from)
{
	if (from->ai_src_canonname && !to->ai_src_canonname) {
		to->ai_src_canonname = strdup(from->ai_src_canonname);
		if (!to->ai_src_canonname)
			return -1;
	}
	if (from->ai_dst_canonname && !to->ai_dst_canonname) {
		to->ai_dst_canonname = strdup(from->ai_dst_canonname);
		if (!to->ai_dst_canonname)
			return -1;
	}
	return 0;
}

int cmx_ai_from_kern(const void *buf, size_t len, struct rdma_addrinfo **res)
{
	struct rdma_addrinfo *head = NULL, **tail = &head;
	const struct rdma_cmx_ai_entry *e;
	size_t pos;
	int err;

	for (pos = 0; pos < len; pos += e->len) {
		e = (const void *)((const char *)buf + pos);
		if (len - pos < ENTRY_MIN || e->header_len < ENTRY_MIN ||
		    e->len > len - pos || e->len % 8) {
			errno = EPROTO;
			goto err;
		}
		*tail = entry_from_kern(e);
		if (!*tail || canonname_copy(*tail, head))
			goto err;
		tail = &(*tail)->ai_next;
	}
	*res = head;
	return 0;

err:
	err = errno;
	rdma_freeaddrinfo(head);
	return cmx_err(err);
}

/* See RDMA_CMX_AI_ERRNOS; sets errno for EAI_SYSTEM. */
static int eai_from_errno(int err)
{
	switch (err) {
	case 0:
		return 0;
	case ENOENT:
	case ENOKEY:
		return EAI_NONAME;
	case ENODATA:
		return EAI_NODATA;
	case EADDRNOTAVAIL:
		return EAI_ADDRFAMILY;
	case EAGAIN:
	case ETIMEDOUT:
		return EAI_AGAIN;
	case ECONNREFUSED:
		return EAI_FAIL;
	case EOPNOTSUPP:
		return EAI_BADFLAGS;
	case EAFNOSUPPORT:
		return EAI_FAMILY;
	case EPROTOTYPE:
		return EAI_QPTYPE;
	case ENOMEM:
		return EAI_MEMORY;
	case CMX_ESERVICE:
		return EAI_SERVICE;
	default:
		errno = err;
		return EAI_SYSTEM;
	}
}

static time_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Transport of an entry */
struct cmx_ai_type {
	uint32_t qp_type;
	uint32_t port_space;
};

/* The state of one rdma_getaddrinfo() call. */
struct ai_call {
	struct rdma_cmx_getaddrinfo cmd;
	struct cmx_ai_request req;
	const char *node;
	void *names;		/* result of this process's libc, or NULL */
	void *big;		/* buffer for a long result, or NULL */
	int fd;
	bool reopened;
	time_t start;		/* of the first interruption, or 0 */
};

static int names_add(struct ai_call *call)
{
	size_t len = CMX_NAMES_BUF;
	int err;

	call->names = malloc(len);
	if (!call->names)
		return ENOMEM;
	err = cmx_libc_lookup(call->node, call->names, &len);
	if (err)
		return err;
	call->req.query.names = (uintptr_t)call->names;
	call->req.query.names_len = len;
	return 0;
}

/* The result did not fit: retry with twice the memory. */
static int buffer_grow(struct ai_call *call)
{
	size_t len = (size_t)call->cmd.len * 2;

	if (len <= call->cmd.buf_len || len > UINT32_MAX)
		return ENOSPC;
	free(call->big);
	call->big = malloc(len);
	if (!call->big)
		return ENOMEM;
	call->cmd.buf = (uintptr_t)call->big;
	call->cmd.buf_len = len;
	return 0;
}

/*
 * The program may have closed files that it had not opened. The number may be
 * that of another device, with any error for a command that it does not know.
 */
static int request_reopen(struct ai_call *call, int err)
{
	int fd;

	if (call->reopened)
		return err;
	fd = cmx_file_shared(true);
	/* Another thread may have opened it with the same number. */
	if (fd < 0 || (fd == call->fd && err != EBADF))
		return err;
	call->reopened = true;
	call->fd = fd;
	return 0;
}

/* Returns 0 to retry the request, or the error of the call. */
static int request_retry(struct ai_call *call, int err)
{
	switch (err) {
	case ENOSPC:
		return buffer_grow(call);
	case ENOKEY:
		if (call->names || !call->req.named)
			return err;
		return names_add(call);
	case EINTR:
		/* As in libc, a signal handler does not end this call. */
		if (!call->start)
			call->start = now();
		return now() - call->start < AI_TIMEOUT ? 0 : ETIMEDOUT;
	default:
		return request_reopen(call, err);
	}
}

static int ai_send(struct ai_call *call)
{
	int err = 0;

	if (call->req.named && cmx_names_own(&call->req))
		err = names_add(call);
	while (!err) {
		call->cmd.query = call->req.query;
		if (!ioctl(call->fd, RDMA_CMX_IO(GETADDRINFO), &call->cmd)) {
			cmx_mem_written((void *)(uintptr_t)call->cmd.buf,
					call->cmd.len);
			return 0;
		}
		err = request_retry(call, errno);
	}
	return err;
}

/* True if the request is only for the wildcard to listen on */
static bool is_wildcard(const struct rdma_cmx_ai_query *q)
{
	const uint32_t flags = RAI_PASSIVE | RAI_NUMERICHOST | RAI_NOROUTE |
			       RAI_FAMILY;

	return (q->ai_flags & RAI_PASSIVE) && !(q->ai_flags & ~flags) &&
	       !(q->flags & ~RDMA_CMX_AIQ_PORT) &&
	       !(q->family == AF_IB && (q->ai_flags & RAI_FAMILY)) &&
	       !q->node_len && !q->service_len && !q->dev_len &&
	       !q->route_len && !q->src.family && !q->dst.family;
}

/* RC and UD, if the hints select neither, as in the kernel */
static unsigned int wildcard_types(const struct rdma_cmx_ai_query *q,
				   struct cmx_ai_type types[2])
{
	bool dgram = q->qp_type == IBV_QPT_UD ||
		     q->port_space == RDMA_PS_UDP ||
		     q->port_space == RDMA_PS_IPOIB;

	types[0].qp_type = q->qp_type;
	types[0].port_space = q->port_space;
	if (!q->port_space)
		types[0].port_space = dgram ? RDMA_PS_UDP : RDMA_PS_TCP;
	if (!q->qp_type)
		types[0].qp_type = dgram ? IBV_QPT_UD : IBV_QPT_RC;
	types[1].qp_type = IBV_QPT_UD;
	types[1].port_space = RDMA_PS_UDP;
	return q->qp_type || q->port_space ? 1 : 2;
}

/*
 * The wildcard is an address of no device, so the result does not depend on the
 * kernel. Fills @entries with it, in the kernel's order. Returns their number.
 */
static unsigned int wildcard_fill(const struct rdma_cmx_ai_query *q,
				  struct rdma_cmx_ai_entry *entries)
{
	static const uint16_t families[] = { AF_INET, AF_INET6 };
	struct rdma_cmx_ai_entry *e = entries;
	struct cmx_ai_type types[2];
	unsigned int i, j, count = wildcard_types(q, types);

	for (i = 0; i < 2; i++) {
		if (q->family != families[i] && q->family && q->family != AF_IB)
			continue;
		for (j = 0; j < count; j++, e++) {
			memset(e, 0, sizeof(*e));
			e->len = sizeof(*e);
			e->header_len = sizeof(*e);
			e->ai_flags = q->ai_flags;
			e->qp_type = types[j].qp_type;
			e->port_space = types[j].port_space;
			e->family = families[i];
			e->src.family = families[i];
			/* The offset of both sin_port and sin6_port */
			memcpy(e->src.data, &q->port, sizeof(q->port));
		}
	}
	return e - entries;
}

static int ai_get(const char *device, const char *node, const char *service,
		  const struct rdma_addrinfo *hints, struct rdma_addrinfo **res)
{
	union {
		struct rdma_cmx_ai_entry wildcards[4];
		uint8_t bytes[AI_BUF];
	} buf;
	struct ai_call call;
	int err;

	if (!res)
		return eai_from_errno(EINVAL);
	if (!node && !service && !hints)
		return EAI_NONAME;

	call.fd = cmx_file_shared(false);
	/* The stock library cannot choose a device. */
	if (call.fd < 0 && !device && cmx_stock_instead())
		return CMX_STOCK(rdma_getaddrinfo, node, service, hints, res);
	/* The device is missing, which is not ENOENT for EAI_NONAME. */
	if (call.fd < 0)
		return EAI_SYSTEM;
	err = cmx_ai_request_init(&call.req, node, service, hints, false);
	if (err)
		return eai_from_errno(err);
	err = cmx_ai_request_device(&call.req, device);
	if (err) {
		cmx_ai_request_clear(&call.req);
		return eai_from_errno(err);
	}
	call.cmd.size = sizeof(call.cmd);
	call.cmd.len = 0;
	call.cmd.buf = (uintptr_t)&buf;
	call.cmd.buf_len = sizeof(buf);
	call.cmd.reserved = 0;
	call.node = node;
	call.names = NULL;
	call.big = NULL;
	call.reopened = false;
	call.start = 0;
	if (is_wildcard(&call.req.query))
		call.cmd.len = wildcard_fill(&call.req.query, buf.wildcards) *
			       sizeof(buf.wildcards[0]);
	else
		err = cmx_ai_request_error(&call.req, ai_send(&call));
	if (!err && cmx_ai_from_kern((const void *)(uintptr_t)call.cmd.buf,
				     call.cmd.len, res))
		err = errno;
	err = eai_from_errno(err);
	if (call.names || call.big || call.req.route) {
		int saved = errno;

		free(call.names);
		free(call.big);
		cmx_ai_request_clear(&call.req);
		errno = saved;
	}
	return err;
}

CMX_EXPORT int rdma_getaddrinfo(const char *node, const char *service,
				const struct rdma_addrinfo *hints,
				struct rdma_addrinfo **res)
{
	if (cmx_called_by_stock(false))
		return CMX_STOCK(rdma_getaddrinfo, node, service, hints, res);
	return ai_get(NULL, node, service, hints, res);
}

CMX_EXPORT int rdmacmx_getaddrinfo(const char *device, const char *node,
				   const char *service,
				   const struct rdma_addrinfo *hints,
				   struct rdma_addrinfo **res)
{
	return ai_get(device, node, service, hints, res);
}

CMX_EXPORT void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	struct rdma_addrinfo *next;

	for (; res; res = next) {
		next = res->ai_next;
		cmx_own_del(res, CMX_AI);
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
	}
}

CMX_EXPORT const char *rdmacmx_ai_device(const struct rdma_addrinfo *ai,
					 uint8_t *port)
{
	const struct cmx_ai *entry = (const struct cmx_ai *)ai;
	const char *name;

	if (!cmx_own(entry, CMX_AI)) {
		errno = EINVAL;
		return NULL;
	}
	if (!entry->port_num) {
		errno = ENODEV;
		return NULL;
	}
	name = cmx_device_name(entry->ibdev_index);
	if (name && port)
		*port = entry->port_num;
	return name;
}

CMX_EXPORT int rdmacmx_ai_gid_index(const struct rdma_addrinfo *ai,
				    int *gid_type)
{
	static const int types[] = {
		[RDMA_CMX_GID_IB] = IBV_GID_TYPE_IB,
		[RDMA_CMX_GID_ROCE_V1] = IBV_GID_TYPE_ROCE_V1,
		[RDMA_CMX_GID_ROCE_V2] = IBV_GID_TYPE_ROCE_V2,
	};
	const struct cmx_ai *entry = (const struct cmx_ai *)ai;

	if (!cmx_own(entry, CMX_AI))
		return cmx_err(EINVAL);
	if (!entry->port_num)
		return cmx_err(ENODEV);
	if (entry->gid_type == RDMA_CMX_GID_NONE ||
	    entry->gid_type >= sizeof(types) / sizeof(types[0]) ||
	    entry->gid_index > INT_MAX)
		return cmx_err(ENODATA);
	if (gid_type)
		*gid_type = types[entry->gid_type];
	return entry->gid_index;
}
