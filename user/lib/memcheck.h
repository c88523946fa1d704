/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Valgrind does not know what our ioctls write. Where its header was there at
 * build time it is told; the request costs a few instructions that do nothing
 * outside of it.
 */
#ifndef RDMACMX_MEMCHECK_H
#define RDMACMX_MEMCHECK_H

#include <stddef.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>

static inline void cmx_mem_written(void *start, size_t len)
{
	(void)VALGRIND_MAKE_MEM_DEFINED(start, len);
}
#else
static inline void cmx_mem_written(void *start, size_t len)
{
}
#endif

#endif /* RDMACMX_MEMCHECK_H */
