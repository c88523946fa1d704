/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* One lookup of a name by libc, for the name helper and for the library */
#ifndef CMX_NAMES_LOOKUP_H
#define CMX_NAMES_LOOKUP_H

#include <stddef.h>

/*
 * Looks up @name. Returns 0 with the result in @buf, in the form of
 * cmx_names_pack(), and its length in @len; or an errno of rdma_cmx_names.h.
 * After EAGAIN _res.res_h_errno is TRY_AGAIN if the DNS client of this thread
 * failed.
 */
int cmx_names_lookup(const char *name, void *buf, size_t *len);

#endif /* CMX_NAMES_LOOKUP_H */
