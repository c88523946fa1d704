/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * What librdmacmx offers beyond <rdma/rdma_cma.h>.
 */
#ifndef RDMA_CMX_H
#define RDMA_CMX_H

#include <rdma/rdma_cma.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rdmacmx_ai_device - which local RDMA device reaches an address
 * @ai: an entry that rdma_getaddrinfo() or rdma_query_addrinfo() of this
 *	library returned; not one that the caller has made
 * @port: the device's port number, or NULL
 *
 * Returns the device's name as rdma(8) shows it, to be neither changed nor
 * freed. NULL with errno ENODEV: no local RDMA device reaches the address
 * (or the device has gone since); EINVAL: @ai is NULL or not from here.
 */
const char *rdmacmx_ai_device(const struct rdma_addrinfo *ai, uint8_t *port);

#ifdef __cplusplus
}
#endif

#endif /* RDMA_CMX_H */
