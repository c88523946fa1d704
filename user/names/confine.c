// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The helper's child starts as root and then handles a name that any user chose
 * and responses that any name server wrote. None of this happens with root's
 * rights. One thread, no locks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confine.h"

/* Enough for libc's NSS modules and several responses of 64 KiB */
#define ADDRESS_SPACE	(256UL << 20)
#define OPEN_FILES	64
#define CPU_SECONDS	10

static bool limit(int resource, rlim_t value)
{
	struct rlimit rl;

	/* --print: a user may have less, and must not have more. */
	if (getrlimit(resource, &rl))
		return false;
	if (value < rl.rlim_max)
		rl.rlim_max = value;
	rl.rlim_cur = rl.rlim_max;
	return !setrlimit(resource, &rl);
}

static bool user_drop(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) ||
	    setresuid(uid, uid, uid))
		return false;
	/*
	 * The change of user drops capabilities, unless securebits keep them.
	 */
	if (!setresuid(0, 0, 0) || !setresgid(0, 0, 0)) {
		errno = EPERM;
		return false;
	}
	return true;
}

bool cmx_confine(uid_t uid, gid_t gid, const char **what)
{
	/* LD_*, RES_OPTIONS, LOCALDOMAIN, HOSTALIASES and future ones */
	*what = "clear the environment";
	if (clearenv())
		return false;

	*what = "leave the working directory";
	if (chdir("/"))
		return false;

	/* Before the change of user, which root's limits require */
	*what = "set resource limits";
	if (!limit(RLIMIT_CORE, 0) || !limit(RLIMIT_FSIZE, 0) ||
	    !limit(RLIMIT_AS, ADDRESS_SPACE) ||
	    !limit(RLIMIT_NOFILE, OPEN_FILES) ||
	    !limit(RLIMIT_CPU, CPU_SECONDS) || !limit(RLIMIT_NPROC, 0))
		return false;

	*what = "drop root's rights";
	if (!geteuid() && !user_drop(uid, gid))
		return false;

	*what = "give up new privileges";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return false;
	return true;
}
