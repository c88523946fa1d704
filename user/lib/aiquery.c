// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Creates a request to the kernel from the arguments of rdma_getaddrinfo():
 * checks, service names, hints. Pure functions except for the C library's
 * service database and the environment.
 */
#define _GNU_SOURCE	/* getservbyname_r(), secure_getenv() */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

#define CMX_ENV		"RDMACMX_"
#define CMX_DEVICE_ENV	"RDMACMX_DEVICE"

#define RAI_KNOWN	(RAI_PASSIVE | RAI_NUMERICHOST | RAI_NOROUTE |	\
			 RAI_FAMILY | RAI_SA | RAI_DNS)

#define SERVICE_BUF_MAX	(1024 * 1024)

/* Transports that QP type and port space allow */
#define STREAM		1
#define DATAGRAM	2

static int qp_type_transports(int qp_type)
{
	switch (qp_type) {
	case 0:
		return STREAM | DATAGRAM;
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return STREAM;
	case IBV_QPT_UD:
		return DATAGRAM;
	default:
		return 0;
	}
}

static int port_space_transports(int port_space)
{
	switch (port_space) {
	case 0:
	case RDMA_PS_IB:
		return STREAM | DATAGRAM;
	case RDMA_PS_TCP:
		return STREAM;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		return DATAGRAM;
	default:
		return 0;
	}
}

static bool family_known(int family)
{
	return !family || cmx_addr_len(family);
}

/* True if a variable of this library is set; few programs have one. */
static bool env_any(void)
{
	char **var = environ;

	for (; var && *var; var++)
		if ((*var)[0] == CMX_ENV[0] && (*var)[1] == CMX_ENV[1] &&
		    !strncmp(*var, CMX_ENV, sizeof(CMX_ENV) - 1))
			return true;
	return false;
}

/* Parses decimal digits only; false also above 65535. */
static bool port_parse(const char *text, unsigned int *port)
{
	const char *p;

	*port = 0;
	for (p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return false;
		*port = *port * 10 + (*p - '0');
		if (*port > UINT16_MAX)
			return false;
	}
	return p != text;
}

/*
 * libc returns errno if a source of the database is unavailable, such as a file
 * that does not exist, or a server that does not respond: it lacks the service.
 * Without a resource of this host it is unknown whether the service exists.
 */
static int service_error(int err, bool found)
{
	switch (err) {
	case 0:
		return found ? 0 : CMX_ESERVICE;
	case EMFILE:
	case ENFILE:
	case ENOMEM:
	case ERANGE:
		return err;
	default:
		return CMX_ESERVICE;
	}
}

/* libc may not set the errno that it returns. */
static int service_get(const char *name, const char *proto,
		       struct servent *ent, char *buf, size_t len,
		       struct servent **found)
{
	errno = 0;
	return getservbyname_r(name, proto, ent, buf, len, found);
}

/* A service with many aliases needs a larger buffer. */
static int service_find(const char *name, const char *proto, __be16 *port)
{
	struct servent ent, *found = NULL;
	char first[4096], *buf = first, *more = NULL;
	size_t len = sizeof(first);
	int err;

	while ((err = service_get(name, proto, &ent, buf, len, &found)) ==
	       ERANGE && len < SERVICE_BUF_MAX) {
		len *= 4;
		free(more);
		more = malloc(len);
		if (!more)
			return ENOMEM;
		buf = more;
	}
	err = service_error(err, found);
	if (!err)
		*port = found->s_port;
	free(more);
	return err;
}

/*
 * May block for as long as the name service does. If only one transport has the
 * service, the query is limited to that transport; an error does not mean that
 * it lacks the service. A query has one port: if the transports have different
 * ports, it is the stream's.
 */
int cmx_service_lookup(const char *service, int transports,
		       struct cmx_port *port)
{
	int stream = CMX_ESERVICE, datagram = CMX_ESERVICE;
	__be16 other;
	int have = 0;

	if (transports & STREAM)
		stream = service_find(service, "tcp", &port->port);
	if (stream && stream != CMX_ESERVICE)
		return stream;
	if (transports & DATAGRAM)
		datagram = service_find(service, "udp", &other);
	if (datagram && datagram != CMX_ESERVICE)
		return datagram;
	if (!stream)
		have = STREAM;
	if (!datagram) {
		if (!have)
			port->port = other;
		if (!have || other == port->port)
			have |= DATAGRAM;
	}
	if (!have)
		return CMX_ESERVICE;
	port->qp_type = 0;
	if (have != transports)
		port->qp_type = have == STREAM ? IBV_QPT_RC : IBV_QPT_UD;
	return 0;
}

/* Looks up the port that the kernel would wait for. */
int cmx_ai_request_lookup(struct cmx_ai_request *req)
{
	struct rdma_cmx_ai_query *q = &req->query;
	struct cmx_port port;
	int err;

	err = cmx_service_lookup(req->service, req->transports, &port);
	if (err)
		return err;
	req->service = NULL;
	q->flags &= ~RDMA_CMX_AIQ_PORT_LATER;
	q->flags |= RDMA_CMX_AIQ_PORT;
	q->port = port.port;
	if (!port.qp_type)
		return 0;
	if (q->port_space)
		q->qp_type = port.qp_type;
	else
		q->port_space = port.qp_type == IBV_QPT_RC ? RDMA_PS_TCP :
							     RDMA_PS_UDP;
	return 0;
}

