/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Annotations for Valgrind: the memory that the ioctls write, an id that the
 * kernel passes from one thread to another, and the atomic variables. They
 * exist if Valgrind's headers were present at build time. An annotation takes
 * 20 instructions: without Valgrind only the check for it is executed.
 */
#ifndef RDMACMX_MEMCHECK_H
#define RDMACMX_MEMCHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Does the process run under Valgrind? The library knows, its tests do not. */
#ifndef CMX_ON_VALGRIND
#define CMX_ON_VALGRIND	true
#endif

#if __has_include(<valgrind/memcheck.h>) && \
	__has_include(<valgrind/helgrind.h>)
#include <valgrind/helgrind.h>
#include <valgrind/memcheck.h>

static inline bool cmx_valgrind_find(void)
{
	return RUNNING_ON_VALGRIND;
}

static inline void cmx_mem_written(void *start, size_t len)
{
	if (CMX_ON_VALGRIND)
		(void)VALGRIND_MAKE_MEM_DEFINED(start, len);
}

/* All accesses of this thread to @obj precede ... */
static inline void cmx_mem_give(const void *obj)
{
	if (CMX_ON_VALGRIND)
		ANNOTATE_HAPPENS_BEFORE(obj);
}

/* ... the later ones of this thread. */
static inline void cmx_mem_take(const void *obj)
{
	if (CMX_ON_VALGRIND)
		ANNOTATE_HAPPENS_AFTER(obj);
}

static inline void cmx_mem_atomic(const void *start, size_t len)
{
	if (CMX_ON_VALGRIND)
		VALGRIND_HG_DISABLE_CHECKING(start, len);
}
#else
static inline bool cmx_valgrind_find(void)
{
	return false;
}

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
