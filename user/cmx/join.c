// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx join: the memberships of one id, from the bind to the leave. It waits in
 * one poll for events of the id, datagrams and signals.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "join.h"

#define RESOLVE_MS	5000
#define JOIN_MS		30000
#define SEND_PAUSE_MS	100

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static const char *join_role(const struct join *join)
{
	return join->send_only ? "send-only full member" : "full member";
}

/*
 * The next event of the id, which the caller acknowledges. NULL: none arrived
 * in time, or the user interrupts, which sets @interrupted.
 */
static struct rdma_cm_event *event_wait(struct join *join, int ms,
					bool *interrupted)
{
	struct pollfd wait[] = {
		{ .fd = join->channel->fd, .events = POLLIN },
		{ .fd = join->signals, .events = POLLIN },
	};
	struct rdma_cm_event *event;

	*interrupted = false;
	if (poll(wait, 2, ms) <= 0)
		return NULL;
	if (wait[1].revents) {
		*interrupted = true;
		return NULL;
	}
	return rdma_get_cm_event(join->channel, &event) ? NULL : event;
}

static int bind_failure(const struct join *join, int error)
{
	switch (error) {
	case ENETUNREACH:
	case EHOSTUNREACH:
	case ENODEV:
	case EADDRNOTAVAIL:
		if (join->source.ss_family)
			return failure("%s: no RDMA device has the source "
				       "address: %s", join->text,
				       strerror(error));
		return failure("%s: no route to the group leads to an RDMA "
			       "device (%s): name one with --source or --dev",
			       join->text, strerror(error));
	}
	return failure("%s: %s", join->text, strerror(error));
}

/* Bind by the source address if there is one, else by the routing table. */
static int join_bind(struct join *join)
{
	struct rdma_cm_event *event;
	bool interrupted;
	int status;

	if (join->source.ss_family) {
		if (rdma_bind_addr(join->id, (struct sockaddr *)&join->source))
			return bind_failure(join, errno);
		return join->id->verbs ? CMX_OK : bind_failure(join, ENODEV);
	}
	if (rdma_resolve_addr(join->id, NULL,
			      (struct sockaddr *)&join->groups[0].addr,
			      RESOLVE_MS))
		return bind_failure(join, errno);
	event = event_wait(join, RESOLVE_MS + 5000, &interrupted);
	if (!event)
		return interrupted ? CMX_FAILED :
		       failure("%s: the kernel has reported no event", join->text);
	status = event->event == RDMA_CM_EVENT_ADDR_RESOLVED ? 0 :
		 event->status ? -event->status : ENODEV;
	rdma_ack_cm_event(event);
	return status ? bind_failure(join, status) : CMX_OK;
}

/* The present group, as the event reports it. */
static void group_print_json(struct json *json, const struct rdmacmx_group *g)
{
	if (g->mask & RDMACMX_GROUP_PKEY)
		json_number(json, "pkey", g->pkey);
	if (g->mask & RDMACMX_GROUP_MTU)
		json_number(json, "mtu", 128 << g->mtu);
	if (g->mask & RDMACMX_GROUP_RATE)
		json_number(json, "rate", g->rate);
	if (g->mask & RDMACMX_GROUP_SL)
		json_number(json, "sl", g->sl);
	if (g->mask & RDMACMX_GROUP_TRAFFIC_CLASS)
		json_number(json, "traffic_class", g->traffic_class);
	if (g->mask & RDMACMX_GROUP_FLOW_LABEL)
		json_number(json, "flow_label", g->flow_label);
	if (g->mask & RDMACMX_GROUP_HOP_LIMIT)
		json_number(json, "hop_limit", g->hop_limit);
}

static void group_print(const struct rdmacmx_group *g)
{
	if (g->mask & RDMACMX_GROUP_PKEY)
		printf("  P_Key   0x%04x\n", g->pkey);
	if (g->mask & RDMACMX_GROUP_MTU)
		printf("  MTU     %u\n", 128 << g->mtu);
	if (g->mask & RDMACMX_GROUP_SL)
		printf("  SL      %u\n", g->sl);
	if (g->mask & RDMACMX_GROUP_HOP_LIMIT)
		printf("  hops    %u\n", g->hop_limit);
}

