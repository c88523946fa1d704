// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * State that all files of a user share: the number of resolutions that are
 * outstanding or whose result was not taken, and of ids with a large result of
 * RESOLVE_ANY. A file counts for the user that opened it.
 *
 * The xarray's lock guards the references. Each file has one.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "ucmx.h"
#include "user.h"

static DEFINE_XARRAY(ucmx_users);

static void ucmx_user_paid(struct work_struct *work)
{
	ucmx_user_put(container_of(to_delayed_work(work), struct ucmx_user,
				   debt));
}

/*
 * The last reference stays until the user has no debt of wake-ups: the next file
 * would find a user without debt. Returns true if a work item puts it.
 */
static bool ucmx_user_keep(struct ucmx_user *user)
{
	u64 debt = READ_ONCE(user->wake_debt), now = ktime_get_mono_fast_ns();

	if (debt <= now)
		return false;
	queue_delayed_work(ucmx_timer_wq, &user->debt,
			   nsecs_to_jiffies(debt - now) + 1);
	return true;
}

/**
 * ucmx_user_get - get the current user's object
 *
 * Context: may sleep.
 * Return: the user with a reference, or NULL without memory.
 */
struct ucmx_user *ucmx_user_get(void)
{
	unsigned long index = __kuid_val(cmx_current_user());
	struct ucmx_user *user, *fresh;

	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL_ACCOUNT);
	if (!fresh)
		return NULL;
	fresh->index = index;
	fresh->refs = 1;
	INIT_DELAYED_WORK(&fresh->debt, ucmx_user_paid);
	ucmx_user_wake_init(fresh);
	xa_lock(&ucmx_users);
	user = __xa_cmpxchg(&ucmx_users, index, NULL, fresh, GFP_KERNEL);
	if (user && !xa_is_err(user))
		user->refs++;
	xa_unlock(&ucmx_users);
	if (!user)
		return fresh;
	kfree(fresh);
	return xa_is_err(user) ? NULL : user;
}

void ucmx_user_put(struct ucmx_user *user)
{
	bool last;

	xa_lock(&ucmx_users);
	last = user->refs == 1;
	if (last && ucmx_user_keep(user)) {
		xa_unlock(&ucmx_users);
		return;
	}
	user->refs--;
	if (last)
		__xa_erase(&ucmx_users, user->index);
	xa_unlock(&ucmx_users);
	if (!last)
		return;
	ucmx_user_wake_exit(user);
	kfree(user);
}

/* The module ends: no file is open, ucmx_wake_wq has gone, ucmx_timer_wq not. */
void ucmx_users_end(void)
{
	struct ucmx_user *user;
	unsigned long index;

	xa_lock(&ucmx_users);
	xa_for_each(&ucmx_users, index, user) {
		WRITE_ONCE(user->wake_debt, 0);
		/* One that runs frees the user. */
		if (!cancel_delayed_work(&user->debt))
			continue;
		__xa_erase(&ucmx_users, index);
		kfree(user);
	}
	xa_unlock(&ucmx_users);
}

/**
 * ucmx_user_charge - charge a resolution to a user
 * @user: the user
 *
 * Return: 0 or -EAGAIN.
 */
int ucmx_user_charge(struct ucmx_user *user)
{
	if (atomic_inc_return(&user->requests) <=
	    READ_ONCE(ucmx_max_user_requests))
		return 0;
	atomic_dec(&user->requests);
	return -EAGAIN;
}
