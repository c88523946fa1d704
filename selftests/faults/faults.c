// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* See faults.h. */
#include "faults.h"
#include "ioctl.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEBUGFS		"/sys/kernel/debug/"
#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define WORKERS_MAX	1024
/* 1: the kernel's command line marks the caches that may fail. */
#define SLAB_MARKED	"/sys/kernel/slab/kmalloc-64/failslab"

static bool attr_set(const char *attr, const char *name, const char *value)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", attr, name);
	f = fopen(path, "we");
	if (!f)
		return false;
	fputs(value, f);
	return !fclose(f);
}

bool faults_enable(void)
{
	/* All but kmemleak's objects, which are no part of a call. */
	if (!access(SLAB_MARKED, R_OK) && number_get(SLAB_MARKED) == 1)
		attr_set("failslab", "cache-filter", "Y");
	/* Allocations that may wait fail too, which is not the default. */
	attr_set("fail_usercopy", "verbose", "0");
	if (attr_set("fail_page_alloc", "verbose", "0")) {
		attr_set("fail_page_alloc", "ignore-gfp-wait", "N");
		attr_set("fail_page_alloc", "min-order", "0");
	}
	return attr_set("failslab", "verbose", "0") &&
	       attr_set("failslab", "ignore-gfp-wait", "N") &&
	       !access(FAIL_NTH, W_OK);
}

int faults_skip(void)
{
	printf("TAP version 13\n");
	printf("1..0 # SKIP this kernel has no fault injection\n");
	return 0;
}

/* Reading and writing it are fault points, too: the second try is sure. */
static bool nth_write(int fd, int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	return pwrite(fd, text, strlen(text), 0) > 0 ||
	       pwrite(fd, text, strlen(text), 0) > 0;
}

/* Not 0 when it cannot be read: it was not 0 then. */
static int nth_read(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) < 0 ? -1 : atoi(text);
}

/*
 * Opened ahead of the call, for each process anew: a file of /proc belongs to
 * the thread that it was opened for.
 */
static int own_file(void)
{
	static int fd = -1;
	static pid_t owner;

	if (owner != getpid()) {
		if (fd >= 0)
			close(fd);
		fd = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			abort();
		owner = getpid();
	}
	return fd;
}

void fault_arm(int n)
{
	if (!nth_write(own_file(), n))
		abort();
}

int fault_left(void)
{
	int left = nth_read(own_file());

	if (!nth_write(own_file(), 0))
		abort();
	return left;
}

bool fault_hit(void)
{
	return fault_left() == 0;
}

static int workers[WORKERS_MAX];
static int worker_count;

static bool is_worker(const char *pid)
{
	char path[300], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = 0;
	fclose(f);
	return !strncmp(name, "kworker", 7);
}

void workers_arm(int n)
{
	struct dirent *entry;
	char path[300];
	DIR *dir;
	int fd;

	dir = opendir("/proc");
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
		    !is_worker(entry->d_name) || worker_count == WORKERS_MAX)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/fail-nth",
			 entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0)
			workers[worker_count++] = fd;
	}
	closedir(dir);
	for (fd = 0; fd < worker_count; fd++)
		nth_write(workers[fd], n);
}

bool workers_hit(void)
{
	bool hit = false;

	while (worker_count) {
		int fd = workers[--worker_count];

		hit |= nth_read(fd) == 0;
		/* Fails for a thread that has exited meanwhile. */
		nth_write(fd, 0);
		close(fd);
	}
	return hit;
}
