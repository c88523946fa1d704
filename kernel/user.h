/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Whom the limits of a user count. */
#ifndef CMX_USER_H
#define CMX_USER_H

#include <linux/cred.h>
#include <linux/user_namespace.h>

/*
 * A user who makes a user namespace gets many ids in it but stays one user:
 * the owner of the outermost one. Those that root makes are containers, each a
 * user by the id of its root; those that map no root are one user together.
 */
static inline kuid_t cmx_user_of(struct user_namespace *ns)
{
	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	return make_kuid(ns, 0);
}

static inline kuid_t cmx_current_user(void)
{
	struct user_namespace *ns = current_user_ns();

	return ns == &init_user_ns ? current_uid() : cmx_user_of(ns);
}

#endif /* CMX_USER_H */
