// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * waits ADDRESS PORT COUNT: COUNT connects to a listener that does not accept
 * them. Prints "waiting" when all have started, and stays until it is killed.
 */
#include "uapi.h"

int main(int argc, char **argv)
{
	int fd = dev_open(O_NONBLOCK), silent = dev_open(O_NONBLOCK), i, ret;
	uint16_t port;
	uint32_t id;

	if (argc != 4) {
		fprintf(stderr, "usage: waits ADDRESS PORT COUNT\n");
		return 2;
	}
	addr_rdma = argv[1];
	port = atoi(argv[2]);
	ret = id_create(silent, RDMA_PS_TCP, 1, &id) ?:
	      id_bind(silent, id, addr_rdma, port) ?: id_listen(silent, id);
	for (i = 0; i < atoi(argv[3]) && !ret; i++)
		ret = connect_start(fd, 2, port, &id);
	if (ret) {
		fprintf(stderr, "waits: error %d\n", ret);
		return 1;
	}
	puts("waiting");
	fflush(stdout);
	pause();
	return 0;
}
