/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names of another network namespace than the host's: the name helper's child
 * enters it, and sees the files that the host's administrator has written for
 * it below /etc/netns, as ip-netns(8) has it.
 */
#ifndef CMX_NAMES_NETNS_H
#define CMX_NAMES_NETNS_H

#include <stdbool.h>

/* By number and cookie, or by name. All zero: the host's. */
struct cmx_netns {
	const char *name;		/* of a file in /run/netns, or NULL */
	unsigned long inum;
	unsigned long long cookie;
	/* Whose files in /etc/netns count for one that has none; NULL: nobody's */
	const char *etc;
};

/*
 * Cut what follows the @name's '@' off, which names a namespace as
 * rdma_cmx_names.h has it. False when it is malformed.
 */
bool cmx_netns_parse(char *name, struct cmx_netns *ns);

static inline bool cmx_netns_other(const struct cmx_netns *ns)
{
	return ns->name || ns->inum;
}

/*
 * Enter @ns with the files of it, as root. 0; EOPNOTSUPP when there is no
 * resolv.conf for it, or it cannot be found; EIO, and @what has failed with
 * errno, or errno is 0.
 */
int cmx_netns_enter(const struct cmx_netns *ns, const char **what);

#endif /* CMX_NAMES_NETNS_H */
