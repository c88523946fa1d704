// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handles of ids: a file's xarray, in which a handle lies one lower, so that
 * the first id of a file needs no node.
 *
 * A handle is allocated before its id may be found, and stays in use while a
 * taken id is being closed. Meanwhile the id is hidden; the table's lock guards
 * that. An id that moves to another file is in two tables; a pointer tag hides
 * it in both, so that no lookup finds it. The same applies to the new id of a
 * connection request while a reader takes it, because the request may move to
 * another file, and be read there, at any time. XA_ZERO_ENTRY would do the same
 * but always costs a node.
 */
#include "ucmx.h"

#define UCMX_HANDLE_LIMIT	XA_LIMIT(0, U32_MAX - 1)
#define UCMX_MOVING		1UL

void ucmx_handles_init(struct ucmx_file *file)
{
	xa_init_flags(&file->ids, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
}

static void *ucmx_moving(struct ucmx_id *id)
{
	return xa_tag_pointer(id, UCMX_MOVING);
}

/* The table's lock is held. */
static struct ucmx_id *ucmx_handle_find(struct ucmx_file *file, u32 handle)
{
	void *entry = xa_load(&file->ids, (u32)(handle - 1));
	struct ucmx_id *id = entry;

	if (!entry || xa_pointer_tag(entry) || id->hidden)
		return NULL;
	return id;
}

static int ucmx_handle_store(struct ucmx_file *file, u32 *handle, void *entry)
{
	u32 index;
	int ret;

	ret = xa_alloc(&file->ids, &index, entry, UCMX_HANDLE_LIMIT,
		       GFP_KERNEL);
	if (!ret)
		*handle = index + 1;
	return ret;
}

/**
 * ucmx_handle_alloc - find a free handle
 * @file: the file
 * @handle: the result
 * @id: the id, hidden; not found before ucmx_handle_show()
 *
 * Return: 0 or a negative errno.
 */
int ucmx_handle_alloc(struct ucmx_file *file, u32 *handle, struct ucmx_id *id)
{
	return ucmx_handle_store(file, handle, id);
}

/**
 * ucmx_handle_alloc_moving - the same for an id that may be in another table
 * @file: the file
 * @handle: the result
 * @id: the id; not found before ucmx_handle_moved()
 *
 * Return: 0 or a negative errno.
 */
int ucmx_handle_alloc_moving(struct ucmx_file *file, u32 *handle,
			     struct ucmx_id *id)
{
	return ucmx_handle_store(file, handle, ucmx_moving(id));
}

/* The handle may be used for another id from now on. */
void ucmx_handle_free(struct ucmx_file *file, u32 handle)
{
	xa_erase(&file->ids, handle - 1);
}

/* Let an id be found. */
void ucmx_handle_show(struct ucmx_file *file, struct ucmx_id *id)
{
	xa_lock(&file->ids);
	id->hidden = false;
	xa_unlock(&file->ids);
}

/* Let an id that has moved be found, which cannot fail any more. */
void ucmx_handle_moved(struct ucmx_file *file, u32 handle, struct ucmx_id *id)
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
 * ucmx_handle_take - find an id and hide it
 * @file: the file
 * @handle: handle from user space
 * @owner: cookie of its owner, 0 for any
 *
 * Return: the id with the table's reference, or NULL. The caller frees the
 * handle when it is done.
 */
struct ucmx_id *ucmx_handle_take(struct ucmx_file *file, u32 handle, u64 owner)
{
	struct ucmx_id *id;

	xa_lock(&file->ids);
	id = ucmx_handle_find(file, handle);
	if (id && !ucmx_id_owned(id, owner))
		id = NULL;
	if (id)
		id->hidden = true;
	xa_unlock(&file->ids);
	return id;
}

/**
 * ucmx_handle_move - hide an id that is to move
 * @file: the file that it leaves
 * @handle: its handle there
 * @id: the id
 *
 * Return: false if another caller has taken it.
 */
bool ucmx_handle_move(struct ucmx_file *file, u32 handle, struct ucmx_id *id)
{
	bool found;

	xa_lock(&file->ids);
	found = ucmx_handle_find(file, handle) == id;
	if (found)
		__xa_store(&file->ids, handle - 1, ucmx_moving(id), 0);
	xa_unlock(&file->ids);
	return found;
}
