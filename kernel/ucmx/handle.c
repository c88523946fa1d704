// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handles of ids. The low bits of a handle are an index of the file's xarray
 * plus 1; the first id has index 0, which needs no node. The other bits count
 * the file's handles, modulo 4,096. So the next id at an index has another handle
 * than the former one, whose stale handle finds nothing, unless 4,096 or a
 * multiple of that lie between them.
 *
 * A handle is allocated before its id may be found. It stays in use while an id
 * that was taken out is closed or migrates. Meanwhile the id is hidden. An id may
 * have entries in several tables, or in one: an id that migrates, and the new id
 * of a connection request that a reader takes, because the request may migrate
 * and be read in another file at any time. At most one of them is visible: that
 * of ucmx_id.handle in the table of the file ucmx_id.table.
 *
 * ucmx_id.table is NULL while the id is hidden. Only code that owns the hidden id
 * sets it and the handle: its creator, the reader that has removed its request
 * from the queue, the migration that has hidden it. It is cleared under the lock
 * of the table that finds the id. So both are constant while a search with that
 * lock uses the id, and a search in another table never finds it.
 *
 * A file has one limit for all its objects.
 */
#include "ucmx.h"

#define UCMX_HANDLE_BITS	20
#define UCMX_HANDLE_PLACE	((1u << UCMX_HANDLE_BITS) - 1)
#define UCMX_HANDLE_LIMIT	XA_LIMIT(0, UCMX_HANDLE_PLACE - 1)

/* Index of a handle, or U32_MAX, which is never in use */
static inline u32 ucmx_handle_index(u32 handle)
{
	return (handle & UCMX_HANDLE_PLACE) - 1;
}

void ucmx_handles_init(struct ucmx_file *file)
{
	xa_init_flags(&file->ids, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
}

/* @handle is from user space, and may be 0. The table's lock is held. */
static inline struct ucmx_id *ucmx_handle_find(struct ucmx_file *file,
					       u32 handle)
{
	XA_STATE(xas, &file->ids, ucmx_handle_index(handle));
	struct ucmx_id *id = xas_load(&xas);

	/* Pairs with ucmx_handle_show(). */
	if (id && smp_load_acquire(&id->table) == file && id->handle == handle)
		return id;
	return NULL;
}

/**
 * ucmx_handle_alloc - allocate a handle
 * @file: the file
 * @handle: the result
 * @id: the id, which this does not show
 *
 * Context: may sleep.
 * Return: 0, -EMFILE if each index is in use, or -ENOMEM.
 */
int ucmx_handle_alloc(struct ucmx_file *file, u32 *handle, struct ucmx_id *id)
{
	u32 index;
	int ret;

	xa_lock(&file->ids);
	ret = __xa_alloc(&file->ids, &index, id, UCMX_HANDLE_LIMIT, GFP_KERNEL);
	if (!ret)
		*handle = file->handles++ << UCMX_HANDLE_BITS | (index + 1);
	xa_unlock(&file->ids);
	return ret == -EBUSY ? -EMFILE : ret;
}

/* Another id may use the index afterwards. */
void ucmx_handle_free(struct ucmx_file *file, u32 handle)
{
	xa_erase(&file->ids, ucmx_handle_index(handle));
}

/**
 * ucmx_handle_show - make an id visible, which cannot fail
 * @file: the file
 * @handle: its handle there
 * @id: the id, hidden, complete
 *
 * Another caller may destroy the id at once.
 */
void ucmx_handle_show(struct ucmx_file *file, u32 handle, struct ucmx_id *id)
{
	id->handle = handle;
	/* After all other fields. Pairs with ucmx_handle_find(). */
	smp_store_release(&id->table, file);
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
 * @uid: its cookie, 0 for any
 *
 * Return: the id with the table's reference, or NULL. The caller frees the
 * handle at the end.
 */
struct ucmx_id *ucmx_handle_take(struct ucmx_file *file, u32 handle, u64 owner,
				 u64 uid)
{
	struct ucmx_id *id;

	xa_lock(&file->ids);
	id = ucmx_handle_find(file, handle);
	if (id && !(ucmx_id_owned(id, owner) &&
		    ucmx_uid_is(READ_ONCE(id->uid), uid)))
		id = NULL;
	if (id)
		WRITE_ONCE(id->table, NULL);
	xa_unlock(&file->ids);
	return id;
}

/**
 * ucmx_handle_hide - hide an id that migrates
 * @file: its present file
 * @handle: its handle there
 * @id: the id
 *
 * Return: false if another caller has taken it.
 */
bool ucmx_handle_hide(struct ucmx_file *file, u32 handle, struct ucmx_id *id)
{
	bool found;

	xa_lock(&file->ids);
	found = ucmx_handle_find(file, handle) == id;
	if (found)
		WRITE_ONCE(id->table, NULL);
	xa_unlock(&file->ids);
	return found;
}

/**
 * ucmx_file_charge - count objects against the limit of a file
 * @file: the file
 * @n: number of objects
 *
 * Return: 0 or -EMFILE.
 */
int ucmx_file_charge(struct ucmx_file *file, unsigned int n)
{
	if (atomic_add_return(n, &file->nr_objs) <= READ_ONCE(ucmx_max_ids))
		return 0;
	atomic_sub(n, &file->nr_objs);
	return -EMFILE;
}

/**
 * ucmx_file_uncharge - undo ucmx_file_charge()
 * @file: the file
 * @n: number of objects
 */
void ucmx_file_uncharge(struct ucmx_file *file, unsigned int n)
{
	atomic_sub(n, &file->nr_objs);
}
