// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Faults while a module is loaded: its init undoes what it has done, so that the
 * next load gets as far as the next fault, and the last one succeeds. OPS-04.
 * Those inside the kernel's own loader, ahead of the init, are left out.
 */
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
 * The loader itself ignores some hundred of them in a row, of the attributes of
 * sections. Behind SOME of a row, one of STRIDE is enough to find its end.
 */
#define SOME		24
#define STRIDE		16

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

/*
 * What comes behind the reading of the parameters, of which one with a wrong
 * value shows where that is. rdma_ucmx is left out: when its cache cannot be
 * made, the kernel itself complains with a trace.
 */
TEST_F_TIMEOUT(load, OPS_04_core, SWEEP_LIMIT)
{
	int first, n, ret, refused = 0, tried = 0, row = 0, step = 1;
	bool hit = true;

	fault_arm(LOAD_FAULTS);
	ret = module_load(self->core, "names_per_user=x");
	first = LOAD_FAULTS - fault_left() + 1;
	ASSERT_EQ(-EINVAL, ret);
	for (n = first; hit; n += step) {
		ASSERT_GT(first + 4 * FAULTS_MAX, n);
		fault_arm(n);
		ret = module_load(self->core, "");
		hit = fault_hit();
		tried++;
		if (ret) {
			refused++;
			EXPECT_TRUE(hit && ret == -ENOMEM) {
				TH_LOG("fault %d: %d", n - first, ret);
			}
		} else {
			ASSERT_EQ(0, module_unload("rdma_cmx"));
		}
		row = ret || !hit ? 0 : row + 1;
		if (!row && step > 1) {
			/* Those that were passed over before it */
			n -= step;
			hit = true;
		}
		step = row < SOME ? 1 : STRIDE;
	}
	TH_LOG("%d fault points, %d tried, %d fatal", n - first - 1, tried,
	       refused);
	/* Not a success because none was met */
	EXPECT_LT(2, refused);
}

int main(int argc, char **argv)
{
	return faults_enable() ? test_harness_run(argc, argv) : faults_skip();
}
