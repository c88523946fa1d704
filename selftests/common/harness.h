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

/*
 * A failed ASSERT jumps to the teardown. The harness leaves the trigger set, so
 * that the teardown's first ASSERT would jump, too, and begin it again for
 * ever. A second failure ends the test instead.
 */
static inline void harness_failed(struct __test_metadata *t, int is_assert)
{
	t->trigger = 0;
	if (is_assert && t->aborted)
		abort();
	__bail(is_assert, t);
}

#undef OPTIONAL_HANDLER
#define OPTIONAL_HANDLER(is_assert) \
	for (; _metadata->trigger; harness_failed(_metadata, is_assert))

#endif
