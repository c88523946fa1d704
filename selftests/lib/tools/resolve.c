// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * resolve call
 * event
 * wait NAME: resolves NAME with rdma_getaddrinfo(), with
 * rdma_resolve_addrinfo() and an event channel, or on a synchronous id, and
 * prints the first destination, or the error number.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <rdma/rdma_cma.h>

static int entries_print(struct rdma_addrinfo *res)
{
	struct sockaddr_in *sin;
	char text[INET_ADDRSTRLEN];
	struct rdma_addrinfo *ai;

	for (ai = res; ai && ai->ai_family != AF_INET; ai = ai->ai_next)
		;
	if (!ai)
		return 2;
	sin = (struct sockaddr_in *)ai->ai_dst_addr;
	puts(inet_ntop(AF_INET, &sin->sin_addr, text, sizeof(text)));
	rdma_freeaddrinfo(res);
	return 0;
}

static int by_call(const char *name)
{
	struct rdma_addrinfo *res;
	int ret = rdma_getaddrinfo(name, "7471", NULL, &res);

	if (!ret)
		return entries_print(res);
	printf("%d\n", ret);
	return 1;
}

static int by_id(const char *name, struct rdma_event_channel *channel)
{
	struct rdma_addrinfo *res;
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	int status = 0;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return 3;
	if (rdma_resolve_addrinfo(id, name, "7471", NULL)) {
		status = -errno;
	} else if (channel) {
		if (rdma_get_cm_event(channel, &event))
			return 4;
		status = event->status;
		rdma_ack_cm_event(event);
	}
	if (!status && !rdma_query_addrinfo(id, &res))
		status = entries_print(res);
	else
		printf("%d\n", status);
	rdma_destroy_id(id);
	return !!status;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel;
	int ret;

	if (argc != 3)
		return 64;
	if (!strcmp(argv[1], "call"))
		return by_call(argv[2]);
	if (!strcmp(argv[1], "wait"))
		return by_id(argv[2], NULL);
	channel = rdma_create_event_channel();
	if (!channel)
		return 5;
	ret = by_id(argv[2], channel);
	rdma_destroy_event_channel(channel);
	return ret;
}
