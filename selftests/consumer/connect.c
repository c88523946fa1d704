// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Connect by name, as an initiator would:
 *	connect WORDS -- QUERY		and wait for the end
 *	connect-sync WORDS -- QUERY	likewise, by the synchronous call
 *	connect-time N WORDS -- QUERY	likewise, N times; prints the median time in µs
 *	connect-start WORDS -- QUERY	without waiting
 *	connect-wait		for the end of connect-start
 *	connect-state		of connect-start now
 *	connect-cancel		end connect-start
 *	connect-echo		does data come back that is sent?
 *	connect-events		events after the handover
 *	connect-end		disconnect and destroy the id
 * WORDS: routed: no setup; deadline=MS delay=MS tos=N; retry=N rnr=N, by default
 * 7; data=N: bytes of private data, all zero; hex=DIGITS: this private data;
 * fail: the setup fails; no-qp: it makes no queue pair; cancel=setup, teardown,
 * done: cancelled there; times: print them; whole: print how many bytes of
 * "listen ... N" have come; setup-ms=N, teardown-ms=N: how long these take, each
 * second teardown twice as long; handler-ends: the id's handler returns 1 in the
 * end; twice: connect-start starts another one, too, which no command waits for.
 *
 * The result is a line for the call and one for each candidate. What the
 * callbacks write is under connecting.lock.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "consumer.h"
#include "end.h"

#define CONNECT_TIMES	1000

static struct {
	struct mutex lock;	/* see above */
	bool routed;
	bool fail;
	bool no_qp;
	bool times;
	bool whole;
	bool handler_ends;
	bool twice;
	u32 setup_ms;
	u32 teardown_ms;
	const char *cancel;	/* where, or NULL */
	u8 data_len;
	struct rdma_cmx_connector *connector;
	struct rdma_cmx_connector *other;	/* of twice */
	struct completion done;
	unsigned int calls;
	unsigned int setups;
	unsigned int teardowns;
	unsigned int wrong;	/* broken guarantees of the API */
	unsigned int removals;
	unsigned int events;
	struct rdma_cm_id *id;	/* the result, or an ERR_PTR */
	struct rdma_cmx_connect_report *report;
	bool cancelled;
} connecting = {
	.lock = __MUTEX_INITIALIZER(connecting.lock),
	.done = COMPLETION_INITIALIZER(connecting.done),
};

static u8 connect_data[U8_MAX];

/* Handler of the id that was handed over */
static int connect_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	int ret = 0;

	mutex_lock(&connecting.lock);
	if (id->context != &connecting)
		connecting.wrong++;
	connecting.events++;
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		connecting.removals++;
	/* Only after the callback has run */
	if (connecting.handler_ends && connecting.id == id &&
	    event->event == RDMA_CM_EVENT_DISCONNECTED) {
		connecting.id = NULL;
		consumer_end_free(id->qp->qp_context);
		ret = 1;
	}
	mutex_unlock(&connecting.lock);
	return ret;
}

static void connect_cancel_in(const char *place)
{
	if (connecting.cancel && !strcmp(connecting.cancel, place) &&
	    rdma_cmx_connect_cancel(connecting.connector) ==
	    !strcmp(place, "done"))
		connecting.wrong++;
}

static int connect_setup(struct rdma_cm_id *id,
			 const struct rdma_cmx_entry *entry,
			 struct rdma_conn_param *param, void *context)
{
	struct consumer_end *end;

	mutex_lock(&connecting.lock);
	if (context != &connecting || !id->device || connecting.calls)
		connecting.wrong++;
	connecting.setups++;
	mutex_unlock(&connecting.lock);
	connect_cancel_in("setup");
	if (connecting.setup_ms)
		msleep(connecting.setup_ms);
	if (connecting.fail)
		return -EPROTO;
	param->private_data = connect_data;
	param->private_data_len = connecting.data_len;
	param->responder_resources = 1;
	param->initiator_depth = 1;
	if (connecting.no_qp)
		return 0;
	end = consumer_end_make(id, false);
	return PTR_ERR_OR_ZERO(end);
}

