// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many paths of an in-kernel consumer:
 *	paths WORDS DST...	and wait; prints how many were found, and each
 *	paths-sync WORDS DST...	the same by the call that waits
 *	paths-start WORDS DST...	without waiting
 *	paths-wait		for paths-start
 *	paths-cancel		what the cancel returned, and the callbacks
 *	paths-bad		calls with bad attributes; prints the errnos
 *	paths-forget I		invalidate path I of the last call
 *	paths-use I N		connect by record N of path I to a port without a
 *				listener: the peer's CM rejects it
 * WORDS: alt, refresh, own-net, timeout=MS, tos=N, dev=NAME, devport=N, src=ADDRESS,
 * repeat=N: the destinations N times; inside: the callback cancels its own call.
 * DST is an address with port 7900, with "/ADDRESS" another one of the same peer.
 * The caller holds consumer.lock.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/rdma_cm_ib.h>
#include <rdma/rdma_cmx_path.h>

#include "consumer.h"

#define PATHS_PORT	7900
#define PATHS_WAIT	(90 * HZ)

static struct {
	struct rdma_cmx_paths_query *query;
	struct rdma_cmx_paths *paths;
	struct rdma_cmx_paths_attr attr;	/* without the addresses */
	union rdma_cmx_sockaddr src;
	char dev[IB_DEVICE_NAME_MAX];
	unsigned int calls;
	bool inside;
	struct completion done;
	struct completion event;
	int last;
} many = {
	.done = COMPLETION_INITIALIZER(many.done),
	.event = COMPLETION_INITIALIZER(many.event),
};

static void many_done(struct rdma_cmx_paths_query *query,
		      struct rdma_cmx_paths *paths, void *context)
{
	/* The API guarantees that the call is known by now. */
	WARN_ON(many.query != query);
	if (many.inside && rdma_cmx_paths_cancel(query))
		WARN_ON(1);
	many.calls++;
	many.paths = paths;
	complete(&many.done);
}

static void many_end(void)
{
	if (many.query) {
		rdma_cmx_paths_cancel(many.query);
		rdma_cmx_paths_query_put(many.query);
		many.query = NULL;
	}
	rdma_cmx_paths_put(many.paths);
	many.paths = NULL;
	many.calls = 0;
	reinit_completion(&many.done);
}

static int many_word(char *word, u32 *repeat)
{
	char *value = strchr(word, '=');
	u32 n;

	if (!strcmp(word, "alt")) {
		many.attr.alternate = true;
	} else if (!strcmp(word, "refresh")) {
		many.attr.refresh = true;
	} else if (!strcmp(word, "inside")) {
		many.inside = true;
	} else if (!strcmp(word, "own-net")) {
		many.attr.net = current->nsproxy->net_ns;
	} else if (!value) {
		return -ENOENT;
	} else if (!strncmp(word, "dev=", 4)) {
		strscpy(many.dev, value + 1, sizeof(many.dev));
		many.attr.dev = many.dev;
	} else if (!strncmp(word, "src=", 4)) {
		many.attr.src = &many.src;
		return consumer_parse_addr(value + 1, &many.src);
	} else if (kstrtou32(value + 1, 0, &n)) {
		return -EINVAL;
	} else if (!strncmp(word, "timeout=", 8)) {
		many.attr.timeout_ms = n;
	} else if (!strncmp(word, "tos=", 4)) {
		many.attr.tos = n;
	} else if (!strncmp(word, "devport=", 8)) {
		many.attr.dev_port = n;
	} else if (!strncmp(word, "repeat=", 7)) {
		*repeat = n;
	} else {
		return -EINVAL;
	}
	return 0;
}

static int many_addr(const char *text, union rdma_cmx_sockaddr *addr)
{
	int ret = consumer_parse_addr(text, addr);

	if (ret)
		return ret;
	if (addr->sa.sa_family == AF_INET)
		addr->in.sin_port = htons(PATHS_PORT);
	else if (addr->sa.sa_family == AF_INET6)
		addr->in6.sin6_port = htons(PATHS_PORT);
	else
		addr->ib.sib_sid = cpu_to_be64(((u64)RDMA_PS_TCP << 16) +
					       PATHS_PORT);
	return 0;
}

