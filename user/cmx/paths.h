/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations that the parts of cmx paths share */
#ifndef CMX_PATHS_H
#define CMX_PATHS_H

#include <stdbool.h>

/**
 * struct preload - names whose paths are to be cached
 * @names: names of the command line, NULL behind the last one
 * @file: more of them, a line each; "-": standard input; NULL: none
 * @service: port or name of a service, or NULL
 * @json: the format of the sums
 */
struct preload {
	char **names;
	const char *file;
	const char *service;
	bool json;
};

/* Returns an exit code. */
int paths_preload(const struct preload *preload);

#endif /* CMX_PATHS_H */
