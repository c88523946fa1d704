// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * `sa-OPERATION COUNT [SERVICE]': resolution by the SA, with queries by the port
 * whose GID is BENCH_GID. one, call: the median of COUNT operations one after
 * another. many, events: the time of COUNT at once until the last has ended.
 * The stock library has nothing to compare with. One thread.
 */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/ib.h>

#include "bench.h"

static struct sockaddr_ib source = { .sib_family = AF_IB };
static struct rdma_event_channel *channel;
static const char *service;

static struct rdma_cm_id *id_make(void)
{
	struct rdma_cm_id *id;

	if (rdma_create_id(channel, &id, NULL, RDMA_PS_IB))
		return NULL;
	if (!rdma_bind_addr(id, (struct sockaddr *)&source))
		return id;
	fail("rdma_bind_addr");
	rdma_destroy_id(id);
	return NULL;
}

static int query_start(struct rdma_cm_id *id)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = RAI_SA | RAI_NOROUTE,
	};

	if (rdma_resolve_addrinfo(id, NULL, service, &hints))
		return fail("rdma_resolve_addrinfo");
	return 0;
}

static int take(struct rdma_cm_id *id)
{
	struct rdma_addrinfo *list;

	if (rdma_query_addrinfo(id, &list))
		return fail("rdma_query_addrinfo");
	rdma_freeaddrinfo(list);
	return 0;
}

/* By event, one after another */
static int sa_one(unsigned int count)
{
	double *values = calloc(count + 1, sizeof(*values)), start;
	struct rdma_cm_id *id = id_make();
	unsigned int i;

	if (!values || !id)
		return 1;
	for (i = 0; i <= count; i++) {
		start = now_us();
		if (query_start(id) ||
		    event_expect(channel, RDMA_CM_EVENT_ADDRINFO_RESOLVED) ||
		    take(id))
			return 1;
		values[i] = now_us() - start;
	}
	/* The first is for what is done once only. */
	median_print(values + 1, count);
	return 0;
}

/* The call that waits, one after another */
static int sa_call(unsigned int count)
{
	const struct rdma_addrinfo hints = {
		.ai_flags = RAI_SA | RAI_NOROUTE,
		.ai_src_addr = (struct sockaddr *)&source,
		.ai_src_len = sizeof(source),
	};
	double *values = calloc(count + 1, sizeof(*values)), start;
	struct rdma_addrinfo *list;
	unsigned int i;
	int ret;

	if (!values)
		return 1;
	for (i = 0; i <= count; i++) {
		start = now_us();
		ret = rdma_getaddrinfo(NULL, service, &hints, &list);
		if (ret) {
			fprintf(stderr, "bench: %s\n", gai_strerror(ret));
			return 1;
		}
		rdma_freeaddrinfo(list);
		values[i] = now_us() - start;
	}
	median_print(values + 1, count);
	return 0;
}

/* All at once: to the last event; without @query, of the events alone */
static int sa_many(unsigned int count, bool query)
{
	struct rdma_cm_id **ids = calloc(count, sizeof(*ids));
	unsigned int i;
	double start;

	if (!ids)
		return 1;
	for (i = 0; i < count; i++) {
		ids[i] = id_make();
		if (!ids[i])
			return 1;
	}
	start = now_us();
	for (i = 0; i < count; i++) {
		if (query ? query_start(ids[i]) :
		    rdma_write_cm_event(ids[i], RDMA_CM_EVENT_USER, 0, 0))
			return 1;
	}
	for (i = 0; i < count; i++)
		if (event_expect(channel,
				 query ? RDMA_CM_EVENT_ADDRINFO_RESOLVED :
					 RDMA_CM_EVENT_USER))
			return 1;
	printf("%.2f\n", now_us() - start);
	return 0;
}

int bench_sa(const char *operation, unsigned int count, const char *name)
{
	const char *gid = getenv("BENCH_GID");

	if (!gid || inet_pton(AF_INET6, gid, &source.sib_addr) != 1) {
		fprintf(stderr, "bench: BENCH_GID is the GID of a port\n");
		return 2;
	}
	service = name;
	channel = rdma_create_event_channel();
	if (!channel)
		return fail("rdma_create_event_channel");
	if (!strcmp(operation, "events"))
		return sa_many(count, false);
	if (!count || !service)
		return 2;
	if (!strcmp(operation, "one"))
		return sa_one(count);
	if (!strcmp(operation, "call"))
		return sa_call(count);
	if (!strcmp(operation, "many"))
		return sa_many(count, true);
	return 2;
}