/* Parses into @dst and @alt, of @max elements. Their number, or an errno. */
static int many_parse(char *line, union rdma_cmx_sockaddr *dst,
		      union rdma_cmx_sockaddr *alt, u32 max)
{
	u32 n = 0, repeat = 1, i;
	char *word, *other;
	int ret;

	memset(&many.attr, 0, sizeof(many.attr));
	many.attr.net = &init_net;
	many.inside = false;
	while ((word = strsep(&line, " "))) {
		ret = n ? -ENOENT : many_word(word, &repeat);
		if (!ret)
			continue;
		if (ret != -ENOENT || n == max)
			return -EINVAL;
		other = strchr(word, '/');
		if (other)
			*other++ = 0;
		ret = many_addr(word, &dst[n]);
		if (!ret && other)
			ret = many_addr(other, &alt[n]);
		if (ret)
			return ret;
		n++;
	}
	if (!n || !repeat || repeat > max / n)
		return -EINVAL;
	for (i = n; i < n * repeat; i++) {
		dst[i] = dst[i - n];
		alt[i] = alt[i - n];
	}
	return n * repeat;
}

static int many_start(char *line, bool sync, char *text, size_t size)
{
	union rdma_cmx_sockaddr *dst, *alt;
	struct rdma_cmx_paths *paths;
	int ret = -ENOMEM;

	many_end();
	dst = kvcalloc(RDMA_CMX_MAX_PATHS, sizeof(*dst), GFP_KERNEL);
	alt = kvcalloc(RDMA_CMX_MAX_PATHS, sizeof(*alt), GFP_KERNEL);
	if (dst && alt)
		ret = many_parse(line, dst, alt, RDMA_CMX_MAX_PATHS);
	if (ret > 0) {
		many.attr.dst = dst;
		many.attr.alt_dst = alt;
		many.attr.count = ret;
		ret = 0;
		if (sync) {
			paths = rdma_cmx_paths_get(&many.attr);
			if (IS_ERR(paths))
				ret = PTR_ERR(paths);
			else
				many.paths = paths;
		} else {
			ret = rdma_cmx_paths_start(&many.attr, many_done, NULL,
						   &many.query);
		}
		if (ret) {
			snprintf(text, size, "error=%d\n", ret);
			ret = 0;
		}
	}
	kvfree(dst);
	kvfree(alt);
	return ret;
}

static size_t many_rec(struct sa_path_rec *rec, u32 port, char *text,
		       size_t size)
{
	return scnprintf(text, size, " %pI6c %u -> %pI6c %u port=%u",
			 &rec->sgid, be32_to_cpu(sa_path_get_slid(rec)),
			 &rec->dgid, be32_to_cpu(sa_path_get_dlid(rec)), port);
}

static void many_print(char *text, size_t size)
{
	struct rdma_cmx_path *path;
	size_t len;
	u32 i;

	if (!many.paths)
		return;
	len = scnprintf(text, size, "found=%u of %u\n", many.paths->found,
			many.paths->count);
	for (i = 0; i < many.paths->count && i < 8; i++) {
		path = &many.paths->paths[i];
		len += scnprintf(text + len, size - len, "error=%d",
				 path->error);
		if (!path->error)
			len += many_rec(&path->rec[0], path->port_num,
					text + len, size - len);
		if (many.attr.alternate)
			len += scnprintf(text + len, size - len, " alt=%d",
					 path->alt_error);
		if (many.attr.alternate && !path->alt_error)
			len += many_rec(&path->rec[1], path->alt_port_num,
					text + len, size - len);
		len += scnprintf(text + len, size - len, "\n");
	}
}

static int many_wait(char *text, size_t size)
{
	long ret = 1;

	if (many.query)
		ret = wait_for_completion_interruptible_timeout(&many.done,
								PATHS_WAIT);
	if (ret <= 0)
		return ret ? -EINTR : -ETIMEDOUT;
	many_print(text, size);
	return 0;
}

static int many_cancel(char *text, size_t size)
{
	bool cancelled;

	if (!many.query)
		return -ENOENT;
	cancelled = rdma_cmx_paths_cancel(many.query);
	snprintf(text, size, "cancelled=%d calls=%u again=%d\n", cancelled,
		 many.calls, rdma_cmx_paths_cancel(many.query));
	return 0;
}

