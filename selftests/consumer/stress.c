// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many queries at once, every second one cancelled at some point: each callback
 * runs once or, after a successful cancel, never. Counters are atomic, since
 * callbacks run on any CPU.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "consumer.h"

struct stress {
	atomic_t answered;
	atomic_t failed;
	atomic_t left;
	struct completion all;
};

struct stress_one {
	struct stress *stress;
	struct rdma_cmx_query *query;
	atomic_t calls;
	bool cancelled;
};

static void stress_left(struct stress *s)
{
	if (atomic_dec_and_test(&s->left))
		complete(&s->all);
}

static void stress_done(struct rdma_cmx_query *query,
			struct rdma_cmx_result *res, void *context)
{
	struct stress_one *one = context;
	struct stress *s = one->stress;

	atomic_inc(IS_ERR(res) ? &s->failed : &s->answered);
	rdma_cmx_result_put(res);
	if (one->query != query || rdma_cmx_query_cancel(query))
		atomic_add(100, &one->calls);
	if (atomic_inc_return(&one->calls) == 1)
		stress_left(s);
}

/* The number of the query replaces "%" in @name. */
static void stress_name(char *to, size_t size, const char *name, unsigned int i)
{
	const char *mark = strchr(name, '%');

	if (mark)
		snprintf(to, size, "%.*s%u%s", (int)(mark - name), name, i,
			 mark + 1);
	else
		strscpy(to, name, size);
}

static void stress_start(struct stress *s, struct stress_one *one,
			 const char *name, u32 timeout_ms,
			 struct consumer_stress *out)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
		.node = name,
		.port = 7471,
		.has_port = true,
		.timeout_ms = timeout_ms,
	};

	one->stress = s;
	atomic_set(&one->calls, 0);
	atomic_inc(&s->left);
	if (rdma_cmx_query_start(&attr, stress_done, one, NULL, &one->query)) {
		one->query = NULL;
		out->refused++;
		stress_left(s);
	} else {
		out->started++;
	}
}

/* Queries of another user that stay until the next call */
static struct rdma_cmx_query *crowd[64];

static void crowd_done(struct rdma_cmx_query *query,
		       struct rdma_cmx_result *res, void *context)
{
	rdma_cmx_result_put(res);
}

/* Queries @name many times, and @last at the end, as user 1000. */
int consumer_crowd(unsigned int count, const char *name, const char *last)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
	};
	struct cmx_caller caller = { .uid = KUIDT_INIT(1000) };
	char node[256];
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(crowd); i++) {
		if (!crowd[i])
			continue;
		rdma_cmx_query_cancel(crowd[i]);
		rdma_cmx_query_put(crowd[i]);
		crowd[i] = NULL;
	}
	if (count > ARRAY_SIZE(crowd))
		return -EINVAL;
	for (i = 0; i < count; i++) {
		stress_name(node, sizeof(node), name, i);
		attr.node = i == count - 1 ? last : node;
		ret = rdma_cmx_query_start_for(&attr, &caller, crowd_done,
					       NULL, NULL, &crowd[i]);
		if (ret)
			return ret;
	}
	return 0;
}

int consumer_stress(unsigned int count, const char *name, u32 timeout_ms,
		    struct consumer_stress *out)
{
	struct stress_one *all;
	struct stress s = {};
	unsigned int i, calls;
	char node[256];

	memset(out, 0, sizeof(*out));
	if (!count || count > 100000)
		return -EINVAL;
	all = kvcalloc(count, sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	init_completion(&s.all);
	atomic_set(&s.left, 1);

	for (i = 0; i < count; i++) {
		stress_name(node, sizeof(node), name, i);
		stress_start(&s, &all[i], node, timeout_ms, out);
		if (i % 4 == 3 && all[i].query)
			all[i].cancelled = rdma_cmx_query_cancel(all[i].query);
	}
	for (i = 1; i < count; i += 4) {
		if (all[i].query)
			all[i].cancelled = rdma_cmx_query_cancel(all[i].query);
	}
	for (i = 0; i < count; i++) {
		if (!all[i].cancelled)
			continue;
		out->cancelled++;
		stress_left(&s);
	}
	stress_left(&s);
	if (!wait_for_completion_timeout(&s.all, 100 * HZ))
		out->wrong++;

	for (i = 0; i < count; i++) {
		if (!all[i].query)
			continue;
		/* No effect unless the wait above reached its deadline */
		rdma_cmx_query_cancel(all[i].query);
		calls = atomic_read(&all[i].calls);
		if (calls != !all[i].cancelled)
			out->wrong++;
		rdma_cmx_query_put(all[i].query);
	}
	out->answered = atomic_read(&s.answered);
	out->failed = atomic_read(&s.failed);
	kvfree(all);
	return 0;
}
