// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Helpers of the API tests, see api.h. For one thread at a time; event_*() for
 * any thread.
 */
#define CMX_SELFTEST_NO_HARNESS
#include <fcntl.h>
#include <glob.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api.h"

const char *host_text(const struct sockaddr *addr, char *buf, size_t len)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;
	const struct sockaddr_ib_view *ib = (const void *)addr;
	char name[IF_NAMESIZE];
	size_t n;

	snprintf(buf, len, "none");
	if (!addr)
		return buf;
	switch (addr->sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &in->sin_addr, buf, len);
		break;
	case AF_INET6:
		inet_ntop(AF_INET6, &in6->sin6_addr, buf, len);
		n = strlen(buf);
		if (in6->sin6_scope_id &&
		    if_indextoname(in6->sin6_scope_id, name))
			snprintf(buf + n, len - n, "%%%s", name);
		else if (in6->sin6_scope_id)
			snprintf(buf + n, len - n, "%%%u", in6->sin6_scope_id);
		break;
	case AF_IB:
		inet_ntop(AF_INET6, ib->gid, buf, len);
		break;
	default:
		snprintf(buf, len, "family %d", addr->sa_family);
	}
	return buf;
}

const char *addr_text(const struct sockaddr *addr, char *buf, size_t len)
{
	const struct sockaddr_ib_view *ib = (const void *)addr;
	char host[128];

	host_text(addr, host, sizeof(host));
	if (addr && addr->sa_family == AF_INET)
		snprintf(buf, len, "%s:%u", host,
			 ntohs(((const struct sockaddr_in *)addr)->sin_port));
	else if (addr && addr->sa_family == AF_INET6)
		snprintf(buf, len, "[%s]:%u", host,
			 ntohs(((const struct sockaddr_in6 *)addr)->sin6_port));
	else if (addr && addr->sa_family == AF_IB)
		snprintf(buf, len, "ib[%s]:%llx/%llx", host,
			 (unsigned long long)be64toh(ib->sid),
			 (unsigned long long)be64toh(ib->sid_mask));
	else
		snprintf(buf, len, "%s", host);
	return buf;
}

const char *ai_text(const struct rdma_addrinfo *ai, char *buf, size_t len)
{
	char src[160], dst[160];
	size_t n = 0;

	buf[0] = '\0';
	for (; ai && n < len; ai = ai->ai_next)
		n += snprintf(buf + n, len - n,
			      "family %d qp %d ps %x src %s/%u dst %s/%u canon %s|%s route %zu connect %zu\n",
			      ai->ai_family, ai->ai_qp_type, ai->ai_port_space,
			      addr_text(ai->ai_src_addr, src, sizeof(src)),
			      ai->ai_src_len,
			      addr_text(ai->ai_dst_addr, dst, sizeof(dst)),
			      ai->ai_dst_len, ai->ai_src_canonname ?: "-",
			      ai->ai_dst_canonname ?: "-", ai->ai_route_len,
			      ai->ai_connect_len);
	return buf;
}

unsigned int ai_count(const struct rdma_addrinfo *ai)
{
	unsigned int n = 0;

	for (; ai; ai = ai->ai_next)
		n++;
	return n;
}

struct rdma_addrinfo *ai_find(struct rdma_addrinfo *ai, const char *dst)
{
	char text[160];

	for (; ai; ai = ai->ai_next)
		if (!strcmp(addr_text(ai->ai_dst_addr, text, sizeof(text)),
			    dst))
			break;
	return ai;
}

struct sockaddr *addr_make(struct sockaddr_storage *ss, const char *host,
			   unsigned int port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	struct sockaddr_in *in = (struct sockaddr_in *)ss;

	memset(ss, 0, sizeof(*ss));
	if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	} else {
		fprintf(stderr, "# bad address in a test: %s\n", host);
		abort();
	}
	return (struct sockaddr *)ss;
}

socklen_t addr_len(const struct sockaddr *addr)
{
	return addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
					    sizeof(struct sockaddr_in6);
}

long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

int channel_readable(struct rdma_event_channel *channel, int timeout_ms)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };

	return poll(&pfd, 1, timeout_ms);
}

int event_wait(struct rdma_event_channel *channel, struct rdma_cm_event **event,
	       int timeout_ms)
{
	if (channel_readable(channel, timeout_ms) != 1) {
		errno = ETIMEDOUT;
		return -1;
	}
	return rdma_get_cm_event(channel, event);
}

int event_take(struct rdma_event_channel *channel, int *status)
{
	struct rdma_cm_event *event;
	int type;

	if (event_wait(channel, &event, WAIT_MS))
		return -1;
	type = event->event;
	if (status)
		*status = event->status;
	rdma_ack_cm_event(event);
	return type;
}

