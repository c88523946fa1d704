// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Out of memory: the n-th allocation of a call fails, for every n until the
 * call succeeds. Each call reports EAI_MEMORY (GAI-02) and leaks nothing
 * (GAI-13). The allocator below replaces libc's for the library, too.
 */
#include "api.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static __thread long fail_at;		/* counts down to the failure; 0: off */
static __thread bool failed;
static long live;			/* blocks, atomic */

static bool fail_now(void)
{
	if (!fail_at || --fail_at)
		return false;
	failed = true;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	void *p = fail_now() ? NULL : __libc_malloc(size);

	if (p)
		__atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
	return p;
}

void *calloc(size_t n, size_t size)
{
	void *p = fail_now() ? NULL : __libc_calloc(n, size);

	if (p)
		__atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
	return p;
}

void *realloc(void *old, size_t size)
{
	void *p = fail_now() ? NULL : __libc_realloc(old, size);

	if (p && !old)
		__atomic_add_fetch(&live, 1, __ATOMIC_RELAXED);
	return p;
}

void free(void *p)
{
	if (p)
		__atomic_sub_fetch(&live, 1, __ATOMIC_RELAXED);
	__libc_free(p);
}

static void sweep(struct __test_metadata *_metadata, const char *node,
		  const char *service, const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *res;
	long before, n;
	int ret;

	/* Memory that the library allocates once and keeps is no leak. */
	ASSERT_EQ(0, rdma_getaddrinfo(node, service, hints, &res));
	rdma_freeaddrinfo(res);
	for (n = 1; n < 1000; n++) {
		before = live;
		failed = false;
		fail_at = n;
		ret = rdma_getaddrinfo(node, service, hints, &res);
		fail_at = 0;
		if (!ret)
			rdma_freeaddrinfo(res);
		EXPECT_EQ(before, live) {
			TH_LOG("allocation %ld", n);
		}
		if (!failed)
			break;
		EXPECT_EQ(EAI_MEMORY, ret) {
			TH_LOG("allocation %ld", n);
		}
	}
	EXPECT_EQ(0, ret);
	/* A call allocates a result at least. */
	EXPECT_LT(1, n);
}

TEST(GAI_02_out_of_memory_number)
{
	sweep(_metadata, PEER4, PORT, NULL);
}

TEST(GAI_02_out_of_memory_name)
{
	struct rdma_addrinfo hints = { .ai_qp_type = IBV_QPT_RC };

	sweep(_metadata, NAME_STORAGE, PORT, &hints);
}

TEST(GAI_02_out_of_memory_passive)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE };

	sweep(_metadata, NULL, PORT, &hints);
}

TEST(GAI_02_out_of_memory_hints)
{
	struct sockaddr_storage ss;
	struct rdma_addrinfo hints = {
		.ai_qp_type = IBV_QPT_RC,
		.ai_dst_addr = addr_make(&ss, PEER4, 7471),
		.ai_dst_len = sizeof(struct sockaddr_in),
	};

	sweep(_metadata, NULL, NULL, &hints);
}

/* An error of the name server leaks nothing. */
TEST(GAI_13_errors_leak_nothing)
{
	struct rdma_addrinfo *res;
	long before = 0;

	for (int i = 0; i < 5; i++) {
		if (i == 1)
			before = live;
		EXPECT_EQ(EAI_NONAME,
			  rdma_getaddrinfo("nobody.cmx.test", PORT, NULL, &res));
		EXPECT_EQ(EAI_SERVICE,
			  rdma_getaddrinfo(PEER4, "70000", NULL, &res));
	}
	EXPECT_EQ(before, live);
}

TEST_HARNESS_MAIN
