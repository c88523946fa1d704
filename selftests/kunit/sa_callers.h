/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Callers that query the simulated SAs of a device, and what these respond:
 * for suites of outstanding queries. A query is for a service whose record
 * begins with the number @n.
 */
#ifndef CMX_KUNIT_SA_CALLERS_H
#define CMX_KUNIT_SA_CALLERS_H

#include <linux/completion.h>

#include "kunit.h"

#define CALLERS		256

struct caller {
	struct cmx_sched_waiter waiter;
	struct completion done;
	atomic_t calls;
	int error;
	int count;
};

/* Of the suite that runs */
extern struct fake callers_fake;
extern struct caller *callers;

int callers_init(struct kunit *test);
void callers_exit(struct kunit *test);

/* Queries that are outstanding at the SA of @port, and those that are queued */
unsigned int outstanding(u32 port);
unsigned int queued(u32 port);

int caller_send(struct caller *a, u32 port, unsigned int uid,
		const struct cmx_sa_query *q);
int query_send_as(struct caller *a, u32 port, u32 n, unsigned int uid);
int query_send(struct caller *a, u32 port, u32 n);
bool caller_wait(struct caller *a);
void expect_done(struct kunit *test, struct caller *a, int error, int count);
/* The SA of @port responds to its first outstanding query. */
void respond(struct kunit *test, u32 port, u32 records, int error);
/* The first outstanding query of port 1 is for @n, and completes @a. */
void respond_first(struct kunit *test, struct caller *a, u32 n);
void forget_all(struct kunit *test);

#endif /* CMX_KUNIT_SA_CALLERS_H */
