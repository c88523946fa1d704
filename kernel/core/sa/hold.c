// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory of SA responses that a user's queries keep.
 *
 * A response has no owner when it arrives: ib_mad's work item allocates it, and
 * queries of several users may share it. So whoever keeps one is charged for the
 * whole of it, once for each query that keeps it. No user then pays for what
 * another keeps, and the sum over the users is never less than the memory. A
 * response that only the cache has is the cache's, see cache.c.
 *
 * The xarray's lock guards the sums; kernel consumers share one, with the index
 * of INVALID_UID.
 */
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/xarray.h>

#include "sa/internal.h"

static unsigned int sa_kb_per_user = 65536;
module_param(sa_kb_per_user, cmx_positive, 0644);
MODULE_PARM_DESC(sa_kb_per_user,
		 "Maximum memory in KB of SA responses that queries of one user keep (default 65536)");

static DEFINE_XARRAY(cmx_sa_holders);		/* by kuid: bytes */

/* What the queries of @uid keep, in bytes. */
unsigned long cmx_sa_held(kuid_t uid)
{
	void *entry = xa_load(&cmx_sa_holders, __kuid_val(uid));

	return entry ? xa_to_value(entry) : 0;
}

/* Set a user's sum to @new if it is @n. Returns whether it was, or an errno. */
static int cmx_sa_held_set(kuid_t uid, unsigned long n, unsigned long new)
{
	void *old = n ? xa_mk_value(n) : NULL, *was;

	was = xa_cmpxchg(&cmx_sa_holders, __kuid_val(uid), old,
			 new ? xa_mk_value(new) : NULL, GFP_KERNEL);
	return xa_err(was) ?: was == old;
}

static unsigned long cmx_sa_hold_max(void)
{
	return min_t(u64, (u64)READ_ONCE(sa_kb_per_user) * 1024, LONG_MAX);
}

static unsigned long cmx_sa_answer_bytes(const struct cmx_sa_answer *answer)
{
	return sizeof(*answer) + answer->len;
}

/*
 * A query of @uid is to keep @answer. Returns 0; -EAGAIN, and counts that, if
 * the user keeps too much already; or -ENOMEM. May sleep.
 */
int cmx_sa_charge(kuid_t uid, const struct cmx_sa_answer *answer)
{
	unsigned long n, bytes = cmx_sa_answer_bytes(answer);
	unsigned long max = cmx_sa_hold_max();
	int ret;

	do {
		n = cmx_sa_held(uid);
		/* The limit may be lower than it was. */
		if (bytes > max || n > max - bytes) {
			cmx_stat_inc(sa_memory_refused);
			return -EAGAIN;
		}
		ret = cmx_sa_held_set(uid, n, n + bytes);
	} while (!ret);
	if (ret < 0)
		return ret;
	cmx_stat_add(live_sa_bytes, bytes);
	return 0;
}

/* What takes the place of a sum, or takes it away, needs no memory. */
void cmx_sa_uncharge(kuid_t uid, const struct cmx_sa_answer *answer)
{
	unsigned long n, bytes = cmx_sa_answer_bytes(answer);

	do {
		n = cmx_sa_held(uid);
	} while (!cmx_sa_held_set(uid, n, n - bytes));
	cmx_stat_sub(live_sa_bytes, bytes);
}

void cmx_sa_hold_exit(void)
{
	WARN_ON(!xa_empty(&cmx_sa_holders));
	xa_destroy(&cmx_sa_holders);
}
