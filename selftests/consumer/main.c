// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx_consumer: uses the kernel API of rdma_cmx as a storage driver would, on
 * behalf of tests. A line written to /sys/kernel/debug/cmx_consumer/command
 * starts an operation, /sys/kernel/debug/cmx_consumer/result has its result:
 *
 *	resolve QUERY		send the query and wait
 *	time QUERY		the same 1000 times; prints fastest and mean time
 *	start QUERY		send the query without waiting
 *	known QUERY		likewise; takes a result that is there at once
 *	wait			for the result of start or known
 *	cancel			the query of start
 *	give-error N		end names of start ("later") with an errno
 *	stress N NAME [MS]	N queries at once, every second one cancelled
 *	crowd N NAME LAST	N lasting queries of another user; 0 ends them
 *	device, path, …		of the last result, and of a netdevice, see
 *				outputs.c
 *	services, …		many queries for services, see sa.c
 *	join, more, …, leave	memberships, see join.c
 *	advertise, …, withdraw	services, see advertise.c
 *	connect, …		connect by name, see connect.c
 *	listen, …		its targets, see listen.c
 *	watch, …, unwatch	watches, see watch.c
 *	paths, …		many paths, see paths.c
 *	slow-cancel MS		of route queries by rdma_cm, see slow.c
 *	fail-add 0 or 1		no device can be added to rdma_cmx, likewise
 *
 * QUERY is described in parse.c. consumer.lock guards everything but what
 * the callback stores, which consumer.done publishes.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "consumer.h"

static struct {
	struct mutex lock;		/* see above */
	struct dentry *dir;
	struct rdma_cmx_query *query;
	bool cancel_inside;
	unsigned int calls;
	struct completion done;
	bool gids;
	bool why;
	struct rdma_cmx_result *res;
	char text[CONSUMER_TEXT];	/* instead of res, if not empty */
} consumer;

static void consumer_done(struct rdma_cmx_query *query,
			  struct rdma_cmx_result *res, void *context)
{
	/* The API guarantees that the query is known by now. */
	WARN_ON(consumer.query != query);
	if (consumer.cancel_inside && rdma_cmx_query_cancel(query))
		WARN_ON(1);
	consumer.calls++;
	consumer.res = res;
	complete(&consumer.done);
}

static void consumer_reset(void)
{
	if (consumer.query) {
		rdma_cmx_query_cancel(consumer.query);
		rdma_cmx_query_put(consumer.query);
		consumer.query = NULL;
	}
	rdma_cmx_result_put(consumer.res);
	consumer.res = NULL;
	consumer.calls = 0;
	consumer.text[0] = 0;
	reinit_completion(&consumer.done);
}

/* Time of a response that is available without a wait */
static void consumer_time(const struct rdma_cmx_query_attr *attr)
{
	u64 start, took, sum = 0, least = U64_MAX;
	struct rdma_cmx_result *res;
	int i, ret = 0;

	for (i = 0; i < 1000 && !ret; i++) {
		start = ktime_get_ns();
		res = rdma_cmx_resolve(attr);
		took = ktime_get_ns() - start;
		sum += took;
		least = min(least, took);
		ret = PTR_ERR_OR_ZERO(res);
		rdma_cmx_result_put(res);
		cond_resched();
	}
	snprintf(consumer.text, sizeof(consumer.text),
		 "error=%d min_ns=%llu mean_ns=%llu\n", ret, least,
		 div_u64(sum, i));
}

static int consumer_query(char *verb, char *line)
{
	struct rdma_cmx_result **known;
	struct consumer_request q;
	int ret;

	ret = consumer_parse(line, &q);
	if (ret)
		return ret;
	consumer_reset();
	consumer.gids = q.gids;
	consumer.why = q.why;
	if (!strcmp(verb, "resolve")) {
		consumer.res = rdma_cmx_resolve(&q.attr);
		return PTR_ERR_OR_ZERO(consumer.res) == -ERESTARTSYS ?
		       -EINTR : 0;
	}
	if (!strcmp(verb, "time")) {
		consumer_time(&q.attr);
		return 0;
	}
	consumer.cancel_inside = q.cancel_inside;
	known = strcmp(verb, "known") ? NULL : &consumer.res;
	ret = rdma_cmx_query_start_for(&q.attr, &q.caller, consumer_done, NULL,
				       known, &consumer.query);
	if (!ret)
		return 0;
	snprintf(consumer.text, sizeof(consumer.text), "at once: error=%d\n",
		 ret);
	return 0;
}

