/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* kselftest's harness, with time for a slow guest: only one file of a program
 * has it, as it defines functions.
 */
#ifndef CMX_HARNESS_H
#define CMX_HARNESS_H

#include "kselftest_harness.h"

/* A silent name server costs seconds, a busy host more. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 300

#endif
