// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Handles, and addresses that come from user space. */
#include <linux/slab.h>

#include "ucmx.h"
#include "kunit.h"

#define IDS	200

static void handle_life(struct kunit *test)
{
	struct ucmx_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	struct ucmx_id *ids = kunit_kcalloc(test, IDS, sizeof(*ids),
					    GFP_KERNEL);
	u32 *handle = kunit_kcalloc(test, IDS, sizeof(*handle), GFP_KERNEL);
	u32 i, j;

	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_ASSERT_NOT_NULL(test, handle);
	KUNIT_ASSERT_NOT_NULL(test, ids);
	ucmx_handles_init(file);
	for (i = 0; i < IDS; i++) {
		refcount_set(&ids[i].ref, 1);
		KUNIT_ASSERT_EQ(test, 0, ucmx_handle_alloc(file, &handle[i],
							   &ids[i]));
		KUNIT_EXPECT_NE(test, handle[i], 0u);
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_NE(test, handle[i], handle[j]);
		/* A lookup does not find it before it is published. */
		KUNIT_EXPECT_NULL(test, ucmx_handle_get(file, handle[i]));
		KUNIT_EXPECT_NULL(test, ucmx_handle_take(file, handle[i], 0, 0));
		ids[i].owner = 1000 + i;
		ids[i].uid = 2000 + i;
		ucmx_handle_show(file, handle[i], &ids[i]);
	}
	KUNIT_EXPECT_NULL(test, ucmx_handle_get(file, 0));
	KUNIT_EXPECT_NULL(test, ucmx_handle_get(file, U32_MAX));
	KUNIT_EXPECT_NULL(test, ucmx_handle_get(file, 0x80000000));
	KUNIT_EXPECT_NULL(test, ucmx_handle_take(file, 0, 0, 0));
	KUNIT_EXPECT_NULL(test, ucmx_handle_take(file, U32_MAX, 0, 0));
	for (i = 0; i < IDS; i++) {
		KUNIT_EXPECT_PTR_EQ(test, ucmx_handle_get(file, handle[i]),
				    &ids[i]);
		KUNIT_EXPECT_EQ(test, refcount_read(&ids[i].ref), 2u);
		/* A lookup in another file fails. */
		KUNIT_EXPECT_NULL(test, ucmx_handle_take(file, handle[i],
							 999 + i, 0));
		/* So does one with the cookie of the former object. */
		KUNIT_EXPECT_NULL(test, ucmx_handle_take(file, handle[i], 0,
							 1999 + i));
		/* One caller removes it; the handle is not free yet. */
		KUNIT_EXPECT_PTR_EQ(test, ucmx_handle_take(file, handle[i],
							   i % 2 ? 1000 + i : 0,
							   i % 3 ? 2000 + i : 0),
				    &ids[i]);
		KUNIT_EXPECT_NULL(test, ucmx_handle_take(file, handle[i], 0, 0));
		KUNIT_EXPECT_NULL(test, ucmx_handle_get(file, handle[i]));
		KUNIT_ASSERT_EQ(test, 0, ucmx_handle_alloc(file, &j, &ids[i]));
		KUNIT_EXPECT_NE(test, j, handle[i]);
		ucmx_handle_free(file, j);
		ucmx_handle_free(file, handle[i]);
		KUNIT_EXPECT_NULL(test, ucmx_handle_get(file, handle[i]));
	}
	KUNIT_EXPECT_TRUE(test, xa_empty(&file->ids));
	xa_destroy(&file->ids);
}

/* A stale handle finds no id, although its index is in use again. */
static void handle_stale(struct kunit *test)
{
	struct ucmx_file *file = kunit_kzalloc(test, sizeof(*file), GFP_KERNEL);
	struct ucmx_id *id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);
	u32 *handle = kunit_kcalloc(test, 4097, sizeof(*handle), GFP_KERNEL);
	u32 i, kept;

	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_ASSERT_NOT_NULL(test, id);
	KUNIT_ASSERT_NOT_NULL(test, handle);
	refcount_set(&id->ref, 1);
	ucmx_handles_init(file);
	KUNIT_ASSERT_EQ(test, 0, ucmx_handle_alloc(file, &kept, id));
	for (i = 0; i < 4097; i++) {
		KUNIT_ASSERT_EQ(test, 0, ucmx_handle_alloc(file, &handle[i],
							   id));
		KUNIT_EXPECT_EQ(test, handle[i] & 0xfffff, 2u);
		ucmx_handle_show(file, handle[i], id);
		KUNIT_EXPECT_PTR_EQ(test, ucmx_handle_get(file, handle[i]), id);
		if (i) {
			KUNIT_EXPECT_NULL(test,
					  ucmx_handle_get(file, handle[i - 1]));
			KUNIT_EXPECT_NULL(test,
					  ucmx_handle_take(file, handle[i - 1],
							   0, 0));
		}
		if (i && i < 4096)
			KUNIT_EXPECT_NE(test, handle[i], handle[0]);
		KUNIT_EXPECT_PTR_EQ(test, id, ucmx_handle_take(file, handle[i],
							       0, 0));
		ucmx_handle_free(file, handle[i]);
	}
	/* The documented limit */
	KUNIT_EXPECT_EQ(test, handle[4096], handle[0]);
	ucmx_handle_free(file, kept);
	KUNIT_EXPECT_TRUE(test, xa_empty(&file->ids));
}

