// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults while a module is loaded: its init undoes what it has done, so that the
 * next load gets as far as the next fault, and the last one succeeds. OPS-04.
 * Those inside the kernel's own loader, ahead of the init, are left out.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "faults.h"

#include "harness.h"

/* More than there are in a load */
#define LOAD_FAULTS	100000
/*
 * Just before the init the loader ignores hundreds of them in a row, of the
 * constructors that coverage and KASAN have. The init ignores three at most.
 */
#define SOME		24
/*
 * The init begins with the files of the counters, in a loop. Each has two fault
 * points: after the first EDGE failures, one of STRIDE fails. The last ones of
 * the loop and all after it fail one by one.
 */
#define EDGE		16
#define STRIDE		16

#define COUNTERS_DIR	"/sys/module/rdma_cmx/counters"

FIXTURE(load) {
	int core;
};

static int module_open(const char *name)
{
	struct utsname sys;
	char path[256];

	uname(&sys);
	snprintf(path, sizeof(path), "/lib/modules/%s/updates/%s.ko",
		 sys.release, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int module_load(int fd, const char *args)
{
	return syscall(SYS_finit_module, fd, args, 0) ? -errno : 0;
}

static int module_unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

FIXTURE_SETUP(load)
{
	self->core = module_open("rdma_cmx");
	ASSERT_LE(0, self->core);
	ASSERT_EQ(0, module_unload("rdma_ucmx"));
	ASSERT_EQ(0, module_unload("rdma_cmx"));
}

FIXTURE_TEARDOWN(load)
{
	EXPECT_EQ(0, system("modprobe rdma_ucmx"));
	close(self->core);
}

static int files_count(const char *path)
{
	struct dirent *entry;
	int count = 0;
	DIR *dir;

	dir = opendir(path);
	if (!dir)
		return 0;
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

/* Load with the fault @n, if there are as many; what was loaded goes again. */
static int load_try(int fd, int n, bool *hit)
{
	int ret;

	fault_arm(n);
	ret = module_load(fd, "");
	*hit = fault_hit();
	return ret ? ret : module_unload("rdma_cmx");
}

/*
 * A fault that the loader ignores, STRIDE at most before the first of the init,
 * or the error of a load that is not the fault's. Loads have fewer fault points
 * when the allocator has free objects: @total, of the first load, may be too
 * many.
 */
static int init_find(int fd, int total)
{
	int n, i, ret = 0;
	bool hit;

	for (n = total; n > SOME && (!ret || ret == -ENOMEM); n -= STRIDE) {
		for (i = 0; i < SOME; i++) {
			ret = load_try(fd, n - i, &hit);
			if (ret || !hit)
				break;
		}
		if (i == SOME)
			return n;
	}
	return ret;
}

/*
 * rdma_ucmx is left out: when its cache cannot be made, the kernel itself
 * complains with a trace.
 */
TEST_F_TIMEOUT(load, OPS_04_core, SWEEP_LIMIT)
{
	int first = 0, n, ret, files, total, step, refused = 0, tried = 0;
	bool hit = true;

	fault_arm(LOAD_FAULTS);
	ASSERT_EQ(0, module_load(self->core, ""));
	total = LOAD_FAULTS - fault_left();
	files = files_count(COUNTERS_DIR);
	ASSERT_EQ(0, module_unload("rdma_cmx"));
	n = init_find(self->core, total);
	ASSERT_LT(0, n);
	for (; hit; n += step) {
		ASSERT_GT(total + FAULTS_MAX, n);
		ret = load_try(self->core, n, &hit);
		tried++;
		if (ret) {
			EXPECT_TRUE(hit && ret == -ENOMEM) {
				TH_LOG("fault %d: %d", n - first, ret);
			}
			refused++;
			first = first ? first : n;
		}
		step = refused >= EDGE && n - first < 2 * files ? STRIDE : 1;
	}
	TH_LOG("%d fault points, %d tried, %d fatal, %d files", n - 1 - first,
	       tried, refused, files);
	/* Not a success because none was met: all of the init, or most of it */
	EXPECT_LT(2 * files, n - first);
	EXPECT_LT((2 * files - EDGE) / STRIDE + EDGE, refused);
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
