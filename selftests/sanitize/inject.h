/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Failures of what the library calls, in the library that the sanitizers'
 * tests use. Each thread has its own.
 */
#ifndef CMX_SELFTEST_INJECT_H
#define CMX_SELFTEST_INJECT_H

/* The @n-th call from now on, of this thread, fails. */
void fault_arm(unsigned int n);
/* No more of that. The errno that the call has failed with, 0 if none has. */
int fault_disarm(void);

#endif /* CMX_SELFTEST_INJECT_H */
