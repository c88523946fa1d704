/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Failures of functions that the library calls, in the library of the
 * sanitizers' tests. Each thread has separate faults.
 */
#ifndef CMX_SELFTEST_INJECT_H
#define CMX_SELFTEST_INJECT_H

/* The @n-th later call of this thread fails. */
void fault_arm(unsigned int n);
/* Disarms. Returns the errno of the failed call, 0 if none has failed. */
int fault_disarm(void);

#endif /* CMX_SELFTEST_INJECT_H */
