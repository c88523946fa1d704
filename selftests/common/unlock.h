/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The pthread_mutex_unlock() of a test program, which the library calls in
 * place of libc's. For one source of a program.
 */
#ifndef CMX_SELFTEST_UNLOCK_H
#define CMX_SELFTEST_UNLOCK_H

#include <dlfcn.h>
#include <pthread.h>

/* Defined by the test: after each unlock, in the thread that unlocks */
static void unlock_intercept(void);

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *mutex);
	int ret;

	if (!real)
		real = dlsym(RTLD_NEXT, __func__);
	ret = real(mutex);
	unlock_intercept();
	return ret;
}

#endif /* CMX_SELFTEST_UNLOCK_H */