static int request_service(struct cmx_ai_request *req, const char *service,
			   int transports, bool later)
{
	unsigned int number;

	if (port_parse(service, &number)) {
		req->query.flags |= RDMA_CMX_AIQ_PORT;
		req->query.port = htons(number);
		return 0;
	}
	/* Service names are not numbers. */
	if (strspn(service, "0123456789") == strlen(service))
		return CMX_ESERVICE;
	req->service = service;
	req->transports = transports;
	req->query.flags |= RDMA_CMX_AIQ_PORT_LATER;
	return later ? 0 : cmx_ai_request_lookup(req);
}

static int hint_addr(struct rdma_cmx_addr *to, const struct sockaddr *addr,
		     socklen_t len, int family)
{
	struct sockaddr_storage copy;

	if (!len)
		return 0;
	if (!addr || len < sizeof(copy.ss_family))
		return EINVAL;
	/* It may be unaligned, as in a received message. */
	memcpy(&copy.ss_family, addr, sizeof(copy.ss_family));
	if (len != cmx_addr_len(copy.ss_family) ||
	    (family && family != copy.ss_family))
		return EINVAL;
	memcpy(&copy, addr, len);
	return cmx_addr_to_kern(to, (struct sockaddr *)&copy) ? errno : 0;
}

/*
 * Path hints have two forms, which differ in their length. Eight with flags
 * have the length of nine without, whose addresses are at the offset of the
 * flags of the first form, and are no valid flags.
 */
static bool route_has_flags(const void *route, size_t len)
{
	const uint32_t known = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY |
			       IBV_PATH_FLAG_ALTERNATE |
			       IBV_PATH_FLAG_OUTBOUND | IBV_PATH_FLAG_INBOUND |
			       IBV_PATH_FLAG_INBOUND_REVERSE;
	struct ibv_path_data data;
	size_t i;

	if (len % sizeof(data))
		return false;
	if (len % sizeof(data.path))
		return true;
	for (i = 0; i < len; i += sizeof(data)) {
		memcpy(&data, (const char *)route + i, sizeof(data));
		if ((data.flags & ~known) || data.reserved)
			return false;
	}
	return true;
}

/* The kernel accepts the form with flags. */
static int hint_route(struct cmx_ai_request *req, const void *route, size_t len)
{
	struct ibv_path_data *data;
	size_t i, count;

	if (!len)
		return 0;
	if (!route || len > UINT16_MAX)
		return EINVAL;
	if (route_has_flags(route, len)) {
		count = len / sizeof(*data);
		data = malloc(len);
		if (!data)
			return ENOMEM;
		memcpy(data, route, len);
	} else if (!(len % sizeof(data->path))) {
		count = len / sizeof(data->path);
		data = calloc(count, sizeof(*data));
		if (!data)
			return ENOMEM;
		for (i = 0; i < count; i++)
			memcpy(&data[i].path,
			       (const char *)route + i * sizeof(data->path),
			       sizeof(data->path));
	} else {
		return EINVAL;
	}
	req->route = data;
	req->query.route = (uintptr_t)data;
	req->query.route_len = count * sizeof(*data);
	return 0;
}

static int hints_init(struct cmx_ai_request *req,
		      const struct rdma_addrinfo *hints)
{
	struct rdma_cmx_ai_query *q = &req->query;
	int err;

	if ((hints->ai_flags & ~RAI_KNOWN) ||
	    (hints->ai_flags & (RAI_SA | RAI_DNS)) == (RAI_SA | RAI_DNS))
		return EOPNOTSUPP;
	if (!family_known(hints->ai_family))
		return EAFNOSUPPORT;
	q->ai_flags = hints->ai_flags;
	q->family = hints->ai_family;
	q->qp_type = hints->ai_qp_type;
	q->port_space = hints->ai_port_space;

	err = hint_addr(&q->src, hints->ai_src_addr, hints->ai_src_len,
			hints->ai_family);
	if (!err)
		err = hint_addr(&q->dst, hints->ai_dst_addr, hints->ai_dst_len,
				hints->ai_family);
	return err ? err : hint_route(req, hints->ai_route,
				      hints->ai_route_len);
}

/* True for an IPv4 address in dotted decimal form. inet_aton() is slower. */
static bool is_quad(const char *text)
{
	unsigned int part, dots = 0;
	const char *start;

	for (;; text++) {
		for (start = text, part = 0; *text >= '0' && *text <= '9'; text++)
			part = part * 10 + (*text - '0');
		/* A leading zero means octal. */
		if (text == start || text - start > 3 || part > 255 ||
		    (*start == '0' && text - start > 1))
			return false;
		if (*text != '.')
			return dots == 3 && !*text;
		if (++dots > 3)
			return false;
	}
}

