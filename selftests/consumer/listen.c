// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Targets:
 *	listen ADDRESS PORT MODE [N]	accept: and send back what comes, with
 *			private data "welcome"; reject: with "go away"; hang: no
 *			reply; drop: accept, and disconnect at once; first: no
 *			reply to the first request, accept the others; sixth:
 *			no reply to the first five; lose: accept, and disconnect
 *			while a connect.c takes down a candidate that stopped.
 *			ADDRESS "gid:GID": PORT is the service id, of RDMA_PS_IB
 *			or RDMA_PS_TCP. N: that many bytes of private data
 *			instead
 *	listened	how many requests, connections and ends there were, and
 *			the private data and retry counts of the last request
 *	unlisten	end all of them
 * The event handlers of all ids share one lock.
 */
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <rdma/ib_cm.h>

#include "consumer.h"
#include "end.h"

#define LISTENERS	12
#define LISTEN_SHOWN	16
#define LISTEN_SILENT	5
#define LISTEN_TARDY_MS	1000

struct target {
	struct rdma_cm_id *id;
	char mode;		/* first letter */
	const u8 *reply;	/* private data */
	u8 reply_len;
	unsigned int requests;	/* so far */
};

/* An id of a request, with its end if it was accepted */
struct accepted {
	struct list_head node;
	struct rdma_cm_id *id;
	struct consumer_end *end;
	char mode;
	bool up;
};

static struct {
	struct mutex lock;	/* what the handlers write */
	struct target targets[LISTENERS];
	struct list_head accepted;
	unsigned int requests;
	unsigned int established;
	unsigned int ended;
	bool losing;
	u8 data[LISTEN_SHOWN];
	u8 retry;
	u8 rnr_retry;
} listening = {
	.lock = __MUTEX_INITIALIZER(listening.lock),
	.accepted = LIST_HEAD_INIT(listening.accepted),
};

/* Without the lock: to free a completion queue is to wait for its work item. */
static void accepted_free(struct accepted *a)
{
	if (a->end)
		consumer_end_free(a->end);
	kfree(a);
}

static int listen_accept(struct accepted *a, const struct target *target)
{
	struct rdma_conn_param param = {
		.private_data = target->reply,
		.private_data_len = target->reply_len,
		.responder_resources = 1,
		.initiator_depth = 1,
		.rnr_retry_count = 7,
	};

	a->end = consumer_end_make(a->id, true);
	if (IS_ERR(a->end)) {
		a->end = NULL;
		return -ENOMEM;
	}
	return rdma_accept(a->id, &param);
}

/* Handler of an id of a request; 1 destroys the id. */
static int listen_accepted_event(struct rdma_cm_id *id,
				 struct rdma_cm_event *event)
{
	struct accepted *a = id->context;
	int ret = 0;

	mutex_lock(&listening.lock);
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		listening.established++;
		a->up = true;
		if (a->mode == 'd' || (a->mode == 'l' && listening.losing))
			rdma_disconnect(id);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
		listening.ended++;
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		/* Off the list, the target ends it. */
		if (list_empty(&a->node))
			break;
		list_del(&a->node);
		ret = 1;
		break;
	default:
		break;
	}
	mutex_unlock(&listening.lock);
	if (!ret)
		return 0;
	accepted_free(a);
	return 1;
}

/* For mode "lose": from now on, until a call with false */
void consumer_listen_lose(bool losing)
{
	struct accepted *a;

	mutex_lock(&listening.lock);
	listening.losing = losing;
	list_for_each_entry(a, &listening.accepted, node)
		if (losing && a->mode == 'l' && a->up)
			rdma_disconnect(a->id);
	mutex_unlock(&listening.lock);
}

/* Counts the request of @id; decides what becomes of it in @a. */
static void listen_count(struct rdma_cm_id *id, struct rdma_cm_event *event,
			 struct accepted *a)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct target *target = id->context;

	mutex_lock(&listening.lock);
	listening.requests++;
	listening.retry = conn->retry_count;
	listening.rnr_retry = conn->rnr_retry_count;
	memset(listening.data, 0, sizeof(listening.data));
	if (conn->private_data_len)
		memcpy(listening.data, conn->private_data,
		       min_t(int, conn->private_data_len, LISTEN_SHOWN));
	a->id = id;
	a->mode = target->mode;
	if (a->mode == 'f')
		a->mode = target->requests ? 'a' : 'h';
	if (a->mode == 's')
		a->mode = target->requests < LISTEN_SILENT ? 'h' : 'a';
	if (a->mode != 'r')
		target->requests++;
	mutex_unlock(&listening.lock);
}

