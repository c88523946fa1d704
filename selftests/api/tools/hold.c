// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hold COUNT ADDR GROUP: have many requests outstanding, for tests that kill
 * the process or remove the device. COUNT ids that resolve names of a silent
 * server; one bound to ADDR that resolves an address no host has; one bound to
 * ADDR and joined to GROUP; one listening. Prints "ready", then ends once the
 * three bound ids have reported DEVICE_REMOVAL ("removed"), or by a signal.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

static void fatal(const char *what)
{
	fprintf(stderr, "hold: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr *addr(const char *host, unsigned int port)
{
	static struct sockaddr_in in;

	in.sin_family = AF_INET;
	in.sin_port = htons(port);
	if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
		fatal(host);
	return (struct sockaddr *)&in;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	int count = argc > 3 ? atoi(argv[1]) : -1, removed = 0, joined = 0;
	struct rdma_cm_id **ids, *bound[3];
	struct rdma_cm_event *event;
	char name[128];

	if (count < 0) {
		fprintf(stderr, "usage: hold COUNT ADDR GROUP\n");
		return 2;
	}
	ids = calloc(count + 1, sizeof(*ids));
	if (!channel || !ids)
		fatal("rdma_create_event_channel");
	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "h%d-%d.silent.test", getpid(), i);
		if (rdma_create_id(channel, &ids[i], NULL, RDMA_PS_TCP) ||
		    rdma_resolve_addrinfo(ids[i], name, "1", NULL))
			fatal("rdma_resolve_addrinfo");
	}
	for (int i = 0; i < 3; i++)
		if (rdma_create_id(channel, &bound[i], NULL,
				   i == 1 ? RDMA_PS_UDP : RDMA_PS_TCP) ||
		    rdma_bind_addr(bound[i], addr(argv[2], 0)))
			fatal("rdma_bind_addr");
	if (rdma_join_multicast(bound[1], addr(argv[3], 0), NULL))
		fatal("rdma_join_multicast");
	if (rdma_listen(bound[2], 4))
		fatal("rdma_listen");
	while (!joined) {
		if (rdma_get_cm_event(channel, &event))
			fatal("rdma_get_cm_event");
		joined = event->event == RDMA_CM_EVENT_MULTICAST_JOIN;
		/* The device was removed before the last request. */
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL ||
		    event->event == RDMA_CM_EVENT_MULTICAST_ERROR)
			fatal(rdma_event_str(event->event));
		rdma_ack_cm_event(event);
	}
	if (rdma_resolve_addr(bound[0], NULL, addr("10.55.0.78", 1), 60000))
		fatal("rdma_resolve_addr");
	snprintf(name, sizeof(name), "hb%d.silent.test", getpid());
	if (rdma_resolve_addrinfo(bound[1], name, "1", NULL))
		fatal("rdma_resolve_addrinfo");
	printf("ready\n");
	fflush(stdout);

	while (removed < 3) {
		if (rdma_get_cm_event(channel, &event))
			fatal("rdma_get_cm_event");
		if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			removed++;
		rdma_ack_cm_event(event);
	}
	for (int i = 0; i < 3; i++)
		rdma_destroy_id(bound[i]);
	for (int i = 0; i < count; i++)
		rdma_destroy_id(ids[i]);
	rdma_destroy_event_channel(channel);
	printf("removed\n");
	return 0;
}
