// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Living beside the stock librdmacm. A preloaded program that uses rsockets
 * has both libraries: rsocket functions are the stock's, but what they call
 * by name (rdma_create_id() and the like) ends up here. Ids and events tell
 * by their magic whose they are; where there is none yet, or only a channel,
 * the caller's address does. What is the stock library's is handed on to it.
 *
 * The stock library may be loaded later than this one: it is looked for anew
 * whenever something has been loaded since. That writes with the lock held,
 * and whoever reads does so atomically. The lock is there for fork(), too:
 * glibc leaves a child that is made during dl_iterate_phdr() with a lock that
 * nobody opens.
 */
#define _GNU_SOURCE	/* dl_iterate_phdr() */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "lib.h"

#ifdef CMX_SHARED

static uintptr_t stock_start;
static uintptr_t stock_end;
static char stock_path[PATH_MAX];
static unsigned long long loads_seen;
CMX_MEM_ATOMIC(stock_start)
CMX_MEM_ATOMIC(stock_end)
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

static void stock_found(const struct dl_phdr_info *info)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		snprintf(stock_path, sizeof(stock_path), "%s",
			 info->dlpi_name);
		__atomic_store_n(&stock_end, start + ph->p_memsz,
				 __ATOMIC_RELAXED);
		__atomic_store_n(&stock_start, start, __ATOMIC_RELEASE);
		return;
	}
}

static int stock_look(struct dl_phdr_info *info, size_t size, void *data)
{
	unsigned long long *loads = data;
	const char *base = strrchr(info->dlpi_name, '/');

	if (info->dlpi_adds == loads_seen)
		return 1;
	*loads = info->dlpi_adds;
	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, "librdmacm.so", 12))
		return 0;
	stock_found(info);
	return 1;
}

/* Only after all have been looked at is the number of loads remembered. */
static void stock_find(void)
{
	unsigned long long loads = 0;

	cmx_fork_init();
	cmx_stock_lock();
	if (!dl_iterate_phdr(stock_look, &loads))
		__atomic_store_n(&loads_seen, loads, __ATOMIC_RELAXED);
	cmx_stock_unlock();
}

/*
 * @look: the caller may be a library that was loaded just now. Whoever has
 * an object of the stock library already has been seen.
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

/* By its own handle: it need not be where a global search finds it. */
void *cmx_stock_function(const char *name)
{
	void *stock, *function;

	if (!__atomic_load_n(&stock_start, __ATOMIC_ACQUIRE))
		stock_find();
	if (!__atomic_load_n(&stock_start, __ATOMIC_ACQUIRE))
		return NULL;
	stock = dlopen(stock_path, RTLD_LAZY | RTLD_NOLOAD);
	if (!stock)
		return NULL;
	function = dlsym(stock, name);
	dlclose(stock);
	return function;
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

void *cmx_stock_function(const char *name)
{
	return NULL;
}

#endif