int id_bind(struct rdma_cm_id *id, const char *host, unsigned int port)
{
	struct sockaddr_storage ss;

	return rdma_bind_addr(id, addr_make(&ss, host, port));
}

int id_resolve_addr(struct rdma_cm_id *id, const char *src, const char *dst,
		    unsigned int port, int *status)
{
	struct sockaddr_storage s, d;
	int unused;

	if (rdma_resolve_addr(id, src ? addr_make(&s, src, 0) : NULL,
			      addr_make(&d, dst, port), 30000))
		return -1;
	return event_take(id->channel, status ?: &unused);
}

int run(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	rc = system(cmd);
	return WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

int peer(const char *fmt, ...)
{
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	setenv("CMX_PEER_CMD", cmd, 1);
	return run("bash -c '. " SELFTESTS "/lib.sh; peer \"$CMX_PEER_CMD\"'");
}

bool wait_for(int timeout_ms, const char *fmt, ...)
{
	long long end = now_ms() + timeout_ms;
	char cmd[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	while (system(cmd)) {
		if (now_ms() > end)
			return false;
		usleep(20000);
	}
	return true;
}

const char *name_fresh(const char *zone, char *buf, size_t len)
{
	static unsigned int count;

	snprintf(buf, len, "t%d-%u-%lld.%s", getpid(), count++, now_ms(), zone);
	return buf;
}

/* dnsmasq logs lines like "dnsmasq[1]: query[A] name from 127.0.0.1" */
unsigned int dns_queries(const char *name)
{
	char line[1024], want[512];
	unsigned int n = 0;
	FILE *f;

	snprintf(want, sizeof(want), "] %s from ", name);
	f = fopen(DNS_LOG, "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "query[") && strstr(line, want))
			n++;
	fclose(f);
	return n;
}

void dns_barrier(void)
{
	struct addrinfo *ai = NULL;
	char name[128];

	name_fresh("cmx.test", name, sizeof(name));
	if (!getaddrinfo(name, NULL, NULL, &ai))
		freeaddrinfo(ai);
	for (long long end = now_ms() + WAIT_MS; now_ms() < end; usleep(1000))
		if (dns_queries(name))
			return;
	fprintf(stderr, "# %s has no query of %s: does dnsmasq log?\n",
		DNS_LOG, name);
	abort();
}

static long live_sum(const char *pattern)
{
	char text[32];
	long sum = -1;
	glob_t g;
	FILE *f;

	if (glob(pattern, 0, NULL, &g))
		return -1;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		f = fopen(g.gl_pathv[i], "r");
		if (!f)
			continue;
		if (fgets(text, sizeof(text), f))
			sum = (sum < 0 ? 0 : sum) + atol(text);
		fclose(f);
	}
	globfree(&g);
	return sum;
}

long live_objects(void)
{
	long a = live_sum("/sys/module/rdma_cmx/counters/live_*");
	long b = live_sum("/sys/module/rdma_ucmx/counters/live_*");

	return a < 0 || b < 0 ? -1 : a + b;
}

int qp_make(struct rdma_cm_id *id, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.cap = {
			.max_send_wr = 4, .max_recv_wr = 4,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.qp_type = type,
		.sq_sig_all = 1,
	};

	return rdma_create_qp(id, NULL, &attr);
}

bool live_objects_are(long wanted, int timeout_ms)
{
	long long end = now_ms() + timeout_ms;
	long n;

	while ((n = live_objects()) != wanted) {
		if (n < 0 || now_ms() > end) {
			fprintf(stderr, "# live objects: %ld\n", n);
			/* Which ones */
			run("grep -H '[^0]' /sys/module/rdma_*cmx/counters/live_* >&2");
			return false;
		}
		usleep(10000);
	}
	return true;
}

bool live_objects_gone(int timeout_ms)
{
	return live_objects_are(0, timeout_ms);
}

bool queue_pairs_gone(void)
{
	return wait_for(WAIT_MS, "! rdma resource show qp | grep -q 'type RC'");
}

int etc_private(const char *file, const char *lines)
{
	char path[64], from[64], buf[4096];
	ssize_t n;
	int in, out;

	snprintf(path, sizeof(path), "/etc/%s", file);
	snprintf(from, sizeof(from), "/tmp/etc.XXXXXX");
	out = mkstemp(from);
	if (out < 0)
		return -1;
	in = open(path, O_RDONLY);
	while (in >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, n) != n)
			return -1;
	if (in >= 0)
		close(in);
	if (write(out, lines, strlen(lines)) != (ssize_t)strlen(lines))
		return -1;
	fchmod(out, 0644);
	close(out);
	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(from, path, NULL, MS_BIND, NULL))
		return -1;
	unlink(from);
	return 0;
}

void *guarded(const void *data, size_t len)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *mem;

	mem = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED || mprotect(mem + page, page, PROT_NONE))
		abort();
	return memcpy(mem + page - len, data, len);
}
