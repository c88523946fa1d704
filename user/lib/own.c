// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The objects of this library: the address and the kind of each object that it
 * has made and not freed. The library compares a pointer from outside with
 * these before it reads a byte behind it; that memory may be another library's,
 * a peer may have written it, or it may be freed.
 *
 * A tree over the bits of an address, with one byte for each place where malloc()
 * can put an object at its end. Nodes are only added, and both they and the bytes change
 * atomically: no locks, and fork() at any time leaves a whole tree. A node
 * holds little, so that memory that is locked or limited stays free.
 */
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "lib.h"

/* malloc() puts objects on multiples of that. */
#define UNIT_BITS	(_Alignof(max_align_t) >= 16 ? 4 : 3)
#define LEAF_BITS	(15 - UNIT_BITS)
#define NODE_BITS	11
#define LEVELS		3	/* of nodes */
#define NODE_SIZE	(1 << NODE_BITS)
#define UNITS_BITS	(LEAF_BITS + LEVELS * NODE_BITS)

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

/* Its number among the units of memory; false: no object lies there. */
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

/* The byte for @obj; NULL if there is none. Each call of the API comes here. */
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

/* The same, with the nodes that are missing; NULL: no memory for them. */
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
 * Address and handle of a new object may be those of one that is gone, of which
 * a child of fork() has a copy. The number distinguishes them.
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
 * -1 with ENOMEM. It replaces an object that was known at this address. @obj is
 * not const, which would mean that there is something to read yet.
 */
int cmx_own_add(void *obj, enum cmx_kind kind)
{
	uint8_t *unit = unit_find(obj);

	if (!unit)
		unit = unit_make(obj);
	if (!unit)
		return cmx_err(ENOMEM);
	__atomic_store_n(unit, kind, __ATOMIC_RELEASE);
	return 0;
}

bool cmx_own(const void *obj, enum cmx_kind kind)
{
	const uint8_t *unit = unit_find(obj);

	return unit && __atomic_load_n(unit, __ATOMIC_ACQUIRE) == kind;
}

/* False: it was not there. True for one of several threads. */
bool cmx_own_del(const void *obj, enum cmx_kind kind)
{
	uint8_t *unit = unit_find(obj);
	uint8_t was = kind;

	return unit && __atomic_compare_exchange_n(unit, &was, CMX_NONE, false,
						   __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED);
}
