// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The root directory that shared objects are loaded from. The library loads
 * libibverbs with the first device, libibverbs its providers, and rsockets the
 * stock library: all of them long after the start of the program. A program
 * that has entered a container's root directory or mount namespace meanwhile
 * would get code there that the container has chosen, with the program's
 * rights. So the library remembers the root that it was loaded from, and loads
 * nothing from another one.
 *
 * Each mount namespace has mounts of its own, so the number of the root's mount
 * tells namespaces apart. Unlike /proc/self/ns/mnt it needs no file that the
 * other root could forge. A root that the kernel gives no number for (Linux
 * before 5.8) is told by device and inode alone.
 */
#define _GNU_SOURCE	/* statx() */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "lib.h"

/* From Linux 6.8 on: a number that no later mount gets */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE	0x4000U
#endif

#define MOUNT	(STATX_MNT_ID | STATX_MNT_ID_UNIQUE)

/* Written before any thread can be there, then only read */
static struct statx start;
static bool known;

static bool root_get(struct statx *root)
{
	return !statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT, STATX_INO | MOUNT, root);
}

static void __attribute__((constructor)) root_remember(void)
{
	int err = errno;

	known = root_get(&start);
	errno = err;
}

/* 0, or ELIBACC: the root is not the one that the library was loaded from. */
int cmx_root_check(void)
{
	struct statx now;

	if (!known || !root_get(&now) || now.stx_ino != start.stx_ino ||
	    now.stx_dev_major != start.stx_dev_major ||
	    now.stx_dev_minor != start.stx_dev_minor ||
	    (now.stx_mask & MOUNT) != (start.stx_mask & MOUNT) ||
	    ((now.stx_mask & MOUNT) && now.stx_mnt_id != start.stx_mnt_id))
		return cmx_err(ELIBACC);
	return 0;
}

/*
 * dlopen(), NULL with ELIBACC. What it loads may have constructors that open
 * files: a thread that ended there would leave the dynamic loader locked.
 */
void *cmx_load(const char *name, int flags)
{
	void *handle;
	int cancel;

	if (cmx_root_check())
		return NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	handle = dlopen(name, flags);
	pthread_setcancelstate(cancel, NULL);
	if (!handle)
		errno = ELIBACC;
	return handle;
}
