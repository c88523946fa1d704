// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * async SILENT NAME: resolves a name whose server never responds and, while
 * that is outstanding, one that resolves; then destroys the id of a third one
 * during its lookup. One thread, one event channel, one poll loop.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>

/* Less than the 4 s of a silent name; a guest may stop for a while. */
#define AT_ONCE_MS	3000

static double begin;

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6 - begin;
}

static struct rdma_cm_id *start(struct rdma_event_channel *channel,
				const char *name)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = RAI_DNS,
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_cm_id *id;
	double before;

	if (rdma_create_id(channel, &id, (void *)name, RDMA_PS_TCP)) {
		perror("rdma_create_id");
		return NULL;
	}
	before = now_ms();
	if (rdma_resolve_addrinfo(id, name, "7471", &hints)) {
		perror("rdma_resolve_addrinfo");
		return NULL;
	}
	printf("%8.1f ms  query of %s: the call took %.3f ms\n", now_ms(),
	       name, now_ms() - before);
	return id;
}

/* Waits 30 s for the next event; its id and status. */
static enum rdma_cm_event_type next(struct rdma_event_channel *channel,
				    struct rdma_cm_id **id, int *status)
{
	struct pollfd wait = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	*id = NULL;
	if (poll(&wait, 1, 30000) != 1 || rdma_get_cm_event(channel, &event)) {
		puts("no event within 30 s");
		return RDMA_CM_EVENT_INTERNAL;
	}
	type = event->event;
	*id = event->id;
	*status = event->status;
	printf("%8.1f ms  %s: %s, status %d%s%s\n", now_ms(),
	       (const char *)event->id->context, rdma_event_str(type),
	       event->status, event->status < 0 ? " " : "",
	       event->status < 0 ? strerror(-event->status) : "");
	rdma_ack_cm_event(event);
	return type;
}

static int list(struct rdma_cm_id *id)
{
	struct rdma_addrinfo *res, *ai;
	char text[NI_MAXHOST];

	if (rdma_query_addrinfo(id, &res)) {
		perror("rdma_query_addrinfo");
		return 1;
	}
	for (ai = res; ai; ai = ai->ai_next)
		if (!getnameinfo(ai->ai_dst_addr, ai->ai_dst_len, text,
				 sizeof(text), NULL, 0, NI_NUMERICHOST))
			printf("%13s%s\n", "", text);
	rdma_freeaddrinfo(res);
	return 0;
}

int main(int argc, char **argv)
{
	struct rdma_cm_id *silent, *good, *dropped, *id;
	struct rdma_event_channel *channel;
	double before;
	int status;

	if (argc != 3) {
		fprintf(stderr, "usage: async SILENT-NAME NAME\n");
		return 2;
	}
	channel = rdma_create_event_channel();
	if (!channel) {
		perror("rdma_create_event_channel");
		return 1;
	}
	begin = now_ms();
	silent = start(channel, argv[1]);
	good = start(channel, argv[2]);
	if (!silent || !good || now_ms() > AT_ONCE_MS)
		return 1;
	if (next(channel, &id, &status) != RDMA_CM_EVENT_ADDRINFO_RESOLVED ||
	    id != good || list(good))
		return 1;

	dropped = start(channel, argv[1]);
	if (!dropped)
		return 1;
	before = now_ms();
	rdma_destroy_id(dropped);
	printf("%8.1f ms  gave that one up: rdma_destroy_id took %.3f ms\n",
	       now_ms(), now_ms() - before);
	if (now_ms() - before > AT_ONCE_MS)
		return 1;

	if (next(channel, &id, &status) != RDMA_CM_EVENT_ADDRINFO_ERROR ||
	    id != silent || (status != -ETIMEDOUT && status != -EAGAIN))
		return 1;
	rdma_destroy_id(silent);
	rdma_destroy_id(good);
	rdma_destroy_event_channel(channel);
	return 0;
}
