// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * State that all files of a user share: the number of resolutions that are
 * outstanding or whose result was not taken. A file counts for the user that
 * opened it.
 *
 * The xarray's lock guards the references. Each file has one.
 */
#include <linux/slab.h>

#include "ucmx.h"
#include "user.h"

static DEFINE_XARRAY(ucmx_users);

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
	last = !--user->refs;
	if (last)
		__xa_erase(&ucmx_users, user->index);
	xa_unlock(&ucmx_users);
	if (!last)
		return;
	ucmx_user_wake_exit(user);
	kfree(user);
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
