/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Annotations for Valgrind: the memory that the ioctls write, an id that the
 * kernel passes from one thread to another, and the atomic variables. They
 * exist if Valgrind's headers were present at build time. Each costs a few
 * instructions, which have no effect outside of Valgrind.
 */
#ifndef RDMACMX_MEMCHECK_H
#define RDMACMX_MEMCHECK_H

#include <stddef.h>

#if __has_include(<valgrind/memcheck.h>) && \
	__has_include(<valgrind/helgrind.h>)
#include <valgrind/helgrind.h>
#include <valgrind/memcheck.h>

static inline void cmx_mem_written(void *start, size_t len)
{
	(void)VALGRIND_MAKE_MEM_DEFINED(start, len);
}

/* All accesses of this thread to @obj precede ... */
static inline void cmx_mem_give(const void *obj)
{
	ANNOTATE_HAPPENS_BEFORE(obj);
}

/* ... the later ones of this thread. */
static inline void cmx_mem_take(const void *obj)
{
	ANNOTATE_HAPPENS_AFTER(obj);
}

static inline void cmx_mem_atomic(const void *start, size_t len)
{
	VALGRIND_HG_DISABLE_CHECKING(start, len);
}
#else
static inline void cmx_mem_written(void *start, size_t len)
{
}

static inline void cmx_mem_give(const void *obj)
{
}

static inline void cmx_mem_take(const void *obj)
{
}

static inline void cmx_mem_atomic(const void *start, size_t len)
{
}
#endif

/* For a static variable */
#define CMX_MEM_ATOMIC(var)						\
static void __attribute__((constructor)) cmx_mem_##var(void)		\
{									\
	cmx_mem_atomic(&var, sizeof(var));				\
}

#endif /* RDMACMX_MEMCHECK_H */
