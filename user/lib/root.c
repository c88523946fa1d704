// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The root directory from which shared objects are loaded. The library loads
 * libibverbs with the first device, libibverbs loads its providers, and
 * rsockets load the stock library: long after the start of the program. If the
 * program has entered a container's root directory meanwhile, it would load
 * code that the container has chosen, with the program's rights. So the library
 * stores the root that it was loaded from, and loads nothing from another one.
 *
 * Device and inode identify a root. The number of its mount is not compared: it
 * also differs after a plain unshare(CLONE_NEWNS), which changes nothing else.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/stat.h>

#include "lib.h"

static struct stat start;
static bool known;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void root_learn(void)
{
	known = !stat("/", &start);
}

static void __attribute__((constructor)) root_remember(void)
{
	int err = errno;

	pthread_once(&once, root_learn);
	errno = err;
}

/*
 * 0, or ELIBACC: the root is not the one that the library was loaded from. The
 * constructor of another library may run before the one here.
 */
int cmx_root_check(void)
{
	struct stat now;

	pthread_once(&once, root_learn);
	if (known && (stat("/", &now) || now.st_ino != start.st_ino ||
		      now.st_dev != start.st_dev))
		return cmx_err(ELIBACC);
	return 0;
}

/*
 * dlopen(), NULL with ELIBACC. The object may have constructors that open
 * files: a thread that is cancelled there would leave the dynamic loader
 * locked.
 */
void *cmx_load(const char *name, int flags)
{
	void *handle;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/* A library that the program has already loaded is not read again. */
	handle = dlopen(name, flags | RTLD_NOLOAD);
	if (!handle && !cmx_root_check())
		handle = dlopen(name, flags);
	pthread_setcancelstate(cancel, NULL);
	if (!handle)
		errno = ELIBACC;
	return handle;
}
