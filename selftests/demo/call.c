// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Make one call of a library of the RDMA connection manager; built for this
 * project's and for the stock one, so that the results can be compared:
 *
 *	call list NODE [SERVICE]		rdma_getaddrinfo, all that comes back
 *	call null			... with a NULL result pointer
 *	call length			... with a length, but no address
 *	call join ADDRESS SOURCE		rdma_join_multicast_ex of ADDRESS
 *
 * Exit code: 0 a result, 1 an error that was reported.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rdma/rdma_cma.h>

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static const char *text(const struct sockaddr *addr, socklen_t len,
			char buf[NI_MAXHOST])
{
	if (!len || getnameinfo(addr, len, buf, NI_MAXHOST, NULL, 0,
				NI_NUMERICHOST))
		return "none";
	return buf;
}

static int error_print(int ret, double ms)
{
	if (ret == -1 || ret == EAI_SYSTEM)
		printf("error after %.1f ms: %s\n", ms, strerror(errno));
	else
		printf("error after %.1f ms: %s\n", ms, gai_strerror(ret));
	return 1;
}

static int list_print(const char *node, const char *service)
{
	const struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *list = NULL, *ai;
	char dst[NI_MAXHOST], src[NI_MAXHOST];
	double start = now_ms(), end;
	unsigned int count = 0;
	int ret;

	ret = rdma_getaddrinfo(node, service, &hints, &list);
	end = now_ms();
	if (ret)
		return error_print(ret, end - start);
	for (ai = list; ai; ai = ai->ai_next) {
		printf("address %u: %s, source %s, port %u\n", ++count,
		       text(ai->ai_dst_addr, ai->ai_dst_len, dst),
		       text(ai->ai_src_addr, ai->ai_src_len, src),
		       ntohs(((struct sockaddr_in *)ai->ai_dst_addr)->sin_port));
	}
	printf("addresses: %u, after %.1f ms\n", count, end - start);
	rdma_freeaddrinfo(list);
	return 0;
}

static int null_try(void)
{
	return error_print(rdma_getaddrinfo("10.55.0.2", "7471", NULL, NULL), 0);
}

static int length_try(void)
{
	const struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_RC,
		.ai_port_space = RDMA_PS_TCP,
		.ai_src_len = sizeof(struct sockaddr_in),
	};
	struct rdma_addrinfo *list;
	int ret;

	ret = rdma_getaddrinfo("10.55.0.2", "7471", &hints, &list);
	if (ret)
		return error_print(ret, 0);
	rdma_freeaddrinfo(list);
	puts("taken");
	return 0;
}

static int join_try(const char *address, const char *source)
{
	struct sockaddr_in group = { .sin_family = AF_INET };
	struct sockaddr_in local = { .sin_family = AF_INET };
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
			     RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = (struct sockaddr *)&group,
	};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	inet_pton(AF_INET, address, &group.sin_addr);
	inet_pton(AF_INET, source, &local.sin_addr);
	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_UDP) ||
	    rdma_bind_addr(id, (struct sockaddr *)&local)) {
		printf("cannot bind to %s: %s\n", source, strerror(errno));
		return 2;
	}
	if (rdma_join_multicast_ex(id, &attr, NULL))
		return error_print(-1, 0);
	if (rdma_get_cm_event(channel, &event))
		return error_print(-1, 0);
	printf("%s\n", rdma_event_str(event->event));
	rdma_ack_cm_event(event);
	rdma_leave_multicast(id, (struct sockaddr *)&group);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return 0;
}

int main(int argc, char **argv)
{
	/* The output must be complete even if the library crashes. */
	setvbuf(stdout, NULL, _IONBF, 0);
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "list"))
		return list_print(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], "null"))
		return null_try();
	if (argc == 2 && !strcmp(argv[1], "length"))
		return length_try();
	if (argc == 4 && !strcmp(argv[1], "join"))
		return join_try(argv[2], argv[3]);
	fprintf(stderr, "usage: call list NODE [SERVICE] | null | length | join ADDRESS SOURCE\n");
	return 2;
}
