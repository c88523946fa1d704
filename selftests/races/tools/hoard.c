// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * hoard COUNT [ADDRESS]: creates COUNT ids, each with an outstanding resolution
 * that no server answers, and bound to ADDRESS. Exits with 0 after all of them,
 * with 3 and the reason after a failure.
 */
#include "ioctl.h"

#define PER_FILE	1000
#define NODE		"hoard.example"

int main(int argc, char **argv)
{
	struct rdma_cmx_resolve_addrinfo arg = {};
	int count = argc > 1 ? atoi(argv[1]) : 0, fd = -1, i, ret = 0;

	arg.query.node = (uintptr_t)NODE;
	arg.query.node_len = strlen(NODE);
	arg.query.flags = RDMA_CMX_AIQ_NAMES_LATER;
	arg.query.timeout_ms = 60000;
	for (i = 0; i < count && !ret; i++) {
		if (i % PER_FILE == 0)
			fd = dev_open(O_NONBLOCK);
		if (fd < 0)
			ret = -errno;
		else
			ret = id_create(fd, RDMA_PS_TCP, i + 1, &arg.id) ?:
			      (argc > 2 ? id_bind(fd, arg.id, argv[2], 0) : 0) ?:
			      call(fd, RESOLVE_ADDRINFO, &arg);
	}
	if (ret) {
		printf("refused after %d: %s\n", i - 1, strerror(-ret));
		return 3;
	}
	return 0;
}
