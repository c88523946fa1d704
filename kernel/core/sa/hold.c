// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of SA responses that a user's queries keep.
 *
 * A response has no owner when it arrives: ib_mad's work item allocates it, and
 * queries of several users may share it. So each user whose queries keep one is
 * charged for all of it: once, for all queries of that user, until the last of
 * them drops it. So no user is charged for memory that only another one keeps,
 * and the sum over the users is never less than the memory. A response that
 * only the cache keeps counts for the cache, see cache.c.
 *
 * cmx_sa_hold_lock guards all of it. Users, and the responses of a user, are in
 * trees, because users determine their number. Kernel consumers are the user
 * INVALID_UID.
 */
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/rbtree.h>
#include <linux/slab.h>

#include "sa/internal.h"

unsigned int cmx_sa_kb_per_user = 65536;
module_param_named(sa_kb_per_user, cmx_sa_kb_per_user, cmx_positive, 0644);
MODULE_PARM_DESC(sa_kb_per_user,
		 "Maximum memory in KB of SA responses that queries of one user keep (default 65536)");

/**
 * struct cmx_sa_holder - a user whose queries keep responses
 * @node: in cmx_sa_holders, by @uid
 * @uid: the user
 * @bytes: memory of those responses
 * @holdings: the responses
 */
struct cmx_sa_holder {
	struct rb_node node;
	kuid_t uid;
	unsigned long bytes;
	struct rb_root holdings;
};

/**
 * struct cmx_sa_holding - a response that queries of one user keep
 * @node: in cmx_sa_holder.holdings, by @response
 * @response: the response; these queries have references
 * @queries: number of queries
 */
struct cmx_sa_holding {
	struct rb_node node;
	const struct cmx_sa_response *response;
	unsigned long queries;
};

static struct rb_root cmx_sa_holders = RB_ROOT;
static DEFINE_SPINLOCK(cmx_sa_hold_lock);

static int cmx_sa_holder_cmp(const void *key, const struct rb_node *node)
{
	uid_t uid = __kuid_val(*(const kuid_t *)key);
	uid_t other = __kuid_val(rb_entry(node, struct cmx_sa_holder,
					  node)->uid);

	return uid < other ? -1 : uid > other;
}

static bool cmx_sa_holder_less(struct rb_node *a, const struct rb_node *b)
{
	return cmx_sa_holder_cmp(&rb_entry(a, struct cmx_sa_holder, node)->uid,
				 b) < 0;
}

static struct cmx_sa_holder *cmx_sa_holder_find(kuid_t uid)
{
	struct rb_node *node = rb_find(&uid, &cmx_sa_holders,
				       cmx_sa_holder_cmp);

	return node ? rb_entry(node, struct cmx_sa_holder, node) : NULL;
}

static int cmx_sa_holding_cmp(const void *key, const struct rb_node *node)
{
	const struct cmx_sa_response *response = key;
	const struct cmx_sa_response *other = rb_entry(node,
						       struct cmx_sa_holding,
						       node)->response;

	return response < other ? -1 : response > other;
}

static bool cmx_sa_holding_less(struct rb_node *a, const struct rb_node *b)
{
	return cmx_sa_holding_cmp(rb_entry(a, struct cmx_sa_holding,
					   node)->response, b) < 0;
}

static struct cmx_sa_holding *
cmx_sa_holding_find(const struct cmx_sa_holder *holder,
		    const struct cmx_sa_response *response)
{
	struct rb_node *node = rb_find(response, &holder->holdings,
				       cmx_sa_holding_cmp);

	return node ? rb_entry(node, struct cmx_sa_holding, node) : NULL;
}

/* Bytes that the queries of @uid keep */
unsigned long cmx_sa_held(kuid_t uid)
{
	const struct cmx_sa_holder *holder;
	unsigned long bytes;

	spin_lock(&cmx_sa_hold_lock);
	holder = cmx_sa_holder_find(uid);
	bytes = holder ? holder->bytes : 0;
	spin_unlock(&cmx_sa_hold_lock);
	return bytes;
}

static unsigned long cmx_sa_hold_max(void)
{
	return min_t(u64, (u64)READ_ONCE(cmx_sa_kb_per_user) * 1024, LONG_MAX);
}

