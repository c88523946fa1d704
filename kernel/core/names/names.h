/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Names of hosts. A file uses those below it:
 *
 *	names.c		names that the kernel looks up by its key service
 *	key.c		the type of those keys
 *	answer.c	checks and stores the results of a name service
 */
#ifndef CMX_NAMES_H
#define CMX_NAMES_H

#include <linux/refcount.h>
#include <linux/uidgid.h>
#include <rdma/rdma_cmx_names.h>

#include "core.h"

struct cmx_sched_waiter;
struct key;
struct net;

/* answer.c */
int cmx_answer_check(const struct rdma_cmx_names *names, size_t len);

/**
 * struct cmx_shared_names - checked result that a key and queries share
 * @usage: references
 * @names: the result, constant
 */
struct cmx_shared_names {
	refcount_t usage;
	struct rdma_cmx_names names;	/* ends with an array */
};

struct cmx_shared_names *
cmx_shared_names_new(const struct rdma_cmx_names *names, size_t len);
void cmx_shared_names_put(struct cmx_shared_names *shared);

/**
 * struct cmx_answer - checked result of a name service, with its memory
 * @names: the result, or NULL
 * @shared: contains @names, with a reference, or NULL
 * @own: allocated memory that contains @names, or NULL
 */
struct cmx_answer {
	const struct rdma_cmx_names *names;
	struct cmx_shared_names *shared;
	void *own;
};

int cmx_answer_copy(struct cmx_answer *answer,
		    const struct rdma_cmx_names *names, size_t len);
void cmx_answer_share(struct cmx_answer *to, const struct cmx_answer *from);
void cmx_answer_release(struct cmx_answer *answer);

/* names.c */
extern unsigned int cmx_names_waiting_per_user;
bool cmx_name_valid(const char *name);
int cmx_names_cached(const char *name, const struct net *net,
		     struct cmx_answer *answer);
int cmx_names_wait(const char *name, const struct net *net, kuid_t uid,
		   bool refresh, struct cmx_sched_waiter *waiter);
bool cmx_names_forget(struct cmx_sched_waiter *waiter);
int cmx_names_init(void);
void cmx_names_stop(void);
void cmx_names_exit(void);

/* key.c */
extern struct key_type cmx_names_key_type;
int cmx_names_key_answer(const struct key *key, struct cmx_answer *answer);
struct key *cmx_names_key_find(struct key *keyring, const char *desc);

#endif /* CMX_NAMES_H */
