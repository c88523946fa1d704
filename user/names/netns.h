/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names of another network namespace than the host's: the name helper's child
 * enters it, and sees the files that the host's administrator has written for
 * it below /etc/netns, as in ip-netns(8).
 */
#ifndef CMX_NAMES_NETNS_H
#define CMX_NAMES_NETNS_H

#include <stdbool.h>

/* By number and cookie, or by name. All zero: the host's */
struct cmx_netns {
	const char *name;		/* of a file in /run/netns, or NULL */
	unsigned long inum;
	unsigned long long cookie;
	/* Used from /etc/netns for one without files; NULL: none */
	const char *etc;
};

/*
 * Removes the namespace behind the '@' of @name, in the form of
 * rdma_cmx_names.h. False if it is malformed.
 */
bool cmx_netns_parse(char *name, struct cmx_netns *ns);

static inline bool cmx_netns_other(const struct cmx_netns *ns)
{
	return ns->name || ns->inum;
}

/*
 * Opens the file @name of a namespace in directory @dir, if it is the wanted
 * one by its number or, with @ns->name, by that. Returns a descriptor or -1.
 */
int cmx_netns_open(int dir, const char *name, const struct cmx_netns *ns);

/*
 * Enters @ns with its files, as root. Returns 0; EOPNOTSUPP if it has no
 * resolv.conf, or cannot be found; EIO: @what has failed with errno, or errno
 * is 0.
 */
int cmx_netns_enter(const struct cmx_netns *ns, const char **what);

#endif /* CMX_NAMES_NETNS_H */
