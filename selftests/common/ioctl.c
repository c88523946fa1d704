// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* See ioctl.h. */
#include "ioctl.h"

#include <time.h>

#define DEADLINE_MS	60000

const char *addr_rdma = "10.55.0.1";
bool on_infiniband;

static void __attribute__((constructor)) guest_find(void)
{
	on_infiniband = !access("/sys/module/cmx_fabric", F_OK);
	if (on_infiniband)
		addr_rdma = "10.66.0.1";
}

double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

int dev_open(int flags)
{
	return open(RDMA_CMX_DEVICE, O_RDWR | O_CLOEXEC | flags);
}

uint32_t qp_type_of(uint32_t ps)
{
	return ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? QPT_UD : QPT_RC;
}

int id_create(int fd, uint32_t ps, uint64_t uid, uint32_t *id)
{
	struct rdma_cmx_id_create arg = {
		.port_space = ps,
		.qp_type = qp_type_of(ps),
		.uid = uid,
	};
	int ret = call(fd, ID_CREATE, &arg);

	*id = arg.id;
	return ret;
}

int id_destroy(int fd, uint32_t id)
{
	struct rdma_cmx_destroy arg = { .handle = id };
	int ret = call(fd, ID_DESTROY, &arg);

	return ret ? ret : (int)arg.events_reported;
}

int mc_leave(int fd, uint32_t mc)
{
	struct rdma_cmx_destroy arg = { .handle = mc };
	int ret = call(fd, LEAVE, &arg);

	return ret ? ret : (int)arg.events_reported;
}

void addr_set(struct rdma_cmx_addr *addr, const char *text, uint16_t port)
{
	struct sockaddr_in in = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};

	memset(addr, 0, sizeof(*addr));
	if (!text)
		return;
	if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
		memcpy(addr, &in, sizeof(in));
	else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1)
		memcpy(addr, &in6, sizeof(in6));
	else
		abort();
}

uint16_t addr_port(const struct rdma_cmx_addr *addr)
{
	struct sockaddr_in in;

	memcpy(&in, addr, sizeof(in));
	return ntohs(in.sin_port);
}

int id_bind(int fd, uint32_t id, const char *addr, uint16_t port)
{
	struct rdma_cmx_id_bind arg = { .id = id };

	addr_set(&arg.addr, addr, port);
	return call(fd, ID_BIND, &arg);
}

int id_resolve_addr(int fd, uint32_t id, const char *src, const char *dst,
		    uint16_t port)
{
	struct rdma_cmx_resolve_addr arg = { .id = id, .timeout_ms = 50000 };

	addr_set(&arg.src, src, 0);
	addr_set(&arg.dst, dst, port);
	return call(fd, RESOLVE_ADDR, &arg);
}

int id_resolve_route(int fd, uint32_t id)
{
	struct rdma_cmx_resolve_route arg = { .id = id, .timeout_ms = 50000 };

	return call(fd, RESOLVE_ROUTE, &arg);
}

int id_listen(int fd, uint32_t id)
{
	struct rdma_cmx_listen arg = { .id = id };

	return call(fd, LISTEN, &arg);
}

/*
 * No queue pair has this number, which the CM does not check. But the CM
 * rejects a number of a connection in time-wait, so each number is new.
 */
uint32_t qp_num_last;

static void param_set(struct rdma_cmx_conn_param *param)
{
	static uint32_t calls;

	qp_num_last = (getpid() << 8 | ++calls % 256) & 0xffffff;
	param->qp_num = qp_num_last;
	param->responder_resources = 1;
	param->initiator_depth = 1;
	param->retry_count = 7;
	param->rnr_retry_count = 7;
}

int id_connect(int fd, uint32_t id)
{
	struct rdma_cmx_connect arg = { .id = id };

	param_set(&arg.param);
	arg.param.private_data_len = 5;
	memcpy(arg.param.private_data, "hello", 5);
	return call(fd, CONNECT, &arg);
}

int id_accept(int fd, uint32_t id, uint64_t uid)
{
	struct rdma_cmx_connect arg = { .id = id, .uid = uid };

	param_set(&arg.param);
	return call(fd, ACCEPT, &arg);
}

int id_write_event(int fd, uint32_t id, int status, uint64_t arg)
{
	struct rdma_cmx_write_event cmd = {
		.id = id,
		.event = RDMA_CMX_EV_USER,
		.status = status,
		.arg = arg,
	};

	return call(fd, WRITE_EVENT, &cmd);
}

int mc_join(int fd, uint32_t id, const char *group, uint64_t uid, uint32_t *mc)
{
	struct rdma_cmx_join arg = { .id = id, .uid = uid };
	int ret;

	addr_set(&arg.addr, group, 0);
	ret = call(fd, JOIN, &arg);
	*mc = arg.mc;
	return ret;
}

/* A caller that requests no other ones receives the listed types. */
static void types_check(const void *buf, uint32_t count)
{
	const struct rdma_cmx_event *ev;

	for (; count; count--, buf += ev->len) {
		ev = buf;
		if (ev->event <= EV_TIMEWAIT_EXIT ||
		    (ev->event >= RDMA_CMX_EV_ADDRINFO_RESOLVED &&
		     ev->event <= RDMA_CMX_EV_USER))
			continue;
		fprintf(stderr, "# event %u is not listed\n", ev->event);
		abort();
	}
}

