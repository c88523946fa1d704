// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Living beside the stock librdmacm. A preloaded program that uses rsockets
 * has both libraries: rsocket functions are the stock's, but the functions that
 * they call by name (rdma_create_id() and the like) are these, which forward
 * the call. An object that is not of this library (own.c) is the stock's if the
 * stock library passes it, which the return address shows, or if it is an id
 * that the stock library has made through here: should a function of it end
 * with a jump, the return address is its caller's. Calls with any other object
 * fail.
 *
 * The stock library may be loaded later than this one: this library searches
 * again whenever something has been loaded since. Once found it is never
 * unloaded: a permanent reference prevents that other code comes to lie at its
 * addresses, and that a forwarded call loses the code under it.
 * That costs a program that wants to unload it the library's few pages; to
 * check at each call would cost every program time.
 *
 * The result is written with the lock held and read atomically. The lock is
 * there for fork(), too: glibc leaves a child that is made during
 * dl_iterate_phdr() with a lock that nobody unlocks. dlopen() is called without
 * it, as a constructor of another library may call this one.
 */
#define _GNU_SOURCE	/* dl_iterate_phdr() */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "lib.h"

#ifdef CMX_SHARED

/* The stock library as dl_iterate_phdr() shows it */
struct found {
	unsigned long long loads;
	uintptr_t base;
	uintptr_t start;
	uintptr_t end;
	char path[PATH_MAX];
};

static uintptr_t stock_start;
static uintptr_t stock_end;
static void *stock_handle;
static unsigned long long loads_seen;
CMX_MEM_ATOMIC(stock_start)
CMX_MEM_ATOMIC(stock_end)
CMX_MEM_ATOMIC(stock_handle)
CMX_MEM_ATOMIC(loads_seen)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void cmx_stock_lock(void)
{
	pthread_mutex_lock(&lock);
}

void cmx_stock_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void stock_found(const struct dl_phdr_info *info, struct found *found)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		snprintf(found->path, sizeof(found->path), "%s",
			 info->dlpi_name);
		found->base = info->dlpi_addr;
		found->start = info->dlpi_addr + ph->p_vaddr;
		found->end = found->start + ph->p_memsz;
		return;
	}
}

static int stock_look(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *base = strrchr(info->dlpi_name, '/');
	struct found *found = data;

	if (info->dlpi_adds == loads_seen)
		return 1;
	found->loads = info->dlpi_adds;
	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, "librdmacm.so", 12))
		return 0;
	stock_found(info, found);
	return 1;
}

/* It may have been unloaded meanwhile: then the next call looks again. */
static void stock_keep(const struct found *found)
{
	struct link_map *map;
	void *handle;

	handle = dlopen(found->path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (!handle)
		return;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) ||
	    map->l_addr != found->base) {
		dlclose(handle);
		return;
	}
	cmx_stock_lock();
	__atomic_store_n(&stock_handle, handle, __ATOMIC_RELAXED);
	__atomic_store_n(&stock_end, found->end, __ATOMIC_RELAXED);
	__atomic_store_n(&stock_start, found->start, __ATOMIC_RELEASE);
	cmx_stock_unlock();
}

/* Only after all have been looked at is the number of loads remembered. */
static void stock_find(void)
{
	struct found found;

	found.loads = 0;
	found.start = 0;
	cmx_fork_init();
	cmx_stock_lock();
	if (!dl_iterate_phdr(stock_look, &found))
		__atomic_store_n(&loads_seen, found.loads, __ATOMIC_RELAXED);
	cmx_stock_unlock();
	if (found.start)
		stock_keep(&found);
}

/*
 * @look: the caller may be a library that was loaded just now. A caller that
 * has an object of the stock library has been seen already.
 */
bool cmx_stock_caller(const void *address, bool look)
{
	uintptr_t caller = (uintptr_t)address;
	uintptr_t start = __atomic_load_n(&stock_start, __ATOMIC_ACQUIRE);

	if (!start && look) {
		stock_find();
		start = __atomic_load_n(&stock_start, __ATOMIC_ACQUIRE);
	}
	return start && caller >= start &&
	       caller < __atomic_load_n(&stock_end, __ATOMIC_RELAXED);
}

/* @address: of the caller of the function that got @obj */
bool cmx_stock_owner(const void *obj, const void *address)
{
	return obj && (cmx_own(obj, CMX_STOCK_ID) ||
		       cmx_stock_caller(address, false));
}

/* By its own handle: it need not be where a global search finds it. */
void *cmx_stock_function(const char *name)
{
	if (!__atomic_load_n(&stock_start, __ATOMIC_ACQUIRE))
		stock_find();
	if (!__atomic_load_n(&stock_start, __ATOMIC_ACQUIRE))
		return NULL;
	return dlsym(__atomic_load_n(&stock_handle, __ATOMIC_RELAXED), name);
}

#else /* the static library is never preloaded */

void cmx_stock_lock(void)
{
}

void cmx_stock_unlock(void)
{
}

bool cmx_stock_caller(const void *address, bool look)
{
	return false;
}

bool cmx_stock_owner(const void *obj, const void *address)
{
	return false;
}

void *cmx_stock_function(const char *name)
{
	return NULL;
}

#endif
