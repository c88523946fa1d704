// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Multicast memberships of an in-kernel id:
 *	join SOURCE GROUP FLAGS [qp] [persistent] [lost] [qkey=N] [port=N]
 *			bind, join, wait for the event; qp: with a queue pair
 *			that is ready to receive; lost: report a loss, too
 *	more GROUP FLAGS [persistent] [lost] [qkey=N] [port=N]
 *			another membership of the same id, likewise
 *	receive N	wait for so many datagrams, 0: look for one at once
 *	again		wait for another event
 *	events		how many each membership has had
 *	part GROUP	end the newest membership of this group, keep the id
 *	share THREADS GROUP	threads join and leave it with the same id
 *	many GROUP…	join many with the id, wait for the end of all
 *	many-leave GROUP…	likewise, but leave all at once
 *	many-part		end those of the last "many", keep the id
 *	history		all events that came since the last call
 *	end-next	the handler destroys the id at the next event
 *	end		wait for that
 *	leave		leave all and destroy the id
 * SOURCE "-" leaves the id unbound. The event handler stores what came and
 * completes; the caller holds consumer.lock.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "consumer.h"

#define JOIN_RECEIVES	32
#define JOIN_BYTES	2048
#define JOIN_MEMBERS	64

struct join_member {
	struct rdma_cmx_member *member;	/* NULL: ended */
	union rdma_cmx_sockaddr group;
	unsigned int events;
};

static struct {
	struct rdma_cm_id *id;
	struct completion done;
	int event;
	int status;
	u32 qp_num;
	u32 qkey;
	bool param;
	bool context_is_ours;
	struct join_member members[JOIN_MEMBERS];
	unsigned int count;
	struct rdma_cmx_join_one many[JOIN_MEMBERS];
	union rdma_cmx_sockaddr many_addr[JOIN_MEMBERS];
	unsigned int many_done;
	struct completion all_done;
	char history[64];
	bool end;
	struct completion ended;

	struct ib_pd *pd;
	struct ib_cq *cq;
	void *buffer;
	u64 dma;
} joined;

static int join_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN ||
	    event->event == RDMA_CM_EVENT_MULTICAST_ERROR)
		rdma_cmx_group_event(id, event);
	if (!joined.end)
		return 0;
	joined.end = false;
	complete(&joined.ended);
	return rdma_cmx_handler_end(id, -ESHUTDOWN);
}

/* L: lost, J: joined, E: error */
static void join_history(enum rdma_cm_event_type event)
{
	size_t len = strlen(joined.history);
	char c = event == RDMA_CM_EVENT_MULTICAST_JOIN ? 'J' :
		 event == RDMA_CMX_EVENT_MULTICAST_LOST ? 'L' : 'E';

	if (len < sizeof(joined.history) - 1)
		joined.history[len] = c;
}

static void join_member_event(struct rdma_cmx_member *member,
			      struct rdma_cm_event *event,
			      const struct rdma_cmx_mc_param *param,
			      void *context)
{
	struct join_member *m = context;

	join_history(event->event);
	if (event->event == RDMA_CMX_EVENT_MULTICAST_LOST) {
		/* A loss has a status, and no parameters. */
		if (!event->status || param)
			join_history(RDMA_CM_EVENT_MULTICAST_ERROR);
		return;
	}
	joined.event = event->event;
	joined.status = event->status;
	joined.qp_num = event->param.ud.qp_num;
	joined.qkey = event->param.ud.qkey;
	joined.param = param && param->mask & RDMA_CMX_MC_QKEY &&
		       param->qkey == event->param.ud.qkey;
	joined.context_is_ours = m >= joined.members &&
				 m < joined.members + JOIN_MEMBERS;
	m->events++;
	complete(&joined.done);
}

