// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * rsocket_peer client
 * server ADDRESS PORT: a peer of an rsocket program. It sends private data in
 * its connect or accept that looks like what librdmacmx once had behind its
 * events: a mark of eight bytes, and two pointers. The stock library has
 * private data at that place. The program ends with the next event.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS	30000

static struct {
	char magic[8];
	uint64_t pointers[2];
	uint64_t rest[4];
} data = {
	.magic = { '1', 'X', 'm', 'c', 'm', 'e', 'v', 'x' },
	.pointers = { 0x4141414141414141, 0x4242424242424242 },
};

static struct rdma_conn_param param = {
	.private_data = &data,
	.private_data_len = sizeof(data),
	.responder_resources = 1,
	.initiator_depth = 1,
	.retry_count = 1,
	.qp_num = 1,
};

static int failed(const char *what)
{
	perror(what);
	return 1;
}

static int client(struct rdma_cm_id *id, struct sockaddr_in *addr)
{
	if (rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, TIMEOUT_MS))
		return failed("rdma_resolve_addr");
	if (rdma_resolve_route(id, TIMEOUT_MS))
		return failed("rdma_resolve_route");
	/* The peer may reject it. */
	rdma_connect(id, &param);
	return 0;
}

static int server(struct rdma_cm_id *id, struct sockaddr_in *addr)
{
	struct rdma_cm_id *request;

	if (rdma_bind_addr(id, (struct sockaddr *)addr))
		return failed("rdma_bind_addr");
	if (rdma_listen(id, 1))
		return failed("rdma_listen");
	if (rdma_get_request(id, &request))
		return failed("rdma_get_request");
	rdma_accept(request, &param);
	return 0;
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct rdma_cm_id *id;

	if (argc != 4 || inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
		return 2;
	addr.sin_port = htons(atoi(argv[3]));
	alarm(60);
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return failed("rdma_create_id");
	return strcmp(argv[1], "server") ? client(id, &addr) :
					   server(id, &addr);
}