static void connect_teardown(struct rdma_cm_id *id, void *context)
{
	bool second;

	mutex_lock(&connecting.lock);
	if (context != &connecting || connecting.calls)
		connecting.wrong++;
	/* The second teardown: that of a lost winner, after the stopped one */
	second = connecting.teardowns++ % 2;
	mutex_unlock(&connecting.lock);
	if (id->qp)
		consumer_end_free(id->qp->qp_context);
	consumer_listen_lose(!second);
	if (connecting.teardown_ms)
		msleep(connecting.teardown_ms << second);
	connect_cancel_in("teardown");
}

static void connect_done(struct rdma_cmx_connector *connector,
			 struct rdma_cm_id *id,
			 struct rdma_cmx_connect_report *report, void *context)
{
	mutex_lock(&connecting.lock);
	if (connector != connecting.connector || connecting.calls++)
		connecting.wrong++;
	connecting.id = id;
	connecting.report = report;
	mutex_unlock(&connecting.lock);
	connect_cancel_in("done");
	complete(&connecting.done);
}

static void connect_other_done(struct rdma_cmx_connector *connector,
			       struct rdma_cm_id *id,
			       struct rdma_cmx_connect_report *report,
			       void *context)
{
	mutex_lock(&connecting.lock);
	/* The target does not reply to this connect. */
	if (!IS_ERR(id))
		connecting.wrong++;
	mutex_unlock(&connecting.lock);
	rdma_cmx_connect_report_put(report);
}

static void connect_id_end(void)
{
	struct rdma_cm_id *id = connecting.id;

	connecting.id = NULL;
	if (IS_ERR_OR_NULL(id))
		return;
	if (id->qp) {
		rdma_disconnect(id);
		consumer_end_free(id->qp->qp_context);
	}
	rdma_destroy_id(id);
}

void consumer_connect_end(void)
{
	if (connecting.connector) {
		rdma_cmx_connect_cancel(connecting.connector);
		rdma_cmx_connect_put(connecting.connector);
		connecting.connector = NULL;
	}
	if (connecting.other) {
		rdma_cmx_connect_cancel(connecting.other);
		rdma_cmx_connect_put(connecting.other);
		connecting.other = NULL;
	}
	connect_id_end();
	rdma_cmx_connect_report_put(connecting.report);
	connecting.report = NULL;
	connecting.calls = 0;
	connecting.setups = 0;
	connecting.teardowns = 0;
	connecting.wrong = 0;
	connecting.removals = 0;
	connecting.events = 0;
	connecting.cancelled = false;
	reinit_completion(&connecting.done);
}

static int connect_number(char *word, u32 *number)
{
	return kstrtou32(word, 0, number) ? -EINVAL : 0;
}

/* Sets the private data of the requests. */
static int connect_hex(const char *digits)
{
	size_t i, len = strlen(digits);

	if (len % 2 || len / 2 > sizeof(connect_data))
		return -EINVAL;
	for (i = 0; i < len / 2; i++) {
		if (sscanf(digits + 2 * i, "%2hhx", &connect_data[i]) != 1)
			return -EINVAL;
	}
	connecting.data_len = len / 2;
	return 0;
}

static int connect_word(char *word, struct rdma_cmx_connect_attr *attr)
{
	char *value = strchr(word, '=');
	u32 n = 0;

	if (!strcmp(word, "routed"))
		connecting.routed = true;
	else if (!strcmp(word, "fail"))
		connecting.fail = true;
	else if (!strcmp(word, "no-qp"))
		connecting.no_qp = true;
	else if (!strcmp(word, "times"))
		connecting.times = true;
	else if (!strcmp(word, "whole"))
		connecting.whole = true;
	else if (!strcmp(word, "handler-ends"))
		connecting.handler_ends = true;
	else if (!strcmp(word, "twice"))
		connecting.twice = true;
	else if (!value)
		return -EINVAL;
	if (!value)
		return 0;
	*value++ = 0;
	if (!strcmp(word, "cancel")) {
		connecting.cancel = !strcmp(value, "setup") ? "setup" :
				    !strcmp(value, "done") ? "done" :
							     "teardown";
		return 0;
	}
	if (!strcmp(word, "hex"))
		return connect_hex(value);
	if (connect_number(value, &n))
		return -EINVAL;
	if (!strcmp(word, "deadline"))
		attr->timeout_ms = n;
	else if (!strcmp(word, "delay"))
		attr->delay_ms = n;
	else if (!strcmp(word, "data"))
		connecting.data_len = n;
	else if (!strcmp(word, "tos"))
		attr->tos = n;
	else if (!strcmp(word, "retry"))
		attr->retry_count = n;
	else if (!strcmp(word, "rnr"))
		attr->rnr_retry_count = n;
	else if (!strcmp(word, "setup-ms"))
		connecting.setup_ms = n;
	else if (!strcmp(word, "teardown-ms"))
		connecting.teardown_ms = n;
	else
		return -EINVAL;
	attr->has_tos |= !strcmp(word, "tos");
	return 0;
}