/* This function owns the id: a status that is not 0 destroys it. */
static int listen_request(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	const struct target *target = id->context;
	struct accepted *a = kzalloc(sizeof(*a), GFP_KERNEL);
	int ret = 0;

	if (!a)
		return 1;
	listen_count(id, event, a);
	if (a->mode == 'r') {
		rdma_reject(id, target->reply, target->reply_len,
			    IB_CM_REJ_CONSUMER_DEFINED);
		kfree(a);
		return 1;
	}
	id->context = a;
	id->event_handler = listen_accepted_event;
	if (a->mode == 't')
		msleep(LISTEN_TARDY_MS);
	if (a->mode != 'h')
		ret = listen_accept(a, target);
	mutex_lock(&listening.lock);
	/* The peer may have gone before the reply. */
	if (ret)
		listening.ended++;
	else
		list_add(&a->node, &listening.accepted);
	mutex_unlock(&listening.lock);
	if (!ret)
		return 0;
	accepted_free(a);
	return 1;
}

/* Handler of a target, and at first of the id of a request */
static int listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct target *target = id->context;
	int ret = 0;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return listen_request(id, event);
	mutex_lock(&listening.lock);
	if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && target->id) {
		target->id = NULL;
		ret = 1;
	}
	mutex_unlock(&listening.lock);
	return ret;
}

/* The service id determines the port space. */
static int listen_ib(union rdma_cmx_sockaddr *addr, u64 sid)
{
	addr->ib.sib_sid = cpu_to_be64(sid);
	addr->ib.sib_sid_mask = cpu_to_be64(U64_MAX);
	return sid >> 16 == RDMA_PS_TCP ? RDMA_PS_TCP : RDMA_PS_IB;
}

/* Sets the private data of a target: the usual text, or @len bytes. */
static int listen_reply(struct target *target, const char *mode, const char *len)
{
	target->reply = *mode == 'r' ? "go away" : "welcome";
	target->reply_len = 7;
	if (!len)
		return 0;
	target->reply = consumer_pattern();
	return kstrtou8(len, 10, &target->reply_len);
}

static int listen_start(char *line)
{
	char *address = strsep(&line, " "), *port = strsep(&line, " ");
	struct target *target = listening.targets;
	int ps = RDMA_PS_TCP, ret;
	union rdma_cmx_sockaddr addr;
	char *mode = line ? strsep(&line, " ") : NULL;
	struct rdma_cm_id *id;
	u64 number;

	if (!mode || consumer_parse_addr(address, &addr) ||
	    kstrtou64(port, 0, &number))
		return -EINVAL;
	while (target < listening.targets + LISTENERS && target->id)
		target++;
	if (target == listening.targets + LISTENERS)
		return -ENOSPC;
	ret = listen_reply(target, mode, line);
	if (ret)
		return ret;
	if (addr.sa.sa_family == AF_IB)
		ps = listen_ib(&addr, number);
	else if (addr.sa.sa_family == AF_INET)
		addr.in.sin_port = htons(number);
	else
		addr.in6.sin6_port = htons(number);
	id = rdma_create_id(&init_net, listen_event, target, ps, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	target->mode = *mode;
	target->requests = 0;
	target->id = id;
	ret = rdma_bind_addr(id, &addr.sa);
	if (!ret)
		ret = rdma_listen(id, 16);
	if (ret) {
		target->id = NULL;
		rdma_destroy_id(id);
	}
	return ret;
}

static void listen_accepted_end(void)
{
	struct accepted *a;

	for (;;) {
		mutex_lock(&listening.lock);
		a = list_first_entry_or_null(&listening.accepted,
					     struct accepted, node);
		if (a)
			list_del_init(&a->node);
		mutex_unlock(&listening.lock);
		if (!a)
			return;
		if (a->end)
			rdma_disconnect(a->id);
		/* The handler of the id uses the end, which is freed below. */
		if (a->end)
			consumer_end_free(a->end);
		a->end = NULL;
		rdma_destroy_id(a->id);
		kfree(a);
	}
}

void consumer_unlisten(void)
{
	struct rdma_cm_id *id;
	int i;

	for (i = 0; i < LISTENERS; i++) {
		mutex_lock(&listening.lock);
		id = listening.targets[i].id;
		listening.targets[i].id = NULL;
		mutex_unlock(&listening.lock);
		if (id)
			rdma_destroy_id(id);
	}
	listen_accepted_end();
	listening.requests = 0;
	listening.established = 0;
	listening.ended = 0;
}

int consumer_listen(const char *verb, char *line, char *text, size_t size)
{
	if (!strcmp(verb, "listen"))
		return line ? listen_start(line) : -EINVAL;
	if (!strcmp(verb, "unlisten")) {
		consumer_unlisten();
		return 0;
	}
	mutex_lock(&listening.lock);
	snprintf(text, size,
		 "requests=%u established=%u ended=%u data=%*phN retry=%u rnr=%u\n",
		 listening.requests, listening.established, listening.ended,
		 LISTEN_SHOWN, listening.data, listening.retry,
		 listening.rnr_retry);
	mutex_unlock(&listening.lock);
	return 0;
}
