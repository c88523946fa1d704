// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Each program of this directory gives its queries more time than the default,
 * so that a host that stops for some seconds ends none. A test of a shorter
 * time sets it. The process of the harness sets and restores them; the tests
 * are its children, which do not return from main().
 */
#define CMX_SELFTEST_NO_HARNESS
#include "sa.h"

static struct {
	const char *name;
	const char *value;
	char usual[32];
} times[] = {
	{ "sa_timeout_ms", "1500" },
	{ "query_timeout_ms", "60000" },
	{ "route_timeout_ms", "30000" },
	{ "neigh_timeout_ms", "5000" },
};

static void __attribute__((constructor)) timeouts_begin(void)
{
	for (unsigned int i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (!parameter_set(times[i].name, times[i].value,
				   times[i].usual))
			times[i].usual[0] = '\0';
}

static void __attribute__((destructor)) timeouts_end(void)
{
	for (unsigned int i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		if (times[i].usual[0])
			parameter_set(times[i].name, times[i].usual, NULL);
}
