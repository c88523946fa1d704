/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx: cached paths of InfiniBand ports.
 * rdma_cmx_ioctl.h has the rules.
 */
#ifndef RDMA_CMX_IOCTL_PATH_H
#define RDMA_CMX_IOCTL_PATH_H

#include <linux/types.h>
#include <rdma/ib_user_sa.h>

/**
 * struct rdma_cmx_cached_path - a cached path
 * @ibdev_index: RDMA device of the port whose SA has reported it
 * @port_num: that port
 * @num_paths: number of path records in the response
 * @age_ms: milliseconds since its query was sent
 * @left_ms: milliseconds until the next query is sent to the SA, unless an
 *	event of the port, a report of the SA or a failed connect comes first
 * @reserved: 0
 * @path: the first record, as the SA has sent it; its flags are 0
 */
struct rdma_cmx_cached_path {
	__u32 ibdev_index;
	__u32 port_num;
	__u32 num_paths;
	__u32 age_ms;
	__u32 left_ms;
	__u32 reserved;
	struct ib_path_rec_data path;
};

/**
 * struct rdma_cmx_get_paths - RDMA_CMX_IO(GET_PATHS)
 * @size: sizeof(struct rdma_cmx_get_paths)
 * @flags: 0
 * @paths: pointer to struct rdma_cmx_cached_path []
 * @max_paths: maximum number of elements of @paths; 0: @paths is not used
 * @path_size: sizeof(struct rdma_cmx_cached_path), the distance between two
 *	paths, as port_size of struct rdma_cmx_query_advertised
 * @dev_port: the only port of @dev, 0: all
 * @num_paths: out: number of paths, also if it exceeds @max_paths
 * @dev: name of the only RDMA device; zeros follow. All zeros: all devices
 *
 * The command reports the paths that resolutions of the caller's network
 * namespace have cached, of active InfiniBand ports that this namespace may
 * use. It sends no query. Paths are in the order in which they were cached,
 * port by port. The command may report a path that is dropped during the
 * command, and may omit one that is cached during it. It reports no path twice.
 *
 * ENOSPC: there are more than @max_paths paths; @paths has the first
 * @max_paths. EINVAL: a text that does not end with a zero or has one in the
 * middle, a port without a device, or @path_size is too small. ENODEV: there is
 * no such InfiniBand device; ENXIO: the device has no such port. EINTR: the
 * process is being killed.
 */
struct rdma_cmx_get_paths {
	__u32 size;
	__u32 flags;
	__aligned_u64 paths;
	__u32 max_paths;
	__u32 path_size;
	__u32 dev_port;
	__u32 num_paths;
	__u8 dev[64];
};

/**
 * struct rdma_cmx_drop_paths - RDMA_CMX_IO(DROP_PATHS)
 * @size: sizeof(struct rdma_cmx_drop_paths)
 * @flags: 0
 * @dgid: only the paths whose queries were for this GID; all zeros: all paths
 * @dev_port: the only port of @dev, 0: all
 * @num_paths: out: number of paths that were dropped
 * @dev: name of the only RDMA device; zeros follow. All zeros: all devices
 *
 * The command drops paths that GET_PATHS reports, and none of another network
 * namespace. The next resolution of such a path sends a query to the SA. A
 * query that is outstanding completes, but its response is not cached. Ids and
 * results keep the paths that they have.
 *
 * EPERM: the caller lacks CAP_NET_ADMIN in the user namespace that owns its
 * network namespace. EINVAL: a text that does not end with a zero or has one in
 * the middle, a port without a device. ENODEV, ENXIO: as for GET_PATHS. EINTR:
 * the process is being killed; some paths may be dropped.
 */
struct rdma_cmx_drop_paths {
	__u32 size;
	__u32 flags;
	__u8 dgid[16];
	__u32 dev_port;
	__u32 num_paths;
	__u8 dev[64];
};

#endif /* RDMA_CMX_IOCTL_PATH_H */
