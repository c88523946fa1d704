// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Names, through the kernel's key service: request-key(8) starts the
 * project's helper, whose answer is a key that stays until it expires.
 *
 * Answers live in a keyring of our own under credentials of our own, so that
 * nobody puts a false one there with add_key(2). A cached answer is found in
 * the caller's context. A cold name becomes a look-up: an object of its own
 * with a work item, since request_key() cannot be interrupted; it goes on,
 * and fills the cache, when those who waited for it have gone.
 *
 * cmx_names_lock guards all look-ups, users, and the lists of waiters. It is
 * innermost; a waiter is told without it.
 */
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/hashtable.h>
#include <linux/key-type.h>
#include <linux/keyctl.h>
#include <linux/module.h>
#include <linux/overflow.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/stringhash.h>
#include <linux/workqueue.h>

#include "core.h"
#include "trace.h"

static unsigned int names_max = 32;
module_param(names_max, uint, 0644);
MODULE_PARM_DESC(names_max, "Name look-ups that run at a time (default 32)");

static unsigned int names_per_user = 8;
module_param(names_per_user, uint, 0644);
MODULE_PARM_DESC(names_per_user,
		 "Of those, look-ups of one user (default 8)");

static unsigned int names_waiting_per_user = 256;
module_param(names_waiting_per_user, uint, 0644);
MODULE_PARM_DESC(names_waiting_per_user,
		 "Look-ups of one user that wait for their turn (default 256)");

struct cmx_user {
	struct list_head node;
	kuid_t uid;
	unsigned int running;
	unsigned int waiting;
};

struct cmx_lookup {
	struct hlist_node hash;
	struct list_head turn;		/* while waiting */
	struct list_head waiters;
	struct cmx_user *user;
	struct work_struct work;
	bool running;
	char name[];
};

static DEFINE_SPINLOCK(cmx_names_lock);
static DEFINE_HASHTABLE(cmx_lookups, 6);
static LIST_HEAD(cmx_turns);
static LIST_HEAD(cmx_users);
static unsigned int cmx_running;

static struct workqueue_struct *cmx_names_wq;
static const struct cred *cmx_names_cred;
static struct key *cmx_names_keyring;

/* Letters, digits, '-', '_' in labels of up to 63 bytes. */
bool cmx_name_valid(const char *name)
{
	const char *p, *label = name;

	for (p = name; *p; p++) {
		if (*p == '.') {
			if (p == label)
				return false;
			label = p + 1;
		} else if (!isascii(*p) ||
			   (!isalnum(*p) && *p != '-' && *p != '_')) {
			return false;
		}
		if (p - label >= 63 || p - name >= RDMA_CMX_NAMES_MAX_NAME)
			return false;
	}
	return p != name;
}

/* Names are told apart in lower case. @to has room for the longest. */
static void cmx_name_fold(char *to, const char *from)
{
	while (*from)
		*to++ = tolower(*from++);
	*to = 0;
}

/* Under our credentials. -EAGAIN: not there; else what the key says. */
static key_ref_t cmx_names_search(const char *folded)
{
	return keyring_search(make_key_ref(cmx_names_keyring, true),
			      &cmx_names_key_type, folded, false);
}

/*
 * Answer from the cache without waiting: 0, an error that is remembered, or
 * -EINPROGRESS when the key service has to be asked.
 */
