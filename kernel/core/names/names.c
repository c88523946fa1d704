// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names, by the kernel's key service: request-key(8) starts the name helper.
 * Its result is a key that stays until it expires.
 *
 * Results are in a keyring of this module under credentials of this module, so
 * that no user adds a forged one with add_key(2). The caller itself finds a
 * cached result. A name that is not cached requires a lookup (sched.h), a
 * separate object with a work item, because request_key() cannot be
 * interrupted. A lookup without waiters still completes, and fills the cache.
 *
 * cmx_names_lock guards all lookups, their queue slots and their waiters. It is
 * innermost.
 */
#include <linux/cred.h>
#include <linux/key-type.h>
#include <linux/keyctl.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "names/names.h"
#include "names/trace.h"
#include "sched.h"

static unsigned int names_max = 32;
module_param(names_max, cmx_positive, 0644);
MODULE_PARM_DESC(names_max, "Maximum name lookups at a time (default 32)");

static unsigned int names_per_user = 8;
module_param(names_per_user, cmx_positive, 0644);
MODULE_PARM_DESC(names_per_user,
		 "Of those, maximum lookups of one user (default 8)");

unsigned int cmx_names_waiting_per_user = 256;
module_param_named(names_waiting_per_user, cmx_names_waiting_per_user,
		   cmx_positive, 0644);
MODULE_PARM_DESC(names_waiting_per_user,
		 "Maximum waiting name lookups of one user (default 256)");

static unsigned int names_cache_max = 1024;
module_param(names_cache_max, cmx_positive, 0644);
MODULE_PARM_DESC(names_cache_max,
		 "Maximum cached names, failures included (default 1024)");

struct cmx_lookup {
	struct cmx_sched_entity entity;
	struct work_struct work;
	bool refresh;			/* ignore the keyring */
	char name[];
};

static DEFINE_SPINLOCK(cmx_names_lock);
static struct cmx_sched cmx_names_sched;

static struct workqueue_struct *cmx_names_wq;
static const struct cred *cmx_names_cred;
static struct key *cmx_names_keyring;
static atomic_t cmx_names_kept;

#define CMX_LABEL_MAX	63

/* ASCII only; isalnum() also accepts letters of Latin 1. */
static bool cmx_name_char(u8 c)
{
	return (u8)((c | 0x20) - 'a') < 26 || (u8)(c - '0') < 10 ||
	       c == '-' || c == '_';
}

/* Maximum description of a key, with its final NUL */
#define CMX_NAME_KEY_MAX						\
	(RDMA_CMX_NAMES_MAX_NAME + sizeof("@4294967295:18446744073709551615"))

/*
 * Sets the description of a name's key; false: the name is invalid. A valid
 * name has letters, digits, '-', '_' in labels of up to 63 bytes. Names are
 * compared in lower case. In another namespace than the host's, the namespace
 * is appended: the inode number, by which user space finds it but which a later
 * namespace may reuse, and the cookie, which is unique.
 */
static bool cmx_name_key(char to[CMX_NAME_KEY_MAX], const char *name,
			 const struct net *net)
{
	char *end = to + CMX_NAME_KEY_MAX;
	const char *p, *label = name;
	u8 c;

	for (p = name; (c = *p); p++) {
		if (c == '.') {
			if (p == label || p - label > CMX_LABEL_MAX)
				return false;
			label = p + 1;
		} else if (!cmx_name_char(c)) {
			return false;
		}
		if (p - name == RDMA_CMX_NAMES_MAX_NAME)
			return false;
		*to++ = (u8)(c - 'A') < 26 ? c + 'a' - 'A' : c;
	}
	if (p == name || p - label > CMX_LABEL_MAX)
		return false;
	*to = 0;
	if (!net_eq(net, &init_net))
		scnprintf(to, end - to, "@%u:%llu", net->ns.inum,
			  net->net_cookie);
	return true;
}

/* True if a name is valid */
bool cmx_name_valid(const char *name)
{
	char desc[CMX_NAME_KEY_MAX];

	return cmx_name_key(desc, name, &init_net);
}

