// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * paths [noroute
 * use] NODE PORT: prints the result of rdma_getaddrinfo(), one line for each
 * entry of type RC: source, destination, and for each path both GIDs and LIDs
 * and the P_Key; or "error TEXT". PORT "-" means none. With "use" an id then
 * sets its address and its route, and "used" follows on the line.
 *
 * paths pkey PKEY SOURCE DESTINATION: prints the P_Key of the route of an id
 * between two GIDs in a partition.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <infiniband/sa.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/rdma_cma.h>

static void print_addr(const char *what, const struct sockaddr *addr)
{
	char text[INET6_ADDRSTRLEN] = "-";

	if (addr && addr->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)addr)->sin_addr,
			  text, sizeof(text));
	else if (addr && addr->sa_family == AF_INET6)
		inet_ntop(AF_INET6,
			  &((const struct sockaddr_in6 *)addr)->sin6_addr,
			  text, sizeof(text));
	else if (addr && addr->sa_family == AF_IB)
		inet_ntop(AF_INET6, &((const struct sockaddr_ib *)addr)->sib_addr,
			  text, sizeof(text));
	printf("%s%s", what, text);
}

static void print_path(const struct ibv_path_record *path)
{
	char sgid[INET6_ADDRSTRLEN], dgid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &path->sgid, sgid, sizeof(sgid));
	inet_ntop(AF_INET6, &path->dgid, dgid, sizeof(dgid));
	printf(" path %s/%u %s/%u %x", sgid, be16toh(path->slid), dgid,
	       be16toh(path->dlid), be16toh(path->pkey));
}

static int use(struct rdma_addrinfo *ai)
{
	struct rdma_cm_id *id;
	int ret;

	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP))
		return -1;
	ret = rdma_resolve_addr(id, ai->ai_src_addr, ai->ai_dst_addr, 30000) ||
	      rdma_resolve_route(id, 30000) || id->route.num_paths != 1;
	rdma_destroy_id(id);
	return ret;
}

static int partition(uint16_t pkey, const char *src, const char *dst)
{
	struct sockaddr_ib from = {
		.sib_family = AF_IB,
		.sib_pkey = htobe16(pkey),
	};
	struct sockaddr_ib to = from;
	struct rdma_cm_id *id;

	to.sib_sid = htobe64((uint64_t)RDMA_PS_IB << 16 | 7471);
	to.sib_sid_mask = htobe64(UINT64_MAX);
	if (inet_pton(AF_INET6, src, &from.sib_addr) != 1 ||
	    inet_pton(AF_INET6, dst, &to.sib_addr) != 1)
		return 2;
	if (rdma_create_id(NULL, &id, NULL, RDMA_PS_IB) ||
	    rdma_resolve_addr(id, (struct sockaddr *)&from,
			      (struct sockaddr *)&to, 60000) ||
	    rdma_resolve_route(id, 60000)) {
		perror("error");
		return 1;
	}
	printf("%x\n", be16toh(id->route.path_rec->pkey));
	rdma_destroy_id(id);
	return 0;
}

int main(int argc, char **argv)
{
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP,
	};
	struct rdma_addrinfo *res, *ai;
	const struct ibv_path_data *data;
	const char *port;
	int ret;

	if (argc == 5 && !strcmp(argv[1], "pkey"))
		return partition(strtoul(argv[2], NULL, 0), argv[3], argv[4]);
	if (argc == 4 && !strcmp(argv[1], "noroute"))
		hints.ai_flags = RAI_NOROUTE;
	else if (argc != 3 && !(argc == 4 && !strcmp(argv[1], "use")))
		return 2;
	port = strcmp(argv[argc - 1], "-") ? argv[argc - 1] : NULL;
	ret = rdma_getaddrinfo(argv[argc - 2], port, &hints, &res);
	if (ret) {
		printf("error %s\n", gai_strerror(ret));
		return 1;
	}
	for (ai = res; ai; ai = ai->ai_next) {
		print_addr("", ai->ai_src_addr);
		print_addr(" ", ai->ai_dst_addr);
		data = ai->ai_route;
		for (size_t i = 0; i < ai->ai_route_len / sizeof(*data); i++)
			print_path(&data[i].path);
		if (argc == 4 && !strcmp(argv[1], "use"))
			printf(" %s", use(ai) ? "failed" : "used");
		printf("\n");
	}
	rdma_freeaddrinfo(res);
	return 0;
}