int cmx_names_cached(const char *name, struct cmx_answer *answer)
{
	char folded[RDMA_CMX_NAMES_MAX_NAME + 1];
	const struct cred *old;
	struct key *key;
	key_ref_t ref;
	int ret;

	cmx_name_fold(folded, name);
	old = override_creds(cmx_names_cred);
	ref = cmx_names_search(folded);
	revert_creds(old);

	if (IS_ERR(ref)) {
		ret = PTR_ERR(ref);
		switch (ret) {
		case -EAGAIN:	/* not found, or failed for the time being */
		case -ENOKEY:	/* there was no helper */
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
 * Without request-key(8) that program's own ENOENT comes back, and the key
 * says what is meant.
 */
static int cmx_names_reason(const char *name, int error)
{
	key_ref_t ref;

	if (error == -ENOMEM)
		return error;
	ref = cmx_names_search(name);
	if (IS_ERR(ref))
		return PTR_ERR(ref) == -ENOKEY ? -ENOKEY : error;
	/* It was found, or added, meanwhile: good for the next one. */
	key_ref_put(ref);
	return error;
}

/* The uninterruptible part. */
static int cmx_names_ask(const char *name, struct cmx_answer *answer)
{
	const struct cred *old;
	struct key *key;
	int ret, tries;

	old = override_creds(cmx_names_cred);
	/* A key may expire between its being found and being looked at. */
	for (tries = 0; tries < 2; tries++) {
		key = request_key(&cmx_names_key_type, name, "");
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

static struct cmx_user *cmx_user_find(kuid_t uid)
{
	struct cmx_user *user;

	list_for_each_entry(user, &cmx_users, node) {
		if (uid_eq(user->uid, uid))
			return user;
	}
	return NULL;
}

static struct cmx_lookup *cmx_lookup_find(const char *name, u32 hash)
{
	struct cmx_lookup *l;

	hash_for_each_possible(cmx_lookups, l, hash, hash) {
		if (!strcmp(l->name, name))
			return l;
	}
	return NULL;
}

static void cmx_lookup_run(struct cmx_lookup *l)
{
	l->running = true;
	l->user->running++;
	cmx_running++;
	queue_work(cmx_names_wq, &l->work);
}

/* Starts what may be started; the order is that of asking. */
static void cmx_lookups_run(void)
{
	struct cmx_lookup *l, *tmp;

	list_for_each_entry_safe(l, tmp, &cmx_turns, turn) {
		if (cmx_running >= READ_ONCE(names_max))
			break;
		if (l->user->running >= READ_ONCE(names_per_user))
			continue;
		list_del_init(&l->turn);
		l->user->waiting--;
		cmx_lookup_run(l);
	}
}

/* Takes a look-up off all lists; returns the user if that was its last. */
static struct cmx_user *cmx_lookup_unlink(struct cmx_lookup *l)
{
	struct cmx_user *user = l->user;

	hash_del(&l->hash);
	if (l->running) {
		user->running--;
		cmx_running--;
	} else {
		list_del(&l->turn);
		user->waiting--;
	}
	if (user->running || user->waiting)
		return NULL;
	list_del(&user->node);
	return user;
}

/*
 * Somebody else's look-up waits for its turn, and @user asks the same: it
 * goes by whichever user can have it run sooner, or one user could hold up a
 * name for all by putting it behind many others. Returns the old user if that
 * was its last.
 */
static struct cmx_user *cmx_lookup_adopt(struct cmx_lookup *l,
					 struct cmx_user *user)
{
	struct cmx_user *old = l->user;

	l->user = user;
	user->waiting++;
	old->waiting--;
	if (old->running || old->waiting)
		return NULL;
	list_del(&old->node);
	return old;
}

static void cmx_lookup_free(struct cmx_lookup *l)
{
	kfree(l);
	cmx_stat_dec(live_lookups);
}

static void cmx_lookup_work(struct work_struct *work)
{
	struct cmx_lookup *l = container_of(work, struct cmx_lookup, work);
	struct cmx_answer answer = {};
	struct cmx_waiter *w, *tmp;
	struct cmx_user *user;
	LIST_HEAD(waiters);
	int error;

	cmx_stat_inc(name_lookups);
	trace_cmx_lookup_start(l->name, 0);
	error = cmx_names_ask(l->name, &answer);
	if (error)
		cmx_stat_inc(name_errors);
	trace_cmx_lookup_done(l->name, error);
	pr_debug("name %s: %d\n", l->name, error);

	spin_lock(&cmx_names_lock);
	user = cmx_lookup_unlink(l);
	list_splice(&l->waiters, &waiters);
	list_for_each_entry(w, &waiters, node)
		w->lookup = NULL;
	cmx_lookups_run();
	spin_unlock(&cmx_names_lock);

	list_for_each_entry_safe(w, tmp, &waiters, node)
		w->done(w, error ? NULL : &answer, error);
	cmx_answer_release(&answer);
	kfree(user);
	cmx_lookup_free(l);
}

static struct cmx_lookup *cmx_lookup_alloc(const char *name)
{
	struct cmx_lookup *l;

	l = kzalloc(struct_size(l, name, strlen(name) + 1), GFP_KERNEL);
	if (!l)
		return NULL;
	cmx_name_fold(l->name, name);
	INIT_LIST_HEAD(&l->turn);
	INIT_LIST_HEAD(&l->waiters);
	INIT_WORK(&l->work, cmx_lookup_work);
	cmx_stat_inc(live_lookups);
	return l;
}

/*
 * Waits for a name without sleeping on it: @waiter->done() is called once,
 * from a work item, unless cmx_names_forget() comes first. -EAGAIN: the user
 * has too many look-ups waiting.
 */
int cmx_names_lookup(const char *name, kuid_t uid, struct cmx_waiter *waiter)
{
	struct cmx_user *user, *fresh_user, *idle_user = NULL;
	struct cmx_lookup *l, *fresh;
	int ret = 0;
	u32 hash;

	fresh = cmx_lookup_alloc(name);
	fresh_user = kzalloc(sizeof(*fresh_user), GFP_KERNEL);
	if (!fresh || !fresh_user) {
		ret = -ENOMEM;
		goto free;
	}
	fresh_user->uid = uid;
	hash = full_name_hash(NULL, fresh->name, strlen(fresh->name));

	spin_lock(&cmx_names_lock);
	user = cmx_user_find(uid) ?: fresh_user;
	l = cmx_lookup_find(fresh->name, hash);
	if (l) {
		cmx_stat_inc(coalesced);
		trace_cmx_lookup_join(l->name, 0);
		if (!l->running && l->user != user &&
		    user->running < READ_ONCE(names_per_user))
			idle_user = cmx_lookup_adopt(l, user);
	} else if (user->waiting >= READ_ONCE(names_waiting_per_user)) {
		cmx_stat_inc(name_refused);
		ret = -EAGAIN;
	} else {
		l = fresh;
		fresh = NULL;
		l->user = user;
		hash_add(cmx_lookups, &l->hash, hash);
		list_add_tail(&l->turn, &cmx_turns);
		user->waiting++;
	}
	if (user == fresh_user && user->waiting) {
		list_add(&user->node, &cmx_users);
		fresh_user = NULL;
	}
	if (!ret) {
		waiter->lookup = l;
		list_add_tail(&waiter->node, &l->waiters);
		cmx_lookups_run();
	}
	spin_unlock(&cmx_names_lock);
	kfree(idle_user);
free:
	kfree(fresh_user);
	if (fresh)
		cmx_lookup_free(fresh);
	return ret;
}

/* True: @waiter->done() will not be called. Harmless on one that is through. */
bool cmx_names_forget(struct cmx_waiter *waiter)
{
	struct cmx_lookup *l, *idle = NULL;
	struct cmx_user *user = NULL;

	spin_lock(&cmx_names_lock);
	l = waiter->lookup;
	if (l) {
		list_del(&waiter->node);
		waiter->lookup = NULL;
		if (list_empty(&l->waiters) && !l->running) {
			user = cmx_lookup_unlink(l);
			idle = l;
		}
	}
	spin_unlock(&cmx_names_lock);
	kfree(user);
	if (idle)
		cmx_lookup_free(idle);
	return l;
}

int cmx_names_init(void)
{
	struct cred *cred;
	int ret;

	/* The look-ups are counted here, the queue need not limit them. */
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
	/* For `keyctl clear` after a change of addresses. */
	set_bit(KEY_FLAG_ROOT_CAN_CLEAR, &cmx_names_keyring->flags);
	ret = register_key_type(&cmx_names_key_type);
	if (ret)
		goto put_keyring;

	/* As session keyring too: root's own one is not to be searched. */
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

/* Waits for the look-ups that still run, for as long as the helper takes. */
void cmx_names_exit(void)
{
	destroy_workqueue(cmx_names_wq);
	key_revoke(cmx_names_keyring);
	unregister_key_type(&cmx_names_key_type);
	put_cred(cmx_names_cred);
}
