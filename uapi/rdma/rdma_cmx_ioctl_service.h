/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * User ABI of /dev/infiniband/rdma_cmx: services at the subnet administrators
 * of InfiniBand ports.
 * rdma_cmx_ioctl.h has the rules.
 */
#ifndef RDMA_CMX_IOCTL_SERVICE_H
#define RDMA_CMX_IOCTL_SERVICE_H

#include <linux/types.h>
#include <rdma/rdma_cmx_ioctl_types.h>

/* Bytes of the service data of a ServiceRecord. */
#define RDMA_CMX_SERVICE_DATA	64

/* A lease without end. */
#define RDMA_CMX_SERVICE_FOREVER	0xffffffff

/**
 * struct rdma_cmx_advertise - RDMA_CMX_IO(ADVERTISE)
 * @size: sizeof(struct rdma_cmx_advertise)
 * @handle: out: handle of the service
 * @uid: cookie, for WITHDRAW
 * @owner: cookie of the process, as in struct rdma_cmx_id_create
 * @service_id: service id, host byte order, not 0
 * @flags: 0
 * @lease_s: lease in seconds, at least 4 (ERANGE); 0: the parameter
 *	service_lease_s of rdma_cmx; RDMA_CMX_SERVICE_FOREVER: without end
 * @dev_port: the only port of @dev, 0: all
 * @pkey: P_Key, host byte order; 0: the first one of each port
 * @reserved: 0
 * @name: name of 1 to RDMA_CMX_MAX_SERVICE bytes; zeros follow
 * @dev: name of the only RDMA device as rdma(8) shows it; zeros follow. All
 *	zeros: all InfiniBand devices, also devices added later
 * @data: the service data in wire format
 *
 * The kernel sets a ServiceRecord at the subnet administrator of each
 * InfiniBand port that the caller's network namespace may use, renews it before
 * the lease ends, and sets it again after an event of the port. The command
 * does not wait for the responses: QUERY_ADVERTISED reports the result.
 * WITHDRAW, and the last close of the file, delete the records in the
 * background.
 *
 * The service is advertised on devices of network namespaces that the user
 * namespace of the caller's network namespace, or a descendant of it, owns. It
 * holds the network namespace as a socket does.
 *
 * poll reports EPOLLPRI while a service of the file has changed since the last
 * QUERY_ADVERTISED for it.
 *
 * EPERM: the caller lacks CAP_NET_ADMIN in the user namespace that owns its
 * network namespace. EINVAL: no name, a name or @dev that does not end with a
 * zero or has one in the middle, id 0, a P_Key without a partition, or a port
 * without a device. ENODEV, ENXIO: there is no such InfiniBand device or port.
 * EEXIST: another service of this host has the id in the same partition on one
 * of the ports. EAGAIN: the user has services_per_user services, or all users
 * have services_max (parameters of rdma_cmx); a service counts until its
 * records are deleted.
 */
struct rdma_cmx_advertise {
	__u32 size;
	__u32 handle;
	__aligned_u64 uid;
	__aligned_u64 owner;
	__aligned_u64 service_id;
	__u32 flags;
	__u32 lease_s;
	__u32 dev_port;
	__u16 pkey;
	__u16 reserved;
	__u8 name[RDMA_CMX_MAX_SERVICE + 1];
	__u8 dev[64];
	__u8 data[RDMA_CMX_SERVICE_DATA];
};

/* States of a service at a port. */
enum {
	/* The subnet administrator has the record. */
	RDMA_CMX_SERVICE_PORT_SET = 1,
	/*
	 * The subnet administrator does not have the record, or has not
	 * confirmed the last renewal. The kernel retries.
	 */
	RDMA_CMX_SERVICE_PORT_TRYING = 2,
	/* The port is not active. The record is set when it is. */
	RDMA_CMX_SERVICE_PORT_DOWN = 3,
};

/**
 * struct rdma_cmx_service_port - a service at one port
 * @ibdev_index: index of the RDMA device, as rdma(8) shows it
 * @port_num: its port
 * @state: RDMA_CMX_SERVICE_PORT_*
 * @error: 0, or the negative errno of the last attempt, if it is not set:
 *	-ETIMEDOUT: the subnet administrator does not respond; -EAGAIN: it is
 *	busy, or the user has too many queries; -ECONNREFUSED: it refuses the
 *	record; -EBADMSG: its response is malformed; -ERANGE: it grants a lease
 *	under 4 s; -ENOENT: the port does not have the P_Key; -EEXIST: another
 *	service has the id in this partition on this port; -ENODEV: the port is
 *	not active; -ENOMEM
 * @lease_s: the lease that was granted, if it is set
 * @pkey: P_Key of the record, likewise
 * @reserved: 0
 * @gid: ServiceGID of the record, likewise
 */
