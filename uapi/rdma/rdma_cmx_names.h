/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * The result of the name helper for the kernel.
 *
 * rdma_cmx requests a key of type RDMA_CMX_NAMES_KEY_TYPE whose description is
 * the host name. For a kernel consumer in another network namespace than the
 * initial one the description is NAME@INUM:COOKIE, with the inode number and
 * the cookie of the namespace in decimal. The type begins with a dot, so that
 * add_key(2) and request_key(2) refuse it with EPERM. request-key(8) starts the
 * helper, which instantiates the key with one struct rdma_cmx_names followed by
 * its addresses and the canonical name, or rejects it with one of the errnos
 * below. All numbers are in host byte order, addresses in network byte order.
 * The kernel checks every length again: a malformed result fails with EBADMSG.
 *
 * These structs never change, because an array follows the first one. Another
 * form has another version. A kernel that does not know it fails with EBADMSG.
 */
#ifndef RDMA_CMX_NAMES_H
#define RDMA_CMX_NAMES_H

#include <linux/types.h>

#define RDMA_CMX_NAMES_KEY_TYPE	".rdma_cmx_name"
#define RDMA_CMX_NAMES_VERSION		1
/* As version 1, and addresses may have ports: the name has SRV records. */
#define RDMA_CMX_NAMES_VERSION_PORTS	2

/* Maximum addresses of a result; the helper drops those above the limit. */
#define RDMA_CMX_NAMES_MAX_ADDRS	256
/* The maximum length of a DNS name in text form, without the final NUL. */
#define RDMA_CMX_NAMES_MAX_NAME		253

/*
 * The errnos of a name lookup. User space returns each as an EAI code:
 *   ENOENT        no such name                       (EAI_NONAME)
 *   ENODATA       the name exists without an address (EAI_NODATA)
 *   EAGAIN        temporary failure, SERVFAIL        (EAI_AGAIN)
 *   ETIMEDOUT     no server responded in time        (EAI_AGAIN)
 *   ECONNREFUSED  the servers refuse permanently     (EAI_FAIL)
 *   ENOMEM        the helper ran out of memory       (EAI_MEMORY)
 *   EOPNOTSUPP    the network namespace has no files (EAI_SYSTEM)
 *   EIO           any other error                    (EAI_SYSTEM)
 * The helper never uses ENOKEY, which means that no helper is installed.
 */

/**
 * struct rdma_cmx_names_addr - one address of a name
 * @family: AF_INET or AF_INET6
 * @port: port number of the service at this address, used if the caller gives
 *	none; 0: none, always in version 1
 * @scope_id: interface index of a link-local IPv6 address, else 0
 * @addr: 4 bytes (AF_INET, the rest 0) or 16 bytes (AF_INET6)
 */
struct rdma_cmx_names_addr {
	__u16 family;
	__u16 port;
	__u32 scope_id;
	__u8 addr[16];
};

/**
 * struct rdma_cmx_names - result of a name lookup, the key's payload
 * @version: RDMA_CMX_NAMES_VERSION or RDMA_CMX_NAMES_VERSION_PORTS
 * @addr_count: entries of @addrs, 1 to RDMA_CMX_NAMES_MAX_ADDRS, in the
 *	order of the host's name service, without duplicates. With ports, in
 *	the order of the SRV records
 * @canon_len: bytes of the canonical name behind the last address, without
 *	a final NUL (none is sent); 0 if there is none
 * @reserved: 0
 * @addrs: the addresses
 */
struct rdma_cmx_names {
	__u16 version;
	__u16 addr_count;
	__u16 canon_len;
	__u16 reserved;
	struct rdma_cmx_names_addr addrs[];
};

#endif /* RDMA_CMX_NAMES_H */
