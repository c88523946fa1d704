/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx: limits and structs of several commands.
 * rdma_cmx_ioctl.h has the rules.
 */
#ifndef RDMA_CMX_IOCTL_TYPES_H
#define RDMA_CMX_IOCTL_TYPES_H

#include <linux/types.h>

/* The maximum length of private data in any CM message, in bytes. */
#define RDMA_CMX_MAX_PRIVATE_DATA	256

/* The maximum length of a node and a service text, without a final NUL. */
#define RDMA_CMX_MAX_NODE	1024
#define RDMA_CMX_MAX_SERVICE	63

/* The maximum number of path records that limit the paths of a resolution. */
#define RDMA_CMX_MAX_ROUTES	8

/*
 * The maximum number of services of a resolution and of records of
 * GET_SERVICES, of all SAs: EOVERFLOW.
 */
#define RDMA_CMX_MAX_SA_SERVICES	4096
#define RDMA_CMX_MAX_SA_RECORDS		16384

/**
 * struct rdma_cmx_addr - a socket address
 * @family: AF_INET, AF_INET6, AF_IB; 0 means that no address is given
 * @data: the rest of struct sockaddr_in, sockaddr_in6 or sockaddr_ib; the
 *	bytes behind the address of that family must be zero
 */
struct rdma_cmx_addr {
	__u16 family;
	__u8 data[46];
} __attribute__((aligned(8)));

/**
 * struct rdma_cmx_id_info - device and addresses of an id
 * @node_guid: node GUID of the RDMA device, network byte order, 0 if unbound
 * @ibdev_index: index of the RDMA device, as rdma(8) shows it
 * @num_paths: number of path records of the id
 * @pkey: P_Key, host byte order
 * @port_num: port, 0 if unbound
 * @reserved: 0
 * @src: local address with the port, in the id's family
 * @dst: peer address, likewise; family 0 if there is none
 * @src_ib: local GID as sockaddr_ib (P_Key, GID, service id)
 * @dst_ib: peer GID likewise
 */
struct rdma_cmx_id_info {
	__aligned_u64 node_guid;
	__u32 ibdev_index;
	__u32 num_paths;
	__u16 pkey;
	__u8 port_num;
	__u8 reserved[5];
	struct rdma_cmx_addr src;
	struct rdma_cmx_addr dst;
	struct rdma_cmx_addr src_ib;
	struct rdma_cmx_addr dst_ib;
};

#endif /* RDMA_CMX_IOCTL_TYPES_H */
