// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * SEC-01: a program loads the stock librdmacm, which calls this library, and
 * unloads it. This library recognizes the calls of the stock library by their
 * addresses. No other code may be mapped there, and a second dlopen() returns
 * the same addresses. Without the devices the calls fail, but the library
 * remembers the addresses.
 */
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include "api.h"

#define STOCK	"librdmacm.so.1"

/* A mapped library */
struct mapped {
	void *handle;
	uintptr_t base, start, end;	/* its code from @start to @end */
};

static int code_find(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t page = sysconf(_SC_PAGESIZE);
	struct mapped *m = arg;
	int i;

	if (info->dlpi_addr != m->base)
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		m->start = (m->base + ph->p_vaddr) & -page;
		m->end = (m->base + ph->p_vaddr + ph->p_memsz + page - 1) & -page;
	}
	return 1;
}

static bool stock_load(struct mapped *m)
{
	struct link_map *map;

	memset(m, 0, sizeof(*m));
	m->handle = dlopen(STOCK, RTLD_NOW | RTLD_LOCAL);
	if (!m->handle || dlinfo(m->handle, RTLD_DI_LINKMAP, &map))
		return false;
	m->base = map->l_addr;
	dl_iterate_phdr(code_find, m);
	return m->start;
}

/* The stock library creates and destroys an id with functions of this one. */
static bool stock_calls(const struct mapped *m)
{
	int (*make)(int domain, int type, int protocol);
	int (*end)(int socket);
	int fd;

	make = (__typeof__(make))dlsym(m->handle, "rsocket");
	end = (__typeof__(end))dlsym(m->handle, "rclose");
	if (!make || !end || (uintptr_t)make < m->start ||
	    (uintptr_t)make >= m->end)
		return false;
	fd = make(AF_INET, SOCK_STREAM, 0);
	return fd < 0 ? access("/dev/infiniband/rdma_cm", F_OK) != 0 : !end(fd);
}

/* Counts the pages of its code that other code could use now. */
static int pages_free(const struct mapped *m)
{
	size_t page = sysconf(_SC_PAGESIZE);
	uintptr_t at;
	int n = 0;

	for (at = m->start; at < m->end; at += page) {
		void *got = mmap((void *)at, page, PROT_NONE, MAP_PRIVATE |
				 MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		if (got == MAP_FAILED)
			continue;
		n++;
		munmap(got, page);
	}
	return n;
}

TEST(SEC_01_no_other_code_at_the_addresses_of_the_stock_library)
{
	struct mapped first, again;
	char other;

	ASSERT_TRUE(stock_load(&first));
	ASSERT_EQ(0, pages_free(&first));
	ASSERT_TRUE(stock_calls(&first));
	ASSERT_EQ(0, dlclose(first.handle));
	EXPECT_EQ(0, pages_free(&first));
	/* Memory that is no object stays invalid. */
	errno = 0;
	EXPECT_EQ(-1, rdma_destroy_id((struct rdma_cm_id *)&other));
	EXPECT_EQ(EINVAL, errno);

	ASSERT_TRUE(stock_load(&again));
	EXPECT_EQ(first.base, again.base);
	EXPECT_EQ(first.end, again.end);
	EXPECT_TRUE(stock_calls(&again));
	EXPECT_EQ(0, dlclose(again.handle));
	EXPECT_EQ(0, pages_free(&again));
}

/* A stock library that never called this library is unloaded. */
TEST(SEC_01_an_unused_stock_library_is_unloaded)
{
	struct mapped m;

	ASSERT_TRUE(stock_load(&m));
	ASSERT_EQ(0, dlclose(m.handle));
	EXPECT_NE(0, pages_free(&m));
	/* This searches for the stock library, which is unloaded. */
	ASSERT_TRUE(stock_load(&m));
	EXPECT_TRUE(stock_calls(&m));
	ASSERT_EQ(0, dlclose(m.handle));
	EXPECT_EQ(0, pages_free(&m));
}

TEST_HARNESS_MAIN