/* Under this module's credentials. -EAGAIN: absent; else the key's result. */
static key_ref_t cmx_names_search(const char *desc)
{
	return keyring_search(make_key_ref(cmx_names_keyring, true),
			      &cmx_names_key_type, desc, false);
}

/*
 * Gets a result from the cache without waiting: 0, a cached error, -ENOENT for
 * an invalid name, or -EINPROGRESS if it is not in the cache.
 */
int cmx_names_cached(const char *name, const struct net *net,
		     struct cmx_answer *answer)
{
	char desc[CMX_NAME_KEY_MAX] CMX_UNINIT;
	const struct cred *old;
	struct key *key;
	key_ref_t ref;
	int ret;

	if (!cmx_name_key(desc, name, net))
		return -ENOENT;
	old = override_creds(cmx_names_cred);
	ref = cmx_names_search(desc);
	revert_creds(old);

	if (IS_ERR(ref)) {
		ret = PTR_ERR(ref);
		switch (ret) {
		case -EAGAIN:	/* absent, or a temporary failure */
		case -ENOKEY:	/* no helper was installed */
		case -EKEYEXPIRED:
		case -EKEYREVOKED:
			return -EINPROGRESS;
		}
	} else {
		key = key_ref_to_ptr(ref);
		ret = -EINPROGRESS;
		if (key_read_state(key) == KEY_IS_POSITIVE)
			ret = cmx_names_key_answer(key, answer);
		key_put(key);
		if (ret == -EINPROGRESS)
			return ret;
	}
	cmx_stat_inc(name_hits);
	trace_cmx_name_hit(name, ret);
	return ret;
}

/*
 * Another result will be cached. At the limit all are dropped: they last for
 * seconds only, and expired ones count until then. Lookups that are outstanding
 * complete, and their results are not cached.
 */
static void cmx_names_make_room(void)
{
	if (atomic_inc_return(&cmx_names_kept) <= READ_ONCE(names_cache_max))
		return;
	if (!keyring_clear(cmx_names_keyring))
		atomic_set(&cmx_names_kept, 1);
}

/*
 * Replaces the key in the keyring by an expired one. A negative key cannot be
 * found, so there is no other way to end it.
 */
static int cmx_names_displace(const char *name)
{
	const struct cred *cred = cmx_names_cred;
	struct key *key;
	int ret;

	key = key_alloc(&cmx_names_key_type, name, cred->fsuid, cred->fsgid,
			cred, KEY_POS_ALL, KEY_ALLOC_NOT_IN_QUOTA, NULL);
	if (IS_ERR(key))
		return PTR_ERR(key);
	ret = key_reject_and_link(key, 0, EKEYEXPIRED, cmx_names_keyring, NULL);
	key_put(key);
	return ret;
}

/* True if the helper may start later: for want of memory, processes or files */
static bool cmx_names_is_temporary(int error)
{
	switch (error) {
	case -ENOMEM:
	case -EAGAIN:
	case -ENFILE:
	case -EBUSY:	/* the host suspends */
		return true;
	default:
		return false;
	}
}

/*
 * Without request-key(8) request_key() returns the ENOENT of that program. The
 * key has the reason: ENOKEY if the helper has not set a result. That key would
 * fail later lookups for a minute.
 */
static int cmx_names_reason(const char *name, int error)
{
	key_ref_t ref = cmx_names_search(name);

	if (!IS_ERR(ref)) {
		/* It was found, or added, meanwhile: the next lookup uses it. */
		key_ref_put(ref);
		return error;
	}
	if (PTR_ERR(ref) != -ENOKEY)
		return error;
	if (!cmx_names_is_temporary(error))
		return -ENOKEY;
	cmx_names_displace(name);
	return error;
}

/*
 * request_key() checks the key when the helper has ended. If the key has
 * expired by then, it returns ENOKEY, as without a helper. The helper has set a
 * result, so that is the result here, too. Others use it while it lasts. If the
 * clock was set back meanwhile, the key is valid again and the search finds it.
 */
static struct key *cmx_names_request(const char *name)
{
	struct key *key = request_key(&cmx_names_key_type, name, "");
	struct key *found = NULL;
	key_ref_t ref;
	int state;