/* A node that is no address is a name. A colon means an IPv6 address. */
static bool node_is_name(const char *node, const struct rdma_cmx_ai_query *q)
{
	struct in_addr addr;

	if (q->ai_flags & (RAI_NUMERICHOST | RAI_SA))
		return false;
	/* All texts that inet_aton() accepts begin with a digit. */
	if (*node < '0' || *node > '9')
		return !strchr(node, ':');
	return !is_quad(node) && !strchr(node, ':') && !inet_aton(node, &addr);
}

static int request_fill(struct cmx_ai_request *req, const char *node,
			const char *service, const struct rdma_addrinfo *hints,
			bool later)
{
	struct rdma_cmx_ai_query *q = &req->query;
	int transports, err;

	if (hints) {
		err = hints_init(req, hints);
		if (err)
			return err;
	}
	transports = qp_type_transports(q->qp_type) &
		     port_space_transports(q->port_space);
	if (!transports)
		return EPROTOTYPE;

	if (node) {
		size_t len = strnlen(node, RDMA_CMX_MAX_NODE + 1);

		if (q->ai_flags & RAI_SA)
			return EOPNOTSUPP;
		if (!len || len > RDMA_CMX_MAX_NODE)
			return ENOENT;
		q->node = (uintptr_t)node;
		q->node_len = len;
		req->named = node_is_name(node, q);
	}
	if (q->ai_flags & RAI_SA) {
		if (!service || !*service)
			return EINVAL;
		if (strlen(service) > RDMA_CMX_MAX_SERVICE)
			return CMX_ESERVICE;
		q->service = (uintptr_t)service;
		q->service_len = strlen(service);
		return 0;
	}
	return service ? request_service(req, service, transports, later) : 0;
}

/*
 * The texts must stay valid while @req is used. @later: a service that is no
 * number is only stored, in @req->service.
 */
int cmx_ai_request_init(struct cmx_ai_request *req, const char *node,
			const char *service, const struct rdma_addrinfo *hints,
			bool later)
{
	int err;

	memset(req, 0, sizeof(*req));
	req->env = env_any();
	err = request_fill(req, node, service, hints, later);
	if (err)
		cmx_ai_request_clear(req);
	return err;
}

/*
 * NAME, NAME:PORT or NAME/PORT, as cmx prints it. A text that does not end with
 * a number is all name. The port is that number, 0 if absent; port 0 is
 * invalid.
 */
int cmx_device_parse(const char *text, size_t *len, uint32_t *port)
{
	const char *digits = text + strlen(text);
	uint64_t number = 0;

	*port = 0;
	*len = strlen(text);
	while (digits > text && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	if (!*digits || digits - text < 2 || !strchr(":/", digits[-1]))
		return 0;
	*len = digits - 1 - text;
	for (; *digits; digits++) {
		number = number * 10 + (*digits - '0');
		if (number > UINT32_MAX)
			return ENXIO;
	}
	*port = number;
	return number ? 0 : ENXIO;
}

/* NULL: the device of the environment, if any, unless it is another user's */
int cmx_ai_request_device(struct cmx_ai_request *req, const char *device)
{
	uint32_t port;
	size_t len;
	int err;

	if (!device) {
		device = req->env ? secure_getenv(CMX_DEVICE_ENV) : NULL;
		if (!device || !*device)
			return 0;
		req->device_env = true;
	}
	err = cmx_device_parse(device, &len, &port);
	if (!err && (!len || len >= sizeof(req->device)))
		err = ENODEV;
	if (err)
		return cmx_ai_request_error(req, err);
	memcpy(req->device, device, len);
	req->query.dev = (uintptr_t)req->device;
	req->query.dev_len = len;
	req->query.dev_port = port;
	return 0;
}

static bool reported;	/* atomic */
CMX_MEM_ATOMIC(reported)

/*
 * The errno of a request that the kernel has refused. A program that does not
 * know the variable cannot report that it is wrong: this does, once.
 */
int cmx_ai_request_error(const struct cmx_ai_request *req, int err)
{
	/* A kernel that does not know devices in a query */
	bool old = err == E2BIG && req->query.dev_len;
	const char *value, *what = "the loaded module is too old for it";

	if (old)
		err = EOPNOTSUPP;
	if (!req->device_env)
		return err;
	switch (err) {
	case ENODEV:
		what = req->query.ai_flags & RAI_SA ?
		       "no active InfiniBand port" : "no such RDMA device";
		break;
	case ENXIO:
		what = "the device has no such port";
		break;
	case EOPNOTSUPP:
		if (!old)
			return err;
		break;
	default:
		return err;
	}
	value = secure_getenv(CMX_DEVICE_ENV);
	if (value && !__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED))
		fprintf(stderr, "librdmacmx: %s='%s': %s\n", CMX_DEVICE_ENV,
			value, what);
	return err;
}

void cmx_ai_request_clear(struct cmx_ai_request *req)
{
	free(req->route);
	free(req->texts);
	req->route = NULL;
	req->texts = NULL;
}
