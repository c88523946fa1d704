// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * loop ROUNDS: resolve and free all kinds of results ROUNDS times, for
 * valgrind. loop channel: open and close one event channel, for strace.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/rdma_cma.h>

static volatile unsigned long sum;

static void all_read(const struct rdma_addrinfo *ai)
{
	for (; ai; ai = ai->ai_next) {
		for (socklen_t i = 0; i < ai->ai_src_len; i++)
			sum += ((unsigned char *)ai->ai_src_addr)[i];
		for (socklen_t i = 0; i < ai->ai_dst_len; i++)
			sum += ((unsigned char *)ai->ai_dst_addr)[i];
		if (ai->ai_dst_canonname)
			sum += strlen(ai->ai_dst_canonname);
		if (ai->ai_src_canonname)
			sum += strlen(ai->ai_src_canonname);
		sum += ai->ai_qp_type + ai->ai_port_space + ai->ai_family;
	}
	/* valgrind reports undefined bytes only in a condition. */
	if (sum == 0x12345678)
		putchar('\n');
}

static int getaddrinfo_round(void)
{
	static const struct {
		const char *node, *service;
		int flags, family, want;
	} calls[] = {
		{ "storage.cmx.test", "7471", 0, 0, 0 },
		{ "alias.cmx.test", "7471", 0, AF_INET6, 0 },
		{ "10.55.0.2", "7471", RAI_NUMERICHOST, 0, 0 },
		{ "fd55::2", NULL, 0, 0, 0 },
		{ NULL, "7471", RAI_PASSIVE, 0, 0 },
		{ "fe80::1", "7471", RAI_FAMILY, AF_IB, 0 },
		{ "nobody.cmx.test", "7471", 0, 0, EAI_NONAME },
		{ "nodata.cmx.test", "7471", 0, 0, EAI_NODATA },
		{ "10.55.0.2", "70000", 0, 0, EAI_SERVICE },
		{ "10.55.0.2", "7471", 0x40, 0, EAI_BADFLAGS },
	};
	struct rdma_addrinfo hints, *res;
	int ret;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		memset(&hints, 0, sizeof(hints));
		hints.ai_flags = calls[i].flags;
		hints.ai_family = calls[i].family;
		ret = rdma_getaddrinfo(calls[i].node, calls[i].service, &hints,
				       &res);
		if (ret != calls[i].want) {
			fprintf(stderr, "loop: %s: %d, not %d\n",
				calls[i].node ?: "(none)", ret, calls[i].want);
			return 1;
		}
		if (!ret) {
			all_read(res);
			rdma_freeaddrinfo(res);
		}
	}
	return 0;
}

static int resolve_round(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_addrinfo *res;
	struct rdma_cm_id *id;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addrinfo(id, "storage.cmx.test", "7471", NULL) ||
	    rdma_get_cm_event(channel, &event))
		return 1;
	rdma_ack_cm_event(event);
	if (rdma_query_addrinfo(id, &res))
		return 1;
	all_read(res);
	rdma_freeaddrinfo(res);
	/* A result that the program does not take */
	if (rdma_resolve_addrinfo(id, "10.55.0.2", "7471", NULL) ||
	    rdma_get_cm_event(channel, &event))
		return 1;
	rdma_ack_cm_event(event);
	rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return 0;
}

/* valgrind reports a thread that has not exited as a leak. */
static int threads_ended(void)
{
	int tries, count;
	DIR *dir;

	for (tries = 0; tries < 3000; tries++) {
		dir = opendir("/proc/self/task");
		if (!dir)
			return 0;
		for (count = 0; readdir(dir); count++)
			;
		closedir(dir);
		/* ".", ".." and the thread itself */
		if (count == 3)
			return 1;
		usleep(10000);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct rdma_event_channel *channel;
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	if (argc > 1 && !strcmp(argv[1], "channel")) {
		channel = rdma_create_event_channel();
		if (!channel)
			return 1;
		rdma_destroy_event_channel(channel);
		return 0;
	}
	while (rounds--)
		if (getaddrinfo_round() || resolve_round())
			return 1;
	return !threads_ended();
}
