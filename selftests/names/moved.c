// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The name helper finds a namespace without a name by the files of processes.
 * One that moves to another namespace between the helper's look at the number
 * and its open does not count: another process of the namespace may follow.
 * Prints TAP. KA-01.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns.h"

static bool moving;

/* The process moves: its file names another namespace. */
int process_openat(int dir, const char *name, int flags, ...)
{
	if (moving) {
		unlinkat(dir, name, 0);
		if (symlinkat("/proc/self/ns/uts", dir, name))
			return -1;
	}
	return syscall(SYS_openat, dir, name, flags);
}

int main(void)
{
	struct cmx_netns ns = {};
	char path[] = "/tmp/moved.XXXXXX";
	int dir, stays, moves;
	struct stat st;

	if (!mkdtemp(path) || stat("/proc/self/ns/net", &st))
		return 1;
	ns.inum = st.st_ino;
	dir = open(path, O_RDONLY | O_DIRECTORY);
	if (symlinkat("/proc/self/ns/net", dir, "net"))
		return 1;
	stays = cmx_netns_open(dir, "net", &ns);
	moving = true;
	moves = cmx_netns_open(dir, "net", &ns);
	unlinkat(dir, "net", 0);
	rmdir(path);
	printf("1..2\n%sok 1 - the namespace of a process\n",
	       stays < 0 ? "not " : "");
	printf("%sok 2 - a process that has moved meanwhile does not count\n",
	       moves >= 0 ? "not " : "");
	return stays < 0 || moves >= 0;
}
