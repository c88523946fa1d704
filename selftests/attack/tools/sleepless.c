// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * sleepless: a system call of an ordinary user that takes long and never sleeps.
 * It reads random bytes with idle priority, beside a process that keeps the same
 * processor busy. A grace period of RCU tasks waits for it. Prints "ready" before
 * the call.
 */
#include "uapi.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#define USER	65534
#define PART	(2 << 20)
#define PARTS	1023	/* together the maximum of a read */

static void processor_busy(void)
{
	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

int main(void)
{
	static struct iovec parts[PARTS];
	struct sched_param param = {};
	int i, fd = open("/dev/urandom", O_RDONLY);
	void *buf = mmap(NULL, PART, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (fd < 0 || buf == MAP_FAILED || user_become(USER) ||
	    sched_setaffinity(0, sizeof(first), &first)) {
		perror("sleepless");
		return 1;
	}
	processor_busy();
	for (i = 0; i < PARTS; i++)
		parts[i] = (struct iovec) { buf, PART };
	if (sched_setscheduler(0, SCHED_IDLE, &param)) {
		perror("sleepless");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	return readv(fd, parts, PARTS) < 0;
}