/* All receives share the buffer, which is never read. */
static int join_post(void)
{
	struct ib_sge sge = {
		.addr = joined.dma,
		.length = JOIN_BYTES,
		.lkey = joined.pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(joined.id->qp, &wr, NULL);
}

static int join_qp(void)
{
	struct ib_qp_init_attr attr = {
		.qp_type = IB_QPT_UD,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = {
			.max_send_wr = 1,
			.max_recv_wr = JOIN_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1,
		},
	};
	struct ib_device *dev = joined.id->device;
	int i, ret;

	joined.pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(joined.pd)) {
		ret = PTR_ERR(joined.pd);
		joined.pd = NULL;
		return ret;
	}
	joined.cq = ib_alloc_cq(dev, NULL, 2 * JOIN_RECEIVES, 0,
				IB_POLL_DIRECT);
	if (IS_ERR(joined.cq)) {
		ret = PTR_ERR(joined.cq);
		joined.cq = NULL;
		return ret;
	}
	attr.send_cq = joined.cq;
	attr.recv_cq = joined.cq;
	ret = rdma_create_qp(joined.id, joined.pd, &attr);
	if (ret)
		return ret;
	joined.buffer = kmalloc(JOIN_BYTES, GFP_KERNEL);
	if (!joined.buffer)
		return -ENOMEM;
	joined.dma = ib_dma_map_single(dev, joined.buffer, JOIN_BYTES,
				       DMA_FROM_DEVICE);
	if (ib_dma_mapping_error(dev, joined.dma)) {
		kfree(joined.buffer);
		joined.buffer = NULL;
		return -EIO;
	}
	for (i = 0; i < JOIN_RECEIVES && !ret; i++)
		ret = join_post();
	return ret;
}

static void join_qp_free(void)
{
	if (joined.id->qp)
		rdma_destroy_qp(joined.id);
	if (joined.buffer) {
		ib_dma_unmap_single(joined.id->device, joined.dma, JOIN_BYTES,
				    DMA_FROM_DEVICE);
		kfree(joined.buffer);
		joined.buffer = NULL;
	}
	if (joined.cq)
		ib_free_cq(joined.cq);
	joined.cq = NULL;
	if (joined.pd)
		ib_dealloc_pd(joined.pd);
	joined.pd = NULL;
}

static void join_forget(void)
{
	joined.id = NULL;
	joined.end = false;
	memset(joined.members, 0, sizeof(joined.members));
	memset(joined.many, 0, sizeof(joined.many));
	memset(joined.history, 0, sizeof(joined.history));
	joined.count = 0;
}

void consumer_leave(void)
{
	if (!joined.id)
		return;
	rdma_cmx_leave_all(joined.id);
	join_qp_free();
	rdma_destroy_id(joined.id);
	join_forget();
}

static int join_group(const union rdma_cmx_sockaddr *group, u32 flags,
		      char *words)
{
	union rdma_cmx_sockaddr addr = *group;
	struct rdma_cmx_join_attr attr = {
		.addr = &addr,
		.join_flags = flags,
	};
	struct join_member *m = &joined.members[joined.count];
	struct rdma_cmx_member *member;
	char *word;
	u16 port;

	if (joined.count == JOIN_MEMBERS)
		return -ENOSPC;
	while ((word = strsep(&words, " "))) {
		if (!strcmp(word, "persistent")) {
			attr.flags |= RDMA_CMX_JOIN_PERSISTENT;
		} else if (!strcmp(word, "lost")) {
			attr.report_lost = true;
		} else if (!strncmp(word, "qkey=", 5)) {
			attr.param.mask |= RDMA_CMX_MC_QKEY;
			if (kstrtou32(word + 5, 0, &attr.param.qkey))
				return -EINVAL;
		} else if (!strncmp(word, "port=", 5)) {
			/* Of IPv6, too: at the same place */
			if (kstrtou16(word + 5, 0, &port))
				return -EINVAL;
			addr.in.sin_port = htons(port);
		} else if (strcmp(word, "qp")) {
			return -EINVAL;
		}
	}
	reinit_completion(&joined.done);
	joined.event = -1;
	m->group = *group;
	m->events = 0;
	member = rdma_cmx_join(joined.id, &attr, join_member_event, m);
	if (IS_ERR(member))
		return PTR_ERR(member);
	m->member = member;
	joined.count++;
	return 0;
}

