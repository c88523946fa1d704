// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Module of all suites, with their helpers. Suites run one by one. */
#include <linux/moduleparam.h>
#include <linux/random.h>

#include "kunit.h"

#define SAVED_MAX	16

static struct {
	unsigned int *arg;
	unsigned int value;
} saved[SAVED_MAX];
static unsigned int saved_count;

/* Sets a parameter of a module until params_restore(). */
void param_set(struct kunit *test, struct module *mod, const char *name,
	       unsigned int value)
{
	unsigned int *arg = NULL;
	unsigned int i;

	for (i = 0; i < mod->num_kp; i++) {
		if (!strcmp(mod->kp[i].name, name))
			arg = mod->kp[i].arg;
	}
	KUNIT_ASSERT_NOT_NULL_MSG(test, arg, "no parameter %s", name);
	KUNIT_ASSERT_LT(test, saved_count, (unsigned int)SAVED_MAX);
	saved[saved_count].arg = arg;
	saved[saved_count++].value = *arg;
	WRITE_ONCE(*arg, value);
}

/* For the exit of a suite */
void params_restore(struct kunit *test)
{
	while (saved_count) {
		saved_count--;
		WRITE_ONCE(*saved[saved_count].arg, saved[saved_count].value);
	}
}

/* The same numbers in each run, so that a failure is reproducible */
u32 kunit_random(u32 below)
{
	static u32 state = 2463534242u;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % below;
}

MODULE_DESCRIPTION("Unit tests of rdma_cmx and rdma_ucmx");
MODULE_LICENSE("Dual BSD/GPL");