int events_get(int fd, void *buf, uint32_t len, uint32_t max, uint32_t *count)
{
	struct rdma_cmx_get_events arg = {
		.max_events = max,
		.buf = (uintptr_t)buf,
		.buf_len = len,
	};
	int ret = call(fd, GET_EVENTS, &arg);

	if (!ret)
		types_check(buf, arg.count);
	if (count)
		*count = arg.count;
	return ret;
}

bool event_pending(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

int event_next(int fd, union event_buf *buf)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	memset(buf, 0xa5, sizeof(*buf));
	if (poll(&pfd, 1, DEADLINE_MS) != 1)
		return -ETIME;
	return events_get(fd, buf, sizeof(*buf), 1, NULL);
}

int event_want(int fd, uint32_t type, union event_buf *buf)
{
	int ret = event_next(fd, buf);

	if (ret)
		return ret;
	if (buf->ev.event == type)
		return 0;
	fprintf(stderr, "# event %u status %d where %u was due\n",
		buf->ev.event, buf->ev.status, type);
	return -EPROTO;
}

struct rdma_cmx_id_info *event_info(struct rdma_cmx_event *ev)
{
	return ev->flags & RDMA_CMX_EVENT_INFO ?
	       (void *)ev + ev->header_len : NULL;
}

long number_get(const char *path)
{
	FILE *f = fopen(path, "r");
	long value = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

int number_set(const char *path, long value)
{
	FILE *f = fopen(path, "w");
	int ret;

	if (!f)
		return -1;
	ret = fprintf(f, "%ld\n", value) > 0 ? 0 : -1;
	return fclose(f) ? -1 : ret;
}

long counter(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/module/rdma_ucmx/counters/%s", name);
	return number_get(path);
}

bool counter_wait(const char *name, long value)
{
	double end = now_ms() + DEADLINE_MS;

	while (counter(name) != value) {
		if (now_ms() > end) {
			fprintf(stderr, "# counter %s is %ld, not %ld\n",
				name, counter(name), value);
			return false;
		}
		poll(NULL, 0, 10);
	}
	return true;
}

int id_listen_port(int fd, uint32_t id, uint16_t *port)
{
	struct rdma_cmx_id_query query = { .id = id };
	int ret;

	ret = id_bind(fd, id, ADDR_RDMA, 0) ?: id_listen(fd, id) ?:
	      call(fd, ID_QUERY, &query);
	*port = addr_port(&query.info.src);
	return ret;
}

int listener_of(int fd, uint32_t ps, uint64_t uid, uint32_t *id, uint16_t *port)
{
	return id_create(fd, ps, uid, id) ?: id_listen_port(fd, *id, port);
}

int listener_new(int fd, uint64_t uid, uint32_t *id, uint16_t *port)
{
	return listener_of(fd, RDMA_PS_TCP, uid, id, port);
}

int active_of(int fd, uint32_t ps, uint64_t uid, uint16_t port, uint32_t *id)
{
	union event_buf buf;

	return id_create(fd, ps, uid, id) ?:
	       id_resolve_addr(fd, *id, NULL, ADDR_RDMA, port) ?:
	       event_want(fd, EV_ADDR_RESOLVED, &buf) ?:
	       id_resolve_route(fd, *id) ?:
	       event_want(fd, EV_ROUTE_RESOLVED, &buf);
}

int active_new(int fd, uint64_t uid, uint16_t port, uint32_t *id)
{
	return active_of(fd, RDMA_PS_TCP, uid, port, id);
}

int connect_start(int fd, uint64_t uid, uint16_t port, uint32_t *id)
{
	return active_new(fd, uid, port, id) ?: id_connect(fd, *id);
}

int request_get(int fd, uint32_t ps, uint64_t active_uid, uint32_t *listener,
		uint32_t *active, uint32_t *passive)
{
	union event_buf buf;
	uint16_t port;
	int ret;

	ret = listener_of(fd, ps, 1, listener, &port) ?:
	      active_of(fd, ps, active_uid, port, active) ?:
	      id_connect(fd, *active) ?:
	      event_want(fd, EV_CONNECT_REQUEST, &buf);
	*passive = buf.ev.obj;
	return ret;
}

int connect_pair(int fd, uint32_t *listener, uint32_t *active,
		 uint32_t *passive)
{
	struct rdma_cmx_connect accept = {};
	union event_buf buf;
	int ret, seen;

	ret = request_get(fd, RDMA_PS_TCP, 2, listener, active, passive) ?:
	      id_accept(fd, *passive, 3) ?:
	      event_want(fd, EV_CONNECT_RESPONSE, &buf);
	if (ret)
		return ret;
	accept.id = *active;
	accept.flags = RDMA_CMX_ACCEPT_NO_PARAM;
	ret = call(fd, ACCEPT, &accept);
	for (seen = 0; !ret && !seen; seen = buf.ev.event == EV_ESTABLISHED)
		ret = event_next(fd, &buf);
	return ret;
}
