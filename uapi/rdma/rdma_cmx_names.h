/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR Linux-OpenIB */
/*
 * What the name helper hands to the kernel.
 *
 * rdma_cmx asks for a key of type RDMA_CMX_NAMES_KEY_TYPE whose description
 * is the host name. The type begins with a dot, so that add_key(2) and
 * request_key(2) refuse it with EPERM. request-key(8) starts the helper, which
 * instantiates the key with one struct rdma_cmx_names followed by its addresses
 * and the canonical name, or rejects it with one of the errnos below. All
 * numbers are in host byte order, addresses in network byte order. The kernel
 * checks every length again: an answer that does not add up is EBADMSG.
 *
 * These structs never change, as there is an array behind the first: another
 * form is another version, and a kernel that does not know it says EBADMSG.
 */
#ifndef RDMA_CMX_NAMES_H
#define RDMA_CMX_NAMES_H

#include <linux/types.h>

#define RDMA_CMX_NAMES_KEY_TYPE	".rdma_cmx_name"
#define RDMA_CMX_NAMES_VERSION	1

/* Addresses in one answer; a name with more keeps the first ones. */
#define RDMA_CMX_NAMES_MAX_ADDRS	256
/* A DNS name in text form, without the final NUL. */
#define RDMA_CMX_NAMES_MAX_NAME		253

/*
 * Errnos that a name look-up ends with, told apart so that each becomes its
 * own EAI code in user space:
 *   ENOENT        no such name                       (EAI_NONAME)
 *   ENODATA       the name exists without an address (EAI_NODATA)
 *   EAGAIN        temporary failure, SERVFAIL        (EAI_AGAIN)
 *   ETIMEDOUT     no server answered in time         (EAI_AGAIN)
 *   ECONNREFUSED  the servers refuse for good        (EAI_FAIL)
 *   ENOMEM        the helper ran out of memory       (EAI_MEMORY)
 *   EIO           anything else                      (EAI_SYSTEM)
 * ENOKEY is never used by the helper: it means that no helper is installed.
 */

/**
 * struct rdma_cmx_names_addr - one address of a name
 * @family: AF_INET or AF_INET6
 * @reserved: 0
 * @scope_id: interface index of a link-local IPv6 address, else 0
 * @addr: 4 bytes (AF_INET, the rest 0) or 16 bytes (AF_INET6)
 */
struct rdma_cmx_names_addr {
	__u16 family;
	__u16 reserved;
	__u32 scope_id;
	__u8 addr[16];
};

/**
 * struct rdma_cmx_names - answer, the key's payload
 * @version: RDMA_CMX_NAMES_VERSION
 * @addr_count: entries of @addrs, 1 to RDMA_CMX_NAMES_MAX_ADDRS, in the
 *	order of the host's name service, without duplicates
 * @canon_len: bytes of the canonical name behind the last address, without
 *	a final NUL (none is sent); 0 when there is none
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
