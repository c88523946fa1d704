// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * cmx join: one membership, from the bind to the leave. It waits in poll for
 * events of the id, datagrams and signals at once.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "traffic.h"

#define RESOLVE_MS	5000
#define JOIN_MS		30000
#define SEND_PAUSE_MS	100

struct join {
	const char *text;	/* the group as given */
	struct sockaddr_storage group;
	struct sockaddr_storage source;	/* family 0: by the routing table */
	unsigned long count;
	unsigned long done;
	bool send_only;
	bool once;
	bool json;

	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct traffic traffic;
	bool joined;
	int signals;
};

static const char *join_role(const struct join *join)
{
	return join->send_only ? "send-only full member" : "full member";
}

/*
 * The next event of the id, to be acknowledged by the caller. NULL: none
 * came in time, or the user interrupts; @interrupted tells which.
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
	if (rdma_resolve_addr(join->id, NULL, (struct sockaddr *)&join->group,
			      RESOLVE_MS))
		return bind_failure(join, errno);
	event = event_wait(join, RESOLVE_MS + 5000, &interrupted);
	if (!event)
		return interrupted ? CMX_FAILED :
		       failure("%s: no answer from the kernel", join->text);
	status = event->event == RDMA_CM_EVENT_ADDR_RESOLVED ? 0 :
		 event->status ? -event->status : ENODEV;
	rdma_ack_cm_event(event);
	return status ? bind_failure(join, status) : CMX_OK;
}

static void joined_print(const struct join *join,
			 const struct rdma_ud_param *ud)
{
	char source[ADDR_TEXT_MAX], mgid[INET6_ADDRSTRLEN];
	const char *device = ibv_get_device_name(join->id->verbs->device);
	struct json json = { .file = stdout };

	addr_text(rdma_get_local_addr(join->id), source);
	inet_ntop(AF_INET6, &ud->ah_attr.grh.dgid, mgid, sizeof(mgid));
	if (join->json) {
		json_open(&json, NULL, '{');
		json_text(&json, "event", "joined");
		json_text(&json, "group", join->text);
		json_text(&json, "role", join_role(join));
		json_text(&json, "device", device);
		json_number(&json, "port", join->id->port_num);
		json_text(&json, "source", source);
		json_text(&json, "mgid", mgid);
		json_number(&json, "mlid", ud->ah_attr.dlid);
		json_number(&json, "qp_num", ud->qp_num);
		json_number(&json, "qkey", ud->qkey);
		json_close(&json, '}');
		putchar('\n');
	} else {
		printf("joined %s as %s\n"
		       "  device  %s/%u\n"
		       "  source  %s\n"
		       "  MGID    %s\n"
		       "  MLID    0x%04x\n"
		       "  QP      0x%06x\n"
		       "  Q_Key   0x%08x\n",
		       join->text, join_role(join), device, join->id->port_num,
		       source, mgid, ud->ah_attr.dlid, ud->qp_num, ud->qkey);
	}
	fflush(stdout);
}

static int join_failure(const struct join *join, int error)
{
	switch (error) {
	case EOPNOTSUPP:
		return failure("%s: the device or this kernel cannot join it "
			       "as %s", join->text, join_role(join));
	case EINVAL:
		return failure("%s: refused: it is not a multicast address, or "
			       "the source is not bound to a device",
			       join->text);
	}
	return failure("%s: cannot join as %s: %s", join->text,
		       join_role(join), strerror(error));
}

static int join_group(struct join *join)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = join->send_only ?
			      RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER :
			      RDMA_MC_JOIN_FLAG_FULLMEMBER,
		.addr = (struct sockaddr *)&join->group,
	};
	struct rdma_cm_event *event;
	bool interrupted;
	int ret = CMX_OK;

	if (rdma_join_multicast_ex(join->id, &attr, join))
		return join_failure(join, errno);
	join->joined = true;
	event = event_wait(join, JOIN_MS, &interrupted);
	if (!event)
		return interrupted ? CMX_FAILED :
		       failure("%s: not joined within %d s", join->text,
			       JOIN_MS / 1000);
	if (event->event == RDMA_CM_EVENT_MULTICAST_JOIN && !event->status) {
		joined_print(join, &event->param.ud);
		if (join->count)
			ret = traffic_aim(&join->traffic, &event->param.ud);
	} else {
		ret = join_failure(join, event->status < 0 ? -event->status :
							     EIO);
	}
	rdma_ack_cm_event(event);
	return ret;
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
	char host[HOST_NAME_MAX + 1] = "", text[128];

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
		printf("sent %lu: %s\n", join->done, text);
	}
	fflush(stdout);
	return CMX_OK;
}

/* A membership that ends by itself ends the command, as failed. */
static int event_lost(struct join *join)
{
	struct rdma_cm_event *event;
	const char *name;

	if (rdma_get_cm_event(join->channel, &event))
		return errno == EAGAIN ? CMX_OK :
		       failure("%s: %s", join->text, strerror(errno));
	name = rdma_event_str(event->event);
	switch (event->event) {
	case RDMA_CM_EVENT_MULTICAST_ERROR:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rdma_ack_cm_event(event);
		return failure("%s: the membership is lost: %s", join->text,
			       name);
	default:
		rdma_ack_cm_event(event);
		return CMX_OK;
	}
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
			/* Interrupted before all of --count came or went. */
			return join->count ? CMX_FAILED : CMX_OK;
		if (wait[0].revents && event_lost(join))
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
		ret = join_group(join);
	if (!ret)
		ret = join_stay(join);
	return ret;
}

