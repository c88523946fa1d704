// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Coexistence with the stock librdmacm. A preloaded program that uses rsockets
 * has both libraries: the rsocket functions are the stock's, but the functions
 * that they call by name (rdma_create_id() and the like) are these, which
 * forward the call. An object that is not of this library (own.c) is the
 * stock's in two cases: the stock library passes it, which the return address
 * shows; or it is an id that the stock library has created through here, in
 * case a function of it ends with a jump and the return address is its
 * caller's. Calls with any other object fail.
 *
 * The stock library may be loaded later than this one: this library searches
 * again whenever an object has been loaded since, unless the caller is the
 * program itself, which is never unloaded. A permanent reference keeps the
 * stock library loaded once found: other code must not get its addresses, and a
 * forwarded call must not lose its code. A program that wants to unload it
 * keeps the library's few pages; a check at each call would cost every program
 * time.
 *
 * Where the device is absent, as in a container that gets only the stock
 * devices, the stock library serves the whole process. The first call that
 * needs the device decides that, once: a process that has had a file of the
 * device keeps this library, since its objects are useless to the other.
 *
 * The result is written with the lock held and read atomically. The lock is
 * also for fork(): glibc leaves a child of a fork during dl_iterate_phdr() with
 * a lock that no thread releases. dlopen() is called without it, as a
 * constructor of another library may call this one.
 */
#define _GNU_SOURCE	/* dl_iterate_phdr(), secure_getenv() */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib.h"

#ifdef CMX_SHARED

#define STOCK_DEVICE	"/dev/infiniband/rdma_cm"

/* The library that serves this process */
enum {
	CMX_PLACE_UNKNOWN,
	CMX_PLACE_OURS,
	CMX_PLACE_STOCK,
};

/* The stock library as dl_iterate_phdr() reports it */
struct found {
	unsigned long long loads;
	uintptr_t base;
	uintptr_t start;
	uintptr_t end;
	char path[PATH_MAX];
};

static uintptr_t program_start;
static uintptr_t program_end;
static uintptr_t stock_start;
static uintptr_t stock_end;
static void *stock_handle;
static int place = CMX_PLACE_UNKNOWN;
static unsigned long long loads_seen;
CMX_MEM_ATOMIC(program_start)
CMX_MEM_ATOMIC(program_end)
CMX_MEM_ATOMIC(stock_start)
CMX_MEM_ATOMIC(stock_end)
CMX_MEM_ATOMIC(stock_handle)
CMX_MEM_ATOMIC(place)
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

/* Finds the range of its code; false if it has none. */
static bool code_find(const struct dl_phdr_info *info, uintptr_t *start,
		      uintptr_t *end)
{
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		*start = info->dlpi_addr + ph->p_vaddr;
		*end = *start + ph->p_memsz;
		return true;
	}
	return false;
}

/* Ignores this library by the stock's name: it must not forward to itself. */
static void stock_found(const struct dl_phdr_info *info, struct found *found)
{
	uintptr_t own = (uintptr_t)stock_found, start, end;

	if (!code_find(info, &start, &end) || (own >= start && own < end))
		return;
	snprintf(found->path, sizeof(found->path), "%s", info->dlpi_name);
	found->base = info->dlpi_addr;
	found->start = start;
	found->end = end;
}

/* The lock is held. The program is the only object without a name. */
static void program_found(const struct dl_phdr_info *info)
{
	uintptr_t start, end;

	if (program_start || !code_find(info, &start, &end))
		return;
	__atomic_store_n(&program_end, end, __ATOMIC_RELAXED);
	__atomic_store_n(&program_start, start, __ATOMIC_RELEASE);
}

static bool by_program(uintptr_t caller)
{
	uintptr_t start = __atomic_load_n(&program_start, __ATOMIC_ACQUIRE);

	return start && caller >= start &&
	       caller < __atomic_load_n(&program_end, __ATOMIC_RELAXED);
}