static void joined_print(const struct join *join, const struct group *group,
			 const struct rdma_cm_event *event, bool again)
{
	const struct rdma_ud_param *ud = &event->param.ud;
	char source[ADDR_TEXT_MAX], mgid[INET6_ADDRSTRLEN];
	char name[CLEAN_MAX], text[CLEAN_MAX];
	const char *device = ibv_get_device_name(join->id->verbs->device);
	struct json json = { .file = stdout };
	struct rdmacmx_group like = {};

	rdmacmx_event_group(event, &like);
	addr_text(rdma_get_local_addr(join->id), source);
	inet_ntop(AF_INET6, &ud->ah_attr.grh.dgid, mgid, sizeof(mgid));
	if (join->json) {
		json_open(&json, NULL, '{');
		json_text(&json, "event", again ? "rejoined" : "joined");
		json_text(&json, "group", group->text);
		json_text(&json, "role", join_role(join));
		json_text(&json, "device", device);
		json_number(&json, "port", join->id->port_num);
		json_text(&json, "source", source);
		json_text(&json, "mgid", mgid);
		json_number(&json, "mlid", ud->ah_attr.dlid);
		json_number(&json, "qp_num", ud->qp_num);
		json_number(&json, "qkey", ud->qkey);
		group_print_json(&json, &like);
		json_close(&json, '}');
		putchar('\n');
	} else {
		printf("joined %s %sas %s\n"
		       "  device  %s/%u\n"
		       "  source  %s\n"
		       "  MGID    %s\n"
		       "  MLID    0x%04x\n"
		       "  QP      0x%06x\n"
		       "  Q_Key   0x%08x\n",
		       clean(group->text, text), again ? "again " : "",
		       join_role(join), clean(device, name), join->id->port_num, source, mgid,
		       ud->ah_attr.dlid, ud->qp_num, ud->qkey);
		group_print(&like);
	}
	fflush(stdout);
}

static int join_failure(const struct join *join, const char *text, int error)
{
	switch (error) {
	case EOPNOTSUPP:
		return failure("%s: the device, the subnet manager or this "
			       "kernel cannot join it as %s%s", text,
			       join_role(join), join->wanted.mask ?
			       " with such parameters" : "");
	case EAFNOSUPPORT:
		return failure("%s: the source must be an IPv6 address", text);
	case EINVAL:
		return failure("%s: refused: it is not a multicast address, "
			       "the source is not bound to a device, or the "
			       "group has other parameters", text);
	}
	return failure("%s: cannot join as %s: %s", text, join_role(join),
		       strerror(error));
}

/*
 * A join that fails, or a membership that ends, makes the command fail. A rejoin
 * may be reported before the join of another group.
 */
static int event_process(struct join *join, const struct rdma_cm_event *event)
{
	/* Of an event of a membership */
	struct group *group = (struct group *)event->param.ud.private_data;

	switch (event->event) {
	case RDMA_CM_EVENT_MULTICAST_JOIN:
		joined_print(join, group, event, group->joined);
		join->joined += !group->joined;
		group->joined = true;
		return join->count && join->send_only ?
		       traffic_aim(&join->traffic, &event->param.ud) : CMX_OK;
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		if (!group->joined)
			return join_failure(join, group->text,
					    event->status < 0 ?
					    -event->status : EIO);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		break;
	default:
		return CMX_OK;
	}
	return failure("%s: the membership is lost: %s", join->text,
		       rdma_event_str(event->event));
}

/* The time starts again with each group that is joined. */
static int joins_wait(struct join *join)
{
	long long end = now_ms() + JOIN_MS, left;
	struct rdma_cm_event *event;
	bool interrupted;
	int ret, joined;

	while (join->joined < join->ngroups) {
		left = end - now_ms();
		event = event_wait(join, left > 0 ? left : 0, &interrupted);
		if (!event)
			return interrupted ? CMX_FAILED :
			       failure("%s: not joined within %d s",
				       join->text, JOIN_MS / 1000);
		joined = join->joined;
		ret = event_process(join, event);
		rdma_ack_cm_event(event);
		if (ret)
			return ret;
		if (join->joined > joined)
			end = now_ms() + JOIN_MS;
	}
	return CMX_OK;
}

/* Joins all in one call. The first failure ends the command. */
static int join_groups(struct join *join)
{
	struct rdmacmx_join_attr *attrs = join->attrs;
	int i;

	for (i = 0; i < join->ngroups; i++) {
		attrs[i].addr = (struct sockaddr *)&join->groups[i].addr;
		attrs[i].join_flags = join->send_only ?
				      RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER :
				      RDMA_MC_JOIN_FLAG_FULLMEMBER;
		attrs[i].flags = join->persistent ? RDMACMX_JOIN_PERSISTENT : 0;
		attrs[i].group = join->wanted;
		attrs[i].context = &join->groups[i];
		join->groups[i].left = true;
	}
	if (rdmacmx_join_many(join->id, attrs, join->ngroups) < 0)
		return join_failure(join, join->text, errno);
	for (i = 0; i < join->ngroups; i++)
		join->groups[i].left = attrs[i].error;
	for (i = 0; i < join->ngroups; i++)
		if (attrs[i].error)
			return join_failure(join, join->groups[i].text,
					    attrs[i].error);
	return joins_wait(join);
}