struct rdma_cmx_service_port {
	__u32 ibdev_index;
	__u32 port_num;
	__u32 state;
	__s32 error;
	__u32 lease_s;
	__u16 pkey;
	__u16 reserved;
	__u8 gid[16];
};

/**
 * struct rdma_cmx_query_advertised - RDMA_CMX_IO(QUERY_ADVERTISED)
 * @size: sizeof(struct rdma_cmx_query_advertised)
 * @handle: handle of a service
 * @ports: pointer to struct rdma_cmx_service_port []
 * @max_ports: maximum number of elements of @ports; 0: @ports is not used
 * @port_size: sizeof(struct rdma_cmx_service_port), the distance between two
 *	ports. Shorter than the first published form: EINVAL; more than a page:
 *	E2BIG. The kernel writes zeros behind the part that it knows
 * @num_ports: out: number of ports of the service. If there are more than
 *	@max_ports, the array has the first @max_ports
 * @num_set: out: number of ports in state SET
 * @error: out: the error of a port that is not set, 0 if none has one; -ENODEV
 *	without a port
 * @reserved: 0
 */
struct rdma_cmx_query_advertised {
	__u32 size;
	__u32 handle;
	__aligned_u64 ports;
	__u32 max_ports;
	__u32 port_size;
	__u32 num_ports;
	__u32 num_set;
	__s32 error;
	__u32 reserved;
};

/**
 * struct rdma_cmx_service_record - a ServiceRecord, without its key
 * @service_id: service id, host byte order
 * @gid: ServiceGID
 * @lease_s: lease in seconds, as the SA reports it
 * @pkey: P_Key, host byte order
 * @reserved: 0
 * @ibdev_index: RDMA device of the port whose SA has it
 * @port_num: that port
 * @name: name; a zero ends it if it is shorter than the array
 * @data: the service data in wire format
 */
struct rdma_cmx_service_record {
	__aligned_u64 service_id;
	__u8 gid[16];
	__u32 lease_s;
	__u16 pkey;
	__u16 reserved;
	__u32 ibdev_index;
	__u32 port_num;
	__u8 name[RDMA_CMX_MAX_SERVICE + 1];
	__u8 data[RDMA_CMX_SERVICE_DATA];
};

/**
 * struct rdma_cmx_get_services - RDMA_CMX_IO(GET_SERVICES)
 * @size: sizeof(struct rdma_cmx_get_services)
 * @flags: 0
 * @records: pointer to struct rdma_cmx_service_record []
 * @max_records: maximum number of elements of @records
 * @record_size: sizeof(struct rdma_cmx_service_record), the distance between
 *	two records, as port_size of struct rdma_cmx_query_advertised
 * @timeout_ms: deadline in milliseconds, as in struct rdma_cmx_ai_query
 * @dev_port: the only port of @dev, 0: all
 * @num_records: out: number of records, also if it exceeds @max_records
 * @num_ports: out: number of ports whose SA has responded
 * @error: out: 0, or the negative errno of the first port without a response
 * @reserved: 0
 * @service: name of a service, or its id as a number; zeros follow. All zeros:
 *	all services
 * @dev: name of the only RDMA device; zeros follow. All zeros: all devices
 *
 * The command queries the subnet administrators of the active InfiniBand ports
 * of the caller's network namespace in parallel and waits for the responses,
 * which may come from the cache. A record that several have is reported once. A
 * service that is not registered is no error, @num_records is 0.
 *
 * A query for all services is sent on devices that the caller may advertise on,
 * see struct rdma_cmx_advertise.
 *
 * ENOSPC: there are more than @max_records records; the caller sends the query
 * again. EPERM: the query is for all services, and the caller lacks
 * CAP_NET_ADMIN in the user namespace that owns its network namespace. EINVAL:
 * a text that does not end with a zero or has one in the middle, a port without
 * a device. ENODEV: no port is active, or there is no such device; ENXIO: the
 * device has no such port. EOVERFLOW: more than RDMA_CMX_MAX_SA_RECORDS
 * records. EINTR: a signal. If no SA has responded: the error of the first
 * port, as in struct rdma_cmx_service_port, or EOVERFLOW: its SA has more
 * records than the parameter sa_max_records.
 */
struct rdma_cmx_get_services {
	__u32 size;
	__u32 flags;
	__aligned_u64 records;
	__u32 max_records;
	__u32 record_size;
	__u32 timeout_ms;
	__u32 dev_port;
	__u32 num_records;
	__u32 num_ports;
	__s32 error;
	__u32 reserved;
	__u8 service[RDMA_CMX_MAX_SERVICE + 1];
	__u8 dev[64];
};

#endif /* RDMA_CMX_IOCTL_SERVICE_H */