static int join_all(struct join *join)
{
	sigset_t set;
	int ret;

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
	if (join->joined)
		rdma_leave_multicast(join->id,
				     (struct sockaddr *)&join->group);
	traffic_close(&join->traffic);
	if (join->id)
		rdma_destroy_id(join->id);
	if (join->channel)
		rdma_destroy_event_channel(join->channel);
	close(join->signals);
	return ret;
}

static bool addr_parse(const char *text, struct sockaddr_storage *addr)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *list;

	if (getaddrinfo(text, NULL, &hints, &list))
		return false;
	memcpy(addr, list->ai_addr, list->ai_addrlen);
	freeaddrinfo(list);
	return true;
}

static bool is_multicast(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *in6 = (const void *)addr;
	const struct sockaddr_in *in = (const void *)addr;

	return addr->ss_family == AF_INET ?
	       IN_MULTICAST(ntohl(in->sin_addr.s_addr)) :
	       IN6_IS_ADDR_MULTICAST(&in6->sin6_addr);
}

int cmx_join(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "send-only", no_argument, NULL, 's' },
		{ "source", required_argument, NULL, 'a' },
		{ "dev", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'c' },
		{ "once", no_argument, NULL, 'o' },
		{ NULL },
	};
	const char *source = NULL, *dev = NULL, *reason;
	struct join join = {};
	int option;

	while ((option = getopt_long(argc, argv, "j", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			join.json = true;
			break;
		case 's':
			join.send_only = true;
			break;
		case 'a':
			source = optarg;
			break;
		case 'd':
			dev = optarg;
			break;
		case 'c':
			if (!number_parse(optarg, 1000000, &join.count) ||
			    !join.count)
				return misuse("--count '%s': a number from 1 "
					      "to 1000000", optarg);
			break;
		case 'o':
			join.once = true;
			break;
		default:
			return misuse_option();
		}
	}
	if (argc - optind != 1)
		return misuse("join needs one GROUP, a multicast address");
	if (source && dev)
		return misuse("give --source or --dev, not both");
	if (join.once && join.count)
		return misuse("give --once or --count, not both");
	join.text = argv[optind];
	if (!addr_parse(join.text, &join.group) || !is_multicast(&join.group))
		return misuse("'%s' is not a multicast address like 239.1.2.3",
			      join.text);
	if (source && !addr_parse(source, &join.source))
		return misuse("--source '%s' is not an address", source);
	if (source && join.source.ss_family != join.group.ss_family)
		return misuse("--source '%s' is of another family than '%s'",
			      source, join.text);
	if (dev && !device_address(dev, join.group.ss_family, &join.source,
				   &reason))
		return failure("--dev '%s': %s", dev, reason);
	return join_all(&join);
}