	if (PTR_ERR_OR_ZERO(key) != -ENOKEY)
		return key;
	ref = cmx_names_search(name);
	if (!IS_ERR(ref))
		found = key_ref_to_ptr(ref);
	else if (PTR_ERR(ref) == -EKEYEXPIRED)
		found = cmx_names_key_find(cmx_names_keyring, name);
	if (!found)
		return key;
	/* Another caller's key may still be under construction. */
	state = key_read_state(found);
	if (state == KEY_IS_POSITIVE)
		return found;
	key_put(found);
	return state < 0 ? ERR_PTR(state) : key;
}

/* The uninterruptible part */
static int cmx_names_request_key(const char *name, bool refresh,
				 struct cmx_answer *answer)
{
	const struct cred *old;
	struct key *key;
	int ret, tries;

	cmx_names_make_room();
	ret = refresh ? cmx_names_displace(name) : 0;
	if (ret)
		return ret;
	old = override_creds(cmx_names_cred);
	/* A key may expire after it was found and before it is read. */
	for (tries = 0; tries < 2; tries++) {
		key = cmx_names_request(name);
		if (PTR_ERR_OR_ZERO(key) != -EKEYEXPIRED)
			break;
	}
	ret = PTR_ERR_OR_ZERO(key);
	if (ret)
		ret = cmx_names_reason(name, ret);
	revert_creds(old);
	if (ret)
		return ret;
	ret = cmx_names_key_answer(key, answer);
	key_put(key);
	return ret;
}

static struct cmx_lookup *cmx_lookup_of(const struct cmx_sched_entity *entity)
{
	return container_of(entity, struct cmx_lookup, entity);
}

static bool cmx_lookup_same(const struct cmx_sched_entity *a,
			    const struct cmx_sched_entity *b)
{
	return !strcmp(cmx_lookup_of(a)->name, cmx_lookup_of(b)->name);
}

static struct cmx_sched_limits cmx_lookup_limits(const struct cmx_sched *sched)
{
	unsigned int slots = READ_ONCE(names_max);

	return (struct cmx_sched_limits) {
		.slots = slots,
		.window = slots,
		.per_user = READ_ONCE(names_per_user),
		.waiting_per_user = READ_ONCE(cmx_names_waiting_per_user),
	};
}

static void cmx_lookup_start(struct cmx_sched_entity *entity)
{
	queue_work(cmx_names_wq, &cmx_lookup_of(entity)->work);
}

static void cmx_lookup_free(struct cmx_sched_entity *entity)
{
	cmx_sched_entity_exit(entity);
	kfree(cmx_lookup_of(entity));
	cmx_stat_dec(live_lookups);
}

static const struct cmx_sched_ops cmx_names_ops = {
	.same = cmx_lookup_same,
	.limits = cmx_lookup_limits,
	.start = cmx_lookup_start,
	.release = cmx_lookup_free,
	/* A user's waiters are limited, by max_user_requests. */
	.shared = UINT_MAX,
};

static void cmx_lookup_work(struct work_struct *work)
{
	struct cmx_lookup *l = container_of(work, struct cmx_lookup, work);
	struct cmx_answer answer = {};
	int error;

	cmx_stat_inc(name_lookups);
	trace_cmx_lookup_start(l->name, 0);
	error = cmx_names_request_key(l->name, l->refresh, &answer);
	if (error)
		cmx_stat_inc(name_errors);
	trace_cmx_lookup_done(l->name, error);
	pr_debug("name %s: %d\n", l->name, error);

	spin_lock(&cmx_names_lock);
	cmx_sched_leave(&l->entity);
	spin_unlock(&cmx_names_lock);

	cmx_sched_complete(&l->entity, error ? NULL : &answer, error);
	cmx_lookup_free(&l->entity);
	cmx_answer_release(&answer);
}

static struct cmx_lookup *cmx_lookup_alloc(const char *desc, kuid_t uid,
					   bool refresh)
{
	size_t len = strlen(desc);
	struct cmx_lookup *l;

	l = kzalloc(struct_size(l, name, len + 1), GFP_KERNEL_ACCOUNT);
	if (!l)
		return NULL;
	memcpy(l->name, desc, len);
	l->refresh = refresh;
	INIT_WORK(&l->work, cmx_lookup_work);
	if (cmx_sched_entity_init(&l->entity, &cmx_names_sched, uid,
				  cmx_hash(l->name, len))) {
		kfree(l);
		return NULL;
	}
	cmx_stat_inc(live_lookups);
	return l;
}

