// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Part of the library for the tests with sanitizers: sets the directory of
 * gcov's counts, and writes them on request. The functions of gcov belong to
 * the object that they are linked to, so this file is in the library. Processes
 * may have any user, and the directories that gcov creates have permissions for
 * one user only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The guest sends this directory to the host; coverage.sh reads it. */
#define FOLDER	"/run/out/gcov-user"

/* Of the compiler; gcc has a header for it, clang none. */
void __gcov_dump(void);
void coverage_dump(void);

static void folder_set(void)
{
	char path[64];

	snprintf(path, sizeof(path), FOLDER "/%u", geteuid());
	setenv("GCOV_PREFIX", path, 1);
}

static void __attribute__((constructor)) start(void)
{
	if (!mkdir(FOLDER, 0777))
		chmod(FOLDER, 0777);
	folder_set();
}

void __attribute__((visibility("default"))) coverage_dump(void)
{
	folder_set();
	__gcov_dump();
}
