/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* Declarations that the name helper's parent and child share */
#ifndef CMX_NAMES_RESOLVE_H
#define CMX_NAMES_RESOLVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "names.h"
#include "netns.h"

/* The reply of the child, written up to the end of the result */
struct cmx_reply {
	int error;		/* errno, 0 for a result */
	unsigned int len;	/* of the result in bytes, 0 after an error */
	union {
		struct rdma_cmx_names names;
		unsigned char bytes[CMX_NAMES_ANSWER_MAX];
	} answer;
};

/*
 * Starts a process that resolves @name of the network namespace @ns as this
 * user within @timeout seconds. It drops the authority over the @key, if there
 * is one. Returns its process number, and in @fd the pipe of its reply; -1 and
 * errno after a failure.
 */
pid_t cmx_child_start(const char *name, const struct cmx_netns *ns, uid_t uid,
		      gid_t gid, long timeout, bool key, int *fd);

#endif /* CMX_NAMES_RESOLVE_H */
