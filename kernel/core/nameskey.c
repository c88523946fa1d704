// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Key type of name answers. A payload is set once, before the key counts as
 * instantiated, and never changes: whoever holds a reference of a positive
 * key may read it without a lock. It is checked when it comes in; a bad one
 * makes a key that answers EBADMSG for two seconds (it has to outlive the helper).
 */
#include <linux/key-type.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "core.h"

/* Slots of the payload. */
enum {
	CMX_KEY_NAMES,
	CMX_KEY_ERROR,
};

/* Older kernels remove such keys a little later; nothing depends on it. */
#ifndef KEY_TYPE_INSTANT_REAP
#define KEY_TYPE_INSTANT_REAP 0
#endif

static int cmx_key_preparse(struct key_preparsed_payload *prep)
{
	void *copy;

	if (cmx_answer_check(prep->data, prep->datalen)) {
		prep->payload.data[CMX_KEY_ERROR] = ERR_PTR(-EBADMSG);
		prep->expiry = ktime_get_real_seconds() + 2;
		return 0;
	}
	copy = kmemdup(prep->data, prep->datalen, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	prep->payload.data[CMX_KEY_NAMES] = copy;
	prep->quotalen = prep->datalen;
	return 0;
}

static void cmx_key_free_preparse(struct key_preparsed_payload *prep)
{
	kfree(prep->payload.data[CMX_KEY_NAMES]);
}

static void cmx_key_destroy(struct key *key)
{
	kfree(key->payload.data[CMX_KEY_NAMES]);
}

static void cmx_key_describe(const struct key *key, struct seq_file *m)
{
	const struct rdma_cmx_names *names;

	seq_puts(m, key->description);
	if (!key_is_positive(key))
		return;
	names = key->payload.data[CMX_KEY_NAMES];
	if (names)
		seq_printf(m, ": %u", names->addr_count);
	else
		seq_printf(m, ": %ld",
			   PTR_ERR(key->payload.data[CMX_KEY_ERROR]));
}

struct key_type cmx_names_key_type = {
	.name = RDMA_CMX_NAMES_KEY_TYPE,
	.flags = KEY_TYPE_INSTANT_REAP,
	.preparse = cmx_key_preparse,
	.free_preparse = cmx_key_free_preparse,
	.instantiate = generic_key_instantiate,
	.destroy = cmx_key_destroy,
	.describe = cmx_key_describe,
};

/* Answer of a positive key; @answer gets a reference of its own. */
int cmx_names_key_answer(struct key *key, struct cmx_answer *answer)
{
	int error = PTR_ERR(key->payload.data[CMX_KEY_ERROR]);

	if (error)
		return error;
	answer->names = key->payload.data[CMX_KEY_NAMES];
	answer->key = key_get(key);
	answer->own = NULL;
	return 0;
}
