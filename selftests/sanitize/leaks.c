// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The harness ends each test with _exit(), which skips the leak checker. Linked
 * with --wrap=_exit, this file runs it: a test that passed fails if it has
 * leaked. Not in children of tests: objects that only stacks of other threads
 * reference would look like leaks. This file also writes gcov's counts.
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
 * The checker does not scan a thread that is about to end, and libc may not
 * have freed its memory yet. So it searches again for what looks lost.
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
