// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One multicast membership of an in-kernel id without a queue pair:
 *	join SOURCE GROUP FLAGS		bind, join, wait for the event
 *	leave				leave and destroy the id
 * SOURCE "-" leaves the id unbound. The event handler stores what came and
 * completes; the caller holds consumer.lock.
 */
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <net/net_namespace.h>

#include "consumer.h"

static struct {
	struct rdma_cm_id *id;
	union rdma_cmx_sockaddr group;
	struct completion done;
	int event;
	int status;
	u32 qp_num;
	bool context_is_ours;
} joined;

static int join_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	joined.event = event->event;
	joined.status = event->status;
	joined.qp_num = event->param.ud.qp_num;
	joined.context_is_ours = event->param.ud.private_data == &joined;
	complete(&joined.done);
	return 0;
}

static int join_start(const char *source, u32 flags)
{
	struct rdma_cmx_join_attr attr = {
		.addr = &joined.group,
		.join_flags = flags,
	};
	union rdma_cmx_sockaddr src;
	int ret;

	if (strcmp(source, "-")) {
		ret = consumer_parse_addr(source, &src);
		if (!ret)
			ret = rdma_bind_addr(joined.id, &src.sa);
		if (ret)
			return ret;
	}
	ret = rdma_cmx_join(joined.id, &attr, &joined);
	if (ret)
		return ret;
	return wait_for_completion_timeout(&joined.done, 10 * HZ) ? 0 :
								   -ETIMEDOUT;
}

void consumer_leave(void)
{
	if (!joined.id)
		return;
	if (joined.event == RDMA_CM_EVENT_MULTICAST_JOIN)
		rdma_cmx_leave(joined.id, &joined.group);
	rdma_destroy_id(joined.id);
	joined.id = NULL;
}

int consumer_join(char *line, char *text, size_t size)
{
	char *source, *group, *number;
	struct rdma_cm_id *id;
	u32 flags;
	int ret;

	source = strsep(&line, " ");
	group = strsep(&line, " ");
	number = strsep(&line, " ");
	if (!source || !group || !number || kstrtou32(number, 0, &flags))
		return -EINVAL;
	consumer_leave();
	ret = consumer_parse_addr(group, &joined.group);
	if (ret)
		return ret;
	init_completion(&joined.done);
	joined.event = -1;
	id = rdma_create_id(&init_net, join_event, NULL, RDMA_PS_UDP,
			    IB_QPT_UD);
	if (IS_ERR(id))
		return PTR_ERR(id);
	joined.id = id;
	ret = join_start(source, flags);
	if (ret) {
		consumer_leave();
		snprintf(text, size, "at once: error=%d\n", ret);
		return 0;
	}
	snprintf(text, size, "event=%s status=%d qp_num=0x%x context=%s\n",
		 rdma_event_msg(joined.event), joined.status, joined.qp_num,
		 joined.context_is_ours ? "ours" : "lost");
	return 0;
}
