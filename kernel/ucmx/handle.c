// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Handles of ids: a file's xarray, at index handle - 1, so that the first id of
 * a file needs no node.
 *
 * A handle is allocated before its id may be found. It stays in use while an id
 * that was taken out is closed or migrates. Meanwhile its entry is hidden
 * (ucmx_hidden()). Hiding concerns the entry, not the id, because an id may
 * have entries in two tables: an id that migrates, and the new id of a
 * connection request that a reader takes, because the request may migrate and
 * be read in another file at any time.
 *
 * A file has one limit for all its objects.
 */
#include "ucmx.h"

#define UCMX_HANDLE_LIMIT	XA_LIMIT(0, U32_MAX - 1)

void ucmx_handles_init(struct ucmx_file *file)
{
	xa_init_flags(&file->ids, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
}

/* At the entry of a handle from user space, which may be 0 */
#define UCMX_HANDLE_STATE(name, file, handle)				\
	XA_STATE(name, &(file)->ids, (u32)((handle) - 1))

/* The table's lock is held. */
static struct ucmx_id *ucmx_handle_find(struct xa_state *xas)
{
	return ucmx_visible(xas_load(xas));
}

/*
 * The table's lock is held. The entry exists: this allocates nothing, and the
 * mark of free entries is not set. After a search it does not walk again.
 */
static void ucmx_handle_set(struct xa_state *xas, void *entry)
{
	xas_store(xas, entry);
}

/**
 * ucmx_handle_alloc - allocate a handle
 * @file: the file
 * @handle: the result
 * @id: the id; hidden until ucmx_handle_show()
 *
 * Context: may sleep.
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

/* Another id may use the handle afterwards. */
void ucmx_handle_free(struct ucmx_file *file, u32 handle)
{
	xa_erase(&file->ids, handle - 1);
}

/* Makes an id visible, which cannot fail. */
void ucmx_handle_show(struct ucmx_file *file, u32 handle, struct ucmx_id *id)
{
	UCMX_HANDLE_STATE(xas, file, handle);

	xas_lock(&xas);
	ucmx_handle_set(&xas, id);
	xas_unlock(&xas);
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
	UCMX_HANDLE_STATE(xas, file, handle);
	struct ucmx_id *id;

	xas_lock(&xas);
	id = ucmx_handle_find(&xas);
	if (id)
		ucmx_id_get(id);
	xas_unlock(&xas);
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
	UCMX_HANDLE_STATE(xas, file, handle);
	struct ucmx_id *id;

	xas_lock(&xas);
	id = ucmx_handle_find(&xas);
	if (id && !(ucmx_id_owned(id, owner) &&
		    ucmx_uid_is(READ_ONCE(id->uid), uid)))
		id = NULL;
	if (id)
		ucmx_handle_set(&xas, ucmx_hidden(id));
	xas_unlock(&xas);
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
	UCMX_HANDLE_STATE(xas, file, handle);
	bool found;

	xas_lock(&xas);
	found = ucmx_handle_find(&xas) == id;
	if (found)
		ucmx_handle_set(&xas, ucmx_hidden(id));
	xas_unlock(&xas);
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
