// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * A target of selftests/fuzz: names, canonical names and name server replies
 * that anybody may choose. Accepted ones satisfy the rules of rdma_cmx_names.h.
 */
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "probe.h"
#include "srv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int draw(unsigned int max)
{
	return max / 2;
}

static void srv_check(const uint8_t *data, size_t size)
{
	static struct cmx_srv list[CMX_SRV_RECORDS];
	int count = cmx_srv_parse(data, size, list), i;

	for (i = 0; i < count; i++)
		if (list[i].host[0] && !cmx_names_valid(list[i].host))
			abort();
	if (count > 0)
		cmx_srv_order(list, count, draw);
	for (i = 1; i < count; i++)
		if (list[i - 1].priority > list[i].priority)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static union {
		struct rdma_cmx_names names;
		unsigned char bytes[CMX_NAMES_ANSWER_MAX];
	} answer;
	struct sockaddr_in6 sin6 = { .sin6_family = AF_INET6 };
	struct addrinfo ai = {
		.ai_family = size & 1 ? AF_INET6 : AF_INET,
		.ai_addr = (void *)&sin6,
		.ai_addrlen = sizeof(sin6),
	};
	size_t half = size / 2, len;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	/* A response of a child process */
	memcpy(&answer, data, size < sizeof(answer) ? size : sizeof(answer));
	(void)cmx_names_check(&answer, size < sizeof(answer) ? size :
							      sizeof(answer));

	if (cmx_names_valid(text) &&
	    (!*text || strlen(text) > RDMA_CMX_NAMES_MAX_NAME ||
	     strpbrk(text, " \t\r\n/;:%")))
		abort();

	memcpy(&sin6, data, size < sizeof(sin6) ? size : sizeof(sin6));
	ai.ai_canonname = text;
	len = cmx_names_pack(&ai, &answer);
	if (len != sizeof(answer.names) + sizeof(answer.names.addrs[0]) +
		   answer.names.canon_len || len > sizeof(answer))
		abort();

	srv_check(data, size);
	cmx_probe_reply(data, half, data + half, size - half);
	free(text);
	return 0;
}