static int consumer_wait(void)
{
	long ret;

	if (!consumer.query)
		return consumer.res ? 0 : -ENOENT;
	ret = wait_for_completion_interruptible_timeout(&consumer.done,
							90 * HZ);
	return ret > 0 ? 0 : ret ? -EINTR : -ETIMEDOUT;
}

static int consumer_cancel(void)
{
	bool cancelled;

	if (!consumer.query)
		return -ENOENT;
	cancelled = rdma_cmx_query_cancel(consumer.query);
	if (cancelled != !consumer.calls)
		return -EPROTO;
	if (cancelled)
		strscpy(consumer.text, "cancelled\n", sizeof(consumer.text));
	return 0;
}

static int consumer_give_error(char *line)
{
	struct cmx_given given = {};
	int error;

	if (!consumer.query)
		return -ENOENT;
	if (!line || kstrtoint(line, 10, &error))
		return -EINVAL;
	given.error = error;
	return rdma_cmx_query_give_names(consumer.query, &given);
}

static int consumer_stress_run(char *line)
{
	struct consumer_stress out;
	unsigned int count;
	char *n, *name;
	u32 timeout_ms = 0;
	int ret;

	n = strsep(&line, " ");
	name = strsep(&line, " ");
	if (!n || !name || kstrtouint(n, 10, &count) ||
	    (line && kstrtou32(line, 10, &timeout_ms)))
		return -EINVAL;
	consumer_reset();
	ret = consumer_stress(count, name, timeout_ms, &out);
	if (ret)
		return ret;
	snprintf(consumer.text, sizeof(consumer.text),
		 "started=%u refused=%u cancelled=%u answered=%u failed=%u wrong=%u\n",
		 out.started, out.refused, out.cancelled, out.answered,
		 out.failed, out.wrong);
	return 0;
}

static int consumer_crowd_run(char *line)
{
	unsigned int count;
	char *n, *name;

	n = strsep(&line, " ");
	if (!n || kstrtouint(n, 10, &count))
		return -EINVAL;
	name = strsep(&line, " ");
	if (count && (!name || !line))
		return -EINVAL;
	return consumer_crowd(count, name, line);
}

static int consumer_multicast(const char *verb, char *line)
{
	char *text = consumer.text;
	size_t size = sizeof(consumer.text);

	if (!strcmp(verb, "leave")) {
		consumer_leave();
		return 0;
	}
	if (!strcmp(verb, "events"))
		return consumer_member_events(text, size);
	if (!strcmp(verb, "history"))
		return consumer_history(text, size);
	if (!strcmp(verb, "end-next"))
		return consumer_end_next();
	if (!strcmp(verb, "end"))
		return consumer_end(text, size);
	if (!strcmp(verb, "again")) {
		consumer_reset();
		return consumer_join_again(text, size);
	}
	if (!line && strcmp(verb, "many-part"))
		return -EINVAL;
	if (!strcmp(verb, "share"))
		return consumer_share(line, text, size);
	if (!strcmp(verb, "part"))
		return consumer_part(line);
	consumer_reset();
	if (!strncmp(verb, "many", 4))
		return consumer_join_many(verb, line, text, size);
	if (!strcmp(verb, "join"))
		return consumer_join(line, text, size);
	if (!strcmp(verb, "more"))
		return consumer_join_more(line, text, size);
	if (!strcmp(verb, "receive"))
		return consumer_receive(line, text, size);
	return -EINVAL;
}

