/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The user that limits count for. */
#ifndef CMX_USER_H
#define CMX_USER_H

#include <linux/cred.h>
#include <linux/user_namespace.h>

/*
 * The user of a container that does not map root: the first uid that it maps.
 * Never INVALID_UID, which means kernel consumers.
 */
static inline kuid_t cmx_container_user(const struct user_namespace *ns)
{
	const struct uid_gid_map *map = &ns->uid_map;
	u32 extents = READ_ONCE(map->nr_extents);
	u32 first;

	/* map_write() writes the map once, before its size. */
	smp_rmb();
	if (!extents)
		return ns->owner;
	first = extents > UID_GID_MAP_MAX_BASE_EXTENTS ?
		map->forward[0].lower_first : map->extent[0].lower_first;
	return KUIDT_INIT(first);
}

/*
 * The outermost user namespace, or NULL if the users are those of the host.
 * They are in a namespace of root's whose root is the host's, for example of a
 * service with PrivateUsers=yes: only root can create it, and another id there
 * cannot become root more easily than without it.
 */
static inline struct user_namespace *
cmx_outermost_ns(struct user_namespace *ns)
{
	struct user_namespace *outermost = NULL;

	for (; ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID) ||
		    !uid_eq(make_kuid(ns, 0), GLOBAL_ROOT_UID))
			outermost = ns;
	return outermost;
}

/*
 * A user who creates a user namespace has many ids in it, but counts as one
 * user: the owner of the outermost one. A namespace that root creates is a
 * container.
 */
static inline kuid_t cmx_outermost_user(struct user_namespace *ns)
{
	kuid_t root;

	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	root = make_kuid(ns, 0);
	return uid_valid(root) ? root : cmx_container_user(ns);
}

/* The user of a namespace: root, if the users are those of the host */
static inline kuid_t cmx_user_of(struct user_namespace *ns)
{
	ns = cmx_outermost_ns(ns);
	return ns ? cmx_outermost_user(ns) : GLOBAL_ROOT_UID;
}

static inline kuid_t cmx_current_user(void)
{
	struct user_namespace *ns = cmx_outermost_ns(current_user_ns());

	return ns ? cmx_outermost_user(ns) : current_uid();
}

#endif /* CMX_USER_H */