static int many_bad_one(const struct rdma_cmx_paths_attr *attr)
{
	struct rdma_cmx_paths *paths = rdma_cmx_paths_get(attr);
	int ret = PTR_ERR_OR_ZERO(paths);

	rdma_cmx_paths_put(paths);
	return ret;
}

static int many_bad(char *text, size_t size)
{
	union rdma_cmx_sockaddr dst = { .in.sin_family = AF_INET };
	const struct rdma_cmx_paths_attr good = {
		.net = &init_net, .dst = &dst, .count = 1,
	};
	struct rdma_cmx_paths_attr attr;
	size_t len = 0;

	dst.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
#define BAD(field, value)						\
	do {								\
		attr = good;						\
		attr.field = value;					\
		len += scnprintf(text + len, size - len, "%d ",		\
				 many_bad_one(&attr));			\
	} while (0)
	BAD(net, NULL);
	BAD(dst, NULL);
	BAD(count, 0);
	BAD(count, RDMA_CMX_MAX_PATHS + 1);
	BAD(count, U32_MAX);
	BAD(dev, "none0");
	BAD(dev, "a-name-that-is-longer-than-a-device-name-can-be-in-this-kernel-so-it-is-none");
	BAD(dev_port, 1);
	BAD(port_space, 0x42);
	len += scnprintf(text + len, size - len, "%d\n",
			 rdma_cmx_paths_start(&good, NULL, NULL, &many.query));
	return 0;
}

static int many_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	many.last = event->event;
	complete(&many.event);
	return 0;
}

static bool many_event_wait(enum rdma_cm_event_type event)
{
	return wait_for_completion_timeout(&many.event, PATHS_WAIT) &&
	       many.last == event;
}

/* Connects by the record. 0 if the peer's CM has replied. */
static int many_use_id(const struct rdma_cmx_path *path,
		       const struct sa_path_rec *from, struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .qp_num = 0x77, .retry_count = 1 };
	union rdma_cmx_sockaddr src = path->src, dst = path->dst;
	struct sa_path_rec rec = *from;
	int ret;

	ret = rdma_resolve_addr(id, &src.sa, &dst.sa, 30000);
	if (ret)
		return ret;
	if (!many_event_wait(RDMA_CM_EVENT_ADDR_RESOLVED))
		return -EHOSTUNREACH;
	ret = rdma_set_ib_path(id, &rec) ?: rdma_connect(id, &param);
	if (ret)
		return ret;
	return many_event_wait(RDMA_CM_EVENT_REJECTED) ? 0 : -EPROTO;
}

static int many_use(char *line, char *text, size_t size)
{
	char *number = strsep(&line, " ");
	struct rdma_cm_id *id;
	u32 i, n;

	if (!line || !many.paths || kstrtou32(number, 0, &i) ||
	    kstrtou32(line, 0, &n) || i >= many.paths->count || n > 1)
		return -EINVAL;
	reinit_completion(&many.event);
	id = rdma_create_id(&init_net, many_event, NULL, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	snprintf(text, size, "used=%d\n",
		 many_use_id(&many.paths->paths[i],
			     &many.paths->paths[i].rec[n], id));
	rdma_destroy_id(id);
	return 0;
}

static int many_forget(const char *line, char *text, size_t size)
{
	u32 i;

	if (!many.paths || kstrtou32(line, 0, &i) || i >= many.paths->count)
		return -EINVAL;
	snprintf(text, size, "forgot=%d\n",
		 rdma_cmx_path_invalidate(&many.attr, &many.paths->paths[i]));
	return 0;
}

int consumer_paths(const char *verb, char *line, char *text, size_t size)
{
	int ret;

	if (!strcmp(verb, "paths-wait"))
		return many_wait(text, size);
	if (!strcmp(verb, "paths-cancel"))
		return many_cancel(text, size);
	if (!strcmp(verb, "paths-bad"))
		return many_bad(text, size);
	if (!line)
		return -EINVAL;
	if (!strcmp(verb, "paths-forget"))
		return many_forget(line, text, size);
	if (!strcmp(verb, "paths-use"))
		return many_use(line, text, size);
	if (!strcmp(verb, "paths-start"))
		return many_start(line, false, text, size);
	ret = many_start(line, !strcmp(verb, "paths-sync"), text, size);
	if (ret || !strncmp(text, "error", 5))
		return ret;
	return many_wait(text, size);
}

void consumer_paths_end(void)
{
	many_end();
}
