/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The only place that checks the kernel version. 6.1 is the oldest one. */
#ifndef CMX_COMPAT_H
#define CMX_COMPAT_H

#include <linux/version.h>

/* Since 6.10 a trace event remembers the source of a string by itself. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define cmx_assign_str(dst, src)	__assign_str(dst)
#else
#define cmx_assign_str(dst, src)	__assign_str(dst, src)
#endif

/*
 * For large variables that are filled before they are read: kernels that
 * clear the stack by themselves need not clear these.
 */
#if __has_attribute(__uninitialized__)
#define CMX_UNINIT	__attribute__((__uninitialized__))
#else
#define CMX_UNINIT
#endif

#endif /* CMX_COMPAT_H */