static int connect_parse(char *line, struct rdma_cmx_connect_attr *attr,
			 struct consumer_request *q)
{
	char *word;
	int ret;

	memset(attr, 0, sizeof(*attr));
	attr->retry_count = 7;
	attr->rnr_retry_count = 7;
	connecting.routed = false;
	connecting.fail = false;
	connecting.no_qp = false;
	connecting.times = false;
	connecting.whole = false;
	connecting.handler_ends = false;
	connecting.twice = false;
	connecting.setup_ms = 0;
	connecting.teardown_ms = 0;
	connecting.cancel = NULL;
	connecting.data_len = 0;
	memset(connect_data, 0, sizeof(connect_data));
	while ((word = strsep(&line, " ")) && strcmp(word, "--")) {
		ret = connect_word(word, attr);
		if (ret)
			return ret;
	}
	if (!line)
		return -EINVAL;
	ret = consumer_parse(line, q);
	if (ret)
		return ret;
	attr->query = q->attr;
	attr->handler = connect_event;
	attr->id_context = &connecting;
	if (!connecting.routed) {
		attr->setup = connect_setup;
		attr->teardown = connect_teardown;
	}
	return 0;
}

static const char *connect_step(enum rdma_cmx_connect_step step)
{
	static const char * const names[] = {
		"no-device", "untried", "addr", "route", "setup", "request",
		"up",
	};

	return step < ARRAY_SIZE(names) ? names[step] : "?";
}

static size_t connect_print_one(const struct rdma_cmx_candidate *out,
				char *text, size_t size)
{
	unsigned int n = 0;
	size_t len;

	if (out->dst.sa.sa_family == AF_IB)
		len = scnprintf(text, size, "dst=%pI6c",
				&out->dst.ib.sib_addr);
	else
		len = scnprintf(text, size, "dst=%pISc", &out->dst);
	len += scnprintf(text + len, size - len,
			 " step=%s error=%d reason=%d attempts=%u",
			 connect_step(out->step), out->error, out->reason,
			 out->attempts);
	if (connecting.times)
		len += scnprintf(text + len, size - len, " start=%u end=%u",
				 out->start_ms, out->end_ms);
	if (connecting.whole) {
		while (n < out->data_len && out->data[n] == consumer_pattern()[n])
			n++;
		len += scnprintf(text + len, size - len, " whole=%u", n);
	}
	len += scnprintf(text + len, size - len, " data=%.*s\n",
			 min(out->data_len, (u8)7), out->data);
	return len;
}

static void connect_print(char *text, size_t size)
{
	const struct rdma_cmx_connect_report *report = connecting.report;
	size_t len;
	u32 i;

	mutex_lock(&connecting.lock);
	len = scnprintf(text, size,
			"error=%d calls=%u setups=%u teardowns=%u wrong=%u%s\n",
			PTR_ERR_OR_ZERO(connecting.id), connecting.calls,
			connecting.setups, connecting.teardowns,
			connecting.wrong,
			connecting.cancelled ? " cancelled" : "");
	for (i = 0; report && i < report->count; i++)
		len += connect_print_one(&report->candidates[i], text + len,
					 size - len);
	mutex_unlock(&connecting.lock);
}

static int connect_start(char *line, bool sync, char *text, size_t size)
{
	struct rdma_cmx_connect_attr attr;
	struct consumer_request q;
	int ret;

	consumer_connect_end();
	ret = connect_parse(line, &attr, &q);
	if (ret)
		return ret;
	if (sync) {
		connecting.id = rdma_cmx_connect(&attr, &connecting,
						 &connecting.report);
		connect_print(text, size);
		return 0;
	}
	ret = rdma_cmx_connect_start(&attr, connect_done, &connecting,
				     &connecting.connector);
	if (!ret && connecting.twice)
		ret = rdma_cmx_connect_start(&attr, connect_other_done, NULL,
					     &connecting.other);
	if (ret)
		snprintf(text, size, "at once: error=%d\n", ret);
	else
		snprintf(text, size, "pending\n");
	return 0;
}

