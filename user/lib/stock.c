// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Living beside the stock librdmacm. A preloaded program that uses rsockets
 * has both libraries: rsocket functions are the stock's, but what they call
 * by name (rdma_create_id() and the like) ends up here. Ids and events tell
 * by their magic whose they are; where there is none yet, or only a channel,
 * the caller's address does. What is the stock library's is handed on to it.
 *
 * The stock library's place is looked up once and then only read.
 */
#define _GNU_SOURCE	/* RTLD_NEXT, dl_iterate_phdr() */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "lib.h"

#ifdef CMX_SHARED

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uintptr_t stock_start;
static uintptr_t stock_end;

static int stock_find(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *base = strrchr(info->dlpi_name, '/');
	int i;

	base = base ? base + 1 : info->dlpi_name;
	if (strncmp(base, "librdmacm.so", 12))
		return 0;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		stock_start = start;
		stock_end = start + ph->p_memsz;
		return 1;
	}
	return 0;
}

static void stock_init(void)
{
	dl_iterate_phdr(stock_find, NULL);
}

bool cmx_stock_caller(const void *address)
{
	uintptr_t caller = (uintptr_t)address;

	pthread_once(&once, stock_init);
	return caller >= stock_start && caller < stock_end;
}

void *cmx_stock_function(const char *name)
{
	pthread_once(&once, stock_init);
	return stock_end ? dlsym(RTLD_NEXT, name) : NULL;
}

#else /* the static library is never preloaded */

bool cmx_stock_caller(const void *address)
{
	return false;
}

void *cmx_stock_function(const char *name)
{
	return NULL;
}

#endif
