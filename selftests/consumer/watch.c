// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Watches of an in-kernel consumer:
 *	watch WORDS -- QUERY	prints its number
 *	watch-many N WORDS -- QUERY	prints how many there are, and an error
 *	watched N		its callbacks, and the last one's answer
 *	watch-refresh N		query past the caches
 *	unwatch [N]		that one, or all
 * WORDS: interval=MS; stop: the callback stops its watch; hold: it waits until
 * watch-go, the result of which says whether one waited. QUERY is described in
 * parse.c.
 *
 * The callbacks write under watched.lock; the rest is under consumer.lock.
 */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "consumer.h"

#define WATCHES_MAX 512

struct watch_one {
	struct rdma_cmx_watch *watch;
	unsigned int events;
	unsigned int wrong;	/* broken guarantees of the API */
	bool running;
	bool stop;
	bool hold;
	bool stopped;
	int error;
	bool partial;
	char text[256];		/* destinations in order */
};

static struct {
	spinlock_t lock;	/* see above */
	struct completion go;
	atomic_t holding;
	struct watch_one all[WATCHES_MAX];
} watched = {
	.lock = __SPIN_LOCK_UNLOCKED(watched.lock),
	.go = COMPLETION_INITIALIZER(watched.go),
};

static void watch_note(struct watch_one *one,
		       const struct rdma_cmx_result *res)
{
	const struct rdma_cmx_entry *e;
	size_t len = 0;
	u32 i;

	one->text[0] = 0;
	one->error = PTR_ERR_OR_ZERO(res);
	one->partial = !one->error && res->partial;
	if (one->error)
		return;
	rdma_cmx_for_each_entry(e, i, res) {
		len += scnprintf(one->text + len, sizeof(one->text) - len,
				 e->family == AF_IB ? " %pI6c" : " %pISc",
				 e->family == AF_IB ?
				 (void *)&e->dst.ib.sib_addr : (void *)&e->dst);
	}
}

static void watch_changed(struct rdma_cmx_watch *watch,
			  struct rdma_cmx_result *res, void *context)
{
	struct watch_one *one = context;
	bool stop, hold;

	spin_lock(&watched.lock);
	if (one->running || one->stopped ||
	    (one->watch && one->watch != watch))
		one->wrong++;
	one->running = true;
	one->events++;
	watch_note(one, res);
	stop = one->stop;
	hold = one->hold;
	if (stop) {
		one->stopped = true;
		one->watch = NULL;
	}
	spin_unlock(&watched.lock);
	rdma_cmx_result_put(res);
	if (hold) {
		atomic_inc(&watched.holding);
		wait_for_completion(&watched.go);
		atomic_dec(&watched.holding);
	}
	if (stop)
		rdma_cmx_watch_stop(watch);
	spin_lock(&watched.lock);
	one->running = false;
	spin_unlock(&watched.lock);
}

static void watch_end(struct watch_one *one)
{
	struct rdma_cmx_watch *watch;

	/* The callback may stop its watch: the one that removes it stops it. */
	spin_lock(&watched.lock);
	watch = one->watch;
	one->watch = NULL;
	one->stop = false;
	spin_unlock(&watched.lock);
	if (!watch)
		return;
	rdma_cmx_watch_stop(watch);
	spin_lock(&watched.lock);
	one->wrong += one->running;
	one->stopped = true;
	spin_unlock(&watched.lock);
}

void consumer_unwatch(void)
{
	unsigned int i;

	complete_all(&watched.go);
	for (i = 0; i < WATCHES_MAX; i++)
		watch_end(&watched.all[i]);
}

static int watch_words(char **line, struct rdma_cmx_watch_attr *attr,
		       struct watch_one *one)
{
	char *word;

	while ((word = strsep(line, " "))) {
		if (!strcmp(word, "--"))
			return *line ? 0 : -EINVAL;
		if (!strcmp(word, "stop"))
			one->stop = true;
		else if (!strcmp(word, "hold"))
			one->hold = true;
		else if (strncmp(word, "interval=", 9) ||
			 kstrtou32(word + 9, 0, &attr->interval_ms))
			return -EINVAL;
	}
	return -EINVAL;
}

/* Returns its number, or an errno. */
static int watch_one(const struct rdma_cmx_watch_attr *attr,
		     const struct watch_one *how)
{
	struct rdma_cmx_watch *watch;
	struct watch_one *one;
	unsigned int n;

	for (n = 0; n < WATCHES_MAX; n++) {
		one = &watched.all[n];
		if (!one->watch && !one->running)
			break;
	}
	if (n == WATCHES_MAX)
		return -ENOSPC;
	*one = *how;
	watch = rdma_cmx_watch(attr, watch_changed, one);
	if (IS_ERR(watch))
		return PTR_ERR(watch);
	spin_lock(&watched.lock);
	if (!one->stopped)
		one->watch = watch;
	spin_unlock(&watched.lock);
	return n;
}

static int watch_start(const char *verb, char *line, char *text, size_t size)
{
	bool many = !strcmp(verb, "watch-many");
	struct rdma_cmx_watch_attr attr = { .owner = THIS_MODULE };
	unsigned int i, count = 1, done = 0;
	struct consumer_request q;
	struct watch_one how = {};
	char *n;
	int ret;

	if (many) {
		n = strsep(&line, " ");
		if (kstrtouint(n, 10, &count) || !line)
			return -EINVAL;
	}
	ret = watch_words(&line, &attr, &how) ?: consumer_parse(line, &q);
	if (ret)
		return ret;
	attr.query = q.attr;
	reinit_completion(&watched.go);
	for (i = 0, ret = 0; i < count && ret >= 0; i++) {
		ret = watch_one(&attr, &how);
		done += ret >= 0;
	}
	if (many)
		snprintf(text, size, "watches=%u error=%d\n", done, min(ret, 0));
	else if (ret < 0)
		snprintf(text, size, "error=%d\n", ret);
	else
		snprintf(text, size, "%d\n", ret);
	return 0;
}

static void watch_print(const struct watch_one *one, char *text, size_t size)
{
	int last;

	spin_lock(&watched.lock);
	/* It is not stopped as long as it is here. */
	last = one->watch ? rdma_cmx_watch_error(one->watch) : 0;
	snprintf(text, size,
		 "events=%u error=%d partial=%d last=%d wrong=%u dst=%s\n",
		 one->events, one->error, one->partial, last, one->wrong,
		 one->text[0] ? one->text + 1 : "-");
	spin_unlock(&watched.lock);
}

int consumer_watch(const char *verb, char *line, char *text, size_t size)
{
	struct watch_one *one;
	unsigned int n;

	if (!strcmp(verb, "watch-go")) {
		n = atomic_read(&watched.holding);
		complete_all(&watched.go);
		snprintf(text, size, "held=%u\n", n);
		return 0;
	}
	if (!strcmp(verb, "unwatch") && !line) {
		consumer_unwatch();
		return 0;
	}
	if (!line)
		return -EINVAL;
	if (!strcmp(verb, "watch") || !strcmp(verb, "watch-many"))
		return watch_start(verb, line, text, size);
	if (kstrtouint(line, 10, &n) || n >= WATCHES_MAX)
		return -EINVAL;
	one = &watched.all[n];
	if (!strcmp(verb, "watched"))
		watch_print(one, text, size);
	else if (!strcmp(verb, "unwatch"))
		watch_end(one);
	else if (!strcmp(verb, "watch-refresh") && one->watch && !one->stop)
		rdma_cmx_watch_refresh(one->watch);
	else
		return -EINVAL;
	return 0;
}