static int stock_look(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *base = strrchr(info->dlpi_name, '/');
	struct found *found = data;

	if (info->dlpi_adds == loads_seen)
		return 1;
	found->loads = info->dlpi_adds;
	if (!info->dlpi_name[0])
		program_found(info);
	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, "librdmacm.so", 12))
		return 0;
	stock_found(info, found);
	return !!found->start;
}

/* It may have been unloaded meanwhile: then the next call searches again. */
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

/* The number of loads is stored only after all objects were visited. */
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

static int place_get(void)
{
	return __atomic_load_n(&place, __ATOMIC_ACQUIRE);
}

/* Returns the place: @new, unless it was decided before. */
static int place_decide(int new)
{
	int old = CMX_PLACE_UNKNOWN;

	if (!__atomic_compare_exchange_n(&place, &old, new, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return old;
	if (new == CMX_PLACE_STOCK && secure_getenv("RDMACMX_VERBOSE"))
		fputs("librdmacmx: " RDMA_CMX_DEVICE " is not here: "
		      "librdmacm serves this process\n", stderr);
	return new;
}

/*
 * @look: the caller may be a library that was loaded just now. A caller that
 * has an object of the stock library was found before.
 */
bool cmx_stock_caller(const void *address, bool look)
{
	uintptr_t caller = (uintptr_t)address;
	uintptr_t start = __atomic_load_n(&stock_start, __ATOMIC_ACQUIRE);

	if (place_get() == CMX_PLACE_STOCK)
		return true;
	if (!start && look && !by_program(caller)) {
		stock_find();
		start = __atomic_load_n(&stock_start, __ATOMIC_ACQUIRE);
	}
	return start && caller >= start &&
	       caller < __atomic_load_n(&stock_end, __ATOMIC_RELAXED);
}

/* @address: of the caller of the function with the argument @obj */
bool cmx_stock_owner(const void *obj, const void *address)
{
	return obj && (cmx_own(obj, CMX_STOCK_ID) ||
		       cmx_stock_caller(address, true));
}

/* By its handle: a global search may not find it. */
void *cmx_stock_function(const char *name)
{
	void *function;

	if (!__atomic_load_n(&stock_start, __ATOMIC_ACQUIRE))
		stock_find();
	if (!__atomic_load_n(&stock_start, __ATOMIC_ACQUIRE)) {
		errno = EINVAL;
		return NULL;
	}
	function = dlsym(__atomic_load_n(&stock_handle, __ATOMIC_RELAXED), name);
	if (!function)
		errno = ENOSYS;
	return function;
}

/* A file of the device is open. False: another thread was first without it. */
bool cmx_stock_unwanted(void)
{
	int now = place_get();

	if (now == CMX_PLACE_UNKNOWN)
		now = place_decide(CMX_PLACE_OURS);
	return now == CMX_PLACE_OURS;
}

static bool stock_device_there(void)
{
	int fd = open(STOCK_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * The device cannot be opened, errno has the reason. True if the stock library
 * serves the process instead. Not if its device cannot be opened, either: the
 * modules may be loaded later. A device that refuses the user (EACCES) is a
 * decision of the administrator, and an error; a container without the right to
 * any such device gets EPERM.
 */
bool cmx_stock_instead(void)
{
	int err = errno;
	bool instead = false;

	switch (err) {
	case ENOENT:
	case ENOTDIR:
	case ENODEV:
	case ENXIO:
	case EPERM:
		if (place_get() == CMX_PLACE_UNKNOWN &&
		    stock_device_there() &&
		    cmx_stock_function("rdma_create_id"))
			place_decide(CMX_PLACE_STOCK);
		instead = place_get() == CMX_PLACE_STOCK;
	}
	errno = err;
	return instead;
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
	errno = EINVAL;
	return NULL;
}

bool cmx_stock_unwanted(void)
{
	return true;
}

bool cmx_stock_instead(void)
{
	return false;
}

#endif