/*
 * Starts a lookup of a name, or joins one; may sleep for memory only.
 * @waiter->done() receives an error, or a struct cmx_answer of which
 * cmx_answer_share() takes a copy, unless cmx_names_forget() comes first.
 * -EAGAIN: too many lookups of the user wait. @refresh: do not use the cache; a
 * lookup that has begun is shared.
 */
int cmx_names_wait(const char *name, const struct net *net, kuid_t uid,
		   bool refresh, struct cmx_sched_waiter *waiter)
{
	char desc[CMX_NAME_KEY_MAX];
	struct cmx_lookup *l;
	int ret;

	if (!cmx_name_key(desc, name, net))
		return -ENOENT;
	l = cmx_lookup_alloc(desc, uid, refresh);
	if (!l)
		return -ENOMEM;
	spin_lock(&cmx_names_lock);
	ret = cmx_sched_join(&l->entity, waiter);
	spin_unlock(&cmx_names_lock);
	if (!ret)
		return 0;
	if (ret > 0) {
		cmx_stat_inc(coalesced);
		trace_cmx_lookup_join(l->name, 0);
		ret = 0;
	} else {
		cmx_stat_inc(name_refused);
	}
	cmx_lookup_free(&l->entity);
	return ret;
}

/* True: @waiter->done() will not be called. Has no effect after done(). */
bool cmx_names_forget(struct cmx_sched_waiter *waiter)
{
	return cmx_sched_forget(&cmx_names_lock, waiter);
}

int cmx_names_init(void)
{
	struct cred *cred;
	int ret;

	cmx_sched_init(&cmx_names_sched, &cmx_names_lock, &cmx_names_ops);
	/* Lookups are limited here, not by the work queue. */
	cmx_names_wq = alloc_workqueue("rdma_cmx_names", WQ_UNBOUND,
				       WQ_MAX_ACTIVE);
	if (!cmx_names_wq)
		return -ENOMEM;
	cred = prepare_kernel_cred(&init_task);
	if (!cred) {
		ret = -ENOMEM;
		goto free_wq;
	}
	cmx_names_keyring = keyring_alloc(".rdma_cmx_names", GLOBAL_ROOT_UID,
					  GLOBAL_ROOT_GID, cred,
					  (KEY_POS_ALL & ~KEY_POS_SETATTR) |
					  KEY_USR_VIEW | KEY_USR_READ,
					  KEY_ALLOC_NOT_IN_QUOTA, NULL, NULL);
	if (IS_ERR(cmx_names_keyring)) {
		ret = PTR_ERR(cmx_names_keyring);
		goto put_cred;
	}
	/* For `keyctl clear` after a change of addresses */
	set_bit(KEY_FLAG_ROOT_CAN_CLEAR, &cmx_names_keyring->flags);
	ret = register_key_type(&cmx_names_key_type);
	if (ret)
		goto put_keyring;

	/* Also as session keyring, so that root's keyring is not searched */
	cred->thread_keyring = cmx_names_keyring;
	cred->session_keyring = key_get(cmx_names_keyring);
	cred->jit_keyring = KEY_REQKEY_DEFL_THREAD_KEYRING;
	cmx_names_cred = cred;
	return 0;

put_keyring:
	key_put(cmx_names_keyring);
put_cred:
	put_cred(cred);
free_wq:
	destroy_workqueue(cmx_names_wq);
	return ret;
}

/*
 * Waits for running lookups, as long as the helper takes. The helper's root
 * process has a deadline for it, whatever other processes do. The key service's
 * lock of all key types is not held meanwhile.
 */
void cmx_names_stop(void)
{
	destroy_workqueue(cmx_names_wq);
}

/* No query is left: unregistering frees the payload of every key. */
void cmx_names_exit(void)
{
	key_revoke(cmx_names_keyring);
	unregister_key_type(&cmx_names_key_type);
	put_cred(cmx_names_cred);
}
