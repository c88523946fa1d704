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
 * A user who creates a user namespace has many ids in it, but counts as one
 * user: the owner of the outermost one. A namespace that root creates is a
 * container.
 */
static inline kuid_t cmx_user_of(struct user_namespace *ns)
{
	kuid_t root;

	while (ns->parent != &init_user_ns)
		ns = ns->parent;
	if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
		return ns->owner;
	root = make_kuid(ns, 0);
	return uid_valid(root) ? root : cmx_container_user(ns);
}

static inline kuid_t cmx_current_user(void)
{
	struct user_namespace *ns = current_user_ns();

	return ns == &init_user_ns ? current_uid() : cmx_user_of(ns);
}

#endif /* CMX_USER_H */