static void message_print(const struct join *join,
			  const struct message *message)
{
	struct json json = { .file = stdout };

	if (join->json) {
		json_open(&json, NULL, '{');
		json_text(&json, "event", "received");
		json_number(&json, "number", join->done);
		json_text(&json, "from", message->from[0] ? message->from :
							    NULL);
		json_number(&json, "bytes", message->bytes);
		json_text(&json, "text", message->text);
		json_close(&json, '}');
		putchar('\n');
	} else {
		printf("received %lu: %zu bytes from %s: %s\n", join->done,
		       message->bytes,
		       message->from[0] ? message->from : "?", message->text);
	}
	fflush(stdout);
}

static int send_one(struct join *join)
{
	struct json json = { .file = stdout };
	char host[HOST_NAME_MAX + 1] = "", text[128], shown[CLEAN_MAX];

	gethostname(host, sizeof(host) - 1);
	join->done++;
	snprintf(text, sizeof(text), "cmx %s %lu of %lu", host, join->done,
		 join->count);
	if (traffic_send(&join->traffic, text))
		return CMX_FAILED;
	if (join->json) {
		json_open(&json, NULL, '{');
		json_text(&json, "event", "sent");
		json_number(&json, "number", join->done);
		json_number(&json, "bytes", strlen(text));
		json_close(&json, '}');
		putchar('\n');
	} else {
		printf("sent %lu: %s\n", join->done, clean(text, shown));
	}
	fflush(stdout);
	return CMX_OK;
}

static int event_later(struct join *join)
{
	struct rdma_cm_event *event;
	int ret;

	if (rdma_get_cm_event(join->channel, &event))
		return errno == EAGAIN ? CMX_OK :
		       failure("%s: %s", join->text, strerror(errno));
	ret = event_process(join, event);
	rdma_ack_cm_event(event);
	return ret;
}

static int join_stay(struct join *join)
{
	struct pollfd wait[] = {
		{ .fd = join->channel->fd, .events = POLLIN },
		{ .fd = join->signals, .events = POLLIN },
		{ .fd = -1, .events = POLLIN },
	};
	const bool send = join->count && join->send_only;
	struct message message;
	int ret;

	if (join->count && !send)
		wait[2].fd = join->traffic.channel->fd;
	while (!join->once && (!join->count || join->done < join->count)) {
		if (send && send_one(join))
			return CMX_FAILED;
		if (send && join->done == join->count)
			break;
		if (poll(wait, 3, send ? SEND_PAUSE_MS : -1) < 0 &&
		    errno != EINTR)
			return failure("poll: %s", strerror(errno));
		if (wait[1].revents)
			/* Interrupted before all messages of --count */
			return join->count ? CMX_FAILED : CMX_OK;
		if (wait[0].revents && event_later(join))
			return CMX_FAILED;
		while (wait[2].revents && join->done < join->count) {
			ret = traffic_take(&join->traffic, &message);
			if (ret < 0)
				return CMX_FAILED;
			if (!ret)
				break;
			join->done++;
			message_print(join, &message);
		}
	}
	return CMX_OK;
}

static int join_run(struct join *join)
{
	int ret;

	join->channel = rdma_create_event_channel();
	if (!join->channel)
		return failure("event channel: %s", strerror(errno));
	if (rdma_create_id(join->channel, &join->id, NULL, RDMA_PS_UDP))
		return failure("communication identifier: %s",
			       strerror(errno));
	ret = join_bind(join);
	if (!ret && join->count) {
		ret = traffic_open(&join->traffic, join->id);
		if (!ret)
			fcntl(join->traffic.channel->fd, F_SETFL, O_NONBLOCK);
	}
	if (!ret)
		ret = join_groups(join);
	if (!ret)
		ret = join_stay(join);
	return ret;
}

static int join_all(struct join *join)
{
	sigset_t set;
	int i, ret;

	if (device_check())
		return CMX_FAILED;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	join->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (join->signals < 0)
		return failure("signalfd: %s", strerror(errno));
	ret = join_run(join);
	for (i = 0; i < join->ngroups; i++)
		if (!join->groups[i].left)
			rdma_leave_multicast(join->id,
					     (struct sockaddr *)
					     &join->groups[i].addr);
	traffic_close(&join->traffic);
	if (join->id)
		rdma_destroy_id(join->id);
	if (join->channel)
		rdma_destroy_event_channel(join->channel);
	close(join->signals);
	return ret;
}

int cmd_join(int argc, char **argv)
{
	struct join join = {};
	int ret;

	ret = join_parse(&join, argc, argv);
	if (!ret)
		ret = join_all(&join);
	free(join.groups);
	free(join.attrs);
	return ret;
}