/* The entries of an id that migrates, or that a reader takes twice */
static struct entry {
	unsigned int file;
	u32 handle;
} entries[] = { { .file = 0 }, { .file = 0 }, { .file = 1 } };

/* Only the entry @shown, or none if it is not in the array, finds the id. */
static void handle_only(struct kunit *test, struct ucmx_file *files,
			struct ucmx_id *id, unsigned int shown)
{
	const struct entry *e;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		e = &entries[i];
		KUNIT_EXPECT_PTR_EQ(test, ucmx_handle_get(&files[e->file],
							  e->handle),
				    i == shown ? id : NULL);
		if (i == shown)
			continue;
		KUNIT_EXPECT_FALSE(test, ucmx_handle_hide(&files[e->file],
							  e->handle, id));
		KUNIT_EXPECT_NULL(test, ucmx_handle_take(&files[e->file],
							 e->handle, 0, 0));
	}
}

static void handle_entries(struct kunit *test)
{
	const unsigned int n = ARRAY_SIZE(entries);
	struct ucmx_file *files = kunit_kcalloc(test, 2, sizeof(*files),
						GFP_KERNEL);
	struct ucmx_id *id = kunit_kzalloc(test, sizeof(*id), GFP_KERNEL);
	const struct entry *e;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, files);
	KUNIT_ASSERT_NOT_NULL(test, id);
	refcount_set(&id->ref, 1);
	ucmx_handles_init(&files[0]);
	ucmx_handles_init(&files[1]);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ(test, 0, ucmx_handle_alloc(&files[entries[i].file],
							   &entries[i].handle,
							   id));
	KUNIT_EXPECT_NE(test, entries[0].handle, entries[1].handle);
	KUNIT_EXPECT_EQ(test, entries[0].handle, entries[2].handle);
	handle_only(test, files, id, n);
	for (i = 0; i < n; i++) {
		e = &entries[i];
		ucmx_handle_show(&files[e->file], e->handle, id);
		handle_only(test, files, id, i);
		/* Another id there */
		KUNIT_EXPECT_FALSE(test, ucmx_handle_hide(&files[e->file],
							  e->handle, NULL));
		if (i % 2)
			KUNIT_EXPECT_PTR_EQ(test, id,
					    ucmx_handle_take(&files[e->file],
							     e->handle, 0, 0));
		else
			KUNIT_EXPECT_TRUE(test, ucmx_handle_hide(&files[e->file],
								 e->handle, id));
		handle_only(test, files, id, n);
	}
	for (i = 0; i < n; i++)
		ucmx_handle_free(&files[entries[i].file], entries[i].handle);
	KUNIT_EXPECT_TRUE(test, xa_empty(&files[0].ids));
	KUNIT_EXPECT_TRUE(test, xa_empty(&files[1].ids));
}

/* The bytes after the address of a family must be zero. */
static void address_get(struct kunit *test)
{
	union rdma_cmx_sockaddr addr;
	struct rdma_cmx_addr from;
	u32 family, i, want;
	int ret;

	for (family = 0; family < 300; family++) {
		want = family == 2 ? 16 : family == 10 ? 28 :
		       family == 27 ? 48 : 0;
		memset(&from, 0, sizeof(from));
		from.family = family;
		ret = ucmx_addr_get(&addr, &from);
		KUNIT_EXPECT_EQ(test, ret, !family || want ? (int)want :
				-EINVAL);
		if (family && !want)
			continue;
		for (i = 2; i < sizeof(from); i++) {
			memset(&from, 0, sizeof(from));
			from.family = family;
			((u8 *)&from)[i] = 0x80;
			memset(&addr, 0xa5, sizeof(addr));
			ret = ucmx_addr_get(&addr, &from);
			KUNIT_EXPECT_EQ_MSG(test, ret,
					    i < want ? (int)want : -EINVAL,
					    "family %u byte %u", family, i);
			if (ret <= 0)
				continue;
			/* All bytes are set; IPv4's padding is dropped. */
			if (family != 2 || i < 8)
				((u8 *)&addr)[i] ^= 0x80;
			KUNIT_EXPECT_EQ(test, addr.sa.sa_family, family);
			KUNIT_EXPECT_NULL(test, memchr_inv((u8 *)&addr + 2, 0,
							   sizeof(addr) - 2));
		}
	}
}

static void address_put(struct kunit *test)
{
	union rdma_cmx_sockaddr addr;
	struct rdma_cmx_addr to;
	u32 family, want;

	for (family = 0; family < 300; family++) {
		want = family == 2 ? 16 : family == 10 ? 28 :
		       family == 27 ? 48 : 0;
		memset(&addr, 0x11, sizeof(addr));
		addr.sa.sa_family = family;
		memset(&to, 0xa5, sizeof(to));
		ucmx_addr_put(&to, &addr.sa);
		KUNIT_EXPECT_FALSE(test, memcmp(&to, &addr, want));
		KUNIT_EXPECT_NULL(test, memchr_inv((u8 *)&to + want, 0,
						   sizeof(to) - want));
	}
}

static struct kunit_case handle_cases[] = {
	KUNIT_CASE(handle_life),
	KUNIT_CASE(handle_stale),
	KUNIT_CASE(handle_entries),
	KUNIT_CASE(address_get),
	KUNIT_CASE(address_put),
	{}
};

static struct kunit_suite handle_suite = {
	.name = "ucmx_handle",
	.test_cases = handle_cases,
};

kunit_test_suite(handle_suite);
