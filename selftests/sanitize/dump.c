// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Part of the library that the sanitizers' tests use: where gcov's counts go,
 * and a way to write them at once. gcov's own functions belong to the object
 * that they are linked to, and so this is in the library. Processes may have
 * any user, and gcov makes folders for its own only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the guest brings to the host; coverage.sh looks there. */
#define FOLDER	"/run/out/gcov-user"

/* The compiler's; gcc has a header for it, clang none. */
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
