// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The harness ends each test by _exit(), where the leak checker does not look.
 * Linked with --wrap=_exit, this looks there: a test that passed fails when it
 * has leaked. Not in children of tests: what other threads' stacks pointed to
 * would look like a leak there. gcov's counts are written here, too.
 */
#include <sanitizer/lsan_interface.h>
#include <stdlib.h>
#include <unistd.h>

#define LEAKED	99

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

/* dump.c */
void coverage_dump(void);

static pid_t harness;

static void __attribute__((constructor)) start(void)
{
	harness = getpid();
}

/*
 * A thread that is about to end is not looked at any more, and libc may not yet
 * have freed what it kept for it: so what looks lost is looked for again.
 */
static int leaks_find(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		if (!__lsan_do_recoverable_leak_check())
			return 0;
		usleep(200000);
	}
	return 1;
}

void __wrap__exit(int status)
{
	if (!status && getppid() == harness && leaks_find())
		status = LEAKED;
	coverage_dump();
	__real__exit(status);
}
