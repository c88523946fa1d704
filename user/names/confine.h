/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Drops all rights of this process that a lookup does not need. */
#ifndef CMX_NAMES_CONFINE_H
#define CMX_NAMES_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Environment, descriptors, working directory and, if root, the user: after
 * true the rights cannot be regained. After false, errno and @what are those of
 * the failed step, and the process must not continue.
 */
bool cmx_confine(uid_t uid, gid_t gid, const char **what);

#endif /* CMX_NAMES_CONFINE_H */