static int join_start(const char *source, const union rdma_cmx_sockaddr *group,
		      u32 flags, char *words)
{
	union rdma_cmx_sockaddr src;
	int ret;

	if (strcmp(source, "-")) {
		ret = consumer_parse_addr(source, &src);
		if (!ret)
			ret = rdma_bind_addr(joined.id, &src.sa);
		if (ret)
			return ret;
	}
	if (words && !strncmp(words, "qp", 2)) {
		ret = join_qp();
		if (ret)
			return ret;
	}
	return join_group(group, flags, words);
}

static void join_wait(int ret, char *text, size_t size)
{
	if (!ret && !wait_for_completion_timeout(&joined.done, 120 * HZ))
		ret = -ETIMEDOUT;
	if (ret) {
		snprintf(text, size, "at once: error=%d\n", ret);
		return;
	}
	/* A join has parameters, an error has none. */
	if (joined.param == !!joined.status)
		joined.context_is_ours = false;
	snprintf(text, size, "event=%s status=%d qp_num=0x%x context=%s\n",
		 rdma_event_msg(joined.event), joined.status, joined.qp_num,
		 joined.context_is_ours ? "ours" : "lost");
}

static int join_words(char **line, char **source,
		      union rdma_cmx_sockaddr *group, u32 *flags)
{
	char *text, *number;

	if (source) {
		*source = strsep(line, " ");
		if (!*source)
			return -EINVAL;
	}
	text = strsep(line, " ");
	number = strsep(line, " ");
	if (!text || !number || kstrtou32(number, 0, flags))
		return -EINVAL;
	return consumer_parse_addr(text, group);
}

int consumer_join(char *line, char *text, size_t size)
{
	union rdma_cmx_sockaddr group;
	struct rdma_cm_id *id;
	char *source;
	u32 flags;
	int ret;

	ret = join_words(&line, &source, &group, &flags);
	if (ret)
		return ret;
	consumer_leave();
	init_completion(&joined.done);
	id = rdma_create_id(&init_net, join_event, NULL, RDMA_PS_UDP,
			    IB_QPT_UD);
	if (IS_ERR(id))
		return PTR_ERR(id);
	joined.id = id;
	ret = join_start(source, &group, flags, line);
	join_wait(ret, text, size);
	if (ret)
		consumer_leave();
	return 0;
}

int consumer_join_more(char *line, char *text, size_t size)
{
	union rdma_cmx_sockaddr group;
	u32 flags;
	int ret;

	if (!joined.id)
		return -ENOENT;
	ret = join_words(&line, NULL, &group, &flags);
	if (!ret)
		join_wait(join_group(&group, flags, line), text, size);
	return ret;
}

/* Waits for the next join or end of a membership. */
int consumer_join_again(char *text, size_t size)
{
	if (!joined.id)
		return -ENOENT;
	join_wait(0, text, size);
	reinit_completion(&joined.done);
	return 0;
}

static void join_all_done(struct rdma_cmx_join_one *joins, u32 count,
			  void *context)
{
	if (joins != joined.many || context != &joined)
		joined.many_done += 100;
	joined.many_done++;
	complete(&joined.all_done);
}

/* The callback runs once, after all have ended. */
static int join_many(char *line, bool leave, char *text, size_t size)
{
	unsigned int i, count = 0;
	char *word;
	int ret, len;

	if (!joined.id)
		return -ENOENT;
	memset(joined.many, 0, sizeof(joined.many));
	joined.many_done = 0;
	init_completion(&joined.all_done);
	while ((word = strsep(&line, " ")) && count < JOIN_MEMBERS) {
		ret = consumer_parse_addr(word, &joined.many_addr[count]);
		if (ret)
			return ret;
		joined.many[count].attr.addr = &joined.many_addr[count];
		joined.many[count].status = 1;
		count++;
	}
	ret = rdma_cmx_join_many(joined.id, joined.many, count, join_all_done,
				 &joined);
	if (!ret && leave)
		rdma_cmx_leave_all(joined.id);
	else if (!ret)
		wait_for_completion_timeout(&joined.all_done, 60 * HZ);
	len = scnprintf(text, size, "error=%d done=%u", ret, joined.many_done);
	for (i = 0; i < count; i++)
		len += scnprintf(text + len, size - len, " %d%s",
				 joined.many[i].status,
				 joined.many[i].member ? "" : "-");
	scnprintf(text + len, size - len, "\n");
	if (leave)
		memset(joined.many, 0, sizeof(joined.many));
	return 0;
}

