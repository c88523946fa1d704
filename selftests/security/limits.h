/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* What tests of limits share: parameters and counters, and being another user. */
#ifndef SECURITY_LIMITS_H
#define SECURITY_LIMITS_H

#include <grp.h>
#include <stdio.h>
#include <unistd.h>

#define PARAMETERS "/sys/module/rdma_cmx/parameters/"
#define COUNTERS "/sys/module/rdma_cmx/counters/"

static inline long number_get(const char *path)
{
	FILE *f = fopen(path, "r");
	long value = -1;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

static inline int number_set(const char *path, long value)
{
	FILE *f = fopen(path, "w");
	int ret;

	if (!f)
		return -1;
	ret = fprintf(f, "%ld\n", value) > 0 ? 0 : -1;
	return fclose(f) ? -1 : ret;
}

static inline int user_become(uid_t uid)
{
	return setgroups(0, NULL) || setresgid(uid, uid, uid) ||
	       setresuid(uid, uid, uid);
}

#endif /* SECURITY_LIMITS_H */
