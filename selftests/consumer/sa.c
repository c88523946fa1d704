// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Many queries of services at once, for a test that changes the SA meanwhile:
 *	services N KINDS NAME MS SOURCE	start N queries, the first for NAME0,
 *		up to KINDS different names; MS: deadline, SOURCE: "gid:…" or "-"
 *	services-routes …	the same, and for the paths to those
 *	services-wait		for all of them; prints how they ended
 *	services-cancel		those that have not ended
 *	services-get NAME	the ServiceRecords of that name, and wait
 * All that the callbacks write is atomic or their own query's.
 */
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "consumer.h"

struct sa_one {
	struct rdma_cmx_query *query;
	atomic_t calls;
	bool cancelled;
	int error;
	u32 entries;
};

static struct {
	struct sa_one *all;
	unsigned int count;
	unsigned int refused;
	int refusal;
	atomic_t left;
	struct completion done;
} sa = {
	.done = COMPLETION_INITIALIZER(sa.done),
};

static void sa_left(void)
{
	if (atomic_dec_and_test(&sa.left))
		complete_all(&sa.done);
}

static void sa_done(struct rdma_cmx_query *query, struct rdma_cmx_result *res,
		    void *context)
{
	struct sa_one *one = context;

	one->error = PTR_ERR_OR_ZERO(res);
	if (!IS_ERR(res))
		one->entries = res->count;
	rdma_cmx_result_put(res);
	if (atomic_inc_return(&one->calls) == 1)
		sa_left();
}

static void sa_cancel(void)
{
	unsigned int i;

	for (i = 0; i < sa.count; i++) {
		struct sa_one *one = &sa.all[i];

		if (!one->query || one->cancelled ||
		    !rdma_cmx_query_cancel(one->query))
			continue;
		one->cancelled = true;
		sa_left();
	}
}

/* Cancels all queries. */
void consumer_sa_end(void)
{
	unsigned int i;

	sa_cancel();
	for (i = 0; i < sa.count; i++)
		rdma_cmx_query_put(sa.all[i].query);
	kvfree(sa.all);
	sa.all = NULL;
	sa.count = 0;
}

static int sa_start(char *line, u32 flags)
{
	struct rdma_cmx_query_attr attr = {
		.net = &init_net,
		.flags = RDMA_CMX_AI_SA | flags,
	};
	char *count = strsep(&line, " "), *kinds = strsep(&line, " ");
	char *name = strsep(&line, " "), *ms = strsep(&line, " ");
	union rdma_cmx_sockaddr src;
	unsigned int i, n, k;
	char service[64];
	int ret;

	if (!line || kstrtouint(count, 10, &n) || kstrtouint(kinds, 10, &k) ||
	    kstrtou32(ms, 10, &attr.timeout_ms) || !n || n > 100000 || !k)
		return -EINVAL;
	if (strcmp(line, "-")) {
		if (consumer_parse_addr(line, &src))
			return -EINVAL;
		attr.src = &src;
	}
	consumer_sa_end();
	sa.all = kvcalloc(n, sizeof(*sa.all), GFP_KERNEL);
	if (!sa.all)
		return -ENOMEM;
	sa.count = n;
	sa.refused = 0;
	reinit_completion(&sa.done);
	atomic_set(&sa.left, 1);
	attr.service = service;
	for (i = 0; i < n; i++) {
		snprintf(service, sizeof(service), "%s%u", name, i % k);
		atomic_inc(&sa.left);
		ret = rdma_cmx_query_start(&attr, sa_done, &sa.all[i],
					   NULL, &sa.all[i].query);
		if (ret) {
			sa.all[i].query = NULL;
			sa.refusal = ret;
			sa.refused++;
			sa_left();
		}
	}
	sa_left();
	return 0;
}

/* Counts each error, in the order of the first occurrence. */
static size_t sa_errors(char *text, size_t size)
{
	unsigned int i, n, counts[6] = {};
	int errors[6] = {};
	size_t len = 0;

	for (i = 0; i < sa.count; i++) {
		if (!sa.all[i].error)
			continue;
		for (n = 0; n < ARRAY_SIZE(errors) - 1; n++) {
			if (!errors[n] || errors[n] == sa.all[i].error)
				break;
		}
		errors[n] = sa.all[i].error;
		counts[n]++;
	}
	for (n = 0; n < ARRAY_SIZE(errors) && counts[n]; n++)
		len += scnprintf(text + len, size - len, " error%d=%u",
				 errors[n], counts[n]);
	return len;
}

static int sa_wait(char *text, size_t size)
{
	unsigned int i, answered = 0, cancelled = 0, wrong = 0;
	u32 least = U32_MAX, most = 0;
	size_t len;

	if (!sa.count)
		return -ENOENT;
	if (!wait_for_completion_timeout(&sa.done, 300 * HZ)) {
		snprintf(text, size, "unfinished=%d\n", atomic_read(&sa.left));
		return 0;
	}
	for (i = 0; i < sa.count; i++) {
		struct sa_one *one = &sa.all[i];

		if (!one->query)
			continue;
		/* Waits for a callback that is still running. */
		rdma_cmx_query_cancel(one->query);
		cancelled += one->cancelled;
		wrong += atomic_read(&one->calls) != !one->cancelled;
		if (one->cancelled || one->error)
			continue;
		answered++;
		least = min(least, one->entries);
		most = max(most, one->entries);
	}
	len = scnprintf(text, size, "answered=%u", answered);
	if (answered)
		len += scnprintf(text + len, size - len, " entries=%u..%u",
				 least, most);
	len += sa_errors(text + len, size - len);
	if (cancelled)
		len += scnprintf(text + len, size - len, " cancelled=%u",
				 cancelled);
	if (sa.refused)
		len += scnprintf(text + len, size - len, " refused%d=%u",
				 sa.refusal, sa.refused);
	if (wrong)
		len += scnprintf(text + len, size - len, " wrong=%u", wrong);
	scnprintf(text + len, size - len, "\n");
	consumer_sa_end();
	return 0;
}

static int sa_get(const char *name, char *text, size_t size)
{
	struct rdma_cmx_services_attr attr = {
		.net = &init_net,
		.service = name,
		.timeout_ms = 60000,
	};
	struct rdma_cmx_services *services = rdma_cmx_get_services(&attr);

	if (IS_ERR(services))
		snprintf(text, size, "error=%ld\n", PTR_ERR(services));
	else
		snprintf(text, size, "records=%u ports=%u error=%d\n",
			 services->count, services->ports, services->error);
	rdma_cmx_put_services(services);
	return 0;
}

/* @line: the words after @verb, or NULL. */
int consumer_sa(const char *verb, char *line, char *text, size_t size)
{
	if (!strcmp(verb, "services"))
		return line ? sa_start(line, RDMA_CMX_AI_NOROUTE) : -EINVAL;
	if (!strcmp(verb, "services-routes"))
		return line ? sa_start(line, 0) : -EINVAL;
	if (!strcmp(verb, "services-wait"))
		return sa_wait(text, size);
	if (!strcmp(verb, "services-get"))
		return line ? sa_get(line, text, size) : -EINVAL;
	if (!strcmp(verb, "services-cancel")) {
		sa_cancel();
		return 0;
	}
	return -EINVAL;
}