static int consumer_command(char *line)
{
	char *verb = strsep(&line, " ");

	if (!strcmp(verb, "resolve") || !strcmp(verb, "start") ||
	    !strcmp(verb, "known") || !strcmp(verb, "time"))
		return line ? consumer_query(verb, line) : -EINVAL;
	if (!strcmp(verb, "wait"))
		return consumer_wait();
	if (!strcmp(verb, "cancel"))
		return consumer_cancel();
	if (!strcmp(verb, "give-error"))
		return consumer_give_error(line);
	if (!strcmp(verb, "stress"))
		return consumer_stress_run(line);
	if (!strncmp(verb, "services", 8)) {
		consumer_reset();
		return consumer_sa(verb, line, consumer.text,
				   sizeof(consumer.text));
	}
	if (!strncmp(verb, "paths", 5)) {
		consumer.text[0] = 0;
		return consumer_paths(verb, line, consumer.text,
				      sizeof(consumer.text));
	}
	if (!strcmp(verb, "device") || !strcmp(verb, "netdev") ||
	    !strncmp(verb, "path", 4))
		return consumer_output(verb, line, consumer.res, consumer.text,
				       sizeof(consumer.text));
	if (!strncmp(verb, "advertise", 9) || !strcmp(verb, "withdraw")) {
		consumer_reset();
		return consumer_advertise(verb, line, consumer.text,
					  sizeof(consumer.text));
	}
	if (!strcmp(verb, "crowd"))
		return consumer_crowd_run(line);
	if (!strncmp(verb, "connect", 7))
		return consumer_connect(verb, line, consumer.text,
					sizeof(consumer.text));
	if (!strncmp(verb, "watch", 5) || !strcmp(verb, "unwatch")) {
		/* A query may be kept while a watch is observed. */
		if (strcmp(verb, "watched"))
			consumer_reset();
		return consumer_watch(verb, line, consumer.text,
				      sizeof(consumer.text));
	}
	if (!strcmp(verb, "slow-cancel")) {
		consumer_reset();
		return consumer_slow(line);
	}
	if (!strcmp(verb, "fail-add")) {
		consumer_reset();
		return consumer_fail_add(line);
	}
	if (!strncmp(verb, "listen", 6) || !strcmp(verb, "unlisten"))
		return consumer_listen(verb, line, consumer.text,
				       sizeof(consumer.text));
	return consumer_multicast(verb, line);
}

static ssize_t consumer_write(struct file *file, const char __user *buf,
			      size_t len, loff_t *pos)
{
	char *line;
	int ret;

	if (len >= CONSUMER_LINE)
		return -E2BIG;
	line = memdup_user_nul(buf, len);
	if (IS_ERR(line))
		return PTR_ERR(line);
	strim(line);
	mutex_lock(&consumer.lock);
	ret = consumer_command(line);
	mutex_unlock(&consumer.lock);
	kfree(line);
	return ret ?: len;
}

static const struct file_operations consumer_command_ops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = consumer_write,
	.llseek = noop_llseek,
};

static int consumer_show(struct seq_file *m, void *v)
{
	mutex_lock(&consumer.lock);
	if (consumer.text[0])
		seq_puts(m, consumer.text);
	else if (consumer.query && !completion_done(&consumer.done) &&
		 !consumer.calls)
		seq_puts(m, "pending\n");
	else if (consumer.res)
		consumer_print(m, consumer.res, consumer.gids,
			       consumer.why);
	mutex_unlock(&consumer.lock);
	return 0;
}

static int consumer_open(struct inode *inode, struct file *file)
{
	return single_open(file, consumer_show, NULL);
}

static const struct file_operations consumer_result_ops = {
	.owner = THIS_MODULE,
	.open = consumer_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = single_release,
};

static int __init consumer_init(void)
{
	mutex_init(&consumer.lock);
	init_completion(&consumer.done);
	consumer.dir = debugfs_create_dir("cmx_consumer", NULL);
	debugfs_create_file("command", 0200, consumer.dir, NULL,
			    &consumer_command_ops);
	debugfs_create_file("result", 0400, consumer.dir, NULL,
			    &consumer_result_ops);
	return 0;
}
module_init(consumer_init);

static void __exit consumer_exit(void)
{
	debugfs_remove_recursive(consumer.dir);
	mutex_lock(&consumer.lock);
	consumer_reset();
	consumer_crowd(0, NULL, NULL);
	consumer_sa_end();
	consumer_leave();
	consumer_withdraw_all();
	consumer_connect_end();
	consumer_unlisten();
	consumer_slow_end();
	consumer_output_end();
	consumer_unwatch();
	consumer_paths_end();
	mutex_unlock(&consumer.lock);
}
module_exit(consumer_exit);

MODULE_DESCRIPTION("In-kernel consumer of rdma_cmx for tests");
MODULE_LICENSE("Dual BSD/GPL");
