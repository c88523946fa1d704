// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The objects of this library: the address and the kind of each object that it
 * has created and not freed. The library compares a pointer from outside with
 * these before it reads the memory, which may be another library's, written by
 * a peer, or freed.
 *
 * A tree over the bits of an address, with one byte for each place where
 * malloc() can put an object at its end. Nodes are only added. Nodes and bytes
 * change atomically: no locks, and fork() at any time leaves a consistent tree.
 * A node is small, so that it costs little of locked or limited memory.
 */
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib.h"

/* malloc() aligns objects to it. */
#define UNIT_BITS	(_Alignof(max_align_t) >= 16 ? 4 : 3)
#define LEAF_BITS	(15 - UNIT_BITS)
#define NODE_BITS	11
#define LEVELS		3	/* of nodes */
#define NODE_SIZE	(1 << NODE_BITS)
#define UNITS_BITS	(LEAF_BITS + LEVELS * NODE_BITS)

bool cmx_valgrind;	/* for memcheck.h */

/* Before the constructors of CMX_MEM_ATOMIC() */
static void __attribute__((constructor(101))) valgrind_init(void)
{
	cmx_valgrind = cmx_valgrind_find();
}

static void *root[NODE_SIZE];
CMX_MEM_ATOMIC(root)

/* Another thread may have been first. */
static void *node_add(void **pos, size_t size)
{
	void *new = calloc(1, size), *old = NULL;

	if (!new)
		return NULL;
	cmx_mem_atomic(new, size);
	if (__atomic_compare_exchange_n(pos, &old, new, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return new;
	free(new);
	return old;
}

/* Its number in units; false: no object can have this address. */
static inline bool unit_number(const void *obj, uint64_t *unit)
{
	*unit = (uintptr_t)obj >> UNIT_BITS;
	return !((uintptr_t)obj & ((1 << UNIT_BITS) - 1)) &&
	       !(*unit >> UNITS_BITS);
}

static inline unsigned int node_index(uint64_t unit, int level)
{
	return unit >> (LEAF_BITS + level * NODE_BITS) & (NODE_SIZE - 1);
}

/* The byte for @obj; NULL if there is none. Each call of the API uses it. */
static inline uint8_t *unit_find(const void *obj)
{
	void *node = root;
	uint64_t unit;
	int level;

	if (!unit_number(obj, &unit))
		return NULL;
#pragma GCC unroll 3
	for (level = LEVELS - 1; level >= 0; level--) {
		node = __atomic_load_n((void **)node + node_index(unit, level),
				       __ATOMIC_ACQUIRE);
		if (!node)
			return NULL;
	}
	return (uint8_t *)node + (unit & ((1 << LEAF_BITS) - 1));
}

/* Likewise, adds missing nodes; NULL without memory. */
static uint8_t *unit_make(const void *obj)
{
	void **node = root, **pos, *next = NULL;
	uint64_t unit;
	int level;

	if (!unit_number(obj, &unit))
		return NULL;
	for (level = LEVELS - 1; level >= 0; level--) {
		pos = &node[node_index(unit, level)];
		next = __atomic_load_n(pos, __ATOMIC_ACQUIRE);
		if (!next)
			next = node_add(pos, level ? NODE_SIZE * sizeof(void *) :
						     1 << LEAF_BITS);
		if (!next)
			return NULL;
		node = next;
	}
	return (uint8_t *)next + (unit & ((1 << LEAF_BITS) - 1));
}

/*
 * Address and handle of a new object may be those of one that was freed, of
 * which a child of fork() has a copy. The number distinguishes them.
 */
static uint16_t number;
CMX_MEM_ATOMIC(number)

uint16_t cmx_cookie_number(void)
{
	return __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);
}

uint64_t cmx_cookie(const void *obj)
{
	return (uintptr_t)obj | (uint64_t)cmx_cookie_number() << CMX_OWN_BITS;
}

/* In the child of fork(): its siblings have the same addresses and number. */
void cmx_cookie_forked(void)
{
	uint16_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) !=
	    sizeof(random))
		random = getpid();
	__atomic_add_fetch(&number, random, __ATOMIC_RELAXED);
}

/*
 * The place of the kind of @obj, for cmx_own_set(); NULL with ENOMEM. A known
 * object at this address is forgotten. @obj is not const, which would mean that
 * its contents are initialised.
 */
uint8_t *cmx_own_reserve(void *obj)
{
	uint8_t *unit = unit_find(obj);

	if (!unit)
		unit = unit_make(obj);
	if (!unit) {
		errno = ENOMEM;
		return NULL;
	}
	cmx_own_set(unit, CMX_NONE);
	return unit;
}

/* -1 with ENOMEM. It replaces a known object at this address. */
int cmx_own_add(void *obj, enum cmx_kind kind)
{
	uint8_t *unit = cmx_own_reserve(obj);

	if (!unit)
		return -1;
	cmx_own_set(unit, kind);
	return 0;
}

bool cmx_own(const void *obj, enum cmx_kind kind)
{
	const uint8_t *unit = unit_find(obj);

	return unit && __atomic_load_n(unit, __ATOMIC_ACQUIRE) == kind;
}

/* False: it was absent. True in only one of several threads. */
bool cmx_own_del(const void *obj, enum cmx_kind kind)
{
	uint8_t *unit = unit_find(obj);
	uint8_t was = kind;

	return unit && __atomic_compare_exchange_n(unit, &was, CMX_NONE, false,
						   __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED);
}
