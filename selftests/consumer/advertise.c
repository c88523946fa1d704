// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Services that an in-kernel consumer advertises:
 *	advertise NAME ID [WORD…]	in the caller's network namespace; prints
 *		the number of the first one. Words: pkey=N lease=N data=HEX
 *		dev=NAME port=N user=UID (on behalf of that user), count=N: so
 *		many, NAME0 with ID, NAME1 with ID + 1, …
 *	advertised [N]	state and events of service N, or of all together
 *	withdraw [N]	service N, or all
 * The callbacks count under advertised.lock; the rest is under consumer.lock.
 */
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "consumer.h"

#define SERVICES_MAX 4096

struct advertised_events {
	unsigned int set;
	unsigned int lost;
	unsigned int failed;
	int status;
};

static struct {
	spinlock_t lock;	/* events */
	struct rdma_cmx_service *all[SERVICES_MAX];
	struct advertised_events events[SERVICES_MAX];
} advertised = {
	.lock = __SPIN_LOCK_UNLOCKED(advertised.lock),
};

static void advertised_event(struct rdma_cmx_service *service,
			     const struct rdma_cmx_service_event *event,
			     void *context)
{
	struct advertised_events *e = context;
	struct rdma_cmx_service_state state;

	/* The callback may call this. */
	rdma_cmx_service_get_state(service, &state);
	spin_lock(&advertised.lock);
	switch (event->type) {
	case RDMA_CMX_SERVICE_SET:
		e->set++;
		break;
	case RDMA_CMX_SERVICE_LOST:
		e->lost++;
		break;
	case RDMA_CMX_SERVICE_FAILED:
		e->failed++;
		break;
	}
	e->status = event->status;
	spin_unlock(&advertised.lock);
}

static int advertise_data(const char *hex, u8 data[64])
{
	size_t i, len = strlen(hex);
	char byte[3] = {};

	if (len % 2 || len > 128)
		return -EINVAL;
	for (i = 0; i < len; i += 2) {
		memcpy(byte, hex + i, 2);
		if (kstrtou8(byte, 16, &data[i / 2]))
			return -EINVAL;
	}
	return 0;
}

struct advertise_request {
	struct rdma_cmx_service_attr attr;
	unsigned int count;
	bool for_user;
	uid_t uid;
};

static int advertise_words(char *line, struct advertise_request *req)
{
	struct rdma_cmx_service_attr *attr = &req->attr;
	char *word;
	int ret = 0;

	while (!ret && (word = strsep(&line, " "))) {
		if (!strncmp(word, "pkey=", 5)) {
			ret = kstrtou16(word + 5, 0, &attr->pkey);
		} else if (!strncmp(word, "lease=", 6)) {
			ret = kstrtou32(word + 6, 0, &attr->lease_s);
		} else if (!strncmp(word, "data=", 5)) {
			ret = advertise_data(word + 5, attr->data);
		} else if (!strncmp(word, "dev=", 4)) {
			attr->dev = word + 4;
		} else if (!strncmp(word, "port=", 5)) {
			ret = kstrtou32(word + 5, 0, &attr->dev_port);
		} else if (!strncmp(word, "count=", 6)) {
			ret = kstrtouint(word + 6, 0, &req->count);
		} else if (!strncmp(word, "user=", 5)) {
			req->for_user = true;
			ret = kstrtouint(word + 5, 0, &req->uid);
		} else {
			ret = -EINVAL;
		}
	}
	return ret;
}

/* Returns its number, or an errno. */
static int advertise_one(const struct advertise_request *req)
{
	struct rdma_cmx_service *service;
	struct advertised_events *e;
	unsigned int n;

	for (n = 0; n < SERVICES_MAX && advertised.all[n]; n++)
		;
	if (n == SERVICES_MAX)
		return -ENOSPC;
	e = &advertised.events[n];
	memset(e, 0, sizeof(*e));
	if (req->for_user)
		service = rdma_cmx_advertise_for(&req->attr,
						 KUIDT_INIT(req->uid),
						 advertised_event, e);
	else
		service = rdma_cmx_advertise(&req->attr, advertised_event, e);
	if (IS_ERR(service))
		return PTR_ERR(service);
	advertised.all[n] = service;
	return n;
}

static int advertise_many(char *line, char *text, size_t size)
{
	struct advertise_request req = {
		.attr.net = current->nsproxy->net_ns,
	};
	char *name = strsep(&line, " "), *id = strsep(&line, " ");
	unsigned int i, done = 0;
	char numbered[128];
	int ret;

	if (!id || kstrtou64(id, 0, &req.attr.id))
		return -EINVAL;
	ret = advertise_words(line, &req);
	if (ret)
		return ret;
	req.attr.name = name;
	if (!req.count) {
		ret = advertise_one(&req);
		if (ret < 0)
			snprintf(text, size, "error=%d\n", ret);
		else
			snprintf(text, size, "%d\n", ret);
		return 0;
	}
	for (i = 0; i < req.count; i++, req.attr.id++) {
		snprintf(numbered, sizeof(numbered), "%s%u", name, i);
		req.attr.name = numbered;
		ret = advertise_one(&req);
		if (ret < 0)
			break;
		done++;
	}
	snprintf(text, size, "advertised=%u error=%d\n", done, min(ret, 0));
	return 0;
}

static int advertised_number(const char *text, unsigned int *n)
{
	if (kstrtouint(text, 10, n) || *n >= SERVICES_MAX ||
	    !advertised.all[*n])
		return -ENOENT;
	return 0;
}

static int advertised_print(const char *line, char *text, size_t size)
{
	unsigned int i, first = 0, last = SERVICES_MAX - 1, count = 0;
	struct advertised_events sum = {};
	struct rdma_cmx_service_state state;
	unsigned int set = 0, waiting = 0;
	int error = 0;

	if (line && advertised_number(line, &first))
		return -ENOENT;
	if (line)
		last = first;
	for (i = first; i <= last; i++) {
		if (!advertised.all[i])
			continue;
		rdma_cmx_service_get_state(advertised.all[i], &state);
		count++;
		set += state.set;
		waiting += state.waiting;
		error = error ?: state.error;
		spin_lock(&advertised.lock);
		sum.set += advertised.events[i].set;
		sum.lost += advertised.events[i].lost;
		sum.failed += advertised.events[i].failed;
		sum.status = advertised.events[i].status;
		spin_unlock(&advertised.lock);
	}
	snprintf(text, size,
		 "count=%u set=%u waiting=%u error=%d events=%u,%u,%u last=%d\n",
		 count, set, waiting, error, sum.set, sum.lost, sum.failed,
		 sum.status);
	return 0;
}

void consumer_withdraw_all(void)
{
	unsigned int i;

	for (i = 0; i < SERVICES_MAX; i++) {
		if (advertised.all[i])
			rdma_cmx_withdraw(advertised.all[i]);
		advertised.all[i] = NULL;
	}
}

/* @line: the words after @verb, or NULL. */
int consumer_advertise(const char *verb, char *line, char *text, size_t size)
{
	unsigned int n;

	if (!strcmp(verb, "advertise"))
		return line ? advertise_many(line, text, size) : -EINVAL;
	if (!strcmp(verb, "advertised"))
		return advertised_print(line, text, size);
	if (!line) {
		consumer_withdraw_all();
		return 0;
	}
	if (advertised_number(line, &n))
		return -ENOENT;
	rdma_cmx_withdraw(advertised.all[n]);
	advertised.all[n] = NULL;
	return 0;
}
