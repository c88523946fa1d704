// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Key type of name results. A payload is set once, before the key is
 * instantiated, and never changes: a holder of a reference of a positive key
 * may read it without a lock, and takes a reference of the payload to keep it
 * longer. The payload is checked when it is set. A malformed one creates a key
 * that returns EBADMSG for two seconds.
 *
 * The name of the type begins with a dot, which add_key(2) and request_key(2)
 * refuse. So only this module creates keys of it.
 */
#include <linux/key-type.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "names/names.h"

/* Slots of the payload */
enum {
	CMX_KEY_NAMES,
	CMX_KEY_ERROR,
};

static int cmx_key_preparse(struct key_preparsed_payload *prep)
{
	struct cmx_shared_names *shared;

	if (cmx_answer_check(prep->data, prep->datalen)) {
		prep->payload.data[CMX_KEY_ERROR] = ERR_PTR(-EBADMSG);
		prep->expiry = ktime_get_real_seconds() + 2;
		return 0;
	}
	shared = cmx_shared_names_new(prep->data, prep->datalen);
	if (!shared)
		return -ENOMEM;
	prep->payload.data[CMX_KEY_NAMES] = shared;
	/*
	 * names_cache_max limits it; root, who owns the key, needs the quota.
	 */
	prep->quotalen = 0;
	return 0;
}

static void cmx_key_free_preparse(struct key_preparsed_payload *prep)
{
	cmx_shared_names_put(prep->payload.data[CMX_KEY_NAMES]);
}

static void cmx_key_destroy(struct key *key)
{
	cmx_shared_names_put(key->payload.data[CMX_KEY_NAMES]);
}

static void cmx_key_describe(const struct key *key, struct seq_file *m)
{
	const struct cmx_shared_names *shared;

	seq_puts(m, key->description);
	if (!key_is_positive(key))
		return;
	shared = key->payload.data[CMX_KEY_NAMES];
	if (shared)
		seq_printf(m, ": %u", shared->names.addr_count);
	else
		seq_printf(m, ": %ld",
			   PTR_ERR(key->payload.data[CMX_KEY_ERROR]));
}

/*
 * No KEY_TYPE_INSTANT_REAP: cmx_names_key_find() needs keys that have just
 * expired. The kernel removes them after five minutes.
 */
struct key_type cmx_names_key_type = {
	.name = RDMA_CMX_NAMES_KEY_TYPE,
	.preparse = cmx_key_preparse,
	.free_preparse = cmx_key_free_preparse,
	.instantiate = generic_key_instantiate,
	.destroy = cmx_key_destroy,
	.describe = cmx_key_describe,
};

/* Gets the result of a positive key, with a reference for the caller. */
int cmx_names_key_answer(const struct key *key, struct cmx_answer *answer)
{
	struct cmx_shared_names *shared = key->payload.data[CMX_KEY_NAMES];

	if (!shared)
		return PTR_ERR(key->payload.data[CMX_KEY_ERROR]);
	refcount_inc(&shared->usage);
	answer->shared = shared;
	answer->names = &shared->names;
	answer->own = NULL;
	return 0;
}

/* Serial numbers of the keys in a keyring, ended by 0; NULL without memory */
static key_serial_t *cmx_keyring_read(struct key *keyring)
{
	key_serial_t *serials;
	long len;

	down_read(&keyring->sem);
	len = keyring->type->read(keyring, NULL, 0);
	serials = kvzalloc(len + sizeof(*serials), GFP_KERNEL);
	if (serials)
		keyring->type->read(keyring, (char *)serials, len);
	up_read(&keyring->sem);
	return serials;
}

/*
 * Finds the key of a description, also an expired one, which no search finds.
 * Returns a reference, or NULL. It looks at each key of @keyring.
 */
struct key *cmx_names_key_find(struct key *keyring, const char *desc)
{
	key_serial_t *serials = cmx_keyring_read(keyring);
	struct key *key = NULL;
	key_ref_t ref;
	int i;

	for (i = 0; serials && serials[i] && !key; i++) {
		ref = lookup_user_key(serials[i], KEY_LOOKUP_PARTIAL,
				      KEY_DEFER_PERM_CHECK);
		if (IS_ERR(ref))
			continue;
		key = key_ref_to_ptr(ref);
		if (key->type == &cmx_names_key_type &&
		    !strcmp(key->description, desc))
			break;
		key_put(key);
		key = NULL;
	}
	kvfree(serials);
	return key;
}