int consumer_join_many(const char *verb, char *line, char *text, size_t size)
{
	unsigned int i;

	for (i = 0; !strcmp(verb, "many-part") && i < JOIN_MEMBERS; i++) {
		if (joined.many[i].member)
			rdma_cmx_leave(joined.many[i].member);
		joined.many[i].member = NULL;
	}
	if (!line)
		return 0;
	return join_many(line, !strcmp(verb, "many-leave"), text, size);
}

int consumer_history(char *text, size_t size)
{
	snprintf(text, size, "%s\n", joined.history);
	memset(joined.history, 0, sizeof(joined.history));
	return 0;
}

int consumer_end_next(void)
{
	if (!joined.id)
		return -ENOENT;
	init_completion(&joined.ended);
	joined.end = true;
	return 0;
}

int consumer_end(char *text, size_t size)
{
	if (!joined.id)
		return -ENOENT;
	if (!wait_for_completion_timeout(&joined.ended, 60 * HZ)) {
		snprintf(text, size, "no event\n");
		return 0;
	}
	join_forget();
	snprintf(text, size, "ended\n");
	return 0;
}

int consumer_part(const char *group_text)
{
	union rdma_cmx_sockaddr group;
	struct join_member *m;
	int i, ret;

	ret = consumer_parse_addr(group_text, &group);
	if (ret || !joined.id)
		return ret ?: -ENOENT;
	for (i = joined.count; i-- > 0;) {
		m = &joined.members[i];
		if (!m->member || memcmp(&m->group, &group, sizeof(group)))
			continue;
		rdma_cmx_leave(m->member);
		m->member = NULL;
		/* The slot is free again, so that a test can repeat this. */
		if (i + 1 == joined.count)
			joined.count--;
		return 0;
	}
	return -ENOENT;
}

int consumer_member_events(char *text, size_t size)
{
	unsigned int i;
	int len = 0;

	for (i = 0; i < joined.count; i++)
		len += scnprintf(text + len, size - len, "%u ",
				 joined.members[i].events);
	scnprintf(text + len, size - len, "of %u\n", joined.count);
	return 0;
}

int consumer_share(char *line, char *text, size_t size)
{
	union rdma_cmx_sockaddr group;
	char *number = strsep(&line, " ");
	unsigned int threads;
	int ret;

	if (!joined.id || !line || kstrtouint(number, 0, &threads))
		return -EINVAL;
	ret = consumer_parse_addr(line, &group);
	if (!ret)
		ret = consumer_share_run(joined.id, threads, &group, text,
					 size);
	return ret;
}

int consumer_receive(const char *number, char *text, size_t size)
{
	unsigned long end = jiffies + 30 * HZ;
	unsigned int count, got = 0;
	struct ib_wc wc;

	if (!joined.id || !joined.id->qp || kstrtouint(number, 0, &count))
		return -EINVAL;
	do {
		while (ib_poll_cq(joined.cq, 1, &wc) > 0) {
			if (wc.status)
				return -EIO;
			got++;
			if (join_post())
				return -EIO;
		}
		if (got < count)
			msleep(20);
	} while (got < count && time_before(jiffies, end));
	if (count)
		snprintf(text, size, "received=%s\n", got >= count ? "enough" :
								     "less");
	else
		snprintf(text, size, "received=%s\n", got ? "some" : "none");
	return 0;
}