static int connect_time_cmp(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Time from the call to the id, which is then disconnected and destroyed */
static int connect_time(char *line, char *text, size_t size)
{
	struct rdma_cmx_connect_attr attr;
	struct consumer_request q;
	unsigned int i, count;
	u64 *ns, start;
	int ret;

	if (kstrtouint(strsep(&line, " "), 10, &count) || !line || !count ||
	    count > CONNECT_TIMES)
		return -EINVAL;
	consumer_connect_end();
	ret = connect_parse(line, &attr, &q);
	if (ret)
		return ret;
	ns = kcalloc(count, sizeof(*ns), GFP_KERNEL);
	if (!ns)
		return -ENOMEM;
	for (i = 0; i < count && !ret; i++) {
		start = ktime_get_ns();
		connecting.id = rdma_cmx_connect(&attr, &connecting, NULL);
		ns[i] = ktime_get_ns() - start;
		ret = PTR_ERR_OR_ZERO(connecting.id);
		consumer_connect_end();
	}
	sort(ns, count, sizeof(*ns), connect_time_cmp, NULL);
	if (ret)
		snprintf(text, size, "error=%d\n", ret);
	else
		snprintf(text, size, "%llu.%02llu\n", ns[count / 2] / 1000,
			 ns[count / 2] % 1000 / 10);
	kfree(ns);
	return 0;
}

static int connect_wait(char *text, size_t size)
{
	if (!connecting.connector)
		return text[0] ? 0 : -ENOENT;
	if (!wait_for_completion_timeout(&connecting.done, 90 * HZ))
		return -ETIMEDOUT;
	/* The callback has returned. */
	rdma_cmx_connect_cancel(connecting.connector);
	connect_print(text, size);
	return 0;
}

static int connect_cancel(char *text, size_t size)
{
	bool stopped;

	if (!connecting.connector)
		return -ENOENT;
	stopped = rdma_cmx_connect_stop(connecting.connector);
	connecting.cancelled = rdma_cmx_connect_cancel(connecting.connector);
	if (stopped != connecting.cancelled)
		connecting.wrong++;
	connect_print(text, size);
	return 0;
}

static int connect_echo(char *text, size_t size)
{
	int ret;

	if (IS_ERR_OR_NULL(connecting.id) || !connecting.id->qp)
		return -ENOTCONN;
	ret = consumer_end_echo(connecting.id->qp->qp_context);
	snprintf(text, size, "echo: error=%d\n", ret);
	return 0;
}

static int connect_events(char *text, size_t size)
{
	mutex_lock(&connecting.lock);
	snprintf(text, size, "events=%u removals=%u wrong=%u\n",
		 connecting.events, connecting.removals, connecting.wrong);
	mutex_unlock(&connecting.lock);
	return 0;
}

/* @line: the words after @verb, or NULL. */
int consumer_connect(const char *verb, char *line, char *text, size_t size)
{
	int ret;

	if (!strcmp(verb, "connect-wait"))
		return connect_wait(text, size);
	if (!strcmp(verb, "connect-state")) {
		connect_print(text, size);
		return 0;
	}
	if (!strcmp(verb, "connect-cancel"))
		return connect_cancel(text, size);
	if (!strcmp(verb, "connect-echo"))
		return connect_echo(text, size);
	if (!strcmp(verb, "connect-events"))
		return connect_events(text, size);
	if (!strcmp(verb, "connect-end")) {
		consumer_connect_end();
		return 0;
	}
	if (!line)
		return -EINVAL;
	text[0] = 0;
	if (!strcmp(verb, "connect-sync"))
		return connect_start(line, true, text, size);
	if (!strcmp(verb, "connect-time"))
		return connect_time(line, text, size);
	if (!strcmp(verb, "connect-start"))
		return connect_start(line, false, text, size);
	if (strcmp(verb, "connect"))
		return -EINVAL;
	ret = connect_start(line, false, text, size);
	return ret ?: connect_wait(text, size);
}