static unsigned long
cmx_sa_response_bytes(const struct cmx_sa_response *response)
{
	return sizeof(struct cmx_sa_holding) + sizeof(*response) +
	       response->len;
}

/*
 * With the lock. One more query of @uid keeps @response. False if no query of
 * @uid keeps it yet.
 */
static bool cmx_sa_hold_again(kuid_t uid,
			      const struct cmx_sa_response *response)
{
	struct cmx_sa_holder *holder = cmx_sa_holder_find(uid);
	struct cmx_sa_holding *holding = NULL;

	if (holder)
		holding = cmx_sa_holding_find(holder, response);
	if (holding)
		holding->queries++;
	return holding;
}

/*
 * With the lock. The first query of @uid keeps @response. Clears those of
 * @holder and @holding that it takes over.
 */
static int cmx_sa_hold_first(kuid_t uid, const struct cmx_sa_response *response,
			     struct cmx_sa_holder **holder,
			     struct cmx_sa_holding **holding)
{
	unsigned long bytes = cmx_sa_response_bytes(response);
	unsigned long max = cmx_sa_hold_max();
	struct cmx_sa_holder *h = cmx_sa_holder_find(uid);

	/* The limit may have been lowered. */
	if (bytes > max || (h && h->bytes > max - bytes))
		return -EAGAIN;
	if (!h) {
		h = *holder;
		*holder = NULL;
		h->uid = uid;
		rb_add(&h->node, &cmx_sa_holders, cmx_sa_holder_less);
	}
	h->bytes += bytes;
	(*holding)->response = response;
	(*holding)->queries = 1;
	rb_add(&(*holding)->node, &h->holdings, cmx_sa_holding_less);
	*holding = NULL;
	cmx_stat_add(live_sa_bytes, bytes);
	return 0;
}

/*
 * Charges @response, of which the caller has a reference, for a query of @uid.
 * Returns 0; -EAGAIN, which is counted, if the user keeps too much; or -ENOMEM.
 * May sleep.
 */
int cmx_sa_charge(kuid_t uid, const struct cmx_sa_response *response)
{
	struct cmx_sa_holding *holding;
	struct cmx_sa_holder *holder;
	int ret = -ENOMEM;
	bool again;

	spin_lock(&cmx_sa_hold_lock);
	again = cmx_sa_hold_again(uid, response);
	spin_unlock(&cmx_sa_hold_lock);
	if (again)
		return 0;

	holder = kzalloc(sizeof(*holder), GFP_KERNEL);
	holding = kmalloc(sizeof(*holding), GFP_KERNEL);
	if (holder && holding) {
		spin_lock(&cmx_sa_hold_lock);
		/* Another query of the user may have been first. */
		ret = cmx_sa_hold_again(uid, response) ? 0 :
		      cmx_sa_hold_first(uid, response, &holder, &holding);
		spin_unlock(&cmx_sa_hold_lock);
	}
	kfree(holding);
	kfree(holder);
	if (ret == -EAGAIN)
		cmx_stat_inc(sa_memory_refused);
	return ret;
}

/* Uncharges @response of a query of @uid. The caller still has a reference. */
void cmx_sa_uncharge(kuid_t uid, const struct cmx_sa_response *response)
{
	unsigned long bytes = cmx_sa_response_bytes(response);
	struct cmx_sa_holding *holding = NULL;
	struct cmx_sa_holder *holder;
	bool last;

	spin_lock(&cmx_sa_hold_lock);
	holder = cmx_sa_holder_find(uid);
	if (holder)
		holding = cmx_sa_holding_find(holder, response);
	if (WARN_ON_ONCE(!holding) || --holding->queries) {
		spin_unlock(&cmx_sa_hold_lock);
		return;
	}
	rb_erase(&holding->node, &holder->holdings);
	holder->bytes -= bytes;
	last = RB_EMPTY_ROOT(&holder->holdings);
	if (last)
		rb_erase(&holder->node, &cmx_sa_holders);
	spin_unlock(&cmx_sa_hold_lock);
	kfree(holding);
	if (last)
		kfree(holder);
	cmx_stat_sub(live_sa_bytes, bytes);
}

void cmx_sa_hold_exit(void)
{
	WARN_ON(!RB_EMPTY_ROOT(&cmx_sa_holders));
}
