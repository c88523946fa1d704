/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The ioctl() of a test program, which the library calls in place of libc's. For
 * one source of a program: it defines ioctl().
 */
#ifndef CMX_SELFTEST_INTERCEPT_H
#define CMX_SELFTEST_INTERCEPT_H

#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Defined by the test; calls ioctl_real(). */
static int ioctl_intercept(int fd, unsigned long request, void *arg);

static inline int ioctl_real(int fd, unsigned long request, void *arg)
{
	return syscall(SYS_ioctl, fd, request, arg);
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return ioctl_intercept(fd, request, arg);
}

#endif /* CMX_SELFTEST_INTERCEPT_H */
