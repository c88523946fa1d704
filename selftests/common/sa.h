/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Helpers of the tests of resolution by the SA, on top of api.h: the fabric's
 * devices, services at the SA, the fake SA, queries and results.
 *
 * Each test runs in a separate process, so nothing here needs a lock.
 */
#ifndef CMX_SELFTEST_SA_H
#define CMX_SELFTEST_SA_H

#include <infiniband/ib.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "api.h"

/* OpenSM is on the first; the tests query by the second. */
#define DEVICES		4
#define DEV_SM		1
#define DEV_OWN		2
#define DEV_OTHER	3
#define DEV_FAKE	4
#define DEV_GONE	4

/* Name, GID as text and GID of device 1 to DEVICES */
const char *device(unsigned int n);
const char *gid_text(unsigned int n);
const struct ib_addr *gid(unsigned int n);

/* Run a command of bash with the functions of lib.sh and fabric.sh. */
int bash(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, its output as a number; -1 if it is none. */
long long bash_number(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

/* tools/service from @n's port; its exit code. */
int service(unsigned int n, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Names and ids that no other test uses. */
const char *service_name(char name[64]);
unsigned long long service_id(void);

/*
 * Queries on attribute @attr that the device of the SM has received up to now
 * by GetTable, which is what rdma_cmx sends. rdma_cm and IPoIB send Get, and
 * again when the SA is slow: these are not counted, see paths_lost().
 */
#define ATTR_SERVICE	0x31
#define ATTR_PATH	0x35
long long sa_queries(unsigned int attr);
/*
 * Path queries of all kinds are lost on their way to the SA, until false. What
 * succeeds meanwhile has sent none, whoever else sends them.
 */
int paths_lost(bool lost);
/*
 * Empty the cache, and wait until the capabilities of the SA are known again: a
 * path query depends on them.
 */
bool cache_renew(void);
/* A counter of rdma_cmx, -1 if there is none. */
long long counter(const char *name);

/* Set a parameter of rdma_cmx; @old gets its former value, if not NULL. */
bool parameter_set(const char *name, const char *value, char old[32]);

/* The fake SA instead of the SM, for DEV_OWN. Its process, or -1. */
pid_t fake_start(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Requests that it got, or -1 */
int fake_stop(pid_t pid);

/* An id bound to the GID of device @n, NULL if that fails. */
struct rdma_cm_id *id_on(struct rdma_event_channel *channel, unsigned int n);

/* Query by @id and wait; 0 and @res, or the negative errno of call or event. */
int sa_get(struct rdma_cm_id *id, const char *service, int flags,
	   struct rdma_addrinfo **res);
/* The same without the result: the number of entries, or the errno. */
int sa_count(struct rdma_cm_id *id, const char *service);

/* AF_IB address of an entry */
const struct sockaddr_ib *ib(const struct sockaddr *addr);

#endif /* CMX_SELFTEST_SA_H */
