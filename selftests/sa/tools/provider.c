// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * provider: listens to the kernel's queries of local services, like ibacm, and
 * does not respond to them: ib_sa then queries the SA. Prints "ready", and a
 * line for each query.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include "mad.h"

int main(void)
{
	struct sockaddr_nl addr = {
		.nl_family = AF_NETLINK,
		.nl_groups = 1U << (RDMA_NL_GROUP_LS - 1),
	};
	struct nlmsghdr hdr[512];
	int fd;

	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_RDMA);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("netlink: %s", strerror(errno));
	puts("ready");
	fflush(stdout);
	while (recv(fd, hdr, sizeof(hdr), 0) > 0) {
		puts(RDMA_NL_GET_OP(hdr->nlmsg_type) == RDMA_NL_LS_OP_RESOLVE ?
		     "query" : "other");
		fflush(stdout);
	}
	return 1;
}
