// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handles of ids: a file's xarray, in which a handle lies one lower, so that
 * the first id of a file needs no node.
 *
 * A handle is allocated before its id may be found, and stays in use while a
 * taken id is being closed. Meanwhile the entry is marked by a pointer tag;
 * XA_ZERO_ENTRY would do the same but always costs a node.
 */
#include "ucmx.h"

#define UCMX_HANDLE_LIMIT	XA_LIMIT(0, U32_MAX - 1)
#define UCMX_HIDDEN		1UL

void ucmx_handles_init(struct ucmx_file *file)
{
	xa_init_flags(&file->ids, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
}

static void *ucmx_hidden(struct ucmx_id *id)
{
	return xa_tag_pointer(id, UCMX_HIDDEN);
}

/* The table's lock is held. */
static struct ucmx_id *ucmx_handle_find(struct ucmx_file *file, u32 handle)
{
	void *entry = xa_load(&file->ids, (u32)(handle - 1));

	return xa_pointer_tag(entry) ? NULL : entry;
}

/**
 * ucmx_handle_alloc - find a handle that is free
 * @file: the file
 * @handle: where it goes
 * @id: whom it is for; not found before ucmx_handle_set()
 *
 * Return: 0 or a negative errno.
 */
int ucmx_handle_alloc(struct ucmx_file *file, u32 *handle, struct ucmx_id *id)
{
	u32 index;
	int ret;

	ret = xa_alloc(&file->ids, &index, ucmx_hidden(id), UCMX_HANDLE_LIMIT,
		       GFP_KERNEL);
	if (!ret)
		*handle = index + 1;
	return ret;
}

/* The handle may be used for another id from now on. */
void ucmx_handle_free(struct ucmx_file *file, u32 handle)
{
	xa_erase(&file->ids, handle - 1);
}

/* Let an id be found, which cannot fail any more. */
void ucmx_handle_set(struct ucmx_file *file, u32 handle, struct ucmx_id *id)
{
	xa_store(&file->ids, handle - 1, id, GFP_KERNEL);
}

/**
 * ucmx_handle_get - find an id
 * @file: the file
 * @handle: handle from user space
 *
 * Return: the id with a reference, or NULL.
 */
struct ucmx_id *ucmx_handle_get(struct ucmx_file *file, u32 handle)
{
	struct ucmx_id *id;

	xa_lock(&file->ids);
	id = ucmx_handle_find(file, handle);
	if (id)
		ucmx_id_get(id);
	xa_unlock(&file->ids);
	return id;
}

/**
 * ucmx_handle_take - find an id and see to it that nobody else does
 * @file: the file
 * @handle: handle from user space
 *
 * Return: the id with the table's reference, or NULL. The caller frees the
 * handle when it is done.
 */
struct ucmx_id *ucmx_handle_take(struct ucmx_file *file, u32 handle)
{
	struct ucmx_id *id;

	xa_lock(&file->ids);
	id = ucmx_handle_find(file, handle);
	if (id)
		__xa_store(&file->ids, (u32)(handle - 1), ucmx_hidden(id), 0);
	xa_unlock(&file->ids);
	return id;
}

/* The same for an id that is known; false if another one was faster. */
bool ucmx_handle_take_id(struct ucmx_file *file, u32 handle,
			 struct ucmx_id *id)
{
	return xa_cmpxchg(&file->ids, handle - 1, id, ucmx_hidden(id),
			  GFP_KERNEL) == id;
}
